/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack is a run of slices of even spacing. This finds the stacks of a series whose spacing changes, and takes one of
 * them where the chain names it.
 */
#ifndef IO_DICOM_DICOM_STACKS_H
#define IO_DICOM_DICOM_STACKS_H

#include "io/dicom_series/dicom_geometry.h"

/* Keeps the slices of the stack that rules->stack names, counted from 1 along the normal, and warns of those that are
 * left out. The images are in order along the normal, one at each position. A series without such a stack is refused as
 * stack-unknown. */
void ts_dicom_take_stack(struct dicom_series *series, const struct dicom_rules *rules);
/* Returns a hint that lists the stacks, after `first` and a semicolon unless it is empty. Returns `otherwise` where the
 * slices are no few stacks of three or more. The text is a parameter or lies in the arena. */
const char *ts_dicom_stacks_hint(struct dicom_series *series, const struct dicom_rules *rules, const char *first,
                                 const char *otherwise);

#endif
