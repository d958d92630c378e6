/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains from files and texts, and what the command line changes in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/number.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/oneline.h"
#include "pipeline/chain/yaml.h"

/* ---- reading ------------------------------------------------------------------------------------ */

static struct ts_chain *create_chain(const char *name, const char *text, size_t length, struct ts_diag *diag)
{
    struct ts_chain *chain = calloc(1, sizeof *chain);
    if (chain)
        chain->arena = ts_arena_create();
    if (chain && chain->arena) {
        chain->source_name = ts_arena_text(chain->arena, name, strlen(name));
        chain->text = ts_arena_text(chain->arena, text, length);
        chain->text_length = length;
    }
    if (chain && chain->source_name && chain->text)
        return chain;
    ts_chain_destroy(chain);
    ts_diag_no_memory(diag, length);
    return NULL;
}

/* TS_RUN_FAILED where memory was out, whatever else was found. */
static enum ts_status status_since(const struct ts_diag *diag, size_t count, size_t errors)
{
    if (ts_diag_error_count(diag) == errors)
        return TS_OK;
    for (size_t i = count; i < ts_diag_count(diag); i++)
        if (ts_diag_get(diag, i)->status == TS_RUN_FAILED)
            return TS_RUN_FAILED;
    return TS_BAD_CHAIN;
}

static enum ts_status parse(const char *text, size_t length, const char *name, const char *folder, bool may_be_oneline,
                            struct ts_chain **result, struct ts_diag *diag)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    if (length >= 3 && !memcmp(text, byte_order_mark, 3)) {
        text += 3;
        length -= 3;
    }
    *result = NULL;
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    /* A text past the limit is neither copied nor searched for lines. */
    const size_t kept = length > TREE_MAX_BYTES ? 0 : length;
    ts_diag_set_source(diag, name, text, kept);
    struct ts_chain *chain = create_chain(name, text, kept, diag);
    struct tree tree = {.diag = diag, .text = text, .length = length, .arena = ts_arena_create()};
    if (chain && !tree.arena)
        ts_diag_no_memory(diag, length);
    if (chain && tree.arena) {
        const bool oneline = may_be_oneline && length <= TREE_MAX_BYTES && ts_oneline_is(text, length);
        if (oneline ? ts_oneline_read(&tree) : ts_yaml_read(&tree))
            ts_chain_build(chain, tree.root, folder, diag);
    }
    ts_arena_destroy(tree.arena);
    const enum ts_status status = status_since(diag, count, errors);
    if (status == TS_OK)
        *result = chain;
    else
        ts_chain_destroy(chain);
    return status;
}

enum ts_status ts_chain_parse(const char *text, size_t length, const char *name, const char *folder,
                              struct ts_chain **chain, struct ts_diag *diag)
{
    return parse(text, length, name ? name : "chain", folder, true, chain, diag);
}

/* Reads at most one byte more than a chain may have. -1 with errno. A shell's pipe (<(...)) is read to its end; a FIFO
 * that nobody writes to is empty, and opening it does not wait. */
static ssize_t read_text(const char *path, char *out)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    fcntl(file, F_SETFL, 0);
    ssize_t length = 0, n;
    do {
        n = read(file, out + length, (size_t)(TREE_MAX_BYTES + 1 - length));
        length += n > 0 ? n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    const int problem = errno;
    close(file);
    errno = problem;
    return n < 0 ? -1 : length;
}

enum ts_status ts_chain_load(const char *path, struct ts_chain **chain, struct ts_diag *diag)
{
    *chain = NULL;
    char *text = malloc(TREE_MAX_BYTES + 1), *folder = NULL;
    if (!text)
        return ts_diag_no_memory(diag, TREE_MAX_BYTES + 1);
    enum ts_status status = TS_RUN_FAILED;
    const char *slash = strrchr(path, '/');
    const ssize_t length = read_text(path, text);
    if (length < 0) {
        status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "chain-unreadable"},
                               "cannot read the chain %s: %s", path, strerror(errno));
        goto done;
    }
    folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup("");
    if (!folder) {
        status = ts_diag_no_memory(diag, strlen(path));
        goto done;
    }
    status = parse(text, (size_t)length, path, folder, false, chain, diag);
done:
    free(folder);
    free(text);
    return status;
}

void ts_chain_destroy(struct ts_chain *chain)
{
    if (!chain)
        return;
    ts_arena_destroy(chain->arena);
    free(chain);
}

/* ---- what the command line changes ---------------------------------------------------------------- */

enum ts_status ts_chain_set_input(struct ts_chain *chain, const char *path, struct ts_diag *diag)
{
    struct chain_source *source = &chain->sources[0];
    struct load load = {.arena = chain->arena, .diag = diag};
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    const struct node value = {.kind = NODE_SCALAR, .quoted = true, .text = path};
    struct param_set set = source->set;
    const struct source_format *format = source->format ? source->format : ts_source_formats[0];
    if (!source->format && !ts_load_begin(&load, format->params, format->n_params, format->params_bytes, "input",
                                          (struct ts_span){0}, &set))
        return TS_RUN_FAILED;
    load.path = format->name;
    if (ts_load_value(&load, &value, &set, (size_t)ts_chain_path_row(format))) {
        source->format = format;
        source->set = set;
    }
    return status_since(diag, count, errors);
}

enum ts_status ts_chain_set_output(struct ts_chain *chain, const char *path, struct ts_diag *diag)
{
    if (!*path)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "path-empty", .stage = "output"},
                             "the path is empty");
    const char *copy = ts_arena_text(chain->arena, path, strlen(path));
    if (!copy)
        return ts_diag_no_memory(diag, strlen(path));
    chain->output.path = copy;
    chain->output.span = (struct ts_span){0};
    return TS_OK;
}

