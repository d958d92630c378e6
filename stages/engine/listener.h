/* SPDX-License-Identifier: Apache-2.0
 *
 * This tells the listener of a run how far a map that iterates is.
 */
#ifndef STAGES_ENGINE_LISTENER_H
#define STAGES_ENGINE_LISTENER_H

#include "stages/engine/stage.h"

/* Tells the listener of a map, if there is one, of its iterations. */
static inline void ts_stage_iterated(const struct stage_context *context, struct stage_iteration iteration)
{
    if (context->listener)
        context->listener->iterated(context->listener->user, context, &iteration);
}

#endif
