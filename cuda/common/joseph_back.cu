/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact adjoint of Joseph's projector over stacks of slices for any beam. (view, detector) as lanes -> (row,
 * column) as lanes.
 *
 * One warp computes 4 neighboring pixels of a row, one thread V of the slices: 4 V sums in registers. For 8 views at
 * once each thread looks at one pixel in one view: the rays that can come near it are found by the pixel's shadow on
 * the detector, and the weight of a ray is max(0, 1 - distance) along its minor axis, from the projector's own table.
 * The weights of 3 neighboring rays and where they lie go through shared memory: they serve all slices. Where rays are
 * so close that more than 3 touch a pixel, the view is taken 8 rays at a time, each thread working out one ray in one
 * pixel. No two warps write one pixel: no atomics, a fixed order: views rising, detectors rising; 32 views are summed
 * in registers before they go into the total.
 *
 * Memory: 4 bytes written a pixel; samples come from the first cache: 3 a pixel and view. A block is 8 warps, 8 x 4
 * pixels, whose shadows overlap: 256 threads of 80 registers.
 */
#include "cuda/common/joseph.cuh"

#include "cuda/common/beam.cuh"
#include "cuda/common/resident.cuh"

enum {
    PIXELS = 4, /* of a warp, side by side */
    BLOCK_ROWS = 4,
    BLOCK_GROUPS = 2, /* of PIXELS, side by side */
    BACK_THREADS = 32 * BLOCK_ROWS * BLOCK_GROUPS,
    BACK_BLOCKS = 3, /* on a multiprocessor */
    VIEWS_AT_ONCE = 8,
    TAPS = 3,
    RAYS_AT_ONCE = 8,
    SUM_VIEWS = 64, /* summed in registers before they go into the volume */
    FEW = 4,        /* slices of a thread, where they are not side by side */
    FEW_COLUMNS = 32,
    FEW_ROWS = 4
};

struct back_size {
    int n_detectors, ny, nx;
    int64_t n_views;
    float dy, dx, center_y, center_x;   /* mm between pixels; pixel of the rotation axis */
    float center, per_mm;               /* detector of the central ray; detectors a mm */
    float source_axis, source_detector; /* mm */
    int32_t beam;
};

/* Detectors [*low, *high], not rounded, that the shadow of a point may touch; stages/common/beam.c in float, with room
 * for its error. (row, column) need not be whole. */
static __device__ __forceinline__ void shadow(const struct back_size *size, struct beam_angle angle, float row,
                                              float column, float *low, float *high)
{
    const float c = (float)angle.cosine, s = (float)angle.sine;
    const float x = (column - size->center_x) * size->dx, y = (size->center_y - row) * size->dy;
    float u = x * c + y * s, error = 1e-6f * (fabsf(x) + fabsf(y));
    if (size->beam != TS_BEAM_PARALLEL) {
        const float ahead = size->source_axis + x * s - y * c, slope = u / ahead;
        error =
            size->source_detector / ahead * (error + fabsf(slope) * 1e-6f * (size->source_axis + fabsf(x) + fabsf(y)));
        u = size->source_detector * (size->beam == TS_BEAM_FAN_ARC ? atanf(slope) : slope);
    }
    const float at = size->center + u * size->per_mm;
    error = 0.01f + error * size->per_mm + 1e-6f * (fabsf(size->center) + fabsf(at));
    *low = at - error;
    *high = at + error;
}

/* The detectors whose rays can come nearer than one sample to pixels [column, column + n) of a row: along rows a ray
 * may pass one column beside them, along columns one row above or below. */
static __device__ __forceinline__ void find_interval(const struct back_size *size, struct beam_angle angle, int row,
                                                     int column, int n, int *first, int *last)
{
    float low = FLT_MAX, high = -FLT_MAX;
#pragma unroll
    for (int corner = 0; corner < 6; corner++) {
        const float at_row = (float)row + (corner < 2 ? 0 : corner % 2 ? 1 : -1);
        const float at_column = (float)column + (float)(corner < 2 ? (corner % 2 ? n : -1) : corner < 4 ? 0 : n - 1);
        float from, to;
        shadow(size, angle, at_row, at_column, &from, &to);
        low = fminf(low, from);
        high = fmaxf(high, to);
    }
    *first = (int)fmaxf(ceilf(low), 0);
    *last = (int)fminf(floorf(high), (float)(size->n_detectors - 1));
}

