/* SPDX-License-Identifier: Apache-2.0
 *
 * Our stages beside the arrays of TomoPy's own tests, file by file:
 *
 *     angle, proj, obj        radon (test_radon_data)      fbp            backproject, its adjoint
 *     circ_mask_0, 1, 2       circle (test_circle)         gridrec_*      fbp and fourier
 *     sirt                    sirt (test_sirt)             art            sirt: we have no ART
 *     projection              center, opposite             shepp2d.tif    our phantom, through tiff
 *
 * normalize, normalize_bg and normalize_nf are results whose counts, flats and darks did not come
 * with them; that of normalize_bg is made anew from a beam put on it (test_air), the last is of an
 * algorithm (the nearest flats in time) that we do not have. flat_field is checked on a real scan
 * in test_flat_field.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/phantom.h"
#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/fourier.h"
#include "stages/reconstruction/sirt.h"
#include "stages/scan/center.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/npy.h"
#include "tests/files/output_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/correlation.h"
#include "tests/support/scan_check.h"
#include "tests/support/support.h"

enum { VIEWS = 16, SLICES = 8, SIDE = 48, VOXELS = SLICES * SIDE * SIDE };

/* proj.npy and angle.npy: a square of ones, 32 pixels wide, from 16 sides. */
static struct ts_image square_scan(double angles[VIEWS])
{
    static float projections[VIEWS][SLICES][SIDE];
    static const struct scan_case which = {"", SLICES, VIEWS, SIDE};
    struct ts_image image = ts_test_scan(&which, 1);
    ts_test_npy("proj.npy", projections, sizeof projections);
    ts_test_npy("angle.npy", angles, VIEWS * sizeof *angles);
    for (int v = 0; v < VIEWS; v++)
        angles[v] *= 180 / M_PI;
    image.axes[1].positions = angles;
    image.axes[2].spacing = 1;
    image.axes[2].first = -0.5 * (SIDE - 1);
    for (int z = 0; z < SLICES; z++)
        for (int v = 0; v < VIEWS; v++)
            memcpy((float *)image.data + ((size_t)z * VIEWS + (size_t)v) * SIDE, projections[v][z],
                   sizeof projections[v][z]);
    return image;
}

/* Within a radius of the axis: the correlation, the ratio of the means, and the largest difference
 * as a part of the largest value. */
struct agreement {
    double correlation, level, largest;
};

static struct agreement compare(const float *ours, const float *theirs, double radius)
{
    struct correlation sums = {0};
    double largest = 0, scale = 0;
    for (int i = 0; i < VOXELS; i++) {
        const double p = ours[i], q = theirs[i];
        if (hypot(i / SIDE % SIDE - 0.5 * (SIDE - 1), i % SIDE - 0.5 * (SIDE - 1)) >= radius)
            continue;
        ts_correlation_add(&sums, p, q);
        largest = fmax(largest, fabs(p - q));
        scale = fmax(scale, fabs(q));
    }
    return (struct agreement){ts_correlation_of(&sums), sums.a / sums.b, largest / scale};
}

static struct agreement run_beside(const struct stage *stage, const char *assignments,
                                   const char *name)
{
    double angles[VIEWS];
    static float theirs[VOXELS];
    struct ts_image in = square_scan(angles);
    struct stage_run run;
    ts_test_npy(name, theirs, sizeof theirs);
    cr_assert_eq(ts_test_run(&run, stage, assignments, &in, NULL, 0, 2), TS_OK, "%s", assignments);
    const struct agreement agreement = compare(run.out.data, theirs, 22);
    ts_test_run_clear(&run);
    free(in.data);
    return agreement;
}

/* TomoPy's `fbp` without a filter adds each ray, times its length in a pixel, to the pixels on it:
 * the adjoint of its projector, as `backproject` is of ours. Lengths in squares and Joseph's
 * weights differ from pixel to pixel, by 4 % of the largest value, and not in the mean. */
TEST_ON_BOTH(tomopy, backprojects_as_we_do)
{
    SKIP_WITHOUT_DATA("tomopy/backprojects_as_we_do");
    const struct agreement is = run_beside(&backproject_stage, "model=joseph", "fbp.npy");
    cr_assert(is.correlation > 0.995 && fabs(is.level - 1) < 1e-3 && is.largest < 0.045,
              "%g, level %g, largest %g", is.correlation, is.level, is.largest);
}

/* Gridrec smooths the frequencies between which it interpolates, and 16 views leave streaks that
 * nothing bounds: patterns agree, values do so in the mean. It ends the spectrum at half a cycle,
 * as `sinc`. Its Hann window is not ours: no cutoff comes nearer. */
