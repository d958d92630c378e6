/* SPDX-License-Identifier: Apache-2.0
 *
 * An image that is masked has a bit for each pixel which says whether its value was measured
 * (struct ts_image: masked, valid). The framework makes these bits, moves them along with the
 * image, and gives only the valid pixels to a reduction whose result does not depend on the places
 * of pixels: packed side by side, slice by slice. So the code of such a stage needs no line for
 * invalid pixels, and the parameter `mask` of a stage works in the same way.
 */
#ifndef STAGES_ENGINE_VALIDITY_H
#define STAGES_ENGINE_VALIDITY_H

#include "stages/engine/stage.h"

/* The parameter `mask` of a stage whose reduction is order_free. Its struct has `struct
 * ts_reference mask`. */
#define MASK_PARAM(type)                                                                           \
    PARAM(                                                                                         \
        type, mask, .optional = true,                                                              \
        .doc =                                                                                     \
            "an image of the same shape: only pixels where it is not 0 are counted; absent: all")

/* The sentence for the default of a parameter that is the value of pixels where there is
 * nothing. */
#define TS_AIR_WORDS "that of air: -1000 of hu, else 0"

/* ---- bits ------------------------------------------------------------------------------------ */

/* Returns true if pixel i of the slice with these bits is valid. */
static inline bool ts_valid_at(const uint64_t *valid, size_t i)
{
    return valid[i / 64] >> i % 64 & 1;
}

/* Writes slices->valid from the values, on this many threads. */
void ts_valid_mark(const struct ts_image *slices, const struct invalid_range *range, int threads);
/* Returns how many of the slices' pixels are valid. */
uint64_t ts_valid_count(const struct ts_image *slices);
/* Sets invalid pixels to the value, which the dtype can hold. */
void ts_valid_fill(const struct ts_image *slices, double value, int threads);

/* Returns word i of the bits of a slice with n pixels: of those that are valid in it and, if there
 * is a mask (NULL: none), valid and not 0 there. */
uint64_t ts_valid_word(const struct ts_image *slice, const struct ts_image *mask, size_t i,
                       size_t n);
/* Writes out->valid: the slices' valid pixels that the mask, an image of their shape, does not
 * leave out. */
void ts_valid_choose(const struct ts_image *slices, const struct ts_image *mask,
                     const struct ts_image *out, int threads);
/* Sets values[i] to `value` for each invalid pixel. values[i] belongs to pixel first + i of the
 * slice with these bits (NULL: all are valid). */
void ts_valid_fill_floats(const uint64_t *valid, size_t first, size_t n, float value,
                          float *values);
void ts_valid_fill_doubles(const uint64_t *valid, size_t first, size_t n, double value,
                           double *values);
/* Sets elements of this many bytes (1, 2 or 4) to 0 in the same way. */
void ts_valid_zero(const uint64_t *valid, size_t first, size_t n, size_t bytes, void *values);
/* Returns true if n pixels from pixel `first` on are all valid. */
bool ts_valid_all(const uint64_t *valid, size_t first, size_t n);
/* Returns the n <= 64 bits that start with pixel i. */
static inline uint64_t ts_valid_bits(const uint64_t *valid, size_t i, size_t n)
{
    uint64_t bits = valid[i / 64] >> i % 64;
    if (i % 64 + n > 64)
        bits |= valid[i / 64 + 1] << (64 - i % 64);
    return bits & UINT64_MAX >> (64 - n);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Returns the index of the reference that the parameter `mask` names, or -1 if it is not
 * given. */
int ts_stage_mask(const struct stage_context *context);
/* streams_with_input() for a stage whose mask is its only reference that streams. */
bool ts_stage_streams_mask(const struct stage_context *context, int reference);
/* Refuses a mask that does not have the input's shape (code reference-shape); without a mask, marks
 * the parameter as idle. For resolve(). */
enum ts_status ts_stage_check_mask(const struct stage_context *context);
/* Returns true if reduce() only gets the valid pixels of this input: in some of its rounds, or in
 * the present one. */
bool ts_stage_packs(const struct stage_context *context, int input);
bool ts_stage_packs_now(const struct stage_context *context, int input);
/* Returns the bytes of the packed pixels of a slice, for all inputs that stream together. */
size_t ts_stage_packed_bytes(const struct stage_context *context);
/* Packs the valid pixels of one slice of an input into `memory`. slices[1 + i] is the same slice of
 * a reference that streams with it; the same pixels are packed from it. packed[0] and packed[1 + i]
 * become images of shape (1, 1, n). */
void ts_stage_pack(const struct stage_context *context, int input,
                   const struct ts_image slices[STAGE_INPUTS], void *memory,
                   struct ts_image packed[STAGE_INPUTS]);
/* Sets a parameter that was not given to the default of TS_AIR_WORDS, or to the older default that
 * the chain keeps: the value of air in images of the input's quantity, limited to its dtype. For
 * resolve(). */
void ts_stage_default_air(const struct stage_context *context, const char *param, double *value);

#endif
