/* SPDX-License-Identifier: Apache-2.0
 *
 * Where 16 neighboring rays cross a line within 29 samples two vectors hold all that they meet, and a permutation takes
 * each ray's two out of them. Others are gathered.
 */
#include "stages/projection/joseph_wide.h"

#include <math.h>

#include "stages/projection/wide_vectors.h"

#ifdef WIDE_VECTORS
enum { HALF = JOSEPH_WIDE / 2, MOST_SPAN = 2 * JOSEPH_WIDE - 4 };

static const double low = -BLOCK_MARGIN;
/* Of rounding: there is a sample to spare on both sides. */
static const double slack = 1e-6;

bool ts_joseph_wide_there(void)
{
    return wide_vectors_there();
}

/* 16 rays, in two vectors of doubles; and the first and last of them. */
struct rays {
    __m512d base[2], step[2], high;
    double base_first, base_last, step_first, step_last;
};

/* Where eight rays cross a line: samples from the margin on, and how far past them. */
INLINE_WIDE_VECTORS __m256i crossings_of(const struct rays *rays, int half, double line, __m256 *past)
{
    __m512d at = _mm512_add_pd(rays->base[half], _mm512_mul_pd(_mm512_set1_pd(line), rays->step[half]));
    at = _mm512_min_pd(_mm512_max_pd(at, _mm512_set1_pd(low)), rays->high);
    const __m512d shifted = _mm512_add_pd(at, _mm512_set1_pd(BLOCK_MARGIN));
    const __m256i index = _mm512_cvttpd_epi32(shifted);
    *past = _mm512_cvtpd_ps(_mm512_sub_pd(shifted, _mm512_cvtepi32_pd(index)));
    return index;
}

/* The sample before that of the lowest crossing, where there is one: rounding may put a ray beside its neighbor. */
INLINE_WIDE_VECTORS int32_t lowest_of(const struct rays *rays, double line)
{
    const __m128d first = _mm_set_sd(rays->base_first + line * rays->step_first),
                  last = _mm_set_sd(rays->base_last + line * rays->step_last),
                  inside = _mm_min_sd(_mm_max_sd(_mm_min_sd(first, last), _mm_set_sd(low)),
                                      _mm512_castpd512_pd128(rays->high));
    const int32_t index = (int32_t)(_mm_cvtsd_f64(inside) + BLOCK_MARGIN);
    return index - (index > 0);
}

/* What 16 rays take from a line that begins at `samples`. `near`: all within two vectors. */
INLINE_WIDE_VECTORS __m512 samples_of(const struct rays *rays, const float *samples, double line, bool near)
{
    __m256 past_left, past_right;
    const __m256i left = crossings_of(rays, 0, line, &past_left), right = crossings_of(rays, 1, line, &past_right);
    const __m512i index = _mm512_inserti64x4(_mm512_castsi256_si512(left), right, 1);
    const __m512 weight = _mm512_insertf32x8(_mm512_castps256_ps512(past_left), past_right, 1);
    __m512 below, above;
    if (near) {
        const int32_t lowest = lowest_of(rays, line);
        const __m512 here = _mm512_loadu_ps(samples + lowest),
                     further = _mm512_loadu_ps(samples + lowest + JOSEPH_WIDE);
        const __m512i place = _mm512_sub_epi32(index, _mm512_set1_epi32(lowest));
        below = _mm512_permutex2var_ps(here, place, further);
        above = _mm512_permutex2var_ps(here, _mm512_add_epi32(place, _mm512_set1_epi32(1)), further);
    } else {
        below = _mm512_i32gather_ps(index, samples, sizeof *samples);
        above = _mm512_i32gather_ps(index, samples + 1, sizeof *samples);
    }
    return _mm512_add_ps(below, _mm512_mul_ps(weight, _mm512_sub_ps(above, below)));
}

/* How far the last ray is from the first on a line, and whether all others lie between; NAN where they do not, as of
 * fans whose detectors lie on both sides of the source. */
INLINE_WIDE_VECTORS double span_on(const struct rays *rays, double line, bool fan)
{
    const double first = rays->base_first + line * rays->step_first, last = rays->base_last + line * rays->step_last;
    if (fan) {
        const __m512d at = _mm512_set1_pd(line);
        const __m512d left = _mm512_add_pd(rays->base[0], _mm512_mul_pd(at, rays->step[0])),
                      right = _mm512_add_pd(rays->base[1], _mm512_mul_pd(at, rays->step[1]));
        if (!(_mm512_reduce_min_pd(_mm512_min_pd(left, right)) >= fmin(first, last) - slack &&
              _mm512_reduce_max_pd(_mm512_max_pd(left, right)) <= fmax(first, last) + slack))
            return NAN;
    }
    return last - first;
}

/* Between two lines rays move evenly: what holds on both holds between. */
INLINE_WIDE_VECTORS bool are_near(const struct slice_block *block, const struct rays *rays, bool fan)
{
    const double a = span_on(rays, (double)block->m_first, fan),
                 b = span_on(rays, (double)(block->m_first + block->n_major - 1), fan);
    return fabs(a) < MOST_SPAN && fabs(b) < MOST_SPAN && a * b >= 0;
}

INLINE_WIDE_VECTORS __m512 sum_of(const struct slice_block *block, const struct rays *rays, bool near)
{
    __m512 partial = _mm512_setzero_ps();
    for (int64_t m = 0; m < block->n_major; m++)
        partial = _mm512_add_ps(partial,
                                samples_of(rays, block->data + m * block->stride, (double)(block->m_first + m), near));
    return partial;
}

WIDE_VECTORS void ts_joseph_wide_add(const struct slice_block *block, const struct ray_run *run, bool fan, int64_t n,
                                     float *sums)
{
    for (int64_t first = 0; first < n; first += JOSEPH_WIDE) {
        const int64_t left = n - first, last = first + JOSEPH_WIDE - 1;
        const __mmask16 mask = (__mmask16)(left < JOSEPH_WIDE ? (1U << left) - 1 : 0xFFFFU);
        const struct rays rays = {
            .base = {_mm512_loadu_pd(run->base + first), _mm512_loadu_pd(run->base + first + HALF)},
            .step = {_mm512_loadu_pd(run->step + first), _mm512_loadu_pd(run->step + first + HALF)},
            .high = _mm512_set1_pd((double)block->n_minor),
            .base_first = run->base[first],
            .base_last = run->base[last],
            .step_first = run->step[first],
            .step_last = run->step[last]};
        const __m512 partial = are_near(block, &rays, fan) ? sum_of(block, &rays, true) : sum_of(block, &rays, false);
        float *to = sums + first;
        _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), partial));
    }
}

#else

bool ts_joseph_wide_there(void)
{
    return false;
}

void ts_joseph_wide_add(const struct slice_block *block, const struct ray_run *run, bool fan, int64_t n, float *sums)
{
    (void)block;
    (void)run;
    (void)fan;
    (void)n;
    (void)sums;
}

#endif
