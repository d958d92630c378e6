/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and sums are made in double and rounded once, so that a kernel whose weights cancel (a Laplacian of a
 * bright, flat image) keeps its digits. Taps of weight 0 are left out: what lies under them does not matter, not even a
 * NaN. The rows around an output row stand in a ring of extended rows in double; 32 neighboring pixels are summed at a
 * time, tap after tap in the order in which the weights are written.
 */
#include "stages/filters/convolve.h"

#include <float.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/scratch.h"

enum {
    CHUNK_ROWS = 64,
    LANES = 8,
    BLOCK = 4 * LANES,
    NAMED_SIDE = 5,
    MAX_TAPS = CONVOLVE_MAX_SIDE * CONVOLVE_MAX_SIDE
};

/* ---- kernels ------------------------------------------------------------------------------------ */

/* side x side weights, row after row; the sum is divided by `divisor`. */
struct named_kernel {
    int64_t side;
    double divisor;
    double weights[NAMED_SIDE * NAMED_SIDE];
};

/* clang-format off */
#define CROSS(center, neighbor) {0, neighbor, 0,  neighbor, center, neighbor,  0, neighbor, 0}
#define SQUARE(center, neighbor) \
    {neighbor, neighbor, neighbor,  neighbor, center, neighbor,  neighbor, neighbor, neighbor}
#define SQUARE_5(center, neighbor) \
    {neighbor, neighbor, neighbor, neighbor, neighbor,  neighbor, neighbor, neighbor, neighbor, neighbor, \
     neighbor, neighbor, center, neighbor, neighbor,  neighbor, neighbor, neighbor, neighbor, neighbor, \
     neighbor, neighbor, neighbor, neighbor, neighbor}

static const struct named_kernel named_kernels[] = {
    [CONVOLVE_LOW_PASS_4] = {3, 5, CROSS(1, 1)},
    [CONVOLVE_LOW_PASS_8] = {3, 9, SQUARE(1, 1)},
    [CONVOLVE_LOW_PASS_5X5] = {5, 25, SQUARE_5(1, 1)},
    [CONVOLVE_GAUSSIAN_3X3] = {3, 16, {1, 2, 1,  2, 4, 2,  1, 2, 1}},
    [CONVOLVE_GAUSSIAN_5X5] = {5, 256, {1, 4, 6, 4, 1,  4, 16, 24, 16, 4,  6, 24, 36, 24, 6,  4, 16, 24, 16, 4,
                                        1, 4, 6, 4, 1}},
    [CONVOLVE_HIGH_PASS_4] = {3, 5, CROSS(4, -1)},
    [CONVOLVE_HIGH_PASS_8] = {3, 9, SQUARE(8, -1)},
    [CONVOLVE_HIGH_PASS_5X5] = {5, 25, SQUARE_5(24, -1)},
    [CONVOLVE_SHARPEN_4] = {3, 1, CROSS(5, -1)},
    [CONVOLVE_SHARPEN_8] = {3, 1, SQUARE(9, -1)},
    [CONVOLVE_SHARPEN_5X5] = {5, 256, {-1, -4, -6, -4, -1,  -4, -16, -24, -16, -4,  -6, -24, 476, -24, -6,
                                       -4, -16, -24, -16, -4,  -1, -4, -6, -4, -1}},
    [CONVOLVE_LAPLACIAN_4] = {3, 1, CROSS(-4, 1)},
    [CONVOLVE_LAPLACIAN_8] = {3, 1, SQUARE(-8, 1)},
    [CONVOLVE_LOG_5X5] = {5, 1, {0, 0, 1, 0, 0,  0, 1, 2, 1, 0,  1, 2, -16, 2, 1,  0, 1, 2, 1, 0,  0, 0, 1, 0, 0}},
    [CONVOLVE_SOBEL_X] = {3, 1, {-1, 0, 1,  -2, 0, 2,  -1, 0, 1}},
    [CONVOLVE_SOBEL_Y] = {3, 1, {-1, -2, -1,  0, 0, 0,  1, 2, 1}},
    [CONVOLVE_SOBEL_X_5X5] = {5, 1, {-1, -2, 0, 2, 1,  -4, -8, 0, 8, 4,  -6, -12, 0, 12, 6,  -4, -8, 0, 8, 4,
                                     -1, -2, 0, 2, 1}},
    [CONVOLVE_SOBEL_Y_5X5] = {5, 1, {-1, -4, -6, -4, -1,  -2, -8, -12, -8, -2,  0, 0, 0, 0, 0,  2, 8, 12, 8, 2,
                                     1, 4, 6, 4, 1}},
};
/* clang-format on */

