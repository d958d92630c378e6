/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads maps of parameters: this finds the parameter of each key, and reports unknown keys and missing ones.
 * load_value.c loads the values. A key that is nearly a name is reported once, with the name that was likely meant.
 */
#include "pipeline/chain/load.h"

#include <string.h>

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

/* Lists the other stages that have a parameter of this name. Returns false if there are none or too many, or if the
 * parameters are no stage's. */
static bool list_elsewhere(const struct param_set *set, const char *name, char *out, size_t size)
{
    const char *names[MOST_ELSEWHERE];
    size_t n = 0, i;
    bool is_stage = false;
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        is_stage |= (*stage)->params == set->params;
        if (!ts_param_find((*stage)->params, (*stage)->n_params, name, &i))
            continue;
        if (n == MOST_ELSEWHERE)
            return false;
        names[n++] = (*stage)->name;
    }
    if (is_stage && n > 0)
        ts_load_list_names(out, size, names, n);
    return is_stage && n > 0;
}

/* Reports an unknown key. Returns the bit of the parameter that was likely meant, so that it is not reported as missing
 * as well. */
static uint32_t report_unknown(const struct load *load, const struct node *key, const struct param_set *set)
{
    const char *names[PARAMS_MAX + 8];
    size_t n = 0;
    for (size_t i = 0; i < set->n_params && i < PARAMS_MAX; i++)
        names[n++] = set->params[i].name;
    for (size_t i = 0; i < load->n_other_keys && n < sizeof names / sizeof *names; i++)
        names[n++] = load->other_keys[i];
    const char *nearest = ts_load_unknown(load->diag, key->text, key->span, set->owner, "parameter", names, n);
    char elsewhere[128], known[512];
    size_t i;
    if (!nearest && list_elsewhere(set, key->text, elsewhere, sizeof elsewhere)) {
        ts_load_list_names(known, sizeof known, names, n);
        ts_diag_hint(load->diag, "%s is a parameter of %s; known: %s", key->text, elsewhere, known);
    }
    return nearest && ts_param_find(set->params, set->n_params, nearest, &i) ? UINT32_C(1) << i : 0;
}

void ts_load_params(const struct load *load, const struct node *map, struct param_set *set)
{
    uint32_t seen = 0; /* a value that was refused is not missing as well */
    if (map->kind != NODE_MAP && !ts_load_is_nothing(map)) {
        ts_load_expected(load->diag, map, set->owner, "a map of parameters");
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
    for (size_t i = 0; i < set->n_params; i++)
        if (set->params[i].required && !map->incomplete && !(seen >> i & 1)) {
            const struct param *param = &set->params[i];
            ts_param_error(set, param->name, "parameter-missing", load->diag, "required, but not given");
            ts_diag_hint(load->diag, "%s: %s", param->name, param->doc);
        }
}
