/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier: f(x, y) = sum over views and frequencies of the filtered spectrum of a sinogram's rows, by gridding
 * (stages/common/polar_grid.h); (z, view, detector) -> (z, y, x), f32.
 *
 * Two slices, 2 p and 2 p + 1, travel as real and imaginary part. Each is first multiplied by a power of two that
 * brings its largest magnitude into [1, 2), so that rounding of one stays small in the other. Order of sums at a place
 * of the grid: views rising, then frequencies, whatever the threads and however z is cut; a slice's partner comes with
 * the halo.
 */
#include "stages/fourier.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/common/polar_fill.h"

enum {
    ALIGNMENT = 64,
    STRIP = 32,  /* rows of the grid that one thread fills at once */
    COLUMNS = 16 /* columns transformed side by side */
};

enum { ROWS_FFT, ACROSS_FFT, DOWN_FFT };

static enum ts_status fourier_resolve(const struct stage_context *context, void *values)
{
    struct reconstruction_params *params = values;
    params->model = BACK_LINEAR;
    params->weights = VIEW_WEIGHTS_ANGLES;
    if (params->filter == ROW_FILTER_NONE) {
        ts_param_idle(context->set, "cutoff");
        snprintf(params->unit, sizeof params->unit, "%s", context->in.unit ? context->in.unit : "");
    } else {
        ts_unit_per_length(context->in.unit, context->in.axes[2].unit, params->unit);
    }
    const enum ts_status status = ts_reconstruction_resolve(context, params);
    if (status != TS_OK)
        return status;
    const int64_t rows = ts_polar_side(params->rows), columns = ts_polar_side(params->columns);
    if (rows > INT32_MAX / columns)
        return ts_param_error(context->set, "rows", "grid-too-large", context->diag,
                              "slices of %lld x %lld pixels need a grid of %lld x %lld, more than 2147483647 places",
                              (long long)params->rows, (long long)params->columns, (long long)rows, (long long)columns);
    return TS_OK;
}

static enum ts_status fourier_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct reconstruction_params *params = context->params;
    ts_reconstruction_shape(context, out);
    out->unit = params->unit;
    out->quantity = params->filter == ROW_FILTER_NONE ? TS_INTENSITY : ts_unit_quantity(params->unit);
    return TS_OK;
}

static struct stage_reach fourier_reach(const struct stage_context *context)
{
    (void)context;
    return (struct stage_reach){.halo = 1, .border = BORDER_CONSTANT, .constant = 0};
}

struct polar_grid ts_fourier_grid(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    return (struct polar_grid){.n_rows = params->rows,
                               .n_columns = params->columns,
                               .grid_rows = ts_polar_side(params->rows),
                               .grid_columns = ts_polar_side(params->columns),
                               .padded = ts_row_filter_padded(context->in.axes[2].n),
                               .n_views = context->in.axes[1].n,
                               .n_detectors = context->in.axes[2].n};
}

/* back_view places pixel (0, 0) at detector `base`: its phase there, and steps from pixel to pixel, per k and turn. */
void ts_fourier_views(const struct stage_context *context, struct polar_view *views, void *room)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct back_view *back = room;
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
    const struct row_filter filter = ts_reconstruction_filter(context);
    const int64_t padded = ts_row_filter_padded(filter.n);
    if (filter.name != ROW_FILTER_NONE)
        ts_row_filter_response(&filter, response);
    for (int64_t k = 0; k <= padded / 2; k++)
        response[k] = (filter.name == ROW_FILTER_NONE ? 1 : response[k]) / (double)padded;
    response[padded / 2] *= 0.5; /* once at k = -padded / 2, once at padded / 2 */
}

