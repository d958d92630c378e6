/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans whose detector has gaps, dead and hot pixels, from file to slices. The slices are those of
 * the same scan without them, and what refuses or warns of such a scan names a chain that works.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

TestSuite(bad_pixels_chains);

enum { VIEWS = 72, ROWS = 4, N = 48, FLATS = 3, DARK = 20 };

/* The frames of a scan, each ROWS x N. */
struct frames {
    double views[VIEWS][ROWS][N], flats[FLATS][ROWS][N], darks[FLATS][ROWS][N];
};

/* An ellipse with two round parts, off the axis, behind a beam whose strength differs from pixel to
 * pixel. */
static double line_integral(double degrees, double s)
{
    static const double parts[][4] = {{0, 0, 17, 0.02}, {6, 4, 5, 0.04}, {-7, -3, 3, 0.05}};
    const double theta = degrees * M_PI / 180;
    double line = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const double at = s - parts[i][0] * cos(theta) - parts[i][1] * sin(theta), r = parts[i][2];
        line += fabs(at) < r ? 2 * parts[i][3] * sqrt(r * r - at * at) : 0;
    }
    return line;
}

static struct frames *make_frames_with(double beam, double ripples)
{
    struct frames *frames = malloc(sizeof *frames);
    for (int row = 0; row < ROWS; row++)
        for (int d = 0; d < N; d++) {
            const double gain = beam * (1 + 0.1 * sin(1.7 * d) + 0.02 * row);
            for (int f = 0; f < FLATS; f++) {
                frames->flats[f][row][d] = floor(DARK + gain);
                frames->darks[f][row][d] = DARK;
            }
            for (int v = 0; v < VIEWS;
                 v++) /* the axis is in the middle, and ripples stand for noise */
                frames->views[v][row][d] =
                    floor(DARK + gain * exp(-line_integral(180.0 * v / VIEWS, d - 0.5 * (N - 1))) *
                                     (1 + ripples * sin(v * 37.0 + d * 11.0 + row)));
        }
    return frames;
}

static struct frames *make_frames(double beam)
{
    return make_frames_with(beam, 0.01);
}

