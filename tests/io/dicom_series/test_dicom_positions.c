/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions of slices become a geometry: the fitted line, the tolerance, shear, stacks, and images
 * at one position.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom_series/dicom_group.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"

enum { MOST_SLICES = 48 };

/* The slices that a test writes. */
struct slices {
    int n;
    double position_mm[MOST_SLICES][3];
    const char *orientation; /* NULL: that of the fixture */
};

static char folder[256];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(dicom_positions, .init = begin, .fini = end);

static void place(struct dicom_fixture *f, int z, void *user)
{
    const struct slices *slices = user;
    char text[128];
    snprintf(text, sizeof text, "%.6f\\%.6f\\%.6f", slices->position_mm[z][0],
             slices->position_mm[z][1], slices->position_mm[z][2]);
    ts_fixture_text(f, 0x00200032, "DS", text);
    if (slices->orientation)
        ts_fixture_text(f, 0x00200037, "DS", slices->orientation);
}

static struct dicom_series *judge(struct dicom_study *study, struct slices *slices,
                                  const struct dicom_rules *rules)
{
    ts_fixture_series(folder, slices->n, place, slices);
    ts_test_study_open(study, folder, rules);
    cr_assert_eq(study->n, 1);
    return &study->series[0];
}

/* Judges and expects a refusal of this code with these texts in its message and its hint. */
static void refused(struct slices *slices, const struct dicom_rules *rules, const char *code,
                    const char *text, const char *hint)
{
    struct dicom_study study;
    const struct dicom_series *series = judge(&study, slices, rules);
    cr_assert(series->refusal && !strcmp(series->refusal_code, code), "%s: %s", code,
              series->refusal);
    cr_expect(strstr(series->refusal, text), "%s", series->refusal);
    cr_expect(strstr(series->hint, hint), "%s", series->hint);
    ts_test_study_close(&study);
}

/* The line by the normal equations, n b + sum(i) a = sum(p) and sum(i) b + sum(i^2) a = sum(i p),
 * solved by Cramer. */
static void naive_line(const struct slices *slices, int k, long double *origin, long double *step)
{
    long double n = slices->n, i1 = 0, i2 = 0, p1 = 0, ip = 0;
    for (int i = 0; i < slices->n; i++) {
        i1 += i;
        i2 += (long double)i * i;
        p1 += (long double)slices->position_mm[i][k];
        ip += (long double)i * (long double)slices->position_mm[i][k];
    }
    *step = (n * ip - i1 * p1) / (n * i2 - i1 * i1);
    *origin = (i2 * p1 - i1 * ip) / (n * i2 - i1 * i1);
}

static void expect_line(const struct slices *slices, const struct ts_image *image)
{
    for (int k = 0; k < 3; k++) {
        long double origin, step;
        naive_line(slices, k, &origin, &step);
        cr_expect(fabsl((long double)image->origin_mm[k] - origin) <= 1e-11L, "origin %d: %.17g", k,
                  image->origin_mm[k]);
        cr_expect(fabsl((long double)image->step_z_mm[k] - step) <= 1e-12L, "step %d: %.17g", k,
                  image->step_z_mm[k]);
    }
}

/* A brain, 7 mm from slice to slice, tilted 9 degrees, whose positions were rounded to 0.1 mm. */
static struct slices rounded_brain(void)
{
    struct slices slices = {.n = 20, .orientation = "1\\0\\0\\0\\0.98768834\\-0.15643447"};
    for (int i = 0; i < slices.n; i++) {
        slices.position_mm[i][0] = -119.4;
        slices.position_mm[i][1] = round((-101.53 + i * 7 * 0.15643447) * 10) / 10;
        slices.position_mm[i][2] = round((-48.27 + i * 7 * 0.98768834) * 10) / 10;
    }
    return slices;
}

