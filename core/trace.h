/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace records what each part of a run did and when, so that a user sees which part the others
 * wait for. A part is reading, computing, compressing and so on; any thread adds stretches of work
 * to it. Functions that work for a run take the trace as a pointer, which is usually NULL and makes
 * every call here do nothing.
 */
#ifndef CORE_TRACE_H
#define CORE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* The parts are in the order in which data pass through them. */
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
    int thread; /* the thread's number in the system */
    enum trace_part part;
    const char *stage; /* name of the stage in the chain, or NULL if the part is not that of one
                        * stage */
};

struct trace;
/* Returns a trace whose time 0 is now, or NULL if memory is out. */
struct trace *ts_trace_create(void);
void ts_trace_destroy(struct trace *trace);
/* Returns the seconds since time 0, to be handed to ts_trace_add as the beginning of a stretch. */
double ts_trace_begin(const struct trace *trace);
/* Adds the stretch from `begin` to now, in which the calling thread moved or made `bytes` bytes (0:
 * not counted). The stretch is lost if memory is out. */
void ts_trace_add(struct trace *trace, enum trace_part part, double begin, uint64_t bytes);
/* Adds a stretch that a different clock measured, such as kernels and copies of a device. */
void ts_trace_add_stretch(struct trace *trace, enum trace_part part, double begin, double end,
                          uint64_t bytes);
/* Adds a stretch with all fields set except its thread, which becomes the calling one. `stage` is
 * borrowed. */
void ts_trace_put(struct trace *trace, struct trace_stretch stretch);

/* Returns the n stretches in the order in which they ended. The pointer stays valid until a stretch
 * is added. */
const struct trace_stretch *ts_trace_stretches(const struct trace *trace, size_t *n);

#endif
