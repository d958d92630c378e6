/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of many frames without functional groups: doses, whose planes an offset vector places, and
 * enhanced images that have lost everything that would place their frames.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { PLANES = 3, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

#define RT_DOSE "1.2.840.10008.5.1.4.1.1.481.2"
#define ENHANCED_MR "1.2.840.10008.5.1.4.1.1.4.1"

static uint32_t stored(size_t i)
{
    return (uint32_t)(i * 7919 % 100003);
}

/* Makes a file of PLANES frames of 32-bit values. Position (1, 2, 30), normal along z. */
static void make_frames(struct dicom_fixture *fixture, const char *class, const char *modality)
{
    uint32_t pixels[PLANES * PIXELS];
    for (size_t i = 0; i < PLANES * PIXELS; i++)
        pixels[i] = stored(i);
    ts_fixture_init(fixture, 0);
    ts_fixture_text(fixture, 0x00080016, "UI", class);
    ts_fixture_text(fixture, 0x00080060, "CS", modality);
    ts_fixture_text(fixture, 0x00280008, "IS", "3");
    ts_fixture_text(fixture, 0x00200032, "DS", "1\\2\\30");
    ts_fixture_text(fixture, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    ts_fixture_us(fixture, 0x00280100, 32);
    ts_fixture_us(fixture, 0x00280101, 32);
    ts_fixture_us(fixture, 0x00280102, 31);
    for (uint32_t tag = 0x00281052; tag <= 0x00281054; tag++)
        ts_fixture_remove(fixture, tag);
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
}

static void make_dose(struct dicom_fixture *fixture, const char *units, const char *offsets)
{
    make_frames(fixture, RT_DOSE, "RTDOSE");
    ts_fixture_text(fixture, 0x30040002, "CS", units);
    ts_fixture_text(fixture, 0x3004000C, "DS", offsets);
    ts_fixture_text(fixture, 0x3004000E, "DS", "0.001");
}

/* Writes the file, and opens it. Returns NULL where it is refused, with the reason in diag. */
static struct source *open_file(const char *folder, struct dicom_fixture *fixture,
                                struct ts_diag *diag)
{
    char path[300];
    struct source *source = NULL;
    snprintf(path, sizeof path, "%s/frames.dcm", folder);
    ts_fixture_write(fixture, path);
    ts_fixture_clear(fixture);
    return ts_test_open_dicom(path, NULL, 0, &source, diag) == TS_OK ? source : NULL;
}

static void check_dose(const struct source *source, const float *data, const char *unit,
                       double step)
{
    const struct ts_image *image = &source->image;
    cr_expect_eq(image->quantity, TS_DOSE);
    cr_expect_str_eq(image->unit, unit);
    cr_assert_eq(image->dtype, TS_F32);
    cr_assert_eq(image->axes[0].n, PLANES);
    cr_expect_float_eq(image->axes[0].spacing, fabs(step), 1e-9);
    cr_expect_float_eq(image->step_z_mm[2], fabs(step), 1e-9);
    cr_expect_float_eq(image->origin_mm[2], step > 0 ? 30 : 30 + (PLANES - 1) * step, 1e-9);
    for (size_t z = 0; z < PLANES; z++)
        for (size_t i = 0; i < PIXELS; i++) {
            const size_t frame = step > 0 ? z : PLANES - 1 - z;
            cr_assert_eq(data[z * PIXELS + i], (float)((double)stored(frame * PIXELS + i) * 0.001));
        }
}

Test(dicom_dose, planes_lie_where_the_offsets_say)
{
    static const struct {
        const char *units, *offsets, *unit;
        double step;
    } rows[] = {{"GY", "0\\2.5\\5", "Gy", 2.5},      /* distances from the first */
                {"GY", "30\\32.5\\35", "Gy", 2.5},   /* z coordinates */
                {"RELATIVE", "0\\-4\\-8", "1", -4}}; /* falling */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        struct dicom_fixture fixture;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        make_dose(&fixture, rows[i].units, rows[i].offsets);
        struct source *source = open_file(folder, &fixture, diag);
        cr_assert_not_null(source, "row %zu: %s", i,
                           ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
        source->ops->start(source, 1, 1, diag);
        float *data = ts_test_read_all(source, diag);
        check_dose(source, data, rows[i].unit, rows[i].step);
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

static void no_scaling(struct dicom_fixture *fixture)
{
    ts_fixture_remove(fixture, 0x3004000E);
}
static void slope_beside(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x00281053, "DS", "2");
}
static void no_position(struct dicom_fixture *fixture)
{
    ts_fixture_remove(fixture, 0x00200032);
}
static void coronal(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x00200037, "DS", "1\\0\\0\\0\\0\\1");
    ts_fixture_text(fixture, 0x3004000C, "DS", "30\\31\\32");
}
static void short_vector(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x3004000C, "DS", "0\\1");
}
static void long_vector(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x3004000C, "DS", "0\\1\\2\\3");
}
static void broken_vector(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x3004000C, "DS", "0\\1,5\\3");
}
static void strange_vector(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x3004000C, "DS", "7\\8\\9");
}
static void zero_scaling(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x3004000E, "DS", "0");
}
static void many_planes(struct dicom_fixture *fixture)
{
    ts_fixture_text(fixture, 0x00280008, "IS", "2000000000");
}

