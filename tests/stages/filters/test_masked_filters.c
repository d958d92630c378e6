/* SPDX-License-Identifier: Apache-2.0
 *
 * box, gaussian, median and convolve of masked images, against the definitions in double: sums and
 * sorts over the valid pixels of each window, for every type and border, in 2D and 3D; the bytes
 * depend neither on slabs nor on threads.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/filters/convolve.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"

enum { NZ = 5, NY = 9, NX = 21, RADIUS = 2, CONSTANT = 3, MOST = 125 };
static const double sigma = 0.5;

/* The value and the validity of the pixel that stands for (z, y, x). */
static double sample(const struct ts_image *image, enum ts_border border, int64_t z, int64_t y,
                     int64_t x, bool *valid)
{
    const int64_t from[] = {ts_border_index(z, NZ, border), ts_border_index(y, NY, border),
                            ts_border_index(x, NX, border)};
    double value;
    *valid = true;
    if (from[0] < 0 || from[1] < 0 || from[2] < 0)
        return CONSTANT;
    const size_t i = (size_t)(from[1] * NX + from[2]);
    *valid = ts_test_is_valid(image, from[0], i);
    ts_load_f64(&value,
                (const char *)ts_slice_data(image, from[0]) + i * ts_dtype_bytes(image->dtype),
                image->dtype, 1);
    return value;
}

static double gauss(int64_t i)
{
    return exp(-(double)(i * i) / (2 * sigma * sigma));
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns what the stage shall give at a valid pixel. */
static double expected_at(const struct ts_image *image, const struct stage *stage, bool volume,
                          enum ts_border border, int64_t z, int64_t y, int64_t x)
{
    const int64_t depth = volume ? RADIUS : 0;
    double sum = 0, weights = 0, sorted[MOST];
    size_t n = 0;
    for (int64_t k = -depth; k <= depth; k++)
        for (int64_t j = -RADIUS; j <= RADIUS; j++)
            for (int64_t i = -RADIUS; i <= RADIUS; i++) {
                bool valid;
                const double value = sample(image, border, z + k, y + j, x + i, &valid);
                const double weight = stage == &gaussian_stage ? gauss(k) * gauss(j) * gauss(i) : 1;
                if (!valid)
                    continue;
                sum += weight * value;
                weights += weight;
                sorted[n++] = value;
            }
    if (stage != &median_stage)
        return sum / weights;
    qsort(sorted, n, sizeof *sorted, compare);
    return sorted[n / 2];
}

static void check_values(const struct ts_image *image, const struct ts_image *out,
                         const struct stage *stage, bool volume, enum ts_border border,
                         const char *what)
{
    const double relative = stage == &median_stage ? 0 : stage == &box_stage ? 1e-6 : 2e-6;
    for (int64_t z = 0; z < NZ; z++)
        for (size_t i = 0; i < NY * NX; i++) {
            bool valid;
            double is,
                expected = sample(image, border, z, (int64_t)i / NX, (int64_t)i % NX, &valid);
            ts_load_f64(&is, (const char *)ts_slice_data(out, z) + i * ts_dtype_bytes(out->dtype),
                        out->dtype, 1);
            if (valid)
                expected =
                    expected_at(image, stage, volume, border, z, (int64_t)i / NX, (int64_t)i % NX);
            if (out->dtype != TS_F32)
                expected = rint(expected);
            else
                expected = valid ? expected : (double)(float)expected;
            const double most =
                out->dtype != TS_F32 || !valid ? 0 : relative * fmax(fabs(expected), 4096);
            cr_assert(fabs(is - expected) <= most,
                      "%s: slice %lld, pixel %zu is %.9g, expected %.9g", what, (long long)z, i, is,
                      expected);
        }
}

static void check_stage(const struct stage *stage, const char *parameters, enum ts_dtype dtype,
                        bool volume, enum ts_border border, enum masked_pixels which)
{
    static const int64_t slabs[] = {0, 1, 2, 3};
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 21), first = {0};
    char assignments[160];
    const int n =
        snprintf(assignments, sizeof assignments, "%s dimensions=%s border=%s", parameters,
                 volume ? "3d" : "2d", ts_choice_name(ts_border_choices, border));
    if (border == BORDER_CONSTANT)
        snprintf(assignments + n, sizeof assignments - (size_t)n, " constant=%d", CONSTANT);
    ts_test_mask(&image, which, 100, 22);
    for (size_t s = 0; s < 4; s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, stage, assignments, &image, NULL, slabs[s], threads),
                         TS_OK, "%s {%s}", stage->name, assignments);
            if (!first.data) {
                first = run.out;
                check_values(&image, &first, stage, volume, border, assignments);
                run.out.data = NULL;
            } else {
                cr_assert(!memcmp(first.data, run.out.data, ts_image_bytes(&first)),
                          "%s {%s}: slab %lld, %d threads", stage->name, assignments,
                          (long long)slabs[s], threads);
            }
            ts_test_run_clear(&run);
        }
    free(first.data);
    free(image.data);
    free(image.valid);
}

