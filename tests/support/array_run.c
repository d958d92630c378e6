/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/array_run.h"

#include <string.h>

struct ts_array ts_test_array(void *data, enum ts_dtype dtype, int64_t nz, int64_t ny, int64_t nx)
{
    return (struct ts_array){.size = sizeof(struct ts_array),
                             .data = data,
                             .dtype = dtype,
                             .rank = 3,
                             .n = {nz, ny, nx},
                             .cuda_device = -1};
}

enum ts_status ts_array_run_start(struct array_run *of, const char *text, const char *name,
                                  const struct ts_array *in, const struct ts_image *about,
                                  const struct ts_options *options, struct ts_diag *diag)
{
    *of = (struct array_run){0};
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &of->chain, diag);
    if (status == TS_OK)
        status = ts_chain_set_array(of->chain, name, in, about, diag);
    if (status == TS_OK)
        status = ts_plan_create(of->chain, options, &of->plan, diag);
    return status == TS_OK ? ts_run_create(of->plan, &of->run, diag) : status;
}

void ts_array_run_finish(struct array_run *of)
{
    ts_run_destroy(of->run);
    ts_plan_destroy(of->plan);
    ts_chain_destroy(of->chain);
    *of = (struct array_run){0};
}
