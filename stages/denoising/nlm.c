/* SPDX-License-Identifier: Apache-2.0
 *
 * nlm on the CPU: its parameters, the noise that it estimates in a reduction before the map, and
 * the means themselves.
 */
#include "stages/denoising/nlm.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"

static const double h_per_sigma = 0.8;

static const struct choice dimensions_choices[] = {
    {"2d", NLM_2D, "patches and search windows are in a slice"},
    {"3d", NLM_3D, "both are cubes, which also span neighboring slices"},
    {0},
};

static const struct choice noise_choices[] = {
    {"gaussian", NLM_GAUSSIAN, "the mean of the values"},
    {"rician", NLM_RICIAN,
     "for magnitudes of MR: the root of the mean of the squares less 2 sigma^2, which is their "
     "bias"},
    {0},
};

static const struct choice estimate_choices[] = {
    {"immerkaer", NOISE_IMMERKAER,
     "the mean size of the second differences, as the table of `statistics`"},
    {"wavelet", NOISE_WAVELET,
     "the median size of the wavelet coefficients, as the table of `statistics`"},
    {0},
};

static const struct param nlm_params[] = {
    PARAM(struct nlm_params, patch_size, .unit = "pixel", .min = 1, .max = NLM_MOST_PATCH,
          .init.i = 5, .doc = "side of the patches that are compared, an odd number"),
    PARAM(struct nlm_params, patch_distance, .unit = "pixel", .min = 1, .max = NLM_MOST_DISTANCE,
          .init.i = 6,
          .doc = "how far the search window reaches along each axis: 2 patch_distance + 1 pixels"),
    PARAM(struct nlm_params, dimensions, .choices = dimensions_choices, .init.choice = NLM_2D,
          .doc = "whether the windows are in a slice or span slices as well"),
    PARAM(struct nlm_params, h, .unit = "value", .optional = true, .min = 0, .max = 1e15,
          .doc = "how fast the weight falls with the patches' difference; absent: 0.8 sigma"),
    PARAM(struct nlm_params, sigma, .unit = "value", .optional = true, .min = 0, .max = 1e15,
          .doc = "standard deviation of the noise, 0 to subtract nothing; absent: estimated from "
                 "the image"),
    PARAM(struct nlm_params, estimate, .choices = estimate_choices, .init.choice = NOISE_WAVELET,
          .doc = "how sigma is estimated"),
    PARAM(struct nlm_params, scope, .choices = ts_scope_choices, .init.choice = SCOPE_VOLUME,
          .doc = "whether sigma is estimated once for the volume, or for every slice"),
    PARAM(struct nlm_params, noise, .choices = noise_choices, .init.choice = NLM_GAUSSIAN,
          .doc = "what kind of noise the values have"),
    PARAM(struct nlm_params, border, .choices = ts_border_choices, .init.choice = BORDER_MIRROR,
          .doc = TS_BORDER_DOC),
    PARAM(struct nlm_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX,
          .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
};

STAGE_PARAMS_OF(nlm_params)

/* ---- plan ------------------------------------------------------------------------------------ */

static int64_t count_of(const struct ts_numbers *numbers)
{
    return numbers->rows * numbers->columns;
}

/* Their values may be below 0, which magnitudes never are; the square root of squares would make
 * them bright. */
static bool is_no_magnitude(enum ts_quantity quantity)
{
    return quantity == TS_HU || quantity == TS_LINE_INTEGRAL || quantity == TS_ATTENUATION;
}

static enum ts_status check_rician(const struct stage_context *context,
                                   const struct nlm_params *params)
{
    if (is_no_magnitude(context->in.quantity)) {
        ts_param_error(
            context->set, "noise", "noise-quantity", context->diag,
            "rician is the noise of magnitudes, which are never negative, and these values are %s",
            ts_quantity_name(context->in.quantity));
        return ts_diag_hint(context->diag,
                            "Rician noise is that of MR magnitudes; for CT leave out `noise`");
    }
    if (params->sigma.values)
        return TS_OK;
    ts_param_error(context->set, "sigma", "sigma-missing", context->diag,
                   "is not given, and noise: rician needs it, because the estimates are those of "
                   "Gaussian noise");
    return ts_diag_hint(
        context->diag,
        "the standard deviation of the background is 0.655 sigma, so divide it by that");
}

static enum ts_status nlm_resolve(const struct stage_context *context, void *values)
{
    const struct nlm_params *params = values;
    if (params->patch_size % 2 == 0)
        return ts_param_error(
            context->set, "patch_size", "patch-even", context->diag,
            "%lld has no pixel in the middle; a patch has an odd number of pixels a side",
            (long long)params->patch_size);
    if (count_of(&params->h) > 1 || count_of(&params->sigma) > 1)
        return ts_param_error(context->set, count_of(&params->h) > 1 ? "h" : "sigma", "one-number",
                              context->diag, "takes one number");
    if (params->noise == NLM_RICIAN && check_rician(context, params) != TS_OK)
        return TS_BAD_CHAIN;
    static const char *const of_estimate[] = {"estimate", "scope"};
    for (int i = 0; i < 2 && params->sigma.values; i++) {
        if (ts_param_given(context->set, of_estimate[i]))
            return ts_param_error(context->set, of_estimate[i], "parameter-unused", context->diag,
                                  "is used where sigma is estimated alone, and sigma is given");
        ts_param_idle(context->set, of_estimate[i]);
    }
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static enum ts_status nlm_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

static struct stage_reach nlm_reach(const struct stage_context *context)
{
    const struct nlm_params *params = params_of(context);
    return (struct stage_reach){
        .halo = params->dimensions == NLM_3D ? params->patch_distance + params->patch_size / 2 : 0,
        .border = (enum ts_border)params->border,
        .constant = params->constant};
}

/* ---- the noise ------------------------------------------------------------------------------- */

static enum noise_estimate estimate_of(const struct stage_context *context)
{
    return (enum noise_estimate)params_of(context)->estimate;
}

bool ts_nlm_estimates(const struct stage_context *context)
{
    return !params_of(context)->sigma.values;
}

static double h_of(const struct nlm_params *params, double sigma)
{
    return params->h.values ? params->h.values[0] : h_per_sigma * sigma;
}

struct nlm_numbers ts_nlm_given(const struct nlm_params *params)
{
    const double sigma = params->sigma.values[0];
    return (struct nlm_numbers){sigma, h_of(params, sigma)};
}

static int nlm_rounds(const struct stage_context *context)
{
    return ts_nlm_estimates(context) ? ts_noise_rounds(context, estimate_of(context)) : 0;
}

static const struct noise_result *noise_in(const void *result)
{
    return &((const struct nlm_result *)result)->noise;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)input;
    return ts_noise_partial_bytes(context, estimate_of(context));
}

static void nlm_reduce(const struct stage_context *context, int input,
                       const struct ts_image *slices, void *partial)
{
    (void)input;
    ts_noise_reduce(context, estimate_of(context), slices, noise_in(context->result), partial);
}

static void nlm_merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)input;
    ts_noise_merge(context, estimate_of(context), noise_in(context->result), into, from);
}

