/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-frame files whose functional groups are right, or wrong in one way each, and what tells
 * volumes of frames apart.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 4, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

static double value_at(const struct ts_image *image, const void *data, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(image->dtype), image->dtype, 1);
    return value;
}

enum groups {
    RIGHT,
    ONE_LESS,
    ONE_MORE,
    NONE,
    SHARED_TWICE,
    FRAMES_FIRST,
    ECHO_TWICE,
    CLAIM,
    DIRECTIONS,
    GRADIENTS,
    REPEATED,
    REPEATED_AMISS,
    IN_ORDER,
    IN_DISORDER,
    CONTRADICTED,
    MAPPED
};

enum { MOST_FRAMES = 6 };

/* How the groups are encoded: as the rest of the file is, or in implicit VR, in a file that is so,
 * too, or under the VR UN. Lengths are known, so that no VR tells that they are sequences. */
enum encoding { EXPLICIT, IMPLICIT, UNKNOWN, ENCODINGS };

/* The position along z of each frame, which are not in order; those of two volumes, and in which
 * each is; those of three that follow each other, and of three of which the frames of one are
 * exchanged. */
static const double places[SLICES] = {3.9, 0, 2.6, 1.3}, double_places[SLICES] = {1.3, 0, 0, 1.3},
                    regular_places[MOST_FRAMES] = {0, 1.3, 0, 1.3, 0, 1.3},
                    exchanged_places[MOST_FRAMES] = {0, 1.3, 1.3, 0, 0, 1.3};
static const uint32_t volume_of[SLICES] = {1, 0, 1, 0};

/* Appends the groups of a frame that only the gradient tells from others of its position, beside
 * Dimension Index Values where they are asked for. */
static void write_direction(struct dicom_bytes *frame, int k, enum groups groups)
{
    static struct dicom_bytes inner, group;
    const bool repeated = groups == REPEATED || groups == REPEATED_AMISS;
    const uint32_t v = repeated ? k < 4 : volume_of[k],
                   indexes[] = {1, double_places[k % SLICES] > 0 ? 2 : 1, 7, 2 - v};
    const double b = 800, off = groups == GRADIENTS && double_places[k] > 0 ? 3e-5 : 0,
                 gradient[] = {off, v - off, 1 - v};
    inner.n = group.n = 0;
    ts_bytes_element(&inner, 0x00189089, "FD", gradient, sizeof gradient);
    ts_bytes_element(&group, 0x00189087, "FD", &b, sizeof b);
    ts_bytes_group(&group, 0x00189076, &inner);
    ts_bytes_group(frame, 0x00189117, &group);
    group.n = 0;
    ts_bytes_element(&group, 0x00209157, "UL", indexes, sizeof indexes);
    if (groups == DIRECTIONS)
        ts_bytes_group(frame, 0x00209111, &group);
}

static void write_frame(struct dicom_bytes *out, int k, enum groups groups)
{
    static struct dicom_bytes group, frame;
    char text[64];
    const double echo = 2.5;
    frame.n = group.n = 0;
    ts_bytes_element(&group, 0x00189082, "FD", &echo, sizeof echo);
    if (groups == ECHO_TWICE && k == 1)
        ts_bytes_element(&group, 0x00189082, "FD", &echo, sizeof echo);
    ts_bytes_group(&frame, 0x00189114, &group);
    group.n = 0;
    if (groups >= DIRECTIONS && groups <= REPEATED_AMISS)
        write_direction(&frame, k, groups);
    if (groups == CONTRADICTED) {
        const uint32_t indexes[] = {1, double_places[k] > 0 ? 2 : 1, 7, k < 2 ? 1 : 2};
        ts_bytes_element(&group, 0x00209128, "UL", &volume_of[k], sizeof volume_of[k]);
        ts_bytes_element(&group, 0x00209157, "UL", indexes, sizeof indexes);
        ts_bytes_group(&frame, 0x00209111, &group);
        group.n = 0;
    }
    const double *at = groups == REPEATED || groups == IN_ORDER  ? regular_places
                       : groups == REPEATED_AMISS                ? exchanged_places
                       : groups >= DIRECTIONS && groups < MAPPED ? double_places
                                                                 : places;
    snprintf(text, sizeof text, "1\\2\\%g",
             at[groups >= DIRECTIONS && groups < MAPPED ? k : k % SLICES]);
    ts_bytes_text(&group, 0x00200032, "DS", text);
    ts_bytes_group(&frame, 0x00209113, &group);
    group.n = 0;
    ts_bytes_text(&group, 0x00281052, "DS", "0");
    snprintf(text, sizeof text, "%g", 1 + 0.5 * k);
    ts_bytes_text(&group, 0x00281053, "DS", text);
    ts_bytes_group(&frame, groups == MAPPED ? 0x00409096 : 0x00289145, &group);
    ts_bytes_item(out, &frame);
}

