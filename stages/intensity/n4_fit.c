/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the bias field of gathered samples on the CPU (stages/intensity/n4.h has the steps).
 *
 * The field of a slice is summed over z to a plane of control points, the plane over x to rows, one
 * for each control point along y; a voxel then needs four products. Sums of residuals go the other
 * way: over y to such rows, over x to a plane, and over z to the lattice. So a voxel costs some 20
 * operations in loops over x that vectorize, whatever the level. Threads share the slices, whose
 * sums join in rising z.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/intensity/n4_fit.h"

/* A bin counts in units of COUNT_ONE, below which it sums fractions, of this many samples at most.
 */
#define COUNT_ONE (UINT64_C(1) << 40)
enum { COUNT_MOST = 1 << 20 };

/* What the samples of a slice add up to. */
struct slice_sums {
    float low, high;
    double sum, squares; /* of e^-p - 1, where p is what the last iteration added */
};

/* The work memory of one thread: rows are `points y` times `samples x` floats. */
struct thread_work {
    double *plane;
    float *field, *update; /* rows of f, and of p */
    float *columns;        /* N_COLUMNS sums for each x */
    float *values;         /* u of a row */
    int32_t *places;
    uint64_t *counts; /* of the bins, and of samples that do not count */
};
enum { LOW, HIGH, SUM, SQUARES, N_COLUMNS };

struct sharpening {
    double *cosines, *blur, *inverse, *padded, *counts;
    float *means, *steps; /* E[u] at a bin's lower end, and by how much it rises to the next */
};

struct fit {
    const struct stage_context *context;
    const struct n4_params *params;
    struct n4_grid grid;
    const float *samples, *weights; /* weights are NULL if all are 1 */
    int64_t nz, ny, nx;             /* of the samples */
    int level;
    int64_t points[3];
    struct n4_taps taps[3];
    struct thread_work *threads;
    struct slice_sums *slices;
    double *planes; /* of every slice */
    double *sums, *density, *update, *spare;
    struct sharpening sharpening;
    struct n4_record record;
    float low, per_unit; /* of the bins: their lower end, and 1 / their width */
    double width;
};

/* ---- work memory ----------------------------------------------------------------------------- */

static void fit_lay_out_thread(const struct fit *fit, struct memory_layout *layout,
                               struct thread_work *work)
{
    const struct n4_grid *grid = &fit->grid;
    const int last = grid->levels - 1;
    const size_t rows = (size_t)(ts_n4_points(grid, last, 1) * fit->nx),
                 plane = (size_t)(ts_n4_points(grid, last, 1) * ts_n4_points(grid, last, 2));
    const struct thread_work placed = {
        .plane = ts_layout_add(layout, plane * sizeof(double)),
        .field = ts_layout_add(layout, rows * sizeof(float)),
        .update = ts_layout_add(layout, rows * sizeof(float)),
        .columns = ts_layout_add(layout, N_COLUMNS * (size_t)fit->nx * sizeof(float)),
        .values = ts_layout_add(layout, (size_t)fit->nx * sizeof(float)),
        .places = ts_layout_add(layout, (size_t)fit->nx * sizeof(int32_t)),
        .counts = ts_layout_add(layout, (size_t)(fit->params->bins + 1) * sizeof(uint64_t))};
    if (work)
        *work = placed;
}

static void fit_lay_out_sharpening(struct fit *fit, struct memory_layout *layout)
{
    const size_t padded = (size_t)ts_n4_padded(fit->params) * sizeof(double);
    double **const arrays[] = {&fit->sharpening.cosines, &fit->sharpening.blur,
                               &fit->sharpening.inverse, &fit->sharpening.padded,
                               &fit->sharpening.counts};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = ts_layout_add(layout, padded);
    fit->sharpening.means = ts_layout_add(layout, padded);
    fit->sharpening.steps = ts_layout_add(layout, padded);
}

