/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms of 2 to 32 complex samples in the registers of one thread. Forward: decimation in frequency,
 * natural order to bit-reversed order (J. W. Cooley and J. W. Tukey, 1965; W. M. Gentleman and G. Sande, 1966);
 * inverse: decimation in time, bit-reversed order back to natural order. So what lies between them needs no reordering.
 * Neither divides. All factors are known when the code is compiled.
 */
#ifndef CUDA_COMMON_ROW_FFT_CUH
#define CUDA_COMMON_ROW_FFT_CUH

#include "cuda/launch.cuh"

/* cos(2 pi i / 64). */
static __host__ __device__ constexpr float row_fft_cos(int i)
{
    constexpr float quarter[17] = {1.0F,         0.995184727F, 0.980785280F, 0.956940336F,  0.923879533F, 0.881921264F,
                                   0.831469612F, 0.773010453F, 0.707106781F, 0.634393284F,  0.555570233F, 0.471396737F,
                                   0.382683432F, 0.290284677F, 0.195090322F, 0.0980171403F, 0.0F};
    const int turn = i & 63, half = turn > 32 ? 64 - turn : turn;
    return half <= 16 ? quarter[half] : -quarter[32 - half];
}

static __device__ __forceinline__ float2 row_fft_product(float2 a, float c, float s)
{
    return make_float2(__fmaf_rn(a.x, c, -(a.y * s)), __fmaf_rn(a.x, s, a.y * c));
}

/* a times exp(sign 2 pi i k / 64), sign -1 forward. */
template <int SIGN> static __device__ __forceinline__ float2 row_fft_turn(float2 a, int k)
{
    if (k % 64 == 0)
        return a;
    if (k % 64 == 16)
        return SIGN < 0 ? make_float2(a.y, -a.x) : make_float2(-a.y, a.x);
    if (k % 64 == 8) {
        const float h = row_fft_cos(8);
        return SIGN < 0 ? make_float2((a.x + a.y) * h, (a.y - a.x) * h) : make_float2((a.x - a.y) * h, (a.x + a.y) * h);
    }
    return row_fft_product(a, row_fft_cos(k), SIGN < 0 ? -row_fft_cos(k - 16) : row_fft_cos(k - 16));
}

/* a + w b and a - w b, w = exp(sign 2 pi i k / 64), in place of a and b. */
template <int SIGN> static __device__ __forceinline__ void row_fft_butterfly(float2 *a, float2 *b, int k)
{
    const float2 p = *a, q = *b;
    if (k % 16 == 0) {
        const float2 turned = row_fft_turn<SIGN>(q, k);
        *a = make_float2(p.x + turned.x, p.y + turned.y);
        *b = make_float2(p.x - turned.x, p.y - turned.y);
        return;
    }
    const float c = row_fft_cos(k), s = SIGN < 0 ? -row_fft_cos(k - 16) : row_fft_cos(k - 16);
    const float re = __fmaf_rn(q.x, c, __fmaf_rn(-q.y, s, p.x)), im = __fmaf_rn(q.x, s, __fmaf_rn(q.y, c, p.y));
    *a = make_float2(re, im);
    *b = make_float2(__fmaf_rn(2.0F, p.x, -re), __fmaf_rn(2.0F, p.y, -im));
}

/* x in bit-reversed order to natural order. */
template <int N, int SIGN> static __device__ __forceinline__ void row_fft_steps(float2 *x)
{
    if constexpr (N > 1) {
        row_fft_steps<N / 2, SIGN>(x);
        row_fft_steps<N / 2, SIGN>(x + N / 2);
#pragma unroll
        for (int i = 0; i < N / 2; i++)
            row_fft_butterfly<SIGN>(&x[i], &x[i + N / 2], i * (64 / N));
    }
}

static __host__ __device__ constexpr int row_fft_reversed(int i, int n)
{
    int result = 0;
    for (int bit = 1; bit < n; bit *= 2)
        result = 2 * result + ((i & bit) != 0);
    return result;
}

/* Natural order to natural order: the reordering is of registers alone. */
template <int N, int SIGN> static __device__ __forceinline__ void row_fft(float2 *x)
{
    float2 y[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        y[row_fft_reversed(i, N)] = x[i];
    row_fft_steps<N, SIGN>(y);
#pragma unroll
    for (int i = 0; i < N; i++)
        x[i] = y[i];
}

#endif
