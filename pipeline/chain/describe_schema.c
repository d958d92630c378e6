/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the JSON Schema (draft 2020-12) of a chain file, for completion and checks in editors. The
 * schema defines what one key at a time can be; what depends on the input or on other keys is left
 * to `tomostage check`.
 */
#include "core/json.h"
#include "pipeline/chain/chain.h"
#include "pipeline/chain/describe.h"
#include "pipeline/chain/formats.h"
#include "stages/engine/registry.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Opens the schema of a type: {"type": "integer", "minimum": ..., ... More members may follow. */
static void open_typed(struct json *json, const char *type)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "type", type);
}

/* Writes a list of one or two texts; the second may be NULL. */
static void write_texts(struct json *json, const char *key, const char *first, const char *second)
{
    ts_json_open_member(json, key, '[');
    ts_json_text(json, first);
    if (second)
        ts_json_text(json, second);
    ts_json_close(json, ']');
}

static void write_range(struct json *json, const struct param *param)
{
    if (param->min == 0 && param->max == 0)
        return;
    if (!isinf(param->min))
        ts_json_member_real(json, "minimum", param->min);
    if (!isinf(param->max))
        ts_json_member_real(json, "maximum", param->max);
}

/* Writes the pattern of a name in any case, since load.c ignores case: "hann" is
   [Hh][Aa][Nn][Nn]. */
static void put_name(FILE *stream, const char *name)
{
    for (; *name; name++)
        if (isalpha((unsigned char)*name))
            fprintf(stream, "[%c%c]", toupper((unsigned char)*name), tolower((unsigned char)*name));
        else
            fprintf(stream, isdigit((unsigned char)*name) ? "%c" : "[%c]", *name);
}

/* Writes the names, each with its sentence, for completion in editors, and the pattern of all names
   that are accepted. */
static void write_choices(struct json *json, const struct choice *choices)
{
    char *pattern = NULL;
    size_t length;
    FILE *stream = open_memstream(&pattern, &length);
    ts_json_open_member(json, "anyOf", '[');
    for (const struct choice *choice = choices; choice && choice->name; choice++) {
        ts_json_open(json, '{');
        ts_json_member_text(json, "const", choice->name);
        ts_json_member_text(json, "description", choice->doc);
        ts_json_close(json, '}');
        if (stream) {
            fputs(choice == choices ? "^(" : "|", stream);
            put_name(stream, choice->name);
        }
    }
    if (stream)
        fputs(")$", stream);
    if (stream && fclose(stream) == 0) {
        open_typed(json, "string");
        ts_json_member_text(json, "pattern", pattern);
        ts_json_member_text(json, "description", "one of these names, in any case");
        ts_json_close(json, '}');
    }
    free(pattern);
    ts_json_close(json, ']');
}

