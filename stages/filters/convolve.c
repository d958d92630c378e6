/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and sums are made in double and rounded once, so that a kernel whose weights cancel (a
 * Laplacian of a bright, flat image) keeps its digits. If weights and pixels are integers and float
 * holds every partial sum, float gives the same result with vectors of twice as many pixels. Taps
 * of weight 0 are left out: pixels under them do not matter, not even a NaN. The rows around four
 * output rows are in a ring of extended rows, so that a value that is loaded serves four sums; each
 * sum adds tap after tap in the order in which the weights are written.
 */
#include "stages/filters/convolve.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"
#include "stages/engine/border.h"
#include "stages/engine/scratch.h"
#include "stages/engine/stage.h"
#include "stages/engine/transpose.h"
#include "stages/engine/validity.h"
#include "stages/filters/masked_mend.h"

/* The kernels of convolve as numbers, and two properties by which both devices choose how to sum:
 * whether float holds every partial sum, and whether a kernel is a column times a row, so that n x
 * n taps become 2 n. */

enum { NAMED_SIDE = 5 };

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

static struct convolve_weights kernel_of(const struct convolve_params *params,
                                         enum convolve_kernel name)
{
    if (name == CONVOLVE_CUSTOM)
        return (struct convolve_weights){params->weights.rows, params->weights.columns,
                                         params->weights.values, 1};
    const struct named_kernel *named = &named_kernels[name];
    return (struct convolve_weights){named->side, named->side, named->weights, named->divisor};
}

int ts_convolve_kernels(const struct convolve_params *params, struct convolve_weights kernels[2])
{
    const bool magnitude = params->kernel == CONVOLVE_SOBEL_MAGNITUDE;
    kernels[0] =
        kernel_of(params, magnitude ? CONVOLVE_SOBEL_X : (enum convolve_kernel)params->kernel);
    kernels[1] = kernel_of(params, CONVOLVE_SOBEL_Y);
    return magnitude ? 2 : 1;
}

bool ts_convolve_is_exact(const struct convolve_weights *kernels, int n_kernels,
                          enum ts_dtype dtype)
{
    double low, high;
    if (ts_dtype_bytes(dtype) > 2)
        return false;
    ts_dtype_range(dtype, &low, &high);
    for (int k = 0; k < n_kernels; k++) {
        double sum = 0;
        for (int64_t i = 0; i < kernels[k].rows * kernels[k].columns; i++) {
            const double weight = kernels[k].weights[i];
            if (weight != rint(weight))
                return false;
            sum += fabs(weight);
        }
        if (!(sum * fmax(-low, high) <= 0x1p24))
            return false;
    }
    return true;
}

bool ts_convolve_separate(const struct convolve_weights *kernel, double error, double *across,
                          double *down)
{
    const double *weights = kernel->weights;
    const int64_t n = kernel->rows * kernel->columns;
    int64_t pivot = -1;
    for (int64_t i = 0; i < n; i++)
        if (weights[i] != 0 && (pivot < 0 || fabs(weights[i]) < fabs(weights[pivot])))
            pivot = i;
    if (pivot < 0)
        return false;
    const int64_t row = pivot / kernel->columns, column = pivot % kernel->columns;
    for (int64_t i = 0; i < kernel->columns; i++)
        across[i] = weights[row * kernel->columns + i] + 0.0; /* + 0.0 avoids -0 */
    for (int64_t j = 0; j < kernel->rows; j++)
        down[j] = weights[j * kernel->columns + column] / weights[pivot] + 0.0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(weights[i] - down[i / kernel->columns] * across[i % kernel->columns]) <=
              error * fabs(weights[i])))
            return false;
    return true;
}

/* An invalid pixel under the weights counts as the value in their middle, so that a flat image
 * stays flat and has no slope towards its invalid pixels, whatever the weights sum to. An invalid
 * pixel in the middle keeps its value. Pixels with an invalid one under their weights
 * (masked_mend.h) are computed tap by tap in double. */

struct masked_kernel {
    const struct convolve_params *params;
    struct convolve_weights kernels[2];
    int n_kernels;
    int64_t ny, nx, half_y, half_x;
    const struct ts_image *in;
};