/* ---- memory ------------------------------------------------------------------------------------ */

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* What one call works with, one after the other in its scratch. */
struct work {
    const struct stage_context *context;
    struct polar_grid grid;
    struct polar_view *views;
    double *response;
    float kernel[GRID_TERMS];
    float *row_factors, *column_factors; /* that undo the kernel */
    polar_pair *spectrum;                /* [view][padded + 1], k = -padded / 2 first */
    polar_pair *places;                  /* [row][column] of the grid */
    unsigned char *rooms;
    size_t room; /* bytes of one thread */
    float scale[2];
    bool finite[2];
};

static size_t largest_fft_work(const struct fft_shape shapes[3])
{
    size_t largest = 0;
    for (int i = 0; i < 3; i++)
        if (ts_fft_work_bytes(&shapes[i]) > largest)
            largest = ts_fft_work_bytes(&shapes[i]);
    return rounded(largest);
}

static void shapes_of(const struct polar_grid *grid, struct fft_shape shapes[3])
{
    const int64_t n[] = {grid->padded, grid->grid_columns, grid->grid_rows};
    for (int i = 0; i < 3; i++)
        shapes[i] = (struct fft_shape){.rank = 1, .n = {n[i]}, .batch = 1};
}

static int fourier_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct polar_grid grid = ts_fourier_grid(context);
    if (context->device)
        return 0;
    shapes_of(&grid, shapes);
    return 3;
}

/* Returns the bytes; work NULL only counts. */
static size_t lay_out(const struct stage_context *context, unsigned char *scratch, struct work *work)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct fft_shape shapes[3];
    shapes_of(&grid, shapes);
    const size_t line = (size_t)(grid.padded > COLUMNS * grid.grid_rows ? grid.padded : COLUMNS * grid.grid_rows);
    const size_t room = rounded(line * sizeof(polar_pair)) + largest_fft_work(shapes);
    const size_t parts[] = {(size_t)grid.n_views * sizeof(struct polar_view),
                            (size_t)(grid.padded + 2) * sizeof(double),
                            (size_t)grid.n_rows * sizeof(float),
                            (size_t)grid.n_columns * sizeof(float),
                            (size_t)(grid.n_views * (grid.padded + 1)) * sizeof(polar_pair),
                            (size_t)(grid.grid_rows * grid.grid_columns) * sizeof(polar_pair),
                            (size_t)context->threads * room};
    size_t at[7], bytes = 0;
    for (int i = 0; i < 7; i++) {
        at[i] = bytes;
        bytes += rounded(parts[i]);
    }
    const size_t views_room = (size_t)grid.n_views * POLAR_VIEW_ROOM_BYTES; /* in the places' */
    if (work)
        *work = (struct work){.context = context,
                              .grid = grid,
                              .views = (struct polar_view *)(scratch + at[0]),
                              .response = (double *)(scratch + at[1]),
                              .row_factors = (float *)(scratch + at[2]),
                              .column_factors = (float *)(scratch + at[3]),
                              .spectrum = (polar_pair *)(scratch + at[4]),
                              .places = (polar_pair *)(scratch + at[5]),
                              .rooms = scratch + at[6],
                              .room = room};
    return bytes > at[4] + views_room ? bytes : at[4] + views_room;
}

static size_t fourier_scratch(const struct stage_context *context, int64_t n)
{
    (void)n;
    return lay_out(context, NULL, NULL);
}

/* ---- rows to points of the polar grid ------------------------------------------------------------ */

/* The largest magnitude of a slice decides its scale; *finite: it holds no NaN and no infinity. */
static void look_at(const struct ts_image *in, int64_t slice, float *scale, bool *finite)
{
    const size_t n = ts_slice_count(in), bytes = ts_dtype_bytes(in->dtype);
    const char *from = (const char *)in->data + (size_t)slice * n * bytes;
    float largest = 0, values[256];
    *finite = true;
    for (size_t i = 0; i < n; i += 256) {
        const size_t some = n - i < 256 ? n - i : 256;
        ts_load_f32(values, from + i * bytes, in->dtype, some);
        for (size_t k = 0; k < some; k++) {
            *finite &= fabsf(values[k]) <= 3.402823466e38f;
            largest = fabsf(values[k]) > largest ? fabsf(values[k]) : largest;
        }
    }
    int exponent = 0;
    if (*finite && largest > 0)
        frexpf(largest, &exponent);
    /* What is that small stays small: the scale must be a float, and its inverse too. */
    exponent = exponent < -124 ? -124 : exponent > 124 ? 124 : exponent;
    *scale = ldexpf(1, -exponent);
}

