/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one stage once, for tests that look at its tables, its references or its refusals.
 */
#ifndef TESTS_SUPPORT_STAGE_RUN_H
#define TESTS_SUPPORT_STAGE_RUN_H

#include "tests/support/stage_check.h"

struct stage_run {
    struct param_set set;
    struct stage_context context;
    struct stage_reduced *reduced;
    struct ts_diag *diag;
    struct ts_image out; /* with data, where the stage has map() */
    enum ts_status status;
};

/* Prepares and applies the stage over slabs of `slab` slices (0: all); the status is kept and
 * returned. */
enum ts_status ts_test_run(struct stage_run *run, const struct stage *stage,
                           const char *assignments, const struct ts_image *in,
                           const struct ts_image *reference, int64_t slab, int threads);
/* The same with all references, in the order of their parameters. */
enum ts_status ts_test_run_references(struct stage_run *run, const struct stage *stage,
                                      const char *assignments, const struct ts_image *in,
                                      const struct ts_image *const references[STAGE_REFERENCES],
                                      int64_t slab, int threads);
void ts_test_run_clear(struct stage_run *run);
/* The image that the stage makes of `in`, at once, on two threads; free(image.data). Fails the test
 * where it refuses. */
struct ts_image ts_test_output(const struct stage *stage, const char *assignments,
                               const struct ts_image *in);
/* Fails the test where the run has no such table. */
const struct ts_image *ts_test_table(const struct stage_run *run, const char *name);
/* Element i of the table, as a double. */
double ts_test_table_at(const struct stage_run *run, const char *name, int64_t i);
/* Fails unless preparing the stage for this image, and its first reference (NULL: none), is refused
 * with one record of this code that has `words` in its message or hint. */
void ts_test_refuses(const struct stage *stage, const char *assignments, const struct ts_image *in,
                     const struct ts_image *reference, const char *code, const char *words);
/* The same for a 2 x 3 x 4 image, which is its own reference, and any words. */
void ts_test_refused(const struct stage *stage, const char *assignments, enum ts_dtype dtype,
                     bool with_reference, const char *code);

#endif
