/* SPDX-License-Identifier: Apache-2.0
 *
 * This estimates the standard deviation of additive white Gaussian noise in an image, by two rules
 * that look at the finest detail of each slice alone. Both start from the second differences along
 * x and y,
 *
 *     R(y, x) = sum of m[j] m[i] v(y + j, x + i) over i, j in {-1, 0, 1},  m = [1, -2, 1],
 *
 * which a constant or a plane leaves at exactly 0.
 *
 * immerkaer: sqrt(pi/2)/6 times the mean of |R| over the pixels that have all eight neighbors (J.
 *     Immerkaer, Fast noise variance estimation, 1996).
 * wavelet: the median of |d| over the diagonal coefficients d that are not 0, divided by the 3/4
 *     quantile of the normal distribution (D. L. Donoho and I. M. Johnstone, Ideal spatial
 *     adaptation by wavelet shrinkage, 1994), with the wavelet db2 and symmetric borders as in
 *     skimage.restoration.estimate_sigma. The high-pass filter of db2 is a second difference
 *     followed by two taps, so that each d is a sum of four R.
 *
 * Values that are not finite, invalid pixels and those that the stage's parameter `mask` leaves out
 * spoil the R and d that they touch, and these are left out. A partial keeps the sums of the slices
 * apart, and counts the d, rounded to float, so that it does not matter how slices are grouped.
 */
#ifndef STAGES_COUNTING_NOISE_ESTIMATE_H
#define STAGES_COUNTING_NOISE_ESTIMATE_H

#include <math.h>

#include "stages/counting/percentile.h"
#include "stages/engine/stage.h"

enum noise_estimate { NOISE_NONE, NOISE_IMMERKAER, NOISE_WAVELET, NOISE_BOTH };

/* Returns the size of the coefficient (k, l), from the second differences around the samples 2k - 1
 * (far) and 2k (near) of both axes; in names with two parts the second is for x. Along one axis the
 * two taps are -near * (D(2k) + t D(2k - 1)) with near = (1 + sqrt 3)/(4 sqrt 2) and t = 2 - sqrt
 * 3. As t^2 = 4 t - 1, both brackets below are exact for integers, and a coefficient is 0 if and
 * only if both are. It returns NaN for 0. The size is divided by NOISE_COEFFICIENT_UNIT, a power of
 * two, because it can be 2.8 times as large as the largest float. */
#define NOISE_COEFFICIENT_UNIT 4.0
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline float
    ts_noise_coefficient(double far_far, double far_near, double near_far, double near_near)
{
    const double near_squared = 0.23325317547305483 / NOISE_COEFFICIENT_UNIT,
                 t = 0.26794919243112272;
    const double d =
        near_squared * ((near_near - far_far) + t * (4 * far_far + (far_near + near_far)));
    const float size = (float)(d < 0 ? -d : d);
    return size > 0 ? size : (float)NAN;
}

struct noise_sum {
    double sum; /* sum of |R| */
    uint64_t n;
};

/* The result, in values of the image. NaN: there was nothing to measure, or this rule was not asked
 * for. */
struct noise_result {
    double immerkaer, wavelet;
    struct percentile_search search; /* the struct ends before this if no second round is needed */
};

/* Return whether an estimate needs the sums, and whether it needs the coefficients. */
static inline bool ts_noise_has_sums(enum noise_estimate estimate)
{
    return estimate == NOISE_IMMERKAER || estimate == NOISE_BOTH;
}
static inline bool ts_noise_has_coefficients(enum noise_estimate estimate)
{
    return estimate == NOISE_WAVELET || estimate == NOISE_BOTH;
}

/* Returns how many coefficients a line of n samples has. */
static inline int64_t ts_noise_coefficients(int64_t n)
{
    return n / 2 + 1 + n % 2;
}

/* Returns true if the median of a slice is found in one round, as on a CUDA device, instead of
 * two. */
bool ts_noise_by_slice(const struct stage_context *context, enum noise_estimate estimate);

/* A stage with the parameter `scope` calls these in its reduction; partials and results are members
 * of the stage's own. ts_noise_rounds() is 0 for NOISE_NONE. In rounds past the estimate's last its
 * partial has 0 bytes, and the others must not be called. The result is zero at first. */
int ts_noise_rounds(const struct stage_context *context, enum noise_estimate estimate);
size_t ts_noise_partial_bytes(const struct stage_context *context, enum noise_estimate estimate);
size_t ts_noise_result_bytes(const struct stage_context *context, enum noise_estimate estimate);
void ts_noise_reduce(const struct stage_context *context, enum noise_estimate estimate,
                     const struct ts_image *slices, const struct noise_result *result,
                     void *partial);
void ts_noise_merge(const struct stage_context *context, enum noise_estimate estimate,
                    const struct noise_result *result, void *into, const void *from);
void ts_noise_finish(const struct stage_context *context, enum noise_estimate estimate,
                     const void *total, struct noise_result *result);

#endif