static void check_all(const struct stage *stage, const char *parameters)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int volume = 0; volume < 2; volume++)
            for (int border = BORDER_REFLECT; border <= BORDER_WRAP; border++)
                check_stage(stage, parameters, (enum ts_dtype)dtype, volume, (enum ts_border)border,
                            MASKED_SOME);
    check_stage(stage, parameters, TS_I16, true, BORDER_REFLECT, MASKED_ALL);
    check_stage(stage, parameters, TS_F32, true, BORDER_REFLECT, MASKED_NONE);
}

TEST_ON_BOTH(masked_filters, box_is_the_mean_of_the_valid_pixels)
{
    check_all(&box_stage, "radius=2");
}

TEST_ON_BOTH(masked_filters, gaussian_weighs_the_valid_pixels)
{
    check_all(&gaussian_stage, "sigma=0.5");
}

TEST_ON_BOTH(masked_filters, median_is_that_of_the_valid_pixels)
{
    check_all(&median_stage, "radius=2");
}

/* An invalid value reaches no valid pixel, not even as NaN. */
TEST_ON_BOTH(masked_filters, a_nan_that_is_invalid_spreads_nowhere)
{
    static const struct stage *const stages[] = {&box_stage, &gaussian_stage, &median_stage};
    static const char *const parameters[] = {"radius=2", "sigma=0.5", "radius=2"};
    for (int s = 0; s < 3; s++) {
        struct ts_image image = ts_test_image(NZ, NY, NX, TS_F32, VALUES_CT, 23);
        ts_test_mask(&image, MASKED_SOME, NAN, 24);
        const struct ts_image out = ts_test_output(stages[s], parameters[s], &image);
        for (int64_t z = 0; z < NZ; z++)
            for (size_t i = 0; i < NY * NX; i++)
                cr_assert_eq(isnan(((const float *)ts_slice_data(&out, z))[i]) != 0,
                             !ts_test_is_valid(&image, z, i));
        free(out.data);
        free(image.data);
        free(image.valid);
    }
}

/* Returns the mean of the valid pixels of a window of radius 4 around a pixel of the slice,
 * mirrored at its ends. */
static double mean_around(const struct ts_image *image, int64_t z, int64_t y, int64_t x)
{
    double sum = 0, n = 0;
    for (int64_t j = -4; j <= 4; j++)
        for (int64_t i = -4; i <= 4; i++) {
            bool valid;
            const double value = sample(image, BORDER_MIRROR, z, y + j, x + i, &valid);
            sum += valid ? value : 0;
            n += valid;
        }
    return sum / n;
}

