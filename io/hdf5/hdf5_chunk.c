/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes one chunk into the file, in three steps. A thread encodes it, decodes that again and
 * compares it with the values, whose digest it computes. libhdf5, one chunk at a time and in order,
 * says where the chunk goes. Then a thread writes it there with pwrite, outside of every lock,
 * reads it back, compares, and adds it to the digest of the file's bytes. So each chunk is proved
 * while it is in memory, and the check at the end need not read it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/hdf5/hdf5_writer.h"

enum { SYNC_BYTES = 32 << 20, SLICES_BYTES = 400 };

/* For messages: "slices 0 to 3 of 29 of /entry/data/data". */
static void name_slices(const struct hdf5_dataset *dataset, int64_t index, char what[SLICES_BYTES])
{
    int64_t start[TS_MAX_RANK];
    const size_t inside = ts_chunk_place(&dataset->grid, index, start);
    const int64_t first =
        dataset->grid.rank == TS_MAX_RANK ? start[0] * dataset->grid.n[1] + start[1] : start[0];
    const int64_t last =
        first + (int64_t)((inside + dataset->slice_bytes - 1) / dataset->slice_bytes) - 1;
    snprintf(what, SLICES_BYTES, "slices %lld to %lld of %lld of %.300s", (long long)first,
             (long long)last, (long long)dataset->n_slices, dataset->path);
}

static bool fail_damaged(struct hdf5_writer *writer, const struct hdf5_dataset *dataset,
                         int64_t index)
{
    int64_t start[TS_MAX_RANK];
    (void)ts_chunk_place(&dataset->grid, index, start);
    return ts_hdf5_fail(writer, "hdf5-damaged",
                        "'%s':%s cannot be checked: the chunk at slice %lld is damaged",
                        writer->file->path, dataset->path, (long long)start[0]);
}

/* ---- prepare --------------------------------------------------------------------------------- */

/* Decodes what was encoded and compares it with the values. */
static bool prove(struct hdf5_writer *writer, struct chunk_coder *coder,
                  const struct chunk_job *job)
{
    const double begin = ts_trace_begin(writer->options.trace);
    errno = 0; /* the decoder sets errno to ENOMEM if memory is out */
    const bool same = ts_chunk_matches(coder, &job->filters, job->encoded, job->encoded_bytes,
                                       job->chunk, job->chunk_bytes);
    const bool no_memory = errno == ENOMEM;
    ts_trace_add(writer->options.trace, TRACE_CHECK, begin, job->chunk_bytes);
    if (same)
        return true;
    return no_memory ? ts_hdf5_fail_memory(writer, job->chunk_bytes)
                     : fail_damaged(writer, writer->datasets[job->id], job->index);
}

/* Encodes a chunk. If nothing is compressed, the values stay in their buffer, which has space for
   the checksum after them. */
static bool encode(struct hdf5_writer *writer, struct chunk_coder *coder, struct chunk_job *job)
{
    const size_t bound = ts_chunk_bound(&job->filters, job->chunk_bytes);
    const bool stored = job->filters.level == 0;
    void *encoded = stored ? job->chunk : malloc(bound);
    if (!encoded)
        return ts_hdf5_fail_memory(writer, bound);
    if (!stored)
        job->encoded = encoded;
    const double begin = ts_trace_begin(writer->options.trace);
    if (ts_digest_tree_add(job->digest, job->offset, job->chunk, job->inside_bytes))
        job->encoded_bytes =
            ts_chunk_encode(coder, &job->filters, job->chunk, job->chunk_bytes, encoded, bound);
    ts_trace_add(writer->options.trace, TRACE_COMPRESS, begin, job->chunk_bytes);
    if (job->encoded_bytes == 0)
        return ts_hdf5_fail_memory(writer, bound);
    if (!stored && !prove(writer, coder, job))
        return false;
    if (!stored)
        free(job->chunk);
    job->chunk = NULL;
    job->encoded = encoded;
    return true;
}

