/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the kernel of fourier that adds the points of a polar grid to the places of a rectangular one around them
 * (stages/reconstruction/polar_grid.h): each place gathers the points that reach it, views by rising direction, then
 * frequencies. What one thread computes, its traffic and its block: cuda/reconstruction/fourier.cu.
 */
#ifndef CUDA_RECONSTRUCTION_FOURIER_GATHER_CUH
#define CUDA_RECONSTRUCTION_FOURIER_GATHER_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/reconstruction/polar_grid.h"
}

enum {
    THREADS = 256,
    INNER = 64,    /* places nearer to the middle than this are shared by several threads */
    ANGLES = 4096, /* half a turn has so many parts; of each the number of directions below is known */
    WARP_SIDE = 8  /* a warp takes so many places along x where its tile is wider */
};

/* One view, its direction with an angle in [0, pi) of the grid. Steps are sums of two floats: a product with a
 * frequency is exact enough then at the grid's end. */
struct __align__(16) direction
{
    float column, column_rest, row, row_rest; /* places of the grid from one frequency to the next */
    double shift, weight;
    float angle;
    int32_t view;
};

/* below[i]: how many of n directions have an angle under pi i / ANGLES, i = 0 .. ANGLES. */
struct directions {
    const struct direction *at;
    const int32_t *below;
    int n;
};

