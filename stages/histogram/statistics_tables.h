/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists the tables of `statistics` and writes those of a volume or a slice. With labels each but _LEFT_OUT and
 * _OTHER has a row for each label (stages/histogram/statistics_labels.c writes them).
 */
#ifndef STAGES_HISTOGRAM_STATISTICS_TABLES_H
#define STAGES_HISTOGRAM_STATISTICS_TABLES_H

#include "stages/histogram/statistics.h"

/* The product's two exist without labels alone, those of noise and of percentiles where they are asked for, _LEFT_OUT
 * where pixels are, and the last with labels alone. */
enum {
    TABLE_COUNT,
    TABLE_NAN,
    TABLE_INFINITE,
    TABLE_ZEROS,
    TABLE_MIN,
    TABLE_MAX,
    TABLE_SUM,
    TABLE_MEAN,
    TABLE_VARIANCE,
    TABLE_DEVIATION,
    TABLE_LOG_PRODUCT,
    TABLE_PRODUCT_SIGN,
    TABLE_PERCENTILES,
    TABLE_IMMERKAER,
    TABLE_WAVELET,
    TABLE_LEFT_OUT,
    TABLE_OTHER_LABELS,
    TABLES
};

/* Describes the tables and returns how many there are: the tables() of the reduction. */
int ts_statistics_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES]);
/* Returns the table among those that the stage has; NULL: it has none of this kind. */
const struct ts_image *ts_statistics_table(const struct stage_context *context, const struct ts_image *tables,
                                           int table);
/* Returns how many pixels the volume has, or a slice. */
uint64_t ts_statistics_pixels(const struct stage_context *context);
/* Writes the numbers of a volume or of a slice. */
void ts_statistics_write_tables(const struct stage_context *context, const struct statistics_result *result,
                                const struct noise_result *noise, const struct ts_image *tables);

#endif
