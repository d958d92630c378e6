/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice that is lost is never passed over in silence: files that cannot be read, files without a readable header
 * among slices, links, gaps in the numbers, and fewer files than the header claims.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom/dicom_group.h"
#include "io/dicom/dicom_scan.h"
#include "tests/support/dicom_fixture.h"
#include "tests/support/dicom_open.h"
#include "tests/support/program.h"

struct lost {
    char folder[256], path[300];
    struct dicom_params params;
    struct ts_diag *diag;
    struct source *source;
};

/* n slices; params as they are by default. */
static void begin(struct lost *lost, int n, void (*edit)(struct dicom_fixture *, int z, void *user), void *user)
{
    *lost = (struct lost){.diag = ts_diag_create()};
    ts_test_folder_in_memory(lost->folder, sizeof lost->folder);
    cr_assert_eq(chmod(lost->folder, 0755), 0);
    ts_fixture_series(lost->folder, n, edit, user);
}

static const char *path_of(struct lost *lost, const char *name)
{
    snprintf(lost->path, sizeof lost->path, "%s/%s", lost->folder, name);
    return lost->path;
}

/* Opens what the params say. */
static enum ts_status open_source(struct lost *lost, int32_t unreadable, int32_t incomplete)
{
    const char *path = lost->folder;
    struct param_set set = {
        .rows = dicom_format.params, .n_rows = dicom_format.n_params, .values = &lost->params, .owner = "input"};
    const struct ts_texts paths = lost->params.dicom;
    const char *series = lost->params.series;
    ts_params_init(&set);
    lost->params.series = series ? series : lost->params.series;
    lost->params.dicom = paths.n > 0 ? paths : (struct ts_texts){1, &path};
    lost->params.unreadable = unreadable;
    lost->params.incomplete = incomplete;
    ts_diag_destroy(lost->diag);
    lost->diag = ts_diag_create();
    const enum ts_status got = dicom_format.open(&set, &lost->source, lost->diag);
    lost->params.dicom = paths;
    lost->params.series = series;
    return got;
}

static void open_as(struct lost *lost, int32_t unreadable, int32_t incomplete, enum ts_status status)
{
    const enum ts_status got = open_source(lost, unreadable, incomplete);
    cr_assert_eq(got, status, "%s", ts_diag_count(lost->diag) ? ts_diag_get(lost->diag, 0)->message : "opened");
}

static const char *attribute(const struct lost *lost, const char *name)
{
    for (size_t i = 0; i < lost->source->n_attributes; i++)
        if (!strcmp(lost->source->attributes[i].name, name))
            return lost->source->attributes[i].value;
    return "";
}

static void close_source(struct lost *lost)
{
    lost->source->ops->close(lost->source);
    lost->source = NULL;
}

static void end(struct lost *lost)
{
    ts_diag_destroy(lost->diag);
    ts_test_remove_folder(lost->folder);
}

/* With `refuse` the code and the text; with `skip` n - 1 slices and a record of it, without the name. */
static void expect_lost(struct lost *lost, const char *code, const char *text, int n_left)
{
    open_as(lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost->diag, code, text);
    open_as(lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost->source->n_slices, n_left, "%s", text);
    cr_expect_str_eq(attribute(lost, "files_skipped"), "1", "%s", text);
    cr_expect(*attribute(lost, "files_passed_over"));
    for (size_t i = 0; i < lost->source->n_attributes; i++)
        cr_expect_null(strstr(lost->source->attributes[i].value, "IM0"), "%s", lost->source->attributes[i].value);
    close_source(lost);
}

/* What may become of the file of the last or the first slice. */
static void damage(const char *path, int kind)
{
    static const char zeros[1000];
    int fd = open(path, O_RDWR | (kind == 0 || kind == 3 ? O_TRUNC : 0));
    cr_assert(fd >= 0);
    if (kind == 1)
        cr_assert_eq(ftruncate(fd, 100), 0);
    else if (kind == 2)
        cr_assert_eq(pwrite(fd, "DICX", 4, 128), 4);
    else if (kind == 3)
        cr_assert_eq(pwrite(fd, zeros, sizeof zeros, 0), (ssize_t)sizeof zeros);
    close(fd);
}

