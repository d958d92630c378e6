/* SPDX-License-Identifier: Apache-2.0
 *
 * nyul on a CUDA device: formulas in stages/intensity/nyul.c. The percentiles come from the counts
 * of 8- and 16-bit values (cuda/counting/value_counts.cu), or from those of keys in two rounds
 * (cuda/counting/percentile.cu); the host's finish() makes the lines, as on the CPU, and the map
 * does the CPU's operations in double, so that both devices write the same bytes. A thread maps
 * FLIGHT values, which it loads before it uses the first: 4 bytes written a pixel, and those of the
 * input read. 256 threads leave the registers for that; the lines of a block are in shared memory.
 */
#include "cuda/counting/percentile.cuh"
#include "cuda/counting/value_counts.cuh"

extern "C" {
#include "stages/intensity/nyul.h"
}

enum { THREADS = 256, FLIGHT = 4 };

/* ---- reduction ------------------------------------------------------------------------------- */

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)input;
    return ts_nyul_by_value(context) ? ts_cuda_value_counts_bytes(context->in.dtype, false)
                                     : ts_cuda_percentile_bytes(context->round, NYUL_PERCENTILES);
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    (void)input;
    return ts_nyul_by_value(context)
               ? ts_cuda_value_counts_scratch_bytes(context, &context->in, false, n)
               : ts_cuda_percentile_scratch_bytes(context, context->round, n);
}

static enum ts_status nyul_reduce(const struct stage_context *context, int input,
                                  const struct ts_image *slices, void *partials,
                                  const struct cuda_call *call)
{
    (void)input;
    if (ts_nyul_by_value(context))
        return ts_cuda_value_counts(context, slices, false, partials, call);
    const struct nyul_result *result = (const struct nyul_result *)call->result;
    return ts_cuda_percentile_add(context, context->round, slices,
                                  context->round ? &result->search : NULL, partials, call);
}

static void nyul_collect(const struct stage_context *context, int input, const void *partial,
                         void *total)
{
    (void)input;
    if (ts_nyul_by_value(context))
        ts_cuda_value_counts_collect(context->in.dtype, false, partial,
                                     (struct value_counts *)total);
    else
        ts_cuda_percentile_collect(context->round, context->in.dtype, NYUL_PERCENTILES, partial,
                                   total);
}

static const struct cuda_reduction reduction = {.partial_bytes = partial_bytes,
                                                .scratch_bytes = scratch_bytes,
                                                .reduce = nyul_reduce,
                                                .collect = nyul_collect};

/* ---- map ------------------------------------------------------------------------------------- */

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    map_lines(const T *in, float *out, int64_t count, const struct nyul_lines *found)
{
    __shared__ struct nyul_lines lines;
    const int64_t first = (int64_t)blockIdx.x * THREADS * FLIGHT + threadIdx.x;
    T values[FLIGHT];
    for (int i = threadIdx.x; i < (int)(sizeof lines / sizeof(double)); i += THREADS)
        ((double *)&lines)[i] = ((const double *)found)[i];
#pragma unroll
    for (int i = 0; i < FLIGHT; i++)
        values[i] = first + i * THREADS < count ? in[first + i * THREADS] : (T)0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < FLIGHT; i++)
        if (first + i * THREADS < count)
            out[first + i * THREADS] = (float)ts_nyul_value(&lines, (double)values[i]);
}

static enum ts_status nyul_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    const int64_t count = (int64_t)ts_image_count(out);
    const struct nyul_result *result = (const struct nyul_result *)call->result;
    const int64_t blocks = ts_cuda_parts(count, (int64_t)THREADS * FLIGHT);
#define MAP_LINES(type)                                                                            \
    map_lines<type><<<(unsigned)blocks, THREADS, 0, call->stream>>>(                               \
        (const type *)in->data, (float *)out->data, count, &result->lines)
    TS_CUDA_DTYPES(in->dtype, MAP_LINES)
#undef MAP_LINES
    return ts_cuda_launched(context, "map_lines");
}

const struct stage_cuda nyul_cuda = {.map = nyul_map, .reduction = &reduction};
