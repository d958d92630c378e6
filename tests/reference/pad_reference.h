/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PAD_REFERENCE_H
#define TESTS_PAD_REFERENCE_H

#include "stages/stage.h"

/* Every detector of the result by the picture of its border rule. */
void ts_pad_reference(const struct stage_context *context, const double *in, double *out);

#endif
