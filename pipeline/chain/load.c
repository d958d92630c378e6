/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads maps of parameters: finds the parameter of each key, loads its value, and reports unknown
 * and missing keys. A misspelled key is reported once, with the name that was likely meant.
 */
#include "pipeline/chain/load.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/unit.h"
#include "io/source/memory.h"
#include "pipeline/chain/formats.h"
#include "stages/engine/registry.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Loads one value of a chain's tree into its field, by the kind of its parameter: numbers, choices,
 * texts, lists and references. A value that is refused is reported at its own place in the text. */

static bool no_memory(const struct load *load, size_t bytes)
{
    ts_diag_no_memory(load->diag, bytes);
    return false;
}

static bool expected(const struct load *load, const struct node *value, const struct param_set *set,
                     size_t i, const char *what)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (value->kind != NODE_REFUSED)
        ts_param_error(set, set->params[i].name, "wrong-kind", load->diag,
                       "%s is expected, found %s", what, ts_tree_describe(value, found));
    return false;
}

static bool is_scalar(const struct node *value)
{
    return value->kind == NODE_SCALAR && !ts_tree_is_nothing(value);
}

/* Adds to the error about a list in place of one number that it may be meant as a sweep. */
static bool hint_at_sweep(const struct load *load, const struct node *value,
                          const struct param_set *set, size_t i)
{
    const enum param_kind kind = set->params[i].kind;
    const char *name = set->params[i].name;
    if (value->kind == NODE_LIST && load->sweep && kind != PARAM_NUMBERS)
        ts_diag_hint(load->diag,
                     "one value is taken; a sweep computes the result for each of several: "
                     "%s: {sweep: [1, 2, 4]}, on one line %s={sweep 1 2 4}",
                     name, name);
    return false;
}

static bool in_quotes(const struct load *load, const struct node *value,
                      const struct param_set *set, size_t i, const char *what)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (value->kind != NODE_SCALAR || !value->quoted)
        return false;
    ts_param_error(set, set->params[i].name, "wrong-kind", load->diag,
                   "%s is a text in quotes, not %s", ts_tree_describe(value, found), what);
    return true;
}

/* Refuses a number with a unit that cannot be converted. The hint leaves the number out, which
   would be wrong in the parameter's unit. */
static bool refuse_unit(const struct load *load, const struct param_set *set, size_t i,
                        const char *text, const char *unit)
{
    char shown[TREE_SHOWN_BYTES], shown_unit[TREE_SHOWN_BYTES];
    const struct param *param = &set->params[i];
    const char *own = param->unit && *param->unit ? param->unit : NULL;
    ts_tree_shown(text, shown);
    ts_tree_shown(unit, shown_unit);
    ts_param_error(set, param->name, "unit-unknown", load->diag,
                   "'%s' has the unit '%s', which is not converted", shown, shown_unit);
    size_t unit_param;
    if (!own && ts_param_find(set->params, set->n_params, "unit", &unit_param))
        ts_diag_hint(
            load->diag,
            "the parameter unit says in what %s is: give a number only, and unit beside it",
            param->name);
    else if (!own)
        ts_diag_hint(load->diag, "%s has no unit: give a number only", param->name);
    else if (!strcmp(own, "value"))
        ts_diag_hint(load->diag,
                     "%s is in the unit of the image's values, which `tomostage check` shows: give "
                     "it in that unit, as a number only",
                     param->name);
    else if (!strcmp(own, "1"))
        ts_diag_hint(load->diag, "%s is a share or a factor: give a number only, or with %%",
                     param->name);
    else
        ts_diag_hint(load->diag, "the unit of %s is %s: give the number in that unit", param->name,
                     own);
    return false;
}

static bool is_in_pixels(const struct param *param)
{
    return param->unit && (!strcmp(param->unit, "pixel") || !strcmp(param->unit, "detector"));
}

/* Converts angles that were given with a unit of their own, so that they stay the same whether they
   or angle_unit come first, and the recorded chain gives the same angles. */
