/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of the public test data: order and spacing against expected_geometry.tsv (computed with
 * pydicom and numpy), shape and origin against reference NIfTI headers, and the refusal of each
 * folder that is no volume.
 */
#include <criterion/criterion.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_series/dicom_completeness.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

/* The series of a folder of the public data. */
static void study_open(struct dicom_study *study, const char *folder,
                       const struct dicom_rules *rules)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), folder);
    ts_test_study_open(study, path, rules);
}

struct row {
    char *folder, *uid, *orientation, *rows, *columns, *files, *positions, *uniform, *spacings,
        *shear, *order;
};

static void split_row(char *line, struct row *row)
{
    char **fields[] = {&row->folder,   &row->uid,   &row->orientation, &row->rows,
                       &row->columns,  &row->files, &row->positions,   &row->uniform,
                       &row->spacings, &row->shear, &row->order};
    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char *field = strsep(&line, "\t");
        cr_assert_not_null(field, "the table has fewer columns than expected");
        *fields[i] = field;
    }
}

/* The table's orientations have four decimals. */
static bool matches(const struct dicom_series *series, const struct row *row)
{
    double orientation[6];
    const struct dicom_image *first = series->images[0];
    bool same = !strcmp(series->series, row->uid) && first->file->rows == atoi(row->rows) &&
                first->file->columns == atoi(row->columns) && first->have_orientation;
    cr_assert_eq(sscanf(row->orientation, "%lf\\%lf\\%lf\\%lf\\%lf\\%lf", &orientation[0],
                        &orientation[1], &orientation[2], &orientation[3], &orientation[4],
                        &orientation[5]),
                 6);
    for (int i = 0; i < 6; i++) {
        same = same && fabs(first->orientation[i] - orientation[i]) <= 2e-4;
    }
    return same;
}

/* "001.dcm(61.500) 002.dcm(...)": names with %20 for a space, positions along the normal. */
static void check_order(const struct dicom_series *series, const struct row *row)
{
    char *text = row->order;
    const struct ts_image *image = &series->image;
    for (size_t i = 0; i < series->n_images; i++) {
        char *entry = strsep(&text, " "), *open = strrchr(entry, '('), name[128];
        *open = '\0';
        double position = atof(open + 1), along = 0;
        const char *slash = strrchr(series->images[i]->file->path, '/');
        size_t n = 0;
        for (const char *c = entry; *c && n + 1 < sizeof name; c++) {
            bool space = !strncmp(c, "%20", 3);
            name[n++] = space ? ' ' : *c;
            c += space ? 2 : 0;
        }
        name[n] = '\0';
        for (int k = 0; k < 3; k++) {
            along += series->images[i]->position_mm[k] * image->direction[6 + k];
        }
        cr_expect_str_eq(slash + 1, name, "%s: slice %zu", row->folder, i);
        cr_expect(fabs(along - position) <= 1e-3, "%s: slice %zu at %g, expected %g", row->folder,
                  i, along, position);
    }
}

static bool was_arranged(const struct dicom_series *series)
{
    static const char *const codes[] = {"slice-missing", "spacing-varies",    "gantry-tilt",
                                        "slice-count",   "orientation-mixed", "position-repeated"};
    for (size_t i = 0; series->refusal && i < sizeof codes / sizeof *codes; i++) {
        if (!strcmp(series->refusal_code, codes[i])) {
            return true;
        }
    }
    return series->refusal == NULL;
}

/* How the rows of the table ended. */
struct counts {
    int rows, volumes, refused, orders;
    char codes[512]; /* those of the refused rows, each with a blank before it */
};

/* The step of an accepted series is that of the table: its length along the normal, and how far it
 * leans within the plane of the slices. */
