/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/filters/outliers.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/stages/filters/outliers_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(outliers);

static struct ts_image sinogram(int64_t nz, int64_t n_views, int64_t n_detectors,
                                enum ts_dtype dtype, uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, n_views, n_detectors, dtype, VALUES_CT, seed);
    image.axes[1].kind = TS_AXIS_VIEW;
    image.axes[2].kind = TS_AXIS_DETECTOR;
    return image;
}

/* VALUES_RANDOM has outliers everywhere, VALUES_CT noise of 20 on a slope. */
TEST_ON_BOTH(outliers, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = "threshold=0 kind=both"},
        {.assignments = "threshold=0 kind=both size=5 plane=sinogram"},
        {.assignments = "threshold=30"},
        {.assignments = "threshold=900.5 size=5 kind=dark", .values = VALUES_RANDOM},
        {.assignments = "threshold=10.25 plane=sinogram kind=both", .values = VALUES_CT},
        {.assignments = "threshold=200 size=7 kind=both", .values = VALUES_EXTREME},
        {.assignments = "threshold=1e38 kind=both", .values = VALUES_EXTREME},
        {.assignments = "threshold=3e9 kind=both plane=sinogram", .values = VALUES_EXTREME},
        {.assignments = "threshold=0 kind=bright", .values = VALUES_CT},
        {"threshold=5 size=31 kind=both", 3, 7, 37, .values = VALUES_RANDOM},
        {"threshold=100 size=9 plane=sinogram", 2, 40, 133, .values = VALUES_RANDOM},
    };
    cr_assert_eq(ts_stage_check(&outliers_stage, ts_outliers_oracle, cases, 11), (9 * 8 + 2) * 7);
}

/* Nothing but the outliers changes, and each becomes what it was before but for noise. */
TEST_ON_BOTH(outliers, zingers_go_and_the_rest_stays)
{
    struct ts_image in = sinogram(9, 60, 200, TS_U16, 5);
    struct stage_run run;
    uint16_t *values = in.data;
    const size_t n = ts_image_count(&in);
    uint16_t *clean = malloc(n * sizeof *clean);
    memcpy(clean, values, n * sizeof *clean);
    double added[9] = {0};
    for (size_t i = 7; i < n; i += 997) {
        values[i] = 60000;
        added[i / (60 * 200)]++;
    }
    cr_assert_eq(ts_test_run(&run, &outliers_stage, "threshold=20000", &in, NULL, 4, 2), TS_OK);
    for (size_t i = 0; i < n; i++) {
        const uint16_t is = ((uint16_t *)run.out.data)[i];
        cr_assert(values[i] == 60000 ? abs(is - clean[i]) < 400 : is == clean[i],
                  "value %zu is %d, was %d", i, is, clean[i]);
    }
    cr_assert_eq(run.out.quantity, in.quantity);
    for (int z = 0; z < 9; z++)
        cr_assert_eq(ts_test_table_at(&run, "replaced", z), added[z], "slice %d", z);
    ts_test_run_clear(&run);
    for (int size = 5; size <= 7; size += 2) {
        char assignments[80];
        snprintf(assignments, sizeof assignments,
                 "threshold=20000 kind=both plane=sinogram size=%d", size);
        cr_assert_eq(ts_test_run(&run, &outliers_stage, assignments, &in, NULL, 2, 1), TS_OK);
        for (int z = 0; z < 9; z++)
            cr_assert_eq(ts_test_table_at(&run, "replaced", z), added[z], "slice %d", z);
        ts_test_run_clear(&run);
    }
    free(clean);
    free(in.data);
}

TEST_ON_BOTH(outliers, nan_and_infinity)
{
    struct ts_image in = sinogram(1, 9, 40, TS_F32, 6);
    float *values = in.data;
    values[4 * 40 + 3] = NAN;
    values[4 * 40 + 9] = INFINITY;
    values[4 * 40 + 15] = -INFINITY;
    for (int i = 0; i < 9; i++)
        values[(3 + i / 3) * 40 + 30 + i % 3] = NAN;
    values[4 * 40 + 31] = 1e30f;
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &outliers_stage, "threshold=1e6 kind=both plane=sinogram", &in,
                             NULL, 0, 1),
                 TS_OK);
    const float *out = run.out.data;
    cr_assert(isnan(out[4 * 40 + 3]));
    cr_assert(fabsf(out[4 * 40 + 9]) < 3000 && fabsf(out[4 * 40 + 15]) < 3000);
    cr_assert_eq(out[4 * 40 + 31], 1e30f); /* its median is NaN */
    for (int i = 0; i < 360; i++)
        if (fabsf(values[i]) < 1e6f)
            cr_assert_eq(out[i], values[i]);
    ts_test_run_clear(&run);
    free(in.data);
}

static void compare_with_scipy(const char *file, int size)
{
    char name[32], assignments[64];
    size_t n, n_theirs;
    double *image = ts_test_read_hdf5(file, "input", &n);
    snprintf(name, sizeof name, "median/%d", size);
    snprintf(assignments, sizeof assignments, "threshold=0 kind=both plane=sinogram size=%d", size);
    double *theirs = ts_test_read_hdf5(file, name, &n_theirs);
    cr_assert(n == 152 * 152 && n_theirs == n);
    struct ts_image in = sinogram(1, 152, 152, TS_F32, 1);
    struct stage_run run;
    for (size_t i = 0; i < n; i++)
        ((float *)in.data)[i] = (float)image[i];
    cr_assert_eq(ts_test_run(&run, &outliers_stage, assignments, &in, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(((float *)run.out.data)[i], (float)theirs[i], "%s, %s, value %zu", file, name,
                     i);
    ts_test_run_clear(&run);
    free(in.data);
    free(image);
    free(theirs);
}

/* scipy.ndimage.median_filter(mode="reflect") of a CT and an MR slice, from files that it wrote. */
TEST_ON_BOTH(outliers, medians_are_those_of_scipy)
{
    SKIP_WITHOUT_DATA("outliers");
    for (int size = 3; size <= 5; size += 2) {
        compare_with_scipy("reference/generated/filters_ct_ge_head.h5", size);
        compare_with_scipy("reference/generated/filters_mr_sts001.h5", size);
    }
}

Test(outliers, refuses_windows_without_a_middle)
{
    struct ts_image in = sinogram(1, 3, 4, TS_F32, 1);
    ts_test_refuses(&outliers_stage, "threshold=1 size=4", &in, NULL, "size-even", "");
    in.axes[1].kind = TS_AXIS_Y;
    in.axes[2].kind = TS_AXIS_X;
    ts_test_refuses(&outliers_stage, "threshold=1", &in, NULL, "stage-axes", "");
    free(in.data);
}
