/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes compressed slices ahead of their use, into a fixed number of slots in memory that
 * sandboxed workers share. The number of a job is slot * 2^32 + z. The open file goes with it,
 * since a worker can open nothing.
 *
 * Slices that read() waits for go first, then those that prefetch() named, in order, while slots
 * are free. A slice that was decoded ahead and is in the way of one that is waited for gives up its
 * slot: a prefetch is a hint.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/available.h"
#include "core/path.h"
#include "io/dicom_frames/dicom_decode.h"
#include "io/dicom_frames/dicom_jpeg_2000.h"
#include "io/dicom_frames/dicom_source.h"
#include "io/source/read_ahead.h"

enum { SLOTS_MAX = 4096 };

static void *slot_data(const struct dicom_source *source, int64_t slot)
{
    unsigned char *memory = ts_workers_memory(source->pool, (int)(slot % source->n_workers));
    return memory + (size_t)(slot / source->n_workers) * source->slot_bytes;
}

static int64_t clamp(int64_t n, int64_t most)
{
    n = n < most ? n : most;
    return n < 1 ? 1 : n;
}

/* Returns how many slots there are, as many of each worker: at least `ahead`, so that a slab's
 * slices are all held. */
static int64_t count_slots(const struct dicom_source *source, int threads, int64_t ahead,
                           int *n_workers)
{
    const int64_t total = ts_source_total(&source->base),
                  slots = clamp(clamp(ahead, total), SLOTS_MAX);
    *n_workers = (int)clamp(clamp(clamp(threads, slots), total), WORKERS_MAX);
    return (slots + *n_workers - 1) / *n_workers * *n_workers;
}

/* The bits of valid pixels stand behind the pixels of a slot. */
static size_t valid_offset(const struct dicom_source *source)
{
    return (ts_slice_bytes(&source->base.image) + 63) / 64 * 64;
}

static size_t slot_bytes(const struct dicom_source *source)
{
    return valid_offset(source) + (ts_valid_bytes(&source->base.image) + 63) / 64 * 64;
}

/* Returns the memory that a worker may need to decode any slice. */
static size_t worker_bytes(const struct dicom_source *source)
{
    size_t largest = 0, decoder = 0;
    for (int64_t z = 0; z < ts_source_total(&source->base); z++) {
        const struct dicom_image *image = source->frames[z].image;
        const struct dicom_file *file = image->file;
        const size_t bytes =
            dicom_is_compressed(file->syntax) ? (size_t)file->streams[image->frame].bytes : 0;
        const size_t own =
            file->syntax == DICOM_JPEG_2000
                ? ts_dicom_jpeg_2000_bytes((size_t)file->rows * (size_t)file->columns)
                : 0;
        largest = bytes > largest ? bytes : largest;
        decoder = own > decoder ? own : decoder;
    }
    /* The cells count twice, and so do the compressed bytes. 8 MiB are the heap and touched
     * pages of a process. */
    return ((size_t)8 << 20) + 2 * ts_dicom_cell_bytes(source) + 2 * largest + decoder;
}

size_t ts_dicom_ring_bytes(const struct dicom_source *source, int threads, int64_t ahead)
{
    int n_workers;
    const int64_t slots = count_slots(source, threads, ahead, &n_workers);
    return (size_t)slots * (slot_bytes(source) + sizeof *source->slots) +
           ts_source_valid_bytes(&source->base) + (size_t)n_workers * worker_bytes(source);
}

/* ---- in a worker ----------------------------------------------------------------------------- */

/* Every worker gets this when it starts. */
struct decoder_setup {
    size_t slot_bytes, cell_bytes, valid_offset; /* valid_offset: 0 if no bits are wanted */
    size_t codecs;                               /* 1 if DCMTK is needed; no padding (struct
                                                    sandbox_limits) */
};

struct decoder {
    unsigned char *slots; /* shared with the program */
    size_t slot_bytes, valid_offset;
    struct dicom_scratch scratch;
};

static bool dicom_ring_prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    const struct decoder_setup *decoder = setup;
    (void)bytes;
    if (!ts_dicom_frame_prepare()) {
        snprintf(error, error_bytes, "the crypto library has no SHA-256");
        return false;
    }
    ts_dicom_jpeg_2000_prepare();
    return !decoder->codecs || ts_dicom_decode_init(error, error_bytes) == 0;
}