/* One slice of the input. */
struct masked_slice {
    const struct masked_kernel *kernel;
    const void *data;
    const uint64_t *valid;
    enum ts_dtype dtype;
};

static double value_at(const struct masked_slice *slice, int64_t i)
{
    double value;
    ts_load_f64(&value, (const char *)slice->data + (size_t)i * ts_dtype_bytes(slice->dtype),
                slice->dtype, 1);
    return value;
}

/* Returns the pixel at (y, x), which may be outside, or `middle` if it is invalid. */
static double sample(const struct masked_slice *slice, int64_t y, int64_t x, double middle)
{
    const struct masked_kernel *kernel = slice->kernel;
    const enum ts_border border = (enum ts_border)kernel->params->border;
    const int64_t row = ts_border_index(y, kernel->ny, border),
                  column = ts_border_index(x, kernel->nx, border);
    if (row < 0 || column < 0)
        return kernel->params->constant;
    const int64_t i = row * kernel->nx + column;
    return ts_valid_at(slice->valid, (size_t)i) ? value_at(slice, i) : middle;
}

/* Loads row y of the window around column x, with `middle` in place of invalid pixels. */
static void load_masked_row(const struct masked_slice *slice, int64_t y, int64_t x, double middle,
                            double *values)
{
    const struct masked_kernel *kernel = slice->kernel;
    const int64_t half = kernel->half_x, width = 2 * half + 1;
    const int64_t row = ts_border_index(y, kernel->ny, (enum ts_border)kernel->params->border);
    if (row < 0 || x < half || x + half >= kernel->nx) {
        for (int64_t i = 0; i < width; i++)
            values[i] = sample(slice, y, x + i - half, middle);
        return;
    }
    const size_t first = (size_t)(row * kernel->nx + x - half);
    ts_load_f64(values, (const char *)slice->data + first * ts_dtype_bytes(slice->dtype),
                slice->dtype, (size_t)width);
    ts_valid_fill_doubles(slice->valid, first, (size_t)width, middle, values);
}

/* Returns the result at a pixel that is valid. */
static float convolved(const struct masked_slice *slice, int64_t y, int64_t x)
{
    const struct masked_kernel *kernel = slice->kernel;
    const int64_t width = 2 * kernel->half_x + 1;
    const double middle = value_at(slice, y * kernel->nx + x);
    double sums[2] = {0, 0}, values[CONVOLVE_MAX_SIDE];
    for (int64_t j = 0; j <= 2 * kernel->half_y; j++) {
        load_masked_row(slice, y + j - kernel->half_y, x, middle, values);
        for (int k = 0; k < kernel->n_kernels; k++) {
            const double *weights = kernel->kernels[k].weights + j * width;
            for (int64_t i = 0; i < width; i++)
                sums[k] += weights[i] != 0 ? weights[i] * values[i] : 0;
        }
    }
    for (int k = 0; k < kernel->n_kernels; k++)
        sums[k] *= 1 / kernel->kernels[k].divisor;
    return (float)(kernel->n_kernels > 1 ? sqrt(sums[0] * sums[0] + sums[1] * sums[1]) : sums[0]);
}

static void convolve_pixels(const void *job, const struct masked_row *row, int64_t first,
                            int64_t end, void *own)
{
    const struct masked_kernel *kernel = job;
    const struct masked_slice slice = {kernel, ts_slice_data(kernel->in, row->z),
                                       ts_slice_valid(kernel->in, row->z), kernel->in->dtype};
    float *out = row->out;
    (void)own;
    for (int64_t x = first; x < end; x++)
        out[x] = convolved(&slice, row->y, x);
}

