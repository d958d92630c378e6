/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the one set of messages for `range` and `limits`, which window, rescale, invert and histogram share.
 */
#include "stages/values/limits.h"

const struct choice ts_limits_choices[] = {
    {"data", LIMITS_DATA, "the smallest and the largest finite value of the image"},
    {"dtype", LIMITS_DTYPE, "the lowest and the highest value of the type"},
    {NULL, 0, NULL},
};

enum ts_status ts_limits_check_range(const struct stage_context *context, const char *name,
                                     const struct ts_numbers *range)
{
    const int64_t n = range->rows * range->columns;
    if (!range->values)
        return TS_OK;
    if (n != 2) {
        ts_param_error(context->set, name, "range-length", context->diag, "%lld numbers where two are needed",
                       (long long)n);
        return ts_diag_hint(context->diag, "write %s: [low, high]", name);
    }
    if (!(range->values[0] < range->values[1])) {
        ts_param_error(context->set, name, "range-order", context->diag, "%g is not below %g", range->values[0],
                       range->values[1]);
        return ts_diag_hint(context->diag, "write the lower number first: %s: [low, high]", name);
    }
    return TS_OK;
}

enum ts_status ts_limits_refuse_float(const struct stage_context *context)
{
    ts_param_error(context->set, "limits", "limits-of-float", context->diag, "the values of %s have no limits",
                   ts_dtype_name(context->in.dtype));
    return ts_diag_hint(context->diag, "give range: [low, high], or limits: data");
}
