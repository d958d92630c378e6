/* SPDX-License-Identifier: Apache-2.0
 *
 * Distances by trying every voxel of a line for the nearest, axis by axis, in double.
 */
#ifndef TESTS_STAGES_REGIONS_DISTANCE_ORACLE_H
#define TESTS_STAGES_REGIONS_DISTANCE_ORACLE_H

#include "tests/stages/regions/mask_oracle.h"

void ts_distance_oracle_voxels(const struct stage_context *context, const unsigned char *voxels,
                               double *out);
/* The whole stage, for the comparison loop. */
void ts_distance_oracle(const struct stage_context *context, const double *in, double *out);

#endif