Test(dicom_lost, empty_cut_and_damaged_slices_refuse)
{
    static const char *const texts[] = {"(empty)", "(too short)", "(not DICOM)", "(not DICOM)"};
    static const char *const names[] = {"IM000.dcm", "IM010.dcm"};
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < 2; i++) {
            struct lost lost;
            begin(&lost, FIXTURE_SLICES, NULL, NULL);
            damage(path_of(&lost, names[i]), kind);
            expect_lost(&lost, "slice-unreadable", texts[kind], FIXTURE_SLICES - 1);
            end(&lost);
        }
}

/* Cut behind an element, the header reads without a fault. */
Test(dicom_lost, a_slice_cut_behind_an_element_refuses)
{
    struct lost lost;
    struct dicom_fixture fixture;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    ts_fixture_init(&fixture, 0);
    while (fixture.n > 0 && fixture.elements[fixture.n - 1].tag > 0x00200013)
        ts_fixture_remove(&fixture, fixture.elements[fixture.n - 1].tag);
    ts_fixture_write(&fixture, path_of(&lost, "IM010.dcm"));
    ts_fixture_clear(&fixture);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "dicom-missing-element", "may lack slices");
    lost.params.series = "2";
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "slice-unreadable", "damaged files of series 1 may be slices of series 2");
    open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES - 1);
    cr_expect_str_eq(attribute(&lost, "files_skipped"), "1");
    ts_test_expect_warning(lost.diag, "dicom-missing-element", "series 2 may lack slices that series 1 holds");
    close_source(&lost);
    end(&lost);
}

/* Where the header of the Series Instance UID begins in a file. */
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
        begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const int fd = open(path_of(&lost, "IM010.dcm"), O_RDWR);
        cr_assert(fd >= 0);
        const off_t at = offset_of_series_uid(fd, &end_of_file), uid = at + 20;
        char length;
        cr_assert_eq(pread(fd, &length, 1, at + 6), 1);
        length ^= 8;
        const size_t left = (size_t)(end_of_file - uid) < sizeof zeros ? (size_t)(end_of_file - uid) : sizeof zeros;
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
        open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        lost.params.series = "1.2.826.0.1.3680043.10.1.2";
        open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        ts_test_expect(lost.diag, "slice-unreadable", "IM010.dcm (damaged)");
        open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
        cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES - 1);
        cr_expect_str_eq(attribute(&lost, "files_skipped"), "1");
        close_source(&lost);
        end(&lost);
    }
}

Test(dicom_lost, what_cannot_be_read_is_an_error_with_name_and_errno)
{
    static const char *const errors[][2] = {{"input-unreadable", "IM010.dcm: Permission denied"},
                                            {"input-unreadable", "IM010.dcm, a link to /nonexistent/x: No such"},
                                            {"slice-unreadable", "IM010.dcm (link that leads to itself)"},
                                            {"input-unreadable", "/a: Permission denied"}};
    const bool root = geteuid() == 0;
    for (int kind = 0; kind < 4; kind++) {
        struct lost lost;
        begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const char *path = path_of(&lost, "IM010.dcm");
        if (kind == 0)
            cr_assert_eq(chmod(path, 0), 0);
        else
            cr_assert_eq(unlink(path), 0);
        if (kind == 1)
            cr_assert_eq(symlink("/nonexistent/x", path), 0);
        else if (kind == 2)
            cr_assert_eq(symlink("IM010.dcm", path), 0);
        else if (kind == 3)
            cr_assert_eq(mkdir(path_of(&lost, "a"), 0), 0);
        cr_assert(!root || seteuid(65534) == 0); /* root may read everything */
        expect_lost(&lost, errors[kind][0], errors[kind][1], FIXTURE_SLICES - 1);
        cr_assert(!root || seteuid(0) == 0);
        end(&lost);
    }
}

/* Names beside slices IM000.dcm, ..., each with bytes that are no DICOM, and whether it may be one of them. */
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
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int i = 0; i < N; i++) {
        ts_fixture_write_bytes(path_of(&lost, others[i].name), others[i].bytes, others[i].n);
        open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, others[i].suspect ? TS_BAD_INPUT : TS_OK);
        if (others[i].suspect) {
            ts_test_expect(lost.diag, "slice-unreadable", others[i].name);
        } else {
            cr_expect_eq(ts_diag_count(lost.diag), 1);
            ts_test_expect_warning(lost.diag, "files-passed-over", others[i].name);
            cr_expect_not_null(strstr(attribute(&lost, "files_passed_over"), "1 file passed over: 1 "));
            cr_expect_str_eq(attribute(&lost, "files_skipped"), "");
            close_source(&lost);
        }
        cr_assert_eq(unlink(lost.path), 0);
    }
    /* As large as the slices, of a name that says nothing. */
    struct stat slice;
    cr_assert_eq(stat(path_of(&lost, "IM000.dcm"), &slice), 0);
    char *noise = calloc(1, (size_t)slice.st_size);
    ts_fixture_write_bytes(path_of(&lost, "restored.xyz"), noise, (size_t)slice.st_size);
    free(noise);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "slice-unreadable", "restored.xyz");
    end(&lost);
}

