/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunk grids cover their array once and in order; encoded chunks come back, and damaged ones never
 * do.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/chunks.h"
#include "io/file/digest.h"
#include "tests/support/support.h"

Test(chunks, grids_cover_the_array_in_order)
{
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        struct chunk_grid grid;
        int64_t n[TS_MAX_RANK], start[TS_MAX_RANK];
        int rank = 1 + (int)(ts_random_next(&seed) % TS_MAX_RANK);
        size_t width = (size_t)1 << ts_random_next(&seed) % 4, total = width, seen = 0;
        for (int d = 0; d < rank; d++) {
            n[d] = 1 + (int64_t)(ts_random_next(&seed) % (ts_random_next(&seed) % 3 ? 40 : 9000));
            total *= (size_t)n[d];
        }
        if (total > (size_t)1 << (round % 2 ? 28 : 33))
            continue;
        cr_assert(ts_chunk_grid_init(&grid, rank, n, width));
        cr_assert_leq(grid.chunk_bytes, (size_t)8 << 20);
        if (round % 2) {
            ts_chunk_grid_part(&grid);
            cr_assert_eq(grid.chunk[0], 1);
        }
        for (int64_t i = 0; i < grid.n_chunks; i++) {
            size_t at = 0, inside = ts_chunk_place(&grid, i, start);
            for (int d = 0; d < rank; d++)
                at = at * (size_t)n[d] + (size_t)start[d];
            cr_assert_eq(at * width, seen, "chunk %d of round %d", (int)i, round);
            cr_assert_leq(inside, grid.chunk_bytes);
            seen += inside;
        }
        cr_assert_eq(seen, total);
    }
    struct chunk_grid grid;
    cr_assert_not(ts_chunk_grid_init(&grid, 2, (int64_t[]){4, 0}, 2));
    cr_assert_not(ts_chunk_grid_init(&grid, 2, (int64_t[]){(int64_t)1 << 40, (int64_t)1 << 40}, 2));
}

/* Straight from the definition: sums modulo 65535, with 65535 standing for a sum that is a multiple
 * of it but not 0. */
static uint32_t reference_checksum(const unsigned char *data, size_t bytes)
{
    uint64_t s1 = 0, s2 = 0;
    bool any1 = false, any2 = false;
    for (size_t i = 0; i < bytes; i += 2) {
        uint32_t word = (uint32_t)data[i] << 8 | (i + 1 < bytes ? data[i + 1] : 0);
        any1 = any1 || word;
        s1 = (s1 + word) % 65535;
        any2 = any2 || any1;
        s2 = (s2 + s1) % 65535;
    }
    return (uint32_t)((s2 == 0 && any2 ? 65535 : s2) << 16 | (s1 == 0 && any1 ? 65535 : s1));
}

Test(chunks, checksum_is_fletchers)
{
    uint64_t seed = 8;
    static unsigned char data[70001];
    for (int fill = 0; fill < 3; fill++) {
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = fill == 0 ? (unsigned char)ts_random_next(&seed) : fill == 1 ? 0 : 255;
        for (size_t bytes = 0; bytes < sizeof data; bytes = bytes < 1500 ? bytes + 1 : bytes + 997)
            cr_assert_eq(ts_chunk_checksum(data, bytes), reference_checksum(data, bytes),
                         "%zu bytes", bytes);
    }
}

