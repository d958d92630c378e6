/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of several volumes: what tells them apart, in which order they stand, what their axis
 * says, and what of a series that is not whole can be read.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { VOLUMES = 3, SERIES_SLICES = 4, IMAGES = VOLUMES * SERIES_SLICES };
enum volumes {
    WEIGHTED,
    WEIGHTED_AMISS,
    WEIGHTED_ACROSS,
    WEIGHTED_IN_PART, /* the first volume states no b-value */
    ECHOES,
    ECHOES_IN_TIME,
    ECHOES_ROUNDED,
    TIMED,
    BY_NUMBER,
    IN_DISORDER,
    BY_NUMBER_STATED,
    BY_NUMBER_GE,
    BY_NUMBER_PHILIPS,
    PET_TIMES,
    SHIFTED,
    GE,
    GE_SHELLS,
    GE_PUBLIC,
    GE_CORONAL,
    GE_SAGITTAL,
    GE_ALONG_ROWS,
    GE_FEET_FIRST,
    GE_ZERO,
    PHILIPS,
    SIEMENS,
    SIEMENS_CSA,
    ABORTED,
    ABORTED_IN_TIME,
    INVERSIONS,
    FLIPS,
    REPETITIONS,
    KERNELS,
    COILS,
    DIXON,
    ACQUISITIONS,
    MIDNIGHT, /* the first volume begins before it and ends behind it */
    MIDNIGHT_BOTH,
    TIMES_CROSS,   /* the times have another order at each position than the Instance Numbers, which
                      are regular */
    TIMES_DOUBTED, /* as before, but the numbers make no volumes */
    TIMES_FALL,
    ABORTED_AMID
};

#define NOT_GIVEN "the directions of the diffusion gradients are not given"

/* Volume v has gradient v; the first one has none. */
static const double gradients[VOLUMES][3] = {{0, 0, 0}, {0.6, 0.8, 0}, {0, 0.6, -0.8}};

static void number(struct dicom_fixture *f, uint32_t tag, const char *vr, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", value);
    ts_fixture_text(f, tag, vr, text);
}

/* The CSA header of a diffusion image. */
static void add_csa(struct dicom_fixture *f, double b, const double gradient[3])
{
    static struct dicom_bytes csa;
    csa.n = 0;
    ts_bytes_csa_start(&csa, b > 0 ? 2 : 1);
    ts_bytes_csa_tag(&csa, "B_value", &b, 1);
    if (b > 0)
        ts_bytes_csa_tag(&csa, "DiffusionGradientDirection", gradient, 3);
    ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\DIFFUSION\\NONE");
    ts_fixture_text(f, 0x00290010, "LO", "SIEMENS CSA HEADER");
    ts_fixture_bytes(f, 0x00291010, "OB", csa.at, csa.n);
}

/* The private elements of GE. The vector is in the axes of the scan, whose first two are turned. */
static void add_ge(struct dicom_fixture *f, enum volumes what, int v)
{
    const double b = v == 0 ? 0 : 1000, share = what == GE_SHELLS && v == 1 ? sqrt(0.5) : 1;
    ts_fixture_text(f, 0x00181312, "CS", what == GE_ALONG_ROWS ? "ROW" : "COL");
    ts_fixture_text(f, 0x00185100, "CS", what == GE_FEET_FIRST ? "FFS" : "HFS");
    ts_fixture_text(f, 0x00190010, "LO", "GEMS_ACQU_01");
    if (what == GE_PUBLIC)
        ts_fixture_bytes(f, 0x00189087, "FD", &b, sizeof b);
    number(f, 0x001910BB, "DS", -share * gradients[v][0]);
    number(f, 0x001910BC, "DS", -share * gradients[v][1]);
    number(f, 0x001910BD, "DS", share * gradients[v][2]);
    ts_fixture_text(f, 0x00430010, "LO", "GEMS_PARM_01");
    ts_fixture_text(f, 0x00431039, "IS",
                    v == 0 || what == GE_ZERO ? "0\\8\\0\\0" : "1000001000\\8\\0\\0");
}

