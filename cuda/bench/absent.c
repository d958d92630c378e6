/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands for the benchmarks of the CUDA side in builds without it, as cuda/device/absent.c does for the device.
 */
#include "cuda/bench/bench.h"
#include "cuda/bench/fan_in_study.h"
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

struct fan_in_runner *ts_cuda_fan_in_create(const struct device_numbers *device, const float *values, int64_t n,
                                            struct ts_diag *diag)
{
    (void)device;
    (void)values;
    (void)n;
    ts_cuda_refuse(diag);
    return NULL;
}
