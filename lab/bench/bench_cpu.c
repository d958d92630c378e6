/* SPDX-License-Identifier: Apache-2.0
 *
 * Times a subject on the CPU: medians of several runs beside memcpy of the same image in the same
 * run. Scratch, results and padding are made outside the time taken.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/timing.h"
#include "lab/bench/bench_ring.h"

enum { MAX_RUNS = 101, LEAST_RUNS = 5 };
static const double run_seconds = 0.25;

/* Returns the processor time for one thread, which other programs do not lengthen, and wall time
 * for several. */
static double now(int threads)
{
    return threads == 1 ? ts_thread_seconds() : ts_seconds();
}

/* Takes the ring's memory and fills its input; the slices of the halo repeat the first one. */
static enum ts_status fill_ring(struct bench_ring *ring, const struct bench_case *which,
                                struct ts_diag *diag)
{
    size_t bytes = ring->input_bytes;
    ring->inputs = ts_memory_aligned(ring->input_bytes);
    bool complete = ring->inputs != NULL;
    for (int i = 0; i < ring->n; i++) {
        ring->outputs[i] = ts_memory_aligned(ring->output_bytes[i]);
        complete = complete && ring->outputs[i];
        bytes += ring->output_bytes[i];
    }
    if (!complete)
        return ts_diag_no_memory(diag, bytes);
    struct ts_image in = ts_bench_ring_input(ring, 0);
    const size_t slice = ts_slice_bytes(&in);
    ts_bench_fill(which, &in);
    for (int64_t z = 0; z < ring->halo; z++) {
        memcpy(ring->inputs + (size_t)z * slice, in.data, slice);
        memcpy(ring->inputs + (size_t)(ring->halo + in.axes[0].n + z) * slice, in.data, slice);
    }
    return TS_OK;
}

static enum ts_status run_once(struct bench_ring *ring, int threads, double *seconds)
{
    enum ts_status status = ts_bench_ring_restart(ring);
    const double start = now(threads);
    if (status == TS_OK)
        status = ts_bench_ring_run(ring, 0);
    if (status == TS_OK)
        status = ts_bench_ring_finish(ring);
    *seconds = now(threads) - start;
    return status;
}

static double copy_once(const struct ts_image *in, char *copy, int threads)
{
    const size_t bytes = ts_image_bytes(in);
    const double start = now(threads);
#pragma omp parallel for num_threads(threads)
    for (int part = 0; part < threads; part++) {
        const size_t first = bytes * (size_t)part / (size_t)threads,
                     end = bytes * (size_t)(part + 1) / (size_t)threads;
        memcpy(copy + first, (const char *)in->data + first, end - first);
    }
    return now(threads) - start;
}

/* `copy` is memory for the input once more. */
static enum ts_status time_runs(struct bench_ring *ring, char *copy, int runs,
                                struct bench_row *row)
{
    const struct ts_image in = ts_bench_ring_input(ring, 0);
    const int most = runs > 0 && runs < MAX_RUNS ? runs : MAX_RUNS;
    double seconds[MAX_RUNS], copy_seconds[MAX_RUNS], spent = 0;
    enum ts_status status =
        run_once(ring, row->threads, &row->cold_seconds); /* warms caches, pages and threads */
    int n = 0;
    copy_once(&in, copy, row->threads);
    for (; status == TS_OK && n < most && (runs > 0 || n < LEAST_RUNS || spent <= run_seconds);
         n++) {
        status = run_once(ring, row->threads, &seconds[n]);
        copy_seconds[n] = copy_once(&in, copy, row->threads);
        spent += seconds[n] + copy_seconds[n];
    }
    if (status != TS_OK)
        return status;
    row->seconds = ts_median(seconds, n);
    ts_range_of_times(seconds, n, &row->fastest, &row->slowest);
    row->spread = ts_spread(seconds, n);
    row->ceiling_rate = ring->n == 1 ? 2 * (double)ts_image_bytes(&in) / ts_median(copy_seconds, n)
                                     : (double)NAN; /* a single slice stays in the caches */
    return TS_OK;
}

enum ts_status ts_bench_cpu(const struct bench_case *cases, int n, int threads, int runs,
                            struct ts_diag *diag, struct bench_row *row)
{
    struct bench_ring ring;
    char *copy = NULL;
    enum ts_status status = ts_bench_ring_init(&ring, cases, n, threads, NULL, diag);
    if (status == TS_OK)
        status = fill_ring(&ring, cases, diag);
    for (int i = 0; status == TS_OK && i < n; i++)
        status =
            ts_driver_create(&ring.stages[i].context, ts_stage_most_slices(&ring.stages[i].context),
                             NULL, &ring.drivers[i]);
    if (status == TS_OK) {
        copy = ts_memory_aligned(ring.input_bytes);
        status = copy ? TS_OK : ts_diag_no_memory(diag, ring.input_bytes);
    }
    if (status == TS_OK) {
        ts_bench_describe(row, ring.stages, n);
        row->threads = threads;
        row->ceiling = BENCH_MEMCPY;
        status = time_runs(&ring, copy, runs, row);
    }
    free(copy);
    free(ring.inputs);
    for (int i = 0; i < n; i++)
        free(ring.outputs[i]);
    ts_bench_ring_clear(&ring);
    return status;
}
