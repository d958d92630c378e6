/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/scan_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/support.h"

struct ts_image ts_test_scan(const struct scan_case *which, uint64_t seed)
{
    const bool fan = which->beam.kind != TS_BEAM_PARALLEL;
    const double arc = which->arc > 0 ? which->arc : fan ? 360 : 180, pitch = fan ? 0.75 : 0.5;
    struct ts_image image = ts_test_image(which->nz, which->views, which->detectors, TS_F32, VALUES_CONSTANT, 1);
    image.axes[1] = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = which->views, .first = 7, .spacing = arc / (double)which->views, .unit = "degree"};
    image.axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                     .n = which->detectors,
                                     .spacing = pitch,
                                     .first = -(0.5 * (double)(which->detectors - 1) + which->center) * pitch,
                                     .unit = "mm"};
    image.beam = which->beam;
    image.quantity = TS_LINE_INTEGRAL;
    image.unit = "1";
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((float *)image.data)[i] = (float)(3 * ts_random_unit(&seed));
    return image;
}

static void compare(const struct stage *stage, const struct scan_case *which, const struct stage_run *run,
                    const struct ts_image *in, stage_oracle *oracle)
{
    const size_t n_in = ts_image_count(in), n_out = ts_image_count(&run->out);
    double *values = malloc(n_in * sizeof *values), *expected = malloc(n_out * sizeof *expected), scale = 0;
    ts_load_f64(values, in->data, TS_F32, n_in);
    oracle(&run->context, values, expected);
    for (size_t i = 0; i < n_out; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (size_t i = 0; i < n_out; i++) {
        const double is = ((const float *)run->out.data)[i], error = fabs(is - expected[i]);
        cr_assert(error <= stage->tolerance.relative * scale, "%s {%s} %s %lld x %lld x %lld, element %zu: %g, not %g",
                  stage->name, which->assignments, ts_beam_name(which->beam.kind), (long long)which->nz,
                  (long long)which->views, (long long)which->detectors, i, is, expected[i]);
    }
    free(values);
    free(expected);
}

size_t ts_scan_check(const struct stage *stage, stage_oracle *oracle, const struct scan_case *cases, size_t n)
{
    static const int64_t slabs[] = {0, 1, 3, 0};
    size_t compared = 0;
    for (size_t c = 0; c < n; c++) {
        struct ts_image in = ts_test_scan(&cases[c], 100 + c);
        struct stage_run first;
        const enum ts_status status = ts_test_run(&first, stage, cases[c].assignments, &in, NULL, 0, 1);
        if (status != TS_OK && !strcmp(ts_diag_get(first.diag, 0)->code, "choice-device")) {
            ts_test_run_clear(&first);
            free(in.data);
            continue;
        }
        cr_assert_eq(status, TS_OK, "%s {%s}: %s", stage->name, cases[c].assignments,
                     status != TS_OK ? ts_diag_get(first.diag, 0)->message : "");
        compare(stage, &cases[c], &first, &in, oracle);
        for (int i = 1; i < 4; i++) {
            struct stage_run again;
            cr_assert_eq(ts_test_run(&again, stage, cases[c].assignments, &in, NULL, slabs[i], i), TS_OK);
            cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)),
                      "%s {%s}: slabs of %lld on %d threads give other bytes", stage->name, cases[c].assignments,
                      (long long)slabs[i], i);
            ts_test_run_clear(&again);
            compared++;
        }
        ts_test_run_clear(&first);
        free(in.data);
        compared++;
    }
    return compared;
}
