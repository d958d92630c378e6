/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers with windows of 3 x 3: a warp marches down 128 columns and 32 rows of a plane, a lane four columns wide, and
 * fetches four rows at once. Its neighbors' columns come by shuffles, those beside the warp by one load of its first
 * and last lane. Columns of three are sorted from pairs that two rows share; the median of nine is that of the largest
 * low, the median middle and the smallest high of three columns (A. W. Paeth, 1990), about 18 minima and maxima a
 * value.
 *
 * Memory traffic: each value read once, two rows of 34 and two columns of 130 again (from the second cache), and
 * written once. No shared memory; 256 threads a block, as many warps as the registers allow hide the latency.
 */
#include "cuda/outliers.cuh"

enum { WARP = 32, WARPS = 8, RUN = 4, WIDE = RUN + 2, BATCH = 4, ROWS = 32 };

template <typename T> struct march_group {
    struct __align__(RUN * sizeof(T)) word
    {
        T values[RUN];
    };
};

/* What a lane reads of a row: its four values, and those beside the warp. */
template <typename T> struct march_row {
    T values[RUN], beside;
};

struct march_place {
    int64_t x, beside; /* the lane's first column; the column beside the warp that its first or last lane reads */
    bool whole;        /* all four at once */
};

template <typename T>
static __device__ void fetch(const struct plane_job &job, const T *__restrict__ in, int64_t row,
                             const struct march_place &place, struct march_row<T> *fetched)
{
    const T *line = in + (job.in_z ? row + 1 : ts_cuda_border_index(row, job.n_rows, BORDER_REFLECT)) * job.row_stride;
    if (place.whole) {
        const typename march_group<T>::word word = *(const typename march_group<T>::word *)(line + place.x);
#pragma unroll
        for (int i = 0; i < RUN; i++)
            fetched->values[i] = word.values[i];
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++)
            fetched->values[i] = line[ts_cuda_border_index(place.x + i, job.n, BORDER_REFLECT)];
    }
    if (threadIdx.x == 0 || threadIdx.x == WARP - 1)
        fetched->beside = line[place.beside];
}

template <typename T>
static __device__ void widen(const struct march_row<T> &fetched, uint32_t flip, int32_t keys[WIDE])
{
#pragma unroll
    for (int i = 0; i < RUN; i++)
        keys[1 + i] = ts_cuda_key_of<T>(fetched.values[i], flip);
    const int32_t left = __shfl_up_sync(0xFFFFFFFFu, keys[RUN], 1), right = __shfl_down_sync(0xFFFFFFFFu, keys[1], 1);
    const int32_t beside = ts_cuda_key_of<T>(fetched.beside, flip);
    keys[0] = threadIdx.x == 0 ? beside : left;
    keys[WIDE - 1] = threadIdx.x == WARP - 1 ? beside : right;
}

static __device__ int32_t middle_of(int32_t a, int32_t b, int32_t c)
{
    return max(min(a, b), min(max(a, b), c));
}

/* Medians of the row whose columns are `alone` and the pair that two rows share. */
static __device__ void find_medians(const int32_t alone[WIDE], const int32_t lower[WIDE], const int32_t upper[WIDE],
                                    int32_t medians[RUN])
{
    int32_t lows[WIDE], middles[WIDE], highs[WIDE];
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
        const int32_t above = max(alone[i], lower[i]);
        lows[i] = min(alone[i], lower[i]);
        middles[i] = min(above, upper[i]);
        highs[i] = max(above, upper[i]);
    }
#pragma unroll
    for (int k = 0; k < RUN; k += 2) { /* two windows share two columns */
        const int32_t low = max(lows[k + 1], lows[k + 2]), high = min(highs[k + 1], highs[k + 2]);
        const int32_t a = min(middles[k + 1], middles[k + 2]), b = max(middles[k + 1], middles[k + 2]);
        medians[k] = middle_of(max(lows[k], low), max(a, min(b, middles[k])), min(highs[k], high));
        medians[k + 1] = middle_of(max(low, lows[k + 3]), max(a, min(b, middles[k + 3])), min(high, highs[k + 3]));
    }
}

