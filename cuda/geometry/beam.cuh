/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes rays of a parallel beam on the device, as stages/geometry/beam.h defines them: it
 * has the views of a scan in one table, and computes a ray's crossings with the lines (rows or
 * columns) of its major axis.
 *
 * The table is computed in double on the host and holds the views along rows first, then those
 * along columns, each kind by the direction of its detector pixels, then by rising slope: so
 * neighbors in the table cross an image nearly alike, in whatever order the user lists the views.
 *
 * A position on a line is a 64-bit fixed-point number: the sample's index above, 32 bits of the
 * weight of the next sample below. Stepping to the next line is one exact addition, so an error
 * does not grow with the image's size as in float: a step is off by at most 2^-33 sample.
 */
#ifndef CUDA_GEOMETRY_BEAM_CUH
#define CUDA_GEOMETRY_BEAM_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/geometry/beam.h"
}

struct cuda_beam {
    double base, per_major, per_detector;
    float length_mm;
    int32_t view; /* index of the view in the sinogram */
    bool along_rows;
};

struct cuda_beams {
    int64_t n, n_along_rows;
    int64_t n_rows_backward, n_columns_backward; /* index of the first view of each kind;
                                                  * "backward": detector pixels run down a line */
    struct cuda_beam beams[];
};

static inline size_t ts_cuda_beams_bytes(int64_t n_views)
{
    return sizeof(struct cuda_beams) + (size_t)n_views * sizeof(struct cuda_beam);
}

static inline struct cuda_beam ts_cuda_beam(const struct beam_view *view, int64_t index)
{
    struct cuda_beam beam = {view->base, view->per_major, view->per_detector,
                             (float)view->length_mm};
    beam.view = (int32_t)index;
    beam.along_rows = view->along_rows;
    return beam;
}

static inline int ts_cuda_beam_order(const void *a, const void *b)
{
    const struct cuda_beam *left = (const struct cuda_beam *)a,
                           *right = (const struct cuda_beam *)b;
    if (left->along_rows != right->along_rows)
        return left->along_rows ? -1 : 1;
    if ((left->per_detector < 0) != (right->per_detector < 0))
        return left->per_detector < 0 ? -1 : 1;
    if (left->per_major != right->per_major)
        return left->per_major < right->per_major ? -1 : 1;
    return left->view < right->view ? -1 : 1;
}

/* Sorts the table, whose beams[0 .. n) may be in any order. */
static inline void ts_cuda_beams_sort(struct cuda_beams *table, int64_t n)
{
    table->n = n;
    table->n_along_rows = table->n_rows_backward = table->n_columns_backward = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool backward = table->beams[i].per_detector < 0;
        table->n_along_rows += table->beams[i].along_rows;
        table->n_rows_backward += backward && table->beams[i].along_rows;
        table->n_columns_backward += backward && !table->beams[i].along_rows;
    }
    qsort(table->beams, (size_t)n, sizeof *table->beams, ts_cuda_beam_order);
}

/* Finds the lines [first, end) on which a ray, which is at `start` on line 0, is inside (-1 -
 * reach, n_minor). There may be one line too many on both sides. */
static inline __device__ void ts_cuda_beam_lines(double start, double per_major, double reach,
                                                 int n_major, int n_minor, int *first, int *end)
{
    const double low = -1 - reach, high = (double)n_minor;
    if (per_major == 0) {
        *first = 0;
        *end = start > low && start < high ? n_major : 0;
        return;
    }
    const double a = (low - start) / per_major, b = (high - start) / per_major;
    *first = (int)fmax(0.0, fmin(floor(fmin(a, b)), (double)n_major));
    *end = (int)fmax(0.0, fmin(ceil(fmax(a, b)) + 1, (double)n_major));
}

static inline __device__ int64_t ts_cuda_fixed(double position)
{
    return __double2ll_rn(position * 4294967296.0);
}

/* Returns 1 + the weight of the next sample, to 23 bits. That takes one bit operation; a conversion
 * would take several. */
static inline __device__ float ts_cuda_beam_weight(uint32_t fraction)
{
    return __uint_as_float(0x3F800000u + (fraction >> 9));
}

/* Added once to a position, so that ts_cuda_beam_weight() rounds to nearest. */
enum { TS_CUDA_BEAM_HALF = 1 << 8 };

#endif
