/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata file is one list of entities that refer to each other. Entities of the chain (a workflow of steps, each
 * done by a tool with formal parameters) stand beside those of its run (actions with the values of parameters). The
 * values of parameters are texts, as the result lists them. The result itself is no file of the crate, since its name
 * is the user's: its images are creative works that their digests identify.
 */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "io/file/digest.h"
#include "pipeline/crate/crate.h"

enum { ID_BYTES = 64 };

static const char context[] = "https://w3id.org/ro/crate/1.1/context",
                  terms[] = "https://w3id.org/ro/terms/workflow-run", workflow[] = "chain.yaml",
                  language[] = "#language", program[] = "#tomostage", run[] = "#run", engine[] = "#engine-run";

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

/* ---- members of entities -------------------------------------------------------------------------- */

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

/* Writes the id of a parameter of a step: "#parameter-2-radius", or of its value. */
static const char *parameter_id(char id[256], const char *kind, int step, const char *name)
{
    snprintf(id, 256, "#%s-%d-%s", kind, step + 1, name);
    return id;
}

/* Writes links to all parameters of a step. */
static void put_parameters(struct json *json, const struct run_record *record, int k, const char *kind)
{
    const char *name;
    char id[256];
    for (size_t at = 0; ts_run_record_parameter(record, &record->steps[k], &at, &name);)
        put_id(json, parameter_id(id, kind, k, name));
}

/* ---- the crate ------------------------------------------------------------------------------------- */

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
                        "The chain with every resolved parameter, the digests of its inputs and of its images, and "
                        "what each stage did");
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
    static const char *const types[] = {"File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"};
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
    put_numbered(json, "input", "formal-input", record->n_inputs);
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

/* ---- what the chain is, and what was done ------------------------------------------------------------ */

static void put_inputs(struct json *json, const struct run_record *record)
{
    char id[ID_BYTES];
    for (int i = 0; i < record->n_inputs; i++) {
        const struct record_input *input = &record->inputs[i];
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

/* Writes the tool of a step, its formal parameters and the step of the workflow. */
static void put_step(struct json *json, const struct run_record *record, int k)
{
    const struct record_step *step = &record->steps[k];
    const char *name;
    char id[ID_BYTES], long_id[256];
    open_entity(json, entity_id(id, "step", k + 1), "HowToStep");
    ts_json_member_text(json, "name", step->stage);
    ts_json_key(json, "position");
    snprintf(id, sizeof id, "%d", k + 1);
    ts_json_text(json, id);
    put_link(json, "workExample", entity_id(id, "tool", k + 1));
    ts_json_close(json, '}');
    open_entity(json, entity_id(id, "tool", k + 1), "SoftwareApplication");
    ts_json_member_text(json, "name", step->stage);
    ts_json_member_text(json, "softwareVersion", record->version);
    ts_json_open_member(json, "input", '[');
    put_parameters(json, record, k, "parameter");
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    for (size_t at = 0; ts_run_record_parameter(record, step, &at, &name);) {
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
    ts_json_member_text(json, "name", step->stage);
    put_link(json, "instrument", entity_id(id, "tool", k + 1));
    ts_json_open_member(json, "object", '[');
    for (int u = 0; u < step->n_uses; u++)
        put_id(json, entity_id(id, step->uses[u].is_input ? "input" : "image", step->uses[u].index + 1));
    put_parameters(json, record, k, "value");
    ts_json_close(json, ']');
    put_link(json, "result", entity_id(id, "image", k + 1));
    if (*step->device)
        ts_json_member_text(json, "description", step->device);
    ts_json_close(json, '}');
    for (size_t at = 0; (fact = ts_run_record_parameter(record, step, &at, &name));) {
        open_entity(json, parameter_id(long_id, "value", k, name), "PropertyValue");
        ts_json_member_text(json, "name", name);
        ts_json_member_text(json, "value", fact->value ? fact->value : fact->digest);
        put_link(json, "exampleOfWork", parameter_id(long_id, "parameter", k, name));
        ts_json_close(json, '}');
    }
    open_entity(json, entity_id(id, "image", k + 1), "CreativeWork");
    ts_json_member_text(json, "name", *step->image ? step->image : step->stage);
    if (*step->digest)
        ts_json_member_text(json, "identifier", step->digest);
    ts_json_close(json, '}');
    open_entity(json, entity_id(id, "control", k + 1), "ControlAction");
    ts_json_member_text(json, "name", step->stage);
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
    put_numbered(json, "object", "input", record->n_inputs);
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

void ts_crate_metadata(const struct run_record *record, const char *date, FILE *stream)
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
