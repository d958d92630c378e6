/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes OpenMP's waiting threads sleep, in the programs of this project.
 *
 * The threads of libgomp spin while they wait. On a machine with other work the spinning takes the
 * core from the very thread that is waited for, a stage of many small parallel regions gets many
 * times slower with two threads than with one, and decoding and compression beside it too. libgomp
 * has no call for this: it reads the environment while the libraries are initialized, and by then
 * the C library has taken up the environment that the kernel gave. So the program changes that one
 * before, in its DT_PREINIT_ARRAY. The array has no room for one entry more, and the variable
 * borrows the place of one that only shells read, until main() gives it back. Where there is none
 * the program starts itself once more with the variable set, and loads its libraries twice, which
 * takes 20 ms. Whoever sets the variable keeps what they chose.
 *
 * OMP_STACKSIZE and its kin give threads a stack of any size, and with one that is too small the
 * program would crash in the midst of its work. libgomp reads these at the same time, and so they
 * are overruled in the same way.
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

/* A variable of the environment that is replaced by another one until the libraries are
 * initialized. */
struct ts_omp_place {
    char **place, *entry; /* place: NULL: none */
};

static const char *const ts_omp_stack_names[] = {
    "OMP_STACKSIZE=", "OMP_STACKSIZE_ALL=", "GOMP_STACKSIZE="};
static bool ts_omp_begun; /* the environment was seen before the libraries were initialized */
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

/* Returns true where such a value is less than 1 MiB: digits and a unit, which is KiB where there
 * is none. */
static inline bool ts_omp_stack_is_small(const char *value)
{
    static const char units[] = "bBkKmMgG";
    const char *unit;
    uint64_t size = 0;
    while (*value == ' ' || *value == '\t')
        value++;
    if (*value < '0' || *value > '9')
        return false; /* which libgomp says */
    for (; *value >= '0' && *value <= '9'; value++)
        size = size < UINT32_MAX ? 10 * size + (uint64_t)(*value - '0') : size;
    while (*value == ' ' || *value == '\t')
        value++;
    unit = *value ? strchr(units, *value) : NULL;
    return (unit ? size << 10 * ((unit - units) / 2) : size << 10) < UINT64_C(1) << 20;
}

/* Here no library is initialized, so that only what computes may be called. */
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

/* The functions of sanitizers work once these are initialized, and the OpenMP of clang reads the
 * environment later. */
#if defined __GLIBC__ && !defined __clang__ && !defined TS_SANITIZED
__attribute__((section(".preinit_array"),
               used)) static void (*const ts_omp_wait_first)(int, char **,
                                                             char **) = ts_omp_wait_borrow;
#endif

/* Sets what the libraries should have found. Returns true where something was set. */
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

/* Gives the places back, or starts the program again with the variables set. Returns where nothing
 * has to change, and where the program cannot be started again; it then runs with threads that
 * spin. */
static inline void ts_omp_wait_asleep(char **argv)
{
    /* Not /proc/self/exe itself: the process would bear the name "exe". */
    char path[4096];
    for (size_t i = 0; i < sizeof ts_omp_stack_overruled / sizeof *ts_omp_stack_overruled; i++)
        ts_omp_place_give_back(&ts_omp_stack_overruled[i]);
    ts_omp_place_give_back(&ts_omp_wait_borrowed);
    if (ts_omp_wait_borrowed.place)
        return;
    /* No interpreter was loaded where ld.so was called with the program's name: the link then leads
     * to ld.so. */
    if (getauxval(AT_BASE) == 0 || !ts_omp_wait_set())
        return;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    execv(path, argv);
}

#endif
