/* SPDX-License-Identifier: Apache-2.0
 *
 * This maps every value of a slab by itself on a CUDA device: stages/values/point_map.h for
 * launchers. Values are computed in double with the operations of the CPU code in the same order,
 * so that integers are equal.
 *
 *   POINT_REVERSE  y = middle - x
 *   POINT_LINEAR   y = below where x <= low, above where x >= high, else ((x - middle) / divisor +
 *                  shift) * span + base; no ends where low and high are NaN
 *   POINT_SIGMOID  y = span / (1 + exp(-4 (x - middle) / divisor)) + base
 */
#ifndef CUDA_VALUES_POINT_MAP_CUH
#define CUDA_VALUES_POINT_MAP_CUH

#include "cuda/device/launch.cuh"

enum point_kind { POINT_REVERSE, POINT_LINEAR, POINT_SIGMOID };

/* How two numbers of a reduction's result (a, b) complete the function. */
enum point_fit {
    POINT_FIT_NONE,
    POINT_FIT_MIDDLE, /* middle = a */
    POINT_FIT_RANGE,  /* middle = a, divisor = b - a, or 1 if that is not above 0 */
    POINT_FIT_CLIP,   /* middle = low = a, divisor = b - a, and x >= b gives `above` */
    POINT_FIT_SCALE   /* middle = a, divisor = b, or 1 if that is not above 0 */
};

struct point_function {
    enum point_kind kind;
    enum point_fit fit;
    double middle, divisor, shift, span, base;
    double low, high, below, above;
    double reciprocal; /* 1 / divisor, which only the kernels use */
};

/* Completes the function by the numbers (a, b). */
static inline __host__ __device__ void ts_cuda_point_fit(struct point_function *function, double a,
                                                         double b)
{
    const double wide = function->fit == POINT_FIT_SCALE ? b : b - a;
    function->middle = a;
    if (function->fit == POINT_FIT_CLIP) {
        function->divisor = wide;
        function->low = a;
        function->high = b;
    } else if (function->fit != POINT_FIT_MIDDLE) {
        function->divisor = wide > 0 ? wide : 1;
    }
    function->fit = POINT_FIT_NONE;
}

/* Returns the scratch bytes of a stage that maps with ts_cuda_point_map, for any number of
 * slices. */
size_t ts_cuda_point_scratch(const struct stage_context *context, int64_t n);
/* Computes out = function(in). Integer outputs are rounded half to even and saturated, and NaN
 * becomes 0 there. With a fit, the numbers are the first doubles of call->result; with per_slice,
 * every slice has its own result, and these are result_bytes apart. */
enum ts_status ts_cuda_point_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct point_function *function,
                                 bool per_slice, size_t result_bytes, const struct cuda_call *call);

#endif
