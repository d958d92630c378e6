/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads take the number of the next part from one counter. Each reports to a list of records of its own; the list of
 * the lowest part that failed is kept, and joins the caller's when the job is over. All parts below that one have been
 * begun before it and are finished, so that the choice does not depend on which thread was faster.
 */
#include "io/source/readers.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/thread.h"

struct reader {
    struct readers *readers;
    pthread_t handle;
    struct ts_diag *diag;
};

struct readers {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct reader *each; /* each[0] is the caller */
    int threads, started;
    bool tried, open, ending; /* tried: the threads were started; open: a job takes threads */
    uint64_t job;             /* counts jobs */
    int most, active;         /* threads that this job takes, and those that are at it beside the caller */
    int64_t n;
    reader_part *part;
    void *user;
    atomic_int_least64_t next, failed; /* failed: the lowest part that failed, n without one */
    atomic_bool stopped;
    enum ts_status status;   /* status of the part `failed`, */
    struct ts_diag *failure; /* and its records */
};

/* Keeps the records of a part where no lower one has failed. */
static void note_failure(struct readers *readers, struct reader *reader, int64_t i, enum ts_status status)
{
    pthread_mutex_lock(&readers->lock);
    if (i < atomic_load(&readers->failed)) {
        struct ts_diag *records = reader->diag;
        reader->diag = readers->failure;
        readers->failure = records;
        readers->status = status;
        atomic_store(&readers->failed, i);
    }
    pthread_mutex_unlock(&readers->lock);
    ts_diag_clear(reader->diag);
}

static void do_parts(struct readers *readers, int thread)
{
    struct reader *reader = &readers->each[thread];
    for (;;) {
        const int64_t i = atomic_fetch_add(&readers->next, 1);
        if (i >= readers->n || i > atomic_load(&readers->failed) || atomic_load(&readers->stopped))
            return;
        const enum ts_status status = readers->part(readers->user, thread, i, reader->diag);
        if (status != TS_OK)
            note_failure(readers, reader, i, status);
    }
}

static void *run_thread(void *data)
{
    struct reader *reader = data;
    struct readers *readers = reader->readers;
    const int thread = (int)(reader - readers->each);
    uint64_t seen = 0;
    pthread_mutex_lock(&readers->lock);
    for (;;) {
        while (!readers->ending && (!readers->open || readers->job == seen || thread >= readers->most))
            pthread_cond_wait(&readers->work, &readers->lock);
        if (readers->ending)
            break;
        seen = readers->job;
        readers->active++;
        pthread_mutex_unlock(&readers->lock);
        do_parts(readers, thread);
        pthread_mutex_lock(&readers->lock);
        if (--readers->active == 0)
            pthread_cond_signal(&readers->done);
    }
    pthread_mutex_unlock(&readers->lock);
    return NULL;
}

static void start_threads(struct readers *readers)
{
    struct reader *next = &readers->each[readers->started];
    readers->tried = true;
    for (; readers->started < readers->threads && ts_thread_start(&next->handle, run_thread, next) == 0; next++)
        readers->started++;
}

struct readers *ts_readers_create(int threads)
{
    struct readers *readers = calloc(1, sizeof *readers);
    if (!readers)
        return NULL;
    readers->threads = threads > 1 ? threads : 1;
    readers->started = 1;
    pthread_mutex_init(&readers->lock, NULL);
    pthread_cond_init(&readers->work, NULL);
    pthread_cond_init(&readers->done, NULL);
    readers->each = calloc((size_t)readers->threads, sizeof *readers->each);
    readers->failure = ts_diag_create();
    bool complete = readers->each && readers->failure;
    for (int t = 0; complete && t < readers->threads; t++) {
        readers->each[t] = (struct reader){.readers = readers, .diag = ts_diag_create()};
        complete = readers->each[t].diag;
    }
    if (complete)
        return readers;
    ts_readers_destroy(readers);
    return NULL;
}

void ts_readers_destroy(struct readers *readers)
{
    if (!readers)
        return;
    pthread_mutex_lock(&readers->lock);
    readers->ending = true;
    pthread_cond_broadcast(&readers->work);
    pthread_mutex_unlock(&readers->lock);
    for (int t = 1; t < readers->started; t++)
        pthread_join(readers->each[t].handle, NULL);
    for (int t = 0; readers->each && t < readers->threads; t++)
        ts_diag_destroy(readers->each[t].diag);
    ts_diag_destroy(readers->failure);
    pthread_cond_destroy(&readers->done);
    pthread_cond_destroy(&readers->work);
    pthread_mutex_destroy(&readers->lock);
    free(readers->each);
    free(readers);
}

enum ts_status ts_readers_run(struct readers *readers, int threads, int64_t n, reader_part *part, void *user,
                              struct ts_diag *diag)
{
    if (n > 1 && threads > 1 && !readers->tried)
        start_threads(readers);
    pthread_mutex_lock(&readers->lock);
    readers->part = part;
    readers->user = user;
    readers->n = n;
    readers->most = threads < n ? threads : (int)n;
    atomic_store(&readers->next, 0);
    atomic_store(&readers->failed, n);
    readers->open = readers->most > 1;
    readers->job++;
    if (readers->open)
        pthread_cond_broadcast(&readers->work);
    pthread_mutex_unlock(&readers->lock);
    do_parts(readers, 0);
    pthread_mutex_lock(&readers->lock);
    readers->open = false;
    while (readers->active > 0)
        pthread_cond_wait(&readers->done, &readers->lock);
    const bool failed = atomic_load(&readers->failed) < n;
    pthread_mutex_unlock(&readers->lock);
    if (!failed)
        return atomic_load(&readers->stopped) ? TS_STOPPED : TS_OK;
    ts_diag_append(diag, readers->failure);
    ts_diag_clear(readers->failure);
    return readers->status;
}

void ts_readers_stop(struct readers *readers)
{
    atomic_store(&readers->stopped, true);
}

int ts_readers_threads(const struct readers *readers)
{
    return readers->threads;
}
