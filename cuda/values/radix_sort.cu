/* SPDX-License-Identifier: Apache-2.0
 *
 * This sorts keys of 32 bits by digits of 8, lowest first: four times count, scan and scatter (N.
 * Satish, M. Harris and M. Garland, "Designing efficient sorting algorithms for manycore GPUs",
 * 2009).
 *
 * A block works on a tile of 4,096 keys of one slice. Counting: a thread counts 16 keys in a table
 * of the block. Scan: a warp for each digit of a slice sums its counts [digit][tile] up to each
 * tile. Scatter: the block adds the counts of all lower digits to them, and a warp takes 512
 * neighbors, 32 at a time; the lanes with equal digits find one another (match), so that equal
 * digits keep their order. Memory traffic: for each digit a key is read to be counted, and read and
 * written to be scattered, which makes 48 bytes a key. 256 threads a block, because each owns one
 * digit.
 */
#include "cuda/values/radix_sort.cuh"

#include "cuda/values/reductions.cuh"

enum {
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    PLACES = 4,
    THREADS = DIGITS,
    WARPS = THREADS / 32,
    KEYS_A_THREAD = 16,
    TILE = THREADS * KEYS_A_THREAD
};

/* The work of one launch on one digit: slice z has n keys at from + z * n, counts [digit][tile] and
 * totals [digit]. */
struct sort_job {
    const uint32_t *from;
    uint32_t *to, *counts, *totals;
    int64_t n, tiles;
    int shift;
};

static __device__ unsigned digit_of(const struct sort_job &job, uint32_t key)
{
    return key >> job.shift & (DIGITS - 1);
}

static __global__ void __launch_bounds__(THREADS) count_digits(struct sort_job job)
{
    __shared__ uint32_t counts[DIGITS];
    const int64_t slice = blockIdx.x / job.tiles, tile = blockIdx.x % job.tiles;
    const uint32_t *from = job.from + slice * job.n;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < KEYS_A_THREAD; i++) {
        const int64_t at = tile * TILE + i * THREADS + threadIdx.x;
        if (at < job.n)
            atomicAdd(&counts[digit_of(job, from[at])], 1u);
    }
    __syncthreads();
    job.counts[(slice * DIGITS + threadIdx.x) * job.tiles + tile] = counts[threadIdx.x];
}

/* Computes the exclusive sums of the counts of each digit over the tiles, and their total. A warp
 * does one digit of a slice. */
static __global__ void __launch_bounds__(THREADS) scan_digits(struct sort_job job)
{
    const int64_t digit = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    uint32_t *counts = job.counts + digit * job.tiles, sum = 0;
    for (int64_t tile = lane; tile - lane < job.tiles; tile += 32) {
        const uint32_t count = tile < job.tiles ? counts[tile] : 0,
                       inclusive = warp_inclusive_sum(count);
        if (tile < job.tiles)
            counts[tile] = sum + inclusive - count;
        sum += __shfl_sync(0xFFFFFFFFu, inclusive, 31);
    }
    if (lane == 0)
        job.totals[digit] = sum;
}

/* Moves the keys of one tile to their places by the present digit, in each block. */
static __global__ void __launch_bounds__(THREADS) scatter_keys(struct sort_job job)
{
    __shared__ uint32_t
        places[WARPS][DIGITS + 1]; /* lanes past the end use the last place of a row */
    __shared__ uint32_t warp_sums[CUDA_BLOCK_WARPS];
    const int64_t slice = blockIdx.x / job.tiles, tile = blockIdx.x % job.tiles;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t *from = job.from + slice * job.n;
    uint32_t keys[KEYS_A_THREAD], ranks[KEYS_A_THREAD];
    for (unsigned i = threadIdx.x; i < WARPS * (DIGITS + 1); i += THREADS)
        (&places[0][0])[i] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < KEYS_A_THREAD; i++) {
        const int64_t at = tile * TILE + (warp * KEYS_A_THREAD + i) * 32 + lane;
        keys[i] = at < job.n ? from[at] : 0;
        const unsigned digit = at < job.n ? digit_of(job, keys[i]) : DIGITS;
        const unsigned same = __match_any_sync(0xFFFFFFFFu, digit);
        ranks[i] = places[warp][digit] + __popc(same & ((1u << lane) - 1));
        __syncwarp();
        if (lane == (unsigned)__ffs(same) - 1)
            places[warp][digit] += __popc(same);
        __syncwarp();
    }
    __syncthreads();
    const int64_t own = slice * DIGITS + threadIdx.x;
    uint32_t all, place = block_exclusive_sum(job.totals[own], warp_sums, &all) +
                          job.counts[own * job.tiles + tile];
    for (int i = 0; i < WARPS; i++) {
        const uint32_t count = places[i][threadIdx.x];
        places[i][threadIdx.x] = place;
        place += count;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < KEYS_A_THREAD; i++) {
        const int64_t at = tile * TILE + (warp * KEYS_A_THREAD + i) * 32 + lane;
        if (at < job.n)
            job.to[slice * job.n + places[warp][digit_of(job, keys[i])] + ranks[i]] = keys[i];
    }
}

size_t ts_cuda_radix_sort_bytes(int64_t n, int64_t n_slices)
{
    return (size_t)(n_slices * (n + DIGITS * (ts_cuda_parts(n, TILE) + 1))) * sizeof(uint32_t);
}

enum ts_status ts_cuda_radix_sort(const struct stage_context *context, uint32_t *keys,
                                  void *scratch, int64_t n, int64_t n_slices, cudaStream_t stream)
{
    uint32_t *other = (uint32_t *)scratch;
    struct sort_job job = {.counts = other + n_slices * n, .n = n, .tiles = ts_cuda_parts(n, TILE)};
    job.totals = job.counts + n_slices * DIGITS * job.tiles;
    const unsigned blocks = (unsigned)(n_slices * job.tiles);
    enum ts_status status = TS_OK;
    for (int place = 0; status == TS_OK && place < PLACES; place++) {
        job.from = place % 2 ? other : keys;
        job.to = place % 2 ? keys : other;
        job.shift = DIGIT_BITS * place;
        count_digits<<<blocks, THREADS, 0, stream>>>(job);
        status = ts_cuda_launched(context, "count_digits");
        scan_digits<<<(unsigned)(n_slices * DIGITS / WARPS), THREADS, 0, stream>>>(job);
        status = status == TS_OK ? ts_cuda_launched(context, "scan_digits") : status;
        scatter_keys<<<blocks, THREADS, 0, stream>>>(job);
        status = status == TS_OK ? ts_cuda_launched(context, "scatter_keys") : status;
    }
    return status;
}
