/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one file's scan, which the parts of the scanner fill in turn: dicom_scan.c walks the file,
 * dicom_values.c reads the values, dicom_pixels.c and dicom_check.c check them against each other.
 */
#ifndef IO_DICOM_DICOM_SCAN_STATE_H
#define IO_DICOM_DICOM_SCAN_STATE_H

#include <string.h>

#include "core/arena.h"
#include "io/dicom_header/dicom_elements.h"
#include "io/dicom_header/dicom_file.h"

struct scan {
    struct arena *arena;
    struct dicom_file *file;
    struct dicom_image image; /* the values that hold for every image of the file */
    struct dicom_reader reader;
    uint64_t met, filled; /* bit i: row i of the table of wanted elements was met, and held a value */
    char media_class[DICOM_UID_MAX];
    bool met_pixels, encapsulated, pixels_truncated, pixel_words;
    int64_t pixels_claimed;                /* length of native pixel data, as the element states it */
    int64_t offsets_offset, offsets_bytes; /* the value of an extended offset table */
    int64_t compressed_bytes;              /* of all fragments, without their headers */
};

/* Records why the file cannot be part of a volume. The first reason stands; `code` is a literal. */
void ts_dicom_refuse(struct scan *scan, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records what was passed over. The first warning stands; `text` is a literal. */
void ts_dicom_warn(struct scan *scan, const char *text);

static inline bool text_equals(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

#endif
