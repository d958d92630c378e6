/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/flat_field.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/files/scan_file.h"
#include "tests/stages/scan/flat_field_oracle.h"
#include "tests/support/chain_run.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"
#include "tests/support/transmission_check.h"

TestSuite(flat_field);

/* The share of (|counts| + |dark|) / (flat - dark) that rounding counts, dark and gain to float,
 * and two operations with them, can be wrong by: 4 halves of 2^-23. */
static const double relative = 2.5e-7;

static int64_t found[4]; /* slices in which the tables of a test counted something */

struct scan {
    struct ts_image counts, flats, darks;
    bool has_darks;
};

static void scan_clear(struct scan *scan)
{
    const struct ts_image *const images[] = {&scan->counts, &scan->flats, &scan->darks};
    for (int i = 0; i < 3; i++) {
        free(images[i]->data);
        free(images[i]->valid);
    }
}

/* The tables of all slices at once, and of slabs of one and of two. */
static void check_tables(const struct scan *scan, const struct ts_image *const references[],
                         const char *assignments, const char *what)
{
    const int64_t nz = scan->counts.axes[0].n;
    struct flat_field_checks *checks = malloc((size_t)nz * sizeof *checks);
    ts_flat_field_oracle_checks(&scan->counts, &scan->flats, references[1],
                                strstr(assignments, "median") ? COMBINE_MEDIAN : COMBINE_MEAN,
                                strstr(assignments, "nearest") != NULL, checks);
    for (int64_t slab = 0; slab < 3; slab++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run_references(&run, &flat_field_stage, assignments, &scan->counts,
                                            references, slab, 2),
                     TS_OK);
        for (int64_t z = 0; z < nz; z++) {
            cr_assert_eq(ts_test_table_at(&run, "stuck", z), checks[z].stuck, "%s", what);
            cr_assert_eq(ts_test_table_at(&run, "uneven", z), checks[z].uneven, "%s", what);
            cr_assert_eq(ts_test_table_at(&run, "zingers", z), checks[z].zingers, "%s", what);
            cr_assert_eq(ts_test_table_at(&run, "piled", z), checks[z].piled, "%s", what);
            cr_assert_eq(ts_test_table_at(&run, "full_scale", z), checks[z].full_scale, "%s", what);
        }
        ts_test_run_clear(&run);
    }
    for (int64_t z = 0; z < nz; z++) {
        found[0] += checks[z].stuck > 0;
        found[1] += checks[z].uneven > 0;
        found[2] += checks[z].zingers > 0;
        found[3] += checks[z].piled > 0;
    }
    free(checks);
}

/* One slice, two and all at once, on several threads: the same bytes, and those of the
 * definition. */
static void check_scan(const struct scan *scan, bool median, bool nearest)
{
    const struct ts_image *const references[STAGE_REFERENCES] = {
        &scan->flats, scan->has_darks ? &scan->darks : NULL};
    const size_t n = ts_image_count(&scan->counts);
    double *values = malloc(n * sizeof *values), *scale = malloc(n * sizeof *scale);
    uint64_t *dead = malloc((size_t)scan->counts.axes[0].n * sizeof *dead);
    char assignments[64], what[160];
    snprintf(assignments, sizeof assignments, "combine=%s dead=%s", median ? "median" : "mean",
             nearest ? "nearest" : "nan");
    snprintf(what, sizeof what, "%s %s %lld x %lld x %lld, %lld flats %s", assignments,
             ts_dtype_name(scan->counts.dtype), (long long)scan->counts.axes[0].n,
             (long long)scan->counts.axes[1].n, (long long)scan->counts.axes[2].n,
             (long long)scan->flats.axes[1].n, ts_dtype_name(scan->flats.dtype));
    ts_flat_field_oracle_transmission(&scan->counts, &scan->flats, references[1], median, nearest,
                                      values, scale, dead);
    check_tables(scan, references, assignments, what);
    ts_test_transmission(&flat_field_stage, assignments, &scan->counts, references,
                         &(struct transmission_expected){values, scale, relative, "dead", dead},
                         what);
    free(values);
    free(scale);
    free(dead);
}

/* Random frames: about half of all pixels are dead. Every type of counts with every type of
 * frames. */
