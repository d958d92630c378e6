/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the unit by its name, and checks it by the range of the numbers: files confuse degrees and
 * radians, but half a turn or a whole turn in one unit is an unlikely range in the other.
 */
#include "io/source/angle_unit.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <strings.h>

static const double pi = 3.14159265358979323846;

enum angle_unit ts_angle_unit_of(const char *text)
{
    static const char *const degrees[] = {"degree", "degrees", "deg", "\xC2\xB0", NULL};
    static const char *const radians[] = {"radian", "radians", "rad", NULL};
    for (int i = 0; degrees[i]; i++)
        if (!strcasecmp(text, degrees[i]))
            return ANGLE_UNIT_DEGREE;
    for (int i = 0; radians[i]; i++)
        if (!strcasecmp(text, radians[i]))
            return ANGLE_UNIT_RADIAN;
    return ANGLE_UNIT_FILE;
}

double ts_angles_to_degrees(double *angles, int64_t n, enum angle_unit unit)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, angles[i]);
        high = fmax(high, angles[i]);
        if (unit == ANGLE_UNIT_RADIAN)
            angles[i] *= 180 / pi;
    }
    return high - low;
}

/* Returns true if n even steps over this range make half a turn or a turn, with or without the end.
   A scan over about 3 degrees is not unusual, so for few views the range must match within the
   precision of 32-bit floats. */
static bool is_turn(double range, int64_t n, double turn)
{
    const double without_end = turn * (double)(n - 1) / (double)n,
                 tolerance = (n < 16 ? 1e-5 : 0.005) * turn;
    return fabs(range - turn) < tolerance || fabs(range - without_end) < tolerance;
}

bool ts_angles_look_like_radians(double range, int64_t n)
{
    return n >= 3 && (is_turn(range, n, pi) || is_turn(range, n, 2 * pi));
}

/* A range of more than two turns in radians is likely to be one in degrees: such scans are rare,
   and the chain can state that the unit is right. Up to ten turns, whole half turns are taken as
   radians. */
bool ts_angles_look_like_degrees(double range, int64_t n)
{
    const double with_end = range * (double)n / (double)(n > 1 ? n - 1 : 1),
                 tolerance = (n < 16 ? 1e-5 : 0.005) * pi;
    const bool whole =
        fabs(remainder(range, pi)) < tolerance || fabs(remainder(with_end, pi)) < tolerance;
    return range > 1.001 * 4 * pi && !(whole && range < 20.01 * pi);
}

void ts_angles_warn_of_turns(double range, int64_t n, struct ts_diag *diag)
{
    if (!ts_angles_look_like_degrees(range, n))
        return;
    ts_diag_warning(diag, &(struct diag_site){.code = "angle-turns"},
                    "the %" PRId64 " angles in radians, as angle_unit says, are %.4g turns", n,
                    range / (2 * pi));
    ts_diag_hint(diag, "angle_unit: degree if they are degrees");
}

int64_t ts_angles_unwrap(double *angles, int64_t n)
{
    enum { TURN = 256, MOST_MEAN = 64, FEWEST = 6, ROUNDED = 1 };
    const double uneven = 0.3; /* of a step, by which steps differ, and by rounding besides */
    double low = INFINITY, high = -INFINITY, sum = 0;
    double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY}; /* 1: of leaps */
    int64_t leap = 0, n_leaps = 0;
    for (int64_t i = 0; i < n; i++) {
        if (angles[i] != floor(angles[i]))
            return 0;
        low = fmin(low, angles[i]);
        high = fmax(high, angles[i]);
        const double raw = i > 0 ? angles[i] - angles[i - 1] : 0, step = remainder(raw, TURN);
        const int leaps = step != raw;
        if (i == 0)
            continue;
        leap = leap == 0 && leaps ? i : leap;
        n_leaps += leaps;
        least[leaps] = fmin(least[leaps], step);
        most[leaps] = fmax(most[leaps], step);
        sum += step;
    }
    const double mean = n > 1 ? fabs(sum) / (double)(n - 1) : 0,
                 back = sum < 0 ? most[0] : -least[0]; /* against the direction of all */
    if (n < FEWEST || leap == 0 || 2 * n_leaps >= n - 1 ||
        !((low >= 0 && high < TURN) || (low >= -TURN / 2.0 && high < TURN / 2.0)) ||
        back > ROUNDED || mean > MOST_MEAN || most[0] - least[0] > 4 * ROUNDED + uneven * mean ||
        least[1] < least[0] - ROUNDED || most[1] > most[0] + ROUNDED)
        return 0;
    for (int64_t i = leap; i < n; i++)
        angles[i] = angles[i - 1] + remainder(angles[i] - angles[i - 1], TURN);
    return leap;
}
