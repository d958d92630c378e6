/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/filters/window_sum.h"

#include <string.h>

/* Sums as trees: at most 4 roundings one after the other, and room for the processor to overlap them. */
#define SUM_2(v) (v(0) + v(1))
#define SUM_3(v) (SUM_2(v) + v(2))
#define SUM_4(v) (SUM_2(v) + (v(2) + v(3)))
#define SUM_5(v) (SUM_4(v) + v(4))
#define SUM_6(v) (SUM_4(v) + (v(4) + v(5)))
#define SUM_7(v) (SUM_4(v) + ((v(4) + v(5)) + v(6)))
#define SUM_8(v) (SUM_4(v) + ((v(4) + v(5)) + (v(6) + v(7))))
#define SUM_9(v) (SUM_8(v) + v(8))

#define SCALED(v) (v)
#define SLIDES
#define VALUE uint8_t
#define TOTAL int32_t
#define RUNNING int32_t
#define NAME u8_i32
#include "stages/filters/window_rows.inc"
#define VALUE int8_t
#define TOTAL int32_t
#define RUNNING int32_t
#define NAME i8_i32
#include "stages/filters/window_rows.inc"
#define VALUE uint16_t
#define TOTAL int32_t
#define RUNNING int32_t
#define NAME u16_i32
#include "stages/filters/window_rows.inc"
#define VALUE int16_t
#define TOTAL int32_t
#define RUNNING int32_t
#define NAME i16_i32
#include "stages/filters/window_rows.inc"
#define VALUE int32_t
#define TOTAL int32_t
#define RUNNING int32_t
#define NAME i32_i32
#include "stages/filters/window_rows.inc"
#define VALUE uint16_t
#define TOTAL int64_t
#define RUNNING int64_t
#define NAME u16_i64
#include "stages/filters/window_rows.inc"
#define VALUE int16_t
#define TOTAL int64_t
#define RUNNING int64_t
#define NAME i16_i64
#include "stages/filters/window_rows.inc"
#define VALUE uint32_t
#define TOTAL int64_t
#define RUNNING int64_t
#define NAME u32_i64
#include "stages/filters/window_rows.inc"
#define VALUE int32_t
#define TOTAL int64_t
#define RUNNING int64_t
#define NAME i32_i64
#include "stages/filters/window_rows.inc"
#define VALUE int64_t
#define TOTAL int64_t
#define RUNNING int64_t
#define NAME i64_i64
#include "stages/filters/window_rows.inc"
#undef SLIDES
#undef SCALED
#define SCALED(v) ((v)*scale)
#define VALUE float
#define TOTAL float
#define RUNNING double
#define NAME f32_f32
#include "stages/filters/window_rows.inc"
#undef SCALED

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
    void (*slide)(void *running, const void *entering, const void *leaving, void *out, int64_t n); /* NULL: floats */
};

static const struct window_rows_kernels *find_kernels(enum window_value value, enum window_total total)
{
#define ENTRY(V, T, name, bytes) [WINDOW_##V][TOTAL_##T] = { bytes, bytes, direct_##name, add_##name, slide_##name }
    static const struct window_rows_kernels table[8][3] = {
        ENTRY(U8, I32, u8_i32, 4),
        ENTRY(I8, I32, i8_i32, 4),
        ENTRY(U16, I32, u16_i32, 4),
        ENTRY(I16, I32, i16_i32, 4),
        ENTRY(I32, I32, i32_i32, 4),
        ENTRY(U16, I64, u16_i64, 8),
        ENTRY(I16, I64, i16_i64, 8),
        ENTRY(U32, I64, u32_i64, 8),
        ENTRY(I32, I64, i32_i64, 8),
        ENTRY(I64, I64, i64_i64, 8),
        [WINDOW_F32][TOTAL_F32] = {4, 8, direct_f32_f32, add_f32_f32, NULL},
    };
#undef ENTRY
    return &table[value][total];
}