static void turn_angles(struct param_set *set)
{
    size_t unit;
    if (!ts_param_find(set->params, set->n_params, "angle_unit", &unit))
        return;
    const int32_t choice = *(const int32_t *)ts_param_field(set, unit);
    const bool radians = !strcmp(ts_choice_name(set->params[unit].choices, choice), "radian");
    for (size_t i = 0; i < set->n_params; i++)
        if ((set->given_in_unit >> i & 1) && set->params[i].in_angle_unit)
            *(double *)ts_param_field(set, i) =
                radians ? set->own_values[i] * M_PI / 180 : set->own_values[i];
}

/* Takes a number with a unit: converts it to the parameter's unit, or keeps it as a length that
   becomes pixels once the spacing is known. */
static bool take_unit(const struct load *load, const char *text, const char *number,
                      const char *unit, struct param_set *set, size_t i, int64_t *integer,
                      double *real)
{
    const struct param *param = &set->params[i];
    double value;
    if (ts_unit_convert(number, unit, param->unit ? param->unit : "", &value)) {
        if (!integer) {
            *real = value;
            if (param->in_angle_unit) {
                set->given_in_unit |= UINT32_C(1) << i;
                set->own_values[i] = value;
            }
            return true;
        }
        if (rint(value) == value && fabs(value) < 0x1p53) {
            *integer = (int64_t)value;
            return true;
        }
        ts_param_error(set, param->name, "not-a-number", load->diag,
                       "'%s' is not a whole number of %s", text, param->unit);
        return false;
    }
    const bool single = param->kind == PARAM_INTEGER || param->kind == PARAM_REAL;
    if (!load->path && single && is_in_pixels(param) &&
        ts_unit_convert(number, unit, "mm", &value)) {
        set->given_in_unit |= UINT32_C(1) << i;
        set->own_values[i] = value;
        return true;
    }
    return refuse_unit(load, set, i, text, unit);
}

/* Reads one number of a parameter of kind INTEGER, REAL or NUMBERS. The parameter's span becomes
   that of the value. */
static bool read_number(const struct load *load, const struct node *value, struct param_set *set,
                        size_t i, int64_t *integer, double *real)
{
    char found[TREE_SHOWN_BYTES + 2], number[40];
    const char *unit;
    if (value->kind != NODE_LIST || !value->text) {
        if (!is_scalar(value))
            return expected(load, value, set, i, integer ? "an integer" : "a number") ||
                   hint_at_sweep(load, value, set, i);
        if (in_quotes(load, value, set, i, "a number"))
            return false;
    }
    const char *wrong =
        integer ? ts_number_integer(value->text, integer) : ts_number_real(value->text, real);
    if (!wrong)
        return true;
    if (ts_unit_part(value->text, number, sizeof number, &unit))
        return take_unit(load, value->text, number, unit, set, i, integer, real);
    ts_param_error(set, set->params[i].name, "not-a-number", load->diag, "%s %s",
                   ts_tree_describe(value, found), wrong);
    return hint_at_sweep(load, value, set, i);
}

/* Names match in any case, since other tools write Ram-Lak and Hann; results record our
   spelling. */
static bool load_choice(const struct load *load, const struct node *value, struct param_set *set,
                        size_t i)
{
    const struct param *param = &set->params[i];
    const char *names[64];
    char known[512], shown[TREE_SHOWN_BYTES];
    size_t n = 0;
    if (value->kind != NODE_SCALAR && !value->text)
        return expected(load, value, set, i, "a name");
    for (const struct choice *choice = param->choices; choice && choice->name; choice++) {
        if (!strcasecmp(choice->name, value->text)) {
            *(int32_t *)ts_param_field(set, i) = choice->value;
            return true;
        }
        if (n < sizeof names / sizeof *names)
            names[n++] = choice->name;
    }
    if (ts_tree_is_nothing(value))
        return expected(load, value, set, i, "a name");
    const char *nearest =
        ts_diag_is_full(load->diag) ? NULL : ts_nearest_name(value->text, names, n);
    ts_tree_shown(value->text, shown);
    if (nearest)
        ts_param_error(set, param->name, "parameter-choice", load->diag,
                       "'%s' is not a choice; did you mean '%s'?", shown, nearest);
    else
        ts_param_error(set, param->name, "parameter-choice", load->diag, "'%s' is not a choice",
                       shown);
    ts_list_names(known, sizeof known, names, n);
    ts_diag_hint(load->diag, "choices: %s", known);
    return false;
}

