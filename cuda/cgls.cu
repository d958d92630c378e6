/* SPDX-License-Identifier: Apache-2.0
 *
 * cgls on a CUDA device, over 128 slices at once (64 or 32 at the end of a stack) as lanes; (z, view, detector) ->
 * (z, y, x). The method is that of stages/cgls.c; A and A' are those of common/joseph.cu and joseph_back.cu.
 *
 * Besides A and A' an iteration has two reductions over samples and one over pixels and two updates, all bound by
 * memory: one thread one element at a time of one slice, in blocks of lanes x 8 threads, so that sums have an order
 * that does not depend on the lanes; 4 bytes an element for a norm, 12 for an update. What follows from the norms is
 * worked out by one block, one thread a slice.
 */
#include "cuda/common/iterate.cuh"

extern "C" {
#include "stages/cgls.h"
}

struct cgls_room {
    struct cuda_ray *rays;
    float *image, *direction, *gradient; /* x, p, s: volumes as lanes */
    float *residual, *shadow;            /* r, q: sinograms as lanes */
    double *partial;
    struct cuda_iterate *state;
};

/* What a norm was taken for. */
enum cgls_norm { NORM_RESIDUAL, NORM_SHADOW, NORM_GRADIENT };

/* grid: chunks of n elements. */
static __global__ void squares(const float *values, int64_t n, int64_t chunk, int lanes, struct cgls_room room)
{
    if (room.state->halt)
        return;
    const int lane = (int)threadIdx.x % lanes;
    const int64_t begin = (int64_t)blockIdx.x * chunk, end = min(begin + chunk, n);
    double sum = 0;
    for (int64_t i = begin + threadIdx.x / lanes; i < end; i += ITERATE_SUMS) {
        const double value = values[i * lanes + lane];
        sum += value * value;
    }
    ts_cuda_iterate_join(sum, lanes, room.partial);
}

/* One block, one thread a lane. A residual decides who is done, a shadow gives alpha, a gradient beta. */
static __global__ void decide(struct cgls_room room, int64_t n_chunks, int n_slices, int64_t n_rays,
                              struct iterate iterate, struct cuda_iterate_tables tables, enum cgls_norm norm, int64_t i)
{
    const bool first = i == 0;
    __shared__ int going;
    const int lane = (int)threadIdx.x, lanes = (int)blockDim.x;
    struct cuda_iterate *state = room.state;
    if (state->halt)
        return;
    const double square = ts_cuda_iterate_total(room.partial, n_chunks, lanes, lane);
    if (norm == NORM_SHADOW) {
        state->factor[lane] = state->done[lane] || !(square > 0) ? 0 : state->gamma[lane] / square;
        return;
    }
    if (norm == NORM_GRADIENT) {
        state->factor[lane] = first || !(state->gamma[lane] > 0) ? 0 : square / state->gamma[lane];
        state->gamma[lane] = square;
        return;
    }
    if (lane == 0)
        going = 0;
    __syncthreads();
    if (first)
        state->sinogram[lane] = square;
    const bool before = state->done[lane] || lane >= n_slices;
    const bool done = before || ts_cuda_iterate_done(&iterate, square, state->sinogram[lane], (double)n_rays);
    if (!before)
        ts_cuda_iterate_record(&tables, lane, i, iterate.iterations, square, state->sinogram[lane], done);
    state->done[lane] = done;
    if (!state->done[lane])
        atomicOr(&going, 1);
    __syncthreads();
    if (lane == 0)
        state->halt = !going;
}

/* to = to + sign * factor * from, or for a direction to = from + factor * to. */
static __global__ void combine(float *to, const float *from, int64_t n, int lanes, float sign, bool direction,
                               struct cgls_room room)
{
    if (room.state->halt)
        return;
    const int lane = (int)threadIdx.x % lanes;
    const float factor = (float)room.state->factor[lane] * sign;
    const int64_t stride = (int64_t)gridDim.x * ITERATE_SUMS;
    for (int64_t at = (int64_t)blockIdx.x * ITERATE_SUMS + threadIdx.x / lanes; at < n; at += stride) {
        const int64_t i = at * lanes + lane;
        to[i] = direction ? from[i] + factor * to[i] : to[i] + factor * from[i];
    }
}

/* ---- launching --------------------------------------------------------------------------------- */

struct cgls_job {
    const struct stage_context *context;
    struct cuda_joseph joseph;
    struct cgls_room room;
    struct iterate iterate;
    struct cuda_iterate_tables tables;
    int lanes, n_slices;
    int64_t n_rays, n_places; /* places: pixels with the margin, which stays 0 */
    cudaStream_t stream;
};

static enum ts_status take_norm(const struct cgls_job *job, enum cgls_norm norm, int64_t i)
{
    const int64_t n = norm == NORM_GRADIENT ? job->n_places : job->n_rays, chunk = ts_cuda_iterate_chunk(n),
                  n_chunks = ts_cuda_parts(n, chunk);
    const float *values = norm == NORM_GRADIENT ? job->room.gradient
                          : norm == NORM_SHADOW ? job->room.shadow
                                                : job->room.residual;
    const unsigned threads = (unsigned)(job->lanes * ITERATE_SUMS);
    squares<<<(unsigned)n_chunks, threads, threads * sizeof(double), job->stream>>>(values, n, chunk, job->lanes,
                                                                                    job->room);
    decide<<<1, (unsigned)job->lanes, 0, job->stream>>>(job->room, n_chunks, job->n_slices, job->n_rays, job->iterate,
                                                        job->tables, norm, i);
    return ts_cuda_launched(job->context, "decide");
}

