/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the method once more, with fewer bits.
 */
#define HISTOGRAM_TAG_SHIFT 15
#define ts_cuda_histogram_warp_tagged ts_test_histogram_warp_narrow
#include "cuda/histogram/histogram_warp.cu"

extern "C" {
#include "tests/support/narrow_histogram.h"
}

static const struct stage narrow_stage = {.name = "narrow"};

enum ts_status ts_test_narrow_histogram(const struct device_numbers *device, const uint8_t *pixels,
                                        size_t n, uint64_t counts[NARROW_KEYS],
                                        struct ts_diag *diag)
{
    struct device_numbers one = *device;
    struct cuda_session *session = NULL;
    struct stage_context context = {};
    struct cuda_call call = {};
    struct table_job job = {};
    const size_t bytes = NARROW_KEYS * sizeof *counts;
    one.multiprocessors = 1;
    one.threads = NARROW_WARPS * LANES;
    context.stage = &narrow_stage;
    context.device = &one;
    context.diag = diag;
    enum ts_status status = ts_cuda_session_create(&one, n + bytes, diag, &session);
    void *d_pixels = status == TS_OK ? ts_cuda_allocate(session, n) : NULL;
    void *d_counts = d_pixels ? ts_cuda_allocate(session, bytes) : NULL;
    if (!d_counts)
        status = TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, d_pixels, pixels, n);
    if (status == TS_OK)
        status = ts_cuda_fill(session, CUDA_COMPUTE, d_counts, 0, bytes);
    job.work.data = d_pixels;
    job.work.partials = d_counts;
    job.work.slice_pixels = n;
    job.work.n_slices = 1;
    job.work.bytes = 1;
    job.work.n_keys = NARROW_KEYS;
    job.last = NARROW_KEYS - 1;
    if (status == TS_OK) {
        call.stream = ts_cuda_stream(session, CUDA_COMPUTE);
        status = ts_test_histogram_warp_narrow(&context, TS_U8, &job, &call);
    }
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, counts, d_counts, bytes);
    if (status == TS_OK)
        status = ts_cuda_wait(session, CUDA_COMPUTE);
    ts_cuda_session_destroy(session);
    return status;
}
