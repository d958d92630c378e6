/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of fourier: every frequency of every view at every pixel, in double.
 */
#ifndef TESTS_FOURIER_REFERENCE_H
#define TESTS_FOURIER_REFERENCE_H

#include "stages/stage.h"

void ts_fourier_reference(const struct stage_context *context, const double *in, double *out);

#endif
