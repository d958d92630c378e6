/* SPDX-License-Identifier: Apache-2.0
 *
 * This has the parameters of the stage box, and decides which of its methods applies where on both devices.
 */
#include "stages/filters/box.h"

#include <float.h>

#include "stages/engine/border.h"

enum { WIDE_RADIUS = 640 };

static const struct choice dimension_choices[] = {
    {"2d", BOX_2D, "along y and x, slice by slice"},
    {"3d", BOX_3D, "along z, y and x, in samples: not corrected for their spacing"},
    {NULL, 0, NULL},
};
static const struct choice method_choices[] = {
    {"auto", BOX_AUTO, "by dtype and radius; on every CUDA device what was fastest on an H200"},
    {"direct", BOX_DIRECT, "adds the samples of each window anew"},
    {"running-sum", BOX_RUNNING_SUM, "carries sums from sample to sample; the cost does not depend on the radius"},
    {"unrolled", BOX_UNROLLED, "adds the samples of each window in loops of a fixed length; for radius 1"},
    {"separable", BOX_SEPARABLE, "one pass an axis, each pixel adds the samples of its line"},
    {"tile", BOX_TILE,
     "adds tile by tile: on a CUDA device in shared memory, which the tile with its halo must fit, on the CPU in the "
     "cache"},
    {"fused", BOX_FUSED,
     "reads and writes each pixel once; in 3d for a radius of at most 8, and not of 32-bit integers", ON_CUDA},
    {"texture", BOX_TEXTURE, "as running-sum, with the rows read through the texture unit; in 2d", ON_CUDA},
    {NULL, 0, NULL},
};

static const struct param box_params[] = {
    PARAM(struct box_params, radius, .unit = "pixel", .required = true, .min = 0, .max = 1024,
          .doc = "half width: the window is 2 radius + 1 samples along each axis"),
    PARAM(struct box_params, dimensions, .unit = "", .choices = dimension_choices, .init.choice = BOX_2D,
          .doc = "the axes that the window covers"),
    PARAM(struct box_params, border, .unit = "", .choices = ts_border_choices, .init.choice = BORDER_REFLECT,
          .doc = TS_BORDER_DOC),
    PARAM(struct box_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX, .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
    PARAM(struct box_params, method, .unit = "", .choices = method_choices, .init.choice = BOX_AUTO,
          .doc = "how the sums are made; integer results are the same for all"),
};

/* Reports why `fused` has no kernel: the window and the type, the size of a slice, or this device's shared memory. */
static enum ts_status check_fused(const struct stage_context *context, const struct box_params *params)
{
    const bool volume = params->dimensions == BOX_3D;
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const enum ts_dtype dtype = context->in.dtype;
    if (ts_box_fuses(volume, params->radius, dtype, ny, nx, context->device))
        return TS_OK;
    if (volume && (params->radius > BOX_VOLUME_MAX_RADIUS || (ts_dtype_bytes(dtype) == 4 && dtype != TS_F32)))
        return ts_param_error(context->set, "method", "method-radius", context->diag,
                              "fused in 3d is for a radius of at most %d pixel, of floats and integers of 8 and 16 "
                              "bits; the image is of %s, and radius is %lld",
                              BOX_VOLUME_MAX_RADIUS, ts_dtype_name(dtype), (long long)params->radius);
    if (ny > INT32_MAX / 2 || nx > INT32_MAX / 2 || (volume && ny * nx > INT32_MAX))
        return ts_param_error(context->set, "method", "method-size", context->diag,
                              "fused counts the pixels of a slice in 31 bits, and a slice has %lld x %lld",
                              (long long)ny, (long long)nx);
    return ts_param_error(
        context->set, "method", "method-shared-memory", context->diag,
        "the sums and rows of fused, of %s with a radius of %lld pixel, do not fit the %d bytes of shared "
        "memory that a block of %s has",
        ts_dtype_name(dtype), (long long)params->radius, context->device->block_shared_bytes, context->device->name);
}

/* A texture has one row of the image at least, and a pass along z would come before it. */
static enum ts_status check_texture(const struct stage_context *context, const struct box_params *params)
{
    const int64_t nx = context->in.axes[2].n;
    if (params->dimensions == BOX_3D)
        return ts_param_error(context->set, "method", "method-dimensions", context->diag,
                              "texture reads the rows of slices, and dimensions is 3d");
    if (nx > STAGE_TEXTURE_ROW)
        return ts_param_error(context->set, "method", "method-size", context->diag,
                              "a texture has rows of at most %d pixels, and the image has %lld", (int)STAGE_TEXTURE_ROW,
                              (long long)nx);
    return TS_OK;
}

/* Checks the methods that a CUDA device has only within limits. */
static enum ts_status check_on_cuda(const struct stage_context *context, const struct box_params *params)
{
    const bool volume = params->dimensions == BOX_3D;
    const double window = 2.0 * (double)params->radius + 1;
    if (params->method == BOX_FUSED)
        return check_fused(context, params);
    if (params->method == BOX_TEXTURE)
        return check_texture(context, params);
    if (params->method != BOX_TILE)
        return TS_OK;
    const size_t between = ts_box_between_bytes(context->in.dtype, window * window * (volume ? window : 1));
    const struct box_tile tile = ts_box_tile((int)params->radius, volume, ts_dtype_bytes(context->in.dtype), between);
    if (tile.bytes > (size_t)context->device->block_shared_bytes)
        return ts_param_error(
            context->set, "method", "method-shared-memory", context->diag,
            "a tile with a halo of %lld pixel takes %zu bytes of shared memory, and a block of %s has "
            "%d",
            (long long)params->radius, tile.bytes, context->device->name, context->device->block_shared_bytes);
    return TS_OK;
}

int32_t ts_box_cpu_method(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return params->radius <= (context->in.dtype == TS_F32 ? 2 : 1) ? BOX_DIRECT : BOX_RUNNING_SUM;
}

/* Returns the fastest method, as measured on an H200. */
static int32_t method_on_cuda(const struct stage_context *context, const struct box_params *params)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    if (params->radius == 0)
        return BOX_DIRECT;
    if (ts_box_fuses(params->dimensions == BOX_3D, params->radius, context->in.dtype, ny, nx, context->device))
        return BOX_FUSED;
    return BOX_RUNNING_SUM;
}

