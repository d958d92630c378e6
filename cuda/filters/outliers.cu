/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers on a CUDA device, by the rule and keys of stages/filters/outliers.c. A block brings a
 * tile of 128 columns by up to 32 rows with the border of its windows into shared memory, as 32-bit
 * keys. A thread looks at 4 x 4 values: it finds the extremes of the first half of each window, and
 * takes a median only of what may be an outlier. The median of 5 x 5 comes from a fixed network in
 * registers (ts_cuda_median), that of larger windows is found bit by bit, by counting the smaller
 * keys in shared memory. Most windows of 3 x 3 and 5 x 5 have a kernel of their own.
 *
 * Memory traffic: each value is read once, the border again (mostly from the second cache), and
 * written once. 256 threads a block, so that some blocks load while others compute.
 */
#include "cuda/filters/median.cuh"
#include "cuda/values/border.cuh"
#include "cuda/values/value_keys.cuh"

extern "C" {
#include "stages/filters/outliers.h"
}

/* ---- outliers ----------------------------------------------------------------------------------
 *
 * The kernels of outliers share this: the planes that windows lie in, and the rule of
 * stages/filters/outliers.c on 32-bit keys (cuda/values/value_keys.cuh). Medians come from
 * cuda/filters/median.cuh. */

/* A thread works on RUN neighboring values of a row at a time; a block has WARPS warps. */
enum { WARP = 32, WARPS = 8, RUN = 4 };

/* Windows lie in planes: the rows of a plane are the slices of one view, or the views of one
 * slice. */
struct plane_job {
    int64_t n_planes, n_rows, n, plane_stride, row_stride; /* strides in values */
    int64_t tiles_x, tiles_y;
    double threshold;
    float real; /* the threshold, rounded down to a number that keys can be compared with */
    int32_t whole;
    uint32_t flip;
    int size, kind;
    unsigned long long *replaced; /* number of replaced values in each slice */
    bool in_z, aligned; /* in_z: rows have their halo in memory; aligned: groups of four values may
                         * be moved at once */
};

/* These return the largest key that the median of a bright outlier can have, and the smallest for a
 * dark one. */
template <typename T>
static __device__ int32_t outliers_bright_limit(int32_t key, const struct plane_job &job)
{
    if constexpr (std::is_same<T, float>::value)
        return (int32_t)((uint32_t)ts_cuda_key_of(ts_cuda_value_of<float>(key, 0) - job.real, 0) +
                         1);
    return max(key, INT32_MIN + job.whole) - job.whole;
}

template <typename T>
static __device__ int32_t outliers_dark_limit(int32_t key, const struct plane_job &job)
{
    if constexpr (std::is_same<T, float>::value)
        return (int32_t)((uint32_t)ts_cuda_key_of(ts_cuda_value_of<float>(key, 0) + job.real, 0) -
                         1);
    return min(key, INT32_MAX - job.whole) + job.whole;
}

/* Returns true if the median of a window can differ from the key by the threshold. `low` and `high`
 * are the extremes of more than half of the window, or the median itself. */
template <typename T>
static __device__ bool outliers_near(int32_t key, int32_t low, int32_t high,
                                     const struct plane_job &job)
{
    return ((job.kind & OUTLIERS_BRIGHT) && low <= outliers_bright_limit<T>(key, job)) ||
           ((job.kind & OUTLIERS_DARK) && high >= outliers_dark_limit<T>(key, job));
}

/* Returns a number for the key; the numbers differ by as much as the values. */
template <typename T> static __device__ double outliers_number_of(int32_t key)
{
    return std::is_same<T, float>::value ? (double)ts_cuda_value_of<float>(key, 0) : (double)key;
}

/* Returns the key, or its median, which is then counted as replaced. The difference of the values,
 * in double, decides. */
template <typename T>
static __device__ int32_t outliers_decide(int32_t key, int32_t median, const struct plane_job &job,
                                          int *replaced)
{
    const double above = outliers_number_of<T>(key) - outliers_number_of<T>(median);
    const bool outlier = ((job.kind & OUTLIERS_BRIGHT) && above >= job.threshold) ||
                         ((job.kind & OUTLIERS_DARK) && -above >= job.threshold);
    *replaced += outlier;
    return outlier ? median : key;
}

