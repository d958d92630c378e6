/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread maps a few rows after one another. It keeps the lines of the window, with their borders
 * filled in, in a ring, so that each is prepared only once for all windows: as floats, scaled so
 * that the exponent of a difference is its square. bilateral_lines.inc then works on as many
 * windows at once as a vector has lanes. The mean is that of the differences to the middle of the
 * window, because their rounding errors do not grow with the values.
 */
#include "stages/denoising/bilateral.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/border.h"
#include "stages/engine/validity.h"

enum { MOST_LANES = TS_VECTOR_MOST_BYTES / sizeof(float), CHUNK_ROWS = 32 };

static const struct choice dimension_choices[] = {
    {"2d", BILATERAL_2D, "a square in each slice"},
    {"3d", BILATERAL_3D,
     "a cube, which also spans neighboring slices, in samples: not corrected for their spacing"},
    {0},
};

static const struct param bilateral_params[] = {
    PARAM(struct bilateral_params, sigma_color, .unit = "value", .required = true, .min = 1e-15,
          .max = 1e15,
          .doc =
              "standard deviation of the weight over differences of value: larger ones are edges"),
    PARAM(struct bilateral_params, sigma_spatial, .unit = "pixel", .init.r = 1, .min = 0.1,
          .max = 1e6, .doc = "standard deviation of the weight over distance"),
    PARAM(struct bilateral_params, radius, .unit = "pixel", .min = 1, .max = BILATERAL_MOST_RADIUS,
          .derived = "3 sigma_spatial, rounded up, at least 2",
          .doc = "half width: the window has 2 radius + 1 values along each side"),
    PARAM(struct bilateral_params, dimensions, .unit = "", .choices = dimension_choices,
          .init.choice = BILATERAL_2D,
          .doc = "whether the window is in a slice or spans slices as well"),
    PARAM(struct bilateral_params, border, .unit = "", .choices = ts_border_choices,
          .init.choice = BORDER_REFLECT, .doc = TS_BORDER_DOC),
    PARAM(struct bilateral_params, constant, .unit = "value", .init.r = 0, .min = -FLT_MAX,
          .max = FLT_MAX,
          .doc = "the value outside with border: constant; one that the image's dtype can hold"),
};

STAGE_PARAMS_OF(bilateral_params)

static enum ts_status bilateral_resolve(const struct stage_context *context, void *values)
{
    struct bilateral_params *params = values;
    const double radius = fmax(2, ceil(3 * params->sigma_spatial));
    if (!ts_param_given(context->set, "radius") && radius > BILATERAL_MOST_RADIUS)
        return ts_param_error(
            context->set, "sigma_spatial", "sigma-radius", context->diag,
            "%g pixel would take a radius of %g pixel, of which %d are the most; state a radius",
            params->sigma_spatial, radius, BILATERAL_MOST_RADIUS);
    if (!ts_param_given(context->set, "radius"))
        params->radius = (int64_t)radius;
    return ts_border_check(context, (enum ts_border)params->border, params->constant);
}

static enum ts_status bilateral_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

static struct stage_reach bilateral_reach(const struct stage_context *context)
{
    const struct bilateral_params *params = params_of(context);
    return (struct stage_reach){.halo = params->dimensions == BILATERAL_3D ? params->radius : 0,
                                .border = (enum ts_border)params->border,
                                .constant = params->constant};
}

float ts_bilateral_scale(const struct bilateral_params *params)
{
    return (float)(sqrt(0.5 / log(2)) / params->sigma_color);
}

