/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/apply_mask_oracle.h"

#include <math.h>

#include "stages/regions/apply_mask.h"

void ts_apply_mask_oracle_results(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables)
{
    const struct apply_mask_params *params = context->params;
    const struct ts_image *image = &inputs[0], *mask = &inputs[1];
    (void)tables;
    for (size_t i = 0; i < ts_image_count(image); i++) {
        double value, chosen;
        ts_load_f64(&value, (const char *)image->data + i * ts_dtype_bytes(image->dtype),
                    image->dtype, 1);
        ts_load_f64(&chosen, (const char *)mask->data + i * ts_dtype_bytes(mask->dtype),
                    mask->dtype, 1);
        const bool outside = isnan(chosen) || chosen == 0;
        out[i] = outside && params->outside == MASK_VALUE ? params->value : value;
    }
}
