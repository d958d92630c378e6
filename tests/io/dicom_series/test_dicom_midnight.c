/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of volumes whose Acquisition Times have no date, or only that of the first image: what
 * happens at midnight is decided by Instance Number or by Content Date, and refused where neither
 * says it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { VOLUMES = 4, SERIES_SLICES = 3, IMAGES = VOLUMES * SERIES_SLICES };
enum numbers { RISING, FALLING, UNNUMBERED, BY_SLICE, BY_CLOCK };
enum content { NO_CONTENT, DATED, FROZEN, DATELESS, MADE_LATER };

/* The times of day of the volumes, in the order that they should have. */
struct night {
    int times[VOLUMES];
    enum numbers numbers;
    enum content content; /* Content Time, with its date, that of the first image, or none; or in
                             the order of the clock */
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
    int clock = 0; /* volumes that are earlier on the clock */
    for (int k = 0; k < VOLUMES; k++)
        clock += night->times[k] < time;
    const int numbers[] = {i + 1, IMAGES - i, 0, z * VOLUMES + v + 1,
                           clock * SERIES_SLICES + z + 1};
    snprintf(text, sizeof text, "%d", numbers[night->numbers]);
    if (night->numbers == UNNUMBERED)
        ts_fixture_remove(fixture, 0x00200013);
    else
        ts_fixture_text(fixture, 0x00200013, "IS", text);
    if (night->content == NO_CONTENT)
        return;
    if (night->content != DATELESS)
        ts_fixture_text(fixture, 0x00080023, "DA",
                        night->content == DATED && v > 0 && time < night->times[0] ? "20240101"
                                                                                   : "20231231");
    snprintf(text, sizeof text, "%06d", night->content == MADE_LATER ? 120000 + clock : time);
    ts_fixture_text(fixture, 0x00080033, "TM", text);
}

