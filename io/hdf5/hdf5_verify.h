/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks a result. Version 2 of the digests covers values, attributes and structure, and the trailer every byte;
 * version 1, of older files, the values alone. docs/provenance.md defines both.
 */
#ifndef IO_HDF5_HDF5_VERIFY_H
#define IO_HDF5_HDF5_VERIFY_H

#include "io/file/digest.h"
#include "io/hdf5/hdf5_session.h"

enum { DIGEST_VERSION = 2 };

/* The proof counts what the check covered, all of which is as it was written. */
struct hdf5_proof {
    int version;
    size_t datasets, attributes;
    uint64_t value_bytes;
    char digest[DIGEST_TEXT_BYTES]; /* the root's, which stands for the whole file */
};

/* Recomputes every digest of a result and checks that its images make sense; names the first difference. `proof` may be
 * NULL. Returns TS_BAD_INPUT where something differs, where the file is not complete, or where it is no result of this
 * program. */
enum ts_status ts_hdf5_verify(const char *path, struct hdf5_proof *proof, struct ts_diag *diag);
/* ts_hdf5_verify for a file that is open already, in this process and as the first file of a session. */
enum ts_status ts_hdf5_verify_open(struct hdf5_session *session, int fd, const char *path, struct hdf5_proof *proof,
                                   struct ts_diag *diag);
/* Checks the file that the writer has just closed, through its own descriptor and in this process, and appends the
 * trailer. `shown` stands for the path in messages; TS_RUN_FAILED where something is wrong. */
enum ts_status ts_hdf5_seal(int fd, const char *shown, int threads, struct ts_diag *diag);
/* Computes the root digest of version 2 from the datasets' digests as they stand. Call it between enter and leave. */
bool ts_hdf5_root_digest(hid_t file, char text[DIGEST_TEXT_BYTES]);

#endif
