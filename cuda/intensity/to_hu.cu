/* SPDX-License-Identifier: Apache-2.0
 *
 * to_hu on a CUDA device: HU = 1000 (mu - mu_water) / mu_water, the CPU's operations in double.
 * Each value is read once and written once, 8 bytes. Threads, blocks and their reasons:
 * cuda/values/point_map.cu.
 */
#include "cuda/values/point_map.cuh"

extern "C" {
#include "stages/intensity/to_hu.h"
}

static enum ts_status to_hu_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    const double water = ((const struct to_hu_params *)context->params)->water;
    struct point_function function = {.kind = POINT_LINEAR};
    function.middle = function.divisor = water;
    function.span = 1000;
    function.low = function.high = NAN;
    return ts_cuda_point_map(context, in, out, &function, false, 0, call);
}

const struct stage_cuda to_hu_cuda = {.scratch_bytes = ts_cuda_point_scratch, .map = to_hu_map};
