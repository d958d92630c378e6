/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of acquisition that are stated by several clocks: of time zones, and as DateTime beside
 * Date and Time.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { VOLUMES = 3, PLACES = 2, IMAGES = VOLUMES * PLACES };

/* What the volumes state, in the order of their Instance Numbers; NULL: nothing. */
struct clocks {
    const char *both[VOLUMES], *zones[VOLUMES], *times[VOLUMES], *date;
    const char *offsets[VOLUMES]; /* Trigger Time */
    const char *warning;          /* NULL: none of clocks */
    bool timed;                   /* the volumes are at 0, 60 and 120 s */
    bool reversed;                /* they are in the order that the numbers fall in */
};

static void edit(struct dicom_fixture *f, int i, void *user)
{
    const struct clocks *row = user;
    const int v = i / PLACES;
    char text[32];
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    snprintf(text, sizeof text, "0\\0\\%d", 2 * (i % PLACES));
    ts_fixture_text(f, 0x00200032, "DS", text);
    snprintf(text, sizeof text, "%d", i + 1);
    ts_fixture_text(f, 0x00200013, "IS", text);
    ts_fixture_text(f, 0x00180088, "DS", "2");
    if (row->both[v])
        ts_fixture_text(f, 0x0008002A, "DT", row->both[v]);
    if (row->zones[v])
        ts_fixture_text(f, 0x00080201, "SH", row->zones[v]);
    if (row->times[v])
        ts_fixture_text(f, 0x00080032, "TM", row->times[v]);
    if (row->offsets[v])
        ts_fixture_text(f, 0x00181060, "DS", row->offsets[v]);
    if (row->date)
        ts_fixture_text(f, 0x00080022, "DA", row->date);
}

static const char zones[] = "states a time zone in",
                  order[] = "contradicts Acquisition Time and Instance Number, and is not used",
                  numbers[] = "which Acquisition Time contradicts, and Instance Number does not",
                  steps[] = "neither is used: their steps differ by up to 50 s";

static bool is_warned(const struct dicom_series *series, const char *text)
{
    for (size_t i = 0; i < series->n_warnings; i++)
        if (strstr(series->warnings[i], text))
            return true;
    return false;
}

static void check(const struct dicom_series *series, const struct clocks *row, size_t r)
{
    static const char *const texts[] = {zones, order, numbers, "their steps differ by up to"};
    cr_assert_null(series->refusal, "row %zu: %s", r, series->refusal);
    cr_assert_eq(series->n_volumes, VOLUMES, "row %zu", r);
    cr_expect(!row->warning || is_warned(series, row->warning), "row %zu", r);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_expect_eq(is_warned(series, texts[i]), row->warning && strstr(row->warning, texts[i]),
                     "row %zu: %s", r, texts[i]);
    cr_expect_eq(!strcmp(series->volume_axis.unit, "s"), row->timed, "row %zu", r);
    for (int v = 0; v < VOLUMES; v++) {
        const double number = series->images[v * PLACES]->instance_number;
        cr_expect_eq(number, (row->reversed ? VOLUMES - 1 - v : v) * PLACES + 1, "row %zu: %g", r,
                     number);
        if (row->timed)
            cr_expect_float_eq(ts_axis_position(&series->volume_axis, v), 60 * v, 1e-6,
                               "row %zu: %g", r, ts_axis_position(&series->volume_axis, v));
    }
}