/* Writes the schema of a number, a list of numbers, or a list of such lists. */
static void write_numbers(struct json *json, const struct param *param)
{
    ts_json_open_member(json, "oneOf", '[');
    for (int depth = 0; depth <= 2; depth++) {
        for (int i = 0; i < depth; i++) {
            open_typed(json, "array");
            ts_json_key(json, "items");
        }
        open_typed(json, "number");
        write_range(json, param);
        ts_json_close(json, '}');
        for (int i = 0; i < depth; i++)
            ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

static void write_text_or_texts(struct json *json)
{
    ts_json_open_member(json, "oneOf", '[');
    open_typed(json, "string");
    ts_json_close(json, '}');
    open_typed(json, "array");
    ts_json_key(json, "items");
    open_typed(json, "string");
    ts_json_close(json, '}');
    ts_json_close(json, '}');
    ts_json_close(json, ']');
}

static void write_default(struct json *json, const struct param *param)
{
    if (param->required || param->optional || param->derived || param->kind > PARAM_TEXT)
        return;
    /* An infinity would not be of the schema's type "number". */
    if (param->kind == PARAM_REAL && isinf(param->init.r))
        return;
    ts_json_key(json, "default");
    ts_json_param(json, param, &param->init);
}

/* A rule is a text, or a map of names and patterns. */
static void write_rule(struct json *json)
{
    ts_json_open_member(json, "type", '[');
    ts_json_text(json, "string");
    ts_json_text(json, "number");
    ts_json_text(json, "object");
    ts_json_close(json, ']');
    ts_json_open_member(json, "additionalProperties", '{');
    write_texts(json, "type", "string", "number");
    ts_json_close(json, '}');
}

/* Writes which values the parameter can have. */
static void write_value(struct json *json, const struct param *param)
{
    switch (param->kind) {
    case PARAM_INTEGER:
    case PARAM_REAL:
        ts_json_member_text(json, "type", param->kind == PARAM_INTEGER ? "integer" : "number");
        write_range(json, param);
        break;
    case PARAM_CHOICE:
        write_choices(json, param->choices);
        break;
    case PARAM_BOOL:
        ts_json_member_text(json, "type", "boolean");
        break;
    case PARAM_TEXT: /* `series: 2` is a text for us and a number in YAML */
        if (!param->rule)
            write_texts(json, "type", "string", "number");
        else
            write_rule(json);
        break;
    case PARAM_TEXTS:
        write_text_or_texts(json);
        break;
    case PARAM_NUMBERS:
        write_numbers(json, param);
        break;
    case PARAM_REFERENCE:
        ts_json_member_text(json, "type", "string");
        break;
    }
}

/* Writes one of the keys of a sweep. */
static void write_step(struct json *json, const char *key, const char *description)
{
    ts_json_key(json, key);
    open_typed(json, "number");
    ts_json_member_text(json, "description", description);
    ts_json_close(json, '}');
}

/* Writes the two forms of a sweep. Their values are left to `tomostage check`. */
static void write_sweep(struct json *json)
{
    ts_json_open_member(json, "sweep", '{');
    ts_json_member_text(
        json, "description",
        "several values, for each of which the stages from here on are carried out");
    ts_json_open_member(json, "oneOf", '[');
    open_typed(json, "object");
    ts_json_open_member(json, "properties", '{');
    ts_json_key(json, "sweep");
    open_typed(json, "array");
    ts_json_member_text(json, "description", "the values");
    ts_json_member_integer(json, "minItems", 1);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
    ts_json_member_bool(json, "additionalProperties", false);
    write_texts(json, "required", "sweep", NULL);
    ts_json_close(json, '}');
    open_typed(json, "object");
    ts_json_open_member(json, "properties", '{');
    write_step(json, "from", "the first value");
    write_step(json, "to", "no value lies beyond it");
    write_step(json, "step", "from one value to the next");
    ts_json_close(json, '}');
    ts_json_member_bool(json, "additionalProperties", false);
    ts_json_open_member(json, "required", '[');
    ts_json_text(json, "from");
    ts_json_text(json, "to");
    ts_json_text(json, "step");
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    ts_json_close(json, ']');
    ts_json_close(json, '}');
}

/* Writes a parameter. A parameter of a stage may have a sweep, unless it is a reference. */
static void write_param(struct json *json, const struct param *param, bool of_stage)
{
    char description[1024], old[128];
    const int length = snprintf(
        description, sizeof description, "%s%s%s%s%s%s%s", param->doc,
        param->unit && *param->unit ? " [" : "", param->unit && *param->unit ? param->unit : "",
        param->unit && *param->unit ? "]" : "", param->derived ? " (default: " : "",
        param->derived ? param->derived : "", param->derived ? ")" : "");
    if (param->old.until > 0 && length > 0 && (size_t)length < sizeof description) {
        ts_param_format_value(param, &param->old.init, old, sizeof old);
        snprintf(description + length, sizeof description - (size_t)length,
                 " (default in chains of version %d: %s)", param->old.until, old);
    }
    ts_json_open_member(json, param->name, '{');
    ts_json_member_text(json, "description", description);
    if (of_stage && param->kind != PARAM_REFERENCE) {
        ts_json_open_member(json, "anyOf", '[');
        ts_json_open(json, '{');
        write_value(json, param);
        ts_json_close(json, '}');
        ts_json_open(json, '{');
        ts_json_member_text(json, "$ref", "#/$defs/sweep");
        ts_json_close(json, '}');
        ts_json_close(json, ']');
    } else {
        write_value(json, param);
    }
    write_default(json, param);
    ts_json_close(json, '}');
}

/* Ends an object schema whose "properties" are open: closes them, and lists the required keys. */
static void close_properties(struct json *json, const struct param *params, size_t n_params)
{
    ts_json_close(json, '}');
    ts_json_member_bool(json, "additionalProperties", false);
    bool any = false;
    for (size_t i = 0; i < n_params; i++)
        any = any || params[i].required;
    if (!any)
        return;
    ts_json_open_member(json, "required", '[');
    for (size_t i = 0; i < n_params; i++)
        if (params[i].required)
            ts_json_text(json, params[i].name);
    ts_json_close(json, ']');
}

static void write_described_text(struct json *json, const char *key, const char *description)
{
    ts_json_key(json, key);
    open_typed(json, "string");
    ts_json_member_text(json, "description", description);
    ts_json_close(json, '}');
}

/* Returns true if every parameter has a default, so that the stage's name is enough. */
static bool works_alone(const struct stage *stage)
{
    for (size_t i = 0; i < stage->n_params; i++)
        if (stage->params[i].required)
            return false;
    return true;
}

/* Writes what the stage takes, which no schema of a chain can check. */
static void write_accepted(struct json *json, const struct stage *stage)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return;
    fputs("takes ", stream);
    ts_describe_accepted(stage, stream);
    if (fclose(stream) == 0)
        ts_json_member_text(json, "$comment", text);
    free(text);
}

/* Writes the schema of {"box": {...}}: one key, whose value holds the parameters. */
static void write_stage(struct json *json, const struct stage *stage)
{
    open_typed(json, "object");
    ts_json_member_text(json, "title", stage->name);
    ts_json_member_text(json, "description", stage->summary);
    write_accepted(json, stage);
    ts_json_open_member(json, "properties", '{');
    ts_json_open_member(json, stage->name, '{');
    write_texts(json, "type", "object",
                works_alone(stage) ? "null" : NULL); /* `- equalize:` is an empty value */
    ts_json_member_text(json, "description", stage->summary);
    ts_json_open_member(json, "properties", '{');
    for (size_t i = 0; i < stage->n_params; i++)
        write_param(json, &stage->params[i], true);
    write_described_text(json, "name",
                         "label of this stage's output, for later stages and in the output file");
    write_described_text(
        json, "input",
        "name of the earlier output or input to work on, instead of the one just before");
    close_properties(json, stage->params, stage->n_params);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
    ts_json_member_bool(json, "additionalProperties", false);
    write_texts(json, "required", stage->name, NULL);
    ts_json_close(json, '}');
}

static void write_stages(struct json *json)
{
    ts_json_key(json, "stages");
    open_typed(json, "array");
    ts_json_member_text(
        json, "description",
        "the stages, carried out from first to last; none: the input is written as it is");
    ts_json_member_integer(json, "maxItems", CHAIN_MAX_STAGES);
    ts_json_open_member(json, "items", '{');
    ts_json_open_member(json, "oneOf", '[');
    ts_json_open(json, '{');
    ts_json_member_text(json, "title", "a stage with every parameter at its default");
    ts_json_open_member(json, "enum", '[');
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(NULL, i)) != NULL; i++)
        if (works_alone(stage))
            ts_json_text(json, stage->name);
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    for (size_t i = 0; (stage = ts_registry_stage(NULL, i)) != NULL; i++)
        write_stage(json, stage);
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