/* Decodes a chunk that came encoded. Whoever encoded it made its checksums from the values. */
static bool hdf5_chunk_decode(struct hdf5_writer *writer, struct chunk_coder *coder,
                              const struct chunk_job *job)
{
    const double begin = ts_trace_begin(writer->options.trace);
    void *chunk = malloc(job->chunk_bytes);
    errno = chunk ? 0 : ENOMEM; /* the decoder sets errno to ENOMEM if memory is out */
    const void *values = NULL;
    if (chunk)
        values = ts_chunk_decode(coder, &job->filters, job->encoded, job->encoded_bytes, chunk,
                                 job->chunk_bytes);
    const bool no_memory =
        values ? !ts_digest_tree_add(job->digest, job->offset, values, job->inside_bytes)
               : errno == ENOMEM;
    free(chunk);
    ts_trace_add(writer->options.trace, TRACE_CHECK, begin, job->chunk_bytes);
    if (no_memory)
        return ts_hdf5_fail_memory(writer, job->chunk_bytes);
    return values || fail_damaged(writer, writer->datasets[job->id], job->index);
}

/* Reads a chunk from the scratch file. Its disk space is freed at once if the file system can make
   holes, else when the file is closed. */
static bool fetch(struct hdf5_writer *writer, struct chunk_job *job)
{
    const struct hdf5_dataset *dataset = writer->datasets[job->id];
    const struct storage_chunk from = dataset->chunks[job->index];
    unsigned char sum[DIGEST_SUM_BYTES];
    job->encoded_bytes = from.bytes;
    job->encoded = malloc(from.bytes);
    if (!job->encoded)
        return ts_hdf5_fail_memory(writer, from.bytes);
    if (!ts_file_read_at(dataset->scratch, job->encoded, from.bytes, from.offset))
        return ts_hdf5_fail_system(writer, "cannot read back", errno ? errno : EIO, dataset->path,
                                   from.bytes);
    (void)fallocate(dataset->scratch, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)from.offset, from.bytes);
    return (ts_digest_sum(job->encoded, from.bytes, sum) &&
            memcmp(sum, dataset->scratch_sums[job->index], sizeof sum) == 0) ||
           fail_damaged(writer, dataset, job->index);
}

static bool hdf5_chunk_prepare(void *user, struct chunk_coder *coder, struct chunk_job *job)
{
    struct hdf5_writer *writer = user;
    if (!coder)
        return ts_hdf5_fail_memory(writer, ts_chunk_bound(&job->filters, job->chunk_bytes));
    if (job->chunk)
        return encode(writer, coder, job);
    return job->encoded ? hdf5_chunk_decode(writer, coder, job) : fetch(writer, job);
}

/* ---- place ----------------------------------------------------------------------------------- */

bool ts_hdf5_chunk_place(struct hdf5_writer *writer, struct hdf5_dataset *dataset, int64_t index,
                         size_t bytes)
{
    int64_t start[TS_MAX_RANK];
    hsize_t offset[TS_MAX_RANK];
    struct storage_chunk *chunk = &dataset->chunks[index];
    (void)ts_chunk_place(&dataset->grid, index, start);
    for (int d = 0; d < dataset->grid.rank; d++)
        offset[d] = (hsize_t)start[d];
    ts_hdf5_enter();
    const bool done =
        ts_hdf5_driver_place(writer->h5, dataset->dataset, offset, bytes, &chunk->offset);
    if (!done) {
        char what[SLICES_BYTES];
        name_slices(dataset, index, what);
        ts_hdf5_fail_library(writer, what, (int64_t)bytes);
    }
    ts_hdf5_leave();
    chunk->bytes = (uint32_t)bytes;
    return done;
}

static bool hdf5_chunk_place(void *user, struct chunk_job *job)
{
    struct hdf5_writer *writer = user;
    struct hdf5_dataset *dataset = writer->datasets[job->id];
    struct storage_chunk *chunk = &dataset->chunks[job->index];
    if (!dataset->scratching)
        return job->filters.level == 0 ||
               ts_hdf5_chunk_place(writer, dataset, job->index, job->encoded_bytes);
    *chunk = (struct storage_chunk){.offset = dataset->scratch_end,
                                    .bytes = (uint32_t)job->encoded_bytes};
    dataset->scratch_end += job->encoded_bytes;
    return true;
}

