/* SPDX-License-Identifier: Apache-2.0
 *
 * Radon's methods on tensor cores keep to their stated errors. test_radon.c compares them in the
 * loop of all methods.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/projection/radon.h"
#include "tests/stages/projection/radon_oracle.h"
#include "tests/support/skip.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

/* Checks the error that a method on tensor cores claims for slices of usual size: of positive
 * pixels, as attenuation is, with values that take all bits of a float. It is compared with the
 * oracle in double, which is slow, so 3 slices must do. */
static void check_l2(const char *method, const struct ts_image *in, double bound)
{
    char text[96];
    struct stage_run run;
    snprintf(text, sizeof text, "views=23 start=0.7 arc=180 detectors=301 method=%s", method);
    cr_assert_eq(ts_test_run(&run, &radon_stage, text, in, NULL, 0, 1), TS_OK);
    const size_t n_in = ts_image_count(in), n_out = ts_image_count(&run.out);
    double *pixels = malloc(n_in * sizeof *pixels), *expected = malloc(n_out * sizeof *expected),
           error = 0, all = 0;
    ts_load_f64(pixels, in->data, in->dtype, n_in);
    ts_radon_oracle(&run.context, pixels, expected);
    for (size_t i = 0; i < n_out; i++) {
        error += pow(((const float *)run.out.data)[i] - expected[i], 2);
        all += expected[i] * expected[i];
    }
    cr_assert(sqrt(error / all) <= bound, "%s: relative L2 error %g, expected at most %g", method,
              sqrt(error / all), bound);
    free(pixels);
    free(expected);
    ts_test_run_clear(&run);
}

Test(radon, tensor_cores_keep_their_l2_errors_on_cuda)
{
    ts_test_begin_cuda();
    if (ts_test_device->code < CUDA_TENSOR_CODE)
        ts_test_skip("tensor cores of compute capability 8.0 are needed");
    struct ts_image in = ts_test_image(3, 256, 261, TS_F32, VALUES_RANDOM, 8);
    in.axes[1].spacing = in.axes[2].spacing = 1;
    float *pixels = in.data;
    uint64_t seed = 12;
    for (size_t i = 0; i < ts_image_count(&in); i++)
        pixels[i] = (float)ts_random_unit(&seed);
    check_l2("tensor", &in, 5e-5);
    check_l2("tensor-split", &in, 1e-6);
    /* The same at the ends of the range of floats: each slice has its own scale. */
    for (size_t i = 0; i < ts_image_count(&in); i++)
        pixels[i] *= i < ts_image_count(&in) / 3       ? 1e-36f
                     : i < ts_image_count(&in) / 3 * 2 ? 1e34f
                                                       : 1;
    for (int z = 0; z < 3; z++) {
        struct ts_image slice = ts_image_slices(&in, z, 1);
        slice.z_first = 0;
        check_l2("tensor", &slice, 5e-5);
        check_l2("tensor-split", &slice, 1e-6);
    }
    for (size_t i = 0; i < ts_image_count(&in); i++)
        pixels[i] = 3.3f;
    check_l2("tensor", &in, 5e-5);
    check_l2("tensor-split", &in, 1e-6);
    free(in.data);
    ts_test_end_cuda();
}

/* Halves of this shape are multiplied from compute capability 8.0 on; the plan says so. */
Test(radon, tensor_cores_of_older_devices_are_refused)
{
    static const char *const tensor[] = {"method=tensor", "method=tensor-split"};
    const struct device_numbers older = {.name = "Old", .major = 7, .minor = 5},
                                newer = ts_test_device_of(CUDA_TENSOR_CODE);
    for (size_t i = 0; i < 2; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        ts_test_params(&radon_stage, tensor[i], &set);
        cr_assert_eq(ts_stage_prepare(&radon_stage, &set, &in, NULL, 1, &newer, diag, &context),
                     TS_OK);
        cr_assert_eq(ts_stage_prepare(&radon_stage, &set, &in, NULL, 1, &older, diag, &context),
                     TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, "tensor-capability");
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}

/* A plan for slices of this size on a device with tensor cores: refused by this code, or not
 * (NULL). No memory is needed for that. */
static void planned(const char *text, int64_t nz, int64_t ny, int64_t nx, const char *code)
{
    const struct device_numbers newer = ts_test_device_of(CUDA_TENSOR_CODE);
    struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
    struct ts_diag *diag = ts_diag_create();
    struct param_set set;
    struct stage_context context;
    ts_test_params(&radon_stage, text, &set);
    in.axes[0].n = nz;
    in.axes[1].n = ny;
    in.axes[2].n = nx;
    cr_assert_eq(ts_stage_prepare(&radon_stage, &set, &in, NULL, 1, &newer, diag, &context),
                 code ? TS_BAD_CHAIN : TS_OK, "%s, %lld x %lld x %lld", text, (long long)nz,
                 (long long)ny, (long long)nx);
    if (code)
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, code);
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
    free(in.data);
}

/* Kernels count places of samples in 32 bits. */
Test(radon, tensor_cores_refuse_slices_that_they_cannot_count)
{
    static const struct {
        const char *text;
        int64_t nz, ny, nx;
        bool refused;
    } rows[] = {{"method=tensor", 1, 32750, 32750, false},
                {"method=tensor", 1, 32768, 32768, true},
                {"method=tensor-split", 1, 23160, 23160, false},
                {"method=tensor-split", 1, 23176, 23176, true},
                {"method=tensor-split", 64, 23160, 23160, true},
                {"method=tensor-split", 128, 11570, 11570, false},
                {"method=tensor-split", 128, 11600, 11600, true},
                {"method=tensor detectors=9", 1, 17, 70000000, true},
                {"method=stack", 128, 32768, 32768, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        planned(rows[i].text, rows[i].nz, rows[i].ny, rows[i].nx,
                rows[i].refused ? "tensor-size" : NULL);
}

/* Windows of neighboring pixels do not hold them. The method is refused; none is put in its place
 * in silence. */
Test(radon, tensor_cores_refuse_rays_far_apart)
{
    static const struct {
        const char *text;
        bool refused;
    } rows[] = {{"method=tensor detector_spacing=5.5",
                 false}, /* pixels of 0.7 x 0.5 mm: 13.5 apart on a diagonal */
                {"method=tensor-split detector_spacing=6.5", false},
                {"method=tensor detector_spacing=6.6", true},
                {"method=tensor-split detector_spacing=100", true},
                {"method=ray detector_spacing=100", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        planned(rows[i].text, 1, 3, 4, rows[i].refused ? "tensor-apart" : NULL);
}
