/* SPDX-License-Identifier: Apache-2.0
 *
 * filter: the rows of a sinogram through a filter of filtered backprojection, as
 * stages/projection/row_filter.h defines it; (z, view, detector) -> the same, f32. On the CPU each
 * row is a task of its own, through FFTW or KissFFT.
 */
#include "stages/projection/filter.h"

#include "stages/engine/distances.h"

#include <string.h>

struct row_filter ts_filter_of(const struct stage_context *context)
{
    const struct filter_params *params = context->params;
    const struct ts_axis *axis = &context->in.axes[2];
    return (struct row_filter){.name = params->filter,
                               .cutoff = params->cutoff,
                               .spacing = ts_axis_spacing(axis),
                               .n = axis->n};
}

static enum ts_status filter_resolve(const struct stage_context *context, void *values)
{
    struct filter_params *params = values;
    ts_row_filter_resolve(context, params->filter, params->unit);
    return ts_stage_needs_even(context);
}

static enum ts_status filter_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct filter_params *params = context->params;
    out->dtype = TS_F32;
    out->unit = params->unit;
    if (params->filter != ROW_FILTER_NONE)
        out->quantity = TS_INTENSITY;
    return TS_OK;
}

static int filter_transforms(const struct stage_context *context,
                             struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct row_filter filter = ts_filter_of(context);
    if (context->device || filter.name == ROW_FILTER_NONE)
        return 0;
    shapes[0] = ts_row_filter_shape(&filter);
    return 1;
}

static size_t filter_scratch(const struct stage_context *context, int64_t n)
{
    const struct row_filter filter = ts_filter_of(context);
    (void)n;
    return ts_row_filter_scratch(&filter, context->threads);
}

static enum ts_status filter_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    const struct row_filter filter = ts_filter_of(context);
    ts_row_filter_run(context, &filter, in, out->data, scratch);
    return TS_OK;
}

/* The filtered row q[i] is a sum of p[j] h[i - j] with an even h, and so are the windows' responses
 * even: the filter is its own transpose. */
static enum ts_status filter_transpose(const struct stage_context *context, struct param_set *set,
                                       struct stage_gather *gather, struct arena *arena)
{
    (void)gather;
    (void)arena;
    memcpy(set->values, context->params, sizeof(struct filter_params));
    set->given = context->set->given;
    return TS_OK;
}

static const struct stage_transpose filter_linear = {.describe = filter_transpose};

static const struct param filter_params[] = {
    ROW_FILTER_PARAMS(struct filter_params),
};

const struct stage filter_stage = {
    .name = "filter",
    .summary = "the filters of filtered backprojection, along the rows of a sinogram",
    .doc = "Every row p of n detector pixels, d mm apart, becomes `q[i] = d * sum over j of p[j] "
           "h[i - j]` with the band-limited ramp `h[0] = 1 / (4 d d)`, `h[n] = -1 / (pi pi n n d "
           "d)` for odd n and 0 for even n (Ramachandran and Lakshminarayanan, PNAS 68, 1971; Kak "
           "and Slaney, 1988), in the frequencies times a window `W(u)`, with u the frequency as a "
           "fraction of `cutoff` times Nyquist (1 / 2d), and 0 beyond u = 1. Rows are padded with "
           "zeros to the power of two from 2 n - 1 on, so that nothing wraps around. The ramp is "
           "sampled in space, not as |f|, which keeps the mean of a row.\n\n"
           "The result has the unit of the rows per mm and is no line integral any more. `fbp` "
           "filters by itself; `filter` and then `backproject model=linear weights=angles` do the "
           "same step by step. scikit-image's filters are these times 2 d; it samples hamming and "
           "hann one sample off the middle. A value that is NaN or infinite spoils its row.\n\n"
           "Cost: two transforms of 2 to 4 n samples a row.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL) | TS_QUANTITY_BIT(TS_INTENSITY),
                          TS_BEAM_BIT(TS_BEAM_PARALLEL)),
    STAGE_PARAMS(filter_params, struct filter_params),
    .resolve = filter_resolve,
    .shape = filter_shape,
    .transforms = filter_transforms,
    .scratch_bytes = filter_scratch,
    .map = filter_map,
    .transpose = &filter_linear,
    .cuda = STAGE_CUDA(filter_cuda),
    .bench = "filter=ramp|filter=none",
    .tolerance = {.relative = 2e-6,
                  .why = "the response is rounded once to float; two transforms in float, each off "
                         "by some 1e-7 of the row's largest value"},
};
