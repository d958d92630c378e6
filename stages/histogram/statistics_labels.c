/* SPDX-License-Identifier: Apache-2.0
 *
 * Values become order keys and labels become rows, a block at a time; both are then added to the row's moments and to
 * the counts of the round. All of these are integers, so that neither slabs nor threads change them.
 */
#include "stages/histogram/statistics_labels.h"

#include <math.h>
#include <string.h>

#include "stages/counting/label_counts.h"
#include "stages/engine/validity.h"
#include "stages/histogram/statistics_tables.h"
#include "stages/values/scope.h"

enum { BLOCK = 2048 };

STAGE_PARAMS_OF(statistics_params)

bool ts_statistics_by_label(const struct stage_context *context)
{
    return context->references[STATISTICS_LABELS - 1] != NULL;
}

int ts_statistics_label_places(const struct stage_context *context)
{
    return 2 * ts_statistics_percentiles(context);
}

enum ts_status ts_statistics_check_labels(const struct stage_context *context)
{
    const struct statistics_params *params = params_of(context);
    const enum ts_status status = ts_labels_check(context, STATISTICS_LABELS - 1, params->scope == SCOPE_SLICE);
    if (status != TS_OK || !context->references[STATISTICS_LABELS - 1])
        return status;
    if (params->noise != NOISE_NONE)
        return ts_param_error(context->set, "noise", "noise-of-labels", context->diag,
                              "is estimated from all pixels of a slice, and has no row for a label");
    if (params->n_labels * ts_statistics_label_places(context) > STATISTICS_MOST_PLACES) {
        ts_param_error(context->set, "n_labels", "labels-too-many-counts", context->diag,
                       "%lld labels with %d percentiles each are more than %d", (long long)params->n_labels,
                       ts_statistics_percentiles(context), STATISTICS_MOST_PLACES / 2);
        return ts_diag_hint(context->diag, "use fewer percentiles at a time, or fewer labels");
    }
    return TS_OK;
}

/* ---- layout ------------------------------------------------------------------------------------ */

static int64_t rows_of(const struct stage_context *context)
{
    return params_of(context)->n_labels + 1;
}

int ts_statistics_label_rounds(const struct stage_context *context)
{
    return ts_statistics_percentiles(context) > 0 ? ts_label_ranks_rounds(context->in.dtype) : 1;
}

size_t ts_statistics_label_moments(const struct stage_context *context)
{
    return context->round == 0 ? (size_t)rows_of(context) * sizeof(struct label_moments) : 0;
}

size_t ts_statistics_label_counts(const struct stage_context *context)
{
    return ts_statistics_percentiles(context) > 0 ? ts_label_ranks_counts(context->round, params_of(context)->n_labels,
                                                                          ts_statistics_label_places(context))
                                                  : 0;
}

size_t ts_statistics_label_partial(const struct stage_context *context)
{
    return ts_statistics_label_moments(context) + ts_statistics_label_counts(context) * sizeof(uint64_t);
}

size_t ts_statistics_label_result(const struct stage_context *context)
{
    const size_t n_ranks = (size_t)params_of(context)->n_labels * (size_t)ts_statistics_label_places(context);
    return (size_t)rows_of(context) * sizeof(struct label_moments) + n_ranks * sizeof(struct label_rank);
}

static uint64_t *counts_in(const struct stage_context *context, const void *partial)
{
    return (uint64_t *)(void *)((char *)partial + ts_statistics_label_moments(context));
}

struct label_rank *ts_statistics_label_ranks(const struct stage_context *context, const void *result)
{
    return (struct label_rank *)((struct label_moments *)result + rows_of(context));
}

/* ---- reduction --------------------------------------------------------------------------------- */

void ts_statistics_label_reduce(const struct stage_context *context, const struct ts_image *slices, void *partial)
{
    const struct ts_image *labels = &slices[STATISTICS_LABELS];
    const int64_t n_labels = params_of(context)->n_labels;
    const size_t n = ts_image_count(slices);
    const bool ranks = ts_statistics_percentiles(context) > 0;
    uint32_t keys[BLOCK], rows[BLOCK];
    memset(partial, 0, ts_statistics_label_partial(context));
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t block = n - first < BLOCK ? n - first : BLOCK;
        ts_order_keys(keys, slices->data, slices->dtype, first, block);
        ts_label_rows(rows, labels->data, labels->dtype, first, block, (uint32_t)n_labels);
        if (context->round == 0)
            ts_label_moments_add(partial, keys, rows, slices->dtype, block);
        if (ranks)
            ts_label_ranks_add(counts_in(context, partial), context->round,
                               ts_statistics_label_ranks(context, context->result), n_labels,
                               ts_statistics_label_places(context), keys, rows, slices->dtype, block);
        if (context->round == 0 && (first + block == n || (first + block) % LABEL_MOMENTS_ADDITIONS == 0))
            ts_label_moments_carry(partial, rows_of(context));
    }
}

