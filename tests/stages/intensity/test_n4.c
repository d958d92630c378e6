/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/n4.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/intensity/n4_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(n4);

TEST_ON_BOTH(n4, agrees_with_the_papers)
{
    static const struct stage_case cases[] = {
        {.assignments = "shrink=1 iterations=2 threshold=0 bins=20"},
        {.assignments = "shrink=2 iterations=2,2 threshold=0 bins=33 fwhm=0.4",
         .nz = 9,
         .ny = 14,
         .nx = 31},
        {.assignments = "shrink=3 iterations=4,3,2 threshold=0 bins=40 noise=0.1 convention=exact",
         .values = VALUES_CT,
         .nz = 7,
         .ny = 25,
         .nx = 34},
        {.assignments = "shrink=1 iterations=3,0,2 threshold=0 bins=24 control_points=6,4,5",
         .values = VALUES_CT,
         .nz = 6,
         .ny = 19,
         .nx = 70},
        {.assignments = "shrink=2 iterations=3,3 threshold=0 bins=30 spline_distance=9",
         .values = VALUES_CT,
         .nz = 9,
         .ny = 33,
         .nx = 40},
        {.assignments = "iterations=6,6 threshold=0 convention=exact spline_distance=11",
         .values = VALUES_CT,
         .nz = 10,
         .ny = 31,
         .nx = 37,
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "iterations=20,20 threshold=0.0004",
         .values = VALUES_CT,
         .nz = 13,
         .ny = 40,
         .nx = 41,
         .dtypes = TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_F32)},
        {.assignments = "shrink=1 iterations=3", .values = VALUES_EXTREME},
        {.assignments = "shrink=1 iterations=3", .values = VALUES_CONSTANT},
    };
    cr_assert_geq(ts_stage_check(&n4_stage, ts_n4_oracle, cases, sizeof cases / sizeof *cases),
                  2 * 8 * 7);
}

/* ---- masks and weights ----------------------------------------------------------------------- */

enum { NZ = 6, NY = 22, NX = 29 };

static double *oracle_table(struct bench_tables *tables, const struct stage_run *run)
{
    const struct stage_table *of_run;
    tables->n = ts_stage_reduced_tables(run->reduced, &of_run);
    tables->tables = of_run;
    for (int i = 0; i < tables->n; i++)
        tables->values[i] = calloc(ts_image_count(&of_run[i].image) + 1, sizeof(double));
    return tables->values[0];
}

static void expect_oracle(const struct stage_run *run, const struct ts_image inputs[STAGE_INPUTS])
{
    const size_t n = ts_image_count(&run->out);
    double *out = calloc(n, sizeof *out);
    struct bench_tables tables = {0};
    oracle_table(&tables, run);
    ts_n4_oracle_results(&run->context, inputs, out, &tables);
    for (size_t i = 0; i < n; i++) {
        const double found = (double)((const float *)run->out.data)[i];
        cr_assert((isnan(found) && isnan(out[i])) || fabs(found - out[i]) <= 1e-4 * fabs(out[i]) ||
                      found == out[i],
                  "voxel %zu is %.9g, expected %.9g", i, found, out[i]);
    }
    int known = 0;
    for (int t = 0; t < tables.n; t++) {
        const struct ts_image *image = &tables.tables[t].image;
        for (size_t i = 0; tables.known[t] && i < ts_image_count(image); i++) {
            const double found = ts_test_table_at(run, tables.tables[t].name, (int64_t)i),
                         expected = tables.values[t][i];
            cr_assert((isnan(found) && isnan(expected)) ||
                          fabs(found - expected) <= 1e-4 * fabs(expected) + 1e-6,
                      "%s %zu is %.9g, expected %.9g", tables.tables[t].name, i, found, expected);
        }
        known += tables.known[t];
        free(tables.values[t]);
    }
    cr_assert_eq(known, 4);
    free(out);
}

/* An image with invalid voxels and values that have no logarithm, a mask and weights, of which some
 * are 0, negative or no numbers: what counts is what the oracle counts. */
TEST_ON_BOTH(n4, counts_voxels_by_mask_weight_and_validity)
{
    static const int64_t slabs[] = {1, 2, 3, 0};
    struct ts_image inputs[STAGE_INPUTS] = {
        ts_test_image(NZ, NY, NX, TS_F32, VALUES_CT, 3),
        ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 4),
        ts_test_image(NZ, NY, NX, TS_F32, VALUES_RANDOM, 5),
    };
    float *values = inputs[0].data, *weights = inputs[2].data;
    uint8_t *mask = inputs[1].data;
    for (int i = 0; i < NZ * NY * NX; i++) {
        values[i] = fabsf(values[i]) + 1;
        mask[i] = mask[i] % 4 ? 7 : 0;
        weights[i] /= 1000;
    }
    values[5] = values[NY * NX + 77] = NAN;
    values[6] = INFINITY;
    values[4 * NY * NX + 31] = 0;
    values[4 * NY * NX + 32] = -3;
    weights[2 * NY * NX + 3] = NAN;
    weights[2 * NY * NX + 4] = INFINITY;
    mask[5] = mask[6] = mask[4 * NY * NX + 31] = mask[4 * NY * NX + 32] = 1;
    ts_test_mask(&inputs[0], MASKED_SOME, 1e9, 6);
    for (int which = 0; which < 4; which++) {
        struct ts_image given[STAGE_INPUTS] = {inputs[0]};
        const struct ts_image *references[STAGE_REFERENCES] = {0};
        struct stage_run first = {0}, run;
        for (int r = 0; r < 2; r++)
            if (which >> r & 1) {
                given[1 + r] = inputs[1 + r];
                references[r] = &inputs[1 + r];
            }
        for (int s = 0; s < 4; s++) {
            ts_test_run_references(&run, &n4_stage,
                                   "shrink=1 iterations=3,2 threshold=0 bins=50 field=true",
                                   &inputs[0], references, slabs[s], 1 + s % 3);
            cr_assert_eq(run.status, TS_OK);
            if (s == 0) {
                first = run;
                continue;
            }
            cr_assert(!memcmp(run.out.data, first.out.data, ts_image_bytes(&run.out)), "slab %d",
                      (int)slabs[s]);
            ts_test_run_clear(&run);
        }
        expect_oracle(&first, given);
        ts_test_run_clear(&first);
    }
    for (int i = 0; i < 3; i++)
        free(inputs[i].data);
    free(inputs[0].valid);
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Two tissues that alternate in blocks, with a little noise, in a field that rises across the
 * volume: what is left of the field has a standard deviation of less than 1 %, and that of the
 * field is above 8 %. */
