/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts are those that `diff` compares (pipeline/compare/made.h). Stages are the groups process_NUMBER_STAGE,
 * ordered by number; labels are counted as the plan counts them.
 */
#include "pipeline/report/facts.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_texts.h"

enum { PATH_BYTES = 512 };

const char *ts_report_value(const struct report_facts *facts, const char *format, ...)
{
    char path[PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    const struct made_fact *fact = ts_made_find(&facts->made, path);
    return fact && fact->value ? fact->value : "";
}

const struct hdf5_listed *ts_report_dataset(const struct report_facts *facts, const char *format, ...)
{
    char path[PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next)
        if (object->kind == HDF5_DATASET && !strcmp(object->path, path))
            return object;
    return NULL;
}

const char *ts_report_below(const struct hdf5_listed *object, const char *format, ...)
{
    char prefix[PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const size_t length = (size_t)vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    const bool fits = object->kind == HDF5_DATASET && length < sizeof prefix && !strncmp(object->path, prefix, length);
    return fits ? object->path + length : NULL;
}

const struct report_stage *ts_report_stage(const struct report_facts *facts, const char *label)
{
    for (size_t i = 0; i < facts->n_stages; i++)
        if (!strcmp(facts->stages[i].label, label))
            return &facts->stages[i];
    return NULL;
}

/* ---- stages and inputs ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct report_stage *one = a, *two = b;
    return one->number < two->number ? -1 : one->number > two->number;
}

/* Returns the number in "process_NUMBER_STAGE/stage", and the length of the group's name; 0 for other paths. */
static int stage_number(const char *path, size_t *length)
{
    int number = 0, end = 0;
    const char *slash = strchr(path, '/');
    *length = slash ? (size_t)(slash - path) : 0;
    return slash && !strcmp(slash, "/stage") && sscanf(path, "process_%9d_%n", &number, &end) == 1 && end > 0 ? number
                                                                                                              : 0;
}

/* Counts the stages of the same kind before stage i, and labels it. */
static const char *label_of(const struct report_facts *facts, size_t i)
{
    int before = 0;
    for (size_t k = 0; k < i; k++)
        before += !strcmp(facts->stages[k].stage, facts->stages[i].stage);
    return before == 0 ? facts->stages[i].stage
                       : ts_arena_printf(facts->arena, "%s#%d", facts->stages[i].stage, before + 1);
}

static bool find_stages(struct report_facts *facts)
{
    bool complete = (facts->stages = ts_arena_alloc(facts->arena, (facts->made.n_facts + 1) * sizeof *facts->stages));
    for (size_t i = 0; complete && i < facts->made.n_facts; i++) {
        size_t length;
        const int number = stage_number(facts->made.facts[i].path, &length);
        const char *group = number > 0 ? ts_arena_text(facts->arena, facts->made.facts[i].path, length) : NULL;
        if (number <= 0)
            continue;
        complete = group != NULL;
        if (complete)
            facts->stages[facts->n_stages++] =
                (struct report_stage){.number = number,
                                      .group = group,
                                      .stage = ts_report_value(facts, "%s/stage", group),
                                      .name = ts_report_value(facts, "%s/name", group),
                                      .input = ts_report_value(facts, "%s/input", group),
                                      .device = ts_report_value(facts, "%s/device", group)};
    }
    if (complete)
        qsort(facts->stages, facts->n_stages, sizeof *facts->stages, by_number);
    for (size_t i = 0; complete && i < facts->n_stages; i++)
        complete = (facts->stages[i].label = label_of(facts, i)) != NULL;
    return complete;
}

/* Facts are sorted, so that those of one input follow each other. */
static bool find_inputs(struct report_facts *facts)
{
    facts->inputs = ts_arena_alloc(facts->arena, (facts->made.n_facts + 1) * sizeof *facts->inputs);
    for (size_t i = 0; facts->inputs && i < facts->made.n_facts; i++) {
        const char *path = facts->made.facts[i].path, *name = path + strlen("inputs/");
        const char *slash = strncmp(path, "inputs/", strlen("inputs/")) ? NULL : strchr(name, '/');
        if (!slash || strcmp(slash, "/format") != 0)
            continue;
        const char *copy = ts_arena_text(facts->arena, name, (size_t)(slash - name));
        if (!copy)
            return false;
        size_t at = facts->n_inputs++;
        for (; at > 0 && !strcmp(copy, "input"); at--) /* that of the first stage comes first */
            facts->inputs[at] = facts->inputs[at - 1];
        facts->inputs[at] = copy;
    }
    return facts->inputs != NULL;
}

/* ---- texts and the profile --------------------------------------------------------------------- */

static enum ts_status read_texts(struct report_facts *facts, struct ts_diag *diag)
{
    const char *const *chain = NULL;
    size_t n = 0;
    enum ts_status status = ts_hdf5_read_texts(facts->path, "/entry/provenance/chain", facts->arena, &chain, &n, diag);
    facts->chain = n > 0 ? chain[0] : "";
    return status == TS_OK ? ts_result_warnings(facts->path, facts->arena, &facts->warnings, diag) : status;
}

/* Refuses a profile with a stage that the chain does not have: it is that of another run. */
static enum ts_status check_profile(const struct report_facts *facts, const char *path, struct ts_diag *diag)
{
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(facts->trace, &n);
    for (size_t i = 0; i < n; i++)
        if (stretches[i].stage && !ts_report_stage(facts, stretches[i].stage)) {
            ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "profile-foreign"},
                          "%s is the profile of another run: the result has no stage '%s'", path, stretches[i].stage);
            return ts_diag_hint(diag, "give the profile of the run that wrote the result");
        }
    return TS_OK;
}

enum ts_status ts_report_facts(const struct report_request *request, struct report_facts *facts, struct ts_diag *diag)
{
    *facts = (struct report_facts){.path = request->path, .arena = ts_arena_create()};
    if (!facts->arena)
        return ts_diag_no_memory(diag, sizeof *facts);
    enum ts_status status = ts_hdf5_verify(request->path, &facts->proof, diag);
    if (status == TS_OK)
        status = ts_made_read(request->path, facts->arena, &facts->made, diag);
    if (status == TS_OK && !(find_stages(facts) && find_inputs(facts)))
        status = ts_diag_no_memory(diag, facts->made.n_facts * sizeof *facts->stages);
    if (status == TS_OK)
        status = read_texts(facts, diag);
    if (status == TS_OK && request->profile)
        status = ts_profile_read(request->profile, facts->arena, &facts->trace, &facts->memory, diag);
    return status == TS_OK && facts->trace ? check_profile(facts, request->profile, diag) : status;
}

void ts_report_facts_close(struct report_facts *facts)
{
    ts_trace_destroy(facts->trace);
    ts_arena_destroy(facts->arena);
    *facts = (struct report_facts){0};
}
