/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a chunk queue take each chunk through three steps: prepare (encode it), place
 * (find out where it goes) and write. Chunks are placed in the order in which they were put, so
 * that places do not depend on which thread was faster. The other two steps run for several chunks
 * at once. The queue holds at most ts_chunk_queue_window() chunks at a time.
 */
#ifndef IO_FILE_CHUNK_QUEUE_H
#define IO_FILE_CHUNK_QUEUE_H

#include "io/file/chunks.h"
#include "io/file/digest_tree.h"

struct chunk_job {
    int id;        /* the image's number */
    int64_t index; /* the chunk's place in its grid */
    struct chunk_filters filters;
    /* The values, then space for CHUNK_CHECKSUM_BYTES; the first inside_bytes are inside the array.
       NULL if the chunk came encoded or is prepared. Malloc'ed and owned by the job, as `encoded`
       is. */
    void *chunk;
    size_t chunk_bytes, inside_bytes;
    struct digest_tree *digest; /* the array's; borrowed */
    uint64_t offset;            /* where the chunk begins among the array's bytes */
    void *encoded;
    size_t encoded_bytes;
};

/* The steps of each chunk. A step that returns false stops the queue, which drops all further
   chunks. */
struct chunk_steps {
    bool (*prepare)(void *user, struct chunk_coder *coder,
                    struct chunk_job *job);           /* if `coder` is NULL, memory is out */
    bool (*place)(void *user, struct chunk_job *job); /* for one thread at a time, in order */
    bool (*write)(void *user, struct chunk_job *job);
};

struct chunk_queue;
/* Creates a queue; returns NULL if memory is out. Threads start when the first chunk comes. `steps`
   must outlive the queue. */
struct chunk_queue *ts_chunk_queue_create(int threads, const struct chunk_steps *steps, void *user);
/* Adds a chunk, and takes over the job's buffers even if it fails. Waits for a free slot. Returns
   false if a step or a thread failed; *error_number is then the errno of a thread that could not
   start, else 0. */
bool ts_chunk_queue_put_take(struct chunk_queue *queue, const struct chunk_job *job,
                             int *error_number);
/* Returns true if ts_chunk_queue_put_take would wait. */
bool ts_chunk_queue_is_full(struct chunk_queue *queue);
/* Waits until all chunks have gone through their steps. Returns false if a step failed. */
bool ts_chunk_queue_drain(struct chunk_queue *queue);
/* Drops waiting chunks, ends the threads and frees the queue. */
void ts_chunk_queue_destroy(struct chunk_queue *queue);
/* Returns the most chunks that a queue with so many threads holds. */
int ts_chunk_queue_window(int threads);

#endif
