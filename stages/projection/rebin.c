/* SPDX-License-Identifier: Apache-2.0
 *
 * rebin: the ray of a parallel beam at (theta, s) is the ray of a fan at gamma = asin(s /
 * source_axis) in the view theta - gamma, and, in the opposite direction, the ray at -gamma in the
 * view theta + 180 degrees + gamma (A. C. Kak, M. Slaney, 1988, section 3.4.3). Values between
 * views and between detector pixels are interpolated linearly; the result is the mean of both if
 * the scan has both, else the one that it has. (z, view, detector) -> (z, view, detector), f32. The
 * taps of a sample are the same for all slices, so a table of them is computed once.
 */
#include "stages/projection/rebin.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "stages/engine/distances.h"

enum { MOST_DETECTORS = 1 << 20 };

/* The grid of pixels is not used: only the rays of the scan matter. */
static struct beam_scan scan_of(const struct stage_context *context)
{
    return ts_beam_scan(&context->in, &context->in);
}

/* Some rays are in no view: those between the axis and a detector that does not see it, and those
 * beyond the shorter side of a short scan, which does not see all rays in both directions. For the
 * latter there is a warning if the shorter side is less than half the longer. */
static void warn_of_missing_rays(const struct stage_context *context, const struct beam_scan *scan,
                                 bool whole)
{
    const struct diag_site site = {
        .code = "rays-missing", .span = context->set->span, .stage = context->stage->name};
    const int64_t n = scan->grid.n_detectors;
    const double left = scan->grid.center, right = (double)(n - 1) - left,
                 nearer = fmin(left, right);
    const double radius = fabs(ts_beam_detector(scan, left < right ? 0 : n - 1).distance_mm);
    if (nearer < 0)
        ts_diag_warning(context->diag, &site,
                        "no view sees the rotation axis, at detector pixel %.6g of 0 to %lld: rays "
                        "within %.6g mm of it are missing and become 0",
                        left, (long long)n - 1, radius);
    else if (!whole && nearer < 0.5 * fmax(left, right))
        ts_diag_warning(context->diag, &site,
                        "the rotation axis, at detector pixel %.6g of 0 to %lld, is near an end of "
                        "the detector and the views cover no whole turn: some rays further than "
                        "%.6g mm from it are missing and become 0",
                        left, (long long)n - 1, radius);
    else
        return;
    ts_diag_hint(context->diag, "sirt takes any rays");
}

/* In a whole turn, the detector pixels reach as far as the longer side of the detector; for a short
 * scan there are as many as the fan has. */
static int64_t derive_detectors(const struct beam_scan *scan, bool whole)
{
    const int64_t n = scan->grid.n_detectors;
    const double longer = fmax(scan->grid.center, (double)(n - 1) - scan->grid.center);
    return whole ? (int64_t)fmin(MOST_DETECTORS, floor(2 * longer + 1 + 1e-6)) : n;
}

static enum ts_status check_range(const struct stage_context *context, bool *whole)
{
    const struct beam_scan scan = scan_of(context);
    double *sorted = malloc((size_t)scan.n_views * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(context->diag, (size_t)scan.n_views * sizeof *sorted);
    const struct fan_range range = ts_fan_range(&scan, sorted);
    free(sorted);
    *whole = range.whole;
    if (range.whole || range.degrees >= range.needed - 1e-6) {
        if (!context->set->axis_later)
            warn_of_missing_rays(context, &scan, range.whole);
        return TS_OK;
    }
    ts_diag_error(context->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "short-scan",
                                      .span = context->set->span,
                                      .stage = context->stage->name},
                  "the views cover %.6g degrees, from view %lld to view %lld, and this fan needs "
                  "%.6g or a whole turn",
                  range.degrees, (long long)range.after, (long long)range.before, range.needed);
    return ts_diag_hint(context->diag, "sirt and cgls need no whole scan");
}

