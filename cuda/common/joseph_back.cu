/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact adjoint of Joseph's projector over stacks of slices for any beam. (view, detector) as lanes -> (row,
 * column) as lanes.
 *
 * One warp computes 4 neighboring pixels of a row, one thread V of the slices: 4 V sums in registers. For each view the
 * rays that can come near the 4 pixels are found by their shadow on the detector; 8 of them at a time, each thread
 * works out the weight of one ray in one pixel, max(0, 1 - distance) along the ray's minor axis, from the projector's
 * own table, and leaves it in shared memory: 32 weights serve all slices. Then each ray's samples are loaded once for
 * the 4 pixels. Rays without a share are left out by the whole warp. No two warps write one pixel: no atomics, a fixed
 * order: views rising, detectors rising; 32 views are summed in a register before they go into the total.
 *
 * Memory: 4 bytes written a pixel; samples come from the caches: about 5 rays for 4 pixels and a view. A block is 8
 * warps, 8 x 4 pixels, whose shadows overlap: 256 threads of 80 registers.
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
    RAYS_AT_ONCE = 8,
    SUM_VIEWS = 32 /* summed in registers before they go into the total */
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

/* The interval of detectors whose rays can come nearer than one sample to one of the pixels, for 4 views at once: each
 * 8 lanes look at the corners of a view. Afterwards lane 8 j has that of view j. */
static __device__ __forceinline__ void find_interval(const struct back_size *size, struct beam_angle angle, int row,
                                                     int column, int *first, int *last)
{
    /* Along rows a ray may pass one column beside the pixels, along columns one row above or below. */
    const int corner = (int)(threadIdx.x % 8);
    const float at_row = (float)row + (corner < 2 ? 0 : corner % 2 ? 1 : -1);
    const float at_column = (float)column + (corner < 2 ? (corner % 2 ? PIXELS : -1) : corner % 4 < 2 ? 0 : PIXELS - 1);
    float low, high;
    shadow(size, angle, at_row, at_column, &low, &high);
#pragma unroll
    for (int distance = 1; distance < 8; distance *= 2) {
        low = fminf(low, __shfl_xor_sync(0xFFFFFFFF, low, distance));
        high = fmaxf(high, __shfl_xor_sync(0xFFFFFFFF, high, distance));
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

template <int V> static __device__ __forceinline__ void load(float to[V], const float *from)
{
    if (V == 4) {
        const float4 value = __ldg((const float4 *)from);
        to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    } else if (V == 2) {
        const float2 value = __ldg((const float2 *)from);
        to[0] = value.x, to[1] = value.y;
    } else {
        to[0] = __ldg(from);
    }
}

/* Rays [first, last] of a view to the sums of 4 pixels, RAYS_AT_ONCE at a time. */
template <int V>
static __device__ __forceinline__ void add_view(const float *samples, const struct cuda_ray *rays, int first, int last,
                                                int row, int column, float *weights, float sums[PIXELS][V])
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
            float values[4][V];
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (r + j < end)
                    load<V>(values[j], samples + (int64_t)(d + r + j) * (32 * V));
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (r + j >= end)
                    break;
                const float4 w = ((const float4 *)weights)[r + j];
#pragma unroll
                for (int s = 0; s < V; s++) {
                    sums[0][s] = __fmaf_rn(w.x, values[j][s], sums[0][s]);
                    sums[1][s] = __fmaf_rn(w.y, values[j][s], sums[1][s]);
                    sums[2][s] = __fmaf_rn(w.z, values[j][s], sums[2][s]);
                    sums[3][s] = __fmaf_rn(w.w, values[j][s], sums[3][s]);
                }
            }
        }
    }
}

/* grid: tiles along a row, tiles of rows. */
template <int V>
static __global__ void __launch_bounds__(BACK_THREADS, TS_CUDA_BLOCKS(BACK_THREADS, BACK_BLOCKS))
    backproject(const float *sinogram, float *volume, const struct cuda_ray *table, const struct beam_angle *angles,
                const int32_t *halt, struct back_size size)
{
    __shared__ float4 shared[BACK_THREADS / PIXELS];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int column = ((int)blockIdx.x * BLOCK_GROUPS + warp % BLOCK_GROUPS) * PIXELS,
              row = (int)blockIdx.y * BLOCK_ROWS + warp / BLOCK_GROUPS;
    if (row >= size.ny || column >= size.nx || (halt && *halt))
        return;
    float *weights = (float *)shared + warp * 32;
    float totals[PIXELS][V] = {}, sums[PIXELS][V] = {};
    for (int64_t view = 0; view < size.n_views; view += 4) {
        int first, last;
        find_interval(&size, angles[min(view + lane / 8, size.n_views - 1)], row, column, &first, &last);
        for (int j = 0; j < 4 && view + j < size.n_views; j++) {
            const int64_t ray = (view + j) * size.n_detectors;
            add_view<V>(sinogram + ray * (32 * V) + lane * V, table + ray, __shfl_sync(0xFFFFFFFF, first, 8 * j),
                        __shfl_sync(0xFFFFFFFF, last, 8 * j), row, column, weights, sums);
        }
        if ((view + 4) % SUM_VIEWS == 0 || view + 4 >= size.n_views)
#pragma unroll
            for (int k = 0; k < PIXELS; k++)
#pragma unroll
                for (int s = 0; s < V; s++) {
                    totals[k][s] += sums[k][s];
                    sums[k][s] = 0;
                }
    }
    const int64_t width = size.nx + 2 * JOSEPH_MARGIN;
    float *to = volume + ((row + JOSEPH_MARGIN) * width + column + JOSEPH_MARGIN) * (32 * V) + lane * V;
    for (int k = 0; k < PIXELS && column + k < size.nx; k++)
        for (int s = 0; s < V; s++)
            to[k * (32 * V) + s] = totals[k][s];
}

enum ts_status ts_cuda_joseph_backproject(const struct stage_context *context, const struct cuda_joseph *joseph,
                                          const float *sinogram, int lanes, float *volume, cudaStream_t stream)
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
