/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the weights of Joseph's projector as a pixel sees them, without a table of rays. A pixel at (x, y) lies
 * in a view at
 *
 *     p = x cos(theta) + y sin(theta)    A = source_axis + x sin(theta) - y cos(theta)    L = hypot(A, p)
 *
 * A ray at the angle gamma from the central one passes it at the distance L sin(gamma - gamma_p), tan(gamma_p) = p / A,
 * and so crosses the pixel's line of the ray's major axis at that distance divided by the larger one of |cos(phi)| dx
 * and |sin(phi)| dy, phi = theta + gamma, in pixels. With this larger one as `width` the ray's weight is
 *
 *     max(0, 1 - distance / width) dx dy / width
 *
 * the second factor being its length between two lines. For an arc gamma - gamma_p is the detector pixels between them
 * times their angle; for a flat detector all is divided by cos(gamma), which leaves A times the difference of tangents;
 * in a parallel beam gamma is 0. (P. M. Joseph, IEEE Trans. Med. Imaging 1, 1982; beams: stages/geometry/beam.h.)
 *
 * Only one pixel's place on the detector, a difference of large numbers, is worked out in double: those of the pixels
 * beside it in its row follow from it in float, as do all weights.
 */
#ifndef CUDA_PROJECTION_JOSEPH_WEIGHT_CUH
#define CUDA_PROJECTION_JOSEPH_WEIGHT_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/geometry/beam.h"
}

/* The numbers of a scan from which its weights are worked out. */
struct joseph_grid {
    double center_row, center_column; /* place of the rotation axis */
    double dy, dx;                    /* mm from row to row, and from column to column */
    double source_axis_mm;
    double center, per_slope; /* index of the central ray; detector pixels for a slope, a radian, or a mm of 1 */
    float width_x, width_y;   /* dx, dy */
    float step, per_step;     /* slope, radian, or mm from detector to detector; and per_slope */
    int32_t beam;
};

static inline struct joseph_grid joseph_grid_of(const struct beam_scan *scan)
{
    const struct beam_geometry *grid = &scan->grid;
    struct joseph_grid joseph;
    joseph.center_row = 0.5 * (double)(grid->n_rows - 1);
    joseph.center_column = 0.5 * (double)(grid->n_columns - 1);
    joseph.dy = grid->row_spacing;
    joseph.dx = grid->column_spacing;
    joseph.source_axis_mm = scan->beam.source_axis_mm;
    joseph.center = grid->center;
    joseph.per_slope =
        (scan->beam.kind == TS_BEAM_PARALLEL ? 1 : scan->beam.source_detector_mm) / grid->detector_spacing;
    joseph.width_x = (float)joseph.dx;
    joseph.width_y = (float)joseph.dy;
    joseph.step = (float)(1 / joseph.per_slope);
    joseph.per_step = (float)joseph.per_slope;
    joseph.beam = (int32_t)scan->beam.kind;
    return joseph;
}

/* A pixel in one view, from which those beside it are worked out. */
struct joseph_start {
    double whole;                  /* detector, */
    float past;                    /* and the way from there to the pixel's place */
    float cosine, sine;            /* cosine and sine of theta */
    float across, ahead;           /* p and A */
    float step_across, step_ahead; /* from pixel to pixel */
};

/* This is one pixel in one view. */
struct joseph_pixel {
    float past;         /* detector pixels from the start's whole one */
    float cosine, sine; /* cosine and sine of theta; arc: those of theta + gamma_p */
    float slope;        /* p / A; 0 but for a flat detector */
    float apart; /* a flat detector, parallel: mm between the rays of two detector pixels at the pixel; arc: radian */
    float distance; /* A; arc: L */
};

static __device__ __forceinline__ struct joseph_start joseph_start_of(const struct joseph_grid *grid,
                                                                      struct beam_angle angle, int row, int column)
{
    const double x = (column - grid->center_column) * grid->dx, y = (grid->center_row - row) * grid->dy;
    const double across = x * angle.cosine + y * angle.sine,
                 ahead = grid->source_axis_mm + x * angle.sine - y * angle.cosine;
    const double slope = grid->beam == TS_BEAM_PARALLEL ? across : across / ahead;
    const double at = grid->center + grid->per_slope * (grid->beam == TS_BEAM_FAN_ARC ? atan(slope) : slope);
    struct joseph_start start;
    start.whole = floor(at);
    start.past = (float)(at - start.whole);
    start.cosine = (float)angle.cosine;
    start.sine = (float)angle.sine;
    start.across = (float)across;
    start.ahead = (float)ahead;
    start.step_across = grid->width_x * start.cosine;
    start.step_ahead = grid->width_x * start.sine;
    return start;
}

