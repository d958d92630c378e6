/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from outside as a terminal may see it.
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/diag.h"
#include "core/utf8.h"
#include "io/dicom_series/dicom_group.h"
#include "tests/support/support.h"

/* Texts of good chains go when the next one comes; one that a record points into stays. */
Test(diag, many_texts_take_no_memory)
{
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH), *shown = NULL;
    size_t n_shown;
    struct ts_diag *diag = ts_diag_create();
    memset(text, 'x', LENGTH);
    ts_diag_set_source(diag, "first", "box radius=-1", 13);
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "planted", .span = {1, 5, 9}, .stage = "box"}, "no");
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; i++)
        ts_diag_set_source(diag, "more", text, LENGTH);
    cr_expect_lt(mallinfo2().uordblks, before + 2 * LENGTH);
    FILE *stream = open_memstream(&shown, &n_shown);
    ts_diag_print(diag, stream);
    fclose(stream);
    cr_expect(strstr(shown, "first:1:5: error: box: no [planted]") && strstr(shown, "radius=-1"),
              "%s", shown);
    ts_diag_clear(diag);
    cr_expect_lt(mallinfo2().uordblks, before + 2 * LENGTH);
    ts_diag_destroy(diag);
    free(text);
    free(shown);
}

Test(diag, text_is_escaped_once)
{
    static const char *const cases[][2] = {
        {"ORIGINAL\\PRIMARY\\AXIAL", "ORIGINAL\\PRIMARY\\AXIAL"},
        {"M\xC3\xBCller \xE2\x82\xAC \xF0\x9F\x98\x80",
         "M\xC3\xBCller \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"a\x1B[2Jb\x7F\n", "a\\x1B[2Jb\\x7F\\x0A"},
        {"a\xC2\x9B"
         "2J",
         "a\\xC2\\x9B"
         "2J"}, /* C1, of two bytes */
        {"a\x9B"
         "2J\xFF",
         "a\\x9B"
         "2J\\xFF"},
        {"r\xE2\x80\xAEgpj.exe", "r\\xE2\\x80\\xAEgpj.exe"}, /* right-to-left override */
        {"\xD8\x9C\xE2\x81\xA6 \xE2\x80\xA8",
         "\\xD8\\x9C\\xE2\\x81\\xA6 \\xE2\\x80\\xA8"}, /* marks, a line's end */
        {"\xE2\x80\x8B\xEF\xBB\xBF\xF3\xA0\x81\x81",
         "\\xE2\\x80\\x8B\\xEF\\xBB\\xBF\\xF3\\xA0\\x81\\x81"}, /* no width */
        {"\xD7\xA9\xD9\x85\xE2\x80\x93", "\xD7\xA9\xD9\x85\xE2\x80\x93"},
        {"\xC0\xAF \xED\xA0\x80 \xE2\x82", "\\xC0\\xAF \\xED\\xA0\\x80 \\xE2\\x82"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char once[128], twice[128];
        ts_text_escape(once, sizeof once, cases[i][0]);
        cr_expect_str_eq(once, cases[i][1], "case %zu: %s", i, once);
        ts_text_escape(twice, sizeof twice, once);
        cr_expect_str_eq(twice, once, "case %zu", i);
    }
}

/* Writes a character in UTF-8. Returns its length. */
static size_t write_character(uint32_t number, char out[4])
{
    const size_t n = number < 0x80 ? 1 : number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; number >>= 6)
        out[i] = (char)(0x80 | (number & 0x3F));
    out[0] = (char)(marks[n] | number);
    return n;
}

/* The ends of the ranges of Default_Ignorable_Code_Point, and what is blank beside them; then what
 * is shown, of which some are their neighbors. */
Test(diag, characters_that_look_like_nothing_are_escaped)
{
    static const uint32_t hidden[] = {0xAD,    0x34F,   0x61C,   0x115F,  0x1160,  0x17B4,  0x17B5,
                                      0x180B,  0x180E,  0x180F,  0x200B,  0x200F,  0x202A,  0x202E,
                                      0x2060,  0x2065,  0x206F,  0x3164,  0xFE00,  0xFE0F,  0xFEFF,
                                      0xFFA0,  0xFFF0,  0xFFF8,  0x1BCA0, 0x1BCA3, 0x1D173, 0x1D17A,
                                      0xE0000, 0xE01EF, 0xE0FFF, 0x2800,  0x1680,  0x2000,  0x200A,
                                      0x202F,  0x205F,  0x2028,  0x2029,  0x1D159, 0x9F};
    static const uint32_t shown[] = {
        0x20,   0xA0,    0xAE,    0x34E,   0x350,   0x115E,  0x1161,  0x17B6,  0x1810,  0x2010,
        0x2030, 0x2070,  0x2801,  0x3000,  0x3163,  0x3165,  0xFDFF,  0xFE10,  0xFF9F,  0xFFA1,
        0xFFFD, 0x1BC9F, 0x1BCA4, 0x1D158, 0x1D15A, 0x1D172, 0x1D17B, 0x1F600, 0xDFFF0, 0xE1000};
    char text[4];
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        cr_expect(ts_utf8_is_hidden(text, write_character(hidden[i], text)), "U+%04X", hidden[i]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        cr_expect(!ts_utf8_is_hidden(text, write_character(shown[i], text)), "U+%04X", shown[i]);
    char filler[64];
    ts_text_escape(filler, sizeof filler, "a\xE3\x85\xA4.dcm");
    cr_expect_str_eq(filler, "a\\xE3\\x85\\xA4.dcm");
}

/* Random bytes in Image Type and other text. */
Test(diag, info_of_a_damaged_file_shows_text_alone)
{
    SKIP_WITHOUT_DATA("diag/info_of_a_damaged_file_shows_text_alone");
    char path[512], *text = NULL;
    size_t size = 0;
    struct ts_diag *diag = ts_diag_create();
    snprintf(path, sizeof path, "%s/corrupt/synthetic/80_flip_16.dcm", ts_test_data());
    FILE *stream = open_memstream(&text, &size);
    cr_assert_eq(ts_dicom_info(path, false, true, stream, diag), TS_BAD_INPUT);
    fclose(stream);
    cr_assert_gt(size, 100);
    for (size_t i = 0, bytes; i < size; i += bytes) {
        bytes = ts_utf8_bytes(text + i, size - i);
        cr_assert(bytes > 0 && (text[i] == '\n' || !ts_utf8_is_hidden(text + i, bytes)),
                  "byte %zu of %s", i, text);
    }
    cr_expect_null(strstr(text, "\\x5C"), "%s", text);
    free(text);
    ts_diag_destroy(diag);
}

/* Records that are not kept are counted, on a line of their own. */
Test(diag, errors_beyond_the_most_are_counted)
{
    char *text = NULL;
    size_t size = 0;
    struct ts_diag *diag = ts_diag_create();
    for (int i = 0; i < DIAG_MAX_ERRORS + 3; i++)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "test"}, "error %d", i);
    FILE *stream = open_memstream(&text, &size);
    ts_diag_print_json(diag, stream);
    fclose(stream);
    const char *last = strstr(text, "\"error 19\"");
    cr_assert(last && !strstr(text, "\"error 20\""), "%s", text);
    cr_assert(strstr(last, "\"code\": \"more-errors\"") &&
                  strstr(last, "3 more errors are not shown"),
              "%s", last);
    free(text);
    stream = open_memstream(&text, &size);
    ts_diag_print(diag, stream);
    fclose(stream);
    last = strstr(text, "error 19 [test]\n");
    cr_assert_str_eq(
        last, "error 19 [test]\ntomostage: error: 3 more errors are not shown [more-errors]\n");
    free(text);
    ts_diag_destroy(diag);
}

/* Records of every severity show the code at the end of their line, before the hint; one without a
 * code has no brackets. A worker that was attacked may send any code, so its control characters are
 * escaped. */
Test(diag, codes_are_shown)
{
    char *text = NULL;
    size_t size = 0;
    struct ts_diag *diag = ts_diag_create();
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "bad-thing", .stage = "box"},
                  "bad [1, 2]");
    ts_diag_hint(diag, "mend it");
    ts_diag_warning(diag, &(struct diag_site){.code = "odd-thing"}, "odd");
    ts_diag_note(diag, &(struct diag_site){.code = "e\x1B[2J"}, "known");
    ts_diag_note(diag, NULL, "plain");
    FILE *stream = open_memstream(&text, &size);
    ts_diag_print(diag, stream);
    fclose(stream);
    cr_expect_str_eq(text, "tomostage: error: box: bad [1, 2] [bad-thing]\n"
                           "  hint: mend it\n"
                           "tomostage: warning: odd [odd-thing]\n"
                           "tomostage: note: known [e\\x1B[2J]\n"
                           "tomostage: note: plain\n");
    free(text);
    ts_diag_destroy(diag);
}

