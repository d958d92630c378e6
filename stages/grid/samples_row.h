/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of aligned grids (samples.c), of others (samples_free.c) and of masked images (samples_masked.c) share the
 * slab that is being made, and how a row of floats becomes a row of the output.
 */
#ifndef STAGES_GRID_SAMPLES_ROW_H
#define STAGES_GRID_SAMPLES_ROW_H

#include "stages/engine/border.h"
#include "stages/grid/samples.h"

struct sampled {
    const struct sampling *sampling;
    const struct ts_image *in, *out;
    size_t bytes; /* of an element */
    int taps;
};

/* Returns row y of input slice z. */
static inline const char *ts_sampled_row(const struct sampled *of, int64_t z, int64_t y)
{
    const int64_t nx = of->sampling->n_in[2], row = (z - of->in->z_first) * of->sampling->n_in[1] + y;
    return (const char *)of->in->data + (size_t)(row * nx) * of->bytes;
}

/* Writes the value outside to pixels [first, end) of an output row. */
static inline void ts_sampled_fill(const struct sampled *of, char *row, int64_t first, int64_t end)
{
    ts_constant_fill(row + (size_t)first * of->bytes, of->out->dtype, of->sampling->outside, end - first);
}

/* The positions of the voxels of a row along each axis: from[d] + x * step[d]. */
struct sampled_line {
    double from[3], step[3];
};

/* Returns the positions of row y of output slice z, of which voxels [*first, *end) lie inside. */
struct sampled_line ts_sampled_place(const struct sampled *of, int64_t z, int64_t y, int64_t *first, int64_t *end);
/* Stores n floats as values of the dtype: integers are rounded half to even and saturated. */
void ts_sampled_store(const float *in, void *out, enum ts_dtype dtype, int64_t n);
/* Copies n samples of `bytes` each from the columns `index` of a row. */
void ts_sampled_gather(const void *row, const int32_t *index, void *out, int64_t n, size_t bytes);
/* Makes row y of output slice z on a grid that is not aligned. `line` has place for the floats of a row. */
void ts_sampled_free_row(const struct sampled *of, int64_t z, int64_t y, float *line, char *out);
/* Mends row y of output slice z of a masked image, and sets the bits of its voxels that are valid in `valid`, the bits
 * of the slice, or NULL. `columns` are the input's columns of nearest samples, NULL where the grid is not aligned.
 * `joined` has place for a bit of each column of the input. */
void ts_sampled_mend_row(const struct sampled *of, int64_t z, int64_t y, const int32_t *columns, uint64_t *joined,
                         char *out, uint64_t *valid);

#endif
