/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of `window` slots: put fills the slot `tail`, threads encode the slot `next`, and whoever finds the chunk at
 * `head` ready hands it to the sink outside the lock. head <= next <= tail, all counted from the first chunk on.
 */
#include "io/file/chunk_queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct slot {
    struct chunk_job job;
    bool ready;
};

struct chunk_queue {
    pthread_mutex_t lock;
    pthread_cond_t work, space; /* threads wait for work; put and drain wait for free slots */
    int64_t head, next, tail, window;
    bool sinking, failed, ending;
    chunk_sink *sink;
    void *user;
    int threads, started;
    pthread_t *handles;
    struct slot *slots;
};

int ts_chunk_queue_window(int threads)
{
    return threads + 2; /* one each for a thread, one that is being put, one in the sink */
}

static void clear_job(struct chunk_job *job)
{
    free(job->chunk);
    free(job->encoded);
    job->chunk = job->encoded = NULL;
}

static void encode(struct chunk_coder *coder, struct chunk_job *job)
{
    size_t bound = ts_chunk_bound(&job->filters, job->chunk_bytes);
    job->encoded_bytes = 0;
    job->encoded = coder ? malloc(bound) : NULL;
    if (job->encoded && ts_digest_tree_add(job->digest, job->offset, job->chunk, job->inside_bytes))
        job->encoded_bytes = ts_chunk_encode(coder, &job->filters, job->chunk, job->chunk_bytes, job->encoded, bound);
    if (job->encoded_bytes == 0) {
        free(job->encoded);
        job->encoded = NULL;
    }
}

/* Hands chunks to the sink as long as the next one is ready. The caller holds the lock, before and after. */
static void sink_ready(struct chunk_queue *queue)
{
    while (!queue->sinking && queue->head < queue->next && queue->slots[queue->head % queue->window].ready) {
        struct slot *slot = &queue->slots[queue->head % queue->window];
        bool skip = queue->failed || queue->ending;
        queue->sinking = true;
        pthread_mutex_unlock(&queue->lock);
        bool done = skip || queue->sink(queue->user, &slot->job);
        clear_job(&slot->job);
        pthread_mutex_lock(&queue->lock);
        slot->ready = false;
        queue->sinking = false;
        queue->failed = queue->failed || !done;
        queue->head++;
        pthread_cond_broadcast(&queue->space);
    }
}

static void *run_thread(void *data)
{
    struct chunk_queue *queue = data;
    struct chunk_coder *coder = ts_chunk_coder_create();
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->next == queue->tail && !queue->ending)
            pthread_cond_wait(&queue->work, &queue->lock);
        if (queue->next == queue->tail)
            break;
        struct slot *slot = &queue->slots[queue->next++ % queue->window];
        bool skip = queue->failed || queue->ending;
        pthread_mutex_unlock(&queue->lock);
        if (!skip)
            encode(coder, &slot->job);
        pthread_mutex_lock(&queue->lock);
        slot->ready = true;
        sink_ready(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    ts_chunk_coder_destroy(coder);
    return NULL;
}

struct chunk_queue *ts_chunk_queue_create(int threads, chunk_sink *sink, void *user)
{
    struct chunk_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->threads = threads;
    queue->window = ts_chunk_queue_window(threads);
    queue->sink = sink;
    queue->user = user;
    queue->handles = calloc((size_t)threads, sizeof *queue->handles);
    queue->slots = calloc((size_t)queue->window, sizeof *queue->slots);
    if (!queue->handles || !queue->slots) {
        free(queue->handles);
        free(queue->slots);
        free(queue);
        return NULL;
    }
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->space, NULL);
    return queue;
}

/* Threads block all signals, which belong to the program's own thread. One thread is enough to go on. */
static int start_threads(struct chunk_queue *queue)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (queue->started < queue->threads && error == 0) {
        error = pthread_create(&queue->handles[queue->started], NULL, run_thread, queue);
        queue->started += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    queue->threads = queue->started > 0 ? queue->started : queue->threads;
    return queue->started > 0 ? 0 : error;
}

bool ts_chunk_queue_put_take(struct chunk_queue *queue, const struct chunk_job *job, int *error_number)
{
    *error_number = queue->started == 0 ? start_threads(queue) : 0;
    struct chunk_job dropped = *job;
    if (*error_number) {
        clear_job(&dropped);
        return false;
    }
    pthread_mutex_lock(&queue->lock);
    while (queue->tail - queue->head == queue->window && !queue->failed)
        pthread_cond_wait(&queue->space, &queue->lock);
    bool failed = queue->failed;
    if (failed) {
        clear_job(&dropped);
    } else {
        queue->slots[queue->tail++ % queue->window] = (struct slot){.job = *job};
        pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
    return !failed;
}

bool ts_chunk_queue_drain(struct chunk_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->head < queue->tail)
        pthread_cond_wait(&queue->space, &queue->lock);
    bool failed = queue->failed;
    pthread_mutex_unlock(&queue->lock);
    return !failed;
}

void ts_chunk_queue_destroy(struct chunk_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    for (int i = 0; i < queue->started; i++)
        pthread_join(queue->handles[i], NULL);
    pthread_cond_destroy(&queue->space);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue->slots);
    free(queue->handles);
    free(queue);
}