static void load_row(const struct work *work, const struct ts_image *in, const int64_t slices[2], int64_t view,
                     float *pairs)
{
    const int64_t n = work->grid.n_detectors;
    const size_t bytes = ts_dtype_bytes(in->dtype);
    float values[256];
    memset(pairs, 0, (size_t)work->grid.padded * sizeof(polar_pair));
    for (int part = 0; part < 2; part++) {
        const char *row = (const char *)in->data + (size_t)((slices[part] * work->grid.n_views + view) * n) * bytes;
        for (int64_t i = 0; work->finite[part] && i < n; i += 256) {
            const int64_t some = n - i < 256 ? n - i : 256;
            ts_load_f32(values, row + (size_t)i * bytes, in->dtype, (size_t)some);
            for (int64_t k = 0; k < some; k++)
                pairs[2 * (i + k) + part] = values[k] * work->scale[part];
        }
    }
}

/* C[view][k]: the spectrum of a row times response, weight and phase. */
static void make_points(const struct work *work, int64_t view, const polar_pair *pairs)
{
    const int64_t padded = work->grid.padded, half = padded / 2;
    const struct polar_view *at = &work->views[view];
    polar_pair *points = work->spectrum + view * (padded + 1) + half;
    for (int64_t k = 0; k <= half; k++) {
        const double turns = (double)k * at->shift, angle = 2 * M_PI * (turns - floor(turns)),
                     factor = work->response[k] * at->weight;
        const float c = (float)(factor * cos(angle)), s = (float)(factor * sin(angle));
        const polar_pair up = pairs[k % padded], down = pairs[(padded - k) % padded];
        points[k] = (polar_pair){up[0] * c - up[1] * s, up[1] * c + up[0] * s};
        points[-k] = (polar_pair){down[0] * c + down[1] * s, down[1] * c - down[0] * s};
    }
}

/* ---- back to the slice --------------------------------------------------------------------------- */

/* Columns [first, first + n) of the slices, out of rows that are transformed already; row r of the slice is sample
 * r - n_rows / 2 of the grid, which repeats itself. */
static void finish_columns(const struct work *work, int64_t first, int64_t n, float *const out[2], float *room,
                           void *fft_work)
{
    const struct polar_grid *grid = &work->grid;
    polar_pair *lines = (polar_pair *)room;
    for (int64_t row = 0; row < grid->grid_rows; row++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t column = first + i - grid->n_columns / 2;
            lines[i * grid->grid_rows + row] =
                work->places[row * grid->grid_columns + (column < 0 ? column + grid->grid_columns : column)];
        }
    for (int64_t i = 0; i < n; i++) {
        float *line = (float *)(lines + i * grid->grid_rows);
        ts_fft_inverse(work->context->transforms[DOWN_FFT], line, line, fft_work);
    }
    for (int part = 0; part < 2; part++) {
        const float back = 1 / work->scale[part];
        for (int64_t row = 0; out[part] && row < grid->n_rows; row++) {
            const int64_t at = row - grid->n_rows / 2;
            for (int64_t i = 0; i < n; i++) {
                const polar_pair value = lines[i * grid->grid_rows + (at < 0 ? at + grid->grid_rows : at)];
                out[part][row * grid->n_columns + first + i] =
                    work->finite[part] ? value[part] * (work->row_factors[row] * work->column_factors[first + i]) * back
                                       : NAN;
            }
        }
    }
}