/* Names without extension, and a damaged file in a folder of its own. */
Test(dicom_lost, slices_without_extension)
{
    char other[300];
    struct lost lost;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        char name[16];
        snprintf(name, sizeof name, "IM%03d.dcm", z);
        snprintf(other, sizeof other, "%s/%04x", lost.folder, 0xA1B0 + z * 37);
        cr_assert_eq(rename(path_of(&lost, name), other), 0);
    }
    ts_fixture_write_bytes(path_of(&lost, "CHECKSUMS256"), "a1b0", 4);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    close_source(&lost);
    ts_fixture_write_bytes(path_of(&lost, "0b1c"), "<html>404</html>", 16);
    expect_lost(&lost, "slice-unreadable", "0b1c (not DICOM)", FIXTURE_SLICES);
    ts_fixture_write_bytes(path_of(&lost, "0b1c"), "", 0);
    expect_lost(&lost, "slice-unreadable", "0b1c (empty)", FIXTURE_SLICES);
    cr_assert_eq(unlink(path_of(&lost, "0b1c")), 0);
    cr_assert_eq(mkdir(path_of(&lost, "e"), 0755), 0);
    ts_fixture_write_bytes(path_of(&lost, "e/0b1c"), "", 0);
    expect_lost(&lost, "slice-unreadable", "0b1c (empty)", FIXTURE_SLICES);
    end(&lost);
}

/* Neither digits nor extensions. */
Test(dicom_lost, slices_of_plain_names)
{
    char other[300];
    struct lost lost;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        char name[16];
        snprintf(name, sizeof name, "IM%03d.dcm", z);
        snprintf(other, sizeof other, "%s/a%c", lost.folder, 'a' + z);
        cr_assert_eq(rename(path_of(&lost, name), other), 0);
    }
    ts_fixture_write_bytes(path_of(&lost, "README"), "text", 4);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    close_source(&lost);
    damage(path_of(&lost, "ak"), 3);
    expect_lost(&lost, "slice-unreadable", "ak (not DICOM)", FIXTURE_SLICES - 1);
    end(&lost);
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
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    cr_assert_eq(mkdir(path_of(&lost, "other"), 0755), 0);
    ts_fixture_series(lost.path, FIXTURE_SLICES, of_another_series, NULL);
    damage(path_of(&lost, "other/IM010.dcm"), 0);
    char path[300];
    snprintf(path, sizeof path, "%s", lost.folder);
    for (int i = 0; i < 2; i++) {
        struct dicom_folder folder;
        struct dicom_series *series;
        size_t n;
        const char *paths[] = {path};
        struct arena *arena = ts_arena_create();
        cr_assert_eq(ts_dicom_scan(paths, 1, arena, &folder, lost.diag), TS_OK);
        cr_assert_eq(ts_dicom_group(&folder, arena, &series, &n, lost.diag), TS_OK);
        cr_assert_eq(n, 2);
        const bool other = strcmp(series[i].series, "1.2.826.0.1.3680043.10.1.7") == 0;
        cr_expect_eq(series[i].n_suspects, other ? 1 : 0);
        ts_arena_destroy(arena);
    }
    end(&lost);
}

/* One element of the last slice differs, which makes a group of its own of it. */
static void edit_last(struct dicom_fixture *f, int z, void *user)
{
    const int kind = *(const int *)user;
    if (z < FIXTURE_SLICES - 1)
        return;
    if (kind == 0)
        ts_fixture_remove(f, 0x0020000E);
    else if (kind == 1)
        ts_fixture_text(f, 0x00200052, "UI", "1.2.826.0.1.3680043.10.1.9");
    else if (kind == 2)
        ts_fixture_text(f, 0x0020000D, "UI", "1.2.826.0.1.3680043.10.1.9");
    else if (kind == 3)
        ts_fixture_text(f, 0x00180081, "DS", "7");
    else if (kind == 4)
        ts_fixture_text(f, 0x00200037, "DS", "0\\1\\0\\1\\0\\0");
    else if (kind == 5)
        ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.9");
    else
        ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER");
}

