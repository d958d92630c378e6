/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels between A and A' are bound by memory: one thread takes 16 elements of one slice, 256
 * apart. A norm reads 4 bytes an element; an update that takes its norm as well moves 12. Then
 * `decide`, one block in which each warp takes slices in turn, joins the squares and computes what
 * follows from them.
 *
 * Squares are summed in chunks of 4096 elements: in a chunk each thread's 16 in double, joined by
 * halving; then each thread of a warp takes every 32nd chunk, joined by halving. That order depends
 * only on the sizes. Blocks are 256 threads, which keeps enough loads in flight and leaves few
 * partial sums.
 */
#include "cuda/device/progress.cuh"
#include "cuda/reconstruction/iterate.cuh"

extern "C" {
#include "core/memory.h"
#include "stages/projection/reconstruction.h"
}

enum { THREADS = 256, EACH = 16, CHUNK = THREADS * EACH, DECIDE_THREADS = 1024 };

/* ---- A and A' -------------------------------------------------------------------------------- */

/* Describes the pair of stages: the volume is the stage's output, and the sinogram is its input as
 * floats, with the rotation axis from the parameters. */
static void init_pair(struct cuda_iterate *job, const struct stage_context *context)
{
    const struct iterate_params *params = (const struct iterate_params *)context->params;
    const struct beam_scan scan = ts_reconstruction_scan(context);
    job->context = context;
    job->params = params;
    job->forth = job->back = *context;
    job->back.in.dtype = TS_F32;
    job->back.in.axes[2].spacing = scan.grid.detector_spacing;
    job->back.in.axes[2].first = -scan.grid.center * scan.grid.detector_spacing;
    job->forth.in = context->out;
    job->forth.out = job->back.in;
    memset(&job->radon, 0, sizeof job->radon);
    job->radon.beam = (int32_t)scan.beam.kind;
    job->radon.source_axis = scan.beam.source_axis_mm;
    job->radon.source_detector = scan.beam.source_detector_mm;
    job->radon.detector_spacing = scan.grid.detector_spacing;
    job->radon.method = ts_reconstruction_forth(params->volume.method);
    if (job->radon.method == RADON_AUTO) /* as other methods go along rays */
        job->radon.method = RADON_RAY;
    job->forth.params = &job->radon;
    job->rays = scan.n_views * scan.grid.n_detectors;
    job->pixels = scan.grid.n_rows * scan.grid.n_columns;
}

static size_t forth_bytes(const struct cuda_iterate *job)
{
    return ts_cuda_stride(radon_cuda.constants_bytes(&job->forth));
}

size_t ts_cuda_iterate_constants_bytes(const struct stage_context *context)
{
    struct cuda_iterate job;
    init_pair(&job, context);
    return forth_bytes(&job) + backproject_cuda.constants_bytes(&job.back);
}

void ts_cuda_iterate_constants(const struct stage_context *context, void *host)
{
    struct cuda_iterate job;
    init_pair(&job, context);
    radon_cuda.constants(&job.forth, host);
    backproject_cuda.constants(&job.back, (unsigned char *)host + forth_bytes(&job));
}

int64_t ts_cuda_iterate_least_slices(const struct stage_context *context)
{
    const struct iterate_params *params = (const struct iterate_params *)context->params;
    return params->volume.method == BACK_METHOD_PIXEL ? 1 : ITERATE_SLICES;
}

/* Returns the description of an image that holds the group's slices. */
static struct ts_image group_of(const struct cuda_iterate *job, const struct ts_image *whole,
                                float *data)
{
    struct ts_image image = *whole;
    image.axes[0].n = job->n_slices;
    image.z_first = 0;
    image.data = data;
    return image;
}

enum ts_status ts_cuda_iterate_project(struct cuda_iterate *job, float *volume, float *sinogram)
{
    const struct ts_image in = group_of(job, &job->forth.in, volume);
    struct ts_image out = group_of(job, &job->forth.out, sinogram);
    return radon_cuda.map(&job->forth, &in, &out, &job->forth_call);
}

