/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is written through a stream has its name when all of it is there, and not before; a
 * file that it would replace stays until then, and longer where the new one fails. Devices are
 * written as they are.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/whole_file.h"
#include "tests/files/output_fixture.h"
#include "tests/support/folders.h"

static char folder[256], path[300];
static struct ts_diag *diag;
static struct whole_file file;

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.txt", folder);
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

TestSuite(whole_file, .init = begin, .fini = end);

static void write_whole(const char *text)
{
    cr_assert_eq(ts_whole_file_open(&file, path, true, diag), TS_OK);
    fputs(text, file.stream);
    cr_assert_eq(ts_whole_file_close(&file, diag), TS_OK);
}

static void expect_content(const char *expected)
{
    size_t bytes;
    unsigned char *content = ts_test_read_file(path, &bytes);
    cr_expect(bytes == strlen(expected) && !memcmp(content, expected, bytes));
    free(content);
    cr_expect_eq(ts_test_count_files(folder, ""), 1, "something else is left in the folder");
}

Test(whole_file, has_its_name_when_it_is_whole)
{
    struct stat status;
    const mode_t mask = umask(027);
    cr_assert_eq(ts_whole_file_open(&file, path, false, diag), TS_OK);
    fputs("all of it", file.stream);
    fflush(file.stream);
    cr_expect_neq(access(path, F_OK), 0);
    cr_assert_eq(ts_whole_file_close(&file, diag), TS_OK);
    umask(mask);
    expect_content("all of it");
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0640);
}

Test(whole_file, replaces_another_when_it_is_whole)
{
    write_whole("old");
    cr_assert_eq(ts_whole_file_open(&file, path, true, diag), TS_OK);
    fputs("new", file.stream);
    fflush(file.stream);
    size_t bytes;
    unsigned char *content = ts_test_read_file(path, &bytes);
    cr_expect(bytes == 3 && !memcmp(content, "old", 3));
    free(content);
    cr_assert_eq(ts_whole_file_close(&file, diag), TS_OK);
    expect_content("new");
}

Test(whole_file, leaves_another_where_it_must_not_or_cannot_be_replaced)
{
    write_whole("old");
    cr_expect_eq(ts_whole_file_check(path, false, diag), TS_RUN_FAILED);
    cr_expect_eq(ts_whole_file_open(&file, path, false, diag), TS_RUN_FAILED);
    cr_expect(ts_test_has_code(diag, "output-exists"));
    expect_content("old");
    cr_assert_eq(ts_whole_file_open(&file, path, true, diag), TS_OK);
    fputs("half of", file.stream);
    ts_whole_file_discard(&file);
    expect_content("old");
    cr_assert_eq(ts_whole_file_open(&file, path, true, diag), TS_OK);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    cr_assert(full >= 0 && dup2(full, file.commit.fd) >= 0);
    close(full);
    fputs("too much", file.stream);
    cr_expect_eq(ts_whole_file_close(&file, diag), TS_RUN_FAILED);
    cr_expect(ts_test_has_code(diag, "disk-full"));
    expect_content("old");
}

Test(whole_file, checks_without_a_trace)
{
    cr_expect_eq(ts_whole_file_check(path, false, diag), TS_OK);
    cr_expect_eq(ts_test_count_files(folder, ""), 0);
    cr_expect_eq(ts_whole_file_check("/dev/null/a", true, diag), TS_RUN_FAILED);
    cr_expect_eq(ts_whole_file_check(folder, true, diag), TS_RUN_FAILED);
    cr_expect(ts_test_has_code(diag, "output-not-a-file"));
}

Test(whole_file, writes_devices_as_they_are)
{
    cr_expect_eq(ts_whole_file_check("/dev/null", true, diag), TS_OK);
    for (int full = 0; full < 2; full++) {
        cr_assert_eq(ts_whole_file_open(&file, full ? "/dev/full" : "/dev/null", true, diag),
                     TS_OK);
        fputs("a text", file.stream);
        cr_expect_eq(ts_whole_file_close(&file, diag), full ? TS_RUN_FAILED : TS_OK);
    }
    cr_expect(ts_test_has_code(diag, "disk-full"));
    struct stat status;
    cr_expect(stat("/dev/full", &status) == 0 && S_ISCHR(status.st_mode));
}
