/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_REDUCE_ORACLE_H
#define TESTS_STAGES_INTENSITY_REDUCE_ORACLE_H

#include "stages/engine/stage.h"

/* What the method makes of n values, of which it sorts a copy or sums all twice. */
double ts_reduce_oracle_of(const char *method, const double *values, size_t n);
/* The whole stage along z, for the comparison loop. */
void ts_reduce_oracle(const struct stage_context *context, const double *in, double *out);

#endif
