/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a result. Version 2 of the digests covers values, attributes and structure, and the
 * trailer covers every byte; version 1, of older files, covers only the values. docs/provenance.md
 * defines both.
 */
#ifndef IO_HDF5_HDF5_VERIFY_H
#define IO_HDF5_HDF5_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "io/file/digest_tree.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_storage.h"

/* The trailer is the last bytes of a result: 16 bytes that name it, its version (64 bits,
 * little-endian, as all numbers here), the number of bytes before it, and their digest
 * (io/file/digest_tree.h). HDF5 ends before it and ignores it; a library that opens the file for
 * writing cuts it off. */

enum { TRAILER_BYTES = 64 };

/* Appends the trailer to a file of so many bytes. Returns false with errno if it cannot. */
bool ts_hdf5_trailer_write(int fd, uint64_t bytes, const unsigned char sum[DIGEST_SUM_BYTES]);

/* Version 3 lists the references of dimension scales; else it is version 2. */
enum { DIGEST_VERSION = 3 };

/* Counts of what the check covered, all of which is unchanged. */
struct hdf5_proof {
    int version;
    size_t datasets, attributes;
    uint64_t value_bytes;
    char digest[DIGEST_TEXT_BYTES]; /* digest of the root, which covers the whole file */
};

/* Recomputes every digest of a result and checks that its images make sense; names the first
   difference. `proof` may be NULL. Returns TS_BAD_INPUT if something differs, or if the file is
   incomplete or no result of this program. */
enum ts_status ts_hdf5_verify(struct sandbox *sandbox, const char *path, struct hdf5_proof *proof,
                              struct ts_diag *diag);
/* Does the same for a file that is open already, both in this process and as the first file of a
   session. */
enum ts_status ts_hdf5_verify_open(struct hdf5_session *session, int fd, const char *path,
                                   struct hdf5_proof *proof, struct ts_diag *diag);
/* A chunked dataset whose chunks were proved while they were written: each decodes to values that
   have this digest, and was read back from its place. */
struct hdf5_proved {
    const struct storage_chunk *chunks;
    int64_t n_chunks;
    const char *digest;
};

/* All chunked datasets of a file, and the digest of the file's bytes, to which the bytes of their
 * chunks were added. */
struct hdf5_written {
    struct digest_tree *body;
    const struct hdf5_proved *datasets;
    size_t n_datasets;
};

/* Checks the file that the writer has just closed, through its own descriptor and in this process,
   and appends the trailer. Reads all bytes except those of the chunks in `written`, which are
   borrowed and must be where they were written. Messages call the file `shown`. Returns
   TS_RUN_FAILED if something is wrong. */
enum ts_status ts_hdf5_seal(int fd, const char *shown, int threads,
                            const struct hdf5_written *written, struct ts_diag *diag);
/* Computes the root digest of version 2 from the datasets' digests in the file. Must be called
   between enter and leave. */
bool ts_hdf5_root_digest(hid_t file, char text[DIGEST_TEXT_BYTES]);

#endif
