/* SPDX-License-Identifier: Apache-2.0
 *
 * A series in a folder of its own, some of whose files are damaged or taken away before it is
 * opened as a chain would.
 */
#ifndef TESTS_FILES_DICOM_LOST_H
#define TESTS_FILES_DICOM_LOST_H

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"

struct lost {
    char folder[256], path[300];
    struct dicom_params params; /* ts_lost_open uses `dicom` and `series` where they are set */
    struct ts_diag *diag;
    struct source *source;
};

/* Writes n slices IM000.dcm, ... that `edit` may change. ts_lost_end removes them. */
void ts_lost_begin(struct lost *lost, int n,
                   void (*edit)(struct dicom_fixture *, int z, void *user), void *user);
void ts_lost_end(struct lost *lost);
/* The path of a name in the folder; valid until the next call. */
const char *ts_lost_path(struct lost *lost, const char *name);
/* Gives the slices the names that name() writes. */
void ts_lost_rename(struct lost *lost, void (*name)(int z, char *out, size_t size));
/* Opens the folder, or the paths of lost->params, as lost->source. */
enum ts_status ts_lost_open(struct lost *lost, int32_t unreadable, int32_t incomplete);
/* The same, and fails the test where the status is another one. */
void ts_lost_open_as(struct lost *lost, int32_t unreadable, int32_t incomplete,
                     enum ts_status status);
void ts_lost_close(struct lost *lost);
/* The value of the open source's attribute, or "". */
const char *ts_lost_attribute(const struct lost *lost, const char *name);
/* Expects that `refuse` reports the code and the text, and that `skip` opens n_left slices and
 * records one skipped file without its name. */
void ts_lost_expect(struct lost *lost, const char *code, const char *text, int n_left);
/* Damages a file: 0 empties it, 1 cuts it, 2 breaks its magic, 3 overwrites it with zeros. */
void ts_lost_damage(const char *path, int kind);

#endif
