/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of headers that cannot be read: files are refused for those that might tell images apart,
 * and others are warned of by name. What can be read stays readable, however it is written.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { POSITIONS = 4, VOLUMES = 2, IMAGES = POSITIONS * VOLUMES };

TestSuite(dicom_unread);

struct numbers {
    uint32_t tag;
    const char *vr, *first, *second; /* of the images of each volume */
    const char *told;                /* what the message holds; NULL: both volumes are read */
    bool implicit;
};

/* Writes two volumes that differ in nothing but this number, and in Instance Number. */
static void write_volumes(const char *folder, const struct numbers *row, bool numbered)
{
    for (int i = 0; i < IMAGES; i++) {
        struct dicom_fixture f;
        const int v = i / POSITIONS;
        const char *text = v == 0 ? row->first : row->second;
        char number[16], uid[32];
        ts_fixture_init_mr(&f, i % POSITIONS);
        if (row->implicit)
            ts_fixture_syntax(&f, FIXTURE_IMPLICIT_LE);
        snprintf(number, sizeof number, "%d", i + 1);
        snprintf(uid, sizeof uid, "1.2.3.%d", i + 1);
        ts_fixture_text(&f, 0x00080018, "UI", uid);
        if (numbered)
            ts_fixture_text(&f, 0x00200013, "IS", number);
        else
            ts_fixture_remove(&f, 0x00200013);
        ts_fixture_text(&f, row->tag, row->vr, text);
        if (row->tag == 0x0019100C)
            ts_fixture_text(&f, 0x00190010, "LO", "SIEMENS MR HEADER");
        ts_fixture_finish(&f, folder, i);
    }
}

