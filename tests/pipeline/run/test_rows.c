/* SPDX-License-Identifier: Apache-2.0
 *
 * A run warns of a filtered reconstruction of rows that end within the object, and of no other;
 * what the hint names ends the warning and takes away most of the error.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/pipeline/run/rows_scan.h"
#include "tests/support/disc_scan.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

/* Returns whether the run of these stages warns, and of the last one. */
static bool warns(struct scan scan, const char *const *stages, double *share)
{
    char folder[256], output[300];
    struct ts_image image = ts_rows_scan(scan);
    struct memory_chain memory;
    bool found = false;
    int last = 0;
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    memory_chain_init(&memory, &image, NULL, output);
    for (; stages[last]; last++)
        memory_chain_add(&memory, stages[last], NULL);
    const struct ts_options options = {.device = "cpu", .threads = 2, .force = true};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    struct ts_diag *diag = ts_diag_create();
    cr_assert(plan);
    cr_assert_eq(ts_plan_run(plan, diag), TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (strcmp(record->code, "rows-cut-off") != 0)
            continue;
        const char *sees = strstr(record->message, "sees ");
        cr_assert(sees && !found &&
                  strncmp(stages[last - 1], record->stage, strlen(record->stage)) == 0);
        *share = strtod(sees + 5, NULL);
        found = strstr(record->hint, "`pad: {}` before it") != NULL;
    }
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    ts_test_remove_folder(folder);
    free(image.data);
    return found;
}

Test(rows, that_end_within_the_object_are_warned_of)
{
    static const struct scan cut[] = {{0, 0, 110, 47.5, 180, 0},
                                      {0, 0, 60, 47.5, 180, 0.1},
                                      {30, 5, 30, 47.5, 180, 0.02},
                                      {0, 0, 50, 30.2, 360, 0}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        double share = 0;
        cr_expect(warns(cut[i], (const char *const[]){"fbp", NULL}, &share), "scan %zu", i);
        cr_expect(share > 10 && share <= 100, "scan %zu: %g %%", i, share);
        cr_expect(warns(cut[i], (const char *const[]){"fourier", NULL}, &share), "scan %zu", i);
        cr_expect(!warns(cut[i], (const char *const[]){"sirt iterations=1", NULL}, &share),
                  "scan %zu", i);
        cr_expect(!warns(cut[i], (const char *const[]){"pad", "fbp", NULL}, &share),
                  "scan %zu, padded", i);
    }
}

Test(rows, of_a_whole_object_are_not)
{
    static const struct scan whole[] = {{0, 0, 45, 47.5, 180, 0},
                                        {0, 0, 45, 47.5, 180, 0.1},
                                        {3, 2, 40, 47.5, 360, 0.2},
                                        {0, 0, 3, 47.5, 180, 0.05}};
    double share = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(!warns(whole[i], (const char *const[]){"fbp", NULL}, &share), "scan %zu: %g %%",
                  i, share);
    cr_expect(!warns((struct scan){0, 0, 60, 30, 360, 0.02},
                     (const char *const[]){"center method=overlap", "stitch", "fbp", NULL}, &share),
              "%g %%", share);
}

/* The middle of a disc of 1 that is wider than the detector. */
static double middle_of(const char *const *stages)
{
    return ts_rows_middle(ts_rows_scan((struct scan){0, 0, 110, 47.5, 180, 0}), stages);
}

Test(rows, are_better_as_the_hint_says)
{
    const double bare = middle_of((const char *const[]){"fbp", NULL}),
                 padded = middle_of((const char *const[]){"pad", "fbp", NULL});
    cr_expect(bare > 1.4 && padded < 1 + 0.5 * (bare - 1), "%g, padded %g", bare, padded);
}

/* ---- scans that are not what they seem ------------------------------------------------------- */

