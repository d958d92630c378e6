/* SPDX-License-Identifier: Apache-2.0
 *
 * Series whose images all lie at one position, and are volumes of one slice by their times.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { VOLUMES = 3 };

/* Images at one position, as in bolus tracking, of which only the named elements differ. */
struct bolus {
    uint32_t tag; /* the time that differs */
    const char *vr, *texts[VOLUMES];
    const char *temporal_positions; /* or NULL */
    int numbers[VOLUMES];           /* Instance Numbers */
    const char *message, *warning;  /* message NULL: it is read, in the order of the times */
};

static void make_bolus(struct dicom_fixture *f, int v, void *user)
{
    const struct bolus *bolus = user;
    char text[16];
    const uint32_t removed[] = {0x00080022, 0x0008002A, 0x00080032, 0x00080023, 0x00080033};
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        ts_fixture_remove(f, removed[i]);
    ts_fixture_text(f, 0x00200032, "DS", "-20.5\\-31.25\\100.125");
    ts_fixture_text(f, bolus->tag, bolus->vr, bolus->texts[v]);
    snprintf(text, sizeof text, "%d", bolus->numbers[v]);
    ts_fixture_text(f, 0x00200013, "IS", text);
    ts_fixture_text(f, 0x00200012, "IS",
                    bolus->tag == 0x00080033 ? "1" : text); /* else one acquisition each */
    if (bolus->temporal_positions)
        ts_fixture_text(f, 0x00200105, "IS", bolus->temporal_positions);
}

#define AT_ONE "all 3 images lie at one position"
#define OF_TIMES                                                                                   \
    {                                                                                              \
        "105958", "110000.5", "110002"                                                             \
    }

/* Each is a volume of one slice where each has a time of its own; equal times, and another number
 * of volumes that the header states, speak against it. */
Test(dicom_one_position, images_are_told_apart_by_their_times)
{
    static const struct bolus rows[] = {
        {0x00080032,
         "TM",
         OF_TIMES,
         NULL,
         {1, 2, 3},
         NULL,
         AT_ONE ": each is a volume of one slice"},
        {0x0008002A,
         "DT",
         {"20240101105958", "20240101110000.5", "20240101110002"},
         NULL,
         {1, 2, 3},
         NULL,
         "in the order of Acquisition Time"},
        {0x00080033,
         "TM",
         OF_TIMES,
         NULL,
         {1, 2, 3},
         NULL,
         "those of the volumes are of Content Time"},
        {0x00080033,
         "TM",
         OF_TIMES,
         NULL,
         {1, 2, 3},
         NULL,
         "stands on Content Time alone: 3 volumes of 1 slice"},
        {0x00080032,
         "TM",
         OF_TIMES,
         NULL,
         {3, 2, 1},
         NULL,
         "which Instance Number contradicts at all positions"},
        {0x00080032, "TM", OF_TIMES, "2", {1, 2, 3}, AT_ONE, NULL},
        {0x00080032, "TM", {"105958", "110000", "110000"}, NULL, {1, 2, 3}, AT_ONE, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bolus row = rows[i];
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, VOLUMES, make_bolus, &row);
        const enum ts_status status =
            ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag);
        cr_assert_eq(status, row.message ? TS_BAD_INPUT : TS_OK, "row %zu: %s", i,
                     ts_diag_get(diag, 0)->message);
        if (row.message)
            ts_test_expect(diag, "position-repeated", row.message);
        else {
            const double expected[VOLUMES] = {0, 2.5, 4};
            cr_assert(source->n_volumes == VOLUMES && source->n_slices == 1, "row %zu", i);
            cr_assert(source->volume_axis.kind == TS_AXIS_TIME && source->volume_axis.positions,
                      "row %zu", i);
            for (int v = 0; v < VOLUMES; v++)
                cr_expect_float_eq(source->volume_axis.positions[v], expected[v], 1e-9,
                                   "row %zu, %d", i, v);
            size_t n_said = 0;
            for (size_t k = 0; k < ts_diag_count(diag); k++)
                n_said += strstr(ts_diag_get(diag, k)->message, row.warning) != NULL;
            cr_expect_eq(n_said, 1, "row %zu", i);
            source->ops->close(source);
        }
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

static void make_volume(struct dicom_fixture *f, int z, void *user)
{
    char text[64];
    (void)user;
    ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.3");
    snprintf(text, sizeof text, "1.2.826.0.1.3680043.10.1.3.%d", z + 1);
    ts_fixture_text(f, 0x00080018, "UI", text);
}

/* A study holds the images by which the bolus was tracked beside the volume, and a run that names
 * none reads that. */
Test(dicom_one_position, a_volume_is_chosen_before_them)
{
    static const char *const names[] = {"bolus", "volume"};
    struct bolus bolus = {0x00080032, "TM", OF_TIMES, NULL, {1, 2, 3}, NULL, NULL};
    char folder[256], path[300];
    struct ts_diag *diag = ts_diag_create();
    struct source *source = NULL;
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        cr_assert_eq(mkdir(path, 0700), 0);
        ts_fixture_series(path, i ? 5 : VOLUMES, i ? make_volume : make_bolus, &bolus);
    }
    cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK, "%s",
                 ts_diag_get(diag, 0)->message);
    cr_expect(source->n_volumes == 1 && source->n_slices == 5);
    source->ops->close(source);
    ts_diag_destroy(diag);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ts_test_remove_folder(path);
    }
    ts_test_remove_folder(folder);
}
