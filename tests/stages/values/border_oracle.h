/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples outside an image, found by walking there from inside one step at a time.
 */
#ifndef TESTS_STAGES_VALUES_BORDER_ORACLE_H
#define TESTS_STAGES_VALUES_BORDER_ORACLE_H

#include "stages/engine/stage.h"

/* The sample in [0, n) that stands for sample i, or -1 for the constant. */
int64_t ts_border_oracle(int64_t i, int64_t n, enum ts_border border);
/* The volume (z, y, x) with rz, ry, rx more samples on both sides of each axis; the caller frees
 * it. */
double *ts_border_pad_oracle(const struct ts_image *image, const double *in, int64_t rz, int64_t ry,
                             int64_t rx, enum ts_border border, double constant);

#endif