static void add_weighting(struct dicom_fixture *f, enum volumes what, int place, int v)
{
    const double b = v == 0 ? 0 : 1000, amiss[3] = {0, 0, 1};
    const double *gradient = what == WEIGHTED_AMISS && place == 6 ? amiss : gradients[v];
    const float parts[4] = {(float)b, (float)gradient[0], (float)gradient[1], (float)gradient[2]};
    if (what <= WEIGHTED_ACROSS || (what == WEIGHTED_IN_PART && v > 0)) {
        ts_fixture_bytes(f, 0x00189087, "FD", &b, sizeof b);
        ts_fixture_bytes(f, 0x00189089, "FD", gradient, 3 * sizeof *gradient);
    } else if (what >= GE && what <= GE_ZERO) {
        add_ge(f, what, v);
    } else if (what == PHILIPS) {
        ts_fixture_syntax(f, FIXTURE_IMPLICIT_LE);
        ts_fixture_text(f, 0x20010010, "LO", "Philips Imaging DD 001");
        ts_fixture_bytes(f, 0x20011003, "FL", &parts[0], 4);
        ts_fixture_text(f, 0x20050010, "LO", "Philips MR Imaging DD 001");
        for (uint32_t k = 0; k < 3; k++)
            ts_fixture_bytes(f, 0x200510B0 + k, "FL", &parts[1 + k], 4);
    } else if (what == SIEMENS) {
        ts_fixture_text(f, 0x00190010, "LO", "SIEMENS MR HEADER");
        number(f, 0x0019100C, "IS", b);
        if (v > 0)
            ts_fixture_bytes(f, 0x0019100E, "FD", gradient, 3 * sizeof *gradient);
    } else if (what == SIEMENS_CSA) {
        add_csa(f, b, gradient);
    }
}

/* Sets the other attributes that tell the volumes apart. */
static void add_setting(struct dicom_fixture *f, enum volumes what, int v, int z)
{
    static const char *const kernels[] = {"B30f", "B60f", "B70f"},
                             *const coils[] = {"C1", "C2", "C3"},
                             *const types[] = {"WATER", "FAT", "IN_PHASE"};
    char text[64];
    if (what == INVERSIONS)
        number(f, 0x00180082, "DS", 100 * (1 + v));
    else if (what == FLIPS)
        number(f, 0x00181314, "DS", 5 + 5 * v);
    else if (what == REPETITIONS)
        number(f, 0x00180080, "DS",
               v == 2 ? 500 : 1000 + 3 * z); /* not the same at all positions */
    else if (what == KERNELS)
        ts_fixture_text(f, 0x00181210, "SH", kernels[v]);
    else if (what == COILS)
        ts_fixture_text(f, 0x00181250, "SH", coils[v]);
    else if (what == ACQUISITIONS || what == WEIGHTED_ACROSS)
        number(f, 0x00200012, "IS", what == ACQUISITIONS ? (v == 1 ? 1 : 2) : (v + z) % VOLUMES);
    if (what == DIXON) {
        snprintf(text, sizeof text, "DERIVED\\PRIMARY\\DIXON\\%s", types[v]);
        ts_fixture_text(f, 0x00080008, "CS", text);
    }
    if (what == ECHOES || what == ECHOES_IN_TIME)
        number(f, 0x00180081, "DS",
               v == 0 || (v == 1 && what == ECHOES_IN_TIME) ? 2.5
               : v == 1                                     ? 5
                                                            : 7.5);
    if (what == ECHOES_IN_TIME && v == 2)
        number(f, 0x00180081, "DS", 5);
    if (what == ECHOES_ROUNDED)
        number(f, 0x00180081, "DS", 2.5 * (1 + v) + 0.001 * z);
    if (what == TIMED || what == WEIGHTED || what == SHIFTED || what == ABORTED_IN_TIME) {
        snprintf(text, sizeof text, "1059%02d.%d", 50 + 2 * v, z);
        ts_fixture_text(f, 0x00080032, "TM", text);
    }
    if (what == MIDNIGHT || what == MIDNIGHT_BOTH) {
        const int half_seconds = 4 * v + z - 3;
        snprintf(text, sizeof text, "%s%s%02d.%d",
                 what == MIDNIGHT   ? ""
                 : half_seconds < 0 ? "20231231"
                                    : "20240101",
                 half_seconds < 0 ? "2359" : "0000", (half_seconds + 120) / 2 % 60,
                 5 * ((half_seconds + 120) % 2));
        if (what == MIDNIGHT)
            ts_fixture_text(f, 0x00080022, "DA", half_seconds < 0 ? "20231231" : "20240101");
        ts_fixture_text(f, what == MIDNIGHT ? 0x00080032 : 0x0008002A,
                        what == MIDNIGHT ? "TM" : "DT", text);
    }
    if (what == TIMES_CROSS || what == TIMES_DOUBTED || what == TIMES_FALL) {
        snprintf(text, sizeof text, "1059%02d",
                 10 * (what == TIMES_FALL ? VOLUMES - v : (v + z) % VOLUMES));
        ts_fixture_text(f, 0x00080032, "TM", text);
    }
    if (what == TIMES_FALL)
        number(f, 0x00200100, "IS", 1 + v);
    if (what == BY_NUMBER_STATED)
        ts_fixture_text(f, 0x00200105, "IS", "3");
    if (what == BY_NUMBER_GE) {
        ts_fixture_text(f, 0x00210010, "LO", "GEMS_RELA_01");
        ts_fixture_bytes(f, 0x0021104F, "SS", "\4", 2);
    }
    if (what == BY_NUMBER_PHILIPS) {
        ts_fixture_text(f, 0x20010010, "LO", "Philips Imaging DD 001");
        ts_fixture_text(f, 0x20011081, "IS", "3");
    }
    if (what == PET_TIMES) {
        ts_fixture_us(f, 0x00540081, SERIES_SLICES);
        number(f, 0x00541300, "DS", 1500 + 3000 * v);
    }
}

