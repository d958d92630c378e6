/* SPDX-License-Identifier: Apache-2.0
 *
 * noise adds the noise of a detector: that of photons, by Poisson's distribution, and that of its
 * electronics, by a Gaussian one. The rule for one pixel is here, because cuda/scan/noise.cu must
 * give the same bytes as the CPU code.
 */
#ifndef STAGES_SCAN_NOISE_H
#define STAGES_SCAN_NOISE_H

#include "stages/engine/stage.h"
#include "stages/values/samples.h"

struct noise_params {
    double photons, electronic;
    int64_t seed;
    int32_t nonpositive; /* enum noise_nonpositive */
    double floor;        /* photons */
};
enum noise_nonpositive { NOISE_FLOOR, NOISE_NAN };
/* Purposes of random streams. */
enum { NOISE_POISSON, NOISE_GAUSSIAN };

struct noise_rule {
    double photons, electronic,
        lowest; /* lowest: smaller counts have no logarithm, or one that is not used */
    uint64_t seed;
    bool lines; /* true if values are line integrals instead of transmissions */
    bool floors;
};
struct noise_rule ts_noise_rule(const struct stage_context *context);

/* Returns the index of the first pixel of a slab among those of all volumes of a series. */
uint64_t ts_noise_first(const struct stage_context *context, const struct ts_image *slab);

/* Returns the noisy value of a pixel by its index in the series; *starved becomes true if the
 * count of a line integral is below the lowest. */
TS_HOST_DEVICE float ts_noise(const struct noise_rule *rule, float value, uint64_t pixel,
                              bool *starved)
{
    const double share = !rule->lines ? (double)value : ts_exp_f64(-(double)value);
    const double mean = share > 0 ? share * rule->photons : 0;
    *starved = false;
    if (!(fabsf(value) < INFINITY) || mean > POISSON_MEAN_MAX)
        return (float)NAN;
    struct random_stream poisson = {rule->seed, pixel, NOISE_POISSON, 0};
    struct random_stream gaussian = {rule->seed, pixel, NOISE_GAUSSIAN, 0};
    double count = ts_poisson(mean, &poisson);
    if (rule->electronic > 0)
        count += rule->electronic * ts_gaussian(&gaussian);
    if (!rule->lines)
        return (float)(count / rule->photons);
    *starved = !(count > 0) || count < rule->lowest;
    if (*starved && !rule->floors)
        return (float)NAN;
    return (float)(0 - ts_log_f64((*starved ? rule->lowest : count) / rule->photons));
}

#endif
