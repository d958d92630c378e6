/* SPDX-License-Identifier: Apache-2.0
 *
 * The strip of trial centers that center saves: its tiles, their numbers, and the way out to a PNG.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "stages/projection/reconstruction.h"
#include "stages/scan/center.h"
#include "stages/scan/center_strip.h"
#include "stages/values/digits.h"
#include "tests/files/hdf5_data.h"
#include "tests/support/chain_run.h"
#include "tests/support/correlation.h"
#include "tests/support/disc_scan.h"
#include "tests/support/program.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

enum { SIZE = 64, TOP = 20, GAP = 4 };

/* Returns the correlation of tile i of the strip with the discs. */
static double likeness(const struct ts_image *strip, int64_t i, int64_t n_detectors)
{
    struct correlation sums = {0};
    for (int64_t y = 0; y < SIZE; y++)
        for (int64_t x = 0; x < SIZE; x++)
            ts_correlation_add(
                &sums,
                ((uint8_t *)strip->data)[(TOP + y) * strip->axes[1].n + i * (SIZE + GAP) + x],
                ts_disc_scan_value(n_detectors, (double)x - 0.5 * (SIZE - 1),
                                   0.5 * (SIZE - 1) - (double)y));
    return ts_correlation_of(&sums);
}

static int64_t likest(const struct ts_image *strip, int64_t n, int64_t n_detectors)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = likeness(strip, i, n_detectors) > likeness(strip, best, n_detectors) ? i : best;
    return best;
}

/* Found by either method the tile most like the discs is the middle one; around a guess it is that
 * of the true center. */
TEST_ON_BOTH(center_strip, is_like_the_object_at_the_center)
{
    static const struct {
        const char *assignments;
        double center;
        int64_t best, n;
    } rows[] = {
        {"strip=true strip_step=2", 45.3, 3, 7},
        {"method=opposite strip=true strip_sides=5", 45.3, 5, 11},
        {"center=42 strip=true strip_step=1.5 strip_size=64", 45, 5, 7},
        {"method=given center=49 strip=true strip_step=2 strip_sides=2", 45, 0, 5},
    };
    struct ts_image image = ts_disc_scan(3, 120, 97, 0, 1.5, TS_F32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char assignments[128];
        struct stage_run run;
        uint8_t *first = NULL;
        snprintf(assignments, sizeof assignments, "%s%s", rows[i].assignments,
                 strstr(rows[i].assignments, "strip_size") ? "" : " strip_size=64");
        for (int64_t z = 0; z < 3; z++)
            ts_disc_scan_draw(&image, z, rows[i].center);
        for (int64_t slab = 0; slab < 3; slab++) {
            cr_assert_eq(
                ts_test_run(&run, &center_stage, assignments, &image, NULL, slab, 1 + (int)slab),
                TS_OK);
            const struct ts_image *strip = ts_test_table(&run, "strip");
            const size_t bytes = ts_image_bytes(strip);
            cr_assert(strip->axes[0].n == TOP + SIZE &&
                      strip->axes[1].n == rows[i].n * (SIZE + GAP) - GAP);
            const int64_t best = likest(strip, rows[i].n, 97);
            cr_assert_eq(best, rows[i].best, "%s: tile %lld", assignments, (long long)best);
            cr_assert_gt(likeness(strip, best, 97), 0.9);
            cr_assert(fabs(ts_test_table_at(&run, "strip_center", best) - rows[i].center) < 0.6);
            cr_assert(fabs(run.out.axes[2].first / run.out.axes[2].spacing +
                           ts_test_table_at(&run, "strip_center", rows[i].n / 2)) < 1e-12);
            if (!first)
                memcpy(first = malloc(bytes), strip->data, bytes);
            cr_assert_arr_eq(first, strip->data, bytes, "%s: other bytes with slabs of %lld",
                             assignments, (long long)slab);
            ts_test_run_clear(&run);
        }
        free(first);
    }
    free(image.data);
}

/* The middle tile is what fbp makes of the slice, its 1st percentile black and its 99th white. */
TEST_ON_BOTH(center_strip, shows_what_fbp_reconstructs)
{
    enum { PIXELS = SIZE * SIZE };
    struct ts_image image = ts_disc_scan(1, 90, SIZE, 10, 2, TS_U16);
    struct stage_run run, whole;
    float sorted[PIXELS];
    ts_disc_scan_draw(&image, 0, 30.25);
    cr_assert_eq(ts_test_run(&run, &center_stage, "center=30.25 strip=true", &image, NULL, 0, 2),
                 TS_OK);
    cr_assert_eq(ts_test_run(&whole, &fbp_stage, "center=30.25 filter=hann", &image, NULL, 0, 2),
                 TS_OK);
    const struct ts_image *strip = ts_test_table(&run, "strip");
    const float *values = whole.out.data;
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, PIXELS, sizeof *sorted, ts_compare_floats);
    const double low = (double)sorted[(PIXELS - 1) / 100],
                 high = (double)sorted[PIXELS - 1 - (PIXELS - 1) / 100];
    for (int64_t i = 0; i < PIXELS; i++) {
        const double expected = 255 * fmin(1, fmax(0, ((double)values[i] - low) / (high - low)));
        const uint8_t gray =
            ((uint8_t *)
                 strip->data)[(TOP + i / SIZE) * strip->axes[1].n + 3 * (SIZE + GAP) + i % SIZE];
        cr_assert(fabs(gray - expected) <= 0.51, "pixel %lld is %d, expected %.2f", (long long)i,
                  gray, expected);
    }
    ts_test_run_clear(&run);
    ts_test_run_clear(&whole);
    free(image.data);
}