/* File i of a series of volumes; the files are in no order. */
static void make_volume(struct dicom_fixture *f, int i, void *user)
{
    const enum volumes what = *(const enum volumes *)user;
    int place = 7 * i % IMAGES;
    if (what == ABORTED || what == ABORTED_IN_TIME)
        place = i; /* the files that are left out are the last ones */
    if (what == ABORTED_AMID)
        place = i < 5 ? i : i + 1; /* the second volume lacks a slice */
    const int v = place / SERIES_SLICES, z = place % SERIES_SLICES;
    char text[64];
    ts_fixture_text(f, 0x00080060, "CS", what == PET_TIMES ? "PT" : "MR");
    snprintf(text, sizeof text, "%s\\-31.25\\%.4f", what == SHIFTED && v == 1 ? "-21.5" : "-20.5",
             100.125 + 1.3 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    if (what == GE_CORONAL || what == GE_SAGITTAL) {
        snprintf(text, sizeof text, what == GE_CORONAL ? "0\\%.4f\\0" : "%.4f\\0\\0",
                 100.125 + 1.3 * z);
        ts_fixture_text(f, 0x00200032, "DS", text);
        ts_fixture_text(f, 0x00200037, "DS",
                        what == GE_CORONAL ? "1\\0\\0\\0\\0\\-1" : "0\\1\\0\\0\\0\\-1");
    }
    number(f, 0x00200013, "IS",
           (what == IN_DISORDER || what == TIMES_DOUBTED) && v == 1 ? 20 - z * z : 1 + place);
    add_weighting(f, what, place, v);
    add_setting(f, what, v, z);
}

/* Opens a series as a chain with `split` and `take` would; "" leaves them out. */
static enum ts_status open_series(enum volumes what, int n, const char *split, const char *take,
                                  struct source **source, struct ts_diag *diag)
{
    char folder[256];
    const char *path = folder;
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    *source = NULL;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, n, make_volume, &what);
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &path};
    params.split = (struct ts_texts){*split != '\0', &split};
    params.take = (struct ts_texts){*take != '\0', &take};
    const enum ts_status status = dicom_format.open(&set, source, diag);
    ts_test_remove_folder(folder);
    return status;
}

/* Returns true where a record says the text, or a hint does. */
static bool is_said(const struct ts_diag *diag, const char *text)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (strstr(record->message, text) || (record->hint && strstr(record->hint, text)))
            return true;
    }
    return false;
}

