/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops are macros over the types of values and sums; what depends on the sums alone is window_prefix.inc. A table
 * of functions chooses among them. What they compute and why stands in window_prefix.h.
 */
#include "stages/filters/window_prefix.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUM uint32_t
#define NAME u32
#include "stages/filters/window_prefix.inc"
#define SUM uint64_t
#define NAME u64
#include "stages/filters/window_prefix.inc"
#define SUM double
#define NAME f64
#include "stages/filters/window_prefix.inc"

#define ADD(NAME, VALUE, SUM)                                                                                          \
    TS_VECTORIZED static void add_##NAME(void *sums, const void *const *rows, int64_t n_rows, int64_t n)               \
    {                                                                                                                  \
        SUM *restrict sum = sums;                                                                                      \
        const VALUE *restrict const a = rows[0];                                                                       \
        if (n_rows < 4) {                                                                                              \
            for (int64_t k = 0; k < n_rows; k++) {                                                                     \
                const VALUE *restrict const row = rows[k];                                                             \
                for (int64_t x = 0; x < n; x++)                                                                        \
                    sum[x] += (SUM)row[x];                                                                             \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        const VALUE *restrict const b = rows[1], *restrict const c = rows[2], *restrict const d = rows[3];             \
        for (int64_t x = 0; x < n; x++)                                                                                \
            sum[x] += ((SUM)a[x] + (SUM)b[x]) + ((SUM)c[x] + (SUM)d[x]);                                               \
    }

/* Two sweeps are faster than one of both: each has few enough steps to be overlapped. */
#define INTEGER_SCAN(SUM, NAME)                                                                                        \
    TS_VECTORIZED static void scan_##NAME(SUM *restrict prefix, const SUM *restrict added, int64_t n)                  \
    {                                                                                                                  \
        SUM sum = 0;                                                                                                   \
        _Pragma("omp simd reduction(inscan, + : sum)") for (int64_t x = 0; x < n; x++)                                 \
        {                                                                                                              \
            sum += added[x];                                                                                           \
            _Pragma("omp scan inclusive(sum)") prefix[x] += sum;                                                       \
        }                                                                                                              \
    }
INTEGER_SCAN(uint32_t, u32)
INTEGER_SCAN(uint64_t, u64)

#define INTEGER_SLIDE(NAME, VALUE, SUM, SCAN)                                                                          \
    ADD(NAME, VALUE, SUM)                                                                                              \
    TS_VECTORIZED static void subtract_##NAME(const VALUE *restrict entering, const VALUE *restrict leaving,           \
                                              SUM *restrict differences, int64_t n)                                    \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            differences[x] = (SUM)entering[x] - (SUM)leaving[x];                                                       \
    }                                                                                                                  \
    static void slide_##NAME(void *prefixes, const void *entering, const void *leaving, void *buffer, int64_t n)       \
    {                                                                                                                  \
        subtract_##NAME(entering, leaving, buffer, n);                                                                 \
        SCAN(prefixes, buffer, n);                                                                                     \
    }
INTEGER_SLIDE(u8_u32, uint8_t, uint32_t, scan_u32)
INTEGER_SLIDE(i8_u32, int8_t, uint32_t, scan_u32)
INTEGER_SLIDE(u16_u32, uint16_t, uint32_t, scan_u32)
INTEGER_SLIDE(i16_u32, int16_t, uint32_t, scan_u32)
INTEGER_SLIDE(i32_u32, int32_t, uint32_t, scan_u32)
INTEGER_SLIDE(u16_u64, uint16_t, uint64_t, scan_u64)
INTEGER_SLIDE(i16_u64, int16_t, uint64_t, scan_u64)
INTEGER_SLIDE(u32_u64, uint32_t, uint64_t, scan_u64)
INTEGER_SLIDE(i32_u64, int32_t, uint64_t, scan_u64)
INTEGER_SLIDE(i64_u64, int64_t, uint64_t, scan_u64)
ADD(f32_f64, float, double)