/* This thread's ray in this thread's pixel: the projector's weight times the ray's length between two lines. */
static __device__ __forceinline__ float weight_of(const struct cuda_ray *ray, int row, int column)
{
    const int m = ray->along_rows ? row : column, i = ray->along_rows ? column : row;
    const int64_t from = ray->at + m * ray->step - ((int64_t)i << 32);
    const float weight = ts_cuda_beam_weight((uint32_t)from);
    const int whole = (int)(from >> 32);
    return whole == 0 ? (2 - weight) * ray->length_mm : whole == -1 ? (weight - 1) * ray->length_mm : 0;
}

/* Rays [first, last] of a view to the sums of 4 pixels, RAYS_AT_ONCE at a time. */
template <int V>
static __device__ __forceinline__ void add_view(const float *samples, const struct cuda_ray *rays, int first, int last,
                                                int row, int column, float *weights, struct cuda_lanes<V> sums[PIXELS])
{
    const int lane = (int)(threadIdx.x % 32);
    for (int d = first; d <= last; d += RAYS_AT_ONCE) {
        const int own = d + lane / PIXELS;
        const float weight = own <= last ? weight_of(&rays[own], row, column + lane % PIXELS) : 0;
        const unsigned used = __ballot_sync(0xFFFFFFFF, weight != 0);
        __syncwarp();
        weights[lane] = weight;
        __syncwarp();
        if (!used)
            continue;
        const int end = (31 - __clz((int)used)) / PIXELS + 1;
        for (int r = (__ffs((int)used) - 1) / PIXELS; r < end; r += 4) {
            struct cuda_lanes<V> values[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (r + j < end)
                    ts_cuda_lanes_load(&values[j], samples + (int64_t)(d + r + j) * (32 * V));
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (r + j >= end)
                    break;
                const float4 w = ((const float4 *)weights)[r + j];
                ts_cuda_lanes_add(&sums[0], &values[j], w.x);
                ts_cuda_lanes_add(&sums[1], &values[j], w.y);
                ts_cuda_lanes_add(&sums[2], &values[j], w.z);
                ts_cuda_lanes_add(&sums[3], &values[j], w.w);
            }
        }
    }
}

/* The rays of one pixel in one view: the first of TAPS neighbors and their weights. */
struct __align__(16) taps
{
    float weight[TAPS];
    int32_t first; /* NO_RAY: none touches it; MANY_RAYS: more than TAPS do */
};
enum { NO_RAY = -1, MANY_RAYS = -2 };

static __device__ __forceinline__ struct taps find_taps(const struct back_size *size, struct beam_angle angle,
                                                        const struct cuda_ray *rays, int row, int column)
{
    struct taps taps = {{0, 0, 0}, NO_RAY};
    int first, last, touched = -1;
    find_interval(size, angle, row, column, 1, &first, &last);
    for (int d = first; d <= last; d++)
        if (weight_of(&rays[d], row, column) != 0) {
            touched = d;
            if (taps.first == NO_RAY)
                taps.first = d;
        }
    if (taps.first == NO_RAY)
        return taps;
    taps.first = max(0, min(taps.first, size->n_detectors - TAPS));
    if (touched - taps.first >= TAPS || size->n_detectors < TAPS) {
        taps.first = MANY_RAYS;
        return taps;
    }
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++)
        taps.weight[tap] = weight_of(&rays[taps.first + tap], row, column);
    return taps;
}

/* One view in which no pixel has more than TAPS rays. */
template <int V>
static __device__ __forceinline__ void add_taps(const float *samples, const struct taps taps[PIXELS],
                                                struct cuda_lanes<V> sums[PIXELS])
{
#pragma unroll
    for (int k = 0; k < PIXELS; k++) {
        const struct taps own = taps[k];
        if (own.first < 0)
            continue;
        struct cuda_lanes<V> values[TAPS];
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++)
            ts_cuda_lanes_load(&values[tap], samples + (int64_t)(own.first + tap) * (32 * V));
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++)
            ts_cuda_lanes_add(&sums[k], &values[tap], own.weight[tap]);
    }
}

