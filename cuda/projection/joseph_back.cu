/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the exact adjoint of Joseph's projector for any beam: every pixel sums the rays that
 * touch it, times their weights, which are computed from the pixel's place. (z, view, detector) ->
 * (z, y, x).
 *
 * stack: as back_stack.cuh describes, 4 pixels of 128 slices a warp. A thread does one view of 32:
 * it finds the first of 3 neighboring detector pixels for each image pixel, and their weights. If
 * the samples that pixels need overlap, the pixels share what they load, 2 to 6 samples for all 4
 * (fewer if none needs its third sample); if they are more than a detector pixel apart, each loads
 * its own. If more than 3 rays touch a pixel, the kernel goes through the views again for the next
 * 3. That is 12 or 8 products a view and 4 pixels for each slice. Memory: 16 bytes a thread and
 * load, nearly all from the first cache; each slice is written once. Blocks are those of
 * back_stack.cuh.
 *
 * pixel: one thread computes one pixel of 4 slices, which follow each other, and computes its
 * weights. Blocks are 32 x 4 pixels, so that the detector pixels of a warp are close together.
 *
 * Sums run over rising detector pixels, 32 views at a time from view 0, then these sums in rising
 * order: the order depends only on the scan.
 */
#include "cuda/device/launch.cuh"
#include "cuda/projection/back_stack.cuh"
#include "cuda/projection/joseph.cuh"

extern "C" {
#include "stages/geometry/beam.h"
}

/* ---- joseph weight -----------------------------------------------------------------------------
 *
 * This computes the weights of Joseph's projector as a pixel sees them, without a table of rays. A
 * pixel at (x, y) lies in a view at
 *
 *     p = x cos(theta) + y sin(theta)    A = source_axis + x sin(theta) - y cos(theta)
 *     L = hypot(A, p)
 *
 * A ray at the angle gamma from the central one passes it at the distance L sin(gamma - gamma_p),
 * tan(gamma_p) = p / A, and so crosses the pixel's line of the ray's major axis at that distance
 * divided by the larger one of |cos(phi)| dx and |sin(phi)| dy, phi = theta + gamma, in pixels.
 * With this larger one as `width` the ray's weight is
 *
 *     max(0, 1 - distance / width) dx dy / width
 *
 * the second factor being its length between two lines. For an arc gamma - gamma_p is the detector
 * pixels between them times their angle; for a flat detector all is divided by cos(gamma), which
 * leaves A times the difference of tangents; in a parallel beam gamma is 0. (P. M. Joseph, IEEE
 * Trans. Med. Imaging 1, 1982; beams: stages/geometry/beam.h.)
 *
 * Only one pixel's place on the detector, a difference of large numbers, is worked out in
 * double: those of the pixels beside it in its row follow from it in float, as do all weights. */

/* The numbers of a scan from which its weights are computed. */
struct joseph_grid {
    double center_row, center_column; /* row and column of the rotation axis */
    double dy, dx;                    /* mm from row to row, and from column to column */
    double source_axis_mm;
    double center, per_slope; /* center: index of the central ray; per_slope: detector pixels for a
                               * slope of 1, a radian or a mm */
    float width_x, width_y;   /* dx and dy as floats */
    float step, per_step;     /* slope, radian or mm from one detector pixel to the next; and
                               * per_slope */
    int32_t beam;
};

static inline struct joseph_grid joseph_grid_of(const struct beam_scan *scan)
{
    const struct beam_geometry *grid = &scan->grid;
    struct joseph_grid joseph;
    joseph.center_row = 0.5 * (double)(grid->n_rows - 1);
    joseph.center_column = 0.5 * (double)(grid->n_columns - 1);
    joseph.dy = grid->row_spacing;
    joseph.dx = grid->column_spacing;
    joseph.source_axis_mm = scan->beam.source_axis_mm;
    joseph.center = grid->center;
    joseph.per_slope = (scan->beam.kind == TS_BEAM_PARALLEL ? 1 : scan->beam.source_detector_mm) /
                       grid->detector_spacing;
    joseph.width_x = (float)joseph.dx;
    joseph.width_y = (float)joseph.dy;
    joseph.step = (float)(1 / joseph.per_slope);
    joseph.per_step = (float)joseph.per_slope;
    joseph.beam = (int32_t)scan->beam.kind;
    return joseph;
}

