/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the unit that a file gives for its angles, and checks whether the numbers contradict
 * it.
 */
#ifndef IO_SOURCE_ANGLE_UNIT_H
#define IO_SOURCE_ANGLE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/diag.h"

enum angle_unit { ANGLE_UNIT_FILE, ANGLE_UNIT_DEGREE, ANGLE_UNIT_RADIAN };

/* The choices of a format's parameter angle_unit; `file_doc` is the sentence of the first of
 * them. */
#define ANGLE_UNIT_CHOICES(file_doc)                                                               \
    {                                                                                              \
        {"file", ANGLE_UNIT_FILE, file_doc},                                                       \
            {"degree", ANGLE_UNIT_DEGREE, "whatever the file says"},                               \
            {"radian", ANGLE_UNIT_RADIAN, "whatever the file says"}, {0},                          \
    }

/* What to do about a unit that is neither. */
#define ANGLE_UNIT_HINT                                                                            \
    "angle_unit: degree or angle_unit: radian, if they are; angles in another unit have to be "    \
    "converted in the file"

/* Returns the unit that a file's text names, in upper or lower case, or ANGLE_UNIT_FILE where it
 * names none that is known. */
enum angle_unit ts_angle_unit_of(const char *text);
/* Converts the angles to degrees where the unit is radians. Returns their range, highest less
 * lowest. */
double ts_angles_to_degrees(double *angles, int64_t n, enum angle_unit unit);
/* Returns true where n angles over this range that are called degrees are half a turn or a turn in
 * radians. */
bool ts_angles_look_like_radians(double range, int64_t n);
/* Returns true where angles over this range that are called radians make more than two turns, as
 * degrees would. */
bool ts_angles_look_like_degrees(double range, int64_t n);
/* Warns (angle-turns) of n angles over such a range, in radians, that the chain calls radians. */
void ts_angles_warn_of_turns(double range, int64_t n, struct ts_diag *diag);

#endif
