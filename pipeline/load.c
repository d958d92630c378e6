/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps of parameters, and how names and texts of a chain's tree are reported. Single values: load_value.c.
 */
#include "pipeline/load.h"

#include <string.h>

bool ts_load_diag_is_full(const struct ts_diag *diag)
{
    return ts_diag_error_count(diag) >= DIAG_MAX_ERRORS;
}

bool ts_load_is_nothing(const struct node *node)
{
    static const char *const nothings[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != NODE_SCALAR || node->quoted)
        return false;
    for (size_t i = 0; i < sizeof nothings / sizeof *nothings; i++)
        if (!strcmp(node->text, nothings[i]))
            return true;
    return false;
}

const char *ts_load_found(const struct node *node, char out[TREE_SHOWN_BYTES + 2])
{
    if (node->kind == NODE_MAP)
        return "a map";
    if (node->kind == NODE_LIST && !node->text)
        return "a list";
    if (ts_load_is_nothing(node))
        return "nothing";
    out[0] = '\'';
    ts_tree_shown(node->text, out + 1);
    strcat(out, "'");
    return out;
}

void ts_load_list_names(char *out, size_t size, const char *const *names, size_t n)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const size_t need = strlen(names[i]) + 2;
        if (used + need + sizeof "..." > size) {
            memcpy(out + used, "...", sizeof "...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", names[i], i + 1 < n ? ", " : "");
    }
}

const char *ts_load_unknown(struct ts_diag *diag, const struct node *node, const char *owner, const char *what,
                            const char *const *names, size_t n)
{
    char shown[TREE_SHOWN_BYTES], known[512], code[64];
    const char *nearest = ts_load_diag_is_full(diag) ? NULL : ts_nearest_name(node->text, names, n);
    snprintf(code, sizeof code, "unknown-%s", what);
    const struct diag_site site = {.code = code, .span = node->span, .stage = owner};
    ts_tree_shown(node->text, shown);
    if (nearest)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "unknown %s '%s'; did you mean '%s'?", what, shown, nearest);
    else
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "unknown %s '%s'", what, shown);
    ts_load_list_names(known, sizeof known, names, n);
    ts_diag_hint(diag, n > 0 ? "known: %s" : "there is none%s", known);
    return nearest;
}

const char *ts_load_text(struct ts_diag *diag, const struct node *node, const char *owner, const char *expected)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (node->kind == NODE_REFUSED)
        return NULL;
    if (node->text && !ts_load_is_nothing(node))
        return node->text;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "wrong-kind", .span = node->span, .stage = owner},
                  "%s is expected, found %s", expected, ts_load_found(node, found));
    return NULL;
}

const char *ts_load_path(const struct load *load, const char *path)
{
    const char *folder = load->folder;
    const size_t length = folder ? strlen(folder) : 0;
    const char *joined;
    if (length == 0 || path[0] == '/')
        joined = ts_arena_text(load->arena, path, strlen(path));
    else
        joined = ts_arena_printf(load->arena, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/",
                                 strncmp(path, "./", 2) || !path[2] ? path : path + 2);
    if (!joined)
        ts_diag_no_memory(load->diag, length + strlen(path) + 2);
    return joined;
}

/* ---- a map of values ---------------------------------------------------------------------------- */

bool ts_load_begin(const struct load *load, const struct param *rows, size_t n_rows, size_t bytes, const char *owner,
                   struct ts_span span, struct param_set *set)
{
    *set = (struct param_set){.rows = rows, .n_rows = n_rows, .owner = owner, .span = span};
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

/* The bit of the row that was likely meant, which is then not missing as well. */
static uint32_t report_unknown(const struct load *load, const struct node *key, const struct param_set *set)
{
    const char *names[PARAMS_MAX + 8];
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows && i < PARAMS_MAX; i++)
        names[n++] = set->rows[i].name;
    for (size_t i = 0; i < load->n_other_keys && n < sizeof names / sizeof *names; i++)
        names[n++] = load->other_keys[i];
    const char *nearest = ts_load_unknown(load->diag, key, set->owner, "parameter", names, n);
    size_t i;
    return nearest && ts_param_find(set->rows, set->n_rows, nearest, &i) ? UINT32_C(1) << i : 0;
}

void ts_load_params(const struct load *load, const struct node *map, struct param_set *set)
{
    char found[TREE_SHOWN_BYTES + 2];
    uint32_t seen = 0; /* a value that was refused is not missing as well */
    if (map->kind == NODE_REFUSED)
        return;
    if (map->kind != NODE_MAP && !ts_load_is_nothing(map)) {
        ts_diag_error(load->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "wrong-kind", .span = map->span, .stage = set->owner},
                      "a map of parameters is expected, found %s", ts_load_found(map, found));
        return;
    }
    for (const struct node *entry = map->first; entry; entry = entry->next) {
        size_t i;
        if (ts_param_find(set->rows, set->n_rows, entry->key->text, &i)) {
            seen |= UINT32_C(1) << i;
            ts_load_value(load, entry, set, i);
        } else if (!is_other_key(load, entry->key->text)) {
            seen |= report_unknown(load, entry->key, set);
        }
    }
    for (size_t i = 0; i < set->n_rows; i++)
        if (set->rows[i].required && !map->incomplete && !(seen >> i & 1)) {
            const struct param *row = &set->rows[i];
            ts_param_error(set, row->name, "parameter-missing", load->diag, "required, but not given");
            ts_diag_hint(load->diag, "%s: %s", row->name, row->doc);
        }
}
