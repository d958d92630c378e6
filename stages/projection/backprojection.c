/* SPDX-License-Identifier: Apache-2.0
 *
 * The work consists of runs of 64 pixels of a row times blocks of a few views. For a run, the place
 * of each pixel in each view (in double) and the weights of the two samples beside it are computed;
 * then the samples are summed over the views, for 16, 4 or 1 slices in the same order of
 * operations. A single slice is summed by stages/projection/one_slice.h if the machine and the
 * views allow it.
 */
#include "stages/projection/backprojection.h"

#include <math.h>
#include <string.h>

#include "stages/projection/one_slice.h"

enum {
    PIXEL_RUN = 64,     /* pixels whose places are computed at once */
    SUM_BYTES = 4 << 20 /* bytes of the sums that one thread works on */
};

static struct slice_work work_of(int64_t n_detectors, int64_t n_columns, int threads)
{
    return (struct slice_work){.line_samples = n_columns,
                               .sum_bytes = SUM_BYTES,
                               .block_bytes = ts_slice_block_bytes(n_detectors),
                               .threads = threads};
}

size_t ts_backprojection_scratch(int64_t n_detectors, int64_t n_columns, int threads)
{
    const struct slice_work work = work_of(n_detectors, n_columns, threads);
    return ts_slice_work_scratch(&work);
}

/* ---- where a run of pixels lies in the views of a block -------------------------------------- */

/* The index of a sample within the block, with the weights of it and of the next sample. */
struct places {
    int32_t index[BLOCK_LINES][PIXEL_RUN];
    float below[BLOCK_LINES][PIXEL_RUN], above[BLOCK_LINES][PIXEL_RUN];
};

ALWAYS_INLINE void find_places(const struct back_view *views, const struct slice_block *block,
                               int64_t row, int64_t first, int64_t n, struct places *places)
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
            if (!inside) /* decided once for the whole run */
                at = at < low ? low : at > high ? high : at;
            const int32_t index = (int32_t)(at + BLOCK_MARGIN); /* the number is positive, so this
                                                                 * is floor */
            places->index[v][p] = line + index;
            places->above[v][p] = (float)(at + BLOCK_MARGIN - (double)index);
        }
        for (int64_t p = 0; p < n;
             p++) { /* `above` still holds how far the pixel is past the detector pixel below */
            const float below = scale - slope * places->above[v][p],
                        above = scale - slope * (1 - places->above[v][p]);
            places->below[v][p] = below > 0 ? below : 0;
            places->above[v][p] = above > 0 ? above : 0;
        }
    }
}

/* Does the same for a fan. */
ALWAYS_INLINE void find_fan_places(const struct backprojection *work,
                                   const struct slice_block *block, int64_t row, int64_t first,
                                   int64_t n, struct places *places)
{
    const double low = -BLOCK_MARGIN, high = (double)block->n_minor;
    for (int64_t v = 0; v < block->n_major; v++) {
        const struct fan_view *view = &work->fans[block->m_first + v];
        const int32_t line = (int32_t)(v * block->stride);
        for (int64_t p = 0; p < n; p++) {
            const struct fan_place place =
                ts_fan_place(&work->fan_grid, view, (double)row, (double)(int32_t)(first + p));
            const double at = place.at < low ? low : place.at > high ? high : place.at;
            const int32_t index = (int32_t)(at + BLOCK_MARGIN); /* the number is positive, so this
                                                                 * is floor */
            const double past = at + BLOCK_MARGIN - (double)index;
            places->index[v][p] = line + index;
            places->below[v][p] = (float)(place.weight * (1 - past));
            places->above[v][p] = (float)(place.weight * past);
        }
    }
}

#define TS_LOOPS "stages/projection/backprojection.inc"
#include "core/vectors.inc"

ALWAYS_INLINE void add_run_4(const struct slice_block *block, const struct places *places,
                             int64_t n, float *sums)
{
    for (int64_t p = 0; p < n; p++) {
        slices_4 partial = {0};
        for (int64_t v = 0; v < block->n_major; v++) {
            const slices_4 *sample = (const slices_4 *)block->data + places->index[v][p];
            partial += places->below[v][p] * sample[0] + places->above[v][p] * sample[1];
        }
        ((slices_4 *)sums)[p] += partial;
    }
}

/* For one slice the loops are exchanged, so that vectors run over pixels. A sample and its neighbor
 * are loaded as one pair. Places from n up to the next multiple of 4 are read. */
ALWAYS_INLINE void add_run_1(const struct slice_block *block, const struct places *places,
                             int64_t n, float *sums)
{
    typedef double loads __attribute__((vector_size(16)));
    slices_4 partial[PIXEL_RUN / 4] = {{0}};
    for (int64_t v = 0; v < block->n_major; v++) {
        const slices_4 *below = (const slices_4 *)places->below[v],
                       *above = (const slices_4 *)places->above[v];
        for (int64_t k = 0; k < (n + 3) / 4; k++) {
            double pair[4];
            for (int i = 0; i < 4; i++)
                memcpy(&pair[i], block->data + places->index[v][4 * k + i], sizeof pair[i]);
            const slices_4 left = (slices_4)(loads){pair[0], pair[1]},
                           right = (slices_4)(loads){pair[2], pair[3]};
            partial[k] += below[k] * __builtin_shufflevector(left, right, 0, 2, 4, 6) +
                          above[k] * __builtin_shufflevector(left, right, 1, 3, 5, 7);
        }
    }
    for (int64_t p = 0; p < n; p++)
        sums[p] += partial[p / 4][p % 4];
}

