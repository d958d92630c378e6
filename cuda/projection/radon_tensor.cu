/* SPDX-License-Identifier: Apache-2.0
 *
 * radon, methods tensor and tensor-split: Joseph's projections on tensor cores, as cuda/projection/tensor.cuh tells.
 * (z, y, x) -> (z, view, detector).
 *
 * One warp computes 16 rays of 32 QUARTERS slices: 4 neighboring views by 4 neighboring detectors, which pass nearly
 * the same pixels of a line, 5 to 8 of them, a window; where rays lie farther apart it takes more of them. One thread
 * holds 2 rays of 8 QUARTERS slices. It goes through the lines as cuda/projection/tensor_walk.cuh tells, in an order
 * that is the geometry's alone. A slice with a NaN or an infinity, which weights of 0 would spread over whole windows,
 * is projected again in float, sample by sample.
 *
 * Memory: 2 bytes (split: 4) of a window's pixel come from the caches for every ray group, about 1 byte (2) an
 * interpolation; 4 bytes written a ray. A block is RUNS x GROUPS warps whose rays pass nearly the same
 * pixels, so that most loads hit the first cache, and blocks run in patches, as in cuda/projection/radon_stack.cu.
 */
#include "cuda/projection/radon_methods.cuh"

#include "cuda/projection/tensor_walk.cuh"

enum {
    VIEWS = 4,     /* of a warp */
    RAYS = 4,      /* of a view */
    EXPONENT = 14, /* of the largest magnitude among halves */
    MOST_BLOCKS = 1 << 30,
    AGAIN_THREADS = 128,
    AGAIN_BLOCKS = 528
};

/* RUNS x GROUPS warps a block, BLOCKS on a multiprocessor, PATCH_RUNS x PATCH_GROUPS blocks that run together. */
template <int QUARTERS, bool SPLIT, int RUNS_, int GROUPS_, int BLOCKS_, int PATCH_RUNS_, int PATCH_GROUPS_>
struct shape : tensor_shape<QUARTERS, SPLIT, 32 * RUNS_ * GROUPS_> {
    enum { RUNS = RUNS_, GROUPS = GROUPS_, BLOCKS = BLOCKS_, PATCH_RUNS = PATCH_RUNS_, PATCH_GROUPS = PATCH_GROUPS_ };
};

/* Of up to 32 slices, or parts of more. */
typedef shape<1, false, 1, 4, 4, 16, 16> plain_narrow;
typedef shape<4, false, 1, 4, 3, 16, 16> plain_wide;
typedef shape<1, true, 1, 4, 3, 16, 16> split_narrow;
typedef shape<2, true, 1, 4, 3, 16, 16> split_half;
typedef shape<4, true, 1, 4, 2, 16, 16> split_wide;

struct tensor_size {
    int n_slices, n_detectors, n_major, n_minor, lanes;
    int64_t n_views, first_patch;
    int n_runs, patch_runs;
    bool along_rows;
};

/* What a warp keeps in shared memory: its views' rays, and the windows in work. */
struct warp_room {
    double base[VIEWS], slope[VIEWS], reach[VIEWS]; /* lowest ray's position on line 0, per line; to the highest */
    float4 x[TENSOR_PLACES];                        /* of views 0, 2, 1, 3: lowest ray's position in the window */
    uint32_t start[TENSOR_PLACES];                  /* as ts_cuda_tensor_start() counts */
};

/* 16 rays on their way along the major axis. */
struct walk : tensor_walk {
    enum { SCALED = 0, FOLD_STEPS = 64 };
    struct warp_room *room;
    float offset[2]; /* of this thread's two rays from their views' lowest ones */
    struct place {
        double at[VIEWS]; /* of the views' lowest rays */
    };
};

/* Range of views [*first, *end) of group `group`: groups hold views of one direction of detectors alone. */
static __device__ __forceinline__ void views_of_group(const struct cuda_beams *table, bool along_rows, int64_t group,
                                                      int64_t *first, int64_t *end)
{
    const int64_t begin = along_rows ? 0 : table->n_along_rows, stop = along_rows ? table->n_along_rows : table->n;
    const int64_t turn = begin + (along_rows ? table->n_rows_backward : table->n_columns_backward);
    const int64_t backward = ts_cuda_parts(turn - begin, VIEWS);
    *first = group < backward ? begin + group * VIEWS : turn + (group - backward) * VIEWS;
    *end = group < backward ? min(turn, *first + VIEWS) : min(stop, *first + VIEWS);
}

