/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether views in even steps reach the end of a half turn or a turn, where the last one shows what
 * the first one does, or end a step before it. People who give a range of angles often take one for
 * the other.
 */
#ifndef STAGES_GEOMETRY_VIEW_CLOSURE_H
#define STAGES_GEOMETRY_VIEW_CLOSURE_H

#include <stdbool.h>

#include "core/image.h"

/* Rows of line integrals p (view, detector) with the rotation axis on detector pixel `axis`. */
struct view_closure_rows {
    const float *p;
    const struct ts_axis *views;
    int64_t n;
    double axis;
    /* Centers of mass and variances of the views; NULL if the detector does not see the whole
     * object. */
    const double *com, *var;
};
/* What the rows show although the angles say the other. */
enum view_closure { CLOSURE_AS_SAID, CLOSURE_AT_END, CLOSURE_BEFORE_END };

/* Sets *turn to the range, 180 or 360 degrees, if *found is not CLOSURE_AS_SAID. Returns false if
 * there is no memory. */
bool ts_view_closure(const struct view_closure_rows *rows, enum view_closure *found, double *turn);

#endif
