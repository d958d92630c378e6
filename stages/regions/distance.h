/* SPDX-License-Identifier: Apache-2.0
 *
 * distance gives each voxel its distance in mm from the nearest voxel of a mask, or of what is not
 * in it. The distance along one line, which the CPU code and cuda/regions/distance.cu both compute,
 * is here: by the same operations, so that both give the same bytes.
 */
#ifndef STAGES_REGIONS_DISTANCE_H
#define STAGES_REGIONS_DISTANCE_H

#include <math.h>

#include "core/host_device.h"
#include "stages/regions/mask_bits.h"

enum distance_of { DISTANCE_OUTSIDE, DISTANCE_INSIDE, DISTANCE_SIGNED };

struct distance_params {
    int32_t of; /* enum distance_of */
    struct ts_numbers label;
};

struct mask_values ts_distance_values(const struct stage_context *context);

/* ---- squared distances along a line ------------------------------------------------------------
 *
 * The lower envelope of parabolas (P. Felzenszwalb and D. Huttenlocher, 2012): sample q of a line
 * stands for the parabola f(q) + (step (x - q))^2, and the new value at x is the lowest of them.
 * Parabola k of the envelope is that of sample site[k * stride], and is the lowest from begin[k *
 * stride] on. Infinite samples have none. */
struct distance_line {
    const double *f; /* sample q is f[q * f_stride] */
    int64_t f_stride, n;
    double step2; /* the square of step */
    int32_t *site;
    double *begin;
    int64_t stride;
};

/* Makes the envelope, and returns the number of its parabolas. */
TS_HOST_DEVICE int64_t ts_distance_envelope(const struct distance_line *line)
{
    int64_t k = 0;
    for (int64_t q = 0; q < line->n; q++) {
        const double f = line->f[q * line->f_stride];
        double begin = -1;
        if (isinf(f))
            continue;
        const double height = f + line->step2 * (double)(q * q);
        for (; k > 0; k--) {
            const int64_t p = line->site[(k - 1) * line->stride];
            const double other = line->f[p * line->f_stride] + line->step2 * (double)(p * p);
            begin = (height - other) / (2 * line->step2 * (double)(q - p));
            if (begin > line->begin[(k - 1) * line->stride])
                break;
        }
        line->site[k * line->stride] = (int32_t)q;
        line->begin[k * line->stride] = k == 0 ? -1 : begin;
        k++;
    }
    return k;
}

/* Returns the new value at x; *k is the parabola to look at first, 0 for the first sample, if the
 * samples are asked for in rising order. */
TS_HOST_DEVICE double ts_distance_lowest(const struct distance_line *line, int64_t n_sites,
                                         int64_t x, int64_t *k)
{
    if (n_sites == 0)
        return (double)INFINITY;
    while (*k + 1 < n_sites && line->begin[(*k + 1) * line->stride] < (double)x)
        ++*k;
    const int64_t site = line->site[*k * line->stride];
    return line->f[site * line->f_stride] + line->step2 * (double)((x - site) * (x - site));
}

#endif