static struct masked_mend describe(struct masked_kernel *kernel,
                                   const struct stage_context *context)
{
    *kernel = (struct masked_kernel){
        .params = context->params, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    kernel->n_kernels = ts_convolve_kernels(kernel->params, kernel->kernels);
    kernel->half_y = kernel->kernels[0].rows / 2;
    kernel->half_x = kernel->kernels[0].columns / 2;
    return (struct masked_mend){.radius = {0, kernel->half_y, kernel->half_x},
                                .border = (enum ts_border)kernel->params->border,
                                .pixels = convolve_pixels,
                                .job = kernel};
}

/* Returns the bytes of scratch of convolve_mend. */
static size_t convolve_mend_bytes(const struct stage_context *context)
{
    struct masked_kernel kernel;
    const struct masked_mend mend = describe(&kernel, context);
    return ts_masked_mend_bytes(context, &mend);
}

/* Writes the pixels of `out` that are invalid or have an invalid one under their weights; the
 * others are already written. */
static void convolve_mend(const struct stage_context *context, const struct ts_image *in,
                          struct ts_image *out, void *scratch)
{
    struct masked_kernel kernel;
    const struct masked_mend mend = describe(&kernel, context);
    kernel.in = in;
    ts_masked_mend(context, &mend, in, out, scratch);
}

enum {
    CHUNK_ROWS = 64,
    SUM_ROWS = 4,       /* output rows that are summed at once */
    SUM_VECTORS = 3,    /* vectors of each of them: 12 sums, 3 values and a weight fill the 16
                         * registers of    AVX2 */
    ACROSS_VECTORS = 4, /* vectors of a row that are summed at once, if rows are summed across */
    READ_BEYOND = ACROSS_VECTORS * TS_VECTOR_MOST_BYTES / (int)sizeof(float),
    SEPARABLE_FROM_TAPS = 10, /* fewer taps are faster in one step */
    CACHE_LINE = 64,
    TAP_ROWS = CONVOLVE_MAX_SIDE + 2 * (SUM_ROWS - 1),
};

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
    {"laplacian-4", CONVOLVE_LAPLACIAN_4,
     "the 4 neighbors minus 4 times the pixel, as scipy.ndimage.laplace"},
    {"laplacian-8", CONVOLVE_LAPLACIAN_8, "the 8 neighbors minus 8 times the pixel"},
    {"log-5x5", CONVOLVE_LOG_5X5, "Laplacian of a Gaussian, center -16; negative on bright spots"},
    {"sobel-x", CONVOLVE_SOBEL_X, "slope along x, as scipy.ndimage.sobel(axis=-1)"},
    {"sobel-y", CONVOLVE_SOBEL_Y, "slope along y, as scipy.ndimage.sobel(axis=-2)"},
    {"sobel-magnitude", CONVOLVE_SOBEL_MAGNITUDE, "sqrt(sobel-x^2 + sobel-y^2)"},
    {"sobel-x-5x5", CONVOLVE_SOBEL_X_5X5,
     "[1 4 6 4 1] along y, [-1 -2 0 2 1] along x, as cv2.Sobel(ksize=5)"},
    {"sobel-y-5x5", CONVOLVE_SOBEL_Y_5X5, "the same, transposed"},
    {NULL, 0, NULL},
};

