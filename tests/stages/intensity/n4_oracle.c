/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/intensity/n4_oracle.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "stages/intensity/n4.h"

/* A sample that counts: its place along each axis as a part of the domain, u and its weight. */
struct sample {
    double at[3], logarithm, weight;
};

/* One level's spline: points[d] control points along axis d, for a domain of `spans` spans. */
struct spline {
    int64_t points[3];
    double spans[3], *lattice;
};

struct oracle {
    const struct n4_params *params;
    int64_t n[3];
    double spans[3], begin[3], length[3]; /* the domain in voxels */
    struct sample *samples;
    size_t n_samples;
    struct spline splines[N4_LEVELS_MAX];
    int n_splines;
};

/* The cubic B-spline with its middle at 0. */
static double b_spline(double t)
{
    const double a = fabs(t);
    if (a < 1)
        return 2.0 / 3 - a * a + a * a * a / 2;
    return a < 2 ? (2 - a) * (2 - a) * (2 - a) / 6 : 0;
}

/* Calls `visit` with the control points whose spline is not 0 at this place, and their factors. */
typedef void visitor(void *user, int64_t point, double factor);

static void visit_points(const struct spline *spline, const double at[3], visitor *visit,
                         void *user)
{
    double f[3];
    for (int64_t k = 0; k < spline->points[0]; k++) {
        if ((f[0] = b_spline(at[0] * spline->spans[0] - (double)(k - 1))) == 0)
            continue;
        for (int64_t m = 0; m < spline->points[1]; m++) {
            if ((f[1] = b_spline(at[1] * spline->spans[1] - (double)(m - 1))) == 0)
                continue;
            for (int64_t l = 0; l < spline->points[2]; l++) {
                f[2] = b_spline(at[2] * spline->spans[2] - (double)(l - 1));
                visit(user, (k * spline->points[1] + m) * spline->points[2] + l,
                      f[0] * f[1] * f[2]);
            }
        }
    }
}

struct evaluation {
    const double *lattice;
    double sum;
};

static void add_value(void *user, int64_t point, double factor)
{
    struct evaluation *evaluation = user;
    evaluation->sum += evaluation->lattice[point] * factor;
}

static double spline_at(const struct spline *spline, const double at[3])
{
    struct evaluation evaluation = {spline->lattice, 0};
    visit_points(spline, at, add_value, &evaluation);
    return evaluation.sum;
}

static double field_at(const struct oracle *oracle, const double at[3])
{
    double sum = 0;
    for (int i = 0; i < oracle->n_splines; i++)
        sum += spline_at(&oracle->splines[i], at);
    return sum;
}

/* ---- Lee's approximation --------------------------------------------------------------------- */

struct approximation {
    double value, weight, squares, *delta, *omega;
};

static void add_square(void *user, int64_t point, double factor)
{
    (void)point;
    ((struct approximation *)user)->squares += factor * factor;
}

static void add_sample(void *user, int64_t point, double factor)
{
    struct approximation *a = user;
    const double phi = factor * a->value / a->squares;
    a->delta[point] += a->weight * factor * factor * phi;
    a->omega[point] += a->weight * factor * factor;
}

/* Writes the control points that approximate the values of the samples. */
static void approximate(const struct oracle *oracle, const struct spline *spline,
                        const double *values, double *points)
{
    const size_t n = (size_t)(spline->points[0] * spline->points[1] * spline->points[2]);
    struct approximation a = {.delta = points, .omega = calloc(n, sizeof(double))};
    memset(points, 0, n * sizeof *points);
    for (size_t i = 0; i < oracle->n_samples; i++) {
        const struct sample *sample = &oracle->samples[i];
        a.squares = 0;
        a.value = values[i];
        a.weight = sample->weight;
        visit_points(spline, sample->at, add_square, &a);
        visit_points(spline, sample->at, add_sample, &a);
    }
    for (size_t i = 0; i < n; i++)
        points[i] = a.omega[i] > 0 ? points[i] / a.omega[i] : 0;
    free(a.omega);
}

/* ---- sharpening ------------------------------------------------------------------------------ */

static void transform(const double complex *in, int n, int sign, double complex *out)
{
    double complex turns[N4_PADDED_MAX];
    for (int i = 0; i < n; i++)
        turns[i] = cexp(sign * 2 * M_PI * I * i / n);
    for (int k = 0; k < n; k++) {
        out[k] = 0;
        for (int i = 0; i < n; i++)
            out[k] += in[i] * turns[(int64_t)k * i % n];
    }
}

