/* SPDX-License-Identifier: Apache-2.0
 *
 * The listing of the file (io/hdf5/hdf5_list.h) has a digest for every dataset: facts are compared
 * by their digests, and their values are only shown. Below /entry the groups process_..., inputs
 * and provenance hold facts; any other group with a dataset `data` is an image.
 */
#include "program/record/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_texts.h"
#include "io/hdf5/hdf5_write.h"
#include "pipeline/chain/chain_build.h"

enum { MOST_STAGES = 1024 };
static const char entry[] = "/entry/";

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool is_fact(const char *path)
{
    return starts(path, "process_") || starts(path, "inputs/") || starts(path, "provenance/");
}

/* Returns false if memory is out. */
static bool add_object(struct made *made, const struct hdf5_listed *object, struct arena *arena)
{
    const char *path = object->path + strlen(entry), *slash = strchr(path, '/');
    const bool is_dataset = object->kind == HDF5_DATASET;
    const char *digest = object->sha256_tree ? object->sha256_tree : object->sha256;
    if (is_dataset && ts_hdf5_is_index(object->path))
        return true;
    if (is_dataset && is_fact(path)) {
        const struct made_fact fact = {path, object->value, digest ? digest : ""};
        made->facts[made->n_facts++] = fact;
    } else if (is_dataset && slash && !strcmp(slash, "/data")) { /* the values of an image */
        const char *name = ts_arena_text(arena, path, (size_t)(slash - path));
        if (!name)
            return false;
        made->images[made->n_images++] = (struct made_image){name, NULL, digest ? digest : ""};
    } else if (object->kind == HDF5_SEEN && !strchr(path, '/') && object->target &&
               starts(object->target, entry) &&
               !starts(object->target + strlen(entry),
                       "process_")) { /* as in NXtomoproc's reconstruction */
        made->images[made->n_images++] =
            (struct made_image){path, object->target + strlen(entry), NULL};
    }
    return true;
}

/* ---- stages and inputs ----------------------------------------------------------------------- */

/* Returns the number of the stage in whose group, process_NUMBER_STAGE, the path of a fact is, and
   sets *length to the length of the group's name; 0 if it is in none. */
static int made_stage_number(const char *fact, size_t *length)
{
    int number = 0, end = 0;
    const char *slash = strchr(fact, '/');
    *length = slash ? (size_t)(slash - fact) : 0;
    return slash && sscanf(fact, "process_%9d_%n", &number, &end) == 1 && end > 0 && number > 0
               ? number
               : 0;
}

static int by_stage(const void *a, const void *b)
{
    const struct made_stage *x = a, *y = b;
    return x->number != y->number ? x->number - y->number : strcmp(x->group, y->group);
}

/* Lists the stages. Returns false if memory is out. */
static bool find_stages(struct made *made, struct arena *arena)
{
    made->stages = ts_arena_alloc(arena, (made->n_facts + 1) * sizeof *made->stages);
    for (size_t i = 0; made->stages && i < made->n_facts; i++) {
        size_t length;
        const char *path = made->facts[i].path;
        const int number = made_stage_number(path, &length);
        if (number == 0 || strcmp(path + length, "/stage") != 0)
            continue;
        const char *group = ts_arena_text(arena, path, length);
        if (!group)
            return false;
        made->stages[made->n_stages++] =
            (struct made_stage){.number = number,
                                .group = group,
                                .stage = ts_made_value(made, "%s/stage", group),
                                .name = ts_made_value(made, "%s/name", group),
                                .input = ts_made_value(made, "%s/input", group),
                                .device = ts_made_value(made, "%s/device", group)};
    }
    if (made->stages)
        qsort(made->stages, made->n_stages, sizeof *made->stages, by_stage);
    return made->stages != NULL;
}

/* Lists the inputs; the facts of one input follow each other. Returns false if memory is out. */
static bool find_inputs(struct made *made, struct arena *arena)
{
    const char *last = "";
    made->inputs = ts_arena_alloc(arena, (made->n_facts + 1) * sizeof *made->inputs);
    for (size_t i = 0; made->inputs && i < made->n_facts; i++) {
        const char *name = made->facts[i].path + strlen("inputs/");
        const char *slash = starts(made->facts[i].path, "inputs/") ? strchr(name, '/') : NULL;
        if (!slash || slash == name || (starts(name, last) && name + strlen(last) == slash))
            continue;
        last = ts_arena_text(arena, name, (size_t)(slash - name));
        const char *digests =
            last ? ts_arena_printf(arena, "inputs/%s/slice_pixel_sha256", last) : NULL;
        if (!digests)
            return false;
        const struct made_fact *slices = ts_made_find(made, digests);
        made->inputs[made->n_inputs++] =
            (struct made_input){.name = last,
                                .format = ts_made_value(made, "inputs/%s/format", last),
                                .digest = slices ? slices->digest : ""};
    }
    return made->inputs != NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct made_fact *)a)->path, ((const struct made_fact *)b)->path);
}

