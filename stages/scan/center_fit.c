/* SPDX-License-Identifier: Apache-2.0
 *
 * A center to a fraction of a pixel, and how far it may be off.
 *
 * At the right center what is outside of the double wedge is noise, and what does not fit the model: drifts, angles
 * between the views, an object that the detector cuts off. Both differ over the frequencies. So the plane is divided
 * into cells, each of a ratio of 1.3 in k and 2 in |m|, whose variances are unknown, and the center is the most likely
 * one: the lowest sum over the cells of N log(mean of |A + B exp(-2 pi i k shift / n)|^2). Trials a quarter of a pixel
 * apart, then Newton's steps with the variances held. A cell that fits badly counts for little.
 *
 * The deviation is the larger one of two: that of a fit to values with those variances, and the one that the slopes of
 * the columns, and of the cells, have together (White, 1980), which knows of errors that values have in common.
 *
 * Of an object that is cut off the rows are multiplied by a window about the center, so that both halves see the same
 * of it. What is beyond the window widens the wedge, and what stays on the detector, in stripes of any width, is
 * projected out: a column of the transform that is the same in all views is proportional to that of 1 in the first half
 * turn and 0 in the second, for odd m, and 0 for even m. The window draws the fit to its own middle: the fit about x is
 * at x + g(x), and the center is where g is 0, which secants find.
 */
#include <math.h>
#include <stdlib.h>

#include "stages/scan/center_search.h"

enum { MOST_CELLS = 512, LEAST_VALUES = 24, MOST_STEPS = 20, MOST_WINDOWS = 8 };

static const double cell_ratio = 1.3, cell_row_ratio = 2;
static const double span = 4, step = 0.25; /* of the trials on both sides of where the fit begins */
static const double taper = 0.8;           /* the share of the window's half width that is not 1 */
static const double wider = 1.5;           /* the wedge of what is seen in a window */

struct cells {
    int n;
    double weight[MOST_CELLS], power[MOST_CELLS], slope[MOST_CELLS];
};

/* ---- cells ------------------------------------------------------------------------------------- */

static int band_of(double value, double ratio)
{
    return (int)floor(log(value) / log(ratio) + 1e-9);
}

/* Returns |m| of element i of column k. */
static int64_t row_of(int64_t half_turn, int64_t k, int64_t i)
{
    const int64_t row = ts_center_first_row(half_turn, k) + i;
    return row < half_turn ? row : 2 * half_turn - row;
}

/* Returns the raw cell of element i of column k: bands of rows follow each other within a band of columns. */
static int raw_cell(int64_t half_turn, int64_t k, int64_t i)
{
    return band_of((double)k, cell_ratio) * 64 + band_of((double)row_of(half_turn, k, i), cell_row_ratio);
}

/* Returns whether element i of column k is outside of a wedge that is `wedge` times as wide. */
static bool is_outside(int64_t half_turn, int64_t k, int64_t i, double wedge)
{
    return (double)row_of(half_turn, k, i) > wedge * M_PI * (double)k;
}

/* Numbers the cells in the order of their columns. Cells of few values join the next ones. */
static void find_cells(const struct center_buffers *buffers, double wedge, struct cells *cells)
{
    enum { RAW = 64 * 64 };
    const int64_t half_turn = buffers->half.n_views, n = buffers->half.n_detectors;
    uint16_t *cell = buffers->elements.cell, label[RAW];
    int64_t count[RAW] = {0}, at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n / 2; k++) {
        for (int64_t i = 0; i < ts_center_column_count(half_turn, k); i++)
            count[cell[at + i] = (uint16_t)raw_cell(half_turn, k, i)] += is_outside(half_turn, k, i, wedge);
        at += ts_center_padded(ts_center_column_count(half_turn, k));
    }
    *cells = (struct cells){0};
    int64_t values = 0;
    for (int raw = 0; raw < RAW; raw++) {
        label[raw] = (uint16_t)cells->n;
        values += count[raw];
        if (values >= LEAST_VALUES && cells->n < MOST_CELLS - 1) {
            cells->n++;
            values = 0;
        }
    }
    cells->n = cells->n > 0 ? cells->n : 1; /* the rest joins the last one */
    at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n / 2; k++) {
        const int64_t values_of_column = ts_center_column_count(half_turn, k);
        for (int64_t i = 0; i < ts_center_padded(values_of_column); i++, at++) {
            const int own = i < values_of_column ? label[cell[at]] : 0;
            cell[at] = (uint16_t)(own < cells->n ? own : cells->n - 1);
            const double f = (double)row_of(half_turn, k, i) / (double)(2 * half_turn), g = (double)k / (double)n;
            if (i < values_of_column && is_outside(half_turn, k, i, wedge))
                cells->weight[cell[at]] += exp(-4 * M_PI * M_PI * (f * f + g * g));
        }
    }
}

