/* SPDX-License-Identifier: Apache-2.0
 *
 * A scan of a square is projected, and Landweber's iteration finds the square again: x = x + step
 * A' (b - A x). The distance that is left is printed.
 *     cc example_operator.c $(pkg-config --cflags --libs tomostage) \
 *         -Wl,-rpath,$(pkg-config --variable=libdir tomostage) -lm -o operator && ./operator
 */
#include <math.h>
#include <stdlib.h>
#include <tomostage_operator.h>

enum { N = 32, ITERATIONS = 50 };

static struct ts_array array_of(float *data, const struct ts_image *image)
{
    struct ts_array array = {
        .size = sizeof array, .data = data, .dtype = TS_F32, .rank = 3, .cuda_device = -1};
    for (int d = 0; d < 3; d++)
        array.n[d] = image->axes[d].n;
    return array;
}

/* Writes to[i] += factor * from[i]. */
static void add(float *to, float factor, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

int main(void)
{
    const struct ts_image slice = {
        .rank = 3,
        .dtype = TS_F32,
        .quantity = TS_INTENSITY,
        .unit = "1",
        .axes = {{.kind = TS_AXIS_Z, .n = 1, .spacing = 1, .unit = "mm"},
                 {.kind = TS_AXIS_Y, .n = N, .spacing = 1, .unit = "mm"},
                 {.kind = TS_AXIS_X, .n = N, .spacing = 1, .unit = "mm"}}};
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_image volume, sinogram;
    struct ts_operator *radon = NULL;
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = ts_operator_create("radon views=60", &slice, &options, &radon, diag);
    if (status != TS_OK) {
        ts_diag_print(diag, stderr);
        return (int)status;
    }
    ts_operator_describe(radon, &volume, &sinogram);
    const int64_t n_rays = sinogram.axes[1].n * sinogram.axes[2].n, n_pixels = N * N;
    float *square = calloc(n_pixels, sizeof(float)), *x = calloc(n_pixels, sizeof(float)),
          *change = calloc(n_pixels, sizeof(float)), *b = calloc(n_rays, sizeof(float)),
          *rest = calloc(n_rays, sizeof(float));
    for (int i = 0; i < n_pixels; i++)
        square[i] = abs(i / N - N / 2) < 8 && abs(i % N - N / 2) < 5;

    const struct ts_array truth = array_of(square, &volume), image = array_of(x, &volume),
                          scan = array_of(b, &sinogram), residual = array_of(rest, &sinogram),
                          gradient = array_of(change, &volume);
    status = ts_operator_apply(radon, &truth, &scan, NULL, diag);
    for (int i = 0; i < ITERATIONS && status == TS_OK; i++) {
        status = ts_operator_apply(radon, &image, &residual, NULL, diag);
        for (int64_t k = 0; k < n_rays; k++)
            rest[k] = b[k] - rest[k];
        if (status == TS_OK)
            status = ts_operator_adjoint(radon, &residual, &gradient, NULL, diag);
        add(x, 1e-3f, change, n_pixels);
    }
    add(x, -1, square, n_pixels);
    double square_sum = 0, rest_sum = 0;
    for (int i = 0; i < n_pixels; i++) {
        square_sum += square[i];
        rest_sum += (double)x[i] * x[i];
    }
    if (status == TS_OK)
        printf("off by %.0f %% after %d iterations\n", 100 * sqrt(rest_sum / square_sum),
               ITERATIONS);
    else
        ts_diag_print(diag, stderr);
    ts_operator_destroy(radon);
    ts_diag_destroy(diag);
    float *all[] = {square, x, change, b, rest};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return (int)status;
}
