/* SPDX-License-Identifier: Apache-2.0
 *
 * What the values of a series are, as Units and Rescale Type name it, and what makes them not
 * compare.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 3, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

static bool is_warned(const struct ts_diag *diag, const char *text)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (ts_diag_get(diag, i)->severity == TS_WARNING &&
            strstr(ts_diag_get(diag, i)->message, text))
            return true;
    return false;
}

struct unit_row {
    const char *modality, *tag_is,
        *text; /* tag_is: of which element the text is, Units (u), Rescale Type (t), both */
    const char *unit, *warning; /* warning NULL: none of units */
};

static void make_unit(struct dicom_fixture *f, const struct unit_row *row, int z)
{
    const bool pet = !strcmp(row->modality, "PT");
    ts_fixture_init(f, z);
    ts_fixture_text(f, 0x00080016, "UI",
                    pet ? "1.2.840.10008.5.1.4.1.1.128" : "1.2.840.10008.5.1.4.1.1.4");
    ts_fixture_text(f, 0x00080060, "CS", row->modality);
    ts_fixture_remove(f, 0x00281054);
    if (strchr(row->tag_is, 'u'))
        ts_fixture_text(f, 0x00541001, "CS", row->text);
    if (strchr(row->tag_is, 't'))
        ts_fixture_text(f, 0x00281054, "LO", row->text);
}

