/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/center.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan.h"
#include "stages/projection/rebin.h"
#include "stages/projection/reconstruction.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/stages/scan/center_oracle.h"
#include "tests/support/chain_run.h"
#include "tests/support/disc_scan.h"
#include "tests/support/memory_chain.h"
#include "tests/support/radon_scene.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(center);

static double found(const struct ts_image *image, const char *assignments, int64_t slab,
                    int threads, double *confidence)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &center_stage, assignments, image, NULL, slab, threads), TS_OK,
                 "%s", assignments);
    const double center = ts_test_table_at(&run, "center", 0);
    cr_assert_eq(ts_diag_count(run.diag), 0, "%s", ts_diag_get(run.diag, 0)->message);
    *confidence = ts_test_table_at(&run, "confidence", 0);
    cr_assert_eq(run.out.axes[2].first, -center * run.out.axes[2].spacing);
    ts_test_run_clear(&run);
    return center;
}

/* Half turns with and without the end point, whole ones, and such where no view is half a turn from
 * another. */
TEST_ON_BOTH(center, is_where_the_discs_turn_around)
{
    static const struct {
        int64_t n_views, n_detectors;
        double step, offset;
    } rows[] = {
        {90, 101, 2, 0},         {91, 128, 2, 3.3},
        {181, 128, -1, -7.75},   {180, 201, 1, 12.5},
        {120, 97, 3, -4.1},      {256, 255, 360.0 / 256, 20.2},
        {64, 64, 180.0 / 64, 1}, {180, 201, -1, 12.5},
        {95, 160, 2, -9.4},      {101, 128, 360.0 / 101, 5.7},
        {90, 101, 2.01, -3},     {45, 128, 4, 6.2},
        {61, 120, -2.97, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int dtype = 0; dtype < 2; dtype++) {
            struct ts_image image = ts_disc_scan(1, rows[i].n_views, rows[i].n_detectors, -20,
                                                 rows[i].step, dtype ? TS_U16 : TS_F32);
            const double center = 0.5 * (double)(rows[i].n_detectors - 1) + rows[i].offset;
            double confidence;
            ts_disc_scan_draw(&image, 0, center);
            const double one = found(&image, "method=sinogram", 0, 2, &confidence);
            cr_assert(fabs(one - center) <= 0.1, "row %zu: sinogram finds %.3f, not %.3f", i, one,
                      center);
            cr_assert(confidence > 0.3 && confidence <= 1, "row %zu: confidence %.3f", i,
                      confidence);
            const double other = found(&image, "method=opposite", 0, 2, &confidence);
            cr_assert(fabs(other - center) <= 0.1, "row %zu: opposite finds %.3f, not %.3f", i,
                      other, center);
            cr_assert(confidence > 0.98 && confidence <= 1 + 1e-12, "row %zu: confidence %.3f", i,
                      confidence);
            free(image.data);
        }
}

/* The slice asked for, the same bits for all slabs and threads. */
TEST_ON_BOTH(center, is_that_of_the_slice)
{
    struct ts_image image = ts_disc_scan(5, 96, 111, 0, 180.0 / 96, TS_F32);
    for (int64_t z = 0; z < 5; z++)
        ts_disc_scan_draw(&image, z, 50 + 3 * (double)z);
    for (int64_t slice = 0; slice < 5; slice += 2) {
        char assignments[64];
        double confidence, first = 0;
        snprintf(assignments, sizeof assignments, "slice=%lld", (long long)slice);
        for (int64_t slab = 0; slab < 4; slab++) {
            const double center = found(&image, assignments, slab, 1 + (int)slab, &confidence);
            cr_assert(fabs(center - 50 - 3 * (double)slice) < 0.1);
            cr_assert(slab == 0 || center == first, "other bits with slabs of %lld slices",
                      (long long)slab);
            first = center;
        }
    }
    double confidence;
    cr_assert(fabs(found(&image, "", 0, 2, &confidence) - 56) < 0.1, "not the middle slice");
    free(image.data);
}

/* The measure of every trial center, worked out from its definition; even and odd numbers of
 * detectors. */
TEST_ON_BOTH(center, measures_what_the_paper_says)
{
    for (int64_t n = 16; n <= 17; n++) {
        enum { VIEWS = 13 };
        struct ts_image image = ts_disc_scan(1, VIEWS, n, 0, 180.0 / VIEWS, TS_F32);
        struct stage_run run;
        double values[VIEWS * 17];
        uint64_t seed = 3;
        ts_disc_scan_draw(&image, 0, 0.5 * (double)(n - 1) + 1);
        for (int64_t i = 0; i < VIEWS * n; i++)
            values[i] = (double)(((float *)image.data)[i] += (float)(0.01 * ts_random_unit(&seed)));
        cr_assert_eq(ts_test_run(&run, &center_stage, "search=4", &image, NULL, 0, 1), TS_OK);
        ts_center_stripes_oracle(values, VIEWS, n);
        for (int64_t i = 0; i < 9; i++) {
            const double expected = ts_center_measure_oracle(values, VIEWS, n, 2 * (i - 4));
            const double is = ts_test_table_at(&run, "measure", i);
            cr_assert(fabs(is - expected) <= 1e-5 * expected, "trial %lld is %.9g, expected %.9g",
                      (long long)i, is, expected);
            cr_assert_eq(ts_test_table_at(&run, "trial_center", i),
                         0.5 * (double)(n - 1) + (double)(i - 4));
        }
        ts_test_run_clear(&run);
        free(image.data);
    }
}

Test(center, may_be_given)
{
    struct ts_image image = ts_disc_scan(2, 9, 12, 0, 20, TS_F32);
    static const char *const rows[] = {"center=4.25", "method=given center=4.25"};
    for (size_t i = 0; i < 2; i++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &center_stage, rows[i], &image, NULL, 0, 1), TS_OK);
        cr_assert_eq(run.out.axes[2].first, -4.25 * 0.7);
        ts_test_run_clear(&run);
    }
    free(image.data);
}