/* What the hints about air name gives better values, or right ones. */
Test(rows, are_better_as_the_hints_about_air_say)
{
    const struct scan cut = {0, 0, 60, 47.5, 180, 0}, whole = {3, 2, 30, 47.5, 180, 0};
    const double taken =
        ts_rows_middle(ts_rows_light(cut, TS_TRANSMISSION),
                       (const char *const[]){"air detectors=4", "minus_log", "fbp", NULL});
    const double padded = ts_rows_middle(ts_rows_light(cut, TS_TRANSMISSION),
                                         (const char *const[]){"minus_log", "pad", "fbp", NULL});
    const double wide =
        ts_rows_middle(ts_rows_light(whole, TS_TRANSMISSION),
                       (const char *const[]){"air detectors=40", "minus_log", "fbp", NULL});
    const double narrow =
        ts_rows_middle(ts_rows_light(whole, TS_TRANSMISSION),
                       (const char *const[]){"air detectors=4", "minus_log", "fbp", NULL});
    cr_expect(60 * taken < 0.95 && fabs(60 * padded - 1) < 0.5 * (1 - 60 * taken), "%g, %g",
              60 * taken, 60 * padded);
    cr_expect(30 * wide < 0.95 && fabs(30 * narrow - 1) < 0.03, "%g, %g", 30 * wide, 30 * narrow);
    struct ts_image light = ts_rows_light(whole, TS_TRANSMISSION),
                    called = ts_rows_light(whole, TS_TRANSMISSION);
    called.quantity = TS_LINE_INTEGRAL;
    const double wrong = ts_rows_middle(called, (const char *const[]){"fbp", NULL}),
                 right = ts_rows_middle(light, (const char *const[]){"minus_log", "fbp", NULL});
    cr_expect(wrong < 0 && fabs(30 * right - 1) < 0.03, "%g, %g", 30 * wrong, 30 * right);
}

