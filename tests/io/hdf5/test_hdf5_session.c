/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: children that crash, loop, say too much or take too much. The file is refused, and the
 * process that asked lives on. test_hdf5_foreign.c has the files that make libhdf5 do so.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "io/hdf5/hdf5_session.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"

/* A server that was forked knows the tasks of this file. */
static void begin(void)
{
    cr_assert(ts_sandbox_begin());
    ts_scan_file_begin();
}

TestSuite(hdf5_session, .init = begin, .fini = ts_scan_file_end);

/* ---- tasks that end badly -------------------------------------------------------------------- */

#define TASK(name)                                                                                 \
    static enum ts_status name(struct hdf5_child *child, const void *request, FILE *out,           \
                               struct ts_diag *diag)

#ifndef TS_SANITIZED /* which take the signal, and under which no limit of addresses holds */
TASK(crash)
{
    (void)child, (void)request, (void)out, (void)diag;
    raise(SIGSEGV);
    return TS_OK;
}

TASK(take_memory)
{
    (void)child, (void)request, (void)out;
    const size_t much = (size_t)SESSION_ADDRESS_BYTES + (64 << 20);
    void *memory = malloc(much);
    free(memory);
    return memory ? TS_OK : ts_diag_no_memory(diag, much);
}

/* Opens a file by its name. */
TASK(open_by_name)
{
    (void)child, (void)request, (void)out, (void)diag;
    return open("/etc/hostname", O_RDONLY) < 0 ? TS_OK : TS_BAD_INPUT;
}
#endif

TASK(loop)
{
    (void)child, (void)request, (void)out, (void)diag;
    for (volatile uint64_t i = 0;; i++)
        ;
    return TS_OK;
}

TASK(vanish)
{
    (void)child, (void)request, (void)out, (void)diag;
    _exit(0);
}

TASK(talk)
{
    static const char text[1 << 16];
    (void)child, (void)request, (void)diag;
    for (size_t n = 0; n <= SESSION_ANSWER_BYTES; n += sizeof text)
        fwrite(text, 1, sizeof text, out);
    return TS_OK;
}

TASK(fail_unseen)
{
    (void)child, (void)request, (void)out, (void)diag;
    (void)H5Dget_type(-1);
    return TS_OK;
}

/* A request of one byte: whether to fail. */
TASK(speak)
{
    (void)child;
    fputs("printed", out);
    ts_diag_note(diag, &(struct diag_site){.code = "one"}, "a note");
    if (!*(const char *)request)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_INPUT,
                  &(struct diag_site){.code = "two", .span = {9, 9, 9}, .stage = "\033[2Jtrap"},
                  "wrong");
    ts_diag_hint(diag, "a hint");
    return TS_BAD_INPUT;
}

TASK(speak_in_code)
{
    (void)child, (void)request, (void)out;
    ts_diag_note(diag, &(struct diag_site){.code = "\033[2J"}, "a note");
    return TS_OK;
}

/* ---- tasks of a child that an attacker has taken over ---------------------------------------- */

/* In the child the channel is the only socket. */
static int find_channel(void)
{
    struct stat status;
    for (int fd = 3; fd < 100; fd++)
        if (syscall(SYS_fstat, fd, &status) == 0 && S_ISSOCK(status.st_mode))
            return fd;
    return -1;
}

static void use_processor(double seconds)
{
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        ;
}

/* Announces a large answer and says it a byte at a time. */
TASK(dribble)
{
    const struct answer_head head = {.bytes = SESSION_ANSWER_BYTES};
    const int channel = find_channel();
    (void)child, (void)request, (void)out, (void)diag;
    for (bool sent = ts_channel_write(channel, &head, sizeof head); sent;
         sent = ts_channel_write(channel, "", 1))
        ;
    return TS_OK;
}

/* Answers tasks to come and never reads their requests. */
TASK(answer_ahead)
{
    const struct answer_head head = {0};
    const int channel = find_channel();
    (void)child, (void)request, (void)out, (void)diag;
    for (int i = 0; i < 100; i++)
        (void)ts_channel_write(channel, &head, sizeof head);
    use_processor(100);
    return TS_OK;
}

