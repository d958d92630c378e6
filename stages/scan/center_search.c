/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources: N. T. Vo, M. Drakopoulos, R. C. Atwood, C. Reinhard, "Reliable method for calculating the center of rotation
 * in parallel-beam tomography", Optics Express 22 (2014); correlation of opposite views, as in most packages.
 *
 * Vo's measure is the mean magnitude outside of the double wedge of the transform of a full turn whose second half is
 * the first one, mirrored and moved by 2 c - (n - 1). The transform is linear and moving is a phase: with A that of the
 * first half and B that of the mirrored one, the measure is the mean of |A + B exp(-2 pi i k shift / n)|. So both are
 * transformed once, as the real and imaginary part of one image, and any center, between pixels too, costs one sum over
 * the elements outside of the wedge: |m| > pi k for m cycles a turn and k cycles a detector row. The lowest m and k = 0
 * are left out, and weights exp(-2 pi^2 f^2) stand for smoothing by a Gaussian of one pixel.
 *
 * The phase of column k turns once in n / (2 k) trial centers. k = 1 must take part: without it k = 2, which is strong
 * in every small object, draws the minimum to the center's alias a quarter of the detectors away as well.
 */
#include "stages/scan/center_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"

enum { LANES = 8, LOWEST_COLUMN = 1, MOST_DROP = 20, FINE = 10, APART = 3, MOST_DEGREES = 10 };

static const double pi = 3.14159265358979323846;

/* What the best trial center reaches in white noise, in units of one over the root of the number of values that take
 * part; and of one over that number, which matters where they are few. */
static const double noise_share = 1.2, noise_share_of_few = 4, noise_correlation = 4.5;

int64_t ts_center_half_turn(double step_degrees)
{
    return llround(180 / fabs(step_degrees));
}

struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors)
{
    return (struct fft_shape){.rank = 2, .n = {2 * half_turn, n_detectors}, .batch = 1};
}

int64_t ts_center_trials(double search, double step)
{
    return 2 * (int64_t)floor(search / step) + 1;
}

/* The lowest |m| of column k that lies outside of the wedge, and above what is left out. */
static int64_t first_row(int64_t half_turn, int64_t k)
{
    const int64_t quarter = half_turn / 4, drop = quarter < MOST_DROP ? quarter : MOST_DROP;
    const int64_t wedge = (int64_t)floor(pi * (double)k);
    return (wedge > drop ? wedge : drop) + 1;
}

/* Elements of one column: m = first .. half_turn - 1, and -half_turn .. -first. */
static int64_t column_count(int64_t half_turn, int64_t k)
{
    const int64_t first = first_row(half_turn, k);
    return first > half_turn ? 0 : 2 * (half_turn - first) + 1;
}

/* Elements of all columns, each padded to whole LANES. */
static int64_t element_count(int64_t half_turn, int64_t n_detectors)
{
    int64_t count = 0;
    for (int64_t k = LOWEST_COLUMN; k <= n_detectors / 2; k++)
        count += (column_count(half_turn, k) + LANES - 1) / LANES * LANES;
    return count;
}

/* Weighted values of the two halves, column by column. */
struct elements {
    float *a_re, *a_im, *b_re, *b_im;
    double weight, squares; /* sums of the weights and of their squares */
};

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t ts_center_room_bytes(int64_t half_turn, int64_t n_detectors)
{
    const struct fft_shape shape = ts_center_transform(half_turn, n_detectors);
    return lines((size_t)ts_fft_count(&shape) * 2 * sizeof(float)) + lines(ts_fft_work_bytes(&shape)) +
           4 * lines((size_t)element_count(half_turn, n_detectors) * sizeof(float));
}

/* The first half as the real part of its rows, the mirrored one as the imaginary part of the others. */
static void fill(const struct center_search *search, int64_t half_turn, float *z)
{
    const int64_t n = search->n_detectors;
    memset(z, 0, (size_t)(2 * half_turn * n) * 2 * sizeof *z);
    for (int64_t view = 0; view < half_turn; view++)
        for (int64_t d = 0; d < n; d++) {
            z[2 * (view * n + d)] = search->p[view * n + d];
            z[2 * ((half_turn + view) * n + d) + 1] = search->p[view * n + n - 1 - d];
        }
}

