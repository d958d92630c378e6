/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp: f(x, y) = integral over 180 degrees of q(theta, x cos(theta) + y sin(theta)), q the rows of the sinogram through
 * a filter (stages/projection/row_filter.h); (z, view, detector) -> (z, y, x), f32.
 */
#include "stages/projection/reconstruction.h"

#include "stages/geometry/line_integrals.h"
#include "stages/projection/filtered_volume.h"
#include "stages/values/finite_values.h"

static const struct param fbp_rows[] = {
    FILTERED_VOLUME_ROWS,
    RECONSTRUCTION_ROWS,
};

const struct stage fbp_stage = {
    .name = "fbp",
    .summary = "filtered backprojection of parallel and fan beams: sinogram to volume",
    .doc =
        "`f(x, y) = integral over theta of q(theta, x cos(theta) + y sin(theta))`, where q is the sinogram with its "
        "rows through "
        "the filter that the page of `filter` defines, x runs along rising columns, y along falling rows, both in "
        "mm from the center of the slice. "
        "Between two detectors q is interpolated linearly, outside them it is 0.\n\n"
        "The integral is the sum over the views, each by half the angle between its neighbors on the circle modulo "
        "180 degrees: half a turn and a "
        "whole one, with the last view or without, evenly spaced or not, need no parameter. Views in one direction "
        "share "
        "their part. A gap of more than 4 times the mean angle is an error, with the views beside it; so are angles "
        "that look like radians, and views that all look in one direction, one alone included unless `gaps` is "
        "`accept`.\n\n"
        "A fan is reconstructed directly (A. C. Kak, M. Slaney, Principles of Computerized Tomographic Imaging, 1988, "
        "section 3.4): rows times cos(gamma), the ramp of its equal angles or equal distances, and a backprojection "
        "that weighs each pixel by its distance from the source. Views over a whole turn count by half the angle "
        "between their neighbors, each ray being seen twice; over less, 180 degrees and the fan's angle at least, "
        "rays that are seen twice are shared between their two views (D. L. Parker, Med. Phys. 9, 1982). Fewer are "
        "an error.\n\n"
        "Line integrals without a unit over mm give attenuation in 1/mm; HU mm give HU. The volume is a square of "
        "as many pixels "
        "as there are detectors, of their spacing, unless told otherwise; its center is the sinogram's "
        "origin, so that a volume that `radon` projected comes back to its place. A value that is NaN or infinite "
        "would spoil its whole slice, and ends the run.\n\n"
        "Where one side of the rotation axis sees less than two thirds as much of the detector as the other, a "
        "warning has "
        "the "
        "radius of the circle that all views see: an object that reaches beyond it comes out wrong. `stitch` makes a "
        "scan of half a turn from such a whole turn of a parallel beam.\n\n"
        "scikit-image's `iradon` has its rotation center at pixel n // 2 in place of (n - 1) / 2 and gives 1/pixel; "
        "its angles "
        "turn the same way. Its filter None gives half of `filter: none` here, which is the plain integral over "
        "angles.\n\n"
        "Cost: one interpolation for each view and pixel; filtering is a small part of it.",
    .axes = AXES_SINOGRAM,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_QUANTITY_BIT(TS_LINE_INTEGRAL),
    .quantity_hints = LINE_INTEGRAL_HINTS,
    .beams = TS_ANY_BEAM,
    STAGE_PARAMS(fbp_rows, struct reconstruction_params),
    .resolve = ts_filtered_volume_resolve,
    .shape = ts_filtered_volume_shape,
    .reduction = &ts_finite_reduction,
    .transforms = ts_reconstruction_transforms,
    .scratch_bytes = ts_reconstruction_scratch,
    .map = ts_reconstruction_map,
    .cuda = STAGE_CUDA(fbp_cuda),
    .bench = "filter=ramp|filter=ramp scan=fan-flat pixel_size=0.66|filter=ramp scan=fan-arc pixel_size=0.66",
    .tolerance =
        {.relative = 1e-5,
         .why = "weights and filtered rows are rounded to float and up to some thousand products summed in float"},
    .method_tolerances = ts_back_method_tolerances,
};
