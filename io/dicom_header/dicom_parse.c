/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as numbers. Texts are copied to a small buffer, checked letter by letter against the set
 * that the standard allows, and only then given to the functions of the C library, which would
 * accept far more.
 */
#include "io/dicom_header/dicom_parse.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_elements.h"

enum { MAX_DECIMALS = 6, SECONDS_OF_DAY = 86400, TIME_BYTES = 32, NUMBER_BYTES = 256 };

void ts_dicom_trim(const char **text, size_t *length)
{
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\0'))
        --*length;
    while (*length > 0 && **text == ' ') {
        ++*text;
        --*length;
    }
}

/* Cuts padding and ends of lines off both ends of a number. */
static void trim_number(const char **text, size_t *length)
{
    while (*length > 0 && memchr(" \t\r\n", (*text)[*length - 1], 5))
        --*length;
    while (*length > 0 && memchr(" \t\r\n", **text, 5)) {
        ++*text;
        --*length;
    }
}

static bool parse_decimal(const char *text, size_t length, double *value)
{
    char copy[NUMBER_BYTES];
    trim_number(&text, &length);
    if (length == 0 || length >= sizeof copy)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!strchr("0123456789+-.eE", text[i]) || text[i] == '\0')
            return false;
        copy[i] = text[i];
    }
    copy[length] = '\0';
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    char *end = NULL;
    double parsed = strtod_l(copy, &end, c_locale);
    freelocale(c_locale);
    if (end != copy + length || !isfinite(parsed))
        return false;
    *value = parsed;
    return true;
}

bool ts_dicom_parse_integer(const char *text, size_t length, int64_t *value)
{
    char copy[NUMBER_BYTES];
    trim_number(&text, &length);
    if (length == 0 || length >= sizeof copy)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool sign = i == 0 && (text[i] == '-' || text[i] == '+');
        if (!sign && (text[i] < '0' || text[i] > '9'))
            return false;
        copy[i] = text[i];
    }
    copy[length] = '\0';
    char *end = NULL;
    errno = 0;
    *value = strtoll(copy, &end, 10);
    return end == copy + length && end != copy && errno == 0;
}

bool ts_dicom_parse_decimals(const char *text, size_t length, double *values, size_t count)
{
    double parsed[MAX_DECIMALS];
    for (size_t i = 0; i < count; i++) {
        const char *end = memchr(text, '\\', length);
        size_t n = end ? (size_t)(end - text) : length;
        if ((end == NULL) != (i == count - 1) || !parse_decimal(text, n, &parsed[i]))
            return false;
        if (end) {
            text += n + 1;
            length -= n + 1;
        }
    }
    memcpy(values, parsed, count * sizeof *values);
    return true;
}