static enum ts_status made_take(const struct hdf5_listing *listing, const char *path,
                                struct arena *arena, struct made *made, struct ts_diag *diag)
{
    size_t n = 0;
    for (const struct hdf5_listed *object = listing->objects; object; object = object->next)
        n++;
    if (!listing->ours) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-foreign"},
                      "%s was not written by tomostage", path);
        return ts_diag_hint(diag, "`diff` takes scans of other programs as 'exchange FILE', 'nexus "
                                  "FILE' or 'hdf5 FILE path=DATASET axes=...'");
    }
    *made = (struct made){.facts = ts_arena_alloc(arena, (n + 1) * sizeof *made->facts),
                          .images = ts_arena_alloc(arena, (n + 1) * sizeof *made->images),
                          .objects = listing->objects};
    if (!made->facts || !made->images)
        return ts_diag_no_memory(diag, n * sizeof *made->facts);
    for (const struct hdf5_listed *object = listing->objects; object; object = object->next)
        if (starts(object->path, entry) && !add_object(made, object, arena))
            return ts_diag_no_memory(diag, strlen(object->path));
    qsort(made->facts, made->n_facts, sizeof *made->facts, by_path);
    return find_stages(made, arena) && find_inputs(made, arena)
               ? TS_OK
               : ts_diag_no_memory(diag, made->n_facts * sizeof *made->stages);
}

enum ts_status ts_made_read(struct sandbox *sandbox, const char *path, struct arena *arena,
                            struct made *made, struct ts_diag *diag)
{
    struct hdf5_listing listing = {.arena = arena, .flat = true};
    struct hdf5_session *session;
    void *answer = NULL;
    size_t bytes = 0;
    bool whole = false;
    *made = (struct made){0};
    enum ts_status status = ts_hdf5_session_open(
        &(struct hdf5_session_options){.sandbox = sandbox, .path = path}, &session, NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, &answer, &bytes, diag);
    char *kept = status == TS_OK ? ts_arena_copy(arena, answer, bytes, 1) : NULL;
    if (status == TS_OK && !kept)
        status = ts_diag_no_memory(diag, bytes);
    if (status == TS_OK)
        status = ts_hdf5_list_take(kept, bytes, &listing, &whole);
    if (status == TS_BAD_INPUT && kept)
        (void)ts_hdf5_session_wrong_answer(session, diag);
    else if (status != TS_OK && kept)
        (void)ts_diag_no_memory(diag, sizeof *listing.objects);
    ts_hdf5_session_end(session);
    free(answer);
    return status == TS_OK ? made_take(&listing, path, arena, made, diag) : status;
}

const struct made_fact *ts_made_find(const struct made *made, const char *path)
{
    const struct made_fact wanted = {.path = path};
    return bsearch(&wanted, made->facts, made->n_facts, sizeof *made->facts, by_path);
}

const char *ts_made_value(const struct made *made, const char *format, ...)
{
    char path[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    const struct made_fact *fact = ts_made_find(made, path);
    return fact && fact->value ? fact->value : "";
}

enum ts_status ts_made_chain(struct sandbox *sandbox, const char *path, struct arena *arena,
                             const char **chain, struct ts_diag *diag)
{
    const char *const *texts = NULL;
    size_t n = 0;
    *chain = NULL;
    const enum ts_status status =
        ts_hdf5_read_texts(sandbox, path, "/entry/provenance/chain", arena, &texts, &n, diag);
    if (status == TS_OK && n != 1)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-no-chain"},
                             "%s holds no chain in /entry/provenance", path);
    if (status == TS_OK)
        *chain = texts[0];
    return status;
}

