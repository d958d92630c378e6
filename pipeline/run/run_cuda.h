/* SPDX-License-Identifier: Apache-2.0
 *
 * These structs are the state of the back end of a CUDA device, and these functions the calls
 * between its six parts: run_cuda.c has memory, reading and slabs, run_times_cuda.c times the
 * stages and fills the profile, run_iterations_cuda.c reports how far they are, run_half_cuda.c
 * rounds outputs, run_encode_cuda.c compresses them on the device, and run_write_cuda.c brings them
 * to the writer. Only these files include it, and they are built only with CUDA.
 */
#ifndef PIPELINE_RUN_RUN_CUDA_H
#define PIPELINE_RUN_RUN_CUDA_H

#include "cuda/device/driver.h"
#include "cuda/device/launch.h"
#include "pipeline/plan/plan_encode.h"
#include "pipeline/run/run.h"

/* Pinned memory that one direction of copies goes through, piece after piece. */
struct staging {
    unsigned char *memory; /* of all pieces */
    unsigned char *pieces[PLAN_PIECES];
    struct cuda_event *started[PLAN_PIECES], *copied[PLAN_PIECES];
    int64_t n_used;            /* pieces that were used so far; they go round */
    size_t bytes[PLAN_PIECES]; /* copied through each piece; the profile has not counted them yet */
};

/* An encoded chunk: `offset` counts from the start of its call's output, which lies at `call` in
 * encoded[]. */
struct encoded_chunk {
    size_t call;
    const struct cuda_deflate_place *place; /* in pinned memory; known when the slab is computed */
};

/* Compresses one output on the device. Each slab of the ring has its own encoded chunks. */
struct encoder {
    struct plan_encode plan;
    unsigned char *values; /* on the device: slices that wait for their chunk to be whole, then
                              those of a slab */
    size_t left, filled;   /* those that wait begin at `left`; their bytes */
    struct cuda_event
        *ready; /* the slab's values are there, and those that waited before it were brought */
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
    struct ts_image slices; /* on the device; those that no piece has been asked for yet */
    const struct encoder
        *encoder; /* NULL: values. Else chunks [first, end) of the slab's, without such a piece */
    int64_t first, end;
};

/* A piece on its way to the writer. */
struct arrival {
    int64_t slab_number;
    int32_t node;
    struct ts_image slices; /* in pinned memory */
    const struct encoder
        *encoder; /* NULL: values. Else chunks [first, end) of the slab's, in slices.data */
    int64_t first, end;
    bool last; /* it ends the output's slab */
};

/* Work in the queue CUDA_COMPUTE, between two points. The events are created when they are first
 * used. */
struct timed_call {
    struct cuda_event *began, *ended;
    int32_t node; /* the stage that does it; -1: it is no stage's */
    size_t bytes; /* that a stage made or reduced */
};
enum { TIMED_CALLS = 256 };

/* A call of map() whose kernels report iterations, and how far the walk was when it enqueued
 * them. */
struct iterating_call {
    int64_t number; /* of all calls, from 1 */
    struct run_position at;
};

/* What the kernels have reported, and who looks at it. */
struct iterations {
    struct run *run;                 /* whose device at hand changes meanwhile */
    struct cuda_reporting reporting; /* progress NULL: no stage iterates, or nobody asks */
    pthread_mutex_t lock; /* of all members but reporting.progress, which kernels write */
    pthread_cond_t ending;
    pthread_t thread;
    bool watched, end;
    struct cuda_progress_record reported;
    struct iterating_call calls[TIMED_CALLS]; /* by number; they go round, as device.calls does */
};