/* Replaces n values by E[u] of each. Returns false if all are the same. */
static bool sharpen(const struct n4_params *params, double *u, size_t n)
{
    static double complex counts[N4_PADDED_MAX], blur[N4_PADDED_MAX], counts_of[N4_PADDED_MAX],
        blur_of[N4_PADDED_MAX];
    const int bins = (int)params->bins, padded = 2 << (int)ceil(log2(bins)),
              before = (padded - bins) / 2;
    double low = INFINITY, high = -INFINITY, means[N4_BINS_MAX + 1];
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, u[i]);
        high = fmax(high, u[i]);
    }
    const double width = (high - low) / (bins - 1), fwhm = params->fwhm / width;
    if (!(high > low))
        return false;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; i++) {
        const double place = (u[i] - low) / width, below = fmin(floor(place), bins - 1);
        const double part = below < bins - 1 ? place - below : 0;
        counts[before + (int)below] += 1 - part;
        counts[before + (int)below + 1] += part;
    }
    for (int i = 0; i < padded; i++) {
        const double apart = fmin(i, padded - i);
        blur[i] = 2 * sqrt(log(2) / M_PI) / fwhm * exp(-4 * log(2) * apart * apart / (fwhm * fwhm));
    }
    transform(counts, padded, -1, counts_of);
    transform(blur, padded, -1, blur_of);
    for (int i = 0; i < padded; i++)
        counts_of[i] *= creal(conj(blur_of[i]) / (conj(blur_of[i]) * blur_of[i] + params->noise));
    transform(counts_of, padded, 1, counts);
    for (int i = 0; i < bins; i++) {
        double weights = 0, sum = 0;
        for (int j = 0; j < padded; j++) {
            const double weight = fmax(creal(counts[j]) / padded, 0) *
                                  creal(blur[(i + before - j + padded) % padded]);
            weights += weight;
            sum += weight * (low + (j - before) * width);
        }
        means[i] = weights > 0 ? sum / weights : low + i * width;
    }
    means[bins] = means[bins - 1];
    for (size_t i = 0; i < n; i++) {
        const double place = (u[i] - low) / width, below = fmin(floor(place), bins - 1);
        u[i] = means[(int)below] + (means[(int)below + 1] - means[(int)below]) * (place - below);
    }
    return true;
}

/* ---- iterations ------------------------------------------------------------------------------ */

/* Carries out one iteration of the last level. Returns its convergence, or NaN if there is nothing
 * to sharpen. */
static double iterate(struct oracle *oracle)
{
    const struct spline *spline = &oracle->splines[oracle->n_splines - 1];
    const size_t n = oracle->n_samples,
                 points = (size_t)(spline->points[0] * spline->points[1] * spline->points[2]);
    double *u = malloc(n * sizeof *u), *mean = malloc(n * sizeof *mean),
           *update = malloc(points * sizeof *update), sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        u[i] = mean[i] = oracle->samples[i].logarithm - field_at(oracle, oracle->samples[i].at);
    const bool some = sharpen(oracle->params, mean, n);
    for (size_t i = 0; i < n; i++)
        u[i] -= mean[i];
    approximate(oracle, spline, u, update);
    const struct spline change = {
        .points = {spline->points[0], spline->points[1], spline->points[2]},
        .spans = {spline->spans[0], spline->spans[1], spline->spans[2]},
        .lattice = update};
    for (size_t i = 0; i < n; i++)
        sum += u[i] = exp(-spline_at(&change, oracle->samples[i].at));
    for (size_t i = 0; i < n; i++)
        squares += (u[i] - sum / (double)n) * (u[i] - sum / (double)n);
    for (size_t i = 0; some && i < points; i++)
        spline->lattice[i] += update[i];
    free(u);
    free(mean);
    free(update);
    if (!some)
        return NAN;
    return n > 1 ? sqrt(squares / (double)(n - 1)) / (sum / (double)n) : 0;
}

static void run_level(struct oracle *oracle, int level, double *convergence, double *iterations)
{
    struct spline *spline = &oracle->splines[level];
    for (int d = 0; d < 3; d++) {
        spline->spans[d] = ldexp(oracle->spans[d], level);
        spline->points[d] = (int64_t)spline->spans[d] + 3;
    }
    spline->lattice =
        calloc((size_t)(spline->points[0] * spline->points[1] * spline->points[2]), sizeof(double));
    oracle->n_splines = level + 1;
    const int most = (int)oracle->params->iterations.values[level];
    int i = 0;
    for (double change = INFINITY; i < most && change > oracle->params->threshold; i++) {
        change = iterate(oracle);
        if (isnan(change))
            break;
        if (convergence)
            convergence[i] = change;
    }
    if (iterations)
        iterations[level] = i;
}

