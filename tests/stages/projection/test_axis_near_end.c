/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp and fourier warn of a rotation axis near an end of the detector.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/rebin.h"
#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/fourier.h"
#include "stages/scan/stitch.h"
#include "tests/support/scan_check.h"
#include "tests/support/support.h"

TestSuite(axis_near_end);

Test(axis_near_end, is_warned_of)
{
    static const struct {
        const struct stage *stage;
        struct scan_case scan;
        const char *words, *hint; /* NULL: there is no warning */
    } cases[] = {
        {&fbp_stage,
         {"", 1, 40, 31, .arc = 360, .center = -10},
         "at detector pixel 5 of 0 to 30",
         "stitch"},
        {&fbp_stage,
         {"", 1, 40, 31, .arc = 360, .center = 10},
         "circle of radius 2.5 mm about it",
         "sirt"},
        {&fourier_stage,
         {"", 1, 40, 31, .center = -3.1},
         "at detector pixel 11.9 of 0 to 30",
         "stitch"},
        {&fourier_stage, {"", 1, 40, 31, .center = -2.9}, NULL, NULL},
        {&fbp_stage, {"", 1, 40, 31, .center = 2.9}, NULL, NULL},
        {&fbp_stage, {"center=3", 1, 40, 31}, "at detector pixel 3 of 0 to 30", "circle"},
        {&fbp_stage,
         {"", 1, 40, 31, .beam = SCAN_FLAT, .center = 10},
         "radius 2.49513 mm",
         "rebin"},
        {&fbp_stage, {"", 1, 40, 31, .beam = SCAN_ARC, .center = -10}, "radius 2.49837 mm", "sirt"},
        {&fbp_stage, {"", 1, 40, 31, .beam = SCAN_ARC}, NULL, NULL},
        {&fbp_stage, {"", 1, 40, 1}, NULL, NULL},
        {&backproject_stage, {"", 1, 40, 31, .center = -10}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_image in = ts_test_scan(&cases[i].scan, 5);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, cases[i].stage, cases[i].scan.assignments, &in, NULL, 0, 1),
                     TS_OK);
        const struct ts_diag_record *record = ts_test_record(run.diag, "axis-near-end");
        cr_assert_eq(record != NULL, cases[i].words != NULL, "case %zu", i);
        if (record) {
            cr_assert_eq(record->severity, TS_WARNING);
            cr_assert(strstr(record->message, cases[i].words), "%s", record->message);
            cr_assert(strstr(record->hint, cases[i].hint), "%s", record->hint);
        }
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(axis_near_end, is_not_after_stitch)
{
    for (int center = -15; center <= 15; center += 3) {
        const struct scan_case which = {"", 1, 40, 31, .arc = 360, .center = center};
        struct ts_image in = ts_test_scan(&which, 5),
                        joined = ts_test_output(&stitch_stage, "", &in);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &fbp_stage, "", &joined, NULL, 0, 1), TS_OK);
        cr_assert_eq(ts_diag_count(run.diag), 0);
        ts_test_run_clear(&run);
        free(joined.data);
        free(in.data);
    }
}

Test(axis_near_end, is_not_after_rebin)
{
    for (int center = -15; center <= 15; center += 3) {
        const struct scan_case which = {"", 1, 40, 31, .beam = SCAN_FLAT, .center = center};
        struct ts_image in = ts_test_scan(&which, 5),
                        rebinned = ts_test_output(&rebin_stage, "", &in);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &fbp_stage, "", &rebinned, NULL, 0, 1), TS_OK);
        cr_assert_eq(ts_diag_count(run.diag), 0);
        ts_test_run_clear(&run);
        free(rebinned.data);
        free(in.data);
    }
}
