/* SPDX-License-Identifier: Apache-2.0
 *
 * nlm (non-local means) replaces a pixel by the mean of all pixels of a search window, weighted by
 * how alike the patches around both are:
 *
 *     d2(p, q) = mean over the offsets s of a patch of (v(p + s) - v(q + s))^2
 *     w(p, q)  = exp(-max(d2(p, q) - 2 sigma^2, 0) / h^2)
 *     out(p)   = sum of w(p, q) v(q) / sum of w(p, q),  |q - p| <= patch_distance along each axis
 *
 * The parameters are here, and what the CPU code and cuda/denoising/nlm.cu both compute from them.
 */
#ifndef STAGES_DENOISING_NLM_H
#define STAGES_DENOISING_NLM_H

#include "stages/counting/noise_estimate.h"
#include "stages/engine/stage.h"

enum nlm_dimensions { NLM_2D, NLM_3D };
enum nlm_noise { NLM_GAUSSIAN, NLM_RICIAN };
enum { NLM_MOST_PATCH = 11, NLM_MOST_DISTANCE = 20 };

struct nlm_params {
    int64_t patch_size, patch_distance;
    struct ts_numbers h, sigma; /* each has one number, or none */
    int32_t dimensions;         /* enum nlm_dimensions */
    int32_t noise;              /* enum nlm_noise */
    int32_t estimate;           /* enum noise_estimate */
    int32_t scope;              /* enum scope */
    int32_t border;
    double constant;
};

struct nlm_numbers {
    double sigma, h;
};

/* What finish() passes to the map if sigma is estimated. */
struct nlm_result {
    struct nlm_numbers numbers;
    struct noise_result noise;
};

/* Values are divided by a power of two near h, exactly, so that squares of differences neither
 * overflow nor vanish. A value that is then not finite, or not below NLM_FAR, becomes NLM_FAR: this
 * is so far from all others that their weights vanish, and so small that a window's sum of its
 * squares is finite. Such a pixel is not changed. */
#define NLM_FAR 1e15f

/* Returns true if sigma is estimated from the image. */
bool ts_nlm_estimates(const struct stage_context *context);
/* Returns sigma and h as the parameters give them, if sigma is not estimated. */
struct nlm_numbers ts_nlm_given(const struct nlm_params *params);

/* The weight is 2^min(offset - scale * sum, 0), where `sum` is that of the squared differences of
 * two patches of `patch` pixels. For Rician data, `bias`, 2 sigma^2, is subtracted from the mean
 * square. */
struct nlm_weight {
    float offset, scale, bias;
};

/* Returns the power of two by which values are divided. In volumes in which each slice has an h of
 * its own it is 1. With h 0 it is so small that every value but 0 is far, because no two patches
 * that differ have a weight. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline float
    ts_nlm_unit(const struct nlm_numbers *numbers, bool common)
{
    int exponent = -126;
    if (numbers->h > 0)
        (void)frexp(numbers->h, &exponent);
    exponent = exponent < -126 ? -126 : exponent > 126 ? 126 : exponent;
    return common ? ldexpf(1, exponent) : 1;
}

/* Returns sigma and h of values that were divided by the unit. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline struct nlm_numbers
    ts_nlm_in_units(const struct nlm_numbers *numbers, float unit)
{
    const struct nlm_numbers scaled = {numbers->sigma / (double)unit, numbers->h / (double)unit};
    return scaled;
}

/* Returns the terms of the weight. If h is 0, patches that are not equal have no weight. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline struct nlm_weight
    ts_nlm_weight(const struct nlm_numbers *numbers, double patch)
{
    const double log2_e = 1.4426950408889634, most = 1e30, square = numbers->h * numbers->h;
    const double bias = 2 * numbers->sigma * numbers->sigma,
                 inverse = log2_e < most * square ? log2_e / square : most;
    const double offset = bias * inverse;
    struct nlm_weight weight;
    weight.offset = (float)(offset < most ? offset : most);
    weight.scale = (float)(inverse / patch);
    weight.bias = (float)bias;
    return weight;
}

#endif
