/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a case is from its oracle, on an image that even the slowest oracle is done with at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/stage_state.h"
#include "pipeline/bench.h"
#include "stages/execute.h"

enum { ERROR_NY = 67, ERROR_NX = 91 };

static enum ts_status apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                            struct stage_reduced **reduced)
{
    struct ts_image images[STAGE_INPUTS];
    const struct ts_image *references[STAGE_REFERENCES];
    ts_stage_inputs_alike(context, in, images);
    for (int i = 0; i < STAGE_REFERENCES; i++)
        references[i] = images[1 + i].data ? &images[1 + i] : NULL;
    return context->device ? ts_cuda_apply(context, in, out, references, 0, reduced)
                           : ts_stage_apply(context, in, out, references, 0, reduced);
}

/* The largest distance and the largest value so far; a NaN that is not expected shows as infinity. */
static void compare(const double *found, const double *expected, size_t n, double *distance, double *largest)
{
    for (size_t i = 0; i < n; i++) {
        const bool same = found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i]));
        const double off = same ? 0 : fabs(found[i] - expected[i]);
        *largest = isfinite(expected[i]) ? fmax(*largest, fabs(expected[i])) : *largest;
        *distance = isnan(off) ? (double)INFINITY : fmax(*distance, off);
    }
}

static double against_oracle(struct stage_context *context, const struct ts_image *in, bench_oracle *oracle)
{
    struct ts_image result = context->out;
    const size_t n_in = ts_image_count(in), n_out = ts_image_count(&result);
    double *values = calloc(n_in, sizeof *values), *found = calloc(n_out, sizeof *found),
           *expected = calloc(n_out, sizeof *expected), distance = 0, largest = 0, error = NAN;
    result.data = malloc(ts_image_bytes(&result) + 1);
    if (values && found && expected && result.data && apply(context, in, &result, NULL) == TS_OK) {
        ts_load_f64(values, in->data, in->dtype, n_in);
        ts_load_f64(found, result.data, result.dtype, n_out);
        oracle(context, values, expected);
        compare(found, expected, n_out, &distance, &largest);
        error = largest > 0 ? distance / largest : distance;
    }
    free(result.data);
    free(expected);
    free(found);
    free(values);
    return error;
}

static double between_tables(const struct stage_reduced *found, const struct stage_reduced *expected)
{
    const struct stage_table *mine, *theirs;
    const int n = ts_stage_reduced_tables(found, &mine);
    double worst = NAN;
    if (n != ts_stage_reduced_tables(expected, &theirs))
        return INFINITY;
    for (int i = 0; i < n; i++) {
        const size_t count = ts_image_count(&mine[i].image);
        double *a = calloc(count + 1, sizeof *a), *b = calloc(count + 1, sizeof *b), distance = 0, largest = 0;
        if (a && b && count == ts_image_count(&theirs[i].image)) {
            ts_load_f64(a, mine[i].image.data, mine[i].image.dtype, count);
            ts_load_f64(b, theirs[i].image.data, theirs[i].image.dtype, count);
            compare(a, b, count, &distance, &largest);
            worst = fmax(worst, largest > 0 ? distance / largest : distance);
        }
        free(a);
        free(b);
    }
    return worst;
}

static double against_cpu(const struct bench_case *small, struct stage_context *context, const struct ts_image *in,
                          struct ts_diag *diag)
{
    struct stage_reduced *found = NULL, *expected = NULL;
    struct ts_image out = context->out;
    struct bench_case automatic = *small;
    struct bench_stage cpu;
    double error = NAN;
    char *method = strstr(automatic.parameters, "method=");
    if (method) { /* the CPU need not have this one */
        const char *rest = method + strcspn(method, " ");
        memmove(method, rest, strlen(rest) + 1);
    }
    enum ts_status status = ts_bench_prepare(&cpu, &automatic, NULL, 1, NULL, diag);
    if (status == TS_OK)
        status = apply(&cpu.context, in, &out, &expected);
    if (status == TS_OK)
        status = apply(context, in, &out, &found);
    if (status == TS_OK && found && expected)
        error = between_tables(found, expected);
    ts_stage_reduced_destroy(found);
    ts_stage_reduced_destroy(expected);
    ts_bench_stage_clear(&cpu);
    return error;
}

double ts_bench_error(const struct bench_case *which, const struct cuda_device *device, bench_oracle *oracle)
{
    struct bench_case small = *which;
    struct bench_stage ready;
    struct ts_diag *diag = ts_diag_create();
    double error = NAN;
    small.nz = 1;
    small.ny = ERROR_NY;
    small.nx = ERROR_NX;
    if (!diag)
        return NAN;
    struct ts_image in = ts_bench_image(&small);
    if (in.data && ts_bench_prepare(&ready, &small, NULL, 1, device, diag) == TS_OK) {
        const bool alone = !strstr(which->parameters, BENCH_ITSELF); /* the oracles know of no references */
        if (which->stage->cpu && oracle && alone)
            error = against_oracle(&ready.context, &in, oracle);
        else if (!which->stage->cpu && device)
            error = against_cpu(&small, &ready.context, &in, diag);
    }
    if (in.data)
        ts_bench_stage_clear(&ready);
    free(in.data);
    ts_diag_destroy(diag);
    return error;
}
