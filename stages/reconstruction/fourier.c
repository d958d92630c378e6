/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier, by gridding (stages/reconstruction/fourier.h has the formula and the axes). Parameters
 * and the tables of views and frequencies are for both devices, the rest is for the CPU.
 *
 * Two slices, 2 p and 2 p + 1, are the real and the imaginary part of a pair on one complex grid,
 * and a halo of one slice brings a slice's partner wherever z is cut. Each is first multiplied by a
 * power of two that brings its largest magnitude into [1, 2), so that rounding errors of one are
 * small in the other. If the volume has more than one pair, pairs are side by side, so that the
 * weights of a point serve them all. At a place of the grid, sums run over rising views, then
 * frequencies, whatever the threads, the slabs and the other pairs.
 */
#include "stages/reconstruction/fourier.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "core/clamp.h"
#include "core/fft.h"
#include "core/image.h"
#include "core/memory.h"
#include "stages/engine/stage.h"
#include "stages/geometry/line_integrals.h"
#include "stages/projection/fbp.h"
#include "stages/reconstruction/polar_transpose.h"
#include "stages/values/finite_values.h"

/* The coefficients of the kernel were fitted once. Its transform, by which the slice is divided, is
 * integrated by Simpson's rule for each sample, in double. */

enum { LEAST_SIDE = 16, QUADRATURE = 512 };

/* Returns the side of the grid for a side of the slice. */
static int64_t polar_side(int64_t n)
{
    return ts_fft_length(2 * n > LEAST_SIDE ? 2 * n : LEAST_SIDE);
}

/* A least squares fit, with weights that were changed until the largest error was smallest. */
const double ts_polar_kernel[GRID_TERMS] = {0.00012556867133, 0.00541794053438, -0.00691846970785,
                                            0.364481508058,   -0.741417109196,  1.98318064652,
                                            -1.53321939741,   0.928349312529};

/* The integral of K(d) cos(2 pi d x / side) over the kernel, by Simpson's rule: K is a polynomial
 * between its ends. */
void ts_polar_apodization(int64_t n, int64_t side, float *factors)
{
    double kernel[QUADRATURE + 1];
    const double half = 0.5 * GRID_TAPS, step = half / QUADRATURE;
    for (int i = 0; i <= QUADRATURE; i++) {
        const double t = (double)i / QUADRATURE, u = 1 - t * t;
        kernel[i] = 0;
        for (int power = GRID_TERMS - 1; power >= 0; power--)
            kernel[i] = kernel[i] * u + ts_polar_kernel[power];
        kernel[i] *= i == 0 || i == QUADRATURE ? 1 : i % 2 ? 4 : 2;
    }
    for (int64_t sample = 0; sample < n; sample++) {
        const int64_t offset = sample - n / 2;
        const double frequency = (double)offset / (double)side,
                     c = 2 * cos(2 * M_PI * frequency * step);
        double before = c / 2, now = 1, sum = 0; /* cos(-1 step) and cos(0); the next is c now -
                                                  * before */
        for (int i = 0; i <= QUADRATURE; i++) {
            sum += kernel[i] * now;
            const double next = c * now - before;
            before = now, now = next;
        }
        factors[sample] = (float)(1 / (sum * 2 * step / 3));
    }
}

/* Spreads the points of a polar grid over the places of a rectangular one around them
 * (stages/reconstruction/fourier.h). A call fills a strip of rows: it adds every point whose kernel
 * reaches the strip, views rising, then frequencies, so that neither the strips nor the threads
 * change a sum. The taps of a point along both axes are evaluated together (polar_taps.inc), and
 * the loops (polar_fill.inc) are compiled for 1, 4 and 8 pairs side by side. */

enum {
    POLAR_PAIRS = 8, /* most pairs side by side */
    POLAR_RUN = 16   /* frequencies that are together in memory */
};

