/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of the studies of histograms, in which a byte is its own slot. Each reads every pixel
 * once. They differ in where the table stands that a thread adds to: in global or shared memory, of
 * all, a strip, a block, a warp or a lane.
 *
 * Blocks of 32 x 32 threads with a pixel each, blocks of 512 threads that go down a strip of
 * columns, and strips taken by as many blocks as the device holds, several rows a thread, are the
 * steps in which such kernels were published.
 */
#ifndef LAB_CUDA_GRAY_KERNELS_CUH
#define LAB_CUDA_GRAY_KERNELS_CUH

#include "cuda/histogram/warp_tags.cuh"
#include "cuda/values/reductions.cuh"

extern "C" {
#include "lab/cuda/histogram_study.h"
}

enum { SIDE = 32, STRIP = 512, LANES = 32, WARPS = 8, APART_TABLES = 4, LOG2_APART = 2 };

struct gray_image {
    const uint8_t *pixels;
    uint32_t width, height;
    uint32_t *counts;          /* 256, cleared */
    uint32_t *tables;          /* of strips or blocks, cleared for GRAY_STRIP_GLOBAL */
    unsigned long long *tries; /* cleared */
    uint8_t *gray;             /* the gray image, and before it its 256 values */
};

static __device__ void clear_table(uint32_t *table, uint32_t n, uint32_t thread, uint32_t threads)
{
    for (uint32_t i = thread; i < n; i += threads)
        table[i] = 0;
    __syncthreads();
}

/* ---- one pixel a thread ---------------------------------------------------------------------- */

static __global__ void __launch_bounds__(SIDE *SIDE) count_pixel_global(struct gray_image image)
{
    const uint32_t x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x < image.width && y < image.height)
        atomicAdd(&image.counts[image.pixels[(size_t)y * image.width + x]], 1u);
}

static __global__ void __launch_bounds__(SIDE *SIDE) count_pixel_shared(struct gray_image image)
{
    __shared__ uint32_t table[GRAY_VALUES];
    const uint32_t x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    const uint32_t thread = threadIdx.y * SIDE + threadIdx.x;
    clear_table(table, GRAY_VALUES, thread, SIDE * SIDE);
    if (x < image.width && y < image.height)
        atomicAdd(&table[image.pixels[(size_t)y * image.width + x]], 1u);
    __syncthreads();
    if (thread < GRAY_VALUES && table[thread] > 0)
        atomicAdd(&image.counts[thread], table[thread]);
}

/* ---- strips of columns ----------------------------------------------------------------------- */

static __global__ void __launch_bounds__(STRIP) count_strip_global(struct gray_image image)
{
    const uint32_t x = blockIdx.x * STRIP + threadIdx.x;
    uint32_t *table = image.tables + blockIdx.x * GRAY_VALUES;
    for (uint32_t y = 0; x < image.width && y < image.height; y++)
        atomicAdd(&table[image.pixels[(size_t)y * image.width + x]], 1u);
}

/* Leaves the block's table. All threads of the block call it. */
static __device__ void leave_table(const struct gray_image &image, const uint32_t *table)
{
    __syncthreads();
    if (threadIdx.x < GRAY_VALUES)
        image.tables[blockIdx.x * GRAY_VALUES + threadIdx.x] = table[threadIdx.x];
}

static __global__ void __launch_bounds__(STRIP) count_strip_shared(struct gray_image image)
{
    __shared__ uint32_t table[GRAY_VALUES];
    const uint32_t x = blockIdx.x * STRIP + threadIdx.x;
    clear_table(table, GRAY_VALUES, threadIdx.x, STRIP);
    for (uint32_t y = 0; x < image.width && y < image.height; y++)
        atomicAdd(&table[image.pixels[(size_t)y * image.width + x]], 1u);
    leave_table(image, table);
}

/* A block takes a number of rows of a strip, and again and again the one that is as many blocks
 * further. */
template <uint32_t rows>
static __global__ void __launch_bounds__(STRIP) count_strip_rows(struct gray_image image)
{
    __shared__ uint32_t table[GRAY_VALUES];
    const uint32_t strips = (image.width + STRIP - 1) / STRIP,
                   n = strips * ((image.height + rows - 1) / rows);
    clear_table(table, GRAY_VALUES, threadIdx.x, STRIP);
    for (uint32_t item = blockIdx.x; item < n; item += gridDim.x) {
        const uint32_t x = item % strips * STRIP + threadIdx.x, y = item / strips * rows;
        uint8_t pixels[rows];
        if (x >= image.width)
            continue;
#pragma unroll
        for (uint32_t i = 0; i < rows; i++)
            if (y + i < image.height)
                pixels[i] = image.pixels[(size_t)(y + i) * image.width + x];
#pragma unroll
        for (uint32_t i = 0; i < rows; i++)
            if (y + i < image.height)
                atomicAdd(&table[pixels[i]], 1u);
    }
    leave_table(image, table);
}

/* A warp sums one value over all tables. */
static __global__ void __launch_bounds__(GRAY_VALUES)
    sum_tables(struct gray_image image, uint32_t n_tables)
{
    const uint32_t value = blockIdx.x * (GRAY_VALUES / LANES) + threadIdx.x / LANES;
    uint32_t sum = 0;
    for (uint32_t table = threadIdx.x % LANES; table < n_tables; table += LANES)
        sum += image.tables[table * GRAY_VALUES + value];
    sum = warp_sum(sum);
    if (threadIdx.x % LANES == 0)
        image.counts[value] = sum;
}