void ts_bilateral_exponents(const struct bilateral_params *params, float *exponents)
{
    const int64_t radius = params->radius, rz = params->dimensions == BILATERAL_3D ? radius : 0;
    const double scale = 0.5 / log(2) / (params->sigma_spatial * params->sigma_spatial);
    for (int64_t z = -rz; z <= rz; z++)
        for (int64_t y = -radius; y <= radius; y++)
            for (int64_t x = -radius; x <= radius; x++)
                *exponents++ = (float)(scale * (double)(z * z + y * y + x * x));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* One slab, as all threads see it. */
struct bilateral_window {
    const struct stage_context *context;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx, radius, width, depth, n_lines; /* depth: slices of a window */
    int64_t line;          /* floats of a line, including its borders and the last lanes */
    float scale, constant; /* constant is scaled */
    int64_t *columns; /* columns[i] is the column for sample i - radius, or -1 for the constant */
    float *exponents; /* of distance, one for each sample of a window */
};

/* One thread's share of the scratch. */
struct worker {
    float *lines; /* depth rings of `width` lines; row `row` is at row % width */
    float *values, *means;
};

#define TS_LOOPS "stages/denoising/bilateral_lines.inc"
#include "core/vectors.inc"

static size_t lay_out_worker(const struct bilateral_window *window, struct worker *worker,
                             void *base)
{
    struct memory_layout layout = {.base = base};
    worker->lines =
        ts_layout_add(&layout, (size_t)(window->n_lines * window->line) * sizeof(float));
    worker->values = ts_layout_add(&layout, (size_t)window->nx * sizeof(float));
    worker->means = ts_layout_add(&layout, (size_t)window->line * sizeof(float));
    return layout.bytes;
}

static size_t lay_out(struct bilateral_window *window, void *base)
{
    struct memory_layout layout = {.base = base};
    window->columns =
        ts_layout_add(&layout, (size_t)(window->nx + 2 * window->radius) * sizeof(int64_t));
    window->exponents =
        ts_layout_add(&layout, (size_t)(window->n_lines * window->width) * sizeof(float));
    return layout.bytes;
}

static struct bilateral_window bilateral_describe(const struct stage_context *context)
{
    const struct bilateral_params *params = params_of(context);
    const int64_t width = 2 * params->radius + 1,
                  depth = params->dimensions == BILATERAL_3D ? width : 1;
    const int64_t nx = context->in.axes[2].n;
    return (struct bilateral_window){.context = context,
                                     .ny = context->in.axes[1].n,
                                     .nx = nx,
                                     .radius = params->radius,
                                     .width = width,
                                     .depth = depth,
                                     .n_lines = width * depth,
                                     .line = nx + 2 * params->radius + MOST_LANES,
                                     .scale = ts_bilateral_scale(params),
                                     .constant =
                                         (float)params->constant * ts_bilateral_scale(params)};
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct bilateral_window window = bilateral_describe(context);
    struct worker worker;
    (void)n;
    return lay_out(&window, NULL) +
           (size_t)context->threads * lay_out_worker(&window, &worker, NULL);
}

static float *line_of(const struct bilateral_window *window, const struct worker *worker,
                      int64_t slice, int64_t row)
{
    return worker->lines +
           (slice * window->width + (row + window->radius) % window->width) * window->line;
}

/* Replaces values that must not take part in the means by one that is far from all others. The
 * comparison is false for NaN, so that it is replaced, too. */
static TS_VECTORIZED void scale_values(float *values, int64_t n, float scale)
{
    for (int64_t x = 0; x < n; x++) {
        const float value = values[x] * scale;
        values[x] = fabsf(value) < BILATERAL_FAR ? value : BILATERAL_FAR;
    }
}

/* Prepares row `row`, which may be outside the image, of slice `slice` of the window above output
 * slice z. */
static void load_line(const struct bilateral_window *window, const struct worker *worker, int64_t z,
                      int64_t slice, int64_t row)
{
    const enum ts_border border = (enum ts_border)params_of(window->context)->border;
    const int64_t from = ts_border_index(row, window->ny, border), radius = window->radius,
                  nx = window->nx;
    float *line = line_of(window, worker, slice, row), *plain = line + radius;
    memset(line, 0, (size_t)window->line * sizeof *line);
    if (from >= 0) {
        ts_load_f32(plain,
                    (const char *)ts_slice_data(window->in, z + slice) +
                        (size_t)(from * nx) * ts_dtype_bytes(window->in->dtype),
                    window->in->dtype, (size_t)nx);
        scale_values(plain, nx, window->scale);
        ts_valid_fill_floats(ts_slice_valid(window->in, z + slice), (size_t)(from * nx), (size_t)nx,
                             BILATERAL_FAR, plain);
    }
    for (int64_t x = from < 0 ? 0 : nx; x < nx; x++)
        plain[x] = window->constant;
    for (int64_t i = 0; i < 2 * radius; i++) {
        const int64_t at = i < radius ? i : i + nx, column = window->columns[at];
        line[at] = from < 0 || column < 0 ? window->constant : plain[column];
    }
}

/* Sets out to value + mean / scale, or to the value if it takes no part. `scaled` has the values as
 * load_line made them. */
static TS_VECTORIZED void finish_row(const float *values, const float *scaled, const float *means,
                                     int64_t n, float scale, float *out)
{
    const float inverse = 1 / scale;
    for (int64_t x = 0; x < n; x++)
        out[x] = scaled[x] != BILATERAL_FAR ? values[x] + means[x] * inverse : values[x];
}

/* Maps rows [first, end) of output slice z. */
static void map_rows(const struct bilateral_window *window, const struct worker *worker, int64_t z,
                     int64_t first, int64_t end)
{
    const float *lines[(2 * BILATERAL_MOST_RADIUS + 1) * (2 * BILATERAL_MOST_RADIUS + 1)];
    const int64_t radius = window->radius, nx = window->nx;
    for (int64_t row = first - radius; row < end + radius; row++) {
        for (int64_t slice = 0; slice < window->depth; slice++)
            load_line(window, worker, z, slice, row);
        const int64_t y = row - radius;
        if (y < first)
            continue;
        for (int64_t i = 0; i < window->n_lines; i++)
            lines[i] = line_of(window, worker, i / window->width, y - radius + i % window->width);
        TS_WIDEST(bilateral_line)(window, lines, nx, worker->means);
        ts_load_f32(worker->values,
                    (const char *)ts_slice_data(window->in, z + window->depth / 2) +
                        (size_t)(y * nx) * ts_dtype_bytes(window->in->dtype),
                    window->in->dtype, (size_t)nx);
        finish_row(worker->values, lines[window->n_lines / 2] + radius, worker->means, nx,
                   window->scale, (float *)ts_slice_data(window->out, z) + y * nx);
    }
}

static enum ts_status bilateral_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, void *scratch)
{
    const struct bilateral_params *params = params_of(context);
    struct bilateral_window window = bilateral_describe(context);
    struct worker sizes;
    const int64_t radius = window.radius, nz = out->axes[0].n,
                  chunks = (window.ny + CHUNK_ROWS - 1) / CHUNK_ROWS;
    const size_t shared = lay_out(&window, scratch), each = lay_out_worker(&window, &sizes, NULL);
    window.in = in;
    window.out = out;
    ts_border_fill(window.columns, -radius, window.nx + 2 * radius, window.nx,
                   (enum ts_border)params->border);
    ts_bilateral_exponents(params, window.exponents);
#pragma omp parallel num_threads(context->threads)
    {
        struct worker worker;
        lay_out_worker(&window, &worker,
                       (char *)scratch + shared + (size_t)omp_get_thread_num() * each);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < nz * chunks; i++) {
            const int64_t first = i % chunks * CHUNK_ROWS;
            map_rows(&window, &worker, i / chunks, first,
                     first + CHUNK_ROWS < window.ny ? first + CHUNK_ROWS : window.ny);
        }
    }
    return TS_OK;
}

