/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a volume as NIfTI-1, or as NIfTI-2 where an axis is longer than 32,767, as it is or in gzip by all threads.
 * The values keep their type and their order, x fastest and row 0 first: the transform states how they lie, and no row
 * is moved. LPS becomes RAS by the signs of the first two coordinates. A volume without a place in a patient gets the
 * positions along its axes as its coordinates. Beside the file goes NAME.json with the facts about the input, under
 * keys as those of BIDS sidecars. A series of volumes has a fourth axis, of which NAME.json states the positions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/file/file_bytes.h"
#include "io/file/gzip_writer.h"
#include "io/sink/sink.h"
#include "io/source/metadata.h"
#include "io/volume/nifti_header.h"

struct nifti_file {
    struct sink sink; /* first */
    struct gzip_writer *gzip;
    uint64_t offset;
    char *sidecar; /* its path */
};

static bool is_gzip(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
}

static const char *refusal(const struct sink_request *request)
{
    return ts_sink_no_volume(request);
}

static size_t memory_bytes(const struct sink_request *request)
{
    return is_gzip(request->path) ? ts_gzip_writer_bytes(request->threads) : 0;
}

static void make_header(const struct sink *sink, struct nifti_header *header)
{
    const struct ts_image *image = &sink->image;
    double rows[3][4];
    *header = (struct nifti_header){.version = 1, .dim = {3, 1, 1, 1, 1, 1, 1, 1}, .slope = 1};
    for (int d = 0; d < 3; d++) {
        header->dim[1 + d] = (double)image->axes[2 - d].n;
        header->version = image->axes[2 - d].n > NIFTI_1_LONGEST ? 2 : header->version;
    }
    for (int d = 4; d < 8; d++)
        header->pixdim[d] = 1;
    if (sink->request.volumes) {
        const struct ts_axis *volumes = sink->request.volumes;
        header->dim[0] = 4;
        header->dim[4] = (double)volumes->n;
        header->version = volumes->n > NIFTI_1_LONGEST ? 2 : header->version;
        if (volumes->kind == TS_AXIS_TIME && volumes->n > 1) /* the mean step, in seconds */
            header->pixdim[4] =
                (ts_axis_position(volumes, volumes->n - 1) - ts_axis_position(volumes, 0)) / (double)(volumes->n - 1);
    }
    header->datatype = ts_nifti_datatype(image->dtype);
    header->bits = 8 * (double)ts_dtype_bytes(image->dtype);
    header->offset = header->version == 1 ? NIFTI_1_BYTES + 4 : NIFTI_2_BYTES + 4;
    header->units = !strcmp(image->axes[2].unit, "mm") ? NIFTI_MM + NIFTI_SECONDS : 0;
    snprintf(header->text, sizeof header->text, "tomostage %s: %s, %s", ts_version(), ts_quantity_name(image->quantity),
             image->unit);
    ts_sink_transform(image, rows);
    for (int d = 0; d < 4 && image->has_geometry; d++) {
        rows[0][d] = 0 - rows[0][d]; /* a zero keeps its sign */
        rows[1][d] = 0 - rows[1][d];
    }
    ts_nifti_set_transform(header, rows);
}

static bool put_bytes(struct nifti_file *file, const void *data, size_t bytes)
{
    if (file->gzip)
        return ts_gzip_writer_add(file->gzip, data, bytes);
    const uint64_t at = file->offset;
    file->offset += bytes;
    return ts_file_write_at(file->sink.staged[0].file.fd, data, bytes, at);
}

/* ---- the sidecar --------------------------------------------------------------------------------- */

