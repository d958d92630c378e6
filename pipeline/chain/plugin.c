/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages from outside join a context here: those of a program's own, and those of a plugin, whose
 * file is read once for its digest and opened by the dynamic linker.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arguments.h"
#include "io/file/digest.h"
#include "io/sink/sink.h"
#include "pipeline/chain/context.h"
#include "pipeline/chain/formats.h"

enum { MOST_STAGES = 64, PIECE = 1 << 16 };

/* Refuses names that chains give another meaning. */
static enum ts_status check_name(const char *name, struct ts_diag *diag)
{
    static const char *const words[] = {"input", "output", "hdf5", "name"};
    bool taken = name && (ts_source_format_find(name) || ts_sink_find(name));
    for (size_t i = 0; name && i < sizeof words / sizeof *words; i++)
        taken |= !strcmp(name, words[i]);
    return taken ? ts_diag_error(diag, TS_BAD_CHAIN,
                                 &(struct diag_site){.code = "stage-taken", .stage = name},
                                 "is the name of an input or output in chains")
                 : TS_OK;
}

static enum ts_status plugin_add(struct ts_context *context, const struct ts_stage *const *stages,
                                 size_t n, const char *sha256, struct ts_diag *diag)
{
    for (size_t i = 0; i < n; i++)
        if (stages[i]->size > offsetof(struct ts_stage, version) &&
            check_name(stages[i]->name, diag) != TS_OK)
            return TS_BAD_CHAIN;
    return ts_registry_add(ts_context_stages(context), stages, n, sha256, diag);
}

enum ts_status ts_context_add_stage(struct ts_context *context, const struct ts_stage *stage,
                                    struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "stage", stage))
        return TS_BAD_CHAIN;
    return plugin_add(context, &stage, 1, NULL, diag);
}

/* ---- plugins --------------------------------------------------------------------------------- */

static enum ts_status plugin_unreadable(const char *path, const char *reason, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "plugin-unreadable"},
                         "cannot open the plugin %s: %s", path, reason);
}

/* Computes the digest of a regular file. Returns 0 or an errno. */
static int digest_file(const char *path, char sha256[DIGEST_TEXT_BYTES])
{
    /* A FIFO would block. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    struct digest *digest = ts_digest_create();
    char *piece = malloc(PIECE);
    int error = fd < 0 || fstat(fd, &status) != 0 ? errno : 0;
    if (!error && !S_ISREG(status.st_mode))
        error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    if (!error && (!digest || !piece))
        error = ENOMEM;
    if (!error)
        error = ts_digest_add_file(digest, fd, (uint64_t)status.st_size, piece, PIECE);
    if (!error && !ts_digest_end(digest, sha256))
        error = ENOMEM;
    ts_digest_destroy(digest);
    free(piece);
    if (fd >= 0)
        close(fd);
    return error;
}

/* Returns true if the context has the stages of this file. */
static bool is_loaded(const struct ts_context *context, const char *sha256)
{
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(ts_context_stages(context), i)) != NULL; i++)
        if (stage->origin && stage->origin->sha256 && !strcmp(stage->origin->sha256, sha256))
            return true;
    return false;
}

/* Adds the stages of a library that is open. */
static enum ts_status add_stages(struct ts_context *context, void *library, const char *path,
                                 const char *sha256, struct ts_diag *diag)
{
    const struct ts_stage *stages[MOST_STAGES + 1], *(*next)(size_t) = NULL;
    const struct diag_site site = {.code = "plugin-foreign"};
    void *const symbol = dlsym(library, "ts_plugin");
    size_t n = 0;
    if (!symbol)
        return ts_diag_error(diag, TS_BAD_CHAIN, &site,
                             "%s is no plugin of tomostage: it has no function ts_plugin", path);
    memcpy(&next, &symbol, sizeof next);
    while (n <= MOST_STAGES && (stages[n] = next(n)) != NULL)
        n++;
    if (n == 0 || n > MOST_STAGES)
        return ts_diag_error(diag, TS_BAD_CHAIN, &site,
                             "the plugin %s has %s; it can have 1 to %d of them", path,
                             n == 0 ? "no stage" : "too many stages", MOST_STAGES);
    return plugin_add(context, stages, n, sha256, diag);
}

enum ts_status ts_context_load(struct ts_context *context, const char *path, struct ts_diag *diag)
{
    char sha256[DIGEST_TEXT_BYTES];
    if (ts_arguments_lack(diag, "path", path))
        return TS_BAD_CHAIN;
    /* The linker looks for a name without a slash elsewhere. */
    char *whole = realpath(path, NULL);
    const int error = whole ? digest_file(whole, sha256) : errno;
    enum ts_status status = error ? plugin_unreadable(path, strerror(error), diag) : TS_OK;
    if (status == TS_OK && !is_loaded(context, sha256)) {
        void *library = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
        status = library ? add_stages(context, library, path, sha256, diag)
                         : plugin_unreadable(path, dlerror(), diag);
        /* One that gave stages stays open: its functions may be called until the process ends. */
        if (library && status != TS_OK)
            dlclose(library);
    }
    free(whole);
    return status;
}