/* The lines that the group's rays can meet, and where they meet line 0; places past the last view repeat it. */
static __device__ __forceinline__ void begin_walk(struct walk *walk, const struct cuda_beams *table, int64_t first,
                                                  int64_t end, int detector, int n_major)
{
    struct warp_room *room = walk->room;
    const double far = 1 << 18; /* pixels; a line is far shorter, so that a ray there stays outside */
    const int lane = (int)(threadIdx.x % 32);
    int low = n_major, high = 0;
    if (lane < VIEWS) {
        int from, to;
        const struct cuda_beam *beam = &table->beams[min(first + lane, end - 1)];
        const double reach = (RAYS - 1) * fabs(beam->per_detector);
        const double start =
            beam->base + (double)(beam->per_detector < 0 ? detector + RAYS - 1 : detector) * beam->per_detector;
        ts_cuda_beam_lines(start, beam->per_major, reach, n_major, walk->n_minor, &from, &to);
        room->base[lane] = fmin(fmax(start, -far - reach), far);
        room->slope[lane] = beam->per_major;
        room->reach[lane] = reach;
        if (from < to) {
            low = from;
            high = to;
        }
    }
    for (int ray = 0; ray < 2; ray++)
        walk->offset[ray] =
            (float)(lane / 4 % RAYS * fabs(table->beams[min(first + lane / 16 + 2 * ray, end - 1)].per_detector));
    for (int apart = VIEWS / 2; apart > 0; apart /= 2) {
        low = min(low, __shfl_xor_sync(~0u, low, apart));
        high = max(high, __shfl_xor_sync(~0u, high, apart));
    }
    walk->line = __shfl_sync(~0u, low, 0);
    walk->end = __shfl_sync(~0u, high, 0);
    __syncwarp();
}

/* From the lowest to the highest of the pixels that the views' rays pass, as far as they are inside the line. */
static __device__ __forceinline__ int windows_of_line(const struct walk *walk, int m, int *pair,
                                                      struct walk::place *place)
{
    const double slack = 1.0 / 1024; /* more than the rounding of positions */
    const int n_minor = walk->n_minor;
    int low = n_minor, high = -1;
#pragma unroll
    for (int view = 0; view < VIEWS; view++) {
        place->at[view] = walk->room->base[view] + m * walk->room->slope[view];
        const double a = place->at[view] - slack, b = place->at[view] + walk->room->reach[view] + slack;
        if (b > -1 && a < n_minor) {
            low = min(low, max((int)floor(a), -1));
            high = max(high, min((int)floor(b) + 1, n_minor));
        }
    }
    return low <= high ? ts_cuda_tensor_window(low, high, pair) : 0;
}

/* Counted from each window in double: rays far from it may be rounded, those in it are not. */
static __device__ __forceinline__ void write_window(struct walk *walk, int to, uint32_t start, int first,
                                                    const struct walk::place *place)
{
    const double *at = place->at;
    walk->room->start[to] = start;
    walk->room->x[to] =
        make_float4((float)(at[0] - first), (float)(at[2] - first), (float)(at[1] - first), (float)(at[3] - first));
}

static __device__ __forceinline__ void write_empty(struct walk *walk, int to)
{
    walk->room->start[to] = 0;
    walk->room->x[to] = make_float4(-64, -64, -64, -64);
}

static __device__ __forceinline__ float read_unit(const struct walk *, int)
{
    return 1;
}

static __device__ __forceinline__ uint32_t read_start(const struct walk *walk, int from)
{
    return walk->room->start[from];
}

static __device__ __forceinline__ void read_window(const struct walk *walk, int from, float x[2])
{
    const float2 lowest = ((const float2 *)&walk->room->x[from])[threadIdx.x / 16 % 2];
    x[0] = lowest.x + walk->offset[0];
    x[1] = lowest.y + walk->offset[1];
}

static __device__ __forceinline__ void move_window(struct walk *walk, int from, int to, bool has)
{
    float4 x = {};
    uint32_t start = 0;
    if (has) {
        x = walk->room->x[from + to];
        start = walk->room->start[from + to];
    }
    __syncwarp();
    if (has) {
        walk->room->x[to] = x;
        walk->room->start[to] = start;
    }
}

