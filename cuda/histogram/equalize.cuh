/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of equalize share this: the result that the finish on the device writes, and the launches of its parts.
 */
#ifndef CUDA_HISTOGRAM_EQUALIZE_CUH
#define CUDA_HISTOGRAM_EQUALIZE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/histogram/equalize.h"
}

/* A result made on the device; entries follow, one per key: floats (scikit-image's rule), or values of the type as they
 * are stored (OpenCV's). Entries outside [low, high] have no meaning. */
struct cuda_value_map {
    uint32_t low, high; /* keys of the lowest and the highest value */
    uint32_t reserved[2];
};

static inline bool ts_cuda_equalize_levels(const struct stage_context *context)
{
    return ((const struct equalize_params *)context->params)->method == EQUALIZE_OPENCV;
}

/* Makes n results of struct cuda_value_map from the counts of the volume (per_slice false) or of slices. */
size_t ts_cuda_equalize_map_bytes(const struct stage_context *context);
enum ts_status ts_cuda_equalize_finish(const struct stage_context *context, const void *partials, bool per_slice,
                                       void *results, int64_t n, const struct cuda_call *call);

/* The maps of a slab. */
struct cuda_maps {
    const char *results; /* device */
    size_t stride;       /* between those of slices; 0: one for all */
    bool made_on_device; /* struct cuda_value_map, else struct equalize_result */
};

/* Enqueue the map of a slab: of values that are counted one by one, and of others. */
enum ts_status ts_cuda_equalize_values(const struct stage_context *context, const struct ts_image *in,
                                       struct ts_image *out, const struct cuda_maps *maps,
                                       const struct cuda_call *call);
enum ts_status ts_cuda_equalize_bins(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_maps *maps, const struct cuda_call *call);

#endif
