/* SPDX-License-Identifier: Apache-2.0
 *
 * A window is separable: sums along z (3D alone), then down the rows and along each row. A 3D box first makes an
 * image of sums (means for floats) along z in scratch, and is a 2D box of it from there on. Rows are done in chunks
 * whose bounds follow from image and radius alone, so that neither threads nor slabs show in the bytes.
 */
#include "stages/filters/box.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/filters/box_loops.h"
#include "stages/filters/box_masked.h"
#include "stages/filters/integer_means.h"
#include "stages/filters/window_prefix.h"
#include "stages/filters/window_sum.h"

enum { DIRECT_RADIUS = (WINDOW_DIRECT_MAX - 1) / 2 };
/* Running sums: the rows of a chunk pay for its first window, which is at most half of them. */
enum { DIRECT_ROWS = 64, RUNNING_ROWS = 256 };

/* This describes the work of one call: types, sizes, and where its parts of the scratch stand. */
struct box_run {
    const struct box_params *params;
    enum ts_dtype dtype;
    int64_t nz, ny, nx, radius, window;
    int64_t n_chunks;          /* of one slice */
    bool direct, volume;       /* volume: 3D */
    enum window_value value;   /* of the image that the 2D part reads */
    enum window_total z_total; /* of the sums along z */
    enum window_total total;   /* of the sums down the rows and along them */
    size_t value_bytes, total_bytes;
    double count;   /* samples of a window */
    double highest; /* magnitude of the dtype, integers only */
    double outside; /* total of a column outside the image, with border: constant */
    struct window_line plan;
    /* Offsets in the scratch; those after thread_bytes count from the start of a thread's part. */
    size_t z_sums, constant_row, threads, thread_bytes, line, spare, totals, prefix, sums, row_pointers, held, mend,
        bytes;
};

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
    run->value_bytes = run->volume ? ts_window_total_bytes(run->z_total) : ts_dtype_bytes(run->dtype);
    run->total_bytes = ts_window_total_bytes(run->total);
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
    int64_t rows = run.direct ? DIRECT_ROWS : 4 * run.radius > RUNNING_ROWS ? 4 * run.radius : RUNNING_ROWS;
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
    run.prefix = ts_scratch_part(&used, 1, ts_window_prefix_bytes(run.nx, run.radius));
    run.sums = ts_scratch_part(&used, 1, ts_window_rows_bytes(run.window, run.nx, run.volume ? most : rows));
    run.row_pointers = ts_scratch_part(&used, most + 2 * run.radius, sizeof(void *));
    run.held = ts_scratch_part(&used, context->in.masked ? most + 2 * run.radius : 0, row_bytes(&run));
    run.mend = ts_scratch_part(&used, 1, context->in.masked ? ts_box_mend_bytes(context) : 0);
    run.thread_bytes = used;
    used = 0;
    run.z_sums = ts_scratch_part(&used, run.volume ? nz * run.ny * run.nx : 0, run.value_bytes);
    run.constant_row = ts_scratch_part(&used, run.nx, 8);
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

/* Returns true where box_loops.c does the work. Masked images have a method of their own. */
static bool takes_loops(const struct stage_context *context)
{
    const struct box_params *params = context->params;
    return !context->in.masked &&
           (params->method == BOX_UNROLLED || params->method == BOX_SEPARABLE || params->method == BOX_TILE ||
            (params->method == BOX_DIRECT && params->radius > DIRECT_RADIUS));
}

size_t ts_box_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return takes_loops(context) ? ts_box_loops_scratch_bytes(context, n) : box_describe(context, n).bytes;
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

/* Returns row y of a slice; one with invalid pixels as a copy, number `place`, in which they are 0. */
static const void *input_row(const struct box_run *run, const struct ts_image *in, int64_t slice, int64_t y,
                             int64_t place, char *scratch)
{
    if (in->valid)
        return ts_box_valid_row(in, slice, y,
                                (char *)thread_part(run, scratch, run->held) + (size_t)place * row_bytes(run));
    return (const char *)ts_slice_data(in, slice) + (size_t)(y * run->nx) * ts_dtype_bytes(run->dtype);
}