static void fit_lay_out(struct fit *fit, struct memory_layout *layout)
{
    const struct n4_grid *grid = &fit->grid;
    const int last = grid->levels - 1;
    const size_t lattice = (size_t)ts_n4_lattice(grid, last) * sizeof(double),
                 plane = (size_t)(ts_n4_points(grid, last, 1) * ts_n4_points(grid, last, 2));
    double *record = ts_layout_add(layout, ts_n4_record_doubles(grid) * sizeof *record);
    if (record)
        fit->record = ts_n4_record(grid, record);
    for (int d = 0; d < 3; d++)
        fit->taps[d] = ts_n4_taps(layout, grid->axes[d].samples);
    double **const arrays[] = {&fit->sums, &fit->density, &fit->update, &fit->spare};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = ts_layout_add(layout, lattice);
    fit->planes = ts_layout_add(layout, (size_t)fit->nz * plane * sizeof(double));
    fit->slices = ts_layout_add(layout, (size_t)fit->nz * sizeof *fit->slices);
    fit_lay_out_sharpening(fit, layout);
    fit->threads = ts_layout_add(layout, (size_t)fit->context->threads * sizeof *fit->threads);
    for (int i = 0; i < fit->context->threads; i++)
        fit_lay_out_thread(fit, layout, fit->threads ? fit->threads + i : NULL);
}

static struct fit fit_describe(const struct stage_context *context)
{
    const struct n4_grid grid = ts_n4_grid(context);
    return (struct fit){.context = context,
                        .params = context->params,
                        .grid = grid,
                        .nz = grid.axes[0].samples,
                        .ny = grid.axes[1].samples,
                        .nx = grid.axes[2].samples};
}

size_t ts_n4_fit_bytes(const struct stage_context *context)
{
    struct fit fit = fit_describe(context);
    struct memory_layout layout = {0};
    fit_lay_out(&fit, &layout);
    return layout.bytes;
}

/* ---- rows of samples ------------------------------------------------------------------------- */

/* Returns the field at x from the rows of its span, n apart, and the factors along y. */
static inline float fit_at(const float *rows, int64_t n, const float *b, int64_t x)
{
    return ts_n4_sum(b, rows[x], rows[n + x], rows[2 * n + x], rows[3 * n + x]);
}

TS_VECTORIZED static void fit_range_row(const float *restrict logs, int64_t n,
                                        const float *restrict field, const float *restrict b,
                                        float *restrict low, float *restrict high)
{
    for (int64_t x = 0; x < n; x++) {
        const float u = logs[x] - fit_at(field, n, b, x);
        low[x] = u < low[x] ? u : low[x];
        high[x] = u > high[x] ? u : high[x];
    }
}

TS_VECTORIZED static void fit_change_row(const float *restrict logs, int64_t n,
                                         const float *restrict update, const float *restrict b,
                                         float *restrict sum, float *restrict squares)
{
    for (int64_t x = 0; x < n; x++) {
        const float e = ts_n4_exp(-fit_at(update, n, b, x)) - 1,
                    change = logs[x] == logs[x] ? e : 0;
        sum[x] += change;
        squares[x] += change * change;
    }
}

/* Writes u, and its place among the bins. Samples that do not count are in a bin of their own, the
 * one after the last. */
TS_VECTORIZED static void fit_place_row(const float *restrict logs, int64_t n,
                                        const float *restrict field, const float *restrict b,
                                        float low, float per_unit, int32_t bins,
                                        float *restrict values, int32_t *restrict places)
{
    for (int64_t x = 0; x < n; x++) {
        const float u = logs[x] - fit_at(field, n, b, x), inside = u == u ? u : low;
        const int32_t place = ts_n4_place(inside, low, per_unit);
        values[x] = inside;
        places[x] = u == u ? place : bins * (1 << N4_FRACTION_BITS);
    }
}

