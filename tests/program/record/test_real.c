/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains run on public images, their inputs are recognized, and their results come out again: for a
 * CT, an MR and a PET of one patient, a tooth with flats and darks, and a sinogram of neutrons in
 * TIFF.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/program/record/compare_program.h"
#include "tests/support/support.h"

TestSuite(compare_real, .init = ts_compare_program_begin_empty, .fini = ts_compare_program_end);

/* Runs the chain on an input of the public images, all commands on its result, and compares it with
 * its export. */
static void prove(const char *input, const char *chain)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), input);
    ts_compare_program_run(ARGUMENTS("run", chain, "-i", path, "-o", "r.h5", "--force"));
    ts_compare_program_expect(ARGUMENTS("verify", "r.h5", "--inputs", path), 0,
                              ARGUMENTS("slices are those that were used"));
    ts_compare_program_expect(ARGUMENTS("rerun", "r.h5", "-i", path), 0, ARGUMENTS("\nthe same: "));
    ts_compare_program_run(ARGUMENTS("export", "r.h5", "-o", "r.nii", "--force"));
    ts_compare_program_expect(ARGUMENTS("diff", "r.h5", "r.nii"), 0, ARGUMENTS("image: equal\n"));
}

Test(compare_real, ct_mr_and_pet)
{
    SKIP_WITHOUT_DATA("compare_real/ct_mr_and_pet");
    prove("ct/ibsi_sts001/dicom/CT", "box radius=1 | save name=smooth | statistics | equalize");
    prove("ct/ibsi_sts001/dicom/MR_T1", "median radius=1");
    prove("ct/ibsi_sts001/dicom/PET", "gaussian sigma=1");
    prove("mr/ge_epi_4d_interleaved/dicom", "box radius=1");
}

Test(compare_real, tooth_and_neutrons)
{
    SKIP_WITHOUT_DATA("compare_real/tooth_and_neutrons");
    static const char tooth[] = "tomostage: 2\ninput: {exchange: x, pixel_size: 0.001}\ninputs:\n  "
                                "flats: {like: input, frames: flats}\n"
                                "  darks: {like: input, frames: darks}\nstages:\n  - flat_field: "
                                "{flats: flats, darks: darks}\n  - minus_log:\n"
                                "  - center:\n  - fbp:\n";
    ts_compare_program_write("tooth.yaml", tooth);
    prove("projections/tomopy_tooth/tooth.h5", "tooth.yaml");
    prove("projections/sarepy_neutron360/sinogram_360_neutron_image.tif",
          "tiff x pages=sinograms pixel_size=0.1 quantity=line_integral angle_start=0 "
          "angle_stop=360 endpoint=true | center | fbp");
}

/* The NIfTI files that another program made of these series hold the same values at the same
 * places. */
Test(compare_real, series_and_their_twins_in_nifti)
{
    SKIP_WITHOUT_DATA("compare_real/series_and_their_twins_in_nifti");
    static const char *const pairs[][3] = {
        {"CT", "CT_image", "0"}, {"MR_T1", "MR_T1_image", "0"}, {"PET", "PET_image", "1e-5"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char series[1024], twin[1024];
        snprintf(series, sizeof series, "%s/ct/ibsi_sts001/dicom/%s", ts_test_data(), pairs[i][0]);
        snprintf(twin, sizeof twin, "%s/ct/ibsi_sts001/ref_nifti/%s.nii.gz", ts_test_data(),
                 pairs[i][1]);
        ts_compare_program_run(ARGUMENTS("diff", series, twin, "--tolerance", pairs[i][2]));
    }
}