const struct stage bilateral_stage = {
    .name = "bilateral",
    .summary = "mean weighted by distance and by difference of value: smooths, and keeps edges",
    .doc =
        "`out = sum of w in / sum of w` over the window around each pixel, with `w = exp(-d^2 / (2 "
        "sigma_spatial^2) - (in - c)^2 / (2 sigma_color^2))`, where d is the distance from the "
        "middle of the window in pixels and c the value there. Noise smaller than `sigma_color` is "
        "averaged; values beyond an edge have next to no weight. (C. Tomasi, R. Manduchi, "
        "*Bilateral filtering for gray and color images*, ICCV 1998.) The output is f32.\n"
        "\n"
        "Weights, radius and borders are meant as in `skimage.restoration.denoise_bilateral`, "
        "whose default border is constant. It takes the weights of differences from a table of "
        "10,000 `bins`; here an exponential is computed for every sample. The definition holds "
        "here, and versions 0.19.3 and 0.26.0 depart from it: in 0.19.3 weights of distance are "
        "those of a window one pixel too wide, and the table of differences is wrong where values "
        "are below 0; in 0.26.0 a single bright pixel spreads to its sides unevenly.\n"
        "\n"
        "A value that is NaN, infinite, or larger than 10^12 `sigma_color` keeps its value and has "
        "no part in those of others. Of a masked image, such as a CT with padding, the same holds "
        "for invalid pixels.\n"
        "\n"
        "**Cost.** (2 radius + 1)^2 exponentials a pixel, or with `dimensions: 3d` (2 radius + "
        "1)^3.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(bilateral_params, struct bilateral_params),
    .resolve = bilateral_resolve,
    .shape = bilateral_shape,
    .reach = bilateral_reach,
    .scratch_bytes = scratch_bytes,
    .map = bilateral_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(bilateral_cuda),
    .tolerance = {.relative = 3e-6,
                  .why = "differences are scaled and summed in f32, and means of values of both "
                         "signs are smaller than these"},
    .bench = "sigma_color=50|sigma_color=50 sigma_spatial=3|sigma_color=50 dimensions=3d",
};