static size_t result_bytes(const struct stage_context *context)
{
    return (offsetof(struct nlm_result, noise) +
            ts_noise_result_bytes(context, estimate_of(context)) + 63) /
           64 * 64;
}

/* If there is nothing to measure in an image, it has no noise. */
static enum ts_status nlm_finish(const struct stage_context *context, const void *const totals[],
                                 void *result, const struct ts_image *tables)
{
    struct nlm_numbers *numbers = &((struct nlm_result *)result)->numbers;
    struct noise_result *noise = &((struct nlm_result *)result)->noise;
    ts_noise_finish(context, estimate_of(context), totals[0], noise);
    if (context->round + 1 < nlm_rounds(context))
        return TS_OK;
    const double sigma =
        estimate_of(context) == NOISE_IMMERKAER ? noise->immerkaer : noise->wavelet;
    numbers->sigma = sigma > 0 ? sigma : 0;
    numbers->h = h_of(params_of(context), numbers->sigma);
    *(double *)tables[0].data = numbers->sigma;
    *(double *)tables[1].data = numbers->h;
    return TS_OK;
}

static int nlm_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    if (!ts_nlm_estimates(context))
        return 0;
    out[0] = ts_scope_table(context, "sigma", "standard deviation of the noise, as estimated",
                            TS_F64, true);
    out[1] = ts_scope_table(context, "h", "the h that the weights were made with", TS_F64, true);
    return 2;
}

static const struct stage_reduction reduction = {
    .per_slice = ts_scope_per_slice,
    .exact = true, /* sums of slices stay separate until the end */
    .feeds_map = true,
    .rounds = nlm_rounds,
    .partial_bytes = partial_bytes,
    .reduce = nlm_reduce,
    .merge = nlm_merge,
    .result_bytes = result_bytes,
    .finish = nlm_finish,
    .tables = nlm_tables,
};

