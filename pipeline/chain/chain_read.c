/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads chains from files and texts: a text becomes a tree (from YAML or the one-line form), and
 * the tree becomes a chain. The chain keeps a copy of its text, since messages of later steps point
 * into it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "io/source/memory.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/oneline.h"
#include "pipeline/chain/yaml.h"

static struct ts_chain *create_chain(const struct ts_context *context, const char *name,
                                     const char *text, size_t length, struct ts_diag *diag)
{
    struct ts_chain *chain = calloc(1, sizeof *chain);
    if (chain)
        chain->arena = ts_arena_create();
    if (chain && chain->arena) {
        chain->context = context;
        chain->source_name = ts_arena_text(chain->arena, name, strlen(name));
        chain->text = ts_arena_text(chain->arena, text, length);
        chain->text_length = length;
    }
    if (chain && chain->source_name && chain->text)
        return chain;
    ts_chain_destroy(chain);
    ts_diag_no_memory(diag, length);
    return NULL;
}

static enum ts_status parse(const struct ts_context *context, const char *text, size_t length,
                            const char *name, const char *folder, bool may_be_oneline,
                            struct ts_chain **result, struct ts_diag *diag)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    if (length >= 3 && !memcmp(text, byte_order_mark, 3)) {
        text += 3;
        length -= 3;
    }
    *result = NULL;
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    /* A text that is too long is neither copied nor searched for lines. */
    const size_t kept = length > TREE_MAX_BYTES ? 0 : length;
    ts_diag_set_source(diag, name, text, kept);
    struct ts_chain *chain = create_chain(context, name, text, kept, diag);
    struct tree tree = {.diag = diag,
                        .text = text,
                        .length = length,
                        .stages = ts_context_stages(context),
                        .arena = ts_arena_create()};
    if (chain && !tree.arena)
        ts_diag_no_memory(diag, length);
    if (chain && tree.arena) {
        const bool oneline =
            may_be_oneline && length <= TREE_MAX_BYTES && ts_oneline_is(text, length);
        ts_diag_spell_hints(diag, oneline ? ts_oneline_hint : NULL);
        if (oneline ? ts_oneline_read(&tree) : ts_yaml_read(&tree))
            ts_chain_build(chain, tree.root, folder, diag);
    }
    ts_arena_destroy(tree.arena);
    const enum ts_status status = ts_diag_status_since(diag, count, errors);
    if (status == TS_OK)
        *result = chain;
    else
        ts_chain_destroy(chain);
    return status;
}

enum ts_status ts_chain_read(const struct ts_context *context, const char *text, size_t length,
                             const char *name, const char *folder, struct ts_chain **chain,
                             struct ts_diag *diag)
{
    if (chain)
        *chain = NULL;
    if (ts_arguments_lack(diag, "chain", chain))
        return TS_BAD_CHAIN;
    if (!text && length > 0)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "argument-null"},
                             "the argument 'text' is NULL, and its length is %zu", length);
    return parse(context, text ? text : "", length, name ? name : "chain", folder, true, chain,
                 diag);
}

enum ts_status ts_chain_parse(const char *text, size_t length, const char *name, const char *folder,
                              struct ts_chain **chain, struct ts_diag *diag)
{
    return ts_chain_read(NULL, text, length, name, folder, chain, diag);
}

enum ts_status ts_context_parse(struct ts_context *context, const char *text, size_t length,
                                const char *name, const char *folder, struct ts_chain **chain,
                                struct ts_diag *diag)
{
    return ts_chain_read(context, text, length, name, folder, chain, diag);
}

/* A path that leads nowhere may be meant as the name of a stage. */
static void hint_for(const char *path, struct ts_diag *diag)
{
    const char *names[CHAIN_MAX_STAGES];
    const size_t n = ts_registry_names(NULL, names, sizeof names / sizeof *names);
    const char *nearest = ts_nearest_name(path, names, n);
    if (nearest)
        ts_diag_hint(diag, "did you mean the stage '%s'?", nearest);
    else
        ts_diag_hint(
            diag,
            "a chain is a file, or one line such as 'dicom ./study | box radius=2 | hdf5 out.h5'");
}

enum ts_status ts_context_load_chain(struct ts_context *context, const char *path,
                                     struct ts_chain **chain, struct ts_diag *diag)
{
    if (chain)
        *chain = NULL;
    if (ts_arguments_lack(diag, "path, chain", path, chain))
        return TS_BAD_CHAIN;
    char *text = malloc(TREE_MAX_BYTES + 1), *folder = NULL;
    if (!text)
        return ts_diag_no_memory(diag, TREE_MAX_BYTES + 1);
    enum ts_status status = TS_RUN_FAILED;
    const char *slash = strrchr(path, '/');
    const ssize_t length = ts_tree_read_file(path, text);
    if (!*path) {
        status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "chain-empty"},
                               "the chain has no text");
        hint_for(path, diag);
        goto done;
    }
    if (length < 0) {
        status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "chain-unreadable"},
                               "cannot read the chain %s: %s", path, strerror(errno));
        hint_for(path, diag);
        goto done;
    }
    if (slash)
        folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    else
        folder = strdup("");
    if (!folder) {
        status = ts_diag_no_memory(diag, strlen(path));
        goto done;
    }
    status = parse(context, text, (size_t)length, path, folder, false, chain, diag);
done:
    free(folder);
    free(text);
    return status;
}

enum ts_status ts_chain_load(const char *path, struct ts_chain **chain, struct ts_diag *diag)
{
    return ts_context_load_chain(NULL, path, chain, diag);
}

void ts_chain_destroy(struct ts_chain *chain)
{
    if (!chain)
        return;
    for (int32_t i = 0; i < chain->n_sources; i++)
        if (chain->sources[i].format == &memory_format)
            ts_memory_leave(((const struct memory_params *)chain->sources[i].set.values)->input);
    ts_arena_destroy(chain->arena);
    free(chain);
}
