/* SPDX-License-Identifier: Apache-2.0
 *
 * This says from where a position along an axis counts.
 */
#ifndef PROGRAM_SHOW_AXIS_FROM_H
#define PROGRAM_SHOW_AXIS_FROM_H

#include "core/image.h"

/* Returns " from the first" where positions count from the first sample of the axis, so that nobody takes them for
 * positions in the patient; else "". Angles have a zero of their own. */
static inline const char *ts_axis_from(const struct ts_axis *axis)
{
    return axis->kind != TS_AXIS_VIEW && ts_axis_position(axis, 0) == 0 ? " from the first" : "";
}

#endif
