/* SPDX-License-Identifier: Apache-2.0
 *
 * pad: (z, view, detector) with `left` more detector pixels before the first and `right` more after
 * the last, whose values a border rule of stages/engine/border.h gives. The detector axis keeps its
 * positions, so the rotation center stays in its place. The indices of the samples for the new
 * pixels are the same in all rows and are found once.
 */
#include "stages/scan/pad.h"

#include "stages/engine/distances.h"

#include <math.h>
#include <string.h>

enum { MOST = 1 << 20 };

#define DERIVED "ceil(n*(sqrt(2) - 1)/2) of n detector pixels, which then cover the diagonal"

static const struct param pad_params[] = {
    PARAM(struct pad_params, left, .unit = "detector", .min = 0, .max = MOST, .derived = DERIVED,
          .doc = "detector pixels before the first"),
    PARAM(struct pad_params, right, .unit = "detector", .min = 0, .max = MOST, .derived = DERIVED,
          .doc = "detector pixels after the last"),
    PARAM(struct pad_params, border, .choices = ts_border_choices, .init.choice = BORDER_NEAREST,
          .doc = "what the new detector pixels hold. nearest is numpy's and TomoPy's edge, "
                 "constant 0 their zeros; " TS_BORDER_DOC),
    PARAM(struct pad_params, constant, .unit = "value", .init.r = 0,
          .doc = "with border constant: the value"),
};

static enum ts_status pad_resolve(const struct stage_context *context, void *values)
{
    struct pad_params *params = values;
    const struct ts_axis *detectors = &context->in.axes[2];
    const int64_t diagonal = (int64_t)ceil((double)detectors->n * (sqrt(2) - 1) / 2);
    if (!ts_param_given(context->set, "left"))
        params->left = diagonal;
    if (!ts_param_given(context->set, "right"))
        params->right = diagonal;
    if (ts_stage_needs_even(context) != TS_OK)
        return TS_BAD_CHAIN;
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static enum ts_status pad_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct pad_params *params = context->params;
    struct ts_axis *detectors = &out->axes[2];
    detectors->n += params->left + params->right;
    detectors->first -= (double)params->left * detectors->spacing;
    return TS_OK;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct pad_params *params = context->params;
    (void)n;
    return (size_t)(params->left + params->right) * sizeof(int64_t);
}

#define GATHER(suffix, type)                                                                       \
    static void gather_##suffix(const type *in, type *out, const int64_t *index, int64_t n)        \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = in[index[i]];                                                                 \
    }
GATHER(1, uint8_t)
GATHER(2, uint16_t)
GATHER(4, uint32_t)

static void fill_side(const struct stage_context *context, const void *in, void *out,
                      const int64_t *index, int64_t n)
{
    const struct pad_params *params = context->params;
    if (params->border == BORDER_CONSTANT)
        ts_constant_fill(out, context->out.dtype, params->constant, n);
    else if (ts_dtype_bytes(context->out.dtype) == 1)
        gather_1(in, out, index, n);
    else if (ts_dtype_bytes(context->out.dtype) == 2)
        gather_2(in, out, index, n);
    else
        gather_4(in, out, index, n);
}

static enum ts_status pad_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, void *scratch)
{
    const struct pad_params *params = context->params;
    const int64_t n = in->axes[2].n, n_out = out->axes[2].n, n_rows = in->axes[0].n * in->axes[1].n;
    const size_t element = ts_dtype_bytes(in->dtype);
    int64_t *index = scratch;
    ts_border_fill(index, -params->left, params->left, n, (enum ts_border)params->border);
    ts_border_fill(index + params->left, n, params->right, n, (enum ts_border)params->border);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < n_rows; row++) {
        const char *from = (const char *)in->data + (size_t)(row * n) * element;
        char *to = (char *)out->data + (size_t)(row * n_out) * element;
        fill_side(context, from, to, index, params->left);
        memcpy(to + (size_t)params->left * element, from, (size_t)n * element);
        fill_side(context, from, to + (size_t)(params->left + n) * element, index + params->left,
                  params->right);
    }
    return TS_OK;
}

const struct stage pad_stage = {
    .name = "pad",
    .traits = TRAIT_NEW_DETECTOR,
    .summary = "more detector pixels on both sides of a sinogram",
    .doc =
        "Adds `left` detector pixels before the first and `right` after the last, at the same "
        "distance. Each detector pixel keeps its position in mm, and so does the rotation center: "
        "`radon`, `fbp` and the others need no other center after it. Use it if the object reaches "
        "beyond the detector: sides of zeros leave a bright rim in a reconstruction, `border: "
        "nearest` does not. Reconstructions pad for their filters by themselves.",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY, TS_ANY_BEAM),
    STAGE_PARAMS(pad_params, struct pad_params),
    .resolve = pad_resolve,
    .shape = pad_shape,
    .scratch_bytes = scratch_bytes,
    .map = pad_map,
    .cuda = STAGE_CUDA(pad_cuda),
    .bench = "|border=constant|border=reflect",
    .tolerance = {.why = "values are copied"},
};
