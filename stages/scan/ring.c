/* SPDX-License-Identifier: Apache-2.0
 *
 * ring: removes vertical stripes from every sinogram (z, view, detector), which a reconstruction would turn into rings.
 *
 * sorting: N. T. Vo, R. C. Atwood, M. Drakopoulos, Optics Express 26 (2018) 28396, algorithm 3. The values of each
 * detector pixel are sorted over the views. Along the detector, each rank is smoothed by a median of `size` (reflected
 * at the ends); then every value goes back to its view. Detector pixels that differ by their response alone have
 * parallel sorted curves, so that the median removes the stripe and leaves the object. Equal values keep the order of
 * their views.
 *
 * fourier-wavelet: stages/scan/ring_wavelet.h.
 */
#include "stages/scan/ring.h"

#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/border.h"
#include "stages/values/finite_values.h"
#include "stages/values/value_keys.h"

enum {
    RANKS = 16, /* whose windows slide side by side */
    BLOCK = 16, /* detector pixels that a thread handles together */
    DIGIT = 11, /* bits of a key sorted at once */
    DIGITS = 3, /* of 32 bits */
    BUCKETS = 1 << DIGIT
};

static const struct choice method_choices[] = {
    {"sorting", RING_SORTING,
     "median over neighboring detector pixels of the sorted values (Vo, Atwood, Drakopoulos, 2018)"},
    {"fourier-wavelet", RING_WAVELET,
     "lowest frequencies along the views of what varies along the detector (Muench, Trtik, Marone, Stampanoni, 2009)"},
    {NULL, 0, NULL},
};

static const struct param ring_params[] = {
    PARAM(struct ring_params, method, .choices = method_choices, .init.choice = RING_SORTING,
          .doc = "how stripes are told from the object"),
    PARAM(struct ring_params, size, .unit = "detector", .min = 3, .max = RING_LARGEST,
          .derived = "1 % of the detector pixels, odd, at least 5; 21 for more than 2,000",
          .doc =
              "sorting: odd number of detector pixels in the median; more than twice the width of the widest stripe"),
    PARAM(struct ring_params, wavelet, .choices = ts_wavelet_choices, .init.choice = WAVELET_DB5,
          .doc = "fourier-wavelet: the wavelet; longer ones tell stripes from the object more sharply"),
    PARAM(struct ring_params, level, .min = 1, .max = RING_LEVELS,
          .derived = "floor(log2(n/(coefficients - 1))) of the shorter side n, at least 1",
          .doc = "fourier-wavelet: number of levels; level l takes out stripes about 2^l detector pixels wide"),
    PARAM(struct ring_params, sigma, .min = 0.1, .max = 30, .init.r = 2,
          .doc = "fourier-wavelet: width of the damping, in periods over all views; larger takes out shorter stripes"),
};

STAGE_PARAMS_OF(ring_params)

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

/* The parameters of the other method play no part, and are an error where they were given. */
static enum ts_status check_unused(const struct stage_context *context, const struct ring_params *params)
{
    static const char *const of_sorting[] = {"size", NULL}, *const of_wavelet[] = {"wavelet", "level", "sigma", NULL};
    for (const char *const *name = params->method == RING_SORTING ? of_wavelet : of_sorting; *name; name++) {
        if (ts_param_given(context->set, *name))
            return ts_param_error(context->set, *name, "parameter-unused", context->diag, "has no part in method: %s",
                                  ts_choice_name(method_choices, params->method));
        ts_param_idle(context->set, *name);
    }
    return TS_OK;
}

