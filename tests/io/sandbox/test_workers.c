/* SPDX-License-Identifier: Apache-2.0
 *
 * Worker processes that behave, and ones that crash, spin, hang, hoard or lose their parent.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/sandbox/workers.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

enum {
    JOB_CRASH = 1000000,
    JOB_SPIN,
    JOB_SLEEP,
    JOB_HOARD,
    JOB_EXIT,
    JOB_READ,
    JOB_BURN,
    JOB_RETURN,
    JOB_LIE
};

struct answer {
    struct worker_verdict verdict; /* first */
    uint64_t square;
    int32_t pid;
    char text[200];
};

static void hoard(void)
{
    const size_t bytes = (size_t)64 << 20;
    for (;;) {
        char *block = malloc(bytes);
        if (block == NULL)
            abort();
        memset(block, 1, bytes);
    }
}

static void crash(void)
{
#ifdef TS_SANITIZED /* which reports bad accesses, and a report fails the suite: the signal alone  \
                     */
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
#else
    volatile int *volatile nowhere = NULL; /* gcc -O1 drops a store to a NULL that it knows */
    *nowhere = 1;
#endif
}

/* Spins without a call into the kernel, which a filter could end. */
static void spin(struct answer *answer)
{
    for (;;)
        *(volatile uint64_t *)&answer->square += 1;
}

/* A lock that nobody opens: to wait is allowed, so that only the clock of the parent can end it. */
static void sleep_for_ever(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
}

static void burn(double seconds)
{
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        ;
}

/* Frees what it took last first, so that the end of the heap is free. */
static void return_memory(void)
{
    void *blocks[300];
    for (int i = 0; i < 300; i++)
        blocks[i] = calloc(100, 1000);
    for (int i = 300; i-- > 0;)
        free(blocks[i]);
}

static void *begin(const void *setup, void *memory)
{
    static int state;
    (void)setup;
    return memory ? memory : &state;
}

static void work(void *state, const void *bytes, int fd, void *reply)
{
    struct answer *answer = reply;
    uint64_t job;
    (void)state;
    memcpy(&job, bytes, sizeof job);
    switch (job) {
    case JOB_CRASH:
        crash();
        break;
    case JOB_SPIN:
        spin(answer);
        break;
    case JOB_SLEEP:
        sleep_for_ever();
        break;
    case JOB_HOARD:
        hoard();
        break;
    case JOB_EXIT:
        _exit(7);
    case JOB_READ:
        answer->square = (uint64_t)pread(fd, answer->text, sizeof answer->text - 1, 0);
        close(fd);
        break;
    case JOB_RETURN:
        return_memory();
        break;
    case JOB_BURN:
        burn(0.05);
        answer->pid = getpid();
        break;
    case JOB_LIE:
        memset(&answer->verdict, 'x', sizeof answer->verdict);
        break;
    default:
        answer->square = job * job;
        answer->pid = getpid();
    }
}

static const struct worker_kind kind = {.name = "tests",
                                        .job_bytes = sizeof(uint64_t),
                                        .reply_bytes = sizeof(struct answer),
                                        .begin = begin,
                                        .work = work};

static struct worker_setup setup_of(int n_workers)
{
    return (struct worker_setup){.kind = &kind,
                                 .n_workers = n_workers,
                                 .address_bytes = (size_t)256 << 20,
                                 .job_seconds = 1};
}

/* To the worker that has least to do. */
static bool submit(struct worker_pool *pool, uint64_t job)
{
    int least = 0;
    for (int i = 1; ts_workers_pid(pool, i) > 0; i++)
        least = ts_workers_load(pool, i) < ts_workers_load(pool, least) ? i : least;
    return ts_workers_submit(pool, least, job, &job, -1);
}

static struct worker_pool *create(const struct worker_setup *setup)
{
    struct worker_pool *pool = NULL;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_workers_create(setup, &pool, diag), TS_OK);
    ts_diag_destroy(diag);
    return pool;
}

/* A server that was forked knows the kinds of this file. */
static void begin_server(void)
{
    cr_assert(ts_sandbox_begin());
}

TestSuite(workers, .init = begin_server);

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