/* grid: tiles along a row, tiles of rows. */
template <int V>
static __global__ void __launch_bounds__(BACK_THREADS, TS_CUDA_BLOCKS(BACK_THREADS, BACK_BLOCKS))
    backproject(const float *sinogram, float *volume, const struct cuda_ray *table, const struct beam_angle *angles,
                const int32_t *halt, struct back_size size)
{
    __shared__ struct taps shared[BACK_THREADS];
    __shared__ float4 more[BACK_THREADS / PIXELS];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int column = ((int)blockIdx.x * BLOCK_GROUPS + warp % BLOCK_GROUPS) * PIXELS,
              row = (int)blockIdx.y * BLOCK_ROWS + warp / BLOCK_GROUPS;
    if (row >= size.ny || column >= size.nx || (halt && *halt))
        return;
    struct taps *taps = shared + warp * 32;
    float *to = volume +
                ((row + JOSEPH_MARGIN) * (int64_t)(size.nx + 2 * JOSEPH_MARGIN) + column + JOSEPH_MARGIN) * (32 * V) +
                lane * V;
    struct cuda_lanes<V> sums[PIXELS] = {
    };
    for (int64_t view = 0; view < size.n_views; view += VIEWS_AT_ONCE) {
        const int64_t own = min(view + lane / PIXELS, size.n_views - 1);
        const struct taps found =
            find_taps(&size, angles[own], table + own * size.n_detectors, row, column + lane % PIXELS);
        const unsigned many = __ballot_sync(0xFFFFFFFF, found.first == MANY_RAYS);
        __syncwarp();
        taps[lane] = found;
        __syncwarp();
        for (int j = 0; j < VIEWS_AT_ONCE && view + j < size.n_views; j++) {
            const int64_t ray = (view + j) * size.n_detectors;
            const float *samples = sinogram + ray * (32 * V) + lane * V;
            if (!(many >> (PIXELS * j) & ((1u << PIXELS) - 1))) {
                add_taps<V>(samples, taps + PIXELS * j, sums);
                continue;
            }
            int first, last;
            find_interval(&size, angles[view + j], row, column, PIXELS, &first, &last);
            add_view<V>(samples, table + ray, first, last, row, column, (float *)more + warp * 32, sums);
        }
        if ((view + VIEWS_AT_ONCE) % SUM_VIEWS != 0 && view + VIEWS_AT_ONCE < size.n_views)
            continue;
#pragma unroll
        for (int k = 0; k < PIXELS; k++)
#pragma unroll
            for (int s = 0; s < V; s++) {
                float *total = &to[k * (32 * V) + s];
                if (column + k < size.nx)
                    *total = (view < SUM_VIEWS ? 0 : *total) + sums[k].at[s];
                sums[k].at[s] = 0;
            }
    }
}

/* One thread one pixel of FEW slices that stand one after another: weights are worked out by each thread, the sums have
 * the order of those above. grid: parts of a row; of the rows; slices by FEW. */
