/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/scan_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/reconstruction/iterate.h"
#include "tests/stages/projection/scan_oracle.h"
#include "tests/support/support.h"

struct ts_image ts_test_scan(const struct scan_case *which, uint64_t seed)
{
    const bool fan = which->beam.kind != TS_BEAM_PARALLEL;
    const double arc = which->arc > 0 ? which->arc : fan ? 360 : 180, pitch = fan ? 0.75 : 0.5;
    struct ts_image image =
        ts_test_image(which->nz, which->views, which->detectors, TS_F32, VALUES_CONSTANT, 1);
    image.axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW,
                                     .n = which->views,
                                     .first = 7,
                                     .spacing = arc / (double)which->views,
                                     .unit = "degree"};
    image.axes[2] =
        (struct ts_axis){.kind = TS_AXIS_DETECTOR,
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

static void compare(const struct stage *stage, const struct scan_case *which,
                    const struct stage_run *run, const struct ts_image *in, stage_oracle *oracle)
{
    const double tolerance = ts_stage_tolerance(&run->context).relative;
    const size_t n_in = ts_image_count(in), n_out = ts_image_count(&run->out);
    double *values = malloc(n_in * sizeof *values), *expected = malloc(n_out * sizeof *expected),
           scale = 0;
    ts_load_f64(values, in->data, TS_F32, n_in);
    oracle(&run->context, values, expected);
    for (size_t i = 0; i < n_out; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (size_t i = 0; i < n_out; i++) {
        const double is = ((const float *)run->out.data)[i], error = fabs(is - expected[i]);
        cr_assert(error <= tolerance * scale,
                  "%s {%s} %s %lld x %lld x %lld, element %zu: %g, not %g", stage->name,
                  which->assignments, ts_beam_name(which->beam.kind), (long long)which->nz,
                  (long long)which->views, (long long)which->detectors, i, is, expected[i]);
    }
    free(values);
    free(expected);
}

size_t ts_scan_check(const struct stage *stage, stage_oracle *oracle, const struct scan_case *cases,
                     size_t n)
{
    static const int64_t slabs[] = {0, 1, 3, 0};
    size_t compared = 0;
    for (size_t c = 0; c < n; c++) {
        struct ts_image in = ts_test_scan(&cases[c], 100 + c);
        struct stage_run first;
        const enum ts_status status =
            ts_test_run(&first, stage, cases[c].assignments, &in, NULL, 0, 1);
        /* The error is the last record; warnings may stand before it. */
        const struct ts_diag_record *error =
            status != TS_OK ? ts_diag_get(first.diag, ts_diag_count(first.diag) - 1) : NULL;
        const char *code = error ? error->code : "";
        const bool beyond = ts_test_beyond(ts_test_device, first.diag, cases[c].assignments);
        if (!strcmp(code, "choice-device") || beyond) {
            compared += beyond;
            ts_test_run_clear(&first);
            free(in.data);
            continue;
        }
        cr_assert_eq(status, TS_OK, "%s {%s}: %s", stage->name, cases[c].assignments,
                     error ? error->message : "");
        compare(stage, &cases[c], &first, &in, oracle);
        for (int i = 1; i < 4 && !ts_test_few(); i++) {
            struct stage_run again;
            cr_assert_eq(ts_test_run(&again, stage, cases[c].assignments, &in, NULL, slabs[i], i),
                         TS_OK);
            cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)),
                      "%s {%s}: slabs of %lld on %d threads give other bytes", stage->name,
                      cases[c].assignments, (long long)slabs[i], i);
            ts_test_run_clear(&again);
        }
        ts_test_run_clear(&first);
        free(in.data);
        compared++;
    }
    return compared;
}

