/* SPDX-License-Identifier: Apache-2.0
 *
 * This does linear interpolation as matrix products on tensor cores. The columns of a product are
 * slices, its 16 rows are sums (rays, or pixels) over lines of samples, and the weight of a sample
 * is max(0, 1 - |position - sample|). Weights are worked out in registers as the first operand;
 * samples are the second, in half precision; sums are float.
 *
 * A product m16n8k8 takes 8 neighboring samples of a line, a window, for 16 sums and 8 slices. In
 * its first operand thread l of a warp holds the weights of samples 2 (l % 4) and 2 (l % 4) + 1 for
 * sums l / 4 and l / 4 + 8. In the second it holds these two samples of one slice. In memory blocks
 * of 8 samples, 4 pairs, are laid out as the threads load them:
 *
 *     halves[line][block][slice / each][pair % 4][slice % each][plane][2]
 *     sample = 8 block + 2 (pair % 4) - TENSOR_LEFT
 *
 * A thread loads 16 bytes, its pair of samples of `each` slices: 4, or 2 with both planes. 8
 * threads, which the first cache serves at once, find theirs in one 128-byte line where the 8
 * samples are a block, and in two lines where they start at any other pair. Outside the line stand
 * zeros.
 *
 * Every slice is multiplied by a power of two that brings its largest magnitude into [2^14, 2^15),
 * so that any float is in half's range, and sums are multiplied back. With one plane samples are
 * rounded to 11 bits, up or down by a hash of their place and of the bits that stay, as often as
 * keeps their mean, so that even areas do not add up one error. Positions are rounded to 2^-11,
 * which makes both weights exact and their sum 1. With two planes (SPLIT) samples are the sum of
 * two halves, high and low, and weights too: a product m16n8k16 adds high weights times both
 * planes, and a m16n8k8 low weights times high samples. The two registers of the larger product's
 * second operand come from one load, because from two loads they would have to be moved together
 * first. Tensor cores truncate when they add, about 2^-25 of the sum, so that sums are added to
 * float totals after some windows.
 */
#ifndef CUDA_PROJECTION_TENSOR_CUH
#define CUDA_PROJECTION_TENSOR_CUH

#include <cuda_fp16.h>

#include "cuda/projection/interleave.cuh"
#include "cuda/values/slice_maximum.cuh"

extern "C" {
#include "stages/projection/tensor_method.h"
}

/* Returns the blocks of a line. */
static inline __host__ __device__ int ts_cuda_tensor_blocks(int64_t n_minor)
{
    return (int)((TENSOR_LEFT + n_minor + TENSOR_RIGHT + TENSOR_WINDOW - 1) / TENSOR_WINDOW);
}

static inline size_t ts_cuda_tensor_bytes(int64_t n_major, int64_t n_minor, int width, bool split)
{
    return (size_t)n_major * (size_t)ts_cuda_tensor_blocks(n_minor) * (size_t)width *
           sizeof(uint4) * (split ? 2 : 1);
}

/* The numbers of a kernel: 16 sums of 32 QUARTERS slices a warp, in THREADS threads a block. */
template <int QUARTERS_, bool SPLIT_, int THREADS_> struct tensor_shape {
    enum {
        QUARTERS = QUARTERS_,
        SPLIT = SPLIT_,
        PLANES = SPLIT_ ? 2 : 1,
        THREADS = THREADS_,
        TILES = QUARTERS_ * 4,      /* tiles of 8 slices */
        LOADS = QUARTERS_ * PLANES, /* loads for a window */
        EACH = 4 / PLANES,          /* slices in a thread's load */
    };
};

/* Computes c += a b for 8 samples. */
static __device__ __forceinline__ void ts_cuda_tensor_product(float c[4], uint32_t a0, uint32_t a1,
                                                              uint32_t b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b));
#endif
}

/* Computes c += a (b0 + b1) for 8 samples. */
static __device__ __forceinline__ void
ts_cuda_tensor_product_both(float c[4], uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%4,%5},{%6,%7},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
#endif
}

