/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice is done at a time and its rows are spread over the threads; loops over neighboring detector pixels
 * vectorize. Only the part that the damping removes is transformed back and subtracted (see the header), so that an
 * image without stripes keeps its values. Every sum runs in rising index of the filter, of the view or of the wave, so
 * that threads do not change the bytes.
 */
#include "stages/scan/ring_wavelet.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/border.h"

enum { COLUMNS = 16, RUN = 512, MARGIN = WAVELET_LONGEST };

/* ---- levels and tables ------------------------------------------------------------------------- */

STAGE_PARAMS_OF(ring_params)

int64_t ts_ring_deepest(const struct stage_context *context, int32_t wavelet)
{
    const int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n;
    const int64_t shorter = views < detectors ? views : detectors, reach = ts_wavelets[wavelet].length - 1;
    int64_t level = 1;
    while (level < RING_LEVELS && shorter >> (level + 1) >= reach)
        level++;
    return level;
}

void ts_ring_levels(const struct stage_context *context, struct ring_levels *levels)
{
    const struct ring_params *params = params_of(context);
    const int length = ts_wavelets[params->wavelet].length;
    int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n;
    *levels = (struct ring_levels){.n = (int)params->level, .length = length, .tables = 2 * length};
    for (int i = 0; i < levels->n; i++) {
        struct ring_level *level = &levels->at[i];
        const double weakest = params->sigma * sqrt(2 * log(1e9));
        *level = (struct ring_level){.views = views,
                                     .detectors = detectors,
                                     .half_views = (views + length - 1) / 2,
                                     .half_detectors = (detectors + length - 1) / 2,
                                     .part = levels->parts,
                                     .table = levels->tables};
        const int64_t highest = level->half_views / 2;
        level->waves = 1 + (weakest < (double)highest ? (int64_t)weakest : highest);
        levels->parts += level->half_views * level->half_detectors;
        levels->tables += 2 * level->half_views + level->waves;
        views = level->half_views;
        detectors = level->half_detectors;
    }
}

void ts_ring_tables(const struct stage_context *context, float *tables)
{
    const struct ring_params *params = params_of(context);
    const struct wavelet *wavelet = &ts_wavelets[params->wavelet];
    struct ring_levels levels;
    ts_ring_levels(context, &levels);
    for (int i = 0; i < wavelet->length; i++) {
        tables[i] = (float)wavelet->scaling[wavelet->length - 1 - i];
        tables[wavelet->length + i] = (float)((i % 2 ? 1 : -1) * wavelet->scaling[i]);
    }
    for (int i = 0; i < levels.n; i++) {
        const struct ring_level *level = &levels.at[i];
        const int64_t n = level->half_views;
        float *cosines = tables + level->table, *sines = cosines + n, *weights = sines + n;
        for (int64_t view = 0; view < n; view++) {
            cosines[view] = (float)cos(2 * M_PI * (double)view / (double)n);
            sines[view] = (float)sin(2 * M_PI * (double)view / (double)n);
        }
        for (int64_t k = 0; k < level->waves; k++) {
            const double at = (double)k / params->sigma;
            weights[k] = (float)(exp(-0.5 * at * at) * (k == 0 || 2 * k == n ? 1 : 2) / (double)n);
        }
    }
}

/* ---- scratch ----------------------------------------------------------------------------------- */

struct scratch {
    float *tables, *image; /* image: values of other types than f32 as floats */
    float *half;           /* t */
    float *even, *odd;     /* a and c of levels 2, 4 ... and 1, 3 ... */
    float *parts, *lines;  /* lines: the phases of a row for each thread */
};

static int64_t line_length(const struct stage_context *context)
{
    return (context->in.axes[2].n + 6 * MARGIN) / 2 * 2;
}

static struct scratch lay_out(const struct stage_context *context, const struct ring_levels *levels,
                              struct memory_layout *layout)
{
    const struct ring_level *first = &levels->at[0], *second = &levels->at[levels->n > 1 ? 1 : 0];
    const int64_t image = context->in.dtype == TS_F32 ? 0 : first->views * first->detectors;
    struct scratch scratch;
    scratch.tables = ts_layout_add(layout, (size_t)levels->tables * sizeof(float));
    scratch.image = ts_layout_add(layout, (size_t)image * sizeof(float));
    scratch.half = ts_layout_add(layout, (size_t)(first->half_views * first->detectors) * sizeof(float));
    scratch.odd = ts_layout_add(layout, (size_t)(first->half_views * first->half_detectors) * sizeof(float));
    scratch.even = ts_layout_add(layout, (size_t)(second->half_views * second->half_detectors) * sizeof(float));
    scratch.parts = ts_layout_add(layout, (size_t)levels->parts * sizeof(float));
    scratch.lines = ts_layout_add(layout, (size_t)(context->threads * line_length(context)) * sizeof(float));
    return scratch;
}

