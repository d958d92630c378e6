/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions carry out the two rules of the stage clahe on one slice. Both rules share the tiles, the counts of
 * their values, and the choice of the tables that map a pixel.
 */
#ifndef STAGES_CLAHE_CLAHE_RULES_H
#define STAGES_CLAHE_CLAHE_RULES_H

#include "stages/clahe/clahe.h"

enum { CLAHE_GRAY_LEVELS = 16384 }; /* of scikit-image's rule */

/* The two tables between which a row or column interpolates, and their weights. */
struct neighbor {
    int32_t first, second;
    float first_weight, second_weight; /* opencv */
    double offset;                     /* skimage */
};

/* The work of one call, and the offsets of its parts in the scratch. */
struct clahe_run {
    const struct clahe_params *params;
    enum ts_dtype dtype;
    int threads;
    int64_t ny, nx, tiles_y, tiles_x, tile_height, tile_width;
    int64_t values;     /* of a table at most */
    int64_t clip_count; /* INT64_MAX: none */
    size_t near_y, near_x, tables, joined, columns, binned, threads_part, thread_bytes, bytes;
};

/* Returns the work that the resolved parameters and the input describe. */
struct clahe_run ts_clahe_describe(const struct stage_context *context);
/* Writes the neighbors of n rows or columns to near[0 .. n - 1], for tiles of `tile` samples. */
void ts_clahe_find_neighbors(bool opencv, int64_t n, int64_t tile, int64_t tiles, struct neighbor *near);
/* Counts the values of a tile (tile = ty * tiles_x + tx) of a slice, which is mirrored past its far ends. */
void ts_clahe_count_tile(const struct clahe_run *run, const uint16_t *slice, int64_t tile, int64_t *counts);
/* Returns the calling thread's part of the scratch. */
void *ts_clahe_thread_part(const struct clahe_run *run, char *scratch);

/* Maps one slice of u8 or u16 to the same type. The scratch holds the neighbors already. */
void ts_clahe_opencv_slice(const struct clahe_run *run, const void *in, void *out, char *scratch);
/* Maps one slice of run->dtype to floats in [0, 1]. */
void ts_clahe_skimage_slice(const struct clahe_run *run, const void *in, float *out, char *scratch);

#endif