static void take_elements(const struct center_search *search, int64_t half_turn, const float *z,
                          struct elements *elements)
{
    const int64_t n = search->n_detectors, rows = 2 * half_turn;
    int64_t at = 0;
    elements->weight = elements->squares = 0;
    for (int64_t k = LOWEST_COLUMN; k <= n / 2; k++) {
        const int64_t first = first_row(half_turn, k), count = column_count(half_turn, k);
        for (int64_t i = 0; i < count; i++, at++) {
            const int64_t m = first + i; /* rows above half_turn are the negative ones */
            const double f = (double)(m < half_turn ? m : m - rows) / (double)rows, g = (double)k / (double)n;
            const double weight = exp(-2 * pi * pi * (f * f + g * g));
            const float *here = &z[2 * (m * n + k)], *there = &z[2 * ((rows - m) % rows * n + (n - k) % n)];
            elements->a_re[at] = (float)(0.5 * weight * ((double)here[0] + (double)there[0]));
            elements->a_im[at] = (float)(0.5 * weight * ((double)here[1] - (double)there[1]));
            elements->b_re[at] = (float)(0.5 * weight * ((double)here[1] + (double)there[1]));
            elements->b_im[at] = (float)(0.5 * weight * ((double)there[0] - (double)here[0]));
            elements->weight += weight;
            elements->squares += weight * weight;
        }
        for (; at % LANES; at++)
            elements->a_re[at] = elements->a_im[at] = elements->b_re[at] = elements->b_im[at] = 0;
    }
}

TS_VECTORIZED static void add_magnitudes(const float *a_re, const float *a_im, const float *b_re, const float *b_im,
                                         int64_t n, float c, float s, double *sums)
{
    for (int64_t i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            const float re = a_re[i + lane] + (b_re[i + lane] * c - b_im[i + lane] * s);
            const float im = a_im[i + lane] + (b_re[i + lane] * s + b_im[i + lane] * c);
            sums[lane] += (double)sqrtf(re * re + im * im);
        }
}

