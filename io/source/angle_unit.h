/* SPDX-License-Identifier: Apache-2.0
 *
 * The unit of angles that come from files.
 */
#ifndef IO_SOURCE_ANGLE_UNIT_H
#define IO_SOURCE_ANGLE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

enum angle_unit { ANGLE_UNIT_FILE, ANGLE_UNIT_DEGREE, ANGLE_UNIT_RADIAN };

/* What a file's text names, in any case; ANGLE_UNIT_FILE where it names none that is known. */
enum angle_unit ts_angle_unit_of(const char *text);
/* Whether n angles over this range that are called degrees are half a turn or a turn in radians. */
bool ts_angles_look_like_radians(double range, int64_t n);
/* Whether angles over this range that are called radians make more than two turns, as degrees would. */
bool ts_angles_look_like_degrees(double range);

#endif