/* Sums row y of all slices along z, to z_sums. */
static void sum_along_z(const struct box_run *run, const struct ts_image *in, int64_t z_first, int64_t y, char *scratch)
{
    const void **rows = thread_part(run, scratch, run->row_pointers);
    struct window_rows sums;
    ts_window_rows_init(&sums, (enum window_value)run->dtype, run->z_total, run->direct, run->window, run->nx,
                        1.0 / (double)run->window, thread_part(run, scratch, run->sums));
    for (int64_t k = 0; k < run->nz + 2 * run->radius; k++)
        rows[k] = input_row(run, in, k, y, k, scratch);
    for (int64_t z = 0; z < run->nz; z++)
        ts_window_rows_step(&sums, rows, z_first, z, run->nz,
                            scratch + run->z_sums + (size_t)((z * run->ny + y) * run->nx) * run->value_bytes);
}

static void store_row(const struct box_run *run, const void *sums, void *out)
{
    ts_integer_means(run->dtype, run->total, (int64_t)run->count, run->highest * run->count, sums, out, run->nx);
}

/* One thread does these rows [y_first, y_end) of output slice z. */
struct box_chunk {
    int64_t z, y_first, y_end;
    const void **rows; /* of its windows: those from y_first - radius on */
    char *out;         /* the slice */
    char *scratch;
    struct box_mend *mend; /* of masked images, else NULL */
};

static void mend_row(const struct box_chunk *chunk, const struct box_sums *sums, int64_t y)
{
    if (chunk->mend)
        ts_box_mend_row(chunk->mend, sums, chunk->z, y, y == chunk->y_first);
}

/* Does the rows by sums that never subtract: floats within 1e-6, NaN where it belongs. */
static void direct_chunk(const struct box_run *run, const struct box_chunk *chunk)
{
    const size_t out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    char *scratch = chunk->scratch, *line = thread_part(run, scratch, run->line),
         *spare = thread_part(run, scratch, run->spare), *totals = thread_part(run, scratch, run->totals);
    char *middle = line + (size_t)run->radius * run->total_bytes;
    const double window = (double)run->window;
    const double outside = run->dtype == TS_F32 ? run->outside / (window * window) : run->outside;
    const int64_t n = chunk->y_end - chunk->y_first;
    struct window_rows sums;
    ts_window_rows_init(&sums, run->value, run->total, run->direct, run->window, run->nx, 1.0 / (window * window),
                        thread_part(run, scratch, run->sums));
    for (int64_t j = 0; j < n; j++) {
        char *out_row = chunk->out + (size_t)(chunk->y_first + j) * out_bytes;
        struct box_sums found = {.type = run->total, .totals = totals};
        ts_window_rows_step(&sums, chunk->rows, chunk->y_first, j, n, middle);
        ts_window_extend(run->total, middle, run->nx, run->radius, (enum ts_border)run->params->border, outside);
        ts_window_line(run->total, &run->plan, line, spare, run->nx, run->total == TOTAL_F32 ? out_row : totals);
        if (run->total != TOTAL_F32)
            store_row(run, totals, out_row);
        else
            found.rows = (const float *const *)(chunk->rows + j);
        if (run->direct)
            mend_row(chunk, &found, chunk->y_first + j);
    }
}

/* Copies the row without its NaN and infinities. */
TS_VECTORIZED static const float *finite_row(const float *restrict row, float *restrict finite, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        finite[x] = fabsf(row[x]) <= FLT_MAX ? row[x] : 0;
    return finite;
}

