/* SPDX-License-Identifier: Apache-2.0
 *
 * radon, methods tensor and tensor-split: Joseph's projections on tensor cores, by the products
 * that cuda/projection/tensor.cuh describes. (z, y, x) -> (z, view, detector).
 *
 * One warp computes 16 rays of 32 QUARTERS slices: 4 neighboring views by 4 neighboring detector
 * pixels. They pass nearly the same 5 to 8 pixels of a line, which are one window; if rays are
 * farther apart they take several windows. One thread holds 2 rays of 8 QUARTERS slices. It goes
 * through the lines as cuda/projection/tensor.cuh describes, in an order that depends only on the
 * geometry. A slice with a NaN or an infinity, which weights of 0 would spread over whole windows,
 * is projected again in float, sample by sample.
 *
 * Memory: 2 bytes (split: 4) of a window's pixel come from the caches for every group of rays,
 * about 1 byte (2) an interpolation; 4 bytes are written a ray. A block is 4 warps whose rays pass
 * nearly the same pixels, so that most loads hit the first cache, and blocks run in patches
 * (ray_patches.cuh).
 */
#include "cuda/projection/radon_methods.cuh"

#include "cuda/projection/ray_patches.cuh"
#include "cuda/projection/tensor.cuh"

enum {
    VIEWS = 4,     /* views of a warp */
    RAYS = 4,      /* rays of each view in a warp */
    EXPONENT = 14, /* halves are scaled to a largest magnitude of about 2^14 */
    GROUPS = 4,    /* warps of a block */
    PATCH_RUNS = 16,
    PATCH_GROUPS = 16,
    AGAIN_THREADS = 128,
    AGAIN_BLOCKS = 528
};

/* BLOCKS is the number of blocks on a multiprocessor. */
template <int QUARTERS, bool SPLIT, int BLOCKS_>
struct shape : tensor_shape<QUARTERS, SPLIT, 32 * GROUPS> {
    enum { BLOCKS = BLOCKS_ };
};

/* For up to 32 slices, or for parts of more. */
typedef shape<1, false, 4> plain_narrow;
typedef shape<4, false, 3> plain_wide;
typedef shape<1, true, 3> split_narrow;
typedef shape<2, true, 3> split_half;
typedef shape<4, true, 2> split_wide;

struct tensor_size {
    int n_slices, n_detectors, n_major, n_minor, width;
    int64_t n_views;
    struct ray_patches patches;
    bool along_rows;
};

/* What a warp has in shared memory: its views' rays, and the windows in work. */
struct warp_share {
    double base[VIEWS], slope[VIEWS],
        reach[VIEWS];        /* for each view: the lowest ray's position on line 0, its step per
                              * line, and the distance to the highest ray */
    float4 x[TENSOR_PLACES]; /* position of the lowest ray in the window, for views 0, 2, 1, 3 */
    uint32_t start[TENSOR_PLACES]; /* start of each window, as ts_cuda_tensor_start() counts */
};

/* A walk with 16 rays along the major axis. */
struct walk : tensor_walk {
    enum { SCALED = 0, FOLD_STEPS = 64 };
    struct warp_share *share;
    float offset[2]; /* distances of this thread's two rays from their views' lowest rays */
    struct place {
        double at[VIEWS]; /* positions of the views' lowest rays */
    };
};

/* Finds the views [*first, *end) of a group. The detector pixels of all its views run in the same
 * direction. */
static __device__ __forceinline__ void views_of_group(const struct cuda_beams *table,
                                                      bool along_rows, int64_t group,
                                                      int64_t *first, int64_t *end)
{
    const int64_t begin = along_rows ? 0 : table->n_along_rows,
                  stop = along_rows ? table->n_along_rows : table->n;
    const int64_t turn = begin + (along_rows ? table->n_rows_backward : table->n_columns_backward);
    const int64_t backward = ts_cuda_parts(turn - begin, VIEWS);
    *first = group < backward ? begin + group * VIEWS : turn + (group - backward) * VIEWS;
    *end = group < backward ? min(turn, *first + VIEWS) : min(stop, *first + VIEWS);
}

/* Finds the lines that the group's rays can meet, and the rays' positions on line 0. Places past
 * the last view repeat the last view. */
