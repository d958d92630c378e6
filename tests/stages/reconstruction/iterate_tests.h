/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the tests that every iterative reconstruction passes, whatever its rule is. A stage's
 * own tests, among them the comparison with its oracle, stand in the file that names the stage
 * here.
 */
#ifndef TESTS_STAGES_RECONSTRUCTION_ITERATE_TESTS_H
#define TESTS_STAGES_RECONSTRUCTION_ITERATE_TESTS_H

#include "tests/support/scan_check.h"

/* Defines the tests of NAME_stage, in the suite NAME, with the oracle ts_NAME_oracle. */
#define ITERATE_TESTS(name)                                                                        \
    TEST_ON_BOTH(name, records_its_residuals)                                                      \
    {                                                                                              \
        ts_scan_check_residuals(&name##_stage, ts_##name##_oracle);                                \
    }                                                                                              \
    TEST_ON_BOTH(name, a_value_that_is_no_number_ends_the_run)                                     \
    {                                                                                              \
        ts_scan_check_finite(&name##_stage, "iterations=2");                                       \
    }                                                                                              \
    TEST_ON_BOTH(name, slices_are_independent)                                                     \
    {                                                                                              \
        ts_scan_check_independence(&name##_stage, "iterations=4 stop=residual tolerance=0.01");    \
        if (ts_test_device)                                                                        \
            ts_scan_check_independence(&name##_stage, "iterations=4 method=stack");                \
    }                                                                                              \
    Test(name, refuses_what_is_not_called_line_integrals)                                          \
    {                                                                                              \
        ts_scan_check_quantity(&name##_stage);                                                     \
    }                                                                                              \
    Test(name, refuses_angles_of_no_scan)                                                          \
    {                                                                                              \
        ts_scan_check_angles(&name##_stage, "iterations=1");                                       \
    }

#endif