Test(workers, answers_every_job_once)
{
    enum { N_JOBS = 3000 };
    static unsigned char seen[N_JOBS];
    const int counts[] = {1, 2, 7};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct worker_setup setup = setup_of(counts[c]);
        struct worker_pool *pool = create(&setup);
        struct answer answer;
        char what[WORKER_TEXT_MAX];
        uint64_t job;
        memset(seen, 0, sizeof seen);
        uint64_t sent = 0;
        for (int i = 0; i < N_JOBS; i++) {
            while (sent < N_JOBS && submit(pool, sent))
                sent++;
            cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
            cr_assert_lt(job, N_JOBS);
            cr_assert_eq(answer.square, job * job);
            cr_assert_neq(answer.pid, getpid());
            cr_assert_eq(seen[job]++, 0);
        }
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_IDLE);
        ts_workers_destroy(pool);
        ts_test_no_children();
    }
}

/* A worker that its input has taken over may state any status, and texts without an end. */
Test(workers, a_verdict_is_not_trusted)
{
    const struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t number, job = JOB_LIE;
    cr_assert_eq(ts_worker_ask(pool, &job, -1, &number, &answer, what), WORKER_REPLIED);
    cr_expect_eq(answer.verdict.status, TS_BAD_INPUT);
    cr_expect_eq(strlen(answer.verdict.code), WORKER_CODE_MAX - 1);
    cr_expect_eq(strlen(answer.verdict.text), WORKER_REASON_MAX - 1);
    job = 12;
    cr_assert_eq(ts_worker_ask(pool, &job, -1, &number, &answer, what), WORKER_REPLIED);
    cr_expect(answer.verdict.status == TS_OK && answer.square == 144);
    ts_workers_destroy(pool);
}

Test(workers, queue_is_bounded)
{
    struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    for (int i = 0; i < WORKER_QUEUE_MAX; i++)
        cr_assert(submit(pool, 3));
    cr_assert_not(submit(pool, 3));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    cr_assert(submit(pool, 3));
    ts_workers_destroy(pool);
    ts_test_no_children();
}

/* The pool must end, name the job and leave no process, whatever the job does; the test's timeout
 * waits for that. */
static void check_loss(uint64_t bad_job, char what[WORKER_TEXT_MAX])
{
    struct worker_setup setup = setup_of(3);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    pid_t pids[3];
    uint64_t job = 0;
    enum worker_outcome outcome = WORKER_REPLIED;
    for (int i = 0; i < 3; i++)
        pids[i] = ts_workers_pid(pool, i);
    cr_assert(submit(pool, 5));
    cr_assert(submit(pool, bad_job));
    cr_assert(submit(pool, 6));
    for (int i = 0; i < 3 && outcome == WORKER_REPLIED; i++)
        outcome = ts_workers_wait(pool, &job, &answer, what);
    cr_assert_eq(outcome, WORKER_LOST);
    cr_assert_eq(job, bad_job);
    for (int i = 0; i < 3; i++)
        cr_assert(is_gone(pids[i]), "worker %d is alive", i);
    cr_assert_not(submit(pool, 1));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    ts_workers_destroy(pool);
    ts_test_no_children();
}

Test(workers, crash_is_named, .timeout = 900)
{
    char what[WORKER_TEXT_MAX];
    check_loss(JOB_CRASH, what);
    check_loss(JOB_EXIT, what);
}

Test(workers, crash_text)
{
    struct worker_setup setup = setup_of(2);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    cr_assert(submit(pool, JOB_EXIT));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_str_eq(what, "ended with status 7");
    ts_workers_destroy(pool);
    pool = create(&setup);
    cr_assert(submit(pool, JOB_CRASH));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_str_eq(what, "was killed by signal 11 (Segmentation fault)");
    ts_workers_destroy(pool);
}

static void signal_all(const struct worker_pool *pool, int n, int number)
{
    for (int i = 0; i < n; i++)
        cr_assert_eq(kill(ts_workers_pid(pool, i), number), 0);
}

/* Every worker is killed while jobs are queued: it is stopped before, so that it answers none. They
 * come back, and another worker does them; the second time the pool ends, and no job is to
 * blame. */
