/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of fbp for evenly spaced views of a fan; of an arc without a window.
 */
#ifndef TESTS_FAN_FBP_REFERENCE_H
#define TESTS_FAN_FBP_REFERENCE_H

#include "stages/stage.h"

void ts_fan_fbp_reference(const struct stage_context *context, const double *in, double *out);

#endif
