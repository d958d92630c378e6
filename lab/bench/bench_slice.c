/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a slice of a user's DICOM series for benchmarks and studies, through the same source that
 * chains read.
 */
#include <math.h>
#include <stdlib.h>

#include "core/arena.h"
#include "io/source/source_slices.h"
#include "lab/bench/bench.h"
#include "pipeline/chain/formats.h"

enum ts_status ts_bench_dicom_open(const char *path, struct arena *arena, struct source **source,
                                   struct ts_diag *diag)
{
    const struct source_format *format = ts_source_format_find("dicom");
    struct param_set set = {
        .params = format->params, .n_params = format->n_params, .owner = "input"};
    set.values = arena ? ts_arena_alloc(arena, format->params_bytes) : NULL;
    if (!set.values)
        return ts_diag_no_memory(diag, format->params_bytes);
    ts_params_init(&set);
    for (size_t i = 0; i < set.n_params; i++)
        if (set.params[i].required)
            *(struct ts_texts *)ts_param_field(&set, i) = (struct ts_texts){.n = 1, .items = &path};
    return ts_source_open(format, &set, source, diag);
}

/* Reads slice z of the source into the slice's values. */
static enum ts_status read_slice(struct source *source, int64_t z, struct bench_slice *slice,
                                 struct ts_diag *diag)
{
    const struct ts_image *image = &source->image;
    const size_t n = (size_t)(slice->ny * slice->nx), bytes = ts_slice_bytes(image);
    void *pixels = malloc(bytes);
    slice->values = malloc(n * sizeof *slice->values);
    enum ts_status status =
        pixels && slice->values ? TS_OK : ts_diag_no_memory(diag, bytes + n * sizeof(double));
    if (status == TS_OK && source->ops->start)
        status = source->ops->start(source, 1, 1, diag);
    if (status == TS_OK)
        status = source->ops->read(source, z, 1, pixels, diag);
    if (status == TS_OK)
        ts_load_f64(slice->values, pixels, image->dtype, n);
    free(pixels);
    return status;
}

enum ts_status ts_bench_slice_read(const char *path, struct bench_slice *slice,
                                   struct ts_diag *diag)
{
    struct source *source = NULL;
    struct arena *arena = ts_arena_create();
    enum ts_status status = ts_bench_dicom_open(path, arena, &source, diag);
    if (status == TS_OK) {
        *slice = (struct bench_slice){.ny = source->image.axes[1].n,
                                      .nx = source->image.axes[2].n,
                                      .low = INFINITY,
                                      .high = -INFINITY};
        status = read_slice(source, source->n_slices / 2, slice, diag);
    }
    for (int64_t i = 0; status == TS_OK && i < slice->ny * slice->nx; i++) {
        slice->low = fmin(slice->low, slice->values[i]);
        slice->high = fmax(slice->high, slice->values[i]);
    }
    if (source)
        source->ops->close(source);
    ts_arena_destroy(arena);
    return status;
}
