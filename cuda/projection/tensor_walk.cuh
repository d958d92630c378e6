/* SPDX-License-Identifier: Apache-2.0
 *
 * A warp goes through the windows of tensor.cuh line after line, and in each line through the windows with samples of
 * its 16 sums. The windows of up to 32 lines are worked out at once, one line by each thread, and written one after
 * another to shared memory. The samples of a round of windows are in registers or on their way there: the registers of
 * what has been multiplied take what comes a round later, and weights are worked out between the products before
 * theirs. Sums run over rising lines, then windows; after some windows, 16 of split operands, they are added to float
 * totals in shared memory.
 *
 * A kind of walk is a struct derived from tensor_walk with functions of these names in its own file:
 *
 *     struct Walk::place                               where the sums lie on a line
 *     int windows_of_line(walk, line, &pair, &place)   how many windows, and the first one's pair
 *     void write_window(walk, to, start, first, &place)   writes place `to`; first: the window's first sample
 *     void write_empty(walk, to)                       writes one that no sum is near
 *     void move_window(walk, from, to, has)            moves place `from + to` to place `to`, for threads that have one
 *     uint32_t read_start(walk, from)                  where its samples start
 *     void read_window(walk, from, x)                  x: where this thread's two sums lie in it
 *     Walk::FOLD_STEPS                                 windows after which sums go into totals, a multiple of a round
 *     Walk::SCALED                                     0: x counts samples. 1: it counts units, of which there are
 *     float read_unit(walk, from)                      so many from one sample to the next
 */
#ifndef CUDA_PROJECTION_TENSOR_WALK_CUH
#define CUDA_PROJECTION_TENSOR_WALK_CUH

#include "cuda/projection/tensor.cuh"

enum {
    TENSOR_ROUND = 4,  /* windows whose samples are on their way */
    TENSOR_STEPS = 64, /* that a warp knows of at once */
    TENSOR_SPLIT_STEPS = 16,
    TENSOR_PLACES = TENSOR_STEPS + 2 * TENSOR_ROUND, /* with empty ones behind them */
};

struct tensor_walk {
    const uint4 *lines; /* this thread's part of line 0 */
    int apart;          /* from block to block of a line */
    int n_minor;        /* samples of a line */
    int line, end;      /* next one to look at; that after the last */
    int skip;           /* windows of it that were in the last steps */
    int step, steps;    /* next window to multiply; windows written down */
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

/* Every thread of a warp has `count` windows to write into the next `capacity` places; returns its first place there.
 * Nothing is written beyond `capacity`. *ended: the first thread that does not get all of its windows there, 32 if
 * there is none; *n: places written. */
static __device__ __forceinline__ int ts_cuda_tensor_place(int count, int capacity, int *ended, int *n)
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

/* Works out the windows of the next lines, as many as there are free places behind those in work. */
template <class Walk> static __device__ __forceinline__ void ts_cuda_tensor_find(Walk *walk)
{
    const int lane = (int)(threadIdx.x % 32), blocks = ts_cuda_tensor_blocks(walk->n_minor);
    const int line = walk->line + lane, skip = lane == 0 ? walk->skip : 0, capacity = TENSOR_STEPS - walk->steps;
    int pair = 0, ended, n;
    typename Walk::place at = {};
    int count = line < walk->end ? windows_of_line(walk, line, &pair, &at) - skip : 0;
    const int place = ts_cuda_tensor_place(count, capacity, &ended, &n);
    count = min(count, capacity - place);
    for (int i = 0; i < count; i++)
        write_window(walk, walk->steps + place + i,
                     ts_cuda_tensor_start((uint32_t)line * (uint32_t)blocks + (uint32_t)(skip + i), pair, walk->apart),
                     2 * pair - TENSOR_LEFT + (skip + i) * TENSOR_WINDOW, &at);
    walk->steps += n;
    walk->line += ended;
    walk->skip = ended < 32 ? __shfl_sync(~0u, max(count, 0) + skip, ended % 32) : 0;
}

/* Sees to it that the windows of two rounds can be read from walk->step on, if need be empty ones after the last. */
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
static __device__ __forceinline__ void ts_cuda_tensor_weights(const Walk *walk, int place, struct tensor_weights *to)
{
    const float first = ts_cuda_tensor_first();
    struct tensor_window window;
    float x[2];
    read_window(walk, place, x);
    window.unit = read_unit(walk, place);
#pragma unroll
    for (int k = 0; k < 2; k++)
        window.x[k] =
            Walk::SCALED ? __fmaf_rn(-window.unit, first, x[k]) : ts_cuda_tensor_position<S::SPLIT>(x[k], first);
    ts_cuda_tensor_weigh<S, Walk::SCALED>(to, &window);
}

/* Sums all windows into totals. Without a barrier behind a window's products the compiler would move all loads of a
 * round behind its last product, where nothing is left to hide them. */
template <class S, class Walk> static __device__ __forceinline__ void ts_cuda_tensor_sum(Walk *walk, float4 *totals)
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
        ts_cuda_tensor_load<S>(&samples[i], ts_cuda_tensor_from(walk->lines, read_start(walk, i), walk->apart));
    ts_cuda_tensor_weights<S>(walk, 0, &weights[0]);
    for (;;) {
#pragma unroll
        for (int i = 0; i < TENSOR_ROUND; i++) {
            const uint4 *from =
                ts_cuda_tensor_from(walk->lines, read_start(walk, walk->step + TENSOR_ROUND + i), walk->apart);
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
