/* SPDX-License-Identifier: Apache-2.0
 *
 * box: the mean over a window of 2 radius + 1 samples along y and x, or along z, y and x:
 *
 *     out[z][y][x] = 1/N * sum over |dy|, |dx| (and |dz|) <= radius of in[z + dz][y + dy][x + dx]
 */
#ifndef STAGES_FILTERS_BOX_H
#define STAGES_FILTERS_BOX_H

#include "stages/engine/stage.h"
#include "stages/filters/masked_mend.h"
#include "stages/filters/window_sum.h"

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

/* Returns the window over which the valid pixels of a masked image are averaged. */
static inline struct masked_window ts_box_masked_window(const struct stage_context *context)
{
    const struct box_params *params = (const struct box_params *)context->params;
    struct masked_window window = {
        {params->dimensions == BOX_3D ? params->radius : 0, params->radius, params->radius}};
    window.border = (enum ts_border)params->border;
    window.constant = params->constant;
    return window;
}

/* The tile of the method `tile`: nz x ny outputs of BOX_TILE_COLUMNS columns; with its halo it has
 * depth x height x width samples. along_x and along_y are the offsets of the sums along x and y in
 * the block's shared memory, behind the samples. */
enum { BOX_TILE_COLUMNS = 32 };
struct box_tile {
    int nz, ny, depth, height, width;
    size_t along_x, along_y, bytes;
};
/* Returns the tile for a radius in pixels. between_bytes is the size of a sum
 * (ts_box_between_bytes). */
static inline struct box_tile ts_box_tile(int radius, bool volume, size_t value_bytes,
                                          size_t between_bytes)
{
    struct box_tile tile;
    tile.nz = volume ? 8 : 1;
    tile.ny = volume ? 8 : 32;
    tile.depth = tile.nz + (volume ? 2 * radius : 0);
    tile.height = tile.ny + 2 * radius;
    tile.width = BOX_TILE_COLUMNS + 2 * radius;
    tile.along_x = ((size_t)tile.depth * tile.height * tile.width * value_bytes + 15) / 16 * 16;
    tile.along_y =
        tile.along_x + (size_t)tile.depth * tile.height * BOX_TILE_COLUMNS * between_bytes;
    tile.bytes = tile.along_y +
                 (volume ? (size_t)tile.depth * tile.ny * BOX_TILE_COLUMNS * between_bytes : 0);
    return tile;
}
/* Returns the bytes that a sum of `count` samples takes between two passes. Integers are exact, in
 * 32 or 64 bits; floats are kept as means. */
static inline size_t ts_box_between_bytes(enum ts_dtype dtype, double count)
{
    const bool bytes = dtype == TS_U8 || dtype == TS_I8;
    if (dtype == TS_U32 || dtype == TS_I32)
        return 8;
    if (dtype != TS_F32 && count * (bytes ? 255 : 65535) > INT32_MAX)
        return 8;
    return 4;
}

/* ---- the method `fused` on a CUDA device: strips of columns and chunks of rows for
 * cuda/filters/box_fused_march.cuh, tiles for cuda/filters/box_fused_volume.cuh; radii are in
 * pixels */

enum {
    BOX_SMALL_MAX_RADIUS = 8,
    BOX_VOLUME_MAX_RADIUS = 8,
    BOX_VOLUME_COLUMNS = 64,
    BOX_VOLUME_RUN = 8, /* columns of a thread */
    BOX_MARCH_ROWS = 8,
    BOX_MARCH_COLUMNS = 4
};
struct box_march {
    int threads;       /* threads of a block: 128 or 512, with BOX_MARCH_COLUMNS columns each */
    int strips, strip; /* strips of a row; output columns of each strip but the last */
    int halo;          /* columns that a strip needs beyond its outputs; 0: there is one strip */
    int chunks, chunk; /* chunks of a slice; rows of each chunk but the last */
    int table;         /* entries of a table of a chunk's rows */
    int keepers;       /* number of warps that keep the samples of a window's rows in shared
                        * memory */
    size_t rings;      /* offset of these in shared memory */
    size_t bytes;      /* bytes of shared memory */
};
/* Returns the bytes of a sum: 4 if sums of integers fit and can be divided by a multiplication
 * in 32 bits, else 8. */
size_t ts_box_march_sum_bytes(enum ts_dtype dtype, int64_t radius);
/* Cuts a slice of ny x nx. Returns false if halos leave no columns for a strip, or if a block's
 * shared memory is too small. */
bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx,
                  const struct device_numbers *device, struct box_march *march);
/* Returns into how many parts the rows of `strips` strips are cut, so that the `places` parts that
 * a device does at the same time end together; each part takes the time of `start` more rows. Only
 * integers may be cut in this way, because their sums do not depend on the cut. */
int ts_box_parts(int64_t strips, int64_t rows, int64_t places, int64_t start);
/* The tile of cuda/filters/box_fused_volume.cuh has BOX_VOLUME_COLUMNS x BOX_VOLUME_ROWS outputs of
 * a slice, as measured: if the ring is small, several blocks share a multiprocessor; if not, tiles
 * have few halos, and the samples of two tiles are held at once. */
#define BOX_VOLUME_TOGETHER(value_bytes, radius)                                                   \
    ((radius) == 4 || ((radius) == 3 && (value_bytes) < 4))
#define BOX_VOLUME_ROWS(value_bytes, radius)                                                       \
    ((radius) == 8 || ((radius) == 7 && (value_bytes) == 4) ? 36                                   \
     : (radius) == 3 || (radius) == 4                       ? 16                                   \
                                                            : 24)
/* Columns on either side of the tile; columns including these; and the distance of two rows of
 * samples. */
#define BOX_VOLUME_HALO(radius) (((radius) + 3) / 4 * 4)
#define BOX_VOLUME_WIDTH(radius) (BOX_VOLUME_COLUMNS + 2 * BOX_VOLUME_HALO(radius))
#define BOX_VOLUME_PITCH(radius) (BOX_VOLUME_WIDTH(radius) + 4)
/* Offsets in a block's shared memory behind the samples of its tiles: sums down their columns, a
 * ring of sums of slices, and tables of columns and rows. */
struct box_volume {
    size_t sums, ring, tables, bytes;
};
/* Lays out a block's shared memory. Returns false if there is too little. */
bool ts_box_volume(enum ts_dtype dtype, int64_t radius, const struct device_numbers *device,
                   struct box_volume *volume);

/* ---- the CPU: box_sums.c --------------------------------------------------------------------- */

/* Returns the method that was measured as fastest on a CPU. Masked images use it whatever the chain
 * says. */
static inline int32_t ts_box_cpu_method(const struct stage_context *context)
{
    const struct box_params *params = (const struct box_params *)context->params;
    return params->radius <= (context->in.dtype == TS_F32 ? 2 : 1) ? BOX_DIRECT : BOX_RUNNING_SUM;
}
/* Returns the bytes of scratch of one ts_box_sums_map() of n slices. */
size_t ts_box_sums_bytes(const struct stage_context *context, int64_t n);
/* Maps a slab, masked or not, by sums. `in` has the halo that the stage asks for. */
void ts_box_sums_map(const struct stage_context *context, const struct ts_image *in,
                     struct ts_image *out, void *scratch);

#endif
