/* SPDX-License-Identifier: Apache-2.0
 *
 * median of 3 x 3 windows in a slice: a lane reads 10 rows of 6 columns straight into registers and finds the medians
 * of 8 rows of 4 columns. Floats are compared as floats, which saves turning them into keys and back; a lane that has
 * read a NaN or an infinity takes keys instead, since a NaN has its place in the order of keys alone.
 *
 * Memory traffic: each value is read once from memory and written once; two rows of ten and two columns of 128 are read
 * again, from the first or second cache. All reads of a lane are on their way at once and warps do not wait for one
 * another, so that 20 warps on a multiprocessor keep the memory busy; more warps would leave too few registers for ten
 * rows. The 4 warps of a block lie below one another.
 */
#include "cuda/filters/median_job.cuh"

enum { WARPS = 4, ROWS = 8, LINES = ROWS + 2, RESIDENT = 5 };

template <typename T> struct direct_row {
    median_words<T> own;
    uint32_t left, right;
};

/* Returns row y, which may lie outside the image, or NULL for the constant. */
template <typename T> static __device__ const T *find_line(const T *slice, int y, const median_job &job)
{
    const int from = ts_cuda_border_rarely(y, (int)job.ny, job.border);
    return from < 0 ? NULL : slice + from * job.nx;
}

/* Reads the rows from first - 1 on, with the columns on both sides of the lane's four. */
template <typename T>
static __device__ void read_rows(const T *slice, int x, int first, const median_job &job, direct_row<T> rows[LINES])
{
    int columns[GROUP + 2];
    columns[0] = ts_cuda_border_rarely(x - 1, (int)job.nx, job.border);
    columns[GROUP + 1] = ts_cuda_border_rarely(x + GROUP, (int)job.nx, job.border);
    if (job.nx % GROUP == 0 && first > 0 && first + ROWS < job.ny && columns[0] >= 0 && columns[GROUP + 1] >= 0) {
        const T *line = slice + (first - 1) * job.nx;
        const T *own = line + x, *left = line + columns[0], *right = line + columns[GROUP + 1];
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            rows[i] = {median_read(own, job), median_bits(*left, job), median_bits(*right, job)};
            own += job.nx;
            left += job.nx;
            right += job.nx;
        }
        return;
    }
    median_columns(x, GROUP, columns + 1, job);
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        const T *line = find_line(slice, first - 1 + i, job);
        rows[i] = {median_gather(line, columns + 1, job), median_bits_of(line, columns[0], job),
                   median_bits_of(line, columns[GROUP + 1], job)};
    }
}

/* A value times zero is zero unless it is a NaN or an infinity. */
static __device__ bool all_finite(const direct_row<float> rows[LINES])
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        float of_row = __fmaf_rn(__uint_as_float(rows[i].left), 0, __uint_as_float(rows[i].right) * 0.0f);
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            of_row = __fmaf_rn(__uint_as_float(rows[i].own.at[c]), 0, of_row);
        sum += of_row;
    }
    return sum == 0;
}

/* Writes the medians of n_rows rows, the first of which begins at to[0]. K is the type of the keys. */
template <typename K, typename T>
static __device__ void map_rows(const direct_row<T> rows[LINES], T *to, int x, int n_rows, bool whole,
                                const median_job &job)
{
    enum { HALVES = MEDIAN_ROWS_OF_KEY<T>, APART = ROWS / HALVES, WIDE = GROUP + 2 };
    K keys[APART + 2][WIDE];
#pragma unroll
    for (int i = 0; i < APART + 2; i++) {
        const direct_row<T> &upper = rows[i], &lower = rows[i + ROWS - APART];
        keys[i][0] = median_key_at<T, K>(&upper.left, &lower.left, 0);
        keys[i][WIDE - 1] = median_key_at<T, K>(&upper.right, &lower.right, 0);
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            keys[i][c + 1] = median_key_at<T, K>(upper.own.at, lower.own.at, c);
    }
#pragma unroll
    for (int row = 0; row < APART; row += MEDIAN_DOWN) {
        K medians[MEDIAN_DOWN][GROUP];
        ts_medians_of_tile<3>(keys + row, medians);
#pragma unroll
        for (int i = 0; i < MEDIAN_DOWN * HALVES; i++) {
            const int y = row + i % MEDIAN_DOWN + i / MEDIAN_DOWN * APART;
            if (y < n_rows)
                median_write(to + y * job.nx, x, whole, median_words_of<T>(medians[i % MEDIAN_DOWN], i / MEDIAN_DOWN),
                             job);
        }
    }
}

template <typename T>
static __global__ void __launch_bounds__(WARP *WARPS, RESIDENT) map_direct(const T *in, T *out, median_job job)
{
    const int x = (int)(blockIdx.x % job.tiles_x * WARP + threadIdx.x) * GROUP;
    const int first = (int)(blockIdx.x / job.tiles_x * WARPS + threadIdx.y) * ROWS;
    const bool whole = job.nx % GROUP == 0;
    if (x >= job.nx || first >= job.ny)
        return;
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        direct_row<T> rows[LINES];
        read_rows(in + z * job.ny * job.nx, x, first, job, rows);
        T *to = out + (z * job.ny + first) * job.nx;
        const int n_rows = (int)min((int64_t)ROWS, job.ny - first);
        if constexpr (std::is_same<T, float>::value)
            if (all_finite(rows)) {
                map_rows<float>(rows, to, x, n_rows, whole, job);
                continue;
            }
        map_rows<median_key<T>>(rows, to, x, n_rows, whole, job);
    }
}

template <typename T>
static void launch(const struct ts_image *in, struct ts_image *out, median_job job, cudaStream_t stream)
{
    job.tiles_x = (unsigned)ts_cuda_parts(job.nx, WARP * GROUP);
    const dim3 threads(WARP, WARPS), blocks((unsigned)(job.tiles_x * ts_cuda_parts(job.ny, WARPS * ROWS)),
                                            (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    map_direct<T><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
}

enum ts_status ts_cuda_median_direct(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct median_job *job, const struct cuda_call *call)
{
#define LAUNCH(T) launch<T>(in, out, *job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median map_direct");
}
