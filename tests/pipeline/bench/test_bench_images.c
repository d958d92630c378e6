/* SPDX-License-Identifier: Apache-2.0
 *
 * What the benchmark times its stages on.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/bench/bench.h"
#include "tests/support/support.h"

TestSuite(bench_images);

Test(bench_images, images_are_what_they_say)
{
    const struct stage *stage = ts_stage_find("radon");
    for (int values = 0; values < BENCH_VALUES; values++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
            struct bench_case which = {.stage = stage, .dtype = dtype, .values = values, .nz = 2, .ny = 40, .nx = 30};
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
            cr_assert_eq(low == high, values == BENCH_CONSTANT, "%s %s: %g to %g", ts_dtype_name(dtype),
                         ts_bench_values_names[values], low, high);
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
        struct bench_case which = {.stage = stage, .dtype = TS_F32, .values = BENCH_CT, .nz = 1, .ny = 90, .nx = 200};
        snprintf(which.parameters, sizeof which.parameters, "filter=ramp scan=%s", ts_beam_name(kind));
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
        cr_assert(least > 0 && most / least - 1 < (kind == TS_BEAM_PARALLEL ? 0.002 : 0.1), "%s: %g to %g",
                  ts_beam_name(kind), least, most);
        free(image.data);
    }
}
