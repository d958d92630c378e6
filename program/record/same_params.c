/* SPDX-License-Identifier: Apache-2.0
 *
 * A result holds its chain with every parameter resolved. The plan's parameters are resolved as well, as far as headers
 * tell; what only a run can know follows from the others.
 */
#include "program/record/same_params.h"

#include <stdlib.h>
#include <string.h>

/* Returns the value as text; a value that was left out is empty. NULL where memory is out. */
static char *value_text(const struct param_set *set, size_t i)
{
    const void *at = ts_param_field(set, i);
    const enum param_kind kind = set->params[i].kind;
    const bool empty = (kind == PARAM_TEXT && !*(const char *const *)at) ||
                       (kind == PARAM_REFERENCE && !((const struct ts_reference *)at)->name);
    const int length = empty ? 0 : ts_param_format(set, i, NULL, 0);
    char *text = length < 0 ? NULL : calloc(1, (size_t)length + 1);
    if (text && !empty)
        ts_param_format(set, i, text, (size_t)length + 1);
    return text;
}

bool ts_same_params(const struct param_set *planned, const struct param_set *recorded, int path, bool known,
                    struct param_difference *difference)
{
    for (size_t i = 0; i < planned->n_params; i++) {
        const bool derived = planned->params[i].derived && !(planned->given >> i & 1);
        if ((int)i == path || ts_param_is_idle(planned, i) || (derived && (!known || !(recorded->given >> i & 1))))
            continue;
        char *texts[2] = {value_text(planned, i), value_text(recorded, i)};
        if (texts[0] && texts[1] && !strcmp(texts[0], texts[1])) {
            free(texts[0]);
            free(texts[1]);
            continue;
        }
        *difference = (struct param_difference){planned->owner, planned->params[i].name, texts[0], texts[1],
                                                !texts[0] || !texts[1]};
        return false;
    }
    return true;
}

bool ts_same_stage_params(const struct param_set *planned, const struct ts_chain *recorded, int32_t stage, bool known,
                          struct param_difference *difference)
{
    const struct param_set *other = &recorded->stages[stage].set;
    struct param_set set = *planned;
    if (recorded->sweep.n > 0 && stage >= recorded->sweep.stage && other->version == set.version)
        set.idle |= ~(set.given | other->given);
    return ts_same_params(&set, other, -1, known, difference);
}

void ts_param_difference_clear(struct param_difference *difference)
{
    free(difference->planned);
    free(difference->recorded);
    *difference = (struct param_difference){0};
}
