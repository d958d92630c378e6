/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings about a finished plan. Stages are prepared again whenever a choice of the plan changes,
 * so these warnings are given once, when the whole plan is made.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/number.h"
#include "pipeline/plan/plan_axis.h"
#include "pipeline/plan/plan_sweep.h"
#include "stages/engine/traits.h"

/* ---- padding --------------------------------------------------------------------------------- */

/* A stage's table says what it does with invalid pixels (stages/engine/stage.h: enum
   stage_validity, order_free), so no list of stages is needed here. */

/* Warns (code padding-as-values) of each stage whose input is masked and that takes invalid pixels
 * for values. */
static void warn_of_padding(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (!ts_stage_takes_invalid(&node->context))
            continue;
        const struct diag_site site = {
            .code = "padding-as-values", .span = node->set.span, .stage = node->label};
        ts_diag_warning(diag, &site,
                        "takes padding, where nothing was measured, for measured values");
        ts_diag_hint(diag, ts_image_is_sinogram(&node->context.in)
                               ? "`bad_pixels` before it fills such pixels from those beside them"
                               : "docs/padding.md lists the stages that know of it");
    }
}

/* Warns (code mask-mixed) of each stage that mixes the 0 and 1 of a mask into values between
 * them. A mask with several labels does not come this far: the stage refused it when it was
 * prepared. */
static void warn_of_mixed_masks(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const bool whole = ts_dtype_is_integer(node->out.dtype);
        if (node->context.stage->validity == VALIDITY_ENDS ||
            !ts_stage_mixes_labels(&node->context))
            continue;
        const struct diag_site site = {
            .code = "mask-mixed", .span = node->set.span, .stage = node->label};
        ts_diag_warning(diag, &site, "makes values between 0 and 1 of a mask%s",
                        whole ? ", and its integers hold 0 or 1, whichever is nearer" : "");
        ts_diag_hint(diag, "`rescale: {range: [0, 1]}` before it makes a weight of the mask, in "
                           "floats; masks are moved by `interpolation: nearest`");
    }
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* If neither volume states its place in the patient, neither lacks what the other has: no
   warning. */
static void warn_of(const struct plan_node *node, int reference, struct ts_diag *diag)
{
    const struct ts_image *in = &node->context.in, *image = node->context.references[reference];
    const struct diag_site site = {
        .code = "grid-unknown", .span = node->set.span, .stage = node->label};
    if (in->has_geometry == image->has_geometry)
        return;
    ts_diag_warning(
        diag, &site,
        "%s does not say how it lies in the patient: it is taken to have the grid of %s",
        in->has_geometry ? "a reference" : "the image",
        in->has_geometry ? "the image" : "its reference");
    ts_diag_hint(diag, "an input from DICOM, NIfTI, NRRD or a result of such a one says it");
}

/* Warns if the stage joins an image and one of a different frame of reference: equal positions in
   the two may be different places. */
static void warn_of_frames(const struct plan_node *node, int frame, struct ts_diag *diag)
{
    const struct diag_site site = {
        .code = "frames-differ", .span = node->set.span, .stage = node->label};
    if (node->context.in.frame == 0 || frame == 0 || node->context.in.frame == frame)
        return;
    ts_diag_warning(diag, &site,
                    "the image and its reference have other Frame of Reference UIDs: that equal "
                    "positions in both are one place is not stated");
    ts_diag_hint(
        diag,
        "this is right where the two were aligned, or lie in the patient as they were scanned");
}

static void warn_of_reference(const struct plan_node *node, int reference, struct ts_diag *diag)
{
    const struct ts_image *image = node->context.references[reference];
    if (!image || !ts_stage_streams(&node->context, reference) ||
        ts_image_is_sinogram(&node->context.in) || ts_image_is_sinogram(image))
        return;
    warn_of(node, reference, diag);
    warn_of_frames(node, image->frame, diag);
}

/* Warns (code grid-unknown) of each reference that streams with an image if only one of the two
 * says how it is in the patient; and (code frames-differ) of each stage that joins images of two
 * frames of reference. Grids that both state were compared when the stage was prepared
 * (stages/engine/prepare.h). */
static void warn_of_grids(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        for (int reference = 0; reference < STAGE_REFERENCES; reference++)
            warn_of_reference(&plan->nodes[i], reference, diag);
        warn_of_frames(&plan->nodes[i], plan->nodes[i].out.frame,
                       diag); /* the frame of the grid on which it is put */
    }
}

/* Warns (code pixel-size-unusual) of inputs whose pixels have a size that no scanner gives them: a
 * unit may be wrong. */
