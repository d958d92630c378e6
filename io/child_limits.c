/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals and resource limits of forked children.
 */
#include "io/child_limits.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

void ts_child_signals(void)
{
    sigset_t none;
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    const int ignored[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ, SIGTSTP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

bool ts_child_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return false;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

bool ts_child_limit_addresses(size_t more)
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
    return ok && ts_child_limit(RLIMIT_AS, pages * (unsigned long long)sysconf(_SC_PAGESIZE) + more);
#endif
}
