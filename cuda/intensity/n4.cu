/* SPDX-License-Identifier: Apache-2.0
 *
 * n4 on a CUDA device: the samples are gathered in the partial of the volume, a float each, where
 * n4_fit.cu finds the field, and the map divides by it. The rows of a slice are cut into chunks
 * within a span along y; a thread of the map has one x of a chunk, keeps the four rows of the field
 * in registers, and reads and writes each voxel once.
 */
#include "cuda/intensity/n4.cuh"
#include "cuda/values/value_at.cuh"

extern "C" {
#include "stages/values/log_f32.h"
}

/* ---- constants ------------------------------------------------------------------------------- */

static size_t n4_constants_bytes(const struct stage_context *context)
{
    const struct n4_grid grid = ts_n4_grid(context);
    struct memory_layout layout = {};
    ts_cuda_n4_constants(context, &grid, &layout);
    return layout.bytes;
}

static void n4_write_constants(const struct stage_context *context, void *host)
{
    const struct n4_grid grid = ts_n4_grid(context);
    const int padded = ts_n4_padded((const struct n4_params *)context->params);
    struct memory_layout layout = {host, 0, 0};
    const struct n4_constants c = ts_cuda_n4_constants(context, &grid, &layout);
    for (int d = 0; d < 3; d++) {
        for (int level = 0; level < grid.levels; level++)
            ts_n4_taps_fill(&grid.axes[d], level, false, &c.samples[level][d]);
        ts_n4_taps_fill(&grid.axes[d], grid.levels - 1, true, &c.voxels[d]);
    }
    for (int level = 0; level < grid.levels; level++)
        ts_cuda_n4_cut(&grid.axes[1], level, false, c.sample_chunks[level].first);
    ts_cuda_n4_cut(&grid.axes[1], grid.levels - 1, true, c.voxel_chunks.first);
    for (int i = 0; i < padded; i++)
        c.cosines[i] = cos(2 * acos(-1.0) * i / padded);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The slices of which samples are taken: `first` is the first slice of samples in them, n are how
 * many. */
struct gathering {
    const void *data, *mask, *weights;
    const uint64_t *valid, *mask_valid, *weights_valid;
    enum ts_dtype dtype, mask_dtype, weights_dtype;
    int64_t ny, nx, z_first, first, n;
    struct n4_axis axes[3];
    float *logs, *sample_weights;
};

static __device__ bool n4_is_valid(const uint64_t *valid, const struct gathering &g, int64_t z,
                                   int64_t pixel)
{
    const int64_t words = (g.ny * g.nx + 63) / 64;
    return !valid || (valid[z * words + pixel / 64] >> pixel % 64 & 1);
}

/* A thread takes one sample: its logarithm, or NaN if it does not count, and its weight. */
static __global__ void __launch_bounds__(N4_BLOCK) n4_gather(struct gathering g)
{
    const int64_t plane = g.axes[1].samples * g.axes[2].samples,
                  i = (int64_t)blockIdx.x * N4_BLOCK + threadIdx.x;
    if (i >= g.n * plane)
        return;
    const int64_t k = g.first + i / plane, j = i % plane / g.axes[2].samples,
                  l = i % g.axes[2].samples;
    const int64_t z = g.axes[0].first + k * g.axes[0].step - g.z_first;
    const int64_t pixel = (g.axes[1].first + j * g.axes[1].step) * g.nx + g.axes[2].first +
                          l * g.axes[2].step,
                  at = z * g.ny * g.nx + pixel, to = k * plane + i % plane;
    const float value = (float)ts_cuda_value_at(g.data, g.dtype, at);
    bool counts = value > 0 && value <= FLT_MAX && n4_is_valid(g.valid, g, z, pixel);
    if (counts && g.mask) {
        const double mask = ts_cuda_value_at(g.mask, g.mask_dtype, at);
        counts = mask != 0 && mask == mask && n4_is_valid(g.mask_valid, g, z, pixel);
    }
    if (counts && g.weights) {
        const float weight = (float)ts_cuda_value_at(g.weights, g.weights_dtype, at);
        counts = weight > 0 && weight <= FLT_MAX && n4_is_valid(g.weights_valid, g, z, pixel);
        g.sample_weights[to] = counts ? weight : 0;
    }
    g.logs[to] = counts ? ts_log_f32(value) : NAN;
}

/* The weights come after the samples. */
static size_t n4_samples_bytes(const struct n4_grid *grid)
{
    return ts_cuda_stride((size_t)ts_n4_samples(grid) * sizeof(float));
}

/* Only one process or device sets each float of a partial, so that partials of zeros can be joined
 * as if they were counts. */
static size_t n4_partial_bytes(const struct stage_context *context, int input)
{
    const struct n4_grid grid = ts_n4_grid(context);
    if (input > 0)
        return 0;
    return n4_samples_bytes(&grid) * (context->references[N4_WEIGHTS] ? 2 : 1);
}

static enum ts_status n4_reduce(const struct stage_context *context, int input,
                                const struct ts_image *slices, void *partial,
                                const struct cuda_call *call)
{
    const struct n4_grid grid = ts_n4_grid(context);
    const struct n4_axis *z = &grid.axes[0];
    struct gathering g = {};
    (void)input;
    g.data = slices[0].data;
    g.dtype = slices[0].dtype;
    g.valid = slices[0].valid;
    if (context->references[N4_MASK]) {
        g.mask = slices[1 + N4_MASK].data;
        g.mask_dtype = slices[1 + N4_MASK].dtype;
        g.mask_valid = slices[1 + N4_MASK].valid;
    }
    if (context->references[N4_WEIGHTS]) {
        g.weights = slices[1 + N4_WEIGHTS].data;
        g.weights_dtype = slices[1 + N4_WEIGHTS].dtype;
        g.weights_valid = slices[1 + N4_WEIGHTS].valid;
    }
    g.ny = slices[0].axes[1].n;
    g.nx = slices[0].axes[2].n;
    g.z_first = slices[0].z_first;
    for (int d = 0; d < 3; d++)
        g.axes[d] = grid.axes[d];
    g.logs = (float *)partial;
    g.sample_weights = (float *)((char *)partial + n4_samples_bytes(&grid));
    const int64_t end = g.z_first + slices[0].axes[0].n;
    while (g.first < z->samples && z->first + g.first * z->step < g.z_first)
        g.first++;
    while (g.first + g.n < z->samples && z->first + (g.first + g.n) * z->step < end)
        g.n++;
    const int64_t count = g.n * grid.axes[1].samples * grid.axes[2].samples;
    if (count == 0)
        return TS_OK;
    n4_gather<<<(unsigned)ts_cuda_parts(count, N4_BLOCK), N4_BLOCK, 0, call->stream>>>(g);
    return ts_cuda_launched(context, "n4 gather");
}

/* ---- field ----------------------------------------------------------------------------------- */

static size_t n4_reduce_bytes(const struct stage_context *context, int input, int64_t n)
{
    (void)input;
    (void)n;
    return ts_cuda_n4_fit_bytes(context);
}

static bool n4_finishes(const struct stage_context *context)
{
    (void)context;
    return true;
}

static size_t n4_result_bytes(const struct stage_context *context)
{
    const struct n4_grid grid = ts_n4_grid(context);
    return ts_n4_record_doubles(&grid) * sizeof(double);
}

static enum ts_status n4_finish(const struct stage_context *context, const void *partials,
                                void *results, int64_t n, const struct cuda_call *call)
{
    const struct n4_grid grid = ts_n4_grid(context);
    const float *weights = (const float *)((const char *)partials + n4_samples_bytes(&grid));
    (void)n;
    return ts_cuda_n4_fit(context, (const float *)partials,
                          context->references[N4_WEIGHTS] ? weights : NULL, (double *)results,
                          call);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = n4_partial_bytes,
    .scratch_bytes = n4_reduce_bytes,
    .reduce = n4_reduce,
    .finishes = n4_finishes,
    .result_bytes = n4_result_bytes,
    .finish = n4_finish,
};

/* ---- map ------------------------------------------------------------------------------------- */

struct division {
    const void *in;
    float *out, *field; /* field is NULL if it is not kept */
    const float *rows, *factors;
    const int32_t *spans;
    struct n4_chunks chunks;
    int64_t points_y, ny, nx;
};

/* A thread divides one x of the rows of a chunk. */
template <typename T>
static __global__ void __launch_bounds__(N4_THREADS) n4_divide(struct division d)
{
    const int64_t tasks_x = ts_cuda_parts(d.nx, N4_THREADS),
                  x = blockIdx.x % tasks_x * N4_THREADS + threadIdx.x,
                  z = blockIdx.x / tasks_x / d.chunks.n;
    const int32_t chunk = (int32_t)(blockIdx.x / tasks_x % d.chunks.n),
                  first = d.chunks.first[chunk], end = d.chunks.first[chunk + 1];
    float rows[N4_TAPS];
    if (x >= d.nx)
        return;
#pragma unroll
    for (int k = 0; k < N4_TAPS; k++)
        rows[k] = d.rows[(z * d.points_y + d.spans[first] + k) * d.nx + x];
    for (int32_t y = first; y < end; y++) {
        const int64_t at = (z * d.ny + y) * d.nx + x;
        const float *b = d.factors + y * N4_TAPS;
        const float f = ts_n4_sum(b, rows[0], rows[1], rows[2], rows[3]);
        d.out[at] = (float)((const T *)d.in)[at] * ts_n4_exp(-f);
        if (d.field)
            d.field[at] = ts_n4_exp(f);
    }
}

static size_t n4_map_bytes(const struct stage_context *context, int64_t n)
{
    const struct n4_grid grid = ts_n4_grid(context);
    return (size_t)(n * ts_n4_points(&grid, grid.levels - 1, 1) * grid.axes[2].n) * sizeof(float);
}

static enum ts_status n4_map(const struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out, const struct cuda_call *call)
{
    const struct n4_params *params = (const struct n4_params *)context->params;
    const struct n4_grid grid = ts_n4_grid(context);
    struct memory_layout layout = {(void *)call->constants, 0, 0};
    const struct n4_constants c = ts_cuda_n4_constants(context, &grid, &layout);
    const int64_t nx = grid.axes[2].n, nz = out->axes[0].n;
    struct n4_row_sums sums = {};
    sums.lattice = ts_n4_record(&grid, (double *)call->result).lattice;
    sums.z_taps = c.voxels[0];
    sums.x_taps = c.voxels[2];
    for (int d = 0; d < 3; d++)
        sums.points[d] = ts_n4_points(&grid, grid.levels - 1, d);
    sums.z_first = out->z_first;
    sums.nz = nz;
    sums.nx = nx;
    sums.field = (float *)call->scratch;
    const enum ts_status status = ts_cuda_n4_rows(context, &sums, call->stream);
    if (status != TS_OK)
        return status;
    const struct division d = {in->data,
                               (float *)out->data,
                               params->field ? (float *)context->tables[0].data : NULL,
                               sums.field,
                               c.voxels[1].field,
                               c.voxels[1].spans,
                               c.voxel_chunks,
                               sums.points[1],
                               grid.axes[1].n,
                               nx};
    const unsigned blocks = (unsigned)(ts_cuda_parts(nx, N4_THREADS) * c.voxel_chunks.n * nz);
#define DIVIDE(T) n4_divide<T><<<blocks, N4_THREADS, 0, call->stream>>>(d)
    TS_CUDA_DTYPES(in->dtype, DIVIDE)
#undef DIVIDE
    return ts_cuda_launched(context, "n4 divide");
}

const struct stage_cuda n4_cuda = {
    .constants_bytes = n4_constants_bytes,
    .constants = n4_write_constants,
    .scratch_bytes = n4_map_bytes,
    .map = n4_map,
    .reduction = &reduction,
};
