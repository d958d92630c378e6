/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads a team can have, in a process as it is, without room for more, and forked.
 */
#include "core/thread.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the bytes of addresses that this process has. */
static rlim_t addresses(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

Test(thread, a_team_has_what_is_wanted_if_it_can)
{
    cr_expect_eq(ts_thread_team(1), 1);
    cr_expect_eq(ts_thread_team(5), 5);
    cr_expect_eq(ts_thread_team(2), 2);
    cr_expect_eq(ts_thread_team(9), 9);
}

/* A thread takes a stack of some MiB of addresses. */
Test(thread, a_team_has_fewer_if_the_system_starts_no_more)
{
    pthread_attr_t attributes;
    size_t stack = 0;
    cr_assert_eq(pthread_getattr_default_np(&attributes), 0);
    pthread_attr_getstacksize(&attributes, &stack);
    const struct rlimit limit = {addresses() + 3 * stack, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    const int team = ts_thread_team(64);
    cr_expect(team >= 1 && team < 64, "%d", team);
    cr_expect_eq(ts_thread_team(team), team);
}

Test(thread, a_child_that_was_forked_has_one)
{
    int status = 0;
    cr_assert_eq(ts_thread_team(3), 3);
    const pid_t child = fork();
    if (child == 0)
        _exit(ts_thread_team(3) == 1 && ts_thread_team(1) == 1 ? 0 : 1);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect_eq(ts_thread_team(3), 3);
}