Test(dicom_volumes, are_told_apart_by_what_differs)
{
    static const char stated[] = "3 volumes of 4 slices, as many as the header states";
    static const struct {
        enum volumes what;
        const char *split;
        enum ts_axis_kind kind;
        double positions[VOLUMES];
        const char *unit, *code, *message, *warning;
    } rows[] = {
        {WEIGHTED, "", TS_AXIS_B, {0, 1000, 1000}, "s/mm2", NULL, NULL, NULL},
        {WEIGHTED_AMISS,
         "",
         0,
         {0},
         NULL,
         "position-repeated",
         "3 different images at 100.125 mm",
         NULL},
        {WEIGHTED_ACROSS,
         "",
         TS_AXIS_B,
         {0, 1000, 1000},
         "s/mm2",
         NULL,
         NULL,
         "which Acquisition Number contradicts"},
        {WEIGHTED_IN_PART,
         "",
         TS_AXIS_B,
         {0, 1000, 1000},
         "s/mm2",
         NULL,
         NULL,
         "are taken for b = 0"},
        {ECHOES, "none", TS_AXIS_ECHO, {2.5, 5, 7.5}, "ms", NULL, NULL, NULL},
        {ECHOES,
         "",
         0,
         {0},
         NULL,
         "several-series",
         "the input holds 3 series, 3 of them fit",
         NULL},
        {ECHOES_IN_TIME,
         "none",
         0,
         {0},
         NULL,
         "position-repeated",
         "differ in Echo Time and in more",
         NULL},
        {ECHOES_ROUNDED,
         "none",
         TS_AXIS_ECHO,
         {2.5, 5, 7.5},
         "ms",
         NULL,
         NULL,
         "from 2.5 to 2.503 ms are taken as one"},
        {ECHOES_ROUNDED,
         "",
         0,
         {0},
         NULL,
         "several-series",
         "the input holds 3 series, 3 of them fit",
         NULL},
        {TIMED, "", TS_AXIS_TIME, {0, 2, 4}, "s", NULL, NULL, NULL},
        {BY_NUMBER,
         "",
         TS_AXIS_TIME,
         {0},
         "",
         NULL,
         NULL,
         "stands on Instance Number alone: 3 volumes of 4 slices"},
        {IN_DISORDER, "", 0, {0}, NULL, "position-repeated", "12 images at 4 positions", NULL},
        {BY_NUMBER_STATED, "", TS_AXIS_TIME, {0}, "", NULL, NULL, stated},
        {BY_NUMBER_GE, "", TS_AXIS_TIME, {0}, "", NULL, NULL, stated},
        {BY_NUMBER_PHILIPS, "", TS_AXIS_TIME, {0}, "", NULL, NULL, stated},
        {PET_TIMES, "", TS_AXIS_TIME, {0, 3, 6}, "s", NULL, NULL, NULL},
        {SHIFTED, "", 0, {0}, NULL, "volumes-shifted", "is 1.000 mm off", NULL},
        {GE,
         "",
         TS_AXIS_B,
         {0, 1000, 1000},
         "s/mm2",
         NULL,
         NULL,
         "stands on Instance Number alone"},
        {GE_SHELLS, "", TS_AXIS_B, {0, 500, 1000}, "s/mm2", NULL, NULL, NULL},
        {GE_PUBLIC, "", TS_AXIS_B, {0, 1000, 1000}, "s/mm2", NULL, NULL, NULL},
        {GE_ALONG_ROWS, "", TS_AXIS_B, {0, 1000, 1000}, "s/mm2", NULL, NULL, NOT_GIVEN},
        {GE_ZERO, "", TS_AXIS_TIME, {0}, "", NULL, NULL, NULL},
        {PHILIPS, "", TS_AXIS_B, {0, 1000, 1000}, "s/mm2", NULL, NULL, NULL},
        {SIEMENS, "", TS_AXIS_B, {0, 1000, 1000}, "s/mm2", NULL, NULL, NULL},
        {SIEMENS_CSA, "", TS_AXIS_B, {0, 1000, 1000}, "s/mm2", NULL, NULL, NULL},
        {REPETITIONS, "", 0, {0}, NULL, "position-repeated", "12 images at 4 positions", NULL},
        {ACQUISITIONS, "", 0, {0}, NULL, "position-repeated", "12 images at 4 positions", NULL},
        {MIDNIGHT, "", TS_AXIS_TIME, {0, 2, 4}, "s", NULL, NULL, NULL},
        {MIDNIGHT_BOTH, "", TS_AXIS_TIME, {0, 2, 4}, "s", NULL, NULL, NULL},
        {TIMES_CROSS, "", 0, {0}, NULL, "position-repeated", "12 images at 4 positions", NULL},
        {TIMES_DOUBTED,
         "",
         TS_AXIS_TIME,
         {0, 10, 20},
         "s",
         NULL,
         NULL,
         "stand on Acquisition Time, which Instance Number contradicts"},
        {TIMES_FALL, "", TS_AXIS_TIME, {0}, "", NULL, NULL, "run against the order of the volumes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        const enum ts_status status =
            open_series(rows[i].what, IMAGES, rows[i].split, "", &source, diag);
        cr_assert_eq(status == TS_OK, rows[i].code == NULL, "row %zu: %s", i,
                     ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
        if (rows[i].code)
            ts_test_expect(diag, rows[i].code, rows[i].message);
        if (rows[i].warning)
            cr_expect(is_said(diag, rows[i].warning), "row %zu", i);
        for (int v = 0; source && v < VOLUMES; v++) {
            const struct ts_axis *axis = &source->volume_axis;
            cr_expect(source->n_volumes == VOLUMES && source->n_slices == SERIES_SLICES &&
                          axis->kind == rows[i].kind,
                      "row %zu", i);
            cr_expect_str_eq(axis->unit, rows[i].unit, "row %zu", i);
            cr_expect(axis->positions ? fabs(axis->positions[v] - rows[i].positions[v]) < 1e-9
                                      : !*rows[i].unit,
                      "row %zu, volume %d", i, v);
        }
        if (source)
            source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Whatever scanner it was, the vectors are those in patient coordinates; a volume that is taken has
 * its own. */
Test(dicom_volumes, have_the_gradients_of_the_header)
{
    static const enum volumes rows[] = {WEIGHTED, GE,      GE_SHELLS,  GE_PUBLIC,
                                        PHILIPS,  SIEMENS, SIEMENS_CSA};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int taken = -1; taken < VOLUMES; taken++) {
            struct ts_diag *diag = ts_diag_create();
            struct source *source;
            char take[4] = "";
            if (taken >= 0)
                snprintf(take, sizeof take, "%d", taken);
            cr_assert_eq(open_series(rows[i], IMAGES, "", take, &source, diag), TS_OK, "row %zu",
                         i);
            cr_assert(source->gradients && source->n_volumes == (taken < 0 ? VOLUMES : 1),
                      "row %zu", i);
            for (int v = 0; v < source->n_volumes; v++)
                for (int k = 0; k < 3; k++)
                    cr_expect(fabs(source->gradients[3 * v + k] -
                                   gradients[v + (taken > 0 ? taken : 0)][k]) < 1e-6,
                              "row %zu, volume %d: %g", i, v, source->gradients[3 * v + k]);
            source->ops->close(source);
            ts_diag_destroy(diag);
        }
}

/* GE's axes of the scan are turned into the patient's as dcm2niix does it, where it does; of the
 * axes that are stored,
 * (-x, -y, z) of `gradients`, these are the signs. */
Test(dicom_volumes, have_the_gradients_of_ge)
{
    static const struct {
        enum volumes what;
        const char *warning;
        int from[3],
            sign[3]; /* element k is that of gradients at from[k]; sign 0: none are given */
    } rows[] = {
        {GE, NULL, {0, 1, 2}, {1, 1, 1}},
        {GE_CORONAL,
         "turned out of the axes of the scan as dcm2niix does it",
         {0, 2, 1},
         {1, 1, 1}},
        {GE_SAGITTAL,
         "turned out of the axes of the scan as dcm2niix does it",
         {2, 0, 1},
         {1, -1, 1}},
        {GE_ALONG_ROWS, NOT_GIVEN, {0}, {0}},
        {GE_FEET_FIRST, NOT_GIVEN, {0}, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        cr_assert_eq(open_series(rows[i].what, IMAGES, "", "", &source, diag), TS_OK, "row %zu", i);
        cr_expect_eq(source->gradients == NULL, rows[i].sign[0] == 0, "row %zu", i);
        cr_expect_eq(is_said(diag, "diffusion gradients"), rows[i].warning != NULL, "row %zu", i);
        cr_expect(!rows[i].warning || is_said(diag, rows[i].warning), "row %zu", i);
        for (int j = 0; source->gradients && j < 3 * VOLUMES; j++)
            cr_expect(fabs(source->gradients[j] -
                           rows[i].sign[j % 3] * gradients[j / 3][rows[i].from[j % 3]]) < 1e-6,
                      "row %zu, %d: %g", i, j, source->gradients[j]);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* A scan that was stopped lacks slices of its last volume. */
Test(dicom_volumes, that_are_whole_can_be_taken_of_a_stopped_scan)
{
    static const enum volumes rows[] = {ABORTED, ABORTED_IN_TIME};
    static const char lack[] = "1 slice is missing, and 2 of 3 volumes are whole: volume 2 of 0 to "
                               "2 lacks the slice at 104.025 mm";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        cr_assert_eq(open_series(rows[i], IMAGES - 1, "", "", &source, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "volume-incomplete", lack);
        ts_diag_destroy(diag);
        diag = ts_diag_create();
        cr_assert_eq(open_series(rows[i], IMAGES - 1, "", "2", &source, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "take-unknown", "has what `take` says");
        ts_diag_destroy(diag);
        diag = ts_diag_create();
        cr_assert_eq(open_series(rows[i], IMAGES - 1, "time", "", &source, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "several-series", "the input holds 2 series, 2 of them fit");
        ts_diag_destroy(diag);
        for (size_t k = 0; k < 2; k++) {
            diag = ts_diag_create();
            cr_assert_eq(open_series(rows[i], IMAGES - 1, "", k ? "1" : "0", &source, diag), TS_OK);
            cr_expect(is_said(diag, lack));
            cr_expect(source->n_volumes == 1 && source->n_slices == SERIES_SLICES);
            cr_expect_eq(source->slices[0].position_mm[2], 100.125);
            source->ops->close(source);
            ts_diag_destroy(diag);
        }
    }
}

/* The numbers of the volumes are those of the whole series, whichever of them is not whole. */
Test(dicom_volumes, keep_their_numbers_where_one_between_is_not_whole)
{
    static const struct {
        const char *take, *message;
    } rows[] = {{"0", NULL},
                {"1", "has what `take` says"},
                {"2", NULL},
                {"", "volume 1 of 0 to 2 lacks the slice"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        const enum ts_status status =
            open_series(ABORTED_AMID, IMAGES - 1, "", rows[i].take, &source, diag);
        cr_assert_eq(status, rows[i].message ? TS_BAD_INPUT : TS_OK, "row %zu", i);
        cr_expect(!rows[i].message || is_said(diag, rows[i].message), "row %zu", i);
        if (source)
            source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* A setting makes series of its own, which `take` knows by their labels. */
Test(dicom_volumes, of_several_settings_are_series_of_their_own)
{
    static const struct {
        enum volumes what;
        const char *take;
    } rows[] = {{INVERSIONS, "TI 200 ms"},
                {FLIPS, "flip angle 10 degrees"},
                {KERNELS, "kernel B60f"},
                {COILS, "coil 2"},
                {DIXON, "type DIXON\\FAT"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        cr_assert_eq(open_series(rows[i].what, IMAGES, "", "", &source, diag), TS_BAD_INPUT,
                     "row %zu", i);
        ts_test_expect(diag, "several-series", "the input holds 3 series, 3 of them fit");
        ts_diag_destroy(diag);
        diag = ts_diag_create();
        cr_assert_eq(open_series(rows[i].what, IMAGES, "", rows[i].take, &source, diag), TS_OK,
                     "row %zu: %s", i,
                     ts_diag_count(diag) ? ts_diag_get(diag, ts_diag_count(diag) - 1)->message
                                         : "");
        cr_expect(source->n_volumes == 1 && source->n_slices == SERIES_SLICES);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* The hint names the attribute in which images differ where it gives no order. */
Test(dicom_volumes, that_have_no_order_differ_in_what_the_hint_names)
{
    static const struct {
        enum volumes what;
        const char *name;
    } rows[] = {{REPETITIONS, "they differ in Repetition Time"},
                {ACQUISITIONS, "they differ in Acquisition Number"},
                {IN_DISORDER, "they differ in Instance Number alone"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        cr_assert_eq(open_series(rows[i].what, IMAGES, "", "", &source, diag), TS_BAD_INPUT);
        cr_expect(is_said(diag, rows[i].name) && is_said(diag, "duplicates: first"), "row %zu", i);
        ts_diag_destroy(diag);
    }
}