static const struct choice kernel_choices[] = {
    {"custom", CONVOLVE_CUSTOM, "the parameter `weights`"},
    {"low-pass-4", CONVOLVE_LOW_PASS_4, "mean of a pixel and its 4 neighbors"},
    {"low-pass-8", CONVOLVE_LOW_PASS_8, "mean of a pixel and its 8 neighbors"},
    {"low-pass-5x5", CONVOLVE_LOW_PASS_5X5, "mean of 5 x 5 pixels"},
    {"gaussian-3x3", CONVOLVE_GAUSSIAN_3X3, "[1 2 1] both ways, /16"},
    {"gaussian-5x5", CONVOLVE_GAUSSIAN_5X5, "[1 4 6 4 1] both ways, /256"},
    {"high-pass-4", CONVOLVE_HIGH_PASS_4, "the image minus low-pass-4"},
    {"high-pass-8", CONVOLVE_HIGH_PASS_8, "the image minus low-pass-8"},
    {"high-pass-5x5", CONVOLVE_HIGH_PASS_5X5, "the image minus low-pass-5x5"},
    {"sharpen-4", CONVOLVE_SHARPEN_4, "the image minus laplacian-4"},
    {"sharpen-8", CONVOLVE_SHARPEN_8, "the image minus laplacian-8"},
    {"sharpen-5x5", CONVOLVE_SHARPEN_5X5, "twice the image minus gaussian-5x5 (unsharp mask)"},
    {"laplacian-4", CONVOLVE_LAPLACIAN_4, "the 4 neighbors minus 4 times the pixel, as scipy.ndimage.laplace"},
    {"laplacian-8", CONVOLVE_LAPLACIAN_8, "the 8 neighbors minus 8 times the pixel"},
    {"log-5x5", CONVOLVE_LOG_5X5, "Laplacian of a Gaussian, center -16; negative on bright spots"},
    {"sobel-x", CONVOLVE_SOBEL_X, "slope along x, as scipy.ndimage.sobel(axis=-1)"},
    {"sobel-y", CONVOLVE_SOBEL_Y, "slope along y, as scipy.ndimage.sobel(axis=-2)"},
    {"sobel-magnitude", CONVOLVE_SOBEL_MAGNITUDE, "sqrt(sobel-x^2 + sobel-y^2)"},
    {"sobel-x-5x5", CONVOLVE_SOBEL_X_5X5, "[1 4 6 4 1] along y, [-1 -2 0 2 1] along x, as cv2.Sobel(ksize=5)"},
    {"sobel-y-5x5", CONVOLVE_SOBEL_Y_5X5, "the same, transposed"},
    {NULL, 0, NULL},
};

