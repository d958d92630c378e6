/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/components_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/regions/components.h"

static bool are_neighbors(int64_t neighbors, int64_t z, int64_t y, int64_t x)
{
    const int64_t apart = (z != 0) + (y != 0) + (x != 0);
    return apart == 1 || (apart == 2 && neighbors > 6) || (apart == 3 && neighbors > 18);
}

/* Gives the part of voxel i, and all that it is connected with, this number; `stack` has room for
 * all voxels. Returns how many they are. */
static size_t flood(const struct stage_context *context, int64_t neighbors,
                    const unsigned char *voxels, size_t i, double number, double *parts,
                    size_t *stack)
{
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    size_t n = 1, done = 0;
    parts[i] = number;
    for (stack[0] = i; done < n; done++) {
        const int64_t at = (int64_t)stack[done], z = at / (ny * nx), y = at / nx % ny, x = at % nx;
        for (int64_t k = z > 0 ? z - 1 : 0; k <= z + 1 && k < nz; k++)
            for (int64_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < ny; j++)
                for (int64_t m = x > 0 ? x - 1 : 0; m <= x + 1 && m < nx; m++) {
                    const size_t other = ts_mask_oracle_at(context, k, j, m);
                    if (voxels[other] != VOXEL_IN || parts[other] != 0 ||
                        !are_neighbors(neighbors, k - z, j - y, m - x))
                        continue;
                    parts[other] = number;
                    stack[n++] = other;
                }
    }
    return n;
}

size_t *ts_components_oracle_parts(const struct stage_context *context, int64_t neighbors,
                                   const unsigned char *voxels, double *parts)
{
    const size_t n = ts_image_count(&context->in);
    size_t *stack = malloc((n + 1) * sizeof *stack), *sizes = calloc(n + 2, sizeof *sizes),
           n_parts = 0;
    double *rank = calloc(n + 2, sizeof *rank);
    memset(parts, 0, n * sizeof *parts);
    for (size_t i = 0; i < n; i++)
        if (voxels[i] == VOXEL_IN && parts[i] == 0) {
            sizes[n_parts] =
                flood(context, neighbors, voxels, i, (double)(n_parts + 1), parts, stack);
            n_parts++;
        }
    /* A part comes after those that are larger, and after equally large ones before it. */
    size_t *sorted = calloc(n_parts + 1, sizeof *sorted);
    for (size_t i = 0; i < n_parts; i++) {
        size_t before = 0;
        for (size_t k = 0; k < n_parts; k++)
            before += sizes[k] > sizes[i] || (sizes[k] == sizes[i] && k < i);
        rank[i + 1] = (double)(before + 1);
        sorted[before] = sizes[i];
    }
    for (size_t i = 0; i < n; i++)
        parts[i] = rank[(size_t)parts[i]];
    free(stack);
    free(sizes);
    free(rank);
    return sorted;
}

/* Returns the volume of a voxel, NaN if one of its sizes is not in mm. */
static double voxel_mm3(const struct stage_context *context)
{
    double mm3 = 1;
    for (int d = 0; d < 3; d++)
        mm3 *= context->in.axes[d].unit && !strcmp(context->in.axes[d].unit, "mm")
                   ? context->in.axes[d].spacing
                   : (double)NAN;
    return mm3;
}

void ts_components_oracle_voxels(const struct stage_context *context, const unsigned char *voxels,
                                 double *out)
{
    const struct components_params *params = context->params;
    const double mm3 = voxel_mm3(context);
    size_t *sizes = ts_components_oracle_parts(context, params->neighbors, voxels, out);
    for (size_t i = 0; i < ts_image_count(&context->in); i++) {
        if (out[i] == 0)
            continue;
        if ((params->largest.values && out[i] > params->largest.values[0]) ||
            (params->least_mm3 > 0 && (double)sizes[(size_t)out[i] - 1] * mm3 < params->least_mm3))
            out[i] = 0;
        else if (params->output == COMPONENTS_MASK)
            out[i] = 1;
    }
    free(sizes);
}

void ts_components_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct components_params *params = context->params;
    unsigned char *voxels = ts_mask_oracle_voxels(context, &params->label, in, NULL);
    ts_components_oracle_voxels(context, voxels, out);
    free(voxels);
}

void ts_components_oracle_tables(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables)
{
    const struct components_params *params = context->params;
    const size_t n = ts_image_count(&context->in);
    const double mm3 = voxel_mm3(context);
    double *parts = malloc((n + 1) * sizeof *parts), *found = ts_bench_table(tables, "found"),
           *kept = ts_bench_table(tables, "kept"), *voxels = ts_bench_table(tables, "voxels"),
           *volume = ts_bench_table(tables, "volume");
    unsigned char *mask = ts_mask_oracle_voxels(context, &params->label, in, NULL);
    size_t *sizes = ts_components_oracle_parts(context, params->neighbors, mask, parts);
    const int64_t rows = tables->tables[2].image.axes[0].n;
    (void)out;
    for (size_t i = 0; sizes[i] > 0; i++) {
        const bool stays = !(params->largest.values && (double)i >= params->largest.values[0]) &&
                           !(params->least_mm3 > 0 && (double)sizes[i] * mm3 < params->least_mm3);
        *found += 1;
        *kept += stays;
        if (stays && (int64_t)i < rows)
            voxels[i] = (double)sizes[i];
    }
    for (int64_t i = 0; i < rows; i++)
        volume[i] = voxels[i] * mm3;
    free(sizes);
    free(mask);
    free(parts);
}
