/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixel Padding Value is a stored value: pixels are compared with it before slope, intercept and Modality LUT.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "io/dicom_frames/dicom_source.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { N_PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

/* Stored values whose values cannot be told apart: a slope that floats do not show beside the intercept, or a table in
 * which all are one. Padding is what is stored as 5. */
static const int16_t close_values[N_PIXELS] = {4, 5, 6, 5, 0, 1, 2, 3, 7};

static void edit_close(struct dicom_fixture *fixture, int z, void *user)
{
    /* An item with the descriptor of 8 entries from 0 of 16 bits, an explanation, and the entries, all 100. */
    static const char item[] = "\xFE\xFF\x00\xE0\x26\0\0\0"
                               "\x28\0\x02\x30US\x06\0\x08\0\0\0\x10\0"
                               "\x28\0\x06\x30US\x10\0\x64\0\x64\0\x64\0\x64\0\x64\0\x64\0\x64\0\x64\0";
    (void)z;
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OW", close_values, sizeof close_values);
    ts_fixture_us(fixture, 0x00280120, 5);
    if (!user) {
        ts_fixture_text(fixture, 0x00281053, "DS", "1e-5");
        return;
    }
    ts_fixture_remove(fixture, 0x00281052);
    ts_fixture_remove(fixture, 0x00281053);
    ts_fixture_remove(fixture, 0x00281054);
    ts_fixture_bytes(fixture, 0x00283000, "SQ", item, sizeof item - 1);
}

Test(dicom_padding, padding_is_decided_on_stored_values)
{
    for (int table = 0; table < 2; table++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        double first, value;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, 3, edit_close, table ? "" : NULL);
        cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
        cr_assert(source->image.masked);
        void *data = ts_test_read_all(source, diag);
        ts_load_f64(&first, data, source->image.dtype, 1);
        for (int z = 0; z < 3; z++) {
            cr_assert_eq(*ts_source_valid(source, z), UINT64_MAX >> (64 - N_PIXELS) & ~(uint64_t)0xA);
            cr_assert_eq(source->slices[z].padding_count, 2);
            for (size_t i = 0; i < N_PIXELS; i++) {
                ts_load_f64(&value, (char *)data + ((size_t)z * N_PIXELS + i) * ts_dtype_bytes(source->image.dtype),
                            source->image.dtype, 1);
                cr_assert_float_eq(value, first, 1e-3);
            }
        }
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}
