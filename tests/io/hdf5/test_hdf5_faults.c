/* SPDX-License-Identifier: Apache-2.0
 *
 * The output file when things go wrong: full disks, limits, folders that cannot be written, killed
 * writers, flipped bits. After each, the final name holds what was there before, or the whole new
 * file.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/image.h"
#include "io/file/file_commit.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/hdf5/hdf5_write.h"
#include "io/scan/hdf5_info.h"
#include "tests/files/output_fixture.h"
#include "tests/support/support.h"

static void write_text_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");
    cr_assert_not_null(stream);
    cr_assert_geq(fputs(text, stream), 0);
    cr_assert_eq(fclose(stream), 0);
}

static bool holds_text(const char *path, const char *text)
{
    size_t bytes;
    unsigned char *data = ts_test_read_file(path, &bytes);
    bool same = data && bytes == strlen(text) && memcmp(data, text, bytes) == 0;
    free(data);
    return same;
}

/* One run where the disk ends at some point: an error that says so, the old file, nothing else.
 * True where it succeeded. */
static bool run_short_of_space(const char *folder, bool old, const char *reason,
                               const struct output_content *content, int level)
{
    struct hdf5_options options = {.level = level, .threads = 2, .force = old};
    struct ts_diag *diag = ts_diag_create();
    char path[128];
    snprintf(path, sizeof path, "%s/out.h5", folder);
    if (old)
        write_text_file(path, "old");
    bool done = ts_test_write_output(path, &options, content, 3, diag) == TS_OK;
    if (done) {
        cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
    } else {
        cr_assert_geq(ts_diag_error_count(diag), 1);
        cr_assert(ts_test_has_text(diag, reason), "%s", ts_diag_get(diag, 0)->message);
        cr_assert(!old || holds_text(path, "old"));
    }
    cr_assert_eq(ts_test_count_files(folder, NULL), done || old ? 1 : 0);
    unlink(path);
    ts_diag_destroy(diag);
    return done;
}

/* The disk is a small file system of our own that no other process sees. */
Test(hdf5_faults, full_disk_leaves_the_old_file, .timeout = 900)
{
    struct output_content content = ts_test_content(29, 97, 101);
    char folder[256], size[64];
    int failed = 0, done = 0;
    ts_test_folder(folder, sizeof folder);
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=1m") != 0) {
        fprintf(
            stderr,
            "SKIPPED hdf5_faults/full_disk_leaves_the_old_file: no right to mount a small disk\n");
        ts_test_remove_folder(folder);
        cr_skip_test("no right to mount a small disk");
    }
    size_t bytes = ts_image_bytes(&content.first) + ts_image_bytes(&content.second) + (200u << 10);
    for (int level = 0; level <= 1; level++)
        for (int i = 1; i <= 24; i++) {
            /* Level 0 needs as much as the values, level 1 less. The last size is enough for
             * both. */
            snprintf(size, sizeof size, "size=%zu",
                     bytes * (size_t)i / (level ? 60 : 22) + (i == 24 ? bytes : 0));
            cr_assert_eq(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, size), 0, "%s",
                         strerror(errno));
            if (run_short_of_space(folder, i % 2, "No space left on device", &content, level))
                done++;
            else
                failed++;
        }
    fprintf(stderr, "full disk: %d runs failed, %d were done\n", failed, done);
    cr_assert_geq(failed, 32);
    cr_assert_geq(done, 2);
    cr_assert_eq(umount(folder), 0);
    ts_test_content_clear(&content);
    ts_test_remove_folder(folder);
}

