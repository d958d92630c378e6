/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of pixels of a row meet a few views: where, and with which weights, is worked out for the run, places in double,
 * then summed over the views for 16, 4 or 1 slices in the same order of operations; for 1 by
 * stages/projection/back_wide.h where that takes the views.
 */
#include "stages/projection/backprojection.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/projection/back_wide.h"

enum {
    BLOCK_VIEWS = 16, /* at most */
    PIXEL_RUN = 64,   /* pixels whose places are worked out at once */
    SUM_BYTES = 4 << 20,
    ALIGNMENT = 64
};

typedef float lanes_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float lanes_4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Fixed by the detectors alone, because it fixes the order of sums. */
static int64_t block_views(int64_t n_detectors)
{
    return n_detectors <= 512 ? BLOCK_VIEWS : n_detectors <= 1024 ? BLOCK_VIEWS / 2 : BLOCK_VIEWS / 4;
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t block_bytes(int64_t n_detectors)
{
    return rounded((size_t)(block_views(n_detectors) * (n_detectors + 2 * BLOCK_MARGIN)) * BLOCK_LANES * sizeof(float));
}

/* Rows whose sums fit the room of one thread. */
static int64_t rows_at_once(int64_t n_columns, int lanes)
{
    const int64_t n = SUM_BYTES / (n_columns * lanes * (int64_t)sizeof(float));
    return n > 1 ? n : 1;
}

static size_t sum_bytes(int64_t n_columns)
{
    const size_t one_row = (size_t)n_columns * BLOCK_LANES * sizeof(float);
    return rounded(one_row > SUM_BYTES ? one_row : SUM_BYTES);
}

size_t ts_backprojection_scratch(int64_t n_detectors, int64_t n_columns, int threads)
{
    return (size_t)threads * (sum_bytes(n_columns) + block_bytes(n_detectors));
}

/* ---- where a run of pixels lies in the views of a block ---------------------------------------- */

/* Sample index within the block, and the weights of it and the next. */
struct places {
    int32_t index[BLOCK_VIEWS][PIXEL_RUN];
    float below[BLOCK_VIEWS][PIXEL_RUN], above[BLOCK_VIEWS][PIXEL_RUN];
};

static inline __attribute__((always_inline)) void find_places(const struct back_view *views,
                                                              const struct slice_block *block, int64_t row,
                                                              int64_t first, int64_t n, struct places *places)
{
    const double low = -BLOCK_MARGIN, high = (double)block->n_minor;
    for (int64_t v = 0; v < block->n_major; v++) {
        const struct back_view view = views[v];
        const double start = view.base + (double)row * view.per_row, step = view.per_column;
        const double a = start + (double)first * step, b = start + (double)(first + n - 1) * step;
        const bool inside = fmin(a, b) >= low && fmax(a, b) <= high;
        const int32_t line = (int32_t)(v * block->stride);
        const float scale = (float)view.scale, slope = (float)(view.scale * view.width);
        for (int64_t p = 0; p < n; p++) {
            double at = start + (double)(int32_t)(first + p) * step;
            if (!inside) /* decided once for the run */
                at = at < low ? low : at > high ? high : at;
            const int32_t index = (int32_t)(at + BLOCK_MARGIN); /* of a positive number: floor */
            places->index[v][p] = line + index;
            places->above[v][p] = (float)(at + BLOCK_MARGIN - (double)index);
        }
        for (int64_t p = 0; p < n; p++) { /* above still is how far the pixel is past the detector below */
            const float below = scale - slope * places->above[v][p], above = scale - slope * (1 - places->above[v][p]);
            places->below[v][p] = below > 0 ? below : 0;
            places->above[v][p] = above > 0 ? above : 0;
        }
    }
}

/* The same of a fan. */
static inline __attribute__((always_inline)) void find_fan_places(const struct backprojection *work,
                                                                  const struct slice_block *block, int64_t row,
                                                                  int64_t first, int64_t n, struct places *places)
{
    const double low = -BLOCK_MARGIN, high = (double)block->n_minor;
    for (int64_t v = 0; v < block->n_major; v++) {
        const struct fan_view *view = &work->fans[block->m_first + v];
        const int32_t line = (int32_t)(v * block->stride);
        for (int64_t p = 0; p < n; p++) {
            const struct fan_place place =
                ts_fan_place(&work->fan_grid, view, (double)row, (double)(int32_t)(first + p));
            const double at = place.at < low ? low : place.at > high ? high : place.at;
            const int32_t index = (int32_t)(at + BLOCK_MARGIN); /* of a positive number: floor */
            const double past = at + BLOCK_MARGIN - (double)index;
            places->index[v][p] = line + index;
            places->below[v][p] = (float)(place.weight * (1 - past));
            places->above[v][p] = (float)(place.weight * past);
        }
    }
}

static inline __attribute__((always_inline)) void add_run_16(const struct slice_block *block,
                                                             const struct places *places, int64_t n, float *sums)
{
    for (int64_t p = 0; p < n; p++) {
        lanes_16 partial = {0};
        for (int64_t v = 0; v < block->n_major; v++) {
            const lanes_16 *sample = (const lanes_16 *)block->data + places->index[v][p];
            partial += places->below[v][p] * sample[0] + places->above[v][p] * sample[1];
        }
        ((lanes_16 *)sums)[p] += partial;
    }
}

static inline __attribute__((always_inline)) void add_run_4(const struct slice_block *block,
                                                            const struct places *places, int64_t n, float *sums)
{
    for (int64_t p = 0; p < n; p++) {
        lanes_4 partial = {0};
        for (int64_t v = 0; v < block->n_major; v++) {
            const lanes_4 *sample = (const lanes_4 *)block->data + places->index[v][p];
            partial += places->below[v][p] * sample[0] + places->above[v][p] * sample[1];
        }
        ((lanes_4 *)sums)[p] += partial;
    }
}

/* The loops exchanged, to vectorize over pixels. A sample and its neighbor are loaded as one pair. n counts up to the
 * next multiple of 4. */
static inline __attribute__((always_inline)) void add_run_1(const struct slice_block *block,
                                                            const struct places *places, int64_t n, float *sums)
{
    typedef double loads __attribute__((vector_size(16)));
    lanes_4 partial[PIXEL_RUN / 4] = {{0}};
    for (int64_t v = 0; v < block->n_major; v++) {
        const lanes_4 *below = (const lanes_4 *)places->below[v], *above = (const lanes_4 *)places->above[v];
        for (int64_t k = 0; k < (n + 3) / 4; k++) {
            double pair[4];
            for (int i = 0; i < 4; i++)
                memcpy(&pair[i], block->data + places->index[v][4 * k + i], sizeof pair[i]);
            const lanes_4 left = (lanes_4)(loads){pair[0], pair[1]}, right = (lanes_4)(loads){pair[2], pair[3]};
            partial[k] += below[k] * __builtin_shufflevector(left, right, 0, 2, 4, 6) +
                          above[k] * __builtin_shufflevector(left, right, 1, 3, 5, 7);
        }
    }
    for (int64_t p = 0; p < n; p++)
        sums[p] += partial[p / 4][p % 4];
}

/* Rays closer than a pixel: more than two detectors count, each with its own weight. */
static void add_run_fine(const struct back_view *views, const struct slice_block *block, int64_t row, int64_t first,
                         int64_t n, int lanes, float *sums)
{
    for (int64_t p = 0; p < n; p++) {
        float partial[BLOCK_LANES] = {0};
        for (int64_t v = 0; v < block->n_major; v++) {
            const struct back_view view = views[v];
            const double at = view.base + (double)row * view.per_row + (double)(first + p) * view.per_column;
            const double reach = 1 / view.width, high = (double)(block->n_minor - 1);
            const int64_t end = (int64_t)fmin(at + reach, high);
            for (int64_t d = (int64_t)ceil(fmax(at - reach, 0)); d <= end && at + reach >= 0; d++) {
                const double weight = 1 - view.width * fabs((double)d - at);
                const float factor = (float)(view.scale * (weight > 0 ? weight : 0));
                const float *sample = block->data + (v * block->stride + BLOCK_MARGIN + d) * lanes;
                for (int lane = 0; lane < lanes; lane++)
                    partial[lane] += factor * sample[lane];
            }
        }
        for (int lane = 0; lane < lanes; lane++)
            sums[p * lanes + lane] += partial[lane];
    }
}

static inline __attribute__((always_inline)) void add_block(const struct backprojection *work,
                                                            const struct slice_block *block, int64_t row,
                                                            int64_t n_rows, float *sums, const int lanes)
{
    const struct back_view *views = work->fans ? NULL : work->views + block->m_first;
    const int64_t n_columns = work->n_columns;
    struct places places = {0};
    bool fine = false;
    for (int64_t v = 0; v < block->n_major && !work->fans; v++)
        fine |= views[v].width < 1 - 1e-9;
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t first = 0; first < n_columns; first += PIXEL_RUN) {
            const int64_t n = n_columns - first < PIXEL_RUN ? n_columns - first : PIXEL_RUN;
            float *own = sums + (r * n_columns + first) * lanes;
            if (fine) {
                add_run_fine(views, block, row + r, first, n, lanes, own);
                continue;
            }
            if (work->fans)
                find_fan_places(work, block, row + r, first, n, &places);
            else
                find_places(views, block, row + r, first, n, &places);
            if (lanes == 16)
                add_run_16(block, &places, n, own);
            else if (lanes == 4)
                add_run_4(block, &places, n, own);
            else
                add_run_1(block, &places, n, own);
        }
}