Test(chunks, damaged_chunks_do_not_decode)
{
    uint64_t seed = 9;
    unsigned char chunk[2400], out[8000], back[sizeof chunk];
    struct chunk_coder *coder = ts_chunk_coder_create();
    for (size_t i = 0; i < sizeof chunk; i++)
        chunk[i] = (unsigned char)(i / 7 + ts_random_next(&seed) % 5);
    for (size_t width = 1; width <= 8; width++) {
        if (sizeof chunk % width)
            continue;
        for (int level = 0; level <= 9; level++) {
            struct chunk_filters filters = {.element_bytes = width, .level = level};
            size_t bytes = ts_chunk_encode(coder, &filters, chunk, sizeof chunk, out, sizeof out);
            cr_assert_gt(bytes, 0);
            memset(back, 0xA5, sizeof back);
            const void *values = ts_chunk_decode(coder, &filters, out, bytes, back, sizeof back);
            cr_assert(values && memcmp(values, chunk, sizeof chunk) == 0);
            for (size_t cut = 0; cut < bytes; cut += 1 + cut / 9)
                cr_assert_not(ts_chunk_decode(coder, &filters, out, cut, back, sizeof back),
                              "cut to %zu", cut);
            cr_assert_not(ts_chunk_decode(coder, &filters, out, bytes, back, sizeof back - width));
            for (int flip = 0; flip < 50; flip++) {
                size_t bit = ts_random_next(&seed) % (8 * bytes);
                out[bit / 8] ^= (unsigned char)(1u << bit % 8);
                cr_assert_not(ts_chunk_decode(coder, &filters, out, bytes, back, sizeof back),
                              "bit %zu", bit);
                out[bit / 8] ^= (unsigned char)(1u << bit % 8);
            }
        }
    }
    ts_chunk_coder_destroy(coder);
}

/* Each width has its own way of comparing; the last parts are shorter. */
Test(chunks, encoded_chunks_match_their_values_alone)
{
    uint64_t seed = 10;
    struct chunk_coder *coder = ts_chunk_coder_create();
    for (size_t width = 1; width <= 24; width += width < 8 ? 1 : 16) {
        const struct chunk_filters filters = {.element_bytes = width, .level = 1};
        const size_t n = 20011 * width, bound = ts_chunk_bound(&filters, n);
        unsigned char *chunk = malloc(n), *out = malloc(bound);
        for (size_t i = 0; i < n; i++)
            chunk[i] = (unsigned char)(i / 7 + ts_random_next(&seed) % 5);
        const size_t bytes = ts_chunk_encode(coder, &filters, chunk, n, out, bound);
        cr_assert(ts_chunk_matches(coder, &filters, out, bytes, chunk, n), "width %zu", width);
        cr_assert_not(ts_chunk_matches(coder, &filters, out, bytes, chunk, n - width));
        cr_assert_not(ts_chunk_matches(coder, &filters, out, bytes - 1, chunk, n));
        for (int i = 0; i < 40; i++) {
            const size_t at = i == 0 ? n - 1 : i == 1 ? 0 : ts_random_next(&seed) % n;
            chunk[at] ^= (unsigned char)(1 << i % 8);
            cr_assert_not(ts_chunk_matches(coder, &filters, out, bytes, chunk, n),
                          "width %zu, byte %zu", width, at);
            chunk[at] ^= (unsigned char)(1 << i % 8);
        }
        free(chunk);
        free(out);
    }
    ts_chunk_coder_destroy(coder);
}

Test(chunks, digest_is_sha256)
{
    char text[DIGEST_TEXT_BYTES];
    cr_assert(ts_digest_of("abc", 3, text)); /* FIPS 180-4, example B.1 */
    cr_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    cr_assert(ts_digest_of("", 0, text));
    cr_assert_str_eq(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* Chunks of the slices of a volume divide it evenly, so that volumes one after the other are cut as
 * one. */
Test(chunks, volumes_are_cut_alike)
{
    static const int64_t shapes[][4] = {
        {3, 9, 1024, 1024}, {2, 10, 1024, 1024}, {4, 7, 30, 31}, {2, 5, 4096, 4096}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct chunk_grid grid;
        cr_assert(ts_chunk_grid_init(&grid, 4, shapes[i], 4));
        cr_expect(grid.chunk[1] == shapes[i][1] ||
                      (grid.chunk[0] == 1 && shapes[i][1] % grid.chunk[1] == 0),
                  "%lld slices in chunks of %lld", (long long)shapes[i][1],
                  (long long)grid.chunk[1]);
    }
}
