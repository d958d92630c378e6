/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists the cases of a benchmark: the parameters that a stage's table gives as a hint, or
 * values that fit its required parameters. The text of a case is read as a segment of a chain on
 * one line, so that a benchmark takes every value that a chain takes, and refuses the others in the
 * same words.
 */
#include <math.h>
#include <string.h>

#include "lab/bench/bench.h"
#include "pipeline/chain/load.h"
#include "pipeline/chain/oneline.h"

static const char every_method[] = "method=*";

/* Adds a case of the first `length` characters, or one for each method where method=* is among
 * them. False where one is too long. */
static bool add_cases(const struct stage *stage, const char *text, size_t length,
                      char parameters[BENCH_MAX_CASES][256], int *count)
{
    size_t i;
    const struct param *param = ts_param_find(stage->params, stage->n_params, "method", &i);
    const char *star = param && param->kind == PARAM_CHOICE ? strstr(text, every_method) : NULL;
    if (length >= 256)
        return false;
    if (!star || star >= text + length || (star > text && star[-1] != ' ')) {
        snprintf(parameters[(*count)++], 256, "%.*s", (int)length, text);
        return true;
    }
    const char *after = star + strlen(every_method);
    for (const struct choice *choice = param->choices; choice->name && *count < BENCH_MAX_CASES;
         choice++)
        if (strcmp(choice->name, "auto") &&
            snprintf(parameters[(*count)++], 256, "%.*smethod=%s%.*s", (int)(star - text), text,
                     choice->name, (int)(text + length - after), after) >= 256)
            return false;
    return true;
}

int ts_bench_split_cases(const struct stage *stage, const char *cases,
                         char parameters[BENCH_MAX_CASES][256])
{
    int count = 0;
    while (count < BENCH_MAX_CASES) {
        const size_t length = strcspn(cases, "|");
        if (!add_cases(stage, cases, length, parameters, &count))
            return 0;
        if (!cases[length])
            break;
        cases += length + 1;
    }
    return count;
}

/* Adds the first case once more with each method that no case names. */
static int add_methods(const struct stage *stage, char parameters[BENCH_MAX_CASES][256], int count)
{
    size_t i;
    const struct param *param = ts_param_find(stage->params, stage->n_params, "method", &i);
    if (!param || param->kind != PARAM_CHOICE || strstr(parameters[0], "method="))
        return count;
    const int given = count;
    char first[256];
    snprintf(first, sizeof first, "%.180s", parameters[0]);
    for (const struct choice *choice = param->choices; choice->name && count < BENCH_MAX_CASES;
         choice++) {
        char assignment[64];
        bool named = !strcmp(choice->name, "auto");
        snprintf(assignment, sizeof assignment, "method=%s", choice->name);
        for (int k = 0; k < given; k++)
            named |= strstr(parameters[k], assignment) != NULL;
        if (!named)
            snprintf(parameters[count++], 256, "%.180s%s%s", first, *first ? " " : "", assignment);
    }
    return count;
}

/* The cases of a stage without a hint: every method, and for each required parameter a value that
 * it can have without knowing the stage, which is its first choice, or 1. */
static void work_out(const struct stage *stage, char cases[256])
{
    size_t length = 0;
    cases[0] = '\0';
    for (size_t i = 0; i < stage->n_params && length < 256; i++) {
        const struct param *param = &stage->params[i];
        const bool is_choice = param->kind == PARAM_CHOICE,
                   is_method = is_choice && !strcmp(param->name, "method");
        const double one = param->min < param->max ? fmin(fmax(1, param->min), param->max) : 1;
        char value[64];
        if (!param->required && !is_method)
            continue;
        if (is_choice)
            snprintf(value, sizeof value, "%s", is_method ? "*" : param->choices->name);
        else
            snprintf(value, sizeof value, "%.15g", one);
        length += (size_t)snprintf(cases + length, 256 - length, "%s%s=%s", length ? " " : "",
                                   param->name, value);
    }
}

int ts_bench_parameters(const struct stage *stage, char parameters[BENCH_MAX_CASES][256])
{
    char cases[256];
    work_out(stage, cases);
    return add_methods(
        stage, parameters,
        ts_bench_split_cases(stage, stage->bench ? stage->bench : cases, parameters));
}

static void report_unknown(const struct load *load, const struct node *key,
                           const struct param_set *set)
{
    const char *names[PARAMS_MAX];
    for (size_t i = 0; i < set->n_params; i++)
        names[i] = set->params[i].name;
    ts_load_unknown(load->diag, key->text, key->span, set->owner, "parameter", names,
                    set->n_params);
}

/* Loads the entries of a map. `scan` belongs to the image of the case, and references can be that
 * image alone. */
static void load_entries(const struct load *load, const struct node *map, struct param_set *set)
{
    for (const struct node *entry = map->first; entry; entry = entry->next) {
        size_t i;
        const struct param *param = ts_param_find(set->params, set->n_params, entry->key->text, &i);
        if (!param && strcmp(entry->key->text, "scan"))
            report_unknown(load, entry->key, set);
        if (!param || !ts_load_value(load, entry, set, i) || param->kind != PARAM_REFERENCE)
            continue;
        const struct ts_reference *reference = ts_param_field(set, i);
        if (strcmp(reference->name, BENCH_ITSELF))
            ts_param_error(set, param->name, "bad-value", load->diag,
                           "a benchmark knows no other image than '%s'", BENCH_ITSELF);
    }
}

enum ts_status ts_bench_load(struct param_set *set, const struct bench_case *which,
                             struct arena *arena, struct ts_diag *diag)
{
    const struct stage *stage = which->stage;
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    const struct load load = {.arena = arena, .diag = diag};
    const char *text = ts_arena_printf(arena, "%s %s", stage->name, which->parameters);
    if (!text)
        return ts_diag_no_memory(diag, sizeof which->parameters);
    struct tree tree = {.arena = arena, .diag = diag, .text = text, .length = strlen(text)};
    ts_diag_set_source(diag, "the benchmark's case", text, tree.length);
    if (ts_load_begin(&load, stage->params, stage->n_params, stage->params_bytes, stage->name,
                      (struct ts_span){0}, set) &&
        ts_oneline_read(&tree))
        load_entries(&load, ts_tree_find(tree.root, "stages")->first->first, set);
    return ts_diag_status_since(diag, count, errors);
}

struct bench_case ts_bench_ct_case(enum ts_dtype dtype, size_t bytes)
{
    struct bench_case which = {.dtype = dtype, .values = BENCH_CT, .ny = 512, .nx = 512};
    which.nz = (int64_t)(bytes / (512 * 512 * ts_dtype_bytes(dtype)));
    for (const struct stage *const *stage = ts_stages; *stage && !which.stage; stage++)
        if ((*stage)->axes & AXES_VOLUME && (*stage)->dtypes & TS_DTYPE_BIT(dtype))
            which.stage = *stage; /* any that takes volumes: the image is described for it */
    return which;
}
