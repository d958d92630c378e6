/* SPDX-License-Identifier: Apache-2.0
 *
 * Series as volumes: order, spacing, geometry and element type of good ones, the exact words for
 * the others, and the choice between several.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_scan.h"
#include "io/dicom_series/dicom_group.h"
#include "io/dicom_series/dicom_non_images.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"

/* A folder of files, scanned and grouped. */
struct group {
    char folder[256];
    struct arena *arena;
    struct ts_diag *diag;
    struct dicom_folder files;
    struct dicom_series *series;
    size_t n;
};

static void group_open(struct group *group)
{
    ts_test_folder_in_memory(group->folder, sizeof group->folder);
    group->arena = ts_arena_create();
    group->diag = ts_diag_create();
}

static void group_read(struct group *g)
{
    cr_assert_eq(ts_dicom_scan((const char *[]){g->folder}, 1, g->arena, &g->files, g->diag),
                 TS_OK);
    cr_assert_eq(
        ts_dicom_group(&g->files, &ts_test_version_1, g->arena, &g->series, &g->n, g->diag), TS_OK);
}

static void group_close(struct group *group)
{
    ts_arena_destroy(group->arena);
    ts_diag_destroy(group->diag);
    ts_test_remove_folder(group->folder);
}

static void place(struct dicom_fixture *f, double x, double y, double z)
{
    char text[96];
    snprintf(text, sizeof text, "%.5f\\%.5f\\%.5f", -20.5 + x, -31.25 + y, 100.125 + z);
    ts_fixture_text(f, 0x00200032, "DS", text);
}

enum trouble {
    GOOD,
    MISSING_ONE,
    MISSING_THREE,
    VARIES,
    JITTER,
    JITTER_FOUR_GAPS,
    ROUNDING,
    DRIFT,
    TILT,
    SHIFTED,
    REPEATED,
    REPEATED_IN_TIME,
    ONE_POSITION,
    COPY,
    FALSE_COPY,
    COPY_RENAMED,
    SAME_NUMBER,
    MISSING_OF_FOUR,
    TWO_SLICES,
    ONE_SLICE,
    TWO_ORIENTATIONS,
    POSITIONS_LOST,
    ORIENTATIONS_LOST,
    SPACING_LOST,
    SPACING_MIXED,
    RESCALE_LOST,
    RESCALE_AND_TYPE_LOST,
    TYPE_MIXED,
    OVERFLOW,
    LOCALIZER,
    CAPTURE,
    ULTRASOUND,
    NO_MODALITY,
    SPACING_TAG,
    TILT_TAG,
    INVERTED,
    NOT_HOUNSFIELD,
    SHORT_SLICE,
    INFINITE,
    TROUBLES
};

struct expectation {
    int n; /* files written */
    size_t slices;
    const char *code, *refusal, *hint, *warning; /* hint: its start */
};

static const struct expectation expectations[TROUBLES] = {
#include "tests/io/dicom_series/dicom_series_cases.inc"
};

/* The slice before once more, or with another name or pixel. */
static void copy_last(struct dicom_fixture *f, enum trouble trouble)
{
    ts_fixture_clear(f);
    ts_fixture_init(f, 9);
    if (trouble == COPY_RENAMED || trouble == SAME_NUMBER)
        ts_fixture_text(f, 0x00080018, "UI", "1.2.826.0.1.3680043.10.1.77");
    if (trouble == FALSE_COPY || trouble == SAME_NUMBER)
        ts_fixture_find(f, FIXTURE_PIXELS)->bytes[33] ^= 1;
}

