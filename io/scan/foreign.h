/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats that are not read: what such a file is, by its first bytes or its name, and what makes an
 * input of it.
 */
#ifndef IO_SCAN_FOREIGN_H
#define IO_SCAN_FOREIGN_H

#include <stdbool.h>

#include "core/diag.h"

enum { FOREIGN_HINT = 1200 };

/* Returns what the file is, such as "an MRC file", and writes what a user can do; NULL if it is not
   known. */
const char *ts_foreign_kind(const char *path, char hint[FOREIGN_HINT]);
/* Writes what a user can do about a path if no DICOM image was found. Returns false if it is a
 * DICOM file. */
bool ts_foreign_hint(const char *path, char hint[FOREIGN_HINT]);
/* Refuses a file of such a format (format-foreign), and says what to do. TS_OK: it is of none. */
enum ts_status ts_foreign_refuse(const char *path, struct ts_diag *diag);

#endif