/* What an assignment "target.parameter=value" is about. */
struct assignment {
    struct tree tree;
    size_t target_length, parameter_start, parameter_length, value_start;
    struct param_set *set;
    const char *path; /* of a source: the row of its paths */
    int32_t stage;    /* -1: a source */
};

static enum ts_status refuse(const struct assignment *at, size_t start, size_t length, const char *code,
                             const char *message)
{
    return ts_diag_error(at->tree.diag, TS_BAD_CHAIN,
                         &(struct diag_site){.code = code, .span = ts_tree_span(&at->tree, start, length)}, "%s",
                         message);
}

static enum ts_status split_assignment(struct assignment *at)
{
    const char *text = at->tree.text;
    const char *equals = strchr(text, '=');
    const char *dot = equals ? memrchr(text, '.', (size_t)(equals - text)) : NULL;
    if (!dot || dot == text || dot + 1 == equals) {
        refuse(at, 0, at->tree.length, "assignment-syntax", "STAGE.PARAMETER=VALUE is expected");
        ts_diag_hint(at->tree.diag, "box.radius=3, of a second box box#2.radius=3, of the input input.series=2");
        return TS_BAD_CHAIN;
    }
    at->target_length = (size_t)(dot - text);
    at->parameter_start = at->target_length + 1;
    at->parameter_length = (size_t)(equals - dot) - 1;
    at->value_start = (size_t)(equals - text) + 1;
    return TS_OK;
}

/* The source or stage that the assignment names: "input", "box", "box#2". */
static enum ts_status find_target(struct ts_chain *chain, struct assignment *at)
{
    char name[128];
    const char *text = at->tree.text;
    struct ts_diag *diag = at->tree.diag;
    const char *hash = memchr(text, '#', at->target_length);
    const size_t length = hash ? (size_t)(hash - text) : at->target_length;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
    char number_text[24] = "";
    int64_t number = 0;
    if (hash)
        snprintf(number_text, sizeof number_text, "%.*s", (int)(at->target_length - length - 1), hash + 1);
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
    const struct ts_span span = {1, 1, (int32_t)at->target_length};
    const struct diag_site site = {.code = "assignment-target", .span = span};
    const struct node target = {.kind = NODE_SCALAR, .span = span, .text = name};
    if (found == 0)
        ts_load_unknown(diag, &target, NULL, "stage", names, n);
    else if (!hash && found > 1)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "the chain has %d stages '%s'; say which one: %s#1 to %s#%d", found,
                      name, name, name, found);
    else if (!at->set)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "the chain has %d stage%s '%s', no number '%s'", found,
                      found == 1 ? "" : "s", name, number_text);
    else
        return TS_OK;
    return TS_BAD_CHAIN;
}

static enum ts_status assign(struct ts_chain *chain, struct assignment *at)
{
    struct ts_diag *diag = at->tree.diag;
    const char *key = ts_arena_text(at->tree.arena, at->tree.text + at->parameter_start, at->parameter_length);
    if (!key)
        return ts_diag_no_memory(diag, at->parameter_length);
    size_t row;
    if (!ts_param_find(at->set->rows, at->set->n_rows, key, &row)) {
        const char *names[PARAMS_MAX];
        for (size_t i = 0; i < at->set->n_rows; i++)
            names[i] = at->set->rows[i].name;
        const struct node node = {.kind = NODE_SCALAR,
                                  .span = ts_tree_span(&at->tree, at->parameter_start, at->parameter_length),
                                  .text = key};
        ts_load_unknown(diag, &node, at->set->owner, "parameter", names, at->set->n_rows);
        return TS_BAD_CHAIN;
    }
    const struct node *value = ts_oneline_value(&at->tree, at->value_start);
    if (!value)
        return TS_BAD_CHAIN;
    const struct load load = {.arena = chain->arena, .diag = diag, .path = at->path};
    const struct param_set before = *at->set;
    struct ts_reference *reference = NULL, reference_before = {0};
    if (at->set->rows[row].kind == PARAM_REFERENCE) {
        reference = ts_param_field(at->set, row);
        reference_before = *reference;
    }
    if (!ts_load_value(&load, value, at->set, row))
        return TS_BAD_CHAIN;
    if (reference && !ts_chain_resolve_references(chain, at->stage, diag)) {
        *at->set = before;
        *reference = reference_before;
        return TS_BAD_CHAIN;
    }
    /* The value's place is in the assignment: no place in the chain's text. */
    at->set->spans[row] = (struct ts_span){0};
    return TS_OK;
}

enum ts_status ts_chain_set(struct ts_chain *chain, const char *assignment, struct ts_diag *diag)
{
    const size_t length = strlen(assignment), count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    struct assignment at = {.tree = {.diag = diag, .text = assignment, .length = length}, .stage = -1};
    at.tree.arena = ts_arena_create();
    char *name = NULL;
    if (!at.tree.arena || asprintf(&name, "--set %s", assignment) < 0) {
        ts_arena_destroy(at.tree.arena);
        return ts_diag_no_memory(diag, length);
    }
    ts_diag_set_source(diag, name, assignment, length);
    free(name);
    if (ts_tree_check_text(&at.tree) && split_assignment(&at) == TS_OK && find_target(chain, &at) == TS_OK)
        assign(chain, &at);
    ts_arena_destroy(at.tree.arena);
    return status_since(diag, count, errors);
}