/* A pixel in one view, from which its neighbors in the row are computed. */
struct joseph_start {
    double whole;                  /* detector pixel below the pixel's place */
    float past;                    /* the rest of the way to that place, in detector pixels */
    float cosine, sine;            /* cosine and sine of theta */
    float across, ahead;           /* p and A */
    float step_across, step_ahead; /* changes from one pixel to the next */
};

/* One pixel in one view. */
struct joseph_pixel {
    float past;         /* detector pixels from the start's `whole` to the pixel's place */
    float cosine, sine; /* cosine and sine of theta; for an arc, of theta + gamma_p */
    float slope;        /* p / A for a flat detector, else 0 */
    float apart;    /* distance of the rays of neighboring detector pixels at the pixel: in mm for a
                     * flat detector and a parallel beam, in radian for an arc */
    float distance; /* A; for an arc L */
};

static __device__ __forceinline__ struct joseph_start
joseph_start_of(const struct joseph_grid *grid, struct beam_angle angle, int row, int column)
{
    const double x = (column - grid->center_column) * grid->dx,
                 y = (grid->center_row - row) * grid->dy;
    const double across = x * angle.cosine + y * angle.sine,
                 ahead = grid->source_axis_mm + x * angle.sine - y * angle.cosine;
    const double slope = grid->beam == TS_BEAM_PARALLEL ? across : across / ahead;
    const double at =
        grid->center + grid->per_slope * (grid->beam == TS_BEAM_FAN_ARC ? atan(slope) : slope);
    struct joseph_start start;
    start.whole = floor(at);
    start.past = (float)(at - start.whole);
    start.cosine = (float)angle.cosine;
    start.sine = (float)angle.sine;
    start.across = (float)across;
    start.ahead = (float)ahead;
    start.step_across = grid->width_x * start.cosine;
    start.step_ahead = grid->width_x * start.sine;
    return start;
}

/* Return 1 / x and 1 / sqrt(x), correct to 1 and 2 units in the last place, for numbers far from
 * the limits of floats. */
