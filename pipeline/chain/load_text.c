/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads names, texts and paths of a chain's tree, and reports what is wrong with them.
 */
#include <string.h>

#include "pipeline/chain/load.h"

bool ts_load_diag_is_full(const struct ts_diag *diag)
{
    return ts_diag_error_count(diag) >= DIAG_MAX_ERRORS;
}

enum ts_status ts_load_status(const struct ts_diag *diag, size_t count, size_t errors)
{
    if (ts_diag_error_count(diag) == errors)
        return TS_OK;
    for (size_t i = count; i < ts_diag_count(diag); i++)
        if (ts_diag_get(diag, i)->status == TS_RUN_FAILED)
            return TS_RUN_FAILED;
    return TS_BAD_CHAIN;
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

const char *ts_load_unknown(struct ts_diag *diag, const char *text, struct ts_span span, const char *owner,
                            const char *what, const char *const *names, size_t n)
{
    char shown[TREE_SHOWN_BYTES], known[512], code[64];
    const char *nearest = ts_load_diag_is_full(diag) ? NULL : ts_nearest_name(text, names, n);
    snprintf(code, sizeof code, "unknown-%s", what);
    const struct diag_site site = {.code = code, .span = span, .stage = owner};
    ts_tree_shown(text, shown);
    if (nearest)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "unknown %s '%s'; did you mean '%s'?", what, shown, nearest);
    else
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "unknown %s '%s'", what, shown);
    ts_load_list_names(known, sizeof known, names, n);
    ts_diag_hint(diag, n > 0 ? "known: %s" : "there is none%s", known);
    return nearest;
}

void ts_load_expected(struct ts_diag *diag, const struct node *node, const char *owner, const char *what)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (node->kind != NODE_REFUSED)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "wrong-kind", .span = node->span, .stage = owner},
                      "%s is expected, found %s", what, ts_load_found(node, found));
}

const char *ts_load_text(struct ts_diag *diag, const struct node *node, const char *owner, const char *expected)
{
    if (node->kind != NODE_REFUSED && node->text && !ts_load_is_nothing(node))
        return node->text;
    ts_load_expected(diag, node, owner, expected);
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
