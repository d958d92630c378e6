/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes nlm: its parameters, the noise that it estimates in a reduction before the map, and its table. The
 * means themselves are in nlm_map.c.
 */
#include "stages/denoising/nlm.h"

#include <float.h>

#include "stages/engine/border.h"
#include "stages/values/scope.h"

static const double h_per_sigma = 0.8;

static const struct choice dimensions_choices[] = {
    {"2d", NLM_2D, "patches and search windows lie in a slice"},
    {"3d", NLM_3D, "both are cubes, which also span neighboring slices"},
    {0},
};

static const struct choice noise_choices[] = {
    {"gaussian", NLM_GAUSSIAN, "the mean of the values"},
    {"rician", NLM_RICIAN,
     "for magnitudes of MR: the root of the mean of the squares less 2 sigma^2, which is their bias"},
    {0},
};

static const struct choice estimate_choices[] = {
    {"immerkaer", NOISE_IMMERKAER, "the mean size of the second differences, as the table of `statistics`"},
    {"wavelet", NOISE_WAVELET, "the median size of the wavelet coefficients, as the table of `statistics`"},
    {0},
};

static const struct param nlm_params[] = {
    PARAM(struct nlm_params, patch_size, .unit = "pixel", .min = 1, .max = NLM_MOST_PATCH, .init.i = 5,
          .doc = "side of the patches that are compared, an odd number"),
    PARAM(struct nlm_params, patch_distance, .unit = "pixel", .min = 1, .max = NLM_MOST_DISTANCE, .init.i = 6,
          .doc = "how far the search window reaches along each axis: 2 patch_distance + 1 pixels"),
    PARAM(struct nlm_params, dimensions, .choices = dimensions_choices, .init.choice = NLM_2D,
          .doc = "whether the windows lie in a slice or span slices as well"),
    PARAM(struct nlm_params, h, .unit = "value", .optional = true, .min = 0, .max = 1e15,
          .doc = "how fast the weight falls with the patches' difference; absent: 0.8 sigma"),
    PARAM(struct nlm_params, sigma, .unit = "value", .optional = true, .min = 0, .max = 1e15,
          .doc = "standard deviation of the noise, 0 to subtract nothing; absent: estimated from the image"),
    PARAM(struct nlm_params, estimate, .choices = estimate_choices, .init.choice = NOISE_WAVELET,
          .doc = "how sigma is estimated"),
    PARAM(struct nlm_params, scope, .choices = ts_scope_choices, .init.choice = SCOPE_VOLUME,
          .doc = "whether sigma is estimated once for the volume, or for every slice"),
    PARAM(struct nlm_params, noise, .choices = noise_choices, .init.choice = NLM_GAUSSIAN,
          .doc = "what kind of noise the values have"),
    PARAM(struct nlm_params, border, .choices = ts_border_choices, .init.choice = BORDER_MIRROR, .doc = TS_BORDER_DOC),
    PARAM(struct nlm_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX, .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
};

STAGE_PARAMS_OF(nlm_params)

/* ---- plan --------------------------------------------------------------------------------------- */

static int64_t count_of(const struct ts_numbers *numbers)
{
    return numbers->rows * numbers->columns;
}

/* Their values may be below 0, which no magnitude is, and squares would turn them into bright ones. */
static bool is_no_magnitude(enum ts_quantity quantity)
{
    return quantity == TS_HU || quantity == TS_LINE_INTEGRAL || quantity == TS_ATTENUATION;
}

static enum ts_status check_rician(const struct stage_context *context, const struct nlm_params *params)
{
    if (is_no_magnitude(context->in.quantity)) {
        ts_param_error(context->set, "noise", "noise-quantity", context->diag,
                       "rician is the noise of magnitudes, which are never negative, and these values are %s",
                       ts_quantity_name(context->in.quantity));
        return ts_diag_hint(context->diag, "Rician noise is that of MR magnitudes; for CT leave out `noise`");
    }
    if (params->sigma.values)
        return TS_OK;
    ts_param_error(context->set, "sigma", "sigma-missing", context->diag,
                   "is not given, and noise: rician needs it, because the estimates are those of Gaussian noise");
    return ts_diag_hint(context->diag, "the standard deviation of the background is 0.655 sigma, so divide it by that");
}

static enum ts_status resolve(const struct stage_context *context, void *values)
{
    const struct nlm_params *params = values;
    if (params->patch_size % 2 == 0)
        return ts_param_error(context->set, "patch_size", "patch-even", context->diag,
                              "%lld has no pixel in the middle; a patch has an odd number of pixels a side",
                              (long long)params->patch_size);
    if (count_of(&params->h) > 1 || count_of(&params->sigma) > 1)
        return ts_param_error(context->set, count_of(&params->h) > 1 ? "h" : "sigma", "one-number", context->diag,
                              "takes one number");
    if (params->noise == NLM_RICIAN && check_rician(context, params) != TS_OK)
        return TS_BAD_CHAIN;
    static const char *const of_estimate[] = {"estimate", "scope"};
    for (int i = 0; i < 2 && params->sigma.values; i++) {
        if (ts_param_given(context->set, of_estimate[i]))
            return ts_param_error(context->set, of_estimate[i], "parameter-unused", context->diag,
                                  "is used where sigma is estimated alone, and sigma is given");
        ts_param_idle(context->set, of_estimate[i]);
    }
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static enum ts_status shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

static struct stage_reach reach(const struct stage_context *context)
{
    const struct nlm_params *params = params_of(context);
    return (struct stage_reach){.halo =
                                    params->dimensions == NLM_3D ? params->patch_distance + params->patch_size / 2 : 0,
                                .border = (enum ts_border)params->border,
                                .constant = params->constant};
}

/* ---- the noise ---------------------------------------------------------------------------------- */

static enum noise_estimate estimate_of(const struct stage_context *context)
{
    return (enum noise_estimate)params_of(context)->estimate;
}

bool ts_nlm_estimates(const struct stage_context *context)
{
    return !params_of(context)->sigma.values;
}

static double h_of(const struct nlm_params *params, double sigma)
{
    return params->h.values ? params->h.values[0] : h_per_sigma * sigma;
}

struct nlm_numbers ts_nlm_given(const struct nlm_params *params)
{
    const double sigma = params->sigma.values[0];
    return (struct nlm_numbers){sigma, h_of(params, sigma)};
}

static int rounds(const struct stage_context *context)
{
    return ts_nlm_estimates(context) ? ts_noise_rounds(context, estimate_of(context)) : 0;
}

static const struct noise_result *noise_in(const void *result)
{
    return &((const struct nlm_result *)result)->noise;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)input;
    return ts_noise_partial_bytes(context, estimate_of(context));
}

static void reduce(const struct stage_context *context, int input, const struct ts_image *slices, void *partial)
{
    (void)input;
    ts_noise_reduce(context, estimate_of(context), slices, noise_in(context->result), partial);
}

static void merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)input;
    ts_noise_merge(context, estimate_of(context), noise_in(context->result), into, from);
}