static enum ts_status resolve_sorting(const struct stage_context *context, struct ring_params *params)
{
    const int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n;
    if (!ts_param_given(context->set, "size")) {
        const int64_t part = detectors > 2000 ? 21 : detectors / 100 > 5 ? detectors / 100 : 5;
        params->size = part % 2 ? part : part + 1;
    }
    if (params->size % 2 == 0)
        return ts_param_error(context->set, "size", "size-even", context->diag,
                              "%lld is even, and a window around a detector pixel has an odd size",
                              (long long)params->size);
    if (context->device && ts_ring_column_bytes(views) > (size_t)context->device->block_shared_bytes) {
        ts_diag_error(
            context->diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "too-many-views", .span = context->set->span, .stage = context->stage->name},
            "%lld views take %zu bytes of shared memory to sort, and this device has %lld for a block",
            (long long)views, ts_ring_column_bytes(views), (long long)context->device->block_shared_bytes);
        return ts_diag_hint(context->diag, "--device cpu sorts any number of views");
    }
    return TS_OK;
}

static enum ts_status resolve(const struct stage_context *context, void *values)
{
    struct ring_params *params = values;
    if (params->method == RING_WAVELET && !ts_param_given(context->set, "level"))
        params->level = ts_ring_deepest(context, params->wavelet);
    const enum ts_status status = check_unused(context, params);
    return status == TS_OK && params->method == RING_SORTING ? resolve_sorting(context, params) : status;
}

static enum ts_status shape(const struct stage_context *context, struct ts_image *out)
{
    if (params_of(context)->method == RING_WAVELET)
        out->dtype = TS_F32;
    return TS_OK;
}

/* ---- sorting ----------------------------------------------------------------------------------- */

struct place {
    uint32_t key; /* unsigned */
    uint32_t view;
};

/* Sorts by rising key and leaves equal ones in their order, by counting each digit (H. Hollerith, 1889). The result is
 * in `places`. */
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
            continue; /* all alike */
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
    int64_t stride;  /* of a column: n_views up to a multiple of RANKS */
    int32_t *keys;   /* [detector][rank] */
    uint32_t *views; /* [detector][rank]: the view of the value */
};

/* The parts of one thread: the columns of a block by rows, and the places of one column. */
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
static struct sorted lay_out(const struct stage_context *context, struct memory_layout *layout, unsigned char **threads)
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
        return ts_ring_wavelet_scratch(context);
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
        ts_value_keys_load(dtype, sorted->in + (size_t)(view * sorted->n_detectors + first) * element,
                           block + view * BLOCK, n);
    for (int64_t d = 0; d < n; d++) {
        int32_t *keys = sorted->keys + (first + d) * sorted->stride;
        uint32_t *views = sorted->views + (first + d) * sorted->stride;
        for (int64_t view = 0; view < sorted->n_views; view++)
            places[view] = (struct place){(uint32_t)block[view * BLOCK + d] ^ 0x80000000u, (uint32_t)view};
        sort_column(places, own->other, sorted->n_views);
        for (int64_t rank = 0; rank < sorted->n_views; rank++) {
            keys[rank] = (int32_t)(places[rank].key ^ 0x80000000u);
            views[rank] = places[rank].view;
        }
        for (int64_t rank = sorted->n_views; rank < sorted->stride; rank++)
            keys[rank] = 0;
    }
}

/* ---- medians ----------------------------------------------------------------------------------- */

/* A vector has one key of each of 16 ranks. A window is `size` of these, sorted. */
struct ranks {
    int32_t at[RANKS];
};

#define CHOOSE(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))
#define TS_LOOPS "stages/scan/ring_slide.inc"
#include "core/vectors.inc"

/* Fills the windows around detector pixel `first`. */
static void start_window(const struct sorted *sorted, int64_t first, int64_t rank, int64_t size, struct ranks *window)
{
    for (int64_t i = 0; i < size; i++)
        for (int l = 0; l < RANKS; l++)
            window[i].at[l] = INT32_MAX;
    const struct ranks last = window[0];
    for (int64_t i = 0; i < size; i++) {
        const int64_t d = ts_border_index(first - size / 2 + i, sorted->n_detectors, BORDER_REFLECT);
        TS_WIDEST(slide)(window, size, last.at, sorted->keys + d * sorted->stride + rank);
    }
}

