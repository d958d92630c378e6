/* SPDX-License-Identifier: Apache-2.0
 *
 * What backprojections of many slices at once share: that of a parallel beam (back_stack.cu), of a
 * fan (fan_back.cu), and Joseph's adjoint (joseph_back.cu). Kernels begin with back_begin(), add up
 * views and end with back_write(); back_run() interleaves the slices and launches.
 *
 * The sinogram has 128 slices side by side (cuda/projection/interleave.cuh), so that a warp reads
 * one detector pixel of one view in all of them at once, and every thread has V = 4 of the slices.
 * A warp owns 4 pixels of a row. Their places on the detector are at most one detector pixel apart
 * from pixel to pixel, so that 2 to 5 loads serve all 4 of them (each one alone takes 2); a branch
 * chooses among the 8 patterns, which is the same for the whole warp. Places and weights, the same
 * for all slices, are computed for 32 views at once, one by each thread, and shared through shared
 * memory. If pixels are more than a detector pixel apart, each loads its own two samples.
 *
 * Sums run over 32 views in the table's order, then these sums are added in rising order: the order
 * depends only on the views.
 *
 * A block is 8 warps of 8 x 4 pixels: larger blocks load less from the second cache but wait more;
 * 4 blocks fill the registers. A load is 16 bytes a thread, and about 4 loads serve 16 samples'
 * worth of sums; a block's pixels are close together, so that they find most samples in the first
 * cache. Each slice is written once.
 */
#ifndef CUDA_PROJECTION_BACK_STACK_CUH
#define CUDA_PROJECTION_BACK_STACK_CUH

#include "cuda/projection/interleave.cuh"

enum {
    BACK_PIXELS = 4, /* a warp has this many pixels side by side */
    BACK_CHUNK = 32, /* views whose places are computed at once: one by each lane */
    BACK_ACROSS = 2, /* warps of a block side by side */
    BACK_DOWN = 4,   /* warps of a block one below the other */
    BACK_BLOCKS = 4, /* blocks on a multiprocessor */
    BACK_THREADS = 32 * BACK_ACROSS * BACK_DOWN
};

struct back_size {
    int n_slices, n_detectors, n_rows, n_columns;
    int blocks_across;
    int64_t first_block; /* number of this launch's first block */
    bool whole;          /* true if rows are multiples of 16 bytes */
    const int32_t *halt; /* context->halt */
};

/* The places of 4 pixels in a view, in rising order. */
struct back_place {
    float4 below, above; /* weights of the sample below each pixel, and of the sample after that */
    int4 at; /* samples of the interleaved sinogram: that below the first pixel, and ~pattern; with
              * WIDE: that below each pixel, none < 0 */
};

/* The kinds of places that a kernel can handle. */
enum back_places { BACK_NEAR, BACK_WIDE, BACK_EITHER };

/* Returns the pattern of 4 pixels in rising order: bit k is set if the pixel after pixel k is one
 * sample further. -1: some pixel is more than one sample further than the one before, or is before
 * it. */
static __device__ __forceinline__ int back_pattern_of(const int at[BACK_PIXELS])
{
    const int first = at[1] - at[0], second = at[2] - at[1], third = at[3] - at[2];
    return ((first | second | third) & ~1) == 0 ? first | second << 1 | third << 2 : -1;
}

/* Adds a view to pixels that are O1, O2 and O3 samples past the first one. */
template <int O1, int O2, int O3, int V>
static __device__ __forceinline__ void back_pattern(const float *at, const struct back_place *place,
                                                    struct slice_samples<V> sums[BACK_PIXELS])
{
    struct slice_samples<V> samples[O3 + 2];
#pragma unroll
    for (int i = 0; i < O3 + 2; i++)
        ts_cuda_samples_load(&samples[i], at + i * 32 * V);
    const float4 below = place->below, above = place->above;
    ts_cuda_samples_add_two(&sums[0], &samples[0], &samples[1], below.x, above.x);
    ts_cuda_samples_add_two(&sums[1], &samples[O1], &samples[O1 + 1], below.y, above.y);
    ts_cuda_samples_add_two(&sums[2], &samples[O2], &samples[O2 + 1], below.z, above.z);
    ts_cuda_samples_add_two(&sums[3], &samples[O3], &samples[O3 + 1], below.w, above.w);
}

