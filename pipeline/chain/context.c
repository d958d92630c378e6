/* SPDX-License-Identifier: Apache-2.0
 *
 * A context does not change once it is made, so that any thread may use it; only its server and its
 * list of stages have a state, and a lock.
 */
#include "pipeline/chain/context.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"

struct ts_context {
    struct sandbox *sandbox;
    struct stage_registry *stages;
    int threads;
};

enum ts_status ts_context_create(const struct ts_settings *given, struct ts_context **out,
                                 struct ts_diag *diag)
{
    struct ts_settings settings = {.size = sizeof settings};
    if (out)
        *out = NULL;
    if (ts_arguments_lack(diag, "context", out))
        return TS_BAD_CHAIN;
    if (given)
        memcpy(&settings, given,
               given->size > 0 && given->size < sizeof settings ? given->size : sizeof settings);
    if (ts_arguments_refuse_negative(diag, "settings.threads", (double)settings.threads) != TS_OK)
        return TS_BAD_CHAIN;
    struct ts_context *context = calloc(1, sizeof *context);
    if (context) {
        context->sandbox = ts_sandbox_create(settings.sandbox);
        context->stages = ts_registry_create();
    }
    if (!context || !context->sandbox || !context->stages) {
        ts_context_destroy(context);
        return ts_diag_no_memory(diag, sizeof *context);
    }
    context->threads = settings.threads < INT_MAX ? (int)settings.threads : INT_MAX;
    *out = context;
    return TS_OK;
}

void ts_context_destroy(struct ts_context *context)
{
    if (!context)
        return;
    ts_sandbox_destroy(context->sandbox);
    ts_registry_destroy(context->stages);
    free(context);
}

struct sandbox *ts_context_sandbox(const struct ts_context *context)
{
    return context ? context->sandbox : NULL;
}

struct stage_registry *ts_context_stages(const struct ts_context *context)
{
    return context ? context->stages : NULL;
}

int ts_context_threads(const struct ts_context *context)
{
    return context ? context->threads : 0;
}
