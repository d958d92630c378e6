/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the warnings of a run to its result. Their sentences are made for the user's terminal,
 * and some name files, whose names may be those of patients. So a sentence is kept only if its
 * origin knows no file: a stage of the chain, or one of the codes below. The texts are sorted,
 * because sources warn in the order in which they are opened, and a search opens them twice.
 */
#include "pipeline/run/warnings.h"

#include <stdlib.h>
#include <string.h>

#include "stages/engine/stage.h"

/* These depend on the machine, and do not concern the values. */
static const char *const of_machine[] = {"output-space", "output-folder-sync"};
/* The sentences of these sources contain only numbers, or texts that inputs/NAME records as
   well. */
static const char *const without_names[] = {"dicom-series",     "angle-turns",    "page-missing",
                                            "grid-unknown",     "contours-open",  "axis-elsewhere",
                                            "padding-excluded", "values-rounded", "mask-nowhere"};
#define HOLDS(list, code) warnings_holds(list, sizeof(list) / sizeof *(list), code)

static bool warnings_holds(const char *const *list, size_t n, const char *code)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found |= !strcmp(list[i], code);
    return found;
}

static bool is_of_stage(const struct ts_plan *plan, const char *stage)
{
    bool found = false;
    for (int32_t i = plan->n_sources; stage && i < plan->n_nodes; i++)
        found |= !strcmp(stage, plan->nodes[i].label) ||
                 !strcmp(stage, plan->nodes[i].context.stage->name);
    return found;
}

/* Returns the text of a warning; NULL if memory is out. */
static const char *text_of(const struct ts_plan *plan, const struct ts_diag_record *record,
                           struct arena *arena)
{
    const bool kept =
        is_of_stage(plan, record->stage) || (record->code && HOLDS(without_names, record->code));
    char sentence[4096];
    ts_text_escape(sentence, sizeof sentence,
                   kept ? record->message : "the sentence is not kept, as it may name files");
    return ts_arena_printf(arena, "%s: %s%s%s", record->code ? record->code : "warning",
                           record->stage ? record->stage : "", record->stage ? ": " : "", sentence);
}

/* Inserts a text among n sorted ones, unless it is there. Returns how many there are then. */
static size_t insert(const char **texts, size_t n, const char *text)
{
    size_t at = n;
    while (at > 0 && strcmp(texts[at - 1], text) > 0)
        at--;
    if (at > 0 && !strcmp(texts[at - 1], text))
        return n;
    memmove(texts + at + 1, texts + at, (n - at) * sizeof *texts);
    texts[at] = text;
    return n + 1;
}

enum ts_status ts_warnings_write(const struct ts_plan *plan, struct hdf5_writer *writer,
                                 struct ts_diag *diag)
{
    const size_t n_records = ts_diag_count(diag);
    const char **texts = calloc(n_records + 1, sizeof *texts);
    size_t n = 0;
    bool complete = texts != NULL;
    for (size_t i = 0; complete && i < n_records; i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (record->severity != TS_WARNING || (record->code && HOLDS(of_machine, record->code)))
            continue;
        const char *text = text_of(plan, record, plan->arena);
        complete = text != NULL;
        n = complete ? insert(texts, n, text) : n;
    }
    if (complete && n == 0)
        texts[n++] = WARNINGS_NONE;
    const enum ts_status status = complete ? ts_hdf5_texts(writer, WARNINGS_PATH, NULL, texts, n)
                                           : ts_diag_no_memory(diag, n_records * sizeof *texts);
    free(texts);
    return status;
}
