/* SPDX-License-Identifier: Apache-2.0
 *
 * statistics: numbers that describe an image; the image passes on unchanged.
 */
#ifndef STAGES_STATISTICS_H
#define STAGES_STATISTICS_H

#include "stages/stage.h"

struct statistics_params {
    struct ts_numbers percentiles;
    int64_t ddof;
    int32_t scope;        /* enum scope */
    char square_unit[64]; /* no row: the unit of the variance, written by resolve() */
};

extern const struct stage statistics_stage;

#endif
