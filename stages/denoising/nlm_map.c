/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of nlm on the CPU, in the fast form (J. Darbon, A. Cunha, T. F. Chan, S. Osher and G. J. Jensen, 2008;
 * J. Froment, 2014): for one shift q - p after the other the squared differences of the image and the shifted image are
 * summed over the patch, first through the slices, then down the rows, then along them, so that a weight costs 2 *
 * patch_size additions and not patch_size^2. A weight serves both of its pixels, so that half of the shifts within a
 * slice are enough. Nothing is subtracted from a running sum, so that a weight has the same bytes wherever a sum began.
 *
 * The image is first copied into floats with its border filled in. A thread then does blocks of 64 x 256 pixels, whose
 * sums and part of the image stay in the second cache. The rows' loops stand in nlm_rows.inc, once for each patch size.
 */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/denoising/nlm.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"

enum { BLOCK_ROWS = 64, BLOCK_COLUMNS = 256, MOST_COLUMNS = BLOCK_COLUMNS + NLM_MOST_DISTANCE + NLM_MOST_PATCH };

/* ---- the rows ----------------------------------------------------------------------------------- */

TS_VECTORIZED static void square(const float *restrict a, const float *restrict b, int64_t n, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (a[i] - b[i]) * (a[i] - b[i]);
}

TS_VECTORIZED static void add_square(const float *restrict a, const float *restrict b, int64_t n, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] += (a[i] - b[i]) * (a[i] - b[i]);
}

TS_VECTORIZED static void add_weighted(const float *restrict weights, const float *restrict values, int64_t n,
                                       float *restrict sums, float *restrict totals)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] += weights[i] * values[i];
        totals[i] += weights[i];
    }
}

TS_VECTORIZED static void add_weighted_squares(const float *restrict weights, const float *restrict values, int64_t n,
                                               float *restrict sums, float *restrict totals)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] += weights[i] * (values[i] * values[i]);
        totals[i] += weights[i];
    }
}

/* Returns 2^x for x <= 0 to 2e-7 of itself, and 0 below the smallest normal float. The first sum rounds x to an
 * integer, which then stands in the lowest bits; the polynomial is the series of 2^f, |f| <= 1/2. */
