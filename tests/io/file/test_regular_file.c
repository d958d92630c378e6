/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is looked at again is as it was, was changed, or cannot be looked at any more; the
 * three are told apart.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/regular_file.h"
#include "tests/files/dicom_open.h"
#include "tests/support/folders.h"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_recheck(const char *path, int fd, const struct stat *found, const char *code,
                           const char *words)
{
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status =
        ts_regular_file_recheck(path, fd, found, (struct diag_site){0}, diag);
    cr_expect_eq(status, code ? TS_BAD_INPUT : TS_OK);
    if (code)
        ts_test_expect(diag, code, words);
    ts_diag_destroy(diag);
}

Test(regular_file, recheck_says_what_happened)
{
    char folder[256], path[300], reason[300];
    struct stat found;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a", folder);
    write_text(path, "before");
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    cr_assert_geq(fd, 0);
    expect_recheck(path, fd, &found, NULL, NULL);
    expect_recheck(path, -1, &found, NULL, NULL);
    write_text(path, "and after");
    expect_recheck(path, fd, &found, "file-changed", "was changed while it was read");
    expect_recheck(path, -1, &found, "file-changed", "was changed while it was read");
    cr_assert_eq(unlink(path), 0);
    expect_recheck(path, -1, &found, "input-unreadable",
                   "cannot be read any more: No such file or directory");
    close(fd);
    expect_recheck(path, fd, &found, "input-unreadable",
                   "cannot be read any more: Bad file descriptor");
    cr_assert_eq(rmdir(folder), 0);
}
