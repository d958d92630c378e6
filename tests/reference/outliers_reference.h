/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_OUTLIERS_REFERENCE_H
#define TESTS_OUTLIERS_REFERENCE_H

#include "stages/stage.h"

/* Every window sorted. */
void ts_outliers_reference(const struct stage_context *context, const double *in, double *out);

#endif