Test(dicom_lost, a_slice_in_another_group_is_warned_of)
{
    for (int kind = 0; kind < 7; kind++) {
        struct lost lost;
        begin(&lost, FIXTURE_SLICES, edit_last, &kind);
        bool open = false;
        for (int number = 1; number <= 2 && !open; number++) {
            lost.params.series = number == 1 ? "1" : "2";
            open_source(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE);
            open = lost.source && lost.source->n_slices == FIXTURE_SLICES - 1;
            if (lost.source && !open)
                close_source(&lost);
        }
        cr_assert(open, "kind %d", kind);
        cr_expect_not_null(strstr(attribute(&lost, "warnings"), "lies where the next slice would"), "kind %d: %s", kind,
                           attribute(&lost, "warnings"));
        close_source(&lost);
        end(&lost);
    }
}

/* Slices A.dcm and B.dcm of two series, each pair in a folder of its own. */
Test(dicom_lost, a_lost_slice_counts_for_the_series_of_its_name)
{
    static const char *const uids[] = {"1.2.826.0.1.3680043.10.1.2", "1.2.826.0.1.3680043.10.1.7"};
    char from[320], to[320], folder[300];
    struct lost lost;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
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
    damage(path_of(&lost, "p10/A.dcm"), 0);
    lost.params.series = uids[1];
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    close_source(&lost);
    lost.params.series = uids[0];
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "slice-unreadable", "A.dcm (empty)");
    end(&lost);
}

/* `skip` leaves damaged files out as it does those without a header. */
Test(dicom_lost, cut_slices_can_be_skipped)
{
    for (int kind = 0; kind < 2; kind++) {
        struct lost lost;
        struct stat slice;
        begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const char *path = path_of(&lost, "IM010.dcm");
        cr_assert_eq(stat(path, &slice), 0);
        const int fd = open(path, O_RDONLY);
        off_t ignored;
        const off_t uid = offset_of_series_uid(fd, &ignored);
        close(fd);
        /* Within the pixels, and within the header behind the UID. */
        cr_assert_eq(truncate(path, kind == 0 ? slice.st_size - 10 : uid + 50), 0);
        open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
        cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES - 1);
        cr_expect_str_eq(attribute(&lost, "files_skipped"), "1");
        cr_expect_null(strstr(attribute(&lost, "warnings"), "IM010"));
        close_source(&lost);
        end(&lost);
    }
}

/* As git-annex and DataLad keep files. */
Test(dicom_lost, links_to_files_are_followed)
{
    char folder[300], target[64], key[300];
    struct lost lost;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    cr_assert_eq(mkdir(path_of(&lost, ".git"), 0755), 0);
    snprintf(folder, sizeof folder, "%s", lost.folder);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        char name[16];
        snprintf(name, sizeof name, "IM%03d.dcm", z);
        snprintf(target, sizeof target, ".git/%02d", z);
        snprintf(key, sizeof key, "%s/%s", folder, target);
        cr_assert_eq(rename(path_of(&lost, name), key), 0);
        cr_assert_eq(symlink(target, lost.path), 0);
    }
    cr_assert_eq(symlink(".", path_of(&lost, "folder")), 0);
    cr_assert_eq(symlink("loop", path_of(&lost, "loop")), 0);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    cr_expect_str_eq(attribute(&lost, "files_passed_over"), "3 files passed over: 1 link to a folder, not followed, 1 "
                                                            "link that leads to itself, 1 folder .git, not searched");
    ts_test_expect_warning(lost.diag, "files-passed-over", "(.git, folder, loop)");
    free(ts_test_read_all(lost.source, lost.diag));
    close_source(&lost);
    /* Two names of one file are one slice. */
    cr_assert_eq(link(key, path_of(&lost, "IM099.dcm")), 0);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    ts_test_expect_warning(lost.diag, "same-file", "1 name was left out");
    close_source(&lost);
    end(&lost);
}

