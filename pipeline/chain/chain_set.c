/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes a chain that was read, as the command line asks: the paths of its input and output, and
 * single parameters by assignments such as box.radius=3. An assignment is a text of its own, into
 * which its errors point.
 */
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/number.h"
#include "core/path.h"
#include "io/scan/file_kind.h"
#include "io/scan/hdf5_info.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/formats.h"
#include "pipeline/chain/oneline.h"

/* Gives the new path of a source to the sources that are `like` it. */
static void follow_paths(struct ts_chain *chain)
{
    for (int32_t i = 0; i < chain->n_sources; i++) {
        const struct chain_source *source = &chain->sources[i];
        if (!source->like)
            continue;
        const size_t path = (size_t)ts_chain_path_param(source->format);
        memcpy(ts_param_field(&source->set, path), ts_param_field(&source->like->set, path),
               ts_param_bytes(source->set.params[path].kind));
    }
}

/* Returns the format that reads the path: DICOM if nothing says so. */
static const struct source_format *format_of(const char *path)
{
    const char *kind, *known = ts_file_kind(path, &kind);
    if (known && !strcmp(kind, "result"))
        kind = ts_hdf5_format(path);
    else if (known && !strcmp(known, "a folder"))
        kind = ts_folder_format(path);
    const struct source_format *format = known ? ts_source_format_find(kind) : NULL;
    return format ? format : ts_source_format_find("dicom");
}

enum ts_status ts_chain_set_path(struct ts_chain *chain, struct chain_source *source,
                                 const char *path, struct ts_diag *diag)
{
    struct load load = {.arena = chain->arena, .diag = diag, .version = chain->version};
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    const struct node value = {.kind = NODE_SCALAR, .quoted = true, .text = path};
    struct param_set set = source->set;
    const struct source_format *format = source->format ? source->format : format_of(path);
    if (!source->format && !ts_load_begin(&load, format->params, format->n_params,
                                          format->params_bytes, "input", (struct ts_span){0}, &set))
        return TS_RUN_FAILED;
    load.path = format->name;
    if (ts_load_value(&load, &value, &set, (size_t)ts_chain_path_param(format))) {
        source->format = format;
        source->set = set;
        follow_paths(chain);
    }
    return ts_diag_status_since(diag, count, errors);
}

enum ts_status ts_chain_set_input(struct ts_chain *chain, const char *path, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "chain, path", chain, path))
        return TS_BAD_CHAIN;
    return ts_chain_set_path(chain, &chain->sources[0], path, diag);
}

enum ts_status ts_chain_set_output(struct ts_chain *chain, const char *path, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "chain, path", chain, path))
        return TS_BAD_CHAIN;
    if (!*path)
        return ts_diag_error(diag, TS_BAD_CHAIN,
                             &(struct diag_site){.code = "path-empty", .stage = "output"},
                             "the path is empty");
    const char *copy = ts_arena_text(chain->arena, path, strlen(path));
    if (!copy)
        return ts_diag_no_memory(diag, strlen(path));
    const struct sink_format *format = ts_sink_of_path(path);
    if (!format && !ts_sink_is_hdf5(path)) {
        char known[256];
        ts_sink_list_suffixes(NULL, known, sizeof known);
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "output-suffix", .stage = "output"},
                      "'%s' does not end in the suffix of an output format", path);
        if (ts_ends_in(path, ".csv") || ts_ends_in(path, ".tsv"))
            return ts_diag_hint(diag, "numbers leave a result by `tomostage tables R.h5 -o %s`",
                                ts_base_name(path));
        return ts_diag_hint(
            diag, "known: %s; a folder is an output of the chain, such as output: {dicom: FOLDER}",
            known);
    }
    chain->output.path = format ? NULL : copy;
    chain->output.span = (struct ts_span){0};
    chain->output.n_sinks = format != NULL;
    chain->output.sinks[0] = (struct chain_sink){.format = format, .path = copy};
    return TS_OK;
}

/* The parts of an assignment "target.parameter=value", and the parameters that it changes. */
struct assignment {
    struct tree tree;
    size_t target_length, parameter_start, parameter_length, value_start;
    /* `set` points to the parameters, in case of the output to `output` */
    struct param_set *set, output;
    const char *path; /* for a source: name of the parameter of its paths */
    int32_t stage;    /* -1: a source */
};

