/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists the slices of an input as the result recorded them and as they are there now, and matches the two lists.
 */
#ifndef PIPELINE_COMPARE_INPUTS_SLICES_H
#define PIPELINE_COMPARE_INPUTS_SLICES_H

#include "io/source/source.h"
#include "pipeline/compare/inputs.h"

struct input_slice {
    const char *pixels, *instance; /* digests, as struct source_slice has them */
    double place[3];
    const char *name;   /* of the file, where it is known; else NULL */
    const char *series; /* UID, of a DICOM file; else "" */
    bool matched;       /* with a slice of the other list */
};

struct input_slices {
    struct input_slice *items;
    size_t n;
};

/* Reads all slices of an open source, which computes their digests, and nothing else of them is kept. */
enum ts_status ts_inputs_read(struct source *source, struct ts_diag *diag);
/* Adds the slices of a source that was read, in the order of the result's lists. */
enum ts_status ts_inputs_add(struct input_slices *slices, const struct source *source, const char *name,
                             const char *series, struct arena *arena, struct ts_diag *diag);
/* Reads the slices that a result recorded of this input. */
enum ts_status ts_inputs_recorded(const struct recorded *recorded, const char *name, struct input_slices *slices,
                                  struct ts_diag *diag);
/* Lists the slices of every DICOM image in the paths, each file by itself, so that it can be named. Files that cannot
 * be read are left out. */
enum ts_status ts_inputs_of_files(const char *const *paths, size_t n_paths, struct arena *arena,
                                  struct input_slices *slices, struct ts_diag *diag);
/* Matches slices by their pixels and their places and counts what is left over into *found. Where both lists are as
 * long and `there` is in the order of the image too (`ordered`), the number of a slice is its place. Slices of other
 * DICOM series than those that match count as additional in no case, and none does unless `count_additional`. Returns
 * TS_RUN_FAILED where memory is out. */
enum ts_status ts_inputs_match(const struct input_slices *used, const struct input_slices *there, bool ordered,
                               bool count_additional, struct inputs_found *found, struct ts_diag *diag);

#endif
