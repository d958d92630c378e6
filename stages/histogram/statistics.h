/* SPDX-License-Identifier: Apache-2.0
 *
 * statistics computes numbers that describe an image, such as mean, variance and percentiles, as
 * tables of the result, and passes the image on unchanged. The layout of totals and results stands
 * here, because the CPU code and cuda/histogram/statistics.cu both write them.
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
    char square_unit[64]; /* no row: the unit of the variance, written by resolve() */
};

enum { STATISTICS_MASK = 1, STATISTICS_LABELS = 2 }; /* inputs */

/* A total for finish(), unless it is counts of single values: this struct, then the moments of the
 * slices, then the partial result of the percentiles. Behind either comes the partial of the noise
 * estimate. */
struct statistics_partial {
    struct value_range range;
    uint64_t reserved[3]; /* the moments hold 128-bit integers */
};

struct statistics_result {
    struct moments moments;
    struct value_range range;
    double percentiles[PERCENTILES_MAX];
    struct percentile_search search; /* left out where no second round is needed */
};

/* Returns true where the totals for finish() are counts of single values. */
bool ts_statistics_of_counts(const struct stage_context *context);
/* True where percentiles are looked up slice by slice in one round, instead of in two over the
 * image. */
bool ts_statistics_by_slice(const struct stage_context *context);
/* Returns how many percentiles are asked for. */
static inline int ts_statistics_percentiles(const struct stage_context *context)
{
    const struct ts_numbers *percentiles =
        &((const struct statistics_params *)context->params)->percentiles;
    return (int)(percentiles->rows * percentiles->columns);
}
/* Returns how many rounds all but the noise estimate takes. */
int ts_statistics_own_rounds(const struct stage_context *context);
/* Returns true where the round at hand is one of the noise estimate; *noise is then the context
 * with its number among those. */
bool ts_statistics_noise_round(const struct stage_context *context, struct stage_context *noise);
/* Returns where the noise estimate begins in a total for finish() and in the result. */
size_t ts_statistics_noise_in_total(const struct stage_context *context);
size_t ts_statistics_noise_in_result(const struct stage_context *context);

#endif
