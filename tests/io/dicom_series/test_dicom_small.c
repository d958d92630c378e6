/* SPDX-License-Identifier: Apache-2.0
 *
 * Series that derived files make: of slices a micrometer apart, of volumes of one slice each, of
 * slices from two acquisitions or more that were scanned in turn, and of two patients under one
 * UID.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { IMAGES = 4 };

struct layout {
    double step_mm; /* from image to image */
    const char *spacing,
        *distance;               /* Pixel Spacing and Spacing Between Slices; NULL: as they are */
    const char *volumes;         /* Number of Temporal Positions; NULL: none */
    int64_t n_slices, n_volumes; /* 0: refused with this code */
    const char *code;
    uint32_t tag; /* of an attribute that has another value in each image, such as Trigger Time; 0:
                     none */
    const char *vr;
};

static void edit(struct dicom_fixture *fixture, int z, void *user)
{
    const struct layout *layout = user;
    char text[64];
    snprintf(text, sizeof text, "10\\20\\%.6g", 30 + z * layout->step_mm);
    ts_fixture_text(fixture, 0x00200032, "DS", text);
    ts_fixture_remove(fixture, 0x00180088);
    if (layout->spacing)
        ts_fixture_text(fixture, 0x00280030, "DS", layout->spacing);
    if (layout->distance)
        ts_fixture_text(fixture, 0x00180088, "DS", layout->distance);
    if (layout->volumes) {
        snprintf(text, sizeof text, "%d", z + 1);
        ts_fixture_text(fixture, 0x00200100, "IS", text);
        ts_fixture_text(fixture, 0x00200105, "IS", layout->volumes);
    }
    snprintf(text, sizeof text, "%d", 100000 + 10 * z);
    if (layout->tag)
        ts_fixture_text(fixture, layout->tag, layout->vr, text);
}

Test(dicom_small, positions_are_one_by_the_size_of_the_object)
{
    static struct layout rows[] = {
        {1e-3, "0.002\\0.002", NULL, NULL, IMAGES, 1, NULL}, /* by the pixels */
        {1e-3, NULL, "0.001", NULL, IMAGES, 1, NULL},        /* by the distance that is stated */
        {1e-3, NULL, NULL, NULL, 0, 0, "position-repeated"}, /* pixels of half a millimeter */
        {1e-5, "0.002\\0.002", NULL, NULL, 0, 0, "position-repeated"},
        {0, NULL, NULL, "4", 1, IMAGES, NULL}, /* the header counts the volumes */
        {0, NULL, NULL, "5", 0, 0, "position-repeated"},
        {0, NULL, NULL, NULL, 1, IMAGES, NULL, 0x00181060,
         "DS"}, /* Trigger Time: a heart that beats */
        {0, NULL, NULL, NULL, 1, IMAGES, NULL, 0x00200100, "IS"}, /* Temporal Position Identifier */
        {0, NULL, NULL, NULL, 1, IMAGES, NULL, 0x00541300, "DS"}, /* Frame Reference Time */
        {0, NULL, NULL, NULL, 0, 0, "position-repeated", 0x00200012, "IS"},
        {0, NULL, NULL, NULL, 1, IMAGES, NULL, 0x00080032,
         "TM"}, /* Acquisition Time, as in bolus tracking */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, edit, &rows[i]);
        const enum ts_status status = ts_test_open_dicom(folder, NULL, 0, &source, diag);
        cr_expect_eq(status == TS_OK, rows[i].code == NULL, "row %zu: %s", i,
                     ts_diag_get(diag, 0)->message);
        if (status != TS_OK) {
            ts_test_expect(diag, rows[i].code, "");
        } else {
            cr_expect_eq(source->n_slices, rows[i].n_slices, "row %zu", i);
            cr_expect_eq(source->n_volumes, rows[i].n_volumes, "row %zu", i);
            if (rows[i].n_slices > 1)
                cr_expect_float_eq(source->image.axes[0].spacing, rows[i].step_mm, 1e-9);
            source->ops->close(source);
        }
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

static void edit_setting(struct dicom_fixture *fixture, int z, void *user)
{
    const int setting = *(const int *)user;
    ts_fixture_text(fixture, 0x00181210, "SH", setting == 1 && z == 2 ? "B60f" : "B30f");
    ts_fixture_text(fixture, 0x00180060, "DS", setting == 2 && z == 0 ? "80" : "120");
    ts_fixture_text(fixture, 0x00080008, "CS",
                    setting == 3 && z < 2 ? "DERIVED\\SECONDARY" : "ORIGINAL\\PRIMARY");
}

Test(dicom_small, slices_of_two_kernels_voltages_or_origins_are_warned_of)
{
    static const char *const warnings[] = {
        NULL, "the slices differ in Convolution Kernel", "the slices differ in KVP",
        "2 of 4 images are DERIVED by their Image Type, and the others are not"};
    for (int setting = 0; setting < 4; setting++) {
        char folder[256];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, edit_setting, &setting);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, 0, &source, diag), TS_OK);
        if (warnings[setting])
            ts_test_expect_warning(diag, "dicom-series", warnings[setting]);
        else
            cr_expect_eq(ts_diag_count(diag), 0);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* Settings of slices at positions of their own. */
