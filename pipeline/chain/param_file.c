/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is read whole, once, when the plan is made. JSON is YAML, so the reader of chains reads
 * it, and the loader checks its numbers as it checks those of a chain.
 */
#include "pipeline/chain/param_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/digest.h"
#include "io/file/file_bytes.h"
#include "io/file/regular_file.h"
#include "pipeline/chain/load.h"
#include "pipeline/chain/yaml.h"

/* A file, the parameter that names it, and the set that takes its numbers. */
struct param_file {
    struct param_set *set;
    size_t param, numbers, sha256;
    const char *path;
    struct arena *arena;
    struct ts_diag *diag;
};

static const char fit_hint[] =
    "`tomostage batch CHAIN STUDY... -o FOLDER --fit` writes such a file";

static struct diag_site site_of(const struct param_file *file, const char *code)
{
    return (struct diag_site){
        .code = code, .span = file->set->spans[file->param], .stage = file->set->owner};
}

static enum ts_status refuse_content(const struct param_file *file, const char *why)
{
    const struct diag_site site = site_of(file, "parameter-file");
    ts_diag_error(file->diag, TS_BAD_INPUT, &site, "%s is no file of %s: %s", file->path,
                  file->set->params[file->numbers].name, why);
    return ts_diag_hint(file->diag, "%s", fit_hint);
}

/* Reads the whole file into the arena, ended by a zero. */
static enum ts_status read_text(const struct param_file *file, char **text, size_t *length)
{
    struct stat found;
    char reason[512];
    const struct diag_site site = site_of(file, "input-unreadable");
    enum ts_status status = TS_OK;
    const int fd = ts_regular_file_open(file->path, &found, reason, sizeof reason);
    if (fd < 0) {
        ts_diag_error(file->diag, TS_BAD_INPUT, &site, "%s %s", file->path, reason);
        return ts_diag_hint(file->diag, "%s", fit_hint);
    }
    *length = (size_t)found.st_size;
    *text = found.st_size > TREE_MAX_BYTES ? NULL : ts_arena_alloc(file->arena, *length + 1);
    if (found.st_size > TREE_MAX_BYTES)
        status = refuse_content(file, "it is larger than 1 MiB");
    else if (!*text)
        status = ts_diag_no_memory(file->diag, *length);
    else if (!ts_file_read_at(fd, *text, *length, 0))
        status =
            ts_diag_error(file->diag, TS_BAD_INPUT, &site, "%s cannot be read whole", file->path);
    if (*text)
        (*text)[*length] = '\0';
    const enum ts_status same = ts_regular_file_recheck(
        file->path, fd, &found, (struct diag_site){.span = site.span, .stage = site.stage},
        file->diag);
    close(fd);
    return same == TS_OK ? status : same;
}

/* Returns true if the object has this text or number. */
static bool has(const struct node *root, const char *key, const char *text)
{
    const struct node *value = ts_tree_find(root, key);
    return value && value->kind == NODE_SCALAR && value->text && !strcmp(value->text, text);
}

/* Loads the stage's numbers from the tree. Errors are in load->diag. */
static void take_numbers(const struct param_file *file, const struct load *load,
                         const struct node *root)
{
    struct param_set *set = file->set;
    for (const struct node *entry = root->first; entry; entry = entry->next) {
        size_t i;
        if (!ts_param_find(set->params, set->n_params, entry->key->text, &i) ||
            set->params[i].kind != PARAM_NUMBERS)
            continue;
        if (set->given >> i & 1)
            ts_diag_error(load->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "parameter-unused"},
                          "the chain gives %s too", set->params[i].name);
        else
            ts_load_value(load, entry, set, i);
        set->spans[i] = set->spans[file->param];
    }
}

