/* SPDX-License-Identifier: Apache-2.0
 *
 * How near to 1 does a disc of attenuation 1/mm come back? Every ray through it is known exactly.
 * Besides the small sizes that always run, TOMOSTAGE_ACCURACY=FILE runs all sizes and writes them
 * down: that is how docs/notes/accuracy-tables.md is made,
 *
 *     TOMOSTAGE_ACCURACY=docs/notes/accuracy-tables.md build/release/tests/tomostage-tests \
 *         --filter 'accuracy/is_written_down'
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/projection/rebin.h"
#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/fourier.h"
#include "tests/support/stage_run.h"

TestSuite(accuracy, .timeout = 1200);

/* Pixels of a side at most: of larger slices every so manieth pixel is worked out. Every place of a
 * pixel in a fan takes a division: of fans of more than 1,023 detectors it is fewer. */
enum { MOST_PIXELS = 512, MOST_WIDE_FAN_PIXELS = 128, WIDE_FAN = 1024 };
static const double bound = 5e-3;

struct scan {
    const char *name;
    double arc;             /* degrees */
    bool endpoint;          /* the last view is at its end */
    double uneven;          /* each view is off by so much of the step, in turn to both sides */
    enum ts_beam_kind beam; /* of a fan the source stands 1.5 n mm from the axis and 2.25 n mm from
                               the detector */
    bool rebinned;          /* to parallel beams first */
};

struct deviation {
    int64_t views, pixels;
    double mean, largest; /* of value - 1 in the inner 80 % of the radius */
};

/* Distance from the axis of the ray that meets the detector at u. */
static double ray_at(const struct ts_beam *beam, double u)
{
    const double slope = beam->kind == TS_BEAM_PARALLEL ? 0 : u / beam->source_detector_mm;
    return beam->kind == TS_BEAM_PARALLEL  ? u
           : beam->kind == TS_BEAM_FAN_ARC ? beam->source_axis_mm * sin(slope)
                                           : beam->source_axis_mm * sin(atan(slope));
}

/* The chord through a disc about the axis, averaged over the width of a detector. */
static double chord(double radius, const struct ts_beam *beam, double u, double width)
{
    double sum = 0;
    for (int i = 0; i < 16; i++) {
        const double at = ray_at(beam, u + (((double)i + 0.5) / 16 - 0.5) * width),
                     rest = radius * radius - at * at;
        sum += rest > 0 ? 2 * sqrt(rest) / 16 : 0;
    }
    return sum;
}

/* 1.6 n views for each half turn, n detectors 1 mm apart at the axis, a radius of 0.4 n mm. */
static struct ts_image make_sinogram(int64_t n, const struct scan *scan, double *angles)
{
    const int64_t views = (int64_t)(1.6 * (double)n * scan->arc / 180);
    const double step = scan->arc / (double)(scan->endpoint ? views - 1 : views);
    struct ts_image image = ts_test_image(1, views, n, TS_F32, VALUES_CONSTANT, 1);
    float *values = image.data;
    ts_test_sinogram(&image);
    image.axes[2].spacing = scan->beam == TS_BEAM_PARALLEL ? 1 : 1.5;
    image.axes[2].first = -0.5 * (double)(n - 1) * image.axes[2].spacing;
    if (scan->beam != TS_BEAM_PARALLEL)
        image.beam = (struct ts_beam){scan->beam, 1.5 * (double)n, 2.25 * (double)n};
    for (int64_t v = 0; v < views; v++)
        angles[v] = step * ((double)v + (v % 2 ? scan->uneven : -scan->uneven));
    image.axes[1].positions = angles;
    for (int64_t i = 0; i < views * n; i++)
        values[i] = i < n ? (float)chord(0.4 * (double)n, &image.beam,
                                         image.axes[2].first + (double)i * image.axes[2].spacing,
                                         image.axes[2].spacing)
                          : values[i - n];
    return image;
}

/* With `fourier` every pixel is worked out, because a part of them takes as long. */
static struct deviation measure(const struct stage *stage, int64_t n, const struct scan *scan,
                                const char *filter)
{
    const bool by_fan = scan->beam != TS_BEAM_PARALLEL && !scan->rebinned;
    const int64_t most = stage == &fourier_stage   ? n
                         : by_fan && n >= WIDE_FAN ? MOST_WIDE_FAN_PIXELS
                                                   : MOST_PIXELS;
    const int64_t pixels = n < most ? n : most - n % 2;
    const double size = (double)n / (double)pixels, radius = 0.8 * 0.4 * (double)n;
    double *angles = malloc((size_t)(4 * n) * sizeof *angles);
    struct ts_image in = make_sinogram(n, scan, angles);
    struct deviation deviation = {.views = in.axes[1].n};
    struct stage_run run, parallel;
    char text[128];
    if (scan->rebinned)
        cr_assert_eq(ts_test_run(&parallel, &rebin_stage, "", &in, NULL, 0, 2), TS_OK);
    snprintf(text, sizeof text, "filter=%s rows=%lld columns=%lld pixel_size=%.17g", filter,
             (long long)pixels, (long long)pixels, size);
    cr_assert_eq(ts_test_run(&run, stage, text, scan->rebinned ? &parallel.out : &in, NULL, 0, 2),
                 TS_OK);
    for (int64_t i = 0; i < pixels * pixels; i++) {
        const double middle = 0.5 * (double)(pixels - 1),
                     off = ((const float *)run.out.data)[i] - 1.0;
        const int64_t row = i / pixels, column = i % pixels;
        if (hypot((double)column - middle, (double)row - middle) * size > radius)
            continue;
        deviation.pixels++;
        deviation.mean += off;
        if (!(fabs(off) <= fabs(deviation.largest)))
            deviation.largest = off;
    }
    deviation.mean /= (double)deviation.pixels;
    ts_test_run_clear(&run);
    if (scan->rebinned)
        ts_test_run_clear(&parallel);
    free(in.data);
    free(angles);
    return deviation;
}

