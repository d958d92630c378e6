/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/reconstruction/sirt.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/npy.h"
#include "tests/stages/reconstruction/iterate_tests.h"
#include "tests/stages/reconstruction/sirt_oracle.h"
#include "tests/support/scan_check.h"
#include "tests/support/support.h"

TestSuite(sirt);

ITERATE_TESTS(sirt)

TEST_ON_BOTH(sirt, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"iterations=1", 1, 13, 17},
        {"iterations=12", 3, 19, 23},
        {"iterations=12", 3, 19, 23, .beam = SCAN_ARC},
        {"iterations=12", 3, 19, 23, .beam = SCAN_FLAT},
        {"iterations=8 nonnegative=true relaxation=1.7", 2, 12, 21, .center = 1.3},
        {"iterations=8 nonnegative=true relaxation=0.3", 2, 12, 21, .beam = SCAN_FLAT,
         .center = -2.2},
        {"iterations=5 rows=9 columns=31 pixel_size=0.61", 1, 17, 19, .arc = 360},
        {"iterations=5 rows=40 columns=1", 1, 17, 19, .beam = SCAN_ARC, .arc = 220},
        {"iterations=4 center=8.5 row_spacing=0.7 rows=14", 2, 15, 19},
        {"iterations=4 pixel_size=0.9 rows=12 columns=11", 18, 15, 19},
        {"iterations=3", 1, 2, 1},
        {"iterations=3 rows=1", 2, 2, 29, .beam = SCAN_FLAT},
        {"iterations=40 stop=residual tolerance=0.45", 3, 11, 15},
        {"iterations=40 stop=discrepancy noise=0.8", 3, 11, 15, .beam = SCAN_ARC},
    };
    cr_assert_eq(ts_scan_check(&sirt_stage, ts_sirt_oracle, cases, sizeof cases / sizeof *cases),
                 sizeof cases / sizeof *cases);
}

TEST_ON_BOTH(sirt, agrees_by_every_method)
{
    static const struct scan_case cut_off[] = {
        {"iterations=3 method=pixel pixel_size=0.9 nonnegative=true", 21, 7, 11}};
    ts_scan_check_methods(&sirt_stage, ts_sirt_oracle);
    cr_assert_eq(ts_scan_check(&sirt_stage, ts_sirt_oracle, cut_off, 1), ts_test_device ? 1 : 0);
}

/* TomoPy's own test of its SIRT: a square of ones, 16 views over half a turn, 48 detectors, 4
 * iterations. It weighs rays by the squares of their lengths in pixels in place of the lengths, and
 * measures these exactly, where Joseph's rays interpolate: in the mean 2 % of the largest value lie
 * between the two. */
Test(sirt, is_near_that_of_tomopy)
{
    SKIP_WITHOUT_DATA("sirt/is_near_that_of_tomopy");
    enum { VIEWS = 16, SLICES = 8, SIDE = 48 };
    static float projections[VIEWS][SLICES][SIDE], theirs[SLICES][SIDE][SIDE];
    ts_test_npy("proj.npy", projections, sizeof projections);
    ts_test_npy("sirt.npy", theirs, sizeof theirs);
    static const struct scan_case which = {"", SLICES, VIEWS, SIDE};
    struct ts_image in = ts_test_scan(&which, 1);
    struct stage_run run;
    in.axes[1].first = 0;
    in.axes[2].spacing = 1;
    in.axes[2].first = -23.5;
    for (int z = 0; z < SLICES; z++)
        for (int v = 0; v < VIEWS; v++)
            memcpy((float *)in.data + ((size_t)z * VIEWS + (size_t)v) * SIDE, projections[v][z],
                   sizeof projections[v][z]);
    cr_assert_eq(ts_test_run(&run, &sirt_stage, "iterations=4", &in, NULL, 0, 2), TS_OK);
    double square = 0, largest = 0;
    for (size_t i = 0; i < (size_t)SLICES * SIDE * SIDE; i++) {
        const double off = ((const float *)run.out.data)[i] - ((const float *)theirs)[i];
        square += off * off;
        largest = fmax(largest, fabs(off));
    }
    const double rms = sqrt(square / (SLICES * SIDE * SIDE));
    cr_assert(rms <= 0.021 && largest <= 0.08, "rms %g, largest %g", rms, largest);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(sirt, describes_its_volume)
{
    struct scan_case which = {"iterations=1", 2, 4, 9, .beam = SCAN_FLAT};
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &sirt_stage, "iterations=1 rows=5", &in, NULL, 0, 1), TS_OK);
    const struct ts_axis *y = &run.out.axes[1], *x = &run.out.axes[2];
    cr_assert(y->kind == TS_AXIS_Y && y->n == 5 && x->kind == TS_AXIS_X && x->n == 9);
    cr_assert(y->spacing == 0.5 && x->spacing == 0.5); /* 0.75 mm on the detector */
    cr_assert_str_eq(run.out.unit, "1/mm");
    cr_assert_eq(run.out.quantity, TS_ATTENUATION);
    cr_assert_eq(run.out.beam.kind, TS_BEAM_PARALLEL);
    cr_assert(run.out.origin_mm[0] == in.origin_mm[0] - 2 &&
              run.out.origin_mm[1] == in.origin_mm[1] - 1);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(sirt, refuses_what_cannot_be)
{
    static const char *const wrong[][2] = {{"iterations=3 stop=discrepancy", "noise-missing"},
                                           {"iterations=3 pixel_size=20", "source-inside"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        static const struct scan_case which = {"", 1, 4, 9, .beam = SCAN_FLAT};
        struct ts_image in = ts_test_scan(&which, 5);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &sirt_stage, wrong[i][0], &in, NULL, 0, 1), TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, wrong[i][1]);
        ts_test_run_clear(&run);
        free(in.data);
    }
    static const struct scan_case which = {"", 1, 4, 9};
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    in.axes[1].unit = "";
    cr_assert_eq(ts_test_run(&run, &sirt_stage, "", &in, NULL, 0, 1), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "angles-missing");
    ts_test_run_clear(&run);
    free(in.data);
}

