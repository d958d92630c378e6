/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases on a CUDA device, and the ceilings that they are compared with: reading for what only counts, bilinear texture
 * fetches for projections, copying for all else.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "cuda/bench/bench.h"
#include "pipeline/bench/bench.h"

/* Slices that are made; the device repeats them. A stage that takes longer than slow_seconds is timed on a sixteenth of
 * the slices, again and again. */
enum { BLOCK_SLICES = 16, SHRINK = 16 };
static const double slow_seconds = 0.06;

static bool has_cuda(const struct stage *stage)
{
    const struct stage_cuda *cuda = stage->cuda;
    return cuda && (!stage->map || cuda->map) && (!stage->reduction || cuda->reduction);
}

static enum ts_status refuse(const struct bench_case *which, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-benchmark", .stage = which->stage->name},
                         "it has no CUDA code");
}

static struct ts_image block_of(const struct bench_case *which)
{
    struct bench_case block = *which;
    block.nz = which->nz < BLOCK_SLICES ? which->nz : BLOCK_SLICES;
    return ts_bench_image(&block);
}

/* Times the subject once, with as many slices as its cases say. *timed: it did not take longer than `longest` seconds.
 */
static enum ts_status time_subject(const struct bench_case *cases, int n, const struct device_numbers *device,
                                   double longest, int runs, struct ts_diag *diag, struct bench_row *row, bool *timed)
{
    struct bench_stage ready[CUDA_BENCH_STAGES] = {0};
    struct stage_context *contexts[CUDA_BENCH_STAGES];
    struct cuda_bench_times times = {0};
    struct ts_image block = {0};
    enum ts_status status = TS_OK;
    const struct ts_image *in = NULL;
    for (int i = 0; status == TS_OK && i < n; i++) {
        contexts[i] = &ready[i].context;
        /* As in a run, all threads take part in what is left to the host; a single slice is not worth them. */
        status = ts_bench_prepare(&ready[i], &cases[i], in, n == 1 ? omp_get_max_threads() : 1, device, diag);
        in = cases[i].stage->map ? &ready[i].context.out : &ready[i].in;
    }
    if (status == TS_OK) {
        block = block_of(&cases[0]);
        status = block.data ? TS_OK : ts_diag_no_memory(diag, ts_image_bytes(&block));
    }
    if (status == TS_OK)
        status = ts_cuda_bench(contexts, n, &block, n == 1, longest, runs, diag, &times);
    if (status == TS_OK) {
        ts_bench_describe(row, ready, n);
        row->device = device->name;
        row->seconds = times.seconds;
        row->spread = times.spread;
        row->total_seconds = times.total_seconds;
        row->cold_seconds = times.cold_seconds;
    }
    *timed = times.runs > 0;
    free(block.data);
    for (int i = 0; i < n; i++)
        ts_bench_stage_clear(&ready[i]);
    return status;
}

enum ts_status ts_bench_cuda(const struct bench_case *cases, int n, bool may_shrink,
                             const struct device_numbers *device, const struct cuda_ceilings *ceilings, int runs,
                             struct ts_diag *diag, struct bench_row *row)
{
    struct bench_case sized[CUDA_BENCH_STAGES];
    const struct stage *stage = cases[0].stage;
    bool timed = false;
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++) {
        sized[i] = cases[i];
        status = has_cuda(cases[i].stage) ? TS_OK : refuse(&cases[i], diag);
    }
    while (status == TS_OK && !timed) {
        const bool last = !may_shrink || sized->nz <= SHRINK;
        status = time_subject(sized, n, device, last ? (double)INFINITY : slow_seconds, runs, diag, row, &timed);
        sized->nz = sized->nz > SHRINK ? sized->nz / SHRINK : 1;
    }
    if (status != TS_OK)
        return status;
    row->ceiling = n > 1 || (stage->map && !(row->samples > 0)) ? BENCH_COPY
                   : row->samples > 0                           ? BENCH_TEXTURE
                                                                : BENCH_READ;
    row->ceiling_rate = n > 1                           ? (double)NAN /* a single slice stays in the caches */
                        : row->ceiling == BENCH_COPY    ? ceilings->copy
                        : row->ceiling == BENCH_TEXTURE ? ceilings->texture
                                                        : ceilings->read;
    return TS_OK;
}
