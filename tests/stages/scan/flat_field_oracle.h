/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_FLAT_FIELD_ORACLE_H
#define TESTS_STAGES_SCAN_FLAT_FIELD_ORACLE_H

#include "stages/scan/flat_field.h"
#include "tests/support/oracles.h"

/* Whole images with data; darks NULL: 0. out: transmissions; scale: (|counts| + |dark|) / (flat -
 * dark), of which the stage's error is a share; dead: one number a slice. */
void ts_flat_field_oracle_transmission(const struct ts_image *counts, const struct ts_image *flats,
                                       const struct ts_image *darks, bool median, bool nearest,
                                       double *out, double *scale, uint64_t *dead);

/* What the tables of a slice hold, of images without a mask and frames without combine: clean. */
struct flat_field_checks {
    uint64_t stuck, uneven, zingers, piled;
    double full_scale;
};
void ts_flat_field_oracle_checks(const struct ts_image *counts, const struct ts_image *flats,
                                 const struct ts_image *darks, enum flat_field_combine how,
                                 bool nearest, struct flat_field_checks *checks);

/* The whole stage, for the benchmark. */
void ts_flat_field_oracle_results(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables);

#endif
