/* SPDX-License-Identifier: Apache-2.0
 *
 * foreground by its definition: the oracles of threshold, components and morphology, one after the
 * other, each with the parameters that it then has.
 */
#ifndef TESTS_STAGES_REGIONS_FOREGROUND_ORACLE_H
#define TESTS_STAGES_REGIONS_FOREGROUND_ORACLE_H

#include "tests/stages/regions/mask_oracle.h"

/* `image` (NULL: none) says which voxels are invalid. */
void ts_foreground_oracle_image(const struct stage_context *context, const double *in,
                                const struct ts_image *image, double *out);
/* The whole stage, for the comparison loop, and its table. */
void ts_foreground_oracle(const struct stage_context *context, const double *in, double *out);
void ts_foreground_oracle_tables(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables);

#endif
