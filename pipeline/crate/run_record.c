/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts are sorted by path, so those of one group stand together. The groups of stages have numbers, which give the
 * order of the steps. A step names its input by the label of an input or of a stage before it: the nearest one counts.
 */
#include "pipeline/crate/run_record.h"

#include <stdlib.h>
#include <string.h>

#include "stages/engine/stage.h"

/* Returns the text, or "" for NULL. */
static const char *known(const char *text)
{
    return text ? text : "";
}

static const struct made_fact *fact_of(const struct run_record *record, const char *group, const char *name)
{
    const char *path = ts_arena_printf(record->arena, "%s/%s", group, name);
    return path ? ts_made_find(&record->made, path) : NULL;
}

static const char *value_of(const struct run_record *record, const char *group, const char *name)
{
    const struct made_fact *fact = fact_of(record, group, name);
    return fact ? known(fact->value) : "";
}

const char *ts_run_record_fact(const struct run_record *record, const struct record_step *step, const char *name)
{
    return value_of(record, step->group, name);
}

const struct made_fact *ts_run_record_parameter(const struct run_record *record, const struct record_step *step,
                                                size_t *at, const char **name)
{
    static const char parameters[] = "/parameters/";
    const size_t length = strlen(step->group);
    for (; *at < record->made.n_facts; ++*at) {
        const struct made_fact *fact = &record->made.facts[*at];
        if (strncmp(fact->path, step->group, length) != 0 ||
            strncmp(fact->path + length, parameters, strlen(parameters)) != 0 ||
            !strcmp(fact->path + length + strlen(parameters), "raw_file")) /* NXtomoproc's, and no parameter */
            continue;
        *name = fact->path + length + strlen(parameters);
        ++*at;
        return fact;
    }
    return NULL;
}

/* ---- inputs and steps ----------------------------------------------------------------------------- */

/* Notes the input that a fact belongs to, if it is a new one. */
static void take_input(struct run_record *record, const struct made_fact *fact)
{
    const char *name = fact->path + strlen("inputs/"), *slash = strchr(name, '/');
    const size_t length = slash ? (size_t)(slash - name) : 0;
    const struct record_input *last = record->n_inputs > 0 ? &record->inputs[record->n_inputs - 1] : NULL;
    if (length == 0 || record->n_inputs == CHAIN_MAX_SOURCES ||
        (last && strlen(last->name) == length && !strncmp(last->name, name, length)))
        return;
    const char *group = ts_arena_text(record->arena, fact->path, (size_t)(slash - fact->path));
    const struct made_fact *digests = group ? fact_of(record, group, "slice_pixel_sha256") : NULL;
    if (group)
        record->inputs[record->n_inputs++] = (struct record_input){.name = group + strlen("inputs/"),
                                                                   .format = value_of(record, group, "format"),
                                                                   .digest = digests ? digests->digest : ""};
}

/* Notes the step that a fact belongs to, if it does, at the place that its number gives. */
static void take_step(struct run_record *record, const struct made_fact *fact)
{
    size_t length;
    const int number = ts_made_stage(fact->path, &length);
    if (number < 1 || number > CHAIN_MAX_STAGES || record->steps[number - 1].group)
        return;
    struct record_step *step = &record->steps[number - 1];
    step->group = known(ts_arena_text(record->arena, fact->path, length));
    step->stage = ts_run_record_fact(record, step, "stage");
    step->device = ts_run_record_fact(record, step, "device");
    step->digest = step->image = "";
    if (number > record->n_steps)
        record->n_steps = number;
}

/* Adds what has this label to what step k uses. */
static void add_use(struct run_record *record, int k, const char *label)
{
    struct record_step *step = &record->steps[k];
    struct record_use use = {.index = -1};
    for (int i = k - 1; i >= 0 && use.index < 0; i--)
        if (!strcmp(ts_run_record_fact(record, &record->steps[i], "name"), label) ||
            !strcmp(record->steps[i].stage, label))
            use.index = i;
    for (int i = 0; i < record->n_inputs && use.index < 0; i++)
        if (!strcmp(record->inputs[i].name, label))
            use = (struct record_use){.is_input = true, .index = i};
    if (use.index >= 0 && step->n_uses < CHAIN_MAX_SOURCES)
        step->uses[step->n_uses++] = use;
}

static void find_uses(struct run_record *record, int k)
{
    const struct record_step *step = &record->steps[k];
    const struct stage *stage = ts_stage_find(step->stage);
    add_use(record, k, ts_run_record_fact(record, step, "input"));
    for (size_t i = 0; stage && i < stage->n_params; i++) {
        const char *name = stage->params[i].name, *path = ts_arena_printf(record->arena, "parameters/%s", name);
        if (path && stage->params[i].kind == PARAM_REFERENCE && strcmp(name, "input") != 0)
            add_use(record, k, ts_run_record_fact(record, step, path));
    }
}

/* Finds the image that a step left in the result: one that it keeps, or the last one. */
static void find_image(struct run_record *record, int k)
{
    struct record_step *step = &record->steps[k];
    const char *name = ts_run_record_fact(record, step, "name");
    const bool last = k == record->n_steps - 1;
    const struct stage *stage = ts_stage_find(step->stage);
    const struct made_image *image =
        stage && (stage->traits & TRAIT_KEEPS_IMAGE) ? ts_made_image(&record->made, name) : NULL;
    if (!image && last)
        image = ts_made_image(&record->made, "data");
    if (image) {
        step->image = image->name;
        step->digest = known(image->digest);
    }
}

/* ---- the file ------------------------------------------------------------------------------------ */

static enum ts_status take_facts(struct run_record *record, const char *path, struct ts_diag *diag)
{
    for (size_t i = 0; i < record->made.n_facts; i++) {
        const struct made_fact *fact = &record->made.facts[i];
        if (!strncmp(fact->path, "inputs/", 7))
            take_input(record, fact);
        else
            take_step(record, fact);
    }
    for (int k = 0; k < record->n_steps; k++)
        if (!record->steps[k].group)
            return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-foreign"},
                                 "%s: stage %d of %d is not recorded", path, k + 1, record->n_steps);
    for (int k = 0; k < record->n_steps; k++) {
        find_uses(record, k);
        find_image(record, k);
    }
    return TS_OK;
}

enum ts_status ts_run_record_read(const char *path, struct run_record *record, struct ts_diag *diag)
{
    *record = (struct run_record){.arena = ts_arena_create()};
    if (!record->arena)
        return ts_diag_no_memory(diag, sizeof *record);
    enum ts_status status = ts_made_read(path, record->arena, &record->made, diag);
    if (status == TS_OK)
        status = ts_made_chain(path, record->arena, &record->chain, diag);
    if (status != TS_OK)
        return status;
    record->version = value_of(record, "provenance", "tomostage");
    return take_facts(record, path, diag);
}

void ts_run_record_clear(struct run_record *record)
{
    ts_arena_destroy(record->arena);
    record->arena = NULL;
}
