/* SPDX-License-Identifier: Apache-2.0
 *
 * Every 32-bit integer is exact as a double, so the same rule serves all types. If a value is not
 * finite, the difference is NaN and does not count.
 */
#include "core/rounding.h"

#include <math.h>

static void rounding_add(struct ts_rounding *rounding, double value)
{
    const double change = fabs(value - (double)(float)value);
    rounding->n += change > 0 && change < (double)INFINITY;
    rounding->most = change > rounding->most && change < (double)INFINITY ? change : rounding->most;
}

void ts_rounding_of_doubles(struct ts_rounding *rounding, const double *values, size_t n)
{
    struct ts_rounding sum = *rounding;
    for (size_t i = 0; i < n; i++)
        rounding_add(&sum, values[i]);
    *rounding = sum;
}

void ts_rounding_of_integers(struct ts_rounding *rounding, const void *values, enum ts_dtype dtype,
                             size_t n)
{
    struct ts_rounding sum = *rounding;
    for (size_t i = 0; i < n; i++)
        rounding_add(&sum, dtype == TS_U32 ? (double)((const uint32_t *)values)[i]
                                           : (double)((const int32_t *)values)[i]);
    *rounding = sum;
}

void ts_rounding_of_scaled(struct ts_rounding *rounding, const double *stored, size_t n,
                           double slope, double intercept)
{
    static const double float_whole_max = 16777216; /* 2^24 */
    struct ts_rounding sum = *rounding;
    for (size_t i = 0; i < n; i++) {
        const double value = slope * stored[i] + intercept;
        if (fmax(fabs(stored[i]), fabs(value)) > float_whole_max)
            rounding_add(&sum, value);
    }
    *rounding = sum;
}

void ts_rounding_join(struct ts_rounding *rounding, const struct ts_rounding *more)
{
    rounding->n = rounding->n < 0 || more->n < 0 ? ROUNDING_SOME : rounding->n + more->n;
    rounding->most = fmax(rounding->most, more->most);
}
