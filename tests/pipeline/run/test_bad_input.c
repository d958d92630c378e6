/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans that are wrong, through whole chains: each has a message of its own and an exit code, and
 * nothing is written, not even in part, whether the plan finds it or the device in the middle of
 * the run.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/scan_file.h"
#include "tests/support/chain_run.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"

enum {
    VIEWS = 24,
    ROWS = 3,
    DETECTORS = 17,
    VALUES = VIEWS * ROWS * DETECTORS,
    SPOILED = VALUES - 40
};

static void write_frames(hid_t file, const char *name, float spoiled, bool everywhere)
{
    static const hsize_t n[3] = {VIEWS, ROWS, DETECTORS};
    float values[VALUES];
    for (int i = 0; i < VALUES; i++)
        values[i] = 0.5F + 0.4F * (float)(i % 7) / 7;
    values[SPOILED] = spoiled;
    for (int i = 0; everywhere && i < VALUES; i++)
        values[i] = spoiled;
    const hid_t space = H5Screate_simple(3, n, NULL);
    const hid_t data =
        H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(data);
    H5Sclose(space);
}

/* scan.h5: transmissions that are good and such with one bad value; angles that fit and that do
 * not. cut.h5: its first half. */
static void write_scans(void)
{
    double degrees[VIEWS], radians[VIEWS], holed[VIEWS];
    char path[400], bytes[1 << 16];
    ts_scan_file_begin();
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(file >= 0);
    for (int v = 0; v < VIEWS; v++) {
        degrees[v] = holed[v] = 180.0 * v / VIEWS;
        radians[v] = M_PI * v / VIEWS;
    }
    holed[5] = NAN;
    write_frames(file, "good", 0.5F, false);
    write_frames(file, "zero", 0, false);
    write_frames(file, "negative", -0.25F, false);
    write_frames(file, "nan", NAN, false);
    write_frames(file, "infinite", INFINITY, false);
    write_frames(file, "dark", -0.25F, true);
    write_frames(file, "empty", NAN, true);
    ts_scan_file_numbers(file, "degrees", VIEWS, degrees, "degree");
    ts_scan_file_numbers(file, "radians", VIEWS, radians, "degree");
    ts_scan_file_numbers(file, "few", VIEWS - 1, degrees, "degree");
    ts_scan_file_numbers(file, "holed", VIEWS, holed, "degree");
    H5Fclose(file);
    FILE *whole = fopen(ts_scan_file.path, "rb");
    const size_t n = fread(bytes, 1, sizeof bytes, whole);
    fclose(whole);
    cr_assert_lt(n, sizeof bytes);
    snprintf(path, sizeof path, "%s/cut.h5", ts_scan_file.folder);
    FILE *cut = fopen(path, "wb");
    cr_assert(fwrite(bytes, 1, n / 2, cut) == n / 2 && fclose(cut) == 0);
}

TestSuite(bad_input, .init = write_scans, .fini = ts_scan_file_end);

struct wrong {
    const char *frames, *angles; /* of scan.h5; NULL: cut.h5 */
    const char *stages;
    enum ts_status status;
    const char *code, *words;
};

/* Found where values are looked at. */
static const struct wrong in_the_run[] = {
    {"zero", "angles: degrees", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "transmission-zero",
     "1 transmission is 0"},
    {"negative", "angles: degrees", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT,
     "transmission-negative", "1 transmission is negative"},
    {"nan", "angles: degrees", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "transmission-nan",
     "1 transmission is NaN"},
    {"infinite", "angles: degrees", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT,
     "transmission-infinite", "1 transmission is infinite"},
    {"dark", "angles: degrees", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "transmission-negative",
     "1224 transmissions are negative"},
    {"empty", "angles: degrees", "  - minus_log: {nonfinite: nan}\n  - fbp:\n", TS_BAD_INPUT,
     "not-finite", "408 of 408 values of slice 0 are NaN"},
    {"empty", "angles: degrees", "  - ring:\n", TS_BAD_INPUT, "not-finite",
     "408 of 408 values of slice 0 are NaN"},
    {"nan", "angles: degrees", "  - minus_log: {nonfinite: nan}\n  - fbp:\n", TS_BAD_INPUT,
     "not-finite", "NaN or infinite"},
    {"nan", "angles: degrees", "  - minus_log: {nonfinite: nan}\n  - backproject:\n", TS_BAD_INPUT,
     "not-finite", "NaN or infinite"},
    {"nan", "angles: degrees", "  - center: {slice: 0}\n", TS_BAD_INPUT, "center-nonfinite", "NaN"},
};

/* Found before anything runs. */
static const struct wrong in_the_plan[] = {
    {"good", "angles: few", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "angle-count",
     "23 angles, expected 24"},
    {"good", "angles: radians", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "angle-unit",
     "as radians would"},
    {"good", "angles: holed", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "angle-not-finite",
     "view 5"},
    {"good", "theta_start: 0, theta_stop: 3.141592653589793", "  - minus_log:\n  - fbp:\n",
     TS_BAD_CHAIN, "angle-unit", "24 views from 0 to 3.14159 degrees are what half a turn"},
    {"good", "theta_start: 0, theta_stop: 3.141592653589793, angle_unit: degree",
     "  - minus_log:\n  - fbp:\n", TS_BAD_CHAIN, "angles-in-radians", "in radians"},
    {"good", "angles: none", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "angles-missing",
     "there is no none"},
    {"good", "angles: degrees", "  - center: {center: 17}\n", TS_BAD_CHAIN, "center-outside",
     "17 is not on the detector, which has pixels 0 to 16"},
    {"good", "angles: degrees", "  - minus_log:\n  - fbp: {center: -1}\n", TS_BAD_CHAIN,
     "center-outside", "-1 is outside the detector, [0, 16]"},
    {"good", "angles: degrees", "  - minus_log:\n  - minus_log:\n", TS_BAD_CHAIN, "stage-quantity",
     "line_integral"},
    {NULL, "angles: degrees", "  - minus_log:\n  - fbp:\n", TS_BAD_INPUT, "hdf5-unreadable",
     "cut.h5"},
};

