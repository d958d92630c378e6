/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops down the rows are macros over the types of values and sums, those along a line are
 * window_line.inc; tables of functions choose among them. window_sum.h says what they compute and
 * why.
 */
#include "stages/filters/window_sum.h"

#include <math.h>
#include <string.h>

#include "core/image.h"

/* Sums are trees: at most 4 roundings in a row, and the processor can overlap them. */
#define SUM_2(v) (v(0) + v(1))
#define SUM_3(v) (SUM_2(v) + v(2))
#define SUM_4(v) (SUM_2(v) + (v(2) + v(3)))
#define SUM_5(v) (SUM_4(v) + v(4))
#define SUM_6(v) (SUM_4(v) + (v(4) + v(5)))
#define SUM_7(v) (SUM_4(v) + ((v(4) + v(5)) + v(6)))
#define SUM_8(v) (SUM_4(v) + ((v(4) + v(5)) + (v(6) + v(7))))
#define SUM_9(v) (SUM_8(v) + v(8))

#define ROW(k) ((total)row_##k[x])
#define POINTER(VALUE, k) const VALUE *restrict const row_##k = rows[window > (k) ? (k) : 0];
#define SUM_CASE(window, sum)                                                                      \
    case window:                                                                                   \
        for (int64_t x = 0; x < n; x++)                                                            \
            out[x] = sum;                                                                          \
        break;

/* The row loops for values VALUE and sums TOTAL: direct_ adds all `window` rows and multiplies by
 * SCALE; add_ adds a row to sums of type RUNNING. */
#define ROWS(V, T, VALUE, TOTAL, RUNNING, SCALE)                                                   \
    TS_VECTORIZED static void direct_##V##_##T(void *out_row, const void *const *rows,             \
                                               int64_t window, float scale, int64_t n)             \
    {                                                                                              \
        typedef TOTAL total;                                                                       \
        total *restrict out = out_row;                                                             \
        POINTER(VALUE, 0)                                                                          \
        POINTER(VALUE, 1)                                                                          \
        POINTER(VALUE, 2)                                                                          \
        POINTER(VALUE, 3)                                                                          \
        POINTER(VALUE, 4)                                                                          \
        POINTER(VALUE, 5)                                                                          \
        POINTER(VALUE, 6)                                                                          \
        POINTER(VALUE, 7)                                                                          \
        POINTER(VALUE, 8)                                                                          \
        (void)scale;                                                                               \
        switch (window) {                                                                          \
            SUM_CASE(1, ROW(0) SCALE)                                                              \
            SUM_CASE(2, (SUM_2(ROW))SCALE)                                                         \
            SUM_CASE(3, (SUM_3(ROW))SCALE)                                                         \
            SUM_CASE(4, (SUM_4(ROW))SCALE)                                                         \
            SUM_CASE(5, (SUM_5(ROW))SCALE)                                                         \
            SUM_CASE(6, (SUM_6(ROW))SCALE)                                                         \
            SUM_CASE(7, (SUM_7(ROW))SCALE)                                                         \
            SUM_CASE(8, (SUM_8(ROW))SCALE)                                                         \
            SUM_CASE(9, (SUM_9(ROW))SCALE)                                                         \
        }                                                                                          \
    }                                                                                              \
    TS_VECTORIZED static void add_##V##_##T(void *running, const void *row, int64_t n)             \
    {                                                                                              \
        RUNNING *restrict sums = running;                                                          \
        const VALUE *restrict values = row;                                                        \
        for (int64_t x = 0; x < n; x++)                                                            \
            sums[x] += (RUNNING)values[x];                                                         \
    }

/* Running sums of integers also slide: one row enters and another leaves. */
#define INTEGER_ROWS(V, T, VALUE, TOTAL)                                                           \
    ROWS(V, T, VALUE, TOTAL, TOTAL, )                                                              \
    TS_VECTORIZED static void slide_##V##_##T(void *running, const void *entering_row,             \
                                              const void *leaving_row, void *out_row, int64_t n)   \
    {                                                                                              \
        TOTAL *restrict sums = running, *restrict out = out_row;                                   \
        const VALUE *restrict entering = entering_row, *restrict leaving = leaving_row;            \
        for (int64_t x = 0; x < n; x++)                                                            \
            out[x] = sums[x] += (TOTAL)entering[x] - (TOTAL)leaving[x];                            \
    }

