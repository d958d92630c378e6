/* SPDX-License-Identifier: Apache-2.0
 *
 * Worker processes that behave, and ones that crash, spin, hang, hoard or lose their parent.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/worker_process.h"
#include "io/workers.h"

enum { JOB_CRASH = 1000000, JOB_SPIN, JOB_SLEEP, JOB_HOARD, JOB_EXIT, JOB_LIMITS, JOB_WRITE };

struct answer {
    uint64_t square;
    int32_t pid;
    char text[200];
};

static void describe_limits(char *text, size_t size)
{
    struct rlimit core, size_limit, files;
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_FSIZE, &size_limit);
    getrlimit(RLIMIT_NOFILE, &files);
    int open_files = 0;
    for (int fd = 3; fd < 1024; fd++)
        open_files += fcntl(fd, F_GETFD) >= 0;
    snprintf(text, size, "core=%lld fsize=%lld files=%lld open=%d", (long long)core.rlim_max,
             (long long)size_limit.rlim_max, (long long)files.rlim_max, open_files);
}

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
#ifdef TS_SANITIZED /* which reports bad accesses, and a report fails the suite: the signal alone */
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
#else
    *(volatile int *)NULL = 1;
#endif
}

static void work(void *user, uint64_t job, void *reply)
{
    struct answer *answer = reply;
    (void)user;
    switch (job) {
    case JOB_CRASH:
        crash();
        break;
    case JOB_SPIN:
        for (;;)
            answer->square++;
    case JOB_SLEEP:
        for (;;)
            pause();
    case JOB_HOARD:
        hoard();
        break;
    case JOB_EXIT:
        _exit(7);
    case JOB_LIMITS:
        describe_limits(answer->text, sizeof answer->text);
        break;
    case JOB_WRITE: {
        int fd = open(user, O_WRONLY | O_APPEND);
        ssize_t count = write(fd, "x", 1);
        snprintf(answer->text, sizeof answer->text, "%d %d", fd >= 0, count < 0 ? errno : 0);
        break;
    }
    default:
        answer->square = job * job;
        answer->pid = getpid();
    }
}

static struct worker_setup setup_of(int n_workers)
{
    return (struct worker_setup){.n_workers = n_workers,
                                 .reply_bytes = sizeof(struct answer),
                                 .address_bytes = (size_t)256 << 20,
                                 .job_seconds = 1,
                                 .work = work};
}

static struct worker_pool *create(const struct worker_setup *setup)
{
    struct worker_pool *pool = NULL;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_workers_create(setup, &pool, diag), TS_OK);
    ts_diag_destroy(diag);
    return pool;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static void no_children_left(void)
{
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_assert_eq(errno, ECHILD, "a worker was not reaped");
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
        for (uint64_t i = 0; i < N_JOBS; i++)
            cr_assert(ts_workers_submit(pool, i));
        for (int i = 0; i < N_JOBS; i++) {
            cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
            cr_assert_lt(job, N_JOBS);
            cr_assert_eq(answer.square, job * job);
            cr_assert_neq(answer.pid, getpid());
            cr_assert_eq(seen[job]++, 0);
        }
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_IDLE);
        ts_workers_destroy(pool);
        no_children_left();
    }
}

Test(workers, queue_is_bounded)
{
    struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    for (int i = 0; i < WORKER_JOBS_MAX; i++)
        cr_assert(ts_workers_submit(pool, 3));
    cr_assert_not(ts_workers_submit(pool, 3));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    cr_assert(ts_workers_submit(pool, 3));
    ts_workers_destroy(pool);
    no_children_left();
}

/* The pool must end within `seconds`, name the job and leave no process, whatever the job does. */
static void check_loss(uint64_t bad_job, double seconds, char what[WORKER_TEXT_MAX])
{
    struct worker_setup setup = setup_of(3);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    pid_t pids[3];
    uint64_t job = 0;
    enum worker_outcome outcome = WORKER_REPLIED;
    for (int i = 0; i < 3; i++)
        pids[i] = ts_workers_pid(pool, i);
    const int64_t started = ts_monotonic_ns();
    cr_assert(ts_workers_submit(pool, 5));
    cr_assert(ts_workers_submit(pool, bad_job));
    cr_assert(ts_workers_submit(pool, 6));
    for (int i = 0; i < 3 && outcome == WORKER_REPLIED; i++)
        outcome = ts_workers_wait(pool, &job, &answer, what);
    const double took = (double)(ts_monotonic_ns() - started) * 1e-9;
    cr_assert_eq(outcome, WORKER_LOST);
    cr_assert_eq(job, bad_job);
    cr_assert_lt(took, seconds, "it took %.1f s", took);
    for (int i = 0; i < 3; i++)
        cr_assert(is_gone(pids[i]), "worker %d is alive", i);
    cr_assert_not(ts_workers_submit(pool, 1));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    ts_workers_destroy(pool);
    no_children_left();
}

Test(workers, crash_is_named)
{
    char what[WORKER_TEXT_MAX];
    check_loss(JOB_CRASH, 5, what);
    check_loss(JOB_EXIT, 5, what);
}