static void run(struct clocks *rows, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        char folder[256];
        struct dicom_study study;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, edit, &rows[r]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        check(&study.series[0], &rows[r], r);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

Test(dicom_clocks, times_count_in_their_zones)
{
    static struct clocks rows[] = {
        /* the end and the begin of summer time */
        {.both = {"20241027025930+0200", "20241027020030+0100", "20241027020130+0100"},
         .timed = true},
        {.both = {"20240331015930.5+0100", "20240331030030.5+0200", "20240331030130.5+0200"},
         .timed = true},
        {.both = {"20241103015930-0700", "20241103010030-0800", "20241103010130-0800"},
         .timed = true},
        {.both = {"20240101235930+0100", "20240101230030+0000", "20240101230130+0000"},
         .timed = true},
        {.both = {"20240101100000+0530", "20240101043100+0000", "20240101100200+0530"},
         .timed = true},
        /* one zone, or none, in all */
        {.both = {"20240101235930+0100", "20240102000030+0100", "20240102000130+0100"},
         .timed = true},
        {.both = {"20240101235930", "20240102000030", "20240102000130"}, .timed = true},
        /* zones of the files */
        {.both = {"20241027025930", "20241027020030", "20241027020130"},
         .zones = {"+0200", "+0100", "+0100"},
         .timed = true},
        {.both = {"20241027025930+0200", "20241027020030", "20241027020130+0100"},
         .zones = {NULL, "+0100", "+0500"}, /* the last one plays no part */
         .timed = true},
        {.times = {"025930", "020030", "020130"},
         .date = "20241027",
         .zones = {"+0200", "+0100", "+0100"},
         .timed = true},
        {.both = {"20240101120000", "20240101120100", "20240101120200"},
         .zones = {"+0100"},
         .timed = true},
        /* a time of day has no zone */
        {.times = {"120000", "120100", "120200"},
         .zones = {"+0100", "+0100", "+0100"},
         .timed = true},
        /* clocks that do not compare */
        {.both = {"20241027025930+0200", "20241027020030", "20241027020130"}, .warning = zones},
        {.both = {"20240101120000", "20240101120100+0100", "20240101120200+0100"},
         .warning = zones},
        {.both = {"20240101120000+0100", "20240101120100", "20240101120200+0100"},
         .zones = {"+0100", "no"},
         .warning = zones},
    };
    run(rows, sizeof rows / sizeof *rows);
}

Test(dicom_clocks, times_that_contradict_each_other_are_not_used)
{
    static struct clocks rows[] = {
        /* two against one */
        {.both = {"20240101120200", "20240101120100", "20240101120000"},
         .times = {"120000", "120100", "120200"},
         .date = "20240101",
         .warning = order,
         .timed = true},
        {.both = {"20240101120200", "20240101120100", "20240101120000"},
         .times = {"120000", "120100", "120200"},
         .warning = order,
         .timed = true},
        {.both = {"20240101120100", "20240101120000", "20240101120200"},
         .times = {"120000", "120100", "120200"},
         .warning = order,
         .timed = true},
        {.both = {"20240102000130", "20240102000030", "20240101235930"},
         .times = {"235930", "000030", "000130"},
         .date = "20240101", /* of the first image */
         .warning = order,
         .timed = true},
        {.both = {"20240102000130+0100", "20240102000030+0100", "20240101235930+0100"},
         .times = {"235930", "000030", "000130"},
         .warning = order,
         .timed = true},
        {.both = {"20240101120000", "20240101120100", "20240101120200"},
         .times = {"120200", "120100", "120000"},
         .date = "20240101",
         .warning = numbers,
         .timed = true},
        /* one against one */
        {.both = {"20240101120000", "20240101120100", "20240101120200"},
         .times = {"120000", "120010", "120020"},
         .date = "20240101",
         .warning = steps},
        {.both = {"20240101120000+0100", "20240101120100+0100", "20240101120200+0100"},
         .times = {"120000", "120010", "120020"},
         .warning = steps},
        {.both = {"20240101120200", "20240101120100", "20240101120000"},
         .times = {"120020", "120010", "120000"},
         .warning = steps,
         .reversed = true},
        {.both = {"20240101120000", "20240101120010", "20240101120020"},
         .times = {"120000", "120100", "120200"},
         .offsets = {"0", "60000", "120000"},
         .warning = steps,
         .timed = true},
        /* none */
        {.both = {"20240101120000", "20240101120100", "20240101120200"},
         .times = {"120000.4", "120100", "120200.4"},
         .date = "20240101",
         .timed = true},
        {.both = {"20240101120000", "20240101120100", "20240101120200"},
         .times = {"120000", "120000", "120000"}, /* that of the whole scan */
         .date = "20240101",
         .timed = true},
        {.both = {"20240101235930", "20240102000030", "20240102000130"},
         .times = {"235930", "000030", "000130"},
         .date = "20240101", /* of the first image */
         .timed = true},
        {.both = {"20241027025930+0200", "20241027020030+0100", "20241027020130+0100"},
         .times = {"025930", "020030", "020130"},
         .date = "20241027",
         .timed = true},
        {.both = {"20240101110000+0000", "20240101110100+0000", "20240101110200+0000"},
         .times = {"120000", "120100", "120200"},
         .date = "20240101",
         .zones = {"+0100", "+0100", "+0100"},
         .timed = true},
        {.both = {"20240101120000", "20240101120000", "20240101120000"},
         .times = {"120000", "120100", "120200"},
         .date = "20240101"},
    };
    run(rows, sizeof rows / sizeof *rows);
}

/* Frames have times of their own, in the zone of each, or in that of the file. */
Test(dicom_clocks, times_of_frames_count_in_their_zones)
{
    static const char *const rows[][1 + VOLUMES] = {
        {NULL, "20241027025930+0200", "20241027020030+0100", "20241027020130+0100"},
        {"20240331010000+0100", "20240331015930", "20240331030030+0200", "20240331030130+0200"},
        {NULL, "20240101235930", "20240102000030", "20240102000130"},
        {"20240101235930+0100", "20240101235930", "20240102000030", "20240102000130"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        static struct dicom_bytes shared, item, frame, frames, group;
        static const uint16_t pixels[IMAGES * FIXTURE_ROWS * FIXTURE_COLUMNS];
        struct dicom_fixture f;
        struct dicom_study study;
        char folder[256], text[32];
        ts_test_folder_in_memory(folder, sizeof folder);
        shared.n = item.n = frames.n = group.n = 0;
        ts_bytes_text(&group, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
        ts_bytes_group(&shared, 0x00209116, &group);
        group.n = 0;
        ts_bytes_text(&group, 0x00280030, "DS", "1\\1");
        ts_bytes_group(&shared, 0x00289110, &group);
        ts_bytes_item(&item, &shared);
        for (int i = 0; i < IMAGES; i++) {
            frame.n = group.n = 0;
            ts_bytes_text(&group, 0x00189074, "DT", rows[r][1 + i / PLACES]);
            ts_bytes_group(&frame, 0x00209111, &group);
            group.n = 0;
            snprintf(text, sizeof text, "1\\2\\%d", 2 * (i % PLACES));
            ts_bytes_text(&group, 0x00200032, "DS", text);
            ts_bytes_group(&frame, 0x00209113, &group);
            ts_bytes_item(&frames, &frame);
        }
        ts_fixture_init_mr(&f, 0);
        ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
        if (rows[r][0])
            ts_fixture_text(&f, 0x0008002A, "DT", rows[r][0]);
        snprintf(text, sizeof text, "%d", IMAGES);
        ts_fixture_text(&f, 0x00280008, "IS", text);
        ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
        ts_fixture_bytes(&f, 0x52009229, "SQ", item.at, item.n);
        ts_fixture_bytes(&f, 0x52009230, "SQ", frames.at, frames.n);
        ts_fixture_finish(&f, folder, 0);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        const struct dicom_series *series = &study.series[0];
        cr_assert_null(series->refusal, "row %zu: %s", r, series->refusal);
        cr_assert_eq(series->n_volumes, VOLUMES, "row %zu", r);
        for (int v = 0; v < VOLUMES; v++) {
            cr_expect_eq(series->images[v * PLACES]->frame, v * PLACES, "row %zu", r);
            cr_expect_float_eq(ts_axis_position(&series->volume_axis, v), 60 * v, 1e-6,
                               "row %zu: %g", r, ts_axis_position(&series->volume_axis, v));
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}
