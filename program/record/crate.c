/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads how a result was made, and writes it as a crate. The three files are written one after the
 * other to a folder that gets its name when all are complete. The chain is the text that the result
 * holds, so the crate has the workflow itself, and `tomostage run chain.yaml` can read it.
 */
#include "program/record/crate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "io/file/digest.h"
#include "stages/engine/registry.h"

/* ---- the record of a run --------------------------------------------------------------------- */

/* Facts are sorted by path, so those of one group are together. The groups of stages have numbers,
   which give the order of the steps. A step names its input by the label of an input or of an
   earlier stage; if several have it, the last one before the step counts. */

/* Returns the text; "" for NULL. */
static const char *known(const char *text)
{
    return text ? text : "";
}

/* Returns the value of a fact of a step, such as "unit" or "parameters/radius"; "" if there is
   none. */
static const char *record_fact(const struct run_record *record, const struct record_step *step,
                               const char *name)
{
    return ts_made_value(&record->made, "%s/%s", step->of->group, name);
}

/* Finds the next parameter of a step, from fact *at on, and moves *at behind it. Returns the fact,
   with its name within the group in *name; NULL if there is none. */
static const struct made_fact *record_parameter(const struct run_record *record,
                                                const struct record_step *step, size_t *at,
                                                const char **name)
{
    static const char parameters[] = "/parameters/";
    const size_t length = strlen(step->of->group);
    for (; *at < record->made.n_facts; ++*at) {
        const struct made_fact *fact = &record->made.facts[*at];
        if (strncmp(fact->path, step->of->group, length) != 0 ||
            strncmp(fact->path + length, parameters, strlen(parameters)) != 0 ||
            !strcmp(fact->path + length + strlen(parameters),
                    "raw_file")) /* a field of NXtomoproc that is no parameter */
            continue;
        *name = fact->path + length + strlen(parameters);
        ++*at;
        return fact;
    }
    return NULL;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Adds the image with this label to what step k uses. */
static void add_use(struct run_record *record, int k, const char *label)
{
    struct record_step *step = &record->steps[k];
    struct record_use use = {.index = -1};
    for (int i = k - 1; i >= 0 && use.index < 0; i--)
        if (!strcmp(record->steps[i].of->name, label) || !strcmp(record->steps[i].of->stage, label))
            use.index = i;
    for (int i = 0; i < (int)record->made.n_inputs && use.index < 0; i++)
        if (!strcmp(record->made.inputs[i].name, label))
            use = (struct record_use){.is_input = true, .index = i};
    if (use.index >= 0 && step->n_uses < CHAIN_MAX_SOURCES)
        step->uses[step->n_uses++] = use;
}

static void find_uses(struct run_record *record, int k)
{
    const struct record_step *step = &record->steps[k];
    const struct stage *stage = ts_registry_find(NULL, step->of->stage);
    add_use(record, k, step->of->input);
    for (size_t i = 0; stage && i < stage->n_params; i++) {
        const char *name = stage->params[i].name,
                   *path = ts_arena_printf(record->arena, "parameters/%s", name);
        if (path && stage->params[i].kind == PARAM_REFERENCE && strcmp(name, "input") != 0)
            add_use(record, k, record_fact(record, step, path));
    }
}

/* Finds the image of a step that the result holds: one that it saved, or the last one. */
static void find_image(struct run_record *record, int k)
{
    struct record_step *step = &record->steps[k];
    const char *name = step->of->name;
    const bool last = k == record->n_steps - 1;
    const struct stage *stage = ts_registry_find(NULL, step->of->stage);
    const struct made_image *image =
        stage && (stage->traits & TRAIT_KEEPS_IMAGE) ? ts_made_image(&record->made, name) : NULL;
    if (!image && last)
        image = ts_made_image(&record->made, "data");
    if (image) {
        step->image = image->name;
        step->digest = known(image->digest);
    }
}

/* ---- reading the record ---------------------------------------------------------------------- */

static enum ts_status take_steps(struct run_record *record, const char *path, struct ts_diag *diag)
{
    const struct made *made = &record->made;
    for (size_t i = 0; i < made->n_stages && record->n_steps < CHAIN_MAX_STAGES; i++) {
        if (made->stages[i].number > record->n_steps + 1)
            return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-foreign"},
                                 "%s: stage %d of %d is not recorded", path, record->n_steps + 1,
                                 made->stages[made->n_stages - 1].number);
        if (made->stages[i].number == record->n_steps + 1)
            record->steps[record->n_steps++] =
                (struct record_step){.of = &made->stages[i], .digest = "", .image = ""};
    }
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
    enum ts_status status = ts_made_read(NULL, path, record->arena, &record->made, diag);
    if (status == TS_OK)
        status = ts_made_chain(NULL, path, record->arena, &record->chain, diag);
    if (status != TS_OK)
        return status;
    record->version = ts_made_value(&record->made, "provenance/tomostage");
    return take_steps(record, path, diag);
}

