/* SPDX-License-Identifier: Apache-2.0
 *
 * Three passes over a group of pairs: rows to frequencies, to points of the polar grid; strips of the grid, filled and
 * transformed across while they are in the cache, of which the slice's columns are kept; columns transformed down.
 */
#include "stages/common/polar_slices.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    ALIGNMENT = 64,
    STRIP = 16,  /* rows of the grid that one thread fills at once */
    COLUMNS = 8, /* columns transformed side by side */
    BLOCK = 32   /* frequencies whose phases are turned from one another */
};

enum { ROWS_FFT, ACROSS_FFT, DOWN_FFT, N_FFT };

/* A complex number. */
typedef float complex_pair __attribute__((vector_size(8), aligned(8), may_alias));

struct work {
    const struct stage_context *context;
    const struct polar_scan *scan;
    const struct ts_image *in;
    int pairs;              /* side by side */
    int active;             /* of them hold slices */
    complex_pair *spectrum; /* [view][padded + 1][pairs], k = -padded / 2 first */
    complex_pair *places;   /* [COLUMNS of the slice][pairs][row of the grid][column of these] */
    unsigned char *rooms;
    size_t line_bytes, room; /* of one thread: its lines or strip, and all of it */
    int64_t slices[2 * POLAR_PAIRS];
    float *out[2 * POLAR_PAIRS]; /* NULL: nowhere */
    float scale[2 * POLAR_PAIRS];
    bool finite[2 * POLAR_PAIRS];
};

/* ---- memory ------------------------------------------------------------------------------------ */

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int ts_polar_slices_transforms(const struct polar_grid *grid, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const int64_t n[N_FFT] = {grid->padded, grid->grid_columns, grid->grid_rows};
    for (int i = 0; i < N_FFT; i++)
        shapes[i] = (struct fft_shape){.rank = 1, .n = {n[i]}, .batch = 1};
    return N_FFT;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t lay_out(const struct stage_context *context, const struct polar_grid *grid, unsigned char *room,
                      struct work *work)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    size_t fft_work = 0;
    for (int i = 0; i < ts_polar_slices_transforms(grid, shapes); i++)
        fft_work = largest(fft_work, ts_fft_work_bytes(&shapes[i]));
    work->pairs = context->in.axes[0].n > 2 ? POLAR_PAIRS : 1;
    const size_t pairs = (size_t)work->pairs, padded = (size_t)grid->padded, across = (size_t)grid->grid_columns,
                 down = (size_t)grid->grid_rows;
    /* Rows of a view and the phases of its frequencies; a strip and a line of it; columns. */
    const size_t lines = (pairs + 1) * padded + BLOCK, strip = (STRIP + 1) * pairs * (across + ALIGNMENT),
                 columns = COLUMNS * (down + ALIGNMENT);
    work->line_bytes = rounded(largest(largest(lines, strip), columns) * sizeof(complex_pair));
    work->room = work->line_bytes + rounded(fft_work);
    const size_t spectrum = rounded((size_t)grid->n_views * (padded + 1) * pairs * sizeof(complex_pair)),
                 places = rounded(down * ((size_t)grid->n_columns + COLUMNS) * pairs * sizeof(complex_pair));
    work->spectrum = (complex_pair *)room;
    work->places = (complex_pair *)(room + spectrum);
    work->rooms = room + spectrum + places;
    return spectrum + places + (size_t)context->threads * work->room;
}

size_t ts_polar_slices_room(const struct stage_context *context, const struct polar_grid *grid)
{
    struct work work;
    return lay_out(context, grid, NULL, &work);
}

/* ---- rows to points of the polar grid ---------------------------------------------------------- */

