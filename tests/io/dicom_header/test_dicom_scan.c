/* SPDX-License-Identifier: Apache-2.0
 *
 * The scanner against one file at a time: what it reads of good ones, and the exact words for each
 * broken one.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"

enum change {
    CHANGE_TEXT,     /* element becomes vr, text */
    CHANGE_US,       /* element becomes the number */
    CHANGE_REMOVE,   /* element goes */
    CHANGE_CLAIM,    /* element claims number bytes */
    CHANGE_SYNTAX,   /* the meta group names text, the encoding stays */
    CHANGE_CUT,      /* the file loses number bytes at its end */
    CHANGE_FUNCTION, /* make() does it */
    CHANGE_NONE
};

struct hostile {
    const char *name;
    enum change change;
    uint32_t tag;
    const char *vr, *text;
    int64_t number;
    void (*make)(struct dicom_fixture *);
    const char *code,
        *message; /* code NULL: accepted; message: the warning, if any. code "-": passed over */
};

static void make_jpeg(struct dicom_fixture *fixture, const char *syntax, int marker, int precision,
                      int rows, int columns, int components, int near)
{
    unsigned char frame[256] = {0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, (unsigned char)marker,
                                0,    11,   0,    0,    0, 0, 0, 1, 1,    0x11,
                                0,    0xFF, 0xDA, 0,    8, 1, 1, 0, 1,    0,
                                0};
    frame[12] = (unsigned char)precision;
    frame[13] = (unsigned char)(rows >> 8);
    frame[14] = (unsigned char)rows;
    frame[15] = (unsigned char)(columns >> 8);
    frame[16] = (unsigned char)columns;
    frame[17] = (unsigned char)components;
    frame[28] = (unsigned char)near;
    ts_fixture_encapsulate(fixture, syntax, frame, sizeof frame);
}

static void jpeg_good(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC3, 12, 7, 5, 1, 1);
}
static void jpeg_ls_good(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.80", 0xF7, 16, 7, 5, 1, 0);
}
static void jpeg_2000_good(struct dicom_fixture *f)
{
    static const char frame[] = "\xFF\x4F\xFF\x51\0\x29\0\0\0\0\0\5\0\0\0\7\0\0\0\0\0\0\0\0"
                                "\0\0\0\5\0\0\0\7\0\0\0\0\0\0\0\0\0\1\x0B\1\1"
                                "\xFF\x52\0\x0C\0\0\0\1\0\5\4\4\0\1\xFF\x90\0\x0A\0\0\0\0\0\0\0\0";
    ts_fixture_encapsulate(f, "1.2.840.10008.1.2.4.91", frame, sizeof frame - 1);
}
static void jpeg_81_lossless(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.81", 0xF7, 12, 7, 5, 1, 0);
}
static void jpeg_81_lossy(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.81", 0xF7, 12, 7, 5, 1, 3);
}
static void jpeg_turned(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC3, 12, 5, 7, 1, 1);
}
static void jpeg_huge(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.57", 0xC3, 12, 65535, 65535, 1, 1);
}
static void jpeg_thin(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC3, 8, 7, 5, 1, 1);
}
static void jpeg_wide(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC3, 17, 7, 5, 1, 1);
}
static void jpeg_color(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC3, 12, 7, 5, 3, 1);
}
static void jpeg_baseline_inside(struct dicom_fixture *f)
{
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC0, 12, 7, 5, 1, 1);
}
static void jpeg_noise(struct dicom_fixture *f)
{
    ts_fixture_encapsulate(f, "1.2.840.10008.1.2.4.70", "no picture at all", 18);
}
static void jpeg_bomb(struct dicom_fixture *f)
{
    ts_fixture_us(f, 0x00280010, 65535);
    ts_fixture_us(f, 0x00280011, 65535);
    make_jpeg(f, "1.2.840.10008.1.2.4.70", 0xC3, 12, 65535, 65535, 1, 1);
}

