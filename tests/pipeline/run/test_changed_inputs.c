/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs that are written to while a run reads them, with the same size and with their time of
 * modification set back. A slice that is read again has to be the same, and at the end every file
 * has to be as it was opened.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/publish_lock.h"
#include "io/file/regular_file.h"
#include "pipeline/plan/plan.h"
#include "tests/files/dicom_open.h"
#include "tests/program/record/compare_program.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

static struct ts_diag *diag;
static struct ts_chain *chain;
static struct ts_plan *plan;

/* Makes a file of each format out of the phantom's six slices of 48 x 48 pixels. */
static void begin(void)
{
    ts_compare_program_begin("dicom study | box radius=1 | hdf5 a.h5");
    ts_compare_program_run(ARGUMENTS("export", "a.h5", "-o", "a.nii"));
    ts_compare_program_run(ARGUMENTS("export", "a.h5", "-o", "b.nii.gz"));
    ts_compare_program_run(ARGUMENTS("export", "a.h5", "-o", "a.tif"));
    ts_compare_program_run(ARGUMENTS("export", "a.h5", "-o", "folder", "--format", "tiff"));
    static char raw[8 * 9 * 10 * 2];
    static const char nrrd[] =
        "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 10 9 8\nspacings: 1 1 1\nendian: little\n"
        "encoding: raw\n\n";
    char text[sizeof nrrd + sizeof raw], path[400];
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (char)(i * 37 % 101);
    memcpy(text, nrrd, sizeof nrrd - 1);
    memcpy(text + sizeof nrrd - 1, raw, sizeof raw);
    snprintf(path, sizeof path, "%s/a.nrrd", ts_compare_program.folder);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(text, sizeof nrrd - 1 + sizeof raw, 1, file) == 1 &&
              fclose(file) == 0);
    char head[128];
    const int n = snprintf(head, sizeof head, "%-117s\n",
                           "{'descr': '<u2', 'fortran_order': False, 'shape': (8, 9, 10), }");
    snprintf(path, sizeof path, "%s/a.npy", ts_compare_program.folder);
    file = fopen(path, "wb");
    cr_assert(file && fwrite("\x93NUMPY\x01\x00\x76\x00", 10, 1, file) == 1 &&
              fwrite(head, (size_t)n, 1, file) == 1 && fwrite(raw, sizeof raw, 1, file) == 1 &&
              fclose(file) == 0);
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
    ts_compare_program_end();
}

TestSuite(changed_inputs, .init = begin, .fini = end);

