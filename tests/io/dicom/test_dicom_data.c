/* SPDX-License-Identifier: Apache-2.0
 *
 * The dicom source on real images: one slice in every syntax, volumes against reference NIfTI
 * files, damaged streams.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_frames/dicom_source.h"
#include "tests/files/dicom_open.h"
#include "tests/files/nifti.h"
#include "tests/support/support.h"

enum { PATH_BYTES = 1024 };

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    cr_assert_eq(fread(text, 1, *length, file), *length);
    text[*length] = '\0';
    fclose(file);
    return text;
}

static char *data_path(char out[PATH_BYTES], const char *relative)
{
    snprintf(out, PATH_BYTES, "%s/%s", ts_test_data(), relative);
    return out;
}

/* A good header over runs that hold far more than the frame. */
Test(dicom_data, runs_over_the_frame_are_refused)
{
    SKIP_WITHOUT_DATA("dicom_data/runs_over_the_frame_are_refused");
    char path[PATH_BYTES];
    struct source *source;
    const char *code = "";
    struct ts_diag *diag = ts_diag_create();
    data_path(path, "corrupt/synthetic/64_rle_runs_overflow.dcm");
    cr_assert(ts_test_open_file(path, NULL, &source, &code, diag), "%s", code);
    source->ops->start(source, 1, 1, diag);
    void *data = malloc(ts_image_bytes(&source->image));
    cr_assert_eq(source->ops->read(source, 0, 1, data, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "pixel-data-damaged", "holds more than its");
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

/* One CT slice in every syntax that this build reads: the same values. */
Test(dicom_data, syntaxes_of_one_slice_agree)
{
    SKIP_WITHOUT_DATA("dicom_data/syntaxes_of_one_slice_agree");
    const char *const names[] = {
        "LittleEndianExplicitTransferSyntax_1.2.840.10008.1.2.1",
        "LittleEndianImplicitTransferSyntax_1.2.840.10008.1.2",
        "BigEndianExplicitTransferSyntax_1.2.840.10008.1.2.2",
        "DeflatedExplicitVRLittleEndianTransferSyntax_1.2.840.10008.1.2.1.99",
        "RLELosslessTransferSyntax_1.2.840.10008.1.2.5",
        "JPEGProcess14TransferSyntax_1.2.840.10008.1.2.4.57",
        "JPEGProcess14SV1TransferSyntax_1.2.840.10008.1.2.4.70",
        "JPEGLSLosslessTransferSyntax_1.2.840.10008.1.2.4.80",
        "JPEG2000LosslessOnlyTransferSyntax_1.2.840.10008.1.2.4.90"};
    char sha256[65] = "";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char relative[256], path[PATH_BYTES];
        const char *code;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        snprintf(relative, sizeof relative, "syntax/ct_all_syntaxes/CTImage.dcm_%s.dcm", names[i]);
        cr_assert(ts_test_open_file(data_path(path, relative), NULL, &source, &code, diag), "%s",
                  relative);
        free(ts_test_read_all(source, diag));
        if (i == 0)
            memcpy(sha256, source->slices[0].pixel_sha256, sizeof sha256);
        cr_assert_str_eq(source->slices[0].pixel_sha256, sha256, "%s", names[i]);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

static void check_volume(const char *folder, const char *reference, double relative)
{
    char path[PATH_BYTES];
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    struct nifti nifti = ts_nifti_read(data_path(path, reference));
    enum ts_status status =
        ts_test_open_dicom(data_path(path, folder), NULL, BURNED_IN_REFUSE, &source, diag);
    cr_assert_eq(status, TS_OK, "%s", ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
    void *data = ts_test_read_all(source, diag);
    double worst = 0;
    bool varies = false, within = true;
    for (int i = 0; i < 3; i++)
        cr_assert_eq(source->image.axes[2 - i].n, nifti.n[i]);
    for (size_t i = 0; i < ts_image_count(&source->image); i++) {
        double value;
        ts_load_f64(&value, (char *)data + i * ts_dtype_bytes(source->image.dtype),
                    source->image.dtype, 1);
        const double error = fabs(value - nifti.values[i]);
        within = within && error <= relative * fabs(nifti.values[i]);
        varies = varies || nifti.values[i] != nifti.values[0];
        worst = error <= worst ? worst : error; /* NaN stays */
    }
    fprintf(stderr, "dicom_data: %s as %s, largest difference %g\n", folder,
            ts_dtype_name(source->image.dtype), worst);
    cr_assert(varies);
    cr_assert(within, "%s: %g", folder, worst);
    free(data);
    free(nifti.values);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

/* Pixels * slope + intercept, stored as float32; the PET reference rounded its slopes to float32
 * first: the last bit. */
Test(dicom_data, volumes_equal_the_reference)
{
    SKIP_WITHOUT_DATA("dicom_data/volumes_equal_the_reference");
    check_volume("ct/ibsi_sts001/dicom/CT/image", "ct/ibsi_sts001/ref_nifti/CT_image.nii.gz", 0);
    check_volume("ct/ibsi_sts001/dicom/MR_T1/image", "ct/ibsi_sts001/ref_nifti/MR_T1_image.nii.gz",
                 0);
    check_volume("ct/ibsi_sts001/dicom/PET/image", "ct/ibsi_sts001/ref_nifti/PET_image.nii.gz",
                 ldexp(1, -23));
}

/* Mosaics are read here as the one image they are; tile k of 6 x 6 is slice k of the reference,
 * rows turned over. */
Test(dicom_data, twelve_bits_signed_and_dirty)
{
    SKIP_WITHOUT_DATA("dicom_data/twelve_bits_signed_and_dirty");
    const char *const names[3] = {"12bitUnsigned", "12bitUnsigned_0x0F0F", "12bitSigned_0x0F0F"};
    for (int i = 0; i < 3; i++) {
        char relative[256], path[PATH_BYTES];
        const char *code;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        snprintf(relative, sizeof relative, "mr/siemens_12bit_signbits/ref_dcm2niix/%d.nii", i + 2);
        struct nifti nifti = ts_nifti_read(data_path(path, relative));
        snprintf(relative, sizeof relative, "mr/siemens_12bit_signbits/dicom/%s.dcm", names[i]);
        cr_assert(
            ts_test_open_file(data_path(path, relative), "dicom-mosaic", &source, &code, diag),
            "%s", code);
        int16_t *data = ts_test_read_all(source, diag);
        cr_assert(nifti.n[0] == 64 && nifti.n[1] == 64 && nifti.n[2] == 35);
        for (int z = 0; z < 35; z++)
            for (int y = 0; y < 64; y++)
                for (int x = 0; x < 64; x++)
                    cr_assert_eq(data[(z / 6 * 64 + y) * 384 + z % 6 * 64 + x],
                                 nifti.values[(z * 64 + 63 - y) * 64 + x], "%s (%d, %d, %d)",
                                 names[i], z, y, x);
        free(data);
        free(nifti.values);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Bytes of the compressed stream of a real slice are changed: the workers must end as they may, the
 * parent must not. */
static void check_damage(const char *name, size_t n_cases, size_t *refused, size_t *failed)
{
    char relative[256], path[PATH_BYTES], copy[] = "/tmp/tomostage-damage-XXXXXX";
    size_t length;
    uint64_t seed = 23;
    snprintf(relative, sizeof relative, "syntax/ct_all_syntaxes/CTImage.dcm_%s.dcm", name);
    char *bytes = read_file(data_path(path, relative), &length);
    int fd = mkstemp(copy);
    cr_assert_geq(fd, 0);
    for (size_t i = 0; i < n_cases; i++) {
        const char *code;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        const size_t at = length / 2 + ts_random_next(&seed) % (length / 2 - 64);
        const size_t n = 1 + ts_random_next(&seed) % 32;
        char kept[32];
        memcpy(kept, bytes + at, n);
        for (size_t k = 0; k < n; k++)
            bytes[at + k] = (char)ts_random_next(&seed);
        cr_assert_eq(pwrite(fd, bytes, length, 0), (ssize_t)length);
        memcpy(bytes + at, kept, n);
        if (ts_test_open_file(copy, NULL, &source, &code, diag)) {
            void *data = malloc(ts_image_bytes(&source->image));
            source->ops->start(source, 1, 1, diag);
            enum ts_status status = source->ops->read(source, 0, 1, data, diag);
            cr_assert(status == TS_OK || status == TS_BAD_INPUT);
            *failed += status != TS_OK;
            free(data);
            source->ops->close(source);
        } else {
            ++*refused;
        }
        ts_diag_destroy(diag);
    }
    close(fd);
    unlink(copy);
    free(bytes);
}

Test(dicom_data, damaged_streams_are_contained, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_data/damaged_streams_are_contained");
    static const struct {
        const char *name;
        bool notices; /* JPEG and JPEG 2000 have no redundancy: almost every stream decodes to some
                         image */
    } streams[] = {{"JPEGProcess14SV1TransferSyntax_1.2.840.10008.1.2.4.70", true},
                   {"JPEGProcess14TransferSyntax_1.2.840.10008.1.2.4.57", true},
                   {"JPEGLSLosslessTransferSyntax_1.2.840.10008.1.2.4.80", true},
                   {"RLELosslessTransferSyntax_1.2.840.10008.1.2.5", true},
                   {"JPEGProcess1TransferSyntax_1.2.840.10008.1.2.4.50", false},
                   {"JPEG2000LosslessOnlyTransferSyntax_1.2.840.10008.1.2.4.90", false}};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        size_t refused = 0, failed = 0;
        check_damage(streams[i].name, 40, &refused, &failed);
        fprintf(stderr,
                "dicom_data: %s: of 40 damaged, %zu refused by the scan, %zu by the decoder\n",
                streams[i].name, refused, failed);
        cr_assert(failed > 0 || !streams[i].notices);
    }
    ts_test_no_children();
}

/* Two frames in one file: as they are, in eleven fragments without a table, and in two with one. */
Test(dicom_data, frames_in_fragments_agree)
{
    SKIP_WITHOUT_DATA("dicom_data/frames_in_fragments_agree");
    static const char *const names[] = {"explicit_little_endian",
                                        "fragmented_no_bot_jpeg_lossless.57",
                                        "fragmented_no_bot_jpeg_lossless.70",
                                        "fragmented_no_bot_jpeg_ls.80", "not_fragmented_bot_rle"};
    void *expected = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char relative[256], path[PATH_BYTES];
        const char *code;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        snprintf(relative, sizeof relative, "syntax/fragments_multiframe/CT0012.%s.dcm", names[i]);
        cr_assert(ts_test_open_file(data_path(path, relative), NULL, &source, &code, diag),
                  "%s: %s", names[i], code);
        void *data = ts_test_read_all(source, diag);
        cr_assert_eq(source->n_slices, 2);
        cr_assert(!expected || memcmp(data, expected, ts_image_bytes(&source->image)) == 0, "%s",
                  names[i]);
        if (expected)
            free(data);
        else
            expected = data;
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    free(expected);
}

/* A frame that ends in the middle, in a file that is whole otherwise: no decoder may fill in the
 * rest without a word. */
static void check_cut(const char *relative)
{
    char path[PATH_BYTES], copy[] = "/tmp/tomostage-cut-XXXXXX";
    size_t length;
    const char *code;
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    unsigned char *bytes = (unsigned char *)read_file(data_path(path, relative), &length);
    cr_assert(ts_test_open_file(path, NULL, &source, &code, diag), "%s: %s", relative, code);
    const struct dicom_stream *stream =
        &((struct dicom_source *)source)->frames[0].image->file->streams[0];
    const size_t at = (size_t)stream->offset, half = (size_t)stream->bytes / 4 * 2;
    source->ops->close(source);
    for (int i = 0; i < 4; i++)
        bytes[at + 4 + (size_t)i] = (unsigned char)(half >> 8 * i);
    memcpy(bytes + at + 8 + half, "\xFE\xFF\xDD\xE0\0\0\0", 8);
    const int fd = mkstemp(copy);
    cr_assert(fd >= 0 && write(fd, bytes, at + 8 + half + 8) == (ssize_t)(at + 8 + half + 8));
    close(fd);
    cr_assert(ts_test_open_file(copy, NULL, &source, &code, diag), "%s: %s", relative, code);
    void *data = malloc(ts_image_bytes(&source->image));
    source->ops->start(source, 1, 1, diag);
    cr_expect_eq(source->ops->read(source, 0, 1, data, diag), TS_BAD_INPUT, "%s", relative);
    cr_expect_str_eq(ts_diag_get(diag, ts_diag_count(diag) - 1)->code, "pixel-data-damaged", "%s",
                     relative);
    source->ops->close(source);
    unlink(copy);
    free(data);
    free(bytes);
    ts_diag_destroy(diag);
}

Test(dicom_data, a_frame_that_ends_early_is_noticed, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_data/a_frame_that_ends_early_is_noticed");
    static const char *const names[] = {"JPEGProcess14SV1TransferSyntax_1.2.840.10008.1.2.4.70",
                                        "JPEGProcess14TransferSyntax_1.2.840.10008.1.2.4.57",
                                        "JPEGLSLosslessTransferSyntax_1.2.840.10008.1.2.4.80",
                                        "JPEGLSLossyTransferSyntax_1.2.840.10008.1.2.4.81",
                                        "JPEGProcess1TransferSyntax_1.2.840.10008.1.2.4.50",
                                        "JPEGProcess2_4TransferSyntax_1.2.840.10008.1.2.4.51",
                                        "JPEGProcess6_8TransferSyntax_1.2.840.10008.1.2.4.53",
                                        "JPEGProcess10_12TransferSyntax_1.2.840.10008.1.2.4.55",
                                        "JPEG2000LosslessOnlyTransferSyntax_1.2.840.10008.1.2.4.90",
                                        "JPEG2000TransferSyntax_1.2.840.10008.1.2.4.91"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char relative[256];
        snprintf(relative, sizeof relative, "syntax/ct_all_syntaxes/CTImage.dcm_%s.dcm", names[i]);
        check_cut(relative);
    }
    check_cut("syntax/htj2k/CT1_JPH");
}
