/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of the columns of the window slide down with the row: a row enters and one leaves. Along a row the sum of a
 * window slides over those of its columns, and how many pixels it has is known from masked_mend.h.
 */
#include "stages/filters/box_masked.h"

#include <math.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/filters/box.h"
#include "stages/filters/masked_mend.h"

struct box_job {
    struct masked_window window;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx;
    size_t enters, leaves, sums, own_bytes;
};

/* A thread's columns; they stand around row y of output slice z. */
struct box_columns {
    bool ready;
    int64_t z, y;
};

/* Loads a row of valid values, with 0 for the others. */
static void load_row(const struct box_job *job, int64_t slice, int64_t y, double *values)
{
    const int64_t row = ts_border_index(y, job->ny, job->window.border), first = row * job->nx;
    if (row < 0) {
        for (int64_t x = 0; x < job->nx; x++)
            values[x] = job->window.constant;
        return;
    }
    ts_load_f64(values, (const char *)ts_slice_data(job->in, slice) + (size_t)first * ts_dtype_bytes(job->in->dtype),
                job->in->dtype, (size_t)job->nx);
    ts_valid_fill_doubles(ts_slice_valid(job->in, slice), (size_t)first, (size_t)job->nx, 0, values);
}

TS_VECTORIZED static void slide(double *restrict sums, const double *restrict enters, const double *restrict leaves,
                                int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        sums[x] += enters[x] - leaves[x];
}

/* Moves the columns down to the row, or sums them anew where that is less work. */
static void move_to(const struct box_job *job, const struct masked_row *row, char *own)
{
    struct box_columns *columns = (struct box_columns *)(void *)own;
    double *enters = (double *)(void *)(own + job->enters), *leaves = (double *)(void *)(own + job->leaves),
           *sums = (double *)(void *)(own + job->sums);
    const int64_t half = job->window.radius[1];
    const bool slides = columns->ready && columns->z == row->z && columns->y <= row->y && row->y - columns->y <= half;
    if (!slides) {
        memset(sums, 0, (size_t)job->nx * sizeof *sums);
        memset(leaves, 0, (size_t)job->nx * sizeof *leaves);
    }
    for (int64_t slice = row->z; slice <= row->z + 2 * job->window.radius[0]; slice++)
        for (int64_t y = slides ? columns->y + half + 1 : row->y - half; y <= row->y + half; y++) {
            load_row(job, slice, y, enters);
            if (slides)
                load_row(job, slice, y - 2 * half - 1, leaves);
            slide(sums, enters, leaves, job->nx);
        }
    *columns = (struct box_columns){true, row->z, row->y};
}

/* Returns the sum of a column, which may lie outside, and how many of its pixels are invalid. */
static inline struct masked_sum column_at(const struct box_job *job, const struct masked_row *row, const double *sums,
                                          int64_t x)
{
    const int64_t *radius = job->window.radius;
    const int64_t column = x >= 0 && x < job->nx ? x : ts_border_index(x, job->nx, job->window.border);
    if (column >= 0)
        return (struct masked_sum){sums[column], row->missing[column]};
    return (struct masked_sum){job->window.constant * (double)((2 * radius[0] + 1) * (2 * radius[1] + 1)), 0};
}

static void box_pixels(const void *of, const struct masked_row *row, int64_t first, int64_t end, void *own)
{
    const struct box_job *job = of;
    const int64_t *radius = job->window.radius, half = radius[2];
    double *means = (double *)(void *)((char *)own + job->enters), sum = 0, missing = 0;
    const double *sums = (const double *)(const void *)((char *)own + job->sums);
    const double count = (double)((2 * radius[0] + 1) * (2 * radius[1] + 1) * (2 * half + 1));
    move_to(job, row, own);
    for (int64_t x = first - half; x < end + half; x++) {
        const struct masked_sum enters = column_at(job, row, sums, x);
        sum += enters.value;
        missing += enters.weight;
        if (x < first + half)
            continue;
        const struct masked_sum leaves = column_at(job, row, sums, x - 2 * half);
        means[x - half - first] = sum / (count - missing);
        sum -= leaves.value;
        missing -= leaves.weight;
    }
    ts_masked_store(means, ts_slice_data(job->out, row->z), job->out->dtype, row->y * job->nx + first, end - first);
}

static struct masked_mend describe(struct box_job *job, const struct stage_context *context)
{
    *job = (struct box_job){
        .window = ts_box_masked_window(context), .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    ts_scratch_part(&job->own_bytes, 1, sizeof(struct box_columns));
    job->enters = ts_scratch_part(&job->own_bytes, job->nx, sizeof(double));
    job->leaves = ts_scratch_part(&job->own_bytes, job->nx, sizeof(double));
    job->sums = ts_scratch_part(&job->own_bytes, job->nx, sizeof(double));
    struct masked_mend mend = {
        .border = job->window.border, .pixels = box_pixels, .job = job, .own_bytes = job->own_bytes};
    memcpy(mend.radius, job->window.radius, sizeof mend.radius);
    return mend;
}

bool ts_box_mends(const struct stage_context *context)
{
    const struct masked_window window = ts_box_masked_window(context);
    double low, high, count = 1;
    for (int axis = 0; axis < 3; axis++)
        count *= 2 * (double)window.radius[axis] + 1;
    ts_dtype_range(context->in.dtype, &low, &high);
    return context->in.dtype != TS_F32 && count * (high - low) <= 0x1p53;
}

size_t ts_box_mend_bytes(const struct stage_context *context)
{
    struct box_job job;
    const struct masked_mend mend = describe(&job, context);
    return ts_masked_mend_bytes(context, &mend);
}

void ts_box_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out, void *scratch)
{
    struct box_job job;
    const struct masked_mend mend = describe(&job, context);
    job.in = in;
    job.out = out;
    ts_masked_mend(context, &mend, in, out, scratch);
}
