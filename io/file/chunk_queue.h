/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that encode chunks and add them to their digest. Chunks come out in the order in which they went in, whatever
 * thread was faster, and at most `window` of them are held at a time.
 */
#ifndef IO_FILE_CHUNK_QUEUE_H
#define IO_FILE_CHUNK_QUEUE_H

#include "io/file/chunks.h"
#include "io/file/digest_tree.h"

struct chunk_job {
    int id;        /* of the image */
    int64_t index; /* of the chunk in its grid */
    struct chunk_filters filters;
    void *chunk; /* chunk_bytes, of which the first inside_bytes lie in the array; malloc'ed, owned by the job */
    size_t chunk_bytes, inside_bytes;
    struct digest_tree *digest; /* of the array; borrowed */
    uint64_t offset;            /* of the chunk in the array's bytes */
    void *encoded;              /* encoded_bytes; malloc'ed, owned by the job */
    size_t encoded_bytes;
};

/* Takes one finished chunk; called by one thread at a time, in order. Where memory was out `encoded` is NULL. False
 * stops the queue: what follows is dropped. */
typedef bool chunk_sink(void *user, const struct chunk_job *job);

struct chunk_queue;
/* No thread starts before the first chunk comes. */
struct chunk_queue *ts_chunk_queue_create(int threads, chunk_sink *sink, void *user);
/* Owns the job's buffers from now on, in every case. Waits for a free slot. False: a sink or a thread failed (the error
 * number of a thread that could not start is in *error_number, else 0). */
bool ts_chunk_queue_put_take(struct chunk_queue *queue, const struct chunk_job *job, int *error_number);
/* Waits until all chunks are through the sink. False where one failed. */
bool ts_chunk_queue_drain(struct chunk_queue *queue);
/* Drops what waits, ends the threads, frees. */
void ts_chunk_queue_destroy(struct chunk_queue *queue);
/* Chunks held at most for this number of threads. */
int ts_chunk_queue_window(int threads);

#endif
