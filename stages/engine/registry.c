/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the list of all stages, made from stages/stages.def; it also finds a stage by its name.
 * `tomostage stages` and the docs keep the order of the lines there. A new stage needs one line
 * there and none here.
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
