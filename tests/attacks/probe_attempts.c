/* SPDX-License-Identifier: Apache-2.0
 *
 * The things that a decoder tries once an input has taken it over. Each attempt says whether it
 * worked; tests/attacks/ test_sandbox.py takes their names from the table at the end. An attempt
 * that works in the process that was started shows that the sandbox is what prevents it, so each of
 * them does no harm there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

static volatile int spot;

static bool open_file(const char *path, int flags)
{
    return syscall(SYS_openat, AT_FDCWD, path, flags, 0600) >= 0;
}

static bool read_file(void)
{
    return open_file("/etc/passwd", O_RDONLY);
}

static bool write_file(void)
{
    return open_file(probe.victim, O_WRONLY);
}

static bool create_file(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s.new", probe.victim);
    return open_file(path, O_CREAT | O_WRONLY);
}

static bool list_folder(void)
{
    return open_file("/", O_RDONLY | O_DIRECTORY);
}

static bool delete_file(void)
{
    return unlink(probe.victim) == 0;
}

static bool rename_file(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s.moved", probe.victim);
    return rename(probe.victim, path) == 0;
}

static bool change_mode(void)
{
    return chmod(probe.victim, 0777) == 0;
}

static bool unix_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM, 0) >= 0;
}

static bool network_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool fork_process(void)
{
    const long child = syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (child == 0)
        _exit(0);
    return child > 0 && waitpid((pid_t)child, NULL, 0) == child;
}

/* The kernel looks for the file only where the call is let through. */
static bool run_program(void)
{
    char *arguments[] = {(char[]){"nothing"}, NULL};
    execve("/nonexistent/program", arguments, NULL);
    return errno == ENOENT;
}

static bool signal_parent(void)
{
    return kill(probe.parent, 0) == 0;
}

static bool trace_parent(void)
{
    return ptrace(PTRACE_SEIZE, probe.parent, NULL, NULL) == 0;
}

static bool open_parents_memory(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)probe.parent);
    return open_file(path, O_RDWR);
}

/* `spot` has the same address in the parent, which runs the same program unless the probe is tried
 * at the start. */
static bool write_parents_memory(void)
{
    int value = 7;
    struct iovec from = {&value, sizeof value}, to = {(void *)&spot, sizeof value};
    const bool at_start = *probe.first_process;
    return process_vm_writev(at_start ? getpid() : probe.parent, &from, 1, &to, 1, 0) ==
           sizeof value;
}

static bool map_executable(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) != MAP_FAILED;
}

