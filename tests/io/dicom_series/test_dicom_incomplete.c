/* SPDX-License-Identifier: Apache-2.0
 *
 * A series that is not whole is reported as far as headers tell: gaps in the Instance Numbers,
 * fewer files than the header claims, and slices that stand in another group because one of their
 * elements differs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_header/dicom_scan.h"
#include "io/dicom_series/dicom_group.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_lost.h"
#include "tests/files/dicom_open.h"
#include "tests/support/allocations.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

/* One element of the last slice differs, which makes a group of its own of it. */
static void edit_last(struct dicom_fixture *f, int z, void *user)
{
    const int kind = *(const int *)user;
    if (z < FIXTURE_SLICES - 1)
        return;
    if (kind == 0)
        ts_fixture_remove(f, 0x0020000E);
    else if (kind == 1)
        ts_fixture_text(f, 0x00200052, "UI", "1.2.826.0.1.3680043.10.1.9");
    else if (kind == 2)
        ts_fixture_text(f, 0x0020000D, "UI", "1.2.826.0.1.3680043.10.1.9");
    else if (kind == 3)
        ts_fixture_text(f, 0x00180081, "DS", "7");
    else if (kind == 4)
        ts_fixture_text(f, 0x00200037, "DS", "0\\1\\0\\1\\0\\0");
    else if (kind == 5)
        ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.9");
    else
        ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER");
}

Test(dicom_incomplete, a_slice_in_another_group_is_warned_of)
{
    for (int kind = 0; kind < 7; kind++) {
        struct lost lost;
        ts_lost_begin(&lost, FIXTURE_SLICES, edit_last, &kind);
        bool open = false;
        for (int number = 1; number <= 2 && !open; number++) {
            lost.params.series = number == 1 ? "1" : "2";
            ts_lost_open(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE);
            open = lost.source && lost.source->n_slices == FIXTURE_SLICES - 1;
            if (lost.source && !open)
                ts_lost_close(&lost);
        }
        cr_assert(open, "kind %d", kind);
        cr_expect_not_null(
            strstr(ts_lost_attribute(&lost, "warnings"), "lies where the next slice would"),
            "kind %d: %s", kind, ts_lost_attribute(&lost, "warnings"));
        ts_lost_close(&lost);
        ts_lost_end(&lost);
    }
}

/* Instance Numbers, and what the header claims of the counts. */
struct claims {
    const char *instances, *acquisition;
    int first, step, hole; /* hole: numbers from the slice of this place on are one step further */
    uint16_t parts;        /* of the concatenation that the files are; 0: none */
};

static void claim(struct dicom_fixture *f, int z, void *user)
{
    const struct claims *claims = user;
    char number[24];
    snprintf(number, sizeof number, "%d",
             claims->first + claims->step * (z + (claims->hole && z >= claims->hole)));
    ts_fixture_text(f, 0x00200013, "IS", number);
    if (claims->instances)
        ts_fixture_text(f, 0x00201209, "IS", claims->instances);
    if (claims->acquisition)
        ts_fixture_text(f, 0x00201002, "IS", claims->acquisition);
    if (claims->parts > 0) {
        ts_fixture_text(f, 0x00209161, "UI", "1.2.826.0.1.3680043.10.1.77");
        ts_fixture_us(f, 0x00209163, claims->parts);
    }
}

