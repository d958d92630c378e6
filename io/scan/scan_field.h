/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of a scan's file that a reader does not need: each is read if it can be, and never makes
 * the file refused. Those that a format does not use are warned of by name.
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
enum ts_status ts_scan_field_read(struct hdf5_input *input, const struct hdf5_ref *parent,
                                  const char *name, struct scan_field *field);
/* Reads the unit of a dataset, "" if it has none: the attribute `units`, or `unit`, which some
 * writers have by mistake. */
enum ts_status ts_scan_field_units(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                   char *units, size_t size);
/* Warns of a field that is not used (field-unused): "FILE: NAME TEXT". */
void ts_scan_field_warn(const struct hdf5_input *input, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Warns, once in a list of records, of a dataset's attributes that say that its values are others
 * than those that are stored: scale_factor and add_offset of the Climate and Forecast conventions,
 * scaling_factor, scaling, scale, slope, rescale_slope, offset, intercept and rescale_intercept.
 * What ts_scan_field_read() reads as numbers is looked at. */
enum ts_status ts_scan_field_warn_of_scale(const struct hdf5_input *input,
                                           const struct hdf5_ref *dataset, const char *name);
/* Warns of NAME_scaling_factor and NAME_offset beside the field of this name, and in a group of
 * class NXdata, whose signal it is, of scaling_factor and offset. Source: NeXus definitions,
 * NXdata: (value + offset) * scaling_factor. */
enum ts_status ts_scan_field_warn_beside(struct hdf5_input *input, const struct hdf5_ref *group,
                                         const char *name);
/* Returns the millimeters of a unit of length; 0 if it is not known. Case is ignored. */
double ts_scan_field_mm(const char *units);

#endif
