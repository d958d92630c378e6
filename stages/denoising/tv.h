/* SPDX-License-Identifier: Apache-2.0
 *
 * tv: total-variation denoising (L. Rudin, S. Osher, E. Fatemi, 1992). The output u minimizes
 *
 *     P(u) = 1/2 ||u - f||^2 + weight * sum |grad u|
 *
 * over each slice, or over the volume, where f is the input and grad the differences to the next
 * sample along each axis, 0 at the last. Both methods seek the dual field q, with |q| <= 1 at each
 * sample, and the u that belongs to it: at the minimum u = f + weight div q. The CPU and CUDA carry
 * out the steps in this header.
 */
#ifndef STAGES_DENOISING_TV_H
#define STAGES_DENOISING_TV_H

#include <float.h>
#include <math.h>

#include "stages/engine/stage.h"

enum tv_dimensions { TV_2D, TV_3D };
enum tv_method { TV_AUTO, TV_CHAMBOLLE, TV_PRIMAL_DUAL };
enum tv_stop { TV_NEVER, TV_DISTANCE };

struct tv_params {
    double weight;
    int32_t dimensions, method;
    int64_t iterations;
    int32_t stop; /* enum tv_stop */
    double tolerance;
};

/* Values and weight are divided by a power of two, exactly, so that the weight is in [1/2, 1) and
 * squares of differences neither overflow nor vanish. A finite value of at least TV_FAR then counts
 * as TV_FAR, and is not changed: no weight could change it by more than its last bit. */
#define TV_FAR 0x1p45f

static inline double ts_tv_unit(const struct tv_params *params)
{
    int exponent;
    (void)frexp(params->weight, &exponent);
    return ldexp(1, exponent);
}

/* Returns the parameters of values that were divided by the unit. */
static inline struct tv_params ts_tv_in_units(const struct tv_params *params)
{
    struct tv_params scaled = *params;
    scaled.weight /= ts_tv_unit(params);
    scaled.tolerance /= ts_tv_unit(params);
    return scaled;
}

/* Returns a value divided by the unit, whose reciprocal is `per_unit`. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline float
    ts_tv_value(float value, float per_unit)
{
    const float scaled = value * per_unit;
    if (!(fabsf(value) <= FLT_MAX) || fabsf(scaled) < TV_FAR)
        return scaled;
    return value < 0 ? -TV_FAR : TV_FAR;
}

/* With stop `distance`, the distance is computed after every TV_LOOK iterations and after the
 * last. */
enum { TV_LOOK = 10 };
/* The tables of the map: the bound of the distance after each look (z, looks), NaN after the last
 * look, and the number of iterations that were carried out (z). */
enum { TV_TABLE_DISTANCE, TV_TABLE_ITERATIONS, TV_TABLES };

/* The first returns how many looks a run has at most, the second whether there is one after
 * iteration number i, counted from 1. */
static inline int64_t ts_tv_looks(const struct tv_params *params)
{
    return params->stop == TV_NEVER ? 1 : (params->iterations + TV_LOOK - 1) / TV_LOOK;
}
static inline bool ts_tv_looks_after(const struct tv_params *params, int64_t i)
{
    return i == params->iterations || (params->stop == TV_DISTANCE && i > 0 && i % TV_LOOK == 0);
}

/* The factors of an iteration. With x the image and m the point where its gradient is taken, it is
 *
 *     chambolle:    m = f + weight div q
 *                   q <- (q + ascent grad m) / (1 + ascent |grad m|)
 *     primal-dual:  x' = x + blend (f + weight div q - x),   m = x' + momentum (x' - x),   x <- x'
 *                   q <- (q + ascent grad m) / max(1, |q + ascent grad m|)
 *
 * from q = 0 and x = f. The result is m, with momentum 0, of one more evaluation without a new
 * q. */
struct tv_step {
    double tau, sigma; /* for primal-dual: used for the next image */
    float blend, momentum, ascent;
};

/* Returns the factors of the first iteration. chambolle: ascent = 1 / (2 dimensions weight).
 * primal-dual: tau sigma |grad|^2 = 1, where |grad|^2 is at most 4 dimensions. tau starts at 4,
 * whatever the scale of the values; docs/notes/tv.md compares other starts. */
static inline struct tv_step ts_tv_step_first(const struct tv_params *params)
{
    const double axes = params->dimensions == TV_3D ? 3 : 2, tau = 4, sigma = 1 / (tau * 4 * axes);
    const double ascent = params->method == TV_CHAMBOLLE ? 1 / (2 * axes) : sigma;
    const struct tv_step step = {tau, sigma, 0, 0, (float)(ascent / params->weight)};
    return step;
}

/* Advances to the factors of the next iteration, by the second algorithm of Chambolle and Pock with
 * gamma = 1. */
static inline void ts_tv_step_next(const struct tv_params *params, struct tv_step *step)
{
    if (params->method == TV_CHAMBOLLE)
        return;
    const double theta = 1 / sqrt(1 + 2 * step->tau);
    step->blend = (float)(step->tau / (1 + step->tau));
    step->momentum = (float)theta;
    step->tau *= theta;
    step->sigma /= theta;
    step->ascent = (float)(step->sigma / params->weight);
}

/* Returns a bound of the root mean square of m - u over this many pixels. The gap, P(m) less the
 * value of the dual problem at q, is at least 1/2 ||m - u||^2, because P is strongly convex. */
static inline double ts_tv_distance(double gap, double pixels)
{
    return gap <= 0 ? 0 : sqrt(2 * gap / pixels);
}

struct stage_reach ts_tv_reach(const struct stage_context *context);
/* The slices of a 3D run. in[0] has slices [first, end) of the volume; the output is [z, z + n). */
struct tv_range {
    int64_t first, end, z, n;
};
struct tv_range ts_tv_range(const struct stage_context *context, const struct ts_image *out);
/* Returns the slices whose q iteration i, counted from 0, computes: those that the result still
 * depends on. */
struct tv_range ts_tv_range_of_iteration(const struct tv_params *params,
                                         const struct tv_range *range, int64_t i);

#endif