/* Returns two numbers as halves; negative ones become 0. */
static __device__ __forceinline__ uint32_t ts_cuda_tensor_pack(float low, float high)
{
    uint32_t pair = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

/* The places of this thread's two sums in a window, counted from the window's first sample. */
struct tensor_window {
    float x[2]; /* those of sums lane / 4 and lane / 4 + 8 */
    float unit; /* with SCALED: distance of neighboring samples, in the unit of x */
};

/* Returns the start of a window as one number: 16-byte places from the image's first block, which
 * are a multiple of 32 from block to block (`apart`), plus the number of the pair in its block. */
static __device__ __forceinline__ uint32_t ts_cuda_tensor_start(uint32_t block, int pair, int apart)
{
    return (block + (uint32_t)pair / 4) * (uint32_t)apart + (uint32_t)pair % 4;
}

/* Returns the address of this thread's samples of that window. `lines` is the thread's part of the
 * first block. */
static __device__ __forceinline__ const uint4 *ts_cuda_tensor_from(const uint4 *lines,
                                                                   uint32_t start, int apart)
{
    const uint32_t own = start + threadIdx.x % 4; /* 4 or more: in the next block */
    return lines + (own % 8 < 4 ? own : own + (uint32_t)apart - 4);
}

/* Returns the thread's part of the first block; slice_first is the first of the warp's slices. */
template <class S>
static __device__ __forceinline__ const uint4 *ts_cuda_tensor_part(const uint4 *lines,
                                                                   int slice_first)
{
    return lines + slice_first * S::PLANES + threadIdx.x % 32 / 4 * 4;
}

/* Returns the position of this thread's first sample in a window of whole samples. */
static __device__ __forceinline__ float ts_cuda_tensor_first()
{
    return (float)(threadIdx.x % 4 * 2);
}

/* Returns x - first; without SPLIT it is rounded to 2^-11. */
template <bool SPLIT>
static __device__ __forceinline__ float ts_cuda_tensor_position(float x, float first)
{
    const float ones = 3 << 11; /* for floats of this size, 2^-11 is the last place */
    return SPLIT ? x - first : x + ones - (ones + first);
}

/* Loads at exactly this place between the products, because both are volatile. The path for
 * constant data does not work here: its loads may move across barriers. */
static __device__ __forceinline__ uint4 ts_cuda_tensor_fetch(const uint4 *from)
{
    uint4 at;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(at.x), "=r"(at.y), "=r"(at.z), "=r"(at.w)
                 : "l"(from));
    return at;
}

template <class S> struct tensor_samples {
    uint4 at[S::LOADS];
};

template <class S>
static __device__ __forceinline__ void ts_cuda_tensor_load(struct tensor_samples<S> *to,
                                                           const uint4 *from)
{
#pragma unroll
    for (int load = 0; load < S::LOADS; load++)
        to->at[load] = ts_cuda_tensor_fetch(from + load * 32);
}

struct tensor_weights {
    uint32_t high[2], low[2];
};

/* Finds the weights of this thread's samples 0 and 1 at position x: 1 - |x| and 1 - |x - 1| if they
 * are positive. `low` is what halves cannot hold of them. SCALED: samples are window->unit apart
 * instead of 1, and x is not rounded yet; without SPLIT both distances are rounded, so that each
 * weight is exact. */
template <class S, bool SCALED>
static __device__ __forceinline__ void ts_cuda_tensor_weigh(struct tensor_weights *to,
                                                            const struct tensor_window *window)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const float x = window->x[i], next = SCALED ? x - window->unit : x - 1;
        const float first = 1 - fabsf(SCALED ? ts_cuda_tensor_position<S::SPLIT>(x, 0) : x),
                    second = 1 - fabsf(SCALED ? ts_cuda_tensor_position<S::SPLIT>(next, 0) : next);
        to->high[i] = ts_cuda_tensor_pack(first, second);
        if (S::SPLIT) { /* a low half may be negative, which packing two at once would lose */
            const float2 rounded = __half22float2(*(const __half2 *)&to->high[i]);
            const __half2 rest =
                __floats2half2_rn(fmaxf(first, 0) - rounded.x, fmaxf(second, 0) - rounded.y);
            to->low[i] = *(const uint32_t *)&rest;
        }
    }
}

/* Adds a window's samples times its weights. The registers of the samples are reused for the
 * samples at `next`. */