/* Turns values into u - E[u], which is 0 for samples that do not count. */
TS_VECTORIZED static void fit_residual_row(const int32_t *restrict places, int64_t n, int32_t bins,
                                           const float *restrict means, const float *restrict steps,
                                           float *restrict values)
{
    for (int64_t x = 0; x < n; x++) {
        const int32_t bin = places[x] >> N4_FRACTION_BITS,
                      part = places[x] & ((1 << N4_FRACTION_BITS) - 1);
        const float mean = means[bin] + steps[bin] * ((float)part * 0x1p-20f),
                    residual = values[x] - mean;
        values[x] = bin < bins ? residual : 0;
    }
}

TS_VECTORIZED static void fit_weigh_row(const float *restrict weights, int64_t n,
                                        float *restrict values)
{
    for (int64_t x = 0; x < n; x++)
        values[x] *= weights[x];
}

/* Adds the values to the four rows of their span, times the factors along y. */
TS_VECTORIZED static void fit_add_to(const float *restrict values, int64_t n,
                                     const float *restrict b, float *restrict row_0,
                                     float *restrict row_1, float *restrict row_2,
                                     float *restrict row_3)
{
    for (int64_t x = 0; x < n; x++) {
        row_0[x] += b[0] * values[x];
        row_1[x] += b[1] * values[x];
        row_2[x] += b[2] * values[x];
        row_3[x] += b[3] * values[x];
    }
}

static void fit_add_row(const float *values, int64_t n, const float *b, float *rows)
{
    fit_add_to(values, n, b, rows, rows + n, rows + 2 * n, rows + 3 * n);
}

/* Writes the weights of samples that count, and 0 for the others. */
static void fit_weight_row(const float *logs, const float *weights, int64_t n, float *values)
{
    for (int64_t x = 0; x < n; x++) {
        const float weight = weights ? weights[x] : 1;
        values[x] = isnan(logs[x]) ? 0 : weight;
    }
}

static void fit_count_row(const int32_t *places, int64_t n, uint64_t *counts)
{
    for (int64_t x = 0; x < n; x++)
        counts[places[x] >> N4_FRACTION_BITS] +=
            COUNT_ONE + (uint64_t)(places[x] & ((1 << N4_FRACTION_BITS) - 1));
}

/* ---- slices ---------------------------------------------------------------------------------- */

static const float *fit_logs(const struct fit *fit, int64_t z, int64_t y)
{
    return fit->samples + (z * fit->ny + y) * fit->nx;
}

static const float *fit_weights(const struct fit *fit, int64_t z, int64_t y)
{
    return fit->weights ? fit->weights + (z * fit->ny + y) * fit->nx : NULL;
}

/* Returns the rows of the span of row y. */
static float *fit_rows(const struct fit *fit, float *rows, int64_t y)
{
    return rows + fit->taps[1].spans[y] * fit->nx;
}

void ts_n4_rows(const double *lattice, const int64_t points[3], int32_t span, const float *b,
                const struct n4_taps *x_taps, int64_t nx, double *plane, float *rows)
{
    const int64_t size = points[1] * points[2];
    lattice += span * size;
    for (int64_t i = 0; i < size; i++)
        plane[i] = ((double)b[0] * lattice[i] + (double)b[1] * lattice[size + i]) +
                   ((double)b[2] * lattice[2 * size + i] + (double)b[3] * lattice[3 * size + i]);
    for (int64_t m = 0; m < points[1]; m++)
        for (int64_t x = 0; x < nx; x++) {
            const double *at = plane + m * points[2] + x_taps->spans[x];
            const float *a = x_taps->field + x * N4_TAPS;
            rows[m * nx + x] = (float)(((double)a[0] * at[0] + (double)a[1] * at[1]) +
                                       ((double)a[2] * at[2] + (double)a[3] * at[3]));
        }
}

