/* SPDX-License-Identifier: Apache-2.0
 *
 * tv on a CUDA device: the arrays, the loop over iterations (cuda/denoising/tv_step.cu), and the looks at the result.
 * Nothing goes through the host: `decide` marks the planes that are done, and the kernels that follow leave those
 * alone.
 *
 * A look is one kernel whose threads take a pixel of each of 8 rows of 256 pixels in a plane: it reads q and f (16
 * bytes a pixel in 3D), writes the result of the output's planes, and sums the gap in double, in an order that the
 * sizes alone fix.
 */
#include "cuda/denoising/tv.cuh"
#include "cuda/device/progress.cuh"
#include "cuda/values/reductions.cuh"

extern "C" {
#include "core/memory.h"
}

enum { THREADS = 256, EACH = 8, CHUNK = THREADS * EACH, DECIDE_THREADS = 1024, MOST_BLOCKS_Z = 65535 };

/* This describes one call of map(). */
struct job {
    const struct stage_context *context;
    const struct tv_params *params;
    struct tv_planes planes;
    struct tv_fields fields[2]; /* a launch goes from one to the other */
    struct tv_range range;      /* in planes held: in 2D all are the output's */
    double unit;                /* by which values are divided; `params` are divided, too */
    float *values;              /* f, divided */
    double *partial;            /* of each chunk of each plane */
    int32_t *done;
    const struct cuda_call *call;
    cudaStream_t stream;
};

static void lay_out(struct job *job, struct memory_layout *layout)
{
    const size_t bytes = (size_t)(job->planes.n * job->planes.plane) * sizeof(float);
    for (int i = 0; i < 2; i++) {
        for (int a = 0; a < (job->planes.volume ? 3 : 2); a++)
            job->fields[i].q[a] = (float *)ts_layout_add(layout, bytes);
        if (job->planes.dual)
            job->fields[i].image = (float *)ts_layout_add(layout, bytes);
    }
    job->values = (float *)ts_layout_add(layout, bytes);
    job->partial = (double *)ts_layout_add(layout, (size_t)(job->planes.n * ts_cuda_parts(job->planes.plane, CHUNK)) *
                                                       sizeof(double));
    job->done = (int32_t *)ts_layout_add(layout, (size_t)job->planes.n * sizeof(int32_t));
}

/* Returns the job of a call that holds n planes. */
static struct job describe(const struct stage_context *context, int64_t n)
{
    struct job job;
    memset(&job, 0, sizeof job);
    job.context = context;
    job.params = (const struct tv_params *)context->params;
    job.planes.n = n;
    job.planes.ny = (int)context->in.axes[1].n;
    job.planes.nx = (int)context->in.axes[2].n;
    job.planes.plane = context->in.axes[1].n * context->in.axes[2].n;
    job.planes.volume = job.params->dimensions == TV_3D;
    job.planes.dual = job.params->method == TV_PRIMAL_DUAL;
    job.planes.masked = context->in.masked;
    job.planes.weight = (float)job.params->weight;
    return job;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct job job = describe(context, n + 2 * ts_tv_reach(context).halo);
    struct memory_layout layout = {NULL, CUDA_ALIGNMENT, 0};
    lay_out(&job, &layout);
    return layout.bytes;
}

/* ---- the start --------------------------------------------------------------------------------- */

/* Returns true where pixel i of all slices is valid; `valid` may be NULL. */
static __device__ inline bool is_valid(const uint64_t *valid, int64_t i, int64_t plane)
{
    const int64_t pixel = i % plane;
    return !valid || valid[i / plane * ((plane + 63) / 64) + pixel / 64] >> pixel % 64 & 1;
}

