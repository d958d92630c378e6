/* SPDX-License-Identifier: Apache-2.0
 *
 * A border rule says which values replace samples outside the image. Names and meaning are those of
 * scipy.ndimage, cuCIM and CuPy:
 *
 *     reflect    d c b a | a b c d | d c b a    (numpy "symmetric", OpenCV BORDER_REFLECT)
 *     mirror       d c b | a b c d | c b a      (numpy "reflect", OpenCV BORDER_REFLECT_101)
 *     nearest    a a a a | a b c d | d d d d    (numpy "edge", OpenCV BORDER_REPLICATE)
 *     constant   k k k k | a b c d | k k k k
 *     wrap       a b c d | a b c d | a b c d
 */
#ifndef STAGES_ENGINE_BORDER_H
#define STAGES_ENGINE_BORDER_H

#include "stages/engine/stage.h"

/* The choices of a parameter `border`. */
extern const struct choice ts_border_choices[];
/* The sentence of that parameter, with the pictures. */
#define TS_BORDER_DOC                                                                              \
    "the values of samples outside the image. The word reflect means two things among tools: "     \
    "here it is scipy.ndimage's, which repeats the edge sample"

/* Returns the index in [0, n) of any sample i under a border rule, or -1 for the constant. */
int64_t ts_border_index(int64_t i, int64_t n, enum ts_border border);
/* Writes the index in [0, n), or -1 for the constant, of samples first, first + 1, ... of a line of
 * n samples to index[i], i < count. */
void ts_border_fill(int64_t *index, int64_t first, int64_t count, int64_t n, enum ts_border border);
/* Checks that the parameter `constant` is only given with border `constant`, and that an image of
 * integers can hold it. */
enum ts_status ts_border_check(const struct stage_context *context, enum ts_border border,
                               double constant);
/* Checks that an image of integers can hold the value of the named parameter. */
enum ts_status ts_constant_check(const struct stage_context *context, const char *param,
                                 double value);
/* Writes `value`, which the dtype can hold, n times as elements of that dtype. */
void ts_constant_fill(void *data, enum ts_dtype dtype, double value, int64_t n);

#endif
