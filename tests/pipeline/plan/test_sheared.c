/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains over a series behind a tilted gantry: its exact step goes through stages and files, and
 * stages that look into neighboring slices refuse it.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/files/dicom_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/folders.h"

static char folder[256];

/* Slices 1.5 mm apart, each 0.25 mm beside the one before. */
static void tilt(struct dicom_fixture *f, int z, void *user)
{
    char text[96];
    (void)user;
    snprintf(text, sizeof text, "0\\%.2f\\%.2f", -0.25 * z, 10 + 1.5 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
}

static void begin(void)
{
    char study[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(study, sizeof study, "%s/study", folder);
    cr_assert_eq(mkdir(study, 0700), 0);
    ts_fixture_series(study, FIXTURE_SLICES, tilt, NULL);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(sheared, .init = begin, .fini = end);

static void expect_step(const char *name)
{
    char path[300];
    double step[3];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
                group = H5Gopen2(file, "/entry/data", H5P_DEFAULT),
                attribute = H5Aopen(group, "step_z_mm", H5P_DEFAULT);
    cr_assert(H5Aread(attribute, H5T_NATIVE_DOUBLE, step) >= 0);
    cr_expect(step[0] == 0 && step[1] == -0.25 && step[2] == 1.5, "%s: %g %g %g", name, step[0],
              step[1], step[2]);
    H5Aclose(attribute);
    H5Gclose(group);
    H5Fclose(file);
}

Test(sheared, the_exact_step_goes_through_stages_and_files)
{
    ts_test_chain_runs("tomostage: 2\ninput: {dicom: study}\nstages:\n  - box: {radius: "
                       "1}\noutput: {hdf5: a.h5}\n",
                       folder);
    expect_step("a.h5");
    ts_test_chain_runs(
        "tomostage: 2\ninput: {result: a.h5}\nstages:\n  - statistics:\noutput: {hdf5: b.h5}\n",
        folder);
    expect_step("b.h5");
}

Test(sheared, stages_that_look_into_neighboring_slices_refuse_it)
{
    static const char *const stages[] = {"box: {radius: 1, dimensions: 3d}",
                                         "median: {radius: 1, dimensions: 3d}",
                                         "gaussian: {sigma: 1, dimensions: 3d}"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {dicom: study}\nstages:\n  - %s\noutput: {hdf5: c.h5}\n",
                 stages[i]);
        ts_test_chain_refused(text, folder, TS_BAD_CHAIN, "stage-sheared");
    }
}

Test(sheared, version_1_refuses_the_series)
{
    ts_test_chain_refused("tomostage: 1\ninput: {dicom: study}\nstages:\n  - box: {radius: "
                          "1}\noutput: {hdf5: c.h5}\n",
                          folder, TS_BAD_INPUT, "gantry-tilt");
    ts_test_chain_refused("tomostage: 2\ninput: {dicom: study, tilt: refuse}\nstages:\n  - box: "
                          "{radius: 1}\noutput: {hdf5: c.h5}\n",
                          folder, TS_BAD_INPUT, "gantry-tilt");
    ts_test_chain_runs("tomostage: 1\ninput: {dicom: study, tilt: keep}\nstages:\n  - box: "
                       "{radius: 1}\noutput: {hdf5: d.h5}\n",
                       folder);
    expect_step("d.h5");
}

Test(sheared, behind_unshear_they_take_it)
{
    ts_test_chain_runs("tomostage: 2\ninput: {dicom: study}\nstages:\n  - unshear:\n  - box: "
                       "{radius: 1, dimensions: 3d}\n"
                       "output: {hdf5: e.h5}\n",
                       folder);
}
