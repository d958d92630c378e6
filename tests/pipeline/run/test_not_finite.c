/* SPDX-License-Identifier: Apache-2.0
 *
 * A run warns of the stage that makes infinite values or NaN of finite ones, and of no other.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum { NZ = 6, NY = 9, NX = 11 };

static char folder[256], output[300];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
}

static void end(void)
{
    unlink(output);
    rmdir(folder);
}

TestSuite(not_finite, .init = begin, .fini = end);

/* Runs the chain over an image of ones, of which slice `at` holds `value` (and pixel 0 of it
 * `first`), and returns how many warnings there are; *record is the first. */
static int count_warnings(const char *const *stages, int n_volumes, int64_t at, float value,
                          float first, char text[512])
{
    struct ts_image image = ts_test_image(n_volumes * NZ, NY, NX, TS_F32, VALUES_CONSTANT, 1);
    struct ts_diag *diag = ts_diag_create();
    struct memory_chain memory;
    int n = 0;
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((float *)image.data)[i] = (int64_t)(i / (NY * NX)) == at ? value : 1;
    ((float *)image.data)[at * NY * NX] = first;
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = n_volumes;
    for (int i = 0; stages[i]; i++)
        memory_chain_add(&memory, stages[i], NULL);
    const struct ts_options options = {.device = "cpu", .threads = 2, .force = true};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_assert(plan);
    cr_assert_eq(ts_plan_run(plan, diag), TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (strcmp(record->code, "not-finite-result") != 0)
            continue;
        if (n++ == 0)
            snprintf(text, 512, "%s: %s", record->stage, record->message);
    }
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    free(image.data);
    return n;
}

Test(not_finite, the_stage_is_named_that_makes_it)
{
    char text[512];
    cr_assert_eq(count_warnings((const char *const[]){"median radius=1", "gaussian sigma=1",
                                                      "box radius=1", NULL},
                                1, 4, 2e38f, 2e38f, text),
                 1);
    cr_expect(strstr(text, "gaussian: ") && strstr(text, "first in slice 4,"), "%s", text);
    cr_assert_eq(count_warnings((const char *const[]){"gaussian sigma=1 dimensions=3d", NULL}, 1, 4,
                                3.4e38f, 3.4e38f, text),
                 0, "a mean with other slices is finite");
    cr_assert_eq(count_warnings(
                     (const char *const[]){"box radius=1", "gaussian sigma=1 dimensions=3d", NULL},
                     1, 4, 2e38f, 2e38f, text),
                 1, "infinite values that spread to other slices are those of the stage before");
    cr_expect(strstr(text, "box: "), "%s", text);
}

Test(not_finite, what_the_input_holds_is_no_news)
{
    char text[512];
    static const char *const stages[] = {"gaussian sigma=1 dimensions=3d border=wrap",
                                         "box radius=2", NULL};
    cr_expect_eq(count_warnings(stages, 1, 0, 1, NAN, text), 0, "%s", text);
    cr_expect_eq(count_warnings(stages, 1, NZ - 1, 1, INFINITY, text), 0, "%s", text);
    cr_expect_eq(count_warnings(stages, 1, 2, 1, 5, text), 0, "%s", text);
}

Test(not_finite, of_the_volume_that_has_it)
{
    char text[512];
    cr_assert_eq(count_warnings((const char *const[]){"gaussian sigma=1", NULL}, 3, NZ + 2, 2e38f,
                                2e38f, text),
                 1);
    cr_expect(strstr(text, "first in slice 2 of volume 1,"), "%s", text);
}

/* The warning is in the file, which has the same bytes however the volume is cut. */
Test(not_finite, whatever_the_slabs)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_F32, VALUES_CONSTANT, 1);
    struct memory_chain memory;
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((float *)image.data)[i] = i / (NY * NX) >= 3 ? 3e38f : 1;
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "gaussian sigma=1 dimensions=3d", NULL);
    memory_chain_add(&memory, "equalize", NULL);
    ts_test_same_for_slabs_and_threads(&memory, output);
    memory_chain_clear(&memory);
    free(image.data);
}
