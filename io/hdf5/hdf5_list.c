/* SPDX-License-Identifier: Apache-2.0
 *
 * A listing is a child's answer. It has an item for each object in the order of the walk, and one
 * at the end. An item is a structure of fixed size, then its texts with their final zeros. The
 * parent sorts the items into datasets, links, processes and their parameters. The child may be an
 * attacker's, so the parent checks every number and every end.
 */
#include "io/hdf5/hdf5_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "io/hdf5/hdf5_describe.h"

enum { ITEM_END = -1 }; /* in place of an enum hdf5_kind */
enum { ATTRIBUTE_BYTES = 256 };
enum { PATH, TYPE, STORAGE, UNITS, QUANTITY, SHA256, SHA256_TREE, VALUE, TARGET, NX_CLASS, TEXTS };

struct item {
    int32_t kind, rank;
    int32_t is_text; /* of the value */
    int32_t mark;    /* the root group: it has the marks of this program's files; the end: enum
                        hdf5_walk_end */
    uint64_t stored_bytes;
    hsize_t n[H5S_MAX_RANK];
    uint32_t bytes[TEXTS]; /* with the final zero; 0: there is no such text */
};

/* ---- the child ------------------------------------------------------------------------------- */

static void put_item(struct item *item, const char *const texts[TEXTS], FILE *out)
{
    for (int i = 0; i < TEXTS; i++)
        item->bytes[i] = texts[i] ? (uint32_t)strlen(texts[i]) + 1 : 0;
    fwrite(item, sizeof *item, 1, out);
    for (int i = 0; i < TEXTS; i++)
        if (texts[i])
            fwrite(texts[i], 1, item->bytes[i], out);
}

static void describe_dataset(hid_t dataset, struct item *item,
                             char buffers[TEXTS][HDF5_VALUE_BYTES], const char *texts[TEXTS])
{
    struct hdf5_storage storage = {0};
    bool is_text = false;
    const bool known = ts_hdf5_storage_find(dataset, &storage);
    item->rank = storage.rank > 0 ? storage.rank : 0;
    for (int d = 0; d < item->rank; d++)
        item->n[d] = (hsize_t)storage.n[d];
    item->stored_bytes = H5Dget_storage_size(dataset);
    ts_hdf5_type_name(dataset, buffers[TYPE], HDF5_VALUE_BYTES);
    snprintf(buffers[STORAGE], HDF5_VALUE_BYTES, "unknown");
    if (known)
        ts_hdf5_storage_text(&storage, buffers[STORAGE], HDF5_VALUE_BYTES);
    texts[TYPE] = *buffers[TYPE] ? buffers[TYPE] : NULL;
    texts[STORAGE] = buffers[STORAGE];
    if (known && ts_hdf5_value_text(dataset, &storage, buffers[VALUE], HDF5_VALUE_BYTES, &is_text))
        texts[VALUE] = buffers[VALUE];
    item->is_text = is_text;
}

static bool put_object(void *user, const struct hdf5_object *object)
{
    static const struct {
        int text;
        enum hdf5_kind kind; /* of the objects that may have it */
        const char *name;
    } attributes[] = {{UNITS, HDF5_DATASET, "units"},
                      {QUANTITY, HDF5_DATASET, "quantity"},
                      {SHA256, HDF5_DATASET, "sha256"},
                      {SHA256_TREE, HDF5_DATASET, "sha256_tree"},
                      {NX_CLASS, HDF5_GROUP, "NX_class"}};
    char buffers[TEXTS][HDF5_VALUE_BYTES];
    const char *texts[TEXTS] = {[PATH] = object->path, [TARGET] = object->target};
    struct item item = {.kind = (int32_t)object->kind};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        char *text = buffers[attributes[i].text];
        if (object->kind == attributes[i].kind &&
            ts_hdf5_text_of(object->id, attributes[i].name, text, ATTRIBUTE_BYTES) > 0)
            texts[attributes[i].text] = text;
    }
    if (object->kind == HDF5_DATASET)
        describe_dataset(object->id, &item, buffers, texts);
    if (object->kind == HDF5_GROUP && !strcmp(object->path, "/"))
        item.mark = H5Aexists(object->id, "complete") > 0 || H5Aexists(object->id, "digest") > 0;
    put_item(&item, texts, user);
    return true;
}

enum ts_status ts_hdf5_task_list(struct hdf5_child *child, const void *request, FILE *out,
                                 struct ts_diag *diag)
{
    char at[HDF5_WALK_PATH] = "/", shown[256];
    (void)request;
    const enum hdf5_walk_end end = ts_hdf5_walk(child->files[0], put_object, out, at);
    struct item last = {.kind = ITEM_END, .mark = (int32_t)end};
    put_item(&last, (const char *const[TEXTS]){NULL}, out);
    ts_text_escape(shown, sizeof shown, at);
    if (end == HDF5_WALK_FAILED) {
        struct hdf5_failure failure;
        (void)ts_hdf5_noted_failure(
            &failure); /* closing the objects on the way has cleared the library's own */
        (void)ts_hdf5_child_refuse(child, diag, "hdf5-damaged", "%s cannot be read: %s", shown,
                                   failure.text);
    }
    if (end == HDF5_WALK_LIMIT)
        ts_diag_warning(diag, &(struct diag_site){.code = "hdf5-large"},
                        "'%s' has more than %d objects or %d levels; the list ends at %s",
                        child->path, HDF5_WALK_OBJECTS, HDF5_WALK_DEPTH, shown);
    return TS_OK;
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* This holds the listing while it grows, and where its next parts go. */
struct taker {
    struct hdf5_listing *listing;
    struct hdf5_listed **last_object;
    struct hdf5_process *process; /* that came last; NULL: none yet */
    struct hdf5_member **last_member;
};

/* Parses one item, whose texts stay in the answer. */
static bool take_item(const char **at, const char *end, struct item *item, const char **texts)
{
    if (sizeof *item > (size_t)(end - *at))
        return false;
    memcpy(item, *at, sizeof *item);
    *at += sizeof *item;
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = item->bytes[i] ? *at : NULL;
        if (item->bytes[i] > (size_t)(end - *at) || (item->bytes[i] && (*at)[item->bytes[i] - 1]))
            return false;
        *at += item->bytes[i];
    }
    return item->kind == ITEM_END ||
           (texts[PATH] && item->kind >= HDF5_GROUP && item->kind <= HDF5_SEEN && item->rank >= 0 &&
            item->rank <= H5S_MAX_RANK && (item->kind != HDF5_DATASET || texts[STORAGE]));
}