struct polar_points {
    struct polar_grid grid;
    const struct polar_view *views;
    float kernel[GRID_TERMS];
    int pairs;            /* 1, 4 or POLAR_PAIRS */
    const float *spectra; /* spectra of the rows, k = 0 .. padded - 1: [place][pairs][2], on a
                           * 64-byte boundary */
    const float *factors; /* factors by which spectra become C, k = 0 .. most: [place][2]; for
                           * negative k their conjugates */
};

/* Returns the place of frequency k of a view. Frequencies are stored in runs,
 * [run][view][POLAR_RUN], because neighboring views meet a strip at about the same frequencies. */
static inline int64_t ts_polar_place(int64_t n_views, int64_t view, int64_t k)
{
    const uint64_t at = (uint64_t)k;
    return (int64_t)((at / POLAR_RUN * (uint64_t)n_views + (uint64_t)view) * POLAR_RUN +
                     at % POLAR_RUN);
}

enum { LANES = 8 }; /* GRID_TAPS of these are taps */
/* The first of the taps around a point, at ceil(position - GRID_TAPS / 2). */
struct corner {
    int64_t row, column;
};

/* Finds the range *low .. *high of k whose points are within half a kernel of rows [first, end),
 * with at most one more on both sides. Returns false if there are none. */
static bool reaching(double per_row, double first, double end, int64_t most, int64_t *low,
                     int64_t *high)
{
    const double from = first - 0.5 * GRID_TAPS - 1e-6, to = end - 1 + 0.5 * GRID_TAPS + 1e-6;
    *low = -most, *high = most;
    if (per_row == 0)
        return from <= 0 && to >= 0;
    const double a = from / per_row, b = to / per_row;
    const double below = floor(a < b ? a : b), above = ceil(a < b ? b : a);
    if (above < (double)-most || below > (double)most)
        return false;
    *low = below > (double)-most ? (int64_t)below : -most;
    *high = above < (double)most ? (int64_t)above : most;
    return true;
}

/* A strip of the grid that one thread fills. */
struct strip {
    const struct polar_points *points;
    float *places;
    int64_t first, end;
};

/* To multiply a complex number by i, its parts are exchanged and get these signs. */
#define SWAPPED_2 1, 0
#define SWAPPED_4 SWAPPED_2, 3, 2
#define SWAPPED_8 SWAPPED_4, 5, 4, 7, 6
#define SWAPPED_16 SWAPPED_8, 9, 8, 11, 10, 13, 12, 15, 14
#define SIGNS_2 -1, 1
#define SIGNS_4 SIGNS_2, SIGNS_2
#define SIGNS_8 SIGNS_4, SIGNS_4
#define SIGNS_16 SIGNS_8, SIGNS_8
#define JOIN(a, b) a##b
#define WITH_PAIRS(name, pairs) JOIN(name, pairs)
#define TS_LOOPS "stages/reconstruction/polar_taps.inc"
#include "core/vectors.inc"

/* Overwrites `places`, which is on a 64-byte boundary, with rows [first, end) of the grid,
 * [row][column][pairs][2]. */
static void polar_fill(const struct polar_points *points, int64_t first, int64_t end, float *places)
{
    const struct strip strip = {points, places, first, end};
    memset(places, 0,
           (size_t)((end - first) * points->grid.grid_columns * points->pairs) * 2 *
               sizeof *places);
    if (points->pairs == 1)
        TS_WIDEST(fill_of_1)(&strip);
    else if (points->pairs == 4)
        TS_WIDEST(fill_of_4)(&strip);
    else
        TS_WIDEST(fill_of_8)(&strip);
}

/* A group of pairs is reconstructed in three passes. The first transforms rows to frequencies. The
 * second fills strips of the grid and transforms their rows while they are in the cache; only the
 * slice's columns are kept. The third transforms columns, divides by the kernel's transform and
 * writes the slice's rows. */

struct polar_scan {
    struct polar_grid grid;
    const struct polar_view *views; /* [n_views] */
    const double *response;         /* at the frequencies 0 .. grid.most, with 1 / padded
                                     * included */
    float kernel[GRID_TERMS];
    const float *row_factors, *column_factors; /* the factors that undo the kernel */
};