/* The largest magnitude of a slice decides its scale; *finite: it holds no NaN and no infinity. */
static void look_at(const struct ts_image *in, int64_t slice, float *scale, bool *finite)
{
    const size_t n = ts_slice_count(in), bytes = ts_dtype_bytes(in->dtype);
    const char *from = (const char *)in->data + (size_t)slice * n * bytes;
    float most = 0, values[256];
    *finite = true;
    for (size_t i = 0; i < n; i += 256) {
        const size_t some = n - i < 256 ? n - i : 256;
        ts_load_f32(values, from + i * bytes, in->dtype, some);
        for (size_t k = 0; k < some; k++) {
            *finite &= fabsf(values[k]) <= 3.402823466e38f;
            most = fabsf(values[k]) > most ? fabsf(values[k]) : most;
        }
    }
    int exponent = 0;
    if (*finite && most > 0)
        frexpf(most, &exponent);
    /* What is that small stays small: the scale must be a float, and its inverse too. */
    exponent = exponent < -124 ? -124 : exponent > 124 ? 124 : exponent;
    *scale = ldexpf(1, -exponent);
}

static void load_row(const struct work *work, int pair, int64_t view, float *line)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t n = grid->n_detectors;
    const size_t bytes = ts_dtype_bytes(work->in->dtype);
    float values[256];
    memset(line, 0, (size_t)grid->padded * sizeof(complex_pair));
    for (int part = 0; part < 2; part++) {
        const int slice = 2 * pair + part;
        const char *row =
            (const char *)work->in->data + (size_t)((work->slices[slice] * grid->n_views + view) * n) * bytes;
        for (int64_t i = 0; work->finite[slice] && i < n; i += 256) {
            const int64_t some = n - i < 256 ? n - i : 256;
            ts_load_f32(values, row + (size_t)i * bytes, work->in->dtype, (size_t)some);
            for (int64_t k = 0; k < some; k++)
                line[2 * (i + k) + part] = values[k] * work->scale[slice];
        }
    }
}

/* What the spectrum of a view is multiplied with, k = 0 .. padded / 2: response, weight and phase. The phase of a
 * block's first frequency is worked out, and turned to those behind it. */
TS_VECTORIZED static void make_factors(const struct polar_scan *scan, int64_t view, complex_pair *factors)
{
    const int64_t half = scan->grid.padded / 2;
    const struct polar_view *at = &scan->views[view];
    double c[BLOCK], s[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        const double turns = i * at->shift, angle = 2 * M_PI * (turns - floor(turns));
        c[i] = cos(angle), s[i] = sin(angle);
    }
    for (int64_t first = 0; first <= half; first += BLOCK) {
        const double turns = (double)first * at->shift, angle = 2 * M_PI * (turns - floor(turns)),
                     re = cos(angle) * at->weight, im = sin(angle) * at->weight;
        for (int64_t i = 0; i < BLOCK && first + i <= half; i++) {
            const double response = scan->response[first + i];
            factors[first + i] = (complex_pair){(float)(response * (re * c[i] - im * s[i])),
                                                (float)(response * (re * s[i] + im * c[i]))};
        }
    }
}

/* C[view][k]: the spectra of a view's rows times its factors. Pairs that hold no slices become 0. */
static void make_points(const struct work *work, int64_t view, const complex_pair *lines, const complex_pair *factors)
{
    const int64_t padded = work->scan->grid.padded, half = padded / 2;
    complex_pair *points = work->spectrum + (view * (padded + 1) + half) * work->pairs;
    for (int pair = 0; pair < work->pairs; pair++) {
        const complex_pair *line = lines + pair * padded;
        const bool active = pair < work->active;
        for (int64_t k = 0; k <= half; k++) {
            const complex_pair zero = {0, 0}, turn = active ? factors[k] : zero, up = active ? line[k] : zero,
                               down = active ? line[k ? padded - k : 0] : zero;
            points[k * work->pairs + pair] =
                (complex_pair){up[0] * turn[0] - up[1] * turn[1], up[1] * turn[0] + up[0] * turn[1]};
            points[-k * work->pairs + pair] =
                (complex_pair){down[0] * turn[0] + down[1] * turn[1], down[1] * turn[0] - down[0] * turn[1]};
        }
    }
}

