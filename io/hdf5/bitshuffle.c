/* SPDX-License-Identifier: Apache-2.0
 *
 * Eight rows of bits become one row of bytes: eight bytes, one of each row, are a matrix of 8 x 8
 * bits, which three exchanges transpose inside a 64-bit word (H. S. Warren, Hacker's Delight,
 * section 7-3). The result is that of the filter shuffle.
 */
#include "io/hdf5/bitshuffle.h"

#include <stdint.h>

#include "core/vectors.h"
#include "io/file/chunks.h"

static inline uint64_t transpose_8x8(uint64_t x)
{
    uint64_t t = (x ^ (x >> 7)) & UINT64_C(0x00AA00AA00AA00AA);
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & UINT64_C(0x0000CCCC0000CCCC);
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & UINT64_C(0x00000000F0F0F0F0);
    return x ^ t ^ (t << 28);
}

/* Makes 8 m bytes of eight rows of m bytes. */
TS_VECTORIZED static void join_rows(unsigned char *restrict out, const unsigned char *restrict rows,
                                    size_t m)
{
    for (size_t g = 0; g < m; g++) {
        uint64_t x = 0;
        for (int k = 0; k < 8; k++)
            x |= (uint64_t)rows[(size_t)k * m + g] << (8 * k);
        x = transpose_8x8(x);
        for (int j = 0; j < 8; j++)
            out[8 * g + (size_t)j] = (unsigned char)(x >> (8 * j));
    }
}

void ts_bitshuffle_undo(unsigned char *restrict out, const unsigned char *restrict in, size_t n,
                        size_t width, unsigned char *restrict scratch)
{
    unsigned char *bytes = width > 1 ? scratch : out;
    for (size_t b = 0; b < width; b++)
        join_rows(bytes + b * n, in + b * n, n / 8);
    if (width > 1)
        ts_chunk_unshuffle(out, bytes, n, width);
}
