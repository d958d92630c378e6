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
    PREDICT_START, /* process, plan, headers, workers; on a device also its start */
    PREDICT_FETCH, /* what the file system gives to all ranks, where its speed is known */
    PREDICT_READ,
    PREDICT_DECODE, /* input that is compressed */
    PREDICT_UPLOAD,
    PREDICT_STAGES,
    PREDICT_COMPRESS, /* on a device, where that compresses; without compression the checksums */
    PREDICT_DOWNLOAD,
    PREDICT_GATHER, /* rank 0 receives the slices of the others */
    PREDICT_DIGEST, /* SHA-256 of input and output */
    PREDICT_PROVE,  /* chunks are decoded and compared before they are written */
    PREDICT_STORE,  /* what threads do for writing: chunks are copied to the page cache, and read
                       back */
    PREDICT_WRITE,  /* what the disk does */
    PREDICT_SYNC,   /* the last fsync, after the last slab */
    PREDICT_PARTS
};

/* Several parts share each of these. */
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
    double seconds; /* of this part alone, with all threads */
    double bytes;   /* of values; written: of what is assumed to be left of them. 0: not counted */
};

struct prediction {
    double seconds; /* of the whole run */
    struct predict_part_time parts[PREDICT_PARTS];
    enum predict_lane
        bound; /* the resource that sets the pace for longest; LANE_ALONE: the start */
    double bound_seconds;
    double ratio; /* assumed share of the output's bytes that compression leaves; 1 without it */
    double *stage_seconds;  /* per node, part of PREDICT_STAGES; the plan's arena owns them */
    const char *no_rate_of; /* a stage whose rate is not known, for which PREDICT_BYTES_A_SECOND is
                               assumed; NULL: none */
};

/* The rate that is assumed of a stage that was not measured, on the CPU and on a device. */
#define PREDICT_BYTES_A_SECOND 1e9
#define PREDICT_CUDA_BYTES_A_SECOND 1e12

/* This connects the ranks with one another and with the file system. Speeds are in bytes a second;
 * INFINITY: it is never waited for. */
struct predict_links {
    int on_node;           /* ranks of the node of rank 0 */
    double crowd;          /* their threads for each processor of the node, at least 1 */
    double launch_seconds; /* in which several ranks are started */
    double read;           /* what the file system gives to all ranks together */
    double exchange;       /* what rank 0 receives from ranks of its node */
    double network;        /* what it receives from those of other nodes */
};

/* Predicts the plan's run on all of its ranks. `links` NULL: the plan has one rank, or the links
 * are never waited for, and the input lies in the page cache. TS_RUN_FAILED (code rates-foreign)
 * where the plan is for a device that the rates are not of; where memory is out, no-memory. */
enum ts_status ts_predict(const struct ts_plan *plan, const struct rates *rates,
                          const struct predict_links *links, struct prediction *prediction,
                          struct ts_diag *diag);
/* Returns "read", "stages", ... */
const char *ts_predict_part_name(enum predict_part part);
/* Writes what bounds the run: "bound by writing (1.4 s)". */
void ts_predict_bound_text(const struct ts_plan *plan, const struct prediction *prediction,
                           char *text, size_t size);

#endif
