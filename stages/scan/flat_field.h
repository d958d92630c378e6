/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_field turns counts into transmission with the flats (beam without object) and darks (no
 * beam) of the scan itself, which removes the differences between detector pixels. The formula is
 * in flat_field.c; the CPU code and cuda/scan/flat_field.cu share what is declared here.
 */
#ifndef STAGES_SCAN_FLAT_FIELD_H
#define STAGES_SCAN_FLAT_FIELD_H

#include "stages/engine/stage.h"

struct flat_field_params {
    struct ts_reference flats, darks;
    int32_t combine; /* enum flat_field_combine */
    int32_t dead;    /* enum flat_field_dead */
};
enum flat_field_combine { COMBINE_MEAN, COMBINE_MEDIAN, COMBINE_CLEAN };
enum flat_field_dead { DEAD_NEAREST, DEAD_NAN };

/* The tables, in this order. */
enum flat_field_table {
    TABLE_DEAD,
    TABLE_SATURATED,
    TABLE_STUCK,
    TABLE_UNEVEN,
    TABLE_ZINGERS,
    TABLE_PILED,
    TABLE_FULL_SCALE,
    FLAT_TABLES
};

enum { FLAT_FIELD_FLATS = 1, FLAT_FIELD_DARKS = 2 }; /* indices among the images of map() */

#endif
