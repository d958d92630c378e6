/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins tables on a CUDA device for the tests (cuda/values/fan_in.cuh).
 */
#ifndef TESTS_SUPPORT_TABLES_JOIN_H
#define TESTS_SUPPORT_TABLES_JOIN_H

#include "cuda/device/device.h"
#include "stages/values/fan_in.h"

/* Tables in host memory; the first becomes the sum. */
enum ts_status ts_test_tables_join(const struct device_numbers *device, uint64_t *tables,
                                   int64_t n_tables, int64_t n_bins, enum reduction_method method,
                                   struct ts_diag *diag);

#endif
