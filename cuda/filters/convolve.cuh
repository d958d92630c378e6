/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of convolve share this. They compute out[y][x] = scale * sum of weights[j][i] * in[y
 * + j - rows/2][x + i - columns/2], slice by slice, or the magnitude sqrt(a^2 + b^2) of two such
 * sums if there are two kernels. Taps of weight 0 are left out.
 */
#ifndef CUDA_FILTERS_CONVOLVE_CUH
#define CUDA_FILTERS_CONVOLVE_CUH

#include "cuda/values/border.cuh"

extern "C" {
#include "stages/filters/convolve.h"
}

/* On the device, rows of weights have a multiple of this many, filled up with 0. */
enum { CONVOLVE_STEP = 8 };
/* The kernels with 32-bit indices handle at most this many columns and rows. */
enum { CONVOLVE_MOST = 1 << 30 };

struct convolve_job {
    const void *in;
    float *out;
    int64_t nx, ny, nz;
    enum ts_dtype dtype;
    int border;
    int rows, columns, n_kernels;
    double constant, scale;
    const double *weights;                  /* n_kernels x rows x step, on the device */
    const struct convolve_weights *kernels; /* the same, on the host */
    const uint64_t *valid;                  /* bits of a masked image; else NULL */
    int64_t words;                          /* words of `valid` from one slice to the next */
};

static inline __host__ __device__ int ts_cuda_convolve_step(int columns)
{
    return (columns + CONVOLVE_STEP - 1) / CONVOLVE_STEP * CONVOLVE_STEP;
}

/* Returns the place of a column in a row of doubles in shared memory. Groups of 8 columns are 9
 * doubles apart, so that threads that read 8 columns apart use different banks. */
static inline __host__ __device__ int ts_cuda_convolve_place(int column)
{
    return column + column / CONVOLVE_STEP;
}

/* Launches kernels up to 7 x 7, or two kernels up to 3 x 3 (convolve_taps.cu). `exact` is true if
 * the sums of an 8- or 16-bit image are integers that float holds. */
bool ts_cuda_convolve_taps_fit(const struct convolve_job *job, bool exact);
enum ts_status ts_cuda_convolve_taps(const struct stage_context *context,
                                     const struct convolve_job *job, bool exact,
                                     const struct cuda_call *call);
/* Launches one kernel up to 31 x 31 with weights[j][i] = down[j] * across[i], for any type
 * (convolve_separable.cu). */
enum ts_status ts_cuda_convolve_separable(const struct stage_context *context,
                                          const struct convolve_job *job, const double *across,
                                          const double *down, const struct cuda_call *call);

#endif