/* Numbers as they are seen, at their own size and twice it. */
Test(center_strip, numbers_can_be_read)
{
    static const char *const picture[DIGIT_ROWS] = {
        "                     #  ##### ", "                    ##  #     ",
        "                   # #  ####  ", "       ###        #  #      # ",
        "                  #####     # ", "             ##      #  #   # ",
        "             ##      #   ###  ",
    };
    static const char text[] = " -.45";
    for (int scale = 1; scale <= 2; scale++) {
        enum { WIDE = 2 * 5 * DIGIT_COLUMNS, HIGH = 2 * DIGIT_ROWS };
        uint8_t drawn[HIGH * WIDE] = {0};
        int n_wrong = 0;
        ts_digits_draw(text, scale, 7, drawn, WIDE);
        for (int y = 0; y < DIGIT_ROWS * scale; y++)
            for (int x = 0; x < 30 * scale; x++)
                n_wrong += (drawn[y * WIDE + x] == 7) != (picture[y / scale][x / scale] == '#');
        for (int y = 0; y < DIGIT_ROWS * scale && n_wrong > 0; y++, fputc('\n', stderr))
            for (int x = 0; x < 30 * scale; x++)
                fputc(drawn[y * WIDE + x] ? '#' : ' ', stderr);
        cr_assert_eq(n_wrong, 0);
    }
}

Test(center_strip, says_what_is_wrong)
{
    static const struct {
        const char *assignments;
        enum ts_status status;
        const char *code;
    } rows[] = {
        {"strip_sides=2", TS_BAD_CHAIN, "parameter-unused"},
        {"strip_step=2", TS_BAD_CHAIN, "parameter-unused"},
        {"strip_size=64", TS_BAD_CHAIN, "parameter-unused"},
        {"center=15 strip=true slice=1", TS_BAD_CHAIN, "slice-outside"},
        {"center=15 strip=true", TS_BAD_INPUT, "center-constant"},
    };
    struct ts_image image = ts_disc_scan(1, 45, 32, 0, 4, TS_F32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &center_stage, rows[i].assignments, &image, NULL, 0, 1),
                     rows[i].status, "%s", rows[i].assignments);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, rows[i].code, "%s", rows[i].assignments);
        ts_test_run_clear(&run);
    }
    free(image.data);
}

/* From a scan to a picture file, as a user makes one. */
TEST_ON_BOTH(center_strip, of_a_tooth_becomes_a_picture)
{
    static const char table[] = "/entry/process_3_center/tables/strip";
    char folder[256], output[300], text[8192];
    struct program_outcome *outcome = malloc(sizeof *outcome);
    png_image image = {.version = PNG_IMAGE_VERSION};
    size_t n, n_centers;
    SKIP_WITHOUT_DATA("center_strip/of_a_tooth_becomes_a_picture");
    ts_test_folder(folder, sizeof folder);
    ts_test_tooth_chain(text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "  - minus_log:\n  - center: {strip: true, strip_step: 2, strip_size: 320}\noutput: "
             "{hdf5: out.h5}\n");
    ts_test_chain_runs(text, folder);
    ts_program_run(folder,
                   (const char *const[]){"preview", "out.h5", "--dataset", table, "--plain", "-o",
                                         "centers.png", NULL},
                   outcome);
    cr_assert_eq(outcome->code, 0, "%s", outcome->err);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    double *strip = ts_test_read_hdf5_at(output, table, &n),
           *centers = ts_test_read_hdf5_at(output, "/entry/process_3_center/tables/strip_center",
                                           &n_centers);
    cr_assert(n_centers == 7 && fabs(centers[3] - 295.8) < 0.2 &&
              fabs(centers[4] - centers[3] - 2) < 1e-9);
    snprintf(output, sizeof output, "%s/centers.png", folder);
    cr_assert(png_image_begin_read_from_file(&image, output));
    cr_assert(image.format == PNG_FORMAT_GRAY && n == (size_t)image.width * image.height);
    uint8_t *pixels = malloc(n);
    cr_assert(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(pixels[i], strip[i]);
    free(pixels);
    free(strip);
    free(centers);
    free(outcome);
    ts_test_remove_folder(folder);
}
