/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of the stage box, the choice among its methods on both devices, and the methods of
 * the CPU that are plain loops. The other methods of the CPU are in box_sums.c.
 */
#include "stages/filters/box.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/transpose.h"
#include "stages/filters/window_sum.h"

static const struct choice dimension_choices[] = {
    {"2d", BOX_2D, "along y and x, slice by slice"},
    {"3d", BOX_3D, "along z, y and x, in samples: not corrected for their spacing"},
    {NULL, 0, NULL},
};
static const struct choice method_choices[] = {
    {"auto", BOX_AUTO, "by dtype and radius; on every CUDA device what was fastest on an H200"},
    {"direct", BOX_DIRECT, "adds the samples of each window anew"},
    {"running-sum", BOX_RUNNING_SUM,
     "carries sums from sample to sample; the cost does not depend on the radius"},
    {"unrolled", BOX_UNROLLED,
     "adds the samples of each window in loops of a fixed length; for radius 1"},
    {"separable", BOX_SEPARABLE, "one pass an axis, each pixel adds the samples of its line"},
    {"tile", BOX_TILE,
     "adds tile by tile: on a CUDA device in shared memory, which the tile with its halo must fit, "
     "on the CPU in the cache"},
    {"fused", BOX_FUSED,
     "reads and writes each pixel once; in 3d for a radius of at most 8, and not of 32-bit "
     "integers",
     ON_CUDA},
    {"texture", BOX_TEXTURE, "as running-sum, with the rows read through the texture unit; in 2d",
     ON_CUDA},
    {NULL, 0, NULL},
};

static const struct param box_params[] = {
    PARAM(struct box_params, radius, .unit = "pixel", .required = true, .min = 0, .max = 1024,
          .doc = "half width: the window is 2 radius + 1 samples along each axis"),
    PARAM(struct box_params, dimensions, .unit = "", .choices = dimension_choices,
          .init.choice = BOX_2D, .doc = "the axes that the window covers"),
    PARAM(struct box_params, border, .unit = "", .choices = ts_border_choices,
          .init.choice = BORDER_REFLECT, .doc = TS_BORDER_DOC),
    PARAM(struct box_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX,
          .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
    PARAM(struct box_params, method, .unit = "", .choices = method_choices, .init.choice = BOX_AUTO,
          .doc = "how the sums are made; integer results are the same for all"),
};

/* ---- the method `fused` -----------------------------------------------------------------------
 *
 * How it cuts an image depends on the image's shape, the window and the device's shared memory; the
 * cut changes only the last bits of floats. */

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
        const int64_t rounds = (strips * parts + places - 1) / places,
                      part = (rows + parts - 1) / parts;
        if (rounds * (part + start) < least) {
            least = rounds * (part + start);
            best = parts;
        }
    }
    return (int)best;
}

/* Shared memory holds the sums of a step's rows and of their threads, tables of columns and rows,
 * and then the rings: a window of rows for warps that keep their samples, and a step of rows for
 * the others. As many warps keep samples as memory allows for the number of blocks that a
 * multiprocessor should have, as measured. */
static bool fit_shared_memory(enum ts_dtype dtype, int64_t radius,
                              const struct device_numbers *device, struct box_march *march)
{
    const size_t sums =
        (size_t)BOX_MARCH_ROWS * (size_t)((BOX_MARCH_COLUMNS + 1) * march->threads + 8);
    const size_t window = 2 * (size_t)radius + 1,
                 warp_row = 32 * BOX_MARCH_COLUMNS * ts_dtype_bytes(dtype);
    const size_t reserved = 1024, most = (size_t)device->block_shared_bytes;
    const int warps = march->threads / 32,
              blocks = ts_box_march_sum_bytes(dtype, radius) == 4 ? 5 : 2;
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
        march->bytes = march->rings + ((size_t)march->keepers * window +
                                       (size_t)(warps - march->keepers) * BOX_MARCH_ROWS) *
                                          warp_row;
    } while (march->keepers > 0 && march->bytes > capacity);
    return march->bytes <= most;
}

