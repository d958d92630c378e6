/* SPDX-License-Identifier: Apache-2.0
 *
 * tv on a CUDA device: the arrays, the loop over iterations, and the looks, which measure how far
 * the result still is from the solution. Nothing goes through the host: `decide` marks the planes
 * that are done, and later kernels skip those.
 *
 * A look is one kernel, in which a thread takes 8 pixels of a plane, 256 apart: it reads q and f
 * (16 bytes a pixel in 3D), writes the result of the output's planes, and sums the gap in double,
 * in an order that depends only on the sizes.
 */
#include "cuda/device/launch.cuh"
#include "cuda/device/progress.cuh"
#include "cuda/values/reductions.cuh"

extern "C" {
#include "core/memory.h"
#include "stages/denoising/tv.h"
}

/* ---- planes -------------------------------------------------------------------------------------
 *
 * This describes the planes that tv iterates together on the device. */

/* `q` is the dual field along x, y and z; `image` is the image of the method primal-dual. */
struct tv_fields {
    float *q[3], *image;
};

/* Arrays begin at the first plane that is held: slice 0 of the slab in 2D, range.first in 3D. */
struct tv_planes {
    const float *values; /* the input f */
    int64_t n, plane;    /* number of planes, and of pixels in a plane */
    int ny, nx;
    bool volume, dual; /* volume: 3D; dual: method primal-dual */
    bool masked;       /* f is NaN if a pixel is invalid, and a difference with NaN counts as 0 */
    float weight;
    const int32_t *done; /* for each plane, whether it is done and no longer changed; in 3D all
                          * planes have the same value */
};

/* One launch carries out at most this many iterations. */
enum { TV_STEPS_2D = 4, TV_STEPS_3D = 3, TV_MOST_STEPS = 4 };

/* The place of one pixel. */
struct tv_at {
    int64_t i; /* index of the pixel in the arrays */
    int64_t z;
    int y, x;
};

/* Returns m at a pixel, and writes the new x to *image unless that is NULL. */
static __device__ __forceinline__ float ts_cuda_tv_point(const struct tv_planes &planes,
                                                         const struct tv_fields &q,
                                                         const struct tv_step &step,
                                                         const struct tv_at &at, float *image)
{
    float sum = (q.q[0][at.i] - (at.x > 0 ? q.q[0][at.i - 1] : 0)) +
                (q.q[1][at.i] - (at.y > 0 ? q.q[1][at.i - planes.nx] : 0));
    if (planes.volume)
        sum += q.q[2][at.i] - (at.z > 0 ? q.q[2][at.i - planes.plane] : 0);
    const float to = planes.values[at.i] + planes.weight * sum;
    if (!planes.dual)
        return to;
    const float old = q.image[at.i], found = old + step.blend * (to - old);
    if (image)
        *image = found;
    return found + step.momentum * (found - old);
}

/* Returns the difference of m at two pixels. */
static __device__ __forceinline__ float ts_cuda_tv_difference(float after, float at, bool masked)
{
    const float found = after - at;
    return masked && found != found ? 0 : found;
}

struct tv_gradient {
    float x, y, z, point, norm;
};

/* Returns m at a pixel (`point`), and its gradient by the differences to the next pixel along
 * each axis. Writes the new x to *image unless that is NULL. */
static __device__ __forceinline__ struct tv_gradient
ts_cuda_tv_gradient(const struct tv_planes &planes, const struct tv_fields &q,
                    const struct tv_step &step, const struct tv_at &at, float *image)
{
    const float m = ts_cuda_tv_point(planes, q, step, at, image);
    struct tv_gradient g = {0, 0, 0, m, 0};
    if (at.x + 1 < planes.nx)
        g.x = ts_cuda_tv_difference(
            ts_cuda_tv_point(planes, q, step, {at.i + 1, at.z, at.y, at.x + 1}, NULL), m,
            planes.masked);
    if (at.y + 1 < planes.ny)
        g.y = ts_cuda_tv_difference(
            ts_cuda_tv_point(planes, q, step, {at.i + planes.nx, at.z, at.y + 1, at.x}, NULL), m,
            planes.masked);
    if (planes.volume && at.z + 1 < planes.n)
        g.z = ts_cuda_tv_difference(
            ts_cuda_tv_point(planes, q, step, {at.i + planes.plane, at.z + 1, at.y, at.x}, NULL), m,
            planes.masked);
    g.norm = sqrtf(g.x * g.x + g.y * g.y + g.z * g.z);
    return g;
}