static void fit_find_rows(const struct fit *fit, const double *lattice, int64_t z, double *plane,
                          float *rows)
{
    ts_n4_rows(lattice, fit->points, fit->taps[0].spans[z], fit->taps[0].field + z * N4_TAPS,
               &fit->taps[2], fit->nx, plane, rows);
}

/* Finds the range of u in a slice, and what p, if an iteration has added it, changes there. */
static void fit_range_slice(const struct fit *fit, const double *update, int64_t z,
                            struct thread_work *work)
{
    const int64_t nx = fit->nx;
    struct slice_sums *sums = &fit->slices[z];
    float *columns = work->columns;
    fit_find_rows(fit, fit->record.lattice, z, work->plane, work->field);
    if (update)
        fit_find_rows(fit, update, z, work->plane, work->update);
    memset(columns, 0, N_COLUMNS * (size_t)nx * sizeof *columns);
    for (int64_t x = 0; x < nx; x++) {
        columns[LOW * nx + x] = INFINITY;
        columns[HIGH * nx + x] = -INFINITY;
    }
    for (int64_t y = 0; y < fit->ny; y++) {
        const float *logs = fit_logs(fit, z, y), *b = fit->taps[1].field + y * N4_TAPS;
        fit_range_row(logs, nx, fit_rows(fit, work->field, y), b, columns + LOW * nx,
                      columns + HIGH * nx);
        if (update)
            fit_change_row(logs, nx, fit_rows(fit, work->update, y), b, columns + SUM * nx,
                           columns + SQUARES * nx);
    }
    sums->low = INFINITY;
    sums->high = -INFINITY;
    sums->sum = sums->squares = 0;
    for (int64_t x = 0; x < nx; x++) {
        sums->low = fminf(sums->low, columns[LOW * nx + x]);
        sums->high = fmaxf(sums->high, columns[HIGH * nx + x]);
        sums->sum += (double)columns[SUM * nx + x];
        sums->squares += (double)columns[SQUARES * nx + x];
    }
}

/* Joins the slices' ranges, and returns the convergence. */
static double fit_range(struct fit *fit, const double *update)
{
    double sum = 0, squares = 0;
    float high = -INFINITY;
#pragma omp parallel for schedule(dynamic, 1) num_threads(fit->context->threads)
    for (int64_t z = 0; z < fit->nz; z++)
        fit_range_slice(fit, update, z, &fit->threads[omp_get_thread_num()]);
    fit->low = INFINITY;
    for (int64_t z = 0; z < fit->nz; z++) {
        fit->low = fminf(fit->low, fit->slices[z].low);
        high = fmaxf(high, fit->slices[z].high);
        sum += fit->slices[z].sum;
        squares += fit->slices[z].squares;
    }
    fit->width = ((double)high - (double)fit->low) / (double)(fit->params->bins - 1);
    fit->per_unit = (float)(1 / fit->width);
    return update ? ts_n4_variation(*fit->record.counted, sum, squares) : (double)NAN;
}

static void fit_place(const struct fit *fit, int64_t z, int64_t y, struct thread_work *work)
{
    fit_place_row(fit_logs(fit, z, y), fit->nx, fit_rows(fit, work->field, y),
                  fit->taps[1].field + y * N4_TAPS, fit->low, fit->per_unit,
                  (int32_t)fit->params->bins, work->values, work->places);
}

/* The histogram in integers: how many samples are in a bin, and the sum of their fractions. */
struct bin_sums {
    uint64_t whole[N4_BINS_MAX], parts[N4_BINS_MAX];
};

/* Adds a thread's counts to the sums, and clears them. */
static void fit_add_counts(uint64_t *counts, int64_t bins, struct bin_sums *sums)
{
#pragma omp critical(n4_fit_add_counts)
    for (int64_t i = 0; i < bins; i++) {
        sums->whole[i] += counts[i] / COUNT_ONE;
        sums->parts[i] += counts[i] % COUNT_ONE;
    }
    memset(counts, 0, (size_t)(bins + 1) * sizeof *counts);
}

