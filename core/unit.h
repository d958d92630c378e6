/* SPDX-License-Identifier: Apache-2.0
 *
 * This converts numbers with a unit behind them, such as `0.5 cm`, to the unit of a parameter. A
 * conversion moves the decimal point in the text, so that 1.3 um is the same double as 0.0013, or
 * multiplies by a constant (angles, minutes).
 */
#ifndef CORE_UNIT_H
#define CORE_UNIT_H

#include <stdbool.h>
#include <stddef.h>

/* Splits a text into a number and what follows it. Returns false if the text does not begin with a
 * number, or if nothing that could be a unit follows. `number` receives the number's text; *unit
 * points into `text`. */
bool ts_unit_part(const char *text, char *number, size_t size, const char **unit);
/* Converts a number with this unit to the unit `to` of a parameter ("mm", "degree", "1/mm", "s",
 * "%", "1", "HU", "pixel", "detector"). Returns false if `unit` is not one of these, or is one
 * of a different kind. */
bool ts_unit_convert(const char *number, const char *unit, const char *to, double *value);

#endif
