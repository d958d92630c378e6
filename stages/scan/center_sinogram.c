/* SPDX-License-Identifier: Apache-2.0
 *
 * N. T. Vo, M. Drakopoulos, R. C. Atwood, C. Reinhard, "Reliable method for calculating the center
 * of rotation in parallel-beam tomography", Optics Express 22 (2014).
 *
 * The measure is the mean magnitude outside of the double wedge of the transform of a full turn
 * whose second half is the first one, mirrored and moved by 2 c - (n - 1): the transform of a real
 * full turn is almost empty there. The transform is linear, and a shift is a phase: with A the
 * transform of the first half and B that of the mirrored one, the measure is the mean of |A + B
 * exp(-2 pi i k shift / n)|. So both are transformed once, as the real and imaginary part of one
 * image, and any center, even between pixels, takes one sum over the elements outside of the wedge:
 * |m| > pi k for m cycles a turn and k cycles a detector row. |m| <= 2 and k = 0 are left out, and
 * weights exp(-2 pi^2 f^2) have the effect of smoothing by a Gaussian of one pixel. The paper
 * leaves |m| <= 20 out because of stripes; here stripes are removed before (center_clean.c), and
 * these rows tell the most under noise.
 *
 * The phase of column k turns once in n / (2 k) trial centers. k = 1 must take part: without it k =
 * 2, which is strong in every small object, draws the minimum to the center's alias a quarter of
 * the detector away as well.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/scan/center_search.h"

enum { ABREAST = 8, MOST_DROP = 2, FINE = 10 };

/* The confidence that white noise reaches: a multiple of one over the root of the number of values,
 * plus a multiple of one over that number, which matters if they are few. */
static const double noise_share = 1.2, noise_share_of_few = 4;

struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors)
{
    return (struct fft_shape){.rank = 2, .n = {2 * half_turn, n_detectors}, .batch = 1};
}

int64_t ts_center_trials(double search, double step)
{
    return 2 * (int64_t)floor(search / step) + 1;
}

/* Returns the lowest |m| of column k that is outside of the wedge and not left out. */
static int64_t center_first_row(int64_t half_turn, int64_t k)
{
    const int64_t quarter = half_turn / 4, drop = quarter < MOST_DROP ? quarter : MOST_DROP;
    const int64_t wedge = (int64_t)floor(M_PI * (double)k);
    return (wedge > drop ? wedge : drop) + 1;
}

/* Returns the number of elements of one column: m = first .. half_turn - 1, and -half_turn ..
 * -first. */
static int64_t center_column_count(int64_t half_turn, int64_t k)
{
    const int64_t first = center_first_row(half_turn, k);
    return first > half_turn ? 0 : 2 * (half_turn - first) + 1;
}

static int64_t center_padded(int64_t count)
{
    return (count + ABREAST - 1) / ABREAST * ABREAST;
}

static int64_t element_count(int64_t half_turn, int64_t n_detectors)
{
    int64_t count = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n_detectors / 2; k++)
        count += center_padded(center_column_count(half_turn, k));
    return count;
}

static struct center_buffers lay_out(int64_t half_turn, int64_t n_detectors,
                                     struct memory_layout *layout)
{
    const struct fft_shape shape = ts_center_transform(half_turn, n_detectors);
    const size_t count = (size_t)element_count(half_turn, n_detectors),
                 column = count * sizeof(float);
    struct center_buffers buffers = {0};
    buffers.z = ts_layout_add(layout, (size_t)ts_fft_count(&shape) * 2 * sizeof *buffers.z);
    buffers.work = ts_layout_add(layout, ts_fft_work_bytes(&shape));
    buffers.window = ts_layout_add(layout, (size_t)n_detectors * sizeof *buffers.window);
    buffers.weight = ts_layout_add(layout, (size_t)(2 * half_turn) * sizeof *buffers.weight);
    buffers.slope = ts_layout_add(layout, (size_t)(2 * half_turn) * sizeof *buffers.slope);
    buffers.elements.a_re = ts_layout_add(layout, column);
    buffers.elements.a_im = ts_layout_add(layout, column);
    buffers.elements.b_re = ts_layout_add(layout, column);
    buffers.elements.b_im = ts_layout_add(layout, column);
    buffers.elements.cell = ts_layout_add(layout, count * sizeof *buffers.elements.cell);
    return buffers;
}

