/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers of JPEG 2000 frames, good and hostile, cut at every byte; JPEG and RLE headers in whole
 * files are tested with the scan (test_dicom_scan.c).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_codestream.h"
#include "tests/support/support.h"

enum { FRAME_BYTES = 256, BOX_BYTES = 12 + 20 + 8 };

static const struct dicom_frame_form form = {DICOM_JPEG_2000, 70, 50, 1, 16, 12};

struct size_header {
    const char *name;
    uint32_t x1, y1, x0, y0, tile_x, tile_y, tiles_x0, tiles_y0;
    int components, depth, sub_x;
    const char *text; /* what is refused; NULL: nothing */
};

static size_t put(unsigned char *out, size_t at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[at + (size_t)i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
    return at + (size_t)bytes;
}

/* SOC, SIZ, a comment, COD and SOT. */
static size_t make_frame(const struct size_header *size, int transformation,
                         unsigned char out[FRAME_BYTES])
{
    const uint32_t sizes[] = {size->x1,     size->y1,     size->x0,       size->y0,
                              size->tile_x, size->tile_y, size->tiles_x0, size->tiles_y0};
    size_t n = put(out, 0, 0xFF4FFF51, 4);
    n = put(out, n, 38 + 3 * (uint32_t)size->components, 2);
    n = put(out, n, 0, 2);
    for (int i = 0; i < 8; i++)
        n = put(out, n, sizes[i], 4);
    n = put(out, n, (uint32_t)size->components, 2);
    for (int i = 0; i < size->components; i++)
        n = put(out, n, (uint32_t)(size->depth << 16 | size->sub_x << 8 | 1), 3);
    n = put(out, n, 0xFF640004, 4);
    n = put(out, n, 0, 2);
    n = put(out, n, 0xFF52000C, 4);
    n = put(out, n, 0x00000001, 4);
    n = put(out, n, 0x00050404, 4);
    n = put(out, n, (uint32_t)transformation, 2);
    n = put(out, n, 0xFF90000A, 4);
    return put(out, n, 0, 4) + 4;
}

static const struct size_header good = {"good", 50, 70, 0, 0, 50, 70, 0, 0, 1, 11, 1, NULL};

static const struct size_header sizes[] = {
    {"good", 50, 70, 0, 0, 50, 70, 0, 0, 1, 11, 1, NULL},
    {"signed, 16 bits", 50, 70, 0, 0, 50, 70, 0, 0, 1, 0x8F, 1, NULL},
    {"a tile far larger than the image", 50, 70, 0, 0, UINT32_MAX, UINT32_MAX, 0, 0, 1, 11, 1,
     NULL},
    {"off the origin", 1050, 2070, 1000, 2000, 100, 100, 990, 1990, 1, 11, 1, NULL},
    {"tiles", 50, 70, 0, 0, 32, 32, 0, 0, 1, 11, 1, NULL},
    {"turned", 70, 50, 0, 0, 70, 50, 0, 0, 1, 11, 1,
     "the compressed frame is 50 x 70, Rows x Columns is 70 x 50"},
    {"empty", 0, 70, 50, 0, 50, 70, 0, 0, 1, 11, 1,
     "the compressed frame is 70 x -50, Rows x Columns is 70 x 50"},
    {"no columns", 50, 70, 50, 0, 50, 70, 0, 0, 1, 11, 1,
     "the compressed frame is 70 x 0, Rows x Columns is 70 x 50"},
    {"huge", UINT32_MAX, UINT32_MAX, 0, 0, 50, 70, 0, 0, 1, 11, 1,
     "the compressed frame is 4294967295 x 4294967295, Rows x Columns is 70 x 50"},
    {"color", 50, 70, 0, 0, 50, 70, 0, 0, 3, 11, 1,
     "the compressed frame has 3 components, Samples per Pixel is 1"},
    {"17 bits", 50, 70, 0, 0, 50, 70, 0, 0, 1, 16, 1,
     "the compressed frame has 17 bits a sample, expected at most 16"},
    {"subsampled", 50, 70, 0, 0, 50, 70, 0, 0, 1, 11, 2,
     "the compressed frame has a sample for 1 x 2 pixels, expected one for each"},
    {"tiles of nothing", 50, 70, 0, 0, 0, 70, 0, 0, 1, 11, 1,
     "the tiles of the compressed frame do not begin in it"},
    {"tiles behind", 50, 70, 0, 0, 50, 70, 1, 0, 1, 11, 1,
     "the tiles of the compressed frame do not begin in it"},
    {"tiles before", 1050, 70, 1000, 0, 50, 70, 900, 0, 1, 11, 1,
     "the tiles of the compressed frame do not begin in it"},
    {"tiny tiles", 50, 70, 0, 0, 31, 70, 0, 0, 1, 11, 1,
     "the compressed frame has 2 tiles of 70 x 31, expected at most 4096 and none smaller than 32 "
     "x 32"},
};

Test(dicom_codestream, sizes_of_jpeg_2000_are_those_of_the_file)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char frame[FRAME_BYTES] = {0};
        struct dicom_codestream stream;
        const size_t n = make_frame(&sizes[i], 1, frame);
        const enum codestream_state state =
            ts_dicom_codestream(&form, frame, n, (int64_t)n, &stream);
        cr_assert_eq(state, sizes[i].text ? CODESTREAM_BAD : CODESTREAM_GOOD, "%s: %s",
                     sizes[i].name, stream.text);
        if (sizes[i].text) {
            cr_expect_str_eq(stream.code, "dicom-bad-jpeg-2000");
            cr_expect_str_eq(stream.text, sizes[i].text);
        } else {
            cr_expect_eq(stream.precision, (sizes[i].depth & 0x7F) + 1);
            cr_expect_not(stream.lossy);
        }
    }
    /* More tiles than a slice can need, of the smallest size. */
    const struct dicom_frame_form large = {DICOM_JPEG_2000, 32 * 65, 32 * 64, 1, 16, 12};
    const struct size_header many = {"many", 32 * 64, 32 * 65, 0, 0, 32, 32, 0, 0, 1, 11, 1, ""};
    unsigned char frame[FRAME_BYTES] = {0};
    struct dicom_codestream stream;
    const size_t n = make_frame(&many, 1, frame);
    cr_assert_eq(ts_dicom_codestream(&large, frame, n, (int64_t)n, &stream), CODESTREAM_BAD);
    cr_expect_str_eq(stream.text, "the compressed frame has 4160 tiles of 32 x 32, expected at "
                                  "most 4096 and none smaller than 32 x 32");
}

