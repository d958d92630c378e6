/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/adjoint_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/projection/radon.h"
#include "stages/projection/reconstruction.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

static double product(const struct ts_image *a, const struct ts_image *b)
{
    const float *left = a->data, *right = b->data;
    double sum = 0;
    for (size_t i = 0; i < ts_image_count(a); i++)
        sum += (double)left[i] * right[i];
    return sum;
}

static void fill_random(struct ts_image *image, double least, uint64_t *seed)
{
    for (size_t i = 0; i < ts_image_count(image); i++)
        ((float *)image->data)[i] = (float)(least + (1 - least) * ts_random_unit(seed));
}

/* False, and all of the run freed, where the device does not have the method. */
static bool ran(enum ts_status status, struct stage_run *run, const char *what)
{
    if (status == TS_OK)
        return true;
    cr_assert(ts_test_beyond(ts_test_device, run->diag, what), "%s: %s", what,
              ts_diag_get(run->diag, 0)->message);
    ts_test_run_clear(run);
    return false;
}

static void keep_11_bits(struct ts_image *image)
{
    float *values = image->data;
    for (size_t i = 0; i < ts_image_count(image); i++) {
        int exponent;
        const float mantissa = frexpf(values[i], &exponent);
        values[i] = ldexpf(rintf(ldexpf(mantissa, 11)), exponent - 11);
    }
}

static void divide_by_lengths(struct ts_image *sinogram, double dy, double dx)
{
    const struct ts_axis *views = &sinogram->axes[1];
    const int64_t n = sinogram->axes[2].n;
    for (int64_t i = 0; i < sinogram->axes[0].n * views->n; i++) {
        const int64_t v = i % views->n;
        const double degree = views->positions ? views->positions[v]
                                               : views->first + (double)v * views->spacing,
                     angle = degree * M_PI / 180,
                     length = fmin(dy / fabs(cos(angle)), dx / fabs(sin(angle)));
        for (int64_t d = 0; d < n; d++) {
            float *value = (float *)sinogram->data + i * n + d;
            *value = (float)(*value / (length / hypot(dy, dx)));
        }
    }
}

void ts_test_adjoint(const struct adjoint_case *which)
{
    struct ts_image x = ts_test_image(which->nz, which->ny, which->nx, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run forth, back;
    uint64_t seed = 31;
    char text[256];
    x.axes[1].spacing = which->dy;
    x.axes[2].spacing = which->dx;
    fill_random(&x, which->least, &seed);
    if (which->unrounded)
        keep_11_bits(&x);
    if (!ran(ts_test_run(&forth, &radon_stage, which->radon, &x, NULL, 0, 2), &forth,
             which->radon)) {
        free(x.data);
        return;
    }
    struct ts_image y = forth.out;
    y.data = malloc(ts_image_bytes(&y));
    fill_random(&y, which->least, &seed);
    if (which->unrounded) {
        keep_11_bits(&y);
        divide_by_lengths(&y, which->dy, which->dx);
    }
    snprintf(text, sizeof text,
             "model=joseph rows=%lld columns=%lld pixel_size=%.17g row_spacing=%.17g %s",
             (long long)which->ny, (long long)which->nx, which->dx, which->dy, which->backproject);
    if (!ran(ts_test_run(&back, &backproject_stage, text, &y, NULL, 0, 2), &back, text)) {
        ts_test_run_clear(&forth);
        free(y.data);
        free(x.data);
        return;
    }
    cr_assert_eq(ts_image_count(&back.out), ts_image_count(&x));
    const double left = product(&forth.out, &y), right = product(&x, &back.out);
    const double scale =
        which->least < 0 ? sqrt(product(&forth.out, &forth.out) * product(&y, &y)) : fabs(left);
    cr_assert(scale > 0 && fabs(left - right) <= which->bound * scale,
              "%s, %s: <Ax, y> = %.9g, <x, A'y> = %.9g, of %.9g", which->radon, text, left, right,
              scale);
    ts_test_run_clear(&forth);
    ts_test_run_clear(&back);
    free(y.data);
    free(x.data);
}
