/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU's projector and backprojector as a pair: <A x, y> = <x, A' y>.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/projection/joseph.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

TestSuite(joseph);

struct pair_case {
    int64_t nz, ny, nx, views, detectors;
    struct ts_beam beam;
    double pitch, center;
};

static double product(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void fill(struct ts_image *image, uint64_t *seed)
{
    float *values = malloc(ts_image_bytes(image));
    image->data = values;
    for (size_t i = 0; i < ts_image_count(image); i++)
        values[i] = (float)(2 * ts_random_unit(seed) - 1);
}

static void check_pair(const struct pair_case *which, int threads)
{
    struct ts_image x = ts_test_image(which->nz, which->ny, which->nx, TS_F32, VALUES_CONSTANT, 1),
                    y = x;
    free(x.data);
    y.axes[1] = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = which->views, .first = -11, .spacing = 360.0 / 23};
    y.axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                 .n = which->detectors,
                                 .spacing = which->pitch,
                                 .first = -which->center * which->pitch};
    y.beam = which->beam;
    uint64_t seed = 77;
    fill(&x, &seed);
    fill(&y, &seed);
    struct ts_image ax = y, aty = x;
    fill(&ax, &seed); /* what stands there must not matter */
    fill(&aty, &seed);
    const struct beam_scan scan = ts_beam_scan(&x, &y);
    void *scratch = aligned_alloc(64, ts_joseph_project_scratch(&scan, threads));
    ts_joseph_project(&scan, &x, &ax, threads, scratch);
    free(scratch);
    scratch = aligned_alloc(64, ts_joseph_backproject_scratch(&scan, which->nz, threads));
    ts_joseph_backproject(&scan, &y, &aty, threads, scratch);
    free(scratch);
    const size_t n_y = ts_image_count(&y), n_x = ts_image_count(&x);
    const double left = product(ax.data, y.data, n_y), right = product(x.data, aty.data, n_x);
    const double scale = sqrt(product(ax.data, ax.data, n_y) * product(y.data, y.data, n_y));
    cr_assert(scale > 0 && fabs(left - right) <= 1e-6 * scale,
              "%s %lld x %lld x %lld: %.9g and %.9g of %.9g", ts_beam_name(which->beam.kind),
              (long long)which->nz, (long long)which->ny, (long long)which->nx, left, right, scale);
    free(x.data);
    free(y.data);
    free(ax.data);
    free(aty.data);
}

Test(joseph, projector_and_backprojector_are_adjoint)
{
    static const struct ts_beam beams[] = {{TS_BEAM_PARALLEL, 0, 0},
                                           {TS_BEAM_FAN_ARC, 90, 150},
                                           {TS_BEAM_FAN_FLAT, 90, 150},
                                           {TS_BEAM_FAN_FLAT, 60, 60}};
    static const struct pair_case cases[] = {
        {1, 1, 1, 5, 3, {0}, 0.3, 1},         {3, 1, 67, 23, 71, {0}, 0.6, 35},
        {2, 53, 1, 23, 71, {0}, 0.6, 35},     {23, 61, 67, 23, 101, {0}, 0.7, 47.3},
        {5, 129, 127, 40, 150, {0}, 0.5, 75}, {1, 64, 80, 23, 37, {0}, 3.1, 18},
        {4, 40, 60, 23, 400, {0}, 0.05, 200},
    };
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct pair_case which = cases[i];
            which.beam = beams[b];
            check_pair(&which, 1 + (int)(i % 3));
        }
}

/* The runs of a view follow each other from the first detector to the last, as their rays say. */
Test(joseph, runs_hold_the_rays_of_one_axis)
{
    struct ts_image volume = {
        .rank = 3, .axes = {{.n = 1}, {.n = 40, .spacing = 0.5}, {.n = 60, .spacing = 0.8}}};
    struct ts_image sinogram = {.rank = 3,
                                .axes = {{.n = 1},
                                         {.n = 360, .spacing = 1, .kind = TS_AXIS_VIEW},
                                         {.n = 401, .spacing = 0.75, .first = -150}},
                                .beam = {TS_BEAM_FAN_ARC, 60, 100}};
    const struct beam_scan scan = ts_beam_scan(&volume, &sinogram);
    struct beam_detector detectors[401];
    bool three = false;
    for (int64_t d = 0; d < 401; d++)
        detectors[d] = ts_beam_detector(&scan, d);
    for (int64_t v = 0; v < 360; v++) {
        struct beam_run runs[BEAM_RUNS];
        const int n = ts_beam_runs(&scan, detectors, ts_beam_angle(&scan, v), runs);
        three |= n == 3;
        cr_assert(n >= 1 && n <= 3 && runs[0].first == 0 && runs[n - 1].end == 401);
        for (int r = 0; r < n; r++) {
            cr_assert(r == 0 || runs[r].first == runs[r - 1].end);
            for (int32_t d = runs[r].first; d < runs[r].end; d++)
                cr_assert_eq(
                    ts_beam_ray(&scan.grid, ts_beam_angle(&scan, v), detectors[d]).along_rows,
                    runs[r].along_rows);
        }
    }
    cr_assert(three);
}

/* The shadow of a point on a ray is the ray's detector. */
Test(joseph, shadows_fall_on_the_detectors_of_their_rays)
{
    for (int kind = TS_BEAM_PARALLEL; kind <= TS_BEAM_FAN_FLAT; kind++) {
        struct ts_image volume = {
            .rank = 3, .axes = {{.n = 1}, {.n = 40, .spacing = 0.5}, {.n = 60, .spacing = 0.8}}};
        struct ts_image sinogram = {
            .rank = 3,
            .axes = {{.n = 1},
                     {.n = 36, .spacing = 10, .kind = TS_AXIS_VIEW},
                     {.n = 91, .spacing = 0.75, .first = -30}},
            .beam = {(enum ts_beam_kind)kind, kind ? 60 : 0, kind ? 100 : 0}};
        const struct beam_scan scan = ts_beam_scan(&volume, &sinogram);
        for (int64_t v = 0; v < 36; v++)
            for (int64_t d = 0; d < 91; d += 9) {
                const struct beam_angle angle = ts_beam_angle(&scan, v);
                const struct beam_ray ray =
                    ts_beam_ray(&scan.grid, angle, ts_beam_detector(&scan, d));
                for (int m = 0; m < 40; m += 7) {
                    const double i = ray.base + m * ray.per_major, row = ray.along_rows ? m : i,
                                 column = ray.along_rows ? i : m;
                    const double shadow =
                        ts_beam_shadow(&scan, angle, (column - 29.5) * 0.8, (19.5 - row) * 0.5);
                    if (hypot((column - 29.5) * 0.8, (19.5 - row) * 0.5) < 50)
                        cr_assert(fabs(shadow - (double)d) < 1e-9,
                                  "beam %d view %lld: %g, expected %lld", kind, (long long)v,
                                  shadow, (long long)d);
                }
            }
    }
}
