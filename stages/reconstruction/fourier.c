/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier: f(x, y) = sum over views and frequencies of the filtered spectrum of a sinogram's rows, by gridding
 * (stages/reconstruction/polar_grid.h); (z, view, detector) -> (z, y, x), f32. This file resolves the parameters and
 * works out the tables of views and frequencies that both devices use; stages/reconstruction/polar_slices.h does the
 * rest on the CPU. Two slices share one complex grid, and a halo of one slice brings a slice's partner wherever z is
 * cut.
 */
#include "stages/reconstruction/fourier.h"

#include <math.h>

#include "core/memory.h"
#include "stages/geometry/line_integrals.h"
#include "stages/projection/fbp.h"
#include "stages/reconstruction/polar_slices.h"
#include "stages/values/finite_values.h"

static enum ts_status fourier_resolve(const struct stage_context *context, void *values)
{
    struct reconstruction_params *params = values;
    const enum ts_status status = ts_fbp_resolve(context, params);
    if (status != TS_OK)
        return status;
    const int64_t rows = ts_polar_side(params->rows), columns = ts_polar_side(params->columns);
    if (rows > INT32_MAX / columns)
        return ts_param_error(context->set, "rows", "grid-too-large", context->diag,
                              "slices of %lld x %lld pixels need a grid of %lld x %lld, more than 2147483647 places",
                              (long long)params->rows, (long long)params->columns, (long long)rows, (long long)columns);
    return TS_OK;
}

static struct stage_reach fourier_reach(const struct stage_context *context)
{
    (void)context;
    return (struct stage_reach){.halo = 1, .border = BORDER_CONSTANT, .constant = 0};
}

/* Returns the last frequency whose factor is not 0. */
static int64_t highest(const struct reconstruction_params *params, int64_t padded)
{
    if (params->interpolation == FOURIER_LINEAR)
        return padded - 1;
    return params->filter == ROW_FILTER_NONE ? padded / 2 : (int64_t)ceil(0.5 * params->cutoff * (double)padded);
}

/* Returns the transform, at u cycles a sample, of the function that interpolates between the samples of a row. */
static double interpolation_at(int32_t interpolation, double u)
{
    if (interpolation == FOURIER_SINC)
        return u < 0.5 ? 1 : 0.5; /* once at u = -1/2, once at 1/2 */
    return u > 0 ? pow(sin(M_PI * u) / (M_PI * u), 2) : 1;
}

struct polar_grid ts_fourier_grid(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    const int64_t padded = ts_row_filter_padded(context->in.axes[2].n);
    return (struct polar_grid){.n_rows = params->rows,
                               .n_columns = params->columns,
                               .grid_rows = ts_polar_side(params->rows),
                               .grid_columns = ts_polar_side(params->columns),
                               .padded = padded,
                               .most = highest(params, padded),
                               .n_views = context->in.axes[1].n,
                               .n_detectors = context->in.axes[2].n};
}

/* A back_view gives the detector index at which a pixel lies; index / padded is the phase of frequency 1 there, in
 * turns. */
void ts_fourier_views(const struct stage_context *context, struct polar_view *views, void *scratch)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct back_view *back = scratch;
    const int64_t row = grid.n_rows / 2, column = grid.n_columns / 2;
    ts_reconstruction_views(context, back, back + grid.n_views);
    for (int64_t v = 0; v < grid.n_views; v++) {
        const double turns = 1 / (double)grid.padded,
                     middle = back[v].base + (double)row * back[v].per_row + (double)column * back[v].per_column;
        views[v] = (struct polar_view){.per_row = back[v].per_row * turns * (double)grid.grid_rows,
                                       .per_column = back[v].per_column * turns * (double)grid.grid_columns,
                                       .shift = middle * turns,
                                       .weight = back[v].scale};
    }
}