struct device {
    struct cuda_opening *opening; /* until the session is created */
    struct cuda_session *session;
    void *padded;               /* shared by the drivers */
    struct cuda_event *reached; /* what another device waits for */
    struct cuda_event *uploaded, *computed[PLAN_RING];
    struct cuda_event *origin; /* the profile's times on the device count from here */
    double origin_seconds;
    struct staging up, down;
    size_t up_bytes, down_bytes; /* sizes of a piece of `up` and `down` */
    struct encoder **encoders;   /* one for each node; NULL: its output is not compressed here */
    void *encode_scratch;        /* shared by the encoders */
    unsigned char *
        *halves; /* one for each node: the ring's slabs of its output, rounded; NULL: it has none */
    uint32_t
        *largest; /* on the device, for each node: ts_cuda_half_round's; NULL: nothing is rounded */
    uint32_t *found_largest;    /* the same in pinned memory */
    struct download *downloads; /* a ring, oldest first */
    int n_downloads, first_download, most_downloads;
    struct arrival arrivals[PLAN_PIECES]; /* by place of their piece */
    int64_t n_arrived;                    /* pieces that went to the writer, out of down.n_used */
    int64_t slabs_ended; /* the slabs before this number have all kernels in their queue */
    struct timed_call calls[TIMED_CALLS]; /* they go round */
    int64_t n_calls, n_added; /* calls that ended, and those whose time their node has */
    struct iterations iterations;
};

/* Returns the place of a slab of the device at hand, or of another one, in its ring. */
static inline int ts_run_cuda_place(const struct run *run, int64_t slab_number)
{
    return (int)(ts_run_turn(run, slab_number) % PLAN_RING);
}

/* Marks the time that the device's clock is compared with, where the run has a profile. */
enum ts_status ts_run_cuda_begin_profile(struct run *run);
/* Adds what a copy through a piece did to the profile; the copy must be over. */
enum ts_status ts_run_cuda_trace_piece(struct run *run, enum trace_part part,
                                       struct staging *staging, int place);

/* Time the calls of stages, as run_back_end.begin_call and end_call; and other work, for the
 * profile (node -1). */
enum ts_status ts_run_cuda_begin_call(struct run *run, int32_t node);
enum ts_status ts_run_cuda_end_call(struct run *run, const struct ts_image *made);
/* Adds the times of all calls to their nodes and to the profile. Waits for the calls. */
enum ts_status ts_run_cuda_add_times(struct run *run);

/* Starts and ends the reporting of iterations, where the caller asks for events and a stage
 * iterates. */
enum ts_status ts_run_cuda_watch(struct run *run);
void ts_run_cuda_watch_end(struct run *run);
/* Notes that call `number` of a node comes to be enqueued. */
void ts_run_cuda_iterating(struct run *run, int32_t node, int64_t number);
/* Reports the latest iteration, so that none comes after what its caller reports. */
void ts_run_cuda_report_iterations(struct run *run);

/* Allocates the encoder of a node. Leaves NULL where its output leaves the device as values, and
 * for other nodes. */
enum ts_status ts_run_cuda_encoder_create(struct run *run, int32_t node);
void ts_run_cuda_encoder_destroy(struct encoder *encoder);
/* Enqueues the compression of all chunks that these slices make whole. Returns how many they are in
 * *n. */
enum ts_status ts_run_cuda_encode(struct run *run, int32_t node, const struct ts_image *slices,
                                  int64_t *n);

/* Allocates what rounding outputs to halves needs, beside the encoders. */
enum ts_status ts_run_cuda_half_create(struct run *run);
/* Enqueues bringing slices of an output to `to` on the device, as the file holds them: rounded to
 * halves, or copied. Returns in *bytes how many they are there. */
enum ts_status ts_run_cuda_leave(struct run *run, int32_t node, const struct ts_image *slices,
                                 void *to, size_t *bytes);
/* Rounds slices to the slab's halves, and changes *slices to these; slices that leave as they are
 * stay. */
enum ts_status ts_run_cuda_half(struct run *run, int32_t node, struct ts_image *slices);
/* Tells the writer which values halves could not hold. Waits for the device. */
enum ts_status ts_run_cuda_half_report(struct run *run);

/* Notes an output's slab for download, as run_back_end.write. */
enum ts_status ts_run_cuda_write(struct run *run, int32_t node, const struct ts_image *slices);
/* Keeps the downloads of computed slabs moving on all devices, and hands to the writer what has
 * arrived, in the slabs' order. It waits for the slabs up to this one, and for no other: while the
 * writer is full the next slab is read. Where there are several ranks, no later slab is handed
 * over. */
enum ts_status ts_run_cuda_move(struct run *run, int64_t slab_number);

#endif
