/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/correlation.h"

#include <math.h>

void ts_correlation_add(struct correlation *sums, double a, double b)
{
    sums->n++;
    sums->a += a;
    sums->b += b;
    sums->aa += a * a;
    sums->bb += b * b;
    sums->ab += a * b;
}

double ts_correlation_of(const struct correlation *sums)
{
    const double n = sums->n, within_a = sums->aa - sums->a * sums->a / n,
                 within_b = sums->bb - sums->b * sums->b / n;
    return (sums->ab - sums->a * sums->b / n) / sqrt(within_a * within_b);
}
