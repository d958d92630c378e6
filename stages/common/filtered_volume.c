/* SPDX-License-Identifier: Apache-2.0
 *
 * The sum over views is an integral over angles; filtered, it has the unit of the rows over a length.
 */
#include "stages/common/filtered_volume.h"

enum ts_status ts_filtered_volume_resolve(const struct stage_context *context, void *values)
{
    struct reconstruction_params *params = values;
    params->model = BACK_LINEAR;
    params->weights = VIEW_WEIGHTS_ANGLES;
    ts_row_filter_resolve(context, params->filter, params->unit);
    return ts_reconstruction_resolve(context, params);
}

enum ts_status ts_filtered_volume_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct reconstruction_params *params = context->params;
    ts_reconstruction_shape(context, out);
    out->unit = params->unit;
    out->quantity = params->filter == ROW_FILTER_NONE ? TS_INTENSITY : ts_unit_quantity(params->unit);
    return TS_OK;
}
