/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans of a region of interest: the object goes on beyond the detector.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "stages/scan/center.h"
#include "tests/support/disc_scan.h"

#include "tests/files/hdf5_data.h"
#include "tests/support/stage_check.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(center_truncated);

enum { DISCS = 24 };

struct disc {
    double x, y, radius, value; /* in half detector rows */
};

/* One of `size` with smaller ones within. */
static void random_discs(uint64_t seed, double size, struct disc discs[DISCS])
{
    discs[0] = (struct disc){0.04 * size, -0.03 * size, 0.95 * size, 1};
    for (int i = 1; i < DISCS; i++) {
        const double radius = 0.75 * size * sqrt(ts_random_unit(&seed)),
                     angle = 2 * M_PI * ts_random_unit(&seed);
        discs[i] = (struct disc){radius * cos(angle), radius * sin(angle),
                                 size * (0.03 + 0.1 * ts_random_unit(&seed)),
                                 2 * ts_random_unit(&seed) - 0.6};
    }
}

/* Line integrals of about 2 at the most, those of `quantity`; photons 0: no noise. */
static void draw(struct ts_image *image, double center, const struct disc discs[DISCS],
                 double photons, uint64_t seed)
{
    const int64_t n = image->axes[2].n;
    const double half = 0.5 * (double)n;
    for (int64_t i = 0; i < image->axes[1].n * n; i++) {
        const int64_t view = i / n;
        const double theta =
            (image->axes[1].first + (double)view * image->axes[1].spacing) * M_PI / 180;
        double sum = 0;
        for (int k = 0; k < DISCS; k++) {
            const double s = ((double)(i % n) - center) / half - discs[k].x * cos(theta) -
                             discs[k].y * sin(theta);
            sum += discs[k].value * sqrt(fmax(0, discs[k].radius * discs[k].radius - s * s));
        }
        double transmission = exp(-2 * sum / discs[0].radius);
        if (photons > 0)
            transmission += sqrt(transmission / photons) *
                            sqrt(-2 * log(1 - ts_random_unit(&seed))) *
                            cos(2 * M_PI * ts_random_unit(&seed));
        ((float *)image->data)[i] =
            (float)(image->quantity == TS_LINE_INTEGRAL  ? -log(fmax(transmission, 1e-3))
                    : image->quantity == TS_TRANSMISSION ? transmission
                                                         : 40000 * transmission + 300);
    }
}

struct errors {
    int n;
    double of[3][64]; /* sinogram, opposite, the one that is taken */
    int within;       /* so many are within their error */
};

/* The center that the axis takes, and those of both methods. */
static void look(const struct ts_image *image, const char *assignments, double center,
                 struct errors *errors)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &center_stage, assignments, image, NULL, 0, 2), TS_OK, "%s",
                 assignments);
    const struct ts_diag_record *record = ts_test_record(run.diag, "center-truncated");
    cr_assert(record && record->severity == TS_WARNING, "%s: there is no warning", assignments);
    cr_assert(ts_test_table_at(&run, "truncation", 0) > 0.1 ||
              ts_test_table_at(&run, "truncation", 1) > 0.1);
    const double found = ts_test_table_at(&run, "center", 0),
                 sinogram = ts_test_table_at(&run, "centers", 0),
                 opposite = ts_test_table_at(&run, "centers", 1);
    cr_assert_eq(run.out.axes[2].first, -found * run.out.axes[2].spacing);
    const double arc = image->axes[1].spacing * (double)image->axes[1].n;
    const bool chooses = !strstr(assignments, "opposite") && !strstr(assignments, "keep") &&
                         strcmp(assignments, "method=sinogram") != 0;
    if (chooses && arc < 200) /* one pair, which is not quite opposite */
        cr_assert(found == sinogram || found == opposite, "%s", assignments);
    else /* a whole turn has many pairs */
        cr_assert_eq(found, chooses || strstr(assignments, "opposite") ? opposite : sinogram, "%s",
                     assignments);
    if (errors) {
        errors->of[0][errors->n] = fabs(sinogram - center);
        errors->of[1][errors->n] = fabs(opposite - center);
        errors->of[2][errors->n++] = fabs(found - center);
        errors->within += fabs(found - center) <= ts_test_table_at(&run, "error", 0);
    }
    ts_test_run_clear(&run);
}

/* Objects as wide as 1.3 to 4 detectors, of half a turn without its end point and of a whole one,
 * with and without noise. */
