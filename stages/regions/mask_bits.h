/* SPDX-License-Identifier: Apache-2.0
 *
 * Masks as bits, which the stages of whole masks work on: morphology, components, distance and
 * foreground. One operation on a word does 64 voxels, and a whole volume is small enough to be the
 * partial result of a reduction. A voxel is in the mask if its value is one of those chosen, and it
 * is valid. On a CUDA device: cuda/regions/mask_bits.cuh.
 */
#ifndef STAGES_REGIONS_MASK_BITS_H
#define STAGES_REGIONS_MASK_BITS_H

#include "stages/engine/stage.h"
#include "stages/values/value_keys.h"

/* Voxel x of row y of slice z is bit x % 64 of word (z * ny + y) * n_words + x / 64. Bits behind
 * the end of a row are 0. */
struct mask_grid {
    int64_t nz, ny, nx, n_words;
};

static inline struct mask_grid ts_mask_grid(const struct ts_image *image)
{
    const int64_t nx = image->axes[2].n;
    return (struct mask_grid){image->axes[0].n, image->axes[1].n, nx, (nx + 63) / 64};
}
/* Returns the words of a slice, and of n slices the bytes. */
static inline int64_t ts_mask_slice_words(const struct mask_grid *grid)
{
    return grid->ny * grid->n_words;
}
static inline size_t ts_mask_bytes(const struct mask_grid *grid, int64_t n)
{
    return (size_t)(n * ts_mask_slice_words(grid)) * sizeof(uint64_t);
}

/* The keys of the values of a mask, in up to two ranges. */
struct mask_values {
    struct key_range within[2];
};

/* The parameter `label` of a stage that takes a mask: one number, or none for all but 0. */
#define MASK_LABEL_PARAM(type)                                                                     \
    PARAM(type, label, .optional = true, .unit = "value", .min = -2147483648.0,                    \
          .max = 4294967295.0,                                                                     \
          .doc = "the value of the voxels that are the mask; absent: all that are not 0")
/* Says in a stage's table which images are masks. */
#define MASK_STAGE_TAKES                                                                           \
    .axes = AXES_VOLUME, .dtypes = TS_ANY_DTYPE, .quantities = TS_QUANTITY_BIT(TS_INTENSITY),      \
    .quantity_hints = {[TS_COUNTS] = TS_MASK_HINT,                                                 \
                       [TS_TRANSMISSION] = TS_MASK_HINT,                                           \
                       [TS_LINE_INTEGRAL] = TS_MASK_HINT,                                          \
                       [TS_ATTENUATION] = TS_MASK_HINT,                                            \
                       [TS_HU] = TS_MASK_HINT}
#define TS_MASK_HINT "`threshold` or `foreground` before it makes a mask"

/* Refuses a `label` of more than one number. For resolve(). */
enum ts_status ts_mask_check_label(const struct stage_context *context,
                                   const struct ts_numbers *label);
/* Returns the values of the mask that the parameter `label` chooses. */
struct mask_values ts_mask_values(enum ts_dtype dtype, const struct ts_numbers *label);
/* Writes the distances of neighbors along z, y and x, which ts_stage_needs_mm has checked
 * (stages/engine/distances.h). Along an axis of one voxel there are none, and it is very large. */
void ts_mask_mm(const struct stage_context *context, double mm[3]);

/* Write the bits of slice z of `slices`: those of the mask, and those of all valid voxels. */
void ts_mask_load(const struct ts_image *slices, int64_t z, struct mask_values values,
                  uint64_t *bits);
void ts_mask_load_valid(const struct ts_image *slices, int64_t z, uint64_t *bits);
/* Writes n bits as bytes of 0 and 1. */
void ts_mask_store(const uint64_t *bits, int64_t n, uint8_t *out);

/* ---- the bits of a volume as a reduction ------------------------------------------------------*/

/* The partial result: the bits of slices [first, end). The total has those of the volume. On a
 * device the bits of the volume are all there is. */
struct mask_volume {
    int64_t first, end;
    uint64_t bits[];
};

/* partial_bytes() and merge() of the reduction. */
size_t ts_mask_volume_bytes(const struct stage_context *context, int input);
void ts_mask_volume_merge(const struct stage_context *context, int input, void *into,
                          const void *from);
void ts_mask_volume_reduce(const struct ts_image *slices, struct mask_values values,
                           struct mask_volume *partial);

/* ---- maps -------------------------------------------------------------------------------------*/

/* Writes the slices of `out` from bits, of which the first are those of its first slice, on the
 * context's threads. Pixels of `in` that are invalid become 0; `in` may be NULL. */
void ts_mask_map(const struct stage_context *context, const uint64_t *bits,
                 const struct ts_image *in, struct ts_image *out);

#endif
