/* SPDX-License-Identifier: Apache-2.0
 *
 * How the program starts: what it makes of its environment before main().
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/program.h"

static struct program_outcome outcome;
static char folder[256];

static void make_study(void)
{
    ts_program_make_study(folder, sizeof folder);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli_start, .init = make_study, .fini = remove_folder);

static size_t read_bytes(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    const size_t length = file ? fread(bytes, 1, size - 1, file) : 0;
    bytes[length] = '\0';
    if (file)
        fclose(file);
    return length;
}

/* What the OpenMP libraries of gcc and clang print of waiting threads. */
#ifdef __clang__
#define SLEEPS "OMP_WAIT_POLICY='PASSIVE'"
#define SPINS "OMP_WAIT_POLICY='ACTIVE'"
#else
#define SLEEPS "GOMP_SPINCOUNT = '0'"
#define SPINS "GOMP_SPINCOUNT = '30000000000'"
#endif

/* Starts a run, for which the OpenMP library prints what it has read of the environment, and waits
 * until that has the line. Returns whether it has. `name` becomes that of the process. */
static bool says(const char *line, char *name, size_t size)
{
    static char printed[1 << 14];
    char path[300], comm[64];
    bool found = false;
    snprintf(path, sizeof path, "%s.err", folder);
    const pid_t pid = ts_program_start(
        folder, ARGUMENTS("run", "dicom study | radon views=65536 | hdf5 out.h5", "--threads", "1"),
        -1);
    for (int k = 0; k < 500 && !found; k++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        found = read_bytes(path, printed, sizeof printed) > 0 && strstr(printed, line);
    }
    ts_program_await_handler(pid, SIGTERM);
    snprintf(comm, sizeof comm, "/proc/%ld/comm", (long)pid);
    read_bytes(comm, name, size);
    cr_assert_eq(kill(pid, SIGTERM), 0);
    ts_program_wait(pid, folder, &outcome);
    return found;
}

/* libgomp reads this variable before main(). It is set where nobody has, also in an environment
 * where it has no place to borrow, and left alone where somebody has. */
Test(cli_start, waiting_threads_sleep_unless_told_otherwise)
{
    char name[32];
    cr_assert_eq(setenv("OMP_DISPLAY_ENV", "verbose", 1) | unsetenv("OMP_WAIT_POLICY") |
                     setenv("PWD", "/", 1),
                 0);
    cr_assert(says(SLEEPS, name, sizeof name), "%s", outcome.err);
    cr_assert_str_eq(name, "tomostage\n");
#ifndef TS_SANITIZED
    cr_assert(!strstr(outcome.err, "GOMP_SPINCOUNT = '300000'"), "the program has started twice");
#endif
    cr_assert_eq(setenv("OMP_WAIT_POLICY", "active", 1), 0);
    cr_assert(says(SPINS, name, sizeof name), "%s", outcome.err);
    cr_assert_eq(unsetenv("OMP_WAIT_POLICY"), 0);
    for (const char *const *lent =
             (const char *const[]){"_", "SHLVL", "OLDPWD", "PWD", "HOSTNAME", NULL};
         *lent; lent++)
        cr_assert_eq(unsetenv(*lent), 0);
    cr_assert(says(SLEEPS, name, sizeof name), "%s", outcome.err);
    cr_assert_str_eq(name, "tomostage\n");
}
