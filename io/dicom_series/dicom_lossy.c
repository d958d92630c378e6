/* SPDX-License-Identifier: Apache-2.0
 *
 * The method is the one that the header states, or else the one of the transfer syntax. Both texts
 * reach the result, so that only what can be a method or a ratio is taken of the header: people can
 * write into any text.
 */
#include "io/dicom_series/dicom_lossy.h"

#include <string.h>

#include "io/dicom_header/dicom_parse.h"

/* A compression ratio is in this range; a date that was typed into its element is a larger number.
 */
static const double LEAST_RATIO = 1, LARGEST_RATIO = 1e4;

const char *ts_dicom_lossy_method(const char *text)
{
    return text[strspn(text, "ISO_0123456789\\ ")] == '\0' ? text : "unrecognized";
}

const char *ts_dicom_lossy_ratio(const char *text)
{
    if (!*text)
        return text;
    for (const char *c = text;; c++) {
        const size_t length = strcspn(c, "\\");
        const double ratio = ts_dicom_parse_number(c, length, "DS", false, false);
        if (!(ratio >= LEAST_RATIO && ratio <= LARGEST_RATIO))
            return "unrecognized";
        c += length;
        if (!*c)
            return text;
    }
}

static const char *method_of(const struct dicom_file *file)
{
    const struct dicom_syntax_name *name = ts_dicom_syntax(file->syntax_uid);
    if (*file->lossy_method)
        return ts_dicom_lossy_method(file->lossy_method);
    return name && name->method ? name->method : "";
}

static const char *dicom_lossy_join(const char *all, const char *one)
{
    return !all || strcmp(all, one) == 0 ? one : "mixed";
}

struct dicom_loss ts_dicom_loss(const struct dicom_series *series)
{
    struct dicom_loss loss = {.n_images = 0};
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_file *file = series->images[i]->file;
        if (!ts_dicom_says_loss(file))
            continue;
        loss.n_images++;
        loss.ratio = dicom_lossy_join(loss.ratio, ts_dicom_lossy_ratio(file->lossy_ratio));
        loss.method = dicom_lossy_join(loss.method, method_of(file));
    }
    loss.ratio = loss.ratio ? loss.ratio : "";
    loss.method = loss.method ? loss.method : "";
    return loss;
}
