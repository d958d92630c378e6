/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice is done two rows of second differences at a time, in pieces of a fixed length: one pass
 * over the image gives the sums of |R| and the coefficients alike. All arithmetic is in double, in
 * which second differences of integers are exact. Sums run in eight lanes over a piece, whose
 * totals are added in the order of the pieces. Coefficients that are 0 become NaN, because the
 * search for the median leaves out what is not finite.
 */
#include "stages/counting/noise_estimate.h"

#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"

enum { PIECE = 256 /* coefficients */, LANES = 8, WIDTH = 2 * PIECE /* second differences */ };

static const double median = 50;

bool ts_noise_by_slice(const struct stage_context *context, enum noise_estimate estimate)
{
    return context->device && ts_scope_is_slice(context) && ts_noise_has_coefficients(estimate);
}

int ts_noise_rounds(const struct stage_context *context, enum noise_estimate estimate)
{
    if (estimate == NOISE_NONE)
        return 0;
    return ts_noise_has_coefficients(estimate) && !ts_noise_by_slice(context, estimate) ? 2 : 1;
}

static size_t sums_bytes(const struct stage_context *context, enum noise_estimate estimate)
{
    return ts_noise_has_sums(estimate) ? ts_scope_slices(context) * sizeof(struct noise_sum) : 0;
}

/* Returns the part of a partial from which the median is found. */
static void *search_in(const struct stage_context *context, enum noise_estimate estimate,
                       const void *partial)
{
    return (char *)partial + (context->round == 0 ? sums_bytes(context, estimate) : 0);
}

size_t ts_noise_partial_bytes(const struct stage_context *context, enum noise_estimate estimate)
{
    if (context->round >= ts_noise_rounds(context, estimate))
        return 0;
    if (context->round == 1)
        return ts_percentile_partial_bytes(1, 1);
    size_t search = ts_noise_has_coefficients(estimate) ? ts_percentile_partial_bytes(0, 1) : 0;
    if (ts_noise_by_slice(context, estimate))
        search = sizeof(struct percentile_ends);
    return sums_bytes(context, estimate) + search;
}

size_t ts_noise_result_bytes(const struct stage_context *context, enum noise_estimate estimate)
{
    return ts_noise_rounds(context, estimate) == 2 ? sizeof(struct noise_result)
                                                   : offsetof(struct noise_result, search);
}

/* ---- second differences ---------------------------------------------------------------------- */

/* Loads n samples of slice z, starting with pixel i; invalid ones become NaN, which is left out. */
static void load_valid(const struct ts_image *slices, int64_t z, int64_t i, int64_t n, double *out)
{
    ts_load_f64(out, (char *)ts_slice_data(slices, z) + (size_t)i * ts_dtype_bytes(slices->dtype),
                slices->dtype, (size_t)n);
    ts_valid_fill_doubles(ts_slice_valid(slices, z), (size_t)i, (size_t)n, (double)NAN, out);
}

/* Loads samples; those that the mask (NULL: none) leaves out become NaN, too. */
static void load_samples(const struct ts_image *slices, const struct ts_image *mask, int64_t z,
                         int64_t i, int64_t n, double *out)
{
    double chosen[WIDTH + 2];
    load_valid(slices, z, i, n, out);
    if (!mask)
        return;
    load_valid(mask, z, i, n, chosen);
    for (int64_t k = 0; k < n; k++)
        out[k] = isnan(chosen[k]) || chosen[k] == 0 ? (double)NAN : out[k];
}

/* Loads n samples of row y, starting with column `first`; both may be outside the slice. */
static void load_row(const struct ts_image *slices, const struct ts_image *mask, int64_t z,
                     int64_t y, int64_t first, int64_t n, double *row)
{
    const int64_t nx = slices->axes[2].n,
                  line = ts_border_index(y, slices->axes[1].n, BORDER_REFLECT) * nx;
    const int64_t from = first < 0 ? 0 : first, to = first + n < nx ? first + n : nx;
    if (from < to)
        load_samples(slices, mask, z, line + from, to - from, row + (from - first));
    for (int64_t x = first; x < first + n; x++)
        if (x < 0 || x >= nx)
            load_samples(slices, mask, z, line + ts_border_index(x, nx, BORDER_REFLECT), 1,
                         row + (x - first));
}

/* Writes the n second differences of three rows of n + 2 samples. */
TS_VECTORIZED static void differences(const double *above, const double *row, const double *below,
                                      int64_t n, double *out)
{
    double down[WIDTH + 2];
    for (int64_t i = 0; i < n + 2; i++)
        down[i] = above[i] + below[i] - 2 * row[i];
    for (int64_t i = 0; i < n; i++)
        out[i] = down[i] + down[i + 2] - 2 * down[i + 1];
}

/* Adds absolute values; value i goes to lane i % LANES. */
TS_VECTORIZED static void add_absolute(struct noise_sum *into, const double *values, int64_t n)
{
    double sums[LANES] = {0}, sum = 0;
    int64_t counts[LANES] = {0}, count = 0;
    const int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            const double value = fabs(values[i + lane]);
            const bool finite = value < (double)INFINITY;
            sums[lane] += finite ? value : 0;
            counts[lane] += finite;
        }
    for (int lane = 0; lane < LANES; lane++) {
        const double value = lane < n - whole ? fabs(values[whole + lane]) : (double)INFINITY;
        sum += sums[lane] + (value < (double)INFINITY ? value : 0);
        count += counts[lane] + (value < (double)INFINITY);
    }
    into->sum += sum;
    into->n += (uint64_t)count;
}

