/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of stitch.
 */
#ifndef TESTS_STITCH_REFERENCE_H
#define TESTS_STITCH_REFERENCE_H

#include "stages/stage.h"

void ts_stitch_reference(const struct stage_context *context, const double *in, double *out);

#endif