/* Running sums would carry a NaN to the end of the row, and a hidden value too, if it counted. */
TEST_ON_BOTH(masked_filters, box_keeps_large_hidden_values_and_nan_out_of_its_running_sums)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_F32, VALUES_CT, 27);
    ts_test_mask(&image, MASKED_SOME, 3e38, 28);
    ((float *)image.data)[NX / 2] = NAN;
    ts_slice_valid(&image, 0)[0] |= UINT64_C(1) << NX / 2;
    const struct ts_image out =
        ts_test_output(&box_stage, "radius=4 border=mirror method=running-sum", &image);
    for (int64_t z = 0; z < NZ; z++)
        for (size_t i = 0; i < NY * NX; i++) {
            const double is = (double)((const float *)ts_slice_data(&out, z))[i];
            if (!ts_test_is_valid(&image, z, i)) {
                cr_assert_float_eq(is, (double)3e38F, 0);
                continue;
            }
            const double expected = mean_around(&image, z, (int64_t)i / NX, (int64_t)i % NX);
            cr_assert(isnan(expected) ? isnan(is) : fabs(is - expected) <= 4096e-6,
                      "slice %lld, pixel %zu is %.9g, expected %.9g", (long long)z, i, is,
                      expected);
        }
    free(out.data);
    free(image.data);
    free(image.valid);
}

/* The weighted sum where an invalid pixel counts as the one in the middle. */
static double convolved(const struct ts_image *image, enum ts_border border,
                        const struct convolve_weights *kernel, int64_t z, int64_t y, int64_t x)
{
    bool valid;
    const double middle = sample(image, border, z, y, x, &valid);
    double sum = 0;
    for (int64_t j = 0; j < kernel->rows; j++)
        for (int64_t i = 0; i < kernel->columns; i++) {
            const double value = sample(image, border, z, y + j - kernel->rows / 2,
                                        x + i - kernel->columns / 2, &valid);
            sum += kernel->weights[j * kernel->columns + i] * (valid ? value : middle);
        }
    return sum / kernel->divisor;
}

static void check_convolve(const char *parameters, enum ts_dtype dtype, enum ts_border border,
                           double hidden)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 25);
    struct convolve_weights kernels[2];
    struct stage_run run;
    char assignments[160];
    const int n = snprintf(assignments, sizeof assignments, "%s border=%s", parameters,
                           ts_choice_name(ts_border_choices, border));
    if (border == BORDER_CONSTANT)
        snprintf(assignments + n, sizeof assignments - (size_t)n, " constant=%d", CONSTANT);
    ts_test_mask(&image, MASKED_SOME, hidden, 26);
    cr_assert_eq(ts_test_run(&run, &convolve_stage, assignments, &image, NULL, 2, 3), TS_OK);
    const int n_kernels = ts_convolve_kernels(run.context.params, kernels);
    for (int64_t z = 0; z < NZ; z++)
        for (size_t i = 0; i < NY * NX; i++) {
            const int64_t y = (int64_t)i / NX, x = (int64_t)i % NX;
            const double is = (double)((const float *)ts_slice_data(&run.out, z))[i];
            bool valid;
            double expected = sample(&image, border, z, y, x, &valid);
            if (valid)
                expected = convolved(&image, border, &kernels[0], z, y, x);
            if (valid && n_kernels > 1)
                expected = hypot(expected, convolved(&image, border, &kernels[1], z, y, x));
            cr_assert(fabs(is - expected) <= 6e-8 * fmax(fabs(expected), 4096) ||
                          (isnan(is) && !valid),
                      "%s: slice %lld, pixel %zu is %.9g, expected %.9g", assignments, (long long)z,
                      i, is, expected);
        }
    ts_test_run_clear(&run);
    free(image.data);
    free(image.valid);
}

TEST_ON_BOTH(masked_filters, convolve_sees_no_edge_at_what_is_invalid)
{
    static const char *const parameters[] = {"kernel=sobel-magnitude", "kernel=gaussian-5x5",
                                             "kernel=laplacian-4",
                                             "kernel=custom weights=1,0,-2.5,0.3,7"};
    for (int p = 0; p < 4; p++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            for (int border = BORDER_REFLECT; border <= BORDER_WRAP; border++)
                check_convolve(parameters[p], (enum ts_dtype)dtype, (enum ts_border)border,
                               dtype == TS_F32 ? (double)NAN : 100);
}