Test(dicom_dose, what_contradicts_itself_is_refused)
{
    static const struct {
        void (*spoil)(struct dicom_fixture *);
        const char *text;
    } rows[] = {
        {no_scaling, "Dose Grid Scaling is missing"},
        {slope_beside, "Dose Grid Scaling is given beside a Rescale Slope or Intercept"},
        {no_position, "Image Position or Image Orientation (Patient) of the planes is missing"},
        {coronal, "Grid Frame Offset Vector begins with 30, expected 0, or of axial planes the z "
                  "coordinate of Image Position, 30"},
        {short_vector, "Grid Frame Offset Vector has no number for plane 3 of 3"},
        {long_vector, "Grid Frame Offset Vector has more numbers than the 3 planes"},
        {broken_vector, "Grid Frame Offset Vector has no number for plane 2 of 3"},
        {strange_vector, "Grid Frame Offset Vector begins with 7"},
        {many_planes, "2000000000 planes, at most 100000 are read"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        struct dicom_fixture fixture;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        make_dose(&fixture, "GY", "0\\1\\2");
        rows[i].spoil(&fixture);
        cr_expect_null(open_file(folder, &fixture, diag), "row %zu", i);
        ts_test_expect(diag, "dicom-dose", rows[i].text);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* Opens a dose of six planes with these parameters of the chain. */
static struct source *open_planes(const char *offsets, double tolerance, int64_t stack,
                                  struct ts_diag *diag)
{
    enum { MANY = 6 };
    static const uint32_t pixels[MANY * PIXELS];
    char folder[256];
    const char *path = folder;
    struct dicom_fixture fixture;
    struct source *source = NULL;
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    ts_test_folder_in_memory(folder, sizeof folder);
    make_dose(&fixture, "GY", offsets);
    ts_fixture_text(&fixture, 0x00280008, "IS", "6");
    ts_fixture_bytes(&fixture, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
    ts_fixture_finish(&fixture, folder, 0);
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &path};
    params.spacing_tolerance = tolerance > 0 ? tolerance : params.spacing_tolerance;
    params.stack = stack;
    if (dicom_format.open(&set, &source, diag) != TS_OK)
        source = NULL;
    ts_test_remove_folder(folder);
    return source;
}

/* The planes of one file cannot be put into folders, and what a hint offers instead works. */
Test(dicom_dose, uneven_planes_have_a_way_out)
{
    static const struct {
        const char *offsets, *code, *hint;
        double tolerance;
        int64_t stacks;
    } rows[] = {
        {"0\\2.5\\5\\7\\10\\13.5", "spacing-varies", "resample the file with another tool", 0, 0},
        {"0\\2.5\\5\\10\\12.5\\15", "slice-missing", "resample the file with another tool", 0, 0},
        {"0\\2.5\\5\\7.6\\10\\12.5", "spacing-varies", "spacing_tolerance: 3", 3.5, 0},
        {"0\\2.5\\5\\9\\13\\17", "spacing-varies", "stack: N", 0, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source = open_planes(rows[i].offsets, 0, 0, diag);
        cr_assert_null(source, "row %zu", i);
        ts_test_expect(diag, rows[i].code, "");
        const char *hint = ts_diag_get(diag, ts_diag_count(diag) - 1)->hint;
        cr_expect(hint && strstr(hint, rows[i].hint) && !strstr(hint, "folder"), "row %zu: %s", i,
                  hint);
        for (int64_t stack = rows[i].tolerance > 0 ? 0 : 1; stack <= rows[i].stacks; stack++) {
            source = open_planes(rows[i].offsets, rows[i].tolerance, stack, diag);
            cr_expect_not_null(source, "row %zu: %s", i, ts_test_first_message(diag));
            if (source)
                source->ops->close(source);
        }
        ts_diag_destroy(diag);
    }
}

/* The scaling of a dose is chosen so that its bits are full: floats of 24 bits hold all of it that
 * means anything, and whole numbers remain as they are. */
Test(dicom_dose, values_that_fill_their_bits_are_not_said_to_be_rounded)
{
    static const struct {
        const char *scaling;
        enum ts_dtype dtype;
    } rows[] = {{"1.6e-8", TS_F32}, {"0.0001", TS_F32}, {"1", TS_U32}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        static uint32_t pixels[PLANES * PIXELS];
        char folder[256];
        struct dicom_fixture fixture;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        make_dose(&fixture, "GY", "0\\2.5\\5");
        for (uint32_t i = 0; i < PLANES * PIXELS; i++)
            pixels[i] = 0xFFFFFFFF - 7 * i;
        ts_fixture_bytes(&fixture, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
        ts_fixture_text(&fixture, 0x3004000E, "DS", rows[r].scaling);
        struct source *source = open_file(folder, &fixture, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_assert_eq(source->image.dtype, rows[r].dtype, "row %zu", r);
        void *data = ts_test_read_all(source, diag);
        if (rows[r].dtype == TS_F32) /* others are counted where a stage makes floats of them */
            ts_test_expect_rounding(source, 0, 0);
        for (size_t i = 0; i < PLANES * PIXELS; i++) {
            const double value = pixels[i] * strtod(rows[r].scaling, NULL);
            cr_assert_eq(ts_test_value(source, data, i),
                         rows[r].dtype == TS_F32 ? (double)(float)value : value, "row %zu", r);
        }
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

Test(dicom_dose, a_scaling_of_zero_has_its_name)
{
    char folder[256];
    struct dicom_fixture fixture;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    make_dose(&fixture, "GY", "0\\1\\2");
    zero_scaling(&fixture);
    cr_expect_null(open_file(folder, &fixture, diag));
    ts_test_expect(diag, "dicom-rescale", "Dose Grid Scaling is 0");
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(dicom_dose, frames_without_a_place_keep_their_order)
{
    char folder[256];
    struct dicom_fixture fixture;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    make_frames(&fixture, ENHANCED_MR, "MR");
    ts_fixture_remove(&fixture, 0x00200032);
    ts_fixture_remove(&fixture, 0x00200037);
    struct source *source = open_file(folder, &fixture, diag);
    cr_assert_not_null(source);
    ts_test_expect_warning(diag, "dicom-series", "nothing states where the frames lie");
    cr_expect_not(source->image.has_geometry);
    cr_expect_eq(source->image.axes[0].n, PLANES);
    source->ops->start(source, 1, 1, diag);
    uint32_t *data = ts_test_read_all(source, diag);
    for (size_t i = 0; i < PLANES * PIXELS; i++)
        cr_assert_eq(data[i], stored(i));
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
