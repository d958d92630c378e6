/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the list of all stages, made from stages/stages.def; it also finds a stage by its name.
 * `tomostage stages` and the docs keep the order of the lines there. A new stage needs one line
 * there and none here. Stages that were added follow in the order in which they came.
 */
#include "stages/engine/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/added.h"

const struct stage *const ts_stages[] = {
#define STAGE(room, name) &name##_stage,
#include "stages/stages.def"
#undef STAGE
    NULL,
};

const struct stage *ts_stage_find(const char *name)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        if (!strcmp((*stage)->name, name))
            return *stage;
    return NULL;
}

/* ---- stages that were added ------------------------------------------------------------------ */

/* A link never changes once it is set, so readers need no lock. */
struct entry {
    struct added_stage *added;
    struct entry *_Atomic next;
};

struct stage_registry {
    pthread_mutex_t lock; /* of those who add */
    struct entry *_Atomic first;
};

static struct stage_registry process = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct stage_registry *ts_registry_create(void)
{
    struct stage_registry *registry = calloc(1, sizeof *registry);
    if (registry)
        pthread_mutex_init(&registry->lock, NULL);
    return registry;
}

static void destroy_entries(struct entry *entry)
{
    while (entry) {
        struct entry *next = atomic_load(&entry->next);
        ts_added_destroy(entry->added);
        free(entry);
        entry = next;
    }
}

void ts_registry_destroy(struct stage_registry *registry)
{
    if (!registry)
        return;
    destroy_entries(atomic_load(&registry->first));
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}

const struct stage *ts_registry_stage(const struct stage_registry *registry, size_t i)
{
    static const size_t built_in = sizeof ts_stages / sizeof *ts_stages - 1;
    if (i < built_in)
        return ts_stages[i];
    const struct entry *entry = atomic_load(&(registry ? registry : &process)->first);
    for (i -= built_in; entry && i > 0; i--)
        entry = atomic_load(&entry->next);
    return entry ? ts_added_stage(entry->added) : NULL;
}

const struct stage *ts_registry_find(const struct stage_registry *registry, const char *name)
{
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(registry, i)) != NULL; i++)
        if (!strcmp(stage->name, name))
            return stage;
    return NULL;
}

size_t ts_registry_names(const struct stage_registry *registry, const char **names, size_t most)
{
    size_t n = 0;
    for (const struct stage *stage; n < most && (stage = ts_registry_stage(registry, n)) != NULL;)
        names[n++] = stage->name;
    return n;
}

/* Returns true if the stage of the entry, or one before it that comes with it, has the name. */
static bool is_taken(const struct stage_registry *registry, const struct entry *new,
                     const struct entry *end, const char *name)
{
    for (; new != end; new = atomic_load(&new->next))
        if (!strcmp(ts_added_stage(new->added)->name, name))
            return true;
    return ts_registry_find(registry, name) != NULL;
}

/* Makes the entries of n stages; NULL if one is refused (reported). */
static struct entry *make_entries(const struct stage_registry *registry,
                                  const struct ts_stage *const *stages, size_t n,
                                  const char *sha256, struct ts_diag *diag)
{
    struct entry *first = NULL, *last = NULL;
    for (size_t i = 0; i < n; i++) {
        struct entry *entry = calloc(1, sizeof *entry);
        if (!entry || ts_added_create(stages[i], sha256, &entry->added, diag) != TS_OK) {
            if (!entry)
                ts_diag_no_memory(diag, sizeof *entry);
            free(entry);
            destroy_entries(first);
            return NULL;
        }
        if (last)
            atomic_store(&last->next, entry);
        else
            first = entry;
        last = entry;
        const char *name = ts_added_stage(entry->added)->name;
        if (is_taken(registry, first, last, name)) {
            ts_diag_error(diag, TS_BAD_CHAIN,
                          &(struct diag_site){.code = "stage-taken", .stage = name},
                          "there is a stage of this name already");
            destroy_entries(first);
            return NULL;
        }
    }
    return first;
}

enum ts_status ts_registry_add(struct stage_registry *registry,
                               const struct ts_stage *const *stages, size_t n, const char *sha256,
                               struct ts_diag *diag)
{
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    struct stage_registry *to = registry ? registry : &process;
    pthread_mutex_lock(&to->lock);
    struct entry *new = make_entries(registry, stages, n, sha256, diag);
    struct entry *_Atomic *at = &to->first;
    for (struct entry *entry; (entry = atomic_load(at)) != NULL;)
        at = &entry->next;
    atomic_store(at, new);
    pthread_mutex_unlock(&to->lock);
    return ts_diag_status_since(diag, count, errors);
}
