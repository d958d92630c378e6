/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream is deflated by all threads, and has the same bytes for any number of them.
 */
#include "io/sink/volume_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/params.h"
#include "io/file/file_bytes.h"
#include "io/file/gzip_writer.h"
#include "io/volume/header_text.h"

/* ---- what the header says -------------------------------------------------------------------- */

/* Returns the thickness in mm that the input states, or 1 mm. It replaces the step from slice to
 * slice where that is not known. */
static double thickness(const struct sink_request *request)
{
    const struct source_attribute *stated = ts_sink_fact(request, "slice_thickness");
    double number;
    return stated && stated->numbers && ts_sink_holds(request, stated) &&
                   ts_sink_number(request, stated, 0, &number) && number > 0
               ? number
               : 1;
}

void ts_volume_file_transform(const struct sink *sink, double rows[3][4])
{
    ts_sink_transform(&sink->image, rows);
    const double length = sink->image.axes[0].spacing > 0 ? 1 : thickness(&sink->request);
    for (int i = 0; i < 3; i++)
        rows[i][2] *= length;
}

int ts_volume_file_unknown_axis(const struct ts_image *image)
{
    for (int d = 0; d < 3 && !image->has_geometry; d++)
        if (strcmp(image->axes[d].unit, "mm") != 0)
            return d;
    return image->has_geometry && strcmp(image->axes[2].unit, "mm") ? 2 : -1;
}

void ts_volume_file_warn_of_unit(const struct volume_file *file, const char *code,
                                 struct ts_diag *diag)
{
    const struct ts_image *image = &file->sink.image;
    const int unknown = ts_volume_file_unknown_axis(image);
    bool some = false;
    for (int d = 0; d < 3; d++)
        some |= !strcmp(image->axes[d].unit, "mm");
    char stage[64];
    snprintf(stage, sizeof stage, "output.%s", file->sink.format->name);
    if (unknown >= 0 && some)
        ts_diag_warning(diag, &(struct diag_site){.code = code, .stage = stage},
                        "the spacing along %s is not known in mm: '%s' has a spacing of %g there, "
                        "and states no unit of length for any axis",
                        ts_axis_name(&image->axes[unknown]), file->sink.request.path,
                        ts_axis_spacing(&image->axes[unknown]));
}

void ts_volume_file_write_numbers(const double *values, int64_t n, const char *between,
                                  FILE *stream)
{
    for (int64_t i = 0; i < n; i++) {
        char text[64];
        ts_real_format(values[i], text, sizeof text);
        fprintf(stream, "%s%s", i > 0 ? between : "", text);
    }
}

/* Writes the axis of the volumes: first and step if they are even, else all positions, unless they
   would fill the header. */
static void write_volumes(const struct ts_axis *axis, const char *between, FILE *stream)
{
    enum { MOST_POSITIONS = 1024 };
    const int64_t n = axis->n;
    double positions[MOST_POSITIONS] = {ts_axis_position(axis, 0), 1};
    const double first = positions[0],
                 step = n > 1 ? (ts_axis_position(axis, n - 1) - first) / (double)(n - 1) : 1;
    bool even = step > 0;
    for (int64_t i = 0; i < n; i++)
        even &= fabs(ts_axis_position(axis, i) - first - (double)i * step) <= 1e-6 * step;
    if (!even && n > MOST_POSITIONS)
        return;
    positions[1] = step;
    for (int64_t i = 0; i < n && !even; i++)
        positions[i] = ts_axis_position(axis, i);
    fprintf(stream, HEADER_VOLUMES "%s%s %s ", between, ts_axis_name(axis),
            *axis->unit ? axis->unit : "-");
    ts_volume_file_write_numbers(positions, even ? 2 : n, " ", stream);
    fputc('\n', stream);
}

