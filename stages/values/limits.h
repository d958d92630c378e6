/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages that work between two values share the parameters `range` and `limits` and their messages. `range: [low,
 * high]` gives the values; without it `limits` states where they come from.
 */
#ifndef STAGES_VALUES_LIMITS_H
#define STAGES_VALUES_LIMITS_H

#include "stages/engine/stage.h"

enum limits { LIMITS_DATA, LIMITS_DTYPE };
extern const struct choice ts_limits_choices[];

/* Checks that `range`, where it is given, is two rising numbers. Messages call it `name`. */
enum ts_status ts_limits_check_range(const struct stage_context *context, const char *name,
                                     const struct ts_numbers *range);
/* Reports the error of `limits: dtype` for floats. */
enum ts_status ts_limits_refuse_float(const struct stage_context *context);

#endif
