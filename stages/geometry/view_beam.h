/* SPDX-License-Identifier: Apache-2.0
 *
 * Views whose light is another than that of the others, as a shutter, the ring or an exposure makes
 * it. Transmissions are looked at, or counts.
 */
#ifndef STAGES_GEOMETRY_VIEW_BEAM_H
#define STAGES_GEOMETRY_VIEW_BEAM_H

#include "stages/geometry/view_blocks.h"

/* Doubles of `room` that these functions need for each view. */
#define VIEW_BEAM_ROOM 6

/* Marks views that hardly any light reaches although it reaches those beside them, and returns how
 * many there are. `light` is (view, detector). */
int64_t ts_view_beam_dark(const float *light, int64_t n_views, int64_t n, double *room, bool *dark);

/* The following look at the air at both ends of the rows, which has to be air. */

/* Marks short runs of views whose air has at least `factor` times the light of that of the views
 * beside them, or at most the inverse of that, and returns how many views there are. Sets *share to
 * how much light they have in the mean. */
int64_t ts_view_beam_dim(const struct view_blocks *light, double factor, double *room, bool *dim,
                         double *share);
/* Finds the view from which on the air has another light than before, by that factor, and sets
 * *share to how much. Views that are marked do not count. Returns -1 if there is none. */
int64_t ts_view_beam_step(const struct view_blocks *light, double factor, double *room,
                          const bool *dim, double *share);
/* Returns how much light the air has in the last view, as a share of that in the first one, if it
 * rises or falls evenly; else 1. */
double ts_view_beam_drift(const float *light, int64_t n_views, int64_t n);

#endif
