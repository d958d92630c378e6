/* SPDX-License-Identifier: Apache-2.0
 *
 * The bits of valid pixels (include/tomostage.h: struct ts_image) on a CUDA device: these functions
 * make them from values and pack valid pixels side by side, as stages/engine/validity.h does on the
 * CPU. Images are on the device. All calls enqueue on the stream; counts of a slice have 32 bits.
 */
#ifndef CUDA_DEVICE_VALIDITY_H
#define CUDA_DEVICE_VALIDITY_H

#include "stages/engine/stage.h"

struct CUstream_st;

/* Writes slices->valid: values in the range are invalid. */
enum ts_status ts_cuda_valid_mark(const struct device_numbers *device,
                                  const struct ts_image *slices, const struct invalid_range *range,
                                  struct CUstream_st *stream, struct ts_diag *diag);
/* Sets invalid pixels to `value`, which the dtype can hold. */
enum ts_status ts_cuda_valid_fill(const struct stage_context *context,
                                  const struct ts_image *slices, double value,
                                  struct CUstream_st *stream);

/* Writes the bits of the slices' valid pixels that the mask does not leave out, as words of an
 * image's `valid`. */
enum ts_status ts_cuda_valid_choose(const struct stage_context *context,
                                    const struct ts_image *slices, const struct ts_image *mask,
                                    void *bits, struct CUstream_st *stream);

/* The choice says which pixels of n slices are packed, and where they go. */
struct cuda_chosen {
    const uint32_t *bits;
    uint32_t *totals, *starts;    /* numbers of chosen pixels of each slice, and of each part of a
                                   * slice */
    int64_t n, n_pixels, n_parts; /* slices; pixels of a slice; parts of a slice */
    int64_t n_words;              /* words from the bits of one slice to those of the next */
};

/* Returns the bytes that ts_cuda_choose needs for n slices of the image; `mask` says whether there
 * is one. They begin with the totals, of 4 bytes each. */
size_t ts_cuda_chosen_bytes(const struct ts_image *image, int64_t n, bool mask);
/* Chooses the pixels that are valid in the slices and, if there is a mask (NULL: none), are valid
 * and not 0 there. `memory` has the bytes above and is on the device. */
enum ts_status ts_cuda_choose(const struct stage_context *context, const struct ts_image *slices,
                              const struct ts_image *mask, void *memory, struct cuda_chosen *chosen,
                              struct CUstream_st *stream);
/* Packs the chosen pixels of each slice to `packed`, `stride` bytes apart. `slices` are those that
 * were chosen from, or others of their shape. */
enum ts_status ts_cuda_pack(const struct stage_context *context, const struct cuda_chosen *chosen,
                            const struct ts_image *slices, void *packed, size_t stride,
                            struct CUstream_st *stream);

#endif