template <class S>
static __device__ __forceinline__ void
ts_cuda_tensor_multiply(struct tensor_samples<S> *samples, const struct tensor_weights *weights,
                        const uint4 *next, float sums[S::TILES][4])
{
#pragma unroll
    for (int load = 0; load < S::LOADS; load++) {
        const uint4 at = samples->at[load];
        float(*sum)[4] = &sums[load * S::EACH];
        if (S::SPLIT) {
            ts_cuda_tensor_product(sum[0], weights->low[0], weights->low[1], at.x);
            ts_cuda_tensor_product(sum[1], weights->low[0], weights->low[1], at.z);
            ts_cuda_tensor_product_both(sum[0], weights->high[0], weights->high[1], at.x, at.y);
            ts_cuda_tensor_product_both(sum[1], weights->high[0], weights->high[1], at.z, at.w);
        } else {
            ts_cuda_tensor_product(sum[0], weights->high[0], weights->high[1], at.x);
            ts_cuda_tensor_product(sum[1], weights->high[0], weights->high[1], at.y);
            ts_cuda_tensor_product(sum[S::EACH - 2], weights->high[0], weights->high[1], at.z);
            ts_cuda_tensor_product(sum[S::EACH - 1], weights->high[0], weights->high[1], at.w);
        }
        samples->at[load] = ts_cuda_tensor_fetch(next + load * 32);
    }
}

/* Adds the sums to the thread's totals, and clears the sums. */
template <class S>
static __device__ __forceinline__ void ts_cuda_tensor_fold(float4 *totals, float sums[S::TILES][4])
{
#pragma unroll
    for (int i = 0; i < S::TILES; i++) {
        float4 *total = &totals[i * S::THREADS + threadIdx.x];
        *total = make_float4(total->x + sums[i][0], total->y + sums[i][1], total->z + sums[i][2],
                             total->w + sums[i][3]);
        sums[i][0] = sums[i][1] = sums[i][2] = sums[i][3] = 0;
    }
}

/* Returns, from a thread's totals of one tile, that of row lane / 4 + 8 `half` and of the first or
 * second of two slices. */
static __device__ __forceinline__ float ts_cuda_tensor_total(const float4 &totals, int half,
                                                             int second)
{
    return half == 0 ? (second ? totals.y : totals.x) : (second ? totals.w : totals.z);
}

/* Returns which of the warp's slices that is. */
template <class S> static __device__ __forceinline__ int ts_cuda_tensor_slice(int tile, int second)
{
    return tile / S::EACH * 8 * S::EACH + ((int)threadIdx.x % 4 * 2 + second) * S::EACH +
           tile % S::EACH;
}

/* ---- slices as halves ------------------------------------------------------------------------ */

enum { TENSOR_TILE = 32, TENSOR_SLICES = 8, TENSOR_THREADS = 256 };

/* A line is a row of the slice times a factor. */
struct tensor_line {
    int32_t row;
    float factor;
};

/* Rounds a value to 11 significant bits: 13 bits of a hash are added to the bits below, which may
 * carry. The hash depends on the place and on the bits that stay; with the place alone, all slices
 * would be rounded alike. */
static __device__ __forceinline__ float ts_cuda_tensor_round(float value, int row, int column)
{
    const uint32_t bits = __float_as_uint(value);
    uint32_t hash =
        (uint32_t)row * 0x9E3779B1u ^ (uint32_t)column * 0x85EBCA77u ^ (bits >> 13) * 0xC2B2AE35u;
    hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
    return __uint_as_float((bits + (hash >> 19)) & ~0x1FFFu);
}

/* One thread writes four pairs through a tile of 8 rows x 32 columns x 8 slices, in which every 8
 * samples of a line are one block. The grid counts tiles of a row, slices by 8, and tiles of rows
 * (any number). Slices that hold a NaN or an infinity become 0; the others are scaled to a largest
 * magnitude of about 2^exponent. `made` has the row and factor of each line, if lines are rows;
 * NULL: line i is row i. */
