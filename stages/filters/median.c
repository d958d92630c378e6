/* SPDX-License-Identifier: Apache-2.0
 *
 * median: out = the value in the middle of the sorted values of the window around each pixel.
 * Windows of up to 49 values are sorted as far as needed by a network of comparisons
 * (median_network.inc), as many windows at once as a vector has lanes. For larger windows a
 * histogram of the window slides along each row: it loses the column of values that leaves and
 * gains the one that enters, and the median moves from bin to bin (T. S. Huang, G. J. Yang, G. Y.
 * Tang, A fast two-dimensional median filtering algorithm, 1979), so that a pixel takes as many
 * steps as the window has rows instead of values. Values of 32 bits are counted by their upper 16
 * bits; the values in the bin of the median are then searched for the lower 16.
 *
 * Values are compared as the integer keys of stages/values/value_keys.h, which have the same order.
 * A thread maps a few rows after one another and keeps the rows of the window, with their borders
 * filled in, in a ring of lines, so that each row is converted once for all windows.
 */
#include "stages/filters/median.h"

#include <float.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/stage.h"
#include "stages/engine/validity.h"
#include "stages/filters/masked_mend.h"
#include "stages/values/value_keys.h"

enum {
    MOST_WIDTH = 15,
    MOST_LINES = MOST_WIDTH * MOST_WIDTH,
    MOST_LANES = TS_VECTOR_MOST_BYTES / sizeof(int32_t), /* windows that are done at once */
    CHUNK_ROWS = 32,
    SPARE_LINES = 8,
    BINS = 1 << 16,
    COARSE = 256
};

/* The median of n valid values is the one at place n / 2 of the sorted values, counted from 0; for
 * a whole window that is the ordinary median. An invalid pixel keeps its value. Pixels with an
 * invalid one in their window (masked_mend.h) are done stretch by stretch: the rows of their
 * windows become keys (stages/values/value_keys.h), with a byte beside each that says whether it is
 * valid. The valid keys of each window are gathered, and the middle one is selected
 * (quickselect). */

/* One slab, and the places of the parts of a thread's scratch. */
struct masked_run {
    const struct ts_image *in;
    enum ts_border border;
    int32_t constant;
    int64_t ny, nx, radius, width, depth, line; /* line: samples of a row with its border */
    size_t keys, valid, medians, own_bytes;
};

/* Loads columns [first, first + n) of a row, which may be outside of its slice. */
static void load_row(const struct masked_run *run, int64_t slice, int64_t y, int64_t first,
                     int64_t n, int32_t *keys, uint8_t *valid)
{
    const int64_t from = ts_border_index(y, run->ny, run->border), row = from * run->nx;
    const int64_t low = first < 0 ? -first : 0, high = first + n > run->nx ? run->nx - first : n;
    const uint64_t *bits = ts_slice_valid(run->in, slice);
    const char *values = ts_slice_data(run->in, slice);
    const size_t element = ts_dtype_bytes(run->in->dtype);
    if (from >= 0)
        ts_value_keys_load(run->in->dtype, values + (size_t)(row + first + low) * element,
                           keys + low, high - low);
    for (int64_t i = 0; i < n; i++) {
        const bool inside = i >= low && i < high;
        int64_t column;
        if (from < 0)
            column = -1;
        else
            column = inside ? first + i : ts_border_index(first + i, run->nx, run->border);
        valid[i] = column < 0 || ts_valid_at(bits, (size_t)(row + column));
        if (column < 0)
            keys[i] = run->constant;
        else if (!inside)
            ts_value_keys_load(run->in->dtype, values + (size_t)(row + column) * element, keys + i,
                               1);
    }
}

static int32_t median_of(const struct masked_run *run, const int32_t *keys, const uint8_t *valid,
                         int64_t line)
{
    int32_t window[MOST_WIDTH * MOST_WIDTH * MOST_WIDTH];
    int64_t n = 0;
    for (int64_t i = 0; i < run->width * run->depth; i++)
        for (int64_t k = i * line; k < i * line + run->width; k++) {
            window[n] = keys[k];
            n += valid[k];
        }
    return ts_value_keys_select(window, n, (uint32_t)(n / 2));
}

