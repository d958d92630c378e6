/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides how box's method `fused` cuts an image, which depends on its shape, the window and the shared memory of
 * the device. The cut changes results only in the last bits of floats.
 */
#include "stages/filters/box_march.h"

static bool is_small(enum ts_dtype dtype)
{
    return dtype != TS_U32 && dtype != TS_I32;
}

size_t ts_box_march_sum_bytes(enum ts_dtype dtype, int64_t radius)
{
    enum { WORDS_RADIUS = 109 };
    if (dtype == TS_F32 || !is_small(dtype))
        return 8;
    return (dtype == TS_U16 || dtype == TS_I16) && radius > WORDS_RADIUS ? 8 : 4;
}

int ts_box_parts(int64_t strips, int64_t rows, int64_t places, int64_t start)
{
    enum { FEWEST_ROWS = 16 };
    int64_t best = 1, least = INT64_MAX;
    for (int64_t parts = 1; parts == 1 || parts * FEWEST_ROWS <= rows; parts++) {
        const int64_t rounds = (strips * parts + places - 1) / places, part = (rows + parts - 1) / parts;
        if (rounds * (part + start) < least) {
            least = rounds * (part + start);
            best = parts;
        }
    }
    return (int)best;
}

/* Shared memory holds the sums of a step's rows and of their threads, tables of columns and rows; then the rings, which
 * are a window of rows for warps that keep their samples and a step of rows for the others. As many warps keep as leave
 * memory for the blocks that a multiprocessor should have, as measured. */
static bool fit_shared_memory(enum ts_dtype dtype, int64_t radius, const struct device_numbers *device,
                              struct box_march *march)
{
    const size_t sums = (size_t)BOX_MARCH_ROWS * (size_t)((BOX_MARCH_COLUMNS + 1) * march->threads + 8);
    const size_t window = 2 * (size_t)radius + 1, warp_row = 32 * BOX_MARCH_COLUMNS * ts_dtype_bytes(dtype);
    const size_t reserved = 1024, most = (size_t)device->block_shared_bytes;
    const int warps = march->threads / 32, blocks = ts_box_march_sum_bytes(dtype, radius) == 4 ? 5 : 2;
    const size_t share = (size_t)(device->shared_bytes / blocks);
    march->table = (march->chunk + 2 * BOX_MARCH_ROWS + 3) / 4 * 4;
    march->rings = sums * ts_box_march_sum_bytes(dtype, radius) +
                   (size_t)BOX_MARCH_COLUMNS * (size_t)march->threads * 2 * sizeof(int32_t) +
                   (2 * (size_t)march->table + window + 3) / 4 * 4 * sizeof(int32_t);
    const size_t least = march->rings + (size_t)warps * BOX_MARCH_ROWS * warp_row;
    const size_t capacity = share < most && least + reserved <= share ? share - reserved : most;
    /* A step reads its leaving rows before it keeps the entering ones. */
    march->keepers = window < BOX_MARCH_ROWS ? 1 : warps + 1;
    do {
        march->keepers--;
        march->bytes = march->rings +
                       ((size_t)march->keepers * window + (size_t)(warps - march->keepers) * BOX_MARCH_ROWS) * warp_row;
    } while (march->keepers > 0 && march->bytes > capacity);
    return march->bytes <= most;
}

bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx, const struct device_numbers *device,
                  struct box_march *march)
{
    enum { COLUMNS = 512, MOST_COLUMNS = 2048, ROWS = 256, WIDE_RADIUS = 48, WIDE_ROWS = 512 };
    const int64_t halo = (radius + 4) / 4 * 4;
    /* Columns of a strip: the image's, or at least twice the halo's. */
    const int64_t owned = nx > COLUMNS && COLUMNS < 4 * halo ? MOST_COLUMNS : COLUMNS;
    const bool one = nx <= owned;
    if (!one && owned <= 2 * halo)
        return false;
    march->threads = (int)(owned / BOX_MARCH_COLUMNS);
    march->halo = one ? 0 : (int)halo;
    march->strips = one ? 1 : (int)((nx + owned - 2 * halo - 1) / (owned - 2 * halo));
    march->strip = one ? (int)nx : (int)((nx + march->strips - 1) / march->strips + 3) / 4 * 4;
    /* The first window of a chunk costs 2 radius rows. */
    const int64_t rows = radius < WIDE_RADIUS ? ROWS : WIDE_ROWS;
    march->chunks = (int)((ny + rows - 1) / rows);
    march->chunk = (int)((ny + march->chunks - 1) / march->chunks);
    return fit_shared_memory(dtype, radius, device, march);
}

bool ts_box_volume(enum ts_dtype dtype, int64_t radius, const struct device_numbers *device, struct box_volume *volume)
{
    const size_t bytes = ts_dtype_bytes(dtype), rows = (size_t)BOX_VOLUME_ROWS(bytes, radius);
    const size_t high = rows + 2 * (size_t)radius, width = (size_t)BOX_VOLUME_WIDTH(radius);
    const size_t samples = high * (size_t)BOX_VOLUME_PITCH(radius) * bytes;
    const size_t tiles = BOX_VOLUME_TOGETHER(bytes, radius) ? 2 : 1;
    const size_t slots = 2 * (size_t)radius + (dtype == TS_F32 ? 0 : 1);
    volume->sums = tiles * ((samples + 15) / 16 * 16);
    volume->ring = volume->sums + tiles * rows * width * sizeof(float);
    volume->tables = volume->ring + slots * rows * BOX_VOLUME_COLUMNS * sizeof(float);
    volume->bytes = volume->tables + (width + high) * sizeof(int);
    return volume->bytes <= (size_t)device->block_shared_bytes;
}

bool ts_box_fuses(bool volume, int64_t radius, enum ts_dtype dtype, int64_t ny, int64_t nx,
                  const struct device_numbers *device)
{
    struct box_march march;
    struct box_volume tile;
    if (ny > INT32_MAX / 2 || nx > INT32_MAX / 2)
        return false;
    if (volume)
        return radius <= BOX_VOLUME_MAX_RADIUS && is_small(dtype) && ny * nx <= INT32_MAX &&
               ts_box_volume(dtype, radius, device, &tile);
    return (radius <= BOX_SMALL_MAX_RADIUS && is_small(dtype)) || ts_box_march(dtype, radius, ny, nx, device, &march);
}
