/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/folders.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tests run in processes of their own: they learn of the run's folders through the environment.
 * TMPDIR also holds for what they start. */
static const char *const on_disk = "TMPDIR", *const in_memory = "TOMOSTAGE_TESTS_MEMORY";

static void make_root(const char *variable, const char *parent)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tomostage-tests-XXXXXX", parent);
    if (!mkdtemp(path))
        return;
    chmod(path, 0711); /* a test goes on as another user */
    setenv(variable, path, 1);
}

static void remove_root(const char *variable)
{
    const char *path = getenv(variable);
    if (path)
        ts_test_remove_folder(path);
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    const char *parent = getenv(on_disk);
    (void)tests;
    make_root(on_disk, parent ? parent : "/tmp");
    if (access("/dev/shm", W_OK) == 0)
        make_root(in_memory, "/dev/shm");
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    (void)stats;
    remove_root(on_disk);
    remove_root(in_memory);
}

static void make(const char *root, char *folder, size_t size)
{
    snprintf(folder, size, "%s/XXXXXX", root);
    cr_assert(mkdtemp(folder), "no folder %s", folder);
}

void ts_test_folder(char *folder, size_t size)
{
    const char *root = getenv(on_disk);
    make(root ? root : "/tmp", folder, size);
}

void ts_test_folder_in_memory(char *folder, size_t size)
{
    const char *root = getenv(in_memory);
    if (root)
        make(root, folder, size);
    else
        ts_test_folder(folder, size);
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
    (void)status;
    (void)flag;
    (void)walk;
    return remove(path);
}

void ts_test_remove_folder(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
