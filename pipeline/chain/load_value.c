/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads one value of a chain's tree into its field, by the kind of its parameter: numbers, choices, texts, lists and
 * references. A value that is refused is reported at its own place in the text.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "pipeline/chain/load.h"

static bool no_memory(const struct load *load, size_t bytes)
{
    ts_diag_no_memory(load->diag, bytes);
    return false;
}

static bool expected(const struct load *load, const struct node *value, const struct param_set *set, size_t i,
                     const char *what)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (value->kind != NODE_REFUSED)
        ts_param_error(set, set->params[i].name, "wrong-kind", load->diag, "%s is expected, found %s", what,
                       ts_load_found(value, found));
    return false;
}

static bool is_scalar(const struct node *value)
{
    return value->kind == NODE_SCALAR && !ts_load_is_nothing(value);
}

static bool in_quotes(const struct load *load, const struct node *value, const struct param_set *set, size_t i,
                      const char *what)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (value->kind != NODE_SCALAR || !value->quoted)
        return false;
    ts_param_error(set, set->params[i].name, "wrong-kind", load->diag, "%s is a text in quotes, not %s",
                   ts_load_found(value, found), what);
    return true;
}

/* Adds the way out to an error about a number with a unit behind it, such as 3mm. */
static void hint_at_unit(const struct load *load, const struct node *value, const struct param *param)
{
    char number[40];
    double real;
    size_t length = strspn(value->text, "+-.0123456789eE");
    while (length > 0 && isalpha((unsigned char)value->text[length - 1]))
        length--;
    if (length == 0 || length >= sizeof number || !value->text[length])
        return;
    snprintf(number, sizeof number, "%.*s", (int)length, value->text);
    const char *unit = value->text + length + strspn(value->text + length, " ");
    if (ts_number_real(number, &real) || !(isalpha((unsigned char)*unit) || *unit == '%'))
        return;
    if (param->unit && *param->unit && strcmp(param->unit, "value") != 0)
        ts_diag_hint(load->diag, "write %s alone: the unit of %s is %s", number, param->name, param->unit);
    else
        ts_diag_hint(load->diag, "write %s alone, without a unit", number);
}

/* Reads one number of a parameter of kind INTEGER, REAL or NUMBERS; the parameter's span is that of the value. */
static bool read_number(const struct load *load, const struct node *value, const struct param_set *set, size_t i,
                        int64_t *integer, double *real)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (value->kind != NODE_LIST || !value->text) {
        if (!is_scalar(value))
            return expected(load, value, set, i, integer ? "an integer" : "a number");
        if (in_quotes(load, value, set, i, "a number"))
            return false;
    }
    const char *wrong = integer ? ts_number_integer(value->text, integer) : ts_number_real(value->text, real);
    if (wrong) {
        ts_param_error(set, set->params[i].name, "not-a-number", load->diag, "%s %s", ts_load_found(value, found),
                       wrong);
        hint_at_unit(load, value, &set->params[i]);
    }
    return !wrong;
}

/* Names are matched whatever their case, as other tools write Ram-Lak and Hann; what is recorded is our spelling. */
static bool load_choice(const struct load *load, const struct node *value, struct param_set *set, size_t i)
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
    if (ts_load_is_nothing(value))
        return expected(load, value, set, i, "a name");
    const char *nearest = ts_load_diag_is_full(load->diag) ? NULL : ts_nearest_name(value->text, names, n);
    ts_tree_shown(value->text, shown);
    if (nearest)
        ts_param_error(set, param->name, "parameter-choice", load->diag, "'%s' is not a choice; did you mean '%s'?",
                       shown, nearest);
    else
        ts_param_error(set, param->name, "parameter-choice", load->diag, "'%s' is not a choice", shown);
    ts_load_list_names(known, sizeof known, names, n);
    ts_diag_hint(load->diag, "choices: %s", known);
    return false;
}

static bool load_bool(const struct load *load, const struct node *value, struct param_set *set, size_t i)
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
            ts_diag_hint(load->diag, "yes, no, on and off mean different things in different YAML readers; "
                                     "only true and false are taken");
    return false;
}

/* Returns true where the parameter holds a path: a source's own path, and every text whose name ends in _file. */
static bool holds_path(const struct load *load, const char *name)
{
    const size_t length = strlen(name);
    return load->path && (!strcmp(name, load->path) || (length > 5 && !strcmp(name + length - 5, "_file")));
}

/* Returns the text of a value; one with commas of the one-line form is a text as well. NULL where it is none
 * (reported). */