template <class S>
static __device__ __forceinline__ void write_rays(const float4 *totals, const struct cuda_beams *table, int64_t first,
                                                  int64_t end, int detector, int slice_first, const uint32_t *largest,
                                                  const struct tensor_size *size, float *out)
{
    const int lane = (int)(threadIdx.x % 32);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t view = first + lane / 16 + 2 * half;
        if (view >= end)
            continue;
        const struct cuda_beam *beam = &table->beams[view];
        const int ray = detector + (beam->per_detector < 0 ? RAYS - 1 - lane / 4 % RAYS : lane / 4 % RAYS);
        if (ray >= size->n_detectors)
            continue;
        for (int tile = 0; tile < S::TILES; tile++)
#pragma unroll
            for (int second = 0; second < 2; second++) {
                const int slice = slice_first + ts_cuda_tensor_slice<S>(tile, second);
                if (slice >= size->n_slices)
                    continue;
                const float2 back = ts_cuda_slice_maximum_scale(largest[slice], EXPONENT, -1);
                const float total = ts_cuda_tensor_total(totals[tile * S::THREADS + threadIdx.x], half, second);
                out[((int64_t)slice * size->n_views + beam->view) * size->n_detectors + ray] =
                    total * back.x * beam->length_mm * back.y;
            }
    }
}

/* grid: the blocks of patch after patch, as in cuda/projection/radon_stack.cu; parts of the slices. */
template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    project_tensor(const uint4 *lines, const uint32_t *largest, float *out, const struct cuda_beams *table,
                   const int32_t *halt, struct tensor_size size)
{
    extern __shared__ float4 totals[];
    struct warp_room *rooms = (struct warp_room *)(totals + S::TILES * S::THREADS);
    const int warp = (int)(threadIdx.x / 32);
    const int blocks = size.patch_runs * S::PATCH_GROUPS,
              across = (size.n_runs + size.patch_runs - 1) / size.patch_runs;
    const int64_t patch = size.first_patch + blockIdx.x / blocks;
    const int in_patch = (int)blockIdx.x % blocks;
    const int run = (int)(patch % across) * size.patch_runs + in_patch % size.patch_runs;
    const int64_t group = (patch / across * S::PATCH_GROUPS + in_patch / size.patch_runs) * S::GROUPS + warp / S::RUNS;
    const int detector = (run * S::RUNS + warp % S::RUNS) * RAYS, slice_first = (int)blockIdx.y * S::QUARTERS * 32;
    int64_t first, end;
    views_of_group(table, size.along_rows, group, &first, &end);
    if (first >= end || run >= size.n_runs || detector >= size.n_detectors || (halt && *halt))
        return;
    struct walk walk;
    walk.lines = ts_cuda_tensor_part<S>(lines, slice_first);
    walk.apart = size.lanes * S::PLANES;
    walk.n_minor = size.n_minor;
    walk.room = &rooms[warp];
    begin_walk(&walk, table, first, end, detector, size.n_major);
    ts_cuda_tensor_sum<S>(&walk, totals);
    write_rays<S>(totals, table, first, end, detector, slice_first, largest, &size, out);
}

/* ---- slices with a NaN or an infinity --------------------------------------------------------------------------- */

/* One thread walks along one ray, as method ray does; slices that are all numbers are passed over. Most often all are:
 * few blocks, which ask that of all slices at once. grid: runs of rays (any number). */
static __global__ void __launch_bounds__(AGAIN_THREADS)
    project_again(const float *in, const uint32_t *largest, float *out, const struct cuda_beams *table,
                  int64_t n_slices, int ny, int nx, int n_detectors)
{
    const int64_t rays = table->n * n_detectors;
    int any = 0;
    for (int64_t z = threadIdx.x; z < n_slices; z += AGAIN_THREADS)
        any |= largest[z] >= SLICE_MAXIMUM_NOT_FINITE;
    if (!__syncthreads_or(any))
        return;
    for (int64_t z = 0; z < n_slices; z++)
        for (int64_t i = blockIdx.x * AGAIN_THREADS + threadIdx.x; largest[z] >= SLICE_MAXIMUM_NOT_FINITE && i < rays;
             i += gridDim.x * AGAIN_THREADS) {
            const struct cuda_beam beam = table->beams[i / n_detectors];
            const int n_minor = beam.along_rows ? nx : ny, detector = (int)(i % n_detectors);
            const int64_t line = beam.along_rows ? nx : 1, pixel = beam.along_rows ? 1 : nx;
            const double start = beam.base + (double)detector * beam.per_detector;
            int first, end;
            ts_cuda_beam_lines(start, beam.per_major, 0, beam.along_rows ? ny : nx, n_minor, &first, &end);
            float sum = 0;
            for (int m = first; m < end; m++) {
                const int64_t at = ts_cuda_fixed(start + m * beam.per_major) + TS_CUDA_BEAM_HALF;
                const int64_t below = at >> 32;
                const float weight = ts_cuda_beam_weight((uint32_t)at) - 1;
                const float *from = in + z * ny * nx + m * line + below * pixel;
                if (below >= 0 && below < n_minor)
                    sum = __fmaf_rn(1 - weight, from[0], sum);
                if (below >= -1 && below < n_minor - 1)
                    sum = __fmaf_rn(weight, from[pixel], sum);
            }
            out[(z * table->n + beam.view) * n_detectors + detector] = sum * beam.length_mm;
        }
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

static bool is_split(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method == RADON_TENSOR_SPLIT;
}

size_t ts_cuda_radon_tensor_scratch(const struct stage_context *context, int64_t n)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const size_t rows = ts_cuda_tensor_bytes(ny, nx, ts_cuda_lanes_for(n), is_split(context)),
                 columns = ts_cuda_tensor_bytes(nx, ny, ts_cuda_lanes_for(n), is_split(context));
    return ts_cuda_stride((size_t)n * sizeof(uint32_t)) + (rows > columns ? rows : columns);
}

