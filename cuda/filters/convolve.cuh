/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of convolve share this. They compute out[y][x] = scale * sum of weights[j][i] * in[y
 * + j - rows/2][x + i
 * - columns/2], slice by slice, or the magnitude of two such sums where there are two kernels. Taps
 * of weight 0 are left out.
 */
#ifndef CUDA_FILTERS_CONVOLVE_CUH
#define CUDA_FILTERS_CONVOLVE_CUH

#include "cuda/values/border.cuh"

extern "C" {
#include "stages/filters/convolve.h"
}

/* Weights lie on the device in rows of a multiple of this many, filled up with 0. */
enum { CONVOLVE_STEP = 8 };
/* The kernels with 32-bit indices handle at most so many columns and rows. */
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
    const uint64_t *valid;                  /* of a masked image; else NULL */
    int64_t words;                          /* of `valid`, from slice to slice */
};

static inline __host__ __device__ int ts_cuda_convolve_step(int columns)
{
    return (columns + CONVOLVE_STEP - 1) / CONVOLVE_STEP * CONVOLVE_STEP;
}

/* Returns where a column stands in a row of doubles in shared memory. Groups of 8 columns are 9
 * doubles apart, so that threads that read 8 columns apart meet in no bank. */
static inline __host__ __device__ int ts_cuda_convolve_place(int column)
{
    return column + column / CONVOLVE_STEP;
}

/* Launches kernels up to 7 x 7, two of them only up to 3 x 3 (convolve_taps.cu). `exact` is set
 * where the sums of an 8- or 16-bit image are integers that float holds. */
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
