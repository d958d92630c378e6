/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info FILE`: one walk collects datasets, links and NXprocess groups with what lies under them; then they
 * are printed as text or as one JSON object. Works on foreign files too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/hdf5_describe.h"
#include "io/hdf5_read.h"
#include "io/hdf5_verify.h"
#include "io/hdf5_walk.h"
#include "pipeline/arena.h"
#include "pipeline/json.h"

struct listed {
    struct listed *next;
    enum hdf5_kind kind;
    const char *path, *type, *storage, *units, *quantity, *sha256, *value, *target;
    bool value_is_text;
    int rank;
    hsize_t n[H5S_MAX_RANK];
    hsize_t stored_bytes;
};

struct member {
    struct member *next;
    const char *name, *value;
    bool text;
};

struct process {
    struct process *next;
    const char *path, *program, *version;
    long long index;
    struct member *parameters, **last;
};

struct listing {
    struct arena *arena;
    struct listed *objects, **last_object;
    struct process *processes, *current;
    bool no_memory, ours;
    size_t n_groups;
};

static const char *keep(struct listing *listing, const char *text)
{
    const char *kept = ts_arena_text(listing->arena, text, strlen(text));
    listing->no_memory = listing->no_memory || !kept;
    return kept ? kept : "";
}

static const char *keep_attribute(struct listing *listing, hid_t object, const char *name)
{
    char text[256];
    return ts_hdf5_attribute_text(object, name, text, sizeof text) ? keep(listing, text) : NULL;
}

static void start_process(struct listing *listing, const struct hdf5_object *object)
{
    struct process *process = ts_arena_alloc(listing->arena, sizeof *process);
    if (!process) {
        listing->no_memory = true;
        return;
    }
    process->path = keep(listing, object->path);
    process->last = &process->parameters;
    process->next = listing->processes;
    listing->processes = listing->current = process;
}

/* A small dataset below the current NXprocess. Its last name is the parameter's. */
static bool take_member(struct listing *listing, const struct hdf5_object *object, const struct listed *entry)
{
    struct process *process = listing->current;
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
        struct member *member = ts_arena_alloc(listing->arena, sizeof *member);
        if (!member) {
            listing->no_memory = true;
            return true;
        }
        *member = (struct member){
            .name = keep(listing, slash ? slash + 1 : name), .value = entry->value, .text = entry->value_is_text};
        *process->last = member;
        process->last = &member->next;
    }
    return true;
}

static void describe_dataset(struct listing *listing, hid_t dataset, struct listed *entry)
{
    char text[HDF5_VALUE_BYTES];
    bool elsewhere;
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    if (type >= 0) {
        ts_hdf5_type_name(type, text, sizeof text);
        entry->type = keep(listing, text);
        H5Tclose(type);
    }
    if (space >= 0) {
        int rank = H5Sget_simple_extent_dims(space, entry->n, NULL);
        entry->rank = rank > 0 ? rank : 0;
        H5Sclose(space);
    }
    ts_hdf5_storage_text(dataset, text, sizeof text, &elsewhere);
    entry->storage = keep(listing, text);
    entry->stored_bytes = H5Dget_storage_size(dataset);
    entry->units = keep_attribute(listing, dataset, "units");
    entry->quantity = keep_attribute(listing, dataset, "quantity");
    entry->sha256 = keep_attribute(listing, dataset, "sha256");
    if (ts_hdf5_value_text(dataset, text, sizeof text, &entry->value_is_text))
        entry->value = keep(listing, text);
}

static bool visit_object(void *user, const struct hdf5_object *object)
{
    struct listing *listing = user;
    char class[64];
    if (object->kind == HDF5_GROUP) {
        listing->n_groups++;
        if (ts_hdf5_attribute_text(object->id, "NX_class", class, sizeof class) && strcmp(class, "NXprocess") == 0)
            start_process(listing, object);
        if (strcmp(object->path, "/") == 0)
            listing->ours = H5Aexists(object->id, "complete") > 0 || H5Aexists(object->id, "digest") > 0;
        return !listing->no_memory;
    }
    struct listed *entry = ts_arena_alloc(listing->arena, sizeof *entry);
    if (!entry) {
        listing->no_memory = true;
        return false;
    }
    entry->kind = object->kind;
    entry->path = keep(listing, object->path);
    entry->target = object->target ? keep(listing, object->target) : NULL;
    if (object->kind == HDF5_DATASET)
        describe_dataset(listing, object->id, entry);
    if (object->kind == HDF5_DATASET && take_member(listing, object, entry))
        return !listing->no_memory;
    *listing->last_object = entry;
    listing->last_object = &entry->next;
    return !listing->no_memory;
}

/* By sequence_index; those of equal index keep the order of the file. */
static void sort_processes(struct listing *listing)
{
    struct process *sorted = NULL;
    while (listing->processes) {
        struct process *process = listing->processes, **at = &sorted;
        listing->processes = process->next;
        while (*at && (*at)->index < process->index)
            at = &(*at)->next;
        process->next = *at;
        *at = process;
    }
    listing->processes = sorted;
}

static void print_escaped(FILE *stream, const char *text)
{
    char out[4 * HDF5_VALUE_BYTES];
    ts_text_escape(out, sizeof out, text);
    fputs(out, stream);
}

static void print_dataset(const struct listed *entry, FILE *stream)
{
    char stored[32];
    fprintf(stream, "  %s", entry->type ? entry->type : "?");
    for (int d = 0; d < entry->rank; d++)
        fprintf(stream, "%s%llu", d ? " x " : "  ", (unsigned long long)entry->n[d]);
    if (entry->units) {
        fputs("  ", stream);
        print_escaped(stream, entry->units);
    }
    if (entry->quantity) {
        fputs("  ", stream);
        print_escaped(stream, entry->quantity);
    }
    if (entry->value) {
        fputs("  = ", stream);
        print_escaped(stream, entry->value);
        return;
    }
    ts_bytes_format(stored, sizeof stored, (double)entry->stored_bytes);
    fputs("  ", stream);
    print_escaped(stream, entry->storage);
    fprintf(stream, ", %s", stored);
}

static void print_text(const struct listing *listing, const char *state, FILE *stream)
{
    static const char *const kinds[] = {"group",
                                        "dataset",
                                        "named type",
                                        "soft link, not followed",
                                        "external link, not followed",
                                        "link of unknown kind, not followed",
                                        "another name of an object above"};
    fprintf(stream, "  %s\n\n", state);
    for (const struct listed *entry = listing->objects; entry; entry = entry->next) {
        print_escaped(stream, entry->path);
        if (entry->kind == HDF5_DATASET) {
            print_dataset(entry, stream);
        } else {
            fprintf(stream, "  %s", kinds[entry->kind]);
            if (entry->target) {
                fputs(" to ", stream);
                print_escaped(stream, entry->target);
            }
        }
        fputc('\n', stream);
    }
    if (listing->processes)
        fprintf(stream, "\nHow it was made:\n");
    for (const struct process *process = listing->processes; process; process = process->next) {
        fprintf(stream, "%4lld  ", process->index);
        print_escaped(stream, process->program ? process->program : process->path);
        fputc(' ', stream);
        print_escaped(stream, process->version ? process->version : "");
        for (const struct member *member = process->parameters; member; member = member->next) {
            fputs("\n        ", stream);
            print_escaped(stream, member->name);
            fputs(": ", stream);
            print_escaped(stream, member->value);
        }
        fputc('\n', stream);
    }
}

/* Numbers as ts_hdf5_value_text writes them: one, or a list in brackets. Lists of texts stay one text. */
static void json_value(struct json *json, const char *value, bool text)
{
    const bool list = *value == '[';
    if (text) {
        ts_json_text(json, value);
        return;
    }
    if (list)
        ts_json_open(json, '[');
    for (const char *at = value + list; *at && *at != ']';) {
        char *end;
        const size_t length = strcspn(at, ",]");
        if (*at == 'n') /* null */
            ts_json_real(json, NAN);
        else if (memchr(at, '.', length) || memchr(at, 'e', length))
            ts_json_real(json, strtod(at, &end));
        else
            ts_json_integer(json, strtoll(at, &end, 10));
        at += length;
        at += strspn(at, ", ");
    }
    if (list)
        ts_json_close(json, ']');
}

static void json_known(struct json *json, const char *key, const char *text)
{
    if (text)
        ts_json_member_text(json, key, text);
}

static void json_object(struct json *json, const struct listed *entry)
{
    static const char *const kinds[] = {"group", "dataset", "type", "soft-link", "external-link", "other-link", "link"};
    ts_json_open(json, '{');
    ts_json_member_text(json, "kind", kinds[entry->kind]);
    ts_json_member_text(json, "path", entry->path);
    json_known(json, "target", entry->target);
    json_known(json, "dtype", entry->type);
    if (entry->kind == HDF5_DATASET) {
        ts_json_key(json, "shape");
        ts_json_open(json, '[');
        for (int d = 0; d < entry->rank; d++)
            ts_json_integer(json, (int64_t)entry->n[d]);
        ts_json_close(json, ']');
        ts_json_member_integer(json, "stored_bytes", (int64_t)entry->stored_bytes);
    }
    json_known(json, "units", entry->units);
    json_known(json, "quantity", entry->quantity);
    json_known(json, "storage", entry->storage);
    json_known(json, "sha256", entry->sha256);
    if (entry->value) {
        ts_json_key(json, "value");
        json_value(json, entry->value, entry->value_is_text);
    }
    ts_json_close(json, '}');
}

static void json_process(struct json *json, const struct process *process)
{
    ts_json_open(json, '{');
    ts_json_member_integer(json, "sequence_index", process->index);
    ts_json_member_text(json, "path", process->path);
    json_known(json, "program", process->program);
    json_known(json, "version", process->version);
    ts_json_key(json, "parameters");
    ts_json_open(json, '{');
    for (const struct member *member = process->parameters; member; member = member->next) {
        ts_json_key(json, member->name);
        json_value(json, member->value, member->text);
    }
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void print_json(const struct listing *listing, const char *path, const char *state, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "file", path);
    ts_json_member_text(&json, "state", state);
    ts_json_key(&json, "objects");
    ts_json_open(&json, '[');
    for (const struct listed *entry = listing->objects; entry; entry = entry->next)
        json_object(&json, entry);
    ts_json_close(&json, ']');
    ts_json_key(&json, "processes");
    ts_json_open(&json, '[');
    for (const struct process *process = listing->processes; process; process = process->next)
        json_process(&json, process);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

static enum ts_status collect(const char *path, struct listing *listing, struct ts_diag *diag)
{
    struct hdf5_visit visit;
    struct hdf5_failure failure = {0};
    struct stat status;
    char at[HDF5_WALK_PATH] = "/", shown[256];
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-open"},
                             "'%s' does not exist or is not a file", path);
    ts_hdf5_enter(&visit);
    hid_t file = ts_hdf5_open_file(path);
    enum hdf5_walk_end end = HDF5_WALK_FAILED;
    if (file >= 0)
        end = ts_hdf5_walk(file, visit_object, listing, at);
    if (end == HDF5_WALK_FAILED)
        ts_hdf5_failure(&failure);
    if (file >= 0)
        H5Fclose(file);
    ts_hdf5_leave(&visit);
    ts_text_escape(shown, sizeof shown, at);
    if (listing->no_memory)
        return ts_diag_no_memory(diag, sizeof(struct listed));
    if (file < 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-open"}, "cannot open '%s': %s", path,
                             failure.text);
    if (end == HDF5_WALK_FAILED)
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-damaged"}, "'%s': %s cannot be read: %s",
                      path, shown, failure.text);
    if (end == HDF5_WALK_LIMIT)
        ts_diag_warning(diag, &(struct diag_site){.code = "hdf5-large"},
                        "'%s' has more than %d objects or %d levels; the list ends at %s", path, HDF5_WALK_OBJECTS,
                        HDF5_WALK_DEPTH, shown);
    return end == HDF5_WALK_FAILED ? TS_BAD_INPUT : TS_OK;
}

enum ts_status ts_hdf5_info(const char *path, bool json, FILE *stream, struct ts_diag *diag)
{
    struct listing listing = {.arena = ts_arena_create()};
    listing.last_object = &listing.objects;
    if (!listing.arena)
        return ts_diag_no_memory(diag, sizeof listing);
    enum ts_status status = collect(path, &listing, diag);
    const char *state = "not a file of this program, or one that was never finished";
    if (status == TS_OK && listing.ours) {
        status = ts_hdf5_verify(path, diag);
        state = status == TS_OK ? "complete, all digests right" : "damaged or not complete";
    }
    if (status != TS_OK)
        state = "damaged or not complete";
    sort_processes(&listing);
    if (listing.objects || listing.n_groups > 0) {
        if (json) {
            print_json(&listing, path, state, stream);
        } else {
            print_escaped(stream, path);
            fputc('\n', stream);
            print_text(&listing, state, stream);
        }
    }
    ts_arena_destroy(listing.arena);
    return status;
}