Test(hdf5_faults, file_size_limit_leaves_the_old_file, .timeout = 900)
{
    struct output_content content = ts_test_content(29, 97, 101);
    struct rlimit before, limit;
    char folder[256];
    int failed = 0;
    ts_test_folder(folder, sizeof folder);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    size_t bytes = ts_image_bytes(&content.first) + ts_image_bytes(&content.second);
    for (size_t i = 0; i < 20; i++) {
        limit = before;
        limit.rlim_cur = 100 + bytes * i / 20;
        setrlimit(RLIMIT_FSIZE, &limit);
        failed += !run_short_of_space(folder, i % 2, "File too large", &content, 0);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    cr_assert_eq(failed, 20);
    cr_assert(run_short_of_space(folder, true, "", &content, 0));
    ts_test_content_clear(&content);
    ts_test_remove_folder(folder);
}

Test(hdf5_faults, folders_that_cannot_be_written)
{
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = 1, .threads = 1};
    struct hdf5_writer *writer = NULL;
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    static const struct {
        const char *path, *code;
    } cases[] = {{"%s/missing/out.h5", "output-folder-missing"},
                 {"%s/file/out.h5", "output-folder-missing"},
                 {"%s/", "output-path"},
                 {"%s/.", "output-path"},
                 {"%s/folder", "output-not-a-file"},
                 {"%s/pipe", "output-not-a-file"},
                 {"%s/closed/out.h5", "output-folder-not-writable"}};
    snprintf(path, sizeof path, "%s/file", folder);
    write_text_file(path, "x");
    snprintf(path, sizeof path, "%s/pipe", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/folder", folder);
    cr_assert_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/closed", folder);
    cr_assert_eq(mkdir(path, 0555), 0);
    if (geteuid() == 0) { /* root may write everywhere */
        cr_assert_eq(chown(folder, 65534, 65534), 0);
        cr_assert_eq(seteuid(65534), 0);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *parts = strchr(cases[i].path, '/');
        snprintf(path, sizeof path, "%s%s", folder, parts);
        ts_diag_clear(diag);
        cr_assert_eq(ts_file_check(path, true, 0, diag), TS_RUN_FAILED, "%s", path);
        cr_assert(ts_test_has_code(diag, cases[i].code), "%s: %s", path,
                  ts_diag_get(diag, 0)->message);
        cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_RUN_FAILED);
        cr_assert_null(writer);
    }
    if (getuid() == 0)
        cr_assert_eq(seteuid(0), 0);
    ts_diag_clear(diag);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    snprintf(path, sizeof path, "%s/folder", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/closed", folder);
    rmdir(path);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

/* The folder's mode lets root write there, the file system lets nobody. */
Test(hdf5_faults, folders_that_take_no_files)
{
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_file_check("/proc/y.h5", false, 1000000, diag), TS_RUN_FAILED);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_assert(ts_test_has_code(diag, "output-folder-not-writable"), "%s",
              ts_diag_get(diag, 0)->message);
    cr_assert(geteuid() != 0 || ts_test_has_text(diag, "'/proc' takes no files"), "%s",
              ts_diag_get(diag, 0)->message);
    ts_diag_destroy(diag);
}

/* The size of the output without compression tells little about what it will take. */
Test(hdf5_faults, too_little_space_for_the_worst_case_is_a_warning)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    cr_assert_eq(ts_file_check(path, false, 1, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0);
    cr_assert_eq(ts_file_check(path, false, (int64_t)1 << 60, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_assert_eq(ts_diag_error_count(diag), 0);
    cr_assert(ts_test_has_code(diag, "output-space"));
    cr_assert(ts_test_has_text(diag, "up to 1210567.6 TB") && ts_test_has_text(diag, " free"), "%s",
              ts_diag_get(diag, 0)->message);
    cr_assert_eq(ts_test_count_files(folder, NULL), 0);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

static pid_t start_writer(const char *path, const struct output_content *content, int level)
{
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct hdf5_options options = {.level = level, .threads = 2, .force = true};
        struct ts_diag *diag = ts_diag_create();
        _exit(ts_test_write_output(path, &options, content, 2, diag) == TS_OK ? 0 : 1);
    }
    return pid;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool has_files_without_name(const char *folder)
{
    const int fd = open(folder, O_TMPFILE | O_RDWR, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void kill_writers(const char *folder, int level)
{
    enum { RUNS = 60 };
    struct output_content content = ts_test_content(31, 256, 256);
    uint64_t seed = 20240607;
    int killed = 0, absent = 0, whole = 0, stale = 0, stale_beside_none = 0, removed = 0, status;
    char path[300];
    snprintf(path, sizeof path, "%s/out.h5", folder);
    double duration = 0;
    /* The shortest of three, since a machine that is busy at one moment may be idle at the next,
     * and all writers would end before they are killed. */
    for (int i = 0; i < 3; i++) {
        const double start = now();
        cr_assert_eq(waitpid(start_writer(path, &content, level), &status, 0) > 0 ? status : -1, 0);
        const double took = now() - start;
        duration = i == 0 || took < duration ? took : duration;
    }
    size_t bytes, expected_bytes;
    unsigned char *expected = ts_test_read_file(path, &expected_bytes);
    for (int run = 0; run < RUNS; run++) {
        unlink(path);
        if (run % 2)
            write_text_file(path, "old");
        pid_t pid = start_writer(path, &content, level);
        usleep((useconds_t)(1e6 * 1.1 * duration * ts_random_unit(&seed)));
        kill(pid, SIGKILL);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        killed += WIFSIGNALED(status);
        unsigned char *data = ts_test_read_file(path, &bytes);
        bool is_whole = data && bytes == expected_bytes && memcmp(data, expected, bytes) == 0;
        size_t same = 0;
        while (data && same < bytes && same < expected_bytes && data[same] == expected[same])
            same++;
        cr_assert(is_whole || (run % 2 ? holds_text(path, "old") : !data),
                  "run %d, status %x, left something else: %zu bytes, of which the first %zu are "
                  "those of the %zu that were expected",
                  run, (unsigned)status, bytes, same, expected_bytes);
        absent += !data;
        whole += is_whole;
        free(data);
        const int left = (int)ts_test_count_files(folder, ".tomostage-tmp.");
        stale += left;
        stale_beside_none += run % 2 ? 0 : left;
        /* Without O_TMPFILE the next run clears up. */
        struct ts_diag *diag = ts_diag_create();
        struct hdf5_options options = {.level = level, .threads = 1, .force = true};
        struct hdf5_writer *writer;
        cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
        ts_hdf5_abandon(writer);
        removed += ts_test_has_code(diag, "stale-temporary-removed");
        cr_assert_eq(ts_test_count_files(folder, ".tomostage-tmp."), 0);
        ts_diag_destroy(diag);
    }
    fprintf(stderr,
            "killed writers: %d of %d killed, %d files absent, %d whole, %d temporary files left "
            "and %d removed\n",
            killed, RUNS, absent, whole, stale, removed);
    cr_assert_geq(killed, 20);
    cr_assert_eq(removed, stale);
    /* A file that replaces another has a temporary name for the moment between a link and a rename,
     * since a link replaces nothing. All others get their final name at once. */
    cr_assert(stale_beside_none == 0 || !has_files_without_name(folder),
              "%d temporary files were left", stale_beside_none);
    cr_assert(stale <= 3 || !has_files_without_name(folder), "%d temporary files were left", stale);
    free(expected);
    ts_test_content_clear(&content);
}

Test(hdf5_faults, killed_writers_leave_the_old_file, .timeout = 900)
{
    char folder[256];
    ts_test_folder(folder, sizeof folder);
    for (int level = 1; level >= 0; level--)
        kill_writers(folder, level);
    ts_test_remove_folder(folder);
}

static void flip_bit(const char *path, size_t bit)
{
    unsigned char byte;
    int fd = open(path, O_RDWR);
    cr_assert_eq(pread(fd, &byte, 1, (off_t)(bit / 8)), 1);
    byte ^= (unsigned char)(1u << (bit % 8));
    cr_assert_eq(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
    close(fd);
}

/* The trailer covers every byte. */
Test(hdf5_faults, flipped_bits_are_found, .timeout = 900)
{
    int found = 0;
    uint64_t seed = 20240608;
    char folder[256], path[300];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (int level = 0; level <= 6; level += 6) {
        struct output_content content = ts_test_content(5, 47, 51);
        struct hdf5_options options = {.level = level, .threads = 1, .force = true};
        cr_assert_eq(ts_test_write_output(path, &options, &content, 2, diag), TS_OK);
        cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
        struct stat status;
        cr_assert_eq(stat(path, &status), 0);
        for (int i = 0; i < 300; i++) {
            /* A third of them in the first 8 KiB, where most of the structure lies. */
            size_t bits = 8 * (size_t)(i % 3 == 0 && status.st_size > 8192 ? 8192 : status.st_size);
            size_t bit = ts_random_next(&seed) % bits;
            flip_bit(path, bit);
            ts_diag_clear(diag);
            cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_BAD_INPUT, "bit %zu, level %d",
                         bit, level);
            cr_assert_eq(ts_diag_error_count(diag), 1);
            found++;
            flip_bit(path, bit);
        }
        ts_test_content_clear(&content);
    }
    cr_assert_eq(found, 600);
    ts_diag_clear(diag);
    cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(hdf5_faults, an_unfinished_file_is_not_sound)
{
    char folder[256], path[300];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    cr_assert_neq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
    cr_assert(ts_test_has_code(diag, "hdf5-open"));
    cr_assert(ts_test_has_text(diag, "No such file"), "%s", ts_diag_get(diag, 0)->message);
    for (int empty = 0; empty < 2; empty++) {
        ts_diag_clear(diag);
        write_text_file(path, empty ? "" : "no HDF5 file at all");
        cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_BAD_INPUT);
        cr_assert(
            ts_test_has_text(diag, empty ? "is empty: it has no bytes" : "is not an HDF5 file"),
            "%s", ts_diag_get(diag, 0)->message);
    }
    for (int kind = 0; kind < 4;
         kind++) { /* nothing, an attribute, a link to elsewhere, a compound */
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                    space = H5Screate(H5S_SCALAR), pair = H5Tcreate(H5T_COMPOUND, 8);
        H5Tinsert(pair, "a", 0, H5T_NATIVE_FLOAT);
        H5Tinsert(pair, "b", 4, H5T_NATIVE_FLOAT);
        if (kind == 1)
            H5Aclose(H5Acreate2(file, "creator", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
        else if (kind == 2)
            H5Lcreate_external("other.h5", "/data", file, "link", H5P_DEFAULT, H5P_DEFAULT);
        else if (kind == 3)
            H5Dclose(H5Dcreate2(file, "pair", pair, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Tclose(pair);
        H5Sclose(space);
        H5Fclose(file);
        ts_diag_clear(diag);
        cr_assert_neq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
        cr_assert(ts_test_has_code(diag, "result-foreign"), "kind %d", kind);
        cr_assert(ts_test_has_text(diag, "not marked complete"));
    }
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* A caller of the writer can get these things wrong; the file is then given up. */
Test(hdf5_faults, what_cannot_be_described_is_an_error)
{
    static char text[62 << 10];
    const struct hdf5_options options = {.level = 1, .threads = 1};
    char folder[256], path[300];
    memset(text, 'x', sizeof text - 1);
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (int kind = 0; kind < 3; kind++) {
        static const char *const codes[] = {"output-image", "output-size", "output-attribute"};
        struct ts_diag *diag = ts_diag_create();
        struct hdf5_writer *writer;
        struct ts_image image = {.rank = kind == 0 ? 0 : 3, .dtype = TS_U8, .unit = "1"};
        int id;
        for (int d = 0; d < 3; d++)
            image.axes[d] = (struct ts_axis){
                .kind = TS_AXIS_Z, .n = d == 1 ? 0 : 4, .spacing = 1, .unit = "mm"};
        cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
        cr_assert_eq(ts_hdf5_group(writer, "/entry", "NXentry"), TS_OK);
        cr_assert_eq(kind < 2 ? ts_hdf5_image(writer, "/entry/data", &image, &id)
                              : ts_hdf5_text(writer, "/entry@long", text),
                     TS_RUN_FAILED);
        cr_assert(ts_test_has_code(diag, codes[kind]), "not %s but %s", codes[kind],
                  ts_diag_get(diag, 0)->code);
        ts_hdf5_abandon(writer);
        cr_assert_eq(ts_test_count_files(folder, NULL), 0);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

/* A folder takes the name during the run. */
Test(hdf5_faults, a_name_that_cannot_be_taken_is_an_error)
{
    const struct hdf5_options options = {.level = 1, .threads = 1, .force = true};
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_writer *writer;
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    cr_assert_eq(ts_hdf5_group(writer, "/entry", "NXentry"), TS_OK);
    cr_assert_eq(mkdir(path, 0777), 0);
    cr_assert_eq(ts_hdf5_commit(writer), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, "output-rename"), "%s", ts_diag_get(diag, 0)->code);
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(ts_test_count_files(folder, NULL), 0);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

/* The folder is removed during the run. A file with a temporary name in it would be removed
 * first. */
Test(hdf5_faults, a_folder_that_vanishes_is_an_error)
{
    const struct hdf5_options options = {.level = 1, .threads = 1};
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_writer *writer;
    char folder[256], inner[280], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(inner, sizeof inner, "%s/inner", folder);
    snprintf(path, sizeof path, "%s/out.h5", inner);
    cr_assert_eq(mkdir(inner, 0777), 0);
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    cr_assert_eq(ts_hdf5_group(writer, "/entry", "NXentry"), TS_OK);
    unlink(ts_hdf5_temporary(writer));
    cr_assert_eq(rmdir(inner), 0);
    cr_assert_eq(ts_hdf5_commit(writer), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, "output-rename"), "%s", ts_diag_get(diag, 0)->code);
    cr_assert(ts_test_has_text(diag, "No such file or directory"), "%s",
              ts_diag_get(diag, 0)->message);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}
