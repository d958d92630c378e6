/* SPDX-License-Identifier: Apache-2.0
 *
 * `info` describes any file, or says why it cannot: damaged files, all syntaxes, and series that no
 * run would read. An alarm ends the test where one of them takes too long, since headers that
 * contradict themselves can make loops endless.
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_series/dicom_group.h"
#include "tests/files/dicom_fixture.h"
#include "tests/support/support.h"

enum { SECONDS = 60 };

static char described[1024]; /* the file that `info` is at */
static int n_described;

static void name_and_end(int signal)
{
    (void)signal;
    const ssize_t written = write(STDERR_FILENO, described, strlen(described));
    _exit(written < 0 ? 2 : 1);
}

/* Describes the file or folder, for people and for programs. Returns what was written for people,
 * to be freed. */
static char *describe(const char *path)
{
    char *texts[2] = {NULL, NULL};
    snprintf(described, sizeof described, "info takes more than %d s: %s\n", SECONDS, path);
    signal(SIGALRM, name_and_end);
    for (int json = 0; json < 2; json++) {
        size_t size = 0;
        struct ts_diag *diag = ts_diag_create();
        FILE *stream = open_memstream(&texts[json], &size);
        alarm(SECONDS);
        const enum ts_status status = ts_dicom_info(path, json, false, stream, diag);
        alarm(0);
        fclose(stream);
        cr_expect(status == TS_OK || (status == TS_BAD_INPUT && ts_diag_count(diag) > 0), "%s: %d",
                  path, status);
        ts_diag_destroy(diag);
    }
    free(texts[1]);
    return texts[0];
}

static int describe_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    if (kind == FTW_F) {
        free(describe(path));
        n_described++;
    }
    return 0;
}

Test(dicom_info, ends_for_every_file_of_the_public_sets, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_info/ends_for_every_file_of_the_public_sets");
    static const char *const folders[] = {"corrupt", "syntax"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", ts_test_data(), folders[i]);
        cr_assert_eq(nftw(path, describe_file, 16, FTW_PHYS), 0, "%s", path);
    }
    cr_assert_geq(n_described, 300);
}

enum refused { COLORS, PALETTE, INCOMPLETE, NO_POSITION };

/* Two volumes by Acquisition Number. */
static void make_refused(struct dicom_fixture *fixture, int i, void *user)
{
    const enum refused what = *(const enum refused *)user;
    char text[64];
    snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + 1.3 * (i % 4));
    ts_fixture_text(fixture, 0x00200032, "DS", text);
    ts_fixture_text(fixture, 0x00200012, "IS", i < 4 ? "1" : "2");
    if (what == COLORS) {
        ts_fixture_us(fixture, 0x00280002, 3);
        ts_fixture_text(fixture, 0x00280004, "CS", "RGB");
    } else if (what == PALETTE) {
        ts_fixture_text(fixture, 0x00280004, "CS", "PALETTE COLOR");
    } else if (what == NO_POSITION) {
        ts_fixture_remove(fixture, 0x00200032);
    }
}

Test(dicom_info, says_why_a_series_is_refused, .timeout = 900)
{
    static const char *const said[] = {[COLORS] = "RGB",
                                       [PALETTE] = "PALETTE COLOR",
                                       [INCOMPLETE] = "volume-incomplete",
                                       [NO_POSITION] = "position"};
    for (enum refused what = COLORS; what <= NO_POSITION; what++) {
        char folder[256];
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, 7, make_refused, &what);
        char *text = describe(folder);
        cr_expect_not_null(strstr(text, said[what]), "%s", text);
        free(text);
        ts_test_remove_folder(folder);
    }
}