/* ---- tv step -----------------------------------------------------------------------------------
 *
 * This carries out K iterations of tv in one pass over the fields. A warp works on a row of 32
 * pixels, and each thread marches through the planes (in 2D through the rows of a slice). At plane
 * s it reads q and f, and iteration j computes m of plane s - j and, from it, the new q of the
 * plane before; iteration j + 1 finds that q in registers. Neighbors along x are in other lanes; in
 * 3D those along y are in other warps of a block of 32 x 32 threads, and come through shared
 * memory. Each iteration needs one more pixel on every side, so 32 - 2 K of 32 pixels have a
 * result; the neighboring block computes the others.
 *
 * The sums are those of the CPU in the same order, so that a pixel's bytes depend neither on K nor
 * on its place in a block. K iterations move 28 bytes a pixel in 3D and 20 in 2D, and 8 more with
 * primal-dual; what two blocks read is in the second cache. docs/notes/tv.md has times, and says
 * why roots are exact. */

enum { LANES = 32, WARPS_3D = 32, WARPS_2D = 8, RUN = 64, MOST_BLOCKS_Z = 65535 };

template <int K> struct tv_steps {
    struct tv_step at[K];
};

/* The values of one pixel that are read. `along` is q along the axis of the march; `across` is q
 * along y in 3D. */
struct pixel {
    float x, across, along, value, image;
};

/* A thread marches over the elements at + s * stride, for s in [first, end). */
struct march {
    int64_t at, stride;
    int first, end, n; /* n: number of planes, or of rows of a slice */
    bool inside, last_x, last_y;
};

template <bool VOLUME, bool DUAL>
static __device__ __forceinline__ struct pixel read_pixel(const struct tv_planes &planes,
                                                          const struct tv_fields &from,
                                                          const struct march &march, int s)
{
    struct pixel pixel = {0, 0, 0, 0, 0};
    if (!march.inside || s < 0 || s >= march.n)
        return pixel;
    const int64_t i = march.at + s * march.stride;
    pixel.x = from.q[0][i];
    pixel.along = from.q[VOLUME ? 2 : 1][i];
    if (VOLUME)
        pixel.across = from.q[1][i];
    pixel.value = planes.values[i];
    if (DUAL)
        pixel.image = from.image[i];
    return pixel;
}

/* What a thread keeps of one iteration from plane to plane: q and m of the plane before, and its
 * new x. */
struct tv_stage {
    float x, across, along, point, image, value;
};

/* The values that warps exchange: those of this plane, and of the one before. */
template <int K> struct tv_shared {
    float across[K][2][WARPS_3D][LANES], point[K][2][WARPS_3D][LANES];
};

/* Carries out one iteration: replaces q (and x) of plane s in `now` by the new q of plane s - 1. */
template <bool VOLUME, bool DUAL, bool MASKED>
static __device__ __forceinline__ void
step_pixel(const struct march &march, const struct tv_step &step, float weight, int s,
           struct tv_stage *stage, float (*across)[WARPS_3D][LANES],
           float (*points)[WARPS_3D][LANES], struct pixel *now)
{
    const int lane = (int)threadIdx.x, warp = (int)threadIdx.y, odd = s & 1;
    float sum = now->x - __shfl_up_sync(~0u, now->x, 1);
    if (VOLUME) {
        across[odd][warp][lane] = now->across;
        __syncthreads();
        sum += now->across - across[odd][warp > 0 ? warp - 1 : 0][lane];
    }
    sum += now->along - stage->along;
    const float to = now->value + weight * sum, old = now->image,
                image = DUAL ? old + step.blend * (to - old) : 0;
    const float point = DUAL ? image + step.momentum * (image - old) : to, last = stage->point;
    const float right = __shfl_down_sync(~0u, last, 1);
    const float gx = march.last_x ? 0 : ts_cuda_tv_difference(right, last, MASKED),
                gm = s >= march.n ? 0 : ts_cuda_tv_difference(point, last, MASKED);
    float gy = 0;
    if (VOLUME && !march.last_y)
        gy = ts_cuda_tv_difference(points[!odd][warp < WARPS_3D - 1 ? warp + 1 : warp][lane], last,
                                   MASKED);
    if (VOLUME)
        points[odd][warp][lane] = point;
    const float qx = stage->x + step.ascent * gx,
                qy = VOLUME ? stage->across + step.ascent * gy : 0,
                qm = stage->along + step.ascent * gm;
    const float norm = sqrtf(DUAL ? qx * qx + qy * qy + qm * qm : gx * gx + gy * gy + gm * gm);
    const float factor = 1 / (!DUAL ? 1 + step.ascent * norm : norm > 1 ? norm : 1);
    const bool exists = march.inside && s > 0 && s <= march.n;
    const struct tv_stage kept = {now->x, now->across, now->along, point, image, now->value};
    *now = {exists ? qx * factor : 0, exists ? qy * factor : 0, exists ? qm * factor : 0,
            stage->value, stage->image};
    *stage = kept;
}

