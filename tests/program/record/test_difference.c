/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences of values are held against plain definitions: counts, the largest difference and its
 * place, norms, SSIM of whole windows, NaN and infinities.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program/record/comparison.h"
#include "tests/files/npy.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/folders.h"

enum { NX = 37, NY = 29, NZ = 5, N = NX * NY * NZ, TAPS = 7 };

static char folder[256];
static float a[N], b[N];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < N; i++) {
        a[i] = (float)(100 * sin(0.1 * i) + i % 7);
        b[i] = a[i];
    }
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(difference, .init = begin, .fini = end);

static struct source *open_values(const char *name, const void *values, const char *descr,
                                  size_t width)
{
    char path[300], dictionary[200];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d, %d), }", descr, NZ, NY, NX);
    ts_test_npy_write(path, dictionary, values, N * width);
    return ts_volume_opened("npy", path);
}

static struct difference compare(double data_range)
{
    struct source *left = open_values("a", a, "<f4", 4), *right = open_values("b", b, "<f4", 4);
    const struct difference_request request = {.data_range = data_range};
    struct difference difference;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_difference(left, right, &request, &difference, diag), TS_OK);
    left->ops->close(left);
    right->ops->close(right);
    ts_diag_destroy(diag);
    return difference;
}

Test(difference, equal_images_have_none)
{
    a[5] = b[5] = NAN;
    a[6] = b[6] = INFINITY;
    const struct difference found = compare(0);
    cr_assert(found.n == N && found.n_differ == 0 && found.largest == 0);
    cr_assert(found.n_nan[0] == 1 && found.n_nan[1] == 1);
    cr_assert(found.measures[COMPARE_RMS] == 0 && found.measures[COMPARE_SSIM] == 1);
    cr_assert(isinf(found.measures[COMPARE_PSNR]));
}

/* SSIM of the window whose first pixel is at (z, y, x), with variances of a sample. */
static double window_similarity(int z, int y, int x, double range)
{
    const double n = TAPS * TAPS, c1 = 1e-4 * range * range, c2 = 9e-4 * range * range;
    double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < TAPS * TAPS; i++) {
        const int at = (z * NY + y + i / TAPS) * NX + x + i % TAPS;
        mean_a += (double)a[at] / n;
        mean_b += (double)b[at] / n;
    }
    for (int i = 0; i < TAPS * TAPS; i++) {
        const int at = (z * NY + y + i / TAPS) * NX + x + i % TAPS;
        aa += ((double)a[at] - mean_a) * ((double)a[at] - mean_a) / (n - 1);
        bb += ((double)b[at] - mean_b) * ((double)b[at] - mean_b) / (n - 1);
        ab += ((double)a[at] - mean_a) * ((double)b[at] - mean_b) / (n - 1);
    }
    return (2 * mean_a * mean_b + c1) * (2 * ab + c2) /
           ((mean_a * mean_a + mean_b * mean_b + c1) * (aa + bb + c2));
}

Test(difference, agrees_with_the_definitions)
{
    double largest = 0, squares = 0, reference = 0, low = INFINITY, high = -INFINITY,
           similarity = 0;
    int n_differ = 0, at = 0, n_windows = 0;
    for (int i = 0; i < N; i += 3)
        b[i] = (float)((double)a[i] + 3 * cos(0.7 * i));
    for (int i = 0; i < N; i++) {
        const double apart = fabs((double)a[i] - (double)b[i]);
        n_differ += apart > 0;
        at = apart > largest ? i : at;
        largest = fmax(largest, apart);
        squares += apart * apart;
        reference += (double)a[i] * (double)a[i];
        low = fmin(low, (double)a[i]);
        high = fmax(high, (double)a[i]);
    }
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y <= NY - TAPS; y++)
            for (int x = 0; x <= NX - TAPS; x++, n_windows++)
                similarity += window_similarity(z, y, x, high - low);
    const struct difference found = compare(0);
    cr_assert_eq(found.n_differ, n_differ);
    cr_assert(found.largest == largest && found.data_range == high - low);
    cr_assert(found.at[0] == 0 && (found.at[1] * NY + found.at[2]) * NX + found.at[3] == at);
    cr_assert(found.values[0] == (double)a[at] && found.values[1] == (double)b[at]);
    cr_assert_float_eq(found.measures[COMPARE_RMS], sqrt(squares / N), 1e-12);
    cr_assert_float_eq(found.measures[COMPARE_RELATIVE], sqrt(squares / reference), 1e-12);
    cr_assert_float_eq(found.measures[COMPARE_PSNR], 20 * log10((high - low) / sqrt(squares / N)),
                       1e-9);
    cr_assert_float_eq(found.measures[COMPARE_SSIM], similarity / n_windows, 1e-9);
    cr_assert_float_eq(compare(500).measures[COMPARE_PSNR], 20 * log10(500 / sqrt(squares / N)),
                       1e-9);
}

/* NaN against a number, and infinities of other signs, are beyond every tolerance; the first of
 * them is named. */
Test(difference, what_is_not_finite_differs_from_numbers)
{
    static const double pairs[][2] = {
        {NAN, 1}, {1, NAN}, {INFINITY, 1}, {INFINITY, -INFINITY}, {NAN, INFINITY}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const int at = (2 * NY + 3) * NX + 4;
        memcpy(b, a, sizeof b);
        b[at + 9 * NX] += 50; /* a larger number is no larger difference */
        const float before = a[at];
        a[at] = (float)pairs[i][0];
        b[at] = (float)pairs[i][1];
        const struct difference found = compare(0);
        cr_assert(found.n_differ == 2 && isinf(found.largest), "pair %zu", i);
        cr_assert(found.at[1] == 2 && found.at[2] == 3 && found.at[3] == 4, "pair %zu", i);
        cr_assert_float_eq(found.measures[COMPARE_LARGEST], 50, 1e-4);
        a[at] = before;
    }
}

/* Types may differ: values are compared as doubles, in which all of them are exact. */
Test(difference, compares_values_of_two_types)
{
    static uint32_t wide[N];
    static uint8_t narrow[N];
    struct difference found;
    const struct difference_request request = {0};
    struct ts_diag *diag = ts_diag_create();
    for (int i = 0; i < N; i++)
        wide[i] = narrow[i] = (uint8_t)(i % 251);
    wide[N - 1] = 4294967295u;
    struct source *left = open_values("wide", wide, "<u4", 4),
                  *right = open_values("narrow", narrow, "|u1", 1);
    cr_assert_eq(ts_difference(left, right, &request, &found, diag), TS_OK);
    cr_assert(found.n_differ == 1 && found.largest == 4294967295.0 - narrow[N - 1]);
    cr_assert(found.at[1] == NZ - 1 && found.at[2] == NY - 1 && found.at[3] == NX - 1);
    left->ops->close(left);
    right->ops->close(right);
    ts_diag_destroy(diag);
}
