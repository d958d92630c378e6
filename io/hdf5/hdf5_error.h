/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to libhdf5: a lock for the whole process (the library may be built without thread safety), its own
 * printing off while we are inside, and its error stack folded into one sentence.
 */
#ifndef IO_HDF5_HDF5_ERROR_H
#define IO_HDF5_HDF5_ERROR_H

#define H5_USE_110_API
#include <hdf5.h>

#include "core/diag.h"

/* What a failed call left behind: the system's error number (0: no system call failed), and its text or, without one,
 * the innermost description. */
struct hdf5_failure {
    int error_number;
    char text[200];
};

/* The error printing that the host program had set, given back by leave. */
struct hdf5_visit {
    H5E_auto2_t print;
    void *print_data;
};

/* Every call into libhdf5 stands between these two. */
void ts_hdf5_enter(struct hdf5_visit *visit);
void ts_hdf5_leave(const struct hdf5_visit *visit);
/* Reads and clears the error stack of this thread and the error that the driver kept; call before leave. Text is
 * escaped, its length bounded. */
void ts_hdf5_failure(struct hdf5_failure *failure);
/* For the driver: a system call failed with this errno. The first one since enter is kept. */
void ts_hdf5_keep_error(int error_number);
/* The errno that is kept, or 0. The library does not pass on every failed write, so writers ask for it. */
int ts_hdf5_kept_error(void);
/* For a sandboxed child: from now on calls into the library that fail are noted. */
void ts_hdf5_note_failures(void);
/* Whether one failed, and how the first did. */
bool ts_hdf5_noted_failure(struct hdf5_failure *failure);
/* For a full disk or a limit: "; the file had reached 3.1 MB, free on the disk 0 bytes", else "". */
void ts_space_format(char *out, size_t size, int error_number, int fd, int64_t needed_bytes);

#endif