TEST_ON_BOTH(n4, takes_a_known_field_off)
{
    enum { N = 40 };
    struct ts_image in = ts_test_image(N, N, N, TS_F32, VALUES_CONSTANT, 1);
    float *values = in.data;
    double *field = malloc(sizeof *field * N * N * N), sum[2] = {0}, squares[2] = {0};
    uint64_t state = 5;
    for (int i = 0; i < N * N * N; i++) {
        const double x = (i % N) / (double)N - 0.5, y = (i / N % N) / (double)N - 0.5,
                     z = (i / N / N) / (double)N - 0.5;
        const bool other = (i % N / 5 + i / N % N / 7 + i / N / N / 6) % 2;
        field[i] = exp(0.35 * x - 0.2 * y + 0.3 * z * z + 0.2 * x * y);
        values[i] =
            (float)((other ? 400 : 700) * field[i] * (0.98 + 0.04 * ts_random_unit(&state)));
    }
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &n4_stage, "iterations=50,50 shrink=2 threshold=0 field=true",
                             &in, NULL, 0, 2),
                 TS_OK);
    const float *found = ts_test_table(&run, "field")->data;
    for (int i = 0; i < N * N * N; i++) {
        const double numbers[] = {field[i], (double)found[i] / field[i]};
        for (int k = 0; k < 2; k++) {
            sum[k] += numbers[k] / (N * N * N);
            squares[k] += numbers[k] * numbers[k] / (N * N * N);
        }
        cr_assert_float_eq(values[i] / found[i] / ((const float *)run.out.data)[i], 1, 1e-5);
    }
    const double before = sqrt(squares[0] - sum[0] * sum[0]) / sum[0],
                 after = sqrt(squares[1] - sum[1] * sum[1]) / sum[1];
    cr_assert_gt(before, 0.08);
    cr_assert_lt(after, 0.01, "%g of %g is left", after, before);
    ts_test_run_clear(&run);
    free(in.data);
    free(field);
}

/* If nothing counts, or all values are the same, the image stays as it is. The first is warned
 * of. */
TEST_ON_BOTH(n4, leaves_an_image_without_a_field_as_it_is)
{
    struct ts_image in = ts_test_image(5, 9, 8, TS_U16, VALUES_CONSTANT, 1),
                    mask = ts_test_image(5, 9, 8, TS_U8, VALUES_CONSTANT, 1);
    for (int all = 0; all < 2; all++) {
        struct stage_run run;
        memset(mask.data, all, ts_image_bytes(&mask));
        cr_assert_eq(ts_test_run(&run, &n4_stage, "shrink=1", &in, &mask, 2, 2), TS_OK);
        for (int i = 0; i < 5 * 9 * 8; i++)
            cr_assert_eq(((const float *)run.out.data)[i], 7);
        cr_assert_eq(ts_diag_count(run.diag), all ? 0 : 1);
        if (!all)
            cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "n4-empty");
        cr_assert_eq(ts_test_table_at(&run, "iterations", 0), 0);
        ts_test_run_clear(&run);
    }
    free(in.data);
    free(mask.data);
}

Test(n4, refuses_lists_and_lattices_that_it_cannot_have)
{
    ts_test_refused(&n4_stage, "iterations=2.5", TS_F32, false, "n4-list");
    ts_test_refused(&n4_stage, "iterations=1,1;1,1", TS_F32, false, "n4-list");
    ts_test_refused(&n4_stage, "iterations=1,1,1,1,1,1,1,1,1", TS_F32, false, "n4-list");
    ts_test_refused(&n4_stage, "control_points=4,5", TS_F32, false, "n4-list");
    ts_test_refused(&n4_stage, "control_points=4.5", TS_F32, false, "n4-list");
    ts_test_refused(&n4_stage, "control_points=60 iterations=1,1", TS_F32, false, "n4-lattice");
    ts_test_refused(&n4_stage, "control_points=5 spline_distance=40", TS_F32, false,
                    "parameter-unused");
    struct ts_image in = ts_test_image(4, 5, 6, TS_F32, VALUES_RANDOM, 1);
    in.axes[0].unit = "pixel";
    ts_test_refuses(&n4_stage, "spline_distance=20", &in, NULL, "n4-spacing", "along z");
    free(in.data);
}