void ts_run_record_clear(struct run_record *record)
{
    ts_arena_destroy(record->arena);
    record->arena = NULL;
}

/* ---- ro-crate-metadata.json ------------------------------------------------------------------ */

/* The metadata file is one list of entities that refer to each other. Entities of the chain (a
   workflow of steps, each done by a tool with formal parameters) are beside those of its run
   (actions with the values of parameters). The values of parameters are texts, as the result lists
   them. The result itself is no file of the crate, since its name is the user's: its images are
   creative works that their digests identify. */

enum { ID_BYTES = 64 };

static const char context[] = "https://w3id.org/ro/crate/1.1/context",
                  terms[] = "https://w3id.org/ro/terms/workflow-run", workflow[] = "chain.yaml",
                  language[] = "#language", program[] = "#tomostage", run[] = "#run",
                  engine[] = "#engine-run";

static const char *const profiles[][3] = {
    {"https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"},
    {"https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"},
    {"https://w3id.org/ro/wfrun/provenance/0.5", "Provenance Run Crate", "0.5"},
    {"https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"}};

enum { PROFILES = sizeof profiles / sizeof *profiles };

/* Writes the identifier of an entity, such as "#step-1", and returns it. */
static const char *entity_id(char id[ID_BYTES], const char *kind, int number)
{
    snprintf(id, ID_BYTES, "#%s-%d", kind, number);
    return id;
}

/* ---- members of entities --------------------------------------------------------------------- */

static void open_entity(struct json *json, const char *id, const char *type)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "@id", id);
    ts_json_member_text(json, "@type", type);
}

static void put_id(struct json *json, const char *id)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "@id", id);
    ts_json_close(json, '}');
}

static void put_link(struct json *json, const char *key, const char *id)
{
    ts_json_key(json, key);
    put_id(json, id);
}

/* Writes links to KIND-1 to KIND-n. */
static void put_numbered(struct json *json, const char *key, const char *kind, int n)
{
    char id[ID_BYTES];
    ts_json_open_member(json, key, '[');
    for (int i = 1; i <= n; i++)
        put_id(json, entity_id(id, kind, i));
    ts_json_close(json, ']');
}

/* Writes the id of a parameter of a step, such as "#parameter-2-radius", or of its value. */
static const char *parameter_id(char id[256], const char *kind, int step, const char *name)
{
    snprintf(id, 256, "#%s-%d-%s", kind, step + 1, name);
    return id;
}

/* Writes links to all parameters of a step. */
static void put_parameters(struct json *json, const struct run_record *record, int k,
                           const char *kind)
{
    const char *name;
    char id[256];
    for (size_t at = 0; record_parameter(record, &record->steps[k], &at, &name);)
        put_id(json, parameter_id(id, kind, k, name));
}

/* ---- the crate ------------------------------------------------------------------------------- */

