/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice that is lost is never passed over in silence: files that cannot be read, files without a
 * readable header among slices, files that the user lists, and links.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_header/dicom_scan.h"
#include "io/dicom_series/dicom_group.h"
#include "tests/files/dicom_lost.h"

Test(dicom_lost, empty_cut_and_damaged_slices_refuse)
{
    static const char *const texts[] = {"(empty)", "(too short)", "(DICOM without its preamble)",
                                        "(not DICOM)"};
    static const char *const names[] = {"IM000.dcm", "IM010.dcm"};
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < 2; i++) {
            struct lost lost;
            ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
            ts_lost_damage(ts_lost_path(&lost, names[i]), kind);
            ts_lost_expect(&lost, "slice-unreadable", texts[kind], FIXTURE_SLICES - 1);
            ts_lost_end(&lost);
        }
}

/* Cut behind an element, the header reads without a fault. */
Test(dicom_lost, a_slice_cut_behind_an_element_refuses)
{
    struct lost lost;
    struct dicom_fixture fixture;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    ts_fixture_init(&fixture, 0);
    while (fixture.n > 0 && fixture.elements[fixture.n - 1].tag > 0x00200013)
        ts_fixture_remove(&fixture, fixture.elements[fixture.n - 1].tag);
    ts_fixture_write(&fixture, ts_lost_path(&lost, "IM010.dcm"));
    ts_fixture_clear(&fixture);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "dicom-missing-element", "may lack slices");
    lost.params.series = "2";
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "slice-unreadable",
                   "damaged files of series 1 may be slices of series 2");
    ts_lost_open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES - 1);
    cr_expect_str_eq(ts_lost_attribute(&lost, "files_skipped"), "1");
    ts_test_expect_warning(lost.diag, "dicom-missing-element",
                           "series 2 may lack slices that series 1 holds");
    ts_lost_close(&lost);
    ts_lost_end(&lost);
}

/* Returns where the header of the Series Instance UID begins in a file. */
static off_t offset_of_series_uid(int fd, off_t *end)
{
    static const char tag[] = "\x20\0\x0E\0UI";
    char bytes[8192];
    const ssize_t n = pread(fd, bytes, sizeof bytes, 0);
    const char *at = n > 0 ? memmem(bytes, (size_t)n, tag, sizeof tag - 1) : NULL;
    cr_assert_not_null(at);
    *end = lseek(fd, 0, SEEK_END);
    return at - bytes;
}

/* The file reads as one of another series, of which nothing else is there. */
Test(dicom_lost, a_slice_with_a_damaged_series_uid_refuses)
{
    static const char zeros[20000];
    for (int kind = 0; kind < 5; kind++) {
        struct lost lost;
        off_t end_of_file;
        ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const int fd = open(ts_lost_path(&lost, "IM010.dcm"), O_RDWR);
        cr_assert(fd >= 0);
        const off_t at = offset_of_series_uid(fd, &end_of_file), uid = at + 20;
        char length;
        cr_assert_eq(pread(fd, &length, 1, at + 6), 1);
        length ^= 8;
        const size_t left =
            (size_t)(end_of_file - uid) < sizeof zeros ? (size_t)(end_of_file - uid) : sizeof zeros;
        if (kind == 0) /* one bit */
            cr_assert_eq(pwrite(fd, &length, 1, at + 6), 1);
        else if (kind == 1)
            cr_assert_eq(pwrite(fd, zeros, 512, uid), 512);
        else if (kind == 2)
            cr_assert_eq(pwrite(fd, zeros, left, uid), (ssize_t)left);
        else if (kind == 3)
            cr_assert_eq(ftruncate(fd, uid), 0);
        else { /* bytes cut out, so that the next elements are taken for the rest of it */
            char *rest = malloc(left);
            cr_assert_eq(pread(fd, rest, left, uid + 64), (ssize_t)left - 64);
            cr_assert_eq(pwrite(fd, rest, left - 64, uid), (ssize_t)left - 64);
            cr_assert_eq(ftruncate(fd, end_of_file - 64), 0);
            free(rest);
        }
        close(fd);
        ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        lost.params.series = "1.2.826.0.1.3680043.10.1.2";
        ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        ts_test_expect(lost.diag, "slice-unreadable", "IM010.dcm (damaged)");
        ts_lost_open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
        cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES - 1);
        cr_expect_str_eq(ts_lost_attribute(&lost, "files_skipped"), "1");
        ts_lost_close(&lost);
        ts_lost_end(&lost);
    }
}

