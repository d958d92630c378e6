/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one file's scan, and the checks of a header that was read.
 */
#ifndef IO_DICOM_DICOM_CHECK_H
#define IO_DICOM_DICOM_CHECK_H

#include <string.h>

#include "io/dicom/dicom_elements.h"
#include "io/dicom/dicom_scan.h"
#include "io/dicom/dicom_values.h"

struct scan {
    struct arena *arena;
    struct dicom_file *file;
    struct dicom_reader reader;
    struct dicom_seen seen;
    char media_class[DICOM_UID_MAX];
    bool met_pixels, encapsulated, pixels_truncated, pixel_words;
    int64_t pixels_claimed, fragment_offset, fragment_bytes;
};

/* Says why the file cannot be part of a volume; the first reason stands. */
void ts_dicom_refuse(struct scan *scan, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The first warning stands; `text` is a literal. */
void ts_dicom_warn(struct scan *scan, const char *text);
/* Kind of image, layout, values and pixel data against each other. */
void ts_dicom_check(struct scan *scan);

static inline bool text_equals(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

static inline bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

#endif