/* The 32-bit word at `at` of the RLE header. */
static void poke_rle(struct dicom_fixture *f, size_t at, uint32_t value)
{
    ts_fixture_rle(f);
    const struct fixture_element *pixels = ts_fixture_find(f, FIXTURE_PIXELS);
    for (int i = 0; i < 4; i++) {
        pixels->bytes[16 + at + (size_t)i] = (unsigned char)(value >> 8 * i);
    }
}
static void rle_no_segments(struct dicom_fixture *f)
{
    poke_rle(f, 0, 0);
}
static void rle_16_segments(struct dicom_fixture *f)
{
    poke_rle(f, 0, 16);
}
static void rle_start_in_header(struct dicom_fixture *f)
{
    poke_rle(f, 4, 0);
}
static void rle_start_behind(struct dicom_fixture *f)
{
    poke_rle(f, 8, 0x7FFFFFFF);
}
static void rle_start_falls(struct dicom_fixture *f)
{
    poke_rle(f, 8, 64);
}
static void rle_short(struct dicom_fixture *f)
{
    ts_fixture_encapsulate(f, FIXTURE_RLE, "short", 5);
}
static void rle_two_fragments(struct dicom_fixture *f)
{
    unsigned char item[8 + 2] = {0xFE, 0xFF, 0x00, 0xE0, 2, 0, 0, 0, 1, 2};
    unsigned char bytes[512];
    ts_fixture_rle(f);
    const struct fixture_element *pixels = ts_fixture_find(f, FIXTURE_PIXELS);
    size_t n = pixels->length;
    memcpy(bytes, pixels->bytes, n - 8);
    memcpy(bytes + n - 8, item, sizeof item);
    memcpy(bytes + n - 8 + sizeof item, pixels->bytes + n - 8, 8);
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OB", bytes, n + sizeof item);
    ts_fixture_claim(f, FIXTURE_PIXELS, UINT32_MAX);
}
static void rle_fragment_claims_more(struct dicom_fixture *f)
{
    ts_fixture_rle(f);
    ts_fixture_find(f, FIXTURE_PIXELS)->bytes[15] = 0x7F;
}
static void rle_not_a_fragment(struct dicom_fixture *f)
{
    ts_fixture_rle(f);
    ts_fixture_find(f, FIXTURE_PIXELS)->bytes[8] = 0x11;
}
static void rle_no_fragment(struct dicom_fixture *f)
{
    static const unsigned char bytes[16] = {0xFE, 0xFF, 0x00, 0xE0, 0,    0,
                                            0,    0,    0xFE, 0xFF, 0xDD, 0xE0};
    ts_fixture_syntax(f, FIXTURE_RLE);
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OB", bytes, sizeof bytes);
    ts_fixture_claim(f, FIXTURE_PIXELS, UINT32_MAX);
}
static void rle_good(struct dicom_fixture *f)
{
    ts_fixture_rle(f);
}
static void implicit_good(struct dicom_fixture *f)
{
    ts_fixture_syntax(f, FIXTURE_IMPLICIT_LE);
}
static void big_endian_good(struct dicom_fixture *f)
{
    ts_fixture_syntax(f, FIXTURE_EXPLICIT_BE);
}
static void big_endian_bytes(struct dicom_fixture *f)
{
    ts_fixture_syntax(f, FIXTURE_EXPLICIT_BE);
    ts_fixture_us(f, 0x00280100, 8);
    ts_fixture_us(f, 0x00280101, 8);
    ts_fixture_us(f, 0x00280102, 7);
}

static unsigned char nested[200000];