template <typename T, bool SPLIT>
static __global__ void __launch_bounds__(TENSOR_THREADS)
    to_halves(const T *in, int n, int ny, int nx, bool along_rows, const uint32_t *maxima,
              int exponent, const struct tensor_line *made, __half2 *out)
{
    __shared__ float tile[TENSOR_SLICES][TENSOR_WINDOW][TENSOR_TILE + 1];
    __shared__ float2 scales[TENSOR_SLICES];
    const int width = (int)gridDim.y * TENSOR_SLICES, slice_first = (int)blockIdx.y * TENSOR_SLICES;
    const int blocks = ts_cuda_tensor_blocks(along_rows ? nx : ny),
              x_first = (int)blockIdx.x * TENSOR_TILE;
    const int n_x = along_rows ? blocks * TENSOR_WINDOW : nx,
              n_y = along_rows ? ny : blocks * TENSOR_WINDOW;
    const int left = along_rows ? TENSOR_LEFT : 0, top = along_rows ? 0 : TENSOR_LEFT,
              t = (int)threadIdx.x;
    const int x = x_first + t % TENSOR_TILE - left;
    const int64_t apart = (int64_t)ny * nx;
    if (t < TENSOR_SLICES) {
        const bool numbers =
            slice_first + t < n && maxima[slice_first + t] < SLICE_MAXIMUM_NOT_FINITE;
        scales[t] = numbers ? ts_cuda_slice_maximum_scale(maxima[slice_first + t], exponent, 1)
                            : make_float2(0, 0);
    }
    __syncthreads();
    for (int y = TENSOR_WINDOW * (int)blockIdx.z; y < n_y; y += TENSOR_WINDOW * (int)gridDim.z) {
        /* A warp reads a row of each slice. */
        const int own = y + t / TENSOR_TILE - top;
        const bool there = x >= 0 && x < nx && own >= 0 && own < ny;
        struct tensor_line line = {own, 1};
        if (made && there)
            line = made[own];
        const T *from = in + ((int64_t)slice_first * ny + line.row) * nx + x;
        T values[TENSOR_SLICES]; /* all loads are in flight at once */
#pragma unroll
        for (int slice = 0; slice < TENSOR_SLICES; slice++)
            values[slice] = there && slice_first + slice < n ? from[slice * apart] : (T)0;
#pragma unroll
        for (int slice = 0; slice < TENSOR_SLICES; slice++) {
            const float2 scale = scales[slice];
            float value = (float)values[slice] * scale.x * scale.y * line.factor;
            if (!SPLIT)
                value = ts_cuda_tensor_round(value, own, x);
            if (scale.x == 0) /* zero also for slices that are not finite */
                value = 0;
            tile[slice][t / TENSOR_TILE][t % TENSOR_TILE] = value;
        }
        __syncthreads();
        /* 32 threads do 8 slices by 4 pairs, in the order of memory. */
        const int each = SPLIT ? 2 : 4, slice = t % each + t % 32 / (4 * each) * each,
                  pair = t / each % 4;
        for (int k = t / 32; k < TENSOR_TILE; k += TENSOR_THREADS / 32) {
            /* Along rows they do 4 blocks of each of 8 lines; along columns 1 block of each of 32
             * lines. */
            const int row = along_rows ? k / 4 : 2 * pair,
                      i = along_rows ? k % 4 * TENSOR_WINDOW + 2 * pair : k;
            if (x_first + i >= n_x || y + row >= n_y)
                continue;
            const float first = tile[slice][row][i];
            const float second = along_rows ? tile[slice][row][i + 1] : tile[slice][row + 1][i];
            const int64_t block = along_rows
                                      ? (int64_t)(y + row) * blocks + (x_first + i) / TENSOR_WINDOW
                                      : (int64_t)(x_first + i) * blocks + y / TENSOR_WINDOW;
            const __half2 high = __floats2half2_rn(first, second);
            const int64_t to = (block * width + slice_first) * 4 + t % 32;
            if (SPLIT) {
                const __half2 low =
                    __floats2half2_rn(first - __low2float(high), second - __high2float(high));
                ((uint2 *)out)[to] = make_uint2(*(const uint32_t *)&high, *(const uint32_t *)&low);
            } else {
                out[to] = high;
            }
        }
        __syncthreads();
    }
}

/* ---- launching ------------------------------------------------------------------------------- */

/* Converts slices [z, z + n) of an image, whose largest magnitudes are maxima[0 .. n). The width is
 * a multiple of 8, and at least n. */
static inline enum ts_status
ts_cuda_tensor_halves(const struct stage_context *context, const struct ts_image *in, int64_t z,
                      int64_t n, bool along_rows, int width, bool split, const uint32_t *maxima,
                      int exponent, const struct tensor_line *made, void *out, cudaStream_t stream)
{
    const void *slices = ts_slice_data(in, z);
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const int64_t line = (int64_t)ts_cuda_tensor_blocks(along_rows ? nx : ny) * TENSOR_WINDOW;
    const int64_t rows = ts_cuda_parts(along_rows ? ny : line, TENSOR_WINDOW);
    const dim3 grid((unsigned)ts_cuda_parts(along_rows ? line : nx, TENSOR_TILE),
                    (unsigned)(width / TENSOR_SLICES), (unsigned)(rows < 65535 ? rows : 65535));
#define LAUNCH(T)                                                                                  \
    (split ? to_halves<T, true> : to_halves<T, false>)<<<grid, TENSOR_THREADS, 0, stream>>>(       \
        (const T *)slices, (int)n, ny, nx, along_rows, maxima, exponent, made, (__half2 *)out)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "to_halves");
}

