/* SPDX-License-Identifier: Apache-2.0
 *
 * The listing of the file (io/hdf5/hdf5_list.h) has a digest for every dataset, so that facts are compared by their
 * digests, and only shown by their values. Below /entry the groups process_..., inputs and provenance hold facts; any
 * other group with a dataset `data` is an image.
 */
#include "pipeline/result/made.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_texts.h"

static const char entry[] = "/entry/";

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool is_fact(const char *path)
{
    return starts(path, "process_") || starts(path, "inputs/") || starts(path, "provenance/");
}

/* Returns the name of the image whose values stand at this path below /entry, or NULL. */
static const char *image_name(const char *path, struct arena *arena)
{
    const char *slash = strchr(path, '/');
    return !slash || strcmp(slash, "/data") != 0 ? NULL : ts_arena_text(arena, path, (size_t)(slash - path));
}

static void add_object(struct made *made, const struct hdf5_listed *object, struct arena *arena)
{
    const char *path = object->path + strlen(entry);
    const bool is_dataset = object->kind == HDF5_DATASET;
    const char *digest = object->sha256_tree ? object->sha256_tree : object->sha256;
    if (is_dataset && is_fact(path)) {
        const struct made_fact fact = {path, object->value, digest ? digest : ""};
        made->facts[made->n_facts++] = fact;
    } else if (is_dataset && image_name(path, arena)) {
        made->images[made->n_images++] = (struct made_image){image_name(path, arena), NULL, digest ? digest : ""};
    } else if (object->kind == HDF5_SEEN && !strchr(path, '/') && object->target && starts(object->target, entry) &&
               !starts(object->target + strlen(entry), "process_")) { /* as NXtomoproc's reconstruction */
        made->images[made->n_images++] = (struct made_image){path, object->target + strlen(entry), NULL};
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct made_fact *)a)->path, ((const struct made_fact *)b)->path);
}

static enum ts_status take(const struct hdf5_listing *listing, const char *path, struct arena *arena, struct made *made,
                           struct ts_diag *diag)
{
    size_t n = 0;
    for (const struct hdf5_listed *object = listing->objects; object; object = object->next)
        n++;
    if (!listing->ours) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-foreign"},
                      "%s was not written by tomostage", path);
        return ts_diag_hint(diag, "`diff` takes scans of other programs as 'exchange FILE', 'nexus FILE' or 'hdf5 FILE "
                                  "path=DATASET axes=...'");
    }
    *made = (struct made){.facts = ts_arena_alloc(arena, (n + 1) * sizeof *made->facts),
                          .images = ts_arena_alloc(arena, (n + 1) * sizeof *made->images),
                          .objects = listing->objects};
    if (!made->facts || !made->images)
        return ts_diag_no_memory(diag, n * sizeof *made->facts);
    for (const struct hdf5_listed *object = listing->objects; object; object = object->next)
        if (starts(object->path, entry))
            add_object(made, object, arena);
    qsort(made->facts, made->n_facts, sizeof *made->facts, by_path);
    return TS_OK;
}

enum ts_status ts_made_read(const char *path, struct arena *arena, struct made *made, struct ts_diag *diag)
{
    struct hdf5_listing listing = {.arena = arena, .flat = true};
    struct hdf5_session *session;
    void *answer = NULL;
    size_t bytes = 0;
    bool whole = false;
    *made = (struct made){0};
    enum ts_status status = ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, &answer, &bytes, diag);
    char *kept = status == TS_OK ? ts_arena_copy(arena, answer, bytes, 1) : NULL;
    if (status == TS_OK && !kept)
        status = ts_diag_no_memory(diag, bytes);
    if (status == TS_OK)
        status = ts_hdf5_list_take(kept, bytes, &listing, &whole);
    if (status == TS_BAD_INPUT && kept)
        (void)ts_hdf5_session_wrong_answer(session, diag);
    ts_hdf5_session_end(session);
    free(answer);
    return status == TS_OK ? take(&listing, path, arena, made, diag) : status;
}

const struct made_fact *ts_made_find(const struct made *made, const char *path)
{
    const struct made_fact wanted = {.path = path};
    return bsearch(&wanted, made->facts, made->n_facts, sizeof *made->facts, by_path);
}

enum ts_status ts_made_chain(const char *path, struct arena *arena, const char **chain, struct ts_diag *diag)
{
    const char *const *texts = NULL;
    size_t n = 0;
    const enum ts_status status = ts_hdf5_read_texts(path, "/entry/provenance/chain", arena, &texts, &n, diag);
    if (status == TS_OK && n != 1)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-no-chain"},
                             "%s holds no chain in /entry/provenance", path);
    *chain = status == TS_OK ? texts[0] : NULL;
    return status;
}

int ts_made_stage(const char *fact, size_t *length)
{
    int number = 0, end = 0;
    const char *slash = strchr(fact, '/');
    *length = slash ? (size_t)(slash - fact) : 0;
    return slash && sscanf(fact, "process_%9d_%n", &number, &end) == 1 && end > 0 && number > 0 ? number : 0;
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

bool ts_made_compare(const struct made *a, const struct made *b, struct arena *arena, struct made_difference **list,
                     size_t *n)
{
    size_t i = 0, j = 0;
    *n = 0;
    *list = ts_arena_alloc(arena, (a->n_facts + b->n_facts + 1) * sizeof **list);
    while (*list && (i < a->n_facts || j < b->n_facts)) {
        const int order = i == a->n_facts ? 1 : j == b->n_facts ? -1 : strcmp(a->facts[i].path, b->facts[j].path);
        const struct made_fact *left = order <= 0 ? &a->facts[i++] : NULL, *right = order >= 0 ? &b->facts[j++] : NULL;
        if (!left || !right || strcmp(left->digest, right->digest) != 0)
            (*list)[(*n)++] = (struct made_difference){{left, right}};
    }
    return *list != NULL;
}

bool ts_made_is_table(const struct made_fact *fact)
{
    return starts(fact->path, "process_") && strstr(fact->path, "/tables/");
}
