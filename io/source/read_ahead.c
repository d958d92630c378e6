/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices are held in blocks: the slices of a chunk, as many of them as may be held, or single
 * slices. Block k is in slot k % n_slots, so that consecutive blocks are consecutive in memory and
 * are read at once. One thread reads queued blocks, a few at a time. Slices that are asked for are
 * copied as soon as their blocks are held. What nobody has announced is read when the thread is
 * idle, since both use the same readers and slots.
 */
#include "io/source/read_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "core/thread.h"

enum {
    COPY_BYTES = 1 << 20, /* up to this, one thread copies */
    COPY_THREADS = 4,     /* enough to reach the rate of the memory */
    /* bytes that are read at a time at first, so that the first slices need not wait for later
       ones */
    FIRST_BYTES = 64 << 20,
    MOST_BYTES = 512 << 20 /* and finally: larger reads are faster, since they read longer ranges of
                              each frame */
};

enum slot_state { SLOT_EMPTY, SLOT_QUEUED, SLOT_READING, SLOT_HELD };

struct slot {
    int64_t block;
    enum slot_state state;
};

/* The blocks of a source. If a chunk is cut into several blocks, its last one may be shorter. */
struct blocks {
    int64_t n_slices, chunk, size; /* size: slices of a whole block */
    int64_t per_chunk, n_slots;
    size_t slice_bytes;
};

/* Slices that are read to memory of the caller, who has announced them. */
struct direct {
    int64_t z, n; /* n == 0: none */
    void *out;
    enum slot_state state; /* SLOT_EMPTY: also after reading failed */
};

struct read_ahead {
    struct source *source;
    struct read_rule rule;
    struct pool *readers, *copiers;
    struct blocks blocks;
    struct slot *slots;
    unsigned char *memory;