TS_VECTORIZED static void add_block_16(const struct backprojection *work, const struct slice_block *block, int64_t row,
                                       int64_t n_rows, float *sums)
{
    add_block(work, block, row, n_rows, sums, 16);
}

TS_VECTORIZED static void add_block_4(const struct backprojection *work, const struct slice_block *block, int64_t row,
                                      int64_t n_rows, float *sums)
{
    add_block(work, block, row, n_rows, sums, 4);
}

TS_VECTORIZED static void add_block_1(const struct backprojection *work, const struct slice_block *block, int64_t row,
                                      int64_t n_rows, float *sums)
{
    add_block(work, block, row, n_rows, sums, 1);
}

/* ---- how the work is cut ----------------------------------------------------------------------- */

/* Rows [row, row + n_rows) of `lanes` slices from z on. */
static void backproject_rows(const struct backprojection *work, int64_t z, int lanes, bool wide, int64_t row,
                             int64_t n_rows, float *sums, float *room)
{
    const int64_t n_views = work->sinogram.axes[1].n, n_detectors = work->sinogram.axes[2].n;
    const int64_t n_columns = work->n_columns, slice = work->n_rows * n_columns, most = block_views(n_detectors);
    memset(sums, 0, (size_t)(n_rows * n_columns * lanes) * sizeof *sums);
    for (int64_t view = 0; view < n_views; view += most) {
        struct slice_block block = {.data = room,
                                    .along_rows = true,
                                    .m_first = view,
                                    .n_major = n_views - view < most ? n_views - view : most,
                                    .n_minor = n_detectors,
                                    .stride = n_detectors + 2 * BLOCK_MARGIN};
        ts_slice_block_fill(&work->sinogram, z, lanes, &block);
        if (wide && lanes == 1) /* the room is that of 16 slices: there is enough of it beyond the last sample */
            ts_back_wide_add(work->views + view, &block, row, n_rows, n_columns, sums);
        else
            (lanes == 16 ? add_block_16 : lanes == 4 ? add_block_4 : add_block_1)(work, &block, row, n_rows, sums);
    }
    for (int lane = 0; lane < lanes; lane++) {
        float *to = work->out + (z + lane) * slice + row * n_columns;
        for (int64_t i = 0; i < n_rows * n_columns; i++)
            to[i] = sums[i * lanes + lane];
    }
}

