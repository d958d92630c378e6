/* SPDX-License-Identifier: Apache-2.0
 *
 * seccomp, Landlock and limits.
 *
 * The filter is a list of what a decoder needs: memory, its descriptors, the clock, its end.
 * Everything else kills the process, so that a decoder which was taken over by its input can reach
 * no file, no network and no other process. The calls that give memory are allowed without
 * PROT_EXEC, and a process may send a signal to itself alone, which is how abort() ends.
 * newfstatat() fails instead: glibc's fstat() uses it, but a path could hide in its argument.
 */
#include "io/sandbox/sandbox_lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

enum { CHILD_FILES_MAX = 24, LARGEST_BLOCK = 32 << 20 };

bool ts_sandbox_is_instrumented(void)
{
#ifdef TS_SANITIZED
    return true;
#else
    /* The variable alone proves nothing: valgrind has also mapped the library that it names. */
    const char *preloaded = getenv("LD_PRELOAD");
    FILE *maps =
        preloaded && strstr(preloaded, "vgpreload_") ? fopen("/proc/self/maps", "re") : NULL;
    char line[512];
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, "/vgpreload_") != NULL;
    if (maps)
        fclose(maps);
    return found;
#endif
}

bool ts_sandbox_has_seccomp(void)
{
#ifdef NATIVE_ARCHITECTURE
    const unsigned int action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#else
    return false; /* the filter below is for x86-64 only */
#endif
}

/* ---- Landlock -------------------------------------------------------------------------------- */

/* The kernel's structure (linux/landlock.h); the header here may be older than the kernel. */
struct landlock_rules {
    uint64_t files, network, scopes;
};

enum { LANDLOCK_CREATE = 444, LANDLOCK_RESTRICT = 446, LANDLOCK_VERSION = 1 };

int ts_sandbox_landlock(void)
{
    const long version = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
    return version > 0 ? (int)version : 0;
}

/* Handles every right that the kernel knows and grants none. */
static bool take_files_and_network(void)
{
    static const int file_rights[] = {0, 13, 14, 15, 15, 16}; /* by ABI version */
    const int version = ts_sandbox_landlock();
    if (version == 0)
        return true;
    const int n = file_rights[version < 5 ? version : 5];
    const struct landlock_rules rules = {.files = (UINT64_C(1) << n) - 1,
                                         .network = version >= 4 ? 3 : 0,
                                         .scopes = version >= 6 ? 3 : 0};
    size_t bytes = sizeof(uint64_t);
    if (version >= 6)
        bytes = sizeof rules;
    else if (version >= 4)
        bytes = 2 * sizeof(uint64_t);
    const int rule_set = (int)syscall(LANDLOCK_CREATE, &rules, bytes, 0);
    if (rule_set < 0)
        return false;
    const bool done = syscall(LANDLOCK_RESTRICT, rule_set, 0) == 0;
    close(rule_set);
    return done;
}

/* ---- seccomp --------------------------------------------------------------------------------- */

#define DATA(field) ((uint32_t)offsetof(struct seccomp_data, field))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(field))
#define LOW_WORD(argument)                                                                         \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[argument])) /* little-endian */
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Allows a call under a condition on one argument: the four statements after the jump. */
#define ALLOW_WITHOUT(call, argument, bits)                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOW_WORD(argument),                         \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS),      \
        RETURN(SECCOMP_RET_ALLOW)
#define ALLOW_EQUAL(call, argument, value)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOW_WORD(argument),                         \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),      \
        RETURN(SECCOMP_RET_ALLOW)

