/* SPDX-License-Identifier: Apache-2.0
 *
 * A run warns of a beam that changes, of views that get other light, and of bad pixels that are the
 * shadow of the object.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/run/rows_scan.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(rows_beam);

Test(rows_beam, whose_air_is_not_1_are_warned_of)
{
    static const struct {
        struct scan scan;
        double first, last;  /* factor of the first view and of the last one */
        const char *message; /* NULL: nothing is told */
    } rows[] = {{{3, 2, 30, 47.5, 180, 0.01},
                 1.25,
                 1.25,
                 "have a transmission of 1.24 in the middle slice"},
                {{3, 2, 30, 47.5, 180, 0}, 0.8, 0.8, "have a transmission of 0.80"},
                {{3, 2, 30, 47.5, 180, 0.002}, 0.5, 0.5, "have a transmission of 0.50"},
                {{3, 2, 30, 47.5, 180, 0.01}, 1, 0.7, "have a transmission of 0.84"},
                {{3, 2, 30, 47.5, 180, 0.01}, 1, 0.8, NULL},
                {{3, 2, 30, 47.5, 180, 0.01}, 1.08, 1.08, NULL},
                {{3, 2, 30, 47.5, 180, 0.3}, 1, 1, NULL},
                {{0, 0, 60, 47.5, 180, 0}, 1, 1, NULL}, /* the object goes on beyond the detector */
                {{0, 0, 110, 47.5, 180, 0.01}, 1, 1, NULL},
                {{0, 0, 400, 47.5, 180, 0.001}, 1, 1, NULL},
                {{30, 5, 30, 47.5, 180, 0.01}, 1, 1, NULL},
                {{0, 0, 50, 30.2, 360, 0.01}, 1, 1, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int kind = 0; kind < 3;
             kind++) { /* as transmissions, as line integrals, and as those before pad */
            struct ts_image image =
                ts_rows_light(rows[i].scan, kind ? TS_LINE_INTEGRAL : TS_TRANSMISSION);
            char message[512], hint[512];
            ts_rows_change_beam(&image, rows[i].first, rows[i].last);
            ts_rows_run(image,
                        kind == 0   ? "minus_log"
                        : kind == 1 ? NULL
                                    : "pad",
                        "air-level", message, hint);
            cr_expect(rows[i].message ? strstr(message, rows[i].message) != NULL : !*message,
                      "row %zu, kind %d: %s", i, kind, message);
            cr_expect_eq(strstr(hint, "`air` before minus_log makes it 1") != NULL,
                         *message && kind == 0, "%s", hint);
        }
}

/* A beam that falls or rises between two views; one that drifts does not. */
Test(rows_beam, whose_air_changes_by_a_step_are_warned_of)
{
    static const struct {
        struct scan scan;
        int64_t first, end; /* views whose light has the factor */
        double factor;
        const char *message; /* NULL: nothing is told */
    } rows[] = {
        {{3, 2, 30, 47.5, 180, 0.01},
         60,
         VIEWS,
         0.8,
         "becomes 0.80 times that of the views before from view 60"},
        {{3, 2, 30, 47.5, 180, 0.01}, 64, VIEWS, 0.8, "from view 64 of"},
        {{3, 2, 30, 47.5, 180, 0.002}, 0, 33, 0.8, "becomes 1.25"},
        {{3, 2, 30, 47.5, 360, 0.01}, 90, VIEWS, 0.5, "becomes 0.50"},
        {{3, 2, 30, 47.5, 180, 0.01}, 40, 80, 0.85, "times that of the views before from view "},
        {{3, 2, 30, 47.5, 180, 0.01}, 60, VIEWS, 0.95, NULL},
        {{3, 2, 30, 47.5, 180, 0.3}, 60, VIEWS, 1, NULL},
        {{0, 0, 60, 47.5, 180, 0},
         60,
         VIEWS,
         0.8,
         NULL}}; /* the object goes on beyond the detector */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int kind = 0; kind < 2; kind++) {
            struct ts_image image =
                ts_rows_light(rows[i].scan, kind ? TS_LINE_INTEGRAL : TS_TRANSMISSION);
            char message[512], hint[512];
            for (int64_t z = 0; z < NZ; z++)
                for (int64_t v = rows[i].first; v < rows[i].end; v++)
                    for (int64_t d = 0; d < N; d++) {
                        float *value = ts_rows_view(&image, z, v) + d;
                        *value = kind ? *value - (float)log(rows[i].factor)
                                      : *value * (float)rows[i].factor;
                    }
            ts_rows_run(image, kind ? NULL : "minus_log", "air-level", message, hint);
            cr_expect(rows[i].message ? strstr(message, rows[i].message) != NULL : !*message,
                      "row %zu, kind %d: %s", i, kind, message);
        }
}