template <int V>
static __device__ __forceinline__ void back_add_view(const float *lines,
                                                     const struct back_place *place,
                                                     struct slice_samples<V> sums[BACK_PIXELS])
{
    const float *at = lines + (int64_t)place->at.x * (32 * V);
    const int pattern = ~place->at.y;
    if (!(pattern & 1)) {
        if (!(pattern & 2)) {
            if (!(pattern & 4))
                back_pattern<0, 0, 0>(at, place, sums);
            else
                back_pattern<0, 0, 1>(at, place, sums);
        } else if (!(pattern & 4)) {
            back_pattern<0, 1, 1>(at, place, sums);
        } else {
            back_pattern<0, 1, 2>(at, place, sums);
        }
    } else if (!(pattern & 2)) {
        if (!(pattern & 4))
            back_pattern<1, 1, 1>(at, place, sums);
        else
            back_pattern<1, 1, 2>(at, place, sums);
    } else if (!(pattern & 4)) {
        back_pattern<1, 2, 2>(at, place, sums);
    } else {
        back_pattern<1, 2, 3>(at, place, sums);
    }
}

template <int V>
static __device__ __forceinline__ void back_add_wide(const float *lines,
                                                     const struct back_place *place,
                                                     struct slice_samples<V> sums[BACK_PIXELS])
{
    const int at[BACK_PIXELS] = {place->at.x, place->at.y, place->at.z, place->at.w};
    const float below[BACK_PIXELS] = {place->below.x, place->below.y, place->below.z,
                                      place->below.w};
    const float above[BACK_PIXELS] = {place->above.x, place->above.y, place->above.z,
                                      place->above.w};
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        struct slice_samples<V> first, second;
        ts_cuda_samples_load(&first, lines + (int64_t)at[k] * (32 * V));
        ts_cuda_samples_load(&second, lines + ((int64_t)at[k] + 1) * (32 * V));
        ts_cuda_samples_add_two(&sums[k], &first, &second, below[k], above[k]);
    }
}

/* ---- beginning and end of a kernel ----------------------------------------------------------- */

/* Returns the shared memory of a block: V totals of 4 pixels for each thread, then one place for
 * each thread. */
static inline size_t back_shared(int v, size_t place_bytes)
{
    return BACK_THREADS * ((size_t)v * sizeof(float4) + place_bytes);
}

/* A warp's first pixel, this thread's totals, and the warp's places in BACK_CHUNK views. */
template <class Place> struct back_warp {
    int row, column;
    float4 *totals;
    Place *places;
};

/* Prepares the warp. Returns false if it has no pixels. The grid is one-dimensional: rows of
 * blocks, one after the other. */
template <int V, class Place>
static __device__ __forceinline__ bool back_begin(const struct back_size *size, float4 *shared,
                                                  struct back_warp<Place> *to)
{
    const int warp = (int)(threadIdx.x / 32);
    const int64_t block = size->first_block + blockIdx.x;
    to->row = (int)(block / size->blocks_across) * BACK_DOWN + warp / BACK_ACROSS;
    to->column =
        ((int)(block % size->blocks_across) * BACK_ACROSS + warp % BACK_ACROSS) * BACK_PIXELS;
    to->totals = shared + threadIdx.x;
    to->places = (Place *)(shared + V * BACK_THREADS) + warp * 32;
    if (to->row >= size->n_rows || to->column >= size->n_columns || (size->halt && *size->halt))
        return false;
    ts_cuda_totals_clear<V>(to->totals, BACK_THREADS);
    return true;
}

/* Adds sums to totals. falling: the sums begin with the last pixel. */
template <int V>
static __device__ __forceinline__ void
back_add_sums(const struct slice_samples<V> sums[BACK_PIXELS], float4 *totals, bool falling)
{
#pragma unroll
    for (int i = 0; i < V; i++) {
        float4 *total = &totals[i * BACK_THREADS];
        const float a = sums[0].at[i], b = sums[1].at[i], c = sums[2].at[i], d = sums[3].at[i];
        *total = falling ? make_float4(total->x + d, total->y + c, total->z + b, total->w + a)
                         : make_float4(total->x + a, total->y + b, total->z + c, total->w + d);
    }
}