static void fit_count_slice(const struct fit *fit, int64_t z, struct thread_work *work,
                            struct bin_sums *sums)
{
    const int64_t rows = COUNT_MOST / fit->nx > 1 ? COUNT_MOST / fit->nx - 1 : 1;
    fit_find_rows(fit, fit->record.lattice, z, work->plane, work->field);
    memset(work->counts, 0, (size_t)(fit->params->bins + 1) * sizeof *work->counts);
    for (int64_t y = 0; y < fit->ny; y++) {
        fit_place(fit, z, y, work);
        fit_count_row(work->places, fit->nx, work->counts);
        if ((y + 1) % rows == 0 || y + 1 == fit->ny)
            fit_add_counts(work->counts, fit->params->bins, sums);
    }
}

/* Counts the histogram, in which a sample is split between its bin and the next. */
static void fit_count(const struct fit *fit)
{
    const int64_t bins = fit->params->bins;
    double *counts = fit->sharpening.counts;
    struct bin_sums sums = {0};
#pragma omp parallel for schedule(dynamic, 1) num_threads(fit->context->threads)
    for (int64_t z = 0; z < fit->nz; z++)
        fit_count_slice(fit, z, &fit->threads[omp_get_thread_num()], &sums);
    counts[0] = 0;
    for (int64_t i = 0; i < bins; i++) {
        const double above = i + 1 < bins ? (double)sums.parts[i] * 0x1p-20 : 0;
        counts[i] += (double)sums.whole[i] - above;
        counts[i + 1] = above;
    }
}

/* Sums rows over x to the plane of slice z. */
static void fit_sum_columns(const struct fit *fit, const float *rows, bool squares, int64_t z)
{
    const int64_t size = fit->points[1] * fit->points[2];
    const float *factors = squares ? fit->taps[2].square : fit->taps[2].residual;
    double *plane = fit->planes + z * size;
    memset(plane, 0, (size_t)size * sizeof *plane);
    for (int64_t m = 0; m < fit->points[1]; m++)
        for (int64_t x = 0; x < fit->nx; x++) {
            double *at = plane + m * fit->points[2] + fit->taps[2].spans[x];
            for (int k = 0; k < N4_TAPS; k++)
                at[k] += (double)factors[x * N4_TAPS + k] * (double)rows[m * fit->nx + x];
        }
}

/* Sums the planes over z to the lattice. */
static void fit_sum_planes(const struct fit *fit, bool squares, double *lattice)
{
    const int64_t size = fit->points[1] * fit->points[2];
    const float *factors = squares ? fit->taps[0].square : fit->taps[0].residual;
    memset(lattice, 0, (size_t)(fit->points[0] * size) * sizeof *lattice);
    for (int64_t z = 0; z < fit->nz; z++)
        for (int k = 0; k < N4_TAPS; k++) {
            const double *plane = fit->planes + z * size, b = (double)factors[z * N4_TAPS + k];
            double *at = lattice + (fit->taps[0].spans[z] + k) * size;
            for (int64_t i = 0; i < size; i++)
                at[i] += b * plane[i];
        }
}

/* Sums the weights of samples over the squares of the factors, for the denominators of a level;
 * or their residuals. */