static void *dicom_ring_begin(const void *setup, void *memory)
{
    static struct decoder decoder;
    const struct decoder_setup *sizes = setup;
    decoder = (struct decoder){
        .slots = memory, .slot_bytes = sizes->slot_bytes, .valid_offset = sizes->valid_offset};
    return ts_dicom_scratch_init(&decoder.scratch, sizes->cell_bytes) ? &decoder : NULL;
}

static void work(void *state, const void *bytes, int fd, void *reply)
{
    struct decoder *decoder = state;
    struct dicom_job job;
    memcpy(&job, bytes, sizeof job);
    unsigned char *slot = decoder->slots + (size_t)job.place * decoder->slot_bytes;
    uint64_t *valid =
        decoder->valid_offset > 0 ? (uint64_t *)(void *)(slot + decoder->valid_offset) : NULL;
    ts_dicom_frame_decode(&job, fd, &decoder->scratch, slot, valid, reply);
    close(fd);
}

static const struct worker_kind decoder_kind = {
    .name = "DICOM decoder",
    .job_bytes = sizeof(struct dicom_job),
    .reply_bytes = sizeof(struct dicom_reply),
    .prepare = dicom_ring_prepare,
    .begin = dicom_ring_begin,
    .work = work,
};

_Static_assert(sizeof(struct dicom_job) <= WORKER_JOB_MAX &&
                   sizeof(struct dicom_reply) <= WORKER_REPLY_MAX,
               "the messages of a worker are bounded");

/* ---- the ring -------------------------------------------------------------------------------- */

static bool needs_codecs(const struct dicom_source *source)
{
    for (int64_t z = 0; z < ts_source_total(&source->base); z++)
        if (dicom_needs_dcmtk(source->frames[z].image->file->syntax))
            return true;
    return false;
}

enum ts_status ts_dicom_ring_start(struct source *base, int threads, int64_t ahead,
                                   struct ts_diag *diag)
{
    struct dicom_source *source = (struct dicom_source *)base;
    size_t memory_bytes;
    if (source->pool != NULL)
        return TS_OK;
    source->n_slots = count_slots(source, threads, ahead, &source->n_workers);
    const int64_t places = source->n_slots / source->n_workers; /* slots of each worker */
    source->slot_bytes = slot_bytes(source);
    if (!ts_mul_size((size_t)places, source->slot_bytes, &memory_bytes))
        return ts_diag_no_memory(diag, SIZE_MAX);
    source->slots = calloc((size_t)source->n_slots, sizeof *source->slots);
    source->slot_of = malloc((size_t)ts_source_total(base) * sizeof *source->slot_of);
    if (source->slots == NULL || source->slot_of == NULL) {
        ts_dicom_ring_end(source);
        return ts_diag_no_memory(diag, (size_t)ts_source_total(base) * sizeof *source->slot_of);
    }
    memset(source->slot_of, 0xFF, (size_t)ts_source_total(base) * sizeof *source->slot_of);
    const struct decoder_setup decoder = {source->slot_bytes, ts_dicom_cell_bytes(source),
                                          base->image.masked ? valid_offset(source) : 0,
                                          needs_codecs(source)};
    const struct worker_setup setup = {
        .kind = &decoder_kind,
        .sandbox = source->sandbox,
        .n_workers = source->n_workers,
        .memory_bytes = memory_bytes,
        .address_bytes = ((size_t)256 << 20) + 4 * worker_bytes(source),
        .job_seconds = DICOM_JOB_SECONDS,
        .setup = &decoder,
        .setup_bytes = sizeof decoder,
    };
    enum ts_status status = ts_workers_create(&setup, &source->pool, diag);
    if (status != TS_OK)
        ts_dicom_ring_end(source);
    return status;
}

static void free_slot(struct dicom_source *source, int64_t slot)
{
    source->slot_of[source->slots[slot].z] = -1;
    source->slots[slot].state = SLOT_FREE;
}