/* A fan's axis off the middle of its detector, which the file does not tell, reaches rebin and
 * fbp. */
TEST_ON_BOTH(center, of_a_fan_reaches_its_reconstruction)
{
    static const struct ellipse ellipse = {9, -14, 17, 8, 30, 1};
    static const char *const beams[] = {"fan-flat", "fan-arc"};
    for (int beam = 0; beam < 2; beam++) {
        char text[160];
        struct radon_scene scene;
        struct stage_run axis, parallel, volume;
        snprintf(text, sizeof text,
                 "views=720 detectors=170 detector_spacing=1 source_axis=120 source_detector=200 "
                 "center=70.2 beam=%s",
                 beams[beam]);
        ts_test_scene_make(&scene, text, 130, 170, 0.5, 0.4);
        ts_test_ellipse_draw(&scene.in, &ellipse);
        ts_test_scene_project(&scene);
        scene.out.axes[2].first = -84.5;
        cr_assert_eq(ts_test_run(&axis, &center_stage, "center=70.2", &scene.out, NULL, 0, 2),
                     TS_OK);
        axis.out.data = scene.out.data; /* it passes on */
        cr_assert_eq(ts_test_run(&parallel, &rebin_stage, "views=360", &axis.out, NULL, 0, 2),
                     TS_OK);
        cr_assert_eq(ts_test_run(&volume, &fbp_stage, "", &parallel.out, NULL, 0, 2), TS_OK);
        const double pixel = volume.out.axes[2].spacing;
        const int64_t columns = volume.out.axes[2].n;
        const double middle = 0.5 * (double)(columns - 1);
        const int64_t row = llround(middle + 14 / pixel), column = llround(middle + 9 / pixel);
        cr_assert_eq(columns, 198, "%lld",
                     (long long)columns); /* twice what the longer side sees */
        for (int64_t y = -3; y <= 3; y++)
            for (int64_t x = -3; x <= 3; x++) {
                const double is =
                    ((const float *)volume.out.data)[(row + y) * columns + column + x];
                cr_assert(fabs(is - 1) < 0.05, "%s: %g at %lld, %lld", beams[beam], is,
                          (long long)y, (long long)x);
            }
        ts_test_run_clear(&volume);
        ts_test_run_clear(&parallel);
        axis.out.data = NULL;
        ts_test_run_clear(&axis);
        ts_test_scene_clear(&scene);
    }
}