/* Adds the first n of the warp's places, in order, to its totals. falling: places begin with the
 * last pixel. */
template <int V, enum back_places PLACES>
static __device__ __forceinline__ void
back_add_places(const float *lines, const struct back_warp<back_place> *warp, int n, bool falling)
{
    struct slice_samples<V> sums[BACK_PIXELS] = {
    };
    for (int i = 0; i < n; i++)
        if (PLACES == BACK_WIDE || (PLACES == BACK_EITHER && warp->places[i].at.y >= 0))
            back_add_wide(lines, &warp->places[i], sums);
        else
            back_add_view(lines, &warp->places[i], sums);
    back_add_sums<V>(sums, warp->totals, falling);
}

/* Writes the totals of a warp's pixels to each of this thread's slices. */
template <int V, class Place>
static __device__ __forceinline__ void back_write(const struct back_warp<Place> *warp,
                                                  const struct back_size *size, float *out)
{
    const int slice = (int)(threadIdx.x % 32) * V;
    for (int i = 0; i < V && slice + i < size->n_slices; i++)
        ts_cuda_totals_write(
            out + ((int64_t)(slice + i) * size->n_rows + warp->row) * size->n_columns, warp->column,
            size->n_columns, size->whole, warp->totals[i * BACK_THREADS]);
}

/* ---- launching ------------------------------------------------------------------------------- */

/* The kernels for 32, 64 and 128 slices side by side. Views is the type that describes the views to
 * them. */
template <class Views> struct back_kernels {
    void (*of_width[3])(const float *lines, float *out, Views views, struct back_size size);
    const char *name;
    Views views;
    size_t place_bytes;
};

template <class Views>
static enum ts_status
back_launch(const struct stage_context *context, const struct back_kernels<Views> *kernels,
            int width, const float *lines, float *out, struct back_size size, cudaStream_t stream)
{
    const auto kernel = kernels->of_width[width / 64];
    const int64_t most = 1 << 30, across = ts_cuda_parts(size.n_columns, BACK_ACROSS * BACK_PIXELS),
                  blocks = across * ts_cuda_parts(size.n_rows, BACK_DOWN);
    const size_t shared = back_shared(width / 32, kernels->place_bytes);
    enum ts_status status = ts_cuda_shared(context, (const void *)kernel, shared);
    size.blocks_across = (int)across;
    for (; status == TS_OK && size.first_block < blocks; size.first_block += most) {
        const int64_t left = blocks - size.first_block;
        kernel<<<(unsigned)(left < most ? left : most), BACK_THREADS, shared, stream>>>(
            lines, out, kernels->views, size);
        status = ts_cuda_launched(context, kernels->name);
    }
    return status;
}

/* Backprojects the sinogram's slices, which are interleaved group by group in `lines`, to the
 * slices of `out`. */
template <class Views>
static enum ts_status
back_run(const struct stage_context *context, const struct back_kernels<Views> *kernels,
         const struct ts_image *sinogram, struct ts_image *out, float *lines, cudaStream_t stream)
{
    const int64_t nz = out->axes[0].n;
    enum ts_status status = TS_OK;
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        const int width = ts_cuda_group_width(nz - z);
        n = nz - z < width ? nz - z : width;
        struct back_size size = {(int)n, (int)sinogram->axes[2].n, (int)out->axes[1].n,
                                 (int)out->axes[2].n};
        size.halt = context->halt;
        size.whole =
            size.n_columns % BACK_PIXELS == 0 && (uintptr_t)out->data % sizeof(float4) == 0;
        status =
            ts_cuda_interleave(context, sinogram, z, n, ts_cuda_lines(true), width, lines, stream);
        if (status == TS_OK)
            status = back_launch(context, kernels, width, lines, (float *)ts_slice_data(out, z),
                                 size, stream);
    }
    return status;
}

#endif
