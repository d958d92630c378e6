/* SPDX-License-Identifier: Apache-2.0
 *
 * A listing is a child's answer. It has an item for each object in the order of the walk, and one
 * at the end. An item is a structure of fixed size and its texts with their final zeros. The parent
 * sorts the items into datasets, links, processes and their parameters. An attacker may have taken
 * over the child, so the parent checks every number and every end.
 */
#include "io/hdf5/hdf5_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/params.h"
#include "core/path.h"

/* ---- describe -------------------------------------------------------------------------------- */

/* Writes types, small values and storage of HDF5 objects as text. Files may be foreign: sizes are
   checked before anything is read. */

enum { HDF5_VALUE_BYTES = 512 };

enum { VALUES_MOST = 16, VALUE_READ_BYTES = 64 << 10 };

/* Returns true for the filters that this program also writes; others need plugins or libraries. */
static bool is_built_in(int32_t filter)
{
    return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
           filter == H5Z_FILTER_FLETCHER32;
}

/* Writes the type of a dataset's elements: "i16", "f32", "u8be", "text[12]", "text", "compound",
 * ...; "" if the library fails. */
static void hdf5_type_name(hid_t dataset, char *out, size_t size)
{
    const hid_t type = H5Dget_type(dataset);
    out[0] = '\0';
    if (type < 0)
        return;
    const size_t bytes = H5Tget_size(type);
    const char *order = bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE ? "be" : "";
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        snprintf(out, size, "%c%zu%s", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', 8 * bytes,
                 order);
        break;
    case H5T_FLOAT:
        snprintf(out, size, "f%zu%s", 8 * bytes, order);
        break;
    case H5T_STRING:
        if (H5Tis_variable_str(type) > 0)
            snprintf(out, size, "text");
        else
            snprintf(out, size, "text[%zu]", bytes);
        break;
    case H5T_COMPOUND:
        snprintf(out, size, "compound");
        break;
    case H5T_ENUM:
        snprintf(out, size, "enum");
        break;
    case H5T_REFERENCE:
        snprintf(out, size, "reference");
        break;
    default:
        snprintf(out, size, "other");
    }
    TS_HDF5_CLOSE(type);
}

/* Reads one text from a fixed or variable-length cell. */
static void cell_text(const unsigned char *cell, size_t bytes, bool variable, char *out,
                      size_t size)
{
    const char *text = (const char *)cell;
    if (variable)
        memcpy(&text, cell, sizeof text);
    size_t length = 0;
    if (text)
        length = strnlen(text, variable ? size - 1 : bytes);
    if (length > size - 1)
        length = size - 1;
    if (length > 0)
        memcpy(out, text, length);
    out[length] = '\0';
}

/* Reads n texts of an attribute or a dataset; several are in brackets. Returns 0 if they have too
   many bytes, -1 if the library fails. */
static int read_texts(hid_t id, bool attribute, hid_t type, hid_t space, size_t n, char *out,
                      size_t size)
{
    const bool variable = H5Tis_variable_str(type) > 0;
    const size_t bytes = H5Tget_size(type);
    size_t used = 0;
    if (bytes == 0 || bytes > VALUE_READ_BYTES || n * bytes > VALUE_READ_BYTES)
        return 0;
    unsigned char *cells = calloc(n + 1, bytes);
    if (!cells)
        return 0;
    const herr_t read = attribute ? H5Aread(id, type, cells)
                                  : H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    for (size_t i = 0; read >= 0 && i < n && used + 4 < size; i++) {
        if (n > 1)
            used += (size_t)snprintf(out + used, size - used, i ? ", " : "[");
        cell_text(cells + i * bytes, bytes, variable, out + used, size - used - 1);
        used += strlen(out + used);
    }
    if (read >= 0 && n > 1)
        snprintf(out + used, size - used, "]");
    if (read >= 0 && variable)
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, cells);
    free(cells);
    return read >= 0 ? 1 : -1;
}

