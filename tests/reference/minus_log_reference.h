/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MINUS_LOG_REFERENCE_H
#define TESTS_MINUS_LOG_REFERENCE_H

#include "stages/stage.h"

/* The double logarithm of every transmission, and the rules for what has none. */
void ts_minus_log_reference(const struct stage_context *context, const double *in, double *out);

#endif
