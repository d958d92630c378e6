/* SPDX-License-Identifier: Apache-2.0
 *
 * The method that box uses on a CPU unless a chain names a different one: sums whose time does not
 * depend on the radius, or direct sums for small windows. It also has the means of masked images.
 */
#include "stages/filters/box.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/filters/window_sum.h"

/* ---- prefix sums of a row of windows ----------------------------------------------------------
 *
 * Running sums over square windows, whose time does not depend on the radius. For one position y of
 * a window of rows
 *
 *     P(i) = sum over x < i of the column sums S(x) = sum over |dy| <= radius of in[y + dy][x], for
 *     -radius <= i <= n + radius,
 *
 * and the sum of the window around x is P(x + radius + 1) - P(x - radius) (F. C. Crow, 1984, one
 * row at a time). One row down, P(i) grows by the prefix sum of entering row minus leaving row, in
 * one sweep. Outside [0, n], P follows from itself by the border rule.
 *
 * Integers are exact: sums wrap and differences of them unwrap. Floats are summed in double, in
 * an order that is the same for every processor: after m rows of n samples of magnitude v, P
 * errs by at most about 2^-53 m n window v. A value that is not finite stays in P for good, up
 * to P(n).  */

struct window_prefix {
    const struct window_prefix_kernels *kernels;
    int64_t n, radius;
    enum ts_border border;
    double outside;    /* sum of a column outside the image, with border constant */
    void *origin;      /* address of P(0) */
    void *differences; /* differences of two rows */
};

#define SUM uint32_t
#define TOTAL int32_t
#define NAME u32
#include "stages/filters/box_prefix.inc"
#define SUM uint64_t
#define TOTAL int64_t
#define NAME u64
#include "stages/filters/box_prefix.inc"
#define SUM double
#define TOTAL double
#define NAME f64
#define FLOATS
#include "stages/filters/box_prefix.inc"