static enum ts_status chain_set_refuse(const struct assignment *at, size_t start, size_t length,
                                       const char *code, const char *message)
{
    return ts_diag_error(
        at->tree.diag, TS_BAD_CHAIN,
        &(struct diag_site){.code = code, .span = ts_tree_span(&at->tree, start, length)}, "%s",
        message);
}

static enum ts_status split_assignment(struct assignment *at)
{
    const char *text = at->tree.text;
    const char *equals = strchr(text, '=');
    const char *dot = equals ? memrchr(text, '.', (size_t)(equals - text)) : NULL;
    if (!dot || dot == text || dot + 1 == equals) {
        chain_set_refuse(at, 0, at->tree.length, "assignment-syntax",
                         "STAGE.PARAMETER=VALUE is expected");
        return ts_diag_hint(
            at->tree.diag,
            "box.radius=3, of a second box box#2.radius=3, of the input input.series=2");
    }
    at->target_length = (size_t)(dot - text);
    at->parameter_start = at->target_length + 1;
    at->parameter_length = (size_t)(equals - dot) - 1;
    at->value_start = (size_t)(equals - text) + 1;
    return TS_OK;
}

/* Finds the source, stage or output to which the assignment applies: "input", "box", "box#2",
   "output". */
static enum ts_status find_target(struct ts_chain *chain, struct assignment *at)
{
    char name[128];
    const char *text = at->tree.text;
    struct ts_diag *diag = at->tree.diag;
    const char *hash = memchr(text, '#', at->target_length);
    const size_t length = hash ? (size_t)(hash - text) : at->target_length;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    char number_text[24] = "";
    int64_t number = 0;
    if (hash)
        snprintf(number_text, sizeof number_text, "%.*s", (int)(at->target_length - length - 1),
                 hash + 1);
    if (hash && ts_number_integer(number_text, &number))
        number = 0;
    const char *names[CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES];
    size_t n = 0;
    int32_t found = 0;
    for (int32_t i = 0; i < chain->n_sources; i++) {
        if (!chain->sources[i].format)
            continue;
        names[n++] = chain->sources[i].name;
        if (!hash && !strcmp(chain->sources[i].name, name)) {
            at->set = &chain->sources[i].set;
            at->path = chain->sources[i].format->name;
            return TS_OK;
        }
    }
    for (int32_t i = 0; i < chain->n_stages; i++) {
        names[n++] = chain->stages[i].stage->name;
        if (strcmp(chain->stages[i].stage->name, name))
            continue;
        found++;
        if (!hash || found == number) {
            at->set = &chain->stages[i].set;
            at->stage = i;
        }
    }
    if (!hash && !strcmp(name, "output")) {
        at->output = ts_chain_output_set(chain);
        at->set = &at->output;
        return TS_OK;
    }
    const struct ts_span span = {1, 1, (int32_t)at->target_length};
    const struct diag_site site = {.code = "assignment-target", .span = span};
    if (found == 0)
        ts_load_unknown(diag, name, span, NULL, "stage", names, n);
    else if (!hash && found > 1)
        ts_diag_error(diag, TS_BAD_CHAIN, &site,
                      "the chain has %d stages '%s'; say which one: %s#1 to %s#%d", found, name,
                      name, name, found);
    else if (!at->set)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "the chain has %d stage%s '%s', no number '%s'",
                      found, found == 1 ? "" : "s", name, number_text);
    else
        return TS_OK;
    return TS_BAD_CHAIN;
}

/* Replaces the path of an output of this format, or adds the output: output.nifti=PATH. Returns
   false if the key is no format. */