size_t ts_center_scratch_bytes(int64_t half_turn, int64_t n_detectors)
{
    struct memory_layout layout = {0};
    lay_out(half_turn, n_detectors, &layout);
    return layout.bytes;
}

struct center_buffers ts_center_buffers(const struct center_half *half, const struct fft *fft,
                                        void *scratch)
{
    struct memory_layout layout = {.base = scratch};
    struct center_buffers buffers = lay_out(half->n_views, half->n_detectors, &layout);
    buffers.half = *half;
    buffers.fft = fft;
    for (int64_t m = 0; m < 2 * half->n_views; m++) {
        const double f =
            (double)(m < half->n_views ? m : m - 2 * half->n_views) / (double)(2 * half->n_views);
        buffers.weight[m] = exp(-2 * M_PI * M_PI * f * f);
        buffers.slope[m] = 1 / tan(M_PI * f);
    }
    return buffers;
}

/* Fills the image: the first half is the real part of its rows, the mirrored one the imaginary part
 * of the others. */
static void center_sinogram_fill(const struct center_half *half, const double *window, float *z)
{
    const int64_t n = half->n_detectors;
    memset(z, 0, (size_t)(2 * half->n_views * n) * 2 * sizeof *z);
    for (int64_t view = 0; view < half->n_views; view++)
        for (int64_t d = 0; d < n; d++) {
            const float p = half->p[view * n + d];
            const float value = window ? (float)((double)p * window[d]) : p;
            z[2 * (view * n + d)] = value;
            z[2 * ((half->n_views + view) * n + n - 1 - d) + 1] = value;
        }
}

/* Transforms the half turn and its mirror image. window has factors of the detector pixels (NULL:
 * none). */
static void center_find_elements(const struct center_buffers *buffers, const double *window,
                                 struct center_elements *out)
{
    const int64_t n = buffers->half.n_detectors, half_turn = buffers->half.n_views,
                  rows = 2 * half_turn;
    const float *z = buffers->z;
    int64_t at = 0;
    center_sinogram_fill(&buffers->half, window, buffers->z);
    ts_fft_forward(buffers->fft, buffers->z, buffers->z, buffers->work);
    out->weight = out->squares = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n / 2; k++) {
        const int64_t first = center_first_row(half_turn, k),
                      count = center_column_count(half_turn, k);
        const double g = (double)k / (double)n, column = exp(-2 * M_PI * M_PI * g * g);
        for (int64_t i = 0; i < count; i++, at++) {
            const int64_t m = first + i; /* rows from half_turn on are the negative ones */
            const double weight = column * buffers->weight[m];
            const float *here = &z[2 * (m * n + k)],
                        *there = &z[2 * ((rows - m) % rows * n + (n - k) % n)];
            out->a_re[at] = (float)(0.5 * weight * ((double)here[0] + (double)there[0]));
            out->a_im[at] = (float)(0.5 * weight * ((double)here[1] - (double)there[1]));
            out->b_re[at] = (float)(0.5 * weight * ((double)here[1] + (double)there[1]));
            out->b_im[at] = (float)(0.5 * weight * ((double)there[0] - (double)here[0]));
            out->weight += weight;
            out->squares += weight * weight;
        }
        for (; at % ABREAST; at++)
            out->a_re[at] = out->a_im[at] = out->b_re[at] = out->b_im[at] = 0;
    }
}

