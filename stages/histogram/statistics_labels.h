/* SPDX-License-Identifier: Apache-2.0
 *
 * The reduction of `statistics` with labels: one row of numbers for the values under each label. The layout of partials
 * and results stands here, because cuda/histogram/statistics_labels.cu writes and reads the same.
 *
 * A partial of the first round has the moments of n_labels + 1 rows, of which the last takes all other labels; where
 * percentiles are asked for, the uint64_t counts of the round's digits follow, and are all of the partials of later
 * rounds (stages/counting/label_ranks.h). The result has the same moments, then the places of the percentiles.
 */
#ifndef STAGES_HISTOGRAM_STATISTICS_LABELS_H
#define STAGES_HISTOGRAM_STATISTICS_LABELS_H

#include "stages/counting/label_moments.h"
#include "stages/counting/label_ranks.h"
#include "stages/histogram/statistics.h"

/* The most labels, and the most places of percentiles of all labels: their counts fill 4 GiB. */
enum { STATISTICS_MOST_LABELS = 65536, STATISTICS_MOST_PLACES = 1 << 18 };

/* Returns true where the parameter `labels` is given. */
bool ts_statistics_by_label(const struct stage_context *context);
/* Returns how many places the percentiles of a label have: 2 for each. */
int ts_statistics_label_places(const struct stage_context *context);
/* Returns the bytes of the moments at the beginning of a partial of this round. */
size_t ts_statistics_label_moments(const struct stage_context *context);
/* Returns the places of the percentiles in a result. */
struct label_rank *ts_statistics_label_ranks(const struct stage_context *context, const void *result);

size_t ts_statistics_label_partial(const struct stage_context *context);

#endif