bool ts_box_march(enum ts_dtype dtype, int64_t radius, int64_t ny, int64_t nx,
                  const struct device_numbers *device, struct box_march *march)
{
    enum { COLUMNS = 512, MOST_COLUMNS = 2048, ROWS = 256, WIDE_RADIUS = 48, WIDE_ROWS = 512 };
    const int64_t halo = (radius + 4) / 4 * 4;
    /* Columns of a strip: all of the image's, or at least twice the halo's. */
    const int64_t owned = nx > COLUMNS && COLUMNS < 4 * halo ? MOST_COLUMNS : COLUMNS;
    const bool one = nx <= owned;
    if (!one && owned <= 2 * halo)
        return false;
    march->threads = (int)(owned / BOX_MARCH_COLUMNS);
    march->halo = one ? 0 : (int)halo;
    march->strips = one ? 1 : (int)((nx + owned - 2 * halo - 1) / (owned - 2 * halo));
    march->strip = one ? (int)nx : (int)((nx + march->strips - 1) / march->strips + 3) / 4 * 4;
    /* The first window of a chunk takes the time of 2 radius rows. */
    const int64_t rows = radius < WIDE_RADIUS ? ROWS : WIDE_ROWS;
    march->chunks = (int)((ny + rows - 1) / rows);
    march->chunk = (int)((ny + march->chunks - 1) / march->chunks);
    return fit_shared_memory(dtype, radius, device, march);
}

bool ts_box_volume(enum ts_dtype dtype, int64_t radius, const struct device_numbers *device,
                   struct box_volume *volume)
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

/* Returns true if `fused` can run with this window (over z as well if `volume`) on slices of ny x
 * nx. */
static bool box_fuses(bool volume, int64_t radius, enum ts_dtype dtype, int64_t ny, int64_t nx,
                      const struct device_numbers *device)
{
    struct box_march march;
    struct box_volume tile;
    if (ny > INT32_MAX / 2 || nx > INT32_MAX / 2)
        return false;
    if (volume)
        return radius <= BOX_VOLUME_MAX_RADIUS && is_small(dtype) && ny * nx <= INT32_MAX &&
               ts_box_volume(dtype, radius, device, &tile);
    return (radius <= BOX_SMALL_MAX_RADIUS && is_small(dtype)) ||
           ts_box_march(dtype, radius, ny, nx, device, &march);
}

/* ---- methods --------------------------------------------------------------------------------- */

/* Reports why `fused` has no kernel: the window and the type, the size of a slice, or this device's
 * shared memory. */
static enum ts_status check_fused(const struct stage_context *context,
                                  const struct box_params *params)
{
    const bool volume = params->dimensions == BOX_3D;
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const enum ts_dtype dtype = context->in.dtype;
    if (box_fuses(volume, params->radius, dtype, ny, nx, context->device))
        return TS_OK;
    if (volume &&
        (params->radius > BOX_VOLUME_MAX_RADIUS || (ts_dtype_bytes(dtype) == 4 && dtype != TS_F32)))
        return ts_param_error(context->set, "method", "method-radius", context->diag,
                              "fused in 3d is for a radius of at most %d pixel, of floats and "
                              "integers of 8 and 16 bits; the image is of %s, and radius is %lld",
                              BOX_VOLUME_MAX_RADIUS, ts_dtype_name(dtype),
                              (long long)params->radius);
    if (ny > INT32_MAX / 2 || nx > INT32_MAX / 2 || (volume && ny * nx > INT32_MAX))
        return ts_param_error(
            context->set, "method", "method-size", context->diag,
            "fused counts the pixels of a slice in 31 bits, and a slice has %lld x %lld",
            (long long)ny, (long long)nx);
    return ts_param_error(context->set, "method", "method-shared-memory", context->diag,
                          "the sums and rows of fused, of %s with a radius of %lld pixel, do not "
                          "fit the %d bytes of shared memory that a block of %s has",
                          ts_dtype_name(dtype), (long long)params->radius,
                          context->device->block_shared_bytes, context->device->name);
}

/* A texture has at least one row of the image, and only 2D has no pass along z before it. */
static enum ts_status check_texture(const struct stage_context *context,
                                    const struct box_params *params)
{
    const int64_t nx = context->in.axes[2].n;
    if (params->dimensions == BOX_3D)
        return ts_param_error(context->set, "method", "method-dimensions", context->diag,
                              "texture reads the rows of slices, and dimensions is 3d");
    if (nx > STAGE_TEXTURE_ROW)
        return ts_param_error(context->set, "method", "method-size", context->diag,
                              "a texture has rows of at most %d pixels, and the image has %lld",
                              (int)STAGE_TEXTURE_ROW, (long long)nx);
    return TS_OK;
}

