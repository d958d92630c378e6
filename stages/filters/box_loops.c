/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops themselves are box_loops.inc, once for each type of sum. All of them add whole rows, so that they run along
 * x and vectorize; a row is converted to the type of the sums, with the samples outside, when it is loaded:
 *
 *     direct     every sample of a window: (2 radius + 1)^2 additions a pixel, in 3D ^3
 *     unrolled   the same for radius 1, with the 9 or 27 samples written out
 *     separable  one pass over the image for each axis, 2 radius + 1 additions each, with an image of sums between them
 *     tile       the same additions, but along all axes for one tile after the other, whose sums stay in the cache
 *
 * Rows or tiles are shared out among threads; the order of the additions of a pixel is the same for all of them.
 */
#include "stages/filters/box_loops.h"

#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/filters/integer_means.h"

/* A chunk of rows of `unrolled` loads two rows more than it has. The tile is twice as wide as high because its halo
 * above and below costs sums, and that at its sides only samples. */
enum { CHUNK_ROWS = 64, TILE_ROWS = 64, TILE_SLICES = 8, TILE_COLUMNS = 256, UNROLLED_ROWS = 3 };

/* This describes the work of one call, and where its parts of the scratch stand. */
struct loops {
    const struct box_params *params;
    const struct ts_image *in;
    enum ts_dtype dtype;
    enum window_total total;
    int64_t nz, ny, nx, window, depth; /* depth: slices of a window */
    double count, highest;             /* samples of a window; the largest magnitude of an integer */
    int64_t tile_nz, tile_ny, tile_nx;
    /* Offsets; those after thread_bytes count from the start of a thread's part. */
    size_t image, threads, thread_bytes, line, sums, along_x, along_y, bytes;
};

static struct loops describe(const struct stage_context *context, int64_t nz)
{
    const struct box_params *params = context->params;
    const enum ts_dtype dtype = context->in.dtype;
    struct loops loops = {.params = params,
                          .dtype = dtype,
                          .nz = nz,
                          .ny = context->in.axes[1].n,
                          .nx = context->in.axes[2].n,
                          .window = 2 * params->radius + 1};
    const bool volume = params->dimensions == BOX_3D, tile = params->method == BOX_TILE;
    loops.depth = volume ? loops.window : 1;
    loops.count = (double)(loops.window * loops.window) * (double)loops.depth;
    loops.highest = dtype == TS_U8 || dtype == TS_I8 ? 255 : 65535;
    loops.total = dtype == TS_F32                                               ? TOTAL_F32
                  : ts_box_between_bytes(dtype, loops.count) == sizeof(int64_t) ? TOTAL_I64
                                                                                : TOTAL_I32;
    loops.tile_nz = volume ? TILE_SLICES : 1;
    loops.tile_ny = volume ? TILE_SLICES : TILE_ROWS;
    loops.tile_nx = TILE_COLUMNS;
    const size_t sum = loops.total == TOTAL_I32 ? sizeof(int32_t) : sizeof(int64_t);
    const int64_t width = tile ? TILE_COLUMNS : loops.nx,
                  lines = params->method == BOX_UNROLLED ? UNROLLED_ROWS * loops.depth : 1;
    size_t used = 0;
    loops.line = ts_scratch_part(&used, lines * (width + 2 * params->radius), sum);
    loops.sums = ts_scratch_part(&used, width + 2 * params->radius, sum);
    if (tile) {
        loops.along_x = ts_scratch_part(&used, (loops.tile_ny + 2 * params->radius) * width, sum);
        loops.along_y = ts_scratch_part(&used, (loops.tile_nz + loops.depth - 1) * loops.tile_ny * width, sum);
    }
    loops.thread_bytes = used;
    used = 0;
    loops.image = ts_scratch_part(&used, params->method == BOX_SEPARABLE ? nz * loops.ny * loops.nx : 0, sum);
    loops.threads = ts_scratch_part(&used, context->threads, loops.thread_bytes);
    loops.bytes = used;
    return loops;
}

size_t ts_box_loops_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return describe(context, n).bytes;
}

static void *own_part(const struct loops *loops, char *scratch, size_t part)
{
    return scratch + loops->threads + (size_t)omp_get_thread_num() * loops->thread_bytes + part;
}

/* Returns row y of slice z of the input, or NULL where it is outside. */
static const char *row_of(const struct loops *loops, int64_t z, int64_t y)
{
    const int64_t from = ts_border_index(y, loops->ny, (enum ts_border)loops->params->border);
    return from < 0
               ? NULL
               : (const char *)ts_slice_data(loops->in, z) + (size_t)(from * loops->nx) * ts_dtype_bytes(loops->dtype);
}

TS_VECTORIZED static void store_means(float *restrict out, const double *restrict sums, double scale, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)(sums[x] * scale);
}

/* Writes the means of n windows, from column x on of row y. */
static void store(const struct loops *loops, struct ts_image *out, int64_t z, int64_t y, int64_t x, const void *sums,
                  int64_t n)
{
    char *to = (char *)ts_slice_data(out, z) + (size_t)(y * loops->nx + x) * ts_dtype_bytes(loops->dtype);
    if (loops->dtype == TS_F32)
        store_means((float *)(void *)to, sums, 1 / loops->count, n);
    else
        ts_integer_means(loops->dtype, loops->total, (int64_t)loops->count, loops->highest * loops->count, sums, to, n);
}

#define SUM int32_t
#define NAME i32
#include "stages/filters/box_loops.inc"
#define SUM int64_t
#define NAME i64
#include "stages/filters/box_loops.inc"
#define SUM double
#define NAME f64
#include "stages/filters/box_loops.inc"

void ts_box_loops_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                      void *scratch)
{
    struct loops loops = describe(context, out->axes[0].n);
    loops.in = in;
    if (loops.total == TOTAL_I32)
        map_i32(&loops, out, scratch, context->threads);
    else if (loops.total == TOTAL_I64)
        map_i64(&loops, out, scratch, context->threads);
    else
        map_f64(&loops, out, scratch, context->threads);
}