/* ---- tables of blocks, warps and lanes ------------------------------------------------------- */

/* Returns the table of this lane for tagged counts, which stand in `tables`. */
template <enum gray_kernel kernel> static __device__ struct warp_table open_warp(uint32_t *tables)
{
    const uint32_t copies = kernel == GRAY_WARP_APART ? APART_TABLES : 1,
                   lane = threadIdx.x % LANES;
    return {tables + threadIdx.x / LANES * copies * GRAY_VALUES + lane % copies, 0, GRAY_VALUES,
            kernel == GRAY_WARP_APART ? LOG2_APART : 0u, lane << TAG_SHIFT | 1};
}

/* Counts a pixel of each lane that is `there`, and returns the tries. All lanes of the warp call
 * it. */
template <enum gray_kernel kernel>
static __device__ uint32_t count_one(uint32_t *tables, const struct warp_table &warp,
                                     uint32_t value, bool there)
{
    if (kernel == GRAY_WARP_TAGGED || kernel == GRAY_WARP_APART)
        return count_tagged(warp, there ? value : ~0u);
    if (there)
        atomicAdd(&tables[kernel == GRAY_WARP_LANES ? value * LANES + threadIdx.x % LANES : value],
                  1u);
    return 1;
}

/* Adds the tables of the block to the counts. All threads of the block call it. */
template <enum gray_kernel kernel>
static __device__ void add_tables(const struct gray_image &image, uint32_t *tables)
{
    const uint32_t value = threadIdx.x;
    uint32_t sum = 0;
    __syncthreads();
    if (kernel == GRAY_WARP_ATOMIC)
        sum = tables[value];
    for (uint32_t i = 0; kernel == GRAY_WARP_LANES && i < LANES; i++)
        sum += tables[value * LANES + (i + value) % LANES];
    for (uint32_t i = 0; kernel == GRAY_WARP_TAGGED && i < WARPS; i++)
        sum += tables[i * GRAY_VALUES + value] & count_mask;
    for (uint32_t i = 0; kernel == GRAY_WARP_APART && i < WARPS * APART_TABLES; i++)
        sum += tables[(i / APART_TABLES * GRAY_VALUES + value) * APART_TABLES + i % APART_TABLES] &
               count_mask;
    if (sum > 0)
        atomicAdd(&image.counts[value], sum);
}

/* A lane takes a word of 4 pixels at a time: of 32 neighboring words or, apart, each lane of a 32nd
 * of the image that it has to itself, as in histogram_warp.cu. The image is aligned to words. */
template <enum gray_kernel kernel, bool counts_tries>
static __global__ void __launch_bounds__(WARPS *LANES) count_warps(struct gray_image image)
{
    const uint32_t n_tables = kernel == GRAY_WARP_ATOMIC   ? 1
                              : kernel == GRAY_WARP_LANES  ? LANES
                              : kernel == GRAY_WARP_TAGGED ? WARPS
                                                           : WARPS * APART_TABLES;
    __shared__ uint32_t tables[n_tables * GRAY_VALUES];
    const struct warp_table warp = open_warp<kernel>(tables);
    const uint32_t n = image.width * image.height, n_words = n / 4,
                   share = (n_words + LANES - 1) / LANES;
    const uint32_t lane = threadIdx.x % LANES, golden = (uint32_t)(0.618034 * share);
    const uint32_t turn = share > 0 ? (uint32_t)((uint64_t)lane * golden % share) : 0;
    const bool first = blockIdx.x == 0 && threadIdx.x < LANES;
    unsigned long long tries = 0;
    clear_table(tables, n_tables * GRAY_VALUES, threadIdx.x, WARPS * LANES);
    for (uint32_t i = blockIdx.x * WARPS + threadIdx.x / LANES; i < share; i += gridDim.x * WARPS) {
        const uint32_t turned = i + turn < share ? i + turn : i + turn - share;
        const uint32_t at = kernel == GRAY_WARP_APART ? lane * share + turned : i * LANES + lane;
        const bool there = at < n_words;
        const uint32_t word = there ? ((const uint32_t *)image.pixels)[at] : 0;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            tries += count_one<kernel>(tables, warp, word >> 8 * k & 0xFF, there);
    }
    if (first && n % 4 > 0) {
        const bool there = lane < n % 4;
        tries +=
            count_one<kernel>(tables, warp, there ? image.pixels[4 * n_words + lane] : 0, there);
    }
    add_tables<kernel>(image, tables);
    if (counts_tries && lane == 0 && tries > 0)
        atomicAdd(image.tries, tries);
}

/* ---- the gray transform ---------------------------------------------------------------------- */

/* Makes the gray values, one a thread, from the sums of the counts up to each value. */
static __global__ void __launch_bounds__(GRAY_VALUES) make_gray(struct gray_image image)
{
    __shared__ uint32_t warp_sums[CUDA_BLOCK_WARPS];
    const uint32_t value = threadIdx.x, count = image.counts[value];
    const uint64_t n = (uint64_t)image.width * image.height;
    uint32_t total;
    const uint64_t sum = block_exclusive_sum(count, warp_sums, &total) + count;
    image.gray[value] = (uint8_t)(((GRAY_VALUES - 1) * sum + n / 2) / n);
}

static __global__ void __launch_bounds__(SIDE *SIDE) map_gray(struct gray_image image)
{
    const uint32_t x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    const size_t i = (size_t)y * image.width + x;
    if (x < image.width && y < image.height)
        image.gray[GRAY_VALUES + i] = image.gray[image.pixels[i]];
}

#endif
