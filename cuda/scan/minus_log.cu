/* SPDX-License-Identifier: Apache-2.0
 *
 * minus_log on a CUDA device: y = -log(t), by the operations of the CPU code in its order, so that
 * the bytes are the same. A thread maps groups of four values, four of them in flight: 8 bytes of
 * memory traffic a value, and 4 more for counting what has no logarithm. 256 threads a block leave
 * enough registers for that, and a few waves of blocks fill the device. When it counts, a block
 * stays in one slice and adds to memory at its end, if it found anything.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/minus_log.h"
#include "stages/values/log_f32.h"
}

enum { THREADS = 256, FLIGHT = 4, GROUP = 4, WAVES = 4 };

/* Returns how many blocks the device holds at once. */
static int64_t blocks_at_once(const struct stage_context *context)
{
    return (int64_t)context->device->multiprocessors * (context->device->threads / THREADS);
}

/* ---- counting -------------------------------------------------------------------------------- */

static size_t partial_bytes(const struct stage_context *context, int input)
{
    return context->stage->reduction->partial_bytes(context, input);
}

struct tally {
    struct minus_log_found *found;
    struct minus_log_slice *slices; /* NULL: slices are not counted separately */
    int64_t z_first, count;         /* z_first: the slab's first slice; count: values of a slice */
    unsigned blocks;                /* blocks of a slice */
    float lowest;
};

static __device__ int special_kind(float t)
{
    if (!(fabsf(t) <= FLT_MAX))
        return t != t ? KIND_NAN : KIND_INFINITE;
    if (t == 0)
        return KIND_ZERO;
    return t < 0 ? KIND_NEGATIVE : KIND_RAISED;
}

static __device__ void note(struct minus_log_found *found, float t, float lowest, int64_t at)
{
    if (t > 0 && t <= FLT_MAX && !(t < lowest))
        return;
    const int kind = special_kind(t);
    atomicAdd(&found->count[kind], 1ull);
    if (kind != KIND_RAISED)
        atomicMax(&found->not_first[kind], ~(unsigned long long)at);
}

static __global__ void __launch_bounds__(THREADS) count_special(const float *in, struct tally tally)
{
    __shared__ struct minus_log_found found;
    const int64_t slice = blockIdx.x / tally.blocks, block = blockIdx.x % tally.blocks,
                  base = slice * tally.count;
    if (threadIdx.x < sizeof found / sizeof(unsigned long long))
        ((unsigned long long *)&found)[threadIdx.x] = 0;
    __syncthreads();
    const int64_t at_base = tally.z_first * tally.count + base;
    const int64_t phase = (int64_t)((uintptr_t)(in + base) / sizeof(float) % GROUP);
    const int64_t n_groups = (tally.count + phase + GROUP - 1) / GROUP;
    for (int64_t first = block * (THREADS * FLIGHT); first < n_groups;
         first += (int64_t)tally.blocks * (THREADS * FLIGHT)) {
        float4 t[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = (first + i * THREADS + threadIdx.x) * GROUP - phase;
            t[i] = make_float4(1, 1, 1, 1);
            if (at >= 0 && at + GROUP <= tally.count)
                t[i] = __ldcs((const float4 *)(in + base + at));
            else
                for (int64_t j = at < 0 ? 0 : at; j < at + GROUP && j < tally.count; j++)
                    note(&found, in[base + j], tally.lowest, at_base + j);
        }
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = at_base + (first + i * THREADS + threadIdx.x) * GROUP - phase;
            note(&found, t[i].x, tally.lowest, at);
            note(&found, t[i].y, tally.lowest, at + 1);
            note(&found, t[i].z, tally.lowest, at + 2);
            note(&found, t[i].w, tally.lowest, at + 3);
        }
    }
    __syncthreads();
    if (threadIdx.x < MINUS_LOG_KINDS && found.count[threadIdx.x])
        atomicAdd(&tally.found->count[threadIdx.x], found.count[threadIdx.x]);
    if (threadIdx.x < KIND_RAISED && found.not_first[threadIdx.x])
        atomicMax(&tally.found->not_first[threadIdx.x], found.not_first[threadIdx.x]);
    if (threadIdx.x == 0 && tally.slices) {
        atomicAdd(&tally.slices[tally.z_first + slice].nonpositive,
                  found.count[KIND_ZERO] + found.count[KIND_NEGATIVE] + found.count[KIND_RAISED]);
        atomicAdd(&tally.slices[tally.z_first + slice].nonfinite,
                  found.count[KIND_NAN] + found.count[KIND_INFINITE]);
    }
}

