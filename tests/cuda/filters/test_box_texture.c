/* SPDX-License-Identifier: Apache-2.0
 *
 * The method texture of box, and through it the textures of a stage's input that the framework
 * makes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/filters/box.h"
#include "tests/stages/filters/box_oracle.h"
#include "tests/support/skip.h"
#include "tests/support/stage_run.h"

TestSuite(box_texture);

Test(box_texture, agrees_with_the_definition_on_cuda)
{
    enum {
        LARGEST_INPUT = 3000
    }; /* floats are held to it, also where the values outside outweigh a small image */
    static const struct stage_case cases[] = {
        {.assignments = "radius=2 method=texture border=mirror"},
        {.assignments = "radius=2 method=texture", .nz = 3, .ny = 9, .nx = 37},
        {.assignments = "radius=2 method=texture border=nearest", .nz = 3, .ny = 9, .nx = 40},
        {.assignments = "radius=2 method=texture border=wrap", .nz = 3, .ny = 9, .nx = 37},
        {.assignments = "radius=2 method=texture border=constant constant=7",
         .nz = 3,
         .ny = 9,
         .nx = 36,
         .absolute = 1e-6 * LARGEST_INPUT},
        {.assignments = "radius=0 method=texture"},
        {.assignments = "radius=5 method=texture", .nz = 2, .ny = 67, .nx = 131},
        {.assignments = "radius=16 method=texture border=mirror",
         .nz = 2,
         .ny = 75,
         .nx = 70,
         .values = VALUES_EXTREME},
        {.assignments = "radius=100 method=texture border=constant constant=77",
         .nz = 1,
         .ny = 3,
         .nx = 5,
         .values = VALUES_EXTREME},
        {.assignments = "radius=1024 method=texture",
         .nz = 1,
         .ny = 1,
         .nx = 2,
         .values = VALUES_EXTREME},
    };
    ts_test_begin_cuda();
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  2 * 8 * 7 + 8 * 7);
    ts_test_end_cuda();
}

/* Expects the bytes of running-sum, which reads the same samples in the same order, but not through
 * textures. */
static void expect_bytes_of_running_sum(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype)
{
    struct ts_image in = ts_test_image(nz, ny, nx, dtype, VALUES_RANDOM, 3);
    struct ts_image texture = ts_test_output(&box_stage, "radius=9 method=texture", &in);
    struct ts_image shared = ts_test_output(&box_stage, "radius=9 method=running-sum", &in);
    cr_assert(!memcmp(texture.data, shared.data, ts_image_bytes(&in)));
    free(texture.data);
    free(shared.data);
    free(in.data);
}

Test(box_texture, gives_the_bytes_of_running_sum_on_cuda)
{
    ts_test_begin_cuda();
    expect_bytes_of_running_sum(5, 67, 131, TS_F32);
    ts_test_end_cuda();
}

/* A texture has at most 2^27 pixels: here the second one begins with a row in the middle of a
 * slice. */
Test(box_texture, reads_an_image_of_two_textures_on_cuda)
{
    ts_test_begin_cuda();
    if (ts_test_few())
        ts_test_skip("2^27 pixels take long");
    expect_bytes_of_running_sum(2, 9001, 8191, TS_U8);
    ts_test_end_cuda();
}
