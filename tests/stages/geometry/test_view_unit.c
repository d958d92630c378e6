/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames that are numbered are not taken for views at so many degrees, by any stage that needs angles.
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
    const struct stage *const stages[] = {&fbp_stage,  &fourier_stage, &backproject_stage, &sirt_stage,
                                          &cgls_stage, &stitch_stage,  &center_stage};
    struct ts_image in = numbered();
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        ts_test_refuses(stages[i], "", &in, NULL, "angles-missing", "have no angles");
    in.beam = (struct ts_beam){TS_BEAM_FAN_FLAT, 500, 900};
    ts_test_refuses(&fbp_stage, "", &in, NULL, "angles-missing", "have no angles");
    ts_test_refuses(&rebin_stage, "", &in, NULL, "angles-missing", "have no angles");
    free(in.data);
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
