/* SPDX-License-Identifier: Apache-2.0
 *
 * A child that was taken over by its input could try all this. Each attempt has a child of its own,
 * which the filter must kill; the same attempt in a process without a filter must succeed, so that
 * the test cannot pass by failing.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/sandbox/sandbox.h"
#include "tests/support/skip.h"

/* ---- attempts: true where it worked ---------------------------------------------------------- */

static bool open_file(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0;
}

static bool make_file(void)
{
    return open("/tmp/tomostage-sandbox-probe", O_WRONLY | O_CREAT, 0600) >= 0;
}

static bool remove_file(void)
{
    return unlink("/tmp/tomostage-sandbox-probe") == 0;
}

static bool look_at_file(void)
{
    struct stat status;
    return lstat("/etc/passwd", &status) == 0;
}

static bool open_unix_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM, 0) >= 0;
}

static bool open_network(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool start_process(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0;
}

static bool run_shell(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return false;
}

static bool signal_parent(void)
{
    return kill(getppid(), 0) == 0;
}

static bool read_parent(void)
{
    char byte;
    const struct iovec local = {&byte, 1}, remote = {(void *)&open_file, 1};
    return process_vm_readv(getppid(), &local, 1, &remote, 1, 0) == 1;
}

static bool map_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) != MAP_FAILED;
}

static bool make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool raise_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_CPU, &limit) == 0 && setrlimit(RLIMIT_CPU, &limit) == 0;
}

static bool be_dumped(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

static bool spoil_memory(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && madvise(page, 4096, MADV_FREE) == 0;
}

static const struct attempt {
    const char *name;
    bool (*try)(void);
    bool ends;    /* where it works, the process is another one and ends with 0 */
    bool refused; /* the call fails in place of ending the child */
} attempts[] = {
    {"open a file", open_file, false, false},
    {"make a file", make_file, false, false},
    {"remove a file", remove_file, false, false},
    {"look at a file", look_at_file, false, true},
    {"open a unix socket", open_unix_socket, false, false},
    {"open a network socket", open_network, false, false},
    {"start a process", start_process, false, false},
    {"run a program", run_shell, true, false},
    {"signal the parent", signal_parent, false, false},
    {"read the parent's memory", read_parent, false, false},
    {"map memory as code", map_code, false, false},
    {"turn memory into code", make_code, false, false},
    {"raise a limit", raise_limit, false, false},
    {"become dumpable", be_dumped, false, false},
    {"advise the kernel on memory", spoil_memory, false, false},
};

enum { N_ATTEMPTS = sizeof attempts / sizeof *attempts };

static void serve(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    int index;
    (void)bytes;
    (void)fds;
    (void)n_fds;
    memcpy(&index, setup, sizeof index);
    const unsigned char worked = attempts[index].try();
    (void)ts_channel_write(channel, &worked, 1);
}

/* A server that was forked knows the kinds of this file. */
static void begin_server(void)
{
    cr_assert(ts_sandbox_begin());
}

TestSuite(sandbox, .init = begin_server);

static const struct sandbox_kind probing = {.name = "probe", .serve = serve};
static const struct sandbox_limits limits = {.address_bytes = (size_t)64 << 20, .cpu_seconds = 5};

Test(sandbox, every_attempt_ends_the_child)
{
    char state[200], what[SANDBOX_TEXT_MAX];
    bool filtered;
    ts_sandbox_state(state, sizeof state, &filtered);
    if (!filtered)
        ts_test_skip("%s", state);
    struct ts_diag *diag = ts_diag_create();
    for (int i = 0; i < N_ATTEMPTS; i++) {
        struct sandbox_child child;
        unsigned char worked = 0;
        cr_assert_eq(ts_sandbox_start(NULL, &probing, &limits, &i, sizeof i, NULL, 0, &child, diag),
                     TS_OK);
        const bool answered = ts_channel_read(child.channel, &worked, 1);
        const int signal_number = ts_sandbox_end(&child, what, sizeof what);
        cr_expect_not(worked, "%s worked", attempts[i].name);
        if (attempts[i].refused)
            cr_expect(answered, "%s: the child %s", attempts[i].name, what);
        else
            cr_expect_eq(signal_number, SIGSYS, "%s: the child %s", attempts[i].name, what);
    }
    ts_diag_destroy(diag);
}

Test(sandbox, every_attempt_works_without_the_filter)
{
    for (int i = 0; i < N_ATTEMPTS; i++) {
        int status = 1;
        const pid_t pid = fork();
        if (pid == 0)
            _exit(!attempts[i].try());
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_expect_eq(status, 0, "%s did not work", attempts[i].name);
    }
}

/* ---- what a child inherits ------------------------------------------------------------------- */

static void count_descriptors(int channel, const void *setup, size_t bytes, const int *fds,
                              int n_fds)
{
    struct stat status;
    int open_ones = 0;
    (void)setup;
    (void)bytes;
    (void)fds;
    (void)n_fds;
    for (int fd = 3; fd < 1024; fd++)
        open_ones += syscall(SYS_fstat, fd, &status) == 0;
    (void)ts_channel_write(channel, &open_ones, sizeof open_ones);
}

Test(sandbox, holds_what_it_was_handed_alone)
{
    static const struct sandbox_kind counting = {.name = "count", .serve = count_descriptors};
    const int handed[2] = {STDERR_FILENO, STDERR_FILENO};
    struct ts_diag *diag = ts_diag_create();
    struct sandbox_child child;
    int n = 0;
    for (int i = 0; i < 20; i++) /* none of these comes along */
        cr_assert_geq(open("/dev/null", O_RDONLY), 0);
    cr_assert_eq(ts_sandbox_start(NULL, &counting, &limits, NULL, 0, handed, 2, &child, diag),
                 TS_OK);
    cr_assert(ts_channel_read(child.channel, &n, sizeof n));
    cr_assert_eq(n, 3, "the channel and 2 descriptors, and %d are open", n);
    ts_sandbox_end(&child, NULL, 0);
    ts_diag_destroy(diag);
}

static void echo(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    (void)fds;
    (void)n_fds;
    (void)ts_channel_write(channel, setup, bytes);
}

Test(sandbox, setup_arrives_whole)
{
    static const struct sandbox_kind echoing = {.name = "echo", .serve = echo};
    static unsigned char sent[SANDBOX_SETUP_BYTES], received[SANDBOX_SETUP_BYTES];
    struct ts_diag *diag = ts_diag_create();
    struct sandbox_child child;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (unsigned char)(i * 7);
    cr_assert_eq(
        ts_sandbox_start(NULL, &echoing, &limits, sent, sizeof sent, NULL, 0, &child, diag), TS_OK);
    cr_assert(ts_channel_read(child.channel, received, sizeof received));
    cr_assert_eq(memcmp(sent, received, sizeof sent), 0);
    cr_assert_not(ts_channel_read(child.channel, received, 1));
    char what[SANDBOX_TEXT_MAX];
    cr_assert_eq(ts_sandbox_end(&child, what, sizeof what), 0);
    cr_assert_str_eq(what, "ended with status 0");
    ts_diag_destroy(diag);
}

static void answer_once(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    char byte;
    (void)setup;
    (void)bytes;
    (void)fds;
    (void)n_fds;
    if (ts_channel_read(channel, &byte, 1))
        (void)ts_channel_write(channel, &byte, 1);
}

static void *start_child(void *data)
{
    static const struct sandbox_kind answering = {.name = "answer", .serve = answer_once};
    struct ts_diag *diag = ts_diag_create();
    struct sandbox_child *child = data;
    if (ts_sandbox_start(NULL, &answering, &limits, NULL, 0, NULL, 0, child, diag) != TS_OK)
        *child = (struct sandbox_child){.channel = -1};
    ts_diag_destroy(diag);
    return NULL;
}

/* A program that runs its plans in threads: neither the children nor the server end with the thread
 * that asked. */
Test(sandbox, a_child_outlives_the_thread_that_started_it)
{
    enum { N = 4 };
    struct sandbox_child children[N];
    char byte = 'x';
    for (int i = 0; i < N; i++) {
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, start_child, &children[i]), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        usleep(20000);
    }
    for (int i = 0; i < N; i++) {
        cr_assert_geq(children[i].channel, 0, "child %d was not started", i);
        cr_assert(ts_channel_write(children[i].channel, &byte, 1));
        cr_assert(ts_channel_read(children[i].channel, &byte, 1), "child %d is gone", i);
        ts_sandbox_end(&children[i], NULL, 0);
    }
}

