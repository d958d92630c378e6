/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "stages/engine/stage.h"

#define STAGE(room, name) extern const struct stage name##_stage;
#include "stages/stages.def"
#undef STAGE

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
