/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads take the number of the next part from one counter. Each reports to a list of records of
 * its own; the list of the lowest part that failed is kept, and joins the caller's when the job is
 * over. All parts below that one have been begun before it and are finished, so that the choice
 * does not depend on which thread was faster.
 */
#include "io/pool/pool.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/thread.h"

struct member {
    struct pool *pool;
    pthread_t handle;
    struct ts_diag *diag;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct member *each; /* each[0] is the caller */
    int threads, started;
    bool tried, open, ending; /* tried: the threads were started; open: a job takes threads */
    uint64_t job;             /* counts jobs */
    /* the most threads that this job may take, and how many work on it besides the caller */
    int most, active;
    int64_t n;
    pool_part *part;
    void *user;
    atomic_int_least64_t next, failed; /* failed: the lowest part that failed, n if none has */
    atomic_bool stopped;
    enum ts_status status;   /* status of the part `failed`, */
    struct ts_diag *failure; /* and its records */
};

/* Keeps the records of a part that failed, unless a lower part has failed. */
static void note_failure(struct pool *pool, struct member *member, int64_t i, enum ts_status status)
{
    pthread_mutex_lock(&pool->lock);
    if (i < atomic_load(&pool->failed)) {
        struct ts_diag *records = member->diag;
        member->diag = pool->failure;
        pool->failure = records;
        pool->status = status;
        atomic_store(&pool->failed, i);
    }
    pthread_mutex_unlock(&pool->lock);
    ts_diag_clear(member->diag);
}

static void do_parts(struct pool *pool, int thread)
{
    struct member *member = &pool->each[thread];
    for (;;) {
        const int64_t i = atomic_fetch_add(&pool->next, 1);
        if (i >= pool->n || i > atomic_load(&pool->failed) || atomic_load(&pool->stopped))
            return;
        const enum ts_status status = pool->part(pool->user, thread, i, member->diag);
        if (status != TS_OK)
            note_failure(pool, member, i, status);
    }
}

static void *run_thread(void *data)
{
    struct member *member = data;
    struct pool *pool = member->pool;
    const int thread = (int)(member - pool->each);
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->ending && (!pool->open || pool->job == seen || thread >= pool->most))
            pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->ending)
            break;
        seen = pool->job;
        pool->active++;
        pthread_mutex_unlock(&pool->lock);
        do_parts(pool, thread);
        pthread_mutex_lock(&pool->lock);
        if (--pool->active == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void start_threads(struct pool *pool)
{
    struct member *next = &pool->each[pool->started];
    pool->tried = true;
    for (; pool->started < pool->threads && ts_thread_start(&next->handle, run_thread, next) == 0;
         next++)
        pool->started++;
}

struct pool *ts_pool_create(int threads)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->threads = threads > 1 ? threads : 1;
    pool->started = 1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->each = calloc((size_t)pool->threads, sizeof *pool->each);
    pool->failure = ts_diag_create();
    bool complete = pool->each && pool->failure;
    for (int t = 0; complete && t < pool->threads; t++) {
        pool->each[t] = (struct member){.pool = pool, .diag = ts_diag_create()};
        complete = pool->each[t].diag;
    }
    if (complete)
        return pool;
    ts_pool_destroy(pool);
    return NULL;
}

void ts_pool_destroy(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int t = 1; t < pool->started; t++)
        pthread_join(pool->each[t].handle, NULL);
    for (int t = 0; pool->each && t < pool->threads; t++)
        ts_diag_destroy(pool->each[t].diag);
    ts_diag_destroy(pool->failure);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->each);
    free(pool);
}

enum ts_status ts_pool_run(struct pool *pool, int threads, int64_t n, pool_part *part, void *user,
                           struct ts_diag *diag)
{
    if (n > 1 && threads > 1 && !pool->tried)
        start_threads(pool);
    pthread_mutex_lock(&pool->lock);
    pool->part = part;
    pool->user = user;
    pool->n = n;
    pool->most = threads < n ? threads : (int)n;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->failed, n);
    pool->open = pool->most > 1;
    pool->job++;
    if (pool->open)
        pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    do_parts(pool, 0);
    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    while (pool->active > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    const bool failed = atomic_load(&pool->failed) < n;
    pthread_mutex_unlock(&pool->lock);
    if (!failed)
        return atomic_load(&pool->stopped) ? TS_STOPPED : TS_OK;
    ts_diag_append(diag, pool->failure);
    ts_diag_clear(pool->failure);
    return pool->status;
}

void ts_pool_stop(struct pool *pool)
{
    atomic_store(&pool->stopped, true);
}

int ts_pool_threads(const struct pool *pool)
{
    return pool->threads;
}
