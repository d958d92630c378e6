/* SPDX-License-Identifier: Apache-2.0
 *
 * These arrays hold several slices with the slices' samples side by side, so that weights are
 * computed once for all slices, and a warp reads one sample of all of them at once. Sample i of a
 * line in slice s of `width` is
 *
 *     data[((line + lines around) * (n_minor + 2 samples around) + samples around + i) * width + s]
 *
 * Lines are rows of the image, or its columns. Places without a slice, and the margins around, are
 * zero.
 *
 * Methods that work on such arrays take groups of up to 128 slices: ts_cuda_group_width() chooses
 * the width, the scratch holds the array of the first group, which is the largest, and kernels are
 * instances for V = width / 32 slices of a thread.
 */
#ifndef CUDA_PROJECTION_INTERLEAVE_CUH
#define CUDA_PROJECTION_INTERLEAVE_CUH

#include "cuda/device/launch.cuh"

/* The lines of an interleaved array (rows, or else columns), and the numbers of zeros before and
 * after each column and each row. */
struct interleaved_lines {
    int margin_y, margin_x;
    bool along_rows;
};

/* The layout for methods that only go along lines: there are zeros at both ends of a line. */
enum { INTERLEAVE_MARGIN = 10 };
static inline struct interleaved_lines ts_cuda_lines(bool along_rows)
{
    const struct interleaved_lines lines = {along_rows ? 0 : INTERLEAVE_MARGIN,
                                            along_rows ? INTERLEAVE_MARGIN : 0, along_rows};
    return lines;
}

/* Returns the width for the next slices. Places without a slice take less time than a narrower
 * kernel. */
static inline int ts_cuda_group_width(int64_t slices_left)
{
    if (slices_left > 64)
        return 128;
    return slices_left > 32 ? 64 : 32;
}

/* Return the bytes of an array of rows with `margin` zeros on all four sides, and of an array of
 * lines as above. */
static inline size_t ts_cuda_interleaved_bytes(int64_t n_rows, int64_t n_columns, int margin,
                                               int width)
{
    return ts_cuda_stride((size_t)(n_rows + 2 * margin) * (size_t)(n_columns + 2 * margin) *
                          (size_t)width * sizeof(float));
}

static inline size_t ts_cuda_lines_bytes(int64_t n_major, int64_t n_minor, int width)
{
    return (size_t)n_major * (size_t)(n_minor + 2 * INTERLEAVE_MARGIN) * (size_t)width *
           sizeof(float);
}

/* Interleaves slices [z, z + n) of an image to `out`. The width is a multiple of 32, at least n. */
enum ts_status ts_cuda_interleave(const struct stage_context *context, const struct ts_image *image,
                                  int64_t z, int64_t n, struct interleaved_lines lines, int width,
                                  float *out, cudaStream_t stream);
/* Writes an array of rows without margins to slices [z, z + n) of an f32 image. */
enum ts_status ts_cuda_separate(const struct stage_context *context, const struct ts_image *image,
                                int64_t z, int64_t n, int width, const float *in,
                                cudaStream_t stream);

/* ---- in kernels: one sample of a thread's V slices ------------------------------------------- */

template <int V> struct slice_samples {
    float at[V];
};

static __device__ __forceinline__ void ts_cuda_samples_load(struct slice_samples<4> *to,
                                                            const float *from)
{
    const float4 value = __ldg((const float4 *)from);
    to->at[0] = value.x, to->at[1] = value.y, to->at[2] = value.z, to->at[3] = value.w;
}

static __device__ __forceinline__ void ts_cuda_samples_load(struct slice_samples<2> *to,
                                                            const float *from)
{
    const float2 value = __ldg((const float2 *)from);
    to->at[0] = value.x, to->at[1] = value.y;
}

static __device__ __forceinline__ void ts_cuda_samples_load(struct slice_samples<1> *to,
                                                            const float *from)
{
    to->at[0] = __ldg(from);
}

/* Adds weight * sample. */
template <int V>
static __device__ __forceinline__ void ts_cuda_samples_add(struct slice_samples<V> *sum,
                                                           const struct slice_samples<V> *sample,
                                                           float weight)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        sum->at[i] = __fmaf_rn(weight, sample->at[i], sum->at[i]);
}

/* Adds two neighboring samples, each times its weight, the lower one first. */
template <int V>
static __device__ __forceinline__ void
ts_cuda_samples_add_two(struct slice_samples<V> *sum, const struct slice_samples<V> *below,
                        const struct slice_samples<V> *above, float w_below, float w_above)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        sum->at[i] = __fmaf_rn(w_above, above->at[i], __fmaf_rn(w_below, below->at[i], sum->at[i]));
}

/* Kernels whose warps have 4 sums for each of their slices keep the totals in shared memory: V
 * float4 for each thread, `threads` apart. */
template <int V>
static __device__ __forceinline__ void ts_cuda_totals_clear(float4 *totals, int threads)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        totals[i * threads] = make_float4(0, 0, 0, 0);
}

/* Adds sums to this thread's totals, the first of which is *totals. */
template <int V>
static __device__ __forceinline__ void ts_cuda_totals_add(float4 *totals, int threads,
                                                          const struct slice_samples<V> sums[4])
{
#pragma unroll
    for (int i = 0; i < V; i++) {
        float4 *total = &totals[i * threads];
        *total = make_float4(total->x + sums[0].at[i], total->y + sums[1].at[i],
                             total->z + sums[2].at[i], total->w + sums[3].at[i]);
    }
}

/* Writes 4 neighboring values of one slice to a row of n, from `column` on. whole: rows are
 * multiples of 16 bytes. */
static __device__ __forceinline__ void ts_cuda_totals_write(float *row, int column, int n,
                                                            bool whole, float4 values)
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
