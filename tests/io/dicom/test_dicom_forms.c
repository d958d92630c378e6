/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of pixels and files that few public files have: values by a table, floats and doubles,
 * bytes in big-endian words.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 4, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS, ENTRIES = 4096 };

static double value_at(const struct ts_image *image, const void *data, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(image->dtype), image->dtype, 1);
    return value;
}

/* Writes a series, opens it, and reads it. */
static void *read_series(void (*edit)(struct dicom_fixture *, int, void *), void *user,
                         struct source **source, struct ts_diag *diag)
{
    char folder[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, SLICES, edit, user);
    const enum ts_status status = ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, source, diag);
    cr_assert_eq(status, TS_OK, "%s", ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    void *data = ts_test_read_all(*source, diag);
    ts_test_remove_folder(folder);
    return data;
}

/* The table gives 3 s + 5 for the stored value s, from 100 to 3099; values beyond have its ends.
 * `user` says whether the file is in implicit VR, where nothing but its content tells a
 * sequence. */
static void add_table(struct dicom_fixture *f, int z, void *user)
{
    static struct dicom_bytes item, sequence, implicit_sequence;
    static uint16_t entries[3000];
    const bool implicit = *(const bool *)user;
    (void)z;
    item.n = sequence.n = implicit_sequence.n = 0;
    const uint16_t descriptor[] = {3000, 100, 16};
    for (int i = 0; i < 3000; i++)
        entries[i] = (uint16_t)(3 * (i + 100) + 5);
    ts_bytes_element(&item, 0x00283002, "US", descriptor, sizeof descriptor);
    ts_bytes_text(&item, 0x00283004, "LO", "HU");
    ts_bytes_element(&item, 0x00283006, "US", entries, sizeof entries);
    ts_bytes_item(&sequence, &item);
    ts_fixture_remove(f, 0x00281052);
    ts_fixture_remove(f, 0x00281053);
    ts_fixture_remove(f, 0x00281054);
    ts_bytes_implicit(&implicit_sequence, sequence.at, sequence.n);
    const struct dicom_bytes *bytes = implicit ? &implicit_sequence : &sequence;
    ts_fixture_bytes(f, 0x00283000, "SQ", bytes->at, bytes->n);
    if (implicit)
        ts_fixture_syntax(f, FIXTURE_IMPLICIT_LE);
}

static void check_table(bool implicit)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    void *data = read_series(add_table, &implicit, &source, diag);
    cr_assert(source->image.dtype == TS_U16 && source->image.quantity == TS_HU);
    for (size_t i = 0; i < (size_t)SLICES * PIXELS; i++) {
        const int z = (int)(i / PIXELS), y = (int)(i % PIXELS) / FIXTURE_COLUMNS,
                  x = (int)(i % FIXTURE_COLUMNS);
        const double stored = ts_fixture_stored(x, y, z);
        cr_assert_eq(value_at(&source->image, data, i), 3 * fmin(fmax(stored, 100), 3099) + 5);
    }
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

Test(dicom_forms, values_by_a_table)
{
    check_table(false);
    check_table(true);
}

/* This is a table whose descriptor has VR SS, which makes a count from 32768 on negative. */
struct signed_table {
    int entries, first;
    bool signed_pixels;
};

static void add_signed_table(struct dicom_fixture *f, int z, void *user)
{
    static struct dicom_bytes item, sequence;
    static uint16_t entries[65536];
    const struct signed_table *table = user;
    (void)z;
    item.n = sequence.n = 0;
    const uint16_t descriptor[] = {(uint16_t)table->entries, (uint16_t)table->first, 16};
    for (int i = 0; i < table->entries; i++)
        entries[i] = (uint16_t)(65535 - i);
    ts_bytes_element(&item, 0x00283002, "SS", descriptor, sizeof descriptor);
    ts_bytes_text(&item, 0x00283004, "LO", "HU");
    ts_bytes_element(&item, 0x00283006, "OW", entries, 2 * (size_t)table->entries);
    ts_bytes_item(&sequence, &item);
    ts_fixture_remove(f, 0x00281052);
    ts_fixture_remove(f, 0x00281053);
    ts_fixture_remove(f, 0x00281054);
    ts_fixture_us(f, 0x00280103, table->signed_pixels);
    ts_fixture_bytes(f, 0x00283000, "SQ", sequence.at, sequence.n);
}

