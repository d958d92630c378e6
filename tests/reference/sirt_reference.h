/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of sirt.
 */
#ifndef TESTS_SIRT_REFERENCE_H
#define TESTS_SIRT_REFERENCE_H

#include "stages/stage.h"

void ts_sirt_reference(const struct stage_context *context, const double *in, double *out);

#endif