static enum ts_status rebin_resolve(const struct stage_context *context, void *values)
{
    struct rebin_params *params = values;
    const struct ts_axis *view = &context->in.axes[1], *detector = &context->in.axes[2];
    const struct ts_beam *beam = &context->in.beam;
    if (ts_stage_needs_even(context) != TS_OK || ts_views_need_angles(context) != TS_OK)
        return TS_BAD_CHAIN;
    if (!ts_param_given(context->set, "views"))
        params->views = view->n;
    if (!ts_param_given(context->set, "detector_spacing"))
        params->detector_spacing =
            ts_axis_spacing(detector) * beam->source_axis_mm / beam->source_detector_mm;
    bool whole = false;
    const enum ts_status status = check_range(context, &whole);
    const struct beam_scan scan = scan_of(context);
    if (!ts_param_given(context->set, "detectors"))
        params->detectors = derive_detectors(&scan, whole);
    return status;
}

static enum ts_status rebin_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct rebin_params *params = context->params;
    out->axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW,
                                    .n = params->views,
                                    .first = params->start,
                                    .spacing = 180 / (double)params->views,
                                    .unit = "degree"};
    out->axes[2] =
        (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                         .n = params->detectors,
                         .spacing = params->detector_spacing,
                         .first = -0.5 * (double)(params->detectors - 1) * params->detector_spacing,
                         .unit = context->in.axes[2].unit};
    out->beam = (struct ts_beam){.kind = TS_BEAM_PARALLEL};
    out->dtype = TS_F32;
    return TS_OK;
}

/* ---- the taps of samples --------------------------------------------------------------------- */

struct rebinning {
    struct beam_scan scan;
    struct fan_range range;
    const struct view_place *views; /* sorted, in degrees from the first view of the range */
};

/* Returns the place of an angle in [0, 360), or slightly below 0 if rounding put it there. */
static double after_first(const struct rebinning *rebinning, double degree)
{
    const double turned = fmod(degree - rebinning->range.first, 360),
                 positive = turned < 0 ? turned + 360 : turned;
    return positive > 360 - 1e-6 ? positive - 360 : positive;
}

/* Finds the two views around an angle, and the fraction of the way to the second. Returns false if
 * the scan has none there. */
static bool find_views(const struct rebinning *rebinning, double degree, int64_t views[2],
                       double *past)
{
    const int64_t n = rebinning->scan.n_views;
    const double at = after_first(rebinning, degree), last = rebinning->views[n - 1].degrees;
    if (at > last && !rebinning->range.whole && at > last + 1e-6)
        return false;
    const int64_t low =
        ts_view_places_up_to(rebinning->views, n, at); /* the first view past the angle */
    const struct view_place *before = &rebinning->views[low > 0 ? low - 1 : 0], *after = before;
    double step = 0;
    if (low < n && low > 0) {
        after = &rebinning->views[low];
        step = after->degrees - before->degrees;
    } else if (low == n && rebinning->range.whole) {
        after = &rebinning->views[0];
        step = after->degrees + 360 - before->degrees;
    }
    views[0] = before->view;
    views[1] = after->view;
    *past = step > 0 ? (at - before->degrees) / step : 0;
    return true;
}

/* One direction of a ray: it has four taps, and the fraction of them that is inside the row. The
 * fraction is 1 if both detector pixels are inside, less if the ray passes beyond the last one, and
 * 0 if the scan does not have the ray. */
struct ray_end {
    int64_t index[REBIN_TAPS / 2];
    double weight[REBIN_TAPS / 2], seen;
};

/* Finds the taps of a ray that is seen at gamma (radian) in the view at `degree`. */
static struct ray_end find_end(const struct rebinning *rebinning, double degree, double gamma)
{
    const struct beam_geometry *grid = &rebinning->scan.grid;
    const double far = rebinning->scan.beam.source_detector_mm;
    const double u = rebinning->scan.beam.kind == TS_BEAM_FAN_ARC ? far * gamma : far * tan(gamma);
    const double at = grid->center + u / grid->detector_spacing, below = floor(at);
    struct ray_end end = {.seen = 0};
    int64_t views[2];
    double past;
    if (!(at > -1 && at < (double)grid->n_detectors) ||
        !find_views(rebinning, degree, views, &past))
        return end;
    for (int side = 0; side < 2; side++) {
        const double d = below + side, w = side ? at - below : 1 - (at - below);
        const bool there = d >= 0 && d < (double)grid->n_detectors;
        /* A tap outside the row gets weight 0 and its neighbor's index, so that no NaN from
         * elsewhere is read. */
        const int64_t detector = (int64_t)(there ? d : below + 1 - side);
        for (int view = 0; view < 2; view++) {
            end.index[2 * view + side] = views[view] * grid->n_detectors + detector;
            const double share = view ? past : 1 - past;
            end.weight[2 * view + side] = there ? w * share : 0;
        }
        end.seen += there ? w : 0;
    }
    return end;
}

