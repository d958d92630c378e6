/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that carry running sums share this: a window's sum, with the NaN and infinities in
 * it; the pass down columns; and the pass along rows for kernels whose threads read their own rows
 * (texture of cuda/filters/box.cu, and lab/cuda/box_study.cu for comparison). The comment on
 * running-sum in box.cu gives the reasons.
 */
#ifndef CUDA_FILTERS_BOX_RUNNING_CUH
#define CUDA_FILTERS_BOX_RUNNING_CUH

#include "cuda/filters/box.cuh"

enum { BOX_RUN_TILE = 32, BOX_COLUMN_THREADS = 128 };

template <typename SUM> struct box_running {
    SUM sum;
};
template <> struct box_running<double> {
    double sum;
    uint64_t strange; /* number of NaN in the low 20 bits, then of +infinity, then of -infinity */
};

template <typename SUM> static __device__ void box_start(struct box_running<SUM> *window)
{
    window->sum = 0;
}
static __device__ void box_start(struct box_running<double> *window)
{
    window->sum = 0;
    window->strange = 0;
}

template <typename SUM, typename IN>
static __device__ void box_slide(struct box_running<SUM> *window, IN in, bool leaves)
{
    window->sum += leaves ? -(SUM)in : (SUM)in;
}
static __device__ void box_slide(struct box_running<double> *window, float in, bool leaves)
{
    if (fabsf(in) <= FLT_MAX) {
        window->sum += leaves ? -(double)in : (double)in;
    } else {
        const uint64_t one = isnan(in) ? 1 : in > 0 ? 1 << 20 : (uint64_t)1 << 40;
        window->strange += leaves ? 0 - one : one;
    }
}

template <typename SUM> static __device__ SUM box_value(struct box_running<SUM> window)
{
    return window.sum;
}
static __device__ double box_value(struct box_running<double> window)
{
    if (window.strange == 0)
        return window.sum;
    const bool nan = window.strange & 0xFFFFF, plus = window.strange >> 20 & 0xFFFFF,
               minus = window.strange >> 40;
    return nan || (plus && minus) ? NAN : plus ? INFINITY : -INFINITY;
}

/* Carries the sums along the rows of a block, which is one warp: lane i goes along row i of
 * BOX_RUN_TILE rows, of which `rows` exist. read(x) returns sample x of the lane's row. The results
 * go through a tile in shared memory, so that they are written along x. */
template <typename SUM, typename IN, typename OUT, typename READ>
static __device__ void box_carry_rows(READ read, OUT *out, int rows, struct box_sizes sizes,
                                      IN outside, struct box_mean mean)
{
    __shared__ OUT results[BOX_RUN_TILE][BOX_RUN_TILE + 1];
    const int lane = threadIdx.x, radius = sizes.radius, window_size = 2 * radius + 1;
    const int64_t nx = sizes.nx;
    struct box_running<SUM> window;
    box_start(&window);
    for (int64_t k = -radius; k < nx + radius; k += BOX_RUN_TILE) {
        for (int j = 0; j < BOX_RUN_TILE && lane < rows; j++) {
            const int64_t enters =
                k + j < nx + radius ? ts_cuda_border_index(k + j, nx, sizes.border) : -1;
            const int64_t gone = k + j - window_size;
            box_slide(&window, enters < 0 ? outside : read(enters), false);
            if (gone >= -radius) {
                const int64_t leaves = ts_cuda_border_index(gone, nx, sizes.border);
                box_slide(&window, leaves < 0 ? outside : read(leaves), true);
            }
            box_finish<false>(&results[lane][j], box_value(window), mean);
        }
        __syncwarp();
        const int64_t x = k - radius + lane;
        for (int i = 0; i < rows && x >= 0 && x < nx; i++)
            out[i * nx + x] = results[i][lane];
        __syncwarp();
    }
}

/* One thread carries the sum along y (down a column of each slice), or along z if ALONG_Z: the
 * input then has `radius` more slices at both ends, and no sample is outside. */
template <typename IN, typename SUM, typename OUT, bool LAST, bool ALONG_Z>
static __global__ void __launch_bounds__(BOX_COLUMN_THREADS)
    box_run_columns(const IN *in, OUT *out, struct box_sizes sizes, IN outside,
                    struct box_mean mean)
{
    const int64_t thread = (int64_t)blockIdx.x * BOX_COLUMN_THREADS + threadIdx.x,
                  slice = sizes.ny * sizes.nx;
    if (thread >= (ALONG_Z ? slice : sizes.nz * sizes.nx))
        return;
    const int64_t n = ALONG_Z ? sizes.nz : sizes.ny, stride = ALONG_Z ? slice : sizes.nx;
    const int64_t base = ALONG_Z ? thread : thread / sizes.nx * slice + thread % sizes.nx;
    const int radius = sizes.radius;
    in += ALONG_Z ? base + radius * stride : base;
    out += base;
    struct box_running<SUM> window;
    box_start(&window);
    for (int64_t k = -radius; k < n + radius; k++) {
        const int64_t gone = k - 2 * radius - 1;
        const int64_t enters = ALONG_Z ? k : ts_cuda_border_index(k, n, sizes.border);
        const int64_t leaves = ALONG_Z ? gone : ts_cuda_border_index(gone, n, sizes.border);
        box_slide(&window, !ALONG_Z && enters < 0 ? outside : in[enters * stride], false);
        if (gone >= -radius)
            box_slide(&window, !ALONG_Z && leaves < 0 ? outside : in[leaves * stride], true);
        if (k >= radius)
            box_finish<LAST>(out + (k - radius) * stride, box_value(window), mean);
    }
}

#endif
