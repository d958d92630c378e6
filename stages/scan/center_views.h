/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions check that a sinogram has the views that a method of `center` needs.
 */
#ifndef STAGES_SCAN_CENTER_VIEWS_H
#define STAGES_SCAN_CENTER_VIEWS_H

#include "stages/engine/stage.h"

/* Check the views for the methods sinogram (errors views-uneven, views-arc), opposite (views-opposite) and overlap
 * (views-turn). For resolve().
 */
enum ts_status ts_center_views_check_half_turn(const struct stage_context *context);
enum ts_status ts_center_views_check_opposite(const struct stage_context *context);
enum ts_status ts_center_views_check_overlap(const struct stage_context *context);
/* Returns how many pairs of opposite views there are, as ts_center_pairs() counts them. */
int ts_center_views_opposites(const struct stage_context *context);

#endif
