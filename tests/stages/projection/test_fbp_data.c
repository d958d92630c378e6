/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp beside scikit-image 0.19.3, from files that it wrote: every filter, and a real scan of a
 * tooth.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "tests/files/hdf5_data.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

/* Largest difference inside the circle as a share of the largest value, turned over as well. */
struct difference {
    double largest, mirrored;
};

/* From scikit-image to ours: its rotation center is pixel n // 2. One more row and column of ours
 * puts (n - 1) / 2 on that pixel. Angles turn the same way. `factor` times theirs is ours. */
static struct difference compare(struct ts_image *in, const char *text, const double *theirs,
                                 double factor)
{
    const int64_t n = in->axes[2].n, middle = n / 2;
    char assignments[128];
    struct stage_run run;
    struct difference difference = {0};
    double scale = 0;
    snprintf(assignments, sizeof assignments, "%s rows=%lld columns=%lld", text, (long long)n + 1,
             (long long)n + 1);
    cr_assert_eq(ts_test_run(&run, &fbp_stage, assignments, in, NULL, 0, 2), TS_OK, "%s",
                 assignments);
    const float *ours = run.out.data;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double other = factor * theirs[i * n + j];
            if (hypot((double)(i - middle), (double)(j - middle)) >= (double)(middle - 1))
                continue;
            scale = fmax(scale, fabs(other));
            difference.largest =
                fmax(difference.largest, fabs((double)ours[i * (n + 1) + j] - other));
            difference.mirrored =
                fmax(difference.mirrored, fabs((double)ours[i * (n + 1) + n - j] - other));
        }
    difference.largest /= scale;
    difference.mirrored /= scale;
    ts_test_run_clear(&run);
    return difference;
}

static struct ts_image sinogram_of(int64_t views, int64_t detectors)
{
    struct ts_image image = ts_test_image(1, views, detectors, TS_F32, VALUES_CONSTANT, 1);
    ts_test_sinogram(&image);
    image.axes[2].spacing = 1;
    const int64_t middle = detectors / 2;
    image.axes[2].first = -(double)middle;
    return image;
}

/* The same definitions give the same values; hamming and hann it samples one sample off the middle,
 * and the windows of shepp-logan and cosine in fewer digits. */
static void compare_filters(const char *group)
{
    static const struct {
        const char *theirs, *ours;
        double factor, bound;
    } filters[] = {
        {"ramp", "filter=ramp", 1, 2e-6},     {"shepp-logan", "filter=shepp-logan", 1, 3e-5},
        {"cosine", "filter=cosine", 1, 6e-5}, {"hamming", "filter=hamming", 1, 6e-4},
        {"hann", "filter=hann", 1, 6e-4},     {"None", "filter=none", 2, 2e-6},
    };
    char name[128];
    size_t count;
    snprintf(name, sizeof name, "%s/radon_circle", group);
    double *turned = ts_test_read_hdf5("reference/generated/radon.h5", name, &count);
    struct ts_image in = sinogram_of(180, 128);
    cr_assert_eq(count, 128 * 180);
    for (int64_t d = 0; d < 128; d++)
        for (int64_t v = 0; v < 180; v++)
            ((float *)in.data)[v * 128 + d] = (float)turned[d * 180 + v];
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        snprintf(name, sizeof name, "%s/iradon/%s", group, filters[i].theirs);
        double *theirs = ts_test_read_hdf5("reference/generated/radon.h5", name, &count);
        const struct difference is = compare(&in, filters[i].ours, theirs, filters[i].factor);
        cr_expect(is.largest <= filters[i].bound, "%s: off by %g", name, is.largest);
        cr_expect_gt(is.mirrored, 20 * filters[i].bound, "%s would pass mirrored", name);
        free(theirs);
    }
    free(turned);
    free(in.data);
}

TEST_ON_BOTH(fbp_data, agrees_with_every_filter_of_scikit_image)
{
    SKIP_WITHOUT_DATA("fbp_data/agrees_with_every_filter_of_scikit_image");
    compare_filters("shepp_logan");
    compare_filters("slice_ct_ge_head");
}

/* The file's rows were moved by 24 detectors about scikit-image's center 320: the first value of a
 * row filled it up, and what left the detector was lost. */
TEST_ON_BOTH(fbp_data, agrees_with_scikit_image_on_a_tooth)
{
    SKIP_WITHOUT_DATA("fbp_data/agrees_with_scikit_image_on_a_tooth");
    enum { VIEWS = 181, N = 640, SHIFT = 24 };
    size_t n_rows, n_theirs, n_theta;
    double *rows = ts_test_read_hdf5("reference/generated/fbp_tooth_row0.h5", "sinogram", &n_rows);
    double *theirs = ts_test_read_hdf5("reference/generated/fbp_tooth_row0.h5", "recon", &n_theirs);
    double *theta = ts_test_read_hdf5("reference/generated/fbp_tooth_row0.h5", "theta", &n_theta);
    struct ts_image in = sinogram_of(VIEWS, N);
    cr_assert(n_rows == VIEWS * N && n_theirs == N * N && n_theta == VIEWS);
    in.axes[1].positions = theta;
    for (int64_t i = 0; i < VIEWS * N; i++)
        ((float *)in.data)[i] = (float)rows[i % N < SHIFT ? i - i % N : i - SHIFT];
    const struct difference moved = compare(&in, "", theirs, 1);
    for (int64_t i = 0; i < VIEWS * N; i++)
        ((float *)in.data)[i] = (float)rows[i];
    in.axes[2].first += SHIFT;
    const struct difference whole = compare(&in, "", theirs, 1);
    cr_expect(moved.largest <= 5e-6, "off by %g", moved.largest);
    cr_expect(whole.largest <= 0.05, "off by %g", whole.largest);
    cr_expect_gt(moved.mirrored, 0.2);
    free(rows);
    free(theirs);
    free(theta);
    free(in.data);
}