/* The map of nlm on the CPU, in the fast form (J. Darbon, A. Cunha, T. F. Chan, S. Osher and G. J.
 * Jensen, 2008; J. Froment, 2014): for each shift q - p, the squared differences of the image and
 * the shifted image are summed over the patch, first through the slices, then down the rows, then
 * along them, so that a weight takes 2 * patch_size additions instead of patch_size^2. A weight
 * serves both of its pixels, so half of the shifts within a slice are enough. Nothing is subtracted
 * from a running sum, so that a weight has the same bytes wherever a sum began.
 *
 * The image is first copied into floats with its border filled in. A thread then does blocks of 64
 * x 256 pixels, whose sums and part of the image stay in the second cache. The loops over rows are
 * in nlm_rows.inc, which is compiled for each patch size. */

enum {
    BLOCK_ROWS = 64,
    BLOCK_COLUMNS = 256,
    MOST_COLUMNS = BLOCK_COLUMNS + NLM_MOST_DISTANCE + NLM_MOST_PATCH
};

/* ---- the rows -------------------------------------------------------------------------------- */

TS_VECTORIZED static void square(const float *restrict a, const float *restrict b, int64_t n,
                                 float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (a[i] - b[i]) * (a[i] - b[i]);
}

TS_VECTORIZED static void add_square(const float *restrict a, const float *restrict b, int64_t n,
                                     float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] += (a[i] - b[i]) * (a[i] - b[i]);
}

TS_VECTORIZED static void add_weighted(const float *restrict weights, const float *restrict values,
                                       int64_t n, float *restrict sums, float *restrict totals)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] += weights[i] * values[i];
        totals[i] += weights[i];
    }
}

TS_VECTORIZED static void add_weighted_squares(const float *restrict weights,
                                               const float *restrict values, int64_t n,
                                               float *restrict sums, float *restrict totals)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] += weights[i] * (values[i] * values[i]);
        totals[i] += weights[i];
    }
}

/* Returns 2^x for x <= 0 with a relative error of 2e-7, and 0 below the smallest normal float. The
 * first sum rounds x to an integer, which is then in the lowest bits; the polynomial is the series
 * of 2^f, |f| <= 1/2. */
static inline float power_of_two(float x)
{
    const float to_integer = 12582912, least = -126;
    const float normal = x > least ? x : least, shifted = normal + to_integer,
                f = normal - (shifted - to_integer);
    int32_t bits;
    float scale;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4B400000 + 127) << 23;
    memcpy(&scale, &bits, sizeof scale);
    float p = 1.5403530e-4f;
    p = p * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1;
    return x > least ? p * scale : 0;
}

#define RADIUS 0
#include "stages/denoising/nlm_rows.inc"
#define RADIUS 1
#include "stages/denoising/nlm_rows.inc"
#define RADIUS 2
#include "stages/denoising/nlm_rows.inc"
#define RADIUS 3
#include "stages/denoising/nlm_rows.inc"
#define RADIUS 4
#include "stages/denoising/nlm_rows.inc"
#define RADIUS 5
#include "stages/denoising/nlm_rows.inc"

typedef void sum_rows(const float *const *rows, int64_t n, float *out);
typedef void make_weights(const float *sums, const struct nlm_weight *weight, int64_t n,
                          float *out);
static const struct {
    sum_rows *sum;
    make_weights *weights;
} rows_of_radius[] = {{sum_rows_0, weights_0}, {sum_rows_1, weights_1}, {sum_rows_2, weights_2},
                      {sum_rows_3, weights_3}, {sum_rows_4, weights_4}, {sum_rows_5, weights_5}};

/* ---- one block ------------------------------------------------------------------------------- */

/* The work of one call, and the places of its parts in the scratch. */
struct nlm_run {
    const struct nlm_params *params;
    int64_t ny, nx, radius, distance, depth; /* depth: how far the search reaches in z */
    int64_t pad, pitch, rows;                /* border, row length and rows of a slice of floats
                                              * with its border */
    size_t columns, image, threads, ring, down, weights, sums, totals, thread_bytes, bytes;
};