#define INTEGER_START_AND_TAKE(NAME, TOTAL, SUM)                                                                       \
    TS_VECTORIZED static void start_##NAME(void *prefixes, int64_t n)                                                  \
    {                                                                                                                  \
        SUM *restrict prefix = prefixes, sum = 0;                                                                      \
        _Pragma("omp simd reduction(inscan, + : sum)") for (int64_t x = 0; x < n; x++)                                 \
        {                                                                                                              \
            sum += prefix[x];                                                                                          \
            _Pragma("omp scan inclusive(sum)") prefix[x] = sum;                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    TS_VECTORIZED static void take_##NAME(const SUM *restrict high, const SUM *restrict low, TOTAL *restrict out,      \
                                          int64_t n)                                                                   \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] = (TOTAL)(high[x] - low[x]);                                                                        \
    }
INTEGER_START_AND_TAKE(u32, int32_t, uint32_t)
INTEGER_START_AND_TAKE(u64, int64_t, uint64_t)

/* Floats: prefix sums of the rows' differences by groups of 8, in an order of additions that is the same for every
 * width of the processor's vectors: two halves of 4, each in two steps, then the first half's sum to the second. The
 * carry is kept out of that: one addition per 8 samples is all that waits for the one before. */
typedef double doubles_4 __attribute__((vector_size(32), aligned(8), may_alias));
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
/* Conversions that the compiler joins to one; it splits one of a vector type before it makes the levels. */
#define LOADED(row) ((doubles_4){(double)(row)[0], (double)(row)[1], (double)(row)[2], (double)(row)[3]})

TS_VECTORIZED static void slide_rows(double *restrict prefix, const float *restrict entering,
                                     const float *restrict leaving, int64_t n)
{
    const doubles_4 zero = {0};
    doubles_4 carry = zero;
    int64_t x = 0;
    for (; x + 8 <= n; x += 8) {
        doubles_4 low = LOADED(entering + x) - LOADED(leaving + x),
                  high = LOADED(entering + x + 4) - LOADED(leaving + x + 4);
        low += SHUFFLED(zero, low, 0, 4, 5, 6);
        high += SHUFFLED(zero, high, 0, 4, 5, 6);
        low += SHUFFLED(zero, low, 0, 1, 4, 5);
        high += SHUFFLED(zero, high, 0, 1, 4, 5);
        high += SHUFFLED(low, low, 3, 3, 3, 3);
        *(doubles_4 *)(prefix + x) += low + carry;
        *(doubles_4 *)(prefix + x + 4) += high + carry;
        carry += SHUFFLED(high, high, 3, 3, 3, 3);
    }
    for (double sum = carry[0]; x < n; x++)
        prefix[x] += sum += (double)entering[x] - (double)leaving[x];
}

static void slide_f32_f64(void *prefixes, const void *entering, const void *leaving, void *buffer, int64_t n)
{
    (void)buffer;
    slide_rows(prefixes, entering, leaving, n);
}

static void start_f64(void *prefixes, int64_t n)
{
    double *prefix = prefixes, sum = 0;
    for (int64_t x = 0; x < n; x++)
        prefix[x] = sum += prefix[x];
}

TS_VECTORIZED static void take_f64(const double *restrict high, const double *restrict low, double scale,
                                   float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)((high[x] - low[x]) * scale);
}

/* A window whose `out` is not finite has a NaN or an infinity, and keeps it. */
TS_VECTORIZED static void merge_f64(const double *restrict high, const double *restrict low, double scale,
                                    float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = fabsf(out[x]) <= FLT_MAX ? (float)((high[x] - low[x]) * scale) : out[x];
}

#define EXTEND(NAME, OUTSIDE)                                                                                          \
    static void extend_line_##NAME(const struct window_prefix *state)                                                  \
    {                                                                                                                  \
        extend_##NAME(state->origin, state->n, state->radius, state->border,                                           \
                      state->border == BORDER_CONSTANT ? (OUTSIDE)state->outside : 0);                                 \
    }
EXTEND(u32, int32_t)
EXTEND(u64, int64_t)
EXTEND(f64, double)

struct window_prefix_kernels {
    size_t sum_bytes;
    void (*add)(void *sums, const void *const *rows, int64_t n_rows, int64_t n);
    void (*slide)(void *prefixes, const void *entering, const void *leaving, void *buffer, int64_t n);
    void (*start)(void *prefixes, int64_t n);
    void (*extend)(const struct window_prefix *state);
};

