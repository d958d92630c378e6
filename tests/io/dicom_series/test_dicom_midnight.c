/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of volumes whose Acquisition Times have no date: what happens at midnight is decided by Instance Number or by
 * Content Date, and refused where neither says it.
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
