/* SPDX-License-Identifier: Apache-2.0
 *
 * bad_pixels on a CUDA device, by the rules of stages/scan/bad_pixels.c and the operations of
 * bad_pixels.h.
 *
 * A slab takes four launches. `look`: a thread goes down the views of one detector pixel, UNROLL
 * values in flight. `judge`: a block finds the dead detector pixels of one slice. `find_good`: a
 * block looks for a good pixel in one row, and mostly finds it among the first. `fill`: a block
 * writes one row; a thread whose pixel is bad walks to its good neighbors, which are near where
 * gaps are narrow. So a value is read twice and written once; blocks are 128 threads, so that short
 * rows leave few idle.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/bad_pixels.h"
}

enum { THREADS = 128, UNROLL = 8, MOST_Y = 65535 };

/* The slab has n_slices, including its halo. */
template <typename T> struct job {
    const T *in;
    T *out;
    const uint64_t *valid; /* NULL: all pixels are valid */
    int64_t valid_words;   /* words of a slice's bits */
    int64_t n_slices, n_views, n, halo;
    struct bad_levels levels;
    double ratio;
    bool find, all, zero_is_dead;
    struct bad_column *columns;
    unsigned char *dead, *good; /* flags of dead detector pixels; flags of rows with a good pixel */
    unsigned long long *tables[BAD_KINDS];
};

/* ---- one pixel ------------------------------------------------------------------------------- */

template <typename T>
static __device__ bool is_valid(const struct job<T> &job, int64_t z, int64_t view, int64_t d)
{
    const int64_t i = view * job.n + d;
    return !job.valid || (job.valid[z * job.valid_words + i / 64] >> i % 64 & 1);
}

/* Returns the kind of a pixel, without what is known about its detector pixel. */
template <typename T>
static __device__ int kind_alone(const struct job<T> &job, int64_t z, int64_t view, int64_t d,
                                 double value)
{
    return is_valid(job, z, view, d) ? ts_bad_kind(value, job.levels) : BAD_MASKED;
}

template <typename T>
static __device__ double value_of(const struct job<T> &job, int64_t z, int64_t view, int64_t d)
{
    return (double)job.in[(z * job.n_views + view) * job.n + d];
}

template <typename T>
static __device__ int kind_of(const struct job<T> &job, int64_t z, int64_t view, int64_t d)
{
    const int kind = kind_alone(job, z, view, d, value_of(job, z, view, d));
    return kind == BAD_NONE && job.dead[z * job.n + d] ? (int)BAD_DEAD : kind;
}

/* Rounds as the output's type does: to an integer, or to float. */
template <typename T> static __device__ double rounded(double value)
{
    return std::is_same<T, float>::value ? (double)(float)value : rint(value);
}

/* Returns a pixel of a row that has good ones, filled along the detector. */
template <typename T>
static __device__ double filled(const struct job<T> &job, int64_t z, int64_t view, int64_t d)
{
    int64_t low = d, high = d;
    if (kind_of(job, z, view, d) == BAD_NONE)
        return value_of(job, z, view, d);
    while (low >= 0 && kind_of(job, z, view, low) != BAD_NONE)
        low--;
    while (high < job.n && kind_of(job, z, view, high) != BAD_NONE)
        high++;
    return rounded<T>(ts_bad_between(low < 0 ? 0 : value_of(job, z, view, low), low,
                                     high < job.n ? value_of(job, z, view, high) : 0,
                                     high < job.n ? high : -1, d));
}

/* ---- the first step -------------------------------------------------------------------------- */

