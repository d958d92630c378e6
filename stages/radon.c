/* SPDX-License-Identifier: Apache-2.0
 *
 * radon: line integrals of every slice along parallel rays; (z, y, x) -> (z, view, detector), f32.
 * The rays and Joseph's interpolation are those of stages/common/parallel_beam.h.
 *
 * 16 slices travel together with their samples side by side (then 4, then 1), so that one index and one weight serve
 * 16 vectorized sums. The image is taken in blocks of a few rows or columns that stay in the second cache while every
 * view passes over them. Order of sums, fixed by the slice's size alone: within a block in rising major index from
 * 0, then the blocks in rising order. Indices and weights are computed in double and the weight rounded once.
 */
#include "stages/radon.h"

#include <omp.h>
#include <string.h>

#include "stages/common/parallel_beam.h"
#include "stages/common/slice_block.h"

enum {
    BLOCK_MAJOR = 16,  /* rows or columns of a block at most */
    DETECTOR_RUN = 64, /* detectors whose indices are worked out at once */
    ALIGNMENT = 64,
    STACK_FROM_SLICES = 16, /* fewer leave too many lanes of a CUDA device idle */
    SUM_BYTES = 8 << 20     /* of the sums that one thread has in work */
};

/* ---- parameters -------------------------------------------------------------------------------- */

static double spacing_of(const struct ts_axis *axis)
{
    return axis->spacing > 0 ? axis->spacing : 1;
}

/* value unit times length unit: 1/mm over mm is 1, HU over mm is HU mm. */
static void write_unit(const struct ts_image *in, char *out, size_t size)
{
    const char *value = in->unit ? in->unit : "", *length = in->axes[2].unit ? in->axes[2].unit : "mm";
    if (!strncmp(value, "1/", 2) && !strcmp(value + 2, length))
        snprintf(out, size, "1");
    else if (!*value || !strcmp(value, "1"))
        snprintf(out, size, "%s", length);
    else
        snprintf(out, size, "%s %s", value, length);
}

static enum ts_status resolve_views(const struct stage_context *context, struct radon_params *params)
{
    static const char *const even[] = {"views", "start", "arc"};
    if (!ts_param_given(context->set, "angles")) {
        if (!ts_param_given(context->set, "views"))
            params->views = 180;
        return TS_OK;
    }
    for (size_t i = 0; i < sizeof even / sizeof *even; i++)
        if (ts_param_given(context->set, even[i]))
            return ts_param_error(context->set, even[i], "angles-twice", context->diag,
                                  "the views are already listed by angles; give one of the two");
        else
            ts_param_idle(context->set, even[i]);
    if (params->angles.rows != 1 || params->angles.columns < 1)
        return ts_param_error(context->set, "angles", "angles-shape", context->diag,
                              "%lld rows of %lld numbers, expected one list of at least one angle",
                              (long long)params->angles.rows, (long long)params->angles.columns);
    params->views = params->angles.columns;
    return TS_OK;
}

static enum ts_status radon_resolve(const struct stage_context *context, void *values)
{
    struct radon_params *params = values;
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    const double dy = spacing_of(y), dx = spacing_of(x);
    const enum ts_status status = resolve_views(context, params);
    if (status != TS_OK)
        return status;
    if (!ts_param_given(context->set, "detector_spacing"))
        params->detector_spacing = dy < dx ? dy : dx;
    if (!ts_param_given(context->set, "detectors")) {
        const double n = ceil(hypot((double)y->n * dy, (double)x->n * dx) / params->detector_spacing);
        if (!(n <= 1 << 20))
            return ts_param_error(context->set, "detectors", "too-many-detectors", context->diag,
                                  "covering the diagonal takes %.0f detectors, more than 1048576", n);
        params->detectors = (int64_t)n;
    }
    if (!ts_param_given(context->set, "center"))
        params->center = 0.5 * (double)(params->detectors - 1);
    if (params->method == RADON_AUTO)
        params->method = !context->device                            ? RADON_JOSEPH
                         : context->in.axes[0].n < STACK_FROM_SLICES ? RADON_RAY
                                                                     : RADON_STACK;
    write_unit(&context->in, params->unit, sizeof params->unit);
    return TS_OK;
}

