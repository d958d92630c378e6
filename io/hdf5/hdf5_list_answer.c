/* SPDX-License-Identifier: Apache-2.0
 *
 * A listing as a child's answer: a head, then an item for each dataset, link, process and parameter. An item is a
 * structure of fixed size, the lengths of the axes, and texts with their final zeros. The child may be an attacker's,
 * so the parent checks every number and every end.
 */
#include <string.h>

#include "io/hdf5/hdf5_list.h"

enum { ITEM_OBJECT, ITEM_PROCESS, ITEM_MEMBER };
enum { TEXTS = 9 };

struct head {
    int32_t whole, ours, any;
};

struct item {
    int32_t what, kind, rank, is_text;
    int64_t index;
    uint64_t stored_bytes;
    uint32_t bytes[TEXTS]; /* with the final zero; 0: there is none */
};

/* ---- the child ---------------------------------------------------------------------------------- */

static void put(struct item *item, const hsize_t *n, const char *const *texts, int n_texts, FILE *out)
{
    for (int i = 0; i < n_texts; i++)
        item->bytes[i] = texts[i] ? (uint32_t)strlen(texts[i]) + 1 : 0;
    fwrite(item, sizeof *item, 1, out);
    if (n)
        fwrite(n, sizeof *n, (size_t)item->rank, out);
    for (int i = 0; i < n_texts; i++)
        if (texts[i])
            fwrite(texts[i], 1, item->bytes[i], out);
}

static void put_object(const struct hdf5_listed *entry, FILE *out)
{
    const char *const texts[] = {entry->path,   entry->type,        entry->storage, entry->units, entry->quantity,
                                 entry->sha256, entry->sha256_tree, entry->value,   entry->target};
    struct item item = {.what = ITEM_OBJECT,
                        .kind = (int32_t)entry->kind,
                        .rank = entry->rank,
                        .is_text = entry->value_is_text,
                        .stored_bytes = entry->stored_bytes};
    put(&item, entry->n, texts, TEXTS, out);
}

static void put_process(const struct hdf5_process *process, FILE *out)
{
    struct item item = {.what = ITEM_PROCESS, .index = process->index};
    put(&item, NULL, (const char *const[]){process->path, process->program, process->version}, 3, out);
    for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
        item = (struct item){.what = ITEM_MEMBER, .is_text = member->text};
        put(&item, NULL, (const char *const[]){member->name, member->value}, 2, out);
    }
}

enum ts_status ts_hdf5_task_list(struct hdf5_child *child, const void *request, size_t bytes, FILE *out,
                                 struct ts_diag *diag)
{
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    (void)request, (void)bytes;
    if (!listing.arena)
        return ts_diag_no_memory(diag, sizeof listing);
    const bool whole = ts_hdf5_list(child, &listing, diag) == TS_OK;
    const struct head head = {.whole = whole, .ours = listing.ours, .any = listing.objects || listing.n_groups > 0};
    fwrite(&head, sizeof head, 1, out);
    for (const struct hdf5_listed *entry = listing.objects; entry; entry = entry->next)
        put_object(entry, out);
    for (const struct hdf5_process *process = listing.processes; process; process = process->next)
        put_process(process, out);
    ts_arena_destroy(listing.arena);
    return TS_OK;
}

/* ---- the parent --------------------------------------------------------------------------------- */

/* Where the next parts of the listing go. */
struct taker {
    struct hdf5_listing *listing;
    struct hdf5_listed **last_object;
    struct hdf5_process **last_process;
    struct hdf5_member **last_member; /* NULL: no process yet */
};

static bool take_bytes(const char **at, const char *end, void *out, size_t bytes)
{
    if (bytes > (size_t)(end - *at))
        return false;
    if (bytes > 0)
        memcpy(out, *at, bytes);
    *at += bytes;
    return true;
}

/* One item with the texts where they lie in the answer. */
static bool take_item(const char **at, const char *end, struct item *item, hsize_t *n, const char **texts)
{
    if (!take_bytes(at, end, item, sizeof *item) || item->rank < 0 || item->rank > H5S_MAX_RANK ||
        !take_bytes(at, end, n, (size_t)item->rank * sizeof *n))
        return false;
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = item->bytes[i] ? *at : NULL;
        if (item->bytes[i] > (size_t)(end - *at) || (item->bytes[i] && (*at)[item->bytes[i] - 1]))
            return false;
        *at += item->bytes[i];
    }
    return true;
}

/* Room for one more part; NULL where memory is out. */
#define NEXT(taker, last) (*(taker)->last = ts_arena_alloc((taker)->listing->arena, sizeof **(taker)->last))

static enum ts_status add(struct taker *taker, const struct item *item, const hsize_t *n, const char *const *t)
{
    if (item->what == ITEM_OBJECT) {
        if (!NEXT(taker, last_object))
            return TS_RUN_FAILED;
        struct hdf5_listed *entry = *taker->last_object;
        *entry = (struct hdf5_listed){NULL,
                                      (enum hdf5_kind)item->kind,
                                      t[0],
                                      t[1],
                                      t[2],
                                      t[3],
                                      t[4],
                                      t[5],
                                      t[6],
                                      t[7],
                                      t[8],
                                      item->is_text != 0,
                                      item->rank,
                                      {0},
                                      item->stored_bytes};
        memcpy(entry->n, n, (size_t)item->rank * sizeof *n);
        taker->last_object = &entry->next;
    } else if (item->what == ITEM_PROCESS) {
        if (!NEXT(taker, last_process))
            return TS_RUN_FAILED;
        struct hdf5_process *process = *taker->last_process;
        *process = (struct hdf5_process){.path = t[0], .program = t[1], .version = t[2], .index = item->index};
        taker->last_process = &process->next;
        taker->last_member = &process->parameters;
    } else {
        if (!NEXT(taker, last_member))
            return TS_RUN_FAILED;
        struct hdf5_member *member = *taker->last_member;
        *member = (struct hdf5_member){.name = t[0], .value = t[1], .text = item->is_text != 0};
        taker->last_member = &member->next;
    }
    return TS_OK;
}

/* Whether the printing of the item finds all that it needs. */
static bool is_possible(const struct taker *taker, const struct item *item, const char *const *texts)
{
    switch (item->what) {
    case ITEM_OBJECT:
        return texts[0] && item->kind >= HDF5_GROUP && item->kind <= HDF5_SEEN &&
               (item->kind != HDF5_DATASET || texts[2]);
    case ITEM_PROCESS:
        return texts[0];
    case ITEM_MEMBER:
        return taker->last_member && texts[0] && texts[1];
    default:
        return false;
    }
}

enum ts_status ts_hdf5_list_take(const char *answer, size_t bytes, struct hdf5_listing *listing, bool *whole)
{
    const char *at = answer, *const end = answer + bytes;
    struct taker taker = {.listing = listing, .last_object = &listing->objects, .last_process = &listing->processes};
    struct head head;
    if (!take_bytes(&at, end, &head, sizeof head))
        return TS_BAD_INPUT;
    for (int items = 0; at < end; items++) {
        struct item item;
        hsize_t n[H5S_MAX_RANK];
        const char *texts[TEXTS];
        if (items > HDF5_WALK_OBJECTS || !take_item(&at, end, &item, n, texts) || !is_possible(&taker, &item, texts))
            return TS_BAD_INPUT;
        if (add(&taker, &item, n, texts) != TS_OK)
            return TS_RUN_FAILED;
    }
    *whole = head.whole != 0;
    listing->ours = head.ours != 0;
    listing->any = head.any != 0;
    return TS_OK;
}