/* depth sequences of undefined length, one inside the other; closed properly where `closed`. */
static void nest(struct dicom_fixture *f, int depth, bool closed)
{
    static const unsigned char open[] = {0x09, 0,    0x02, 0x10, 'S',  'Q',  0,
                                         0,    0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0xFF,
                                         0x00, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF};
    static const unsigned char close[] = {0xFE, 0xFF, 0x0D, 0xE0, 0, 0, 0, 0,
                                          0xFE, 0xFF, 0xDD, 0xE0, 0, 0, 0, 0};
    size_t n = 0;
    for (int i = 1; i < depth; i++, n += sizeof open) {
        memcpy(nested + n, open, sizeof open);
    }
    for (int i = 1; closed && i < depth; i++, n += sizeof close) {
        memcpy(nested + n, close, sizeof close);
    }
    memmove(nested + 8, nested, n);
    memcpy(nested, open + 12, 8);
    n += 8;
    if (closed) {
        memcpy(nested + n, close, sizeof close);
        n += sizeof close;
    }
    ts_fixture_bytes(f, 0x00091001, "SQ", nested, n);
    ts_fixture_claim(f, 0x00091001, UINT32_MAX);
}
static void nest_32(struct dicom_fixture *f)
{
    nest(f, 32, true);
}
static void nest_33(struct dicom_fixture *f)
{
    nest(f, 33, true);
}
static void nest_6000(struct dicom_fixture *f)
{
    nest(f, 6000, false);
}
static void nest_open(struct dicom_fixture *f)
{
    nest(f, 2, false);
}
static void many_items(struct dicom_fixture *f)
{
    static unsigned char items[8 * 100000];
    for (size_t i = 0; i < sizeof items; i += 8) {
        memcpy(items + i, "\xFE\xFF\x00\xE0\0\0\0", 8);
    }
    ts_fixture_bytes(f, 0x00091001, "SQ", items, sizeof items);
}
static void bad_item(struct dicom_fixture *f)
{
    ts_fixture_bytes(f, 0x00091001, "SQ", "\x10\0\x10\0\0\0\0", 8);
}
static void item_too_long(struct dicom_fixture *f)
{
    ts_fixture_bytes(f, 0x00091001, "SQ", "\xFE\xFF\x00\xE0\x10\0\0", 8);
}
static void unknown_of_undefined_length(struct dicom_fixture *f)
{
    static const unsigned char bytes[] = {
        0xFE, 0xFF, 0x00, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF,          /* item */
        0x28, 0,    0x10, 0,    2,    0,    0,    0,    9,    0, /* implicit Rows */
        0xFE, 0xFF, 0x0D, 0xE0, 0,    0,    0,    0,    0xFE, 0xFF, 0xDD, 0xE0, 0, 0, 0, 0};
    ts_fixture_bytes(f, 0x00091001, "UN", bytes, sizeof bytes);
    ts_fixture_claim(f, 0x00091001, UINT32_MAX);
}
static void stray_delimiter(struct dicom_fixture *f)
{
    static const unsigned char bytes[] = {0xFE, 0xFF, 0x0D, 0xE0, 0, 0, 0, 0};
    ts_fixture_remove(f, FIXTURE_PIXELS);
    f->tail = bytes;
    f->tail_bytes = sizeof bytes;
}
static void rows_nested_only(struct dicom_fixture *f)
{
    static const unsigned char bytes[] = {0xFE, 0xFF, 0x00, 0xE0, 10,  0, 0, 0, 0x28,
                                          0,    0x10, 0,    'U',  'S', 2, 0, 7, 0};
    ts_fixture_remove(f, 0x00280010);
    ts_fixture_bytes(f, 0x00091001, "SQ", bytes, sizeof bytes);
}
static void rows_twice(struct dicom_fixture *f)
{
    static const unsigned char bytes[] = {0x28, 0, 0x10, 0, 'U', 'S', 2, 0, 9, 0};
    f->tail = bytes;
    f->tail_bytes = sizeof bytes;
    ts_fixture_remove(f, FIXTURE_PIXELS);
}
static void slope_behind_pixels(struct dicom_fixture *f)
{
    static const unsigned char bytes[] = {0x28, 0, 0x53, 0x10, 'D', 'S', 2, 0, '2', ' '};
    f->tail = bytes;
    f->tail_bytes = sizeof bytes;
}
static void zeros_behind_pixels(struct dicom_fixture *f)
{
    static const unsigned char bytes[300];
    f->tail = bytes;
    f->tail_bytes = sizeof bytes;
}
static void noise_behind_pixels(struct dicom_fixture *f)
{
    static const unsigned char bytes[] = {0x9E, 0x04, 0x35, 0x1E, 0x32, 0x82,
                                          0x99, 0x74, 0xB5, 0xB5, 0x94, 0x6B};
    f->tail = bytes;
    f->tail_bytes = sizeof bytes;
}
static void trailing_padding_element(struct dicom_fixture *f)
{
    ts_fixture_bytes(f, 0xFFFCFFFC, "OB", "\0\0\0\0", 4);
}
static void more_pixels(struct dicom_fixture *f)
{
    static const unsigned char bytes[2 * 35 + 40];
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", bytes, sizeof bytes);
}
static void twice_the_pixels(struct dicom_fixture *f)
{
    static const unsigned char bytes[2 * 2 * 35];
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", bytes, sizeof bytes);
}
static void half_the_bits(struct dicom_fixture *f)
{
    ts_fixture_us(f, 0x00280100, 8);
    ts_fixture_us(f, 0x00280101, 8);
    ts_fixture_us(f, 0x00280102, 7);
}
static void three_samples(struct dicom_fixture *f)
{
    static const unsigned char bytes[3 * 35 + 1];
    half_the_bits(f);
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", bytes, sizeof bytes);
}
static void fewer_pixels(struct dicom_fixture *f)
{
    static const unsigned char bytes[2 * 35 - 2];
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", bytes, sizeof bytes);
}
static void wide_columns(struct dicom_fixture *f)
{
    static const unsigned char bytes[2 * 8192]; /* 8192 is 0x2000: its high byte is a space */
    ts_fixture_us(f, 0x00280010, 1);
    ts_fixture_us(f, 0x00280011, 8192);
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", bytes, sizeof bytes);
}
static void modality_lut(struct dicom_fixture *f)
{
    /* An item with a descriptor of 4096 entries from 0 of 16 bits, and no entries. */
    static const char item[] = "\xFE\xFF\x00\xE0\x0E\0\0\0"
                               "\x28\0\x02\x30US\x06\0\0\x10\0\0\x10\0";
    ts_fixture_bytes(f, 0x00283000, "SQ", item, sizeof item - 1);
}
static void float_pixels_of_32_bits(struct dicom_fixture *f)
{
    static const char zeros[7 * 5 * 4];
    ts_fixture_remove(f, FIXTURE_PIXELS);
    ts_fixture_remove(f, 0x00280101);
    ts_fixture_remove(f, 0x00280102);
    ts_fixture_remove(f, 0x00280103);
    ts_fixture_us(f, 0x00280100, 32);
    ts_fixture_bytes(f, 0x7FE00008, "OF", zeros, sizeof zeros);
}
static void float_pixels(struct dicom_fixture *f)
{
    ts_fixture_remove(f, FIXTURE_PIXELS);
    ts_fixture_bytes(f, 0x7FE00008, "OF", "\0\0\0\0", 4);
}
static void deflate_of_nothing(struct dicom_fixture *f)
{
    ts_fixture_claim(f, 0x00080060, 100000);
    snprintf(f->syntax, sizeof f->syntax, "%s", FIXTURE_DEFLATED);
}
static void structured_report(struct dicom_fixture *f)
{
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.88.11");
    ts_fixture_remove(f, FIXTURE_PIXELS);
}
static void media_directory(struct dicom_fixture *f)
{
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.1.3.10");
}
static void no_image_elements(struct dicom_fixture *f)
{
    ts_fixture_remove(f, 0x00280010);
    ts_fixture_remove(f, FIXTURE_PIXELS);
}
static void no_meta(struct dicom_fixture *f)
{
    f->no_meta = true;
}

