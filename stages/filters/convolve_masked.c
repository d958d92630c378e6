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

/* Returns true where all pixels under the weights of pixels [x, x + n) of row y are surely valid. */
static bool is_whole(const struct masked_slice *slice, int64_t y, int64_t x, int64_t n)
{
    const struct masked_kernel *kernel = slice->kernel;
    const enum ts_border border = (enum ts_border)kernel->params->border;
    const int64_t nx = kernel->nx, first = x - kernel->half_x, end = x + n + kernel->half_x;
    const int64_t from = first > 0 ? first : 0, to = end < nx ? end : nx;
    if (border == BORDER_WRAP && (first < 0 || end > nx))
        return false;
    for (int64_t j = -kernel->half_y; j <= kernel->half_y; j++) {
        const int64_t row = ts_border_index(y + j, kernel->ny, border) * nx;
        for (int64_t at = from; row >= 0 && at < to; at += BLOCK) {
            const int64_t bits = to - at < BLOCK ? to - at : BLOCK;
            if (ts_valid_bits(slice->valid, (size_t)(row + at), (size_t)bits) != UINT64_MAX >> (BLOCK - bits))
                return false;
        }
    }
    return true;
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

static float convolved(const struct masked_slice *slice, int64_t y, int64_t x)
{
    const struct masked_kernel *kernel = slice->kernel;
    const double middle = value_at(slice, y * kernel->nx + x);
    double sums[2] = {0, 0};
    if (!ts_valid_at(slice->valid, (size_t)(y * kernel->nx + x)))
        return (float)middle;
    for (int k = 0; k < kernel->n_kernels; k++) {
        const struct convolve_weights *weights = &kernel->kernels[k];
        const double *weight = weights->weights;
        for (int64_t j = -kernel->half_y; j <= kernel->half_y; j++)
            for (int64_t i = -kernel->half_x; i <= kernel->half_x; i++, weight++)
                sums[k] += *weight != 0 ? *weight * sample(slice, y + j, x + i, middle) : 0;
        sums[k] *= 1 / weights->divisor;
    }
    return (float)(kernel->n_kernels > 1 ? sqrt(sums[0] * sums[0] + sums[1] * sums[1]) : sums[0]);
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
        for (int64_t x = 0; x < kernel.nx; x += BLOCK) {
            const int64_t n = kernel.nx - x < BLOCK ? kernel.nx - x : BLOCK;
            for (int64_t i = is_whole(&slice, y, x, n) ? n : 0; i < n; i++)
                if (!is_whole(&slice, y, x + i, 1))
                    to[x + i] = convolved(&slice, y, x + i);
        }
    }
}
