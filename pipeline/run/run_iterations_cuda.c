/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the iterations of stages on a CUDA device. The walk only enqueues them, slabs ahead of
 * the device, and may wait at any place. So a thread of each device checks ten times a second what
 * the kernels have written to pinned memory, without any call to CUDA, and reports it for the slab
 * of that call. Built only with CUDA.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/thread.h"
#include "pipeline/run/run_cuda.h"

enum { LOOK_NANOSECONDS = 100 * 1000 * 1000 };

static bool iterates(const struct plan_node *node)
{
    const struct stage *stage = node->chain_stage ? node->chain_stage->stage : NULL;
    return stage && stage->cuda && stage->cuda->iterates && !node->reused;
}

/* Reports the latest iteration unless that was done; the caller holds iterations->lock. */
static void look(struct iterations *iterations)
{
    struct cuda_progress_record record;
    if (!ts_cuda_progress_read(iterations->reporting.progress, &record) ||
        memcmp(&record, &iterations->reported, sizeof record) == 0)
        return;
    const struct iterating_call *call = &iterations->calls[record.call % TIMED_CALLS];
    if (call->number != record.call)
        return;
    iterations->reported = record;
    ts_run_report_iteration(iterations->run, &call->at, &record.iteration);
}

static void *watch(void *data)
{
    struct iterations *iterations = data;
    pthread_mutex_lock(&iterations->lock);
    while (!iterations->end) {
        struct timespec until;
        look(iterations);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NANOSECONDS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&iterations->ending, &iterations->lock, &until);
    }
    pthread_mutex_unlock(&iterations->lock);
    return NULL;
}

enum ts_status ts_run_cuda_watch(struct run *run)
{
    struct device *device = run->back;
    struct iterations *iterations = &device->iterations;
    pthread_condattr_t clock;
    bool any = false;
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        any |= iterates(&run->plan->nodes[i]);
    if (!any || !run->options->on_event)
        return TS_OK;
    struct cuda_progress *progress = ts_cuda_allocate_pinned(device->session, sizeof *progress);
    if (!progress)
        return TS_RUN_FAILED;
    memset(progress, 0, sizeof *progress);
    iterations->run = run;
    iterations->reporting.progress = progress;
    pthread_mutex_init(&iterations->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&iterations->ending, &clock);
    pthread_condattr_destroy(&clock);
    /* Without a thread, iterations are reported at the end of a pass. */
    iterations->watched = ts_thread_start(&iterations->thread, watch, iterations) == 0;
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        if (iterates(&run->plan->nodes[i]) && run->nodes[i].driver)
            ts_cuda_driver_report(run->nodes[i].driver, &iterations->reporting);
    return TS_OK;
}

void ts_run_cuda_watch_end(struct run *run)
{
    struct iterations *iterations = &((struct device *)run->back)->iterations;
    if (!iterations->reporting.progress)
        return;
    pthread_mutex_lock(&iterations->lock);
    iterations->end = true;
    pthread_cond_signal(&iterations->ending);
    pthread_mutex_unlock(&iterations->lock);
    if (iterations->watched)
        pthread_join(iterations->thread, NULL);
    pthread_cond_destroy(&iterations->ending);
    pthread_mutex_destroy(&iterations->lock);
    iterations->reporting.progress = NULL;
}

void ts_run_cuda_iterating(struct run *run, int32_t node, int64_t number)
{
    struct iterations *iterations = &((struct device *)run->back)->iterations;
    if (!iterations->reporting.progress || node < 0 || !iterates(&run->plan->nodes[node]))
        return;
    pthread_mutex_lock(&iterations->lock);
    atomic_store(&run->iterating, node + 1);
    iterations->reporting.call = number;
    iterations->calls[number % TIMED_CALLS] = (struct iterating_call){number, ts_run_position(run)};
    pthread_mutex_unlock(&iterations->lock);
}

void ts_run_cuda_report_iterations(struct run *run)
{
    struct iterations *iterations = &((struct device *)run->back)->iterations;
    if (!iterations->reporting.progress)
        return;
    pthread_mutex_lock(&iterations->lock);
    look(iterations);
    pthread_mutex_unlock(&iterations->lock);
}
