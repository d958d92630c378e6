/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/grid/grid_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ts_grid_place(struct ts_image *image, double turn, double lean, double askew)
{
    const double c = cos(turn), s = sin(turn), cl = cos(lean), sl = sin(lean);
    const double direction[9] = {c, s * cl, s * sl, -s, c * cl, c * sl, 0, -sl, cl};
    memcpy(image->direction, direction, sizeof direction);
    for (int i = 0; i < 3; i++) {
        image->origin_mm[i] = 0.37 * i - 0.21;
        image->step_z_mm[i] = image->axes[0].spacing * direction[6 + i] + askew * direction[3 + i] +
                              askew / 3 * direction[i];
    }
}

static void compare(const struct stage_run *run, stage_oracle *oracle, const struct ts_image *in,
                    const char *what)
{
    const struct ts_image *out = &run->out;
    const size_t n_in = ts_image_count(in), n = ts_image_count(out);
    double *values = malloc((n_in + 2 * n) * sizeof *values), *expected = values + n_in,
           *found = expected + n;
    double bound = 0;
    ts_load_f64(values, in->data, in->dtype, n_in);
    ts_load_f64(found, out->data, out->dtype, n);
    oracle(&run->context, values, expected);
    for (size_t i = 0; i < n; i++)
        bound = fmax(bound, fabs(expected[i]));
    bound = run->context.stage->tolerance.relative * bound +
            (ts_dtype_is_integer(out->dtype) ? 0.5 : 0);
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs(found[i] - expected[i]) <= bound, "%s: %zu is %g, not %g", what, i, found[i],
                  expected[i]);
    free(values);
}

static void run_on(const struct device_numbers *device, struct stage_run *run,
                   const struct stage *stage, const char *assignments, const struct ts_image *in,
                   const struct ts_image *reference, int64_t slab)
{
    const struct device_numbers *before = ts_test_device;
    ts_test_device = device;
    cr_assert_eq(ts_test_run(run, stage, assignments, in, reference, slab, 2), TS_OK, "%s",
                 assignments);
    ts_test_device = before;
}

void ts_grid_check(const struct stage *stage, stage_oracle *oracle, const char *assignments,
                   const struct ts_image *in, const struct ts_image *reference)
{
    for (int64_t slab = 0; slab < 2; slab++) {
        struct stage_run run, again;
        run_on(ts_test_device, &run, stage, assignments, in, reference, slab);
        compare(&run, oracle, in, assignments);
        run_on(NULL, &again, stage, assignments, in, reference, 0);
        if (!ts_test_device || ts_dtype_is_integer(in->dtype))
            cr_assert(!memcmp(run.out.data, again.out.data, ts_image_bytes(&run.out)),
                      "%s: other bytes", assignments);
        ts_test_run_clear(&run);
        ts_test_run_clear(&again);
    }
}
