/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a chain out: every parameter in the order of its table, names and inputs, but no path.
 * Equal chains give equal texts. The text is itself a chain: its inputs are given by -i, or are in
 * folders of their own names beside it.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/chain/chain_build.h"

/* Returns true if a parameter is left out: its other parameters switch it off, a plan that was not
   made would derive it, or it is optional and not given. */
static bool is_silent(const struct param_set *set, size_t i)
{
    const struct param *param = &set->params[i];
    const void *at = ts_param_field(set, i);
    if (ts_param_is_idle(set, i))
        return true;
    if (set->given >> i & 1)
        return false;
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

/* Writes the value of parameter i of the set, or a different value of it that is at `at`. */
static bool write_value(FILE *out, const struct param_set *set, size_t i, const void *at)
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
    fputs(text, out);
    free(text);
    return true;
}

static bool write_sweep(FILE *out, const struct param_set *set, const struct chain_sweep *sweep)
{
    bool ok = true;
    fputs("{sweep: [", out);
    for (int64_t k = 0; ok && k < sweep->n; k++) {
        fputs(k > 0 ? ", " : "", out);
        ok = write_value(out, set, sweep->param,
                         ts_sweep_value(sweep, &set->params[sweep->param], k));
    }
    fputs("]}", out);
    return ok;
}

/* Writes the entries of a map between braces, with the owner's name in place of the path, which is
   in the parameter called `path`. `sweep` is the sweep of one of the parameters, or NULL. */
static bool write_params(FILE *out, const struct param_set *set, const struct chain_sweep *sweep,
                         const char *path, bool first)
{
    for (size_t i = 0; i < set->n_params; i++) {
        const char *name = set->params[i].name;
        const bool is_path = path && !strcmp(name, path);
        if (!is_path && is_silent(set, i))
            continue;
        fprintf(out, "%s%s: ", first ? "" : ", ", name);
        first = false;
        if (is_path)
            fputs(set->owner, out);
        else if (sweep && sweep->param == i ? !write_sweep(out, set, sweep)
                                            : !write_value(out, set, i, NULL))
            return false;
    }
    return true;
}

static bool write_source(FILE *out, const struct chain_source *source)
{
    fprintf(out, "%s: {", source->name);
    const bool ok = write_params(out, &source->set, NULL, source->format->name, true);
    fputs("}\n", out);
    return ok;
}

/* Returns the name of a node. A node that is an input other than by default always has one. */
static const char *node_name(const struct ts_chain *chain, int32_t node)
{
    return node < chain->n_sources ? chain->sources[node].name
                                   : chain->stages[node - chain->n_sources].name;
}

static bool write_stage(FILE *out, const struct ts_chain *chain, int32_t index)
{
    const struct chain_stage *stage = &chain->stages[index];
    const int32_t before = index == 0 ? 0 : chain->n_sources + index - 1;
    const bool swept = chain->sweep.n > 0 && chain->sweep.stage == index;
    bool first = true;
    fprintf(out, "  - %s: {", stage->stage->name);
    if (stage->name) {
        fprintf(out, "name: %s", stage->name);
        first = false;
    }
    if (stage->input_node != before) {
        fprintf(out, "%sinput: %s", first ? "" : ", ", node_name(chain, stage->input_node));
        first = false;
    }
    const bool ok = write_params(out, &stage->set, swept ? &chain->sweep : NULL, NULL, first);
    fputs("}\n", out);
    return ok;
}

/* Leaves out the output's paths, and every parameter that has its default. */
static bool write_output(FILE *out, const struct ts_chain *chain)
{
    struct chain_output output = chain->output;
    struct param_set set = {.params = ts_chain_output_params,
                            .n_params = CHAIN_OUTPUT_PARAMS,
                            .values = &output,
                            .owner = "output"};
    for (size_t i = 0; i < set.n_params; i++)
        if (set.params[i].kind == PARAM_CHOICE
                ? *(int32_t *)ts_param_field(&set, i) == set.params[i].init.choice
                : is_silent(&set, i))
            set.idle |= 1u << i;
    if (set.idle == (1u << set.n_params) - 1)
        return true;
    fputs("output: {", out);
    const bool ok = write_params(out, &set, NULL, NULL, true);
    fputs("}\n", out);
    return ok;
}

char *ts_chain_canonical(const struct ts_chain *chain)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    bool ok = true;
    fprintf(out, "tomostage: %d\n", chain->version);
    if (chain->sources[0].format)
        ok = write_source(out, &chain->sources[0]);
    if (chain->n_sources > 1)
        fputs("inputs:\n", out);
    for (int32_t i = 1; i < chain->n_sources && ok; i++) {
        fputs("  ", out);
        ok = write_source(out, &chain->sources[i]);
    }
    fputs("stages:\n", out);
    for (int32_t i = 0; i < chain->n_stages && ok; i++)
        ok = write_stage(out, chain, i);
    ok = ok && write_output(out, chain);
    ok &= !ferror(out);
    ok &= fclose(out) == 0;
    if (ok)
        return text;
    free(text);
    return NULL;
}