static bool load_bool(const struct load *load, const struct node *value, struct param_set *set,
                      size_t i)
{
    static const char *const old_names[] = {"yes", "no", "on", "off", "y", "n", "true", "false"};
    if (in_quotes(load, value, set, i, "true or false"))
        return false;
    if (!is_scalar(value))
        return expected(load, value, set, i, "true or false");
    if (!strcmp(value->text, "true") || !strcmp(value->text, "false")) {
        *(bool *)ts_param_field(set, i) = value->text[0] == 't';
        return true;
    }
    expected(load, value, set, i, "true or false");
    for (size_t j = 0; j < sizeof old_names / sizeof *old_names; j++)
        if (!strcasecmp(value->text, old_names[j]))
            ts_diag_hint(load->diag, "yes, no, on and off mean different things in different YAML "
                                     "readers; only true and false are taken");
    return false;
}

/* Returns true if the parameter holds a path: a source's path or a text of it whose name ends in
   _file, or the file of a stage's parameters. */
static bool holds_path(const struct load *load, const struct param_set *set, size_t i)
{
    const char *name = set->params[i].name;
    const size_t length = strlen(name);
    if (ts_param_is_file(set->params, set->n_params, i))
        return true;
    return load->path &&
           (!strcmp(name, load->path) || (length > 5 && !strcmp(name + length - 5, "_file")));
}

/* Returns the text of a value. A value of the one-line form with commas is a text as well. NULL if
   it is no text (reported). */
static const char *read_text(const struct load *load, const struct node *value,
                             const struct param_set *set, size_t i)
{
    const struct param *param = &set->params[i];
    const bool is_path = holds_path(load, set, i);
    if (value->kind == NODE_REFUSED || !value->text || ts_tree_is_nothing(value)) {
        const char *text = param->kind == PARAM_REFERENCE ? "a name" : "a text";
        expected(load, value, set, i, is_path ? "a path" : text);
        return NULL;
    }
    if (is_path && !*value->text) {
        ts_param_error(set, param->name, "path-empty", load->diag, "the path is empty");
        return NULL;
    }
    const bool names_array = is_path && !strcmp(param->name, memory_format.name);
    return is_path && !names_array ? ts_load_path(load, value->text) : value->text;
}

/* Returns the text of a rule that is given as a map, {modality: CT}: "modality=CT". NULL if its
   values are no texts (reported), or if memory is out. */
static const char *rule_text(const struct load *load, const struct node *map,
                             const struct param_set *set, size_t i)
{
    const char *text = "";
    for (const struct node *entry = map->first; entry && text; entry = entry->next) {
        if (!is_scalar(entry)) {
            expected(load, entry, set, i, "a text or a pattern");
            return NULL;
        }
        text = ts_arena_printf(load->arena, "%s%s%s=%s", text, *text ? "; " : "", entry->key->text,
                               entry->text);
    }
    return text;
}

static bool load_text(const struct load *load, const struct node *value, struct param_set *set,
                      size_t i)
{
    const bool is_rule = set->params[i].rule && value->kind == NODE_MAP;
    const char *text = is_rule ? rule_text(load, value, set, i) : read_text(load, value, set, i);
    const char *copy = text ? ts_arena_text(load->arena, text, strlen(text)) : NULL;
    if (text && !copy)
        return no_memory(load, strlen(text));
    if (!copy)
        return false;
    if (set->params[i].kind == PARAM_REFERENCE)
        *(struct ts_reference *)ts_param_field(set, i) =
            (struct ts_reference){.name = copy, .node = -1};
    else
        *(const char **)ts_param_field(set, i) = copy;
    return true;
}

