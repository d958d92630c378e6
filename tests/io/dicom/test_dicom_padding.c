/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixel Padding Value is a stored value: pixels are compared with it before slope, intercept and
 * Modality LUT. Floats and doubles have elements of their own for it.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_source.h"
#include "io/dicom_series/dicom_group.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { N_PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

/* Stored values whose values cannot be told apart: a slope that floats do not show beside the
 * intercept, or a table in which all are one. Padding is what is stored as 5. */
static const int16_t close_values[N_PIXELS] = {4, 5, 6, 5, 0, 1, 2, 3, 7};

static void edit_close(struct dicom_fixture *fixture, int z, void *user)
{
    /* An item with the descriptor of 8 entries from 0 of 16 bits, an explanation, and the entries,
     * all 100. */
    static const char item[] =
        "\xFE\xFF\x00\xE0\x26\0\0\0"
        "\x28\0\x02\x30US\x06\0\x08\0\0\0\x10\0"
        "\x28\0\x06\x30US\x10\0\x64\0\x64\0\x64\0\x64\0\x64\0\x64\0\x64\0\x64\0";
    (void)z;
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OW", close_values, sizeof close_values);
    ts_fixture_us(fixture, 0x00280120, 5);
    if (!user) {
        ts_fixture_text(fixture, 0x00281053, "DS", "1e-5");
        return;
    }
    ts_fixture_remove(fixture, 0x00281052);
    ts_fixture_remove(fixture, 0x00281053);
    ts_fixture_remove(fixture, 0x00281054);
    ts_fixture_bytes(fixture, 0x00283000, "SQ", item, sizeof item - 1);
}