template <int K, bool VOLUME, bool DUAL, bool MASKED>
static __device__ __forceinline__ void
march_on(const struct tv_planes &planes, const struct tv_fields &from, const struct tv_fields &to,
         const struct tv_steps<K> &steps, const struct march &march, bool writes,
         struct tv_shared<K> *shared)
{
    struct tv_stage stages[K];
    for (int j = 0; j < K; j++)
        stages[j] = {0, 0, 0, 0, 0, 0};
    struct pixel next = read_pixel<VOLUME, DUAL>(planes, from, march, march.first - K);
    for (int s = march.first - K; s < march.end + K; s++) {
        struct pixel now = next;
        next = read_pixel<VOLUME, DUAL>(planes, from, march, s + 1);
#pragma unroll
        for (int j = 0; j < K; j++)
            step_pixel<VOLUME, DUAL, MASKED>(march, steps.at[j], planes.weight, s - j, &stages[j],
                                             VOLUME ? shared->across[j] : NULL,
                                             VOLUME ? shared->point[j] : NULL, &now);
        const int done = s - K;
        if (!writes || done < march.first || done >= march.end)
            continue;
        const int64_t i = march.at + done * march.stride;
        to.q[0][i] = now.x;
        to.q[VOLUME ? 2 : 1][i] = now.along;
        if (VOLUME)
            to.q[1][i] = now.across;
        if (DUAL)
            to.image[i] = now.image;
    }
}

/* The grid counts tiles of x, tiles of y, and chunks of planes. */
template <int K, bool DUAL, bool MASKED>
static __global__ void __launch_bounds__(LANES *WARPS_3D)
    step_volume(struct tv_planes planes, struct tv_fields from, struct tv_fields to,
                struct tv_steps<K> steps, int64_t first, int64_t end)
{
    enum { WIDTH = LANES - 2 * K, HEIGHT = WARPS_3D - 2 * K };
    __shared__ struct tv_shared<K> shared;
    const int x = (int)(blockIdx.x * WIDTH + threadIdx.x) - K,
              y = (int)(blockIdx.y * HEIGHT + threadIdx.y) - K;
    const bool inside = x >= 0 && x < planes.nx && y >= 0 && y < planes.ny;
    const bool writes = inside && threadIdx.x >= K && threadIdx.x < LANES - K && threadIdx.y >= K &&
                        threadIdx.y < WARPS_3D - K;
    if (planes.done[first])
        return;
    const int64_t z = first + (int64_t)blockIdx.z * RUN;
    const struct march march = {(int64_t)y * planes.nx + x,
                                planes.plane,
                                (int)z,
                                (int)(z + RUN < end ? z + RUN : end),
                                (int)planes.n,
                                inside,
                                x + 1 >= planes.nx,
                                y + 1 >= planes.ny};
    march_on<K, true, DUAL, MASKED>(planes, from, to, steps, march, writes, &shared);
}

/* The grid counts tiles of x, chunks of rows (one for each warp), and slices. */
template <int K, bool DUAL, bool MASKED>
static __global__ void __launch_bounds__(LANES *WARPS_2D)
    step_slices(struct tv_planes planes, struct tv_fields from, struct tv_fields to,
                struct tv_steps<K> steps, int64_t end)
{
    enum { WIDTH = LANES - 2 * K };
    const int x = (int)(blockIdx.x * WIDTH + threadIdx.x) - K,
              y = (int)(blockIdx.y * WARPS_2D + threadIdx.y) * RUN;
    const bool inside = x >= 0 && x < planes.nx,
               writes = inside && threadIdx.x >= K && threadIdx.x < LANES - K;
    if (y >= planes.ny)
        return;
    for (int64_t z = blockIdx.z; z < end; z += gridDim.z) {
        if (planes.done[z])
            continue;
        const struct march march = {z * planes.plane + x,
                                    planes.nx,
                                    y,
                                    y + RUN < planes.ny ? y + RUN : planes.ny,
                                    planes.ny,
                                    inside,
                                    x + 1 >= planes.nx,
                                    true};
        march_on<K, false, DUAL, MASKED>(planes, from, to, steps, march, writes, NULL);
    }
}