/* Opens what was written, and returns the code of its refusal; "" if it is read. */
static void expect_row(const struct numbers *row, const char *code)
{
    char folder[256];
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    write_volumes(folder, row, row->tag != 0x00200013);
    const enum ts_status status = ts_test_open_dicom(folder, NULL, 0, &source, diag);
    bool found = !row->told;
    for (size_t i = 0; i < ts_diag_count(diag) && row->told; i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        found |= !strcmp(record->code, code) && strstr(record->message, row->told);
    }
    cr_expect(found, "%08x '%s': no %s", row->tag, row->first, row->told);
    cr_expect_eq(status == TS_OK, strcmp(code, "dicom-bad-value") != 0, "%08x '%s': %s", row->tag,
                 row->first, ts_test_first_message(diag));
    if (status == TS_OK)
        source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(dicom_unread, numbers_that_may_tell_images_apart_are_refused)
{
    static const struct numbers rows[] = {
        {0x00180081, "DS", "2,46", "4,92",
         "Echo Time (0018,0081) is no number that can be read, "
         "'2,46' of VR DS"},
        {0x00180081, "DS", "2,460000", "4,920000", "'2,460000' of VR (implicit)", true},
        {0x00180081, "DS", "2.46", "4,92", "'4,92' of VR DS"},
        {0x00180081, "DS", "\\2.46", "\\4.92", "'\\2.46' of VR DS"},
        {0x00180081, "DS", "2.46 ms", "4.92 ms", "'2.46 ms' of VR DS"},
        {0x00180082, "DS", "100,5", "200,5", "InversionTime (0018,0082)"},
        {0x00180080, "DS", "1.2.3", "1.2.4", "RepetitionTime (0018,0080)"},
        {0x00181314, "DS", "ten", "twenty", "'ten' of VR DS"},
        {0x00180060, "DS", "--", "80", "KVP (0018,0060) is no number that can be read, '--'"},
        {0x00181060, "DS", "1,0", "2,0", "Trigger Time (0018,1060)"},
        {0x00180050, "DS", "1,3", "2,6", "SliceThickness (0018,0050)"},
        {0x0019100C, "IS", "0", "1000,0", "b-value (0019,100c)"},
        {0x00189087, "FD", "0", "1000", "Diffusion b-value (0018,9087)"},
        {0x00200100, "IS", "1,", "2,", "Temporal Position Identifier (0020,0100)"},
        {0x00200012, "IS", "#1", "#2", "Acquisition Number (0020,0012)"},
        {0x00200013, "IS", "1a", "2a", "Instance Number (0020,0013)"},
        {0x00200011, "IS", "3\\4", "3\\5", "Series Number (0020,0011)"},
        {0x00180081, "DS", "1e400", "2e400", "'1e400' of VR DS"},
        {0x00180081, "DS", "0x10", "0x20", "'0x10' of VR DS"},
        {0x00180081, "DS", "\x1b[1m", "\x1b[2m", "'\\x1B[1m' of VR DS"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_row(&rows[i], "dicom-bad-value");
}

Test(dicom_unread, numbers_that_tell_nothing_apart_are_warned_of)
{
    static const struct numbers rows[] = {
        {0x00180081, "DS", "2,46", "2,46", "Echo Time (0018,0081; VR DS)"},
        {0x00180060, "DS", "None", "None", "KVP (0018,0060; VR DS)"},
        {0x00180095, "DS", "200,5", "201,5", "PixelBandwidth (0018,0095; VR DS)"},
        {0x00281050, "DS", "40,5", "41", "WindowCenter (0028,1050; VR DS)"},
        {0x00080032, "TM", "12h30", "12h31", "Acquisition Time (0008,0032; VR TM)"},
        {0x00201002, "IS", "four", "five", "Images in Acquisition (0020,1002; VR IS)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_row(&rows[i], "dicom-series");
}

/* Two echo times make two series, so that each was read. */
Test(dicom_unread, numbers_in_odd_forms_are_read)
{
    static const struct numbers rows[] = {{0x00180081, "DS", "2.46", "4.92"},
                                          {0x00180081, "DS", "   2.46    ", "4.92"},
                                          {0x00180081, "DS", "2.4600000000000000000001", "4.92"},
                                          {0x00180081, "DS", "+2.46e0", "492E-2"},
                                          {0x00180081, "DS", "2.460000", "4.920000", NULL, true},
                                          {0x00180081, "DS", "2.46\r\n", "4.92\r\n"},
                                          {0x00180081, "IS", "2", "4"},
                                          {0x00180081, "LO", "2.46", "4.92"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        write_volumes(folder, &rows[i], true);
        cr_expect_eq(ts_test_open_dicom(folder, NULL, 0, &source, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "several-series", "the input holds 2 series, 2 of them fit for a run");
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* An element that cannot be read plays no part if another one gives the number, before or after
 * it. */
Test(dicom_unread, another_element_gives_the_number)
{
    static const struct {
        uint32_t tag;
        const char *vr, *before, *after; /* of the element that cannot be read, around the b-value;
                                            NULL: it is not a number */
        uint32_t block;
        const char *creator;
        uint32_t other; /* the element that gives the b-value */
    } rows[] = {{0x0019100C, "IS", "", ",0", 0x00190010, "SIEMENS MR HEADER", 0x00189087},
                {0x00431039, "IS", "b", "", 0x00430010, "GEMS_PARM_01", 0x00189087},
                {0x20011003, "DS", "", ",5", 0x20010010, "Philips Imaging DD 001", 0x00189087},
                {0x20011003, "FL", NULL, NULL, 0x20010010, "Philips Imaging DD 001", 0x00189087},
                {0x00189087, "LO", "b ", "", 0x00190010, "SIEMENS MR HEADER", 0x0019100C},
                {0x00189087, "LO", "b ", "", 0x00430010, "GEMS_PARM_01", 0x00431039}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256], text[32];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int image = 0; image < IMAGES; image++) {
            struct dicom_fixture f;
            const int b = image / POSITIONS * 1000;
            ts_fixture_init_mr(&f, image % POSITIONS);
            snprintf(text, sizeof text, "1.2.3.%d", image + 1);
            ts_fixture_text(&f, 0x00080018, "UI", text);
            snprintf(text, sizeof text, "%d", image + 1);
            ts_fixture_text(&f, 0x00200013, "IS", text);
            ts_fixture_text(&f, rows[i].block, "LO", rows[i].creator);
            snprintf(text, sizeof text, "%s%d%s", rows[i].before ? rows[i].before : "", b,
                     rows[i].after ? rows[i].after : "");
            if (rows[i].before)
                ts_fixture_text(&f, rows[i].tag, rows[i].vr, text);
            else
                ts_fixture_bytes(&f, rows[i].tag, "FL", &(float){NAN}, sizeof(float));
            snprintf(text, sizeof text, "%d", b);
            if (rows[i].other == 0x00189087)
                ts_fixture_bytes(&f, rows[i].other, "FD", &(double){b}, sizeof(double));
            else
                ts_fixture_text(&f, rows[i].other, "IS", text);
            ts_fixture_finish(&f, folder, image);
        }
        cr_assert_eq(ts_test_open_dicom(folder, NULL, 0, &source, diag), TS_OK, "row %zu: %s", i,
                     ts_test_first_message(diag));
        cr_expect_eq(source->n_volumes, VOLUMES, "row %zu", i);
        cr_expect_eq(source->volume_axis.kind, TS_AXIS_B, "row %zu", i);
        cr_expect_eq(source->volume_axis.positions[1], 1000, "row %zu", i);
        bool told = false;
        snprintf(text, sizeof text, "(%04x,%04x; VR", rows[i].tag >> 16, rows[i].tag & 0xFFFF);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            told |= strstr(ts_diag_get(diag, k)->message, text) != NULL;
        cr_expect_eq(told, rows[i].before != NULL, "row %zu", i); /* "not a number" is no number */
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* Edits of a whole series of one volume. */
static void remove_date(struct dicom_fixture *f, int z, void *user)
{
    (void)z;
    ts_fixture_text(f, 0x00080022, "DA", user);
    ts_fixture_text(f, 0x00080032, "TM", user);
}

Test(dicom_unread, values_that_were_taken_out_are_not_warned_of)
{
    static const char *const texts[] = {"***", "ANON", "        ", "2001.02.03"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char folder[256];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, POSITIONS, remove_date, (void *)texts[i]);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, 0, &source, diag), TS_OK);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            cr_expect(!strstr(ts_diag_get(diag, k)->message, "Acquisition Date"), "'%s'", texts[i]);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

/* Number of Slices of PET is a number of 16 bits, which implicit VR does not say: the bytes of 52
 * are those of the digit 4. */
Test(dicom_unread, counts_of_implicit_files_are_numbers)
{
    static const uint16_t counts[] = {POSITIONS, 48 + POSITIONS, VOLUMES, 48 + VOLUMES};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char folder[256];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int image = 0; image < IMAGES; image++) {
            struct dicom_fixture f;
            char number[16];
            ts_fixture_init(&f, image % POSITIONS);
            ts_fixture_syntax(&f, FIXTURE_IMPLICIT_LE);
            snprintf(number, sizeof number, "%d", image + 1);
            ts_fixture_text(&f, 0x00080018, "UI", number);
            ts_fixture_text(&f, 0x00200013, "IS", number);
            ts_fixture_text(&f, 0x00080060, "CS", "PT");
            ts_fixture_text(&f, 0x00541001, "CS", "BQML");
            ts_fixture_us(&f, i < 2 ? 0x00540081 : 0x00540101, counts[i]);
            ts_fixture_finish(&f, folder, image);
        }
        const enum ts_status status = ts_test_open_dicom(folder, NULL, 0, &source, diag);
        bool stated = false;
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            stated |= strstr(ts_diag_get(diag, k)->message, "as the header states") != NULL;
        cr_expect_eq(stated, i % 2 == 0, "%d: %s", counts[i], ts_test_first_message(diag));
        if (status == TS_OK)
            source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}
