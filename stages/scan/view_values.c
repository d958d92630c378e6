/* SPDX-License-Identifier: Apache-2.0
 *
 * Of two second differences in turn, those of noise have different signs in 73 % (their correlation
 * is -2/3), and those of objects, which are smooth, in fewer. Noise of light is the median
 * difference to the neighbors; a zinger exceeds it many times.
 */
#include "stages/scan/view_values.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/search.h"
#include "stages/scan/flat_checks.h"

/* Fewer values at the level are chance; so are fewer than a share of all values. A distribution has
   about as many at the level as just below it. */
enum { LEAST_CLIPPED = 16, ALL_OF_CLIPPED = 200, STEEPER = 4 };
/* Second differences of smooth integers change their sign by rounding, up to this. */
enum { LEAST_PAIRS = 256, ROUNDED = 4 };
static const double alternating = 0.55;

/* A zinger exceeds the noise so many times, and the neighbors by this share of the 99th percentile,
   which the brightest one exceeds as well. */
enum { DEVIATIONS = 12, MOST_SAMPLES = 8192, PERCENT = 99 };
static const float excess_share = 0.2F, beyond = 1.1F;
static const double median_of_normal = 0.6745;

/* The least number of leaps over nearly the whole range, and how many of them are for one of a part
 * of it: edges of objects that are as high at all are not as sharp from view to view, or along the
 * detector. */
enum { LEAST_WRAPPED = 16, FEW_PARTS = 4 };
static const float wrapped_part = 0.25F, wrapped_whole = 0.9F;

/* Counts the leaps between values that are `apart` in memory, the second of which is one of
 * [first, end). Returns 0 if they are no sign of an overflow. */
static int64_t count_leaps(const float *p, int64_t first, int64_t end, int64_t apart, int64_t n,
                           float lowest, float highest)
{
    const float range = highest - lowest;
    int64_t leaps = 0, parts = 0;
    for (int64_t i = first; i < end; i++) {
        const float a = p[i - apart], b = p[i], step = fabsf(a - b);
        if (!(fminf(a, b) > lowest) || !(fmaxf(a, b) < highest) || (apart == 1 && i % n == 0))
            continue;
        leaps += step > wrapped_whole * range;
        parts += step > wrapped_part * range && step <= wrapped_whole * range;
    }
    return leaps >= LEAST_WRAPPED && leaps > FEW_PARTS * parts ? leaps : 0;
}

int64_t ts_view_values_wrapped(const float *p, int64_t n_views, int64_t n, float lowest,
                               float highest)
{
    const int64_t along = count_leaps(p, 1, n_views * n, 1, n, lowest, highest),
                  over = count_leaps(p, n, n_views * n, n, n, lowest, highest);
    return along > over ? along : over;
}

/* Returns true if values below the level alternate from view to view as noise does. */
static bool alternates(const float *p, int64_t n_views, int64_t n, float level)
{
    int64_t pairs = 0, opposite = 0;
    for (int64_t i = 0; i < (n_views - 3) * n; i++) {
        const float a = p[i], b = p[i + n], c = p[i + 2 * n], d = p[i + 3 * n],
                    first = a - 2 * b + c, second = b - 2 * c + d;
        if (!(fmaxf(fmaxf(a, b), fmaxf(c, d)) < level) ||
            !(fminf(fabsf(first), fabsf(second)) > ROUNDED))
            continue;
        pairs++;
        opposite += (first > 0) != (second > 0);
    }
    return pairs >= LEAST_PAIRS && (double)opposite > alternating * (double)pairs;
}

int64_t ts_view_values_clipped(const float *p, int64_t n_views, int64_t n, float *level)
{
    int64_t at = 0, below = 0;
    *level = -INFINITY;
    for (int64_t i = 0; i < n_views * n; i++)
        *level = p[i] > *level ? p[i] : *level;
    for (int64_t i = 0; i < n_views * n; i++) {
        at += p[i] == *level;
        below += p[i] < *level && p[i] >= *level - 1;
    }
    if (at < LEAST_CLIPPED || at * ALL_OF_CLIPPED < n_views * n || at <= STEEPER * below ||
        ts_flat_full_scale_step(*level) > 0)
        return 0;
    return alternates(p, n_views, n, *level) ? at : 0;
}

/* Finds the median of the four values beside one, and the largest. */
static float middle_of_beside(const float *at, int64_t n, float *largest)
{
    const float low = fminf(at[-n], at[n]), high = fmaxf(at[-n], at[n]),
                left = fminf(at[-1], at[1]), right = fmaxf(at[-1], at[1]);
    *largest = fmaxf(high, right);
    return 0.5F * (fmaxf(low, left) + fminf(high, right));
}

/* Finds the noise and the 99th percentile of some of the values. False if there is no memory. */
static bool find_usual(const float *p, int64_t n_views, int64_t n, float *noise, float *bright)
{
    const int64_t rows = n_views - 2, columns = n - 2, every = rows * columns / MOST_SAMPLES + 1,
                  most = rows * columns / every + 1;
    float *differences = malloc(2 * (size_t)most * sizeof *differences), largest;
    if (!differences)
        return false;
    float *values = differences + most;
    size_t used = 0;
    for (int64_t i = 0; i < rows * columns; i += every) {
        const float *at = p + (i / columns + 1) * n + i % columns + 1;
        const float difference = fabsf(*at - middle_of_beside(at, n, &largest));
        if (!isfinite(difference))
            continue;
        differences[used] = difference;
        values[used++] = *at;
    }
    qsort(differences, used, sizeof *differences, ts_compare_floats);
    qsort(values, used, sizeof *values, ts_compare_floats);
    *noise = used > 0 ? differences[used / 2] / (float)median_of_normal : INFINITY;
    *bright = used > 0 ? values[(used - 1) * PERCENT / 100] : INFINITY;
    free(differences);
    return true;
}

int64_t ts_view_values_zingers(const float *p, int64_t n_views, int64_t n, float *excess)
{
    float noise, bright, largest, most = 0;
    int64_t count = 0;
    *excess = INFINITY;
    if (n_views < 3 || n < 3)
        return 0;
    if (!find_usual(p, n_views, n, &noise, &bright))
        return -1;
    const float least = fmaxf(DEVIATIONS * noise, excess_share * bright);
    for (int64_t v = 1; v + 1 < n_views; v++)
        for (int64_t d = 1; d + 1 < n; d++) {
            const float *at = p + v * n + d, middle = middle_of_beside(at, n, &largest);
            if (!(*at - largest > least))
                continue;
            count++;
            most = fmaxf(most, *at);
            *excess = fminf(*excess, *at - middle);
        }
    return most > beyond * bright ? count : 0;
}