Test(dicom_positions, rounded_ones_are_fitted)
{
    struct slices slices = rounded_brain();
    struct dicom_study study;
    refused(&slices, &ts_test_version_1, "spacing-varies", "slice spacing varies from 6.",
            "another tool");
    const struct dicom_series *series = judge(&study, &slices, &ts_dicom_default_rules);
    cr_assert_null(series->refusal, "%s", series->refusal);
    expect_line(&slices, &series->image);
    cr_expect(fabs(series->image.axes[0].spacing - 7) <= 5e-3, "%g", series->image.axes[0].spacing);
    cr_assert_eq(series->n_warnings, 1);
    const char *warning = series->warnings[0];
    double off, percent, spacing;
    cr_assert_eq(
        sscanf(warning,
               "slices lie up to %lf mm (%lf %%) off a line of even steps; the fitted spacing, %lf",
               &off, &percent, &spacing),
        3, "%s", warning);
    cr_expect(off > 0.03 && off < 0.07 && fabs(percent - 100 * off / 7) < 0.01 &&
                  fabs(spacing - 7) < 5e-3,
              "%s", warning);
    ts_test_study_close(&study);
}

/* Steps that begin wide and end narrow: no gap stands out, but the slices drift off an even
 * grid. */
Test(dicom_positions, the_tolerance_is_that_of_the_chain)
{
    struct slices slices = {.n = 41};
    struct dicom_rules rules = ts_dicom_default_rules;
    struct dicom_study study;
    for (int i = 0; i < slices.n; i++)
        slices.position_mm[i][2] = 1.3 * i + 0.006 * (i <= 20 ? i : 40 - i);
    refused(&slices, &rules, "spacing-varies",
            "slices lie up to 0.061 mm off an even grid of 1.300 mm",
            "spacing_tolerance: 4.8 takes them as even");
    rules.spacing_tolerance = 4.8;
    const struct dicom_series *series = judge(&study, &slices, &rules);
    cr_assert_null(series->refusal, "%s", series->refusal);
    expect_line(&slices, &series->image);
    ts_test_study_close(&study);
    rules.spacing_tolerance = 4.6;
    refused(&slices, &rules, "spacing-varies", "slices lie up to 0.061 mm",
            "spacing_tolerance: 4.8");
}

Test(dicom_positions, a_slice_beside_the_line_is_named)
{
    struct slices slices = {.n = 11};
    for (int i = 0; i < slices.n; i++) {
        slices.position_mm[i][0] = i == 6 ? 0.5 : 0;
        slices.position_mm[i][2] = 1.3 * i;
    }
    refused(&slices, &ts_dicom_default_rules, "slice-shifted",
            "IM004.dcm lies 0.450 mm beside the line", "supply slices that lie on one line");
}

/* The least share of the spacing by which a slice is off the line behind a gap is 11 %, of three
 * slices. */
Test(dicom_positions, no_tolerance_hides_a_missing_slice)
{
    static const int counts[] = {3, 4, 5, 8, 21};
    struct dicom_rules rules = ts_dicom_default_rules;
    rules.spacing_tolerance = DICOM_MOST_TOLERANCE;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int gap = 1; gap < counts[c]; gap++) {
            struct slices slices = {.n = counts[c]};
            for (int i = 0; i < slices.n; i++)
                slices.position_mm[i][2] = 2.5 * (i + (i >= gap));
            refused(&slices, &rules, "slice-missing",
                    "1 slice missing: a gap of 5.000 mm between IM",
                    "supply the missing slices; none are made up");
        }
}

Test(dicom_positions, a_tilted_series_keeps_its_exact_step)
{
    struct slices slices = {.n = 11};
    struct dicom_study study;
    for (int i = 0; i < slices.n; i++) {
        slices.position_mm[i][1] = -0.25 * i;
        slices.position_mm[i][2] = 10 + 1.5 * i;
    }
    refused(&slices, &ts_test_version_1, "gantry-tilt", "leans 9.46 degrees", "tilt: keep");
    const struct dicom_series *series = judge(&study, &slices, &ts_dicom_default_rules);
    const struct ts_image *image = &series->image;
    cr_assert_null(series->refusal, "%s", series->refusal);
    cr_expect(image->step_z_mm[0] == 0 && image->step_z_mm[1] == -0.25 &&
              image->step_z_mm[2] == 1.5);
    cr_expect(image->axes[0].spacing == 1.5 && image->direction[8] == 1 &&
              image->origin_mm[2] == 10);
    cr_expect(fabs(ts_image_lean_degree(image) - atan(0.25 / 1.5) * 180 / M_PI) <= 1e-12);
    cr_expect(series->n_warnings == 1 && strstr(series->warnings[0], "the volume is sheared"), "%s",
              series->warnings[0]);
    char line[256];
    ts_dicom_series_line(series, false, line, sizeof line);
    cr_expect(strstr(line, "axial, sheared 9.5 degrees"), "%s", line);
    ts_test_study_close(&study);
    for (int i = 0; i < slices.n; i++)
        slices.position_mm[i][1] = -2 * i;
    refused(&slices, &ts_dicom_default_rules, "gantry-tilt", "leans 53.13 degrees",
            "one behind the other");
}