size_t ts_ring_wavelet_scratch(const struct stage_context *context)
{
    struct memory_layout layout = {0};
    struct ring_levels levels;
    ts_ring_levels(context, &levels);
    lay_out(context, &levels, &layout);
    return layout.bytes;
}

/* ---- rows and columns -------------------------------------------------------------------------- */

TS_VECTORIZED static void add_scaled(float *out, const float *in, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] += factor * in[i];
}

/* Makes t from a: row k is the sum of low[j] times row 2 k + 1 - j. */
static void views_down(const struct ring_level *level, const float *low, int length, const float *a, float *t,
                       int threads)
{
    const int64_t n = level->detectors;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < level->half_views; k++) {
        memset(t + k * n, 0, (size_t)n * sizeof *t);
        for (int j = 0; j < length; j++)
            add_scaled(t + k * n, a + ts_border_index(2 * k + 1 - j, level->views, BORDER_REFLECT) * n, low[j], n);
    }
}

/* Makes c from t, and writes it, or image - c where there is an image: row 2 m + odd of c is the sum of every second
 * coefficient of the synthesis filter times the rows of t from m on. */
static void views_up(const struct ring_level *level, const float *low, int length, const float *t, const float *image,
                     float *out, int threads)
{
    const int64_t n = level->detectors;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < level->views; row++)
        for (int64_t first = 0; first < n; first += RUN) {
            const int64_t run = n - first < RUN ? n - first : RUN;
            float c[RUN] = {0};
            for (int q = 0; q < length / 2; q++)
                add_scaled(c, t + (row / 2 + q) * n + first, low[1 - row % 2 + 2 * q], run);
            for (int64_t i = 0; i < run; i++)
                out[row * n + first + i] = image ? image[row * n + first + i] - c[i] : c[i];
        }
}

/* Filters a row and keeps every second value. phases: the values at even and those at odd places, each with a margin
 * before it. */
static void filter_down(float *const phases[2], const float *filter, int length, float *out, int64_t n)
{
    memset(out, 0, (size_t)n * sizeof *out);
    for (int j = 0; j < length; j++)
        add_scaled(out, phases[1 - j % 2] - j / 2, filter[j], n);
}

static void detectors_down(const struct ring_level *level, const float *filters, int length, const float *t, float *a,
                           float *v, const struct scratch *scratch, const struct stage_context *context)
{
    const int64_t n = level->detectors, half = level->half_detectors;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < level->half_views; row++) {
        float *lines = scratch->lines + omp_get_thread_num() * line_length(context);
        float *const phases[] = {lines + MARGIN, lines + line_length(context) / 2 + MARGIN};
        for (int64_t i = -(length / 2); i < half; i++)
            for (int odd = 0; odd < 2; odd++)
                phases[odd][i] = t[row * n + ts_border_index(2 * i + odd, n, BORDER_REFLECT)];
        if (a)
            filter_down(phases, filters, length, a + row * half, half);
        filter_down(phases, filters + length, length, v + row * half, half);
    }
}

/* Adds a filtered row to the values at even and at odd places. */
static void filter_up(const float *in, const float *filter, int length, float *const phases[2], int64_t n)
{
    for (int q = 0; q < length / 2; q++)
        for (int odd = 0; odd < 2; odd++)
            add_scaled(phases[odd], in + q, filter[1 - odd + 2 * q], (n + 1 - odd) / 2);
}

