/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages that make transmissions out of counts, beside their oracles.
 */
#ifndef TESTS_SUPPORT_TRANSMISSION_CHECK_H
#define TESTS_SUPPORT_TRANSMISSION_CHECK_H

#include "tests/support/stage_run.h"

/* Counts with axes of views and detectors; free(image.data). */
struct ts_image ts_test_counts(int64_t nz, int64_t n_views, int64_t n_detectors,
                               enum ts_dtype dtype, enum stage_values values, uint64_t seed);

/* These numbers follow from the definition: for each element its value (NaN where there is none)
 * and what `relative` is a share of; for each slice a count, in this table. */
struct transmission_expected {
    const double *values, *scale;
    double relative;
    const char *table;
    const uint64_t *counts;
};

/* Runs over slabs of all, one and two slices on one to three threads, compares with what is
 * expected, and demands the same bytes. `what` names the case. */
void ts_test_transmission(const struct stage *stage, const char *assignments,
                          const struct ts_image *in,
                          const struct ts_image *const references[STAGE_REFERENCES],
                          const struct transmission_expected *expected, const char *what);

#endif
