/* SPDX-License-Identifier: Apache-2.0
 *
 * A run warns of a filtered reconstruction of rows that end within the object, and of no other; what the hint names
 * ends the warning and takes away most of the error.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/disc_scan.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

enum { NZ = 3, VIEWS = 120, N = 96 };

/* Discs of value 1 in every slice: the column and row of the center, and the radius, in detector pixels. */
struct scan {
    double x, y, radius, center, arc, noise;
};

static struct ts_image scan_of(struct scan scan)
{
    struct ts_image image = ts_disc_scan(NZ, VIEWS, N, 0, scan.arc / VIEWS, TS_F32);
    uint64_t seed = 5;
    for (int64_t i = 0; i < (int64_t)ts_image_count(&image); i++) {
        const double theta = (double)(i / N % VIEWS) * scan.arc / VIEWS * M_PI / 180;
        const double s = (double)(i % N) - scan.center - scan.x * cos(theta) - scan.y * sin(theta);
        const double noise = 3.46 * (ts_random_unit(&seed) - 0.5) * scan.noise * 2 * scan.radius;
        ((float *)image.data)[i] = (float)(2 * sqrt(fmax(0, scan.radius * scan.radius - s * s)) + noise);
    }
    return image;
}

/* Returns whether the run of these stages warns, and of the last one. */
static bool warns(struct scan scan, const char *const *stages, double *share)
{
    char folder[256], output[300];
    struct ts_image image = scan_of(scan);
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
        cr_assert(sees && !found && strncmp(stages[last - 1], record->stage, strlen(record->stage)) == 0);
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
    static const struct scan cut[] = {
        {0, 0, 110, 47.5, 180, 0}, {0, 0, 60, 47.5, 180, 0.1}, {30, 5, 30, 47.5, 180, 0.02}, {0, 0, 50, 30.2, 360, 0}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        double share = 0;
        cr_expect(warns(cut[i], (const char *const[]){"fbp", NULL}, &share), "scan %zu", i);
        cr_expect(share > 10 && share <= 100, "scan %zu: %g %%", i, share);
        cr_expect(warns(cut[i], (const char *const[]){"fourier", NULL}, &share), "scan %zu", i);
        cr_expect(!warns(cut[i], (const char *const[]){"sirt iterations=1", NULL}, &share), "scan %zu", i);
        cr_expect(!warns(cut[i], (const char *const[]){"pad", "fbp", NULL}, &share), "scan %zu, padded", i);
    }
}

Test(rows, of_a_whole_object_are_not)
{
    static const struct scan whole[] = {
        {0, 0, 45, 47.5, 180, 0}, {0, 0, 45, 47.5, 180, 0.1}, {3, 2, 40, 47.5, 360, 0.2}, {0, 0, 3, 47.5, 180, 0.05}};
    double share = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(!warns(whole[i], (const char *const[]){"fbp", NULL}, &share), "scan %zu: %g %%", i, share);
    cr_expect(!warns((struct scan){0, 0, 60, 30, 360, 0.02},
                     (const char *const[]){"center method=overlap", "stitch", "fbp", NULL}, &share),
              "%g %%", share);
}

/* The mean of the middle of a disc of 1 that is wider than the detector. */
static double middle_of(const char *const *stages)
{
    struct ts_image image = scan_of((struct scan){0, 0, 110, 47.5, 180, 0}), made = image;
    for (int i = 0; stages[i]; i++) {
        struct ts_image next = ts_test_output(ts_stage_find(stages[i]), "", &made);
        free(made.data);
        made = next;
    }
    const int64_t n = made.axes[2].n;
    const double value = (double)((const float *)made.data)[(n / 2) * n + n / 2] * image.axes[2].spacing;
    free(made.data);
    return value;
}

Test(rows, are_better_as_the_hint_says)
{
    const double bare = middle_of((const char *const[]){"fbp", NULL}),
                 padded = middle_of((const char *const[]){"pad", "fbp", NULL});
    cr_expect(bare > 1.4 && padded < 1 + 0.5 * (bare - 1), "%g, padded %g", bare, padded);
}
