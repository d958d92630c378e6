/* SPDX-License-Identifier: Apache-2.0
 *
 * On the CPU a thread takes one view of 16, 4 or 1 slices and goes through their pixels, row by
 * row. The places of a row of pixels are computed once for all slices, whose samples and sums are
 * side by side. Sums are in double, in the order of the pixels, so that they depend neither on the
 * threads nor on other slices.
 */
#include "stages/projection/back_transpose.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "core/vectors.h"
#include "stages/projection/reconstruction.h"
#include "stages/projection/slice_block.h"

enum { MARGIN = 2 }; /* sums beyond each end of the detector, which are dropped */

struct back_transpose_params {
    const struct stage_context *forth;
};

const struct stage *ts_back_transpose_table(const struct stage_context *context)
{
    (void)context;
    return &back_transpose_stage;
}

enum ts_status ts_back_transpose_describe(const struct stage_context *context,
                                          struct param_set *set, struct stage_gather *gather,
                                          struct arena *arena)
{
    struct back_transpose_params *params = set->values;
    (void)gather;
    (void)arena;
    params->forth = context;
    return TS_OK;
}

struct stage_context ts_back_transpose_forth(const struct stage_context *context)
{
    const struct back_transpose_params *params = context->params;
    struct stage_context forth = *params->forth;
    forth.diag = context->diag;
    memcpy(forth.transforms, context->transforms, sizeof forth.transforms);
    return forth;
}

static enum ts_status back_transpose_shape(const struct stage_context *context,
                                           struct ts_image *out)
{
    *out = ts_back_transpose_forth(context).in;
    return TS_OK;
}

static int back_transpose_transforms(const struct stage_context *context,
                                     struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct stage_context forth = ts_back_transpose_forth(context);
    return ts_reconstruction_transforms(&forth, shapes);
}

/* ---- scratch --------------------------------------------------------------------------------- */

/* Where a row of pixels is in a view: sums at[column] and the one behind it get the pixel's value
 * times its weights. */
struct places {
    int32_t *at;
    float *below, *above;
    float *samples; /* [column][slice] */
    double *sums;   /* [detector pixel][slice] */
};

struct work {
    struct stage_context forth;
    struct beam_scan scan;
    bool fan;
    struct fan_range range;
    struct fan_grid fan_grid;
    void *views; /* struct back_view or struct fan_view */
    struct beam_detector *detectors;
    void *step; /* for one step after the other */
    size_t own_bytes;
};

static int64_t sums_of_slice(const struct work *work)
{
    return work->scan.grid.n_detectors + 2 * MARGIN;
}

static struct places lay_out_own(const struct work *work, struct memory_layout *layout)
{
    const size_t n = (size_t)work->scan.grid.n_columns;
    struct places places;
    places.at = ts_layout_add(layout, n * sizeof *places.at);
    places.below = ts_layout_add(layout, n * sizeof *places.below);
    places.above = ts_layout_add(layout, n * sizeof *places.above);
    places.samples = ts_layout_add(layout, BLOCK_SLICES * n * sizeof *places.samples);
    places.sums =
        ts_layout_add(layout, BLOCK_SLICES * (size_t)sums_of_slice(work) * sizeof(double));
    return places;
}

static struct work lay_out(const struct stage_context *context, struct memory_layout *layout)
{
    struct work work = {.forth = ts_back_transpose_forth(context)};
    struct memory_layout own = {0};
    work.scan = ts_reconstruction_scan(&work.forth);
    work.fan = ts_image_is_fan(&work.forth.in);
    lay_out_own(&work, &own);
    work.own_bytes = own.bytes;
    const struct row_filter filter = ts_reconstruction_filter(&work.forth);
    const size_t n_views = (size_t)work.scan.n_views, n = (size_t)filter.n,
                 threads = (size_t)context->threads;
    const size_t needs[] = {n_views * VIEW_SCRATCH_BYTES, threads * own.bytes,
                            ts_row_filter_scratch(&filter, context->threads),
                            threads * n * sizeof(float)};
    size_t largest = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        largest = needs[i] > largest ? needs[i] : largest;
    work.views = ts_layout_add(
        layout, n_views * (work.fan ? sizeof(struct fan_view) : sizeof(struct back_view)));
    work.detectors = ts_layout_add(layout, work.fan ? n * sizeof *work.detectors : 0);
    work.step = ts_layout_add(layout, largest);
    return work;
}

