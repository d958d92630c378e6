/* SPDX-License-Identifier: Apache-2.0
 *
 * ring: removes vertical stripes from every sinogram (z, view, detector), which a reconstruction
 * would turn into rings.
 *
 * sorting: N. T. Vo, R. C. Atwood, M. Drakopoulos, Optics Express 26 (2018) 28396, algorithm 3. The
 * values of each detector pixel are sorted over the views. Along the detector, each rank is
 * smoothed by a median of `size` (reflected at the ends); then every value goes back to its view.
 * Detector pixels that differ by their response alone have parallel sorted curves, so that the
 * median removes the stripe and leaves the object. Equal values keep the order of their views.
 *
 * fourier-wavelet: stages/scan/ring_wavelet.h.
 */
#include "stages/scan/ring.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/border.h"
#include "stages/scan/ring_wavelet.h"
#include "stages/scan/wavelets.h"
#include "stages/values/finite_values.h"
#include "stages/values/value_keys.h"

/* The choices of a parameter `wavelet`, whose value is the index into ts_wavelets. */
static const struct choice wavelet_choices[] = {
    {"db1", 0, "the wavelet of A. Haar: one vanishing moment, 2 coefficients"},
    {"db2", 1, "2 vanishing moments, 4 coefficients"},
    {"db3", 2, "3 vanishing moments, 6 coefficients"},
    {"db4", 3, "4 vanishing moments, 8 coefficients"},
    {"db5", 4, "5 vanishing moments, 10 coefficients"},
    {"db6", 5, "6 vanishing moments, 12 coefficients"},
    {"db7", 6, "7 vanishing moments, 14 coefficients"},
    {"db8", 7, "8 vanishing moments, 16 coefficients"},
    {"db9", 8, "9 vanishing moments, 18 coefficients"},
    {"db10", 9, "10 vanishing moments, 20 coefficients"},
    {"db15", 10, "15 vanishing moments, 30 coefficients"},
    {"db20", 11, "20 vanishing moments, 40 coefficients"},
    {"db25", 12, "25 vanishing moments, 50 coefficients"},
    {NULL, 0, NULL},
};

/* fourier-wavelet works on one slice at a time and shares its rows out to the threads; loops
 * over neighboring detector pixels vectorize. Only the part that the damping removes is
 * transformed back and subtracted (stages/scan/ring_wavelet.h), so an image without stripes
 * keeps its values. Every sum runs in rising order of the filter, the views or the waves, so the
 * number of threads does not change the bytes. */

enum { COLUMNS = 16, RUN = 512, MARGIN = WAVELET_LONGEST };

/* ---- levels and tables ----------------------------------------------------------------------- */

STAGE_PARAMS_OF(ring_params)

/* Returns the deepest level whose filter still fits the image, at least 1 (pywt.dwt_max_level). */
static int64_t ring_deepest(const struct stage_context *context, int32_t wavelet)
{
    const int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n;
    const int64_t shorter = views < detectors ? views : detectors,
                  reach = ts_wavelets[wavelet].length - 1;
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

/* ---- scratch --------------------------------------------------------------------------------- */

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

static struct scratch lay_out_wavelet(const struct stage_context *context,
                                      const struct ring_levels *levels,
                                      struct memory_layout *layout)
{
    const struct ring_level *first = &levels->at[0], *second = &levels->at[levels->n > 1 ? 1 : 0];
    const int64_t image = context->in.dtype == TS_F32 ? 0 : first->views * first->detectors;
    struct scratch scratch;
    scratch.tables = ts_layout_add(layout, (size_t)levels->tables * sizeof(float));
    scratch.image = ts_layout_add(layout, (size_t)image * sizeof(float));
    scratch.half =
        ts_layout_add(layout, (size_t)(first->half_views * first->detectors) * sizeof(float));
    scratch.odd =
        ts_layout_add(layout, (size_t)(first->half_views * first->half_detectors) * sizeof(float));
    scratch.even = ts_layout_add(layout, (size_t)(second->half_views * second->half_detectors) *
                                             sizeof(float));
    scratch.parts = ts_layout_add(layout, (size_t)levels->parts * sizeof(float));
    scratch.lines =
        ts_layout_add(layout, (size_t)(context->threads * line_length(context)) * sizeof(float));
    return scratch;
}

/* These are scratch_bytes() and map() of a stage, for this method on the CPU. */
static size_t ring_wavelet_scratch(const struct stage_context *context)
{
    struct memory_layout layout = {0};
    struct ring_levels levels;
    ts_ring_levels(context, &levels);
    lay_out_wavelet(context, &levels, &layout);
    return layout.bytes;
}

/* ---- rows and columns ------------------------------------------------------------------------ */

TS_VECTORIZED static void add_scaled(float *out, const float *in, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] += factor * in[i];
}

