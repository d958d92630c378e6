/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian is separable: sums along z (only in 3D), then down the rows, then along each row. A 3D
 * filter first makes an image of sums along z in scratch, and is a 2D filter of it from there on.
 * In every pass the samples of a window are in rows of floats, so that the same loop over rows
 * makes the sums of all three: along x the rows are one row, shifted. Sums are made in float in a
 * fixed order, which neither threads nor slabs change.
 *
 * A masked image is filtered twice: with 0 in place of invalid pixels, and then as 1 if it is valid
 * and else 0, which gives the weights of the valid pixels; the first result is divided by these.
 * Chunks of rows without an invalid pixel in their windows need no second filter.
 */
#include "stages/filters/gaussian.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/description.h"
#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/transpose.h"
#include "stages/engine/validity.h"

enum {
    SUM_ROWS = 4,    /* rows of sums that are made at once */
    SUM_VECTORS = 4, /* most vectors of each of them */
    BEYOND = TS_VECTOR_MOST_BYTES / (int)sizeof(float),
    CHUNK_ROWS = 64,
    CACHE_LINE = 64,
    WORD = 64,
};

static const struct choice unit_choices[] = {
    {"pixel", GAUSSIAN_PIXEL, "samples of the axis, whatever their spacing"},
    {"mm", GAUSSIAN_MM, "millimeters, which the spacing of each axis turns into samples"},
    {NULL, 0, NULL},
};
static const struct choice dimension_choices[] = {
    {"2d", GAUSSIAN_2D, "along y and x, slice by slice"},
    {"3d", GAUSSIAN_3D, "along z, y and x"},
    {NULL, 0, NULL},
};
static const struct choice method_choices[] = {
    {"auto", GAUSSIAN_AUTO, "what was measured as fastest"},
    {"separable", GAUSSIAN_SEPARABLE, "one pass an axis"},
    {"fused", GAUSSIAN_FUSED,
     "reads and writes each pixel once; for a radius of at most 8 along each axis", ON_CUDA},
    {NULL, 0, NULL},
};

static const struct param gaussian_params[] = {
    PARAM(struct gaussian_params, sigma, .unit = "", .required = true, .min = 0, .max = 1e6,
          .doc = "standard deviation of the Gaussian in `unit`: one number for all axes, or one "
                 "for each, [x, y] in 2d and [x, y, z] in 3d; 0 leaves an axis as it is"),
    PARAM(struct gaussian_params, unit, .unit = "", .choices = unit_choices,
          .init.choice = GAUSSIAN_PIXEL, .doc = "the unit of `sigma`"),
    PARAM(struct gaussian_params, dimensions, .unit = "", .choices = dimension_choices,
          .init.choice = GAUSSIAN_2D, .doc = "the axes that are smoothed"),
    PARAM(struct gaussian_params, truncate, .unit = "1", .init.r = 4, .min = 0, .max = 8,
          .doc = "where the Gaussian is cut off: its radius is floor(truncate * sigma + 1/2) "
                 "samples, at most 1024"),
    PARAM(struct gaussian_params, border, .unit = "", .choices = ts_border_choices,
          .init.choice = BORDER_REFLECT, .doc = TS_BORDER_DOC),
    PARAM(struct gaussian_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX,
          .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
    PARAM(struct gaussian_params, method, .unit = "", .choices = method_choices,
          .init.choice = GAUSSIAN_AUTO, .doc = "how the sums are made"),
};

STAGE_PARAMS_OF(gaussian_params)

/* ---- plan ------------------------------------------------------------------------------------ */

struct gaussian_line ts_gaussian_line(const struct stage_context *context, int axis)
{
    const struct gaussian_params *params = params_of(context);
    if (axis == 0 && params->dimensions == GAUSSIAN_2D)
        return (struct gaussian_line){0, 0};
    double sigma = params->sigma.values[params->sigma.columns == 1 ? 0 : 2 - axis];
    if (params->unit == GAUSSIAN_MM)
        sigma /= ts_axis_spacing(&context->in.axes[axis]);
    return (struct gaussian_line){sigma, (int64_t)(params->truncate * sigma + 0.5)};
}

void ts_gaussian_weights(struct gaussian_line line, float *weights)
{
    const double factor = -0.5 / (line.sigma * line.sigma);
    float *middle = weights + line.radius;
    double sum = 1;
    middle[0] = 1; /* the only weight if sigma is 0 */
    for (int64_t k = line.radius; k > 0; k--)
        sum += 2 * exp(factor * (double)(k * k));
    for (int64_t k = 0; k <= line.radius && line.radius > 0; k++)
        middle[k] = middle[-k] = (float)(exp(factor * (double)(k * k)) / sum);
}

/* Checks whether a CUDA device has a kernel of the method `fused`, which the window, the size of a
 * slice or its shared memory may prevent. If `report`, it reports the reason. */
static enum ts_status check_fused(const struct stage_context *context, bool report)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const bool large = ny > INT32_MAX / 2 / nx,
               small = context->device->block_shared_bytes < GAUSSIAN_FUSED_BYTES;
    int64_t radius = 0;
    for (int axis = 0; axis < 3; axis++)
        if (ts_gaussian_line(context, axis).radius > radius)
            radius = ts_gaussian_line(context, axis).radius;
    if (radius <= GAUSSIAN_FUSED_RADIUS && !large && !small)
        return TS_OK;
    if (!report)
        return TS_BAD_CHAIN;
    if (radius > GAUSSIAN_FUSED_RADIUS)
        return ts_param_error(context->set, "method", "method-radius", context->diag,
                              "fused is for a radius of at most %d pixel, and the radius is %lld",
                              GAUSSIAN_FUSED_RADIUS, (long long)radius);
    if (large)
        return ts_param_error(
            context->set, "method", "method-size", context->diag,
            "fused counts the pixels of a slice in 31 bits, and a slice has %lld x %lld",
            (long long)ny, (long long)nx);
    return ts_param_error(
        context->set, "method", "method-shared-memory", context->diag,
        "the tiles of fused take %d bytes of shared memory, and a block of %s has %d",
        GAUSSIAN_FUSED_BYTES, context->device->name, context->device->block_shared_bytes);
}