static bool read_numbers(hid_t dataset, bool integer, size_t n, char *out, size_t size)
{
    double values[VALUES_MOST];
    int64_t integers[VALUES_MOST];
    size_t used = 0;
    if (H5Dread(dataset, integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL,
                H5P_DEFAULT, integer ? (void *)integers : (void *)values) < 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        char number[40] = "null";
        if (integer)
            snprintf(number, sizeof number, "%lld", (long long)integers[i]);
        else if (isfinite(values[i]))
            ts_real_format(values[i], number, sizeof number);
        const char *before = i == 0 ? "[" : ", ";
        if (n == 1)
            before = "";
        int length = snprintf(out + used, size - used, "%s%s%s", before, number,
                              n > 1 && i + 1 == n ? "]" : "");
        if (length < 0 || (size_t)length >= size - used)
            return false;
        used += (size_t)length;
    }
    return true;
}

/* Writes the value of a small dataset: a number, a text, or up to 16 of them in brackets, with
   numbers as in JSON (NaN: null). *text is set if it is an unquoted text. Returns false if it is
   too large or of another kind. */
static bool hdf5_value_text(hid_t dataset, const struct hdf5_storage *storage, char *out,
                            size_t size, bool *text)
{
    bool done = false,
         elsewhere = storage->layout == STORAGE_VIRTUAL || storage->layout == STORAGE_EXTERNAL;
    int64_t n = 1;
    for (int d = 0; d < storage->rank && n <= VALUES_MOST; d++)
        n *= storage->n[d] <= VALUES_MOST ? storage->n[d] : VALUES_MOST + 1;
    for (int i = 0; i < storage->n_filters && i < STORAGE_FILTERS; i++)
        elsewhere = elsewhere || !is_built_in(storage->filters[i].filter.id);
    *text = storage->class == STORAGE_TEXT;
    if (n < 1 || n > VALUES_MOST || elsewhere)
        return false;
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    if (type >= 0 && space >= 0 && *text)
        done = read_texts(dataset, false, type, space, (size_t)n, out, size) > 0;
    else if ((storage->class == STORAGE_INTEGER || storage->class == STORAGE_FLOAT) &&
             storage->element_bytes <= 8)
        done = read_numbers(dataset, storage->class == STORAGE_INTEGER, (size_t)n, out, size);
    TS_HDF5_CLOSE(space, type);
    return done;
}

int ts_hdf5_texts_of(hid_t object, const char *attribute, int most, char *out, size_t size)
{
    const htri_t there = attribute ? H5Aexists(object, attribute) : 1;
    out[0] = '\0';
    if (there <= 0)
        return there < 0 ? -1 : 0;
    const hid_t value = attribute ? H5Aopen(object, attribute, H5P_DEFAULT) : object;
    hid_t type = -1, space = -1;
    if (value >= 0) {
        type = attribute ? H5Aget_type(value) : H5Dget_type(value);
        space = attribute ? H5Aget_space(value) : H5Dget_space(value);
    }
    int found = type >= 0 && space >= 0 ? 0 : -1;
    const hssize_t n = found == 0 ? H5Sget_simple_extent_npoints(space) : 0;
    if (n >= 1 && n <= most && H5Tget_class(type) == H5T_STRING)
        found = read_texts(value, attribute != NULL, type, space, (size_t)n, out, size);
    TS_HDF5_CLOSE(space, type, attribute ? value : -1);
    return found;
}

int ts_hdf5_text_of(hid_t object, const char *attribute, char *out, size_t size)
{
    return ts_hdf5_texts_of(object, attribute, 1, out, size);
}

static size_t describe_add(char *out, size_t size, size_t used, const char *before,
                           const char *word)
{
    if (used < size)
        snprintf(out + used, size - used, "%s%s", before, word);
    return used < size ? used + strlen(out + used) : used;
}

