/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds where the rotation axis of a chain's sinogram stands on the detector, as far as the
 * plan knows.
 */
#ifndef PIPELINE_PLAN_PLAN_AXIS_H
#define PIPELINE_PLAN_PLAN_AXIS_H

#include "pipeline/plan/plan.h"

struct rotation_axis {
    double center;    /* detector index */
    bool found_later; /* while the chain runs: the center is the one assumed until then */
    const char
        *owner; /* label of the later stage that is given or finds it; NULL: the sinogram's own */
};

/* Returns the rotation axis of a node that gives a sinogram: the center that a later stage is given
 * or finds, on the same detector pixels or on some that lie as far apart (`pad`). Without such a
 * stage it is the zero of its detector axis. */
struct rotation_axis ts_plan_rotation_axis(const struct ts_plan *plan, int32_t node);

/* Warns (code axis-elsewhere) of each sinogram whose file has its axis more than half a detector
 * pixel from the place that the plan assumes, where the chain does not state it. */
void ts_plan_warn_axis(const struct ts_plan *plan, struct ts_diag *diag);

#endif
