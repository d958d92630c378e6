/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of volumes whose Acquisition Times have no date, or only that of the first image: what happens at midnight is
 * decided by Instance Number or by Content Date, and refused where neither says it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { VOLUMES = 4, SERIES_SLICES = 3, IMAGES = VOLUMES * SERIES_SLICES };
enum numbers { RISING, FALLING, UNNUMBERED };

/* The times of day of the volumes, in the order that they should have. */
struct night {
    int times[VOLUMES];
    enum numbers numbers;
    bool dated; /* the images state Content Date and Content Time */
    double positions[VOLUMES];
    const char *refusal, *warning;
};

static void edit(struct dicom_fixture *fixture, int i, void *user)
{
    const struct night *night = user;
    const int v = i / SERIES_SLICES, z = i % SERIES_SLICES, time = night->times[v];
    char text[64];
    ts_fixture_text(fixture, 0x00080060, "CS", "MR");
    snprintf(text, sizeof text, "0\\0\\%.4f", 1.3 * z);
    ts_fixture_text(fixture, 0x00200032, "DS", text);
    snprintf(text, sizeof text, "%06d.%d", time, z);
    ts_fixture_text(fixture, 0x00080032, "TM", text);
    snprintf(text, sizeof text, "%d", night->numbers == RISING ? i + 1 : IMAGES - i);
    if (night->numbers == UNNUMBERED)
        ts_fixture_remove(fixture, 0x00200013);
    else
        ts_fixture_text(fixture, 0x00200013, "IS", text);
    if (night->dated) {
        ts_fixture_text(fixture, 0x00080023, "DA", v > 0 && time < night->times[0] ? "20240101" : "20231231");
        snprintf(text, sizeof text, "%06d", time);
        ts_fixture_text(fixture, 0x00080033, "TM", text);
    }
}

Test(dicom_midnight, is_passed_where_the_header_says_so)
{
    static struct night rows[] = {
        {{235958, 235959, 1, 3}, RISING, false, {0, 1, 3, 5}, NULL, NULL},
        {{235958, 235959, 1, 3}, UNNUMBERED, true, {0, 1, 3, 5}, NULL, NULL},
        {{235958, 235959, 1, 3}, UNNUMBERED, false, {0}, "nothing says whether the scan crossed midnight", NULL},
        {{235958, 235959, 1, 3}, FALLING, false, {0}, "nothing says whether the scan crossed midnight", NULL},
        {{60000, 60100, 200000, 200100}, RISING, false, {0, 60, 50400, 50460}, NULL, NULL}, /* the afternoon of a day */
        {{100000, 100001, 100002, 100003},
         FALLING,
         false,
         {0, 1, 2, 3},
         NULL,
         "no date and which Instance Number contradicts at all positions"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char folder[256];
        struct dicom_study study;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, edit, &rows[k]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        const struct dicom_series *series = &study.series[0];
        cr_assert_eq(series->refusal == NULL, rows[k].refusal == NULL, "row %zu: %s", k, series->refusal);
        cr_expect(!series->refusal || strstr(series->refusal, rows[k].refusal), "row %zu: %s", k, series->refusal);
        cr_expect(!rows[k].warning || (series->n_warnings > 0 && strstr(series->warnings[0], rows[k].warning)),
                  "row %zu", k);
        for (int v = 0; !series->refusal && v < VOLUMES; v++) {
            cr_assert_not_null(series->volume_axis.positions, "row %zu", k);
            cr_expect_float_eq(series->volume_axis.positions[v], rows[k].positions[v], 1e-6, "row %zu, volume %d: %g",
                               k, v, series->volume_axis.positions[v]);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* The dynamic scan of a scanner that states the date of its first image in all of them. */
struct frozen {
    int times[VOLUMES];
    int digits; /* of the times */
    enum numbers numbers;
    bool dated;      /* the images state Content Date and Content Time */
    bool referenced; /* and Frame Reference Time */
    const char *modality, *date;
    double positions[VOLUMES];
    const char *warning;
};

static void freeze(struct dicom_fixture *fixture, int i, void *user)
{
    const struct frozen *frozen = user;
    struct night night = {.numbers = frozen->numbers, .dated = frozen->dated};
    const int v = i / SERIES_SLICES;
    char text[64];
    memcpy(night.times, frozen->times, sizeof night.times);
    edit(fixture, i, &night);
    ts_fixture_text(fixture, 0x00080060, "CS", frozen->modality);
    snprintf(text, sizeof text, "%0*d", frozen->digits, frozen->times[v]);
    ts_fixture_text(fixture, 0x00080032, "TM", text);
    if (frozen->date)
        ts_fixture_text(fixture, 0x00080022, "DA", frozen->date);
    snprintf(text, sizeof text, "%g", 1e3 * frozen->positions[v]);
    if (frozen->referenced)
        ts_fixture_text(fixture, 0x00541300, "DS", text);
}

Test(dicom_midnight, a_date_that_stays_that_of_the_first_image_is_contradicted)
{
    static struct frozen rows[] = {
        {{235900, 235930, 0, 30},
         6,
         RISING,
         true,
         true,
         "PT",
         "20231231",
         {0, 30, 60, 90},
         "Instance Number and Frame Reference Time contradict"},
        {{235900, 235930, 0, 30},
         6,
         RISING,
         true,
         false,
         "MR",
         "20231231",
         {0, 30, 60, 90},
         "contradict: the scan crossed midnight"},
        {{235900, 235930, 0, 30},
         6,
         RISING,
         false,
         true,
         "PT",
         "20231231",
         {0, 30, 60, 90},
         "contradict: the scan crossed midnight"},
        {{235958, 235959, 1, 3},
         6,
         UNNUMBERED,
         true,
         true,
         "PT",
         "20231231",
         {0, 1, 3, 5},
         "Frame Reference Time and Content Date"},
        /* two scans of one day */
        {{60000, 60100, 200000, 200100}, 6, RISING, true, true, "PT", "20231231", {0, 60, 50400, 50460}, NULL},
        {{60000, 60100, 200000, 200100}, 6, FALLING, true, false, "MR", "20231231", {0, 60, 50400, 50460}, NULL},
        /* hours and minutes alone are times too */
        {{1000, 1001, 1002, 1005}, 4, RISING, false, false, "MR", NULL, {0, 60, 120, 300}, NULL},
        {{10, 11, 13, 14}, 2, RISING, false, false, "MR", NULL, {0, 3600, 10800, 14400}, NULL},
        {{1000, 1001, 1002, 1005}, 4, FALLING, false, false, "MR", "20231231", {0, 60, 120, 300}, NULL},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char folder[256];
        struct dicom_study study;
        bool warned = false;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, freeze, &rows[k]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        const struct dicom_series *series = &study.series[0];
        cr_assert_null(series->refusal, "row %zu: %s", k, series->refusal);
        for (size_t w = 0; w < series->n_warnings; w++)
            warned |= strstr(series->warnings[w], rows[k].warning ? rows[k].warning : "midnight") != NULL;
        cr_expect_eq(warned, rows[k].warning != NULL, "row %zu", k);
        for (int v = 0; v < VOLUMES; v++) {
            cr_assert_not_null(series->volume_axis.positions, "row %zu", k);
            cr_expect_float_eq(series->volume_axis.positions[v], rows[k].positions[v], 1e-6, "row %zu, volume %d: %g",
                               k, v, series->volume_axis.positions[v]);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}