TEST_ON_BOTH(center_truncated, is_found_within_its_error)
{
    static const double sizes[] = {1.3, 2, 4}, photons[] = {0, 20000, 2000},
                        offsets[] = {-15.4, 0.3, 8.25};
    struct errors errors = {0};
    for (int i = 0; i < 54; i += ts_test_device ? 11 : 5) {
        const int64_t n_views = i % 2 ? 144 : 288;
        struct ts_image image =
            ts_disc_scan(1, n_views, 192, 0, i % 2 ? 180.0 / 144 : 360.0 / 288, TS_F32);
        struct disc discs[DISCS];
        const double center = 95.5 + offsets[i / 6 % 3];
        random_discs(1000 + (uint64_t)i, sizes[i / 2 % 3], discs);
        draw(&image, center, discs, photons[i / 18 % 3], (uint64_t)i);
        look(&image, "", center, &errors);
        free(image.data);
    }
    for (int m = 0; m < 3; m++) {
        static const char *const names[] = {"sinogram", "opposite", "the one taken"};
        qsort(errors.of[m], (size_t)errors.n, sizeof(double), ts_compare_doubles);
        fprintf(stderr,
                "center: off by %.2f detectors at the median by %s, %.2f at the 90th percentile, "
                "%.2f at most\n",
                errors.of[m][errors.n / 2], names[m], errors.of[m][errors.n * 9 / 10],
                errors.of[m][errors.n - 1]);
    }
    cr_assert(errors.of[2][errors.n / 2] < 0.25 && errors.of[2][errors.n - 1] < 1.5);
    cr_assert(errors.within >= errors.n * 9 / 10, "%d of %d are within their error", errors.within,
              errors.n);
}

/* Noise at the ends of a weak object is none of it. */
Test(center_truncated, is_not_said_of_noise)
{
    static const enum ts_quantity quantities[] = {TS_LINE_INTEGRAL, TS_TRANSMISSION, TS_COUNTS};
    for (int i = 0; i < 18; i++) {
        struct ts_image image = ts_disc_scan(1, 90, 96, 0, 2, TS_F32);
        struct disc discs[DISCS] = {{0.1, 0, 0.3, 1}, {0.2, 0.1, 0.1, 1}};
        for (int k = 2; k < DISCS; k++)
            discs[k].radius = 0.01;
        image.quantity = quantities[i % 3];
        draw(&image, 47.5, discs, (double[]){10, 30, 100}[i / 3 % 3], (uint64_t)i);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &center_stage, "", &image, NULL, 0, 2), TS_OK);
        cr_expect(!ts_test_record(run.diag, "center-truncated"), "%d: %g and %g", i,
                  ts_test_table_at(&run, "truncation", 0), ts_test_table_at(&run, "truncation", 1));
        ts_test_run_clear(&run);
        free(image.data);
    }
}

/* Discs that leave two detector pixels or a 64th of the row of air at each end are not cut off. */
Test(center_truncated, is_not_said_of_what_nearly_fills_the_row)
{
    static const enum ts_quantity quantities[] = {TS_LINE_INTEGRAL, TS_TRANSMISSION, TS_COUNTS};
    for (int i = 0; i < 18; i++) {
        const int64_t n = (int64_t[]){64, 96, 192}[i % 3];
        struct ts_image image = ts_disc_scan(1, 90, n, 0, 2, TS_F32);
        struct disc discs[DISCS] = {{0, 0, 1 - 2 * fmax(2, (double)(n / 64)) / (double)n, 1},
                                    {0.3, 0.2, 0.1, 1}};
        for (int k = 2; k < DISCS; k++)
            discs[k].radius = 0.01;
        image.quantity = quantities[i / 3 % 3];
        draw(&image, 0.5 * (double)(n - 1), discs, i < 9 ? 0 : 20000, (uint64_t)i);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &center_stage, "", &image, NULL, 0, 2), TS_OK);
        cr_expect(!ts_test_record(run.diag, "center-truncated"), "%d: %g and %g", i,
                  ts_test_table_at(&run, "truncation", 0), ts_test_table_at(&run, "truncation", 1));
        ts_test_run_clear(&run);
        free(image.data);
    }
}

/* One end alone, each quantity, and what is asked for; without a warning where the object is
 * within. */
TEST_ON_BOTH(center_truncated, is_said_of_what_is_cut_off_alone)
{
    static const enum ts_quantity quantities[] = {TS_LINE_INTEGRAL, TS_TRANSMISSION, TS_COUNTS,
                                                  TS_INTENSITY};
    static const char *const rows[] = {"",
                                       "method=opposite",
                                       "method=sinogram",
                                       "truncated=keep",
                                       "method=sinogram truncated=opposite",
                                       "method=auto"};
    struct ts_image image = ts_disc_scan(1, 180, 160, 0, 1, TS_F32);
    for (size_t q = 0; q < sizeof quantities / sizeof *quantities; q++)
        for (int within = 0; within < 2; within++) {
            struct disc discs[DISCS];
            const double center = within ? 83.25 : 110.5;
            image.quantity = quantities[q];
            random_discs(5, within ? 0.85 : 1.1, discs);
            draw(&image, center, discs, 2000, 7);
            for (size_t i = 0; i < sizeof rows / sizeof *rows && !within; i++)
                look(&image, rows[i], center, NULL);
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, &center_stage, "", &image, NULL, 0, 1), TS_OK);
            cr_assert_eq(ts_test_record(run.diag, "center-truncated") == NULL, within,
                         "quantity %d: %g and %g", (int)q, ts_test_table_at(&run, "truncation", 0),
                         ts_test_table_at(&run, "truncation", 1));
            cr_assert_eq(isnan(ts_test_table_at(&run, "centers", 1)), within);
            if (!within)
                cr_assert(ts_test_table_at(&run, "truncation", 1) > 0.1 &&
                              fabs(ts_test_table_at(&run, "center", 0) - center) < 0.5,
                          "%g", ts_test_table_at(&run, "center", 0));
            ts_test_run_clear(&run);
        }
    free(image.data);
}