static __device__ __forceinline__ void begin_walk(struct walk *walk, const struct cuda_beams *table,
                                                  int64_t first, int64_t end, int detector,
                                                  int n_major)
{
    struct warp_share *share = walk->share;
    const double far = 1 << 18; /* pixels; lines are far shorter, so a ray there stays outside */
    const int lane = (int)(threadIdx.x % 32);
    int low = n_major, high = 0;
    if (lane < VIEWS) {
        int from, to;
        const struct cuda_beam *beam = &table->beams[min(first + lane, end - 1)];
        const double reach = (RAYS - 1) * fabs(beam->per_detector);
        const double start =
            beam->base +
            (double)(beam->per_detector < 0 ? detector + RAYS - 1 : detector) * beam->per_detector;
        ts_cuda_beam_lines(start, beam->per_major, reach, n_major, walk->n_minor, &from, &to);
        share->base[lane] = fmin(fmax(start, -far - reach), far);
        share->slope[lane] = beam->per_major;
        share->reach[lane] = reach;
        if (from < to) {
            low = from;
            high = to;
        }
    }
    for (int ray = 0; ray < 2; ray++)
        walk->offset[ray] =
            (float)(lane / 4 % RAYS *
                    fabs(table->beams[min(first + lane / 16 + 2 * ray, end - 1)].per_detector));
    for (int apart = VIEWS / 2; apart > 0; apart /= 2) {
        low = min(low, __shfl_xor_sync(~0u, low, apart));
        high = max(high, __shfl_xor_sync(~0u, high, apart));
    }
    walk->line = __shfl_sync(~0u, low, 0);
    walk->end = __shfl_sync(~0u, high, 0);
    __syncwarp();
}

/* The windows reach from the lowest to the highest pixel that the views' rays pass, as far as it is
 * inside the line. */
static __device__ __forceinline__ int windows_of_line(const struct walk *walk, int m, int *pair,
                                                      struct walk::place *place)
{
    const double slack = 1.0 / 1024; /* more than the rounding error of positions */
    const int n_minor = walk->n_minor;
    int low = n_minor, high = -1;
#pragma unroll
    for (int view = 0; view < VIEWS; view++) {
        place->at[view] = walk->share->base[view] + m * walk->share->slope[view];
        const double a = place->at[view] - slack,
                     b = place->at[view] + walk->share->reach[view] + slack;
        if (b > -1 && a < n_minor) {
            low = min(low, max((int)floor(a), -1));
            high = max(high, min((int)floor(b) + 1, n_minor));
        }
    }
    return low <= high ? ts_cuda_tensor_window(low, high, pair) : 0;
}

/* Positions are counted from each window in double: those of rays far from it may be rounded, those
 * in it are exact. */
static __device__ __forceinline__ void write_window(struct walk *walk, int to, uint32_t start,
                                                    int first, const struct walk::place *place)
{
    const double *at = place->at;
    walk->share->start[to] = start;
    walk->share->x[to] = make_float4((float)(at[0] - first), (float)(at[2] - first),
                                     (float)(at[1] - first), (float)(at[3] - first));
}

static __device__ __forceinline__ void write_empty(struct walk *walk, int to)
{
    walk->share->start[to] = 0;
    walk->share->x[to] = make_float4(-64, -64, -64, -64);
}

static __device__ __forceinline__ float read_unit(const struct walk *, int)
{
    return 1;
}

static __device__ __forceinline__ uint32_t read_start(const struct walk *walk, int from)
{
    return walk->share->start[from];
}

static __device__ __forceinline__ void read_window(const struct walk *walk, int from, float x[2])
{
    const float2 lowest = ((const float2 *)&walk->share->x[from])[threadIdx.x / 16 % 2];
    x[0] = lowest.x + walk->offset[0];
    x[1] = lowest.y + walk->offset[1];
}

static __device__ __forceinline__ void move_window(struct walk *walk, int from, int to, bool has)
{
    float4 x = {};
    uint32_t start = 0;
    if (has) {
        x = walk->share->x[from + to];
        start = walk->share->start[from + to];
    }
    __syncwarp();
    if (has) {
        walk->share->x[to] = x;
        walk->share->start[to] = start;
    }
}