/* X(enum window_value, enum window_total, their C types): the sums that box uses. */
#define INTEGER_PAIRS(X)                                                                           \
    X(U8, I32, uint8_t, int32_t)                                                                   \
    X(I8, I32, int8_t, int32_t)                                                                    \
    X(U16, I32, uint16_t, int32_t)                                                                 \
    X(I16, I32, int16_t, int32_t)                                                                  \
    X(I32, I32, int32_t, int32_t)                                                                  \
    X(U32, I64, uint32_t, int64_t)                                                                 \
    X(I32, I64, int32_t, int64_t)                                                                  \
    X(I64, I64, int64_t, int64_t)
INTEGER_PAIRS(INTEGER_ROWS)
ROWS(F32, F32, float, float, double, *scale)

#define TOTAL float
#define NAME f32
#include "stages/filters/window_line.inc"
#define TOTAL int32_t
#define UNSIGNED uint32_t
#define NAME i32
#include "stages/filters/window_line.inc"
#define TOTAL int64_t
#define UNSIGNED uint64_t
#define NAME i64
#include "stages/filters/window_line.inc"

struct window_rows_kernels {
    size_t total_bytes, running_bytes;
    void (*direct)(void *out, const void *const *rows, int64_t window, float scale, int64_t n);
    void (*add)(void *running, const void *row, int64_t n);
    void (*slide)(void *running, const void *entering, const void *leaving, void *out,
                  int64_t n); /* NULL for floats */
};

static const struct window_rows_kernels *find_kernels(enum window_value value,
                                                      enum window_total total)
{
#define ENTRY(V, T, VALUE, TOTAL)                                                                  \
    [WINDOW_##V][TOTAL_##T] = {sizeof(TOTAL), sizeof(TOTAL), direct_##V##_##T, add_##V##_##T,      \
                               slide_##V##_##T},
    static const struct window_rows_kernels table[8][3] = {
        [WINDOW_F32][TOTAL_F32] = {sizeof(float), sizeof(double), direct_F32_F32, add_F32_F32},
        INTEGER_PAIRS(ENTRY)};
#undef ENTRY
    return &table[value][total];
}

/* Adds one more row to the sum of the rows after it, up to the block's end. */
TS_VECTORIZED static void add_suffix(const double *restrict after, const float *restrict row,
                                     double *restrict suffix, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        suffix[x] = after[x] + row[x];
}

TS_VECTORIZED static void scale_suffix(const double *restrict suffix, double scale,
                                       float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)(suffix[x] * scale);
}

/* Adds one more row to the sum from the next block's start, and joins the sum to the end of the
 * block before. */
TS_VECTORIZED static void add_joined(double *restrict sums, const float *restrict row, double scale,
                                     const double *restrict suffix, float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)((suffix[x] + (sums[x] += row[x])) * scale);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Chooses the rows of a group, so that a window consists of at most 8 groups and single rows, and a
 * group of at most 8 rows. Returns 0 if blocks are faster, as measured: narrow windows are direct,
 * and the groups of wide windows do not fit the first cache. */
static int64_t choose_group(int64_t window, int64_t n)
{
    enum { CACHE_BYTES = 32768, MOST = 8 };
    int64_t best = 0;
    if (window <= WINDOW_DIRECT_MAX || window * n > (int64_t)(CACHE_BYTES / sizeof(float)))
        return 0;
    for (int64_t group = 3; group <= MOST; group++) {
        const int64_t added = window / group + window % group;
        if (added <= MOST && (best == 0 || group + added < best + window / best + window % best))
            best = group;
    }
    return best;
}

size_t ts_window_rows_bytes(int64_t window, int64_t n, int64_t n_out)
{
    int64_t suffixes = window < n_out ? window : n_out;
    if (choose_group(window, n) > 0)
        suffixes = window; /* the ring of groups has floats, and is smaller */
    return rounded((size_t)n * sizeof(double)) + rounded((size_t)(suffixes * n) * sizeof(double));
}

void ts_window_rows_init(struct window_rows *state, enum window_value value,
                         enum window_total total, bool direct, int64_t window, int64_t n,
                         double scale, void *scratch)
{
    *state = (struct window_rows){
        .kernels = find_kernels(value, total),
        .direct = direct,
        .window = window,
        .n = n,
        .scale = scale,
        .sums = scratch,
        .group = value == WINDOW_F32 && !direct ? choose_group(window, n) : 0,
        .suffixes = (double *)((char *)scratch + rounded((size_t)n * sizeof(double))),
    };
}

/* Called for an output row j that is the first of a sweep or of a block: makes all sums to the end
 * of the block that the sweep needs, then the sum from the start of the next block that belongs to
 * row j. */
