/* SPDX-License-Identifier: Apache-2.0
 *
 * What an object of any HDF5 file holds, as short text. Nothing is read that is large, lies in other files or needs a
 * filter that is not built in. All between enter and leave.
 */
#ifndef IO_HDF5_HDF5_DESCRIBE_H
#define IO_HDF5_HDF5_DESCRIBE_H

#include "io/hdf5/hdf5_error.h"

enum { HDF5_VALUE_BYTES = 512 };

/* "i16", "f32", "u8be", "text[12]", "text", "compound", ... */
void ts_hdf5_type_name(hid_t type, char *out, size_t size);
/* The value of a small dataset: a number, a text, or up to 16 of them in brackets; numbers as JSON has them (NaN:
 * null). *text says that it is one text, unquoted. False where it is too large or of another kind. */
bool ts_hdf5_value_text(hid_t dataset, char *out, size_t size, bool *text);
/* A text attribute of fixed or variable length, cut to size; false where there is none. */
bool ts_hdf5_attribute_text(hid_t object, const char *name, char *out, size_t size);
/* "chunked 8 x 512 x 512, shuffle, deflate 6, fletcher32"; *elsewhere: its values lie in other files or are virtual. */
void ts_hdf5_storage_text(hid_t dataset, char *out, size_t size, bool *elsewhere);

#endif
