/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers with windows of 3 x 3 and 5 x 5: a warp goes down 128 columns and 32 rows of a plane; a lane takes four
 * columns and fetches some rows at once. Its neighbors' columns come by shuffles, those beside the warp by one load of
 * its first and last lane. Columns of three are sorted from pairs that two rows share; the median of nine is that of
 * the largest low, the median middle and the smallest high of three columns (A. W. Paeth, 1990), which takes about 18
 * minima and maxima a value.
 *
 * Memory traffic: each value is read once, two rows of 34 and two columns of 130 again (from the second cache), and
 * written once. There is no shared memory; 256 threads a block, and as many warps as the registers allow hide the
 * latency.
 */
#include "cuda/filters/outliers.cuh"

enum { ROWS = 32 };

/* A lane reads its four values of a row, and, in the first and last lane, those beside the warp. */
template <typename T, int HALF> struct march_row {
    T values[RUN], beside[HALF];
};

/* `x` is the lane's first column; the first or last lane of a warp reads the columns `beside` it. */
template <int HALF> struct march_place {
    int64_t x, beside[HALF];
    bool whole; /* all four at once */
};

template <typename T, int HALF>
static __device__ void fetch(const struct plane_job &job, const T *__restrict__ in, int64_t row,
                             const struct march_place<HALF> &place, struct march_row<T, HALF> *fetched)
{
    const T *line =
        in + (job.in_z ? row + HALF : ts_cuda_border_index(row, job.n_rows, BORDER_REFLECT)) * job.row_stride;
    if (place.whole) {
        const cuda_word<RUN * sizeof(T)> word = *(const cuda_word<RUN * sizeof(T)> *)(line + place.x);
        memcpy(fetched->values, &word, sizeof word);
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++)
            fetched->values[i] = line[ts_cuda_border_index(place.x + i, job.n, BORDER_REFLECT)];
    }
    if (threadIdx.x == 0 || threadIdx.x == WARP - 1)
#pragma unroll
        for (int i = 0; i < HALF; i++)
            fetched->beside[i] = line[place.beside[i]];
}

/* Puts HALF keys of the neighbors on both sides of a lane's own. */
template <typename T, int HALF>
static __device__ void widen(const struct march_row<T, HALF> &fetched, uint32_t flip, int32_t keys[RUN + 2 * HALF])
{
#pragma unroll
    for (int i = 0; i < RUN; i++)
        keys[HALF + i] = ts_cuda_key_of<T>(fetched.values[i], flip);
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        const int32_t left = __shfl_up_sync(0xFFFFFFFFu, keys[RUN + i], 1);
        const int32_t right = __shfl_down_sync(0xFFFFFFFFu, keys[HALF + i], 1);
        const int32_t beside = ts_cuda_key_of<T>(fetched.beside[i], flip);
        keys[i] = threadIdx.x == 0 ? beside : left;
        keys[HALF + RUN + i] = threadIdx.x == WARP - 1 ? beside : right;
    }
}

/* A warp works on these rows of a plane. */
struct march_strip {
    int64_t plane, first, end;
};

/* Finds them for this warp. Returns false if there are none. */
template <int HALF>
static __device__ bool find_strip(const struct plane_job &job, struct march_strip *strip,
                                  struct march_place<HALF> *place)
{
    const int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.y, tile_y = at / job.tiles_x % job.tiles_y;
    strip->plane = at / job.tiles_x / job.tiles_y;
    strip->first = tile_y * ROWS;
    strip->end = min(strip->first + ROWS, job.n_rows);
    place->x = (at % job.tiles_x * WARP + threadIdx.x) * RUN;
    place->whole = job.aligned && place->x + RUN <= job.n;
    for (int i = 0; i < HALF; i++)
        place->beside[i] =
            ts_cuda_border_index(threadIdx.x == 0 ? place->x - HALF + i : place->x + RUN + i, job.n, BORDER_REFLECT);
    return strip->plane < job.n_planes;
}

/* ---- 3 x 3 ------------------------------------------------------------------------------------- */

enum { WIDE = RUN + 2, BATCH = 2, RESIDENT = 3 };

static __device__ int32_t middle_of(int32_t a, int32_t b, int32_t c)
{
    return max(min(a, b), min(max(a, b), c));
}

