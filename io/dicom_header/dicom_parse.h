/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the bytes of one value to numbers. Parsing is strict and independent of the locale: a
 * value that is wrong in part is wrong as a whole, because a position of two numbers, or a number
 * with a comma, must not become a place that looks right. Source: DICOM PS3.5, 6.2 (value
 * representations).
 */
#ifndef IO_DICOM_HEADER_DICOM_PARSE_H
#define IO_DICOM_HEADER_DICOM_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cuts the padding off both ends of a text. */
void ts_dicom_trim(const char **text, size_t *length);
/* Parses one IS. */
bool ts_dicom_parse_integer(const char *text, size_t length, int64_t *value);
/* Parses exactly `count` DS, at most 6, divided by backslashes, or leaves the values as they
 * were. */
bool ts_dicom_parse_decimals(const char *text, size_t length, double *values, size_t count);
/* Parses the first of the numbers in a value of VR DS, IS, US, SS, UL, SL, FL or FD; NaN if it is
 * none. An implicit encoding ("") does not say which: `binary` chooses between text and numbers by
 * their length. */
double ts_dicom_parse_number(const char *bytes, size_t length, const char *vr, bool binary,
                             bool big_endian);
/* Returns true if the value holds no number, as a text with a decimal comma or one of several
 * numbers. A FL or FD that is infinite or NaN is one: some programs mean by it that there is none.
 */
bool ts_dicom_is_no_number(const char *bytes, size_t length, const char *vr, bool binary,
                           bool big_endian);
/* Gives the one number of a value of VR FL or FD as it is stored, NaN and infinite ones too; an
 * implicit encoding tells them apart by length. Returns false, and leaves the number, if the value
 * is none. */
bool ts_dicom_parse_stored(const unsigned char *bytes, size_t length, const char *vr,
                           bool big_endian, double *value);
/* Parses a time of day (TM) or a date with a time (DT) to seconds, whose differences alone have a
 * meaning; else NaN. They are those of the local clock, without the offset from UTC that a DT may
 * end in. Seconds with a date count from 1900, so that a double holds microseconds until 2036. */
double ts_dicom_parse_time(const char *text, size_t length);
/* Parses the offset from UTC at the end of a DT, or by itself, such as +0100, to seconds; NaN if
 * there is none. */
double ts_dicom_parse_zone(const char *text, size_t length);
/* Parses a date (DA) to the seconds of its midnight; NaN if it is none. */
double ts_dicom_parse_date(const char *text, size_t length);
/* Returns true if the VR, which may be "" for an implicit encoding, holds text. */
bool ts_dicom_is_text_vr(const char *vr);

#endif