Test(dicom_lost, what_cannot_be_read_is_an_error_with_name_and_errno)
{
    static const char *const errors[][2] = {
        {"input-unreadable", "IM010.dcm: Permission denied"},
        {"input-unreadable", "IM010.dcm, a link to /nonexistent/x: No such"},
        {"slice-unreadable", "IM010.dcm (link that leads to itself)"},
        {"input-unreadable", "/a: Permission denied"}};
    const bool root = geteuid() == 0;
    for (int kind = 0; kind < 4; kind++) {
        struct lost lost;
        ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const char *path = ts_lost_path(&lost, "IM010.dcm");
        if (kind == 0)
            cr_assert_eq(chmod(path, 0), 0);
        else
            cr_assert_eq(unlink(path), 0);
        if (kind == 1)
            cr_assert_eq(symlink("/nonexistent/x", path), 0);
        else if (kind == 2)
            cr_assert_eq(symlink("IM010.dcm", path), 0);
        else if (kind == 3)
            cr_assert_eq(mkdir(ts_lost_path(&lost, "a"), 0), 0);
        cr_assert(!root || seteuid(65534) == 0); /* root may read everything */
        ts_lost_expect(&lost, errors[kind][0], errors[kind][1], FIXTURE_SLICES - 1);
        cr_assert(!root || seteuid(0) == 0);
        ts_lost_end(&lost);
    }
}

/* Names beside slices IM000.dcm, ..., each with bytes that are no DICOM, and whether it may be one
 * of them. */
Test(dicom_lost, other_files_are_warned_of)
{
    static const struct {
        const char *name, *bytes;
        size_t n;
        bool suspect;
    } others[] = {
        {"notes.txt", "text", 4, false},
        {"README", "text", 4, false},
        {".DS_Store", "\0\0\0\1Bud1", 8, false},
        {"Thumbs.db", "\xD0\xCF\x11\xE0", 4, false},
        {"IM003.json", "{}", 2, false},
        {"._IM003.dcm", "\0\5\x16\7\0\2", 6, false},
        {"empty.log", "", 0, false},
        {"IM003.roi", "\1\2", 2, false},
        {"IM003.lock", "", 0, false},
        {"IM003.dcm~", "", 0, false},
        {"REPORT1", "%PDF-1.7\0", 9, false},
        {".nfs000000012", "\1\2", 2, false},
        {"IM011.DCM", "", 0, true},
        {"IM011", "", 0, true},
        {"x.dcm", "<html>404</html>", 16, true},
        {".IM011.dcm.Xa9k2Q", "\1\2", 2, true},
        {"IM011.part", "\1\2", 2, true},
        {"lost", "\x08\0\x05\0CS\x0A\0ISO_IR 100", 18, true},
    };
    enum { N = sizeof others / sizeof *others };
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int i = 0; i < N; i++) {
        ts_fixture_write_bytes(ts_lost_path(&lost, others[i].name), others[i].bytes, others[i].n);
        ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE,
                        others[i].suspect ? TS_BAD_INPUT : TS_OK);
        if (others[i].suspect) {
            ts_test_expect(lost.diag, "slice-unreadable", others[i].name);
        } else {
            cr_expect_eq(ts_diag_count(lost.diag), 1);
            ts_test_expect_warning(lost.diag, "files-passed-over", others[i].name);
            cr_expect_not_null(
                strstr(ts_lost_attribute(&lost, "files_passed_over"), "1 file passed over: 1 "));
            cr_expect_str_eq(ts_lost_attribute(&lost, "files_skipped"), "");
            ts_lost_close(&lost);
        }
        cr_assert_eq(unlink(lost.path), 0);
    }
    /* This file is as large as the slices, and its name tells nothing. */
    struct stat slice;
    cr_assert_eq(stat(ts_lost_path(&lost, "IM000.dcm"), &slice), 0);
    char *noise = calloc(1, (size_t)slice.st_size);
    ts_fixture_write_bytes(ts_lost_path(&lost, "restored.xyz"), noise, (size_t)slice.st_size);
    free(noise);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "slice-unreadable", "restored.xyz");
    ts_lost_end(&lost);
}