TEST_ON_BOTH(flat_field, agrees_with_the_definition)
{
    static const int64_t shapes[][3] = {{1, 1, 1},  {2, 1, 37},   {3, 41, 1},
                                        {5, 7, 11}, {3, 67, 131}, {1, 130, 259}};
    static const int64_t counts_of_frames[][2] = {{1, 1}, {2, 0}, {5, 4}, {10, 3}, {33, 0}, {4, 7}};
    size_t compared = 0;
    for (size_t i = 0; i < 2 * 7 * 6; i++) {
        const int64_t *shape = shapes[i % 6], *n = counts_of_frames[i / 7 % 6];
        const enum ts_dtype dtype = (enum ts_dtype)(i % 7),
                            other = (enum ts_dtype)((3 * i + i / 7) % 7);
        struct scan scan = {
            ts_test_counts(shape[0], shape[1], shape[2], dtype, VALUES_RANDOM, 31 * i),
            ts_test_counts(shape[0], n[0], shape[2], other, VALUES_RANDOM, 31 * i + 1),
            ts_test_counts(shape[0], n[1] ? n[1] : 1, shape[2], other, VALUES_RANDOM, 31 * i + 2),
            n[1] > 0};
        if (!ts_test_few() || i % 6 == 0) {
            check_scan(&scan, i % 2, i / 2 % 2);
            compared++;
        }
        scan_clear(&scan);
    }
    cr_assert_gt(compared, 0);
}

/* Flats, darks and counts of 16 bits as a detector gives them. */
TEST_ON_BOTH(flat_field, takes_a_detectors_counts)
{
    struct scan scan = {ts_test_counts(2, 181, 333, TS_U16, VALUES_CT, 1),
                        ts_test_counts(2, 20, 333, TS_U16, VALUES_CONSTANT, 2),
                        ts_test_counts(2, 10, 333, TS_U16, VALUES_CONSTANT, 3), true};
    uint64_t seed = 4;
    for (size_t i = 0; i < ts_image_count(&scan.flats); i++)
        ((uint16_t *)scan.flats.data)[i] = (uint16_t)(20000 + 3000 * ts_random_unit(&seed));
    for (size_t i = 0; i < ts_image_count(&scan.darks); i++)
        ((uint16_t *)scan.darks.data)[i] = (uint16_t)(100 + 10 * ts_random_unit(&seed));
    check_scan(&scan, false, true);
    check_scan(&scan, true, true);
    scan_clear(&scan);
}

/* Scans with stuck pixels, zingers and a full scale of fewer bits. masked: with masks of the
 * projections and of some flats, and in floats an infinite value. */
static void check_faulty_scans(int64_t nz, bool masked)
{
    static const enum ts_dtype dtypes[] = {TS_U16, TS_I32, TS_F32, TS_U32};
    const int64_t n_views = 9, n = 60, n_frames[] = {2, 3, 5, 1};
    uint64_t seed = 9;
    memset(found, 0, sizeof found);
    for (size_t i = 0; i < 24; i++) {
        const int64_t n_flats = n_frames[i % 4];
        struct scan scan = {ts_test_counts(nz, n_views, n, dtypes[i % 4], VALUES_CONSTANT, 1),
                            ts_test_counts(nz, n_flats, n, TS_U16, VALUES_CONSTANT, 1),
                            ts_test_counts(nz, 2, n, TS_U16, VALUES_CONSTANT, 1), i % 3 > 0};
        for (int64_t at = 0; at < nz * n_views * n; at++) {
            double value = floor(2000 + 2500 * ts_random_unit(&seed));
            if (i % 2 == 0 && at / (n_views * n) % 2 == !masked)
                value = fmin(value, 4095);
            if (at % n == 20 + (int64_t)i || at % n == (int64_t)i % 3)
                value = 777;
            ts_test_store(scan.counts.data, scan.counts.dtype, (size_t)at, value);
        }
        for (int64_t at = 0; at < nz * n_flats * n; at++) {
            const double noise = 60 * ts_random_unit(&seed),
                         zinger = ts_random_unit(&seed) < 0.03 ? 2500 : 0;
            const double flat = at % n == 44 || at % n == 58 ? 900 : 3900 + noise + zinger;
            ((uint16_t *)scan.flats.data)[at] =
                (uint16_t)(i % 2 == 0 && at / (n_flats * n) % 2 == !masked ? fmin(flat, 4095)
                                                                           : flat);
        }
        for (int64_t at = 0; at < nz * 2 * n; at++)
            ((uint16_t *)scan.darks.data)[at] =
                (uint16_t)(100 + (ts_random_unit(&seed) < 0.03 ? 700 : at % 5));
        if (masked && scan.counts.dtype == TS_F32)
            ((float *)scan.counts.data)[7] = INFINITY; /* in slice 0, view 0 */
        if (masked)
            ts_test_mask(&scan.counts, MASKED_SOME, i % 2 ? 0 : 4095, i + 1);
        if (masked && i % 3 == 1)
            ts_test_mask(&scan.flats, MASKED_SOME, 0, i + 100);
        check_scan(&scan, i % 5 == 1, i % 2);
        scan_clear(&scan);
    }
    for (int i = 0; i < 4; i++)
        cr_expect_gt(found[i], 4, "table %d", i);
}

