/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_unit.h"

#include <string.h>

enum ts_status ts_views_need_angles(const struct stage_context *context)
{
    const char *unit = context->in.axes[1].unit;
    if (unit && !strcmp(unit, "degree"))
        return TS_OK;
    ts_diag_error(
        context->diag, TS_BAD_CHAIN,
        &(struct diag_site){.code = "angles-missing", .span = context->set->span, .stage = context->stage->name},
        "the views of the sinogram have no angles");
    ts_diag_hint(context->diag, "docs/inputs.md says how an input is given its angles");
    return TS_BAD_CHAIN;
}