static const struct window_prefix_kernels *find_kernels(enum window_value value, enum window_total total)
{
#define ENTRY(V, T, name, sum, bytes)                                                                                  \
    [WINDOW_##V][TOTAL_##T] = { bytes, add_##name, slide_##name, start_##sum, extend_line_##sum }
    static const struct window_prefix_kernels table[8][3] = {
        ENTRY(U8, I32, u8_u32, u32, 4),   ENTRY(I8, I32, i8_u32, u32, 4),   ENTRY(U16, I32, u16_u32, u32, 4),
        ENTRY(I16, I32, i16_u32, u32, 4), ENTRY(I32, I32, i32_u32, u32, 4), ENTRY(U16, I64, u16_u64, u64, 8),
        ENTRY(I16, I64, i16_u64, u64, 8), ENTRY(U32, I64, u32_u64, u64, 8), ENTRY(I32, I64, i32_u64, u64, 8),
        ENTRY(I64, I64, i64_u64, u64, 8), ENTRY(F32, F32, f32_f64, f64, 8),
    };
#undef ENTRY
    return &table[value][total];
}

size_t ts_window_prefix_bytes(int64_t n, int64_t radius)
{
    return (size_t)(2 * n + 2 * radius + 1 + 16) * sizeof(double);
}

void ts_window_prefix_init(struct window_prefix *state, enum window_value value, enum window_total total, int64_t n,
                           int64_t radius, enum ts_border border, double outside, void *scratch)
{
    /* P(1), where the sweeps begin, is aligned. */
    const struct window_prefix_kernels *kernels = find_kernels(value, total);
    const size_t before = ((size_t)(radius + 1) * kernels->sum_bytes + 63) & ~(size_t)63;
    *state = (struct window_prefix){
        .kernels = kernels,
        .n = n,
        .radius = radius,
        .border = border,
        .outside = outside,
        .origin = (char *)scratch + before - kernels->sum_bytes,
        .differences = (char *)scratch + before + (((size_t)(n + radius) * kernels->sum_bytes + 63) & ~(size_t)63),
    };
}

static void *first(const struct window_prefix *state)
{
    return (char *)state->origin + state->kernels->sum_bytes;
}

void ts_window_prefix_clear(struct window_prefix *state)
{
    memset(state->origin, 0, (size_t)(state->n + 1) * state->kernels->sum_bytes);
}

void ts_window_prefix_add(struct window_prefix *state, const void *const *rows, int64_t n_rows)
{
    state->kernels->add(first(state), rows, n_rows, state->n);
}

void ts_window_prefix_start(struct window_prefix *state)
{
    state->kernels->start(first(state), state->n);
    state->kernels->extend(state);
}

void ts_window_prefix_slide(struct window_prefix *state, const void *entering, const void *leaving)
{
    state->kernels->slide(first(state), entering, leaving, state->differences, state->n);
    state->kernels->extend(state);
}

void ts_window_prefix_sums(const struct window_prefix *state, void *sums)
{
    if (state->kernels->sum_bytes == 4) {
        const uint32_t *p = state->origin;
        take_u32(p + state->radius + 1, p - state->radius, sums, state->n);
    } else {
        const uint64_t *p = state->origin;
        take_u64(p + state->radius + 1, p - state->radius, sums, state->n);
    }
}

void ts_window_prefix_means(const struct window_prefix *state, double scale, bool merge, float *out)
{
    const double *p = state->origin, *high = p + state->radius + 1, *low = p - state->radius;
    if (merge)
        merge_f64(high, low, scale, out, state->n);
    else
        take_f64(high, low, scale, out, state->n);
}

void ts_window_prefix_doubles(const struct window_prefix *state, int64_t begin, int64_t n, double *sums)
{
    const double *p = state->origin, *high = p + state->radius + 1 + begin, *low = p - state->radius + begin;
    for (int64_t x = 0; x < n; x++)
        sums[x] = high[x] - low[x];
}

bool ts_window_prefix_finite(const struct window_prefix *state)
{
    return isfinite(((const double *)state->origin)[state->n]);
}
