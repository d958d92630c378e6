/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan warns of masks that cannot be held against the image by their places, and not of those that need not be.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/mask_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

static struct mask_opened opened;

/* Writes a volume of the fixtures' shape without a geometry. */
static void begin(void)
{
    char bytes[512] = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 5 7 11\nencoding: raw\n\n";
    const size_t head = strlen(bytes);
    ts_mask_begin(&opened, "mask.nrrd");
    memset(bytes + head, 1, FIXTURE_COLUMNS * FIXTURE_ROWS * FIXTURE_SLICES);
    ts_volume_write(opened.path, bytes, head + FIXTURE_COLUMNS * FIXTURE_ROWS * FIXTURE_SLICES, false);
}

static void end(void)
{
    ts_mask_end(&opened);
}

TestSuite(grids, .init = begin, .fini = end);

/* Runs the chain, and returns how many warnings of the code it gives. */
static int warnings(const char *inputs, const char *mask)
{
    char text[512];
    int n = 0;
    struct ts_diag *diag = ts_diag_create();
    snprintf(text, sizeof text, "tomostage: 2\n%s\nstages:\n  - statistics: {mask: %s}\noutput: {hdf5: o.h5}\n", inputs,
             mask);
    cr_assert_eq(ts_test_chain(text, opened.folder, diag), TS_OK, "%s", ts_test_errors(diag));
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        n += !strcmp(ts_diag_get(diag, i)->code, "grid-unknown");
    ts_diag_destroy(diag);
    return n;
}

Test(grids, a_mask_without_a_geometry_is_warned_of_once)
{
    cr_assert_eq(warnings("input: {dicom: study}\ninputs: {m: {nrrd: mask.nrrd}}", "m"), 1);
    cr_assert_eq(warnings("input: {nrrd: mask.nrrd}\ninputs: {m: {dicom: study}}", "m"), 1);
    cr_assert_eq(warnings("input: {dicom: study}\ninputs: {m: {mask: mask.nrrd}}", "m"), 1);
    cr_assert_eq(warnings("input: {nrrd: mask.nrrd}\ninputs: {m: {nrrd: mask.nrrd}}", "m"), 0);
    cr_assert_eq(warnings("input: {dicom: study}\ninputs: {m: {dicom: study}}", "m"), 0);
}

Test(grids, an_input_goes_with_one_that_there_is)
{
    static const char *const wrong[] = {"on: nobody", "on: m", "on: other"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {dicom: study}\ninputs: {m: {mask: mask.nrrd, %s}, other: {mask: mask.nrrd}}\n"
                 "stages:\n  - statistics: {mask: m}\n  - histogram: {labels: other}\noutput: {hdf5: o.h5}\n",
                 wrong[i]);
        ts_test_chain_refused(text, opened.folder, TS_BAD_CHAIN, "source-on");
    }
}