static __device__ __forceinline__ float joseph_inverse(float x)
{
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

static __device__ __forceinline__ float joseph_inverse_root(float x)
{
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

/* Returns L L' sin of the angle between the rays to the start and to the pixel that is `beside`
 * columns further. */
static __device__ __forceinline__ float joseph_cross(const struct joseph_start *start, int beside)
{
    return (float)beside *
           __fmaf_rn(start->ahead, start->step_across, -(start->across * start->step_ahead));
}

/* Change what differs from a parallel beam in the pixel that is `beside` columns further, at p =
 * across and A = ahead, for a flat detector and for an arc. */
static __device__ __forceinline__ void joseph_pixel_flat(const struct joseph_grid *grid,
                                                         const struct joseph_start *start,
                                                         int beside, float across, float ahead,
                                                         struct joseph_pixel *pixel)
{
    const float cross = joseph_cross(start, beside), inverse = joseph_inverse(ahead);
    pixel->distance = ahead;
    pixel->slope = across * inverse;
    pixel->apart = ahead * grid->step;
    pixel->past =
        __fmaf_rn(cross * inverse * joseph_inverse(start->ahead), grid->per_step, start->past);
}

static __device__ __forceinline__ void joseph_pixel_arc(const struct joseph_grid *grid,
                                                        const struct joseph_start *start,
                                                        int beside, float across, float ahead,
                                                        struct joseph_pixel *pixel)
{
    const float cross = joseph_cross(start, beside);
    const float square = __fmaf_rn(ahead, ahead, across * across),
                inverse = joseph_inverse_root(square);
    /* L L' cos of the angle between the rays */
    const float dot = __fmaf_rn(start->ahead, ahead, start->across * across);
    pixel->distance = square * inverse;
    pixel->cosine = __fmaf_rn(start->cosine, ahead, -(start->sine * across)) * inverse;
    pixel->sine = __fmaf_rn(start->sine, ahead, start->cosine * across) * inverse;
    if (beside) /* at 0 the angle is 0: no atan */
        pixel->past = __fmaf_rn(atanf(cross * joseph_inverse(dot)), grid->per_step, start->past);
}

/* Returns the pixel that is `beside` columns further. */
static __device__ __forceinline__ struct joseph_pixel
joseph_pixel_of(const struct joseph_grid *grid, const struct joseph_start *start, int beside)
{
    const float k = (float)beside, across = __fmaf_rn(k, start->step_across, start->across),
                ahead = __fmaf_rn(k, start->step_ahead, start->ahead);
    struct joseph_pixel pixel;
    pixel.past = start->past;
    pixel.cosine = start->cosine;
    pixel.sine = start->sine;
    pixel.slope = 0;
    pixel.apart = grid->step;
    pixel.distance = 0; /* rays of a parallel beam do not need it */
    if (grid->beam == TS_BEAM_PARALLEL)
        pixel.past = __fmaf_rn(k * start->step_across, grid->per_step, start->past);
    else if (grid->beam == TS_BEAM_FAN_FLAT)
        joseph_pixel_flat(grid, start, beside, across, ahead, &pixel);
    else
        joseph_pixel_arc(grid, start, beside, across, ahead, &pixel);
    return pixel;
}

/* Returns the width defined above. */
static __device__ __forceinline__ float joseph_width(const struct joseph_grid *grid, float cosine,
                                                     float sine)
{
    return fmaxf(fabsf(cosine) * grid->width_x, fabsf(sine) * grid->width_y);
}

/* Returns a distance in detector pixels; rays farther from the pixel do not touch it. The width
 * changes by at most `most` for each radian (or slope of 1), so rays at distance u that touch have
 * A u < width + most u, or L sin(u) < width + most u; and u is at most asin(most / L). */
static __device__ __forceinline__ float joseph_reach(const struct joseph_grid *grid,
                                                     const struct joseph_pixel *pixel)
{
    const float slack = 1e-3f, most = fmaxf(grid->width_x, grid->width_y);
    const float width = joseph_width(grid, __fmaf_rn(-pixel->sine, pixel->slope, pixel->cosine),
                                     __fmaf_rn(pixel->cosine, pixel->slope, pixel->sine));
    if (grid->beam == TS_BEAM_PARALLEL)
        return width / pixel->apart + slack;
    if (grid->beam == TS_BEAM_FAN_FLAT)
        return width * pixel->distance / ((pixel->distance - most) * pixel->apart) + slack;
    const float all = asinf(fminf(most / pixel->distance, 1)),
                least = pixel->distance * (1 - all * all / 6) - most;
    return (least > 0 ? fminf(width / least, all) : all) / pixel->apart + slack;
}

/* Finds sine and cosine of an angle up to pi / 2, to 6e-8, by the first terms of their series. */
static __device__ __forceinline__ void joseph_sine_cosine(float angle, float *sine, float *cosine)
{
    const float square = angle * angle;
    float odd = -2.5052108e-8f, even = 2.0876757e-9f;
    odd = __fmaf_rn(odd, square, 2.7557319e-6f);
    odd = __fmaf_rn(odd, square, -1.9841270e-4f);
    odd = __fmaf_rn(odd, square, 8.3333333e-3f);
    odd = __fmaf_rn(odd, square, -1.6666667e-1f);
    even = __fmaf_rn(even, square, -2.7557319e-7f);
    even = __fmaf_rn(even, square, 2.4801587e-5f);
    even = __fmaf_rn(even, square, -1.3888889e-3f);
    even = __fmaf_rn(even, square, 4.1666667e-2f);
    even = __fmaf_rn(even, square, -0.5f);
    *sine = __fmaf_rn(odd * square, angle, angle);
    *cosine = __fmaf_rn(even, square, 1);
}

/* Returns the weight of the ray whose detector pixel is `past` detector pixels from the pixel's
 * place. */
static __device__ __forceinline__ float joseph_weight(const struct joseph_grid *grid,
                                                      const struct joseph_pixel *pixel, float past)
{
    float away = past * pixel->apart, longer = 1, cosine, sine;
    if (grid->beam == TS_BEAM_FAN_ARC) {
        float turned, ahead;
        if (fabsf(away) > 1.5707963f)
            return 0;
        joseph_sine_cosine(away, &turned, &ahead);
        cosine = pixel->cosine * ahead - pixel->sine * turned;
        sine = pixel->sine * ahead + pixel->cosine * turned;
        away = turned * pixel->distance;
    } else {
        const float slope =
            grid->beam == TS_BEAM_PARALLEL ? 0 : __fmaf_rn(past, grid->step, pixel->slope);
        cosine = __fmaf_rn(-pixel->sine, slope, pixel->cosine);
        sine = __fmaf_rn(pixel->cosine, slope, pixel->sine);
        const float square = __fmaf_rn(slope, slope, 1);
        longer = square * joseph_inverse_root(square);
    }
    const float inverse = joseph_inverse(joseph_width(grid, cosine, sine));
    return fmaxf(__fmaf_rn(-fabsf(away), inverse, 1), 0) * inverse * longer *
           (grid->width_x * grid->width_y);
}

enum {
    TAPS = 3, /* neighboring detector pixels that are done at once */
    FEW = 4,  /* slices of a thread, if they are not side by side */
    FEW_COLUMNS = 32,
    FEW_ROWS = 4
};

/* ---- stack ----------------------------------------------------------------------------------- */

struct joseph_views {
    const struct beam_angle *angles;
    int64_t n;
    struct joseph_grid grid;
    int rounds; /* rounds of TAPS detector pixels that no pixel exceeds */
};

/* The places of 4 pixels in a view: the first two weights of each, with ~pattern (as in struct
 * back_place) and one of the flags, and the third weights. */
struct joseph_place {
    struct back_place two;
    float4 third;
};
enum { PATTERN_THREE = 8, PATTERN_NONE = 16 };

/* The places in one view before they are sorted. */
struct joseph_taps {
    float weight[TAPS][BACK_PIXELS];
    int at[BACK_PIXELS]; /* the detector pixel of the first weight */
    bool two, none;      /* two: all third weights are 0; none: all weights are 0 */
};

/* Returns how many rounds a view takes. */
static __device__ __forceinline__ int count_rounds(const struct joseph_views *views, int64_t index,
                                                   int row, int column)
{
    float reach = 0;
    if (views->rounds == 1)
        return 1;
    const struct joseph_start start =
        joseph_start_of(&views->grid, views->angles[index], row, column);
    for (int k = 0; k < BACK_PIXELS; k++) {
        const struct joseph_pixel pixel = joseph_pixel_of(&views->grid, &start, k);
        reach = fmaxf(reach, joseph_reach(&views->grid, &pixel));
    }
    return min(views->rounds, (int)ceilf(2 * reach / TAPS));
}

/* Finds the TAPS detector pixels of a round; the rounds together are centered on the pixel's
 * place. */
static __device__ __forceinline__ struct joseph_taps find_taps(const struct joseph_views *views,
                                                               int64_t index, int row, int column,
                                                               int n_detectors, int round,
                                                               int rounds)
{
    const struct joseph_start start =
        joseph_start_of(&views->grid, views->angles[index], row, column);
    const int whole = (int)fmin(fmax(start.whole, -1e9), 1e9);
    struct joseph_taps taps;
    bool shift[BACK_PIXELS];
    taps.two = rounds == 1;
    taps.none = true;
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        const struct joseph_pixel pixel = joseph_pixel_of(&views->grid, &start, k);
        const float low = ceilf(pixel.past - 0.5f * TAPS * (float)rounds) + (float)(round * TAPS),
                    past = low - pixel.past;
        const int first = whole + (int)low;
        const bool inside = first > -TAPS && first < n_detectors && round < rounds;
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            taps.weight[tap][k] =
                inside ? joseph_weight(&views->grid, &pixel, past + (float)tap) : 0;
            taps.none &= taps.weight[tap][k] == 0;
        }
        /* There are only zeros beyond the ends of the detector, so any of their indices will do. */
        taps.at[k] = min(max(first, -TAPS - 1), n_detectors + 1);
        shift[k] = past <= -1;
        taps.two &= (shift[k] ? taps.weight[0][k] : taps.weight[2][k]) == 0;
    }
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++)
        if (taps.two && shift[k]) {
            taps.at[k]++;
            taps.weight[0][k] = taps.weight[1][k];
            taps.weight[1][k] = taps.weight[2][k];
            taps.weight[2][k] = 0;
        }
    return taps;
}