static void rows_to_points(const struct work *work, int64_t view, unsigned char *room)
{
    const int64_t padded = work->scan->grid.padded;
    complex_pair *lines = (complex_pair *)room, *factors = lines + work->pairs * padded;
    for (int pair = 0; pair < work->active; pair++) {
        float *line = (float *)(lines + pair * padded);
        load_row(work, pair, view, line);
        ts_fft_forward(work->context->transforms[ROWS_FFT], line, line, room + work->line_bytes);
    }
    make_factors(work->scan, view, factors);
    make_points(work, view, lines, factors);
}

/* ---- points to places, and across -------------------------------------------------------------- */

/* to[j][i] = from[i][j], i < n, j < 4. */
static inline __attribute__((always_inline)) void turn(const complex_pair *from, int64_t from_step, int64_t n,
                                                       complex_pair *to, int64_t to_step)
{
    typedef int64_t quad __attribute__((vector_size(32), aligned(8), may_alias));
    const int64_t fours = n / 4 * 4;
    for (int64_t i = 0; i < fours; i += 4) {
        const quad a = *(const quad *)(from + i * from_step), b = *(const quad *)(from + (i + 1) * from_step),
                   c = *(const quad *)(from + (i + 2) * from_step), d = *(const quad *)(from + (i + 3) * from_step);
        const quad ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6),
                   ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7),
                   cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6),
                   cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
        *(quad *)(to + i) = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
        *(quad *)(to + to_step + i) = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
        *(quad *)(to + 2 * to_step + i) = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
        *(quad *)(to + 3 * to_step + i) = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
    }
    for (int64_t i = fours; i < n; i++)
        for (int64_t j = 0; j < 4; j++)
            to[j * to_step + i] = from[i * from_step + j];
}

/* Pairs that lie side by side to a line each; and COLUMNS columns of n rows likewise. */
TS_VECTORIZED static void pairs_to_lines(const complex_pair *from, int64_t n, complex_pair *lines, int64_t step)
{
    turn(from, POLAR_PAIRS, n, lines, step);
}

TS_VECTORIZED static void columns_to_lines(const complex_pair *from, int64_t n, complex_pair *lines, int64_t step)
{
    for (int64_t column = 0; column < COLUMNS; column += 4)
        turn(from + column, COLUMNS, n, lines + column * step, step);
}

/* Lines begin on 64-byte boundaries. */
static int64_t line_step(int64_t n)
{
    return (n + 7) / 8 * 8;
}

static complex_pair *column_places(const struct work *work, int64_t block, int64_t pair, int64_t row)
{
    return work->places + ((block * work->pairs + pair) * work->scan->grid.grid_rows + row) * COLUMNS;
}

/* A row of the grid that is transformed. Column c of the slice is sample c - n_columns / 2 of it, as it repeats itself.
 */
static void keep_columns(const struct work *work, int64_t pair, int64_t row, const complex_pair *line)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t left = grid->n_columns / 2, across = grid->grid_columns;
    for (int64_t first = 0; first < grid->n_columns; first += COLUMNS) {
        complex_pair *to = column_places(work, first / COLUMNS, pair, row);
        for (int64_t i = 0; i < COLUMNS; i++) /* past the slice what is there */
            to[i] = line[first + i < left ? across - left + first + i : first + i - left];
    }
}

static void strip_across(const struct work *work, int64_t first, int64_t end, unsigned char *room)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t pairs = work->pairs, across = grid->grid_columns, step = line_step(across);
    complex_pair *strip = (complex_pair *)room, *lines = strip + line_step(STRIP * pairs * across);
    struct polar_points points = {
        .grid = *grid, .views = work->scan->views, .pairs = work->pairs, .points = (const float *)work->spectrum};
    memcpy(points.kernel, work->scan->kernel, sizeof points.kernel);
    ts_polar_fill(&points, first, end, (float *)strip);
    for (int64_t row = first; row < end; row++) {
        const complex_pair *from = strip + (row - first) * across * pairs;
        if (pairs == POLAR_PAIRS)
            pairs_to_lines(from, across, lines, step);
        else
            memcpy(lines, from, (size_t)across * sizeof *lines);
        for (int64_t pair = 0; pair < work->active; pair++) {
            float *line = (float *)(lines + pair * step);
            ts_fft_inverse(work->context->transforms[ACROSS_FFT], line, line, room + work->line_bytes);
            keep_columns(work, pair, row, lines + pair * step);
        }
    }
}