static enum ts_status gaussian_resolve(const struct stage_context *context, void *values)
{
    struct gaussian_params *params = values;
    const bool volume = params->dimensions == GAUSSIAN_3D;
    const int64_t n_axes = volume ? 3 : 2, n = params->sigma.columns;
    const long long given = params->sigma.rows * n;
    if (params->sigma.rows != 1 || (n != 1 && n != n_axes))
        return ts_param_error(context->set, "sigma", "sigma-count", context->diag,
                              "%lld numbers; expected one for all axes, or %s", given,
                              volume ? "three, [x, y, z]" : "two, [x, y]");
    for (int axis = volume ? 0 : 1; axis < 3; axis++) {
        const struct ts_axis *of = &context->in.axes[axis];
        if (params->unit == GAUSSIAN_MM && !(ts_axis_mm(of) > 0)) {
            ts_param_error(context->set, "unit", "sigma-unit", context->diag,
                           "mm needs evenly spaced samples whose distance is known in mm, and axis "
                           "%s has none",
                           ts_axis_name(of));
            return ts_diag_hint(context->diag, "`unit: pixel` needs no distance");
        }
        const struct gaussian_line line = ts_gaussian_line(context, axis);
        if (!(params->truncate * line.sigma + 0.5 < GAUSSIAN_MAX_RADIUS + 1))
            return ts_param_error(context->set, "sigma", "sigma-radius", context->diag,
                                  "%g pixel along %s, cut off at %g times of it, is more than the "
                                  "%d pixel on each side that a window may have",
                                  line.sigma, ts_axis_name(of), params->truncate,
                                  GAUSSIAN_MAX_RADIUS);
    }
    if (context->device && params->method == GAUSSIAN_FUSED && check_fused(context, true) != TS_OK)
        return TS_BAD_CHAIN;
    if (params->method == GAUSSIAN_AUTO)
        params->method = context->device && check_fused(context, false) == TS_OK
                             ? GAUSSIAN_FUSED
                             : GAUSSIAN_SEPARABLE;
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static enum ts_status gaussian_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

static struct stage_reach gaussian_reach(const struct stage_context *context)
{
    const struct gaussian_params *params = params_of(context);
    return (struct stage_reach){.halo = ts_gaussian_line(context, 0).radius,
                                .border = (enum ts_border)params->border,
                                .constant = params->constant};
}

/* ---- run ------------------------------------------------------------------------------------- */

/* The work of one call, and the places of its parts in the scratch. */
struct gaussian_run {
    const struct gaussian_params *params;
    int64_t nz, ny, nx, radius[3], rows; /* rows: rows of a chunk */
    int64_t ring_row, line; /* floats from row to row of a ring, and of extended rows */
    size_t weights[3], outside, z_sums, threads, thread_bytes, bytes;
    size_t ring, lines, pointers, found, kept; /* offsets in a thread's part */
    bool of_weights;                           /* true in the second filter of a masked image */
    float beside[2]; /* values outside: of the rows of a slice, and beside a sum of them */
    float whole;     /* the rounded weight of a window without invalid pixels */
};

static struct gaussian_run gaussian_describe(const struct stage_context *context, int64_t nz)
{
    struct gaussian_run run = {.params = context->params,
                               .nz = nz,
                               .ny = context->in.axes[1].n,
                               .nx = context->in.axes[2].n};
    size_t used = 0;
    for (int axis = 0; axis < 3; axis++) {
        run.radius[axis] = ts_gaussian_line(context, axis).radius;
        run.weights[axis] = ts_scratch_part(&used, 2 * run.radius[axis] + 1, sizeof(float));
    }
    run.outside = ts_scratch_part(&used, 2 * run.radius[2], sizeof(int64_t));
    run.rows = run.radius[1] > CHUNK_ROWS / 2 ? 2 * run.radius[1] : CHUNK_ROWS;
    run.z_sums =
        ts_scratch_part(&used, run.radius[0] > 0 ? nz * run.ny * run.nx : 0, sizeof(float));
    run.threads = used;
    const int64_t held =
        2 * (run.radius[0] > run.radius[1] ? run.radius[0] : run.radius[1]) + SUM_ROWS;
    size_t own = 0;
    run.ring_row = run.nx + BEYOND;
    run.line = run.nx + 2 * run.radius[2] + BEYOND;
    run.ring = ts_scratch_part(&own, held * run.ring_row, sizeof(float));
    run.lines = ts_scratch_part(&own, SUM_ROWS * run.line, sizeof(float));
    run.pointers = ts_scratch_part(&own, held, sizeof(float *));
    run.found = ts_scratch_part(&own, context->in.masked ? run.nx : 0, sizeof(float));
    run.kept = ts_scratch_part(&own, context->in.masked ? run.nx : 0, sizeof(float));
    run.beside[0] = run.beside[1] = (float)run.params->constant;
    run.thread_bytes = own;
    ts_scratch_part(&used, context->threads, own);
    run.bytes = used;
    return run;
}

static size_t gaussian_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return gaussian_describe(context, n).bytes;
}