const struct made_image *ts_made_image(const struct made *made, const char *name)
{
    for (size_t i = 0; i < made->n_images; i++)
        if (made->images[i].same && !strcmp(made->images[i].name, name))
            name = made->images[i].same;
    for (size_t i = 0; i < made->n_images; i++)
        if (!made->images[i].same && !strcmp(made->images[i].name, name))
            return &made->images[i];
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The facts of one stage, which follow each other, or those of no stage. */
struct group {
    const struct made_fact *facts;
    size_t n, skip;   /* skip: how many characters of the paths name the group */
    int number;       /* of the stage */
    const char *name; /* of the stage; ends at a slash */
};

static int by_number(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->number != y->number ? x->number - y->number
                                  : (x->facts > y->facts) - (x->facts < y->facts);
}

/* Cuts the facts of stages into groups, in the order of the chain. */
static size_t cut(const struct made *made, struct group *groups)
{
    size_t n = 0, length;
    for (size_t i = 0; i < made->n_facts; i++) {
        const char *path = made->facts[i].path;
        const int number = made_stage_number(path, &length);
        if (number > 0 && n > 0 && !strncmp(groups[n - 1].facts->path, path, groups[n - 1].skip))
            groups[n - 1].n++;
        else if (number > 0)
            groups[n++] = (struct group){.facts = &made->facts[i],
                                         .n = 1,
                                         .skip = length + 1,
                                         .number = number,
                                         .name = strchr(path + strlen("process_"), '_') + 1};
    }
    qsort(groups, n, sizeof *groups, by_number);
    return n;
}

static bool same_stage(const struct group *a, const struct group *b)
{
    const size_t length = strcspn(a->name, "/");
    return length == strcspn(b->name, "/") && !strncmp(a->name, b->name, length);
}

struct list {
    struct made_difference *items;
    size_t n;
};

/* Adds the differences of two lists of facts, which are sorted by their paths within the group. */
static void made_merge(struct list *list, const struct group *a, const struct group *b)
{
    for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
        int order;
        if (i == a->n)
            order = 1;
        else
            order = j == b->n ? -1 : strcmp(a->facts[i].path + a->skip, b->facts[j].path + b->skip);
        const struct made_fact *left = order <= 0 ? &a->facts[i++] : NULL,
                               *right = order >= 0 ? &b->facts[j++] : NULL;
        const bool is_place = left && right && a->number != b->number &&
                              !strcmp(left->path + a->skip, "sequence_index");
        if (!is_place && (!left || !right || strcmp(left->digest, right->digest) != 0))
            list->items[list->n++] = (struct made_difference){{left, right}};
    }
}

/* Pairs stages of equal names of two chains, in their order and as many as possible. `longest`
   holds (na + 1) * (nb + 1) numbers: how many pairs the rests of the chains can have. */
static void merge_stages(struct list *list, const struct group *a, size_t na, const struct group *b,
                         size_t nb, int *longest)
{
    static const struct group none = {0};
    const size_t row = nb + 1;
    for (size_t i = na + 1; i-- > 0;)
        for (size_t j = nb + 1; j-- > 0;) {
            int *at = &longest[i * row + j];
            if (i == na || j == nb)
                *at = 0;
            else if (same_stage(&a[i], &b[j]))
                *at = 1 + at[row + 1];
            else
                *at = at[row] > at[1] ? at[row] : at[1];
        }
    for (size_t i = 0, j = 0; i < na || j < nb;)
        if (i < na && j < nb && same_stage(&a[i], &b[j]))
            made_merge(list, &a[i++], &b[j++]);
        else if (j == nb || (i < na && longest[(i + 1) * row + j] >= longest[i * row + j + 1]))
            made_merge(list, &a[i++], &none);
        else
            made_merge(list, &none, &b[j++]);
}

static int by_first_path(const void *a, const void *b)
{
    const struct made_difference *x = a, *y = b;
    const int order =
        strcmp(x->sides[x->sides[0] ? 0 : 1]->path, y->sides[y->sides[0] ? 0 : 1]->path);
    return order ? order : (x->sides[0] == NULL) - (y->sides[0] == NULL);
}

/* Returns the facts of no stage, copied to `facts`. */
static struct group rest_of(const struct made *made, struct made_fact *facts)
{
    struct group rest = {.facts = facts};
    size_t length;
    for (size_t i = 0; i < made->n_facts; i++)
        if (made_stage_number(made->facts[i].path, &length) == 0)
            facts[rest.n++] = made->facts[i];
    return rest;
}

