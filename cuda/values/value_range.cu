/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the lowest and the highest key of slices. A thread reads 16-byte groups, with four in
 * flight, and keeps its range in registers (8- and 16-bit values two at a time); the block joins
 * the ranges, and one of its threads merges the result into the partial by integer atomics, whose
 * order does not matter. Memory traffic: each value is read once. 256 threads a block, and as many
 * blocks as the device holds at once, so that there are few of those atomics.
 */
#include "cuda/values/value_range.cuh"

enum { THREADS = 256, WARP = 32, FLIGHT = 4 };
enum key_kind { KEY_8, KEY_16, KEY_32, KEY_F32 };

struct range_span {
    int64_t count;   /* values of a slice */
    int64_t phase;   /* offset of the first value within its 16 bytes */
    unsigned blocks; /* blocks of a slice */
    uint32_t flip;   /* sign bits of signed integers */
    size_t stride;   /* bytes between the partials of slices */
};

/* low and high each contain two 8- or 16-bit keys, one in each half. */
struct range_found {
    uint32_t low, high, n_nan, n_infinite;
};

/* Adds a word of 4 bytes. If fewer values are to be added, the word repeats some. */
template <int KIND>
static __device__ void add_word(struct range_found *found, uint32_t word, uint32_t flip)
{
    if (KIND == KEY_F32) {
        const uint32_t magnitude = word & 0x7FFFFFFFu,
                       key = word ^ ((uint32_t)((int32_t)word >> 31) | 0x80000000u);
        if (magnitude < 0x7F800000u) {
            found->low = min(found->low, key);
            found->high = max(found->high, key);
        } else {
            found->n_nan += magnitude > 0x7F800000u;
            found->n_infinite += magnitude == 0x7F800000u;
        }
        return;
    }
    const uint32_t key = word ^ flip;
    if (KIND == KEY_32) {
        found->low = min(found->low, key);
        found->high = max(found->high, key);
    } else if (KIND == KEY_16) {
        found->low = __vminu2(found->low, key);
        found->high = __vmaxu2(found->high, key);
    } else {
        const uint32_t even = key & 0x00FF00FFu, odd = key >> 8 & 0x00FF00FFu;
        found->low = __vminu2(found->low, __vminu2(even, odd));
        found->high = __vmaxu2(found->high, __vmaxu2(even, odd));
    }
}

static __device__ void value_range_merge(struct range_found *into, const struct range_found &from)
{
    into->low = min(into->low, from.low);
    into->high = max(into->high, from.high);
    into->n_nan += from.n_nan;
    into->n_infinite += from.n_infinite;
}

static __device__ void merge_warp(struct range_found *found)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        struct range_found other;
        other.low = __shfl_xor_sync(0xFFFFFFFFu, found->low, distance);
        other.high = __shfl_xor_sync(0xFFFFFFFFu, found->high, distance);
        other.n_nan = __shfl_xor_sync(0xFFFFFFFFu, found->n_nan, distance);
        other.n_infinite = __shfl_xor_sync(0xFFFFFFFFu, found->n_infinite, distance);
        value_range_merge(found, other);
    }
}

/* Merges the ranges of the block's threads, all of which call it, and adds the result to the
 * partial. 8- and 16-bit keys are one a word by now (find_range joins the halves). Only thread 0
 * has the result. */
static __device__ void merge_block(struct range_found *found, struct cuda_value_range *partial)
{
    __shared__ struct range_found warps[THREADS / WARP];
    merge_warp(found);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = *found;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < THREADS / WARP; i++)
        value_range_merge(found, warps[i]);
    atomicMax(&partial->not_low, ~found->low);
    atomicMax(&partial->high, found->high);
    if (found->n_nan)
        atomicAdd(&partial->n_nan, found->n_nan);
    if (found->n_infinite)
        atomicAdd(&partial->n_infinite, found->n_infinite);
}

