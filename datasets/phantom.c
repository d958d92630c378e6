/* SPDX-License-Identifier: Apache-2.0
 *
 * The phantoms: their tables, the value at a point, the mean over a pixel and the integral along a
 * line. See phantom.h.
 *
 * Chord of the line x cos(t) + y sin(t) = s with an ellipse of half axes a, b turned by alpha, f =
 * t - alpha, r^2 = a^2 cos^2 f + b^2 sin^2 f: length 2 a b sqrt(r^2 - s^2) / r^2, midpoint s (a^2
 * cos f, b^2 sin f) / r^2 in the ellipse's own axes. A linear function integrates to its value at
 * the midpoint times the length. Source: A. C. Kak and M. Slaney (1988), Principles of Computerized
 * Tomographic Imaging, 3.1.
 */
#include "datasets/phantom.h"

#include <math.h>
#include <string.h>

#define CYLINDER INFINITY

/* Densities d of Toft's contrast, as HU = 2000 d - 1000: (HU + 1000) / 2000 is the picture known
 * from other tools. The third dimension as in Kak and Slaney's ellipsoids. */
static const struct phantom_shape shepp_logan[] = {
    {{0, 0, 0}, {0.69, 0.92, 0.81}, 0, 2000, {0}},
    {{0, -0.0184, 0}, {0.6624, 0.874, 0.78}, 0, -1600, {0}},
    {{0.22, 0, 0}, {0.11, 0.31, 0.22}, -18, -400, {0}},
    {{-0.22, 0, 0}, {0.16, 0.41, 0.28}, 18, -400, {0}},
    {{0, 0.35, -0.15}, {0.21, 0.25, 0.41}, 0, 200, {0}},
    {{0, 0.1, 0.25}, {0.046, 0.046, 0.5}, 0, 200, {0}},
    {{0, -0.1, 0.25}, {0.046, 0.046, 0.5}, 0, 200, {0}},
    {{-0.08, -0.605, 0}, {0.046, 0.023, 0.5}, 0, 200, {0}},
    {{0, -0.606, 0}, {0.023, 0.023, 0.2}, 0, 200, {0}},
    {{0.06, -0.605, 0}, {0.023, 0.046, 0.2}, 0, 200, {0}},
};

/* The same shapes as a CT shows a head: bone 1000, brain 40, ventricles 0, lesions 60 HU. */
static const struct phantom_shape head[] = {
    {{0, 0, 0}, {0.69, 0.92, 0.81}, 0, 2000, {0}},
    {{0, -0.0184, 0}, {0.6624, 0.874, 0.78}, 0, -960, {0}},
    {{0.22, 0, 0}, {0.11, 0.31, 0.22}, -18, -40, {0}},
    {{-0.22, 0, 0}, {0.16, 0.41, 0.28}, 18, -40, {0}},
    {{0, 0.35, -0.15}, {0.21, 0.25, 0.41}, 0, 20, {0}},
    {{0, 0.1, 0.25}, {0.046, 0.046, 0.5}, 0, 20, {0}},
    {{0, -0.1, 0.25}, {0.046, 0.046, 0.5}, 0, 20, {0}},
    {{-0.08, -0.605, 0}, {0.046, 0.023, 0.5}, 0, 20, {0}},
    {{0, -0.606, 0}, {0.023, 0.023, 0.2}, 0, 20, {0}},
    {{0.06, -0.605, 0}, {0.023, 0.046, 0.2}, 0, 20, {0}},
};

static const struct phantom_shape disc[] = {
    {{0, 0, 0}, {0.8, 0.8, CYLINDER}, 0, 1000, {0}},
};

static const struct phantom_shape rods[] = {
    {{0, 0, 0}, {0.85, 0.85, CYLINDER}, 0, 1000, {0}},
    {{0.5, 0, 0}, {0.12, 0.12, CYLINDER}, 0, 900, {0}},
    {{0.25, 0.43301270189, 0}, {0.12, 0.12, CYLINDER}, 0, 500, {0}},
    {{-0.25, 0.43301270189, 0}, {0.12, 0.12, CYLINDER}, 0, 200, {0}},
    {{-0.5, 0, 0}, {0.12, 0.12, CYLINDER}, 0, 50, {0}},
    {{-0.25, -0.43301270189, 0}, {0.12, 0.12, CYLINDER}, 0, -100, {0}},
    {{0.25, -0.43301270189, 0}, {0.12, 0.12, CYLINDER}, 0, -800, {0}},
};

