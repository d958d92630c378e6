/* SPDX-License-Identifier: Apache-2.0
 *
 * Three passes over the coefficients of a slab. Along z rows of input slices are added; along y
 * rows of a block of columns that fits the first cache; along x a row that was extended beyond its
 * ends is added to itself, shifted. All loops run along x, four pairs of samples at a time.
 */
#include "stages/grid/splines.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/scratch.h"

enum { BLOCK = 128, POLE_RADIUS = 16 };

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_spline(const struct sampling *sampling, int d)
{
    return sampling->interpolation == INTERPOLATION_BSPLINE3 && !sampling->nearest[d];
}

static int64_t gaussian_radius(double sigma)
{
    return sigma > 0 ? (int64_t)(4 * sigma + 0.5) : 0;
}

bool ts_spline_is_needed(const struct sampling *sampling)
{
    bool needed = false;
    for (int d = 0; d < 3; d++)
        needed = needed || ts_spline_radius(sampling, d) > 0;
    return needed;
}

int64_t ts_spline_radius(const struct sampling *sampling, int d)
{
    return gaussian_radius(sampling->sigma[d]) + (is_spline(sampling, d) ? POLE_RADIUS : 0);
}

int64_t ts_spline_slices(const struct sampling *sampling, int64_t n)
{
    const double *row = sampling->matrix[0];
    const double span =
        ceil(fabs(row[0]) * (double)(n - 1) + fabs(row[1]) * (double)(sampling->n_out[1] - 1) +
             fabs(row[2]) * (double)(sampling->n_out[2] - 1)) +
        TAPS_MOST + 1;
    const int64_t all = sampling->n_in[0] + 2 * TAPS_PAD;
    return span < (double)all ? (int64_t)span : all;
}

void ts_spline_kernels(const struct sampling *sampling, const struct spline_kernels *kernels)
{
    for (int d = 0; d < 3; d++) {
        const double sigma = sampling->sigma[d], root = sqrt(3), pole = root - 2;
        const int64_t reach = gaussian_radius(sigma),
                      spline = is_spline(sampling, d) ? POLE_RADIUS : 0;
        double total = 0;
        for (int64_t k = -reach; k <= reach; k++)
            total += reach ? exp(-0.5 * (double)(k * k) / (sigma * sigma)) : 1;
        for (int64_t i = 0; i <= kernels->radius[d]; i++) {
            double sum = 0;
            for (int64_t k = i - spline; k <= i + spline; k++) {
                const double gaussian =
                    reach ? exp(-0.5 * (double)(k * k) / (sigma * sigma)) / total : 1;
                if (k >= -reach && k <= reach)
                    sum += gaussian * (spline ? root * pow(pole, (double)llabs(i - k)) : 1);
            }
            kernels->weights[d][i] = (float)sum;
        }
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

#define SUMS(suffix, type)                                                                         \
    TS_VECTORIZED static void add_four_##suffix(const void *const before[4],                       \
                                                const void *const after[4], const float weight[4], \
                                                float *restrict out, int64_t n)                    \
    {                                                                                              \
        const type *a = before[0], *b = before[1], *c = before[2], *d = before[3], *e = after[0],  \
                   *f = after[1], *g = after[2], *h = after[3];                                    \
        const float w0 = weight[0], w1 = weight[1], w2 = weight[2], w3 = weight[3];                \
        for (int64_t x = 0; x < n; x++) {                                                          \
            float sum = out[x] + w0 * ((float)a[x] + (float)e[x]);                                 \
            sum += w1 * ((float)b[x] + (float)f[x]);                                               \
            sum += w2 * ((float)c[x] + (float)g[x]);                                               \
            out[x] = sum + w3 * ((float)d[x] + (float)h[x]);                                       \
        }                                                                                          \
    }                                                                                              \
    TS_VECTORIZED static void add_pair_##suffix(const type *before, const type *after,             \
                                                float weight, float *restrict out, int64_t n)      \
    {                                                                                              \
        for (int64_t x = 0; x < n; x++)                                                            \
            out[x] += weight * ((float)before[x] + (float)after[x]);                               \
    }                                                                                              \
    TS_VECTORIZED static void add_middle_##suffix(const type *in, float weight,                    \
                                                  float *restrict out, int64_t n)                  \
    {                                                                                              \
        for (int64_t x = 0; x < n; x++)                                                            \
            out[x] += weight * (float)in[x];                                                       \
    }
TS_IMAGE_DTYPES(SUMS)
#undef SUMS

/* Rows that are added: row i is at base + (edge(i) - first) * stride. */
struct rows {
    const char *base;
    size_t stride;
    int64_t first, n; /* n 0: there are rows for all i */
    int edge;
    enum ts_dtype dtype;
};

static const void *row_at(const struct rows *rows, int64_t i)
{
    const int64_t at = rows->n ? ts_edge_index(i, rows->n, rows->edge) : i;
    return rows->base + (at - rows->first) * (int64_t)rows->stride;
}