TS_VECTORIZED static void add_magnitudes(const float *a_re, const float *a_im, const float *b_re,
                                         const float *b_im, int64_t n, float c, float s,
                                         double *sums)
{
    for (int64_t i = 0; i < n; i += ABREAST)
        for (int k = 0; k < ABREAST; k++) {
            const float re = a_re[i + k] + (b_re[i + k] * c - b_im[i + k] * s);
            const float im = a_im[i + k] + (b_re[i + k] * s + b_im[i + k] * c);
            sums[k] += (double)sqrtf(re * re + im * im);
        }
}

static double measure_of(const struct center_buffers *buffers, double center)
{
    const struct center_elements *elements = &buffers->elements;
    const int64_t half_turn = buffers->half.n_views;
    const double n = (double)buffers->half.n_detectors, shift = 2 * center - (n - 1);
    double sums[ABREAST] = {0}, sum = 0;
    int64_t at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++) {
        const int64_t count = center_padded(center_column_count(half_turn, k));
        const double phase = -2 * M_PI * fmod((double)k * shift / n, 1);
        add_magnitudes(elements->a_re + at, elements->a_im + at, elements->b_re + at,
                       elements->b_im + at, count, (float)cos(phase), (float)sin(phase), sums);
        at += count;
    }
    for (int k = 0; k < ABREAST; k++)
        sum += sums[k];
    return sum / elements->weight;
}

struct center_found ts_center_by_sinogram(const struct center_search *search,
                                          struct center_buffers *buffers, double *measure)
{
    struct center_elements *elements = &buffers->elements;
    const int64_t n_trials = ts_center_trials(search->search, 1), half = n_trials / 2;
    const double middle = 0.5 * (double)(search->n_detectors - 1);
    double fine[2 * FINE + 1];
    int64_t best = 0, closest = 0;
    center_find_elements(buffers, NULL, elements);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++)
        measure[i] = measure_of(buffers, middle + (double)(i - half));
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] < measure[best] ? i : best;
    const double near = middle + (double)(best - half);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i <= 2 * FINE; i++)
        fine[i] = measure_of(buffers, near + (double)(i - FINE) / FINE);
    for (int64_t i = 1; i <= 2 * FINE; i++)
        closest = fine[i] < fine[closest] ? i : closest;
    const bool inside = closest > 0 && closest < 2 * FINE;
    const double more =
        inside ? ts_center_turning_point(fine[closest - 1], fine[closest], fine[closest + 1]) : 0;
    const double of_few =
        elements->squares / (elements->weight * elements->weight); /* 1 / their number, weighted */
    return (struct center_found){.center = near + ((double)(closest - FINE) + more) / FINE,
                                 .noise = noise_share * sqrt(of_few) + noise_share_of_few * of_few,
                                 .best = best};
}

/* This finds a center to a fraction of a pixel, and its error.
 *
 * At the right center, only noise is outside of the double wedge, and what does not fit the model:
 * drifts, errors of angles, an object that the detector cuts off. Both vary with frequency. So the
 * plane is divided into cells, each with a ratio of 1.3 in k and 2 in |m| and with an unknown
 * variance, and the center is the most likely one: the lowest sum over the cells of N log(mean of
 * |A + B exp(-2 pi i k shift / n)|^2). Trials are a quarter of a pixel apart; then Newton's steps
 * follow with fixed variances. A cell that fits badly has little weight.
 *
 * The deviation is the larger one of two: that of a fit to values with those variances, and the one
 * that the slopes of the columns, and of the cells, have together (White, 1980), which knows of
 * errors that values have in common.
 *
 * If the object is cut off, the rows are multiplied by a window around the center, so that both
 * halves see the same part of it. What is beyond the window widens the wedge, and what stays on the
 * detector, in stripes of any width, is projected out: a column of the transform that is the same
 * in all views is proportional to that of 1 in the first half turn and 0 in the second, for odd m,
 * and 0 for even m. The window draws the fit to its own middle: the fit about x is at x + g(x), and
 * the center is where g is 0, which secants find. */

