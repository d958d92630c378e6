/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads DICOM files as bytes: finds them, checks every length, nesting and size product, and keeps
 * the few values that a volume needs. It trusts nothing, recurses into nothing and allocates
 * nothing by a claimed length, since files may be hostile; DCMTK sees a file only after this.
 * Source: DICOM PS3.5 (encoding), PS3.10 (file format), PS3.3 C.7.6 (image modules).
 */
#ifndef IO_DICOM_HEADER_DICOM_SCAN_H
#define IO_DICOM_HEADER_DICOM_SCAN_H

#include "core/arena.h"
#include "core/diag.h"
#include "io/dicom_header/dicom_file.h"

/* Reads the header of one file. Faults of its content are no failure; file->refusal states them.
 * Returns false if it is no image, and *other states why. Links are followed. */
bool ts_dicom_scan_file(const char *path, struct arena *arena, struct dicom_file *file,
                        struct dicom_other *other);
/* Searches folders (depth <= 32) and single files. Links to files are followed, links to folders
 * are not, FIFOs and devices are never opened. Fails if a path that the user named cannot be read;
 * below it, what cannot be read is listed in folder->others. */
enum ts_status ts_dicom_scan(const char *const *paths, size_t n_paths, struct arena *arena,
                             struct dicom_folder *folder, struct ts_diag *diag);

#endif
