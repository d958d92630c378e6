/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of rebin, for evenly spaced views that rise.
 */
#ifndef TESTS_REBIN_REFERENCE_H
#define TESTS_REBIN_REFERENCE_H

#include "stages/stage.h"

void ts_rebin_reference(const struct stage_context *context, const double *in, double *out);

#endif
