/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 by the crypto library, which uses the processor's own instructions for it if there are
 * any. Digests are kept and compared as lowercase text, the form that attributes, listings and
 * messages have.
 */
#include "io/file/digest.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/evp.h>

#include "io/file/file_bytes.h"

struct digest {
    EVP_MD_CTX *context;
};

struct digest *ts_digest_create(void)
{
    struct digest *digest = calloc(1, sizeof *digest);
    if (!digest)
        return NULL;
    digest->context = EVP_MD_CTX_new();
    if (!digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1) {
        ts_digest_destroy(digest);
        return NULL;
    }
    return digest;
}

void ts_digest_destroy(struct digest *digest)
{
    if (!digest)
        return;
    EVP_MD_CTX_free(digest->context);
    free(digest);
}

bool ts_digest_add(struct digest *digest, const void *data, size_t bytes)
{
    return bytes == 0 || EVP_DigestUpdate(digest->context, data, bytes) == 1;
}

int ts_digest_add_file(struct digest *digest, int fd, uint64_t bytes, void *piece,
                       size_t piece_bytes)
{
    for (uint64_t at = 0; at < bytes; at += piece_bytes) {
        const size_t n = bytes - at < piece_bytes ? (size_t)(bytes - at) : piece_bytes;
        if (!ts_file_read_at(fd, piece, n, at))
            return errno ? errno : EIO;
        if (!ts_digest_add(digest, piece, n))
            return ENOMEM;
    }
    return 0;
}

void ts_digest_format(char text[DIGEST_TEXT_BYTES], const unsigned char sum[DIGEST_SUM_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < DIGEST_SUM_BYTES; i++) {
        text[2 * i] = hex[sum[i] >> 4];
        text[2 * i + 1] = hex[sum[i] & 15];
    }
    text[64] = '\0';
}

bool ts_digest_end(struct digest *digest, char text[DIGEST_TEXT_BYTES])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (EVP_DigestFinal_ex(digest->context, sum, &length) != 1 || length != 32)
        return false;
    ts_digest_format(text, sum);
    return true;
}

bool ts_digest_sum(const void *data, size_t bytes, unsigned char sum[DIGEST_SUM_BYTES])
{
    return EVP_Digest(data, bytes, sum, NULL, EVP_sha256(), NULL) == 1;
}

bool ts_digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT_BYTES])
{
    unsigned char sum[DIGEST_SUM_BYTES];
    if (!ts_digest_sum(data, bytes, sum))
        return false;
    ts_digest_format(text, sum);
    return true;
}