Test(dicom_incomplete, gaps_in_numbers_and_counts_are_warned_of)
{
    static const struct {
        struct claims claims;
        const char *warning;
    } cases[] = {
        {{.first = 1, .step = 1}, ""},
        {{.first = 0, .step = 1}, ""},
        {{.first = 1, .step = 39}, ""},
        {{.first = 300, .step = 1}, ""},
        {{.first = 1, .step = 1, .acquisition = "11"}, ""},
        {{.first = 1, .step = 1, .instances = "11"}, ""},
        {{.first = 1, .step = 1, .instances = "9"}, ""},
        {{.first = 1, .step = 1, .parts = 11}, ""},
        {{.first = 1, .step = 1, .hole = 2},
         "Instance Numbers have gaps: 1 is missing, first 3; slices may be missing"},
        {{.first = 5, .step = 39, .hole = 9},
         "Instance Numbers have gaps: 1 is missing, first 356; slices may be missing"},
        {{.first = 40, .step = 1}, "Instance Numbers begin at 40; slices may be missing"},
        {{.first = 2, .step = 1}, "Instance Numbers begin at 2; slices may be missing"},
        {{.first = 1, .step = 1, .acquisition = "12"},
         "Images in Acquisition says 12, 11 are in the input; slices may be missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lost lost;
        struct claims claims = cases[i].claims;
        ts_lost_begin(&lost, FIXTURE_SLICES, claim, &claims);
        ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
        cr_expect_str_eq(ts_lost_attribute(&lost, "warnings"), cases[i].warning, "case %zu: %s", i,
                         ts_lost_attribute(&lost, "warnings"));
        cr_expect_eq(ts_diag_count(lost.diag), *cases[i].warning ? 1 : 0, "case %zu", i);
        if (*cases[i].warning)
            ts_test_expect_warning(lost.diag, "dicom-series", cases[i].warning);
        ts_lost_close(&lost);
        ts_lost_end(&lost);
    }
}

/* Counts of volumes, and of slices of PET, that the header states tell of what is missing at an
 * end. */
Test(dicom_incomplete, counts_of_volumes_and_slices_are_compared)
{
    enum { SLICES = 3 };
    static const struct {
        uint32_t tag;
        int count, volumes;
        const char *warning; /* NULL: none */
    } rows[] = {
        {0x00200105, 2, 2, NULL},
        {0x00200105, 1, 2, NULL},
        {0x00200105, 5, 1, NULL}, /* the others may be series of their own */
        {0x00200105, 5, 2,
         "Number of Temporal Positions says 5, 2 volumes are in the input; volumes may be missing"},
        {0x00540101, 2, 2, NULL},
        {0x00540101, 3, 2,
         "Number of Time Slices says 3, 2 volumes are in the input; volumes may be missing"},
        {0x00540081, SLICES, 1, NULL},
        {0x00540081, SLICES, 2, NULL},
        {0x00540081, SLICES + 1, 1,
         "Number of Slices says 4, 3 are in the input; slices may be missing"},
        {0x00540081, SLICES + 1, 2,
         "Number of Slices says 4, 3 are in the input; slices may be missing"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256], text[32];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        bool told = false;
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int image = 0; image < SLICES * rows[i].volumes; image++) {
            struct dicom_fixture f;
            const bool pet = rows[i].tag >> 16 == 0x0054;
            (pet ? ts_fixture_init : ts_fixture_init_mr)(&f, image % SLICES);
            snprintf(text, sizeof text, "1.2.3.%d", image + 1);
            ts_fixture_text(&f, 0x00080018, "UI", text);
            snprintf(text, sizeof text, "%d", image + 1);
            ts_fixture_text(&f, 0x00200013, "IS", text);
            snprintf(text, sizeof text, "1000%02d", image / SLICES);
            ts_fixture_text(&f, 0x00080032, "TM", text);
            snprintf(text, sizeof text, "%d", rows[i].count);
            if (pet) {
                ts_fixture_text(&f, 0x00080060, "CS", "PT");
                ts_fixture_text(&f, 0x00541001, "CS", "BQML");
                ts_fixture_us(&f, rows[i].tag, (uint16_t)rows[i].count);
            } else {
                ts_fixture_text(&f, rows[i].tag, "IS", text);
            }
            ts_fixture_finish(&f, folder, image);
        }
        cr_assert_eq(ts_test_open_dicom(folder, NULL, 0, &source, diag), TS_OK, "row %zu: %s", i,
                     ts_test_first_message(diag));
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            told |= rows[i].warning
                        ? !strcmp(ts_diag_get(diag, k)->message, rows[i].warning)
                        : strstr(ts_diag_get(diag, k)->message, "may be missing") != NULL;
        cr_expect_eq(told, rows[i].warning != NULL, "row %zu", i);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

Test(dicom_incomplete, fewer_files_than_the_series_has_refuse)
{
    struct lost lost;
    struct claims claims = {.first = 1, .step = 1, .instances = "12"};
    static const char text[] = "Number of Series Related Instances says 12, 11 are in the input";
    ts_lost_begin(&lost, FIXTURE_SLICES, claim, &claims);
    ts_lost_open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "series-incomplete", text);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_ALLOW, TS_OK);
    ts_test_expect_warning(lost.diag, "series-incomplete", text);
    cr_expect_str_eq(ts_lost_attribute(&lost, "warnings"), text);
    ts_lost_close(&lost);
    /* A user who lists files chooses among them: that there are fewer is no error. */
    const char *one = ts_lost_path(&lost, "IM003.dcm");
    lost.params.dicom = (struct ts_texts){1, &one};
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_not_null(
        strstr(ts_lost_attribute(&lost, "warnings"), "Instances says 12, 1 are in the input"));
    ts_lost_close(&lost);
    ts_lost_end(&lost);
}

Test(dicom_incomplete, a_missing_part_of_a_concatenation_refuses)
{
    struct lost lost;
    struct claims claims = {.first = 1, .step = 1, .parts = 12};
    static const char text[] = "In-concatenation Total Number says 12, 11 are in the input";
    ts_lost_begin(&lost, FIXTURE_SLICES, claim, &claims);
    ts_lost_open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "series-incomplete", text);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_ALLOW, TS_OK);
    ts_test_expect_warning(lost.diag, "series-incomplete", text);
    ts_lost_close(&lost);
    ts_lost_end(&lost);
}

