/* SPDX-License-Identifier: Apache-2.0
 *
 * Acquisition Numbers of these series count the images rather than the volumes. The series are
 * volumes in the order of Content Time where the numbers say the same at every position, and
 * refused where anything says otherwise.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { VOLUMES = 3, SLICES = 4 };

/* This says how the images of a series are numbered and timed; image i is slice i % slices of
 * volume i / slices. */
struct counted {
    int slices; /* at positions of their own */
    enum { BY_IMAGE, BY_POSITION, FALLING, REPEATED, ABSENT_ONCE } acquisitions;
    enum { RISING, CROSSING, EQUAL, TWO_EQUAL } times;
    enum { WITH_THEM, AGAINST_THEM, NOT_STATED } instances;
    int lost;            /* images that the end of the series lacks */
    bool flips;          /* the flip angle differs at every position, too, and divides nothing */
    const char *message; /* of the refusal; NULL: it is read */
};

static void make(struct dicom_fixture *f, int i, void *user)
{
    const struct counted *counted = user;
    const int z = i % counted->slices, v = i / counted->slices;
    char text[64];
    const uint32_t removed[] = {0x00080022, 0x0008002A, 0x00080032};
    for (size_t k = 0; k < sizeof removed / sizeof *removed; k++)
        ts_fixture_remove(f, removed[k]);
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + 1.3 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    const int acquisition = counted->acquisitions == BY_POSITION ? 1 + z * VOLUMES + v
                            : counted->acquisitions == FALLING   ? 40 - i
                            : counted->acquisitions == REPEATED  ? 1 + (v + z) % 2
                                                                 : 1 + i;
    snprintf(text, sizeof text, "%d", acquisition);
    ts_fixture_text(f, 0x00200012, "IS", text);
    if (counted->acquisitions == ABSENT_ONCE && i == 5)
        ts_fixture_remove(f, 0x00200012);
    const int order = counted->times == CROSSING                        ? (v + z) % VOLUMES
                      : counted->times == TWO_EQUAL && v == 2 && z == 1 ? 1
                      : counted->times == EQUAL                         ? 0
                                                                        : v;
    ts_fixture_text(f, 0x00080023, "DA", "20240101");
    snprintf(text, sizeof text, "1059%02d", counted->times == EQUAL ? 0 : 10 * order + z);
    ts_fixture_text(f, 0x00080033, "TM", text);
    snprintf(text, sizeof text, "%d", counted->instances == AGAINST_THEM ? 40 - i : 1 + i);
    ts_fixture_text(f, 0x00200013, "IS", text);
    if (counted->instances == NOT_STATED)
        ts_fixture_remove(f, 0x00200013);
    if (counted->flips)
        ts_fixture_text(f, 0x00181314, "DS", (v + z) % 2 ? "10" : "20");
}

/* Checks that image i of the series is image i of the source, and that its times are those of the
 * first slices. */
static void check_order(struct source *source, const struct counted *counted, size_t row,
                        struct ts_diag *diag)
{
    cr_assert(source->n_volumes == VOLUMES && source->n_slices == counted->slices, "row %zu", row);
    cr_expect(source->volume_axis.kind == TS_AXIS_TIME && source->volume_axis.positions, "row %zu",
              row);
    for (int v = 0; v < VOLUMES && source->volume_axis.positions; v++)
        cr_expect_eq(source->volume_axis.positions[v], 10.0 * v, "row %zu", row);
    const size_t bytes = ts_slice_bytes(&source->image);
    char *data = malloc(VOLUMES * (size_t)counted->slices * bytes);
    cr_assert_eq(source->ops->read(source, 0, VOLUMES * counted->slices, data, diag), TS_OK);
    for (int i = 0; i < VOLUMES * counted->slices; i++) {
        double value;
        ts_load_f64(&value, data + (size_t)i * bytes, source->image.dtype, 1);
        cr_expect_eq(value, ts_fixture_stored(0, 0, i) - 1024.0, "row %zu, image %d: %g", row, i,
                     value);
    }
    free(data);
}

Test(dicom_acquisitions, that_count_images_are_volumes_where_all_orders_agree)
{
    static const char many[] = "12 images at 4 positions",
                      one[] = "all 3 images lie at one position";
    static const struct counted rows[] = {
        {SLICES, BY_IMAGE, RISING, WITH_THEM, 0, false, NULL},
        {SLICES, BY_POSITION, RISING, WITH_THEM, 0, false, NULL},
        {SLICES, BY_IMAGE, RISING, NOT_STATED, 0, false, NULL},
        {1, BY_IMAGE, RISING, WITH_THEM, 0, false, NULL},
        {SLICES, FALLING, RISING, WITH_THEM, 0, false, many},
        {SLICES, REPEATED, RISING, WITH_THEM, 0, false, many},
        {SLICES, ABSENT_ONCE, RISING, WITH_THEM, 0, false, many},
        {SLICES, BY_IMAGE, CROSSING, WITH_THEM, 0, false, many},
        {SLICES, BY_IMAGE, EQUAL, WITH_THEM, 0, false, many},
        {SLICES, BY_IMAGE, TWO_EQUAL, WITH_THEM, 0, false, many},
        {SLICES, BY_IMAGE, RISING, AGAINST_THEM, 0, false, many},
        {SLICES, BY_IMAGE, RISING, WITH_THEM, 1, false, "11 images at 4 positions"},
        {SLICES, BY_IMAGE, RISING, WITH_THEM, 0, true, many},
        {1, FALLING, RISING, WITH_THEM, 0, false, one},
        {1, BY_IMAGE, RISING, AGAINST_THEM, 0, false, one},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct counted row = rows[i];
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, VOLUMES * row.slices - row.lost, make, &row);
        const enum ts_status status =
            ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag);
        cr_assert_eq(status, row.message ? TS_BAD_INPUT : TS_OK, "row %zu: %s", i,
                     ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
        if (row.message) {
            ts_test_expect(diag, "position-repeated", row.message);
        } else {
            bool warned = false;
            for (size_t k = 0; k < ts_diag_count(diag); k++)
                warned |=
                    strstr(ts_diag_get(diag, k)->message,
                           "stands on Content Time and Acquisition Number, which rise together") !=
                    NULL;
            cr_expect(warned, "row %zu", i);
            check_order(source, &row, i, diag);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}
