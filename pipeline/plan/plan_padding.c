/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage's table says what it does with invalid pixels (stages/engine/stage.h: enum stage_validity, order_free), so
 * that this needs no list of stages.
 */
#include "pipeline/plan/plan_padding.h"

#include "stages/engine/validity.h"

void ts_plan_warn_padding(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (!ts_stage_takes_invalid(&node->context))
            continue;
        const struct diag_site site = {.code = "padding-as-values", .span = node->set.span, .stage = node->label};
        ts_diag_warning(diag, &site, "takes padding, where nothing was measured, for measured values");
        ts_diag_hint(diag, ts_image_is_sinogram(&node->context.in)
                               ? "`bad_pixels` before it fills such pixels from those beside them"
                               : "docs/padding.md lists the stages that know of it");
    }
}