/* A signal from outside may end the server of a program, which forks another. */
Test(sandbox, a_lost_server_has_a_successor)
{
    static const struct sandbox_kind echoing = {.name = "echo", .serve = echo};
    struct ts_diag *diag = ts_diag_create();
    char path[64], children[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (!file)
        ts_test_skip("this kernel does not list children");
    cr_assert_not_null(fgets(children, sizeof children, file));
    fclose(file);
    const pid_t server = (pid_t)strtol(children, NULL, 10);
    cr_assert_gt(server, 0);
    cr_assert_eq(kill(server, SIGKILL), 0);
    for (int i = 0; i < 2; i++) {
        struct sandbox_child child;
        cr_assert_eq(ts_sandbox_start(NULL, &echoing, &limits, NULL, 0, NULL, 0, &child, diag),
                     TS_OK, "%s", ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
        ts_sandbox_end(&child, NULL, 0);
    }
    ts_diag_destroy(diag);
}

/* Batch systems set such limits; nobody can raise them again. */
Test(sandbox, a_limit_of_the_system_is_kept)
{
    const struct rlimit limit = {.rlim_cur = 200, .rlim_max = 200};
    struct sandbox_child child;
    struct sandbox_limits long_life = limits;
    long_life.cpu_seconds = 1000;
    struct ts_diag *diag = ts_diag_create();
    if (geteuid() == 0) {
        cr_assert_eq(setgid(65534), 0);
        cr_assert_eq(setuid(65534), 0);
    }
    cr_assert_eq(setrlimit(RLIMIT_CPU, &limit), 0);
    static const struct sandbox_kind echoing = {.name = "echo", .serve = echo};
    cr_assert_eq(ts_sandbox_start(NULL, &echoing, &long_life, NULL, 0, NULL, 0, &child, diag),
                 TS_OK, "%s", ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
    ts_sandbox_end(&child, NULL, 0);
    ts_diag_destroy(diag);
}

static bool has_no_dictionary(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    (void)setup;
    (void)bytes;
    snprintf(error, error_bytes, "there is no dictionary");
    return false;
}

Test(sandbox, a_child_that_cannot_prepare_says_why)
{
    static const struct sandbox_kind failing = {
        .name = "decoder", .prepare = has_no_dictionary, .serve = echo};
    struct ts_diag *diag = ts_diag_create();
    struct sandbox_child child;
    cr_assert_eq(ts_sandbox_start(NULL, &failing, &limits, NULL, 0, NULL, 0, &child, diag),
                 TS_RUN_FAILED);
    cr_assert_eq(child.pid, 0);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "worker-not-started");
    cr_assert(strstr(ts_diag_get(diag, 0)->message,
                     "the decoder could not be started: there is no dictionary"));
    ts_diag_destroy(diag);
}

static void free_twice(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    char *block = malloc(100);
    volatile size_t inside = 16; /* hides the mistake from the compiler */
    (void)channel;
    (void)setup;
    (void)bytes;
    (void)fds;
    (void)n_fds;
    free(block + inside);
}

/* A decoder that damages its heap ends as it would outside, so that the message is right. */
Test(sandbox, an_abort_is_an_abort)
{
#ifdef TS_SANITIZED
    ts_test_skip("sanitizers report the damage themselves");
#else
    static const struct sandbox_kind damaging = {.name = "heap", .serve = free_twice};
    struct ts_diag *diag = ts_diag_create();
    struct sandbox_child child;
    char what[SANDBOX_TEXT_MAX], byte;
    cr_assert_eq(ts_sandbox_start(NULL, &damaging, &limits, NULL, 0, NULL, 0, &child, diag), TS_OK);
    cr_assert_not(ts_channel_read(child.channel, &byte, 1));
    cr_assert_eq(ts_sandbox_end(&child, what, sizeof what), SIGABRT, "the child %s", what);
    ts_diag_destroy(diag);
#endif
}

static void hoard(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    (void)setup;
    (void)bytes;
    (void)fds;
    (void)n_fds;
    const unsigned char taken = mmap(NULL, (size_t)128 << 20, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    (void)ts_channel_write(channel, &taken, 1);
}

Test(sandbox, addresses_are_limited)
{
#ifdef TS_SANITIZED
    ts_test_skip("sanitizers need an unlimited address space");
#else
    static const struct sandbox_kind hoarding = {.name = "hoard", .serve = hoard};
    struct ts_diag *diag = ts_diag_create();
    struct sandbox_child child;
    unsigned char taken = 1;
    cr_assert_eq(ts_sandbox_start(NULL, &hoarding, &limits, NULL, 0, NULL, 0, &child, diag), TS_OK);
    cr_assert(ts_channel_read(child.channel, &taken, 1));
    cr_assert_not(taken);
    ts_sandbox_end(&child, NULL, 0);
    ts_diag_destroy(diag);
#endif
}

static void hoard_and_explain(int channel, const void *setup, size_t bytes, const int *fds,
                              int n_fds)
{
    unsigned char lacks = 2;
    (void)setup;
    (void)bytes;
    (void)fds;
    (void)n_fds;
    if (mmap(NULL, (size_t)128 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        lacks = ts_sandbox_lacks_memory();
    (void)ts_channel_write(channel, &lacks, 1);
}

/* A file that claims too much meets the sandbox's own limit; a process that was started with little
 * meets that one, through no fault of the file. */
Test(sandbox, a_limit_from_outside_is_told_from_its_own)
{
#ifdef TS_SANITIZED
    ts_test_skip("sanitizers need an unlimited address space");
#else
    static const struct sandbox_kind hoarding = {.name = "hoard", .serve = hoard_and_explain};
    const struct sandbox_limits wide = {.address_bytes = (size_t)1 << 40,
                                        .cpu_seconds = limits.cpu_seconds};
    struct ts_diag *diag = ts_diag_create();
    unsigned long pages = 0;
    for (int outside = 0; outside < 2; outside++) {
        struct sandbox_child child;
        unsigned char lacks = 3;
        if (outside) {
            FILE *file = fopen("/proc/self/statm", "r");
            cr_assert(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
            const rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)64 << 20);
            ts_sandbox_finish(); /* the next server is started with the limit */
            cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}), 0);
            begin_server();
        }
        cr_assert_eq(ts_sandbox_start(NULL, &hoarding, outside ? &wide : &limits, NULL, 0, NULL, 0,
                                      &child, diag),
                     TS_OK);
        cr_assert(ts_channel_read(child.channel, &lacks, 1));
        cr_assert_eq(lacks, outside);
        ts_sandbox_end(&child, NULL, 0);
    }
    ts_diag_destroy(diag);
#endif
}