Test(rows, too_bright_for_their_flats_are_warned_of)
{
    static const struct {
        double first, last, noise; /* factor of the first view and of the last one */
        bool warns;
    } rows[] = {{2.5, 2.5, 0.01, true},   {1.5, 1.5, 0.1, true},  {1, 3, 0.01, true},
                {1.25, 1.25, 0.1, false}, {1, 0.8, 0.1, false},   {1, 1.2, 0.3, false},
                {1, 1, 0.01, false},      {0.4, 0.4, 0.01, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image image =
            ts_rows_light((struct scan){3, 2, 30, 47.5, 180, rows[i].noise}, TS_TRANSMISSION);
        char message[512], hint[512];
        for (int64_t z = 0; z < NZ; z++)
            for (int64_t v = 0; v < VIEWS; v++)
                for (int64_t d = 0; d < N; d++)
                    ts_rows_view(&image, z, v)[d] *=
                        (float)(rows[i].first + (rows[i].last - rows[i].first) * v / VIEWS);
        ts_rows_run(image, "minus_log", "transmission-bright", message, hint);
        cr_expect_eq(*message != '\0', rows[i].warns, "row %zu: %s", i, message);
        cr_expect(!*message || (strstr(message, "a transmission above 1.3") &&
                                strstr(hint, "`air` before minus_log")));
    }
}

Test(rows, that_a_camera_gave_again_are_warned_of)
{
    static const struct {
        int64_t first, last; /* views that are the one before `first` */
        double noise;
        const char *message; /* NULL: nothing is told */
    } rows[] = {{90, 119, 0.01, "30 of 120 views have the very "},
                {90, 119, 0.01, "in the middle slice, noise included, from view 90 to view 119"},
                {40, 40, 0.01, "1 of 120 views have"},
                {20, 110, 0.003, "91 of 120 views have"},
                {1, 3, 0.01, "from view 1 to view 3"},
                {90, 119, 0, NULL},
                {40, 39, 0.01, NULL}};
    static const struct {
        enum ts_quantity quantity;
        const char *stage, *values;
    } kinds[] = {{TS_COUNTS, "air detectors=4", "counts"},
                 {TS_TRANSMISSION, "minus_log", "values"},
                 {TS_LINE_INTEGRAL, NULL, "values"},
                 {TS_LINE_INTEGRAL, "pad", "values"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 4; i++) {
        const size_t row = i / 4, kind = i % 4;
        struct ts_image image = ts_rows_light((struct scan){8, 2, 30, 47.5, 180, rows[row].noise},
                                              kinds[kind].quantity);
        char message[512], hint[512], very[64];
        for (int64_t z = 0; z < NZ; z++)
            for (int64_t v = rows[row].first; v <= rows[row].last; v++)
                memcpy(ts_rows_view(&image, z, v), ts_rows_view(&image, z, rows[row].first - 1),
                       N * sizeof(float));
        ts_rows_run(image, kinds[kind].stage, "frames-repeated", message, hint);
        cr_expect(rows[row].message ? strstr(message, rows[row].message) != NULL : !*message,
                  "row %zu, kind %zu: %s", row, kind, message);
        snprintf(very, sizeof very, "the very %s of the view before them", kinds[kind].values);
        cr_expect(!*message || strstr(message, very), "%s", message);
    }
    char message[512], hint[512]; /* a disc at the center is the same from everywhere */
    ts_rows_run(ts_rows_light((struct scan){0, 0, 30, 47.5, 180, 0}, TS_COUNTS), "air detectors=4",
                "frames-repeated", message, hint);
    cr_expect(!*message, "%s", message);
}

Test(rows, of_views_without_the_object_are_warned_of)
{
    static const struct {
        struct scan scan;
        int64_t first, last; /* views that are air */
        const char *message; /* NULL: nothing is told */
    } rows[] = {
        {{3, 2, 30, 47.5, 180, 0.01},
         45,
         45,
         "view 45 of 120 views, counted from 0, shows nothing of the object"},
        {{3, 2, 30, 47.5, 180, 0.03}, 0, 0, "view 0 of 120 views, counted from 0, shows nothing"},
        {{3, 2, 8, 47.5, 360, 0.01}, 117, 119, "3 of 120 views"},
        {{20, 2, 8, 47.5, 180, 0.01}, 1, 0, NULL},
        {{3, 2, 30, 47.5, 180, 0.1}, 1, 0, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int lines = 0; lines < 2; lines++) {
            struct ts_image image =
                ts_rows_light(rows[i].scan, lines ? TS_LINE_INTEGRAL : TS_TRANSMISSION);
            char message[512], hint[512];
            for (int64_t z = 0; z < NZ; z++)
                for (int64_t v = rows[i].first; v <= rows[i].last; v++)
                    for (int64_t d = 0; d < N; d++)
                        ts_rows_view(&image, z, v)[d] =
                            (lines ? 0 : 1) + (float)rows[i].scan.noise * (d % 2 ? 1.F : -1.F);
            ts_rows_run(image, lines ? NULL : "minus_log", "view-blank", message, hint);
            cr_expect(rows[i].message ? strstr(message, rows[i].message) != NULL : !*message,
                      "row %zu, %d: %s", i, lines, message);
        }
}

/* Views at one angle may be one image. */
Test(rows, that_were_written_several_times_are_no_frozen_ones)
{
    struct ts_image image =
        ts_rows_light((struct scan){8, 2, 30, 47.5, 180, 0.01}, TS_TRANSMISSION);
    static double degrees[VIEWS];
    char message[512], hint[512];
    for (int64_t v = 0; v < VIEWS; v++) {
        degrees[v] = 4.5 * (double)(v / 3);
        for (int64_t z = 0; z < NZ; z++)
            memcpy(ts_rows_view(&image, z, v), ts_rows_view(&image, z, v / 3 * 3),
                   N * sizeof(float));
    }
    image.axes[1].positions = degrees;
    ts_rows_run(image, "minus_log", "frames-repeated", message, hint);
    cr_expect(!*message, "%s", message);
}

/* Flats of twice the exposure lift the ends as an object that is cut off does. */
Test(rows, whose_ends_are_lifted_by_flats_are_told_as_such)
{
    static const double factors[][2] = {{0.5, 0.5}, {1, 0.7}, {0.4, 0.8}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        struct ts_image image =
            ts_rows_light((struct scan){3, 2, 30, 47.5, 180, 0.01}, TS_TRANSMISSION);
        char message[512], hint[512];
        for (int64_t z = 0; z < NZ; z++)
            for (int64_t v = 0; v < VIEWS; v++)
                for (int64_t d = 0; d < N; d++)
                    ts_rows_view(&image, z, v)[d] *=
                        (float)(factors[i][0] + (factors[i][1] - factors[i][0]) * v / VIEWS);
        ts_rows_run(image, "minus_log", "rows-cut-off", message, hint);
        cr_expect(strstr(message, "or air is not 0 there, because the flats or the beam changed"),
                  "%s", message);
        cr_expect(strstr(hint, "`air` before minus_log makes it 0"), "%s", hint);
    }
}

/* The ends see more than a tenth of what a thin object takes away, and are air. */
Test(rows, whose_beam_drifts_by_a_fifth_are_not_cut_off)
{
    static const double lasts[] = {0.8, 0.85, 0.9};
    for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) {
        struct ts_image image =
            ts_rows_light((struct scan){3, 2, 30, 47.5, 180, 0.01}, TS_TRANSMISSION);
        char message[512], hint[512];
        for (int64_t k = 0; k < (int64_t)ts_image_count(&image); k++)
            ((float *)image.data)[k] = powf(((float *)image.data)[k], 0.7F);
        ts_rows_change_beam(&image, 1, lasts[i]);
        ts_rows_run(image, "minus_log", "rows-cut-off", message, hint);
        cr_expect(!*message, "%g: %s", lasts[i], message);
    }
}

/* The stages after `center` are prepared again when it has found the axis. */
Test(rows, are_warned_of_once_where_the_axis_is_found)
{
    static const struct {
        double arc;
        const char *code, *stages[5];
    } chains[] = {{1080, "views-repeated", {"center", "fbp"}},
                  {1080, "views-repeated", {"center", "fourier"}},
                  {1080, "views-repeated", {"center", "sirt iterations=1"}},
                  {120, "angles-limited", {"center method=mass", "sirt iterations=1"}},
                  {120, "angles-limited", {"center method=mass", "cgls iterations=1"}},
                  {180, "radon-of-hu", {"center", "fbp", "to_hu water=0.0206", "radon"}}};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        char folder[256], output[300];
        struct ts_image image = ts_rows_scan((struct scan){8, 2, 30, 47.5, chains[i].arc, 0.01});
        struct memory_chain memory;
        int told = 0;
        ts_test_folder(folder, sizeof folder);
        snprintf(output, sizeof output, "%s/out.h5", folder);
        memory_chain_init(&memory, &image, NULL, output);
        for (int k = 0; chains[i].stages[k]; k++)
            memory_chain_add(&memory, chains[i].stages[k], NULL);
        const struct ts_options options = {.device = "cpu", .threads = 2, .force = true};
        struct ts_diag *diag = ts_diag_create();
        struct ts_plan *plan = NULL;
        cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_OK, "chain %zu", i);
        cr_assert_eq(ts_plan_run(plan, diag), TS_OK, "chain %zu", i);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            told += !strcmp(ts_diag_get(diag, k)->code, chains[i].code);
        cr_expect_eq(told, 1, "chain %zu: told %d times", i, told);
        ts_plan_destroy(plan);
        ts_diag_destroy(diag);
        memory_chain_clear(&memory);
        ts_test_remove_folder(folder);
        free(image.data);
    }
}