static int lanes_for(int64_t slices_left)
{
    return slices_left >= 16 ? 16 : slices_left >= 4 ? 4 : 1;
}

_Static_assert((BLOCK_LANES - 1) * 2 * BLOCK_MARGIN > BACK_WIDE_BEYOND, "the room of one line of one detector");

void ts_backprojection_run(const struct backprojection *work, void *scratch)
{
    const int64_t nz = work->sinogram.axes[0].n, n_rows = work->n_rows;
    const bool wide = !work->fans && ts_back_wide_takes(work->views, work->sinogram.axes[1].n);
    const size_t sums = sum_bytes(work->n_columns), room = sums + block_bytes(work->sinogram.axes[2].n);
    for (int64_t z = 0; z < nz;) {
        /* All full groups of one width, then the next width. */
        const int lanes = lanes_for(nz - z);
        const int64_t groups = (nz - z) / lanes, most = rows_at_once(work->n_columns, lanes);
        const int64_t wanted = (n_rows + most - 1) / most, spread = (2 * work->threads + groups - 1) / groups;
        const int64_t parts = work->threads > 1 && spread > wanted ? (spread < n_rows ? spread : n_rows) : wanted;
#pragma omp parallel for schedule(dynamic) num_threads(work->threads)
        for (int64_t task = 0; task < groups * parts; task++) {
            const int64_t group = task / parts, part = task % parts;
            const int64_t first = n_rows * part / parts, end = n_rows * (part + 1) / parts;
            unsigned char *own = (unsigned char *)scratch + (size_t)omp_get_thread_num() * room;
            backproject_rows(work, z + group * lanes, lanes, wide, first, end - first, (float *)own,
                             (float *)(own + sums));
        }
        z += groups * lanes;
    }
}