static const char *read_text(const struct load *load, const struct node *value, const struct param_set *set, size_t i)
{
    const struct param *param = &set->params[i];
    const bool is_path = holds_path(load, param->name);
    if (value->kind == NODE_REFUSED || !value->text || ts_load_is_nothing(value)) {
        expected(load, value, set, i, is_path ? "a path" : param->kind == PARAM_REFERENCE ? "a name" : "a text");
        return NULL;
    }
    if (is_path && !*value->text) {
        ts_param_error(set, param->name, "path-empty", load->diag, "the path is empty");
        return NULL;
    }
    if (is_path)
        return ts_load_path(load, value->text);
    return value->text;
}

static bool load_text(const struct load *load, const struct node *value, struct param_set *set, size_t i)
{
    const char *text = read_text(load, value, set, i);
    const char *copy = text ? ts_arena_text(load->arena, text, strlen(text)) : NULL;
    if (text && !copy)
        return no_memory(load, strlen(text));
    if (!copy)
        return false;
    if (set->params[i].kind == PARAM_REFERENCE)
        *(struct ts_reference *)ts_param_field(set, i) = (struct ts_reference){.name = copy, .node = -1};
    else
        *(const char **)ts_param_field(set, i) = copy;
    return true;
}

static bool list_is_empty(const struct load *load, const struct node *value, struct param_set *set, size_t i)
{
    if (value->kind != NODE_LIST || value->n > 0)
        return false;
    ts_param_error(set, set->params[i].name, "list-empty", load->diag, "the list is empty");
    return true;
}

static bool load_texts(const struct load *load, const struct node *value, struct param_set *set, size_t i)
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
        *(struct ts_texts *)ts_param_field(set, i) = (struct ts_texts){.n = (int64_t)n, .items = items};
    return ok;
}

/* Reads and checks one row of numbers, each at its own place. */
static bool read_numbers(const struct load *load, const struct node *first, int64_t n, struct param_set *set, size_t i,
                         double *values)
{
    struct ts_numbers *at = ts_param_field(set, i);
    const struct ts_numbers before = *at;
    const struct ts_span whole = set->spans[i];
    bool ok = true;
    for (int64_t j = 0; j < n; j++, first = first->next) {
        set->spans[i] = first->span;
        *at = (struct ts_numbers){.rows = 1, .columns = 1, .values = &values[j]};
        ok &= read_number(load, first, set, i, NULL, &values[j]) && ts_param_check(set, i, load->diag) == TS_OK;
    }
    *at = before;
    set->spans[i] = whole;
    return ok;
}

/* Returns true where every row of a list of lists is a list as long as the first; before anything is allocated by their
 * product.
 */
static bool rows_are_even(const struct load *load, const struct node *table, struct param_set *set, size_t i)
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
            ts_param_error(set, set->params[i].name, "list-uneven", load->diag, "row %d has %d values, row 1 has %d",
                           row, line->n, columns);
            even = false;
        }
    }
    set->spans[i] = whole;
    return even;
}

static bool load_numbers(const struct load *load, const struct node *value, struct param_set *set, size_t i)
{
    if (list_is_empty(load, value, set, i))
        return false;
    if (value->kind != NODE_LIST && !is_scalar(value))
        return expected(load, value, set, i, "a list of numbers");
    const bool is_list = value->kind == NODE_LIST, is_table = is_list && value->first->kind == NODE_LIST;
    if (is_table && !rows_are_even(load, value, set, i))
        return false;
    const int64_t rows = is_table ? value->n : 1;
    const int64_t columns = is_table ? value->first->n : is_list ? value->n : 1;
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

static bool load_kind(const struct load *load, const struct node *value, struct param_set *set, size_t i)
{
    switch (set->params[i].kind) {
    case PARAM_INTEGER:
        return read_number(load, value, set, i, ts_param_field(set, i), NULL) &&
               ts_param_check(set, i, load->diag) == TS_OK;
    case PARAM_REAL:
        return read_number(load, value, set, i, NULL, ts_param_field(set, i)) &&
               ts_param_check(set, i, load->diag) == TS_OK;
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

bool ts_load_value(const struct load *load, const struct node *value, struct param_set *set, size_t i)
{
    _Alignas(16) unsigned char before[64];
    const struct ts_span span = set->spans[i];
    const uint32_t given = set->given;
    const size_t size = ts_param_bytes(set->params[i].kind);
    const bool is_sweep = load->sweep && value->kind == NODE_MAP && ts_load_is_sweep(value);
    memcpy(before, ts_param_field(set, i), size);
    set->spans[i] = value->span;
    set->given |= UINT32_C(1) << i;
    if (is_sweep ? ts_load_sweep(load, value, set, i) : load_kind(load, value, set, i))
        return true;
    memcpy(ts_param_field(set, i), before, size);
    set->spans[i] = span;
    set->given = given;
    return false;
}