/* One slice that is misplaced within the tolerance does not make a volume sheared. */
Test(dicom_positions, a_lean_within_the_tolerance_is_upright)
{
    struct slices slices = {.n = 4, .position_mm = {{0, 0, 0}, {0, 0, 2}, {0, 0, 4}, {0.02, 0, 6}}};
    struct dicom_study study;
    const struct dicom_series *series = judge(&study, &slices, &ts_dicom_default_rules);
    cr_assert_null(series->refusal, "%s", series->refusal);
    cr_expect(series->n_warnings == 1 && series->image.step_z_mm[0] == 0, "%s",
              series->warnings[0]);
    cr_expect(fabs(series->image.origin_mm[0] - 0.005) < 1e-12, "%g", series->image.origin_mm[0]);
    ts_test_study_close(&study);
}

/* Five slices of 4 mm, then four of 7 mm, 1.5 mm behind them. */
Test(dicom_positions, one_of_several_stacks_is_taken)
{
    static const int first[] = {0, 5}, counts[] = {5, 4};
    struct slices slices = {.n = 9};
    struct dicom_rules rules = ts_dicom_default_rules;
    for (int i = 0; i < slices.n; i++)
        slices.position_mm[i][2] = i < 5 ? 4 * i : 17.5 + 7 * (i - 5);
    refused(&slices, &rules, "spacing-varies", "from 1.500 to 7.000 mm",
            "stack: N takes one of the stacks of even spacing - 1 has 5 slices of 4.000 mm, 2 has "
            "4 slices of 7.000 mm");
    for (int stack = 1; stack <= 2; stack++) {
        struct dicom_study study;
        rules.stack = stack;
        const struct dicom_series *series = judge(&study, &slices, &rules);
        const int from = first[stack - 1], n = counts[stack - 1];
        cr_assert_null(series->refusal, "%s", series->refusal);
        cr_expect(series->image.axes[0].n == n && series->n_images == (size_t)n &&
                  series->n_slices == (size_t)n);
        cr_expect(series->n_unused == (size_t)(9 - n) && series->n_warnings == 1 &&
                  !series->incomplete);
        cr_expect(strstr(series->warnings[0], "of the 9 slices; the others are left out"), "%s",
                  series->warnings[0]);
        cr_expect(series->image.axes[0].spacing == (stack == 1 ? 4 : 7));
        cr_expect(series->image.origin_mm[2] == slices.position_mm[from][2]);
        for (int i = 0; i < n; i++)
            cr_expect_eq(series->images[i]->instance_number, from + i + 1);
        ts_test_study_close(&study);
    }
    rules.stack = 3;
    refused(&slices, &rules, "stack-unknown", "there is no stack 3: the slices have 2", "stack: 1");
}

/* A series that is one stack is its stack 1, whole. */
Test(dicom_positions, stack_1_of_an_even_series_is_all_of_it)
{
    struct slices slices = rounded_brain();
    struct dicom_study study;
    struct dicom_rules rules = ts_dicom_default_rules;
    rules.stack = 1;
    const struct dicom_series *series = judge(&study, &slices, &rules);
    cr_assert_null(series->refusal, "%s", series->refusal);
    cr_expect(series->n_images == 20 && series->n_unused == 0);
    ts_test_study_close(&study);
}