static inline float power_of_two(float x)
{
    const float to_integer = 12582912, least = -126;
    const float normal = x > least ? x : least, shifted = normal + to_integer, f = normal - (shifted - to_integer);
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
typedef void make_weights(const float *sums, const struct nlm_weight *weight, int64_t n, float *out);
static const struct {
    sum_rows *sum;
    make_weights *weights;
} rows_of_radius[] = {{sum_rows_0, weights_0}, {sum_rows_1, weights_1}, {sum_rows_2, weights_2},
                      {sum_rows_3, weights_3}, {sum_rows_4, weights_4}, {sum_rows_5, weights_5}};

/* ---- one block ---------------------------------------------------------------------------------- */

STAGE_PARAMS_OF(nlm_params)

/* This describes the work of one call, and where its parts of the scratch stand. */
struct nlm_run {
    const struct nlm_params *params;
    int64_t ny, nx, radius, distance, depth; /* depth: how far the search reaches in z */
    int64_t pad, pitch, rows;                /* of a slice of floats with its border */
    size_t columns, image, threads, ring, down, weights, sums, totals, thread_bytes, bytes;
};

static struct nlm_run describe(const struct stage_context *context, int64_t n)
{
    const struct nlm_params *params = params_of(context);
    const bool volume = params->dimensions == NLM_3D;
    struct nlm_run run = {.params = params, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
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
    run.image = ts_scratch_part(&used, (n + 2 * (volume ? run.pad : 0)) * run.rows * run.pitch, sizeof(float));
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

size_t ts_nlm_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return describe(context, n).bytes;
}

static float near_or_far(float value)
{
    return fabsf(value) < NLM_FAR ? value : NLM_FAR;
}

/* Copies row y, which may lie outside the slice, with its border, divided by the unit. */
static void pad_row(const struct nlm_run *run, const int64_t *columns, const struct ts_image *in, int64_t z, int64_t y,
                    float unit, float *row)
{
    const int64_t from = ts_border_index(y, run->ny, (enum ts_border)run->params->border);
    const float constant = near_or_far((float)run->params->constant / unit);
    float *inside = row + run->pad;
    if (from < 0) {
        for (int64_t i = 0; i < run->pitch; i++)
            row[i] = constant;
        return;
    }
    ts_load_f32(inside, (char *)ts_slice_data(in, z) + (size_t)(from * run->nx) * ts_dtype_bytes(in->dtype), in->dtype,
                (size_t)run->nx);
    for (int64_t x = 0; x < run->nx; x++)
        inside[x] = near_or_far(inside[x] / unit);
    ts_valid_fill_floats(ts_slice_valid(in, z), (size_t)(from * run->nx), (size_t)run->nx, NLM_FAR, inside);
    for (int64_t i = 0; i < 2 * run->pad; i++) {
        const int64_t at = i < run->pad ? i : run->nx + i;
        row[at] = columns[at] < 0 ? constant : inside[columns[at]];
    }
}

/* A thread does this block of pixels, [y, y_end) x [x, x_end) of a slice, with its buffers. */
struct block {
    const struct nlm_run *run;
    struct nlm_weight weight;
    float unit;         /* of the image */
    const float *image; /* the pixel (0, 0) of the slice */
    int64_t y, y_end, x, x_end;
    float *ring, *down, *weights, *sums, *totals;
};

/* Adds the weights of a row, from column x on, times the values, to the sums of the pixels that lie in the block. */
static void add_row(const struct block *block, int64_t y, int64_t x, int64_t n, const float *values)
{
    const int64_t from = x < block->x ? block->x - x : 0, to = x + n > block->x_end ? block->x_end - x : n;
    const int64_t at = (y - block->y) * BLOCK_COLUMNS + x - block->x + from;
    if (y < block->y || y >= block->y_end || from >= to)
        return;
    if (block->run->params->noise == NLM_RICIAN)
        add_weighted_squares(block->weights + from, values + from, to - from, block->sums + at, block->totals + at);
    else
        add_weighted(block->weights + from, values + from, to - from, block->sums + at, block->totals + at);
}

/* Adds what the pixels of one shift weigh. Where `both` holds, a weight also counts for the pixel that the shift leads
 * to, and so pixels before the block are weighed, too. */
static void add_shift(const struct block *block, int64_t dz, int64_t dy, int64_t dx, bool both)
{
    const struct nlm_run *run = block->run;
    const int64_t r = run->radius, size = 2 * r + 1, rz = run->depth > 0 ? r : 0, plane = run->rows * run->pitch;
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

/* The pixel itself has weight 1; the order of the shifts is the order of the sums. */
static void add_shifts(const struct block *block)
{
    const int64_t d = block->run->distance, depth = block->run->depth;
    for (int64_t y = block->y; y < block->y_end; y++) {
        for (int64_t x = 0; x < block->x_end - block->x; x++)
            block->weights[x] = 1;
        add_row(block, y, block->x, block->x_end - block->x, block->image + y * block->run->pitch + block->x);
    }
    for (int64_t dz = -depth; dz <= depth; dz++)
        for (int64_t dy = dz == 0 ? 0 : -d; dy <= d; dy++)
            for (int64_t dx = dz == 0 && dy == 0 ? 1 : -d; dx <= d; dx++)
                add_shift(block, dz, dy, dx, dz == 0);
}

/* Divides the sums. A pixel that is far from all others comes from slice z of the image itself. */
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
                ts_load_f32(&mean, original + (size_t)(y * run->nx + x) * ts_dtype_bytes(in->dtype), in->dtype, 1);
            else
                mean *= block->unit;
            out[y * run->nx + x] = mean;
        }
}

static void map_block(const struct nlm_run *run, const struct block *from, char *own, const struct ts_image *in,
                      int64_t z, float *out)
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

enum ts_status ts_nlm_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          void *scratch)
{
    const struct nlm_params *params = params_of(context);
    const int64_t nz = out->axes[0].n, halo = ts_stage_reach(context).halo;
    const struct nlm_run run = describe(context, nz);
    const bool common = halo == 0 || !ts_scope_per_slice(context);
    const double patch = pow((double)params->patch_size, params->dimensions == NLM_3D ? 3 : 2);
    const int64_t across = (run.nx + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS, plane = run.rows * run.pitch;
    const int64_t blocks = across * ((run.ny + BLOCK_ROWS - 1) / BLOCK_ROWS);
    int64_t *columns = (int64_t *)((char *)scratch + run.columns);
    float *image = (float *)((char *)scratch + run.image);
    ts_border_fill(columns, -run.pad, run.pitch, run.nx, (enum ts_border)params->border);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t i = 0; i < (nz + 2 * halo) * run.rows; i++) {
        const struct nlm_numbers numbers = numbers_of(context, halo > 0 ? 0 : i / run.rows);
        pad_row(&run, columns, in, i / run.rows, i % run.rows - run.pad, ts_nlm_unit(&numbers, common),
                image + i * run.pitch);
    }
#pragma omp parallel for schedule(dynamic) num_threads(context->threads)
    for (int64_t i = 0; i < nz * blocks; i++) {
        const int64_t z = i / blocks, y = i % blocks / across * BLOCK_ROWS, x = i % across * BLOCK_COLUMNS;
        const struct nlm_numbers numbers = numbers_of(context, z);
        const float unit = ts_nlm_unit(&numbers, common);
        const struct nlm_numbers scaled = ts_nlm_in_units(&numbers, unit);
        const struct block block = {.run = &run,
                                    .weight = ts_nlm_weight(&scaled, patch),
                                    .unit = unit,
                                    .image = image + (z + halo) * plane + run.pad * run.pitch + run.pad,
                                    .y = y,
                                    .y_end = least(y + BLOCK_ROWS, run.ny),
                                    .x = x,
                                    .x_end = least(x + BLOCK_COLUMNS, run.nx)};
        char *own = (char *)scratch + run.threads + (size_t)omp_get_thread_num() * run.thread_bytes;
        map_block(&run, &block, own, in, z + halo, ts_slice_data(out, z));
    }
    return TS_OK;
}