/* Begins the sums of a chunk with the rows of its first window. */
static struct window_prefix start_sums(const struct box_run *run, const struct box_chunk *chunk, bool merge)
{
    enum { ADDED = 4 }; /* rows at a time */
    float *finite = thread_part(run, chunk->scratch, run->line);
    struct window_prefix sums;
    ts_window_prefix_init(&sums, run->value, run->total, run->nx, run->radius, (enum ts_border)run->params->border,
                          run->outside, thread_part(run, chunk->scratch, run->prefix));
    ts_window_prefix_clear(&sums);
    for (int64_t k = 0, n = 1; k < run->window; k += n) {
        const void *const cleaned = merge ? finite_row(chunk->rows[k], finite, run->nx) : NULL;
        n = merge ? 1 : run->window - k < ADDED ? run->window - k : ADDED;
        ts_window_prefix_add(&sums, merge ? &cleaned : chunk->rows + k, n);
    }
    ts_window_prefix_start(&sums);
    return sums;
}

/* Does the rows by running sums. With `merge` NaN and infinities count as 0, and it writes only where out is finite.
 * Returns whether all samples were finite. */
static bool running_chunk(const struct box_run *run, const struct box_chunk *chunk, bool merge)
{
    const size_t out_bytes = (size_t)run->nx * ts_dtype_bytes(run->dtype);
    const double scale = 1.0 / (double)(run->window * run->window);
    char *totals = thread_part(run, chunk->scratch, run->totals);
    float *finite = thread_part(run, chunk->scratch, run->line), *more = thread_part(run, chunk->scratch, run->spare);
    struct window_prefix sums = start_sums(run, chunk, merge);
    struct box_sums found = {.type = run->total};
    for (int64_t y = chunk->y_first; y < chunk->y_end; y++) {
        char *out_row = chunk->out + (size_t)y * out_bytes;
        if (y > chunk->y_first) {
            const void *leaving = chunk->rows[y - chunk->y_first - 1],
                       *entering = chunk->rows[y - chunk->y_first - 1 + run->window];
            ts_window_prefix_slide(&sums, merge ? finite_row(entering, finite, run->nx) : entering,
                                   merge ? finite_row(leaving, more, run->nx) : leaving);
        }
        if (run->total == TOTAL_F32) {
            ts_window_prefix_means(&sums, scale, merge, (float *)out_row);
            found.prefix = &sums;
        } else {
            ts_window_prefix_sums(&sums, totals);
            store_row(run, totals, out_row);
            found.totals = totals;
        }
        mend_row(chunk, &found, y);
    }
    return run->total != TOTAL_F32 || ts_window_prefix_finite(&sums);
}

/* Does chunk number `item` of a slab. */
static void do_chunk(const struct stage_context *context, const struct box_run *run, const struct ts_image *in,
                     struct ts_image *out, int64_t item, char *scratch)
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
        const int64_t y =
            ts_border_index(chunk.y_first - run->radius + k, run->ny, (enum ts_border)run->params->border);
        chunk.rows[k] = y < 0         ? scratch + run->constant_row
                        : run->volume ? z_sums + (size_t)(y * run->nx) * run->value_bytes
                                      : input_row(run, in, z, y, k, scratch);
    }
    if (context->in.masked) {
        ts_box_mend_begin(&mend, context, in, out, thread_part(run, scratch, run->mend));
        chunk.mend = &mend;
    }
    if (!run->direct && running_chunk(run, &chunk, false))
        return;
    direct_chunk(run, &chunk);
    /* A finite value must be the same whether or not there is a NaN elsewhere. */
    if (!run->direct)
        running_chunk(run, &chunk, true);
}

enum ts_status ts_box_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          void *scratch)
{
    if (takes_loops(context)) {
        ts_box_loops_map(context, in, out, scratch);
        return TS_OK;
    }
    const struct box_run run = box_describe(context, out->axes[0].n);
    set_constant((char *)scratch + run.constant_row, run.value,
                 run.params->constant * (run.volume && run.dtype != TS_F32 ? (double)run.window : 1.0), run.nx);
    if (run.volume) {
#pragma omp parallel for num_threads(context->threads)
        for (int64_t y = 0; y < run.ny; y++)
            sum_along_z(&run, in, out->z_first, y, scratch);
    }
#pragma omp parallel for num_threads(context->threads)
    for (int64_t item = 0; item < run.nz * run.n_chunks; item++)
        do_chunk(context, &run, in, out, item, scratch);
    return TS_OK;
}
