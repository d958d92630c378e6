/* SPDX-License-Identifier: Apache-2.0
 *
 * This is Joseph's projector for any beam, (z, y, x) -> (z, view, detector), over 128 interleaved
 * slices at once (64 or 32 at the end of a stack; their samples are read and written once more for
 * that).
 *
 * rays: one thread computes the table entry of one ray, in double; 32 bytes are written a ray, once
 * a call.
 *
 * project: one warp computes the rays of 4 neighboring detector pixels in one view, one thread V of
 * the slices: 4 V sums in registers. Everything except pixels and sums is the same in all threads,
 * so a warp never diverges. Every ray loads its two pixels of a line; neighboring rays find pixels
 * that others have loaded in the first cache. Sums run over rising lines, 32 at a time in
 * registers, then into the ray's total in shared memory. Memory: 4 bytes are written a ray; pixels
 * come from the caches. A block is 8 neighboring views of 4 detector pixels, whose rays pass nearly
 * the same image pixels, and blocks run in patches (ray_patches.cuh).
 */
#include "cuda/projection/joseph.cuh"

#include "cuda/geometry/beam.cuh"
#include "cuda/projection/ray_patches.cuh"

enum {
    RAYS_THREADS = 128,
    GROUP = 4, /* detector pixels of a warp */
    BLOCK_VIEWS = 8,
    PROJECT_THREADS = 32 * BLOCK_VIEWS,
    PROJECT_BLOCKS = 4, /* blocks on a multiprocessor */
    SUM_LINES = 32,     /* lines summed in registers before they go into the total */
    PATCH_RUNS = 16,
    PATCH_VIEWS = 32
};

/* ---- tables ---------------------------------------------------------------------------------- */

static size_t angles_bytes(int64_t n_views)
{
    return ts_cuda_stride((size_t)n_views * sizeof(struct beam_angle));
}

size_t ts_cuda_joseph_constants_bytes(const struct beam_scan *scan)
{
    return angles_bytes(scan->n_views) +
           (size_t)scan->grid.n_detectors * sizeof(struct beam_detector);
}

void ts_cuda_joseph_constants(const struct beam_scan *scan, void *host)
{
    struct beam_angle *angles = (struct beam_angle *)host;
    struct beam_detector *detectors =
        (struct beam_detector *)((unsigned char *)host + angles_bytes(scan->n_views));
    for (int64_t v = 0; v < scan->n_views; v++)
        angles[v] = ts_beam_angle(scan, v);
    for (int64_t d = 0; d < scan->grid.n_detectors; d++)
        detectors[d] = ts_beam_detector(scan, d);
}

static size_t rays_bytes(const struct beam_scan *scan)
{
    return ts_cuda_stride((size_t)(scan->n_views * scan->grid.n_detectors) *
                          sizeof(struct cuda_ray));
}

static __global__ void __launch_bounds__(RAYS_THREADS) rays(struct cuda_joseph joseph)
{
    const int64_t n = joseph.n_views * joseph.grid.n_detectors;
    for (int64_t i = (int64_t)blockIdx.x * RAYS_THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * RAYS_THREADS) {
        const struct beam_ray ray =
            ts_beam_ray(&joseph.grid, joseph.angles[i / joseph.grid.n_detectors],
                        joseph.detectors[i % joseph.grid.n_detectors]);
        const int n_major = (int)(ray.along_rows ? joseph.grid.n_rows : joseph.grid.n_columns),
                  n_minor = (int)(ray.along_rows ? joseph.grid.n_columns : joseph.grid.n_rows);
        struct cuda_ray out = {0, 0, 0, 0, (float)ray.length_mm, ray.along_rows};
        ts_cuda_beam_lines(ray.base, ray.per_major, 0, n_major, n_minor, &out.first, &out.end);
        out.end = max(out.first, out.end);
        if (out.first < out.end) {
            out.at = ts_cuda_fixed(ray.base) + TS_CUDA_BEAM_HALF;
            out.step = ts_cuda_fixed(ray.per_major);
        } else { /* positions far outside do not fit the fixed-point numbers */
            out.at = -((int64_t)JOSEPH_MARGIN << 32);
        }
        joseph.rays[i] = out;
    }
}