static void spoil_places(struct dicom_fixture *f, enum trouble trouble, int z)
{
    char text[96];
    switch (trouble) {
    case MISSING_ONE:
        place(f, 0, 0, 1.3 * (z + (z >= 5)));
        break;
    case MISSING_THREE:
        place(f, 0, 0, 1.3 * (z + (z >= 5) + 2 * (z >= 8)));
        break;
    case VARIES:
        place(f, 0, 0, 1.3 * z + 0.3 * (z % 2));
        break;
    case JITTER:
        place(f, 0, 0, 1.3 * z + 0.005 * (z % 2));
        break;
    case JITTER_FOUR_GAPS:
        place(f, 0, 0, 3 * z + 0.02 * (z % 2));
        break;
    case MISSING_OF_FOUR:
        place(f, 0, 0, 1.3 * (z + (z >= 2)));
        break;
    case ROUNDING:
        place(f, 0, 0, 1.3 * z + 0.0004 * (z % 2));
        break;
    case DRIFT:
        place(f, 0, 0, 1.3 * z + 0.006 * (z <= 20 ? z : 40 - z));
        break;
    case TILT:
        place(f, 0, 0.13 * z, 1.3 * z);
        break;
    case SHIFTED:
        place(f, z == 6 ? 0.5 : 0, 0, 1.3 * z);
        break;
    case REPEATED:
    case REPEATED_IN_TIME:
        place(f, 0, 0, 1.3 * (z / 2));
        snprintf(text, sizeof text, "%d", z % 2);
        ts_fixture_text(f, trouble == REPEATED ? 0x00200013 : 0x00200100, "IS", text);
        break;
    case ONE_POSITION:
        place(f, 0, 0, 0);
        break;
    case COPY:
    case FALSE_COPY:
    case COPY_RENAMED:
    case SAME_NUMBER:
        if (z == 10)
            copy_last(f, trouble);
        break;
    case TWO_ORIENTATIONS:
        if (z >= 2) {
            ts_fixture_text(f, 0x00200037, "DS", "0\\1\\0\\0\\0\\-1");
        }
        break;
    default:
        break;
    }
}

/* Spoils what the stored numbers mean. */
static void spoil_values(struct dicom_fixture *f, enum trouble trouble, int z)
{
    switch (trouble) {
    case RESCALE_LOST:
        if (z >= 9) {
            ts_fixture_remove(f, 0x00281052);
            ts_fixture_remove(f, 0x00281053);
        }
        break;
    case RESCALE_AND_TYPE_LOST: /* as a frame without Pixel Value Transformation lacks them */
        ts_fixture_text(f, 0x00281054, "LO", "HU");
        if (z >= 9) {
            ts_fixture_remove(f, 0x00281052);
            ts_fixture_remove(f, 0x00281053);
            ts_fixture_remove(f, 0x00281054);
        }
        break;
    case TYPE_MIXED:
        ts_fixture_text(f, 0x00281054, "LO", z == 7 ? "US" : "HU");
        break;
    case OVERFLOW:
        ts_fixture_text(f, 0x00281053, "DS", "1e37");
        break;
    case INVERTED:
        ts_fixture_text(f, 0x00280004, "CS", "MONOCHROME1");
        break;
    case NOT_HOUNSFIELD:
        ts_fixture_text(f, 0x00281054, "LO", "US");
        break;
    default:
        break;
    }
}

static void spoil_header(struct dicom_fixture *f, enum trouble trouble, int z)
{
    switch (trouble) {
    case POSITIONS_LOST:
        if (z % 4 == 0)
            ts_fixture_text(f, 0x00200032, "DS", "");
        break;
    case ORIENTATIONS_LOST:
        ts_fixture_remove(f, 0x00200037);
        break;
    case SPACING_LOST:
    case TWO_SLICES: /* their thickness */
        ts_fixture_remove(f, trouble == SPACING_LOST ? 0x00280030 : 0x00180050);
        break;
    case SPACING_MIXED:
        ts_fixture_text(f, 0x00280030, "DS", z == 7 ? "0.7\\0.5" : "0.5\\0.7");
        break;
    case LOCALIZER:
        ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER");
        break;
    case CAPTURE:
        ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.7");
        ts_fixture_remove(f, 0x00200032);
        break;
    case ULTRASOUND:
        ts_fixture_text(f, 0x00080060, "CS", "US");
        break;
    case NO_MODALITY:
        ts_fixture_remove(f, 0x00080060);
        break;
    case SPACING_TAG:
        ts_fixture_text(f, 0x00180088, "DS", "-1.3");
        break;
    case TILT_TAG:
        ts_fixture_text(f, 0x00181120, "DS", "15");
        break;
    case INFINITE:
        if (z == 4)
            ts_fixture_text(f, 0x00200037, "DS", "1e999\\0\\0\\0\\1\\0");
        break;
    case SHORT_SLICE:
        if (z == 4)
            ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", "", 0);
        break;
    default:
        break;
    }
}

