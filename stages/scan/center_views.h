/* SPDX-License-Identifier: Apache-2.0
 *
 * The views that `center` searches: their angles, and whether there are those that a method needs.
 */
#ifndef STAGES_SCAN_CENTER_VIEWS_H
#define STAGES_SCAN_CENTER_VIEWS_H

#include "stages/engine/stage.h"
#include "stages/scan/center_search.h"

/* Views in half a turn. */
int64_t ts_center_views_half_turn(const struct stage_context *context);
/* In degrees. NULL where memory is out; freed by the caller. */
double *ts_center_views_angles(const struct stage_context *context);
/* Pairs may be one step of the views away from half a turn: 180 degrees without the end point have no other. Returns
 * how many; -1 without angles. */
int ts_center_views_pairs(const struct stage_context *context, const double *angles, int64_t pairs[CENTER_PAIRS][2]);

/* How many such pairs there are; -1 where memory is out (reported). */
int ts_center_views_opposites(const struct stage_context *context);

/* For resolve(), of the methods sinogram (views-uneven, views-arc), opposite (views-opposite) and overlap (views-turn).
 */
enum ts_status ts_center_views_check_half_turn(const struct stage_context *context);
enum ts_status ts_center_views_check_opposite(const struct stage_context *context);
enum ts_status ts_center_views_check_overlap(const struct stage_context *context);

#endif