/* Writes the values of RUN keys to to[x] and its neighbors, up to column job.n. `whole`: in one
 * access. */
template <typename T>
static __device__ void outliers_store(const struct plane_job &job, T *to, int64_t x, bool whole,
                                      const int32_t keys[RUN])
{
    struct __align__(RUN * sizeof(T)) group
    {
        T values[RUN];
    }
    group;
#pragma unroll
    for (int k = 0; k < RUN; k++)
        group.values[k] = ts_cuda_value_of<T>(keys[k], job.flip);
    if (whole) {
        *(struct group *)(to + x) = group;
        return;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++)
        if (x + k < job.n)
            to[x + k] = group.values[k];
}

/* Adds what the lanes of a warp replaced in slice z. All lanes call it. */
static __device__ inline void outliers_count(const struct plane_job &job, int64_t z, int replaced)
{
    if (!__any_sync(0xFFFFFFFFu, replaced != 0))
        return;
    for (int distance = 16; distance > 0; distance /= 2)
        replaced += __shfl_xor_sync(0xFFFFFFFFu, replaced, distance);
    if (threadIdx.x == 0)
        atomicAdd(&job.replaced[z], (unsigned long long)replaced);
}

/* ---- outliers march ----------------------------------------------------------------------------
 *
 * outliers with windows of 3 x 3 and 5 x 5: a warp goes down 128 columns and 32 rows of a plane; a
 * lane takes four columns and fetches some rows at once. It gets its neighbors' columns by
 * shuffles; the first and the last lane load those beside the warp. Columns of three are sorted
 * from pairs that two rows share; the median of nine is that of the largest low, the median middle
 * and the smallest high of three columns (A. W. Paeth, 1990), which takes about 18 minima and
 * maxima a value.
 *
 * Memory traffic: each value is read once, two rows of 34 and two columns of 130 again (from the
 * second cache), and written once. There is no shared memory; 256 threads a block, and as many
 * warps as the registers allow hide the latency. */

enum { ROWS = 32 };

/* A lane's four values of a row, and, in the first and last lane, those beside the warp. */
template <typename T, int HALF> struct march_row {
    T values[RUN], beside[HALF];
};

/* `x` is the lane's first column; the first or last lane of a warp reads the columns `beside`
 * it. */
template <int HALF> struct march_place {
    int64_t x, beside[HALF];
    bool whole; /* true if all four values are moved at once */
};

template <typename T, int HALF>
static __device__ void fetch(const struct plane_job &job, const T *__restrict__ in, int64_t row,
                             const struct march_place<HALF> &place,
                             struct march_row<T, HALF> *fetched)
{
    const T *line =
        in + (job.in_z ? row + HALF : ts_cuda_border_index(row, job.n_rows, BORDER_REFLECT)) *
                 job.row_stride;
    if (place.whole) {
        const cuda_word<RUN * sizeof(T)> word =
            *(const cuda_word<RUN * sizeof(T)> *)(line + place.x);
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

/* Adds HALF keys of the neighbors on both sides of a lane's own. */
template <typename T, int HALF>
static __device__ void outliers_widen(const struct march_row<T, HALF> &fetched, uint32_t flip,
                                      int32_t keys[RUN + 2 * HALF])
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

/* The rows of a plane that a warp works on. */
struct march_strip {
    int64_t plane, first, end;
};

/* Finds the rows of this warp. Returns false if there are none. */
template <int HALF>
static __device__ bool find_strip(const struct plane_job &job, struct march_strip *strip,
                                  struct march_place<HALF> *place)
{
    const int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.y,
                  tile_y = at / job.tiles_x % job.tiles_y;
    strip->plane = at / job.tiles_x / job.tiles_y;
    strip->first = tile_y * ROWS;
    strip->end = min(strip->first + ROWS, job.n_rows);
    place->x = (at % job.tiles_x * WARP + threadIdx.x) * RUN;
    place->whole = job.aligned && place->x + RUN <= job.n;
    for (int i = 0; i < HALF; i++)
        place->beside[i] = ts_cuda_border_index(
            threadIdx.x == 0 ? place->x - HALF + i : place->x + RUN + i, job.n, BORDER_REFLECT);
    return strip->plane < job.n_planes;
}

/* ---- 3 x 3 ----------------------------------------------------------------------------------- */

enum { WIDE = RUN + 2, BATCH = 2, RESIDENT = 3 };

static __device__ int32_t middle_of(int32_t a, int32_t b, int32_t c)
{
    return max(min(a, b), min(max(a, b), c));
}

/* Finds the medians of the row whose columns consist of `alone` and the pair of rows that two
 * output rows share. */
static __device__ void find_medians(const int32_t alone[WIDE], const int32_t lower[WIDE],
                                    const int32_t upper[WIDE], int32_t medians[RUN])
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
        const int32_t a = min(middles[k + 1], middles[k + 2]),
                      b = max(middles[k + 1], middles[k + 2]);
        medians[k] = middle_of(max(lows[k], low), max(a, min(b, middles[k])), min(highs[k], high));
        medians[k + 1] = middle_of(max(low, lows[k + 3]), max(a, min(b, middles[k + 3])),
                                   min(high, highs[k + 3]));
    }
}