static const struct param convolve_params[] = {
    PARAM(struct convolve_params, kernel, .unit = "", .required = true, .choices = kernel_choices,
          .doc = "a kernel by name, or custom"),
    PARAM(struct convolve_params, weights, .unit = "", .optional = true,
          .doc =
              "the weights of a custom kernel, top row first: [[1, 0, -1], [2, 0, -2], [1, 0, -1]]; an odd number of "
              "rows and of columns, at most 31; one list is one row"),
    PARAM(struct convolve_params, border, .unit = "", .choices = ts_border_choices, .init.choice = BORDER_REFLECT,
          .doc = TS_BORDER_DOC),
    PARAM(struct convolve_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX, .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
};

static struct convolve_weights kernel_of(const struct convolve_params *params, enum convolve_kernel name)
{
    if (name == CONVOLVE_CUSTOM)
        return (struct convolve_weights){params->weights.rows, params->weights.columns, params->weights.values, 1};
    const struct named_kernel *named = &named_kernels[name];
    return (struct convolve_weights){named->side, named->side, named->weights, named->divisor};
}

int ts_convolve_kernels(const struct convolve_params *params, struct convolve_weights kernels[2])
{
    const bool magnitude = params->kernel == CONVOLVE_SOBEL_MAGNITUDE;
    kernels[0] = kernel_of(params, magnitude ? CONVOLVE_SOBEL_X : (enum convolve_kernel)params->kernel);
    kernels[1] = kernel_of(params, CONVOLVE_SOBEL_Y);
    return magnitude ? 2 : 1;
}

/* ---- plan --------------------------------------------------------------------------------------- */

static enum ts_status convolve_resolve(const struct stage_context *context, void *values)
{
    const struct convolve_params *params = values;
    const bool custom = params->kernel == CONVOLVE_CUSTOM, given = ts_param_given(context->set, "weights");
    if (custom && !given) {
        ts_param_error(context->set, "kernel", "weights-missing", context->diag, "custom needs the parameter weights");
        return ts_diag_hint(context->diag, "weights: [[0, 1, 0], [1, 1, 1], [0, 1, 0]]");
    }
    if (!custom && given) {
        ts_param_error(context->set, "weights", "parameter-unused", context->diag,
                       "is used with kernel: custom alone, and kernel is %s",
                       ts_choice_name(kernel_choices, params->kernel));
        return TS_BAD_CHAIN;
    }
    const struct ts_numbers *weights = &params->weights;
    if (custom && (weights->rows % 2 != 1 || weights->columns % 2 != 1 || weights->rows > CONVOLVE_MAX_SIDE ||
                   weights->columns > CONVOLVE_MAX_SIDE))
        return ts_param_error(context->set, "weights", "weights-shape", context->diag,
                              "%lld rows of %lld weights; both must be odd and at most %d", (long long)weights->rows,
                              (long long)weights->columns, CONVOLVE_MAX_SIDE);
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

/* An average (weights that sum to 1) of HU is in HU; anything else is not. */
static enum ts_status convolve_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct convolve_params *params = context->params;
    struct convolve_weights kernels[2];
    const int n_kernels = ts_convolve_kernels(params, kernels);
    double sum = 0;
    for (int64_t i = 0; i < kernels[0].rows * kernels[0].columns; i++)
        sum += kernels[0].weights[i];
    out->dtype = TS_F32;
    if (n_kernels > 1 || !(fabs(sum / kernels[0].divisor - 1) <= 1e-9)) {
        out->quantity = TS_INTENSITY;
        out->unit = "1";
    }
    return TS_OK;
}

/* ---- run ---------------------------------------------------------------------------------------- */

struct tap {
    int64_t row, column;
    double weight;
};

struct tap_list {
    int n;
    double scale;
    struct tap taps[MAX_TAPS];
};

/* The work of one call, and where its parts of the scratch stand. */
struct convolve_run {
    const struct convolve_params *params;
    struct convolve_weights kernels[2];
    int n_kernels;
    int64_t rows, columns; /* of the kernel */
    int64_t nz, ny, nx, row_length, sum_length;
    size_t edges, lists, threads, thread_bytes, sums, bytes;
};

static struct convolve_run convolve_describe(const struct stage_context *context, int64_t nz)
{
    struct convolve_run run = {
        .params = context->params, .nz = nz, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    run.n_kernels = ts_convolve_kernels(run.params, run.kernels);
    run.rows = run.kernels[0].rows;
    run.columns = run.kernels[0].columns;
    run.sum_length = (run.nx + BLOCK - 1) / BLOCK * BLOCK;
    run.row_length = run.sum_length + (run.columns + LANES - 1) / LANES * LANES;
    size_t used = 0;
    ts_scratch_part(&used, run.rows * run.row_length, sizeof(double));
    run.sums = ts_scratch_part(&used, 2 * run.sum_length, sizeof(double));
    run.thread_bytes = used;
    used = 0;
    run.edges = ts_scratch_part(&used, run.columns, sizeof(int64_t));
    run.lists = ts_scratch_part(&used, run.n_kernels, sizeof(struct tap_list));
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

static size_t convolve_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return convolve_describe(context, n).bytes;
}

static void list_taps(const struct convolve_weights *kernel, struct tap_list *list)
{
    list->n = 0;
    list->scale = 1 / kernel->divisor;
    for (int64_t row = 0; row < kernel->rows; row++)
        for (int64_t column = 0; column < kernel->columns; column++) {
            const double weight = kernel->weights[row * kernel->columns + column];
            if (weight != 0)
                list->taps[list->n++] = (struct tap){row, column, weight};
        }
}

#define TS_LOOPS "stages/filters/convolve_sums.inc"
#include "core/vectors.inc"

TS_VECTORIZED static void round_sums(const double *restrict sums, float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)sums[x];
}

TS_VECTORIZED static void round_magnitudes(const double *restrict along_x, const double *restrict along_y,
                                           float *restrict out, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        out[x] = (float)sqrt(along_x[x] * along_x[x] + along_y[x] * along_y[x]);
}

/* Loads row y of a slice (also one outside), extended by the border rule on both sides. */
static void load_row(const struct convolve_run *run, const int64_t *edges, enum ts_dtype dtype, const char *slice,
                     int64_t y, double *row)
{
    const int64_t half = run->columns / 2, n = run->nx;
    const int64_t from = ts_border_index(y, run->ny, (enum ts_border)run->params->border);
    if (from < 0) {
        for (int64_t x = 0; x < n + 2 * half; x++)
            row[x] = run->params->constant;
        return;
    }
    ts_load_f64(row + half, slice + (size_t)(from * n) * ts_dtype_bytes(dtype), dtype, (size_t)n);
    for (int64_t i = 0; i < half; i++) {
        row[i] = edges[i] < 0 ? run->params->constant : row[half + edges[i]];
        row[half + n + i] = edges[half + i] < 0 ? run->params->constant : row[half + edges[half + i]];
    }
}

/* Does rows [y_first, y_end) of one slice. */
static void convolve_chunk(const struct convolve_run *run, enum ts_dtype dtype, const char *slice, int64_t y_first,
                           int64_t y_end, float *out, char *scratch)
{
    char *own = scratch + run->threads + (size_t)omp_get_thread_num() * run->thread_bytes;
    double *ring = (double *)own, *sums = (double *)(own + run->sums);
    const int64_t *edges = (const int64_t *)(scratch + run->edges);
    const struct tap_list *lists = (const struct tap_list *)(scratch + run->lists);
    const int64_t half = run->rows / 2;
    /* The sums past the extended rows are computed, too, and not used. */
    memset(ring, 0, (size_t)(run->rows * run->row_length) * sizeof(double));
    for (int64_t j = 0; j < run->rows - 1; j++)
        load_row(run, edges, dtype, slice, y_first + j - half, ring + j * run->row_length);
    for (int64_t y = y_first; y < y_end; y++) {
        const int64_t top = (y - y_first) % run->rows, newest = (top + run->rows - 1) % run->rows;
        load_row(run, edges, dtype, slice, y + half, ring + newest * run->row_length);
        for (int i = 0; i < run->n_kernels; i++)
            TS_WIDEST(sum_row)
        (&lists[i], ring, run->rows, run->row_length, top, sums + i * run->sum_length, run->sum_length);
        if (run->n_kernels == 2)
            round_magnitudes(sums, sums + run->sum_length, out + y * run->nx, run->nx);
        else
            round_sums(sums, out + y * run->nx, run->nx);
    }
}

static enum ts_status convolve_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                   void *scratch)
{
    const struct convolve_run run = convolve_describe(context, out->axes[0].n);
    const int64_t half = run.columns / 2, n_chunks = (run.ny + CHUNK_ROWS - 1) / CHUNK_ROWS;
    int64_t *edges = (int64_t *)((char *)scratch + run.edges);
    ts_border_fill(edges, -half, half, run.nx, (enum ts_border)run.params->border);
    ts_border_fill(edges + half, run.nx, half, run.nx, (enum ts_border)run.params->border);
    for (int i = 0; i < run.n_kernels; i++)
        list_taps(&run.kernels[i], (struct tap_list *)((char *)scratch + run.lists) + i);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t item = 0; item < run.nz * n_chunks; item++) {
        const int64_t z = item / n_chunks, y = item % n_chunks * CHUNK_ROWS;
        convolve_chunk(&run, in->dtype, ts_slice_data(in, z), y, y + CHUNK_ROWS < run.ny ? y + CHUNK_ROWS : run.ny,
                       ts_slice_data(out, z), scratch);
    }
    return TS_OK;
}