    pthread_mutex_t lock;
    pthread_cond_t queued, held; /* held: a block is held now, or the thread is idle */
    pthread_t thread;
    bool has_thread, busy, ending;
    struct direct direct;
    size_t run_bytes; /* how many bytes are read next at a time; doubled each time */
    int64_t n_queued;
    /* records of the thread, which nobody reads: the read that asks for the slices meets the same
       failure */
    struct ts_diag *unheard;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* Returns how many slots hold all blocks of any `ahead` consecutive slices. A chunk of several
   slices is always held. */
static int64_t count_slots(const struct blocks *blocks, int64_t ahead)
{
    const int64_t all = divide_up(blocks->n_slices, blocks->chunk) * blocks->per_chunk;
    int64_t slots = blocks->chunk > 1 ? 1 : 0;
    if (ahead > 0)
        slots = (ahead + blocks->size - 2) / blocks->size + 1;
    return slots < all ? slots : all;
}

static struct blocks find_blocks(const struct source *source, const struct read_rule *rule,
                                 int64_t ahead)
{
    const size_t slice = ts_slice_bytes(&source->image);
    const int64_t n = ts_source_total(source), most = (int64_t)(rule->limit / slice);
    struct blocks blocks = {.n_slices = n, .slice_bytes = slice};
    blocks.chunk = rule->chunk < n ? rule->chunk : n;
    blocks.per_chunk = most > 0 ? divide_up(blocks.chunk, most) : blocks.chunk;
    blocks.size = divide_up(blocks.chunk, blocks.per_chunk);
    blocks.per_chunk = divide_up(blocks.chunk, blocks.size);
    const int64_t slots = count_slots(&blocks, ahead), room = most / blocks.size;
    blocks.n_slots = slots < room ? slots : room;
    return blocks;
}

static int64_t block_of(const struct blocks *blocks, int64_t z)
{
    return z / blocks->chunk * blocks->per_chunk + z % blocks->chunk / blocks->size;
}

static int64_t block_first(const struct blocks *blocks, int64_t k)
{
    return k / blocks->per_chunk * blocks->chunk + k % blocks->per_chunk * blocks->size;
}

static int64_t block_end(const struct blocks *blocks, int64_t k)
{
    const int64_t end = block_first(blocks, k) + blocks->size,
                  chunk = (k / blocks->per_chunk + 1) * blocks->chunk;
    const int64_t least = end < chunk ? end : chunk;
    return least < blocks->n_slices ? least : blocks->n_slices;
}

static unsigned char *slot_memory(const struct read_ahead *reading, int64_t s)
{
    return reading->memory + (size_t)(s * reading->blocks.size) * reading->blocks.slice_bytes;
}

static bool is_held(const struct read_ahead *reading, int64_t k)
{
    if (reading->blocks.n_slots == 0)
        return false;
    const struct slot *slot = &reading->slots[k % reading->blocks.n_slots];
    return slot->block == k && slot->state == SLOT_HELD;
}

static size_t bytes_of(const struct blocks *blocks)
{
    return (size_t)blocks->n_slots *
           ((size_t)blocks->size * blocks->slice_bytes + sizeof(struct slot));
}

size_t ts_read_ahead_bytes(const struct source *source, const struct read_rule *rule, int64_t ahead)
{
    const struct blocks blocks = find_blocks(source, rule, ahead);
    return bytes_of(&blocks);
}

/* ---- in the background ----------------------------------------------------------------------- */

/* Returns the slot of the lowest queued block, and sets *n to the number of blocks from it on that
   are read next. */
static int64_t next_queued(const struct read_ahead *reading, int64_t *n)
{
    const struct blocks *blocks = &reading->blocks;
    const struct slot *slots = reading->slots;
    int64_t first = -1;
    for (int64_t s = 0; s < blocks->n_slots; s++)
        if (slots[s].state == SLOT_QUEUED && (first < 0 || slots[s].block < slots[first].block))
            first = s;
    const int64_t most = (int64_t)(reading->run_bytes / blocks->slice_bytes),
                  threads = ts_pool_threads(reading->readers);
    const int64_t slices = most > threads ? most : threads;
    for (*n = 1; first + *n < blocks->n_slots && *n * blocks->size < slices; ++*n) {
        const struct slot *before = &slots[first + *n - 1], *slot = before + 1;
        const int64_t end = block_end(blocks, before->block);
        if (slot->state != SLOT_QUEUED || slot->block != before->block + 1 ||
            end - block_first(blocks, before->block) < blocks->size)
            break;
    }
    return first;
}

static void set_state(struct read_ahead *reading, int64_t first, int64_t n, enum slot_state state)
{
    for (int64_t s = first; s < first + n; s++)
        reading->slots[s].state = state;
}

/* Reads slices that were announced with a destination. The caller holds the lock before and
   after. */
static void read_direct(struct read_ahead *reading)
{
    struct direct *direct = &reading->direct;
    direct->state = SLOT_READING;
    reading->busy = true;
    pthread_mutex_unlock(&reading->lock);
    const enum ts_status status = reading->rule.read(reading->source, reading->readers, direct->z,
                                                     direct->n, direct->out, reading->unheard);
    if (status != TS_OK)
        ts_diag_clear(reading->unheard);
    pthread_mutex_lock(&reading->lock);
    direct->state = status == TS_OK ? SLOT_HELD : SLOT_EMPTY;
    reading->busy = false;
    pthread_cond_signal(&reading->held);
}

static void *read_queued(void *data)
{
    struct read_ahead *reading = data;
    const struct blocks *blocks = &reading->blocks;
    pthread_mutex_lock(&reading->lock);
    for (;;) {
        int64_t n = 0;
        while (reading->n_queued == 0 && reading->direct.state != SLOT_QUEUED && !reading->ending)
            pthread_cond_wait(&reading->queued, &reading->lock);
        if (reading->ending)
            break;
        if (reading->direct.state == SLOT_QUEUED) {
            read_direct(reading);
            continue;
        }
        const int64_t slot = next_queued(reading, &n), block = reading->slots[slot].block;
        const int64_t z = block_first(blocks, block), end = block_end(blocks, block + n - 1);
        set_state(reading, slot, n, SLOT_READING);
        reading->n_queued -= n;
        reading->run_bytes = reading->run_bytes < MOST_BYTES ? 2 * reading->run_bytes : MOST_BYTES;
        reading->busy = true;
        pthread_mutex_unlock(&reading->lock);
        const enum ts_status status =
            reading->rule.read(reading->source, reading->readers, z, end - z,
                               slot_memory(reading, slot), reading->unheard);
        if (status != TS_OK)
            ts_diag_clear(reading->unheard);
        pthread_mutex_lock(&reading->lock);
        set_state(reading, slot, n, status == TS_OK ? SLOT_HELD : SLOT_EMPTY);
        reading->busy = false;
        pthread_cond_signal(&reading->held);
    }
    pthread_mutex_unlock(&reading->lock);
    return NULL;
}

static bool start_thread(struct read_ahead *reading)
{
    reading->has_thread =
        reading->has_thread || ts_thread_start(&reading->thread, read_queued, reading) == 0;
    return reading->has_thread;
}

/* Drops the announcement with a destination once nobody writes there any more; if it is `wanted`,
   once it was read. Returns true if it was read. */
static bool end_direct(struct read_ahead *reading, bool wanted)
{
    const enum slot_state *state = &reading->direct.state;
    pthread_mutex_lock(&reading->lock);
    while (reading->direct.n > 0 && (*state == SLOT_READING || (*state == SLOT_QUEUED && wanted)))
        pthread_cond_wait(&reading->held, &reading->lock);
    const bool done = reading->direct.n > 0 && reading->direct.state == SLOT_HELD;
    reading->direct = (struct direct){.n = 0};
    pthread_mutex_unlock(&reading->lock);
    return done;
}

void ts_read_ahead_prefetch_to(struct read_ahead *reading, int64_t z, int64_t n, void *out)
{
    (void)end_direct(reading, false);
    if (z < 0 || n <= 0 || n > reading->blocks.n_slices - z || !start_thread(reading))
        return;
    pthread_mutex_lock(&reading->lock);
    reading->direct = (struct direct){z, n, out, SLOT_QUEUED};
    pthread_cond_signal(&reading->queued);
    pthread_mutex_unlock(&reading->lock);
}

void ts_read_ahead_prefetch(struct read_ahead *reading, int64_t z, int64_t n)
{
    const struct blocks *blocks = &reading->blocks;
    if (blocks->n_slots == 0 || z < 0 || n <= 0 || n > blocks->n_slices - z ||
        !start_thread(reading))
        return;
    pthread_mutex_lock(&reading->lock);
    for (int64_t k = block_of(blocks, z); k <= block_of(blocks, z + n - 1); k++) {
        struct slot *slot = &reading->slots[k % blocks->n_slots];
        if (slot->state == SLOT_QUEUED || slot->state == SLOT_READING || is_held(reading, k))
            continue;
        *slot = (struct slot){k, SLOT_QUEUED};
        reading->n_queued++;
    }
    pthread_cond_signal(&reading->queued);
    pthread_mutex_unlock(&reading->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct copying {
    const struct read_ahead *reading;
    int64_t z;
    unsigned char *out;
};

static enum ts_status copy_slice(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct copying *copying = user;
    const struct read_ahead *reading = copying->reading;
    const struct blocks *blocks = &reading->blocks;
    const int64_t z = copying->z + i, k = block_of(blocks, z);
    (void)thread;
    (void)diag;
    memcpy(copying->out + (size_t)i * blocks->slice_bytes,
           slot_memory(reading, k % blocks->n_slots) +
               (size_t)(z - block_first(blocks, k)) * blocks->slice_bytes,
           blocks->slice_bytes);
    return TS_OK;
}

/* Copies slices [z, end), all of which are held. */
static enum ts_status copy_held(struct read_ahead *reading, int64_t z, int64_t end,
                                unsigned char *out, struct ts_diag *diag)
{
    struct copying copying = {reading, z, out};
    const bool few = (size_t)(end - z) * reading->blocks.slice_bytes < COPY_BYTES;
    return ts_pool_run(reading->copiers, few ? 1 : COPY_THREADS, end - z, copy_slice, &copying,
                       diag);
}

/* Reads a block to its slot. */
static enum ts_status hold(struct read_ahead *reading, int64_t k, struct ts_diag *diag)
{
    const int64_t s = k % reading->blocks.n_slots, z = block_first(&reading->blocks, k);
    reading->slots[s] = (struct slot){k, SLOT_EMPTY};
    const enum ts_status status =
        reading->rule.read(reading->source, reading->readers, z, block_end(&reading->blocks, k) - z,
                           slot_memory(reading, s), diag);
    reading->slots[s].state = status == TS_OK ? SLOT_HELD : SLOT_EMPTY;
    return status;
}

/* Returns true if block k is read only for [z, end): all of it is asked for, or it cannot be kept
   for later slices. */
static bool is_passed_on(const struct read_ahead *reading, int64_t k, int64_t z, int64_t end)
{
    const struct blocks *blocks = &reading->blocks;
    return blocks->n_slots == 0 || (blocks->per_chunk > 1 && end - z >= blocks->size) ||
           (z <= block_first(blocks, k) && block_end(blocks, k) <= end);
}

/* Returns true if block k is held, after waiting until that is decided. If it is not held, the
   caller reads it once the thread is idle. */
static bool wait_for_block(struct read_ahead *reading, int64_t k)
{
    pthread_mutex_lock(&reading->lock);
    while (!is_held(reading, k) && (reading->n_queued > 0 || reading->busy))
        pthread_cond_wait(&reading->held, &reading->lock);
    const bool held = is_held(reading, k);
    pthread_mutex_unlock(&reading->lock);
    return held;
}

enum ts_status ts_read_ahead_read(struct read_ahead *reading, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    const struct blocks *blocks = &reading->blocks;
    const int64_t end = z + n;
    const struct direct *direct = &reading->direct;
    const bool announced = direct->n > 0 && direct->z == z && direct->n == n && direct->out == out;
    enum ts_status status = TS_OK;
    if (end_direct(reading, announced) && announced)
        return TS_OK;
    for (int64_t at = z, past; status == TS_OK && at < end; at = past) {
        unsigned char *to = (unsigned char *)out + (size_t)(at - z) * blocks->slice_bytes;
        int64_t k = block_of(blocks, at);
        const bool held = wait_for_block(reading, k);
        past = at;
        if (!held && !is_passed_on(reading, k, z, end)) {
            status = hold(reading, k, diag);
            continue;
        }
        while (past < end && (held ? wait_for_block(reading, k) : !is_held(reading, k)) &&
               (held || is_passed_on(reading, k, z, end)))
            past = block_end(blocks, k++);
        past = past < end ? past : end;
        status =
            held ? copy_held(reading, at, past, to, diag)
                 : reading->rule.read(reading->source, reading->readers, at, past - at, to, diag);
    }
    return status;
}

/* ---- start and end --------------------------------------------------------------------------- */

enum ts_status ts_read_ahead_start(struct source *source, const struct read_rule *rule, int threads,
                                   int64_t ahead, struct read_ahead **out, struct ts_diag *diag)
{
    struct read_ahead *reading = *out = calloc(1, sizeof *reading);
    if (!reading)
        return ts_diag_no_memory(diag, sizeof *reading);
    const struct blocks blocks = find_blocks(source, rule, ahead);
    *reading = (struct read_ahead){
        .source = source, .rule = *rule, .blocks = blocks, .run_bytes = FIRST_BYTES};
    pthread_mutex_init(&reading->lock, NULL);
    pthread_cond_init(&reading->queued, NULL);
    pthread_cond_init(&reading->held, NULL);
    reading->readers = ts_pool_create(threads);
    reading->copiers = ts_pool_create(threads < COPY_THREADS ? threads : COPY_THREADS);
    reading->unheard = ts_diag_create();
    reading->slots = calloc((size_t)blocks.n_slots + 1, sizeof *reading->slots);
    reading->memory = malloc(bytes_of(&blocks) + 1);
    if (reading->readers && reading->copiers && reading->unheard && reading->slots &&
        reading->memory)
        return TS_OK;
    ts_read_ahead_destroy(reading);
    *out = NULL;
    return ts_diag_no_memory(diag, bytes_of(&blocks));
}

void ts_read_ahead_destroy(struct read_ahead *reading)
{
    if (!reading)
        return;
    pthread_mutex_lock(&reading->lock);
    reading->ending = true;
    pthread_cond_signal(&reading->queued);
    pthread_mutex_unlock(&reading->lock);
    if (reading->has_thread) {
        ts_pool_stop(reading->readers);
        pthread_join(reading->thread, NULL);
    }
    ts_pool_destroy(reading->readers);
    ts_pool_destroy(reading->copiers);
    pthread_cond_destroy(&reading->held);
    pthread_cond_destroy(&reading->queued);
    pthread_mutex_destroy(&reading->lock);
    ts_diag_destroy(reading->unheard);
    free(reading->slots);
    free(reading->memory);
    free(reading);
}

/* ---- sources --------------------------------------------------------------------------------- */

void ts_rule_may_hold(struct source *base, size_t bytes)
{
    struct rule_source *source = (struct rule_source *)base;
    if (!source->reading)
        source->rule.limit = bytes;
}

struct source_rereads ts_rule_rereads(const struct source *base, int64_t ahead)
{
    const struct blocks blocks =
        find_blocks(base, &((const struct rule_source *)base)->rule, ahead);
    return (struct source_rereads){
        .times = blocks.n_slots > 0 ? blocks.per_chunk : 1,
        .chunk = blocks.n_slots < count_slots(&blocks, ahead) ? blocks.chunk : 0};
}

enum ts_status ts_rule_start(struct source *base, int threads, int64_t ahead, struct ts_diag *diag)
{
    struct rule_source *source = (struct rule_source *)base;
    return source->reading
               ? TS_OK
               : ts_read_ahead_start(base, &source->rule, threads, ahead, &source->reading, diag);
}

void ts_rule_prefetch(struct source *base, int64_t z, int64_t n)
{
    struct rule_source *source = (struct rule_source *)base;
    if (source->reading)
        ts_read_ahead_prefetch(source->reading, z, n);
}

enum ts_status ts_rule_read(struct source *base, int64_t z, int64_t n, void *out,
                            struct ts_diag *diag)
{
    const enum ts_status status = ts_rule_start(base, ts_processors(), 0, diag);
    return status == TS_OK
               ? ts_read_ahead_read(((struct rule_source *)base)->reading, z, n, out, diag)
               : status;
}
