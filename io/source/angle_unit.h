/* SPDX-License-Identifier: Apache-2.0
 *
 * The unit of angles that come from files: what a file calls it, and whether the numbers contradict that.
 */
#ifndef IO_SOURCE_ANGLE_UNIT_H
#define IO_SOURCE_ANGLE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

enum angle_unit { ANGLE_UNIT_FILE, ANGLE_UNIT_DEGREE, ANGLE_UNIT_RADIAN };

/* The choices of a format's parameter angle_unit; `file_doc` is the sentence of the first of them. */
#define ANGLE_UNIT_CHOICES(file_doc)                                                                                   \
    {                                                                                                                  \
        {"file", ANGLE_UNIT_FILE, file_doc}, {"degree", ANGLE_UNIT_DEGREE, "whatever the file says"},                  \
            {"radian", ANGLE_UNIT_RADIAN, "whatever the file says"}, {0},                                              \
    }

/* The unit that a file's text names, in upper or lower case; ANGLE_UNIT_FILE where it names none that is known. */
enum angle_unit ts_angle_unit_of(const char *text);
/* The range of the angles, highest less lowest. The angles themselves become degrees where the unit is radians. */
double ts_angles_to_degrees(double *angles, int64_t n, enum angle_unit unit);
/* Whether n angles over this range that are called degrees are half a turn or a turn in radians. */
bool ts_angles_look_like_radians(double range, int64_t n);
/* Whether angles over this range that are called radians make more than two turns, as degrees would. */
bool ts_angles_look_like_degrees(double range);

#endif