void ts_scan_check_methods(const struct stage *stage, stage_oracle *oracle)
{
    static const struct scan_case on_both[] = {
        {"iterations=3", 21, 9, 13},
        {"iterations=3", 37, 9, 13, .beam = SCAN_FLAT},
        {"iterations=3", 21, 9, 13, .beam = SCAN_FLAT},
        {"iterations=3 stop=residual tolerance=0.5", 135, 7, 11, .beam = SCAN_ARC},
    };
    static const struct scan_case on_cuda[] = {
        {"iterations=3 method=stack", 1, 9, 13},
        {"iterations=3 method=stack", 37, 9, 13},
        {"iterations=3 method=stack stop=residual tolerance=0.5", 135, 7, 11},
        {"iterations=3 method=stack pixel_size=0.9 center=6.1", 5, 7, 11},
        {"iterations=3 method=pixel pixel_size=0.9", 21, 7, 11},
    };
    static const struct scan_case on_tensor_cores[] = {
        {"iterations=3 method=tensor", 1, 2, 1},
        {"iterations=3 method=tensor", 37, 19, 23},
        {"iterations=3 method=tensor stop=residual tolerance=0.5", 135, 7, 11},
        {"iterations=3 method=tensor pixel_size=0.9 row_spacing=0.4 center=6.1", 5, 17, 11},
        {"iterations=3 method=tensor-split", 1, 2, 1},
        {"iterations=3 method=tensor-split", 37, 19, 23},
        {"iterations=3 method=tensor-split stop=residual tolerance=0.5", 135, 7, 11},
        {"iterations=3 method=tensor-split pixel_size=0.9 row_spacing=0.4 center=6.1", 5, 17, 11},
    };
    enum { N_BOTH = sizeof on_both / sizeof *on_both };
    enum {
        N_CUDA = sizeof on_cuda / sizeof *on_cuda,
        N_TENSOR = sizeof on_tensor_cores / sizeof *on_tensor_cores
    };
    cr_assert_eq(ts_scan_check(stage, oracle, on_both, N_BOTH), (size_t)N_BOTH);
    cr_assert_eq(ts_scan_check(stage, oracle, on_cuda, N_CUDA),
                 ts_test_device ? (size_t)N_CUDA : 0);
    cr_assert_eq(ts_scan_check(stage, oracle, on_tensor_cores, N_TENSOR),
                 ts_test_device ? (size_t)N_TENSOR : 0);
}

/* Returns ||b - A x|| / ||b|| of one slice; `rays` is scratch space for a slice of the sinogram. */
static double residual_of(const struct stage_context *context, const double *b, const double *x,
                          double *rays)
{
    double left = 0, all = 0;
    ts_scan_project_oracle(&context->out, &context->in, x, rays);
    for (size_t r = 0; r < ts_slice_count(&context->in); r++) {
        left += pow(b[r] - rays[r], 2);
        all += pow(b[r], 2);
    }
    return sqrt(left / all);
}

void ts_scan_check_residuals(const struct stage *stage, stage_oracle *oracle)
{
    enum { ITERATIONS = 6, SLICES = 5, RAYS = 13 * 17, PIXELS = 17 * 17 };
    static const struct scan_case which = {"iterations=6 stop=residual tolerance=0.4", SLICES, 13,
                                           17, .beam = {TS_BEAM_FAN_FLAT, 40, 60}};
    static double b[SLICES][RAYS], x[SLICES][PIXELS], rays[RAYS];
    struct ts_image in = ts_test_scan(&which, 8);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, stage, which.assignments, &in, NULL, 2, 2), TS_OK);
    ts_load_f64(&b[0][0], in.data, TS_F32, (size_t)SLICES * RAYS);
    struct iterate_params *params = malloc(stage->params_bytes);
    memcpy(params, run.context.params, stage->params_bytes);
    struct stage_context context = run.context;
    int64_t carried_out[SLICES] = {0};
    context.params = params;
    params->stop = STOP_NEVER;
    for (params->iterations = 0; params->iterations <= ITERATIONS; params->iterations++) {
        oracle(&context, &b[0][0], &x[0][0]);
        for (int64_t z = 0; z < SLICES; z++) {
            const int64_t i = params->iterations;
            const double is = ts_test_table_at(&run, "residual", z * (ITERATIONS + 1) + i);
            if (carried_out[z] < i) {
                cr_assert(isnan(is), "slice %lld iteration %lld: %g", (long long)z, (long long)i,
                          is);
                continue;
            }
            const double expected = residual_of(&context, b[z], x[z], rays);
            cr_assert(fabs(is - expected) <= 1e-4, "slice %lld iteration %lld: %g, not %g",
                      (long long)z, (long long)i, is, expected);
            carried_out[z] += i < ITERATIONS && expected > 0.4;
        }
    }
    for (int64_t z = 0; z < SLICES; z++) {
        cr_assert_eq(ts_test_table_at(&run, "iterations", z), carried_out[z]);
        ts_load_f64(x[z], ts_slice_data(&run.out, z), TS_F32, PIXELS);
        const double of_image = residual_of(&context, b[z], x[z], rays),
                     reported =
                         ts_test_table_at(&run, "residual", z * (ITERATIONS + 1) + carried_out[z]);
        cr_assert(fabs(reported - of_image) <= 1e-5, "slice %lld: %g, and the image has %g",
                  (long long)z, reported, of_image);
    }
    free(params);
    ts_test_run_clear(&run);
    free(in.data);
}

