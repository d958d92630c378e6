/* SPDX-License-Identifier: Apache-2.0
 *
 * morphology by its definitions: every voxel looks at every other, and a hole is what a flood from
 * the border does not reach.
 */
#ifndef TESTS_STAGES_REGIONS_MORPHOLOGY_ORACLE_H
#define TESTS_STAGES_REGIONS_MORPHOLOGY_ORACLE_H

#include "tests/stages/regions/mask_oracle.h"

void ts_morphology_oracle_voxels(const struct stage_context *context, const unsigned char *voxels,
                                 double *out);
/* The whole stage, for the comparison loop. */
void ts_morphology_oracle(const struct stage_context *context, const double *in, double *out);

#endif
