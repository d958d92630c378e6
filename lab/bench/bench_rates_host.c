/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures what the threads of a run do beside the stages. All threads do the same at once, each on
 * a chunk of integers and one of floats of its own, so that they share caches and memory as in a
 * run; the rate is that of one of them, in processor time, which other programs do not lengthen.
 */
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/timing.h"
#include "io/file/chunks.h"
#include "io/file/digest.h"
#include "io/file/file_bytes.h"
#include "lab/bench/bench_rates.h"

enum { CHUNK = 4 << 20, TYPES = 2, LEVEL = 1, WRITE_CHUNKS = 32 };
static const double part_seconds = 0.15;
/* No encoder of DICOM's codecs is at hand to make frames for a measurement, so this one rate is
 * assumed; the printed table says so. */
static const double decode_assumed = 30e6;

/* A thread works on these: a chunk of each type. */
struct worker {
    unsigned char *values[TYPES], *encoded[TYPES], *back;
    size_t encoded_bytes[TYPES], bound;
    struct chunk_filters filters[TYPES];
    struct chunk_coder *coder;
    int fd; /* a file of CHUNK bytes, which all share */
};

/* Does one part with chunk `type`. Returns false where it fails. */
typedef bool thread_work(struct worker *worker, int type);

static bool read_chunk(struct worker *worker, int type)
{
    (void)type;
    return ts_file_read_at(worker->fd, worker->back, CHUNK, 0);
}

static bool digest(struct worker *worker, int type)
{
    unsigned char sum[DIGEST_SUM_BYTES];
    return ts_digest_sum(worker->values[type], CHUNK, sum);
}

static bool compress(struct worker *worker, int type)
{
    worker->encoded_bytes[type] =
        ts_chunk_encode(worker->coder, &worker->filters[type], worker->values[type], CHUNK,
                        worker->encoded[type], worker->bound);
    return worker->encoded_bytes[type] > 0;
}

static bool inflate(struct worker *worker, int type)
{
    return ts_chunk_decode(worker->coder, &worker->filters[type], worker->encoded[type],
                           worker->encoded_bytes[type], worker->back, CHUNK) != NULL;
}

static bool prove(struct worker *worker, int type)
{
    return ts_chunk_matches(worker->coder, &worker->filters[type], worker->encoded[type],
                            worker->encoded_bytes[type], worker->values[type], CHUNK);
}

static bool checksum(struct worker *worker, int type)
{
    return ts_chunk_checksum(worker->values[type], CHUNK) != 0 || worker->back;
}

static const struct {
    enum rate rate;
    thread_work *work;
} works[] = {{RATE_READ, read_chunk},   {RATE_DIGEST, digest},
             {RATE_COMPRESS, compress}, /* the next two need it */
             {RATE_INFLATE, inflate},   {RATE_PROVE, prove},
             {RATE_CHECKSUM, checksum}};

/* ---- threads --------------------------------------------------------------------------------- */

static void worker_clear(struct worker *worker)
{
    for (int type = 0; type < TYPES; type++) {
        free(worker->values[type]);
        free(worker->encoded[type]);
    }
    free(worker->back);
    ts_chunk_coder_destroy(worker->coder);
}

static bool worker_init(struct worker *worker, int fd)
{
    const enum ts_dtype dtypes[TYPES] = {TS_I16, TS_F32};
    *worker = (struct worker){
        .fd = fd, .back = ts_memory_aligned(CHUNK), .coder = ts_chunk_coder_create()};
    bool complete = worker->back && worker->coder;
    for (int type = 0; type < TYPES; type++) {
        const struct bench_case which = ts_bench_ct_case(dtypes[type], CHUNK);
        worker->filters[type] = (struct chunk_filters){ts_dtype_bytes(dtypes[type]), LEVEL};
        worker->bound = ts_chunk_bound(&worker->filters[type], CHUNK);
        worker->encoded[type] = malloc(worker->bound);
        struct ts_image image = ts_bench_image(&which);
        worker->values[type] = image.data;
        complete = complete && image.data && worker->encoded[type];
    }
    return complete;
}

