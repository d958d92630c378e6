/* SPDX-License-Identifier: Apache-2.0
 *
 * A window is separable: sums along z (3D alone), then down the rows, then along each row. A 3D box first makes an
 * image of sums (means for floats) along z in scratch, and is a 2D box of it from there on. Rows are done in chunks
 * whose bounds are multiples of the window, so that neither threads nor slabs show in the bytes.
 */
#include "stages/box.h"

#include <float.h>
#include <omp.h>
#include <string.h>

#include "stages/common/border.h"
#include "stages/common/window_sum.h"
#include "stages/execute.h"

enum { DIRECT_RADIUS = (WINDOW_DIRECT_MAX - 1) / 2, CHUNK_ROWS = 64, WIDE_RADIUS = 640 };

static const struct choice dimension_choices[] = {
    {"2d", BOX_2D, "along y and x, slice by slice"},
    {"3d", BOX_3D, "along z, y and x, in samples: not corrected for their spacing"},
    {NULL, 0, NULL},
};
static const struct choice method_choices[] = {
    {"auto", BOX_AUTO, "the faster one for the radius"},
    {"direct", BOX_DIRECT, "adds the samples of each window anew; for a radius of at most 4"},
    {"running-sum", BOX_RUNNING_SUM, "carries sums from row to row; the cost does not depend on the radius"},
    {NULL, 0, NULL},
};