static void begin_block(struct window_rows *state, const void *const *rows, int64_t offset,
                        int64_t j, int64_t n_out)
{
    const int64_t n = state->n, left = state->window - offset;
    const int64_t n_suffixes = left < n_out - j ? left : n_out - j;
    state->base = j;
    memset(state->sums, 0, (size_t)n * sizeof(double));
    for (int64_t k = left - 1; k >= n_suffixes; k--)
        state->kernels->add(state->sums, rows[j + k], n);
    for (int64_t k = n_suffixes - 1; k >= 0; k--)
        add_suffix(k == n_suffixes - 1 ? state->sums : state->suffixes + (k + 1) * n, rows[j + k],
                   state->suffixes + k * n, n);
    memset(state->sums, 0, (size_t)n * sizeof(double));
    for (int64_t k = left; k < state->window - 1; k++)
        state->kernels->add(state->sums, rows[j + k], n);
}

/* Writes output row j. Row i of the ring has the sum of rows i to i + group - 1: output row 0 fills
 * the ring, and each later one adds its newest sum. The window consists of every group-th of these
 * sums and of `rest` single rows. */
static void step_groups(struct window_rows *state, const void *const *rows, int64_t j, float *out)
{
    const int64_t group = state->group, n_groups = state->window / group,
                  rest = state->window % group;
    const int64_t ring = (n_groups - 1) * group + 1, newest = j + ring - 1;
    float *groups = (float *)state->suffixes;
    for (int64_t first = j == 0 ? 0 : newest; first <= newest; first++)
        state->kernels->direct(groups + first % ring * state->n, rows + first, group, 1.0f,
                               state->n);
    const void *added[WINDOW_DIRECT_MAX];
    for (int64_t i = 0; i < n_groups; i++)
        added[i] = groups + (j + i * group) % ring * state->n;
    for (int64_t i = 0; i < rest; i++)
        added[n_groups + i] = rows[j + n_groups * group + i];
    state->kernels->direct(out, added, n_groups + rest, (float)state->scale, state->n);
}

static void step_floats(struct window_rows *state, const void *const *rows, int64_t first,
                        int64_t j, int64_t n_out, float *out)
{
    const int64_t offset = (first + j) % state->window;
    if (j == 0 || offset == 0)
        begin_block(state, rows, offset, j, n_out);
    const double *suffix = state->suffixes + (j - state->base) * state->n;
    if (offset == 0)
        scale_suffix(suffix, state->scale, out, state->n);
    else
        add_joined(state->sums, rows[j + state->window - 1], state->scale, suffix, out, state->n);
}

static void step_integers(struct window_rows *state, const void *const *rows, int64_t j, void *out)
{
    const struct window_rows_kernels *kernels = state->kernels;
    if (j > 0) {
        kernels->slide(state->sums, rows[j + state->window - 1], rows[j - 1], out, state->n);
        return;
    }
    memset(state->sums, 0, (size_t)state->n * kernels->running_bytes);
    for (int64_t k = 0; k < state->window; k++)
        kernels->add(state->sums, rows[k], state->n);
    memcpy(out, state->sums, (size_t)state->n * kernels->total_bytes);
}

void ts_window_rows_step(struct window_rows *state, const void *const *rows, int64_t first,
                         int64_t j, int64_t n_out, void *out)
{
    if (state->direct)
        state->kernels->direct(out, rows + j, state->window, (float)state->scale, state->n);
    else if (state->kernels->slide)
        step_integers(state, rows, j, out);
    else if (state->group > 0)
        step_groups(state, rows, j, out);
    else
        step_floats(state, rows, first, j, n_out, out);
}

/* ---- along a line ---------------------------------------------------------------------------- */

/* Finds the cheapest factors of a window, by the samples read and by what each pass takes besides,
 * and returns that cost. Wide windows only have factors of 4 and 8, so that there are at most 13
 * roundings in a row. */
static int64_t cheapest(int64_t count, int8_t *factors, int *n_factors)
{
    enum { PASS = 3, WIDE = 81, MOST = 8 };
    *n_factors = 0;
    if (count <= WINDOW_DIRECT_MAX)
        return count;
    int64_t best = INT64_MAX;
    for (int64_t factor = count > WIDE ? 4 : 3; factor <= MOST; factor += count > WIDE ? 4 : 1) {
        int8_t rest_factors[MOST];
        int n_rest;
        const int64_t rest = count % factor;
        const int64_t cost = cheapest(count / factor, rest_factors, &n_rest) + factor + PASS +
                             (rest > 0 ? rest + PASS : 0);
        if (cost < best) {
            best = cost;
            factors[0] = (int8_t)factor;
            memcpy(factors + 1, rest_factors, (size_t)n_rest);
            *n_factors = 1 + n_rest;
        }
    }
    return best;
}

