/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/program/batch/batch_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", ts_compare_program.folder, name);
}

void ts_batch_folder_make(const char *name)
{
    char path[512];
    path_of(path, name);
    cr_assert_eq(mkdir(path, 0777), 0, "%s", path);
}

void ts_batch_folder_remove(const char *name)
{
    char path[512];
    path_of(path, name);
    cr_assert_eq(unlink(path), 0, "%s", path);
}

void ts_batch_folder_cut(const char *name)
{
    struct stat found;
    char path[512];
    path_of(path, name);
    cr_assert(stat(path, &found) == 0 && truncate(path, found.st_size / 3 * 2) == 0, "%s", path);
}

void ts_batch_folder_list(const char *name, char *names, size_t size)
{
    char path[512];
    path_of(path, name);
    ts_program_folder_list(path, names, size);
}

void ts_batch_folder_expect(const char *name, const char *names)
{
    char found[1024];
    ts_batch_folder_list(name, found, sizeof found);
    cr_assert_str_eq(found, names);
}

void ts_batch_folder_begin(void)
{
    ts_compare_program_begin_empty();
    ts_batch_folder_make("st");
    for (int i = 1; i <= 3; i++) {
        char folder[16], noise[16];
        snprintf(folder, sizeof folder, "st/p%d", i);
        snprintf(noise, sizeof noise, "%d", i);
        ts_compare_program_run(ARGUMENTS("phantom", "head", "-o", folder, "--size", "48",
                                         "--slices", "6", "--noise", noise));
    }
    ts_compare_program_write("chain.yaml",
                             "tomostage: 2\ninput: {dicom: x}\nstages:\n  - box: {radius: 1}\n"
                             "  - crop: {above: -500}\n  - statistics\noutput: {hdf5: y.h5}\n");
}
