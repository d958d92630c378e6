/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters `range` and `limits`, in the same words wherever a stage works between two values: `range: [low,
 * high]` gives them; without it `limits` says where they come from.
 */
#ifndef STAGES_VALUES_LIMITS_H
#define STAGES_VALUES_LIMITS_H

#include "stages/engine/stage.h"

enum limits { LIMITS_DATA, LIMITS_DTYPE };
extern const struct choice ts_limits_choices[];

/* Checks that `range`, where it is given, is two rising numbers (named `name` in messages). */
enum ts_status ts_limits_check_range(const struct stage_context *context, const char *name,
                                     const struct ts_numbers *range);
/* The error of `limits: dtype` for floats. */
enum ts_status ts_limits_refuse_float(const struct stage_context *context);

#endif
