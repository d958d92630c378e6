/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of cgls.
 */
#ifndef TESTS_CGLS_REFERENCE_H
#define TESTS_CGLS_REFERENCE_H

#include "stages/stage.h"

void ts_cgls_reference(const struct stage_context *context, const double *in, double *out);

#endif