TEST_ON_BOTH(flat_field, counts_what_is_no_transmission)
{
    check_faulty_scans(3, false);
}

/* What a mask leaves out is neither stuck nor at full scale. */
TEST_ON_BOTH(flat_field, counts_what_is_no_transmission_within_masks)
{
    check_faulty_scans(5, true);
}

/* The float transmission of one row, and how many pixels were dead. */
static void run_row(const char *assignments, const float *counts, const float *flats,
                    int64_t n_flats, const float *darks, int64_t n, float *out, double *dead)
{
    struct ts_image in = ts_test_counts(1, 1, n, TS_F32, VALUES_CONSTANT, 1),
                    flat = ts_test_counts(1, n_flats, n, TS_F32, VALUES_CONSTANT, 1),
                    dark = ts_test_counts(1, 1, n, TS_F32, VALUES_CONSTANT, 1);
    const struct ts_image *const references[STAGE_REFERENCES] = {&flat, darks ? &dark : NULL};
    struct stage_run run;
    memcpy(in.data, counts, ts_image_bytes(&in));
    memcpy(flat.data, flats, ts_image_bytes(&flat));
    if (darks)
        memcpy(dark.data, darks, ts_image_bytes(&dark));
    cr_assert_eq(
        ts_test_run_references(&run, &flat_field_stage, assignments, &in, references, 0, 2), TS_OK);
    memcpy(out, run.out.data, ts_image_bytes(&run.out));
    *dead = ts_test_table_at(&run, "dead", 0);
    ts_test_run_clear(&run);
    free(in.data);
    free(flat.data);
    free(dark.data);
}

TEST_ON_BOTH(flat_field, dead_pixels_take_the_nearest_transmission)
{
    /* dead: 0 (flat == dark), 3 (flat < dark), 4 (NaN), 5 (infinite), 7 (zero flat) */
    static const float counts[] = {9, 3, 5, 9, 9, 9, 4, 9}, darks[] = {1, 1, 1, 8, 1, 1, 0, 0};
    static const float flats[] = {1, 5, 9, 2, NAN, INFINITY, 8, 0};
    static const float nearest[] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
    float out[8];
    double dead;
    run_row("", counts, flats, 1, darks, 8, out, &dead);
    cr_assert(!memcmp(out, nearest, sizeof out));
    cr_assert_eq(dead, 5);
    run_row("dead=nan", counts, flats, 1, darks, 8, out, &dead);
    for (int d = 0; d < 8; d++)
        cr_assert(d == 1 || d == 2 || d == 6 ? out[d] == 0.5F : isnan(out[d]), "detector %d is %g",
                  d, (double)out[d]);
    cr_assert_eq(dead, 5);
}

