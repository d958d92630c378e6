/* SPDX-License-Identifier: Apache-2.0
 *
 * clahe: contrast-limited adaptive histogram equalization, slice by slice: every tile gets its own
 * equalizing table from a histogram whose peaks are cut, and a pixel is mapped by the tables of the
 * four nearest tiles, weighted bilinearly.
 */
#ifndef STAGES_CLAHE_CLAHE_H
#define STAGES_CLAHE_CLAHE_H

#include "stages/engine/stage.h"

enum clahe_method { CLAHE_SKIMAGE, CLAHE_OPENCV };

struct clahe_params {
    int32_t method;
    double clip_limit;
    int64_t tiles_y, tiles_x;         /* for opencv, else 0 */
    int64_t kernel_y, kernel_x, bins; /* for skimage, else 0 */
};

/* ---- clahe rules -------------------------------------------------------------------------------
 *
 * These functions carry out the two rules of the stage clahe on one slice. Both rules share the
 * tiles, the counts of their values, and the choice of the tables that map a pixel. */

#ifdef __CUDACC__
#define CLAHE_FUNCTION static __host__ __device__ inline
#else
#define CLAHE_FUNCTION static inline
#endif

enum { CLAHE_GRAY_LEVELS = 16384 }; /* gray levels of scikit-image's rule */

/* The two tables between which a row or column interpolates, and the weights. */
struct neighbor {
    int32_t first, second;
    float first_weight, second_weight; /* for opencv */
    double offset;                     /* for skimage */
};

/* The work of one call, and the offsets of its parts in the scratch. */
struct clahe_run {
    const struct clahe_params *params;
    enum ts_dtype dtype;
    int threads;
    int64_t ny, nx, tiles_y, tiles_x, tile_height, tile_width;
    int64_t values;     /* most entries of a table */
    int64_t clip_count; /* limit of a count in a tile without invalid pixels; INT64_MAX: none */
    size_t near_y, near_x, tables, joined, columns, binned, taken, threads_part, thread_bytes,
        bytes;
};

/* Returns the limit at which the counts of a tile with this many valid pixels are cut, or INT64_MAX
 * if there is none. */
CLAHE_FUNCTION int64_t ts_clahe_clip_count(bool opencv, double clip_limit, int64_t pixels,
                                           int64_t values)
{
    const double count = clip_limit * (double)pixels, cut = opencv ? count / (double)values : count;
    if (cut >= (opencv ? (double)INT32_MAX : (double)pixels))
        return INT64_MAX;
    return cut >= 1 ? (int64_t)cut : 1;
}

/* Returns the tile with valid pixels whose center is nearest to that of a tile (the first of
 * several), or -1 if there is none. taken[i] is the number of valid pixels of tile i. */
CLAHE_FUNCTION int64_t ts_clahe_nearest_taken(const uint32_t *taken, int64_t tiles_y,
                                              int64_t tiles_x, int64_t height, int64_t width,
                                              int64_t tile)
{
    int64_t nearest = -1, least = INT64_MAX;
    for (int64_t i = 0; i < tiles_y * tiles_x; i++) {
        const int64_t down = (i / tiles_x - tile / tiles_x) * height,
                      across = (i % tiles_x - tile % tiles_x) * width;
        if (taken[i] > 0 && down * down + across * across < least) {
            least = down * down + across * across;
            nearest = i;
        }
    }
    return nearest;
}

/* Returns the work that the resolved parameters and the input describe. */
struct clahe_run ts_clahe_describe(const struct stage_context *context);
/* Writes the neighbors of n rows or columns to near[0 .. n - 1], for tiles of `tile` samples. */
void ts_clahe_find_neighbors(bool opencv, int64_t n, int64_t tile, int64_t tiles,
                             struct neighbor *near);

#endif
