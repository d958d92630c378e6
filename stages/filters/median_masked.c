/* SPDX-License-Identifier: Apache-2.0
 *
 * The pixels that have an invalid one in their window (masked_mend.h) are done stretch by stretch: the rows of their
 * windows become keys (stages/values/value_keys.h), with a byte beside each that says whether it is valid. The valid
 * keys of each window are gathered, and the one in the middle is selected (quickselect).
 */
#include "stages/filters/median_masked.h"

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/filters/masked_mend.h"
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

/* This describes one slab, and where the parts of a thread's scratch stand. */
struct masked_run {
    const struct ts_image *in;
    enum ts_border border;
    int32_t constant;
    int64_t ny, nx, radius, width, depth, line; /* line: samples of a row with its border */
    size_t keys, valid, medians, own_bytes;
};

/* Loads columns [first, first + n) of a row, which may lie outside of its slice. */
static void load_row(const struct masked_run *run, int64_t slice, int64_t y, int64_t first, int64_t n, int32_t *keys,
                     uint8_t *valid)
{
    const int64_t from = ts_border_index(y, run->ny, run->border), row = from * run->nx;
    const int64_t low = first < 0 ? -first : 0, high = first + n > run->nx ? run->nx - first : n;
    const uint64_t *bits = ts_slice_valid(run->in, slice);
    const char *values = ts_slice_data(run->in, slice);
    const size_t element = ts_dtype_bytes(run->in->dtype);
    if (from >= 0)
        ts_value_keys_load(run->in->dtype, values + (size_t)(row + first + low) * element, keys + low, high - low);
    for (int64_t i = 0; i < n; i++) {
        const bool inside = i >= low && i < high;
        const int64_t column = from < 0 ? -1 : inside ? first + i : ts_border_index(first + i, run->nx, run->border);
        valid[i] = column < 0 || ts_valid_at(bits, (size_t)(row + column));
        if (column < 0)
            keys[i] = run->constant;
        else if (!inside)
            ts_value_keys_load(run->in->dtype, values + (size_t)(row + column) * element, keys + i, 1);
    }
}

static int32_t median_of(const struct masked_run *run, const int32_t *keys, const uint8_t *valid, int64_t line)
{
    int32_t window[MOST_WIDTH * MOST_WIDTH * MOST_WIDTH];
    int64_t n = 0;
    for (int64_t i = 0; i < run->width * run->depth; i++)
        for (int64_t k = i * line; k < i * line + run->width; k++) {
            window[n] = keys[k];
            n += valid[k];
        }
    return ts_select_key(window, n, (uint32_t)(n / 2));
}

static void median_pixels(const void *job, const struct masked_row *row, int64_t first, int64_t end, void *own)
{
    const struct masked_run *run = job;
    int32_t *keys = (int32_t *)((char *)own + run->keys), *medians = (int32_t *)((char *)own + run->medians);
    uint8_t *valid = (uint8_t *)own + run->valid;
    const int64_t line = end - first + 2 * run->radius;
    for (int64_t i = 0; i < run->width * run->depth; i++)
        load_row(run, row->z + i / run->width, row->y - run->radius + i % run->width, first - run->radius, line,
                 keys + i * line, valid + i * line);
    for (int64_t x = 0; x < end - first; x++)
        medians[x] = median_of(run, keys + x, valid + x, line);
    ts_value_keys_store(run->in->dtype, (char *)row->out + (size_t)first * ts_dtype_bytes(run->in->dtype), medians,
                        end - first);
}

static struct masked_mend describe(struct masked_run *run, const struct stage_context *context)
{
    const struct median_params *params = context->params;
    const bool volume = params->dimensions == MEDIAN_3D;
    *run = (struct masked_run){.border = (enum ts_border)params->border,
                               .ny = context->in.axes[1].n,
                               .nx = context->in.axes[2].n,
                               .radius = params->radius,
                               .width = 2 * params->radius + 1};
    run->depth = volume ? run->width : 1;
    run->line = run->nx + 2 * run->radius;
    run->keys = ts_scratch_part(&run->own_bytes, run->width * run->depth * run->line, sizeof(int32_t));
    run->valid = ts_scratch_part(&run->own_bytes, run->width * run->depth * run->line, sizeof(uint8_t));
    run->medians = ts_scratch_part(&run->own_bytes, run->nx, sizeof(int32_t));
    return (struct masked_mend){.radius = {volume ? run->radius : 0, run->radius, run->radius},
                                .border = run->border,
                                .pixels = median_pixels,
                                .job = run,
                                .own_bytes = run->own_bytes};
}

size_t ts_median_mend_bytes(const struct stage_context *context)
{
    struct masked_run run;
    const struct masked_mend mend = describe(&run, context);
    return ts_masked_mend_bytes(context, &mend);
}

void ts_median_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                    int32_t constant, void *scratch)
{
    struct masked_run run;
    const struct masked_mend mend = describe(&run, context);
    run.in = in;
    run.constant = constant;
    ts_masked_mend(context, &mend, in, out, scratch);
}