TEST_ON_BOTH(flat_field, the_left_of_two_that_are_as_near)
{
    static const float counts[] = {1, 7, 7, 7, 2, 7, 7, 7, 7},
                       flats[] = {10, 0, 0, 0, 10, 0, 0, 0, 0};
    static const float expected[] = {0.1F, 0.1F, 0.1F, 0.2F, 0.2F, 0.2F, 0.2F, 0.2F, 0.2F};
    float out[9];
    double dead;
    run_row("", counts, flats, 1, NULL, 9, out, &dead);
    cr_assert(!memcmp(out, expected, sizeof out));
    cr_assert_eq(dead, 7);
}

TEST_ON_BOTH(flat_field, a_row_that_is_dead_is_nan)
{
    static const float counts[] = {1, 2, 3}, flats[] = {0, 0, -1};
    float out[3];
    double dead;
    run_row("", counts, flats, 1, NULL, 3, out, &dead);
    cr_assert(isnan(out[0]) && isnan(out[1]) && isnan(out[2]));
    cr_assert_eq(dead, 3);
}

/* A cosmic ray in one flat; transmissions below 0 and above 1 stay. */
TEST_ON_BOTH(flat_field, a_median_leaves_outliers_out)
{
    static const float counts[] = {50, 150, -50},
                       flats[] = {100, 100, 100, 9000, 100, 100, 100, 100, 100, 100, 100, 100};
    float out[3];
    double dead;
    run_row("combine=median", counts, flats, 4, NULL, 3, out, &dead);
    cr_assert(fabsf(out[0] - 0.5F) < 1e-6F && fabsf(out[1] - 1.5F) < 1e-6F &&
              fabsf(out[2] + 0.5F) < 1e-6F);
    run_row("combine=mean", counts, flats, 4, NULL, 3, out, &dead);
    cr_assert(fabsf(out[0] - 50 / 2325.0F) < 1e-6F);
}

/* Of every integer type, in all values of the projections and the flats, those of dead pixels
 * too. */
TEST_ON_BOTH(flat_field, counts_saturated_values)
{
    for (int dtype = 0; dtype <= TS_F32; dtype++) {
        if (!(TS_ANY_DTYPE & TS_DTYPE_BIT(dtype)))
            continue;
        struct ts_image in = ts_test_counts(3, 71, 37, (enum ts_dtype)dtype, VALUES_EXTREME, 5),
                        flats = ts_test_counts(3, 2, 37, (enum ts_dtype)dtype, VALUES_EXTREME, 6);
        const size_t n = ts_slice_count(&in), n_flats = ts_slice_count(&flats);
        double low, high, *values = malloc(3 * n * sizeof *values);
        struct stage_run run;
        ts_dtype_range((enum ts_dtype)dtype, &low, &high);
        cr_assert_eq(ts_test_run(&run, &flat_field_stage, "", &in, &flats, 2, 3), TS_OK);
        for (int64_t z = 0; z < 3; z++) {
            size_t expected = 0;
            ts_load_f64(values, ts_slice_data(&in, z), in.dtype, n);
            ts_load_f64(values + n, ts_slice_data(&flats, z), in.dtype, n_flats);
            for (size_t i = 0; i < n + n_flats; i++)
                expected += dtype != TS_F32 && values[i] == high;
            cr_assert_eq(ts_test_table_at(&run, "saturated", z), (double)expected, "%s",
                         ts_dtype_name((enum ts_dtype)dtype));
        }
        ts_test_run_clear(&run);
        free(values);
        free(in.data);
        free(flats.data);
    }
}

/* What a mask leaves out is known already: it is not counted, nor are flats there. */
TEST_ON_BOTH(flat_field, a_mask_leaves_saturated_values_out)
{
    struct ts_image in = ts_test_counts(1, 2, 5, TS_U16, VALUES_CONSTANT, 1),
                    flats = ts_test_counts(1, 1, 5, TS_U16, VALUES_CONSTANT, 1);
    uint64_t valid = ~(UINT64_C(1) << 2 | UINT64_C(1) << 7 |
                       UINT64_C(1) << 3); /* 2 in both views, 3 in the first */
    struct stage_run run;
    for (int i = 0; i < 10; i++)
        ((uint16_t *)in.data)[i] = i % 5 == 2 || i % 5 == 3 ? 65535 : 50;
    for (int i = 0; i < 5; i++)
        ((uint16_t *)flats.data)[i] = i < 3 ? 65535 : 100;
    in.masked = true;
    in.valid = &valid;
    cr_assert_eq(ts_test_run(&run, &flat_field_stage, "", &in, &flats, 0, 1), TS_OK);
    cr_assert(run.out.masked);
    cr_assert_eq(ts_test_table_at(&run, "saturated", 0),
                 3); /* pixel 3 of the second view, 0 and 1 of the flat */
    ts_test_run_clear(&run);
    free(in.data);
    free(flats.data);
}