template <typename T>
static __device__ void finish_row(const struct plane_job &job, T *to,
                                  const struct march_place<1> &place, const int32_t row[WIDE],
                                  const int32_t medians[RUN], int64_t z)
{
    int32_t keys[RUN];
    int replaced = 0;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        const int32_t key = row[1 + k];
        const bool near = outliers_near<T>(key, medians[k], medians[k], job);
        keys[k] =
            near && place.x + k < job.n ? outliers_decide<T>(key, medians[k], job, &replaced) : key;
    }
    outliers_count(job, z, replaced);
    outliers_store<T>(job, to, place.x, place.whole, keys);
}

/* Replaces outliers of 3 x 3 windows; each warp goes down its strip. */
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
    outliers_widen<T, 1>(fetched[0], job.flip, before);
    outliers_widen<T, 1>(fetched[1], job.flip, keys[0]);
    for (int64_t row = strip.first; row < strip.end; row += BATCH) {
#pragma unroll
        for (int i = 0; i < BATCH;
             i++) /* rows beyond the end are the last row again, and are not used */
            fetch<T, 1>(job, in, min(row + 1 + i, strip.end), place, &fetched[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            outliers_widen<T, 1>(fetched[i], job.flip, keys[1 + i]);
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
                finish_row<T>(job, out + y * job.row_stride, place, keys[i], medians,
                              job.in_z ? y : strip.plane);
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

/* ---- 5 x 5 ----------------------------------------------------------------------------------- */

enum { SIZE = 5, HALF = 2, WIDER = RUN + 2 * HALF, HELD = SIZE - 1, PAIR = 2, WIDE_RESIDENT = 2 };

/* Finds the extremes of five neighbors around each of a lane's columns. */
static __device__ void find_extremes(const int32_t keys[WIDER], int32_t lows[RUN],
                                     int32_t highs[RUN])
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
static __device__ __noinline__ int32_t median_at(const struct plane_job &job, const T *in,
                                                 int64_t row, int64_t x)
{
    enum { N = SIZE * SIZE };
    int32_t window[N];
#pragma unroll
    for (int i = 0; i < SIZE; i++) {
        const int64_t y = row + i - HALF;
        const T *line =
            in + (job.in_z ? y + HALF : ts_cuda_border_index(y, job.n_rows, BORDER_REFLECT)) *
                     job.row_stride;
#pragma unroll
        for (int j = 0; j < SIZE; j++)
            window[i * SIZE + j] = ts_cuda_key_of<T>(
                line[ts_cuda_border_index(x + j - HALF, job.n, BORDER_REFLECT)], job.flip);
    }
    return ts_cuda_median<N>(window);
}

/* `rows` has the rows of the window; rows[HALF] is the middle one. */
template <typename T>
static __device__ void finish_wide_row(const struct plane_job &job, const T *in, T *out,
                                       const struct march_place<HALF> &place,
                                       const int32_t (*rows)[WIDER], const int32_t lows[RUN],
                                       const int32_t highs[RUN], int64_t y, int64_t z)
{
    int32_t keys[RUN];
    int replaced = 0;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        const int32_t key = rows[HALF][HALF + k];
        const int32_t bright = outliers_bright_limit<T>(key, job),
                      dark = outliers_dark_limit<T>(key, job);
        keys[k] = key;
        if (((job.kind & OUTLIERS_BRIGHT) && lows[k] <= bright) ||
            ((job.kind & OUTLIERS_DARK) && highs[k] >= dark)) {
            int below = 0, above = 0;
#pragma unroll
            for (int i = 0; i < SIZE; i++)
#pragma unroll
                for (int j = 0; j < SIZE; j++) {
                    below += rows[i][k + j] <= bright;
                    above += rows[i][k + j] >= dark;
                }
            const int most =
                max(job.kind & OUTLIERS_BRIGHT ? below : 0, job.kind & OUTLIERS_DARK ? above : 0);
            if (2 * most > SIZE * SIZE && place.x + k < job.n)
                keys[k] =
                    outliers_decide<T>(key, median_at<T>(job, in, y, place.x + k), job, &replaced);
        }
    }
    outliers_count(job, z, replaced);
    outliers_store<T>(job, out + y * job.row_stride, place.x, place.whole, keys);
}

/* Replaces outliers of 5 x 5 windows; each warp goes down its strip. */
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
        outliers_widen<T, HALF>(fetched[i], job.flip, keys[i]);
    for (int64_t row = strip.first; row < strip.end; row += PAIR) {
#pragma unroll
        for (int i = 0; i < PAIR; i++)
            fetch<T, HALF>(job, in, min(row + HALF + i, strip.end + HALF - 1), place, &fetched[i]);
#pragma unroll
        for (int i = 0; i < PAIR; i++)
            outliers_widen<T, HALF>(fetched[i], job.flip, keys[HELD + i]);
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
                finish_wide_row<T>(job, in, out, place, &keys[i], low, high, row + i,
                                   job.in_z ? row + i : strip.plane);
        }
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int k = 0; k < WIDER; k++)
                keys[i][k] = keys[PAIR + i][k];
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

/* Does windows of 3 x 3 and 5 x 5, with the rows in registers. */
static enum ts_status outliers_march(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct plane_job *job,
                                     const struct cuda_call *call)
{
    struct plane_job march_job = *job;
    const size_t group = RUN * ts_dtype_bytes(in->dtype);
    const dim3 threads(WARP, WARPS);
    march_job.tiles_x = ts_cuda_parts(job->n, WARP * RUN);
    march_job.tiles_y = ts_cuda_parts(job->n_rows, ROWS);
    march_job.aligned =
        job->n % RUN == 0 && ((uintptr_t)in->data | (uintptr_t)out->data) % group == 0;
    const unsigned blocks =
        (unsigned)ts_cuda_parts(march_job.tiles_x * march_job.tiles_y * job->n_planes, WARPS);
#define MARCH(T)                                                                                   \
    if (job->size == 3)                                                                            \
        march_3<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data,      \
                                                         march_job);                               \
    else                                                                                           \
        march_5<T>                                                                                 \
            <<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data, march_job)
    TS_CUDA_BIT_TYPES(in->dtype, MARCH)
