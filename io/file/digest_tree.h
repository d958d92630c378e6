/* SPDX-License-Identifier: Apache-2.0
 *
 * A digest that several threads compute at once: SHA-256 over the number of bytes (64 bits,
 * little-endian) and the SHA-256 (32 bytes) of each leaf. A leaf is 1 MiB of the stream, the last
 * one the rest; an empty stream has no leaf.
 */
#ifndef IO_FILE_DIGEST_TREE_H
#define IO_FILE_DIGEST_TREE_H

#include <stdint.h>

#include "io/file/digest.h"

enum { DIGEST_LEAF_BYTES = 1 << 20 };

struct digest_tree;
/* Begins the digest of a stream of so many bytes. Returns NULL if memory is out. */
struct digest_tree *ts_digest_tree_create(uint64_t bytes);
/* Begins the digest of a stream whose length is not known yet. */
struct digest_tree *ts_digest_tree_create_growing(void);
/* Sets the length of a growing stream, to which more may be added afterwards. No other thread may
   use the tree meanwhile. Returns false if bytes beyond that length have come, or memory is out. */
bool ts_digest_tree_set_bytes(struct digest_tree *tree, uint64_t bytes);
void ts_digest_tree_destroy(struct digest_tree *tree);
/* Adds the bytes [offset, offset + bytes) of the stream, from any thread and in any order, each
   exactly once. A leaf that a range covers in part is kept until the rest comes. Returns false if
   memory is out or the range is outside the stream. */
bool ts_digest_tree_add(struct digest_tree *tree, uint64_t offset, const void *data, size_t bytes);
/* End the digest as 32 bytes or as text. They return false if bytes are missing or the crypto
 * library fails. */
bool ts_digest_tree_end(struct digest_tree *tree, unsigned char sum[DIGEST_SUM_BYTES]);
bool ts_digest_tree_text(struct digest_tree *tree, char text[DIGEST_TEXT_BYTES]);
/* Computes the digest of one array of bytes. */
bool ts_digest_tree_of(const void *data, size_t bytes, char text[DIGEST_TEXT_BYTES]);

#endif
