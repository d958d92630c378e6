/* SPDX-License-Identifier: Apache-2.0
 *
 * distance on a CUDA device, axis by axis as on the CPU (stages/regions/distance.c). First a thread
 * goes through a column along z and writes the squares of the distances from the nearest slice;
 * then a thread makes the envelope of a line along y, and then of one along x. Neighboring threads
 * have neighboring lines, whose samples are side by side: the lines along y are written transposed
 * for it. Memory traffic: about 60 bytes a voxel, of the slab's doubles and envelopes. 128 threads,
 * since a thread has a whole line.
 */
#include "cuda/regions/mask_bits.cuh"

extern "C" {
#include "stages/regions/distance.h"
}

enum { THREADS = 128 };

STAGE_PARAMS_OF(distance_params)

static enum ts_status distance_reduce(const struct stage_context *context, int,
                                      const struct ts_image *slices, void *partials,
                                      const struct cuda_call *call)
{
    return ts_cuda_mask_volume_reduce(context, slices, ts_distance_values(context), NULL, partials,
                                      call);
}

static const struct cuda_reduction reduction = {.partial_bytes = ts_cuda_mask_volume_bytes,
                                                .reduce = distance_reduce,
                                                .collect = ts_cuda_mask_volume_collect};

/* Squares are [z][y][x], turned ones [z][x][y]. Envelopes of lines are side by side. */
struct distance_job {
    const uint32_t *bits; /* of the volume */
    double *squares, *turned, *begin;
    int32_t *site;
    float *out;
    double mm[3];
    int64_t nz, ny, nx, row_words, first, n;
    bool complement, subtract;
};

static __device__ inline bool is_from(const struct distance_job &job, int64_t z, int64_t y,
                                      int64_t x)
{
    const uint32_t word = job.bits[(z * job.ny + y) * job.row_words + x / 32];
    return (word >> x % 32 & 1) != job.complement;
}

/* Returns the nearest slice from z on, going by `step`, from which the column has a distance; -1 if
 * there is none. */
static __device__ inline int64_t find_slice(const struct distance_job &job, int64_t z, int64_t step,
                                            int64_t y, int64_t x)
{
    while (z >= 0 && z < job.nz && !is_from(job, z, y, x))
        z += step;
    return z < job.nz ? z : -1;
}

static __global__ void __launch_bounds__(THREADS) measure_z(struct distance_job job)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, slice = job.ny * job.nx;
    if (i >= slice)
        return;
    const int64_t y = i / job.nx, x = i % job.nx;
    int64_t below = find_slice(job, job.first, -1, y, x), above = -1;
    for (int64_t z = job.first; z < job.first + job.n; z++) {
        if (is_from(job, z, y, x))
            below = above = z;
        else if (above < z)
            above = z == job.first || above >= 0 ? find_slice(job, z, 1, y, x) : -1;
        const double to_below = (double)(z - below) * job.mm[0],
                     to_above = (double)(above - z) * job.mm[0];
        const double least = below < 0                           ? to_above
                             : above < 0 || to_below <= to_above ? to_below
                                                                 : to_above;
        job.squares[(z - job.first) * slice + i] =
            below < 0 && above < 0 ? (double)INFINITY : least * least;
    }
}

static __global__ void __launch_bounds__(THREADS) measure_y(struct distance_job job)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, lines = job.n * job.nx;
    if (i >= lines)
        return;
    const int64_t z = i / job.nx, x = i % job.nx;
    const struct distance_line line = {job.squares + z * job.ny * job.nx + x,
                                       job.nx,
                                       job.ny,
                                       job.mm[1] * job.mm[1],
                                       job.site + i,
                                       job.begin + i,
                                       lines};
    const int64_t n_sites = ts_distance_envelope(&line);
    double *turned = job.turned + i * job.ny;
    for (int64_t y = 0, k = 0; y < job.ny; y++)
        turned[y] = ts_distance_lowest(&line, n_sites, y, &k);
}

static __global__ void __launch_bounds__(THREADS) measure_x(struct distance_job job)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, lines = job.n * job.ny;
    if (i >= lines)
        return;
    const int64_t z = i / job.ny, y = i % job.ny;
    const struct distance_line line = {job.turned + z * job.ny * job.nx + y,
                                       job.ny,
                                       job.nx,
                                       job.mm[2] * job.mm[2],
                                       job.site + i,
                                       job.begin + i,
                                       lines};
    const int64_t n_sites = ts_distance_envelope(&line);
    float *out = job.out + i * job.nx;
    for (int64_t x = 0, k = 0; x < job.nx; x++) {
        const float distance = (float)sqrt(ts_distance_lowest(&line, n_sites, x, &k));
        out[x] = job.subtract ? out[x] - distance : distance;
    }
}

static int64_t voxels_of(const struct stage_context *context, int64_t n)
{
    return n * (int64_t)ts_slice_count(&context->in);
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    return (size_t)voxels_of(context, n) * (3 * sizeof(double) + sizeof(int32_t));
}

static enum ts_status launch(const struct stage_context *context, const struct distance_job *job,
                             const struct cuda_call *call)
{
    measure_z<<<(unsigned)ts_cuda_parts(job->ny * job->nx, THREADS), THREADS, 0, call->stream>>>(
        *job);
    enum ts_status status = ts_cuda_launched(context, "distance z");
    if (status != TS_OK)
        return status;
    measure_y<<<(unsigned)ts_cuda_parts(job->n * job->nx, THREADS), THREADS, 0, call->stream>>>(
        *job);
    status = ts_cuda_launched(context, "distance y");
    if (status != TS_OK)
        return status;
    measure_x<<<(unsigned)ts_cuda_parts(job->n * job->ny, THREADS), THREADS, 0, call->stream>>>(
        *job);
    return ts_cuda_launched(context, "distance x");
}

static enum ts_status distance_map(const struct stage_context *context, const struct ts_image *,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    const int64_t voxels = voxels_of(context, out->axes[0].n);
    const int32_t of = params_of(context)->of;
    struct distance_job job = {(const uint32_t *)call->result, (double *)call->scratch};
    job.turned = job.squares + voxels;
    job.begin = job.turned + voxels;
    job.site = (int32_t *)(job.begin + voxels);
    job.out = (float *)out->data;
    ts_mask_mm(context, job.mm);
    job.nz = grid.nz;
    job.ny = grid.ny;
    job.nx = grid.nx;
    job.row_words = 2 * grid.n_words;
    job.first = out->z_first;
    job.n = out->axes[0].n;
    enum ts_status status = of == DISTANCE_INSIDE ? TS_OK : launch(context, &job, call);
    job.complement = true;
    job.subtract = of == DISTANCE_SIGNED;
    return status == TS_OK && of != DISTANCE_OUTSIDE ? launch(context, &job, call) : status;
}

const struct stage_cuda distance_cuda = {
    .scratch_bytes = scratch_bytes, .map = distance_map, .reduction = &reduction};
