/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings about a finished plan. Stages are prepared again whenever a choice of the plan changes,
 * so these warnings are given once, when the whole plan is made.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* ---- frames of other scans ------------------------------------------------------------------- */

/* Frames of another file may have been taken otherwise than the image. Its reader warns of what
   differs within one scan. */
struct frames_pair {
    const struct ts_plan *plan;
    const struct plan_node *node; /* the stage that takes them */
    const struct param *param;    /* names them */
    int32_t from;                 /* the node that gives them */
    const struct source_fact *image, *frames;
};

/* Returns whether stages have mirrored an image since its source. */
static bool is_mirrored(const struct ts_plan *plan, int32_t node)
{
    bool mirrored = false;
    for (; !plan->nodes[node].source; node = plan->nodes[node].inputs[0])
        mirrored ^= (plan->nodes[node].context.stage->traits & TRAIT_MIRRORS) != 0;
    return mirrored;
}

/* Returns true if a later stage divides the image by the beam beside the object. */
static bool is_divided(const struct ts_plan *plan, const struct plan_node *node)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        bool divided = false;
        int32_t at = i;
        for (; !plan->nodes[at].source && &plan->nodes[at] != node; at = plan->nodes[at].inputs[0])
            divided |= (plan->nodes[at].context.stage->traits & TRAIT_ENDS_ARE_AIR) != 0;
        if (&plan->nodes[at] == node && divided)
            return true;
    }
    return false;
}

static bool is_same_scan(const struct param_set *image, const struct param_set *frames)
{
    static const char *const names[] = {"nexus", "exchange", "entry", "data"};
    int same = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t a, b;
        if (!ts_param_find(image->params, image->n_params, names[i], &a))
            continue;
        if (!ts_param_find(frames->params, frames->n_params, names[i], &b) ||
            strcmp(*(const char *const *)ts_param_field(image, a),
                   *(const char *const *)ts_param_field(frames, b)) != 0)
            return false;
        same++;
    }
    return same > 0;
}

static bool facts_differ(const struct frames_pair *pair, enum source_fact_kind kind)
{
    static const double same = 0.01;
    const struct source_fact *image = &pair->image[kind], *frames = &pair->frames[kind];
    const double apart = fmax(image->low - frames->high, frames->low - image->high);
    return image->name && frames->name && !strcasecmp(image->unit, frames->unit) &&
           apart > same * fmax(fabs(image->high), fabs(frames->high));
}

static void warn_of_fact(const struct frames_pair *pair, enum source_fact_kind kind,
                         const char *code, const char *what, struct ts_diag *diag)
{
    const struct source_fact *image = &pair->image[kind], *frames = &pair->frames[kind];
    const struct diag_site site = {
        .code = code, .span = pair->node->set.span, .stage = pair->node->label};
    ts_diag_warning(diag, &site, "%s of `%s` is %.6g%s%s, and %s of the image is %.6g%s%s: %s",
                    frames->name, pair->param->name, 0.5 * (frames->low + frames->high),
                    *frames->unit ? " " : "", frames->unit, image->name,
                    0.5 * (image->low + image->high), *image->unit ? " " : "", image->unit, what);
}

static void warn_of_beam(const struct frames_pair *pair, struct ts_diag *diag)
{
    const bool flats = !strcmp(pair->param->frames, "flats");
    const char *const air_hint = "`air` after this stage divides by the beam beside the object, "
                                 "where there is some";
    if (flats && is_divided(pair->plan, pair->node))
        return;
    if (facts_differ(pair, SOURCE_EXPOSURE)) {
        warn_of_fact(pair, SOURCE_EXPOSURE, "reference-exposure",
                     "counts are not divided by the time", diag);
        ts_diag_hint(diag, "%s",
                     flats ? air_hint
                           : "take darks that were exposed as long as the views: what a "
                             "detector counts without the beam grows with the time");
    }
    for (int kind = SOURCE_CURRENT; flats && kind <= SOURCE_DIODE; kind++)
        if (facts_differ(pair, (enum source_fact_kind)kind)) {
            warn_of_fact(pair, (enum source_fact_kind)kind, "reference-beam",
                         "the beam was another, and counts are not divided by it", diag);
            ts_diag_hint(diag, "%s", air_hint);
            return;
        }
}

/* Compares which way the detector pixels and rows of image and frames run, by their files and by
 * stages that mirror. */
static void warn_of_flips(const struct frames_pair *pair, bool same, struct ts_diag *diag)
{
    static const char *const what = "each detector pixel would be corrected by another one";
    const struct diag_site site = {
        .code = "reference-flipped", .span = pair->node->set.span, .stage = pair->node->label};
    const char *name = pair->param->name,
               *source = ts_plan_source_of(pair->plan, pair->from)->label;
    const bool image = is_mirrored(pair->plan, pair->node->inputs[0]),
               frames = is_mirrored(pair->plan, pair->from),
               differ = facts_differ(pair, SOURCE_X_FLIPPED),
               known = same ||
                       (pair->image[SOURCE_X_FLIPPED].name && pair->frames[SOURCE_X_FLIPPED].name);
    if (known && !differ && image && !frames) {
        ts_diag_warning(diag, &site, "flip mirrors the image before this, and not `%s`: %s", name,
                        what);
        ts_diag_hint(diag, "flip after this stage mirrors the corrected image");
    } else if (known && !differ && frames && !image) {
        ts_diag_warning(diag, &site, "flip mirrors `%s` before this, and not the image: %s", name,
                        what);
        ts_diag_hint(diag, "%s: %s takes them as they are read", name, source);
    } else if (known && differ && image == frames) {
        ts_diag_warning(diag, &site,
                        "by their files, the detector pixels of `%s` run the other way than those "
                        "of the image: %s",
                        name, what);
        ts_diag_hint(diag,
                     "flip: {input: %s, name: %s_flipped} as the first stage and %s: %s_flipped "
                     "turn them round; `input: input` in the stage that follows flip takes the "
                     "image",
                     source, source, name, source);
    }
    if (facts_differ(pair, SOURCE_Y_FLIPPED)) {
        ts_diag_warning(diag, &site,
                        "by their files, the rows of `%s` run the other way than those of the "
                        "image: %s",
                        name, what);
        ts_diag_hint(diag, "take frames whose rows run as those of the image, or write these again "
                           "with their rows in the opposite order");
    }
}

/* Warns of flats and darks of another scan that were exposed for another time (reference-exposure),
 * that had another beam (reference-beam), or whose detector lay otherwise (reference-flipped). */
static void warn_of_other_scans(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        int reference = 1;
        for (size_t p = 0; p < node->set.n_params && reference < STAGE_INPUTS; p++) {
            const struct param *param = &node->set.params[p];
            if (param->kind != PARAM_REFERENCE)
                continue;
            const int32_t from = node->inputs[reference++];
            if (!param->frames || from < 0 || node->leader != i)
                continue;
            const struct plan_node *image = ts_plan_source_of(plan, node->inputs[0]),
                                   *other = ts_plan_source_of(plan, from);
            const struct frames_pair pair = {
                plan, node, param, from, image->source->facts, other->source->facts};
            const bool same = is_same_scan(&image->set, &other->set);
            if (!same)
                warn_of_beam(&pair, diag);
            warn_of_flips(&pair, same, diag);
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
    warn_of_other_scans(plan, diag);
    warn_of_sizes(plan, diag);
    note_searches(plan, diag);
    plan_note_sweep(plan, diag);
    if (!plan->chain->part)
        note_old_defaults(plan, diag);
}
