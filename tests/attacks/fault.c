/* SPDX-License-Identifier: Apache-2.0
 *
 * A library for LD_PRELOAD that lets one call of the C library fail. It counts the calls of the
 * function FAULT_FUNCTION and returns an error from call number FAULT_AT, and from all later ones
 * where FAULT_EVER is 1; errno is FAULT_ERRNO. Counting starts when a path that contains FAULT_ARM
 * is opened, so that the loader's own calls are left alone. The process that the test started is
 * the only one that sees faults, none of its children; at its end it writes the number of counted
 * calls to FAULT_COUNT. With FAULT_OWN=1, allocations count only where the project's own code asks
 * for them. With FAULT_FUNCTION=* none fails, and FAULT_COUNT gets a line for each function, with
 * its name and how often it was called.
 *
 * Sandboxed children load this library as well. It makes no system call in them, since most would
 * kill them.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    char function[32], arm[128];
    const char *count_file;
    long at;
    int error;
    bool ever, own;
    volatile char *first_process; /* a page that holds 1 in the process that was started, and 0 in
                                     its children */
} fault;
enum { CODE_MAX = 8 };
static struct {
    uintptr_t from, to;
} code[CODE_MAX]; /* where the project's own code lies */
static int n_code;
static atomic_bool ready, armed;
static atomic_long calls;
static atomic_bool failed;
enum { FUNCTIONS_MAX = 64 };
static struct {
    const char *_Atomic name;
    atomic_long calls;
} every[FUNCTIONS_MAX];

static void copy_variable(const char *name, char *text, size_t size)
{
    const char *value = getenv(name);
    snprintf(text, size, "%s", value ? value : "");
}

