/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_AIR_ORACLE_H
#define TESTS_STAGES_SCAN_AIR_ORACLE_H

#include "tests/support/oracles.h"

/* A whole image with data. out: transmissions; scale: (|x| + |dark|) / (air - dark), of which the
 * stage's error is a share; blocked: one number a slice. */
void ts_air_oracle_lines(const struct ts_image *image, int64_t detectors, double dark, double *out,
                         double *scale, uint64_t *blocked);

/* The whole stage, for the benchmark. */
void ts_air_oracle_results(const struct stage_context *context,
                           const struct ts_image inputs[STAGE_INPUTS], double *out,
                           struct bench_tables *tables);

#endif
