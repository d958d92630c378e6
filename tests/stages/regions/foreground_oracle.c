/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/foreground_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/regions/foreground.h"
#include "stages/regions/morphology.h"
#include "tests/stages/regions/components_oracle.h"
#include "tests/stages/regions/morphology_oracle.h"
#include "tests/stages/regions/threshold_oracle.h"

/* Returns the threshold of the valid values. */
static double find(const struct stage_context *context, const double *in,
                   const unsigned char *voxels)
{
    const struct foreground_params *params = context->params;
    const size_t n = ts_image_count(&context->in);
    const struct threshold_params rule = {
        .method = params->method == FOREGROUND_OTSU ? THRESHOLD_OTSU : THRESHOLD_TRIANGLE,
        .bins = params->bins};
    struct stage_context of = *context;
    double *valid = malloc((n + 1) * sizeof *valid);
    size_t n_valid = 0;
    of.params = &rule;
    for (size_t i = 0; i < n; i++)
        if (voxels[i] != VOXEL_INVALID)
            valid[n_valid++] = in[i];
    const double threshold = params->method == FOREGROUND_VALUE
                                 ? params->above
                                 : ts_threshold_oracle_found(&of, valid, n_valid);
    free(valid);
    return threshold;
}

void ts_foreground_oracle_image(const struct stage_context *context, const double *in,
                                const struct ts_image *image, double *out)
{
    const struct foreground_params *params = context->params;
    const size_t n = ts_image_count(&context->in);
    const struct ts_numbers all = {0};
    unsigned char *voxels = ts_mask_oracle_voxels(context, &all, in, image);
    const double threshold = find(context, in, voxels);
    for (size_t i = 0; i < n; i++)
        if (voxels[i] != VOXEL_INVALID)
            voxels[i] = in[i] > threshold ? VOXEL_IN : VOXEL_OUT;
    if (params->keep == FOREGROUND_LARGEST) {
        free(ts_components_oracle_parts(context, params->neighbors, voxels, out));
        for (size_t i = 0; i < n; i++)
            if (voxels[i] == VOXEL_IN && out[i] != 1)
                voxels[i] = VOXEL_OUT;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = voxels[i] == VOXEL_IN;
    if (params->holes != FOREGROUND_HOLES_STAY) {
        const struct morphology_params filling = {
            .operation = MORPHOLOGY_FILL_HOLES,
            .dimensions = params->holes == FOREGROUND_HOLES_3D ? MORPHOLOGY_3D : MORPHOLOGY_2D};
        struct stage_context of = *context;
        of.params = &filling;
        ts_morphology_oracle_voxels(&of, voxels, out);
    }
    free(voxels);
}

void ts_foreground_oracle(const struct stage_context *context, const double *in, double *out)
{
    ts_foreground_oracle_image(context, in, NULL, out);
}

void ts_foreground_oracle_tables(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables)
{
    const struct ts_numbers all = {0};
    double *threshold = ts_bench_table(tables, "threshold");
    unsigned char *voxels = ts_mask_oracle_voxels(context, &all, in, NULL);
    (void)out;
    if (threshold)
        *threshold = find(context, in, voxels);
    free(voxels);
}