static void write_sidecar(FILE *stream, const struct sink_request *request)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "Quantity", ts_quantity_name(request->image->quantity));
    ts_json_member_text(&json, "Units", request->image->unit);
    ts_json_member_text(&json, "Image", request->name);
    ts_metadata_json(&json, request->attributes, request->n_attributes);
    if (request->volumes) {
        ts_json_open_member(&json, "Volumes", '{');
        ts_json_member_text(&json, "Axis", ts_axis_name(request->volumes->kind));
        ts_json_member_text(&json, "Units", request->volumes->unit);
        ts_json_open_member(&json, "Positions", '[');
        for (int64_t i = 0; i < request->volumes->n; i++)
            ts_json_real(&json, ts_axis_position(request->volumes, i));
        ts_json_close(&json, ']');
        ts_json_close(&json, '}');
    }
    ts_json_open_member(&json, "GeneratedBy", '[');
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "Name", "tomostage");
    ts_json_member_text(&json, "Version", ts_version());
    ts_json_close(&json, '}');
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

static enum ts_status create_sidecar(struct nifti_file *file, struct ts_diag *diag)
{
    struct sink *sink = &file->sink;
    char *text = NULL;
    size_t length = 0;
    const size_t stem = strlen(sink->request.path) - (is_gzip(sink->request.path) ? strlen(".nii.gz") : strlen(".nii"));
    if (asprintf(&file->sidecar, "%.*s.json", (int)stem, sink->request.path) < 0)
        file->sidecar = NULL;
    FILE *stream = file->sidecar ? open_memstream(&text, &length) : NULL;
    if (!stream)
        return ts_diag_no_memory(diag, strlen(sink->request.path));
    write_sidecar(stream, &sink->request);
    if (fclose(stream) != 0) {
        free(text);
        return ts_diag_no_memory(diag, length);
    }
    sink->n_staged = 2;
    enum ts_status status = ts_staged_file(&sink->staged[1], file->sidecar, sink->request.force, diag);
    if (status == TS_OK && !ts_file_write_at(sink->staged[1].file.fd, text, length, 0))
        status = ts_sink_failed(sink, errno, diag);
    free(text);
    return status;
}

/* ---- the table ----------------------------------------------------------------------------------- */

static enum ts_status open_file(struct sink *sink, struct ts_diag *diag)
{
    struct nifti_file *file = (struct nifti_file *)sink;
    struct nifti_header header;
    unsigned char bytes[NIFTI_2_BYTES + 4];
    make_header(sink, &header);
    const size_t n = ts_nifti_encode(&header, bytes);
    if (is_gzip(sink->request.path)) {
        file->gzip = ts_gzip_writer_create(sink->staged[0].file.fd, sink->request.threads);
        if (!file->gzip)
            return ts_diag_no_memory(diag, ts_gzip_writer_bytes(sink->request.threads));
    }
    return put_bytes(file, bytes, n) ? create_sidecar(file, diag) : ts_sink_failed(sink, errno, diag);
}

static enum ts_status put(struct sink *sink, const struct ts_image *slab, struct ts_diag *diag)
{
    return put_bytes((struct nifti_file *)sink, slab->data, ts_image_bytes(slab)) ? TS_OK
                                                                                  : ts_sink_failed(sink, errno, diag);
}

static enum ts_status finish(struct sink *sink, struct ts_diag *diag)
{
    struct nifti_file *file = (struct nifti_file *)sink;
    return !file->gzip || ts_gzip_writer_end(file->gzip) ? TS_OK : ts_sink_failed(sink, errno, diag);
}

static void free_file(struct sink *sink)
{
    struct nifti_file *file = (struct nifti_file *)sink;
    ts_gzip_writer_destroy(file->gzip);
    free(file->sidecar);
}

const struct sink_format nifti_sink = {
    .name = "nifti",
    .summary = "one NIfTI file, .nii or .nii.gz, and a JSON file beside it",
    .suffixes = {".nii.gz", ".nii"},
    .sink_bytes = sizeof(struct nifti_file),
    .refusal = refusal,
    .memory_bytes = memory_bytes,
    .open = open_file,
    .put = put,
    .finish = finish,
    .free = free_file,
};
