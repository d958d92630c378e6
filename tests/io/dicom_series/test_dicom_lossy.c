/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of which some images were compressed with loss: the warning, and what the result records.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_source.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/output_fixture.h"
#include "tests/support/support.h"

struct loss {
    int n_lossy; /* the first slices */
    const char *ratio, *method;
    uint16_t padding; /* 0: none is stated */
};

static void edit_loss(struct dicom_fixture *fixture, int z, void *user)
{
    const struct loss *loss = user;
    ts_fixture_text(fixture, 0x00282110, "CS", z < loss->n_lossy ? "01" : "00");
    ts_fixture_text(fixture, 0x00282112, "DS", loss->ratio);
    ts_fixture_text(fixture, 0x00282114, "CS", loss->method);
    if (loss->padding)
        ts_fixture_us(fixture, 0x00280120, loss->padding);
}

static const char *attribute(const struct source *source, const char *name)
{
    for (size_t i = 0; i < source->n_attributes; i++)
        if (strcmp(source->attributes[i].name, name) == 0)
            return source->attributes[i].value;
    return "";
}

static void check(struct loss loss, const char *warning, const char *ratio, const char *method)
{
    char folder[256];
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, 4, edit_loss, &loss);
    cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), *warning ? 1 : 0);
    if (*warning)
        ts_test_expect_warning(diag, "dicom-series", warning);
    cr_assert_str_eq(attribute(source, "lossy_image_compression"), *warning ? "01" : "");
    cr_assert_str_eq(attribute(source, "lossy_image_compression_ratio"), ratio);
    cr_assert_str_eq(attribute(source, "lossy_image_compression_method"), method);
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(dicom_lossy, loss_is_said_once_and_recorded)
{
    check((struct loss){0, "", ""}, "", "", "");
    check((struct loss){4, "10.5", "ISO_10918_1"},
          "4 of 4 images were compressed with loss (method ISO_10918_1, ratio 10.5): values differ",
          "10.5", "ISO_10918_1");
    check((struct loss){1, "", ""},
          "1 of 4 images were compressed with loss (method unknown, ratio unknown)", "", "");
    check((struct loss){2, "3\\4", "ISO_15444_1\\ISO_10918_1"},
          "method ISO_15444_1\\ISO_10918_1, ratio 3\\4", "3\\4", "ISO_15444_1\\ISO_10918_1");
}

/* Loss changes the values of padding too, which marks no pixel then. */
Test(dicom_lossy, padding_may_be_lost)
{
    check((struct loss){4, "10.5", "ISO_10918_1", 7},
          "values differ from those that were measured, and padding that", "10.5", "ISO_10918_1");
    check((struct loss){0, "", "", 7}, "", "", "");
}

/* A text that is no method and no ratio may be a name. */
Test(dicom_lossy, other_texts_stay_out_of_the_result)
{
    check((struct loss){4, "Nobody", "NOBODY"}, "method unrecognized, ratio unrecognized",
          "unrecognized", "unrecognized");
    check((struct loss){4, "19610314", "ISO_10918_1"}, "ratio unrecognized", "unrecognized",
          "ISO_10918_1");
    check((struct loss){4, "3\\0.5", "ISO_10918_1"}, "ratio unrecognized", "unrecognized",
          "ISO_10918_1");
}

/* Frames that say it themselves, in files whose header says nothing of it. */
Test(dicom_lossy, a_frame_says_it_too)
{
    SKIP_WITHOUT_DATA("dicom_lossy/a_frame_says_it_too");
    static const struct {
        const char *file;
        bool lossy;
    } files[] = {{"JPEGProcess1TransferSyntax_1.2.840.10008.1.2.4.50", true},
                 {"JPEGProcess2_4TransferSyntax_1.2.840.10008.1.2.4.51", true},
                 {"JPEGProcess14SV1TransferSyntax_1.2.840.10008.1.2.4.70", false},
                 {"JPEGLSLossyTransferSyntax_1.2.840.10008.1.2.4.81", true},
                 {"JPEGLSLosslessTransferSyntax_1.2.840.10008.1.2.4.80", false},
                 {"JPEG2000LosslessOnlyTransferSyntax_1.2.840.10008.1.2.4.90", false}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[1024];
        const char *code;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        snprintf(path, sizeof path, "%s/syntax/ct_all_syntaxes/CTImage.dcm_%s.dcm", ts_test_data(),
                 files[i].file);
        cr_assert(ts_test_open_file(path, NULL, &source, &code, diag), "%s", code);
        const struct dicom_source *dicom = (const struct dicom_source *)source;
        cr_expect_eq(dicom->frames[0].image->file->lossy, files[i].lossy, "%s", files[i].file);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Makes JPEG-LS of 10 frames near-lossless, of which the header says nothing, and the last frame
 * alone has a loss. */
static void write_late_loss(const char *path)
{
    static const unsigned char scan[] = {
        0xFF, 0xDA, 0, 8, 1, 1, 0, 0}; /* the last byte is NEAR (ITU-T T.87 C.2.3) */
    char from[1024];
    size_t n, at;
    snprintf(from, sizeof from, "%s/syntax/pydicom_data/emri_small_jpeg_ls_lossless.dcm",
             ts_test_data());
    unsigned char *bytes = ts_test_read_file(from, &n);
    for (at = 0; memcmp(bytes + at, "1.2.840.10008.1.2.4.80", 22) != 0; at++)
        cr_assert_lt(at + 22, n);
    bytes[at + 21] = '1';
    for (at = n - sizeof scan; memcmp(bytes + at, scan, sizeof scan) != 0; at--)
        cr_assert_gt(at, 0);
    bytes[at + sizeof scan - 1] = 1;
    ts_fixture_write_bytes(path, bytes, n);
    free(bytes);
}

Test(dicom_lossy, a_loss_that_only_a_later_frame_has_is_refused)
{
    SKIP_WITHOUT_DATA("dicom_lossy/a_loss_that_only_a_later_frame_has_is_refused");
    char folder[256], path[300];
    const char *code;
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    static unsigned char slice[64 * 64 * sizeof(float)];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/late.dcm", folder);
    write_late_loss(path);
    cr_assert(ts_test_open_file(path, NULL, &source, &code, diag), "%s", code);
    cr_assert_eq(source->n_slices, 10);
    cr_assert_leq(ts_slice_bytes(&source->image), sizeof slice);
    for (int64_t z = 0; z < 10; z++)
        cr_expect_eq(source->ops->read(source, z, 1, slice, diag), z < 9 ? TS_OK : TS_BAD_INPUT,
                     "%d", (int)z);
    ts_test_expect(diag, "dicom-loss-unsaid", "neither the header nor the first frame");
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
