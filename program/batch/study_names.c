/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of outputs are compared without regard to case, because some file systems do so, and a
 * collision is found by sorting. The digits that part studies of one name come from each study alone: the same study
 * has the same output in every list in which its name collides.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "io/sink/sink.h"
#include "program/batch/studies.h"

enum { DIGITS = 8 };

/* Returns the study's own name without the suffixes of a file, or NULL where memory is out. A character that a terminal
 * might obey, and a leading dot, become an underscore. */
static char *own_name(const struct batch_study *study, struct arena *arena)
{
    char path[PATH_MAX], name[NAME_MAX + 1];
    struct stat found;
    const char *input = realpath(study->input, path) ? path : study->input;
    const bool is_file = stat(input, &found) != 0 || S_ISREG(found.st_mode);
    snprintf(name, sizeof name, "%s", *ts_base_name(input) ? ts_base_name(input) : "study");
    for (char *dot = strrchr(name, '.'), *last = NULL; is_file && dot && dot > name && !last;
         dot = strrchr(name, '.')) {
        last = strcmp(dot, ".gz") != 0 ? dot : NULL;
        *dot = '\0';
    }
    name[0] = name[0] == '.' ? '_' : name[0];
    for (char *at = name; *at; at++)
        *at = (unsigned char)*at < ' ' || *at == 0x7F ? '_' : *at;
    return ts_arena_text(arena, name, strlen(name));
}

/* Returns the name with digits of the digest of the study's absolute path and parameters; NULL where it fails. */
static char *distinct_name(const struct batch_study *study, struct arena *arena)
{
    char path[PATH_MAX], text[DIGEST_TEXT_BYTES];
    const char *input = realpath(study->input, path) ? path : study->input;
    struct digest *digest = ts_digest_create();
    bool ok = digest && ts_digest_add(digest, input, strlen(input) + 1);
    for (int i = 0; i < study->n_sets && ok; i++)
        ok = ts_digest_add(digest, study->sets[i], strlen(study->sets[i]) + 1);
    ok = ok && ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return ok ? ts_arena_printf(arena, "%s-%.*s", study->name, DIGITS, text) : NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct batch_study *const *first = a, *const *second = b;
    return strcasecmp((*first)->name, (*second)->name);
}

/* Sorts the n studies by their names, and marks with 1 those whose name another one has too. */
static void find_equal(struct batch_study **sorted, unsigned char *equal, size_t n)
{
    qsort(sorted, n, sizeof(struct batch_study *), by_name);
    memset(equal, 0, n);
    for (size_t i = 1; i < n; i++)
        if (!strcasecmp(sorted[i - 1]->name, sorted[i]->name))
            equal[i - 1] = equal[i] = 1;
}

static enum ts_status name_all(struct studies *studies, struct batch_study **sorted, unsigned char *equal,
                               struct ts_diag *diag)
{
    size_t n = 0;
    bool memory = true;
    for (size_t i = 0; i < studies->n; i++)
        if (!studies->items[i].name) {
            sorted[n] = &studies->items[i];
            sorted[n]->name = own_name(sorted[n], studies->arena);
            if (!sorted[n++]->name)
                return ts_diag_no_memory(diag, NAME_MAX);
        }
    find_equal(sorted, equal, n);
    for (size_t i = 0; i < n && memory; i++)
        if (equal[i])
            memory = (sorted[i]->name = distinct_name(sorted[i], studies->arena)) != NULL;
    for (size_t i = 0; i < studies->n && memory; i++) {
        struct batch_study *study = &studies->items[i];
        if (!ts_sink_is_hdf5(study->name))
            memory = (study->name = ts_arena_printf(studies->arena, "%s.h5", study->name)) != NULL;
        sorted[i] = study;
    }
    return memory ? TS_OK : ts_diag_no_memory(diag, NAME_MAX);
}

static enum ts_status refuse_equal(struct batch_study **sorted, unsigned char *equal, size_t n, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    find_equal(sorted, equal, n);
    for (size_t i = 1; i < n; i++)
        if (equal[i] && !strcasecmp(sorted[i - 1]->name, sorted[i]->name)) {
            status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-same-output"},
                                   "%s and %s would both be written to %s", sorted[i - 1]->input, sorted[i]->input,
                                   sorted[i]->name);
            ts_diag_hint(diag, "a study stands twice in the list, or its column 'output' names a result twice");
        }
    return status;
}

enum ts_status ts_studies_name(struct studies *studies, const char *folder, struct ts_diag *diag)
{
    struct batch_study **sorted = malloc((studies->n + 1) * sizeof *sorted);
    unsigned char *equal = malloc(studies->n + 1);
    enum ts_status status = sorted && equal ? TS_OK : ts_diag_no_memory(diag, studies->n * sizeof *sorted);
    for (size_t i = 0; i < studies->n && status == TS_OK; i++) {
        const char *name = studies->items[i].name;
        if (name && (strchr(name, '/') || *name == '.'))
            status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-output-name"},
                                   "'%s' is no plain file name for the result of %s", name, studies->items[i].input);
    }
    if (status == TS_OK)
        status = name_all(studies, sorted, equal, diag);
    if (status == TS_OK)
        status = refuse_equal(sorted, equal, studies->n, diag);
    for (size_t i = 0; i < studies->n && status == TS_OK; i++) {
        struct batch_study *study = &studies->items[i];
        study->output = ts_arena_printf(studies->arena, "%s/%s", folder, study->name);
        status = study->output ? TS_OK : ts_diag_no_memory(diag, NAME_MAX);
    }
    free(sorted);
    free(equal);
    return status;
}