static void median_pixels(const void *job, const struct masked_row *row, int64_t first, int64_t end,
                          void *own)
{
    const struct masked_run *run = job;
    int32_t *keys = (int32_t *)((char *)own + run->keys),
            *medians = (int32_t *)((char *)own + run->medians);
    uint8_t *valid = (uint8_t *)own + run->valid;
    const int64_t line = end - first + 2 * run->radius;
    for (int64_t i = 0; i < run->width * run->depth; i++)
        load_row(run, row->z + i / run->width, row->y - run->radius + i % run->width,
                 first - run->radius, line, keys + i * line, valid + i * line);
    for (int64_t x = 0; x < end - first; x++)
        medians[x] = median_of(run, keys + x, valid + x, line);
    ts_value_keys_store(run->in->dtype,
                        (char *)row->out + (size_t)first * ts_dtype_bytes(run->in->dtype), medians,
                        end - first);
}

static struct masked_mend median_describe(struct masked_run *run,
                                          const struct stage_context *context)
{
    const struct median_params *params = context->params;
    const bool volume = params->dimensions == MEDIAN_3D;
    *run = (struct masked_run){.border = (enum ts_border)params->border,
                               .ny = context->in.axes[1].n,
                               .nx = context->in.axes[2].n,
                               .radius = params->radius,
                               .width = 2 * params->radius + 1};
    run->depth = volume ? run->width : 1;
    run->line = run->nx + 2 * run->radius;
    run->keys =
        ts_scratch_part(&run->own_bytes, run->width * run->depth * run->line, sizeof(int32_t));
    run->valid =
        ts_scratch_part(&run->own_bytes, run->width * run->depth * run->line, sizeof(uint8_t));
    run->medians = ts_scratch_part(&run->own_bytes, run->nx, sizeof(int32_t));
    return (struct masked_mend){.radius = {volume ? run->radius : 0, run->radius, run->radius},
                                .border = run->border,
                                .pixels = median_pixels,
                                .job = run,
                                .own_bytes = run->own_bytes};
}

/* Returns the bytes of scratch of median_mend. */
static size_t median_mend_bytes(const struct stage_context *context)
{
    struct masked_run run;
    const struct masked_mend mend = median_describe(&run, context);
    return ts_masked_mend_bytes(context, &mend);
}

/* Writes the pixels of `out` that are invalid or have an invalid one in their window; the others
 * are already written. `in` has the halo of the stage at both ends, with its bits. `constant` is
 * the key of pixels outside with BORDER_CONSTANT, which count as valid. */
static void median_mend(const struct stage_context *context, const struct ts_image *in,
                        struct ts_image *out, int32_t constant, void *scratch)
{
    struct masked_run run;
    const struct masked_mend mend = median_describe(&run, context);
    run.in = in;
    run.constant = constant;
    ts_masked_mend(context, &mend, in, out, scratch);
}

static const struct choice dimensions_choices[] = {
    {"2d", MEDIAN_2D, "a square in each slice"},
    {"3d", MEDIAN_3D, "a cube, which also spans neighboring slices"},
    {0},
};

static const struct choice method_choices[] = {
    {"auto", MEDIAN_AUTO, "network for windows of at most 49 values, else histogram"},
    {"network", MEDIAN_NETWORK,
     "a fixed network of comparisons: 3 x 3, 5 x 5, 7 x 7 and 3 x 3 x 3"},
    {"histogram", MEDIAN_HISTOGRAM,
     "on the CPU a histogram that slides with the window; on a CUDA device the counts of smaller "
     "values, bit by bit"},
    {0},
};