static void put_root(struct json *json, const char *date)
{
    open_entity(json, "ro-crate-metadata.json", "CreativeWork");
    put_link(json, "about", "./");
    ts_json_open_member(json, "conformsTo", '[');
    put_id(json, "https://w3id.org/ro/crate/1.1");
    put_id(json, profiles[PROFILES - 1][0]);
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    open_entity(json, "./", "Dataset");
    ts_json_member_text(json, "name", "How a result of tomostage was made");
    ts_json_member_text(json, "description",
                        "The chain with every resolved parameter, the digests of its inputs and of "
                        "its images, and what each stage did");
    if (date)
        ts_json_member_text(json, "datePublished", date);
    ts_json_member_text(json, "license", "Not stated: ask those who hold the inputs.");
    ts_json_open_member(json, "conformsTo", '[');
    for (int i = 0; i < PROFILES; i++)
        put_id(json, profiles[i][0]);
    ts_json_close(json, ']');
    put_link(json, "mainEntity", workflow);
    ts_json_open_member(json, "hasPart", '[');
    put_id(json, workflow);
    put_id(json, "prov.json");
    ts_json_close(json, ']');
    put_link(json, "mentions", run);
    ts_json_close(json, '}');
    for (int i = 0; i < PROFILES; i++) {
        open_entity(json, profiles[i][0], "CreativeWork");
        ts_json_member_text(json, "name", profiles[i][1]);
        ts_json_member_text(json, "version", profiles[i][2]);
        ts_json_close(json, '}');
    }
}

static void put_file(struct json *json, const char *id, const char *name, const char *format)
{
    open_entity(json, id, "File");
    ts_json_member_text(json, "name", name);
    ts_json_member_text(json, "encodingFormat", format);
    ts_json_close(json, '}');
}

static void put_workflow(struct json *json, const struct run_record *record)
{
    static const char *const types[] = {"File", "SoftwareSourceCode", "ComputationalWorkflow",
                                        "HowTo"};
    char digest[DIGEST_TEXT_BYTES];
    ts_json_open(json, '{');
    ts_json_member_text(json, "@id", workflow);
    ts_json_open_member(json, "@type", '[');
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ts_json_text(json, types[i]);
    ts_json_close(json, ']');
    ts_json_member_text(json, "name", "chain");
    ts_json_member_text(json, "encodingFormat", "application/yaml");
    if (ts_digest_of(record->chain, strlen(record->chain), digest))
        ts_json_member_text(json, "sha256", digest);
    put_link(json, "programmingLanguage", language);
    put_numbered(json, "hasPart", "tool", record->n_steps);
    put_numbered(json, "step", "step", record->n_steps);
    put_numbered(json, "input", "formal-input", (int)record->made.n_inputs);
    ts_json_close(json, '}');
    put_file(json, "prov.json", "the same in PROV-JSON", "application/json");
    open_entity(json, language, "ComputerLanguage");
    ts_json_member_text(json, "name", "tomostage chain");
    ts_json_close(json, '}');
    open_entity(json, program, "SoftwareApplication");
    ts_json_member_text(json, "name", "tomostage");
    ts_json_member_text(json, "softwareVersion", record->version);
    ts_json_close(json, '}');
}

/* ---- what the chain is, and what was done ---------------------------------------------------- */

static void put_inputs(struct json *json, const struct run_record *record)
{
    char id[ID_BYTES];
    for (int i = 0; i < (int)record->made.n_inputs; i++) {
        const struct made_input *input = &record->made.inputs[i];
        open_entity(json, entity_id(id, "formal-input", i + 1), "FormalParameter");
        ts_json_member_text(json, "name", input->name);
        ts_json_member_text(json, "additionalType", "Dataset");
        ts_json_close(json, '}');
        open_entity(json, entity_id(id, "input", i + 1), "CreativeWork");
        ts_json_member_text(json, "name", input->name);
        if (*input->format)
            ts_json_member_text(json, "description", input->format);
        if (*input->digest)
            ts_json_member_text(json, "identifier", input->digest);
        put_link(json, "exampleOfWork", entity_id(id, "formal-input", i + 1));
        ts_json_close(json, '}');
    }
}