static void hexadecimal_name(int z, char *out, size_t size)
{
    snprintf(out, size, "%04x", 0xA1B0 + z * 37);
}

/* Names without extension, and a damaged file in a folder of its own. */
Test(dicom_lost, slices_without_extension)
{
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    ts_lost_rename(&lost, hexadecimal_name);
    ts_fixture_write_bytes(ts_lost_path(&lost, "CHECKSUMS256"), "a1b0", 4);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    ts_lost_close(&lost);
    ts_fixture_write_bytes(ts_lost_path(&lost, "0b1c"), "<html>404</html>", 16);
    ts_lost_expect(&lost, "slice-unreadable", "0b1c (not DICOM)", FIXTURE_SLICES);
    ts_fixture_write_bytes(ts_lost_path(&lost, "0b1c"), "", 0);
    ts_lost_expect(&lost, "slice-unreadable", "0b1c (empty)", FIXTURE_SLICES);
    cr_assert_eq(unlink(ts_lost_path(&lost, "0b1c")), 0);
    cr_assert_eq(mkdir(ts_lost_path(&lost, "e"), 0755), 0);
    ts_fixture_write_bytes(ts_lost_path(&lost, "e/0b1c"), "", 0);
    ts_lost_expect(&lost, "slice-unreadable", "0b1c (empty)", FIXTURE_SLICES);
    ts_lost_end(&lost);
}

static void plain_name(int z, char *out, size_t size)
{
    snprintf(out, size, "a%c", 'a' + z);
}

/* Neither digits nor extensions. */
Test(dicom_lost, slices_of_plain_names)
{
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    ts_lost_rename(&lost, plain_name);
    ts_fixture_write_bytes(ts_lost_path(&lost, "README"), "text", 4);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    ts_lost_close(&lost);
    ts_lost_damage(ts_lost_path(&lost, "ak"), 3);
    ts_lost_expect(&lost, "slice-unreadable", "ak (not DICOM)", FIXTURE_SLICES - 1);
    ts_lost_end(&lost);
}

static void of_another_series(struct dicom_fixture *f, int z, void *user)
{
    char uid[65];
    (void)user;
    snprintf(uid, sizeof uid, "1.2.826.0.1.3680043.10.1.7.%d", z + 1);
    ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.7");
    ts_fixture_text(f, 0x00080018, "UI", uid);
}

/* A damaged file among the slices of another series concerns that one alone. */
Test(dicom_lost, files_beside_other_series_are_warned_of)
{
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    cr_assert_eq(mkdir(ts_lost_path(&lost, "other"), 0755), 0);
    ts_fixture_series(lost.path, FIXTURE_SLICES, of_another_series, NULL);
    ts_lost_damage(ts_lost_path(&lost, "other/IM010.dcm"), 0);
    char path[300];
    snprintf(path, sizeof path, "%s", lost.folder);
    for (int i = 0; i < 2; i++) {
        struct dicom_folder folder;
        struct dicom_series *series;
        size_t n;
        const char *paths[] = {path};
        struct arena *arena = ts_arena_create();
        cr_assert_eq(ts_dicom_scan(paths, 1, arena, &folder, lost.diag), TS_OK);
        cr_assert_eq(
            ts_dicom_group(&folder, &ts_dicom_default_rules, arena, &series, &n, lost.diag), TS_OK);
        cr_assert_eq(n, 2);
        const bool other = strcmp(series[i].series, "1.2.826.0.1.3680043.10.1.7") == 0;
        cr_expect_eq(series[i].n_suspects, other ? 1 : 0);
        ts_arena_destroy(arena);
    }
    ts_lost_end(&lost);
}