static void write_frames(hid_t group, const char *name, hid_t type, hsize_t n, const void *values)
{
    const hsize_t shape[3] = {n, ROWS, N};
    const hid_t space = H5Screate_simple(3, shape, NULL);
    const hid_t dataset =
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(dataset >= 0 &&
              H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void write_scan(const char *folder, const struct frames *frames, hid_t type)
{
    char path[300];
    double theta[VIEWS];
    const hsize_t n = VIEWS;
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                group = H5Gcreate2(file, "exchange", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                space = H5Screate_simple(1, &n, NULL);
    for (int v = 0; v < VIEWS; v++)
        theta[v] = 180.0 * v / VIEWS;
    write_frames(group, "data", type, VIEWS, frames->views);
    write_frames(group, "data_white", type, FLATS, frames->flats);
    write_frames(group, "data_dark", type, FLATS, frames->darks);
    const hid_t dataset =
        H5Dcreate2(group, "theta", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, theta);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
}

#define PLAIN "  - flat_field: {flats: flats, darks: darks}\n"
#define CLEAN                                                                                      \
    "  - bad_pixels: {input: flats, name: good_flats}\n"                                           \
    "  - bad_pixels: {input: darks, name: good_darks}\n"                                           \
    "  - bad_pixels: {input: input}\n"                                                             \
    "  - flat_field: {flats: good_flats, darks: good_darks}\n"

static enum ts_status run(const char *folder, const char *stages, struct ts_diag *diag)
{
    char text[2048];
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {exchange: scan.h5}\ninputs:\n  flats: {exchange: scan.h5, "
             "frames: flats}\n"
             "  darks: {exchange: scan.h5, frames: darks}\nstages:\n%soutput: {hdf5: out.h5, "
             "compression: none}\n",
             stages);
    return ts_test_chain(text, folder, diag);
}

/* Returns the result of a run that must end well. */
static double *slices_of(const char *folder, const char *stages, size_t *n)
{
    char path[300];
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = run(folder, stages, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", stages);
    ts_diag_destroy(diag);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    return ts_test_read_hdf5_at(path, "/entry/data/data", n);
}

static double correlation(const double *a, const double *b, size_t n)
{
    double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < n; i++) {
        sum_a += a[i];
        sum_b += b[i];
    }
    for (size_t i = 0; i < n; i++) {
        const double x = a[i] - sum_a / (double)n, y = b[i] - sum_b / (double)n;
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    return ab / sqrt(aa * bb);
}

/* ---- what may be wrong with a detector ------------------------------------------------------- */

/* Sets detector pixels [first, end) of a row (-1: all), in the views from `view` on, by so many,
 * and in all flats and darks where `everywhere`. */
static void spoil(struct frames *frames, int row, int first, int end, int every, bool everywhere,
                  double value)
{
    for (int r = row < 0 ? 0 : row; r < (row < 0 ? ROWS : row + 1); r++)
        for (int d = first; d < end; d++) {
            for (int v = 0; v < VIEWS; v += every)
                frames->views[v][r][d] = value;
            for (int f = 0; f < FLATS && everywhere; f++)
                frames->flats[f][r][d] = frames->darks[f][r][d] = value;
        }
}

static void gap_65535(struct frames *frames)
{
    spoil(frames, -1, 14, 17, 1, true, 65535);
}
static void edge_gap_65535(struct frames *frames)
{
    spoil(frames, -1, 0, 4, 1, true, 65535);
    spoil(frames, -1, 44, N, 1, true, 65535);
}
static void gap_of_marks(struct frames *frames)
{
    spoil(frames, -1, 14, 17, 1, true, -1);
    spoil(frames, -1, 30, 31, 1, true, -2);
}
static void gap_of_nan(struct frames *frames)
{
    spoil(frames, -1, 20, 23, 1, true, NAN);
    spoil(frames, 2, 40, 42, 1, true, INFINITY);
}
static void gap_255(struct frames *frames)
{
    spoil(frames, -1, 26, 28, 1, true, 255);
}
static void dead_columns(struct frames *frames)
{
    spoil(frames, -1, 18, 20, 1, true, 0);
    spoil(frames, 1, 33, 34, 1, true, 777);
}
static void dead_row(struct frames *frames)
{
    spoil(frames, 1, 0, N, 1, true, 0);
}
static void dead_in_flats(struct frames *frames)
{
    for (int f = 0; f < FLATS; f++)
        for (int row = 0; row < ROWS; row++)
            frames->flats[f][row][25] = DARK;
}
static void hot_in_some_views(struct frames *frames)
{
    spoil(frames, -1, 21, 22, 5, false, 65535);
    spoil(frames, 3, 11, 13, 7, false, 65535);
}
static void lost_views(struct frames *frames)
{
    for (int row = 0; row < ROWS; row++)
        for (int d = 0; d < N; d++)
            frames->views[40][row][d] = frames->views[41][row][d] = 65535;
}

#define SLICES "  - minus_log: {}\n  - fbp: {}\n"

/* Those that are dead in the flats are NaN. */
#define BEHIND "  - flat_field: {flats: flats, darks: darks, dead: nan}\n  - bad_pixels: {}\n"

TEST_ON_BOTH(bad_pixels_chains, slices_are_those_of_a_detector_without_them)
{
    static const struct {
        void (*spoil)(struct frames *);
        const char *what;
        double beam;
        enum ts_dtype type; /* rows of one type follow each other */
        const char *stages;
    } rows[] = {{gap_65535, "gap of 65535", 40000, TS_U16, CLEAN},
                {edge_gap_65535, "gap of 65535 at the edges", 40000, TS_U16, CLEAN},
                {dead_columns, "dead columns", 40000, TS_U16, CLEAN},
                {dead_row, "dead row", 40000, TS_U16, BEHIND},
                {dead_in_flats, "dead in the flats", 40000, TS_U16, BEHIND},
                {hot_in_some_views, "hot in some views", 40000, TS_U16, CLEAN},
                {lost_views, "two views lost", 40000, TS_U16, CLEAN},
                {gap_of_marks, "gap of -1 and -2", 40000, TS_I32, CLEAN},
                {gap_of_nan, "gap of NaN", 40000, TS_F32, CLEAN},
                {gap_of_nan, "gap of NaN behind flat_field", 40000, TS_F32, BEHIND},
                {gap_255, "gap of 255", 190, TS_U8, CLEAN}};
    const hid_t types[] = {[TS_U8] = H5T_STD_U8LE,
                           [TS_U16] = H5T_STD_U16LE,
                           [TS_I32] = H5T_STD_I32LE,
                           [TS_F32] = H5T_IEEE_F32LE};
    char folder[256], stages[1024];
    double *expected = NULL;
    size_t n, n_expected;
    ts_test_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct frames *frames = make_frames(rows[i].beam);
        if (i == 0 || rows[i].type != rows[i - 1].type) {
            write_scan(folder, frames, types[rows[i].type]);
            free(expected);
            expected = slices_of(folder, PLAIN SLICES, &n_expected);
        }
        rows[i].spoil(frames);
        write_scan(folder, frames, types[rows[i].type]);
        snprintf(stages, sizeof stages, "%s" SLICES, rows[i].stages);
        double *is = slices_of(folder, stages, &n);
        cr_assert_eq(n, n_expected);
        cr_expect_geq(correlation(is, expected, n), 0.99, "%s: correlation %.4f", rows[i].what,
                      correlation(is, expected, n));
        free(is);
        free(frames);
    }
    free(expected);
    ts_test_remove_folder(folder);
}

/* ---- what a plain chain says, and what it names works ---------------------------------------- */

static void check_hint(const char *folder, const char *stages, enum ts_status status,
                       const char *code)
{
    struct ts_diag *diag = ts_diag_create();
    cr_expect_eq(run(folder, stages, diag), status, "%s", stages);
    const struct ts_diag_record *record = ts_test_record(diag, code);
    cr_assert(record, "%s: no %s", stages, code);
    cr_expect(record->hint && strstr(record->hint, "bad_pixels"), "%s: %s", code, record->hint);
    ts_diag_destroy(diag);
}

/* A gap that holds 65535 in all frames would be a transmission of 1. */
TEST_ON_BOTH(bad_pixels_chains, saturation_does_not_pass_in_silence)
{
    char folder[256];
    struct frames *frames = make_frames(40000);
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
    write_scan(folder, frames, H5T_STD_U16LE);
    cr_assert_eq(run(folder, PLAIN SLICES, diag), TS_OK);
    cr_expect(!ts_test_has_code(diag, "counts-saturated"));
    gap_65535(frames);
    write_scan(folder, frames, H5T_STD_U16LE);
    check_hint(folder, PLAIN SLICES, TS_OK, "counts-saturated");
    ts_diag_clear(diag);
    cr_assert_eq(run(folder, CLEAN SLICES, diag), TS_OK);
    cr_expect(!ts_test_has_code(diag, "counts-saturated"));
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
    free(frames);
}

/* ---- what gives a number and is no transmission ---------------------------------------------- */

/* Sets detector pixels of a row (-1: all) in the kinds of frames of which `where` has a letter:
 * "pfd". */
static void stick(struct frames *frames, const char *where, int row, int first, int end,
                  double value)
{
    for (int r = row < 0 ? 0 : row; r < (row < 0 ? ROWS : row + 1); r++)
        for (int d = first; d < end; d++) {
            for (int v = 0; v < VIEWS && strchr(where, 'p'); v++)
                frames->views[v][r][d] = value;
            for (int f = 0; f < FLATS; f++) {
                frames->flats[f][r][d] = strchr(where, 'f') ? value : frames->flats[f][r][d];
                frames->darks[f][r][d] = strchr(where, 'd') ? value : frames->darks[f][r][d];
            }
        }
}

#define MENDED_LIKE "%s: correlation %.5f of line integrals"

/* The plain chain warns with this code, and the other one gives the line integrals of the scan
 * without the fault. */
static void check_mended(const char *folder, hid_t type, const struct frames *good,
                         const struct frames *frames, const char *code, const char *mended,
                         const char *what)
{
    size_t n;
    struct ts_diag *diag = ts_diag_create();
    char stages[1024];
    snprintf(stages, sizeof stages, "%s  - minus_log: {}\n", mended);
    write_scan(folder, good, type);
    double *expected = slices_of(folder, PLAIN "  - minus_log: {}\n", &n);
    write_scan(folder, frames, type);
    cr_expect_eq(run(folder, PLAIN, diag), TS_OK);
    cr_expect(ts_test_has_code(diag, code), "%s: no %s", what, code);
    ts_diag_clear(diag);
    cr_expect_eq(run(folder, stages, diag), TS_OK, "%s", what);
    cr_expect(!ts_test_has_code(diag, code), "%s: %s again", what, code);
    cr_expect(!ts_test_has_code(diag, "transmission-floored"), "%s", what);
    double *is = slices_of(folder, stages, &n);
    cr_expect_geq(correlation(is, expected, n), 0.998, MENDED_LIKE, what,
                  correlation(is, expected, n));
    free(is);
    free(expected);
    ts_diag_destroy(diag);
}

#define FILL_STUCK                                                                                 \
    "  - flat_field: {flats: flats, darks: darks, dead: nan}\n  - bad_pixels: {columns: all}\n"
#define FILL_UNEVEN PLAIN "  - bad_pixels: {ratio: 2}\n"

TEST_ON_BOTH(bad_pixels_chains, stuck_pixels_do_not_pass_in_silence)
{
    static const struct {
        const char *where, *code, *mended;
        int row, first, end;
        double value;
    } rows[] = {{"pfd", "counts-constant", FILL_STUCK, -1, 20, 21, 1234},
                {"pfd", "counts-constant", FILL_STUCK, 2, 30, 33, 777},
                {"pfd", "counts-constant", FILL_STUCK, -1, 0, 1, 60},
                {"p", "counts-constant", FILL_STUCK, -1, 20, 21, 120},
                {"p", "counts-constant", FILL_STUCK, -1, 46, N, 100},
                {"p", "counts-constant", FILL_STUCK, 1, 33, 36, 0},
                {"p", "counts-constant", FILL_STUCK, 0, 0, N, 0},
                {"p", "counts-constant", FILL_STUCK, 3, 0, N, 0},
                {"p", "counts-constant", FILL_STUCK, 1, 0, N, 77},
                {"f", "flats-uneven", FILL_UNEVEN, -1, 20, 21, 70},
                {"f", "flats-uneven", FILL_UNEVEN, 2, 1, 2, 60},
                {"f", "flats-uneven", FILL_UNEVEN, -1, 30, 32, 75},
                {"d", "flats-uneven", FILL_UNEVEN, -1, 22, 23, 120},
                {"d", "flats-uneven", FILL_UNEVEN, 1, 30, 32, 125}};
    static const struct {
        double beam, scale;
    } kinds[] = {{190, 1}, {19000, 100}};
    const hid_t types[] = {H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_I32LE, H5T_IEEE_F32LE};
    char folder[256], what[100];
    ts_test_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t type = i % 4;
        struct frames *good = make_frames(kinds[type > 0].beam),
                      *frames = make_frames(kinds[type > 0].beam);
        stick(frames, rows[i].where, rows[i].row, rows[i].first, rows[i].end,
              rows[i].value * kinds[type > 0].scale);
        snprintf(what, sizeof what, "%s, row %d, pixels %d to %d, at %g", rows[i].where,
                 rows[i].row, rows[i].first, rows[i].end, rows[i].value);
        check_mended(folder, types[type], good, frames, rows[i].code, rows[i].mended, what);
        free(good);
        free(frames);
    }
    ts_test_remove_folder(folder);
}

/* Without noise, what all views see alike is constant and not stuck: air, and the rim of the round
 * part about the axis. What is stuck there is still told. */
TEST_ON_BOTH(bad_pixels_chains, a_rim_without_noise_is_not_stuck)
{
    static const struct {
        int row, first, end;
        double value; /* 0: nothing is stuck */
        bool told;
    } rows[] = {{0, 0, 0, 0, false},     {-1, 2, 3, 60, true},   {1, 10, 11, 60, true},
                {2, 20, 21, 1234, true}, {3, 46, N, 3000, true}, {0, 0, 1, 30000, true}};
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int strong = 0; strong < 2; strong++) {
            struct frames *frames = make_frames_with(strong ? 19000 : 4000, 0);
            stick(frames, "p", rows[i].row, rows[i].first, rows[i].end, rows[i].value);
            write_scan(folder, frames, H5T_STD_U16LE);
            ts_diag_clear(diag);
            cr_assert_eq(run(folder, PLAIN, diag), TS_OK);
            cr_expect_eq(ts_test_has_code(diag, "counts-constant"), rows[i].told,
                         "row %zu, beam %d", i, strong);
            free(frames);
        }
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

/* Noise of counting, which zingers are told from. */
static void add_noise(struct frames *frames)
{
    uint64_t seed = 5;
    for (int f = 0; f < FLATS; f++)
        for (int row = 0; row < ROWS; row++)
            for (int d = 0; d < N; d++) {
                double sum = 0;
                for (int i = 0; i < 12; i++)
                    sum += ts_random_unit(&seed) - 0.5;
                frames->flats[f][row][d] += floor(sum * sqrt(frames->flats[f][row][d]));
            }
}

TEST_ON_BOTH(bad_pixels_chains, zingers_of_frames_do_not_pass_in_silence)
{
    static const char clean[] = "  - flat_field: {flats: flats, darks: darks, combine: clean}\n";
    static const struct {
        int frame, row, d;
        double flat, dark; /* what is added to */
    } rows[] = {{0, 1, 20, 20000, 0},
                {2, 3, 0, 6000, 0},
                {1, 0, 47, 60000, 0},
                {0, 2, 30, 0, 5000},
                {1, 1, 25, 9000, 9000}};
    const hid_t types[] = {H5T_STD_U32LE, H5T_STD_I32LE, H5T_IEEE_F32LE};
    char folder[256], what[100];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
    struct frames *good = make_frames(40000), *frames = make_frames(40000);
    add_noise(good);
    write_scan(folder, good, H5T_STD_U16LE);
    cr_assert_eq(run(folder, PLAIN, diag), TS_OK);
    cr_expect(!ts_test_has_code(diag, "frames-zingers"), "noise is no zinger");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(frames, good, sizeof *frames);
        frames->flats[rows[i].frame][rows[i].row][rows[i].d] += rows[i].flat;
        frames->darks[rows[i].frame][rows[i].row][rows[i].d] += rows[i].dark;
        snprintf(what, sizeof what, "zinger %zu", i);
        check_mended(folder, types[i % 3], good, frames, "frames-zingers", clean, what);
    }
    free(good);
    free(frames);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

static void clip(struct frames *frames, double largest, double step, bool brighter)
{
    double *values = &frames->views[0][0][0];
    for (size_t i = 0; i < sizeof *frames / sizeof *values; i++) {
        const double value = brighter && i % N > 2 && i % N < 5 ? values[i] * 1.4 : values[i];
        values[i] = fmin(floor(value / step) * step, largest);
    }
}

/* Two bright detector pixels saturate a detector of fewer bits. Without them nothing is said. */
TEST_ON_BOTH(bad_pixels_chains, full_scale_of_fewer_bits_does_not_pass_in_silence)
{
    static const struct {
        double largest, step;
    } rows[] = {{4095, 1}, {16383, 1}, {1023, 1}, {65520, 16}, {32767, 1}};
    const hid_t types[] = {H5T_STD_U16LE, H5T_STD_I32LE, H5T_IEEE_F32LE};
    char folder[256], stages[1024], number[40];
    ts_test_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct frames *good = make_frames(0.8 * rows[i].largest),
                      *frames = make_frames(0.8 * rows[i].largest);
        struct ts_diag *diag = ts_diag_create();
        clip(good, rows[i].largest, rows[i].step, false);
        clip(frames, rows[i].largest, rows[i].step, true);
        write_scan(folder, good, types[i % 3]);
        cr_assert_eq(run(folder, PLAIN, diag), TS_OK);
        cr_expect(!ts_test_has_code(diag, "counts-piled"), "%g without saturation",
                  rows[i].largest);
        write_scan(folder, frames, types[i % 3]);
        snprintf(number, sizeof number, "{highest: %.0f}", rows[i].largest);
        cr_assert_eq(run(folder, PLAIN, diag), TS_OK);
        const struct ts_diag_record *record = ts_test_record(diag, "counts-piled");
        cr_assert(record && record->hint && strstr(record->hint, number), "%s", number);
        snprintf(stages, sizeof stages,
                 "  - bad_pixels: {input: flats, name: good_flats, highest: %.0f}\n"
                 "  - bad_pixels: {input: input, highest: %.0f}\n  - flat_field: {flats: "
                 "good_flats, darks: darks}\n",
                 rows[i].largest, rows[i].largest);
        check_mended(folder, types[i % 3], good, frames, "counts-piled", stages, number);
        ts_diag_destroy(diag);
        free(good);
        free(frames);
    }
    ts_test_remove_folder(folder);
}

/* Whoever refuses NaN names the stage that fills it. */
TEST_ON_BOTH(bad_pixels_chains, what_refuses_nan_has_a_way_out)
{
    static const char *const stages[] = {"fbp: {}",
                                         "backproject: {}",
                                         "fourier: {}",
                                         "sirt: {iterations: 2}",
                                         "cgls: {iterations: 2}",
                                         "ring: {}"};
    char folder[256], before[512], after[600];
    struct frames *frames = make_frames(40000);
    ts_test_folder(folder, sizeof folder);
    spoil(frames, -1, 20, 23, 9, false, NAN);
    write_scan(folder, frames, H5T_IEEE_F32LE);
    check_hint(folder, PLAIN SLICES, TS_BAD_INPUT, "transmission-nan");
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        size_t n;
        snprintf(before, sizeof before, PLAIN "  - minus_log: {nonfinite: nan}\n  - %s\n",
                 stages[i]);
        snprintf(after, sizeof after,
                 PLAIN "  - minus_log: {nonfinite: nan}\n  - bad_pixels: {}\n  - %s\n", stages[i]);
        check_hint(folder, before, TS_BAD_INPUT, "not-finite");
        free(slices_of(folder, after, &n));
    }
    spoil(frames, -1, 20, 23, 9, false, INFINITY);
    write_scan(folder, frames, H5T_IEEE_F32LE);
    check_hint(folder, PLAIN SLICES, TS_BAD_INPUT, "transmission-infinite");
    ts_test_remove_folder(folder);
    free(frames);
}

