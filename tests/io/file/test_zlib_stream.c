/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflated streams inflate to themselves, fit into the bound, and do not depend on what was
 * deflated before.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/zlib_stream.h"
#include "tests/support/support.h"

enum { KINDS = 6 };

/* Random bytes, one value, two values, a ramp, noise of a few bits, runs. */
static void fill(unsigned char *data, size_t bytes, int kind, uint64_t *seed)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint64_t random = ts_random_next(seed) >> 20;
        data[i] = (unsigned char)(kind == 0   ? random
                                  : kind == 1 ? 7
                                  : kind == 2 ? random % 2 * 255
                                  : kind == 3 ? i
                                  : kind == 4
                                      ? i / 999 + random % 5
                                      : (random % 97 == 0 ? random >> 8 : data[i > 0 ? i - 1 : 0]));
    }
}

static void round_trip(struct zlib_coder *coder, int level, const unsigned char *data, size_t bytes)
{
    const size_t bound = ts_zlib_bound(bytes);
    unsigned char *first = malloc(bound), *again = malloc(bound), *back = malloc(bytes + 1);
    struct zlib_coder *fresh = ts_zlib_coder_create();
    const size_t length = ts_zlib_deflate(coder, level, data, bytes, first, bound);
    cr_assert(length > 0 && length <= bound, "level %d, %zu bytes", level, bytes);
    cr_assert_eq(ts_zlib_deflate(fresh, level, data, bytes, again, bound), length);
    cr_assert_eq(memcmp(first, again, length), 0,
                 "level %d, %zu bytes: other bytes the second time", level, bytes);
    cr_assert(ts_zlib_inflate(coder, first, length, back, bytes));
    cr_assert_eq(memcmp(back, data, bytes), 0);
    cr_assert_not(ts_zlib_inflate(coder, first, length, back, bytes + 1), "it is shorter");
    cr_assert(bytes == 0 || !ts_zlib_inflate(coder, first, length, back, bytes - 1),
              "it is longer");
    first[length - 1] ^= 1; /* of the checksum */
    cr_assert_not(ts_zlib_inflate(coder, first, length, back, bytes));
    ts_zlib_coder_destroy(fresh);
    free(first);
    free(again);
    free(back);
}

Test(zlib_stream, what_was_deflated_inflates_to_itself, .timeout = 900)
{
    uint64_t seed = 20261122;
    struct zlib_coder *coder = ts_zlib_coder_create();
    for (int round = 0; round < 600; round++) {
        const size_t bytes = round < 40
                                 ? (size_t)round
                                 : ts_random_next(&seed) % (round % 50 == 0 ? 3000000 : 70000);
        unsigned char *data = malloc(bytes + 1);
        fill(data, bytes, round % KINDS, &seed);
        round_trip(coder, round % 10 == 9 ? 6 : 1, data, bytes);
        free(data);
    }
    ts_zlib_coder_destroy(coder);
}
