/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/support/oracles.h"
#include "tests/support/stage_check.h"

Test(bench_error, says_why_it_is_unknown)
{
    const struct bench_case cases[] = {
        {.stage = ts_stage_find("box"), .parameters = "radius=1", .dtype = TS_U16},
        {.stage = ts_stage_find("histogram"), .dtype = TS_U16},
        {.stage = ts_stage_find("equalize"), .parameters = "reference=itself", .dtype = TS_U16}};
    const char *const reasons[] = {"no oracle", "no oracle", "no references"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_oracles oracles = {.map = i == 2 ? ts_oracles_of(cases[i].stage).map : NULL};
        const struct bench_error error = ts_oracle_error(&cases[i], NULL, oracles);
        cr_assert(isnan(error.distance));
        cr_assert(strstr(error.unknown, reasons[i]), "%s", error.unknown);
    }
}

static const char *spoiled_table;

static void spoil(struct bench_tables *tables)
{
    double *values = ts_bench_table(tables, spoiled_table);
    cr_assert_not_null(values, "%s", spoiled_table);
    values[0] += 1;
}

/* The oracle with one number of one table off by one. */
static void spoiled_results(const struct stage_context *context,
                            const struct ts_image inputs[STAGE_INPUTS], double *out,
                            struct bench_tables *tables)
{
    ts_oracles_of(context->stage).results(context, inputs, out, tables);
    spoil(tables);
}

static void spoiled_tables(const struct stage_context *context, const double *in, const double *out,
                           struct bench_tables *tables)
{
    ts_oracles_of(context->stage).tables(context, in, out, tables);
    spoil(tables);
}

static struct bench_oracles spoiled_oracles(struct bench_oracles oracles)
{
    oracles.results = oracles.results ? spoiled_results : NULL;
    oracles.tables = spoiled_tables;
    return oracles;
}

/* On either device tables are compared with what they should be, and not with what they are
 * elsewhere. */
TEST_ON_BOTH(bench_error, a_wrong_table_shows)
{
    static const struct {
        const char *stage, *parameters, *table;
        double most; /* of what is right */
    } rows[] = {
        {"histogram", "bins=256 limits=dtype", "counts", 0},
        {"histogram", "bins=4096 range=0,4096", "edges", 0},
        {"histogram", "bins=4096 range=0,4096 scope=slice", "overflow", 0},
        {"histogram", "bins=256 range=0,4096 labels=itself n_labels=512", "label_counts", 0},
        {"histogram", "bins=256 range=0,4096 labels=itself n_labels=512", "other_counts", 0},
        {"histogram", "bins=4096 range=0,4096 reference=itself", "reference_counts", 0},
        {"histogram", "bins=4096 range=0,4096 reference=itself", "wasserstein", 0},
        {"statistics", "", "count", 1e-12},
        {"statistics", "scope=slice", "variance", 1e-12},
        {"statistics", "percentiles=1,50,99", "percentiles", 1e-12},
        {"flat_field", "combine=median", "dead", 1e-6},
        {"air", "detectors=4", "blocked", 1e-6},
        {"center", "method=opposite", "center", 1e-4},
        {"invert", "limits=data", "low", 0},
        {"invert", "limits=data scope=slice", "high", 0},
        {"rescale", "method=percentiles", "low", 1e-6},
        {"rescale", "method=z-score", "standard_deviation", 1e-6},
        {"minus_log", "nonpositive=floor", "floored", 1e-6},
        {"minus_log", "nonpositive=nan nonfinite=nan", "nonpositive", 1e-6},
        {"minus_log", "nonpositive=nan nonfinite=nan", "nonfinite", 1e-6},
        {"outliers", "threshold=100 kind=both", "replaced", 0},
        {"sirt", "iterations=3", "residual", 1e-4},
        {"sirt", "iterations=3", "iterations", 1e-4},
        {"cgls", "iterations=3", "residual", 1e-4},
        {"cgls", "iterations=9 stop=residual tolerance=0.5", "iterations", 1e-4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct stage *stage = ts_stage_find(rows[i].stage);
        struct bench_case which = {.stage = stage,
                                   .dtype = stage->dtypes & TS_DTYPE_BIT(TS_U16) ? TS_U16 : TS_F32,
                                   .values = BENCH_CT};
        snprintf(which.parameters, sizeof which.parameters, "%s", rows[i].parameters);
        const struct bench_oracles oracles = ts_oracles_of(which.stage);
        const struct bench_error right = ts_oracle_error(&which, ts_test_device, oracles);
        cr_expect(right.distance <= rows[i].most, "%s %s: %g, %s", rows[i].stage,
                  rows[i].parameters, right.distance, right.unknown);
        cr_expect(!*right.unknown || !strcmp(rows[i].stage, "center"), "%s: %s", rows[i].stage,
                  right.unknown);
        spoiled_table = rows[i].table;
        const struct bench_error wrong =
            ts_oracle_error(&which, ts_test_device, spoiled_oracles(oracles));
        cr_expect(wrong.distance > rows[i].most, "%s of %s %s: %g, %s", rows[i].table,
                  rows[i].stage, rows[i].parameters, wrong.distance, wrong.unknown);
    }
}

/* The rows of an iterative reconstruction show its errors, not how rounding grows where values are
 * projections of nothing. Conjugate gradients in floats leave the path of those in doubles after
 * six iterations, whatever they are given. */
Test(bench_error, of_iterative_reconstruction_is_that_of_a_scan)
{
    static const struct {
        const char *stage, *parameters;
    } rows[] = {{"sirt", "iterations=10"}, {"cgls", "iterations=5"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
            struct bench_case which = {
                .stage = ts_stage_find(rows[i].stage), .dtype = dtype, .values = BENCH_CT};
            snprintf(which.parameters, sizeof which.parameters, "%s", rows[i].parameters);
            const double error = ts_oracle_error(&which, NULL, ts_oracles_of(which.stage)).distance;
            cr_assert(error <= 1e-5, "%s %s: %g", rows[i].stage, ts_dtype_name(dtype), error);
        }
}
