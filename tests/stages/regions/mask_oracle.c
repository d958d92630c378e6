/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/mask_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/engine/validity.h"

unsigned char *ts_mask_oracle_voxels(const struct stage_context *context,
                                     const struct ts_numbers *label, const double *values,
                                     const struct ts_image *image)
{
    const size_t n = ts_image_count(&context->in), slice = ts_slice_count(&context->in);
    unsigned char *voxels = malloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        const bool within =
            label->values ? values[i] == label->values[0] : values[i] != 0 && !isnan(values[i]);
        voxels[i] = within ? VOXEL_IN : VOXEL_OUT;
        if (image && image->masked &&
            !ts_valid_at(ts_slice_valid(image, (int64_t)(i / slice)), i % slice))
            voxels[i] = VOXEL_INVALID;
    }
    return voxels;
}
