/* SPDX-License-Identifier: Apache-2.0
 *
 * A source describes its acquisition: numbers of the volume and of slices, and texts, of which
 * those that lead to a person are left out, replaced or kept. Rectangles of its pixels are
 * blackened.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom/dicom_identity.h"
#include "io/source/metadata.h"
#include "io/source/source_slices.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { N_SLICES = 3 };

static const double boxes[] = {0, 0, 2, 3, 5, 4, 7, 5};

struct study {
    char folder[256], key[300];
    struct ts_diag *diag;
    struct source *source;
    struct dicom_params params;
    struct param_set set;
};

static void edit(struct dicom_fixture *fixture, int z, void *user)
{
    char text[32];
    (void)user;
    ts_fixture_text(fixture, 0x00080022, "DA", "20240301");
    snprintf(text, sizeof text, "2359%02d.5", 58 + z % 2);
    if (z == 2) { /* after midnight */
        ts_fixture_text(fixture, 0x00080022, "DA", "20240302");
        snprintf(text, sizeof text, "000001.0");
    }
    ts_fixture_text(fixture, 0x00080032, "TM", text);
    ts_fixture_text(fixture, 0x00080070, "LO", "SIEMENS");
    ts_fixture_text(fixture, 0x0008103E, "LO", "Head of Jane Roe");
    ts_fixture_text(fixture, 0x00081090, "LO", "Jane's scanner");
    ts_fixture_text(fixture, 0x00100020, "LO", "PAT-7");
    ts_fixture_text(fixture, 0x00180060, "DS", "120");
    ts_fixture_text(fixture, 0x00180081, "DS", "30");
    ts_fixture_text(fixture, 0x00200011, "IS", "19610314");
    snprintf(text, sizeof text, "%d", 100 + 50 * z);
    ts_fixture_text(fixture, 0x00181151, "IS", text);
}

static void begin(struct study *study)
{
    *study = (struct study){.diag = ts_diag_create()};
    ts_test_folder_in_memory(study->folder, sizeof study->folder);
    snprintf(study->key, sizeof study->key, "%s.key", study->folder);
    ts_fixture_series(study->folder, N_SLICES, edit, NULL);
    study->set = (struct param_set){.params = dicom_format.params,
                                    .n_params = dicom_format.n_params,
                                    .values = &study->params,
                                    .owner = "input"};
    ts_params_init(&study->set);
}

static void give(struct study *study, const char *name)
{
    size_t i = 0;
    cr_assert_not_null(ts_param_find(study->set.params, study->set.n_params, name, &i));
    study->set.given |= 1u << i;
}

static enum ts_status open_study(struct study *study)
{
    const char *path = study->folder;
    study->params.dicom = (struct ts_texts){1, &path};
    return ts_source_open(&dicom_format, &study->set, &study->source, study->diag);
}

static void end(struct study *study)
{
    if (study->source)
        study->source->ops->close(study->source);
    ts_diag_destroy(study->diag);
    ts_test_remove_folder(study->folder);
    unlink(study->key);
}

static const struct source_attribute *attribute(const struct study *study, const char *name)
{
    for (size_t i = 0; i < study->source->n_attributes; i++)
        if (strcmp(study->source->attributes[i].name, name) == 0)
            return &study->source->attributes[i];
    return NULL;
}

static const char *text_of(const struct study *study, const char *name)
{
    const struct source_attribute *found = attribute(study, name);
    return found ? found->value : NULL;
}

static void write_key(const struct study *study, size_t bytes, mode_t mode)
{
    unsigned char key[64];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    FILE *file = fopen(study->key, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(key, 1, bytes, file), bytes);
    fclose(file);
    cr_assert_eq(chmod(study->key, mode), 0);
}

Test(dicom_metadata, numbers_are_of_the_volume_or_of_each_slice)
{
    struct study study;
    begin(&study);
    cr_assert_eq(open_study(&study), TS_OK);
    const struct source_attribute *voltage = attribute(&study, "tube_voltage");
    const struct source_attribute *current = attribute(&study, "tube_current");
    const struct source_attribute *time = attribute(&study, "acquisition_time_offset");
    cr_assert(voltage && current && time);
    cr_expect(voltage->n == 1 && voltage->numbers[0] == 120 && !strcmp(voltage->unit, "kV"));
    cr_expect(current->n == 3 && current->numbers[0] == 100 && current->numbers[2] == 200);
    cr_expect_null(attribute(&study, "series_number")); /* it is larger than any: a date */
    cr_expect(time->n == 3 && time->numbers[0] == 0 && time->numbers[1] == 1 &&
              time->numbers[2] == 2.5);
    char line[128];
    ts_metadata_format(current, line, sizeof line);
    cr_expect_str_eq(line, "tube current 100 to 200 mA");
    end(&study);
}