/* ---- down ---------------------------------------------------------------------------------------- */

static void write_columns(const struct work *work, int slice, int64_t first, int64_t n, const complex_pair *lines)
{
    const struct polar_scan *scan = work->scan;
    const struct polar_grid *grid = &scan->grid;
    const int64_t step = line_step(grid->grid_rows);
    const float back = 1 / work->scale[slice];
    for (int64_t row = 0; work->out[slice] && row < grid->n_rows; row++) {
        const int64_t at = row - grid->n_rows / 2;
        float *to = work->out[slice] + row * grid->n_columns + first;
        for (int64_t i = 0; i < n; i++) {
            const complex_pair value = lines[i * step + (at < 0 ? at + grid->grid_rows : at)];
            const float factor = scan->row_factors[row] * scan->column_factors[first + i];
            to[i] = work->finite[slice] ? value[slice % 2] * factor * back : NAN;
        }
    }
}

/* Columns [first, first + n) of the slices; row r of a slice is sample r - n_rows / 2 of the grid. */
static void columns_down(const struct work *work, int64_t first, int64_t n, unsigned char *room)
{
    const int64_t down = work->scan->grid.grid_rows, step = line_step(down);
    complex_pair *lines = (complex_pair *)room;
    for (int pair = 0; pair < work->active; pair++) {
        columns_to_lines(column_places(work, first / COLUMNS, pair, 0), down, lines, step);
        for (int64_t i = 0; i < n; i++) {
            float *line = (float *)(lines + i * step);
            ts_fft_inverse(work->context->transforms[DOWN_FFT], line, line, room + work->line_bytes);
        }
        for (int part = 0; part < 2; part++)
            write_columns(work, 2 * pair + part, first, n, lines);
    }
}

/* ---- groups -------------------------------------------------------------------------------------- */

static void reconstruct(struct work *work)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int threads = work->context->threads;
#pragma omp parallel num_threads(threads)
    {
        unsigned char *room = work->rooms + (size_t)omp_get_thread_num() * work->room;
#pragma omp for schedule(dynamic)
        for (int slice = 0; slice < 2 * work->active; slice++)
            look_at(work->in, work->slices[slice], &work->scale[slice], &work->finite[slice]);
#pragma omp for schedule(dynamic)
        for (int64_t view = 0; view < grid->n_views; view++)
            rows_to_points(work, view, room);
#pragma omp for schedule(dynamic)
        for (int64_t row = 0; row < grid->grid_rows; row += STRIP)
            strip_across(work, row, row + STRIP < grid->grid_rows ? row + STRIP : grid->grid_rows, room);
#pragma omp for schedule(dynamic)
        for (int64_t column = 0; column < grid->n_columns; column += COLUMNS)
            columns_down(work, column, column + COLUMNS < grid->n_columns ? COLUMNS : grid->n_columns - column, room);
    }
}

void ts_polar_slices(const struct stage_context *context, const struct polar_scan *scan, const struct ts_image *in,
                     struct ts_image *out, void *room)
{
    struct work work = {.context = context, .scan = scan, .in = in};
    const int64_t z_first = out->z_first, z_end = z_first + out->axes[0].n;
    const size_t slice = (size_t)(out->axes[1].n * out->axes[2].n);
    lay_out(context, &scan->grid, room, &work);
    for (int64_t first = z_first / 2 * 2; first < z_end; first += 2 * work.pairs) {
        work.active = 0;
        for (int i = 0; i < 2 * work.pairs && first + i / 2 * 2 < z_end; i++) {
            const int64_t z = first + i;
            work.slices[i] = z - z_first + 1; /* 1: the slice before */
            work.out[i] = z >= z_first && z < z_end ? (float *)out->data + (size_t)(z - z_first) * slice : NULL;
            work.active = i / 2 + 1;
        }
        reconstruct(&work);
    }
}
