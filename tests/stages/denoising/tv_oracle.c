/* SPDX-License-Identifier: Apache-2.0
 *
 * The dual field p has the norm `weight` at most, as in the papers, and u = f + div p at the minimum. A slice in 2D is
 * a volume of one plane: its differences along z are 0, which only the number of axes in the step widths tells apart.
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
        sum += length(difference(grid, u, i, 0), difference(grid, u, i, 1), difference(grid, u, i, 2));
    return sum;
}

double ts_tv_energy(const double *u, const double *f, double weight, int64_t nz, int64_t ny, int64_t nx)
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
static void chambolle(const struct grid *grid, const double *f, double weight, double tau, double *const p[3],
                      double *u)
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

/* p <- the nearest to p + sigma grad bar with |p| <= weight; u <- (u + tau (f + div p)) / (1 + tau); bar <- u + theta
 * (u - the u before). */
static void primal_dual(const struct grid *grid, const double *f, double weight, double *tau, double *sigma,
                        double *const p[3], double *u, double *bar)
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

static void denoise(const struct grid *grid, const struct tv_params *params, const double *f, double *u)
{
    const double axes = params->dimensions == TV_3D ? 3 : 2;
    const size_t bytes = (size_t)grid->count * sizeof(double);
    double *p[3], *bar = malloc(bytes), tau = 4, sigma = 1 / (tau * 4 * axes);
    for (int a = 0; a < 3; a++)
        p[a] = calloc((size_t)grid->count, sizeof(double));
    memcpy(u, f, bytes);
    memcpy(bar, f, bytes);
    for (int64_t i = 1; i <= params->iterations; i++) {
        if (params->method == TV_CHAMBOLLE)
            chambolle(grid, f, params->weight, 1 / (2 * axes), p, u);
        else
            primal_dual(grid, f, params->weight, &tau, &sigma, p, u, bar);
        if (params->stop == TV_NEVER || i % 10 > 0)
            continue;
        for (int64_t k = 0; params->method == TV_CHAMBOLLE && k < grid->count; k++)
            u[k] = f[k] + divergence(grid, p, k);
        const double gap =
            ts_tv_energy(u, f, params->weight, grid->n[0], grid->n[1], grid->n[2]) - dual_energy(grid, p, f);
        if (sqrt(2 * fmax(gap, 0) / (double)grid->count) <= params->tolerance)
            break;
    }
    for (int64_t i = 0; params->method == TV_CHAMBOLLE && i < grid->count; i++)
        u[i] = f[i] + divergence(grid, p, i);
    for (int a = 0; a < 3; a++)
        free(p[a]);
    free(bar);
}

void ts_tv_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct tv_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const bool volume = params->dimensions == TV_3D;
    const struct grid grid = grid_of(volume ? nz : 1, ny, nx);
    for (int64_t z = 0; z < (volume ? 1 : nz); z++)
        denoise(&grid, params, in + z * ny * nx, out + z * ny * nx);
}