/* The wavelet of real numbers cannot give back what went in. */
Test(dicom_codestream, loss_is_what_the_wavelet_says)
{
    unsigned char frame[FRAME_BYTES] = {0};
    struct dicom_codestream stream;
    const size_t n = make_frame(&good, 0, frame);
    cr_assert_eq(ts_dicom_codestream(&form, frame, n, (int64_t)n, &stream), CODESTREAM_GOOD);
    cr_assert(stream.lossy && stream.start == 0);
}

/* The point transform of lossless JPEG leaves low bits out. */
Test(dicom_codestream, loss_is_what_the_point_transform_says)
{
    struct dicom_frame_form lossless = form;
    lossless.syntax = DICOM_JPEG_LOSSLESS;
    for (int bits = 0; bits < 4; bits++) {
        unsigned char frame[64] = {0};
        struct dicom_codestream stream;
        size_t n = put(frame, 0, 0xFFD8FFC3, 4);
        n = put(frame, n, 0x000B << 8 | (uint32_t)form.bits_stored, 3);
        n = put(frame, n, (uint32_t)form.rows, 2);
        n = put(frame, n, (uint32_t)form.columns, 2);
        n = put(frame, n, 0x01011100, 4);
        n = put(frame, n, 0xFFDA0008, 4);
        n = put(frame, n, 0x01010001, 4);
        n = put(frame, n, (uint32_t)bits, 2);
        cr_assert_eq(ts_dicom_codestream(&lossless, frame, n, (int64_t)sizeof frame, &stream),
                     CODESTREAM_GOOD, "%s", stream.text);
        cr_expect_eq(stream.lossy, bits > 0, "%d", bits);
    }
}

Test(dicom_codestream, boxes_of_jp2_are_passed_over)
{
    unsigned char file[FRAME_BYTES + BOX_BYTES] = {0};
    struct dicom_codestream stream;
    memcpy(file,
           "\0\0\0\x0CjP  \r\n\x87\n\0\0\0\x14"
           "ftypjp2 \0\0\0\0jp2 \0\0\0\0jp2c",
           BOX_BYTES);
    const size_t n = BOX_BYTES + make_frame(&good, 1, file + BOX_BYTES);
    cr_assert_eq(ts_dicom_codestream(&form, file, n, (int64_t)n, &stream), CODESTREAM_GOOD);
    cr_assert_eq(stream.start, BOX_BYTES);
    file[15] = 7; /* a box shorter than its header would never end */
    cr_assert_eq(ts_dicom_codestream(&form, file, n, (int64_t)n, &stream), CODESTREAM_BAD);
    cr_assert_str_eq(stream.text, "the frame does not start with a whole JPEG 2000 header");
}

/* A start of the header asks for more of it as long as there is more, and is bad where there is
 * none; no byte behind it is read, which a block of its exact size shows to a sanitizer. */
Test(dicom_codestream, a_cut_header_asks_for_more)
{
    unsigned char frame[FRAME_BYTES] = {0};
    struct dicom_codestream stream;
    const size_t whole = make_frame(&good, 1, frame), header = whole;
    for (size_t n = 0; n < header; n++) {
        unsigned char *exact = malloc(n > 0 ? n : 1);
        memcpy(exact, frame, n);
        const enum codestream_state more =
            ts_dicom_codestream(&form, exact, n, (int64_t)whole, &stream);
        const enum codestream_state all = ts_dicom_codestream(&form, exact, n, (int64_t)n, &stream);
        cr_expect_eq(more, CODESTREAM_SHORT, "%zu bytes: %d", n, (int)more);
        cr_expect_eq(all, CODESTREAM_BAD, "%zu bytes: %d", n, (int)all);
        free(exact);
    }
}

/* Any byte may be any other: the answer is one of three, and what is good has the size of the
 * file. */
Test(dicom_codestream, changed_headers_have_an_answer)
{
    uint64_t seed = 11;
    size_t states[3] = {0};
    for (int i = 0; i < 20000; i++) {
        unsigned char frame[FRAME_BYTES] = {0};
        struct dicom_codestream stream;
        const size_t n = make_frame(&good, 1, frame);
        for (uint64_t k = ts_random_next(&seed) % 3; k < 3; k++)
            frame[ts_random_next(&seed) % n] = (unsigned char)ts_random_next(&seed);
        const enum codestream_state state =
            ts_dicom_codestream(&form, frame, n, (int64_t)n, &stream);
        states[state]++;
        cr_assert(state != CODESTREAM_BAD || (stream.code && *stream.text));
        cr_assert(state != CODESTREAM_GOOD || (stream.precision >= 1 && stream.precision <= 16));
    }
    cr_assert(states[CODESTREAM_GOOD] > 100 && states[CODESTREAM_BAD] > 1000 &&
              states[CODESTREAM_SHORT] == 0);
}
