/* SPDX-License-Identifier: Apache-2.0
 *
 * radon beside two independent tools, from files that they wrote: scikit-image 0.19.3 and TomoPy.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/radon.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/npy.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

/* Difference of two sinograms as shares of the second's largest value. */
struct difference {
    double largest, rms, mirrored_rms;
};

static struct difference compare(const float *ours, const double *theirs, int64_t views,
                                 int64_t detectors)
{
    struct difference difference = {0};
    double scale = 0;
    for (int64_t v = 0; v < views; v++)
        for (int64_t d = 0; d < detectors; d++) {
            const double is = ours[v * detectors + d],
                         mirrored = ours[v * detectors + detectors - 1 - d],
                         other = theirs[v * detectors + d];
            scale = fmax(scale, fabs(other));
            difference.largest = fmax(difference.largest, fabs(is - other));
            difference.rms += (is - other) * (is - other);
            difference.mirrored_rms += (mirrored - other) * (mirrored - other);
        }
    const double n = (double)(views * detectors);
    difference.rms = sqrt(difference.rms / n) / scale;
    difference.mirrored_rms = sqrt(difference.mirrored_rms / n) / scale;
    difference.largest /= scale;
    return difference;
}

static struct ts_image unit_image(int64_t ny, int64_t nx)
{
    struct ts_image image = ts_test_image(1, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    image.axes[1].spacing = image.axes[2].spacing = 1;
    memset(image.data, 0, ts_image_bytes(&image));
    return image;
}

/* From scikit-image to ours: its sinogram is (detector, view), its rotation center is pixel n // 2
 * of the image and of the detectors. One more row and column of zeros put our center, (n - 1) / 2,
 * on that pixel. Angles turn the same way. It rotates the image by bilinear interpolation and sums
 * rows; ours interpolates along one axis. Both are exact, and so equal, at 0 and 90 degrees; they
 * differ most near 45 degrees, where its sums are smoother: by up to 3.3 % of the largest value at
 * the phantom's sharp edges (0.2 % rms), 0.7 % in a head (0.07 % rms). */
static void compare_with_skimage(const char *image_name, const char *sinogram_name, double largest,
                                 double rms)
{
    enum { N = 128, VIEWS = 180 };
    size_t n_image, n_sinogram;
    double *pixels = ts_test_read_hdf5("reference/generated/radon.h5", image_name, &n_image);
    double *turned = ts_test_read_hdf5("reference/generated/radon.h5", sinogram_name, &n_sinogram);
    const int64_t detectors = (int64_t)n_sinogram / VIEWS;
    double *theirs = malloc(n_sinogram * sizeof *theirs);
    struct ts_image in = unit_image(N + 1, N + 1);
    cr_assert_eq(n_image, N * N);
    for (int64_t i = 0; i < N * N; i++)
        ((float *)in.data)[i / N * (N + 1) + i % N] = (float)pixels[i];
    for (int64_t d = 0; d < detectors; d++)
        for (int64_t v = 0; v < VIEWS; v++)
            theirs[v * detectors + d] = turned[d * VIEWS + v];
    char assignments[128];
    struct stage_run run;
    snprintf(assignments, sizeof assignments, "views=180 detectors=%lld center=%lld",
             (long long)detectors, (long long)(detectors / 2));
    cr_assert_eq(ts_test_run(&run, &radon_stage, assignments, &in, NULL, 0, 1), TS_OK);
    const float *ours = run.out.data;
    const struct difference all = compare(ours, theirs, VIEWS, detectors);
    cr_assert(all.largest <= largest && all.rms <= rms, "%s: largest %g, rms %g", sinogram_name,
              all.largest, all.rms);
    cr_assert_gt(all.mirrored_rms, 10 * all.rms, "%s would pass mirrored", sinogram_name);
    for (int64_t v = 0; v < VIEWS; v += 90) {
        const struct difference exact =
            compare(ours + v * detectors, theirs + v * detectors, 1, detectors);
        cr_assert(exact.largest <= 1e-6, "%s at %lld degrees: %g", sinogram_name, (long long)v,
                  exact.largest);
    }
    ts_test_run_clear(&run);
    free(in.data);
    free(theirs);
    free(turned);
    free(pixels);
}

Test(radon_data, agrees_with_scikit_image)
{
    SKIP_WITHOUT_DATA("radon_data/agrees_with_scikit_image");
    compare_with_skimage("shepp_logan/image", "shepp_logan/radon_circle", 0.04, 2.5e-3);
    compare_with_skimage("shepp_logan/image", "shepp_logan/radon_full", 0.04, 2.5e-3);
    compare_with_skimage("slice_ct_ge_head/image", "slice_ct_ge_head/radon_circle", 0.01, 1e-3);
    compare_with_skimage("slice_ct_ge_head/image", "slice_ct_ge_head/radon_full", 0.01, 1e-3);
}

/* TomoPy's own test: a 32 x 32 square of ones, 16 views over half a turn, 48 detectors about (n -
 * 1) / 2, by the lengths of the rays within each pixel, which are exact for a square. Joseph's rays
 * end at the last row of pixel centers, up to half a pixel from the square's side. */
Test(radon_data, agrees_with_tomopy)
{
    SKIP_WITHOUT_DATA("radon_data/agrees_with_tomopy");
    enum { VIEWS = 16, SLICES = 8, DETECTORS = 48 };
    static float file_values[VIEWS][SLICES][DETECTORS];
    static double theirs[VIEWS * DETECTORS];
    ts_test_npy("proj.npy", file_values, sizeof file_values);
    for (int v = 0; v < VIEWS; v++)
        for (int d = 0; d < DETECTORS; d++)
            theirs[v * DETECTORS + d] = (double)file_values[v][0][d];
    struct ts_image in = unit_image(32, 32);
    for (int i = 0; i < 32 * 32; i++)
        ((float *)in.data)[i] = 1;
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &radon_stage, "views=16 detectors=48", &in, NULL, 0, 1), TS_OK);
    const struct difference all = compare(run.out.data, theirs, VIEWS, DETECTORS);
    cr_assert(all.largest <= 0.011 && all.rms <= 1.5e-3, "largest %g, rms %g", all.largest,
              all.rms);
    ts_test_run_clear(&run);
    free(in.data);
}
