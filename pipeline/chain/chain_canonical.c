/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a chain out, in one of two ways, both of which give a chain again. For the record every
 * parameter is written in the order of its table, names and inputs, but no path: equal chains give
 * equal texts, whose inputs are given by -i, or are in folders of their own names beside it. For
 * people what they gave is written, paths included, as YAML or on one line.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage_array.h"
#include "pipeline/chain/chain_build.h"

struct writing {
    FILE *out;
    bool given;    /* only what the chain's text or an assignment gave, with its paths */
    bool one_line; /* in place of YAML */
    bool first;    /* the next parameter is the first of its owner */
    bool unfit;    /* one line cannot hold the chain */
};

/* Returns true if a parameter is left out: its other parameters switch it off, a plan that was not
   made would derive it, or it is optional and not given. */
static bool is_silent(const struct writing *to, const struct param_set *set, size_t i)
{
    const struct param *param = &set->params[i];
    const void *at = ts_param_field(set, i);
    if (!to->given && ts_param_is_idle(set, i))
        return true;
    if (to->given || set->given >> i & 1)
        return !(set->given >> i & 1);
    if (param->derived && !set->resolved)
        return true;
    switch (param->kind) {
    case PARAM_TEXT:
        return param->optional && !*(const char *const *)at;
    case PARAM_TEXTS:
        return ((const struct ts_texts *)at)->n == 0;
    case PARAM_NUMBERS:
        return ((const struct ts_numbers *)at)->rows == 0;
    case PARAM_REFERENCE:
        return !((const struct ts_reference *)at)->name;
    case PARAM_INTEGER:
    case PARAM_REAL:
    case PARAM_CHOICE:
    case PARAM_BOOL:
        return false;
    }
    return false;
}

/* Writes what comes before the value of a parameter, or before a stage's `name` or `input`. */
static void write_key(struct writing *to, const char *name)
{
    if (to->one_line)
        fprintf(to->out, " %s=", name);
    else
        fprintf(to->out, "%s%s: ", to->first ? "" : ", ", name);
    to->first = false;
}

/* Writes the value of parameter i of the set, or a different value of it that is at `at`. A line
   has no escapes for control characters. */
static bool write_value(struct writing *to, const struct param_set *set, size_t i, const void *at)
{
    const int length =
        at ? ts_param_format_value(&set->params[i], at, NULL, 0) : ts_param_format(set, i, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!text)
        return false;
    if (at)
        ts_param_format_value(&set->params[i], at, text, (size_t)length + 1);
    else
        ts_param_format(set, i, text, (size_t)length + 1);
    for (const char *c = text; (c = strchr(c, '\\')); c += 2)
        to->unfit |= to->one_line && c[1] == 'x';
    fputs(text, to->out);
    free(text);
    return true;
}

static bool write_sweep(struct writing *to, const struct param_set *set,
                        const struct chain_sweep *sweep)
{
    bool ok = true;
    fputs("{sweep: [", to->out);
    for (int64_t k = 0; ok && k < sweep->n; k++) {
        fputs(k > 0 ? ", " : "", to->out);
        ok = write_value(to, set, sweep->param,
                         ts_sweep_value(sweep, &set->params[sweep->param], k));
    }
    fputs("]}", to->out);
    return ok;
}

/* Writes a path of one line or of YAML, without quotes if neither needs them. */
static bool write_path(struct writing *to, const char *path)
{
    const struct node word = {.kind = NODE_SCALAR, .text = path};
    bool plain = (isalpha((unsigned char)*path) || *path == '/' || *path == '.') &&
                 !ts_tree_is_nothing(&word);
    for (const char *c = path; *c; c++)
        plain &= isalnum((unsigned char)*c) || strchr("_./-+", *c);
    const struct param text = {.kind = PARAM_TEXT};
    const struct param_set set = {.params = &text, .n_params = 1};
    if (!plain)
        return write_value(to, &set, 0, &path);
    fputs(path, to->out);
    return true;
}

/* Writes the paths of a source. Several are a list. */
static bool write_paths(struct writing *to, const struct param_set *set, size_t i)
{
    const struct ts_texts *texts = ts_param_field(set, i);
    const bool several = set->params[i].kind == PARAM_TEXTS;
    if (several && texts->n != 1)
        return write_value(to, set, i, NULL);
    return write_path(to, several ? texts->items[0] : *(const char *const *)ts_param_field(set, i));
}

/* Writes the parameters of an owner but `path`, the index of its paths. `sweep` is the sweep of one
   of the parameters, or NULL. */
static bool write_params(struct writing *to, const struct param_set *set,
                         const struct chain_sweep *sweep, size_t path)
{
    for (size_t i = 0; i < set->n_params; i++) {
        if (i == path || is_silent(to, set, i))
            continue;
        write_key(to, set->params[i].name);
        if (sweep && sweep->param == i ? !write_sweep(to, set, sweep)
                                       : !write_value(to, set, i, NULL))
            return false;
    }
    return true;
}

enum { NO_PATH = -1 };

/* Writes the format of a source, its paths or, for the record, its name, and its parameters. */
static bool write_source(struct writing *to, const struct chain_source *source)
{
    const struct param_set *set = &source->set;
    const size_t path = (size_t)ts_chain_path_param(source->format);
    to->first = false;
    fprintf(to->out, to->one_line ? "%s " : "{%s: ", source->format->name);
    if (!to->given)
        fputs(set->owner, to->out);
    else if (!write_paths(to, set, path))
        return false;
    if (!write_params(to, set, NULL, path))
        return false;
    fputs(to->one_line ? "" : "}\n", to->out);
    return true;
}

