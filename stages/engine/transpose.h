/* SPDX-License-Identifier: Apache-2.0
 *
 * What the transposes of several stages share (struct stage_transpose): the transpose of a border
 * rule, and gathers on the CPU. The CUDA code of a gather is cuda/device/gather.cu.
 *
 * A window at the border of an image reads samples of an image that the border rule continues, A =
 * K E. The transpose A' = E' K' lets the mirrored window K' write beyond the border, as into an
 * image of zeros that is larger by the window's radius, and E' then adds each of these samples to
 * the one that it continues.
 */
#ifndef STAGES_ENGINE_TRANSPOSE_H
#define STAGES_ENGINE_TRANSPOSE_H

#include "stages/engine/border.h"

/* A window of 2 radius + 1 samples along each axis. */
struct transpose_window {
    int64_t radius[3];
    bool even; /* true if its weights are the same from both ends of each axis */
};
/* Changes the border rule of the stage that computes the transpose to one with which it does, and
 * describes the gather that is then needed, if one is. Refuses (transpose-constant) a border with a
 * constant other than 0: the map adds something then, whatever the image. */
enum ts_status ts_transpose_border(const struct stage_context *context,
                                   const struct transpose_window *window, double constant,
                                   int32_t *border, struct stage_gather *gather,
                                   struct arena *arena);

/* One entry of a matrix of an axis: `weight` times input sample `from` goes to output sample
 * `to`. */
struct transpose_entry {
    int64_t from, to;
    float weight;
};
/* Writes the lists of axis d, with the n entries of each output sample in their order. Returns
 * false if memory is out. */
bool ts_gather_axis(struct stage_gather *gather, int d, const struct transpose_entry *entries,
                    int64_t n, struct arena *arena);
/* Computes out[z][y][x] = the sum of wz wy wx in[z'][y'][x'], in double and in the order of the
 * lists, with x' running fastest. */
void ts_gather_run(const struct stage_gather *gather, const float *in, float *out, int threads);

#endif