/* ---- walks -------------------------------------------------------------------------------------
 *
 * A warp goes through the windows line after line, and in each line through the windows with
 * samples of its 16 sums. The windows of up to 32 lines are worked out at once, one line by each
 * thread, and written one after another to shared memory. The samples of a round of windows are in
 * registers or on their way there: the registers of what has been multiplied take what comes a
 * round later, and weights are worked out between the products before theirs. Sums run over rising
 * lines, then windows; after some windows, 16 of split operands, they are added to float totals in
 * shared memory.
 *
 * A kind of walk is a struct derived from tensor_walk with functions of these names in its own
 * file:
 *
 *     struct Walk::place                               where the sums lie on a line
 *     int windows_of_line(walk, line, &pair, &place)   how many windows, and the first one's pair
 *     void write_window(walk, to, start, first, &place)   writes place `to`; first: the window's
 *                                                         first sample
 *     void write_empty(walk, to)                       writes one that no sum is near
 *     void move_window(walk, from, to, has)            moves place `from + to` to place `to`, for
 *                                                      threads that have one
 *     uint32_t read_start(walk, from)                  where its samples start
 *     void read_window(walk, from, x)                  x: where this thread's two sums lie in it
 *     Walk::FOLD_STEPS                                 windows after which sums go into totals, a
 *                                                      multiple of a round
 *     Walk::SCALED                                     0: x counts samples. 1: it counts units, of
 *                                                      which there are
 *     float read_unit(walk, from)                      so many from one sample to the next */

enum {
    TENSOR_ROUND = 4,  /* windows whose samples are being loaded */
    TENSOR_STEPS = 64, /* most windows that a warp keeps at once */
    TENSOR_SPLIT_STEPS = 16,
    TENSOR_PLACES = TENSOR_STEPS + 2 * TENSOR_ROUND, /* places for these, and for empty windows
                                                      * behind them */
};

struct tensor_walk {
    const uint4 *lines; /* this thread's part of line 0 */
    int apart;          /* distance of neighboring blocks of a line */
    int n_minor;        /* samples of a line */
    int line, end;      /* next line to look at; the line after the last */
    int skip;           /* windows of that line that are done already */
    int step, steps;    /* next window to multiply; number of windows that are written down */
};

/* Returns how many windows the samples low .. high of a line of n_minor take (-1 <= low <= high <=
 * n_minor), and sets *pair to the first pair of the first window. Windows start at a whole block if
 * that takes no more of them. */
static __device__ __forceinline__ int ts_cuda_tensor_window(int low, int high, int *pair)
{
    const int from = low + TENSOR_LEFT, to = high + TENSOR_LEFT;
    const int count = (to - from / 2 * 2) / TENSOR_WINDOW + 1;
    const bool whole = to / TENSOR_WINDOW - from / TENSOR_WINDOW < count;
    *pair = whole ? from / TENSOR_WINDOW * (TENSOR_WINDOW / 2) : from / 2;
    return count;
}

/* Every thread of a warp has `count` windows to write into the next `capacity` places; returns this
 * thread's first place. Nothing is written beyond `capacity`. *ended becomes the first thread that
 * does not get room for all its windows, or 32; *n the number of places written. */
static __device__ __forceinline__ int ts_cuda_tensor_place(int count, int capacity, int *ended,
                                                           int *n)
{
    const int lane = (int)(threadIdx.x % 32);
    int end = count;
    for (int apart = 1; apart < 32; apart *= 2) {
        const int before = __shfl_up_sync(~0u, end, apart);
        end += lane >= apart ? before : 0;
    }
    const unsigned over = __ballot_sync(~0u, end > capacity);
    *ended = over ? __ffs((int)over) - 1 : 32;
    *n = min(__shfl_sync(~0u, end, 31), capacity);
    return end - count;
}