static size_t result_bytes(const struct stage_context *context)
{
    return (offsetof(struct nlm_result, noise) + ts_noise_result_bytes(context, estimate_of(context)) + 63) / 64 * 64;
}

/* An image in which there is nothing to measure has no noise. */
static enum ts_status finish(const struct stage_context *context, const void *const totals[], void *result,
                             const struct ts_image *tables)
{
    struct nlm_numbers *numbers = &((struct nlm_result *)result)->numbers;
    struct noise_result *noise = &((struct nlm_result *)result)->noise;
    ts_noise_finish(context, estimate_of(context), totals[0], noise);
    if (context->round + 1 < rounds(context))
        return TS_OK;
    const double sigma = estimate_of(context) == NOISE_IMMERKAER ? noise->immerkaer : noise->wavelet;
    numbers->sigma = sigma > 0 ? sigma : 0;
    numbers->h = h_of(params_of(context), numbers->sigma);
    *(double *)tables[0].data = numbers->sigma;
    *(double *)tables[1].data = numbers->h;
    return TS_OK;
}

static int tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    if (!ts_nlm_estimates(context))
        return 0;
    out[0] = ts_scope_table(context, "sigma", "standard deviation of the noise, as estimated", TS_F64, true);
    out[1] = ts_scope_table(context, "h", "the h that the weights were made with", TS_F64, true);
    return 2;
}

static const struct stage_reduction reduction = {
    .per_slice = ts_scope_per_slice,
    .exact = true, /* sums stay apart by slice until the end */
    .feeds_map = true,
    .rounds = rounds,
    .partial_bytes = partial_bytes,
    .reduce = reduce,
    .merge = merge,
    .result_bytes = result_bytes,
    .finish = finish,
    .tables = tables,
};

const struct stage nlm_stage = {
    .name = "nlm",
    .summary = "non-local means: the mean of the pixels whose surroundings look alike",
    .doc =
        "`out(p) = sum of w(p, q) v(q) / sum of w(p, q)` over the pixels q of a search window around p, with `w(p, q) "
        "= "
        "exp(-max(d2(p, q) - 2 sigma^2, 0)/h^2)`, where d2 is the mean of the squared differences of the patches "
        "around p and q (A. Buades, B. Coll and J.-M. Morel, 2005). A texture or an edge that repeats within the "
        "window keeps its sharpness, while noise averages out. The result is f32.\n"
        "\n"
        "Without `sigma`, the noise is estimated from the image, and the tables `sigma` and `h` record it. The "
        "definition is that of `skimage.restoration.denoise_nl_means(fast_mode=True)`, with three differences: there a "
        "weight below exp(-5) is 0, the patch has one row and one column less than patch_size, and the exponential is "
        "an approximation.\n"
        "\n"
        "`noise: rician` is for magnitude images of MR, whose noise raises dark values: the weighted mean of the "
        "squares less 2 sigma^2, and 0 where that is negative, is the square of the result (N. Wiest-Daessle et al., "
        "2008). The weights are the same. It needs `sigma`: where there is no signal, magnitudes deviate by 0.655 "
        "sigma alone, and an estimate would be too small. HU, line integrals and attenuations are refused. A magnitude "
        "is never below 0: a negative value is squared like any other, without a note, and comes out as if it were "
        "positive.\n"
        "\n"
        "Values are divided by a power of two near `h`, so that their scale does not matter, but for 3d with an `h` of "
        "each slice, which must be above 1e-15 there. A value that is not finite, or as large as 1e15 `h`, has no "
        "weight for any other, and comes out as it was; "
        "patches "
        "that hold one are like no patches but those that have one in the same place. Of a masked image, such as a CT "
        "with padding, the same holds for invalid pixels, and the noise is estimated without them.\n"
        "\n"
        "**Cost.** (2 patch_distance + 1)^2 weights a pixel, in 3d its third power; each takes about 2 patch_size "
        "additions and an exponential.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(nlm_params, struct nlm_params),
    .resolve = resolve,
    .shape = shape,
    .reach = reach,
    .reduction = &reduction,
    .scratch_bytes = ts_nlm_scratch_bytes,
    .map = ts_nlm_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(nlm_cuda),
    .tolerance = {.relative = 1e-5, .why = "squared differences, weights and their sums in float"},
    .bench = "|sigma=20 h=16|patch_size=7 patch_distance=11 sigma=20|"
             "dimensions=3d patch_size=3 patch_distance=2 sigma=20",
};
