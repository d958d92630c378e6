/* SPDX-License-Identifier: Apache-2.0
 *
 * Backprojection on tensor cores keeps to its stated errors. test_fbp.c compares it in the loop of
 * all methods.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/projection/backproject_oracle.h"
#include "tests/support/skip.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

static void check_l2(const char *method, const struct ts_image *in, double bound)
{
    char text[96];
    struct stage_run run;
    snprintf(text, sizeof text, "model=linear weights=angles rows=70 method=%s", method);
    cr_assert_eq(ts_test_run(&run, &backproject_stage, text, in, NULL, 0, 1), TS_OK);
    const size_t n_in = ts_image_count(in), n_out = ts_image_count(&run.out);
    double *rows = malloc(n_in * sizeof *rows), *expected = malloc(n_out * sizeof *expected),
           error = 0, all = 0;
    ts_load_f64(rows, in->data, in->dtype, n_in);
    ts_backproject_oracle(&run.context, rows, expected);
    for (size_t i = 0; i < n_out; i++) {
        error += pow(((const float *)run.out.data)[i] - expected[i], 2);
        all += expected[i] * expected[i];
    }
    cr_assert(sqrt(error / all) <= bound, "%s: relative L2 error %g, expected at most %g", method,
              sqrt(error / all), bound);
    free(rows);
    free(expected);
    ts_test_run_clear(&run);
}

/* Positive values that take all bits of a float, at both ends of its range, and even ones. */
Test(backproject, tensor_cores_keep_their_l2_errors_on_cuda)
{
    static const float brightness[] = {1, 1e-36F, 1e34F};
    ts_test_begin_cuda();
    if (ts_test_device->code < CUDA_TENSOR_CODE)
        ts_test_skip("tensor cores of compute capability 8.0 are needed");
    struct ts_image in = ts_test_image(2, 256, 93, TS_F32, VALUES_RANDOM, 8);
    ts_test_sinogram(&in);
    float *values = in.data;
    for (size_t i = 0; i < 4; i++) {
        uint64_t seed = 12;
        for (size_t k = 0; k < ts_image_count(&in); k++)
            values[k] = i == 3 ? 3.3F : (float)ts_random_unit(&seed) * brightness[i];
        check_l2("tensor", &in, 5e-5);
        check_l2("tensor-split", &in, 1e-6);
    }
    free(in.data);
    ts_test_end_cuda();
}

/* Numbers whose filtered row is none: the slice is as by `pixel`, and the others hold numbers. */
Test(backproject, tensor_cores_do_not_spread_what_overflows_on_cuda)
{
    static const char *const methods[] = {"method=tensor", "method=tensor-split"};
    ts_test_begin_cuda();
    if (ts_test_device->code < CUDA_TENSOR_CODE)
        ts_test_skip("tensor cores of compute capability 8.0 are needed");
    for (size_t m = 0; m < 2; m++) {
        struct ts_image in = ts_test_image(3, 29, 40, TS_F32, VALUES_RANDOM, 4);
        struct stage_run run, pixel;
        ts_test_sinogram(&in);
        for (size_t d = 0; d < 40; d++)
            ((float *)in.data)[29 * 40 + 11 * 40 + d] = 3e38F;
        cr_assert_eq(ts_test_run(&run, &fbp_stage, methods[m], &in, NULL, 0, 1), TS_OK);
        cr_assert_eq(ts_test_run(&pixel, &fbp_stage, "method=pixel", &in, NULL, 0, 1), TS_OK);
        size_t no_numbers = 0;
        for (size_t i = 0; i < ts_image_count(&run.out); i++) {
            const float is = ((const float *)run.out.data)[i],
                        expected = ((const float *)pixel.out.data)[i];
            no_numbers += !isfinite(is);
            cr_assert(isfinite(is) == isfinite(expected) && (isfinite(is) || i / 1600 == 1),
                      "%s: element %zu is %g, expected %g", methods[m], i, (double)is,
                      (double)expected);
        }
        cr_assert(no_numbers > 0);
        ts_test_run_clear(&run);
        ts_test_run_clear(&pixel);
        free(in.data);
    }
    ts_test_end_cuda();
}

/* The plan says which devices. */
Test(backproject, tensor_cores_of_older_devices_are_refused)
{
    const struct device_numbers older = {.name = "Old", .major = 7, .minor = 5},
                                newer = ts_test_device_of(CUDA_TENSOR_CODE);
    static const struct {
        const char *text, *code;
        bool newer;
        int64_t detectors;
    } rows[] = {{"model=linear method=tensor", "tensor-capability", false, 4},
                {"model=linear method=tensor-split", "tensor-capability", false, 4},
                {"model=joseph method=tensor", "tensor-capability", false, 4},
                {"model=linear method=tensor-split", NULL, true, 4},
                {"rows=9 columns=9 method=tensor-split", "tensor-size", true, 200000000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        in.axes[2].n = rows[i].detectors;
        ts_test_sinogram(&in);
        ts_test_params(&backproject_stage, rows[i].text, &set);
        const enum ts_status status =
            ts_stage_prepare(&backproject_stage, &set, &in, NULL, 1,
                             rows[i].newer ? &newer : &older, diag, &context);
        cr_assert_eq(status, rows[i].code ? TS_BAD_CHAIN : TS_OK, "%s", rows[i].text);
        if (rows[i].code)
            cr_assert_str_eq(ts_diag_get(diag, 0)->code, rows[i].code);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}

/* `auto` is the fastest method that may run: tensor-split from 32 slices on. */
Test(backproject, auto_is_the_fastest_method_that_may_run)
{
    const struct device_numbers older = {.name = "Old", .major = 7, .minor = 5, .code = 75},
                                newer = ts_test_device_of(CUDA_TENSOR_CODE);
    static const struct {
        const char *text;
        const struct stage *stage;
        int64_t slices, detectors;
        bool newer;
        enum back_method method;
    } rows[] = {
        {"", &backproject_stage, 32, 4, true, BACK_METHOD_TENSOR_SPLIT},
        {"model=linear", &backproject_stage, 512, 4, true, BACK_METHOD_TENSOR_SPLIT},
        {"", &fbp_stage, 32, 4, true, BACK_METHOD_TENSOR_SPLIT},
        {"", &fbp_stage, 31, 4, true, BACK_METHOD_STACK},
        {"", &fbp_stage, 5, 4, true, BACK_METHOD_PIXEL},
        {"", &fbp_stage, 32, 4, false, BACK_METHOD_STACK},
        {"method=stack", &fbp_stage, 32, 4, true, BACK_METHOD_STACK},
        {"rows=9 columns=9 center=7", &backproject_stage, 32, 200000000, true, BACK_METHOD_STACK},
        {"pixel_size=2", &backproject_stage, 32, 4, true, BACK_METHOD_STACK},
        {"pixel_size=2 weights=angles", &backproject_stage, 32, 4, true, BACK_METHOD_PIXEL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        in.axes[0].n = rows[i].slices;
        in.axes[2].n = rows[i].detectors;
        ts_test_sinogram(&in);
        ts_test_params(rows[i].stage, rows[i].text, &set);
        cr_assert_eq(ts_stage_prepare(rows[i].stage, &set, &in, NULL, 1,
                                      rows[i].newer ? &newer : &older, diag, &context),
                     TS_OK, "row %zu", i);
        cr_assert_eq(((const struct reconstruction_params *)context.params)->method, rows[i].method,
                     "row %zu", i);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}