/* False if no job can be queued now. A file that cannot be opened has its answer at once. */
static bool submit(struct dicom_source *source, int64_t slot, int64_t z)
{
    struct dicom_job job;
    ts_dicom_job(source, z, &job);
    job.place = slot / source->n_workers;
    struct dicom_slot *at = &source->slots[slot];
    at->z = z;
    at->reply = (struct dicom_reply){0};
    const int fd = ts_dicom_frame_open(source->frames[z].image->file, &at->reply);
    bool queued = fd < 0;
    at->state = SLOT_READY;
    if (fd >= 0) {
        queued = ts_workers_submit(source->pool, (int)(slot % source->n_workers),
                                   (uint64_t)slot << 32 | (uint64_t)z, &job, fd);
        at->state = queued ? SLOT_QUEUED : SLOT_FREE;
        close(fd);
    }
    if (queued)
        source->slot_of[z] = (int32_t)slot;
    return queued;
}

static bool holds_slice(const struct dicom_slot *slot)
{
    return slot->state == SLOT_READY || slot->state == SLOT_TAKEN;
}

/* Returns the slot for one more slice, or -1 if there is none before an answer comes. A free slot
 * of the worker with the fewest jobs is best. If none is free, a slot whose slice is outside of
 * `wanted` is given up (with NULL none is), rather one that was read. For the `first` slice of
 * `wanted`, which is waited for, that of a later one is given up too, unless a job is on its
 * way. */
static int64_t find_slot(struct dicom_source *source, const struct slice_range *wanted, bool first)
{
    int64_t outside = -1, inside = -1, free_one = -1;
    int least = INT_MAX;
    bool queued = false;
    for (int64_t slot = 0; slot < source->n_slots && least > 0; slot++) {
        const struct dicom_slot *at = &source->slots[slot];
        const int load = ts_workers_load(source->pool, (int)(slot % source->n_workers));
        if (at->state == SLOT_FREE && load < least) {
            least = load;
            free_one = slot;
        }
        queued |= at->state == SLOT_QUEUED;
        if (wanted == NULL || !holds_slice(at))
            continue;
        if (at->z < wanted->z || at->z >= wanted->z + wanted->n)
            outside = outside >= 0 && at->state == SLOT_READY ? outside : slot;
        else if (at->z != wanted->z)
            inside = slot;
    }
    if (free_one >= 0)
        return free_one;
    int64_t slot = first && !queued ? inside : -1;
    if (outside >= 0)
        slot = outside;
    if (slot >= 0)
        free_slot(source, slot);
    return slot;
}

/* Queues what is wanted now, then what was asked for ahead. */
static void pump(struct dicom_source *source, const struct slice_range *wanted)
{
    int64_t slot;
    for (int64_t z = wanted->z; z < wanted->z + wanted->n; z++) {
        if (source->slot_of[z] >= 0)
            continue;
        slot = find_slot(source, wanted, z == wanted->z);
        if (slot < 0 || !submit(source, slot, z))
            return;
    }
    while (source->n_pending > 0) {
        struct slice_range *first = &source->pending[0];
        if (source->slot_of[first->z] < 0) {
            slot = find_slot(source, NULL, false);
            if (slot < 0 || !submit(source, slot, first->z))
                return;
        }
        first->z++;
        if (--first->n == 0) {
            source->n_pending--;
            memmove(source->pending, source->pending + 1,
                    (size_t)source->n_pending * sizeof *source->pending);
        }
    }
}

/* Frees what was read and is not in the slices that will be asked for next. */
static void free_taken(struct dicom_source *source, int64_t z, int64_t n)
{
    for (int64_t slot = 0; slot < source->n_slots; slot++) {
        const struct dicom_slot *at = &source->slots[slot];
        if (at->state == SLOT_TAKEN && (at->z < z || at->z >= z + n))
            free_slot(source, slot);
    }
}

void ts_dicom_ring_prefetch(struct source *base, int64_t z, int64_t n)
{
    struct dicom_source *source = (struct dicom_source *)base;
    if (z < 0 || n <= 0 || z + n > ts_source_total(base) || source->n_pending == DICOM_PENDING_MAX)
        return;
    free_taken(source, z, n);
    source->pending[source->n_pending++] = (struct slice_range){z, n};
    if (source->pool != NULL)
        pump(source, &(struct slice_range){0, 0});
}

