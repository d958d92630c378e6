/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_field looks for pixels whose transmission is none, though a number comes out: detector
 * pixels that are stuck, zingers in flats and darks, and values at the full scale of a detector of
 * fewer bits than its integers. The rules are here, and the CPU code (flat_checks.c) and
 * cuda/scan/flat_field.cu share them.
 */
#ifndef STAGES_SCAN_FLAT_CHECKS_H
#define STAGES_SCAN_FLAT_CHECKS_H

#include <float.h>
#include <math.h>

#include "stages/scan/bad_pixels.h"

/* Fewer values at full scale are chance. FLAT_RATIO is what `bad_pixels: {ratio: 2}` finds. */
enum { FLAT_LEAST_PILED = 4, FLAT_STEEPER = 4, FLAT_RATIO = 2, FLAT_LEAST_BITS_VALUE = 255 };

/* Counts of a detector pixel are the same in all views, from BAD_LEAST_VIEWS on. Returns true where
 * that is no measurement: noiseless air, whose transmission is 1, is constant at both ends of a
 * row. inside: it lies between detector pixels that vary. */
TS_HOST_DEVICE bool ts_flat_is_stuck(bool inside, float transmission)
{
    return inside || !(fabsf(transmission - 1) <= 0.01F);
}

/* Without noise, an object that all views see alike is constant as well at the ends of a row: from
 * what varies outward it gets thinner. This goes on to `outer` from the detector pixel on its inner
 * side. */
TS_HOST_DEVICE bool ts_flat_gets_thinner(float inner, float outer)
{
    return outer >= inner - 0.01F && outer <= 1.01F;
}

/* Returns what medians are made of: a number from 0 on, whose bits order as it does. */
TS_HOST_DEVICE float ts_flat_positive(float value)
{
    return value > 0 && value <= FLT_MAX ? value : 0;
}

/* Returns by how much the frames of a pixel of this mean may differ: many times the noise, which is
 * the median of the differences in the row, and more for a brighter pixel. Without such a median it
 * is that of counted photons. */
TS_HOST_DEVICE float ts_flat_limit(float median_spread, float median_mean, float mean,
                                   int64_t n_frames)
{
    const float times = n_frames == 2 ? 10 : 6,
                brighter = mean > median_mean && median_mean > 0 ? mean / median_mean : 1;
    const float noise = median_spread > 0 ? median_spread * brighter : sqrtf(mean > 1 ? mean : 1);
    return times * noise;
}

/* Returns true where frames that differ by `spread` hold an outlier that changes the transmission
 * by 0.5 %. */
TS_HOST_DEVICE bool ts_flat_is_zinger(float spread, float limit, float gain, int64_t n_frames)
{
    return spread > limit && spread / (float)n_frames * gain > 0.005F;
}

/* Returns the step between the values of a detector of 8 bits or more whose largest value this is,
 * 0 for other values: 1 for 2^k - 1, and more where its bits are the upper ones. */
TS_HOST_DEVICE float ts_flat_full_scale_step(float value)
{
    if (!(value >= FLAT_LEAST_BITS_VALUE && value < 4294967296.0F))
        return 0;
    const uint32_t bits = (uint32_t)value, step = bits & (~bits + 1);
    const bool ones = (float)bits == value && ((uint64_t)bits & ((uint64_t)bits + step)) == 0;
    return ones && bits / step >= FLAT_LEAST_BITS_VALUE ? (float)step : 0;
}

/* Returns true where values pile up at the largest one: in the tail of a distribution there are
 * about as many at the value below it. */
TS_HOST_DEVICE bool ts_flat_is_piled(uint64_t at, uint64_t below)
{
    return at >= FLAT_LEAST_PILED && at > FLAT_STEEPER * below;
}

/* The offset and the gain of each detector pixel of a slice; gain NaN: dead. */
struct flat_row {
    float *offset, *gain;
};

/* Room for the checks of one slice, of one thread. */
struct flat_room {
    float *spreads, *means, *values;
    float *limits[2]; /* of flats, of darks */
    double *sorted;
    unsigned char *differs;
};

/* Returns the k-th smallest value, k from 0 (C. A. R. Hoare, 1961), and reorders the values: none
 * above it comes before. */
double ts_flat_select(double *values, int64_t n, int64_t k);

/* The detector pixels within BAD_BESIDE of pixel d: [first, first + n), of which d is number
 * `at`. */
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

/* Returns true where the flat less the dark of detector pixel d stands out. Those that are stuck or
 * dead do not count: varies: 0 for stuck ones, gain: NaN for dead ones. */
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
 * largest value that is none, and INFINITY for all other pixels. */
uint64_t ts_flat_find_zingers(const struct ts_image *frames, int64_t z, const float *gain,
                              const struct flat_room *room, float *limits);
/* Counts detector pixels of a slice that are stuck. count_dead: those with a gain of NaN as
 * well. */
uint64_t ts_flat_find_stuck(const struct ts_image *in, int64_t z, struct flat_row row,
                            bool count_dead, const struct flat_room *room);
/* Counts detector pixels whose flat less the dark is FLAT_RATIO times that of those beside it or a
 * share of it, and whose transmission is so as well, as no object makes it. room->differs is of
 * ts_flat_find_stuck(). */
uint64_t ts_flat_find_uneven(const struct ts_image *in, int64_t z, struct flat_row row,
                             const struct flat_room *room);
/* Counts the valid values of a slice and its flats that pile up at full scale; largest: of all of
 * them, as floats. */
uint64_t ts_flat_count_piled(const struct ts_image *in, const struct ts_image *flats, int64_t z,
                             float largest, float *values);

#endif