static const struct hostile cases[] = {
#include "tests/io/dicom_header/dicom_scan_cases.inc"
};
enum { CASES = sizeof cases / sizeof *cases };

static void apply(const struct hostile *c, struct dicom_fixture *fixture)
{
    switch (c->change) {
    case CHANGE_TEXT:
        ts_fixture_text(fixture, c->tag, c->vr, c->text);
        break;
    case CHANGE_US:
        ts_fixture_us(fixture, c->tag, (uint16_t)c->number);
        break;
    case CHANGE_REMOVE:
        ts_fixture_remove(fixture, c->tag);
        break;
    case CHANGE_CLAIM:
        ts_fixture_claim(fixture, c->tag, (uint32_t)c->number);
        break;
    case CHANGE_SYNTAX:
        snprintf(fixture->syntax, sizeof fixture->syntax, "%s", c->text);
        break;
    case CHANGE_FUNCTION:
        c->make(fixture);
        break;
    case CHANGE_CUT:
    case CHANGE_NONE:
        break;
    }
}

Test(dicom_scan, says_of_each_broken_file_what_is_wrong)
{
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/case.dcm", folder);
    cr_assert(CASES >= 60);
    for (int i = 0; i < CASES; i++) {
        const struct hostile *c = &cases[i];
        struct dicom_fixture fixture;
        struct dicom_other other;
        struct dicom_file file;
        struct arena *arena = ts_arena_create();
        unsigned char *bytes = NULL;
        ts_fixture_init(&fixture, 3);
        apply(c, &fixture);
        size_t n = ts_fixture_encode(&fixture, &bytes);
        n -= c->change == CHANGE_CUT ? (size_t)c->number : 0;
        ts_fixture_write_bytes(path, bytes, n);
        bool image = ts_dicom_scan_file(path, arena, &file, &other);
        const char *code = image ? file.refusal_code : "-";
        const char *message = image ? file.refusal ? file.refusal : file.warning : NULL;
        if (getenv("TOMOSTAGE_SHOW")) {
            fprintf(stderr, "%s | %s | %s\n", c->name, code ? code : "accepted",
                    message ? message : "");
        }
        cr_expect((code == NULL) == (c->code == NULL) && (!code || !strcmp(code, c->code)),
                  "%s: code %s, expected %s", c->name, code ? code : "accepted",
                  c->code ? c->code : "accepted");
        cr_expect((message == NULL) == (c->message == NULL) &&
                      (!message || !strcmp(message, c->message)),
                  "%s: message\n  %s\nexpected\n  %s", c->name, message ? message : "(none)",
                  c->message ? c->message : "(none)");
        free(bytes);
        ts_fixture_clear(&fixture);
        ts_arena_destroy(arena);
    }
    ts_test_remove_folder(folder);
}

