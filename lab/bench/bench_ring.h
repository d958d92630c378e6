/* SPDX-License-Identifier: Apache-2.0
 *
 * A bench_ring is a subject of the benchmark that is ready to run on one device: the drivers of its
 * stages, and a ring of inputs with as many results. Each run uses the next set of the ring, so
 * that on a device no run finds its data in a cache. Memory of the ring lies where the device has
 * its images; bench_cpu.c and bench_cuda.c allocate it, fill it and time the runs.
 */
#ifndef LAB_BENCH_BENCH_RING_H
#define LAB_BENCH_BENCH_RING_H

#include "lab/bench/bench.h"
#include "stages/engine/driver.h"

/* The first of its stages reads inputs that have the slices of their halo around them, so that
 * padding is not timed; the stages after it look at single slices. */
struct bench_ring {
    struct bench_stage stages[BENCH_STAGES];
    struct stage_driver *drivers[BENCH_STAGES];
    int n;        /* stages */
    int64_t halo; /* slices before and after an input */
    size_t input_bytes, output_bytes[BENCH_STAGES];
    int n_sets;
    unsigned char *inputs,
        *outputs[BENCH_STAGES]; /* n_sets of each; a stage that only reads has no output */
};

/* Prepares the stages of the n cases and works out the sizes of one set. Needs ts_bench_ring_clear
 * whatever it returns. */
enum ts_status ts_bench_ring_init(struct bench_ring *ring, const struct bench_case *cases, int n,
                                  int threads, const struct device_numbers *device,
                                  struct ts_diag *diag);
/* Destroys the drivers and the stages' parameters, but not the ring's memory. */
void ts_bench_ring_clear(struct bench_ring *ring);

/* Returns the input of a set, without its halo. */
struct ts_image ts_bench_ring_input(const struct bench_ring *ring, int set);
/* Makes all drivers ready for another run. */
enum ts_status ts_bench_ring_restart(struct bench_ring *ring);
/* Runs all stages on a set. The table of a stage in a chain whose result no other stage waits for
 * is left to ts_bench_ring_finish(), so that the host's part of it can follow behind the chain. */
enum ts_status ts_bench_ring_run(struct bench_ring *ring, int set);
enum ts_status ts_bench_ring_finish(struct bench_ring *ring);

#endif