/* Computes coefficients. far and near are the second differences around rows 2k - 1 and 2k,
 * starting with column 2l - 1. */
TS_VECTORIZED static void coefficients(const double *far, const double *near, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = ts_noise_coefficient(far[2 * i], far[2 * i + 1], near[2 * i], near[2 * i + 1]);
}

/* Adds one slice to the sum and to the counts of coefficients; either may be NULL if it is not
 * wanted. */
static void measure_slice(const struct stage_context *context, const struct ts_image *slices,
                          int64_t z, struct noise_sum *sum, void *search,
                          const struct percentile_search *found)
{
    const int64_t ny = slices->axes[1].n, nx = slices->axes[2].n, n = ts_noise_coefficients(nx);
    const struct ts_image *mask =
        ts_stage_mask(context) < 0 ? NULL : &slices[1 + ts_stage_mask(context)];
    double rows[4][WIDTH + 2], R[2][WIDTH]; /* row y of the slice is in rows[y & 3] */
    float sizes[PIECE];
    for (int64_t first = 0; first < n; first += PIECE)
        for (int64_t k = 0; k < ts_noise_coefficients(ny); k++) {
            const int64_t piece = n - first < PIECE ? n - first : PIECE, x = 2 * first - 1;
            /* Only these pixels have eight neighbors. */
            const int64_t from = x < 1 ? 1 - x : 0,
                          to = x + 2 * piece < nx - 1 ? 2 * piece : nx - 1 - x;
            for (int64_t y = k == 0 ? -2 : 2 * k; y < 2 * k + 2; y++)
                load_row(slices, mask, z, y, x - 1, 2 * piece + 2, rows[y & 3]);
            for (int64_t j = 0; j < 2; j++) {
                const int64_t y = 2 * k - 1 + j;
                differences(rows[(y - 1) & 3], rows[y & 3], rows[(y + 1) & 3], 2 * piece, R[j]);
                if (sum && y >= 1 && y < ny - 1 && from < to)
                    add_absolute(sum, R[j] + from, to - from);
            }
            if (!search)
                continue;
            coefficients(R[0], R[1], piece, sizes);
            ts_percentile_add(search, context->round, found, sizes, TS_F32, (size_t)piece);
        }
}

/* ---- the reduction --------------------------------------------------------------------------- */

void ts_noise_reduce(const struct stage_context *context, enum noise_estimate estimate,
                     const struct ts_image *slices, const struct noise_result *result,
                     void *partial)
{
    const struct percentile_search *found = context->round == 1 ? &result->search : NULL;
    struct noise_sum *sums = context->round == 0 && ts_noise_has_sums(estimate) ? partial : NULL;
    void *search =
        ts_noise_has_coefficients(estimate) ? search_in(context, estimate, partial) : NULL;
    if (sums)
        memset(sums, 0, sums_bytes(context, estimate));
    if (search)
        ts_percentile_begin(search, context->round, found);
    for (int64_t i = 0; i < slices->axes[0].n; i++) {
        struct noise_sum *sum =
            sums ? sums + (ts_scope_is_slice(context) ? 0 : slices->z_first + i) : NULL;
        measure_slice(context, slices, i, sum, search, found);
    }
    if (search)
        ts_percentile_end(search, context->round);
}

void ts_noise_merge(const struct stage_context *context, enum noise_estimate estimate,
                    const struct noise_result *result, void *into, const void *from)
{
    if (context->round == 0 && ts_noise_has_sums(estimate))
        for (size_t z = 0; z < ts_scope_slices(context); z++)
            if (((const struct noise_sum *)from)[z].n > 0)
                ((struct noise_sum *)into)[z] = ((const struct noise_sum *)from)[z];
    if (ts_noise_has_coefficients(estimate))
        ts_percentile_merge(search_in(context, estimate, into), search_in(context, estimate, from),
                            context->round, context->round == 1 ? &result->search : NULL);
}

static double mean_of_sums(const struct noise_sum *sums, size_t n)
{
    struct noise_sum total = {0};
    for (size_t z = 0; z < n; z++) {
        total.sum += sums[z].sum;
        total.n += sums[z].n;
    }
    return total.n > 0 ? total.sum / (double)total.n : (double)NAN;
}

void ts_noise_finish(const struct stage_context *context, enum noise_estimate estimate,
                     const void *total, struct noise_result *result)
{
    const double normal_quantile = 0.67448975019608171,
                 immerkaer = 0.20888568955258335; /* sqrt(pi/2)/6 */
    const void *search = search_in(context, estimate, total);
    double size = (double)NAN;
    if (context->round == 0) {
        result->immerkaer = ts_noise_has_sums(estimate)
                                ? immerkaer * mean_of_sums(total, ts_scope_slices(context))
                                : (double)NAN;
        if (ts_noise_by_slice(context, estimate))
            ts_percentile_of_ends(search, TS_F32, &median, 1, &size);
        else if (ts_noise_has_coefficients(estimate))
            ts_percentile_locate(&result->search, search, &median, 1);
    } else {
        ts_percentile_values(&result->search, search, TS_F32, &size);
    }
    result->wavelet = NOISE_COEFFICIENT_UNIT * size / normal_quantile;
}
