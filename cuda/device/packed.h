/* SPDX-License-Identifier: Apache-2.0
 *
 * If pixels are left out of a reduction (stages/engine/validity.h: ts_stage_packs), the others are
 * packed slice by slice on the CUDA device. The device counts how many a slice has, so the host
 * waits once for each slab.
 */
#ifndef CUDA_DEVICE_PACKED_H
#define CUDA_DEVICE_PACKED_H

#include "cuda/device/session.h"
#include "stages/engine/stage.h"

/* Memory of the packed pixels. */
struct cuda_packed {
    void *chosen, *values; /* both on the device */
    uint32_t *n;           /* in pinned memory: the number of pixels of each slice */
    size_t strides[STAGE_INPUTS], offsets[STAGE_INPUTS]; /* of an input's slices in `values`, in
                                                          * bytes */
};

/* Return the bytes that slabs of this many slices need, on the device and in pinned memory; 0 if
 * nothing is packed. */
size_t ts_cuda_packed_bytes(const struct stage_context *context, int64_t slab_slices);
size_t ts_cuda_packed_pinned_bytes(const struct stage_context *context, int64_t slab_slices);
/* Allocates the memory on the session's device. */
enum ts_status ts_cuda_packed_create(struct cuda_session *session,
                                     const struct stage_context *context, int64_t slab_slices,
                                     struct cuda_packed *packed);
/* Packs the slices of an input and, for input 0, of the references that stream with it. When it
 * returns, the numbers of pixels are on the host; the packing itself may still be enqueued. */
enum ts_status ts_cuda_packed_bring(struct cuda_session *session,
                                    const struct stage_context *context, int input,
                                    const struct ts_image *slices, struct cuda_packed *packed);
/* Describes the packed pixels of slice i, as ts_stage_pack does. */
void ts_cuda_packed_slice(const struct cuda_packed *packed, const struct stage_context *context,
                          int input, const struct ts_image *slices, int64_t i,
                          struct ts_image views[STAGE_INPUTS]);

#endif