template <typename T>
static __device__ void look_at_column(const struct job<T> &job, int64_t z, int64_t d)
{
    struct bad_column column = {0, 0, 0, false};
    for (int64_t view = 0; view < job.n_views; view += UNROLL) {
        double values[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            values[i] = view + i < job.n_views ? value_of(job, z, view + i, d) : 0;
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            if (view + i < job.n_views && kind_alone(job, z, view + i, d, values[i]) == BAD_NONE)
                ts_bad_column_add(&column, values[i]);
    }
    job.columns[z * job.n + d] = column;
}

template <typename T> static __global__ void __launch_bounds__(THREADS) look(struct job<T> job)
{
    const int64_t d = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    for (int64_t z = blockIdx.y; d < job.n && z < job.n_slices; z += gridDim.y)
        look_at_column(job, z, d);
}

/* The detector pixels of a slice that vary: the first and the last, and how many constant ones
 * between them are dead. */
struct varying {
    int first, last, n_dead;
};

static __device__ bool is_dead(const struct bad_column &column, const struct varying &varying,
                               int64_t d, bool zero_is_dead)
{
    const bool inside = d > varying.first && d < varying.last;
    return ts_bad_column_constant(&column) && (inside || (zero_is_dead && column.first == 0));
}

template <typename T>
static __device__ void find_dead(const struct job<T> &job, const struct bad_column *columns,
                                 unsigned char *dead, struct varying *varying)
{
    for (int64_t d = threadIdx.x; d < job.n; d += THREADS)
        if (ts_bad_column_varies(&columns[d])) {
            atomicMin(&varying->first, (int)d);
            atomicMax(&varying->last, (int)d);
        }
    __syncthreads();
    const bool finds = job.find && varying->last >= 0;
    for (int64_t d = threadIdx.x; d < job.n; d += THREADS) {
        dead[d] = job.all ? ts_bad_column_constant(&columns[d])
                          : finds && is_dead(columns[d], *varying, d, job.zero_is_dead);
        if (dead[d])
            atomicAdd(&varying->n_dead, 1);
    }
    __syncthreads();
    if (2 * (int64_t)varying->n_dead > job.n && !job.all)
        for (int64_t d = threadIdx.x; d < job.n; d += THREADS)
            dead[d] = 0;
    __syncthreads();
}

/* Marks those that stand out with 2, which the test of other pixels treats like 0. */
template <typename T> static __global__ void __launch_bounds__(THREADS) judge(struct job<T> job)
{
    const struct bad_column *columns = job.columns + blockIdx.x * job.n;
    unsigned char *dead = job.dead + blockIdx.x * job.n;
    __shared__ struct varying varying;
    if (threadIdx.x == 0)
        varying = {INT32_MAX, -1, 0};
    __syncthreads();
    find_dead(job, columns, dead, &varying);
    if (job.ratio < INFINITY)
        for (int64_t d = threadIdx.x; d < job.n; d += THREADS)
            if (ts_bad_column_stands_out(columns, dead, job.n, d, job.ratio))
                dead[d] = 2;
}

template <typename T> static __global__ void __launch_bounds__(THREADS) find_good(struct job<T> job)
{
    const int64_t z = blockIdx.x / job.n_views, view = blockIdx.x % job.n_views;
    bool found = false;
    for (int64_t first = 0; first < job.n && !found; first += THREADS) {
        const int64_t d = first + threadIdx.x;
        found = __syncthreads_or(d < job.n && kind_of(job, z, view, d) == BAD_NONE);
    }
    if (threadIdx.x == 0)
        job.good[blockIdx.x] = found;
}

/* ---- the second step ------------------------------------------------------------------------- */

static __device__ int64_t nearest_good(const unsigned char *good, int64_t step, int64_t most)
{
    for (int64_t i = 1; i <= most; i++)
        if (good[i * step])
            return i;
    return -1;
}

/* The rows from which a row without a good pixel is filled: distances in views or slices, or -1. */
struct rows_beside {
    int64_t below, above;
    bool of_views;
};

template <typename T>
static __device__ struct rows_beside find_rows(const struct job<T> &job, int64_t z, int64_t view)
{
    const unsigned char *good = job.good + z * job.n_views + view;
    struct rows_beside rows = {nearest_good(good, -1, view),
                               nearest_good(good, 1, job.n_views - 1 - view), true};
    if (rows.below > 0 || rows.above > 0)
        return rows;
    return {nearest_good(good, -job.n_views, job.halo), nearest_good(good, job.n_views, job.halo),
            false};
}

template <typename T>
static __device__ double between_rows(const struct job<T> &job, int64_t z, int64_t view, int64_t d,
                                      const struct rows_beside &rows)
{
    double a = 0, b = 0;
    if (rows.below > 0)
        a = filled(job, rows.of_views ? z : z - rows.below,
                   rows.of_views ? view - rows.below : view, d);
    if (rows.above > 0)
        b = filled(job, rows.of_views ? z : z + rows.above,
                   rows.of_views ? view + rows.above : view, d);
    const int64_t at = rows.below > 0 ? rows.below : 0;
    return rounded<T>(
        ts_bad_between(a, rows.below > 0 ? 0 : -1, b, rows.above > 0 ? at + rows.above : -1, at));
}

template <typename T> static __global__ void __launch_bounds__(THREADS) fill(struct job<T> job)
{
    const int64_t z = blockIdx.x / job.n_views, view = blockIdx.x % job.n_views,
                  from = z + job.halo;
    const bool good = job.good[from * job.n_views + view];
    struct rows_beside rows = {-1, -1, true};
    if (!good)
        rows = find_rows(job, from, view);
    const bool left = !good && rows.below < 0 && rows.above < 0;
    T *out = job.out + (int64_t)blockIdx.x * job.n;
    for (int64_t d = threadIdx.x; d < job.n; d += THREADS) {
        const int kind = kind_of(job, from, view, d);
        T value = job.in[(from * job.n_views + view) * job.n + d];
        if (kind != BAD_NONE) {
            atomicAdd(&job.tables[kind][z], 1ull);
            if (left)
                atomicAdd(&job.tables[BAD_LEFT][z], 1ull);
            else
                value =
                    (T)(good ? filled(job, from, view, d) : between_rows(job, from, view, d, rows));
        }
        out[d] = value;
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

static size_t part_bytes(int64_t count, size_t bytes)
{
    return ts_cuda_stride((size_t)count * bytes);
}

static int64_t slices_of(const struct stage_context *context, int64_t n)
{
    return n + 2 * ((const struct bad_pixels_params *)context->params)->rows;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const int64_t slices = slices_of(context, n), pixels = slices * context->in.axes[2].n;
    return part_bytes(pixels, sizeof(struct bad_column)) + part_bytes(pixels, 1) +
           part_bytes(slices * context->in.axes[1].n, 1);
}

template <typename T>
static enum ts_status bad_pixels_launch(const struct stage_context *context,
                                        const struct job<T> &job, int64_t nz, cudaStream_t stream)
{
    const int64_t slices = job.n_slices;
    const dim3 columns((unsigned)ts_cuda_parts(job.n, THREADS),
                       (unsigned)(slices < MOST_Y ? slices : MOST_Y));
    look<T><<<columns, THREADS, 0, stream>>>(job);
    enum ts_status status = ts_cuda_launched(context, "bad_pixels look");
    if (status != TS_OK)
        return status;
    judge<T><<<(unsigned)slices, THREADS, 0, stream>>>(job);
    status = ts_cuda_launched(context, "bad_pixels judge");
    if (status != TS_OK)
        return status;
    find_good<T><<<(unsigned)(slices * job.n_views), THREADS, 0, stream>>>(job);
    status = ts_cuda_launched(context, "bad_pixels find_good");
    if (status != TS_OK)
        return status;
    fill<T><<<(unsigned)(nz * job.n_views), THREADS, 0, stream>>>(job);
    return ts_cuda_launched(context, "bad_pixels fill");
}

template <typename T>
static enum ts_status map_typed(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    const struct bad_pixels_params *params = (const struct bad_pixels_params *)context->params;
    const int64_t nz = out->axes[0].n, slices = slices_of(context, nz), n = out->axes[2].n;
    char *scratch = (char *)call->scratch;
    struct job<T> job = {
    };
    job.in = (const T *)in->data;
    job.out = (T *)out->data;
    job.valid = in->valid;
    job.valid_words = (int64_t)(ts_valid_bytes(in) / sizeof(uint64_t));
    job.n_slices = slices;
    job.n_views = out->axes[1].n;
    job.n = n;
    job.halo = params->rows;
    job.levels = {params->lowest, params->highest};
    job.ratio = params->ratio;
    job.find = params->columns == COLUMNS_FIND;
    job.all = params->columns == COLUMNS_ALL;
    job.zero_is_dead = context->in.quantity == TS_COUNTS || context->in.quantity == TS_TRANSMISSION;
    job.columns = (struct bad_column *)scratch;
    job.dead = (unsigned char *)scratch + part_bytes(slices * n, sizeof(struct bad_column));
    job.good = job.dead + part_bytes(slices * n, 1);
    for (int kind = BAD_MASKED; kind < BAD_KINDS; kind++) {
        job.tables[kind] = (unsigned long long *)context->tables[kind - 1].data;
        if (cudaMemsetAsync(job.tables[kind], 0, (size_t)nz * sizeof(uint64_t), call->stream) !=
            cudaSuccess)
            return ts_cuda_launched(context, "memset");
    }
    return bad_pixels_launch(context, job, nz, call->stream);
}

static enum ts_status bad_pixels_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    enum ts_status status;
#define MAP(T) status = map_typed<T>(context, in, out, call)
    TS_CUDA_DTYPES(in->dtype, MAP)
#undef MAP
    return status;
}

const struct stage_cuda bad_pixels_cuda = {.scratch_bytes = scratch_bytes, .map = bad_pixels_map};
