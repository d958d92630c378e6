/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the launchers of the methods of backprojection that are in files of their own, for
 * cuda/projection/reconstruction.cu, and their scratch bytes for n slices. Sinograms have their
 * slices at `data`.
 */
#ifndef CUDA_PROJECTION_BACK_METHODS_CUH
#define CUDA_PROJECTION_BACK_METHODS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/geometry/beam.h"
#include "stages/projection/reconstruction.h"
}

/* ---- back view ---------------------------------------------------------------------------------
 *
 * This describes the views of a backprojection on the device, as stages/geometry/beam.h defines
 * them. A pixel's place on the detector is a 64-bit fixed-point number as in
 * cuda/geometry/beam.cuh: the index above, 32 bits of the way to the next one below. */

struct cuda_back_view {
    int64_t base, per_row, per_column;
    float scale, slope; /* a sample at distance x has the weight max(0, scale - slope x) */
    int32_t view;       /* index of the view in the sinogram */
    int32_t reach;      /* number of samples on each side that may have a weight: 1, except for rays
                         * closer than a pixel */
};

/* First come the views in which the place on the detector rises along a row of pixels, then those
 * in which it falls, each sorted by the step's angle. So neighbors in the table are alike, in
 * whatever order the user lists the views. */
struct cuda_back_views {
    int64_t n, n_rising;
    struct cuda_back_view at[];
};

static inline size_t ts_cuda_back_views_bytes(int64_t n)
{
    return sizeof(struct cuda_back_views) + (size_t)n * sizeof(struct cuda_back_view);
}

static inline int64_t ts_cuda_back_fixed(double position)
{
    return (int64_t)llrint(position * 4294967296.0);
}

/* For qsort: first come views whose places rise along a column, then they are sorted by their step
 * along a row. */
static inline int ts_cuda_back_order(const void *a, const void *b)
{
    const struct cuda_back_view *left = (const struct cuda_back_view *)a,
                                *right = (const struct cuda_back_view *)b;
    if ((left->per_column >= 0) != (right->per_column >= 0))
        return left->per_column >= 0 ? -1 : 1;
    /* Among views whose cosines have the same sign, the sine, and with it the step along a column,
     * rises or falls with the angle. */
    if (left->per_row != right->per_row)
        return left->per_row < right->per_row ? -1 : 1;
    return left->view < right->view ? -1 : 1;
}

static inline void ts_cuda_back_views_fill(const struct back_view *views, int64_t n,
                                           struct cuda_back_views *table)
{
    table->n = n;
    table->n_rising = 0;
    for (int64_t v = 0; v < n; v++) {
        struct cuda_back_view *to = &table->at[v];
        to->base = ts_cuda_back_fixed(views[v].base);
        to->per_row = ts_cuda_back_fixed(views[v].per_row);
        to->per_column = ts_cuda_back_fixed(views[v].per_column);
        to->scale = (float)views[v].scale;
        to->slope = (float)(views[v].scale * views[v].width);
        to->view = (int32_t)v;
        to->reach =
            views[v].width < 1 - 1e-9 ? (int32_t)fmin(ceil(1 / views[v].width), 1 << 20) : 1;
        table->n_rising += to->per_column >= 0;
    }
    qsort(table->at, (size_t)n, sizeof *table->at, ts_cuda_back_order);
}

/* Returns how far a place is past the sample below it, as a fraction in [0, 1] of the distance to
 * the next. */
static inline __device__ float ts_cuda_back_past(int64_t at)
{
    return __uint2float_rn((uint32_t)at) * 2.3283064365386963e-10f;
}

static inline __device__ float ts_cuda_back_weight(const struct cuda_back_view *view,
                                                   float distance)
{
    return fmaxf(__fmaf_rn(-view->slope, distance, view->scale), 0);
}

/* Method stack, in back_stack.cu. */
size_t ts_cuda_back_stack_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_back_stack(const struct stage_context *context,
                                  const struct ts_image *sinogram, struct ts_image *out,
                                  const struct cuda_back_views *table, void *scratch,
                                  cudaStream_t stream);

/* Methods tensor and tensor-split: back_tensor.cu. `known` is call->result of the reduction of
 * stages/values/finite_values.h if it looked at these same values, or NULL. The scratch begins with
 * the bits of each slice's largest magnitude (cuda/values/slice_maximum.cuh). The pixels of slices
 * with a NaN or an infinity have no meaning afterwards. */
size_t ts_cuda_back_tensor_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_back_tensor(const struct stage_context *context,
                                   const struct ts_image *sinogram, const void *known,
                                   struct ts_image *out, const struct cuda_back_views *table,
                                   void *scratch, cudaStream_t stream);

/* A fan, in fan_back.cu: its constants, and the two steps around the filter. `constants` are on the
 * device. */
size_t ts_cuda_fan_constants_bytes(const struct stage_context *context);
void ts_cuda_fan_constants(const struct stage_context *context, void *host);
/* Writes the rows times their weights, as f32, before the filter. */
enum ts_status ts_cuda_fan_weigh(const struct stage_context *context, const struct ts_image *in,
                                 float *out, const void *constants, cudaStream_t stream);
/* Backprojects an f32 sinogram by the method chosen; it uses the scratch of
 * ts_cuda_back_stack_scratch(). */
enum ts_status ts_cuda_fan_back(const struct stage_context *context,
                                const struct ts_image *sinogram, struct ts_image *out,
                                const void *constants, void *scratch, cudaStream_t stream);

#endif
