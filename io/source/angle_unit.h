/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the unit that a file gives for its angles, and checks if the numbers contradict it.
 */
#ifndef IO_SOURCE_ANGLE_UNIT_H
#define IO_SOURCE_ANGLE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/diag.h"

enum angle_unit { ANGLE_UNIT_FILE, ANGLE_UNIT_DEGREE, ANGLE_UNIT_RADIAN };

/* The choices of a format's parameter angle_unit. `file_doc` is the sentence of its first
   choice. */
#define ANGLE_UNIT_CHOICES(file_doc)                                                               \
    {                                                                                              \
        {"file", ANGLE_UNIT_FILE, file_doc},                                                       \
            {"degree", ANGLE_UNIT_DEGREE, "whatever the file says"},                               \
            {"radian", ANGLE_UNIT_RADIAN, "whatever the file says"}, {0},                          \
    }

/* The hint about a unit that is neither. */
#define ANGLE_UNIT_HINT                                                                            \
    "angle_unit: degree or angle_unit: radian, if they are; angles in another unit have to be "    \
    "converted in the file"

/* Returns the unit that a file's text names, in any case; ANGLE_UNIT_FILE if it names no known
   unit. */
enum angle_unit ts_angle_unit_of(const char *text);
/* Converts the angles to degrees if the unit is radians. Returns their range: the highest less the
   lowest. */
double ts_angles_to_degrees(double *angles, int64_t n, enum angle_unit unit);
/* Returns true if n angles over this range, stated to be in degrees, make half a turn or a turn in
   radians. */
bool ts_angles_look_like_radians(double range, int64_t n);
/* Returns true if angles over this range, stated to be in radians, make more than two turns and
   look like degrees. */
bool ts_angles_look_like_degrees(double range, int64_t n);
/* Returns the first angle behind a leap of whole numbers of 8 bits that overflowed, as 255 is
   followed by 0 and 127 by -128 in steps of 1, and makes the angles go on there; 0: there is none.
   It is certain if all steps are even and have one direction without the leaps. */
int64_t ts_angles_unwrap(double *angles, int64_t n);
/* Warns (angle-turns) of n angles over such a range, in radians, that the chain calls radians. */
void ts_angles_warn_of_turns(double range, int64_t n, struct ts_diag *diag);

#endif
