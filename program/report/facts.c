/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts are those that `diff` compares (program/record/made.h). Labels are counted as in the
 * plan.
 */
#include "program/report/facts.h"

#include <stdlib.h>
#include <string.h>

#include "io/scan/result_warnings.h"
#include "pipeline/chain/chain.h"

enum { PATH_BYTES = 512 };

const struct hdf5_listed *ts_report_dataset(const struct report_facts *facts, const char *format,
                                            ...)
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

/* ---- the sweep ------------------------------------------------------------------------------- */

/* Returns false if memory is out. */
static bool name_values(struct report_facts *facts, const struct ts_chain *chain)
{
    const struct chain_sweep *sweep = &chain->sweep;
    const struct param *param = &chain->stages[sweep->stage].set.params[sweep->param];
    const char **values = ts_arena_alloc(facts->arena, (size_t)sweep->n * sizeof *values);
    const char **names = ts_arena_alloc(facts->arena, (size_t)sweep->n * sizeof *names);
    bool complete = values && names;
    for (int64_t k = 0; complete && k < sweep->n; k++) {
        char value[64], name[128];
        ts_sweep_text(sweep, param, k, value, sizeof value);
        ts_sweep_named(sweep, param, k, name, sizeof name);
        values[k] = ts_arena_text(facts->arena, value, strlen(value));
        names[k] = ts_arena_text(facts->arena, name, strlen(name));
        complete = values[k] && names[k];
    }
    facts->sweep = (struct report_sweep){
        (size_t)sweep->stage, param->name, param->unit, values, names, complete ? sweep->n : 0};
    return complete;
}

/* Reads the sweep of the chain. A text of another program that is no chain has none. */
static enum ts_status read_sweep(struct report_facts *facts, struct ts_diag *diag)
{
    struct ts_chain *chain = NULL;
    struct ts_diag *apart = ts_diag_create();
    bool complete = apart != NULL;
    if (complete &&
        ts_chain_parse(facts->chain, strlen(facts->chain), "report", NULL, &chain, apart) ==
            TS_OK &&
        chain->sweep.n > 0)
        complete = name_values(facts, chain);
    ts_chain_destroy(chain);
    ts_diag_destroy(apart);
    return complete ? TS_OK : ts_diag_no_memory(diag, sizeof *facts);
}

/* ---- stages and inputs ----------------------------------------------------------------------- */

/* Labels stage i: by its number among those of its kind, or by its value of the sweep, if it is in
   the sweep. */
static const char *label_of(const struct report_facts *facts, size_t i)
{
    const struct report_stage *stage = &facts->stages[i];
    int before = 0;
    if (stage->value > 0) {
        const size_t own = (facts->n_stages - facts->sweep.stage) / (size_t)facts->sweep.n;
        return ts_arena_printf(facts->arena, "%s[%s=%s]",
                               facts->stages[i - own * (size_t)stage->value].label,
                               facts->sweep.param, facts->sweep.values[stage->value]);
    }
    for (size_t k = 0; k < i; k++)
        before += !strcmp(facts->stages[k].of->stage, stage->of->stage);
    return before == 0 ? stage->of->stage
                       : ts_arena_printf(facts->arena, "%s#%d", stage->of->stage, before + 1);
}

/* Finds the value of each stage: the stages of a sweep occur once for each value, one after the
   other. */
static void place_stages(struct report_facts *facts)
{
    struct report_sweep *sweep = &facts->sweep;
    const size_t behind = facts->n_stages > sweep->stage ? facts->n_stages - sweep->stage : 0;
    if (sweep->n > 0 && (behind == 0 || behind % (size_t)sweep->n != 0))
        sweep->n = 0; /* the file is made up */
    for (size_t i = 0; i < facts->n_stages; i++)
        facts->stages[i].value = sweep->n > 0 && i >= sweep->stage
                                     ? (int64_t)((i - sweep->stage) / (behind / (size_t)sweep->n))
                                     : -1;
}

static bool label_stages(struct report_facts *facts)
{
    facts->stages =
        ts_arena_alloc(facts->arena, (facts->made.n_stages + 1) * sizeof *facts->stages);
    if (!facts->stages)
        return false;
    for (; facts->n_stages < facts->made.n_stages; facts->n_stages++)
        facts->stages[facts->n_stages] =
            (struct report_stage){.of = &facts->made.stages[facts->n_stages]};
    place_stages(facts);
    bool complete = true;
    for (size_t i = 0; complete && i < facts->n_stages; i++)
        complete = (facts->stages[i].label = label_of(facts, i)) != NULL;
    return complete;
}

static bool name_inputs(struct report_facts *facts)
{
    facts->inputs =
        ts_arena_alloc(facts->arena, (facts->made.n_inputs + 1) * sizeof *facts->inputs);
    for (size_t i = 0; facts->inputs && i < facts->made.n_inputs; i++) {
        size_t at = facts->n_inputs++;
        for (; at > 0 && !strcmp(facts->made.inputs[i].name, "input");
             at--) /* that of the first stage comes first */
            facts->inputs[at] = facts->inputs[at - 1];
        facts->inputs[at] = facts->made.inputs[i].name;
    }
    return facts->inputs != NULL;
}

