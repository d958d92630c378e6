/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt on a CUDA device: x <- x + relaxation * C A' R (b - A x), over 128 slices at once (64 or 32 at the end of a
 * stack) as lanes; (z, view, detector) -> (z, y, x). A and A' are those of common/joseph.cu and joseph_back.cu.
 *
 * Besides A and A' an iteration has three kernels, bound by memory. subtract: one thread one sample at a time of one
 * slice, residual = R (b - A x) and the square of b - A x: 12 bytes a sample. decide: one block, one thread a slice
 * joins the squares and sees whether the slice is done. step: one thread one pixel at a time of one slice, 12 bytes a
 * pixel. Blocks of lanes x 8 threads, so that sums have an order that does not depend on the lanes.
 */
#include "cuda/common/iterate.cuh"

extern "C" {
#include "stages/sirt.h"
}

struct sirt_room {
    struct cuda_ray *rays;
    float *image, *change;      /* volumes as lanes */
    float *sinogram, *residual; /* sinograms as lanes */
    float *ray_weights, *pixel_weights;
    double *partial;
    struct cuda_iterate *state;
};

struct sirt_size {
    int64_t n_rays, n_places; /* places: pixels with the margin */
    int64_t chunk, n_chunks;  /* of rays */
    int lanes, n_slices;
    float relaxation;
    bool nonnegative;
};

static __global__ void ones(float *values, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        values[i] = 1;
}

/* 1 inside and 0 on the margin, of all lanes. */
static __global__ void ones_inside(float *values, int64_t ny, int64_t nx, int lanes)
{
    const int64_t width = nx + 2 * JOSEPH_MARGIN, n = (ny + 2 * JOSEPH_MARGIN) * width * lanes;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t y = i / lanes / width - JOSEPH_MARGIN, x = i / lanes % width - JOSEPH_MARGIN;
        values[i] = y >= 0 && y < ny && x >= 0 && x < nx ? 1 : 0;
    }
}

/* factor / sum of lane 0, or 0. */
static __global__ void invert_sums(const float *sums, int lanes, int64_t n, float factor, float *weights)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        weights[i] = sums[i * lanes] > 0 ? factor / sums[i * lanes] : 0;
}

/* grid: chunks of rays; lanes x ITERATE_SUMS threads. residual holds A x, or first: nothing yet. */
static __global__ void subtract(struct sirt_room room, struct sirt_size size, bool first)
{
    if (room.state->halt)
        return;
    const int lane = (int)threadIdx.x % size.lanes;
    const int64_t begin = (int64_t)blockIdx.x * size.chunk, end = min(begin + size.chunk, size.n_rays);
    double sum = 0;
    for (int64_t ray = begin + threadIdx.x / size.lanes; ray < end; ray += ITERATE_SUMS) {
        const int64_t i = ray * size.lanes + lane;
        const float value = room.sinogram[i] - (first ? 0 : room.residual[i]);
        sum += (double)value * value;
        room.residual[i] = value * room.ray_weights[ray];
    }
    ts_cuda_iterate_join(sum, size.lanes, room.partial);
}

/* One block, one thread a lane. */
static __global__ void decide(struct sirt_room room, struct sirt_size size, struct iterate iterate,
                              struct cuda_iterate_tables tables, int64_t i)
{
    const bool first = i == 0;
    __shared__ int going;
    const int lane = (int)threadIdx.x;
    struct cuda_iterate *state = room.state;
    if (!first && state->halt)
        return;
    if (lane == 0)
        going = 0;
    __syncthreads();
    const double square = ts_cuda_iterate_total(room.partial, size.n_chunks, size.lanes, lane);
    if (first)
        state->sinogram[lane] = square;
    const bool before = (!first && state->done[lane]) || lane >= size.n_slices;
    const bool done = before || ts_cuda_iterate_done(&iterate, square, state->sinogram[lane], (double)size.n_rays);
    if (!before)
        ts_cuda_iterate_record(&tables, lane, i, iterate.iterations, square, state->sinogram[lane], done);
    state->done[lane] = done;
    if (!done)
        atomicOr(&going, 1);
    __syncthreads();
    if (lane == 0)
        state->halt = !going;
}

