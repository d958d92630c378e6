/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side of a session (io/hdf5/hdf5_session.h): the process in which libhdf5 reads a
 * foreign file. The parent sends a task as the address of its function, which is the same in the
 * child, with a request in bytes and at most one descriptor. The answer is a head, the task's
 * records, and its output.
 */
#ifndef IO_HDF5_HDF5_CHILD_H
#define IO_HDF5_HDF5_CHILD_H

#include <stdio.h>

#include "io/hdf5/hdf5_error.h"
#include "io/sandbox/sandbox.h"

enum { SESSION_FILES = 16, SESSION_PATH = 4096, SESSION_REQUEST_BYTES = 64 << 10 };

struct hdf5_child {
    char path[SESSION_PATH]; /* path of the first file, for messages */
    char owner[64];          /* the source or command that reads the file; "": none */
    struct ts_span span;     /* place of the path in the chain; may be unset */
    bool strict;             /* if a library call fails, the task fails, even if it ignores that */
    int handed;              /* the descriptor that came with the task; -1: none */
    int n_files;
    hid_t files[SESSION_FILES];
};

/* Runs in the child between enter and leave. The request comes from this program and has the size
 * that the task expects; it is aligned. Prints its answer to `out` and reports to `diag`. */
typedef enum ts_status hdf5_task(struct hdf5_child *child, const void *request, FILE *out,
                                 struct ts_diag *diag);

/* Records "PATH: message" with TS_BAD_INPUT, and returns it. */
enum ts_status ts_hdf5_child_refuse(const struct hdf5_child *child, struct ts_diag *diag,
                                    const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Records "PATH: WHAT cannot be read: reason", with the reason of the library's error stack. */
enum ts_status ts_hdf5_child_unreadable(const struct hdf5_child *child, struct ts_diag *diag,
                                        const char *what);

extern const struct sandbox_kind ts_hdf5_reader; /* its setup is a struct hdf5_child */

/* Opens the received descriptor; answers with the number of the root group (int64_t). */
hdf5_task ts_hdf5_child_add_file;

/* ---- messages -------------------------------------------------------------------------------- */

enum { RECORD_TEXTS = 3, RECORDS_MOST = 256 };

struct task_head {
    intptr_t task; /* ts_sandbox_number of a hdf5_task */
    size_t bytes;
};

struct answer_head {
    int32_t status;
    uint32_t n_records;
    uint64_t record_bytes, bytes;
};

struct record_head {
    int32_t severity, status;
    uint32_t bytes[RECORD_TEXTS]; /* lengths of code, message and hint, each with its final zero; 0:
                                     none */
};

#endif
