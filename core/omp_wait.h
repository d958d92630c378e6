/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes OpenMP's waiting threads sleep, in the programs of this project.
 *
 * The threads of libgomp spin while they wait. On a machine with other work the spinning takes the
 * core from the very thread that is waited for: a stage with many small parallel regions becomes
 * many times slower with two threads than with one, and so do decoding and compression beside it.
 * libgomp has no call for this: it reads the environment while the libraries are initialized, and
 * by then the C library has taken up the environment that the kernel gave. So the program changes
 * that environment earlier, in its DT_PREINIT_ARRAY. The environment's array has no room for one
 * more entry, so the variable takes the place of one that only shells read, until main() restores
 * it. If there is no such variable, the program starts itself once more with the variable set,
 * which takes 20 ms to load the libraries again. A variable that the user has set is kept.
 *
 * OMP_STACKSIZE and its kin give threads a stack of any size, and with one that is too small the
 * program would crash while it works. libgomp reads these at the same time, so they are overruled
 * in the same way.
 *
 * Only a file that has main() may include this: a shared library has no DT_PREINIT_ARRAY.
 */
#ifndef CORE_OMP_WAIT_H
#define CORE_OMP_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* An environment variable that is replaced by one of ours until the libraries are initialized. */
struct ts_omp_place {
    char **place, *entry; /* place is NULL if nothing was replaced */
};

static const char *const ts_omp_stack_names[] = {
    "OMP_STACKSIZE=", "OMP_STACKSIZE_ALL=", "GOMP_STACKSIZE="};
static bool ts_omp_begun; /* true if the environment was seen before the libraries were
                           * initialized */
static struct ts_omp_place ts_omp_wait_borrowed, ts_omp_stack_overruled[3];

static inline void ts_omp_place_take(struct ts_omp_place *borrowed, char **place, char *entry)
{
    borrowed->place = place;
    borrowed->entry = *place;
    *place = entry;
}

static inline void ts_omp_place_give_back(const struct ts_omp_place *borrowed)
{
    if (borrowed->place)
        *borrowed->place = borrowed->entry;
}

/* Returns true if a stack size is less than 1 MiB. It consists of digits and a unit, KiB if there
 * is none. */
static inline bool ts_omp_stack_is_small(const char *value)
{
    static const char units[] = "bBkKmMgG";
    const char *unit;
    uint64_t size = 0;
    while (*value == ' ' || *value == '\t')
        value++;
    if (*value < '0' || *value > '9')
        return false; /* libgomp itself reports a wrong value */
    for (; *value >= '0' && *value <= '9'; value++)
        size = size < UINT32_MAX ? 10 * size + (uint64_t)(*value - '0') : size;
    while (*value == ' ' || *value == '\t')
        value++;
    unit = *value ? strchr(units, *value) : NULL;
    return (unit ? size << 10 * ((unit - units) / 2) : size << 10) < UINT64_C(1) << 20;
}

/* No library is initialized when this runs, so it may only call functions that need none. */
static inline void ts_omp_wait_borrow(int argc, char **argv, char **environment)
{
    static const char *const unread[] = {"_=", "SHLVL=", "OLDPWD=", "PWD=", "HOSTNAME="};
    static char passive[] = "OMP_WAIT_POLICY=passive",
                stacks[][24] = {"OMP_STACKSIZE=8M", "OMP_STACKSIZE_ALL=8M", "GOMP_STACKSIZE=8M"};
    char **place = NULL;
    bool set = false;
    (void)argc;
    (void)argv;
    ts_omp_begun = true;
    for (; *environment; environment++) {
        set |= !strncmp(*environment, passive, strlen("OMP_WAIT_POLICY="));
        for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
            if (!strncmp(*environment, unread[i], strlen(unread[i])))
                place = environment;
        for (size_t i = 0; i < sizeof ts_omp_stack_names / sizeof *ts_omp_stack_names; i++)
            if (!strncmp(*environment, ts_omp_stack_names[i], strlen(ts_omp_stack_names[i])) &&
                ts_omp_stack_is_small(*environment + strlen(ts_omp_stack_names[i])))
                ts_omp_place_take(&ts_omp_stack_overruled[i], environment, stacks[i]);
    }
    if (place && !set)
        ts_omp_place_take(&ts_omp_wait_borrowed, place, passive);
}

/* Not used with sanitizers, whose functions work only once they are initialized, nor with clang,
 * whose OpenMP reads the environment later. */
#if defined __GLIBC__ && !defined __clang__ && !defined TS_SANITIZED
__attribute__((section(".preinit_array"),
               used)) static void (*const ts_omp_wait_first)(int, char **,
                                                             char **) = ts_omp_wait_borrow;
#endif

/* Sets what the libraries should have found in the environment. Returns true if something was
 * set. */
static inline bool ts_omp_wait_set(void)
{
    bool changed = !getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0;
    for (size_t i = 0; !ts_omp_begun && i < sizeof ts_omp_stack_names / sizeof *ts_omp_stack_names;
         i++) {
        char name[24] = "";
        memcpy(name, ts_omp_stack_names[i], strlen(ts_omp_stack_names[i]) - 1);
        const char *value = getenv(name);
        changed |= value && ts_omp_stack_is_small(value) && setenv(name, "8M", 1) == 0;
    }
    return changed;
}

/* Restores the borrowed places, or starts the program again with the variables set. Returns if
 * nothing has to change, or if the program cannot be started again; its threads then spin. */
static inline void ts_omp_wait_asleep(char **argv)
{
    /* /proc/self/exe itself is not used, because the process would then be named "exe". */
    char path[4096];
    for (size_t i = 0; i < sizeof ts_omp_stack_overruled / sizeof *ts_omp_stack_overruled; i++)
        ts_omp_place_give_back(&ts_omp_stack_overruled[i]);
    ts_omp_place_give_back(&ts_omp_wait_borrowed);
    if (ts_omp_wait_borrowed.place)
        return;
    /* If ld.so was called with the program's name, no interpreter was loaded, and the link leads to
     * ld.so. */
    if (getauxval(AT_BASE) == 0 || !ts_omp_wait_set())
        return;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    execv(path, argv);
}

#endif
