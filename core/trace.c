/* SPDX-License-Identifier: Apache-2.0
 *
 * Stretches are in one array that grows and has a lock: there are a few for each chunk of some MiB,
 * so threads seldom wait for each other here.
 */
#include "core/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/timing.h"

struct trace {
    pthread_mutex_t lock;
    double start;
    struct trace_stretch *stretches;
    size_t n, capacity;
};

struct trace *ts_trace_create(void)
{
    struct trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    pthread_mutex_init(&trace->lock, NULL);
    trace->start = ts_seconds();
    return trace;
}

void ts_trace_destroy(struct trace *trace)
{
    if (!trace)
        return;
    pthread_mutex_destroy(&trace->lock);
    free(trace->stretches);
    free(trace);
}

double ts_trace_begin(const struct trace *trace)
{
    return trace ? ts_seconds() - trace->start : 0;
}

void ts_trace_put(struct trace *trace, struct trace_stretch stretch)
{
    if (!trace)
        return;
    stretch.end = stretch.end > stretch.begin ? stretch.end : stretch.begin;
    stretch.thread = gettid();
    pthread_mutex_lock(&trace->lock);
    struct trace_stretch *grown =
        ts_memory_grow(trace->stretches, trace->n, &trace->capacity, sizeof *grown);
    if (grown) {
        trace->stretches = grown;
        grown[trace->n++] = stretch;
    }
    pthread_mutex_unlock(&trace->lock);
}

void ts_trace_add_stretch(struct trace *trace, enum trace_part part, double begin, double end,
                          uint64_t bytes)
{
    ts_trace_put(trace,
                 (struct trace_stretch){.begin = begin, .end = end, .bytes = bytes, .part = part});
}

void ts_trace_add(struct trace *trace, enum trace_part part, double begin, uint64_t bytes)
{
    ts_trace_add_stretch(trace, part, begin, ts_trace_begin(trace), bytes);
}

const struct trace_stretch *ts_trace_stretches(const struct trace *trace, size_t *n)
{
    *n = trace->n;
    return trace->stretches;
}