/* Each position twice, at the first three of them in the other order of Instance Number. */
Test(dicom_positions, the_first_image_of_each_position_is_taken)
{
    struct slices slices = {.n = 12};
    struct dicom_study study;
    struct dicom_rules rules = ts_dicom_default_rules;
    for (int i = 0; i < slices.n; i++)
        slices.position_mm[i][2] = i == 11 ? 2 * 6 : 2 * (i < 6 ? i : i - 6);
    rules.duplicates = DUPLICATES_FIRST;
    const struct dicom_series *series = judge(&study, &slices, &rules);
    cr_assert_null(series->refusal, "%s", series->refusal);
    cr_expect(series->n_images == 7 && series->n_slices == 7 && series->n_unused == 5);
    for (int i = 0; i < 7; i++)
        cr_expect_eq(series->images[i]->instance_number, i < 6 ? i + 1 : 12);
    cr_expect(strstr(series->warnings[0], "the first is taken; 5 of 12 images are left out"), "%s",
              series->warnings[0]);
    ts_test_study_close(&study);
}

/* More images at the first position than at the others make no series of volumes. */
Test(dicom_positions, a_first_position_that_comes_twice_is_refused)
{
    struct slices slices = {.n = 5,
                            .position_mm = {{0, 0, 0}, {0, 0, 0}, {0, 0, 2}, {0, 0, 4}, {0, 0, 6}}};
    refused(&slices, &ts_dicom_default_rules, "position-repeated", "2 different images at 0.000 mm",
            "");
}

/* An image that has the position of another one leaves a gap, with which the first of each position
 * are no volume: the hint does not send the user there. */