static long number_variable(const char *name)
{
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

/* The program itself has no name here. */
static int note_code(struct dl_phdr_info *object, size_t size, void *nothing)
{
    const char *slash = strrchr(object->dlpi_name, '/');
    (void)size;
    (void)nothing;
    if (object->dlpi_name[0] && !strstr(slash ? slash : object->dlpi_name, "tomostage"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum && n_code < CODE_MAX; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        code[n_code].from = object->dlpi_addr + part->p_vaddr;
        code[n_code].to = code[n_code].from + part->p_memsz;
        n_code++;
    }
    return 0;
}

__attribute__((constructor)) static void fault_begin(void)
{
    copy_variable("FAULT_FUNCTION", fault.function, sizeof fault.function);
    copy_variable("FAULT_ARM", fault.arm, sizeof fault.arm);
    fault.count_file = getenv("FAULT_COUNT");
    fault.at = number_variable("FAULT_AT");
    fault.error = (int)number_variable("FAULT_ERRNO");
    fault.ever = number_variable("FAULT_EVER") == 1;
    fault.own = number_variable("FAULT_OWN") == 1;
    dl_iterate_phdr(note_code, NULL);
    const long page =
        syscall(SYS_mmap, NULL, 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (page == -1 || syscall(SYS_madvise, page, 4096L, MADV_WIPEONFORK))
        return;
    fault.first_process = (volatile char *)page;
    *fault.first_process = 1;
    atomic_store(&armed, !fault.arm[0]);
    atomic_store(&ready, fault.function[0] != '\0');
}

__attribute__((destructor)) static void fault_end(void)
{
    if (!fault.first_process || !*fault.first_process || !fault.count_file)
        return;
    char text[FUNCTIONS_MAX * 40];
    int length = 0;
    for (int i = 0; i < FUNCTIONS_MAX && every[i].name; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s %ld\n", every[i].name,
                           every[i].calls);
    if (strcmp(fault.function, "*") != 0)
        length = snprintf(text, sizeof text, "%ld %d\n", atomic_load(&calls), atomic_load(&failed));
    const int file =
        (int)syscall(SYS_openat, AT_FDCWD, fault.count_file, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (file < 0 || syscall(SYS_write, file, text, length) != length)
        _exit(99);
}

static void arm_at(const char *path)
{
    if (fault.arm[0] && path && strstr(path, fault.arm))
        atomic_store(&armed, true);
}

static void count(const char *function)
{
    for (int i = 0; i < FUNCTIONS_MAX; i++) {
        const char *name = NULL;
        if (!atomic_compare_exchange_strong(&every[i].name, &name, function) &&
            strcmp(name, function) != 0)
            continue;
        atomic_fetch_add(&every[i].calls, 1);
        return;
    }
}

static bool strikes(const char *function)
{
    if (!atomic_load(&ready) || !atomic_load(&armed) || !*fault.first_process)
        return false;
    if (fault.function[0] == '*')
        count(function);
    if (strcmp(function, fault.function) != 0)
        return false;
    const long call = atomic_fetch_add(&calls, 1);
    if (call != fault.at && !(fault.ever && call > fault.at))
        return false;
    atomic_store(&failed, true);
    errno = fault.error;
    return true;
}

/* FORWARD(return type, name, what a failed call returns, declared arguments, passed arguments) */
#define FORWARD(type, name, bad, declared, passed)                                                 \
    type name declared                                                                             \
    {                                                                                              \
        static type(*next) declared;                                                               \
        if (!next)                                                                                 \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                             \
        return strikes(#name) ? (bad) : next passed;                                               \
    }

FORWARD(ssize_t, write, -1, (int fd, const void *bytes, size_t n), (fd, bytes, n))
FORWARD(ssize_t, pwrite, -1, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
FORWARD(ssize_t, pwrite64, -1, (int fd, const void *bytes, size_t n, off64_t at),
        (fd, bytes, n, at))
FORWARD(ssize_t, read, -1, (int fd, void *bytes, size_t n), (fd, bytes, n))
FORWARD(ssize_t, pread, -1, (int fd, void *bytes, size_t n, off_t at), (fd, bytes, n, at))
FORWARD(ssize_t, pread64, -1, (int fd, void *bytes, size_t n, off64_t at), (fd, bytes, n, at))
FORWARD(ssize_t, preadv, -1, (int fd, const struct iovec *parts, int n, off_t at),
        (fd, parts, n, at))
FORWARD(ssize_t, preadv64, -1, (int fd, const struct iovec *parts, int n, off64_t at),
        (fd, parts, n, at))
FORWARD(ssize_t, sendmsg, -1, (int fd, const struct msghdr *message, int flags),
        (fd, message, flags))
FORWARD(ssize_t, recvmsg, -1, (int fd, struct msghdr *message, int flags), (fd, message, flags))
FORWARD(ssize_t, send, -1, (int fd, const void *bytes, size_t n, int flags), (fd, bytes, n, flags))
FORWARD(ssize_t, recv, -1, (int fd, void *bytes, size_t n, int flags), (fd, bytes, n, flags))
FORWARD(int, poll, -1, (struct pollfd * fds, nfds_t n, int milliseconds), (fds, n, milliseconds))
FORWARD(pid_t, waitpid, -1, (pid_t child, int *status, int options), (child, status, options))
FORWARD(int, socketpair, -1, (int domain, int type, int protocol, int fds[2]),
        (domain, type, protocol, fds))
FORWARD(int, fsync, -1, (int fd), (fd))
FORWARD(int, rename, -1, (const char *from, const char *to), (from, to))
FORWARD(int, renameat2, -1, (int from, const char *a, int to, const char *b, unsigned flags),
        (from, a, to, b, flags))
FORWARD(int, link, -1, (const char *from, const char *to), (from, to))
FORWARD(int, linkat, -1, (int from, const char *a, int to, const char *b, int flags),
        (from, a, to, b, flags))
FORWARD(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
FORWARD(int, ftruncate, -1, (int fd, off_t n), (fd, n))
FORWARD(int, ftruncate64, -1, (int fd, off64_t n), (fd, n))
FORWARD(int, pipe2, -1, (int fds[2], int flags), (fds, flags))
FORWARD(pid_t, fork, -1, (void), ())
FORWARD(int, fstat, -1, (int fd, struct stat *status), (fd, status))
FORWARD(int, fstatat, -1, (int folder, const char *path, struct stat *status, int flags),
        (folder, path, status, flags))
FORWARD(int, stat, -1, (const char *path, struct stat *status), (path, status))
FORWARD(int, lstat, -1, (const char *path, struct stat *status), (path, status))
FORWARD(off_t, lseek, -1, (int fd, off_t at, int whence), (fd, at, whence))
FORWARD(struct dirent *, readdir, NULL, (DIR * folder), (folder))
FORWARD(void *, mmap, MAP_FAILED, (void *at, size_t n, int access, int flags, int fd, off_t offset),
        (at, n, access, flags, fd, offset))

/* The descriptor is closed even where close reports an error, as it is on Linux. */
int close(int fd)
{
    const bool fails = strikes("close");
    const int done = (int)syscall(SYS_close, fd);
    if (fails)
        errno = fault.error;
    return fails ? -1 : done;
}

static int open_next(const char *function, int folder, const char *path, int flags, unsigned mode)
{
    arm_at(path);
    return strikes(function) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* The mode is the third argument where there is one, and is ignored otherwise. */
#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;          \
        va_end(rest);                                                                              \
        return open_next("open", AT_FDCWD, path, flags, mode);                                     \
    }
#define OPEN_AT(name)                                                                              \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;          \
        va_end(rest);                                                                              \
        return open_next("openat", folder, path, flags, mode);                                     \
    }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

DIR *opendir(const char *path)
{
    static DIR *(*next)(const char *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "opendir");
    arm_at(path);
    return strikes("opendir") ? NULL : next(path);
}

FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*next)(const char *, const char *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "fopen");
    arm_at(path);
    return strikes("fopen") ? NULL : next(path, mode);
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *block, size_t n);

/* Returns true where an allocation that is asked for at this address of code must fail. */
static bool allocation_fails(void *caller)
{
    if (!atomic_load(&ready) || !atomic_load(&armed))
        return false;
    bool counts = !fault.own;
    for (int i = 0; i < n_code && !counts; i++)
        counts = (uintptr_t)caller >= code[i].from && (uintptr_t)caller < code[i].to;
    return counts && strikes("malloc");
}

void *malloc(size_t n)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t n)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, n);
}

void *realloc(void *block, size_t n)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, n);
}
