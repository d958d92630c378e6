/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan warns of masks that cannot be held against the image by their places, and not of those
 * that need not be.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/mask_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

static struct mask_opened opened;

/* Writes a volume of the fixtures' shape without a geometry, whose voxels all have this label. */
static void write_labels(const char *path, int label)
{
    char bytes[512] = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 5 7 11\nencoding: raw\n\n";
    const size_t head = strlen(bytes);
    memset(bytes + head, label, FIXTURE_COLUMNS * FIXTURE_ROWS * FIXTURE_SLICES);
    ts_volume_write(path, bytes, head + FIXTURE_COLUMNS * FIXTURE_ROWS * FIXTURE_SLICES, false);
}

static void begin(void)
{
    ts_mask_begin(&opened, "mask.nrrd");
    write_labels(opened.path, 1);
}

static void end(void)
{
    ts_mask_end(&opened);
}

TestSuite(grids, .init = begin, .fini = end);

/* Runs a chain of one stage, and returns how many warnings of the code it gives. */
static int warnings(const char *inputs, const char *stage, const char *code)
{
    char text[512];
    int n = 0;
    struct ts_diag *diag = ts_diag_create();
    snprintf(text, sizeof text, "tomostage: 2\n%s\nstages:\n  - %s\noutput: {hdf5: o.h5}\n", inputs,
             stage);
    cr_assert_eq(ts_test_chain(text, opened.folder, diag), TS_OK, "%s", ts_test_errors(diag));
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        n += !strcmp(ts_diag_get(diag, i)->code, code);
    ts_diag_destroy(diag);
    return n;
}

Test(grids, a_mask_without_a_geometry_is_warned_of_once)
{
    cr_assert_eq(warnings("input: {dicom: study}\ninputs: {m: {nrrd: mask.nrrd}}",
                          "statistics: {mask: m}", "grid-unknown"),
                 1);
    cr_assert_eq(warnings("input: {nrrd: mask.nrrd}\ninputs: {m: {dicom: study}}",
                          "statistics: {mask: m}", "grid-unknown"),
                 1);
    cr_assert_eq(warnings("input: {dicom: study}\ninputs: {m: {mask: mask.nrrd}}",
                          "statistics: {mask: m}", "grid-unknown"),
                 1);
    cr_assert_eq(warnings("input: {nrrd: mask.nrrd}\ninputs: {m: {nrrd: mask.nrrd}}",
                          "statistics: {mask: m}", "grid-unknown"),
                 0);
    cr_assert_eq(warnings("input: {dicom: study}\ninputs: {m: {dicom: study}}",
                          "statistics: {mask: m}", "grid-unknown"),
                 0);
}

Test(grids, a_mask_without_a_label_is_warned_of)
{
    char path[300];
    snprintf(path, sizeof path, "%s/empty.nrrd", opened.folder);
    write_labels(path, 0);
    const char *stage = "statistics: {mask: m}";
    cr_expect_eq(
        warnings("input: {dicom: study}\ninputs: {m: {mask: empty.nrrd}}", stage, "mask-nowhere"),
        1);
    cr_expect_eq(
        warnings("input: {dicom: study}\ninputs: {m: {mask: mask.nrrd}}", stage, "mask-nowhere"),
        0);
}

static void set_spacing(struct dicom_fixture *f, int z, void *user)
{
    (void)z;
    ts_fixture_text(f, 0x00280030, "DS", user);
}

Test(grids, pixels_that_no_scanner_makes_are_warned_of)
{
    static const struct {
        const char *spacing;
        int n;
    } rows[] = {
        {"80\\80", 1}, {"0.7\\6500", 1}, {"2000\\2000", 1}, {"9\\9", 0}, {"0.002\\0.002", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[300], input[64];
        snprintf(path, sizeof path, "%s/s%zu", opened.folder, i);
        snprintf(input, sizeof input, "input: {dicom: s%zu}", i);
        cr_assert_eq(mkdir(path, 0700), 0);
        ts_fixture_series(path, FIXTURE_SLICES, set_spacing, (void *)(uintptr_t)rows[i].spacing);
        cr_expect_eq(warnings(input, "statistics: {}", "pixel-size-unusual"), rows[i].n, "%s",
                     rows[i].spacing);
    }
}

static void move_frame(struct dicom_fixture *f, int z, void *user)
{
    (void)z, (void)user;
    ts_fixture_text(f, 0x00200052, "UI", "1.2.826.0.1.3680043.10.1.99");
}

Test(grids, images_of_two_frames_of_reference_are_warned_of)
{
    char path[300];
    snprintf(path, sizeof path, "%s/moved", opened.folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    ts_fixture_series(path, FIXTURE_SLICES, move_frame, NULL);
    static const char *const stages[] = {"statistics: {mask: o}", "resample: {like: o}"};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(warnings("input: {dicom: study}\ninputs: {o: {dicom: moved}}", stages[i],
                              "frames-differ"),
                     1, "%s", stages[i]);
        cr_expect_eq(warnings("input: {dicom: moved}\ninputs: {o: {like: input}}", stages[i],
                              "frames-differ"),
                     0, "%s", stages[i]);
    }
}

Test(grids, an_input_goes_with_one_that_there_is)
{
    static const char *const wrong[] = {"on: nobody", "on: m", "on: other"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {dicom: study}\ninputs: {m: {mask: mask.nrrd, %s}, other: "
                 "{mask: mask.nrrd}}\n"
                 "stages:\n  - statistics: {mask: m}\n  - histogram: {labels: other}\noutput: "
                 "{hdf5: o.h5}\n",
                 wrong[i]);
        ts_test_chain_refused(text, opened.folder, TS_BAD_CHAIN, "source-on");
    }
}
