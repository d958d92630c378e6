/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/ring.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/scan/ring_oracle.h"
#include "tests/support/pictures.h"
#include "tests/support/scan_check.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(ring);

static struct ts_image sinogram(int64_t nz, int64_t n_views, int64_t n_detectors,
                                enum ts_dtype dtype)
{
    struct ts_image image = ts_test_image(nz, n_views, n_detectors, dtype, VALUES_CT, 1);
    image.axes[1].kind = TS_AXIS_VIEW;
    image.axes[2].kind = TS_AXIS_DETECTOR;
    image.quantity = TS_LINE_INTEGRAL;
    return image;
}

/* Sorted are 16 places at least, and a padding word for every 16. */
Test(ring, memory_for_a_column_holds_what_is_sorted)
{
    for (int64_t n_views = 1; n_views < 3000; n_views++) {
        const int places = ts_ring_places(n_views);
        cr_assert(places >= n_views && places >= RING_LEAST_PLACES && (places & (places - 1)) == 0);
        cr_assert_eq(ts_ring_column_bytes(n_views),
                     (size_t)(places + places / 16) * sizeof(uint64_t));
    }
}

TEST_ON_BOTH(ring, sorting_agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "size=3", .values = VALUES_CT},
        {.assignments = "size=21"},
        {.assignments = "size=9", .values = VALUES_EXTREME},
        {.assignments = "size=5", .values = VALUES_CONSTANT},
        {"size=31", 2, 33, 65, .values = VALUES_CT},
        {"size=127", 1, 17, 67, .values = VALUES_RANDOM},
        {"size=65", 1, 5, 300, .values = VALUES_CT},
        {"", 1, 513, 34, .dtypes = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_U8)},
        {"", 34, 3, 5, .dtypes = TS_DTYPE_BIT(TS_F32)},
    };
    cr_assert_eq(ts_stage_check(&ring_stage, ts_ring_oracle, cases, 10), (5 * 8 + 3) * 7 + 2 + 1);
}

TEST_ON_BOTH(ring, fourier_wavelet_agrees_with_the_definition)
{
    const unsigned some = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_U16);
    const struct stage_case cases[] = {
        {.assignments = "method=fourier-wavelet wavelet=db1 level=2", .dtypes = some},
        {"method=fourier-wavelet", 2, 67, 131, .values = VALUES_CT},
        {"method=fourier-wavelet wavelet=db2 level=4 sigma=0.5", 3, 5, 7},
        {"method=fourier-wavelet wavelet=db25 level=1 sigma=5", 1, 40, 33, .dtypes = some},
        {"method=fourier-wavelet wavelet=db10 level=5 sigma=30", 1, 130, 70, .dtypes = some,
         .values = VALUES_CT},
        {"method=fourier-wavelet wavelet=db3 level=16 sigma=0.1", 2, 1, 37, .dtypes = some},
        {"method=fourier-wavelet wavelet=db4", 1, 41, 1, .dtypes = some},
    };
    cr_assert_eq(ts_stage_check(&ring_stage, ts_ring_oracle, cases, 7), 8 * 2 + 7 + 7 + 4 * 2);
}

TEST_ON_BOTH(ring, more_than_2048_views)
{
    const struct stage_case cases[] = {{"size=5", 1, 2049, 19,
                                        .dtypes = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_U16),
                                        .values = VALUES_CT}};
    cr_assert_eq(ts_stage_check(&ring_stage, ts_ring_oracle, cases, 1), 2);
}