/* Checks the methods that a CUDA device only has within limits. */
static enum ts_status check_on_cuda(const struct stage_context *context,
                                    const struct box_params *params)
{
    const bool volume = params->dimensions == BOX_3D;
    const double window = 2.0 * (double)params->radius + 1;
    if (params->method == BOX_FUSED)
        return check_fused(context, params);
    if (params->method == BOX_TEXTURE)
        return check_texture(context, params);
    if (params->method != BOX_TILE)
        return TS_OK;
    const size_t between =
        ts_box_between_bytes(context->in.dtype, window * window * (volume ? window : 1));
    const struct box_tile tile =
        ts_box_tile((int)params->radius, volume, ts_dtype_bytes(context->in.dtype), between);
    if (tile.bytes > (size_t)context->device->block_shared_bytes)
        return ts_param_error(context->set, "method", "method-shared-memory", context->diag,
                              "a tile with a halo of %lld pixel takes %zu bytes of shared memory, "
                              "and a block of %s has %d",
                              (long long)params->radius, tile.bytes, context->device->name,
                              context->device->block_shared_bytes);
    return TS_OK;
}

/* Returns the fastest method, as measured on an H200. */
static int32_t method_on_cuda(const struct stage_context *context, const struct box_params *params)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    if (params->radius == 0)
        return BOX_DIRECT;
    if (box_fuses(params->dimensions == BOX_3D, params->radius, context->in.dtype, ny, nx,
                  context->device))
        return BOX_FUSED;
    return BOX_RUNNING_SUM;
}

static enum ts_status box_resolve(const struct stage_context *context, void *values)
{
    enum { WIDE_RADIUS = 640 };
    struct box_params *params = values;
    if (params->method == BOX_UNROLLED && params->radius != 1)
        return ts_param_error(context->set, "method", "method-radius", context->diag,
                              "unrolled is for a radius of 1 pixel, and radius is %lld",
                              (long long)params->radius);
    if (context->device && check_on_cuda(context, params) != TS_OK)
        return TS_BAD_CHAIN;
    /* (2 * 640 + 1)^3 samples of 32 bits just fit a 64-bit sum. */
    const bool wide = context->in.dtype == TS_U32 || context->in.dtype == TS_I32;
    if (wide && params->dimensions == BOX_3D && params->radius > WIDE_RADIUS)
        return ts_param_error(
            context->set, "radius", "radius-sum", context->diag,
            "%lld is outside [0, %d] pixel for a 3d window over %s, whose sum must fit 64 bits",
            (long long)params->radius, WIDE_RADIUS, ts_dtype_name(context->in.dtype));
    if (params->method == BOX_AUTO && context->device)
        params->method = method_on_cuda(context, params);
    if (params->method == BOX_AUTO)
        params->method = ts_box_cpu_method(context);
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static struct stage_reach box_reach(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return (struct stage_reach){.halo = params->dimensions == BOX_3D ? params->radius : 0,
                                .border = (enum ts_border)params->border,
                                .constant = params->constant};
}

/* ---- plain loops ------------------------------------------------------------------------------
 *
 * These methods of box allow a CPU to be compared with a CUDA device, method by method: `direct`
 * beyond the radius where box_sums.c adds rows, `unrolled`, `separable` and `tile`. `auto` never
 * takes them, because their cost grows with the radius. Sums are int32_t where the largest one
 * fits, int64_t or, for floats, double; integer means are the same bytes as by every other method.
 *
 * The loops themselves are box_loops.inc, once for each type of sum. All of them add whole rows, so
 * that they run along x and vectorize; a row is converted to the type of the sums, with the samples
 * outside, when it is loaded:
 *
 *     direct     every sample of a window: (2 radius + 1)^2 additions a pixel, in 3D ^3
 *     unrolled   the same for radius 1, with the 9 or 27 samples written out
 *     separable  one pass over the image for each axis, 2 radius + 1 additions each, with an image
 *                of sums between them
 *     tile       the same additions, but along all axes for one tile after the other, whose sums
 *                stay in the cache
 *
 * Rows or tiles are shared out among threads; the order of the additions of a pixel is the same
 * for all of them.  */

enum { DIRECT_RADIUS = (WINDOW_DIRECT_MAX - 1) / 2 };

/* `unrolled` loads two rows more than a chunk has, so chunks have many rows. A tile is wider
 * than high: each row of its halo above and below must be summed along x, but the columns of the
 * halo at its sides are only loaded. */
enum { CHUNK_ROWS = 64, TILE_ROWS = 64, TILE_SLICES = 8, TILE_COLUMNS = 256, UNROLLED_ROWS = 3 };

/* The work of one call, and the places of its parts in the scratch. */
struct loops {
    const struct box_params *params;
    const struct ts_image *in;
    enum ts_dtype dtype;
    enum window_total total;
    int64_t nz, ny, nx, window, depth; /* depth: slices of a window */
    double count, highest; /* samples of a window; the largest magnitude of an integer */
    int64_t tile_nz, tile_ny, tile_nx;
    /* Offsets in the scratch; those after thread_bytes count from the start of a thread's part. */
    size_t image, threads, thread_bytes, line, sums, along_x, along_y, bytes;
};

static struct loops box_describe(const struct stage_context *context, int64_t nz)
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
    if (dtype == TS_F32)
        loops.total = TOTAL_F32;
    else if (ts_box_between_bytes(dtype, loops.count) == sizeof(int64_t))
        loops.total = TOTAL_I64;
    else
        loops.total = TOTAL_I32;
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
        loops.along_y =
            ts_scratch_part(&used, (loops.tile_nz + loops.depth - 1) * loops.tile_ny * width, sum);
    }
    loops.thread_bytes = used;
    used = 0;
    loops.image =
        ts_scratch_part(&used, params->method == BOX_SEPARABLE ? nz * loops.ny * loops.nx : 0, sum);
    loops.threads = ts_scratch_part(&used, context->threads, loops.thread_bytes);
    loops.bytes = used;
    return loops;
}

