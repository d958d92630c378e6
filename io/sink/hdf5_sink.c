/* SPDX-License-Identifier: Apache-2.0
 *
 * The HDF5 file as a sink: it is staged, finished and published with the outputs of other formats.
 * Its writer (io/hdf5/hdf5_write.h), which gives each image a number, makes its images, tables and
 * masks.
 */
#include "io/sink/sink.h"

struct hdf5_file {
    struct sink sink;
    struct hdf5_writer *writer; /* NULL: it is finished */
};

struct hdf5_writer *ts_hdf5_sink_writer(const struct sink *sink)
{
    return ((const struct hdf5_file *)sink)->writer;
}

static const char *hdf5_refusal(const struct sink_request *request)
{
    (void)request;
    return NULL;
}

static enum ts_status hdf5_open(struct sink *sink, struct ts_diag *diag)
{
    const struct hdf5_options *options = sink->request.hdf5;
    sink->request.hdf5 = NULL; /* the writer has a copy */
    return ts_hdf5_begin(&sink->staged[0].file, options, &((struct hdf5_file *)sink)->writer, diag);
}

static enum ts_status hdf5_put(struct sink *sink, int id, const struct ts_image *slab)
{
    return ts_hdf5_write(((struct hdf5_file *)sink)->writer, id, slab);
}

static enum ts_status hdf5_finish(struct sink *sink, struct ts_diag *diag)
{
    struct hdf5_file *file = (struct hdf5_file *)sink;
    struct hdf5_writer *writer = file->writer;
    (void)diag;
    file->writer = NULL;
    return ts_hdf5_finish(writer);
}

static void hdf5_free(struct sink *sink)
{
    ts_hdf5_abandon(((struct hdf5_file *)sink)->writer);
}

const struct sink_format hdf5_sink = {
    .name = "hdf5",
    .suffixes = {".h5", ".hdf5", ".nxs"},
    .sink_bytes = sizeof(struct hdf5_file),
    .refusal = hdf5_refusal,
    .open = hdf5_open,
    .put_image = hdf5_put,
    .finish = hdf5_finish,
    .free = hdf5_free,
};