void ts_fourier_response(const struct stage_context *context, double *response)
{
    const struct reconstruction_params *params = context->params;
    const struct row_filter filter = ts_reconstruction_filter(context);
    const struct polar_grid grid = ts_fourier_grid(context);
    const double step = 1 / (double)grid.padded;
    for (int64_t k = 0; k <= grid.padded / 2; k++)
        response[k] = 1;
    if (filter.name != ROW_FILTER_NONE)
        ts_row_filter_response(&filter, response);
    for (int64_t k = grid.padded / 2 + 1; k <= grid.most; k++)
        response[k] = response[grid.padded - k];
    for (int64_t k = 0; k <= grid.most; k++)
        response[k] *= interpolation_at(params->interpolation, (double)k * step) * step;
}

/* ---- on the CPU ---------------------------------------------------------------------------------- */

static int fourier_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct polar_grid grid = ts_fourier_grid(context);
    return context->device ? 0 : ts_polar_slices_transforms(&grid, shapes);
}

/* These are the parts of the scratch of one call. */
struct scratch {
    struct polar_view *views;
    double *response;
    float *row_factors, *column_factors;
    void *step; /* of the views first, then of the slices */
};

static struct scratch lay_out(const struct stage_context *context, const struct polar_grid *grid,
                              struct memory_layout *layout)
{
    const size_t views = (size_t)grid->n_views * POLAR_VIEW_SCRATCH_BYTES,
                 slices = ts_polar_slices_scratch(context, grid);
    struct scratch scratch;
    scratch.views = ts_layout_add(layout, (size_t)grid->n_views * sizeof *scratch.views);
    scratch.response = ts_layout_add(layout, (size_t)(grid->padded + 2) * sizeof *scratch.response);
    scratch.row_factors = ts_layout_add(layout, (size_t)grid->n_rows * sizeof(float));
    scratch.column_factors = ts_layout_add(layout, (size_t)grid->n_columns * sizeof(float));
    scratch.step = ts_layout_add(layout, views > slices ? views : slices);
    return scratch;
}

static size_t fourier_scratch(const struct stage_context *context, int64_t n)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {0};
    (void)n;
    lay_out(context, &grid, &layout);
    return layout.bytes;
}

static enum ts_status fourier_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                  void *buffer)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {.base = buffer};
    const struct scratch scratch = lay_out(context, &grid, &layout);
    struct polar_scan scan = {.grid = grid,
                              .views = scratch.views,
                              .response = scratch.response,
                              .row_factors = scratch.row_factors,
                              .column_factors = scratch.column_factors};
    ts_fourier_views(context, scratch.views, scratch.step);
    ts_fourier_response(context, scratch.response);
    for (int i = 0; i < GRID_TERMS; i++)
        scan.kernel[i] = (float)ts_polar_kernel[i];
    ts_polar_apodization(grid.n_rows, grid.grid_rows, scratch.row_factors);
    ts_polar_apodization(grid.n_columns, grid.grid_columns, scratch.column_factors);
    ts_polar_slices(context, &scan, in, out, scratch.step);
    return TS_OK;
}

/* ---- table --------------------------------------------------------------------------------------- */

static const struct choice interpolations[] = {
    {"linear", FOURIER_LINEAR,
     "lines, as in `fbp`, but for what their corners hold beyond 1 cycle a detector pixel: sinc(u)^2 up to u = 1"},
    {"sinc", FOURIER_SINC, "1 up to u = 0.5: sharper and faster; ramp and shepp-logan leave waves beside edges"},
    {0},
};

static const struct param fourier_params[] = {
    FBP_PARAMS,
    PARAM(struct reconstruction_params, interpolation, .init.choice = FOURIER_LINEAR, .choices = interpolations,
          .unit = "",
          .doc = "what lies between two detector pixels: the spectrum of a filtered row, which repeats itself "
                 "beyond half a cycle a detector pixel, is multiplied with it"),
    VOLUME_PARAMS("the detector spacing"),
};

