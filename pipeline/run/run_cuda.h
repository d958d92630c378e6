/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the back end of a CUDA device, and the functions that its parts share:
 * run_cuda.c has memory, reading and slabs, run_times_cuda.c times the stages and fills the
 * profile, run_iterations_cuda.c reports iterations, run_half_cuda.c rounds outputs,
 * run_encode_cuda.c compresses them on the device, run_write_cuda.c sends them to the writer, and
 * run_capture_cuda.c makes graphs.
 * Only these files include it, and they are built only with CUDA.
 */
#ifndef PIPELINE_RUN_RUN_CUDA_H
#define PIPELINE_RUN_RUN_CUDA_H

#include "cuda/device/driver.h"
#include "cuda/device/launch.h"
#include "pipeline/plan/plan_encode.h"
#include "pipeline/run/run.h"

/* Pinned memory through which the copies of one direction pass, piece after piece. */
struct staging {
    unsigned char *memory; /* of all pieces */
    bool touched;          /* its pages are in use already */
    unsigned char *pieces[PLAN_PIECES];
    struct cuda_event *started[PLAN_PIECES], *copied[PLAN_PIECES];
    int64_t n_used; /* number of pieces used so far; they are used in turn */
    /* bytes copied through each piece that the profile has not counted yet */
    size_t bytes[PLAN_PIECES];
};

/* An encoded chunk: `offset` is relative to the output of its call, which is at `call` in
   encoded[]. */
struct encoded_chunk {
    size_t call;
    const struct cuda_deflate_place *place; /* in pinned memory; known once the slab is computed */
};

/* Compresses one output on the device. Each slab of the ring has its own encoded chunks. */
struct encoder {
    struct plan_encode plan;
    /* on the device: slices that wait until their chunk is whole, then those of a slab */
    unsigned char *values;
    size_t left, filled; /* where those that wait begin, and their bytes */
    struct cuda_event
        *ready;         /* the slab's values are there, and so are those that waited before it */
    int64_t next_chunk; /* the first chunk of the grid that is not encoded yet */
    unsigned char *encoded[PLAN_RING];
    struct cuda_deflate_place *places[PLAN_RING],
        *found[PLAN_RING]; /* on the device and on the host */
    struct encoded_chunk *chunks[PLAN_RING];
};

/* An output's slab that is to be downloaded once it is computed. */
struct download {
    int64_t slab_number;
    int32_t node;
    struct ts_image slices; /* on the device: the slices that are not yet on their way in a piece */
    const struct encoder *encoder; /* NULL: values. Else chunks [first, end) of the slab that are
                                      not on their way yet */
    int64_t first, end;
};

/* A piece on its way to the writer. */
struct arrival {
    int64_t slab_number;
    int32_t node;
    struct ts_image slices; /* in pinned memory */
    const struct encoder
        *encoder; /* NULL: values. Else chunks [first, end) of the slab, in slices.data */
    int64_t first, end;
    bool last; /* it is the last of the output's slab */
};

/* Work in the queue CUDA_COMPUTE between two events, which are created when first used. */
struct timed_call {
    struct cuda_event *began, *ended;
    int32_t node; /* the stage that does it; -1: no stage */
    size_t bytes; /* bytes that a stage made or reduced */
};
enum { TIMED_CALLS = 256 };

/* A call of map() whose kernels report iterations, and how far the walk was when it enqueued
 * them. */
struct iterating_call {
    int64_t number; /* of all calls, from 1 */
    struct run_position at;
};

/* What the kernels have reported, and the thread that reads it. */
struct iterations {
    struct run *run;                 /* its current device changes meanwhile */
    struct cuda_reporting reporting; /* progress NULL: no stage iterates, or nobody wants events */
    pthread_mutex_t lock; /* guards all members except reporting.progress, which kernels write */
    pthread_cond_t ending;
    pthread_t thread;
    bool watched, end;
    struct cuda_progress_record reported;
    struct iterating_call calls[TIMED_CALLS]; /* by number; used in turn, like device.calls */
};

