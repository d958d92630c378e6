/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of attributes that may reach an output: its order, the values that the scanner keeps,
 * and the lists of known texts.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"

Test(dicom_fields, are_sorted_and_complete)
{
    for (int i = 0; i < DICOM_FIELDS; i++) {
        const struct dicom_field_row *row = &ts_dicom_fields[i];
        cr_expect(i == 0 || ts_dicom_fields[i - 1].tag < row->tag, "%s", row->name);
        cr_expect_eq(row->kind == DICOM_FIELD_CODE, row->known != NULL, "%s", row->name);
        cr_expect_eq(row->kind == DICOM_FIELD_HIDDEN, row->key == NULL, "%s", row->name);
        cr_expect_eq(ts_dicom_field_is_number((enum dicom_field)i), row->most > 0, "%s", row->name);
        cr_expect(row->most < 19000101, "%s may be a date", row->name);
        /* No default writes what Table E.1-1 of PS3.15 lists. */
        const bool guarded = row->kind == DICOM_FIELD_FREE || row->kind == DICOM_FIELD_UID ||
                             row->kind == DICOM_FIELD_DATE || row->kind == DICOM_FIELD_HIDDEN;
        const bool listed = strcmp(row->action, "-") != 0;
        cr_expect(guarded == listed || (row->kind == DICOM_FIELD_HIDDEN && !listed), "%s",
                  row->name);
    }
}

Test(dicom_fields, are_read_in_every_encoding)
{
    static const char *const syntaxes[] = {FIXTURE_IMPLICIT_LE, FIXTURE_EXPLICIT_LE,
                                           FIXTURE_EXPLICIT_BE};
    for (size_t i = 0; i < sizeof syntaxes / sizeof *syntaxes; i++) {
        char folder[256], path[300];
        const double duration = 12.75;
        struct dicom_fixture fixture;
        struct dicom_other other;
        struct dicom_file file;
        struct arena *arena = ts_arena_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        snprintf(path, sizeof path, "%s/a.dcm", folder);
        ts_fixture_init(&fixture, 0);
        ts_fixture_text(&fixture, 0x00080070, "LO", "GE MEDICAL SYSTEMS ");
        ts_fixture_text(&fixture, 0x00180060, "DS", "120");
        ts_fixture_text(&fixture, 0x00181151, "IS", "not a number");
        ts_fixture_bytes(&fixture, 0x00189073, "FD", &duration, sizeof duration);
        ts_fixture_text(&fixture, 0x00281050, "DS", "40\\400");
        ts_fixture_syntax(&fixture, syntaxes[i]);
        ts_fixture_write(&fixture, path);
        cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
        cr_assert_null(file.refusal, "%s", file.refusal);
        const struct dicom_image *image = file.images;
        cr_expect_str_eq(ts_dicom_field_text(image, DICOM_FIELD_manufacturer),
                         "GE MEDICAL SYSTEMS");
        cr_expect_str_eq(ts_dicom_field_text(image, DICOM_FIELD_modality), "CT");
        cr_expect_str_eq(ts_dicom_field_text(image, DICOM_FIELD_manufacturer_model), "");
        cr_expect_eq(ts_dicom_field_number(image, DICOM_FIELD_tube_voltage), 120);
        cr_expect(isnan(ts_dicom_field_number(image, DICOM_FIELD_tube_current)));
        cr_expect_eq(ts_dicom_field_number(image, DICOM_FIELD_acquisition_duration), duration);
        cr_expect_eq(ts_dicom_field_number(image, DICOM_FIELD_window_center), 40);
        ts_fixture_clear(&fixture);
        ts_arena_destroy(arena);
        ts_test_remove_folder(folder);
    }
}

Test(dicom_fields, keep_known_values_alone)
{
    static const struct {
        const char *text, *kept;
    } cases[] = {
        {"ORIGINAL\\PRIMARY\\AXIAL", "ORIGINAL\\PRIMARY\\AXIAL"},
        {"DERIVED \\primary\\Jane Roe", "DERIVED\\primary\\unrecognized"},
        {"Roe^Jane", "unrecognized"},
        {"ORIGINAL\\\\AXIAL", "ORIGINAL\\\\AXIAL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char kept[128];
        ts_dicom_keep_known(ts_dicom_image_types, cases[i].text, kept, sizeof kept);
        cr_expect_str_eq(kept, cases[i].kept);
    }
    char small[20];
    ts_dicom_keep_known(ts_dicom_image_types, "ORIGINAL\\PRIMARY\\AXIAL\\Jane", small,
                        sizeof small);
    cr_expect_str_eq(small, "ORIGINAL\\PRIMARY\\AX");
}