struct cuda_joseph ts_cuda_joseph_tables(const struct beam_scan *scan, const void *constants)
{
    struct cuda_joseph joseph = {scan->grid, scan->beam, scan->n_views};
    joseph.angles = (const struct beam_angle *)constants;
    joseph.detectors = (const struct beam_detector *)((const unsigned char *)constants +
                                                      angles_bytes(scan->n_views));
    return joseph;
}

static enum ts_status find_rays(const struct stage_context *context,
                                const struct cuda_joseph *joseph, cudaStream_t stream)
{
    const int64_t blocks = ts_cuda_parts(joseph->n_views * joseph->grid.n_detectors, RAYS_THREADS);
    rays<<<(unsigned)(blocks < 65535 ? blocks : 65535), RAYS_THREADS, 0, stream>>>(*joseph);
    return ts_cuda_launched(context, "rays");
}

/* ---- the projector --------------------------------------------------------------------------- */

struct project_size {
    int n_detectors, ny, nx;
    int64_t n_views;
    struct ray_patches patches;
};

/* Adds lines [m, end) of the rays along one major axis to the sums. Rays along the other axis are
 * outside on all these lines. */
template <int V>
static __device__ __forceinline__ void
walk(const float *samples, int m, int end, int64_t line, int64_t sample, int n_minor,
     const int64_t at_0[GROUP], const int64_t step[GROUP], struct slice_samples<V> sums[GROUP])
{
    int64_t at[GROUP];
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        at[k] = at_0[k] + m * step[k];
    for (samples += m * line; m < end; m++, samples += line)
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            const int i = min(max((int)(at[k] >> 32), -JOSEPH_MARGIN), n_minor);
            const float weight = ts_cuda_beam_weight((uint32_t)at[k]), w_above = weight - 1,
                        w_below = 2 - weight;
            struct slice_samples<V> below, above;
            ts_cuda_samples_load(&below, samples + i * sample);
            ts_cuda_samples_load(&above, samples + (i + 1) * sample);
            at[k] += step[k];
            ts_cuda_samples_add_two(&sums[k], &below, &above, w_below, w_above);
        }
}

/* Adds all lines of the rays along one major axis in a group to `totals`, which has GROUP x V
 * numbers for each thread. */
template <int V>
static __device__ __forceinline__ void
project_kind(const float *samples, const struct cuda_ray *group, int n, bool along_rows,
             const struct project_size *size, float4 *totals)
{
    const int64_t width = (size->nx + 2 * JOSEPH_MARGIN) * (32 * V);
    const int64_t line = along_rows ? width : 32 * V, sample = along_rows ? 32 * V : width;
    int64_t at[GROUP], step[GROUP];
    int first = INT32_MAX, end = 0;
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        at[k] = -((int64_t)JOSEPH_MARGIN << 32);
        step[k] = 0;
        if (k < n && group[k].along_rows == along_rows) {
            at[k] = group[k].at;
            step[k] = group[k].step;
            if (group[k].first < group[k].end) {
                first = min(first, group[k].first);
                end = max(end, group[k].end);
            }
        }
    }
    for (int m = first; m < end;) {
        const int stop = min(end, m / SUM_LINES * SUM_LINES + SUM_LINES);
        struct slice_samples<V> sums[GROUP] = {
        };
        walk<V>(samples, m, stop, line, sample, along_rows ? size->nx : size->ny, at, step, sums);
        ts_cuda_totals_add<V>(totals, PROJECT_THREADS, sums);
        m = stop;
    }
}

