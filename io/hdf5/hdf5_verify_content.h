/* SPDX-License-Identifier: Apache-2.0
 *
 * The check of a result (hdf5_verify.c), and what it takes from the child's listing of the file.
 */
#ifndef IO_HDF5_HDF5_VERIFY_CONTENT_H
#define IO_HDF5_HDF5_VERIFY_CONTENT_H

#include "io/file/chunks.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/hdf5/hdf5_walk.h"

struct verify_dataset {
    char *path;  /* owned */
    size_t line; /* number of its line in the listing */
    struct hdf5_storage storage;
    const void *compact;
    struct storage_chunk *chunks; /* grid.n_chunks of them; owned */
    struct chunk_grid grid;
    struct chunk_filters filters;
    uint64_t bytes;                   /* bytes of all values */
    char expected[DIGEST_TEXT_BYTES]; /* "": the file has none */
    char found[DIGEST_TEXT_BYTES];
    struct digest_tree *tree;
    int64_t damaged;     /* the first chunk that does not decode; -1: none */
    struct digest *flat; /* version 1: digest of all values in order, instead of the tree */
    bool proved;         /* `found` is known, so the chunks are not read */
};

struct verification {
    int fd, threads;
    uint64_t body_bytes; /* length of the file without its trailer */
    int version;         /* version of the digests; 0: not one that this program knows */
    bool complete;
    char expected[DIGEST_TEXT_BYTES]; /* the root's digest; "": none */
    char *content;                    /* the child's answer; owned */
    const char **lines;               /* lines of the listing */
    size_t n_lines, n_datasets, n_attributes;
    struct verify_dataset *datasets;
    struct digest_tree *body; /* digest of the body; only in version 2 */
    /* what the writer in this process has proved; NULL: nothing */
    const struct hdf5_written *written;
    /* The first fault that was found. */
    char at[HDF5_WALK_PATH]; /* path; "": the file */
    char problem[200];       /* predicate */
    bool no_memory;
    int read_error; /* errno; -1: the file ended too early */
};

/* Parses the lines of check->content, which are not trusted. Returns false with a problem. */
bool ts_verify_content(struct verification *check, size_t bytes);
/* Finds how each dataset is stored, if this program writes such storage. Returns false with a
   problem. */
bool ts_verify_describe(struct verification *check);

/* Sets the problem of the object at the path; "": of the file. Always returns false. */
bool ts_verify_wrong(struct verification *check, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool ts_verify_no_memory(struct verification *check);
/* Reads at most n bytes of two hexadecimal digits each. Returns how many there are. */
size_t ts_verify_hex(const char *hex, void *bytes, size_t n);

#endif