enum {
    LINE = 8,            /* numbers in a cache line */
    STRIP = 16,          /* rows of the grid that one thread fills at once */
    COLUMNS = 8,         /* columns that are transformed side by side */
    BLOCK = 32,          /* frequencies whose phases are computed from that of the first */
    MOST_BYTES = 1 << 30 /* most bytes of the places of POLAR_PAIRS pairs */
};

enum { ROWS_FFT, ACROSS_FFT, DOWN_FFT, N_FFT };

struct work {
    const struct stage_context *context;
    const struct polar_scan *scan;
    const struct ts_image *in;
    int pairs;             /* pairs side by side */
    int active;            /* number of these that have slices */
    complex_pair *spectra; /* as in struct polar_points */
    complex_pair *factors;
    complex_pair *places; /* [COLUMNS of the slice][pairs][row of the grid][column of these] */
    unsigned char
        *threads; /* the lines or strips of all threads, and the work areas of their transforms */
    size_t line_bytes, own_bytes; /* bytes of one thread's lines or strip, and of all its memory */
    int64_t slices[2 * POLAR_PAIRS];
    float *out[2 * POLAR_PAIRS]; /* output of each slice; NULL: not wanted */
    float scale[2 * POLAR_PAIRS];
    bool finite[2 * POLAR_PAIRS];
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* These are transforms() and scratch_bytes() of the stage on the CPU. */
static int polar_slices_transforms(const struct polar_grid *grid,
                                   struct fft_shape shapes[STAGE_TRANSFORMS])
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

/* Returns the number of pairs side by side. It depends only on the whole volume, not on the
 * slabs. */
static int pairs_of(const struct stage_context *context, const struct polar_grid *grid)
{
    const int64_t n = context->in.axes[0].n, bytes = grid->grid_rows * grid->n_columns *
                                                     POLAR_PAIRS * (int64_t)sizeof(complex_pair);
    if (n > POLAR_PAIRS && bytes <= MOST_BYTES)
        return POLAR_PAIRS;
    return n > 2 ? POLAR_TILE : 1;
}

static void lay_out_slices(const struct stage_context *context, const struct polar_grid *grid,
                           struct memory_layout *layout, struct work *work)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    struct memory_layout own = {0};
    size_t fft_work = 0;
    for (int i = 0; i < polar_slices_transforms(grid, shapes); i++)
        fft_work = largest(fft_work, ts_fft_work_bytes(&shapes[i]));
    work->pairs = pairs_of(context, grid);
    const size_t pairs = (size_t)work->pairs, padded = (size_t)grid->padded,
                 across = (size_t)grid->grid_columns, down = (size_t)grid->grid_rows,
                 runs = (padded + POLAR_RUN - 1) / POLAR_RUN;
    /* A thread has room for the rows of a view, or a strip and a line of it, or columns; each line
     * may be one LINE longer. */
    const size_t lines = pairs * (padded + MEMORY_ALIGNMENT),
                 strip = (STRIP + 1) * pairs * (across + MEMORY_ALIGNMENT),
                 columns = COLUMNS * (down + MEMORY_ALIGNMENT);
    ts_layout_add(&own, largest(largest(lines, strip), columns) * sizeof(complex_pair));
    work->line_bytes = own.bytes;
    ts_layout_add(&own, fft_work);
    work->own_bytes = own.bytes;
    const size_t points = (size_t)grid->n_views * runs * POLAR_RUN * sizeof(complex_pair);
    work->spectra = ts_layout_add(layout, points * pairs);
    work->factors = ts_layout_add(layout, points);
    work->places = ts_layout_add(layout, down * ((size_t)grid->n_columns + COLUMNS) * pairs *
                                             sizeof(complex_pair));
    work->threads = ts_layout_add(layout, (size_t)context->threads * work->own_bytes);
}