/* Takes the direction in which the row sees more of the ray, or the mean of both if these are
 * equal. */
static void find_sample(const struct rebinning *rebinning, double theta, double s,
                        struct rebin_sample *sample)
{
    const double ratio = s / rebinning->scan.beam.source_axis_mm;
    *sample = (struct rebin_sample){{0}, {0}};
    if (!(fabs(ratio) < 1))
        return;
    const double gamma = asin(ratio), degree = gamma * (180 / M_PI);
    const struct ray_end ends[2] = {find_end(rebinning, theta - degree, gamma),
                                    find_end(rebinning, theta + 180 + degree, -gamma)};
    const bool both = fabs(ends[0].seen - ends[1].seen) < 1e-6;
    const int more = ends[1].seen > ends[0].seen;
    for (int tap = 0; tap < REBIN_TAPS; tap++) {
        const int which = both ? tap / 4 : more, quarter = tap % 4;
        sample->index[tap] = (int32_t)ends[which].index[quarter];
        double weight = ends[which].weight[quarter];
        if (both)
            weight *= 0.5;
        else if (tap / 4 != more)
            weight = 0;
        sample->weight[tap] = (float)weight;
    }
}

size_t ts_rebin_table_bytes(const struct stage_context *context)
{
    return (ts_slice_count(&context->out) * sizeof(struct rebin_sample) + 63) / 64 * 64;
}

size_t ts_rebin_scratch_bytes(const struct stage_context *context)
{
    return (size_t)context->in.axes[1].n * sizeof(struct view_place);
}

void ts_rebin_table(const struct stage_context *context, struct rebin_sample *table,
                    struct view_place *scratch)
{
    struct rebinning rebinning = {.scan = scan_of(context), .views = scratch};
    const struct ts_axis *view = &context->out.axes[1], *detector = &context->out.axes[2];
    rebinning.range = ts_fan_range(&rebinning.scan, (double *)scratch);
    for (int64_t v = 0; v < rebinning.scan.n_views; v++)
        scratch[v] =
            (struct view_place){after_first(&rebinning, ts_beam_scan_angle(&rebinning.scan, v)), v};
    ts_view_places_sort(scratch, rebinning.scan.n_views);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t v = 0; v < view->n; v++)
        for (int64_t d = 0; d < detector->n; d++)
            find_sample(&rebinning, view->first + (double)v * view->spacing,
                        detector->first + (double)d * detector->spacing,
                        &table[v * detector->n + d]);
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

struct scratch {
    struct rebin_sample *table;
    float *slice; /* a slice of the input */
    struct view_place *places;
};

static struct scratch lay_out(const struct stage_context *context, struct memory_layout *layout)
{
    struct scratch scratch;
    scratch.table = ts_layout_add(layout, ts_rebin_table_bytes(context));
    scratch.slice = ts_layout_add(layout, ts_slice_count(&context->in) * sizeof(float));
    scratch.places = ts_layout_add(layout, ts_rebin_scratch_bytes(context));
    return scratch;
}

static size_t rebin_scratch(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    (void)n;
    lay_out(context, &layout);
    return layout.bytes;
}

