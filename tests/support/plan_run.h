/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans and runs of chains over images in memory, for tests that compare what is written.
 */
#ifndef TESTS_SUPPORT_PLAN_RUN_H
#define TESTS_SUPPORT_PLAN_RUN_H

#include "tests/support/memory_chain.h"

/* The plan; NULL where the chain is refused. Any other failure fails the test. */
struct ts_plan *ts_test_plan(const struct memory_chain *memory, const struct ts_options *options);
/* Fails the test where the run does. */
void ts_test_plan_run(struct ts_plan *plan);
/* Does the same with other options than those of the plan. */
void ts_test_plan_run_with(const struct ts_plan *plan, const struct run_options *options);
/* Fits the plan anew to a budget of memory, of the GPU's where it runs there; false where it does
 * not fit. */
bool ts_test_plan_fits(struct ts_plan *plan, int64_t budget);
/* The least budget that fits; the plan is left with another. */
int64_t ts_test_plan_least(struct ts_plan *plan);
/* Fails unless the file holds the bytes of *first, which the first call (NULL) fills; free it. */
void ts_test_same_file(const char *path, unsigned char **first, size_t *first_size,
                       const char *what);

/* Runs the chain on the CPU with 1 and 3 threads, with the smallest slabs and with as large ones as
 * fit, and fails unless every run writes the same bytes to `output`. */
void ts_test_same_for_slabs_and_threads(const struct memory_chain *memory, const char *output);

#endif
