/* SPDX-License-Identifier: Apache-2.0
 *
 * This is scan conversion by crossings: each edge that a row's line through the pixel centers meets marks the first
 * center behind it, and the parity of the marks up to a pixel says whether it is inside. Marks of several contours add
 * up modulo 2, which is the even-odd rule. Nothing is sorted, and nothing is allocated. Source: J. D. Foley et al.,
 * Computer Graphics: Principles and Practice, 2nd ed. (1990), 3.6.
 */
#include "io/mask/contour_fill.h"

#include <math.h>

static double clamped(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* The corners are ordered by y, so that an edge which two contours share crosses each row at the same x in both. */
static void cross_edge(const double *a, const double *b, unsigned char *crossings, int64_t nx, int64_t ny)
{
    const double *low = a[1] < b[1] ? a : b, *high = a[1] < b[1] ? b : a;
    const int64_t first = (int64_t)clamped(ceil(low[1]), 0, (double)ny);
    const int64_t end = (int64_t)clamped(ceil(high[1]), 0, (double)ny);
    const double slope = (high[0] - low[0]) / (high[1] - low[1]);
    for (int64_t y = first; y < end; y++) {
        const double x = low[0] + ((double)y - low[1]) * slope;
        crossings[y * (nx + 1) + (int64_t)clamped(ceil(x), 0, (double)nx)] ^= 1;
    }
}

void ts_contour_cross(const double *corners, size_t n, unsigned char *crossings, int64_t nx, int64_t ny)
{
    for (size_t i = 0; i < n; i++) {
        const double *a = corners + 2 * i, *b = corners + 2 * (i + 1 < n ? i + 1 : 0);
        if (a[1] != b[1])
            cross_edge(a, b, crossings, nx, ny);
    }
}
