/* SPDX-License-Identifier: Apache-2.0
 *
 * PROV-JSON: inputs and images are entities, stages are activities, the chain is their plan and this program their
 * agent. A stage used its inputs and generated its image, which derives from them. Names are numbers, so that no text
 * of the file can be taken for an identifier; `prov:label` has the words.
 */
#include <string.h>

#include "core/json.h"
#include "pipeline/crate/crate.h"

enum { NAME_BYTES = 64 };

/* Opens a member named "run:KIND-NUMBER", or "run:KIND" where the number is 0. */
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

/* Writes which of PROV's own types an entity or agent has. */
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
    for (int i = 0; i < record->n_inputs; i++) {
        const struct record_input *input = &record->inputs[i];
        open_named(json, "input", i + 1);
        ts_json_member_text(json, "prov:label", input->name);
        put_some(json, "run:format", input->format);
        put_some(json, "run:sha256_tree_of_slices", input->digest);
        ts_json_close(json, '}');
    }
    for (int k = 0; k < record->n_steps; k++) {
        const struct record_step *step = &record->steps[k];
        open_named(json, "image", k + 1);
        ts_json_member_text(json, "prov:label", *step->image ? step->image : step->stage);
        put_some(json, "run:quantity", ts_run_record_fact(record, step, "quantity"));
        put_some(json, "run:unit", ts_run_record_fact(record, step, "unit"));
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
        ts_json_member_text(json, "prov:label", step->stage);
        put_some(json, "run:device", step->device);
        for (size_t at = 0; (fact = ts_run_record_parameter(record, step, &at, &name));) {
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

/* Writes `relation` from each step to each thing that it used: the step itself used it, or its image derives from it.
 */
static void put_uses(struct json *json, const struct run_record *record, bool derived)
{
    int n = 0;
    ts_json_open_member(json, derived ? "wasDerivedFrom" : "used", '{');
    for (int k = 0; k < record->n_steps; k++)
        for (int u = 0; u < record->steps[k].n_uses; u++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "_:%s%d", derived ? "derived" : "used", ++n);
            ts_json_open_member(json, name, '{');
            put_reference(json, derived ? "prov:generatedEntity" : "prov:activity", derived ? "image" : "step", k + 1);
            put_use(json, derived ? "prov:usedEntity" : "prov:entity", &record->steps[k].uses[u]);
            ts_json_close(json, '}');
        }
    ts_json_close(json, '}');
}

/* Writes what holds for each step alike: its image, and the plan that it followed. */
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

void ts_crate_prov(const struct run_record *record, FILE *stream)
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
