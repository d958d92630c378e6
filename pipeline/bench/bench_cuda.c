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

/* So many slices are made; the device repeats them. */
enum { BLOCK_SLICES = 16, SHRINK = 16 };
/* What takes longer is timed on a sixteenth of the slices, again and again. */
static const double slow_seconds = 0.06;

static bool has_cuda(const struct stage *stage)
{
    const struct stage_cuda *cuda = stage->cuda;
    return cuda && (!stage->map || cuda->map) && (!stage->reduction || cuda->reduction);
}

static enum ts_status refuse(const struct bench_case *which, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-benchmark", .stage = which->stage->name},
                         "it has no CUDA code%s%s", which->stage->cpu_only ? ": " : "",
                         which->stage->cpu_only ? which->stage->cpu_only : "");
}

static struct ts_image block_of(const struct bench_case *which)
{
    struct bench_case block = *which;
    block.nz = which->nz < BLOCK_SLICES ? which->nz : BLOCK_SLICES;
    return ts_bench_image(&block);
}

static void take_times(struct bench_row *row, const struct device_numbers *device, const struct cuda_bench_times *times)
{
    row->device = device->name;
    row->seconds = times->seconds;
    row->spread = times->spread;
    row->total_seconds = times->total_seconds;
    row->cold_seconds = times->cold_seconds;
}

static enum ts_status time_case(const struct bench_case *which, const struct device_numbers *device, double longest,
                                int runs, struct ts_diag *diag, struct bench_row *row, bool *timed)
{
    struct bench_stage ready;
    struct cuda_bench_times times = {0};
    struct ts_image block = {0};
    /* As in a run, all threads take part in what is left to the host. */
    enum ts_status status = ts_bench_prepare(&ready, which, NULL, omp_get_max_threads(), device, diag);
    if (status == TS_OK) {
        block = block_of(which);
        status = block.data ? TS_OK : ts_diag_no_memory(diag, ts_image_bytes(&block));
    }
    struct stage_context *context = &ready.context;
    if (status == TS_OK)
        status = ts_cuda_bench(&context, 1, &block, true, longest, runs, diag, &times);
    if (status == TS_OK) {
        ts_bench_describe(row, which, &ready);
        take_times(row, device, &times);
    }
    *timed = times.runs > 0;
    free(block.data);
    ts_bench_stage_clear(&ready);
    return status;
}

enum ts_status ts_bench_cuda(const struct bench_case *which, bool may_shrink, const struct device_numbers *device,
                             const struct cuda_ceilings *ceilings, int runs, struct ts_diag *diag,
                             struct bench_row *row)
{
    struct bench_case sized = *which;
    bool timed = false;
    enum ts_status status = has_cuda(which->stage) ? TS_OK : refuse(which, diag);
    while (status == TS_OK && !timed) {
        const bool last = !may_shrink || sized.nz <= SHRINK;
        status = time_case(&sized, device, last ? (double)INFINITY : slow_seconds, runs, diag, row, &timed);
        sized.nz = sized.nz > SHRINK ? sized.nz / SHRINK : 1;
    }
    if (status != TS_OK)
        return status;
    row->ceiling = row->samples > 0 ? BENCH_TEXTURE : which->stage->map ? BENCH_COPY : BENCH_READ;
    row->ceiling_rate = row->samples > 0 ? ceilings->texture : which->stage->map ? ceilings->copy : ceilings->read;
    return TS_OK;
}

enum ts_status ts_bench_cuda_chain(const struct bench_case *cases, int n, const struct device_numbers *device, int runs,
                                   struct ts_diag *diag, struct bench_row *row)
{
    struct bench_stage ready[CUDA_BENCH_STAGES] = {0};
    struct stage_context *contexts[CUDA_BENCH_STAGES];
    struct cuda_bench_times times = {0};
    struct ts_image block = {0};
    enum ts_status status = TS_OK;
    const struct ts_image *in = NULL;
    double bytes = 0;
    for (int i = 0; status == TS_OK && i < n; i++) {
        contexts[i] = &ready[i].context;
        status = has_cuda(cases[i].stage) ? ts_bench_prepare(&ready[i], &cases[i], in, 1, device, diag)
                                          : refuse(&cases[i], diag);
        if (status != TS_OK)
            break;
        ts_bench_describe(row, &cases[i], &ready[i]);
        bytes += row->bytes;
        in = cases[i].stage->map ? &ready[i].context.out : &ready[i].in;
    }
    if (status == TS_OK) {
        block = block_of(&cases[0]);
        status = block.data ? TS_OK : ts_diag_no_memory(diag, ts_image_bytes(&block));
    }
    if (status == TS_OK)
        status = ts_cuda_bench(contexts, n, &block, false, INFINITY, runs, diag, &times);
    row->which = cases[0];
    row->name = "chain";
    row->method[0] = '\0';
    row->bytes = bytes;
    row->ceiling = BENCH_COPY;
    row->ceiling_rate = NAN; /* a single slice stays in the caches */
    take_times(row, device, &times);
    free(block.data);
    for (int i = 0; i < n; i++)
        ts_bench_stage_clear(&ready[i]);
    return status;
}
