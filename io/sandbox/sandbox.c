/* SPDX-License-Identifier: Apache-2.0
 *
 * The fork server, and the caller's side of its children. A request is one message: a head, the
 * child's setup, its channel and descriptors. The server clones itself with CLONE_PARENT, so that
 * the child is a child of the caller, which can wait for it. The server answers with the child's
 * number. It has no threads, handles only messages of its caller, and ends with the socket.
 *
 * The kernel can end a process with the thread that started it. This holds for a server that is
 * forked first in main(), and for its children. Any thread may start a server as a program, or fork
 * one in place of a lost one: these end with their socket, and their children with their channels.
 */
#include "io/sandbox/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FD = 3, READY = 0x59444552, END_MS = 500, READY_MS = 60000 };

struct request {
    intptr_t kind; /* ts_sandbox_number of it */
    struct sandbox_limits limits;
    size_t setup_bytes;
    unsigned char setup[SANDBOX_SETUP_BYTES];
};

struct reply {
    pid_t pid; /* 0: it could not be cloned, */
    int error; /* for this reason */
};

/* The build id of the library. A server of a different library would misread the numbers of
   objects, and a library without one starts none. */
struct build {
    unsigned char id[32];
};

/* What a child sends before it serves. */
struct readiness {
    int32_t ready; /* READY, or anything else */
    char error[SANDBOX_TEXT_MAX];
};

const char ts_sandbox_origin;
struct sandbox {
    pthread_mutex_t lock;
    pid_t caller; /* the process that started the server; any other process starts its own */
    pid_t pid;
    int socket;
    char *program;                             /* NULL: beside the library */
    char trouble[PATH_MAX + SANDBOX_TEXT_MAX]; /* why it could not be started as a program */
};
static struct sandbox of_process = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};
static atomic_bool began; /* this process is a program of this project */

/* A program of this project has forked its server before it had threads, beside which forking is
 * not safe, and its contexts share that one. */
static struct sandbox *sandbox_choose(struct sandbox *sandbox)
{
    return sandbox && (sandbox->program || !atomic_load(&began)) ? sandbox : &of_process;
}

int64_t ts_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Waits until there is something to read, or the other end is closed, but for READY_MS at most. A
   signal of the program does not end it, as it would end poll(). Returns false with errno if
   nothing came; 0 if the time is up. */
static bool wait_for(int socket)
{
    struct pollfd answer = {.fd = socket, .events = POLLIN};
    const int64_t end = ts_monotonic_ns() + READY_MS * INT64_C(1000000);
    int n = -1;
    for (int64_t left = READY_MS; n < 0 && left > 0;) {
        n = poll(&answer, 1, (int)left);
        if (n < 0 && errno != EINTR)
            return false;
        left = (end - ts_monotonic_ns()) / 1000000;
    }
    errno = 0;
    return n > 0;
}

/* ---- the child ------------------------------------------------------------------------------- */

static pid_t forked_by; /* of a server: the program with whose thread it ends, or 0 */

static _Noreturn void live(const struct request *request, const int *fds, int n_fds)
{
    const int channel = fds[0];
    struct readiness readiness = {0};
    if (forked_by) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != forked_by) /* the program died before the line above */
            _exit(1);
    }
    const struct sandbox_kind *kind = ts_sandbox_object(request->kind);
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

/* Restores default actions for the program's signals, but ignores those of the terminal and the
   user: a Ctrl-C reaches the whole process group, but the program decides when work ends. */
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
#ifndef TS_SANITIZED /* a sanitizer writes its reports to stderr */
    if (dup2(null, 2) < 0)
        return false;
#endif
    if (dup2(kept, FIRST_FD) < 0)
        return false;
    closefrom(FIRST_FD + 1);
    return true;
}

/* For dl_iterate_phdr: finds the build id of the file that contains ts_sandbox_origin. */
static int read_build(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct build *build = data;
    bool here = false;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD)
            here = here || (uintptr_t)&ts_sandbox_origin - start < part->p_memsz;
    }
    for (int i = 0; here && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_NOTE)
            continue;
        const ElfW(Nhdr) *note = (const void *)(info->dlpi_addr + part->p_vaddr);
        const ElfW(Nhdr) *end = (const void *)((const char *)note + part->p_memsz);
        while (note + 1 <= end) {
            const char *name = (const char *)(note + 1);
            const char *id = name + (note->n_namesz + 3) / 4 * 4;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0) {
                memcpy(build->id, id,
                       note->n_descsz < sizeof build->id ? note->n_descsz : sizeof build->id);
                return 1;
            }
            note = (const void *)(id + (note->n_descsz + 3) / 4 * 4);
        }
    }
    return here ? -1 : 0;
}

