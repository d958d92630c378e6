/* SPDX-License-Identifier: Apache-2.0
 *
 * RLE frames by hand, random frames there and back, and frames cut or changed at every byte: guard
 * words around the output must stand, and what decodes must have been complete.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_rle.h"
#include "tests/support/support.h"

enum { HEADER = 64, FRAME_MAX = 4096 };

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* The simplest encoder: runs of equal bytes and literals, at random lengths, with no-operations
 * strewn in. */
static size_t encode(unsigned char *frame, const unsigned char *cells, size_t n, size_t cell_bytes,
                     uint64_t *seed)
{
    size_t length = HEADER;
    memset(frame, 0, HEADER);
    put_u32(frame, (uint32_t)cell_bytes);
    for (size_t segment = 0; segment < cell_bytes; segment++) {
        const unsigned char *plane = cells + (cell_bytes - 1 - segment);
        put_u32(frame + 4 * (segment + 1), (uint32_t)length);
        for (size_t i = 0; i < n;) {
            size_t run = 1, longest = n - i < 128 ? n - i : 128;
            while (run < longest && plane[(i + run) * cell_bytes] == plane[i * cell_bytes])
                run++;
            if (ts_random_next(seed) % 8 == 0)
                frame[length++] = 128;
            if (run > 1) {
                frame[length++] = (unsigned char)(257 - run);
                frame[length++] = plane[i * cell_bytes];
            } else {
                run = 1 + ts_random_next(seed) % longest;
                frame[length++] = (unsigned char)(run - 1);
                for (size_t k = 0; k < run; k++)
                    frame[length++] = plane[(i + k) * cell_bytes];
            }
            i += run;
        }
        if (length % 2 != 0)
            frame[length++] = 0;
    }
    return length;
}

/* Decodes from a block of exactly this size, so that a sanitizer sees every byte too far. */
static bool decode(const unsigned char *frame, size_t length, unsigned char *cells, size_t n,
                   size_t cell_bytes)
{
    char error[200] = "";
    unsigned char *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, frame, length);
    memset(cells, 0xA5, n * cell_bytes + 8);
    bool ok = ts_dicom_rle_decode(exact, length, cells, n, cell_bytes, error, sizeof error);
    cr_assert_eq(ok, error[0] == '\0');
    for (size_t i = 0; i < 8; i++)
        cr_assert_eq(cells[n * cell_bytes + i], 0xA5, "written past the end");
    free(exact);
    return ok;
}

Test(dicom_rle, by_hand)
{
    unsigned char frame[HEADER + 9] = {2}, cells[2 * 6 + 8];
    const unsigned char high[] = {0xFC, 0x12}, low[] = {1, 0xAA, 0xBB, 0x80, 0xFE, 0xCC, 0};
    const unsigned char expected[] = {0xAA, 0x12, 0xBB, 0x12, 0xCC, 0x12, 0xCC, 0x12, 0xCC, 0x12};
    put_u32(frame + 4, HEADER);
    put_u32(frame + 8, HEADER + 2);
    memcpy(frame + HEADER, high, 2);
    memcpy(frame + HEADER + 2, low, 7);
    cr_assert(decode(frame, sizeof frame, cells, 5, 2));
    cr_assert_arr_eq(cells, expected, sizeof expected);
    cr_assert_not(decode(frame, sizeof frame, cells, 6, 2)); /* too little */
    cr_assert_not(decode(frame, sizeof frame, cells, 4, 2)); /* a run over the end */
    cr_assert_not(decode(frame, sizeof frame, cells, 5, 1));
}

/* A run that ends at the frame's last byte does not make padding of the runs after it. */
Test(dicom_rle, more_than_padding_after_the_last_byte)
{
    unsigned char frame[HEADER + 6] = {1}, cells[4 + 8];
    const unsigned char runs[] = {0xFD, 7, 0, 0xFD, 7, 0};
    put_u32(frame + 4, HEADER);
    memcpy(frame + HEADER, runs, sizeof runs);
    cr_assert(decode(frame, HEADER + 2, cells, 4, 1));
    cr_assert(decode(frame, HEADER + 3, cells, 4, 1));
    for (size_t length = HEADER + 4; length <= sizeof frame; length++)
        cr_assert_not(decode(frame, length, cells, 4, 1), "%zu bytes", length - HEADER);
}

/* Segments that are padded to even, and a frame that is padded again; no-operations hold nothing,
 * and whatever else follows is more than the segment may hold. */
