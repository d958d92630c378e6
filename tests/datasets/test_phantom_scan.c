/* SPDX-License-Identifier: Apache-2.0
 *
 * The scan: its integrals against sums along lines, the counts in the file against their
 * definition, the noise, and the slices that flat_field, minus_log and fbp make of it against the
 * attenuation that the scan was made from.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/phantom_scan.h"
#include "include/tomostage.h"
#include "tests/files/hdf5_data.h"
#include "tests/support/chain_run.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

enum { N = 96, ROWS = 3, VIEWS = 151, FRAMES = SCAN_DARKS + SCAN_FLATS + VIEWS };

static const struct scan_options plain = {
    .n_detectors = N, .n_rows = ROWS, .n_views = VIEWS, .threads = 2};
static char folder[256];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(phantom_scan, .init = begin, .fini = end);

/* Returns the frames of the scan with these options; free them. */
static double *scan_frames(const struct scan_options *options, const char *name)
{
    char path[300];
    size_t n;
    struct ts_diag *diag = ts_diag_create();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(ts_scan_write(options, path, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0);
    ts_diag_destroy(diag);
    double *frames = ts_test_read_hdf5_at(path, "/entry/instrument/detector/data", &n);
    cr_assert_eq(n, (size_t)FRAMES * ROWS * N);
    return frames;
}

/* The midpoint rule is off by at most half a step times the jump at each jump, of which a line has
 * 20 at most. */
Test(phantom_scan, integrals_agree_with_quadrature)
{
    enum { LINES = 60, STEPS = 20000 };
    const double half_mm = 0.5 * N * SCAN_PIXEL_MM, step = 2 * half_mm / STEPS;
    uint64_t seed = 5;
    for (int line = 0; line < LINES; line++) {
        const double theta = M_PI * ts_random_unit(&seed),
                     s = half_mm * (2 * ts_random_unit(&seed) - 1);
        double sum = 0;
        for (int i = 0; i < STEPS; i++) {
            const double t = (i + 0.5) * step - half_mm;
            sum += step * ts_scan_attenuation(&plain, line % ROWS, s * cos(theta) - t * sin(theta),
                                              s * sin(theta) + t * cos(theta));
        }
        const double exact = ts_scan_integral(&plain, line % ROWS, theta, s);
        cr_assert_float_eq(sum, exact, 10 * 0.8 / half_mm * step, "theta %g s %g: %g and %g", theta,
                           s, sum, exact);
    }
    /* A line near the upper edge meets water and nothing else, which attenuates 10 % less in row 1
     * of 3 than in row 0. */
    cr_assert_float_eq(ts_scan_integral(&plain, 0, M_PI / 2, 0.798 * half_mm),
                       0.8 * 2 * sqrt(0.64 - 0.798 * 0.798), 1e-12);
    cr_assert_float_eq(ts_scan_attenuation(&plain, 1, 0, 0.75 * half_mm), 0.9 * 0.8 / half_mm,
                       1e-12);
}

Test(phantom_scan, counts_follow_the_definition)
{
    double *frames = scan_frames(&plain, "plain.nxs");
    for (int frame = 0; frame < FRAMES; frame++)
        for (int row = 0; row < ROWS; row++)
            for (int i = 0; i < N; i++) {
                const int view = frame - SCAN_DARKS - SCAN_FLATS;
                const double gain = frame < SCAN_DARKS ? 0 : 20000 * (1 + 0.1 * sin(i / 37.0));
                const double s_mm = (i - ts_scan_axis(&plain)) * SCAN_PIXEL_MM;
                const double integral =
                    view < 0 ? 0 : ts_scan_integral(&plain, row, M_PI * view / VIEWS, s_mm);
                const double counts = frames[(frame * ROWS + row) * N + i];
                cr_assert_float_eq(counts, 100 + gain * exp(-integral), 0.5 + 1e-6,
                                   "frame %d row %d pixel %d: %g", frame, row, i, counts);
            }
    free(frames);
}

/* The variance is that of the definition, to five standard errors; two seeds have nothing in
 * common. */
Test(phantom_scan, noise_has_the_variance_of_photons)
{
    struct scan_options noisy = plain;
    double *means = scan_frames(&plain, "plain.nxs"), squares[2] = {0}, sums[2] = {0}, products = 0;
    double *frames[2];
    for (int k = 0; k < 2; k++) {
        noisy.noise = 1;
        noisy.seed = (uint64_t)k;
        frames[k] = scan_frames(&noisy, k ? "second.nxs" : "first.nxs");
    }
    const int first = SCAN_DARKS * ROWS * N, n = FRAMES * ROWS * N;
    for (int i = 0; i < n; i++) {
        const double deviation = sqrt(means[i] - 100 + 9 + 1.0 / 12);
        const double normal[2] = {(frames[0][i] - means[i]) / deviation,
                                  (frames[1][i] - means[i]) / deviation};
        sums[i >= first] += normal[0];
        squares[i >= first] += normal[0] * normal[0];
        products += normal[0] * normal[1];
    }
    for (int k = 0; k < 2; k++) {
        const double count = k ? n - first : first;
        cr_expect_float_eq(sums[k] / count, 0, 5 / sqrt(count), "mean %g", sums[k] / count);
        cr_expect_float_eq(squares[k] / count, 1, 5 * sqrt(2 / count), "variance %g",
                           squares[k] / count);
    }
    cr_expect_float_eq(products / n, 0, 5 / sqrt(n), "covariance %g", products / n);
    free(means);
    free(frames[0]);
    free(frames[1]);
}

Test(phantom_scan, has_the_same_bytes_for_every_number_of_threads)
{
    struct scan_options options = plain;
    char line[800];
    options.noise = 1;
    for (int threads = 1; threads <= 5; threads += 2) {
        char name[32];
        options.threads = threads;
        snprintf(name, sizeof name, "%d.nxs", threads);
        free(scan_frames(&options, name));
        snprintf(line, sizeof line, "cmp '%s/1.nxs' '%s/%s'", folder, folder, name);
        cr_assert_eq(system(line), 0);
    }
}

/* Returns true where the attenuation is the same up to three pixels around. */
static bool is_flat(int row, double x, double y)
{
    const double here = ts_scan_attenuation(&plain, row, x, y);
    for (int j = -3; j <= 3; j++)
        for (int i = -3; i <= 3; i++)
            if (ts_scan_attenuation(&plain, row, x + i * SCAN_PIXEL_MM, y + j * SCAN_PIXEL_MM) !=
                here)
                return false;
    return true;
}

/* Away from edges fbp is within 6 % of water's attenuation, and on the mean within 0.3 %. */
Test(phantom_scan, reconstructs_to_its_attenuation)
{
    char text[1000], path[300];
    size_t n;
    free(scan_frames(&plain, "scan.nxs"));
    snprintf(text, sizeof text,
             "tomostage: 2\n"
             "input: {nexus: ./scan.nxs}\n"
             "inputs:\n"
             "  flats: {nexus: ./scan.nxs, frames: flats}\n"
             "  darks: {nexus: ./scan.nxs, frames: darks}\n"
             "stages:\n"
             "  - flat_field: {flats: flats, darks: darks}\n"
             "  - minus_log\n"
             "  - center: {center: %g}\n"
             "  - fbp: {filter: ramp}\n"
             "output: {hdf5: ./volume.h5}\n",
             ts_scan_axis(&plain));
    ts_test_chain_runs(text, folder);
    snprintf(path, sizeof path, "%s/volume.h5", folder);
    double *volume = ts_test_read_hdf5_at(path, "/entry/data/data", &n);
    cr_assert_eq(n, (size_t)ROWS * N * N);
    const double water = ts_scan_attenuation(&plain, 0, 0, 0.75 * 0.5 * N * SCAN_PIXEL_MM);
    double sum = 0, worst = 0;
    int flat = 0;
    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                const double x = (i - 0.5 * (N - 1)) * SCAN_PIXEL_MM,
                             y = (0.5 * (N - 1) - j) * SCAN_PIXEL_MM;
                if (hypot(x, y) > 0.45 * N * SCAN_PIXEL_MM || !is_flat(row, x, y))
                    continue;
                const double error =
                    volume[(row * N + j) * N + i] - ts_scan_attenuation(&plain, row, x, y);
                sum += error;
                worst = fmax(worst, fabs(error));
                flat++;
            }
    cr_assert_gt(flat, 1000);
    cr_expect_leq(fabs(sum / flat), 0.003 * water, "mean %g of %g", sum / flat, water);
    cr_expect_leq(worst, 0.06 * water, "worst %g of %g", worst, water);
    free(volume);
}

