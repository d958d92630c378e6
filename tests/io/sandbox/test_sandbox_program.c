/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that only uses the library has its sandboxed children from a program that the library
 * starts, whatever this process does besides.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <hdf5.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/hdf5/hdf5_list.h"
#include "io/hdf5/hdf5_session.h"
#include "tests/files/scan_file.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

#ifndef TESTS_ARE_STATIC /* where the server is forked */

static void begin(void)
{
    ts_scan_file_begin();
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(file, 0);
    H5Fclose(file);
}

TestSuite(sandbox_program, .init = begin, .fini = ts_scan_file_end);

/* Reads the file in a child. */
static enum ts_status list(struct sandbox *sandbox, const char *path, struct ts_diag *diag)
{
    struct hdf5_session *session = NULL;
    void *answer = NULL;
    size_t bytes;
    enum ts_status status = ts_hdf5_session_open(
        &(struct hdf5_session_options){.sandbox = sandbox, .path = path}, &session, NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, &answer, &bytes, diag);
    ts_hdf5_session_end(session);
    free(answer);
    return status;
}

static enum ts_status list_here(void)
{
    const enum ts_status status = list(NULL, ts_scan_file.path, ts_scan_file.diag);
    if (status != TS_OK)
        ts_diag_print(ts_scan_file.diag, stderr);
    return status;
}

static int count_children(void)
{
    char path[64], line[4096] = "";
    int n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    if (fgets(line, sizeof line, file))
        for (const char *at = line; *at; at++)
            n += *at == ' ';
    fclose(file);
    return n;
}

Test(sandbox_program, leaves_no_process)
{
    if (count_children() < 0)
        ts_test_skip("this kernel does not list children");
    const int before = count_children();
    cr_assert_eq(list_here(), TS_OK);
    cr_assert_eq(count_children(), before + 1, "the server alone is left");
    ts_sandbox_finish();
    cr_assert_eq(count_children(), before);
    cr_assert_eq(list_here(), TS_OK, "another server is started");
    ts_sandbox_finish();
}

static void *open_session(void *session)
{
    cr_assert_eq(ts_hdf5_session_open(&(struct hdf5_session_options){.path = ts_scan_file.path},
                                      session, NULL, ts_scan_file.diag),
                 TS_OK);
    return NULL;
}

Test(sandbox_program, outlives_the_thread_that_started_it)
{
    struct hdf5_session *session = NULL;
    pthread_t thread;
    void *answer = NULL;
    size_t bytes;
    cr_assert_eq(pthread_create(&thread, NULL, open_session, &session), 0);
    pthread_join(thread, NULL);
    usleep(20000); /* the kernel would have killed them by now */
    cr_assert_eq(ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, &answer, &bytes,
                                      ts_scan_file.diag),
                 TS_OK);
    ts_hdf5_session_end(session);
    free(answer);
}

Test(sandbox_program, starts_beside_threads)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 100; i++)
        sum += i;
    cr_assert_eq(sum, 4950);
    cr_assert_eq(list_here(), TS_OK);
    int failed = 0;
#pragma omp parallel for reduction(+ : failed) num_threads(4)
    for (int i = 0; i < 8; i++) {
        struct ts_diag *diag = ts_diag_create();
        failed += list(NULL, ts_scan_file.path, diag) != TS_OK;
        ts_diag_destroy(diag);
    }
    cr_assert_eq(failed, 0);
}

Test(sandbox_program, a_forked_process_has_one_of_its_own)
{
    int status;
    cr_assert_eq(list_here(), TS_OK);
    const pid_t child = fork();
    if (child == 0) {
        const bool listed = list_here() == TS_OK;
        ts_sandbox_finish();
        _exit(listed ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert_eq(list_here(), TS_OK, "the parent's still answers");
}

/* Relative paths are relative to the folder that is current when they are opened. */
Test(sandbox_program, follows_the_current_folder)
{
    cr_assert_eq(list_here(), TS_OK);
    cr_assert_eq(chdir(ts_scan_file.folder), 0);
    cr_assert_eq(list(NULL, "scan.h5", ts_scan_file.diag), TS_OK);
    cr_assert_eq(chdir("/"), 0);
}

Test(sandbox_program, nobody_need_wait_for_its_children)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(list_here(), TS_OK);
    ts_sandbox_finish();
    signal(SIGCHLD, SIG_DFL);
}

Test(sandbox_program, a_wrong_one_is_named)
{
    static const struct {
        const char *path, *text;
    } wrong[] = {
        {"/nowhere/sandbox", "/nowhere/sandbox: No such file or directory"},
        {"/bin/true", "/bin/true is not the program of this library, or cannot run"},
        {"/dev/null", "/dev/null: Permission denied"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sandbox *sandbox = ts_sandbox_create(wrong[i].path);
        cr_assert_not_null(sandbox);
        cr_assert_eq(list(sandbox, ts_scan_file.path, ts_scan_file.diag), TS_RUN_FAILED);
        const struct ts_diag_record *record =
            ts_diag_get(ts_scan_file.diag, ts_diag_count(ts_scan_file.diag) - 1);
        cr_assert_str_eq(record->code, "worker-not-started");
        cr_assert_not_null(strstr(record->message, wrong[i].text), "%s", record->message);
        ts_sandbox_destroy(sandbox);
    }
    cr_assert_eq(list_here(), TS_OK);
}
#endif
