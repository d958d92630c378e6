/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes OpenMP's waiting threads sleep, in the programs of this project.
 *
 * The threads of libgomp spin while they wait. On a machine with other work the spinning takes the core from the very
 * thread that is waited for, a stage of many small parallel regions gets many times slower with two threads than with
 * one, and decoding and compression beside it too. libgomp reads the environment before main() and has no call for
 * this, so the program sets the variable and starts itself once more. Whoever sets the variable keeps what they chose.
 */
#ifndef CORE_OMP_WAIT_H
#define CORE_OMP_WAIT_H

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Starts the program again with the variable set. Returns where nothing has to change, and where the program cannot be
 * started again; it then runs with threads that spin. */
static inline void ts_omp_wait_asleep(char **argv)
{
    /* Not /proc/self/exe itself: the process would bear the name "exe". */
    char path[4096];
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