static const struct param convolve_params[] = {
    PARAM(struct convolve_params, kernel, .unit = "", .required = true, .choices = kernel_choices,
          .doc = "a kernel by name, or custom"),
    PARAM(struct convolve_params, weights, .unit = "", .optional = true,
          .doc = "the weights of a custom kernel, top row first: [[1, 0, -1], [2, 0, -2], [1, 0, "
                 "-1]]; an odd number of rows and of columns, at most 31; one list is one row"),
    PARAM(struct convolve_params, border, .unit = "", .choices = ts_border_choices,
          .init.choice = BORDER_REFLECT, .doc = TS_BORDER_DOC),
    PARAM(struct convolve_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX,
          .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
};

/* ---- plan ------------------------------------------------------------------------------------ */

static enum ts_status convolve_resolve(const struct stage_context *context, void *values)
{
    const struct convolve_params *params = values;
    const bool custom = params->kernel == CONVOLVE_CUSTOM,
               given = ts_param_given(context->set, "weights");
    if (custom && !given) {
        ts_param_error(context->set, "kernel", "weights-missing", context->diag,
                       "custom needs the parameter weights");
        return ts_diag_hint(context->diag, "weights: [[0, 1, 0], [1, 1, 1], [0, 1, 0]]");
    }
    if (!custom && given) {
        ts_param_error(context->set, "weights", "parameter-unused", context->diag,
                       "is used with kernel: custom alone, and kernel is %s",
                       ts_choice_name(kernel_choices, params->kernel));
        return TS_BAD_CHAIN;
    }
    const struct ts_numbers *weights = &params->weights;
    if (custom && (weights->rows % 2 != 1 || weights->columns % 2 != 1 ||
                   weights->rows > CONVOLVE_MAX_SIDE || weights->columns > CONVOLVE_MAX_SIDE))
        return ts_param_error(context->set, "weights", "weights-shape", context->diag,
                              "%lld rows of %lld weights; both must be odd and at most %d",
                              (long long)weights->rows, (long long)weights->columns,
                              CONVOLVE_MAX_SIDE);
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

/* ---- run ------------------------------------------------------------------------------------- */

/* The weights of a kernel, with SUM_ROWS - 1 empty rows above and below. Image row q, counted from
 * the first that the kernels touch, is under row q - r of the kernel of output row r: bit r of
 * output_rows[q][i] is set if weight i of that row is not 0. */
struct taps {
    double scale;
    uint8_t output_rows[TAP_ROWS][CONVOLVE_MAX_SIDE];
    union {
        float floats[TAP_ROWS][CONVOLVE_MAX_SIDE];
        double doubles[TAP_ROWS][CONVOLVE_MAX_SIDE];
    };
};

/* SUMS_SHORT: products with weights of few digits are exact in double, so fused operations give the
 * same bytes. */
enum sum_kind { SUMS_EXACT, SUMS_SHORT, SUMS_DOUBLE };

/* The work of one call, and the places of its parts in the scratch. */
struct convolve_run {
    const struct convolve_params *params;
    struct convolve_weights kernels[2];
    int n_kernels;
    enum sum_kind kind;
    int64_t rows, columns, held; /* of the kernel; held: rows of the ring */
    int64_t element;             /* bytes of a pixel */
    bool has_zeros;              /* true if there are taps of weight 0 */
    bool separable; /* true if rows are summed across when they are loaded; the taps are then a
                     * column */
    double across[CONVOLVE_MAX_SIDE], down[CONVOLVE_MAX_SIDE];
    int64_t nz, ny, nx, row_length;
    size_t edges, taps, threads, line, thread_bytes, bytes;
};

/* Returns true if the product with any pixel has at most 53 bits and the exponent of a normal
 * double. */
static bool is_short(double weight)
{
    enum { BITS = DBL_MANT_DIG - 32, EXPONENT = 256 };
    int exponent;
    const double bits = ldexp(frexp(weight, &exponent), BITS);
    return bits == rint(bits) && abs(exponent) < EXPONENT;
}

static enum sum_kind kind_of(const struct convolve_run *run, enum ts_dtype dtype)
{
    if (ts_convolve_is_exact(run->kernels, run->n_kernels, dtype))
        return SUMS_EXACT;
    for (int k = 0; k < run->n_kernels; k++)
        for (int64_t i = 0; i < run->rows * run->columns; i++)
            if (!is_short(run->kernels[k].weights[i]))
                return SUMS_DOUBLE;
    return SUMS_SHORT;
}

/* Sums in two steps are exact, or differ from those in one step in the last digits of a double,
 * which float seldom shows. If no column and row give exactly the weights, which have many digits,
 * all taps are used. */
static bool is_separable(struct convolve_run *run, enum ts_dtype dtype)
{
    const bool floats = run->kind == SUMS_EXACT || (run->kind == SUMS_SHORT && dtype == TS_F32);
    int64_t n_taps = 0;
    for (int64_t i = 0; i < run->rows * run->columns; i++)
        n_taps += run->kernels[0].weights[i] != 0;
    if (!floats || run->n_kernels > 1 || n_taps < SEPARABLE_FROM_TAPS || run->rows == 1 ||
        run->columns == 1 || !ts_convolve_separate(&run->kernels[0], 0, run->across, run->down))
        return false;
    for (int64_t j = 0; j < run->rows; j++)
        if (run->down[j] != rint(run->down[j]))
            return false;
    return true;
}

static struct convolve_run convolve_describe(const struct stage_context *context, int64_t nz)
{
    struct convolve_run run = {.params = context->params,
                               .nz = nz,
                               .ny = context->in.axes[1].n,
                               .nx = context->in.axes[2].n};
    run.n_kernels = ts_convolve_kernels(run.params, run.kernels);
    run.rows = run.kernels[0].rows;
    run.columns = run.kernels[0].columns;
    run.kind = kind_of(&run, context->in.dtype);
    run.separable = is_separable(&run, context->in.dtype);
    const int64_t n_taps = run.separable ? run.rows : run.rows * run.columns;
    for (int k = 0; k < run.n_kernels; k++)
        for (int64_t i = 0; i < n_taps; i++)
            run.has_zeros |= (run.separable ? run.down : run.kernels[k].weights)[i] == 0;
    run.element = (int64_t)ts_dtype_bytes(context->in.dtype);
    run.held = run.rows + SUM_ROWS - 1;
    run.row_length = run.nx + run.columns + READ_BEYOND;
    size_t used = 0;
    ts_scratch_part(&used, run.held * run.row_length, sizeof(double));
    run.line = ts_scratch_part(&used, run.row_length, sizeof(float));
    run.thread_bytes = used;
    used = 0;
    run.edges = ts_scratch_part(&used, run.columns, sizeof(int64_t));
    run.taps = ts_scratch_part(&used, run.n_kernels, sizeof(struct taps));
    run.threads = ts_scratch_part(&used, context->threads, run.thread_bytes);
    run.bytes = used;
    return run;
}

static size_t convolve_scratch_bytes(const struct stage_context *context, int64_t n)
{
    return convolve_describe(context, n).bytes +
           (context->in.masked ? convolve_mend_bytes(context) : 0);
}

static void write_taps(const struct convolve_weights *kernel, bool exact, struct taps *taps)
{
    memset(taps, 0, sizeof *taps);
    taps->scale = 1 / kernel->divisor;
    for (int64_t j = 0; j < kernel->rows; j++)
        for (int64_t i = 0; i < kernel->columns; i++) {
            const double weight = kernel->weights[j * kernel->columns + i];
            if (exact)
                taps->floats[j + SUM_ROWS - 1][i] = (float)weight;
            else
                taps->doubles[j + SUM_ROWS - 1][i] = weight;
            for (int r = 0; r < SUM_ROWS && weight != 0; r++)
                taps->output_rows[j + r][i] |= (uint8_t)(1 << r);
        }
}

/* SUM_ROWS output rows, of which the first n are written. */
struct row_group {
    const void *const *rows; /* rows of the ring, starting with the first one that the kernel
                              * touches */
    int64_t n;
    bool every_tap;    /* true if taps of weight 0 may be added */
    const char *ahead; /* SUM_ROWS rows that will be loaded next, which the processor fetches while
                        * it sums */
    float *out;
};

#define SUM float
#define WEIGHTS floats
#define SUMS_TO_F64(x) WIDENED(x)
#define SUMS_FROM_F32(x) (x)
#define SUMS(f) f##_exact
#define SUMS_FUSED(weight, x, sum) TS_MM(fmadd_ps)(TS_MM(set1_ps)(weight), x, sum)
#define TS_LOOPS "stages/filters/convolve_sums.inc"
#include "core/vectors.inc"
#undef SUM
#undef WEIGHTS
#undef SUMS_TO_F64
#undef SUMS_FROM_F32
#undef SUMS
#undef SUMS_FUSED

#define SUM double
#define WEIGHTS doubles
#define SUMS_TO_F64(x) (x)
#define SUMS_FROM_F32(x) WIDENED(x)
#define SUMS(f) f##_short
#define SUMS_FUSED(weight, x, sum) TS_MM(fmadd_pd)(TS_MM(set1_pd)(weight), x, sum)
#define TS_LOOPS "stages/filters/convolve_sums.inc"
#include "core/vectors.inc"
#undef SUMS
#undef SUMS_FUSED

#define SUMS(f) f##_double
#define TS_LOOPS "stages/filters/convolve_sums.inc"
#include "core/vectors.inc"
#undef SUM
#undef WEIGHTS
#undef SUMS_TO_F64
#undef SUMS_FROM_F32
#undef SUMS

TS_VECTORIZED static bool is_finite(const double *row, int64_t n)
{
    int64_t bad = 0;
    for (int64_t x = 0; x < n; x++)
        bad += !(fabs(row[x]) <= DBL_MAX);
    return bad == 0;
}

/* Loads row y of a slice, which may be outside, as floats or doubles, extended by the border rule
 * on both sides. */
static void load_row(const struct convolve_run *run, const int64_t *edges, enum ts_dtype dtype,
                     const char *slice, int64_t y, bool floats, char *row)
{
    const double constant = run->params->constant;
    const float constant_f32 = (float)constant;
    const size_t bytes = floats ? sizeof(float) : sizeof(double);
    const void *outside = floats ? (const void *)&constant_f32 : &constant;
    const int64_t half = run->columns / 2, n = run->nx;
    const int64_t from = ts_border_index(y, run->ny, (enum ts_border)run->params->border);
    char *inside = row + (size_t)half * bytes;
    if (from < 0) {
        for (int64_t x = 0; x < n + 2 * half; x++)
            memcpy(row + (size_t)x * bytes, outside, bytes);
        return;
    }
    slice += (size_t)(from * n) * ts_dtype_bytes(dtype);
    if (floats)
        ts_load_f32((float *)inside, slice, dtype, (size_t)n);
    else
        ts_load_f64((double *)inside, slice, dtype, (size_t)n);
    for (int64_t i = 0; i < 2 * half; i++)
        memcpy(row + (size_t)(i < half ? i : n + i) * bytes,
               edges[i] < 0 ? outside : inside + (size_t)edges[i] * bytes, bytes);
}

/* The ring in which a thread keeps the rows of a chunk. */
struct ring {
    char *rows, *line;
    size_t row_bytes;
    int64_t top, loaded; /* top: the row of the slice that came first; loaded: how many rows came */
    int64_t spoiled; /* rows before this one may have a NaN or an infinity under a weight of 0 */
};

static void load_next_row(const struct convolve_run *run, const int64_t *edges, enum ts_dtype dtype,
                          const char *slice, struct ring *ring)
{
    const int64_t y = ring->top + ring->loaded;
    char *row = ring->rows + (size_t)(ring->loaded++ % run->held) * ring->row_bytes;
    if (run->separable) {
        load_row(run, edges, dtype, slice, y, true, ring->line);
        if (run->kind == SUMS_EXACT)
            TS_WIDEST(sum_across_exact)(run, (const float *)ring->line, (float *)row);
        else
            TS_WIDEST(sum_across_short)(run, (const float *)ring->line, (double *)row);
        return;
    }
    load_row(run, edges, dtype, slice, y, run->kind == SUMS_EXACT, row);
    if (run->has_zeros && dtype == TS_F32 &&
        !is_finite((const double *)row, run->nx + run->columns - 1))
        ring->spoiled = ring->loaded;
}

/* Does rows [y_first, y_end) of one slice. */
static void convolve_chunk(const struct convolve_run *run, enum ts_dtype dtype, const char *slice,
                           int64_t y_first, int64_t y_end, float *out, char *scratch)
{
    char *own = scratch + run->threads + (size_t)omp_get_thread_num() * run->thread_bytes;
    const int64_t *edges = (const int64_t *)(scratch + run->edges);
    const struct taps *taps = (const struct taps *)(scratch + run->taps);
    struct ring ring = {
        own, own + run->line, (size_t)run->row_length * sizeof(double), y_first - run->rows / 2, 0,
        0};
    const void *rows[TAP_ROWS];
    /* The sums behind the extended rows are computed as well, but not used. */
    memset(own, 0, run->thread_bytes);
    for (int64_t y = y_first; y < y_end; y += SUM_ROWS) {
        const int64_t n = y_end - y < SUM_ROWS ? y_end - y : SUM_ROWS;
        while (ring.loaded < y - y_first + n + run->rows - 1)
            load_next_row(run, edges, dtype, slice, &ring);
        for (int64_t q = 0; q < run->held; q++)
            rows[q] = ring.rows + (size_t)((y - y_first + q) % run->held) * ring.row_bytes;
        const int64_t next = ring.top + ring.loaded;
        const struct row_group group = {
            .rows = rows,
            .n = n,
            .every_tap = !run->has_zeros || (!run->separable && y - y_first >= ring.spoiled),
            .ahead = slice +
                     (next >= 0 && next + SUM_ROWS <= run->ny ? next * run->nx * run->element : 0),
            .out = out + y * run->nx};
        if (run->kind == SUMS_EXACT)
            TS_WIDEST(sum_rows_exact)(run, taps, &group);
        else if (run->kind == SUMS_SHORT &&
                 !run->separable) /* sums across have too many digits for exact products */
            TS_WIDEST(sum_rows_short)(run, taps, &group);
        else
            TS_WIDEST(sum_rows_double)(run, taps, &group);
    }
}

static enum ts_status convolve_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const struct convolve_run run = convolve_describe(context, out->axes[0].n);
    const int64_t half = run.columns / 2, n_chunks = (run.ny + CHUNK_ROWS - 1) / CHUNK_ROWS;
    int64_t *edges = (int64_t *)((char *)scratch + run.edges);
    ts_border_fill(edges, -half, half, run.nx, (enum ts_border)run.params->border);
    ts_border_fill(edges + half, run.nx, half, run.nx, (enum ts_border)run.params->border);
    const struct convolve_weights column = {run.rows, 1, run.down, run.kernels[0].divisor};
    for (int i = 0; i < run.n_kernels; i++)
        write_taps(run.separable ? &column : &run.kernels[i], run.kind == SUMS_EXACT,
                   (struct taps *)((char *)scratch + run.taps) + i);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t item = 0; item < run.nz * n_chunks; item++) {
        const int64_t z = item / n_chunks, y = item % n_chunks * CHUNK_ROWS;
        convolve_chunk(&run, in->dtype, ts_slice_data(in, z), y,
                       y + CHUNK_ROWS < run.ny ? y + CHUNK_ROWS : run.ny, ts_slice_data(out, z),
                       scratch);
    }
    if (in->valid)
        convolve_mend(context, in, out, (char *)scratch + run.bytes);
    return TS_OK;
}

