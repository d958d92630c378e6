/* SPDX-License-Identifier: Apache-2.0
 *
 * The two rules of clahe share this on a CUDA device: the tiles as kernels see them, and the walk
 * over a tile.
 */
#ifndef CUDA_CLAHE_CLAHE_CUH
#define CUDA_CLAHE_CLAHE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/clahe/clahe.h"
}

enum { CLAHE_NO_CLIP = 0x7FFFFFFF };

/* This describes the tiles of one slice. */
struct clahe_tiles {
    int ny, nx, tiles_y, tiles_x, height, width; /* height and width of a tile, in pixels */
    int values;                                  /* entries of a table */
    int clip;                                    /* limit of a count, or CLAHE_NO_CLIP */
    const struct neighbor *near_y, *near_x;      /* on the device: the stage's constants */
    double clip_limit;                           /* the parameter, for tiles with invalid pixels */
    const uint64_t *valid; /* on the device: the bits of a masked image; NULL: all pixels are
                            * valid */
    int64_t words;         /* 64-bit words of a slice's bits */
};

/* Describes the tiles, without near_y and near_x if call is NULL. */
struct clahe_tiles ts_cuda_clahe_tiles(const struct stage_context *context,
                                       const struct cuda_call *call);

/* Returns how many slices one round of kernels handles, so that their tables take a moderate part
 * of memory. */
int64_t ts_cuda_clahe_batch(size_t slice_bytes, int64_t n);

/* For each rule, these return the scratch of one map() of n slices, and launch it. */
size_t ts_cuda_clahe_opencv_bytes(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_clahe_opencv(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call);
size_t ts_cuda_clahe_skimage_bytes(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_clahe_skimage(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call);

/* ---- between the two kernels of OpenCV's rule ------------------------------------------------ */

/* Returns true if the device and the tiles allow the kernel that keeps its tables on the
 * multiprocessor. */
bool ts_cuda_clahe_stream_fits(const struct stage_context *context,
                               const struct clahe_tiles *tiles);
/* Maps all slices of 8-bit images. Of 16-bit images it maps those with low values, and sets wide[z]
 * to 1 for the others. */
enum ts_status ts_cuda_clahe_stream(const struct stage_context *context,
                                    const struct clahe_tiles *tiles, const struct ts_image *in,
                                    struct ts_image *out, uint32_t *wide,
                                    const struct cuda_call *call);

/* ---- on the device --------------------------------------------------------------------------- */

/* Returns the sample that replaces sample i >= 0 of n under the border rule `mirror`. */
static __device__ inline int clahe_mirror(int i, int n)
{
    if (i < n)
        return i;
    if (n == 1)
        return 0;
    const int folded = i % (2 * n - 2);
    return folded < n ? folded : 2 * n - 2 - folded;
}

static __device__ inline bool clahe_is_valid(const uint64_t *valid, size_t at)
{
    return valid[at / 64] >> at % 64 & 1;
}

/* Returns the limit at which counts are cut in a tile with this many valid pixels. */
static __device__ inline int clahe_clip(const struct clahe_tiles &tiles, bool opencv,
                                        uint32_t pixels)
{
    const int64_t clip = ts_clahe_clip_count(opencv, tiles.clip_limit, pixels, tiles.values);
    return clip < CLAHE_NO_CLIP ? (int)clip : CLAHE_NO_CLIP;
}

/* Gives a tile without valid pixels a table. `taken` and `tables` are those of its slice; all other
 * tables exist already. */
template <typename T>
static __device__ inline void clahe_fill_table(const struct clahe_tiles &tiles,
                                               const uint32_t *taken, int tile, T *tables)
{
    if (taken[tile] > 0)
        return;
    const int64_t from = ts_clahe_nearest_taken(taken, tiles.tiles_y, tiles.tiles_x, tiles.height,
                                                tiles.width, tile);
    for (int v = (int)threadIdx.x; v < tiles.values; v += (int)blockDim.x)
        tables[(size_t)tile * tiles.values + v] =
            from < 0 ? (T)0 : tables[(size_t)from * tiles.values + v];
}

/* Calls visit(index within the slice, true for the sample itself or false for a mirror image of it)
 * for every sample of the tile. The warps of the block share the rows; narrow rows share a warp. */
template <typename VISIT>
static __device__ inline void clahe_visit_tile(const struct clahe_tiles &tiles, int tile,
                                               const VISIT &visit)
{
    const int y_first = tile / tiles.tiles_x * tiles.height,
              x_first = tile % tiles.tiles_x * tiles.width;
    int across = 32;
    while (across / 2 >= tiles.width)
        across /= 2;
    const int x_start = (int)threadIdx.x % across, row_step = (int)blockDim.x / across;
    for (int row = (int)threadIdx.x / across; row < tiles.height; row += row_step) {
        const int y = clahe_mirror(y_first + row, tiles.ny);
        for (int column = x_start; column < tiles.width; column += across) {
            const int x = clahe_mirror(x_first + column, tiles.nx);
            visit((size_t)y * tiles.nx + x, y == y_first + row && x == x_first + column);
        }
    }
}

#endif
