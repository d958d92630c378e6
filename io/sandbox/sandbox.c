/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the fork server and the caller's side of its children.
 *
 * A request is one message: a head, the child's setup, its channel and descriptors. The server
 * clones itself with CLONE_PARENT, so that the child is a child of the program: the program can
 * wait for it, and it dies with the program. The server answers with the child's number. It has no
 * threads, handles messages of the program alone, and ends with the socket.
 */
#include "io/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/thread.h"

enum { FIRST_FD = 3, READY = 0x59444552, END_MS = 500, READY_MS = 60000 };

struct request {
    const struct sandbox_kind *kind;
    struct sandbox_limits limits;
    pid_t program;
    size_t setup_bytes;
    unsigned char setup[SANDBOX_SETUP_BYTES];
};

struct reply {
    pid_t pid; /* 0: it could not be cloned, */
    int error; /* for this reason */
};

/* A child sends this before it serves. */
struct readiness {
    int32_t ready; /* READY, or anything else */
    char error[SANDBOX_TEXT_MAX];
};

static pthread_mutex_t server_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    pid_t program; /* the process that forked it; another one starts its own */
    pid_t pid;
    int socket;
} server = {.socket = -1};

int64_t ts_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- the child ------------------------------------------------------------------------------- */

static _Noreturn void live(const struct request *request, const int *fds, int n_fds)
{
    const int channel = fds[0];
    struct readiness readiness = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != request->program) /* it died before the line above */
        _exit(1);
    const struct sandbox_kind *kind = request->kind;
    bool ready = !kind->prepare || kind->prepare(request->setup, request->setup_bytes,
                                                 readiness.error, sizeof readiness.error);
    if (ready && !(ready = ts_sandbox_lock(&request->limits, channel)))
        snprintf(readiness.error, sizeof readiness.error, "its limits could not be set: %s",
                 strerror(errno));
    readiness.ready = ready ? READY : 0;
    if (!ts_channel_write(channel, &readiness, sizeof readiness) || !ready)
        _exit(1);
    kind->serve(channel, request->setup, request->setup_bytes, fds + 1, n_fds - 1);
    _exit(0);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Puts default actions in place of the program's handlers, but ignores what the terminal and a user
 * send: a Ctrl-C reaches the whole process group, and it is the program that decides when work
 * ends. */
static void settle_signals(void)
{
    sigset_t none;
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    const int ignored[] = {SIGINT,  SIGTERM, SIGQUIT, SIGHUP, SIGPIPE,
                           SIGXFSZ, SIGTSTP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool settle(int socket)
{
    const int kept = fcntl(socket, F_DUPFD_CLOEXEC, FIRST_FD);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (kept < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return false;
#ifndef TS_SANITIZED /* a sanitizer writes its reports there */
    if (dup2(null, 2) < 0)
        return false;
#endif
    if (dup2(kept, FIRST_FD) < 0)
        return false;
    closefrom(FIRST_FD + 1);
    return true;
}

static _Noreturn void serve_program(int socket, pid_t program)
{
    static struct request request; /* too large for a small stack */
    settle_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "tomostage-forks", 0, 0, 0);
    /* On abort(), glibc would open the terminal for its message. The filter would kill the child
     * for that, and the signal would hide the abort. */
    setenv("LIBC_FATAL_STDERR_", "1", 1);
    if (getppid() != program || !settle(socket))
        _exit(1);
    for (;;) {
        int fds[SANDBOX_FDS + 1], n_fds = SANDBOX_FDS + 1;
        if (!ts_channel_receive(FIRST_FD, &request, sizeof request, fds, &n_fds))
            _exit(0);
        struct reply reply = {0};
        if (n_fds > 0) {
            reply.pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
            reply.error = errno;
        }
        if (n_fds > 0 && reply.pid == 0) {
            close(FIRST_FD);
            live(&request, fds, n_fds);
        }
        for (int i = 0; i < n_fds; i++)
            close(fds[i]);
        if (!ts_channel_write(FIRST_FD, &reply, sizeof reply))
            _exit(0);
    }
}

/* Forks the server from this thread; the server's children end when this thread does. The caller
 * holds the lock. */
static bool fork_server(void)
{
    int ends[2];
    if (server.socket >= 0 && server.program == getpid())
        return true;
    if (server.socket >= 0)
        close(server.socket); /* the parent's, inherited by a fork */
    server.socket = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    const pid_t program = getpid(), pid = fork();
    if (pid == 0)
        serve_program(ends[1], program);
    const int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return false;
    }
    server.program = program;
    server.pid = pid;
    server.socket = ends[0];
    return true;
}

struct keeper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool tried;
    int error; /* 0: the server runs */
};