Test(dicom_midnight, is_passed_where_the_header_says_so)
{
    static struct night rows[] = {
        {{235958, 235959, 1, 3}, RISING, NO_CONTENT, {0, 1, 3, 5}, NULL, NULL},
        {{235958, 235959, 1, 3}, UNNUMBERED, DATED, {0, 1, 3, 5}, NULL, NULL},
        {{235958, 235959, 1, 3},
         UNNUMBERED,
         NO_CONTENT,
         {0},
         "nothing says whether the scan crossed midnight",
         NULL},
        {{235958, 235959, 1, 3},
         FALLING,
         NO_CONTENT,
         {0},
         "nothing says whether the scan crossed midnight",
         NULL},
        {{60000, 60100, 200000, 200100},
         RISING,
         NO_CONTENT,
         {0, 60, 50400, 50460},
         NULL,
         NULL}, /* the afternoon of a
                   day */
        {{100000, 100001, 100002, 100003},
         FALLING,
         NO_CONTENT,
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
        cr_assert_eq(series->refusal == NULL, rows[k].refusal == NULL, "row %zu: %s", k,
                     series->refusal);
        cr_expect(!series->refusal || strstr(series->refusal, rows[k].refusal), "row %zu: %s", k,
                  series->refusal);
        cr_expect(!rows[k].warning ||
                      (series->n_warnings > 0 && strstr(series->warnings[0], rows[k].warning)),
                  "row %zu", k);
        for (int v = 0; !series->refusal && v < VOLUMES; v++) {
            cr_assert_not_null(series->volume_axis.positions, "row %zu", k);
            cr_expect_float_eq(series->volume_axis.positions[v], rows[k].positions[v], 1e-6,
                               "row %zu, volume %d: %g", k, v, series->volume_axis.positions[v]);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* Times of day of the volumes, as texts of so many digits, and the seconds that they are. */
struct clock {
    int times[VOLUMES], digits;
    double positions[VOLUMES];
};
static const struct clock midnight = {{235900, 235930, 0, 30}, 6, {0, 30, 60, 90}},
                          backwards = {{235900, 235930, 0, 30}, 6, {0, 30, 86340, 86370}},
                          seconds = {{235958, 235959, 1, 3}, 6, {0, 1, 3, 5}},
                          day = {{60000, 60100, 200000, 200100}, 6, {0, 60, 50400, 50460}},
                          minutes = {{1000, 1001, 1002, 1005}, 4, {0, 60, 120, 300}},
                          hours = {{10, 11, 13, 14}, 2, {0, 3600, 10800, 14400}};

/* The dynamic scan of a scanner that states the date of its first image in all of them. */
struct frozen {
    const struct clock *clock;
    enum numbers numbers;
    enum content content;
    bool referenced, triggered, counted; /* the images state Frame Reference Time, Trigger Time,
                                            Temporal Position Identifier */
    bool pet, undated;
    const char *warning;
};

static void freeze(struct dicom_fixture *fixture, int i, void *user)
{
    const struct frozen *frozen = user;
    struct night night = {.numbers = frozen->numbers, .content = frozen->content};
    const int v = i / SERIES_SLICES;
    char text[64];
    memcpy(night.times, frozen->clock->times, sizeof night.times);
    edit(fixture, i, &night);
    ts_fixture_text(fixture, 0x00080060, "CS", frozen->pet ? "PT" : "MR");
    snprintf(text, sizeof text, "%0*d", frozen->clock->digits, frozen->clock->times[v]);
    ts_fixture_text(fixture, 0x00080032, "TM", text);
    if (!frozen->undated)
        ts_fixture_text(fixture, 0x00080022, "DA", "20231231");
    snprintf(text, sizeof text, "%g", 1e3 * frozen->clock->positions[v]);
    if (frozen->referenced)
        ts_fixture_text(fixture, 0x00541300, "DS", text);
    if (frozen->triggered)
        ts_fixture_text(fixture, 0x00181060, "DS", text);
    snprintf(text, sizeof text, "%d", v + 1);
    if (frozen->counted)
        ts_fixture_text(fixture, 0x00200100, "IS", text);
}

static struct frozen frozen_rows[] = {
    {.clock = &midnight,
     .content = DATED,
     .referenced = true,
     .pet = true,
     .warning = "Instance Number and Frame Reference Time contradict"},
    {.clock = &midnight, .content = DATED, .warning = "contradict: the scan crossed midnight"},
    {.clock = &midnight,
     .referenced = true,
     .pet = true,
     .warning = "contradict: the scan crossed midnight"},
    {.clock = &seconds,
     .numbers = UNNUMBERED,
     .content = DATED,
     .referenced = true,
     .pet = true,
     .warning = "Frame Reference Time and Content Date"},
    /* two scans of one day */
    {.clock = &day, .content = DATED, .referenced = true, .pet = true},
    {.clock = &day, .numbers = FALLING, .content = DATED},
    /* hours and minutes alone are times too */
    {.clock = &minutes, .undated = true},
    {.clock = &hours, .undated = true},
    {.clock = &minutes, .numbers = FALLING},
    /* Content Date stays that of the first image too, or is not there */
    {.clock = &midnight,
     .content = FROZEN,
     .referenced = true,
     .pet = true,
     .warning = "Instance Number and Frame Reference Time contradict"},
    {.clock = &midnight,
     .content = DATELESS,
     .referenced = true,
     .pet = true,
     .warning = "Instance Number and Frame Reference Time contradict"},
    {.clock = &midnight,
     .numbers = BY_SLICE,
     .content = FROZEN,
     .triggered = true,
     .warning = "Instance Number and Trigger Time contradict"},
    {.clock = &midnight,
     .numbers = UNNUMBERED,
     .content = FROZEN,
     .referenced = true,
     .triggered = true,
     .warning = "Frame Reference Time and Trigger Time"},
    {.clock = &midnight,
     .content = FROZEN,
     .counted = true,
     .warning = "Instance Number and Temporal Position contradict"},
    {.clock = &backwards,
     .content = FROZEN,
     .warning = "and Instance Number contradicts the order"},
    {.clock = &midnight, .content = FROZEN, .referenced = true, .pet = true, .undated = true},
    {.clock = &midnight,
     .numbers = UNNUMBERED,
     .content = FROZEN,
     .referenced = true,
     .pet = true,
     .undated = true},
    {.clock = &midnight,
     .numbers = UNNUMBERED,
     .content = DATELESS,
     .triggered = true,
     .undated = true},
    /* what says the opposite is outvoted: the times give no order, and the next attribute does */
    {.clock = &midnight, .content = MADE_LATER, .referenced = true, .pet = true},
    {.clock = &midnight,
     .numbers = BY_CLOCK,
     .content = FROZEN,
     .referenced = true,
     .triggered = true},
    {.clock = &midnight,
     .numbers = BY_CLOCK,
     .content = DATELESS,
     .referenced = true,
     .triggered = true,
     .undated = true},
    /* two scans of one day */
    {.clock = &day,
     .content = FROZEN,
     .referenced = true,
     .triggered = true,
     .counted = true,
     .pet = true},
    {.clock = &day, .numbers = BY_SLICE, .content = DATELESS},
    {.clock = &day,
     .numbers = FALLING,
     .content = FROZEN,
     .referenced = true,
     .pet = true,
     .undated = true},
};

Test(dicom_midnight, a_date_that_stays_that_of_the_first_image_is_contradicted)
{
    for (size_t k = 0; k < sizeof frozen_rows / sizeof *frozen_rows; k++) {
        char folder[256];
        struct dicom_study study;
        bool warned = false;
        const char *warning = frozen_rows[k].warning;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, freeze, &frozen_rows[k]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        const struct dicom_series *series = &study.series[0];
        cr_assert_null(series->refusal, "row %zu: %s", k, series->refusal);
        for (size_t w = 0; w < series->n_warnings; w++)
            warned |= strstr(series->warnings[w], warning ? warning : "midnight") != NULL;
        cr_expect_eq(warned, warning != NULL, "row %zu", k);
        for (int v = 0; v < VOLUMES; v++) {
            cr_assert_not_null(series->volume_axis.positions, "row %zu", k);
            cr_expect_float_eq(series->volume_axis.positions[v], frozen_rows[k].clock->positions[v],
                               1e-6, "row %zu, volume %d: %g", k, v,
                               series->volume_axis.positions[v]);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}