static size_t back_transpose_scratch(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    (void)n;
    lay_out(context, &layout);
    return layout.bytes;
}

/* ---- the backprojection's transpose ---------------------------------------------------------- */

/* Splits a place into the sum below it and the way past that. There are no detector pixels beyond
 * the ends, so any place there will do. */
static double past(double place, int64_t n_detectors, int32_t *at)
{
    const double from = fmin(fmax(place, -MARGIN), (double)n_detectors) + MARGIN;
    *at = (int32_t)from;
    return from - *at;
}

static void find_places(const struct work *work, int64_t v, int64_t row,
                        const struct places *places)
{
    const int64_t n = work->scan.grid.n_detectors;
    const struct back_view *views = work->views, view = views[v];
    const double start = view.base + (double)row * view.per_row;
    const float scale = (float)view.scale, slope = (float)(view.scale * view.width);
    for (int64_t c = 0; c < work->scan.grid.n_columns; c++) {
        const float way = (float)past(start + (double)c * view.per_column, n, &places->at[c]);
        const float below = scale - slope * way, above = scale - slope * (1 - way);
        places->below[c] = below > 0 ? below : 0;
        places->above[c] = above > 0 ? above : 0;
    }
}

static void find_fan_places(const struct work *work, int64_t v, int64_t row,
                            const struct places *places)
{
    const struct fan_view *views = work->views;
    for (int64_t c = 0; c < work->scan.grid.n_columns; c++) {
        const struct fan_place place =
            ts_fan_place(&work->fan_grid, &views[v], (double)row, (double)c);
        const double way = past(place.at, work->scan.grid.n_detectors, &places->at[c]);
        places->below[c] = (float)(place.weight * (1 - way));
        places->above[c] = (float)(place.weight * way);
    }
}

ALWAYS_INLINE void add_row(const struct places *places, int64_t n_columns, const int slices)
{
    for (int64_t c = 0; c < n_columns; c++) {
        const double below = places->below[c], above = places->above[c];
        const float *sample = places->samples + c * slices;
        double *sum = places->sums + (int64_t)places->at[c] * slices;
        for (int s = 0; s < slices; s++) {
            sum[s] += below * sample[s];
            sum[s + slices] += above * sample[s];
        }
    }
}

#define ADD_ROW(slices)                                                                            \
    TS_VECTORIZED static void add_row_##slices(const struct places *places, int64_t n_columns)     \
    {                                                                                              \
        add_row(places, n_columns, slices);                                                        \
    }
ADD_ROW(16)
ADD_ROW(4)
ADD_ROW(1)

/* Adds a row of a view whose rays are closer than a pixel: more than two detector pixels count,
 * each with its weight. */
static void add_fine_row(const struct work *work, const struct back_view *view, int64_t row,
                         const struct places *places, int slices)
{
    const double reach = 1 / view->width, last = (double)(work->scan.grid.n_detectors - 1);
    for (int64_t c = 0; c < work->scan.grid.n_columns; c++) {
        const double at = view->base + (double)row * view->per_row + (double)c * view->per_column;
        const double end = fmin(at + reach, last);
        for (double d = ceil(fmax(at - reach, 0)); d <= end; d++) {
            const double weight = (float)(view->scale * fmax(1 - view->width * fabs(d - at), 0));
            double *sum = places->sums + (MARGIN + (int64_t)d) * slices;
            for (int s = 0; s < slices; s++)
                sum[s] += weight * places->samples[c * slices + s];
        }
    }
}