Test(workers, killed_from_outside_are_replaced_once)
{
    enum { N = 3, N_JOBS = 12 };
    struct worker_setup setup = setup_of(N);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    int answered = 0, returned = 0;
    enum worker_outcome outcome;
    signal_all(pool, N, SIGSTOP);
    for (uint64_t i = 0; i < N_JOBS; i++)
        cr_assert(submit(pool, i));
    signal_all(pool, N, SIGKILL);
    while ((outcome = ts_workers_wait(pool, &job, &answer, what)) != WORKER_IDLE) {
        cr_assert(outcome == WORKER_REPLIED || outcome == WORKER_RETURNED, "the worker %s", what);
        cr_assert(outcome != WORKER_REPLIED || answer.square == job * job);
        cr_assert(outcome != WORKER_RETURNED || submit(pool, job));
        answered += outcome == WORKER_REPLIED;
        returned += outcome == WORKER_RETURNED;
    }
    cr_assert_eq(answered, N_JOBS);
    cr_assert_geq(returned,
                  N_JOBS); /* one that goes to a worker not yet found dead comes back again */
    signal_all(pool, N, SIGSTOP);
    cr_assert(submit(pool, 1));
    signal_all(pool, N, SIGKILL);
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_KILLED);
    cr_assert_str_eq(what, "was killed by signal 9 (Killed)");
    ts_workers_destroy(pool);
    ts_test_no_children();
}

Test(workers, spinning_and_sleeping_end, .timeout = 900)
{
    char what[WORKER_TEXT_MAX];
    check_loss(JOB_SPIN, what);
    check_loss(JOB_SLEEP, what);
}

/* Nobody waits: the worker's own limit on its processor time must end it. */
Test(workers, spinning_ends_without_the_parent, .timeout = 900)
{
    struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    siginfo_t end = {0};
    cr_assert(submit(pool, JOB_SPIN));
    cr_assert_eq(waitid(P_PID, (id_t)ts_workers_pid(pool, 0), &end, WEXITED | WNOWAIT), 0);
    cr_assert_eq(end.si_status, SIGXCPU);
    ts_workers_destroy(pool);
    ts_test_no_children();
}

/* Its processor time is limited for life, so a worker that has used most of it ends, and another
 * one takes its place. */
Test(workers, old_ones_retire, .timeout = 900)
{
    enum { N_JOBS = 66 };
    struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    const int first = ts_workers_pid(pool, 0);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    int last = 0;
    for (int i = 0, sent = 0; i < N_JOBS; i++) {
        while (sent < N_JOBS && submit(pool, JOB_BURN))
            sent++;
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED,
                     "job %d: the worker %s", i, what);
        last = answer.pid;
    }
    cr_assert_neq(last, first);
    ts_workers_destroy(pool);
    ts_test_no_children();
}

/* Giving memory back to the system takes calls that the filter forbids. */
Test(workers, memory_can_be_freed, .timeout = 900)
{
    struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    for (int i = 0; i < 3; i++) {
        cr_assert(submit(pool, JOB_RETURN));
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED, "the worker %s",
                     what);
    }
    ts_workers_destroy(pool);
    ts_test_no_children();
}

Test(workers, hoarding_ends_early, .timeout = 900)
{
#ifdef TS_SANITIZED
    ts_test_skip("sanitizers need an unlimited address space");
#else
    char what[WORKER_TEXT_MAX];
    check_loss(JOB_HOARD, what);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    cr_assert_lt(usage.ru_maxrss, 512 << 10, "a worker took %ld KiB", usage.ru_maxrss);
#endif
}

static void write_memory(void *state, const void *job, int fd, void *reply)
{
    (void)fd;
    memcpy(state, job, sizeof(uint64_t));
    memset(reply, 0, sizeof(struct answer));
}

/* Nothing that one worker does to its memory reaches another's. */
Test(workers, each_has_memory_of_its_own)
{
    enum { N = 3 };
    static const struct worker_kind writing = {.name = "tests",
                                               .job_bytes = sizeof(uint64_t),
                                               .reply_bytes = sizeof(struct answer),
                                               .begin = begin,
                                               .work = write_memory};
    struct worker_setup setup = setup_of(N);
    setup.kind = &writing;
    setup.memory_bytes = 4096;
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    for (int i = 0; i < N; i++) {
        const uint64_t mark = 100 + (uint64_t)i;
        cr_assert(ts_workers_submit(pool, i, mark, &mark, -1));
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
        for (int k = 0; k < N; k++)
            cr_assert_eq(*(const uint64_t *)ts_workers_memory(pool, k),
                         k <= i ? 100 + (uint64_t)k : 0);
    }
    ts_workers_destroy(pool);
    ts_test_no_children();
}

