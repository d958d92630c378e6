/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_VALUES_MIDDLE_ORACLE_H
#define TESTS_STAGES_VALUES_MIDDLE_ORACLE_H

#include <stdint.h>

/* Returns what would be element n / 2 of the values in ascending order; n > 0. It changes their
 * order. C. A. R. Hoare, Algorithm 65: FIND, 1961. */
double ts_middle_oracle(double *values, int64_t n);

#endif
