/* SPDX-License-Identifier: Apache-2.0
 *
 * window on a CUDA device: the VOI functions of DICOM, formulas in stages/intensity/window.c. Each
 * value is read once and written once. Threads, blocks and their reasons: cuda/values/point_map.cu.
 */
#include "cuda/values/point_map.cuh"

extern "C" {
#include "stages/intensity/window.h"
}

static enum ts_status window_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const struct window_params *params = (const struct window_params *)context->params;
    const bool dicom_linear = params->function == WINDOW_LINEAR;
    struct point_function function = {.kind = params->function == WINDOW_SIGMOID ? POINT_SIGMOID
                                                                                 : POINT_LINEAR};
    function.middle = dicom_linear ? params->center - 0.5 : params->center;
    function.divisor = dicom_linear ? params->width - 1 : params->width;
    function.shift = 0.5;
    function.span = params->out_high - params->out_low;
    function.base = function.below = params->out_low;
    function.above = params->out_high;
    function.low = function.middle - function.divisor / 2;
    /* In DICOM the end itself belongs to the slope. */
    function.high = nextafter(function.middle + function.divisor / 2, INFINITY);
    return ts_cuda_point_map(context, in, out, &function, false, 0, call);
}

const struct stage_cuda window_cuda = {.scratch_bytes = ts_cuda_point_scratch, .map = window_map};