static void warn_of_pixel_sizes(const struct ts_plan *plan, struct ts_diag *diag)
{
    static const double largest_mm = 50, furthest_mm = 500, smallest_mm = 1e-6;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct plan_node *node = &plan->nodes[i];
        for (int d = 0; d < 3; d++) {
            const struct ts_axis *axis = &node->out.axes[d];
            const double size = axis->unit && !strcmp(axis->unit, "mm") && axis->n > 1
                                    ? fabs(ts_axis_spacing(axis))
                                    : 0;
            if (!(size > 0) || (size <= (d == 0 ? furthest_mm : largest_mm) && size >= smallest_mm))
                continue;
            const struct diag_site site = {
                .code = "pixel-size-unusual", .span = node->set.span, .stage = node->label};
            ts_diag_warning(diag, &site, "its pixels are %.4g mm apart along %s", size,
                            ts_axis_name(axis));
            ts_diag_hint(diag,
                         "no scanner makes such pixels: see if the unit in the file is right");
            break;
        }
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Both limits leave room for what is usual: the sinogram of a slice has 2 to 4 times its bytes, and
   floats have twice those of 16-bit integers. Stages behind the first one work on its large image,
   so they get no warning of their own. */
static const double unusual_bytes = 4e9, unusual_growth = 16;

/* Warns (size-unusual) of the first stage whose image has at least 4 GB and 16 times the bytes of
 * its input. */
static void warn_of_sizes(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const struct ts_axis *axes = node->out.axes;
        const double volumes = node->by_volume ? (double)plan->n_volumes : 1,
                     bytes = volumes * (double)ts_image_bytes(&node->out),
                     growth = (double)ts_image_bytes(&node->out) /
                              (double)ts_image_bytes(&node->context.in);
        char size[32];
        if (bytes < unusual_bytes || growth < unusual_growth)
            continue;
        ts_bytes_format(size, sizeof size, bytes);
        ts_diag_warning(diag,
                        &(struct diag_site){
                            .code = "size-unusual", .span = node->set.span, .stage = node->label},
                        "makes %s of %" PRId64 " x %" PRId64 " x %" PRId64
                        " values, %.0f times the bytes of its input",
                        size, axes[0].n, axes[1].n, axes[2].n, growth);
        ts_diag_hint(diag,
                     "check its numbers; `tomostage check` prints the size that every stage makes");
        return;
    }
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Notes for which parameters a run searches the pixels. */
static void note_searches(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (ts_plan_needs_search(node))
            ts_diag_note(diag,
                         &(struct diag_site){.code = "found-in-pixels",
                                             .span = node->set.span,
                                             .stage = node->label},
                         "a run finds its box first, by a pass over the pixels before it; planned "
                         "here is the largest");
    }
}

/* Notes which old defaults apply to a chain of an older version: one note for all, since one line
   of the chain sets its version. */
static void note_old_defaults(const struct ts_plan *plan, struct ts_diag *diag)
{
    char list[1024] = "";
    size_t used = 0;
    for (int32_t n = 0; n < plan->n_nodes; n++) {
        const struct param_set *set = &plan->nodes[n].set;
        for (size_t i = 0; plan->nodes[n].leader == n && i < set->n_params && used < sizeof list;
             i++) {
            const struct param *param = &set->params[i];
            if (!ts_param_keeps_old(set, i) || ts_param_is_idle(set, i))
                continue;
            char old[64], now[64];
            ts_param_format_value(param, &param->old.init, old, sizeof old);
            if (param->derived)
                snprintf(now, sizeof now, "%s", param->derived);
            else
                ts_param_format_value(param, &param->init, now, sizeof now);
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s.%s is %s, now %s",
                                     used > 0 ? "; " : "", set->owner, param->name, old, now);
        }
    }
    if (used == 0)
        return;
    ts_diag_note(diag, &(struct diag_site){.code = "version-defaults"},
                 "the chain is of version %d and keeps its defaults: %s", plan->chain->version,
                 list);
    ts_diag_hint(
        diag,
        "`tomostage: %d` takes the new ones; a value that is written is taken in every version",
        CHAIN_VERSION);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Notes (sweep-again) that the stages before the sweep run again for each value, because memory
   cannot hold their image. */
static void plan_note_sweep(const struct ts_plan *plan, struct ts_diag *diag)
{
    const struct chain_sweep *sweep = &plan->chain->sweep;
    if (sweep->n < 2)
        return;
    const struct plan_node *swept = &plan->nodes[plan->n_sources + sweep->stage];
    const struct plan_node *before = &plan->nodes[plan->nodes[swept->inputs[0]].image_node];
    if (before->keep)
        return;
    ts_diag_note(
        diag,
        &(struct diag_site){.code = "sweep-again", .span = sweep->span, .stage = before->label},
        "its image does not fit into memory beside the rest, and is made again for each value of "
        "the sweep");
    ts_diag_hint(diag, "--memory, or --gpu-memory, gives the run more");
}

void ts_plan_warn(const struct ts_plan *plan, struct ts_diag *diag)
{
    ts_plan_warn_axis(plan, diag);
    warn_of_padding(plan, diag);
    warn_of_mixed_masks(plan, diag);
    warn_of_grids(plan, diag);
    warn_of_pixel_sizes(plan, diag);
    warn_of_sizes(plan, diag);
    note_searches(plan, diag);
    plan_note_sweep(plan, diag);
    if (!plan->chain->part)
        note_old_defaults(plan, diag);
}