/* A stripe on a smooth object goes, and the object stays. */
TEST_ON_BOTH(ring, sorting_takes_stripes_out)
{
    enum { VIEWS = 180, DETECTORS = 301 };
    struct ts_image in = sinogram(2, VIEWS, DETECTORS, TS_F32);
    struct stage_run run;
    double worst = 0;
    for (int64_t i = 0; i < 2 * VIEWS * DETECTORS; i++) {
        const int64_t d = i % DETECTORS, view = i / DETECTORS % VIEWS;
        const double angle = 3.14159265358979 * (double)view / VIEWS,
                     s = (double)(d - 150) / 150 - 0.2 * cos(angle);
        const double object = exp(-4 * s * s);
        ((float *)in.data)[i] = (float)(object + (d % 50 == 20 ? 0.1 : 0));
    }
    cr_assert_eq(ts_test_run(&run, &ring_stage, "", &in, NULL, 1, 2), TS_OK);
    for (int64_t view = 0; view < VIEWS; view++)
        for (int64_t d = 70; d < 230; d += 50) {
            const float *row = (float *)run.out.data + view * DETECTORS;
            worst = fmax(worst, fabs((double)(row[d] - 0.5f * (row[d - 1] + row[d + 1]))));
        }
    cr_assert(worst < 0.012, "%g of 0.1 is left", worst);
    cr_assert_eq(run.out.quantity, TS_LINE_INTEGRAL);
    cr_assert_eq(((const struct ring_params *)run.set.values)->size, 5);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Sorted among numbers it would come out as one. */
TEST_ON_BOTH(ring, a_value_that_is_no_number_ends_the_run)
{
    ts_scan_check_finite(&ring_stage, "");
    ts_scan_check_finite(&ring_stage, "method=fourier-wavelet");
}

/* ---- a neutron sinogram of 459 views over 360 degrees, with stripes -------------------------- */

enum { NEUTRON_VIEWS = 459, NEUTRON_DETECTORS = 503, NEUTRON_OFFSET = 334 };

/* 16 bits, most significant byte first. */
static struct ts_image neutron_sinogram(void)
{
    char path[512];
    unsigned char pair[2];
    struct ts_image image = sinogram(1, NEUTRON_VIEWS, NEUTRON_DETECTORS, TS_U16);
    snprintf(path, sizeof path, "%s/projections/sarepy_neutron360/sinogram_360_neutron_image.tif",
             ts_test_data());
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    cr_assert_eq(fseek(file, NEUTRON_OFFSET, SEEK_SET), 0);
    for (size_t i = 0; i < ts_image_count(&image); i++) {
        cr_assert_eq(fread(pair, 1, 2, file), 2);
        ((uint16_t *)image.data)[i] = (uint16_t)(pair[0] << 8 | pair[1]);
    }
    fclose(file);
    return image;
}

/* Variance of what the means of columns have beyond those of 3 neighbors on both sides, as a part
 * of their square. */
static double stripes(const struct ts_image *image)
{
    double means[NEUTRON_DETECTORS] = {0}, sum = 0, level = 0;
    double *values = malloc(ts_image_count(image) * sizeof *values);
    ts_load_f64(values, image->data, image->dtype, ts_image_count(image));
    for (int64_t i = 0; i < NEUTRON_VIEWS * NEUTRON_DETECTORS; i++)
        means[i % NEUTRON_DETECTORS] += values[i] / NEUTRON_VIEWS;
    for (int64_t d = 3; d < NEUTRON_DETECTORS - 3; d++) {
        double around = 0;
        for (int64_t i = -3; i <= 3; i++)
            around += means[d + i] / 7;
        sum += (means[d] - around) * (means[d] - around);
        level += around * around;
    }
    free(values);
    return sum / level;
}

static void write_picture(const struct ts_image *image, const char *name)
{
    const size_t n = ts_image_count(image);
    double *values = malloc(n * sizeof *values), low = INFINITY, high = -INFINITY;
    ts_load_f64(values, image->data, image->dtype, n);
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    ts_test_picture(name, values, NEUTRON_DETECTORS, NEUTRON_VIEWS, low, high);
    free(values);
}

TEST_ON_BOTH(ring, stripes_of_a_neutron_scan_go)
{
    SKIP_WITHOUT_DATA("ring");
    struct ts_image in = neutron_sinogram();
    struct stage_run run;
    const double before = stripes(&in);
    cr_assert_eq(ts_test_run(&run, &ring_stage, "size=21", &in, NULL, 0, 2), TS_OK);
    const double sorting = stripes(&run.out);
    cr_assert(sorting < 0.25 * before, "stripes of %g, before %g", sorting, before);
    write_picture(&in, "ring_before");
    write_picture(&run.out, "ring_sorting");
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &ring_stage, "method=fourier-wavelet level=4", &in, NULL, 0, 2),
                 TS_OK);
    const double wavelet = stripes(&run.out);
    cr_assert(wavelet < 0.12 * before, "stripes of %g, before %g", wavelet, before);
    cr_assert_eq(run.out.dtype, TS_F32);
    write_picture(&run.out, "ring_fourier_wavelet");
    ts_test_run_clear(&run);
    free(in.data);
}

Test(ring, refuses_what_has_no_meaning)
{
    struct ts_image in = sinogram(1, 3, 4, TS_F32);
    ts_test_refuses(&ring_stage, "size=4", &in, NULL, "size-even", "");
    ts_test_refuses(&ring_stage, "sigma=3", &in, NULL, "parameter-unused", "");
    ts_test_refuses(&ring_stage, "method=fourier-wavelet size=5", &in, NULL, "parameter-unused",
                    "");
    in.axes[1].kind = TS_AXIS_Y;
    in.axes[2].kind = TS_AXIS_X;
    ts_test_refuses(&ring_stage, "", &in, NULL, "stage-axes", "");
    free(in.data);
}

/* More than any device's shared memory holds. */
TEST_ON_BOTH(ring, views_are_as_many_as_a_device_can_sort)
{
    struct ts_image in = sinogram(1, 65537, 1, TS_U8);
    struct stage_run run;
    const enum ts_status status = ts_test_run(&run, &ring_stage, "", &in, NULL, 0, 1);
    if (ts_test_device) {
        cr_assert_eq(status, TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "too-many-views");
        ts_test_run_clear(&run);
        in.axes[1].n = 16; /* something to launch */
        cr_assert_eq(ts_test_run(&run, &ring_stage, "", &in, NULL, 0, 1), TS_OK);
    } else {
        cr_assert_eq(status, TS_OK);
        cr_assert_arr_eq(run.out.data, in.data, 65537); /* one detector stays as it is */
    }
    ts_test_run_clear(&run);
    free(in.data);
}
