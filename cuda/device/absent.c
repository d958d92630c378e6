/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands for the CUDA side in builds without it: every way in refuses, so nothing behind it is ever reached.
 */
#include "cuda/bench/bench.h"
#include "cuda/bench/reduction_study.h"
#include "cuda/device/session.h"
#include "cuda/device/stage_state.h"

static enum ts_status refuse(struct ts_diag *diag)
{
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-not-built"}, "this build has no CUDA code");
    ts_diag_hint(diag, "build with -DTOMOSTAGE_CUDA=on, or use --device cpu");
    return TS_RUN_FAILED;
}

uint64_t ts_cuda_launch_count(void)
{
    return 0;
}

size_t ts_cuda_most_held(void)
{
    return 0;
}

int ts_cuda_fft_version(void)
{
    return 0;
}

enum ts_status ts_cuda_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                             struct stage_reduced **reduced)
{
    (void)in;
    (void)out;
    (void)references;
    (void)slab;
    if (reduced)
        *reduced = NULL;
    return refuse(context->diag);
}

enum ts_status ts_cuda_bench(struct stage_context *const contexts[], int n, const struct ts_image *block, bool rotate,
                             double longest, int runs, struct ts_diag *diag, struct cuda_bench_times *times)
{
    (void)contexts;
    (void)n;
    (void)block;
    (void)rotate;
    (void)longest;
    (void)runs;
    (void)times;
    return refuse(diag);
}

enum ts_status ts_cuda_bench_ceilings(const struct cuda_device *device, struct ts_diag *diag,
                                      struct cuda_ceilings *ceilings)
{
    (void)device;
    (void)ceilings;
    return refuse(diag);
}

enum ts_status ts_cuda_reduction_study(const struct cuda_device *device, const int64_t *sizes,
                                       const struct study_answers *expected, int n_sizes, int64_t most,
                                       struct ts_diag *diag, struct study_row *rows, int room, int *n_rows)
{
    (void)device;
    (void)sizes;
    (void)expected;
    (void)n_sizes;
    (void)most;
    (void)rows;
    (void)room;
    (void)n_rows;
    return refuse(diag);
}