/* ---- write ----------------------------------------------------------------------------------- */

static bool write_scratch(struct hdf5_writer *writer, struct hdf5_dataset *dataset,
                          const struct chunk_job *job)
{
    if (!ts_digest_sum(job->encoded, job->encoded_bytes, dataset->scratch_sums[job->index]))
        return ts_hdf5_fail_memory(writer, DIGEST_SUM_BYTES);
    return ts_file_write_at(dataset->scratch, job->encoded, job->encoded_bytes,
                            dataset->chunks[job->index].offset) ||
           ts_hdf5_fail_system(writer, "cannot write", errno, dataset->path,
                               (int64_t)job->encoded_bytes);
}

static bool read_back(struct hdf5_writer *writer, const struct hdf5_dataset *dataset,
                      const struct chunk_job *job)
{
    unsigned char part[64 << 10];
    const unsigned char *expected = job->encoded;
    for (size_t at = 0; at < job->encoded_bytes; at += sizeof part) {
        const size_t bytes =
            job->encoded_bytes - at < sizeof part ? job->encoded_bytes - at : sizeof part;
        if (!ts_file_read_at(writer->file->fd, part, bytes,
                             dataset->chunks[job->index].offset + at))
            return ts_hdf5_fail(writer, "hdf5-read", "cannot read '%s': %s", writer->file->path,
                                errno ? ts_errno_text(errno) : "it became shorter");
        if (memcmp(part, expected + at, bytes) != 0)
            return fail_damaged(writer, dataset, job->index);
    }
    return true;
}

/* Asks the system to write to the disk in the background, so that little is left for the fsync at
   the end, which also reports failures of this. */
static void sync_behind(struct hdf5_writer *writer, size_t bytes)
{
    const size_t before = atomic_fetch_add(&writer->written_bytes, bytes);
    if (before / SYNC_BYTES != (before + bytes) / SYNC_BYTES)
        (void)sync_file_range(writer->file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static bool write_chunk(void *user, struct chunk_job *job)
{
    struct hdf5_writer *writer = user;
    struct hdf5_dataset *dataset = writer->datasets[job->id];
    const uint64_t offset = dataset->chunks[job->index].offset;
    if (dataset->scratching)
        return write_scratch(writer, dataset, job);
    /* Local file systems let only one thread at a time write to a file. Without this lock the
       others would spin, and take processors from those that prepare and check. */
    pthread_mutex_lock(&writer->write_lock);
    const double begin = ts_trace_begin(writer->options.trace);
    const bool done = ts_file_write_at(writer->file->fd, job->encoded, job->encoded_bytes, offset);
    const int error = errno;
    ts_trace_add(writer->options.trace, TRACE_WRITE, begin, job->encoded_bytes);
    pthread_mutex_unlock(&writer->write_lock);
    if (!done) {
        char what[SLICES_BYTES];
        name_slices(dataset, job->index, what);
        return ts_hdf5_fail_system(writer, "cannot write", error, what,
                                   (int64_t)job->encoded_bytes);
    }
    sync_behind(writer, job->encoded_bytes);
    const double written = ts_trace_begin(writer->options.trace);
    if (!read_back(writer, dataset, job))
        return false;
    const bool added = ts_digest_tree_add(writer->body, offset, job->encoded, job->encoded_bytes);
    ts_trace_add(writer->options.trace, TRACE_CHECK, written, job->encoded_bytes);
    return added || ts_hdf5_fail_memory(writer, DIGEST_LEAF_BYTES);
}

const struct chunk_steps ts_hdf5_chunk_steps = {
    .prepare = hdf5_chunk_prepare, .place = hdf5_chunk_place, .write = write_chunk};