Test(dicom_lost, files_that_the_user_lists)
{
    char paths[FIXTURE_SLICES][300];
    const char *items[FIXTURE_SLICES];
    struct lost lost;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        snprintf(paths[z], sizeof paths[z], "%s/IM%03d.dcm", lost.folder, z);
        items[z] = paths[z];
    }
    lost.params.dicom = (struct ts_texts){FIXTURE_SLICES, items};
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    close_source(&lost);
    ts_fixture_write_bytes(paths[10], "just text", 9);
    expect_lost(&lost, "slice-unreadable", "IM010.dcm (not DICOM)", FIXTURE_SLICES - 1);
    cr_assert_eq(unlink(paths[10]), 0);
    for (int32_t skip = 0; skip < 2; skip++) { /* the chain names what is not there: nothing to skip */
        open_as(&lost, skip ? UNREADABLE_SKIP : UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
        ts_test_expect(lost.diag, "input-unreadable", "IM010.dcm: No such file or directory");
    }
    end(&lost);
}

/* Paths that the chain lists and that bring nothing, or the same again. */
Test(dicom_lost, idle_entries_are_warned_of)
{
    char folder[300], empty[300];
    const char *items[] = {folder, empty};
    struct lost lost;
    begin(&lost, FIXTURE_SLICES, NULL, NULL);
    snprintf(folder, sizeof folder, "%s", lost.folder);
    snprintf(empty, sizeof empty, "%s_empty", lost.folder);
    cr_assert_eq(mkdir(empty, 0755), 0);
    lost.params.dicom = (struct ts_texts){2, items};
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    ts_test_expect_warning(lost.diag, "input-idle", "1 of the paths that the chain lists brought no image of its own");
    cr_expect_str_eq(attribute(&lost, "files_passed_over"), "1 file passed over: 1 empty folder");
    close_source(&lost);
    items[1] = folder;
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost.source->n_slices, FIXTURE_SLICES);
    ts_test_expect_warning(lost.diag, "input-idle", folder);
    close_source(&lost);
    cr_assert_eq(rmdir(empty), 0);
    end(&lost);
}

/* What stands where a slice was, under its name. */
Test(dicom_lost, folders_and_devices_of_a_slices_name_refuse)
{
    static const char *const texts[] = {"IM010.dcm (empty folder)", "IM010.dcm (link to a folder, not followed)",
                                        "IM010.dcm (not a regular file)", "IM010.dcm (not a regular file)"};
    for (int kind = 0; kind < 4; kind++) {
        struct lost lost;
        begin(&lost, FIXTURE_SLICES, NULL, NULL);
        const char *path = path_of(&lost, "IM010.dcm");
        cr_assert_eq(unlink(path), 0);
        cr_assert_eq(kind == 0   ? mkdir(path, 0755)
                     : kind == 1 ? symlink("/usr", path)
                     : kind == 2 ? mkfifo(path, 0600)
                                 : symlink("/dev/null", path),
                     0);
        expect_lost(&lost, "slice-unreadable", texts[kind], FIXTURE_SLICES - 1);
        end(&lost);
    }
}

/* Instance Numbers, and what the header claims of the counts. */
struct claims {
    const char *instances, *acquisition;
    int first, step, hole; /* hole: numbers from the slice of this place on are one step further */
};

static void claim(struct dicom_fixture *f, int z, void *user)
{
    const struct claims *claims = user;
    char number[24];
    snprintf(number, sizeof number, "%d", claims->first + claims->step * (z + (claims->hole && z >= claims->hole)));
    ts_fixture_text(f, 0x00200013, "IS", number);
    if (claims->instances)
        ts_fixture_text(f, 0x00201209, "IS", claims->instances);
    if (claims->acquisition)
        ts_fixture_text(f, 0x00201002, "IS", claims->acquisition);
}

