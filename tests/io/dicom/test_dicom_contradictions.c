/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers that contradict themselves or leave a doubt: numbers that are scrambled, positions that
 * Slice Location contradicts, corrections that differ from slice to slice, two slices by
 * themselves, orientations that jitter.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

/* ---- numbers that are scrambled -------------------------------------------------------------- */

enum { PLACES = 6 };
enum count {
    COUNT_TEMPORAL,
    COUNT_GE,
    COUNT_PHILIPS,
    COUNT_PHILIPS_DYNAMICS,
    COUNT_PET,
    COUNT_ACQUISITION,
    COUNT_NONE
};

struct scrambled_row {
    enum count count; /* what states how many volumes or slices there are */
    bool content_times;
    int weightings;          /* b-values: of 3 volumes the first two are not weighted */
    int numbers[3 * PLACES]; /* Instance Numbers, volume by volume */
    const char *text;        /* of the refusal; NULL: it is read in the order of the volumes */
};

static void state_count(struct dicom_fixture *f, enum count count)
{
    if (count == COUNT_TEMPORAL)
        ts_fixture_text(f, 0x00200105, "IS", "2");
    if (count == COUNT_ACQUISITION)
        ts_fixture_text(f, 0x00201002, "IS", "6");
    if (count == COUNT_GE) {
        ts_fixture_text(f, 0x00210010, "LO", "GEMS_RELA_01");
        ts_fixture_bytes(f, 0x0021104F, "SS", "\6", 2);
    }
    if (count == COUNT_PHILIPS || count == COUNT_PHILIPS_DYNAMICS)
        ts_fixture_text(f, 0x20010010, "LO", "Philips Imaging DD 001");
    if (count == COUNT_PHILIPS)
        ts_fixture_bytes(f, 0x20011018, "SL", "\6\0\0", 4);
    if (count == COUNT_PHILIPS_DYNAMICS)
        ts_fixture_text(f, 0x20011081, "IS", "2");
    if (count == COUNT_PET) {
        ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.128");
        ts_fixture_text(f, 0x00080060, "CS", "PT");
        ts_fixture_us(f, 0x00540081, PLACES);
    }
}

static void write_scrambled(const char *folder, const struct scrambled_row *row)
{
    const int volumes = row->weightings > 0 ? 3 : 2;
    for (int i = 0; i < volumes * PLACES; i++) {
        struct dicom_fixture f;
        char text[32];
        const double b = i / PLACES < 2 ? 0 : 1000;
        ts_fixture_init_mr(&f, i);
        snprintf(text, sizeof text, "1\\2\\%d", 3 * (i % PLACES));
        ts_fixture_text(&f, 0x00200032, "DS", text);
        snprintf(text, sizeof text, "%d", row->numbers[i]);
        ts_fixture_text(&f, 0x00200013, "IS", text);
        snprintf(text, sizeof text, "1200%02d", row->numbers[i]);
        if (row->content_times)
            ts_fixture_text(&f, 0x00080033, "TM", text);
        state_count(&f, row->count);
        if (row->weightings > 0)
            ts_fixture_bytes(&f, 0x00189087, "FD", &b, sizeof b);
        ts_fixture_finish(&f, folder, i);
    }
}

