/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of real series: frames of multi-frame files, tiles of mosaics, volumes of 4D series.
 * Values and places are compared with what dcm2niix made of the same files.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_series/dicom_geometry.h"
#include "tests/files/dicom_open.h"
#include "tests/files/nifti.h"
#include "tests/support/support.h"

enum { PATH_BYTES = 1024 };

static char *data_path(char out[PATH_BYTES], const char *relative)
{
    snprintf(out, PATH_BYTES, "%s/%s", ts_test_data(), relative);
    return out;
}

/* Opens a series with these parameters, of which an empty text stands for none; NULL where it is
 * refused. */
static struct source *open_scaled(const char *folder, const char *series, const char *split,
                                  const char *take, enum dicom_mr_scale scale, struct ts_diag *diag)
{
    char path[PATH_BYTES];
    const char *paths = data_path(path, folder);
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &paths};
    params.series = series;
    params.split = (struct ts_texts){*split != '\0', &split};
    params.take = (struct ts_texts){*take != '\0', &take};
    params.mr_scale = scale;
    return dicom_format.open(&set, &source, diag) == TS_OK ? source : NULL;
}

static struct source *open_with(const char *folder, const char *series, const char *split,
                                const char *take, struct ts_diag *diag)
{
    return open_scaled(folder, series, split, take, MR_SCALE_DISPLAY, diag);
}

static struct source *open_precisely(const char *folder, const char *series, struct ts_diag *diag)
{
    return open_scaled(folder, series, "", "", MR_SCALE_PRECISE, diag);
}

/* Opens a series of the data folder. */
static struct source *open_series(const char *folder, const char *series, struct ts_diag *diag)
{
    char path[PATH_BYTES];
    struct source *source;
    const enum ts_status status =
        ts_test_open_dicom(data_path(path, folder), series, BURNED_IN_REFUSE, &source, diag);
    cr_assert_eq(status, TS_OK, "%s, series %s: %s", folder, series,
                 ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
    return source;
}

/* Compares all volumes of a series with the reference. `rescaled`: the reference has another scale
 * than the rescale slope of the header, the same for all its values. */
static void compare(const char *folder, const char *series, const char *reference, bool rescaled,
                    double tolerance)
{
    char path[PATH_BYTES];
    struct ts_diag *diag = ts_diag_create();
    struct nifti nifti = ts_nifti_read(data_path(path, reference));
    struct source *source = open_series(folder, series, diag);
    const double factor = rescaled ? source->slices[0].slope / nifti.slope : 1;
    const size_t bytes = (size_t)source->n_slices * ts_slice_bytes(&source->image);
    unsigned char *data = malloc((size_t)source->n_volumes * bytes);
    cr_assert_eq(source->n_volumes, nifti.n[3], "%s: %lld volumes", folder,
                 (long long)source->n_volumes);
    cr_assert_eq(source->ops->read(source, 0, source->n_volumes * source->n_slices, data, diag),
                 TS_OK);
    for (int64_t v = 0; v < source->n_volumes; v++)
        ts_nifti_compare(&nifti, v, &source->image, data + (size_t)v * bytes, factor, tolerance,
                         reference);
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
            cr_expect_str_eq(sources[0]->slices[z].pixel_sha256,
                             sources[1]->slices[z].pixel_sha256);
        for (int i = 0; i < 2; i++) {
            free(data[i]);
            sources[i]->ops->close(sources[i]);
        }
        ts_diag_destroy(diag);
    }
}

/* dcm2niix gives Philips' images their precise values. The largest magnitude is 1.7e7, of which a
 * float holds 24 bits; of phases the reference states the slope, 1 / 651.7395, in 11 bits. */
