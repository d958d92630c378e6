/* SPDX-License-Identifier: Apache-2.0
 *
 * Few pixels lie near the padding, so the image is convolved as any other first, and only these are computed again, tap
 * by tap in double. They are looked for by blocks of 64 pixels of a row: the bits of all pixels under the weights of a
 * block are joined by a few operations on words, and mostly all of them are set.
 */
#include "stages/filters/convolve_masked.h"

#include <math.h>

#include "stages/engine/border.h"
#include "stages/engine/validity.h"

enum { BLOCK = 64 };

struct masked_kernel {
    const struct convolve_params *params;
    struct convolve_weights kernels[2];
    int n_kernels;
    int64_t ny, nx, half_y, half_x;
};

/* One slice of the input. */
struct masked_slice {
    const struct masked_kernel *kernel;
    const void *data;
    const uint64_t *valid;
    enum ts_dtype dtype;
};

/* Returns n <= 128 bits from pixel i on. */
static unsigned __int128 long_bits(const uint64_t *valid, int64_t i, int64_t n)
{
    const unsigned __int128 low = ts_valid_bits(valid, (size_t)i, (size_t)(n < BLOCK ? n : BLOCK));
    return n > BLOCK ? low | (unsigned __int128)ts_valid_bits(valid, (size_t)(i + BLOCK), (size_t)(n - BLOCK)) << BLOCK
                     : low;
}

/* Returns true where all pixels under the weights of one pixel are valid. */
static bool is_whole(const struct masked_slice *slice, int64_t y, int64_t x)
{
    const struct masked_kernel *kernel = slice->kernel;
    const enum ts_border border = (enum ts_border)kernel->params->border;
    bool whole = true;
    for (int64_t j = -kernel->half_y; j <= kernel->half_y; j++) {
        const int64_t row = ts_border_index(y + j, kernel->ny, border);
        for (int64_t i = -kernel->half_x; whole && row >= 0 && i <= kernel->half_x; i++) {
            const int64_t column = ts_border_index(x + i, kernel->nx, border);
            whole = column < 0 || ts_valid_at(slice->valid, (size_t)(row * kernel->nx + column));
        }
    }
    return whole;
}

/* Returns bits of pixels [x, x + n) of row y, set where all pixels under the weights are valid. The bits of the rows
 * are joined, and then shifted against each other for the columns. */
static uint64_t whole_pixels(const struct masked_slice *slice, int64_t y, int64_t x, int64_t n)
{
    const struct masked_kernel *kernel = slice->kernel;
    const int64_t half = kernel->half_x, width = n + 2 * half;
    uint64_t whole = 0;
    if (x < half || x + n + half > kernel->nx) {
        for (int64_t i = 0; i < n; i++)
            whole |= (uint64_t)is_whole(slice, y, x + i) << i;
        return whole;
    }
    unsigned __int128 rows = ~(unsigned __int128)0, all;
    for (int64_t j = -kernel->half_y; j <= kernel->half_y; j++) {
        const int64_t row = ts_border_index(y + j, kernel->ny, (enum ts_border)kernel->params->border);
        if (row >= 0)
            rows &= long_bits(slice->valid, row * kernel->nx + x - half, width);
    }
    all = rows;
    for (int64_t i = 1; i <= 2 * half; i++)
        all &= rows >> i;
    return (uint64_t)all & UINT64_MAX >> (BLOCK - n);
}

static double value_at(const struct masked_slice *slice, int64_t i)
{
    double value;
    ts_load_f64(&value, (const char *)slice->data + (size_t)i * ts_dtype_bytes(slice->dtype), slice->dtype, 1);
    return value;
}

/* Returns the pixel at (y, x), which may lie outside, or `middle` where it is invalid. */
static double sample(const struct masked_slice *slice, int64_t y, int64_t x, double middle)
{
    const struct masked_kernel *kernel = slice->kernel;
    const enum ts_border border = (enum ts_border)kernel->params->border;
    const int64_t row = ts_border_index(y, kernel->ny, border), column = ts_border_index(x, kernel->nx, border);
    if (row < 0 || column < 0)
        return kernel->params->constant;
    const int64_t i = row * kernel->nx + column;
    return ts_valid_at(slice->valid, (size_t)i) ? value_at(slice, i) : middle;
}

/* Loads row y of the window around column x, with `middle` in place of what is invalid. */
static void load_row(const struct masked_slice *slice, int64_t y, int64_t x, double middle, double *values)
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
    ts_load_f64(values, (const char *)slice->data + first * ts_dtype_bytes(slice->dtype), slice->dtype, (size_t)width);
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
        load_row(slice, y + j - kernel->half_y, x, middle, values);
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

/* Mends pixels [x, x + n) of row y, of which `out` is the first. */
static void mend_block(const struct masked_slice *slice, int64_t y, int64_t x, int64_t n, float *out)
{
    const int64_t first = y * slice->kernel->nx + x;
    const uint64_t valid = ts_valid_bits(slice->valid, (size_t)first, (size_t)n);
    if (valid == 0) {
        ts_load_f32(out, (const char *)slice->data + (size_t)first * ts_dtype_bytes(slice->dtype), slice->dtype,
                    (size_t)n);
        return;
    }
    const uint64_t whole = whole_pixels(slice, y, x, n);
    for (int64_t i = whole == UINT64_MAX >> (BLOCK - n) ? n : 0; i < n; i++)
        if (!(valid >> i & 1))
            out[i] = (float)value_at(slice, first + i);
        else if (!(whole >> i & 1))
            out[i] = convolved(slice, y, x + i);
}

void ts_convolve_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out)
{
    struct masked_kernel kernel = {.params = context->params, .ny = in->axes[1].n, .nx = in->axes[2].n};
    kernel.n_kernels = ts_convolve_kernels(kernel.params, kernel.kernels);
    kernel.half_y = kernel.kernels[0].rows / 2;
    kernel.half_x = kernel.kernels[0].columns / 2;
#pragma omp parallel for schedule(dynamic, 16) num_threads(context->threads)
    for (int64_t row = 0; row < out->axes[0].n * kernel.ny; row++) {
        const int64_t z = row / kernel.ny, y = row % kernel.ny;
        const struct masked_slice slice = {&kernel, ts_slice_data(in, z), ts_slice_valid(in, z), in->dtype};
        float *to = (float *)ts_slice_data(out, z) + y * kernel.nx;
        for (int64_t x = 0; x < kernel.nx; x += BLOCK)
            mend_block(&slice, y, x, kernel.nx - x < BLOCK ? kernel.nx - x : BLOCK, to + x);
    }
}