/* ---- the fit ----------------------------------------------------------------------------------- */

struct column {
    double cosine, sine, rate; /* of its phase, which turns by `rate` a pixel */
    int64_t count;             /* of its values */
};

static struct column column_of(const struct center_half *half, int64_t k, double center)
{
    const double n = (double)half->n_detectors;
    const double phase = -2 * M_PI * fmod((double)k * (2 * center - (n - 1)) / n, 1);
    return (struct column){cos(phase), sin(phase), 4 * M_PI * (double)k / n,
                           ts_center_padded(ts_center_column_count(half->n_views, k))};
}

/* Finds the mean power of each cell about a center. No cell is empty, so that its logarithm exists. */
static void find_powers(const struct center_buffers *buffers, double center, struct cells *cells)
{
    const struct center_elements *e = &buffers->elements;
    int64_t at = 0;
    double all = 0, weights = 0;
    for (int c = 0; c < cells->n; c++)
        cells->power[c] = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++) {
        const struct column column = column_of(&buffers->half, k, center);
        for (int64_t end = at + column.count; at < end; at++) {
            const double b_re = (double)e->b_re[at], b_im = (double)e->b_im[at];
            const double re = (double)e->a_re[at] + b_re * column.cosine - b_im * column.sine;
            const double im = (double)e->a_im[at] + b_re * column.sine + b_im * column.cosine;
            cells->power[e->cell[at]] += re * re + im * im;
            all += b_re * b_re + b_im * b_im;
        }
    }
    for (int c = 0; c < cells->n; c++)
        weights += cells->weight[c];
    for (int c = 0; c < cells->n; c++)
        cells->power[c] =
            fmax(cells->weight[c] > 0 ? cells->power[c] / cells->weight[c] : 0, 1e-12 * all / weights + 1e-290);
}

static double unlikeliness(const struct center_buffers *buffers, double center, struct cells *cells)
{
    double sum = 0;
    find_powers(buffers, center, cells);
    for (int c = 0; c < cells->n; c++)
        sum += cells->weight[c] * log(cells->power[c]);
    return sum;
}

/* The derivatives of half the sum of |A + B exp|^2 / power. */
struct slopes {
    double first, second;
    double variance; /* of `first`: of values that differ by chance; and of the columns, and cells, as they are */
    double columns, cells;
};

static struct slopes find_slopes(const struct center_buffers *buffers, double center, struct cells *cells)
{
    const struct center_elements *e = &buffers->elements;
    struct slopes slopes = {0};
    int64_t at = 0;
    find_powers(buffers, center, cells);
    for (int c = 0; c < cells->n; c++)
        cells->slope[c] = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++) {
        const struct column column = column_of(&buffers->half, k, center);
        double first = 0;
        for (int64_t end = at + column.count; at < end; at++) {
            const double re = (double)e->b_re[at] * column.cosine - (double)e->b_im[at] * column.sine;
            const double im = (double)e->b_re[at] * column.sine + (double)e->b_im[at] * column.cosine;
            const double q_re = (double)e->a_re[at] + re, q_im = (double)e->a_im[at] + im;
            const double weight = 1 / cells->power[e->cell[at]], square = weight * column.rate * column.rate;
            const double slope = weight * column.rate * (q_re * im - q_im * re);
            first += slope;
            cells->slope[e->cell[at]] += slope;
            slopes.second += square * (re * re + im * im - (q_re * re + q_im * im));
            slopes.variance += square * (re * re + im * im);
        }
        slopes.first += first;
        slopes.columns += first * first;
    }
    for (int c = 0; c < cells->n; c++)
        slopes.cells += cells->slope[c] * cells->slope[c];
    return slopes;
}

static struct center_fit newton(const struct center_buffers *buffers, double center, struct cells *cells)
{
    struct slopes slopes = {0};
    for (int i = 0; i < MOST_STEPS; i++) {
        slopes = find_slopes(buffers, center, cells);
        if (!(slopes.second > 0))
            return (struct center_fit){.center = center, .deviation = NAN};
        const double move = fmin(0.5, fmax(-0.5, -slopes.first / slopes.second));
        center += move;
        if (fabs(move) < 1e-4)
            break;
    }
    const double variance = fmax(slopes.variance, fmax(slopes.columns, slopes.cells));
    return (struct center_fit){center, sqrt(variance) / slopes.second};
}

static double best_trial(const struct center_buffers *buffers, double center, struct cells *cells)
{
    double best = center, least = INFINITY;
    for (int i = -(int)(span / step); i <= (int)(span / step); i++) {
        const double trial = center + (double)i * step, is = unlikeliness(buffers, trial, cells);
        if (is < least) {
            least = is;
            best = trial;
        }
    }
    return best;
}

/* ---- a window ---------------------------------------------------------------------------------- */