/* What `air` takes for air has to be it; and once it has divided by it, no hint names it. */
Test(rows, whose_ends_see_the_object_are_no_air)
{
    static const struct {
        struct scan scan;
        enum ts_quantity quantity;
        double first, last; /* factor of the beam */
        const char *stage, *code, *message, *hint;
    } rows[] = {
        {{0, 0, 60, 47.5, 180, 0.01},
         TS_TRANSMISSION,
         1,
         1,
         "air detectors=4",
         "rows-cut-off",
         "is taken for air, so that values come out too low",
         "leave `air` out, and put `pad: {}`"},
        {{0, 0, 400, 47.5, 180, 0.001},
         TS_TRANSMISSION,
         1,
         1,
         "air detectors=1",
         "rows-cut-off",
         "is taken for air",
         "leave `air` out"},
        {{20, 5, 50, 47.5, 360, 0.05},
         TS_TRANSMISSION,
         1.1,
         0.9,
         "air detectors=8",
         "rows-cut-off",
         "is taken for air",
         "leave `air` out"},
        {{30, 5, 30, 47.5, 180, 0.02},
         TS_COUNTS,
         1,
         0.8,
         "air detectors=4",
         "rows-cut-off",
         "is taken for air",
         "leave `air` out"},
        {{3, 2, 30, 47.5, 180, 0.01},
         TS_TRANSMISSION,
         1,
         1,
         "air detectors=25",
         "air-object",
         "the innermost see",
         "take fewer `detectors`"},
        {{3, 2, 30, 47.5, 180, 0.1},
         TS_TRANSMISSION,
         0.8,
         0.8,
         "air detectors=40",
         "air-object",
         "the innermost see",
         "take fewer `detectors`"},
        {{15, 2, 20, 47.5, 180, 0.01},
         TS_COUNTS,
         1,
         0.9,
         "air detectors=30",
         "air-object",
         "they see the object",
         "take fewer `detectors`"},
        {{3, 2, 30, 47.5, 180, 0.01},
         TS_TRANSMISSION,
         1,
         1,
         "air detectors=40",
         "transmission-bright",
         "a transmission above 1.3",
         "`air` before it divides by what"},
        {{3, 2, 30, 47.5, 180, 0.1}, TS_TRANSMISSION, 1, 0.8, "air detectors=4", NULL, NULL, NULL},
        {{3, 2, 30, 47.5, 360, 0.01},
         TS_TRANSMISSION,
         1.5,
         0.4,
         "air detectors=10",
         NULL,
         NULL,
         NULL},
        {{0, 0, 3, 47.5, 180, 0.05},
         TS_TRANSMISSION,
         1,
         0.95,
         "air detectors=40",
         NULL,
         NULL,
         NULL},
        {{3, 2, 30, 47.5, 180, 0.1}, TS_COUNTS, 0.5, 1.5, "air detectors=10", NULL, NULL, NULL}};
    static const char *const codes[] = {"rows-cut-off", "air-object", "transmission-bright"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
            struct ts_image image = ts_rows_light(rows[i].scan, rows[i].quantity);
            char message[512], hint[512];
            for (int64_t z = 0; z < NZ; z++)
                for (int64_t v = 0; v < VIEWS; v++)
                    for (int64_t d = 0; d < N; d++)
                        ts_rows_view(&image, z, v)[d] *=
                            (float)(rows[i].first + (rows[i].last - rows[i].first) * v / VIEWS);
            ts_rows_run(image, rows[i].stage, codes[k], message, hint);
            if (rows[i].code && !strcmp(rows[i].code, codes[k]))
                cr_expect(strstr(message, rows[i].message) && strstr(hint, rows[i].hint),
                          "row %zu: '%s', '%s'", i, message, hint);
            else
                cr_expect(rows[i].code || !*message, "row %zu, %s: %s", i, codes[k], message);
            cr_expect(!strstr(hint, "`air` before minus_log"), "row %zu: %s", i, hint);
        }
}

