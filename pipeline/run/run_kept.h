/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run keeps for the next execution of the same run: its memory, since that of images takes
 * long to get and to pin.
 */
#ifndef PIPELINE_RUN_RUN_KEPT_H
#define PIPELINE_RUN_RUN_KEPT_H

#include "core/memory.h"
#include "cuda/device/session.h"
#include "pipeline/plan/plan.h"

/* The pieces of one direction of a device (pipeline/run/run_cuda.h), mapped memory that
   `devices` has pinned. NULL: not mapped yet. */
struct kept_staging {
    void *memory;
    size_t bytes;
};

struct run_captured; /* what a graph uses (pipeline/run/run_capture_cuda.c) */

struct run_kept {
    bool executed;                             /* a run has succeeded with it */
    struct run_captured *captured;             /* a list of all; NULL: none */
    struct memory_pool host;                   /* of the CPU's images */
    struct cuda_memory *devices[PLAN_DEVICES]; /* NULL: not used yet */
    struct kept_staging staging[PLAN_DEVICES][2];
};

/* Returns the pool of a run's memory on the host, or NULL if the run keeps nothing. */
static inline struct memory_pool *ts_run_pool(const struct run_options *options)
{
    return options->kept ? &options->kept->host : NULL;
}

/* Frees everything, which no run uses. A zeroed struct has nothing. */
void ts_run_kept_clear(struct run_kept *kept);
#ifdef TS_HAVE_CUDA
/* Frees what graphs use, which are not launched any more. NULL does nothing. */
void ts_run_captured_destroy(struct run_captured *captured);
#endif

#endif
