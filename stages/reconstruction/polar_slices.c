/* SPDX-License-Identifier: Apache-2.0
 *
 * A group of pairs is reconstructed in three passes. The first transforms rows to frequencies. The second fills strips
 * of the grid and transforms them across while they are in the cache; of the result the slice's columns are kept. The
 * third transforms columns down, undoes the kernel and writes the rows of the slice that remain.
 */
#include "stages/reconstruction/polar_slices.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/reconstruction/polar_transpose.h"

enum {
    LINE = 8,            /* numbers of a cache line */
    STRIP = 16,          /* rows of the grid that one thread fills at once */
    COLUMNS = 8,         /* columns transformed side by side */
    BLOCK = 32,          /* frequencies whose phases are worked out from that of the first */
    MOST_BYTES = 1 << 30 /* of the places of POLAR_PAIRS pairs */
};

enum { ROWS_FFT, ACROSS_FFT, DOWN_FFT, N_FFT };

struct work {
    const struct stage_context *context;
    const struct polar_scan *scan;
    const struct ts_image *in;
    int pairs;             /* side by side */
    int active;            /* of them hold slices */
    complex_pair *spectra; /* as of struct polar_points */
    complex_pair *factors;
    complex_pair *places;         /* [COLUMNS of the slice][pairs][row of the grid][column of these] */
    unsigned char *threads;       /* the lines or strips of all threads, and the work areas of their transforms: */
    size_t line_bytes, own_bytes; /* of one thread its lines or strip, and all of it */
    int64_t slices[2 * POLAR_PAIRS];
    float *out[2 * POLAR_PAIRS]; /* NULL: nowhere */
    float scale[2 * POLAR_PAIRS];
    bool finite[2 * POLAR_PAIRS];
};

/* ---- memory ------------------------------------------------------------------------------------ */

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

/* Returns the pairs side by side. The whole volume decides, so that the number does not depend on the slabs. */
static int pairs_of(const struct stage_context *context, const struct polar_grid *grid)
{
    const int64_t n = context->in.axes[0].n,
                  bytes = grid->grid_rows * grid->n_columns * POLAR_PAIRS * (int64_t)sizeof(complex_pair);
    return n > POLAR_PAIRS && bytes <= MOST_BYTES ? POLAR_PAIRS : n > 2 ? POLAR_TILE : 1;
}

static void lay_out(const struct stage_context *context, const struct polar_grid *grid, struct memory_layout *layout,
                    struct work *work)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    struct memory_layout own = {0};
    size_t fft_work = 0;
    for (int i = 0; i < ts_polar_slices_transforms(grid, shapes); i++)
        fft_work = largest(fft_work, ts_fft_work_bytes(&shapes[i]));
    work->pairs = pairs_of(context, grid);
    const size_t pairs = (size_t)work->pairs, padded = (size_t)grid->padded, across = (size_t)grid->grid_columns,
                 down = (size_t)grid->grid_rows, runs = (padded + POLAR_RUN - 1) / POLAR_RUN;
    /* A thread holds the rows of a view, or a strip and a line of it, or columns; each line may be one LINE longer. */
    const size_t lines = pairs * (padded + MEMORY_ALIGNMENT), strip = (STRIP + 1) * pairs * (across + MEMORY_ALIGNMENT),
                 columns = COLUMNS * (down + MEMORY_ALIGNMENT);
    ts_layout_add(&own, largest(largest(lines, strip), columns) * sizeof(complex_pair));
    work->line_bytes = own.bytes;
    ts_layout_add(&own, fft_work);
    work->own_bytes = own.bytes;
    const size_t points = (size_t)grid->n_views * runs * POLAR_RUN * sizeof(complex_pair);
    work->spectra = ts_layout_add(layout, points * pairs);
    work->factors = ts_layout_add(layout, points);
    work->places = ts_layout_add(layout, down * ((size_t)grid->n_columns + COLUMNS) * pairs * sizeof(complex_pair));
    work->threads = ts_layout_add(layout, (size_t)context->threads * work->own_bytes);
}

size_t ts_polar_slices_scratch(const struct stage_context *context, const struct polar_grid *grid)
{
    struct memory_layout layout = {0};
    struct work work;
    lay_out(context, grid, &layout, &work);
    return layout.bytes;
}

/* ---- lines and pairs side by side ---------------------------------------------------------------- */

/* Move pairs that lie side by side to a line each, and COLUMNS columns of n rows likewise. */
TS_VECTORIZED static void pairs_to_lines(const complex_pair *from, int64_t pairs, int64_t n, complex_pair *lines,
                                         int64_t step)
{
    for (int64_t pair = 0; pair < pairs; pair += POLAR_TILE)
        ts_polar_transpose(from + pair, pairs, n, lines + pair * step, step);
}

TS_VECTORIZED static void columns_to_lines(const complex_pair *from, int64_t n, complex_pair *lines, int64_t step)
{
    for (int64_t column = 0; column < COLUMNS; column += POLAR_TILE)
        ts_polar_transpose(from + column, COLUMNS, n, lines + column * step, step);
}

