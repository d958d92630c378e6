/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject of fan beams: the exact adjoint of radon.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/backproject.h"
#include "stages/radon.h"
#include "tests/reference/scan_reference.h"
#include "tests/support/scan_check.h"
#include "tests/support/support.h"

TestSuite(backproject_fan);

#define ARC                                                                                                            \
    {                                                                                                                  \
        TS_BEAM_FAN_ARC, 40, 60                                                                                        \
    }
#define FLAT                                                                                                           \
    {                                                                                                                  \
        TS_BEAM_FAN_FLAT, 40, 60                                                                                       \
    }

static void adjoint_reference(const struct stage_context *context, const double *in, double *out)
{
    const size_t n_rays = ts_slice_count(&context->in), n_pixels = ts_slice_count(&context->out);
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        ts_scan_backproject_reference(&context->out, &context->in, in + (size_t)z * n_rays, out + (size_t)z * n_pixels);
}

TEST_ON_BOTH(backproject_fan, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"", 3, 40, 23, .beam = ARC},
        {"", 3, 40, 23, .beam = FLAT},
        {"rows=13 columns=41 pixel_size=0.7 row_spacing=0.4", 1, 17, 31, .beam = FLAT, .center = 2.3, .arc = 300},
        {"rows=30 columns=3 pixel_size=1", 1, 17, 31, .beam = ARC, .center = -3.4},
        {"rows=9 columns=9 pixel_size=2.5", 2, 19, 80, .beam = FLAT},
        {"rows=1", 1, 5, 19, .beam = FLAT},
        {"rows=2 columns=1", 1, 3, 1, .beam = ARC},
        {"", 37, 9, 13, .beam = FLAT},
        {"", 131, 7, 9, .beam = ARC},
        {"rows=3 columns=5", 1, 2053, 5, .beam = FLAT},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_scan_check(&backproject_stage, adjoint_reference, cases, n), 4 * n);
}

static double product(const struct ts_image *a, const struct ts_image *b)
{
    const float *left = a->data, *right = b->data;
    double sum = 0;
    for (size_t i = 0; i < ts_image_count(a); i++)
        sum += (double)left[i] * right[i];
    return sum;
}

/* <A x, y> = <x, A' y> to 1e-6 of the norms, with values of both signs. */
static void check_pair(const char *assignments, const char *size, int64_t ny, int64_t nx)
{
    struct ts_image x = ts_test_image(5, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    uint64_t seed = 31;
    for (size_t i = 0; i < ts_image_count(&x); i++)
        ((float *)x.data)[i] = (float)(2 * ts_random_unit(&seed) - 1);
    struct stage_run forth, back;
    cr_assert_eq(ts_test_run(&forth, &radon_stage, assignments, &x, NULL, 0, 2), TS_OK, "%s", assignments);
    struct ts_image y = forth.out;
    y.data = malloc(ts_image_bytes(&y));
    for (size_t i = 0; i < ts_image_count(&y); i++)
        ((float *)y.data)[i] = (float)(2 * ts_random_unit(&seed) - 1);
    cr_assert_eq(ts_test_run(&back, &backproject_stage, size, &y, NULL, 0, 2), TS_OK, "%s", size);
    cr_assert_eq(ts_image_count(&back.out), ts_image_count(&x));
    const double left = product(&forth.out, &y), right = product(&x, &back.out);
    const double scale = sqrt(product(&forth.out, &forth.out) * product(&y, &y));
    cr_assert(scale > 0 && fabs(left - right) <= 1e-6 * scale, "%s: %.9g and %.9g of %.9g", assignments, left, right,
              scale);
    ts_test_run_clear(&forth);
    ts_test_run_clear(&back);
    free(y.data);
    free(x.data);
}

TEST_ON_BOTH(backproject_fan, is_the_adjoint_of_radon)
{
    static const char *const beams[] = {"fan-arc", "fan-flat"}, *const methods[] = {"joseph", "ray", "stack"};
    for (int b = 0; b < 2; b++)
        for (int m = ts_test_device ? 1 : 0; m < (ts_test_device ? 3 : 1); m++) {
            char text[160];
            snprintf(text, sizeof text, "views=47 start=3 beam=%s source_axis=60 source_detector=95 method=%s",
                     beams[b], methods[m]);
            check_pair(text, "rows=61 columns=83 pixel_size=0.5 row_spacing=0.7", 61, 83);
            snprintf(text, sizeof text,
                     "views=31 arc=200 detectors=301 detector_spacing=0.11 center=99 beam=%s source_axis=20 "
                     "source_detector=30 method=%s",
                     beams[b], methods[m]);
            check_pair(text, "rows=37 columns=29 pixel_size=0.5 row_spacing=0.7", 37, 29);
            snprintf(text, sizeof text,
                     "views=31 detectors=9 detector_spacing=5 beam=%s source_axis=40 source_detector=90 method=%s",
                     beams[b], methods[m]);
            check_pair(text, "rows=37 columns=1 pixel_size=0.5 row_spacing=0.7", 37, 1);
        }
}

Test(backproject_fan, refuses_what_belongs_to_fbp)
{
    static const char *const wrong[][2] = {
        {"model=linear", "model-beam"}, {"weights=angles", "weights-beam"}, {"pixel_size=3", "source-inside"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        static const struct scan_case which = {"", 1, 40, 29, .beam = ARC};
        struct ts_image in = ts_test_scan(&which, 5);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &backproject_stage, wrong[i][0], &in, NULL, 0, 1), TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, wrong[i][1]);
        ts_test_run_clear(&run);
        free(in.data);
    }
}
