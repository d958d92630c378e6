/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of pixels and files that few public files have: values by a table, floats and doubles, and multi-frame files
 * whose functional groups are right, or wrong in one way each.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 4, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS, ENTRIES = 4096, MAX_BYTES = 65536 };

/* Explicit VR little endian elements, one after the other. */
struct bytes {
    unsigned char at[MAX_BYTES];
    size_t n;
};

static void put(struct bytes *out, const void *bytes, size_t n)
{
    cr_assert(out->n + n <= MAX_BYTES);
    if (n > 0)
        memcpy(out->at + out->n, bytes, n);
    out->n += n;
}

static void put_number(struct bytes *out, uint32_t value, size_t n)
{
    put(out, &value, n);
}

/* Appends an element of a VR with a 16-bit length, or a sequence. */
static void put_element(struct bytes *out, uint32_t tag, const char *vr, const void *value, size_t n)
{
    put_number(out, tag >> 16, 2);
    put_number(out, tag & 0xFFFF, 2);
    put(out, vr, 2);
    put_number(out, strcmp(vr, "SQ") ? (uint32_t)n : 0, 2);
    if (!strcmp(vr, "SQ"))
        put_number(out, (uint32_t)n, 4);
    put(out, value, n);
}

static void put_text(struct bytes *out, uint32_t tag, const char *vr, const char *text)
{
    char padded[128];
    const int n = snprintf(padded, sizeof padded, "%s%s", text, strlen(text) % 2 ? " " : "");
    put_element(out, tag, vr, padded, (size_t)n);
}

static void put_item(struct bytes *out, const struct bytes *content)
{
    put_number(out, 0xE000FFFE, 4);
    put_number(out, (uint32_t)content->n, 4);
    put(out, content->at, content->n);
}

/* Appends a sequence of one item. */
static void put_group(struct bytes *out, uint32_t tag, const struct bytes *content)
{
    static struct bytes item;
    item.n = 0;
    put_item(&item, content);
    put_element(out, tag, "SQ", item.at, item.n);
}

static double value_at(const struct ts_image *image, const void *data, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(image->dtype), image->dtype, 1);
    return value;
}

/* Writes a series, opens it, and reads it. */
static void *read_series(void (*edit)(struct dicom_fixture *, int, void *), void *user, struct source **source,
                         struct ts_diag *diag)
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

/* The table gives 3 s + 5 for the stored value s, from 100 to 3099; values beyond have its ends. */
static void add_table(struct dicom_fixture *f, int z, void *user)
{
    static struct bytes item, sequence;
    static uint16_t entries[3000];
    (void)z, (void)user;
    item.n = sequence.n = 0;
    const uint16_t descriptor[] = {3000, 100, 16};
    for (int i = 0; i < 3000; i++)
        entries[i] = (uint16_t)(3 * (i + 100) + 5);
    put_element(&item, 0x00283002, "US", descriptor, sizeof descriptor);
    put_text(&item, 0x00283004, "LO", "HU");
    put_element(&item, 0x00283006, "US", entries, sizeof entries);
    put_item(&sequence, &item);
    ts_fixture_remove(f, 0x00281052);
    ts_fixture_remove(f, 0x00281053);
    ts_fixture_remove(f, 0x00281054);
    ts_fixture_bytes(f, 0x00283000, "SQ", sequence.at, sequence.n);
}