/* Writes the tool of a step, its formal parameters, and the step of the workflow. */
static void put_step(struct json *json, const struct run_record *record, int k)
{
    const struct record_step *step = &record->steps[k];
    const char *name;
    char id[ID_BYTES], long_id[256];
    open_entity(json, entity_id(id, "step", k + 1), "HowToStep");
    ts_json_member_text(json, "name", step->of->stage);
    ts_json_key(json, "position");
    snprintf(id, sizeof id, "%d", k + 1);
    ts_json_text(json, id);
    put_link(json, "workExample", entity_id(id, "tool", k + 1));
    ts_json_close(json, '}');
    open_entity(json, entity_id(id, "tool", k + 1), "SoftwareApplication");
    ts_json_member_text(json, "name", step->of->stage);
    const char *own = ts_made_value(&record->made, "%s/stage_version", step->of->group);
    ts_json_member_text(json, "softwareVersion", *own ? own : record->version);
    ts_json_open_member(json, "input", '[');
    put_parameters(json, record, k, "parameter");
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    for (size_t at = 0; record_parameter(record, step, &at, &name);) {
        open_entity(json, parameter_id(long_id, "parameter", k, name), "FormalParameter");
        ts_json_member_text(json, "name", name);
        ts_json_member_text(json, "additionalType", "Text");
        ts_json_close(json, '}');
    }
}

/* Writes what a step did, the values that its parameters had, and its image. */
static void put_action(struct json *json, const struct run_record *record, int k)
{
    const struct record_step *step = &record->steps[k];
    const struct made_fact *fact;
    const char *name;
    char id[ID_BYTES], long_id[256];
    open_entity(json, entity_id(id, "action", k + 1), "CreateAction");
    ts_json_member_text(json, "name", step->of->stage);
    put_link(json, "instrument", entity_id(id, "tool", k + 1));
    ts_json_open_member(json, "object", '[');
    for (int u = 0; u < step->n_uses; u++)
        put_id(json,
               entity_id(id, step->uses[u].is_input ? "input" : "image", step->uses[u].index + 1));
    put_parameters(json, record, k, "value");
    ts_json_close(json, ']');
    put_link(json, "result", entity_id(id, "image", k + 1));
    if (*step->of->device)
        ts_json_member_text(json, "description", step->of->device);
    ts_json_close(json, '}');
    for (size_t at = 0; (fact = record_parameter(record, step, &at, &name));) {
        open_entity(json, parameter_id(long_id, "value", k, name), "PropertyValue");
        ts_json_member_text(json, "name", name);
        ts_json_member_text(json, "value", fact->value ? fact->value : fact->digest);
        put_link(json, "exampleOfWork", parameter_id(long_id, "parameter", k, name));
        ts_json_close(json, '}');
    }
    open_entity(json, entity_id(id, "image", k + 1), "CreativeWork");
    ts_json_member_text(json, "name", *step->image ? step->image : step->of->stage);
    if (*step->digest)
        ts_json_member_text(json, "identifier", step->digest);
    ts_json_close(json, '}');
    open_entity(json, entity_id(id, "control", k + 1), "ControlAction");
    ts_json_member_text(json, "name", step->of->stage);
    put_link(json, "instrument", entity_id(id, "step", k + 1));
    put_link(json, "object", entity_id(id, "action", k + 1));
    ts_json_close(json, '}');
}

static void put_run(struct json *json, const struct run_record *record)
{
    char id[ID_BYTES];
    open_entity(json, run, "CreateAction");
    ts_json_member_text(json, "name", "run of the chain");
    put_link(json, "instrument", workflow);
    put_numbered(json, "object", "input", (int)record->made.n_inputs);
    ts_json_open_member(json, "result", '[');
    for (int k = 0; k < record->n_steps; k++)
        if (*record->steps[k].image)
            put_id(json, entity_id(id, "image", k + 1));
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    open_entity(json, engine, "OrganizeAction");
    ts_json_member_text(json, "name", "run of tomostage");
    put_link(json, "instrument", program);
    put_numbered(json, "object", "control", record->n_steps);
    put_link(json, "result", run);
    ts_json_close(json, '}');
}