static void *own_part(const struct loops *loops, char *scratch, size_t part)
{
    return scratch + loops->threads + (size_t)omp_get_thread_num() * loops->thread_bytes + part;
}

/* Returns row y of slice z of the input, or NULL if it is outside. */
static const char *row_of(const struct loops *loops, int64_t z, int64_t y)
{
    const int64_t from = ts_border_index(y, loops->ny, (enum ts_border)loops->params->border);
    return from < 0 ? NULL
                    : (const char *)ts_slice_data(loops->in, z) +
                          (size_t)(from * loops->nx) * ts_dtype_bytes(loops->dtype);
}

TS_VECTORIZED static void store_means(float *restrict out, const double *restrict sums,
                                      double scale, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)(sums[x] * scale);
}

/* Writes the means of n windows of row y, starting at column x. */
static void store(const struct loops *loops, struct ts_image *out, int64_t z, int64_t y, int64_t x,
                  const void *sums, int64_t n)
{
    char *to =
        (char *)ts_slice_data(out, z) + (size_t)(y * loops->nx + x) * ts_dtype_bytes(loops->dtype);
    if (loops->dtype == TS_F32)
        store_means((float *)(void *)to, sums, 1 / loops->count, n);
    else
        ts_integer_means(loops->dtype, loops->total, (int64_t)loops->count,
                         loops->highest * loops->count, sums, to, n);
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

static void box_loops_map(const struct stage_context *context, const struct ts_image *in,
                          struct ts_image *out, void *scratch)
{
    struct loops loops = box_describe(context, out->axes[0].n);
    loops.in = in;
    if (loops.total == TOTAL_I32)
        map_i32(&loops, out, scratch, context->threads);
    else if (loops.total == TOTAL_I64)
        map_i64(&loops, out, scratch, context->threads);
    else
        map_f64(&loops, out, scratch, context->threads);
}

/* Returns true if these loops do the work. Masked images have a method of their own. */
static bool takes_loops(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return !context->in.masked &&
           (params->method == BOX_UNROLLED || params->method == BOX_SEPARABLE ||
            params->method == BOX_TILE ||
            (params->method == BOX_DIRECT && params->radius > DIRECT_RADIUS));
}

static size_t box_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return takes_loops(context) ? box_describe(context, n).bytes : ts_box_sums_bytes(context, n);
}

static enum ts_status box_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, void *scratch)
{
    if (takes_loops(context))
        box_loops_map(context, in, out, scratch);
    else
        ts_box_sums_map(context, in, out, scratch);
    return TS_OK;
}

/* The window is even. `auto` chooses anew, since the image may be larger. */
static enum ts_status box_transpose(const struct stage_context *context, struct param_set *set,
                                    struct stage_gather *gather, struct arena *arena)
{
    struct box_params *params = set->values;
    *params = *(const struct box_params *)context->params;
    set->given = context->set->given;
    if (!ts_param_given(set, "method"))
        params->method = BOX_AUTO;
    const struct transpose_window window = {
        {params->dimensions == BOX_3D ? params->radius : 0, params->radius, params->radius}, true};
    return ts_transpose_border(context, &window, params->constant, &params->border, gather, arena);
}

