/* SPDX-License-Identifier: Apache-2.0
 *
 * A ray at the angle gamma from the central one of a fan's view at beta is seen again from the
 * other side: p(beta, gamma) = p(beta + 180 + 2 gamma, -gamma) (A. C. Kak, M. Slaney, 1988,
 * section 3.4). Views of a whole turn are compared so for fans of both senses. Noise is less where
 * views are interpolated, which is so of both: a fan is told if it fits much better than its mirror
 * image, and better than parallel rays.
 */
#include "stages/geometry/view_fan.h"

#include <math.h>
#include <stdlib.h>

#include "stages/geometry/view_angles.h"

enum { BINS = 128, ROWS = 64, LEAST_VIEWS = 24, GAPS = 4 };
static const double widest = 40, finest = 0.05, better = 1.4, better_than_mirrored = 2;

struct turn {
    const float *rows;     /* of the sorted views, in bins whose middle is the axis */
    const double *degrees; /* of these, and of the same views a turn later */
    int64_t n_views, bins;
    double width; /* of a bin, where half a row is 1 */
};

/* Returns by how much rows differ from those that see the same rays in a fan of so many degrees. */
static double mismatch(const struct turn *turn, double fan)
{
    const int64_t bins = turn->bins, n_views = turn->n_views;
    double past[BINS], sum = 0;
    for (int64_t b = 0; b < bins; b++)
        past[b] = 180 + 360 / M_PI *
                            atan(turn->width * ((double)b - 0.5 * (double)(bins - 1)) *
                                 tan(fan * M_PI / 360));
    for (int64_t row = 0; row < ROWS && row < n_views; row++) {
        const int64_t view = n_views <= ROWS ? row : row * n_views / ROWS;
        int64_t at = view + n_views / 2;
        for (int64_t b = 0; b < bins; b++) {
            const double to = turn->degrees[view] + past[b];
            while (turn->degrees[at] > to)
                at--;
            while (turn->degrees[at + 1] <= to)
                at++;
            const float *before = turn->rows + at % n_views * bins + bins - 1 - b,
                        *after = turn->rows + (at + 1) % n_views * bins + bins - 1 - b;
            const double share =
                (to - turn->degrees[at]) / (turn->degrees[at + 1] - turn->degrees[at]);
            const double apart = (double)turn->rows[view * bins + b] -
                                 (1 - share) * (double)*before - share * (double)*after;
            sum += apart * apart;
        }
    }
    return sum;
}

static double find_fan(const struct turn *turn)
{
    const double parallel = mismatch(turn, 0);
    double fan = 0, least = parallel, step = 1;
    for (double degrees = 1; degrees <= widest; degrees += degrees < 10 ? 1 : 2)
        for (int sense = -1; sense <= 1; sense += 2) {
            const double left = mismatch(turn, sense * degrees);
            if (left < least) {
                least = left;
                fan = sense * degrees;
            }
        }
    for (; fan != 0 && step > finest; step /= 2)
        for (int sense = -1; sense <= 1; sense += 2) {
            const double left = mismatch(turn, fan + sense * step);
            if (left < least) {
                least = left;
                fan += sense * step;
            }
        }
    return fan != 0 && parallel > better * least &&
                   mismatch(turn, -fan) > better_than_mirrored * least
               ? fan
               : 0;
}

/* Writes the means of the bins of a row, of which each is `width` wide. */
static void bin_row(const float *row, int64_t n, double first, double width, int64_t bins,
                    float *out)
{
    for (int64_t b = 0; b < bins; b++) {
        const double low = first + (double)b * width, high = low + width;
        double sum = 0;
        const int64_t begin = (int64_t)fmax(0, floor(low)),
                      end = (int64_t)fmin((double)n, ceil(high));
        for (int64_t d = begin; d < end; d++)
            sum += (double)row[d];
        if (begin < end) /* of the outermost ones a part is outside */
            sum -= (double)row[begin] * fmax(0, low - (double)begin) +
                   (double)row[end - 1] * fmax(0, (double)end - high);
        out[b] = (float)(sum / width);
    }
}

double ts_view_fan(const float *p, const double *degrees, int64_t n_views, int64_t n, double center)
{
    const int64_t bins = n < BINS ? n : BINS;
    const double reach = fmin(center + 0.5, (double)n - 0.5 - center),
                 width = 2 * reach / (double)bins;
    if (n_views < LEAST_VIEWS || !(reach >= 0.25 * (double)n))
        return 0;
    struct view_place *places = malloc((size_t)n_views * sizeof *places);
    double *turned = malloc((size_t)(2 * n_views) * sizeof *turned), fan = 0, gap = 0;
    float *rows = malloc((size_t)(n_views * bins) * sizeof *rows);
    const bool room = places && turned && rows;
    for (int64_t v = 0; room && v < n_views; v++)
        places[v] = (struct view_place){ts_view_circular(degrees[v]), v};
    if (room)
        ts_view_places_sort(places, n_views);
    for (int64_t v = 0; room && v < 2 * n_views; v++) {
        turned[v] = places[v % n_views].degrees + (v < n_views ? 0 : 360);
        gap = v > 0 ? fmax(gap, turned[v] - turned[v - 1]) : 0;
    }
    if (room && gap <= GAPS * 360 / (double)n_views) {
        for (int64_t v = 0; v < n_views; v++)
            bin_row(p + places[v].view * n, n, center + 0.5 - reach, width, bins, rows + v * bins);
        fan = find_fan(&(struct turn){rows, turned, n_views, bins, 2 * width / (double)n});
    }
    free(places);
    free(turned);
    free(rows);
    return room ? fan : NAN;
}
