/* SPDX-License-Identifier: Apache-2.0
 *
 * The definition, pixel by pixel: frames are sorted for their median, and each dead pixel looks at
 * all others.
 */
#include "tests/stages/scan/flat_field_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/engine/validity.h"

/* Whether the image's mask, if it has one, leaves this value in. */
static bool is_measured(const struct ts_image *image, int64_t z, int64_t view, int64_t d)
{
    return !image->masked ||
           ts_valid_at(ts_slice_valid(image, z), (size_t)(view * image->axes[2].n + d));
}

static double value(const struct ts_image *image, int64_t z, int64_t view, int64_t d)
{
    double out;
    const size_t i = (size_t)((z * image->axes[1].n + view) * image->axes[2].n + d);
    ts_load_f64(&out, (const char *)image->data + i * ts_dtype_bytes(image->dtype), image->dtype,
                1);
    return out;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the frames of a pixel are: their lowest, their mean and what they differ by, in single
 * precision. */
struct spread {
    float lowest, mean, spread;
};

static struct spread spread_of(const struct ts_image *frames, int64_t z, int64_t d)
{
    struct spread out = {(float)value(frames, z, 0, d), (float)value(frames, z, 0, d), 0};
    float highest = out.lowest;
    for (int64_t frame = 1; frame < frames->axes[1].n; frame++) {
        const float v = (float)value(frames, z, frame, d);
        out.lowest = v < out.lowest ? v : out.lowest;
        highest = v > highest ? v : highest;
        out.mean += v;
    }
    out.mean /= (float)frames->axes[1].n;
    out.spread = highest - out.lowest;
    return out;
}

/* The lower median of the row, of numbers that are finite and above 0, and 0 for the others. */
static float median_of(const struct ts_image *frames, int64_t z, bool of_means)
{
    const int64_t n = frames->axes[2].n;
    double *values = malloc((size_t)n * sizeof *values);
    for (int64_t d = 0; d < n; d++) {
        const struct spread s = spread_of(frames, z, d);
        const double v = of_means ? s.mean : s.spread;
        values[d] = v > 0 && isfinite(v) ? v : 0;
    }
    qsort(values, (size_t)n, sizeof *values, compare);
    const float median = (float)values[(n - 1) / 2];
    free(values);
    return median;
}

/* How much above the lowest frame of a pixel no zinger is. */
static float allowed(const struct ts_image *frames, int64_t z, struct spread s)
{
    const float middle = median_of(frames, z, false), mean = median_of(frames, z, true);
    float noise = middle;
    if (middle == 0)
        noise = sqrtf(fmaxf(s.mean, 1));
    else if (mean > 0 && s.mean > mean)
        noise = middle * (s.mean / mean);
    return (frames->axes[1].n == 2 ? 10 : 6) * noise;
}

/* NaN if a mask leaves the pixel out of a frame. */
static double combined(const struct ts_image *frames, int64_t z, int64_t d, bool median)
{
    if (!frames)
        return 0;
    const int64_t n = frames->axes[1].n;
    double *values = malloc((size_t)n * sizeof *values), sum = 0;
    for (int64_t frame = 0; frame < n; frame++)
        sum += values[frame] = value(frames, z, frame, d);
    double out = sum / (double)n;
    bool any_nan = false;
    for (int64_t frame = 0; frame < n; frame++)
        any_nan |= isnan(values[frame]) || !is_measured(frames, z, frame, d);
    if (median && !any_nan) {
        qsort(values, (size_t)n, sizeof *values, compare);
        out = (values[(n - 1) / 2] + values[n / 2]) / 2;
    }
    free(values);
    return any_nan ? NAN : out;
}

static bool is_dead(double range)
{
    return !(range > 0 && isfinite(range));
}

void ts_flat_field_oracle_transmission(const struct ts_image *counts, const struct ts_image *flats,
                                       const struct ts_image *darks, bool median, bool nearest,
                                       double *out, double *scale, uint64_t *dead)
{
    const int64_t nz = counts->axes[0].n, n_views = counts->axes[1].n, n = counts->axes[2].n;
    double *dark = malloc((size_t)n * sizeof *dark), *range = malloc((size_t)n * sizeof *range);
    for (int64_t z = 0; z < nz; z++) {
        dead[z] = 0;
        for (int64_t d = 0; d < n; d++) {
            dark[d] = combined(darks, z, d, median);
            range[d] = combined(flats, z, d, median) - dark[d];
            dead[z] += is_dead(range[d]);
        }
        for (int64_t d = 0; d < n; d++) {
            int64_t from = is_dead(range[d]) ? -1 : d;
            for (int64_t other = 0; nearest && is_dead(range[d]) && other < n; other++)
                if (!is_dead(range[other]) && (from < 0 || llabs(other - d) < llabs(from - d)))
                    from = other;
            for (int64_t view = 0; view < n_views; view++) {
                const size_t i = (size_t)((z * n_views + view) * n + d);
                const double v = from < 0 ? NAN : value(counts, z, view, from);
                out[i] = from < 0 ? NAN : (v - dark[from]) / range[from];
                scale[i] = from < 0 ? NAN : (fabs(v) + fabs(dark[from])) / range[from];
            }
        }
    }
    free(dark);
    free(range);
}

/* Adds the values of each slice that are the largest of an integer type. */
static void count_saturated(const struct ts_image *image, double *counts)
{
    const size_t n = ts_image_count(image), slice = ts_slice_count(image);
    double low, high, *values = malloc(n * sizeof *values);
    ts_dtype_range(image->dtype, &low, &high);
    ts_load_f64(values, image->data, image->dtype, n);
    for (size_t i = 0; i < n; i++)
        counts[i / slice] += image->dtype != TS_F32 && values[i] == high;
    free(values);
}

/* The float gain of a detector pixel, NaN for a dead one. */
static float gain_of(double flat, double dark)
{
    const float gain = (float)(1 / (flat - dark));
    return gain > 0 && isfinite(gain) ? gain : (float)NAN;
}

static bool has_zinger(const struct ts_image *frames, int64_t z, int64_t d, float gain)
{
    if (!frames || frames->axes[1].n < 2)
        return false;
    const struct spread s = spread_of(frames, z, d);
    return s.spread > allowed(frames, z, s) && s.spread / (float)frames->axes[1].n * gain > 0.005F;
}

/* A detector pixel that is masked in the first view is not judged. */
static bool is_constant(const struct ts_image *counts, int64_t z, int64_t d)
{
    if (!is_measured(counts, z, 0, d))
        return false;
    for (int64_t view = 1; view < counts->axes[1].n; view++)
        if (!(value(counts, z, view, d) == value(counts, z, 0, d)))
            return false;
    return counts->axes[1].n >= 8;
}

/* Whether values[d] is twice the median of those beside it, or half; NaN does not count. */
static bool stands_out(const double *values, int64_t n, int64_t d)
{
    double beside[10];
    size_t count = 0;
    for (int64_t i = d - 5; i <= d + 5; i++)
        if (i >= 0 && i < n && i != d && !isnan(values[i]))
            beside[count++] = values[i];
    qsort(beside, count, sizeof *beside, compare);
    const double middle = count > 0 ? beside[count / 2] : 0;
    return middle > 0 && !isnan(values[d]) && (values[d] >= 2 * middle || values[d] * 2 <= middle);
}

/* Detector pixels whose flat and mean transmission stand out. */
static uint64_t count_uneven(const struct ts_image *counts, int64_t z, const bool *stuck,
                             const float *gains, const double *darks)
{
    const int64_t n = counts->axes[2].n;
    double *flats = malloc((size_t)n * sizeof *flats), *means = malloc((size_t)n * sizeof *means);
    uint64_t uneven = 0;
    for (int64_t d = 0; d < n; d++) {
        double sum = 0, added = 0;
        for (int64_t view = 0; view < counts->axes[1].n; view++) {
            const float t = ((float)value(counts, z, view, d) - (float)darks[d]) * gains[d];
            sum += isfinite(t) ? t : 0;
            added += isfinite(t);
        }
        flats[d] = stuck[d] || isnan(gains[d]) ? NAN : 1 / (double)gains[d];
        means[d] = sum / added;
    }
    for (int64_t d = 0; d < n; d++)
        uneven += stands_out(flats, n, d) && stands_out(means, n, d);
    free(flats);
    free(means);
    return uneven;
}

/* Marks the detector pixels that are constant because the scan has no noise: those that an object
 * that is the same from everywhere covers, which gets thinner from pixel `from` to an end. */
static void mark_rim(const float *t, int64_t n, int64_t from, int64_t way, bool *rim)
{
    for (int64_t d = from + way; d >= 0 && d < n && t[d] >= t[d - way] - 0.01F && t[d] <= 1.01F;
         d += way)
        rim[d] = true;
}

static void count_columns(const struct ts_image *counts, int64_t z, const float *gains,
                          const double *darks, bool nearest, uint64_t *stuck_count,
                          uint64_t *uneven_count)
{
    const int64_t n = counts->axes[2].n;
    bool *stuck = calloc((size_t)n, sizeof *stuck), *rim = calloc((size_t)n, sizeof *rim);
    float *ts = calloc((size_t)n, sizeof *ts);
    int64_t left = n, right = -1;
    for (int64_t d = 0; d < n; d++)
        if (!is_constant(counts, z, d)) {
            left = left == n ? d : left;
            right = d;
        }
    *stuck_count = 0;
    for (int64_t d = 0; d < n; d++)
        ts[d] = ((float)value(counts, z, 0, d) - (float)darks[d]) * gains[d];
    const bool noiseless =
        (left > 0 && fabsf(ts[0] - 1) <= 0.01F) || (right < n - 1 && fabsf(ts[n - 1] - 1) <= 0.01F);
    if (right >= 0 && noiseless) {
        mark_rim(ts, n, left, -1, rim);
        mark_rim(ts, n, right, 1, rim);
    }
    for (int64_t d = 0; d < n; d++) {
        const float t = ts[d];
        stuck[d] = is_constant(counts, z, d) && !rim[d] &&
                   ((d > left && d < right) || !(fabsf(t - 1) <= 0.01F));
        *stuck_count += stuck[d] && (nearest || !isnan(gains[d]));
    }
    *uneven_count = count_uneven(counts, z, stuck, gains, darks);
    free(stuck);
    free(rim);
    free(ts);
}

/* Values of `counts` and of the flats, which have the mask of the first view, that are `wanted`. */
static uint64_t count_of(const struct ts_image *counts, const struct ts_image *flats, int64_t z,
                         float wanted)
{
    uint64_t count = 0;
    for (int64_t view = 0; view < counts->axes[1].n; view++)
        for (int64_t d = 0; d < counts->axes[2].n; d++)
            count += is_measured(counts, z, view, d) && (float)value(counts, z, view, d) == wanted;
    for (int64_t frame = 0; frame < flats->axes[1].n; frame++)
        for (int64_t d = 0; d < flats->axes[2].n; d++)
            count += is_measured(counts, z, 0, d) && (float)value(flats, z, frame, d) == wanted;
    return count;
}

static float largest_of(const struct ts_image *counts, const struct ts_image *flats, int64_t z)
{
    float largest = 0;
    for (int64_t view = 0; view < counts->axes[1].n; view++)
        for (int64_t d = 0; d < counts->axes[2].n; d++)
            if (is_measured(counts, z, view, d))
                largest = fmaxf(largest, (float)value(counts, z, view, d));
    for (int64_t frame = 0; frame < flats->axes[1].n; frame++)
        for (int64_t d = 0; d < flats->axes[2].n; d++)
            if (is_measured(counts, z, 0, d))
                largest = fmaxf(largest, (float)value(flats, z, frame, d));
    return largest;
}

static uint64_t count_piled(const struct ts_image *counts, const struct ts_image *flats, int64_t z,
                            double *full_scale)
{
    const float largest = largest_of(counts, flats, z);
    double low, high, step = 1;
    ts_dtype_range(counts->dtype, &low, &high);
    *full_scale = 0;
    if (!(largest >= 255 && largest < 4294967296.0F) || largest != floorf(largest) ||
        (counts->dtype != TS_F32 && largest == high))
        return 0;
    while (fmod(largest, 2 * step) == 0)
        step *= 2;
    const double ones = largest / step + 1; /* a power of two, of 8 bits or more */
    if (ones < 256 || exp2(floor(log2(ones))) != ones)
        return 0;
    const uint64_t at = count_of(counts, flats, z, largest),
                   below = count_of(counts, flats, z, largest - (float)step);
    *full_scale = at >= 4 && at > 4 * below ? largest : 0;
    return *full_scale > 0 ? at : 0;
}

void ts_flat_field_oracle_checks(const struct ts_image *counts, const struct ts_image *flats,
                                 const struct ts_image *darks, enum flat_field_combine how,
                                 bool nearest, struct flat_field_checks *checks)
{
    const int64_t n = counts->axes[2].n;
    float *gains = malloc((size_t)n * sizeof *gains);
    double *offsets = malloc((size_t)n * sizeof *offsets);
    for (int64_t z = 0; z < counts->axes[0].n; z++) {
        checks[z].zingers = 0;
        for (int64_t d = 0; d < n; d++) {
            offsets[d] = combined(darks, z, d, how == COMBINE_MEDIAN);
            gains[d] = gain_of(combined(flats, z, d, how == COMBINE_MEDIAN), offsets[d]);
            checks[z].zingers += (how != COMBINE_MEDIAN || flats->axes[1].n < 3) &&
                                 has_zinger(flats, z, d, gains[d]);
            checks[z].zingers += darks && (how != COMBINE_MEDIAN || darks->axes[1].n < 3) &&
                                 has_zinger(darks, z, d, gains[d]);
        }
        count_columns(counts, z, gains, offsets, nearest, &checks[z].stuck, &checks[z].uneven);
        checks[z].piled = count_piled(counts, flats, z, &checks[z].full_scale);
    }
    free(gains);
    free(offsets);
}

void ts_flat_field_oracle_results(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables)
{
    const struct flat_field_params *params = context->params;
    const struct ts_image *darks = &inputs[FLAT_FIELD_DARKS];
    const size_t nz = (size_t)inputs[0].axes[0].n;
    double *scale = malloc(ts_image_count(&inputs[0]) * sizeof *scale),
           *counts = ts_bench_table(tables, "dead");
    uint64_t *dead = malloc(nz * sizeof *dead);
    ts_flat_field_oracle_transmission(&inputs[0], &inputs[FLAT_FIELD_FLATS],
                                      darks->data ? darks : NULL, params->combine == COMBINE_MEDIAN,
                                      params->dead == DEAD_NEAREST, out, scale, dead);
    for (size_t z = 0; z < nz; z++)
        counts[z] = (double)dead[z];
    count_saturated(&inputs[0], ts_bench_table(tables, "saturated"));
    count_saturated(&inputs[FLAT_FIELD_FLATS], ts_bench_table(tables, "saturated"));
    struct flat_field_checks *checks = malloc(nz * sizeof *checks);
    ts_flat_field_oracle_checks(&inputs[0], &inputs[FLAT_FIELD_FLATS], darks->data ? darks : NULL,
                                (enum flat_field_combine)params->combine,
                                params->dead == DEAD_NEAREST, checks);
    for (size_t z = 0; z < nz; z++) {
        ts_bench_table(tables, "stuck")[z] = (double)checks[z].stuck;
        ts_bench_table(tables, "uneven")[z] = (double)checks[z].uneven;
        ts_bench_table(tables, "zingers")[z] = (double)checks[z].zingers;
        ts_bench_table(tables, "piled")[z] = (double)checks[z].piled;
        ts_bench_table(tables, "full_scale")[z] = checks[z].full_scale;
    }
    free(checks);
    free(scale);
    free(dead);
}