/* Return 1 / x and 1 / sqrt(x) of numbers far from the ends of the range, to 1 and 2 in the last place. */
static __device__ __forceinline__ float joseph_inverse(float x)
{
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

static __device__ __forceinline__ float joseph_inverse_root(float x)
{
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

/* Returns the pixel `beside` columns further. */
static __device__ __forceinline__ struct joseph_pixel joseph_pixel_of(const struct joseph_grid *grid,
                                                                      const struct joseph_start *start, int beside)
{
    const float k = (float)beside, across = __fmaf_rn(k, start->step_across, start->across),
                ahead = __fmaf_rn(k, start->step_ahead, start->ahead);
    struct joseph_pixel pixel = {start->past, start->cosine, start->sine, 0, grid->step, 0};
    if (grid->beam == TS_BEAM_PARALLEL) {
        pixel.past = __fmaf_rn(k * start->step_across, grid->per_step, start->past);
        return pixel;
    }
    /* L L' sin and, below, L L' cos of the angle between the rays to both pixels. */
    const float cross = k * __fmaf_rn(start->ahead, start->step_across, -(start->across * start->step_ahead));
    if (grid->beam == TS_BEAM_FAN_FLAT) {
        const float inverse = joseph_inverse(ahead);
        pixel.distance = ahead;
        pixel.slope = across * inverse;
        pixel.apart = ahead * grid->step;
        pixel.past = __fmaf_rn(cross * inverse * joseph_inverse(start->ahead), grid->per_step, start->past);
        return pixel;
    }
    const float square = __fmaf_rn(ahead, ahead, across * across), inverse = joseph_inverse_root(square);
    const float dot = __fmaf_rn(start->ahead, ahead, start->across * across);
    pixel.distance = square * inverse;
    pixel.cosine = __fmaf_rn(start->cosine, ahead, -(start->sine * across)) * inverse;
    pixel.sine = __fmaf_rn(start->sine, ahead, start->cosine * across) * inverse;
    if (beside)
        pixel.past = __fmaf_rn(atanf(cross * joseph_inverse(dot)), grid->per_step, start->past);
    return pixel;
}

/* Returns the width, as above. */
static __device__ __forceinline__ float joseph_width(const struct joseph_grid *grid, float cosine, float sine)
{
    return fmaxf(fabsf(cosine) * grid->width_x, fabsf(sine) * grid->width_y);
}

/* Rays farther from the pixel in detector pixels do not touch it. The width changes by no more than `most` a radian or
 * a slope of 1, so that of rays u from the pixel A u < width + most u, or L sin(u) < width + most u; and u is at most
 * asin(most / L). */
static __device__ __forceinline__ float joseph_reach(const struct joseph_grid *grid, const struct joseph_pixel *pixel)
{
    const float slack = 1e-3f, most = fmaxf(grid->width_x, grid->width_y);
    const float width = joseph_width(grid, __fmaf_rn(-pixel->sine, pixel->slope, pixel->cosine),
                                     __fmaf_rn(pixel->cosine, pixel->slope, pixel->sine));
    if (grid->beam == TS_BEAM_PARALLEL)
        return width / pixel->apart + slack;
    if (grid->beam == TS_BEAM_FAN_FLAT)
        return width * pixel->distance / ((pixel->distance - most) * pixel->apart) + slack;
    const float all = asinf(fminf(most / pixel->distance, 1)), least = pixel->distance * (1 - all * all / 6) - most;
    return (least > 0 ? fminf(width / least, all) : all) / pixel->apart + slack;
}

/* Finds sine and cosine of an angle up to pi / 2 to 6e-8: the terms that are left out are smaller. */
static __device__ __forceinline__ void joseph_sine_cosine(float angle, float *sine, float *cosine)
{
    const float square = angle * angle;
    float odd = -2.5052108e-8f, even = 2.0876757e-9f;
    odd = __fmaf_rn(odd, square, 2.7557319e-6f);
    odd = __fmaf_rn(odd, square, -1.9841270e-4f);
    odd = __fmaf_rn(odd, square, 8.3333333e-3f);
    odd = __fmaf_rn(odd, square, -1.6666667e-1f);
    even = __fmaf_rn(even, square, -2.7557319e-7f);
    even = __fmaf_rn(even, square, 2.4801587e-5f);
    even = __fmaf_rn(even, square, -1.3888889e-3f);
    even = __fmaf_rn(even, square, 4.1666667e-2f);
    even = __fmaf_rn(even, square, -0.5f);
    *sine = __fmaf_rn(odd * square, angle, angle);
    *cosine = __fmaf_rn(even, square, 1);
}

/* Returns the weight of the ray of the detector pixel that lies so many past the pixel. */
static __device__ __forceinline__ float joseph_weight(const struct joseph_grid *grid, const struct joseph_pixel *pixel,
                                                      float past)
{
    float away = past * pixel->apart, longer = 1, cosine, sine;
    if (grid->beam == TS_BEAM_FAN_ARC) {
        float turned, ahead;
        if (fabsf(away) > 1.5707963f)
            return 0;
        joseph_sine_cosine(away, &turned, &ahead);
        cosine = pixel->cosine * ahead - pixel->sine * turned;
        sine = pixel->sine * ahead + pixel->cosine * turned;
        away = turned * pixel->distance;
    } else {
        const float slope = grid->beam == TS_BEAM_PARALLEL ? 0 : __fmaf_rn(past, grid->step, pixel->slope);
        cosine = __fmaf_rn(-pixel->sine, slope, pixel->cosine);
        sine = __fmaf_rn(pixel->cosine, slope, pixel->sine);
        const float square = __fmaf_rn(slope, slope, 1);
        longer = square * joseph_inverse_root(square);
    }
    const float inverse = joseph_inverse(joseph_width(grid, cosine, sine));
    return fmaxf(__fmaf_rn(-fabsf(away), inverse, 1), 0) * inverse * longer * (grid->width_x * grid->width_y);
}

#endif