template <class S>
static __device__ __forceinline__ void
write_rays(const float4 *totals, const struct cuda_beams *table, int64_t first, int64_t end,
           int detector, int slice_first, const uint32_t *maxima, const struct tensor_size *size,
           float *out)
{
    const int lane = (int)(threadIdx.x % 32);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t view = first + lane / 16 + 2 * half;
        if (view >= end)
            continue;
        const struct cuda_beam *beam = &table->beams[view];
        const int ray =
            detector + (beam->per_detector < 0 ? RAYS - 1 - lane / 4 % RAYS : lane / 4 % RAYS);
        if (ray >= size->n_detectors)
            continue;
        for (int tile = 0; tile < S::TILES; tile++)
#pragma unroll
            for (int second = 0; second < 2; second++) {
                const int slice = slice_first + ts_cuda_tensor_slice<S>(tile, second);
                if (slice >= size->n_slices)
                    continue;
                const float2 back = ts_cuda_slice_maximum_scale(maxima[slice], EXPONENT, -1);
                const float total =
                    ts_cuda_tensor_total(totals[tile * S::THREADS + threadIdx.x], half, second);
                out[((int64_t)slice * size->n_views + beam->view) * size->n_detectors + ray] =
                    total * back.x * beam->length_mm * back.y;
            }
    }
}

/* The grid is that of ray_patches.cuh, times the parts of the slices. */
template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    project_tensor(const uint4 *lines, const uint32_t *maxima, float *out,
                   const struct cuda_beams *table, const int32_t *halt, struct tensor_size size)
{
    extern __shared__ float4 totals[];
    struct warp_share *shares = (struct warp_share *)(totals + S::TILES * S::THREADS);
    const int warp = (int)(threadIdx.x / 32);
    int run;
    const int64_t group = ts_cuda_patch_place<PATCH_GROUPS>(&size.patches, &run) * GROUPS + warp;
    const int detector = run * RAYS, slice_first = (int)blockIdx.y * S::QUARTERS * 32;
    int64_t first, end;
    views_of_group(table, size.along_rows, group, &first, &end);
    if (first >= end || run >= size.patches.n_runs || detector >= size.n_detectors ||
        (halt && *halt))
        return;
    struct walk walk;
    walk.lines = ts_cuda_tensor_part<S>(lines, slice_first);
    walk.apart = size.width * S::PLANES;
    walk.n_minor = size.n_minor;
    walk.share = &shares[warp];
    begin_walk(&walk, table, first, end, detector, size.n_major);
    ts_cuda_tensor_sum<S>(&walk, totals);
    write_rays<S>(totals, table, first, end, detector, slice_first, maxima, &size, out);
}

/* ---- slices with a NaN or an infinity -------------------------------------------------------- */

/* One thread walks along one ray, as in method ray; slices of finite values are skipped. Usually
 * all slices are finite, so there are few blocks, and each checks all slices at once. The grid
 * counts runs of rays (any number). */
