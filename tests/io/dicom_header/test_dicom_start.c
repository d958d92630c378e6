/* SPDX-License-Identifier: Apache-2.0
 *
 * Files without preamble begin with the file meta group or with the data set. They are read where
 * they are whole, and are no DICOM files where the elements do not show it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"

static const struct {
    const char *syntax;
    bool meta;
    uint32_t removed; /* an element that the file lacks; 0: none */
    bool read;
} rows[] = {
    {FIXTURE_EXPLICIT_LE, true, 0, true},
    {FIXTURE_IMPLICIT_LE, true, 0, true},
    {FIXTURE_DEFLATED, true, 0, true},
    {FIXTURE_EXPLICIT_LE, false, 0, true},
    {FIXTURE_IMPLICIT_LE, false, 0, true},
    {FIXTURE_EXPLICIT_BE, false, 0, true},
    {FIXTURE_EXPLICIT_LE, false, 0x00080016, false}, /* SOP Class UID */
    {FIXTURE_EXPLICIT_LE, false, FIXTURE_PIXELS, false},
    {FIXTURE_DEFLATED, false, 0, false},
};

Test(dicom_start, files_without_preamble_are_read_where_they_are_whole)
{
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/bare", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dicom_fixture fixture;
        struct dicom_other other;
        struct dicom_file file;
        struct arena *arena = ts_arena_create();
        ts_fixture_init(&fixture, 3);
        ts_fixture_syntax(&fixture, rows[i].syntax);
        fixture.no_preamble = true;
        fixture.no_meta = !rows[i].meta;
        if (rows[i].removed)
            ts_fixture_remove(&fixture, rows[i].removed);
        ts_fixture_write(&fixture, path);
        const bool read = ts_dicom_scan_file(path, arena, &file, &other);
        cr_expect_eq(read, rows[i].read, "row %zu", i);
        if (read) {
            cr_expect_null(file.refusal, "row %zu: %s", i, file.refusal);
            cr_expect_str_eq(file.warning,
                             "the file has no preamble, and was read from its first element");
            cr_expect_str_eq(file.syntax_uid, rows[i].syntax);
            cr_expect_eq(file.rows, FIXTURE_ROWS);
        } else {
            cr_expect_eq(other.kind, DICOM_NO_MAGIC, "row %zu", i);
        }
        ts_fixture_clear(&fixture);
        ts_arena_destroy(arena);
    }
    ts_test_remove_folder(folder);
}
