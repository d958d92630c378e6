/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a volume at the voxels of another grid. The grid is given by an affine map from indices of the output to
 * positions in the input, in samples; values between samples are made by one of the interpolations of
 * stages/grid/taps.h. resample and unshear only state the map. The CUDA code is cuda/grid/samples.cuh.
 *
 * A value is the sum over x of wx * (the sum over y of wy * (the sum over z of wz * sample)), in float and in the order
 * of rising indices on both devices, so that integers have the same bytes. They are rounded half to even and saturated.
 */
#ifndef STAGES_GRID_SAMPLES_H
#define STAGES_GRID_SAMPLES_H

#include "stages/engine/validity.h"
#include "stages/grid/taps.h"

/* Output voxel (i0, i1, i2) = (z, y, x) lies at offset[d] + the sum over k of matrix[d][k] * i_k along input axis d. */
struct sampling {
    double matrix[3][3], offset[3];
    int interpolation; /* enum interpolation */
    double outside;    /* the value of voxels beyond the edges of the input, which its dtype holds. In a masked image
                        * they are invalid */
    int64_t n_in[3], n_out[3];
};

/* A parameter `interpolation` has these choices, and stands with `outside` in the table of a stage. */
extern const struct choice ts_interpolation_choices[];
#define SAMPLING_PARAMS(type)                                                                                          \
    PARAM(type, interpolation, .unit = "", .choices = ts_interpolation_choices, .init.choice = INTERPOLATION_LINEAR,   \
          .doc = "how values between samples are made"),                                                               \
        PARAM(type, outside, .unit = "value", .derived = TS_AIR_WORDS, .old = {.until = 1, .init.r = 0},               \
              .doc = "the value of pixels beyond the edges of the input")

/* Returns the position along input axis d of an output voxel. */
static inline double ts_sampling_position(const struct sampling *sampling, int d, int64_t z, int64_t y, int64_t x)
{
    const double *row = sampling->matrix[d];
    return sampling->offset[d] + (double)z * row[0] + (double)y * row[1] + (double)x * row[2];
}

/* Returns true where slices stay slices, rows stay rows and columns stay columns: z depends on the slice alone, y on
 * the slice and the row, and x on the slice and the column. The taps are then found once for each row and column. */
bool ts_sampling_is_aligned(const struct sampling *sampling);
/* Returns the input slices that output slices [first, end) take part of; one where they take none. */
struct stage_slices ts_sampling_reads(const struct sampling *sampling, int64_t first, int64_t end);
/* Returns the bytes of scratch of ts_sampling_map. */
size_t ts_sampling_scratch(const struct sampling *sampling, int threads);
/* Makes the slices of `out` from those of `in`, which are the slab that ts_sampling_reads states, in host memory. Where
 * `in` has bits of valid pixels, invalid ones take no part, and the bits of `out` are written. */
void ts_sampling_map(const struct sampling *sampling, const struct ts_image *in, struct ts_image *out, void *scratch,
                     int threads);

#endif
