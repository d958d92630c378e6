/* SPDX-License-Identifier: Apache-2.0
 *
 * A DICOM file begins with a preamble of 128 bytes and the letters "DICM". Some programs write neither, and begin with
 * the file meta group or even with the data set. This finds where the header of a file begins, and describes what a
 * file without a header looks like. Source: DICOM PS3.10, 7.1 (file meta information).
 */
#ifndef IO_DICOM_DICOM_START_H
#define IO_DICOM_DICOM_START_H

#include "io/dicom_header/dicom_file.h"

enum { DICOM_PREAMBLE_BYTES = 128, DICOM_MAGIC_END = 132, DICOM_START_BYTES = DICOM_MAGIC_END + 8 };

enum dicom_start {
    DICOM_START_MAGIC,    /* a preamble and "DICM": the file meta group begins at DICOM_MAGIC_END */
    DICOM_START_META,     /* the file meta group begins at byte 0 */
    DICOM_START_DATA_SET, /* the data set begins at byte 0: it is little or big endian, and nothing names its syntax */
    DICOM_START_NONE
};

/* Judges the first n bytes of a file, at most DICOM_START_BYTES. A start without magic is only a likeness: whether the
 * file is DICOM shows in the elements that follow. */
enum dicom_start ts_dicom_find_start(const unsigned char *bytes, size_t n);
/* Returns the uncompressed transfer syntax in which a data set begins, by the form of its first element. */
const char *ts_dicom_guess_syntax(const unsigned char bytes[8]);
/* Describes what the first n bytes of a file that is not read as DICOM look like. */
void ts_dicom_describe_start(const unsigned char *bytes, size_t n, struct dicom_other *other);

#endif