Test(dicom_rle, padding_of_segments_and_frames)
{
    static const struct {
        unsigned char rest[6];
        size_t n;
        bool read;
    } rows[] = {
        {{0}, 0, true},
        {{0}, 1, true},
        {{0, 0}, 2, true},
        {{9}, 1, true},
        {{128, 128, 128}, 3, true},
        {{128, 0, 0}, 3, true},
        {{128, 0}, 2, true},
        {{0, 0, 0}, 3, false},
        {{0, 0, 0, 0}, 4, false},
        {{0, 9}, 2, false},
        {{9, 0}, 2, false},
        {{0, 128}, 2, false},
        {{255, 0}, 2, false},
        {{128, 0, 7}, 3, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t segment = 0; segment < 2; segment++) {
            unsigned char frame[HEADER + 16] = {2}, cells[2 * 5 + 8];
            const unsigned char runs[2][2] = {{0xFC, 0x12}, {0xFC, 0x34}};
            size_t length = HEADER;
            for (size_t k = 0; k < 2; k++) {
                put_u32(frame + 4 * (k + 1), (uint32_t)length);
                memcpy(frame + length, runs[k], 2);
                length += 2;
                memcpy(frame + length, rows[r].rest, k == segment ? rows[r].n : 0);
                length += k == segment ? rows[r].n : 0;
            }
            cr_expect_eq(decode(frame, length, cells, 5, 2), rows[r].read, "row %zu of segment %zu",
                         r, segment);
            for (size_t i = 0; rows[r].read && i < 5; i++)
                cr_expect(cells[2 * i] == 0x34 && cells[2 * i + 1] == 0x12);
        }
}

/* Some writers pad the bytes of an odd image to even before they encode them: the last run then has
 * one too many. More than one is wrong, and so is one in an even image. */
Test(dicom_rle, odd_images_that_were_padded_before)
{
    static const struct {
        unsigned char runs[8];
        size_t length, n;
        bool read;
    } rows[] = {
        {{0xFB, 7}, 2, 5, true},
        {{0xFC, 7, 1, 8, 0}, 5, 6, false},
        {{2, 7, 7, 7, 2, 7, 7, 0}, 8, 5, true},
        {{0xFF, 7, 0xFD, 7, 0}, 5, 5, true},
        {{1, 7, 0}, 3, 1, true},
        {{0xFA, 7}, 2, 5, false},
        {{0xFC, 7}, 2, 4, false},
        {{0xFB, 7, 0xFB, 7}, 4, 5, false},
        {{0xFE, 7}, 2, 1, false},
        {{2, 7, 7, 7, 2, 7, 7}, 7, 5, false}, /* the byte too many is not there */
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        unsigned char frame[HEADER + 8] = {1}, cells[6 + 8];
        put_u32(frame + 4, HEADER);
        memcpy(frame + HEADER, rows[r].runs, rows[r].length);
        cr_expect_eq(decode(frame, HEADER + rows[r].length, cells, rows[r].n, 1), rows[r].read,
                     "row %zu", r);
        for (size_t i = 0; rows[r].read && i < rows[r].n; i++)
            cr_expect_eq(cells[i], 7, "row %zu", r);
    }
}

Test(dicom_rle, there_and_back_cut_and_changed)
{
    static unsigned char frame[FRAME_MAX], cells[600], out[600 + 8];
    uint64_t seed = 17;
    size_t frames = 0, refused = 0;
    for (size_t cell_bytes = 1; cell_bytes <= 4; cell_bytes *= 2)
        for (size_t n = 1; n <= 149; n += 37, frames++) {
            for (size_t i = 0; i < n * cell_bytes; i++)
                cells[i] =
                    ts_random_next(&seed) % 3 == 0 ? (unsigned char)ts_random_next(&seed) : 7;
            const size_t length = encode(frame, cells, n, cell_bytes, &seed);
            cr_assert(decode(frame, length, out, n, cell_bytes));
            cr_assert_arr_eq(out, cells, n * cell_bytes);
            for (size_t cut = 0; cut < length; cut++)
                if (!decode(frame, cut, out, n, cell_bytes))
                    refused++;
                else
                    cr_assert_arr_eq(out, cells, n * cell_bytes, "cut at %zu of %zu", cut, length);
            for (size_t i = 0; i < length; i++) {
                const unsigned char kept = frame[i];
                frame[i] = (unsigned char)ts_random_next(&seed);
                refused += !decode(frame, length, out, n, cell_bytes);
                frame[i] = kept;
            }
        }
    cr_assert_eq(frames, 15);
    cr_assert_gt(refused, 2000, "%zu", refused);
}
