/* SPDX-License-Identifier: Apache-2.0
 *
 * CLAHE by the two tools' rules, one pixel after the other: its four tiles' histograms are made, cut and summed as
 * described, remembered per tile.
 */
#ifndef TESTS_CLAHE_REFERENCE_H
#define TESTS_CLAHE_REFERENCE_H

#include "stages/stage.h"

void ts_clahe_reference(const struct stage_context *context, const double *in, double *out);

#endif