/* A detector pixel that a mask of its frames leaves out is dead. */
TEST_ON_BOTH(flat_field, pixels_outside_the_mask_of_the_frames_are_dead)
{
    struct ts_image in = ts_test_counts(1, 1, 5, TS_U16, VALUES_CONSTANT, 1),
                    flats = ts_test_counts(1, 2, 5, TS_U16, VALUES_CONSTANT, 1);
    uint64_t valid =
        ~(UINT64_C(1) << 2 | UINT64_C(1) << 9); /* pixel 2 of the first frame, 4 of the second */
    struct stage_run run;
    for (int d = 0; d < 5; d++) {
        ((uint16_t *)in.data)[d] = (uint16_t)(10 * d + 10);
        ((uint16_t *)flats.data)[d] = ((uint16_t *)flats.data)[5 + d] = 100;
    }
    flats.masked = true;
    flats.valid = &valid;
    cr_assert_eq(ts_test_run(&run, &flat_field_stage, "dead=nan", &in, &flats, 0, 1), TS_OK);
    for (int d = 0; d < 5; d++) {
        const float is = ((const float *)run.out.data)[d];
        cr_assert(d == 2 || d == 4 ? isnan(is) : fabsf(is - 0.1F * (float)(d + 1)) < 1e-6F,
                  "%d: %g", d, (double)is);
    }
    cr_assert_eq(ts_test_table_at(&run, "dead", 0), 2);
    ts_test_run_clear(&run);
    free(in.data);
    free(flats.data);
}

static void refused(const struct ts_image *in, const struct ts_image *flats,
                    const struct ts_image *darks, const char *code)
{
    const struct ts_image *const references[STAGE_REFERENCES] = {flats, darks};
    struct stage_run run;
    cr_assert_eq(ts_test_run_references(&run, &flat_field_stage, "", in, references, 0, 1),
                 TS_BAD_CHAIN, "%s", code);
    cr_assert_eq(ts_diag_count(run.diag), 1);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, code);
    ts_test_run_clear(&run);
}

Test(flat_field, says_what_is_wrong_with_the_frames)
{
    struct ts_image in = ts_test_counts(3, 7, 5, TS_U16, VALUES_RANDOM, 1),
                    good = ts_test_counts(3, 2, 5, TS_U16, VALUES_RANDOM, 2),
                    narrow = ts_test_counts(3, 2, 4, TS_U16, VALUES_RANDOM, 3),
                    few = ts_test_counts(2, 2, 5, TS_U16, VALUES_RANDOM, 4),
                    volume = ts_test_image(3, 2, 5, TS_U16, VALUES_RANDOM, 5), other = good,
                    line = in;
    other.quantity = TS_TRANSMISSION;
    line.quantity = TS_LINE_INTEGRAL;
    refused(&in, NULL, NULL, "reference-missing");
    refused(&in, &narrow, NULL, "reference-detectors");
    refused(&in, &good, &narrow, "reference-detectors");
    refused(&in, &few, NULL, "reference-slices");
    refused(&in, &good, &few, "reference-slices");
    refused(&in, &volume, NULL, "reference-axes");
    refused(&in, &good, &other, "reference-quantity");
    refused(&line, &good, NULL, "stage-quantity");
    refused(&volume, &good, NULL, "stage-axes");
    free(in.data);
    free(good.data);
    free(narrow.data);
    free(few.data);
    free(volume.data);
}