static void fit_sum(const struct fit *fit, bool squares, double *lattice)
{
    const size_t rows = (size_t)(fit->points[1] * fit->nx);
    const float *factors = squares ? fit->taps[1].square : fit->taps[1].residual;
    const struct sharpening *sharpening = &fit->sharpening;
#pragma omp parallel for schedule(dynamic, 1) num_threads(fit->context->threads)
    for (int64_t z = 0; z < fit->nz; z++) {
        struct thread_work *work = &fit->threads[omp_get_thread_num()];
        float *sums = work->update;
        if (!squares)
            fit_find_rows(fit, fit->record.lattice, z, work->plane, work->field);
        memset(sums, 0, rows * sizeof *sums);
        for (int64_t y = 0; y < fit->ny; y++) {
            const float *weights = fit_weights(fit, z, y);
            if (squares) {
                fit_weight_row(fit_logs(fit, z, y), weights, fit->nx, work->values);
            } else {
                fit_place(fit, z, y, work);
                fit_residual_row(work->places, fit->nx, (int32_t)fit->params->bins,
                                 sharpening->means, sharpening->steps, work->values);
                if (weights)
                    fit_weigh_row(weights, fit->nx, work->values);
            }
            fit_add_row(work->values, fit->nx, factors + y * N4_TAPS, fit_rows(fit, sums, y));
        }
        fit_sum_columns(fit, sums, squares, z);
    }
    fit_sum_planes(fit, squares, lattice);
}

/* ---- sharpening ------------------------------------------------------------------------------ */

/* The transform of an even sequence of n numbers is even, and real: a sum of cosines. */
static void fit_cosine_transform(const double *cosines, const double *in, int n, double scale,
                                 double *out)
{
    for (int k = 0; k <= n / 2; k++) {
        double sum = in[0] + (k % 2 ? -in[n / 2] : in[n / 2]);
        for (int i = 1; i < n / 2; i++)
            sum += 2 * in[i] * cosines[k * i % n];
        out[k] = out[(n - k) % n] = sum * scale;
    }
}

/* Writes the Gaussian of the given width, and the inverse filter G = F / (F^2 + noise) of its
 * transform F, transformed back. */
static void fit_make_filters(const struct fit *fit)
{
    const struct sharpening *s = &fit->sharpening;
    const int n = ts_n4_padded(fit->params);
    const double width = fit->params->fwhm / fit->width, log_2 = log(2.0);
    for (int i = 0; i < n; i++) {
        const double apart = (i <= n / 2 ? i : n - i) / width;
        s->blur[i] = 2 * sqrt(log_2 / acos(-1.0)) / width * exp(-4 * log_2 * apart * apart);
    }
    fit_cosine_transform(s->cosines, s->blur, n, 1, s->padded);
    for (int i = 0; i < n; i++)
        s->padded[i] /= s->padded[i] * s->padded[i] + fit->params->noise;
    fit_cosine_transform(s->cosines, s->padded, n, 1.0 / n, s->inverse);
}

/* Deconvolves the counts, which are in the middle of the padded histogram. What falls below 0
 * becomes 0. */
static void fit_deconvolve(const struct fit *fit)
{
    const struct sharpening *s = &fit->sharpening;
    const int n = ts_n4_padded(fit->params), bins = (int)fit->params->bins, before = (n - bins) / 2;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < bins; j++)
            sum += s->counts[j] * s->inverse[(i - before - j + 2 * n) % n];
        s->padded[i] = sum > 0 ? sum : 0;
    }
}

/* Writes E[u] at the lower end of each bin: the mean of the deconvolved values that a Gaussian
 * blurs to it. */
static void fit_make_means(const struct fit *fit)
{
    const struct sharpening *s = &fit->sharpening;
    const int n = ts_n4_padded(fit->params), bins = (int)fit->params->bins, before = (n - bins) / 2;
    for (int i = 0; i < bins; i++) {
        double weights = 0, sum = 0;
        for (int j = 0; j < n; j++) {
            const double weight = s->padded[j] * s->blur[(i + before - j + n) % n];
            weights += weight;
            sum += weight * (j - before);
        }
        const double place = weights > 0 ? sum / weights : i;
        s->means[i] = (float)((double)fit->low + fit->width * place);
    }
    for (int i = 0; i < bins; i++)
        s->steps[i] = i + 1 < bins ? s->means[i + 1] - s->means[i] : 0;
    s->means[bins] = s->steps[bins] = 0;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Halves the spans of an axis: a lattice of `outer` x n x `inner` points becomes one of 2 n - 3
 * points, of the same field. */
static void fit_refine_axis(const double *from, int64_t outer, int64_t n, int64_t inner, double *to)
{
    const int64_t n_to = 2 * n - N4_TAPS + 1;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < n_to; j++)
            for (int64_t i = 0; i < inner; i++) {
                const double *at = from + (o * n + j / 2) * inner + i;
                to[(o * n_to + j) * inner + i] =
                    j % 2 ? (at[0] + 6 * at[inner] + at[2 * inner]) / 8 : (at[0] + at[inner]) / 2;
            }
}