static bool add_process(struct taker *taker, const char *path)
{
    struct hdf5_process *process = ts_arena_alloc(taker->listing->arena, sizeof *process);
    if (!process)
        return false;
    process->path = path;
    process->next = taker->listing->processes; /* the newest first, until they are sorted */
    taker->listing->processes = taker->process = process;
    taker->last_member = &process->parameters;
    return true;
}

/* Small datasets below the last NXprocess describe it or are its parameters. Returns the path in
 * the process, or NULL for any other object. */
static const char *name_in_process(const struct taker *taker, const struct item *item,
                                   const char *const *texts)
{
    const char *process = taker->process ? taker->process->path : NULL;
    const size_t length = process ? strlen(process) : 0;
    const bool below =
        process && !strncmp(texts[PATH], process, length) && texts[PATH][length] == '/';
    return below && item->kind == HDF5_DATASET && texts[VALUE] ? texts[PATH] + length + 1 : NULL;
}

static bool add_member(struct taker *taker, const char *name, const char *value, bool is_text)
{
    struct hdf5_process *process = taker->process;
    if (!strcmp(name, "sequence_index")) {
        process->index = strtoll(value, NULL, 10);
    } else if (!strcmp(name, "program")) {
        process->program = value;
    } else if (!strcmp(name, "version")) {
        process->version = value;
    } else {
        struct hdf5_member *member = *taker->last_member =
            ts_arena_alloc(taker->listing->arena, sizeof *member);
        if (!member)
            return false;
        *member = (struct hdf5_member){.name = ts_base_name(name), .value = value, .text = is_text};
        taker->last_member = &member->next;
    }
    return true;
}

/* Returns false where memory is out. */
static bool add(struct taker *taker, const struct item *item, const char *const *texts)
{
    const char *name = taker->listing->flat ? NULL : name_in_process(taker, item, texts);
    taker->listing->any = true;
    taker->listing->ours = taker->listing->ours || (item->kind == HDF5_GROUP && item->mark);
    if (name)
        return add_member(taker, name, texts[VALUE], item->is_text != 0);
    if (item->kind == HDF5_GROUP)
        return taker->listing->flat || !texts[NX_CLASS] || strcmp(texts[NX_CLASS], "NXprocess") ||
               add_process(taker, texts[PATH]);
    struct hdf5_listed *entry = *taker->last_object =
        ts_arena_alloc(taker->listing->arena, sizeof *entry);
    if (!entry)
        return false;
    *entry = (struct hdf5_listed){.kind = (enum hdf5_kind)item->kind,
                                  .path = texts[PATH],
                                  .type = texts[TYPE],
                                  .storage = texts[STORAGE],
                                  .units = texts[UNITS],
                                  .quantity = texts[QUANTITY],
                                  .sha256 = texts[SHA256],
                                  .sha256_tree = texts[SHA256_TREE],
                                  .value = texts[VALUE],
                                  .target = texts[TARGET],
                                  .value_is_text = item->is_text != 0,
                                  .rank = item->rank,
                                  .stored_bytes = item->stored_bytes};
    memcpy(entry->n, item->n, sizeof entry->n);
    taker->last_object = &entry->next;
    return true;
}

/* Sorts by sequence_index. The list has the newest first; processes of equal index get the order of
 * the file. */
static void sort_processes(struct hdf5_listing *listing)
{
    struct hdf5_process *sorted = NULL;
    while (listing->processes) {
        struct hdf5_process *process = listing->processes, **at = &sorted;
        listing->processes = process->next;
        while (*at && (*at)->index < process->index)
            at = &(*at)->next;
        process->next = *at;
        *at = process;
    }
    listing->processes = sorted;
}

enum ts_status ts_hdf5_list_take(const char *answer, size_t bytes, struct hdf5_listing *listing,
                                 bool *whole)
{
    const char *at = answer, *const end = answer + bytes;
    struct taker taker = {.listing = listing, .last_object = &listing->objects};
    struct item item = {0};
    for (int items = 0; item.kind != ITEM_END; items++) {
        const char *texts[TEXTS];
        if (items > HDF5_WALK_OBJECTS + 1 ||
            !take_item(&at, end, &item, texts)) /* the root group and the end, too */
            return TS_BAD_INPUT;
        if (item.kind != ITEM_END && !add(&taker, &item, texts))
            return TS_RUN_FAILED;
    }
    *whole = item.mark != HDF5_WALK_FAILED;
    listing->cut = item.mark == HDF5_WALK_LIMIT;
    sort_processes(listing);
    return at == end ? TS_OK : TS_BAD_INPUT;
}