/* Runs a chain whose flats have so many pixels of zeros, and expects this message for the code. */
static void dead_says(int zeros, enum ts_status status, const char *code, const char *message)
{
    enum { PIXELS = SCAN_ROWS * SCAN_COLUMNS };
    static const char chain[] = "tomostage: 2\ninput: {exchange: scan.h5}\n"
                                "inputs:\n  flats: {exchange: scan.h5, frames: flats}\n"
                                "stages:\n  - flat_field: {flats: flats}\noutput: {hdf5: out.h5}\n";
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    double flats[2 * PIXELS];
    ts_scan_file_begin();
    const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta),
                white = H5Dopen2(file, "/exchange/data_white", H5P_DEFAULT);
    for (int i = 0; i < 2 * PIXELS; i++)
        flats[i] = i % PIXELS < zeros ? 0 : 7;
    cr_assert(H5Dwrite(white, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, flats) >= 0);
    H5Dclose(white);
    H5Fclose(file);
    cr_assert_eq(ts_test_chain(chain, ts_scan_file.folder, ts_scan_file.diag), status);
    const struct ts_diag_record *record = ts_test_record(ts_scan_file.diag, code);
    cr_assert(record && record->severity == (status == TS_OK ? TS_NOTE : TS_ERROR));
    cr_assert_str_eq(record->message, message);
    ts_scan_file_end();
}

TEST_ON_BOTH(flat_field, a_run_says_how_many_pixels_are_dead)
{
    dead_says(
        11, TS_OK, "counted",
        "table 'dead' adds up to 11 of 15: detector pixels whose flat is not above their dark");
    dead_says(15, TS_BAD_INPUT, "nothing-left",
              "table 'dead' counts all 15: detector pixels whose flat is not above their dark; "
              "fewer were expected");
}

/* ---- which frames ---------------------------------------------------------------------------- */

/* A scan in Data Exchange with two flats and two darks, and one chain over its inputs. */
static enum ts_status run_frames(const char *image, const char *flats, const char *darks,
                                 const char *before, struct ts_diag *diag)
{
    static const double theta[SCAN_FRAMES] = {0, 20, 40, 60, 80, 100, 120};
    char text[1024];
    const hid_t file = ts_scan_file_exchange(&(struct scan_storage){.type = H5T_STD_U16LE},
                                             SCAN_FRAMES, theta),
                group = H5Gopen2(file, "exchange", H5P_DEFAULT);
    ts_scan_file_frames(group, "data_dark", 2, &(struct scan_storage){.type = H5T_STD_U16LE});
    H5Gclose(group);
    H5Fclose(file);
    const char *name = strrchr(ts_scan_file.path, '/') + 1;
    snprintf(
        text, sizeof text,
        "tomostage: 2\ninput: {exchange: %s%s}\ninputs:\n  f: {exchange: %s%s}\n  d: {exchange: "
        "%s%s}\n"
        "stages:\n%s  - flat_field: {flats: %s, darks: d, dead: nan%s}\noutput: {hdf5: out.h5}\n",
        name, image, name, flats, name, darks, before, *before ? "clean" : "f",
        *before ? ", input: input" : "");
    return ts_test_chain(text, ts_scan_file.folder, diag);
}

/* Frames that are read as flats although their input calls them something else would divide by the
 * wrong values, and nobody would see it. */
Test(flat_field, refuses_frames_of_another_name, .init = ts_scan_file_begin,
     .fini = ts_scan_file_end)
{
    static const char *const names[] = {"", ", frames: flats", ", frames: darks"};
    static const char clean[] = "  - outliers: {name: clean, input: f, threshold: 5}\n";
    for (int image = 0; image < 3; image++)
        for (int flats = 0; flats < 3; flats++)
            for (int darks = 0; darks < 3; darks++)
                for (int stage = 0; stage < 2; stage++) {
                    struct ts_diag *diag = ts_diag_create();
                    const enum ts_status status = run_frames(
                        names[image], names[flats], names[darks], stage ? clean : "", diag);
                    const bool right = image == 0 && flats == 1 && darks == 2;
                    cr_expect_eq(ts_test_has_code(diag, "input-frames"), image != 0);
                    cr_expect_eq(ts_test_has_code(diag, "reference-frames"),
                                 flats != 1 || darks != 2);
                    cr_expect(right || status == TS_BAD_CHAIN, "%d %d %d: status %d", image, flats,
                              darks, status);
                    ts_diag_destroy(diag);
                }
}