static bool assign_sink(struct ts_chain *chain, struct assignment *at, const char *key)
{
    struct chain_output *output = &chain->output;
    const struct sink_format *format = ts_sink_find(key);
    const struct load load = {.arena = chain->arena, .diag = at->tree.diag};
    char hint[512];
    if (at->set != &at->output || (!format && strcmp(key, "hdf5") != 0))
        return false;
    const struct node *value = ts_oneline_value(&at->tree, at->value_start);
    const char *text = value ? ts_load_text(load.diag, value, "output", "a path") : NULL;
    const char *path = text ? ts_load_path(&load, text) : NULL;
    const char *wrong = path ? ts_sink_misnamed(format, path, hint, sizeof hint) : NULL;
    int32_t i = 0;
    if (wrong) {
        chain_set_refuse(at, at->value_start, strlen(text), "output-suffix", wrong);
        ts_diag_hint(load.diag, "%s", hint);
    }
    if (!path || wrong)
        return true;
    while (i < output->n_sinks && output->sinks[i].format != format)
        i++;
    if (!format) {
        output->path = path;
        return true;
    }
    output->sinks[i] = (struct chain_sink){.format = format, .path = path};
    output->n_sinks += i == output->n_sinks;
    return true;
}

static enum ts_status assign(struct ts_chain *chain, struct assignment *at)
{
    struct ts_diag *diag = at->tree.diag;
    const char *key =
        ts_arena_text(at->tree.arena, at->tree.text + at->parameter_start, at->parameter_length);
    if (!key)
        return ts_diag_no_memory(diag, at->parameter_length);
    if (assign_sink(chain, at, key))
        return TS_OK;
    size_t param;
    if (!ts_param_find(at->set->params, at->set->n_params, key, &param)) {
        const struct ts_span span =
            ts_tree_span(&at->tree, at->parameter_start, at->parameter_length);
        ts_load_unknown_param(diag, key, span, at->set, NULL, 0);
        return TS_BAD_CHAIN;
    }
    const struct node *value = ts_oneline_value(&at->tree, at->value_start);
    if (!value)
        return TS_BAD_CHAIN;
    struct chain_sweep sweep = chain->sweep;
    if (sweep.stage == at->stage && sweep.param == param)
        sweep.n = 0; /* the assignment replaces the sweep */
    const bool swept = sweep.n > 0;
    const struct load load = {.arena = chain->arena,
                              .diag = diag,
                              .path = at->path,
                              .sweep = at->stage >= 0 ? &sweep : NULL};
    const struct param_set before = *at->set;
    struct ts_reference *reference = NULL, reference_before = {0};
    if (at->set->params[param].kind == PARAM_REFERENCE) {
        reference = ts_param_field(at->set, param);
        reference_before = *reference;
    }
    if (!ts_load_value(&load, value, at->set, param))
        return TS_BAD_CHAIN;
    if (reference && !ts_chain_resolve_references(chain, at->stage, diag)) {
        *at->set = before;
        *reference = reference_before;
        return TS_BAD_CHAIN;
    }
    if (!swept)
        sweep.stage = at->stage;
    chain->sweep = sweep;
    /* The value is in the text of the assignment, so it has no place in that of the chain. */
    at->set->spans[param] = (struct ts_span){0};
    for (int32_t i = 0; i < chain->n_sources; i++)
        if (at->set == &chain->sources[i].set && !strcmp(key, at->path))
            chain->sources[i].like = NULL;
    follow_paths(chain);
    return TS_OK;
}

enum ts_status ts_chain_set(struct ts_chain *chain, const char *assignment, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "chain, assignment", chain, assignment))
        return TS_BAD_CHAIN;
    const size_t length = strlen(assignment), count = ts_diag_count(diag),
                 errors = ts_diag_error_count(diag);
    struct assignment at = {.tree = {.diag = diag, .text = assignment, .length = length},
                            .stage = -1};
    at.tree.arena = ts_arena_create();
    char *name = NULL;
    if (!at.tree.arena || asprintf(&name, "--set %s", assignment) < 0) {
        ts_arena_destroy(at.tree.arena);
        return ts_diag_no_memory(diag, length);
    }
    ts_diag_set_source(diag, name, assignment, length);
    free(name);
    if (ts_tree_check_text(&at.tree) && split_assignment(&at) == TS_OK &&
        find_target(chain, &at) == TS_OK)
        assign(chain, &at);
    ts_arena_destroy(at.tree.arena);
    return ts_diag_status_since(diag, count, errors);
}