Test(dicom_metadata, a_range_of_slices_has_their_numbers)
{
    struct study study;
    const double range[] = {1, 3};
    begin(&study);
    study.params.slices = (struct ts_numbers){1, 2, range};
    cr_assert_eq(open_study(&study), TS_OK);
    const struct source_attribute *current = attribute(&study, "tube_current");
    cr_expect(current->n == 2 && current->numbers[0] == 150 && current->numbers[1] == 200);
    end(&study);
}

Test(dicom_metadata, json_has_the_keys_and_units_of_bids)
{
    struct study study;
    struct json json;
    char *text = NULL;
    size_t length = 0;
    begin(&study);
    cr_assert_eq(open_study(&study), TS_OK);
    FILE *stream = open_memstream(&text, &length);
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_metadata_json(&json, study.source->attributes, study.source->n_attributes);
    ts_json_close(&json, '}');
    fclose(stream);
    static const char *const parts[] = {"\"ImageType\":[\"ORIGINAL\",\"PRIMARY\",\"AXIAL\"]",
                                        "\"Modality\":\"CT\"",
                                        "\"EchoTime\":0.03",
                                        "\"KVP\":120",
                                        "\"XRayTubeCurrent\":[100,150,200]",
                                        "\"ManufacturersModelName\":\"unrecognized\"",
                                        "\"BurnedInAnnotation\":\"UNKNOWN\""};
    for (char *from = text, *to = text;;
         from++) /* without spaces, whatever the writer puts between */
        if (*from != ' ' && (*to++ = *from) == '\0')
            break;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(text, parts[i]), "%s lacks %s", text, parts[i]);
    free(text);
    end(&study);
}