/* A worker opens nothing: it reads the descriptor that comes with the job. */
Test(workers, a_descriptor_comes_with_the_job)
{
    char path[] = "/tmp/tomostage-workers-XXXXXX";
    const int fd = mkstemp(path);
    struct worker_setup setup = setup_of(2);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job = JOB_READ;
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "pixels", 6), 6);
    cr_assert_eq(unlink(path), 0);
    for (int i = 0; i < 100; i++) { /* more than a worker may have open */
        cr_assert(ts_workers_submit(pool, 0, job, &job, fd));
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
        cr_assert_eq(answer.square, 6);
        cr_assert_str_eq(answer.text, "pixels");
    }
    ts_workers_destroy(pool);
    close(fd);
    ts_test_no_children();
}

Test(workers, ignore_the_terminal)
{
    struct worker_setup setup = setup_of(2);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    /* One answer each way round makes sure that their signals are set. */
    for (int i = 0; i < 2 * WORKER_QUEUE_MAX; i++)
        cr_assert(submit(pool, (uint64_t)i));
    for (int i = 0; i < 2 * WORKER_QUEUE_MAX; i++)
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    usleep(50000);
    for (int i = 0; i < 2; i++) {
        kill(ts_workers_pid(pool, i), SIGINT);
        kill(ts_workers_pid(pool, i), SIGTERM);
    }
    for (int i = 0; i < 2 * WORKER_QUEUE_MAX; i++)
        cr_assert(submit(pool, (uint64_t)i));
    for (int i = 0; i < 2 * WORKER_QUEUE_MAX; i++)
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    ts_workers_destroy(pool);
    ts_test_no_children();
}

static bool refuse(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    (void)setup;
    (void)bytes;
    snprintf(error, error_bytes, "has no dictionary");
    return false;
}

Test(workers, failed_begin_is_told)
{
    static const struct worker_kind refusing = {.name = "tests",
                                                .job_bytes = sizeof(uint64_t),
                                                .reply_bytes = sizeof(struct answer),
                                                .prepare = refuse,
                                                .begin = begin,
                                                .work = work};
    struct worker_setup setup = setup_of(2);
    setup.kind = &refusing;
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    cr_assert(submit(pool, 1));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_eq(job, UINT64_MAX);
    cr_assert_str_eq(what, "could not begin: has no dictionary");
    ts_workers_destroy(pool);
    ts_test_no_children();
}

/* A parent that is killed leaves no worker, neither a busy nor an idle one. */
Test(workers, die_with_the_parent, .timeout = 900)
{
    enum { N = 3 };
    pid_t *pids =
        mmap(NULL, N * sizeof *pids, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (!ts_sandbox_begin()) /* of its own, which knows the kinds of this file too */
            _exit(1);
        struct worker_setup setup = setup_of(N);
        setup.job_seconds = 100;
        struct worker_pool *pool = create(&setup);
        submit(pool, JOB_SPIN);
        submit(pool, JOB_SLEEP);
        usleep(100000);
        for (int i = 0; i < N; i++)
            pids[i] = ts_workers_pid(pool, i);
        for (;;)
            pause();
    }
    for (int i = 0; i < 500 && pids[N - 1] == 0; i++)
        usleep(10000);
    cr_assert_gt(pids[N - 1], 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < N; i++) {
        bool gone = false;
        for (int k = 0; k < 500 && !gone; k++) {
            /* The process that adopts it may be slow to reap it: a zombie is dead too. */
            char path[64], text[256] = "";
            snprintf(path, sizeof path, "/proc/%d/stat", pids[i]);
            FILE *stat_file = fopen(path, "r");
            gone = stat_file == NULL || fgets(text, sizeof text, stat_file) == NULL ||
                   strstr(text, ") Z") != NULL;
            if (stat_file != NULL)
                fclose(stat_file);
            if (!gone)
                usleep(10000);
        }
        cr_assert(gone, "worker %d outlived its parent", i);
    }
}

/* No descriptor is left for a pipe to one of them, and those before it go with the pool. */
Test(workers, one_that_cannot_be_started_is_an_error)
{
    struct worker_setup setup = setup_of(40);
    struct worker_pool *pool;
    struct ts_diag *diag = ts_diag_create();
    struct rlimit files;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit few = {.rlim_cur = 32, .rlim_max = files.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    const enum ts_status status = ts_workers_create(&setup, &pool, diag);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    cr_assert(status == TS_RUN_FAILED && !pool, "status %d", (int)status);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "worker-not-started");
    cr_assert(
        strstr(ts_diag_get(diag, 0)->message, " of 40 could not be started: Too many open files"),
        "%s", ts_diag_get(diag, 0)->message);
    ts_test_no_children();
    ts_diag_destroy(diag);
}
