/* SPDX-License-Identifier: Apache-2.0
 *
 * This draws a strip of trial centers: one slice of a parallel sinogram, reconstructed about
 * several rotation centers, side by side in one picture under the number of each. With a wrong
 * center edges are doubled and points become arcs; the eye finds the tile that has neither.
 *
 * A tile is reconstructed by filtered backprojection with a Hann window around the rotation axis,
 * with pixels as wide as those of the detector. All tiles have the same window of gray: the 1st to
 * the 99th percentile of the middle tile.
 */
#ifndef STAGES_SCAN_CENTER_STRIP_H
#define STAGES_SCAN_CENTER_STRIP_H

#include "core/fft.h"
#include "stages/engine/stage.h"

enum { STRIP_LEAST_SIZE = 64, STRIP_MOST_SIZE = 4096, STRIP_MOST_SIDES = 50 };

struct center_strip {
    const struct ts_axis *views; /* with their angles in degrees */
    int64_t n_detectors;
    int64_t sides, size; /* number of tiles on each side of the middle one; pixels of a tile's
                          * side */
    double step;         /* detector pixels between trial centers */
    int threads;
};

enum { TABLE_STRIP, TABLE_STRIP_CENTERS, STRIP_TABLES };

/* Describes the tables: the picture, and its trial centers. */
void ts_center_strip_tables(const struct center_strip *strip,
                            struct stage_table tables[STRIP_TABLES]);
/* Describes the transform that filters the rows. */
struct fft_shape ts_center_strip_transform(const struct center_strip *strip);
size_t ts_center_strip_scratch_bytes(const struct center_strip *strip);
/* Draws tiles for centers[i] = center + (i - sides) * step, i < 2 sides + 1, from the left.
 * `sinogram` is (view, detector); `scratch` is on a 64-byte boundary. */
void ts_center_strip_draw(const struct center_strip *strip, const float *sinogram, double center,
                          struct fft *fft, void *scratch, uint8_t *picture, double *centers);

#endif
