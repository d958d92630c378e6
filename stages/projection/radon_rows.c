/* SPDX-License-Identifier: Apache-2.0
 *
 * A view's image is cut into parts of 32 lines, rows or columns by the view's major axis. Each part is projected pixel
 * by pixel into a vector of all detector pixels, and the vectors are summed by fan-in: of n vectors the first half
 * takes in the second, 0 with n / 2, 1 with n / 2 + 1, ..., until one is left. (z, y, x) -> (z, view, detector).
 *
 * Joseph's sample between pixels i and i + 1 is (1 - w) pixel[i] + w pixel[i + 1] (stages/geometry/parallel_beam.h), so
 * that the rays which pixel i reaches on a line are two neighboring runs of detector pixels: those between i - 1 and i,
 * and those between i and i + 1. Threads take views; the order of sums is fixed by the image's lines alone.
 */
#include "stages/projection/radon_rows.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/scratch.h"

enum { LINES = 32 };

/* One slice as floats and its transposed copy, so that columns are lines too. */
struct lines {
    const float *rows, *columns;
};

static int64_t most_parts(const struct beam_scan *scan)
{
    const int64_t rows = scan->grid.n_rows, columns = scan->grid.n_columns;
    return ((rows > columns ? rows : columns) + LINES - 1) / LINES;
}

/* Divides the scratch: a slice, its transposed copy, and the vectors of each thread. */
static size_t divide(const struct beam_scan *scan, int threads, size_t parts[3])
{
    const int64_t pixels = scan->grid.n_rows * scan->grid.n_columns;
    size_t used = 0;
    parts[0] = ts_scratch_part(&used, pixels, sizeof(float));
    parts[1] = ts_scratch_part(&used, pixels, sizeof(float));
    parts[2] = ts_scratch_part(&used, most_parts(scan) * scan->grid.n_detectors * threads, sizeof(float));
    return used;
}

size_t ts_radon_rows_scratch(const struct beam_scan *scan, int threads)
{
    size_t parts[3];
    return divide(scan, threads, parts);
}

/* Returns the first of n detector pixels whose ray, at `start` for the first, is at or past pixel i. */
static int64_t run_start(double i, double start, double per_sample, int64_t n)
{
    return (int64_t)fmin(fmax(ceil((i - start) * per_sample), 0.0), (double)n);
}

/* Adds a line of n pixels to the vector of n_detectors sums; per_detector: pixels a detector pixel, positive. */
static void add_line(const float *line, int64_t n, double start, double per_detector, int64_t n_detectors,
                     float *vector)
{
    const double per_sample = 1 / per_detector;
    int64_t d = run_start(-1, start, per_sample, n_detectors), at = run_start(0, start, per_sample, n_detectors);
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = run_start((double)(i + 1), start, per_sample, n_detectors);
        for (; d < at; d++)
            vector[d] += (float)(start + (double)d * per_detector - (double)(i - 1)) * line[i];
        for (; d < end; d++)
            vector[d] += (float)(1 - (start + (double)d * per_detector - (double)i)) * line[i];
        d = at;
        at = end;
    }
}

static void fan_in(float *vectors, int64_t n_vectors, int64_t n)
{
    for (int64_t half; n_vectors > 1; n_vectors = half) {
        half = (n_vectors + 1) / 2;
        for (int64_t i = 0; i < (n_vectors - half) * n; i++)
            vectors[i] += vectors[half * n + i];
    }
}

/* Projects one view. Where positions fall with rising detector index, the vector is filled from its end. */
static void project_view(const struct beam_geometry *grid, const struct beam_view *view, const struct lines *lines,
                         float *vectors, float *out)
{
    const int64_t n_major = view->along_rows ? grid->n_rows : grid->n_columns, n = grid->n_detectors;
    const int64_t n_minor = view->along_rows ? grid->n_columns : grid->n_rows, n_parts = (n_major + LINES - 1) / LINES;
    const float *from = view->along_rows ? lines->rows : lines->columns;
    const bool mirrored = view->per_detector < 0;
    const double origin = view->base + (mirrored ? (double)(n - 1) * view->per_detector : 0);
    memset(vectors, 0, (size_t)(n_parts * n) * sizeof *vectors);
    for (int64_t m = 0; m < n_major; m++)
        add_line(from + m * n_minor, n_minor, origin + (double)m * view->per_major, fabs(view->per_detector), n,
                 vectors + m / LINES * n);
    fan_in(vectors, n_parts, n);
    for (int64_t d = 0; d < n; d++)
        out[d] = vectors[mirrored ? n - 1 - d : d] * (float)view->length_mm;
}

static void transpose(float *to, const float *from, const struct beam_geometry *grid, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t x = 0; x < grid->n_columns; x++)
        for (int64_t y = 0; y < grid->n_rows; y++)
            to[x * grid->n_rows + y] = from[y * grid->n_columns + x];
}

void ts_radon_rows(const struct beam_scan *scan, const struct ts_image *volume, struct ts_image *sinogram, int threads,
                   void *scratch)
{
    const struct beam_geometry *grid = &scan->grid;
    const int64_t n = grid->n_detectors, pixels = grid->n_rows * grid->n_columns;
    size_t parts[3];
    divide(scan, threads, parts);
    float *rows = (float *)((char *)scratch + parts[0]), *columns = (float *)((char *)scratch + parts[1]);
    float *vectors = (float *)((char *)scratch + parts[2]);
    const struct lines lines = {rows, columns};
    for (int64_t z = 0; z < sinogram->axes[0].n; z++) {
        ts_load_f32(rows, (const char *)volume->data + (size_t)z * ts_slice_bytes(volume), volume->dtype,
                    (size_t)pixels);
        transpose(columns, rows, grid, threads);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t v = 0; v < scan->n_views; v++) {
            const struct beam_view view = ts_beam_view(grid, ts_beam_scan_angle(scan, v));
            project_view(grid, &view, &lines, vectors + omp_get_thread_num() * most_parts(scan) * n,
                         (float *)sinogram->data + (z * scan->n_views + v) * n);
        }
    }
}
