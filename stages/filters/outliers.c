/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers: x becomes m, the median of size x size values around it, if x - m >= threshold (bright)
 * or m - x >= threshold (dark), with differences in double. The window is in one projection, (z,
 * detector), or in one sinogram, (view, detector); beyond the ends it is reflected
 * (scipy.ndimage.median_filter, tomopy.remove_outlier).
 *
 * Values become 32-bit integers of the same order, which vectorize and give NaN a place in the
 * order. Few are outliers, so each is first compared with the extremes of the window's first size/2
 * + 1 rows: if all of these are above x - threshold, more than half of the window is, and so is the
 * median. Medians of the remaining values are found for 16 neighbors together, by
 * median_network.inc.
 */
#include "stages/filters/outliers.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/values/value_keys.h"

enum { LANES = TS_VECTOR_MOST_BYTES / sizeof(int32_t), CHUNK_ROWS = 32 };

static const struct choice kind_choices[] = {
    {"bright", OUTLIERS_BRIGHT, "values above the median: zingers, hot pixels of projections"},
    {"dark", OUTLIERS_DARK, "values below the median: dead pixels"},
    {"both", OUTLIERS_BOTH, "values on either side"},
    {NULL, 0, NULL},
};
static const struct choice plane_choices[] = {
    {"projection", OUTLIERS_PROJECTION,
     "neighbors in z and along the detector, each view by itself: the detector image that a zinger "
     "hits"},
    {"sinogram", OUTLIERS_SINOGRAM, "neighbors in view and along the detector, each z by itself"},
    {NULL, 0, NULL},
};

static const struct param outliers_params[] = {
    PARAM(struct outliers_params, size, .unit = "pixel", .min = 3, .max = OUTLIERS_LARGEST,
          .init.i = 3, .doc = "odd number of values along each side of the window"),
    PARAM(struct outliers_params, threshold, .unit = "value", .min = 0, .max = 1e38,
          .required = true,
          .doc = "least difference from the median that makes an outlier; 0 is a median filter "
                 "with kind both"),
    PARAM(struct outliers_params, kind, .choices = kind_choices, .init.choice = OUTLIERS_BRIGHT,
          .doc = "on which side of the median outliers are"),
    PARAM(struct outliers_params, plane, .choices = plane_choices,
          .init.choice = OUTLIERS_PROJECTION, .doc = "the plane of the window"),
};

STAGE_PARAMS_OF(outliers_params)

static enum ts_status outliers_resolve(const struct stage_context *context, void *values)
{
    const int64_t size = ((const struct outliers_params *)values)->size;
    if (size % 2 == 0)
        return ts_param_error(context->set, "size", "size-even", context->diag,
                              "%lld is even, and a window around a value has an odd size",
                              (long long)size);
    return TS_OK;
}

static int outliers_tables(const struct stage_context *context,
                           struct stage_table out[STAGE_TABLES])
{
    out[0] = (struct stage_table){.name = "replaced", .doc = "outliers of each slice"};
    out[0].image = (struct ts_image){.rank = 1,
                                     .axes = {context->in.axes[0]},
                                     .dtype = TS_U64,
                                     .quantity = TS_INTENSITY,
                                     .unit = "1"};
    return 1;
}

static struct stage_reach outliers_reach(const struct stage_context *context)
{
    const struct outliers_params *params = params_of(context);
    return (struct stage_reach){.halo = params->plane == OUTLIERS_PROJECTION ? params->size / 2 : 0,
                                .border = BORDER_REFLECT};
}

/* ---- which values may be outliers ------------------------------------------------------------ */

/* The threshold, rounded down to a number that keys can be compared with, so that no outlier is
 * missed. */
struct limit {
    int32_t whole;
    float real;
    bool is_float;
};

static struct limit limit_of(const struct stage_context *context)
{
    const double threshold = params_of(context)->threshold;
    struct limit limit = {.is_float = context->in.dtype == TS_F32, .real = (float)threshold};
    if ((double)limit.real > threshold)
        limit.real = nextafterf(limit.real, 0);
    limit.whole = threshold < 0x1p30 ? (int32_t)threshold : 1 << 30;
    return limit;
}

