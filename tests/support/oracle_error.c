/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures how far a case is from its oracle, in its map and its tables, on an image so small that
 * even the slowest oracle is done with it at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/driver.h"
#include "stages/engine/traits.h"
#include "tests/support/oracles.h"

enum { ERROR_NY = 67, ERROR_NX = 91 };
static const char other_image[] =
    "the stage does not take the small image that the oracle is given";

/* The largest distance and the largest value so far; a NaN that is not expected shows as
 * infinity. */
static void compare(const double *found, const double *expected, size_t n, double *distance,
                    double *largest)
{
    for (size_t i = 0; i < n; i++) {
        const bool same = found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i]));
        const double off = same ? 0 : fabs(found[i] - expected[i]);
        *largest = isfinite(expected[i]) ? fmax(*largest, fabs(expected[i])) : *largest;
        *distance = isnan(off) ? (double)INFINITY : fmax(*distance, off);
    }
}

double *ts_bench_table(struct bench_tables *tables, const char *name)
{
    for (int i = 0; i < tables->n; i++)
        if (!strcmp(tables->tables[i].name, name)) {
            tables->known[i] = true;
            return tables->values[i];
        }
    return NULL;
}

/* Widens the error by what was found: the largest distance and the stage's tolerance, as shares of
 * the largest value expected. */
static void widen(const struct stage_context *context, const struct ts_image *image,
                  const double *expected, struct bench_error *error)
{
    const struct stage_tolerance tolerance = ts_stage_tolerance(context);
    const size_t n = ts_image_count(image);
    double *found = calloc(n + 1, sizeof *found), distance = 0, largest = 0;
    if (!found)
        return;
    ts_load_f64(found, image->data, image->dtype, n);
    compare(found, expected, n, &distance, &largest);
    free(found);
    const double share = largest > 0 ? largest : 1;
    error->allowed = fmax(error->allowed, tolerance.relative + tolerance.absolute / share);
    error->distance = fmax(error->distance, distance / share);
}

/* Fills in both, of zeros, from the stage's oracle. */
static bool ask(const struct stage_context *context, const struct ts_image *in,
                struct bench_oracles oracles, double *out, struct bench_tables *tables)
{
    bool complete = true;
    for (int i = 0; i < tables->n; i++) {
        tables->values[i] = calloc(ts_image_count(&tables->tables[i].image) + 1, sizeof(double));
        complete = complete && tables->values[i];
    }
    if (oracles.results) {
        struct ts_image inputs[STAGE_INPUTS];
        ts_stage_inputs_alike(context, in, inputs);
        if (complete)
            oracles.results(context, inputs, out, tables);
        return complete;
    }
    const size_t n = ts_image_count(in);
    double *values = calloc(n + 1, sizeof *values);
    if (values) {
        ts_load_f64(values, in->data, in->dtype, n);
        oracles.map(context, values, out);
        if (oracles.tables && complete)
            oracles.tables(context, values, out, tables);
    }
    complete = complete && values;
    free(values);
    return complete;
}

/* Compares all that the stage gave; the distance stays NAN where there was nothing to compare. */
static void compare_all(const struct stage_context *context, const struct ts_image *result,
                        const double *out, const struct bench_tables *tables,
                        struct bench_error *error)
{
    if (context->stage->map)
        widen(context, result, out, error);
    for (int i = 0; i < tables->n; i++)
        if (tables->known[i])
            widen(context, &tables->tables[i].image, tables->values[i], error);
}

/* The names of the tables that nothing is known of. */
static void name_unknown(const struct bench_tables *tables, struct bench_error *error)
{
    size_t length = 0;
    for (int i = 0; i < tables->n; i++)
        if (!tables->known[i] && length < sizeof error->unknown)
            length += (size_t)snprintf(error->unknown + length, sizeof error->unknown - length,
                                       "%s%s", length ? ", " : "", tables->tables[i].name);
}

static struct bench_error against(struct stage_context *context, const struct ts_image *in,
                                  struct bench_oracles oracles)
{
    struct ts_image result = context->out;
    struct stage_reduced *reduced = NULL;
    struct bench_tables tables = {0};
    struct bench_error error = ts_bench_no_error("out of memory");
    double *out = calloc(ts_image_count(&result) + 1, sizeof *out);
    result.data = malloc(ts_image_bytes(&result) + 1);
    if (out && result.data) {
        const enum ts_status status = ts_bench_apply(context, in, &result, &reduced);
        if (status != TS_OK)
            error = ts_bench_no_error(other_image);
        else if (reduced)
            tables.n = ts_stage_reduced_tables(reduced, &tables.tables);
        if (status == TS_OK && ask(context, in, oracles, out, &tables)) {
            error = ts_bench_no_error("the stage works out no values");
            compare_all(context, &result, out, &tables, &error);
            if (!isnan(error.distance)) {
                error.unknown[0] = '\0';
                name_unknown(&tables, &error);
            }
        }
    }
    for (int i = 0; i < tables.n; i++)
        free(tables.values[i]);
    ts_stage_reduced_destroy(reduced);
    free(result.data);
    free(out);
    return error;
}

static bool has_references(const struct stage_context *context)
{
    bool any = false;
    for (int i = 0; i < STAGE_REFERENCES; i++)
        any = any || context->references[i];
    return any;
}

struct bench_error ts_oracle_error(const struct bench_case *which,
                                   const struct device_numbers *device,
                                   struct bench_oracles oracles)
{
    struct bench_case small = *which;
    struct bench_stage ready;
    struct ts_diag *diag = ts_diag_create();
    struct bench_error error = ts_bench_no_error("out of memory");
    small.nz = 1;
    small.ny = ERROR_NY;
    small.nx = ERROR_NX;
    struct ts_image in = ts_bench_image(&small);
    if (in.data && diag) {
        if (ts_bench_prepare(&ready, &small, NULL, 1, device, diag) != TS_OK)
            error = ts_bench_no_error(other_image);
        else if (oracles.results ||
                 (oracles.map && which->stage->map && !has_references(&ready.context)))
            error = against(&ready.context, &in, oracles);
        else
            error = ts_bench_no_error(oracles.map ? "the oracle knows of no references"
                                                  : "the stage has no oracle");
        ts_bench_stage_clear(&ready);
    }
    free(in.data);
    ts_diag_destroy(diag);
    return error;
}

struct bench_error ts_oracle_compare(const struct bench_case *which,
                                     const struct device_numbers *device)
{
    return ts_oracle_error(which, device, ts_oracles_of(which->stage));
}
