/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage-bench deflate FILE --dtype TYPE` times both levels of the compressor on the device.
 * The file's values are cut into chunks of 4 MiB, as the writer cuts them, and repeated until a
 * call has 256 MiB, more than the caches hold. The time is the median of events around the
 * launches; the rate counts bytes of values, and stands beside that of a copy on the device.
 */
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "core/timing.h"
#include "cuda/deflate/deflate.h"
#include "lab/bench/bench.h"
#include "lab/cuda/ceilings.h"

enum { CHUNK_BYTES = 4 << 20, CHUNKS = 64, RUNS = 15, WARM_UPS = 2 };

static struct bench_request arguments = BENCH_REQUEST_DEFAULT;
static const struct command_option options[] = {BENCH_CASE_OPTIONS};

struct deflate_bench {
    struct ts_diag *diag;
    struct cuda_session *session;
    const struct device_numbers *device;
    struct cuda_event *start, *end;
    void *d_input, *d_output, *d_scratch;
    struct cuda_deflate_place *d_places;
};

/* Fills host memory of a whole call with the file's values, over and over. */
static enum ts_status read_values(const char *path, unsigned char *values, struct ts_diag *diag)
{
    FILE *file = fopen(path, "rb");
    size_t bytes = 0, all = (size_t)CHUNKS * CHUNK_BYTES;
    if (file) {
        bytes = fread(values, 1, all, file) / CHUNK_BYTES * CHUNK_BYTES;
        fclose(file);
    }
    if (bytes == 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "wrong-size"},
                             "%s does not hold %d bytes of values", path, CHUNK_BYTES);
    for (size_t i = bytes; i < all; i += CHUNK_BYTES)
        memcpy(values + i, values + i % bytes, CHUNK_BYTES);
    return TS_OK;
}

static enum ts_status upload(struct deflate_bench *bench, const char *path)
{
    const size_t bytes = (size_t)CHUNKS * CHUNK_BYTES;
    unsigned char *values = malloc(bytes);
    if (!values)
        return ts_diag_no_memory(bench->diag, bytes);
    enum ts_status status = read_values(path, values, bench->diag);
    if (status == TS_OK)
        status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_DEVICE, bench->d_input, values,
                              bytes);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    free(values);
    return status;
}

static enum ts_status time_run(struct deflate_bench *bench, const struct cuda_deflate *job,
                               double *seconds)
{
    float ms = 0;
    enum ts_status status = ts_cuda_delay(bench->session, bench->diag);
    if (status == TS_OK)
        status = ts_cuda_event_record(bench->session, bench->start, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_deflate(job, bench->device, bench->d_input, bench->d_scratch,
                                 bench->d_output, bench->d_places,
                                 ts_cuda_stream(bench->session, CUDA_COMPUTE), bench->diag);
    if (status == TS_OK)
        status = ts_cuda_event_record(bench->session, bench->end, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_elapsed_ms(bench->session, bench->start, bench->end, &ms);
    *seconds = 1e-3 * (double)ms;
    return status;
}

static enum ts_status time_level(struct deflate_bench *bench, const struct cuda_deflate *job,
                                 double copy)
{
    struct cuda_deflate_place last;
    double seconds[RUNS], warm;
    enum ts_status status = TS_OK;
    for (int i = -WARM_UPS; status == TS_OK && i < RUNS; i++)
        status = time_run(bench, job, i < 0 ? &warm : &seconds[i]);
    if (status == TS_OK)
        status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_HOST, &last,
                              bench->d_places + CHUNKS - 1, sizeof last);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    if (status != TS_OK)
        return status;
    const double bytes = (double)CHUNKS * CHUNK_BYTES, median = ts_median(seconds, RUNS);
    printf("level %d: %7.1f GB/s (spread %.1f %%), ratio %.4f, %.3f ms for %.0f MiB; a copy reads "
           "%.0f GB/s\n",
           job->level, 1e-9 * bytes / median, 100 * ts_spread(seconds, RUNS),
           (double)(last.offset + last.bytes) / bytes, 1e3 * median, bytes / (1 << 20),
           0.5e-9 * copy);
    return TS_OK;
}

static enum ts_status allocate(struct deflate_bench *bench, const struct cuda_deflate *job)
{
    bench->start = ts_cuda_event_create(bench->session);
    bench->end = ts_cuda_event_create(bench->session);
    bench->d_input = ts_cuda_allocate(bench->session, (size_t)CHUNKS * CHUNK_BYTES);
    bench->d_output = ts_cuda_allocate(bench->session, ts_cuda_deflate_bound(job));
    bench->d_scratch =
        ts_cuda_allocate(bench->session, ts_cuda_deflate_scratch_bytes(job, bench->device));
    bench->d_places = ts_cuda_allocate(bench->session, CHUNKS * sizeof *bench->d_places);
    const bool complete =
        bench->start && bench->end && bench->d_input && bench->d_output && bench->d_scratch;
    return complete && bench->d_places ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status time_levels(struct deflate_bench *bench, const char *path)
{
    struct cuda_ceilings ceilings;
    struct cuda_deflate job = {.n_chunks = CHUNKS,
                               .chunk_bytes = CHUNK_BYTES,
                               .last_bytes = CHUNK_BYTES,
                               .width = (int)ts_dtype_bytes((enum ts_dtype)arguments.dtype),
                               .level = CUDA_DEFLATE_MATCHES};
    enum ts_status status = allocate(bench, &job);
    if (status == TS_OK)
        status = upload(bench, path);
    if (status == TS_OK)
        status = ts_cuda_ceilings_measure(bench->session, bench->diag, &ceilings);
    for (int level = CUDA_DEFLATE_RUNS; status == TS_OK && level <= CUDA_DEFLATE_MATCHES; level++) {
        job.level = (enum cuda_deflate_level)level;
        status = time_level(bench, &job, ceilings.copy);
    }
    return status;
}

static int run(char **operands)
{
    struct cuda_devices found;
    if (arguments.dtype < 0)
        return ts_command_wrong(&ts_bench_deflate_command, "--dtype is missing");
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct deflate_bench bench = {.diag = diag, .device = &found.devices[0]};
    enum ts_status status = ts_cuda_query_here(&found, diag);
    if (status == TS_OK)
        status = ts_cuda_session_create(bench.device, 0, diag, &bench.session);
    if (status == TS_OK)
        status = time_levels(&bench, operands[0]);
    ts_cuda_session_destroy(bench.session);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_bench_deflate_command = {
    .program = "tomostage-bench",
    .name = "deflate",
    .usage = "FILE --dtype TYPE",
    .summary = "time the compression of raw values on the device",
    .help = "FILE holds values in little-endian order, at least 4 MiB of them.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = run,
};
