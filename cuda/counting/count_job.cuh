/* SPDX-License-Identifier: Apache-2.0
 *
 * What the counting kernels of value_counts.cu have in common: their work, and how a run of pixels is cut into 16-byte
 * vectors.
 */
#ifndef CUDA_COUNTING_COUNT_JOB_CUH
#define CUDA_COUNTING_COUNT_JOB_CUH

#include "cuda/counting/value_counts.cuh"

/* How a kernel hands its counts on. OWN: one block counts whole slices and overwrites their partials. ADD: several
 * blocks share a slice (or the volume, which is one long slice) and add to its cleared partial. */
enum count_mode { COUNT_OWN, COUNT_ADD };

struct count_job {
    const void *data;
    uint64_t slice_pixels; /* ADD to the volume: all pixels */
    int64_t n_slices;
    void *partials;
    size_t stride; /* of the partials of slices; 0: the volume's */
    size_t bytes;  /* of a pixel */
    uint32_t bias, n_keys;
    uint32_t shift, kept2;  /* 16 bits: keys are values without their lowest `shift` bits; the others, in both halves */
    uint32_t first2, last2; /* 16 bits: of struct value_groups, in both halves */
};

/* The keys of two 16-bit pixels, in the halves of a word. Only devices of 9.0 and later have instructions for the
 * nearer of first and last; the others count each key as it is. */
static __device__ uint32_t keys_of(const struct count_job &job, uint32_t word)
{
    uint32_t pair = word ^ job.bias * 0x10001;
#if __CUDA_ARCH__ >= 900
    pair = __vminu2(__vmaxu2(pair, job.first2), job.last2);
#endif
    return (pair & job.kept2) >> job.shift;
}

/* Of one: kernels that look for the range of keys first must find the same keys when they count. */
static __device__ uint32_t key_of(const struct count_job &job, uint32_t value)
{
    return keys_of(job, value * 0x10001) & 0xFFFF;
}

/* Pixels before the first whole vector, the vectors, and pixels after the last. */
template <typename type> struct pixel_span {
    const type *head, *tail;
    const uint4 *vectors;
    uint32_t n_head, n_vectors, n_tail;
};

/* Part `part` of `parts` of the slice; less than 2^32 pixels. */
template <typename type>
static __device__ struct pixel_span<type> span_of(const struct count_job &job, int64_t slice, uint32_t part,
                                                  uint32_t parts) {
    const uint32_t in_vector = sizeof(uint4) / sizeof(type);
    const uint64_t share = (job.slice_pixels / parts + in_vector) / in_vector * in_vector;
    const uint64_t first = part * share < job.slice_pixels ? part * share : job.slice_pixels;
    const uint64_t left = job.slice_pixels - first, n = left < share ? left : share;
    const type *data = (const type *)job.data + (uint64_t)slice * job.slice_pixels + first;
    const uint32_t to_vector =
        (uint32_t)((sizeof(uint4) - (uintptr_t)data % sizeof(uint4)) % sizeof(uint4) / sizeof(type));
    struct pixel_span<type> span;
    span.head = data;
    span.n_head = to_vector < n ? to_vector : (uint32_t)n;
    span.vectors = (const uint4 *)(data + span.n_head);
    span.n_vectors = (uint32_t)((n - span.n_head) / in_vector);
    span.tail = data + span.n_head + (uint64_t)span.n_vectors * in_vector;
    span.n_tail = (uint32_t)((n - span.n_head) % in_vector);
    return span;
}

/* Adds to the partial that several blocks share. */
static __device__ void
add_count(const struct count_job &job, int64_t slice, uint32_t key, int64_t n)
{
    char *partial = (char *)job.partials + (uint64_t)slice * job.stride;
    if (job.stride)
        atomicAdd(&((struct cuda_slice_counts *)partial)->counts[key], (uint32_t)n);
    else
        atomicAdd((unsigned long long *)partial + key, (unsigned long long)n);
}

/* Left in the caches as usual: a map may read it again. */
static __device__ uint4 load_vector(const uint4 *at)
{
    return __ldg(at);
}

/* As a load from global memory: nvcc 13.0 takes the ends of a span for shared memory in count_16_volume. */
static __device__ uint32_t load_pixel(const uint16_t *at)
{
    return __ldg(at);
}

#endif