static void check_step(const struct dicom_series *series, const struct row *row)
{
    const struct ts_image *image = &series->image;
    const double spacing = image->axes[0].spacing;
    double shear = 0;
    for (int k = 0; k < 3; k++) {
        const double in_plane = image->step_z_mm[k] - spacing * image->direction[6 + k];
        shear += in_plane * in_plane;
    }
    cr_expect_eq(image->axes[0].n, atoi(row->positions), "%s: %d slices", row->folder,
                 (int)image->axes[0].n);
    cr_expect_str_eq(row->uniform, "yes", "%s is not uniform", row->folder);
    cr_expect(fabs(spacing - atof(row->spacings)) <= 2e-3, "%s: spacing %g", row->folder, spacing);
    cr_expect(fabs(sqrt(shear) - atof(row->shear)) <= 1e-3, "%s: shear %g", row->folder,
              sqrt(shear));
}

/* A refused series names a reason that docs/errors.md has. */
static void check_refusal(const struct dicom_series *series, const struct row *row,
                          const char *errors, struct counts *counts)
{
    char cell[80];
    snprintf(cell, sizeof cell, "| `%s` |", series->refusal_code);
    cr_expect_not_null(strstr(errors, cell), "%s: %s has no row", row->folder,
                       series->refusal_code);
    const size_t used = strlen(counts->codes);
    snprintf(counts->codes + used, sizeof counts->codes - used, " %s", series->refusal_code);
}

static void check_row(const struct row *row, const char *errors, struct counts *counts)
{
    struct dicom_study study;
    size_t files = (size_t)atoi(row->files), positions = (size_t)atoi(row->positions), found = 0,
           groups = 0, n = 0, damaged = 0;
    const struct dicom_series *only = NULL;
    study_open(&study, row->folder, &ts_dicom_default_rules);
    for (size_t i = 0; i < study.n; i++) {
        const struct dicom_series *series = &study.series[i];
        if (!matches(series, row)) {
            /* A deflated file's header stays unread. */
            found += !*series->series && !strcmp(series->refusal_code, "dicom-syntax")
                         ? series->n_images
                         : 0;
            continue;
        }
        only = groups++ == 0 ? series : NULL;
        found += series->n_images + series->n_duplicates;
        if (series->images[0]->rows != series->images[0]->file->rows)
            continue; /* the table has a mosaic as one image */
        const bool copies =
            series->n_images == 1 && series->n_duplicates > 0; /* one slice in several encodings */
        n += series->refusal == NULL;
        damaged +=
            ts_dicom_is_damage(series->refusal_code); /* one file, beside others that are whole */
        if (series->refusal)
            check_refusal(series, row, errors, counts);
        else if (positions > 1 && !copies)
            check_step(series, row);
    }
    cr_expect(found >= files, "%s: %zu of %zu files", row->folder, found, files);
    const bool compare =
        only && only->n_images == files && files == positions && was_arranged(only);
    if (compare) {
        check_order(only, row);
        cr_expect_eq(only->refusal == NULL, !strcmp(row->uniform, "yes") && positions >= 3,
                     "%s: %s", row->folder, only->refusal);
    }
    counts->orders += compare;
    counts->volumes += n > 0 && n + damaged == groups;
    counts->refused += n == 0;
    counts->rows++;
    ts_test_study_close(&study);
}

Test(dicom_geometry, agrees_with_the_table_of_positions, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_geometry: table of positions");
    char path[512], *line = NULL, *errors = calloc(1, 1 << 20);
    size_t size = 0;
    struct counts counts = {0};
    FILE *page = fopen(TESTS_FOLDER "/../docs/errors.md", "r");
    cr_assert(page && fread(errors, 1, (1 << 20) - 1, page) > 0);
    fclose(page);
    snprintf(path, sizeof path, "%s/expected_geometry.tsv", ts_test_data());
    FILE *table = fopen(path, "r");
    cr_assert_not_null(table);
    cr_assert(getline(&line, &size, table) > 0);
    while (getline(&line, &size, table) > 0) {
        struct row row;
        char *copy = strdup(line);
        split_row(copy, &row);
        check_row(&row, errors, &counts);
        free(copy);
    }
    free(line);
    free(errors);
    fclose(table);
    fprintf(stderr,
            "dicom_geometry: %d rows: %d ordered and spaced as the table says, %d refused, %d "
            "orders compared; refused for%s\n",
            counts.rows, counts.volumes, counts.refused, counts.orders, counts.codes);
    cr_expect(counts.rows == 37 && counts.orders >= 13);
    cr_expect_eq(counts.volumes + counts.refused, counts.rows, "some rows are neither");
}

