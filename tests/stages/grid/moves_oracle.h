/* SPDX-License-Identifier: Apache-2.0
 *
 * The definition of stages that only move pixels: a pixel of the output has the value of the
 * input's pixel at the same position in the patient. Nothing is taken from the stages but the
 * description of their output, whose shape and positions the tests check by themselves.
 */
#ifndef TESTS_STAGES_GRID_MOVES_ORACLE_H
#define TESTS_STAGES_GRID_MOVES_ORACLE_H

#include "tests/support/oracles.h"

/* Writes the position in the patient, in mm, of voxel (z, y, x). */
void ts_voxel_mm(const struct ts_image *image, const int64_t at[3], double mm[3]);
/* Fills the output by looking for the nearest input voxel of every output voxel, which must be at
 * its position. */
void ts_crop_oracle(const struct stage_context *context, const double *in, double *out);
void ts_reorient_oracle(const struct stage_context *context, const double *in, double *out);

#endif