static size_t polar_slices_scratch(const struct stage_context *context,
                                   const struct polar_grid *grid)
{
    struct memory_layout layout = {0};
    struct work work;
    lay_out_slices(context, grid, &layout, &work);
    return layout.bytes;
}

/* ---- lines and pairs side by side ------------------------------------------------------------ */

/* Move pairs that are side by side to one line each, and do the same for COLUMNS columns of n
 * rows. */
TS_VECTORIZED static void pairs_to_lines(const complex_pair *from, int64_t pairs, int64_t n,
                                         complex_pair *lines, int64_t step)
{
    for (int64_t pair = 0; pair < pairs; pair += POLAR_TILE)
        ts_polar_transpose(from + pair, pairs, n, lines + pair * step, step);
}

TS_VECTORIZED static void columns_to_lines(const complex_pair *from, int64_t n, complex_pair *lines,
                                           int64_t step)
{
    for (int64_t column = 0; column < COLUMNS; column += POLAR_TILE)
        ts_polar_transpose(from + column, COLUMNS, n, lines + column * step, step);
}

/* Returns the distance of lines of n numbers, each of which begins on a cache line. */
static int64_t line_step(int64_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

/* Moves lines to the numbers of a view, with pairs side by side. */
TS_VECTORIZED static void lines_to_pairs(const struct polar_grid *grid, int64_t view,
                                         const complex_pair *lines, int64_t pairs,
                                         complex_pair *spectra)
{
    const int64_t n = grid->padded, step = line_step(n),
                  fours = pairs < POLAR_TILE ? 0 : n / POLAR_TILE * POLAR_TILE;
    for (int64_t k = 0; k < fours; k += POLAR_TILE)
        for (int64_t pair = 0; pair < pairs; pair += POLAR_TILE)
            ts_polar_transpose(lines + pair * step + k, step, POLAR_TILE,
                               spectra + ts_polar_place(grid->n_views, view, k) * pairs + pair,
                               pairs);
    for (int64_t k = fours; k < n; k++)
        for (int64_t pair = 0; pair < pairs; pair++)
            spectra[ts_polar_place(grid->n_views, view, k) * pairs + pair] = lines[pair * step + k];
}

/* ---- rows to frequencies --------------------------------------------------------------------- */

/* Finds the scale of a slice from its largest magnitude. *finite is set to false if it has a NaN or
 * an infinity. */
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
    /* The scale and its inverse must be normal floats; the smallest numbers then stay small. */
    exponent = (int)ts_clamp(exponent, -124, 124);
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
        const char *row = (const char *)work->in->data +
                          (size_t)((work->slices[slice] * grid->n_views + view) * n) * bytes;
        for (int64_t i = 0; work->finite[slice] && i < n; i += 256) {
            const int64_t some = n - i < 256 ? n - i : 256;
            ts_load_f32(values, row + (size_t)i * bytes, work->in->dtype, (size_t)some);
            for (int64_t k = 0; k < some; k++)
                line[2 * (i + k) + part] = values[k] * work->scale[slice];
        }
    }
}

/* Computes the factors of the spectrum of a view, k = 0 .. most: response times weight times phase.
 * The sine and cosine of a block's first frequency give those of the others by a product. */
TS_VECTORIZED static void make_factors(const struct polar_scan *scan, int64_t view,
                                       complex_pair *factors)
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
            factors[ts_polar_place(scan->grid.n_views, view, first + i)] =
                (complex_pair){(float)(response * (re * c[i] - im * s[i])),
                               (float)(response * (re * s[i] + im * c[i]))};
        }
    }
}

/* Transforms the rows of a view, one pair a line. Pairs without slices become 0. */
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

/* ---- frequencies to places, and across ------------------------------------------------------- */

static complex_pair *column_places(const struct work *work, int64_t block, int64_t pair,
                                   int64_t row)
{
    return work->places +
           ((block * work->pairs + pair) * work->scan->grid.grid_rows + row) * COLUMNS;
}