static void write_shared(struct dicom_bytes *out, enum groups groups)
{
    static struct dicom_bytes group, shared;
    group.n = shared.n = 0;
    ts_bytes_text(&group, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    ts_bytes_group(&shared, 0x00209116, &group);
    group.n = 0;
    ts_bytes_text(&group, 0x00280030, "DS", "0.5\\0.7");
    if (groups >= DIRECTIONS)
        ts_bytes_text(&group, 0x00180088, "DS", "1.3");
    ts_bytes_group(&shared, 0x00289110, &group);
    ts_bytes_item(out, &shared);
}

static void add_groups(struct dicom_fixture *f, uint32_t tag, const struct dicom_bytes *items,
                       enum encoding encoding)
{
    static struct dicom_bytes implicit;
    implicit.n = 0;
    ts_bytes_implicit(&implicit, items->at, items->n);
    const struct dicom_bytes *bytes = encoding == EXPLICIT ? items : &implicit;
    ts_fixture_bytes(f, tag, encoding == UNKNOWN ? "UN" : "SQ", bytes->at, bytes->n);
}

/* One file of four frames. */
static void make_frames(struct dicom_fixture *f, enum groups groups, enum encoding encoding)
{
    static struct dicom_bytes shared, frames;
    uint16_t pixels[MOST_FRAMES * PIXELS];
    const int frames_there = groups == REPEATED || groups == REPEATED_AMISS ? MOST_FRAMES : SLICES;
    const int n = groups == ONE_LESS ? SLICES - 1 : groups == ONE_MORE ? SLICES + 1 : frames_there;
    char number[16];
    shared.n = frames.n = 0;
    for (int k = 0; k < n; k++)
        write_frame(&frames, k, groups);
    for (int k = 0; k < 1 + (groups == SHARED_TWICE); k++)
        write_shared(&shared, groups);
    for (int i = 0; i < MOST_FRAMES * PIXELS; i++)
        pixels[i] = (uint16_t)(10 * i % 4096);
    snprintf(number, sizeof number, "%d", frames_there);
    const uint32_t removed[] = {0x00200032, 0x00200037, 0x00280030,
                                0x00281052, 0x00281053, 0x00281054};
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        if (groups != NONE ||
            removed[i] !=
                0x00200032) /* without any place the frames would be read in their order */
            ts_fixture_remove(f, removed[i]);
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_text(f, 0x00280008, "IS", groups == CLAIM ? "2000000000" : number);
    if (groups != NONE) {
        add_groups(f, groups == FRAMES_FIRST ? 0x52009230 : 0x52009229, &shared, encoding);
        add_groups(f, groups == FRAMES_FIRST ? 0x52009229 : 0x52009230, &frames, encoding);
    }
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", pixels,
                     (size_t)frames_there * PIXELS * sizeof *pixels);
    if (encoding == IMPLICIT)
        ts_fixture_syntax(f, FIXTURE_IMPLICIT_LE);
}

/* Opens one file of frames in a folder of its own. NULL: it is refused. */
static struct source *open_frames(enum groups groups, enum encoding encoding, char *folder,
                                  size_t size, struct ts_diag *diag)
{
    char path[300];
    struct dicom_fixture fixture;
    struct source *source;
    ts_test_folder_in_memory(folder, size);
    snprintf(path, sizeof path, "%s/frames.dcm", folder);
    ts_fixture_init(&fixture, 0);
    make_frames(&fixture, groups, encoding);
    ts_fixture_write(&fixture, path);
    ts_fixture_clear(&fixture);
    const enum ts_status status = ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag);
    return status == TS_OK ? source : NULL;
}

static void check_frames(enum encoding encoding)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    struct source *source = open_frames(RIGHT, encoding, folder, sizeof folder, diag);
    cr_assert_not_null(source, "%s", ts_diag_get(diag, 0)->message);
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

Test(dicom_groups, frames_are_ordered_and_rescaled_one_by_one)
{
    for (enum encoding encoding = EXPLICIT; encoding < ENCODINGS; encoding++)
        check_frames(encoding);
}

