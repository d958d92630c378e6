/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds where the rotation axis of a chain's sinogram is on the detector, as far as the plan
 * knows.
 */
#ifndef PIPELINE_PLAN_PLAN_AXIS_H
#define PIPELINE_PLAN_PLAN_AXIS_H

#include "pipeline/plan/plan.h"

struct rotation_axis {
    double center;     /* detector index */
    bool found_later;  /* a stage finds it while the chain runs; until then the center is assumed */
    const char *owner; /* label of the later stage that is given it or finds it; NULL: it is the
                          sinogram's own */
};

/* Returns the rotation axis of a node that gives a sinogram: the center that a later stage is given
   or finds, if that has the same detector pixels or some with the same spacing (`pad`). Without
   such a stage it is the zero of the detector axis. */
struct rotation_axis ts_plan_rotation_axis(const struct ts_plan *plan, int32_t node);

/* Returns the rotation axis that a stage's parameters give; NULL if they give none. */
const double *ts_plan_own_center(const struct param_set *set);
/* Returns true if the positions of a sinogram's detector begin at 0, as those that nobody has set.
 */
bool ts_plan_axis_is_unset(const struct ts_image *image);
enum ts_status ts_plan_refuse_unset_axis(const char *label, struct ts_diag *diag);
/* Refuses arrays (code memory-about) of such a sinogram, if a volume is made and no stage knows the
   axis. */
enum ts_status ts_plan_check_axis(const struct ts_plan *plan, struct ts_diag *diag);

/* Warns (code axis-elsewhere) of each sinogram whose file states an axis more than half a detector
   pixel from the one that the plan assumes, unless the chain states it. */
void ts_plan_warn_axis(const struct ts_plan *plan, struct ts_diag *diag);

#endif
