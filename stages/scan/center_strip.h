/* SPDX-License-Identifier: Apache-2.0
 *
 * A strip of trial centers: one slice of a parallel sinogram, reconstructed about several rotation centers, side by
 * side in one picture under the number of each. With a wrong center edges are doubled and points become arcs; the eye
 * finds the tile that has neither.
 *
 * A tile is filtered backprojection with a Hann window, one pixel a detector, about the rotation axis. All tiles have
 * one window of gray: the 1st to the 99th percentile of the middle one.
 */
#ifndef STAGES_SCAN_CENTER_STRIP_H
#define STAGES_SCAN_CENTER_STRIP_H

#include "core/fft.h"

enum { STRIP_LEAST_SIZE = 64, STRIP_MOST_SIZE = 4096, STRIP_MOST_SIDES = 50 };

struct center_strip {
    int64_t n_views, n_detectors;
    int64_t sides, size; /* tiles on each side of the middle one; pixels of a tile's side */
    double step;         /* detectors between trial centers */
    int threads;
};

int64_t ts_center_strip_rows(const struct center_strip *strip);
int64_t ts_center_strip_columns(const struct center_strip *strip);
struct fft_shape ts_center_strip_transform(const struct center_strip *strip);
size_t ts_center_strip_room_bytes(const struct center_strip *strip);

/* Draws trial centers[i] = center + (i - sides) * step, for i < 2 sides + 1, from the left. sinogram: (view, detector),
 * its angles in degrees; room: on a 64-byte boundary. */
void ts_center_strip_draw(const struct center_strip *strip, const float *sinogram, const double *angles, double center,
                          struct fft *fft, void *room, uint8_t *picture, double *centers);

#endif