/* Finds the medians of the row whose columns are `alone` and the pair that two rows share. */
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
static __device__ void finish_row(const struct plane_job &job, T *to, const struct march_place<1> &place,
                                  const int32_t row[WIDE], const int32_t medians[RUN], int64_t z)
{
    int32_t keys[RUN];
    int replaced = 0;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        const int32_t key = row[1 + k];
        const bool near = outliers_near<T>(key, medians[k], medians[k], job);
        keys[k] = near && place.x + k < job.n ? outliers_decide<T>(key, medians[k], job, &replaced) : key;
    }
    outliers_count(job, z, replaced);
    outliers_store<T>(job, to, place.x, place.whole, keys);
}

template <typename T>
static __global__ void __launch_bounds__(WARP *WARPS, RESIDENT)
    march_3(const T *__restrict__ in, T *__restrict__ out, struct plane_job job)
{
    struct march_strip strip;
    struct march_place<1> place;
    if (!find_strip<1>(job, &strip, &place))
        return;
    in += strip.plane * job.plane_stride;
    out += strip.plane * job.plane_stride;
    int32_t before[WIDE], keys[BATCH + 1][WIDE];
    struct march_row<T, 1> fetched[BATCH];
    fetch<T, 1>(job, in, strip.first - 1, place, &fetched[0]);
    fetch<T, 1>(job, in, strip.first, place, &fetched[1]);
    widen<T, 1>(fetched[0], job.flip, before);
    widen<T, 1>(fetched[1], job.flip, keys[0]);
    for (int64_t row = strip.first; row < strip.end; row += BATCH) {
#pragma unroll
        for (int i = 0; i < BATCH; i++) /* beyond the end the last row is fetched again, and not used */
            fetch<T, 1>(job, in, min(row + 1 + i, strip.end), place, &fetched[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            widen<T, 1>(fetched[i], job.flip, keys[1 + i]);
#pragma unroll
        for (int i = 0; i < BATCH; i += 2) {
            int32_t lower[WIDE], upper[WIDE], medians[RUN];
#pragma unroll
            for (int k = 0; k < WIDE; k++) {
                lower[k] = min(keys[i][k], keys[i + 1][k]);
                upper[k] = max(keys[i][k], keys[i + 1][k]);
            }
            const int64_t y = row + i;
            find_medians(i ? keys[i - 1] : before, lower, upper, medians);
            if (y < strip.end)
                finish_row<T>(job, out + y * job.row_stride, place, keys[i], medians, job.in_z ? y : strip.plane);
            find_medians(keys[i + 2], lower, upper, medians);
            if (y + 1 < strip.end)
                finish_row<T>(job, out + (y + 1) * job.row_stride, place, keys[i + 1], medians,
                              job.in_z ? y + 1 : strip.plane);
        }
#pragma unroll
        for (int k = 0; k < WIDE; k++) {
            before[k] = keys[BATCH - 1][k];
            keys[0][k] = keys[BATCH][k];
        }
    }
}

/* ---- 5 x 5 ------------------------------------------------------------------------------------- */

enum { SIZE = 5, HALF = 2, WIDER = RUN + 2 * HALF, HELD = SIZE - 1, PAIR = 2, WIDE_RESIDENT = 2 };

/* Finds the extremes of five neighbors for each of a lane's columns. */
static __device__ void find_extremes(const int32_t keys[WIDER], int32_t lows[RUN], int32_t highs[RUN])
{
    const int32_t low = min(keys[3], keys[4]), high = max(keys[3], keys[4]);
    const int32_t left_low = min(low, keys[2]), right_low = min(low, keys[5]);
    const int32_t left_high = max(high, keys[2]), right_high = max(high, keys[5]);
    lows[0] = min(min(keys[0], keys[1]), left_low);
    lows[1] = min(min(keys[1], left_low), keys[5]);
    lows[2] = min(min(keys[6], left_low), keys[5]);
    lows[3] = min(min(keys[6], keys[7]), right_low);
    highs[0] = max(max(keys[0], keys[1]), left_high);
    highs[1] = max(max(keys[1], left_high), keys[5]);
    highs[2] = max(max(keys[6], left_high), keys[5]);
    highs[3] = max(max(keys[6], keys[7]), right_high);
}

/* Returns the median of the window around (row, x), from memory. */
template <typename T>
static __device__ __noinline__ int32_t median_at(const struct plane_job &job, const T *in, int64_t row, int64_t x)
{
    enum { N = SIZE * SIZE };
    int32_t window[N];
#pragma unroll
    for (int i = 0; i < SIZE; i++) {
        const int64_t y = row + i - HALF;
        const T *line =
            in + (job.in_z ? y + HALF : ts_cuda_border_index(y, job.n_rows, BORDER_REFLECT)) * job.row_stride;
#pragma unroll
        for (int j = 0; j < SIZE; j++)
            window[i * SIZE + j] =
                ts_cuda_key_of<T>(line[ts_cuda_border_index(x + j - HALF, job.n, BORDER_REFLECT)], job.flip);
    }
    return ts_cuda_median<N>(window);
}

/* `rows` are those of the window, the middle one is rows[HALF]. */
template <typename T>
static __device__ void finish_wide_row(const struct plane_job &job, const T *in, T *out,
                                       const struct march_place<HALF> &place, const int32_t (*rows)[WIDER],
                                       const int32_t lows[RUN], const int32_t highs[RUN], int64_t y, int64_t z)
{
    int32_t keys[RUN];
    int replaced = 0;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        const int32_t key = rows[HALF][HALF + k];
        const int32_t bright = outliers_bright_limit<T>(key, job), dark = outliers_dark_limit<T>(key, job);
        keys[k] = key;
        if (((job.kind & OUTLIERS_BRIGHT) && lows[k] <= bright) || ((job.kind & OUTLIERS_DARK) && highs[k] >= dark)) {
            int below = 0, above = 0;
#pragma unroll
            for (int i = 0; i < SIZE; i++)
#pragma unroll
                for (int j = 0; j < SIZE; j++) {
                    below += rows[i][k + j] <= bright;
                    above += rows[i][k + j] >= dark;
                }
            const int most = max(job.kind & OUTLIERS_BRIGHT ? below : 0, job.kind & OUTLIERS_DARK ? above : 0);
            if (2 * most > SIZE * SIZE && place.x + k < job.n)
                keys[k] = outliers_decide<T>(key, median_at<T>(job, in, y, place.x + k), job, &replaced);
        }
    }
    outliers_count(job, z, replaced);
    outliers_store<T>(job, out + y * job.row_stride, place.x, place.whole, keys);
}

template <typename T>
static __global__ void __launch_bounds__(WARP *WARPS, WIDE_RESIDENT)
    march_5(const T *__restrict__ in, T *__restrict__ out, struct plane_job job)
{
    struct march_strip strip;
    struct march_place<HALF> place;
    if (!find_strip<HALF>(job, &strip, &place))
        return;
    in += strip.plane * job.plane_stride;
    out += strip.plane * job.plane_stride;
    int32_t keys[HELD + PAIR][WIDER];
    struct march_row<T, HALF> fetched[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++)
        fetch<T, HALF>(job, in, strip.first - HALF + i, place, &fetched[i]);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        widen<T, HALF>(fetched[i], job.flip, keys[i]);
    for (int64_t row = strip.first; row < strip.end; row += PAIR) {
#pragma unroll
        for (int i = 0; i < PAIR; i++)
            fetch<T, HALF>(job, in, min(row + HALF + i, strip.end + HALF - 1), place, &fetched[i]);
#pragma unroll
        for (int i = 0; i < PAIR; i++)
            widen<T, HALF>(fetched[i], job.flip, keys[HELD + i]);
        int32_t lows[HALF + PAIR][RUN], highs[HALF + PAIR][RUN];
#pragma unroll
        for (int i = 0; i < HALF + PAIR; i++)
            find_extremes(keys[i], lows[i], highs[i]);
#pragma unroll
        for (int i = 0; i < PAIR; i++) {
            int32_t low[RUN], high[RUN];
#pragma unroll
            for (int k = 0; k < RUN; k++) {
                low[k] = min(min(lows[i][k], lows[i + 1][k]), lows[i + 2][k]);
                high[k] = max(max(highs[i][k], highs[i + 1][k]), highs[i + 2][k]);
            }
            if (row + i < strip.end)
                finish_wide_row<T>(job, in, out, place, &keys[i], low, high, row + i, job.in_z ? row + i : strip.plane);
        }
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < WIDER; k++)
                keys[i][k] = keys[PAIR + i][k];
    }
}

/* ---- launch ------------------------------------------------------------------------------------ */

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
#define MARCH(T)                                                                                                       \
    if (job->size == 3)                                                                                                \
        march_3<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data, march_job);              \
    else                                                                                                               \
        march_5<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data, march_job)
    TS_CUDA_BIT_TYPES(in->dtype, MARCH)
#undef MARCH
    return ts_cuda_launched(context, "march");
}
