/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel-beam backprojection of stacks of slices: the kernel.
 *
 * The sinogram lies with 128 slices side by side (common/interleave.cuh), so that a warp reads one detector of one view
 * in all of them at once, and every thread has V = 4 of the slices. A warp owns 4 pixels of a row. Their places on the
 * detector are at most one detector apart from pixel to pixel, so that 2 to 5 loads serve all 4 of them where each
 * alone takes 2; which of the 8 patterns it is, the same for the whole warp, decides a branch. What is the same for all
 * slices, places and weights, is worked out for 32 views at once, one by each lane, and handed round through shared
 * memory. Where pixels are more than a detector apart every pixel loads its own two (WIDE).
 *
 * Order of sums: 32 views from 0, in the table's order, then these sums in rising order: fixed by the views alone.
 *
 * 8 warps of 8 x 4 pixels: larger blocks load less from the second cache but wait more; 4 blocks fill the registers.
 *
 * Memory: 16 bytes a thread and load, about 4 loads for 16 samples' worth of sums; a block's pixels stand close, so
 * that they find most detectors in the first cache. Each slice is written once.
 */
#ifndef CUDA_COMMON_BACK_STACK_CUH
#define CUDA_COMMON_BACK_STACK_CUH

#include "cuda/common/back_view.cuh"
#include "cuda/common/interleave.cuh"

enum {
    BACK_PIXELS = 4, /* of a warp, side by side */
    BACK_CHUNK = 32, /* views whose places are worked out at once: one a lane */
    BACK_ACROSS = 2, /* warps of a block side by side, */
    BACK_DOWN = 4,   /* and one below the other */
    BACK_BLOCKS = 4, /* on a multiprocessor */
    BACK_THREADS = 32 * BACK_ACROSS * BACK_DOWN
};

struct back_size {
    int n_slices, n_detectors, n_rows, n_columns;
    int blocks_across;
    int64_t first_block; /* of this launch */
    bool whole;          /* sums go out as 4 pixels at once */
};

/* Samples of V slices. */
template <int V> struct back_slices {
    float at[V];
};

static __device__ __forceinline__ void back_load(struct back_slices<4> *to, const float *from)
{
    const float4 value = __ldg((const float4 *)from);
    to->at[0] = value.x, to->at[1] = value.y, to->at[2] = value.z, to->at[3] = value.w;
}

static __device__ __forceinline__ void back_load(struct back_slices<2> *to, const float *from)
{
    const float2 value = __ldg((const float2 *)from);
    to->at[0] = value.x, to->at[1] = value.y;
}

static __device__ __forceinline__ void back_load(struct back_slices<1> *to, const float *from)
{
    to->at[0] = __ldg(from);
}

template <int V>
static __device__ __forceinline__ void back_add(struct back_slices<V> *sum, const struct back_slices<V> *below,
                                                const struct back_slices<V> *above, float w_below, float w_above)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        sum->at[i] = __fmaf_rn(w_above, above->at[i], __fmaf_rn(w_below, below->at[i], sum->at[i]));
}

/* Where 4 pixels lie in a view, in rising order of places. */
struct back_place {
    float4 below, above; /* weights of the detector below each pixel, and of the next */
    int4 at; /* samples of the interleaved sinogram: that below the first pixel, and the pattern; WIDE: of all */
};

/* The pixels O1, O2 and O3 detectors past the first one's. */
template <int O1, int O2, int O3, int V>
static __device__ __forceinline__ void back_pattern(const float *at, const struct back_place *place,
                                                    struct back_slices<V> sums[BACK_PIXELS])
{
    struct back_slices<V> samples[O3 + 2];
#pragma unroll
    for (int i = 0; i < O3 + 2; i++)
        back_load(&samples[i], at + i * 32 * V);
    const float4 below = place->below, above = place->above;
    back_add(&sums[0], &samples[0], &samples[1], below.x, above.x);
    back_add(&sums[1], &samples[O1], &samples[O1 + 1], below.y, above.y);
    back_add(&sums[2], &samples[O2], &samples[O2 + 1], below.z, above.z);
    back_add(&sums[3], &samples[O3], &samples[O3 + 1], below.w, above.w);
}

template <int V>
static __device__ __forceinline__ void back_add_view(const float *lines, const struct back_place *place,
                                                     struct back_slices<V> sums[BACK_PIXELS])
{
    const float *at = lines + (int64_t)place->at.x * (32 * V);
    const int pattern = place->at.y;
    if (!(pattern & 1)) {
        if (!(pattern & 2)) {
            if (!(pattern & 4))
                back_pattern<0, 0, 0>(at, place, sums);
            else
                back_pattern<0, 0, 1>(at, place, sums);
        } else if (!(pattern & 4)) {
            back_pattern<0, 1, 1>(at, place, sums);
        } else {
            back_pattern<0, 1, 2>(at, place, sums);
        }
    } else if (!(pattern & 2)) {
        if (!(pattern & 4))
            back_pattern<1, 1, 1>(at, place, sums);
        else
            back_pattern<1, 1, 2>(at, place, sums);
    } else if (!(pattern & 4)) {
        back_pattern<1, 2, 2>(at, place, sums);
    } else {
        back_pattern<1, 2, 3>(at, place, sums);
    }
}