/* Write one of the files. */
static void write_metadata(const struct run_record *record, const char *date, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_open_member(&json, "@context", '[');
    ts_json_text(&json, context);
    ts_json_text(&json, terms);
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "@graph", '[');
    put_root(&json, date);
    put_workflow(&json, record);
    put_inputs(&json, record);
    for (int k = 0; k < record->n_steps; k++)
        put_step(&json, record, k);
    put_run(&json, record);
    for (int k = 0; k < record->n_steps; k++)
        put_action(&json, record, k);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

/* ---- prov.json ------------------------------------------------------------------------------- */

/* PROV-JSON: inputs and images are entities, stages are activities, the chain is their plan and
 * this program their agent. A stage used its inputs and generated its image, which derives from
 * them. Names are numbers, so that no text of the file can be taken for an identifier; `prov:label`
 * has the words. */

enum { NAME_BYTES = 64 };

/* Opens a member named "run:KIND-NUMBER", or "run:KIND" if the number is 0. */
static void open_named(struct json *json, const char *kind, int number)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, number > 0 ? "run:%s-%d" : "run:%s", kind, number);
    ts_json_open_member(json, name, '{');
}

static void put_reference(struct json *json, const char *key, const char *kind, int number)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, number > 0 ? "run:%s-%d" : "run:%s", kind, number);
    ts_json_member_text(json, key, name);
}

static void put_use(struct json *json, const char *key, const struct record_use *use)
{
    put_reference(json, key, use->is_input ? "input" : "image", use->index + 1);
}

static void put_some(struct json *json, const char *key, const char *text)
{
    if (*text)
        ts_json_member_text(json, key, text);
}

/* Writes the type, in PROV's terms, of an entity or agent. */
static void put_type(struct json *json, const char *type, const char *label)
{
    ts_json_open_member(json, "prov:type", '{');
    ts_json_member_text(json, "$", type);
    ts_json_member_text(json, "type", "prov:QUALIFIED_NAME");
    ts_json_close(json, '}');
    ts_json_member_text(json, "prov:label", label);
}

static void put_entities(struct json *json, const struct run_record *record)
{
    ts_json_open_member(json, "entity", '{');
    for (int i = 0; i < (int)record->made.n_inputs; i++) {
        const struct made_input *input = &record->made.inputs[i];
        open_named(json, "input", i + 1);
        ts_json_member_text(json, "prov:label", input->name);
        put_some(json, "run:format", input->format);
        put_some(json, "run:sha256_tree_of_slices", input->digest);
        ts_json_close(json, '}');
    }
    for (int k = 0; k < record->n_steps; k++) {
        const struct record_step *step = &record->steps[k];
        open_named(json, "image", k + 1);
        ts_json_member_text(json, "prov:label", *step->image ? step->image : step->of->stage);
        put_some(json, "run:quantity", record_fact(record, step, "quantity"));
        put_some(json, "run:unit", record_fact(record, step, "unit"));
        put_some(json, "run:sha256_tree", step->digest);
        ts_json_close(json, '}');
    }
    open_named(json, "chain", 0);
    put_type(json, "prov:Plan", "chain.yaml");
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void put_activities(struct json *json, const struct run_record *record)
{
    ts_json_open_member(json, "activity", '{');
    for (int k = 0; k < record->n_steps; k++) {
        const struct record_step *step = &record->steps[k];
        const struct made_fact *fact;
        const char *name;
        char key[256];
        open_named(json, "step", k + 1);
        ts_json_member_text(json, "prov:label", step->of->stage);
        put_some(json, "run:device", step->of->device);
        for (size_t at = 0; (fact = record_parameter(record, step, &at, &name));) {
            snprintf(key, sizeof key, "run:%s", name);
            ts_json_member_text(json, key, fact->value ? fact->value : fact->digest);
        }
        ts_json_close(json, '}');
    }
    ts_json_close(json, '}');
    ts_json_open_member(json, "agent", '{');
    open_named(json, "tomostage", 0);
    put_type(json, "prov:SoftwareAgent", "tomostage");
    put_some(json, "run:version", record->version);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

/* Writes `relation` from each step to each thing that it used; either the step is said to use it,
   or the step's image to derive from it. */
static void put_uses(struct json *json, const struct run_record *record, bool derived)
{
    int n = 0;
    ts_json_open_member(json, derived ? "wasDerivedFrom" : "used", '{');
    for (int k = 0; k < record->n_steps; k++)
        for (int u = 0; u < record->steps[k].n_uses; u++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "_:%s%d", derived ? "derived" : "used", ++n);
            ts_json_open_member(json, name, '{');
            put_reference(json, derived ? "prov:generatedEntity" : "prov:activity",
                          derived ? "image" : "step", k + 1);
            put_use(json, derived ? "prov:usedEntity" : "prov:entity", &record->steps[k].uses[u]);
            ts_json_close(json, '}');
        }
    ts_json_close(json, '}');
}

/* Writes what applies to every step: its image, and the plan that it followed. */
static void put_steps(struct json *json, const struct run_record *record, bool planned)
{
    ts_json_open_member(json, planned ? "wasAssociatedWith" : "wasGeneratedBy", '{');
    for (int k = 0; k < record->n_steps; k++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "_:%s%d", planned ? "associated" : "generated", k + 1);
        ts_json_open_member(json, name, '{');
        put_reference(json, "prov:activity", "step", k + 1);
        put_reference(json, planned ? "prov:agent" : "prov:entity", planned ? "tomostage" : "image",
                      planned ? 0 : k + 1);
        if (planned)
            put_reference(json, "prov:plan", "chain", 0);
        ts_json_close(json, '}');
    }
    ts_json_close(json, '}');
}