Test(dicom_metadata, nothing_that_leads_to_a_person_by_default)
{
    struct study study;
    begin(&study);
    cr_assert_eq(open_study(&study), TS_OK);
    static const char *const names[] = {
        "series_description",     "acquisition_date", "study_instance_uid", "series_instance_uid",
        "frame_of_reference_uid", "contains_phi",     "patient_id",         "acquisition_time"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_null(attribute(&study, names[i]), "%s", names[i]);
    cr_expect_str_eq(text_of(&study, "manufacturer_model"), "unrecognized");
    cr_expect_str_eq(text_of(&study, "deidentification_codes"), "113100");
    cr_expect_str_eq(text_of(&study, "longitudinal_temporal_information_modified"), "REMOVED");
    end(&study);
}

Test(dicom_metadata, texts_uids_and_dates_are_kept_on_request)
{
    struct study study;
    begin(&study);
    study.params.deidentify = DEIDENTIFY_KEEP;
    cr_assert_eq(open_study(&study), TS_OK);
    cr_expect_str_eq(text_of(&study, "series_description"), "Head of Jane Roe");
    cr_expect_str_eq(text_of(&study, "series_instance_uid"), "1.2.826.0.1.3680043.10.1.2");
    cr_expect_str_eq(text_of(&study, "acquisition_date"), "20240301");
    cr_expect_str_eq(text_of(&study, "contains_phi"), "YES");
    cr_expect_null(attribute(&study, "deidentification_codes"));
    cr_expect_null(attribute(&study, "patient_id"));
    end(&study);
}

/* The UID was computed with Python's hmac. */
Test(dicom_metadata, a_key_replaces_uids)
{
    struct study study;
    begin(&study);
    write_key(&study, 32, 0600);
    study.params.uid_key_file = study.key;
    cr_assert_eq(open_study(&study), TS_OK);
    cr_expect_str_eq(text_of(&study, "series_instance_uid"),
                     "2.25.948156097589624553348713209253704512");
    cr_expect_str_eq(text_of(&study, "deidentification_codes"), "113100\\113107");
    cr_expect_null(attribute(&study, "series_description"));
    end(&study);
}

/* The days were computed with Python's hmac and datetime. */
Test(dicom_metadata, a_key_moves_dates)
{
    struct dicom_identity identity = {.key_bytes = 32};
    char moved[DICOM_DATE_BYTES];
    for (int i = 0; i < 32; i++)
        identity.key[i] = (unsigned char)i;
    cr_assert(ts_dicom_move_date(&identity, "PAT-7", "20240301", moved));
    cr_expect_str_eq(moved, "20230418");
    cr_assert(ts_dicom_move_date(&identity, "PAT-7", "20240229", moved));
    cr_expect_str_eq(moved, "20230417");
    static const char *const wrong[] = {"", "2024", "2024-03-01", "202403011", "mixed", "1 2 3 45"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(ts_dicom_move_date(&identity, "PAT-7", wrong[i], moved), "%s", wrong[i]);
}

Test(dicom_metadata, a_key_that_others_may_read_is_refused)
{
    static const struct {
        size_t bytes;
        mode_t mode;
        const char *code;
    } cases[] = {
        {32, 0640, "uid-key-open"}, {32, 0602, "uid-key-open"}, {15, 0600, "uid-key-length"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct study study;
        begin(&study);
        write_key(&study, cases[i].bytes, cases[i].mode);
        study.params.uid_key_file = study.key;
        cr_expect_neq(open_study(&study), TS_OK);
        cr_expect_not_null(ts_test_record(study.diag, cases[i].code), "%s", cases[i].code);
        end(&study);
    }
}

Test(dicom_metadata, a_key_without_use_or_file_is_refused)
{
    struct study study;
    begin(&study);
    study.params.uid_key_file = study.key;
    cr_expect_neq(open_study(&study), TS_OK);
    ts_test_expect(study.diag, "uid-key-open", "No such file");
    study.params.deidentify = DEIDENTIFY_KEEP;
    cr_expect_neq(open_study(&study), TS_OK);
    ts_test_expect(study.diag, "parameter-unused", "keep");
    end(&study);
}

Test(dicom_metadata, rectangles_are_blackened)
{
    struct study study;
    begin(&study);
    study.params.burned_in = BURNED_IN_MASK;
    study.params.mask_boxes = (struct ts_numbers){2, 4, boxes};
    study.params.mask_value = -1024;
    give(&study, "mask_value");
    cr_assert_eq(open_study(&study), TS_OK);
    cr_expect_str_eq(text_of(&study, "pixels_masked"), "YES");
    const int16_t *data = ts_test_read_all(study.source, study.diag);
    for (int z = 0; z < N_SLICES; z++)
        for (int y = 0; y < FIXTURE_ROWS; y++)
            for (int x = 0; x < FIXTURE_COLUMNS; x++) {
                const bool masked = (y < 2 && x < 3) || (y >= 5 && x >= 4);
                const int expected = masked ? -1024 : ts_fixture_stored(x, y, z) - 1024;
                cr_assert_eq(data[(z * FIXTURE_ROWS + y) * FIXTURE_COLUMNS + x], expected,
                             "(%d, %d, %d)", z, y, x);
            }
    free((void *)data);
    end(&study);
}

Test(dicom_metadata, masks_that_cannot_be_are_refused)
{
    static const double wide[] = {0, 0, 2, 6}, empty[] = {3, 0, 3, 2}, part[] = {0, 0, 1.5, 2};
    static const struct {
        const double *box;
        int32_t burned_in;
        double value;
        bool given;
        const char *code;
    } cases[] = {
        {wide, BURNED_IN_MASK, 0, true, "mask-boxes"},
        {empty, BURNED_IN_MASK, 0, true, "mask-boxes"},
        {part, BURNED_IN_MASK, 0, true, "mask-boxes"},
        {boxes, BURNED_IN_MASK, 0.5, true, "mask-value"},
        {boxes, BURNED_IN_MASK, 1e6, true, "mask-value"},
        {boxes, BURNED_IN_MASK, 0, false, "parameter-missing"},
        {NULL, BURNED_IN_MASK, 0, true, "parameter-missing"},
        {NULL, BURNED_IN_MASK, 0, false, "parameter-missing"},
        {boxes, BURNED_IN_ALLOW, 0, false, "parameter-unused"},
        {NULL, BURNED_IN_ALLOW, 0, true, "parameter-unused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct study study;
        begin(&study);
        study.params.burned_in = cases[i].burned_in;
        if (cases[i].box)
            study.params.mask_boxes = (struct ts_numbers){1, 4, cases[i].box};
        study.params.mask_value = cases[i].value;
        if (cases[i].given)
            give(&study, "mask_value");
        cr_expect_eq(open_study(&study), TS_BAD_CHAIN, "%zu", i);
        const struct ts_diag_record *record = ts_test_record(study.diag, cases[i].code);
        cr_assert_not_null(record, "%zu: %s", i, cases[i].code);
        if (!cases[i].box && !cases[i].given)
            cr_expect_str_eq(record->message, "mask needs mask_boxes and mask_value as well");
        end(&study);
    }
}