static __global__ void __launch_bounds__(AGAIN_THREADS)
    project_again(const float *in, const uint32_t *maxima, float *out,
                  const struct cuda_beams *table, int64_t n_slices, int ny, int nx, int n_detectors)
{
    const int64_t rays = table->n * n_detectors;
    int any = 0;
    for (int64_t z = threadIdx.x; z < n_slices; z += AGAIN_THREADS)
        any |= maxima[z] >= SLICE_MAXIMUM_NOT_FINITE;
    if (!__syncthreads_or(any))
        return;
    for (int64_t z = 0; z < n_slices; z++)
        for (int64_t i = blockIdx.x * AGAIN_THREADS + threadIdx.x;
             maxima[z] >= SLICE_MAXIMUM_NOT_FINITE && i < rays; i += gridDim.x * AGAIN_THREADS) {
            const struct cuda_beam beam = table->beams[i / n_detectors];
            const int n_minor = beam.along_rows ? nx : ny, detector = (int)(i % n_detectors);
            const int64_t line = beam.along_rows ? nx : 1, pixel = beam.along_rows ? 1 : nx;
            const double start = beam.base + (double)detector * beam.per_detector;
            int first, end;
            ts_cuda_beam_lines(start, beam.per_major, 0, beam.along_rows ? ny : nx, n_minor, &first,
                               &end);
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

/* ---- launching ------------------------------------------------------------------------------- */

static bool is_split(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method == RADON_TENSOR_SPLIT;
}

size_t ts_cuda_radon_tensor_scratch(const struct stage_context *context, int64_t n)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const size_t rows = ts_cuda_tensor_bytes(ny, nx, ts_cuda_group_width(n), is_split(context)),
                 columns = ts_cuda_tensor_bytes(nx, ny, ts_cuda_group_width(n), is_split(context));
    return ts_cuda_stride((size_t)n * sizeof(uint32_t)) + (rows > columns ? rows : columns);
}

template <class S>
static enum ts_status radon_tensor_launch(const struct stage_context *context, const uint4 *lines,
                                          const uint32_t *maxima, float *out,
                                          struct tensor_size size, const struct cuda_call *call)
{
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const size_t shared = (size_t)S::TILES * S::THREADS * sizeof(float4) +
                          S::THREADS / 32 * sizeof(struct warp_share);
    /* Each of the two directions of detector pixels may leave its last group incomplete. */
    const int64_t runs = ts_cuda_parts(size.n_detectors, RAYS),
                  groups = ts_cuda_parts(size.n_views, VIEWS) + 1;
    const enum ts_status status = ts_cuda_shared(context, (const void *)project_tensor<S>, shared);
    if (status != TS_OK)
        return status;
    return ts_cuda_patches_run(&size.patches, runs, PATCH_RUNS, ts_cuda_parts(groups, GROUPS),
                               PATCH_GROUPS, [&](unsigned blocks) {
                                   const dim3 grid(blocks,
                                                   (unsigned)(size.width / (32 * S::QUARTERS)));
                                   project_tensor<S><<<grid, S::THREADS, shared, call->stream>>>(
                                       lines, maxima, out, table, context->halt, size);
                                   return ts_cuda_launched(context, "project_tensor");
                               });
}

/* Projects up to 128 slices from z on, along rows and along columns. */
static enum ts_status project_slices(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, int64_t z, int64_t n,
                                     const uint32_t *maxima, uint4 *lines,
                                     const struct cuda_call *call)
{
    const int64_t ny = in->axes[1].n, nx = in->axes[2].n;
    const int width = ts_cuda_group_width(n);
    const bool split = is_split(context);
    float *to = (float *)ts_slice_data(out, z);
    enum ts_status status = TS_OK;
    for (int columns = 0; status == TS_OK && columns < 2; columns++) {
        struct tensor_size size = {(int)n, (int)out->axes[2].n, (int)(columns ? nx : ny),
                                   (int)(columns ? ny : nx), width};
        size.n_views = out->axes[1].n;
        size.along_rows = !columns;
        status = ts_cuda_tensor_halves(context, in, z, n, !columns, width, split, maxima, EXPONENT,
                                       NULL, lines, call->stream);
        if (status != TS_OK)
            break;
        if (split)
            status = (width > 64   ? radon_tensor_launch<split_wide>
                      : width > 32 ? radon_tensor_launch<split_half>
                                   : radon_tensor_launch<split_narrow>)(context, lines, maxima, to,
                                                                        size, call);
        else
            status =
                width > 64
                    ? radon_tensor_launch<plain_wide>(context, lines, maxima, to, size, call)
                    : radon_tensor_launch<plain_narrow>(context, lines, maxima, to, size, call);
    }
    return status;
}

enum ts_status ts_cuda_radon_tensor(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const int64_t nz = out->axes[0].n;
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    uint32_t *maxima = (uint32_t *)call->scratch;
    uint4 *lines = (uint4 *)((char *)call->scratch + ts_cuda_stride((size_t)nz * sizeof(uint32_t)));
    enum ts_status status = ts_cuda_slice_maxima(context, in, maxima, call->stream);
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        n = nz - z < 128 ? nz - z : 128;
        status = project_slices(context, in, out, z, n, maxima + z, lines, call);
    }
    if (status != TS_OK)
        return status;
    if (in->dtype == TS_F32) {
        project_again<<<AGAIN_BLOCKS, AGAIN_THREADS, 0, call->stream>>>(
            (const float *)in->data, maxima, (float *)out->data, table, nz, ny, nx,
            (int)out->axes[2].n);
        status = ts_cuda_launched(context, "project_again");
    }
    return status;
}