/* Answers requests until the socket ends. */
static void serve_requests(void)
{
    static struct request request; /* too large for a small stack */
    /* On abort(), glibc would open the terminal for its message, for which the filter would kill
       the child, and that signal would hide the abort. */
    setenv("LIBC_FATAL_STDERR_", "1", 1);
    for (;;) {
        int fds[CHANNEL_FDS], n_fds = CHANNEL_FDS;
        if (!ts_channel_receive(FIRST_FD, &request, sizeof request, fds, &n_fds))
            return;
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
            return;
    }
}

static _Noreturn void serve_program(int socket, pid_t program)
{
    settle_signals();
    prctl(PR_SET_NAME, "tomostage-forks", 0, 0, 0);
    forked_by = program;
    if (program)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if ((program && getppid() != program) || !settle(socket))
        _exit(1);
    serve_requests();
    _exit(0);
}

int ts_sandbox_serve(void)
{
    int type;
    socklen_t bytes = sizeof type;
    if (getsockopt(FIRST_FD, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM)
        return 2; /* a person started it */
    settle_signals();
    struct build build = {0};
    (void)dl_iterate_phdr(read_build, &build);
    if (!settle(FIRST_FD) || !ts_channel_write(FIRST_FD, &build, sizeof build))
        return 1;
    serve_requests();
    return 0;
}

/* If a process ignores SIGCHLD, or waits for children that it does not know, ended children vanish.
   Their number may then be that of another process, which must not be killed. */
void ts_sandbox_kill(pid_t pid)
{
    siginfo_t end;
    if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0)
        kill(pid, SIGKILL);
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The caller holds the lock. */
static void end_server(struct sandbox *server)
{
    close(server->socket);
    server->socket = -1;
    ts_sandbox_kill(server->pid);
    reap(server->pid);
}

/* Closes a server that a fork inherited. Returns true if this process has its own. The caller holds
 * the lock. */
static bool has_own_server(struct sandbox *server)
{
    if (server->socket >= 0 && server->caller == getpid())
        return true;
    if (server->socket >= 0)
        close(server->socket);
    server->socket = -1;
    return false;
}

/* Forks the server, which ends with its socket, and if `with_thread` is set also with this thread,
 * as do its children. Returns 0 or an errno. The caller holds the lock. */
static int fork_server(struct sandbox *server, bool with_thread)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    const pid_t caller = getpid(), pid = fork();
    if (pid == 0)
        serve_program(ends[1], with_thread ? caller : 0);
    const int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return error;
    }
    server->caller = caller;
    server->pid = pid;
    server->socket = ends[0];
    return 0;
}

/* Finds the server's program from the file that contains this function: a library or program in a
   prefix, or one of the two in a build folder. */