/* Writes n coefficients of line i. */
static void sum_rows(const struct rows *rows, const float *weights, int64_t radius, int64_t i,
                     float *out, int64_t n)
{
    int64_t k = radius;
    memset(out, 0, (size_t)n * sizeof *out);
    for (; k >= 4; k -= 4) {
        const void *before[4], *after[4];
        float weight[4];
        for (int j = 0; j < 4; j++) {
            before[j] = row_at(rows, i - k + j);
            after[j] = row_at(rows, i + k - j);
            weight[j] = weights[k - j];
        }
        switch (rows->dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        add_four_##suffix(before, after, weight, out, n);                                          \
        break;
            TS_IMAGE_DTYPES(CASE)
#undef CASE
        default:
            break;
        }
    }
    switch (rows->dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        for (; k > 0; k--)                                                                         \
            add_pair_##suffix(row_at(rows, i - k), row_at(rows, i + k), weights[k], out, n);       \
        add_middle_##suffix(row_at(rows, i), weights[0], out, n);                                  \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* What the passes share. `nx` and `ny` are those of the input. */
struct spline_pass {
    const struct sampling *sampling;
    const struct spline_kernels *kernels;
    const struct ts_image *in, *out;
    int64_t ny, nx;
};

static float *coefficient_row(const struct spline_pass *pass, int64_t slice, int64_t y)
{
    return (float *)pass->out->data +
           (slice * (pass->ny + 2 * TAPS_PAD) + y) * (pass->nx + 2 * TAPS_PAD);
}

static void pass_z(const struct spline_pass *pass, int64_t slice, int64_t y)
{
    const struct ts_image *in = pass->in;
    const size_t bytes = ts_dtype_bytes(in->dtype), row = (size_t)pass->nx * bytes;
    const struct rows rows = {
        .base = (const char *)in->data + (size_t)y * row,
        .stride = (size_t)pass->ny * row,
        .first = in->z_first,
        .n = pass->sampling->n_in[0],
        .edge = pass->sampling->edge,
        .dtype = in->dtype,
    };
    sum_rows(&rows, pass->kernels->weights[0], pass->kernels->radius[0],
             pass->out->z_first + slice - TAPS_PAD,
             coefficient_row(pass, slice, y + TAPS_PAD) + TAPS_PAD, pass->nx);
}

static void pass_y(const struct spline_pass *pass, int64_t slice, int64_t block, float *columns)
{
    const int64_t first = block * BLOCK, left = pass->nx - first, n = left < BLOCK ? left : BLOCK;
    const struct rows rows = {.base = (const char *)columns,
                              .stride = (size_t)n * sizeof *columns,
                              .n = pass->ny,
                              .edge = pass->sampling->edge,
                              .dtype = TS_F32};
    for (int64_t y = 0; y < pass->ny; y++)
        memcpy(columns + y * n, coefficient_row(pass, slice, y + TAPS_PAD) + TAPS_PAD + first,
               (size_t)n * sizeof *columns);
    for (int64_t y = 0; y < pass->ny + 2 * TAPS_PAD; y++)
        sum_rows(&rows, pass->kernels->weights[1], pass->kernels->radius[1], y - TAPS_PAD,
                 coefficient_row(pass, slice, y) + TAPS_PAD + first, n);
}

static void pass_x(const struct spline_pass *pass, int64_t slice, int64_t y, float *line)
{
    const int64_t radius = pass->kernels->radius[2], before = radius + TAPS_PAD, nx = pass->nx;
    float *row = coefficient_row(pass, slice, y);
    const struct rows rows = {
        .base = (const char *)(line + before), .stride = sizeof *line, .dtype = TS_F32};
    memcpy(line + before, row + TAPS_PAD, (size_t)nx * sizeof *line);
    for (int64_t i = 1; i <= before; i++) {
        line[before - i] = line[before + ts_edge_index(-i, nx, pass->sampling->edge)];
        line[before + nx - 1 + i] =
            line[before + ts_edge_index(nx - 1 + i, nx, pass->sampling->edge)];
    }
    sum_rows(&rows, pass->kernels->weights[2], radius, -TAPS_PAD, row, nx + 2 * TAPS_PAD);
}

size_t ts_spline_scratch(const struct sampling *sampling)
{
    const int64_t *n = sampling->n_in, columns = n[1] * (n[2] < BLOCK ? n[2] : BLOCK),
                  line = n[2] + 2 * (ts_spline_radius(sampling, 2) + TAPS_PAD);
    size_t used = 0;
    ts_scratch_part(&used, columns > line ? columns : line, sizeof(float));
    return used;
}

void ts_spline_filter(const struct sampling *sampling, const struct spline_kernels *kernels,
                      const struct ts_image *in, struct ts_image *coefficients, void *scratch,
                      int threads)
{
    const struct spline_pass pass = {sampling,     kernels,           in,
                                     coefficients, sampling->n_in[1], sampling->n_in[2]};
    const size_t bytes = ts_spline_scratch(sampling);
    const int64_t n = coefficients->axes[0].n, ny = pass.ny, high = ny + 2 * TAPS_PAD,
                  blocks = (pass.nx + BLOCK - 1) / BLOCK;
#pragma omp parallel num_threads(threads)
    {
        float *own = (float *)((char *)scratch + (size_t)omp_get_thread_num() * bytes);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n * ny; i++)
            pass_z(&pass, i / ny, i % ny);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n * blocks; i++)
            pass_y(&pass, i / blocks, i % blocks, own);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n * high; i++)
            pass_x(&pass, i / high, i % high, own);
    }
}
