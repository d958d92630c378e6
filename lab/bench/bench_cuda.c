/* SPDX-License-Identifier: Apache-2.0
 *
 * Times a subject on a CUDA device: medians of runs on images that lie there. The time of the
 * kernels comes from events around each stretch of work. A delay goes before each run, so that its
 * kernels follow one another without waiting for the host; the total, with the host's part of a
 * reduction, is measured in runs of its own, without it. Rates are compared with reading for a
 * stage that only counts, with bilinear texture fetches for a projection, and with copying for all
 * else.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "core/timing.h"
#include "cuda/device/driver.h"
#include "lab/bench/bench_ring.h"

enum {
    MAX_RUNS = 101,
    USUAL_RUNS = 30,
    LEAST_RUNS = 5,
    WARM_UPS = 2,
    TOTAL_RUNS = 5,
    MAX_SETS = 64
};
static const double run_seconds = 0.33;
/* Slices that are made; the device repeats them. A stage that takes longer than slow_seconds is
 * timed on a sixteenth of the slices, again and again. */
enum { BLOCK_SLICES = 16, SHRINK = 16 };
static const double slow_seconds = 0.06;

struct cuda_bench {
    struct cuda_session *session;
    struct ts_diag *diag;
    struct bench_ring ring;
    struct cuda_timer timer;
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* Takes the ring: for a stage as many sets as 1 GiB or half the memory hold, for a chain on a
 * single slice one. */
static enum ts_status allocate_ring(struct cuda_bench *bench)
{
    struct bench_ring *ring = &bench->ring;
    const size_t memory = ts_cuda_session_device(bench->session)->memory_bytes,
                 gib = (size_t)1 << 30;
    const size_t most = memory / 2 < gib ? memory / 2 : gib;
    size_t set = ring->input_bytes;
    for (int i = 0; i < ring->n; i++)
        set += ring->output_bytes[i];
    const size_t sets = ring->n == 1 ? (most + set - 1) / set : 1;
    ring->n_sets = sets > MAX_SETS ? MAX_SETS : (int)sets;
    ring->inputs = ts_cuda_allocate(bench->session, ring->input_bytes * (size_t)ring->n_sets);
    bool complete = ring->inputs != NULL;
    for (int i = 0; complete && i < ring->n; i++)
        complete = (ring->outputs[i] = ts_cuda_allocate(
                        bench->session, ring->output_bytes[i] * (size_t)ring->n_sets)) != NULL;
    for (int i = 0; complete && i < CUDA_TIMER_EVENTS; i++)
        complete = (bench->timer.events[i] = ts_cuda_event_create(bench->session)) != NULL;
    return complete ? TS_OK : TS_RUN_FAILED;
}

/* Fills all inputs with the first slices of the case's image, again and again. */
static enum ts_status fill_ring(struct cuda_bench *bench, const struct bench_case *which)
{
    struct bench_case first = *which;
    first.nz = which->nz < BLOCK_SLICES ? which->nz : BLOCK_SLICES;
    struct ts_image block = ts_bench_image(&first);
    unsigned char *inputs = bench->ring.inputs;
    const size_t all = bench->ring.input_bytes * (size_t)bench->ring.n_sets,
                 bytes = ts_image_bytes(&block);
    if (!block.data)
        return ts_diag_no_memory(bench->diag, bytes);
    enum ts_status status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_DEVICE, inputs,
                                         block.data, bytes < all ? bytes : all);
    for (size_t done = bytes; status == TS_OK && done < all; done += bytes)
        status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_ON_DEVICE, inputs + done, inputs,
                              all - done < bytes ? all - done : bytes);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    free(block.data);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* A chain is timed as a whole, and a stage in the stretches of work that it puts on the device. */
static enum ts_status mark_chain(struct cuda_bench *bench, bool total)
{
    if (bench->ring.n == 1 || total)
        return TS_OK;
    return ts_cuda_event_record(bench->session, bench->timer.events[bench->timer.n++],
                                CUDA_COMPUTE);
}

/* Measures the kernels' seconds of one run, or, without a delay before it, those from its first
 * call to its end. */
static enum ts_status time_run(struct cuda_bench *bench, int set, bool total, double *seconds)
{
    enum ts_status status;
    bench->timer.n = 0;
    for (int i = 0; i < bench->ring.n; i++)
        ts_cuda_driver_time(bench->ring.drivers[i],
                            total || bench->ring.n > 1 ? NULL : &bench->timer);
    status = ts_bench_ring_restart(&bench->ring);
    if (status == TS_OK && !total)
        status = ts_cuda_delay(bench->session, bench->diag);
    if (status == TS_OK && total)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    const double start = ts_seconds();
    if (status == TS_OK)
        status = mark_chain(bench, total);
    if (status == TS_OK)
        status = ts_bench_ring_run(&bench->ring, set);
    if (status == TS_OK)
        status = mark_chain(bench, total);
    if (status == TS_OK)
        status = ts_bench_ring_finish(&bench->ring);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    *seconds = total ? ts_seconds() - start : 0;
    for (int i = 0; status == TS_OK && i + 1 < bench->timer.n; i += 2) {
        float ms = 0;
        status = ts_cuda_elapsed_ms(bench->session, bench->timer.events[i],
                                    bench->timer.events[i + 1], &ms);
        *seconds += 1e-3 * (double)ms;
    }
    return status;
}