static bool list_is_empty(const struct load *load, const struct node *value, struct param_set *set,
                          size_t i)
{
    if (value->kind != NODE_LIST || value->n > 0)
        return false;
    ts_param_error(set, set->params[i].name, "list-empty", load->diag, "the list is empty");
    return true;
}

static bool load_texts(const struct load *load, const struct node *value, struct param_set *set,
                       size_t i)
{
    if (list_is_empty(load, value, set, i))
        return false;
    const bool is_list = value->kind == NODE_LIST;
    const size_t n = is_list ? (size_t)value->n : 1;
    const char **items = ts_arena_alloc(load->arena, n * sizeof *items);
    if (!items)
        return no_memory(load, n * sizeof *items);
    const struct ts_span whole = set->spans[i];
    const struct node *item = is_list ? value->first : value;
    bool ok = true;
    for (size_t j = 0; j < n; j++, item = item->next) {
        set->spans[i] = item->span;
        const char *text = read_text(load, item, set, i);
        items[j] = text ? ts_arena_text(load->arena, text, strlen(text)) : NULL;
        if (text && !items[j])
            return no_memory(load, strlen(text));
        ok &= text != NULL;
    }
    set->spans[i] = whole;
    if (ok)
        *(struct ts_texts *)ts_param_field(set, i) =
            (struct ts_texts){.n = (int64_t)n, .items = items};
    return ok;
}

/* Reads and checks one row of numbers, each with its own place in the text. */
static bool read_numbers(const struct load *load, const struct node *first, int64_t n,
                         struct param_set *set, size_t i, double *values)
{
    struct ts_numbers *at = ts_param_field(set, i);
    const struct ts_numbers before = *at;
    const struct ts_span whole = set->spans[i];
    bool ok = true;
    for (int64_t j = 0; j < n; j++, first = first->next) {
        set->spans[i] = first->span;
        *at = (struct ts_numbers){.rows = 1, .columns = 1, .values = &values[j]};
        ok &= read_number(load, first, set, i, NULL, &values[j]) &&
              ts_param_check(set, i, load->diag) == TS_OK;
    }
    *at = before;
    set->spans[i] = whole;
    return ok;
}

/* Returns true if all rows of a list of lists are lists of one length. It is called before memory
   for rows * columns numbers is allocated. */
static bool rows_are_even(const struct load *load, const struct node *table, struct param_set *set,
                          size_t i)
{
    const struct ts_span whole = set->spans[i];
    const int32_t columns = table->first->n;
    bool even = true;
    int row = 1;
    for (const struct node *line = table->first; line; line = line->next, row++) {
        set->spans[i] = line->span;
        if (line->kind != NODE_LIST)
            even = expected(load, line, set, i, "a list of numbers, as in row 1,");
        else if (list_is_empty(load, line, set, i))
            even = false;
        else if (line->n != columns) {
            ts_param_error(set, set->params[i].name, "list-uneven", load->diag,
                           "row %d has %d values, row 1 has %d", row, line->n, columns);
            even = false;
        }
    }
    set->spans[i] = whole;
    return even;
}

static bool load_numbers(const struct load *load, const struct node *value, struct param_set *set,
                         size_t i)
{
    if (list_is_empty(load, value, set, i))
        return false;
    if (value->kind != NODE_LIST && !is_scalar(value))
        return expected(load, value, set, i, "a list of numbers");
    const bool is_list = value->kind == NODE_LIST,
               is_table = is_list && value->first->kind == NODE_LIST;
    if (is_table && !rows_are_even(load, value, set, i))
        return false;
    const int64_t rows = is_table ? value->n : 1;
    int64_t columns = is_list ? value->n : 1;
    if (is_table)
        columns = value->first->n;
    double *values = ts_arena_alloc(load->arena, (size_t)(rows * columns) * sizeof *values);
    if (!values)
        return no_memory(load, (size_t)(rows * columns) * sizeof *values);
    bool ok = true;
    if (!is_table)
        ok = read_numbers(load, is_list ? value->first : value, columns, set, i, values);
    int64_t row = 0;
    for (const struct node *line = is_table ? value->first : NULL; line; line = line->next, row++)
        ok &= read_numbers(load, line->first, columns, set, i, values + row * columns);
    if (ok)
        *(struct ts_numbers *)ts_param_field(set, i) =
            (struct ts_numbers){.rows = rows, .columns = columns, .values = values};
    return ok;
}

