/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads slices whose pixels are not compressed, in the program's own threads: there is nothing to
 * decode, only bytes at an offset and of a length that the scan checked. A slice is one pread, the
 * conversion of its cells, and its digests. Compressed slices go to workers (dicom_ring.c).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/available.h"
#include "io/dicom_frames/dicom_source.h"

bool ts_dicom_is_native(const struct dicom_source *source)
{
    for (int64_t z = 0; z < ts_source_total(&source->base); z++)
        if (dicom_is_compressed(source->frames[z].image->file->syntax))
            return false;
    return true;
}

/* A range of slices while it is read. */
struct reading {
    struct dicom_source *source;
    int64_t z;
    unsigned char *out;
};

/* Reads slice z. Its bits were written by its first read and may be in use. The file must be the
 * one that was checked before and after, so that no part of the pixels is newer. */
static void read_slice(const struct dicom_source *source, int64_t z, struct dicom_scratch *scratch,
                       void *out, struct dicom_reply *reply)
{
    struct dicom_job job;
    ts_dicom_job(source, z, &job);
    const int fd = ts_dicom_frame_open(source->frames[z].image->file, reply);
    if (fd < 0)
        return;
    uint64_t *valid =
        *source->base.slices[z].pixel_sha256 ? NULL : ts_source_valid(&source->base, z);
    ts_dicom_frame_decode(&job, fd, scratch, out, valid, reply);
    if (reply->verdict.status == TS_OK)
        ts_dicom_frame_check(source->frames[z].image->file, fd, reply);
    close(fd);
}

static enum ts_status read_part(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct reading *reading = user;
    struct dicom_source *source = reading->source;
    const size_t bytes = ts_slice_bytes(&source->base.image),
                 cell_bytes = ts_dicom_cell_bytes(source);
    struct dicom_reply reply = {0};
    struct dicom_scratch *scratch = &source->scratch[thread];
    if (!scratch->cells && !ts_dicom_scratch_init(scratch, cell_bytes))
        return ts_diag_no_memory(diag, cell_bytes);
    read_slice(source, reading->z + i, scratch, reading->out + (size_t)i * bytes, &reply);
    return ts_dicom_accept(source, reading->z + i, &reply, diag);
}

static enum ts_status read_range(struct source *base, struct pool *readers, int64_t z, int64_t n,
                                 void *out, struct ts_diag *diag)
{
    struct reading reading = {(struct dicom_source *)base, z, out};
    return ts_pool_run(readers, reading.source->n_threads, n, read_part, &reading, diag);
}

/* The limit does not count: the plan names how many slices are read ahead. */
static const struct read_rule rule = {read_range, 1, SIZE_MAX};

static int useful_threads(const struct dicom_source *source, int threads)
{
    return ts_source_total(&source->base) < threads ? (int)ts_source_total(&source->base) : threads;
}

size_t ts_dicom_native_bytes(const struct dicom_source *source, int threads, int64_t ahead)
{
    return ts_read_ahead_bytes(&source->base, &rule, ahead) + ts_source_valid_bytes(&source->base) +
           (size_t)useful_threads(source, threads) * ts_dicom_cell_bytes(source);
}

enum ts_status ts_dicom_native_start(struct source *base, int threads, int64_t ahead,
                                     struct ts_diag *diag)
{
    struct dicom_source *source = (struct dicom_source *)base;
    if (source->native)
        return TS_OK;
    source->n_threads = useful_threads(source, threads);
    source->scratch = calloc((size_t)source->n_threads, sizeof *source->scratch);
    if (!source->scratch)
        return ts_diag_no_memory(diag, (size_t)source->n_threads * sizeof *source->scratch);
    return ts_read_ahead_start(base, &rule, source->n_threads, ahead, &source->native, diag);
}

void ts_dicom_native_prefetch(struct source *base, int64_t z, int64_t n)
{
    struct dicom_source *source = (struct dicom_source *)base;
    if (source->native)
        ts_read_ahead_prefetch(source->native, z, n);
}

void ts_dicom_native_prefetch_to(struct source *base, int64_t z, int64_t n, void *out)
{
    struct dicom_source *source = (struct dicom_source *)base;
    if (source->native)
        ts_read_ahead_prefetch_to(source->native, z, n, out);
}

enum ts_status ts_dicom_native_read(struct source *base, int64_t z, int64_t n, void *out,
                                    struct ts_diag *diag)
{
    struct dicom_source *source = (struct dicom_source *)base;
    enum ts_status status = ts_dicom_check_range(source, z, n, diag);
    if (status == TS_OK)
        status = ts_dicom_native_start(base, ts_processors(), 0, diag);
    if (status == TS_OK)
        status = ts_read_ahead_read(source->native, z, n, out, diag);
    if (status == TS_OK)
        ts_dicom_note_pixels(source, z, n, diag);
    return status;
}

void ts_dicom_native_end(struct dicom_source *source)
{
    ts_read_ahead_destroy(source->native);
    source->native = NULL;
    for (int t = 0; source->scratch && t < source->n_threads; t++)
        ts_dicom_scratch_clear(&source->scratch[t]);
    free(source->scratch);
    source->scratch = NULL;
}