static const struct param median_params[] = {
    PARAM(struct median_params, radius, .unit = "pixel", .min = 1, .max = 7, .init.i = 1,
          .doc = "half width: the window has 2 radius + 1 values along each side"),
    PARAM(struct median_params, dimensions, .choices = dimensions_choices, .init.choice = MEDIAN_2D,
          .doc = "whether the window is in a slice or spans slices as well"),
    PARAM(struct median_params, border, .choices = ts_border_choices, .init.choice = BORDER_REFLECT,
          .doc = TS_BORDER_DOC),
    PARAM(struct median_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX,
          .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
    PARAM(struct median_params, method, .choices = method_choices, .init.choice = MEDIAN_AUTO,
          .doc = "how the median is found; the result is the same"),
};

STAGE_PARAMS_OF(median_params)

static int64_t window_values(const struct median_params *params)
{
    const int64_t width = 2 * params->radius + 1;
    return width * width * (params->dimensions == MEDIAN_3D ? width : 1);
}

static enum ts_status median_resolve(const struct stage_context *context, void *values)
{
    struct median_params *params = values;
    const int64_t n = window_values(params);
    if (params->method == MEDIAN_AUTO)
        params->method = n > MEDIAN_NETWORK_VALUES ? MEDIAN_HISTOGRAM : MEDIAN_NETWORK;
    if (params->method == MEDIAN_NETWORK && n > MEDIAN_NETWORK_VALUES)
        return ts_param_error(context->set, "method", "median-window", context->diag,
                              "a network has at most %d values, and this window has %lld",
                              MEDIAN_NETWORK_VALUES, (long long)n);
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static struct stage_reach median_reach(const struct stage_context *context)
{
    const struct median_params *params = params_of(context);
    return (struct stage_reach){.halo = params->dimensions == MEDIAN_3D ? params->radius : 0,
                                .border = (enum ts_border)params->border,
                                .constant = params->constant};
}

/* ---- the window's lines ---------------------------------------------------------------------- */

/* One slab, as all threads see it. */
struct job {
    const struct stage_context *context;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx, radius, width, depth; /* depth: slices of a window */
    int64_t line_keys; /* keys of a line, including its borders and the last lanes */
    const int64_t
        *columns; /* columns[i] is the column for sample i - radius, or -1 for the constant */
    int32_t constant, lowest; /* keys of the constant and of the dtype's lowest value */
    int bits;                 /* bits of a value */
};

/* One thread's share of the scratch. */
struct worker {
    int32_t *keys; /* depth rings of `width` lines, the medians of a row, and the sorted columns of
                    * 7 x 7 windows */
    uint16_t *counts, *coarse;
};

static int64_t keys_of_line(const struct stage_context *context)
{
    return context->in.axes[2].n + 2 * params_of(context)->radius + MOST_LANES;
}

static size_t worker_bytes(const struct stage_context *context)
{
    const struct median_params *params = params_of(context);
    const int64_t width = 2 * params->radius + 1;
    const int64_t lines = width * (params->dimensions == MEDIAN_3D ? width : 1) + SPARE_LINES;
    const size_t counts =
        params->method == MEDIAN_HISTOGRAM ? (BINS + COARSE) * sizeof(uint16_t) : 0;
    return ((size_t)(lines * keys_of_line(context)) * sizeof(int32_t) + counts + 63) / 64 * 64;
}

static size_t columns_bytes(const struct stage_context *context)
{
    return ((size_t)(context->in.axes[2].n + 2 * params_of(context)->radius) * sizeof(int64_t) +
            63) /
           64 * 64;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    (void)n;
    return columns_bytes(context) + (size_t)context->threads * worker_bytes(context) +
           (context->in.masked ? median_mend_bytes(context) : 0);
}

static int32_t *line_of(const struct job *job, const struct worker *worker, int64_t slice,
                        int64_t row)
{
    return worker->keys + (slice * job->width + (row + job->radius) % job->width) * job->line_keys;
}

/* Converts row `row`, which may be outside the image, of slice `slice` of the window above output
 * slice z. */
static void load_line(const struct job *job, const struct worker *worker, int64_t z, int64_t slice,
                      int64_t row)
{
    const enum ts_border border = (enum ts_border)params_of(job->context)->border;
    const int64_t from = ts_border_index(row, job->ny, border), n = job->nx + 2 * job->radius;
    int32_t *line = line_of(job, worker, slice, row), *plain = line + job->radius;
    if (from < 0) {
        for (int64_t i = 0; i < n; i++)
            line[i] = job->constant;
        return;
    }
    const char *in = (const char *)ts_slice_data(job->in, z + slice);
    ts_value_keys_load(job->in->dtype,
                       in + (size_t)(from * job->nx) * ts_dtype_bytes(job->in->dtype), plain,
                       job->nx);
    for (int64_t i = 0; i < job->radius; i++) {
        const int64_t left = job->columns[i], right = job->columns[job->radius + job->nx + i];
        line[i] = left < 0 ? job->constant : plain[left];
        plain[job->nx + i] = right < 0 ? job->constant : plain[right];
    }
}

/* ---- by a network ---------------------------------------------------------------------------- */

#define TS_LOOPS "stages/filters/median_lines.inc"
#include "core/vectors.inc"

/* ---- by a histogram -------------------------------------------------------------------------- */

/* The counts of the keys in a window, for each bin and for COARSE bins together; and a bin with the
 * number of keys below it. */
struct histogram {
    uint16_t *counts, *coarse;
    uint32_t bin, below;
    int shift; /* a bin has 2^shift keys */
};

static inline uint32_t bin_of(const struct job *job, const struct histogram *histogram, int32_t key)
{
    return ((uint32_t)key - (uint32_t)job->lowest) >> histogram->shift;
}

static inline void median_count(const struct job *job, struct histogram *histogram,
                                const int32_t *const lines[], int64_t n_lines, int64_t x,
                                int change)
{
    for (int64_t i = 0; i < n_lines; i++) {
        const uint32_t bin = bin_of(job, histogram, lines[i][x]);
        histogram->counts[bin] = (uint16_t)(histogram->counts[bin] + change);
        histogram->coarse[bin / COARSE] = (uint16_t)(histogram->coarse[bin / COARSE] + change);
        histogram->below += bin < histogram->bin ? (uint32_t)change : 0;
    }
}

/* Moves to the bin with key number `middle` in rising order, counted from 0. It skips COARSE bins
 * at once if the median is not among them. */
static inline void find_bin(struct histogram *histogram, uint32_t middle)
{
    uint32_t bin = histogram->bin, below = histogram->below;
    while (below > middle) {
        if (bin % COARSE == 0 && below - histogram->coarse[bin / COARSE - 1] > middle) {
            bin -= COARSE;
            below -= histogram->coarse[bin / COARSE];
        } else
            below -= histogram->counts[--bin];
    }
    for (;;) {
        if (bin % COARSE == 0 && below + histogram->coarse[bin / COARSE] <= middle) {
            below += histogram->coarse[bin / COARSE];
            bin += COARSE;
        } else if (below + histogram->counts[bin] <= middle)
            below += histogram->counts[bin++];
        else
            break;
    }
    histogram->bin = bin;
    histogram->below = below;
}

static int32_t search_bin(const struct job *job, const struct histogram *histogram,
                          const int32_t *const lines[], int64_t n_lines, int64_t x, uint32_t middle)
{
    int32_t keys[MOST_LINES * MOST_WIDTH];
    int64_t n = 0;
    for (int64_t i = 0; i < n_lines; i++)
        for (int64_t k = 0; k < job->width; k++) {
            keys[n] = lines[i][x + k];
            n += bin_of(job, histogram, keys[n]) == histogram->bin;
        }
    return ts_value_keys_select(keys, n, middle - histogram->below);
}

static void histogram_line(const struct job *job, const struct worker *worker,
                           const int32_t *const lines[], int64_t n_lines, int32_t *medians)
{
    struct histogram histogram = {worker->counts, worker->coarse,
                                  .shift = job->bits > 16 ? job->bits - 16 : 0};
    const uint32_t middle = (uint32_t)(n_lines * job->width / 2);
    memset(worker->counts, 0, (job->bits == 8 ? COARSE : BINS) * sizeof *worker->counts);
    memset(worker->coarse, 0, COARSE * sizeof *worker->coarse);
    for (int64_t x = 0; x < job->width - 1; x++)
        median_count(job, &histogram, lines, n_lines, x, 1);
    for (int64_t x = 0; x < job->nx; x++) {
        median_count(job, &histogram, lines, n_lines, x + job->width - 1, 1);
        find_bin(&histogram, middle);
        medians[x] = histogram.shift ? search_bin(job, &histogram, lines, n_lines, x, middle)
                                     : (int32_t)(histogram.bin + (uint32_t)job->lowest);
        median_count(job, &histogram, lines, n_lines, x, -1);
    }
}

/* ---- a slab ---------------------------------------------------------------------------------- */

/* Maps rows [first, end) of output slice z. */
static void map_rows(const struct job *job, const struct worker *worker, int64_t z, int64_t first,
                     int64_t end)
{
    const int32_t *lines[MOST_LINES];
    const int64_t n_lines = job->width * job->depth;
    int32_t *medians = worker->keys + n_lines * job->line_keys, *sorted[7];
    for (int k = 0; k < 7; k++)
        sorted[k] = medians + (k + 1) * job->line_keys;
    for (int64_t row = first - job->radius; row < end + job->radius; row++) {
        for (int64_t slice = 0; slice < job->depth; slice++)
            load_line(job, worker, z, slice, row);
        const int64_t y = row - job->radius;
        if (y < first)
            continue;
        for (int64_t i = 0; i < n_lines; i++)
            lines[i] = line_of(job, worker, i / job->width, y - job->radius + i % job->width);
        if (params_of(job->context)->method == MEDIAN_NETWORK) {
            if (n_lines == 7)
                TS_WIDEST(sort_columns)(lines, job->line_keys, sorted);
            TS_WIDEST(network_line)(lines, n_lines, sorted, job->nx, medians);
        } else
            histogram_line(job, worker, lines, n_lines, medians);
        ts_value_keys_store(job->out->dtype,
                            (char *)ts_slice_data(job->out, z) +
                                (size_t)(y * job->nx) * ts_dtype_bytes(job->out->dtype),
                            medians, job->nx);
    }
}

static int32_t key_of(enum ts_dtype dtype, double value)
{
    int32_t bits, key;
    ts_constant_fill(&bits, dtype, value, 1);
    ts_value_keys_load(dtype, &bits, &key, 1);
    return key;
}

static enum ts_status median_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    const struct median_params *params = params_of(context);
    const enum ts_dtype dtype = in->dtype;
    const int64_t nz = out->axes[0].n, ny = out->axes[1].n, nx = out->axes[2].n;
    const int64_t chunks = (ny + CHUNK_ROWS - 1) / CHUNK_ROWS, width = 2 * params->radius + 1;
    const int32_t constant =
        params->border == BORDER_CONSTANT ? key_of(dtype, params->constant) : 0;
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    struct job job = {context,
                      in,
                      out,
                      ny,
                      nx,
                      params->radius,
                      width,
                      .depth = params->dimensions == MEDIAN_3D ? width : 1,
                      .line_keys = keys_of_line(context),
                      .columns = scratch,
                      .constant = constant,
                      .lowest = dtype == TS_F32 ? INT32_MIN : key_of(dtype, low),
                      .bits = 8 * (int)ts_dtype_bytes(dtype)};
    ts_border_fill(scratch, -params->radius, nx + 2 * params->radius, nx,
                   (enum ts_border)params->border);
#pragma omp parallel num_threads(context->threads)
    {
        char *own = (char *)scratch + columns_bytes(context) +
                    (size_t)omp_get_thread_num() * worker_bytes(context);
        struct worker worker = {.keys = (int32_t *)(void *)own};
        worker.counts =
            (uint16_t *)(worker.keys + (job.width * job.depth + SPARE_LINES) * job.line_keys);
        worker.coarse = worker.counts + BINS;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < nz * chunks; i++) {
            const int64_t first = i % chunks * CHUNK_ROWS;
            map_rows(&job, &worker, i / chunks, first,
                     first + CHUNK_ROWS < ny ? first + CHUNK_ROWS : ny);
        }
    }
    if (context->in.masked)
        median_mend(context, in, out, constant,
                    (char *)scratch + columns_bytes(context) +
                        (size_t)context->threads * worker_bytes(context));
    return TS_OK;
}

