/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call of libhdf5 must be between ts_hdf5_enter and ts_hdf5_leave: they hold a lock for the
 * whole process, because the library may be built without thread safety, and keep it from printing
 * its errors. Its error stack becomes one sentence.
 */
#ifndef IO_HDF5_HDF5_ERROR_H
#define IO_HDF5_HDF5_ERROR_H

#define H5_USE_110_API
#include <hdf5.h>

#include "core/diag.h"

/* Why a call failed: the system's error number (0: no system call failed), and its text or, without
   one, the innermost description of the library. */
struct hdf5_failure {
    int error_number;
    char text[200];
};

/* Enter locks and turns off the error printing that the host program had set; leave turns it on
 * again and unlocks. The lock is not recursive. */
void ts_hdf5_enter(void);
void ts_hdf5_leave(void);
/* Closes data types, spaces, property lists, attributes and other objects, in this order; negative
 * ones are skipped. */
#define TS_HDF5_CLOSE(...)                                                                         \
    ts_hdf5_close((const hid_t[]){__VA_ARGS__},                                                    \
                  sizeof((const hid_t[]){__VA_ARGS__}) / sizeof(hid_t))
void ts_hdf5_close(const hid_t *objects, size_t n);
/* Reads and clears the error stack of this thread and the error that the driver kept; must be
   called before leave. The text is escaped and its length bounded. */
void ts_hdf5_failure(struct hdf5_failure *failure);
/* The driver calls this after a failed system call. Only the first errno since enter is kept. */
void ts_hdf5_keep_error(int error_number);
/* Returns the kept errno, or 0. The library does not report every failed write, so writers ask for
   it. */
int ts_hdf5_kept_error(void);
/* Remembers the first library call that fails from now on. For a sandboxed child. */
void ts_hdf5_note_failures(void);
/* Returns true if one failed, with the reason in `failure`. */
bool ts_hdf5_noted_failure(struct hdf5_failure *failure);

#endif
