/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats that differ by noise only are alike at any size, and those of a beam that changes or moves
 * are not.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "io/scan/frame_means.h"
#include "io/scan/hdf5_source.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"

enum { MOST_WIDTH = 256, MOST_ROWS = 6, MOST_FRAMES = 40, SEEDS = 1000, SCANS = 3000 };

static double values[MOST_FRAMES][MOST_ROWS][MOST_WIDTH];
static int64_t n_read;

static bool read_row(void *context, int64_t frame, int64_t row, double *out)
{
    const struct frame_rows *rows = context;
    cr_assert(frame >= 0 && frame < rows->n_frames && row >= 0 && row < rows->n_rows);
    memcpy(out, values[frame][row], (size_t)rows->width * sizeof *out);
    n_read++;
    return true;
}

/* Returns what is said of the frames. */
static struct ts_diag *warnings(int64_t n_frames, int64_t n_rows, int64_t width, bool darks)
{
    static struct hdf5_params params;
    static const char *const axes[] = {"frame", "z", "detector"};
    const struct param_set set = ts_scan_file_hdf5(&params, axes, 0);
    struct frame_rows rows = {read_row, &rows, n_frames, n_rows, width};
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_frame_means_warn(&set, "scan", darks, &rows, diag), TS_OK);
    return diag;
}

static double normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(1 - ts_random_unit(seed)));
    return radius * cos(2 * M_PI * ts_random_unit(seed));
}

/* Returns how many of SEEDS sets of flats are warned of, with this noise and a beam that changes by
 * `change`. */
static int warned(int64_t n_frames, int64_t width, double noise, double change)
{
    uint64_t seed = 3;
    int count = 0;
    for (int i = 0; i < SEEDS; i++) {
        for (int64_t frame = 0; frame < n_frames; frame++)
            for (int64_t d = 0; d < width; d++) {
                const double profile = 1000 * (1 - 0.3 * (double)d / (double)width);
                values[frame][0][d] =
                    profile * (1 + change * (double)frame / (double)(n_frames - 1)) +
                    1000 * noise * normal(&seed);
            }
        struct ts_diag *diag = warnings(n_frames, 1, width, false);
        count += ts_diag_count(diag) > 0;
        ts_diag_destroy(diag);
    }
    return count;
}

Test(frame_means, noise_is_no_difference)
{
    static const int64_t widths[] = {1, 2, 3, 8, 64, 200}, frames[] = {2, 3, 5, 16};
    static const double noises[] = {0.01, 0.1, 0.3};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t f = 0; f < sizeof frames / sizeof *frames; f++)
            for (size_t k = 0; k < sizeof noises / sizeof *noises; k++) {
                const int count = warned(frames[f], widths[w], noises[k], 0);
                cr_expect_lt(count, SEEDS / 100, "%g, %lld frames of %lld: %d", noises[k],
                             (long long)frames[f], (long long)widths[w], count);
            }
}

