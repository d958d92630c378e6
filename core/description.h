/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of what is said about an image: the units of its axes and values, where it is in the
 * patient, and how its rays run. Three places say such things: a result file of this program, a
 * caller with an array, and a stage from outside. All are held to the same rules, which are here.
 *
 * Inside this program a length is in "mm", or in "pixel" if its size is not known. An image with a
 * place in the patient (has_geometry) has all its lengths in mm.
 */
#ifndef CORE_DESCRIPTION_H
#define CORE_DESCRIPTION_H

#include "core/image.h"

/* Returns the distance in mm between neighboring samples of an axis. 0: it is not known, because
 * the axis is in another unit, has no spacing, or lists its positions one by one. */
double ts_axis_mm(const struct ts_axis *axis);
/* Returns true if axes of this kind have this unit inside this program, so that it need not be
 * converted. */
bool ts_axis_keeps_unit(enum ts_axis_kind kind, const char *unit);
/* Returns true if values of this quantity may have this unit, such as "HU" or "1" for TS_HU. */
bool ts_unit_fits(enum ts_quantity quantity, const char *unit);

/* The next three functions return what is wrong, in words such as "its directions are not unit
 * vectors at right angles", or NULL. */

/* Checks the geometry of an image that has one: the origin is finite; the directions are unit
 * vectors at right angles, right-handed or left-handed; lengths are in mm; the step from one slice
 * to the next goes along the normal of the slices, and is as long as their spacing. */
const char *ts_geometry_wrong(const struct ts_image *image);
/* Does the same after it has mended what is only rounded or left out: directions of few digits
 * become unit vectors at right angles, the step is made as long as the spacing of the slices, and
 * a step of 0 is replaced. */
const char *ts_geometry_straighten(struct ts_image *image);
/* Checks the distances of a fan beam whose rays end in these detector pixels. */
const char *ts_beam_wrong(const struct ts_beam *beam, const struct ts_axis *detector);

enum { DESCRIPTION_WRONG = 160 };
/* Converts the axes of an image to what this program keeps: lengths to "mm" or "pixel", times to
 * "s", and listed positions that rise evenly to `first` and `spacing`. The spacings and positions
 * are finite. lists[d] is the list of positions of axis d, in which they are converted; NULL: the
 * axis has no list, or one that must not be changed. Returns false, and writes what is wrong with
 * an axis to `wrong`, if a unit is none of its axis, positions neither rise nor fall, or the image
 * has a geometry and a length that is not known in mm. */
bool ts_axes_to_mm(struct ts_image *image, double *const lists[TS_MAX_RANK],
                   char wrong[DESCRIPTION_WRONG]);

#endif