static bool make_executable(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool map_16_gib(void)
{
    return mmap(NULL, (size_t)16 << 30, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static bool raise_limit(void)
{
    const struct rlimit limit = {.rlim_cur = 3600, .rlim_max = 3600};
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}

static bool become_dumpable(void)
{
    return syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1L, 0L, 0L, 0L) == 0;
}

static bool anonymous_file(void)
{
    return syscall(SYS_memfd_create, "probe", 0L) >= 0;
}

static bool change_folder(void)
{
    return chdir("/") == 0;
}

static bool new_namespace(void)
{
    return unshare(CLONE_NEWUSER) == 0;
}

static bool set_up_ring(void)
{
    char parameters[120] = {0};
    return syscall(SYS_io_uring_setup, 1L, parameters) >= 0;
}

static bool load_bpf(void)
{
    char attributes[128] = {0};
    return syscall(SYS_bpf, 0L, attributes, sizeof attributes) >= 0 || errno == EINVAL;
}

static bool print_text(void)
{
    static const char text[] = "the probe writes to standard error\n";
    struct stat status;
    if (syscall(SYS_fstat, 2L, &status) == 0 && status.st_rdev == makedev(1, 3))
        return false; /* /dev/null */
    return syscall(SYS_write, 2L, text, sizeof text - 1) > 0;
}

/* A file that the program itself has open, as its standard input. */
static bool read_secret(void)
{
    for (int fd = 0; fd < 256; fd++) {
        struct stat status;
        char byte;
        if (syscall(SYS_fstat, fd, &status) == 0 && status.st_ino == probe.secret.st_ino &&
            status.st_dev == probe.secret.st_dev && syscall(SYS_pread64, fd, &byte, 1L, 0L) == 1)
            return true;
    }
    return false;
}

static bool change_input(void)
{
    for (int fd = 0; fd < 256; fd++)
        if (syscall(SYS_pwrite64, fd, "x", 1L, 0L) == 1)
            return true;
    return false;
}

/* The input is open for reading alone. At the start, standard input stands for it, which is open
 * for both. */
static bool write_input(void)
{
    for (int fd = 0; fd < 256; fd++)
        if (is_input(fd) && syscall(SYS_write, fd, "x", 1L) == 1)
            return true;
    return false;
}

/* No page lies at the address, so that a kernel which would do it damages nothing. */
static bool poison_memory(void)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && munmap(page, 4096) == 0 &&
           (madvise(page, 4096, MADV_HWPOISON) == 0 || errno == EFAULT || errno == ENOMEM);
}

/* A child has one socket, its own channel. Nothing is sent, since that would be an answer. */
static bool send_to_others(void)
{
    int n_sockets = 0, pair[2];
    if (*probe.first_process && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return false;
    for (int fd = 0; fd < 256; fd++) {
        struct stat status;
        if (syscall(SYS_fstat, fd, &status) == 0 && S_ISSOCK(status.st_mode))
            n_sockets += syscall(SYS_sendto, fd, "", 0L, MSG_NOSIGNAL, NULL, 0L) == 0;
    }
    return n_sockets > 1;
}

/* The memory for slices has no name in any folder. A decoder may change its own, and no other. */
static bool write_others_slices(void)
{
    int n_writable = 0;
    if (*probe.first_process &&
        (ftruncate(memfd_create("1", 0), 4096) || ftruncate(memfd_create("2", 0), 4096)))
        return false;
    for (int fd = 0; fd < 256; fd++) {
        struct stat status;
        if (syscall(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
            n_writable += mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
    }
    return n_writable > 1;
}

#ifdef __x86_64__
/* Calls of the 32-bit tables, which a filter that does not look at the architecture takes for
 * others. */
static bool call_32_bit(void)
{
    long done = 20; /* getpid */
    __asm__ volatile("int $0x80" : "+a"(done) : : "memory", "r8", "r9", "r10", "r11");
    return done > 0;
}

static bool call_x32(void)
{
    return syscall(0x40000000L + SYS_getpid) > 0;
}
#endif

const struct attempt attempts[] = {
    {"read_file", read_file},
    {"write_file", write_file},
    {"create_file", create_file},
    {"list_folder", list_folder},
    {"delete_file", delete_file},
    {"rename_file", rename_file},
    {"change_mode", change_mode},
    {"unix_socket", unix_socket},
    {"network_socket", network_socket},
    {"fork_process", fork_process},
    {"run_program", run_program},
    {"signal_parent", signal_parent},
    {"trace_parent", trace_parent},
    {"open_parents_memory", open_parents_memory},
    {"write_parents_memory", write_parents_memory},
    {"map_executable", map_executable},
    {"make_executable", make_executable},
    {"map_16_gib", map_16_gib},
    {"raise_limit", raise_limit},
    {"become_dumpable", become_dumpable},
    {"anonymous_file", anonymous_file},
    {"change_folder", change_folder},
    {"new_namespace", new_namespace},
    {"set_up_ring", set_up_ring},
    {"load_bpf", load_bpf},
    {"print_text", print_text},
    {"read_secret", read_secret},
    {"change_input", change_input},
    {"write_input", write_input},
    {"poison_memory", poison_memory},
    {"send_to_others", send_to_others},
    {"write_others_slices", write_others_slices},
#ifdef __x86_64__
    {"call_32_bit", call_32_bit},
    {"call_x32", call_x32},
#endif
    {NULL, NULL},
};
