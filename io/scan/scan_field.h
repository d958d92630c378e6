/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of a scan's file that a reader does not need: each is read where it can be, and never refuses the file. What a
 * format does not use of them is warned of by name.
 */
#ifndef IO_SCAN_SCAN_FIELD_H
#define IO_SCAN_SCAN_FIELD_H

#include "io/hdf5/hdf5_stack.h"

enum { SCAN_FIELD_VALUES = 1 << 20 };

/* A field as it was found: numbers, or a text. */
struct scan_field {
    bool there;
    double *values; /* NULL: it is no list of numbers; the input's arena owns them */
    int64_t n;
    char units[64], text[64];
};

/* Reads a field that may be missing or of any kind. Only failures of the machine are reported. */
enum ts_status ts_scan_field_read(struct hdf5_input *input, const struct hdf5_ref *parent, const char *name,
                                  struct scan_field *field);
/* Warns of a field that is not used (field-unused): "FILE: NAME TEXT". */
void ts_scan_field_warn(const struct hdf5_input *input, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the millimeters of a unit of length, 0 where it is not known. Names count in any case. */
double ts_scan_field_mm(const char *units);

#endif
