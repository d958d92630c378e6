/* SPDX-License-Identifier: Apache-2.0
 *
 * box: the mean over a window of 2 radius + 1 samples along y and x, or along z, y and x:
 *
 *     out[z][y][x] = 1/N * sum over |dy|, |dx| (and |dz|) <= radius of in[z + dz][y + dy][x + dx]
 */
#ifndef STAGES_BOX_H
#define STAGES_BOX_H

#include "stages/stage.h"

enum box_dimensions { BOX_2D, BOX_3D };
enum box_method { BOX_AUTO, BOX_DIRECT, BOX_RUNNING_SUM, BOX_UNROLLED, BOX_SEPARABLE, BOX_TILE, BOX_FUSED };

struct box_params {
    int64_t radius;
    int32_t dimensions, border;
    double constant;
    int32_t method;
};

/* The tile of the method `tile`: nz x ny outputs of BOX_TILE_COLUMNS, and with its halo depth x height x width samples.
 * along_x, along_y: where the sums along x and y stand in the shared memory of its block, after the samples. */
enum { BOX_TILE_COLUMNS = 32 };
struct box_tile {
    int nz, ny, depth, height, width;
    size_t along_x, along_y, bytes;
};
/* between_bytes: of a sum. */
static inline struct box_tile ts_box_tile(int radius, bool volume, size_t value_bytes, size_t between_bytes)
{
    struct box_tile tile;
    tile.nz = volume ? 8 : 1;
    tile.ny = volume ? 8 : 32;
    tile.depth = tile.nz + (volume ? 2 * radius : 0);
    tile.height = tile.ny + 2 * radius;
    tile.width = BOX_TILE_COLUMNS + 2 * radius;
    tile.along_x = ((size_t)tile.depth * tile.height * tile.width * value_bytes + 15) / 16 * 16;
    tile.along_y = tile.along_x + (size_t)tile.depth * tile.height * BOX_TILE_COLUMNS * between_bytes;
    tile.bytes = tile.along_y + (volume ? (size_t)tile.depth * tile.ny * BOX_TILE_COLUMNS * between_bytes : 0);
    return tile;
}
/* Bytes of a sum between the passes over two axes: integers exactly, 32 or 64 bits; floats as means. */
static inline size_t ts_box_between_bytes(enum ts_dtype dtype, double count)
{
    const bool bytes = dtype == TS_U8 || dtype == TS_I8;
    if (dtype == TS_U32 || dtype == TS_I32)
        return 8;
    return dtype != TS_F32 && count * (bytes ? 255 : 65535) > INT32_MAX ? 8 : 4;
}

/* What the method `fused` takes, and how it cuts an image into strips of columns and chunks of rows for the windows
 * that cuda/box_fused_march.cuh does. */
enum { BOX_SMALL_MAX_RADIUS = 8, BOX_VOLUME_MAX_RADIUS = 4, BOX_MARCH_ROWS = 8, BOX_MARCH_COLUMNS = 4 };
struct box_march {
    int threads;       /* of a block: 128 or 512, BOX_MARCH_COLUMNS columns each */
    int strips, strip; /* of a row; columns of outputs of one, but for the last */
    int halo;          /* columns that a strip owns beyond its outputs; 0: one strip */
    int chunks, chunk; /* of a slice; rows of one, but for the last */
    int table;         /* entries of a table of a chunk's rows */
    int keepers;       /* warps that keep the samples of a window's rows in shared memory */
    size_t rings;      /* where in shared memory they stand */
    size_t bytes;      /* of shared memory */
};
/* Of its sums: 4 where those of integers fit, and can be divided by a multiplication in 32 bits. */
size_t ts_box_march_sum_bytes(enum ts_dtype dtype, int64_t radius);
/* False where strips have no room beside their halos, or a block's shared memory is too small. */
bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx, const struct cuda_device *device,
                  struct box_march *march);
/* Into how many parts the rows of `strips` strips are cut so that those at work at the same time, `places`, are done
 * together; each part costs as much as `start` rows before its first. For integers, whose sums do not depend on it. */
int ts_box_parts(int64_t strips, int64_t rows, int64_t places, int64_t start);
/* Whether `fused` takes this image and window. */
bool ts_box_fuses(const struct box_params *params, enum ts_dtype dtype, int64_t ny, int64_t nx,
                  const struct cuda_device *device);

extern const struct stage box_stage;
extern const struct stage_cuda box_cuda;

#endif