static bool filter_calls(int channel)
{
#ifdef NATIVE_ARCHITECTURE
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr), /* calls of the x32 ABI have an extra bit and match none below */
        ALLOW_EQUAL(SYS_read, 0, (uint32_t)channel),
        ALLOW_EQUAL(SYS_recvmsg, 0, (uint32_t)channel), /* descriptors come with jobs */
        ALLOW_EQUAL(SYS_sendto, 0, (uint32_t)channel),  /* send() */
        ALLOW_EQUAL(SYS_write, 0,
                    /* glibc's last message before abort(); the descriptor is /dev/null */
                    STDERR_FILENO),
        ALLOW_EQUAL(SYS_writev, 0, STDERR_FILENO),
        ALLOW(SYS_pread64),
        ALLOW(SYS_lseek),
        ALLOW(SYS_fstat),
        ALLOW(SYS_close),
        ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC),
        ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
        ALLOW(SYS_mremap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_brk),
        ALLOW_EQUAL(SYS_madvise, 2, MADV_DONTNEED),
        ALLOW(SYS_futex),
        ALLOW(SYS_clock_gettime),
        /* libhdf5 calls it before it reads metadata with a wrong checksum again */
        ALLOW(SYS_clock_nanosleep),
        ALLOW(SYS_getrusage),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_sysinfo), /* qsort() asks for the size of the memory */
        ALLOW(SYS_getpid),
        ALLOW(SYS_gettid),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW_EQUAL(SYS_tgkill, 0, (uint32_t)getpid()),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
#else
    return true;
#endif
}

/* ---- limits ---------------------------------------------------------------------------------- */

static bool started_short; /* the process came with a limit of addresses that is lower */

/* Lowers both limits of a resource to `value`. */
static bool limit(int resource, rlim_t value)
{
    struct rlimit both;
    if (getrlimit(resource, &both) != 0)
        return false;
    if (both.rlim_max > value) /* RLIM_INFINITY is the largest number */
        both.rlim_max = value;
    both.rlim_cur = both.rlim_max;
    return setrlimit(resource, &both) == 0;
}

/* Limits the process to so many bytes of addresses beyond those in use. Under sanitizers nothing is
   limited: their shadow memory takes terabytes. */
static bool limit_addresses(size_t more)
{
#ifdef TS_SANITIZED
    (void)more;
    return true;
#else
    unsigned long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm == NULL)
        return false;
    bool ok = fscanf(statm, "%llu", &pages) == 1;
    fclose(statm);
    const rlim_t most = pages * (unsigned long long)sysconf(_SC_PAGESIZE) + more;
    struct rlimit before;
    started_short = getrlimit(RLIMIT_AS, &before) == 0 && before.rlim_max < most;
    return ok && limit(RLIMIT_AS, most);
#endif
}

static bool can_map(int protection, int flags)
{
    enum { PROBE_BYTES = 16 << 20 };
    void *memory = mmap(NULL, PROBE_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return memory != MAP_FAILED && munmap(memory, PROBE_BYTES) == 0;
}

/* Addresses without memory only count for the limit: if these can be had and memory cannot, the
   machine has no memory left. */
bool ts_sandbox_lacks_memory(void)
{
    const int before = errno;
    const bool lacks =
        started_short || (can_map(PROT_NONE, MAP_NORESERVE) && !can_map(PROT_READ | PROT_WRITE, 0));
    errno = before;
    return lacks;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The soft limit has a signal of its own, SIGXCPU, which tells the parent the cause; the hard
   limit, a second later, kills. */
static bool limit_processor(int seconds)
{
    struct rlimit both;
    if (!limit(RLIMIT_CPU, (rlim_t)seconds + 1) || getrlimit(RLIMIT_CPU, &both) != 0)
        return false;
    if (both.rlim_cur > (rlim_t)seconds)
        both.rlim_cur = (rlim_t)seconds;
    return setrlimit(RLIMIT_CPU, &both) == 0;
}

/* A child of root can access root's files just by its user id; without capabilities it can do
   little else. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    return syscall(SYS_capset, &head, none) == 0;
}

/* Makes malloc() keep what is freed, in blocks as large as its heaps: before it gives memory of a
   thread's heap back, it reads a file of /proc, for which the filter kills. */
static bool keep_memory(void)
{
    return mallopt(M_TRIM_THRESHOLD, INT_MAX) == 1 && mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK) == 1;
}

bool ts_sandbox_lock(const struct sandbox_limits *limits, int channel)
{
    if (!limit_addresses(limits->address_bytes) || !limit(RLIMIT_CORE, 0) ||
        !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_NOFILE, CHILD_FILES_MAX) ||
        !limit_processor(limits->cpu_seconds) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    if (ts_sandbox_is_instrumented())
        return true;
    if (!limit(RLIMIT_NPROC, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        !take_files_and_network() || !drop_capabilities())
        return false;
    return keep_memory() && (!ts_sandbox_has_seccomp() || filter_calls(channel));
}
