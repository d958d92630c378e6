/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions form the units of values that were integrated along a length, and of values per
 * length.
 */
#ifndef STAGES_VALUES_LENGTH_UNIT_H
#define STAGES_VALUES_LENGTH_UNIT_H

#include "core/image.h"

enum { LENGTH_UNIT_BYTES = 64 };

/* Writes the unit of value / length: "1" over "mm" is "1/mm", "HU mm" is "HU", "mm" is "1",
 * "counts" is "counts/mm". */
void ts_unit_per_length(const char *value, const char *length, char out[LENGTH_UNIT_BYTES]);
/* Writes the unit of value * length: for the length "mm", "1/mm" becomes "1", "HU" becomes "HU mm"
 * and "1" becomes "mm". */
void ts_unit_times_length(const char *value, const char *length, char out[LENGTH_UNIT_BYTES]);
/* Returns the quantity of a value in this unit that is no longer a line integral: attenuation, HU,
 * or intensity. */
enum ts_quantity ts_unit_quantity(const char *unit);

#endif
