/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TO_HU_REFERENCE_H
#define TESTS_TO_HU_REFERENCE_H

#include "stages/stage.h"

/* Hounsfield's scale: a straight line through (0, -1000) and (water, 0). */
void ts_to_hu_reference(const struct stage_context *context, const double *in, double *out);

#endif