/* Keeps the slice's columns of a transformed row of the grid. Column c of the slice is sample c -
 * n_columns / 2 of the row, which is periodic. */
static void keep_columns(const struct work *work, int64_t pair, int64_t row,
                         const complex_pair *line)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t left = grid->n_columns / 2, across = grid->grid_columns;
    for (int64_t first = 0; first < grid->n_columns; first += COLUMNS) {
        complex_pair *to = column_places(work, first / COLUMNS, pair, row);
        if (first + COLUMNS <= left || first >= left) /* samples behind the slice may be anything */
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
    polar_fill(&points, first, end, (float *)strip);
    for (int64_t row = first; row < end; row++) {
        const complex_pair *from = strip + (row - first) * across * pairs;
        if (pairs == 1)
            memcpy(lines, from, (size_t)across * sizeof *lines);
        else
            pairs_to_lines(from, pairs, across, lines, step);
        for (int64_t pair = 0; pair < work->active; pair++) {
            float *line = (float *)(lines + pair * step);
            ts_fft_inverse(work->context->transforms[ACROSS_FFT], line, line,
                           own + work->line_bytes);
            keep_columns(work, pair, row, lines + pair * step);
        }
    }
}

/* ---- down ------------------------------------------------------------------------------------ */

/* Writes n columns of one row of a slice, the real or the imaginary parts of the values. */
static inline void write_row(const struct work *work, int slice, int64_t row, int64_t first,
                             int64_t n, const complex_pair *values)
{
    const struct polar_scan *scan = work->scan;
    if (!work->out[slice])
        return;
    float *to = work->out[slice] + row * scan->grid.n_columns + first;
    const float factor = work->finite[slice] ? scan->row_factors[row] : NAN,
                back = 1 / work->scale[slice];
    for (int64_t i = 0; i < n; i++)
        to[i] = values[i][slice % 2] * (factor * scan->column_factors[first + i]) * back;
}

/* Writes columns of both slices of a pair from lines, four rows at a time. */
TS_VECTORIZED static void write_columns(const struct work *work, int pair, int64_t first, int64_t n,
                                        const complex_pair *lines)
{
    const struct polar_grid *grid = &work->scan->grid;
    const int64_t step = line_step(grid->grid_rows), half = grid->n_rows / 2;
    complex_pair tile[POLAR_TILE * COLUMNS];
    for (int64_t row = 0; row < grid->n_rows; row += POLAR_TILE) {
        const int64_t end = row + POLAR_TILE < grid->n_rows ? row + POLAR_TILE : grid->n_rows;
        if (end == row + POLAR_TILE && (end <= half || row >= half))
            ts_polar_transpose(lines + (row < half ? grid->grid_rows : 0) + row - half, step,
                               COLUMNS, tile, COLUMNS);
        else
            for (int64_t i = 0; i < COLUMNS; i++)
                for (int64_t r = row; r < end; r++)
                    tile[(r - row) * COLUMNS + i] =
                        lines[i * step + (r < half ? grid->grid_rows : 0) + r - half];
        for (int64_t r = row; r < end; r++)
            for (int part = 0; part < 2; part++)
                write_row(work, 2 * pair + part, r, first, n, tile + (r - row) * COLUMNS);
    }
}

/* Transforms columns [first, first + n) of the slices; row r of a slice is sample r - n_rows / 2 of
 * the grid. */
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

/* ---- groups ---------------------------------------------------------------------------------- */

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
            strip_across(work, row, row + STRIP < grid->grid_rows ? row + STRIP : grid->grid_rows,
                         own);
#pragma omp for schedule(dynamic)
        for (int64_t column = 0; column < grid->n_columns; column += COLUMNS)
            columns_down(work, column,
                         column + COLUMNS < grid->n_columns ? COLUMNS : grid->n_columns - column,
                         own);
    }
}

/* Reconstructs the slices of `out` from those of `in`, which has one slice more on both sides.
 * `scratch` is on a 64-byte boundary. */