/* A letter and a ball near one end of z: no flip or exchange of axes maps them to themselves. */
static const struct phantom_shape letter[] = {
    {{-0.3, 0, 0}, {0.1, 0.7, 0.95}, 0, 1000, {0}},
    {{0.05, 0.55, 0}, {0.4, 0.1, 0.95}, 0, 800, {0}},
    {{-0.05, 0.05, 0}, {0.28, 0.08, 0.95}, 0, 600, {0}},
    {{0.45, -0.5, 0.5}, {0.2, 0.2, 0.4}, 0, 1500, {0}},
};

static const struct phantom_shape gradient[] = {
    {{0, 0, 0}, {0.95, 0.95, CYLINDER}, 0, 1200, {400, 200, 100}},
};

#define SHAPES(table) .shapes = table, .n_shapes = sizeof table / sizeof table[0]

const struct phantom ts_phantoms[] = {
    {.name = "shepp-logan",
     .summary =
         "Shepp and Logan's head, ten ellipsoids in Toft's contrast: HU = 2000 density - 1000",
     SHAPES(shepp_logan)},
    {.name = "head",
     .summary = "the same shapes as a CT shows a head: air -1000, bone 1000, brain 40, ventricles "
                "0, lesions 60 HU",
     SHAPES(head)},
    {.name = "disc", .summary = "a cylinder of water, 0.8 of the field: 0 HU in air", SHAPES(disc)},
    {.name = "rods",
     .summary = "six rods in a cylinder of water: 900, 500, 200, 50, -100 and -800 HU, "
                "counter-clockwise from the right",
     SHAPES(rods)},
    {.name = "asymmetric",
     .summary = "a letter F and a ball near the last slice: shows every flip and exchange of axes",
     SHAPES(letter)},
    {.name = "gradient",
     .summary = "a cylinder whose values rise by 400, 200 and 100 HU per half field along x, y and "
                "z around 200 HU",
     SHAPES(gradient)},
    {.name = NULL},
};

const struct phantom *ts_phantom_find(const char *name)
{
    for (const struct phantom *phantom = ts_phantoms; phantom->name != NULL; phantom++)
        if (strcmp(phantom->name, name) == 0)
            return phantom;
    return NULL;
}

/* Return the millimeters of one unit, in the plane and along z. */
static double plane_unit(const struct phantom_options *options)
{
    return 0.5 * fmin((double)options->nx * options->spacing_x_mm,
                      (double)options->ny * options->spacing_y_mm);
}

static double z_unit(const struct phantom_options *options)
{
    return 0.5 * (double)options->nz * options->spacing_z_mm;
}

/* Returns the square of the distance from the shape's center, which is 1 on its surface. */
static double distance_squared(const struct phantom_shape *shape, double x, double y, double z)
{
    const double angle = shape->angle_degree * (M_PI / 180.0);
    const double dx = x - shape->center[0], dy = y - shape->center[1];
    const double u = (dx * cos(angle) + dy * sin(angle)) / shape->half_axes[0];
    const double v = (dy * cos(angle) - dx * sin(angle)) / shape->half_axes[1];
    const double w = (z - shape->center[2]) / shape->half_axes[2];
    return u * u + v * v + w * w;
}

static double shape_value(const struct phantom_shape *shape, double x, double y, double z)
{
    return shape->hu + shape->slope_hu[0] * (x - shape->center[0]) +
           shape->slope_hu[1] * (y - shape->center[1]) +
           shape->slope_hu[2] * (z - shape->center[2]);
}

double ts_phantom_value(const struct phantom *phantom, const struct phantom_options *options,
                        double x_mm, double y_mm, double z_mm)
{
    const double x = x_mm / plane_unit(options), y = y_mm / plane_unit(options),
                 z = z_mm / z_unit(options);
    double value = PHANTOM_AIR_HU;
    for (size_t i = 0; i < phantom->n_shapes; i++)
        if (distance_squared(&phantom->shapes[i], x, y, z) <= 1.0)
            value += shape_value(&phantom->shapes[i], x, y, z);
    return value;
}