/* Adds the pixels of some slices in one view. */
static void add_view(const struct work *work, int64_t v, const struct ts_image *in, int64_t z,
                     int slices, const struct places *places)
{
    const int64_t n_rows = work->scan.grid.n_rows, n_columns = work->scan.grid.n_columns;
    const struct back_view *views = work->views;
    const bool fine = !work->fan && views[v].width < 1 - 1e-9;
    for (int64_t row = 0; row < n_rows; row++) {
        for (int s = 0; s < slices; s++) {
            const float *line = (const float *)in->data + ((z + s) * n_rows + row) * n_columns;
            for (int64_t c = 0; c < n_columns; c++)
                places->samples[c * slices + s] = line[c];
        }
        if (fine) {
            add_fine_row(work, &views[v], row, places, slices);
            continue;
        }
        (work->fan ? find_fan_places : find_places)(work, v, row, places);
        (slices == 16 ? add_row_16 : slices == 4 ? add_row_4 : add_row_1)(places, n_columns);
    }
}

static void project(const struct work *work, const struct ts_image *in, struct ts_image *out)
{
    const int64_t nz = out->axes[0].n, n_views = work->scan.n_views,
                  n_detectors = work->scan.grid.n_detectors;
    for (int64_t z = 0, groups; z < nz; z += groups * ts_slice_group(nz - z)) {
        const int slices = ts_slice_group(nz - z);
        groups = (nz - z) / slices;
#pragma omp parallel for schedule(dynamic) num_threads(work->forth.threads)
        for (int64_t i = 0; i < groups * n_views; i++) {
            const int64_t v = i % n_views, first = z + i / n_views * slices;
            struct memory_layout own = {.base = (char *)work->step +
                                                (size_t)omp_get_thread_num() * work->own_bytes};
            const struct places places = lay_out_own(work, &own);
            memset(places.sums, 0, (size_t)(slices * sums_of_slice(work)) * sizeof *places.sums);
            add_view(work, v, in, first, slices, &places);
            for (int s = 0; s < slices; s++) {
                float *row = (float *)out->data + ((first + s) * n_views + v) * n_detectors;
                for (int64_t d = 0; d < n_detectors; d++)
                    row[d] = (float)places.sums[(MARGIN + d) * slices + s];
            }
        }
    }
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* Multiplies the rows of a fan by the weights that they have before the filter. */
static void weigh_rows(const struct work *work, struct ts_image *out)
{
    const int64_t n = work->scan.grid.n_detectors, n_views = work->scan.n_views;
    for (int64_t d = 0; d < n; d++)
        work->detectors[d] = ts_beam_detector(&work->scan, d);
#pragma omp parallel for num_threads(work->forth.threads)
    for (int64_t v = 0; v < n_views; v++) {
        float *own = (float *)work->step + omp_get_thread_num() * n;
        ts_fan_row_weights(&work->scan, &work->range, work->detectors, v, own);
        for (int64_t z = 0; z < out->axes[0].n; z++) {
            float *row = (float *)out->data + (z * n_views + v) * n;
            for (int64_t d = 0; d < n; d++)
                row[d] *= own[d];
        }
    }
}

static enum ts_status back_transpose_map(const struct stage_context *context,
                                         const struct ts_image *in, struct ts_image *out,
                                         void *buffer)
{
    struct memory_layout layout = {.base = buffer};
    struct work work = lay_out(context, &layout);
    const struct row_filter filter = ts_reconstruction_filter(&work.forth);
    if (work.fan) {
        work.range = ts_reconstruction_fans(&work.forth, work.views, work.step);
        work.fan_grid = ts_fan_grid(&work.scan);
    } else {
        ts_reconstruction_views(&work.forth, work.views, work.step);
    }
    project(&work, in, out);
    if (filter.name != ROW_FILTER_NONE)
        ts_row_filter_run(&work.forth, &filter, out, out->data, work.step);
    if (work.fan)
        weigh_rows(&work, out);
    return TS_OK;
}

const struct stage back_transpose_stage = {
    .name = "adjoint",
    .summary = "the adjoint of a reconstruction, for operators",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_F32),
    .quantities = TS_ANY_QUANTITY,
    .params_bytes = sizeof(struct back_transpose_params),
    .shape = back_transpose_shape,
    .transforms = back_transpose_transforms,
    .scratch_bytes = back_transpose_scratch,
    .map = back_transpose_map,
    .validity = VALIDITY_ENDS,
    .cuda = STAGE_CUDA(back_transpose_cuda),
};