Test(dicom_positions, no_hint_takes_the_first_where_a_position_is_lost)
{
    static const struct {
        int n, from, to;    /* image `from` lies where image `to` does */
        bool hinted, taken; /* by duplicates: first */
        bool falling;       /* the positions fall along the Instance Numbers */
    } rows[] = {
        {6, 3, 2, false, false},      {6, 1, 4, false, false},      {5, 2, 0, false, false},
        {6, 5, 4, true, true},        {6, 5, 1, true, true},        {6, 0, 1, false, true},
        {6, 0, 4, false, true},       {6, 5, 4, true, true, true},  {6, 5, 2, true, true, true},
        {6, 0, 1, false, true, true}, {6, 2, 3, false, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct slices slices = {.n = rows[i].n};
        struct dicom_study study;
        struct dicom_rules rules = ts_dicom_default_rules;
        for (int k = 0; k < slices.n; k++)
            slices.position_mm[k][2] =
                (rows[i].falling ? -2 : 2) * (k == rows[i].from ? rows[i].to : k);
        const struct dicom_series *series = judge(&study, &slices, &rules);
        cr_assert_not_null(series->refusal);
        cr_expect_str_eq(series->refusal_code, "position-repeated", "row %zu", i);
        cr_expect_eq(strstr(series->hint, "duplicates: first") != NULL, rows[i].hinted,
                     "row %zu: %s", i, series->hint);
        cr_expect(rows[i].hinted || strstr(series->hint, "supply the series anew"), "row %zu: %s",
                  i, series->hint);
        ts_test_study_close(&study);
        rules.duplicates = DUPLICATES_FIRST;
        series = judge(&study, &slices, &rules);
        cr_expect_eq(series->refusal == NULL, rows[i].taken, "row %zu: %s", i, series->refusal);
        for (size_t k = 0; rows[i].hinted && k < series->n_images;
             k++) /* each slice is at its own position */
            cr_expect_float_eq(series->images[k]->along_mm - series->images[0]->along_mm,
                               (rows[i].falling ? -2 : 2) * (series->images[k]->instance_number -
                                                             series->images[0]->instance_number),
                               1e-6, "row %zu, slice %zu", i, k);
        ts_test_study_close(&study);
    }
}

/* Slices 2 i and 2 i + 1 have one SOP Instance UID. */
static void share_uid(struct dicom_fixture *f, int z, void *user)
{
    char uid[64];
    place(f, z, user);
    snprintf(uid, sizeof uid, "1.2.826.0.1.3680043.10.1.9.%d", z / 2);
    ts_fixture_text(f, 0x00080018, "UI", uid);
}

/* Different images of one SOP Instance UID are refused; the first of each position is taken on
 * request. */
Test(dicom_positions, different_images_of_one_uid_can_be_taken)
{
    struct slices slices = {
        .n = 6, .position_mm = {{0, 0, 0}, {0, 0, 0}, {0, 0, 2}, {0, 0, 2}, {0, 0, 4}, {0, 0, 4}}};
    for (int first = 0; first < 2; first++) {
        struct dicom_study study;
        struct dicom_rules rules = ts_dicom_default_rules;
        rules.duplicates = first ? DUPLICATES_FIRST : DUPLICATES_REFUSE;
        ts_fixture_series(folder, slices.n, share_uid, &slices);
        ts_test_study_open(&study, folder, &rules);
        const struct dicom_series *series = &study.series[0];
        cr_assert_eq(series->refusal == NULL, first, "%s", series->refusal);
        if (first)
            cr_expect(series->n_images == 3 && series->n_unused == 3 &&
                      series->images[1]->instance_number == 3);
        else
            cr_expect(!strcmp(series->refusal_code, "duplicate-differs") &&
                      strstr(series->hint, "duplicates: first"));
        ts_test_study_close(&study);
    }
}

/* The hint has the tolerance that takes them, where there is one; with the rule of version 1 there
 * is none. */
Test(dicom_positions, a_hint_names_the_tolerance_that_takes_them)
{
    struct slices slices = {.n = 8};
    for (int i = 0; i < slices.n; i++)
        slices.position_mm[i][2] = 5 * i + (i % 2 ? 0.2 : 0);
    refused(&slices, &ts_dicom_default_rules, "spacing-varies", "varies from 4.800 to 5.200 mm",
            "spacing_tolerance: 2.5 takes them as even");
    refused(&slices, &ts_test_version_1, "spacing-varies", "varies from 4.800 to 5.200 mm",
            "put the slices of one spacing into a folder of their own");
    for (int i = 0; i < slices.n; i++) {
        slices.position_mm[i][2] = 5 * i;
        slices.position_mm[i][0] = i == 4 ? 0.3 : 0;
    }
    refused(&slices, &ts_dicom_default_rules, "slice-shifted", "mm beside the line",
            "spacing_tolerance: ");
}

/* Two slices are a volume where the header states their gap. */
Test(dicom_positions, two_slices_whose_gap_is_confirmed_are_taken)
{
    struct slices slices = {.n = 2, .position_mm = {{0, 0, 0}, {0, 0, 1.3}}};
    struct dicom_study study;
    const struct dicom_series *series = judge(&study, &slices, &ts_dicom_default_rules);
    cr_assert_null(series->refusal, "%s", series->refusal);
    cr_expect(series->n_slices == 2 && fabs(series->image.axes[0].spacing - 1.3) < 1e-12);
    cr_expect_str_eq(series->warnings[0],
                     "2 slices are one gap, of 1.300 mm, which Slice Thickness confirms");
    ts_test_study_close(&study);
    slices.position_mm[1][2] = 2.6;
    refused(&slices, &ts_dicom_default_rules, "slice-count", "2 slices are one gap, of 2.600 mm",
            "");
}

static void make_localizer(struct dicom_fixture *f, int z, void *user)
{
    place(f, z, user);
    if (z < 3) {
        ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER");
        ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.2.9");
    }
}

/* A localizer is taken where it is named or alone, and never in place of another series. */
Test(dicom_positions, a_localizer_is_the_last_choice)
{
    struct slices slices = {.n = 6};
    for (int i = 0; i < 6; i++)
        slices.position_mm[i][2] = i;
    for (int n = 3; n <= 6; n += 3) {
        struct dicom_study study;
        const struct dicom_series *chosen = NULL;
        ts_fixture_series(folder, n, make_localizer, &slices);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, (size_t)n / 3);
        cr_assert_eq(ts_dicom_choose(study.series, study.n, "", &study.files, &chosen, study.diag),
                     TS_OK);
        cr_expect_eq(chosen->overview, n == 3);
        cr_assert_eq(ts_dicom_choose(study.series, study.n, "1.2.826.0.1.3680043.10.1.2.9",
                                     &study.files, &chosen, study.diag),
                     TS_OK);
        cr_expect(chosen->overview && chosen->n_slices == 3);
        ts_test_study_close(&study);
    }
}