/* What drifts by more than a quarter is told, also if the mean is 1. */
Test(rows_beam, whose_air_drifts_are_warned_of)
{
    static const struct {
        double first, last, noise;
        const char *message; /* NULL: nothing is told */
    } rows[] = {
        {1.02, 0.795, 0.01, "changes evenly in the middle slice, from the first view to 0.78 "},
        {1.14, 0.88, 0.002, "to 0.77 times that in the last"},
        {0.85, 1.13, 0.03, "to 1.3"},
        {0.88, 1.15, 0.001, "to 1.31 times"},
        {0.95, 1.1, 0.01, NULL},
        {1.05, 0.9, 0.1, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int kind = 0; kind < 2; kind++) {
            struct ts_image image = ts_rows_light((struct scan){3, 2, 30, 47.5, 180, rows[i].noise},
                                                  kind ? TS_LINE_INTEGRAL : TS_TRANSMISSION);
            char message[512], hint[512];
            ts_rows_change_beam(&image, rows[i].first, rows[i].last);
            ts_rows_run(image, kind ? NULL : "minus_log", "air-level", message, hint);
            cr_expect(rows[i].message ? strstr(message, rows[i].message) != NULL : !*message,
                      "row %zu, kind %d: %s", i, kind, message);
            cr_expect_eq(strstr(hint, "`air` before minus_log makes it 1") != NULL,
                         *message && kind == 0, "%s", hint);
        }
}

/* A beam that falls for a few views, or that a shutter keeps off, and the first view of these. */
Test(rows_beam, of_other_light_are_named)
{
    static const struct {
        double factor, noise;
        int64_t runs[3][2]; /* views that have the factor */
        const char *code, *message;
    } rows[] = {
        {0.5, 0.01, {{40, 41}}, "air-level", "view 40 of 120 views, counted from 0, has 0.5"},
        {0.5, 0.02, {{40, 43}}, "air-level", "3 of 120 views have 0.5"},
        {0.8, 0.002, {{117, 120}}, "air-level", "have 0.80 times the light of those beside them"},
        {0.5, 0.01, {{40, 42}, {60, 61}}, "air-level", "from view 40 to view 60: the beam or"},
        {2, 0.01, {{0, 3}, {99, 101}}, "air-level", "5 of 120 views have 1.99"},
        {0, 0.01, {{57, 58}}, "view-dark", "view 57 of 120 views, counted from 0, gets no light"},
        {0, 0.03, {{57, 75}}, "view-dark", "18 of 120 views get no light at all"},
        {0, 0.01, {{3, 4}, {50, 52}, {119, 120}}, "view-dark", "from view 3 to view 119: a "},
        {0, 0, {{0, 2}}, "view-dark", "2 of 120 views"}};
    static const char *const codes[] = {"air-level",   "view-dark",           "rows-cut-off",
                                        "view-blank",  "transmission-bright", "center-off",
                                        "sample-moved"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < 2 * sizeof codes / sizeof *codes; k++) {
            const bool lines = k % 2;
            struct ts_image image = ts_rows_light((struct scan){3, 2, 30, 47.5, 180, rows[i].noise},
                                                  lines ? TS_LINE_INTEGRAL : TS_TRANSMISSION);
            char message[512], hint[512];
            for (int64_t at = 0; at < NZ * VIEWS * 3; at++)
                for (int64_t d = 0; d < N; d++) {
                    const int64_t z = at / 3 / VIEWS, v = at / 3 % VIEWS;
                    float *value = ts_rows_view(&image, z, v) + d;
                    if (v < rows[i].runs[at % 3][0] || v >= rows[i].runs[at % 3][1])
                        continue;
                    if (lines)
                        *value -= (float)log(fmax(1e-6, rows[i].factor));
                    else
                        *value = (float)rows[i].factor * *value;
                }
            ts_rows_run(image, lines ? NULL : "minus_log", codes[k / 2], message, hint);
            cr_expect(!strcmp(rows[i].code, codes[k / 2]) ? strstr(message, rows[i].message) != NULL
                                                          : !*message,
                      "row %zu, %s, %d: %s", i, codes[k / 2], lines, message);
            /* what is in memory has no drop_views */
            cr_expect(!strstr(hint, "drop_views"), "%s", hint);
        }
}

/* A shutter that closes before `air`, and a view in which it moves. */
Test(rows_beam, of_counts_without_light_are_named)
{
    static const double factors[][3] = {
        {0.002, 0.002, 0.002}, {0.3, 0.01, 0.01}, {0.01, 0.01, 0.4}};
    for (size_t i = 0; i < 3; i++) {
        struct ts_image image = ts_rows_light((struct scan){8, 2, 30, 47.5, 180, 0.01}, TS_COUNTS);
        char message[512], hint[512];
        for (int64_t z = 0; z < NZ; z++)
            for (int64_t k = 0; k < 3 * N; k++)
                ts_rows_view(&image, z, 30)[k] *= (float)factors[i][k / N];
        ts_rows_run(image, "air detectors=4", "view-dark", message, hint);
        cr_expect(strstr(message, "3 of 120 views get no light") &&
                      strstr(message, "from view 30 to view 32"),
                  "%zu: %s", i, message);
    }
}

/* The transmission of 500 photons through a disc, with the noise of a camera; `fade` multiplies
 * line integrals. */
static struct ts_image starved_of(struct scan scan, double fade)
{
    enum { PHOTONS = 500 };
    struct ts_image image = ts_rows_scan(scan);
    float *values = image.data;
    uint64_t seed = 17;
    for (int64_t i = 0; i < (int64_t)ts_image_count(&image); i++) {
        const double mean = PHOTONS * exp(-fade * (double)values[i] / scan.radius);
        double photons = 0, product = ts_random_unit(&seed);
        for (; mean < 50 && product > exp(-mean); product *= ts_random_unit(&seed))
            photons++;
        if (mean >= 50)
            photons = mean + sqrt(mean) * 3.46 * (ts_random_unit(&seed) - 0.5);
        values[i] = (float)((photons + 4 * (ts_random_unit(&seed) - 0.5)) / PHOTONS);
    }
    image.quantity = TS_TRANSMISSION;
    return image;
}

/* Returns the mean line integral of the middle of a disc, which is 7.9, after both stages. */
static double shadow_of(const char *bad_pixels, const char *minus_log)
{
    struct ts_image image = starved_of((struct scan){0, 0, 20, 47.5, 180, 0}, 4);
    struct ts_image whole = ts_test_output(ts_stage_find("bad_pixels"), bad_pixels, &image),
                    lines = ts_test_output(ts_stage_find("minus_log"), minus_log, &whole);
    double sum = 0;
    for (int64_t v = 0; v < VIEWS; v++)
        for (int64_t d = 45; d < 51; d++)
            sum += (double)ts_rows_view(&lines, 0, v)[d] / (VIEWS * 6);
    free(image.data);
    free(whole.data);
    free(lines.data);
    return sum;
}

/* What is filled in the shadow is warned of, other pixels are not; and the hint gives values that
 * are nearer to the true ones. */
Test(rows_beam, whose_shadow_is_filled_are_warned_of)
{
    static const struct scan disc = {8, 2, 20, 47.5, 180, 0};
    static const struct {
        double fade, marks; /* share of pixels that are marked with -1, anywhere */
        const char *stages[4];
        bool warns;
    } rows[] = {{4, 0, {"bad_pixels lowest=0", "minus_log"}, true},
                {3.4, 0.0005, {"bad_pixels lowest=0.0005", "minus_log"}, true},
                {4, 0, {"minus_log nonpositive=nan", "bad_pixels"}, true},
                {4, 0, {"bad_pixels lowest=-1000", "minus_log floor=0.001"}, false},
                {4, 0, {"minus_log floor=0.001", "bad_pixels"}, false},
                {1, 0.02, {"bad_pixels lowest=0", "minus_log"}, false},
                {1, 0, {"bad_pixels lowest=0", "minus_log"}, false},
                {2, 0.002, {"minus_log nonpositive=nan", "bad_pixels"}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image image = starved_of(disc, rows[i].fade);
        char message[512], hint[512];
        uint64_t seed = 3;
        for (int64_t k = 0; k < (int64_t)ts_image_count(&image); k++)
            if (ts_random_unit(&seed) < rows[i].marks || (i > 4 && k % N == 31))
                ((float *)image.data)[k] = -1;
        ts_rows_run_stages(image, rows[i].stages, "filled-starved", message, hint);
        cr_expect_eq(*message != '\0', rows[i].warns, "row %zu: %s", i, message);
        cr_expect(!*message || strstr(hint, "half a photon"), "%s", hint);
    }
    const double filled = shadow_of("lowest=0", ""),
                 kept = shadow_of("lowest=-1000", "floor=0.001");
    cr_expect(kept > filled + 0.1 && kept < 7.9, "filled %g, kept %g", filled, kept);
}
