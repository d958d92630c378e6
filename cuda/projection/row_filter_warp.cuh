/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of row_filter_fused.cu share this: their tables, samples of any dtype, and the step of a warp that puts
 * 32 samples a thread through the second half of the transform, the product, and the first half of the inverse.
 */
#ifndef CUDA_PROJECTION_ROW_FILTER_WARP_CUH
#define CUDA_PROJECTION_ROW_FILTER_WARP_CUH

#include "cuda/projection/row_fft.cuh"

enum {
    FUSED_WARPS = 4,  /* least warps of a block */
    HALVES_WARPS = 2, /* warps of a block where each has twice FUSED_BYTES */
    FUSED_BLOCKS = 3, /* blocks of FUSED_WARPS warps on a multiprocessor */
    FUSED_PITCH = 34, /* between rows of 32 samples in shared memory: pairs lie on 16 bytes, in all banks */
    /* shared memory of a warp */
    FUSED_BYTES = 32 * FUSED_PITCH * sizeof(float2),
    BRANCH_SAMPLES = 1024,
    MOST_BRANCHES = 16
};

/* For each of 32 threads: 16 rotations of the shifted transform, 32 factors of frequencies, 32 rotations on the way
 * back. There is one table for each branch, or for each half of a thread's 64 frequencies. */
struct fused_tables {
    float4 turns[8][32], factors[8][32], back[16][32];
};

struct fused_rows {
    const void *in;
    float *out;
    const struct fused_tables *tables;
    const float2 *mixing, *mixing_back;
    int64_t n_rows;
    int n, bytes; /* bytes: of a sample */
    enum ts_dtype dtype;
};

/* Loads the bits of samples at + STEP i, i < N. Those from n on are 0; the first SURE of them lie before it. */
template <typename T, int N, int STEP, int SURE>
static __device__ __forceinline__ void fetch_words(const struct fused_rows *rows, int64_t at, int n, uint32_t *bits)
{
    const T *from = (const T *)rows->in + at;
#pragma unroll
    for (int i = 0; i < N; i++)
        bits[i] = i < SURE || STEP * i < n ? from[STEP * i] : 0;
}

template <int N, int STEP, int SURE>
static __device__ __forceinline__ void fetch(const struct fused_rows *rows, int64_t at, int n, uint32_t *bits)
{
    if (rows->bytes == 4)
        fetch_words<uint32_t, N, STEP, SURE>(rows, at, n, bits);
    else if (rows->bytes == 2)
        fetch_words<uint16_t, N, STEP, SURE>(rows, at, n, bits);
    else
        fetch_words<uint8_t, N, STEP, SURE>(rows, at, n, bits);
}

template <typename T> static __device__ __forceinline__ void convert_from(const uint32_t bits[32], float x[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        x[i] = (float)(T)bits[i];
}

static __device__ __forceinline__ void convert(enum ts_dtype dtype, const uint32_t bits[32], float x[32])
{
    if (dtype == TS_F32) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = __uint_as_float(bits[i]);
        return;
    }
#define CONVERT(T) convert_from<T>(bits, x)
    TS_CUDA_DTYPES(dtype, CONVERT);
#undef CONVERT
}

/* Filters 32 samples of 32 / R transforms a thread, which lie in `exchange` by thread. */
static __device__ __forceinline__ void filter_turned(const struct fused_tables *tables, int lane, float2 *exchange,
                                                     float2 *x)
{
    float4 *own = (float4 *)(exchange + lane * FUSED_PITCH);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const float4 two = own[i];
        x[2 * i] = make_float2(two.x, two.y);
        x[2 * i + 1] = make_float2(two.z, two.w);
    }
    row_fft_shifted<0>(x, &tables->turns[0][lane]);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float4 factor = __ldg(&tables->factors[i][lane]);
        x[4 * i] = make_float2(x[4 * i].x * factor.x, x[4 * i].y * factor.x);
        x[4 * i + 1] = make_float2(x[4 * i + 1].x * factor.y, x[4 * i + 1].y * factor.y);
        x[4 * i + 2] = make_float2(x[4 * i + 2].x * factor.z, x[4 * i + 2].y * factor.z);
        x[4 * i + 3] = make_float2(x[4 * i + 3].x * factor.w, x[4 * i + 3].y * factor.w);
    }
    row_fft_steps<32, 1>(x);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const float4 turn = __ldg(&tables->back[i][lane]);
        const float2 a = row_fft_product(x[2 * i], turn.x, turn.y), b = row_fft_product(x[2 * i + 1], turn.z, turn.w);
        own[i] = make_float4(a.x, a.y, b.x, b.y);
    }
}

#endif