/* `info` and the JSON records of `check` and `run` show it. */
Test(dicom_incomplete, the_program_reports_it)
{
    static struct program_outcome outcome;
    char folder[256];
    struct lost lost;
    struct claims claims = {.first = 1, .step = 1, .instances = "12"};
    ts_lost_begin(&lost, FIXTURE_SLICES, claim, &claims);
    ts_test_folder(folder, sizeof folder);
    ts_fixture_write_bytes(ts_lost_path(&lost, "notes.txt"), "text", 4);
    ts_lost_damage(ts_lost_path(&lost, "IM010.dcm"), 0);
    cr_assert_eq(symlink("/nonexistent", ts_lost_path(&lost, "link")), 0);
    ts_program_run(folder, (const char *const[]){"info", lost.folder, NULL}, &outcome);
    cr_expect_eq(outcome.code, 3); /* a run that is told nothing more would refuse it */
    cr_expect_not_null(strstr(outcome.out, "refused (input-unreadable): cannot read"), "%s",
                       outcome.out);
    cr_expect_not_null(strstr(outcome.out, "refused (slice-unreadable): 1 file among its slices"),
                       "%s", outcome.out);
    cr_expect_not_null(strstr(outcome.out, "refused (series-incomplete): Number of"), "%s",
                       outcome.out);
    cr_expect_not_null(
        strstr(outcome.out,
               "warning: 3 files passed over: 1 not DICOM, 1 empty, 1 unreadable (IM010.dcm"),
        "%s", outcome.out);
    ts_program_run(folder, (const char *const[]){"info", lost.folder, "--json", NULL}, &outcome);
    cr_expect(outcome.code == 3 && ts_test_is_json(outcome.out, strcspn(outcome.out, "\n")), "%s",
              outcome.out);
    cr_expect_not_null(strstr(outcome.out, "\"lacks\": [{\"code\": \"slice-unreadable\""), "%s",
                       outcome.out);
    cr_expect_not_null(strstr(outcome.out, "a link to /nonexistent: No such file"), "%s",
                       outcome.out);
    char chain[600];
    snprintf(chain, sizeof chain,
             "dicom \"%s\" unreadable=skip incomplete=allow | statistics | hdf5 o.h5", lost.folder);
    for (int i = 0; i < 2; i++) {
        ts_program_run(folder, (const char *const[]){i ? "run" : "check", "--json", chain, NULL},
                       &outcome);
        cr_expect_eq(outcome.code, 0, "%s", outcome.err);
        cr_expect_not_null(strstr(outcome.out, "\"code\": \"slice-unreadable\""), "%s",
                           outcome.out);
        cr_expect_not_null(strstr(outcome.out, "\"code\": \"files-passed-over\""), "%s",
                           outcome.out);
        cr_expect_not_null(strstr(outcome.out, "\"code\": \"series-incomplete\""), "%s",
                           outcome.out);
    }
    ts_lost_end(&lost);
}

/* Warnings beyond the longest list are counted, not dropped. */
Test(dicom_incomplete, warnings_that_are_not_listed_are_counted)
{
    struct dicom_series series = {.arena = ts_arena_create()};
    for (int i = 0; i < DICOM_MAX_WARNINGS + 3; i++) {
        ts_dicom_series_warn(&series, "warning %d", i);
        cr_assert_eq(series.n_warnings,
                     (size_t)(i < DICOM_MAX_WARNINGS ? i + 1 : DICOM_MAX_WARNINGS + 1));
    }
    cr_expect_str_eq(series.warnings[DICOM_MAX_WARNINGS - 1], "warning 15");
    cr_expect_str_eq(series.warnings[DICOM_MAX_WARNINGS],
                     "there are more warnings, which are not listed: 3");
    cr_expect_not(series.no_memory);
    ts_arena_destroy(series.arena);
}

/* Wherever memory runs out, grouping fails or finds all that it finds with memory: no warning is
 * lost. */
Test(dicom_incomplete, no_warning_is_lost_where_memory_runs_out)
{
    struct lost lost;
    struct claims claims = {.first = 3, .step = 1, .instances = "12"};
    size_t n_series, expected = 0;
    if (!ts_allocations_can_fail())
        ts_test_skip("allocations cannot be made to fail");
    ts_lost_begin(&lost, FIXTURE_SLICES, claim, &claims);
    for (int64_t after = -1, failed = 1; failed > 0; after++) {
        struct arena *arena = ts_arena_create();
        struct dicom_folder folder;
        struct dicom_series *series = NULL;
        const char *path = lost.folder;
        ts_diag_clear(lost.diag);
        cr_assert_eq(ts_dicom_scan(&path, 1, arena, &folder, lost.diag), TS_OK);
        if (after >= 0)
            ts_allocations_fail(after, false);
        const enum ts_status status =
            ts_dicom_group(&folder, &ts_dicom_default_rules, arena, &series, &n_series, lost.diag);
        failed = after >= 0 ? ts_allocations_restore() : 1;
        if (after < 0)
            expected = series->n_warnings;
        cr_assert(expected > 0);
        if (status == TS_OK)
            cr_expect(n_series == 1 && series->n_warnings == expected && series->incomplete,
                      "allocation %lld", (long long)after);
        else
            cr_expect_eq(status, TS_RUN_FAILED, "allocation %lld", (long long)after);
        cr_expect(status == TS_OK || failed > 0);
        ts_arena_destroy(arena);
    }
    ts_lost_end(&lost);
}
