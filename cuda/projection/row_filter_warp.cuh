/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of row_filter_fused.cu share this: their tables, samples of any dtype, and the step
 * of a warp that puts 32 samples a thread through the second half of the transform, the product,
 * and the first half of the inverse.
 */
#ifndef CUDA_PROJECTION_ROW_FILTER_WARP_CUH
#define CUDA_PROJECTION_ROW_FILTER_WARP_CUH

#include <utility>

#include "cuda/device/launch.cuh"

/* ---- row fft -----------------------------------------------------------------------------------
 *
 * These are Fourier transforms of 2 to 32 complex samples in the registers of one thread (J. W.
 * Cooley and J. W. Tukey, 1965; W. M. Gentleman and G. Sande, 1966). None divides.
 *
 *     plain, decimated in time:         X[k] = sum over i of x[i] exp(-+ 2 pi i i k / N)
 *     shifted, decimated in frequency:  X[k] = sum over i of x[i] exp(-2 pi i i (k + shift) / N)
 *
 * The shifted one splits N samples into those of even and of odd k by a + w b and a - w b with
 * one w for all of them, so that a shift which differs from thread to thread costs no more than
 * one that is known to the compiler. */

/* Returns cos(2 pi i / 256). Call it only for constants: nvcc takes most of its time if this is
 * left to its optimizer. */
static __host__ __device__ constexpr float row_fft_cos(int i)
{
    constexpr float quarter[65] = {
        1.0F,          0.999698819F,  0.998795456F,  0.997290457F,  0.995184727F, 0.992479535F,
        0.98917651F,   0.985277642F,  0.98078528F,   0.97570213F,   0.970031253F, 0.963776066F,
        0.956940336F,  0.949528181F,  0.941544065F,  0.932992799F,  0.923879533F, 0.914209756F,
        0.903989293F,  0.893224301F,  0.881921264F,  0.870086991F,  0.85772861F,  0.844853565F,
        0.831469612F,  0.817584813F,  0.803207531F,  0.788346428F,  0.773010453F, 0.757208847F,
        0.740951125F,  0.724247083F,  0.707106781F,  0.689540545F,  0.671558955F, 0.653172843F,
        0.634393284F,  0.615231591F,  0.595699304F,  0.575808191F,  0.555570233F, 0.53499762F,
        0.514102744F,  0.492898192F,  0.471396737F,  0.44961133F,   0.427555093F, 0.405241314F,
        0.382683432F,  0.359895037F,  0.336889853F,  0.31368174F,   0.290284677F, 0.266712757F,
        0.24298018F,   0.21910124F,   0.195090322F,  0.170961889F,  0.146730474F, 0.122410675F,
        0.0980171403F, 0.0735645636F, 0.0490676743F, 0.0245412285F, 0.0F};
    const int turn = i & 255, half = turn > 128 ? 256 - turn : turn;
    return half <= 64 ? quarter[half] : -quarter[128 - half];
}

static __host__ __device__ constexpr float row_fft_sin(int i)
{
    return row_fft_cos(i - 64);
}

static __device__ __forceinline__ float2 row_fft_product(float2 a, float c, float s)
{
    return make_float2(__fmaf_rn(a.x, c, -(a.y * s)), __fmaf_rn(a.x, s, a.y * c));
}

/* Returns sum + the real part of a exp(2 pi i K / 256). */
template <int K> static __device__ __forceinline__ float row_fft_real(float2 a, float sum)
{
    constexpr float c = row_fft_cos(K), s = row_fft_sin(K);
    return __fmaf_rn(a.x, c, __fmaf_rn(-a.y, s, sum));
}

/* Replaces a and b by a + w b and a - w b, w = c + i s. */
static __device__ __forceinline__ void row_fft_pair(float2 *a, float2 *b, float c, float s)
{
    const float2 p = *a, q = *b;
    const float re = __fmaf_rn(q.x, c, __fmaf_rn(-q.y, s, p.x)),
                im = __fmaf_rn(q.x, s, __fmaf_rn(q.y, c, p.y));
    *a = make_float2(re, im);
    *b = make_float2(__fmaf_rn(2.0F, p.x, -re), __fmaf_rn(2.0F, p.y, -im));
}