#ifndef TS_SANITIZED
/* Announces an answer for which this process has no memory. */
TASK(announce)
{
    const struct answer_head head = {.bytes = SESSION_ANSWER_BYTES};
    (void)child, (void)request, (void)out, (void)diag;
    (void)ts_channel_write(find_channel(), &head, sizeof head);
    use_processor(100);
    return TS_OK;
}
#endif

static struct hdf5_session *start(void)
{
    struct hdf5_session *session;
    const struct hdf5_session_options options = {
        .path = "a.h5", .span = {3, 4, 5}, .owner = "input", .strict = true};
    cr_assert_eq(ts_hdf5_session_start(&options, &session, ts_scan_file.diag), TS_OK);
    return session;
}

static void check_lost(hdf5_task *task, enum ts_status expected, const char *code,
                       const char *words)
{
    struct hdf5_session *session = start();
    void *answer;
    size_t bytes;
    cr_assert_eq(
        ts_hdf5_session_call(session, task, NULL, 0, &answer, &bytes, ts_scan_file.diag), expected,
        "%s", ts_diag_count(ts_scan_file.diag) ? ts_diag_get(ts_scan_file.diag, 0)->message : "");
    cr_assert_null(answer);
    ts_test_expect(ts_scan_file.diag, code, words);
    ts_diag_clear(ts_scan_file.diag);
    ts_hdf5_session_end(session);
}

