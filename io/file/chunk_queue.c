/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of `window` slots: put fills the slot `tail`, threads prepare the slot `next`, one thread
 * at a time places the slot `place`, and the slot `head` is the oldest that is not written yet.
 * head <= place <= next <= tail, all counted from the first chunk on. A free thread places a chunk
 * if it can, else writes one, else prepares one, so that the oldest chunks leave first.
 */
#include "io/file/chunk_queue.h"

#include <stdlib.h>

#include "core/thread.h"

enum slot_state { SLOT_WAITING, SLOT_PREPARED, SLOT_PLACED, SLOT_WRITING, SLOT_WRITTEN };

struct slot {
    struct chunk_job job;
    enum slot_state state;
};

struct chunk_queue {
    pthread_mutex_t lock;
    pthread_cond_t work, space; /* threads wait for work; put and drain wait for free slots */
    int64_t head, place, next, tail, window;
    bool placing, failed, ending;
    const struct chunk_steps *steps;
    void *user;
    int threads, started;
    pthread_t *handles;
    struct slot *slots;
};

int ts_chunk_queue_window(int threads)
{
    return threads + 2; /* one for each thread, one that is being put, and one that waits */
}

static void clear_job(struct chunk_job *job)
{
    free(job->chunk);
    free(job->encoded);
    job->chunk = job->encoded = NULL;
}

static struct slot *slot_at(struct chunk_queue *queue, int64_t i)
{
    return &queue->slots[i % queue->window];
}

/* Takes a step of a slot outside the lock, which the caller holds before and after. If the queue
   has failed or is ending, it skips the step, but the slot goes on to its next state. */
static void take_step(struct chunk_queue *queue, struct slot *slot, struct chunk_coder *coder,
                      enum slot_state reached)
{
    const bool skip = queue->failed || queue->ending;
    const struct chunk_steps *steps = queue->steps;
    bool done = true;
    pthread_mutex_unlock(&queue->lock);
    if (!skip) {
        if (reached == SLOT_PREPARED)
            done = steps->prepare(queue->user, coder, &slot->job);
        else if (reached == SLOT_PLACED)
            done = steps->place(queue->user, &slot->job);
        else
            done = steps->write(queue->user, &slot->job);
    }
    if (reached == SLOT_WRITTEN)
        clear_job(&slot->job);
    pthread_mutex_lock(&queue->lock);
    slot->state = reached;
    queue->failed = queue->failed || !done;
}

static bool place_next(struct chunk_queue *queue)
{
    struct slot *slot = slot_at(queue, queue->place);
    if (queue->placing || queue->place == queue->next || slot->state != SLOT_PREPARED)
        return false;
    queue->placing = true;
    take_step(queue, slot, NULL, SLOT_PLACED);
    queue->placing = false;
    queue->place++;
    pthread_cond_signal(&queue->work); /* this thread may go on to place the next one */
    return true;
}

static bool write_next(struct chunk_queue *queue)
{
    int64_t i = queue->head;
    while (i < queue->place && slot_at(queue, i)->state != SLOT_PLACED)
        i++;
    if (i == queue->place)
        return false;
    slot_at(queue, i)->state = SLOT_WRITING;
    take_step(queue, slot_at(queue, i), NULL, SLOT_WRITTEN);
    while (queue->head < queue->place && slot_at(queue, queue->head)->state == SLOT_WRITTEN)
        queue->head++;
    pthread_cond_broadcast(&queue->space);
    return true;
}

static bool prepare_next(struct chunk_queue *queue, struct chunk_coder *coder)
{
    if (queue->next == queue->tail)
        return false;
    take_step(queue, slot_at(queue, queue->next++), coder, SLOT_PREPARED);
    return true;
}

/* Runs steps until the queue ends. A step that was begun is always ended, so no chunk is left when
   all threads have ended. */
static void *run_thread(void *data)
{
    struct chunk_queue *queue = data;
    struct chunk_coder *coder = ts_chunk_coder_create();
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        if (place_next(queue) || write_next(queue) || prepare_next(queue, coder))
            continue;
        if (queue->ending)
            break;
        pthread_cond_wait(&queue->work, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    ts_chunk_coder_destroy(coder);
    return NULL;
}

struct chunk_queue *ts_chunk_queue_create(int threads, const struct chunk_steps *steps, void *user)
{
    struct chunk_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->threads = threads;
    queue->window = ts_chunk_queue_window(threads);
    queue->steps = steps;
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

/* One thread is enough; more are only faster. */
static int start_threads(struct chunk_queue *queue)
{
    int error = 0;
    while (queue->started < queue->threads && error == 0) {
        error = ts_thread_start(&queue->handles[queue->started], run_thread, queue);
        queue->started += error == 0;
    }
    queue->threads = queue->started > 0 ? queue->started : queue->threads;
    return queue->started > 0 ? 0 : error;
}

bool ts_chunk_queue_put_take(struct chunk_queue *queue, const struct chunk_job *job,
                             int *error_number)
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

bool ts_chunk_queue_is_full(struct chunk_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const bool full = queue->tail - queue->head == queue->window && !queue->failed;
    pthread_mutex_unlock(&queue->lock);
    return full;
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