struct device {
    struct cuda_opening *opening; /* until the session is created */
    struct cuda_session *session;
    void *padded;               /* shared by the drivers */
    struct cuda_event *reached; /* the event for which another device waits */
    struct cuda_event *uploaded, *computed[PLAN_RING];
    struct cuda_event *origin; /* the zero of the profile's times on the device */
    double origin_seconds;
    struct staging up, down;
    size_t up_bytes, down_bytes; /* sizes of a piece of `up` and of `down` */
    struct encoder **encoders;   /* for each node; NULL: its output is not compressed here */
    void *encode_scratch;        /* shared by the encoders */
    unsigned char **halves; /* for each node: its output's slabs of the ring, rounded; NULL: none */
    uint32_t *largest;      /* on the device, for each node: the number of ts_cuda_half_round; NULL:
                               nothing is rounded */
    uint32_t *found_largest;    /* the same in pinned memory */
    struct download *downloads; /* a ring, oldest first */
    int n_downloads, first_download, most_downloads;
    struct arrival arrivals[PLAN_PIECES]; /* by the number of their piece */
    /* number of pieces that the writer has got, out of down.n_used */
    int64_t n_arrived;
    int64_t slabs_ended; /* slabs before this number have all their kernels in the queue */
    struct timed_call calls[TIMED_CALLS]; /* they go round */
    /* number of calls that ended, and of those whose time was added to their node */
    int64_t n_calls, n_added;
    struct iterations iterations;
};

/* Returns the place, in the ring of its device, of a slab of the current or another device. */
static inline int ts_run_cuda_place(const struct run *run, int64_t slab_number)
{
    return (int)(ts_run_turn(run, slab_number) % PLAN_RING);
}

/* Marks the time to which the device's clock is compared, if the run has a profile. */
enum ts_status ts_run_cuda_begin_profile(struct run *run);
/* Adds a copy through a piece to the profile; the copy must be complete. */
enum ts_status ts_run_cuda_trace_piece(struct run *run, enum trace_part part,
                                       struct staging *staging, int place);

/* Time the calls of stages, as run_back_end.begin_call and end_call; also other work, for the
   profile (node -1). */
enum ts_status ts_run_cuda_begin_call(struct run *run, int32_t node);
enum ts_status ts_run_cuda_end_call(struct run *run, const struct ts_image *made);
/* Adds the times of all calls to their nodes and to the profile. Waits for the calls. */
enum ts_status ts_run_cuda_add_times(struct run *run);

/* Start and end the reporting of iterations, if the caller wants events and a stage iterates. */
enum ts_status ts_run_cuda_watch(struct run *run);
void ts_run_cuda_watch_end(struct run *run);
/* Notes that call `number` of a node is enqueued next. */
void ts_run_cuda_iterating(struct run *run, int32_t node, int64_t number);
/* Reports the latest iteration, so that none comes after what its caller reports. */
void ts_run_cuda_report_iterations(struct run *run);

/* Allocates the encoder of a node. Leaves NULL if its output leaves the device as values, or if it
   has none. */
enum ts_status ts_run_cuda_encoder_create(struct run *run, int32_t node);
void ts_run_cuda_encoder_destroy(struct encoder *encoder);
/* Enqueues the compression of all chunks that these slices make whole. *n becomes their number. */
enum ts_status ts_run_cuda_encode(struct run *run, int32_t node, const struct ts_image *slices,
                                  int64_t *n);

/* Allocates what rounding outputs to halves needs, beside the encoders. */
enum ts_status ts_run_cuda_half_create(struct run *run);
/* Enqueues the copy of slices of an output to `to` on the device in the type of the file: rounded
   to halves, or unchanged. *bytes becomes their size there. */
enum ts_status ts_run_cuda_leave(struct run *run, int32_t node, const struct ts_image *slices,
                                 void *to, size_t *bytes);
/* Rounds slices to the slab's halves, and changes *slices to these; leaves slices that are not
   rounded. */
enum ts_status ts_run_cuda_half(struct run *run, int32_t node, struct ts_image *slices);
/* Tells the writer which values halves could not hold. Waits for the device. */
enum ts_status ts_run_cuda_half_report(struct run *run);

/* Set run->captured, as run_back_end.ask_capture, and end the work on that stream; the second
   makes it the queue CUDA_COMPUTE, once everything is set up. */
enum ts_status ts_run_cuda_ask_capture(struct run *run);
enum ts_status ts_run_cuda_begin_capture(struct run *run);
enum ts_status ts_run_cuda_end_capture(struct run *run, enum ts_status status);

/* Notes an output's slab for download, as run_back_end.write. */
enum ts_status ts_run_cuda_write(struct run *run, int32_t node, const struct ts_image *slices);
/* Continues the downloads of computed slabs on all devices, and hands to the writer what has
   arrived, in the slabs' order. Waits for the slabs up to this one, and for no other: while the
   writer is full, the next slab is read. If there are several ranks, no later slab is handed
   over. */
enum ts_status ts_run_cuda_move(struct run *run, int64_t slab_number);

#endif