/* Checks a value against its range. A length is checked once it is a number of pixels, an angle
   once it is in degrees. */
static bool is_in_range(const struct load *load, const struct param_set *set, size_t i)
{
    return ((set->given_in_unit >> i & 1) && is_in_pixels(&set->params[i])) ||
           ts_param_check(set, i, load->diag) == TS_OK;
}

static bool load_kind(const struct load *load, const struct node *value, struct param_set *set,
                      size_t i)
{
    switch (set->params[i].kind) {
    case PARAM_INTEGER:
        return read_number(load, value, set, i, ts_param_field(set, i), NULL) &&
               is_in_range(load, set, i);
    case PARAM_REAL:
        return read_number(load, value, set, i, NULL, ts_param_field(set, i)) &&
               is_in_range(load, set, i);
    case PARAM_CHOICE:
        return load_choice(load, value, set, i);
    case PARAM_BOOL:
        return load_bool(load, value, set, i);
    case PARAM_TEXT:
    case PARAM_REFERENCE:
        return load_text(load, value, set, i);
    case PARAM_TEXTS:
        return load_texts(load, value, set, i);
    case PARAM_NUMBERS:
        return load_numbers(load, value, set, i);
    }
    return false;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* A sweep, {sweep: [1, 2, 4]} or {from: 0, to: 10, step: 2}, replaces a value. Each of its values
   is loaded like a single value, so that checks and messages are the same. Steps first become
   decimal texts of 12 digits: 0.1 + 2 * 0.1 is then 0.3, the number that a user would write. */

enum { SWEEP_MAX = 256 };

/* Why a map has no values for a sweep. */
enum { NO_SWEEP, NO_STEP, WRONG_WAY };
static const char *const no_values[] = {
    [NO_SWEEP] = "this is no value, and no list or range of values to sweep over",
    [NO_STEP] = "the step of a range cannot be 0",
    [WRONG_WAY] = "the step of the range leads away from `to`"};

static bool refuse_sweep(const struct load *load, const struct param_set *set, size_t i,
                         const char *code, const char *message)
{
    ts_param_error(set, set->params[i].name, code, load->diag, "%s", message);
    if (!strcmp(code, "sweep-form"))
        ts_diag_hint(
            load->diag,
            "{sweep 1 2 4} or {from 0 to 10 step 2} on one line; {sweep: [1, 2, 4]} in YAML");
    return false;
}

static bool read_bound(const struct node *map, const char *key, double *value)
{
    const struct node *node = ts_tree_find(map, key);
    return node && node->kind == NODE_SCALAR && !node->quoted &&
           !ts_number_real(node->text, value) && isfinite(*value);
}

/* Makes nodes of the values from, from + step, ... up to `to`, which is reached in spite of
   rounding errors. Returns how many there are, or more than SWEEP_MAX; if there are none, an index
   of no_values with its sign changed. */
static int64_t make_steps(const struct load *load, const struct node *map, struct node **items)
{
    double from, to, step;
    if (map->n != 3 || !read_bound(map, "from", &from) || !read_bound(map, "to", &to) ||
        !read_bound(map, "step", &step))
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
            (*items)[k] = (struct node){.kind = NODE_SCALAR,
                                        .span = map->span,
                                        .text = text,
                                        .next = k + 1 < n ? &(*items)[k + 1] : NULL};
    }
    if (!*items)
        ts_diag_no_memory(load->diag, (size_t)n * sizeof **items);
    return n;
}

