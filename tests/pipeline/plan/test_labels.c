/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels are numbers of regions: what moves them takes the nearest, what mixes them is refused, and
 * a mask of 0 and 1 is mixed with a warning. Volumes of labels, one label, thresholds and results
 * that hold them are known as such.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/mask_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

enum { N = FIXTURE_COLUMNS * FIXTURE_ROWS * FIXTURE_SLICES };

static struct mask_opened opened;
static const char *output = "hdf5: o.h5";

/* Labels 0, 1, 3 and 7, each beside each. */
static void begin(void)
{
    static const unsigned char labels[] = {0, 1, 3, 7};
    char bytes[512] = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 5 7 11\nencoding: raw\n\n";
    const size_t head = strlen(bytes);
    uint64_t seed = 5;
    for (int i = 0; i < N; i++)
        bytes[head + (size_t)i] = (char)labels[ts_random_next(&seed) % 4];
    ts_mask_begin(&opened, "labels.nrrd");
    ts_volume_write(opened.path, bytes, head + N, false);
}

static void end(void)
{
    ts_mask_end(&opened);
}

TestSuite(labels, .init = begin, .fini = end);

/* Runs stages on an input of labels, and returns whether it gives this code; NULL: whether it runs
 * without a word on labels. */
static bool gives(const char *input, const char *stages, const char *code)
{
    char text[640];
    bool found = false;
    struct ts_diag *diag = ts_diag_create();
    snprintf(
        text, sizeof text,
        "tomostage: 2\ninput: {dicom: study}\ninputs: {m: {%s}}\nstages:\n  - statistics: {}\n%s"
        "output: {%s}\n",
        input, stages, output);
    const bool ran = ts_test_chain(text, opened.folder, diag) == TS_OK;
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const char *at = ts_diag_get(diag, i)->code;
        found |=
            code ? !strcmp(at, code) : !strcmp(at, "labels-mixed") || !strcmp(at, "mask-mixed");
        if (code && !strcmp(at, code))
            cr_expect_neq(*ts_diag_get(diag, i)->hint, '\0');
    }
    if (!ran && (!code || !found))
        cr_log_error("%s: %s", stages, ts_test_errors(diag));
    ts_diag_destroy(diag);
    return code ? found && ran == !strcmp(code, "mask-mixed") : ran && !found;
}

static const char all[] = "mask: labels.nrrd", one[] = "mask: labels.nrrd, segment: 3";

Test(labels, what_moves_labels_takes_the_nearest)
{
    static const char *const quiet[] = {
        "  - resample: {input: m, spacing: [0.3, 0.2, 0.9]}\n",
        "  - resample: {input: m, shape: [3, 5, 17]}\n",
        "  - resample: {input: m, spacing: 0.4, interpolation: nearest}\n",
        "  - resample: {input: m, spacing: 0.4, interpolation: labels}\n",
        "  - resample: {input: m, shape: [3, 5], convention: nnunet}\n",
        "  - resample: {input: m, shape: [3, 5], convention: totalsegmentator}\n",
        "  - crop: {input: m, x: [1, 3]}\n  - reorient: {to: RAS}\n  - resample: {spacing: 0.4}\n",
        "  - circle: {input: m}\n  - resample: {spacing: 0.4}\n",
        "  - statistics: {input: m}\n  - histogram: {}\n  - bounds: {}\n"};
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        cr_expect(gives(all, quiet[i], NULL), "%s", quiet[i]);
        cr_expect(gives(one, quiet[i], NULL), "%s", quiet[i]);
    }
    cr_assert(gives(all, quiet[1], NULL));
    char path[320];
    snprintf(path, sizeof path, "%s/o.h5", opened.folder);
    size_t n;
    double *values = ts_test_read_hdf5_at(path, "/entry/data/data", &n);
    for (size_t i = 0; i < n; i++)
        cr_assert(values[i] == 0 || values[i] == 1 || values[i] == 3 || values[i] == 7);
    free(values);
}

