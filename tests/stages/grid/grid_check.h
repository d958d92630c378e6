/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of stages that interpolate, on images that lie anyhow in the patient, which the loop of
 * stage_check.h does not make.
 */
#ifndef TESTS_STAGES_GRID_GRID_CHECK_H
#define TESTS_STAGES_GRID_GRID_CHECK_H

#include "tests/support/stage_run.h"

/* Turns an image about the z axis of the patient and leans it, by angles in radians, shifts its
 * origin, and makes its slices askew by steps of `askew` mm along its y and a third of that along
 * its x. */
void ts_grid_place(struct ts_image *image, double turn, double lean, double askew);
/* Runs the stage over slabs of one slice and at once, and compares with an oracle that does not
 * round: floats within the stage's tolerance, integers within that and a half. On a device integers
 * must be the bytes of the CPU. */
void ts_grid_check(const struct stage *stage, stage_oracle *oracle, const char *assignments,
                   const struct ts_image *in, const struct ts_image *reference);

#endif
