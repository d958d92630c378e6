/* SPDX-License-Identifier: Apache-2.0
 *
 * A window is separable: sums along z (3D alone), then down the rows and along each row. A 3D box first makes an
 * image of sums (means for floats) along z in scratch, and is a 2D box of it from there on. Rows are done in chunks
 * whose bounds follow from image and radius alone, so that neither threads nor slabs show in the bytes.
 */
#include "stages/filters/box.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/filters/box_loops.h"
#include "stages/filters/box_masked.h"
#include "stages/filters/integer_means.h"
#include "stages/filters/window_prefix.h"
#include "stages/filters/window_sum.h"

enum { DIRECT_RADIUS = (WINDOW_DIRECT_MAX - 1) / 2, WIDE_RADIUS = 640 };
/* Running sums: the rows of a chunk pay for its first window, which is at most half of them. */
enum { DIRECT_ROWS = 64, RUNNING_ROWS = 256 };

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
    if (params->method == BOX_AUTO) { /* as measured */
        const int64_t widest = context->in.dtype == TS_F32 ? 2 : 1;
        params->method = params->radius <= widest ? BOX_DIRECT : BOX_RUNNING_SUM;
    }
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static struct stage_reach box_reach(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return (struct stage_reach){.halo = params->dimensions == BOX_3D ? params->radius : 0,
                                .border = (enum ts_border)params->border,
                                .constant = params->constant};
}

/* ---- the run of one slab ------------------------------------------------------------------------ */

/* The work of one call: types, sizes, and where its parts of the scratch stand. */
struct box_run {
    const struct box_params *params;
    enum ts_dtype dtype;
    int64_t nz, ny, nx, radius, window;
    int64_t n_chunks;          /* of one slice */
    bool direct, volume;       /* volume: 3D */
    enum window_value value;   /* of the image that the 2D part reads */
    enum window_total z_total; /* of the sums along z */
    enum window_total total;   /* of the sums down the rows and along them */
    size_t value_bytes, total_bytes;
    double count;   /* samples of a window */
    double highest; /* magnitude of the dtype, integers only */
    double outside; /* total of a column outside the image, with border: constant */
    struct window_line plan;
    /* Offsets in the scratch; those after thread_bytes count from the start of a thread's part. */
    size_t z_sums, constant_row, threads, thread_bytes, line, spare, totals, prefix, sums, row_pointers, bytes;
};

static void choose_types(struct box_run *run)
{
    run->value = (enum window_value)run->dtype;
    if (run->dtype == TS_F32) {
        run->z_total = run->total = TOTAL_F32;
    } else {
        const bool wide = run->dtype == TS_U32 || run->dtype == TS_I32;
        run->highest = run->dtype == TS_U8 || run->dtype == TS_I8 ? 255 : 65535;
        run->z_total = wide ? TOTAL_I64 : TOTAL_I32;
        run->total = wide || run->count * run->highest > (double)INT32_MAX ? TOTAL_I64 : TOTAL_I32;
        if (run->volume)
            run->value = wide ? WINDOW_I64 : WINDOW_I32;
    }
    run->value_bytes = run->volume ? ts_window_total_bytes(run->z_total) : ts_dtype_bytes(run->dtype);
    run->total_bytes = ts_window_total_bytes(run->total);
}

static struct box_run box_describe(const struct stage_context *context, int64_t nz)
{
    const struct box_params *params = context->params;
    struct box_run run = {
        .params = params,
        .dtype = context->in.dtype,
        .nz = nz,
        .ny = context->in.axes[1].n,
        .nx = context->in.axes[2].n,
        .radius = params->radius,
        .window = 2 * params->radius + 1,
        .direct = params->method == BOX_DIRECT,
        .volume = params->dimensions == BOX_3D,
    };
    const double window = (double)run.window;
    run.count = run.volume ? window * window * window : window * window;
    int64_t rows = run.direct ? DIRECT_ROWS : 4 * run.radius > RUNNING_ROWS ? 4 * run.radius : RUNNING_ROWS;
    run.n_chunks = run.ny > rows ? run.ny / rows : 1;
    rows = (run.ny + run.n_chunks - 1) / run.n_chunks;
    run.outside = params->constant * (run.dtype == TS_F32 ? window : run.count / window);
    run.plan = ts_window_line_plan(run.window);
    choose_types(&run);