static enum ts_status box_resolve(const struct stage_context *context, void *values)
{
    struct box_params *params = values;
    if (params->method == BOX_UNROLLED && params->radius != 1)
        return ts_param_error(context->set, "method", "method-radius", context->diag,
                              "unrolled is for a radius of 1 pixel, and radius is %lld", (long long)params->radius);
    if (context->device && check_on_cuda(context, params) != TS_OK)
        return TS_BAD_CHAIN;
    /* (2 * 640 + 1)^3 samples of 32 bits just fit a 64-bit sum. */
    const bool wide = context->in.dtype == TS_U32 || context->in.dtype == TS_I32;
    if (wide && params->dimensions == BOX_3D && params->radius > WIDE_RADIUS)
        return ts_param_error(context->set, "radius", "radius-sum", context->diag,
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

struct masked_window ts_box_masked_window(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return (struct masked_window){.radius = {box_reach(context).halo, params->radius, params->radius},
                                  .border = (enum ts_border)params->border,
                                  .constant = params->constant};
}

static const char box_doc[] =
    "`out[y][x] = 1/N * sum of in[y + dy][x + dx] over |dy|, |dx| <= radius`, with N = (2 radius + 1)^2 samples, and "
    "the same along z with `dimensions: 3d`. Values keep their dtype.\n"
    "\n"
    "Samples outside the image follow `border`:\n"
    "\n"
    "    reflect    d c b a | a b c d | d c b a\n"
    "    mirror       d c b | a b c d | c b a\n"
    "    nearest    a a a a | a b c d | d d d d\n"
    "    constant   k k k k | a b c d | k k k k\n"
    "    wrap       a b c d | a b c d | a b c d\n"
    "\n"
    "**Exactness.** Integer images: the sum is exact and the mean is its nearest integer (there are no ties, N is "
    "odd). Floats: within 1e-6 of the largest magnitude in the image; a NaN or an infinity shows in the windows that "
    "contain it and nowhere else. `direct` and `dimensions: 3d` make sums of up to 9 rows in float, so magnitudes "
    "above 3e37 overflow.\n"
    "\n"
    "**Masked images.** Where pixels are invalid, such as a CT's padding, the mean is that of the valid pixels of the "
    "window, whatever `method` says: their sum divided by their number, in double, and integers are rounded to the "
    "nearest, the even one of two. On the CPU a window without invalid pixels has the mean that the method of `auto` "
    "gives it. An invalid pixel keeps its value.\n"
    "\n"
    "**Cost.** `direct` adds every sample of each window; on the CPU, up to a radius of 4, the rows of each window and "
    "then the samples along them. `unrolled` does so in loops of a fixed length, `separable` and `tile` add 2 radius + "
    "1 samples along each axis. `running-sum` keeps, for one row of "
    "windows, the prefix sums of their columns' sums; a row further down they grow by the prefix sums of the entering "
    "row minus the leaving one, and a window is the difference of two of them. So the cost per pixel does not depend "
    "on the radius, but for the first window of each chunk of rows (at least 256 and 4 radius rows) and the radius "
    "samples beyond both ends of a row. Float sums are made in double; a chunk of rows that meets a NaN or an infinity "
    "is done over, which takes several times as long.\n"
    "\n"
    "**On a CUDA device.** Integers are the bytes of the CPU. `running-sum` carries sums along whole rows and columns, "
    "which it reads by way of shared memory; `texture` reads the rows through the texture unit in its place, and gives "
    "the same bytes. Both, and `separable`, write an image of sums between their passes. `fused` reads and writes each "
    "pixel once: up to a radius of 8 pixel it adds the samples of the columns, then of the rows, in registers "
    "(integers of 8 and 16 bits in rows of a multiple of 16 samples carry the sums of their columns from row to row); "
    "beyond, it carries sums from row to row and takes differences of their prefix sums, floats in double. There a "
    "float image is cut into chunks of rows, and a chunk that meets a NaN or an infinity is done over, every window "
    "anew, whose time grows with the radius. In 3D `fused` adds the 2D sums of the slices, floats without "
    "subtracting.\n"
    "\n"
    "**Source.** M. J. McDonnell, Box-filtering techniques, 1981; F. C. Crow, Summed-area tables for texture mapping, "
    "1984. Blocks in place of subtraction, for floats along z and near a NaN: M. van Herk, A fast algorithm for local "
    "minimum and maximum filters, 1992.";

const struct stage box_stage = {
    .name = "box",
    .summary = "mean over a square or cubic window",
    .doc = box_doc,
    STAGE_TAKES_ALL,
    .bench = "radius=1|radius=3|radius=7|radius=15|radius=31|radius=63|radius=256|radius=1 dimensions=3d|radius=3 "
             "dimensions=3d|"
             "radius=7 dimensions=3d|radius=7 method=direct|radius=7 method=running-sum|radius=7 method=separable|"
             "radius=7 method=tile|radius=31 method=running-sum|radius=31 method=separable|radius=31 method=tile|"
             "radius=7 method=texture|radius=31 method=texture",
    STAGE_PARAMS(box_params, struct box_params),
    .resolve = box_resolve,
    .reach = box_reach,
    .scratch_bytes = ts_box_scratch_bytes,
    .map = ts_box_map,
    .validity = VALIDITY_SAME,
    .tolerance = {.relative = 1e-6,
                  .why =
                      "direct float sums round at most 16 times in a row (2^-24 each), those of fused in 3d up to 50 "
                      "times, which comes to 7.4e-7 where all values are equal; integers are exact"},
    .cuda = STAGE_CUDA(box_cuda),
};
