/* SPDX-License-Identifier: Apache-2.0
 *
 * Indices outside are folded back by arithmetic modulo the period of each rule: 2 n for reflect, 2
 * n - 2 for mirror, n for wrap. Any distance from the image is allowed, so a window may be larger
 * than the image.
 */
#include "stages/engine/border.h"

#include <math.h>

const struct choice ts_border_choices[] = {
    {"reflect", BORDER_REFLECT, "d c b a | a b c d | d c b a"},
    {"mirror", BORDER_MIRROR, "d c b | a b c d | c b a"},
    {"nearest", BORDER_NEAREST, "a a a a | a b c d | d d d d"},
    {"constant", BORDER_CONSTANT, "k k k k | a b c d | k k k k with k the parameter `constant`"},
    {"wrap", BORDER_WRAP, "a b c d | a b c d | a b c d"},
    {NULL, 0, NULL},
};

int64_t ts_border_index(int64_t i, int64_t n, enum ts_border border)
{
    if (i >= 0 && i < n)
        return i;
    int64_t period = border == BORDER_MIRROR ? 2 * (n - 1) : n;
    if (border == BORDER_REFLECT)
        period = 2 * n;
    switch (border) {
    case BORDER_CONSTANT:
        return -1;
    case BORDER_NEAREST:
        return i < 0 ? 0 : n - 1;
    case BORDER_WRAP:
        return ((i % n) + n) % n;
    case BORDER_REFLECT:
        i = ((i % period) + period) % period;
        return i < n ? i : period - 1 - i;
    case BORDER_MIRROR:
        if (n == 1)
            return 0;
        i = ((i % period) + period) % period;
        return i < n ? i : period - i;
    }
    return -1;
}

void ts_border_fill(int64_t *index, int64_t first, int64_t count, int64_t n, enum ts_border border)
{
    for (int64_t i = 0; i < count; i++)
        index[i] = ts_border_index(first + i, n, border);
}

enum ts_status ts_border_check(const struct stage_context *context, enum ts_border border,
                               double constant)
{
    if (border != BORDER_CONSTANT && ts_param_given(context->set, "constant"))
        return ts_param_error(context->set, "constant", "parameter-unused", context->diag,
                              "is used with border: constant alone, and border is %s",
                              ts_choice_name(ts_border_choices, border));
    if (border != BORDER_CONSTANT)
        ts_param_idle(context->set, "constant");
    return border == BORDER_CONSTANT ? ts_constant_check(context, "constant", constant) : TS_OK;
}

enum ts_status ts_constant_check(const struct stage_context *context, const char *param,
                                 double value)
{
    double low, high;
    if (!ts_dtype_is_integer(context->in.dtype))
        return TS_OK;
    ts_dtype_range(context->in.dtype, &low, &high);
    if (value < low || value > high || value != floor(value))
        return ts_param_error(
            context->set, param, "value-range", context->diag,
            "%g is no value of the image, whose dtype %s holds the integers %.0f to %.0f", value,
            ts_dtype_name(context->in.dtype), low, high);
    return TS_OK;
}

void ts_constant_fill(void *data, enum ts_dtype dtype, double value, int64_t n)
{
    switch (dtype) {
#define FILL(NAME, TYPE)                                                                           \
    case TS_##NAME:                                                                                \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((TYPE *)data)[i] = (TYPE)value;                                                       \
        break;
        TS_IMAGE_DTYPES(FILL)
#undef FILL
    default:
        break;
    }
}