/* One thread one pixel of one slice at a time; the margin's weights and changes are 0. */
static __global__ void step(struct sirt_room room, struct sirt_size size)
{
    if (room.state->halt)
        return;
    const int lane = (int)threadIdx.x % size.lanes;
    if (room.state->done[lane])
        return;
    const int64_t stride = (int64_t)gridDim.x * ITERATE_SUMS;
    for (int64_t at = (int64_t)blockIdx.x * ITERATE_SUMS + threadIdx.x / size.lanes; at < size.n_places; at += stride) {
        const int64_t i = at * size.lanes + lane;
        const float value = room.image[i] + room.pixel_weights[at] * room.change[i];
        room.image[i] = size.nonnegative && value < 0 ? 0 : value;
    }
}

/* ---- launching --------------------------------------------------------------------------------- */

enum { FILL_THREADS = 256, FILL_BLOCKS = 2048 };

static size_t volume_bytes(const struct beam_scan *scan, int lanes)
{
    return ts_cuda_lanes_bytes(scan->grid.n_rows, scan->grid.n_columns, JOSEPH_MARGIN, lanes);
}

static size_t sinogram_bytes(const struct beam_scan *scan, int lanes)
{
    return ts_cuda_lanes_bytes(scan->n_views, scan->grid.n_detectors, 0, lanes);
}

/* Lays the arrays of a group out from `at` on; returns the bytes. */
static size_t lay_out(const struct beam_scan *scan, int lanes, unsigned char *at, struct sirt_room *room)
{
    const size_t volume = volume_bytes(scan, lanes), sinogram = sinogram_bytes(scan, lanes);
    const size_t bytes[] = {ts_cuda_joseph_rays_bytes(scan),
                            volume,
                            volume,
                            sinogram,
                            sinogram,
                            ts_cuda_lanes_bytes(scan->n_views, scan->grid.n_detectors, 0, 1),
                            ts_cuda_lanes_bytes(scan->grid.n_rows, scan->grid.n_columns, JOSEPH_MARGIN, 1),
                            ts_cuda_iterate_partial_bytes(),
                            ts_cuda_stride(sizeof(struct cuda_iterate))};
    void **const parts[] = {(void **)&room->rays,          (void **)&room->image,    (void **)&room->change,
                            (void **)&room->sinogram,      (void **)&room->residual, (void **)&room->ray_weights,
                            (void **)&room->pixel_weights, (void **)&room->partial,  (void **)&room->state};
    size_t used = 0;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        *parts[i] = at ? at + used : NULL;
        used += bytes[i];
    }
    return used;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    struct sirt_room room;
    return lay_out(&scan, ts_cuda_lanes_for(n), NULL, &room);
}

/* R and C, by A and A' of ones. */
static enum ts_status find_weights(const struct stage_context *context, const struct cuda_joseph *joseph,
                                   const struct sirt_room *room, const struct sirt_size *size, cudaStream_t stream)
{
    const int lanes = size->lanes;
    ones_inside<<<FILL_BLOCKS, FILL_THREADS, 0, stream>>>(room->change, joseph->grid.n_rows, joseph->grid.n_columns,
                                                          lanes);
    enum ts_status status = ts_cuda_launched(context, "ones_inside");
    if (status == TS_OK)
        status = ts_cuda_joseph_project(context, joseph, room->change, lanes, room->residual, stream);
    if (status != TS_OK)
        return status;
    invert_sums<<<FILL_BLOCKS, FILL_THREADS, 0, stream>>>(room->residual, lanes, size->n_rays, 1, room->ray_weights);
    ones<<<FILL_BLOCKS, FILL_THREADS, 0, stream>>>(room->residual, size->n_rays * lanes);
    status = ts_cuda_launched(context, "ones");
    if (status == TS_OK) /* the margin of `change` is still 0 */
        status = ts_cuda_joseph_backproject(context, joseph, room->residual, lanes, room->change, stream);
    if (status != TS_OK)
        return status;
    invert_sums<<<FILL_BLOCKS, FILL_THREADS, 0, stream>>>(room->change, lanes, size->n_places, size->relaxation,
                                                          room->pixel_weights);
    return ts_cuda_launched(context, "invert_sums");
}