/* A hint names `air` if both ends see the same and are flat, and for no object that is cut off. */
Test(rows, that_are_cut_off_are_not_sent_to_air)
{
    static const struct scan cut[] = {{0, 0, 60, 47.5, 180, 0.01},
                                      {30, 5, 30, 47.5, 180, 0.02},
                                      {0, 0, 50, 30.2, 360, 0},
                                      {0, 0, 110, 47.5, 180, 0.01}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        char message[512], hint[512];
        ts_rows_run(ts_rows_light(cut[i], TS_LINE_INTEGRAL), NULL, "rows-cut-off", message, hint);
        cr_expect(strstr(hint, "`pad: {}` before it") && !strstr(hint, "`air`"), "scan %zu: %s", i,
                  hint);
    }
}

/* Transmissions that are called line integrals, and line integrals of the other sign. */
Test(rows, of_line_integrals_that_an_object_lessens_are_warned_of)
{
    static const struct {
        struct scan scan;
        double factor, offset, power; /* values are offset + factor * transmission or integral */
        bool light;
        const char *message; /* NULL: nothing is told */
    } rows[] = {{{3, 2, 30, 47.5, 180, 0.01}, 1, 0, 1, true, "these look like transmissions"},
                {{3, 2, 30, 47.5, 360, 0.1}, 1, 0, 0.3, true, "these look like transmissions"},
                {{0, 0, 45, 47.5, 180, 0.03}, 0.9, 0, 2, true, "these look like transmissions"},
                {{3, 2, 30, 47.5, 180, 0.01}, -1, 0, 1, false, "with the other sign"},
                {{3, 2, 10, 47.5, 180, 0.1}, -0.2, 0, 1, false, "with the other sign"},
                {{3, 2, 30, 47.5, 360, 0.02}, -3, 0.05, 1, false, "with the other sign"},
                {{3, 2, 30, 47.5, 180, 0.2}, 1, 0, 1, false, NULL},
                {{0, 0, 60, 47.5, 180, 0.01}, 1, 0, 1, false, NULL},
                {{0, 0, 1, 47.5, 180, 0.3}, 1, 0, 1, false, NULL},
                {{3, 2, 30, 47.5, 180, 0.01}, 1, -0.3, 1, false, NULL}};
    static const char *const stages[] = {NULL, "center center=47.5", "pad"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 3; i++) {
        const size_t row = i / 3;
        struct ts_image image =
            ts_rows_light(rows[row].scan, rows[row].light ? TS_TRANSMISSION : TS_LINE_INTEGRAL);
        char message[512], hint[512];
        for (int64_t k = 0; k < (int64_t)ts_image_count(&image); k++) {
            float *value = (float *)image.data + k;
            *value = (float)(rows[row].offset +
                             rows[row].factor *
                                 (rows[row].light ? pow(fmax(1e-3, (double)*value), rows[row].power)
                                                  : (double)*value));
        }
        image.quantity = TS_LINE_INTEGRAL;
        ts_rows_run(image, stages[i % 3], "integrals-inverted", message, hint);
        cr_expect(rows[row].message ? strstr(message, rows[row].message) != NULL : !*message,
                  "row %zu, %zu: %s", row, i % 3, message);
        cr_expect(!*message || (strstr(hint, "quantity: transmission") != NULL) == rows[row].light);
    }
}