template <int K> static struct tv_steps<K> steps_of(const struct tv_step *step) {
    struct tv_steps<K> steps;
    memcpy(steps.at, step, sizeof steps.at);
    return steps;
}

/* Iterations from `from` to `to` with these factors, of planes [first, end). */
struct tv_launch {
    const struct tv_planes *planes;
    const struct tv_fields *from, *to;
    const struct tv_step *steps;
    int64_t first, end;
    cudaStream_t stream;
};

template <int K, bool DUAL, bool MASKED> static void launch_volume(const struct tv_launch &launch)
{
    const struct tv_planes *planes = launch.planes;
    const dim3 threads(LANES, WARPS_3D),
        blocks((unsigned)ts_cuda_parts(planes->nx, LANES - 2 * K),
               (unsigned)ts_cuda_parts(planes->ny, WARPS_3D - 2 * K),
               (unsigned)ts_cuda_parts(launch.end - launch.first, RUN));
    step_volume<K, DUAL, MASKED><<<blocks, threads, 0, launch.stream>>>(
        *planes, *launch.from, *launch.to, steps_of<K>(launch.steps), launch.first, launch.end);
}

template <int K, bool DUAL, bool MASKED> static void launch_slices(const struct tv_launch &launch)
{
    const struct tv_planes *planes = launch.planes;
    const dim3 threads(LANES, WARPS_2D),
        blocks((unsigned)ts_cuda_parts(planes->nx, LANES - 2 * K),
               (unsigned)ts_cuda_parts(planes->ny, RUN * WARPS_2D),
               (unsigned)(launch.end < MOST_BLOCKS_Z ? launch.end : MOST_BLOCKS_Z));
    step_slices<K, DUAL, MASKED><<<blocks, threads, 0, launch.stream>>>(
        *planes, *launch.from, *launch.to, steps_of<K>(launch.steps), launch.end);
}

template <int K> static void run_volume(const struct tv_launch &launch)
{
    if (launch.planes->masked && launch.planes->dual)
        launch_volume<K, true, true>(launch);
    else if (launch.planes->masked)
        launch_volume<K, false, true>(launch);
    else if (launch.planes->dual)
        launch_volume<K, true, false>(launch);
    else
        launch_volume<K, false, false>(launch);
}

template <int K> static void run_slices(const struct tv_launch &launch)
{
    if (launch.planes->masked && launch.planes->dual)
        launch_slices<K, true, true>(launch);
    else if (launch.planes->masked)
        launch_slices<K, false, true>(launch);
    else if (launch.planes->dual)
        launch_slices<K, true, false>(launch);
    else
        launch_slices<K, false, false>(launch);
}

template <int K_2D, int K_3D> static void run_steps(const struct tv_launch &launch)
{
    if (launch.planes->volume)
        run_volume<K_3D>(launch);
    else
        run_slices<K_2D>(launch);
}

/* Returns how many of the remaining iterations the next launch carries out. */
static int steps_at_once(const struct tv_planes *planes, int64_t left)
{
    const int most = planes->volume ? TV_STEPS_3D : TV_STEPS_2D;
    if (left >= most)
        return most;
    return left >= 2 ? 2 : 1;
}

/* Enqueues n_steps iterations from `from` to `to`; `steps` has the factors of each. Planes [first,
 * end) of `to` become right if the planes up to n_steps further on both sides are right in
 * `from`. */
static enum ts_status take_steps(const struct stage_context *context,
                                 const struct tv_planes *planes, const struct tv_fields *from,
                                 const struct tv_fields *to, const struct tv_step *steps,
                                 int n_steps, int64_t first, int64_t end, cudaStream_t stream)
{
    const struct tv_launch launch = {planes, from, to, steps, first, end, stream};
    switch (n_steps) {
    case 1:
        run_steps<1, 1>(launch);
        break;
    case 2:
        run_steps<2, 2>(launch);
        break;
    default: /* steps_at_once() gives no other number */
        run_steps<TV_STEPS_2D, TV_STEPS_3D>(launch);
    }
    return ts_cuda_launched(context, "tv step");
}