static enum ts_status radon_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct radon_params *params = context->params;
    const struct ts_image *in = &context->in;
    const double half_y = 0.5 * (double)(in->axes[1].n - 1) * in->axes[1].spacing,
                 half_x = 0.5 * (double)(in->axes[2].n - 1) * in->axes[2].spacing;
    /* A sinogram's origin is the rotation center of its first slice. */
    for (int i = 0; i < 3; i++)
        out->origin_mm[i] += half_x * in->direction[i] + half_y * in->direction[3 + i];
    out->axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW, .n = params->views, .unit = "degree"};
    if (params->angles.values) {
        out->axes[1].positions = params->angles.values;
    } else {
        out->axes[1].first = params->start;
        out->axes[1].spacing = params->arc / (double)params->views;
    }
    out->axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                    .n = params->detectors,
                                    .spacing = params->detector_spacing,
                                    .first = -params->center * params->detector_spacing,
                                    .unit = in->axes[2].unit};
    out->dtype = TS_F32;
    out->quantity = TS_LINE_INTEGRAL;
    out->unit = params->unit;
    return TS_OK;
}

struct beam_view ts_radon_view(const struct stage_context *context, int64_t v)
{
    const struct radon_params *params = context->params;
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    const struct beam_geometry geometry = {.n_rows = y->n,
                                           .n_columns = x->n,
                                           .row_spacing = spacing_of(y),
                                           .column_spacing = spacing_of(x),
                                           .n_detectors = params->detectors,
                                           .detector_spacing = params->detector_spacing,
                                           .center = params->center};
    return ts_beam_view(&geometry, params->angles.values
                                       ? params->angles.values[v]
                                       : params->start + (double)v * params->arc / (double)params->views);
}

/* ---- how the work is cut ----------------------------------------------------------------------- */

/* What every part of the work needs to know. */
struct projection {
    const struct ts_image *in;
    struct ts_image *out;
    const struct beam_view *views;
    int64_t n_views, n_detectors, n_rows, n_columns;
};