/* Slices A.dcm and B.dcm of two series, each pair in a folder of its own. */
Test(dicom_lost, a_lost_slice_counts_for_the_series_of_its_name)
{
    static const char *const uids[] = {"1.2.826.0.1.3680043.10.1.2", "1.2.826.0.1.3680043.10.1.7"};
    char from[320], to[320], folder[300];
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int s = 0; s < 2; s++) {
        if (s == 1)
            ts_fixture_series(lost.folder, FIXTURE_SLICES, of_another_series, NULL);
        for (int z = 0; z < FIXTURE_SLICES; z++) {
            snprintf(folder, sizeof folder, "%s/p%02d", lost.folder, z);
            cr_assert(mkdir(folder, 0755) == 0 || errno == EEXIST);
            snprintf(from, sizeof from, "%s/IM%03d.dcm", lost.folder, z);
            snprintf(to, sizeof to, "%s/%c.dcm", folder, 'A' + s);
            cr_assert_eq(rename(from, to), 0);
        }
    }
    ts_lost_damage(ts_lost_path(&lost, "p10/A.dcm"), 0);
    lost.params.series = uids[1];
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    ts_lost_close(&lost);
    lost.params.series = uids[0];
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "slice-unreadable", "A.dcm (empty)");
    ts_lost_end(&lost);
}

/* `skip` leaves damaged files out as it does those without a header. */
Test(dicom_lost, cut_slices_can_be_skipped)
{
    for (int kind = 0; kind < 2; kind++) {
        struct lost lost;
        struct stat slice;
        ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const char *path = ts_lost_path(&lost, "IM010.dcm");
        cr_assert_eq(stat(path, &slice), 0);
        const int fd = open(path, O_RDONLY);
        off_t ignored;
        const off_t uid = offset_of_series_uid(fd, &ignored);
        close(fd);
        /* Within the pixels, and within the header behind the UID. */
        cr_assert_eq(truncate(path, kind == 0 ? slice.st_size - 10 : uid + 50), 0);
        ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        ts_lost_open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
        cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES - 1);
        cr_expect_str_eq(ts_lost_attribute(&lost, "files_skipped"), "1");
        cr_expect_null(strstr(ts_lost_attribute(&lost, "warnings"), "IM010"));
        ts_lost_close(&lost);
        ts_lost_end(&lost);
    }
}

/* git-annex and DataLad keep files so. */
Test(dicom_lost, links_to_files_are_followed)
{
    char folder[300], target[64], key[300];
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    cr_assert_eq(mkdir(ts_lost_path(&lost, ".git"), 0755), 0);
    snprintf(folder, sizeof folder, "%s", lost.folder);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        char name[16];
        snprintf(name, sizeof name, "IM%03d.dcm", z);
        snprintf(target, sizeof target, ".git/%02d", z);
        snprintf(key, sizeof key, "%s/%s", folder, target);
        cr_assert_eq(rename(ts_lost_path(&lost, name), key), 0);
        cr_assert_eq(symlink(target, lost.path), 0);
    }
    cr_assert_eq(symlink(".", ts_lost_path(&lost, "folder")), 0);
    cr_assert_eq(symlink("loop", ts_lost_path(&lost, "loop")), 0);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    cr_expect_str_eq(ts_lost_attribute(&lost, "files_passed_over"),
                     "3 names passed over: 1 link to a folder, not followed, 1 link that leads to "
                     "itself, 1 folder .git, not searched");
    ts_test_expect_warning(lost.diag, "files-passed-over", "(.git, folder, loop)");
    free(ts_test_read_all(lost.source, lost.diag));
    ts_lost_close(&lost);
    /* Two names of one file are one slice. */
    cr_assert_eq(link(key, ts_lost_path(&lost, "IM099.dcm")), 0);
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    ts_test_expect_warning(lost.diag, "same-file", "1 name was left out");
    ts_lost_close(&lost);
    ts_lost_end(&lost);
}