/* Returns true if the weights are the same from both ends of each axis. */
static bool is_even(const struct convolve_weights *kernel)
{
    const int64_t rows = kernel->rows, columns = kernel->columns;
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < columns; i++) {
            const double weight = kernel->weights[j * columns + i];
            if (weight != kernel->weights[(rows - 1 - j) * columns + i] ||
                weight != kernel->weights[j * columns + columns - 1 - i])
                return false;
        }
    return true;
}

/* Makes a kernel of the weights turned by 180 degrees. The sum over them is divided as before if
 * its weights are not, so a divisor goes into the weights. */
static enum ts_status turn_weights(const struct stage_context *context,
                                   const struct convolve_weights *kernel, struct param_set *set,
                                   struct arena *arena)
{
    struct convolve_params *params = set->values;
    const int64_t n = kernel->rows * kernel->columns;
    double *turned = ts_arena_alloc(arena, (size_t)n * sizeof *turned);
    if (!turned)
        return ts_diag_no_memory(context->diag, (size_t)n * sizeof *turned);
    for (int64_t i = 0; i < n; i++)
        turned[i] = kernel->weights[n - 1 - i] / kernel->divisor;
    params->kernel = CONVOLVE_CUSTOM;
    params->weights = (struct ts_numbers){kernel->rows, kernel->columns, turned};
    ts_param_give(set, "weights");
    return TS_OK;
}