template <typename T>
static __device__ void finish_row(const struct plane_job &job, T *to, const struct march_place &place,
                                  const int32_t keys[WIDE], const int32_t medians[RUN])
{
    typename march_group<T>::word word;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        int32_t key = keys[1 + k];
        if (((job.kind & OUTLIERS_BRIGHT) && medians[k] <= outliers_bright_limit<T>(key, job)) ||
            ((job.kind & OUTLIERS_DARK) && medians[k] >= outliers_dark_limit<T>(key, job)))
            key = outliers_decide<T>(key, medians[k], job);
        word.values[k] = ts_cuda_value_of<T>(key, job.flip);
    }
    if (place.whole) {
        *(typename march_group<T>::word *)(to + place.x) = word;
        return;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++)
        if (place.x + k < job.n)
            to[place.x + k] = word.values[k];
}

template <typename T>
static __global__ void __launch_bounds__(WARP *WARPS)
    march(const T *__restrict__ in, T *__restrict__ out, struct plane_job job)
{
    const int64_t strip = (int64_t)blockIdx.x * WARPS + threadIdx.y, tile_x = strip % job.tiles_x;
    const int64_t tile_y = strip / job.tiles_x % job.tiles_y, plane = strip / job.tiles_x / job.tiles_y;
    if (plane >= job.n_planes)
        return;
    struct march_place place = {(tile_x * WARP + threadIdx.x) * RUN, 0, false};
    place.whole = job.aligned && place.x + RUN <= job.n;
    place.beside = ts_cuda_border_index(threadIdx.x == 0 ? place.x - 1 : place.x + RUN, job.n, BORDER_REFLECT);
    in += plane * job.plane_stride;
    out += plane * job.plane_stride;
    const int64_t first = tile_y * ROWS, end = min(first + ROWS, job.n_rows);
    int32_t before[WIDE], keys[BATCH + 1][WIDE];
    struct march_row<T> fetched[BATCH];
    fetch(job, in, first - 1, place, &fetched[0]);
    fetch(job, in, first, place, &fetched[1]);
    widen(fetched[0], job.flip, before);
    widen(fetched[1], job.flip, keys[0]);
    for (int64_t row = first; row < end; row += BATCH) {
#pragma unroll
        for (int i = 0; i < BATCH; i++) /* beyond the end the last row once more, for no one */
            fetch(job, in, min(row + 1 + i, end), place, &fetched[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            widen(fetched[i], job.flip, keys[1 + i]);
#pragma unroll
        for (int i = 0; i < BATCH; i += 2) {
            int32_t lower[WIDE], upper[WIDE], medians[RUN];
#pragma unroll
            for (int k = 0; k < WIDE; k++) {
                lower[k] = min(keys[i][k], keys[i + 1][k]);
                upper[k] = max(keys[i][k], keys[i + 1][k]);
            }
            find_medians(i ? keys[i - 1] : before, lower, upper, medians);
            if (row + i < end)
                finish_row<T>(job, out + (row + i) * job.row_stride, place, keys[i], medians);
            find_medians(keys[i + 2], lower, upper, medians);
            if (row + i + 1 < end)
                finish_row<T>(job, out + (row + i + 1) * job.row_stride, place, keys[i + 1], medians);
        }
#pragma unroll
        for (int k = 0; k < WIDE; k++) {
            before[k] = keys[BATCH - 1][k];
            keys[0][k] = keys[BATCH][k];
        }
    }
}

enum ts_status ts_cuda_outliers_march(const struct stage_context *context, const struct ts_image *in,
                                      struct ts_image *out, const struct plane_job *job, const struct cuda_call *call)
{
    struct plane_job march_job = *job;
    const size_t group = RUN * ts_dtype_bytes(in->dtype);
    const dim3 threads(WARP, WARPS);
    march_job.tiles_x = ts_cuda_parts(job->n, WARP * RUN);
    march_job.tiles_y = ts_cuda_parts(job->n_rows, ROWS);
    march_job.aligned = job->n % RUN == 0 && ((uintptr_t)in->data | (uintptr_t)out->data) % group == 0;
    const unsigned blocks = (unsigned)ts_cuda_parts(march_job.tiles_x * march_job.tiles_y * job->n_planes, WARPS);
#define MARCH(T) march<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data, march_job)
    TS_CUDA_KEY_TYPES(in->dtype, MARCH)
#undef MARCH
    return ts_cuda_launched(context, "march");
}