/* ---- control points -------------------------------------------------------------------------- */

/* The two-scale relation of the cubic B-spline: a point i of the coarse lattice is at fine point
 * 2 i - 1, and is spread over those up to two further by these factors. */
static double two_scale(int64_t fine, int64_t coarse)
{
    static const double factors[] = {6.0 / 8, 4.0 / 8, 1.0 / 8};
    const int64_t apart = llabs(fine - (2 * coarse - 1));
    return apart <= 2 ? factors[apart] : 0;
}

/* Returns the point `at` of the field's lattice at a level: that of this level's own, and those of
 * the levels before. */
static double point_at(const struct oracle *oracle, int level, const int64_t at[3])
{
    const struct spline *spline = &oracle->splines[level];
    double sum = spline->lattice[(at[0] * spline->points[1] + at[1]) * spline->points[2] + at[2]];
    if (level == 0)
        return sum;
    const int64_t *n = oracle->splines[level - 1].points;
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int64_t from[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
        const double factor =
            two_scale(at[0], from[0]) * two_scale(at[1], from[1]) * two_scale(at[2], from[2]);
        if (factor > 0)
            sum += factor * point_at(oracle, level - 1, from);
    }
    return sum;
}

static void write_points(const struct oracle *oracle, double *points)
{
    const int last = oracle->n_splines - 1;
    if (!points || last < 0)
        return;
    const int64_t *n = oracle->splines[last].points;
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int64_t at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
        points[i] = point_at(oracle, last, at);
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

static double list_at(const struct ts_numbers *list, int d)
{
    return list->columns == 1 ? list->values[0] : list->values[2 - d];
}

/* The place of a voxel as a part of the domain; one voxel alone is in the middle. */
static double part_of(const struct oracle *oracle, int d, double voxel)
{
    return oracle->length[d] > 0 ? (voxel - oracle->begin[d]) / oracle->length[d] : 0.5;
}

static void describe_domain(struct oracle *oracle, const struct stage_context *context)
{
    const struct n4_params *params = oracle->params;
    for (int d = 0; d < 3; d++) {
        const struct ts_axis *axis = &context->in.axes[d];
        const double extent = (double)(axis->n - 1);
        oracle->n[d] = axis->n;
        oracle->length[d] = extent;
        oracle->spans[d] = list_at(&params->control_points, d) - 3;
        if (params->spline_distance > 0) {
            const double span = params->spline_distance / axis->spacing;
            oracle->spans[d] = fmax(1, ceil(extent / span));
            oracle->length[d] = oracle->spans[d] * span;
        }
        oracle->begin[d] = (extent - oracle->length[d]) / 2;
    }
}

/* The first sample of an axis of n voxels, of which every `shrink`-th is taken as often as it goes
 * into n: what is left over is divided, and the larger half comes first. */
static int64_t first_sample(int64_t n, int64_t shrink)
{
    const int64_t samples = n >= shrink ? n / shrink : 1, over = n - 1 - (samples - 1) * shrink;
    return over - over / 2;
}

static int64_t sample_count(const struct oracle *oracle, int d)
{
    const int64_t n = oracle->n[d], shrink = oracle->params->shrink;
    return n >= shrink ? n / shrink : 1;
}

static bool is_sample(const struct oracle *oracle, int d, int64_t voxel)
{
    const int64_t shrink = oracle->params->shrink,
                  from = voxel - first_sample(oracle->n[d], shrink);
    return from >= 0 && from % shrink == 0 && from / shrink < sample_count(oracle, d);
}

/* Where a sample counts as being: its voxel, or with ITK's convention where it is among the
 * samples, spread over the whole axis. */
static double sample_place(const struct oracle *oracle, int d, int64_t voxel)
{
    const int64_t n = sample_count(oracle, d);
    const double number = (double)(voxel - first_sample(oracle->n[d], oracle->params->shrink)) /
                          (double)oracle->params->shrink;
    if (oracle->params->convention == N4_EXACT || n == 1)
        return (double)voxel;
    return number / (double)(n - 1) * (double)(oracle->n[d] - 1);
}

/* Adds the voxel to the samples if it is one and counts. */
static void add_voxel(struct oracle *oracle, const int64_t zyx[3], double value, double weight)
{
    struct sample sample = {.logarithm = log(value), .weight = weight};
    for (int d = 0; d < 3; d++) {
        if (!is_sample(oracle, d, zyx[d]))
            return;
        sample.at[d] = part_of(oracle, d, sample_place(oracle, d, zyx[d]));
    }
    if (value > 0 && isfinite(value) && weight > 0 && isfinite(weight))
        oracle->samples[oracle->n_samples++] = sample;
}

/* Writes the indices of voxel i. */
static void indices_of(const struct oracle *oracle, size_t i, int64_t zyx[3])
{
    const int64_t at = (int64_t)i, ny = oracle->n[1], nx = oracle->n[2];
    zyx[0] = at / (ny * nx);
    zyx[1] = at / nx % ny;
    zyx[2] = at % nx;
}

static void run_levels(struct oracle *oracle, struct bench_tables *tables)
{
    double *convergence = tables ? ts_bench_table(tables, "convergence") : NULL,
           *iterations = tables ? ts_bench_table(tables, "iterations") : NULL;
    const struct ts_numbers *levels = &oracle->params->iterations;
    int64_t most = 1;
    for (int level = 0; level < levels->columns; level++)
        most = (int64_t)fmax((double)most, levels->values[level]);
    for (int64_t i = 0; convergence && i < levels->columns * most; i++)
        convergence[i] = NAN;
    for (int level = 0; level < levels->columns && oracle->n_samples > 0; level++)
        run_level(oracle, level, convergence ? convergence + level * most : NULL, iterations);
}

static void correct(const struct stage_context *context, const struct ts_image *image,
                    const double *in, const double *weights, double *out,
                    struct bench_tables *tables)
{
    struct oracle oracle = {.params = context->params};
    double *field = tables ? ts_bench_table(tables, "field") : NULL;
    const size_t n = ts_image_count(&context->in), plane = ts_slice_count(&context->in);
    int64_t zyx[3];
    describe_domain(&oracle, context);
    oracle.samples = malloc((n + 1) * sizeof *oracle.samples);
    for (size_t i = 0; i < n; i++) {
        indices_of(&oracle, i, zyx);
        const bool valid = !image->masked || ts_valid_at(ts_slice_valid(image, zyx[0]), i % plane);
        add_voxel(&oracle, zyx, in[i], valid ? weights[i] : 0);
    }
    run_levels(&oracle, tables);
    write_points(&oracle, tables ? ts_bench_table(tables, "control_points") : NULL);
    for (size_t i = 0; i < n; i++) {
        indices_of(&oracle, i, zyx);
        const double place[3] = {part_of(&oracle, 0, (double)zyx[0]),
                                 part_of(&oracle, 1, (double)zyx[1]),
                                 part_of(&oracle, 2, (double)zyx[2])};
        const double logarithm = field_at(&oracle, place);
        out[i] = in[i] * exp(-logarithm);
        if (field)
            field[i] = exp(logarithm);
    }
    for (int i = 0; i < oracle.n_splines; i++)
        free(oracle.splines[i].lattice);
    free(oracle.samples);
}

void ts_n4_oracle_results(const struct stage_context *context,
                          const struct ts_image inputs[STAGE_INPUTS], double *out,
                          struct bench_tables *tables)
{
    const size_t n = ts_image_count(&context->in);
    double *in = malloc((n + 1) * sizeof *in), *weights = malloc((n + 1) * sizeof *weights);
    ts_load_f64(in, inputs[0].data, inputs[0].dtype, n);
    for (size_t i = 0; i < n; i++)
        weights[i] = 1;
    for (int reference = N4_WEIGHTS; reference >= N4_MASK; reference--) {
        const struct ts_image *image = &inputs[1 + reference];
        double *values = malloc((n + 1) * sizeof *values);
        if (image->data)
            ts_load_f64(values, image->data, image->dtype, n);
        for (size_t i = 0; image->data && i < n; i++)
            weights[i] = reference == N4_WEIGHTS ? values[i] : values[i] != 0 ? weights[i] : 0;
        free(values);
    }
    correct(context, &inputs[0], in, weights, out, tables);
    free(in);
    free(weights);
}

void ts_n4_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t n = ts_image_count(&context->in);
    double *weights = malloc((n + 1) * sizeof *weights);
    const struct ts_image all_valid = {.masked = false};
    for (size_t i = 0; i < n; i++)
        weights[i] = 1;
    correct(context, &all_valid, in, weights, out, NULL);
    free(weights);
}