enum { MOST_CELLS = 512, LEAST_VALUES = 24, MOST_STEPS = 20, MOST_WINDOWS = 8 };

static const double cell_ratio = 1.3, cell_row_ratio = 2;
static const double span = 4, step = 0.25; /* range of the trials on both sides of the start of the
                                            * fit, and their step, in pixels */
static const double taper = 0.8;           /* fraction of the window's half width in which it is not
                                            * 1 */
static const double wider = 1.5;           /* how much wider the wedge is for what is seen in a
                                            * window */

struct cells {
    int n;
    double weight[MOST_CELLS], power[MOST_CELLS], slope[MOST_CELLS];
};

/* ---- cells ----------------------------------------------------------------------------------- */

static int band_of(double value, double ratio)
{
    return (int)floor(log(value) / log(ratio) + 1e-9);
}

/* Returns |m| of element i of column k. */
static int64_t row_of(int64_t half_turn, int64_t k, int64_t i)
{
    const int64_t row = center_first_row(half_turn, k) + i;
    return row < half_turn ? row : 2 * half_turn - row;
}

/* Returns the raw cell of element i of column k: bands of rows follow each other within a band of
 * columns. */
static int raw_cell(int64_t half_turn, int64_t k, int64_t i)
{
    return band_of((double)k, cell_ratio) * 64 +
           band_of((double)row_of(half_turn, k, i), cell_row_ratio);
}

/* Returns true if element i of column k is outside of a wedge that is `wedge` times as wide. */
static bool is_outside(int64_t half_turn, int64_t k, int64_t i, double wedge)
{
    return (double)row_of(half_turn, k, i) > wedge * M_PI * (double)k;
}

/* Numbers the cells in the order of their columns. Cells with few values are joined to the next
 * ones. */
static void find_cells(const struct center_buffers *buffers, double wedge, struct cells *cells)
{
    enum { RAW = 64 * 64 };
    const int64_t half_turn = buffers->half.n_views, n = buffers->half.n_detectors;
    uint16_t *cell = buffers->elements.cell, label[RAW];
    int64_t count[RAW] = {0}, at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n / 2; k++) {
        for (int64_t i = 0; i < center_column_count(half_turn, k); i++)
            count[cell[at + i] = (uint16_t)raw_cell(half_turn, k, i)] +=
                is_outside(half_turn, k, i, wedge);
        at += center_padded(center_column_count(half_turn, k));
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
    cells->n = cells->n > 0 ? cells->n : 1; /* the remaining values are joined to the last cell */
    at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n / 2; k++) {
        const int64_t values_of_column = center_column_count(half_turn, k);
        for (int64_t i = 0; i < center_padded(values_of_column); i++, at++) {
            const int own = i < values_of_column ? label[cell[at]] : 0;
            cell[at] = (uint16_t)(own < cells->n ? own : cells->n - 1);
            const double f = (double)row_of(half_turn, k, i) / (double)(2 * half_turn),
                         g = (double)k / (double)n;
            if (i < values_of_column && is_outside(half_turn, k, i, wedge))
                cells->weight[cell[at]] += exp(-4 * M_PI * M_PI * (f * f + g * g));
        }
    }
}

/* ---- the fit --------------------------------------------------------------------------------- */

struct column {
    double cosine, sine, rate; /* of its phase, which turns by `rate` a pixel */
    int64_t count;             /* number of its values */
};

static struct column column_of(const struct center_half *half, int64_t k, double center)
{
    const double n = (double)half->n_detectors;
    const double phase = -2 * M_PI * fmod((double)k * (2 * center - (n - 1)) / n, 1);
    return (struct column){cos(phase), sin(phase), 4 * M_PI * (double)k / n,
                           center_padded(center_column_count(half->n_views, k))};
}