struct turns {
    uint32_t tag;
    const char *vr, *values[4]; /* of slices 0, 1, 2, ..., in turn; the first NULL ends them */
    int in_a_row;               /* how many slices have each value */
    const char *take;           /* one of the parts; NULL: the slices are one volume */
    int n_series, n_taken;      /* slices of the part; 0: it is refused */
};

enum { TURN_IMAGES = 12 };

static void set_in_turn(struct dicom_fixture *f, int z, void *user)
{
    const struct turns *turns = user;
    int n = 0;
    while (n < 4 && turns->values[n])
        n++;
    const char *value = turns->values[z / turns->in_a_row % n];
    if (*value)
        ts_fixture_text(f, turns->tag, turns->vr, value);
    else
        ts_fixture_remove(f, turns->tag);
}

static struct turns turns_rows[] = {
    {0x00180060, "DS", {"80", "140"}, 1, "KVP 80 kV", 2, 6}, /* dual energy, slice by slice */
    {0x00180060, "DS", {"80", "100", "140"}, 1, "KVP 140 kV", 3, 4}, /* three energies */
    {0x00180060, "DS", {"80", "140"}, 6, "KVP 140 kV", 2, 6},        /* one behind the other */
    {0x00181210, "SH", {"B30f", "B60f"}, 1, "kernel B60f", 2, 6},    /* two kernels */
    {0x00181210, "SH", {"B30f", "B60f"}, 2, "kernel B60f", 2, 0},    /* the slices of each are not
                                                                      * even */
    {0x00181152, "IS", {"50", "200"}, 1, "exposure 200 mA s", 2, 6}, /* two doses */
    {0x00181151, "IS", {"100", "400"}, 1, "tube current 400 mA", 2, 6},
    {0x00181152, "IS", {"100", "200"}, 6, NULL, 1, 0}, /* a tube that follows the body */
    {0x00181152, "IS", {"199", "200"}, 1, NULL, 1, 0}, /* rounding */
    {0x00180060, "DS", {"80", ""}, 1, NULL, 1, 0},     /* one value, and none */
    {0x00181314, "DS", {"5", "20"}, 1, "flip angle 20 degrees", 2, 6},
};

static enum ts_status open_in_turn(const char *folder, const char *take, const char *split,
                                   struct source **source, struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &folder};
    params.take = (struct ts_texts){take != NULL, &take};
    params.split = (struct ts_texts){split != NULL, &split};
    return dicom_format.open(&set, source, diag);
}

static void expect_slices(const char *folder, const char *take, const char *split, int64_t n_slices,
                          size_t row)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source = NULL;
    const enum ts_status status = open_in_turn(folder, take, split, &source, diag);
    cr_expect_eq(status == TS_OK, n_slices > 0, "row %zu", row);
    if (source) {
        cr_expect_eq(source->n_slices, n_slices, "row %zu: %lld", row, (long long)source->n_slices);
        source->ops->close(source);
    }
    ts_diag_destroy(diag);
}

