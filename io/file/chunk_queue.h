/* SPDX-License-Identifier: Apache-2.0
 *
 * A chunk queue has threads that encode chunks and add them to their digest. Chunks come out in the order in which they
 * went in, whichever thread was faster, and the queue holds at most ts_chunk_queue_window() of them at a time.
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

/* Receives one finished chunk; one thread at a time calls it, in order. Where memory was out `encoded` is NULL.
 * Returning false stops the queue, which drops all further chunks. */
typedef bool chunk_sink(void *user, const struct chunk_job *job);

struct chunk_queue;
/* Creates a queue, or returns NULL where memory is out. No thread starts before the first chunk comes. */
struct chunk_queue *ts_chunk_queue_create(int threads, chunk_sink *sink, void *user);
/* Adds a chunk, and owns the job's buffers from now on in every case. Waits for a free slot. Returns false where the
 * sink or a thread failed; *error_number is then the error number of a thread that could not start, else 0. */
bool ts_chunk_queue_put_take(struct chunk_queue *queue, const struct chunk_job *job, int *error_number);
/* Waits until all chunks are through the sink. Returns false where one failed. */
bool ts_chunk_queue_drain(struct chunk_queue *queue);
/* Drops waiting chunks, ends the threads and frees the queue. */
void ts_chunk_queue_destroy(struct chunk_queue *queue);
/* Returns the most chunks that a queue with so many threads holds. */
int ts_chunk_queue_window(int threads);

#endif
