/* SPDX-License-Identifier: Apache-2.0
 *
 * Masks as bits on a CUDA device, in the layout of stages/regions/mask_bits.h. Kernels take them as
 * words of 32 bits, of which a row has an even number.
 */
#ifndef CUDA_REGIONS_MASK_BITS_CUH
#define CUDA_REGIONS_MASK_BITS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/regions/mask_bits.h"
}

/* Bits of slices: of a mask, or of what is valid and not in it; and, if `valid` is not NULL, of
 * what is valid. If `found` is not NULL, the keys on the device to which it points are those of the
 * mask, in place of those that are given. */
struct cuda_mask {
    uint32_t *mask, *valid;
    bool complement;
    const struct key_range *found;
};

/* Writes the bits of n slices from slice `first` of the volume on; those outside of the volume have
 * no bit. `slices` has those that are in the volume, and starts at its z_first. */
enum ts_status ts_cuda_mask_load(const struct stage_context *context, const struct ts_image *slices,
                                 struct mask_values values, int64_t first, int64_t n,
                                 struct cuda_mask to, const struct cuda_call *call);
/* Writes the slices of `out` from bits, of which the first are those of its first slice. Pixels of
 * `in` that are invalid become 0; `in` may be NULL. */
enum ts_status ts_cuda_mask_store(const struct stage_context *context, const uint32_t *bits,
                                  const struct ts_image *in, struct ts_image *out,
                                  const struct cuda_call *call);

/* ---- the bits of a volume as a reduction ------------------------------------------------------*/

/* partial_bytes() and collect() of the reduction. */
size_t ts_cuda_mask_volume_bytes(const struct stage_context *context, int input);
enum ts_status ts_cuda_mask_volume_reduce(const struct stage_context *context,
                                          const struct ts_image *slices, struct mask_values values,
                                          const struct key_range *found, void *partial,
                                          const struct cuda_call *call);
void ts_cuda_mask_volume_collect(const struct stage_context *context, int input,
                                 const void *partial, void *total);

#endif
