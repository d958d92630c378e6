/* SPDX-License-Identifier: Apache-2.0
 *
 * A chunk queue has threads that carry chunks through three steps: prepare (encode), place (find
 * out where it goes) and write. Chunks are placed in the order in which they were put, whichever
 * thread was faster, so that the places depend on that order alone; the other two steps run for
 * several chunks at once. The queue holds at most ts_chunk_queue_window() chunks at a time.
 */
#ifndef IO_FILE_CHUNK_QUEUE_H
#define IO_FILE_CHUNK_QUEUE_H

#include "io/file/chunks.h"
#include "io/file/digest_tree.h"

struct chunk_job {
    int id;        /* the image's number */
    int64_t index; /* the chunk's place in its grid */
    struct chunk_filters filters;
    /* The values, of which the first inside_bytes lie in the array, and behind them space for
     * CHUNK_CHECKSUM_BYTES. NULL where the chunk came encoded, or is prepared. Malloc'ed, owned by
     * the job, as `encoded` is. */
    void *chunk;
    size_t chunk_bytes, inside_bytes;
    struct digest_tree *digest; /* the array's; borrowed */
    uint64_t offset;            /* where the chunk begins in the array's bytes */
    void *encoded;
    size_t encoded_bytes;
};

/* Each chunk goes through these steps. A step that returns false stops the queue, which drops all
 * further chunks. */
struct chunk_steps {
    bool (*prepare)(void *user, struct chunk_coder *coder,
                    struct chunk_job *job);           /* coder NULL: memory is out */
    bool (*place)(void *user, struct chunk_job *job); /* one thread at a time, in order */
    bool (*write)(void *user, struct chunk_job *job);
};

struct chunk_queue;
/* Creates a queue, or returns NULL where memory is out. No thread starts before the first chunk
 * comes. `steps` must outlive the queue. */
struct chunk_queue *ts_chunk_queue_create(int threads, const struct chunk_steps *steps, void *user);
/* Adds a chunk, and owns the job's buffers from now on in every case. Waits for a free slot.
 * Returns false where a step or a thread failed; *error_number is then the error number of a thread
 * that could not start, else 0. */
bool ts_chunk_queue_put_take(struct chunk_queue *queue, const struct chunk_job *job,
                             int *error_number);
/* Returns true where ts_chunk_queue_put_take would wait. */
bool ts_chunk_queue_is_full(struct chunk_queue *queue);
/* Waits until all chunks are through their steps. Returns false where one failed. */
bool ts_chunk_queue_drain(struct chunk_queue *queue);
/* Drops waiting chunks, ends the threads and frees the queue. */
void ts_chunk_queue_destroy(struct chunk_queue *queue);
/* Returns the most chunks that a queue with so many threads holds. */
int ts_chunk_queue_window(int threads);

#endif