/* Returns the mean of the shape over the subsamples of a pixel at (x, y) of size (dx, dy). Only
 * pixels that the surface may cross are subsampled: distance (the root) changes by at most 1 /
 * (smaller half axis) per unit of length. */
static double pixel_mean(const struct phantom_shape *shape, double x, double y, double z, double dx,
                         double dy)
{
    const double distance = sqrt(distance_squared(shape, x, y, z));
    const double margin = 0.5 * hypot(dx, dy) / fmin(shape->half_axes[0], shape->half_axes[1]);
    if (distance > 1.0 + margin)
        return 0.0;
    if (distance < 1.0 - margin)
        return shape_value(shape, x, y, z);
    double sum = 0.0;
    for (int j = 0; j < PHANTOM_SUPERSAMPLING; j++)
        for (int i = 0; i < PHANTOM_SUPERSAMPLING; i++) {
            const double sub_x = x + dx * ((i + 0.5) / PHANTOM_SUPERSAMPLING - 0.5);
            const double sub_y = y + dy * ((j + 0.5) / PHANTOM_SUPERSAMPLING - 0.5);
            if (distance_squared(shape, sub_x, sub_y, z) <= 1.0)
                sum += shape_value(shape, sub_x, sub_y, z);
        }
    return sum / (PHANTOM_SUPERSAMPLING * PHANTOM_SUPERSAMPLING);
}

double ts_phantom_shift_mm(const struct phantom_options *options, int64_t z)
{
    const double height_mm = ((double)z - 0.5 * (double)(options->nz - 1)) * options->spacing_z_mm;
    return options->tilt_degree == 0 ? 0 : height_mm * tan(options->tilt_degree * (M_PI / 180));
}

void ts_phantom_render(const struct phantom *phantom, const struct phantom_options *options,
                       int64_t z, double *out)
{
    const double unit = plane_unit(options);
    const double dx = options->spacing_x_mm / unit, dy = options->spacing_y_mm / unit;
    const double shift = ts_phantom_shift_mm(options, z) / unit;
    const double height =
        ((double)z - 0.5 * (double)(options->nz - 1)) * options->spacing_z_mm / z_unit(options);
#pragma omp parallel for
    for (int64_t row = 0; row < options->ny; row++) {
        const double y = (0.5 * (double)(options->ny - 1) - (double)row) * dy - shift;
        for (int64_t column = 0; column < options->nx; column++) {
            const double x = ((double)column - 0.5 * (double)(options->nx - 1)) * dx;
            double value = PHANTOM_AIR_HU;
            for (size_t i = 0; i < phantom->n_shapes; i++)
                value += pixel_mean(&phantom->shapes[i], x, y, height, dx, dy);
            out[row * options->nx + column] = value;
        }
    }
}

double ts_phantom_integral(const struct phantom *phantom, const struct phantom_options *options,
                           double theta_rad, double s_mm, double z_mm)
{
    const double unit = plane_unit(options), z = z_mm / z_unit(options);
    double integral = 0.0;
    for (size_t i = 0; i < phantom->n_shapes; i++) {
        const struct phantom_shape *shape = &phantom->shapes[i];
        const double alpha = shape->angle_degree * (M_PI / 180.0), f = theta_rad - alpha;
        const double w = (z - shape->center[2]) / shape->half_axes[2];
        const double s =
            s_mm / unit - (shape->center[0] * cos(theta_rad) + shape->center[1] * sin(theta_rad));
        const double shrink = 1.0 - w * w; /* factor of the squared half axes at this height */
        const double a2 = shape->half_axes[0] * shape->half_axes[0] * shrink;
        const double b2 = shape->half_axes[1] * shape->half_axes[1] * shrink;
        const double r2 = a2 * cos(f) * cos(f) + b2 * sin(f) * sin(f);
        if (shrink <= 0.0 || s * s >= r2)
            continue;
        const double length = 2.0 * sqrt(a2 * b2) * sqrt(r2 - s * s) / r2;
        const double u = s * a2 * cos(f) / r2, v = s * b2 * sin(f) / r2;
        const double x = shape->center[0] + u * cos(alpha) - v * sin(alpha);
        const double y = shape->center[1] + u * sin(alpha) + v * cos(alpha);
        integral += length * shape_value(shape, x, y, z);
    }
    return integral * unit;
}