Test(workers, crash_text)
{
    struct worker_setup setup = setup_of(2);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    cr_assert(ts_workers_submit(pool, JOB_EXIT));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_str_eq(what, "ended with status 7");
    ts_workers_destroy(pool);
    pool = create(&setup);
    cr_assert(ts_workers_submit(pool, JOB_CRASH));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_str_eq(what, "was killed by signal 11 (Segmentation fault)");
    ts_workers_destroy(pool);
}

Test(workers, spinning_and_sleeping_end_in_time, .timeout = 30)
{
    char what[WORKER_TEXT_MAX];
    check_loss(JOB_SPIN, 6, what);
    check_loss(JOB_SLEEP, 6, what);
}

/* Nobody waits: the worker's own limit on CPU time must end it. */
Test(workers, spinning_ends_without_the_parent, .timeout = 30)
{
    struct worker_setup setup = setup_of(1);
    struct worker_pool *pool = create(&setup);
    siginfo_t end = {0};
    cr_assert(ts_workers_submit(pool, JOB_SPIN));
    cr_assert_eq(waitid(P_PID, (id_t)ts_workers_pid(pool, 0), &end, WEXITED | WNOWAIT), 0);
    cr_assert_eq(end.si_status, SIGXCPU);
    ts_workers_destroy(pool);
    no_children_left();
}

Test(workers, hoarding_ends_early, .timeout = 30)
{
#ifdef TS_SANITIZED
    cr_skip_test("sanitizers need an unlimited address space");
#else
    char what[WORKER_TEXT_MAX];
    check_loss(JOB_HOARD, 10, what);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    cr_assert_lt(usage.ru_maxrss, 512 << 10, "a worker took %ld KiB", usage.ru_maxrss);
#endif
}

Test(workers, limits_and_files)
{
    char path[] = "/tmp/tomostage-workers-XXXXXX";
    int fd = mkstemp(path);
    struct worker_setup setup = setup_of(2);
    setup.user = path;
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    cr_assert_geq(fd, 0);
    cr_assert(ts_workers_submit(pool, JOB_LIMITS));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    cr_assert_str_eq(answer.text, "core=0 fsize=0 files=16 open=2");
    cr_assert(ts_workers_submit(pool, JOB_WRITE));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    char expected[32];
    snprintf(expected, sizeof expected, "1 %d", EFBIG);
    cr_assert_str_eq(answer.text, expected);
    ts_workers_destroy(pool);
    close(fd);
    unlink(path);
}

Test(workers, ignore_the_terminal)
{
    struct worker_setup setup = setup_of(2);
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    /* One answer each way round makes sure that their signals are set. */
    for (int i = 0; i < 64; i++)
        cr_assert(ts_workers_submit(pool, (uint64_t)i));
    for (int i = 0; i < 64; i++)
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    usleep(50000);
    for (int i = 0; i < 2; i++) {
        kill(ts_workers_pid(pool, i), SIGINT);
        kill(ts_workers_pid(pool, i), SIGTERM);
    }
    for (int i = 0; i < 64; i++)
        cr_assert(ts_workers_submit(pool, (uint64_t)i));
    for (int i = 0; i < 64; i++)
        cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_REPLIED);
    ts_workers_destroy(pool);
    no_children_left();
}

static bool refuse(void *user, char *error, size_t error_bytes)
{
    (void)user;
    snprintf(error, error_bytes, "has no dictionary");
    return false;
}

Test(workers, failed_begin_is_told)
{
    struct worker_setup setup = setup_of(2);
    setup.begin = refuse;
    struct worker_pool *pool = create(&setup);
    struct answer answer;
    char what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    cr_assert(ts_workers_submit(pool, 1));
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_eq(job, UINT64_MAX);
    cr_assert_str_eq(what, "has no dictionary");
    ts_workers_destroy(pool);
    no_children_left();
}

/* A parent that is killed leaves no worker, neither a busy nor an idle one. */
Test(workers, die_with_the_parent, .timeout = 30)
{
    enum { N = 3 };
    pid_t *pids = mmap(NULL, N * sizeof *pids, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct worker_setup setup = setup_of(N);
        setup.job_seconds = 1000;
        struct worker_pool *pool = create(&setup);
        ts_workers_submit(pool, JOB_SPIN);
        ts_workers_submit(pool, JOB_SLEEP);
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
            /* Whoever adopts it may be slow to reap it: a zombie is dead too. */
            char path[64], text[256] = "";
            snprintf(path, sizeof path, "/proc/%d/stat", pids[i]);
            FILE *stat_file = fopen(path, "r");
            gone = stat_file == NULL || fgets(text, sizeof text, stat_file) == NULL || strstr(text, ") Z") != NULL;
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
    cr_assert_eq(status, TS_RUN_FAILED);
    cr_assert_null(pool);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "worker-not-started");
    cr_assert(strstr(ts_diag_get(diag, 0)->message, " of 40 could not be started: Too many open files"), "%s",
              ts_diag_get(diag, 0)->message);
    no_children_left();
    ts_diag_destroy(diag);
}