static const char *const filters[] = {"ramp", "shepp-logan", "cosine", "hamming", "hann", "parzen"};
enum { FILTERS = sizeof filters / sizeof *filters, PARALLEL = 4 };
static const struct scan scans[] = {
    {"180 degrees", 180, false, 0},
    {"360 degrees", 360, false, 0},
    {"180 degrees, both ends", 180, true, 0},
    {"180 degrees, uneven by 30 %", 180, false, 0.3},
    /* parallel up to here: PARALLEL of them */
    {"fan-arc, 360 degrees", 360, false, 0, TS_BEAM_FAN_ARC},
    {"fan-flat, 360 degrees", 360, false, 0, TS_BEAM_FAN_FLAT},
    {"fan-arc, 230 degrees", 230, false, 0, TS_BEAM_FAN_ARC},
    {"fan-flat, 230 degrees", 230, false, 0, TS_BEAM_FAN_FLAT},
    {"rebin, fan-arc, 360 degrees", 360, false, 0, TS_BEAM_FAN_ARC, true},
    {"rebin, fan-flat, 360 degrees", 360, false, 0, TS_BEAM_FAN_FLAT, true},
    {"rebin, fan-arc, 230 degrees", 230, false, 0, TS_BEAM_FAN_ARC, true},
    {"rebin, fan-flat, 230 degrees", 230, false, 0, TS_BEAM_FAN_FLAT, true}};

static void check(const struct stage *stage, int64_t n, const struct scan *scan, FILE *file)
{
    struct deviation deviations[FILTERS];
    for (int f = 0; f < FILTERS; f++) {
        deviations[f] = measure(stage, n, scan, filters[f]);
        cr_expect(fabs(deviations[f].largest) <= bound, "%s, %s, %s, %lld detectors: off by %g",
                  stage->name, filters[f], scan->name, (long long)n, deviations[f].largest);
    }
    if (!file)
        return;
    fprintf(file, "| %lld | %s | %lld |", (long long)n, scan->name, (long long)deviations[0].views);
    for (int f = 0; f < FILTERS; f++)
        fprintf(file, " %+.3f / %+.3f |", 100 * deviations[f].mean, 100 * deviations[f].largest);
    fprintf(file, "\n");
    fflush(file);
}

TEST_ON_BOTH(accuracy, a_disc_of_1_comes_back_as_1)
{
    static const int64_t sizes[] = {63, 64, 127, 128};
    for (size_t i = 0; i < (ts_test_few() ? 1 : sizeof sizes / sizeof *sizes); i++)
        for (size_t s = 0; s < sizeof scans / sizeof *scans; s++)
            check(&fbp_stage, sizes[i], &scans[s], NULL);
}

TEST_ON_BOTH(accuracy, a_disc_of_1_comes_back_as_1_by_fourier)
{
    static const int64_t sizes[] = {63, 64, 127, 128, 513};
    for (size_t i = 0; i < (ts_test_few() ? 1 : sizeof sizes / sizeof *sizes); i++)
        for (size_t s = 0; s < PARALLEL; s++)
            check(&fourier_stage, sizes[i], &scans[s], NULL);
}

static void write_heading(FILE *file)
{
    fprintf(file, "| detectors | angles | views |");
    for (int f = 0; f < FILTERS; f++)
        fprintf(file, " %s |", filters[f]);
    fprintf(file, "\n|---|---|---|");
    for (int f = 0; f < FILTERS; f++)
        fprintf(file, "---|");
    fprintf(file, "\n");
}

Test(accuracy, is_written_down)
{
    static const int64_t sizes[] = {63, 64, 127, 128, 255, 256, 511, 512, 1023, 1024, 2048, 2049};
    const char *path = getenv("TOMOSTAGE_ACCURACY");
    if (!path)
        return;
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    fprintf(file,
            "# Accuracy of reconstructions: the tables\n\n"
            "`TOMOSTAGE_ACCURACY=docs/notes/accuracy-tables.md build/release/tests/tomostage-tests "
            "--filter accuracy/is_written_down` writes this page.\n[accuracy.md](../accuracy.md) "
            "says what it shows.\n\n"
            "`fbp` and `fourier` reconstruct a disc of attenuation 1/mm about the rotation axis. "
            "There are n detector pixels 1 mm\napart, each the mean of the chords over its width; "
            "the disc has the radius 0.4 n mm, and every half turn 1.6 n views.\nA fan's source "
            "stands 1.5 n mm from the axis and 2.25 n mm from the detector, whose spacing is 1 mm "
            "at the axis.\nThe tables have the mean and the largest deviation from 1 in percent, "
            "over the pixels in the inner 80 %% of the\nradius (about %d of them in larger slices, "
            "and about %d for fans from %d detector pixels on). The filter `none` is\nleft out "
            "because it gives no attenuation. `rebin` stands for `rebin` with its defaults and "
            "then `fbp` of parallel beams.\nAll of it ran on the CPU, in float.\n\n"
            "## fbp\n\n",
            MOST_PIXELS, MOST_WIDE_FAN_PIXELS, WIDE_FAN);
    write_heading(file);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t s = 0; s < sizeof scans / sizeof *scans; s++)
            check(&fbp_stage, sizes[i], &scans[s], file);
    fprintf(file, "\n## fourier\n\nEvery pixel; `interpolation: linear`.\n\n");
    write_heading(file);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t s = 0; s < PARALLEL; s++)
            check(&fourier_stage, sizes[i], &scans[s], file);
    cr_assert_eq(fclose(file), 0);
}