/* Finds the extremes over n_rows rows. */
TS_VECTORIZED static void join_extremes(const int32_t *const lows[], const int32_t *const highs[],
                                        int64_t n_rows, int32_t *low, int32_t *high, int64_t n)
{
    memcpy(low, lows[0], (size_t)n * sizeof *low);
    memcpy(high, highs[0], (size_t)n * sizeof *high);
    for (int64_t row = 1; row < n_rows; row++)
        for (int64_t x = 0; x < n; x++) {
            low[x] = lows[row][x] < low[x] ? lows[row][x] : low[x];
            high[x] = highs[row][x] > high[x] ? highs[row][x] : high[x];
        }
}

/* Sets a flag if the median can differ from the key by the threshold. `keys` are those of the
 * middle row; `low` and `high` are the extremes of the first half of the window and its middle
 * row. */
TS_VECTORIZED static void flag_floats(const int32_t *keys, const int32_t *low, const int32_t *high,
                                      int32_t *flags, int64_t n, float threshold, int32_t kind)
{
    const int32_t by_bright = (kind & OUTLIERS_BRIGHT) != 0, by_dark = (kind & OUTLIERS_DARK) != 0;
    for (int64_t x = 0; x < n; x++) {
        const float value = ts_float_of_key(keys[x]), down = value - threshold,
                    up = value + threshold;
        int32_t below, above;
        memcpy(&below, &down, sizeof below);
        memcpy(&above, &up, sizeof above);
        /* The difference was rounded, so one more key is included to be safe. NaN does not
         * matter. */
        const int32_t bright = (int32_t)((uint32_t)ts_float_key(below) + 1),
                      dark = (int32_t)((uint32_t)ts_float_key(above) - 1);
        flags[x] = (by_bright & (low[x] <= bright)) | (by_dark & (high[x] >= dark));
    }
}

TS_VECTORIZED static void flag_integers(const int32_t *keys, const int32_t *low,
                                        const int32_t *high, int32_t *flags, int64_t n,
                                        int32_t threshold, int32_t kind)
{
    const int32_t by_bright = (kind & OUTLIERS_BRIGHT) != 0, by_dark = (kind & OUTLIERS_DARK) != 0;
    for (int64_t x = 0; x < n; x++) {
        /* The difference saturates at the ends of 32-bit values. */
        const int32_t bright =
            (keys[x] < INT32_MIN + threshold ? INT32_MIN + threshold : keys[x]) - threshold;
        const int32_t dark =
            (keys[x] > INT32_MAX - threshold ? INT32_MAX - threshold : keys[x]) + threshold;
        flags[x] = (by_bright & (low[x] <= bright)) | (by_dark & (high[x] >= dark));
    }
}

/* Finds the extremes of `size` neighbors in a row that includes its sides. */
TS_VECTORIZED static void find_extremes(const int32_t *keys, int32_t *lows, int32_t *highs,
                                        int64_t n, int64_t size)
{
    for (int64_t x = 0; x < n; x++)
        lows[x] = highs[x] = keys[x];
    for (int64_t i = 1; i < size; i++)
        for (int64_t x = 0; x < n; x++) {
            lows[x] = keys[x + i] < lows[x] ? keys[x + i] : lows[x];
            highs[x] = keys[x + i] > highs[x] ? keys[x + i] : highs[x];
        }
}

/* ---- medians --------------------------------------------------------------------------------- */

#define TS_LOOPS "stages/filters/outliers_medians.inc"
#include "core/vectors.inc"

/* ---- rows ------------------------------------------------------------------------------------ */

/* Windows lie in planes: the rows of a plane are the slices of one view, or the views of one
 * slice. */
struct plane_rows {
    const struct stage_context *context;
    const char *in;
    char *out;
    int64_t n_planes, n_rows, n;                 /* rows and columns of a plane */
    int64_t plane_stride, in_stride, out_stride; /* bytes between planes; bytes between rows */
    int64_t size, half;
    int64_t row_keys; /* keys of a row in a thread's buffer */
    int32_t kind;
    struct limit limit;
    bool in_z;          /* true if rows have their halo in memory */
    uint64_t *replaced; /* number of replaced values in each slice */
};

static int64_t keys_of_row(const struct stage_context *context)
{
    return (context->in.axes[2].n + params_of(context)->size + 2 * LANES - 1) / LANES * LANES;
}