/* Does the same with w = exp(2 pi i K / 256), in fewer operations if w is a power of i. */
template <int K> static __device__ __forceinline__ void row_fft_butterfly(float2 *a, float2 *b)
{
    const float2 p = *a, q = *b;
    constexpr int quarter = K & 255;
    if constexpr (quarter % 64) {
        constexpr float c = row_fft_cos(K), s = row_fft_sin(K);
        row_fft_pair(a, b, c, s);
    } else {
        const float2 turned = quarter == 0     ? q
                              : quarter == 64  ? make_float2(-q.y, q.x)
                              : quarter == 128 ? make_float2(-q.x, -q.y)
                                               : make_float2(q.y, -q.x);
        *a = make_float2(p.x + turned.x, p.y + turned.y);
        *b = make_float2(p.x - turned.x, p.y - turned.y);
    }
}

static __host__ __device__ constexpr int row_fft_reversed(int i, int n)
{
    int result = 0;
    for (int bit = 1; bit < n; bit *= 2)
        result = 2 * result + ((i & bit) != 0);
    return result;
}

/* Does every butterfly of the last step of N samples, with the index as a constant. */
template <int N, int SIGN, int... I>
static __device__ __forceinline__ void row_fft_step(float2 *x, std::integer_sequence<int, I...>)
{
    (row_fft_butterfly<SIGN * I *(256 / N)>(&x[I], &x[I + N / 2]), ...);
}

/* Plain transform of x, from bit-reversed to natural order. SIGN -1 is forward. */
template <int N, int SIGN> static __device__ __forceinline__ void row_fft_steps(float2 *x)
{
    if constexpr (N > 1) {
        row_fft_steps<N / 2, SIGN>(x);
        row_fft_steps<N / 2, SIGN>(x + N / 2);
        row_fft_step<N, SIGN>(x, std::make_integer_sequence<int, N / 2>());
    }
}

/* Transform shifted by -1/4 if it is called with LEVEL and NODE 0, from natural to bit-reversed
 * order. At level l the w of node c is exp(-2 pi i (c - 1/4) / 2^(l + 1)). */
template <int N, int LEVEL, int NODE>
static __device__ __forceinline__ void row_fft_quarter(float2 *x)
{
    if constexpr (N > 1) {
#pragma unroll
        for (int i = 0; i < N / 2; i++)
            row_fft_butterfly<-(4 * NODE - 1) * (32 >> LEVEL)>(&x[i], &x[i + N / 2]);
        row_fft_quarter<N / 2, LEVEL + 1, NODE>(x);
        row_fft_quarter<N / 2, LEVEL + 1, NODE + (1 << LEVEL)>(x + N / 2);
    }
}

/* Does the same for N real samples, which saves more than half of the first level. */
template <int N>
static __device__ __forceinline__ void row_fft_quarter_real(const float *in, float2 *x)
{
    constexpr float eighth = row_fft_cos(32);
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
        const float turned = in[i + N / 2] * eighth;
        x[i] = make_float2(in[i] + turned, turned);
        x[i + N / 2] = make_float2(in[i] - turned, -turned);
    }
    row_fft_quarter<N / 2, 1, 0>(x);
    row_fft_quarter<N / 2, 1, 1>(x + N / 2);
}

/* Does the last step of the inverse, with the index as a constant. */
template <int N, int... I>
static __device__ __forceinline__ void row_fft_quarter_last(const float2 *x, float *out,
                                                            std::integer_sequence<int, I...>)
{
    ((out[I] = row_fft_real<-I *(64 / N)>(
          x[I % (N / 2)], row_fft_real<I *(192 / N)>(x[I % (N / 2) + N / 2], 0.0F))),
     ...);
}

/* Writes the real parts of the inverse, for x in bit-reversed order, and overwrites x. */
template <int N> static __device__ __forceinline__ void row_fft_quarter_back(float2 *x, float *out)
{
    row_fft_steps<N / 2, 1>(x);
    row_fft_steps<N / 2, 1>(x + N / 2);
    row_fft_quarter_last<N>(x, out, std::make_integer_sequence<int, N>());
}