bool ts_made_compare(const struct made *a, const struct made *b, struct arena *arena,
                     struct made_difference **list, size_t *n)
{
    const size_t most = a->n_facts + b->n_facts + 1;
    struct list found = {.items = ts_arena_alloc(arena, most * sizeof *found.items)};
    struct group *groups = ts_arena_alloc(arena, most * sizeof *groups);
    struct made_fact *facts = ts_arena_alloc(arena, most * sizeof *facts);
    const size_t na = groups ? cut(a, groups) : 0, nb = groups ? cut(b, groups + na) : 0;
    const bool aligned =
        na <= MOST_STAGES && nb <= MOST_STAGES; /* a forged file can have any number of stages */
    int *longest = ts_arena_alloc(arena, (aligned ? (na + 1) * (nb + 1) : 1) * sizeof *longest);
    *list = found.items;
    *n = 0;
    if (!found.items || !groups || !facts || !longest)
        return false;
    if (aligned) {
        const struct group rest[] = {rest_of(a, facts), rest_of(b, facts + a->n_facts)};
        made_merge(&found, &rest[0], &rest[1]);
        merge_stages(&found, groups, na, groups + na, nb, longest);
    } else {
        const struct group all[] = {{.facts = a->facts, .n = a->n_facts},
                                    {.facts = b->facts, .n = b->n_facts}};
        made_merge(&found, &all[0], &all[1]);
    }
    qsort(found.items, found.n, sizeof *found.items, by_first_path);
    *n = found.n;
    return true;
}

bool ts_made_is_table(const struct made_fact *fact)
{
    return starts(fact->path, "process_") && strstr(fact->path, "/tables/");
}

/* ---- the chain of a result ------------------------------------------------------------------- */

/* The text of the chain is parsed like any other, so that a chain of an older version keeps the
   defaults of its version. Flats and darks of the same file as their projections are recorded as
   inputs of their own; so a path without a name is used for every input: if that is wrong, the
   digests show it. */

static enum ts_status read_chain(struct recorded *recorded, struct ts_diag *diag)
{
    const char *text, *path = recorded->path;
    const enum ts_status status =
        ts_made_chain(recorded->sandbox, path, recorded->arena, &text, diag);
    if (status != TS_OK)
        return status;
    const int length = (int)(ts_base_name(path) - path);
    const char *folder = ts_arena_text(recorded->arena, path, (size_t)length);
    const char *name = ts_arena_printf(recorded->arena, "%s:/entry/provenance/chain", path);
    if (!folder || !name)
        return ts_diag_no_memory(diag, strlen(path));
    return ts_chain_read(recorded->context, text, strlen(text), name, folder, &recorded->chain,
                         diag);
}

/* Refuses a result with a stage from outside that the context does not have, and warns if the
   context has it from another library. */
static enum ts_status check_stages(const struct recorded *recorded, struct ts_diag *diag)
{
    const struct made *made = &recorded->made;
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < made->n_stages; i++) {
        const char *name = made->stages[i].stage, *group = made->stages[i].group;
        const char *version = ts_made_value(made, "%s/stage_version", group),
                   *sha256 = ts_made_value(made, "%s/plugin_sha256", group);
        const struct stage *stage = ts_registry_find(ts_context_stages(recorded->context), name);
        const struct stage_origin *own = stage ? stage->origin : NULL;
        char shown[256], text[128];
        struct diag_site site = {.code = "plugin-missing", .stage = text};
        ts_text_escape(text, sizeof text, name);
        ts_text_escape(shown, sizeof shown, version);
        if (!*version)
            continue;
        if (own) {
            site.code = "plugin-other";
            if (strcmp(sha256, own->sha256 ? own->sha256 : "") != 0 ||
                strcmp(version, own->version) != 0)
                ts_diag_warning(diag, &site,
                                "version %s from the library with SHA-256 %.64s computed the "
                                "result, and version %s of %.64s is loaded",
                                shown, *sha256 ? sha256 : "(none)", own->version,
                                own->sha256 ? own->sha256 : "(none)");
            continue;
        }
        status = ts_diag_error(diag, TS_BAD_CHAIN, &site,
                               *sha256 ? "this stage is from a plugin that is not loaded: version "
                                         "%s, SHA-256 %.64s"
                                       : "this stage is from a program that added it: version %s%s",
                               shown, sha256);
        if (*sha256)
            ts_diag_hint(diag,
                         "--plugin FILE loads it; sha256sum tells whether a FILE is that one");
    }
    return status;
}