/* Finds the values of either form. Returns how many there are; 0 if there are none (reported). */
static int64_t find_items(const struct load *load, const struct node *map,
                          const struct param_set *set, size_t i, const struct node **items)
{
    const struct node *list = ts_tree_find(map, "sweep");
    struct node *steps = NULL;
    const bool is_list = list && map->n == 1 && list->kind == NODE_LIST;
    int64_t n;
    if (is_list)
        n = list->n;
    else
        n = list ? 0 : make_steps(load, map, &steps);
    *items = is_list ? list->first : steps;
    if (n <= 0)
        refuse_sweep(load, set, i, "sweep-form", no_values[-n]);
    else if (n > SWEEP_MAX)
        refuse_sweep(load, set, i, "sweep-limit", "a sweep has at most 256 values");
    return n > 0 && n <= SWEEP_MAX && *items ? n : 0;
}

/* Returns true if a map has a key of a sweep, so that it is one or was meant to be one. */
static bool is_sweep(const struct node *map)
{
    static const char *const keys[] = {"sweep", "from", "to", "step"};
    bool is = map->incomplete;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        is |= ts_tree_find(map, keys[i]) != NULL;
    return is;
}

/* Loads a map that is a sweep of parameter i: its values into load->sweep, and the first of them
   into the parameter. Returns false if one was refused (reported). */