/* Makes t from a: row k is the sum of low[j] times row 2 k + 1 - j. */
static void views_down(const struct ring_level *level, const float *low, int length, const float *a,
                       float *t, int threads)
{
    const int64_t n = level->detectors;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < level->half_views; k++) {
        memset(t + k * n, 0, (size_t)n * sizeof *t);
        for (int j = 0; j < length; j++)
            add_scaled(t + k * n,
                       a + ts_border_index(2 * k + 1 - j, level->views, BORDER_REFLECT) * n, low[j],
                       n);
    }
}

/* Makes c from t, and writes it, or image - c where there is an image: row 2 m + odd of c is the
 * sum of every second coefficient of the synthesis filter times the rows of t from m on. */
static void views_up(const struct ring_level *level, const float *low, int length, const float *t,
                     const float *image, float *out, int threads)
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

/* Filters a row and keeps every second value. phases: the values at even and those at odd places,
 * each with a margin before it. */
static void filter_down(float *const phases[2], const float *filter, int length, float *out,
                        int64_t n)
{
    memset(out, 0, (size_t)n * sizeof *out);
    for (int j = 0; j < length; j++)
        add_scaled(out, phases[1 - j % 2] - j / 2, filter[j], n);
}

static void detectors_down(const struct ring_level *level, const float *filters, int length,
                           const float *t, float *a, float *v, const struct scratch *scratch,
                           const struct stage_context *context)
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
static void filter_up(const float *in, const float *filter, int length, float *const phases[2],
                      int64_t n)
{
    for (int q = 0; q < length / 2; q++)
        for (int odd = 0; odd < 2; odd++)
            add_scaled(phases[odd], in + q, filter[1 - odd + 2 * q], (n + 1 - odd) / 2);
}

/* Makes t from c, if there is one, and v. */
static void detectors_up(const struct ring_level *level, const float *filters, int length,
                         const float *c, const float *v, float *t, const struct scratch *scratch,
                         const struct stage_context *context)
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

/* ---- waves ----------------------------------------------------------------------------------- */

struct wave {
    float cosine[COLUMNS], sine[COLUMNS];
};