/* Returns the distance of lines of n numbers, which begin on cache lines. */
static int64_t line_step(int64_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

/* Moves lines to the numbers of a view, whose pairs lie side by side. */
TS_VECTORIZED static void lines_to_pairs(const struct polar_grid *grid, int64_t view, const complex_pair *lines,
                                         int64_t pairs, complex_pair *spectra)
{
    const int64_t n = grid->padded, step = line_step(n), fours = pairs < POLAR_TILE ? 0 : n / POLAR_TILE * POLAR_TILE;
    for (int64_t k = 0; k < fours; k += POLAR_TILE)
        for (int64_t pair = 0; pair < pairs; pair += POLAR_TILE)
            ts_polar_transpose(lines + pair * step + k, step, POLAR_TILE,
                               spectra + ts_polar_place(grid->n_views, view, k) * pairs + pair, pairs);
    for (int64_t k = fours; k < n; k++)
        for (int64_t pair = 0; pair < pairs; pair++)
            spectra[ts_polar_place(grid->n_views, view, k) * pairs + pair] = lines[pair * step + k];
}

/* ---- rows to frequencies ------------------------------------------------------------------------- */

/* Finds the scale of a slice from its largest magnitude. *finite: it holds no NaN and no infinity. */
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
    /* The scale and its inverse must be floats, so that the smallest numbers stay small. */
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

/* Works out the factors of the spectrum of a view, k = 0 .. most: response times weight times phase. The sine and
 * cosine of a block's first frequency give those behind it by a product. */
TS_VECTORIZED static void make_factors(const struct polar_scan *scan, int64_t view, complex_pair *factors)
{
    const int64_t most = scan->grid.most;
    const struct polar_view *at = &scan->views[view];
    double c[BLOCK], s[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        const double turns = i * at->shift, angle = 2 * M_PI * (turns - floor(turns));
        c[i] = cos(angle), s[i] = sin(angle);
    }
    for (int64_t first = 0; first <= most; first += BLOCK) {
        const double turns = (double)first * at->shift, angle = 2 * M_PI * (turns - floor(turns)),
                     re = cos(angle) * at->weight, im = sin(angle) * at->weight;
        for (int64_t i = 0; i < BLOCK && first + i <= most; i++) {
            const double response = scan->response[first + i];
            factors[ts_polar_place(scan->grid.n_views, view, first + i)] = (complex_pair){
                (float)(response * (re * c[i] - im * s[i])), (float)(response * (re * s[i] + im * c[i]))};
        }
    }
}

/* Transforms the rows of a view, one pair a line. Pairs that hold no slices become 0. */
static void rows_to_spectra(const struct work *work, int64_t view, unsigned char *own)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t pairs = work->pairs, padded = grid->padded, step = line_step(padded);
    complex_pair *lines = (complex_pair *)own;
    for (int pair = 0; pair < work->active; pair++) {
        float *line = (float *)(lines + pair * step);
        load_row(work, pair, view, line);
        ts_fft_forward(work->context->transforms[ROWS_FFT], line, line, own + work->line_bytes);
    }
    memset(lines + work->active * step, 0, (size_t)((pairs - work->active) * step) * sizeof *lines);
    lines_to_pairs(grid, view, lines, pairs, work->spectra);
    make_factors(work->scan, view, work->factors);
}

/* ---- frequencies to places, and across -------------------------------------------------------------- */

static complex_pair *column_places(const struct work *work, int64_t block, int64_t pair, int64_t row)
{
    return work->places + ((block * work->pairs + pair) * work->scan->grid.grid_rows + row) * COLUMNS;
}

/* Keeps the slice's columns of a transformed row of the grid. Column c of the slice is sample c - n_columns / 2 of the
 * row, which repeats itself. */
static void keep_columns(const struct work *work, int64_t pair, int64_t row, const complex_pair *line)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t left = grid->n_columns / 2, across = grid->grid_columns;
    for (int64_t first = 0; first < grid->n_columns; first += COLUMNS) {
        complex_pair *to = column_places(work, first / COLUMNS, pair, row);
        if (first + COLUMNS <= left || first >= left) /* behind the slice samples may be anything */
            memcpy(to, line + (first < left ? across : 0) - left + first, COLUMNS * sizeof *to);
        else
            for (int64_t i = 0; i < COLUMNS; i++)
                to[i] = line[first + i < left ? across - left + first + i : first + i - left];
    }
}

