/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens DICOM objects that hold regions instead of an image: segmentations and structure sets.
 * Their elements are walked by the same checked walk as those of images
 * (io/dicom_header/dicom_elements.h).
 */
#ifndef IO_MASK_REGION_FILE_H
#define IO_MASK_REGION_FILE_H

#include <sys/stat.h>

#include "io/dicom_header/dicom_scan_state.h"

enum region_class { REGION_NONE, REGION_SEG, REGION_RTSTRUCT };

enum { REGION_NAME_MAX = 65, REGION_MOST = 65535 };

/* One segment, or one region of interest. */
struct region {
    int64_t number;
    char frame_of_reference[DICOM_UID_MAX]; /* of a region of interest; "": not stated */
    /* free text that may identify the patient, so only `info` shows it */
    char name[REGION_NAME_MAX];
};

struct region_file {
    struct scan scan; /* whose reader reads the data set, and whose file has syntax and refusal */
    struct dicom_file file;
    struct dicom_walk walk; /* at the begin of the data set */
    struct stat found;
    enum region_class class;
};

/* Opens the file and finds its class; REGION_NONE if it is no such object. If this returns false,
   file->refusal has the reason, with its code; `arena` owns it. */
bool ts_region_open(struct region_file *file, const char *path, struct arena *arena);
void ts_region_close(struct region_file *file);
/* What is looked for in a data set, and in which sequences of the top level. */
struct region_walk {
    bool (*is_open)(uint32_t tag);
    bool (*take)(struct region_file *, const struct dicom_element *, void *user);
};
/* Walks the data set and passes each element on, also those inside of the sequences that are named,
   until it ends or take() returns false. Returns false if the data set is broken or `take` refused
   it: file->refusal. */
bool ts_region_walk(struct region_file *file, const struct region_walk *what, void *user);

/* These read a value of 16 bits, an integer that is written as text, decimals and a text; -1, -1,
 * false and "" if it is none. */
int64_t ts_region_short(struct region_file *file, const struct dicom_element *element);
int64_t ts_region_integer(struct region_file *file, const struct dicom_element *element);
bool ts_region_decimals(struct region_file *file, const struct dicom_element *element,
                        double *values, size_t n);
void ts_region_text(struct region_file *file, const struct dicom_element *element, char *out,
                    size_t size);
/* Finds the region that the text names by its number, else by its name; -1 if there is none, -2 if
   two have the name. */
int64_t ts_region_find(const struct region *regions, size_t n, const char *text);
/* Returns pointers to the regions in the order of their numbers, which free() frees; NULL if memory
   is out, which is refused. Two regions of one number that have other names are refused with this
   code, since nothing tells them apart. */
const struct region **ts_region_sort(struct region_file *file, const struct region *regions,
                                     size_t n, const char *code);
/* Returns true if one of them has the number. */
bool ts_region_is_listed(const struct region *const *sorted, size_t n, int64_t number);

#endif