/* Replaces up to 16 columns of v by the part that damping removes from them. */
TS_VECTORIZED static void keep_waves(const struct ring_level *level, const float *tables, float *v,
                                     int64_t n_columns)
{
    const int64_t n = level->half_views, stride = level->half_detectors;
    const float *cosines = tables + level->table, *sines = cosines + n, *weights = sines + n;
    struct wave waves[RING_WAVES];
    memset(waves, 0, (size_t)level->waves * sizeof *waves);
    for (int64_t view = 0; view < n; view++) {
        float line[COLUMNS] = {0};
        memcpy(line, v + view * stride, (size_t)n_columns * sizeof *line);
        for (int64_t k = 0, at = 0; k < level->waves;
             k++, at = at + view < n ? at + view : at + view - n) {
            const float cosine = cosines[at], sine = sines[at];
            for (int l = 0; l < COLUMNS; l++) {
                waves[k].cosine[l] += cosine * line[l];
                waves[k].sine[l] += sine * line[l];
            }
        }
    }
    for (int64_t view = 0; view < n; view++) {
        float line[COLUMNS] = {0};
        for (int64_t k = 0, at = 0; k < level->waves;
             k++, at = at + view < n ? at + view : at + view - n) {
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

/* ---- a slice --------------------------------------------------------------------------------- */

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
        detectors_down(level, filters, length, scratch->half, i < last ? next : NULL, v, scratch,
                       context);
        damp(level, scratch->tables, v, threads);
        a = next;
    }
    const float *c = NULL;
    for (int i = last; i >= 0; i--) {
        const struct ring_level *level = &levels->at[i];
        float *next = i % 2 ? scratch->odd : scratch->even; /* the result for the level above */
        detectors_up(level, filters, length, c, scratch->parts + level->part, scratch->half,
                     scratch, context);
        views_up(level, filters, length, scratch->half, i > 0 ? NULL : image, i > 0 ? next : out,
                 threads);
        c = next;
    }
}

static enum ts_status ring_wavelet(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *buffer)
{
    struct memory_layout layout = {.base = buffer};
    struct ring_levels levels;
    ts_ring_levels(context, &levels);
    const struct scratch scratch = lay_out_wavelet(context, &levels, &layout);
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

enum {
    RANKS = 16, /* ranks whose windows slide side by side */
    BLOCK = 16, /* detector pixels that a thread does together */
    DIGIT = 11, /* bits of a key that are sorted at once */
    DIGITS = 3, /* digits of 32 bits */
    BUCKETS = 1 << DIGIT
};

static const struct choice method_choices[] = {
    {"sorting", RING_SORTING,
     "median over neighboring detector pixels of the sorted values (Vo, Atwood, Drakopoulos, "
     "2018)"},
    {"fourier-wavelet", RING_WAVELET,
     "lowest frequencies along the views of what varies along the detector (Muench, Trtik, Marone, "
     "Stampanoni, 2009)"},
    {NULL, 0, NULL},
};

static const struct param ring_params[] = {
    PARAM(struct ring_params, method, .choices = method_choices, .init.choice = RING_SORTING,
          .doc = "how stripes are told from the object"),
    PARAM(struct ring_params, size, .unit = "detector", .min = 3, .max = RING_LARGEST,
          .derived = "1 % of the detector pixels, odd, at least 5; 21 for more than 2,000",
          .doc = "sorting: odd number of detector pixels in the median; more than twice the width "
                 "of the widest stripe"),
    PARAM(
        struct ring_params, wavelet, .choices = wavelet_choices, .init.choice = WAVELET_DB5,
        .doc =
            "fourier-wavelet: the wavelet; longer ones tell stripes from the object more sharply"),
    PARAM(struct ring_params, level, .min = 1, .max = RING_LEVELS,
          .derived = "floor(log2(n/(coefficients - 1))) of the shorter side n, at least 1",
          .doc = "fourier-wavelet: number of levels; level l takes out stripes about 2^l detector "
                 "pixels wide"),
    PARAM(struct ring_params, sigma, .min = 0.1, .max = 30, .init.r = 2,
          .doc = "fourier-wavelet: width of the damping, in periods over all views; larger takes "
                 "out shorter stripes"),
};

int ts_ring_places(int64_t n_views)
{
    int places = RING_LEAST_PLACES;
    while (places < n_views && places < 1 << 30)
        places *= 2;
    return places;
}

size_t ts_ring_column_bytes(int64_t n_views)
{
    const size_t places = (size_t)ts_ring_places(n_views);
    return (places + places / RING_LEAST_PLACES) * sizeof(uint64_t);
}

/* The parameters of the other method are idle, and an error if they were given. */
static enum ts_status check_unused(const struct stage_context *context,
                                   const struct ring_params *params)
{
    static const char *const of_sorting[] = {"size", NULL}, *const of_wavelet[] = {
                                                                "wavelet", "level", "sigma", NULL};
    for (const char *const *name = params->method == RING_SORTING ? of_wavelet : of_sorting; *name;
         name++) {
        if (ts_param_given(context->set, *name))
            return ts_param_error(context->set, *name, "parameter-unused", context->diag,
                                  "has no part in method: %s",
                                  ts_choice_name(method_choices, params->method));
        ts_param_idle(context->set, *name);
    }
    return TS_OK;
}

static enum ts_status resolve_sorting(const struct stage_context *context,
                                      struct ring_params *params)
{
    const int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n;
    if (!ts_param_given(context->set, "size")) {
        int64_t part = detectors / 100 > 5 ? detectors / 100 : 5;
        if (detectors > 2000)
            part = 21;
        params->size = part % 2 ? part : part + 1;
    }
    if (params->size % 2 == 0)
        return ts_param_error(context->set, "size", "size-even", context->diag,
                              "%lld is even, and a window around a detector pixel has an odd size",
                              (long long)params->size);
    if (context->device &&
        ts_ring_column_bytes(views) > (size_t)context->device->block_shared_bytes) {
        ts_diag_error(context->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "too-many-views",
                                          .span = context->set->span,
                                          .stage = context->stage->name},
                      "%lld views take %zu bytes of shared memory to sort, and this device has "
                      "%lld for a block",
                      (long long)views, ts_ring_column_bytes(views),
                      (long long)context->device->block_shared_bytes);
        return ts_diag_hint(context->diag, "--device cpu sorts any number of views");
    }
    return TS_OK;
}

static enum ts_status ring_resolve(const struct stage_context *context, void *values)
{
    struct ring_params *params = values;
    if (params->method == RING_WAVELET && !ts_param_given(context->set, "level"))
        params->level = ring_deepest(context, params->wavelet);
    const enum ts_status status = check_unused(context, params);
    return status == TS_OK && params->method == RING_SORTING ? resolve_sorting(context, params)
                                                             : status;
}

static enum ts_status ring_shape(const struct stage_context *context, struct ts_image *out)
{
    if (params_of(context)->method == RING_WAVELET)
        out->dtype = TS_F32;
    return TS_OK;
}

/* ---- sorting --------------------------------------------------------------------------------- */

struct place {
    uint32_t key; /* unsigned */
    uint32_t view;
};

/* Sorts by rising key by counting each digit, which leaves equal keys in their order (H. Hollerith,
 * 1889). The result is in `places`. */
static void sort_column(struct place *places, struct place *scratch, int64_t n)
{
    uint32_t counts[DIGITS][BUCKETS];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++)
        for (int digit = 0; digit < DIGITS; digit++)
            counts[digit][places[i].key >> (DIGIT * digit) & (BUCKETS - 1)]++;
    struct place *from = places, *to = scratch;
    for (int digit = 0; digit < DIGITS; digit++) {
        uint32_t *starts = counts[digit], start = 0;
        if (starts[from[0].key >> (DIGIT * digit) & (BUCKETS - 1)] == n)
            continue; /* all keys have the same digit */
        for (int i = 0; i < BUCKETS; i++) {
            const uint32_t count = starts[i];
            starts[i] = start;
            start += count;
        }
        for (int64_t i = 0; i < n; i++)
            to[starts[from[i].key >> (DIGIT * digit) & (BUCKETS - 1)]++] = from[i];
        struct place *const other = from;
        from = to;
        to = other;
    }
    if (from != places)
        memcpy(places, from, (size_t)n * sizeof *places);
}