Test(hdf5_session, ways_to_end)
{
    check_lost(loop, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: the file is damaged: it took longer than 0.7 s");
    check_lost(vanish, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: the file is damaged: the process that tried to read it gave no answer");
    check_lost(talk, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: the file is damaged: its listing needs more than 64 MiB");
    check_lost(speak_in_code, TS_BAD_INPUT, "hdf5-damaged", "gave no answer");
    check_lost(fail_unseen, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: a part of the file cannot be read: ");
#ifndef TS_SANITIZED
    check_lost(crash, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: the file is damaged: libhdf5 crashed on it (Segmentation fault)");
    check_lost(take_memory, TS_RUN_FAILED, "no-memory", "");
    check_lost(open_by_name, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: the file is damaged: libhdf5 crashed on it (Bad system call)");
#endif
}

Test(hdf5_session, a_child_that_dribbles_is_ended, .timeout = 900)
{
    check_lost(dribble, TS_BAD_INPUT, "hdf5-damaged",
               "a.h5: the file is damaged: it took longer than 0.7 s");
}

Test(hdf5_session, a_child_that_never_reads_is_ended, .timeout = 900)
{
    static const char request[SESSION_REQUEST_BYTES];
    struct hdf5_session *session = start();
    enum ts_status status = TS_OK;
    void *answer;
    size_t bytes;
    for (int i = 0; i < 100 && status == TS_OK; i++) {
        status = ts_hdf5_session_call(session, answer_ahead, request, sizeof request, &answer,
                                      &bytes, ts_scan_file.diag);
        free(answer);
    }
    cr_assert_eq(status, TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-damaged", "it took longer than");
    ts_hdf5_session_end(session);
}

/* The channel's number leads elsewhere. */
Test(hdf5_session, a_channel_that_fails_is_not_the_files_fault)
{
    ts_hdf5_session_end(
        start()); /* the fork server is there, so the next number is the channel's */
    const int channel = dup(0);
    void *answer;
    size_t bytes;
    cr_assert(channel >= 0 && close(channel) == 0);
    struct hdf5_session *session = start();
    const int null = open("/dev/null", O_RDWR);
    cr_assert_eq(dup2(null, channel), channel);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(
            ts_hdf5_session_call(session, speak, NULL, 0, &answer, &bytes, ts_scan_file.diag),
            TS_RUN_FAILED);
    cr_assert_eq(ts_diag_count(ts_scan_file.diag), 1);
    ts_test_expect(ts_scan_file.diag, "hdf5-channel",
                   "a.h5: the channel to the process that reads it failed: Socket op");
    ts_hdf5_session_end(session);
}

/* Counts its calls: a child in the place of another knows what that one knew. */
TASK(count)
{
    static int64_t n;
    (void)child, (void)request, (void)diag;
    n++;
    fwrite(&n, sizeof n, 1, out);
    return TS_OK;
}

/* Kills the newest child of this process, which is the child of the session. */
static void kill_child(void)
{
    DIR *processes = opendir("/proc");
    long newest = 0;
    cr_assert_not_null(processes);
    for (const struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        char path[300];
        long pid = 0, parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%ld (%*[^)]) %*c %ld", &pid, &parent) == 2 && parent == getpid())
            newest = pid > newest ? pid : newest;
        if (file)
            fclose(file);
    }
    closedir(processes);
    cr_assert(newest > 0 && kill((pid_t)newest, SIGKILL) == 0);
}

Test(hdf5_session, a_child_that_is_killed_has_another_in_its_place_once)
{
    struct hdf5_session *session = start();
    int64_t n = 0;
    enum ts_status status = TS_OK;
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(ts_hdf5_session_ask(session, count, NULL, 0, &n, sizeof n, ts_scan_file.diag),
                     TS_OK);
        cr_assert_eq(n, i);
    }
    for (int i = 0; i < 2; i++) {
        kill_child();
        status = ts_hdf5_session_ask(session, count, NULL, 0, &n, sizeof n, ts_scan_file.diag);
        cr_assert_eq(status, i ? TS_RUN_FAILED : TS_OK);
        cr_assert_eq(n, 4);
    }
    ts_test_expect(ts_scan_file.diag, "decoder-killed",
                   "a.h5: the process that reads it was killed by signal 9 (Killed), and so was "
                   "the one in its place");
    ts_hdf5_session_end(session);
}

#ifndef TS_SANITIZED
Test(hdf5_session, an_answer_without_memory_is_not_the_files_fault)
{
    const struct rlimit limit = {.rlim_cur = 32 << 20, .rlim_max = RLIM_INFINITY};
    struct hdf5_session *session = start();
    void *answer;
    size_t bytes;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_eq(
        ts_hdf5_session_call(session, announce, NULL, 0, &answer, &bytes, ts_scan_file.diag),
        TS_RUN_FAILED);
    cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
    ts_test_expect(ts_scan_file.diag, "no-memory", "out of memory");
    ts_hdf5_session_end(session);
}
#endif

Test(hdf5_session, a_lost_session_fails_and_reports_once)
{
    struct hdf5_session *session = start();
    void *answer;
    size_t bytes;
    cr_assert_eq(ts_hdf5_session_call(session, vanish, NULL, 0, &answer, &bytes, ts_scan_file.diag),
                 TS_BAD_INPUT);
    cr_assert_eq(ts_hdf5_session_call(session, speak, NULL, 0, &answer, &bytes, ts_scan_file.diag),
                 TS_BAD_INPUT);
    cr_assert_eq(ts_diag_count(ts_scan_file.diag), 1);
    ts_hdf5_session_end(session);
}

Test(hdf5_session, records_and_text_come_back)
{
    struct ts_diag *diag = ts_scan_file.diag;
    struct hdf5_session *session = start();
    char text[7];
    void *answer;
    size_t bytes;
    cr_assert_eq(ts_hdf5_session_ask(session, speak, "", 1, text, sizeof text, diag), TS_OK);
    cr_assert_eq(memcmp(text, "printed", sizeof text), 0);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_assert_eq(ts_hdf5_session_ask(session, speak, "", 1, text, sizeof text - 1, diag),
                 TS_BAD_INPUT);
    ts_test_expect(diag, "hdf5-damaged", "gave no answer");
    ts_diag_clear(diag);
    cr_assert_eq(ts_hdf5_session_call(session, speak, "x", 1, &answer, &bytes, diag), TS_BAD_INPUT);
    cr_assert_eq(ts_diag_count(diag), 2);
    const struct ts_diag_record *record = ts_diag_get(diag, 1);
    cr_assert_str_eq(record->code, "two");
    cr_assert_str_eq(record->stage, "input");
    cr_assert_str_eq(record->message, "wrong");
    cr_assert_str_eq(record->hint, "a hint");
    cr_assert(record->span.line == 3 && record->span.column == 4 && record->span.length == 5);
    ts_hdf5_session_end(session);
}
