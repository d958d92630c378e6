/* SPDX-License-Identifier: Apache-2.0
 *
 * What the chains of a context share. NULL in its place is the context of the process.
 */
#ifndef PIPELINE_CHAIN_CONTEXT_H
#define PIPELINE_CHAIN_CONTEXT_H

#include "include/tomostage_context.h"
#include "io/sandbox/sandbox.h"
#include "stages/engine/registry.h"

/* Returns the server of the processes that read the inputs of its chains; NULL: that of the
   process. */
struct sandbox *ts_context_sandbox(const struct ts_context *context);
/* Returns the stages that its chains may name; NULL: those of the process. */
struct stage_registry *ts_context_stages(const struct ts_context *context);
/* Returns how many threads a plan has if its options do not say; 0: as many as processors. */
int ts_context_threads(const struct ts_context *context);

#endif
