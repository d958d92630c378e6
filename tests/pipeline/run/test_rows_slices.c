/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a scan is found in five of its slices, of which the middle one may see
 * nothing.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "tests/support/disc_scan.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(rows_slices);

enum { NZ = 16, VIEWS = 120, N = 96 };

static double normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(1 - ts_random_unit(seed)));
    return radius * cos(2 * M_PI * ts_random_unit(seed));
}

/* An object in slices [first, end), and noise. The axis is on `center`, and `leans` detector pixels
 * further from each slice to the next. */
static struct ts_image scan_of(int64_t first, int64_t end, double center, double leans)
{
    struct ts_image image = ts_disc_scan(NZ, VIEWS, N, 0, 180.0 / VIEWS, TS_F32);
    float *p = image.data;
    uint64_t seed = 3;
    for (int64_t z = 0; z < NZ; z++)
        ts_disc_scan_draw(&image, z, center + leans * (double)(z - NZ / 2));
    for (int64_t i = 0; i < NZ * VIEWS * N; i++) {
        const int64_t z = i / (VIEWS * N);
        p[i] = (z < first || z >= end ? 0 : p[i]) + (float)(0.005 * normal(&seed));
    }
    return image;
}

/* Gives slices [first, end) the view before in views 50 to 69. */
static void freeze(struct ts_image *image, int64_t first, int64_t end)
{
    for (int64_t z = first; z < end; z++)
        for (int64_t view = 50; view < 70; view++) {
            float *row = (float *)ts_slice_data(image, z) + view * N;
            memcpy(row, row - N, N * sizeof *row);
        }
}

/* Runs `stage`, if there is one, and fbp unless it is only the stage. Writes the codes of all
 * warnings, each with a space after it, and the last message and hint. */
static void run_only(struct ts_image image, const char *stage, bool only, char codes[256],
                     char message[512], char hint[512])
{
    char folder[256], output[300];
    struct memory_chain memory;
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    memory_chain_init(&memory, &image, NULL, output);
    if (stage)
        memory_chain_add(&memory, stage, NULL);
    if (!only)
        memory_chain_add(&memory, "fbp", NULL);
    const struct ts_options options = {.device = "cpu", .threads = 2, .force = true};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    struct ts_diag *diag = ts_diag_create();
    cr_assert(plan);
    cr_assert_eq(ts_plan_run(plan, diag), TS_OK);
    codes[0] = message[0] = hint[0] = '\0';
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (record->severity != TS_WARNING)
            continue;
        snprintf(codes + strlen(codes), 256 - strlen(codes), "%s ", record->code);
        snprintf(message, 512, "%s", record->message);
        snprintf(hint, 512, "%s", record->hint ? record->hint : "");
    }
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    ts_test_remove_folder(folder);
    free(image.data);
}

static void run(struct ts_image image, const char *stage, char codes[256], char message[512],
                char hint[512])
{
    run_only(image, stage, false, codes, message, hint);
}

Test(rows_slices, of_an_object_in_a_few_slices_are_told_of_these)
{
    static const struct {
        int64_t first, end;
        double center;
        const char *stage, *codes, *message, *hint;
    } rows[] = {
        {0, 5, 47.5, NULL, "", "", ""},
        {11, 16, 47.5, NULL, "", "", ""},
        {0, 0, 47.5, NULL, "", "", ""},
        {0, 5, 41, NULL, "center-off ", "of slice 4 and", "`center: {slice: 4}` before"},
        {11, 16, 41, NULL, "center-off ", "of slice 11 and", "`center: {slice: 11}` before"},
        {0, 2, 52, NULL, "center-off ", "of slice 1 and", "`center: {slice: 1}` before"},
        {0, 16, 41, NULL, "center-off ", "of the middle slice", "`center: {}` before"},
        {0, 5, 41, "center slice=4", "", "", ""},
        {11, 16, 41, "center slice=11", "", "", ""},
        {0, 2, 52, "center slice=1", "", "", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char codes[256], message[512], hint[512];
        run(scan_of(rows[i].first, rows[i].end, rows[i].center, 0), rows[i].stage, codes, message,
            hint);
        cr_expect_str_eq(codes, rows[i].codes, "row %zu: %s: %s", i, codes, message);
        cr_expect(strstr(message, rows[i].message) && strstr(hint, rows[i].hint), "row %zu: %s, %s",
                  i, message, hint);
    }
}

/* Returns the number that follows these words; NAN without them. */
static double number_after(const char *message, const char *words)
{
    const char *found = strstr(message, words);
    return found ? strtod(found + strlen(words), NULL) : NAN;
}

Test(rows_slices, that_see_the_axis_lean_are_warned_of)
{
    static const double leans[] = {0, 0.02, 0.25, -0.25, 0.7};
    static const char *const stages[] = {NULL, "center", "center"}; /* the last without fbp */
    for (size_t i = 0; i < sizeof leans / sizeof *leans * 3; i++) {
        const double lean = leans[i / 3];
        char codes[256], message[512], hint[512];
        run_only(scan_of(0, 16, 47.5, lean), stages[i % 3], i % 3 == 2, codes, message, hint);
        cr_expect_str_eq(codes, fabs(lean) > 0.1 ? "center-leans " : "", "%g: %s", lean, message);
        if (fabs(lean) < 0.1)
            continue;
        cr_expect_float_eq(number_after(message, "on detector pixel "), 47.5 - 7 * lean, 0.1);
        cr_expect_float_eq(number_after(message, "in slice 1 and on "), 47.5 + 6 * lean, 0.1);
        cr_expect(strstr(message, "in slice 14,"), "%s", message);
    }
}

Test(rows_slices, of_which_some_have_a_frame_again_are_warned_of)
{
    static const struct {
        int64_t first, end;
        const char *message;
    } rows[] = {{0, 6, "slice 4"}, {0, 2, "slice 1"}, {10, 16, "slice 11"}, {0, 16, "the middle"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char codes[256], message[512], hint[512];
        struct ts_image image = scan_of(0, 16, 47.5, 0);
        freeze(&image, rows[i].first, rows[i].end);
        run(image, NULL, codes, message, hint);
        cr_expect(strstr(codes, "frames-repeated ") && strstr(codes, "angles-contradicted "),
                  "row %zu: %s", i, codes);
        cr_expect(strstr(message, rows[i].message), "row %zu: %s", i, message);
    }
}