/* Values are divided by the unit. Invalid pixels become NaN. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    convert(const T *in, const uint64_t *valid, int64_t plane, float per_unit, float *values, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS)
        values[i] = is_valid(valid, i, plane) ? ts_tv_value((float)in[i], per_unit) : NAN;
}

/* Gives invalid pixels of the result, and those of far values, what the input has. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    keep_far(const T *in, const uint64_t *valid, int64_t plane, float per_unit, float *out, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS)
        if (!is_valid(valid, i, plane) || fabsf(ts_tv_value((float)in[i], per_unit)) == TV_FAR)
            out[i] = (float)in[i];
}

static unsigned blocks_for(int64_t n)
{
    return (unsigned)min(ts_cuda_parts(n, THREADS), (int64_t)1 << 20);
}

static enum ts_status begin(struct job *job, const void *in, const uint64_t *valid)
{
    const int64_t n = job->planes.n * job->planes.plane;
    const size_t bytes = (size_t)n * sizeof(float);
    cudaMemsetAsync(job->done, 0, (size_t)job->planes.n * sizeof(int32_t), job->stream);
    for (int a = 0; a < (job->planes.volume ? 3 : 2); a++)
        cudaMemsetAsync(job->fields[0].q[a], 0, bytes, job->stream);
#define CONVERT(T)                                                                                                     \
    convert<T><<<blocks_for(n), THREADS, 0, job->stream>>>((const T *)in, valid, job->planes.plane,                    \
                                                           (float)(1 / job->unit), job->values, n)
    TS_CUDA_DTYPES(job->context->in.dtype, CONVERT)
#undef CONVERT
    const enum ts_status status = ts_cuda_launched(job->context, "tv convert");
    if (status != TS_OK)
        return status;
    job->planes.values = job->values;
    job->planes.done = job->done;
    if (job->planes.dual)
        cudaMemcpyAsync(job->fields[0].image, job->planes.values, bytes, cudaMemcpyDeviceToDevice, job->stream);
    return TS_OK;
}

/* ---- looks ------------------------------------------------------------------------------------- */

/* Takes planes [first, end) and writes the result of planes [z, z + n) to `out`. */
static __global__ void __launch_bounds__(THREADS)
    look(struct tv_planes planes, struct tv_fields fields, struct tv_step step, struct tv_range range, float *out,
         float unit, double *partial)
{
    __shared__ double sums[CUDA_BLOCK_WARPS];
    for (int64_t z = range.first + blockIdx.y; z < range.end; z += gridDim.y) {
        double sum = 0;
        if (planes.done[z])
            continue;
        for (int k = 0; k < EACH; k++) {
            const int64_t pixel = (int64_t)blockIdx.x * CHUNK + k * THREADS + threadIdx.x;
            if (pixel >= planes.plane)
                break;
            const int64_t i = z * planes.plane + pixel;
            const struct tv_at at = {i, z, (int)(pixel / planes.nx), (int)(pixel % planes.nx)};
            const struct tv_gradient g = ts_cuda_tv_gradient(planes, fields, step, at, NULL);
            float along = fields.q[0][i] * g.x + fields.q[1][i] * g.y;
            if (planes.volume)
                along += fields.q[2][i] * g.z;
            const bool counts = !planes.masked || g.point == g.point;
            const double square = (double)g.x * g.x + (double)g.y * g.y + (double)g.z * g.z;
            sum += counts ? planes.weight * (sqrt(square) - along) : 0;
            if (planes.dual && counts) {
                struct tv_planes plain = planes;
                plain.dual = false;
                const double rest = g.point - ts_cuda_tv_point(plain, fields, step, at, NULL);
                sum += 0.5 * rest * rest;
            }
            if (z >= range.z && z < range.z + range.n)
                out[(z - range.z) * planes.plane + pixel] = g.point * unit;
        }
        sum = block_sum(sum, sums);
        if (threadIdx.x == 0)
            partial[z * gridDim.x + blockIdx.x] = sum;
    }
}

struct decision {
    struct tv_range range;
    const double *partial;
    int64_t n_chunks, plane, look, looks, iterations;
    bool volume, stops;
    double tolerance, unit;
    double *distances; /* the rows of the output's planes in the tables */
    uint32_t *counts;
    int32_t *done;
    struct cuda_report report;
};

static __device__ double distance_of(double gap, double pixels)
{
    return gap <= 0 ? 0 : sqrt(2 * gap / pixels);
}