/* Writes the definitions to which several places refer. */
static void write_definitions(struct json *json)
{
    ts_json_open_member(json, "$defs", '{');
    write_sweep(json);
    ts_json_open_member(json, "source", '{');
    ts_json_open_member(json, "oneOf", '[');
    open_typed(json, "object");
    ts_json_member_text(json, "title", "like");
    ts_json_open_member(json, "properties", '{');
    write_described_text(json, "like",
                         "name of an earlier input, whose format and parameters are taken over");
    ts_json_close(json, '}');
    write_texts(json, "required", "like", NULL);
    ts_json_close(json, '}');
    for (const struct source_format *const *format = ts_source_formats; *format; format++) {
        open_typed(json, "object");
        ts_json_member_text(json, "title", (*format)->name);
        ts_json_member_text(json, "description", (*format)->summary);
        ts_json_open_member(json, "properties", '{');
        for (size_t i = 0; i < (*format)->n_params; i++)
            write_param(json, &(*format)->params[i], false);
        close_properties(json, (*format)->params, (*format)->n_params);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void write_reference(struct json *json, const char *description)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "$ref", "#/$defs/source");
    ts_json_member_text(json, "description", description);
    ts_json_close(json, '}');
}

void ts_describe_schema(FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    ts_json_member_text(&json, "title", "tomostage chain");
    ts_json_member_text(&json, "type", "object");
    ts_json_open_member(&json, "properties", '{');
    ts_json_open_member(&json, "tomostage", '{');
    ts_json_open_member(&json, "enum", '[');
    for (int version = CHAIN_VERSION; version > 0; version--)
        ts_json_integer(&json, version);
    ts_json_close(&json, ']');
    ts_json_member_text(&json, "description",
                        "version of the chain's form, on which some defaults depend");
    ts_json_close(&json, '}');
    ts_json_key(&json, "input");
    write_reference(&json, "the images to work on");
    ts_json_key(&json, "inputs");
    open_typed(&json, "object");
    ts_json_member_text(&json, "description", "further named inputs, which stages can refer to");
    ts_json_key(&json, "additionalProperties");
    write_reference(&json, "a further input");
    ts_json_close(&json, '}');
    write_stages(&json);
    ts_json_key(&json, "output");
    open_typed(&json, "object");
    ts_json_member_text(&json, "description", "the files to write");
    ts_json_open_member(&json, "properties", '{');
    write_described_text(&json, "hdf5", "path of the HDF5 file (NeXus layout)");
    for (size_t i = 0; ts_sink_formats[i]; i++)
        write_described_text(&json, ts_sink_formats[i]->name, ts_sink_formats[i]->summary);
    for (size_t i = 0; i < CHAIN_OUTPUT_PARAMS; i++)
        write_param(&json, &ts_chain_output_params[i], false);
    close_properties(&json, NULL, 0);
    ts_json_close(&json, '}');
    ts_json_close(&json, '}');
    ts_json_member_bool(&json, "additionalProperties", false);
    write_texts(&json, "required", "tomostage", "stages");
    write_definitions(&json);
    ts_json_close(&json, '}');
}
