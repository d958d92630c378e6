/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits of waves to a value of each view, such as its center of mass, which turns with the object:
 * c + a cos(k theta) + b sin(k theta).
 */
#ifndef STAGES_GEOMETRY_VIEW_WAVE_H
#define STAGES_GEOMETRY_VIEW_WAVE_H

#include <stdint.h>

/* Fits a wave of so many periods a turn. Returns the deviation, INFINITY if it cannot be fitted;
 * `error` is that of c. */
double ts_view_wave(const double *values, const double *degrees, int64_t n, int turns,
                    double wave[3], double *error);
/* Subtracts that wave from the values, if it can be fitted, and divides them. */
void ts_view_wave_subtract(double *values, const double *degrees, int64_t n, int turns,
                           double divisor);
/* Returns the part of the deviation from a wave of one period that an even drift from the first
 * view to the last explains. */
double ts_view_wave_drift(const double *values, const double *degrees, int64_t n);
/* Finds the view from which on the values fit best if they are moved. Returns the deviation. */
double ts_view_wave_step(const double *values, const double *degrees, int64_t n, int64_t *view,
                         double *step);

#endif