/* One block runs: a warp sums the gap of a plane and records it, then the first thread sums those of the planes. It
 * reports the largest distance, in 3D that of all planes. Distances are not negative, and the bits of such doubles are
 * ordered as they are. */
static __global__ void __launch_bounds__(DECIDE_THREADS) decide(struct decision d, double *gaps)
{
    __shared__ int32_t all, looked;
    __shared__ unsigned long long largest;
    const int lane = (int)(threadIdx.x % CUDA_WARP);
    if (threadIdx.x == 0)
        largest = looked = 0;
    __syncthreads();
    for (int64_t z = d.range.first + threadIdx.x / CUDA_WARP; z < d.range.end; z += DECIDE_THREADS / CUDA_WARP) {
        double gap = 0;
        if (d.done[z])
            continue;
        for (int64_t c = lane; c < d.n_chunks; c += CUDA_WARP)
            gap += d.partial[z * d.n_chunks + c];
        for (int apart = CUDA_WARP / 2; apart > 0; apart /= 2)
            gap += __shfl_down_sync(~0u, gap, apart);
        if (lane > 0)
            continue;
        const double distance = d.unit * distance_of(gap, (double)d.plane);
        const int64_t to = z - d.range.z;
        atomicMax(&largest, (unsigned long long)__double_as_longlong(distance));
        looked = true;
        gaps[z * d.n_chunks] = gap;
        if (!d.volume)
            d.done[z] = d.stops && distance <= d.tolerance;
        if (to < 0 || to >= d.range.n)
            continue;
        double *row = d.distances + to * d.looks;
        for (int64_t i = 0; d.look == 0 && i < d.looks; i++)
            row[i] = __longlong_as_double(0x7FF8000000000000);
        row[d.look] = distance;
        d.counts[to] = (uint32_t)d.iterations;
    }
    __syncthreads();
    if (!d.volume && looked && threadIdx.x == 0)
        ts_cuda_report_write(d.report, __longlong_as_double((long long)largest));
    if (!d.volume || !d.stops || d.done[d.range.first])
        return;
    if (threadIdx.x == 0) {
        double total = 0;
        for (int64_t z = d.range.first; z < d.range.end; z++)
            total += gaps[z * d.n_chunks];
        const double distance = d.unit * distance_of(total, (double)d.plane * (double)(d.range.end - d.range.first));
        all = distance <= d.tolerance;
        ts_cuda_report_write(d.report, distance);
    }
    __syncthreads();
    for (int64_t z = d.range.first + threadIdx.x; z < d.range.end; z += DECIDE_THREADS)
        d.done[z] = all;
}

static struct cuda_report report_of(const struct job *job, int64_t done)
{
    const int64_t most = job->params->iterations;
    return ts_cuda_report(job->call, done, most, (double)done / (double)most);
}

static enum ts_status look_at(struct job *job, const struct tv_fields *fields, struct tv_step step,
                              const struct tv_range *range, int64_t i, int64_t n_look, float *out)
{
    const int64_t n = range->end - range->first, n_chunks = ts_cuda_parts(job->planes.plane, CHUNK);
    const dim3 blocks((unsigned)n_chunks, (unsigned)(n < MOST_BLOCKS_Z ? n : MOST_BLOCKS_Z));
    const struct ts_image *tables = job->context->tables;
    step.momentum = 0;
    look<<<blocks, THREADS, 0, job->stream>>>(job->planes, *fields, step, *range, out, (float)job->unit, job->partial);
    enum ts_status status = ts_cuda_launched(job->context, "tv look");
    if (status != TS_OK)
        return status;
    const struct decision d = {*range,
                               job->partial,
                               n_chunks,
                               job->planes.plane,
                               n_look,
                               ts_tv_looks(job->params),
                               i,
                               job->planes.volume,
                               job->params->stop == TV_DISTANCE,
                               job->unit * job->params->tolerance,
                               job->unit,
                               (double *)tables[TV_TABLE_DISTANCE].data,
                               (uint32_t *)tables[TV_TABLE_ITERATIONS].data,
                               job->done,
                               report_of(job, i)};
    decide<<<1, DECIDE_THREADS, 0, job->stream>>>(d, job->partial);
    return ts_cuda_launched(job->context, "tv decide");
}

