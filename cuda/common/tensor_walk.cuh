/* SPDX-License-Identifier: Apache-2.0
 *
 * How a warp goes through the windows of tensor.cuh: line after line, of each line the windows that its 16 sums take
 * samples from. The windows of up to 32 lines are worked out at once, a line a lane, and written down one after
 * another in shared memory; the loads of two windows are on their way while the two before are multiplied. Order of
 * sums: lines rising, then windows; after FOLD_STEPS windows into float totals in shared memory.
 *
 * A kind of walk is a struct derived from tensor_walk with functions of these names in its own file:
 *
 *     struct Walk::place                                  where the sums lie on a line
 *     int windows_of_line(walk, line, &pair, &place)      how many windows, and the first one's pair
 *     void write_window(walk, to, start, first, &place)   into place `to`; first: the window's first sample
 *     void write_empty(walk, to)                          one that no sum is near
 *     uint32_t read_window(walk, from, x)                 its start; x: where this thread's two sums lie in it
 *     Walk::AHEAD                                         1: weights are worked out between the products before theirs
 *     Walk::SCALED                                        0: x counts samples; 1: in units, of which
 *     float read_unit(walk, from)                         there are so many from one sample to the next
 */
#ifndef CUDA_COMMON_TENSOR_WALK_CUH
#define CUDA_COMMON_TENSOR_WALK_CUH

#include "cuda/common/tensor.cuh"

enum { TENSOR_STEPS = 64 /* windows that a warp works out at once, even */ };

struct tensor_walk {
    const uint4 *lines; /* this thread's part of line 0 */
    int apart;          /* from block to block of a line */
    int n_minor;        /* samples of a line */
    int line, end;      /* next one to look at; that after the last */
    int skip;           /* windows of it that were in the last steps */
    int step, steps;    /* windows in work */
    int folded;         /* windows since the last fold */
};

/* The windows of samples low .. high of a line of n_minor, -1 <= low <= high <= n_minor: how many, and the first
 * one's pair. They start at a whole block where that takes no more of them. */
static __device__ __forceinline__ int ts_cuda_tensor_window(int low, int high, int *pair)
{
    const int from = low + TENSOR_LEFT, to = high + TENSOR_LEFT;
    const int count = (to - from / 2 * 2) / TENSOR_WINDOW + 1;
    const bool whole = to / TENSOR_WINDOW - from / TENSOR_WINDOW < count;
    *pair = whole ? from / TENSOR_WINDOW * (TENSOR_WINDOW / 2) : from / 2;
    return count;
}

/* Every lane of a warp has `count` windows to write into the next TENSOR_STEPS places: its first place there. What it
 * writes ends at TENSOR_STEPS; *ended: the first lane that does not get all of its windows there, 32 if there is none;
 * *n: places written. */
static __device__ __forceinline__ int ts_cuda_tensor_place(int count, int *ended, int *n)
{
    const int lane = (int)(threadIdx.x % 32);
    int end = count;
    for (int apart = 1; apart < 32; apart *= 2) {
        const int before = __shfl_up_sync(~0u, end, apart);
        end += lane >= apart ? before : 0;
    }
    const unsigned over = __ballot_sync(~0u, end > TENSOR_STEPS);
    *ended = over ? __ffs((int)over) - 1 : 32;
    *n = min(__shfl_sync(~0u, end, 31), (int)TENSOR_STEPS);
    return end - count;
}

/* Works out the next windows; false after the last line. */
template <class Walk> static __device__ __forceinline__ bool ts_cuda_tensor_find(Walk *walk)
{
    const int lane = (int)(threadIdx.x % 32), blocks = ts_cuda_tensor_blocks(walk->n_minor);
    for (walk->step = walk->steps = 0; walk->steps == 0;) {
        if (walk->line >= walk->end)
            return false;
        const int line = walk->line + lane, skip = lane == 0 ? walk->skip : 0;
        int pair = 0, ended;
        typename Walk::place at = {};
        int count = line < walk->end ? windows_of_line(walk, line, &pair, &at) - skip : 0;
        const int place = ts_cuda_tensor_place(count, &ended, &walk->steps);
        count = min(count, TENSOR_STEPS - place);
        __syncwarp();
        for (int i = 0; i < count; i++)
            write_window(
                walk, place + i,
                ts_cuda_tensor_start((uint32_t)line * (uint32_t)blocks + (uint32_t)(skip + i), pair, walk->apart),
                2 * pair - TENSOR_LEFT + (skip + i) * TENSOR_WINDOW, &at);
        if (walk->steps % 2 && lane == 31)
            write_empty(walk, walk->steps);
        walk->line += ended;
        walk->skip = ended < 32 ? __shfl_sync(~0u, max(count, 0) + skip, ended % 32) : 0;
        __syncwarp();
    }
    return true;
}