/* Where the sums down the rows go: n rows, at most SUM_ROWS. Meanwhile the samples of the next
 * rows, with this many bytes each, are fetched. */
struct row_sums {
    float *out;
    int64_t stride, n;
    const char *ahead[SUM_ROWS];
    int64_t element;
};

#define TS_LOOPS "stages/filters/gaussian_sums.inc"
#include "core/vectors.inc"

static char *own_part(const struct gaussian_run *run, char *scratch)
{
    return scratch + run->threads + (size_t)omp_get_thread_num() * run->thread_bytes;
}

/* Returns the row of the ring for sample i of axis 0 or 1. */
static float *ring_row(const struct gaussian_run *run, int axis, int64_t i, char *own)
{
    return (float *)(own + run->ring) + i % (2 * run->radius[axis] + SUM_ROWS) * run->ring_row;
}

/* Sums the rows of the ring along axis 0 or 1, starting with sample `first`. */
static void sum_ring(const struct gaussian_run *run, int axis, int64_t first, char *scratch,
                     const struct row_sums *to)
{
    char *own = own_part(run, scratch);
    const float **rows = (const float **)(own + run->pointers);
    for (int64_t k = 0; k < 2 * run->radius[axis] + SUM_ROWS; k++)
        rows[k] = ring_row(run, axis, first + k, own);
    TS_WIDEST(gaussian_down)
    (rows, 2 * run->radius[axis] + 1, (const float *)(scratch + run->weights[axis]), run->nx, to);
}

/* Loads row y of a slice with 0 in place of invalid pixels; for weights, valid pixels become 1. */
static void load_samples(const struct gaussian_run *run, const struct ts_image *in, int64_t slice,
                         int64_t y, float *row)
{
    const size_t first = (size_t)(y * run->nx), n = (size_t)run->nx;
    if (run->of_weights)
        ts_constant_fill(row, TS_F32, 1, run->nx);
    else
        ts_load_f32(row, (const char *)ts_slice_data(in, slice) + first * ts_dtype_bytes(in->dtype),
                    in->dtype, n);
    ts_valid_fill_floats(in->valid ? ts_slice_valid(in, slice) : NULL, first, n, 0, row);
}