Test(dicom_layouts, precise_values_are_those_of_the_reference)
{
    SKIP_WITHOUT_DATA("dicom_layouts/precise_values_are_those_of_the_reference");
    static const char *const names[] = {"e1", "e2", "e1_ph", "e2_ph"};
    static const char *const forms[][2] = {{"classic", "cl"}, {"enhanced", "enh"}};
    for (int i = 0; i < 8; i++) {
        char path[PATH_BYTES], folder[128], number[16], reference[256];
        const char *const *form = forms[i / 4];
        struct ts_diag *diag = ts_diag_create();
        snprintf(folder, sizeof folder, "mr/philips_classic_vs_enhanced_2001/dicom_%s", form[0]);
        snprintf(number, sizeof number, "%d", i % 4 + 1);
        snprintf(reference, sizeof reference,
                 "mr/philips_classic_vs_enhanced_2001/ref_dcm2niix/"
                 "2001_WIP_fcMRI_Field_Mapping_%s_%s.nii.gz",
                 form[1], names[i % 4]);
        struct nifti nifti = ts_nifti_read(data_path(path, reference));
        struct source *source = open_precisely(folder, number, diag);
        cr_assert_not_null(source, "%s", ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
        void *data = ts_test_read_all(source, diag);
        ts_nifti_compare(&nifti, 0, &source->image, data, 1, i % 4 < 2 ? 2 : 5e-4, reference);
        cr_expect_eq(source->slices[0].slope,
                     i % 4 < 2 ? 1 / (double)0.000237988992F : 1 / (double)651.739502F);
        free(data);
        free(nifti.values);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(dicom_layouts, precise_values_need_the_private_scale)
{
    SKIP_WITHOUT_DATA("dicom_layouts/precise_values_need_the_private_scale");
    struct ts_diag *diag = ts_diag_create();
    cr_expect_null(open_precisely("mr/ge_epi_4d_interleaved", "", diag));
    ts_test_expect(diag, "mr-scale-missing", "which mr_scale: precise needs");
    ts_diag_destroy(diag);
}

/* dcm2niix scales Philips' MR images by a private slope, which is the same for the whole volume,
 * and the phase has the header's intercept of -3142 there as -3141.78. */
Test(dicom_layouts, frames_lie_where_the_reference_has_them)
{
    SKIP_WITHOUT_DATA("dicom_layouts/frames_lie_where_the_reference_has_them");
    static const char *const names[] = {"e1", "e2", "e1_ph", "e2_ph"};
    for (int i = 0; i < 4; i++) {
        char number[16], reference[256];
        snprintf(number, sizeof number, "%d", i + 1);
        snprintf(reference, sizeof reference,
                 "mr/philips_classic_vs_enhanced_2001/ref_dcm2niix/"
                 "2001_WIP_fcMRI_Field_Mapping_enh_%s.nii.gz",
                 names[i]);
        compare("mr/philips_classic_vs_enhanced_2001/dicom_enhanced", number, reference, true,
                i < 2 ? 1e-3 : 0.25);
    }
}

/* Each mosaic is a volume, of which the reference has two. */
Test(dicom_layouts, tiles_of_a_mosaic_lie_where_the_reference_has_them)
{
    SKIP_WITHOUT_DATA("dicom_layouts/tiles_of_a_mosaic_lie_where_the_reference_has_them");
    static const char *const cases[][2] = {{"ax/axasc35", "ax_asc_35sl_6"},
                                           {"ax/axdesc36", "ax_desc_36sl_10"},
                                           {"cor/corint35", "cor_int_35sl_18"},
                                           {"sag/sagdesc36", "sag_desc_36sl_20"}};
    for (int i = 0; i < 4; i++) {
        char folder[256], reference[256];
        snprintf(folder, sizeof folder, "mr/siemens_mosaic/dicom/%s", cases[i][0]);
        snprintf(reference, sizeof reference, "mr/siemens_mosaic/ref_dcm2niix/%s.nii", cases[i][1]);
        compare(folder, NULL, reference, false, 0);
    }
}

/* The field map, in Hz, has another collapse flag than the magnitude, and can be taken by its
 * name. */
Test(dicom_layouts, time_points_and_kinds_agree_with_the_reference)
{
    SKIP_WITHOUT_DATA("dicom_layouts/time_points_and_kinds_agree_with_the_reference");
    compare("mr/ge_epi_4d_interleaved", NULL,
            "mr/ge_epi_4d_interleaved/ref_dcm2niix/DCM2NIIX_regression_test_4.nii", false, 0);
    compare("mr/ge_b0map_brain/dicom", "1",
            "mr/ge_b0map_brain/ref_dcm2niix/GE_6_CV_Neuro_HH_Adv_fieldmaphz.nii", false, 0);
    compare("mr/ge_b0map_brain/dicom", "2",
            "mr/ge_b0map_brain/ref_dcm2niix/GE_6_CV_Neuro_HH_Adv.nii", false, 0);
    static const char *const names[] = {"field map", "magnitude"};
    for (int i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source = open_with("mr/ge_b0map_brain/dicom", "", "", names[i], diag);
        cr_assert_not_null(source, "%s", names[i]);
        double lowest = 0;
        void *data = ts_test_read_all(source, diag);
        for (size_t k = 0; k < ts_image_count(&source->image); k++) {
            double value;
            ts_load_f64(&value, (const char *)data + k * ts_dtype_bytes(source->image.dtype),
                        source->image.dtype, 1);
            lowest = fmin(lowest, value);
        }
        cr_expect_eq(lowest < 0, i == 0, "the map alone has negative values");
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Series of several vendors, one with another slope and intercept in each slice, against volumes of
 * dicom2nifti. */
Test(dicom_layouts, volumes_of_several_vendors_agree_with_the_reference)
{
    SKIP_WITHOUT_DATA("dicom_layouts/volumes_of_several_vendors_agree_with_the_reference");
    static const struct {
        const char *folder, *reference;
        double tolerance;
    } rows[] = {{"ge/anatomical/001", "ge/anatomical/001_ground_truth", 0},
                {"generic/anatomical/001", "generic/anatomical/001_ground_truth", 0},
                {"generic/anatomical/002_non_isotropic",
                 "generic/anatomical/002_non_isotropic_ground_truth", 1e-5},
                {"ge/fmri/001", "ge/fmri/001_ground_truth", 0},
                {"siemens/anatomical/001", "siemens/anatomical/001_ground_truth", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256], reference[256];
        snprintf(folder, sizeof folder, "mr/vendors_small/%s", rows[i].folder);
        snprintf(reference, sizeof reference, "mr/vendors_small/%s.nii.gz", rows[i].reference);
        compare(folder, NULL, reference, false, rows[i].tolerance);
    }
}

/* The axis of time has the differences of the acquisition times, or multiples of the repetition
 * time without them. */
Test(dicom_layouts, the_axis_of_time_has_positions)
{
    SKIP_WITHOUT_DATA("dicom_layouts/the_axis_of_time_has_positions");
    static const struct {
        const char *folder;
        int64_t volumes, slices;
        double step, tolerance;
    } cases[] = {{"mr/siemens_mosaic/dicom/ax/axasc35", 2, 35, 3.01, 1e-6},
                 {"mr/ge_epi_4d_interleaved", 10, 15, 5, 0},
                 {"mr/siemens_enhanced_vs_agfa/Siemens", 4, 25, 1.22, 1e-3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source = open_series(cases[i].folder, NULL, diag);
        const struct ts_axis *axis = &source->volume_axis;
        cr_assert_eq(source->n_volumes, cases[i].volumes);
        cr_assert_eq(source->n_slices, cases[i].slices);
        cr_assert(axis->kind == TS_AXIS_TIME && axis->n == cases[i].volumes &&
                  strcmp(axis->unit, "s") == 0);
        for (int64_t v = 0; v < axis->n; v++)
            cr_expect_float_eq(axis->positions[v], (double)v * cases[i].step, cases[i].tolerance,
                               "%s: %.17g", cases[i].folder, axis->positions[v]);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* A PACS has renumbered private groups of the same files. */
Test(dicom_layouts, renumbered_private_groups_change_nothing)
{
    SKIP_WITHOUT_DATA("dicom_layouts/renumbered_private_groups_change_nothing");
    struct ts_diag *diag = ts_diag_create();
    struct source *sources[] = {open_series("mr/siemens_enhanced_vs_agfa/Siemens", NULL, diag),
                                open_series("mr/siemens_enhanced_vs_agfa/Agfa", NULL, diag)};
    const size_t n = (size_t)ts_source_total(sources[0]),
                 bytes = n * ts_slice_bytes(&sources[0]->image);
    void *data[] = {malloc(bytes), malloc(bytes)};
    for (int i = 0; i < 2; i++)
        cr_assert_eq(sources[i]->ops->read(sources[i], 0, (int64_t)n, data[i], diag), TS_OK);
    cr_expect_eq(memcmp(data[0], data[1], bytes), 0);
    for (size_t k = 0; k < n; k++)
        cr_expect_str_eq(sources[0]->slices[k].pixel_sha256, sources[1]->slices[k].pixel_sha256);
    for (int i = 0; i < 2; i++) {
        free(data[i]);
        sources[i]->ops->close(sources[i]);
    }
    ts_diag_destroy(diag);
}

/* Each row is what the chain says, and the volumes and slices that it gives, or the code of the
 * refusal. */
Test(dicom_layouts, split_and_take_choose_volumes)
{
    SKIP_WITHOUT_DATA("dicom_layouts/split_and_take_choose_volumes");
    static const char epi[] = "mr/ge_epi_4d_interleaved",
                      phase[] = "mr/philips_classic_vs_enhanced_2001/dicom_enhanced";
    static const struct {
        const char *folder, *series, *split, *take;
        int64_t volumes, slices;
        const char *code;
    } rows[] = {
        {epi, "", "", "", 10, 15, NULL},
        {epi, "", "", "3", 1, 15, NULL},
        {epi, "", "", "15 s", 1, 15, NULL},
        {epi, "", "", "10", 0, 0, "take-unknown"},
        {epi, "", "", "7 s", 0, 0, "take-unknown"},
        {epi, "", "", "3 miles", 0, 0, "take-syntax"},
        {epi, "", "slices", "", 0, 0, "split-unknown"},
        {epi, "", "time", "", 0, 0, "several-series"},
        {epi, "4", "time", "", 1, 15, NULL},
        {epi, "", "time", "15 s", 1, 15, NULL},
        {epi, "#4", "", "", 10, 15, NULL},
        {epi, "Axial EPI-FMRI (Interleaved I to S)", "", "", 10, 15, NULL},
        {epi, "#5", "", "", 0, 0, "series-unknown"},
        {phase, "", "", "", 0, 0, "several-series"},
        {phase, "", "", "phase", 0, 0, "several-series"},
        {phase, "", "none", "phase", 2, 53, NULL},
        {phase, "", "none", "4.6 ms", 0, 0, "several-series"},
        {phase, "1", "none", "4.6 ms", 1, 53, NULL},
        {phase, "3", "", "4.6 ms", 0, 0, "series-unknown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source =
            open_with(rows[i].folder, rows[i].series, rows[i].split, rows[i].take, diag);
        cr_expect_eq(source == NULL, rows[i].code != NULL, "row %zu: %s", i,
                     source ? "opened" : ts_diag_get(diag, 0)->message);
        if (source && !rows[i].code) {
            cr_expect_eq(source->n_volumes, rows[i].volumes, "row %zu: %lld volumes", i,
                         (long long)source->n_volumes);
            cr_expect_eq(source->n_slices, rows[i].slices, "row %zu: %lld slices", i,
                         (long long)source->n_slices);
            source->ops->close(source);
        } else if (rows[i].code) {
            ts_test_expect(diag, rows[i].code, "");
        }
        ts_diag_destroy(diag);
    }
}

/* Echoes that are not split are an axis of their own, whose volumes are the series of each echo. */
Test(dicom_layouts, echoes_become_an_axis)
{
    SKIP_WITHOUT_DATA("dicom_layouts/echoes_become_an_axis");
    struct ts_diag *diag = ts_diag_create();
    static const char folder[] = "mr/philips_classic_vs_enhanced_2001/dicom_classic";
    struct source *both = open_with(folder, "1", "none", "", diag);
    cr_assert(both && both->n_volumes == 2 && both->volume_axis.kind == TS_AXIS_ECHO);
    cr_expect(both->volume_axis.positions[0] == 2.3 && both->volume_axis.positions[1] == 4.6);
    const size_t bytes = 53 * ts_slice_bytes(&both->image);
    unsigned char *data = malloc(2 * bytes);
    cr_assert_eq(both->ops->read(both, 0, 2 * 53, data, diag), TS_OK);
    for (int v = 0; v < 2; v++) {
        struct source *one = open_series(folder, v ? "2" : "1", diag);
        void *volume = ts_test_read_all(one, diag);
        cr_expect_eq(memcmp(volume, data + (size_t)v * bytes, bytes), 0, "echo %d", v);
        free(volume);
        one->ops->close(one);
    }
    both->ops->close(both);
    free(data);
    ts_diag_destroy(diag);
}
