/* SPDX-License-Identifier: Apache-2.0
 *
 * The text is checked character by character before the C library reads it, because strtoll() and
 * strtod() also accept hexadecimal, nan and spaces. Reals are read in the C locale, so that the
 * program's may have a decimal comma.
 */
#include "core/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static bool leads_with_zero(const char *digits, const char *end)
{
    return end - digits > 1 && *digits == '0';
}

const char *ts_number_integer(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '+' || *text == '-');
    const char *end = skip_digits(digits);
    if (end == digits || *end)
        return "is not an integer";
    if (leads_with_zero(digits, end))
        return "has a leading zero, which YAML 1.1 reads as octal";
    errno = 0;
    const long long read = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return "is too large for an integer";
    *value = read;
    return NULL;
}

/* Reads inf, +inf, -inf and YAML's own .inf. */
static bool read_infinity(const char *text, double *value)
{
    const bool negative = *text == '-';
    text += negative || *text == '+';
    text += *text == '.';
    if (strcmp(text, "inf"))
        return false;
    *value = negative ? -INFINITY : INFINITY;
    return true;
}

const char *ts_number_real(const char *text, double *value)
{
    if (read_infinity(text, value))
        return NULL;
    const char *digits = text + (*text == '+' || *text == '-');
    const char *end = skip_digits(digits), *fraction = end, *significant = digits;
    if (leads_with_zero(digits, end))
        return "has a leading zero, which YAML 1.1 reads as octal";
    int64_t n_digits = end - digits;
    if (*end == '.') {
        fraction = end + 1;
        end = skip_digits(fraction);
        n_digits += end - fraction;
    }
    const char *mantissa_end = end;
    if (n_digits > 0 && (*end == 'e' || *end == 'E')) {
        const char *exponent = end + 1 + (end[1] == '+' || end[1] == '-');
        end = skip_digits(exponent);
        if (end == exponent)
            return "is not a number";
    }
    if (n_digits == 0 || *end)
        return "is not a number";
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return "cannot be read for want of memory";
    const double read = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    while (significant < mantissa_end && (*significant == '0' || *significant == '.'))
        significant++;
    if (isinf(read))
        return "is too large for a number";
    if (read == 0 && significant < mantissa_end)
        return "is too small for a number";
    *value = read;
    return NULL;
}

void ts_bytes_format(char *out, size_t size, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 999.95 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(out, size, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}
