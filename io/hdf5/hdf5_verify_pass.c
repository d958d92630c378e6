/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes one pass over the file, which is cut into parts (a chunk, a piece of a contiguous dataset, a piece of what
 * lies between them), and threads take part after part, read it with pread and hash it as bytes of the file and as
 * values of its dataset. Parts are in the order of the file, so that the disk sees rising offsets. Chunks that the
 * writer in this process has proved are parts too, so that what lies between them is known, but are not read.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/thread.h"
#include "io/file/file_bytes.h"
#include "io/hdf5/hdf5_verify_parts.h"

enum { PIECE_BYTES = 4 << 20 };

struct part {
    uint64_t offset, bytes;         /* in the file */
    struct verify_dataset *dataset; /* NULL: between datasets */
    int64_t index;                  /* number of the chunk or piece */
    uint64_t value_offset;          /* where its values begin in the dataset */
    uint64_t value_bytes;
};

struct pass {
    struct verification *check;
    struct part *parts;
    size_t n, capacity, largest, largest_chunk;
    atomic_size_t next;
    pthread_mutex_t lock; /* for all below, and for what it sets in the check */
    bool failed;
};

/* ---- parts ------------------------------------------------------------------------------------- */

static bool add_part(struct pass *pass, const struct part *part)
{
    struct part *parts = ts_memory_grow(pass->parts, pass->n, &pass->capacity, sizeof *parts);
    if (!parts)
        return ts_verify_no_memory(pass->check);
    pass->parts = parts;
    pass->parts[pass->n++] = *part;
    if (part->bytes > pass->largest && !(part->dataset && part->dataset->proved))
        pass->largest = (size_t)part->bytes;
    return true;
}

static bool add_pieces(struct pass *pass, struct verify_dataset *dataset, uint64_t offset, uint64_t bytes)
{
    struct part part = {.dataset = dataset, .offset = offset};
    for (; part.value_offset < bytes; part.value_offset += PIECE_BYTES, part.offset += PIECE_BYTES, part.index++) {
        const uint64_t left = bytes - part.value_offset;
        part.bytes = part.value_bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        if (!add_part(pass, &part))
            return false;
    }
    return true;
}

static bool add_chunks(struct pass *pass, struct verify_dataset *dataset)
{
    struct part part = {.dataset = dataset};
    if (dataset->grid.chunk_bytes > pass->largest_chunk && !dataset->proved)
        pass->largest_chunk = dataset->grid.chunk_bytes;
    for (; part.index < dataset->grid.n_chunks; part.index++, part.value_offset += part.value_bytes) {
        int64_t start[TS_MAX_RANK];
        part.offset = dataset->chunks[part.index].offset;
        part.bytes = dataset->chunks[part.index].bytes;
        part.value_bytes = ts_chunk_place(&dataset->grid, part.index, start);
        if (!add_part(pass, &part))
            return false;
    }
    return true;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *one = a, *two = b;
    return one->offset < two->offset ? -1 : one->offset > two->offset;
}

/* Every byte of the body belongs to one part. */
static bool fill_gaps(struct pass *pass)
{
    const size_t n = pass->n;
    uint64_t end = 0;
    if (n > 0)
        qsort(pass->parts, n, sizeof *pass->parts, compare_parts);
    for (size_t i = 0; i < n; i++) {
        const struct part part = pass->parts[i];
        if (part.offset < end)
            return ts_verify_wrong(pass->check, part.dataset->path, "shares bytes of the file with another dataset");
        if (!add_pieces(pass, NULL, end, part.offset - end))
            return false;
        end = part.offset + part.bytes;
    }
    if (!add_pieces(pass, NULL, end, pass->check->body_bytes - end))
        return false;
    qsort(pass->parts, pass->n, sizeof *pass->parts, compare_parts);
    return true;
}

static bool add_values(const struct verify_dataset *dataset, uint64_t offset, const void *values, size_t bytes)
{
    return dataset->tree ? ts_digest_tree_add(dataset->tree, offset, values, bytes)
                         : ts_digest_add(dataset->flat, values, bytes);
}