template <typename T>
static __global__ void __launch_bounds__(FEW_COLUMNS *FEW_ROWS)
    backproject_few(const T *sinogram, float *out, int64_t nz, const struct cuda_ray *table,
                    const struct beam_angle *angles, const int32_t *halt, struct back_size size)
{
    const int column = (int)(blockIdx.x * FEW_COLUMNS + threadIdx.x), row = (int)(blockIdx.y * FEW_ROWS + threadIdx.y);
    const int64_t z = (int64_t)blockIdx.z * FEW, slice = size.n_views * size.n_detectors;
    const int n = (int)min((int64_t)FEW, nz - z);
    if (row >= size.ny || column >= size.nx || (halt && *halt))
        return;
    float sums[FEW] = {}, totals[FEW] = {};
    for (int64_t view = 0; view < size.n_views; view++) {
        const struct cuda_ray *rays = table + view * size.n_detectors;
        const struct taps taps = find_taps(&size, angles[view], rays, row, column);
        int first = taps.first, end = taps.first + TAPS;
        if (taps.first == MANY_RAYS) {
            find_interval(&size, angles[view], row, column, 1, &first, &end);
            end++;
        }
        for (int d = taps.first == NO_RAY ? end : first; d < end; d++) {
            const float weight = taps.first == MANY_RAYS ? weight_of(&rays[d], row, column)
                                 : d == first            ? taps.weight[0]
                                 : d == first + 1        ? taps.weight[1]
                                                         : taps.weight[2];
            const T *from = sinogram + z * slice + view * size.n_detectors + d;
            if (weight == 0)
                continue;
#pragma unroll
            for (int s = 0; s < FEW; s++)
                if (s < n)
                    sums[s] = __fmaf_rn(weight, (float)from[s * slice], sums[s]);
        }
        if ((view + 1) % SUM_VIEWS != 0 && view + 1 < size.n_views)
            continue;
#pragma unroll
        for (int s = 0; s < FEW; s++) {
            totals[s] += sums[s];
            sums[s] = 0;
        }
    }
#pragma unroll
    for (int s = 0; s < FEW; s++)
        if (s < n)
            out[((z + s) * size.ny + row) * size.nx + column] = totals[s];
}

static struct back_size size_of(const struct cuda_joseph *joseph)
{
    const struct beam_geometry *grid = &joseph->grid;
    struct back_size size = {(int)grid->n_detectors, (int)grid->n_rows, (int)grid->n_columns, joseph->n_views};
    size.dy = (float)grid->row_spacing;
    size.dx = (float)grid->column_spacing;
    size.center_y = 0.5f * (float)(grid->n_rows - 1);
    size.center_x = 0.5f * (float)(grid->n_columns - 1);
    size.center = (float)grid->center;
    size.per_mm = (float)(1 / grid->detector_spacing);
    size.source_axis = (float)joseph->beam.source_axis_mm;
    size.source_detector = (float)joseph->beam.source_detector_mm;
    size.beam = joseph->beam.kind;
    return size;
}

enum ts_status ts_cuda_joseph_backproject_few(const struct stage_context *context, const struct cuda_joseph *joseph,
                                              const struct ts_image *sinogram, float *volume, cudaStream_t stream)
{
    const int64_t nz = sinogram->axes[0].n;
    const struct back_size size = size_of(joseph);
    const dim3 threads(FEW_COLUMNS, FEW_ROWS),
        blocks((unsigned)ts_cuda_parts(size.nx, FEW_COLUMNS), (unsigned)ts_cuda_parts(size.ny, FEW_ROWS),
               (unsigned)ts_cuda_parts(nz, FEW));
#define LAUNCH(T)                                                                                                      \
    backproject_few<T><<<blocks, threads, 0, stream>>>((const T *)sinogram->data, volume, nz, joseph->rays,            \
                                                       joseph->angles, joseph->halt, size)
    TS_CUDA_DTYPES(sinogram->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "backproject_few");
}

enum ts_status ts_cuda_joseph_backproject(const struct stage_context *context, const struct cuda_joseph *joseph,
                                          const float *sinogram, int lanes, float *volume, cudaStream_t stream)
{
    const struct back_size size = size_of(joseph);
    const dim3 blocks((unsigned)ts_cuda_parts(size.nx, BLOCK_GROUPS * PIXELS),
                      (unsigned)ts_cuda_parts(size.ny, BLOCK_ROWS));
    if (lanes == 128)
        backproject<4>
            <<<blocks, BACK_THREADS, 0, stream>>>(sinogram, volume, joseph->rays, joseph->angles, joseph->halt, size);
    else if (lanes == 64)
        backproject<2>
            <<<blocks, BACK_THREADS, 0, stream>>>(sinogram, volume, joseph->rays, joseph->angles, joseph->halt, size);
    else
        backproject<1>
            <<<blocks, BACK_THREADS, 0, stream>>>(sinogram, volume, joseph->rays, joseph->angles, joseph->halt, size);
    return ts_cuda_launched(context, "backproject");
}