/* Finds the mean power of each cell for a center. No cell is empty, so its logarithm exists. */
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
        cells->power[c] = fmax(cells->weight[c] > 0 ? cells->power[c] / cells->weight[c] : 0,
                               1e-12 * all / weights + 1e-290);
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
    double variance; /* of `first`: as if values were independent; and from the columns and cells as
                      * they are */
    double columns, cells;
};

static struct slopes find_slopes(const struct center_buffers *buffers, double center,
                                 struct cells *cells)
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
            const double re =
                (double)e->b_re[at] * column.cosine - (double)e->b_im[at] * column.sine;
            const double im =
                (double)e->b_re[at] * column.sine + (double)e->b_im[at] * column.cosine;
            const double q_re = (double)e->a_re[at] + re, q_im = (double)e->a_im[at] + im;
            const double weight = 1 / cells->power[e->cell[at]],
                         square = weight * column.rate * column.rate;
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

static struct center_fit newton(const struct center_buffers *buffers, double center,
                                struct cells *cells)
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

/* ---- a window -------------------------------------------------------------------------------- */

static void find_window(int64_t n, double center, double *window)
{
    const double half = fmin(center, (double)(n - 1) - center) + 0.5;
    for (int64_t d = 0; d < n; d++) {
        const double share = (half - fabs((double)d - center)) / (taper * half);
        window[d] = 0.5 - 0.5 * cos(M_PI * fmin(1, fmax(0, share)));
    }
}

/* Removes what is the same in all views from one of the two halves of a column. Row i of it is 2 /
 * (1 - exp(-pi i m / half_turn)) = 1 - i / tan(pi m / (2 half_turn)) for odd m. */
static void project(const struct center_buffers *buffers, int64_t k, float *re, float *im)
{
    const int64_t half_turn = buffers->half.n_views;
    const int64_t first = center_first_row(half_turn, k), count = center_column_count(half_turn, k);
    double sum_re = 0, sum_im = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < count; i++) {
            if (!is_outside(half_turn, k, i, wider)) {
                re[i] = im[i] = 0;
                continue;
            }
            if ((first + i) % 2 == 0)
                continue;
            const double u_re = buffers->weight[first + i],
                         u_im = -u_re * buffers->slope[first + i];
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

/* Transforms what is seen in a window around `center`. */
static void look_within(struct center_buffers *buffers, double center)
{
    const struct center_elements *e = &buffers->elements;
    const int64_t half_turn = buffers->half.n_views;
    int64_t at = 0;
    find_window(buffers->half.n_detectors, center, buffers->window);
    center_find_elements(buffers, buffers->window, &buffers->elements);
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++) {
        project(buffers, k, e->a_re + at, e->a_im + at);
        project(buffers, k, e->b_re + at, e->b_im + at);
        at += center_padded(center_column_count(half_turn, k));
    }
}

static struct center_fit refine_within(struct center_buffers *buffers, double center,
                                       struct cells *cells)
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

/* Returns the misfit: the weighted mean over the cells of log(power of A + B exp(...) / power of A
 * and of B): 0 if the halves have nothing in common, and the lower, the better they cancel. */
static double misfit_of(const struct center_buffers *buffers, double center, struct cells *cells)
{
    const struct center_elements *e = &buffers->elements;
    double both[MOST_CELLS] = {0}, sum = 0, weights = 0;
    int64_t at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++)
        for (int64_t end = at + center_padded(center_column_count(buffers->half.n_views, k));
             at < end; at++)
            both[e->cell[at]] += (double)e->a_re[at] * (double)e->a_re[at] +
                                 (double)e->a_im[at] * (double)e->a_im[at] +
                                 (double)e->b_re[at] * (double)e->b_re[at] +
                                 (double)e->b_im[at] * (double)e->b_im[at];
    find_powers(buffers, center, cells);
    for (int c = 0; c < cells->n; c++) {
        if (both[c] > 0)
            sum += cells->weight[c] * log(cells->power[c] * cells->weight[c] / both[c]);
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
