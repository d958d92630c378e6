/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of a TIFF file may be a projection, a sinogram or a slice, and no file says which. So this
 * prints what is known, and one input for each meaning, in which the reader replaces what is in
 * capitals.
 */
#include "io/scan/tiff_info.h"

#include <inttypes.h>
#include <math.h>

#include "core/json.h"
#include "io/scan/tiff_pages.h"
#include "io/source/try_text.h"

static const struct {
    const char *meaning, *parameters;
} inputs[] = {
    {"slices of a volume", "pages=slices pixel_size=MM spacing_z=MM"},
    {"projections of a scan", "pages=views pixel_size=MM angle_start=0 angle_stop=DEGREES"},
    {"sinograms of a scan", "pages=sinograms pixel_size=MM angle_start=0 angle_stop=DEGREES"},
};

static void print_text(const struct tiff_pages *pages, const char *path, FILE *stream)
{
    ts_text_print(stream, "", path);
    fprintf(stream,
            "\n  TIFF: %" PRId64 " page%s of %" PRId64 " x %" PRId64
            " pixels (rows x columns), %s, in %" PRId64 " file%s\n",
            pages->n_pages, pages->n_pages == 1 ? "" : "s", pages->height, pages->width,
            ts_dtype_name(pages->stored), pages->n_files, pages->n_files == 1 ? "" : "s");
    if (pages->pixel_mm[0] > 0)
        fprintf(stream, "  by its resolution rows are %.6g mm apart, and columns %.6g mm\n",
                pages->pixel_mm[0], pages->pixel_mm[1]);
    if (pages->spacing_mm > 0)
        fprintf(stream, "  by its text slices are %.6g mm apart\n", pages->spacing_mm);
    if (pages->calibrated)
        fprintf(stream,
                "  by its text the values are %.9g + %.9g * what is stored, and are read so\n",
                pages->line[0], pages->line[1]);
    fputs("  what the pages are is not in the file; as an input, with numbers in place of the "
          "capitals:\n",
          stream);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        fputs("    tiff ", stream);
        ts_try_word(stream, path);
        fprintf(stream, " %s   (%s)\n", inputs[i].parameters, inputs[i].meaning);
    }
}

static void print_json(const struct tiff_pages *pages, const char *path, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "path", path);
    ts_json_member_text(&json, "format", "TIFF");
    ts_json_member_integer(&json, "files", pages->n_files);
    ts_json_member_integer(&json, "pages", pages->n_pages);
    ts_json_member_integer(&json, "rows", pages->height);
    ts_json_member_integer(&json, "columns", pages->width);
    ts_json_member_text(&json, "type", ts_dtype_name(pages->stored));
    ts_json_member_real(&json, "row_distance_mm",
                        pages->pixel_mm[0] > 0 ? pages->pixel_mm[0] : NAN);
    ts_json_member_real(&json, "column_distance_mm",
                        pages->pixel_mm[1] > 0 ? pages->pixel_mm[1] : NAN);
    ts_json_member_real(&json, "slice_distance_mm",
                        pages->spacing_mm > 0 ? pages->spacing_mm : NAN);
    ts_json_member_real(&json, "intercept", pages->calibrated ? pages->line[0] : 0);
    ts_json_member_real(&json, "slope", pages->calibrated ? pages->line[1] : 1);
    ts_json_open_member(&json, "inputs", '[');
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        ts_json_text(&json, inputs[i].parameters);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

enum ts_status ts_tiff_info(const char *path, bool json, FILE *stream, struct ts_diag *diag)
{
    struct tiff_pages pages = {.arena = ts_arena_create(), .owner = "input", .fd = -1};
    if (!pages.arena)
        return ts_diag_no_memory(diag, sizeof pages);
    const enum ts_status status = ts_tiff_pages_open(&pages, &path, 1, diag);
    if (status == TS_OK)
        (json ? print_json : print_text)(&pages, path, stream);
    ts_tiff_pages_close(&pages);
    ts_arena_destroy(pages.arena);
    return status;
}
