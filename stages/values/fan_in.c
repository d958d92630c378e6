/* SPDX-License-Identifier: Apache-2.0
 *
 * Each step joins the upper half of the remaining values into the lower half, element by element,
 * so that a step is one vectorized loop.
 */
#include "stages/values/fan_in.h"

#include <math.h>

#include "core/image.h"

const struct choice ts_reduction_choices[] = {
    {"auto", REDUCTION_AUTO, "the faster one, two-level", 0},
    {"fan-in", REDUCTION_FAN_IN,
     "halving with stride, value by value: 0 with 128, 1 with 129, ...; depth log2(n)", 0},
    {"two-level", REDUCTION_TWO_LEVEL,
     "runs of about sqrt(n) values one after the other, then their results fan in", 0},
    {NULL, 0, NULL, 0},
};

size_t ts_fan_in_stride(size_t n)
{
    size_t stride = 0;
    for (size_t next = 1; next < n; next *= 2)
        stride = next;
    return stride;
}

size_t ts_run_length(size_t n, size_t multiple, size_t least, size_t most)
{
    size_t length = (size_t)sqrt((double)n);
    length = (length + multiple - 1) / multiple * multiple;
    length = length < least ? least : length;
    return length > most ? most : length;
}

#define FAN_IN(name, nothing, join)                                                                \
    TS_VECTORIZED static void name##_step(double *values, const double *upper, size_t n)           \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double a = values[i], b = upper[i];                                              \
            values[i] = join;                                                                      \
        }                                                                                          \
    }                                                                                              \
    double ts_fan_in_##name(double *values, size_t n)                                              \
    {                                                                                              \
        if (n == 0)                                                                                \
            return nothing;                                                                        \
        for (size_t stride = ts_fan_in_stride(n); stride > 0; n = stride, stride /= 2)             \
            name##_step(values, values + stride, n - stride);                                      \
        return values[0];                                                                          \
    }
FAN_IN(sum, 0, a + b)
FAN_IN(product, 1, a *b)
FAN_IN(min, (double)INFINITY, b < a ? b : a)
FAN_IN(max, -(double)INFINITY, b > a ? b : a)

TS_VECTORIZED static void add_table(uint64_t *into, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] += from[i];
}

void ts_tables_join(uint64_t *tables, size_t n_tables, size_t n_bins, enum reduction_method method)
{
    size_t run = 1;
    if (method != REDUCTION_FAN_IN)
        run = ts_run_length(n_tables, 1, 1, n_tables);
    for (size_t first = 0; run > 1 && first < n_tables; first += run)
        for (size_t i = first + 1; i < first + run && i < n_tables; i++)
            add_table(tables + first * n_bins, tables + i * n_bins, n_bins);
    size_t n = n_tables ? (n_tables + run - 1) / run : 0;
    for (size_t stride = ts_fan_in_stride(n); stride > 0; n = stride, stride /= 2)
        for (size_t i = 0; i + stride < n; i++)
            add_table(tables + i * run * n_bins, tables + (i + stride) * run * n_bins, n_bins);
}

void ts_fan_in_sum_begin(struct fan_in_sum *sum)
{
    for (int level = 0; level < FAN_IN_LEVELS; level++)
        sum->n[level] = 0;
}

void ts_fan_in_sum_add(struct fan_in_sum *sum, double value)
{
    for (int level = 0; level < FAN_IN_LEVELS; level++) {
        sum->values[level][sum->n[level]++] = value;
        if (sum->n[level] < FAN_IN_GROUP)
            return;
        value = ts_fan_in_sum(sum->values[level], FAN_IN_GROUP);
        sum->n[level] = 0;
    }
}

double ts_fan_in_sum_end(struct fan_in_sum *sum)
{
    double total = 0;
    for (int level = 0; level < FAN_IN_LEVELS; level++)
        total += ts_fan_in_sum(sum->values[level], sum->n[level]);
    return total;
}
