/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice is summed along z first, into an image of sums, and then row by row down the columns and along the row. Every
 * slice of the output is worked out by itself, so that neither slabs nor threads show in the bytes.
 */
#include "stages/filters/masked_means.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"

/* One slab, and where its parts of the scratch stand. Sums of values and of weights lie in rows of their own. */
struct means_run {
    const struct masked_window *window;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx, width, plane; /* width: of a row with its border; plane: pixels of a slice */
    size_t sums, columns, outside, factors[3], threads, thread_bytes, line, row, means, rows, bytes;
};

static struct means_run describe(const struct stage_context *context, const struct masked_window *window)
{
    struct means_run run = {.window = window, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    size_t own = 0;
    int64_t longest = 0;
    run.width = run.nx + 2 * window->radius[2];
    run.plane = run.ny * run.nx;
    for (int axis = 0; axis < 3; axis++) {
        longest = window->radius[axis] > longest ? window->radius[axis] : longest;
        run.factors[axis] = ts_scratch_part(&run.bytes, 2 * window->radius[axis] + 1, sizeof(double));
    }
    run.line = ts_scratch_part(&own, 2 * run.width, sizeof(double));
    run.row = ts_scratch_part(&own, run.nx, sizeof(double));
    run.means = ts_scratch_part(&own, 2 * run.nx, sizeof(double));
    run.rows = ts_scratch_part(&own, 2 * longest + 1, sizeof(double *));
    run.thread_bytes = own;
    run.sums = ts_scratch_part(&run.bytes, 2 * run.plane, sizeof(double));
    run.columns = ts_scratch_part(&run.bytes, run.width, sizeof(int64_t));
    run.outside = ts_scratch_part(&run.bytes, 2 * run.nx, sizeof(double));
    run.threads = ts_scratch_part(&run.bytes, context->threads, own);
    return run;
}

size_t ts_masked_means_bytes(const struct stage_context *context, const struct masked_window *window)
{
    return describe(context, window).bytes;
}

static double weight_of(const struct masked_window *window, int axis, int64_t i)
{
    return window->weights[axis] ? (double)window->weights[axis][i] : 1;
}

static const void *row_of(const struct ts_image *image, int64_t z, int64_t y)
{
    const size_t row = (size_t)(y * image->axes[2].n) * ts_dtype_bytes(image->dtype);
    return (const char *)ts_slice_data(image, z) + row;
}

/* Adds four weighted rows, one after the other. */
TS_VECTORIZED static void add_four(double *restrict sums, const double *const *rows, const double *weights, int64_t n)
{
    const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const double of_a = weights[0], of_b = weights[1], of_c = weights[2], of_d = weights[3];
    for (int64_t x = 0; x < n; x++)
        sums[x] = sums[x] + of_a * a[x] + of_b * b[x] + of_c * c[x] + of_d * d[x];
}

TS_VECTORIZED static void add_row(double *restrict sums, const double *row, double weight, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        sums[x] += weight * row[x];
}

/* Sums `count` weighted rows. */
static void sum_rows(double *sums, const double *const *rows, const double *weights, int64_t count, int64_t n)
{
    int64_t k = 0;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (; k + 4 <= count; k += 4)
        add_four(sums, rows + k, weights + k, n);
    for (; k < count; k++)
        add_row(sums, rows[k], weights[k], n);
}

static const double *factors_of(const struct means_run *run, const char *scratch, int axis)
{
    return (const double *)(const void *)(scratch + run->factors[axis]);
}

/* Sums row y along z, around output slice z: the values to sums[x], their weights to sums[plane + x]. */
static void sum_along_z(const struct means_run *run, int64_t z, int64_t y, const char *scratch, double *row,
                        double *sums)
{
    const size_t n = (size_t)run->nx, first = (size_t)(y * run->nx);
    memset(sums, 0, n * sizeof *sums);
    memset(sums + run->plane, 0, n * sizeof *sums);
    for (int64_t k = 0; k <= 2 * run->window->radius[0]; k++) {
        const uint64_t *valid = ts_slice_valid(run->in, z + k);
        const double weight = factors_of(run, scratch, 0)[k];
        ts_load_f64(row, row_of(run->in, z + k, y), run->in->dtype, n);
        ts_valid_fill_doubles(valid, first, n, 0, row);
        add_row(sums, row, weight, run->nx);
        for (size_t x = 0; x < n; x++)
            row[x] = 1;
        ts_valid_fill_doubles(valid, first, n, 0, row);
        add_row(sums + run->plane, row, weight, run->nx);
    }
}

/* Adds the weighted sum to *into. */
static void add(struct masked_sum *into, struct masked_sum sum, double weight)
{
    into->value += weight * sum.value;
    into->weight += weight * sum.weight;
}

/* Returns the sum over a line of pixels outside that all have the border's constant, along axes 0 to `axis`. */
static struct masked_sum outside(const struct masked_window *window, int axis)
{
    struct masked_sum sum = {window->constant, 1};
    for (int a = 0; a <= axis; a++) {
        struct masked_sum along = {0, 0};
        for (int64_t i = 0; i <= 2 * window->radius[a]; i++)
            add(&along, sum, weight_of(window, a, i));
        sum = along;
    }
    return sum;
}

/* Sums the image of sums down the columns, around row y, and extends the row by the samples beyond its ends. `part` is
 * 0 for the values and 1 for their weights. */
static void sum_down(const struct means_run *run, int64_t y, int part, const char *scratch, const double **rows,
                     double *line)
{
    const struct masked_window *window = run->window;
    const int64_t half = window->radius[2], height = 2 * window->radius[1] + 1;
    const int64_t *columns = (const int64_t *)(const void *)(scratch + run->columns);
    const double *sums = (const double *)(const void *)(scratch + run->sums) + part * run->plane;
    const struct masked_sum beside = outside(window, 1);
    double *row = line + half;
    for (int64_t j = 0; j < height; j++) {
        const int64_t from = ts_border_index(y + j - window->radius[1], run->ny, window->border);
        rows[j] =
            from < 0 ? (const double *)(const void *)(scratch + run->outside) + part * run->nx : sums + from * run->nx;
    }
    sum_rows(row, rows, factors_of(run, scratch, 1), height, run->nx);
    for (int64_t i = 0; i < half; i++) {
        const int64_t left = columns[i], right = columns[half + run->nx + i];
        const double constant = part ? beside.weight : beside.value;
        line[i] = left < 0 ? constant : row[left];
        row[run->nx + i] = right < 0 ? constant : row[right];
    }
}

#define STORE(suffix, type)                                                                                            \
    case TS_##suffix:                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            ((type *)out)[first + x] = (type)(TS_##suffix == TS_F32 ? values[x] : rint(values[x]));                    \
        break;

void ts_masked_store(const double *values, void *out, enum ts_dtype dtype, int64_t first, int64_t n)
{
    switch (dtype) {
        TS_IMAGE_DTYPES(STORE)
    default:
        break;
    }
}

TS_VECTORIZED static void divide(double *restrict values, const double *weights, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        values[x] /= weights[x];
}

/* Sums along row y, and writes its means; pixels that are invalid keep their values. */
static void map_row(const struct means_run *run, int64_t z, int64_t y, const char *scratch, char *own)
{
    const struct ts_image middle = ts_image_slices(run->in, z + run->window->radius[0], 1);
    const int64_t count = 2 * run->window->radius[2] + 1;
    const double **rows = (const double **)(void *)(own + run->rows);
    double *means = (double *)(void *)(own + run->means), *row = (double *)(void *)(own + run->row);
    for (int part = 0; part < 2; part++) {
        double *line = (double *)(void *)(own + run->line) + part * run->width;
        sum_down(run, y, part, scratch, rows, line);
        for (int64_t i = 0; i < count; i++)
            rows[i] = line + i;
        sum_rows(means + part * run->nx, rows, factors_of(run, scratch, 2), count, run->nx);
    }
    divide(means, means + run->nx, run->nx);
    ts_load_f64(row, row_of(&middle, 0, y), middle.dtype, (size_t)run->nx);
    for (int64_t x = 0; x < run->nx; x++)
        means[x] = ts_valid_at(middle.valid, (size_t)(y * run->nx + x)) ? means[x] : row[x];
    ts_masked_store(means, ts_slice_data(run->out, z), run->out->dtype, y * run->nx, run->nx);
}

/* Writes the weights of each axis, and the sums of rows outside that have the border's constant. */
static void prepare(const struct means_run *run, char *scratch)
{
    const struct masked_sum above = outside(run->window, 0);
    double *rows = (double *)(void *)(scratch + run->outside);
    for (int axis = 0; axis < 3; axis++)
        for (int64_t i = 0; i <= 2 * run->window->radius[axis]; i++)
            ((double *)(void *)(scratch + run->factors[axis]))[i] = weight_of(run->window, axis, i);
    for (int64_t x = 0; x < run->nx; x++) {
        rows[x] = above.value;
        rows[run->nx + x] = above.weight;
    }
    ts_border_fill((int64_t *)(void *)(scratch + run->columns), -run->window->radius[2], run->width, run->nx,
                   run->window->border);
}

void ts_masked_means(const struct stage_context *context, const struct masked_window *window, const struct ts_image *in,
                     struct ts_image *out, void *scratch)
{
    struct means_run run = describe(context, window);
    run.in = in;
    run.out = out;
    prepare(&run, scratch);
#pragma omp parallel num_threads(context->threads)
    {
        char *own = (char *)scratch + run.threads + (size_t)omp_get_thread_num() * run.thread_bytes;
        for (int64_t z = 0; z < out->axes[0].n; z++) {
#pragma omp for schedule(static)
            for (int64_t y = 0; y < run.ny; y++)
                sum_along_z(&run, z, y, scratch, (double *)(void *)(own + run.row),
                            (double *)(void *)((char *)scratch + run.sums) + y * run.nx);
#pragma omp for schedule(static)
            for (int64_t y = 0; y < run.ny; y++)
                map_row(&run, z, y, scratch, own);
        }
    }
}