/* The kernel ends children with the thread that they belong to, so the thread that forks the server
 * stays for ever. */
static void *keep_server(void *data)
{
    struct keeper *keeper = data;
    const int error = fork_server() ? 0 : errno;
    pthread_mutex_lock(&keeper->lock);
    keeper->error = error;
    keeper->tried = true;
    pthread_cond_signal(&keeper->changed); /* after the lock is free, the keeper is gone */
    pthread_mutex_unlock(&keeper->lock);
    while (!error) /* NOLINT(bugprone-infinite-loop): it stays for ever on purpose */
        pause();
    return NULL;
}

/* Starts the server where the program did not begin with it, from a thread of its own that takes no
 * signals. The caller holds the lock. False with errno. */
static bool start_server(void)
{
    struct keeper keeper = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    if (server.socket >= 0 && server.program == getpid())
        return true;
    keeper.error = ts_thread_start(&thread, keep_server, &keeper);
    if (keeper.error == 0)
        pthread_detach(thread);
    pthread_mutex_lock(&keeper.lock);
    while (keeper.error == 0 && !keeper.tried)
        pthread_cond_wait(&keeper.changed, &keeper.lock);
    pthread_mutex_unlock(&keeper.lock);
    errno = keeper.error;
    return keeper.error == 0;
}

bool ts_sandbox_begin(void)
{
    pthread_mutex_lock(&server_lock);
    const bool started = fork_server();
    const int error = errno;
    pthread_mutex_unlock(&server_lock);
    errno = error;
    return started;
}

