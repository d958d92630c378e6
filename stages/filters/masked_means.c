/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice is summed along z first, into an image of sums, and then row by row down the columns and along the row. Every
 * slice of the output is worked out by itself, so that neither slabs nor threads show in the bytes.
 */
#include "stages/filters/masked_means.h"

#include <math.h>
#include <omp.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"

/* One slab, and where its parts of the scratch stand. */
struct means_run {
    const struct masked_window *window;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx;
    size_t sums, columns, threads, thread_bytes, line, values, bytes;
};

static struct means_run describe(const struct stage_context *context, const struct masked_window *window)
{
    struct means_run run = {.window = window, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    const int64_t width = run.nx + 2 * window->radius[2];
    size_t own = 0;
    run.line = ts_scratch_part(&own, width, sizeof(struct masked_sum));
    run.values = ts_scratch_part(&own, run.nx, sizeof(double));
    run.thread_bytes = own;
    run.sums = ts_scratch_part(&run.bytes, run.ny * run.nx, sizeof(struct masked_sum));
    run.columns = ts_scratch_part(&run.bytes, width, sizeof(int64_t));
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

/* Sums row y along z, around output slice z. `values` is scratch for a row. */
static void sum_along_z(const struct means_run *run, int64_t z, int64_t y, double *values, struct masked_sum *sums)
{
    const int64_t width = 2 * run->window->radius[0] + 1;
    for (int64_t x = 0; x < run->nx; x++)
        sums[x] = (struct masked_sum){0, 0};
    for (int64_t k = 0; k < width; k++) {
        const uint64_t *valid = ts_slice_valid(run->in, z + k);
        const double weight = weight_of(run->window, 0, k);
        ts_load_f64(values, row_of(run->in, z + k, y), run->in->dtype, (size_t)run->nx);
        for (int64_t x = 0; x < run->nx; x++)
            if (ts_valid_at(valid, (size_t)(y * run->nx + x))) {
                sums[x].value += weight * values[x];
                sums[x].weight += weight;
            }
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

/* Sums the image of sums down the columns, around row y, and extends the row by the samples beyond its ends. */
static void sum_down(const struct means_run *run, const struct masked_sum *sums, const int64_t *columns, int64_t y,
                     struct masked_sum *line)
{
    const struct masked_window *window = run->window;
    const int64_t half = window->radius[2], height = 2 * window->radius[1] + 1;
    struct masked_sum *row = line + half;
    const struct masked_sum above = outside(window, 0), beside = outside(window, 1);
    for (int64_t x = 0; x < run->nx; x++)
        row[x] = (struct masked_sum){0, 0};
    for (int64_t j = 0; j < height; j++) {
        const int64_t from = ts_border_index(y + j - window->radius[1], run->ny, window->border);
        const double weight = weight_of(window, 1, j);
        for (int64_t x = 0; x < run->nx; x++)
            add(&row[x], from < 0 ? above : sums[from * run->nx + x], weight);
    }
    for (int64_t i = 0; i < half; i++) {
        const int64_t left = columns[i], right = columns[half + run->nx + i];
        line[i] = left < 0 ? beside : row[left];
        row[run->nx + i] = right < 0 ? beside : row[right];
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

/* Sums along row y, and writes its means; pixels that are invalid keep what `values` has. */
static void sum_across(const struct means_run *run, int64_t z, int64_t y, const struct masked_sum *line, double *values)
{
    const int64_t width = 2 * run->window->radius[2] + 1;
    const struct ts_image middle = ts_image_slices(run->in, z + run->window->radius[0], 1);
    ts_load_f64(values, row_of(&middle, 0, y), middle.dtype, (size_t)run->nx);
    for (int64_t x = 0; x < run->nx; x++) {
        struct masked_sum sum = {0, 0};
        if (!ts_valid_at(middle.valid, (size_t)(y * run->nx + x)))
            continue;
        for (int64_t i = 0; i < width; i++)
            add(&sum, line[x + i], weight_of(run->window, 2, i));
        values[x] = sum.value / sum.weight;
    }
    ts_masked_store(values, ts_slice_data(run->out, z), run->out->dtype, y * run->nx, run->nx);
}

void ts_masked_means(const struct stage_context *context, const struct masked_window *window, const struct ts_image *in,
                     struct ts_image *out, void *scratch)
{
    struct means_run run = describe(context, window);
    struct masked_sum *sums = (struct masked_sum *)((char *)scratch + run.sums);
    int64_t *columns = (int64_t *)((char *)scratch + run.columns);
    run.in = in;
    run.out = out;
    ts_border_fill(columns, -window->radius[2], run.nx + 2 * window->radius[2], run.nx, window->border);
#pragma omp parallel num_threads(context->threads)
    {
        char *own = (char *)scratch + run.threads + (size_t)omp_get_thread_num() * run.thread_bytes;
        struct masked_sum *line = (struct masked_sum *)(own + run.line);
        double *values = (double *)(own + run.values);
        for (int64_t z = 0; z < out->axes[0].n; z++) {
#pragma omp for schedule(static)
            for (int64_t y = 0; y < run.ny; y++)
                sum_along_z(&run, z, y, values, sums + y * run.nx);
#pragma omp for schedule(static)
            for (int64_t y = 0; y < run.ny; y++) {
                sum_down(&run, sums, columns, y, line);
                sum_across(&run, z, y, line, values);
            }
        }
    }
}
