/* SPDX-License-Identifier: Apache-2.0
 *
 * The file is opened by its own format with the parameters at their defaults, so that the output
 * shows what a run would see. Few files say if their numbers are Hounsfield units, so the
 * input is printed for both cases. A gzip stream is inflated as well, since only its checksum tells
 * a damaged file from a whole one; MOST_INFLATED bounds the time for this to less than a second.
 */
#include "io/volume/volume_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/source/metadata.h"
#include "io/source/source_slices.h"
#include "io/source/try_text.h"
#include "io/source/volume_text.h"
#include "io/volume/volume_source.h"

enum { MOST_INFLATED = 128 << 20 };

/* Prints the spacings of y, x and z, some of which may be unknown. */
static void print_spacings(const struct ts_image *image, FILE *stream)
{
    static const int order[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        const struct ts_axis *axis = &image->axes[order[i]];
        fputs(i == 0 ? "\n  spacing " : " x ", stream);
        if (!strcmp(axis->unit, "mm"))
            fprintf(stream, "%g", axis->spacing);
        else
            fputs("unknown", stream);
    }
    fputs(" mm", stream);
}

static void print_text(const struct source *source, const struct source_format *format,
                       const char *path, bool whole, FILE *stream)
{
    const struct ts_image *image = &source->image;
    const struct ts_axis *z = &image->axes[0], *y = &image->axes[1], *x = &image->axes[2];
    char text[512];
    ts_text_print(stream, "", path);
    fprintf(stream,
            "\n  %s: %" PRId64 " x %" PRId64 " pixels x %" PRId64
            " slice%s (rows x columns x slices), %s",
            format->name, y->n, x->n, z->n, z->n == 1 ? "" : "s", ts_dtype_name(image->dtype));
    if (source->n_volumes > 1)
        fprintf(stream, ", %" PRId64 " volumes by %s", source->n_volumes,
                ts_axis_name(&source->volume_axis));
    if (!strcmp(z->unit, "mm") || !strcmp(y->unit, "mm") || !strcmp(x->unit, "mm"))
        print_spacings(image, stream);
    else
        fputs("\n  the size of a pixel is not in the file", stream);
    ts_volume_orientation(image, text, sizeof text);
    fprintf(stream, ", %s\n",
            image->has_geometry ? text : "its place in the patient is not in the file");
    for (size_t i = 0; i < source->n_attributes; i++) {
        ts_metadata_format(&source->attributes[i], text, sizeof text);
        ts_text_print(stream, "  ", text);
        fputc('\n', stream);
    }
    if (!whole)
        fprintf(stream,
                "  the first %d MiB were inflated without fault; the rest was not checked, which a "
                "run does\n",
                MOST_INFLATED >> 20);
    fprintf(stream, "  as an input: %s ", format->name);
    ts_try_word(stream, path);
    if (image->quantity == TS_INTENSITY)
        fputs("   (add quantity=hu where the values are Hounsfield units)", stream);
    fputc('\n', stream);
}

static void print_json(const struct source *source, const struct source_format *format,
                       const char *path, bool whole, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "path", path);
    ts_json_member_text(&json, "format", format->name);
    ts_json_open_member(&json, "shape", '[');
    for (int d = 0; d < 3; d++)
        ts_json_integer(&json, source->image.axes[d].n);
    ts_json_close(&json, ']');
    ts_volume_json(&json, &source->image);
    ts_json_member_bool(&json, "checked", whole);
    if (source->n_volumes > 1)
        ts_volume_axis_json(&json, &source->volume_axis);
    ts_json_open_member(&json, "metadata", '{');
    ts_metadata_json(&json, source->attributes, source->n_attributes);
    ts_json_close(&json, '}');
    ts_json_close(&json, '}');
}

enum ts_status ts_volume_info(const struct source_format *format, const char *path, bool json,
                              FILE *stream, struct ts_diag *diag)
{
    struct source *source = NULL;
    struct param_set set = {
        .params = format->params, .n_params = format->n_params, .owner = "input"};
    size_t i;
    set.values = calloc(1, format->params_bytes);
    if (!set.values)
        return ts_diag_no_memory(diag, format->params_bytes);
    ts_params_init(&set);
    if (ts_param_find(set.params, set.n_params, format->name, &i))
        *(const char **)ts_param_field(&set, i) = path;
    bool whole = true;
    enum ts_status status = ts_source_open(format, &set, &source, diag);
    if (status == TS_OK)
        status = ts_volume_check_stored(source, MOST_INFLATED, &whole, diag);
    if (status == TS_OK)
        (json ? print_json : print_text)(source, format, path, whole, stream);
    if (source)
        source->ops->close(source);
    free(set.values);
    return status;
}