Test(dicom_contradictions, counts_do_not_hide_scrambled_numbers)
{
#define SCRAMBLED                                                                                  \
    {                                                                                              \
        4, 1, 2, 6, 8, 3, 12, 5, 7, 10, 9, 11                                                      \
    }
    static const struct scrambled_row rows[] = {
        {COUNT_TEMPORAL, false, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_GE, false, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_PHILIPS, false, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_PHILIPS_DYNAMICS, true, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_PET, false, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_ACQUISITION, true, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_NONE, true, 0, SCRAMBLED, "12 images at 6 positions"},
        {COUNT_NONE,
         false,
         1,
         {4, 1, 2, 6, 8, 3, 12, 5, 7, 10, 9, 11, 13, 14, 15, 16, 17, 18},
         "18 images"},
        /* one volume after the other, whatever the order in each */
        {COUNT_TEMPORAL, false, 0, {4, 1, 2, 6, 5, 3, 12, 8, 7, 10, 9, 11}, NULL},
        {COUNT_PHILIPS, false, 0, {6, 5, 4, 3, 2, 1, 7, 8, 9, 10, 11, 12}, NULL},
        {COUNT_NONE, false, 0, {1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12}, NULL},
        {COUNT_NONE,
         false,
         1,
         {4, 1, 2, 6, 5, 3, 12, 8, 7, 10, 9, 11, 13, 14, 15, 16, 17, 18},
         NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        write_scrambled(folder, &rows[r]);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_eq(source == NULL, rows[r].text != NULL, "row %zu: %s", r,
                     ts_test_first_message(diag));
        if (source) {
            unsigned char *data = ts_test_read_volumes(source, diag);
            for (int i = 0; i < ts_source_total(source); i++)
                cr_expect_eq(ts_test_value(source, data, (size_t)(i * PIXELS)),
                             ts_fixture_stored(0, 0, i), "row %zu", r);
            free(data);
            source->ops->close(source);
        } else {
            ts_test_expect(diag, "position-repeated", rows[r].text);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- volumes of which two attributes make others --------------------------------------------- */

Test(dicom_contradictions, attributes_that_make_other_volumes_are_warned_of)
{
    static const struct {
        uint32_t tag; /* the volumes stand on it; shifted by one from slice to slice */
        int timed;    /* 1: the time of each volume; 2: one that rises from image to image */
        bool by_slice, shifted;
        const char *name, *contradiction; /* NULL: none */
    } rows[] = {
        {0x00200012, 1, false, true, "Acquisition Number", "Acquisition Time"},
        {0x00200012, 1, false, true, "Acquisition Number", "Instance Number"},
        {0x00200100, 1, false, true, "Temporal Position", "Acquisition Time"},
        {0x00200100, 0, false, true, "Temporal Position", "Instance Number"},
        {0x00200100, 0, true, true, "Temporal Position", "Instance Number"},
        {0x00200012, 2, true, true, "Acquisition Number", "Instance Number"},
        {0x00200012, 1, false, false, "Acquisition Number", NULL},
        {0x00200100, 2, true, false, "Temporal Position", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64], text[96];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 12; i++) { /* three volumes of four slices */
            struct dicom_fixture f;
            const int v = rows[r].by_slice ? i % 3 : i / 4, z = rows[r].by_slice ? i / 3 : i % 4;
            ts_fixture_init_mr(&f, i);
            snprintf(text, sizeof text, "1\\2\\%d", 3 * z);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            snprintf(text, sizeof text, "%d", i + 1);
            ts_fixture_text(&f, 0x00200013, "IS", text);
            snprintf(text, sizeof text, "%d", 1 + (v + (rows[r].shifted ? z : 0)) % 3);
            ts_fixture_text(&f, rows[r].tag, "IS", text);
            snprintf(text, sizeof text, "1200%02d", rows[r].timed == 1 ? 2 * v : i);
            if (rows[r].timed)
                ts_fixture_text(&f, 0x00080032, "TM", text);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        snprintf(text, sizeof text, "the volumes stand on %s, which %s contradicts", rows[r].name,
                 rows[r].contradiction ? rows[r].contradiction : "");
        size_t said = 0, any = 0;
        for (size_t i = 0; i < ts_diag_count(diag); i++) {
            said += strstr(ts_diag_get(diag, i)->message, text) != NULL;
            any += strstr(ts_diag_get(diag, i)->message, "contradicts") != NULL;
        }
        cr_expect_eq(said, rows[r].contradiction ? 1 : 0, "row %zu: %s", r,
                     ts_test_first_message(diag));
        cr_expect(rows[r].contradiction || any == 0, "row %zu", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* `duplicates: first` takes the lowest Instance Numbers, which are of both volumes or of one. */
Test(dicom_contradictions, first_images_of_several_volumes_are_warned_of)
{
    for (int r = 0; r < 6; r++) {
        char folder[64], text[64];
        const char *path = folder, *const names[] = {"b-value", "Temporal Position",
                                                     "diffusion gradient"};
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 6; i++) {
            struct dicom_fixture f;
            const int z = i / 2, v = (r % 2 && z == 1) ? 1 - i % 2 : i % 2;
            const double b = r / 2 == 0 ? 1000 * v : 1000, gradient[] = {v, 1 - v, 0};
            ts_fixture_init_mr(&f, i);
            snprintf(text, sizeof text, "1\\2\\%d", 3 * z);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            snprintf(text, sizeof text, "%d", i + 1);
            ts_fixture_text(&f, 0x00200013, "IS", text);
            snprintf(text, sizeof text, "%d", v + 1);
            if (r / 2 == 1)
                ts_fixture_text(&f, 0x00200100, "IS", text);
            ts_fixture_bytes(&f, 0x00189087, "FD", &b, sizeof b);
            if (r / 2 == 2)
                ts_fixture_bytes(&f, 0x00189089, "FD", gradient, sizeof gradient);
            ts_fixture_finish(&f, folder, i);
        }
        struct dicom_params params = {0};
        struct param_set set = {.params = dicom_format.params,
                                .n_params = dicom_format.n_params,
                                .values = &params,
                                .owner = "input"};
        struct source *source = NULL;
        ts_params_init(&set);
        params.dicom = (struct ts_texts){1, &path};
        params.duplicates = DUPLICATES_FIRST;
        cr_assert_eq(dicom_format.open(&set, &source, diag), TS_OK, "row %d: %s", r,
                     ts_test_first_message(diag));
        cr_expect(source->n_slices == 3 && source->n_volumes == 1);
        size_t said = 0;
        snprintf(text, sizeof text, "at each position differ in %s", names[r / 2]);
        for (size_t i = 0; i < ts_diag_count(diag); i++)
            said += strstr(ts_diag_get(diag, i)->message, text) != NULL;
        cr_expect_eq(said, (size_t)(r % 2), "row %d", r);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- slices that may not belong together ----------------------------------------------------- */

Test(dicom_contradictions, slices_that_may_not_belong_together_are_warned_of)
{
    static const struct {
        uint32_t tag;
        const char *vr, *first, *second, *text;
    } rows[] = {
        {0x00180050, "DS", "2", "1", "the slices differ in Slice Thickness"},
        {0x00180050, "DS", "1.25", "1.3", NULL},
        {0x0008103E, "LO", "arterial", "venous", "the slices differ in Series Description"},
        {0x0008103E, "LO", "arterial", "", "the slices differ in Series Description"},
        {0x00100010, "PN", "A^B", "C^D", "the slices differ in Patient's Name"},
        {0x00185100, "CS", "HFS", "FFS", "the slices differ in Patient Position"},
        {0x00185100, "CS", "HFP", "HFP", NULL}, /* MR has any orientation */
        {0x00209056, "SH", "1", "2", "the slices differ in Stack ID"},
        {0x00209056, "SH", "1", "1", NULL},
        {0x00080021, "DA", "20200101", "20210101", "the slices differ in Series Date"},
        {0x00080021, "DA", "20200101", "20200102", NULL}, /* past midnight */
        {0x00080022, "DA", "20200301", "20200228", "the slices differ in Acquisition Date"},
        {0x00080022, "DA", "20200301", "20200229", NULL},
        {0x00080022, "DA", "20200301", "", NULL},
        {0x20051010, "FL", "\0\0\200?", "\0\0\0@",
         "values of mr_scale: display do not compare"}, /* 1 and 2 */
        {0x20051010, "FL", "\0\0\200?", "\0\0\200?", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 6; i++) {
            struct dicom_fixture f;
            const char *value = i % 2 ? rows[r].second : rows[r].first;
            ts_fixture_init_mr(&f, i);
            ts_fixture_text(&f, 0x00100020, "LO", "1");
            ts_fixture_text(&f, 0x00181030, "LO", "one");
            if (rows[r].tag == 0x20051010) {
                ts_fixture_text(&f, 0x20050010, "LO", "Philips MR Imaging DD 001");
                ts_fixture_bytes(&f, 0x2005100D, "FL", "\0\0\0", 4);
                ts_fixture_bytes(&f, 0x2005100E, "FL", value, 4);
            } else {
                ts_fixture_text(&f, rows[r].tag, rows[r].vr, value);
            }
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        cr_expect_eq(source->n_slices, 6);
        if (rows[r].text)
            ts_test_expect_warning(diag, "dicom-series", rows[r].text);
        else
            cr_expect_eq(ts_diag_count(diag), 0, "row %zu: %s", r, ts_test_first_message(diag));
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Supine and prone, and which way rows go; decubitus says nothing of it. */
Test(dicom_contradictions, a_patient_position_that_contradicts_the_orientation_is_warned_of)
{
    static const struct {
        const char *position, *orientation;
        bool warned;
    } rows[] = {
        {"HFS", "1\\0\\0\\0\\1\\0", false},  {"FFS", "1\\0\\0\\0\\1\\0", false},
        {"FFS", "-1\\0\\0\\0\\1\\0", false}, {"HFP", "-1\\0\\0\\0\\-1\\0", false},
        {"FFP", "1\\0\\0\\0\\-1\\0", false}, {"HFDR", "0\\1\\0\\-1\\0\\0", false},
        {"HFDL", "1\\0\\0\\0\\1\\0", false}, {"HFS", "0\\1\\0\\0\\0\\-1", false},
        {"HFS", "-1\\0\\0\\0\\-1\\0", true}, {"HFP", "1\\0\\0\\0\\1\\0", true},
        {"FFP", "-1\\0\\0\\0\\1\\0", true},  {"FFS", "1\\0\\0\\0\\-1\\0", true},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        size_t said = 0;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 6; i++) {
            struct dicom_fixture f;
            ts_fixture_init(&f, i);
            ts_fixture_text(&f, 0x00200037, "DS", rows[r].orientation);
            char text[32];
            snprintf(text, sizeof text,
                     !strncmp(rows[r].orientation, "0\\1\\0\\0", 7) ? "%d\\0\\0" : "0\\0\\%d", i);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            ts_fixture_text(&f, 0x00185100, "CS", rows[r].position);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        for (size_t i = 0; i < ts_diag_count(diag); i++)
            said += strstr(ts_diag_get(diag, i)->message, "Patient Position is ") != NULL;
        cr_expect_eq(said, rows[r].warned, "%s %s", rows[r].position, rows[r].orientation);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* The axes of an animal on four legs have other names than those of people. */
Test(dicom_contradictions, animals_on_four_legs_are_warned_of)
{
    static const struct {
        const char *type, *recorded; /* NULL: not stated, not recorded */
        int n;                       /* slices that state it */
        const char *warning;
    } rows[] = {
        {"QUADRUPED", "QUADRUPED", 6, "the head (cranial) of an animal, where"},
        {"QUADRUPED", "mixed", 3, "of an animal in some of the slices only, where"},
        {"BIPED", "BIPED", 6, NULL},
        {"", NULL, 6, NULL},
        {"Jane Roe", "unrecognized", 6, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        const char *recorded = NULL;
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 6; i++) {
            struct dicom_fixture f;
            ts_fixture_init(&f, i);
            if (i < rows[r].n)
                ts_fixture_text(&f, 0x00102210, "CS", rows[r].type);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        if (rows[r].warning)
            ts_test_expect_warning(diag, "dicom-series", rows[r].warning);
        else
            cr_expect_eq(ts_diag_count(diag), 0, "row %zu: %s", r, ts_test_first_message(diag));
        for (size_t i = 0; i < source->n_attributes; i++)
            if (!strcmp(source->attributes[i].name, "anatomical_orientation"))
                recorded = source->attributes[i].value;
        cr_expect(recorded ? rows[r].recorded && !strcmp(recorded, rows[r].recorded)
                           : !rows[r].recorded,
                  "row %zu: %s", r, recorded ? recorded : "not recorded");
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- PET: corrections that differ ------------------------------------------------------------ */

struct correction_row {
    uint32_t tag;
    const char *vr, *first,
        *second;      /* of the slices, in turn or half and half; second "": not stated */
    const char *name; /* of the warning */
};

/* Six slices that differ in one attribute; `twice`: each position has both of its values. */
static void write_corrections(const char *folder, const struct correction_row *row, int half,
                              bool twice)
{
    for (int i = 0; i < 6; i++) {
        struct dicom_fixture f;
        char text[32];
        const bool first = half ? i < half : i % 2 == 0;
        ts_fixture_init(&f, i);
        ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.128");
        ts_fixture_text(&f, 0x00080060, "CS", "PT");
        ts_fixture_text(&f, 0x00541001, "CS", "BQML");
        snprintf(text, sizeof text, "1\\2\\%d", twice ? i % 3 : i);
        ts_fixture_text(&f, 0x00200032, "DS", text);
        ts_fixture_remove(&f, 0x00281054);
        if (*(first ? row->first : row->second))
            ts_fixture_text(&f, row->tag, row->vr, first ? row->first : row->second);
        ts_fixture_finish(&f, folder, i);
    }
}

Test(dicom_contradictions, pet_slices_that_were_not_corrected_alike_are_warned_of)
{
    static const struct correction_row rows[] = {
        {0x00541102, "CS", "START", "NONE", "Decay Correction"},
        {0x00541102, "CS", "ADMIN", "START", "Decay Correction"},
        {0x00541102, "CS", "START", "", "Decay Correction"},
        {0x00280051, "CS", "DECY\\ATTN\\SCAT", "DECY", "Corrected Image"},
        {0x00541101, "LO", "CT-derived mu-map", "NONE", "Attenuation Correction Method"},
        {0x00541105, "LO", "Model-based", "NONE", "Scatter Correction Method"},
        {0x00541100, "CS", "DLYD", "NONE", "Randoms Correction Method"},
        {0x00541103, "LO", "OSEM3D-TOF", "FBP", "Reconstruction Method"},
        {0x00541006, "CS", "BW", "LBM", "SUV Type"},
    };
    for (size_t r = 0; r < 3 * sizeof rows / sizeof *rows; r++) {
        const struct correction_row *row = &rows[r / 3];
        const int half = r % 3 == 0 ? 0 : 3;
        char folder[64], text[96];
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        ts_test_folder(folder, sizeof folder);
        write_corrections(folder, row, half, r % 3 == 2);
        if (r % 3 == 2) { /* they are series of their own */
            for (int i = 1; i <= 2; i++) {
                snprintf(text, sizeof text, "%d", i);
                cr_assert_eq(ts_test_open_dicom(folder, text, BURNED_IN_REFUSE, &source, diag),
                             TS_OK, "%s: %s", row->name, ts_test_first_message(diag));
                cr_expect_eq(source->n_slices, 3);
                source->ops->close(source);
            }
        } else {
            source = ts_test_open_take(folder, NULL, diag);
            cr_assert_not_null(source, "%s: %s", row->name, ts_test_first_message(diag));
            cr_expect_eq(source->n_slices, 6);
            snprintf(text, sizeof text, "the slices differ in %s: their values", row->name);
            ts_test_expect_warning(diag, "dicom-series", text);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- positions and Slice Location ------------------------------------------------------------ */

Test(dicom_contradictions, positions_that_slice_location_contradicts_are_refused)
{
    static const struct {
        double step, located; /* between slices */
        int positions;        /* 0: each slice has its own */
        bool timed;
        const char *code, *text;
    } rows[] = {
        {0, 3, 1, true, "position-contradicted", "their Slice Locations are 0.000 and 3.000 mm"},
        {0, 3, 1, false, "position-contradicted", "one of the two attributes was changed"},
        {0, 0.02, 1, true, "position-contradicted", "one of the two attributes was changed"},
        {1, 1, 4, true, "position-contradicted", "0.dcm and 4.dcm lie at one position"},
        {2, -2, 0, false, NULL, NULL}, /* it counts the other way */
        {2, 2.6, 0, false, NULL, NULL},
        {2, 0, 0, false, NULL, NULL}, /* it says nothing */
        {0.3, 3, 0, false, NULL,
         "Slice Locations say that slices are 3.000 mm apart, the positions 0.300"},
        {0, 0, 4, true, NULL, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 8; i++) {
            struct dicom_fixture f;
            char text[64];
            const int place = rows[r].positions > 1 ? i % rows[r].positions
                              : rows[r].positions   ? 0
                                                    : i;
            ts_fixture_init(&f, i);
            snprintf(text, sizeof text, "1\\2\\%g", (rows[r].step > 0 ? rows[r].step : 1) * place);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            snprintf(text, sizeof text, "%g", 0 + rows[r].located * i);
            ts_fixture_text(&f, 0x00201041, "DS", text);
            snprintf(text, sizeof text, "1200%02d", i);
            if (rows[r].timed)
                ts_fixture_text(&f, 0x00080032, "TM", text);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_eq(source == NULL, rows[r].code != NULL, "row %zu: %s", r,
                     ts_test_first_message(diag));
        if (source && rows[r].text)
            ts_test_expect_warning(diag, "dicom-series", rows[r].text);
        else if (rows[r].text)
            ts_test_expect(diag, rows[r].code, rows[r].text);
        else
            cr_expect(ts_diag_count(diag) == 0 ||
                          !strstr(ts_test_first_message(diag), "Slice Locations"),
                      "row %zu", r);
        if (source)
            source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- two slices, and orientations that jitter ------------------------------------------------ */

Test(dicom_contradictions, two_slices_without_room_between_them_are_a_volume)
{
    static const struct {
        double gap;
        const char *thickness, *text;
    } rows[] = {
        {1, "1.5", "in which no other fits: Slice Thickness is 1.500 mm"},
        {0.7, "5", "in which no other fits"},
        {1.3, "1.3", "which Slice Thickness confirms"},
        {1.6, "1.5", NULL},
        {1, "", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64], path[96];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 2; i++) {
            struct dicom_fixture f;
            char text[32];
            ts_fixture_init(&f, i);
            snprintf(text, sizeof text, "1\\2\\%g", rows[r].gap * i);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            ts_fixture_text(&f, 0x00180050, "DS", rows[r].thickness);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_eq(source != NULL, rows[r].text != NULL, "row %zu: %s", r,
                     ts_test_first_message(diag));
        if (source) {
            ts_test_expect_warning(diag, "dicom-series", rows[r].text);
            cr_expect_float_eq(source->image.axes[0].spacing, rows[r].gap, 1e-9);
        } else { /* the hint: one of the two files */
            ts_test_expect(diag, "slice-count", "");
            snprintf(path, sizeof path, "%s/1.dcm", folder);
            source = ts_test_open_take(path, NULL, diag);
            cr_assert_not_null(source);
            void *data = ts_test_read_volumes(source, diag);
            cr_expect_eq(ts_test_value(source, data, 0), ts_fixture_stored(0, 0, 1) - 1024);
            free(data);
        }
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

struct jitter_row {
    int slices, volumes;
    double jitter; /* radians */
    enum { ALTERNATING, DRIFTING, RANDOM, BY_VOLUME, ONE_LOST } how;
    int series, read; /* how many series, and slices of the first; 0: it is refused */
};

static double jitter_of(const struct jitter_row *row, int v, int z)
{
    static const double random[] = {0.3, -0.9, 0.1, 0.8, -0.4, 1, -0.2, 0.6, -0.7};
    switch (row->how) {
    case DRIFTING:
        return row->jitter * z;
    case RANDOM:
        return row->jitter * random[(z + 2 * v) % 9];
    case BY_VOLUME:
        return row->jitter * v;
    default:
        return z % 2 ? row->jitter : -row->jitter;
    }
}

Test(dicom_contradictions, orientations_that_jitter_are_one_volume)
{
    static const struct jitter_row rows[] = {
        {8, 1, 2e-4, ALTERNATING, 1, 8}, {9, 1, 1e-4, DRIFTING, 1, 9},
        {8, 1, 9e-4, RANDOM, 1, 8},      {5, 3, 3e-4, RANDOM, 1, 5},
        {3, 1, 2e-4, ALTERNATING, 1, 3}, {6, 2, 4e-4, ALTERNATING, 1, 6},
        {6, 2, 4e-4, BY_VOLUME, 2, 6},   {8, 1, 3e-3, ALTERNATING, 2, 4},
        {8, 1, 2e-4, ONE_LOST, 1, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct jitter_row *row = &rows[r];
        char folder[64];
        struct dicom_study study;
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < row->slices * row->volumes; i++) {
            struct dicom_fixture f;
            char text[96];
            const int v = i / row->slices, z = i % row->slices;
            const double angle = jitter_of(row, v, z);
            ts_fixture_init_mr(&f, i);
            snprintf(text, sizeof text, "1\\2\\%d", 3 * z);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            snprintf(text, sizeof text, "%.9f\\%.9f\\0\\%.9f\\%.9f\\0", cos(angle), sin(angle),
                     -sin(angle), cos(angle));
            ts_fixture_text(&f, 0x00200037, "DS", text);
            snprintf(text, sizeof text, "%d", v + 1);
            ts_fixture_text(&f, 0x00200100, "IS", text);
            if (row->how == ONE_LOST && z == 3)
                ts_fixture_clear(&f);
            else
                ts_fixture_finish(&f, folder, i);
        }
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, row->series, "row %zu: %zu", r, study.n);
        const struct dicom_series *series = &study.series[0];
        cr_assert_eq(series->refusal != NULL, row->read == 0, "row %zu: %s", r, series->refusal);
        if (row->read > 0) {
            cr_expect_eq(series->n_slices, row->read, "row %zu", r);
            cr_expect_float_eq(series->image.axes[0].spacing,
                               row->series > 1 && row->volumes == 1 ? 6 : 3, 1e-6);
            cr_expect(strstr(series->warnings[0],
                             row->series > 1 ? "are a series of their own" : "off their mean"),
                      "row %zu: %s", r, series->warnings[0]);
        } else {
            cr_expect_str_eq(series->refusal_code, "slice-missing");
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* ---- values that contradict their header ----------------------------------------------------- */

/* Returns true where a record of this severity says the text. */
static bool is_said(const struct ts_diag *diag, enum ts_severity severity, const char *text)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (ts_diag_get(diag, i)->severity == severity &&
            strstr(ts_diag_get(diag, i)->message, text))
            return true;
    return false;
}

struct value_row {
    const char *syntax;
    int sign, stored, high, dirt; /* dirt: bits that are set beside the value */
    uint32_t tag;                 /* an element that says more, of 16 bits */
    const char *vr;
    int value;
    const char *warning, *note; /* NULL: none */
};

Test(dicom_contradictions, values_that_contradict_their_header_are_warned_of)
{
    static const char sign[] = "Image Pixel Value is", bits[] = "no overlay is stated to lie there",
                      overlay[] = "an embedded overlay, perhaps";
    static const struct value_row rows[] = {
        {FIXTURE_EXPLICIT_LE, 0, 16, 15, 0, 0x00280106, "SS", -5, sign, NULL},
        {FIXTURE_EXPLICIT_BE, 0, 16, 15, 0, 0x00280106, "SS", -1024, sign, NULL},
        {FIXTURE_EXPLICIT_LE, 1, 16, 15, 0, 0x00280107, "US", 40000, sign, NULL},
        {FIXTURE_EXPLICIT_LE, 0, 16, 15, 0, 0x00280106, "US", 0, NULL, NULL},
        {FIXTURE_EXPLICIT_LE, 1, 16, 15, 0, 0x00280107, "SS", -3, NULL, NULL},
        {FIXTURE_IMPLICIT_LE, 0, 16, 15, 0, 0x00280106, "US", 65000, NULL, NULL},
        {FIXTURE_EXPLICIT_LE, 0, 12, 11, 0x8000, 0, NULL, 0, bits, NULL},
        {FIXTURE_IMPLICIT_LE, 0, 12, 11, 0x1000, 0, NULL, 0, bits, NULL},
        {FIXTURE_EXPLICIT_LE, 0, 12, 11, 0x8000, 0x60000102, "US", 15, NULL, overlay},
        {FIXTURE_EXPLICIT_BE, 0, 12, 11, 0x8000, 0x60020102, "US", 15, NULL, overlay},
        {FIXTURE_EXPLICIT_LE, 0, 12, 11, 0x8000, 0x60000102, "US", 0, bits, NULL},
        {FIXTURE_EXPLICIT_LE, 0, 12, 11, 0, 0x60000102, "US", 15, NULL, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct value_row *row = &rows[r];
        char folder[64];
        uint16_t pixels[PIXELS];
        struct dicom_fixture f;
        struct ts_diag *diag = ts_diag_create();
        const int16_t value = (int16_t)row->value;
        ts_test_folder(folder, sizeof folder);
        ts_fixture_init_mr(&f, 0);
        for (int i = 0; i < PIXELS; i++)
            pixels[i] = (uint16_t)(i | (i % 3 ? row->dirt : 0));
        ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
        ts_fixture_us(&f, 0x00280101, (uint16_t)row->stored);
        ts_fixture_us(&f, 0x00280102, (uint16_t)row->high);
        ts_fixture_us(&f, 0x00280103, (uint16_t)row->sign);
        if (row->tag)
            ts_fixture_bytes(&f, row->tag, row->vr, &value, sizeof value);
        ts_fixture_syntax(&f, row->syntax);
        ts_fixture_finish(&f, folder, 0);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
        void *data = ts_test_read_volumes(source, diag);
        for (int i = 0; i < PIXELS; i++)
            cr_expect_eq(ts_test_value(source, data, (size_t)i), i, "row %zu", r);
        const bool warned = is_said(diag, TS_WARNING, sign) || is_said(diag, TS_WARNING, bits);
        cr_expect_eq(warned, row->warning != NULL, "row %zu", r);
        cr_expect(!row->warning || is_said(diag, TS_WARNING, row->warning), "row %zu", r);
        cr_expect_eq(is_said(diag, TS_NOTE, overlay), row->note != NULL, "row %zu", r);
        free(data);
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

Test(dicom_contradictions, counts_of_philips_pet_are_said_to_be_counts)
{
    static const char *const rows[][3] = {{"CNTS", "Philips PET Private Group", "2.5"},
                                          {"BQML", "Philips PET Private Group", "2.5"},
                                          {"CNTS", "Philips PET Private Group", "0"},
                                          {"CNTS", "Other", "2.5"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < 3; i++) {
            struct dicom_fixture f;
            ts_fixture_init(&f, i);
            ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.128");
            ts_fixture_text(&f, 0x00080060, "CS", "PT");
            ts_fixture_remove(&f, 0x00281054);
            ts_fixture_text(&f, 0x00541001, "CS", rows[r][0]);
            ts_fixture_text(&f, 0x70530010, "LO", rows[r][1]);
            ts_fixture_text(&f, 0x70531009, "DS", rows[r][2]);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_not_null(source, "%s", ts_test_first_message(diag));
        cr_expect_eq(is_said(diag, TS_WARNING, "(7053,1009), 2.5, is not applied"), r == 0,
                     "row %zu", r);
        cr_expect_str_eq(source->image.unit, r == 1 ? "Bq/ml" : "counts");
        source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* Four frames whose positions were wiped, or not. */
Test(dicom_contradictions, frames_at_one_position_with_places_in_their_stack_are_refused)
{
    for (int r = 0; r < 3; r++) {
        static struct dicom_bytes shared, item, frame, frames, group;
        struct dicom_fixture f;
        char folder[64], text[32];
        const uint16_t pixels[4 * PIXELS] = {0};
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        shared.n = item.n = frames.n = group.n = 0;
        ts_bytes_text(&group, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
        ts_bytes_group(&shared, 0x00209116, &group);
        group.n = 0;
        ts_bytes_text(&group, 0x00280030, "DS", "1\\1");
        ts_bytes_group(&shared, 0x00289110, &group);
        ts_bytes_item(&item, &shared);
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t place = r == 1 ? 1 : k + 1, time = k + 1;
            frame.n = group.n = 0;
            ts_bytes_element(&group, 0x00209057, "UL", &place, sizeof place);
            ts_bytes_element(&group, 0x00209128, "UL", &time, sizeof time);
            ts_bytes_group(&frame, 0x00209111, &group);
            group.n = 0;
            snprintf(text, sizeof text, "1\\2\\%d", r == 2 ? (int)k : 3);
            ts_bytes_text(&group, 0x00200032, "DS", text);
            ts_bytes_group(&frame, 0x00209113, &group);
            ts_bytes_item(&frames, &frame);
        }
        ts_fixture_init_mr(&f, 0);
        ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
        ts_fixture_text(&f, 0x00280008, "IS", "4");
        ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
        ts_fixture_bytes(&f, 0x52009229, "SQ", item.at, item.n);
        ts_fixture_bytes(&f, 0x52009230, "SQ", frames.at, frames.n);
        ts_fixture_finish(&f, folder, 0);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_eq(source == NULL, r == 0, "row %d: %s", r, ts_test_first_message(diag));
        if (!source)
            ts_test_expect(diag, "position-contradicted",
                           "have In-Stack Position Numbers from 1 on");
        else
            source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}