static double stored_double(const unsigned char *raw, bool big_endian)
{
    const uint64_t first = ts_dicom_u32(raw, big_endian),
                   second = ts_dicom_u32(raw + 4, big_endian);
    const uint64_t bits = big_endian ? first << 32 | second : second << 32 | first;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double stored_float(const unsigned char *raw, bool big_endian)
{
    const uint32_t bits = ts_dicom_u32(raw, big_endian);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double parse_double(const unsigned char *raw, bool big_endian)
{
    const double value = stored_double(raw, big_endian);
    return isfinite(value) ? value : NAN;
}

static double parse_float(const unsigned char *raw, bool big_endian)
{
    const double value = stored_float(raw, big_endian);
    return isfinite(value) ? value : NAN;
}

bool ts_dicom_parse_stored(const unsigned char *bytes, size_t length, const char *vr,
                           bool big_endian, double *value)
{
    const bool implicit = !*vr || !strcmp(vr, "UN");
    const bool is_float = length == 4 && (implicit || !strcmp(vr, "FL"));
    const bool is_double = length == 8 && (implicit || !strcmp(vr, "FD"));
    if (is_float || is_double)
        *value = is_float ? stored_float(bytes, big_endian) : stored_double(bytes, big_endian);
    return is_float || is_double;
}

static bool is_printable(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < ' ' || bytes[i] > '~')
            return false;
    return true;
}

double ts_dicom_parse_number(const char *bytes, size_t length, const char *vr, bool binary,
                             bool big_endian)
{
    const unsigned char *raw = (const unsigned char *)bytes;
    double value = NAN;
    const bool implicit = !*vr || !strcmp(vr, "UN");
    if (!strcmp(vr, "FD") || (implicit && binary && length == 8))
        return length >= 8 ? parse_double(raw, big_endian) : NAN;
    if (!strcmp(vr, "FL"))
        return length >= 4 ? parse_float(raw, big_endian) : NAN;
    if (!strcmp(vr, "UL") || (implicit && binary && length == 4))
        return length >= 4 ? (double)ts_dicom_u32(raw, big_endian) : NAN;
    if (!strcmp(vr, "SL"))
        return length >= 4 ? (double)(int32_t)ts_dicom_u32(raw, big_endian) : NAN;
    if (!strcmp(vr, "US") || (implicit && binary && length == 2))
        return length >= 2 ? (double)ts_dicom_u16(raw, big_endian) : NAN;
    if (!strcmp(vr, "SS"))
        return length >= 2 ? (double)(int16_t)ts_dicom_u16(raw, big_endian) : NAN;
    if (parse_decimal(bytes, length, &value))
        return value;
    /* Implicit encoding cannot tell FD from a decimal string of eight letters: the string is tried
     * first, and one that cannot be read is no FD. */
    return implicit && length == 8 && !is_printable(bytes, length) ? parse_double(raw, big_endian)
                                                                   : NAN;
}

bool ts_dicom_is_no_number(const char *bytes, size_t length, const char *vr, bool binary,
                           bool big_endian)
{
    double stored = 0;
    const bool is_float = !strcmp(vr, "FL") || !strcmp(vr, "FD") || binary;
    return !isfinite(ts_dicom_parse_number(bytes, length, vr, binary, big_endian)) &&
           !(is_float &&
             ts_dicom_parse_stored((const unsigned char *)bytes, length, vr, big_endian, &stored) &&
             !isfinite(stored));
}

/* Parses n digits; -1 if they are none. */
static int digits(const char *text, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

/* Counts the days of the proleptic Gregorian calendar before a date, from some day on. */
static int64_t count_days(int year, int month, int day)
{
    const int64_t y =
        month <= 2 ? year - 1 : year; /* the year begins in March, so that leap days end it */
    const int64_t m = month <= 2 ? month + 9 : month - 3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day;
}

double ts_dicom_parse_date(const char *text, size_t length)
{
    ts_dicom_trim(&text, &length);
    const bool dots = length == 10 && text[4] == '.' && text[7] == '.'; /* before DICOM 3 */
    if (length != 8 && !dots)
        return NAN;
    const int year = digits(text, 4), month = digits(text + 4 + dots, 2),
              day = digits(text + 6 + 2 * dots, 2);
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > 31)
        return NAN;
    return (double)(count_days(year, month, day) - count_days(1900, 1, 1)) * SECONDS_OF_DAY;
}

double ts_dicom_parse_time(const char *text, size_t length)
{
    double fraction = 0, date = 0;
    char plain[TIME_BYTES];
    ts_dicom_trim(&text, &length);
    if (length > 2 && length < sizeof plain && text[2] == ':') { /* HH:MM:SS, as before DICOM 3 */
        size_t n = 0;
        for (size_t i = 0; i < length; i++)
            if (i != 2 && (i != 5 || text[i] != ':'))
                plain[n++] = text[i];
        text = plain;
        length = n;
    }
    const char *end = text + length;
    const char *dot = memchr(text, '.', length);
    size_t whole = dot ? (size_t)(dot - text) : length;
    const char *zone =
        memchr(text, '+', whole) ? memchr(text, '+', whole) : memchr(text, '-', whole);
    whole = zone ? (size_t)(zone - text) : whole;
    if (whole >= 10) { /* a date before the time */
        date = ts_dicom_parse_date(text, 8);
        text += 8;
        whole -= 8;
    }
    if (whole != 6 && (dot || (whole != 4 && whole != 2))) /* only seconds have a fraction */
        return NAN;
    const int hours = digits(text, 2), minutes = whole > 2 ? digits(text + 2, 2) : 0,
              seconds = whole > 4 ? digits(text + 4, 2) : 0;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 60)
        return NAN;
    double unit = 0.1;
    for (const char *c = dot ? dot + 1 : end; c < end && *c >= '0' && *c <= '9' && unit > 1e-7;
         c++, unit /= 10)
        fraction += unit * (*c - '0');
    return date + hours * 3600.0 + minutes * 60.0 + seconds + fraction;
}

double ts_dicom_parse_zone(const char *text, size_t length)
{
    enum { ZONE_BYTES = 5, MOST_HOURS = 14 };
    ts_dicom_trim(&text, &length);
    const char *zone = text + length - (length < ZONE_BYTES ? length : ZONE_BYTES);
    if (length < ZONE_BYTES || (*zone != '+' && *zone != '-'))
        return NAN;
    const int hours = digits(zone + 1, 2), minutes = digits(zone + 3, 2);
    if (hours < 0 || hours > MOST_HOURS || minutes < 0 || minutes > 59)
        return NAN;
    return (*zone == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
}

bool ts_dicom_is_text_vr(const char *vr)
{
    return !*vr || (strcmp(vr, "US") && strcmp(vr, "SS") && strcmp(vr, "UL") && strcmp(vr, "SL") &&
                    strcmp(vr, "FD") && strcmp(vr, "FL") && strcmp(vr, "OB") && strcmp(vr, "OW") &&
                    strcmp(vr, "SQ"));
}
