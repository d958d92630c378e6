/* SPDX-License-Identifier: Apache-2.0
 *
 * The pixels that have an invalid one under their weights (masked_mend.h) are computed tap by tap in double.
 */
#include "stages/filters/convolve_masked.h"

#include <math.h>

#include "stages/engine/border.h"
#include "stages/engine/validity.h"
#include "stages/filters/masked_mend.h"

struct masked_kernel {
    const struct convolve_params *params;
    struct convolve_weights kernels[2];
    int n_kernels;
    int64_t ny, nx, half_y, half_x;
    const struct ts_image *in;
};

/* This is one slice of the input. */
struct masked_slice {
    const struct masked_kernel *kernel;
    const void *data;
    const uint64_t *valid;
    enum ts_dtype dtype;
};

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

static void convolve_pixels(const void *job, const struct masked_row *row, int64_t first, int64_t end, void *own)
{
    const struct masked_kernel *kernel = job;
    const struct masked_slice slice = {kernel, ts_slice_data(kernel->in, row->z), ts_slice_valid(kernel->in, row->z),
                                       kernel->in->dtype};
    float *out = row->out;
    (void)own;
    for (int64_t x = first; x < end; x++)
        out[x] = convolved(&slice, row->y, x);
}

static struct masked_mend describe(struct masked_kernel *kernel, const struct stage_context *context)
{
    *kernel =
        (struct masked_kernel){.params = context->params, .ny = context->in.axes[1].n, .nx = context->in.axes[2].n};
    kernel->n_kernels = ts_convolve_kernels(kernel->params, kernel->kernels);
    kernel->half_y = kernel->kernels[0].rows / 2;
    kernel->half_x = kernel->kernels[0].columns / 2;
    return (struct masked_mend){.radius = {0, kernel->half_y, kernel->half_x},
                                .border = (enum ts_border)kernel->params->border,
                                .pixels = convolve_pixels,
                                .job = kernel};
}

size_t ts_convolve_mend_bytes(const struct stage_context *context)
{
    struct masked_kernel kernel;
    const struct masked_mend mend = describe(&kernel, context);
    return ts_masked_mend_bytes(context, &mend);
}

void ts_convolve_mend(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                      void *scratch)
{
    struct masked_kernel kernel;
    const struct masked_mend mend = describe(&kernel, context);
    kernel.in = in;
    ts_masked_mend(context, &mend, in, out, scratch);
}
