/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoder is a pool of one worker (io/sandbox/workers.h), so that each thread waits for its
 * own. Shared memory holds the encoded chunk and then the block of its values.
 */
#include "io/hdf5/hdf5_decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/sandbox/workers.h"

/* JOB_SECONDS is for one chunk. LIBRARY_BYTES is what libraries may need beside the blocks, mostly
   the window of zstd. PROCESS_BYTES is what a process needs before it begins. */
enum { JOB_SECONDS = 30, LIBRARY_BYTES = 192 << 20, PROCESS_BYTES = 2 << 20 };

struct decode_job {
    uint64_t bytes, skipped; /* no padding (struct sandbox_limits) */
};

struct hdf5_decoder {
    struct worker_pool *pool;
    struct hdf5_pipeline pipeline;
};

/* ---- the process ----------------------------------------------------------------------------- */

struct decoding {
    struct hdf5_pipeline pipeline;
    struct hdf5_undoer *undoer;
    unsigned char *encoded, *block, *other;
};

static void *hdf5_decoder_begin(const void *setup, void *memory)
{
    struct decoding *decoding = calloc(1, sizeof *decoding);
    if (!decoding)
        return NULL;
    decoding->pipeline = *(const struct hdf5_pipeline *)setup;
    decoding->encoded = memory;
    decoding->block = decoding->encoded + ts_hdf5_pipeline_bound(&decoding->pipeline);
    decoding->other = malloc(ts_hdf5_pipeline_block(&decoding->pipeline));
    decoding->undoer = ts_hdf5_undoer_create();
    return decoding->other && decoding->undoer ? decoding : NULL;
}

static void work(void *state, const void *data, int fd, void *answer)
{
    const struct decoding *decoding = state;
    const struct decode_job *job = data;
    struct worker_verdict *verdict = answer;
    (void)fd;
    if (!ts_hdf5_pipeline_undo(&decoding->pipeline, decoding->undoer, decoding->encoded, job->bytes,
                               job->skipped, decoding->block, decoding->other))
        verdict->status = errno == ENOMEM ? TS_RUN_FAILED : TS_BAD_INPUT;
}

static const struct worker_kind decoder_kind = {.name = "HDF5 decoder",
                                                .job_bytes = sizeof(struct decode_job),
                                                .reply_bytes = sizeof(struct worker_verdict),
                                                .begin = hdf5_decoder_begin,
                                                .work = work};

/* ---- the caller ------------------------------------------------------------------------------ */

static size_t shared_bytes(const struct hdf5_pipeline *pipeline)
{
    return ts_hdf5_pipeline_bound(pipeline) + ts_hdf5_pipeline_block(pipeline);
}

/* The bounds allow for chunks that grew when encoded; hardly any needs so much memory. */
size_t ts_hdf5_decoder_bytes(const struct hdf5_pipeline *pipeline)
{
    return (pipeline->n_filters > 1 ? 3 : 2) * pipeline->chunk_bytes + PROCESS_BYTES;
}

enum ts_status ts_hdf5_decoder_create(struct sandbox *sandbox, const struct hdf5_pipeline *pipeline,
                                      struct hdf5_decoder **out, struct ts_diag *diag)
{
    const struct worker_setup setup = {.kind = &decoder_kind,
                                       .sandbox = sandbox,
                                       .n_workers = 1,
                                       .memory_bytes = shared_bytes(pipeline),
                                       .address_bytes =
                                           LIBRARY_BYTES + 4 * ts_hdf5_pipeline_block(pipeline),
                                       .job_seconds = JOB_SECONDS,
                                       .setup = pipeline,
                                       .setup_bytes = sizeof *pipeline};
    struct hdf5_decoder *decoder = calloc(1, sizeof *decoder);
    *out = NULL;
    if (!decoder)
        return ts_diag_no_memory(diag, sizeof *decoder);
    decoder->pipeline = *pipeline;
    const enum ts_status status = ts_workers_create(&setup, &decoder->pool, diag);
    if (status == TS_OK)
        *out = decoder;
    else
        free(decoder);
    return status;
}

void ts_hdf5_decoder_destroy(struct hdf5_decoder *decoder)
{
    if (!decoder)
        return;
    ts_workers_destroy(decoder->pool);
    free(decoder);
}

unsigned char *ts_hdf5_decoder_encoded(const struct hdf5_decoder *decoder)
{
    return ts_workers_memory(decoder->pool, 0);
}

unsigned char *ts_hdf5_decoder_block(const struct hdf5_decoder *decoder)
{
    return ts_hdf5_decoder_encoded(decoder) + ts_hdf5_pipeline_bound(&decoder->pipeline);
}

enum ts_status ts_hdf5_decoder_undo(struct hdf5_decoder *decoder, size_t bytes, uint32_t skipped,
                                    char *what, size_t size, struct ts_diag *diag)
{
    const struct decode_job job = {.bytes = bytes, .skipped = skipped};
    struct worker_verdict verdict = {0};
    char lost[WORKER_TEXT_MAX] = "";
    uint64_t number;
    const enum worker_outcome outcome =
        ts_worker_ask(decoder->pool, &job, -1, &number, &verdict, lost);
    snprintf(what, size, "is damaged%s%s", *lost ? ": the process that decoded it " : "", lost);
    if (outcome == WORKER_LOST && number != UINT64_MAX)
        return TS_BAD_INPUT;
    if (outcome == WORKER_KILLED) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "decoder-killed"},
                      "the process that decodes chunks %s, and so was the one in its place", lost);
        return ts_diag_hint(diag, CHILD_KILLED_HINT);
    }
    if (outcome != WORKER_REPLIED)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "decoder-died"},
                             "the process that decodes chunks %s", *lost ? lost : "does nothing");
    const enum ts_status status = (enum ts_status)verdict.status;
    return status == TS_RUN_FAILED
               ? ts_diag_no_memory(diag, ts_hdf5_decoder_bytes(&decoder->pipeline))
               : status;
}