/* Finds the windows of the next lines, as many as there are free places behind those in work. */
template <class Walk> static __device__ __forceinline__ void ts_cuda_tensor_find(Walk *walk)
{
    const int lane = (int)(threadIdx.x % 32), blocks = ts_cuda_tensor_blocks(walk->n_minor);
    const int line = walk->line + lane, skip = lane == 0 ? walk->skip : 0,
              capacity = TENSOR_STEPS - walk->steps;
    int pair = 0, ended, n;
    typename Walk::place at = {};
    int count = line < walk->end ? windows_of_line(walk, line, &pair, &at) - skip : 0;
    const int place = ts_cuda_tensor_place(count, capacity, &ended, &n);
    count = min(count, capacity - place);
    for (int i = 0; i < count; i++)
        write_window(walk, walk->steps + place + i,
                     ts_cuda_tensor_start((uint32_t)line * (uint32_t)blocks + (uint32_t)(skip + i),
                                          pair, walk->apart),
                     2 * pair - TENSOR_LEFT + (skip + i) * TENSOR_WINDOW, &at);
    walk->steps += n;
    walk->line += ended;
    walk->skip = ended < 32 ? __shfl_sync(~0u, max(count, 0) + skip, ended % 32) : 0;
}

/* Makes sure that the windows of two rounds can be read from walk->step on; empty ones are added
 * after the last if needed. */
template <class Walk> static __device__ __forceinline__ void ts_cuda_tensor_refill(Walk *walk)
{
    const int lane = (int)(threadIdx.x % 32);
    __syncwarp();
    if (walk->line < walk->end) {
        move_window(walk, walk->step, lane, lane < walk->steps - walk->step);
        walk->steps -= walk->step;
        walk->step = 0;
        while (walk->steps < 2 * TENSOR_ROUND && walk->line < walk->end)
            ts_cuda_tensor_find(walk);
    }
    if (walk->steps - walk->step < 2 * TENSOR_ROUND && lane < 2 * TENSOR_ROUND)
        write_empty(walk, walk->steps + lane);
    __syncwarp();
}

/* Finds the weights of the window at `place`. */
template <class S, class Walk>
static __device__ __forceinline__ void ts_cuda_tensor_weights(const Walk *walk, int place,
                                                              struct tensor_weights *to)
{
    const float first = ts_cuda_tensor_first();
    struct tensor_window window;
    float x[2];
    read_window(walk, place, x);
    window.unit = read_unit(walk, place);
#pragma unroll
    for (int k = 0; k < 2; k++)
        window.x[k] = Walk::SCALED ? __fmaf_rn(-window.unit, first, x[k])
                                   : ts_cuda_tensor_position<S::SPLIT>(x[k], first);
    ts_cuda_tensor_weigh<S, Walk::SCALED>(to, &window);
}

/* Adds all windows to totals. Without a barrier behind a window's products, the compiler would move
 * all loads of a round behind its last product, where no work is left to hide them. */
template <class S, class Walk>
static __device__ __forceinline__ void ts_cuda_tensor_sum(Walk *walk, float4 *totals)
{
    float sums[S::TILES][4] = {};
    struct tensor_samples<S> samples[TENSOR_ROUND];
    struct tensor_weights weights[2];
    int folded = 0;
    for (int i = 0; i < S::TILES; i++)
        totals[i * S::THREADS + threadIdx.x] = make_float4(0, 0, 0, 0);
    walk->skip = walk->step = walk->steps = 0;
    ts_cuda_tensor_refill(walk);
    if (walk->steps == 0)
        return;
#pragma unroll
    for (int i = 0; i < TENSOR_ROUND; i++)
        ts_cuda_tensor_load<S>(&samples[i],
                               ts_cuda_tensor_from(walk->lines, read_start(walk, i), walk->apart));
    ts_cuda_tensor_weights<S>(walk, 0, &weights[0]);
    for (;;) {
#pragma unroll
        for (int i = 0; i < TENSOR_ROUND; i++) {
            const uint4 *from = ts_cuda_tensor_from(
                walk->lines, read_start(walk, walk->step + TENSOR_ROUND + i), walk->apart);
            ts_cuda_tensor_weights<S>(walk, walk->step + i + 1, &weights[(i + 1) % 2]);
            ts_cuda_tensor_multiply<S>(&samples[i], &weights[i % 2], from, sums);
            __syncwarp();
        }
        walk->step += TENSOR_ROUND;
        folded += TENSOR_ROUND;
        if (walk->step >= walk->steps)
            break;
        if (folded >= (S::SPLIT ? TENSOR_SPLIT_STEPS : (int)Walk::FOLD_STEPS)) {
            ts_cuda_tensor_fold<S>(totals, sums);
            folded = 0;
        }
        if (walk->steps - walk->step < 2 * TENSOR_ROUND)
            ts_cuda_tensor_refill(walk);
    }
    ts_cuda_tensor_fold<S>(totals, sums);
}

#endif