/* Sizes are compared if all are stated in one unit. */
Test(flat_field, warns_of_frames_of_another_pixel_size, .init = ts_scan_file_begin,
     .fini = ts_scan_file_end)
{
    static const struct {
        const char *image, *flats, *darks;
        bool told;
    } rows[] = {{", pixel_size: 0.001", ", frames: flats, pixel_size: 0.001",
                 ", frames: darks, pixel_size: 0.001", false},
                {", pixel_size: 0.001", ", frames: flats, pixel_size: 0.002",
                 ", frames: darks, pixel_size: 0.001", true},
                {", pixel_size: 0.001", ", frames: flats, pixel_size: 0.001",
                 ", frames: darks, pixel_size: 0.0005", true},
                {", pixel_size: 0.001", ", frames: flats, pixel_size: 0.001004",
                 ", frames: darks, pixel_size: 0.001", false},
                {", pixel_size: 0.001", ", frames: flats", ", frames: darks", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        cr_expect_neq(run_frames(rows[i].image, rows[i].flats, rows[i].darks, "", diag),
                      TS_BAD_CHAIN);
        cr_expect_eq(ts_test_has_code(diag, "reference-spacing"), rows[i].told, "row %zu", i);
        ts_diag_destroy(diag);
    }
}

Test(flat_field, says_which_frames_were_expected, .init = ts_scan_file_begin,
     .fini = ts_scan_file_end)
{
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(run_frames("", "", ", frames: darks", "", diag), TS_BAD_CHAIN);
    const struct ts_diag_record *record = ts_test_record(diag, "reference-frames");
    cr_assert(record);
    cr_assert_str_eq(record->stage, "flat_field.flats");
    cr_assert(strstr(record->message,
                     "'f' holds the projections of its scan, and the flats were expected"),
              "%s", record->message);
    cr_assert(strstr(record->hint, "frames: flats where 'f' is defined"), "%s", record->hint);
    ts_diag_destroy(diag);
}

/* ---- a scan in Data Exchange ----------------------------------------------------------------- */

static const char tooth[] = "projections/tomopy_tooth/tooth.h5";

static double mean_of(const double *frames, int64_t n, int64_t pixels, int64_t i)
{
    double sum = 0;
    for (int64_t frame = 0; frame < n; frame++)
        sum += frames[frame * pixels + i];
    return sum / (double)n;
}

TEST_ON_BOTH(flat_field, of_a_scan_in_data_exchange)
{
    enum { VIEWS = 181, ROWS = 2, DETECTORS = 640, FRAMES = 10, PIXELS = ROWS * DETECTORS };
    char folder[256], output[300], text[8192];
    size_t n, n_flats, n_darks, n_out;
    SKIP_WITHOUT_DATA("flat_field/of_a_scan_in_data_exchange");
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    ts_test_tooth_chain(text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "output: {hdf5: out.h5}\n");
    ts_test_chain_runs(text, folder);
    double *counts = ts_test_read_hdf5(tooth, "/exchange/data", &n),
           *flats = ts_test_read_hdf5(tooth, "/exchange/data_white", &n_flats),
           *darks = ts_test_read_hdf5(tooth, "/exchange/data_dark", &n_darks),
           *out = ts_test_read_hdf5_at(output, "/entry/data/data", &n_out);
    cr_assert(n == VIEWS * PIXELS && n_out == n && n_flats == FRAMES * PIXELS &&
              n_darks == n_flats);
    for (int64_t view = 0; view < VIEWS; view++)
        for (int64_t i = 0; i < PIXELS; i++) {
            const double dark = mean_of(darks, FRAMES, PIXELS, i),
                         flat = mean_of(flats, FRAMES, PIXELS, i);
            const double expected = (counts[view * PIXELS + i] - dark) / (flat - dark);
            const double is = out[(i / DETECTORS * VIEWS + view) * DETECTORS + i % DETECTORS];
            cr_assert(fabs(is - expected) <= 1e-6, "view %lld pixel %lld: %.9g, expected %.9g",
                      (long long)view, (long long)i, is, expected);
        }
    free(counts);
    free(flats);
    free(darks);
    free(out);
    ts_test_remove_folder(folder);
}