    const int64_t most = rows > nz ? rows : nz;
    size_t used = 0;
    run.line = ts_scratch_part(&used, run.nx + 2 * run.radius, 8);
    run.spare = ts_scratch_part(&used, run.nx + 2 * run.radius, 8);
    run.totals = ts_scratch_part(&used, run.nx, 8);
    run.prefix = ts_scratch_part(&used, 1, ts_window_prefix_bytes(run.nx, run.radius));
    run.sums = ts_scratch_part(&used, 1, ts_window_rows_bytes(run.window, run.nx, run.volume ? most : rows));
    run.row_pointers = ts_scratch_part(&used, most + 2 * run.radius, sizeof(void *));
    run.thread_bytes = used;
    used = 0;
    run.z_sums = ts_scratch_part(&used, run.volume ? nz * run.ny * run.nx : 0, run.value_bytes);
    run.constant_row = ts_scratch_part(&used, run.nx, 8);
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

/* Returns true for the methods of box_loops.c. */
static bool takes_loops(const struct box_params *params)
{
    return params->method == BOX_UNROLLED || params->method == BOX_SEPARABLE || params->method == BOX_TILE ||
           (params->method == BOX_DIRECT && params->radius > DIRECT_RADIUS);
}

struct masked_window ts_box_masked_window(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return (struct masked_window){.radius = {box_reach(context).halo, params->radius, params->radius},
                                  .border = (enum ts_border)params->border,
                                  .constant = params->constant};
}

/* Returns the bytes of scratch for an image without invalid pixels. */
static size_t whole_bytes(const struct stage_context *context, int64_t n)
{
    return takes_loops(context->params) ? ts_box_loops_scratch_bytes(context, n) : box_describe(context, n).bytes;
}

static size_t box_scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct masked_window window = ts_box_masked_window(context);
    if (context->in.masked && !ts_box_mends(context))
        return ts_masked_means_bytes(context, &window);
    return (whole_bytes(context, n) + 63) / 64 * 64 + (context->in.masked ? ts_box_mend_bytes(context) : 0);
}

static void set_constant(void *data, enum window_value value, double constant, int64_t n)
{
    if (value != WINDOW_I64)
        ts_constant_fill(data, (enum ts_dtype)value, constant, n);
    else
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)data)[i] = (int64_t)constant;
}

static void *thread_part(const struct box_run *run, char *scratch, size_t part)
{
    return scratch + run->threads + (size_t)omp_get_thread_num() * run->thread_bytes + part;
}

/* Sums row y of all slices along z, to z_sums. */
static void sum_along_z(const struct box_run *run, const struct ts_image *in, int64_t z_first, int64_t y, char *scratch)
{
    const void **rows = thread_part(run, scratch, run->row_pointers);
    struct window_rows sums;
    ts_window_rows_init(&sums, (enum window_value)run->dtype, run->z_total, run->direct, run->window, run->nx,
                        1.0 / (double)run->window, thread_part(run, scratch, run->sums));
    for (int64_t k = 0; k < run->nz + 2 * run->radius; k++)
        rows[k] = (const char *)ts_slice_data(in, k) + (size_t)(y * run->nx) * ts_dtype_bytes(run->dtype);
    for (int64_t z = 0; z < run->nz; z++)
        ts_window_rows_step(&sums, rows, z_first, z, run->nz,
                            scratch + run->z_sums + (size_t)((z * run->ny + y) * run->nx) * run->value_bytes);
}

static void store_row(const struct box_run *run, const void *sums, void *out)
{
    ts_integer_means(run->dtype, run->total, (int64_t)run->count, run->highest * run->count, sums, out, run->nx);
}

/* Does rows [y_first, y_end) of one slice by sums that never subtract: floats within 1e-6, NaN where it belongs. */
static void direct_chunk(const struct box_run *run, const void *const *rows, int64_t y_first, int64_t y_end, char *out,
                         char *scratch)
{
    const size_t out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    char *line = thread_part(run, scratch, run->line), *spare = thread_part(run, scratch, run->spare);
    char *totals = thread_part(run, scratch, run->totals);
    char *middle = line + (size_t)run->radius * run->total_bytes;
    const double window = (double)run->window;
    const double outside = run->dtype == TS_F32 ? run->outside / (window * window) : run->outside;
    struct window_rows sums;
    ts_window_rows_init(&sums, run->value, run->total, run->direct, run->window, run->nx, 1.0 / (window * window),
                        thread_part(run, scratch, run->sums));
    for (int64_t y = y_first; y < y_end; y++) {
        char *out_row = out + (size_t)y * out_bytes;
        ts_window_rows_step(&sums, rows, y_first, y - y_first, y_end - y_first, middle);
        ts_window_extend(run->total, middle, run->nx, run->radius, (enum ts_border)run->params->border, outside);
        ts_window_line(run->total, &run->plan, line, spare, run->nx, run->total == TOTAL_F32 ? out_row : totals);
        if (run->total != TOTAL_F32)
            store_row(run, totals, out_row);
    }
}

/* Copies the row without its NaN and infinities. */
TS_VECTORIZED static const float *finite_row(const float *restrict row, float *restrict finite, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        finite[x] = fabsf(row[x]) <= FLT_MAX ? row[x] : 0;
    return finite;
}

/* Does rows [y_first, y_end) of one slice by running sums. With `merge` NaN and infinities count as 0, and it writes
 * only where out is finite. Returns whether all samples were finite. */
