/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice's share of Joseph's projection with vectors of 512 bits: the same operations in the same order as
 * stages/projection/joseph_project.c has for several slices, 16 detectors at a time.
 */
#ifndef STAGES_PROJECTION_JOSEPH_WIDE_H
#define STAGES_PROJECTION_JOSEPH_WIDE_H

#include "stages/projection/joseph_rays.h"

/* Rays of one vector. Up to twice as many samples past a crossing in the block's data are read, whatever they hold. */
enum { JOSEPH_WIDE = 16 };

/* Whether this machine and compiler have it. */
bool ts_joseph_wide_there(void);
/* Adds the block's lines to the sums of n detectors, 1 to DETECTOR_RUN, whose rays go on to a whole JOSEPH_WIDE. */
void ts_joseph_wide_add(const struct slice_block *block, const struct ray_run *run, bool fan, int64_t n, float *sums);

#endif
