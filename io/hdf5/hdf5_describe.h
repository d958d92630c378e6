/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions write short texts about an object of any HDF5 file: its type, its storage, its
 * value where that is small. They read nothing that is large, lies in other files or needs a filter
 * that is not built in. Call them between enter and leave.
 */
#ifndef IO_HDF5_HDF5_DESCRIBE_H
#define IO_HDF5_HDF5_DESCRIBE_H

#include "io/hdf5/hdf5_storage.h"

enum { HDF5_VALUE_BYTES = 512 };

/* Writes the type of a dataset's elements: "i16", "f32", "u8be", "text[12]", "text", "compound",
 * ...; "" where the library fails. */
void ts_hdf5_type_name(hid_t dataset, char *out, size_t size);
/* Writes the value of a small dataset: a number, a text, or up to 16 of them in brackets, with
 * numbers as JSON has them (NaN: null). *text is set where it is unquoted text. Returns false where
 * it is too large or of another kind. */
bool ts_hdf5_value_text(hid_t dataset, const struct hdf5_storage *storage, char *out, size_t size,
                        bool *text);
/* Reads a text of fixed or variable length, cut to size, from an attribute, or from a dataset where
 * `attribute` is NULL. Returns 1 where it is there, 0 where there is none (`out` is then ""), and
 * -1 where the library failed. */
int ts_hdf5_text_of(hid_t object, const char *attribute, char *out, size_t size);
/* Does the same for up to `most` texts: several are written as "[z, y, x]". */
int ts_hdf5_texts_of(hid_t object, const char *attribute, int most, char *out, size_t size);
/* Writes a text such as "chunked 8 x 512 x 512, shuffle, deflate 6, fletcher32". */
void ts_hdf5_storage_text(const struct hdf5_storage *storage, char *out, size_t size);

#endif