/* The head of which the spacing changes on the way holds two even volumes, one of 4 and one of 7
 * mm. */
Test(dicom_geometry, takes_one_stack_of_a_head)
{
    SKIP_WITHOUT_DATA("dicom_geometry: stacks of a head");
    static const double spacings[] = {4.002, 6.999};
    for (int stack = 1; stack <= 2; stack++) {
        struct dicom_study study;
        struct dicom_rules rules = ts_dicom_default_rules;
        rules.stack = stack;
        study_open(&study, "ct/ge_head_tilt_varspacing/dicom", &rules);
        const struct dicom_series *series = &study.series[0];
        cr_assert(study.n == 1 && !series->refusal, "%s", series->refusal);
        cr_expect_eq(series->n_slices, 14);
        cr_expect(fabs(series->image.axes[0].spacing - spacings[stack - 1]) <= 1e-3, "%g",
                  series->image.axes[0].spacing);
        cr_expect(fabs(ts_image_lean_degree(&series->image) - 18.5) <= 0.01, "%g",
                  ts_image_lean_degree(&series->image));
        ts_test_study_close(&study);
    }
}

Test(dicom_geometry, refuses_each_folder_that_is_no_volume)
{
    SKIP_WITHOUT_DATA("dicom_geometry: folders that are no volume");
    static const char *const cases[][3] = {
        {"ct/geometry_failures/gantrytilting", "gantry-tilt", "leans 14.00 degrees"},
        {"ct/geometry_failures/sliceincrement", "slice-missing",
         "a gap of 10.000 mm between IM-0001-0009-0001.dcm"},
        {"ct/geometry_failures/notavolume", "position-repeated",
         "all 4 images lie at one position, 61.500 mm"},
        {"ct/geometry_failures/sliceorientation", "orientation-mixed", "mixes orientations"},
        {"ct/geometry_failures/slicecount", "slice-count", "2 slices are one gap"},
        {"ct/ge_head_tilt_varspacing", "spacing-varies", "from 1.081 to 6.999 mm (median 4.002)"},
        {"mr/vendors_small/generic/rgb", "dicom-color", "3 samples per pixel (RGB), expected 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dicom_study study;
        study_open(&study, cases[i][0], &ts_test_version_1);
        cr_assert(study.n >= 1, "%s", cases[i][0]);
        for (size_t k = 0; k < study.n; k++) {
            cr_expect(study.series[k].refusal && !strcmp(study.series[k].refusal_code, cases[i][1]),
                      "%s: %s", cases[i][0], study.series[k].refusal_code);
            cr_expect(study.series[k].refusal && strstr(study.series[k].refusal, cases[i][2]),
                      "%s: %s", cases[i][0], study.series[k].refusal);
        }
        ts_test_study_close(&study);
    }
}

/* Finds the axial series by itself among captures, localizer and DICOMDIRs. */
Test(dicom_geometry, chooses_the_axial_series_of_a_mixed_folder)
{
    SKIP_WITHOUT_DATA("dicom_geometry: mixed folder");
    struct dicom_study study;
    const struct dicom_series *chosen = NULL;
    study_open(&study, "ct/philips_head_5mm_mixed", &ts_dicom_default_rules);
    cr_expect(study.files.n_of[DICOM_DICOMDIR] == 5 && study.files.n_files == 35 && study.n == 6);
    cr_assert_eq(ts_dicom_choose(study.series, study.n, "", &study.files, &chosen, study.diag),
                 TS_OK);
    cr_expect(chosen->image.axes[0].n == 28 && chosen->image.axes[1].n == 512 &&
              chosen->image.dtype == TS_I16);
    cr_expect(fabs(chosen->image.axes[0].spacing - 5) <= 1e-9 && chosen->image.quantity == TS_HU);
    ts_test_study_close(&study);
}

/* The first 348 bytes of a .nii.gz file. */
static void read_nifti_header(const char *path, unsigned char header[348])
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert(fseek(file, 0, SEEK_END) == 0);
    size_t n = (size_t)ftell(file), size = 0;
    rewind(file);
    unsigned char *packed = malloc(n);
    cr_assert(packed && fread(packed, 1, n, file) == n && n > 18);
    fclose(file);
    memcpy(&size, packed + n - 4, 4); /* gzip ends in the length of its content */
    unsigned char *bytes = malloc(size);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    cr_assert(bytes && inflater && size >= 348);
    cr_assert_eq(libdeflate_gzip_decompress(inflater, packed, n, bytes, size, NULL),
                 LIBDEFLATE_SUCCESS);
    memcpy(header, bytes, 348);
    libdeflate_free_decompressor(inflater);
    free(bytes);
    free(packed);
}