Test(dicom_lost, gaps_in_numbers_and_counts_are_warned_of)
{
    static const struct {
        struct claims claims;
        const char *warning;
    } cases[] = {
        {{.first = 1, .step = 1}, ""},
        {{.first = 0, .step = 1}, ""},
        {{.first = 1, .step = 39}, ""},
        {{.first = 300, .step = 1}, ""},
        {{.first = 1, .step = 1, .acquisition = "11"}, ""},
        {{.first = 1, .step = 1, .instances = "11"}, ""},
        {{.first = 1, .step = 1, .instances = "9"}, ""},
        {{.first = 1, .step = 1, .hole = 2},
         "Instance Numbers have gaps: 1 is missing, first 3; slices may be missing"},
        {{.first = 5, .step = 39, .hole = 9},
         "Instance Numbers have gaps: 1 is missing, first 356; slices may be missing"},
        {{.first = 40, .step = 1}, "Instance Numbers begin at 40; slices may be missing"},
        {{.first = 2, .step = 1}, "Instance Numbers begin at 2; slices may be missing"},
        {{.first = 1, .step = 1, .acquisition = "12"},
         "Images in Acquisition says 12, 11 are in the input; slices may be missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lost lost;
        struct claims claims = cases[i].claims;
        begin(&lost, FIXTURE_SLICES, claim, &claims);
        open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
        cr_expect_str_eq(attribute(&lost, "warnings"), cases[i].warning, "case %zu: %s", i,
                         attribute(&lost, "warnings"));
        cr_expect_eq(ts_diag_count(lost.diag), *cases[i].warning ? 1 : 0, "case %zu", i);
        if (*cases[i].warning)
            ts_test_expect_warning(lost.diag, "dicom-series", cases[i].warning);
        close_source(&lost);
        end(&lost);
    }
}

Test(dicom_lost, fewer_files_than_the_series_has_refuse)
{
    struct lost lost;
    struct claims claims = {.first = 1, .step = 1, .instances = "12"};
    static const char text[] = "Number of Series Related Instances says 12, 11 are in the input";
    begin(&lost, FIXTURE_SLICES, claim, &claims);
    open_as(&lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost.diag, "series-incomplete", text);
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_ALLOW, TS_OK);
    ts_test_expect_warning(lost.diag, "series-incomplete", text);
    cr_expect_str_eq(attribute(&lost, "warnings"), text);
    close_source(&lost);
    /* Who lists files chooses among them. */
    const char *one = path_of(&lost, "IM003.dcm");
    lost.params.dicom = (struct ts_texts){1, &one};
    open_as(&lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_not_null(strstr(attribute(&lost, "warnings"), "Instances says 12, 1 are in the input"));
    close_source(&lost);
    end(&lost);
}

/* What `info` and the JSON records of `check` and `run` show. */
Test(dicom_lost, the_program_reports_it)
{
    static struct program_outcome outcome;
    char folder[256];
    struct lost lost;
    struct claims claims = {.first = 1, .step = 1, .instances = "12"};
    begin(&lost, FIXTURE_SLICES, claim, &claims);
    ts_test_folder(folder, sizeof folder);
    ts_fixture_write_bytes(path_of(&lost, "notes.txt"), "text", 4);
    damage(path_of(&lost, "IM010.dcm"), 0);
    cr_assert_eq(symlink("/nonexistent", path_of(&lost, "link")), 0);
    ts_program_run(folder, (const char *const[]){"info", lost.folder, NULL}, &outcome);
    cr_expect_eq(outcome.code, 0);
    cr_expect_not_null(strstr(outcome.out, "refused (input-unreadable): cannot read"), "%s", outcome.out);
    cr_expect_not_null(strstr(outcome.out, "refused (slice-unreadable): 1 file among its slices"), "%s", outcome.out);
    cr_expect_not_null(strstr(outcome.out, "refused (series-incomplete): Number of"), "%s", outcome.out);
    cr_expect_not_null(
        strstr(outcome.out, "warning: 3 files passed over: 1 not DICOM, 1 empty, 1 unreadable (IM010.dcm"), "%s",
        outcome.out);
    ts_program_run(folder, (const char *const[]){"info", lost.folder, "--json", NULL}, &outcome);
    cr_expect(outcome.code == 0 && ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    cr_expect_not_null(strstr(outcome.out, "\"lacks\": [{\"code\": \"slice-unreadable\""), "%s", outcome.out);
    cr_expect_not_null(strstr(outcome.out, "a link to /nonexistent: No such file"), "%s", outcome.out);
    char chain[600];
    snprintf(chain, sizeof chain, "dicom \"%s\" unreadable=skip incomplete=allow | statistics | hdf5 o.h5",
             lost.folder);
    for (int i = 0; i < 2; i++) {
        ts_program_run(folder, (const char *const[]){i ? "run" : "check", "--json", chain, NULL}, &outcome);
        cr_expect_eq(outcome.code, 0, "%s", outcome.err);
        cr_expect_not_null(strstr(outcome.out, "\"code\": \"slice-unreadable\""), "%s", outcome.out);
        cr_expect_not_null(strstr(outcome.out, "\"code\": \"files-passed-over\""), "%s", outcome.out);
        cr_expect_not_null(strstr(outcome.out, "\"code\": \"series-incomplete\""), "%s", outcome.out);
    }
    end(&lost);
}