static void refused(const char *assignments, const struct ts_image *image, enum ts_status status,
                    const char *code)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &center_stage, assignments, image, NULL, 0, 1), status, "%s %s",
                 assignments, code);
    cr_assert_eq(ts_diag_count(run.diag), 1, "%s: %zu records", code, ts_diag_count(run.diag));
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, code);
    ts_test_run_clear(&run);
}

/* Views over less than half a turn, which jump about: the hint names the method that finds the
 * center. */
Test(center, of_less_than_half_a_turn_is_that_of_mass)
{
    static const char *const methods[][2] = {
        {"", "views-arc"}, {"method=sinogram", "views-arc"}, {"method=opposite", "views-opposite"}};
    double confidence;
    struct ts_image image = ts_disc_scan(1, 45, 32, 0, 4, TS_F32), arc = image;
    double angles[45];
    for (int i = 0; i < 45; i++)
        angles[i] = 7 * i % 45 * 3;
    image.axes[1].positions = angles;
    arc.axes[1].spacing = 3;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        ts_test_refuses(&center_stage, methods[i][0], &image, NULL, methods[i][1],
                        "`method: mass` finds it");
    ts_test_refuses(&center_stage, "", &arc, NULL, "views-arc", "center: NUMBER gives it");
    for (int i = 0; i < 2; i++) {
        struct ts_image *scan = i ? &arc : &image;
        ts_disc_scan_draw(scan, 0, 14.2);
        const double center = found(scan, "method=mass", 0, 1, &confidence);
        cr_assert(fabs(center - 14.2) < 0.1, "%g", center);
    }
    free(image.data);
}

Test(center, says_what_is_wrong_with_the_parameters)
{
    struct ts_image image = ts_disc_scan(2, 45, 32, 0, 4, TS_F32),
                    few = ts_disc_scan(2, 7, 32, 0, 4, TS_F32),
                    narrow = ts_disc_scan(2, 45, 7, 0, 4, TS_F32), uneven = image, arc = image,
                    fan = image, tilted = image;
    double angles[45], positions[32];
    for (int i = 0; i < 45; i++)
        angles[i] = 4 * i + (i > 20 ? 30 : 0);
    for (int i = 0; i < 32; i++)
        positions[i] = i * i;
    uneven.axes[1].positions = angles;
    arc.axes[1].spacing = 3;
    fan.beam = (struct ts_beam){TS_BEAM_FAN_FLAT, 100, 200};
    tilted.axes[2].positions = positions;
    refused("", &few, TS_BAD_CHAIN, "center-small");
    refused("", &narrow, TS_BAD_CHAIN, "center-small");
    refused("", &uneven, TS_BAD_CHAIN, "views-uneven");
    ts_test_refuses(&center_stage, "", &uneven, NULL, "views-uneven", "method: opposite");
    refused("method=mass search=4", &image, TS_BAD_CHAIN, "parameter-unused");
    refused("", &arc, TS_BAD_CHAIN, "views-arc");
    refused("method=opposite", &arc, TS_BAD_CHAIN, "views-opposite");
    refused("", &fan, TS_BAD_CHAIN, "center-beam");
    refused("method=opposite", &fan, TS_BAD_CHAIN, "center-beam");
    refused("center=15 strip=true", &fan, TS_BAD_CHAIN, "center-beam");
    refused("center=31.5", &fan, TS_BAD_CHAIN, "center-outside");
    refused("", &tilted, TS_BAD_CHAIN, "detectors-uneven");
    refused("slice=2", &image, TS_BAD_CHAIN, "slice-outside");
    refused("search=15", &image, TS_BAD_CHAIN, "search-outside");
    refused("method=given", &image, TS_BAD_CHAIN, "center-missing");
    refused("center=31.5", &image, TS_BAD_CHAIN, "center-outside");
    refused("center=-1", &image, TS_BAD_CHAIN, "center-outside");
    refused("center=32.1 convention=edge", &image, TS_BAD_CHAIN, "center-outside");
    refused("center=0.4 convention=ufo", &image, TS_BAD_CHAIN, "center-outside");
    refused("center=15.6 convention=offset", &image, TS_BAD_CHAIN, "center-outside");
    refused("center=-15.6 convention=astra", &image, TS_BAD_CHAIN, "center-outside");
    refused("convention=edge", &image, TS_BAD_CHAIN, "parameter-unused");
    refused("method=opposite center=15", &image, TS_BAD_CHAIN, "parameter-unused");
    refused("center=15 slice=1", &image, TS_BAD_CHAIN, "parameter-unused");
    refused("center=15 search=4", &image, TS_BAD_CHAIN, "parameter-unused");
    free(image.data);
    free(few.data);
    free(narrow.data);
}

