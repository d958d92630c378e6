/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes OpenMP's waiting threads sleep, in the programs of this project.
 *
 * The threads of libgomp spin while they wait. On a machine with other work the spinning takes the core from the very
 * thread that is waited for, a stage of many small parallel regions gets many times slower with two threads than with
 * one, and decoding and compression beside it too. libgomp has no call for this: it reads the environment while the
 * libraries are initialized, and by then the C library has taken up the environment that the kernel gave. So the
 * program changes that one before, in its DT_PREINIT_ARRAY. The array has no room for one entry more, and the variable
 * borrows the place of one that only shells read, until main() gives it back. Where there is none the program starts
 * itself once more with the variable set, and loads its libraries twice, which takes 20 ms. Whoever sets the variable
 * keeps what they chose.
 *
 * Only a file that has main() may include this: a shared library has no DT_PREINIT_ARRAY.
 */
#ifndef CORE_OMP_WAIT_H
#define CORE_OMP_WAIT_H

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static struct {
    char **place, *entry; /* the entry stood in this place of the environment; NULL: nothing is borrowed */
} ts_omp_wait_borrowed;

/* Here no library is initialized, so that only what computes may be called. */
static inline void ts_omp_wait_borrow(int argc, char **argv, char **environment)
{
    static const char *const unread[] = {"_=", "SHLVL=", "OLDPWD=", "PWD=", "HOSTNAME="};
    static char entry[] = "OMP_WAIT_POLICY=passive";
    char **place = NULL;
    (void)argc;
    (void)argv;
    for (; *environment; environment++) {
        if (!strncmp(*environment, entry, strlen("OMP_WAIT_POLICY=")))
            return;
        for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
            if (!strncmp(*environment, unread[i], strlen(unread[i])))
                place = environment;
    }
    if (!place)
        return;
    ts_omp_wait_borrowed.place = place;
    ts_omp_wait_borrowed.entry = *place;
    *place = entry;
}

/* The functions of sanitizers work once these are initialized, and the OpenMP of clang reads the environment later. */
#if defined __GLIBC__ && !defined __clang__ && !defined TS_SANITIZED
__attribute__((section(".preinit_array"), used)) static void (*const ts_omp_wait_first)(int, char **,
                                                                                        char **) = ts_omp_wait_borrow;
#endif

/* Gives the place back, or starts the program again with the variable set. Returns where nothing has to change, and
 * where the program cannot be started again; it then runs with threads that spin. */
static inline void ts_omp_wait_asleep(char **argv)
{
    /* Not /proc/self/exe itself: the process would bear the name "exe". */
    char path[4096];
    if (ts_omp_wait_borrowed.place) {
        *ts_omp_wait_borrowed.place = ts_omp_wait_borrowed.entry;
        return;
    }
    /* No interpreter was loaded where ld.so was called with the program's name: the link then leads to ld.so. */
    if (getauxval(AT_BASE) == 0)
        return;
    if (getenv("OMP_WAIT_POLICY") || setenv("OMP_WAIT_POLICY", "passive", 1) != 0)
        return;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    execv(path, argv);
}

#endif
