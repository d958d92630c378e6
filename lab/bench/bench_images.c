/* SPDX-License-Identifier: Apache-2.0
 *
 * Images of known distributions (z, y, x), and of a patient: a slice through him, or his
 * projections (z, view, detector) where a stage accepts line integrals. The projections are exact
 * chords of ellipses without noise, so that they are consistent for a stage that solves for the
 * slice. The chord of the ray x cos(phi) + y sin(phi) = s in an ellipse of half axes a and b at
 * (x0, y0) is
 *
 *     chord = 2 a b sqrt(q^2 - t^2) / q^2
 *     q^2 = (a cos(phi))^2 + (b sin(phi))^2     t = s - x0 cos(phi) - y0 sin(phi)
 *
 * A. C. Kak, M. Slaney, Principles of Computerized Tomographic Imaging, 1988, section 3.1.
 */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "lab/bench/bench.h"
#include "stages/geometry/beam.h"

const char *const ts_bench_values_names[BENCH_VALUES] = {"ct", "uniform", "constant", "checker"};

/* splitmix64 (S. Vigna), so that every machine times the same image. Each number takes a step of
 * the state. */
static const uint64_t random_step = 0x9E3779B97F4A7C15u;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += random_step;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double unit_random(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* A patient in a round field of view of radius 1, y upwards; in HU + 1024. */
struct ellipse {
    double x, y, half_width, half_height;
    double value; /* inside, whatever it lies in */
    double added; /* the same as a difference from that */
    double noise;
};
static const double air = 24, noise_of_air = 15;
static const struct ellipse patient[] = {
    {0, -0.4, 0.11, 0.11, 1700, 626, 120}, /* spine */
    {0.3, 0, 0.2236, 0.3, 180, -894, 15},  /* lungs */
    {-0.3, 0, 0.2236, 0.3, 180, -894, 15},
    {0, 0, 0.8, 0.6, 1074, 1050, 15},
};
enum { ELLIPSES = sizeof patient / sizeof *patient };

/* Returns the value at (x, y), in HU + 1024. */
static double ct_value(double x, double y, uint64_t *state)
{
    const double noise = unit_random(state) + unit_random(state) + unit_random(state) - 1.5;
    if (x * x + y * y > 1)
        return 0; /* outside the scan: padding */
    for (int i = 0; i < ELLIPSES; i++) {
        const struct ellipse *ellipse = &patient[i];
        const double across = (x - ellipse->x) / ellipse->half_width,
                     up = (y - ellipse->y) / ellipse->half_height;
        if (across * across + up * up < 1)
            return ellipse->value + ellipse->noise * noise;
    }
    return air + noise_of_air * noise;
}

/* Returns the line integral along a ray, of a patient in a field of view 300 mm wide. It is up
 * to 6. */
static double line_integral(struct beam_angle angle, struct beam_detector detector, double field_mm)
{
    const double c = angle.cosine * detector.cosine - angle.sine * detector.sine;
    const double s = angle.sine * detector.cosine + angle.cosine * detector.sine;
    double sum = 0;
    for (int i = 0; i < ELLIPSES; i++) {
        const struct ellipse *ellipse = &patient[i];
        const double a = ellipse->half_width, b = ellipse->half_height,
                     square = a * a * c * c + b * b * s * s;
        const double t = detector.distance_mm / field_mm - ellipse->x * c - ellipse->y * s;
        if (t * t < square)
            sum += ellipse->added * 2 * a * b * sqrt(square - t * t) / square;
    }
    return 150 * 0.02 * sum / 1024;
}

/* Returns HU + 1024 as a value of the quantity. A transmission is that of 300 mm of it, and never
 * 0. */
static double ct_as(enum ts_quantity quantity, double ct)
{
    const double attenuation = 0.02 * ct / 1024;
    return quantity == TS_TRANSMISSION  ? exp(-300 * fmax(attenuation, 0))
           : quantity == TS_ATTENUATION ? attenuation
           : quantity == TS_COUNTS      ? fmax(ct, 0)
                                        : ct - 1024;
}

/* The scene from which the values of an image are made. */
struct scene {
    const struct bench_case *which;
    enum ts_quantity quantity;
    bool projected;
    struct beam_scan scan; /* where projected */
    double field_mm;       /* radius of the field of view */
};

static double projection(const struct scene *scene, int64_t z, int64_t view, int64_t detector)
{
    double low, high;
    ts_dtype_range(scene->which->dtype, &low, &high);
    const double thinner = 1 - 0.01 * (double)(z % 16);
    const double value =
        thinner * line_integral(ts_beam_angle(&scene->scan, view),
                                ts_beam_detector(&scene->scan, detector), scene->field_mm);
    return scene->which->dtype == TS_F32 ? value : floor(value * fmin(high, 4095) / 6.5);
}

/* Returns the value of the slice at this pixel of the case. */
static double given_value(const struct bench_case *which, int64_t y, int64_t x)
{
    const struct bench_slice *slice = which->given;
    double low, high;
    const double value =
        slice->values[y * slice->ny / which->ny * slice->nx + x * slice->nx / which->nx];
    ts_dtype_range(which->dtype, &low, &high);
    if (which->dtype == TS_F32)
        return value;
    const double width = slice->high - slice->low, counted = value - slice->low;
    return floor(width > high ? counted * high / width : counted);
}

static double sample(const struct scene *scene, int64_t z, int64_t y, int64_t x, uint64_t *state)
{
    const struct bench_case *which = scene->which;
    double low, high;
    ts_dtype_range(which->dtype, &low, &high);
    const bool is_float = which->dtype == TS_F32;
    switch (which->values) {
    case BENCH_UNIFORM:
        return is_float ? 4096 * unit_random(state)
                        : floor(low + (high - low + 1) * unit_random(state));
    case BENCH_CONSTANT:
        return 100;
    case BENCH_CHECKER:
        return (x ^ y ^ z) & 1 ? 100 : fmin(200, high);
    default:
        break;
    }
    if (scene->projected)
        return projection(scene, z, y, x);
    if (which->given)
        return given_value(which, y, x);
    const double ct = ct_value(2 * ((double)x + 0.5) / (double)which->nx - 1,
                               1 - 2 * ((double)y + 0.5) / (double)which->ny, state);
    const double shifted = low < 0 && high > 255 ? ct - 1024
                           : high <= 255         ? ct / 16 + (low < 0 ? low : 0)
                                                 : ct;
    return is_float ? ct_as(scene->quantity, ct) : floor(fmin(fmax(shifted, low), high));
}

static enum ts_beam_kind beam_of(const struct bench_case *which)
{
    const char *scan = strstr(which->parameters, BENCH_SCAN);
    for (int kind = TS_BEAM_PARALLEL; scan && kind <= TS_BEAM_FAN_FLAT; kind++) {
        const char *name = ts_beam_name((enum ts_beam_kind)kind);
        if (!strncmp(scan + strlen(BENCH_SCAN), name, strlen(name)))
            return (enum ts_beam_kind)kind;
    }
    return which->stage->beams & TS_BEAM_BIT(TS_BEAM_PARALLEL) ? TS_BEAM_PARALLEL
                                                               : TS_BEAM_FAN_FLAT;
}

struct ts_image ts_bench_describe_image(const struct bench_case *which)
{
    static const enum ts_quantity preferred[] = {TS_HU,        TS_ATTENUATION,  TS_LINE_INTEGRAL,
                                                 TS_INTENSITY, TS_TRANSMISSION, TS_COUNTS};
    const bool volume = which->stage->axes & AXES_VOLUME;
    struct ts_image image = {.rank = 3,
                             .dtype = which->dtype,
                             .unit = "1",
                             .has_geometry = true,
                             .direction = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                             .step_z_mm = {0, 0, 1}};
    for (size_t q = 0; q < sizeof preferred / sizeof *preferred; q++)
        if (which->stage->quantities & TS_QUANTITY_BIT(preferred[q])) {
            image.quantity = preferred[q];
            break;
        }
    if (image.quantity == TS_HU)
        image.unit = "HU";
    if (image.quantity == TS_ATTENUATION)
        image.unit = "1/mm";
    image.axes[0] = (struct ts_axis){.kind = TS_AXIS_Z, .n = which->nz, .spacing = 1, .unit = "mm"};
    image.axes[1] = (struct ts_axis){.kind = volume ? TS_AXIS_Y : TS_AXIS_VIEW,
                                     .n = which->ny,
                                     .spacing = 1,
                                     .unit = volume ? "mm" : "degree"};
    image.axes[2] = (struct ts_axis){
        .kind = volume ? TS_AXIS_X : TS_AXIS_DETECTOR, .n = which->nx, .spacing = 1, .unit = "mm"};
    if (!volume) { /* half a turn about the middle of the detector */
        image.axes[1].spacing = 180 / (double)which->ny;
        image.axes[2].first = -0.5 * (double)(which->nx - 1);
        if (strstr(which->parameters,
                   BENCH_SCAN "half-acquisition")) { /* a whole turn, the axis near an end */
            image.axes[1].spacing *= 2;
            image.axes[2].first = -floor(0.125 * (double)which->nx) - 0.25;
        }
        if (beam_of(which) != TS_BEAM_PARALLEL) { /* a whole turn of a fan */
            image.axes[1].spacing *= 2;
            image.beam =
                (struct ts_beam){beam_of(which), 2 * (double)which->nx, 3 * (double)which->nx};
        }
    }
    return image;
}

/* Returns how many random numbers each pixel takes. */
static uint64_t numbers_of(const struct scene *scene)
{
    const bool ct = scene->which->values == BENCH_CT && !scene->projected && !scene->which->given;
    return ct ? 3 : scene->which->values == BENCH_UNIFORM ? 1 : 0;
}

/* Each slice has numbers of its own, and a row begins where the one before it ends, so that rows
 * can be made side by side. */
static void fill_row(const struct scene *scene, const struct ts_image *image, int64_t z, int64_t y)
{
    const struct bench_case *which = scene->which;
    uint64_t seed = 20240607 + (uint64_t)z, state = next_random(&seed);
    size_t i = (size_t)((z * which->ny + y) * which->nx);
    state += numbers_of(scene) * (uint64_t)(y * which->nx) * random_step;
    for (int64_t x = 0; x < which->nx; x++, i++) {
        const double value = sample(scene, z, y, x, &state);
        switch (which->dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        ((type *)image->data)[i] = (type)value;                                                    \
        break;
            TS_IMAGE_DTYPES(CASE)
#undef CASE
        default:
            break;
        }
    }
}

void ts_bench_fill(const struct bench_case *which, struct ts_image *image)
{
    struct scene scene = {.which = which,
                          .quantity = image->quantity,
                          .projected =
                              ts_image_is_sinogram(image) && image->quantity == TS_LINE_INTEGRAL};
    if (scene.projected) {
        scene.scan = ts_beam_scan(image, image);
        scene.field_mm =
            fmax(fabs(ts_beam_detector(&scene.scan, 0).distance_mm), 0.5 * image->axes[2].spacing);
    }
#pragma omp parallel for collapse(2)
    for (int64_t z = 0; z < which->nz; z++)
        for (int64_t y = 0; y < which->ny; y++)
            fill_row(&scene, image, z, y);
}

struct ts_image ts_bench_image(const struct bench_case *which)
{
    struct ts_image image = ts_bench_describe_image(which);
    image.data = ts_memory_aligned(ts_image_bytes(&image));
    if (image.data)
        ts_bench_fill(which, &image);
    return image;
}
