/* SPDX-License-Identifier: Apache-2.0
 *
 * nlm (non-local means) replaces a pixel by the mean of all pixels of a search window, weighted by how alike the
 * patches around both are:
 *
 *     d2(p, q) = mean over the offsets s of a patch of (v(p + s) - v(q + s))^2
 *     w(p, q)  = exp(-max(d2(p, q) - 2 sigma^2, 0) / h^2)
 *     out(p)   = sum of w(p, q) v(q) / sum of w(p, q),  |q - p| <= patch_distance along each axis
 *
 * The parameters and what the CPU code and cuda/denoising/nlm.cu both work out from them stand here.
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
    struct ts_numbers h, sigma; /* one number each, or none */
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

/* finish() hands this to the map, where sigma is estimated. */
struct nlm_result {
    struct nlm_numbers numbers;
    struct noise_result noise;
};

/* A value that is not finite, or not below this size, becomes this one: so far from every other that no weight is left
 * between them, and so small that its square is finite. Such a pixel comes out as it was. */
#define NLM_FAR 1e18f

/* Returns true where sigma is estimated from the image. */
bool ts_nlm_estimates(const struct stage_context *context);
/* Returns sigma and h that the parameters give, where sigma is not estimated. */
struct nlm_numbers ts_nlm_given(const struct nlm_params *params);

/* The map on the CPU and its scratch, as struct stage has them (nlm_map.c). */
size_t ts_nlm_scratch_bytes(const struct stage_context *context, int64_t n);
enum ts_status ts_nlm_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          void *scratch);

/* The weight is 2^min(offset - scale * sum, 0), where `sum` is that of the squared differences of two patches of
 * `patch` pixels. `bias`, 2 sigma^2, is subtracted from the mean square of Rician data. */
struct nlm_weight {
    float offset, scale, bias;
};

/* Returns the terms of the weight. If h is 0, patches that are not equal have no weight. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline struct nlm_weight
    ts_nlm_weight(const struct nlm_numbers *numbers, double patch)
{
    const double log2_e = 1.4426950408889634, most = 1e30, square = numbers->h * numbers->h;
    const double bias = 2 * numbers->sigma * numbers->sigma, inverse = log2_e < most * square ? log2_e / square : most;
    const double offset = bias * inverse;
    struct nlm_weight weight;
    weight.offset = (float)(offset < most ? offset : most);
    weight.scale = (float)(inverse / patch);
    weight.bias = (float)bias;
    return weight;
}

#endif