static const struct stage_transpose box_linear = {.describe = box_transpose};

static const char box_doc[] =
    "`out[y][x] = 1/N * sum of in[y + dy][x + dx] over |dy|, |dx| <= radius`, with N = (2 radius + "
    "1)^2 samples, and the same along z with `dimensions: 3d`. Values keep their dtype.\n"
    "\n"
    "Samples outside the image follow `border`:\n"
    "\n"
    "    reflect    d c b a | a b c d | d c b a\n"
    "    mirror       d c b | a b c d | c b a\n"
    "    nearest    a a a a | a b c d | d d d d\n"
    "    constant   k k k k | a b c d | k k k k\n"
    "    wrap       a b c d | a b c d | a b c d\n"
    "\n"
    "**Exactness.** Integer images: the sum is exact and the mean is its nearest integer (there "
    "are no ties, N is odd). Floats: within 1e-6 of the largest magnitude in the image; a NaN or "
    "an infinity shows in the windows that contain it and nowhere else. `direct` and `dimensions: "
    "3d` make sums of up to 9 rows in float, so magnitudes above 3e37 overflow.\n"
    "\n"
    "**Masked images.** If pixels are invalid, such as a CT's padding, the mean is that of the "
    "valid pixels of the window, whatever `method` says: their sum divided by their number, in "
    "double, and integers are rounded to the nearest, the even one of two. On the CPU a window "
    "without invalid pixels has the mean that the method of `auto` gives it. An invalid pixel "
    "keeps its value.\n"
    "\n"
    "**Cost.** `direct` adds every sample of each window; on the CPU, up to a radius of 4, the "
    "rows of each window and then the samples along them. `unrolled` does so in loops of a fixed "
    "length, `separable` and `tile` add 2 radius + 1 samples along each axis. The cost of "
    "`running-sum` does not depend on the radius: it carries prefix sums of columns from row to "
    "row, and a window is the difference of two of them. Float sums are made in double; rows that "
    "meet a NaN or an infinity are done over, which takes several times as long.\n"
    "\n"
    "**On a CUDA device.** Integers are the bytes of the CPU. `running-sum` carries sums along "
    "whole rows and columns; `texture` reads the rows through the texture unit, and gives the same "
    "bytes. Both, and `separable`, write an image of sums between their passes. `fused` reads and "
    "writes each pixel once: up to a radius of 8 pixel it adds the samples in registers; beyond, "
    "it carries sums from row to row and takes differences of prefix sums, floats in double. Rows "
    "of floats that meet a NaN or an infinity are then done over, in a time that grows with the "
    "radius. In 3D `fused` adds the 2D sums of the slices, floats without subtracting.\n"
    "\n"
    "**Source.** M. J. McDonnell, Box-filtering techniques, 1981; F. C. Crow, Summed-area tables "
    "for texture mapping, 1984. Blocks in place of subtraction, for floats along z and near a NaN: "
    "M. van Herk, A fast algorithm for local minimum and maximum filters, 1992.";

const struct stage box_stage = {
    .name = "box",
    .summary = "mean over a square or cubic window",
    .doc = box_doc,
    STAGE_TAKES_ALL,
    .bench = "radius=1|radius=3|radius=7|radius=15|radius=31|radius=63|radius=256|radius=1 "
             "dimensions=3d|radius=3 dimensions=3d|radius=7 dimensions=3d|radius=7 "
             "method=direct|radius=7 method=running-sum|radius=7 method=separable|radius=7 "
             "method=tile|radius=31 method=running-sum|radius=31 method=separable|radius=31 "
             "method=tile|radius=7 method=texture|radius=31 method=texture",
    STAGE_PARAMS(box_params, struct box_params),
    .resolve = box_resolve,
    .reach = box_reach,
    .scratch_bytes = box_scratch_bytes,
    .map = box_map,
    .validity = VALIDITY_SAME,
    .transpose = &box_linear,
    .tolerance = {.relative = 1e-6,
                  .why = "direct float sums round at most 16 times in a row (2^-24 each), those of "
                         "fused in 3d up to 50 times, which comes to 7.4e-7 where all values are "
                         "equal; integers are exact"},
    .cuda = STAGE_CUDA(box_cuda),
};
