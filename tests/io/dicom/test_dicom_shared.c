/* SPDX-License-Identifier: Apache-2.0
 *
 * Series whose writers gave one number or UID to what is not one: a SOP Instance UID for all images
 * of a position or of a volume, and Instance Numbers that begin anew in each volume of diffusion.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { VOLUMES = 3, SLICES = 4, IMAGES = VOLUMES * SLICES };

TestSuite(dicom_shared);

struct shared {
    enum { PER_IMAGE, PER_POSITION, PER_VOLUME, PER_SERIES, FOR_ONE_PAIR } uids;
    uint32_t tag; /* what tells volumes apart; 0: nothing but Instance Number */
    const char *vr, *values[VOLUMES];
    enum { RUNNING, ANEW, ABSENT } numbers;
    bool weighted, alike; /* images are of diffusion; volumes 1 and 2 have one gradient */
    const char *told;     /* what a message says */
    bool read;
};

static void write_shared(const char *folder, const struct shared *row)
{
    static const double gradients[VOLUMES][3] = {{0, 0.6, 0.8}, {0.6, 0.8, 0}, {0.8, 0, -0.6}};
    for (int i = 0; i < IMAGES; i++) {
        struct dicom_fixture f;
        const int v = i / SLICES, z = i % SLICES;
        const int uids[] = {i, z, v, 0, i == 1 ? 0 : i};
        const double b = 1000;
        char text[64];
        ts_fixture_init_mr(&f, i);
        snprintf(text, sizeof text, "1.2.3.%d", uids[row->uids]);
        ts_fixture_text(&f, 0x00080018, "UI", text);
        snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + 1.3 * z);
        ts_fixture_text(&f, 0x00200032, "DS", text);
        snprintf(text, sizeof text, "%d", 1 + (row->numbers == ANEW ? z : i));
        ts_fixture_text(&f, 0x00200013, "IS", text);
        if (row->numbers == ABSENT)
            ts_fixture_remove(&f, 0x00200013);
        if (row->tag)
            ts_fixture_text(&f, row->tag, row->vr, row->values[v]);
        if (row->weighted) {
            ts_fixture_bytes(&f, 0x00189087, "FD", &b, sizeof b);
            ts_fixture_bytes(&f, 0x00189089, "FD", gradients[row->alike && v == 2 ? 1 : v],
                             sizeof gradients[v]);
        }
        ts_fixture_finish(&f, folder, (7 * i) % IMAGES);
    }
}

/* Fails unless slice z of volume v is the image that was written as that. */
static void expect_order(struct source *source, size_t row, struct ts_diag *diag)
{
    cr_assert(source->n_volumes == VOLUMES && source->n_slices == SLICES, "row %zu", row);
    const size_t bytes = ts_slice_bytes(&source->image);
    char *data = malloc(IMAGES * bytes);
    cr_assert_eq(source->ops->read(source, 0, IMAGES, data, diag), TS_OK);
    for (int i = 0; i < IMAGES; i++) {
        double value;
        ts_load_f64(&value, data + (size_t)i * bytes, source->image.dtype, 1);
        cr_expect_eq(value, ts_fixture_stored(0, 0, i), "row %zu, image %d: %g", row, i, value);
    }
    free(data);
}

static void try_rows(const struct shared *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char folder[256];
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        write_shared(folder, &rows[i]);
        const enum ts_status status = ts_test_open_dicom(folder, NULL, 0, &source, diag);
        bool told = !rows[i].told;
        for (size_t k = 0; k < ts_diag_count(diag) && rows[i].told; k++) {
            const struct ts_diag_record *record = ts_diag_get(diag, k);
            told |= strstr(record->message, rows[i].told) ||
                    (record->hint && strstr(record->hint, rows[i].told));
        }
        cr_expect(told, "row %zu: %s", i, ts_test_first_message(diag));
        cr_expect_eq(status == TS_OK, rows[i].read, "row %zu: %s", i, ts_test_first_message(diag));
        if (status == TS_OK)
            expect_order(source, i, diag);
        if (status == TS_OK)
            source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

Test(dicom_shared, images_of_one_uid_that_something_tells_apart_are_read)
{
    static const char each[] = "each SOP Instance UID is that of";
    static const struct shared rows[] = {
        {PER_POSITION, 0x00200100, "IS", {"1", "2", "3"}, RUNNING, .told = each, .read = true},
        {PER_POSITION, 0x00200100, "IS", {"1", "2", "3"}, ANEW, .told = each, .read = true},
        {PER_POSITION, 0x00200012, "IS", {"1", "2", "3"}, RUNNING, .told = each, .read = true},
        {PER_POSITION,
         0x00080032,
         "TM",
         {"105900", "105910", "105920"},
         RUNNING,
         .told = each,
         .read = true},
        {PER_VOLUME, 0x00200100, "IS", {"1", "2", "3"}, RUNNING, .told = each, .read = true},
        {PER_SERIES, 0x00200100, "IS", {"1", "2", "3"}, RUNNING, .told = each, .read = true},
        {PER_POSITION, 0, .numbers = RUNNING,
         .told = "write a SOP Instance UID of its own into each file"},
        {PER_POSITION, 0, .numbers = ANEW, .told = "remove the one that is wrong"},
        {FOR_ONE_PAIR,
         0x00200100,
         "IS",
         {"1", "2", "3"},
         RUNNING,
         .told = "have one SOP Instance UID but different content"}};
    try_rows(rows, sizeof rows / sizeof *rows);
}

Test(dicom_shared, instance_numbers_that_begin_anew_leave_the_order_to_gradients)
{
    static const char anew[] = "the Instance Numbers give the volumes no order";
    static const struct shared rows[] = {
        {.numbers = ANEW, .weighted = true, .told = anew, .read = true},
        {.numbers = ABSENT, .weighted = true, .told = anew, .read = true},
        {.numbers = RUNNING, .weighted = true, .read = true},
        {.tag = 0x00200100,
         .vr = "IS",
         .values = {"1", "2", "3"},
         .numbers = ANEW,
         .weighted = true,
         .read = true},
        {.numbers = ANEW,
         .weighted = true,
         .alike = true,
         .told = "12 images at 4 positions"},                   /* two volumes of one gradient */
        {.numbers = ANEW, .told = "12 images at 4 positions"}}; /* none are weighted */
    try_rows(rows, sizeof rows / sizeof *rows);
}
