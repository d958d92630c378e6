/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of several slices with the slices' samples side by side, as lanes: what is the same for all slices is worked
 * out once, and a warp reads one sample of all of them at once. Sample (line, i) of slice `lane` is
 *
 *     data[((line + around lines) * (n_minor + 2 around samples) + around samples + i) * lanes + lane]
 *
 * Lines are rows of the image, or its columns. Lanes without a slice, and the margins around, are zero. Two layouts:
 *
 *     lanes        lines are rows; `margin` on all four sides
 *     interleaved  lines are rows or columns; INTERLEAVE_MARGIN on both ends of a line, none before the first line and
 *                  after the last
 *
 * A stage that works on such arrays takes groups of up to 128 slices: ts_cuda_lanes_for() tells the lanes, the scratch
 * holds the arrays of the first group, which is the largest, and kernels are instances for V = lanes / 32 slices of a
 * thread.
 */
#ifndef CUDA_PROJECTION_INTERLEAVE_CUH
#define CUDA_PROJECTION_INTERLEAVE_CUH

#include "cuda/device/launch.cuh"

enum { INTERLEAVE_MARGIN = 10 };

/* Lanes for the next slices: padding costs less than a narrower kernel. */
static inline int ts_cuda_lanes_for(int64_t slices_left)
{
    return slices_left > 64 ? 128 : slices_left > 32 ? 64 : 32;
}

static inline size_t ts_cuda_lanes_bytes(int64_t n_rows, int64_t n_columns, int margin, int lanes)
{
    return ts_cuda_stride((size_t)(n_rows + 2 * margin) * (size_t)(n_columns + 2 * margin) * (size_t)lanes *
                          sizeof(float));
}

static inline size_t ts_cuda_interleaved_bytes(int64_t n_major, int64_t n_minor, int lanes)
{
    return (size_t)n_major * (size_t)(n_minor + 2 * INTERLEAVE_MARGIN) * (size_t)lanes * sizeof(float);
}

/* n slices at `slices`, of an image's rows and columns, to lanes; lanes is a multiple of 32, at least n. */
enum ts_status ts_cuda_to_lanes(const struct stage_context *context, const struct ts_image *image, const void *slices,
                                int64_t n, int margin, int lanes, float *out, cudaStream_t stream);
/* The same, interleaved. */
enum ts_status ts_cuda_interleave(const struct stage_context *context, const struct ts_image *image, const void *slices,
                                  int64_t n, bool along_rows, int lanes, float *out, cudaStream_t stream);
/* n slices from lanes to `slices`, f32. */
enum ts_status ts_cuda_from_lanes(const struct stage_context *context, const struct ts_image *image, float *slices,
                                  int64_t n, int margin, int lanes, const float *in, cudaStream_t stream);

/* ---- in kernels: one sample of a thread's V slices -------------------------------------------------------------- */

template <int V> struct cuda_lanes {
    float at[V];
};

static __device__ __forceinline__ void ts_cuda_lanes_load(struct cuda_lanes<4> *to, const float *from)
{
    const float4 value = __ldg((const float4 *)from);
    to->at[0] = value.x, to->at[1] = value.y, to->at[2] = value.z, to->at[3] = value.w;
}

static __device__ __forceinline__ void ts_cuda_lanes_load(struct cuda_lanes<2> *to, const float *from)
{
    const float2 value = __ldg((const float2 *)from);
    to->at[0] = value.x, to->at[1] = value.y;
}

static __device__ __forceinline__ void ts_cuda_lanes_load(struct cuda_lanes<1> *to, const float *from)
{
    to->at[0] = __ldg(from);
}

/* sum += weight * sample. */
template <int V>
static __device__ __forceinline__ void ts_cuda_lanes_add(struct cuda_lanes<V> *sum, const struct cuda_lanes<V> *sample,
                                                         float weight)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        sum->at[i] = __fmaf_rn(weight, sample->at[i], sum->at[i]);
}

/* The same of two neighbors, that below first. */
template <int V>
static __device__ __forceinline__ void
ts_cuda_lanes_add_two(struct cuda_lanes<V> *sum, const struct cuda_lanes<V> *below, const struct cuda_lanes<V> *above,
                      float w_below, float w_above)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        sum->at[i] = __fmaf_rn(w_above, above->at[i], __fmaf_rn(w_below, below->at[i], sum->at[i]));
}

/* Kernels whose warps have 4 sums for each of their slices keep the totals in shared memory, V float4 a thread, one
 * behind the other for the block's threads. */
template <int V> static __device__ __forceinline__ void ts_cuda_totals_clear(float4 *totals, int threads)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        totals[i * threads] = make_float4(0, 0, 0, 0);
}

/* totals += sums. totals: this thread's first. */
template <int V>
static __device__ __forceinline__ void ts_cuda_totals_add(float4 *totals, int threads,
                                                          const struct cuda_lanes<V> sums[4])
{
#pragma unroll
    for (int i = 0; i < V; i++) {
        float4 *total = &totals[i * threads];
        *total = make_float4(total->x + sums[0].at[i], total->y + sums[1].at[i], total->z + sums[2].at[i],
                             total->w + sums[3].at[i]);
    }
}

/* One slice's 4 neighboring values in a row of n from `column` on; whole: rows are multiples of 16 bytes. */
static __device__ __forceinline__ void ts_cuda_totals_write(float *row, int column, int n, bool whole, float4 values)
{
    if (whole) {
        *(float4 *)(row + column) = values;
        return;
    }
    const float each[4] = {values.x, values.y, values.z, values.w};
    for (int k = 0; k < 4; k++)
        if (column + k < n)
            row[column + k] = each[k];
}

#endif
