/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands for the benchmarks of the CUDA side in builds without it, as cuda/device/absent.c does for the device.
 */
#include "cuda/bench/bench.h"
#include "cuda/bench/reduction_study.h"
#include "cuda/device/device.h"

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
    return ts_cuda_refuse(diag);
}

enum ts_status ts_cuda_bench_ceilings(const struct device_numbers *device, struct ts_diag *diag,
                                      struct cuda_ceilings *ceilings)
{
    (void)device;
    (void)ceilings;
    return ts_cuda_refuse(diag);
}

enum ts_status ts_cuda_reduction_study(const struct device_numbers *device, const int64_t *sizes,
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
    return ts_cuda_refuse(diag);
}