/* Writes a text such as "chunked 8 x 512 x 512, shuffle, deflate 6, fletcher32". */
static void hdf5_storage_text(const struct hdf5_storage *storage, char *out, size_t size)
{
    static const char *const layouts[] = {
        [STORAGE_COMPACT] = "compact",
        [STORAGE_CONTIGUOUS] = "contiguous",
        [STORAGE_CHUNKED] = "chunked",
        [STORAGE_VIRTUAL] = "virtual: its values lie in other files",
        [STORAGE_EXTERNAL] = "external: its values lie in other files"};
    char word[96];
    size_t used = describe_add(out, size, 0, "", layouts[storage->layout]);
    for (int d = 0; storage->layout == STORAGE_CHUNKED && d < storage->rank; d++) {
        snprintf(word, sizeof word, "%lld", (long long)storage->chunk[d]);
        used = describe_add(out, size, used, d ? " x " : " ", word);
    }
    for (int i = 0; i < storage->n_filters && i < STORAGE_FILTERS; i++) {
        const struct hdf5_filter *filter = &storage->filters[i].filter;
        const char *name = ts_hdf5_filter_name(filter->id), *stored = storage->filters[i].name;
        if (filter->id == H5Z_FILTER_DEFLATE)
            snprintf(word, sizeof word, "deflate %u", filter->values[0]);
        else if (name)
            snprintf(word, sizeof word, "%s", name);
        else
            snprintf(word, sizeof word, "filter %d (%s)", filter->id, *stored ? stored : "?");
        used = describe_add(out, size, used, ", ", word);
    }
}

/* ---- list ------------------------------------------------------------------------------------ */

enum { ITEM_END = -1 }; /* marks the end of a listing, in place of an enum hdf5_kind */
enum { ATTRIBUTE_BYTES = 256 };
enum { PATH, TYPE, STORAGE, UNITS, QUANTITY, SHA256, SHA256_TREE, VALUE, TARGET, NX_CLASS, TEXTS };

struct item {
    int32_t kind, rank;
    int32_t is_text; /* of the value */
    /* of the root group: it has the marks of this program's files; at the end: enum
       hdf5_walk_end */
    int32_t mark;
    uint64_t stored_bytes;
    hsize_t n[H5S_MAX_RANK];
    uint32_t bytes[TEXTS]; /* length including the final zero; 0: there is no such text */
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
    hdf5_type_name(dataset, buffers[TYPE], HDF5_VALUE_BYTES);
    snprintf(buffers[STORAGE], HDF5_VALUE_BYTES, "unknown");
    if (known)
        hdf5_storage_text(&storage, buffers[STORAGE], HDF5_VALUE_BYTES);
    texts[TYPE] = *buffers[TYPE] ? buffers[TYPE] : NULL;
    texts[STORAGE] = buffers[STORAGE];
    if (known && hdf5_value_text(dataset, &storage, buffers[VALUE], HDF5_VALUE_BYTES, &is_text))
        texts[VALUE] = buffers[VALUE];
    item->is_text = is_text;
}

static bool put_object(void *user, const struct hdf5_object *object)
{
    static const struct {
        int text;
        enum hdf5_kind kind; /* kind of the objects that may have it */
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
            &failure); /* closing the objects on the way has erased the library's own reason */
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

/* The listing while it grows, and where its next parts go. */
struct taker {
    struct hdf5_listing *listing;
    struct hdf5_listed **last_object;
    struct hdf5_process *process; /* the last process; NULL: none yet */
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

/* Returns the path within its process of a small dataset below the last NXprocess, which describes
   the process or is a parameter of it; NULL for any other object. */
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

/* Returns false if memory is out. */
static bool hdf5_list_add(struct taker *taker, const struct item *item, const char *const *texts)
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
            !take_item(&at, end, &item, texts)) /* the root group and the end are items, too */
            return TS_BAD_INPUT;
        if (item.kind != ITEM_END && !hdf5_list_add(&taker, &item, texts))
            return TS_RUN_FAILED;
    }
    *whole = item.mark != HDF5_WALK_FAILED;
    listing->cut = item.mark == HDF5_WALK_LIMIT;
    sort_processes(listing);
    return at == end ? TS_OK : TS_BAD_INPUT;
}
