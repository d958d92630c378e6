/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures copies between pinned memory and the device in pieces as a run's, and the device's
 * compression in a call of as many chunks as a slab may have. Times are those between events, so
 * the host's part is not counted. Built only with CUDA.
 */
#include <string.h>

#include "core/timing.h"
#include "cuda/deflate/deflate.h"
#include "lab/bench/bench_rates.h"
#include "pipeline/plan/plan.h"

enum { PIECE = PLAN_PIECE_BYTES, PIECES = 8, CHUNK = 4 << 20, CHUNKS = 16, RUNS = 5 };

struct rates_cuda {
    struct cuda_session *session;
    const struct device_numbers *device;
    struct ts_diag *diag;
    struct cuda_event *start, *end;
    unsigned char *host;
    void *d_values, *d_scratch, *d_out;
    struct cuda_deflate_place *d_places;
    struct cuda_deflate job;
};

/* Puts the work to be timed on the compute queue. */
typedef enum ts_status device_work(struct rates_cuda *cuda);

static enum ts_status upload(struct rates_cuda *cuda)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < PIECES; i++)
        status = ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_TO_DEVICE, cuda->d_values,
                              cuda->host, PIECE);
    return status;
}

static enum ts_status download(struct rates_cuda *cuda)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < PIECES; i++)
        status = ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_TO_HOST, cuda->host, cuda->d_values,
                              PIECE);
    return status;
}

static enum ts_status compress(struct rates_cuda *cuda)
{
    return ts_cuda_deflate(&cuda->job, cuda->device, cuda->d_values, cuda->d_scratch, cuda->d_out,
                           cuda->d_places, ts_cuda_stream(cuda->session, CUDA_COMPUTE), cuda->diag);
}

/* Sets *rate to the bytes a second of the median run after the first. */
static enum ts_status time_work(struct rates_cuda *cuda, device_work *enqueue, double bytes,
                                double *rate)
{
    double seconds[RUNS];
    enum ts_status status = TS_OK;
    for (int i = -1; status == TS_OK && i < RUNS; i++) {
        float ms = 0;
        status = ts_cuda_event_record(cuda->session, cuda->start, CUDA_COMPUTE);
        if (status == TS_OK)
            status = enqueue(cuda);
        if (status == TS_OK)
            status = ts_cuda_event_record(cuda->session, cuda->end, CUDA_COMPUTE);
        if (status == TS_OK)
            status = ts_cuda_wait(cuda->session, CUDA_COMPUTE);
        if (status == TS_OK)
            status = ts_cuda_elapsed_ms(cuda->session, cuda->start, cuda->end, &ms);
        if (i >= 0)
            seconds[i] = 1e-3 * (double)ms;
    }
    if (status == TS_OK)
        *rate = bytes / ts_median(seconds, RUNS);
    return status;
}

static bool allocate(struct rates_cuda *cuda)
{
    cuda->start = ts_cuda_event_create(cuda->session);
    cuda->end = ts_cuda_event_create(cuda->session);
    cuda->host = ts_cuda_allocate_pinned(cuda->session, CHUNKS * CHUNK);
    cuda->d_values = ts_cuda_allocate(cuda->session, CHUNKS * CHUNK);
    cuda->d_out = ts_cuda_allocate(cuda->session, ts_cuda_deflate_bound(&cuda->job));
    cuda->d_scratch =
        ts_cuda_allocate(cuda->session, ts_cuda_deflate_scratch_bytes(&cuda->job, cuda->device));
    cuda->d_places = ts_cuda_allocate(cuda->session, CHUNKS * sizeof *cuda->d_places);
    return cuda->start && cuda->end && cuda->host && cuda->d_values && cuda->d_out &&
           cuda->d_scratch && cuda->d_places;
}

/* Fills the device's values with a CT. */
static enum ts_status fill(struct rates_cuda *cuda)
{
    const struct bench_case which = ts_bench_ct_case(TS_I16, CHUNKS * CHUNK);
    struct ts_image image = ts_bench_describe_image(&which);
    image.data = cuda->host;
    ts_bench_fill(&which, &image);
    const enum ts_status status = ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_TO_DEVICE,
                                               cuda->d_values, cuda->host, CHUNKS * CHUNK);
    return status == TS_OK ? ts_cuda_wait(cuda->session, CUDA_COMPUTE) : status;
}

enum ts_status ts_bench_rates_cuda(const struct device_numbers *device, struct rates *rates,
                                   struct ts_diag *diag)
{
    struct rates_cuda cuda = {.device = device, .diag = diag};
    cuda.job = (struct cuda_deflate){.n_chunks = CHUNKS,
                                     .chunk_bytes = CHUNK,
                                     .last_bytes = CHUNK,
                                     .width = (int)ts_dtype_bytes(TS_I16),
                                     .level = CUDA_DEFLATE_RUNS};
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &cuda.session);
    if (status == TS_OK && !allocate(&cuda))
        status = TS_RUN_FAILED;
    if (status == TS_OK)
        status = fill(&cuda);
    if (status == TS_OK)
        status =
            time_work(&cuda, compress, (double)CHUNKS * CHUNK, &rates->values[RATE_CUDA_COMPRESS]);
    if (status == TS_OK)
        status = time_work(&cuda, upload, (double)PIECES * PIECE, &rates->values[RATE_UPLOAD]);
    if (status == TS_OK)
        status = time_work(&cuda, download, (double)PIECES * PIECE, &rates->values[RATE_DOWNLOAD]);
    ts_cuda_session_destroy(cuda.session);
    return status;
}