#define ADD(NAME, VALUE, SUM)                                                                      \
    TS_VECTORIZED static void add_##NAME(void *sums, const void *const *rows, int64_t n_rows,      \
                                         int64_t n)                                                \
    {                                                                                              \
        SUM *restrict sum = sums;                                                                  \
        const VALUE *restrict const a = rows[0];                                                   \
        if (n_rows < 4) {                                                                          \
            for (int64_t k = 0; k < n_rows; k++) {                                                 \
                const VALUE *restrict const row = rows[k];                                         \
                for (int64_t x = 0; x < n; x++)                                                    \
                    sum[x] += (SUM)row[x];                                                         \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        const VALUE *restrict const b = rows[1], *restrict const c = rows[2],                      \
                                    *restrict const d = rows[3];                                   \
        for (int64_t x = 0; x < n; x++)                                                            \
            sum[x] += ((SUM)a[x] + (SUM)b[x]) + ((SUM)c[x] + (SUM)d[x]);                           \
    }

#define INTEGER_SLIDE(NAME, VALUE, SUM, SCAN)                                                      \
    ADD(NAME, VALUE, SUM)                                                                          \
    TS_VECTORIZED static void subtract_##NAME(const VALUE *restrict entering,                      \
                                              const VALUE *restrict leaving,                       \
                                              SUM *restrict differences, int64_t n)                \
    {                                                                                              \
        for (int64_t x = 0; x < n; x++)                                                            \
            differences[x] = (SUM)entering[x] - (SUM)leaving[x];                                   \
    }                                                                                              \
    static void slide_##NAME(void *prefixes, const void *entering, const void *leaving,            \
                             void *buffer, int64_t n)                                              \
    {                                                                                              \
        subtract_##NAME(entering, leaving, buffer, n);                                             \
        SCAN(prefixes, buffer, n);                                                                 \
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

/* Floats: prefix sums of the rows' differences by groups of 8, in an order of additions that is the
 * same for every width of the processor's vectors: two halves of 4, each in two steps, then the
 * first half's sum to the second. The carry is added separately: only one addition per 8 samples
 * waits for the one before. */
typedef double doubles_4 __attribute__((vector_size(32), aligned(8), may_alias));
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
/* Conversions that the compiler joins to one instruction; it would split a conversion of a vector
 * type before it makes the levels. */
#define LOADED(row)                                                                                \
    ((doubles_4){(double)(row)[0], (double)(row)[1], (double)(row)[2], (double)(row)[3]})

TS_VECTORIZED static void slide_f32_f64(void *prefixes, const void *entering_row,
                                        const void *leaving_row, void *buffer, int64_t n)
{
    double *restrict prefix = prefixes;
    const float *restrict entering = entering_row, *restrict leaving = leaving_row;
    const doubles_4 zero = {0};
    doubles_4 carry = zero;
    int64_t x = 0;
    (void)buffer;
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

static void start_f64(void *prefixes, int64_t n)
{
    double *prefix = prefixes, sum = 0;
    for (int64_t x = 0; x < n; x++)
        prefix[x] = sum += prefix[x];
}

TS_VECTORIZED static void take_f64(const double *restrict high, const double *restrict low,
                                   double scale, float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)((high[x] - low[x]) * scale);
}

/* A window whose `out` is not finite has a NaN or an infinity, and keeps it. */
TS_VECTORIZED static void merge_f64(const double *restrict high, const double *restrict low,
                                    double scale, float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = fabsf(out[x]) <= FLT_MAX ? (float)((high[x] - low[x]) * scale) : out[x];
}

struct window_prefix_kernels {
    size_t sum_bytes;
    void (*add)(void *sums, const void *const *rows, int64_t n_rows, int64_t n);
    void (*slide)(void *prefixes, const void *entering, const void *leaving, void *buffer,
                  int64_t n);
    void (*start)(void *prefixes, int64_t n);
    void (*extend)(const struct window_prefix *state);
};

static const struct window_prefix_kernels *prefix_kernels(enum window_value value,
                                                          enum window_total total)
{
#define ENTRY(V, T, name, sum, bytes)                                                              \
    [WINDOW_##V][TOTAL_##T] = { bytes, add_##name, slide_##name, start_##sum, extend_line_##sum }
    static const struct window_prefix_kernels table[8][3] = {
        ENTRY(U8, I32, u8_u32, u32, 4),   ENTRY(I8, I32, i8_u32, u32, 4),
        ENTRY(U16, I32, u16_u32, u32, 4), ENTRY(I16, I32, i16_u32, u32, 4),
        ENTRY(I32, I32, i32_u32, u32, 4), ENTRY(U16, I64, u16_u64, u64, 8),
        ENTRY(I16, I64, i16_u64, u64, 8), ENTRY(U32, I64, u32_u64, u64, 8),
        ENTRY(I32, I64, i32_u64, u64, 8), ENTRY(I64, I64, i64_u64, u64, 8),
        ENTRY(F32, F32, f32_f64, f64, 8),
    };
#undef ENTRY
    return &table[value][total];
}

static size_t prefix_bytes(int64_t n, int64_t radius)
{
    return (size_t)(2 * n + 2 * radius + 1 + 16) * sizeof(double);
}

/* Returns the address of P(1), where the sweeps begin, which is aligned. */
static void *prefix_first(const struct window_prefix *state)
{
    return (char *)state->origin + state->kernels->sum_bytes;
}

/* Slides the windows one row down. */
static void prefix_slide(struct window_prefix *state, const void *entering, const void *leaving)
{
    state->kernels->slide(prefix_first(state), entering, leaving, state->differences, state->n);
    state->kernels->extend(state);
}

/* Writes the sums of all windows of the row. Only for integers: int32_t or int64_t, as `total`
 * says. */
static void prefix_sums(const struct window_prefix *state, void *sums)
{
    if (state->kernels->sum_bytes == 4) {
        const uint32_t *p = state->origin;
        take_u32(p + state->radius + 1, p - state->radius, sums, state->n);
    } else {
        const uint64_t *p = state->origin;
        take_u64(p + state->radius + 1, p - state->radius, sums, state->n);
    }
}

/* Writes out = scale * sum; with `merge`, only to elements of `out` that are finite already. Only
 * for floats. */
static void prefix_means(const struct window_prefix *state, double scale, bool merge, float *out)
{
    const double *p = state->origin, *high = p + state->radius + 1, *low = p - state->radius;
    if (merge)
        merge_f64(high, low, scale, out, state->n);
    else
        take_f64(high, low, scale, out, state->n);
}

/* Writes the sums of the windows of samples [first, first + n) of the row. Only for floats. */
static void prefix_doubles(const struct window_prefix *state, int64_t begin, int64_t n,
                           double *sums)
{
    const double *p = state->origin, *high = p + state->radius + 1 + begin,
                 *low = p - state->radius + begin;
    for (int64_t x = 0; x < n; x++)
        sums[x] = high[x] - low[x];
}

/* ---- masked images ----------------------------------------------------------------------------
 *
 * Box runs over a masked image as over any other, with 0 in place of invalid pixels. As soon as a
 * row is written, pixels with an invalid one in their window are computed again: the sum of the
 * window is divided by the number of its valid pixels. A window without invalid pixels has the mean
 * that any other image gives it. docs/padding.md says how long masks take.
 *
 * The number of valid pixels in a window follows from the columns of masked_mend.h, and slides
 * along the row. The sum is that of box itself, except for floats of small windows: box adds these
 * in float and divides them at once, so they are added here once more in double, first down the
 * rows and then along them. */

/* The sums of the windows of the row that was written last. One of them is not NULL. */
struct box_sums {
    enum window_total type;
    const void *totals;                 /* for integers: the sum of each pixel's window */
    const struct window_prefix *prefix; /* for floats */
    const float *const
        *rows; /* for floats whose windows are added again: the rows around this one */
};

/* The state of one thread that does rows of a masked image. */
struct box_mend {
    struct masked_window window;
    struct masked_mend mend;
    struct masked_rows rows;
    struct box_sums sums;
    double count; /* number of pixels in a window */
    double depth; /* number of pixels along z that each value of a sum is the mean of, for floats in
                   * 3D */
};

enum { GAP = 32 };

/* Returns a row of a slice with 0 in place of invalid pixels: the row itself if it has none,
 * else `copy`. */
static const void *box_valid_row(const struct ts_image *in, int64_t slice, int64_t y, void *copy)
{
    const uint64_t *valid = ts_slice_valid(in, slice);
    const int64_t nx = in->axes[2].n, first = y * nx;
    const size_t element = ts_dtype_bytes(in->dtype), bytes = (size_t)nx * element;
    const char *row = (const char *)ts_slice_data(in, slice) + (size_t)first * element;
    if (ts_valid_all(valid, (size_t)first, (size_t)nx))
        return row;
    memcpy(copy, row, bytes);
    ts_valid_zero(valid, (size_t)first, (size_t)nx, element, copy);
    return copy;
}

/* Returns column x of a window, which is outside of the image, summed. */
static double add_outside(const struct box_mend *mend, int64_t x)
{
    const int64_t height = 2 * mend->window.radius[1] + 1,
                  from = ts_border_index(x, mend->rows.nx, mend->window.border);
    double sum = 0;
    for (int64_t j = 0; from >= 0 && j < height; j++)
        sum += (double)mend->sums.rows[j][from];
    return from < 0 ? mend->window.constant * (double)height : sum;
}

/* Adds the windows of pixels [first, end) again. `columns` has the sums of their columns. */
TS_VECTORIZED static void add_windows(const struct box_mend *mend, int64_t first, int64_t end,
                                      double *columns, double *means)
{
    const int64_t half = mend->window.radius[2], nx = mend->rows.nx,
                  height = 2 * mend->window.radius[1] + 1;
    const int64_t low = first < half ? 0 : first - half, high = end + half > nx ? nx : end + half;
    double *restrict inside = columns + half - first;
    for (int64_t x = low; x < high; x++)
        inside[x] = 0;
    for (int64_t j = 0; j < height; j++) {
        const float *restrict row = mend->sums.rows[j];
        for (int64_t x = low; x < high; x++)
            inside[x] += (double)row[x];
    }
    /* A column outside may repeat one that is not among these, so it is added by itself. */
    for (int64_t x = first - half; x < low; x++)
        inside[x] = add_outside(mend, x);
    for (int64_t x = high; x < end + half; x++)
        inside[x] = add_outside(mend, x);
    for (int64_t x = first; x < end; x++) {
        double sum = 0;
        for (int64_t i = -half; i <= half; i++)
            sum += inside[x + i];
        means[x - first] = sum;
    }
}

/* Writes the sums of the windows of pixels [first, end). */
static void find_sums(const struct box_mend *mend, int64_t first, int64_t end, double *columns,
                      double *sums)
{
    const struct box_sums *from = &mend->sums;
    if (from->rows)
        add_windows(mend, first, end, columns, sums);
    else if (from->prefix)
        prefix_doubles(from->prefix, first, end - first, sums);
    else
        for (int64_t x = first; x < end; x++)
            sums[x - first] = from->type == TOTAL_I32 ? (double)((const int32_t *)from->totals)[x]
                                                      : (double)((const int64_t *)from->totals)[x];
}

/* Returns how many invalid pixels column x of a window has, which is outside of the image. */
static int32_t missing_outside(const struct box_mend *mend, const struct masked_row *row, int64_t x)
{
    const int64_t from = ts_border_index(x, mend->rows.nx, mend->window.border);
    return from < 0 ? 0 : row->missing[from];
}

/* Writes how many invalid pixels the windows of pixels [first, end) have. `line` has the numbers of
 * their columns. */
static void find_missing(const struct box_mend *mend, const struct masked_row *row, int64_t first,
                         int64_t end, int32_t *restrict line, int32_t *restrict missing)
{
    const int64_t half = mend->window.radius[2], nx = mend->rows.nx, n = end - first;
    const int64_t low = first < half ? 0 : first - half, high = end + half > nx ? nx : end + half;
    int32_t sum = 0;
    memcpy(line + low - first + half, row->missing + low, (size_t)(high - low) * sizeof *line);
    for (int64_t x = first - half; x < low; x++)
        line[x - first + half] = missing_outside(mend, row, x);
    for (int64_t x = high; x < end + half; x++)
        line[x - first + half] = missing_outside(mend, row, x);
    for (int64_t i = 0; i <= 2 * half; i++)
        sum += line[i];
    for (int64_t x = 0; x < n; x++) {
        missing[x] = sum;
        sum += x + 1 < n ? line[x + 2 * half + 1] - line[x] : 0;
    }
}

/* Divides the sums of windows that have an invalid pixel. If none of a window is valid, the pixel
 * itself is invalid. */
TS_VECTORIZED static void divide(const struct box_mend *mend, const int32_t *restrict missing,
                                 double *restrict means, int64_t n)
{
    const double depth = mend->depth, count = mend->count;
    for (int64_t x = 0; x < n; x++) {
        const double valid = count - (double)missing[x];
        means[x] = means[x] * depth / (valid > 0 ? valid : 1);
    }
}

/* Floats that are not finite stay: their window has a NaN or an infinity, which the sums may have
 * left out. */
#define STORE(suffix, type)                                                                        \
    TS_VECTORIZED static void store_##suffix(const double *restrict means,                         \
                                             const int32_t *restrict missing, type *restrict out,  \
                                             int64_t n)                                            \
    {                                                                                              \
        for (int64_t x = 0; x < n; x++)                                                            \
            out[x] = missing[x] && fabs((double)out[x]) <= FLT_MAX                                 \
                         ? (type)(TS_##suffix == TS_F32 ? means[x] : rint(means[x]))               \
                         : out[x];                                                                 \
    }
TS_IMAGE_DTYPES(STORE)
#undef STORE

static void store_means(const struct box_mend *mend, const double *means, const int32_t *missing,
                        void *out, int64_t first, int64_t n)
{
    switch (mend->rows.out->dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        store_##suffix(means, missing, (type *)out + first, n);                                    \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

static void box_pixels(const void *of, const struct masked_row *row, int64_t first, int64_t end,
                       void *own)
{
    const struct box_mend *mend = of;
    const int64_t columns = mend->rows.nx + 2 * mend->window.radius[2];
    double *means = own, *line = means + mend->rows.nx;
    int32_t *missing = (int32_t *)(line + columns);
    find_sums(mend, first, end, line, means);
    find_missing(mend, row, first, end, (int32_t *)line, missing);
    divide(mend, missing, means, end - first);
    store_means(mend, means, missing, row->out, first, end - first);
}

static void describe_mend(struct box_mend *mend, const struct stage_context *context)
{
    const struct masked_window window = ts_box_masked_window(context);
    const int64_t nx = context->in.axes[2].n;
    *mend = (struct box_mend){
        .window = window,
        .mend = {.border = window.border,
                 .pixels = box_pixels,
                 .job = mend,
                 .own_bytes = (size_t)(3 * nx + 2 * window.radius[2]) * sizeof(double),
                 .gap = GAP},
        .count = (double)((2 * window.radius[0] + 1) * (2 * window.radius[1] + 1) *
                          (2 * window.radius[2] + 1)),
        .depth = context->in.dtype == TS_F32 ? (double)(2 * window.radius[0] + 1) : 1,
    };
    memcpy(mend->mend.radius, window.radius, sizeof window.radius);
}

/* Returns the bytes of a thread's scratch. */
static size_t box_mend_bytes(const struct stage_context *context)
{
    struct box_mend mend;
    describe_mend(&mend, context);
    return ts_masked_rows_bytes(context, &mend.mend);
}

/* Begins. `in` has the halo of the stage at both ends, with its bits. */
static void box_mend_begin(struct box_mend *mend, const struct stage_context *context,
                           const struct ts_image *in, struct ts_image *out, void *scratch)
{
    describe_mend(mend, context);
    mend->rows = ts_masked_rows_begin(&mend->mend, in, out, scratch);
}

/* Mends row y of output slice z by its sums. Unless `first` is set, the call before must have been
 * for the row above. */
static void box_mend_row(struct box_mend *mend, const struct box_sums *sums, int64_t z, int64_t y,
                         bool first)
{
    mend->sums = *sums;
    ts_masked_rows_mend(&mend->rows, z, y, first);
}

/* ---- a slab -----------------------------------------------------------------------------------
 *
 * A window is separable: sums along z (only in 3D), then down the rows and along each row. A 3D box
 * first makes an image of sums (means for floats) along z in scratch, and is a 2D box of it from
 * there on. Rows are done in chunks whose bounds depend only on the image and the radius, so
 * neither threads nor slabs change the bytes. */

/* For running sums, the first window of a chunk takes extra time, which is at most half of that of
 * its rows. */
enum { DIRECT_ROWS = 64, RUNNING_ROWS = 256 };

/* The work of one call: types, sizes, and the places of its parts in the scratch. */
struct box_run {
    const struct box_params *params;
    enum ts_dtype dtype;
    int64_t nz, ny, nx, radius, window;
    int64_t n_chunks;          /* chunks of one slice */
    bool direct, volume;       /* volume: 3D */
    enum window_value value;   /* type of the image that the 2D part reads */
    enum window_total z_total; /* type of the sums along z */
    enum window_total total;   /* type of the sums down the rows and along them */
    size_t value_bytes, total_bytes;
    double count;   /* number of samples in a window */
    double highest; /* largest magnitude of the dtype, for integers */
    double outside; /* sum of a column outside the image, with border constant */
    struct window_line plan;
    /* Offsets in the scratch; those after thread_bytes count from the start of a thread's part. */
    size_t z_sums, constant_row, threads, thread_bytes, line, spare, totals, prefix, sums,
        row_pointers, held, mend, bytes;
};

/* Returns the bytes of one sum. */
static size_t window_total_bytes(enum window_total total)
{
    return total == TOTAL_I64 ? 8 : 4;
}

static void choose_types(struct box_run *run)
{
    run->value = (enum window_value)run->dtype;
    if (run->dtype == TS_F32) {
        run->z_total = run->total = TOTAL_F32;
    } else {
        const bool wide = run->dtype == TS_U32 || run->dtype == TS_I32;
        run->highest = run->dtype == TS_U8 || run->dtype == TS_I8 ? 255 : 65535;
        run->z_total = wide ? TOTAL_I64 : TOTAL_I32;
        run->total = wide || run->count * run->highest > (double)INT32_MAX ? TOTAL_I64 : TOTAL_I32;
        if (run->volume)
            run->value = wide ? WINDOW_I64 : WINDOW_I32;
    }
    run->value_bytes = run->volume ? window_total_bytes(run->z_total) : ts_dtype_bytes(run->dtype);
    run->total_bytes = window_total_bytes(run->total);
}

/* Returns the bytes of a row of the input, in whole cache lines. */
static size_t row_bytes(const struct box_run *run)
{
    return ((size_t)run->nx * ts_dtype_bytes(run->dtype) + 63) & ~(size_t)63;
}

static struct box_run box_describe(const struct stage_context *context, int64_t nz)
{
    const struct box_params *params = context->params;
    struct box_run run = {
        .params = params,
        .dtype = context->in.dtype,
        .nz = nz,
        .ny = context->in.axes[1].n,
        .nx = context->in.axes[2].n,
        .radius = params->radius,
        .window = 2 * params->radius + 1,
        .direct = (context->in.masked ? ts_box_cpu_method(context) : params->method) == BOX_DIRECT,
        .volume = params->dimensions == BOX_3D,
    };
    const double window = (double)run.window;
    run.count = run.volume ? window * window * window : window * window;
    int64_t rows = 4 * run.radius > RUNNING_ROWS ? 4 * run.radius : RUNNING_ROWS;
    if (run.direct)
        rows = DIRECT_ROWS;
    run.n_chunks = run.ny > rows ? run.ny / rows : 1;
    rows = (run.ny + run.n_chunks - 1) / run.n_chunks;
    run.outside = params->constant * (run.dtype == TS_F32 ? window : run.count / window);
    run.plan = ts_window_line_plan(run.window);
    choose_types(&run);

    const int64_t most = rows > nz ? rows : nz;
    size_t used = 0;
    run.line = ts_scratch_part(&used, run.nx + 2 * run.radius, 8);
    run.spare = ts_scratch_part(&used, run.nx + 2 * run.radius, 8);
    run.totals = ts_scratch_part(&used, run.nx, 8);
    run.prefix = ts_scratch_part(&used, 1, prefix_bytes(run.nx, run.radius));
    run.sums = ts_scratch_part(&used, 1,
                               ts_window_rows_bytes(run.window, run.nx, run.volume ? most : rows));
    run.row_pointers = ts_scratch_part(&used, most + 2 * run.radius, sizeof(void *));
    run.held =
        ts_scratch_part(&used, context->in.masked ? most + 2 * run.radius : 0, row_bytes(&run));
    run.mend = ts_scratch_part(&used, 1, context->in.masked ? box_mend_bytes(context) : 0);
    run.thread_bytes = used;
    used = 0;
    run.z_sums = ts_scratch_part(&used, run.volume ? nz * run.ny * run.nx : 0, run.value_bytes);
    run.constant_row = ts_scratch_part(&used, run.nx, 8);
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

static void set_constant(void *data, enum window_value value, double constant, int64_t n)
{
    if (value != WINDOW_I64)
        ts_constant_fill(data, (enum ts_dtype)value, constant, n);
    else
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)data)[i] = (int64_t)constant;
}

static void *thread_part(const struct box_run *run, char *scratch, size_t part)
{
    return scratch + run->threads + (size_t)omp_get_thread_num() * run->thread_bytes + part;
}

/* Returns row y of a slice. A row with invalid pixels is copied to place `place`, with 0 in place
 * of these. */
static const void *input_row(const struct box_run *run, const struct ts_image *in, int64_t slice,
                             int64_t y, int64_t place, char *scratch)
{
    if (in->valid)
        return box_valid_row(in, slice, y,
                             (char *)thread_part(run, scratch, run->held) +
                                 (size_t)place * row_bytes(run));
    return (const char *)ts_slice_data(in, slice) +
           (size_t)(y * run->nx) * ts_dtype_bytes(run->dtype);
}

/* Sums row y of all slices along z, and writes the sums to z_sums. */
static void sum_along_z(const struct box_run *run, const struct ts_image *in, int64_t z_first,
                        int64_t y, char *scratch)
{
    const void **rows = thread_part(run, scratch, run->row_pointers);
    struct window_rows sums;
    ts_window_rows_init(&sums, (enum window_value)run->dtype, run->z_total, run->direct,
                        run->window, run->nx, 1.0 / (double)run->window,
                        thread_part(run, scratch, run->sums));
    for (int64_t k = 0; k < run->nz + 2 * run->radius; k++)
        rows[k] = input_row(run, in, k, y, k, scratch);
    for (int64_t z = 0; z < run->nz; z++)
        ts_window_rows_step(&sums, rows, z_first, z, run->nz,
                            scratch + run->z_sums +
                                (size_t)((z * run->ny + y) * run->nx) * run->value_bytes);
}

static void store_row(const struct box_run *run, const void *sums, void *out)
{
    ts_integer_means(run->dtype, run->total, (int64_t)run->count, run->highest * run->count, sums,
                     out, run->nx);
}

/* The rows [y_first, y_end) of output slice z that one thread does. */
struct box_chunk {
    int64_t z, y_first, y_end;
    const void **rows; /* the rows of its windows, starting with row y_first - radius */
    char *out;         /* the output slice */
    char *scratch;
    struct box_mend *mend; /* for masked images, else NULL */
};

static void mend_row(const struct box_chunk *chunk, const struct box_sums *sums, int64_t y)
{
    if (chunk->mend)
        box_mend_row(chunk->mend, sums, chunk->z, y, y == chunk->y_first);
}

/* Does the rows by sums that never subtract: floats are right within 1e-6, and NaN only spreads to
 * its own windows. */
static void direct_chunk(const struct box_run *run, const struct box_chunk *chunk)
{
    const size_t out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    char *scratch = chunk->scratch, *line = thread_part(run, scratch, run->line),
         *spare = thread_part(run, scratch, run->spare),
         *totals = thread_part(run, scratch, run->totals);
    char *middle = line + (size_t)run->radius * run->total_bytes;
    const double window = (double)run->window;
    const double outside = run->dtype == TS_F32 ? run->outside / (window * window) : run->outside;
    const int64_t n = chunk->y_end - chunk->y_first;
    struct window_rows sums;
    ts_window_rows_init(&sums, run->value, run->total, run->direct, run->window, run->nx,
                        1.0 / (window * window), thread_part(run, scratch, run->sums));
    for (int64_t j = 0; j < n; j++) {
        char *out_row = chunk->out + (size_t)(chunk->y_first + j) * out_bytes;
        struct box_sums found = {.type = run->total, .totals = totals};
        ts_window_rows_step(&sums, chunk->rows, chunk->y_first, j, n, middle);
        ts_window_extend(run->total, middle, run->nx, run->radius,
                         (enum ts_border)run->params->border, outside);
        ts_window_line(run->total, &run->plan, line, spare, run->nx,
                       run->total == TOTAL_F32 ? out_row : totals);
        if (run->total != TOTAL_F32)
            store_row(run, totals, out_row);
        else
            found.rows = (const float *const *)(chunk->rows + j);
        if (run->direct)
            mend_row(chunk, &found, chunk->y_first + j);
    }
}

/* Copies the row with 0 in place of NaN and infinities. Returns the copy. */
TS_VECTORIZED static const float *finite_row(const float *restrict row, float *restrict finite,
                                             int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        finite[x] = fabsf(row[x]) <= FLT_MAX ? row[x] : 0;
    return finite;
}

/* Begins the sums of a chunk with the rows of its first window. */
static struct window_prefix start_sums(const struct box_run *run, const struct box_chunk *chunk,
                                       bool merge)
{
    enum { ADDED = 4 }; /* rows that are added at a time */
    float *finite = thread_part(run, chunk->scratch, run->line);
    char *scratch = thread_part(run, chunk->scratch, run->prefix);
    const struct window_prefix_kernels *kernels = prefix_kernels(run->value, run->total);
    const size_t element = kernels->sum_bytes,
                 before = ((size_t)(run->radius + 1) * element + 63) & ~(size_t)63;
    const struct window_prefix sums = {
        .kernels = kernels,
        .n = run->nx,
        .radius = run->radius,
        .border = (enum ts_border)run->params->border,
        .outside = run->outside,
        .origin = scratch + before - element,
        .differences =
            scratch + before + (((size_t)(run->nx + run->radius) * element + 63) & ~(size_t)63),
    };
    memset(sums.origin, 0, (size_t)(run->nx + 1) * element);
    const int64_t most = merge ? 1 : ADDED;
    for (int64_t k = 0, n = 1; k < run->window; k += n) {
        const void *const cleaned = merge ? finite_row(chunk->rows[k], finite, run->nx) : NULL;
        n = run->window - k < most ? run->window - k : most;
        kernels->add(prefix_first(&sums), merge ? &cleaned : chunk->rows + k, n, run->nx);
    }
    kernels->start(prefix_first(&sums), run->nx);
    kernels->extend(&sums);
    return sums;
}

/* Does the rows by running sums. With `merge`, NaN and infinities count as 0, and it writes only
 * pixels whose output is finite. Returns true if all samples were finite. */
static bool running_chunk(const struct box_run *run, const struct box_chunk *chunk, bool merge)
{
    const size_t out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    const double scale = 1.0 / (double)(run->window * run->window);
    char *totals = thread_part(run, chunk->scratch, run->totals);
    float *finite = thread_part(run, chunk->scratch, run->line),
          *more = thread_part(run, chunk->scratch, run->spare);
    struct window_prefix sums = start_sums(run, chunk, merge);
    struct box_sums found = {.type = run->total};
    for (int64_t y = chunk->y_first; y < chunk->y_end; y++) {
        char *out_row = chunk->out + (size_t)y * out_bytes;
        if (y > chunk->y_first) {
            const void *leaving = chunk->rows[y - chunk->y_first - 1],
                       *entering = chunk->rows[y - chunk->y_first - 1 + run->window];
            prefix_slide(&sums, merge ? finite_row(entering, finite, run->nx) : entering,
                         merge ? finite_row(leaving, more, run->nx) : leaving);
        }
        if (run->total == TOTAL_F32) {
            prefix_means(&sums, scale, merge, (float *)out_row);
            found.prefix = &sums;
        } else {
            prefix_sums(&sums, totals);
            store_row(run, totals, out_row);
            found.totals = totals;
        }
        mend_row(chunk, &found, y);
    }
    return run->total != TOTAL_F32 || isfinite(((const double *)sums.origin)[run->nx]);
}

/* Does chunk number `item` of a slab. */
static void do_chunk(const struct stage_context *context, const struct box_run *run,
                     const struct ts_image *in, struct ts_image *out, int64_t item, char *scratch)
{
    const int64_t z = item / run->n_chunks, number = item % run->n_chunks;
    struct box_mend mend;
    struct box_chunk chunk = {.z = z,
                              .y_first = run->ny * number / run->n_chunks,
                              .y_end = run->ny * (number + 1) / run->n_chunks,
                              .rows = thread_part(run, scratch, run->row_pointers),
                              .out = ts_slice_data(out, z),
                              .scratch = scratch};
    const char *z_sums = scratch + run->z_sums + (size_t)(z * run->ny * run->nx) * run->value_bytes;
    for (int64_t k = 0; k < chunk.y_end - chunk.y_first + 2 * run->radius; k++) {
        const int64_t y = ts_border_index(chunk.y_first - run->radius + k, run->ny,
                                          (enum ts_border)run->params->border);
        chunk.rows[k] = y < 0         ? scratch + run->constant_row
                        : run->volume ? z_sums + (size_t)(y * run->nx) * run->value_bytes
                                      : input_row(run, in, z, y, k, scratch);
    }
    if (context->in.masked) {
        box_mend_begin(&mend, context, in, out, thread_part(run, scratch, run->mend));
        chunk.mend = &mend;
    }
    if (!run->direct && running_chunk(run, &chunk, false))
        return;
    direct_chunk(run, &chunk);
    /* A finite value must be the same whether or not there is a NaN elsewhere. */
    if (!run->direct)
        running_chunk(run, &chunk, true);
}

size_t ts_box_sums_bytes(const struct stage_context *context, int64_t n)
{
    return box_describe(context, n).bytes;
}

void ts_box_sums_map(const struct stage_context *context, const struct ts_image *in,
                     struct ts_image *out, void *scratch)
{
    const struct box_run run = box_describe(context, out->axes[0].n);
    set_constant((char *)scratch + run.constant_row, run.value,
                 run.params->constant *
                     (run.volume && run.dtype != TS_F32 ? (double)run.window : 1.0),
                 run.nx);
    if (run.volume) {
#pragma omp parallel for num_threads(context->threads)
        for (int64_t y = 0; y < run.ny; y++)
            sum_along_z(&run, in, out->z_first, y, scratch);
    }
#pragma omp parallel for num_threads(context->threads)
    for (int64_t item = 0; item < run.nz * run.n_chunks; item++)
        do_chunk(context, &run, in, out, item, scratch);
}