static void strip_across(const struct work *work, int64_t first, int64_t end, unsigned char *own)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t pairs = work->pairs, across = grid->grid_columns, step = line_step(across);
    complex_pair *strip = (complex_pair *)own, *lines = strip + line_step(STRIP * pairs * across);
    struct polar_points points = {.grid = *grid,
                                  .views = work->scan->views,
                                  .pairs = work->pairs,
                                  .spectra = (const float *)work->spectra,
                                  .factors = (const float *)work->factors};
    memcpy(points.kernel, work->scan->kernel, sizeof points.kernel);
    ts_polar_fill(&points, first, end, (float *)strip);
    for (int64_t row = first; row < end; row++) {
        const complex_pair *from = strip + (row - first) * across * pairs;
        if (pairs == 1)
            memcpy(lines, from, (size_t)across * sizeof *lines);
        else
            pairs_to_lines(from, pairs, across, lines, step);
        for (int64_t pair = 0; pair < work->active; pair++) {
            float *line = (float *)(lines + pair * step);
            ts_fft_inverse(work->context->transforms[ACROSS_FFT], line, line, own + work->line_bytes);
            keep_columns(work, pair, row, lines + pair * step);
        }
    }
}

/* ---- down ---------------------------------------------------------------------------------------- */

/* Writes n columns of one row of a slice, the real or the imaginary parts of the values. */
static inline void write_row(const struct work *work, int slice, int64_t row, int64_t first, int64_t n,
                             const complex_pair *values)
{
    const struct polar_scan *scan = work->scan;
    if (!work->out[slice])
        return;
    float *to = work->out[slice] + row * scan->grid.n_columns + first;
    const float factor = work->finite[slice] ? scan->row_factors[row] : NAN, back = 1 / work->scale[slice];
    for (int64_t i = 0; i < n; i++)
        to[i] = values[i][slice % 2] * (factor * scan->column_factors[first + i]) * back;
}

/* Writes columns of both slices of a pair out of lines, four rows at a time. */
TS_VECTORIZED static void write_columns(const struct work *work, int pair, int64_t first, int64_t n,
                                        const complex_pair *lines)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t step = line_step(grid->grid_rows), half = grid->n_rows / 2;
    complex_pair tile[POLAR_TILE * COLUMNS];
    for (int64_t row = 0; row < grid->n_rows; row += POLAR_TILE) {
        const int64_t end = row + POLAR_TILE < grid->n_rows ? row + POLAR_TILE : grid->n_rows;
        if (end == row + POLAR_TILE && (end <= half || row >= half))
            ts_polar_transpose(lines + (row < half ? grid->grid_rows : 0) + row - half, step, COLUMNS, tile, COLUMNS);
        else
            for (int64_t i = 0; i < COLUMNS; i++)
                for (int64_t r = row; r < end; r++)
                    tile[(r - row) * COLUMNS + i] = lines[i * step + (r < half ? grid->grid_rows : 0) + r - half];
        for (int64_t r = row; r < end; r++)
            for (int part = 0; part < 2; part++)
                write_row(work, 2 * pair + part, r, first, n, tile + (r - row) * COLUMNS);
    }
}

/* Transforms columns [first, first + n) of the slices; row r of a slice is sample r - n_rows / 2 of the grid. */
static void columns_down(const struct work *work, int64_t first, int64_t n, unsigned char *own)
{
    const int64_t down = work->scan->grid.grid_rows, step = line_step(down);
    complex_pair *lines = (complex_pair *)own;
    for (int pair = 0; pair < work->active; pair++) {
        columns_to_lines(column_places(work, first / COLUMNS, pair, 0), down, lines, step);
        for (int64_t i = 0; i < n; i++) {
            float *line = (float *)(lines + i * step);
            ts_fft_inverse(work->context->transforms[DOWN_FFT], line, line, own + work->line_bytes);
        }
        write_columns(work, pair, first, n, lines);
    }
}

/* ---- groups -------------------------------------------------------------------------------------- */

static void reconstruct(struct work *work)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int threads = work->context->threads;
#pragma omp parallel num_threads(threads)
    {
        unsigned char *own = work->threads + (size_t)omp_get_thread_num() * work->own_bytes;
#pragma omp for schedule(dynamic)
        for (int slice = 0; slice < 2 * work->active; slice++)
            look_at(work->in, work->slices[slice], &work->scale[slice], &work->finite[slice]);
#pragma omp for schedule(dynamic)
        for (int64_t view = 0; view < grid->n_views; view++)
            rows_to_spectra(work, view, own);
#pragma omp for schedule(dynamic)
        for (int64_t row = 0; row < grid->grid_rows; row += STRIP)
            strip_across(work, row, row + STRIP < grid->grid_rows ? row + STRIP : grid->grid_rows, own);
#pragma omp for schedule(dynamic)
        for (int64_t column = 0; column < grid->n_columns; column += COLUMNS)
            columns_down(work, column, column + COLUMNS < grid->n_columns ? COLUMNS : grid->n_columns - column, own);
    }
}

void ts_polar_slices(const struct stage_context *context, const struct polar_scan *scan, const struct ts_image *in,
                     struct ts_image *out, void *scratch)
{
    struct work work = {.context = context, .scan = scan, .in = in};
    struct memory_layout layout = {.base = scratch};
    const int64_t z_first = out->z_first, z_end = z_first + out->axes[0].n;
    const size_t slice = (size_t)(out->axes[1].n * out->axes[2].n);
    lay_out(context, &scan->grid, &layout, &work);
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
