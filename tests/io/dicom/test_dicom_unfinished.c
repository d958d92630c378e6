/* SPDX-License-Identifier: Apache-2.0
 *
 * These series have volumes in time, and one image is lost. They are cut into volumes only where
 * the numbers of the images or the pauses between volumes say where each begins.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { VOLUMES = 3, SLICES = 4, LAST = VOLUMES * SLICES - 1 };

/* Image i is slice i % SLICES of volume i / SLICES. */
struct unfinished {
    int lost;    /* the image that is */
    int pause_s; /* between volumes, beside the second between images */
    enum { FROM_ONE, FROM_100, RESTARTED, NONE } numbers;
    const char *take;
    bool read; /* else nothing is */
};

static void make(struct dicom_fixture *f, int file, void *user)
{
    const struct unfinished *row = user;
    const int i = file + (file >= row->lost), v = i / SLICES, z = i % SLICES;
    char text[64];
    snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + 1.3 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    snprintf(text, sizeof text, "1059%02d", i + v * row->pause_s);
    ts_fixture_text(f, 0x00080022, "DA", "20240101");
    ts_fixture_text(f, 0x00080032, "TM", text);
    snprintf(text, sizeof text, "%d",
             row->numbers == RESTARTED ? 1 + z : i + (row->numbers == FROM_100 ? 100 : 1));
    ts_fixture_text(f, 0x00200013, "IS", text);
    if (row->numbers == NONE)
        ts_fixture_remove(f, 0x00200013);
}

static enum ts_status open_row(struct unfinished *row, const char *folder, struct source **source,
                               struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    ts_fixture_series(folder, LAST, make, row);
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &folder};
    params.take = (struct ts_texts){1, &row->take};
    return dicom_format.open(&set, source, diag);
}

/* Checks that every slice is that of the volume, whose number `take` is. */
static void check_slices(struct source *source, const struct unfinished *row, size_t at,
                         struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&source->image);
    char *data = ts_test_read_all(source, diag);
    cr_assert(source->n_volumes == 1 && source->n_slices == SLICES, "row %zu", at);
    for (int z = 0; z < SLICES; z++) {
        const int i = atoi(row->take) * SLICES + z;
        double value;
        ts_load_f64(&value, data + (size_t)z * bytes, source->image.dtype, 1);
        cr_expect_eq(value, ts_fixture_stored(0, 0, i - (i > row->lost)) - 1024.0,
                     "row %zu, slice %d: %g", at, z, value);
    }
    free(data);
}

Test(dicom_unfinished, volumes_are_cut_where_something_says_that_they_begin)
{
    static const struct unfinished rows[] = {
        {LAST, 0, FROM_ONE, "0", true},  {LAST, 0, FROM_ONE, "1", true},
        {LAST, 5, NONE, "1", true},      {LAST, 5, RESTARTED, "0", true},
        {LAST, 5, FROM_100, "1", true},  {LAST, 0, NONE, "0", false},
        {LAST, 0, FROM_100, "0", false}, {LAST, 0, RESTARTED, "0", false},
        {5, 0, FROM_ONE, "0", true},     {5, 0, FROM_ONE, "2", true},
        {5, 0, FROM_ONE, "1", false},    {0, 0, FROM_ONE, "0", false},
        {0, 0, FROM_ONE, "1", false},    {0, 5, FROM_ONE, "0", false},
        {0, 5, NONE, "1", false},        {0, 0, RESTARTED, "0", false},
        {4, 0, FROM_ONE, "0", false},    {4, 0, FROM_ONE, "1", false},
        {4, 5, NONE, "1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct unfinished row = rows[i];
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        ts_test_folder_in_memory(folder, sizeof folder);
        cr_assert_eq(open_row(&row, folder, &source, diag), row.read ? TS_OK : TS_BAD_INPUT,
                     "row %zu", i);
        if (source) {
            check_slices(source, &row, i, diag);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}