/* Discs of which no two directions look alike, at the true angles of views in steps of `step`, as
 * they are taken to be in steps of `taken`. The axis is on `center`, and moved by `moved` from view
 * 70 on. */
static struct ts_image discs_of(double step, double taken, double center, double moved)
{
    struct ts_image image = ts_disc_scan(NZ, VIEWS, N, 0, step, TS_F32);
    for (int64_t z = 0; z < NZ; z++) {
        struct ts_image late = image;
        ts_disc_scan_draw(&image, z, center);
        late.data = malloc(ts_image_bytes(&image));
        ts_disc_scan_draw(&late, z, center + moved);
        memcpy(ts_rows_view(&image, z, 70), ts_rows_view(&late, z, 70),
               (VIEWS - 70) * N * sizeof(float));
        free(late.data);
    }
    image.axes[1].spacing = taken;
    return image;
}

/* Views [at, at + n) and [at + 60, at + 60 + n) in each other's place. */
static struct ts_image exchanged(int at, int n)
{
    struct ts_image image = discs_of(1.5, 1.5, 47.5, 0);
    for (int64_t z = 0; z < NZ; z++)
        for (int64_t i = 0; i < n * N; i++) {
            float *a = ts_rows_view(&image, z, at) + i, *b = ts_rows_view(&image, z, at + 60) + i,
                  value = *a;
            *a = *b;
            *b = value;
        }
    return image;
}