static void spoil(struct dicom_fixture *f, int z, void *user)
{
    spoil_places(f, *(enum trouble *)user, z);
    spoil_header(f, *(enum trouble *)user, z);
    spoil_values(f, *(enum trouble *)user, z);
}

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (!a || strcmp(a, b) == 0);
}

Test(dicom_series, says_of_each_series_what_is_wrong)
{
    for (int i = 0; i < TROUBLES; i++) {
        enum trouble trouble = (enum trouble)i;
        const struct expectation *expected = &expectations[i];
        struct group group;
        group_open(&group);
        ts_fixture_series(group.folder, expected->n ? expected->n : FIXTURE_SLICES, spoil,
                          &trouble);
        group_read(&group);
        cr_assert(group.n >= 1);
        const struct dicom_series *series = &group.series[0];
        const char *warning = series->n_warnings > 0 ? series->warnings[0] : NULL;
        if (getenv("TOMOSTAGE_SHOW")) {
            fprintf(stderr, "%d | %zu | %s | %s | %s | %s\n", i, series->n_images,
                    series->refusal ? series->refusal_code : "",
                    series->refusal ? series->refusal : "", series->hint ? series->hint : "",
                    warning ? warning : "");
        }
        cr_expect_eq(series->n_images, expected->slices ? expected->slices : FIXTURE_SLICES,
                     "trouble %d", i);
        cr_expect(same_text(series->refusal_code, expected->code), "trouble %d: code %s", i,
                  series->refusal_code);
        cr_expect(same_text(series->refusal, expected->refusal), "trouble %d: %s", i,
                  series->refusal);
        cr_expect(!series->refusal ||
                      (series->hint && expected->hint && !strcmp(series->hint, expected->hint)),
                  "trouble %d: hint %s", i, series->hint);
        cr_expect(same_text(warning, expected->warning), "trouble %d: warning %s", i, warning);
        group_close(&group);
    }
}

