/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of a warp in shared memory that are written without atomic adds (V. Podlozhnyuk, Histogram
 * calculation in CUDA, NVIDIA 2007). The top 5 bits of a count are the number of the lane that
 * wrote it last, the other 27 the count. Every lane reads its count, adds one, puts its number on
 * top and writes it back; if several lanes have the same slot, one write stays. The lanes read
 * back, and those that do not find their own number try again with the count that they found. So a
 * warp takes as many tries as the most frequent slot has lanes.
 *
 * The method was written for warps whose lanes run in step. Here __syncwarp() separates writing
 * from reading back, all lanes repeat as long as one must, and the write is an atomic exchange, so
 * that one of two writes to a word stays complete. histogram_warp.cu makes a method of this, and
 * lab/cuda counts the tries.
 */
#ifndef CUDA_HISTOGRAM_WARP_TAGS_CUH
#define CUDA_HISTOGRAM_WARP_TAGS_CUH

#include "cuda/device/launch.cuh"

#ifndef HISTOGRAM_TAG_SHIFT /* a test uses fewer bits, so that it sees counts overflow */
#define HISTOGRAM_TAG_SHIFT 27
#endif
enum { TAG_SHIFT = HISTOGRAM_TAG_SHIFT };
static const uint32_t count_mask = (1u << TAG_SHIFT) - 1;

struct warp_table {
    uint32_t *counts; /* counts of this lane */
    uint32_t first, n,
        log2_copies; /* slots of this pass, each with 2^log2_copies counts side by side */
    uint32_t tag;    /* the number of this lane on top, and 1 to be added */
};

static __device__ uint32_t found(const uint32_t *count)
{
    return *(const volatile uint32_t *)count;
}

/* Counts one pixel for each lane, unless its slot is outside of the pass. All lanes of the warp
 * call it. Returns the number of tries, in all lanes. */
static __device__ uint32_t count_tagged(const struct warp_table &table, uint32_t slot)
{
    const uint32_t at = slot - table.first;
    bool waiting = at < table.n;
    uint32_t *count = table.counts + (at << table.log2_copies);
    uint32_t before = waiting ? found(count) : 0, tries = 0;
    __syncwarp();
    do {
        const uint32_t tagged = (before & count_mask) + table.tag;
        if (waiting)
            atomicExch(count, tagged);
        __syncwarp();
        if (waiting)
            before = found(count);
        waiting = waiting && before != tagged;
        __syncwarp();
        tries++;
    } while (__any_sync(~0u, waiting));
    return tries;
}

#endif