static __device__ __forceinline__ float4 in_order(const float values[BACK_PIXELS], bool falling)
{
    return falling ? make_float4(values[3], values[2], values[1], values[0])
                   : make_float4(values[0], values[1], values[2], values[3]);
}

static __device__ __forceinline__ struct joseph_place place_of(const struct joseph_taps *taps,
                                                               int line, bool falling)
{
    struct joseph_place place;
    int at[BACK_PIXELS];
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++)
        at[k] = line + (falling ? taps->at[BACK_PIXELS - 1 - k] : taps->at[k]);
    const int pattern = back_pattern_of(at);
    place.two.below = in_order(taps->weight[0], falling);
    place.two.above = in_order(taps->weight[1], falling);
    place.third = in_order(taps->weight[2], falling);
    place.two.at = make_int4(at[0], at[1], at[2], at[3]);
    if (taps->none)
        place.two.at.y = ~PATTERN_NONE;
    else if (pattern >= 0)
        place.two.at.y = ~(taps->two ? pattern : pattern | PATTERN_THREE);
    return place;
}

/* Adds a view as back_pattern() does, but with 3 weights a pixel. */
template <int O1, int O2, int O3, int V>
static __device__ __forceinline__ void add_three(const float *at, const struct joseph_place *place,
                                                 struct slice_samples<V> sums[BACK_PIXELS])
{
    struct slice_samples<V> samples[O3 + TAPS];
#pragma unroll
    for (int i = 0; i < O3 + TAPS; i++)
        ts_cuda_samples_load(&samples[i], at + i * 32 * V);
    const float4 first = place->two.below, second = place->two.above, third = place->third;
    ts_cuda_samples_add_two(&sums[0], &samples[0], &samples[1], first.x, second.x);
    ts_cuda_samples_add_two(&sums[1], &samples[O1], &samples[O1 + 1], first.y, second.y);
    ts_cuda_samples_add_two(&sums[2], &samples[O2], &samples[O2 + 1], first.z, second.z);
    ts_cuda_samples_add_two(&sums[3], &samples[O3], &samples[O3 + 1], first.w, second.w);
    ts_cuda_samples_add(&sums[0], &samples[2], third.x);
    ts_cuda_samples_add(&sums[1], &samples[O1 + 2], third.y);
    ts_cuda_samples_add(&sums[2], &samples[O2 + 2], third.z);
    ts_cuda_samples_add(&sums[3], &samples[O3 + 2], third.w);
}