TEST_ON_BOTH(tomopy, gridrec_is_near)
{
    static const struct {
        const struct stage *stage;
        const char *name, *assignments;
        double correlation;
    } rows[] = {
        {&fbp_stage, "gridrec_ramlak.npy", "filter=ramp", 0.98},
        {&fbp_stage, "gridrec_shepp.npy", "filter=shepp-logan", 0.98},
        {&fbp_stage, "gridrec_hann.npy", "filter=hann", 0.87},
        {&fourier_stage, "gridrec_ramlak.npy", "filter=ramp interpolation=sinc", 0.98},
        {&fourier_stage, "gridrec_shepp.npy", "filter=shepp-logan interpolation=sinc", 0.98},
        {&fourier_stage, "gridrec_hann.npy", "filter=hann interpolation=sinc", 0.87}};
    SKIP_WITHOUT_DATA("tomopy/gridrec_is_near");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct agreement is = run_beside(rows[i].stage, rows[i].assignments, rows[i].name);
        cr_assert(is.correlation > rows[i].correlation && fabs(is.level - 1) < 0.04,
                  "%s by %s: %g, level %g", rows[i].name, rows[i].stage->name, is.correlation,
                  is.level);
    }
    /* Without a filter it is the plain sum of the views, but for a factor. */
    cr_assert_gt(run_beside(&fbp_stage, "filter=none", "gridrec_none.npy").correlation, 0.97);
}

/* ART corrects for one ray after the other, SIRT for all at once: on their way to the same square
 * they are alike. */
TEST_ON_BOTH(tomopy, art_goes_where_sirt_goes)
{
    SKIP_WITHOUT_DATA("tomopy/art_goes_where_sirt_goes");
    const struct agreement is = run_beside(&sirt_stage, "iterations=20", "art.npy");
    cr_assert(is.correlation > 0.98 && fabs(is.level - 1) < 0.02, "%g, level %g", is.correlation,
              is.level);
}

/* TomoPy's test of find_center_pc: a radiograph and its mirror image as the views at 0 and 180
 * degrees, whose center is the middle of the row; and the same with the mirror image moved. */
TEST_ON_BOTH(tomopy, opposite_finds_the_middle_of_a_mirror_image)
{
    enum { ROWS = 128, N = 128, TURN = 9 };
    static float picture[ROWS][N];
    SKIP_WITHOUT_DATA("tomopy/opposite_finds_the_middle_of_a_mirror_image");
    ts_test_npy("projection.npy", picture, sizeof picture);
    for (int moved = -10; moved <= 10; moved += 5) {
        struct ts_image in = ts_test_image(1, TURN, N, TS_F32, VALUES_CONSTANT, 1);
        ts_test_sinogram(&in);
        in.axes[1].spacing = 180.0 / (TURN - 1);
        for (int row = 16; row < ROWS - 16; row += 16) {
            struct stage_run run;
            for (int v = 0; v < TURN; v++)
                for (int d = 0; d < N; d++) {
                    const int from = N - 1 - d + moved, end = from < 0   ? 0
                                                              : from < N ? from
                                                                         : N - 1;
                    ((float *)in.data)[v * N + d] = picture[row][v == TURN - 1 ? end : d];
                }
            cr_assert_eq(ts_test_run(&run, &center_stage, "method=opposite", &in, NULL, 0, 1),
                         TS_OK);
            const double is = ts_test_table_at(&run, "center", 0), expected = 0.5 * (N - 1 + moved);
            cr_assert(fabs(is - expected) < 0.02, "row %d finds %.3f, expected %.1f", row, is,
                      expected);
            ts_test_run_clear(&run);
        }
        free(in.data);
    }
}

/* TomoPy's picture of Shepp and Logan's head through `tiff`, beside our own: rows fall with y,
 * columns rise with x. Its outlines are up to a pixel off ours, along all of the skull. */
Test(tomopy, draws_the_same_head)
{
    enum { N = 512, PIXELS = N * N };
    char folder[256], output[300], text[4096];
    size_t n;
    SKIP_WITHOUT_DATA("tomopy/draws_the_same_head");
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    snprintf(
        text, sizeof text,
        "tomostage: 2\ninput: {tiff: %s/reference/tomopy_tests/shepp2d.tif, pages: slices, "
        "pixel_size: 1, spacing_z: 1}\nstages:\n  - save: {name: head}\noutput: {hdf5: out.h5}\n",
        ts_test_data());
    ts_test_chain_runs(text, folder);
    double *theirs = ts_test_read_hdf5_at(output, "/entry/data/data", &n);
    const struct phantom *phantom = ts_phantom_find("shepp-logan");
    const struct phantom_options options = {
        .nx = N, .ny = N, .nz = 1, .spacing_x_mm = 1, .spacing_y_mm = 1, .spacing_z_mm = 1};
    int unlike[3] = {0}; /* as it is, left and right exchanged, up and down */
    cr_assert_eq(n, PIXELS);
    for (int i = 0; i < PIXELS; i++) {
        const int row = i / N;
        const double x = i % N - 0.5 * (N - 1), y = 0.5 * (N - 1) - row, gray = theirs[i] / 255;
        for (int turn = 0; turn < 3; turn++) {
            const double hu =
                ts_phantom_value(phantom, &options, turn == 1 ? -x : x, turn == 2 ? -y : y, 0);
            unlike[turn] += fabs((hu + 1000) / 2000 - gray) >
                            0.11; /* its lesions are a tenth brighter or not there */
        }
    }
    cr_assert(unlike[0] < PIXELS / 25 && unlike[1] > unlike[0] * 3 / 2 && unlike[2] > 2 * unlike[0],
              "%d, %d, %d", unlike[0], unlike[1], unlike[2]);
    free(theirs);
    ts_test_remove_folder(folder);
}