/* Slices of the input, to slices of the output or nowhere. */
static void reconstruct(struct work *work, const struct ts_image *in, const int64_t slices[2], float *const out[2])
{
    const struct polar_grid *grid = &work->grid;
    const int threads = work->context->threads;
    struct fft *const *ffts = work->context->transforms;
    struct polar_points points = {
        .grid = *grid, .views = work->views, .points = work->spectrum, .places = work->places};
    memcpy(points.kernel, work->kernel, sizeof points.kernel);
    for (int part = 0; part < 2; part++)
        look_at(in, slices[part], &work->scale[part], &work->finite[part]);
#pragma omp parallel num_threads(threads)
    {
        float *room = (float *)(work->rooms + (size_t)omp_get_thread_num() * work->room);
        const size_t line =
            (size_t)(grid->padded > COLUMNS * grid->grid_rows ? grid->padded : COLUMNS * grid->grid_rows);
        void *fft_work = (unsigned char *)room + rounded(line * sizeof(polar_pair));
#pragma omp for schedule(dynamic)
        for (int64_t view = 0; view < grid->n_views; view++) {
            load_row(work, in, slices, view, room);
            ts_fft_forward(ffts[ROWS_FFT], room, room, fft_work);
            make_points(work, view, (const polar_pair *)room);
        }
#pragma omp for schedule(dynamic)
        for (int64_t row = 0; row < grid->grid_rows; row += STRIP)
            ts_polar_fill(&points, row, row + STRIP < grid->grid_rows ? row + STRIP : grid->grid_rows);
#pragma omp for schedule(dynamic, 8)
        for (int64_t row = 0; row < grid->grid_rows; row++) {
            float *places = (float *)(work->places + row * grid->grid_columns);
            memcpy(room, places, (size_t)grid->grid_columns * sizeof(polar_pair)); /* on a 64-byte boundary */
            ts_fft_inverse(ffts[ACROSS_FFT], room, room, fft_work);
            memcpy(places, room, (size_t)grid->grid_columns * sizeof(polar_pair));
        }
#pragma omp for schedule(dynamic)
        for (int64_t column = 0; column < grid->n_columns; column += COLUMNS)
            finish_columns(work, column, column + COLUMNS < grid->n_columns ? COLUMNS : grid->n_columns - column, out,
                           room, fft_work);
    }
}

static enum ts_status fourier_cpu(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                  void *scratch)
{
    struct work work;
    double terms[GRID_TERMS];
    const int64_t z_first = out->z_first, z_end = z_first + out->axes[0].n;
    const size_t slice = (size_t)(out->axes[1].n * out->axes[2].n);
    lay_out(context, scratch, &work);
    ts_fourier_views(context, work.views, work.spectrum);
    ts_fourier_response(context, work.response);
    ts_polar_kernel(terms);
    for (int i = 0; i < GRID_TERMS; i++)
        work.kernel[i] = (float)terms[i];
    ts_polar_apodization(terms, work.grid.n_rows, work.grid.grid_rows, work.row_factors);
    ts_polar_apodization(terms, work.grid.n_columns, work.grid.grid_columns, work.column_factors);
    for (int64_t z = z_first / 2 * 2; z < z_end; z += 2) {
        float *to[2];
        for (int part = 0; part < 2; part++)
            to[part] = z + part >= z_first && z + part < z_end
                           ? (float *)out->data + (size_t)(z + part - z_first) * slice
                           : NULL;
        const int64_t slices[2] = {z - z_first + 1, z - z_first + 2}; /* 1: the halo */
        reconstruct(&work, in, slices, to);
    }
    return TS_OK;
}

/* ---- table --------------------------------------------------------------------------------------- */