static void make_radiograph(struct dicom_fixture *f, int z, void *user)
{
    (void)z, (void)user;
    ts_fixture_text(f, 0x00080060, "CS", "CR");
    ts_fixture_remove(f, 0x00200032);
    ts_fixture_remove(f, 0x00200037);
}

/* One radiograph is an image without a place in the patient; several are no volume. */
Test(dicom_positions, a_radiograph_has_no_place)
{
    for (int n = 1; n <= 2; n++) {
        struct dicom_study study;
        ts_fixture_series(folder, n, make_radiograph, NULL);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, 1);
        const struct dicom_series *series = &study.series[0];
        const struct ts_axis *axes = series->image.axes;
        cr_assert_eq(series->refusal == NULL, n == 1, "%s", series->refusal);
        if (n == 1)
            cr_expect(!series->image.has_geometry && axes[0].n == 1 && axes[1].n == FIXTURE_ROWS &&
                      axes[1].spacing == 0.5 && axes[2].spacing == 0.7 &&
                      !strcmp(axes[2].unit, "mm"));
        else
            cr_expect_str_eq(series->refusal_code, "modality");
        ts_test_study_close(&study);
    }
}

/* Pixels without a size are said to be no squares if that is stated. */
static void make_aspect(struct dicom_fixture *f, int z, void *user)
{
    make_radiograph(f, z, NULL);
    ts_fixture_remove(f, 0x00280030);
    ts_fixture_text(f, 0x00280034, "IS", user);
}

Test(dicom_positions, pixels_that_are_no_squares_are_said)
{
    static const char *const rows[][2] = {{"2\\1", "2 times as high as wide, which is not used"},
                                          {"1\\2", "0.5 times as high as wide, which is not used"},
                                          {"3\\4", "0.75 times as high as wide"},
                                          {"1\\1", NULL},
                                          {"x\\1", NULL}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct dicom_study study;
        char text[16];
        snprintf(text, sizeof text, "%s", rows[r][0]);
        ts_fixture_series(folder, 1, make_aspect, text);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        const char *warning = study.series[0].warnings[0];
        cr_expect(strstr(warning, "and no Pixel Spacing"), "row %zu: %s", r, warning);
        cr_expect_eq(strstr(warning, "by Pixel Aspect Ratio") != NULL, rows[r][1] != NULL,
                     "row %zu: %s", r, warning);
        cr_expect(!rows[r][1] || strstr(warning, rows[r][1]), "row %zu: %s", r, warning);
        ts_test_study_close(&study);
    }
}

/* Every other slice leans by some degrees. */
static void lean(struct dicom_fixture *f, int z, void *user)
{
    char text[96];
    const double degree = *(const double *)user;
    snprintf(text, sizeof text, "1\\0\\0\\0\\%.8f\\%.8f", cos(z % 2 * degree * M_PI / 180),
             sin(z % 2 * degree * M_PI / 180));
    ts_fixture_text(f, 0x00200037, "DS", text);
}

/* Directions that differ by rounding are one; those that jitter are one with a warning; those that
 * differ by more make series, and a warning says by how much. */
Test(dicom_positions, small_differences_of_direction_are_said)
{
    static const double degrees[] = {0.005, 0.02, 0.1, 0.2};
    for (int i = 0; i < 4; i++) {
        double degree = degrees[i];
        struct dicom_study study;
        ts_fixture_series(folder, 8, lean, &degree);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, i < 3 ? 1 : 2);
        if (i > 0)
            cr_expect_str_eq(
                study.series[0].warnings[0],
                i < 3 ? i == 1 ? "the orientations of the slices differ: they are up to 0.01 "
                                 "degrees off their mean, which the volume has"
                               : "the orientations of the slices differ: they are up to 0.05 "
                                 "degrees off their mean, which the volume has"
                      : "other images of the series lie 0.2 degrees off and are a series of their "
                        "own (direction cosines that differ by more than 0.0001)");
        ts_test_study_close(&study);
    }
}