/* The work on one slice, whose columns are sorted. */
struct sorted {
    const struct stage_context *context;
    const char *in;
    char *out;
    int64_t n_views, n_detectors;
    int64_t stride;  /* places of a column: n_views rounded up to a multiple of RANKS */
    int32_t *keys;   /* [detector][rank] */
    uint32_t *views; /* [detector][rank]: the view of the value */
};

/* Buffers of one thread: the columns of a block stored by rows, and the places of one column. */
struct own {
    int32_t *block;
    struct place *places, *other;
};

static struct own lay_out_own(int64_t n_views, struct memory_layout *layout)
{
    struct own own;
    own.block = ts_layout_add(layout, (size_t)(n_views * BLOCK) * sizeof *own.block);
    own.places = ts_layout_add(layout, (size_t)n_views * sizeof *own.places);
    own.other = ts_layout_add(layout, (size_t)n_views * sizeof *own.other);
    return own;
}

static size_t own_bytes(int64_t n_views)
{
    struct memory_layout layout = {0};
    lay_out_own(n_views, &layout);
    return layout.bytes;
}

/* Adds the columns of a slice to a layout, and behind them the parts of all threads. */
static struct sorted lay_out(const struct stage_context *context, struct memory_layout *layout,
                             unsigned char **threads)
{
    struct sorted sorted = {.context = context,
                            .n_views = context->in.axes[1].n,
                            .n_detectors = context->in.axes[2].n,
                            .stride = (context->in.axes[1].n + RANKS - 1) / RANKS * RANKS};
    const size_t count = (size_t)(sorted.stride * sorted.n_detectors);
    sorted.keys = ts_layout_add(layout, count * sizeof *sorted.keys);
    sorted.views = ts_layout_add(layout, count * sizeof *sorted.views);
    *threads = ts_layout_add(layout, (size_t)context->threads * own_bytes(sorted.n_views));
    return sorted;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    unsigned char *threads;
    (void)n;
    if (params_of(context)->method == RING_WAVELET)
        return ring_wavelet_scratch(context);
    lay_out(context, &layout, &threads);
    return layout.bytes;
}