/* Whoever's number it is, the axis and the record hold the index of the pixel. 64 detectors. */
Test(center, takes_the_number_of_other_conventions)
{
    static const struct {
        const char *assignments;
        double index;
    } rows[] = {{"center=20.25", 20.25},
                {"center=20.25 convention=tomopy", 20.25},
                {"center=20.25 convention=edge", 19.75},
                {"center=20.25 convention=ufo", 19.75},
                {"center=2.25 convention=offset", 33.75},
                {"center=2.25 convention=shift", 29.25},
                {"center=-2.25 convention=astra", 33.75}};
    struct ts_image image = ts_disc_scan(1, 90, 64, 0, 2, TS_F32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &center_stage, rows[i].assignments, &image, NULL, 0, 1),
                     TS_OK);
        const struct center_params *params = run.set.values;
        cr_assert_eq(-run.out.axes[2].first / run.out.axes[2].spacing, rows[i].index, "%s",
                     rows[i].assignments);
        cr_assert(params->center == rows[i].index && params->convention == CENTER_OF_PIXEL, "%s",
                  rows[i].assignments);
        ts_test_run_clear(&run);
    }
    free(image.data);
}

TEST_ON_BOTH(center, says_when_there_is_none_to_find)
{
    struct ts_image image = ts_disc_scan(1, 90, 64, 0, 2, TS_F32);
    refused("", &image, TS_BAD_INPUT, "center-constant");
    ts_disc_scan_draw(&image, 0, 45);
    refused("search=8", &image, TS_BAD_INPUT, "center-edge");
    refused("search=8 method=opposite", &image, TS_BAD_INPUT, "center-edge");
    ((float *)image.data)[77] = NAN;
    refused("", &image, TS_BAD_INPUT, "center-nonfinite");
    free(image.data);
}

/* Noise has a center of a low confidence: it is warned of, or ends the run where the best trial is
 * the outermost. */
