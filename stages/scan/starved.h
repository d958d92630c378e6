/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether pixels that are filled as bad ones are those at which a dense object lets hardly a photon
 * pass.
 */
#ifndef STAGES_SCAN_STARVED_H
#define STAGES_SCAN_STARVED_H

#include <stdbool.h>
#include <stdint.h>

/* Returns how many values of p (view, detector) that are not finite or below `lowest` are next to
 * each other, or between dark ones, if they are far more than elsewhere; else 0. Detector pixels
 * that are so in all views do not count. `integrals`: line integrals, else light. `room` is for 2 n
 * numbers. */
int64_t ts_starved_pixels(const float *p, int64_t n_views, int64_t n, double lowest, bool integrals,
                          double *room);

#endif
