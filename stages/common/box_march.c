/* SPDX-License-Identifier: Apache-2.0
 *
 * How box's method `fused` cuts an image: by its shape and window alone, and the shared memory of the device. Of the
 * cut the results do not depend but in the last bits of floats.
 */
#include "stages/box.h"

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

bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx, const struct cuda_device *device,
                  struct box_march *march)
{
    enum { MOST_COLUMNS = 4 * BOX_MARCH_THREADS, ROWS = 128, WIDE_RADIUS = 40, WIDE_ROWS = 256 };
    const size_t sum_bytes = ts_box_march_sum_bytes(dtype, radius);
    const int64_t halo = (radius + 4) / 4 * 4;
    int64_t owned = 512; /* columns of a strip: the image's, or at least twice the halo's */
    while (owned < MOST_COLUMNS && owned < nx && owned < 4 * halo)
        owned *= 2;
    const bool one = nx <= owned;
    if (!one && owned <= 2 * halo)
        return false;
    march->threads = (int)((nx < owned ? (nx + 127) / 128 * 128 : owned) / 4);
    march->halo = one ? 0 : (int)halo;
    march->strips = one ? 1 : (int)((nx + owned - 2 * halo - 1) / (owned - 2 * halo));
    march->strip = one ? (int)nx : (int)((nx + march->strips - 1) / march->strips + 3) / 4 * 4;
    /* The first window of a chunk costs 2 radius rows. */
    const int64_t rows = radius < WIDE_RADIUS ? ROWS : WIDE_ROWS;
    march->chunks = (int)((ny + rows - 1) / rows);
    march->chunk = (int)((ny + march->chunks - 1) / march->chunks);
    march->bytes = 2 * BOX_MARCH_STEP * (size_t)ts_box_march_length(march->threads, sum_bytes) * sum_bytes;
    return march->bytes <= (size_t)device->block_shared_bytes;
}

bool ts_box_fuses(const struct box_params *params, enum ts_dtype dtype, int64_t ny, int64_t nx,
                  const struct cuda_device *device)
{
    struct box_march march;
    if (ny > INT32_MAX / 2 || nx > INT32_MAX / 2)
        return false;
    if (params->dimensions == BOX_3D)
        return params->radius <= BOX_VOLUME_MAX_RADIUS && is_small(dtype);
    return (params->radius <= BOX_SMALL_MAX_RADIUS && is_small(dtype)) ||
           ts_box_march(dtype, params->radius, ny, nx, device, &march);
}
