/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/center_tables.h"

static struct ts_axis items(int64_t n)
{
    return (struct ts_axis){.kind = TS_AXIS_ITEM, .n = n, .unit = ""};
}

void ts_center_search_tables(int64_t n_trials, struct stage_table tables[SEARCH_TABLES])
{
    const struct ts_image number = {.dtype = TS_F64, .unit = ""},
                          pair = {.rank = 1, .dtype = TS_F64, .unit = "", .axes = {items(2)}};
    tables[TABLE_CENTER] =
        (struct stage_table){"center", "the center found: index of a detector pixel, from 0", number};
    tables[TABLE_CONFIDENCE] =
        (struct stage_table){"confidence",
                             "from 0 to 1: of sinogram, 1 - lowest / median of the measure; of opposite and "
                             "overlap, the measure at the center; of the one whose center is taken",
                             number};
    tables[TABLE_NOISE] = (struct stage_table){
        "noise", "the confidence that noise without an object may reach; less is warned of", number};
    tables[TABLE_TRUNCATION] = (struct stage_table){
        "truncation",
        "what the first and the last end of the row see of the object, as a share of the most that is seen: an object "
        "of more than 0.1 is cut off",
        pair};
    tables[TABLE_CENTERS] = (struct stage_table){
        "centers", "the centers of sinogram and of opposite; NaN where that method was not carried out", pair};
    tables[TABLE_TRIALS] = (struct stage_table){"trial_center", "trial centers, before the last is refined", number};
    tables[TABLE_MEASURE] =
        (struct stage_table){"measure", "of sinogram the lowest is best, of the others the highest", number};
    tables[TABLE_CENTERS].image.unit = tables[TABLE_CENTER].image.unit = tables[TABLE_TRIALS].image.unit = "detector";
    for (int i = TABLE_TRIALS; i < SEARCH_TABLES; i++) {
        tables[i].image.rank = 1;
        tables[i].image.axes[0] = items(n_trials);
    }
}

void ts_center_strip_tables(const struct center_strip *strip, struct stage_table tables[STRIP_TABLES])
{
    const struct ts_axis y = {.kind = TS_AXIS_Y, .n = ts_center_strip_rows(strip), .unit = "pixel", .spacing = 1};
    const struct ts_axis x = {.kind = TS_AXIS_X, .n = ts_center_strip_columns(strip), .unit = "pixel", .spacing = 1};
    tables[TABLE_STRIP] = (struct stage_table){"strip",
                                               "the slice about trial centers, each under its number: gray",
                                               {.rank = 2, .dtype = TS_U8, .unit = "", .axes = {y, x}}};
    tables[TABLE_STRIP_CENTERS] =
        (struct stage_table){"strip_center",
                             "the trial centers of the strip, from the left",
                             {.rank = 1, .dtype = TS_F64, .unit = "detector", .axes = {items(2 * strip->sides + 1)}}};
}