/* The reference volumes have a qform turned half around z: their RAS+ axes are LPS ones, origin
 * (-x, -y, z). */
Test(dicom_geometry, agrees_with_the_reference_headers)
{
    SKIP_WITHOUT_DATA("dicom_geometry: reference headers");
    static const struct {
        const char *name, *unit;
        enum ts_dtype dtype;
    } cases[] = {{"CT", "HU", TS_I16}, {"MR_T1", "1", TS_I16}, {"PET", "g/ml", TS_F32}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dicom_study study;
        const struct dicom_series *chosen = NULL;
        char path[512];
        unsigned char header[348];
        int16_t size[4];
        float spacing[4], quaternion[3], offset[3];
        snprintf(path, sizeof path, "ct/ibsi_sts001/dicom/%s", cases[i].name);
        study_open(&study, path, &ts_dicom_default_rules);
        snprintf(path, sizeof path, "%s/ct/ibsi_sts001/ref_nifti/%s_image.nii.gz", ts_test_data(),
                 cases[i].name);
        read_nifti_header(path, header);
        memcpy(size, header + 40, sizeof size);
        memcpy(spacing, header + 76, sizeof spacing);
        memcpy(quaternion, header + 256, sizeof quaternion);
        memcpy(offset, header + 268, sizeof offset);
        cr_assert(quaternion[0] == 0 && quaternion[1] == 0 && quaternion[2] == 1);
        cr_assert_eq(ts_dicom_choose(study.series, study.n, "", &study.files, &chosen, study.diag),
                     TS_OK);
        const struct ts_image *image = &chosen->image;
        for (int k = 0; k < 3; k++) {
            cr_expect_eq(image->axes[2 - k].n, size[1 + k], "%s axis %d", cases[i].name, k);
            cr_expect(fabs(image->axes[2 - k].spacing - spacing[1 + k]) <= 1e-6 * spacing[1 + k],
                      "%s spacing %d: %.9g", cases[i].name, k, image->axes[2 - k].spacing);
            cr_expect(fabs(image->origin_mm[k] - (k < 2 ? -offset[k] : offset[k])) <= 1e-4,
                      "%s origin %d: %.9g", cases[i].name, k, image->origin_mm[k]);
            for (int c = 0; c < 3; c++) {
                cr_expect(fabs(image->direction[3 * k + c] - (k == c)) <= 1e-9);
            }
        }
        cr_expect_eq(image->dtype, cases[i].dtype);
        cr_expect_str_eq(image->unit, cases[i].unit);
        ts_test_study_close(&study);
    }
}
