/* SPDX-License-Identifier: Apache-2.0
 *
 * libtomostage in contexts: settings of its own, and processes of its own, for each part of a
 * program that uses the library.
 *
 *     struct ts_settings settings = {sizeof settings, .threads = 2};
 *     status = ts_context_create(&settings, &context, diag);
 *     if (status == TS_OK)
 *         status = ts_context_parse(context, text, strlen(text), "chain", NULL, &chain, diag);
 *     if (status == TS_OK) status = ts_plan_create(chain, &options, &plan, diag);
 *
 * The rules of tomostage.h hold. A chain belongs to a context, and so do its plans and their runs.
 * Those of ts_chain_load() and ts_chain_parse() belong to that of the process, which has no
 * settings. Contexts do not disturb each other, and one context may have any number of plans at
 * work at once. Unlike the other objects, a context may be used by several threads at once. An
 * array of a chain is only read, so that several chains may have the same one.
 */
#ifndef TOMOSTAGE_CONTEXT_H
#define TOMOSTAGE_CONTEXT_H

#include "tomostage.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ts_settings {
    size_t
        size; /* sizeof(struct ts_settings) as the caller was compiled; 0: that in this library */
    /* The program that decodes files, libexec/tomostage/sandbox of the same build. It is
     * looked up when the first file needs it, a relative path from the folder that is then the
     * current one. NULL: the library finds it from its own place. */
    const char *sandbox;
    /* Of plans whose options say 0; 0: one per core that this process may use. It is not below 0
     * (option-negative). */
    int64_t threads;
};

struct ts_context;
/* Makes a context. `settings` is copied; NULL: every setting has its default. Members past
 * settings->size have theirs, too. It starts nothing: the program that decodes files starts with
 * the first file that needs it. TS_RUN_FAILED: memory is out. */
TS_PUBLIC enum ts_status ts_context_create(const struct ts_settings *settings,
                                           struct ts_context **context, struct ts_diag *diag);
/* Ends the context and its processes. Its chains, plans and runs have been destroyed before. */
TS_PUBLIC void ts_context_destroy(struct ts_context *context);
/* Reads a chain into the context (NULL: that of the process), as ts_chain_parse() does. */
TS_PUBLIC enum ts_status ts_context_parse(struct ts_context *context, const char *text,
                                          size_t length, const char *name, const char *folder,
                                          struct ts_chain **chain, struct ts_diag *diag);
/* Reads a chain file into the context, as ts_chain_load() does. */
TS_PUBLIC enum ts_status ts_context_load_chain(struct ts_context *context, const char *path,
                                               struct ts_chain **chain, struct ts_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