/* The sum from one more row to the block's end. */
TS_VECTORIZED static void add_suffix(const double *restrict after, const float *restrict row, double *restrict suffix,
                                     int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        suffix[x] = after[x] + row[x];
}

TS_VECTORIZED static void scale_suffix(const double *restrict suffix, double scale, float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)(suffix[x] * scale);
}

/* The sum from the next block's start with one more row, joined to the end of the block before. */
TS_VECTORIZED static void add_joined(double *restrict sums, const float *restrict row, double scale,
                                     const double *restrict suffix, float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)((suffix[x] + (sums[x] += row[x])) * scale);
}

size_t ts_window_total_bytes(enum window_total total)
{
    return total == TOTAL_I64 ? 8 : 4;
}

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Rows of a group, so that the groups and the rest of a window are at most 8 rows to add, each of at most 8; 0 where
 * blocks are faster, as measured: narrow windows are direct, and the groups of wide ones do not fit the first cache. */
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
        suffixes = window; /* the ring, as floats, is smaller */
    return rounded((size_t)n * sizeof(double)) + rounded((size_t)(suffixes * n) * sizeof(double));
}

void ts_window_rows_init(struct window_rows *state, enum window_value value, enum window_total total, bool direct,
                         int64_t window, int64_t n, double scale, void *scratch)
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

/* Output row j is the first of a sweep or of a block: sums every end of the block that the sweep needs, then the
 * start of the next block that belongs to row j. */
static void begin_block(struct window_rows *state, const void *const *rows, int64_t offset, int64_t j, int64_t n_out)
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

static void step_groups(struct window_rows *state, const void *const *rows, int64_t j, float *out)
{
    const int64_t group = state->group, n_groups = state->window / group, rest = state->window % group;
    const int64_t ring = (n_groups - 1) * group + 1, newest = j + ring - 1;
    float *groups = (float *)state->suffixes;
    for (int64_t first = j == 0 ? 0 : newest; first <= newest; first++)
        state->kernels->direct(groups + first % ring * state->n, rows + first, group, 1.0f, state->n);
    const void *added[WINDOW_DIRECT_MAX];
    for (int64_t i = 0; i < n_groups; i++)
        added[i] = groups + (j + i * group) % ring * state->n;
    for (int64_t i = 0; i < rest; i++)
        added[n_groups + i] = rows[j + n_groups * group + i];
    state->kernels->direct(out, added, n_groups + rest, (float)state->scale, state->n);
}

static void step_floats(struct window_rows *state, const void *const *rows, int64_t first, int64_t j, int64_t n_out,
                        float *out)
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

void ts_window_rows_step(struct window_rows *state, const void *const *rows, int64_t first, int64_t j, int64_t n_out,
                         void *out)
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

/* ---- along a line ------------------------------------------------------------------------------- */

/* The samples read, and what a pass costs beside them, of the cheapest way; writes its factors. Factors of 4 and 8
 * alone for wide windows keep the number of roundings in a row at 13. */
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
        const int64_t cost =
            cheapest(count / factor, rest_factors, &n_rest) + factor + PASS + (rest > 0 ? rest + PASS : 0);
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

void ts_window_extend(enum window_total total, void *samples, int64_t n, int64_t radius, enum ts_border border,
                      double constant)
{
    if (total == TOTAL_F32)
        extend_f32(samples, n, radius, border, (float)constant);
    else if (total == TOTAL_I32)
        extend_i32(samples, n, radius, border, border == BORDER_CONSTANT ? (int32_t)constant : 0);
    else
        extend_i64(samples, n, radius, border, border == BORDER_CONSTANT ? (int64_t)constant : 0);
}

void ts_window_line(enum window_total total, const struct window_line *plan, void *line, void *spare, int64_t n,
                    void *out)
{
    if (total == TOTAL_F32)
        sum_f32(plan, line, spare, n, out);
    else if (total == TOTAL_I32)
        sum_i32(plan, line, spare, n, out);
    else
        sum_i64(plan, line, spare, n, out);
}