struct window_line ts_window_line_plan(int64_t window)
{
    struct window_line plan = {.window = window};
    cheapest(window, plan.factors, &plan.n_factors);
    return plan;
}

void ts_window_extend(enum window_total total, void *samples, int64_t n, int64_t radius,
                      enum ts_border border, double constant)
{
    if (total == TOTAL_F32)
        extend_f32(samples, n, radius, border, (float)constant);
    else if (total == TOTAL_I32)
        extend_i32(samples, n, radius, border, border == BORDER_CONSTANT ? (int32_t)constant : 0);
    else
        extend_i64(samples, n, radius, border, border == BORDER_CONSTANT ? (int64_t)constant : 0);
}

void ts_window_line(enum window_total total, const struct window_line *plan, void *line,
                    void *spare, int64_t n, void *out)
{
    if (total == TOTAL_F32)
        sum_f32(plan, line, spare, n, out);
    else if (total == TOTAL_I32)
        sum_i32(plan, line, spare, n, out);
    else
        sum_i64(plan, line, spare, n, out);
}

/* ---- integer means -----------------------------------------------------------------------------
 *
 * The result is the nearest integer to a sum over the number N of its samples. There is never a
 * tie, because N is odd: the quotient is at least 1/(2N) away from one. In double every sum of 8-
 * or 16-bit values is exact and the product errs by less than that; in float only if
 * ts_integer_means() allows it. */

#define STORE(NAME, TYPE, SUM, REAL, ROUND)                                                        \
    TS_VECTORIZED static void store_##NAME(TYPE *restrict out, const SUM *restrict sums,           \
                                           REAL scale, int64_t n)                                  \
    {                                                                                              \
        for (int64_t x = 0; x < n; x++)                                                            \
            out[x] = (TYPE)(int32_t)ROUND((REAL)sums[x] * scale);                                  \
    }
#define STORES(NAME, TYPE)                                                                         \
    STORE(NAME##_small, TYPE, int32_t, float, rintf)                                               \
    STORE(NAME##_middle, TYPE, int32_t, double, rint)                                              \
    STORE(NAME##_large, TYPE, int64_t, double, rint)
STORES(u8, uint8_t)
STORES(i8, int8_t)
STORES(u16, uint16_t)
STORES(i16, int16_t)

/* For 32-bit values the quotient in double may be wrong by one, which the remainder shows. */
#define STORE_WIDE(NAME, TYPE)                                                                     \
    TS_VECTORIZED static void store_##NAME(TYPE *restrict out, const int64_t *restrict sums,       \
                                           int64_t count, int64_t n)                               \
    {                                                                                              \
        const double scale = 1.0 / (double)count;                                                  \
        for (int64_t x = 0; x < n; x++) {                                                          \
            const int64_t quotient = (int64_t)rint((double)sums[x] * scale);                       \
            const int64_t twice = 2 * (sums[x] - quotient * count);                                \
            out[x] = (TYPE)(quotient + (twice > count ? 1 : 0) - (twice < -count ? 1 : 0));        \
        }                                                                                          \
    }
STORE_WIDE(u32, uint32_t)
STORE_WIDE(i32, int32_t)

void ts_integer_means(enum ts_dtype dtype, enum window_total total, int64_t count, double largest,
                      const void *sums, void *out, int64_t n)
{
    const double scale = 1.0 / (double)count;
    /* The sum is exact as a float, and two roundings of 2^-24 stay below 1/(2N). */
    const bool small = largest < 0x1p22;
#define CASE(DTYPE, NAME)                                                                          \
    case TS_##DTYPE:                                                                               \
        if (total == TOTAL_I64)                                                                    \
            store_##NAME##_large(out, sums, scale, n);                                             \
        else if (small)                                                                            \
            store_##NAME##_small(out, sums, (float)scale, n);                                      \
        else                                                                                       \
            store_##NAME##_middle(out, sums, scale, n);                                            \
        return;
    switch (dtype) {
        CASE(U8, u8)
        CASE(I8, i8)
        CASE(U16, u16)
        CASE(I16, i16)
    case TS_U32:
        store_u32(out, sums, count, n);
        return;
    case TS_I32:
        store_i32(out, sums, count, n);
        return;
    default:
        return;
    }
#undef CASE
}
