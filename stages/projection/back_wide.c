/* SPDX-License-Identifier: Apache-2.0
 *
 * 16 neighboring pixels lie within 2 * 15 + 1 detectors of a view where a pixel is no wider than STEP_MOST detectors:
 * two vectors hold the samples of all of them, and a permutation takes each pixel's two out of these. Places are worked
 * out in double, eight pixels a vector.
 */
#include "stages/projection/back_wide.h"

#include <math.h>

#include "stages/projection/wide_vectors.h"

#ifdef WIDE_VECTORS

enum { WIDE = 16, HALF = WIDE / 2, RUN = 4 }; /* pixels of a vector, vectors of sums kept in registers */

static const double step_most = 1.9, width_least = 1 - 1e-9;

bool ts_back_wide_takes(const struct back_view *views, int64_t n_views)
{
    for (int64_t v = 0; v < n_views; v++)
        if (!(fabs(views[v].per_column) <= step_most) || views[v].width < width_least)
            return false;
    return wide_vectors_there();
}

/* A view on a row of pixels. */
struct line {
    const float *samples; /* from the margin on */
    double start, step;
    double lowest; /* pixels from the first of 16 to the one with the lowest place */
    __m512d starts, steps;
    __m512 scale, slope;
};

static const double low = -BLOCK_MARGIN;

/* Where eight pixels lie: detectors from the margin on, and how far past them. */
INLINE_WIDE_VECTORS __m256i places_of(const struct line *line, __m512d pixel, bool inside, __m512d high, __m256 *past)
{
    __m512d at = _mm512_add_pd(line->starts, _mm512_mul_pd(pixel, line->steps));
    if (!inside)
        at = _mm512_min_pd(_mm512_max_pd(at, _mm512_set1_pd(low)), high);
    const __m512d shifted = _mm512_add_pd(at, _mm512_set1_pd(BLOCK_MARGIN));
    const __m256i index = _mm512_cvttpd_epi32(shifted);
    *past = _mm512_cvtpd_ps(_mm512_sub_pd(shifted, _mm512_cvtepi32_pd(index)));
    return index;
}

/* The two samples beside each of 16 pixels from `first` on, weighed. */
INLINE_WIDE_VECTORS __m512 sum_of(const struct line *line, __m512d left, double first, bool inside, __m512d high)
{
    double end = line->start + (first + line->lowest) * line->step;
    if (!inside)
        end = _mm_cvtsd_f64(_mm_min_sd(_mm_max_sd(_mm_set_sd(end), _mm_set_sd(low)), _mm512_castpd512_pd128(high)));
    const int32_t lowest = (int32_t)(end + BLOCK_MARGIN);
    __m256 past_left, past_right;
    const __m256i index_left = places_of(line, left, inside, high, &past_left),
                  index_right = places_of(line, _mm512_add_pd(left, _mm512_set1_pd(HALF)), inside, high, &past_right);
    const __m512i index = _mm512_sub_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(index_left), index_right, 1),
                                           _mm512_set1_epi32(lowest));
    const __m512 past = _mm512_insertf32x8(_mm512_castps256_ps512(past_left), past_right, 1),
                 zero = _mm512_setzero_ps();
    const __m512 below = _mm512_max_ps(_mm512_sub_ps(line->scale, _mm512_mul_ps(line->slope, past)), zero);
    const __m512 above = _mm512_max_ps(
        _mm512_sub_ps(line->scale, _mm512_mul_ps(line->slope, _mm512_sub_ps(_mm512_set1_ps(1), past))), zero);
    const __m512 samples = _mm512_loadu_ps(line->samples + lowest),
                 further = _mm512_loadu_ps(line->samples + lowest + WIDE);
    const __m512 sample = _mm512_permutex2var_ps(samples, index, further),
                 next = _mm512_permutex2var_ps(samples, _mm512_add_epi32(index, _mm512_set1_epi32(1)), further);
    return _mm512_add_ps(_mm512_mul_ps(below, sample), _mm512_mul_ps(above, next));
}

INLINE_WIDE_VECTORS void add_line(const struct line *line, const __m512d left[RUN], double first, bool inside,
                                  __m512d high, __m512 partial[RUN])
{
    partial[0] = _mm512_add_ps(partial[0], sum_of(line, left[0], first, inside, high));
    partial[1] = _mm512_add_ps(partial[1], sum_of(line, left[1], first + WIDE, inside, high));
    partial[2] = _mm512_add_ps(partial[2], sum_of(line, left[2], first + 2 * WIDE, inside, high));
    partial[3] = _mm512_add_ps(partial[3], sum_of(line, left[3], first + 3 * WIDE, inside, high));
}

/* 64 pixels, of which n count. */
INLINE_WIDE_VECTORS void add_run(const struct back_view *views, const struct slice_block *block, int64_t row,
                                 int64_t first, int64_t n, float *sums)
{
    const __m512d high = _mm512_set1_pd((double)block->n_minor);
    __m512 partial[RUN];
    __m512d left[RUN];
    for (int k = 0; k < RUN; k++) {
        partial[k] = _mm512_setzero_ps();
        left[k] = _mm512_add_pd(_mm512_set1_pd((double)(first + k * WIDE)), _mm512_set_pd(7, 6, 5, 4, 3, 2, 1, 0));
    }
    for (int64_t v = 0; v < block->n_major; v++) {
        const struct back_view *view = &views[v];
        const double start = view->base + (double)row * view->per_row, step = view->per_column;
        const struct line line = {.samples = block->data + v * block->stride,
                                  .start = start,
                                  .step = step,
                                  .lowest = step < 0 ? WIDE - 1 : 0,
                                  .starts = _mm512_set1_pd(start),
                                  .steps = _mm512_set1_pd(step),
                                  .scale = _mm512_set1_ps((float)view->scale),
                                  .slope = _mm512_set1_ps((float)(view->scale * view->width))};
        const double a = start + (double)first * step, b = start + (double)(first + RUN * WIDE - 1) * step;
        if (fmin(a, b) >= low && fmax(a, b) <= (double)block->n_minor)
            add_line(&line, left, (double)first, true, high, partial);
        else
            add_line(&line, left, (double)first, false, high, partial);
    }
    for (int k = 0; k < RUN && k * WIDE < n; k++) {
        const int64_t rest = n - k * WIDE;
        const __mmask16 mask = (__mmask16)(rest < WIDE ? (1U << rest) - 1 : 0xFFFFU);
        float *to = sums + k * WIDE;
        _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), partial[k]));
    }
}

WIDE_VECTORS void ts_back_wide_add(const struct back_view *views, const struct slice_block *block, int64_t row,
                                   int64_t n_rows, int64_t n_columns, float *sums)
{
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t first = 0; first < n_columns; first += RUN * WIDE)
            add_run(views, block, row + r, first, n_columns - first < RUN * WIDE ? n_columns - first : RUN * WIDE,
                    sums + r * n_columns + first);
}

#else

bool ts_back_wide_takes(const struct back_view *views, int64_t n_views)
{
    (void)views;
    (void)n_views;
    return false;
}

void ts_back_wide_add(const struct back_view *views, const struct slice_block *block, int64_t row, int64_t n_rows,
                      int64_t n_columns, float *sums)
{
    (void)views;
    (void)block;
    (void)row;
    (void)n_rows;
    (void)n_columns;
    (void)sums;
}

#endif
