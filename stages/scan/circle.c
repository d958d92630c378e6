/* SPDX-License-Identifier: Apache-2.0
 *
 * circle: the pixel at (x, y) from the rotation center ((nx - 1)/2, (ny - 1)/2) stays where x^2 +
 * y^2 < ratio^2 r^2, and all others become one value; r is half the shorter side of the slice, and
 * all lengths are in mm. (z, y, x). This is the rule of tomopy.circ_mask(axis=0), which only knows
 * square pixels. The columns inside are found once for each row, so that both devices agree on
 * every pixel.
 */
#include "stages/scan/circle.h"

#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/distances.h"
#include "stages/engine/validity.h"

static const struct param circle_params[] = {
    PARAM(struct circle_params, ratio, .min = 0, .max = 2, .init.r = 1,
          .doc = "diameter of the circle as a part of the shorter side of the slice; 1 is the "
                 "inscribed circle"),
    PARAM(struct circle_params, value, .unit = "value", .derived = TS_AIR_WORDS,
          .old = {.until = 1, .init.r = 0}, .doc = "what is written outside the circle"),
};

STAGE_PARAMS_OF(circle_params)

static enum ts_status circle_resolve(const struct stage_context *context, void *values)
{
    struct circle_params *params = values;
    ts_stage_default_air(context, "value", &params->value);
    if (ts_stage_needs_even(context) != TS_OK)
        return TS_BAD_CHAIN;
    return ts_constant_check(context, "value", params->value);
}

/* Distances are in units of the finer spacing, so that square pixels are exactly 1 apart. */
struct circle {
    double x_step, y_step, x_center, y_center, limit;
};

static struct circle circle_of(const struct stage_context *context)
{
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    const double dy = ts_axis_spacing(y), dx = ts_axis_spacing(x), finer = fmin(dy, dx);
    const double ratio = params_of(context)->ratio;
    struct circle circle = {.x_step = dx / finer, .y_step = dy / finer};
    const double radius = fmin((double)x->n * circle.x_step, (double)y->n * circle.y_step) / 2;
    circle.x_center = 0.5 * (double)(x->n - 1);
    circle.y_center = 0.5 * (double)(y->n - 1);
    circle.limit = ratio * ratio * (radius * radius);
    return circle;
}

static bool is_inside(const struct circle *circle, double y, int64_t column)
{
    const double x = ((double)column - circle->x_center) * circle->x_step;
    return x * x + y * y < circle->limit;
}

void ts_circle_spans(const struct stage_context *context, struct circle_span *spans)
{
    const struct circle circle = circle_of(context);
    const int64_t nx = context->in.axes[2].n;
    for (int64_t row = 0; row < context->in.axes[1].n; row++) {
        const double y = ((double)row - circle.y_center) * circle.y_step;
        const double half = sqrt(fmax(circle.limit - y * y, 0)) / circle.x_step;
        /* The guess is a column or two to the left of the first one inside. */
        const double guess = floor(circle.x_center - half) - 1;
        int64_t first = guess > 0 ? (int64_t)guess : 0;
        while (2 * first < nx && !is_inside(&circle, y, first) &&
               (double)first < circle.x_center + 1)
            first++;
        const bool any = 2 * first < nx && is_inside(&circle, y, first);
        spans[row] = any ? (struct circle_span){(int32_t)first, (int32_t)(nx - first)}
                         : (struct circle_span){0};
    }
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    (void)n;
    return (size_t)context->in.axes[1].n * sizeof(struct circle_span);
}

static enum ts_status circle_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    const int64_t ny = out->axes[1].n, nx = out->axes[2].n, n_rows = out->axes[0].n * ny;
    const size_t element = ts_dtype_bytes(out->dtype);
    const double value = params_of(context)->value;
    struct circle_span *spans = scratch;
    ts_circle_spans(context, spans);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < n_rows; row++) {
        const struct circle_span span = spans[row % ny];
        const char *from = (const char *)in->data + (size_t)(row * nx) * element;
        char *to = (char *)out->data + (size_t)(row * nx) * element;
        ts_constant_fill(to, out->dtype, value, span.first);
        memcpy(to + (size_t)span.first * element, from + (size_t)span.first * element,
               (size_t)(span.end - span.first) * element);
        ts_constant_fill(to + (size_t)span.end * element, out->dtype, value, nx - span.end);
    }
    return TS_OK;
}

const struct stage circle_stage = {
    .name = "circle",
    .summary = "keep the inside of a circle around the rotation center",
    .doc = "A pixel at `(x, y)` from the rotation center, pixel ((nx - 1)/2, (ny - 1)/2), stays if "
           "`x^2 + y^2 < ratio^2*r^2`, with `r` half the shorter side of the slice; all others "
           "become `value`. The circle is the same in every slice, and round in mm also if pixels "
           "are not square. With square pixels the rule is that of `tomopy.circ_mask(axis=0)`. A "
           "reconstruction is complete only inside the inscribed circle, where every view sees "
           "every pixel.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(circle_params, struct circle_params),
    .resolve = circle_resolve,
    .scratch_bytes = scratch_bytes,
    .map = circle_map,
    .traits = TRAIT_KEEPS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(circle_cuda),
    .bench = "",
    .tolerance = {.why = "values are copied"},
};