static enum ts_status rebin_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *buffer)
{
    const int64_t n = (int64_t)ts_slice_count(out), n_in = (int64_t)ts_slice_count(in),
                  row = in->axes[2].n;
    struct memory_layout layout = {.base = buffer};
    const struct scratch scratch = lay_out(context, &layout);
    const struct rebin_sample *table = scratch.table;
    float *slice = scratch.slice;
    ts_rebin_table(context, scratch.table, scratch.places);
    for (int64_t z = 0; z < out->axes[0].n; z++) {
        const char *from = ts_slice_data(in, z);
        float *to = ts_slice_data(out, z);
#pragma omp parallel for num_threads(context->threads)
        for (int64_t i = 0; i < n_in / row; i++)
            ts_load_f32(slice + i * row, from + (size_t)(i * row) * ts_dtype_bytes(in->dtype),
                        in->dtype, (size_t)row);
#pragma omp parallel for num_threads(context->threads)
        for (int64_t i = 0; i < n; i++) {
            float sum = 0;
            for (int tap = 0; tap < REBIN_TAPS; tap++)
                sum += table[i].weight[tap] * slice[table[i].index[tap]];
            to[i] = sum;
        }
    }
    return TS_OK;
}

static const struct param rebin_params[] = {
    PARAM(struct rebin_params, views, .unit = "", .min = 1, .max = 1 << 20,
          .derived = "the number of views",
          .doc = "number of views of the parallel beam, evenly over half a turn"),
    PARAM(struct rebin_params, start, .unit = "degree", .init.r = 0, .min = -360, .max = 360,
          .doc = "angle of the first view"),
    PARAM(struct rebin_params, detectors, .unit = "", .min = 1, .max = MOST_DETECTORS,
          .derived = "to where the longer side of the detector sees in a whole turn, the number of "
                     "detector pixels in a short scan",
          .doc =
              "number of detector pixels of the parallel beam, the rotation axis in their middle"),
    PARAM(struct rebin_params, detector_spacing, .unit = "mm", .min = 1e-6, .max = 1e6,
          .derived = "that of the fan times source_axis / source_detector",
          .doc = "distance of neighboring detector pixels"),
};

const struct stage rebin_stage = {
    .name = "rebin",
    .traits = TRAIT_NEW_DETECTOR,
    .summary = "a fan beam's sinogram as that of a parallel beam",
    .doc =
        "The ray at `(theta, s)` of the parallel beam is the fan's ray `gamma = asin(s / "
        "source_axis)` in the view `theta - gamma`, and from its other end the ray `-gamma` in the "
        "view `theta + 180 degrees + gamma` (A. C. Kak, M. Slaney, Principles of Computerized "
        "Tomographic Imaging, 1988, section 3.4.3). Between views and between detector pixels "
        "values are interpolated linearly, which smooths a little. If the scan has both ends of a "
        "ray, the result is their mean; if it has one, that one counts fully. So a whole turn "
        "whose axis is off the middle of the detector gives whole rows, as far out as the longer "
        "side of the detector sees, and `fbp` after it has no cause to warn of `axis-near-end`. A "
        "short scan of that kind lacks some of these rays, which is a warning, `rays-missing`. If "
        "a ray passes beside the last detector pixel at both ends, the end of which more is seen "
        "counts, and what is beyond the detector is 0. Whole turns and short scans, of 180 degrees "
        "and the fan's angle at least, give views evenly over half a turn. Then `fbp` and all else "
        "that takes parallel beams can follow; `fbp` also takes fans directly. A fan whose axis is "
        "not seen by the middle of the detector needs `center` with its position before this "
        "stage: `center: {center: 70.2}`.\n\n"
        "A value that is NaN or infinite reaches the samples beside it.\n\n"
        "Cost: 8 products a sample.",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY,
                          TS_BEAM_BIT(TS_BEAM_FAN_ARC) | TS_BEAM_BIT(TS_BEAM_FAN_FLAT)),
    STAGE_PARAMS(rebin_params, struct rebin_params),
    .resolve = rebin_resolve,
    .shape = rebin_shape,
    .scratch_bytes = rebin_scratch,
    .map = rebin_map,
    .cuda = STAGE_CUDA(rebin_cuda),
    .tolerance = {.relative = 1e-6,
                  .why = "weights are rounded once to float and 8 products summed in float"},
};
