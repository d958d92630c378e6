/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation axis stands where detector positions are 0. A later stage with a parameter `center` moves it, and so
 * does `center` itself at run time, so the search goes from a node towards the end of the chain and carries detector
 * indices through stages that shift them (`pad`).
 */
#include "pipeline/plan/plan_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the node's parameter `center`, a detector index, where one is given; else NULL. */
static const double *own_center(const struct plan_node *node)
{
    for (size_t i = 0; i < node->set.n_params; i++) {
        const struct param *param = &node->set.params[i];
        if (!strcmp(param->name, "center") && param->unit && !strcmp(param->unit, "detector") &&
            (node->set.given >> i & 1))
            return (const double *)((const unsigned char *)node->set.values + param->offset);
    }
    return NULL;
}

/* Returns true where both are sinograms of one beam with one detector spacing: an index of one is an index of the
 * other. */
static bool keeps_axis(const struct plan_node *from, const struct plan_node *to)
{
    return ts_image_is_sinogram(&to->out) && from->axes_pass == to->axes_pass &&
           from->out.beam.kind == to->out.beam.kind && from->out.axes[2].spacing == to->out.axes[2].spacing;
}

struct rotation_axis ts_plan_rotation_axis(const struct ts_plan *plan, int32_t node)
{
    const struct plan_node *here = &plan->nodes[node];
    const struct ts_axis *detector = &here->out.axes[2];
    const double taken = -detector->first / detector->spacing;
    for (int32_t i = node + 1; i < plan->n_nodes; i++) {
        const struct plan_node *next = &plan->nodes[i];
        if (next->inputs[0] != node)
            continue;
        const double *center = own_center(next);
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

/* Returns true where a stage of the chain is given a center or finds one. */
static bool has_center(const struct ts_plan *plan)
{
    bool has = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        has |= plan->nodes[i].axes_pass > 0 || own_center(&plan->nodes[i]);
    return has;
}

void ts_plan_warn_axis(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = 0; i < plan->n_sources && !has_center(plan); i++) {
        const struct plan_node *node = &plan->nodes[i];
        const struct ts_axis *detector = &node->out.axes[2];
        const double taken = -detector->first / detector->spacing;
        const char *angle = ts_image_is_sinogram(&node->out) ? node->out.axes[1].unit : NULL;
        if (!angle || strcmp(angle, "degree") != 0) /* flats and darks have frames */
            continue;
        for (size_t k = 0; k < node->source->n_attributes; k++) {
            const struct source_attribute *attribute = &node->source->attributes[k];
            if (strcmp(attribute->name, "x_rotation_axis_pixel_position") != 0)
                continue;
            const double position = strtod(attribute->value, NULL);
            if (!(fabs(position - taken) > 0.5))
                continue;
            ts_diag_warning(diag,
                            &(struct diag_site){.code = "axis-elsewhere", .span = node->set.span, .stage = node->label},
                            "x_rotation_axis_pixel_position of the file is %.6g, and the rotation axis is taken to "
                            "stand at detector pixel %.6g, in the middle",
                            position, taken);
            ts_diag_hint(diag, "center: {center: %.6g} takes what the file says, center: {} searches", position);
        }
    }
}