Test(rows, of_views_in_another_order_are_warned_of)
{
    static const char *const stages[] = {NULL, "center center=47.5", "pad"};
    for (int i = 0; i < 9; i++) {
        const int n = (int[]){0, 1, 8}[i / 3];
        char message[512], hint[512];
        ts_rows_run(exchanged(30, n), stages[i % 3], "angles-contradicted", message, hint);
        cr_expect(n == 0   ? !*message
                  : n == 1 ? strstr(message, "view 30 of the middle slice, the first of 2 such "
                                             "views, does not fit the views beside it: ") != NULL
                           : strstr(message, "view 30 of the middle slice, the first of 4 such "
                                             "places, differs from the view before it ") != NULL,
                  "%d views: '%s'", n, message);
        cr_expect(n == 0 || strstr(hint, "look at the angles"));
    }
}

Test(rows, that_contradict_the_geometry_are_warned_of)
{
    static const struct {
        double step, taken, center, moved;
        const char *stage, *code, *message;
    } rows[] = {
        {1.5, 1.5, 52.5, 0, NULL, "center-off", "is on detector pixel 52.5"},
        {1.5, 1.5, 37.5, 0, "pad", "center-off", "+- 0."},
        {3, 3, 50, 0, NULL, "center-off", "is on detector pixel 50.0"},
        {1.5, 1.5, 52.5, 0, "center center=48", "center-off", "is on detector pixel 52.5"},
        {1.5, 1.5, 52.5, 0, "fbp center=52.5", NULL, NULL},
        {1.5, 1.5, 52.5, 0, "fbp center=48", "center-off", "is on detector pixel 52.5"},
        {1.5, 1.5, 47.5, 0, "fbp center=52", "center-off", "is on detector pixel 47.5"},
        {1.5, 1.5, 52.5, 0, "center", NULL, NULL},
        {1.5, 1.5, 52.5, 0, "center center=52.5", NULL, NULL},
        {3, 1.5, 47.5, 0, NULL, "angles-contradicted", "fit better if they cover 360"},
        {1.5, 3, 47.5, 0, NULL, "angles-contradicted", "fit better if they cover 180"},
        {2.25, 1.5, 47.5, 0, NULL, "angles-contradicted", "fit better if they cover 270"},
        {1.5, 1.5, 47.5, 4, NULL, "sample-moved", "moves by 4.0 detector pixels at view 70"},
        {3, 3, 47.5, -3, NULL, "sample-moved", "moves by -3.0 detector pixels at view 70"},
        {1.5, 1.5, 47.5, 0, NULL, NULL, NULL},
        {3, 3, 47.5, 0, NULL, NULL, NULL}};
    static const char *const codes[] = {"center-off", "angles-contradicted", "sample-moved"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
            char message[512], hint[512];
            ts_rows_run(discs_of(rows[i].step, rows[i].taken, rows[i].center, rows[i].moved),
                        rows[i].stage, codes[k], message, hint);
            cr_expect(rows[i].code && !strcmp(rows[i].code, codes[k])
                          ? strstr(message, rows[i].message) != NULL
                          : !*message,
                      "row %zu, %s: '%s'", i, codes[k], message);
        }
}
