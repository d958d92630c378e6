/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows of planes whose values are known: what is no measurement has no part, and the range of a
 * plane that is too large to be sorted is nevertheless that of all of its values.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "program/show/picture.h"

TestSuite(gray_window);

static struct gray_window find_in(enum gray_windows kind, const struct ts_image *image,
                                  float *values, size_t n)
{
    const struct gray_window_request request = {.kind = kind, .center = 10, .width = 4};
    const struct picture_plane planes[] = {
        {.rows = 1, .columns = (int64_t)(n / 2), .values = values},
        {.rows = 1, .columns = (int64_t)(n - n / 2), .values = values + n / 2}};
    struct ts_diag *diag = ts_diag_create();
    struct gray_window window;
    cr_assert_eq(ts_gray_window_find(&request, image, planes, 2, &window, diag), TS_OK);
    ts_diag_destroy(diag);
    return window;
}

static struct gray_window find(enum gray_windows kind, enum ts_quantity quantity, float *values,
                               size_t n)
{
    const struct ts_image image = {.dtype = TS_F32, .quantity = quantity};
    return find_in(kind, &image, values, n);
}

static void expect(struct gray_window window, double low, double high, const char *name)
{
    cr_expect(window.low == low && window.high == high, "%g to %g", window.low, window.high);
    cr_expect_str_eq(window.name, name);
}

Test(gray_window, is_that_of_the_sorted_values)
{
    float values[1001];
    for (int i = 0; i < 1001; i++)
        values[i] = (float)((i * 7) % 1000); /* 0 to 999, and 0 again, in another order */
    values[500] = NAN;                       /* 500 * 7 % 1000 is 500 */
    values[501] = -INFINITY;                 /* 507 */
    expect(find(GRAY_PERCENTILES, TS_INTENSITY, values, 1001), 8, 990, "1st to 99th percentile");
    expect(find(GRAY_FULL, TS_INTENSITY, values, 1001), 0, 999, "full range");
    expect(find(GRAY_LEVEL, TS_INTENSITY, values, 1001), 8, 12, "given");
    expect(find(GRAY_AUTO, TS_INTENSITY, values, 1001), 8, 990, "1st to 99th percentile");
    expect(find(GRAY_AUTO, TS_HU, values, 1001), -160, 240, "soft tissue");
    for (int i = 0; i < 1001; i++)
        values[i] += 40; /* no value is below the center of soft tissue */
    expect(find(GRAY_AUTO, TS_HU, values, 1001), 48, 1030, "1st to 99th percentile");
}

/* What was windowed to 8 bits is not windowed again; a mask that nobody declared is visible. */
Test(gray_window, of_integers_of_8_bits_and_of_labels)
{
    struct ts_image image = {.dtype = TS_U8, .quantity = TS_INTENSITY};
    float values[300], mask[300];
    for (int i = 0; i < 300; i++) {
        values[i] = (float)(20 + i % 100);
        mask[i] = (float)(i % 3 == 0);
    }
    expect(find_in(GRAY_AUTO, &image, values, 300), 0, 255, "as stored");
    expect(find_in(GRAY_PERCENTILES, &image, values, 300), 20, 119, "1st to 99th percentile");
    expect(find_in(GRAY_AUTO, &image, mask, 300), 0, 1, "1st to 99th percentile");
    image.labels = 2;
    expect(find_in(GRAY_AUTO, &image, values, 300), 0, 119, "full range");
    image = (struct ts_image){.dtype = TS_U16, .quantity = TS_INTENSITY};
    expect(find_in(GRAY_AUTO, &image, values, 300), 20, 119, "1st to 99th percentile");
    image = (struct ts_image){.dtype = TS_U8, .quantity = TS_HU};
    expect(find_in(GRAY_AUTO, &image, values, 300), -160, 240, "soft tissue");
}

Test(gray_window, of_one_value_and_of_none)
{
    float values[300] = {0};
    values[7] = 2; /* the percentiles are equal */
    expect(find(GRAY_AUTO, TS_INTENSITY, values, 300), 0, 2, "full range");
    for (int i = 0; i < 300; i++)
        values[i] = NAN;
    expect(find(GRAY_AUTO, TS_INTENSITY, values, 300), 0, 0, "full range");
}

Test(gray_window, the_range_is_that_of_all_values_of_large_planes)
{
    const size_t n = 3 << 22;
    float *values = calloc(n, sizeof *values);
    cr_assert(values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i % 1000);
    values[1001] = -5e6f; /* every fourth value is sorted, and this is none of them */
    values[2003] = 5e6f;
    expect(find(GRAY_FULL, TS_INTENSITY, values, n), -5e6, 5e6, "full range");
    const struct gray_window percentiles = find(GRAY_PERCENTILES, TS_INTENSITY, values, n);
    cr_expect(percentiles.least == -5e6 && percentiles.most == 5e6);
    cr_expect(fabs(percentiles.low - 10) <= 2 && fabs(percentiles.high - 989) <= 2, "%g to %g",
              percentiles.low, percentiles.high);
    free(values);
}