/* A slice that is written in one transfer syntax, and whose meta group names another one, or none:
 * the advice names the first one, and the file that follows it is read. */
struct misnamed {
    const char *written, *named;
    void (*make)(struct dicom_fixture *); /* compresses the pixels; NULL: nothing does */
    const char *message;
};

static void take_misnamed(const char *path, const struct misnamed *row, const char *named,
                          struct arena *arena, struct dicom_file *file)
{
    struct dicom_fixture fixture;
    struct dicom_other other;
    ts_fixture_init(&fixture, 3);
    ts_fixture_syntax(&fixture, row->written);
    if (row->make)
        row->make(&fixture);
    snprintf(fixture.syntax, sizeof fixture.syntax, "%s", named);
    ts_fixture_write(&fixture, path);
    ts_fixture_clear(&fixture);
    cr_assert(ts_dicom_scan_file(path, arena, file, &other));
}

Test(dicom_scan, advises_the_transfer_syntax_in_which_a_file_is_written)
{
    static const char jpeg[] = "1.2.840.10008.1.2.4.70", jpeg_ls[] = "1.2.840.10008.1.2.4.80",
                      implicit[] = "the meta group says implicit VR, the data set is explicit VR",
                      explicit[] = "the meta group says explicit VR, the data set is implicit VR",
                      little[] = "the meta group says big endian, the data set is little endian",
                      big[] = "the meta group says little endian, the data set is big endian",
                      packed[] =
                          "the meta group says uncompressed pixels, the pixel data is compressed",
                      none[] = "the file meta group names no transfer syntax";
    static const struct misnamed rows[] = {
        {FIXTURE_IMPLICIT_LE, FIXTURE_EXPLICIT_LE, NULL, explicit},
        {FIXTURE_IMPLICIT_LE, FIXTURE_EXPLICIT_BE, NULL, little},
        {FIXTURE_IMPLICIT_LE, jpeg, NULL, explicit},
        {FIXTURE_IMPLICIT_LE, FIXTURE_DEFLATED, NULL,
         "the meta group says deflated, the data set is not deflated"},
        {FIXTURE_EXPLICIT_LE, FIXTURE_IMPLICIT_LE, NULL, implicit},
        {FIXTURE_EXPLICIT_LE, FIXTURE_EXPLICIT_BE, NULL, little},
        {FIXTURE_EXPLICIT_LE, FIXTURE_DEFLATED, NULL,
         "the meta group says deflated, the data set is not deflated"},
        {FIXTURE_EXPLICIT_LE, FIXTURE_RLE, NULL,
         "the meta group says compressed pixels, the pixel data is uncompressed"},
        {FIXTURE_EXPLICIT_BE, FIXTURE_EXPLICIT_LE, NULL, big},
        {FIXTURE_EXPLICIT_BE, FIXTURE_IMPLICIT_LE, NULL, big},
        {FIXTURE_EXPLICIT_BE, FIXTURE_RLE, NULL, big},
        {FIXTURE_DEFLATED, FIXTURE_EXPLICIT_LE, NULL,
         "the meta group says explicit VR, the data set is deflated"},
        {FIXTURE_DEFLATED, FIXTURE_IMPLICIT_LE, NULL,
         "the meta group says implicit VR, the data set is deflated"},
        {jpeg, FIXTURE_EXPLICIT_LE, jpeg_good, packed},
        {jpeg, FIXTURE_IMPLICIT_LE, jpeg_good, implicit},
        {jpeg_ls, FIXTURE_EXPLICIT_LE, jpeg_ls_good, packed},
        {FIXTURE_RLE, FIXTURE_EXPLICIT_LE, rle_good, packed},
        {FIXTURE_RLE, FIXTURE_EXPLICIT_BE, rle_good, little},
        {"1.2.840.10008.1.2.4.91", FIXTURE_EXPLICIT_LE, jpeg_2000_good, packed},
        {jpeg, jpeg_ls, jpeg_good, "the compressed frame is marked FFC3, which is not JPEG-LS"},
        {jpeg, FIXTURE_RLE, jpeg_good, "the RLE header names 3774863615 segments, expected 2"},
        {jpeg_ls, jpeg, jpeg_ls_good,
         "the compressed frame is marked FFF7, which is not JPEG lossless"},
        {FIXTURE_RLE, jpeg, rle_good, "the frame does not start with a whole JPEG lossless header"},
        {"1.2.840.10008.1.2.4.91", jpeg, jpeg_2000_good,
         "the frame does not start with a whole JPEG lossless header"},
        {FIXTURE_IMPLICIT_LE, "", NULL, none},
        {FIXTURE_EXPLICIT_LE, "", NULL, none},
        {FIXTURE_RLE, "", rle_good, none},
    };
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/case.dcm", folder);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct arena *arena = ts_arena_create();
        struct dicom_file file;
        char uid[80];
        take_misnamed(path, &rows[r], rows[r].named, arena, &file);
        cr_expect_str_eq(file.refusal ? file.refusal : "", rows[r].message, "row %zu: %s", r,
                         file.refusal ? file.refusal : "accepted");
        snprintf(uid, sizeof uid, " as %s, ", rows[r].written);
        cr_expect(file.advice && strstr(file.advice, uid), "row %zu: %s", r,
                  file.advice ? file.advice : "no advice");
        take_misnamed(path, &rows[r], rows[r].written, arena, &file);
        cr_expect_null(file.refusal, "row %zu: %s", r, file.refusal);
        ts_arena_destroy(arena);
    }
    ts_test_remove_folder(folder);
}