/* The caller holds the lock. */
static void end_server(void)
{
    close(server.socket);
    server.socket = -1;
    kill(server.pid, SIGKILL);
    while (waitpid(server.pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void ts_sandbox_finish(void)
{
    pthread_mutex_lock(&server_lock);
    if (server.socket >= 0 && server.program == getpid())
        end_server();
    pthread_mutex_unlock(&server_lock);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Sends one request and waits for its reply. 0 or an errno; *lost: the server is gone or of no use.
 * The caller holds the lock. */
static int ask(const struct request *request, const int *fds, int n_fds, pid_t *pid, bool *lost)
{
    struct reply reply;
    if (!start_server())
        return errno;
    *lost = !ts_channel_send(server.socket, request, sizeof *request, fds, n_fds) ||
            !ts_channel_read(server.socket, &reply, sizeof reply);
    if (*lost) {
        const int error = errno ? errno : EPIPE;
        end_server();
        return error;
    }
    *pid = reply.pid;
    return reply.pid > 0 ? 0 : reply.error;
}

/* A child that a lost server may have made ends with its channel, which nobody else has. */
static int launch(const struct request *request, const int *fds, int n_fds,
                  struct sandbox_child *child, bool *lost)
{
    int ends[2], handed[SANDBOX_FDS + 1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    handed[0] = ends[1];
    for (int i = 0; i < n_fds; i++)
        handed[i + 1] = fds[i];
    pthread_mutex_lock(&server_lock);
    const int error = ask(request, handed, n_fds + 1, &child->pid, lost);
    pthread_mutex_unlock(&server_lock);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        child->pid = 0;
    } else {
        child->channel = ends[0];
    }
    return error;
}

int ts_sandbox_launch(const struct sandbox_kind *kind, const struct sandbox_limits *limits,
                      const void *setup, size_t setup_bytes, const int *fds, int n_fds,
                      struct sandbox_child *child)
{
    bool lost = false;
    *child = (struct sandbox_child){.channel = -1};
    if (setup_bytes > SANDBOX_SETUP_BYTES || n_fds > SANDBOX_FDS)
        return E2BIG;
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return ENOMEM;
    request->kind = kind;
    request->limits = *limits;
    request->program = getpid();
    request->setup_bytes = setup_bytes;
    if (setup_bytes > 0)
        memcpy(request->setup, setup, setup_bytes);
    int error = launch(request, fds, n_fds, child, &lost);
    if (lost) /* another server may do better */
        error = launch(request, fds, n_fds, child, &lost);
    free(request);
    return error;
}

enum sandbox_readiness ts_sandbox_ready(const struct sandbox_child *child, bool wait, char *error,
                                        size_t error_bytes)
{
    struct readiness readiness;
    struct pollfd answer = {.fd = child->channel, .events = POLLIN};
    ssize_t n;
    if (wait && poll(&answer, 1, READY_MS) == 0) {
        snprintf(error, error_bytes, "it did not begin within %d s", READY_MS / 1000);
        return SANDBOX_FAILED;
    }
    do { /* it was sent at once, so it comes at once */
        n = recv(child->channel, &readiness, sizeof readiness, wait ? MSG_WAITALL : MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN && !wait)
        return SANDBOX_PENDING;
    if (n < 0 && errno != ECONNRESET) {
        snprintf(error, error_bytes, "it cannot be listened to: %s", strerror(errno));
        return SANDBOX_FAILED;
    }
    readiness.error[n == (ssize_t)sizeof readiness ? sizeof readiness.error - 1 : 0] = '\0';
    if (n != (ssize_t)sizeof readiness)
        readiness.ready = 0;
    snprintf(error, error_bytes, "%s", readiness.error);
    return readiness.ready == READY ? SANDBOX_READY : SANDBOX_FAILED;
}

enum ts_status ts_sandbox_start(const struct sandbox_kind *kind,
                                const struct sandbox_limits *limits, const void *setup,
                                size_t setup_bytes, const int *fds, int n_fds,
                                struct sandbox_child *child, struct ts_diag *diag)
{
    char reason[SANDBOX_TEXT_MAX] = "";
    const int error = ts_sandbox_launch(kind, limits, setup, setup_bytes, fds, n_fds, child);
    if (!error && ts_sandbox_ready(child, true, reason, sizeof reason) == SANDBOX_READY)
        return TS_OK;
    char what[SANDBOX_TEXT_MAX];
    ts_sandbox_end(child, what, sizeof what);
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "worker-not-started"},
                         "the process for the %s could not be started: %s%s", kind->name,
                         error     ? strerror(error)
                         : *reason ? reason
                                   : "it ",
                         error || *reason ? "" : what);
}

/* A child that ends closes its channel a little before it can be waited for. One that closed it and
 * lives on is given up after END_MS. */
static bool has_ended(const struct sandbox_child *child, siginfo_t *end)
{
    char byte;
    bool closed =
        child->channel >= 0 && recv(child->channel, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    for (int i = 0; i < END_MS; i++) {
        *end = (siginfo_t){0};
        if (waitid(P_PID, (id_t)child->pid, end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            end->si_pid != 0)
            return true;
        if (!closed)
            return false;
        usleep(1000);
    }
    return false;
}

int ts_sandbox_end(struct sandbox_child *child, char *what, size_t size)
{
    char text[SANDBOX_TEXT_MAX] = "was killed";
    siginfo_t end;
    int signal_number = 0, status;
    if (child->pid > 0) {
        if (!has_ended(child, &end))
            kill(child->pid, SIGKILL);
        else if (end.si_code == CLD_EXITED)
            snprintf(text, sizeof text, "ended with status %d", end.si_status);
        else
            signal_number = end.si_status;
        if (signal_number)
            snprintf(text, sizeof text, "was killed by signal %d (%s)", signal_number,
                     sigdescr_np(signal_number));
        while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (child->channel >= 0)
        close(child->channel);
    if (what)
        snprintf(what, size, "%s", text);
    *child = (struct sandbox_child){.channel = -1};
    return signal_number;
}

bool ts_sandbox_from_outside(int signal_number)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGXCPU};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (signal_number == own[i])
            return false;
    return signal_number != 0;
}

double ts_sandbox_cpu_seconds(const struct sandbox_child *child)
{
    clockid_t clock;
    struct timespec used;
    if (child->pid <= 0 || clock_getcpuclockid(child->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

void ts_sandbox_state(char *out, size_t size, bool *filtered)
{
    const int landlock = ts_sandbox_landlock();
    *filtered = !ts_sandbox_is_instrumented() && ts_sandbox_has_seccomp();
    if (ts_sandbox_is_instrumented())
        snprintf(out, size,
                 "limits alone: this run is instrumented (sanitizer or valgrind), which a filter "
                 "would end");
    else if (!*filtered && landlock)
        snprintf(out, size, "limits and Landlock (ABI %d); this kernel has no seccomp", landlock);
    else if (!*filtered)
        snprintf(out, size, "limits alone: this kernel has neither seccomp nor Landlock");
    else if (!landlock)
        snprintf(out, size, "limits and seccomp; this kernel has no Landlock");
    else
        snprintf(out, size, "limits, seccomp and Landlock (ABI %d)", landlock);
}
