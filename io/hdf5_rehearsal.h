/* SPDX-License-Identifier: Apache-2.0
 *
 * What libhdf5 is to do with a foreign file is done by a forked child first: a damaged file can have the library crash,
 * loop or take all memory. The child has limits of addresses and time; where it does not come to its end, the file is
 * refused and this process never opens it.
 */
#ifndef IO_HDF5_REHEARSAL_H
#define IO_HDF5_REHEARSAL_H

#include <stdio.h>

#include "pipeline/diag.h"

enum {
    HDF5_REHEARSAL_BYTES = 128 << 20, /* of addresses, beyond those of the parent */
    HDF5_REHEARSAL_SECONDS = 2,       /* of the processor */
    HDF5_REHEARSAL_WALL_SECONDS = 60, /* a file on a slow disk or far away */
    HDF5_REHEARSAL_OUTPUT = 64 << 20  /* bytes that the child may print */
};

struct hdf5_rehearsal {
    const char *path;    /* for messages */
    struct ts_span span; /* of the path in the chain, and whose parameter it is; may be unset */
    const char *owner;
    /* In the child, not between enter and leave. Prints to `out`, reports to `diag`. */
    enum ts_status (*work)(void *user, FILE *out, struct ts_diag *diag);
    void *user;
};

/* TS_OK: the child did it all, and no call into the library failed: it may be done here. Otherwise the child's records,
 * or TS_BAD_INPUT with the reason why it did not end; TS_RUN_FAILED where there could be no child. Not between enter
 * and leave; other threads may run and CUDA may be in use. Inside a child: TS_OK at once. */
enum ts_status ts_hdf5_rehearse(const struct hdf5_rehearsal *rehearsal, struct ts_diag *diag);
/* The child's work stands for this process's own: what it printed goes to `out`, its records to `diag`. Calls into the
 * library that failed are what `work` makes of them. */
enum ts_status ts_hdf5_delegate(const struct hdf5_rehearsal *rehearsal, FILE *out, struct ts_diag *diag);

#endif
