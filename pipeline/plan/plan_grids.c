/* SPDX-License-Identifier: Apache-2.0
 *
 * The warning is given once the whole plan stands, because stages are prepared anew whenever a choice of the plan
 * changes. Where neither volume has a geometry there is nothing that one of them lacks, and no warning.
 */
#include "pipeline/plan/plan_grids.h"

#include "stages/engine/traits.h"

static void warn_of(const struct plan_node *node, int reference, struct ts_diag *diag)
{
    const struct ts_image *in = &node->context.in, *image = node->context.references[reference];
    if (!ts_stage_streams(&node->context, reference) || ts_image_is_sinogram(in) || ts_image_is_sinogram(image) ||
        in->has_geometry == image->has_geometry)
        return;
    const struct diag_site site = {.code = "grid-unknown", .span = node->set.span, .stage = node->label};
    ts_diag_warning(diag, &site, "%s does not say how it lies in the patient: it is taken to have the grid of %s",
                    in->has_geometry ? "a reference" : "the image", in->has_geometry ? "the image" : "its reference");
    ts_diag_hint(diag, "an input from DICOM, NIfTI, NRRD or a result of such a one says it");
}

void ts_plan_warn_grids(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        for (int reference = 0; reference < STAGE_REFERENCES; reference++)
            if (plan->nodes[i].context.references[reference])
                warn_of(&plan->nodes[i], reference, diag);
}
