/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread takes a row at a time: it converts the rows of the window to keys (stages/values/value_keys.h), with a byte
 * beside each that says whether it is valid, and then gathers the valid keys of each window and selects the one in the
 * middle (quickselect).
 */
#include "stages/filters/median_masked.h"

#include <omp.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/filters/median.h"
#include "stages/values/value_keys.h"

enum { MOST_WIDTH = 15 };

int32_t ts_select_key(int32_t *keys, int64_t n, uint32_t rank)
{
    int64_t first = 0, last = n - 1;
    while (first < last) {
        const int32_t pivot = keys[first + (last - first) / 2];
        int64_t i = first, j = last;
        while (i <= j) {
            while (keys[i] < pivot)
                i++;
            while (keys[j] > pivot)
                j--;
            if (i <= j) {
                const int32_t key = keys[i];
                keys[i++] = keys[j];
                keys[j--] = key;
            }
        }
        if (rank <= j)
            last = j;
        else if (rank >= i)
            first = i;
        else
            break;
    }
    return keys[rank];
}

/* One slab, and where its parts of the scratch stand. */
struct masked_run {
    const struct ts_image *in;
    struct ts_image *out;
    const int64_t *columns; /* columns[i]: the column for sample i - radius, or -1 for the constant */
    enum ts_border border;
    int32_t constant;
    int64_t ny, nx, radius, width, depth, line; /* line: samples of a row with its border */
    size_t indices, threads, thread_bytes, keys, valid, medians, bytes;
};

static struct masked_run describe(const struct stage_context *context)
{
    const struct median_params *params = context->params;
    struct masked_run run = {.border = (enum ts_border)params->border,
                             .ny = context->in.axes[1].n,
                             .nx = context->in.axes[2].n,
                             .radius = params->radius,
                             .width = 2 * params->radius + 1};
    size_t own = 0;
    run.depth = params->dimensions == MEDIAN_3D ? run.width : 1;
    run.line = run.nx + 2 * run.radius;
    run.keys = ts_scratch_part(&own, run.width * run.depth * run.line, sizeof(int32_t));
    run.valid = ts_scratch_part(&own, run.width * run.depth * run.line, sizeof(uint8_t));
    run.medians = ts_scratch_part(&own, run.nx, sizeof(int32_t));
    run.thread_bytes = own;
    run.indices = ts_scratch_part(&run.bytes, run.line, sizeof(int64_t));
    run.threads = ts_scratch_part(&run.bytes, context->threads, own);
    return run;
}

size_t ts_median_masked_bytes(const struct stage_context *context)
{
    return describe(context).bytes;
}

/* Loads a row, which may lie outside of its slice, with its border. */
static void load_row(const struct masked_run *run, int64_t slice, int64_t row, int32_t *keys, uint8_t *valid)
{
    const int64_t from = ts_border_index(row, run->ny, run->border);
    const uint64_t *bits = ts_slice_valid(run->in, slice);
    int32_t *plain = keys + run->radius;
    if (from >= 0)
        ts_value_keys_load(run->in->dtype,
                           (const char *)ts_slice_data(run->in, slice) +
                               (size_t)(from * run->nx) * ts_dtype_bytes(run->in->dtype),
                           plain, run->nx);
    for (int64_t i = 0; i < run->line; i++) {
        const int64_t column = from < 0 ? -1 : run->columns[i];
        valid[i] = column < 0 || ts_valid_at(bits, (size_t)(from * run->nx + column));
        if (column < 0)
            keys[i] = run->constant;
        else if (i < run->radius || i >= run->radius + run->nx)
            keys[i] = plain[column];
    }
}

static int32_t median_of(const struct masked_run *run, const int32_t *keys, const uint8_t *valid, int64_t x)
{
    int32_t window[MOST_WIDTH * MOST_WIDTH * MOST_WIDTH];
    int64_t n = 0;
    for (int64_t i = 0; i < run->width * run->depth; i++)
        for (int64_t k = x; k < x + run->width; k++) {
            window[n] = keys[i * run->line + k];
            n += valid[i * run->line + k];
        }
    return ts_select_key(window, n, (uint32_t)(n / 2));
}

static void map_row(const struct masked_run *run, int64_t z, int64_t y, char *own)
{
    int32_t *keys = (int32_t *)(own + run->keys), *medians = (int32_t *)(own + run->medians);
    uint8_t *valid = (uint8_t *)(own + run->valid);
    const int64_t lines = run->width * run->depth, middle = run->depth / 2 * run->width + run->radius;
    for (int64_t i = 0; i < lines; i++)
        load_row(run, z + i / run->width, y - run->radius + i % run->width, keys + i * run->line,
                 valid + i * run->line);
    for (int64_t x = 0; x < run->nx; x++) {
        const int64_t at = middle * run->line + run->radius + x;
        medians[x] = valid[at] ? median_of(run, keys, valid, x) : keys[at];
    }
    ts_value_keys_store(run->out->dtype,
                        (char *)ts_slice_data(run->out, z) + (size_t)(y * run->nx) * ts_dtype_bytes(run->out->dtype),
                        medians, run->nx);
}

void ts_median_masked(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                      int32_t constant, void *scratch)
{
    struct masked_run run = describe(context);
    int64_t *columns = (int64_t *)((char *)scratch + run.indices);
    run.in = in;
    run.out = out;
    run.constant = constant;
    run.columns = columns;
    ts_border_fill(columns, -run.radius, run.line, run.nx, run.border);
#pragma omp parallel for schedule(dynamic) num_threads(context->threads)
    for (int64_t row = 0; row < out->axes[0].n * run.ny; row++)
        map_row(&run, row / run.ny, row % run.ny,
                (char *)scratch + run.threads + (size_t)omp_get_thread_num() * run.thread_bytes);
}