Test(phantom_scan, refuses_what_it_cannot_make)
{
    static const struct scan_options wrong[] = {
        {.n_detectors = 0, .n_rows = 1, .n_views = 1, .threads = 1},
        {.n_detectors = 1, .n_rows = 65536, .n_views = 1, .threads = 1},
        {.n_detectors = 1, .n_rows = 1, .n_views = -1, .threads = 1},
        {.n_detectors = 1, .n_rows = 1, .n_views = 1, .noise = NAN, .threads = 1},
    };
    char path[300];
    snprintf(path, sizeof path, "%s/scan.nxs", folder);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_scan_write(&wrong[i], path, diag), TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, "phantom-size");
        ts_diag_destroy(diag);
    }
    struct ts_diag *diag = ts_diag_create();
    free(scan_frames(&plain, "scan.nxs"));
    cr_assert_eq(ts_scan_write(&plain, path, diag), TS_RUN_FAILED, "the file is there already");
    ts_diag_destroy(diag);
}

/* Returns where the last frame lies in the file. */
static long frame_offset(const char *path)
{
    const hsize_t last[3] = {30, 0, 0};
    haddr_t offset = 0;
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    cr_assert(H5Dget_chunk_info_by_coord(dataset, last, NULL, &offset, NULL) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    return (long)offset;
}

/* The program writes the same layout, whose frames have a chunk each, and which is whole by its
 * digests. */
Test(phantom_scan, is_whole_and_has_a_chunk_a_frame)
{
    static struct program_outcome outcome;
    ts_program_run(folder,
                   (const char *const[]){"phantom", "scan", "-o", "s.nxs", "--size", "40",
                                         "--slices", "6", "--views", "11", "--noise", "50", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_str_eq(outcome.out,
                     "wrote s.nxs: NXtomo, 11 views of 6 x 40 pixels, rotation axis at 22.5\n");
    ts_program_run(folder, (const char *const[]){"verify", "s.nxs", NULL}, &outcome);
    cr_assert(outcome.code == 0 && strstr(outcome.out, "whole: "), "%s%s", outcome.out,
              outcome.err);
    ts_program_run(folder, (const char *const[]){"info", "s.nxs", NULL}, &outcome);
    cr_assert(strstr(outcome.out, "u16  31 x 6 x 40  chunked 1 x 6 x 40, 14.9 kB"), "%s",
              outcome.out);
    /* No checksum guards a frame, but the digests do. */
    char path[300];
    snprintf(path, sizeof path, "%s/s.nxs", folder);
    const long offset = frame_offset(path);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, offset, SEEK_SET), 0);
    const int byte = fgetc(file);
    cr_assert_eq(fseek(file, -1, SEEK_CUR), 0);
    fputc(byte ^ 4, file);
    fclose(file);
    ts_program_run(folder, (const char *const[]){"verify", "s.nxs", NULL}, &outcome);
    cr_assert(outcome.code == 3 && strstr(outcome.err, "/entry/data/data has other values"),
              "%d %s%s", outcome.code, outcome.out, outcome.err);
}