/* Shifted transform of 32 samples, from natural to bit-reversed order, starting at LEVEL 0; the
 * thread's 16 rotations give the shift. At level l the w of node c is exp(-2 pi i (shift + c) /
 * 2^(l + 1)). A rotation serves two nodes, the second one times -i. */
template <int LEVEL>
static __device__ __forceinline__ void row_fft_shifted(float2 *x, const float4 *turns)
{
    if constexpr (LEVEL < 5) {
        constexpr int half = 16 >> LEVEL;
#pragma unroll
        for (int node = 0; node < 1 << LEVEL; node++) {
            const int at = LEVEL ? (1 << LEVEL) / 2 + node / 2 : 0;
            const float4 two = __ldg(turns + at / 2 * 32);
            const float2 turn = at % 2 ? make_float2(two.z, two.w) : make_float2(two.x, two.y);
            const float c = node % 2 ? turn.y : turn.x, s = node % 2 ? -turn.x : turn.y;
#pragma unroll
            for (int i = 0; i < half; i++)
                row_fft_pair(&x[2 * half * node + i], &x[2 * half * node + half + i], c, s);
        }
        row_fft_shifted<LEVEL + 1>(x, turns);
    }
}

/* Plain transform from natural to natural order: reordering only renames registers. */
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

enum {
    FUSED_WARPS = 4,  /* least warps of a block */
    HALVES_WARPS = 2, /* warps of a block in which each has twice FUSED_BYTES */
    FUSED_BLOCKS = 3, /* blocks of FUSED_WARPS warps on a multiprocessor */
    FUSED_PITCH = 34, /* distance of rows of 32 samples in shared memory: pairs are aligned to 16
                       * bytes and use all banks */
    /* shared memory of a warp */
    FUSED_BYTES = 32 * FUSED_PITCH * sizeof(float2),
    BRANCH_SAMPLES = 1024,
    MOST_BRANCHES = 16
};

/* For each of 32 threads: 16 rotations of the shifted transform, 32 factors of frequencies, 32
 * rotations for the way back. There is one table for each branch, or for each half of a thread's 64
 * frequencies. */
struct fused_tables {
    float4 turns[8][32], factors[8][32], back[16][32];
};

struct fused_rows {
    const void *in;
    float *out;
    const struct fused_tables *tables;
    const float2 *mixing, *mixing_back;
    int64_t n_rows;
    int n, bytes; /* bytes: size of a sample */
    enum ts_dtype dtype;
};

/* Loads the bits of samples at + STEP i for i < N. Samples from n on are 0; the first SURE of them
 * are known to be before n. */
template <typename T, int N, int STEP, int SURE>
static __device__ __forceinline__ void fetch_words(const struct fused_rows *rows, int64_t at, int n,
                                                   uint32_t *bits)
{
    const T *from = (const T *)rows->in + at;
#pragma unroll
    for (int i = 0; i < N; i++)
        bits[i] = i < SURE || STEP * i < n ? from[STEP * i] : 0;
}

template <int N, int STEP, int SURE>
static __device__ __forceinline__ void fetch(const struct fused_rows *rows, int64_t at, int n,
                                             uint32_t *bits)
{
    if (rows->bytes == 4)
        fetch_words<uint32_t, N, STEP, SURE>(rows, at, n, bits);
    else if (rows->bytes == 2)
        fetch_words<uint16_t, N, STEP, SURE>(rows, at, n, bits);
    else
        fetch_words<uint8_t, N, STEP, SURE>(rows, at, n, bits);
}

template <typename T>
static __device__ __forceinline__ void convert_from(const uint32_t bits[32], float x[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        x[i] = (float)(T)bits[i];
}

static __device__ __forceinline__ void convert(enum ts_dtype dtype, const uint32_t bits[32],
                                               float x[32])
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

/* Filters 32 samples a thread, of 32 / R transforms; the samples are in `exchange`, sorted by
 * thread. */
static __device__ __forceinline__ void filter_turned(const struct fused_tables *tables, int lane,
                                                     float2 *exchange, float2 *x)
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
        const float2 a = row_fft_product(x[2 * i], turn.x, turn.y),
                     b = row_fft_product(x[2 * i + 1], turn.z, turn.w);
        own[i] = make_float4(a.x, a.y, b.x, b.y);
    }
}

#endif