Test(dicom_lost, files_that_the_user_lists)
{
    char paths[FIXTURE_SLICES][300];
    const char *items[FIXTURE_SLICES];
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        snprintf(paths[z], sizeof paths[z], "%s/IM%03d.dcm", lost.folder, z);
        items[z] = paths[z];
    }
    lost.params.dicom = (struct ts_texts){FIXTURE_SLICES, items};
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    ts_lost_close(&lost);
    ts_fixture_write_bytes(paths[10], "just text", 9);
    ts_lost_expect(&lost, "slice-unreadable", "IM010.dcm (not DICOM)", FIXTURE_SLICES - 1);
    cr_assert_eq(unlink(paths[10]), 0);
    for (int32_t skip = 0; skip < 2;
         skip++) { /* the chain names what is not there: nothing to skip */
        ts_lost_open_as(&lost, skip ? UNREADABLE_SKIP : UNREADABLE_REFUSE, INCOMPLETE_REFUSE,
                        TS_BAD_INPUT);
        ts_test_expect(lost.diag, "input-unreadable", "IM010.dcm: No such file or directory");
    }
    ts_lost_end(&lost);
}

/* Paths that the chain lists and that bring nothing, or the same again. */
Test(dicom_lost, idle_entries_are_warned_of)
{
    char folder[300], empty[300];
    const char *items[] = {folder, empty};
    struct lost lost;
    ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
    snprintf(folder, sizeof folder, "%s", lost.folder);
    snprintf(empty, sizeof empty, "%s_empty", lost.folder);
    cr_assert_eq(mkdir(empty, 0755), 0);
    lost.params.dicom = (struct ts_texts){2, items};
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    ts_test_expect_warning(lost.diag, "input-idle",
                           "1 of the paths that the chain lists brought no image of its own");
    cr_expect_str_eq(ts_lost_attribute(&lost, "files_passed_over"),
                     "1 folder passed over: 1 empty folder");
    ts_lost_close(&lost);
    items[1] = folder;
    ts_lost_open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    ts_test_expect_warning(lost.diag, "input-idle", folder);
    ts_lost_close(&lost);
    cr_assert_eq(rmdir(empty), 0);
    ts_lost_end(&lost);
}

/* Something else than a file stands where a slice was, under its name. */
Test(dicom_lost, folders_and_devices_of_a_slices_name_refuse)
{
    static const char *const texts[] = {
        "IM010.dcm (empty folder)", "IM010.dcm (link to a folder, not followed)",
        "IM010.dcm (not a regular file)", "IM010.dcm (not a regular file)"};
    for (int kind = 0; kind < 4; kind++) {
        struct lost lost;
        ts_lost_begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const char *path = ts_lost_path(&lost, "IM010.dcm");
        cr_assert_eq(unlink(path), 0);
        cr_assert_eq(kind == 0   ? mkdir(path, 0755)
                     : kind == 1 ? symlink("/usr", path)
                     : kind == 2 ? mkfifo(path, 0600)
                                 : symlink("/dev/null", path),
                     0);
        ts_lost_expect(&lost, "slice-unreadable", texts[kind], FIXTURE_SLICES - 1);
        ts_lost_end(&lost);
    }
}
