/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the rows of a parallel sinogram contradict the angles of its views or its rotation axis.
 * The object has to be seen as a whole: both ends of the rows are air, and all views see the same
 * mass.
 */
#ifndef STAGES_GEOMETRY_VIEW_DOUBTS_H
#define STAGES_GEOMETRY_VIEW_DOUBTS_H

#include <stdbool.h>

#include "core/image.h"

enum view_doubt {
    VIEWS_NOT_DOUBTED,
    VIEWS_OFF_AXIS,     /* first: the axis that fits, second: its error */
    VIEWS_MOVED,        /* first: the view from which on, second: by how many detector pixels */
    VIEWS_OTHER_ARC,    /* first: degrees that the angles cover, second: those that fit better */
    VIEWS_MILLIRADIANS, /* first, second: as before */
    VIEWS_AS_TEXTS,     /* frames in the order of their numbers as texts: 0, 1, 10, 100, 2 */
    VIEWS_IN_PASSES, /* second: how many passes over the angles were made, each of every such one */
    VIEWS_LEAP,      /* first: the view from which on, second: how often */
    VIEWS_UNEQUAL,   /* first, second: the least and the largest sum of a row */
    VIEWS_DRIFT,     /* first: detector pixels by which centers of mass leave the wave, at most */
    VIEWS_ALTERNATE, /* every second view is of another scan */
    VIEWS_UNLIKE,    /* opposite views are no mirror images */
    VIEWS_FAN,       /* first: degrees of the fan, below 0 if it turns in the other sense */
    VIEWS_STRAY,     /* first: the first view that strays, second: how many do */
    VIEWS_MEET, /* first: a turn or half of it, whose end the last view shows, not the angles */
    VIEWS_APART /* first: the same, and the last view is a step before its end */
};
struct view_doubts {
    enum view_doubt kind;
    double first, second;
    double center, error; /* the axis that centers of mass say, NAN if the rows do not show it */
};

/* Looks at line integrals p (view, detector) whose rotation axis is on detector pixel `axis`.
 * Returns false if there is no memory. */
bool ts_view_doubts(const float *p, const struct ts_axis *views, int64_t n, double axis,
                    struct view_doubts *doubts);

#endif
