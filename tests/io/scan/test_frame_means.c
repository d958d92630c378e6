/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats that differ by noise only are alike at any size, and those of a beam that changes are not.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "io/scan/projections.h"
#include "tests/support/support.h"

enum { MOST_WIDTH = 256, SEEDS = 1000 };

/* Returns how many of SEEDS sets of flats are warned of, with this noise and a beam that changes by
 * `change`. */
static int warned(int64_t n_frames, int64_t width, double noise, double change)
{
    static double rows[2][MOST_WIDTH];
    uint64_t seed = 3;
    int count = 0;
    for (int i = 0; i < SEEDS; i++) {
        struct frame_means means = FRAME_MEANS;
        const struct param_set set = {.owner = "flats"};
        struct ts_diag *diag = ts_diag_create();
        for (int64_t frame = 0; frame < n_frames; frame++) {
            double *row = rows[frame % 2];
            for (int64_t d = 0; d < width; d++) {
                const double radius = sqrt(-2 * log(1 - ts_random_unit(&seed)));
                const double profile = 1000 * (1 - 0.3 * (double)d / (double)width);
                row[d] = profile * (1 + change * (double)frame / (double)(n_frames - 1)) +
                         1000 * noise * radius * cos(2 * M_PI * ts_random_unit(&seed));
            }
            ts_projections_add_row(&means, row, frame > 0 ? rows[(frame + 1) % 2] : NULL, width);
        }
        ts_projections_warn_means(&set, "scan", FRAMES_FLATS, n_frames, &means, diag);
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
        enum frames frames;
        bool told;
    } rows[] = {{-25536, FRAMES_FLATS, true},
                {-1, FRAMES_FLATS, true},
                {0, FRAMES_FLATS, false},
                {40000, FRAMES_FLATS, false},
                {-3, FRAMES_DARKS, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double row[3] = {rows[i].count, rows[i].count, rows[i].count};
        const struct param_set set = {.owner = "flats"};
        struct frame_means means = FRAME_MEANS;
        struct ts_diag *diag = ts_diag_create();
        for (int k = 0; k < 3; k++)
            ts_projections_add_row(&means, row, k > 0 ? row : NULL, 3);
        ts_projections_warn_means(&set, "scan", rows[i].frames, 3, &means, diag);
        cr_expect_eq(ts_test_record(diag, "counts-wrapped") != NULL, rows[i].told, "row %zu", i);
        ts_diag_destroy(diag);
    }
}
