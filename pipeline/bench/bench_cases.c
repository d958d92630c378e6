/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists the cases of a benchmark: the parameters that a stage's table gives as a hint, or values that fit its
 * required parameters; and texts of parameters as values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/bench/bench.h"

static const char every_method[] = "method=*";

/* Adds a case of the first `length` characters, or one for each method where method=* is among them. False where one is
 * too long. */
static bool add_cases(const struct stage *stage, const char *text, size_t length, char parameters[BENCH_MAX_CASES][256],
                      int *count)
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
    for (const struct choice *choice = param->choices; choice->name && *count < BENCH_MAX_CASES; choice++)
        if (strcmp(choice->name, "auto") &&
            snprintf(parameters[(*count)++], 256, "%.*smethod=%s%.*s", (int)(star - text), text, choice->name,
                     (int)(text + length - after), after) >= 256)
            return false;
    return true;
}

int ts_bench_split_cases(const struct stage *stage, const char *cases, char parameters[BENCH_MAX_CASES][256])
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
    for (const struct choice *choice = param->choices; choice->name && count < BENCH_MAX_CASES; choice++) {
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

/* The cases of a stage without a hint: every method, and for each required parameter a value that it can have without
 * knowing the stage, which is its first choice, or 1. */
static void work_out(const struct stage *stage, char cases[256])
{
    size_t length = 0;
    cases[0] = '\0';
    for (size_t i = 0; i < stage->n_params && length < 256; i++) {
        const struct param *param = &stage->params[i];
        const bool is_choice = param->kind == PARAM_CHOICE, is_method = is_choice && !strcmp(param->name, "method");
        const double one = param->min < param->max ? fmin(fmax(1, param->min), param->max) : 1;
        char value[64];
        if (!param->required && !is_method)
            continue;
        if (is_choice)
            snprintf(value, sizeof value, "%s", is_method ? "*" : param->choices->name);
        else
            snprintf(value, sizeof value, "%.15g", one);
        length += (size_t)snprintf(cases + length, 256 - length, "%s%s=%s", length ? " " : "", param->name, value);
    }
}

int ts_bench_parameters(const struct stage *stage, char parameters[BENCH_MAX_CASES][256])
{
    char cases[256];
    work_out(stage, cases);
    return add_methods(stage, parameters, ts_bench_split_cases(stage, stage->bench ? stage->bench : cases, parameters));
}

/* "0,4096": the list lasts until ts_bench_params_clear. */
static bool parse_numbers(const char *text, struct ts_numbers *numbers)
{
    double *values = malloc((strlen(text) / 2 + 1) * sizeof *values);
    int64_t n = 0;
    bool valid = values != NULL;
    for (char *end = ""; valid && *text; text = *end ? end + 1 : end) {
        values[n++] = strtod(text, &end);
        valid = end != text && (!*end || (*end == ',' && end[1]));
    }
    valid = valid && n > 0;
    if (!valid)
        free(values);
    else
        *numbers = (struct ts_numbers){.values = values, .rows = 1, .columns = n};
    return valid;
}

void ts_bench_params_clear(struct param_set *set)
{
    for (size_t i = 0; set->values && i < set->n_params; i++)
        if (set->params[i].kind == PARAM_NUMBERS && (set->given >> i & 1)) {
            const void *values = ((struct ts_numbers *)((char *)set->values + set->params[i].offset))->values;
            free((void *)(uintptr_t)values);
        }
    free(set->values);
    set->values = NULL;
}

static enum ts_status assign(struct param_set *set, const char *name, const char *value, struct ts_diag *diag)
{
    size_t i;
    char *end = "";
    const struct param *param = ts_param_find(set->params, set->n_params, name, &i);
    if (!param)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-parameter", .stage = set->owner},
                             "unknown parameter '%s'", name);
    void *at = (unsigned char *)set->values + param->offset;
    bool known = true;
    if (param->kind == PARAM_INTEGER) {
        *(int64_t *)at = strtoll(value, &end, 10);
    } else if (param->kind == PARAM_REAL) {
        *(double *)at = strtod(value, &end);
    } else if (param->kind == PARAM_CHOICE) {
        const struct choice *choice = param->choices;
        while (choice->name && strcmp(choice->name, value))
            choice++;
        known = choice->name != NULL;
        *(int32_t *)at = known ? choice->value : 0;
    } else if (param->kind == PARAM_REFERENCE) {
        known = !strcmp(value, BENCH_ITSELF);
        *(struct ts_reference *)at = (struct ts_reference){.name = BENCH_ITSELF};
    } else if (param->kind == PARAM_NUMBERS && !(set->given >> i & 1)) {
        known = parse_numbers(value, at);
    } else {
        known = false;
    }
    if (!known || *end || !*value)
        return ts_param_error(set, name, "bad-value", diag, "'%s' is not a value that the benchmark can set", value);
    set->given |= 1u << i;
    return ts_param_check(set, i, diag);
}

enum ts_status ts_bench_assign(struct param_set *set, const char *parameters, struct ts_diag *diag)
{
    char copy[256], *save = NULL;
    if (snprintf(copy, sizeof copy, "%s", parameters) >= (int)sizeof copy)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "parameters-too-long"},
                             "the parameters have more than %zu characters", sizeof copy - 1);
    ts_params_init(set);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        if (!strncmp(word, BENCH_SCAN, strlen(BENCH_SCAN))) /* of the image */
            continue;
        if (!equals)
            return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "bad-value", .stage = set->owner},
                                 "'%s' is not of the form parameter=value", word);
        *equals = '\0';
        const enum ts_status status = assign(set, word, equals + 1, diag);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}