/* Sums row y of every slice along z. Rows of sums with the same y follow one another in scratch. */
static void sum_along_z(const struct gaussian_run *run, const struct ts_image *in, int64_t y,
                        char *scratch)
{
    const int64_t halo = 2 * run->radius[0], bytes = (int64_t)ts_dtype_bytes(in->dtype);
    int64_t loaded = 0;
    for (int64_t z = 0; z < run->nz; z += SUM_ROWS) {
        struct row_sums to = {.out = (float *)(scratch + run->z_sums) + (y * run->nz + z) * run->nx,
                              .stride = run->nx,
                              .n = run->nz - z < SUM_ROWS ? run->nz - z : SUM_ROWS,
                              .element = bytes};
        for (; loaded < z + to.n + halo; loaded++)
            load_samples(run, in, loaded, y, ring_row(run, 0, loaded, own_part(run, scratch)));
        for (int64_t s = 0; s < SUM_ROWS; s++)
            to.ahead[s] =
                (const char *)ts_slice_data(in, loaded + s < run->nz + halo ? loaded + s : 0) +
                y * run->nx * bytes;
        sum_ring(run, 0, z, scratch, &to);
    }
}

/* A slice whose rows are `stride` bytes apart: slice z of the input, or of the sums along z. */
struct rows_of_slice {
    const char *first;
    int64_t stride, element, z;
    const struct ts_image *in; /* NULL: these are sums */
};

/* Loads row y of a slice, which may be outside. */
static void load_row(const struct gaussian_run *run, const struct rows_of_slice *slice, int64_t y,
                     float *row)
{
    const int64_t from = ts_border_index(y, run->ny, (enum ts_border)run->params->border);
    if (from < 0)
        ts_constant_fill(row, TS_F32, (double)run->beside[0], run->nx);
    else if (slice->in)
        load_samples(run, slice->in, slice->z, from, row);
    else
        memcpy(row, slice->first + from * slice->stride, (size_t)run->nx * sizeof *row);
}

/* Extends a row on both sides by the samples that replace those outside; an index of -1 means the
 * constant. */
static void extend_line(const struct gaussian_run *run, const int64_t *outside, float *inside)
{
    const int64_t half = run->radius[2];
    for (int64_t i = 0; i < 2 * half; i++)
        inside[i < half ? i - half : run->nx + i - half] =
            outside[i] < 0 ? run->beside[1] : inside[outside[i]];
}

/* Divides a row by the weights of the valid pixels of its windows. A window without invalid
 * pixels has the weight `whole` and keeps its value, so its bytes are those of an image without
 * a mask. */
TS_VECTORIZED static void divide(float *restrict out, const float *restrict weights, float whole,
                                 int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = weights[x] == whole ? out[x] : out[x] / weights[x];
}

/* Divides row y of output slice z by the weights of its windows. Invalid pixels get the input's
 * values. */
TS_VECTORIZED static void finish_row(const struct gaussian_run *run, const struct ts_image *in,
                                     int64_t z, int64_t y, float *out, char *own)
{
    const int64_t slice = z + run->radius[0];
    const uint64_t *valid = ts_slice_valid(in, slice);
    const size_t first = (size_t)(y * run->nx), n = (size_t)run->nx;
    float *kept = (float *)(own + run->kept);
    divide(out, (const float *)(own + run->found), run->whole, run->nx);
    if (ts_valid_all(valid, first, n))
        return;
    ts_load_f32(kept, (const char *)ts_slice_data(in, slice) + first * ts_dtype_bytes(in->dtype),
                in->dtype, n);
    for (size_t x = 0; x < n; x += WORD) {
        const size_t in_word = n - x < WORD ? n - x : WORD;
        const uint64_t bits = ts_valid_bits(valid, first + x, in_word);
        for (size_t k = 0; bits != UINT64_MAX && k < in_word; k++)
            out[x + k] = bits >> k & 1 ? out[x + k] : kept[x + k];
    }
}