/* Doubles the spans of the lattice along every axis. */
static void fit_refine(const struct fit *fit)
{
    const int64_t *n = fit->points, fine[3] = {2 * n[0] - 3, 2 * n[1] - 3, 2 * n[2] - 3};
    fit_refine_axis(fit->record.lattice, n[0] * n[1], n[2], 1, fit->spare);
    fit_refine_axis(fit->spare, n[0], n[1], fine[2], fit->update);
    fit_refine_axis(fit->update, 1, n[0], fine[1] * fine[2], fit->record.lattice);
}

/* Describes the lattice of a level. */
static void fit_begin_level(struct fit *fit, int level)
{
    fit->level = level;
    for (int d = 0; d < 3; d++) {
        fit->points[d] = ts_n4_points(&fit->grid, level, d);
        ts_n4_taps_fill(&fit->grid.axes[d], level, false, &fit->taps[d]);
    }
}

/* Carries out one iteration, and returns its convergence. */
static double fit_iterate(struct fit *fit)
{
    const int64_t n = ts_n4_lattice(&fit->grid, fit->level);
    fit_count(fit);
    fit_make_filters(fit);
    fit_deconvolve(fit);
    fit_make_means(fit);
    fit_sum(fit, false, fit->sums);
    for (int64_t i = 0; i < n; i++) {
        fit->update[i] = fit->density[i] > 0 ? fit->sums[i] / fit->density[i] : 0;
        fit->record.lattice[i] += fit->update[i];
    }
    return fit_range(fit, fit->update);
}

static void fit_level(struct fit *fit, int level)
{
    double *row = fit->record.convergence + level * fit->grid.most;
    int64_t i = 0;
    const int64_t most = (int64_t)fit->params->iterations.values[level];
    if (level > 0)
        fit_refine(fit);
    fit_begin_level(fit, level);
    fit_sum(fit, true, fit->density);
    while (i < most && fit->width > 0) {
        row[i] = fit_iterate(fit);
        if (!(row[i++] > fit->params->threshold))
            break;
    }
    fit->record.iterations[level] = (double)i;
}

void ts_n4_fit(const struct stage_context *context, const float *samples, const float *weights,
               void *work)
{
    struct fit fit = fit_describe(context);
    struct memory_layout layout = {.base = work};
    const int n = ts_n4_padded(fit.params);
    fit_lay_out(&fit, &layout);
    fit.samples = samples;
    fit.weights = weights;
    for (int i = 0; i < n; i++)
        fit.sharpening.cosines[i] = cos(2 * acos(-1.0) * i / n);
    memset(fit.record.lattice, 0, (size_t)ts_n4_lattice(&fit.grid, 0) * sizeof(double));
    for (int64_t i = 0; i < fit.grid.levels * fit.grid.most; i++)
        fit.record.convergence[i] = (double)NAN;
    *fit.record.counted = 0;
    for (int64_t i = 0; i < ts_n4_samples(&fit.grid); i++)
        *fit.record.counted += samples[i] == samples[i];
    fit_begin_level(&fit, 0);
    (void)fit_range(&fit, NULL);
    for (int level = 0; *fit.record.counted > 0 && level < fit.grid.levels; level++)
        fit_level(&fit, level);
}