TEST_ON_BOTH(center, in_noise_is_warned_of)
{
    static const int64_t shapes[][2] = {{16, 32},   {61, 64},  {181, 256}, {90, 101},
                                        {300, 128}, {64, 512}, {45, 33}};
    static const char *const methods[] = {"sinogram", "opposite"};
    const uint64_t n_seeds = ts_test_device ? 2 : 12;
    double worst[2] = {0};
    for (uint64_t i = 0; i < sizeof shapes / sizeof *shapes * n_seeds; i++) {
        const int64_t *shape = shapes[i / n_seeds];
        struct ts_image image =
            ts_disc_scan(1, shape[0], shape[1], 0, 180.0 / (double)shape[0], TS_F32);
        uint64_t seed = 100 + i;
        for (int64_t k = 0; k < shape[0] * shape[1]; k++)
            ((float *)image.data)[k] =
                (float)(ts_random_unit(&seed) + (i % 2 ? ts_random_unit(&seed) : 0));
        for (int m = 0; m < 2; m++) {
            char text[32];
            struct stage_run run;
            snprintf(text, sizeof text, "method=%s", methods[m]);
            if (ts_test_run(&run, &center_stage, text, &image, NULL, 0, 2) != TS_OK) {
                cr_assert(ts_test_record(run.diag, "center-edge"));
            } else {
                const struct ts_diag_record *record = ts_test_record(run.diag, "center-uncertain");
                const double confidence = ts_test_table_at(&run, "confidence", 0),
                             noise = ts_test_table_at(&run, "noise", 0);
                cr_expect(record && record->severity == TS_WARNING,
                          "%s, %lld x %lld: %.4g, and noise is %.4g", methods[m],
                          (long long)shape[0], (long long)shape[1], confidence, noise);
                worst[m] = fmax(worst[m], confidence / noise);
            }
            ts_test_run_clear(&run);
        }
        free(image.data);
    }
    fprintf(stderr,
            "center: in noise up to %.2f (sinogram) and %.2f (opposite) of what is warned of\n",
            worst[0], worst[1]);
}

/* Counts of three small discs, of ever fewer photons: column, row, radius in detectors; attenuation
 * of a diameter. */
static void draw_counts(struct ts_image *image, double center, double photons, uint64_t seed)
{
    static const double discs[][4] = {
        {0, 0, 40, 0.48}, {50.0 / 3, 10, 25.0 / 3, 0.1}, {-40.0 / 3, -20, 5, 0.09}};
    const int64_t n = image->axes[2].n;
    for (int64_t i = 0; i < image->axes[1].n * n; i++) {
        const int64_t view = i / n;
        const double theta = (double)view * image->axes[1].spacing * M_PI / 180;
        double sum = 0;
        for (size_t disc = 0; disc < sizeof discs / sizeof *discs; disc++) {
            const double s = (double)(i % n) - center - discs[disc][0] * cos(theta) -
                             discs[disc][1] * sin(theta);
            sum += discs[disc][3] * sqrt(fmax(0, 1 - s * s / (discs[disc][2] * discs[disc][2])));
        }
        const double mean = photons * exp(-sum), radius = sqrt(-2 * log(1 - ts_random_unit(&seed)));
        const double count = mean + sqrt(mean) * radius * cos(2 * M_PI * ts_random_unit(&seed));
        ((float *)image->data)[i] = (float)-log(count / photons);
    }
}

/* A small object, which an axis near an end of the detector does not move out of it. */
static void draw_small(struct ts_image *image, double center)
{
    const int64_t n = image->axes[2].n;
    for (int64_t i = 0; i < image->axes[1].n * n; i++) {
        const double theta = (double)(i / n) * image->axes[1].spacing * M_PI / 180,
                     s = (double)(i % n) - center;
        const double far = s - 8 * cos(theta) - 3 * sin(theta),
                     near = s + 2 * cos(theta) - 5 * sin(theta);
        ((float *)image->data)[i] =
            (float)(sqrt(fmax(0, 64 - far * far)) + 0.7 * sqrt(fmax(0, 144 - near * near)));
    }
}

/* The center's alias a quarter of the detectors away is not mistaken for it. */
TEST_ON_BOTH(center, of_few_photons_is_not_its_alias)
{
    static const double photons[] = {10000, 2000, 1000, 500};
    static const double centers[] = {44.3, 52.6};
    struct ts_image image = ts_disc_scan(1, 120, 96, 0, 1.5, TS_F32);
    for (int i = 0; i < 48; i++) {
        const double center = centers[i % 2];
        double confidence;
        draw_counts(&image, center, photons[i / 2 % 4], 11 + (uint64_t)i);
        const double is = found(&image, "", 0, 2, &confidence);
        cr_assert(fabs(is - center) < 1, "%g photons: %.2f, not %.2f", photons[i / 2 % 4], is,
                  center);
    }
    free(image.data);
}