/* All iterations of the slices that stand in room->sinogram. */
static enum ts_status run_group(const struct stage_context *context, struct cuda_joseph joseph,
                                const struct sirt_room *room, const struct sirt_size *size,
                                struct cuda_iterate_tables tables, cudaStream_t stream)
{
    const struct iterate iterate = ts_sirt_iterate((const struct sirt_params *)context->params);
    const unsigned threads = (unsigned)(size->lanes * ITERATE_SUMS);
    const int64_t places = ts_cuda_parts(size->n_places, ITERATE_SUMS);
    const unsigned blocks = (unsigned)(places < ITERATE_BLOCKS ? places : ITERATE_BLOCKS);
    enum ts_status status = find_weights(context, &joseph, room, size, stream);
    if (status != TS_OK)
        return status;
    cudaMemsetAsync(room->state, 0, sizeof *room->state, stream);
    cudaMemsetAsync(room->image, 0, (size_t)(size->n_places * size->lanes) * sizeof(float), stream);
    joseph.halt = &room->state->halt;
    for (int64_t i = 0; status == TS_OK && i < iterate.iterations; i++) {
        if (i > 0)
            status = ts_cuda_joseph_project(context, &joseph, room->image, size->lanes, room->residual, stream);
        if (status != TS_OK)
            return status;
        subtract<<<(unsigned)size->n_chunks, threads, threads * sizeof(double), stream>>>(*room, *size, i == 0);
        decide<<<1, (unsigned)size->lanes, 0, stream>>>(*room, *size, iterate, tables, i);
        status = ts_cuda_launched(context, "decide");
        if (status == TS_OK)
            status = ts_cuda_joseph_backproject(context, &joseph, room->residual, size->lanes, room->change, stream);
        if (status != TS_OK)
            return status;
        step<<<blocks, threads, 0, stream>>>(*room, *size);
        status = ts_cuda_launched(context, "step");
    }
    return status;
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct sirt_params *params = (const struct sirt_params *)context->params;
    const struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    const int64_t nz = out->axes[0].n;
    struct sirt_size size = {scan.n_views * scan.grid.n_detectors,
                             (scan.grid.n_rows + 2 * JOSEPH_MARGIN) * (scan.grid.n_columns + 2 * JOSEPH_MARGIN)};
    size.chunk = ts_cuda_iterate_chunk(size.n_rays);
    size.n_chunks = ts_cuda_parts(size.n_rays, size.chunk);
    size.relaxation = (float)params->relaxation;
    size.nonnegative = params->nonnegative;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < nz; z += size.n_slices) {
        struct sirt_room room;
        struct cuda_joseph joseph;
        size.lanes = ts_cuda_lanes_for(nz - z);
        size.n_slices = (int)(nz - z < size.lanes ? nz - z : size.lanes);
        lay_out(&scan, size.lanes, (unsigned char *)call->scratch, &room);
        status = ts_cuda_joseph_rays(context, &scan, call->constants, room.rays, call->stream, &joseph);
        if (status == TS_OK)
            status = ts_cuda_to_lanes(context, in, ts_slice_data(in, z), size.n_slices, 0, size.lanes, room.sinogram,
                                      call->stream);
        if (status == TS_OK)
            status = run_group(context, joseph, &room, &size, ts_cuda_iterate_tables(context, z), call->stream);
        if (status == TS_OK)
            status = ts_cuda_from_lanes(context, out, (float *)ts_slice_data(out, z), size.n_slices, JOSEPH_MARGIN,
                                        size.lanes, room.image, call->stream);
    }
    return status;
}

extern const struct stage_cuda sirt_cuda;
const struct stage_cuda sirt_cuda = {
    .constants_bytes = ts_cuda_iterate_constants_bytes,
    .constants = ts_cuda_iterate_constants,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .least_slices = ts_cuda_iterate_least_slices,
};