enum ts_status ts_cuda_iterate_backproject(struct cuda_iterate *job, float *sinogram, float *volume)
{
    const struct ts_image in = group_of(job, &job->back.in, sinogram);
    struct ts_image out = group_of(job, &job->back.out, volume);
    return backproject_cuda.map(&job->back, &in, &out, &job->back_call);
}

/* ---- squares --------------------------------------------------------------------------------- */

/* Joins the block's sums, and writes the result to partial[slice][chunk]. */
static __device__ __forceinline__ void iterate_join(double sum, double *partial)
{
    __shared__ double sums[THREADS / 32];
    for (int apart = 16; apart > 0; apart /= 2)
        sum += __shfl_down_sync(~0u, sum, apart);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int warp = 1; warp < THREADS / 32; warp++)
        sum += sums[warp];
    partial[(int64_t)blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/* Sums terms of a slice's elements: squares or products. */
template <class Term>
static __device__ __forceinline__ void add_terms(int64_t n, double *partial, Term term)
{
    double sum = 0;
    for (int k = 0; k < EACH; k++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + k * THREADS + threadIdx.x;
        if (i >= n)
            break;
        sum += term(i);
    }
    iterate_join(sum, partial);
}

/* The grid of the three kernels below counts chunks and slices. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    subtract(const T *in, float *residual, const float *weights, int64_t n, bool first,
             const struct cuda_iterate_state *state, double *partial)
{
    if (state->halt)
        return;
    const int64_t slice = (int64_t)blockIdx.y * n;
    add_terms(n, partial, [&](int64_t i) {
        const float value = (float)in[slice + i] - (first ? 0 : residual[slice + i]);
        residual[slice + i] = weights ? value * weights[i] : value;
        return (double)value * value;
    });
}

static __global__ void __launch_bounds__(THREADS)
    combine(float *to, const float *from, int64_t n, float sign, bool direction,
            const struct cuda_iterate_state *state, double *partial)
{
    if (state->halt)
        return;
    const int64_t slice = (int64_t)blockIdx.y * n;
    const float factor = (float)state->factor[blockIdx.y] * sign;
    add_terms(n, partial, [&](int64_t i) {
        const float old = to[slice + i], other = from[slice + i];
        const float sum = direction ? other + factor * old : old + factor * other;
        to[slice + i] = sum;
        return (double)sum * (direction ? other : sum);
    });
}

static __global__ void __launch_bounds__(THREADS)
    squares(const float *values, int64_t n, const struct cuda_iterate_state *state, double *partial)
{
    if (state->halt)
        return;
    const int64_t slice = (int64_t)blockIdx.y * n;
    add_terms(n, partial, [&](int64_t i) { return (double)values[slice + i] * values[slice + i]; });
}

static dim3 chunks_of(const struct cuda_iterate *job, int64_t n)
{
    return dim3((unsigned)ts_cuda_parts(n, CHUNK), (unsigned)job->n_slices);
}

enum ts_status ts_cuda_iterate_subtract(struct cuda_iterate *job, bool first,
                                        const float *ray_weights, float *residual)
{
    const dim3 grid = chunks_of(job, job->rays);
#define LAUNCH(T)                                                                                  \
    subtract<T><<<grid, THREADS, 0, job->stream>>>((const T *)job->in.data, residual, ray_weights, \
                                                   job->rays, first, job->state, job->partial)
    TS_CUDA_DTYPES(job->in.dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(job->context, "subtract");
}

enum ts_status ts_cuda_iterate_combine(struct cuda_iterate *job, float *to, const float *from,
                                       int64_t n, float sign, bool direction)
{
    combine<<<chunks_of(job, n), THREADS, 0, job->stream>>>(to, from, n, sign, direction,
                                                            job->state, job->partial);
    return ts_cuda_launched(job->context, "combine");
}

enum ts_status ts_cuda_iterate_squares(struct cuda_iterate *job, const float *values, int64_t n)
{
    squares<<<chunks_of(job, n), THREADS, 0, job->stream>>>(values, n, job->state, job->partial);
    return ts_cuda_launched(job->context, "squares");
}

/* ---- what follows ---------------------------------------------------------------------------- */

struct decision {
    const double *partial;
    int64_t n_chunks, rays, i, iterations;
    int n_slices;
    enum cuda_iterate_norm norm;
    int32_t stop;
    double tolerance, noise;
    double *residuals; /* the group's rows of the tables */
    uint32_t *counts;
    struct cuda_iterate_state *state;
    struct cuda_report report;
};

/* Records a residual after i iterations, as stages/reconstruction/iterate.c does, and marks slices
 * that are done with it. Returns the residual, or 0 if the slice was done before. */
static __device__ double record(const struct decision *d, int slice, double square)
{
    struct cuda_iterate_state *state = d->state;
    double *row = d->residuals + slice * (d->iterations + 1);
    if (d->i == 0) {
        state->sinogram[slice] = square;
        d->counts[slice] = 0;
        for (int64_t k = 1; k <= d->iterations; k++)
            row[k] = __longlong_as_double(0x7FF8000000000000);
    }
    if (state->done[slice])
        return 0;
    const double all = state->sinogram[slice];
    const bool done = d->stop == STOP_RESIDUAL ? square <= d->tolerance * d->tolerance * all
                      : d->stop == STOP_DISCREPANCY
                          ? square <= d->noise * d->noise * (double)d->rays
                          : false;
    const double residual = all > 0 ? sqrt(square / all) : square;
    row[d->i] = residual;
    d->counts[slice] += !done && d->i < d->iterations;
    state->done[slice] = done;
    return residual;
}

/* One block runs; the first thread of a warp decides for its slice. Residuals are not negative, so
 * comparing the bits of these doubles compares the doubles. */
static __global__ void __launch_bounds__(DECIDE_THREADS) decide(struct decision d)
{
    __shared__ int going;
    __shared__ unsigned long long largest;
    struct cuda_iterate_state *state = d.state;
    const int lane = (int)(threadIdx.x % 32);
    if (state->halt)
        return;
    if (threadIdx.x == 0)
        largest = going = 0;
    __syncthreads();
    for (int slice = (int)(threadIdx.x / 32); slice < d.n_slices; slice += DECIDE_THREADS / 32) {
        double square = 0;
        for (int64_t c = lane; c < d.n_chunks; c += 32)
            square += d.partial[slice * d.n_chunks + c];
        for (int apart = 16; apart > 0; apart /= 2)
            square += __shfl_down_sync(~0u, square, apart);
        if (lane > 0)
            continue;
        if (d.norm == NORM_SHADOW) {
            state->factor[slice] =
                state->done[slice] || !(square > 0) ? 0 : state->along[slice] / square;
        } else if (d.norm == NORM_DIRECTION) {
            state->along[slice] = square;
        } else if (d.norm == NORM_GRADIENT) {
            state->factor[slice] =
                d.i == 0 || !(state->gamma[slice] > 0) ? 0 : square / state->gamma[slice];
            state->gamma[slice] = square;
        } else {
            atomicMax(&largest,
                      (unsigned long long)__double_as_longlong(record(&d, slice, square)));
            atomicOr(&going, !state->done[slice]);
        }
    }
    __syncthreads();
    if (threadIdx.x > 0 || d.norm != NORM_RESIDUAL)
        return;
    state->halt = !going;
    ts_cuda_report_write(d.report, __longlong_as_double((long long)largest));
}

enum ts_status ts_cuda_iterate_decide(struct cuda_iterate *job, enum cuda_iterate_norm norm,
                                      int64_t n, int64_t i)
{
    const struct ts_image *tables = job->context->tables;
    const struct iterate_params *params = job->params;
    struct decision d = {job->partial,
                         ts_cuda_parts(n, CHUNK),
                         job->rays,
                         i,
                         params->iterations,
                         job->n_slices,
                         norm,
                         params->stop,
                         params->tolerance,
                         params->noise};
    d.residuals = (double *)ts_slice_data(&tables[ITERATE_RESIDUAL], job->z);
    d.counts = (uint32_t *)ts_slice_data(&tables[ITERATE_COUNT], job->z);
    d.state = job->state;
    d.report = ts_cuda_report(
        &job->forth_call, i, params->iterations,
        ((double)job->z + (double)job->n_slices * ((double)i / (double)params->iterations)) /
            (double)job->in.axes[0].n);
    decide<<<1, DECIDE_THREADS, 0, job->stream>>>(d);
    return ts_cuda_launched(job->context, "decide");
}

/* ---- groups ---------------------------------------------------------------------------------- */

static float *add_floats(struct memory_layout *layout, int64_t n)
{
    return (float *)ts_layout_add(layout, (size_t)n * sizeof(float));
}

/* Lays out the arrays for n slices. */
static void lay_out(struct cuda_iterate *job, const struct iterate_needs *needs, int64_t n,
                    struct memory_layout *layout)
{
    const size_t forth = radon_cuda.scratch_bytes(&job->forth, n),
                 back = backproject_cuda.scratch_bytes(&job->back, n);
    const int64_t most = job->rays > job->pixels ? job->rays : job->pixels;
    job->state = (struct cuda_iterate_state *)ts_layout_add(layout, sizeof *job->state);
    job->partial = (double *)ts_layout_add(layout, (size_t)(n * ts_cuda_parts(most, CHUNK)) *
                                                       sizeof *job->partial);
    for (int i = 0; i < needs->volumes; i++)
        job->volumes[i] = add_floats(layout, n * job->pixels);
    for (int i = 0; i < needs->sinograms; i++)
        job->sinograms[i] = add_floats(layout, n * job->rays);
    if (needs->weights) {
        job->ray_weights = add_floats(layout, job->rays);
        job->pixel_weights = add_floats(layout, job->pixels);
    }
    job->forth_call.scratch = job->back_call.scratch =
        ts_layout_add(layout, forth > back ? forth : back);
}

static int64_t slices_of_group(int64_t left)
{
    return left < ITERATE_SLICES ? left : ITERATE_SLICES;
}

size_t ts_cuda_iterate_scratch(const struct stage_context *context,
                               const struct iterate_needs *needs, int64_t n)
{
    struct cuda_iterate job;
    struct memory_layout layout = {NULL, CUDA_ALIGNMENT, 0};
    init_pair(&job, context);
    lay_out(&job, needs, slices_of_group(n), &layout);
    return layout.bytes;
}

enum ts_status ts_cuda_iterate_map(const struct stage_context *context,
                                   const struct iterate_needs *needs, cuda_iterate_run *begin,
                                   cuda_iterate_run *run, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    struct cuda_iterate job;
    struct memory_layout layout = {call->scratch, CUDA_ALIGNMENT, 0};
    const int64_t nz = out->axes[0].n;
    init_pair(&job, context);
    job.stream = call->stream;
    job.forth_call = job.back_call = *call;
    job.forth_call.result = job.back_call.result =
        NULL; /* it was found for the stage's input, not for theirs */
    job.back_call.constants = (const unsigned char *)call->constants + forth_bytes(&job);
    lay_out(&job, needs, slices_of_group(nz), &layout);
    enum ts_status status = TS_OK;
    job.n_slices = 1;
    if (begin)
        status = begin(&job);
    job.forth.halt = job.back.halt = &job.state->halt;
    for (job.z = 0; status == TS_OK && job.z < nz; job.z += job.n_slices) {
        job.n_slices = (int)slices_of_group(nz - job.z);
        job.in = *in;
        job.in.data = (void *)ts_slice_data(in, job.z);
        job.image = (float *)ts_slice_data(out, job.z);
        cudaMemsetAsync(job.state, 0, sizeof *job.state, job.stream);
        cudaMemsetAsync(job.image, 0, (size_t)(job.n_slices * job.pixels) * sizeof(float),
                        job.stream);
        status = run(&job);
    }
    return status;
}