/* Half of the detectors away the measure is the same, and the center of mass tells which is right;
 * inside of the search and, unless that is given, outside of it. */
TEST_ON_BOTH(center, half_the_detector_away_is_told_by_its_mass)
{
    static const struct {
        const char *assignments;
        double center;
    } rows[] = {{"search=45", 40}, {"search=45", 61}, {"", 22.3}, {"", 74.6}};
    struct ts_image image = ts_disc_scan(1, 120, 96, 0, 1.5, TS_F32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double confidence;
        draw_small(&image, rows[i].center);
        const double center = found(&image, rows[i].assignments, 0, 2, &confidence);
        cr_assert(fabs(center - rows[i].center) < 0.1, "%s: %g, not %g", rows[i].assignments,
                  center, rows[i].center);
    }
    free(image.data);
}

/* Within bounds that are given it is a warning, and the hint leads to both. */
TEST_ON_BOTH(center, half_the_detector_away_is_warned_of)
{
    struct ts_image image = ts_disc_scan(1, 120, 96, 0, 1.5, TS_F32);
    struct stage_run run;
    draw_small(&image, 22.3);
    cr_assert_eq(ts_test_run(&run, &center_stage, "search=24", &image, NULL, 0, 2), TS_OK);
    const struct ts_diag_record *record = ts_test_record(run.diag, "center-ambiguous");
    cr_assert(ts_diag_count(run.diag) == 1 && record && strstr(record->message, ", 70.") &&
                  strstr(record->message, "and 22."),
              "%s", record ? record->message : "no warning");
    ts_test_run_clear(&run);
    free(image.data);
}

/* Stripes without anything that turns. */
TEST_ON_BOTH(center, of_views_that_are_alike_is_warned_of)
{
    struct ts_image image = ts_disc_scan(1, 45, 64, 0, 4, TS_F32);
    struct stage_run run;
    uint64_t seed = 3;
    for (int d = 0; d < 64; d++)
        ((float *)image.data)[d] = (float)ts_random_unit(&seed);
    for (int view = 1; view < 45; view++)
        memcpy((float *)image.data + view * 64, image.data, 64 * sizeof(float));
    cr_assert_eq(ts_test_run(&run, &center_stage, "", &image, NULL, 0, 2), TS_OK);
    cr_assert(ts_test_record(run.diag, "center-alike") && ts_diag_count(run.diag) == 1);
    ts_test_run_clear(&run);
    free(image.data);
}

/* A run computes one slice for the search, and keeps nothing for it. */
Test(center, looks_at_one_slice)
{
    struct ts_image image = ts_disc_scan(40, 45, 64, 0, 4, TS_F32);
    char folder[256], output[300];
    struct memory_chain memory;
    struct ts_plan *plan = NULL;
    struct ts_diag *diag = ts_diag_create();
    const struct ts_options options = {.device = "cpu", .threads = 1, .force = true};
    for (int64_t z = 0; z < 40; z++)
        ts_disc_scan_draw(&image, z, 33);
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "center slice=31", NULL);
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_OK);
    plan->budget_bytes = plan->memory_bytes - (int64_t)ts_image_bytes(&image) / 2;
    cr_assert_eq(ts_plan_fit(plan, diag), TS_OK);
    cr_assert(plan->slab_slices < 40 && !plan->nodes[0].keep);
    cr_assert_eq(ts_plan_run(plan, diag), TS_OK);
    cr_assert_eq(memory.slices_read, 41, "%lld slices were read", (long long)memory.slices_read);
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    ts_test_remove_folder(folder);
    free(image.data);
}

/* ---- real scans ------------------------------------------------------------------------------ */