/* Sorts the columns of n detector pixels. */
static void sort_block(const struct sorted *sorted, int64_t first, int64_t n, const struct own *own)
{
    const enum ts_dtype dtype = sorted->context->in.dtype;
    const size_t element = ts_dtype_bytes(dtype);
    int32_t *block = own->block;
    struct place *places = own->places;
    for (int64_t view = 0; view < sorted->n_views; view++)
        ts_value_keys_load(dtype,
                           sorted->in + (size_t)(view * sorted->n_detectors + first) * element,
                           block + view * BLOCK, n);
    for (int64_t d = 0; d < n; d++) {
        int32_t *keys = sorted->keys + (first + d) * sorted->stride;
        uint32_t *views = sorted->views + (first + d) * sorted->stride;
        for (int64_t view = 0; view < sorted->n_views; view++)
            places[view] =
                (struct place){(uint32_t)block[view * BLOCK + d] ^ 0x80000000u, (uint32_t)view};
        sort_column(places, own->other, sorted->n_views);
        for (int64_t rank = 0; rank < sorted->n_views; rank++) {
            keys[rank] = (int32_t)(places[rank].key ^ 0x80000000u);
            views[rank] = places[rank].view;
        }
        for (int64_t rank = sorted->n_views; rank < sorted->stride; rank++)
            keys[rank] = 0;
    }
}

/* ---- medians --------------------------------------------------------------------------------- */

/* A vector has one key for each of 16 ranks. A window consists of `size` of these, sorted. */
struct ranks {
    int32_t at[RANKS];
};

#define CHOOSE(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))
#define TS_LOOPS "stages/scan/ring_slide.inc"
#include "core/vectors.inc"

/* Fills the windows around detector pixel `first`. */
static void start_window(const struct sorted *sorted, int64_t first, int64_t rank, int64_t size,
                         struct ranks *window)
{
    for (int64_t i = 0; i < size; i++)
        for (int l = 0; l < RANKS; l++)
            window[i].at[l] = INT32_MAX;
    const struct ranks last = window[0];
    for (int64_t i = 0; i < size; i++) {
        const int64_t d =
            ts_border_index(first - size / 2 + i, sorted->n_detectors, BORDER_REFLECT);
        TS_WIDEST(slide)(window, size, last.at, sorted->keys + d * sorted->stride + rank);
    }
}

/* Finds the medians of a block of detector pixels, and writes each to the place of its view. */
static void smooth_block(const struct sorted *sorted, int64_t first, int64_t n, int32_t *block)
{
    const int64_t size = params_of(sorted->context)->size, half = size / 2;
    const enum ts_dtype dtype = sorted->context->in.dtype;
    const size_t element = ts_dtype_bytes(dtype);
    struct ranks window[RING_LARGEST];
    for (int64_t rank = 0; rank < sorted->n_views; rank += RANKS) {
        const int64_t left = sorted->n_views - rank, ranks = left < RANKS ? left : RANKS;
        start_window(sorted, first, rank, size, window);
        for (int64_t d = 0; d < n; d++) {
            const int64_t enters =
                ts_border_index(first + d + half, sorted->n_detectors, BORDER_REFLECT);
            const int64_t leaves =
                ts_border_index(first + d - half - 1, sorted->n_detectors, BORDER_REFLECT);
            if (d > 0)
                TS_WIDEST(slide)
            (window, size, sorted->keys + leaves * sorted->stride + rank,
             sorted->keys + enters * sorted->stride + rank);
            const uint32_t *views = sorted->views + (first + d) * sorted->stride + rank;
            for (int64_t l = 0; l < ranks; l++)
                block[views[l] * BLOCK + d] = window[half].at[l];
        }
    }
    for (int64_t view = 0; view < sorted->n_views; view++)
        ts_value_keys_store(dtype,
                            sorted->out + (size_t)(view * sorted->n_detectors + first) * element,
                            block + view * BLOCK, n);
}

