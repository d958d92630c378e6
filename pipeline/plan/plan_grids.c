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
    const struct diag_site site = {.code = "grid-unknown", .span = node->set.span, .stage = node->label};
    if (in->has_geometry == image->has_geometry)
        return;
    ts_diag_warning(diag, &site, "%s does not say how it lies in the patient: it is taken to have the grid of %s",
                    in->has_geometry ? "a reference" : "the image", in->has_geometry ? "the image" : "its reference");
    ts_diag_hint(diag, "an input from DICOM, NIfTI, NRRD or a result of such a one says it");
}

/* Warns where the stage joins an image and one of another frame of reference: equal positions in the two need not be
 * one place. */
static void warn_of_frames(const struct plan_node *node, int frame, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "frames-differ", .span = node->set.span, .stage = node->label};
    if (node->context.in.frame == 0 || frame == 0 || node->context.in.frame == frame)
        return;
    ts_diag_warning(diag, &site,
                    "the image and its reference have other Frame of Reference UIDs: that equal positions in both are "
                    "one place is not stated");
    ts_diag_hint(diag, "this is right where the two were aligned, or lie in the patient as they were scanned");
}

static void warn_of_reference(const struct plan_node *node, int reference, struct ts_diag *diag)
{
    const struct ts_image *image = node->context.references[reference];
    if (!image || !ts_stage_streams(&node->context, reference) || ts_image_is_sinogram(&node->context.in) ||
        ts_image_is_sinogram(image))
        return;
    warn_of(node, reference, diag);
    warn_of_frames(node, image->frame, diag);
}

void ts_plan_warn_grids(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        for (int reference = 0; reference < STAGE_REFERENCES; reference++)
            warn_of_reference(&plan->nodes[i], reference, diag);
        warn_of_frames(&plan->nodes[i], plan->nodes[i].out.frame, diag); /* that of the grid that it gets */
    }
}
