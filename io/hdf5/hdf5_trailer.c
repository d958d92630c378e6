/* SPDX-License-Identifier: Apache-2.0
 *
 * Every byte of the trailer has one right value, so that each changed bit of it shows: the head is
 * made anew from the file's length and compared.
 */
#include "io/hdf5/hdf5_trailer.h"

#include <string.h>

#include "io/file/file_bytes.h"

enum { SUM_AT = TRAILER_BYTES - DIGEST_SUM_BYTES };

/* Writes all of the trailer but the digest. */
static void format_head(unsigned char trailer[TRAILER_BYTES], uint64_t bytes)
{
    static const char name[] = "tomostage result"; /* 16 bytes */
    memset(trailer, 0, TRAILER_BYTES);
    memcpy(trailer, name, sizeof name - 1);
    trailer[16] = 1;
    for (int i = 0; i < 8; i++)
        trailer[24 + i] = (unsigned char)(bytes >> (8 * i));
}

bool ts_hdf5_trailer_write(int fd, uint64_t bytes, const unsigned char sum[DIGEST_SUM_BYTES])
{
    unsigned char trailer[TRAILER_BYTES];
    format_head(trailer, bytes);
    memcpy(trailer + SUM_AT, sum, DIGEST_SUM_BYTES);
    return ts_file_write_at(fd, trailer, sizeof trailer, bytes);
}

bool ts_hdf5_trailer_read(int fd, uint64_t file_bytes, unsigned char sum[DIGEST_SUM_BYTES])
{
    unsigned char expected[TRAILER_BYTES], found[TRAILER_BYTES];
    if (file_bytes < TRAILER_BYTES)
        return false;
    format_head(expected, file_bytes - TRAILER_BYTES);
    if (!ts_file_read_at(fd, found, sizeof found, file_bytes - TRAILER_BYTES) ||
        memcmp(found, expected, SUM_AT) != 0)
        return false;
    memcpy(sum, found + SUM_AT, DIGEST_SUM_BYTES);
    return true;
}