static void polar_slices(const struct stage_context *context, const struct polar_scan *scan,
                         const struct ts_image *in, struct ts_image *out, void *scratch)
{
    struct work work = {.context = context, .scan = scan, .in = in};
    struct memory_layout layout = {.base = scratch};
    const int64_t z_first = out->z_first, z_end = z_first + out->axes[0].n;
    const size_t slice = (size_t)(out->axes[1].n * out->axes[2].n);
    lay_out_slices(context, &scan->grid, &layout, &work);
    for (int64_t first = z_first / 2 * 2; first < z_end; first += 2 * work.pairs) {
        work.active = 0;
        for (int i = 0; i < 2 * work.pairs && first + i / 2 * 2 < z_end; i++) {
            const int64_t z = first + i;
            work.slices[i] = z - z_first + 1; /* slice 1 is the slice before the first */
            work.out[i] = z >= z_first && z < z_end
                              ? (float *)out->data + (size_t)(z - z_first) * slice
                              : NULL;
            work.active = i / 2 + 1;
        }
        reconstruct(&work);
    }
}

static enum ts_status fourier_resolve(const struct stage_context *context, void *values)
{
    struct reconstruction_params *params = values;
    const enum ts_status status = ts_fbp_resolve(context, params);
    if (status != TS_OK)
        return status;
    const int64_t rows = polar_side(params->rows), columns = polar_side(params->columns);
    if (rows > INT32_MAX / columns)
        return ts_param_error(
            context->set, "rows", "grid-too-large", context->diag,
            "slices of %lld x %lld pixels need a grid of %lld x %lld, more than 2147483647 places",
            (long long)params->rows, (long long)params->columns, (long long)rows,
            (long long)columns);
    return TS_OK;
}

static struct stage_reach fourier_reach(const struct stage_context *context)
{
    (void)context;
    return (struct stage_reach){.halo = 1, .border = BORDER_CONSTANT, .constant = 0};
}

/* Returns the last frequency whose factor is not 0. */
static int64_t highest(const struct reconstruction_params *params, int64_t padded)
{
    if (params->interpolation == FOURIER_LINEAR)
        return padded - 1;
    return params->filter == ROW_FILTER_NONE ? padded / 2
                                             : (int64_t)ceil(0.5 * params->cutoff * (double)padded);
}

/* Returns the transform, at u cycles a sample, of the function that interpolates between the
 * samples of a row. */
static double interpolation_at(int32_t interpolation, double u)
{
    if (interpolation == FOURIER_SINC)
        return u < 0.5 ? 1 : 0.5; /* half at u = -1/2 and half at 1/2 */
    return u > 0 ? pow(sin(M_PI * u) / (M_PI * u), 2) : 1;
}

struct polar_grid ts_fourier_grid(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    const int64_t padded = ts_row_filter_padded(context->in.axes[2].n);
    return (struct polar_grid){.n_rows = params->rows,
                               .n_columns = params->columns,
                               .grid_rows = polar_side(params->rows),
                               .grid_columns = polar_side(params->columns),
                               .padded = padded,
                               .most = highest(params, padded),
                               .n_views = context->in.axes[1].n,
                               .n_detectors = context->in.axes[2].n};
}

/* A back_view gives the detector index of a pixel; index / padded is the phase of frequency 1
 * there, in turns. */
void ts_fourier_views(const struct stage_context *context, struct polar_view *views, void *scratch)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct back_view *back = scratch;
    const int64_t row = grid.n_rows / 2, column = grid.n_columns / 2;
    ts_reconstruction_views(context, back, back + grid.n_views);
    for (int64_t v = 0; v < grid.n_views; v++) {
        const double turns = 1 / (double)grid.padded, middle = back[v].base +
                                                               (double)row * back[v].per_row +
                                                               (double)column * back[v].per_column;
        views[v] = (struct polar_view){.per_row = back[v].per_row * turns * (double)grid.grid_rows,
                                       .per_column =
                                           back[v].per_column * turns * (double)grid.grid_columns,
                                       .shift = middle * turns,
                                       .weight = back[v].scale};
    }
}

