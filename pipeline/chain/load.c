/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads maps of parameters: this finds the parameter of each key, and reports unknown keys and missing ones.
 * load_value.c loads the values. A key that is nearly a name is reported once, with the name that was likely meant.
 */
#include "pipeline/chain/load.h"

#include <string.h>

#include "core/number.h"
#include "io/source/source.h"
#include "stages/engine/stage.h"

enum { MOST_ELSEWHERE = 3 };

bool ts_load_begin(const struct load *load, const struct param *params, size_t n_params, size_t bytes,
                   const char *owner, struct ts_span span, struct param_set *set)
{
    *set = (struct param_set){
        .params = params, .n_params = n_params, .owner = owner, .span = span, .version = load->version};
    set->values = ts_arena_alloc(load->arena, bytes + 1);
    if (!set->values) {
        ts_diag_no_memory(load->diag, bytes);
        return false;
    }
    ts_params_init(set);
    return true;
}

static bool is_other_key(const struct load *load, const char *key)
{
    for (size_t i = 0; i < load->n_other_keys; i++)
        if (!strcmp(load->other_keys[i], key))
            return true;
    return false;
}

/* These are the stages, or the formats of an input, that have the parameter, and the one whose parameters the set has.
 */
struct owners {
    const char *names[MOST_ELSEWHERE], *own;
    size_t n; /* more than MOST_ELSEWHERE where there are too many */
};

static void note_owner(struct owners *owners, const struct param_set *set, const char *param, const char *name,
                       const struct param *params, size_t n_params)
{
    size_t i;
    if (params == set->params)
        owners->own = name;
    if (ts_param_find(params, n_params, param, &i) && owners->n++ < MOST_ELSEWHERE)
        owners->names[owners->n - 1] = name;
}

/* Hints at the other stages, or at the other formats, that have a parameter of this name. */
static void hint_elsewhere(struct ts_diag *diag, const struct param_set *set, const char *param, const char *known)
{
    struct owners stages = {.n = 0}, formats = {.n = 0};
    char list[128];
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        note_owner(&stages, set, param, (*stage)->name, (*stage)->params, (*stage)->n_params);
    for (const struct source_format *const *format = ts_source_formats; *format; format++)
        note_owner(&formats, set, param, (*format)->name, (*format)->params, (*format)->n_params);
    const struct owners *owners = stages.own ? &stages : &formats;
    if (!owners->own || owners->n == 0 || owners->n > MOST_ELSEWHERE)
        return;
    ts_load_list_names(list, sizeof list, owners->names, owners->n);
    if (stages.own)
        ts_diag_hint(diag, "%s is a parameter of %s; known: %s", param, list, known);
    else
        ts_diag_hint(diag,
                     "%s is a parameter of %s, and this input is read as %s: the chain names the format, "
                     "input: {%s: PATH}; known: %s",
                     param, list, owners->own, owners->names[0], known);
}

const char *ts_load_unknown_param(struct ts_diag *diag, const char *name, struct ts_span span,
                                  const struct param_set *set, const char *const *other_keys, size_t n_other_keys)
{
    const char *names[PARAMS_MAX + 8];
    char known[512];
    size_t n = 0;
    for (size_t i = 0; i < set->n_params && i < PARAMS_MAX; i++)
        names[n++] = set->params[i].name;
    for (size_t i = 0; i < n_other_keys && n < sizeof names / sizeof *names; i++)
        names[n++] = other_keys[i];
    const char *nearest = ts_load_unknown(diag, name, span, set->owner, "parameter", names, n);
    ts_load_list_names(known, sizeof known, names, n);
    if (!nearest)
        hint_elsewhere(diag, set, name, known);
    return nearest;
}

/* Reports an unknown key. Returns the bit of the parameter that was likely meant, so that it is not reported as missing
 * as well. */
static uint32_t report_unknown(const struct load *load, const struct node *key, const struct param_set *set)
{
    const char *nearest =
        ts_load_unknown_param(load->diag, key->text, key->span, set, load->other_keys, load->n_other_keys);
    double number;
    size_t i;
    if (!ts_number_real(key->text, &number))
        ts_diag_hint(load->diag, "a list of numbers stands in brackets: [0, 1]");
    return nearest && ts_param_find(set->params, set->n_params, nearest, &i) ? UINT32_C(1) << i : 0;
}

bool ts_load_check_missing(struct ts_diag *diag, const struct param_set *set, uint32_t seen)
{
    const struct param *missing[PARAMS_MAX];
    const char *names[PARAMS_MAX];
    char list[512], hint[1024] = "";
    size_t n = 0, used = 0;
    for (size_t i = 0; i < set->n_params; i++)
        if (set->params[i].required && !(seen >> i & 1)) {
            missing[n] = &set->params[i];
            names[n++] = set->params[i].name;
        }
    if (n == 0)
        return true;
    for (size_t i = 0; i < n && used < sizeof hint; i++)
        used +=
            (size_t)snprintf(hint + used, sizeof hint - used, "%s%s: %s", i > 0 ? "; " : "", names[i], missing[i]->doc);
    ts_load_list_names(list, sizeof list, names, n);
    if (n == 1)
        ts_param_error(set, names[0], "parameter-missing", diag, "required, but not given");
    else
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "parameter-missing", .span = set->span, .stage = set->owner},
                      "%zu parameters are required, but not given: %s", n, list);
    ts_diag_hint(diag, "%s", hint);
    return false;
}

void ts_load_params(const struct load *load, const struct node *map, struct param_set *set)
{
    uint32_t seen = set->given; /* what stood elsewhere is not missing, and a value that was refused is not either */
    if (map->kind != NODE_MAP && !ts_load_is_nothing(map)) {
        ts_load_expected(load->diag, map, set->owner, "a map of parameters");
        const size_t key = map->kind == NODE_SCALAR ? strcspn(map->text, "=") : 0;
        if (key > 0 && map->text[key])
            ts_diag_hint(load->diag, "%s: {%.*s: %s}", set->owner, (int)key, map->text, map->text + key + 1);
        else if (map->kind != NODE_REFUSED)
            ts_diag_hint(load->diag, "%s: {PARAMETER: VALUE}; `tomostage stages %s` lists its parameters", set->owner,
                         set->owner);
        return;
    }
    for (const struct node *entry = map->first; entry; entry = entry->next) {
        size_t i;
        if (ts_param_find(set->params, set->n_params, entry->key->text, &i)) {
            seen |= UINT32_C(1) << i;
            ts_load_value(load, entry, set, i);
        } else if (!is_other_key(load, entry->key->text)) {
            seen |= report_unknown(load, entry->key, set);
        }
    }
    if (!map->incomplete)
        ts_load_check_missing(load->diag, set, seen);
}