/* Does the same if rays are closer than a pixel: more than two detector pixels count, each with its
 * weight. */
static void add_run_fine(const struct back_view *views, const struct slice_block *block,
                         int64_t row, int64_t first, int64_t n, int slices, float *sums)
{
    for (int64_t p = 0; p < n; p++) {
        float partial[BLOCK_SLICES] = {0};
        for (int64_t v = 0; v < block->n_major; v++) {
            const struct back_view view = views[v];
            const double at =
                view.base + (double)row * view.per_row + (double)(first + p) * view.per_column;
            const double reach = 1 / view.width, high = (double)(block->n_minor - 1);
            const int64_t end = (int64_t)fmin(at + reach, high);
            for (int64_t d = (int64_t)ceil(fmax(at - reach, 0)); d <= end && at + reach >= 0; d++) {
                const double weight = 1 - view.width * fabs((double)d - at);
                const float factor = (float)(view.scale * (weight > 0 ? weight : 0));
                const float *sample = block->data + (v * block->stride + BLOCK_MARGIN + d) * slices;
                for (int slice = 0; slice < slices; slice++)
                    partial[slice] += factor * sample[slice];
            }
        }
        for (int slice = 0; slice < slices; slice++)
            sums[p * slices + slice] += partial[slice];
    }
}

ALWAYS_INLINE void add_block(const struct backprojection *work, const struct slice_block *block,
                             int64_t row, int64_t n_rows, float *sums, const int slices)
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
            float *own = sums + (r * n_columns + first) * slices;
            if (fine) {
                add_run_fine(views, block, row + r, first, n, slices, own);
                continue;
            }
            if (work->fans)
                find_fan_places(work, block, row + r, first, n, &places);
            else
                find_places(views, block, row + r, first, n, &places);
            if (slices == 16)
                TS_WIDEST(add_run_of_16)(block, &places, n, own);
            else if (slices == 4)
                add_run_4(block, &places, n, own);
            else
                add_run_1(block, &places, n, own);
        }
}

#define ADD_BLOCK(slices)                                                                          \
    TS_VECTORIZED static void add_block_##slices(const struct backprojection *work,                \
                                                 const struct slice_block *block, int64_t row,     \
                                                 int64_t n_rows, float *sums)                      \
    {                                                                                              \
        add_block(work, block, row, n_rows, sums, slices);                                         \
    }
ADD_BLOCK(16)
ADD_BLOCK(4)
ADD_BLOCK(1)

struct job {
    const struct backprojection *work;
    one_slice_backprojector *one_slice; /* may be NULL */
};

/* Backprojects rows of pixels of several slices, over all blocks of views. */
static void backproject_rows(const void *data, const struct slice_part *part, float *sums,
                             float *samples)
{
    const struct job *job = data;
    const struct backprojection *work = job->work;
    const int64_t n_views = work->sinogram.axes[1].n, n_detectors = work->sinogram.axes[2].n;
    const int64_t n_columns = work->n_columns, n = part->n * n_columns;
    const int slices = part->slices;
    memset(sums, 0, (size_t)(n * slices) * sizeof *sums);
    for (int64_t view = 0; view < n_views; view += ts_slice_block_lines(n_detectors)) {
        struct slice_block block = ts_slice_block(samples, true, view, n_views, n_detectors);
        ts_slice_block_fill(&work->sinogram, part->z, slices, &block);
        if (job->one_slice && slices == 1) /* the buffer is made for 16 slices, so ONE_SLICE_BEYOND
                                            * samples more may be read */
            job->one_slice(work->views + view, &block, part->first, part->n, n_columns, sums);
        else
            (slices == 16  ? add_block_16
             : slices == 4 ? add_block_4
                           : add_block_1)(work, &block, part->first, part->n, sums);
    }
    for (int slice = 0; slice < slices; slice++) {
        float *to = work->out + ((part->z + slice) * work->n_rows + part->first) * n_columns;
        for (int64_t i = 0; i < n; i++)
            to[i] = sums[i * slices + slice];
    }
}

_Static_assert((BLOCK_SLICES - 1) * 2 * BLOCK_MARGIN > ONE_SLICE_BEYOND,
               "a block of one line of one sample");

void ts_backprojection_run(const struct backprojection *work, void *scratch)
{
    const int64_t n_views = work->sinogram.axes[1].n, n_detectors = work->sinogram.axes[2].n;
    const struct job job = {work,
                            work->fans ? NULL : ts_one_slice_backprojector(work->views, n_views)};
    struct slice_work parts = work_of(n_detectors, work->n_columns, work->threads);
    parts.n_slices = work->sinogram.axes[0].n;
    parts.n_lines = work->n_rows;
    ts_slice_work_run(&parts, backproject_rows, &job, scratch);
}