static enum ts_status update(const struct cgls_job *job, float *to, const float *from, int64_t n, float sign,
                             bool direction)
{
    const int64_t blocks = ts_cuda_parts(n, ITERATE_SUMS);
    combine<<<(unsigned)(blocks < ITERATE_BLOCKS ? blocks : ITERATE_BLOCKS), (unsigned)(job->lanes * ITERATE_SUMS), 0,
              job->stream>>>(to, from, n, job->lanes, sign, direction, job->room);
    return ts_cuda_launched(job->context, "combine");
}

/* s = A' r and the next direction. */
static enum ts_status turn(const struct cgls_job *job, int64_t i)
{
    enum ts_status status = ts_cuda_joseph_backproject(job->context, &job->joseph, job->room.residual, job->lanes,
                                                       job->room.gradient, job->stream);
    if (status == TS_OK)
        status = take_norm(job, NORM_GRADIENT, i);
    if (status == TS_OK) /* the direction starts as 0 */
        status = update(job, job->room.direction, job->room.gradient, job->n_places, 1, true);
    return status;
}

/* x and r along the direction. */
static enum ts_status advance(const struct cgls_job *job)
{
    enum ts_status status = ts_cuda_joseph_project(job->context, &job->joseph, job->room.direction, job->lanes,
                                                   job->room.shadow, job->stream);
    if (status == TS_OK)
        status = take_norm(job, NORM_SHADOW, 1);
    if (status == TS_OK)
        status = update(job, job->room.image, job->room.direction, job->n_places, 1, false);
    if (status == TS_OK)
        status = update(job, job->room.residual, job->room.shadow, job->n_rays, -1, false);
    return status;
}

/* All iterations of the slices that stand in room.residual. */
static enum ts_status run_group(struct cgls_job *job)
{
    const size_t volume = (size_t)(job->n_places * job->lanes) * sizeof(float);
    enum ts_status status = TS_OK;
    cudaMemsetAsync(job->room.state, 0, sizeof *job->room.state, job->stream);
    cudaMemsetAsync(job->room.image, 0, volume, job->stream);
    cudaMemsetAsync(job->room.direction, 0, volume, job->stream);
    cudaMemsetAsync(job->room.gradient, 0, volume, job->stream);
    job->joseph.halt = &job->room.state->halt;
    for (int64_t i = 0; status == TS_OK && i < job->iterate.iterations; i++) {
        status = take_norm(job, NORM_RESIDUAL, i);
        if (status == TS_OK)
            status = turn(job, i);
        if (status == TS_OK)
            status = advance(job);
    }
    return status;
}

/* Lays the arrays of a group out from `at` on, which may be NULL; returns the bytes. */
static size_t lay_out(const struct beam_scan *scan, int lanes, unsigned char *at, struct cgls_room *room)
{
    const size_t volume = ts_cuda_lanes_bytes(scan->grid.n_rows, scan->grid.n_columns, JOSEPH_MARGIN, lanes),
                 sinogram = ts_cuda_lanes_bytes(scan->n_views, scan->grid.n_detectors, 0, lanes);
    const size_t bytes[] = {ts_cuda_joseph_rays_bytes(scan),
                            volume,
                            volume,
                            volume,
                            sinogram,
                            sinogram,
                            ts_cuda_iterate_partial_bytes(),
                            ts_cuda_stride(sizeof(struct cuda_iterate))};
    void **const parts[] = {(void **)&room->rays,     (void **)&room->image,    (void **)&room->direction,
                            (void **)&room->gradient, (void **)&room->residual, (void **)&room->shadow,
                            (void **)&room->partial,  (void **)&room->state};
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
    struct cgls_room room;
    return lay_out(&scan, ts_cuda_lanes_for(n), NULL, &room);
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    const int64_t nz = out->axes[0].n;
    struct cgls_job job = {context};
    job.iterate = ts_cgls_iterate((const struct cgls_params *)context->params);
    job.n_rays = scan.n_views * scan.grid.n_detectors;
    job.n_places = (scan.grid.n_rows + 2 * JOSEPH_MARGIN) * (scan.grid.n_columns + 2 * JOSEPH_MARGIN);
    job.stream = call->stream;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < nz; z += job.n_slices) {
        job.lanes = ts_cuda_lanes_for(nz - z);
        job.n_slices = (int)(nz - z < job.lanes ? nz - z : job.lanes);
        job.tables = ts_cuda_iterate_tables(context, z);
        lay_out(&scan, job.lanes, (unsigned char *)call->scratch, &job.room);
        status = ts_cuda_joseph_rays(context, &scan, call->constants, job.room.rays, call->stream, &job.joseph);
        if (status == TS_OK)
            status = ts_cuda_to_lanes(context, in, ts_slice_data(in, z), job.n_slices, 0, job.lanes, job.room.residual,
                                      call->stream);
        if (status == TS_OK)
            status = run_group(&job);
        if (status == TS_OK)
            status = ts_cuda_from_lanes(context, out, (float *)ts_slice_data(out, z), job.n_slices, JOSEPH_MARGIN,
                                        job.lanes, job.room.image, call->stream);
    }
    return status;
}

extern const struct stage_cuda cgls_cuda;
const struct stage_cuda cgls_cuda = {
    .constants_bytes = ts_cuda_iterate_constants_bytes,
    .constants = ts_cuda_iterate_constants,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .least_slices = ts_cuda_iterate_least_slices,
};