Test(center_truncated, plays_no_part_without_a_sinogram)
{
    struct ts_image image = ts_disc_scan(1, 90, 64, 0, 2, TS_F32),
                    odd = ts_disc_scan(1, 178, 64, 0, 1.01, TS_F32);
    ts_test_refuses(&center_stage, "center=30 truncated=keep", &image, NULL, "parameter-unused",
                    "method: given");
    ts_test_refuses(&center_stage, "method=opposite truncated=keep", &image, NULL,
                    "parameter-unused", "opposite");
    ts_test_refuses(&center_stage, "truncated=opposite", &odd, NULL, "views-opposite",
                    "half a turn");
    struct disc discs[DISCS];
    struct stage_run run;
    random_discs(1, 2, discs);
    draw(&odd, 31, discs, 0, 0);
    cr_assert_eq(ts_test_run(&run, &center_stage, "", &odd, NULL, 0, 1), TS_OK);
    cr_assert(ts_test_record(run.diag, "center-truncated") &&
              isnan(ts_test_table_at(&run, "centers", 1)));
    ts_test_run_clear(&run);
    free(image.data);
    free(odd.data);
}

enum { TOOTH_VIEWS = 181, TOOTH_ROWS = 2, TOOTH_DETECTORS = 640 };

/* Mean of the frames. */
static double *mean_frame(const char *dataset)
{
    enum { FRAME = TOOTH_ROWS * TOOTH_DETECTORS };
    size_t n;
    double *frames = ts_test_read_hdf5("projections/tomopy_tooth/tooth.h5", dataset, &n),
           *mean = calloc(FRAME, 8);
    for (size_t i = 0; i < n; i++)
        mean[i % FRAME] += frames[i] / (double)n * FRAME;
    free(frames);
    return mean;
}

/* Strips of a real scan; its whole rows show the axis at 295.9, and nothing cut off. */
TEST_ON_BOTH(center_truncated, of_strips_of_a_tooth)
{
    static const int64_t strips[][2] = {
        {0, TOOTH_DETECTORS}, {180, 400}, {200, 420}, {220, 380}, {240, 360}};
    size_t n;
    SKIP_WITHOUT_DATA("center_truncated/of_strips_of_a_tooth");
    double *data = ts_test_read_hdf5("projections/tomopy_tooth/tooth.h5", "/exchange/data", &n),
           *white = mean_frame("/exchange/data_white"), *dark = mean_frame("/exchange/data_dark");
    cr_assert_eq(n, (size_t)TOOTH_VIEWS * TOOTH_ROWS * TOOTH_DETECTORS);
    for (size_t i = 0; i < sizeof strips / sizeof *strips; i++) {
        const int64_t first = strips[i][0], count = strips[i][1] - first;
        struct ts_image image = ts_disc_scan(1, TOOTH_VIEWS, count, 0, 180.0 / TOOTH_VIEWS, TS_F32);
        struct stage_run run;
        for (int64_t k = 0; k < TOOTH_VIEWS * count; k++) {
            const int64_t d = first + k % count;
            const double left = data[k / count * TOOTH_ROWS * TOOTH_DETECTORS + d] - dark[d];
            ((float *)image.data)[k] = (float)-log(fmax(left / (white[d] - dark[d]), 1e-3));
        }
        cr_assert_eq(ts_test_run(&run, &center_stage, "", &image, NULL, 0, 2), TS_OK);
        const double center = (double)first + ts_test_table_at(&run, "center", 0);
        fprintf(stderr, "center: of a tooth's detectors %lld to %lld %.2f, by sinogram %.2f\n",
                (long long)first, (long long)strips[i][1] - 1, center,
                (double)first + ts_test_table_at(&run, "centers", 0));
        cr_expect(fabs(center - 295.9) < 0.5, "%.2f", center);
        cr_expect_eq(ts_test_record(run.diag, "center-truncated") != NULL, i > 0);
        ts_test_run_clear(&run);
        free(image.data);
    }
    free(data);
    free(white);
    free(dark);
}
