/* SPDX-License-Identifier: Apache-2.0
 *
 * Times prepared stages on a CUDA device, on images that lie there. The time of the kernels comes from events around
 * each stretch of work; the host's part of a reduction is not in it, but in the total.
 */
#ifndef CUDA_BENCH_BENCH_H
#define CUDA_BENCH_BENCH_H

#include "cuda/bench/ceilings.h"
#include "stages/engine/execute.h"

enum { CUDA_BENCH_STAGES = 4 };

struct cuda_bench_times {
    double seconds; /* median of the kernels' time; of a chain: from the start of its first to the end of its last */
    double spread;  /* from the 10th to the 90th percentile, as a share of the median */
    double total_seconds; /* median from the first call to the end of the last, host's work included */
    double cold_seconds;  /* of the first run: tables, memory and the loading of kernels included */
    int runs;
};

/* Times a chain of prepared stages, each on the result of the one before it (which a stage without map passes on); the
 * stages after the first look at single slices. `block` holds the first slices of the input on the host; the device's
 * copies of them fill the input's nz, and several such inputs and outputs, together 1 GiB or half the memory, take
 * turns, so that no run finds its data in a cache. rotate false: one input, as a chain on a single slice sees it. Where
 * the first run takes more than `longest` seconds it stays at that: times->runs is 0, and seconds is not set. runs 0:
 * up to 30, at least 5, until a third of a second is spent. runs 1: one run for each time and no more before it than
 * the first, for what takes seconds. */
enum ts_status ts_cuda_bench(struct stage_context *const contexts[], int n, const struct ts_image *block, bool rotate,
                             double longest, int runs, struct ts_diag *diag, struct cuda_bench_times *times);
/* As ts_cuda_ceilings_measure, in a session of its own. */
enum ts_status ts_cuda_bench_ceilings(const struct device_numbers *device, struct ts_diag *diag,
                                      struct cuda_ceilings *ceilings);

#endif
