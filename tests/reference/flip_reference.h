/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FLIP_REFERENCE_H
#define TESTS_FLIP_REFERENCE_H

#include "stages/stage.h"

void ts_flip_reference(const struct stage_context *context, const double *in, double *out);

#endif
