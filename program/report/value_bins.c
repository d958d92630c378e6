/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining bins 2i and 2i + 1 gives bin i of twice the width, because floor(floor(v / w) / 2) =
 * floor(v / 2w). For floats the first bins are 2^-40 of the first value wide, finer than any that
 * are left in the end.
 */
#include "program/report/value_bins.h"

#include <math.h>
#include <string.h>

enum { FINEST = 40 };
static const double most_number = 1LL << 52; /* numbers of bins up to this are exact in double */

void ts_value_bins_init(struct value_bins *bins, bool integers)
{
    *bins = (struct value_bins){.width = integers ? 1 : 0, .low = INFINITY, .high = -INFINITY};
}

static int64_t half(int64_t number)
{
    return number >= 0 ? number / 2 : -((1 - number) / 2);
}

/* Makes the bins twice as wide. */
static void value_bins_join(struct value_bins *bins)
{
    const int64_t first = half(bins->first), last = half(bins->last);
    int64_t joined[VALUE_BINS] = {0};
    for (int64_t i = bins->first; bins->n > 0 && i <= bins->last; i++)
        joined[half(i) - first] += bins->counts[i - bins->first];
    memcpy(bins->counts, joined, sizeof joined);
    bins->first = first;
    bins->last = last;
    bins->width *= 2;
}

/* Makes the bins so wide that this value is in one of VALUE_BINS, and returns its number. */
static int64_t make_place(struct value_bins *bins, double value)
{
    if (bins->width == 0)
        bins->width = value != 0 ? ldexp(1, ilogb(value) - FINEST) : ldexp(1, -FINEST);
    while (fabs(value) / bins->width >= most_number)
        value_bins_join(bins);
    int64_t number = (int64_t)floor(value / bins->width);
    if (bins->n == 0)
        bins->first = bins->last = number;
    while ((number > bins->last ? number : bins->last) -
               (number < bins->first ? number : bins->first) >=
           VALUE_BINS) {
        value_bins_join(bins);
        number = half(number);
    }
    if (number < bins->first) {
        const int64_t by = bins->first - number;
        memmove(bins->counts + by, bins->counts, (size_t)(VALUE_BINS - by) * sizeof *bins->counts);
        memset(bins->counts, 0, (size_t)by * sizeof *bins->counts);
        bins->first = number;
    }
    bins->last = number > bins->last ? number : bins->last;
    return number;
}

void ts_value_bins_add(struct value_bins *bins, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double value = (double)values[i];
        if (!isfinite(value)) {
            bins->invalid++;
            continue;
        }
        const double place = bins->width > 0 ? floor(value / bins->width) : INFINITY;
        const bool fits =
            bins->n > 0 && place >= (double)bins->first && place <= (double)bins->last;
        const int64_t number = fits ? (int64_t)place : make_place(bins, value);
        bins->counts[number - bins->first]++;
        bins->n++;
        bins->low = value < bins->low ? value : bins->low;
        bins->high = value > bins->high ? value : bins->high;
        bins->sum += value;
    }
}