/* Pixels that a mask leaves out pass flat_field as such, and whoever takes them for measured names
 * the stage. */
TEST_ON_BOTH(bad_pixels_chains, masked_pixels_have_a_way_out)
{
    static const char masked[] = "  - threshold: {input: input, below: 60000, name: good}\n"
                                 "  - apply_mask: {input: input, mask: good}\n" PLAIN;
    char folder[256], stages[1024];
    size_t n;
    struct frames *frames = make_frames(40000);
    ts_test_folder(folder, sizeof folder);
    write_scan(folder, frames, H5T_STD_U16LE);
    double *expected = slices_of(folder, PLAIN SLICES, &n);
    gap_65535(frames);
    write_scan(folder, frames, H5T_STD_U16LE);
    snprintf(stages, sizeof stages, "%s" SLICES, masked);
    check_hint(folder, stages, TS_OK, "padding-as-values");
    snprintf(stages, sizeof stages, "%s  - bad_pixels: {}\n" SLICES, masked);
    double *is = slices_of(folder, stages, &n);
    cr_expect_geq(correlation(is, expected, n), 0.99, "correlation %.4f",
                  correlation(is, expected, n));
    free(is);
    free(expected);
    free(frames);
    ts_test_remove_folder(folder);
}

TEST_ON_BOTH(bad_pixels_chains, a_scan_without_a_good_pixel_is_refused)
{
    char folder[256];
    struct frames *frames = make_frames(40000);
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
    spoil(frames, -1, 0, N, 1, false, 65535);
    write_scan(folder, frames, H5T_STD_U16LE);
    cr_assert_eq(run(folder, "  - bad_pixels: {input: input}\n" PLAIN, diag), TS_BAD_INPUT);
    const struct ts_diag_record *record = ts_test_record(diag, "nothing-left");
    cr_assert(record && strstr(record->message, "because nothing near them is good"));
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
    free(frames);
}
