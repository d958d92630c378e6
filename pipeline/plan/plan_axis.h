/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the rotation axis of a chain's sinogram stands on the detector, as far as the plan knows.
 */
#ifndef PIPELINE_PLAN_PLAN_AXIS_H
#define PIPELINE_PLAN_PLAN_AXIS_H

#include "pipeline/plan/plan.h"

struct rotation_axis {
    double center;     /* detector index */
    bool found_later;  /* while the chain runs: the center is what is taken until then */
    const char *owner; /* label of the later stage that is given or finds it; NULL: the sinogram's own */
};

/* Of a node that gives a sinogram: what a later stage is told or finds, of the same detectors or of such as far apart
 * (`pad`), else what its detector axis says. */
struct rotation_axis ts_plan_rotation_axis(const struct ts_plan *plan, int32_t node);

/* Warns (code axis-elsewhere) of each sinogram whose file says that its axis stands more than half a detector from
 * where it is taken to stand, and whose chain says nothing of it. */
void ts_plan_warn_axis(const struct ts_plan *plan, struct ts_diag *diag);

#endif