/* Sums rows [y_first, y_end) of a slice down and across; if these are weights, it also divides. */
static void sum_rows(const struct gaussian_run *run, const struct ts_image *in,
                     const struct rows_of_slice *slice, int64_t y_first, int64_t y_end, float *out,
                     char *scratch)
{
    const int64_t half = run->radius[2], halo = 2 * run->radius[1], top = y_first - run->radius[1];
    char *own = own_part(run, scratch);
    float *lines = (float *)(own + run->lines);
    int64_t loaded = 0;
    for (int64_t y = 0; y < y_end - y_first; y += SUM_ROWS) {
        const int64_t count = y_end - y_first - y < SUM_ROWS ? y_end - y_first - y : SUM_ROWS;
        for (; loaded < y + count + halo; loaded++)
            load_row(run, slice, top + loaded, ring_row(run, 1, loaded, own));
        struct row_sums to = {
            .out = lines + half, .stride = run->line, .n = count, .element = slice->element};
        for (int64_t s = 0; s < SUM_ROWS; s++) {
            const int64_t next = top + loaded + s;
            to.ahead[s] = slice->first + (next >= 0 && next < run->ny ? next : 0) * slice->stride;
        }
        sum_ring(run, 1, y, scratch, &to);
        for (int64_t s = 0; s < count; s++) {
            float *row = out + (y_first + y + s) * run->nx;
            extend_line(run, (const int64_t *)(scratch + run->outside),
                        lines + s * run->line + half);
            TS_WIDEST(gaussian_across)
            (lines + s * run->line, half, (const float *)(scratch + run->weights[2]), run->nx,
             run->of_weights ? (float *)(own + run->found) : row);
            if (run->of_weights)
                finish_row(run, in, slice->z, y_first + y + s, row, own);
        }
    }
}

/* Returns true if no window of rows [y_first, y_end) of output slice z has an invalid pixel. */
static bool is_whole(const struct gaussian_run *run, const struct ts_image *in, int64_t z,
                     int64_t y_first, int64_t y_end)
{
    for (int64_t y = y_first - run->radius[1]; y < y_end + run->radius[1]; y++) {
        const int64_t row = ts_border_index(y, run->ny, (enum ts_border)run->params->border);
        for (int64_t slice = z; row >= 0 && slice <= z + 2 * run->radius[0]; slice++)
            if (!ts_valid_all(ts_slice_valid(in, slice), (size_t)(row * run->nx), (size_t)run->nx))
                return false;
    }
    return true;
}

/* Filters a slab: its values, or the weights of its valid pixels, by which the values are then
 * divided. */
static void filter(const struct gaussian_run *run, const struct ts_image *in, struct ts_image *out,
                   int threads, char *scratch)
{
    const int64_t n_chunks = (run->ny + run->rows - 1) / run->rows;
    const bool volume = run->radius[0] > 0;
    if (volume) {
#pragma omp parallel for num_threads(threads)
        for (int64_t y = 0; y < run->ny; y++)
            sum_along_z(run, in, y, scratch);
    }
#pragma omp parallel for num_threads(threads)
    for (int64_t item = 0; item < run->nz * n_chunks; item++) {
        const int64_t z = item / n_chunks, y = item % n_chunks * run->rows,
                      end = y + run->rows < run->ny ? y + run->rows : run->ny;
        const int64_t element =
            volume ? (int64_t)sizeof(float) : (int64_t)ts_dtype_bytes(in->dtype);
        const struct rows_of_slice slice = {
            volume ? scratch + run->z_sums + z * run->nx * element : ts_slice_data(in, z),
            (volume ? run->nz : 1) * run->nx * element, element, z, volume ? NULL : in};
        if (!run->of_weights || !is_whole(run, in, z, y, end))
            sum_rows(run, in, &slice, y, end, ts_slice_data(out, z), scratch);
    }
}

/* Turns a run over values into one over weights. The weight of a whole window is summed as the
 * loops sum it, so that it has the same bits. */
static void turn_to_weights(struct gaussian_run *run, const char *scratch)
{
    float sum = 1;
    run->of_weights = true;
    for (int axis = 0; axis < 2; axis++) {
        const float *weights = (const float *)(scratch + run->weights[axis]), each = sum;
        sum = 0;
        for (int64_t k = 0; k <= 2 * run->radius[axis]; k++)
            sum += weights[k] * each;
        sum = axis == 0 && run->radius[0] == 0 ? 1 : sum;
        run->beside[axis] = sum;
    }
    const float *middle = (const float *)(scratch + run->weights[2]) + run->radius[2];
    run->whole = 0;
    for (int64_t k = run->radius[2]; k > 0; k--)
        run->whole += middle[k] * (sum + sum);
    run->whole += middle[0] * sum;
}

