/* SPDX-License-Identifier: Apache-2.0
 *
 * This is a sorted list of texts, such as parts of file names, by folder and series. The checks for lost slices find in
 * it which series have images with names like that of a file that is no image: such a file may be one of their slices.
 */
#ifndef IO_DICOM_DICOM_NAME_INDEX_H
#define IO_DICOM_DICOM_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_BYTES = 64 };

struct name_entry {
    int folder;
    char text[NAME_BYTES]; /* longer ones are cut */
    size_t series, n;      /* n: how often it was added */
};

struct name_index {
    struct name_entry *items; /* free() them */
    size_t n, capacity;
};

struct name_range {
    const struct name_entry *first, *end;
};

/* Adds a text. Returns false where memory is out. */
bool ts_name_add(struct name_index *index, int folder, const char *text, size_t series);
/* Sorts the entries by folder, text and series and merges equal ones; what follows needs it. */
void ts_name_sort(struct name_index *index);
/* Returns the entries of this folder and text, in the order of their series. */
struct name_range ts_name_find(const struct name_index *index, int folder, const char *text);
/* Returns true where a range has an entry of the series. */
bool ts_name_range_has(struct name_range range, size_t series);

#endif