static bool make_parts(struct pass *pass)
{
    struct verification *check = pass->check;
    bool done = true;
    for (size_t i = 0; i < check->n_datasets && done; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        if (dataset->bytes == 0 || dataset->damaged >= 0)
            continue;
        if (dataset->storage.layout == STORAGE_CHUNKED)
            done = add_chunks(pass, dataset);
        else if (dataset->storage.layout == STORAGE_CONTIGUOUS)
            done = add_pieces(pass, dataset, (uint64_t)dataset->storage.offset, dataset->bytes);
        else if (!add_values(dataset, 0, dataset->compact, (size_t)dataset->bytes))
            done = ts_verify_no_memory(check);
    }
    return done && (!check->body || fill_gaps(pass));
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void fail(struct pass *pass, int read_error, bool no_memory)
{
    pthread_mutex_lock(&pass->lock);
    pass->failed = true;
    if (!pass->check->read_error)
        pass->check->read_error = read_error;
    pass->check->no_memory = pass->check->no_memory || no_memory;
    pthread_mutex_unlock(&pass->lock);
}

static void note_damage(struct pass *pass, const struct part *part)
{
    pthread_mutex_lock(&pass->lock);
    if (part->dataset->damaged < 0 || part->index < part->dataset->damaged)
        part->dataset->damaged = part->index;
    pthread_mutex_unlock(&pass->lock);
}

static void check_part(struct pass *pass, const struct part *part, struct chunk_coder *coder, unsigned char *stored,
                       unsigned char *chunk)
{
    const struct verify_dataset *dataset = part->dataset;
    const void *values = stored;
    if (dataset && dataset->proved)
        return;
    if (!ts_file_read_at(pass->check->fd, stored, (size_t)part->bytes, part->offset)) {
        fail(pass, errno ? errno : -1, false);
        return;
    }
    bool done = !pass->check->body || ts_digest_tree_add(pass->check->body, part->offset, stored, (size_t)part->bytes);
    errno = 0; /* the decoder leaves ENOMEM where memory is out */
    if (done && dataset && dataset->storage.layout == STORAGE_CHUNKED)
        values =
            ts_chunk_decode(coder, &dataset->filters, stored, (size_t)part->bytes, chunk, dataset->grid.chunk_bytes);
    if (!values && errno == ENOMEM)
        done = false;
    else if (!values)
        note_damage(pass, part);
    else if (done && dataset)
        done = add_values(dataset, part->value_offset, values, (size_t)part->value_bytes);
    if (!done)
        fail(pass, 0, true);
}

static void *run_thread(void *data)
{
    struct pass *pass = data;
    struct chunk_coder *coder = ts_chunk_coder_create();
    unsigned char *stored = malloc(pass->largest + 1), *chunk = malloc(pass->largest_chunk + 1);
    if (!coder || !stored || !chunk)
        fail(pass, 0, true);
    for (size_t i; (i = atomic_fetch_add(&pass->next, 1)) < pass->n;) {
        pthread_mutex_lock(&pass->lock);
        const bool failed = pass->failed;
        pthread_mutex_unlock(&pass->lock);
        if (failed)
            break;
        check_part(pass, &pass->parts[i], coder, stored, chunk);
    }
    free(chunk);
    free(stored);
    ts_chunk_coder_destroy(coder);
    return NULL;
}

/* This thread works as well, so that the pass is made even where no other can start. The others take no signals. A
 * digest of version 1 takes its parts in their order, so a file that has such digests is read by this thread alone. */
static bool run_threads(struct pass *pass)
{
    const size_t most = pass->check->version == DIGEST_VERSION ? (size_t)pass->check->threads : 1;
    const size_t wanted = most < pass->n ? most : pass->n;
    pthread_t *threads = calloc(wanted + 1, sizeof *threads);
    size_t n = 0;
    if (!threads)
        return ts_verify_no_memory(pass->check);
    while (n + 1 < wanted && ts_thread_start(&threads[n], run_thread, pass) == 0)
        n++;
    run_thread(pass);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return !pass->failed;
}

/* Datasets that are damaged have no digest. */
static bool end_digests(struct verification *check)
{
    bool done = true;
    for (size_t i = 0; i < check->n_datasets && done; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        if (dataset->damaged < 0 && !dataset->proved)
            done = dataset->tree ? ts_digest_tree_text(dataset->tree, dataset->found)
                                 : ts_digest_end(dataset->flat, dataset->found);
    }
    return done || ts_verify_no_memory(check);
}

bool ts_verify_pass(struct verification *check)
{
    struct pass pass = {.check = check, .next = 0};
    pthread_mutex_init(&pass.lock, NULL);
    const bool done = make_parts(&pass) && run_threads(&pass) && end_digests(check);
    pthread_mutex_destroy(&pass.lock);
    free(pass.parts);
    return done;
}