static bool running_chunk(const struct box_run *run, const void *const *rows, int64_t y_first, int64_t y_end, char *out,
                          bool merge, char *scratch)
{
    enum { ADDED = 4 }; /* rows at a time */
    const size_t out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    const double scale = 1.0 / (double)(run->window * run->window);
    char *totals = thread_part(run, scratch, run->totals);
    float *finite = thread_part(run, scratch, run->line), *more = thread_part(run, scratch, run->spare);
    struct window_prefix sums;
    ts_window_prefix_init(&sums, run->value, run->total, run->nx, run->radius, (enum ts_border)run->params->border,
                          run->outside, thread_part(run, scratch, run->prefix));
    ts_window_prefix_clear(&sums);
    for (int64_t k = 0, n = 1; k < run->window; k += n) {
        const void *const cleaned = merge ? finite_row(rows[k], finite, run->nx) : NULL;
        n = merge ? 1 : run->window - k < ADDED ? run->window - k : ADDED;
        ts_window_prefix_add(&sums, merge ? &cleaned : rows + k, n);
    }
    ts_window_prefix_start(&sums);
    for (int64_t y = y_first; y < y_end; y++) {
        char *out_row = out + (size_t)y * out_bytes;
        if (y > y_first) {
            const void *leaving = rows[y - y_first - 1], *entering = rows[y - y_first - 1 + run->window];
            ts_window_prefix_slide(&sums, merge ? finite_row(entering, finite, run->nx) : entering,
                                   merge ? finite_row(leaving, more, run->nx) : leaving);
        }
        if (run->total == TOTAL_F32) {
            ts_window_prefix_means(&sums, scale, merge, (float *)out_row);
        } else {
            ts_window_prefix_sums(&sums, totals);
            store_row(run, totals, out_row);
        }
    }
    return run->total != TOTAL_F32 || ts_window_prefix_finite(&sums);
}

/* Does chunk number `chunk` of one slice. */
static void box_chunk(const struct box_run *run, const char *slice, int64_t chunk, char *out, char *scratch)
{
    const size_t row_bytes = (size_t)run->nx * run->value_bytes;
    const int64_t y_first = run->ny * chunk / run->n_chunks, y_end = run->ny * (chunk + 1) / run->n_chunks;
    const void **rows = thread_part(run, scratch, run->row_pointers);
    for (int64_t k = 0; k < y_end - y_first + 2 * run->radius; k++) {
        const int64_t y = ts_border_index(y_first - run->radius + k, run->ny, (enum ts_border)run->params->border);
        rows[k] = y < 0 ? scratch + run->constant_row : slice + (size_t)y * row_bytes;
    }
    if (!run->direct && running_chunk(run, rows, y_first, y_end, out, false, scratch))
        return;
    direct_chunk(run, rows, y_first, y_end, out, scratch);
    /* A finite value must be the same whether or not there is a NaN elsewhere. */
    if (!run->direct)
        running_chunk(run, rows, y_first, y_end, out, true, scratch);
}

/* Maps a slab as one without invalid pixels. */
static void map_whole(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                      void *scratch)
{
    if (takes_loops(context->params)) {
        ts_box_loops_map(context, in, out, scratch);
        return;
    }
    const struct box_run run = box_describe(context, out->axes[0].n);
    set_constant((char *)scratch + run.constant_row, run.value,
                 run.params->constant * (run.volume && run.dtype != TS_F32 ? (double)run.window : 1.0), run.nx);
    if (run.volume) {
#pragma omp parallel for num_threads(context->threads)
        for (int64_t y = 0; y < run.ny; y++)
            sum_along_z(&run, in, out->z_first, y, scratch);
    }
#pragma omp parallel for num_threads(context->threads)
    for (int64_t item = 0; item < run.nz * run.n_chunks; item++) {
        const int64_t z = item / run.n_chunks;
        const char *slice = run.volume ? (char *)scratch + run.z_sums + (size_t)(z * run.ny * run.nx) * run.value_bytes
                                       : ts_slice_data(in, z);
        box_chunk(&run, slice, item % run.n_chunks, ts_slice_data(out, z), scratch);
    }
}

static enum ts_status box_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              void *scratch)
{
    const struct masked_window window = ts_box_masked_window(context);
    if (context->in.masked && !ts_box_mends(context)) {
        ts_masked_means(context, &window, in, out, scratch);
        return TS_OK;
    }
    map_whole(context, in, out, scratch);
    if (context->in.masked)
        ts_box_mend(context, in, out, (char *)scratch + (whole_bytes(context, out->axes[0].n) + 63) / 64 * 64);
    return TS_OK;
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
    "window, whatever `method` says: sums of values and of pixels in double, divided, and integers are rounded to the "
    "nearest, the even one of two. An invalid pixel keeps its value.\n"
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
    .scratch_bytes = box_scratch_bytes,
    .map = box_map,
    .validity = VALIDITY_SAME,
    .tolerance = {.relative = 1e-6,
                  .why =
                      "direct float sums round at most 16 times in a row (2^-24 each), those of fused in 3d up to 50 "
                      "times, which comes to 7.4e-7 where all values are equal; integers are exact"},
    .cuda = STAGE_CUDA(box_cuda),
};