static bool load_sweep(const struct load *load, const struct node *map, struct param_set *set,
                       size_t i)
{
    const size_t bytes = ts_param_bytes(set->params[i].kind);
    const struct node *item;
    struct load single = *load;
    single.sweep = NULL;
    if (map->incomplete)
        return false;
    if (load->sweep->n > 0)
        return refuse_sweep(load, set, i, "sweep-several",
                            "the chain sweeps over another parameter, and one sweep is allowed");
    if (set->params[i].kind == PARAM_REFERENCE)
        return refuse_sweep(load, set, i, "sweep-form",
                            "a reference to an image cannot be swept over");
    const int64_t n = find_items(load, map, set, i, &item);
    unsigned char *values = n > 0 ? ts_arena_alloc(load->arena, (size_t)n * bytes) : NULL;
    if (n > 0 && !values)
        ts_diag_no_memory(load->diag, (size_t)n * bytes);
    if (!values)
        return false;
    bool ok = true;
    for (int64_t k = 0; k < n; k++, item = item->next) {
        ok &= ts_load_value(&single, item, set, i);
        if (set->given_in_unit >> i & 1) {
            set->given_in_unit &= ~(UINT32_C(1) << i);
            ok = refuse_sweep(load, set, i, "unit-unknown",
                              "values of a sweep are not converted from mm to pixels");
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

/* ---- a value --------------------------------------------------------------------------------- */

bool ts_load_value(const struct load *load, const struct node *value, struct param_set *set,
                   size_t i)
{
    _Alignas(16) unsigned char before[64];
    const struct ts_span span = set->spans[i];
    const uint32_t given = set->given, given_in_unit = set->given_in_unit;
    const size_t size = ts_param_bytes(set->params[i].kind);
    const bool swept = load->sweep && value->kind == NODE_MAP && is_sweep(value);
    memcpy(before, ts_param_field(set, i), size);
    set->spans[i] = value->span;
    set->given |= UINT32_C(1) << i;
    set->given_in_unit &= ~(UINT32_C(1) << i);
    if (swept ? load_sweep(load, value, set, i) : load_kind(load, value, set, i)) {
        turn_angles(set);
        return true;
    }
    memcpy(ts_param_field(set, i), before, size);
    set->spans[i] = span;
    set->given = given;
    set->given_in_unit = given_in_unit;
    return false;
}

/* ---- maps ------------------------------------------------------------------------------------ */

enum { MOST_ELSEWHERE = 3 };

bool ts_load_begin(const struct load *load, const struct param *params, size_t n_params,
                   size_t bytes, const char *owner, struct ts_span span, struct param_set *set)
{
    *set = (struct param_set){.params = params,
                              .n_params = n_params,
                              .owner = owner,
                              .span = span,
                              .version = load->version};
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

/* The stages, or formats of an input, that have the parameter, and the owner of the set. */
struct owners {
    const char *names[MOST_ELSEWHERE], *own;
    size_t n; /* more than MOST_ELSEWHERE if there are too many */
};

static void note_owner(struct owners *owners, const struct param_set *set, const char *param,
                       const char *name, const struct param *params, size_t n_params)
{
    size_t i;
    if (params == set->params)
        owners->own = name;
    if (ts_param_find(params, n_params, param, &i) && owners->n++ < MOST_ELSEWHERE)
        owners->names[owners->n - 1] = name;
}

/* Hints at the other stages, or at the other formats, that have a parameter of this name. */
static void hint_elsewhere(struct ts_diag *diag, const struct param_set *set, const char *param,
                           const char *known)
{
    struct owners stages = {.n = 0}, formats = {.n = 0};
    char list[128];
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(NULL, i)) != NULL; i++)
        note_owner(&stages, set, param, stage->name, stage->params, stage->n_params);
    for (const struct source_format *const *format = ts_source_formats; *format; format++)
        note_owner(&formats, set, param, (*format)->name, (*format)->params, (*format)->n_params);
    const struct owners *owners = stages.own ? &stages : &formats;
    if (!owners->own || owners->n == 0 || owners->n > MOST_ELSEWHERE)
        return;
    ts_list_names(list, sizeof list, owners->names, owners->n);
    if (stages.own)
        ts_diag_hint(diag, "%s is a parameter of %s; known: %s", param, list, known);
    else
        ts_diag_hint(diag,
                     "%s is a parameter of %s, and this input is read as %s: the chain names the "
                     "format, input: {%s: PATH}; known: %s",
                     param, list, owners->own, owners->names[0], known);
}

const char *ts_load_unknown_param(struct ts_diag *diag, const char *name, struct ts_span span,
                                  const struct param_set *set, const char *const *other_keys,
                                  size_t n_other_keys)
{
    const char *names[PARAMS_MAX + 8];
    char known[512];
    size_t n = 0;
    for (size_t i = 0; i < set->n_params && i < PARAMS_MAX; i++)
        names[n++] = set->params[i].name;
    for (size_t i = 0; i < n_other_keys && n < sizeof names / sizeof *names; i++)
        names[n++] = other_keys[i];
    const char *nearest = ts_load_unknown(diag, name, span, set->owner, "parameter", names, n);
    ts_list_names(known, sizeof known, names, n);
    if (!nearest)
        hint_elsewhere(diag, set, name, known);
    return nearest;
}

/* Reports an unknown key. Returns the bit of the parameter that was likely meant, so that it is not
   reported as missing too. */
static uint32_t report_unknown(const struct load *load, const struct node *key,
                               const struct param_set *set)
{
    const char *nearest = ts_load_unknown_param(load->diag, key->text, key->span, set,
                                                load->other_keys, load->n_other_keys);
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
        used += (size_t)snprintf(hint + used, sizeof hint - used, "%s%s: %s", i > 0 ? "; " : "",
                                 names[i], missing[i]->doc);
    ts_list_names(list, sizeof list, names, n);
    if (n == 1)
        ts_param_error(set, names[0], "parameter-missing", diag, "required, but not given");
    else
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){
                          .code = "parameter-missing", .span = set->span, .stage = set->owner},
                      "%zu parameters are required, but not given: %s", n, list);
    ts_diag_hint(diag, "%s", hint);
    return false;
}

void ts_load_params(const struct load *load, const struct node *map, struct param_set *set)
{
    /* a parameter was seen if its value was refused, or if a misspelled key was meant for it */
    uint32_t seen = set->given;
    if (map->kind != NODE_MAP && !ts_tree_is_nothing(map)) {
        ts_load_expected(load->diag, map, set->owner, "a map of parameters");
        const size_t key = map->kind == NODE_SCALAR ? strcspn(map->text, "=") : 0;
        if (key > 0 && map->text[key])
            ts_diag_hint(load->diag, "%s: {%.*s: %s}", set->owner, (int)key, map->text,
                         map->text + key + 1);
        else if (map->kind != NODE_REFUSED)
            ts_diag_hint(load->diag,
                         "%s: {PARAMETER: VALUE}; `tomostage stages %s` lists its parameters",
                         set->owner, set->owner);
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
