/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables to the device, joined there, and the first of them back.
 */
#include "cuda/values/fan_in.cuh"

extern "C" {
#include "cuda/device/session.h"
#include "tests/support/tables_join.h"
}

static const struct stage tables_stage = {.name = "tables"};

enum ts_status ts_test_tables_join(const struct device_numbers *device, uint64_t *tables,
                                   int64_t n_tables, int64_t n_bins, enum reduction_method method,
                                   struct ts_diag *diag)
{
    const size_t bytes = (size_t)(n_tables * n_bins) * sizeof *tables;
    struct cuda_session *session = NULL;
    struct stage_context context = {};
    context.stage = &tables_stage;
    context.diag = diag;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &session);
    uint64_t *d_tables = status == TS_OK ? (uint64_t *)ts_cuda_allocate(session, bytes) : NULL;
    if (d_tables && status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, d_tables, tables, bytes);
    if (d_tables && status == TS_OK) {
        ts_cuda_tables_join(d_tables, 1, n_tables, n_bins, method,
                            ts_cuda_stream(session, CUDA_COMPUTE));
        status = ts_cuda_launched(&context, "tables");
    }
    if (d_tables && status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, tables, d_tables,
                              (size_t)n_bins * sizeof *tables);
    if (d_tables && status == TS_OK)
        status = ts_cuda_wait(session, CUDA_COMPUTE);
    ts_cuda_session_destroy(session);
    return d_tables ? status : TS_RUN_FAILED;
}