static const char *const mixing[] = {
    "  - resample: {input: m, spacing: 0.4, interpolation: linear}\n",
    "  - resample: {input: m, shape: [3, 5], interpolation: cubic}\n",
    "  - resample: {input: m, shape: [3, 5], interpolation: bspline3}\n",
    "  - box: {input: m, radius: 1}\n",
    "  - gaussian: {input: m, sigma: 1}\n",
    "  - median: {input: m, radius: 1}\n",
    "  - convolve: {input: m, kernel: sharpen-4}\n",
    "  - bilateral: {input: m, sigma_color: 1}\n",
    "  - nlm: {input: m, sigma: 1}\n",
    "  - tv: {input: m, weight: 1}\n",
    "  - equalize: {input: m}\n",
    "  - clahe: {input: m}\n",
    "  - crop: {input: m, x: [1, 3]}\n  - box: {radius: 1}\n"};

Test(labels, what_mixes_labels_is_refused_and_a_mask_is_mixed_with_a_warning)
{
    for (size_t i = 0; i < sizeof mixing / sizeof *mixing; i++) {
        cr_expect(gives(all, mixing[i], "labels-mixed"), "%s", mixing[i]);
        cr_expect(gives(one, mixing[i], "mask-mixed"), "%s", mixing[i]);
    }
}

/* The ways out that the hints name. */
Test(labels, thresholds_and_rescaled_labels_may_be_mixed)
{
    cr_expect(
        gives(all, "  - threshold: {input: m, above: 0}\n  - box: {radius: 1}\n", "mask-mixed"));
    cr_expect(gives(all, "  - rescale: {input: m, range: [0, 1]}\n  - box: {radius: 1}\n", NULL));
    cr_expect(
        gives(one, "  - rescale: {input: m, range: [0, 1]}\n  - gaussian: {sigma: 1}\n", NULL));
    cr_expect(gives(one, "  - window: {input: m, low: 0, high: 1}\n  - box: {radius: 1}\n", NULL));
    cr_expect(gives(one, "  - radon: {input: m, views: 9}\n", NULL));
}

static void rename_output(const char *name)
{
    char from[320], to[320];
    snprintf(from, sizeof from, "%s/o.h5", opened.folder);
    snprintf(to, sizeof to, "%s/%s", opened.folder, name);
    cr_assert_eq(rename(from, to), 0);
}

Test(labels, a_result_of_labels_holds_labels)
{
    cr_assert(gives(all, "  - save: {input: m}\n", NULL));
    rename_output("labels.h5");
    cr_expect(gives("result: labels.h5", mixing[0], "labels-mixed"));
    cr_expect(gives("result: labels.h5", mixing[2], "labels-mixed"));
    cr_assert(gives(all, "  - threshold: {input: m, above: 3}\n", NULL));
    rename_output("mask.h5");
    cr_expect(gives("result: mask.h5", mixing[2], "mask-mixed"));
    cr_expect(gives("result: mask.h5", "  - resample: {input: m, spacing: 0.4}\n", NULL));
    cr_assert(gives(all, "  - invert: {input: m}\n", NULL));
    rename_output("plain.h5");
    cr_expect(gives("result: plain.h5", mixing[2], NULL));
}

/* What a volume of integers does not say is not guessed. */
Test(labels, a_volume_that_does_not_say_so_holds_intensities)
{
    cr_expect(gives("nrrd: labels.nrrd", mixing[2], NULL));
}

/* Labels in NIfTI have the intent that says so; a mask and plain values have none. */
Test(labels, a_nifti_of_labels_holds_labels)
{
    static const struct {
        const char *input, *stage, *code;
    } rows[] = {{all, "  - save: {input: m}\n", "labels-mixed"},
                {all, "  - crop: {input: m, x: [1, 4]}\n", "labels-mixed"},
                {one, "  - save: {input: m}\n", NULL},
                {all, "  - invert: {input: m}\n", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        output = "nifti: o.nii";
        cr_assert(gives(rows[i].input, rows[i].stage, NULL), "row %zu", i);
        output = "hdf5: o.h5";
        cr_expect(gives("nifti: o.nii", mixing[2], rows[i].code), "row %zu", i);
        cr_expect(gives("nifti: o.nii", "  - resample: {input: m, spacing: 0.4}\n", NULL));
    }
}
