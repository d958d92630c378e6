/* SPDX-License-Identifier: Apache-2.0
 *
 * median of 3 x 3 windows in a slice: a warp marches down 32 rows of 128 columns, a lane 4 columns wide. Each column of
 * three keys is sorted from the pair that it shares with the row above; the median of nine is then the median of the
 * largest low, the median middle and the smallest high of three columns (A. W. Paeth, Median finding on a 3 x 3 grid,
 * 1990), about 20 minima and maxima per value.
 *
 * Memory traffic: each value is read once, two rows of 34 and two columns of 130 again (mostly from the second cache),
 * and written once. The next row is fetched while a row is computed, there is no shared memory, and 256 threads a block
 * leave as many warps as the registers allow to hide the latency.
 */
#include "cuda/filters/median.cuh"
#include "cuda/filters/median_job.cuh"

enum { WARP = 32, WARPS = 8, RUN = 4, ROWS = 32 };

template <typename T> struct __align__(RUN * sizeof(T)) median_group
{
    T values[RUN];
};

/* What a lane reads of a row: its keys; the key beside the warp in the first and the last lane. */
struct median_row {
    int32_t own[RUN], beside;
};

template <typename T>
static __device__ median_row fetch(const T *slice, const median_job &job, int64_t x, int64_t y, bool whole)
{
    median_row row;
    const int64_t from = ts_cuda_border_index(y, job.ny, job.border);
    const T *line = slice + from * job.nx;
    if (from >= 0 && whole) {
        const median_group<T> group = *(const median_group<T> *)(line + x);
#pragma unroll
        for (int i = 0; i < RUN; i++)
            row.own[i] = ts_cuda_key_of<T>(group.values[i], job.flip);
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            const int64_t column = ts_cuda_border_index(x + i, job.nx, job.border);
            row.own[i] = from < 0 || column < 0 ? job.constant : ts_cuda_key_of<T>(line[column], job.flip);
        }
    }
    row.beside = 0;
    if (threadIdx.x == 0 || threadIdx.x == WARP - 1) {
        const int64_t column = ts_cuda_border_index(threadIdx.x ? x + RUN : x - 1, job.nx, job.border);
        row.beside = from < 0 || column < 0 ? job.constant : ts_cuda_key_of<T>(line[column], job.flip);
    }
    return row;
}

/* The lane's own keys between those of its neighbors. */
static __device__ void widen(const median_row &row, int32_t keys[RUN + 2])
{
#pragma unroll
    for (int i = 0; i < RUN; i++)
        keys[i + 1] = row.own[i];
    const int32_t left = __shfl_up_sync(0xFFFFFFFFu, row.own[RUN - 1], 1);
    const int32_t right = __shfl_down_sync(0xFFFFFFFFu, row.own[0], 1);
    keys[0] = threadIdx.x == 0 ? row.beside : left;
    keys[RUN + 1] = threadIdx.x == WARP - 1 ? row.beside : right;
}

static __device__ int32_t middle_of(int32_t a, int32_t b, int32_t c)
{
    return max(min(a, b), min(max(a, b), c));
}

template <typename T>
static __device__ void store(T *to, const median_job &job, int64_t x, const int32_t medians[RUN], bool whole)
{
    if (whole) {
        median_group<T> group;
#pragma unroll
        for (int i = 0; i < RUN; i++)
            group.values[i] = ts_cuda_value_of<T>(medians[i], job.flip);
        *(median_group<T> *)(to + x) = group;
        return;
    }
#pragma unroll
    for (int i = 0; i < RUN; i++)
        if (x + i < job.nx)
            to[x + i] = ts_cuda_value_of<T>(medians[i], job.flip);
}

template <typename T> static __global__ void __launch_bounds__(WARP *WARPS) march(const T *in, T *out, median_job job)
{
    const int64_t x = blockIdx.x % job.tiles_x * (WARP * RUN) + threadIdx.x * RUN;
    const int64_t first = (blockIdx.x / job.tiles_x * WARPS + threadIdx.y) * ROWS;
    const bool whole = job.nx % RUN == 0 && x + RUN <= job.nx;
    if (first >= job.ny)
        return;
    const int64_t end = min(first + ROWS, job.ny);
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        const T *slice = in + z * job.ny * job.nx;
        /* Of each column the keys of two rows, sorted, and the lower of these rows. */
        int32_t low[RUN + 2], high[RUN + 2], last[RUN + 2];
        widen(fetch(slice, job, x, first - 1, whole), low);
        widen(fetch(slice, job, x, first, whole), last);
#pragma unroll
        for (int c = 0; c < RUN + 2; c++) {
            high[c] = max(low[c], last[c]);
            low[c] = min(low[c], last[c]);
        }
        median_row next = fetch(slice, job, x, first + 1, whole);
        for (int64_t y = first; y < end; y++) {
            int32_t keys[RUN + 2], lows[RUN + 2], middles[RUN + 2], highs[RUN + 2], medians[RUN];
            const median_row row = next;
            if (y + 1 < end)
                next = fetch(slice, job, x, y + 2, whole);
            widen(row, keys);
#pragma unroll
            for (int c = 0; c < RUN + 2; c++) {
                lows[c] = min(low[c], keys[c]);
                middles[c] = max(low[c], min(high[c], keys[c]));
                highs[c] = max(high[c], keys[c]);
                low[c] = min(last[c], keys[c]);
                high[c] = max(last[c], keys[c]);
                last[c] = keys[c];
            }
#pragma unroll
            for (int i = 0; i < RUN; i++)
                medians[i] = middle_of(max(max(lows[i], lows[i + 1]), lows[i + 2]),
                                       middle_of(middles[i], middles[i + 1], middles[i + 2]),
                                       min(min(highs[i], highs[i + 1]), highs[i + 2]));
            store(out + (z * job.ny + y) * job.nx, job, x, medians, whole);
        }
    }
}

template <typename T>
static void launch(const struct ts_image *in, struct ts_image *out, median_job job, cudaStream_t stream)
{
    job.tiles_x = ts_cuda_parts(job.nx, WARP * RUN);
    const dim3 threads(WARP, WARPS), blocks((unsigned)(job.tiles_x * ts_cuda_parts(job.ny, WARPS * ROWS)),
                                            (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    march<T><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
}

enum ts_status ts_cuda_median_march(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct median_job *job, const struct cuda_call *call)
{
#define LAUNCH(T) launch<T>(in, out, *job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median march");
}