template <int V>
static __device__ __forceinline__ void back_add_wide(const float *lines, const struct back_place *place,
                                                     struct back_slices<V> sums[BACK_PIXELS])
{
    const int at[BACK_PIXELS] = {place->at.x, place->at.y, place->at.z, place->at.w};
    const float below[BACK_PIXELS] = {place->below.x, place->below.y, place->below.z, place->below.w};
    const float above[BACK_PIXELS] = {place->above.x, place->above.y, place->above.z, place->above.w};
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        struct back_slices<V> first, second;
        back_load(&first, lines + (int64_t)at[k] * (32 * V));
        back_load(&second, lines + ((int64_t)at[k] + 1) * (32 * V));
        back_add(&sums[k], &first, &second, below[k], above[k]);
    }
}

/* column: of the pixel with the lowest place; toward: 1 where places rise with columns, else -1. */
template <bool WIDE>
static __device__ __forceinline__ void back_find(const struct cuda_back_view *view, int row, int column, int toward,
                                                 int n_detectors, struct back_place *place)
{
    const int64_t first = view->base + row * view->per_row + column * view->per_column,
                  step = toward * view->per_column;
    const int line = view->view * (n_detectors + 2 * INTERLEAVE_MARGIN) + INTERLEAVE_MARGIN;
    float below[BACK_PIXELS], above[BACK_PIXELS];
    int index[BACK_PIXELS];
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        const int64_t at = first + k * step, whole = at >> 32;
        const float past = ts_cuda_back_past(at);
        below[k] = ts_cuda_back_weight(view, past);
        above[k] = ts_cuda_back_weight(view, 1 - past);
        /* Past the detectors are zeros: any of them will do. */
        index[k] = (int)(whole < -INTERLEAVE_MARGIN + 2      ? -INTERLEAVE_MARGIN + 2
                         : whole > n_detectors + BACK_PIXELS ? n_detectors + BACK_PIXELS
                                                             : whole);
    }
    place->below = make_float4(below[0], below[1], below[2], below[3]);
    place->above = make_float4(above[0], above[1], above[2], above[3]);
    const int pattern = (index[1] - index[0]) | (index[2] - index[1]) << 1 | (index[3] - index[2]) << 2;
    place->at = WIDE ? make_int4(line + index[0], line + index[1], line + index[2], line + index[3])
                     : make_int4(line + index[0], pattern, 0, 0);
}

/* Writes the totals of one warp: for each thread's V slices, 4 pixels. */
template <int V>
static __device__ void back_write(const float4 *totals, const struct back_size *size, int row, int column, float *out)
{
    const int slice = (int)(threadIdx.x % 32) * V;
    for (int i = 0; i < V && slice + i < size->n_slices; i++) {
        const float4 t = totals[i * BACK_THREADS + threadIdx.x];
        float *to = out + ((int64_t)(slice + i) * size->n_rows + row) * size->n_columns + column;
        if (size->whole) {
            *(float4 *)to = t;
            continue;
        }
        const float values[BACK_PIXELS] = {t.x, t.y, t.z, t.w};
        for (int k = 0; k < BACK_PIXELS; k++)
            if (column + k < size->n_columns)
                to[k] = values[k];
    }
}

/* grid: blocks of a row of blocks, row after row. Shared memory: back_shared(V). */
static inline size_t back_shared(int v)
{
    return BACK_THREADS * ((size_t)v * sizeof(float4) + sizeof(struct back_place));
}

template <int V, bool WIDE>
static __global__ void __launch_bounds__(BACK_THREADS, BACK_BLOCKS)
    back_stack(const float *lines, float *out, const struct cuda_back_views *table, struct back_size size)
{
    extern __shared__ float4 shared[];
    float4 *totals = shared; /* V * BACK_THREADS, then a place for each thread */
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t block = size.first_block + blockIdx.x;
    const int row = (int)(block / size.blocks_across) * BACK_DOWN + warp / BACK_ACROSS;
    const int column = ((int)(block % size.blocks_across) * BACK_ACROSS + warp % BACK_ACROSS) * BACK_PIXELS;
    if (row >= size.n_rows || column >= size.n_columns)
        return;
    struct back_place *own = (struct back_place *)(shared + V * BACK_THREADS) + warp * 32;
    lines += lane * V;
#pragma unroll
    for (int i = 0; i < V; i++)
        totals[i * BACK_THREADS + threadIdx.x] = make_float4(0, 0, 0, 0);
    for (int falling = 0; falling < 2; falling++) {
        const int64_t end = falling ? table->n : table->n_rising;
        for (int64_t first = falling ? table->n_rising : 0; first < end; first += BACK_CHUNK) {
            const int n = (int)(end - first < BACK_CHUNK ? end - first : BACK_CHUNK);
            __syncwarp();
            if (lane < n)
                back_find<WIDE>(&table->at[first + lane], row, column + (falling ? BACK_PIXELS - 1 : 0),
                                falling ? -1 : 1, size.n_detectors, &own[lane]);
            __syncwarp();
            struct back_slices<V> sums[BACK_PIXELS] = {
            };
            for (int i = 0; i < n; i++)
                if (WIDE)
                    back_add_wide(lines, &own[i], sums);
                else
                    back_add_view(lines, &own[i], sums);
#pragma unroll
            for (int i = 0; i < V; i++) {
                float4 *total = &totals[i * BACK_THREADS + threadIdx.x];
                const float a = sums[0].at[i], b = sums[1].at[i], c = sums[2].at[i], d = sums[3].at[i];
                *total = falling ? make_float4(total->x + d, total->y + c, total->z + b, total->w + a)
                                 : make_float4(total->x + a, total->y + b, total->z + c, total->w + d);
            }
        }
    }
    back_write<V>(totals, &size, row, column, out);
}

#endif