static const struct param fourier_rows[] = {
    PARAM(struct reconstruction_params, filter, .init.choice = ROW_FILTER_RAMP, .choices = ts_row_filter_choices,
          .unit = "", .doc = "the ramp and the window that damps its high frequencies"),
    PARAM(struct reconstruction_params, cutoff, .unit = "1", .init.r = 1, .min = 0.001, .max = 1,
          .doc = "fraction of the Nyquist frequency from which on all is 0; windows reach their end there"),
    PARAM(struct reconstruction_params, gaps, .init.choice = VIEW_GAPS_REFUSE, .choices = ts_view_gaps_choices,
          .unit = "", .doc = "where neighboring views are more than 4 times their mean angle apart"),
    PARAM(struct reconstruction_params, rows, .unit = "", .min = 1, .max = 1 << 20,
          .derived = "the number of detectors", .doc = "rows of the volume's slices"),
    PARAM(struct reconstruction_params, columns, .unit = "", .min = 1, .max = 1 << 20,
          .derived = "the number of detectors", .doc = "columns of the volume's slices"),
    PARAM(struct reconstruction_params, pixel_size, .unit = "mm", .min = 1e-6, .max = 1e6,
          .derived = "the detector spacing", .doc = "distance of neighboring columns"),
    PARAM(struct reconstruction_params, row_spacing, .unit = "mm", .min = 1e-6, .max = 1e6, .derived = "pixel_size",
          .doc = "distance of neighboring rows"),
    PARAM(struct reconstruction_params, center, .unit = "detector", .min = -1e6, .max = 2e6,
          .derived = "where the sinogram's detector axis is 0",
          .doc = "detector index of the rotation axis, which becomes the center of the slices"),
};

const struct stage fourier_stage = {
    .name = "fourier",
    .summary = "direct Fourier reconstruction of parallel beams: sinogram to volume",
    .doc =
        "The same integral as `fbp`'s, with its filters, weights, units and place of the volume, but between two "
        "detectors the filtered rows are interpolated by their own frequencies in place of lines:\n\n"
        "    f(x, y) = sum over views of weight / P * sum over k of H[k] Z[k] exp(2 pi i k (s / d + center) / P)\n\n"
        "with s = x cos(theta) + y sin(theta), Z the transform of a row padded with zeros to P samples, H the response "
        "that `filter` defines, and k from -P / 2 to P / 2. These sums are a two-dimensional Fourier transform of "
        "points along the views' directions. They are spread over a grid twice as wide as the slice by a Kaiser-Bessel "
        "kernel of 5 x 5 places, the grid is transformed back, and the kernel's own transform divided out (J. D. "
        "O'Sullivan, IEEE Trans. Med. Imaging 4, 1985).\n\n"
        "Every place of the grid takes its points in the order of the views, so that the same input gives the same "
        "bytes. Two slices go through one complex grid. A slice with a value that is NaN or infinite is NaN as a "
        "whole; its neighbors are not.\n\n"
        "Pixels as coarse as the detector or finer see no difference to `fbp` but the interpolation: edges are a "
        "little sharper here. Outside the circle that the detector covers, rows that are cut off show as in `fbp`, "
        "with what the filter leaves beyond their ends.\n\n"
        "Cost: 25 places of the grid for each frequency of each view, and a transform of 4 times as many places as the "
        "slice has pixels: much less than `fbp` for slices of some hundred pixels and more.",
    .axes = AXES_SINOGRAM,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_QUANTITY_BIT(TS_LINE_INTEGRAL),
    .beams = TS_BEAM_BIT(TS_BEAM_PARALLEL),
    .params = fourier_rows,
    .n_params = sizeof fourier_rows / sizeof *fourier_rows,
    .params_bytes = sizeof(struct reconstruction_params),
    .resolve = fourier_resolve,
    .shape = fourier_shape,
    .reach = fourier_reach,
    .transforms = fourier_transforms,
    .scratch_bytes = fourier_scratch,
    .cpu = fourier_cpu,
    .cuda = STAGE_CUDA(fourier_cuda),
    .bench = "filter=ramp",
    .tolerance =
        {.relative = 2e-4,
         .why =
             "the kernel's transform lets through 5e-5 of what lies beyond the slice, as a relative L2 error; a pixel "
             "where all of it meets may be off by twice as much and more"},
};