static double measure_of(const struct center_search *search, int64_t half_turn, const struct elements *elements,
                         double center)
{
    const double n = (double)search->n_detectors, shift = 2 * center - (n - 1);
    double sums[LANES] = {0}, sum = 0;
    int64_t at = 0;
    for (int64_t k = LOWEST_COLUMN; k <= search->n_detectors / 2; k++) {
        const int64_t count = (column_count(half_turn, k) + LANES - 1) / LANES * LANES;
        const double phase = -2 * pi * fmod((double)k * shift / n, 1);
        add_magnitudes(elements->a_re + at, elements->a_im + at, elements->b_re + at, elements->b_im + at, count,
                       (float)cos(phase), (float)sin(phase), sums);
        at += count;
    }
    for (int lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum / elements->weight;
}

/* Where a parabola through three neighbors has its turning point, in steps from the middle one. */
static double turning_point(double before, double at, double after)
{
    const double curvature = before - 2 * at + after;
    return curvature == 0 ? 0 : 0.5 * (before - after) / curvature;
}

struct center_found ts_center_by_sinogram(const struct center_search *search, int64_t half_turn, const struct fft *fft,
                                          void *room, double *measure)
{
    const struct fft_shape shape = ts_center_transform(half_turn, search->n_detectors);
    const size_t column = lines((size_t)element_count(half_turn, search->n_detectors) * sizeof(float));
    const int64_t n_trials = ts_center_trials(search->search, 1), half = n_trials / 2;
    const double middle = 0.5 * (double)(search->n_detectors - 1);
    double fine[2 * FINE + 1];
    float *z = room;
    char *work = (char *)room + lines((size_t)ts_fft_count(&shape) * 2 * sizeof *z),
         *rest = work + lines(ts_fft_work_bytes(&shape));
    struct elements elements = {
        (float *)rest, (float *)(rest + column), (float *)(rest + 2 * column), (float *)(rest + 3 * column), 0, 0};
    int64_t best = 0, closest = 0;
    fill(search, half_turn, z);
    ts_fft_forward(fft, z, z, work);
    take_elements(search, half_turn, z, &elements);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++)
        measure[i] = measure_of(search, half_turn, &elements, middle + (double)(i - half));
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] < measure[best] ? i : best;
    const double near = middle + (double)(best - half);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i <= 2 * FINE; i++)
        fine[i] = measure_of(search, half_turn, &elements, near + (double)(i - FINE) / FINE);
    for (int64_t i = 1; i <= 2 * FINE; i++)
        closest = fine[i] < fine[closest] ? i : closest;
    const bool inside = closest > 0 && closest < 2 * FINE;
    const double more = inside ? turning_point(fine[closest - 1], fine[closest], fine[closest + 1]) : 0;
    const double of_few = elements.squares / (elements.weight * elements.weight); /* one over their number, weighted */
    return (struct center_found){.center = near + ((double)(closest - FINE) + more) / FINE,
                                 .noise = noise_share * sqrt(of_few) + noise_share_of_few * of_few,
                                 .best = best};
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ts_center_median(const double *measure, int64_t n, double *sorted)
{
    memcpy(sorted, measure, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

int64_t ts_center_rival(const double *measure, int64_t n_trials, int64_t best, double highest)
{
    int64_t rival = -1;
    for (int64_t i = 0; i < n_trials; i++) {
        const bool lowest =
            (i == 0 || measure[i] <= measure[i - 1]) && (i == n_trials - 1 || measure[i] <= measure[i + 1]);
        if (lowest && llabs(i - best) >= APART && measure[i] <= highest && (rival < 0 || measure[i] < measure[rival]))
            rival = i;
    }
    return rival;
}

/* ---- opposite views ---------------------------------------------------------------------------- */

int ts_center_pairs(const double *angles, int64_t n_views, double tolerance, int64_t pairs[CENTER_PAIRS][2])
{
    double best = INFINITY;
    int64_t n = 0, taken = 0;
    for (int64_t i = 0; i < n_views; i++)
        for (int64_t j = i + 1; j < n_views; j++)
            best = fmin(best, fabs(fabs(angles[j] - angles[i]) - 180));
    if (!(best <= tolerance))
        return 0;
    for (int pass = 0; pass < 2; pass++) { /* counts them, then takes every so many */
        const int64_t all = n;
        n = 0;
        for (int64_t i = 0; i < n_views; i++)
            for (int64_t j = i + 1; j < n_views; j++) {
                if (fabs(fabs(angles[j] - angles[i]) - 180) > best + 0.1 * tolerance)
                    continue;
                const int64_t wanted = all < CENTER_PAIRS ? all : CENTER_PAIRS;
                if (pass == 1 && taken < wanted && n == taken * all / wanted) {
                    pairs[taken][0] = i;
                    pairs[taken++][1] = j;
                }
                n++;
            }
    }
    return (int)taken;
}

/* Of p[first .. end) and q[at], q[at + step] ... beside it. */
static double correlation(const float *p, const float *q, int64_t first, int64_t end, int64_t at, int step)
{
    double sum_p = 0, sum_q = 0, pp = 0, qq = 0, pq = 0;
    for (int64_t d = first; d < end; d++) {
        sum_p += (double)p[d];
        sum_q += (double)q[at + step * (d - first)];
    }
    const double mean_p = sum_p / (double)(end - first), mean_q = sum_q / (double)(end - first);
    for (int64_t d = first; d < end; d++) {
        const double x = (double)p[d] - mean_p, y = (double)q[at + step * (d - first)] - mean_q;
        pp += x * x;
        qq += y * y;
        pq += x * y;
    }
    return pp > 0 && qq > 0 ? pq / sqrt(pp * qq) : 0;
}

/* Of p[d] and q[s - d], where both are. */
static double mirrored_correlation(const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s - n + 1 > 0 ? s - n + 1 : 0, end = (s < n - 1 ? s : n - 1) + 1;
    return correlation(p, q, first, end, s - first, -1);
}

/* Of p[d] and q[d + s], where both are. */
static double shifted_correlation(const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s < 0 ? -s : 0, end = s < 0 ? n : n - s;
    return correlation(p, q, first, end, first + s, 1);
}

/* How far what view a shows has moved in view b, in detectors: the peak of their correlation that is next to 0. */
static double movement(const struct center_search *search, int64_t a, int64_t b)
{
    const int64_t n = search->n_detectors;
    const float *p = search->p + a * n, *q = search->p + b * n;
    int64_t s = 0;
    double before = shifted_correlation(p, q, n, -1), at = shifted_correlation(p, q, n, 0),
           after = shifted_correlation(p, q, n, 1);
    const int64_t way = after > before ? 1 : -1;
    while ((way > 0 ? after : before) > at && llabs(s) < n / 4) {
        s += way;
        before = way > 0 ? at : shifted_correlation(p, q, n, s - 1);
        after = way > 0 ? shifted_correlation(p, q, n, s + 1) : at;
        at = shifted_correlation(p, q, n, s);
    }
    return (double)s + turning_point(before, at, after);
}

/* Detectors per degree, between views a and b; false where one is not there, or they have too little in common. */
static bool movement_rate(const struct center_search *search, const double *angles, int64_t a, int64_t b, double *rate)
{
    if (a < 0 || b < 0 || a >= search->n_views || b >= search->n_views || angles[a] == angles[b] ||
        fabs(angles[a] - angles[b]) > MOST_DEGREES)
        return false;
    *rate = movement(search, a, b) / (angles[b] - angles[a]);
    return true;
}

/* How far the rays move from view `pair[1]` to the one that is exactly half a turn from view `pair[0]`. It is taken
 * from the neighbors of the two on the side of the angle between them; where both are the outermost views, as in half a
 * turn without its end point, from those on the other sides, whose mean is as good as one in the middle. What view
 * pair[0] shows is mirrored: it moves the other way. */
static double missing_movement(const struct center_search *search, const double *angles, const int64_t pair[2])
{
    const int64_t i = pair[0], j = pair[1];
    const double turn = angles[j] > angles[i] ? 180 : -180, missing = angles[i] + turn - angles[j];
    if (fabs(missing) < 1e-6)
        return 0;
    /* The neighbor of j towards the missing angle, and that of i on the same side of its mirror image. */
    const int way = (missing > 0) == (turn > 0) ? 1 : -1;
    double rates[2], sum = 0;
    int n = 0;
    for (int side = 0; side < 2 && n == 0; side++) {
        const int step = side == 0 ? way : -way;
        if (movement_rate(search, angles, j, j + step, &rates[0]))
            sum += rates[0], n++;
        if (movement_rate(search, angles, i, i - step, &rates[1]))
            sum -= rates[1], n++;
    }
    return n > 0 ? missing * sum / n : 0;
}

struct center_found ts_center_by_opposite(const struct center_search *search, const double *angles,
                                          int64_t pairs[CENTER_PAIRS][2], int n_pairs, double *measure)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5), half = n_trials / 2;
    int64_t best = 0;
    double moved = 0;
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++) {
        double sum = 0;
        for (int pair = 0; pair < n_pairs; pair++)
            sum += mirrored_correlation(search->p + pairs[pair][0] * n, search->p + pairs[pair][1] * n, n,
                                        n - 1 + i - half);
        measure[i] = sum / n_pairs;
    }
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] > measure[best] ? i : best;
    for (int pair = 0; pair < n_pairs; pair++)
        moved += missing_movement(search, angles, pairs[pair]) / n_pairs;
    const bool inside = best > 0 && best < n_trials - 1;
    const double more = inside ? turning_point(measure[best - 1], measure[best], measure[best + 1]) : 0;
    const double overlap = (double)(n - llabs(best - half));
    return (struct center_found){.center = 0.5 * ((double)(n - 1 + best - half) + more + moved),
                                 .noise = noise_correlation / sqrt((double)n_pairs * overlap),
                                 .best = best};
}