void ts_fourier_response(const struct stage_context *context, double *response)
{
    const struct reconstruction_params *params = context->params;
    const struct row_filter filter = ts_reconstruction_filter(context);
    const struct polar_grid grid = ts_fourier_grid(context);
    const double step = 1 / (double)grid.padded;
    for (int64_t k = 0; k <= grid.padded / 2; k++)
        response[k] = 1;
    if (filter.name != ROW_FILTER_NONE)
        ts_row_filter_response(&filter, response);
    for (int64_t k = grid.padded / 2 + 1; k <= grid.most; k++)
        response[k] = response[grid.padded - k];
    for (int64_t k = 0; k <= grid.most; k++)
        response[k] *= interpolation_at(params->interpolation, (double)k * step) * step;
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

static int fourier_transforms(const struct stage_context *context,
                              struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct polar_grid grid = ts_fourier_grid(context);
    return context->device ? 0 : polar_slices_transforms(&grid, shapes);
}

/* The parts of the scratch of one call. */
struct scratch {
    struct polar_view *views;
    double *response;
    float *row_factors, *column_factors;
    void *step; /* first used for the views, then for the slices */
};

static struct scratch lay_out(const struct stage_context *context, const struct polar_grid *grid,
                              struct memory_layout *layout)
{
    const size_t views = (size_t)grid->n_views * POLAR_VIEW_SCRATCH_BYTES,
                 slices = polar_slices_scratch(context, grid);
    struct scratch scratch;
    scratch.views = ts_layout_add(layout, (size_t)grid->n_views * sizeof *scratch.views);
    scratch.response = ts_layout_add(layout, (size_t)(grid->padded + 2) * sizeof *scratch.response);
    scratch.row_factors = ts_layout_add(layout, (size_t)grid->n_rows * sizeof(float));
    scratch.column_factors = ts_layout_add(layout, (size_t)grid->n_columns * sizeof(float));
    scratch.step = ts_layout_add(layout, views > slices ? views : slices);
    return scratch;
}

static size_t fourier_scratch(const struct stage_context *context, int64_t n)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {0};
    (void)n;
    lay_out(context, &grid, &layout);
    return layout.bytes;
}

static enum ts_status fourier_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, void *buffer)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {.base = buffer};
    const struct scratch scratch = lay_out(context, &grid, &layout);
    struct polar_scan scan = {.grid = grid,
                              .views = scratch.views,
                              .response = scratch.response,
                              .row_factors = scratch.row_factors,
                              .column_factors = scratch.column_factors};
    ts_fourier_views(context, scratch.views, scratch.step);
    ts_fourier_response(context, scratch.response);
    for (int i = 0; i < GRID_TERMS; i++)
        scan.kernel[i] = (float)ts_polar_kernel[i];
    ts_polar_apodization(grid.n_rows, grid.grid_rows, scratch.row_factors);
    ts_polar_apodization(grid.n_columns, grid.grid_columns, scratch.column_factors);
    polar_slices(context, &scan, in, out, scratch.step);
    return TS_OK;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const struct choice interpolations[] = {
    {"linear", FOURIER_LINEAR,
     "lines, as in `fbp`, but for what their corners hold beyond 1 cycle a detector pixel: "
     "sinc(u)^2 up to u = 1"},
    {"sinc", FOURIER_SINC,
     "1 up to u = 0.5: sharper and faster; ramp and shepp-logan leave waves beside edges"},
    {0},
};

static const struct param fourier_params[] = {
    FBP_PARAMS,
    PARAM(struct reconstruction_params, interpolation, .init.choice = FOURIER_LINEAR,
          .choices = interpolations, .unit = "",
          .doc = "interpolation between two detector pixels: its spectrum is multiplied with that "
                 "of a filtered row, which repeats itself beyond half a cycle a detector pixel"),
    VOLUME_PARAMS("the detector spacing"),
};