static struct source *open_input(const char *input)
{
    char text[300];
    snprintf(text, sizeof text, "%s | box radius=1 | hdf5 o.h5", input);
    ts_diag_clear(diag);
    cr_assert_eq(
        ts_chain_parse(text, strlen(text), "test", ts_compare_program.folder, &chain, diag), TS_OK,
        "%s: %s", text, ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    const struct ts_options options = {.size = sizeof options, .device = "cpu"};
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_OK, "%s: %s", text,
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    return plan->nodes[0].source;
}

static void close_input(void)
{
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
}

/* Writes other bytes into the last tenth of the file, and sets the time of modification back. */
static void change(const char *name)
{
    char path[400], bytes[64];
    struct stat before;
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    const int fd = open(path, O_RDWR);
    cr_assert(fd >= 0 && fstat(fd, &before) == 0);
    const off_t at = before.st_size - before.st_size / 10;
    const ssize_t n = pread(fd, bytes, sizeof bytes, at);
    for (ssize_t i = 0; i < n; i++)
        bytes[i] ^= 0x15;
    cr_assert(n > 0 && pwrite(fd, bytes, (size_t)n, at) == n);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    cr_assert(futimens(fd, times) == 0 && close(fd) == 0);
}

Test(changed_inputs, a_slice_that_is_read_again_is_the_same)
{
    static const struct {
        const char *input, *file;
    } cases[] = {{"nifti a.nii", "a.nii"},
                 {"npy a.npy", "a.npy"},
                 {"nrrd a.nrrd", "a.nrrd"},
                 {"tiff a.tif pages=slices pixel_size=1 spacing_z=1", "a.tif"},
                 {"tiff folder pages=slices pixel_size=1 spacing_z=1", "folder/slice_0006.tif"},
                 {"nifti a.nii slices=[4,6]", "a.nii"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source *source = open_input(cases[i].input);
        const int64_t n = ts_source_total(source);
        void *data = malloc((size_t)n * ts_slice_bytes(&source->image));
        for (int k = 0; k < 2; k++)
            cr_assert_eq(source->ops->read(source, 0, n, data, diag), TS_OK, "%s", cases[i].input);
        cr_assert_eq(source->ops->check_unchanged(source, diag), TS_OK);
        change(cases[i].file);
        cr_expect_eq(source->ops->read(source, 0, n, data, diag), TS_BAD_INPUT, "%s",
                     cases[i].input);
        ts_test_expect(diag, "file-changed", "");
        free(data);
        close_input();
    }
}

/* What was read once has nothing to be compared with: the times of the file tell. */
Test(changed_inputs, a_file_has_to_be_as_it_was_opened)
{
    static const struct {
        const char *input, *file;
    } cases[] = {{"nifti a.nii", "a.nii"},
                 {"nifti b.nii.gz", "b.nii.gz"},
                 {"npy a.npy", "a.npy"},
                 {"nrrd a.nrrd", "a.nrrd"},
                 {"tiff a.tif pages=slices pixel_size=1 spacing_z=1", "a.tif"},
                 {"tiff folder pages=slices pixel_size=1 spacing_z=1", "folder/slice_0002.tif"},
                 {"hdf5 a.h5 path=/entry/data/data axes=z,y,x", "a.h5"},
                 {"result a.h5", "a.h5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[400];
        struct source *source = open_input(cases[i].input);
        snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, cases[i].file);
        cr_assert_eq(source->ops->check_unchanged(source, diag), TS_OK, "%s", cases[i].input);
        cr_assert_eq(chmod(path, 0640), 0); /* a new mode or name is no new content */
        cr_expect_eq(source->ops->check_unchanged(source, diag), TS_OK, "%s", cases[i].input);
        cr_assert_eq(chmod(path, 0644), 0);
        usleep(20000); /* the clock of the file system */
        change(cases[i].file);
        cr_expect_eq(source->ops->check_unchanged(source, diag), TS_BAD_INPUT, "%s",
                     cases[i].input);
        ts_test_expect(diag, "file-changed", "");
        change(cases[i].file); /* as it was */
        close_input();
    }
}

/* What was changed so that it cannot be read any more was whole when it was opened, and checked. */
Test(changed_inputs, a_change_that_looks_like_damage_is_called_a_change)
{
    static const struct {
        const char *input, *file;
    } cases[] = {{"result a.h5", "a.h5"},
                 {"hdf5 a.h5 path=/entry/data/data axes=z,y,x", "a.h5"},
                 {"nifti b.nii.gz", "b.nii.gz"},
                 {"tiff a.tif pages=slices pixel_size=1 spacing_z=1", "a.tif"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source *source = open_input(cases[i].input);
        const int64_t n = ts_source_total(source);
        char path[400];
        void *data = malloc((size_t)n * ts_slice_bytes(&source->image));
        usleep(20000); /* the clock of the file system */
        snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, cases[i].file);
        cr_assert_eq(truncate(path, 1000), 0);
        ts_diag_clear(diag);
        cr_expect_eq(ts_source_read(source, 0, n, data, diag), TS_BAD_INPUT, "%s", cases[i].input);
        ts_test_expect(diag, "file-changed", "");
        cr_expect_eq(ts_diag_count(diag), 1, "%s", cases[i].input);
        free(data);
        close_input();
        end();
        begin();
    }
}

/* Of two runs on the same folders one waits for the other. */
Test(changed_inputs, folders_are_locked_once_and_let_go)
{
    const char *folder = ts_compare_program.folder;
    char again[400], inner[400];
    struct publish_lock lock;
    snprintf(again, sizeof again, "%s/../%s/.", folder, strrchr(folder, '/') + 1);
    snprintf(inner, sizeof inner, "%s/folder", folder);
    ts_publish_lock(&lock, (const char *const[]){folder, inner, again, NULL}, 4, diag);
    cr_assert_eq(lock.n, 2);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0);
    ts_publish_unlock(&lock);
    cr_assert_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

/* What a process that was killed has left among the temporary files goes with the next rerun. */
Test(changed_inputs, rerun_removes_what_a_killed_one_left)
{
    char left[400], path[500], names[512];
    snprintf(left, sizeof left, "%s/.tomostage-rerun.tomostage-tmp.2147483646.0123456789abcdef",
             ts_compare_program.folder);
    snprintf(path, sizeof path, "%s/second.h5", left);
    cr_assert_eq(mkdir(left, 0700), 0);
    FILE *file = fopen(path, "w");
    cr_assert(file && fclose(file) == 0);
    cr_assert_eq(setenv("TMPDIR", ts_compare_program.folder, 1), 0);
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study"), 0,
                              ARGUMENTS("the same: "));
    cr_assert(access(left, F_OK) != 0);
    ts_program_folder_list(ts_compare_program.folder, names, sizeof names);
    cr_assert_null(strstr(names, "tomostage"), "%s", names);
}
