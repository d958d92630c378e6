/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace records what each part of a run did and when, so that a user sees which part the others
 * wait for. A part is reading, computing, compressing and so on; any thread adds stretches of work
 * to it. Functions that work for a run take the trace as a pointer, and NULL, the usual case, makes
 * every call here do nothing.
 */
#ifndef CORE_TRACE_H
#define CORE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Data pass through the parts in this order. */
enum trace_part {
    TRACE_PLAN,    /* headers, shapes, memory */
    TRACE_PREPARE, /* memory, workers, the device's context */
    TRACE_READ,
    TRACE_UPLOAD,
    TRACE_COMPUTE,
    TRACE_DOWNLOAD,
    TRACE_COMPRESS,
    TRACE_WRITE,
    TRACE_CHECK,  /* written bytes are read back */
    TRACE_FINISH, /* digests, metadata, fsync, the name */
    TRACE_PARTS
};

/* One thread's work on one part, in seconds since time 0. */
struct trace_stretch {
    double begin, end;
    uint64_t bytes;
    int thread; /* the system's number of the thread */
    enum trace_part part;
    const char *stage; /* its name in the chain; NULL: the part is not that of one stage */
};

struct trace;
/* Returns a trace whose time 0 is now, or NULL where memory is out. */
struct trace *ts_trace_create(void);
void ts_trace_destroy(struct trace *trace);
/* Returns the seconds since time 0, to be handed to ts_trace_add as the beginning of a stretch. */
double ts_trace_begin(const struct trace *trace);
/* Adds the stretch from `begin` to now, in which the calling thread moved or made so many bytes (0:
 * none are counted). The stretch is lost where memory is out. */
void ts_trace_add(struct trace *trace, enum trace_part part, double begin, uint64_t bytes);
/* Adds a stretch that another clock measured: the kernels and copies of a device. */
void ts_trace_add_stretch(struct trace *trace, enum trace_part part, double begin, double end,
                          uint64_t bytes);
/* Adds a stretch with all that is known of it but its thread, which is the calling one. `stage` is
 * borrowed. */
void ts_trace_put(struct trace *trace, struct trace_stretch stretch);

/* Returns the n stretches in the order in which they ended. They stay valid until the next call
 * that adds one. */
const struct trace_stretch *ts_trace_stretches(const struct trace *trace, size_t *n);

#endif