Test(dicom_forms, the_entries_of_a_table_are_counted_without_a_sign)
{
    static const struct signed_table rows[] = {
        {32767, 0, false}, {32768, 0, false},    {40000, 5, false},   {65535, 100, false},
        {65536, 0, false}, {32768, -1000, true}, {60000, -2048, true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct signed_table row = rows[r];
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        void *data = read_series(add_signed_table, &row, &source, diag);
        cr_assert(source->image.dtype == TS_U16 && source->image.quantity == TS_HU);
        for (size_t i = 0; i < (size_t)SLICES * PIXELS; i++) {
            double stored = ts_fixture_stored(
                (int)(i % FIXTURE_COLUMNS), (int)(i % PIXELS) / FIXTURE_COLUMNS, (int)(i / PIXELS));
            stored -= row.signed_pixels && stored >= 2048 ? 4096 : 0; /* 12 bits are stored */
            cr_assert_eq(value_at(&source->image, data, i),
                         65535 - fmin(fmax(stored - row.first, 0), row.entries - 1), "row %zu", r);
        }
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

static double float_of(int z, int i)
{
    return sin(0.1 * i + z) * pow(10, z - 2);
}

/* Pixels as floats or doubles; `user` is the number of bits. */
static void make_floats(struct dicom_fixture *f, int z, void *user)
{
    const int bits = *(const int *)user;
    unsigned char bytes[8 * PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        const double value = float_of(z, i);
        const float rounded = (float)value;
        if (bits == 64)
            memcpy(bytes + 8 * i, &value, 8);
        else
            memcpy(bytes + 4 * i, &rounded, 4);
    }
    const uint32_t removed[] = {FIXTURE_PIXELS, 0x00280101, 0x00280102, 0x00280103,
                                0x00281052,     0x00281053, 0x00281054};
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        ts_fixture_remove(f, removed[i]);
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_us(f, 0x00280100, (uint16_t)bits);
    ts_fixture_bytes(f, bits == 64 ? 0x7FE00009 : 0x7FE00008, bits == 64 ? "OD" : "OF", bytes,
                     (size_t)PIXELS * (size_t)bits / 8);
}

Test(dicom_forms, floats_and_doubles)
{
    for (int bits = 32; bits <= 64; bits += 32) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        const float *data = read_series(make_floats, &bits, &source, diag);
        cr_assert_eq(source->image.dtype, TS_F32);
        for (int z = 0; z < SLICES; z++)
            for (int i = 0; i < PIXELS; i++)
                cr_assert_eq(data[z * PIXELS + i], (float)float_of(z, i), "%d bits", bits);
        int64_t n = 0;
        double most = 0;
        for (int k = 0; k < SLICES * PIXELS && bits == 64; k++) {
            const double value = float_of(k / PIXELS, k % PIXELS);
            n += (double)(float)value != value;
            most = fmax(most, fabs((double)(float)value - value));
        }
        cr_expect_eq(n > 0, bits == 64);
        ts_test_expect_rounding(source, n, most);
        free((void *)data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

struct long_integers {
    uint16_t bits;
    const char *slope;
    double factor;
};

static uint32_t long_integer(int bits, int z, int i)
{
    return (bits == 32 ? 0xFFFFFFF0 : 0xFFF0) - (uint32_t)(z + i);
}

static void make_long_integers(struct dicom_fixture *f, int z, void *user)
{
    static uint32_t values[PIXELS];
    const struct long_integers *form = user;
    for (int i = 0; i < PIXELS; i++)
        if (form->bits == 32)
            values[i] = long_integer(32, z, i);
        else
            ((uint16_t *)values)[i] = (uint16_t)long_integer(16, z, i);
    ts_fixture_us(f, 0x00280100, form->bits);
    ts_fixture_us(f, 0x00280101, form->bits);
    ts_fixture_us(f, 0x00280102, form->bits - 1);
    ts_fixture_text(f, 0x00281053, "DS", form->slope);
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", values, PIXELS * (size_t)form->bits / 8);
}

/* Whole values and others that have no float, of long integers and of large slopes. */
Test(dicom_forms, values_that_become_floats_are_counted)
{
    static struct long_integers forms[] = {{32, "1", 1}, {32, "0.5", 0.5}, {16, "65538", 65538}};
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        float *data = read_series(make_long_integers, &forms[form], &source, diag);
        int64_t n = 0;
        double most = 0;
        cr_expect_eq(source->image.dtype, TS_F32);
        for (int k = 0; k < SLICES * PIXELS; k++) {
            const double value = (double)long_integer(forms[form].bits, k / PIXELS, k % PIXELS) *
                                     forms[form].factor -
                                 1024;
            n += (double)(float)value != value;
            most = fmax(most, fabs((double)(float)value - value));
        }
        cr_expect_gt(n, 0, "form %zu", form);
        ts_test_expect_rounding(source, n, most);
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* A file of four frames with an odd number of 8-bit pixels each, whose groups are lost, in
 * big-endian bytes or words. */
static void make_bytes(struct dicom_fixture *f, const char *vr)
{
    static const uint32_t removed[] = {0x00200032, 0x00200037, 0x00281052, 0x00281053, 0x00281054};
    unsigned char pixels[SLICES * PIXELS];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(7 * i);
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        ts_fixture_remove(f, removed[i]);
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_text(f, 0x00280008, "IS", "4");
    ts_fixture_us(f, 0x00280100, 8);
    ts_fixture_us(f, 0x00280101, 8);
    ts_fixture_us(f, 0x00280102, 7);
    ts_fixture_bytes(f, FIXTURE_PIXELS, vr, pixels, sizeof pixels);
    ts_fixture_syntax(f, FIXTURE_EXPLICIT_BE);
}

/* The pixels of words stand the other way round in the file (DICOM PS3.5 8.1.1), across the ends of
 * frames. */
Test(dicom_forms, bytes_of_big_endian_files)
{
    for (int words = 0; words < 2; words++) {
        char folder[256], path[300];
        struct dicom_fixture fixture;
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_test_folder_in_memory(folder, sizeof folder);
        snprintf(path, sizeof path, "%s/frames.dcm", folder);
        ts_fixture_init(&fixture, 0);
        make_bytes(&fixture, words ? "OW" : "OB");
        ts_fixture_write(&fixture, path);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK, "%s",
                     ts_diag_get(diag, 0)->message);
        uint8_t *data = ts_test_read_all(source, diag);
        cr_assert(source->image.dtype == TS_U8 && source->n_slices == SLICES);
        for (size_t i = 0; i < (size_t)SLICES * PIXELS; i++)
            cr_assert_eq(data[i], (uint8_t)(7 * i), "%d: pixel %zu is %d", words, i, data[i]);
        free(data);
        source->ops->close(source);
        ts_fixture_clear(&fixture);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

enum change { SAME, PIXEL, PADDING, CHANGES };

/* Slice 2 comes once more, in another encoding: the same, or changed in one way. With another pixel
 * it has the name of the slice, in another folder. */
static void write_copy(const char *folder, bool rle, enum change change)
{
    char path[300];
    struct dicom_fixture fixture;
    ts_fixture_init(&fixture, 2);
    if (change == PADDING)
        ts_fixture_us(&fixture, 0x00280120, 5);
    if (change == PIXEL)
        ts_fixture_find(&fixture, FIXTURE_PIXELS)->bytes[7] ^= 1;
    if (rle)
        ts_fixture_rle(&fixture);
    else
        ts_fixture_syntax(&fixture, FIXTURE_IMPLICIT_LE);
    if (change == PIXEL) {
        snprintf(path, sizeof path, "%s/again", folder);
        cr_assert_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/again/IM%03d.dcm", folder, SLICES - 1 - 2);
    } else {
        snprintf(path, sizeof path, "%s/copy.dcm", folder);
    }
    ts_fixture_write(&fixture, path);
    ts_fixture_clear(&fixture);
}

/* The same bytes, of which the copy says something else. */
Test(dicom_forms, equal_bytes_that_are_other_values_are_not_one_slice)
{
    static const struct {
        uint16_t stored, is_signed;
        bool same;
    } rows[] = {{16, 0, true}, {12, 0, true}, {8, 0, false}, {12, 1, false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256], path[300];
        struct ts_diag *diag = ts_diag_create();
        struct dicom_fixture fixture;
        struct source *source = NULL;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, SLICES, NULL, NULL);
        ts_fixture_init(&fixture, 2);
        ts_fixture_us(&fixture, 0x00280101, rows[r].stored);
        ts_fixture_us(&fixture, 0x00280102, (uint16_t)(rows[r].stored - 1));
        ts_fixture_us(&fixture, 0x00280103, rows[r].is_signed);
        snprintf(path, sizeof path, "%s/copy.dcm", folder);
        ts_fixture_write(&fixture, path);
        ts_fixture_clear(&fixture);
        const enum ts_status status =
            ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag);
        cr_assert_eq(status == TS_OK, rows[r].same, "row %zu: %s", r, ts_test_first_message(diag));
        if (source)
            source->ops->close(source);
        else
            ts_test_expect(diag, "duplicate-differs",
                           "have one SOP Instance UID but different content");
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
    ts_test_no_children();
}

Test(dicom_forms, equal_pixels_in_two_encodings_are_one_slice)
{
    for (int i = 0; i < 2 * CHANGES; i++) {
        const enum change changed = (enum change)(i % CHANGES);
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, SLICES, NULL, NULL);
        write_copy(folder, i / CHANGES, changed);
        const enum ts_status status =
            ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag);
        cr_assert_eq(status, changed ? TS_BAD_INPUT : TS_OK, "case %d", i);
        if (changed) {
            ts_test_expect(diag, "duplicate-differs",
                           "have one SOP Instance UID but different content");
            cr_expect_eq(strstr(ts_diag_get(diag, 0)->message, "Pixel Padding Value") != NULL,
                         changed == PADDING);
            cr_expect_eq(strstr(ts_diag_get(diag, 0)->message, ".dcm of another folder have") !=
                             NULL,
                         changed == PIXEL);
        } else {
            cr_expect_eq(source->n_slices, SLICES);
            ts_test_expect_warning(diag, "dicom-series", "1 identical copy of a slice was dropped");
            source->ops->close(source);
        }
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
    ts_test_no_children();
}
