/* SPDX-License-Identifier: Apache-2.0
 *
 * One walk collects datasets, links and NXprocess groups. Works on foreign files too.
 */
#include "io/hdf5/hdf5_list.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_describe.h"

/* The listing while it grows. */
struct collection {
    struct hdf5_listing *listing;
    struct hdf5_listed **last_object;
    struct hdf5_process *current; /* the NXprocess that came last */
    struct hdf5_member **last_member;
    bool no_memory;
};

static const char *keep(struct collection *collection, const char *text)
{
    const char *kept = ts_arena_text(collection->listing->arena, text, strlen(text));
    collection->no_memory = collection->no_memory || !kept;
    return kept ? kept : "";
}

static const char *keep_attribute(struct collection *collection, hid_t object, const char *name)
{
    char text[256];
    return ts_hdf5_attribute_text(object, name, text, sizeof text) ? keep(collection, text) : NULL;
}

static void start_process(struct collection *collection, const struct hdf5_object *object)
{
    struct hdf5_process *process = ts_arena_alloc(collection->listing->arena, sizeof *process);
    if (!process) {
        collection->no_memory = true;
        return;
    }
    process->path = keep(collection, object->path);
    collection->last_member = &process->parameters;
    process->next = collection->listing->processes;
    collection->listing->processes = collection->current = process;
}

/* A small dataset below the current NXprocess. Its last name is the parameter's. */
static bool take_member(struct collection *collection, const struct hdf5_object *object,
                        const struct hdf5_listed *entry)
{
    struct hdf5_process *process = collection->current;
    size_t length = process ? strlen(process->path) : 0;
    if (!process || strncmp(object->path, process->path, length) != 0 || object->path[length] != '/' || !entry->value)
        return false;
    const char *name = object->path + length + 1, *slash = strrchr(name, '/');
    if (strcmp(name, "sequence_index") == 0)
        process->index = atoll(entry->value);
    else if (strcmp(name, "program") == 0)
        process->program = entry->value;
    else if (strcmp(name, "version") == 0)
        process->version = entry->value;
    else {
        struct hdf5_member *member = ts_arena_alloc(collection->listing->arena, sizeof *member);
        if (!member) {
            collection->no_memory = true;
            return true;
        }
        *member = (struct hdf5_member){
            .name = keep(collection, slash ? slash + 1 : name), .value = entry->value, .text = entry->value_is_text};
        *collection->last_member = member;
        collection->last_member = &member->next;
    }
    return true;
}

static void describe_dataset(struct collection *collection, hid_t dataset, struct hdf5_listed *entry)
{
    char text[HDF5_VALUE_BYTES];
    bool elsewhere;
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    if (type >= 0) {
        ts_hdf5_type_name(type, text, sizeof text);
        entry->type = keep(collection, text);
        H5Tclose(type);
    }
    if (space >= 0) {
        int rank = H5Sget_simple_extent_dims(space, entry->n, NULL);
        entry->rank = rank > 0 ? rank : 0;
        H5Sclose(space);
    }
    ts_hdf5_storage_text(dataset, text, sizeof text, &elsewhere);
    entry->storage = keep(collection, text);
    entry->stored_bytes = H5Dget_storage_size(dataset);
    entry->units = keep_attribute(collection, dataset, "units");
    entry->quantity = keep_attribute(collection, dataset, "quantity");
    entry->sha256 = keep_attribute(collection, dataset, "sha256");
    entry->sha256_tree = keep_attribute(collection, dataset, "sha256_tree");
    if (ts_hdf5_value_text(dataset, text, sizeof text, &entry->value_is_text))
        entry->value = keep(collection, text);
}

static bool visit_object(void *user, const struct hdf5_object *object)
{
    struct collection *collection = user;
    char class[64];
    if (object->kind == HDF5_GROUP) {
        collection->listing->n_groups++;
        if (ts_hdf5_attribute_text(object->id, "NX_class", class, sizeof class) && strcmp(class, "NXprocess") == 0)
            start_process(collection, object);
        if (strcmp(object->path, "/") == 0)
            collection->listing->ours = H5Aexists(object->id, "complete") > 0 || H5Aexists(object->id, "digest") > 0;
        return !collection->no_memory;
    }
    struct hdf5_listed *entry = ts_arena_alloc(collection->listing->arena, sizeof *entry);
    if (!entry) {
        collection->no_memory = true;
        return false;
    }
    entry->kind = object->kind;
    entry->path = keep(collection, object->path);
    entry->target = object->target ? keep(collection, object->target) : NULL;
    if (object->kind == HDF5_DATASET)
        describe_dataset(collection, object->id, entry);
    if (object->kind == HDF5_DATASET && take_member(collection, object, entry))
        return !collection->no_memory;
    *collection->last_object = entry;
    collection->last_object = &entry->next;
    return !collection->no_memory;
}

/* By sequence_index; those of equal index keep the order of the file. */
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

enum ts_status ts_hdf5_list(const struct hdf5_child *child, struct hdf5_listing *listing, struct ts_diag *diag)
{
    struct collection collection = {.listing = listing, .last_object = &listing->objects};
    char at[HDF5_WALK_PATH] = "/", shown[256];
    const enum hdf5_walk_end end = ts_hdf5_walk(child->files[0], visit_object, &collection, at);
    sort_processes(listing);
    ts_text_escape(shown, sizeof shown, at);
    if (collection.no_memory)
        return ts_diag_no_memory(diag, sizeof(struct hdf5_listed));
    if (end == HDF5_WALK_FAILED) {
        struct hdf5_failure failure;
        (void)ts_hdf5_noted_failure(&failure); /* closing the objects on the way has cleared the library's own */
        return ts_hdf5_child_refuse(child, diag, "hdf5-damaged", "%s cannot be read: %s", shown, failure.text);
    }
    if (end == HDF5_WALK_LIMIT)
        ts_diag_warning(diag, &(struct diag_site){.code = "hdf5-large"},
                        "'%s' has more than %d objects or %d levels; the list ends at %s", child->path,
                        HDF5_WALK_OBJECTS, HDF5_WALK_DEPTH, shown);
    return TS_OK;
}
