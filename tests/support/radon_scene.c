/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/radon_scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/projection/radon.h"
#include "tests/support/stage_check.h"

void ts_test_scene_make(struct radon_scene *scene, const char *assignments, int64_t ny, int64_t nx,
                        double dy, double dx)
{
    scene->in = ts_test_image(1, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    scene->in.axes[1].spacing = dy;
    scene->in.axes[2].spacing = dx;
    ts_test_params(&radon_stage, assignments, &scene->set);
}

void ts_test_scene_project(struct radon_scene *scene)
{
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = ts_stage_prepare(&radon_stage, &scene->set, &scene->in, NULL, 1,
                                             ts_test_device, diag, &scene->context);
    scene->out = scene->context.out;
    if (status == TS_OK) {
        scene->out.data = scene->sinogram = malloc(ts_image_bytes(&scene->out));
        status = ts_test_apply(&scene->context, &scene->in, &scene->out, NULL, 0, NULL);
    }
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    cr_assert_eq(status, TS_OK);
}

void ts_test_scene_clear(struct radon_scene *scene)
{
    ts_test_params_clear(&scene->set);
    free(scene->in.data);
    free(scene->sinogram);
}

void ts_test_ellipse_draw(struct ts_image *image, const struct ellipse *ellipse)
{
    enum { POINTS = 8 };
    const int64_t ny = image->axes[1].n, nx = image->axes[2].n;
    const double dy = image->axes[1].spacing, dx = image->axes[2].spacing,
                 c = cos(ellipse->turn * M_PI / 180), s = sin(ellipse->turn * M_PI / 180);
    float *values = image->data;
    for (int64_t i = 0; i < ny * nx; i++) {
        int inside = 0;
        for (int k = 0; k < POINTS * POINTS; k++) {
            const double x =
                ((double)(i % nx) - 0.5 * (double)(nx - 1) + (k % POINTS + 0.5) / POINTS - 0.5) *
                    dx -
                ellipse->x;
            const double y =
                (0.5 * (double)(ny - 1) - (double)(i / nx) - (k / POINTS + 0.5) / POINTS + 0.5) *
                    dy -
                ellipse->y;
            const double u = (x * c + y * s) / ellipse->a, v = (y * c - x * s) / ellipse->b;
            inside += u * u + v * v <= 1;
        }
        values[i] = (float)(ellipse->value * inside / (POINTS * POINTS));
    }
}

double ts_test_ellipse_chord(const struct ellipse *ellipse, double degree, double s)
{
    const double theta = degree * M_PI / 180, inner = (degree - ellipse->turn) * M_PI / 180;
    const double t = s - ellipse->x * cos(theta) - ellipse->y * sin(theta);
    const double r2 = pow(ellipse->a * cos(inner), 2) + pow(ellipse->b * sin(inner), 2);
    return t * t >= r2 ? 0 : ellipse->value * 2 * ellipse->a * ellipse->b * sqrt(r2 - t * t) / r2;
}
