/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/filters/convolve_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/filters/convolve.h"
#include "tests/stages/values/border_oracle.h"

/* A 5 x 5 frame holds every named kernel; those of 3 x 3 stand in its middle. */
struct frame {
    double w[5][5];
};

static const double smooth_3[5] = {0, 1, 2, 1, 0}, slope_3[5] = {0, -1, 0, 1, 0},
                    smooth_5[5] = {1, 4, 6, 4, 1}, slope_5[5] = {-1, -2, 0, 2, 1},
                    ones_3[5] = {0, 1, 1, 1, 0}, ones_5[5] = {1, 1, 1, 1, 1};

static struct frame product(const double along_y[5], const double along_x[5], double divisor)
{
    struct frame frame;
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++)
            frame.w[j][i] = along_y[j] * along_x[i] / divisor;
    return frame;
}

static struct frame cross(double divisor)
{
    struct frame frame = {0};
    frame.w[2][2] = frame.w[1][2] = frame.w[3][2] = frame.w[2][1] = frame.w[2][3] = 1 / divisor;
    return frame;
}

/* a * identity + b * frame */
static struct frame mixed(double a, double b, struct frame frame)
{
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++)
            frame.w[j][i] = b * frame.w[j][i] + (j == 2 && i == 2 ? a : 0);
    return frame;
}

static struct frame log_frame(void)
{
    struct frame frame = {0};
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++) {
            const int distance = abs(j - 2) + abs(i - 2);
            frame.w[j][i] = distance == 0 ? -16 : distance == 1 ? 2 : distance == 2 ? 1 : 0;
        }
    return frame;
}

static struct frame frame_of(enum convolve_kernel kernel)
{
    switch (kernel) {
    case CONVOLVE_LOW_PASS_4:
        return cross(5);
    case CONVOLVE_LOW_PASS_8:
        return product(ones_3, ones_3, 9);
    case CONVOLVE_LOW_PASS_5X5:
        return product(ones_5, ones_5, 25);
    case CONVOLVE_GAUSSIAN_3X3:
        return product(smooth_3, smooth_3, 16);
    case CONVOLVE_GAUSSIAN_5X5:
        return product(smooth_5, smooth_5, 256);
    case CONVOLVE_HIGH_PASS_4:
        return mixed(1, -1, cross(5));
    case CONVOLVE_HIGH_PASS_8:
        return mixed(1, -1, product(ones_3, ones_3, 9));
    case CONVOLVE_HIGH_PASS_5X5:
        return mixed(1, -1, product(ones_5, ones_5, 25));
    case CONVOLVE_LAPLACIAN_4:
        return mixed(-5, 1, cross(1));
    case CONVOLVE_LAPLACIAN_8:
        return mixed(-9, 1, product(ones_3, ones_3, 1));
    case CONVOLVE_SHARPEN_4:
        return mixed(6, -1, cross(1));
    case CONVOLVE_SHARPEN_8:
        return mixed(10, -1, product(ones_3, ones_3, 1));
    case CONVOLVE_SHARPEN_5X5:
        return mixed(2, -1, product(smooth_5, smooth_5, 256));
    case CONVOLVE_LOG_5X5:
        return log_frame();
    case CONVOLVE_SOBEL_X:
        return product(smooth_3, slope_3, 1);
    case CONVOLVE_SOBEL_Y:
        return product(slope_3, smooth_3, 1);
    case CONVOLVE_SOBEL_X_5X5:
        return product(smooth_5, slope_5, 1);
    case CONVOLVE_SOBEL_Y_5X5:
        return product(slope_5, smooth_5, 1);
    case CONVOLVE_SOBEL_MAGNITUDE:
    case CONVOLVE_CUSTOM:
        break;
    }
    return (struct frame){0};
}

static void correlate(const struct stage_context *context, const double *in, const double *weights,
                      int64_t rows, int64_t columns, double *out)
{
    const struct convolve_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    double *padded = ts_border_pad_oracle(&context->in, in, 0, rows / 2, columns / 2,
                                          (enum ts_border)params->border, params->constant);
    const int64_t height = ny + rows - 1, width = nx + columns - 1;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
                long double sum = 0;
                for (int64_t j = 0; j < rows; j++)
                    for (int64_t i = 0; i < columns; i++)
                        sum += (long double)weights[j * columns + i] *
                               padded[(z * height + y + j) * width + x + i];
                *out++ = (double)sum;
            }
    free(padded);
}

void ts_convolve_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct convolve_params *params = context->params;
    const size_t n =
        (size_t)(context->in.axes[0].n * context->in.axes[1].n * context->in.axes[2].n);
    if (params->kernel == CONVOLVE_CUSTOM) {
        correlate(context, in, params->weights.values, params->weights.rows,
                  params->weights.columns, out);
        return;
    }
    if (params->kernel != CONVOLVE_SOBEL_MAGNITUDE) {
        const struct frame frame = frame_of((enum convolve_kernel)params->kernel);
        correlate(context, in, &frame.w[0][0], 5, 5, out);
        return;
    }
    const struct frame frame_x = frame_of(CONVOLVE_SOBEL_X), frame_y = frame_of(CONVOLVE_SOBEL_Y);
    double *along_y = malloc((n + 1) * sizeof *along_y);
    correlate(context, in, &frame_x.w[0][0], 5, 5, out);
    correlate(context, in, &frame_y.w[0][0], 5, 5, along_y);
    for (size_t i = 0; i < n; i++)
        out[i] = hypot(out[i], along_y[i]);
    free(along_y);
}