const struct stage fourier_stage = {
    .name = "fourier",
    .summary = "direct Fourier reconstruction of parallel beams: sinogram to volume",
    .doc =
        "The same integral as `fbp`'s, with its filters, weights, units and place of the volume, "
        "worked out along the frequencies:\n\n"
        "    f(x, y) = sum over views of weight / P * sum over k of G(k / P) H[k] Z[k] exp(2 pi i "
        "k (s / d + center) / P)\n\n"
        "with s = x cos(theta) + y sin(theta), Z the transform of a row padded with zeros to P "
        "samples, H the response that `filter` defines, both of which repeat themselves after P, "
        "and G the transform of the interpolation between two detector pixels, which "
        "`interpolation` chooses. These sums are a two-dimensional Fourier transform of points "
        "along the views' directions. They are spread over a grid twice as wide as the slice by a "
        "kernel of 5 x 5 places, the grid is transformed back, and the kernel's own transform "
        "divided out (J. D. O'Sullivan, IEEE Trans. Med. Imaging 4, 1985).\n\n"
        "Every place of the grid takes its points in the order of the views, so that the same "
        "input gives the same bytes. Two slices share one complex grid: a range of slices that "
        "begins at an odd slice of the input (`slices: [1, 4]`) differs from the same slices of "
        "the whole by about 1e-6 of the largest value; one that begins at an even slice and ends "
        "before one has the same bytes. A value that is NaN or infinite would spoil its whole "
        "slice, and ends the run.\n\n"
        "`interpolation: linear` is that of `fbp` up to 1 cycle a detector pixel, where both "
        "sinc(u)^2 and the ramp's repetition are 0; the corners of its lines are rounded by what "
        "is left out. A disc of 1 comes back as 1 within 0.5 % at every pixel of its inner 80 %, "
        "as by `fbp` (docs/accuracy.md). `sinc` ends the spectrum in a circle at half a cycle: "
        "edges are sharper, and `ramp` and `shepp-logan` leave waves of two detector pixels, by "
        "which single pixels of a disc were off by 8 % at 63 detector pixels and 3 % at 513; "
        "`hamming`, `hann` and `parzen` damp them. Outside the circle that the detector covers, "
        "rows that are cut off show as in `fbp`, with what the filter leaves beyond their ends.\n\n"
        "If one side of the rotation axis sees less than two thirds as much of the detector as the "
        "other, a warning has the radius of the circle that all views see: an object that reaches "
        "beyond it comes out wrong. `stitch` makes a scan of half a turn from such a whole turn of "
        "a parallel beam. A run warns of cut-off rows as for `fbp` (`rows-cut-off`).\n\n"
        "Cost: 25 places of the grid for each point, of which a view has 2 P (`sinc` P, times the "
        "cutoff), and a transform of 4 times as many places as the slice has pixels: much less "
        "than `fbp` for slices of some hundred pixels and more. Up to 16 slices are in work at "
        "once, fewer if they are large.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL), TS_BEAM_BIT(TS_BEAM_PARALLEL)),
    .quantity_hints = LINE_INTEGRAL_HINTS,
    STAGE_PARAMS(fourier_params, struct reconstruction_params),
    .traits = TRAIT_ROWS_END_IN_AIR,
    .resolve = fourier_resolve,
    .shape = ts_fbp_shape,
    .reach = fourier_reach,
    .reduction = &ts_finite_reduction,
    .transforms = fourier_transforms,
    .scratch_bytes = fourier_scratch,
    .map = fourier_map,
    .cuda = STAGE_CUDA(fourier_cuda),
    .bench = "filter=ramp|filter=ramp interpolation=sinc",
    .tolerance =
        {.relative = 2e-4,
         .why =
             "the kernel's transform lets through 6e-5 of what is beyond the slice, as a root of "
             "mean squares; a pixel where all of it meets may be off by twice as much and more"},
};
