/* SPDX-License-Identifier: Apache-2.0
 *
 * The dual field p has the norm `weight` at most, as in the papers, and u = f + div p at the
 * minimum. A slice in 2D is a volume of one plane: its differences along z are 0, which only the
 * number of axes in the step widths tells apart.
 */
#include "tests/stages/denoising/tv_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/denoising/tv.h"

struct grid {
    int64_t n[3], step[3], count; /* axes z, y, x */
};

static struct grid grid_of(int64_t nz, int64_t ny, int64_t nx)
{
    return (struct grid){{nz, ny, nx}, {ny * nx, nx, 1}, nz * ny * nx};
}

static int64_t index_along(const struct grid *grid, int64_t i, int axis)
{
    return i / grid->step[axis] % grid->n[axis];
}

static double difference(const struct grid *grid, const double *u, int64_t i, int axis)
{
    return index_along(grid, i, axis) + 1 < grid->n[axis] ? u[i + grid->step[axis]] - u[i] : 0;
}

static double divergence(const struct grid *grid, double *const p[3], int64_t i)
{
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        sum += index_along(grid, i, a) + 1 < grid->n[a] ? p[a][i] : 0;
        sum -= index_along(grid, i, a) > 0 ? p[a][i - grid->step[a]] : 0;
    }
    return sum;
}

static double length(double z, double y, double x)
{
    return sqrt(z * z + y * y + x * x);
}

static double variation(const struct grid *grid, const double *u)
{
    double sum = 0;
    for (int64_t i = 0; i < grid->count; i++)
        sum +=
            length(difference(grid, u, i, 0), difference(grid, u, i, 1), difference(grid, u, i, 2));
    return sum;
}

double ts_tv_energy(const double *u, const double *f, double weight, int64_t nz, int64_t ny,
                    int64_t nx)
{
    const struct grid grid = grid_of(nz, ny, nx);
    double sum = 0;
    for (int64_t i = 0; i < grid.count; i++)
        sum += (u[i] - f[i]) * (u[i] - f[i]) / 2;
    return sum + weight * variation(&grid, u);
}

/* The value of the dual problem, -1/2 ||div p||^2 - <f, div p>. */
static double dual_energy(const struct grid *grid, double *const p[3], const double *f)
{
    double sum = 0;
    for (int64_t i = 0; i < grid->count; i++) {
        const double d = divergence(grid, p, i);
        sum -= d * d / 2 + f[i] * d;
    }
    return sum;
}

/* p <- (p + tau grad u) / (1 + tau / weight |grad u|), from u = f + div p. */
static void chambolle(const struct grid *grid, const double *f, double weight, double tau,
                      double *const p[3], double *u)
{
    for (int64_t i = 0; i < grid->count; i++)
        u[i] = f[i] + divergence(grid, p, i);
    for (int64_t i = 0; i < grid->count; i++) {
        double g[3];
        for (int a = 0; a < 3; a++)
            g[a] = difference(grid, u, i, a);
        for (int a = 0; a < 3; a++)
            p[a][i] = (p[a][i] + tau * g[a]) / (1 + tau / weight * length(g[0], g[1], g[2]));
    }
}

/* p <- the nearest to p + sigma grad bar with |p| <= weight; u <- (u + tau (f + div p)) / (1 +
 * tau); bar <- u + theta (u - the u before). */
static void primal_dual(const struct grid *grid, const double *f, double weight, double *tau,
                        double *sigma, double *const p[3], double *u, double *bar)
{
    const double theta = 1 / sqrt(1 + 2 * *tau);
    for (int64_t i = 0; i < grid->count; i++) {
        double g[3];
        for (int a = 0; a < 3; a++)
            g[a] = p[a][i] + *sigma * difference(grid, bar, i, a);
        const double norm = length(g[0], g[1], g[2]);
        for (int a = 0; a < 3; a++)
            p[a][i] = norm > weight ? g[a] * weight / norm : g[a];
    }
    for (int64_t i = 0; i < grid->count; i++) {
        const double old = u[i];
        u[i] = (old + *tau * (f[i] + divergence(grid, p, i))) / (1 + *tau);
        bar[i] = u[i] + theta * (u[i] - old);
    }
    *tau *= theta;
    *sigma /= theta;
}

