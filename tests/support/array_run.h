/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a chain on an array in memory, by the library's public functions.
 */
#ifndef TESTS_SUPPORT_ARRAY_RUN_H
#define TESTS_SUPPORT_ARRAY_RUN_H

#include "include/tomostage_array.h"

struct array_run {
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct ts_run *run;
};

/* Returns a contiguous array of nz x ny x nx elements on the host. */
struct ts_array ts_test_array(void *data, enum ts_dtype dtype, int64_t nz, int64_t ny, int64_t nx);
/* Makes a run of the chain, whose `input: memory NAME` is `in`, described by `about` (or NULL).
 * Returns what failed first; ts_array_run_finish frees what was made until then. */
enum ts_status ts_array_run_start(struct array_run *of, const char *text, const char *name,
                                  const struct ts_array *in, const struct ts_image *about,
                                  const struct ts_options *options, struct ts_diag *diag);
void ts_array_run_finish(struct array_run *of);

#endif
