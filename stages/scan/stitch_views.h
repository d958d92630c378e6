/* SPDX-License-Identifier: Apache-2.0
 *
 * Which views of a turn lie opposite each other.
 */
#ifndef STAGES_SCAN_STITCH_VIEWS_H
#define STAGES_SCAN_STITCH_VIEWS_H

#include "stages/scan/stitch.h"

/* For resolve(): counts the views of the first half turn, which the result keeps, and checks that each has an opposite.
 * Errors: angles-missing, angles-in-radians, one-direction, views-order, views-opposite, views-between. */
enum ts_status ts_stitch_views(const struct stage_context *context, struct stitch_params *params);

#endif