/* The rays of a fan differ from both sides. */
Test(sirt, one_direction_of_a_fan_is_modulo_a_turn)
{
    static double opposite[] = {0, 180}, same[] = {-90, 270};
    static const struct scan_case which = {"", 1, 2, 9, .beam = SCAN_FLAT};
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    in.axes[1].positions = same;
    ts_test_refuses(&sirt_stage, "iterations=1", &in, NULL, "one-direction",
                    "-90 degrees (modulo 360)");
    in.axes[1].positions = opposite;
    cr_assert_eq(ts_test_run(&run, &sirt_stage, "iterations=1", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    free(in.data);
}

/* The projector of tensor cores counts places of pixels in 32 bits, whatever the sinogram; and rays
 * may be too far apart for it. */
Test(sirt, tensor_cores_refuse_what_their_projector_cannot_take)
{
    static const struct {
        const char *text, *code;
    } rows[] = {{"method=tensor-split rows=24000 columns=24000", "tensor-size"},
                {"method=tensor rows=9000 columns=9000", NULL},
                {"method=tensor-split pixel_size=0.02", "tensor-apart"},
                {"method=stack rows=24000 columns=24000", NULL}};
    static const struct scan_case which = {"", 1, 40, 33};
    const struct device_numbers device = ts_test_device_of(CUDA_TENSOR_CODE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = ts_test_scan(&which, 5);
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        ts_test_params(&sirt_stage, rows[i].text, &set);
        const enum ts_status status =
            ts_stage_prepare(&sirt_stage, &set, &in, NULL, 1, &device, diag, &context);
        cr_assert_eq(status, rows[i].code ? TS_BAD_CHAIN : TS_OK, "%s", rows[i].text);
        if (rows[i].code)
            cr_assert_str_eq(ts_diag_get(diag, 0)->code, rows[i].code);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}

/* `auto` is tensor-split where both projectors may run by it, else stack. */
Test(sirt, auto_is_tensor_split_where_the_projector_takes_it)
{
    static const struct {
        const char *text;
        enum back_method method;
    } rows[] = {{"", BACK_METHOD_TENSOR_SPLIT},
                {"rows=12000 columns=12000", BACK_METHOD_STACK},
                {"pixel_size=0.02", BACK_METHOD_STACK},
                {"method=pixel", BACK_METHOD_PIXEL}};
    static const struct scan_case which = {"", 65, 4, 33};
    const struct device_numbers device = ts_test_device_of(CUDA_TENSOR_CODE);
    struct ts_image in = ts_test_scan(&which, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        ts_test_params(&sirt_stage, rows[i].text, &set);
        cr_assert_eq(ts_stage_prepare(&sirt_stage, &set, &in, NULL, 1, &device, diag, &context),
                     TS_OK, "%s", rows[i].text);
        cr_assert_eq(((const struct sirt_params *)context.params)->iterate.volume.method,
                     rows[i].method, "%s", rows[i].text);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
    }
    free(in.data);
}