enum { THREADS = 256, EACH = 8, CHUNK = THREADS * EACH, DECIDE_THREADS = 1024 };

/* This describes one call of map(). */
struct job {
    const struct stage_context *context;
    const struct tv_params *params;
    struct tv_planes planes;
    struct tv_fields fields[2]; /* a launch reads one of them and writes the other */
    struct tv_range range;      /* range of the planes held; in 2D all planes are output planes */
    double unit;                /* the unit that values are divided by; `params` are divided by it,
                                 * too */
    float *values;              /* the input f, divided by unit */
    double *partial;            /* one sum for each chunk of each plane */
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
    job->partial = (double *)ts_layout_add(
        layout, (size_t)(job->planes.n * ts_cuda_parts(job->planes.plane, CHUNK)) * sizeof(double));
    job->done = (int32_t *)ts_layout_add(layout, (size_t)job->planes.n * sizeof(int32_t));
}

/* Returns the job of a call that holds n planes. */
static struct job tv_describe(const struct stage_context *context, int64_t n)
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
    struct job job = tv_describe(context, n + 2 * ts_tv_reach(context).halo);
    struct memory_layout layout = {NULL, CUDA_ALIGNMENT, 0};
    lay_out(&job, &layout);
    return layout.bytes;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Returns true if pixel i of all slices is valid; `valid` may be NULL. */
static __device__ inline bool is_valid(const uint64_t *valid, int64_t i, int64_t plane)
{
    const int64_t pixel = i % plane;
    return !valid || valid[i / plane * ((plane + 63) / 64) + pixel / 64] >> pixel % 64 & 1;
}

/* Copies values, divided by the unit, as floats. Invalid pixels become NaN. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    convert(const T *in, const uint64_t *valid, int64_t plane, float per_unit, float *values,
            int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        values[i] = is_valid(valid, i, plane) ? ts_tv_value((float)in[i], per_unit) : NAN;
}

/* Gives invalid pixels of the result, and those with a value of TV_FAR, the values of the input. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    keep_far(const T *in, const uint64_t *valid, int64_t plane, float per_unit, float *out,
             int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        if (!is_valid(valid, i, plane) || fabsf(ts_tv_value((float)in[i], per_unit)) == TV_FAR)
            out[i] = (float)in[i];
}

static unsigned blocks_for(int64_t n)
{
    return (unsigned)min(ts_cuda_parts(n, THREADS), (int64_t)1 << 20);
}

static enum ts_status tv_begin(struct job *job, const void *in, const uint64_t *valid)
{
    const int64_t n = job->planes.n * job->planes.plane;
    const size_t bytes = (size_t)n * sizeof(float);
    cudaMemsetAsync(job->done, 0, (size_t)job->planes.n * sizeof(int32_t), job->stream);
    for (int a = 0; a < (job->planes.volume ? 3 : 2); a++)
        cudaMemsetAsync(job->fields[0].q[a], 0, bytes, job->stream);
#define CONVERT(T)                                                                                 \
    convert<T><<<blocks_for(n), THREADS, 0, job->stream>>>(                                        \
        (const T *)in, valid, job->planes.plane, (float)(1 / job->unit), job->values, n)
    TS_CUDA_DTYPES(job->context->in.dtype, CONVERT)
#undef CONVERT
    const enum ts_status status = ts_cuda_launched(job->context, "tv convert");
    if (status != TS_OK)
        return status;
    job->planes.values = job->values;
    job->planes.done = job->done;
    if (job->planes.dual)
        cudaMemcpyAsync(job->fields[0].image, job->planes.values, bytes, cudaMemcpyDeviceToDevice,
                        job->stream);
    return TS_OK;
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* Looks at planes [first, end), and writes the result of planes [z, z + n) to `out`. */
static __global__ void __launch_bounds__(THREADS)
    look(struct tv_planes planes, struct tv_fields fields, struct tv_step step,
         struct tv_range range, float *out, float unit, double *partial)
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
    double *distances; /* rows of the tables that belong to the output's planes */
    uint32_t *counts;
    int32_t *done;
    struct cuda_report report;
};

static __device__ double distance_of(double gap, double pixels)
{
    return gap <= 0 ? 0 : sqrt(2 * gap / pixels);
}

