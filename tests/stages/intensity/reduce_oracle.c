/* SPDX-License-Identifier: Apache-2.0
 *
 * Each number from its definition: sums in long double, deviations from a mean that is known, and
 * values in order.
 */
#include "tests/stages/intensity/reduce_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double from_order(const char *method, const double *values, size_t n)
{
    double *sorted = malloc(n * sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, rising);
    const double low = sorted[0], high = sorted[n - 1], left = sorted[(n - 1) / 2],
                 right = sorted[n / 2];
    free(sorted);
    if (!strcmp(method, "max"))
        return high;
    return !strcmp(method, "min") ? low : left / 2 + right / 2;
}

static double from_sums(const char *method, const double *values, size_t n)
{
    long double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (long double)values[i];
    if (!strcmp(method, "sum"))
        return (double)sum;
    if (!strcmp(method, "mean"))
        return (double)(sum / (long double)n);
    for (size_t i = 0; i < n; i++) {
        const long double apart = (long double)values[i] - sum / (long double)n;
        squares += apart * apart;
    }
    return (double)sqrtl(squares / (long double)n);
}

double ts_reduce_oracle_of(const char *method, const double *values, size_t n)
{
    static const char *const sums[] = {"mean", "sd", "sum"};
    for (size_t i = 0; i < n; i++)
        if (isnan(values[i]))
            return (double)NAN;
    if (n == 0)
        return 0;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (!strcmp(method, sums[i]))
            return from_sums(method, values, n);
    return from_order(method, values, n);
}

void ts_reduce_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t nz = (size_t)context->in.axes[0].n, n = ts_slice_count(&context->in);
    double *along = malloc(nz * sizeof *along);
    for (size_t i = 0; i < n; i++) {
        for (size_t z = 0; z < nz; z++)
            along[z] = in[z * n + i];
        out[i] = ts_reduce_oracle_of(ts_param_choice_name(context->set, "method"), along, nz);
    }
    free(along);
}