static void find_window(int64_t n, double center, double *window)
{
    const double half = fmin(center, (double)(n - 1) - center) + 0.5;
    for (int64_t d = 0; d < n; d++) {
        const double share = (half - fabs((double)d - center)) / (taper * half);
        window[d] = 0.5 - 0.5 * cos(M_PI * fmin(1, fmax(0, share)));
    }
}

/* Projects what is the same in all views out of one of the two halves of a column. Row i of it is
 * 2 / (1 - exp(-pi i m / half_turn)) = 1 - i / tan(pi m / (2 half_turn)) for odd m. */
static void project(const struct center_buffers *buffers, int64_t k, float *re, float *im)
{
    const int64_t half_turn = buffers->half.n_views;
    const int64_t first = ts_center_first_row(half_turn, k), count = ts_center_column_count(half_turn, k);
    double sum_re = 0, sum_im = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < count; i++) {
            if (!is_outside(half_turn, k, i, wider)) {
                re[i] = im[i] = 0;
                continue;
            }
            if ((first + i) % 2 == 0)
                continue;
            const double u_re = buffers->weight[first + i], u_im = -u_re * buffers->slope[first + i];
            if (pass == 0) {
                sum_re += u_re * (double)re[i] + u_im * (double)im[i];
                sum_im += u_re * (double)im[i] - u_im * (double)re[i];
                squares += u_re * u_re + u_im * u_im;
            } else {
                re[i] = (float)((double)re[i] - (u_re * sum_re - u_im * sum_im) / squares);
                im[i] = (float)((double)im[i] - (u_re * sum_im + u_im * sum_re) / squares);
            }
        }
}

/* Transforms what is seen in a window about `center`. */
static void look_within(struct center_buffers *buffers, double center)
{
    const struct center_elements *e = &buffers->elements;
    const int64_t half_turn = buffers->half.n_views;
    int64_t at = 0;
    find_window(buffers->half.n_detectors, center, buffers->window);
    ts_center_find_elements(buffers, buffers->window, &buffers->elements);
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++) {
        project(buffers, k, e->a_re + at, e->a_im + at);
        project(buffers, k, e->b_re + at, e->b_im + at);
        at += ts_center_padded(ts_center_column_count(half_turn, k));
    }
}

static struct center_fit refine_within(struct center_buffers *buffers, double center, struct cells *cells)
{
    const double last = (double)(buffers->half.n_detectors - 1);
    double before = 0, pull_before = 0;
    struct center_fit fit = {center, NAN};
    look_within(buffers, center);
    center = best_trial(buffers, center, cells);
    for (int i = 0; i < MOST_WINDOWS; i++) {
        look_within(buffers, center);
        fit = newton(buffers, center, cells);
        const double pull = fit.center - center, change = pull - pull_before;
        if (isnan(fit.deviation) || fabs(pull) < 0.002)
            break;
        double move = pull;
        if (i > 0 && fabs(change) > 1e-9) {
            const double secant = -pull * (center - before) / change;
            move = secant * pull > 0 && fabs(secant) < 10 * fabs(pull) ? secant : pull;
        }
        before = center;
        pull_before = pull;
        center = fmin(last - 2, fmax(2, center + fmin(1, fmax(-1, move))));
    }
    return fit;
}

/* Returns the mean logarithm of what is left of the powers of both halves about a center. */
static double misfit_of(const struct center_buffers *buffers, double center, struct cells *cells)
{
    const struct center_elements *e = &buffers->elements;
    double sum = 0, weights = 0;
    int64_t at = 0;
    for (int c = 0; c < cells->n; c++)
        cells->slope[c] = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++)
        for (int64_t end = at + ts_center_padded(ts_center_column_count(buffers->half.n_views, k)); at < end; at++)
            cells->slope[e->cell[at]] +=
                (double)e->a_re[at] * (double)e->a_re[at] + (double)e->a_im[at] * (double)e->a_im[at] +
                (double)e->b_re[at] * (double)e->b_re[at] + (double)e->b_im[at] * (double)e->b_im[at];
    find_powers(buffers, center, cells);
    for (int c = 0; c < cells->n; c++) {
        if (cells->slope[c] > 0)
            sum += cells->weight[c] * log(cells->power[c] * cells->weight[c] / cells->slope[c]);
        weights += cells->weight[c];
    }
    return sum / weights;
}

struct center_fit ts_center_refine(struct center_buffers *buffers, double center, bool windowed)
{
    struct cells cells;
    find_cells(buffers, windowed ? wider : 1, &cells);
    struct center_fit fit;
    if (windowed)
        fit = refine_within(buffers, center, &cells);
    else
        fit = newton(buffers, best_trial(buffers, center, &cells), &cells);
    if (isnan(fit.deviation) || !(fabs(fit.center - center) <= span))
        return (struct center_fit){.center = center, .deviation = NAN, .misfit = INFINITY};
    fit.misfit = misfit_of(buffers, fit.center, &cells);
    return fit;
}