#undef MARCH
    return ts_cuda_launched(context, "march");
}

enum { TILE_X = WARP * RUN, TILE_Y = WARPS * RUN };

/* ---- medians --------------------------------------------------------------------------------- */

/* `window` points to the first key; rows are `stride` keys apart. */
template <int SIZE> static __device__ int32_t median_of(const int32_t *window, int stride)
{
    int32_t keys[SIZE * SIZE];
#pragma unroll
    for (int i = 0; i < SIZE * SIZE; i++)
        keys[i] = window[i / SIZE * stride + i % SIZE];
    return ts_cuda_median<SIZE * SIZE>(keys);
}

/* ---- a tile ---------------------------------------------------------------------------------- */

/* Returns the keys from one row of the tile to the next: a multiple of RUN, so that groups are
 * aligned. */
static __host__ __device__ int tile_stride(int size)
{
    return (TILE_X + size - 1 + RUN - 1) / RUN * RUN;
}

/* Loads columns [0, width) of a row of the tile, which start at `column` of the plane. */
template <typename T>
static __device__ void load_row(const struct plane_job &job, const T *__restrict__ line,
                                int64_t column, int width, int32_t *keys)
{
    if (column >= 0 && column + width <= job.n) {
#pragma unroll 5
        for (int c = threadIdx.x; c < width; c += WARP)
            keys[c] = ts_cuda_key_of<T>(line[column + c], job.flip);
        return;
    }
    for (int c = threadIdx.x; c < width; c += WARP)
        keys[c] = ts_cuda_key_of<T>(line[ts_cuda_border_index(column + c, job.n, BORDER_REFLECT)],
                                    job.flip);
}