Test(dicom_series, makes_one_volume_of_a_good_series)
{
    static const double direction[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct group group;
    group_open(&group);
    ts_fixture_series(group.folder, FIXTURE_SLICES, NULL, NULL);
    group_read(&group);
    cr_assert_eq(group.n, 1);
    const struct ts_image *image = &group.series[0].image;
    cr_expect(image->rank == 3 && image->axes[0].n == 11 && image->axes[1].n == 7 &&
              image->axes[2].n == 5);
    cr_expect(image->axes[1].spacing == 0.5 && image->axes[2].spacing == 0.7);
    cr_expect(fabs(image->axes[0].spacing - 1.3) <= 1e-12 &&
              fabs(image->step_z_mm[2] - 1.3) <= 1e-12);
    cr_expect(image->step_z_mm[0] == 0 && image->step_z_mm[1] == 0);
    cr_expect(image->has_geometry && !memcmp(image->direction, direction, sizeof direction));
    cr_expect(image->origin_mm[0] == -20.5 && image->origin_mm[1] == -31.25 &&
              image->origin_mm[2] == 100.125);
    cr_expect(image->axes[0].kind == TS_AXIS_Z && image->axes[1].kind == TS_AXIS_Y &&
              image->axes[2].kind == TS_AXIS_X);
    cr_expect(image->dtype == TS_I16 && image->quantity == TS_HU && !strcmp(image->unit, "HU"));
    for (size_t z = 0; z < 11; z++)
        cr_expect_eq(group.series[0].images[z]->instance_number, (double)(z + 1));
    group_close(&group);
}

static void turn(struct dicom_fixture *f, int z, void *user)
{
    (void)user;
    ts_fixture_text(f, 0x00200037, "DS", "1\\0\\0\\0\\-1\\0");
    place(f, 0, 0, 1.3 * z);
}

/* With the normal along -z the first slice is the one with the highest z: the direction stays
 * right-handed. */
Test(dicom_series, orders_along_the_normal)
{
    struct group group;
    group_open(&group);
    ts_fixture_series(group.folder, FIXTURE_SLICES, turn, NULL);
    group_read(&group);
    const struct ts_image *image = &group.series[0].image;
    cr_assert_null(group.series[0].refusal);
    cr_expect(image->direction[8] == -1 && image->direction[4] == -1);
    cr_expect(fabs(image->origin_mm[2] - 113.125) <= 1e-9 &&
              fabs(image->step_z_mm[2] + 1.3) <= 1e-9);
    cr_expect(fabs(image->axes[0].spacing - 1.3) <= 1e-9);
    group_close(&group);
}

struct values {
    int bits, sign;
    const char *slope, *intercept, *last_slope;
    enum ts_dtype dtype;
};

static void set_values(struct dicom_fixture *f, int z, void *user)
{
    const struct values *values = user;
    bool bytes = values->bits <= 8;
    ts_fixture_us(f, 0x00280100, bytes ? 8 : 16);
    ts_fixture_us(f, 0x00280101, (uint16_t)values->bits);
    ts_fixture_us(f, 0x00280102, (uint16_t)(values->bits - 1));
    ts_fixture_us(f, 0x00280103, (uint16_t)values->sign);
    ts_fixture_text(f, 0x00281053, "DS",
                    z == 2 && values->last_slope ? values->last_slope : values->slope);
    ts_fixture_text(f, 0x00281052, "DS", values->intercept);
}

Test(dicom_series, takes_the_smallest_type_that_holds_every_slice)
{
    static struct values cases[] = {
        {8, 0, "1", "0", NULL, TS_U8},       {8, 1, "1", "0", NULL, TS_I8},
        {12, 0, "1", "0", NULL, TS_U16},     {12, 0, "1", "-1024", NULL, TS_I16},
        {12, 1, "1.0", "0", NULL, TS_I16},   {16, 0, "1", "0", NULL, TS_U16},
        {16, 1, "1", "-1024", NULL, TS_I32}, {16, 0, "2", "0", NULL, TS_U32},
        {16, 0, "1", "-1024", NULL, TS_I32}, {12, 0, "-1", "0", NULL, TS_I16},
        {12, 0, "0.5", "0", NULL, TS_F32},   {12, 0, "1", "0.5", NULL, TS_F32},
        {12, 0, "1", "0", "0.25", TS_F32},   {12, 0, "1", "0", "100", TS_U32},
        {16, 0, "65536", "0", NULL, TS_U32}, {16, 0, "65538", "0", NULL, TS_F32},
        {4, 0, "1", "0", NULL, TS_U8},       {7, 0, "1", "-1", NULL, TS_I8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct group group;
        group_open(&group);
        ts_fixture_series(group.folder, 3, set_values, &cases[i]);
        group_read(&group);
        cr_assert(group.n == 1 && !group.series[0].refusal, "case %zu: %s", i,
                  group.series[0].refusal);
        cr_expect_eq(group.series[0].image.dtype, cases[i].dtype, "case %zu: %s", i,
                     ts_dtype_name(group.series[0].image.dtype));
        group_close(&group);
    }
}

/* Sets which series each slice of the mixed folder belongs to. */
static void mix(struct dicom_fixture *f, int z, void *user)
{
    int kinds = *(int *)user;
    if (z == 0) {
        ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER");
        ts_fixture_text(f, 0x00200037, "DS", "0\\1\\0\\0\\0\\-1");
    } else if (z <= 4 && kinds > 1) {
        ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.2.9");
    }
    if (z == 1 && kinds > 2) {
        ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.2");
        ts_fixture_us(f, 0x00280010, 0);
    }
}

static enum ts_status choose(struct group *group, const char *name,
                             const struct dicom_series **chosen)
{
    ts_diag_clear(group->diag);
    return ts_dicom_choose(group->series, group->n, name, &group->files, chosen, group->diag);
}

Test(dicom_series, chooses_only_where_there_is_no_doubt)
{
    struct group group;
    const struct dicom_series *chosen = NULL;
    for (int kinds = 1; kinds <= 3; kinds++) {
        group_open(&group);
        ts_fixture_series(group.folder, FIXTURE_SLICES, mix, &kinds);
        group_read(&group);
        cr_assert_eq(group.n, (size_t)(kinds == 1 ? 2 : kinds + 1));
        enum ts_status status = choose(&group, "", &chosen);
        const struct ts_diag_record *first =
            ts_diag_count(group.diag) ? ts_diag_get(group.diag, 0) : NULL;
        if (kinds == 1) { /* the localizer does not stand in the way */
            cr_expect(status == TS_OK && chosen && chosen->n_images == 10 && chosen->number == 1);
        } else {
            cr_assert(status == TS_BAD_INPUT && !chosen && first);
            cr_expect_str_eq(first->code, "several-series");
            cr_expect_str_eq(first->hint, "choose one with series: N");
            cr_expect_eq(ts_diag_count(group.diag), 1 + group.n);
        }
        cr_expect_eq(choose(&group, "1", &chosen), kinds == 3 ? TS_BAD_INPUT : TS_OK);
        cr_expect_eq(choose(&group, "77", &chosen), TS_BAD_INPUT);
        cr_expect_str_eq(ts_diag_get(group.diag, 0)->message,
                         "0 series have the number, UID or description '77'");
        cr_expect_eq(choose(&group, "1.2.826.0.1.3680043.10.1.2", &chosen), TS_BAD_INPUT);
        cr_expect_str_eq(ts_diag_get(group.diag, 0)->code, "series-ambiguous");
        if (kinds == 2) {
            cr_expect_eq(choose(&group, "1.2.826.0.1.3680043.10.1.2.9", &chosen), TS_OK);
            cr_expect(chosen && chosen->n_images == 4);
        }
        group_close(&group);
    }
}

static void break_one(struct dicom_fixture *f, int z, void *user)
{
    (void)user;
    if (z == 10) {
        ts_fixture_claim(f, 0x00100010,
                         60000); /* before the series UID: nobody knows whose slice this is */
    }
}

Test(dicom_series, does_not_lose_a_slice_that_it_cannot_read)
{
    struct group group;
    const struct dicom_series *chosen = NULL;
    group_open(&group);
    ts_fixture_series(group.folder, FIXTURE_SLICES, break_one, NULL);
    group_read(&group);
    cr_assert_eq(choose(&group, NULL, &chosen), TS_BAD_INPUT);
    const struct ts_diag_record *record = ts_diag_get(group.diag, 0);
    cr_expect_str_eq(record->code, "dicom-length");
    cr_expect_str_eq(record->message,
                     "series 2 may lack slices that series 1 holds: 1 of 1 file cannot be used; "
                     "IM000.dcm: element (0010,0010) claims 60000 bytes at byte 412, 426 are left");
    cr_expect_str_eq(record->hint,
                     DICOM_UNREADABLE_HINT); /* `series: 2` by itself would be refused for them */
    cr_expect(choose(&group, "2", &chosen) == TS_OK && chosen->n_images == 10);
    cr_assert_eq(ts_diag_count(group.diag), 1);
    cr_expect(ts_diag_get(group.diag, 0)->severity == TS_WARNING);
    group_close(&group);
}

Test(dicom_series, names_what_was_passed_over_where_nothing_is_left)
{
    struct group group;
    const struct dicom_series *chosen = NULL;
    char path[96];
    group_open(&group);
    snprintf(path, sizeof path, "%s/a.txt", group.folder);
    ts_fixture_write_bytes(path, "text", 4);
    snprintf(path, sizeof path, "%s/b.dcm", group.folder);
    ts_fixture_write_bytes(path, "", 0);
    group_read(&group);
    cr_assert_eq(choose(&group, "", &chosen), TS_BAD_INPUT);
    cr_expect_str_eq(ts_diag_get(group.diag, 0)->code, "no-images");
    cr_expect_str_eq(
        ts_diag_get(group.diag, 0)->message,
        "no DICOM image in the input (2 files seen; 2 files passed over: 1 not DICOM, 1 empty)");
    group_close(&group);
}

/* Objects that are no images are named by what they are, and what is read as a mask has that as its
 * way out, whether it has pixels or not. */
Test(dicom_series, objects_that_are_no_images_are_named)
{
    static const struct {
        const char *class, *modality, *noun;
        bool regions, pixels;
    } rows[] = {{"66.4", "SEG", "a segmentation", true, true},
                {"66.7", "SEG", "a segmentation", true, true},
                {"481.3", "RTSTRUCT", "a structure set", true, false},
                {"481.5", "RTPLAN", "a plan of radiotherapy", false, false},
                {"11.1", "PR", "a presentation state", false, false},
                {"88.59", "KO", "a key object selection", false, false},
                {"88.33", "SR", "a structured report", false, false},
                {"66", "OT", "raw data of a scanner", false, false},
                {"66.1", "REG", "a registration", false, false},
                {"104.1", "DOC", "a document", false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct group group;
        const struct dicom_series *chosen = NULL;
        struct dicom_fixture f;
        char class[64];
        group_open(&group);
        ts_fixture_init(&f, 0);
        snprintf(class, sizeof class, "1.2.840.10008.5.1.4.1.1.%s", rows[i].class);
        ts_fixture_text(&f, 0x00080016, "UI", class);
        ts_fixture_text(&f, 0x00080060, "CS", rows[i].modality);
        if (!rows[i].pixels)
            ts_fixture_remove(&f, FIXTURE_PIXELS);
        ts_fixture_finish(&f, group.folder, 0);
        group_read(&group);
        cr_assert_eq(choose(&group, "", &chosen), TS_BAD_INPUT, "%s", rows[i].class);
        const struct ts_diag_record *record = ts_diag_get(group.diag, 0);
        cr_expect_str_eq(record->code, "no-image-objects", "%s", rows[i].class);
        cr_expect(strstr(record->message, rows[i].noun), "%s: %s", rows[i].class, record->message);
        cr_expect_eq(strstr(record->hint, "`mask: FILE`") != NULL, rows[i].regions, "%s: %s",
                     rows[i].class, record->hint);
        group_close(&group);
    }
}

Test(dicom_series, info_shows_series_but_no_patient)
{
    struct group group;
    int kinds = 3;
    group_open(&group);
    ts_fixture_series(group.folder, FIXTURE_SLICES, mix, &kinds);
    for (int json = 0; json < 2; json++) {
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        cr_assert_eq(ts_dicom_info(group.folder, json, true, stream, group.diag), TS_OK);
        fclose(stream);
        cr_expect(strstr(text, json ? "\"spacing_mm\": [1.3"
                                    : "CT, AXIAL, 7 x 5 x 6, 0.5 x 0.7 x 1.3 mm, axial, i16 HU"),
                  "%s", text);
        cr_expect_not_null(strstr(text, "localizer"));
        cr_expect_not_null(strstr(text, "dicom-bad-size"));
        cr_expect_null(strstr(text, "Nobody"));
        cr_expect_null(strstr(text, group.folder));
        free(text);
    }
    group_close(&group);
}