static enum ts_status convolve_transpose(const struct stage_context *context, struct param_set *set,
                                         struct stage_gather *gather, struct arena *arena)
{
    struct convolve_params *params = set->values;
    struct convolve_weights kernels[2];
    *params = *(const struct convolve_params *)context->params;
    set->given = context->set->given;
    if (ts_convolve_kernels(params, kernels) > 1)
        return ts_param_error(context->set, "kernel", "transpose-magnitude", context->diag,
                              "a magnitude is not linear: that of a sum is no sum of magnitudes");
    const struct transpose_window window = {{0, kernels[0].rows / 2, kernels[0].columns / 2},
                                            is_even(&kernels[0])};
    const enum ts_status status =
        window.even ? TS_OK : turn_weights(context, &kernels[0], set, arena);
    return status == TS_OK ? ts_transpose_border(context, &window, params->constant,
                                                 &params->border, gather, arena)
                           : status;
}

static const struct stage_transpose convolve_linear = {.describe = convolve_transpose};

static const char convolve_doc[] =
    "`out[y][x] = 1/divisor * sum of weights[j][i] * in[y + j - rows/2][x + i - columns/2]`, slice "
    "by slice: the weights are laid on the image as they are written, as in "
    "scipy.ndimage.correlate, cv2.filter2D and the convolutions of neural networks. "
    "scipy.ndimage.convolve turns its kernel by 180 degrees first: turn the weights to get its "
    "result.\n"
    "\n"
    "| kernel | weights | divisor |\n"
    "|---|---|---|\n"
    "| low-pass-4, low-pass-8, low-pass-5x5 | 1 for the pixel and its 4, 8, 24 neighbors | 5, 9, "
    "25 |\n"
    "| gaussian-3x3 | [1 2 1] along y times [1 2 1] along x | 16 |\n"
    "| gaussian-5x5 | [1 4 6 4 1] along y times [1 4 6 4 1] along x | 256 |\n"
    "| high-pass-4, high-pass-8, high-pass-5x5 | 4, 8, 24 for the pixel, -1 for its 4, 8, 24 "
    "neighbors | 5, 9, 25 |\n"
    "| sharpen-4, sharpen-8 | 5, 9 for the pixel, -1 for its 4, 8 neighbors | 1 |\n"
    "| sharpen-5x5 | 512 for the pixel minus those of gaussian-5x5 | 256 |\n"
    "| laplacian-4, laplacian-8 | -4, -8 for the pixel, 1 for its 4, 8 neighbors | 1 |\n"
    "| log-5x5 | [0 0 1 0 0] [0 1 2 1 0] [1 2 -16 2 1] [0 1 2 1 0] [0 0 1 0 0] | 1 |\n"
    "| sobel-x, sobel-y | [1 2 1] across times [-1 0 1] along the axis | 1 |\n"
    "| sobel-magnitude | sqrt(sobel-x^2 + sobel-y^2) | 1 |\n"
    "| sobel-x-5x5, sobel-y-5x5 | [1 4 6 4 1] across times [-1 -2 0 2 1] along the axis | 1 |\n"
    "\n"
    "A low-pass and its high-pass add up to the image. Slopes are per pixel and not divided by the "
    "spacing: sobel gives 8 times the slope per pixel, sobel-5x5 128 times.\n"
    "\n"
    "The result is f32: sums in double, rounded once. It keeps quantity and unit if the weights "
    "sum to 1 (low-pass, gaussian, sharpen: an average of HU is in HU) and is an intensity "
    "otherwise. Pixels under weights of 0 do not count, not even NaN.\n"
    "\n"
    "**Masked images.** An invalid pixel under the weights, such as a CT's padding, counts as the "
    "value in the middle, so that there is no edge towards the padding. An invalid pixel in the "
    "middle keeps its value.\n"
    "\n"
    "**Cost.** One multiplication and addition per pixel and nonzero weight; if a kernel of at "
    "least 10 whole numbers is a column times a row, one per weight of these two.\n"
    "\n"
    "**Source.** I. Sobel, G. Feldman, 1968; R. C. Gonzalez, R. E. Woods, Digital Image "
    "Processing, chapter 3.";

const struct stage convolve_stage = {
    .name = "convolve",
    .summary = "weighted sum over the neighborhood of each pixel: low-pass, high-pass, Sobel, "
               "Laplacian, or a given kernel",
    .doc = convolve_doc,
    STAGE_TAKES_ALL,
    .bench = "kernel=gaussian-3x3|kernel=gaussian-5x5|kernel=laplacian-8|kernel=log-5x5|kernel="
             "sobel-x|kernel=sobel-magnitude",
    STAGE_PARAMS(convolve_params, struct convolve_params),
    .resolve = convolve_resolve,
    .shape = convolve_shape,
    .scratch_bytes = convolve_scratch_bytes,
    .map = convolve_map,
    .validity = VALIDITY_SAME,
    .transpose = &convolve_linear,
    .cuda = STAGE_CUDA(convolve_cuda),
    .tolerance = {.relative = 6e-8, .why = "one rounding to f32 (2^-24) of a sum in double"},
};
