/* SPDX-License-Identifier: Apache-2.0
 *
 * A filtered reconstruction takes what lies beyond the ends of a sinogram's rows for air. Where the
 * rows end within the object its values come out too high, most of all near the rim, so that a run
 * warns (rows-cut-off) of a stage with TRAIT_ROWS_END_IN_AIR whose input does not. Of what takes
 * the logarithm, and of line integrals that are read, it warns if a view shows no object
 * (view-blank) or gets no light (view-dark), or if air is not 1 (air-level, or transmission-bright
 * if much is above 1), and of all scans that are read if views are the same to the noise
 * (frames-repeated). Of a stage with TRAIT_ENDS_ARE_AIR it warns if they are not (rows-cut-off,
 * air-object), and of line integrals that are read if the object has less than air
 * (integrals-inverted). Of a reconstruction it warns if views contradict the axis or the angles
 * (center-off, center-leans, sample-moved, angles-contradicted, angles-end, views-fan), and of a
 * stage with the parameter `lowest` if what it fills is in the shadow of the object
 * (filled-starved). Of counts that are read it warns if they were cut off (counts-piled), and of
 * light if single values are far too bright (views-zingers). Five slices of each volume are looked
 * at; what is told is that of the one nearest to the middle of those that see an object.
 */
#ifndef PIPELINE_RUN_RUN_ROWS_H
#define PIPELINE_RUN_RUN_ROWS_H

#include "pipeline/run/run.h"

/* Examines those of the slices from which a node is computed, if the node's stage has that trait.
 */
enum ts_status ts_run_look_at_rows(struct run *run, int32_t node, const struct ts_image *input);
/* The same for the stages that pass on the image of a node. */
enum ts_status ts_run_look_at_passed(struct run *run, int32_t node, const struct ts_image *image);
/* Warns of what was found in all volumes, on all ranks. */
enum ts_status ts_run_warn_of_rows(struct run *run);

/* Levels are found in thousandths; a transmission above this is too bright. */
#define ROWS_WHOLE 1000
#define ROWS_BRIGHT_FROM 1.3
/* Returns the bits of the kinds of faults that the input of a node may have. */
unsigned ts_run_rows_kinds(const struct ts_plan *plan, int32_t node);
/* Returns the slice at a place, of nz: the middle one, and those that halve the other fifths; -1 if
 * it is that of another place. */
int64_t ts_run_rows_slice(int64_t nz, int place);
/* Returns the detector pixel that the rotation axis is on. */
double ts_run_rows_axis(const struct ts_axis *detectors);
/* Names the slice, of nz, in which it was found. */
void ts_run_rows_name(struct rows_found *found, int64_t slice, int64_t nz);
/* Warns of what was found in the input `in` of a node, behind a stage with TRAIT_ENDS_ARE_AIR or
 * not (`has_air`). The function writes the code of `site`. */
void ts_run_rows_warn(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind,
                      const struct rows_found *found, const struct ts_image *in, bool has_air);

#endif
