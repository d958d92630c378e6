/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of the Poisson and of the Gaussian distribution from a random stream, with the same bytes on the CPU and on
 * CUDA devices: every operation is one that both round alike, logarithms and exponentials included.
 *
 * Poisson with a mean below 10: the distribution function is summed until it exceeds a number that is even over (0, 1)
 * (inversion). From 10 on: PTRS, which accepts or rejects the integer below a transformed number by the exact
 * probabilities (W. Hoermann, "The transformed rejection method for generating Poisson random variables", Insurance:
 * Mathematics and Economics 12, 1993). Neither is an approximation: what is left is rounding, 1e-15 of the distribution
 * function below 10; above, the logarithm of a probability is off by some 1e-16 mean, but not by less than 1e-12.
 * Gaussian: the polar method (G. Marsaglia, T. A. Bray, SIAM Review 6, 1964).
 */
#ifndef STAGES_VALUES_SAMPLES_H
#define STAGES_VALUES_SAMPLES_H

#include <stdbool.h>

#include "stages/values/log_exp.h"
#include "stages/values/philox.h"

/* The largest mean, at which rounding is 1e-6 of a probability; PTRS takes means from the other on. */
#define POISSON_MEAN_MAX 1e10
#define POISSON_MEAN_PTRS 10

TS_HOST_DEVICE double ts_poisson_by_inversion(double mean, struct random_stream *stream)
{
    const double u = ts_random_pair(stream).u;
    double probability = ts_exp_f64(-mean), sum = probability, k = 0;
    while (u > sum) {
        k += 1;
        probability *= mean / k;
        if (sum + probability == sum) /* the last digits of the sum are behind u */
            break;
        sum += probability;
    }
    return k;
}

/* Returns log(mean^k e^-mean / k!) of a positive mean and an integer k >= 0: Stirling's series of k!, from 10 on. The
 * large parts, k log(mean / k) and k - mean, are taken together. */
TS_HOST_DEVICE double ts_poisson_log_probability(double mean, double k)
{
    if (k < 10) {
        double factorial = 1;
        for (double i = 2; i <= k; i++)
            factorial *= i;
        return k * ts_log_f64(mean) - mean - ts_log_f64(factorial);
    }
    const double r = 1 / k, square = r * r, root_2_pi = 0.91893853320467274178; /* its logarithm */
    const double rest = r * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680))));
    return k * ts_log_f64(mean / k) + (k - mean) - 0.5 * ts_log_f64(k) - root_2_pi - rest;
}

TS_HOST_DEVICE double ts_poisson_by_ptrs(double mean, struct random_stream *stream)
{
    const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const struct random_pair pair = ts_random_pair(stream);
        const double u = pair.u - 0.5, v = pair.v, us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (ts_log_f64(v * inverse_alpha / (a / (us * us) + b)) <= ts_poisson_log_probability(mean, k))
            return k;
    }
}

/* Returns a sample of a mean within [0, POISSON_MEAN_MAX]. */
TS_HOST_DEVICE double ts_poisson(double mean, struct random_stream *stream)
{
    return mean < POISSON_MEAN_PTRS ? ts_poisson_by_inversion(mean, stream) : ts_poisson_by_ptrs(mean, stream);
}

/* Returns a sample of mean 0 and standard deviation 1. */
TS_HOST_DEVICE double ts_gaussian(struct random_stream *stream)
{
    for (;;) {
        const struct random_pair pair = ts_random_pair(stream);
        const double x = 2 * pair.u - 1, y = 2 * pair.v - 1, square = x * x + y * y;
        if (square < 1)
            return x * sqrt(-2 * ts_log_f64(square) / square);
    }
}

#endif
