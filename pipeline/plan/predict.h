/* SPDX-License-Identifier: Apache-2.0
 *
 * This predicts how long a plan will run, and which part of it will bound the run, from the rates
 * of a machine. The plan says what is done in each pass and slab; the rates say how fast. Parts
 * that use the same resource follow one another, and resources work side by side: in each pass the
 * busiest one sets the pace, and the others add the time of a single slab, which is how long the
 * pace-setter waits for the first slab, or the run for the last.
 *
 *     total = start + sum over passes (busiest + sum of the others / slabs) + sync
 *
 * Several ranks compute their slabs side by side, and the slowest of them sets their pace. Rank 0
 * writes what all of them compute, on the processors of its node, so that its node is the one that
 * is predicted. On CUDA devices each rank has one, which compresses what it computes.
 *
 * Nothing here asks the machine anything: a plan and rates of another machine give that machine's
 * prediction.
 */
#ifndef PIPELINE_PLAN_PREDICT_H
#define PIPELINE_PLAN_PREDICT_H

#include "pipeline/plan/plan.h"
#include "pipeline/rates/rates.h"

/* The parts of a run, in the order in which data pass through them. */
enum predict_part {
    /* start of the process, plan, headers and workers; also of the device, if there is one */
    PREDICT_START,
    PREDICT_FETCH, /* reading of all ranks from the file system, if its speed is known */
    PREDICT_READ,
    PREDICT_DECODE, /* decoding of compressed input */
    PREDICT_UPLOAD,
    PREDICT_STAGES,
    /* compression, on the device if it compresses; without compression only checksums */
    PREDICT_COMPRESS,
    PREDICT_DOWNLOAD,
    PREDICT_GATHER, /* rank 0 receives the slices of the other ranks */
    PREDICT_DIGEST, /* SHA-256 of input and output */
    PREDICT_PROVE,  /* chunks are decoded and compared before they are written */
    PREDICT_STORE,  /* what threads do for writing: chunks are copied to the page cache, and read
                       back */
    PREDICT_WRITE,  /* what the disk does */
    PREDICT_SYNC,   /* the last fsync, after the last slab */
    PREDICT_PARTS
};

/* The resources that parts share; parts of one lane follow one another. */
enum predict_lane {
    LANE_ALONE, /* nothing else goes on meanwhile */
    LANE_THREADS,
    LANE_UPLOAD,
    LANE_DEVICE,
    LANE_DOWNLOAD,
    LANE_DISK,
    LANE_SOURCE, /* the file system's reading */
    LANE_GATHER,
    PREDICT_LANES
};

struct predict_part_time {
    double seconds; /* seconds of this part if it used all threads and nothing else ran */
    /* bytes of values; of written ones, what compression is assumed to leave. 0: not counted */
    double bytes;
};

struct prediction {
    double seconds; /* of the whole run */
    struct predict_part_time parts[PREDICT_PARTS];
    enum predict_lane
        bound; /* the lane that sets the pace for the longest time; LANE_ALONE: the start */
    double bound_seconds;
    /* share of the output's bytes that compression is assumed to leave; 1 without compression */
    double ratio;
    /* seconds of each node in part PREDICT_STAGES; the plan's arena owns them */
    double *stage_seconds;
    double *pass_seconds;   /* of each pass, of all volumes; the plan's arena owns them */
    const char *no_rate_of; /* a stage whose rate is not known, for which PREDICT_BYTES_A_SECOND is
                               assumed; NULL: none */
};

/* The rate, in bytes a second, that is assumed of a stage that was not measured: on the CPU and on
   a device. */
#define PREDICT_BYTES_A_SECOND 1e9
#define PREDICT_CUDA_BYTES_A_SECOND 1e12

/* How fast ranks exchange data with one another and with the file system. Speeds are in bytes a
   second; INFINITY: it is never waited for. */
struct predict_links {
    int on_node;           /* ranks of the node of rank 0 */
    double crowd;          /* threads of its ranks for each processor of the node, at least 1 */
    double launch_seconds; /* seconds in which several ranks are started */
    double read;           /* from the file system to all ranks together */
    double exchange;       /* from the ranks of its own node to rank 0 */
    double network;        /* from those of other nodes to rank 0 */
};

/* Predicts the plan's run on all of its ranks. `links` is NULL if the plan has one rank or never
   waits for the links; the input is then assumed in the page cache. TS_RUN_FAILED: the rates are
   not of the plan's device (code rates-foreign), or memory is out (no-memory). */
enum ts_status ts_predict(const struct ts_plan *plan, const struct rates *rates,
                          const struct predict_links *links, struct prediction *prediction,
                          struct ts_diag *diag);
/* Returns the word for a part: "read", "stages", ... */
const char *ts_predict_part_name(enum predict_part part);
/* Writes what bounds the run: "bound by writing (1.4 s)". */
void ts_predict_bound_text(const struct ts_plan *plan, const struct prediction *prediction,
                           char *text, size_t size);

#endif