Test(dicom_padding, padding_is_decided_on_stored_values)
{
    for (int table = 0; table < 2; table++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        double first, value;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, 3, edit_close, table ? "" : NULL);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
        cr_assert(source->image.masked);
        void *data = ts_test_read_all(source, diag);
        ts_load_f64(&first, data, source->image.dtype, 1);
        for (int z = 0; z < 3; z++) {
            cr_assert_eq(*ts_source_valid(source, z),
                         UINT64_MAX >> (64 - N_PIXELS) & ~(uint64_t)0xA);
            cr_assert_eq(source->slices[z].padding_count, 2);
            for (size_t i = 0; i < N_PIXELS; i++) {
                ts_load_f64(&value,
                            (char *)data +
                                ((size_t)z * N_PIXELS + i) * ts_dtype_bytes(source->image.dtype),
                            source->image.dtype, 1);
                cr_assert_float_eq(value, first, 1e-3);
            }
        }
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* A header has pixels of `bits`, and states padding and its limit for floats of `stated` bits. All
 * of its pixels are 1 but the first four: the value, half way to the limit, the limit, and the
 * double next to the value. */
static const struct stated_floats {
    const char *syntax;
    int bits, stated;
    double value, limit; /* limit 0: none is stated */
    uint64_t padding;    /* which pixels are padding, a bit each */
} stated_floats[] = {
    {FIXTURE_EXPLICIT_LE, 32, 32, -9999, 0, 9}, /* the next double is the same float */
    {FIXTURE_EXPLICIT_LE, 64, 64, -9999, 0, 1},
    {FIXTURE_EXPLICIT_LE, 64, 64, -9999.1, 0, 1}, /* no float */
    {FIXTURE_EXPLICIT_LE, 32, 32, -9999, -8000, 15},
    {FIXTURE_EXPLICIT_LE, 64, 64, -8000, -9999, 15},
    {FIXTURE_IMPLICIT_LE, 32, 32, -9999, -8000, 15},
    {FIXTURE_IMPLICIT_LE, 64, 64, -8000, -9999, 15},
    {FIXTURE_EXPLICIT_BE, 32, 32, -9999, -8000, 15},
    {FIXTURE_EXPLICIT_BE, 64, 64, -8000, -9999, 15},
    {FIXTURE_EXPLICIT_LE, 32, 32, NAN, 0, 15},
    {FIXTURE_EXPLICIT_LE, 64, 64, NAN, 0, 15},
    {FIXTURE_EXPLICIT_LE, 32, 32, -INFINITY, -8000, 15},
    {FIXTURE_EXPLICIT_LE, 64, 64, -8000, -1e300, 15}, /* padding may lie beyond the floats */
    {FIXTURE_EXPLICIT_LE, 64, 64, -DBL_MAX, 0, 1},
    {FIXTURE_EXPLICIT_LE, 32, 64, -9999, -8000,
     0}, /* what is stated for another type counts for nothing */
    {FIXTURE_EXPLICIT_LE, 64, 32, -9999, -8000, 0},
    {FIXTURE_EXPLICIT_LE, 32, 16, -9999, -8000, 0},
};

/* Adds n numbers as floats or doubles. The fixture turns FL and FD round itself where it is
 * big-endian, but no OF and OD. */
static void add_floats(struct dicom_fixture *fixture, uint32_t tag, const char *vr, int bits,
                       const double *values, size_t n)
{
    unsigned char bytes[8 * N_PIXELS];
    const size_t each = (size_t)bits / 8;
    for (size_t i = 0; i < n; i++) {
        const float rounded = (float)values[i];
        unsigned char number[8];
        memcpy(number, bits == 64 ? (const void *)&values[i] : &rounded, each);
        for (size_t b = 0; b < each; b++)
            bytes[i * each + b] = number[fixture->big_endian && *vr == 'O' ? each - 1 - b : b];
    }
    ts_fixture_bytes(fixture, tag, vr, bytes, n * each);
}

static void edit_floats(struct dicom_fixture *fixture, int z, void *user)
{
    const struct stated_floats *row = user;
    const uint32_t removed[] = {FIXTURE_PIXELS, 0x00280101, 0x00280102, 0x00280103};
    const bool doubles = row->stated == 64;
    double values[N_PIXELS];
    (void)z;
    ts_fixture_syntax(fixture, row->syntax);
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        ts_fixture_remove(fixture, removed[i]);
    for (size_t i = 0; i < N_PIXELS; i++)
        values[i] = 1;
    values[0] = row->value;
    values[1] = row->limit != 0 ? (row->value + row->limit) / 2 : isnan(row->value) ? NAN : 2;
    values[2] = row->limit != 0 ? row->limit : values[1];
    values[3] = nextafter(row->value, -INFINITY);
    ts_fixture_us(fixture, 0x00280100, (uint16_t)row->bits);
    add_floats(fixture, row->bits == 64 ? 0x7FE00009 : 0x7FE00008, row->bits == 64 ? "OD" : "OF",
               row->bits, values, N_PIXELS);
    if (row->stated == 16) {
        ts_fixture_us(fixture, 0x00280120, 1);
        return;
    }
    add_floats(fixture, doubles ? 0x00280123 : 0x00280122, doubles ? "FD" : "FL", row->stated,
               &row->value, 1);
    if (row->limit != 0)
        add_floats(fixture, doubles ? 0x00280125 : 0x00280124, doubles ? "FD" : "FL", row->stated,
                   &row->limit, 1);
}

Test(dicom_padding, floats_are_compared_in_their_own_type)
{
    for (size_t i = 0; i < sizeof stated_floats / sizeof *stated_floats; i++) {
        struct stated_floats row = stated_floats[i];
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, 3, edit_floats, &row);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK,
                     "row %zu", i);
        cr_assert_eq(source->image.masked, row.padding != 0, "row %zu", i);
        free(ts_test_read_all(source, diag));
        for (int z = 0; z < 3; z++) {
            cr_assert_eq(source->slices[z].padding_count, __builtin_popcountll(row.padding),
                         "row %zu", i);
            if (row.padding != 0)
                cr_assert_eq(*ts_source_valid(source, z),
                             UINT64_MAX >> (64 - N_PIXELS) & ~row.padding, "row %zu", i);
        }
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* The last of the four values is no padding. */
Test(dicom_padding, measured_doubles_beyond_the_floats_are_refused)
{
    struct stated_floats row = {FIXTURE_EXPLICIT_LE, 64, 64, -1e300, 0, 1};
    char folder[256];
    float values[N_PIXELS];
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, 3, edit_floats, &row);
    cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
    cr_assert_eq(source->ops->read(source, 0, 1, values, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "values-out-of-range", "beyond the range of a 32-bit float");
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* Signed pixels of 12 bits: -2000 with its sign in the upper bits and without, its neighbors, and
 * what the 16 bits of padding would be without a sign. */
static const uint16_t signed_cells[N_PIXELS] = {0xF830, 0x0830, 0xF831, 0xF82F, 0x07D0, 0, 1, 2, 3};

static void edit_signed(struct dicom_fixture *fixture, int z, void *user)
{
    (void)z;
    ts_fixture_syntax(fixture, user);
    ts_fixture_us(fixture, 0x00280101, 12);
    ts_fixture_us(fixture, 0x00280102, 11);
    ts_fixture_us(fixture, 0x00280103, 1);
    ts_fixture_us(fixture, 0x00280120, 63536);
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OW", signed_cells, sizeof signed_cells);
}

/* Many writers give Pixel Padding Value the VR US beside signed pixels: its 16 bits are those of a
 * signed number. */
Test(dicom_padding, of_signed_pixels_has_a_sign)
{
    static char *const syntaxes[] = {FIXTURE_EXPLICIT_LE, FIXTURE_IMPLICIT_LE};
    for (size_t i = 0; i < sizeof syntaxes / sizeof *syntaxes; i++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, 3, edit_signed, syntaxes[i]);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
        cr_assert(source->image.masked);
        free(ts_test_read_all(source, diag));
        for (int z = 0; z < 3; z++) {
            cr_assert_eq(source->slices[z].padding_count, 2);
            cr_assert_eq(*ts_source_valid(source, z), UINT64_MAX >> (64 - N_PIXELS) & ~(uint64_t)3);
        }
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* Pixels of 16 bits allocated, and the padding that their header states as 16 bits, of which
 * `limit` 0 is none. */
static const struct stated_bits {
    uint16_t stored, is_signed, padding, limit;
    const char *warning; /* NULL: pixels can have it */
} stated_bits[] = {
    {16, 0, 63536, 0, NULL}, /* -2000 by the bits, which unsigned pixels have as 63536 */
    {16, 1, 63536, 0, NULL},
    {12, 1, 63536, 0, NULL},
    {12, 0, 4095, 0, NULL},
    {12, 0, 4095, 63536, NULL}, /* a range that begins among the values of pixels */
    {12, 0, 63536, 0,
     "no pixel can have the Pixel Padding Value 63536 of 3 of 3 slices, whose stored values are 0 "
     "to 4095"},
    {12, 1, 32768, 0,
     "the Pixel Padding Value -32768 of 3 of 3 slices, whose stored values are -2048 to 2047"},
    {12, 0, 63536, 65535, "63536 (with its limit 63536 to 65535) of 3 of 3 slices"},
};

static void edit_bits(struct dicom_fixture *fixture, int z, void *user)
{
    const struct stated_bits *row = user;
    (void)z;
    ts_fixture_us(fixture, 0x00280101, row->stored);
    ts_fixture_us(fixture, 0x00280102, (uint16_t)(row->stored - 1));
    ts_fixture_us(fixture, 0x00280103, row->is_signed);
    ts_fixture_us(fixture, 0x00280120, row->padding);
    if (row->limit)
        ts_fixture_us(fixture, 0x00280121, row->limit);
}

/* Such padding marks no pixel, so that whatever was meant by it would count as measured without a
 * word. */
Test(dicom_padding, that_no_pixel_can_have_is_said_once)
{
    for (size_t i = 0; i < sizeof stated_bits / sizeof *stated_bits; i++) {
        struct stated_bits row = stated_bits[i];
        char folder[256], *text = NULL;
        size_t length, n_said = 0;
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, 3, edit_bits, &row);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK,
                     "row %zu", i);
        cr_expect_eq(source->image.masked, row.warning == NULL, "row %zu", i);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            n_said += strstr(ts_diag_get(diag, k)->message, "Pixel Padding Value") != NULL;
        cr_expect_eq(n_said, row.warning != NULL, "row %zu", i);
        if (row.warning)
            ts_test_expect_warning(diag, "dicom-series", row.warning);
        FILE *stream = open_memstream(&text, &length);
        cr_assert_eq(ts_dicom_info(folder, false, false, stream, diag), TS_OK);
        fclose(stream);
        cr_expect_eq(strstr(text, "warning: no pixel can have the Pixel Padding Value") != NULL,
                     row.warning != NULL, "row %zu: %s", i, text);
        free(text);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

static void edit_two_floats(struct dicom_fixture *fixture, int z, void *user)
{
    const double two[] = {-9999, -9999};
    struct stated_floats row = stated_floats[0];
    (void)user;
    edit_floats(fixture, z, &row);
    add_floats(fixture, 0x00280122, "FL", 32, two, 2);
}

Test(dicom_padding, two_numbers_are_no_padding_value)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, 3, edit_two_floats, NULL);
    cr_assert_neq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
    ts_test_expect(diag, "dicom-bad-value", "(0028,0122) is not one floating point number");
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