#ifndef TS_SANITIZED /* its allocator ends the process */
/* Warnings that find no place are counted; errors always find one. */
Test(diag, a_failure_without_memory_has_a_record)
{
    struct ts_diag *diag = ts_diag_create();
    struct rlimit limit, none = {0};
    char *text = NULL;
    size_t size = 0, n_errors = 0;
    getrlimit(RLIMIT_AS, &limit);
    none.rlim_max = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
    for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2)
        for (volatile char *taken = malloc(bytes); taken; taken = malloc(bytes))
            *taken = 0;
    for (int i = 0; i < 100; i++)
        ts_diag_warning(diag, &(struct diag_site){.code = "test"}, "warning %d", i);
    for (int i = 0; i < DIAG_MAX_ERRORS; i++)
        ts_diag_no_memory(diag, 1000);
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        cr_assert_str_eq(record->message, "out of memory");
        cr_assert_str_eq(record->code, "no-memory");
        n_errors += record->severity == TS_ERROR;
    }
    cr_assert_eq(n_errors, DIAG_MAX_ERRORS);
    cr_assert_eq(ts_diag_status(diag), TS_RUN_FAILED);
    FILE *stream = open_memstream(&text, &size);
    ts_diag_print(diag, stream);
    fclose(stream);
    cr_assert(strstr(text, " more warnings are not shown: out of memory\n"), "%s", text);
    free(text);
    ts_diag_destroy(diag);
}
#endif