/* A thread's buffer has keys, lows and highs of `size` rows, flags, and the extremes that these are
 * made from. */
static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    (void)n;
    return (size_t)context->threads *
           (size_t)((3 * params_of(context)->size + 3) * keys_of_row(context)) * sizeof(int32_t);
}

static void load_row(const struct plane_rows *rows, int64_t plane, int64_t row, int32_t *keys,
                     int32_t *lows, int32_t *highs)
{
    const int64_t from =
        rows->in_z ? row + rows->half : ts_border_index(row, rows->n_rows, BORDER_REFLECT);
    int32_t *inside = keys + rows->half;
    ts_value_keys_load(rows->context->in.dtype,
                       rows->in + plane * rows->plane_stride + from * rows->in_stride, inside,
                       rows->n);
    for (int64_t i = 1; i <= rows->half; i++) {
        inside[-i] = inside[ts_border_index(-i, rows->n, BORDER_REFLECT)];
        inside[rows->n - 1 + i] = inside[ts_border_index(rows->n - 1 + i, rows->n, BORDER_REFLECT)];
    }
    find_extremes(keys, lows, highs, rows->n, rows->size);
}

/* Replaces the value if its difference from the median, in double, reaches the threshold. Returns
 * how many were replaced. */
static int replace(const struct plane_rows *rows, char *out, int64_t x, int32_t key, int32_t median)
{
    const enum ts_dtype dtype = rows->context->in.dtype;
    const double threshold = params_of(rows->context)->threshold;
    const double value = ts_value_of_key(dtype, key), middle = ts_value_of_key(dtype, median);
    if (!((rows->kind & OUTLIERS_BRIGHT) && value - middle >= threshold) &&
        !((rows->kind & OUTLIERS_DARK) && middle - value >= threshold))
        return 0;
    ts_value_keys_store(dtype, out + (size_t)x * ts_dtype_bytes(dtype), &median, 1);
    return 1;
}

/* Replaces outliers of one row, and returns how many there were. `lines` are the rows of the
 * window; `lows` and `highs` are the extremes of the first half of them and the middle one. */
static uint64_t clean_row(const struct plane_rows *rows, const int32_t *const lines[],
                          const int32_t *const lows[], const int32_t *const highs[], int32_t *flags,
                          char *out)
{
    const int32_t *keys = lines[rows->half] + rows->half;
    int32_t *low = flags + rows->row_keys, *high = low + rows->row_keys;
    join_extremes(lows, highs, rows->half + 1, low, high, rows->n);
    if (rows->limit.is_float)
        flag_floats(keys, low, high, flags, rows->n, rows->limit.real, rows->kind);
    else
        flag_integers(keys, low, high, flags, rows->n, rows->limit.whole, rows->kind);
    memset(flags + rows->n, 0, LANES * sizeof *flags);
    uint64_t replaced = 0;
    for (int64_t x = 0; x < rows->n; x += LANES) {
        int32_t medians[LANES];
        int32_t any = 0;
        for (int l = 0; l < LANES; l++)
            any |= flags[x + l];
        if (!any)
            continue;
        TS_WIDEST(find_medians)(lines, rows->size, x, medians);
        for (int l = 0; l < LANES; l++)
            if (flags[x + l])
                replaced += (uint64_t)replace(rows, out, x + l, keys[x + l], medians[l]);
    }
    return replaced;
}

static void clean_chunk(const struct plane_rows *rows, int64_t plane, int64_t first, int64_t end,
                        int32_t *buffer)
{
    const int64_t size = rows->size, length = rows->row_keys;
    int32_t *flags = buffer + 3 * size * length;
    const int32_t *lines[OUTLIERS_LARGEST], *lows[OUTLIERS_LARGEST], *highs[OUTLIERS_LARGEST];
    for (int64_t row = first - rows->half; row < end + rows->half; row++) {
        int32_t *keys = buffer + 3 * ((row + size) % size) * length;
        load_row(rows, plane, row, keys, keys + length, keys + 2 * length);
        const int64_t y = row - rows->half;
        if (y < first)
            continue;
        for (int64_t i = 0; i < size; i++) {
            lines[i] = buffer + 3 * ((y - rows->half + i + size) % size) * length;
            lows[i] = lines[i] + length;
            highs[i] = lines[i] + 2 * length;
        }
        const char *from = rows->in + plane * rows->plane_stride +
                           (rows->in_z ? y + rows->half : y) * rows->in_stride;
        char *to = rows->out + plane * rows->plane_stride + y * rows->out_stride;
        memcpy(to, from, (size_t)rows->n * ts_dtype_bytes(rows->context->in.dtype));
        const uint64_t replaced = clean_row(rows, lines, lows, highs, flags, to);
#pragma omp atomic
        rows->replaced[rows->in_z ? y : plane] += replaced;
    }
}