static enum ts_status ring_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    if (params_of(context)->method == RING_WAVELET)
        return ring_wavelet(context, in, out, scratch);
    struct memory_layout layout = {.base = scratch};
    unsigned char *threads;
    struct sorted sorted = lay_out(context, &layout, &threads);
    const int64_t n_blocks = (sorted.n_detectors + BLOCK - 1) / BLOCK;
    for (int64_t z = 0; z < in->axes[0].n; z++) {
        sorted.in = ts_slice_data(in, z);
        sorted.out = ts_slice_data(out, z);
#pragma omp parallel num_threads(context->threads)
        {
            struct memory_layout part = {.base = threads + (size_t)omp_get_thread_num() *
                                                               own_bytes(sorted.n_views)};
            const struct own own = lay_out_own(sorted.n_views, &part);
#pragma omp for schedule(static)
            for (int64_t block = 0; block < n_blocks; block++) {
                const int64_t first = block * BLOCK, left = sorted.n_detectors - first;
                sort_block(&sorted, first, left < BLOCK ? left : BLOCK, &own);
            }
#pragma omp for schedule(static)
            for (int64_t block = 0; block < n_blocks; block++) {
                const int64_t first = block * BLOCK, left = sorted.n_detectors - first;
                smooth_block(&sorted, first, left < BLOCK ? left : BLOCK, own.block);
            }
        }
    }
    return TS_OK;
}

const struct stage ring_stage = {
    .name = "ring",
    .summary = "take stripes out of sinograms, which become rings in a reconstruction",
    .doc =
        "A detector pixel whose response differs from its neighbors' draws a stripe along the "
        "views, and the reconstruction a ring around the rotation center.\n\n"
        "- `sorting`: the values of each detector pixel are sorted over the views, each rank "
        "becomes the median of `size` neighboring detector pixels (reflected at the ends, `d c b a "
        "| a b c d | d c b a`), and every value goes back to its view. Full and partial stripes of "
        "less than half of `size` go; wider ones need a larger `size`. Values are chosen among "
        "those of the sinogram, so that every type keeps its own.\n\n"
        "- `fourier-wavelet`: a wavelet transform of `level` levels tells what varies along the "
        "views from what varies along the detector. In the part of each level that is smooth along "
        "the views and not along the detector, frequency `k` along the views is multiplied by `1 - "
        "exp(-k^2/(2*sigma^2))`, and the transform is taken back. The result is f32. Views are not "
        "padded, and ends are reflected; both as `pywt.dwt2` does by itself. TomoPy's "
        "`remove_stripe_fw` pads the views with zeros, has half a frequency more in its damping, "
        "and more levels by default.\n\n"
        "Stripes come out of transmissions and line integrals alike. With `sorting` equal values "
        "keep the order of their views. A value that is NaN or infinite ends the run: it has no "
        "rank, and would come out as a number that nobody measured.\n\n"
        "**Cost.** `sorting`: a sort of every column. On a CUDA device a column must fit the "
        "shared memory of a block: 16,384 views on an H200, 4,096 with 64 KiB. `fourier-wavelet`: "
        "some 20 operations a coefficient of the wavelet and 13 for each unit of sigma.\n\n"
        "**Source.** N. T. Vo, R. C. Atwood, M. Drakopoulos, Superior techniques for eliminating "
        "ring artifacts in X-ray micro-tomography, Optics Express 26 (2018) 28396, algorithm 3. B. "
        "Muench, P. Trtik, F. Marone, M. Stampanoni, Stripe and ring artifact removal with "
        "combined wavelet-Fourier filtering, Optics Express 17 (2009) 8567.",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY, TS_ANY_BEAM),
    STAGE_PARAMS(ring_params, struct ring_params),
    .resolve = ring_resolve,
    .shape = ring_shape,
    .reduction = &ts_finite_reduction,
    .scratch_bytes = scratch_bytes,
    .map = ring_map,
    .cuda = STAGE_CUDA(ring_cuda),
    .bench = "method=sorting|method=sorting size=51|method=fourier-wavelet|method=fourier-wavelet "
             "wavelet=db25",
    .tolerance = {.relative = 2e-6,
                  .why = "fourier-wavelet: sums of single precision; sorting is exact"},
};