Test(frame_means, a_beam_that_changes_is_told)
{
    static const struct {
        int64_t frames, width;
        double noise, change;
    } rows[] = {{2, 64, 0.01, 0.03},
                {5, 200, 0.01, -0.02},
                {16, 200, 0.1, 0.15},
                {3, 32, 0, 0.02},
                {5, 64, 0.1, 0.3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_gt(warned(rows[i].frames, rows[i].width, rows[i].noise, rows[i].change),
                     SEEDS * 9 / 10, "row %zu", i);
}

Test(frame_means, counts_below_0_are_told)
{
    static const struct {
        double count;
        bool darks, told;
    } rows[] = {{-25536, false, true},
                {-1, false, true},
                {0, false, false},
                {40000, false, false},
                {-3, true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < 9; k++)
            values[k / 3][0][k % 3] = rows[i].count;
        struct ts_diag *diag = warnings(3, 1, 3, rows[i].darks);
        cr_expect_eq(ts_test_record(diag, "counts-wrapped") != NULL, rows[i].told, "row %zu", i);
        ts_diag_destroy(diag);
    }
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* The light of the beam at a pixel, 1 on average: even, falling, a hill, or stripes of a mirror. */
static double beam_at(int kind, double along, double across)
{
    switch (kind % 4) {
    case 1:
        return 1.2 - 0.4 * along;
    case 2:
        return 1.3 * exp(-2 * (along - 0.5) * (along - 0.5) - 3 * (across - 0.5) * (across - 0.5));
    case 3:
        return 1 + 0.2 * sin(70 * along) + 0.1 * sin(31 * across + 9 * along);
    default:
        return 1;
    }
}

/* Makes a right scan's flats: photons that are counted, pixels with a gain of their own, zingers,
 * dead and hot pixels, a beam that flickers as a whole, and rounding. */
static void simulate(uint64_t *seed, int64_t n_frames, int64_t n_rows, int64_t width)
{
    const int kind = (int)(ts_random_next(seed) % 4), rounds = ts_random_next(seed) % 2 == 0;
    const double counts = pow(10, 1.5 + 3 * ts_random_unit(seed)),
                 dark = 100 * ts_random_unit(seed), flicker = 0.004 * ts_random_unit(seed),
                 zingers = 0.004 * ts_random_unit(seed), odd = 0.01 * ts_random_unit(seed);
    const uint64_t pixels = ts_random_next(seed);
    for (int64_t f = 0; f < n_frames; f++) {
        const double light = 1 + flicker * ts_random_unit(seed);
        uint64_t pixel = pixels;
        for (int64_t z = 0; z < n_rows; z++)
            for (int64_t d = 0; d < width; d++) {
                const double fate = ts_random_unit(&pixel), gain = 1 + 0.05 * normal(&pixel),
                             mean = light * gain * counts *
                                    beam_at(kind, (double)d / (double)width,
                                            (double)z / (double)n_rows);
                double value = dark + fmax(0, mean + sqrt(mean) * normal(seed));
                if (ts_random_unit(seed) < zingers)
                    value += 5 * counts;
                if (fate < odd)
                    value = fate < odd / 2 ? 0 : 65535;
                values[f][z][d] = rounds ? round(value) : value;
            }
    }
}

Test(frame_means, right_scans_have_no_other_profile, .timeout = 300)
{
    uint64_t seed = 11;
    int count = 0;
    for (int i = 0; i < SCANS; i++) {
        const int64_t n_frames = 2 + (int64_t)(ts_random_next(&seed) % 24),
                      n_rows = 1 + (int64_t)(ts_random_next(&seed) % MOST_ROWS),
                      width = 16 + (int64_t)(ts_random_next(&seed) % (MOST_WIDTH - 15));
        simulate(&seed, n_frames, n_rows, width);
        struct ts_diag *diag = warnings(n_frames, n_rows, width, false);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            if (strstr(ts_diag_get(diag, k)->message, "profiles")) {
                fprintf(stderr, "scan %d: %s\n", i, ts_diag_get(diag, k)->message);
                count++;
            }
        ts_diag_destroy(diag);
    }
    cr_expect_eq(count, 0, "%d of %d", count, SCANS);
}

/* How the flats from `first` on differ: they are multiplied by 1 + part * of(place), which is 0 on
 * average. */
enum change { TILT, SHIFT, BUMP, ROWS };
static double change_at(enum change change, double along, double across)
{
    switch (change) {
    case TILT:
        return along - 0.5;
    case SHIFT: /* a beam moves by a part of its width */
        return -sin(2 * M_PI * along);
    case BUMP:
        return along >= 0.25 && along < 0.375 ? 1 : along >= 0.625 && along < 0.75 ? -1 : 0;
    default:
        return across < 0.34 ? 1 : across > 0.66 ? -1 : 0;
    }
}

Test(frame_means, a_beam_that_moves_is_told)
{
    static const struct {
        enum change change;
        double part, noise;
        int64_t frames, first, rows, width;
        const char *message, *hint; /* NULL: too little for a warning */
    } rows[] = {
        {TILT, 0.05, 0, 10, 5, 1, 64, "pixels 0 to 15 differ by -1.",
         "drop_views: [[5, 10]] of this input leaves out those that differ from the first, "
         "drop_views: [[0, 5]] the others"},
        {TILT, 0.05, 0.01, 10, 5, 1, 256, "differ by", "drop_views: [[5, 10]]"},
        {SHIFT, 0.05, 0.01, 4, 2, 6, 256, "in row 3, detector pixels", "drop_views: [[2, 4]]"},
        {BUMP, 0.03, 0.005, 2, 1, 6, 256, "differ by", "drop_views: [[1, 2]]"},
        {ROWS, 0.04, 0.01, 6, 3, 6, 64, "in row 1, detector pixels", "drop_views: [[3, 6]]"},
        {SHIFT, 0.05, 0.01, 40, 23, 6, 256, "in row 3", "drop_views: [[23, 40]]"},
        {ROWS, 0.05, 0.01, 40, 21, 6, 128, "in row 1", "drop_views: [[21, 40]]"},
        {SHIFT, 0.008, 0, 10, 5, 6, 256, NULL, NULL},
        {SHIFT, 0.02, 0.2, 4, 2, 6, 64, NULL, NULL},
        {TILT, 0.5, 0, 4, 2, 1, 8, NULL, NULL}, /* a few pixels are no profile */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t seed = 5;
        for (int64_t f = 0; f < rows[i].frames; f++)
            for (int64_t z = 0; z < rows[i].rows; z++)
                for (int64_t d = 0; d < rows[i].width; d++) {
                    const double along = ((double)d + 0.5) / (double)rows[i].width,
                                 across = ((double)z + 0.5) / (double)rows[i].rows,
                                 part = f >= rows[i].first ? rows[i].part : 0;
                    values[f][z][d] = 1000 * (1 + part * change_at(rows[i].change, along, across) +
                                              rows[i].noise * normal(&seed));
                }
        struct ts_diag *diag = warnings(rows[i].frames, rows[i].rows, rows[i].width, false);
        const struct ts_diag_record *record = ts_test_record(diag, "flats-differ");
        cr_expect_eq(record != NULL, rows[i].message != NULL, "row %zu: %s", i,
                     record ? record->message : "nothing");
        if (record && rows[i].message) {
            cr_expect(strstr(record->message, rows[i].message), "row %zu: %s", i, record->message);
            cr_expect(strstr(record->hint, rows[i].hint), "row %zu: %s", i, record->hint);
        }
        ts_diag_destroy(diag);
        diag = warnings(rows[i].frames, rows[i].rows, rows[i].width, true);
        cr_expect_eq(ts_diag_count(diag), 0, "row %zu: darks have no profile", i);
        ts_diag_destroy(diag);
    }
}

/* Frames may be large and compressed: no more of their rows are read than the warning needs. */
Test(frame_means, few_rows_are_read)
{
    uint64_t seed = 1;
    simulate(&seed, MOST_FRAMES, MOST_ROWS, MOST_WIDTH);
    n_read = 0;
    ts_diag_destroy(warnings(MOST_FRAMES, MOST_ROWS, MOST_WIDTH, false));
    cr_expect(n_read <= 20, "%lld rows", (long long)n_read);
}
