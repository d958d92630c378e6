/* SPDX-License-Identifier: Apache-2.0
 *
 * A sweep, {sweep: [1, 2, 4]} or {from: 0, to: 10, step: 2}, stands in place of a value. Each value is loaded as if it
 * stood there alone, so that it meets the same checks and messages. Steps become decimal texts of 12 digits first:
 * 0.1 + 2 * 0.1 is then 0.3, the number that a user would write.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "pipeline/chain/load.h"
#include "stages/engine/stage.h"

enum { SWEEP_MAX = 256 };

/* Why a map has no values to sweep over. */
enum { NO_SWEEP, NO_STEP, WRONG_WAY };
static const char *const no_values[] = {[NO_SWEEP] = "this is no value, and no list or range of values to sweep over",
                                        [NO_STEP] = "the step of a range cannot be 0",
                                        [WRONG_WAY] = "the step of the range leads away from `to`"};

const void *ts_sweep_value(const struct chain_sweep *sweep, const struct param *param, int64_t k)
{
    return (const unsigned char *)sweep->values + (size_t)k * ts_param_bytes(param->kind);
}

static bool is_number(enum param_kind kind, const void *at, double *number)
{
    const struct ts_numbers *list = at;
    if (kind == PARAM_NUMBERS && list->rows * list->columns == 1)
        *number = list->values[0];
    else if (kind == PARAM_INTEGER || kind == PARAM_REAL)
        *number = kind == PARAM_REAL ? *(const double *)at : (double)*(const int64_t *)at;
    else
        return false;
    return true;
}

bool ts_sweep_number(const struct chain_sweep *sweep, const struct param *param, int64_t k, double *number)
{
    double other;
    for (int64_t i = 0; i < sweep->n; i++)
        if (!is_number(param->kind, ts_sweep_value(sweep, param, i), i == k ? number : &other))
            return false;
    return true;
}

void ts_sweep_text(const struct chain_sweep *sweep, const struct param *param, int64_t k, char *out, size_t size)
{
    double number;
    if (param->kind == PARAM_NUMBERS && ts_sweep_number(sweep, param, k, &number))
        ts_real_format(number, out, size);
    else
        ts_param_format_value(param, ts_sweep_value(sweep, param, k), out, size);
}

void ts_sweep_named(const struct chain_sweep *sweep, const struct param *param, int64_t k, char *out, size_t size)
{
    const bool has_unit = param->unit && *param->unit && strcmp(param->unit, "value") != 0;
    char value[64];
    ts_sweep_text(sweep, param, k, value, sizeof value);
    snprintf(out, size, "%s %s%s%s", param->name, value, has_unit ? " " : "", has_unit ? param->unit : "");
}

static bool refuse(const struct load *load, const struct param_set *set, size_t i, const char *code,
                   const char *message)
{
    ts_param_error(set, set->params[i].name, code, load->diag, "%s", message);
    if (!strcmp(code, "sweep-form"))
        ts_diag_hint(load->diag, "{sweep 1 2 4} or {from 0 to 10 step 2} on one line; {sweep: [1, 2, 4]} in YAML");
    return false;
}

static bool read_number(const struct node *map, const char *key, double *value)
{
    const struct node *node = ts_tree_find(map, key);
    return node && node->kind == NODE_SCALAR && !node->quoted && !ts_number_real(node->text, value) && isfinite(*value);
}

/* Makes the nodes of from, from + step, ... up to `to`, which is met where it lies a rounding error beyond. Returns how
 * many there are, or more than SWEEP_MAX; where there are none, an index of no_values with the other sign. */
static int64_t make_steps(const struct load *load, const struct node *map, struct node **items)
{
    double from, to, step;
    if (map->n != 3 || !read_number(map, "from", &from) || !read_number(map, "to", &to) ||
        !read_number(map, "step", &step))
        return -NO_SWEEP;
    if (step == 0 || (to - from) / step < 0)
        return step == 0 ? -NO_STEP : -WRONG_WAY;
    const double count = floor((to - from) / step + 1e-9) + 1;
    if (!(count <= SWEEP_MAX))
        return SWEEP_MAX + 1;
    const int64_t n = (int64_t)count;
    *items = ts_arena_alloc(load->arena, (size_t)n * sizeof **items);
    for (int64_t k = 0; *items && k < n; k++) {
        const char *text = ts_arena_printf(load->arena, "%.12g", from + (double)k * step);
        if (!text)
            *items = NULL;
        else
            (*items)[k] = (struct node){
                .kind = NODE_SCALAR, .span = map->span, .text = text, .next = k + 1 < n ? &(*items)[k + 1] : NULL};
    }
    if (!*items)
        ts_diag_no_memory(load->diag, (size_t)n * sizeof **items);
    return n;
}

/* Finds the values of either form. Returns how many there are, 0 where it has none (reported). */
static int64_t find_items(const struct load *load, const struct node *map, const struct param_set *set, size_t i,
                          const struct node **items)
{
    const struct node *list = ts_tree_find(map, "sweep");
    struct node *steps = NULL;
    const bool is_list = list && map->n == 1 && list->kind == NODE_LIST;
    const int64_t n = is_list ? list->n : list ? 0 : make_steps(load, map, &steps);
    *items = is_list ? list->first : steps;
    if (n <= 0)
        refuse(load, set, i, "sweep-form", no_values[-n]);
    else if (n > SWEEP_MAX)
        refuse(load, set, i, "sweep-limit", "a sweep has at most 256 values");
    return n > 0 && n <= SWEEP_MAX && *items ? n : 0;
}

bool ts_load_is_sweep(const struct node *map)
{
    static const char *const keys[] = {"sweep", "from", "to", "step"};
    bool is = map->incomplete;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        is |= ts_tree_find(map, keys[i]) != NULL;
    return is;
}

bool ts_load_sweep(const struct load *load, const struct node *map, struct param_set *set, size_t i)
{
    const size_t bytes = ts_param_bytes(set->params[i].kind);
    const struct node *item;
    struct load single = *load;
    single.sweep = NULL;
    if (map->incomplete)
        return false;
    if (load->sweep->n > 0)
        return refuse(load, set, i, "sweep-several",
                      "the chain sweeps over another parameter, and one sweep is allowed");
    if (set->params[i].kind == PARAM_REFERENCE)
        return refuse(load, set, i, "sweep-form", "a reference to an image cannot be swept over");
    const int64_t n = find_items(load, map, set, i, &item);
    unsigned char *values = n > 0 ? ts_arena_alloc(load->arena, (size_t)n * bytes) : NULL;
    if (n > 0 && !values)
        ts_diag_no_memory(load->diag, (size_t)n * bytes);
    if (!values)
        return false;
    bool ok = true;
    for (int64_t k = 0; k < n; k++, item = item->next) {
        ok &= ts_load_value(&single, item, set, i);
        if (set->in_mm >> i & 1) {
            set->in_mm &= ~(UINT32_C(1) << i);
            ok = refuse(load, set, i, "unit-unknown", "values of a sweep are not converted from mm to pixels");
            ts_diag_hint(load->diag, "give %s in pixels", set->params[i].name);
        }
        memcpy(values + (size_t)k * bytes, ts_param_field(set, i), bytes);
    }
    if (!ok)
        return false;
    memcpy(ts_param_field(set, i), values, bytes);
    *load->sweep = (struct chain_sweep){.n = n, .param = i, .values = values, .span = map->span};
    return true;
}
