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
#include "io/scan/tiff_named.h"
#include "io/scan/tiff_pages.h"
#include "io/scan/tiff_planes.h"
#include "io/source/try_text.h"

static const struct {
    const char *meaning, *parameters;
    unsigned axes; /* bits of those along which the text of a file may say that its images are */
} inputs[] = {
    {"slices of a volume", "pages=slices pixel_size=MM spacing_z=MM", TIFF_OF_SLICES},
    {"projections of a scan", "pages=views pixel_size=MM", TIFF_OF_VIEWS},
    {"sinograms of a scan", "pages=sinograms pixel_size=MM", TIFF_OF_SLICES},
};
enum { SLICES, VIEWS, SINOGRAMS };

/* Returns the parameter without which an input of that meaning would be refused, as its images are
 * along another axis; "" if there is no need of one. */
static const char *pick_of(const struct tiff_pages *pages, size_t i)
{
    return pages->axis == TIFF_AXES || inputs[i].axes >> pages->axis & 1 ? "" : " pick=0,1";
}

/* Writes the parameters of input i. The angles of views are those in the names of the files.
 * Returns false if names with angles say that it is none of sinograms. */
static bool write_input(const struct tiff_pages *pages, const struct tiff_named *named, size_t i,
                        char *text, size_t size)
{
    char angles[100] = "";
    if (i != SLICES && !named->values)
        snprintf(angles, sizeof angles, " angle_start=0 angle_stop=DEGREES");
    else if (i == VIEWS && named->step != 0)
        snprintf(angles, sizeof angles, " angle_start=%.9g angle_stop=%.9g", named->values[0],
                 named->values[0] + named->step * (double)pages->n_files);
    else if (i == VIEWS)
        snprintf(angles, sizeof angles, " angles_file=FILE");
    snprintf(text, size, "%s%s%s", inputs[i].parameters, angles, pick_of(pages, i));
    return !named->values || i != SINOGRAMS;
}

static void print_text(const struct tiff_pages *pages, const struct tiff_named *named,
                       const char *path, FILE *stream)
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
    if (*pick_of(pages, 0))
        fprintf(stream,
                "  by its text the pages are %ss; pick=0,1 takes them for what the chain says\n",
                ts_tiff_axis_names[pages->axis]);
    if (named->values)
        fprintf(stream, "  by the names of the files they are views, from %.9g to %.9g degrees\n",
                named->values[0], named->values[pages->n_files - 1]);
    fputs("  what the pages are is not in the file; as an input, with numbers in place of the "
          "capitals:\n",
          stream);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        char text[256];
        if (!write_input(pages, named, i, text, sizeof text))
            continue;
        fputs("    tiff ", stream);
        ts_try_word(stream, path);
        fprintf(stream, " %s   (%s)\n", text, inputs[i].meaning);
    }
}

static void print_json(const struct tiff_pages *pages, const struct tiff_named *named,
                       const char *path, FILE *stream)
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
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        char text[256];
        if (write_input(pages, named, i, text, sizeof text))
            ts_json_text(&json, text);
    }
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

enum ts_status ts_tiff_info(const char *path, bool json, FILE *stream, struct ts_diag *diag)
{
    struct tiff_pages pages = {.arena = ts_arena_create(), .owner = "input", .fd = -1};
    if (!pages.arena)
        return ts_diag_no_memory(diag, sizeof pages);
    struct tiff_named named;
    enum ts_status status = ts_tiff_pages_open(&pages, &path, 1, diag);
    if (status == TS_OK)
        status = ts_tiff_named_angles(&pages, &named, diag);
    if (status == TS_OK)
        (json ? print_json : print_text)(&pages, &named, path, stream);
    ts_tiff_pages_close(&pages);
    ts_arena_destroy(pages.arena);
    return status;
}