template <int V>
static __device__ __forceinline__ void add_near(const float *lines,
                                                const struct joseph_place *place, int pattern,
                                                struct slice_samples<V> sums[BACK_PIXELS])
{
    const float *at = lines + (int64_t)place->two.at.x * (32 * V);
    switch (pattern) {
    case 0:
        add_three<0, 0, 0>(at, place, sums);
        break;
    case 1:
        add_three<1, 1, 1>(at, place, sums);
        break;
    case 2:
        add_three<0, 1, 1>(at, place, sums);
        break;
    case 3:
        add_three<1, 2, 2>(at, place, sums);
        break;
    case 4:
        add_three<0, 0, 1>(at, place, sums);
        break;
    case 5:
        add_three<1, 1, 2>(at, place, sums);
        break;
    case 6:
        add_three<0, 1, 2>(at, place, sums);
        break;
    default:
        add_three<1, 2, 3>(at, place, sums);
    }
}

/* Adds a view in which each pixel loads its own samples. */
template <int V>
static __device__ __forceinline__ void add_apart(const float *lines,
                                                 const struct joseph_place *place,
                                                 struct slice_samples<V> sums[BACK_PIXELS])
{
    const int at[BACK_PIXELS] = {place->two.at.x, place->two.at.y, place->two.at.z,
                                 place->two.at.w};
    const float third[BACK_PIXELS] = {place->third.x, place->third.y, place->third.z,
                                      place->third.w};
    back_add_wide(lines, &place->two, sums);
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        struct slice_samples<V> sample;
        ts_cuda_samples_load(&sample, lines + ((int64_t)at[k] + 2) * (32 * V));
        ts_cuda_samples_add(&sums[k], &sample, third[k]);
    }
}