void ts_volume_file_write_facts(const struct sink *sink, const char *between, FILE *stream)
{
    char unit[128];
    ts_text_escape(unit, sizeof unit, sink->image.unit);
    fprintf(stream, HEADER_QUANTITY "%s%s\n" HEADER_UNIT "%s%s\n", between,
            ts_quantity_name(sink->image.quantity), between, unit);
    if (sink->image.labels == 2)
        fprintf(stream, HEADER_LABELS "%syes\n", between);
    if (sink->request.volumes)
        write_volumes(sink->request.volumes, between, stream);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool put_bytes(struct volume_file *file, const void *data, size_t bytes)
{
    if (file->gzip)
        return ts_gzip_writer_add(file->gzip, data, bytes);
    const uint64_t at = file->offset;
    file->offset += bytes;
    return ts_file_write_at(file->sink.staged[0].file.fd, data, bytes, at);
}

size_t ts_volume_file_memory(const struct sink_request *request)
{
    return request->stored ? 0 : ts_gzip_writer_bytes(request->threads);
}

enum ts_status ts_volume_file_begin(struct volume_file *file, const void *header, size_t n,
                                    enum volume_coding coding, struct ts_diag *diag)
{
    const struct sink *sink = &file->sink;
    const int threads = sink->request.threads;
    const bool whole = coding == VOLUME_GZIP_WHOLE;
    if (!whole && !put_bytes(file, header, n))
        return ts_sink_failed(sink, errno, diag);
    if (coding != VOLUME_RAW &&
        !(file->gzip = ts_gzip_writer_create(sink->staged[0].file.fd, file->offset,
                                             coding == VOLUME_ZLIB, threads)))
        return errno == ENOMEM ? ts_diag_no_memory(diag, ts_gzip_writer_bytes(threads))
                               : ts_sink_failed(sink, errno, diag);
    return !whole || put_bytes(file, header, n) ? TS_OK : ts_sink_failed(sink, errno, diag);
}

enum ts_status ts_volume_file_begin_text(struct volume_file *file, volume_header_write *write,
                                         enum volume_coding coding, struct ts_diag *diag)
{
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    if (!stream)
        return ts_diag_no_memory(diag, sizeof *stream);
    write(file, stream);
    const enum ts_status status =
        fclose(stream) == 0
            ? ts_volume_file_begin(file, text, n, file->sink.request.stored ? VOLUME_RAW : coding,
                                   diag)
            : ts_diag_no_memory(diag, n);
    free(text);
    return status;
}

enum ts_status ts_volume_file_stage(struct volume_file *file, const char *ending, const char *text,
                                    size_t length, struct ts_diag *diag)
{
    struct sink *sink = &file->sink;
    const int k = sink->n_staged++, stem = (int)ts_sink_stem(sink->format, sink->request.path);
    if (asprintf(&file->beside[k], "%.*s%s", stem, sink->request.path, ending) < 0) {
        file->beside[k] = NULL;
        return ts_diag_no_memory(diag, strlen(sink->request.path));
    }
    const enum ts_status status =
        ts_staged_file(&sink->staged[k], file->beside[k], sink->request.force, diag);
    return status != TS_OK || ts_file_write_at(sink->staged[k].file.fd, text, length, 0)
               ? status
               : ts_sink_failed(sink, errno, diag);
}

/* Writes the slices of a slab with their rows in reverse order. */
static bool put_reversed(struct volume_file *file, const struct ts_image *slab)
{
    const int64_t rows = slab->axes[1].n;
    const size_t slice = ts_slice_bytes(slab), row = slice / (size_t)rows;
    bool put = true;
    for (int64_t z = 0; z < slab->axes[0].n && put; z++) {
        const unsigned char *from = ts_slice_data(slab, z);
        for (int64_t y = 0; y < rows; y++)
            memcpy(file->reversed + (size_t)(rows - 1 - y) * row, from + (size_t)y * row, row);
        put = put_bytes(file, file->reversed, slice);
    }
    return put;
}

enum ts_status ts_volume_file_put(struct sink *sink, const struct ts_image *slab,
                                  struct ts_diag *diag)
{
    struct volume_file *file = (struct volume_file *)sink;
    const bool done = file->reversed ? put_reversed(file, slab)
                                     : put_bytes(file, slab->data, ts_image_bytes(slab));
    return done ? TS_OK : ts_sink_failed(sink, errno, diag);
}

static enum ts_status end_file(struct volume_file *file, struct ts_diag *diag)
{
    if (file->gzip && !ts_gzip_writer_end(file->gzip))
        return ts_sink_failed(&file->sink, errno, diag);
    return file->end ? file->end(file, diag) : TS_OK;
}

/* Writes the mask, slice by slice, to a file that was begun. */
static enum ts_status put_mask(struct volume_file *mask, struct ts_diag *diag)
{
    struct ts_image slice = mask->sink.image;
    const size_t n = ts_slice_count(&slice);
    uint8_t *values = malloc(n);
    enum ts_status status = values ? TS_OK : ts_diag_no_memory(diag, n);
    slice.axes[0].n = 1;
    slice.data = values;
    for (slice.z_first = 0; status == TS_OK && slice.z_first < ts_sink_slices(&mask->sink);
         slice.z_first++) {
        for (size_t i = 0; i < n; i++)
            values[i] = ts_sink_is_valid(&mask->sink, slice.z_first, i);
        status = ts_volume_file_put(&mask->sink, &slice, diag);
    }
    free(values);
    return status;
}

/* Writes the mask beside the file. */
static enum ts_status write_mask(struct volume_file *file, struct ts_diag *diag)
{
    struct sink *sink = &file->sink;
    const char *path = sink->request.path;
    char ending[64];
    snprintf(ending, sizeof ending, "_mask%s", path + ts_sink_stem(sink->format, path));
    enum ts_status status = ts_volume_file_stage(file, ending, "", 0, diag);
    struct volume_file *mask = status == TS_OK ? malloc(sink->format->sink_bytes) : NULL;
    if (!mask)
        return status == TS_OK ? ts_diag_no_memory(diag, sink->format->sink_bytes) : status;
    memcpy(mask, file, sink->format->sink_bytes);
    mask->gzip = NULL;
    mask->reversed = NULL;
    mask->offset = 0;
    mask->sink.image.dtype = TS_U8;
    mask->sink.image.labels = 0;
    mask->sink.image.quantity = TS_INTENSITY;
    mask->sink.image.unit = "1";
    mask->sink.staged[0] = sink->staged[sink->n_staged - 1];
    status = mask->begin(mask, diag);
    if (status == TS_OK)
        status = put_mask(mask, diag);
    if (status == TS_OK)
        status = end_file(mask, diag);
    ts_gzip_writer_destroy(mask->gzip);
    free(mask->reversed);
    free(mask);
    return status;
}

/* Warns of files of an earlier output that would be taken for parts of this one. */
static enum ts_status warn_of_others(const struct volume_file *file, struct ts_diag *diag)
{
    const struct sink *sink = &file->sink;
    const int stem = (int)ts_sink_stem(sink->format, sink->request.path);
    char stage[64];
    snprintf(stage, sizeof stage, "output.%s", sink->format->name);
    for (int i = 0; i < SINK_STAGED && sink->format->beside[i]; i++) {
        char *path = NULL;
        bool own = false;
        if (asprintf(&path, "%.*s%s", stem, sink->request.path, sink->format->beside[i]) < 0)
            return ts_diag_no_memory(diag, strlen(sink->request.path));
        for (int k = 1; k < sink->n_staged; k++)
            own |= !strcmp(path, file->beside[k]);
        if (!own && access(path, F_OK) == 0) {
            ts_diag_warning(diag,
                            &(struct diag_site){.code = "output-beside-stays", .stage = stage},
                            "'%s' is there from before, and does not belong to the new '%s'", path,
                            sink->request.path);
            ts_diag_hint(diag, "remove it");
        }
        free(path);
    }
    return TS_OK;
}

enum ts_status ts_volume_file_finish(struct sink *sink, struct ts_diag *diag)
{
    struct volume_file *file = (struct volume_file *)sink;
    enum ts_status status = end_file(file, diag);
    if (status == TS_OK && sink->valid)
        status = write_mask(file, diag);
    return status == TS_OK ? warn_of_others(file, diag) : status;
}

void ts_volume_file_free(struct sink *sink)
{
    struct volume_file *file = (struct volume_file *)sink;
    ts_gzip_writer_destroy(file->gzip);
    free(file->reversed);
    for (int i = 0; i < SINK_STAGED; i++)
        free(file->beside[i]);
}
