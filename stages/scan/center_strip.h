/* SPDX-License-Identifier: Apache-2.0
 *
 * This draws a strip of trial centers: one slice of a parallel sinogram, reconstructed about several rotation centers,
 * side by side in one picture under the number of each. With a wrong center edges are doubled and points become arcs;
 * the eye finds the tile that has neither.
 *
 * A tile is filtered backprojection with a Hann window about the rotation axis, its pixels as wide as those of the
 * detector. All tiles have one window of gray: the 1st to the 99th percentile of the middle tile.
 */
#ifndef STAGES_SCAN_CENTER_STRIP_H
#define STAGES_SCAN_CENTER_STRIP_H

#include "stages/engine/stage.h"

enum { STRIP_LEAST_SIZE = 64, STRIP_MOST_SIZE = 4096, STRIP_MOST_SIDES = 50 };

struct center_strip {
    const struct ts_axis *views; /* with their angles in degrees */
    int64_t n_detectors;
    int64_t sides, size; /* tiles on each side of the middle one; pixels of a tile's side */
    double step;         /* detector pixels between trial centers */
    int threads;
};

enum { TABLE_STRIP, TABLE_STRIP_CENTERS, STRIP_TABLES };

#endif
