/* SPDX-License-Identifier: Apache-2.0
 *
 * This does what stages/counting/percentile.h does, on the device, for 32-bit integers and floats.
 * For a whole volume it carries out the two rounds, whose partial results are the host's tables.
 * For single slices it has both methods, which find the keys at the ranks.
 */
#ifndef CUDA_COUNTING_PERCENTILE_CUH
#define CUDA_COUNTING_PERCENTILE_CUH

#include "cuda/counting/value_counts.cuh"

extern "C" {
#include "stages/counting/percentile.h"
}

/* ---- the volume, in two rounds --------------------------------------------------------------- */

/* Returns the bytes of the partial of a round: the counts of 16-bit values for the upper halves of
 * the keys, or uint64_t counts of the lower halves in each bucket. */
size_t ts_cuda_percentile_bytes(int round, int n_percentiles);
size_t ts_cuda_percentile_scratch_bytes(const struct stage_context *context, int round, int64_t n);
/* Adds the slices to the partial. `search` (on the device) is the result of the first round, and
 * NULL in it. */
enum ts_status ts_cuda_percentile_add(const struct stage_context *context, int round,
                                      const struct ts_image *slices,
                                      const struct percentile_search *search, void *partial,
                                      const struct cuda_call *call);
/* Turns a partial that was copied to the host into that of the host. */
void ts_cuda_percentile_collect(int round, enum ts_dtype dtype, int n_percentiles,
                                const void *partial, void *total);

/* ---- slice by slice -------------------------------------------------------------------------- */

size_t ts_cuda_percentile_ends_scratch_bytes(const struct stage_context *context,
                                             enum percentile_method method, int n_percentiles,
                                             int64_t n);
/* Writes struct percentile_ends of slice i to (char *)ends + i * stride. `percents` is on the
 * device. */
enum ts_status ts_cuda_percentile_ends(const struct stage_context *context,
                                       enum percentile_method method, const struct ts_image *slices,
                                       const double *percents, int n_percentiles, void *ends,
                                       size_t stride, const struct cuda_call *call);

#endif