/* Returns the first direction whose angle is at least `angle`, which is not negative. */
static __device__ __forceinline__ int first_from(const struct directions *directions, float angle)
{
    const int part = min((int)(angle * (ANGLES / 3.14159265f)), ANGLES - 1);
    int low = directions->below[max(part - 1, 0)], high = directions->below[min(part + 2, ANGLES)];
    while (low < high) {
        const int middle = (low + high) / 2;
        if (directions->at[middle].angle < angle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the directions [first[i], end[i]), i = 0, 1, that may come within `reach` of the square of places from (x, y)
 * to (x + side - 1, y + side - 1). */
static __device__ __forceinline__ void passing(const struct directions *directions, float x, float y, int side,
                                               int first[2], int end[2])
{
    const float pi = 3.14159265f, reach = 0.5f * GRID_TAPS + 0.5f * (float)(side - 1) + 0.01f;
    const float center_x = x + 0.5f * (float)(side - 1), center_y = y + 0.5f * (float)(side - 1);
    first[0] = 0, end[0] = directions->n, first[1] = end[1] = 0;
    if (fabsf(center_x) <= reach && fabsf(center_y) <= reach)
        return; /* the middle lies inside: all */
    /* Seen from the middle the square lies within the circle around it. */
    const float distance = sqrtf(center_x * center_x + center_y * center_y), radius = reach * 1.41421357f;
    if (distance <= radius)
        return;
    const float width = asinf(radius / distance) + 1e-4f, angle = atan2f(center_y, center_x);
    float low = angle - width, high = angle + width;
    if (high - low >= pi)
        return;
    low += low < 0 ? pi : low >= pi ? -pi : 0;
    low += low < 0 ? pi : 0;
    high = low + 2 * width;
    first[0] = first_from(directions, low);
    end[0] = first_from(directions, high);
    if (high >= pi)
        end[1] = first_from(directions, high - pi);
}

static const float MARGIN = 0.5f * GRID_TAPS + 0.1f; /* how far the kernel reaches, and a little */

struct kernel {
    float terms[GRID_TERMS];
};

static __device__ __forceinline__ float kernel_at(const struct kernel *kernel, float u)
{
    float value = kernel->terms[GRID_TERMS - 1];
#pragma unroll
    for (int i = GRID_TERMS - 2; i >= 0; i--)
        value = __fmaf_rn(value, u, kernel->terms[i]);
    return value;
}

/* Adds the points of one view that reach the place (x, y). */
template <int PAIRS>
static __device__ __forceinline__ void add_view(const struct direction *at, const float2 *points, int most, float x,
                                                float y, const struct kernel *kernel, float2 sums[PAIRS])
{
    const float4 step = *(const float4 *)at; /* column, its rest, row, its rest */
    const float reach = 0.5f * GRID_TAPS, square = 4.0f / (GRID_TAPS * GRID_TAPS);
    if (fabsf(x * step.z - y * step.x) > 1.001f * reach * (fabsf(step.x) + fabsf(step.z)))
        return;
    const bool along = fabsf(step.x) >= fabsf(step.z);
    const float major = along ? step.x : step.z, place = along ? x : y;
    const float inverse = 1 / major, a = (place - reach) * inverse, b = (place + reach) * inverse;
    /* Points just outside weigh nothing, below. */
    const int low = max(-most, (int)fmaxf(ceilf(fminf(a, b) - 0.01f), (float)-most));
    const int high = min(most, (int)fminf(floorf(fmaxf(a, b) + 0.01f), (float)most));
    for (int k = low; k <= high; k++) {
        const float minus = (float)-k;
        const float dx = __fmaf_rn(minus, step.y, __fmaf_rn(minus, step.x, x));
        const float dy = __fmaf_rn(minus, step.w, __fmaf_rn(minus, step.z, y));
        const float u = __fmaf_rn(-square * dx, dx, 1), v = __fmaf_rn(-square * dy, dy, 1);
        if (u <= 0 || v <= 0)
            continue;
        const float weight = kernel_at(kernel, u) * kernel_at(kernel, v);
        const float2 *point = points + (most + k) * (int64_t)PAIRS;
#pragma unroll
        for (int pair = 0; pair<PAIRS; pair += PAIRS> 1 ? 2 : 1) {
            if (PAIRS > 1) {
                const float4 two = __ldg((const float4 *)(point + pair));
                sums[pair].x = __fmaf_rn(weight, two.x, sums[pair].x);
                sums[pair].y = __fmaf_rn(weight, two.y, sums[pair].y);
                sums[pair + (PAIRS > 1)].x = __fmaf_rn(weight, two.z, sums[pair + (PAIRS > 1)].x);
                sums[pair + (PAIRS > 1)].y = __fmaf_rn(weight, two.w, sums[pair + (PAIRS > 1)].y);
            } else {
                const float2 one = __ldg(point);
                sums[0].x = __fmaf_rn(weight, one.x, sums[0].x);
                sums[0].y = __fmaf_rn(weight, one.y, sums[0].y);
            }
        }
    }
}

/* This describes the grid's sides, how far its points lie, and the kernel. */
struct gathering {
    int rows, columns, most;
    float most_x, most_y; /* how far points lie, on an ellipse */
    struct kernel kernel;
};

/* Returns true where no point reaches the square of places from (x, y) to (x + side - 1, y + side - 1). */
static __device__ __forceinline__ bool is_beyond(const struct gathering *size, float x, float y, int side)
{
    const float half = 0.5f * (float)(side - 1), reach = half + MARGIN;
    const float near_x = fmaxf(fabsf(x + half) - reach, 0) / size->most_x,
                near_y = fmaxf(fabsf(y + half) - reach, 0) / size->most_y;
    return near_x * near_x + near_y * near_y > 1.001f;
}

/* Returns the start of tile i along one side: 0, -SIDE, SIDE, -2 SIDE, ... */
static __device__ __forceinline__ int tile_start(int i, int side)
{
    return i % 2 ? -(i + 1) / 2 * side : i / 2 * side;
}

/* grid: tiles along columns, along rows, the middle first. SHARE threads share a place; SHARE 1 leaves the middle out.
 */
template <int PAIRS, int SIDE, int SHARE>
static __global__ void __launch_bounds__(THREADS)
    gather(struct directions directions, const float2 *points, struct gathering size, float2 *places)
{
    __shared__ float2 partial[SHARE > 1 ? PAIRS * THREADS : 1];
    const int x_first = tile_start((int)blockIdx.x, SIDE), y_first = tile_start((int)blockIdx.y, SIDE);
    const int own = (int)threadIdx.x % (SIDE * SIDE), share = (int)threadIdx.x / (SIDE * SIDE);
    /* A warp's places are about as many along x as along y, so that views of any direction pass by all or none. */
    const int wide = SIDE < WARP_SIDE ? SIDE : WARP_SIDE, strip = own / (wide * SIDE), rest = own % (wide * SIDE);
    const int x = x_first + strip * wide + rest % wide, y = y_first + rest / wide;
    if (SHARE == 1 && x_first >= -INNER && x_first < INNER && y_first >= -INNER && y_first < INNER)
        return;
    const int last_x = x_first + SIDE - 1, last_y = y_first + SIDE - 1;
    float2 sums[PAIRS] = {};
    /* The grid repeats itself: points may reach past its sides. */
    const float far_x = size.most_x + MARGIN, far_y = size.most_y + MARGIN;
    const int left = (int)ceilf((-far_x - (float)last_x) / (float)size.columns),
              right = (int)floorf((far_x - (float)x_first) / (float)size.columns);
    const int above = (int)ceilf((-far_y - (float)last_y) / (float)size.rows),
              below = (int)floorf((far_y - (float)y_first) / (float)size.rows);
    for (int i = above; i <= below; i++)
        for (int j = left; j <= right; j++) {
            const float shift_x = (float)(j * size.columns), shift_y = (float)(i * size.rows);
            int first[2], end[2];
            if (is_beyond(&size, (float)x_first + shift_x, (float)y_first + shift_y, SIDE))
                continue;
            passing(&directions, (float)x_first + shift_x, (float)y_first + shift_y, SIDE, first, end);
            for (int range = 0; range < 2; range++)
                for (int d = first[range] + share; d < end[range]; d += SHARE)
                    add_view<PAIRS>(&directions.at[d], points + (int64_t)d * (2 * size.most + 1) * PAIRS, size.most,
                                    (float)x + shift_x, (float)y + shift_y, &size.kernel, sums);
        }
    if (SHARE > 1) {
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++)
            partial[pair * THREADS + threadIdx.x] = sums[pair];
        __syncthreads();
        for (int pair = 0; share == 0 && pair < PAIRS; pair++)
            for (int other = 1; other < SHARE; other++) {
                const float2 more = partial[pair * THREADS + other * SIDE * SIDE + own];
                sums[pair].x += more.x;
                sums[pair].y += more.y;
            }
    }
    if (share > 0 || x < -size.columns / 2 || x >= size.columns / 2 || y < -size.rows / 2 || y >= size.rows / 2)
        return;
    const int64_t place = (int64_t)(y < 0 ? y + size.rows : y) * size.columns + (x < 0 ? x + size.columns : x);
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++)
        places[pair * (int64_t)size.rows * size.columns + place] = sums[pair];
}

#endif
