/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of real series: frames of multi-frame files, tiles of mosaics, volumes of 4D series. Values and places are
 * compared with what dcm2niix made of the same files.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_open.h"
#include "tests/files/nifti.h"
#include "tests/support/support.h"

enum { PATH_BYTES = 1024 };

static char *data_path(char out[PATH_BYTES], const char *relative)
{
    snprintf(out, PATH_BYTES, "%s/%s", ts_test_data(), relative);
    return out;
}

/* Opens a series of the data folder. */
static struct source *open_series(const char *folder, const char *series, struct ts_diag *diag)
{
    char path[PATH_BYTES];
    struct source *source;
    const enum ts_status status = ts_test_open_dicom(data_path(path, folder), series, BURNED_IN_REFUSE, &source, diag);
    cr_assert_eq(status, TS_OK, "%s, series %s: %s", folder, series,
                 ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
    return source;
}

/* Compares all volumes of a series with the reference. `rescaled`: the reference has another scale than the rescale
 * slope of the header, the same for all its values. */
static void compare(const char *folder, const char *series, const char *reference, bool rescaled, double tolerance)
{
    char path[PATH_BYTES];
    struct ts_diag *diag = ts_diag_create();
    struct nifti nifti = ts_nifti_read(data_path(path, reference));
    struct source *source = open_series(folder, series, diag);
    const double factor = rescaled ? source->slices[0].slope / nifti.slope : 1;
    const size_t bytes = (size_t)source->n_slices * ts_slice_bytes(&source->image);
    unsigned char *data = malloc((size_t)source->n_volumes * bytes);
    cr_assert_eq(source->n_volumes, nifti.n[3], "%s: %lld volumes", folder, (long long)source->n_volumes);
    cr_assert_eq(source->ops->read(source, 0, source->n_volumes * source->n_slices, data, diag), TS_OK);
    for (int64_t v = 0; v < source->n_volumes; v++)
        ts_nifti_compare(&nifti, v, &source->image, data + (size_t)v * bytes, factor, tolerance, reference);
    free(data);
    free(nifti.values);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

Test(dicom_layouts, classic_and_enhanced_give_the_same_volumes)
{
    SKIP_WITHOUT_DATA("dicom_layouts/classic_and_enhanced_give_the_same_volumes");
    const char *const folders[] = {"mr/philips_classic_vs_enhanced_2001/dicom_classic",
                                   "mr/philips_classic_vs_enhanced_2001/dicom_enhanced"};
    for (int series = 1; series <= 4; series++) {
        char number[16];
        struct ts_diag *diag = ts_diag_create();
        struct source *sources[2];
        void *data[2];
        snprintf(number, sizeof number, "%d", series);
        for (int i = 0; i < 2; i++) {
            sources[i] = open_series(folders[i], number, diag);
            data[i] = ts_test_read_all(sources[i], diag);
        }
        const struct ts_image *classic = &sources[0]->image, *enhanced = &sources[1]->image;
        cr_assert_eq(ts_image_count(classic), (size_t)80 * 80 * 53);
        cr_expect_eq(memcmp(data[0], data[1], ts_image_bytes(classic)), 0, "series %d", series);
        for (int i = 0; i < 9; i++)
            cr_expect_float_eq(classic->direction[i], enhanced->direction[i], 1e-9);
        for (int i = 0; i < 3; i++) {
            cr_expect_eq(classic->axes[i].n, enhanced->axes[i].n);
            cr_expect_float_eq(classic->axes[i].spacing, enhanced->axes[i].spacing, 1e-9);
            cr_expect_float_eq(classic->origin_mm[i], enhanced->origin_mm[i], 1e-6);
        }
        for (int64_t z = 0; z < 53; z++)
            cr_expect_str_eq(sources[0]->slices[z].pixel_sha256, sources[1]->slices[z].pixel_sha256);
        for (int i = 0; i < 2; i++) {
            free(data[i]);
            sources[i]->ops->close(sources[i]);
        }
        ts_diag_destroy(diag);
    }
}

/* dcm2niix scales Philips' MR images by a private slope, which is the same for the whole volume, and the phase has the
 * header's intercept of -3142 there as -3141.78. */
Test(dicom_layouts, frames_lie_where_the_reference_has_them)
{
    SKIP_WITHOUT_DATA("dicom_layouts/frames_lie_where_the_reference_has_them");
    static const char *const names[] = {"e1", "e2", "e1_ph", "e2_ph"};
    for (int i = 0; i < 4; i++) {
        char number[16], reference[256];
        snprintf(number, sizeof number, "%d", i + 1);
        snprintf(reference, sizeof reference,
                 "mr/philips_classic_vs_enhanced_2001/ref_dcm2niix/2001_WIP_fcMRI_Field_Mapping_enh_%s.nii.gz",
                 names[i]);
        compare("mr/philips_classic_vs_enhanced_2001/dicom_enhanced", number, reference, true, i < 2 ? 1e-3 : 0.25);
    }
}