static const struct param box_rows[] = {
    PARAM(struct box_params, radius, .unit = "pixel", .required = true, .min = 0, .max = 1024,
          .doc = "half width: the window is 2 radius + 1 samples along each axis"),
    PARAM(struct box_params, dimensions, .unit = "", .choices = dimension_choices, .init.choice = BOX_2D,
          .doc = "the axes that the window covers"),
    PARAM(struct box_params, border, .unit = "", .choices = ts_border_choices, .init.choice = BORDER_REFLECT,
          .doc = TS_BORDER_DOC),
    PARAM(struct box_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX, .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
    PARAM(struct box_params, method, .unit = "", .choices = method_choices, .init.choice = BOX_AUTO,
          .doc = "how the sums are made; integer results are the same for both"),
};

static enum ts_status box_resolve(const struct stage_context *context, void *values)
{
    struct box_params *params = values;
    if (params->method == BOX_DIRECT && params->radius > DIRECT_RADIUS)
        return ts_param_error(context->set, "method", "method-radius", context->diag,
                              "direct is for a radius of at most %d pixel, and radius is %lld", DIRECT_RADIUS,
                              (long long)params->radius);
    /* (2 * 640 + 1)^3 samples of 32 bits just fit a 64-bit sum. */
    const bool wide = context->in.dtype == TS_U32 || context->in.dtype == TS_I32;
    if (wide && params->dimensions == BOX_3D && params->radius > WIDE_RADIUS)
        return ts_param_error(context->set, "radius", "radius-sum", context->diag,
                              "%lld is outside [0, %d] pixel for a 3d window over %s, whose sum must fit 64 bits",
                              (long long)params->radius, WIDE_RADIUS, ts_dtype_name(context->in.dtype));
    if (params->method == BOX_AUTO)
        params->method = params->radius <= DIRECT_RADIUS ? BOX_DIRECT : BOX_RUNNING_SUM;
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

/* What one call works with: types, sizes, and where its parts of the scratch stand. */
struct box_run {
    const struct box_params *params;
    enum ts_dtype dtype;
    int64_t nz, ny, nx, radius, window;
    int64_t chunk, n_chunks;   /* rows of one, and of one slice */
    bool direct, volume;       /* volume: 3D */
    enum window_value value;   /* of the image that the 2D part reads */
    enum window_total z_total; /* of the sums along z */
    enum window_total total;   /* of the sums down the rows and along them */
    size_t value_bytes, total_bytes;
    double count;
    /* Offsets in the scratch; those after thread_bytes count from the start of a thread's part. */
    size_t z_sums, constant_row, edges, threads, thread_bytes, line, totals, sums, row_pointers, bytes;
};

static size_t take(size_t *used, int64_t count, size_t bytes)
{
    const size_t at = *used;
    *used += ((size_t)count * bytes + 63) & ~(size_t)63;
    return at;
}

static void choose_types(struct box_run *run)
{
    run->value = (enum window_value)run->dtype;
    if (run->dtype == TS_F32) {
        run->z_total = run->total = TOTAL_F32;
    } else {
        const bool wide = run->dtype == TS_U32 || run->dtype == TS_I32;
        const double largest = run->dtype == TS_U8 || run->dtype == TS_I8 ? 255.0 : 65535.0;
        run->z_total = wide ? TOTAL_I64 : TOTAL_I32;
        run->total = wide || run->count * largest > (double)INT32_MAX ? TOTAL_I64 : TOTAL_I32;
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
    run.chunk = (CHUNK_ROWS + run.window - 1) / run.window * run.window;
    run.n_chunks = (run.ny + run.chunk - 1) / run.chunk;
    choose_types(&run);

    const int64_t rows = run.chunk < run.ny ? run.chunk : run.ny, most = rows > nz ? rows : nz;
    size_t used = 0;
    run.line = take(&used, run.nx + 2 * run.radius, 8);
    run.totals = take(&used, run.nx, 8);
    run.sums = take(&used, 1, ts_window_rows_bytes(run.window, run.nx, run.volume ? most : rows));
    run.row_pointers = take(&used, most + 2 * run.radius, sizeof(void *));
    run.thread_bytes = used;
    used = 0;
    run.z_sums = take(&used, run.volume ? nz * run.ny * run.nx : 0, run.value_bytes);
    run.constant_row = take(&used, run.nx, 8);
    run.edges = take(&used, 2 * run.radius, sizeof(int64_t));
    run.threads = take(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

static size_t box_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return box_describe(context, n).bytes;
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

/* Sums along z of row y of all slices, to z_sums. */
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

/* Integer means: the nearest integer, and never a tie because the number of samples is odd. In double the quotient of a
 * 32-bit sum is far closer to the truth than the 1/(2N) that keeps it off a tie. */
#define STORE_NARROW(NAME, TYPE)                                                                                       \
    TS_VECTORIZED static void store_narrow_##NAME(TYPE *restrict out, const int32_t *restrict sums, double scale,      \
                                                  int64_t n)                                                           \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] = (TYPE)(int32_t)rint(sums[x] * scale);                                                             \
    }
STORE_NARROW(U8, uint8_t)
STORE_NARROW(I8, int8_t)
STORE_NARROW(U16, uint16_t)
STORE_NARROW(I16, int16_t)

/* 64-bit sums: the quotient in double may be off by one, the remainder says so. */
static int64_t divide_nearest(int64_t sum, int64_t count)
{
    int64_t quotient = (int64_t)rint((double)sum / (double)count);
    const int64_t twice = 2 * (sum - quotient * count);
    return twice > count ? quotient + 1 : twice < -count ? quotient - 1 : quotient;
}

static void store_row(const struct box_run *run, const void *sums, void *out)
{
    const int64_t n = run->nx, count = (int64_t)run->count;
    const double scale = 1.0 / run->count;
#define WIDE(NAME, TYPE)                                                                                               \
    case TS_##NAME:                                                                                                    \
        for (int64_t x = 0; x < n; x++)                                                                                \
            ((TYPE *)out)[x] = (TYPE)divide_nearest(((const int64_t *)sums)[x], count);                                \
        return;
#define NARROW(NAME)                                                                                                   \
    case TS_##NAME:                                                                                                    \
        store_narrow_##NAME(out, sums, scale, n);                                                                      \
        return;
    if (run->total == TOTAL_I64)
        switch (run->dtype) {
            TS_IMAGE_DTYPES(WIDE)
        default:
            return;
        }
    switch (run->dtype) {
        NARROW(U8)
        NARROW(I8)
        NARROW(U16)
        NARROW(I16)
    default:
        return;
    }
#undef WIDE
#undef NARROW
}

/* The sums outside the image, on both sides of those of one row. */
static void extend_line(const struct box_run *run, const char *scratch, void *line)
{
    const int64_t *edges = (const int64_t *)(scratch + run->edges);
    const double outside = run->params->constant * (run->total == TOTAL_F32 ? 1.0 / (double)run->window
                                                    : run->volume           ? (double)(run->window * run->window)
                                                                            : (double)run->window);
#define EXTEND(TYPE)                                                                                                   \
    for (int64_t i = 0; i < 2 * run->radius; i++) {                                                                    \
        TYPE *samples = (TYPE *)line + run->radius;                                                                    \
        samples[i < run->radius ? i - run->radius : run->nx + i - run->radius] =                                       \
            edges[i] < 0 ? (TYPE)outside : samples[edges[i]];                                                          \
    }
    if (run->total == TOTAL_F32) {
        EXTEND(float)
    } else if (run->total == TOTAL_I32) {
        EXTEND(int32_t)
    } else {
        EXTEND(int64_t)
    }
#undef EXTEND
}

/* Rows [y_first, y_end) of one slice. */
static void box_chunk(const struct box_run *run, const char *slice, int64_t y_first, int64_t y_end, char *out,
                      char *scratch)
{
    const size_t row_bytes = (size_t)run->nx * run->value_bytes,
                 out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    const void **rows = thread_part(run, scratch, run->row_pointers);
    char *line = thread_part(run, scratch, run->line);
    struct window_rows sums;
    ts_window_rows_init(&sums, run->value, run->total, run->direct, run->window, run->nx,
                        1.0 / (double)(run->window * run->window), thread_part(run, scratch, run->sums));
    for (int64_t k = 0; k < y_end - y_first + 2 * run->radius; k++) {
        const int64_t y = ts_border_index(y_first - run->radius + k, run->ny, (enum ts_border)run->params->border);
        rows[k] = y < 0 ? scratch + run->constant_row : slice + (size_t)y * row_bytes;
    }
    for (int64_t y = y_first; y < y_end; y++) {
        char *out_row = out + (size_t)y * out_bytes;
        ts_window_rows_step(&sums, rows, y_first, y - y_first, y_end - y_first,
                            line + (size_t)run->radius * run->total_bytes);
        extend_line(run, scratch, line);
        if (run->total == TOTAL_F32) {
            ts_window_line(run->total, line, run->window, run->nx, out_row);
        } else {
            ts_window_line(run->total, line, run->window, run->nx, thread_part(run, scratch, run->totals));
            store_row(run, thread_part(run, scratch, run->totals), out_row);
        }
    }
}

static enum ts_status box_cpu(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              void *scratch)
{
    const struct box_run run = box_describe(context, out->axes[0].n);
    const enum ts_border border = (enum ts_border)run.params->border;
    int64_t *edges = (int64_t *)((char *)scratch + run.edges);
    ts_border_fill(edges, -run.radius, run.radius, run.nx, border);
    ts_border_fill(edges + run.radius, run.nx, run.radius, run.nx, border);
    set_constant((char *)scratch + run.constant_row, run.value,
                 run.params->constant * (run.volume && run.dtype != TS_F32 ? (double)run.window : 1.0), run.nx);
    if (run.volume) {
#pragma omp parallel for num_threads(context->threads)
        for (int64_t y = 0; y < run.ny; y++)
            sum_along_z(&run, in, out->z_first, y, scratch);
    }
#pragma omp parallel for num_threads(context->threads)
    for (int64_t item = 0; item < run.nz * run.n_chunks; item++) {
        const int64_t z = item / run.n_chunks, y = item % run.n_chunks * run.chunk;
        const char *slice = run.volume ? (char *)scratch + run.z_sums + (size_t)(z * run.ny * run.nx) * run.value_bytes
                                       : ts_slice_data(in, z);
        box_chunk(&run, slice, y, y + run.chunk < run.ny ? y + run.chunk : run.ny, ts_slice_data(out, z), scratch);
    }
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
    "odd). "
    "Floats: within 1e-6 of the largest magnitude in the image; a NaN or an infinity shows in the windows that contain "
    "it and "
    "nowhere else; sums of up to 9 rows are made in float, so magnitudes above 3e37 overflow.\n"
    "\n"
    "**Cost.** Sums are separable. Down the rows `direct` adds the rows of each window; `running-sum` takes a fixed "
    "number of "
    "additions for any radius. Along a row windows up to 9 are added directly, wider ones by doubling (sums of 1, 2, "
    "4, ... "
    "samples: log2 of the window).\n"
    "\n"
    "**Source.** Running sums: M. J. McDonnell, Box-filtering techniques, 1981. Blocks in place of subtraction, for "
    "floats: M. van Herk, A fast algorithm for local minimum and maximum filters, 1992.";

const struct stage box_stage = {
    .name = "box",
    .summary = "mean over a square or cubic window",
    .doc = box_doc,
    .axes = AXES_VOLUME | AXES_SINOGRAM,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    .params = box_rows,
    .n_params = sizeof box_rows / sizeof *box_rows,
    .params_bytes = sizeof(struct box_params),
    .resolve = box_resolve,
    .reach = box_reach,
    .scratch_bytes = box_scratch_bytes,
    .cpu = box_cpu,
    .tolerance = {.relative = 1e-6,
                  .why = "float sums round at most 16 times in a row (2^-24 each); integers are exact"},
};
