/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes SHA-256 (FIPS 180-4) of streams of bytes, as 64 lowercase hex digits.
 */
#ifndef IO_FILE_DIGEST_H
#define IO_FILE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_TEXT_BYTES = 65, DIGEST_SUM_BYTES = 32 }; /* the text with its final zero */

struct digest;
/* returns NULL if memory is out or the crypto library lacks SHA-256 */
struct digest *ts_digest_create(void);
void ts_digest_destroy(struct digest *digest);
/* Adds bytes to the stream. This and the functions below return false if the crypto library fails.
 */
bool ts_digest_add(struct digest *digest, const void *data, size_t bytes);
/* Adds the first `bytes` of a file, which it reads in pieces. Returns 0 or an errno. */
int ts_digest_add_file(struct digest *digest, int fd, uint64_t bytes, void *piece,
                       size_t piece_bytes);
/* Ends the stream; afterwards the digest can only be destroyed. */
bool ts_digest_end(struct digest *digest, char text[DIGEST_TEXT_BYTES]);
/* Writes a sum of 32 bytes as text. */
void ts_digest_format(char text[DIGEST_TEXT_BYTES], const unsigned char sum[DIGEST_SUM_BYTES]);
/* Compute the digest of one array of bytes, as 32 bytes or as text. */
bool ts_digest_sum(const void *data, size_t bytes, unsigned char sum[DIGEST_SUM_BYTES]);
bool ts_digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT_BYTES]);

#endif