/* Returns the name of a node. One that is an input other than by default has one in every chain
 * that is given; of the copies that a plan makes for a sweep it is NULL. */
static const char *node_name(const struct ts_chain *chain, int32_t node)
{
    return node < chain->n_sources ? chain->sources[node].name
                                   : chain->stages[node - chain->n_sources].name;
}

static bool write_stage(struct writing *to, const struct ts_chain *chain, int32_t index)
{
    const struct chain_stage *stage = &chain->stages[index];
    const int32_t before = index == 0 ? 0 : chain->n_sources + index - 1;
    const bool swept = chain->sweep.n > 0 && chain->sweep.stage == index;
    to->first = true;
    fprintf(to->out, to->one_line ? "%s" : "  - %s: {", stage->stage->name);
    if (stage->name) {
        write_key(to, "name");
        fputs(stage->name, to->out);
    }
    if (stage->input_node != before) {
        write_key(to, "input");
        const char *name = node_name(chain, stage->input_node);
        if (name)
            fputs(name, to->out);
        else
            fprintf(to->out, "%d", (int)stage->input_node);
    }
    const bool ok = write_params(to, &stage->set, swept ? &chain->sweep : NULL, (size_t)NO_PATH);
    fputs(to->one_line ? "" : "}\n", to->out);
    return ok;
}

/* Writes the format of an output and its path. */
static bool write_sink(struct writing *to, const char *format, const char *path)
{
    if (to->one_line)
        fprintf(to->out, "%s%s ", to->first ? "" : " | ", format);
    else
        fprintf(to->out, "%s%s: ", to->first ? "" : ", ", format);
    to->first = false;
    return write_path(to, path);
}

/* Leaves out every parameter that has its default and, for the record, the paths. */
static bool write_output(struct writing *to, const struct ts_chain *chain)
{
    struct chain_output output = chain->output;
    struct param_set set = {.params = ts_chain_output_params,
                            .n_params = CHAIN_OUTPUT_PARAMS,
                            .values = &output,
                            .owner = "output"};
    const struct writing record = {.given = false};
    for (size_t i = 0; i < set.n_params; i++)
        if (set.params[i].kind == PARAM_CHOICE
                ? *(int32_t *)ts_param_field(&set, i) != set.params[i].init.choice
                : !is_silent(&record, &set, i))
            set.given |= 1u << i;
    const bool paths = to->given && (output.path || output.n_sinks > 0);
    to->unfit |= to->one_line && set.given && !paths;
    if (!set.given && !paths)
        return true;
    fputs(to->one_line ? " | " : "output: {", to->out);
    to->first = true;
    bool ok = !paths || !output.path || write_sink(to, "hdf5", output.path);
    for (int32_t i = 0; ok && paths && i < output.n_sinks; i++)
        ok = write_sink(to, output.sinks[i].format->name, output.sinks[i].path);
    set.idle = ~set.given & ((1u << set.n_params) - 1);
    ok = ok && write_params(to, &set, NULL, (size_t)NO_PATH);
    fputs(to->one_line ? "" : "}\n", to->out);
    return ok;
}

static bool write_yaml(struct writing *to, const struct ts_chain *chain)
{
    bool ok = true;
    fprintf(to->out, "tomostage: %d\n", chain->version);
    for (int32_t i = 0; ok && i < chain->n_sources; i++) {
        if (i == 1)
            fputs("inputs:\n", to->out);
        if (!chain->sources[i].format)
            continue;
        fprintf(to->out, "%s%s: ", i > 0 ? "  " : "", chain->sources[i].name);
        ok = write_source(to, &chain->sources[i]);
    }
    fputs("stages:\n", to->out);
    for (int32_t i = 0; ok && i < chain->n_stages; i++)
        ok = write_stage(to, chain, i);
    return ok && write_output(to, chain);
}

static bool write_line(struct writing *to, const struct ts_chain *chain)
{
    bool ok = true;
    const char *bar = "";
    to->unfit = chain->version != CHAIN_VERSION;
    for (int32_t i = 0; ok && i < chain->n_sources; i++) {
        if (!chain->sources[i].format)
            continue;
        fputs(bar, to->out);
        if (i > 0)
            fprintf(to->out, "input %s ", chain->sources[i].name);
        ok = write_source(to, &chain->sources[i]);
        bar = " | ";
    }
    for (int32_t i = 0; ok && i < chain->n_stages; i++) {
        fputs(bar, to->out);
        ok = write_stage(to, chain, i);
        bar = " | ";
    }
    return ok && write_output(to, chain) && !to->unfit;
}

/* Returns the text in memory, which the caller frees; NULL if memory is out or a line cannot hold
   it. */
static char *write_chain(const struct ts_chain *chain, struct writing to, size_t *length)
{
    char *text = NULL;
    to.out = open_memstream(&text, length);
    if (!to.out)
        return NULL;
    bool ok = to.one_line ? write_line(&to, chain) : write_yaml(&to, chain);
    ok &= !ferror(to.out);
    ok &= fclose(to.out) == 0;
    if (ok)
        return text;
    free(text);
    return NULL;
}

char *ts_chain_canonical(const struct ts_chain *chain)
{
    size_t length;
    return write_chain(chain, (struct writing){0}, &length);
}

size_t ts_chain_text(const struct ts_chain *chain, bool one_line, char *text, size_t size)
{
    size_t length = 0;
    const struct writing writing = {.given = true, .one_line = one_line};
    char *written = chain ? write_chain(chain, writing, &length) : NULL;
    if (text && size > 0)
        snprintf(text, size, "%s", written ? written : "");
    free(written);
    return written ? length : 0;
}