/* Reads the numbers out of the text; `apart` has errors whose places are in the file. */
static enum ts_status take_text(const struct param_file *file, const char *text, size_t length,
                                struct ts_diag *apart)
{
    struct tree tree = {
        .arena = file->arena, .diag = apart, .what = "the file", .text = text, .length = length};
    const struct load load = {.arena = file->arena, .diag = apart};
    char version[16];
    snprintf(version, sizeof version, "%d", PARAM_FILE_VERSION);
    if (ts_tree_check_text(&tree) && ts_yaml_read(&tree) && ts_diag_error_count(apart) == 0) {
        if (!tree.root || tree.root->kind != NODE_MAP || !has(tree.root, "stage", file->set->owner))
            return refuse_content(file, "it does not say that it is for this stage");
        if (!has(tree.root, "version", version))
            return refuse_content(file, "its version is not 1");
        take_numbers(file, &load, tree.root);
    }
    if (ts_diag_error_count(apart) > 0)
        return refuse_content(file, ts_diag_first_error(apart));
    return file->set->given >> file->numbers & 1 ? TS_OK
                                                 : refuse_content(file, "it has no such numbers");
}

static enum ts_status read_file(const struct param_file *file)
{
    struct param_set *set = file->set;
    char *text = NULL, *digest = ts_arena_alloc(file->arena, DIGEST_TEXT_BYTES);
    size_t length = 0;
    if (set->given >> file->numbers & 1)
        return ts_param_error(set, set->params[file->numbers].name, "parameter-unused", file->diag,
                              "is not used with %s", set->params[file->param].name);
    struct ts_diag *apart = ts_diag_create();
    enum ts_status status =
        digest && apart ? TS_OK : ts_diag_no_memory(file->diag, DIGEST_TEXT_BYTES);
    if (status == TS_OK)
        status = read_text(file, &text, &length);
    if (status == TS_OK)
        status = take_text(file, text, length, apart);
    if (status == TS_OK && !ts_digest_of(text, length, digest))
        status = ts_diag_no_memory(file->diag, length);
    if (status == TS_OK) {
        *(const char **)ts_param_field(set, file->sha256) = digest;
        set->given |= UINT32_C(1) << file->sha256;
        set->idle |= UINT32_C(1) << file->param;
    }
    ts_diag_destroy(apart);
    return status;
}

/* Sets the parts of a file whose path a stage is given. Returns false if it is given none. */
static bool find_file(struct param_set *set, struct param_file *file)
{
    char name[64];
    for (size_t i = 0; i < set->n_params; i++) {
        const char *path =
            set->params[i].kind == PARAM_TEXT ? *(const char *const *)ts_param_field(set, i) : NULL;
        if (!path || !*path || !ts_param_is_file(set->params, set->n_params, i))
            continue;
        file->set = set;
        file->param = i;
        file->path = path;
        snprintf(name, sizeof name, "%s", set->params[i].name);
        *strrchr(name, '_') = '\0';
        ts_param_find(set->params, set->n_params, name, &file->numbers);
        strcat(name, "_sha256");
        return ts_param_find(set->params, set->n_params, name, &file->sha256);
    }
    return false;
}

enum ts_status ts_chain_read_files(const struct ts_chain **chain, struct arena *arena,
                                   struct ts_diag *diag)
{
    struct param_file file = {.arena = arena, .diag = diag};
    const struct chain_sweep *sweep = &(*chain)->sweep;
    enum ts_status status = TS_OK;
    struct ts_chain *copy = NULL;
    struct chain_stage *stages = NULL;
    for (int32_t i = 0; status == TS_OK && i < (*chain)->n_stages; i++) {
        if (!find_file(&(*chain)->stages[i].set, &file))
            continue;
        if (sweep->n > 0 && sweep->stage == i && sweep->param == file.param) {
            const struct diag_site site = site_of(&file, "parameter-file");
            return ts_diag_error(diag, TS_BAD_CHAIN, &site, "a sweep over files is not possible");
        }
        if (!copy) {
            copy = ts_arena_copy(arena, *chain, 1, sizeof *copy);
            stages =
                ts_arena_copy(arena, (*chain)->stages, (size_t)(*chain)->n_stages, sizeof *stages);
        }
        void *values = ts_arena_copy(arena, (*chain)->stages[i].set.values, 1,
                                     (*chain)->stages[i].stage->params_bytes);
        if (!copy || !stages || !values)
            return ts_diag_no_memory(diag, sizeof *copy);
        stages[i].set.values = values;
        file.set = &stages[i].set;
        status = read_file(&file);
    }
    if (copy) {
        copy->stages = stages;
        *chain = copy;
    }
    return status;
}