/* T is the unsigned integer of the value's width. */
template <typename T, int KIND>
static __global__ void __launch_bounds__(THREADS)
    find_range(const T *in, char *partials, struct range_span span)
{
    enum { N = 16 / sizeof(T) };
    const int64_t slice = blockIdx.x / span.blocks, block = blockIdx.x % span.blocks;
    const int64_t phase = (span.phase + slice * span.count) % N;
    const int64_t n_groups = (span.count + phase + N - 1) / N;
    struct cuda_value_range *partial = (struct cuda_value_range *)(partials + slice * span.stride);
    struct range_found found = {0xFFFFFFFFu, 0, 0, 0};
    in += slice * span.count - phase;
    for (int64_t first = block * (THREADS * FLIGHT); first < n_groups;
         first += (int64_t)span.blocks * (THREADS * FLIGHT)) {
        uint4 words[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = (first + i * THREADS + threadIdx.x) * N;
            if (at >= phase && at + N <= span.count + phase)
                words[i] = __ldcs((const uint4 *)(in + at));
        }
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = (first + i * THREADS + threadIdx.x) * N;
            if (at >= phase && at + N <= span.count + phase) {
                add_word<KIND>(&found, words[i].x, span.flip);
                add_word<KIND>(&found, words[i].y, span.flip);
                add_word<KIND>(&found, words[i].z, span.flip);
                add_word<KIND>(&found, words[i].w, span.flip);
            } else {
                for (int64_t j = at < phase ? phase : at; j < at + N && j < span.count + phase; j++)
                    add_word<KIND>(&found, in[j] * (0xFFFFFFFFu / (T)-1), span.flip);
            }
        }
    }
    if (KIND == KEY_8 || KIND == KEY_16) {
        found.low = min(found.low & 0xFFFF, found.low >> 16);
        found.high = max(found.high & 0xFFFF, found.high >> 16);
    }
    if (block == 0 && threadIdx.x == 0)
        atomicAdd(&partial->n, (unsigned long long)span.count);
    merge_block(&found, partial);
}

enum ts_status ts_cuda_value_range_add(const struct stage_context *context,
                                       const struct ts_image *slices, void *partials,
                                       bool per_slice, size_t stride, const struct cuda_call *call)
{
    const size_t bytes = ts_dtype_bytes(slices->dtype), per_group = 16 / bytes;
    const int64_t n_slices = per_slice ? slices->axes[0].n : 1;
    struct range_span span = {
        .count = (int64_t)(per_slice ? ts_slice_count(slices) : ts_image_count(slices)),
        .phase = (int64_t)((uintptr_t)slices->data / bytes % per_group),
        .stride = per_slice ? stride : 0};
    const int64_t work =
        ts_cuda_parts(span.count + (int64_t)per_group, (int64_t)per_group * THREADS * FLIGHT);
    const int64_t most = ts_cuda_parts(ts_cuda_blocks_at_once(context, THREADS), n_slices);
    span.blocks = (unsigned)(work < most ? work : most);
    const unsigned blocks = (unsigned)n_slices * span.blocks;
    char *to = (char *)partials;
    switch (slices->dtype) {
    case TS_I8:
        span.flip = 0x80808080u; /* fall through */
    case TS_U8:
        find_range<uint8_t, KEY_8>
            <<<blocks, THREADS, 0, call->stream>>>((const uint8_t *)slices->data, to, span);
        break;
    case TS_I16:
        span.flip = 0x80008000u; /* fall through */
    case TS_U16:
        find_range<uint16_t, KEY_16>
            <<<blocks, THREADS, 0, call->stream>>>((const uint16_t *)slices->data, to, span);
        break;
    case TS_I32:
        span.flip = 0x80000000u; /* fall through */
    case TS_U32:
        find_range<uint32_t, KEY_32>
            <<<blocks, THREADS, 0, call->stream>>>((const uint32_t *)slices->data, to, span);
        break;
    default:
        find_range<uint32_t, KEY_F32>
            <<<blocks, THREADS, 0, call->stream>>>((const uint32_t *)slices->data, to, span);
    }
    return ts_cuda_launched(context, "find_range");
}
