/* SPDX-License-Identifier: Apache-2.0
 *
 * Angles in the names of TIFF files that contradict those of the chain, and numbers that are
 * missing in the names beside a list of even angles.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "io/scan/tiff.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/folders.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static char folder[256], scan[300];
static struct ts_diag *diag;

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(scan, sizeof scan, "%s/scan", folder);
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

TestSuite(tiff_named, .init = begin, .fini = end);

enum { FILES = 24 };

/* Writes a name in which N stands for the number and A for the angle. */
static void write_name(const char *form, int number, double angle, int decimals, char out[100])
{
    size_t n = 0;
    for (const char *at = form; *at; at++)
        if (*at == 'N')
            n += (size_t)snprintf(out + n, 100 - n, "%04d", number);
        else if (*at == 'A')
            n += (size_t)snprintf(out + n, 100 - n, "%.*f", decimals, angle);
        else
            n += (size_t)snprintf(out + n, 100 - n, "%c", *at);
}

/* Makes a folder of files with such names. The file `lost` is left out; -1: none. */
static void make_scan(const char *form, int decimals, double first, double step, int lost)
{
    mkdir(scan, 0700);
    for (int i = 0; i < FILES; i++) {
        struct tiff_writing w = ts_tiff_plain;
        char name[100], path[500];
        w.n_pages = 1;
        w.first_page = i;
        write_name(form, i, first + step * i, decimals, name);
        snprintf(path, sizeof path, "%s/%s", scan, name);
        if (i != lost)
            ts_tiff_write(path, &w);
    }
}

/* Opens the views. Returns what is said of angles-named or page-missing; NULL: nothing. */
static const struct ts_diag_record *said(const char *words)
{
    struct source *source = NULL;
    char rest[1000];
    snprintf(rest, sizeof rest, "pages: views, pixel_size: 0.5, %s", words);
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open(rest, scan, &source, diag), TS_OK, "%s: %s", words,
                 ts_diag_first_error(diag));
    source->ops->close(source);
    const struct ts_diag_record *record = ts_test_record(diag, "angles-named");
    return record ? record : ts_test_record(diag, "page-missing");
}

#define HALF "angle_start: 0, angle_stop: 180"
#define WHOLE "angle_start: 0, angle_stop: 360"

