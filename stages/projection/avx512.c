/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions on a line of samples are worked out in double, eight a vector, and split into the index of a sample and the
 * way to the next one. 16 neighboring positions that span less than two vectors of samples are served by two loads and
 * two permutations. Neighboring pixels do so where a pixel is no wider than `step_most` detector pixels, which is asked
 * once for all views; neighboring rays where they cross a line within MOST_SPAN samples, which is asked for every
 * block, and rays farther apart gather their samples.
 */
#include "stages/projection/avx512.h"

#include <math.h>

#if defined(__x86_64__) && !defined(TS_SANITIZED)
#include <immintrin.h>

#define VECTORS __attribute__((target("arch=x86-64-v4")))
#define INLINE_VECTORS static inline __attribute__((always_inline, target("arch=x86-64-v4")))

enum {
    WIDE = AVX512_RAYS,
    HALF = WIDE / 2,
    RUN = 4, /* vectors of sums of pixels that are kept in registers */
    MOST_SPAN = 2 * WIDE - 4
};

static const double low = -BLOCK_MARGIN;

bool ts_avx512_there(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd");
}

/* Returns the indices of eight positions, from the margin on. *past: the ways to the next samples. */
INLINE_VECTORS __m256i split(__m512d at, __m256 *past)
{
    const __m512d shifted = _mm512_add_pd(at, _mm512_set1_pd(BLOCK_MARGIN));
    const __m256i index = _mm512_cvttpd_epi32(shifted);
    *past = _mm512_cvtpd_ps(_mm512_sub_pd(shifted, _mm512_cvtepi32_pd(index)));
    return index;
}

INLINE_VECTORS __m512d clamp(__m512d at, __m512d high)
{
    return _mm512_min_pd(_mm512_max_pd(at, _mm512_set1_pd(low)), high);
}

INLINE_VECTORS double clamp_one(__m128d at, __m512d high)
{
    return _mm_cvtsd_f64(_mm_min_sd(_mm_max_sd(at, _mm_set_sd(low)), _mm512_castpd512_pd128(high)));
}

INLINE_VECTORS __m512 join(__m256 left, __m256 right)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(left), right, 1);
}

INLINE_VECTORS __m512i join_indices(__m256i left, __m256i right)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(left), right, 1);
}

/* Finds the samples at 16 indices and those behind them, all within the two vectors that begin at `lowest`. */
INLINE_VECTORS void permute(const float *samples, int32_t lowest, __m512i index, __m512 *below, __m512 *above)
{
    const __m512 here = _mm512_loadu_ps(samples + lowest), further = _mm512_loadu_ps(samples + lowest + WIDE);
    const __m512i place = _mm512_sub_epi32(index, _mm512_set1_epi32(lowest));
    *below = _mm512_permutex2var_ps(here, place, further);
    *above = _mm512_permutex2var_ps(here, _mm512_add_epi32(place, _mm512_set1_epi32(1)), further);
}

/* Adds partial sums to the first `left` of the 16 sums at `to`. */
INLINE_VECTORS void add_sums(float *to, int64_t left, __m512 partial)
{
    const __mmask16 mask = (__mmask16)(left < WIDE ? (1U << left) - 1 : 0xFFFFU);
    _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), partial));
}

/* ---- projection -------------------------------------------------------------------------------- */

/* The first ray and the last are at most this much out of order by rounding. There is a sample to spare on both sides.
 */
static const double slack = 1e-6;

/* 16 rays, in two vectors of doubles; and the first and last of them. */
struct rays {
    __m512d base[2], step[2], high;
    double base_first, base_last, step_first, step_last;
};

INLINE_VECTORS __m256i crossings_of(const struct rays *rays, int half, double line, __m256 *past)
{
    const __m512d at = _mm512_add_pd(rays->base[half], _mm512_mul_pd(_mm512_set1_pd(line), rays->step[half]));
    return split(clamp(at, rays->high), past);
}

/* Returns the sample before that of the lowest crossing, where there is one: rounding may put a ray beside its
 * neighbor. */
INLINE_VECTORS int32_t lowest_of(const struct rays *rays, double line)
{
    const __m128d first = _mm_set_sd(rays->base_first + line * rays->step_first),
                  last = _mm_set_sd(rays->base_last + line * rays->step_last);
    const int32_t index = (int32_t)(clamp_one(_mm_min_sd(first, last), rays->high) + BLOCK_MARGIN);
    return index - (index > 0);
}

/* Returns the samples of 16 rays on a line that begins at `samples`. near: all of them lie within two vectors. */
INLINE_VECTORS __m512 samples_of(const struct rays *rays, const float *samples, double line, bool near)
{
    __m256 past_left, past_right;
    const __m256i left = crossings_of(rays, 0, line, &past_left), right = crossings_of(rays, 1, line, &past_right);
    const __m512i index = join_indices(left, right);
    __m512 below, above;
    if (near) {
        permute(samples, lowest_of(rays, line), index, &below, &above);
    } else {
        below = _mm512_i32gather_ps(index, samples, sizeof *samples);
        above = _mm512_i32gather_ps(index, samples + 1, sizeof *samples);
    }
    return _mm512_add_ps(below, _mm512_mul_ps(join(past_left, past_right), _mm512_sub_ps(above, below)));
}

/* Returns how far the last ray is from the first on a line; NAN where others do not lie between them, as in fans whose
 * detector pixels lie on both sides of the source. */
INLINE_VECTORS double span_on(const struct rays *rays, double line, bool fan)
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
INLINE_VECTORS bool are_near(const struct slice_block *block, const struct rays *rays, bool fan)
{
    const double a = span_on(rays, (double)block->m_first, fan),
                 b = span_on(rays, (double)(block->m_first + block->n_major - 1), fan);
    return fabs(a) < MOST_SPAN && fabs(b) < MOST_SPAN && a * b >= 0;
}

