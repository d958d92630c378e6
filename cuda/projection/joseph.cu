/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector over stacks of slices for any beam: the table of rays, and the projector. (row, column) as lanes
 * -> (view, detector) as lanes.
 *
 * rays: one thread a ray, in double; 32 bytes written a ray, once a call.
 *
 * project: one warp computes the rays of 4 neighboring detectors in one view, one thread V of the slices: 4 V sums in
 * registers. All but pixels and sums is the same in all lanes, so a warp branches as one. Every ray loads its two
 * pixels of a line; neighboring rays find each other's in the first cache. Order of sums: lines rising, 32 at a time in
 * registers, then into the ray's total in shared memory.
 * Memory: 4 bytes written a ray; pixels come from the caches: a block is 8 neighboring views of 4 detectors, whose rays
 * pass nearly the same pixels, and the blocks in work at once are 16 such runs of detectors by 32 of views.
 */
#include "cuda/projection/joseph.cuh"

#include "cuda/geometry/beam.cuh"

enum {
    RAYS_THREADS = 128,
    GROUP = 4, /* detectors of a warp */
    BLOCK_VIEWS = 8,
    PROJECT_THREADS = 32 * BLOCK_VIEWS,
    PROJECT_BLOCKS = 4, /* on a multiprocessor */
    SUM_LINES = 32,     /* summed in registers before they go into the total */
    PATCH_RUNS = 16,
    PATCH_VIEWS = 32,
    MOST_BLOCKS = 1 << 30
};

/* ---- tables ------------------------------------------------------------------------------------ */

static size_t angles_bytes(int64_t n_views)
{
    return ts_cuda_stride((size_t)n_views * sizeof(struct beam_angle));
}

size_t ts_cuda_joseph_constants_bytes(const struct beam_scan *scan)
{
    return angles_bytes(scan->n_views) + (size_t)scan->grid.n_detectors * sizeof(struct beam_detector);
}

void ts_cuda_joseph_constants(const struct beam_scan *scan, void *host)
{
    struct beam_angle *angles = (struct beam_angle *)host;
    struct beam_detector *detectors = (struct beam_detector *)((unsigned char *)host + angles_bytes(scan->n_views));
    for (int64_t v = 0; v < scan->n_views; v++)
        angles[v] = ts_beam_angle(scan, v);
    for (int64_t d = 0; d < scan->grid.n_detectors; d++)
        detectors[d] = ts_beam_detector(scan, d);
}

size_t ts_cuda_joseph_rays_bytes(const struct beam_scan *scan)
{
    return ts_cuda_stride((size_t)(scan->n_views * scan->grid.n_detectors) * sizeof(struct cuda_ray));
}

static __global__ void __launch_bounds__(RAYS_THREADS) rays(struct cuda_joseph joseph)
{
    const int64_t n = joseph.n_views * joseph.grid.n_detectors;
    for (int64_t i = (int64_t)blockIdx.x * RAYS_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * RAYS_THREADS) {
        const struct beam_ray ray = ts_beam_ray(&joseph.grid, joseph.angles[i / joseph.grid.n_detectors],
                                                joseph.detectors[i % joseph.grid.n_detectors]);
        const int n_major = (int)(ray.along_rows ? joseph.grid.n_rows : joseph.grid.n_columns),
                  n_minor = (int)(ray.along_rows ? joseph.grid.n_columns : joseph.grid.n_rows);
        struct cuda_ray out = {0, 0, 0, 0, (float)ray.length_mm, ray.along_rows};
        ts_cuda_beam_lines(ray.base, ray.per_major, 0, n_major, n_minor, &out.first, &out.end);
        out.end = max(out.first, out.end);
        if (out.first < out.end) {
            out.at = ts_cuda_fixed(ray.base) + TS_CUDA_BEAM_HALF;
            out.step = ts_cuda_fixed(ray.per_major);
        } else { /* positions far outside would not fit */
            out.at = -((int64_t)JOSEPH_MARGIN << 32);
        }
        joseph.rays[i] = out;
    }
}

struct cuda_joseph ts_cuda_joseph_tables(const struct beam_scan *scan, const void *constants)
{
    struct cuda_joseph joseph = {scan->grid, scan->beam, scan->n_views};
    joseph.angles = (const struct beam_angle *)constants;
    joseph.detectors = (const struct beam_detector *)((const unsigned char *)constants + angles_bytes(scan->n_views));
    return joseph;
}

enum ts_status ts_cuda_joseph_rays(const struct stage_context *context, const struct beam_scan *scan,
                                   const void *constants, void *table, cudaStream_t stream, struct cuda_joseph *joseph)
{
    const int64_t blocks = ts_cuda_parts(scan->n_views * scan->grid.n_detectors, RAYS_THREADS);
    *joseph = ts_cuda_joseph_tables(scan, constants);
    joseph->rays = (struct cuda_ray *)table;
    rays<<<(unsigned)(blocks < 65535 ? blocks : 65535), RAYS_THREADS, 0, stream>>>(*joseph);
    return ts_cuda_launched(context, "rays");
}

/* ---- the projector ----------------------------------------------------------------------------- */

struct project_size {
    int n_detectors, ny, nx;
    int64_t n_views, first_patch;
    int n_runs, patch_runs; /* groups of detectors side by side in all, and in a patch */
};