/* ---- the chain and the warnings -------------------------------------------------------------- */

/* Lists what a warning says. The sentence of a warning about files is not kept, as it may name
   them; the record of the inputs replaces it: for "files-passed-over", the fact files_passed_over.
   Returns false if memory is out. */
static bool add_warning(struct report_facts *facts, const char *warning)
{
    const int code = (int)strcspn(warning, ":");
    const size_t before = facts->n_warnings;
    char fact[64];
    snprintf(fact, sizeof fact, "%.*s", code, warning);
    for (char *c = fact; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (size_t i = 0; i < facts->n_inputs && !strncmp(fact, "files_", strlen("files_")); i++) {
        const char *text = ts_made_value(&facts->made, "inputs/%s/%s", facts->inputs[i], fact);
        if (*text)
            facts->warnings[facts->n_warnings++] = ts_arena_printf(
                facts->arena, "%.*s: %s: %s", code, warning, facts->inputs[i], text);
    }
    if (facts->n_warnings == before)
        facts->warnings[facts->n_warnings++] = warning;
    return facts->warnings[facts->n_warnings - 1] != NULL;
}

static enum ts_status read_texts(struct report_facts *facts, struct ts_diag *diag)
{
    struct result_warnings read;
    enum ts_status status = TS_OK;
    facts->chain = "";
    if (ts_made_find(&facts->made, "provenance/chain"))
        status = ts_made_chain(NULL, facts->path, facts->arena, &facts->chain, diag);
    if (status == TS_OK)
        status = ts_result_warnings(facts->path, facts->arena, &read, diag);
    if (status != TS_OK || !read.kept)
        return status;
    const size_t most = read.n * (facts->n_inputs + 1) + 1;
    facts->warnings = ts_arena_alloc(facts->arena, most * sizeof *facts->warnings);
    bool complete = facts->warnings != NULL;
    for (size_t i = 0; complete && i < read.n; i++)
        complete = add_warning(facts, read.texts[i]);
    return complete ? TS_OK : ts_diag_no_memory(diag, most * sizeof *facts->warnings);
}

/* ---- the profile ----------------------------------------------------------------------------- */

/* Reads a profile, and refuses one of a run that wrote a different result. */
static enum ts_status read_profile(struct report_facts *facts, const char *path,
                                   struct ts_diag *diag)
{
    char digest[DIGEST_TEXT_BYTES];
    const enum ts_status status =
        ts_profile_read(path, facts->arena, &facts->trace, &facts->memory, digest, diag);
    if (status != TS_OK || !strcmp(digest, facts->proof.digest))
        return status;
    if (*digest)
        ts_diag_error(
            diag, TS_BAD_INPUT, &(struct diag_site){.code = "profile-foreign"},
            "%s is the profile of another run, whose result has the digest %.8s..., not %.8s...",
            path, digest, facts->proof.digest);
    else
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "profile-foreign"},
                      "%s names no result: its run wrote no HDF5, or an older version made it",
                      path);
    return ts_diag_hint(diag, "give the profile of the run that wrote the result");
}

enum ts_status ts_report_facts_made(const char *path, struct report_facts *facts,
                                    struct ts_diag *diag)
{
    *facts = (struct report_facts){.path = path, .arena = ts_arena_create()};
    if (!facts->arena)
        return ts_diag_no_memory(diag, sizeof *facts);
    enum ts_status status = ts_made_read(NULL, path, facts->arena, &facts->made, diag);
    if (status == TS_OK && !name_inputs(facts))
        status = ts_diag_no_memory(diag, facts->made.n_inputs * sizeof *facts->inputs);
    if (status == TS_OK)
        status = read_texts(facts, diag);
    if (status == TS_OK)
        status = read_sweep(facts, diag);
    if (status == TS_OK && !label_stages(facts))
        status = ts_diag_no_memory(diag, facts->made.n_stages * sizeof *facts->stages);
    return status;
}

enum ts_status ts_report_facts(const struct report_request *request, struct report_facts *facts,
                               struct ts_diag *diag)
{
    struct hdf5_proof proof = {0};
    *facts = (struct report_facts){0};
    enum ts_status status = ts_hdf5_verify(NULL, request->path, &proof, diag);
    if (status == TS_OK)
        status = ts_report_facts_made(request->path, facts, diag);
    facts->proof = proof;
    facts->slices = request->slices;
    if (status == TS_OK && request->profile)
        status = read_profile(facts, request->profile, diag);
    return status;
}

void ts_report_facts_close(struct report_facts *facts)
{
    ts_trace_destroy(facts->trace);
    ts_arena_destroy(facts->arena);
    *facts = (struct report_facts){0};
}