const struct stage fourier_stage = {
    .name = "fourier",
    .summary = "direct Fourier reconstruction of parallel beams: sinogram to volume",
    .doc =
        "The same integral as `fbp`'s, with its filters, weights, units and place of the volume, worked out along the "
        "frequencies:\n\n"
        "    f(x, y) = sum over views of weight / P * sum over k of G(k / P) H[k] Z[k] exp(2 pi i k (s / d + center) / "
        "P)\n\n"
        "with s = x cos(theta) + y sin(theta), Z the transform of a row padded with zeros to P samples, H the response "
        "that `filter` defines, both of which repeat themselves after P, and G the transform of what lies between two "
        "detector pixels, which `interpolation` chooses. These sums are a two-dimensional Fourier transform of points "
        "along the views' directions. They are spread over a grid twice as wide as the slice by a kernel of 5 x 5 "
        "places, the grid is transformed back, and the kernel's own transform divided out (J. D. O'Sullivan, IEEE "
        "Trans. Med. Imaging 4, 1985).\n\n"
        "Every place of the grid takes its points in the order of the views, so that the same input gives the same "
        "bytes. Two slices go through one complex grid, which rounds them together: a range of slices that begins at "
        "an "
        "odd slice of the input (`slices: [1, 4]`) differs from the same slices of the whole by about 1e-6 of the "
        "largest value, and one that begins at an even slice and ends before one has the same bytes. A value that is "
        "NaN or infinite would spoil its whole slice, "
        "and ends the run.\n\n"
        "`interpolation: linear` is that of `fbp` up to 1 cycle a detector pixel, where both sinc(u)^2 and the ramp's "
        "repetition are 0; the corners of its lines are rounded by what is left out. A disc of 1 comes back as 1 "
        "within 0.5 % at every pixel of its inner 80 %, as by `fbp` (docs/accuracy.md). `sinc` ends the spectrum in a "
        "circle at half a cycle: edges are sharper, and `ramp` and `shepp-logan` leave waves of two detector pixels, "
        "by which single pixels of a disc were off by 8 % at 63 detector pixels and 3 % at 513; `hamming`, `hann` and "
        "`parzen` damp them. Outside the circle that the detector covers, rows that are cut off show as in `fbp`, with "
        "what the filter leaves beyond their ends.\n\n"
        "Where one side of the rotation axis sees less than two thirds as much of the detector as the other, a warning "
        "has the radius of the circle that all views see: an object that reaches beyond it comes out wrong. `stitch` "
        "makes a scan of half a turn from such a whole turn of a parallel beam. Where an end of the rows sees more "
        "than "
        "a tenth of the most that is seen, a run warns as of `fbp` (`rows-cut-off`).\n\n"
        "Cost: 25 places of the grid for each point, of which a view has 2 P (`sinc` P, times the cutoff), and a "
        "transform of 4 times as many places as the slice has pixels: much less than `fbp` for slices of some hundred "
        "pixels and more. Up to 16 slices are in work at once, fewer where they are large.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL), TS_BEAM_BIT(TS_BEAM_PARALLEL)),
    .quantity_hints = LINE_INTEGRAL_HINTS,
    STAGE_PARAMS(fourier_params, struct reconstruction_params),
    .traits = TRAIT_ROWS_END_IN_AIR,
    .resolve = fourier_resolve,
    .shape = ts_fbp_shape,
    .reach = fourier_reach,
    .reduction = &ts_finite_reduction,
    .transforms = fourier_transforms,
    .scratch_bytes = fourier_scratch,
    .map = fourier_map,
    .cuda = STAGE_CUDA(fourier_cuda),
    .bench = "filter=ramp|filter=ramp interpolation=sinc",
    .tolerance = {.relative = 2e-4,
                  .why = "the kernel's transform lets through 6e-5 of what lies beyond the slice, as a root of mean "
                         "squares; a pixel where all of it meets may be off by twice as much and more"},
};