Test(tiff_named, angles_of_names_that_are_others_than_the_chains_are_told)
{
    static const struct {
        const char *form;
        int decimals;
        double first, step;
        const char *words, *message, *hint; /* NULL: no warning */
    } rows[] = {
        {"p_N_A.tif", 2, 0, 15, HALF,
         "from 0 to 172.5 degrees, and those in the names of the "
         "files from 0 (p_0000_0.00.tif) to 345",
         "angle_start: 0 and angle_stop: 360 take"},
        {"p_N_Adeg.tif", 0, 0, 15, HALF, "to 345", "angle_stop: 360 take"},
        {"p_N_A.tif", 0, 0, 15, HALF, "to 345", "angle_stop: 360 take"},
        {"p_N_A.tif", 1, 90, 7.5, WHOLE, "from 90", "angle_start: 90 and angle_stop: 270 take"},
        {"A_scanN.tif", 1, -90, 7.5, WHOLE, "from -90", "angle_start: -90 and angle_stop: 90"},
        {"p_N_theta_A.tif", 2, 0, 0.5, HALF, "to 11.5", "angle_start: 0 and angle_stop: 12 take"},
        {"p_N_A.tif", 3, 180, -7.5, WHOLE, "from 180", "angle_start: 180 and angle_stop: 0 take"},
        {"p_N_A.tif", 4, 0, 180.0 / 23, HALF, "to 180", "take"}, /* the end is a view */
        {"p_N_A.tif", 4, 0, 180.0 / 23, HALF ", endpoint: true", NULL, NULL},
        {"p_N_A.tif", 2, 0, 7.5, HALF, NULL, NULL},
        {"p_N_A.tif", 2, 0, 7.5, "angle_start: 30, angle_stop: 210", NULL, NULL},
        {"p_N_A.tif", 2, 0, 7.5, "angle_start: 0, angle_stop: -180", NULL, NULL},
        {"p_N_A.tif", 0, 0, 7.5, HALF, NULL, NULL},          /* rounded */
        {"p_N_angA.tif", 4, 0, 0.1308997, HALF, NULL, NULL}, /* radians */
        {"p_N_tA.tif", 0, 0, 15, HALF, NULL, NULL},          /* seconds */
        {"p_N_As.tif", 0, 0, 15, HALF, NULL, NULL},
        {"p_N_A.tif", 2, 0, 3.21, HALF, NULL, NULL}, /* of no turn: a time or a height */
        {"p_N_A.tif", 0, 1, 1, HALF, NULL, NULL},    /* two counters */
        {"p_N.tif", 0, 0, 0, HALF, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        end();
        begin();
        make_scan(rows[i].form, rows[i].decimals, rows[i].first, rows[i].step, -1);
        const struct ts_diag_record *record = said(rows[i].words);
        cr_expect_eq(record != NULL, rows[i].message != NULL, "row %zu: %s", i,
                     record ? record->message : "nothing");
        if (!record || !rows[i].message)
            continue;
        cr_expect(strstr(record->message, rows[i].message), "row %zu: %s", i, record->message);
        cr_expect(strstr(record->hint, rows[i].hint), "row %zu: %s", i, record->hint);
    }
}

/* Writes the angles first + step * i of all files but one to angles.txt. */
static void write_angles(double step, int without)
{
    char path[400], text[FILES * 32] = "";
    for (int i = 0; i < FILES; i++)
        if (i != without)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.9g\n", step * i);
    snprintf(path, sizeof path, "%s/angles.txt", folder);
    ts_fixture_write_bytes(path, text, strlen(text));
}

Test(tiff_named, a_number_that_is_missing_beside_even_angles_is_told)
{
    static const struct {
        const char *form;
        int decimals;
        double step;
        int lost, without; /* the file, and the line of the list */
        const char *code;  /* NULL: no warning */
    } rows[] = {
        {"p_N.tif", 0, 7.5, 9, 23, "page-missing"},
        {"p_N.tif", 0, 7.5, 1, 23, "page-missing"},
        {"p_N.tif", 0, 7.5, 9, 9, NULL},
        {"p_N.tif", 0, 7.5, 23, 23, NULL},
        {"p_N.tif", 0, 111.246, 9, 9, NULL},
        {"p_N_A.tif", 2, 7.5, 9, 23, "angles-named"}, /* the angles of the names know it */
        {"p_N_A.tif", 2, 7.5, 9, 9, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[500];
        end();
        begin();
        make_scan(rows[i].form, rows[i].decimals, 0, rows[i].step, rows[i].lost);
        write_angles(rows[i].step, rows[i].without);
        snprintf(words, sizeof words, "angles_file: %s/angles.txt", folder);
        const struct ts_diag_record *record = said(words);
        cr_expect_str_eq(record ? record->code : "", rows[i].code ? rows[i].code : "",
                         "row %zu: %s", i, record ? record->message : "nothing");
    }
}

/* Views that are left out do not change the angles of the others, whichever way these turn. */
Test(tiff_named, angles_that_fall_stay_when_views_are_left_out)
{
    static const struct {
        const char *words;
        double first, step;
    } rows[] = {{"angle_start: 180, angle_stop: 0", 180, -7.5},
                {"angle_start: 0, angle_stop: -180", 0, -7.5},
                {"angle_start: 0, angle_stop: 180, angle_sense: y-to-x", 0, -7.5},
                {HALF, 0, 7.5}};
    make_scan("p_N.tif", 0, 0, 0, -1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rest[300];
        snprintf(rest, sizeof rest, "pages: views, pixel_size: 0.5, %s, drop_views: [3, 5]",
                 rows[i].words);
        struct source *source = ts_tiff_opened(rest, scan);
        const struct ts_axis *views = &source->image.axes[1];
        cr_assert_eq(views->n, FILES - 2);
        cr_assert_not_null(views->positions);
        for (int v = 0; v < FILES - 2; v++)
            cr_expect_float_eq(views->positions[v],
                               rows[i].first + rows[i].step * (v < 3 ? v : v + 2), 1e-9,
                               "row %zu, view %d: %g", i, v, views->positions[v]);
        source->ops->close(source);
    }
}

Test(tiff_named, info_proposes_the_angles_of_the_names)
{
    static const struct {
        const char *form;
        int decimals;
        double first, step;
        const char *proposed, *not_proposed;
    } rows[] = {
        {"p_N_A.tif", 2, 90, 7.5, "angle_start=90 angle_stop=270", "angle_start=0"},
        {"p_N_Adeg.tif", 0, 180, -15, "angle_start=180 angle_stop=-180", "angle_start=0"},
        {"p_N_A.tif", 1, 0, 15, "angle_start=0 angle_stop=360", "DEGREES"},
        {"p_N.tif", 0, 0, 0, "angle_start=0 angle_stop=DEGREES", "angle_stop=1"},
    };
    static struct program_outcome outcome;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int json = 0; json < 2; json++) {
            end();
            begin();
            make_scan(rows[i].form, rows[i].decimals, rows[i].first, rows[i].step, -1);
            ts_program_run(folder, ARGUMENTS("info", "scan", json ? "--json" : NULL), &outcome);
            cr_assert_eq(outcome.code, 0, "%s", outcome.err);
            cr_expect(strstr(outcome.out, rows[i].proposed), "row %zu: %s", i, outcome.out);
            cr_expect_null(strstr(outcome.out, rows[i].not_proposed), "row %zu: %s", i,
                           outcome.out);
        }
}