const struct stage median_stage = {
    .name = "median",
    .summary = "median of a square or cubic window",
    .doc = "`out[z][y][x]` is the median of `in[z + dz][y + dy][x + dx]` over `|dy|, |dx| <= "
           "radius` and, with `dimensions: 3d`, `|dz| <= radius`. It takes out noise of single "
           "pixels and keeps edges, which `box` blurs. Values keep their dtype; borders are those "
           "of scipy.ndimage, and the result is that of `scipy.ndimage.median_filter` with `size = "
           "2 radius + 1`. To replace only outliers and keep all other values, use `outliers`.\n"
           "\n"
           "**Exactness.** Values are chosen, not computed, so the result is exact, and the same "
           "by both methods and on both devices. A NaN orders above every number, or below if its "
           "sign is set, as a sort of the bits does.\n"
           "\n"
           "**Masked images.** If pixels are invalid, such as a CT's padding, the median is that "
           "of the n valid pixels of the window: the one at place n / 2 of the sorted ones, "
           "counted from 0. An invalid pixel keeps its value.\n"
           "\n"
           "**Cost.** A `network` takes about n^2 / 5 comparisons for a window of n values, on "
           "vectors. `histogram` takes 2 n / (2 radius + 1) counts per pixel on the CPU (T. S. "
           "Huang, G. J. Yang, G. Y. Tang, *A fast two-dimensional median filtering algorithm*, "
           "1979); on a CUDA device it counts the values of the window once per bit.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(median_params, struct median_params),
    .resolve = median_resolve,
    .reach = median_reach,
    .scratch_bytes = scratch_bytes,
    .map = median_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(median_cuda),
    .tolerance = {.why = "values are chosen, not computed"},
    .bench = "radius=1|radius=2|radius=3|radius=7|radius=1 dimensions=3d|radius=3 dimensions=3d",
};