/* One block runs: each warp sums the gap of a plane and records it, then the first thread sums
 * those of all planes. It reports the largest distance; in 3D there is only one, that of all
 * planes. Distances are not negative, so comparing the bits of these doubles compares the
 * doubles. */
static __global__ void __launch_bounds__(DECIDE_THREADS) decide(struct decision d, double *gaps)
{
    __shared__ int32_t all, looked;
    __shared__ unsigned long long largest;
    const int lane = (int)(threadIdx.x % CUDA_WARP);
    if (threadIdx.x == 0)
        largest = looked = 0;
    __syncthreads();
    for (int64_t z = d.range.first + threadIdx.x / CUDA_WARP; z < d.range.end;
         z += DECIDE_THREADS / CUDA_WARP) {
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
        const double distance =
            d.unit * distance_of(total, (double)d.plane * (double)(d.range.end - d.range.first));
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

/* Enqueues a look at the result after iteration i, and the decision which planes are done. */
static enum ts_status look_at(struct job *job, const struct tv_fields *fields, struct tv_step step,
                              const struct tv_range *range, int64_t i, int64_t n_look, float *out)
{
    const int64_t n = range->end - range->first, n_chunks = ts_cuda_parts(job->planes.plane, CHUNK);
    const dim3 blocks((unsigned)n_chunks, (unsigned)(n < MOST_BLOCKS_Z ? n : MOST_BLOCKS_Z));
    const struct ts_image *tables = job->context->tables;
    step.momentum = 0;
    look<<<blocks, THREADS, 0, job->stream>>>(job->planes, *fields, step, *range, out,
                                              (float)job->unit, job->partial);
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

/* ---- a slab ---------------------------------------------------------------------------------- */

static struct tv_range range_after(const struct job *job, int64_t i)
{
    return job->planes.volume ? ts_tv_range_of_iteration(job->params, &job->range, i) : job->range;
}

/* Enqueues as many iterations, from number i on, as one launch can carry out before the next look,
 * and advances *step. */
static enum ts_status advance(struct job *job, int64_t *i, struct tv_step *step, int *side)
{
    const int64_t left = job->params->iterations - *i,
                  until = job->params->stop == TV_NEVER ? left : TV_LOOK - *i % TV_LOOK;
    const int n = steps_at_once(&job->planes, left < until ? left : until);
    struct tv_step steps[TV_MOST_STEPS];
    for (int k = 0; k < n; k++) {
        steps[k] = *step;
        ts_tv_step_next(job->params, step);
    }
    *i += n;
    const struct tv_range range = range_after(job, *i - 1);
    const struct tv_fields *from = &job->fields[*side], *to = &job->fields[!*side];
    *side = !*side;
    return take_steps(job->context, &job->planes, from, to, steps, n, range.first, range.end,
                      job->stream);
}

static __global__ void carried_out(struct cuda_report report)
{
    ts_cuda_report_write(report, NAN);
}

/* Reports iteration i if looks do not: with stop TV_NEVER, the only look is the last one. */
static enum ts_status tv_report(const struct job *job, int64_t i)
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
            status = tv_report(job, i);
        if (status != TS_OK)
            return status;
    }
}

static enum ts_status tv_map(const struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out, const struct cuda_call *call)
{
    const int64_t n = out->axes[0].n, halo = ts_tv_reach(context).halo;
    const struct tv_range range = ts_tv_range(context, out);
    const bool volume = ((const struct tv_params *)context->params)->dimensions == TV_3D;
    struct job job = tv_describe(context, volume ? range.end - range.first : n);
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
    enum ts_status status = tv_begin(&job, ts_slice_data(in, skipped), ts_slice_valid(in, skipped));
    if (status == TS_OK)
        status = iterate(&job, (float *)out->data);
    if (status != TS_OK)
        return status;
    const struct ts_image original = ts_image_slices(in, volume ? halo : 0, n);
    const int64_t count = n * job.planes.plane;
#define KEEP(T)                                                                                    \
    keep_far<T><<<blocks_for(count), THREADS, 0, call->stream>>>(                                  \
        (const T *)original.data, original.valid, job.planes.plane, (float)(1 / job.unit),         \
        (float *)out->data, count)
    TS_CUDA_DTYPES(in->dtype, KEEP)
#undef KEEP
    return ts_cuda_launched(context, "tv keep_far");
}

extern "C" {
const struct stage_cuda tv_cuda = {.scratch_bytes = scratch_bytes, .map = tv_map, .iterates = true};
}