template <int V>
static __device__ __forceinline__ void
add_places(const float *lines, const struct back_warp<joseph_place> *warp, int n, bool falling)
{
    struct slice_samples<V> sums[BACK_PIXELS] = {
    };
    for (int i = 0; i < n; i++) {
        const struct joseph_place *place = &warp->places[i];
        const int kind = ~place->two.at.y;
        if (kind < 0)
            add_apart(lines, place, sums);
        else if (kind < PATTERN_THREE)
            back_add_view(lines, &place->two, sums);
        else if (kind < PATTERN_NONE)
            add_near(lines, place, kind - PATTERN_THREE, sums);
    }
    back_add_sums<V>(sums, warp->totals, falling);
}

template <int V>
static __global__ void __launch_bounds__(BACK_THREADS, BACK_BLOCKS)
    joseph_stack(const float *lines, float *out, struct joseph_views views, struct back_size size)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32);
    struct back_warp<joseph_place> warp;
    if (!back_begin<V>(&size, shared, &warp))
        return;
    lines += lane * V;
    for (int64_t first = 0, end = views.n; first < end; first += BACK_CHUNK) {
        const int n = (int)(end - first < BACK_CHUNK ? end - first : BACK_CHUNK);
        const int64_t own = min(first + lane, end - 1);
        const int line = (int)own * (size.n_detectors + 2 * INTERLEAVE_MARGIN) + INTERLEAVE_MARGIN,
                  rounds = count_rounds(&views, own, warp.row, warp.column);
        for (int round = 0; __any_sync(~0u, round < rounds); round++) {
            const struct joseph_taps taps =
                find_taps(&views, own, warp.row, warp.column, size.n_detectors, round, rounds);
            const bool falling =
                __popc(__ballot_sync(~0u, taps.at[BACK_PIXELS - 1] < taps.at[0])) > BACK_CHUNK / 2;
            warp.places[lane] = place_of(&taps, line, falling);
            __syncwarp();
            add_places<V>(lines, &warp, n, falling);
            __syncwarp();
        }
    }
    back_write<V>(&warp, &size, out);
}

/* Returns the most rounds that any pixel needs by joseph_reach(), without its slack. */
static int rounds_of(const struct joseph_grid *grid, int64_t n_detectors)
{
    const double most = fmax(grid->dx, grid->dy),
                 near = grid->source_axis_mm -
                        hypot(grid->center_row * grid->dy, grid->center_column * grid->dx);
    double reach = most * grid->per_slope;
    if (grid->beam == TS_BEAM_FAN_FLAT) {
        const double slope =
            (fmax(grid->center, (double)n_detectors - grid->center) + (double)TAPS) /
            grid->per_slope;
        reach *= sqrt(1 + slope * slope) / near;
    } else if (grid->beam == TS_BEAM_FAN_ARC) {
        reach = asin(fmin(most / near, 1)) * grid->per_slope;
    }
    return (int)fmin(ceil(2 * reach / (double)TAPS), INT32_MAX / 8);
}

static struct joseph_views views_of(const struct beam_scan *scan, const struct cuda_call *call)
{
    struct joseph_views views = {ts_cuda_joseph_tables(scan, call->constants).angles, scan->n_views,
                                 joseph_grid_of(scan)};
    views.rounds = rounds_of(&views.grid, scan->grid.n_detectors);
    return views;
}

