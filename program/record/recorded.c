/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the chain is parsed as any other, so that a chain of an older version keeps the defaults of its version.
 * Flats and darks of the same file as their projections are recorded as inputs of their own, which is why a path
 * without a name stands for every input: a wrong guess shows in the digests.
 */
#include "program/record/recorded.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "pipeline/chain/chain_build.h"

static enum ts_status read_chain(struct recorded *recorded, struct ts_diag *diag)
{
    const char *text, *path = recorded->path;
    const enum ts_status status = ts_made_chain(path, recorded->arena, &text, diag);
    if (status != TS_OK)
        return status;
    const int length = (int)(ts_base_name(path) - path);
    const char *folder = ts_arena_text(recorded->arena, path, (size_t)length);
    const char *name = ts_arena_printf(recorded->arena, "%s:/entry/provenance/chain", path);
    if (!folder || !name)
        return ts_diag_no_memory(diag, strlen(path));
    return ts_chain_parse(text, strlen(text), name, folder, &recorded->chain, diag);
}

/* Returns the input that "NAME=PATH" names, with the path in *path, or -1. */
static int32_t named_input(const struct ts_chain *chain, const char *text, const char **path)
{
    const char *equals = strchr(text, '=');
    *path = text;
    for (int32_t i = 0; equals && i < chain->n_sources; i++) {
        const char *name = chain->sources[i].name;
        if (strlen(name) == (size_t)(equals - text) && !strncmp(name, text, strlen(name))) {
            *path = equals + 1;
            return i;
        }
    }
    return -1;
}

/* Refuses a text that looks like a name with a path and names no input; a path may hold '=' where it is one. */
static enum ts_status check_name(const struct ts_chain *chain, const char *text, struct ts_diag *diag)
{
    const char *names[CHAIN_MAX_SOURCES];
    char list[512] = "", name[128];
    const size_t length = strcspn(text, "=/");
    if (text[length] != '=' || length == 0 || length >= sizeof name || access(text, F_OK) == 0)
        return TS_OK;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (int32_t i = 0; i < chain->n_sources; i++) {
        names[i] = chain->sources[i].name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = ts_nearest_name(name, names, (size_t)chain->n_sources);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-input"}, "the chain has no input '%s'%s%s%s",
                  name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return ts_diag_hint(diag, "it has: %s", list);
}

static enum ts_status put_paths(struct recorded *recorded, const char *const *inputs, int n, struct ts_diag *diag)
{
    struct ts_chain *chain = recorded->chain;
    const char *paths[CHAIN_MAX_SOURCES] = {NULL}, *others = NULL;
    enum ts_status status = TS_OK;
    for (int i = 0; i < n; i++) {
        const char *path;
        const int32_t named = named_input(chain, inputs[i], &path);
        const char **at = named < 0 ? &others : &paths[named];
        if (named < 0 && check_name(chain, inputs[i], diag) != TS_OK)
            return TS_BAD_CHAIN;
        if (*at)
            return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "input-twice"},
                                 "'%s' and '%s' are both given as the input%s%s", *at, path, named < 0 ? "" : " ",
                                 named < 0 ? "" : chain->sources[named].name);
        *at = path;
    }
    for (int32_t i = 0; i < chain->n_sources && status == TS_OK; i++) {
        const char *path = paths[i] ? paths[i] : others;
        recorded->given[i] = path != NULL;
        if (path)
            status = ts_chain_set_path(chain, &chain->sources[i], path, diag);
    }
    return status;
}

enum ts_status ts_recorded_open(const char *path, const char *const *inputs, int n, struct recorded *recorded,
                                struct ts_diag *diag)
{
    *recorded = (struct recorded){.arena = ts_arena_create(), .path = path};
    if (!recorded->arena)
        return ts_diag_no_memory(diag, sizeof *recorded);
    enum ts_status status = ts_made_read(path, recorded->arena, &recorded->made, diag);
    if (status == TS_OK)
        status = read_chain(recorded, diag);
    return status == TS_OK ? put_paths(recorded, inputs, n, diag) : status;
}

enum ts_status ts_recorded_check_inputs(const struct recorded *recorded, const char *option, struct ts_diag *diag)
{
    const int folder = (int)(ts_base_name(recorded->path) - recorded->path);
    for (int32_t i = 0; i < recorded->chain->n_sources; i++) {
        const char *name = recorded->chain->sources[i].name;
        char path[4096];
        snprintf(path, sizeof path, "%.*s%s", folder, recorded->path, name);
        if (recorded->given[i] || access(path, F_OK) == 0)
            continue;
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-not-given", .stage = name},
                      "nothing says where this input is, and there is no '%s'", path);
        return ts_diag_hint(diag, "%s PATH gives all inputs of the chain, %s %s=PATH this one", option, option, name);
    }
    return TS_OK;
}

void ts_recorded_close(struct recorded *recorded)
{
    ts_chain_destroy(recorded->chain);
    ts_arena_destroy(recorded->arena);
    *recorded = (struct recorded){0};
}