Test(dicom_groups, groups_that_do_not_fit_their_frames_are_refused)
{
    static const struct {
        enum groups groups;
        const char *code, *message;
    } rows[] = {
        {ONE_LESS, "dicom-bad-groups",
         "3 items of functional groups for 4 frames, expected one for each"},
        {ONE_MORE, "dicom-bad-groups", "item 5 of the functional groups has no frame"},
        {NONE, "dicom-multi-frame",
         "4 frames without functional groups, which would say where each lies"},
        {SHARED_TWICE, "dicom-bad-groups",
         "the shared functional groups are not one item before the frames'"},
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
        make_frames(&fixture, rows[i].groups, i % 2 ? IMPLICIT : EXPLICIT);
        ts_fixture_write(&fixture, path);
        cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
        cr_expect(file.refusal && !strcmp(file.refusal_code, rows[i].code), "row %zu: %s", i,
                  file.refusal);
        cr_expect(file.refusal && strstr(file.refusal, rows[i].message), "row %zu: %s", i,
                  file.refusal);
        cr_expect_eq(file.n_images, 1);
        ts_fixture_clear(&fixture);
        ts_arena_destroy(arena);
        ts_test_remove_folder(folder);
    }
}

static bool is_said(const struct ts_diag *diag, const char *text)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (strstr(ts_diag_get(diag, i)->message, text))
            return true;
    return false;
}

/* Volumes whose b-values repeat stand in the order of Dimension Index Values, else in that in which
 * their gradients come. Those of one gradient, or of none, stand in the order of the frames, which
 * must be regular. */
Test(dicom_groups, frames_of_one_b_value_are_told_apart)
{
    static const struct {
        enum groups groups;
        enum ts_axis_kind kind;
        double gradients[9], slopes[MOST_FRAMES]; /* slope 1 + k / 2: frame k */
        const char *warning;
    } rows[] = {
        {DIRECTIONS, TS_AXIS_B, {0, 1, 0, 0, 0, 1}, {2, 1, 1.5, 2.5}, NULL},
        {GRADIENTS, TS_AXIS_B, {0, 1, 0, 0, 0, 1}, {2, 1, 1.5, 2.5}, NULL},
        {REPEATED,
         TS_AXIS_B,
         {0, 1, 0, 0, 1, 0, 0, 0, 1},
         {1, 1.5, 2, 2.5, 3, 3.5},
         "of the same diffusion weighting stand on"},
        {REPEATED_AMISS, TS_AXIS_B, {0}, {0}, NULL},
        {IN_ORDER,
         TS_AXIS_TIME,
         {0},
         {1, 1.5, 2, 2.5},
         "on the order of the frames in the file alone: 2 volumes"},
        {IN_DISORDER, TS_AXIS_TIME, {0}, {0}, NULL},
        {CONTRADICTED,
         TS_AXIS_TIME,
         {0},
         {1.5, 2.5, 2, 1},
         "the volumes stand on Temporal Position, which Dimension Index Values contradicts"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source = open_frames(rows[r].groups, EXPLICIT, folder, sizeof folder, diag);
        cr_assert_eq(source == NULL, rows[r].slopes[0] == 0, "row %zu", r);
        if (!source) {
            ts_test_expect(diag, "position-repeated", " different images at");
            cr_expect_not(strstr(ts_diag_get(diag, 0)->hint, "folder"), "row %zu", r);
        }
        cr_expect(source || is_said(diag, "(frames.dcm frame "), "row %zu", r);
        cr_expect_eq(is_said(diag, "stand"), rows[r].warning != NULL, "row %zu", r);
        cr_expect(!rows[r].warning || is_said(diag, rows[r].warning), "row %zu", r);
        if (source) {
            cr_assert(source->n_volumes == (rows[r].groups == REPEATED ? 3 : 2) &&
                      source->n_slices == 2 && source->volume_axis.kind == rows[r].kind);
            for (int i = 0; i < 3 * source->n_volumes && rows[r].kind == TS_AXIS_B; i++)
                cr_expect_float_eq(source->gradients[i], rows[r].gradients[i], 1e-12, "row %zu", r);
            for (int i = 0; i < 2 * source->n_volumes; i++)
                cr_expect_eq(source->slices[i].slope, rows[r].slopes[i], "row %zu, %d", r, i);
            source->ops->close(source);
        }
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* Values that a Real World Value Mapping alone describes are read as they are stored, and that is
 * said. */
Test(dicom_groups, mappings_without_a_rescale_are_warned_of)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    struct source *source = open_frames(MAPPED, EXPLICIT, folder, sizeof folder, diag);
    cr_assert_not_null(source, "%s", ts_diag_get(diag, 0)->message);
    ts_test_expect_warning(diag, "dicom-series",
                           "the values are as stored: there is no Rescale Slope, and Real World "
                           "Value Mapping (0040,9096) is not applied");
    cr_expect_eq(source->slices[0].slope, 1);
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
