/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of all stages, in the order of stages/stages.def, which `tomostage stages` and the docs keep.
 */
#include <string.h>

#include "stages/engine/stage.h"

const struct stage *const ts_stages[] = {
#define STAGE(room, name) &name##_stage,
#include "stages/stages.def"
#undef STAGE
    NULL,
};

const struct stage *ts_stage_find(const char *name)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        if (!strcmp((*stage)->name, name))
            return *stage;
    return NULL;
}
