/* SPDX-License-Identifier: Apache-2.0
 *
 * box: the mean over a window of 2 radius + 1 samples along y and x, or along z, y and x:
 *
 *     out[z][y][x] = 1/N * sum over |dy|, |dx| (and |dz|) <= radius of in[z + dz][y + dy][x + dx]
 */
#ifndef STAGES_FILTERS_BOX_H
#define STAGES_FILTERS_BOX_H

#include "stages/engine/stage.h"
#include "stages/filters/box_march.h"
#include "stages/filters/masked_mend.h"

enum box_dimensions { BOX_2D, BOX_3D };
enum box_method {
    BOX_AUTO,
    BOX_DIRECT,
    BOX_RUNNING_SUM,
    BOX_UNROLLED,
    BOX_SEPARABLE,
    BOX_TILE,
    BOX_FUSED,
    BOX_TEXTURE
};

struct box_params {
    int64_t radius;
    int32_t dimensions, border;
    double constant;
    int32_t method;
};

/* Returns the window in which the valid pixels of a masked image have their mean. */
struct masked_window ts_box_masked_window(const struct stage_context *context);

/* The tile of the method `tile`: nz x ny outputs of BOX_TILE_COLUMNS, and with its halo depth x height x width samples.
 * along_x and along_y are the offsets of the sums along x and y in the shared memory of its block, after the
 * samples. */
enum { BOX_TILE_COLUMNS = 32 };
struct box_tile {
    int nz, ny, depth, height, width;
    size_t along_x, along_y, bytes;
};
/* Returns the tile for a radius in pixels. between_bytes are those of a sum (ts_box_between_bytes). */
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
/* Returns the bytes of a sum of `count` samples between the passes over two axes. Integers are exact, in 32 or 64 bits;
 * floats are means. */
static inline size_t ts_box_between_bytes(enum ts_dtype dtype, double count)
{
    const bool bytes = dtype == TS_U8 || dtype == TS_I8;
    if (dtype == TS_U32 || dtype == TS_I32)
        return 8;
    return dtype != TS_F32 && count * (bytes ? 255 : 65535) > INT32_MAX ? 8 : 4;
}

#endif
