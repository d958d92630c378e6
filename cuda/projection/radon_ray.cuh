/* SPDX-License-Identifier: Apache-2.0
 *
 * One ray of one slice, for kernels in which a thread walks along it.
 */
#ifndef CUDA_PROJECTION_RADON_RAY_CUH
#define CUDA_PROJECTION_RADON_RAY_CUH

#include "cuda/projection/radon_methods.cuh"

enum { RAY_THREADS = 128, RAY_BLOCKS = 1 << 24 };

/* Sum of Joseph's samples along a ray that is at `start` on line 0; lines of n_minor pixels follow each other. */
template <typename T>
static __device__ __forceinline__ float ts_cuda_along_ray(const T *slice, double start, double per_major, int n_major,
                                                          int n_minor)
{
    int first, end;
    ts_cuda_beam_lines(start, per_major, 0, n_major, n_minor, &first, &end);
    if (first >= end)
        return 0;
    const T *line = slice + (int64_t)first * n_minor;
    const int64_t step = ts_cuda_fixed(per_major);
    int64_t at = ts_cuda_fixed(start + first * per_major) + TS_CUDA_BEAM_HALF;
    float total = 0;
    for (int m = first; m < end;) {
        const int stop = min(end, m / RADON_LINES * RADON_LINES + RADON_LINES);
        float sum = 0;
        for (; m < stop; m++, at += step, line += n_minor) {
            const int i = (int)(at >> 32);
            const float weight = ts_cuda_beam_weight((uint32_t)at);
            const float below = (unsigned)i < (unsigned)n_minor ? (float)line[i] : 0;
            const float above = (unsigned)(i + 1) < (unsigned)n_minor ? (float)line[i + 1] : 0;
            sum = __fmaf_rn(weight - 1, above, __fmaf_rn(2 - weight, below, sum));
        }
        total += sum;
    }
    return total;
}

#endif