static enum ts_status gaussian_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    struct gaussian_run run = gaussian_describe(context, out->axes[0].n);
    for (int axis = 0; axis < 3; axis++)
        ts_gaussian_weights(ts_gaussian_line(context, axis),
                            (float *)((char *)scratch + run.weights[axis]));
    int64_t *outside = (int64_t *)((char *)scratch + run.outside);
    ts_border_fill(outside, -run.radius[2], run.radius[2], run.nx,
                   (enum ts_border)run.params->border);
    ts_border_fill(outside + run.radius[2], run.nx, run.radius[2], run.nx,
                   (enum ts_border)run.params->border);
    /* Sums beyond the end of a row, and of rows that are not wanted, are made from whatever is
     * there. */
    memset((char *)scratch + run.threads, 0, run.bytes - run.threads);
    filter(&run, in, out, context->threads, scratch);
    if (context->in.masked) {
        turn_to_weights(&run, scratch);
        filter(&run, in, out, context->threads, scratch);
    }
    return TS_OK;
}

static const char gaussian_doc[] =
    "`out = sum of wz[k] * wy[j] * wx[i] * in[z + k][y + j][x + i]`, with weights `exp(-k^2 / (2 "
    "sigma^2))` for every |k| <= floor(truncate * sigma + 1/2), divided by their sum: the mean of "
    "a neighborhood, in which near pixels count most. It is scipy.ndimage.gaussian_filter with the "
    "same sigma, truncate and mode. In 2d, z has no part in it.\n"
    "\n"
    "With `unit: mm` the spacing of each axis turns sigma into samples, so that a volume with "
    "thick slices is smoothed alike in all directions.\n"
    "\n"
    "The result is f32. It keeps quantity and unit, because the weights sum to 1. A NaN or an "
    "infinity shows in the windows that contain it and nowhere else.\n"
    "\n"
    "**Masked images.** If pixels are invalid, such as a CT's padding, the weights of the valid "
    "pixels of the window are divided by their sum: F(valid * in) / F(valid), normalized "
    "convolution (H. Knutsson, C.-F. Westin, 1993). A CUDA device makes these sums in double. An "
    "invalid pixel keeps its value.\n"
    "\n"
    "**Exactness.** Weights are rounded to float, and sums are made in float. The error is at most "
    "(radius + 3) 2^-24 of the largest magnitude for each axis, 2.0e-6 for sigma 2 in 3d; "
    "roundings up and down leave about a tenth of it.\n"
    "\n"
    "**Cost.** For each axis and pixel, 2 radius + 1 multiplications and additions.\n"
    "\n"
    "**Source.** J. Canny, A computational approach to edge detection, 1986, for the separable "
    "form.";

static enum ts_status gaussian_transpose(const struct stage_context *context, struct param_set *set,
                                         struct stage_gather *gather, struct arena *arena)
{
    struct gaussian_params *params = set->values;
    struct transpose_window window = {.even = true};
    *params = *params_of(context);
    set->given = context->set->given;
    if (!ts_param_given(set, "method"))
        params->method = GAUSSIAN_AUTO;
    for (int axis = 0; axis < 3; axis++)
        window.radius[axis] = ts_gaussian_line(context, axis).radius;
    return ts_transpose_border(context, &window, params->constant, &params->border, gather, arena);
}

static const struct stage_transpose gaussian_linear = {.describe = gaussian_transpose};

const struct stage gaussian_stage = {
    .name = "gaussian",
    .summary = "smoothing by a Gaussian in 2D or 3D",
    .doc = gaussian_doc,
    STAGE_TAKES_ALL,
    .bench = "sigma=1|sigma=2|sigma=4|sigma=1 dimensions=3d|sigma=2 dimensions=3d|sigma=4 "
             "dimensions=3d|sigma=16 dimensions=3d",
    STAGE_PARAMS(gaussian_params, struct gaussian_params),
    .resolve = gaussian_resolve,
    .shape = gaussian_shape,
    .reach = gaussian_reach,
    .scratch_bytes = gaussian_scratch_bytes,
    .map = gaussian_map,
    .validity = VALIDITY_SAME,
    .transpose = &gaussian_linear,
    .tolerance = {.relative = 2e-6,
                  .why = "sums in float: (radius + 3) 2^-24 for each axis is 2e-6 for sigma 2 in "
                         "3d; larger windows have more roundings, which cancel more of each other"},
    .cuda = STAGE_CUDA(gaussian_cuda),
};