void ts_statistics_label_merge(const struct stage_context *context, void *into, const void *from)
{
    uint64_t *counts = counts_in(context, into);
    const uint64_t *more = counts_in(context, from);
    const size_t n = ts_statistics_label_counts(context);
    if (context->round == 0)
        ts_label_moments_merge(into, from, rows_of(context));
    for (size_t i = 0; i < n; i++)
        counts[i] += more[i];
}

static void *data_of(const struct stage_context *context, const struct ts_image *tables, int table)
{
    const struct ts_image *found = ts_statistics_table(context, tables, table);
    return found ? found->data : NULL;
}

static void write_row(const struct stage_context *context, const struct label_moments *moments, int64_t label,
                      const struct ts_image *tables)
{
    const struct label_numbers numbers = ts_label_moments_numbers(moments, context->in.dtype, params_of(context)->ddof);
    const uint64_t counts[] = {moments->n, moments->n_nan, moments->n_infinite, moments->n_zero};
    const double reals[] = {numbers.low,  numbers.high,     numbers.sum,
                            numbers.mean, numbers.variance, sqrt(numbers.variance)};
    for (int i = TABLE_COUNT; i < TABLE_MIN; i++)
        ((uint64_t *)data_of(context, tables, i))[label] = counts[i];
    for (int i = TABLE_MIN; i <= TABLE_DEVIATION; i++)
        ((double *)data_of(context, tables, i))[label] = reals[i - TABLE_MIN];
}

static void write_rows(const struct stage_context *context, const void *result, const struct ts_image *tables)
{
    const struct label_moments *moments = result;
    const struct label_rank *ranks = ts_statistics_label_ranks(context, result);
    const int64_t n_labels = params_of(context)->n_labels;
    const int n_places = ts_statistics_label_places(context);
    double *percentiles = data_of(context, tables, TABLE_PERCENTILES);
    uint64_t *left_out = data_of(context, tables, TABLE_LEFT_OUT), seen = 0;
    for (int64_t row = 0; row <= n_labels; row++) {
        const struct label_moments *of_row = &moments[row];
        seen += of_row->n + of_row->n_nan + of_row->n_infinite;
        if (row == n_labels)
            break;
        write_row(context, of_row, row, tables);
        if (percentiles)
            ts_label_ranks_values(ranks + row * n_places, of_row->n, params_of(context)->percentiles.values, n_places,
                                  context->in.dtype, percentiles + row * (n_places / 2));
    }
    const struct label_moments *others = &moments[n_labels];
    const uint64_t n_others = others->n + others->n_nan + others->n_infinite;
    *(uint64_t *)data_of(context, tables, TABLE_OTHER_LABELS) = n_others;
    if (n_others > 0 && context->diag) {
        const struct diag_site site = {
            .code = "labels-without-row", .span = context->set->span, .stage = context->stage->name};
        ts_diag_warning(context->diag, &site, "%llu pixels have a label outside of 0 to %lld, and are in no row",
                        (unsigned long long)n_others, (long long)n_labels - 1);
        ts_diag_hint(context->diag, "n_labels says how many labels have a row, 65,536 at most");
    }
    if (left_out)
        *left_out = ts_statistics_pixels(context) - seen;
}

void ts_statistics_label_finish(const struct stage_context *context, const void *total, void *result,
                                const struct ts_image *tables)
{
    const int64_t n_labels = params_of(context)->n_labels;
    const int n_places = ts_statistics_label_places(context);
    struct label_moments *moments = result;
    struct label_rank *ranks = ts_statistics_label_ranks(context, result);
    if (context->round == 0) {
        memcpy(moments, total, ts_statistics_label_moments(context));
        for (int64_t label = 0; label < n_labels; label++)
            ts_label_ranks_begin(ranks + label * n_places, moments[label].n, params_of(context)->percentiles.values,
                                 n_places);
    }
    if (n_places > 0)
        ts_label_ranks_narrow(ranks, counts_in(context, total), context->round, n_labels, n_places, context->in.dtype);
    if (context->round + 1 == ts_statistics_label_rounds(context))
        write_rows(context, result, tables);
}