static void write_prov(const struct run_record *record, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_open_member(&json, "prefix", '{');
    ts_json_member_text(&json, "run", "urn:tomostage:run:");
    ts_json_close(&json, '}');
    put_entities(&json, record);
    put_activities(&json, record);
    put_uses(&json, record, false);
    put_steps(&json, record, false);
    put_steps(&json, record, true);
    put_uses(&json, record, true);
    ts_json_close(&json, '}');
}

/* ---- the folder ------------------------------------------------------------------------------ */

enum { FILES = 3 };

static const char *const names[FILES + 1] = {"chain.yaml", "prov.json", "ro-crate-metadata.json",
                                             NULL};

static void write_text(const struct run_record *record, int file, const char *date, FILE *stream)
{
    if (file == 0)
        fputs(record->chain, stream);
    else if (file == 1)
        write_prov(record, stream);
    else
        write_metadata(record, date, stream);
}

/* Writes one file to the staged folder. Returns 0 or errno. */
static int write_file(const struct run_record *record, const struct staged *staged, int file,
                      const char *date)
{
    char *path = ts_arena_printf(record->arena, "%s/%s", staged->temporary, names[file]);
    FILE *stream = path ? fopen(path, "wx") : NULL;
    if (!stream)
        return path ? errno : ENOMEM;
    errno = 0;
    write_text(record, file, date, stream);
    const bool written = fflush(stream) == 0 && !ferror(stream);
    const int error = errno ? errno : EIO;
    if (fclose(stream) != 0 && written)
        return errno;
    return written ? 0 : error;
}

enum ts_status ts_crate_write(const struct run_record *record, const char *folder, const char *date,
                              bool force, struct staged *staged, struct ts_diag *diag)
{
    enum ts_status status =
        ts_staged_folder(staged, folder, &(struct staged_content){NULL, names}, force, diag);
    for (int i = 0; i < FILES && status == TS_OK; i++) {
        const int error = write_file(record, staged, i, date);
        if (error)
            status = ts_file_failed(diag, "output-write", error, "cannot write the output '%s/%s'",
                                    folder, names[i]);
    }
    if (status == TS_OK)
        status = ts_staged_sync(staged, diag);
    return status == TS_OK ? ts_staged_publish(staged, diag) : status;
}