/* The grid is that of ray_patches.cuh. */
template <int V>
static __global__ void __launch_bounds__(PROJECT_THREADS, PROJECT_BLOCKS)
    project(const float *volume, float *out, const struct cuda_ray *table, const int32_t *halt,
            struct project_size size)
{
    __shared__ float4 shared[V * PROJECT_THREADS];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    int run;
    const int64_t view = ts_cuda_patch_place<PATCH_VIEWS>(&size.patches, &run) * BLOCK_VIEWS + warp;
    const int detector = run * GROUP, n = min(GROUP, size.n_detectors - detector);
    if (view >= size.n_views || n <= 0 || (halt && *halt))
        return;
    const struct cuda_ray *group = table + view * size.n_detectors + detector;
    const float *samples =
        volume +
        ((int64_t)JOSEPH_MARGIN * (size.nx + 2 * JOSEPH_MARGIN) + JOSEPH_MARGIN) * (32 * V) +
        lane * V;
    float4 *totals = shared + threadIdx.x;
    ts_cuda_totals_clear<V>(totals, PROJECT_THREADS);
    for (int kind = 0; kind < 2; kind++)
        project_kind<V>(samples, group, n, kind == 0, &size, totals);
    for (int k = 0; k < n; k++) {
        float *to = out + (view * size.n_detectors + detector + k) * (32 * V) + lane * V;
#pragma unroll
        for (int s = 0; s < V; s++)
            to[s] = ((const float *)&totals[s * PROJECT_THREADS])[k] * group[k].length_mm;
    }
}

template <int V>
static enum ts_status joseph_launch(const struct stage_context *context,
                                    const struct cuda_joseph *joseph, const float *volume,
                                    float *sinogram, cudaStream_t stream)
{
    struct project_size size = {(int)joseph->grid.n_detectors, (int)joseph->grid.n_rows,
                                (int)joseph->grid.n_columns, joseph->n_views};
    const int64_t runs = ts_cuda_parts(size.n_detectors, GROUP),
                  groups = ts_cuda_parts(size.n_views, BLOCK_VIEWS);
    return ts_cuda_patches_run(&size.patches, runs, PATCH_RUNS, groups, PATCH_VIEWS,
                               [&](unsigned blocks) {
                                   project<V><<<blocks, PROJECT_THREADS, 0, stream>>>(
                                       volume, sinogram, joseph->rays, joseph->halt, size);
                                   return ts_cuda_launched(context, "project");
                               });
}

/* ---- slices ---------------------------------------------------------------------------------- */

static size_t volume_bytes(const struct beam_scan *scan, int width)
{
    return ts_cuda_interleaved_bytes(scan->grid.n_rows, scan->grid.n_columns, JOSEPH_MARGIN, width);
}

size_t ts_cuda_joseph_project_scratch(const struct beam_scan *scan, int64_t n)
{
    const int width = ts_cuda_group_width(n);
    return rays_bytes(scan) + volume_bytes(scan, width) +
           ts_cuda_interleaved_bytes(scan->n_views, scan->grid.n_detectors, 0, width);
}

enum ts_status ts_cuda_joseph_project(const struct stage_context *context,
                                      const struct beam_scan *scan, const struct ts_image *in,
                                      struct ts_image *out, const struct cuda_call *call)
{
    const int64_t nz = out->axes[0].n;
    const struct interleaved_lines lines = {JOSEPH_MARGIN, JOSEPH_MARGIN, true};
    struct cuda_joseph joseph = ts_cuda_joseph_tables(scan, call->constants);
    joseph.rays = (struct cuda_ray *)call->scratch;
    joseph.halt = context->halt;
    float *volume = (float *)((unsigned char *)call->scratch + rays_bytes(scan));
    enum ts_status status = find_rays(context, &joseph, call->stream);
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        const int width = ts_cuda_group_width(nz - z);
        float *sinogram = (float *)((unsigned char *)volume + volume_bytes(scan, width));
        n = nz - z < width ? nz - z : width;
        status = ts_cuda_interleave(context, in, z, n, lines, width, volume, call->stream);
        if (status == TS_OK)
            status = (width == 128 ? joseph_launch<4>
                      : width == 64
                          ? joseph_launch<2>
                          : joseph_launch<1>)(context, &joseph, volume, sinogram, call->stream);
        if (status == TS_OK)
            status = ts_cuda_separate(context, out, z, n, width, sinogram, call->stream);
    }
    return status;
}
