/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation axis is where detector positions are 0. A later stage moves it if it has a parameter
 * for it or finds it at run time, so the search goes from a node towards the end of the chain and
 * carries detector indices through stages that shift them (`pad`).
 */
#include "pipeline/plan/plan_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/source/memory.h"

const double *ts_plan_own_center(const struct param_set *set)
{
    for (size_t i = 0; i < set->n_params; i++) {
        const struct param *param = &set->params[i];
        if (param->rotation_axis && (set->given >> i & 1))
            return (const double *)((const unsigned char *)set->values + param->offset);
    }
    return NULL;
}

/* Returns true if both are sinograms of one beam with one detector spacing, so that a detector
   index means the same in both. */
static bool keeps_axis(const struct plan_node *from, const struct plan_node *to)
{
    return ts_image_is_sinogram(&to->out) && from->axes_pass == to->axes_pass &&
           from->out.beam.kind == to->out.beam.kind &&
           from->out.axes[2].spacing == to->out.axes[2].spacing;
}

struct rotation_axis ts_plan_rotation_axis(const struct ts_plan *plan, int32_t node)
{
    const struct plan_node *here = &plan->nodes[node];
    const struct ts_axis *detector = &here->out.axes[2];
    const double taken = (0 - detector->first) / detector->spacing;
    for (int32_t i = node + 1; i < plan->n_nodes; i++) {
        const struct plan_node *next = &plan->nodes[i];
        if (next->inputs[0] != node)
            continue;
        const double *center = ts_plan_own_center(&next->set);
        if (center)
            return (struct rotation_axis){*center, false, next->label};
        if (ts_image_is_sinogram(&next->out) && next->axes_pass > here->axes_pass)
            return (struct rotation_axis){taken, true, next->label};
        if (!keeps_axis(here, next))
            continue;
        struct rotation_axis further = ts_plan_rotation_axis(plan, i);
        further.center += (next->out.axes[2].first - detector->first) / detector->spacing;
        if (further.owner)
            return further;
    }
    return (struct rotation_axis){taken, here->axes_pass > 0, NULL};
}

/* Returns true if the chain gives a stage a center, or a stage finds one. */
static bool has_center(const struct ts_plan *plan)
{
    bool has = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        has |= plan->nodes[i].axes_pass > 0 || ts_plan_own_center(&plan->nodes[i].set);
    return has;
}

static const char *attribute_of(const struct source *source, const char *name)
{
    for (size_t k = 0; k < source->n_attributes; k++)
        if (!strcmp(source->attributes[k].name, name))
            return source->attributes[k].value;
    return NULL;
}

/* Returns the degrees from the first view to the last. */
static double turn_of(const struct ts_axis *views)
{
    return views->positions ? fabs(views->positions[views->n - 1] - views->positions[0])
                            : fabs(views->spacing) * (double)(views->n - 1);
}

static bool makes_volume(const struct ts_plan *plan, const struct plan_node *node)
{
    return node->inputs[0] >= 0 && ts_image_is_sinogram(&plan->nodes[node->inputs[0]].out) &&
           !ts_image_is_sinogram(&node->out);
}

bool ts_plan_axis_is_unset(const struct ts_image *image)
{
    const struct ts_axis *detector = &image->axes[2];
    return ts_image_is_sinogram(image) && detector->n > 1 && detector->first == 0 &&
           !detector->positions;
}

enum ts_status ts_plan_refuse_unset_axis(const char *label, struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "memory-about", .stage = label},
                  "`first` of the array's detector is 0, which would put the rotation axis on its "
                  "first pixel");
    return ts_diag_hint(diag, "-(n - 1) / 2 * spacing puts it in the middle; `center: 0` of the "
                              "stage that makes the volume says that it is on the first pixel");
}

enum ts_status ts_plan_check_axis(const struct ts_plan *plan, struct ts_diag *diag)
{
    bool volume = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        volume |= makes_volume(plan, &plan->nodes[i]);
    for (int32_t i = 0; i < plan->n_sources && volume && !has_center(plan); i++)
        if (plan->nodes[i].chain_source->format == &memory_format &&
            ts_plan_axis_is_unset(&plan->nodes[i].out))
            return ts_plan_refuse_unset_axis(plan->nodes[i].label, diag);
    return TS_OK;
}

/* Warns if an input says that its scan sees half of the object, and the chain makes a volume of its
   views without completing the detector by opposite views. */
static void warn_of_half(const struct ts_plan *plan, struct ts_diag *diag)
{
    bool joins = false, volume = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const struct ts_image *in = node->inputs[0] >= 0 ? &plan->nodes[node->inputs[0]].out : NULL;
        const bool sinogram = in && ts_image_is_sinogram(in);
        volume |= makes_volume(plan, node);
        joins |= sinogram && ts_image_is_sinogram(&node->out) &&
                 node->out.axes[1].n < in->axes[1].n && node->out.axes[2].n > in->axes[2].n;
    }
    for (int32_t i = 0; i < plan->n_sources && volume && !joins; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const char *view = node->source ? attribute_of(node->source, "field_of_view") : NULL;
        if (!view || strcmp(view, "Half") != 0)
            continue;
        ts_diag_warning(diag,
                        &(struct diag_site){.code = "half-not-joined",
                                            .span = node->set.span,
                                            .stage = node->label},
                        "the file says that the field of view is half of the object, and opposite "
                        "views are not joined");
        if (turn_of(&node->out.axes[1]) > 350)
            ts_diag_hint(diag, "after minus_log: center: {method: overlap}, then stitch: {}");
    }
}

void ts_plan_warn_axis(const struct ts_plan *plan, struct ts_diag *diag)
{
    warn_of_half(plan, diag);
    for (int32_t i = 0; i < plan->n_sources && !has_center(plan); i++) {
        const struct plan_node *node = &plan->nodes[i];
        const struct ts_axis *detector = &node->out.axes[2];
        const double taken = (0 - detector->first) / detector->spacing;
        const char *angle = ts_image_is_sinogram(&node->out) ? node->out.axes[1].unit : NULL;
        /* the views of flats and darks have no angles */
        if (!angle || strcmp(angle, "degree") != 0)
            continue;
        const char *text = attribute_of(node->source, "x_rotation_axis_pixel_position");
        const double position = text ? strtod(text, NULL) : taken;
        if (!(fabs(position - taken) > 0.5))
            continue;
        ts_diag_warning(diag,
                        &(struct diag_site){
                            .code = "axis-elsewhere", .span = node->set.span, .stage = node->label},
                        "x_rotation_axis_pixel_position of the file is %.6g, and the rotation axis "
                        "is taken to stand at detector pixel %.6g, in the middle",
                        position, taken);
        if (position >= 0 && position <= (double)detector->n - 1)
            ts_diag_hint(diag,
                         "center: {center: %.6g} takes that for a detector pixel, center: {center: "
                         "%.6g, convention: offset} for the distance from the middle, as files of "
                         "the ESRF have it; center: {} searches",
                         position, position);
        else
            ts_diag_hint(diag,
                         "center: {center: %.6g, convention: offset} takes that for the distance "
                         "from the middle, as files of the ESRF have it; center: {} searches",
                         position);
    }
}
