/* SPDX-License-Identifier: Apache-2.0
 *
 * The file is verified before anything is read from it. The page is made in memory and written when it is whole, so
 * that a failure leaves none. Its policy lets the page load nothing but what is in it, and run no script but its own,
 * of which it states the digest.
 */
#include "pipeline/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "io/file/digest.h"
#include "io/file/whole_file.h"
#include "pipeline/drawing/base64.h"
#include "pipeline/report/files.h"
#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"

/* Pictures take at most so many bytes, with which the page stays below 5 MB. */
static const size_t most_picture_bytes = 2500000;

/* ---- pictures ---------------------------------------------------------------------------------- */

static void free_pictures(struct report_pictures *pictures)
{
    for (size_t i = 0; i < REPORT_IMAGES * REPORT_PLANES; i++) {
        struct report_picture *picture = &pictures->at[i / REPORT_PLANES][i % REPORT_PLANES];
        free(picture->shown);
        free(picture->values);
        *picture = (struct report_picture){0};
    }
}

static enum ts_status make_pictures(const struct report_images *images, int64_t side, struct report_pictures *pictures,
                                    size_t *bytes, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    *bytes = 0;
    for (size_t i = 0; i < images->n; i++)
        for (int k = 0; k < images->at[i].n_planes && status == TS_OK; k++) {
            struct report_picture *picture = &pictures->at[i][k];
            status = ts_report_picture(&images->at[i], &images->at[i].planes[k], side, picture, diag);
            *bytes += picture->n_shown + picture->n_values;
        }
    return status;
}

/* Makes the pictures as large as fits. */
static enum ts_status fit_pictures(const struct report_images *images, struct report_pictures *pictures,
                                   struct ts_diag *diag)
{
    static const int64_t sides[] = {768, 512, 384, 256, 192, 128, 96, 64};
    enum ts_status status = TS_OK;
    size_t bytes = SIZE_MAX;
    for (size_t i = 0; i < sizeof sides / sizeof *sides && status == TS_OK && bytes > most_picture_bytes; i++) {
        free_pictures(pictures);
        status = make_pictures(images, sides[i], pictures, &bytes, diag);
    }
    return status;
}

/* ---- the page ---------------------------------------------------------------------------------- */

static enum ts_status write_head(FILE *stream, struct ts_diag *diag)
{
    unsigned char sum[DIGEST_SUM_BYTES];
    if (!ts_digest_sum(ts_report_js, strlen(ts_report_js), sum))
        return ts_diag_no_memory(diag, sizeof sum);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
          "'unsafe-inline'; script-src 'sha256-",
          stream);
    ts_base64_write(stream, sum, sizeof sum);
    fputs("'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>Report of a tomostage result</title>\n<style>\n",
          stream);
    fputs(ts_report_css, stream);
    fputs("</style>\n</head>\n<body>\n<header>\n<h1>Report of a tomostage result</h1>\n"
          "<nav><a href=\"#images\">images</a> <a href=\"#chain\">chain</a> <a href=\"#inputs\">inputs</a> "
          "<a href=\"#run\">time and memory</a> <a href=\"#digests\">digests</a></nav>\n</header>\n<main>\n",
          stream);
    return TS_OK;
}

static enum ts_status write_page(const struct report_facts *facts, const struct report_images *images,
                                 const struct report_pictures *pictures, FILE *stream, struct ts_diag *diag)
{
    enum ts_status status = write_head(stream, diag);
    ts_report_answers(facts, stream);
    if (status == TS_OK)
        status = ts_report_slices(facts, images, pictures, stream, diag);
    if (status == TS_OK)
        status = ts_report_geometry(facts, images, stream, diag);
    if (status == TS_OK)
        status = ts_report_tables(facts, stream, diag);
    ts_report_chain(facts, stream);
    if (status == TS_OK)
        status = ts_report_inputs(facts, stream, diag);
    if (status == TS_OK)
        status = ts_report_timing(facts, stream, diag);
    ts_report_digests(facts, stream);
    fprintf(stream, "</main>\n<script>%s</script>\n</body>\n</html>\n", ts_report_js);
    return status;
}

static enum ts_status make_page(const struct report_request *request, char **page, size_t *bytes, struct ts_diag *diag)
{
    struct report_facts facts;
    struct report_images images = {0};
    struct report_pictures *pictures = calloc(1, sizeof *pictures);
    enum ts_status status = ts_report_facts(request, &facts, diag);
    if (status == TS_OK && !pictures)
        status = ts_diag_no_memory(diag, sizeof *pictures);
    if (status == TS_OK)
        status = ts_report_images(&facts, &images, diag);
    if (status == TS_OK)
        status = fit_pictures(&images, pictures, diag);
    FILE *stream = status == TS_OK ? open_memstream(page, bytes) : NULL;
    if (stream)
        status = write_page(&facts, &images, pictures, stream, diag);
    const bool written = stream && !ferror(stream), closed = stream && fclose(stream) == 0;
    if (status == TS_OK && !(written && closed))
        status = ts_diag_no_memory(diag, *bytes);
    if (pictures)
        free_pictures(pictures);
    free(pictures);
    ts_report_images_close(&images);
    ts_report_facts_close(&facts);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* Refuses before long work an output that cannot be written, or that is one of the inputs. */
static enum ts_status check_output(const struct report_request *request, struct ts_diag *diag)
{
    if (ts_file_is_same(request->output, request->path) || ts_file_is_same(request->output, request->profile))
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-is-input"},
                             "the page would replace '%s', which it is made from", request->output);
    return ts_whole_file_check(request->output, request->force, diag);
}

enum ts_status ts_report_write(const struct report_request *request, struct ts_diag *diag)
{
    char *page = NULL;
    size_t bytes = 0;
    enum ts_status status = check_output(request, diag);
    if (status == TS_OK)
        status = make_page(request, &page, &bytes, diag);
    struct whole_file file;
    if (status == TS_OK)
        status = ts_whole_file_open(&file, request->output, request->force, diag);
    if (status == TS_OK) {
        (void)fwrite(page, 1, bytes, file.stream);
        status = ts_whole_file_close(&file, diag);
    }
    free(page);
    return status;
}
