/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads names, texts and paths of a chain's tree, and reports what is wrong with them.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/chain/load.h"

const char *ts_load_unknown(struct ts_diag *diag, const char *text, struct ts_span span,
                            const char *owner, const char *what, const char *const *names, size_t n)
{
    char shown[TREE_SHOWN_BYTES], known[512], code[64];
    const char *nearest = ts_diag_is_full(diag) ? NULL : ts_nearest_name(text, names, n);
    snprintf(code, sizeof code, "unknown-%s", what);
    const struct diag_site site = {.code = code, .span = span, .stage = owner};
    ts_tree_shown(text, shown);
    if (nearest)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "unknown %s '%s'; did you mean '%s'?", what, shown,
                      nearest);
    else
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "unknown %s '%s'", what, shown);
    ts_list_names(known, sizeof known, names, n);
    ts_diag_hint(diag, n > 0 ? "known: %s" : "there is none%s", known);
    return nearest;
}

void ts_load_expected(struct ts_diag *diag, const struct node *node, const char *owner,
                      const char *what)
{
    char found[TREE_SHOWN_BYTES + 2];
    if (node->kind != NODE_REFUSED)
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "wrong-kind", .span = node->span, .stage = owner},
                      "%s is expected, found %s", what, ts_tree_describe(node, found));
}

const char *ts_load_text(struct ts_diag *diag, const struct node *node, const char *owner,
                         const char *expected)
{
    if (node->kind != NODE_REFUSED && node->text && !ts_tree_is_nothing(node))
        return node->text;
    ts_load_expected(diag, node, owner, expected);
    return NULL;
}

/* Returns the folder that a path means by its first letters, ~/, $HOME/ or ${HOME}/, as a shell
   does, and moves `path` behind them. NULL if it does not begin so. */
static const char *take_home(const char **path)
{
    static const char *const forms[] = {"~", "$HOME", "${HOME}"};
    const char *home = getenv("HOME");
    for (size_t i = 0; home && *home && i < sizeof forms / sizeof *forms; i++) {
        const size_t length = strlen(forms[i]);
        if (strncmp(*path, forms[i], length) || ((*path)[length] && (*path)[length] != '/'))
            continue;
        *path += length;
        *path += strspn(*path, "/");
        return home;
    }
    return NULL;
}

const char *ts_load_path(const struct load *load, const char *path)
{
    const char *home = take_home(&path);
    const char *folder = home ? home : load->folder;
    const size_t length = folder ? strlen(folder) : 0;
    const char *joined;
    if (length == 0 || path[0] == '/')
        joined = ts_arena_text(load->arena, path, strlen(path));
    else
        joined =
            ts_arena_printf(load->arena, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/",
                            strncmp(path, "./", 2) || !path[2] ? path : path + 2);
    if (!joined)
        ts_diag_no_memory(load->diag, length + strlen(path) + 2);
    return joined;
}
