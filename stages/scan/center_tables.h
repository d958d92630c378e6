/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of `center`: those of the search, and those of the strip of trial centers.
 */
#ifndef STAGES_SCAN_CENTER_TABLES_H
#define STAGES_SCAN_CENTER_TABLES_H

#include "stages/engine/stage.h"
#include "stages/scan/center_strip.h"

enum {
    TABLE_CENTER,
    TABLE_CONFIDENCE,
    TABLE_NOISE,
    TABLE_TRUNCATION,
    TABLE_CENTERS,
    TABLE_TRIALS,
    TABLE_MEASURE,
    SEARCH_TABLES
};
enum { TABLE_STRIP, TABLE_STRIP_CENTERS, STRIP_TABLES };

void ts_center_search_tables(int64_t n_trials, struct stage_table tables[SEARCH_TABLES]);
void ts_center_strip_tables(const struct center_strip *strip, struct stage_table tables[STRIP_TABLES]);

#endif