/* Makes t from c, where there is one, and v. */
static void detectors_up(const struct ring_level *level, const float *filters, int length, const float *c,
                         const float *v, float *t, const struct scratch *scratch, const struct stage_context *context)
{
    const int64_t n = level->detectors, half = level->half_detectors;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < level->half_views; row++) {
        float *lines = scratch->lines + omp_get_thread_num() * line_length(context);
        float *const phases[] = {lines, lines + line_length(context) / 2};
        memset(lines, 0, (size_t)line_length(context) * sizeof *lines);
        if (c)
            filter_up(c + row * half, filters, length, phases, n);
        filter_up(v + row * half, filters + length, length, phases, n);
        for (int64_t x = 0; x < n; x++)
            t[row * n + x] = phases[x % 2][x / 2];
    }
}

/* ---- waves ------------------------------------------------------------------------------------- */

struct wave {
    float cosine[COLUMNS], sine[COLUMNS];
};

/* Replaces columns of v, 16 at most, by the part that damping removes from them. */
TS_VECTORIZED static void keep_waves(const struct ring_level *level, const float *tables, float *v, int64_t n_columns)
{
    const int64_t n = level->half_views, stride = level->half_detectors;
    const float *cosines = tables + level->table, *sines = cosines + n, *weights = sines + n;
    struct wave waves[RING_WAVES];
    memset(waves, 0, (size_t)level->waves * sizeof *waves);
    for (int64_t view = 0; view < n; view++) {
        float line[COLUMNS] = {0};
        memcpy(line, v + view * stride, (size_t)n_columns * sizeof *line);
        for (int64_t k = 0, at = 0; k < level->waves; k++, at = at + view < n ? at + view : at + view - n) {
            const float cosine = cosines[at], sine = sines[at];
            for (int l = 0; l < COLUMNS; l++) {
                waves[k].cosine[l] += cosine * line[l];
                waves[k].sine[l] += sine * line[l];
            }
        }
    }
    for (int64_t view = 0; view < n; view++) {
        float line[COLUMNS] = {0};
        for (int64_t k = 0, at = 0; k < level->waves; k++, at = at + view < n ? at + view : at + view - n) {
            const float cosine = weights[k] * cosines[at], sine = weights[k] * sines[at];
            for (int l = 0; l < COLUMNS; l++)
                line[l] += cosine * waves[k].cosine[l] + sine * waves[k].sine[l];
        }
        memcpy(v + view * stride, line, (size_t)n_columns * sizeof *line);
    }
}

static void damp(const struct ring_level *level, const float *tables, float *v, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t d = 0; d < level->half_detectors; d += COLUMNS) {
        const int64_t left = level->half_detectors - d;
        keep_waves(level, tables, v + d, left < COLUMNS ? left : COLUMNS);
    }
}

/* ---- a slice ----------------------------------------------------------------------------------- */

static void clean_slice(const struct stage_context *context, const struct ring_levels *levels,
                        const struct scratch *scratch, const float *image, float *out)
{
    const float *filters = scratch->tables;
    const int length = levels->length, threads = context->threads, last = levels->n - 1;
    const float *a = image;
    for (int i = 0; i <= last; i++) {
        const struct ring_level *level = &levels->at[i];
        float *next = i % 2 ? scratch->even : scratch->odd, *v = scratch->parts + level->part;
        views_down(level, filters, length, a, scratch->half, threads);
        detectors_down(level, filters, length, scratch->half, i < last ? next : NULL, v, scratch, context);
        damp(level, scratch->tables, v, threads);
        a = next;
    }
    const float *c = NULL;
    for (int i = last; i >= 0; i--) {
        const struct ring_level *level = &levels->at[i];
        float *next = i % 2 ? scratch->odd : scratch->even; /* of the level above */
        detectors_up(level, filters, length, c, scratch->parts + level->part, scratch->half, scratch, context);
        views_up(level, filters, length, scratch->half, i > 0 ? NULL : image, i > 0 ? next : out, threads);
        c = next;
    }
}

enum ts_status ts_ring_wavelet(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                               void *buffer)
{
    struct memory_layout layout = {.base = buffer};
    struct ring_levels levels;
    ts_ring_levels(context, &levels);
    const struct scratch scratch = lay_out(context, &levels, &layout);
    ts_ring_tables(context, scratch.tables);
    for (int64_t z = 0; z < in->axes[0].n; z++) {
        const float *image = ts_slice_data(in, z);
        if (in->dtype != TS_F32) {
            ts_load_f32(scratch.image, image, in->dtype, ts_slice_count(in));
            image = scratch.image;
        }
        clean_slice(context, &levels, &scratch, image, ts_slice_data(out, z));
    }
    return TS_OK;
}