/* Returns the input that "NAME=PATH" names, with the path in *path; -1 if it names none. */
static int32_t named_input(const struct ts_chain *chain, const char *text, const char **path)
{
    const char *equals = strchr(text, '=');
    *path = text;
    for (int32_t i = 0; equals && i < chain->n_sources; i++) {
        const char *name = chain->sources[i].name;
        if (strlen(name) == (size_t)(equals - text) && !strncmp(name, text, strlen(name))) {
            *path = equals + 1;
            return i;
        }
    }
    return -1;
}

/* Refuses a text that looks like NAME=PATH but names no input. A path may contain '=' if it
   exists. */
static enum ts_status check_name(const struct ts_chain *chain, const char *text,
                                 struct ts_diag *diag)
{
    const char *names[CHAIN_MAX_SOURCES];
    char list[512] = "", name[128];
    const size_t length = strcspn(text, "=/");
    if (text[length] != '=' || length == 0 || length >= sizeof name || access(text, F_OK) == 0)
        return TS_OK;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (int32_t i = 0; i < chain->n_sources; i++) {
        names[i] = chain->sources[i].name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "",
                 names[i]);
    }
    const char *nearest = ts_nearest_name(name, names, (size_t)chain->n_sources);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-input"},
                  "the chain has no input '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "");
    return ts_diag_hint(diag, "it has: %s", list);
}

static enum ts_status put_paths(struct recorded *recorded, const char *const *inputs, int n,
                                struct ts_diag *diag)
{
    struct ts_chain *chain = recorded->chain;
    const char *paths[CHAIN_MAX_SOURCES] = {NULL}, *others = NULL;
    enum ts_status status = TS_OK;
    for (int i = 0; i < n; i++) {
        const char *path;
        const int32_t named = named_input(chain, inputs[i], &path);
        const char **at = named < 0 ? &others : &paths[named];
        if (named < 0 && check_name(chain, inputs[i], diag) != TS_OK)
            return TS_BAD_CHAIN;
        if (*at)
            return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "input-twice"},
                                 "'%s' and '%s' are both given as the input%s%s", *at, path,
                                 named < 0 ? "" : " ", named < 0 ? "" : chain->sources[named].name);
        *at = path;
    }
    for (int32_t i = 0; i < chain->n_sources && status == TS_OK; i++) {
        const char *path = paths[i] ? paths[i] : others;
        recorded->given[i] = path != NULL;
        if (path)
            status = ts_chain_set_path(chain, &chain->sources[i], path, diag);
    }
    return status;
}

enum ts_status ts_recorded_open(const struct ts_context *context, const char *path,
                                const char *const *inputs, int n, struct recorded *recorded,
                                struct ts_diag *diag)
{
    *recorded = (struct recorded){.arena = ts_arena_create(),
                                  .context = context,
                                  .sandbox = ts_context_sandbox(context),
                                  .path = path};
    if (!recorded->arena)
        return ts_diag_no_memory(diag, sizeof *recorded);
    enum ts_status status =
        ts_made_read(recorded->sandbox, path, recorded->arena, &recorded->made, diag);
    if (status == TS_OK)
        status = check_stages(recorded, diag);
    if (status == TS_OK)
        status = read_chain(recorded, diag);
    return status == TS_OK ? put_paths(recorded, inputs, n, diag) : status;
}

enum ts_status ts_recorded_check_inputs(const struct recorded *recorded, const char *option,
                                        struct ts_diag *diag)
{
    const int folder = (int)(ts_base_name(recorded->path) - recorded->path);
    for (int32_t i = 0; i < recorded->chain->n_sources; i++) {
        const char *name = recorded->chain->sources[i].name;
        char path[4096];
        snprintf(path, sizeof path, "%.*s%s", folder, recorded->path, name);
        if (recorded->given[i] || access(path, F_OK) == 0)
            continue;
        ts_diag_error(diag, TS_BAD_INPUT,
                      &(struct diag_site){.code = "input-not-given", .stage = name},
                      "nothing says where this input is, and there is no '%s'", path);
        return ts_diag_hint(diag, "%s PATH gives all inputs of the chain, %s %s=PATH this one",
                            option, option, name);
    }
    return TS_OK;
}

void ts_recorded_close(struct recorded *recorded)
{
    ts_chain_destroy(recorded->chain);
    ts_arena_destroy(recorded->arena);
    *recorded = (struct recorded){0};
}