/* Rows of the tables for the planes of a grid. */
struct record {
    double *distances, *iterations;
    int64_t looks, n; /* looks a plane may have, and has had */
};

/* Records, for each plane, the root of twice its part of the gap over its pixels: the sum of weight
 * |grad u| - <p, grad u> + 1/2 (u - f - div p)^2. */
static void look(const struct grid *grid, const double *f, double weight, double *const p[3],
                 const double *u, struct record *record)
{
    for (int64_t z = 0; z < grid->n[0]; z++) {
        double gap = 0;
        for (int64_t i = z * grid->step[0]; i < (z + 1) * grid->step[0]; i++) {
            double g[3], along = 0;
            for (int a = 0; a < 3; a++) {
                g[a] = difference(grid, u, i, a);
                along += p[a][i] * g[a];
            }
            const double rest = u[i] - f[i] - divergence(grid, p, i);
            gap += weight * length(g[0], g[1], g[2]) - along + rest * rest / 2;
        }
        record->distances[z * record->looks + record->n] =
            sqrt(2 * fmax(gap, 0) / (double)grid->step[0]);
    }
    record->n++;
}

static void denoise(const struct grid *grid, const struct tv_params *params, const double *f,
                    double *u, struct record *record)
{
    const double axes = params->dimensions == TV_3D ? 3 : 2;
    const size_t bytes = (size_t)grid->count * sizeof(double);
    double *p[3], *x = malloc(bytes), *bar = malloc(bytes), tau = 4, sigma = 1 / (tau * 4 * axes);
    int64_t i = 0;
    bool done = false;
    for (int a = 0; a < 3; a++)
        p[a] = calloc((size_t)grid->count, sizeof(double));
    memcpy(x, f, bytes);
    memcpy(bar, f, bytes);
    while (!done) {
        i++;
        if (params->method == TV_CHAMBOLLE)
            chambolle(grid, f, params->weight, 1 / (2 * axes), p, x);
        else
            primal_dual(grid, f, params->weight, &tau, &sigma, p, x, bar);
        if (i < params->iterations && (params->stop == TV_NEVER || i % 10 > 0))
            continue;
        for (int64_t k = 0; k < grid->count; k++)
            u[k] = params->method == TV_CHAMBOLLE ? f[k] + divergence(grid, p, k) : x[k];
        const double gap = ts_tv_energy(u, f, params->weight, grid->n[0], grid->n[1], grid->n[2]) -
                           dual_energy(grid, p, f);
        if (record)
            look(grid, f, params->weight, p, u, record);
        done = i == params->iterations ||
               sqrt(2 * fmax(gap, 0) / (double)grid->count) <= params->tolerance;
    }
    for (int64_t z = 0; record && z < grid->n[0]; z++) {
        for (int64_t k = record->n; k < record->looks; k++)
            record->distances[z * record->looks + k] = NAN;
        record->iterations[z] = (double)i;
    }
    for (int a = 0; a < 3; a++)
        free(p[a]);
    free(bar);
    free(x);
}

/* With distances NULL the tables are left out. */
static void denoise_all(const struct stage_context *context, const double *in, double *out,
                        double *distances, double *iterations)
{
    const struct tv_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    const int64_t runs = params->dimensions == TV_3D ? 1 : nz, planes = nz / runs,
                  looks = params->stop == TV_NEVER ? 1 : (params->iterations + 9) / 10;
    const struct grid grid = grid_of(planes, ny, nx);
    for (int64_t run = 0; run < runs; run++) {
        struct record record = {distances ? distances + run * looks : NULL,
                                iterations ? iterations + run : NULL, looks, 0};
        denoise(&grid, params, in + run * grid.count, out + run * grid.count,
                distances ? &record : NULL);
    }
}

void ts_tv_oracle(const struct stage_context *context, const double *in, double *out)
{
    denoise_all(context, in, out, NULL, NULL);
}

void ts_tv_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                         struct bench_tables *tables)
{
    double *again = malloc(ts_image_count(&context->out) * sizeof *again);
    (void)out;
    denoise_all(context, in, again, ts_bench_table(tables, "distance"),
                ts_bench_table(tables, "iterations"));
    free(again);
}