template <class S>
static enum ts_status launch(const struct stage_context *context, const uint4 *lines, const uint32_t *largest,
                             float *out, struct tensor_size size, const struct cuda_call *call)
{
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const size_t shared = (size_t)S::TILES * S::THREADS * sizeof(float4) + S::THREADS / 32 * sizeof(struct warp_room);
    size.n_runs = (int)ts_cuda_parts(size.n_detectors, S::RUNS * RAYS);
    size.patch_runs = size.n_runs < S::PATCH_RUNS ? size.n_runs : S::PATCH_RUNS;
    /* Each direction of detectors may leave its last group short. */
    const int64_t groups = ts_cuda_parts(size.n_views, VIEWS) + 1;
    const int64_t patches =
        ts_cuda_parts(size.n_runs, size.patch_runs) * ts_cuda_parts(ts_cuda_parts(groups, S::GROUPS), S::PATCH_GROUPS);
    const int64_t blocks = size.patch_runs * S::PATCH_GROUPS, most = MOST_BLOCKS / blocks;
    enum ts_status status = ts_cuda_shared(context, (const void *)project_tensor<S>, shared);
    for (; status == TS_OK && size.first_patch < patches; size.first_patch += most) {
        const int64_t left = patches - size.first_patch;
        const dim3 grid((unsigned)((left < most ? left : most) * blocks), (unsigned)(size.lanes / (32 * S::QUARTERS)));
        project_tensor<S><<<grid, S::THREADS, shared, call->stream>>>(lines, largest, out, table, context->halt, size);
        status = ts_cuda_launched(context, "project_tensor");
    }
    return status;
}

/* Rows and columns of up to 128 slices from z on. */
static enum ts_status project_slices(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, int64_t z, int64_t n, const uint32_t *largest, uint4 *lines,
                                     const struct cuda_call *call)
{
    const int64_t ny = in->axes[1].n, nx = in->axes[2].n;
    const int lanes = ts_cuda_lanes_for(n);
    const bool split = is_split(context);
    float *to = (float *)ts_slice_data(out, z);
    enum ts_status status = TS_OK;
    for (int columns = 0; status == TS_OK && columns < 2; columns++) {
        struct tensor_size size = {(int)n, (int)out->axes[2].n, (int)(columns ? nx : ny), (int)(columns ? ny : nx),
                                   lanes};
        size.n_views = out->axes[1].n;
        size.along_rows = !columns;
        status = ts_cuda_tensor_halves(context, in, ts_slice_data(in, z), n, !columns, lanes, split, largest, EXPONENT,
                                       NULL, lines, call->stream);
        if (status != TS_OK)
            break;
        if (split)
            status = (lanes > 64   ? launch<split_wide>
                      : lanes > 32 ? launch<split_half>
                                   : launch<split_narrow>)(context, lines, largest, to, size, call);
        else
            status = lanes > 64 ? launch<plain_wide>(context, lines, largest, to, size, call)
                                : launch<plain_narrow>(context, lines, largest, to, size, call);
    }
    return status;
}

enum ts_status ts_cuda_radon_tensor(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const int64_t nz = out->axes[0].n;
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    uint32_t *largest = (uint32_t *)call->scratch;
    uint4 *lines = (uint4 *)((char *)call->scratch + ts_cuda_stride((size_t)nz * sizeof(uint32_t)));
    enum ts_status status = ts_cuda_slice_maxima(context, in, largest, call->stream);
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        n = nz - z < 128 ? nz - z : 128;
        status = project_slices(context, in, out, z, n, largest + z, lines, call);
    }
    if (status != TS_OK)
        return status;
    if (in->dtype == TS_F32) {
        project_again<<<AGAIN_BLOCKS, AGAIN_THREADS, 0, call->stream>>>(
            (const float *)in->data, largest, (float *)out->data, table, nz, ny, nx, (int)out->axes[2].n);
        status = ts_cuda_launched(context, "project_again");
    }
    return status;
}
