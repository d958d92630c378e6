/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenMP's library ends the process if the system starts no more threads, and waits for ever for
 * threads that did not come along with a fork. So a team is tried before the first one works.
 */
#include "core/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_all(void *data)
{
    pthread_mutex_lock(data);
    pthread_mutex_unlock(data);
    return NULL;
}

/* Returns how many of n threads can be there at once beside the caller's. */
static int thread_try(int n)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = malloc((size_t)n * sizeof *threads);
    int started = 0;
    pthread_mutex_lock(&gate);
    while (threads && started < n && ts_thread_start(&threads[started], wait_for_all, &gate) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return started;
}

int ts_thread_team(int wanted)
{
    static atomic_int most = 1, owner;
    int nobody = 0;
    const int self = (int)getpid();
    if (wanted <= 1)
        return wanted;
    if (!atomic_compare_exchange_strong(&owner, &nobody, self) && nobody != self)
        return 1;
    const int known = atomic_load(&most),
              team = wanted > known ? 1 + thread_try(wanted - 1) : wanted;
    if (team > known)
        atomic_store(&most, team);
    return team;
}