void ts_scan_check_independence(const struct stage *stage, const char *assignments)
{
    static const struct scan_case which = {"", 3, 11, 17};
    const size_t rays = 11 * 17, pixels = (size_t)17 * 17;
    struct ts_image in = ts_test_scan(&which, 5);
    float *values = in.data;
    struct stage_run run, other;
    memset(values, 0, rays * sizeof *values);
    cr_assert_eq(ts_test_run(&run, stage, assignments, &in, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < rays; i++)
        values[rays + i] *= -1e6F;
    cr_assert_eq(ts_test_run(&other, stage, assignments, &in, NULL, 0, 1), TS_OK);
    const float *before = run.out.data, *after = other.out.data;
    for (size_t i = 0; i < pixels; i++) {
        cr_assert_eq(before[i], 0);
        cr_assert_eq(after[i], 0);
    }
    cr_assert(memcmp(before + pixels, after + pixels, pixels * sizeof *before) != 0);
    cr_assert(!memcmp(before + 2 * pixels, after + 2 * pixels, pixels * sizeof *before));
    ts_test_run_clear(&run);
    ts_test_run_clear(&other);
    free(in.data);
}

void ts_scan_check_finite(const struct stage *stage, const char *assignments)
{
    static const struct scan_case which = {"", 5, 12, 30};
    struct ts_image in = ts_test_scan(&which, 5);
    ((float *)in.data)[3 * 360 + 77] = NAN;
    ((float *)in.data)[3 * 360 + 78] = -INFINITY;
    for (int64_t slab = 0; slab < 3; slab++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, stage, assignments, &in, NULL, slab, 2), TS_BAD_INPUT);
        const struct ts_diag_record *diag = ts_diag_get(run.diag, 0);
        cr_assert_str_eq(diag->code, "not-finite");
        cr_assert(strstr(diag->message, "2 of 360 values of slice 3 are NaN or infinite"), "%s",
                  diag->message);
        cr_assert(strstr(diag->message, "the first is in view 2 at detector pixel 17"), "%s",
                  diag->message);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

void ts_scan_check_angles(const struct stage *stage, const char *assignments)
{
    static const struct scan_case which = {"", 1, 20, 9};
    static double half[20], turn[20], zeros[20], opposite[20], two[20];
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    for (int i = 0; i < 20; i++) {
        half[i] = M_PI * i / 20;
        turn[i] = 2 * M_PI * i / 20;
        opposite[i] = 30 + 180 * (i % 2);
        two[i] = 90 * (i % 2);
    }
    in.axes[1].positions = half;
    ts_test_refuses(stage, assignments, &in, NULL, "angles-in-radians",
                    "all 20 angles lie between 0 and 2.98451 degrees");
    in.axes[1].positions = turn;
    ts_test_refuses(stage, assignments, &in, NULL, "angles-in-radians",
                    "between 0 and 5.96903 degrees");
    in.axes[1].positions = zeros;
    ts_test_refuses(
        stage, assignments, &in, NULL, "one-direction",
        "all 20 views look in one direction, 0 degrees (modulo 180), and 2 directions at least");
    in.axes[1].positions = opposite;
    ts_test_refuses(stage, assignments, &in, NULL, "one-direction", "30 degrees (modulo 180)");
    in.axes[1].positions = two;
    in.axes[1].n = 4; /* more views in two directions may be refused as such */
    cr_assert_eq(ts_test_run(&run, stage, assignments, &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    in.axes[1].n = 1;
    ts_test_refuses(
        stage, assignments, &in, NULL, "one-direction",
        "the only view looks in one direction, 0 degrees (modulo 180), and 2 directions at least");
    free(in.data);
}

void ts_scan_check_quantity(const struct stage *stage)
{
    static const struct scan_case which = {"", 1, 4, 9};
    static const struct {
        enum ts_quantity quantity;
        const char *way;
    } others[] = {{TS_COUNTS, "flat_field"},
                  {TS_TRANSMISSION, "minus_log"},
                  {TS_INTENSITY, "quantity: line_integral"}};
    struct ts_image in = ts_test_scan(&which, 5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        in.quantity = others[i].quantity;
        ts_test_refuses(stage, "", &in, NULL, "stage-quantity", others[i].way);
    }
    free(in.data);
}
