/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"

static const struct {
    const char *names; /* names of the unit, between bars */
    const char *to;
    int shift;     /* places by which the decimal point moves */
    double factor; /* further factor */
} units[] = {
    {"|mm|millimeter|millimeters|", "mm", 0, 1},
    {"|cm|centimeter|centimeters|", "mm", 1, 1},
    {"|m|meter|meters|", "mm", 3, 1},
    {"|um|\xC2\xB5m|\xCE\xBCm|micron|microns|micrometer|micrometers|", "mm", -3, 1},
    {"|nm|nanometer|nanometers|", "mm", -6, 1},
    {"|degree|degrees|deg|\xC2\xB0|", "degree", 0, 1},
    {"|rad|radian|radians|", "degree", 0, 180 / M_PI},
    {"|mrad|", "degree", -3, 180 / M_PI},
    {"|s|sec|second|seconds|", "s", 0, 1},
    {"|ms|millisecond|milliseconds|", "s", -3, 1},
    {"|us|\xC2\xB5s|\xCE\xBCs|", "s", -6, 1},
    {"|min|minute|minutes|", "s", 0, 60},
    {"|1/mm|/mm|mm^-1|", "1/mm", 0, 1},
    {"|1/cm|/cm|cm^-1|", "1/mm", -1, 1},
    {"|1/m|/m|m^-1|", "1/mm", -3, 1},
    {"|%|percent|", "%", 0, 1},
    {"|%|percent|", "1", -2, 1},
    {"|HU|", "HU", 0, 1},
    {"|px|pixel|pixels|voxel|voxels|", "pixel", 0, 1},
    {"|px|pixel|pixels|", "detector", 0, 1},
};

/* Returns true if the text behind a number may be a unit, and is not part of a number in a
 * different notation (0x10, 1e). */
static bool may_be_unit(const char *text)
{
    return (isalpha((unsigned char)*text) && !strchr("xX", *text) && strcmp(text, "e") != 0 &&
            strcmp(text, "E") != 0) ||
           *text == '%' || (unsigned char)*text >= 0x80 || *text == '/' || !strncmp(text, "1/", 2);
}

bool ts_unit_part(const char *text, char *number, size_t size, const char **unit)
{
    double value;
    size_t length = strspn(text, "+-.0123456789eE");
    while (length > 0 && isalpha((unsigned char)text[length - 1]))
        length--;
    if (length == 0 || length >= size)
        return false;
    snprintf(number, size, "%.*s", (int)length, text);
    *unit = text + length + strspn(text + length, " ");
    return may_be_unit(*unit) && ts_number_real(number, &value) == NULL;
}

/* Writes the number with its decimal point moved by `places`; false if it does not fit. */
static bool move_point(const char *number, int places, char *moved, size_t size)
{
    enum { MOST = 9999 };
    const size_t digits = strcspn(number, "eE");
    long exponent = number[digits] ? strtol(number + digits + 1, NULL, 10) : 0;
    if (exponent < -MOST || exponent > MOST)
        exponent = 0; /* only a zero has such an exponent: ts_unit_part() has read the number */
    const int length =
        snprintf(moved, size, "%.*se%ld", (int)digits, number, exponent + (long)places);
    return length < (int)size;
}

bool ts_unit_convert(const char *number, const char *unit, const char *to, double *value)
{
    char barred[40], moved[80];
    if (!strcmp(unit, to))
        return ts_number_real(number, value) == NULL;
    if (strchr(unit, '|') || snprintf(barred, sizeof barred, "|%s|", unit) >= (int)sizeof barred)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].to, to) != 0 || !strstr(units[i].names, barred))
            continue;
        const bool moves = units[i].shift != 0;
        if ((moves && !move_point(number, units[i].shift, moved, sizeof moved)) ||
            ts_number_real(moves ? moved : number, value) != NULL)
            return false;
        *value *= units[i].factor;
        return isfinite(*value);
    }
    return false;
}
