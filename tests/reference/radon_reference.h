/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of radon: Joseph's method from its definition, in double.
 */
#ifndef TESTS_RADON_REFERENCE_H
#define TESTS_RADON_REFERENCE_H

#include "stages/stage.h"

void ts_radon_reference(const struct stage_context *context, const double *in, double *out);

#endif