template <typename T>
static __device__ void load_tile(const struct plane_job &job, const T *__restrict__ in, int64_t row,
                                 int64_t column, int rows, int32_t *tile)
{
    const int half = job.size / 2, width = TILE_X + 2 * half, stride = tile_stride(job.size);
#pragma unroll 2
    for (int r = threadIdx.y; r < rows + 2 * half; r += WARPS) {
        const int64_t from =
            job.in_z ? row + r : ts_cuda_border_index(row + r - half, job.n_rows, BORDER_REFLECT);
        load_row<T>(job, in + from * job.row_stride, column - half, width, tile + r * stride);
    }
}

/* Finds the extremes of the windows of RUN neighbors in one row of the tile. */
template <int SIZE>
static __device__ void find_extremes(const int32_t *line, int size, int32_t lows[RUN],
                                     int32_t highs[RUN])
{
    if (SIZE) {
        int32_t keys[RUN + SIZE];
#pragma unroll
        for (int i = 0; i < RUN + SIZE - 1; i++)
            keys[i] = line[i];
        /* The keys that all windows have in common come first. */
        int32_t low = keys[RUN - 1], high = low;
#pragma unroll
        for (int i = RUN; i < SIZE; i++) {
            low = min(low, keys[i]);
            high = max(high, keys[i]);
        }
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            lows[k] = highs[k] = keys[k];
            if (SIZE >= RUN) {
                lows[k] = min(low, keys[k]);
                highs[k] = max(high, keys[k]);
            }
#pragma unroll
            for (int i = 1; i < SIZE; i++)
                if (SIZE < RUN || k + i < RUN - 1 || k + i >= SIZE) {
                    lows[k] = min(lows[k], keys[k + i]);
                    highs[k] = max(highs[k], keys[k + i]);
                }
        }
    } else {
        for (int k = 0; k < RUN; k++)
            lows[k] = highs[k] = line[k];
        for (int i = 1; i < size; i++)
            for (int k = 0; k < RUN; k++) {
                lows[k] = min(lows[k], line[k + i]);
                highs[k] = max(highs[k], line[k + i]);
            }
    }
}

/* Returns the key that replaces the middle of a window. In larger windows it first counts the keys
 * that speak for an outlier, because a median takes 32 times as long. */
template <typename T, int SIZE>
static __device__ int32_t clean(const int32_t *window, int stride, int32_t key,
                                const struct plane_job &job, int *replaced)
{
    enum { FIXED = SIZE ? SIZE : 5 };
    if (SIZE)
        return outliers_decide<T>(key, median_of<FIXED>(window, stride), job, replaced);
    const int32_t bright = outliers_bright_limit<T>(key, job),
                  dark = outliers_dark_limit<T>(key, job);
    int below = 0, above = 0;
    for (int row = 0; row < job.size; row++)
        for (int column = 0; column < job.size; column++) {
            below += window[row * stride + column] <= bright;
            above += window[row * stride + column] >= dark;
        }
    const int most =
        max(job.kind & OUTLIERS_BRIGHT ? below : 0, job.kind & OUTLIERS_DARK ? above : 0);
    if (2 * most <= job.size * job.size)
        return key;
    return outliers_decide<T>(key, ts_cuda_median_by_bits<32>(window, stride, 0, job.size, 1), job,
                              replaced);
}