Test(dicom_small, slices_that_alternate_between_settings_are_series_of_their_own)
{
    for (size_t i = 0; i < sizeof turns_rows / sizeof *turns_rows; i++) {
        const struct turns *row = &turns_rows[i];
        char folder[256];
        struct dicom_study study;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, TURN_IMAGES, set_in_turn, &turns_rows[i]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_expect_eq(study.n, row->n_series, "row %zu: %zu series", i, study.n);
        for (size_t k = 0; row->take && k < study.n; k++)
            cr_expect(study.series[k].n_warnings > 0 &&
                          strstr(study.series[k].warnings[0], "`split: none`"),
                      "row %zu", i);
        ts_test_study_close(&study);
        expect_slices(folder, NULL, NULL, row->take ? 0 : TURN_IMAGES, i);
        if (row->take)
            expect_slices(folder, row->take, NULL, row->n_taken, i);
        expect_slices(folder, NULL, "none", TURN_IMAGES, i);
        ts_test_remove_folder(folder);
    }
}

/* Volumes that are series of their own are known by their numbers where nothing else tells them
 * apart. */
Test(dicom_small, volumes_without_times_are_known_by_their_numbers)
{
    static const char *const takes[] = {NULL, "0", "3", "4"};
    struct layout layout = {.tag = 0x00200100, .vr = "IS"};
    char folder[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, IMAGES, edit, &layout);
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        bool said = false;
        const enum ts_status status = open_in_turn(folder, takes[i], "time", &source, diag);
        cr_expect_eq(status == TS_OK, i == 1 || i == 2, "row %zu", i);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            said |= strstr(ts_diag_get(diag, k)->message, ", volume 3, ") != NULL;
        cr_expect_eq(said, status != TS_OK, "row %zu", i);
        if (source)
            source->ops->close(source);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

/* Sets a Patient ID for each pair of slices; `none` gives the second pair none. */
static void set_patient(struct dicom_fixture *f, int z, void *user)
{
    const bool none = *(const bool *)user;
    if (z < 2 || !none)
        ts_fixture_text(f, 0x00100020, "LO", z < 2 ? "P0" : "P1");
}

Test(dicom_small, two_patients_are_never_one_volume)
{
    static const char warning[] = "differ in Patient ID";
    for (int none = 0; none < 2; none++) {
        char folder[256];
        struct dicom_study study;
        const struct dicom_series *chosen;
        bool user = none;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, set_patient, &user);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, 2);
        for (size_t i = 0; i < study.n; i++) {
            const struct dicom_series *series = &study.series[i];
            cr_expect_eq(series->n_images, 2);
            cr_expect(series->n_warnings > 0 && strstr(series->warnings[0], warning), "series %zu",
                      i);
        }
        cr_expect_eq(ts_dicom_choose(study.series, study.n, "", &study.files, &chosen, study.diag),
                     TS_BAD_INPUT);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* Sets texts of a header that are none of their defined terms. */
static void set_canaries(struct dicom_fixture *f, int z, void *user)
{
    (void)user;
    ts_fixture_text(f, 0x00080060, "CS", "CANARY");
    ts_fixture_text(f, 0x00080008, "CS",
                    z < 2 ? "ORIGINAL\\PRIMARY\\CANARY" : "ORIGINAL\\PRIMARY\\CANARY2");
}

Test(dicom_small, texts_that_are_no_defined_terms_reach_no_message)
{
    char folder[256], line[512];
    struct dicom_study study;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, IMAGES, set_canaries, NULL);
    ts_test_study_open(&study, folder, &ts_dicom_default_rules);
    cr_assert_eq(study.n, 2);
    for (size_t i = 0; i < study.n; i++) {
        ts_dicom_series_line(&study.series[i], false, line, sizeof line);
        cr_expect(strstr(line, "unrecognized") && !strstr(line, "CANARY"), "%s", line);
        cr_expect_str_eq(study.series[i].refusal,
                         "modality unrecognized, expected CT, MR, PT or RTDOSE");
    }
    ts_test_study_close(&study);
    ts_test_remove_folder(folder);
}