static double number_in(hid_t file, const char *path)
{
    double value = NAN;
    const hid_t data = H5Dopen2(file, path, H5P_DEFAULT);
    cr_assert(data >= 0 &&
                  H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0,
              "no %s", path);
    H5Dclose(data);
    return value;
}

/* Far from what noise has, and nothing is cut off. */
static void is_not_warned_of(hid_t file, const char *tables)
{
    char path[128];
    snprintf(path, sizeof path, "%s/noise", tables);
    const double noise = number_in(file, path);
    snprintf(path, sizeof path, "%s/confidence", tables);
    const double confidence = number_in(file, path);
    cr_assert(confidence > 3 * noise, "a confidence of %g, and noise has %g", confidence, noise);
    double ends[2] = {NAN, NAN};
    snprintf(path, sizeof path, "%s/truncation", tables);
    const hid_t data = H5Dopen2(file, path, H5P_DEFAULT);
    cr_assert(data >= 0 &&
              H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, ends) >= 0);
    H5Dclose(data);
    cr_assert(ends[0] < 0.05 && ends[1] < 0.05, "the ends see %g and %g", ends[0], ends[1]);
}

/* A tooth, whose center is about 295.5: from its file to the reconstruction, which gets the center
 * found. */
TEST_ON_BOTH(center, of_a_tooth_reaches_its_reconstruction)
{
    static const char *const methods[] = {"sinogram", "opposite"};
    char folder[256], output[300], text[4096];
    double centers[2];
    SKIP_WITHOUT_DATA("center/of_a_tooth_reaches_its_reconstruction");
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    for (int i = 0; i < 2; i++) {
        ts_test_tooth_chain(text, sizeof text);
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - minus_log:\n  - center: {method: %s}\n  - fbp:\noutput: {hdf5: out.h5}\n",
                 methods[i]);
        ts_test_chain_runs(text, folder);
        const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT);
        const double center = centers[i] = number_in(file, "/entry/process_3_center/tables/center");
        fprintf(stderr, "center: %s finds %.2f in a tooth, confidence %.4f\n", methods[i], center,
                number_in(file, "/entry/process_3_center/tables/confidence"));
        cr_assert(fabs(center - 295.5) < 0.5, "%s finds %.3f", methods[i], center);
        cr_assert_float_eq(number_in(file, "/entry/process_4_fbp/parameters/center"), center, 1e-9);
        is_not_warned_of(file, "/entry/process_3_center/tables");
        H5Fclose(file);
    }
    cr_assert(fabs(centers[1] - centers[0]) < 0.1, "%.3f and %.3f", centers[0], centers[1]);
    ts_test_remove_folder(folder);
}

/* 459 views of a whole turn, with stripes; the center is about 245. */
TEST_ON_BOTH(center, of_a_turn_of_neutrons)
{
    char folder[256], output[300], text[2048];
    SKIP_WITHOUT_DATA("center/of_a_turn_of_neutrons");
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {tiff: "
             "%s/projections/sarepy_neutron360/sinogram_360_neutron_image.tif, pages: sinograms, "
             "pixel_size: 1, angle_start: 0, angle_stop: 360, endpoint: true}\nstages:\n  - "
             "center:\noutput: {hdf5: %s}\n",
             ts_test_data(), output);
    ts_test_chain_runs(text, folder);
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT);
    const double center = number_in(file, "/entry/process_1_center/tables/center");
    fprintf(stderr, "center: %.2f in a sinogram of neutrons\n", center);
    cr_assert(fabs(center - 245) < 1, "%.3f", center);
    is_not_warned_of(file, "/entry/process_1_center/tables");
    H5Fclose(file);
    size_t n;
    double *detectors = ts_test_read_hdf5_at(output, "/entry/data/detector", &n);
    cr_assert(n == 503 && fabs(detectors[0] + center) < 1e-9);
    free(detectors);
    ts_test_remove_folder(folder);
}
