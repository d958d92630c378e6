/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_field looks for pixels whose transmission is wrong although it is a number: detector pixels
 * that are stuck, zingers in flats and darks, and values at the full scale of a detector of fewer
 * bits than its integers. The rules are here, and the CPU code (flat_checks.c) and
 * cuda/scan/flat_field.cu share them.
 */
#ifndef STAGES_SCAN_FLAT_CHECKS_H
#define STAGES_SCAN_FLAT_CHECKS_H

#include <float.h>
#include <math.h>

#include "stages/scan/bad_pixels.h"

/* Fewer than FLAT_LEAST_PILED values at full scale are chance. FLAT_RATIO is the ratio of
 * `bad_pixels: {ratio: 2}`. */
enum { FLAT_LEAST_PILED = 4, FLAT_STEEPER = 4, FLAT_RATIO = 2, FLAT_LEAST_BITS_VALUE = 255 };

/* Returns true if a detector pixel whose counts are the same in all of at least BAD_LEAST_VIEWS
 * views is stuck. It is not if it may be noiseless air, whose transmission is 1, at an end of a
 * row. inside: it is between detector pixels that vary. */
TS_HOST_DEVICE bool ts_flat_is_stuck(bool inside, float transmission)
{
    return inside || !(fabsf(transmission - 1) <= 0.01F);
}

/* Without noise, an object that looks the same in all views is constant at the ends of a row, and
 * gets thinner outward. Returns true if it does from detector pixel `inner` to its outer
 * neighbor. */
TS_HOST_DEVICE bool ts_flat_gets_thinner(float inner, float outer)
{
    return outer >= inner - 0.01F && outer <= 1.01F;
}

/* Returns the value as a number from 0 on, because medians need numbers whose bits have the same
 * order. */
TS_HOST_DEVICE float ts_flat_positive(float value)
{
    return value > 0 && value <= FLT_MAX ? value : 0;
}

/* Returns by how much the frames of a pixel with this mean may differ: many times the noise, which
 * is the median of the differences in the row, scaled up for a brighter pixel. Without such a
 * median it is the noise of counted photons. */
TS_HOST_DEVICE float ts_flat_limit(float median_spread, float median_mean, float mean,
                                   int64_t n_frames)
{
    const float times = n_frames == 2 ? 10 : 6,
                brighter = mean > median_mean && median_mean > 0 ? mean / median_mean : 1;
    const float noise = median_spread > 0 ? median_spread * brighter : sqrtf(mean > 1 ? mean : 1);
    return times * noise;
}

/* Returns true if frames that differ by `spread` have an outlier that changes the transmission by
 * at least 0.5 %. */
TS_HOST_DEVICE bool ts_flat_is_zinger(float spread, float limit, float gain, int64_t n_frames)
{
    return spread > limit && spread / (float)n_frames * gain > 0.005F;
}

/* Returns the step between the values of a detector (of at least 8 bits) whose full scale is this
 * value, or 0 if it is no full scale. The step is 1 for 2^k - 1, and more if the detector's bits
 * are the upper ones. */
TS_HOST_DEVICE float ts_flat_full_scale_step(float value)
{
    if (!(value >= FLAT_LEAST_BITS_VALUE && value < 4294967296.0F))
        return 0;
    const uint32_t bits = (uint32_t)value, step = bits & (~bits + 1);
    const bool ones = (float)bits == value && ((uint64_t)bits & ((uint64_t)bits + step)) == 0;
    return ones && bits / step >= FLAT_LEAST_BITS_VALUE ? (float)step : 0;
}

/* Returns true if values pile up at the largest one: without that, a distribution has about as many
 * at the value below it. */
TS_HOST_DEVICE bool ts_flat_is_piled(uint64_t at, uint64_t below)
{
    return at >= FLAT_LEAST_PILED && at > FLAT_STEEPER * below;
}

/* The offset and the gain of each detector pixel of a slice; gain NaN: dead. */
struct flat_row {
    float *offset, *gain;
};

/* Scratch for the checks of one slice in one thread. */
struct flat_room {
    float *spreads, *means, *values;
    float *limits[2]; /* limits of flats, and of darks */
    double *sorted;
    unsigned char *differs;
};

/* Returns the k-th smallest value, with k from 0 (C. A. R. Hoare, 1961), and reorders the values so
 * that none above it comes before it. */
double ts_flat_select(double *values, int64_t n, int64_t k);

/* The detector pixels within BAD_BESIDE of pixel d: [first, first + n); d is number `at` of
 * them. */
struct flat_near {
    int64_t first, n, at;
    struct bad_column columns[2 * BAD_BESIDE + 1];
};

TS_HOST_DEVICE struct flat_near ts_flat_near(int64_t n_detectors, int64_t d)
{
    struct flat_near near;
    const int64_t end = d + BAD_BESIDE < n_detectors ? d + BAD_BESIDE + 1 : n_detectors;
    near.first = d > BAD_BESIDE ? d - BAD_BESIDE : 0;
    near.n = end - near.first;
    near.at = d - near.first;
    for (int i = 0; i <= 2 * BAD_BESIDE; i++) {
        near.columns[i].first = near.columns[i].sum = 0;
        near.columns[i].n = 0;
        near.columns[i].differs = false;
    }
    return near;
}

TS_HOST_DEVICE bool ts_flat_stands_out(const struct flat_near *near)
{
    unsigned char none[2 * BAD_BESIDE + 1] = {0};
    return ts_bad_column_stands_out(near->columns, none, near->n, near->at, FLAT_RATIO);
}

/* Returns true if the flat minus the dark of detector pixel d stands out from its neighbors. Stuck
 * ones (varies is 0) and dead ones (gain is NaN) do not count. */
TS_HOST_DEVICE bool ts_flat_gain_stands_out(const float *gain, const unsigned char *varies,
                                            int64_t n, int64_t d)
{
    struct flat_near near = ts_flat_near(n, d);
    for (int64_t i = 0; i < near.n; i++)
        if (varies[near.first + i] && gain[near.first + i] > 0)
            ts_bad_column_add(&near.columns[i], 1 / (double)gain[near.first + i]);
    return ts_flat_stands_out(&near);
}

struct memory_layout;
struct flat_room ts_flat_room(int64_t n_detectors, struct memory_layout *layout);
/* Counts pixels of a slice of flats or darks in which a frame is an outlier. `limits` then has the
 * largest value that is not an outlier for these, and INFINITY for all others. */
uint64_t ts_flat_find_zingers(const struct ts_image *frames, int64_t z, const float *gain,
                              const struct flat_room *room, float *limits);
/* Counts detector pixels of a slice that are stuck. count_dead: also those with a gain of NaN. */
uint64_t ts_flat_find_stuck(const struct ts_image *in, int64_t z, struct flat_row row,
                            bool count_dead, const struct flat_room *room);
/* Counts detector pixels whose flat minus dark is FLAT_RATIO times that of their neighbors or more,
 * or the inverse or less, and whose transmission also is, which no object causes. room->differs
 * comes from ts_flat_find_stuck(). */
uint64_t ts_flat_find_uneven(const struct ts_image *in, int64_t z, struct flat_row row,
                             const struct flat_room *room);
/* Counts the valid values of a slice and its flats that pile up at full scale. `largest` is the
 * largest of all these, as a float. */
uint64_t ts_flat_count_piled(const struct ts_image *in, const struct ts_image *flats, int64_t z,
                             float largest, float *values);

#endif
