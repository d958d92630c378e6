/* SPDX-License-Identifier: Apache-2.0
 *
 * statistics computes numbers that describe an image, such as mean, variance and percentiles, as
 * tables of the result, and passes the image on unchanged. The layout of totals and results is here
 * because the CPU code and cuda/histogram/statistics.cu both write them.
 */
#ifndef STAGES_HISTOGRAM_STATISTICS_H
#define STAGES_HISTOGRAM_STATISTICS_H

#include "stages/counting/moments.h"
#include "stages/counting/noise_estimate.h"
#include "stages/engine/stage.h"
#include "stages/values/value_range.h"

struct statistics_params {
    struct ts_numbers percentiles;
    int64_t ddof;
    int32_t scope;             /* enum scope */
    int32_t method;            /* enum reduction_method */
    int32_t percentile_method; /* enum percentile_method */
    int32_t noise;             /* enum noise_estimate */
    struct ts_reference mask, labels;
    int64_t n_labels;
    char square_unit[64]; /* in no table: the unit of the variance, which resolve() writes */
};

enum { STATISTICS_MASK = 1, STATISTICS_LABELS = 2 }; /* inputs */

/* A total for finish(), unless it consists of counts of single values: this struct, then the
 * moments of the slices, then the partial result of the percentiles. In both cases the partial of
 * the noise estimate follows. */
struct statistics_partial {
    struct value_range range;
    uint64_t reserved[3]; /* needed because the moments, which follow, have 128-bit integers */
};

struct statistics_result {
    struct moments moments;
    struct value_range range;
    double percentiles[PERCENTILES_MAX];
    struct percentile_search search; /* the struct ends before this if no second round is needed */
};

/* Returns true if the totals for finish() are counts of single values. */
bool ts_statistics_of_counts(const struct stage_context *context);
/* Returns true if percentiles are found slice by slice in one round, instead of in two over the
 * image. */
bool ts_statistics_by_slice(const struct stage_context *context);
/* Returns how many percentiles are asked for. */
static inline int ts_statistics_percentiles(const struct stage_context *context)
{
    const struct ts_numbers *percentiles =
        &((const struct statistics_params *)context->params)->percentiles;
    return (int)(percentiles->rows * percentiles->columns);
}
/* Returns how many rounds there are without the noise estimate. */
int ts_statistics_own_rounds(const struct stage_context *context);
/* Returns true if the present round is one of the noise estimate; *noise is then a context with the
 * number of that round. */
bool ts_statistics_noise_round(const struct stage_context *context, struct stage_context *noise);
/* The first returns where the noise estimate begins in a total for finish(), the second where it
 * begins in the result. */
size_t ts_statistics_noise_in_total(const struct stage_context *context);
size_t ts_statistics_noise_in_result(const struct stage_context *context);

#endif