/* ---- a slab ------------------------------------------------------------------------------------ */

static struct tv_range range_after(const struct job *job, int64_t i)
{
    return job->planes.volume ? ts_tv_range_of_iteration(job->params, &job->range, i) : job->range;
}

/* Enqueues as many iterations from number i on as one launch carries out before the next look. *step moves on. */
static enum ts_status advance(struct job *job, int64_t *i, struct tv_step *step, int *side)
{
    const int64_t left = job->params->iterations - *i,
                  until = job->params->stop == TV_NEVER ? left : TV_LOOK - *i % TV_LOOK;
    const int n = ts_cuda_tv_steps(&job->planes, left < until ? left : until);
    struct tv_step steps[TV_MOST_STEPS];
    for (int k = 0; k < n; k++) {
        steps[k] = *step;
        ts_tv_step_next(job->params, step);
    }
    *i += n;
    const struct tv_range range = range_after(job, *i - 1);
    const struct tv_fields *from = &job->fields[*side], *to = &job->fields[!*side];
    *side = !*side;
    return ts_cuda_tv_step(job->context, &job->planes, from, to, steps, n, range.first, range.end, job->stream);
}

static __global__ void carried_out(struct cuda_report report)
{
    ts_cuda_report_write(report, NAN);
}

/* Reports iterations where no look does until the last one. */
static enum ts_status report(const struct job *job, int64_t i)
{
    if (!job->call->progress || job->params->stop != TV_NEVER)
        return TS_OK;
    carried_out<<<1, 1, 0, job->stream>>>(report_of(job, i));
    return ts_cuda_launched(job->context, "tv carried_out");
}

static enum ts_status iterate(struct job *job, float *out)
{
    struct tv_step step = ts_tv_step_first(job->params);
    int64_t n_look = 0;
    int side = 0;
    for (int64_t i = 0;;) {
        enum ts_status status = TS_OK;
        if (ts_tv_looks_after(job->params, i)) {
            const struct tv_range range = range_after(job, i);
            status = look_at(job, &job->fields[side], step, &range, i, n_look++, out);
        }
        if (status != TS_OK || i == job->params->iterations)
            return status;
        status = advance(job, &i, &step, &side);
        if (status == TS_OK)
            status = report(job, i);
        if (status != TS_OK)
            return status;
    }
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const int64_t n = out->axes[0].n, halo = ts_tv_reach(context).halo;
    const struct tv_range range = ts_tv_range(context, out);
    const bool volume = ((const struct tv_params *)context->params)->dimensions == TV_3D;
    struct job job = describe(context, volume ? range.end - range.first : n);
    struct memory_layout layout = {call->scratch, CUDA_ALIGNMENT, 0};
    const struct tv_params scaled = ts_tv_in_units(job.params);
    lay_out(&job, &layout);
    job.unit = ts_tv_unit(job.params);
    job.params = &scaled;
    job.planes.weight = (float)scaled.weight;
    job.call = call;
    job.stream = call->stream;
    job.range = {0, job.planes.n, volume ? range.z - range.first : 0, n};
    const int64_t skipped = volume ? range.first - (out->z_first - halo) : 0;
    enum ts_status status = begin(&job, ts_slice_data(in, skipped), ts_slice_valid(in, skipped));
    if (status == TS_OK)
        status = iterate(&job, (float *)out->data);
    if (status != TS_OK)
        return status;
    const struct ts_image original = ts_image_slices(in, volume ? halo : 0, n);
    const int64_t count = n * job.planes.plane;
#define KEEP(T)                                                                                                        \
    keep_far<T><<<blocks_for(count), THREADS, 0, call->stream>>>(                                                      \
        (const T *)original.data, original.valid, job.planes.plane, (float)(1 / job.unit), (float *)out->data, count)
    TS_CUDA_DTYPES(in->dtype, KEEP)
#undef KEEP
    return ts_cuda_launched(context, "tv keep_far");
}

extern "C" {
const struct stage_cuda tv_cuda = {.scratch_bytes = scratch_bytes, .map = map, .iterates = true};
}