static enum ts_status stack(const struct stage_context *context, const struct beam_scan *scan,
                            const struct ts_image *in, struct ts_image *out,
                            const struct cuda_call *call)
{
    const struct back_kernels<struct joseph_views> kernels = {
        {joseph_stack<1>, joseph_stack<2>, joseph_stack<4>}, "joseph_stack", views_of(scan, call),
            sizeof(struct joseph_place)
    };
    return back_run(context, &kernels, in, out, (float *)call->scratch, call->stream);
}

/* ---- pixel ----------------------------------------------------------------------------------- */

struct few_size {
    int64_t n_slices, n_rows, n_columns, n_detectors;
};

/* The grid counts parts of a row, rows, and slices in steps of FEW. */
template <typename T>
static __global__ void __launch_bounds__(FEW_COLUMNS *FEW_ROWS)
    joseph_few(const T *sinogram, float *out, struct joseph_views views, const int32_t *halt,
               struct few_size size)
{
    const int column = (int)(blockIdx.x * FEW_COLUMNS + threadIdx.x),
              row = (int)(blockIdx.y * FEW_ROWS + threadIdx.y);
    const int64_t z = (int64_t)blockIdx.z * FEW, slice = views.n * size.n_detectors;
    const int n = (int)min((int64_t)FEW, size.n_slices - z);
    if (row >= size.n_rows || column >= size.n_columns || (halt && *halt))
        return;
    float sums[FEW] = {}, totals[FEW] = {};
    for (int64_t view = 0; view < views.n; view++) {
        const struct joseph_start start =
            joseph_start_of(&views.grid, views.angles[view], row, column);
        const struct joseph_pixel pixel = joseph_pixel_of(&views.grid, &start, 0);
        const float reach = joseph_reach(&views.grid, &pixel);
        const double low = fmax(start.whole + ceilf(pixel.past - reach), 0.0),
                     high = fmin(start.whole + floorf(pixel.past + reach),
                                 (double)size.n_detectors - 1);
        const T *from = sinogram + z * slice + view * size.n_detectors;
        for (int d = (int)low; d <= (int)high; d++) {
            const float weight =
                joseph_weight(&views.grid, &pixel, (float)(d - start.whole) - pixel.past);
            if (weight == 0)
                continue;
#pragma unroll
            for (int s = 0; s < FEW; s++)
                if (s < n)
                    sums[s] = __fmaf_rn(weight, (float)from[s * slice + d], sums[s]);
        }
        if ((view + 1) % BACK_CHUNK != 0 && view + 1 < views.n)
            continue;
#pragma unroll
        for (int s = 0; s < FEW; s++) {
            totals[s] += sums[s];
            sums[s] = 0;
        }
    }
#pragma unroll
    for (int s = 0; s < FEW; s++)
        if (s < n)
            out[((z + s) * size.n_rows + row) * size.n_columns + column] = totals[s];
}

static enum ts_status few(const struct stage_context *context, const struct beam_scan *scan,
                          const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct joseph_views views = views_of(scan, call);
    const struct few_size size = {out->axes[0].n, out->axes[1].n, out->axes[2].n, in->axes[2].n};
    const dim3 threads(FEW_COLUMNS, FEW_ROWS),
        blocks((unsigned)ts_cuda_parts(size.n_columns, FEW_COLUMNS),
               (unsigned)ts_cuda_parts(size.n_rows, FEW_ROWS),
               (unsigned)ts_cuda_parts(size.n_slices, FEW));
#define LAUNCH(T)                                                                                  \
    joseph_few<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (float *)out->data,   \
                                                        views, context->halt, size)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "joseph_few");
}

/* ---- both ------------------------------------------------------------------------------------ */

size_t ts_cuda_joseph_back_scratch(const struct beam_scan *scan, bool side_by_side, int64_t n)
{
    return side_by_side
               ? ts_cuda_lines_bytes(scan->n_views, scan->grid.n_detectors, ts_cuda_group_width(n))
               : 0;
}

enum ts_status ts_cuda_joseph_back(const struct stage_context *context,
                                   const struct beam_scan *scan, const struct ts_image *in,
                                   struct ts_image *out, bool side_by_side,
                                   const struct cuda_call *call)
{
    return (side_by_side ? stack : few)(context, scan, in, out, call);
}
