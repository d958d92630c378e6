/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames that are numbered are not taken for views at so many degrees, by any stage that needs
 * angles.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "stages/projection/rebin.h"
#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/fourier.h"
#include "stages/reconstruction/iterate.h"
#include "stages/reconstruction/sirt.h"
#include "stages/scan/center.h"
#include "stages/scan/stitch.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(view_unit);

static struct ts_image numbered(void)
{
    struct ts_image in = ts_test_image(1, 40, 33, TS_F32, VALUES_RANDOM, 1);
    ts_test_sinogram(&in);
    in.axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW, .n = 40, .spacing = 1, .unit = ""};
    in.quantity = TS_LINE_INTEGRAL;
    in.unit = "1";
    return in;
}

Test(view_unit, numbers_of_frames_are_no_angles)
{
    const struct stage *const stages[] = {&fbp_stage,   &fourier_stage, &backproject_stage,
                                          &sirt_stage,  &cgls_stage,    &stitch_stage,
                                          &center_stage};
    struct ts_image in = numbered();
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        ts_test_refuses(stages[i], "", &in, NULL, "angles-missing", "have no angles");
    in.beam = (struct ts_beam){TS_BEAM_FAN_FLAT, 500, 900};
    ts_test_refuses(&fbp_stage, "", &in, NULL, "angles-missing", "have no angles");
    ts_test_refuses(&rebin_stage, "", &in, NULL, "angles-missing", "have no angles");
    free(in.data);
}

/* Stages that have no gaps: accept warn of many views in few directions, and the others refuse
 * them. */
Test(view_unit, few_directions_are_told_by_all_reconstructions)
{
    static const struct {
        const struct stage *stage;
        const char *assignments;
        bool refuses;
    } stages[] = {
        {&fbp_stage, "", true},         {&fourier_stage, "", true},
        {&backproject_stage, "", true}, {&backproject_stage, "model=linear weights=angles", true},
        {&sirt_stage, "", false},       {&cgls_stage, "", false}};
    static const struct {
        int64_t n;
        double step;
        bool told, refused; /* refused: by the stages that refuse */
    } scans[] = {{90, 60, true, true},          {90, 120, true, true},  {180, 10, true, true},
                 {90, 200, true, true},         {360, 5, true, false},  {180, 2, false, false},
                 {90, 2, false, false},         {12, 15, false, false}, {400, 0.9, false, false},
                 {90, 137.507764, false, false}};
    for (size_t i = 0; i < sizeof stages / sizeof *stages * (sizeof scans / sizeof *scans); i++) {
        const size_t s = i / (sizeof scans / sizeof *scans), k = i % (sizeof scans / sizeof *scans);
        struct ts_image in = ts_test_image(1, scans[k].n, 33, TS_F32, VALUES_RANDOM, 1);
        struct stage_run run;
        ts_test_sinogram(&in);
        in.axes[1].positions = NULL;
        in.axes[1].first = 1;
        in.axes[1].spacing = scans[k].step;
        const enum ts_status status =
            ts_test_run(&run, stages[s].stage, stages[s].assignments, &in, NULL, 0, 1);
        cr_expect_eq(status, scans[k].refused && stages[s].refuses ? TS_BAD_CHAIN : TS_OK,
                     "%s, scan %zu", stages[s].stage->name, k);
        cr_expect_eq(ts_test_record(run.diag, "views-repeated") != NULL, scans[k].told,
                     "%s, scan %zu", stages[s].stage->name, k);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* A part of the half turn is no repetition: how much of it is covered is told. */
Test(view_unit, a_part_of_the_half_turn_is_taken_by_iterations)
{
    const struct stage *const stages[] = {&sirt_stage, &cgls_stage, &backproject_stage};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        struct ts_image in = ts_test_image(1, 60, 33, TS_F32, VALUES_RANDOM, 1);
        struct stage_run run;
        ts_test_sinogram(&in);
        in.axes[1].positions = NULL;
        in.axes[1].spacing = 2;
        cr_assert_eq(ts_test_run(&run, stages[i], "", &in, NULL, 0, 1), TS_OK);
        cr_expect_eq(ts_diag_count(run.diag), 1, "%s", stages[i]->name);
        cr_expect_not_null(ts_test_record(run.diag, "angles-limited"), "%s", stages[i]->name);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* A center that is given needs no angles: flats may have one as well. */
Test(view_unit, a_given_center_needs_none)
{
    struct ts_image in = numbered();
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &center_stage, "center=11", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    free(in.data);
}
