/* SPDX-License-Identifier: Apache-2.0
 *
 * The connected parts of a mask, by a flood from each voxel that no flood has reached.
 */
#ifndef TESTS_STAGES_REGIONS_COMPONENTS_ORACLE_H
#define TESTS_STAGES_REGIONS_COMPONENTS_ORACLE_H

#include "tests/stages/regions/mask_oracle.h"

/* Writes the part of each voxel, from 1 on, and returns the sizes of the parts, the largest first;
 * free them. A size of 0 ends them. */
size_t *ts_components_oracle_parts(const struct stage_context *context, int64_t neighbors,
                                   const unsigned char *voxels, double *parts);
void ts_components_oracle_voxels(const struct stage_context *context, const unsigned char *voxels,
                                 double *out);
/* The whole stage, for the comparison loop, and its tables. */
void ts_components_oracle(const struct stage_context *context, const double *in, double *out);
void ts_components_oracle_tables(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables);

#endif