/* No transfer syntax has compressed pixels in implicit VR or in big endian, and damaged files are
 * in none. */
Test(dicom_scan, advises_no_transfer_syntax_that_is_not_certain)
{
    static const struct {
        bool implicit, big_endian;
        uint32_t lied; /* the element claims more than there is; 0: none does */
    } rows[] = {{true, false, 0}, {false, true, 0}, {true, true, 0}, {true, false, 0x00080060}};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/case.dcm", folder);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct arena *arena = ts_arena_create();
        struct dicom_fixture fixture;
        struct dicom_other other;
        struct dicom_file file;
        ts_fixture_init(&fixture, 3);
        if (rows[r].lied)
            ts_fixture_claim(&fixture, rows[r].lied, 100000);
        else
            ts_fixture_rle(&fixture);
        snprintf(fixture.syntax, sizeof fixture.syntax, "%s", FIXTURE_EXPLICIT_LE);
        fixture.implicit = rows[r].implicit;
        fixture.big_endian = rows[r].big_endian;
        ts_fixture_write(&fixture, path);
        ts_fixture_clear(&fixture);
        cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
        cr_expect_str_eq(file.refusal_code, "dicom-encoding", "row %zu: %s", r, file.refusal);
        cr_expect_null(file.advice, "row %zu: %s", r, file.advice);
        ts_arena_destroy(arena);
    }
    ts_test_remove_folder(folder);
}

