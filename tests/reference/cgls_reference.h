/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of cgls.
 */
#ifndef TESTS_CGLS_REFERENCE_H
#define TESTS_CGLS_REFERENCE_H

#include "pipeline/bench.h"

void ts_cgls_reference(const struct stage_context *context, const double *in, double *out);
/* The residual with which each iteration began, that of the image at the end, and how many iterations there were. */
void ts_cgls_reference_tables(const struct stage_context *context, const double *in, const double *out,
                              struct bench_tables *tables);

#endif