/* Replaces outliers in one tile for each block. */
template <typename T, int SIZE>
static __global__ void __launch_bounds__(WARP *WARPS)
    clean_tiles(const T *__restrict__ in, T *__restrict__ out, struct plane_job job)
{
    extern __shared__ __align__(16) int32_t tile[];
    const int size = SIZE ? SIZE : job.size, half = size / 2, stride = tile_stride(size);
    const int64_t tile_x = blockIdx.x % job.tiles_x,
                  tile_y = blockIdx.x / job.tiles_x % job.tiles_y;
    const int64_t plane = blockIdx.x / job.tiles_x / job.tiles_y, first_row = tile_y * TILE_Y;
    const int rows = (int)min((int64_t)TILE_Y, job.n_rows - first_row);
    load_tile(job, in + plane * job.plane_stride, first_row, tile_x * TILE_X, rows, tile);
    __syncthreads();
    const int64_t x = tile_x * TILE_X + threadIdx.x * RUN;
    out += plane * job.plane_stride;
    for (int row = threadIdx.y; row < rows; row += WARPS) {
        const int32_t *window = tile + row * stride + threadIdx.x * RUN;
        int32_t lows[RUN], highs[RUN], keys[RUN];
        int replaced = 0;
        find_extremes<SIZE>(window, size, lows, highs);
#pragma unroll(SIZE ? SIZE / 2 : 1)
        for (int r = 1; r <= half; r++) {
            int32_t low[RUN], high[RUN];
            find_extremes<SIZE>(window + r * stride, size, low, high);
#pragma unroll
            for (int k = 0; k < RUN; k++) {
                lows[k] = min(lows[k], low[k]);
                highs[k] = max(highs[k], high[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            const int32_t key = window[half * stride + half + k];
            const bool near = outliers_near<T>(key, lows[k], highs[k], job);
            keys[k] = near && x + k < job.n
                          ? clean<T, SIZE>(window + k, stride, key, job, &replaced)
                          : key;
        }
        outliers_count(job, job.in_z ? first_row + row : plane, replaced);
        outliers_store<T>(job, out + (first_row + row) * job.row_stride, x,
                          job.aligned && x + RUN <= job.n, keys);
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

template <typename T>
static enum ts_status outliers_launch(const struct stage_context *context,
                                      const struct ts_image *in, struct ts_image *out,
                                      struct plane_job *job, const struct cuda_call *call)
{
    const int rows = (int)(job->n_rows < TILE_Y ? job->n_rows : TILE_Y);
    const size_t shared =
        (size_t)((rows + job->size - 1) * tile_stride(job->size)) * sizeof(int32_t);
    const unsigned blocks = (unsigned)(job->tiles_x * job->tiles_y * job->n_planes);
    const dim3 threads(WARP, WARPS);
    const T *from = (const T *)in->data;
    T *to = (T *)out->data;
    job->aligned = job->n % RUN == 0 && (uintptr_t)to % (RUN * sizeof(T)) == 0;
    if (job->size == 5)
        clean_tiles<T, 5><<<blocks, threads, shared, call->stream>>>(from, to, *job);
    else
        clean_tiles<T, 0><<<blocks, threads, shared, call->stream>>>(from, to, *job);
    return ts_cuda_launched(context, "clean_tiles");
}

static enum ts_status outliers_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct outliers_params *params = (const struct outliers_params *)context->params;
    const bool in_z = params->plane == OUTLIERS_PROJECTION;
    const int64_t slice = out->axes[1].n * out->axes[2].n;
    struct plane_job job = {.n_planes = out->axes[in_z ? 1 : 0].n,
                            .n_rows = out->axes[in_z ? 0 : 1].n,
                            .n = out->axes[2].n,
                            .plane_stride = in_z ? out->axes[2].n : slice,
                            .row_stride = in_z ? slice : out->axes[2].n,
                            .threshold = params->threshold,
                            .real = (float)params->threshold,
                            .whole =
                                params->threshold < 0x1p30 ? (int32_t)params->threshold : 1 << 30,
                            .size = (int)params->size,
                            .kind = params->kind,
                            .in_z = in_z};
    if ((double)job.real > params->threshold)
        job.real = nextafterf(job.real, 0);
    job.tiles_x = ts_cuda_parts(job.n, TILE_X);
    job.tiles_y = ts_cuda_parts(job.n_rows, TILE_Y);
    job.flip = ts_cuda_key_flip(out->dtype);
    job.replaced = (unsigned long long *)context->tables[0].data;
    if (cudaMemsetAsync(job.replaced, 0, (size_t)out->axes[0].n * sizeof *job.replaced,
                        call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "memset");
    if (job.size == 3 || (job.size == 5 && job.threshold > 0))
        return outliers_march(context, in, out, &job, call);
    enum ts_status status;
#define LAUNCH(T) status = outliers_launch<T>(context, in, out, &job, call)
    TS_CUDA_BIT_TYPES(out->dtype, LAUNCH)
#undef LAUNCH
    return status;
}

const struct stage_cuda outliers_cuda = {.map = outliers_map};
