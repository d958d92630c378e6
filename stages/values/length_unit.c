/* SPDX-License-Identifier: Apache-2.0
 *
 * Units are text, so the rules work on text: a factor or divisor that equals the length is removed,
 * otherwise the length is appended.
 */
#include "stages/values/length_unit.h"

#include <stdio.h>
#include <string.h>

void ts_unit_per_length(const char *value, const char *length, char out[LENGTH_UNIT_BYTES])
{
    value = value && *value ? value : "1";
    length = length && *length ? length : "mm";
    const size_t n = strlen(value), tail = strlen(length);
    if (!strcmp(value, length))
        snprintf(out, LENGTH_UNIT_BYTES, "1");
    else if (n > tail + 1 && value[n - tail - 1] == ' ' && !strcmp(value + n - tail, length))
        snprintf(out, LENGTH_UNIT_BYTES, "%.*s", (int)(n - tail - 1), value);
    else
        snprintf(out, LENGTH_UNIT_BYTES, "%s/%s", value, length);
}

void ts_unit_times_length(const char *value, const char *length, char out[LENGTH_UNIT_BYTES])
{
    value = value ? value : "";
    length = length && *length ? length : "mm";
    if (!strncmp(value, "1/", 2) && !strcmp(value + 2, length))
        snprintf(out, LENGTH_UNIT_BYTES, "1");
    else if (!*value || !strcmp(value, "1"))
        snprintf(out, LENGTH_UNIT_BYTES, "%s", length);
    else
        snprintf(out, LENGTH_UNIT_BYTES, "%s %s", value, length);
}

enum ts_quantity ts_unit_quantity(const char *unit)
{
    if (!strncmp(unit, "1/", 2))
        return TS_ATTENUATION;
    return strcmp(unit, "HU") ? TS_INTENSITY : TS_HU;
}