static struct nlm_run nlm_describe(const struct stage_context *context, int64_t n)
{
    const struct nlm_params *params = params_of(context);
    const bool volume = params->dimensions == NLM_3D;
    struct nlm_run run = {
        .params = params, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    run.radius = params->patch_size / 2;
    run.distance = params->patch_distance;
    run.depth = volume ? run.distance : 0;
    run.pad = run.distance + run.radius;
    run.pitch = run.nx + 2 * run.pad;
    run.rows = run.ny + 2 * run.pad;
    size_t used = 0;
    run.ring = ts_scratch_part(&used, params->patch_size * MOST_COLUMNS, sizeof(float));
    run.down = ts_scratch_part(&used, MOST_COLUMNS, sizeof(float));
    run.weights = ts_scratch_part(&used, MOST_COLUMNS, sizeof(float));
    run.sums = ts_scratch_part(&used, BLOCK_ROWS * BLOCK_COLUMNS, sizeof(float));
    run.totals = ts_scratch_part(&used, BLOCK_ROWS * BLOCK_COLUMNS, sizeof(float));
    run.thread_bytes = used;
    used = 0;
    run.columns = ts_scratch_part(&used, run.pitch, sizeof(int64_t));
    run.image = ts_scratch_part(&used, (n + 2 * (volume ? run.pad : 0)) * run.rows * run.pitch,
                                sizeof(float));
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

static size_t nlm_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return nlm_describe(context, n).bytes;
}

static float near_or_far(float value)
{
    return fabsf(value) < NLM_FAR ? value : NLM_FAR;
}

/* Copies row y, which may be outside the slice, with its border, divided by the unit. */
static void pad_row(const struct nlm_run *run, const int64_t *columns, const struct ts_image *in,
                    int64_t z, int64_t y, float unit, float *row)
{
    const int64_t from = ts_border_index(y, run->ny, (enum ts_border)run->params->border);
    const float constant = near_or_far((float)run->params->constant / unit);
    float *inside = row + run->pad;
    if (from < 0) {
        for (int64_t i = 0; i < run->pitch; i++)
            row[i] = constant;
        return;
    }
    ts_load_f32(inside,
                (char *)ts_slice_data(in, z) + (size_t)(from * run->nx) * ts_dtype_bytes(in->dtype),
                in->dtype, (size_t)run->nx);
    for (int64_t x = 0; x < run->nx; x++)
        inside[x] = near_or_far(inside[x] / unit);
    ts_valid_fill_floats(ts_slice_valid(in, z), (size_t)(from * run->nx), (size_t)run->nx, NLM_FAR,
                         inside);
    for (int64_t i = 0; i < 2 * run->pad; i++) {
        const int64_t at = i < run->pad ? i : run->nx + i;
        row[at] = columns[at] < 0 ? constant : inside[columns[at]];
    }
}

/* The block of pixels [y, y_end) x [x, x_end) of a slice that a thread does, with its buffers. */
struct block {
    const struct nlm_run *run;
    struct nlm_weight weight;
    float unit;         /* the unit by which the image is divided */
    const float *image; /* points to pixel (0, 0) of the slice */
    int64_t y, y_end, x, x_end;
    float *ring, *down, *weights, *sums, *totals;
};

/* Adds the weights of a row, which starts at column x, times the values, to the sums of those
 * pixels that are in the block. */
static void add_row(const struct block *block, int64_t y, int64_t x, int64_t n, const float *values)
{
    const int64_t from = x < block->x ? block->x - x : 0,
                  to = x + n > block->x_end ? block->x_end - x : n;
    const int64_t at = (y - block->y) * BLOCK_COLUMNS + x - block->x + from;
    if (y < block->y || y >= block->y_end || from >= to)
        return;
    if (block->run->params->noise == NLM_RICIAN)
        add_weighted_squares(block->weights + from, values + from, to - from, block->sums + at,
                             block->totals + at);
    else
        add_weighted(block->weights + from, values + from, to - from, block->sums + at,
                     block->totals + at);
}

/* Adds the weights of the pixels for one shift. If `both`, a weight also counts for the pixel that
 * the shift leads to, so pixels before the block are weighed, too. */
static void add_shift(const struct block *block, int64_t dz, int64_t dy, int64_t dx, bool both)
{
    const struct nlm_run *run = block->run;
    const int64_t r = run->radius, size = 2 * r + 1, rz = run->depth > 0 ? r : 0,
                  plane = run->rows * run->pitch;
    const int64_t first = both && dx > 0 ? block->x - dx : block->x;
    const int64_t n = (both && dx < 0 ? block->x_end - dx : block->x_end) - first, wide = n + 2 * r;
    const int64_t top = (both ? block->y - dy : block->y) - r;
    const float *rows[NLM_MOST_PATCH];
    for (int64_t y = top; y < block->y_end + r; y++) {
        float *line = block->ring + (y - top) % size * MOST_COLUMNS;
        for (int64_t k = -rz; k <= rz; k++) {
            const float *a = block->image + k * plane + y * run->pitch + first - r;
            (k == -rz ? square : add_square)(a, a + dz * plane + dy * run->pitch + dx, wide, line);
        }
        if (y - top < size - 1)
            continue;
        for (int64_t j = 0; j < size; j++)
            rows[j] = block->ring + (y - top + 1 + j) % size * MOST_COLUMNS;
        const float *here = block->image + (y - r) * run->pitch + first;
        rows_of_radius[r].sum(rows, wide, block->down);
        rows_of_radius[r].weights(block->down, &block->weight, n, block->weights);
        add_row(block, y - r, first, n, here + dz * plane + dy * run->pitch + dx);
        if (both)
            add_row(block, y - r + dy, first + dx, n, here);
    }
}

/* Adds all shifts. The pixel itself has weight 1; the order of the shifts is the order of the
 * sums. */
static void add_shifts(const struct block *block)
{
    const int64_t d = block->run->distance, depth = block->run->depth;
    for (int64_t y = block->y; y < block->y_end; y++) {
        for (int64_t x = 0; x < block->x_end - block->x; x++)
            block->weights[x] = 1;
        add_row(block, y, block->x, block->x_end - block->x,
                block->image + y * block->run->pitch + block->x);
    }
    for (int64_t dz = -depth; dz <= depth; dz++)
        for (int64_t dy = dz == 0 ? 0 : -d; dy <= d; dy++)
            for (int64_t dx = dz == 0 && dy == 0 ? 1 : -d; dx <= d; dx++)
                add_shift(block, dz, dy, dx, dz == 0);
}

/* Divides the sums. A pixel that is far from all others gets the value of the image itself in slice
 * z. */
static void write_block(const struct block *block, const struct ts_image *in, int64_t z, float *out)
{
    const struct nlm_run *run = block->run;
    const char *original = ts_slice_data(in, z);
    for (int64_t y = block->y; y < block->y_end; y++)
        for (int64_t x = block->x; x < block->x_end; x++) {
            const int64_t at = (y - block->y) * BLOCK_COLUMNS + x - block->x;
            float mean = block->sums[at] / block->totals[at];
            if (run->params->noise == NLM_RICIAN)
                mean = sqrtf(mean > block->weight.bias ? mean - block->weight.bias : 0);
            if (block->image[y * run->pitch + x] == NLM_FAR)
                ts_load_f32(&mean, original + (size_t)(y * run->nx + x) * ts_dtype_bytes(in->dtype),
                            in->dtype, 1);
            else
                mean *= block->unit;
            out[y * run->nx + x] = mean;
        }
}

static void map_block(const struct nlm_run *run, const struct block *from, char *own,
                      const struct ts_image *in, int64_t z, float *out)
{
    struct block block = *from;
    block.ring = (float *)(own + run->ring);
    block.down = (float *)(own + run->down);
    block.weights = (float *)(own + run->weights);
    block.sums = (float *)(own + run->sums);
    block.totals = (float *)(own + run->totals);
    memset(block.sums, 0, BLOCK_ROWS * BLOCK_COLUMNS * sizeof(float));
    memset(block.totals, 0, BLOCK_ROWS * BLOCK_COLUMNS * sizeof(float));
    add_shifts(&block);
    write_block(&block, in, z, out);
}

/* Returns sigma and h of slice z of the output. */
static struct nlm_numbers numbers_of(const struct stage_context *context, int64_t z)
{
    return ts_nlm_estimates(context) ? *(const struct nlm_numbers *)ts_scope_result(context, z)
                                     : ts_nlm_given(params_of(context));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum ts_status nlm_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, void *scratch)
{
    const struct nlm_params *params = params_of(context);
    const int64_t nz = out->axes[0].n, halo = ts_stage_reach(context).halo;
    const struct nlm_run run = nlm_describe(context, nz);
    const bool common = halo == 0 || !ts_scope_per_slice(context);
    const double patch = pow((double)params->patch_size, params->dimensions == NLM_3D ? 3 : 2);
    const int64_t across = (run.nx + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS,
                  plane = run.rows * run.pitch;
    const int64_t blocks = across * ((run.ny + BLOCK_ROWS - 1) / BLOCK_ROWS);
    int64_t *columns = (int64_t *)((char *)scratch + run.columns);
    float *image = (float *)((char *)scratch + run.image);
    ts_border_fill(columns, -run.pad, run.pitch, run.nx, (enum ts_border)params->border);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t i = 0; i < (nz + 2 * halo) * run.rows; i++) {
        const struct nlm_numbers numbers = numbers_of(context, halo > 0 ? 0 : i / run.rows);
        pad_row(&run, columns, in, i / run.rows, i % run.rows - run.pad,
                ts_nlm_unit(&numbers, common), image + i * run.pitch);
    }
#pragma omp parallel for schedule(dynamic) num_threads(context->threads)
    for (int64_t i = 0; i < nz * blocks; i++) {
        const int64_t z = i / blocks, y = i % blocks / across * BLOCK_ROWS,
                      x = i % across * BLOCK_COLUMNS;
        const struct nlm_numbers numbers = numbers_of(context, z);
        const float unit = ts_nlm_unit(&numbers, common);
        const struct nlm_numbers scaled = ts_nlm_in_units(&numbers, unit);
        const struct block block = {.run = &run,
                                    .weight = ts_nlm_weight(&scaled, patch),
                                    .unit = unit,
                                    .image =
                                        image + (z + halo) * plane + run.pad * run.pitch + run.pad,
                                    .y = y,
                                    .y_end = least(y + BLOCK_ROWS, run.ny),
                                    .x = x,
                                    .x_end = least(x + BLOCK_COLUMNS, run.nx)};
        char *own = (char *)scratch + run.threads + (size_t)omp_get_thread_num() * run.thread_bytes;
        map_block(&run, &block, own, in, z + halo, ts_slice_data(out, z));
    }
    return TS_OK;
}

const struct stage nlm_stage = {
    .name = "nlm",
    .summary = "non-local means: the mean of the pixels whose surroundings look alike",
    .doc = "`out(p) = sum of w(p, q) v(q) / sum of w(p, q)` over the pixels q of a search window "
           "around p, with `w(p, q) = exp(-max(d2(p, q) - 2 sigma^2, 0)/h^2)`, where d2 is the "
           "mean of the squared differences of the patches around p and q (A. Buades, B. Coll and "
           "J.-M. Morel, 2005). A texture or an edge that repeats within the window keeps its "
           "sharpness, while noise averages out. The result is f32.\n"
           "\n"
           "Without `sigma`, the noise is estimated from the image, and the tables `sigma` and `h` "
           "record it. The definition is that of "
           "`skimage.restoration.denoise_nl_means(fast_mode=True)`, with three differences: there "
           "a weight below exp(-5) is 0, the patch has one row and one column less than "
           "patch_size, and the exponential is an approximation.\n"
           "\n"
           "`noise: rician` is for magnitude images of MR, whose noise raises dark values: the "
           "weighted mean of the squares less 2 sigma^2, and 0 if that is negative, is the square "
           "of the result (N. Wiest-Daessle et al., 2008). The weights are the same. It needs "
           "`sigma`: without a signal, magnitudes deviate by only 0.655 sigma, and an estimate "
           "would be too small. HU, line integrals and attenuations are refused. A magnitude is "
           "never below 0: a negative value is squared like any other, without a note, and comes "
           "out as if it were positive.\n"
           "\n"
           "The scale of values does not matter, but in 3d an `h` of each slice must be above "
           "1e-15. A value that is not finite, or as large as 1e15 `h`, has no weight for any "
           "other, and comes out as it was; a patch that holds one is only like those that have "
           "one in the same place. Of a masked image, such as a CT with padding, the same holds "
           "for invalid pixels, and the noise is estimated without them.\n"
           "\n"
           "**Cost.** (2 patch_distance + 1)^2 weights a pixel, in 3d its third power; each takes "
           "about 2 patch_size additions and an exponential.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(nlm_params, struct nlm_params),
    .resolve = nlm_resolve,
    .shape = nlm_shape,
    .reach = nlm_reach,
    .reduction = &reduction,
    .scratch_bytes = nlm_scratch_bytes,
    .map = nlm_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(nlm_cuda),
    .tolerance = {.relative = 1e-5, .why = "squared differences, weights and their sums in float"},
    .bench = "|sigma=20 h=16|patch_size=7 patch_distance=11 sigma=20|dimensions=3d patch_size=3 "
             "patch_distance=2 sigma=20",
};
