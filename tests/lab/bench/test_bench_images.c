/* SPDX-License-Identifier: Apache-2.0
 *
 * The benchmark times its stages on these images.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/phantom.h"
#include "io/file/new_folder.h"
#include "lab/bench/bench.h"
#include "tests/support/support.h"

TestSuite(bench_images);

Test(bench_images, images_are_what_they_say)
{
    const struct stage *stage = ts_stage_find("radon");
    for (int values = 0; values < BENCH_VALUES; values++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
            struct bench_case which = {
                .stage = stage, .dtype = dtype, .values = values, .nz = 2, .ny = 40, .nx = 30};
            struct ts_image a = ts_bench_image(&which), b = ts_bench_image(&which);
            const size_t n = ts_image_count(&a);
            double *numbers = malloc(n * sizeof *numbers), low = INFINITY, high = -INFINITY;
            cr_assert_eq(n, 2400);
            cr_assert(!memcmp(a.data, b.data, ts_image_bytes(&a)));
            ts_load_f64(numbers, a.data, a.dtype, n);
            for (size_t i = 0; i < n; i++) {
                low = fmin(low, numbers[i]);
                high = fmax(high, numbers[i]);
            }
            cr_assert_eq(low == high, values == BENCH_CONSTANT, "%s %s: %g to %g",
                         ts_dtype_name(dtype), ts_bench_values_names[values], low, high);
            free(numbers);
            free(a.data);
            free(b.data);
        }
}

/* Every view of a parallel beam has the same sum, and those of a fan that is not wide nearly so. */
Test(bench_images, line_integrals_are_of_one_object)
{
    const struct stage *stage = ts_stage_find("fbp");
    for (int kind = TS_BEAM_PARALLEL; kind <= TS_BEAM_FAN_FLAT; kind++) {
        struct bench_case which = {
            .stage = stage, .dtype = TS_F32, .values = BENCH_CT, .nz = 1, .ny = 90, .nx = 200};
        snprintf(which.parameters, sizeof which.parameters, "filter=ramp scan=%s",
                 ts_beam_name(kind));
        struct ts_image image = ts_bench_image(&which);
        double least = INFINITY, most = 0;
        cr_assert(image.quantity == TS_LINE_INTEGRAL && image.beam.kind == (enum ts_beam_kind)kind);
        for (int64_t view = 0; view < 90; view++) {
            double sum = 0;
            for (int64_t d = 0; d < 200; d++)
                sum += (double)((float *)image.data)[view * 200 + d];
            least = fmin(least, sum);
            most = fmax(most, sum);
        }
        cr_assert(least > 0 && most / least - 1 < (kind == TS_BEAM_PARALLEL ? 0.002 : 0.1),
                  "%s: %g to %g", ts_beam_name(kind), least, most);
        free(image.data);
    }
}

/* Images twice as large repeat the pixels of the middle slice, from 0 on in integers and as they
 * are in floats. */
Test(bench_images, are_made_of_a_given_slice)
{
    enum { NX = 24, NY = 20, NZ = 3 };
    struct phantom_options options = PHANTOM_OPTIONS_DEFAULT;
    struct ts_diag *diag = ts_diag_create();
    struct bench_slice slice;
    char folder[256], path[300];
    double rendered[NY * NX], found[4 * NY * NX];
    options.nx = NX;
    options.ny = NY;
    options.nz = NZ;
    cr_assert_eq(ts_temporary_folder_make("/tmp", folder, sizeof folder, diag), TS_OK);
    snprintf(path, sizeof path, "%s/study", folder);
    cr_assert_eq(ts_phantom_write("shepp-logan", &options, path, diag), TS_OK);
    cr_assert_eq(ts_bench_slice_read(path, &slice, diag), TS_OK);
    ts_phantom_render(ts_phantom_find("shepp-logan"), &options, NZ / 2, rendered);
    for (int dtype = TS_U16; dtype <= TS_F32; dtype++) {
        const struct bench_case which = {.stage = ts_stage_find("box"),
                                         .dtype = (enum ts_dtype)dtype,
                                         .nz = 1,
                                         .ny = 2 * NY,
                                         .nx = 2 * NX,
                                         .given = &slice};
        struct ts_image image = ts_bench_image(&which);
        ts_load_f64(found, image.data, image.dtype, 4 * NY * NX);
        for (int y = 0; y < 2 * NY; y++)
            for (int x = 0; x < 2 * NX; x++) {
                const double value =
                    rint(rendered[y / 2 * NX + x / 2]) - (dtype == TS_F32 ? 0 : slice.low);
                cr_assert_eq(found[y * 2 * NX + x], value, "%s (%d, %d): %g, not %g",
                             ts_dtype_name(dtype), x, y, found[y * 2 * NX + x], value);
            }
        free(image.data);
    }
    free(slice.values);
    cr_expect_eq(ts_bench_slice_read("/does/not/exist", &slice, diag), TS_BAD_INPUT);
    ts_temporary_folder_remove(folder);
    ts_diag_destroy(diag);
}
