/* SPDX-License-Identifier: Apache-2.0
 *
 * The header is a list of named tags, each with items of text. There are two forms of it, CSA1 and
 * CSA2; the second begins with SV10. Every length is held against the end of the element, and a
 * broken tag ends the list.
 */
#include "io/dicom_header/dicom_csa.h"

#include <math.h>

#include "io/dicom_header/dicom_parse.h"

enum { CSA_TAG_BYTES = 84, CSA_NAME_BYTES = 64, CSA_ITEM_BYTES = 16, CSA_MAX_TAGS = 1024 };

struct csa_reader {
    struct dicom_reader *reader;
    int64_t at, end;
    bool second;          /* CSA2, which begins with SV10 */
    uint32_t first_items; /* of the first tag, by which the lengths of CSA1 are off */
};

static bool read_bytes(struct csa_reader *csa, void *out, size_t n)
{
    if ((int64_t)n > csa->end - csa->at || !ts_dicom_read(csa->reader, csa->at, out, n))
        return false;
    csa->at += (int64_t)n;
    return true;
}

/* Returns the doubles that a tag's items fill, and how many there may be; NULL for a tag that is
 * not wanted. */
static double *wanted_values(struct dicom_csa *found, const char *name, int *count)
{
    const struct {
        const char *name;
        double *values;
        int count;
    } wanted[] = {{"NumberOfImagesInMosaic", &found->tiles, 1},
                  {"SliceNormalVector", found->normal, 3},
                  {"B_value", &found->b_value, 1},
                  {"DiffusionGradientDirection", found->gradient, 3},
                  {"PhaseEncodingDirectionPositive", &found->phase_positive, 1},
                  {"MosaicRefAcqTimes", found->times_ms, DICOM_CSA_TIMES}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strcmp(name, wanted[i].name)) {
            *count = wanted[i].count;
            return wanted[i].values;
        }
    *count = 0;
    return NULL;
}

/* Reads one item of a tag into *value, which may be NULL. Returns false at the end of the header or
 * where it is broken. */
static bool read_item(struct csa_reader *csa, double *value)
{
    unsigned char header[CSA_ITEM_BYTES];
    char text[64];
    if (!read_bytes(csa, header, sizeof header))
        return false;
    const int64_t length = csa->second
                               ? (int64_t)ts_dicom_u32(header + 4, false)
                               : (int64_t)ts_dicom_u32(header, false) - (int64_t)csa->first_items;
    if (length < 0 || length > csa->end - csa->at)
        return false;
    const size_t n = length < (int64_t)sizeof text ? (size_t)length : sizeof text;
    if (value && n > 0 && ts_dicom_read(csa->reader, csa->at, text, n)) {
        const char *end = memchr(text, '\0', n);
        *value = ts_dicom_parse_number(text, end ? (size_t)(end - text) : n, "DS", false, false);
    }
    csa->at += (length + 3) / 4 * 4;
    return csa->at <= csa->end;
}

static bool read_tag(struct csa_reader *csa, bool first, struct dicom_csa *found)
{
    unsigned char tag[CSA_TAG_BYTES];
    char name[CSA_NAME_BYTES + 1];
    int count;
    if (!read_bytes(csa, tag, sizeof tag))
        return false;
    memcpy(name, tag, CSA_NAME_BYTES);
    name[CSA_NAME_BYTES] = '\0';
    const uint32_t n_items = ts_dicom_u32(tag + 76, false);
    csa->first_items = first ? n_items : csa->first_items;
    double *values = wanted_values(found, name, &count);
    for (uint32_t i = 0; i < n_items; i++)
        if (!read_item(csa, values && (int)i < count ? &values[i] : NULL))
            return false;
    return true;
}

struct dicom_csa ts_dicom_read_csa(struct scan *scan)
{
    struct dicom_csa found = {.tiles = NAN,
                              .normal = {NAN, NAN, NAN},
                              .b_value = NAN,
                              .gradient = {NAN, NAN, NAN},
                              .phase_positive = NAN};
    for (int i = 0; i < DICOM_CSA_TIMES; i++)
        found.times_ms[i] = NAN;
    struct csa_reader csa = {.reader = &scan->reader,
                             .at = scan->csa.offset,
                             .end = scan->csa.offset + scan->csa.length};
    unsigned char start[8];
    if (!read_bytes(&csa, start, sizeof start))
        return found;
    csa.second = !memcmp(start, "SV10", 4);
    if (csa.second && !read_bytes(&csa, start, sizeof start))
        return found;
    const uint32_t n_tags = ts_dicom_u32(start, false);
    for (uint32_t i = 0; i < n_tags && n_tags <= CSA_MAX_TAGS; i++)
        if (!read_tag(&csa, i == 0, &found))
            break;
    return found;
}

void ts_dicom_weight_by_csa(struct dicom_image *image, const struct dicom_csa *csa)
{
    if (isnan(image->b_value))
        image->b_value = csa->b_value;
    if (image->have_gradient || isnan(csa->gradient[0] + csa->gradient[1] + csa->gradient[2]))
        return;
    memcpy(image->gradient, csa->gradient, sizeof image->gradient);
    image->have_gradient = true;
}