/* Lines [m, end) of the rays of one kind, into sums; rays of the other kind stand outside. */
template <int V>
static __device__ __forceinline__ void walk(const float *lanes, int m, int end, int64_t line, int64_t sample,
                                            int n_minor, const int64_t at_0[GROUP], const int64_t step[GROUP],
                                            struct cuda_lanes<V> sums[GROUP])
{
    int64_t at[GROUP];
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        at[k] = at_0[k] + m * step[k];
    for (lanes += m * line; m < end; m++, lanes += line)
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            const int i = min(max((int)(at[k] >> 32), -JOSEPH_MARGIN), n_minor);
            const float weight = ts_cuda_beam_weight((uint32_t)at[k]), w_above = weight - 1, w_below = 2 - weight;
            struct cuda_lanes<V> below, above;
            ts_cuda_lanes_load(&below, lanes + i * sample);
            ts_cuda_lanes_load(&above, lanes + (i + 1) * sample);
            at[k] += step[k];
            ts_cuda_lanes_add_two(&sums[k], &below, &above, w_below, w_above);
        }
}

/* All lines of the rays of one kind in a group; adds to `totals`, which has GROUP x V numbers a thread. */
template <int V>
static __device__ __forceinline__ void project_kind(const float *lanes, const struct cuda_ray *group, int n,
                                                    bool along_rows, const struct project_size *size, float4 *totals)
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
        struct cuda_lanes<V> sums[GROUP] = {
        };
        walk<V>(lanes, m, stop, line, sample, along_rows ? size->nx : size->ny, at, step, sums);
        ts_cuda_totals_add<V>(totals, PROJECT_THREADS, sums);
        m = stop;
    }
}

/* grid: the blocks of patch after patch; patches rise by detectors, then by views. */
template <int V>
static __global__ void __launch_bounds__(PROJECT_THREADS, PROJECT_BLOCKS)
    project(const float *volume, float *out, const struct cuda_ray *table, const int32_t *halt,
            struct project_size size)
{
    __shared__ float4 shared[V * PROJECT_THREADS];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int blocks = size.patch_runs * PATCH_VIEWS, across = (size.n_runs + size.patch_runs - 1) / size.patch_runs;
    const int64_t patch = size.first_patch + blockIdx.x / blocks;
    const int in_patch = (int)blockIdx.x % blocks;
    const int run = (int)(patch % across) * size.patch_runs + in_patch % size.patch_runs;
    const int64_t view = (patch / across * PATCH_VIEWS + in_patch / size.patch_runs) * BLOCK_VIEWS + warp;
    const int detector = run * GROUP, n = min(GROUP, size.n_detectors - detector);
    if (view >= size.n_views || n <= 0 || (halt && *halt))
        return;
    const struct cuda_ray *group = table + view * size.n_detectors + detector;
    const float *lanes =
        volume + ((int64_t)JOSEPH_MARGIN * (size.nx + 2 * JOSEPH_MARGIN) + JOSEPH_MARGIN) * (32 * V) + lane * V;
    float4 *totals = shared + threadIdx.x;
    ts_cuda_totals_clear<V>(totals, PROJECT_THREADS);
    for (int kind = 0; kind < 2; kind++)
        project_kind<V>(lanes, group, n, kind == 0, &size, totals);
    for (int k = 0; k < n; k++) {
        float *to = out + (view * size.n_detectors + detector + k) * (32 * V) + lane * V;
#pragma unroll
        for (int s = 0; s < V; s++)
            to[s] = ((const float *)&totals[s * PROJECT_THREADS])[k] * group[k].length_mm;
    }
}

template <int V>
static enum ts_status launch(const struct stage_context *context, const struct cuda_joseph *joseph, const float *volume,
                             float *sinogram, cudaStream_t stream)
{
    struct project_size size = {(int)joseph->grid.n_detectors, (int)joseph->grid.n_rows, (int)joseph->grid.n_columns,
                                joseph->n_views};
    size.n_runs = (int)ts_cuda_parts(size.n_detectors, GROUP);
    size.patch_runs = size.n_runs < PATCH_RUNS ? size.n_runs : PATCH_RUNS;
    const int64_t patches = ts_cuda_parts(size.n_runs, size.patch_runs) *
                            ts_cuda_parts(ts_cuda_parts(size.n_views, BLOCK_VIEWS), PATCH_VIEWS);
    const int64_t blocks = size.patch_runs * PATCH_VIEWS, most = MOST_BLOCKS / blocks;
    enum ts_status status = TS_OK;
    for (; status == TS_OK && size.first_patch < patches; size.first_patch += most) {
        const int64_t left = patches - size.first_patch;
        project<V><<<(unsigned)((left < most ? left : most) * blocks), PROJECT_THREADS, 0, stream>>>(
            volume, sinogram, joseph->rays, joseph->halt, size);
        status = ts_cuda_launched(context, "project");
    }
    return status;
}

enum ts_status ts_cuda_joseph_project(const struct stage_context *context, const struct cuda_joseph *joseph,
                                      const float *volume, int lanes, float *sinogram, cudaStream_t stream)
{
    return (lanes == 128 ? launch<4> : lanes == 64 ? launch<2> : launch<1>)(context, joseph, volume, sinogram, stream);
}