Test(dicom_units, are_those_that_the_header_names)
{
    static const char absent[] = "Units (0054,1001) is absent",
                      other[] = "a unit that is not known";
    static const struct unit_row rows[] = {
        {"PT", "u", "PROPCNTS", "PROPCNTS", NULL},
        {"PT", "u", "PROPCPS", "PROPCPS", NULL},
        {"PT", "u", "CNTS", "counts", NULL},
        {"PT", "u", "BQML", "Bq/ml", NULL},
        {"PT", "u", "GML", "g/ml", NULL},
        {"PT", "u", "CM2ML", "cm2/ml", NULL},
        {"PT", "u", "NONE", "1", NULL},
        {"PT", "u", "Jane Roe", "unrecognized", NULL},
        {"PT", "", "", "unknown", absent},
        {"PT", "u", "", "unknown", absent},
        {"PT", "t", "US", "unknown", absent},
        {"PT", "t", "BQML", "Bq/ml", NULL},
        {"MR", "t", "ms", "ms", NULL},
        {"MR", "t", "mm2/s", "mm2/s", NULL},
        {"MR", "t", "%", "%", NULL},
        {"MR", "t", "10^-6 mm^2/s", "10^-6 mm^2/s", NULL},
        {"MR", "t", "Hz", "Hz", NULL},
        {"MR", "t", "Jane Roe", "unrecognized", other},
        {"MR", "t", "US", "1", NULL},
        {"MR", "t", "normalized", "1", NULL},
        {"MR", "", "", "1", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < SLICES; z++) {
            struct dicom_fixture f;
            make_unit(&f, &rows[r], z);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_str_eq(source->image.unit, rows[r].unit, "row %zu: %s", r, source->image.unit);
        cr_expect_eq(source->image.quantity, TS_INTENSITY);
        cr_expect_eq(is_warned(diag, absent), rows[r].warning == absent, "row %zu", r);
        cr_expect_eq(is_warned(diag, other), rows[r].warning == other, "row %zu", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Maps and phases of MR have a unit, which few of their names tell. */
Test(dicom_units, maps_of_mr_have_those_that_their_type_makes_certain)
{
    static const char absent[] = "names no unit: the unit of the values is given as unknown";
    static const struct {
        const char *maker, *image_type, *rescale_type, *unit;
    } rows[] = {
        {"Philips", "ORIGINAL\\PRIMARY\\FIELDMAPHZ", "", "Hz"},
        {"SIEMENS", "DERIVED\\PRIMARY\\OTHER\\FIELDMAPHZ", "US", "Hz"},
        {"Philips Medical Systems", "ORIGINAL\\PRIMARY\\B0 MAP\\B0\\UNSPECIFIED", "normalized",
         "Hz"},
        {"Philips", "ORIGINAL\\PRIMARY\\B0 MAP\\B0\\UNSPECIFIED", "rad/s", "rad/s"},
        {"Philips", "ORIGINAL\\PRIMARY\\M_FFE\\M\\FFE", "", "1"},
        {"SIEMENS", "ORIGINAL\\PRIMARY\\B0 MAP\\B0", "", "unknown"},
        {"SIEMENS", "ORIGINAL\\PRIMARY\\P\\ND", "", "unknown"},
        {"Philips", "ORIGINAL\\PRIMARY\\PHASE MAP\\P\\FFE", "normalized", "unknown"},
        {"UIH", "ORIGINAL\\PRIMARY\\PHASE", "US", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\DIFFUSION\\ADC\\ND\\NORM", "", "unknown"},
        {"GE", "DERIVED\\PRIMARY\\EXP_ADC", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\T1 MAP\\ND", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\M\\T2", "US", "unknown"},
        {"Philips", "ORIGINAL\\PRIMARY\\T2_STAR_MAP", "", "unknown"},
        {"Philips", "ORIGINAL\\PRIMARY\\FAT_FRACTION", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\PERFUSION\\TTP\\ND", "US", "unknown"},
        {"GE", "DERIVED\\SECONDARY\\OTHER\\TMAX", "", "unknown"},
        {"Philips", "DERIVED\\PRIMARY\\PERFUSION\\TMax", "normalized", "unknown"},
        {"UIH", "DERIVED\\PRIMARY\\TMAX MAP", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\PERFUSION\\T_MAX", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\TTP", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\PERFUSION\\RMTT", "", "unknown"},
        {"SIEMENS", "DERIVED\\PRIMARY\\PERFUSION\\TTP", "s", "s"},
        {"GE", "DERIVED\\PRIMARY\\PERFUSION\\TMAX", "ms", "ms"},
        {"SIEMENS", "ORIGINAL\\PRIMARY\\M\\TMAXIMUM", "", "1"},
        {"SIEMENS", "DERIVED\\PRIMARY\\M\\T2", "ms", "ms"},
        {"SIEMENS", "DERIVED\\PRIMARY\\DIFFUSION\\ADC", "10^-6 mm^2/s", "10^-6 mm^2/s"},
        {"SIEMENS", "ORIGINAL\\PRIMARY\\T1\\NONE", "", "1"},
        {"SIEMENS", "ORIGINAL\\PRIMARY\\M\\ND", "", "1"},
        {"GE", "ORIGINAL\\PRIMARY\\REAL", "", "1"},
        {"GE", "ORIGINAL\\PRIMARY\\I_FFE", "", "1"},
        {"SIEMENS", "DERIVED\\PRIMARY\\DIXON\\WATER", "", "1"},
        {"SIEMENS", "ORIGINAL\\PRIMARY\\M\\BITMAP", "", "1"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < SLICES; z++) {
            struct dicom_fixture f;
            ts_fixture_init_mr(&f, z);
            ts_fixture_text(&f, 0x00080008, "CS", rows[r].image_type);
            ts_fixture_text(&f, 0x00080070, "LO", rows[r].maker);
            ts_fixture_text(&f, 0x00281054, "LO", rows[r].rescale_type);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_str_eq(source->image.unit, rows[r].unit, "row %zu: %s", r, source->image.unit);
        cr_expect_eq(is_warned(diag, absent), !strcmp(rows[r].unit, "unknown"), "row %zu", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* The unit of a Real World Value Mapping is that of the values if it maps as the rescale does. */
Test(dicom_units, mappings_that_are_the_rescale_name_it)
{
    static const struct {
        const char *image_type, *rescale_type, *code[SLICES], *unit;
        double slope, intercept; /* of the mapping; those of the rescale are 1.5 and -30 */
    } rows[] = {
        {"ORIGINAL\\PRIMARY\\T1\\P", "US", {"mrad", "mrad", "mrad"}, "mrad", 1.5, -30},
        {"ORIGINAL\\PRIMARY\\M\\T2", "", {"ms", "ms", "ms"}, "ms", 1.5, -30},
        {"DERIVED\\PRIMARY\\M\\ADC", "normalized", {"mm2/s", "mm2/s", "mm2/s"}, "mm2/s", 1.5, -30},
        {"ORIGINAL\\PRIMARY\\M\\NONE", "US", {"1", "1", "1"}, "1", 1.5, -30},
        {"ORIGINAL\\PRIMARY\\PHASE MAP\\P", "mrad", {"1", "1", "1"}, "mrad", 1.5, -30},
        {"ORIGINAL\\PRIMARY\\PHASE MAP\\P",
         "milliradials",
         {"1", "1", "1"},
         "milliradials",
         1.5,
         -30},
        {"ORIGINAL\\PRIMARY\\T1\\P", "US", {"mrad", "mrad", "mrad"}, "unknown", 1.6, -30},
        {"ORIGINAL\\PRIMARY\\T1\\P", "US", {"mrad", "mrad", "mrad"}, "unknown", 1.5, 0},
        {"ORIGINAL\\PRIMARY\\T1\\P", "US", {"mrad", "mrad", "rad"}, "unknown", 1.5, -30},
        {"ORIGINAL\\PRIMARY\\T1\\P", "US", {"Jane", "Jane", "Jane"}, "unknown", 1.5, -30},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < SLICES; z++) {
            static struct dicom_bytes unit, item, items;
            struct dicom_fixture f;
            unit.n = item.n = items.n = 0;
            ts_bytes_text(&unit, 0x00080100, "SH", rows[r].code[z]);
            ts_bytes_group(&item, 0x004008EA, &unit);
            ts_bytes_element(&item, 0x00409224, "FD", &rows[r].intercept, sizeof(double));
            ts_bytes_element(&item, 0x00409225, "FD", &rows[r].slope, sizeof(double));
            ts_bytes_item(&items, &item);
            ts_fixture_init_mr(&f, z);
            ts_fixture_text(&f, 0x00080008, "CS", rows[r].image_type);
            ts_fixture_text(&f, 0x00281052, "DS", "-30");
            ts_fixture_text(&f, 0x00281053, "DS", "1.5");
            ts_fixture_text(&f, 0x00281054, "LO", rows[r].rescale_type);
            ts_fixture_bytes(&f, 0x00409096, "SQ", items.at, items.n);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_str_eq(source->image.unit, rows[r].unit, "row %zu: %s", r, source->image.unit);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Rescale Type is required of CT whose values are not HU, and tools lose it. */
Test(dicom_units, maps_of_energies_are_no_hounsfield_units)
{
    static const char absent[] = "Rescale Type (0028,1054) is absent";
    static const struct {
        const char *image_type, *energies, *rescale_type, *unit;
        bool warned;
    } rows[] = {
        {"ORIGINAL\\PRIMARY\\AXIAL", "", "", "HU", false},
        {"DERIVED\\PRIMARY\\AXIAL\\CT_SOM5 MPR", "NO", "", "HU", false},
        {"ORIGINAL\\PRIMARY\\AXIAL\\CT_SOM5 MON", "", "", "HU", false},
        {"DERIVED\\PRIMARY\\AXIAL\\IODINE_MAP", "", "", "unknown", true},
        {"DERIVED\\PRIMARY\\AXIAL\\IODINE_MAP", "", "MGML", "MGML", false},
        {"DERIVED\\PRIMARY\\AXIAL\\MONO_70KEV", "", "", "unknown", true},
        {"DERIVED\\PRIMARY\\AXIAL\\MONO_70KEV", "YES", "HU", "HU", false},
        {"DERIVED\\SECONDARY\\VNC", "", "", "unknown", true},
        {"DERIVED\\PRIMARY\\AXIAL\\NONE\\Z_EFFECTIVE", "", "", "unknown", true},
        {"DERIVED\\PRIMARY\\AXIAL\\ELECTRON_DENSITY", "", "", "unknown", true},
        {"ORIGINAL\\PRIMARY\\AXIAL", "YES", "", "unknown", true},
        {"ORIGINAL\\PRIMARY\\LOCALIZER", "", "", "unknown", false},
        {"ORIGINAL\\PRIMARY\\LOCALIZER", "", "HU", "HU", false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < SLICES; z++) {
            struct dicom_fixture f;
            ts_fixture_init(&f, z);
            ts_fixture_text(&f, 0x00080008, "CS", rows[r].image_type);
            ts_fixture_text(&f, 0x00189361, "CS", rows[r].energies);
            ts_fixture_text(&f, 0x00281054, "LO", rows[r].rescale_type);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_str_eq(source->image.unit, rows[r].unit, "row %zu: %s", r, source->image.unit);
        cr_expect_eq(source->image.quantity, strcmp(rows[r].unit, "HU") ? TS_INTENSITY : TS_HU);
        cr_expect_eq(is_warned(diag, absent), rows[r].warned, "row %zu", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Beds that were scanned one after the other, and were not brought to one time, do not compare. */
Test(dicom_units, slices_of_several_times_without_decay_correction_are_warned_of)
{
    static const struct {
        const char *correction; /* NULL: absent */
        const char *times[SLICES];
        bool warned;
    } rows[] = {
        {"NONE", {"120000", "123000", "130000"}, true},
        {"NONE", {"120000", "120000", "121500"}, true},
        {"NONE", {"120000", "120005", "120010"}, true},
        {"NONE", {"120000", "120000", "120000"}, false},
        {"NONE", {"120000", "120000.5", "120001"}, false},
        {"START", {"120000", "123000", "130000"}, false},
        {"ADMIN", {"120000", "123000", "130000"}, false},
        {NULL, {"120000", "123000", "130000"}, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < SLICES; z++) {
            struct dicom_fixture f;
            make_unit(&f, &(struct unit_row){.modality = "PT", .tag_is = "u", .text = "BQML"}, z);
            ts_fixture_text(&f, 0x00080032, "TM", rows[r].times[z]);
            if (rows[r].correction)
                ts_fixture_text(&f, 0x00541102, "CS", rows[r].correction);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_eq(is_warned(diag, "Decay Correction is NONE"), rows[r].warned, "row %zu", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Scaled values are said to be rounded by one rule for pixels of any length: where their whole
 * numbers have no float. */
Test(dicom_units, long_pixels_of_small_values_are_not_said_to_be_rounded)
{
    static const struct {
        uint32_t largest;
        const char *slope;
        bool counted;
    } rows[] = {{700, "0.001", false}, {16777215, "0.001", false}, {16777216, "0.3", false},
                {700, "1e-7", false},  {16777300, "0.001", true},  {0xFFFFFFF0, "1e-8", true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        static uint32_t values[PIXELS];
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < SLICES; z++) {
            struct dicom_fixture f;
            ts_fixture_init_mr(&f, z);
            for (uint32_t i = 0; i < PIXELS; i++)
                values[i] = rows[r].largest - i;
            ts_fixture_us(&f, 0x00280100, 32);
            ts_fixture_us(&f, 0x00280101, 32);
            ts_fixture_us(&f, 0x00280102, 31);
            ts_fixture_text(&f, 0x00281052, "DS", "0");
            ts_fixture_text(&f, 0x00281053, "DS", rows[r].slope);
            ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", values, sizeof values);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_eq(source->image.dtype, TS_F32);
        free(ts_test_read_all(source, diag));
        int64_t n = 0;
        for (int64_t z = 0; z < SLICES; z++)
            n += source->slices[z].rounding.n;
        cr_expect_eq(n > 0, rows[r].counted, "row %zu: %lld", r, (long long)n);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Two slices whose gap is stated are as good as three. */
Test(dicom_units, two_slices_whose_spacing_is_stated_are_not_warned_of)
{
    static const struct {
        const char *between, *thickness;
        bool warned;
    } rows[] = {{"2", "5", false}, {"-2", "5", false}, {"2.01", "2", false},
                {"", "2", true},   {"", "5", true},    {"3", "5", true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256], text[32];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int z = 0; z < 2; z++) {
            struct dicom_fixture f;
            ts_fixture_init(&f, z);
            snprintf(text, sizeof text, "1\\2\\%d", 2 * z);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            ts_fixture_text(&f, 0x00180050, "DS", rows[r].thickness);
            ts_fixture_text(&f, 0x00180088, "DS", rows[r].between);
            ts_fixture_finish(&f, folder, z);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_eq(is_warned(diag, "2 slices are one gap"), rows[r].warned, "row %zu", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Writes a file of four frames, whose pixels lack some bytes. */
static void write_frames(const char *folder, size_t lost)
{
    static const uint16_t pixels[4 * PIXELS];
    static struct dicom_bytes shared, item, frame, frames, group;
    struct dicom_fixture f;
    shared.n = item.n = frames.n = group.n = 0;
    ts_bytes_text(&group, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    ts_bytes_group(&shared, 0x00209116, &group);
    group.n = 0;
    ts_bytes_text(&group, 0x00280030, "DS", "0.7\\0.8");
    ts_bytes_group(&shared, 0x00289110, &group);
    ts_bytes_item(&item, &shared);
    for (int z = 0; z < 4; z++) {
        char text[32];
        frame.n = group.n = 0;
        snprintf(text, sizeof text, "1\\2\\%d", 2 * z);
        ts_bytes_text(&group, 0x00200032, "DS", text);
        ts_bytes_group(&frame, 0x00209113, &group);
        ts_bytes_item(&frames, &frame);
    }
    ts_fixture_init_mr(&f, 0);
    ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    ts_fixture_text(&f, 0x00280008, "IS", "4");
    ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels - lost);
    ts_fixture_bytes(&f, 0x52009229, "SQ", item.at, item.n);
    ts_fixture_bytes(&f, 0x52009230, "SQ", frames.at, frames.n);
    ts_fixture_finish(&f, folder, 9);
}

/* A file counts once, however many frames it has. */
Test(dicom_units, a_file_of_frames_that_is_cut_is_one_file)
{
    static const struct {
        size_t lost;
        const char *text;
    } rows[] = {{0, NULL},
                {2, "1 of 1 file cannot be used"},
                {6 * PIXELS, "1 of 1 file cannot be used"},
                {8 * PIXELS - 2, "1 of 1 file cannot be used"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        write_frames(folder, rows[r].lost);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_eq(source == NULL, rows[r].text != NULL, "row %zu: %s", r,
                     ts_test_first_message(diag));
        if (source)
            source->ops->close(source);
        else
            ts_test_expect(diag, "dicom-pixels-short", rows[r].text);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}
