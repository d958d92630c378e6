/* SPDX-License-Identifier: Apache-2.0
 *
 * This counts on the device how often each value of an 8- or 16-bit image occurs:
 * stages/counting/value_counts.h for CUDA. Keys are the same: the rank of a value in its type,
 * value xor bias.
 *
 * Two forms of partial result:
 *   volume: uint64_t counts[n_keys] of all slices so far. Zero bytes are an empty count; each call
 *           adds.
 *   slice:  struct cuda_slice_counts for each slice, ts_cuda_stride(ts_cuda_value_counts_bytes())
 *           bytes apart. Each call overwrites them, so that a reduction need not have them cleared.
 * Counts are exact, so the bytes do not depend on how the slices are grouped.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_CUH
#define CUDA_COUNTING_VALUE_COUNTS_CUH

#include "cuda/counting/slice_counts.cuh"

extern "C" {
#include "stages/counting/value_counts.h"
}

/* 16-bit values may be counted in groups of 2^log2_group neighboring keys (0: each value by
 * itself), for bins that hold whole groups: partials then have n_keys >> log2_group counts. Keys
 * outside of [first, last] may be counted as the nearer of the two if that is faster, for bins
 * that hold all of them. */
struct value_groups {
    uint32_t log2_group, first, last;
};

/* Returns the bytes of one partial. */
size_t ts_cuda_group_counts_bytes(enum ts_dtype dtype, uint32_t log2_group, bool per_slice);
size_t ts_cuda_value_counts_bytes(enum ts_dtype dtype, bool per_slice);
/* Returns the bytes of scratch of one call on n slices of the image, of which only the dtype and
 * the slice shape matter. */
size_t ts_cuda_value_counts_scratch_bytes(const struct stage_context *context,
                                          const struct ts_image *image, bool per_slice, int64_t n);
/* Enqueues the counting of `slices` (data on the device, dtype u8, i8, u16 or i16) into the
 * volume's partial or into one partial for each slice. It uses call->stream and call->scratch. */
enum ts_status ts_cuda_value_counts(const struct stage_context *context,
                                    const struct ts_image *slices, bool per_slice, void *partials,
                                    const struct cuda_call *call);
enum ts_status ts_cuda_group_counts(const struct stage_context *context,
                                    const struct ts_image *slices,
                                    const struct value_groups *groups, bool per_slice,
                                    void *partials, const struct cuda_call *call);
/* Turns a partial that was copied to the host into the flushed counts of the host
 * (ts_value_counts_bytes(dtype) bytes). */
void ts_cuda_value_counts_collect(enum ts_dtype dtype, bool per_slice, const void *partial,
                                  struct value_counts *counts);
/* Does the same for n counts of the keys that start with `first`. */
void ts_cuda_value_counts_place(enum ts_dtype dtype, const uint64_t *keys, uint32_t first,
                                uint32_t n, struct value_counts *counts);

#endif