static const char convolve_doc[] =
    "`out[y][x] = 1/divisor * sum of weights[j][i] * in[y + j - rows/2][x + i - columns/2]`, slice by slice: the "
    "weights lie on the image as they are written, as in scipy.ndimage.correlate, cv2.filter2D and the convolutions of "
    "neural networks. scipy.ndimage.convolve turns its kernel by 180 degrees first: turn the weights to get its "
    "result.\n"
    "\n"
    "| kernel | weights | divisor |\n"
    "|---|---|---|\n"
    "| low-pass-4, low-pass-8, low-pass-5x5 | 1 for the pixel and its 4, 8, 24 neighbors | 5, 9, 25 |\n"
    "| gaussian-3x3 | [1 2 1] along y times [1 2 1] along x | 16 |\n"
    "| gaussian-5x5 | [1 4 6 4 1] along y times [1 4 6 4 1] along x | 256 |\n"
    "| high-pass-4, high-pass-8, high-pass-5x5 | 4, 8, 24 for the pixel, -1 for its 4, 8, 24 neighbors | 5, 9, 25 |\n"
    "| sharpen-4, sharpen-8 | 5, 9 for the pixel, -1 for its 4, 8 neighbors | 1 |\n"
    "| sharpen-5x5 | 512 for the pixel minus those of gaussian-5x5 | 256 |\n"
    "| laplacian-4, laplacian-8 | -4, -8 for the pixel, 1 for its 4, 8 neighbors | 1 |\n"
    "| log-5x5 | [0 0 1 0 0] [0 1 2 1 0] [1 2 -16 2 1] [0 1 2 1 0] [0 0 1 0 0] | 1 |\n"
    "| sobel-x, sobel-y | [1 2 1] across times [-1 0 1] along the axis | 1 |\n"
    "| sobel-magnitude | sqrt(sobel-x^2 + sobel-y^2) | 1 |\n"
    "| sobel-x-5x5, sobel-y-5x5 | [1 4 6 4 1] across times [-1 -2 0 2 1] along the axis | 1 |\n"
    "\n"
    "A low-pass and its high-pass add up to the image. Slopes are per pixel and not divided by the spacing: sobel "
    "gives 8 times the slope per pixel, sobel-5x5 128 times.\n"
    "\n"
    "The result is f32: sums in double, rounded once. It keeps quantity and unit where the weights sum to 1 (low-pass, "
    "gaussian, sharpen: an average of HU is in HU) and is an intensity otherwise. Pixels under weights of 0 do not "
    "count, not even NaN.\n"
    "\n"
    "**Cost.** One multiplication and addition per pixel and nonzero weight.\n"
    "\n"
    "**Source.** I. Sobel, G. Feldman, 1968; R. C. Gonzalez, R. E. Woods, Digital Image Processing, chapter 3.";

const struct stage convolve_stage = {
    .name = "convolve",
    .summary =
        "weighted sum over the neighborhood of each pixel: low-pass, high-pass, Sobel, Laplacian, or a given kernel",
    .doc = convolve_doc,
    STAGE_TAKES_ALL,
    .bench = "kernel=gaussian-3x3|kernel=gaussian-5x5|kernel=laplacian-8|kernel=log-5x5|kernel=sobel-x|kernel=sobel-"
             "magnitude",
    STAGE_PARAMS(convolve_params, struct convolve_params),
    .resolve = convolve_resolve,
    .shape = convolve_shape,
    .scratch_bytes = convolve_scratch_bytes,
    .map = convolve_map,
    .cuda = STAGE_CUDA(convolve_cuda),
    .tolerance = {.relative = 6e-8, .why = "one rounding to f32 (2^-24) of a sum in double"},
};
