/* SPDX-License-Identifier: Apache-2.0
 *
 * All kernels that count share this: their work (count_job), the cut of a run of pixels into
 * 16-byte vectors (pixel_span), and a table of counts in shared memory (block_table).
 */
#ifndef CUDA_COUNTING_COUNT_JOB_CUH
#define CUDA_COUNTING_COUNT_JOB_CUH

#include "cuda/counting/slice_counts.cuh"

extern "C" {
#include "stages/counting/value_counts.h"
}

struct count_job {
    const void *data;
    uint64_t slice_pixels; /* pixels of a slice; if the volume is counted as one slice, all its
                            * pixels */
    int64_t n_slices;
    void *partials;
    size_t stride; /* bytes between the partials of slices; 0: there is one partial, that of the
                    * volume */
    size_t bytes;  /* size of a pixel */
    uint32_t bias, n_keys;
    uint32_t shift, kept2;  /* for 16 bits: keys are values without their lowest `shift` bits; kept2
                             * is the mask of the other bits, in both halves */
    uint32_t first2, last2; /* for 16 bits: first and last of struct value_groups, in both halves */
};

/* Returns the keys of two 16-bit pixels, in the halves of a word. They are clamped to [first, last]
 * only on devices of capability 9.0 and later, which have instructions for it. */
static __device__ uint32_t keys_of(const struct count_job &job, uint32_t word)
{
    uint32_t pair = word ^ job.bias * 0x10001;
#if __CUDA_ARCH__ >= 900
    pair = __vminu2(__vmaxu2(pair, job.first2), job.last2);
#endif
    return (pair & job.kept2) >> job.shift;
}

/* Returns the keys of the eight 16-bit pixels of a vector, two in each word. */
static __device__ uint4 vector_keys_of(const struct count_job &job, const uint4 &vector)
{
    return make_uint4(keys_of(job, vector.x), keys_of(job, vector.y), keys_of(job, vector.z),
                      keys_of(job, vector.w));
}

/* Returns the key of one pixel. Kernels that first look for the range of keys use it in both steps,
 * so that the keys are the same. */
static __device__ uint32_t key_of(const struct count_job &job, uint32_t value)
{
    return keys_of(job, value * 0x10001) & 0xFFFF;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* A run of pixels: those before the first whole vector, the vectors, and those after the last. */
template <typename type> struct pixel_span {
    const type *head, *tail;
    const uint4 *vectors;
    uint32_t n_head, n_vectors, n_tail;
};

/* Returns part `part` of `parts` of the slice, which has less than 2^32 pixels. */
template <typename type>
static __device__ struct pixel_span<type> span_of(const struct count_job &job, int64_t slice,
                                                  uint32_t part, uint32_t parts) {
    const uint32_t in_vector = sizeof(uint4) / sizeof(type);
    const uint64_t share = (job.slice_pixels / parts + in_vector) / in_vector * in_vector;
    const uint64_t first = part * share < job.slice_pixels ? part * share : job.slice_pixels;
    const uint64_t left = job.slice_pixels - first, n = left < share ? left : share;
    const type *data = (const type *)job.data + (uint64_t)slice * job.slice_pixels + first;
    const uint32_t to_vector = (uint32_t)((sizeof(uint4) - (uintptr_t)data % sizeof(uint4)) %
                                          sizeof(uint4) / sizeof(type));
    struct pixel_span<type> span;
    span.head = data;
    span.n_head = to_vector < n ? to_vector : (uint32_t)n;
    span.vectors = (const uint4 *)(data + span.n_head);
    span.n_vectors = (uint32_t)((n - span.n_head) / in_vector);
    span.tail = data + span.n_head + (uint64_t)span.n_vectors * in_vector;
    span.n_tail = (uint32_t)((n - span.n_head) % in_vector);
    return span;
}

/* The load leaves the pixels in the caches: a map may read them again. */
static __device__ uint4
load_vector(const uint4 *at)
{
    return __ldg(at);
}

/* This says that the pixel lies in global memory: nvcc 13.0 mistakes the ends of a span for shared
 * memory in count_16_volume. */
static __device__ uint32_t load_pixel(const uint16_t *at)
{
    return __ldg(at);
}

/* The next vectors that a thread counts. */
template <int loads> struct vector_ring {
    uint4 next[loads];
};

template <int loads, int threads, typename type>
static __device__ void fill_ring(struct vector_ring<loads> &ring,
                                 const struct pixel_span<type> &span)
{
#pragma unroll
    for (uint32_t load = 0; load < loads; load++)
        if (threadIdx.x + load * threads < span.n_vectors)
            ring.next[load] = load_vector(span.vectors + threadIdx.x + load * threads);
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Adds n to a count of a partial that several blocks share. */
static __device__ void add_count(const struct count_job &job, int64_t slice, uint32_t key,
                                 int64_t n)
{
    char *partial = (char *)job.partials + (uint64_t)slice * job.stride;
    if (job.stride)
        atomicAdd(&((struct cuda_slice_counts *)partial)->counts[key], (uint32_t)n);
    else
        atomicAdd((unsigned long long *)partial + key, (unsigned long long)n);
}

/* 32-bit counts of the keys [first, first + n) in shared memory, each in 2^log2_copies copies. The
 * lanes of a warp use different copies, so that fewer lanes add to the same counter. */
struct block_table {
    uint32_t *counts;
    uint32_t first, n, log2_copies;
};

/* Clears the table. All threads of the block call it. */
static __device__ void clear_counts(const struct block_table &table)
{
    for (uint32_t i = threadIdx.x; i < table.n << table.log2_copies; i += blockDim.x)
        table.counts[i] = 0;
    __syncthreads();
}

/* Counts a key n times, unless it is outside the table. */
static __device__ void count_key(const struct block_table &table, uint32_t key, uint32_t n)
{
    const uint32_t at = key - table.first;
    if (at < table.n)
        atomicAdd(&table.counts[at << table.log2_copies |
                                (threadIdx.x & ((1u << table.log2_copies) - 1))],
                  n);
}

/* Returns the sum of the copies of key first + at. Neighboring threads start at different copies,
 * so that they use different banks. */
static __device__ uint32_t sum_copies(const struct block_table &table, uint32_t at)
{
    const uint32_t copies = 1u << table.log2_copies;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < copies; i++)
        sum += table.counts[at << table.log2_copies | ((i + threadIdx.x) & (copies - 1))];
    return sum;
}

#endif