static enum ts_status report_loss(const struct dicom_source *source, uint64_t job, const char *what,
                                  struct ts_diag *diag)
{
    struct diag_site site = {.code = "decoder-died"};
    int64_t z = (int64_t)(job & UINT32_MAX);
    if (job == UINT64_MAX || z >= ts_source_total(&source->base))
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "a process that decodes slices %s", what);
    ts_diag_error(diag, TS_BAD_INPUT, &site, "slice %lld (%s): the process that decoded it %s",
                  (long long)z, ts_base_name(source->frames[z].image->file->path), what);
    return ts_diag_hint(
        diag, "the file is probably damaged; copy it again from its archive, or remove it");
}

static enum ts_status report_kill(const char *what, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "decoder-killed"};
    ts_diag_error(diag, TS_RUN_FAILED, &site,
                  "a process that decodes slices %s, and so was the one in its place", what);
    return ts_diag_hint(diag, CHILD_KILLED_HINT);
}

/* Takes one answer from the workers. */
static enum ts_status take_answer(struct dicom_source *source, struct ts_diag *diag)
{
    struct dicom_reply reply;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    struct diag_site site = {.code = "decoder-confused"};
    switch (ts_workers_wait(source->pool, &job, &reply, what)) {
    case WORKER_RETURNED:
        free_slot(source, (int64_t)(job >> 32)); /* it is queued anew when it is its turn */
        return TS_OK;
    case WORKER_LOST:
        return report_loss(source, job, what, diag);
    case WORKER_KILLED:
        return report_kill(what, diag);
    case WORKER_IDLE:
        return ts_diag_error(diag, TS_RUN_FAILED, &site,
                             "no process is decoding the slice that is waited for");
    case WORKER_REPLIED:
        break;
    }
    int64_t slot = (int64_t)(job >> 32), z = (int64_t)(job & UINT32_MAX);
    if (slot >= source->n_slots || source->slots[slot].state != SLOT_QUEUED ||
        source->slots[slot].z != z)
        return ts_diag_error(diag, TS_RUN_FAILED, &site,
                             "a decoding process answered what it was not asked");
    source->slots[slot].state = SLOT_READY;
    source->slots[slot].reply = reply;
    return TS_OK;
}

enum ts_status ts_dicom_ring_read(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    struct dicom_source *source = (struct dicom_source *)base;
    const size_t bytes = ts_slice_bytes(&base->image);
    const int threads = ts_processors();
    enum ts_status status = ts_dicom_check_range(source, z, n, diag);
    if (status == TS_OK && source->pool == NULL)
        status = ts_dicom_ring_start(base, threads, 2 * threads, diag);
    for (struct slice_range wanted = {z, n}; status == TS_OK && wanted.n > 0;
         wanted.z++, wanted.n--) {
        pump(source, &wanted);
        while (status == TS_OK && (source->slot_of[wanted.z] < 0 ||
                                   !holds_slice(&source->slots[source->slot_of[wanted.z]]))) {
            status = take_answer(source, diag);
            pump(source, &wanted);
        }
        if (status != TS_OK)
            break;
        const int64_t slot = source->slot_of[wanted.z];
        status = ts_dicom_accept(source, wanted.z, &source->slots[slot].reply, diag);
        if (status == TS_OK)
            memcpy((unsigned char *)out + (size_t)(wanted.z - z) * bytes, slot_data(source, slot),
                   bytes);
        if (status == TS_OK && base->image.masked)
            memcpy(ts_source_valid(base, wanted.z),
                   (unsigned char *)slot_data(source, slot) + valid_offset(source),
                   ts_valid_bytes(&base->image));
        source->slots[slot].state = SLOT_TAKEN;
    }
    if (status == TS_OK) {
        pump(source, &(struct slice_range){0, 0});
        ts_dicom_note_pixels(source, z, n, diag);
    }
    return status;
}

void ts_dicom_ring_end(struct dicom_source *source)
{
    ts_workers_destroy(source->pool);
    source->pool = NULL;
    free(source->slots);
    free(source->slot_of);
    source->slots = NULL;
    source->slot_of = NULL;
    source->n_slots = 0;
}