static bool find_program(char path[PATH_MAX])
{
    static const char *const places[] = {TS_SANDBOX_PLACE, "../libexec/tomostage/sandbox",
                                         "libexec/tomostage/sandbox"};
    char file[PATH_MAX];
    Dl_info info;
    if (!dladdr((void *)find_program, &info) || !info.dli_fname || info.dli_fname[0] != '/' ||
        !realpath(info.dli_fname, file)) { /* the path of the program itself may lack its folder */
        const ssize_t n = readlink("/proc/self/exe", file, sizeof file - 1);
        file[n < 0 ? 0 : n] = '\0';
    }
    char *end = strrchr(file, '/');
    if (!end)
        return false;
    *end = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if ((size_t)snprintf(path, PATH_MAX, "%s/%s", file, places[i]) < PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    return false;
}

/* Starts `path` with the socket as descriptor 3; of this process it inherits only its environment
   and current folder. Returns 0 or an errno. */
static int spawn(const char *path, int socket, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all;
    char *const arguments[] = {(char *)"tomostage-sandbox", NULL};
    sigfillset(&all); /* until the server has set what it ignores */
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    int error = posix_spawn_file_actions_adddup2(&files, socket, FIRST_FD);
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(&files, FIRST_FD + 1);
    posix_spawnattr_setsigmask(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (!error)
        error = posix_spawn(pid, path, &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Reads the server's first message, which says to which library it belongs. */
static bool is_same_build(struct sandbox *server, const char *path)
{
    struct build here = {0}, there = {0};
    errno = 0;
    if (dl_iterate_phdr(read_build, &here) > 0 && wait_for(server->socket) &&
        ts_channel_read(server->socket, &there, sizeof there) &&
        memcmp(&here, &there, sizeof here) == 0)
        return true;
    snprintf(server->trouble, sizeof server->trouble,
             "%s is not the program of this library, or cannot run%s%s", path, errno ? ": " : "",
             errno ? strerror(errno) : "");
    return false;
}

/* Starts the server as a program. Returns 0 or an errno. The caller holds the lock. */
static int spawn_server(struct sandbox *server)
{
    char found[PATH_MAX];
    const char *path = server->program;
    int ends[2], error = ENOENT;
    if (!path && !find_program(found)) {
        snprintf(server->trouble, sizeof server->trouble,
                 "the library's program for the sandbox, libexec/tomostage/sandbox, is missing");
        return error;
    }
    path = path ? path : found;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    error = spawn(path, ends[1], &server->pid);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        snprintf(server->trouble, sizeof server->trouble, "%s: %s", path, strerror(error));
        return error;
    }
    server->caller = getpid();
    server->socket = ends[0];
    if (is_same_build(server, path))
        return 0;
    end_server(server);
    return ELIBBAD;
}

/* Starts a server if this process has none. Returns 0 or an errno. The caller holds the lock. */
static int start_server(struct sandbox *server)
{
    if (has_own_server(server))
        return 0;
    return atomic_load(&began) && !server->program ? fork_server(server, false)
                                                   : spawn_server(server);
}

/* Ends a server if this process has one. */
static void sandbox_finish(struct sandbox *server)
{
    pthread_mutex_lock(&server->lock);
    if (has_own_server(server))
        end_server(server);
    pthread_mutex_unlock(&server->lock);
}

bool ts_sandbox_begin(void)
{
    struct sandbox *server = &of_process;
    pthread_mutex_lock(&server->lock);
    const int error = has_own_server(server) ? 0 : fork_server(server, true);
    atomic_store(&began, true);
    pthread_mutex_unlock(&server->lock);
    errno = error;
    return error == 0;
}

bool ts_sandbox_began(void)
{
    return atomic_load(&began);
}

void ts_sandbox_finish(void)
{
    sandbox_finish(&of_process);
}

struct sandbox *ts_sandbox_create(const char *program)
{
    struct sandbox *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->socket = -1;
    server->program = program ? strdup(program) : NULL;
    if ((program && !server->program) || pthread_mutex_init(&server->lock, NULL) != 0) {
        free(server->program);
        free(server);
        return NULL;
    }
    return server;
}

void ts_sandbox_destroy(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    sandbox_finish(sandbox);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox->program);
    free(sandbox);
}

/* ---- the caller ------------------------------------------------------------------------------ */

/* Sends one request and waits for its reply. Returns 0 or an errno; *lost: the server is gone or
   useless. The caller holds the lock. */
static int ask(struct sandbox *server, const struct request *request, const int *fds, int n_fds,
               pid_t *pid, bool *lost)
{
    struct reply reply;
    *server->trouble = '\0';
    const int error = start_server(server);
    *lost = false;
    if (error)
        return error;
    *lost = !ts_channel_send(server->socket, request, sizeof *request, fds, n_fds) ||
            !ts_channel_read(server->socket, &reply, sizeof reply);
    if (*lost) {
        const int end = errno ? errno : EPIPE;
        end_server(server);
        return end;
    }
    *pid = reply.pid;
    return reply.pid > 0 ? 0 : reply.error;
}

/* A child that a lost server may have made ends with its channel, which nobody else has. */
static int sandbox_launch(struct sandbox *server, const struct request *request, const int *fds,
                          int n_fds, struct sandbox_child *child, bool *lost)
{
    int ends[2], handed[CHANNEL_FDS];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    handed[0] = ends[1];
    for (int i = 0; i < n_fds; i++)
        handed[i + 1] = fds[i];
    pthread_mutex_lock(&server->lock);
    const int error = ask(server, request, handed, n_fds + 1, &child->pid, lost);
    pthread_mutex_unlock(&server->lock);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        child->pid = 0;
    } else {
        child->channel = ends[0];
    }
    return error;
}

int ts_sandbox_launch(struct sandbox *sandbox, const struct sandbox_kind *kind,
                      const struct sandbox_limits *limits, const void *setup, size_t setup_bytes,
                      const int *fds, int n_fds, struct sandbox_child *child)
{
    bool lost = false;
    *child = (struct sandbox_child){.channel = -1};
    if (setup_bytes > SANDBOX_SETUP_BYTES || n_fds > SANDBOX_FDS)
        return E2BIG;
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return ENOMEM;
    request->kind = ts_sandbox_number(kind);
    request->limits = *limits;
    request->setup_bytes = setup_bytes;
    if (setup_bytes > 0)
        memcpy(request->setup, setup, setup_bytes);
    int error = sandbox_launch(sandbox_choose(sandbox), request, fds, n_fds, child, &lost);
    if (lost) /* another server may do better */
        error = sandbox_launch(sandbox_choose(sandbox), request, fds, n_fds, child, &lost);
    free(request);
    return error;
}

void ts_sandbox_reason(struct sandbox *sandbox, int error, char *reason, size_t size)
{
    struct sandbox *server = sandbox_choose(sandbox);
    pthread_mutex_lock(&server->lock);
    snprintf(reason, size, "%s", *server->trouble ? server->trouble : strerror(error));
    pthread_mutex_unlock(&server->lock);
}

enum sandbox_readiness ts_sandbox_ready(const struct sandbox_child *child, bool wait, char *error,
                                        size_t error_bytes)
{
    struct readiness readiness;
    ssize_t n;
    if (wait && !wait_for(child->channel) && errno == 0) {
        snprintf(error, error_bytes, "it did not begin within %d s", READY_MS / 1000);
        return SANDBOX_FAILED;
    }
    do { /* it was sent whole, so it comes whole */
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

enum ts_status ts_sandbox_start(struct sandbox *sandbox, const struct sandbox_kind *kind,
                                const struct sandbox_limits *limits, const void *setup,
                                size_t setup_bytes, const int *fds, int n_fds,
                                struct sandbox_child *child, struct ts_diag *diag)
{
    char reason[PATH_MAX + SANDBOX_TEXT_MAX] = "", what[SANDBOX_TEXT_MAX];
    const int error =
        ts_sandbox_launch(sandbox, kind, limits, setup, setup_bytes, fds, n_fds, child);
    if (error)
        ts_sandbox_reason(sandbox, error, reason, sizeof reason);
    else if (ts_sandbox_ready(child, true, reason, sizeof reason) == SANDBOX_READY)
        return TS_OK;
    ts_sandbox_end(child, what, sizeof what);
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "worker-not-started"},
                         "the process for the %s could not be started: %s%s", kind->name,
                         *reason ? reason : "it ", *reason ? "" : what);
}

/* A child that ends closes its channel shortly before it can be waited for. If one closes it and
   lives on, it is given up after END_MS. *end stays empty if somebody else has waited for it. */
static bool has_ended(const struct sandbox_child *child, siginfo_t *end)
{
    char byte;
    bool closed =
        child->channel >= 0 && recv(child->channel, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    for (int i = 0; i < END_MS; i++) {
        *end = (siginfo_t){0};
        const int found = waitid(P_PID, (id_t)child->pid, end, WEXITED | WNOHANG | WNOWAIT);
        if (end->si_pid != 0 || (found != 0 && errno == ECHILD))
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
    int signal_number = 0;
    if (child->pid > 0) {
        if (!has_ended(child, &end))
            kill(child->pid, SIGKILL);
        else if (end.si_pid == 0)
            snprintf(text, sizeof text, "ended, and another part of this program took its status");
        else if (end.si_code == CLD_EXITED)
            snprintf(text, sizeof text, "ended with status %d", end.si_status);
        else
            signal_number = end.si_status;
        if (signal_number)
            snprintf(text, sizeof text, "was killed by signal %d (%s)", signal_number,
                     sigdescr_np(signal_number));
        reap(child->pid);
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
