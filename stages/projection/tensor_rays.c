/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/projection/tensor_rays.h"

#include <math.h>
#include <string.h>

#include "stages/projection/tensor_method.h"

enum ts_status ts_tensor_check_rays(const struct stage_context *context, const struct tensor_grid *grid,
                                    double detector_spacing, bool split)
{
    enum { MOST_APART = 16 }; /* pixels */
    const double apart = detector_spacing * hypot(grid->dy, grid->dx) / (grid->dy * grid->dx);
    enum ts_status status = ts_tensor_check(context, grid->ny, grid->nx, split);
    if (status == TS_OK)
        status = ts_tensor_check(context, grid->nx, grid->ny, split); /* lines are columns where rays are steep */
    if (status != TS_OK || apart <= MOST_APART)
        return status;
    ts_param_error(context->set, "method", "tensor-apart", context->diag,
                   "rays cross a row or column up to %.6g pixels apart, and tensor takes at most %d", apart,
                   MOST_APART);
    ts_diag_hint(context->diag, "method: %s, or detectors that lie closer",
                 !strcmp(context->stage->name, "radon") ? "ray" : "stack");
    return TS_BAD_CHAIN;
}