Test(dicom_forms, values_by_a_table)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    void *data = read_series(add_table, NULL, &source, diag);
    cr_assert(source->image.dtype == TS_U16 && source->image.quantity == TS_HU);
    for (size_t i = 0; i < (size_t)SLICES * PIXELS; i++) {
        const int z = (int)(i / PIXELS), y = (int)(i % PIXELS) / FIXTURE_COLUMNS, x = (int)(i % FIXTURE_COLUMNS);
        const double stored = ts_fixture_stored(x, y, z);
        cr_assert_eq(value_at(&source->image, data, i), 3 * fmin(fmax(stored, 100), 3099) + 5);
    }
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
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
    const uint32_t removed[] = {FIXTURE_PIXELS, 0x00280101, 0x00280102, 0x00280103, 0x00281052, 0x00281053, 0x00281054};
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
        if (bits == 64)
            ts_test_expect_warning(diag, "dicom-series", "rounded to 32 bits");
        free((void *)data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

static void make_long_integers(struct dicom_fixture *f, int z, void *user)
{
    static uint32_t values[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        values[i] = 0xFFFFFFF0 - (uint32_t)(z + i);
    ts_fixture_us(f, 0x00280100, 32);
    ts_fixture_us(f, 0x00280101, 32);
    ts_fixture_us(f, 0x00280102, 31);
    ts_fixture_text(f, 0x00281053, "DS", *(const bool *)user ? "0.5" : "1");
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", values, sizeof values);
}

Test(dicom_forms, long_integers_that_become_floats_are_warned_of)
{
    for (int i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        bool halves = i == 1;
        void *data = (void *)read_series(make_long_integers, &halves, &source, diag);
        cr_expect_eq(source->image.dtype, TS_F32);
        ts_test_expect_warning(diag, "dicom-series",
                               halves ? "32-bit values are rounded to 32-bit float" : "values beyond 16,777,216");
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

enum groups { RIGHT, ONE_LESS, ONE_MORE, NONE, SHARED_TWICE, FRAMES_FIRST, ECHO_TWICE, CLAIM, DIRECTIONS };

/* The position along z of each frame, which are not in order; those of two volumes, and in which each is. */
static const double places[SLICES] = {3.9, 0, 2.6, 1.3}, double_places[SLICES] = {1.3, 0, 0, 1.3};
static const uint32_t volume_of[SLICES] = {1, 0, 1, 0};

/* Appends the groups of a frame that only the gradient and Dimension Index Values tell from others of its position. */
static void write_direction(struct bytes *frame, int k)
{
    static struct bytes inner, group;
    const uint32_t v = volume_of[k], indexes[] = {1, double_places[k] > 0 ? 2 : 1, 7, 2 - v};
    const double b = 800, gradient[] = {v, 1 - v, 0};
    inner.n = group.n = 0;
    put_element(&inner, 0x00189089, "FD", gradient, sizeof gradient);
    put_element(&group, 0x00189087, "FD", &b, sizeof b);
    put_group(&group, 0x00189076, &inner);
    put_group(frame, 0x00189117, &group);
    group.n = 0;
    put_element(&group, 0x00209157, "UL", indexes, sizeof indexes);
    put_group(frame, 0x00209111, &group);
}

static void write_frame(struct bytes *out, int k, enum groups groups)
{
    static struct bytes group, frame;
    char text[64];
    const double echo = 2.5;
    frame.n = group.n = 0;
    put_element(&group, 0x00189082, "FD", &echo, sizeof echo);
    if (groups == ECHO_TWICE && k == 1)
        put_element(&group, 0x00189082, "FD", &echo, sizeof echo);
    put_group(&frame, 0x00189114, &group);
    group.n = 0;
    if (groups == DIRECTIONS)
        write_direction(&frame, k);
    snprintf(text, sizeof text, "1\\2\\%g", (groups == DIRECTIONS ? double_places : places)[k % SLICES]);
    put_text(&group, 0x00200032, "DS", text);
    put_group(&frame, 0x00209113, &group);
    group.n = 0;
    put_text(&group, 0x00281052, "DS", "0");
    snprintf(text, sizeof text, "%g", 1 + 0.5 * k);
    put_text(&group, 0x00281053, "DS", text);
    put_group(&frame, 0x00289145, &group);
    put_item(out, &frame);
}

static void write_shared(struct bytes *out, enum groups groups)
{
    static struct bytes group, shared;
    group.n = shared.n = 0;
    put_text(&group, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    put_group(&shared, 0x00209116, &group);
    group.n = 0;
    put_text(&group, 0x00280030, "DS", "0.5\\0.7");
    if (groups == DIRECTIONS)
        put_text(&group, 0x00180088, "DS", "1.3");
    put_group(&shared, 0x00289110, &group);
    put_item(out, &shared);
}

/* One file of four frames. */
static void make_frames(struct dicom_fixture *f, enum groups groups)
{
    static struct bytes shared, frames;
    uint16_t pixels[SLICES * PIXELS];
    const int n = groups == ONE_LESS ? SLICES - 1 : groups == ONE_MORE ? SLICES + 1 : SLICES;
    shared.n = frames.n = 0;
    for (int k = 0; k < n; k++)
        write_frame(&frames, k, groups);
    for (int k = 0; k < 1 + (groups == SHARED_TWICE); k++)
        write_shared(&shared, groups);
    for (int i = 0; i < SLICES * PIXELS; i++)
        pixels[i] = (uint16_t)(10 * i % 4096);
    const uint32_t removed[] = {0x00200032, 0x00200037, 0x00280030, 0x00281052, 0x00281053, 0x00281054};
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        if (groups != NONE || removed[i] != 0x00200032) /* without any place the frames would be read in their order */
            ts_fixture_remove(f, removed[i]);
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_text(f, 0x00280008, "IS", groups == CLAIM ? "2000000000" : "4");
    if (groups != NONE) {
        ts_fixture_bytes(f, groups == FRAMES_FIRST ? 0x52009230 : 0x52009229, "SQ", shared.at, shared.n);
        ts_fixture_bytes(f, groups == FRAMES_FIRST ? 0x52009229 : 0x52009230, "SQ", frames.at, frames.n);
    }
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
}

/* Opens one file of frames in a folder of its own. */
static struct source *open_frames(enum groups groups, char *folder, size_t size, struct ts_diag *diag)
{
    char path[300];
    struct dicom_fixture fixture;
    struct source *source;
    ts_test_folder_in_memory(folder, size);
    snprintf(path, sizeof path, "%s/frames.dcm", folder);
    ts_fixture_init(&fixture, 0);
    make_frames(&fixture, groups);
    ts_fixture_write(&fixture, path);
    ts_fixture_clear(&fixture);
    cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK, "%s",
                 ts_diag_get(diag, 0)->message);
    return source;
}

Test(dicom_forms, frames_are_ordered_and_rescaled_one_by_one)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    struct source *source = open_frames(RIGHT, folder, sizeof folder, diag);
    void *data = ts_test_read_all(source, diag);
    cr_assert(source->n_slices == SLICES && source->n_files == 1);
    cr_expect_float_eq(source->image.axes[0].spacing, 1.3, 1e-9);
    for (int k = 0; k < SLICES; k++) {
        const size_t z = (size_t)lrint(places[k] / 1.3);
        cr_expect_float_eq(source->slices[z].position_mm[2], places[k], 1e-9);
        cr_expect_eq(source->slices[z].slope, 1 + 0.5 * k);
        for (size_t i = 0; i < PIXELS; i++)
            cr_assert_eq(value_at(&source->image, data, z * PIXELS + i),
                         (double)((10 * ((size_t)k * PIXELS + i)) % 4096) * (1 + 0.5 * k));
    }
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(dicom_forms, groups_that_do_not_fit_their_frames_are_refused)
{
    static const struct {
        enum groups groups;
        const char *code, *message;
    } rows[] = {
        {ONE_LESS, "dicom-bad-groups", "3 items of functional groups for 4 frames, expected one for each"},
        {ONE_MORE, "dicom-bad-groups", "item 5 of the functional groups has no frame"},
        {NONE, "dicom-multi-frame", "4 frames without functional groups, which would say where each lies"},
        {SHARED_TWICE, "dicom-bad-groups", "the shared functional groups are not one item before the frames'"},
        {FRAMES_FIRST, "dicom-bad-groups", ""},
        {ECHO_TWICE, "dicom-repeated-element", "Effective Echo Time (0018,9082) is given twice"},
        {CLAIM, "dicom-bad-groups", "Number of Frames is 2000000000, at most 100000 are read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256], path[300];
        struct dicom_fixture fixture;
        struct dicom_other other;
        struct dicom_file file;
        struct arena *arena = ts_arena_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        snprintf(path, sizeof path, "%s/frames.dcm", folder);
        ts_fixture_init(&fixture, 0);
        make_frames(&fixture, rows[i].groups);
        ts_fixture_write(&fixture, path);
        cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
        cr_expect(file.refusal && !strcmp(file.refusal_code, rows[i].code), "row %zu: %s", i, file.refusal);
        cr_expect(file.refusal && strstr(file.refusal, rows[i].message), "row %zu: %s", i, file.refusal);
        cr_expect_eq(file.n_images, 1);
        ts_fixture_clear(&fixture);
        ts_arena_destroy(arena);
        ts_test_remove_folder(folder);
    }
}

/* Volumes of diffusion whose b-values repeat are in the order of Dimension Index Values. */
Test(dicom_forms, frames_of_one_b_value_are_told_apart_by_their_dimensions)
{
    static const double gradients[] = {1, 0, 0, 0, 1, 0}, slopes[SLICES] = {2, 1, 1.5, 2.5};
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    struct source *source = open_frames(DIRECTIONS, folder, sizeof folder, diag);
    cr_assert(source->n_volumes == 2 && source->n_slices == 2 && source->volume_axis.kind == TS_AXIS_B);
    for (int i = 0; i < 6; i++)
        cr_expect_float_eq(source->gradients[i], gradients[i], 1e-12);
    for (int i = 0; i < SLICES; i++)
        cr_expect_eq(source->slices[i].slope, slopes[i], "%d: %g", i, source->slices[i].slope);
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

enum change { SAME, PIXEL, PADDING, CHANGES };

/* Slice 2 comes once more, in another encoding: the same, or changed in one way. */
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
    snprintf(path, sizeof path, "%s/copy.dcm", folder);
    ts_fixture_write(&fixture, path);
    ts_fixture_clear(&fixture);
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
        const enum ts_status status = ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag);
        cr_assert_eq(status, changed ? TS_BAD_INPUT : TS_OK, "case %d", i);
        if (changed) {
            ts_test_expect(diag, "duplicate-differs", "have one SOP Instance UID but different content");
            cr_expect_eq(strstr(ts_diag_get(diag, 0)->message, "Pixel Padding Value") != NULL, changed == PADDING);
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