static enum ts_status time_runs(struct cuda_bench *bench, int runs, struct bench_row *row)
{
    double seconds[MAX_RUNS], totals[TOTAL_RUNS], warm;
    enum ts_status status = TS_OK;
    int n = 0, set = 0;
    const int most = runs > 0 ? (runs < MAX_RUNS ? runs : MAX_RUNS) : USUAL_RUNS;
    const int n_warm = most > WARM_UPS ? WARM_UPS : most - 1,
              n_totals = most < TOTAL_RUNS ? most : TOTAL_RUNS;
    for (int i = 0; status == TS_OK && i < n_warm; i++)
        status = time_run(bench, set++ % bench->ring.n_sets, false, &warm);
    for (double start = ts_seconds(); status == TS_OK && n < most; n++) {
        if (runs <= 0 && n >= LEAST_RUNS && ts_seconds() - start > run_seconds)
            break;
        status = time_run(bench, set++ % bench->ring.n_sets, false, &seconds[n]);
    }
    for (int i = 0; status == TS_OK && i < n_totals; i++)
        status = time_run(bench, set++ % bench->ring.n_sets, true, &totals[i]);
    if (status != TS_OK)
        return status;
    row->seconds = ts_median(seconds, n);
    ts_range_of_times(seconds, n, &row->fastest, &row->slowest);
    row->spread = ts_spread(seconds, n);
    row->total_seconds = ts_median(totals, n_totals);
    return TS_OK;
}

/* Does the first run, with the drivers that it needs. */
static enum ts_status run_cold(struct cuda_bench *bench, double *seconds)
{
    struct bench_ring *ring = &bench->ring;
    const double start = ts_seconds();
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < ring->n; i++) {
        const struct stage_context *context = &ring->stages[i].context;
        status = ts_cuda_driver_create(bench->session, context, ts_stage_most_slices(context), NULL,
                                       &ring->drivers[i]);
    }
    if (status == TS_OK)
        status = ts_bench_ring_run(ring, 0);
    if (status == TS_OK)
        status = ts_bench_ring_finish(ring);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    *seconds = ts_seconds() - start;
    return status;
}

/* ---- subjects -------------------------------------------------------------------------------- */

static bool has_cuda(const struct stage *stage)
{
    const struct stage_cuda *cuda = stage->cuda;
    return cuda && (!stage->map || cuda->map) && (!stage->reduction || cuda->reduction);
}

/* Times the subject on the slices of its cases, unless the first run and one after it both take
 * more than `longest` seconds: then *timed is false. */
static enum ts_status time_subject(const struct bench_case *cases, int n,
                                   const struct device_numbers *device, double longest, int runs,
                                   struct ts_diag *diag, struct bench_row *row, bool *timed)
{
    struct cuda_bench bench = {.diag = diag};
    double warm_seconds = 0;
    /* All threads take part in what is left to the host, as they do in a run; a single slice is not
     * worth them. */
    enum ts_status status =
        ts_bench_ring_init(&bench.ring, cases, n, n == 1 ? omp_get_max_threads() : 1, device, diag);
    if (status == TS_OK)
        status = ts_cuda_session_create(device, 0, diag, &bench.session);
    if (status == TS_OK)
        status = allocate_ring(&bench);
    if (status == TS_OK)
        status = fill_ring(&bench, cases);
    if (status == TS_OK) {
        ts_bench_describe(row, bench.ring.stages, n);
        row->device = device->name;
        status = run_cold(&bench, &row->cold_seconds);
    }
    if (status == TS_OK && row->cold_seconds > longest)
        status = time_run(&bench, 0, false,
                          &warm_seconds); /* the first run may have included the start */
    *timed = status == TS_OK && warm_seconds <= longest;
    if (*timed)
        status = time_runs(&bench, runs, row);
    ts_bench_ring_clear(&bench.ring);
    ts_cuda_session_destroy(bench.session);
    return status;
}

enum ts_status ts_bench_cuda(const struct bench_case *cases, int n, bool may_shrink,
                             const struct device_numbers *device,
                             const struct cuda_ceilings *ceilings, int runs, struct ts_diag *diag,
                             struct bench_row *row)
{
    struct bench_case sized[BENCH_STAGES];
    const struct stage *stage = cases[0].stage;
    bool timed = false;
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++) {
        sized[i] = cases[i];
        if (!has_cuda(cases[i].stage))
            status = ts_diag_error(
                diag, TS_BAD_CHAIN,
                &(struct diag_site){.code = "no-benchmark", .stage = cases[i].stage->name},
                "it has no CUDA code%s%s", cases[i].stage->cpu_only ? ": " : "",
                cases[i].stage->cpu_only ? cases[i].stage->cpu_only : "");
    }
    while (status == TS_OK && !timed) {
        const bool last = !may_shrink || sized->nz <= SHRINK;
        status = time_subject(sized, n, device, last ? (double)INFINITY : slow_seconds, runs, diag,
                              row, &timed);
        sized->nz = sized->nz > SHRINK ? sized->nz / SHRINK : 1;
    }
    if (status != TS_OK)
        return status;
    row->ceiling = n > 1 || (stage->map && !(row->samples > 0)) ? BENCH_COPY
                   : row->samples > 0                           ? BENCH_TEXTURE
                                                                : BENCH_READ;
    row->ceiling_rate = n > 1 ? (double)NAN /* a single slice stays in the caches */
                        : row->ceiling == BENCH_COPY    ? ceilings->copy
                        : row->ceiling == BENCH_TEXTURE ? ceilings->texture
                                                        : ceilings->read;
    return TS_OK;
}

enum ts_status ts_bench_ceilings(const struct device_numbers *device, struct ts_diag *diag,
                                 struct cuda_ceilings *ceilings)
{
    struct cuda_session *session = NULL;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &session);
    if (status == TS_OK)
        status = ts_cuda_ceilings_measure(session, diag, ceilings);
    ts_cuda_session_destroy(session);
    return status;
}