/* All threads repeat the work for a while. Returns the bytes a second of one, or 0 where it
 * failed. */
static double rate_of(struct worker *workers, int threads, thread_work *work)
{
    double bytes = 0, seconds = 0;
    bool failed = false;
#pragma omp parallel num_threads(threads) reduction(+ : bytes, seconds) reduction(|| : failed)
    {
        struct worker *worker = &workers[omp_get_thread_num()];
        for (int type = 0; type < TYPES; type++)
            failed = failed || !work(worker, type);
#pragma omp barrier
        const double start = ts_thread_seconds();
        while (!failed && seconds < part_seconds) {
            for (int type = 0; type < TYPES; type++)
                failed = failed || !work(worker, type);
            bytes += (double)TYPES * CHUNK;
            seconds = ts_thread_seconds() - start;
        }
    }
    return failed ? 0 : bytes / seconds;
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum ts_status fail_file(const char *folder, const char *what, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                         "%s cannot be %s: %s", folder, what, ts_errno_text(errno));
}

/* All threads write compressed chunks, which no file system makes smaller, to places of their own,
 * and read them back. The disk's rate is that of all of this with the fsync that follows. */
static enum ts_status time_write(const char *folder, int fd, struct worker *workers,
                                 struct rates *rates, struct ts_diag *diag)
{
    const int threads = rates->threads, each = WRITE_CHUNKS / threads + 1;
    const double start = ts_seconds();
    double bytes = 0, seconds = 0;
    atomic_int error = 0;
#pragma omp parallel num_threads(threads) reduction(+ : bytes, seconds)
    {
        struct worker *worker = &workers[omp_get_thread_num()];
        const double begin = ts_thread_seconds();
        for (int i = 0; i < each; i++) {
            const size_t encoded = worker->encoded_bytes[i % TYPES],
                         n = encoded < CHUNK ? encoded : CHUNK;
            const uint64_t offset = (uint64_t)(1 + omp_get_thread_num() * each + i) * CHUNK;
            if (!ts_file_write_at(fd, worker->encoded[i % TYPES], n, offset) ||
                !ts_file_read_at(fd, worker->back, n, offset)) {
                error = errno ? errno : EIO;
                break;
            }
            bytes += (double)n;
        }
        seconds = ts_thread_seconds() - begin;
    }
    if (!error && fsync(fd) != 0)
        error = errno;
    errno = error;
    if (error)
        return fail_file(folder, "written to", diag);
    rates->values[RATE_STORE] = bytes / seconds;
    rates->values[RATE_WRITE] = bytes / (ts_seconds() - start);
    return TS_OK;
}

static enum ts_status time_works(const char *folder, int fd, struct worker *workers,
                                 struct rates *rates, struct ts_diag *diag)
{
    if (!ts_file_write_at(fd, workers->values[0], CHUNK, 0))
        return fail_file(folder, "written to", diag);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        double *rate = &rates->values[works[i].rate];
        *rate = rate_of(workers, rates->threads, works[i].work);
        if (*rate <= 0)
            return ts_diag_error(
                diag, TS_RUN_FAILED, &(struct diag_site){.code = "benchmark-failed"},
                "the rate of '%s' could not be measured", ts_rate_names[works[i].rate].text);
    }
    return time_write(folder, fd, workers, rates, diag);
}

enum ts_status ts_bench_rates_host(const char *folder, struct rates *rates, struct ts_diag *diag)
{
    const int threads = rates->threads, fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    bool complete = workers != NULL;
    enum ts_status status = fd < 0 ? fail_file(folder, "written to", diag) : TS_OK;
    rates->values[RATE_DECODE] = decode_assumed;
    for (int i = 0; status == TS_OK && complete && i < threads; i++)
        complete = worker_init(&workers[i], fd);
    if (status == TS_OK)
        status = complete ? time_works(folder, fd, workers, rates, diag)
                          : ts_diag_no_memory(diag, CHUNK);
    for (int i = 0; workers && i < threads; i++)
        worker_clear(&workers[i]);
    free(workers);
    if (fd >= 0)
        close(fd);
    return status;
}