/* Fixed by the image alone, because it fixes the order of sums. */
static int64_t block_major(int64_t n_minor)
{
    return n_minor <= 512 ? BLOCK_MAJOR : n_minor <= 1024 ? BLOCK_MAJOR / 2 : BLOCK_MAJOR / 4;
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t block_bytes(int64_t n_minor)
{
    return rounded((size_t)(block_major(n_minor) * (n_minor + 2 * BLOCK_MARGIN)) * BLOCK_LANES * sizeof(float));
}

static size_t largest_block(int64_t n_rows, int64_t n_columns)
{
    const size_t a = block_bytes(n_rows), b = block_bytes(n_columns);
    return a > b ? a : b;
}

/* Views whose sums fit the room of one thread. */
static int64_t views_at_once(int64_t n_detectors, int lanes)
{
    const int64_t n = SUM_BYTES / (n_detectors * lanes * (int64_t)sizeof(float));
    return n > 1 ? n : 1;
}

static size_t sum_bytes(int64_t n_detectors)
{
    const size_t one_view = (size_t)n_detectors * BLOCK_LANES * sizeof(float);
    return rounded(one_view > SUM_BYTES ? one_view : SUM_BYTES);
}

static size_t radon_scratch(const struct stage_context *context, int64_t n)
{
    const struct radon_params *params = context->params;
    (void)n;
    return rounded((size_t)params->views * sizeof(struct beam_view)) +
           (size_t)context->threads *
               (sum_bytes(params->detectors) + largest_block(context->in.axes[1].n, context->in.axes[2].n));
}

/* ---- projecting -------------------------------------------------------------------------------- */

/* Where the rays of a run of detectors cross the lines of a block: sample index within the block, and weight of the
 * next. */
struct crossings {
    int32_t index[BLOCK_MAJOR][DETECTOR_RUN];
    float weight[BLOCK_MAJOR][DETECTOR_RUN];
};

static inline __attribute__((always_inline)) void find_crossings(const struct beam_view *view,
                                                                 const struct slice_block *block, int64_t first,
                                                                 int64_t n, struct crossings *crossings)
{
    const double low = -BLOCK_MARGIN, high = (double)block->n_minor;
    double along[DETECTOR_RUN];
    for (int64_t d = 0; d < n; d++)
        along[d] = (double)(int32_t)(first + d) * view->per_detector;
    for (int64_t m = 0; m < block->n_major; m++) {
        const double start = view->base + (double)(block->m_first + m) * view->per_major;
        const double a = start + along[0], b = start + along[n - 1];
        const bool inside = fmin(a, b) >= low && fmax(a, b) <= high;
        const int32_t line = (int32_t)(m * block->stride);
        for (int64_t d = 0; d < n; d++) {
            double at = start + along[d];
            if (!inside) /* decided once for the run */
                at = at < low ? low : at > high ? high : at;
            const int32_t below = (int32_t)(at + BLOCK_MARGIN); /* of a positive number: floor */
            crossings->index[m][d] = line + below;
            crossings->weight[m][d] = (float)(at + BLOCK_MARGIN - (double)below);
        }
    }
}

/* Detectors [*first, *end) that a block's lines can show anything to. */
static void seen_detectors(const struct beam_view *view, const struct slice_block *block, int64_t n_detectors,
                           int64_t *first, int64_t *end)
{
    double low = INFINITY, high = -INFINITY;
    for (int side = 0; side < 2; side++) {
        const double start = view->base + (double)(block->m_first + side * (block->n_major - 1)) * view->per_major;
        const double a = (-1 - start) / view->per_detector, b = ((double)block->n_minor - start) / view->per_detector;
        low = fmin(low, fmin(a, b));
        high = fmax(high, fmax(a, b));
    }
    /* One more on both sides against rounding: what lies outside adds 0. */
    *first = low - 1 > 0 ? (int64_t)fmin(low - 1, (double)n_detectors) : 0;
    *end = high + 2 < (double)n_detectors ? (int64_t)fmax(high + 2, 0) : n_detectors;
}

/* One sample of every lane; the compiler splits it where the processor's vectors are shorter. */
typedef float lanes_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float lanes_4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Each function adds a block's share to the sums of n detectors, in the same order of operations. */
static inline __attribute__((always_inline)) void add_run_16(const struct slice_block *block,
                                                             const struct crossings *crossings, int64_t n, float *sums)
{
    for (int64_t d = 0; d < n; d++) {
        lanes_16 partial = {0};
        for (int64_t m = 0; m < block->n_major; m++) {
            const lanes_16 *pixel = (const lanes_16 *)block->data + crossings->index[m][d];
            partial += pixel[0] + crossings->weight[m][d] * (pixel[1] - pixel[0]);
        }
        ((lanes_16 *)sums)[d] += partial;
    }
}

static inline __attribute__((always_inline)) void add_run_4(const struct slice_block *block,
                                                            const struct crossings *crossings, int64_t n, float *sums)
{
    for (int64_t d = 0; d < n; d++) {
        lanes_4 partial = {0};
        for (int64_t m = 0; m < block->n_major; m++) {
            const lanes_4 *pixel = (const lanes_4 *)block->data + crossings->index[m][d];
            partial += pixel[0] + crossings->weight[m][d] * (pixel[1] - pixel[0]);
        }
        ((lanes_4 *)sums)[d] += partial;
    }
}

/* The loops exchanged, to vectorize over detectors. A sample and its neighbor are loaded as one pair. n counts up to
 * the next multiple of 4. */
static inline __attribute__((always_inline)) void add_run_1(const struct slice_block *block,
                                                            const struct crossings *crossings, int64_t n, float *sums)
{
    typedef double loads __attribute__((vector_size(16)));
    lanes_4 partial[DETECTOR_RUN / 4] = {{0}};
    for (int64_t m = 0; m < block->n_major; m++) {
        const lanes_4 *weights = (const lanes_4 *)crossings->weight[m];
        for (int64_t k = 0; k < (n + 3) / 4; k++) {
            double pair[4];
            for (int i = 0; i < 4; i++)
                memcpy(&pair[i], block->data + crossings->index[m][4 * k + i], sizeof pair[i]);
            const lanes_4 left = (lanes_4)(loads){pair[0], pair[1]}, right = (lanes_4)(loads){pair[2], pair[3]};
            const lanes_4 below = __builtin_shufflevector(left, right, 0, 2, 4, 6);
            const lanes_4 above = __builtin_shufflevector(left, right, 1, 3, 5, 7);
            partial[k] += below + weights[k] * (above - below);
        }
    }
    for (int64_t d = 0; d < n; d++)
        sums[d] += partial[d / 4][d % 4];
}

static inline __attribute__((always_inline)) void add_block(const struct beam_view *views, int64_t n_views,
                                                            int64_t n_detectors, const struct slice_block *block,
                                                            float *sums, const int lanes)
{
    struct crossings crossings;
    for (int64_t v = 0; v < n_views; v++) {
        int64_t first, end;
        if (views[v].along_rows != block->along_rows)
            continue;
        seen_detectors(&views[v], block, n_detectors, &first, &end);
        for (int64_t d = first; d < end; d += DETECTOR_RUN) {
            const int64_t n = end - d < DETECTOR_RUN ? end - d : DETECTOR_RUN;
            float *to = sums + (v * n_detectors + d) * lanes;
            find_crossings(&views[v], block, d, (n + 3) / 4 * 4, &crossings);
            if (lanes == 16)
                add_run_16(block, &crossings, n, to);
            else if (lanes == 4)
                add_run_4(block, &crossings, n, to);
            else
                add_run_1(block, &crossings, n, to);
        }
    }
}

TS_VECTORIZED static void add_block_16(const struct beam_view *views, int64_t n_views, int64_t n_detectors,
                                       const struct slice_block *block, float *sums)
{
    add_block(views, n_views, n_detectors, block, sums, 16);
}

TS_VECTORIZED static void add_block_4(const struct beam_view *views, int64_t n_views, int64_t n_detectors,
                                      const struct slice_block *block, float *sums)
{
    add_block(views, n_views, n_detectors, block, sums, 4);
}

TS_VECTORIZED static void add_block_1(const struct beam_view *views, int64_t n_views, int64_t n_detectors,
                                      const struct slice_block *block, float *sums)
{
    add_block(views, n_views, n_detectors, block, sums, 1);
}

/* Views [first, first + n) of `lanes` slices from z on. */
static void project_views(const struct projection *projection, int64_t z, int lanes, int64_t first, int64_t n,
                          float *sums, float *room)
{
    const struct beam_view *views = projection->views + first;
    const int64_t n_detectors = projection->n_detectors;
    memset(sums, 0, (size_t)(n * n_detectors * lanes) * sizeof(float));
    for (int along_rows = 0; along_rows < 2; along_rows++) {
        const int64_t n_major = along_rows ? projection->n_rows : projection->n_columns;
        const int64_t n_minor = along_rows ? projection->n_columns : projection->n_rows;
        const int64_t height = block_major(n_minor);
        bool needed = false;
        for (int64_t v = 0; v < n; v++)
            needed |= views[v].along_rows == (along_rows == 1);
        for (int64_t m = 0; needed && m < n_major; m += height) {
            struct slice_block block = {.data = room,
                                        .along_rows = along_rows == 1,
                                        .m_first = m,
                                        .n_major = n_major - m < height ? n_major - m : height,
                                        .n_minor = n_minor,
                                        .stride = n_minor + 2 * BLOCK_MARGIN};
            ts_slice_block_fill(projection->in, z, lanes, &block);
            (lanes == 16 ? add_block_16 : lanes == 4 ? add_block_4 : add_block_1)(views, n, n_detectors, &block, sums);
        }
    }
    float *out = projection->out->data;
    for (int lane = 0; lane < lanes; lane++)
        for (int64_t v = 0; v < n; v++) {
            float *to = out + ((z + lane) * projection->n_views + first + v) * n_detectors;
            const float *from = sums + v * n_detectors * lanes + lane, length = (float)views[v].length_mm;
            for (int64_t d = 0; d < n_detectors; d++)
                to[d] = from[d * lanes] * length;
        }
}

static int lanes_for(int64_t slices_left)
{
    return slices_left >= 16 ? 16 : slices_left >= 4 ? 4 : 1;
}

static enum ts_status radon_cpu(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                void *scratch)
{
    const struct radon_params *params = context->params;
    const struct projection projection = {.in = in,
                                          .out = out,
                                          .views = scratch,
                                          .n_views = params->views,
                                          .n_detectors = params->detectors,
                                          .n_rows = in->axes[1].n,
                                          .n_columns = in->axes[2].n};
    const int64_t nz = out->axes[0].n, n_views = params->views;
    struct beam_view *views = scratch;
    for (int64_t v = 0; v < n_views; v++)
        views[v] = ts_radon_view(context, v);
    unsigned char *rooms = (unsigned char *)scratch + rounded((size_t)n_views * sizeof *views);
    const size_t sums = sum_bytes(params->detectors),
                 room = sums + largest_block(projection.n_rows, projection.n_columns);
    for (int64_t z = 0; z < nz;) {
        /* All full groups of one width, then the next width. */
        const int lanes = lanes_for(nz - z);
        const int64_t groups = (nz - z) / lanes, most = views_at_once(params->detectors, lanes);
        const int64_t wanted = (n_views + most - 1) / most, spread = (2 * context->threads + groups - 1) / groups;
        const int64_t parts = context->threads > 1 && spread > wanted ? (spread < n_views ? spread : n_views) : wanted;
#pragma omp parallel for schedule(dynamic) num_threads(context->threads)
        for (int64_t task = 0; task < groups * parts; task++) {
            const int64_t group = task / parts, part = task % parts;
            const int64_t first = n_views * part / parts, end = n_views * (part + 1) / parts;
            unsigned char *own = rooms + (size_t)omp_get_thread_num() * room;
            project_views(&projection, z + group * lanes, lanes, first, end - first, (float *)own,
                          (float *)(own + sums));
        }
        z += groups * lanes;
    }
    return TS_OK;
}

/* ---- table ------------------------------------------------------------------------------------- */

static const struct choice method_choices[] = {
    {"auto", RADON_AUTO, "the fastest one on the device that runs it"},
    {"joseph", RADON_JOSEPH, "16 slices side by side; rows or columns in blocks that stay in the cache", ON_CPU},
    {"row-fan-in", RADON_ROW_FAN_IN,
     "each block projects 32 rows or columns into a vector of all detectors, the vectors are summed by halving",
     ON_CUDA},
    {"ray", RADON_RAY, "one thread walks along each ray", ON_CUDA},
    {"stack", RADON_STACK, "128 slices side by side, 4 rays a thread share their pixels", ON_CUDA},
    {0},
};

static const struct param radon_rows[] = {
    PARAM(struct radon_params, views, .unit = "", .min = 1, .max = 1 << 20, .derived = "the number of angles, else 180",
          .doc = "number of projection angles, evenly over the arc"),
    PARAM(struct radon_params, start, .unit = "degree", .init.r = 0, .min = -360, .max = 360,
          .doc = "angle of the first view"),
    PARAM(struct radon_params, arc, .unit = "degree", .init.r = 180, .min = -3600, .max = 3600,
          .doc = "range of the angles, its end not included: view i is at start + i * arc / views"),
    PARAM(struct radon_params, angles, .unit = "degree", .optional = true, .min = -36000, .max = 36000,
          .doc = "the angles one by one, in place of views, start and arc"),
    PARAM(struct radon_params, detectors, .unit = "", .min = 1, .max = 1 << 20,
          .derived = "ceil(diagonal of the slice / detector_spacing)", .doc = "number of detector samples"),
    PARAM(struct radon_params, detector_spacing, .unit = "mm", .min = 1e-6, .max = 1e6,
          .derived = "the smaller pixel spacing", .doc = "distance of neighboring detector samples"),
    PARAM(struct radon_params, center, .unit = "detector", .min = -1e6, .max = 2e6, .derived = "(detectors - 1) / 2",
          .doc = "detector index of the rotation axis, which is also the center of the slice"),
    PARAM(struct radon_params, method, .init.choice = RADON_AUTO, .choices = method_choices, .unit = "",
          .doc = "how the same sums over pixels are worked out"),
};

const struct stage radon_stage = {
    .name = "radon",
    .summary = "parallel-beam projections of every slice: volume to sinogram",
    .doc =
        "Integrates each slice along the rays `x cos(theta) + y sin(theta) = s`, with x along rising columns, y along "
        "falling rows, both in mm from the center of the slice, pixel `((ny - 1) / 2, (nx - 1) / 2)`. Detector d "
        "stands "
        "at `s = (d - center) * detector_spacing`. The result is (z, view, detector) in the value's unit times mm: "
        "attenuation in 1/mm gives a plain number, HU give HU mm. Non-square slices and pixels are followed in mm.\n\n"
        "Joseph's method (P. M. Joseph, IEEE Trans. Med. Imaging 1, 1982): along a ray closer to the columns' "
        "direction, one sample "
        "in every row, interpolated linearly between two columns; along others one in every column. Outside the "
        "slice is 0. The sum is multiplied by the length of ray between two samples. The same weights, transposed, "
        "make the exact "
        "adjoint. A pixel that is NaN or infinite reaches every ray that it is a neighbor of.\n\n"
        "scikit-image's `radon` has its rotation center at pixel n // 2 in place of (n - 1) / 2, gives sums per pixel "
        "length in place of mm, and lays its sinogram out as (detector, view); its angles turn the same way.\n\n"
        "Cost: one interpolation for each view, detector and row.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_QUANTITY_BIT(TS_ATTENUATION) | TS_QUANTITY_BIT(TS_HU) | TS_QUANTITY_BIT(TS_INTENSITY),
    .params = radon_rows,
    .n_params = sizeof radon_rows / sizeof *radon_rows,
    .params_bytes = sizeof(struct radon_params),
    .resolve = radon_resolve,
    .shape = radon_shape,
    .scratch_bytes = radon_scratch,
    .cpu = radon_cpu,
    .cuda = STAGE_CUDA(radon_cuda),
    .bench = "views=720 detectors=512",
    .tolerance = {.relative = 1e-5,
                  .why = "weights are rounded once to float and up to some thousand products summed in float"},
};