/* On to the next two windows; false after the last. *fold: sums have run for long enough. */
template <class S, class Walk>
static __device__ __forceinline__ bool ts_cuda_tensor_advance(Walk *walk, struct tensor_windows *two, bool *fold)
{
    const float first = ts_cuda_tensor_first();
    walk->step += 2;
    walk->folded += 2;
    *fold = walk->folded >= S::FOLD_STEPS;
    walk->folded = *fold ? 0 : walk->folded;
    if (walk->step >= walk->steps && !ts_cuda_tensor_find(walk))
        return false;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float x[2];
        two->from[i] = ts_cuda_tensor_from(walk->lines, read_window(walk, walk->step + i, x), walk->apart);
        two->unit[i] = read_unit(walk, walk->step + i);
#pragma unroll
        for (int k = 0; k < 2; k++)
            two->x[i][k] =
                Walk::SCALED ? __fmaf_rn(-two->unit[i], first, x[k]) : ts_cuda_tensor_position<S::SPLIT>(x[k], first);
    }
    return true;
}

/* Multiplies two windows while the next two are on their way; false after the last. Weights of the next are worked out
 * here too: between products, which wait for each other. */
template <class S, class Walk>
static __device__ __forceinline__ bool
ts_cuda_tensor_step(Walk *walk, const struct tensor_samples<S> *samples, const struct tensor_weights *weights,
                    struct tensor_samples<S> *next, struct tensor_weights *next_weights, float sums[S::TILES][4],
                    float4 *totals)
{
    struct tensor_windows two;
    bool fold;
    if (!ts_cuda_tensor_advance<S>(walk, &two, &fold)) {
        ts_cuda_tensor_multiply<S>(samples, weights, sums);
        ts_cuda_tensor_fold<S>(totals, sums);
        return false;
    }
    ts_cuda_tensor_load<S>(next, &two);
    ts_cuda_tensor_weigh<S, Walk::SCALED>(next_weights, &two);
    ts_cuda_tensor_multiply<S>(samples, weights, sums);
    if (fold)
        ts_cuda_tensor_fold<S>(totals, sums);
    return true;
}

/* The same with one set of weights, worked out right before its products: registers for pixels of many slices. */
template <class S, class Walk>
static __device__ __forceinline__ bool
ts_cuda_tensor_lean_step(Walk *walk, struct tensor_windows *two, const struct tensor_samples<S> *samples,
                         struct tensor_samples<S> *next, float sums[S::TILES][4], float4 *totals)
{
    struct tensor_weights weights;
    bool fold;
    ts_cuda_tensor_weigh<S, Walk::SCALED>(&weights, two);
    const bool more = ts_cuda_tensor_advance<S>(walk, two, &fold);
    if (more)
        ts_cuda_tensor_load<S>(next, two);
    ts_cuda_tensor_multiply<S>(samples, &weights, sums);
    if (fold)
        ts_cuda_tensor_fold<S>(totals, sums);
    return more;
}

/* Sums over all windows into totals. */
template <class S, class Walk> static __device__ __forceinline__ void ts_cuda_tensor_sum(Walk *walk, float4 *totals)
{
    float sums[S::TILES][4] = {};
    struct tensor_samples<S> samples, next;
    struct tensor_windows two;
    bool fold;
    for (int i = 0; i < S::TILES; i++)
        totals[i * S::THREADS + threadIdx.x] = make_float4(0, 0, 0, 0);
    walk->skip = walk->step = walk->steps = walk->folded = 0;
    if (!ts_cuda_tensor_advance<S>(walk, &two, &fold))
        return;
    ts_cuda_tensor_load<S>(&samples, &two);
    if (Walk::AHEAD) {
        struct tensor_weights weights, next_weights;
        ts_cuda_tensor_weigh<S, Walk::SCALED>(&weights, &two);
        while (ts_cuda_tensor_step(walk, &samples, &weights, &next, &next_weights, sums, totals) &&
               ts_cuda_tensor_step(walk, &next, &next_weights, &samples, &weights, sums, totals))
            ;
    } else {
        while (ts_cuda_tensor_lean_step<S>(walk, &two, &samples, &next, sums, totals) &&
               ts_cuda_tensor_lean_step<S>(walk, &two, &next, &samples, sums, totals))
            ;
        ts_cuda_tensor_fold<S>(totals, sums);
    }
}

#endif