/* Cleans chunks of rows of all planes. For `plane: projection` a plane is one view in all
 * slices: its rows are a slice apart and planes a line apart. Else a plane is a slice. */
static enum ts_status outliers_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const struct outliers_params *params = params_of(context);
    const bool in_z = params->plane == OUTLIERS_PROJECTION;
    const int64_t line = out->axes[2].n * (int64_t)ts_dtype_bytes(in->dtype),
                  slice = out->axes[1].n * line;
    const struct plane_rows rows = {.context = context,
                                    .in = in->data,
                                    .out = out->data,
                                    .n_planes = out->axes[in_z ? 1 : 0].n,
                                    .n_rows = out->axes[in_z ? 0 : 1].n,
                                    .n = out->axes[2].n,
                                    .plane_stride = in_z ? line : slice,
                                    .in_stride = in_z ? slice : line,
                                    .out_stride = in_z ? slice : line,
                                    .size = params->size,
                                    .half = params->size / 2,
                                    .row_keys = keys_of_row(context),
                                    .kind = params->kind,
                                    .limit = limit_of(context),
                                    .in_z = in_z,
                                    .replaced = context->tables[0].data};
    const int64_t chunks = (rows.n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    memset(rows.replaced, 0, (size_t)out->axes[0].n * sizeof *rows.replaced);
    const int64_t buffer_keys = (3 * rows.size + 3) * rows.row_keys;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t item = 0; item < rows.n_planes * chunks; item++) {
        const int64_t first = item % chunks * CHUNK_ROWS, end = first + CHUNK_ROWS;
        clean_chunk(&rows, item / chunks, first, end < rows.n_rows ? end : rows.n_rows,
                    (int32_t *)scratch + omp_get_thread_num() * buffer_keys);
    }
    return TS_OK;
}

const struct stage outliers_stage = {
    .name = "outliers",
    .summary = "replace zingers, hot and dead pixels by the median of their neighborhood",
    .doc =
        "With `m` the median of the `size` x `size` values around `x`: `x` becomes `m` if `x - m "
        ">= threshold` (kind `bright`), if `m - x >= threshold` (`dark`), or either (`both`); all "
        "else stays as it is. The differences are taken in double. Beyond the ends the window is "
        "reflected, `d c b a | a b c d | d c b a`, and a median is always one of the values.\n\n"
        "The window is in one projection, (z, detector), as that of `tomopy.remove_outlier` on "
        "projections; a single slice counts for its neighbors. `plane: sinogram` puts it in one "
        "sinogram, (view, detector), which needs no neighbors; there a hot pixel is a line, which "
        "stays: `ring` takes it out.\n\n"
        "NaN counts as larger than all numbers (smaller, if its sign is set) and is neither "
        "replaced nor put in place of a number; an infinite value is an outlier.\n\n"
        "How many values of each slice were replaced is written as the table `replaced` (z).\n\n"
        "**Cost.** A few comparisons a value; medians only near outliers, or everywhere with a "
        "threshold that noise reaches.",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY, TS_ANY_BEAM),
    STAGE_PARAMS(outliers_params, struct outliers_params),
    .resolve = outliers_resolve,
    .reach = outliers_reach,
    .tables = outliers_tables,
    .scratch_bytes = scratch_bytes,
    .map = outliers_map,
    .validity = VALIDITY_SPREADS,
    .cuda = STAGE_CUDA(outliers_cuda),
    .bench = "threshold=500|threshold=500 plane=sinogram|threshold=500 size=5 "
             "kind=both|threshold=500 size=9|threshold=0 kind=both|threshold=0 kind=both size=5",
    .tolerance = {.why = "values are chosen, never computed"},
};