/* The same slice in each encoding gives the same values, and pixels where they are said to be. */
Test(dicom_scan, reads_the_same_values_in_every_encoding)
{
    static const char *const syntaxes[] = {FIXTURE_EXPLICIT_LE, FIXTURE_IMPLICIT_LE,
                                           FIXTURE_EXPLICIT_BE, FIXTURE_DEFLATED};
    static const enum dicom_syntax expected[] = {DICOM_EXPLICIT_LE, DICOM_IMPLICIT_LE,
                                                 DICOM_EXPLICIT_BE, DICOM_DEFLATED_LE};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/good.dcm", folder);
    for (int i = 0; i < 8; i++) {
        struct dicom_fixture fixture;
        struct dicom_other other;
        struct dicom_file file;
        struct arena *arena = ts_arena_create();
        unsigned char *bytes = NULL;
        const double b_value =
            i < 4 ? 1000.5 : 0; /* whose bytes are all 0, as those of an empty text are */
        ts_fixture_init(&fixture, 4);
        ts_fixture_bytes(&fixture, 0x00189087, "FD", &b_value, 8);
        ts_fixture_bytes(&fixture, 0x00280120, "SS", "\x30\xF8",
                         2); /* -2000, though unsigned here: 63536 */
        ts_fixture_text(&fixture, 0x00180081, "DS", "4.6");
        ts_fixture_syntax(&fixture, syntaxes[i % 4]);
        size_t n = ts_fixture_encode(&fixture, &bytes);
        ts_fixture_write_bytes(path, bytes, n);
        cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
        cr_assert_null(file.refusal, "%s", file.refusal);
        cr_expect_eq(file.syntax, expected[i % 4]);
        cr_expect_eq(file.rows, 7);
        cr_expect_eq(file.columns, 5);
        cr_expect_eq(file.bits_stored, 12);
        cr_expect_eq(file.high_bit, 11);
        cr_expect(file.images->have_spacing && file.images->spacing_mm[0] == 0.5 &&
                  file.images->spacing_mm[1] == 0.7);
        cr_expect(file.images->have_position && file.images->position_mm[0] == -20.5 &&
                  file.images->position_mm[2] == 105.325);
        cr_expect(file.images->have_slope && file.images->slope == 1 &&
                  file.images->have_intercept && file.images->intercept == -1024);
        cr_expect(file.images->have_padding && !file.images->have_padding_limit &&
                  file.images->padding == 63536);
        cr_expect(file.images->b_value == b_value && file.images->echo_time_ms == 4.6 &&
                  isnan(file.tilt_degree));
        cr_expect_str_eq(file.image_type, "ORIGINAL\\PRIMARY\\AXIAL");
        cr_expect_str_eq(file.series, "1.2.826.0.1.3680043.10.1.2");
        cr_expect_str_eq(ts_dicom_field_text(file.images, DICOM_FIELD_convolution_kernel),
                         "STANDARD");
        cr_expect_eq(file.pixel_bytes, 70);
        uint16_t first = ts_fixture_stored(0, 0, 4);
        bool big = expected[i % 4] == DICOM_EXPLICIT_BE;
        cr_expect_eq(file.deflate_offset > 132, expected[i % 4] == DICOM_DEFLATED_LE);
        cr_expect(file.deflate_offset > 0 || bytes[file.pixel_offset + big] == (first & 0xFF));
        cr_expect(file.deflate_offset > 0 || bytes[file.pixel_offset + !big] == first >> 8);
        free(bytes);
        ts_fixture_clear(&fixture);
        ts_arena_destroy(arena);
    }
    ts_test_remove_folder(folder);
}

Test(dicom_scan, takes_padding_by_its_sign)
{
    char folder[256], path[300];
    struct dicom_fixture fixture;
    struct dicom_other other;
    struct dicom_file file;
    struct arena *arena = ts_arena_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/padding.dcm", folder);
    ts_fixture_init(&fixture, 0);
    ts_fixture_us(&fixture, 0x00280103, 1);
    ts_fixture_us(&fixture, 0x00280120, (uint16_t)-2000); /* US though it should be SS */
    ts_fixture_write(&fixture, path);
    cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
    cr_expect(file.images->have_padding && file.images->padding == -2000);
    ts_fixture_clear(&fixture);
    ts_arena_destroy(arena);
    ts_test_remove_folder(folder);
}