static enum ts_status minus_log_reduce(const struct stage_context *context, int input,
                                       const struct ts_image *slices, void *partials,
                                       const struct cuda_call *call)
{
    struct tally tally = {.found = (struct minus_log_found *)partials,
                          .z_first = slices->z_first,
                          .count = (int64_t)ts_slice_count(slices),
                          .lowest = ts_minus_log_lowest(context)};
    const int64_t n_slices = slices->axes[0].n;
    const int64_t work = ts_cuda_parts(tally.count + GROUP, (int64_t)GROUP * THREADS * FLIGHT);
    const int64_t most = ts_cuda_parts(blocks_at_once(context), n_slices);
    (void)input;
    if (ts_minus_log_tabulates(context))
        tally.slices = (struct minus_log_slice *)(tally.found + 1);
    tally.blocks = (unsigned)(work < most ? work : most);
    count_special<<<(unsigned)n_slices * tally.blocks, THREADS, 0, call->stream>>>(
        (const float *)slices->data, tally);
    return ts_cuda_launched(context, "count_special");
}

static void minus_log_collect(const struct stage_context *context, int input, const void *partial,
                              void *total)
{
    memcpy(total, partial, partial_bytes(context, input));
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes, .reduce = minus_log_reduce, .collect = minus_log_collect};

/* ---- map ------------------------------------------------------------------------------------- */

static __device__ float minus_log(float in, float lowest)
{
    const float t = in < lowest ? lowest : in;
    return fabsf(in) <= FLT_MAX && t > 0 ? 0 - ts_log_f32(t) : __int_as_float(0x7FC00000);
}

/* Values before `head` and after the last whole group are mapped one by one. */
static __global__ void __launch_bounds__(THREADS)
    map_values(const float *in, float *out, int64_t n, int64_t head, float lowest)
{
    const int64_t stride = (int64_t)gridDim.x * (THREADS * FLIGHT), n_groups = (n - head) / GROUP;
    const float4 *from = (const float4 *)(in + head);
    float4 *to = (float4 *)(out + head);
    for (int64_t first = (int64_t)blockIdx.x * (THREADS * FLIGHT) + threadIdx.x; first < n_groups;
         first += stride) {
        float4 t[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * THREADS < n_groups)
                t[i] = __ldcs(from + first + i * THREADS);
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * THREADS < n_groups)
                __stcs(to + first + i * THREADS,
                       make_float4(minus_log(t[i].x, lowest), minus_log(t[i].y, lowest),
                                   minus_log(t[i].z, lowest), minus_log(t[i].w, lowest)));
    }
    const int64_t rest = head + n_groups * GROUP;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < head + n - rest;
         i += (int64_t)gridDim.x * THREADS) {
        const int64_t at = i < head ? i : rest + i - head;
        out[at] = minus_log(in[at], lowest);
    }
}

static enum ts_status minus_log_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const int64_t n = (int64_t)ts_image_count(out), most = WAVES * blocks_at_once(context);
    const int64_t from = (int64_t)((uintptr_t)in->data / sizeof(float) % GROUP);
    const int64_t to = (int64_t)((uintptr_t)out->data / sizeof(float) % GROUP),
                  start = (GROUP - from) % GROUP;
    const int64_t head = from != to || start > n ? n : start;
    const int64_t work = ts_cuda_parts(n, (int64_t)GROUP * THREADS * FLIGHT);
    map_values<<<(unsigned)(work < most ? work : most), THREADS, 0, call->stream>>>(
        (const float *)in->data, (float *)out->data, n, head, ts_minus_log_lowest(context));
    return ts_cuda_launched(context, "map_values");
}

const struct stage_cuda minus_log_cuda = {.map = minus_log_map, .reduction = &reduction};