/* Finds the medians of a block of detector pixels and writes each to the place of its view. */
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
            const int64_t enters = ts_border_index(first + d + half, sorted->n_detectors, BORDER_REFLECT);
            const int64_t leaves = ts_border_index(first + d - half - 1, sorted->n_detectors, BORDER_REFLECT);
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
        ts_value_keys_store(dtype, sorted->out + (size_t)(view * sorted->n_detectors + first) * element,
                            block + view * BLOCK, n);
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          void *scratch)
{
    if (params_of(context)->method == RING_WAVELET)
        return ts_ring_wavelet(context, in, out, scratch);
    struct memory_layout layout = {.base = scratch};
    unsigned char *threads;
    struct sorted sorted = lay_out(context, &layout, &threads);
    const int64_t n_blocks = (sorted.n_detectors + BLOCK - 1) / BLOCK;
    for (int64_t z = 0; z < in->axes[0].n; z++) {
        sorted.in = ts_slice_data(in, z);
        sorted.out = ts_slice_data(out, z);
#pragma omp parallel num_threads(context->threads)
        {
            struct memory_layout part = {.base = threads + (size_t)omp_get_thread_num() * own_bytes(sorted.n_views)};
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
    .doc = "A detector pixel whose response differs from its neighbors' draws a stripe along the views, and the "
           "reconstruction a ring around the rotation center.\n\n"
           "- `sorting`: the values of each detector pixel are sorted over the views, each rank becomes the median of "
           "`size` neighboring detector pixels (reflected at the ends, `d c b a | a b c d | d c b a`), and every value "
           "goes back to its view. Full and partial stripes of less than half of `size` go; wider ones need a larger "
           "`size`. Values are chosen among those of the sinogram, so that every type keeps its own.\n\n"
           "- `fourier-wavelet`: a wavelet transform of `level` levels tells what varies along the views from what "
           "varies along the detector. In the part of each level that is smooth along the views and not along the "
           "detector, frequency `k` along the views is multiplied by `1 - exp(-k^2/(2*sigma^2))`, and the "
           "transform is taken back. The result is f32. Views are not padded, and ends are reflected; both as "
           "`pywt.dwt2` does by itself. TomoPy's `remove_stripe_fw` pads the views with zeros, has half a frequency "
           "more in its damping, and more levels by default.\n\n"
           "Stripes come out of transmissions and line integrals alike. With `sorting` equal values keep the order of "
           "their views. A value that is NaN or infinite ends the run: it has no rank, and would come out as a number "
           "that nobody measured.\n\n"
           "**Cost.** `sorting`: a sort of every column. On a CUDA device a column must fit the shared memory of a "
           "block: 16,384 views on an H200, 4,096 with 64 KiB. `fourier-wavelet`: some 20 operations a coefficient of "
           "the wavelet and 13 for each unit of sigma.\n\n"
           "**Source.** N. T. Vo, R. C. Atwood, M. Drakopoulos, Superior techniques for eliminating ring artifacts in "
           "X-ray micro-tomography, Optics Express 26 (2018) 28396, algorithm 3. B. Muench, P. Trtik, F. Marone, M. "
           "Stampanoni, Stripe and ring artifact removal with combined wavelet-Fourier filtering, Optics Express 17 "
           "(2009) 8567.",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY, TS_ANY_BEAM),
    STAGE_PARAMS(ring_params, struct ring_params),
    .resolve = resolve,
    .shape = shape,
    .reduction = &ts_finite_reduction,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .cuda = STAGE_CUDA(ring_cuda),
    .bench = "method=sorting|method=sorting size=51|method=fourier-wavelet|method=fourier-wavelet wavelet=db25",
    .tolerance = {.relative = 2e-6, .why = "fourier-wavelet: sums of single precision; sorting is exact"},
};