static void chain_of(const struct wrong *wrong, char *text, size_t size)
{
    snprintf(text, size,
             "tomostage: 1\ninput: {hdf5: %s, path: %s, axes: [view, z, detector], %s, quantity: "
             "transmission}\n"
             "stages:\n%soutput: {hdf5: out.h5}\n",
             wrong->frames ? "scan.h5" : "cut.h5", wrong->frames ? wrong->frames : "good",
             wrong->angles, wrong->stages);
}

TEST_ON_BOTH(bad_input, ends_the_run_with_nothing_written)
{
    char text[1024];
    for (size_t i = 0; i < sizeof in_the_run / sizeof *in_the_run; i++) {
        chain_of(&in_the_run[i], text, sizeof text);
        ts_test_chain_refused(text, ts_scan_file.folder, in_the_run[i].status, in_the_run[i].code);
    }
}

/* Runs minus_log, with these parameters, over the named frames in a chain of this version. Returns
 * the status, and the codes of all records, each after a space. */
static enum ts_status run_version(int version, const char *frames, const char *parameters,
                                  char *codes, size_t size)
{
    char text[1024];
    size_t used = 0;
    snprintf(
        text, sizeof text,
        "tomostage: %d\ninput: {hdf5: scan.h5, path: %s, axes: [view, z, detector], angles: "
        "degrees, quantity: transmission}\nstages: [{minus_log: {%s}}]\noutput: {hdf5: out.h5}\n",
        version, frames, parameters);
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_test_chain(text, ts_scan_file.folder, diag);
    codes[0] = '\0';
    for (size_t i = 0; i < ts_diag_count(diag) && used < size; i++)
        used += (size_t)snprintf(codes + used, size - used, " %s", ts_diag_get(diag, i)->code);
    ts_diag_destroy(diag);
    return status;
}

/* Version 1 of the chain ends the run where version 2 floors, and tells so once. */
TEST_ON_BOTH(bad_input, version_of_the_chain_decides_what_zero_does)
{
    static const struct {
        int version;
        const char *frames, *parameters;
        enum ts_status status;
        const char *codes;
    } cases[] = {
        {1, "zero", "", TS_BAD_INPUT, " version-defaults transmission-zero"},
        {1, "good", "", TS_OK, " version-defaults"},
        {1, "zero", "nonpositive: floor", TS_OK, " transmission-floored"},
        {1, "good", "nonpositive: error", TS_OK, ""},
        {2, "zero", "", TS_OK, " transmission-floored"},
        {2, "good", "", TS_OK, ""},
        {2, "dark", "", TS_BAD_INPUT, " nothing-left"},
        {2, "zero", "nonpositive: error", TS_BAD_INPUT, " transmission-zero"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char codes[512];
        const enum ts_status status = run_version(cases[i].version, cases[i].frames,
                                                  cases[i].parameters, codes, sizeof codes);
        cr_expect_eq(status, cases[i].status, "case %zu: %d", i, status);
        cr_expect_str_eq(codes, cases[i].codes, "case %zu", i);
    }
}

Test(bad_input, ends_the_plan_with_nothing_written)
{
    char text[1024];
    for (size_t i = 0; i < sizeof in_the_plan / sizeof *in_the_plan; i++) {
        chain_of(&in_the_plan[i], text, sizeof text);
        ts_test_chain_refused(text, ts_scan_file.folder, in_the_plan[i].status,
                              in_the_plan[i].code);
    }
}

static void refused_by_program(const struct wrong *wrong, struct program_outcome *outcome)
{
    char text[1024], path[400], before[1024], after[1024];
    chain_of(wrong, text, sizeof text);
    snprintf(path, sizeof path, "%s/chain.yaml", ts_scan_file.folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    ts_program_folder_list(ts_scan_file.folder, before, sizeof before);
    ts_program_run(ts_scan_file.folder,
                   (const char *const[]){"run", "chain.yaml", "--device", "cpu", NULL}, outcome);
    ts_program_folder_list(ts_scan_file.folder, after, sizeof after);
    cr_assert_eq(outcome->code, wrong->status, "%s: exit code %d\n%s", wrong->code, outcome->code,
                 outcome->err);
    cr_assert(strstr(outcome->err, wrong->words), "%s: '%s' is not in\n%s", wrong->code,
              wrong->words, outcome->err);
    cr_assert_str_eq(outcome->out, "");
    const char *error = strstr(outcome->err, "error: ");
    cr_assert(error && !strstr(error + 1, "error: "), "%s: more than one message\n%s", wrong->code,
              outcome->err);
    cr_assert_str_eq(after, before, "%s: something was written", wrong->code);
}

Test(bad_input, has_its_message_and_exit_code_in_the_program)
{
    struct program_outcome *outcome = malloc(sizeof *outcome);
    for (size_t i = 0; i < sizeof in_the_run / sizeof *in_the_run; i++)
        refused_by_program(&in_the_run[i], outcome);
    for (size_t i = 0; i < sizeof in_the_plan / sizeof *in_the_plan; i++)
        refused_by_program(&in_the_plan[i], outcome);
    free(outcome);
}
