/* SPDX-License-Identifier: Apache-2.0
 *
 * A scene is one projected slice, with ellipses whose projections are known.
 */
#ifndef TESTS_SUPPORT_RADON_SCENE_H
#define TESTS_SUPPORT_RADON_SCENE_H

#include "stages/engine/driver.h"

struct radon_scene {
    struct param_set set;
    struct stage_context context;
    struct ts_image in, out;
    float *sinogram;
};

/* Makes a constant slice of ny x nx pixels of dy x dx mm in scene->in, to be drawn on. */
void ts_test_scene_make(struct radon_scene *scene, const char *assignments, int64_t ny, int64_t nx,
                        double dy, double dx);
/* Projects it on the test's device. */
void ts_test_scene_project(struct radon_scene *scene);
void ts_test_scene_clear(struct radon_scene *scene);

/* An ellipse in mm about (x, y), y up, turned by `turn` degrees from x towards y. */
struct ellipse {
    double x, y, a, b, turn, value;
};

/* Pixels as the mean of 8 x 8 points. */
void ts_test_ellipse_draw(struct ts_image *image, const struct ellipse *ellipse);
/* The chord of ray (theta, s): 2 a b sqrt(r^2 - t^2) / r^2, r^2 = a^2 cos^2 + b^2 sin^2, t the
 * distance from its center. */
double ts_test_ellipse_chord(const struct ellipse *ellipse, double degree, double s);

#endif
