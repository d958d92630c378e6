/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_TO_ATTENUATION_ORACLE_H
#define TESTS_STAGES_INTENSITY_TO_ATTENUATION_ORACLE_H

#include "tests/support/oracles.h"

/* Hounsfield's scale the other way: a straight line through (-1000, 0) and (0, water). */
void ts_to_attenuation_oracle(const struct stage_context *context, const double *in, double *out);
void ts_to_attenuation_oracle_tables(const struct stage_context *context, const double *in,
                                     const double *out, struct bench_tables *tables);

#endif