INLINE_VECTORS __m512 sum_of_lines(const struct slice_block *block, const struct rays *rays, bool near)
{
    __m512 partial = _mm512_setzero_ps();
    for (int64_t m = 0; m < block->n_major; m++)
        partial = _mm512_add_ps(partial,
                                samples_of(rays, block->data + m * block->stride, (double)(block->m_first + m), near));
    return partial;
}

VECTORS void ts_avx512_project(const struct slice_block *block, const struct ray_run *run, bool fan, int64_t n,
                               float *sums)
{
    for (int64_t first = 0; first < n; first += WIDE) {
        const int64_t last = first + WIDE - 1;
        const struct rays rays = {
            .base = {_mm512_loadu_pd(run->base + first), _mm512_loadu_pd(run->base + first + HALF)},
            .step = {_mm512_loadu_pd(run->step + first), _mm512_loadu_pd(run->step + first + HALF)},
            .high = _mm512_set1_pd((double)block->n_minor),
            .base_first = run->base[first],
            .base_last = run->base[last],
            .step_first = run->step[first],
            .step_last = run->step[last]};
        add_sums(sums + first, n - first,
                 are_near(block, &rays, fan) ? sum_of_lines(block, &rays, true) : sum_of_lines(block, &rays, false));
    }
}

/* ---- backprojection ---------------------------------------------------------------------------- */

static const double step_most = 1.9, width_least = 1 - 1e-9;

bool ts_avx512_backprojects(const struct back_view *views, int64_t n_views)
{
    for (int64_t v = 0; v < n_views; v++)
        if (!(fabs(views[v].per_column) <= step_most) || views[v].width < width_least)
            return false;
    return ts_avx512_there();
}

/* A view on a row of pixels. */
struct line {
    const float *samples; /* from the margin on */
    double start, step;
    double lowest; /* pixels from the first of 16 to the one with the lowest place */
    __m512d starts, steps;
    __m512 scale, slope;
};

INLINE_VECTORS __m256i places_of(const struct line *line, __m512d pixel, bool inside, __m512d high, __m256 *past)
{
    const __m512d at = _mm512_add_pd(line->starts, _mm512_mul_pd(pixel, line->steps));
    return split(inside ? at : clamp(at, high), past);
}

/* Returns the weighed sum of the two samples beside each of 16 pixels from `first` on. */
INLINE_VECTORS __m512 sum_of(const struct line *line, __m512d left, double first, bool inside, __m512d high)
{
    const double at = line->start + (first + line->lowest) * line->step;
    const int32_t lowest = (int32_t)((inside ? at : clamp_one(_mm_set_sd(at), high)) + BLOCK_MARGIN);
    __m256 past_left, past_right;
    const __m256i index_left = places_of(line, left, inside, high, &past_left),
                  index_right = places_of(line, _mm512_add_pd(left, _mm512_set1_pd(HALF)), inside, high, &past_right);
    const __m512 past = join(past_left, past_right), zero = _mm512_setzero_ps();
    const __m512 below = _mm512_max_ps(_mm512_sub_ps(line->scale, _mm512_mul_ps(line->slope, past)), zero);
    const __m512 above = _mm512_max_ps(
        _mm512_sub_ps(line->scale, _mm512_mul_ps(line->slope, _mm512_sub_ps(_mm512_set1_ps(1), past))), zero);
    __m512 sample, next;
    permute(line->samples, lowest, join_indices(index_left, index_right), &sample, &next);
    return _mm512_add_ps(_mm512_mul_ps(below, sample), _mm512_mul_ps(above, next));
}

INLINE_VECTORS void add_line(const struct line *line, const __m512d left[RUN], double first, bool inside, __m512d high,
                             __m512 partial[RUN])
{
    partial[0] = _mm512_add_ps(partial[0], sum_of(line, left[0], first, inside, high));
    partial[1] = _mm512_add_ps(partial[1], sum_of(line, left[1], first + WIDE, inside, high));
    partial[2] = _mm512_add_ps(partial[2], sum_of(line, left[2], first + 2 * WIDE, inside, high));
    partial[3] = _mm512_add_ps(partial[3], sum_of(line, left[3], first + 3 * WIDE, inside, high));
}

/* Adds the views to 64 pixels of a row, of which the first n are there. */
INLINE_VECTORS void add_run(const struct back_view *views, const struct slice_block *block, int64_t row, int64_t first,
                            int64_t n, float *sums)
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
    for (int k = 0; k < RUN && k * WIDE < n; k++)
        add_sums(sums + k * WIDE, n - k * WIDE, partial[k]);
}

VECTORS void ts_avx512_backproject(const struct back_view *views, const struct slice_block *block, int64_t row,
                                   int64_t n_rows, int64_t n_columns, float *sums)
{
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t first = 0; first < n_columns; first += RUN * WIDE)
            add_run(views, block, row + r, first, n_columns - first < RUN * WIDE ? n_columns - first : RUN * WIDE,
                    sums + r * n_columns + first);
}

#else

bool ts_avx512_there(void)
{
    return false;
}

bool ts_avx512_backprojects(const struct back_view *views, int64_t n_views)
{
    (void)views;
    (void)n_views;
    return false;
}

void ts_avx512_project(const struct slice_block *block, const struct ray_run *run, bool fan, int64_t n, float *sums)
{
    (void)block;
    (void)run;
    (void)fan;
    (void)n;
    (void)sums;
}

void ts_avx512_backproject(const struct back_view *views, const struct slice_block *block, int64_t row, int64_t n_rows,
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
