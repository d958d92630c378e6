/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_WINDOW_ORACLE_H
#define TESTS_STAGES_INTENSITY_WINDOW_ORACLE_H

#include "tests/support/oracles.h"

/* DICOM PS3.3 C.11.2.1.2.1 (LINEAR), C.11.2.1.3.2 (LINEAR_EXACT), C.11.2.1.3.1 (SIGMOID). */
double ts_window_oracle_linear(double x, double c, double w, double y_min, double y_max);
double ts_window_oracle_linear_exact(double x, double c, double w, double y_min, double y_max);
double ts_window_oracle_sigmoid(double x, double c, double w, double y_min, double y_max);

/* The whole stage, for the comparison loop: the image as doubles to the result as doubles. */
void ts_window_oracle(const struct stage_context *context, const double *in, double *out);

#endif
