# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from the tables of the stages. Do not edit.
"""The stages and the inputs of chains, as functions.

With an array, an Image or a tensor as its first argument a stage works on it and returns one of the same kind; without, it is
a part of a chain: `dicom("study") | box(radius=2)`. A parameter that is not given, or None, has the default of its stage.
Lengths may be texts with their unit, "5 mm", and any parameter of a stage in a chain may be a sweep().
"""
from __future__ import annotations

from .calls import scan_stage, source, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, Literal, Sequence

    from .chain import Chain, Sweep

    Integer = int | str | Sweep
    Number = float | str | Sweep
    Numbers = Sequence[float] | Sequence[Sequence[float]] | Sweep
    Texts = str | Sequence[str]
    Reference = Any  # the name of an image of the chain, or an array
    Path = str | PathLike | Sequence[str]


@stage
def window(
    image: Any = None,
    /,
    *,
    center: Number | None = None,
    width: Number | None = None,
    low: Number | None = None,
    high: Number | None = None,
    function: Literal["linear", "linear-exact", "sigmoid"] | Sweep | None = None,
    unit: Literal["image", "HU"] | Sweep | None = None,
    dtype: Literal["f32", "u8", "u16"] | Sweep | None = None,
    out_low: Number | None = None,
    out_high: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Map a window of values to a range of gray, as DICOM viewers do.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    center: middle of the window [value] (default: (low + high) / 2, plus 0.5 with function linear)
    width: width of the window; at least 1 with function linear, above 0 otherwise [value] (default: high - low, plus 1
        with function linear)
    low: value that becomes out_low; with high, in place of center and width [value] (default: center - width / 2)
    high: value that becomes out_high [value] (default: center + width / 2, less 1 with function linear)
    function: the VOI LUT function (default: linear)
        - linear: DICOM LINEAR, the default of DICOM: width counts values, its middle is center - 0.5
        - linear-exact: DICOM LINEAR_EXACT: width is a distance, its middle is center
        - sigmoid: DICOM SIGMOID: a smooth step with slope 1 / width at the center
    unit: what the window is given in (default: image)
        - image: center, width, low and high are values of the image, whatever they mean
        - HU: they are Hounsfield units; an image that is not in HU is refused
    dtype: type of the result (default: f32)
        - f32: 32-bit float
        - u8: 8-bit integer, rounded half to even
        - u16: 16-bit integer, rounded half to even
    out_low: result at and below the window (default: 0)
    out_high: result above the window (default: 1 for f32, 255 for u8, 65535 for u16)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def n4(
    image: Any = None,
    /,
    *,
    mask: Reference | None = None,
    weights: Reference | None = None,
    shrink: Integer | None = None,
    iterations: Numbers | None = None,
    threshold: Number | None = None,
    control_points: Numbers | None = None,
    spline_distance: Number | None = None,
    bins: Integer | None = None,
    fwhm: Number | None = None,
    noise: Number | None = None,
    convention: Literal["itk", "exact"] | Sweep | None = None,
    field: bool | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Take the bias field off an MR image (N4ITK).

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; intensity.

    mask: an image of the same shape: the field is estimated where it is not 0; absent: everywhere
    weights: an image of the same shape: how much a voxel counts for the field, such as the probability of white matter; 0
        and less: not at all; absent: all count alike
    shrink: the field is estimated from every shrink-th voxel along each axis [pixel] (default: 4)
    iterations: the most iterations of each level; a level has twice the spline's spans of the one before (default: [50,
        50, 50, 50])
    threshold: a level ends once an iteration has changed the field by no more, as a coefficient of variation; 0: after all
        iterations (default: 0.001)
    control_points: control points of the first level: one number for all axes, or [x, y, z]; 3 more than spans (default:
        4, or from spline_distance)
    spline_distance: length of a span of the first level, instead of `control_points` [mm] (default: none; the spans of
        `control_points` fill the volume)
    bins: bins of the histogram that is sharpened (default: 200)
    fwhm: full width at half maximum of the Gaussian by which the field is taken to blur the histogram of the logarithms
        (default: 0.15)
    noise: noise of the Wiener filter that takes the blur off (default: 0.01)
    convention: where the samples that `shrink` leaves are in the volume (default: itk)
        - itk: where ITK, SimpleITK and ANTs take them to be: the first and the last at the ends of the axis
        - exact: where they were taken
    field: keep the field, by which the image is divided, as the table `field` (default: false)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def rescale(
    image: Any = None,
    /,
    *,
    method: Literal["range", "percentiles", "z-score"] | Sweep | None = None,
    range: Numbers | None = None,
    limits: Literal["data", "dtype"] | Sweep | None = None,
    low_percentile: Number | None = None,
    high_percentile: Number | None = None,
    scope: Literal["volume", "slice", "series"] | Sweep | None = None,
    clip: bool | None = None,
    dtype: Literal["f32", "u8", "u16"] | Sweep | None = None,
    out_low: Number | None = None,
    out_high: Number | None = None,
    quantity: Literal["intensity", "transmission", "line_integral"] | Sweep | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Scale values to a range, by percentiles, or to zero mean and unit variance.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    method: what the values are scaled by (default: range)
        - range: from `range`, or from the limits of the data or of the type, to [out_low, out_high]
        - percentiles: from the values at two percentiles to [out_low, out_high]
        - z-score: to mean 0 and standard deviation 1, as f32
    range: [low, high] that becomes [out_low, out_high], with method range; absent: `limits` decides [value]
    limits: where the range comes from without `range`, with method range (default: data)
        - data: the smallest and the largest finite value of the image
        - dtype: the lowest and the highest value of the type
    low_percentile: percentile that becomes out_low, with method percentiles [%] (default: 2)
    high_percentile: percentile that becomes out_high, with method percentiles [%] (default: 98)
    scope: numbers of the volume, or of every slice by itself (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
        - series: all slices of all volumes together; every volume is then read once more for it
    clip: values beyond the range become out_low or out_high; else they go beyond as well (default: true)
    dtype: type of the result (default: f32)
        - f32: 32-bit float
        - u8: 8-bit integer, rounded half to even
        - u16: 16-bit integer, rounded half to even
    out_low: result at the lower end of the range (default: 0)
    out_high: result at the upper end of the range (default: 1 for f32, 255 for u8, 65535 for u16)
    quantity: what the result is; another than intensity needs `range` and f32 (default: intensity)
        - intensity: values in no unit, which can only be compared with each other
        - transmission: I/I0: `range` is what a detector gives without the beam and with all of it
        - line_integral: of the attenuation: give the meaning of `range` as `out_low` and `out_high`
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def nyul(
    image: Any = None,
    /,
    *,
    landmarks_file: str | float | None = None,
    landmarks: Numbers | None = None,
    percentiles: Numbers | None = None,
    landmarks_sha256: str | float | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Map an MR to a standard scale, on which tissues have like values in all studies.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    landmarks_file: JSON file of the standard scale, which `tomostage batch --fit` writes; absent: `landmarks`
    landmarks: the 13 values of the standard scale at the percentiles, rising; absent: those of landmarks_file
    percentiles: the percentiles of the landmarks; only the default is taken [%] (default: [1, 10, 20, 25, 30, 40, 50, 60,
        70, 75, 80, 90, 99])
    landmarks_sha256: digest of the file that the landmarks are from, for the record
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def invert(
    image: Any = None,
    /,
    *,
    range: Numbers | None = None,
    limits: Literal["dtype", "data"] | Sweep | None = None,
    scope: Literal["volume", "slice", "series"] | Sweep | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Turn bright and dark over.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    range: [low, high] that change places; values outside go beyond, as far as the type reaches; absent: `limits` decides
        [value]
    limits: where the range comes from without `range` (default: dtype)
        - dtype: the range of the type, [0, 1] for f32: highest - x for unsigned, -1 - x for signed, 1 - x for f32
          (skimage.util.invert)
        - data: the smallest and the largest finite value of the image, which change places
    scope: with limits data: range of the volume, or of every slice (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
        - series: all slices of all volumes together; every volume is then read once more for it
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def combine(
    image: Any = None,
    /,
    *,
    other: Reference,
    op: Literal["add", "subtract", "multiply", "divide", "mean", "maximum", "minimum"] | Sweep,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The sum, difference, product, ratio, mean, maximum or minimum of two images.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    other: the second image: an input or the output of an earlier stage, on the same grid
    op: what is done with each pixel of the image and the other's
        - add: image + other
        - subtract: image - other
        - multiply: image * other
        - divide: image / other; a pixel that is divided by 0 becomes invalid, and the table `divided_by_zero` counts
          them
        - mean: (image + other) / 2
        - maximum: the larger one; of two masks, what is in either
        - minimum: the smaller one; of two masks, what is in both
    mask: an image of the same shape: where it is 0, the image stays as it is; absent: all pixels are combined
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def reduce(
    image: Any = None,
    /,
    *,
    axis: Literal["z", "time", "echo", "b", "volumes"] | Sweep,
    method: Literal["mean", "sd", "max", "min", "sum", "median"] | Sweep,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The mean, deviation, maximum, minimum, sum or median along slices or volumes.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    axis: along what one image is made of many
        - z: the slices of a volume, of a series those of each volume
        - time: the volumes of a series in time
        - echo: the echoes of an MR
        - b: the volumes of a diffusion MR
        - volumes: the volumes of a series, whatever they differ by
    method: what is made of the values of a pixel along the axis
        - mean: the sum of the values / their count
        - sd: the standard deviation: sqrt(sum((v - mean)^2) / count)
        - max: the largest value; along z the maximum intensity projection (MIP)
        - min: the smallest value
        - sum: the sum
        - median: the value in the middle, or the mean of the two there of an even count
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def threshold(
    image: Any = None,
    /,
    *,
    method: Literal["value", "otsu", "triangle", "percentile"] | Sweep | None = None,
    above: Number | None = None,
    below: Number | None = None,
    percentile: Number | None = None,
    bins: Integer | None = None,
    side: Literal["above", "below"] | Sweep | None = None,
    scope: Literal["volume", "slice", "series"] | Sweep | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Make a mask of the values above, below or between thresholds, given or found.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    method: where the threshold comes from (default: value)
        - value: `above` and `below`, or one of them
        - otsu: the threshold that parts the values into the two classes furthest apart (Otsu, 1979)
        - triangle: the value whose count is furthest below the line from the peak of the histogram to its further end
          (Zack, 1977), for images that are mostly background
        - percentile: the value at `percentile`
    above: values above this one become 1, with method value [value]
    below: values below this one become 1, with method value; with `above`, values between the two [value]
    percentile: percentile of the values that is the threshold, with method percentile [%] (default: 50)
    bins: bins between the smallest and the largest value, with methods otsu and triangle of 32-bit integers and floats;
        other integers are counted value by value (default: 256)
    side: which side of a threshold that is found becomes 1 (default: above)
        - above: values above the threshold become 1
        - below: values up to the threshold become 1
    scope: one threshold for the volume, or one for every slice (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
        - series: all slices of all volumes together; every volume is then read once more for it
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def apply_mask(
    image: Any = None,
    /,
    *,
    mask: Reference,
    outside: Literal["exclude", "value"] | Sweep | None = None,
    value: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Leave out of an image what is outside a mask, or set it to a value.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    mask: an image of the same shape: pixels where it is not 0 are kept
    outside: what becomes of the pixels outside the mask (default: exclude)
        - exclude: pixels outside the mask become invalid, and no later stage counts them
        - value: pixels outside the mask get `value`, and stay as valid as they were
    value: value of the pixels outside, with outside value [value] (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def bounds(
    image: Any = None,
    /,
    *,
    above: Number | None = None,
    below: Number | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The smallest box that holds a region; the image passes on.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    above: pixels above this value belong to the region [value]
    below: pixels below this value belong to the region; with `above`, those between the two [value]
    mask: an image of the same shape: pixels where it is not 0 belong to the region; with `above` or `below`, those that
        both choose; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def morphology(
    image: Any = None,
    /,
    *,
    operation: Literal["erode", "dilate", "open", "close", "fill_holes"] | Sweep,
    radius: Number | None = None,
    shape: Literal["ball", "box"] | Sweep | None = None,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    label: Numbers | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Erode, dilate, open or close a mask by a ball or box in mm, or fill its holes.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; intensity.

    operation: what is done to the mask
        - erode: keeps voxels whose whole ball or box is in the mask
        - dilate: adds voxels that have one of the mask in their ball or box
        - open: erode, then dilate: removes what no ball or box fits into, such as specks and bridges
        - close: dilate, then erode: closes gaps that no ball or box fits into
        - fill_holes: adds the parts outside of the mask that do not reach the border of the image
    radius: radius of the ball, or half of the box's side, from center to center; at most 127 voxels along an axis [mm]
        (default: 1)
    shape: whether the mask grows and shrinks by a ball or a box (default: ball)
        - ball: the voxels whose centers are at most `radius` away
        - box: the voxels whose centers are at most `radius` away along each axis
    dimensions: whether it looks into neighboring slices (default: 3d)
        - 2d: each slice by itself: a disk or a square, holes of the slice
        - 3d: across slices
    label: the value of the voxels that are the mask; absent: all that are not 0 [value]
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def components(
    image: Any = None,
    /,
    *,
    neighbors: Integer | None = None,
    largest: Numbers | None = None,
    least_mm3: Number | None = None,
    output: Literal["labels", "mask"] | Sweep | None = None,
    label: Numbers | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Number the connected parts of a mask by size, and keep the largest ones.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; intensity.

    neighbors: which voxels are connected: 6 share a face, 18 a face or an edge, 26 also a corner [1] (default: 6)
    largest: how many of the largest parts are kept; absent: all [1]
    least_mm3: parts of less volume are left out [mm3] (default: 0)
    output: what the image holds (default: labels)
        - labels: the number of the part of each voxel, 1 for the largest
        - mask: 1 in every part that is kept
    label: the value of the voxels that are the mask; absent: all that are not 0 [value]
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def distance(
    image: Any = None,
    /,
    *,
    of: Literal["outside", "inside", "signed"] | Sweep | None = None,
    label: Numbers | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The exact distance of each voxel from a mask, in mm.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; intensity.

    of: which voxels have a distance, and from what (default: outside)
        - outside: from the nearest voxel of the mask; 0 in the mask
        - inside: from the nearest voxel outside of the mask; 0 there
        - signed: outside as it is, inside negative
    label: the value of the voxels that are the mask; absent: all that are not 0 [value]
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def foreground(
    image: Any = None,
    /,
    *,
    method: Literal["otsu", "triangle", "value"] | Sweep | None = None,
    above: Number | None = None,
    bins: Integer | None = None,
    keep: Literal["largest", "all"] | Sweep | None = None,
    neighbors: Integer | None = None,
    holes: Literal["3d", "2d", "stay"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Make a mask of the object in an image: a threshold, its largest part, without holes.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    method: where the threshold comes from (default: otsu)
        - otsu: the threshold of `threshold` with `method: otsu`
        - triangle: that of `method: triangle`, for images that are mostly background
        - value: `above`
    above: values above this one are foreground, with method value [value] (default: 0)
    bins: bins of the threshold's histogram, for 32-bit integers and floats (default: 256)
    keep: what is kept of the values above it (default: largest)
        - largest: the largest connected part
        - all: all of it
    neighbors: which voxels are connected: 6, 18 or 26, as in `components` [1] (default: 6)
    holes: which holes are filled, after that (default: 3d)
        - 3d: holes that are closed on all sides are filled
        - 2d: holes of each slice are filled, such as the air in a windpipe
        - stay: holes stay
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def crop(
    image: Any = None,
    /,
    *,
    x: Numbers | None = None,
    y: Numbers | None = None,
    z: Numbers | None = None,
    unit: Literal["pixel", "mm", "patient"] | Sweep | None = None,
    above: Number | None = None,
    below: Number | None = None,
    mask: Reference | None = None,
    margin: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """A box of a volume, by indices or by positions in mm.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    x: the range along x in `unit`: [first, end), or [low, high] in mm. Without it all of the axis stays
    y: the range along y in `unit`: [first, end), or [low, high] in mm. Without it all of the axis stays
    z: the range along z in `unit`: [first, end), or [low, high] in mm. Without it all of the axis stays
    unit: the unit of the ranges, and of the margin (default: pixel)
        - pixel: [first, end): indices from 0, of which `end` is the first that is dropped
        - mm: [low, high]: pixels stay whose centers are within, by their positions along the axis
        - patient: [low, high] in mm: the same by the positions that the output file has, in the patient
    above: the ranges that are not given are those of the smallest box of the pixels above this value [value]
    below: the same of the pixels below this value; with `above`, of those between the two [value]
    mask: the same of the pixels where this image of the same shape is not 0; with `above` or `below`, of those that both
        choose; absent: all
    margin: how far the box that is found is widened to every side, as far as the image reaches (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def reorient(
    image: Any = None,
    /,
    *,
    to: str | float,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Exchange and reverse axes, so that x, y and z rise to named sides of the patient.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    to: three letters, to which side x, y and z rise: R or L (right, left), A or P (anterior, posterior), S or I (superior,
        inferior), in any order: RAS, LPS, LAS, PIR
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def resample(
    image: Any = None,
    /,
    *,
    spacing: Numbers | None = None,
    shape: Numbers | None = None,
    like: Reference | None = None,
    convention: Literal["center", "itk", "scipy_zoom", "skimage_resize", "nnunet", "totalsegmentator"] | Sweep | None = None,
    interpolation: Literal["nearest", "linear", "cubic", "bspline3", "labels"] | Sweep | None = None,
    antialias: bool | None = None,
    outside: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """A volume with other voxels: of a spacing, in a number, or on the grid of another image.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    spacing: distance of neighboring voxels: one number for all axes, [x, y] for those of a slice, or [x, y, z] [mm]
    shape: number of voxels, [x, y] or [x, y, z], over the same field [pixel]
    like: an image whose grid the output gets; it may have any shape and orientation, and is not read
    convention: where the new voxels are, how their number is rounded, and what is beyond the outermost ones (default:
        center)
        - center: both grids have the same middle, and voxels of just `spacing`
        - itk: the same positions; bspline3 mirrors the volume at its outermost centers, as ITK does
        - scipy_zoom: the centers of the outermost voxels stay where they are: scipy.ndimage.zoom
        - skimage_resize: the edges stay where they are, the volume is mirrored at its outermost centers, and values
          are clipped to its range: skimage.transform.resize
        - nnunet: the edges stay, the outermost samples are repeated, and values are clipped; if the largest spacing,
          old or new, is more than 3 times the smallest, slices are resized one by one, and taken from the nearest
          along z: nnU-Net's resampling for preprocessing
        - totalsegmentator: as scipy_zoom, with the outermost samples repeated: TotalSegmentator's change of spacing
    interpolation: how values between samples are made (default: linear; bspline3 with scipy_zoom, nnunet and
        totalsegmentator; nearest for masks and labels, and with nnunet labels)
        - nearest: the nearest sample; halfway between two, the one of the larger index
        - linear: linear along each axis, from 8 samples in all
        - cubic: Keys' cubic convolution with a = -1/2 (Catmull-Rom) along each axis, from 64 samples; sharper, and may
          overshoot at edges
        - bspline3: the cubic B-spline through the samples: order 3 of SciPy, scikit-image and ITK; sharper still, and
          overshoots more
        - labels: the label that has at least half of the linear weights, of two with half the larger, or 0 if none has
    antialias: smooth axes that get fewer voxels first, as scikit-image does: Gaussian of (n/N - 1)/2 samples; with
        convention skimage_resize (default: false)
    outside: the value of pixels beyond the edges of the input [value] (default: that of air: -1000 of hu, else 0) (default
        in chains of version 1: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def unshear(
    image: Any = None,
    /,
    *,
    interpolation: Literal["nearest", "linear", "cubic"] | Sweep | None = None,
    outside: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Slices of a tilted gantry, shifted so that they are straight over each other.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    interpolation: how values between samples are made (default: nearest for masks and labels, else linear)
        - nearest: the nearest sample; halfway between two, the one of the larger index
        - linear: linear along each axis, from 8 samples in all
        - cubic: Keys' cubic convolution with a = -1/2 (Catmull-Rom) along each axis, from 64 samples; sharper, and may
          overshoot at edges
    outside: the value of pixels beyond the edges of the input [value] (default: that of air: -1000 of hu, else 0) (default
        in chains of version 1: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def box(
    image: Any = None,
    /,
    *,
    radius: Integer,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    method: Literal["auto", "direct", "running-sum", "unrolled", "separable", "tile", "fused", "texture"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Mean over a square or cubic window.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    radius: half width: the window is 2 radius + 1 samples along each axis [pixel]
    dimensions: the axes that the window covers (default: 2d)
        - 2d: along y and x, slice by slice
        - 3d: along z, y and x, in samples: not corrected for their spacing
    border: the values of samples outside the image. The word reflect means two things among tools: here it is
        scipy.ndimage's, which repeats the edge sample (default: reflect)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: the value outside with border: constant; one that the image's dtype can hold [value] (default: 0)
    method: how the sums are made; integer results are the same for all (default: auto)
        - auto: by dtype and radius; on every CUDA device what was fastest on an H200
        - direct: adds the samples of each window anew
        - running-sum: carries sums from sample to sample; the cost does not depend on the radius
        - unrolled: adds the samples of each window in loops of a fixed length; for radius 1
        - separable: one pass an axis, each pixel adds the samples of its line
        - tile: adds tile by tile: on a CUDA device in shared memory, which the tile with its halo must fit, on the CPU
          in the cache
        - fused: reads and writes each pixel once; in 3d for a radius of at most 8, and not of 32-bit integers
        - texture: as running-sum, with the rows read through the texture unit; in 2d
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def convolve(
    image: Any = None,
    /,
    *,
    kernel: Literal["custom", "low-pass-4", "low-pass-8", "low-pass-5x5", "gaussian-3x3", "gaussian-5x5", "high-pass-4", "high-pass-8", "high-pass-5x5", "sharpen-4", "sharpen-8", "sharpen-5x5", "laplacian-4", "laplacian-8", "log-5x5", "sobel-x", "sobel-y", "sobel-magnitude", "sobel-x-5x5", "sobel-y-5x5"] | Sweep,
    weights: Numbers | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Weighted sum over the neighborhood of each pixel: low-pass, high-pass, Sobel, Laplacian, or a given kernel.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    kernel: a kernel by name, or custom
        - custom: the parameter `weights`
        - low-pass-4: mean of a pixel and its 4 neighbors
        - low-pass-8: mean of a pixel and its 8 neighbors
        - low-pass-5x5: mean of 5 x 5 pixels
        - gaussian-3x3: [1 2 1] both ways, /16
        - gaussian-5x5: [1 4 6 4 1] both ways, /256
        - high-pass-4: the image minus low-pass-4
        - high-pass-8: the image minus low-pass-8
        - high-pass-5x5: the image minus low-pass-5x5
        - sharpen-4: the image minus laplacian-4
        - sharpen-8: the image minus laplacian-8
        - sharpen-5x5: twice the image minus gaussian-5x5 (unsharp mask)
        - laplacian-4: the 4 neighbors minus 4 times the pixel, as scipy.ndimage.laplace
        - laplacian-8: the 8 neighbors minus 8 times the pixel
        - log-5x5: Laplacian of a Gaussian, center -16; negative on bright spots
        - sobel-x: slope along x, as scipy.ndimage.sobel(axis=-1)
        - sobel-y: slope along y, as scipy.ndimage.sobel(axis=-2)
        - sobel-magnitude: sqrt(sobel-x^2 + sobel-y^2)
        - sobel-x-5x5: [1 4 6 4 1] along y, [-1 -2 0 2 1] along x, as cv2.Sobel(ksize=5)
        - sobel-y-5x5: the same, transposed
    weights: the weights of a custom kernel, top row first: [[1, 0, -1], [2, 0, -2], [1, 0, -1]]; an odd number of rows and
        of columns, at most 31; one list is one row
    border: the values of samples outside the image. The word reflect means two things among tools: here it is
        scipy.ndimage's, which repeats the edge sample (default: reflect)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: the value outside with border: constant; one that the image's dtype can hold [value] (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def gaussian(
    image: Any = None,
    /,
    *,
    sigma: Numbers,
    unit: Literal["pixel", "mm"] | Sweep | None = None,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    truncate: Number | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    method: Literal["auto", "separable", "fused"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Smoothing by a Gaussian in 2D or 3D.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    sigma: standard deviation of the Gaussian in `unit`: one number for all axes, or one for each, [x, y] in 2d and [x, y,
        z] in 3d; 0 leaves an axis as it is
    unit: the unit of `sigma` (default: pixel)
        - pixel: samples of the axis, whatever their spacing
        - mm: millimeters, which the spacing of each axis turns into samples
    dimensions: the axes that are smoothed (default: 2d)
        - 2d: along y and x, slice by slice
        - 3d: along z, y and x
    truncate: where the Gaussian is cut off: its radius is floor(truncate * sigma + 1/2) samples, at most 1024 [1]
        (default: 4)
    border: the values of samples outside the image. The word reflect means two things among tools: here it is
        scipy.ndimage's, which repeats the edge sample (default: reflect)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: the value outside with border: constant; one that the image's dtype can hold [value] (default: 0)
    method: how the sums are made (default: auto)
        - auto: what was measured as fastest
        - separable: one pass an axis
        - fused: reads and writes each pixel once; for a radius of at most 8 along each axis
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def statistics(
    image: Any = None,
    /,
    *,
    percentiles: Numbers | None = None,
    ddof: Integer | None = None,
    scope: Literal["volume", "slice", "series"] | Sweep | None = None,
    method: Literal["auto", "fan-in", "two-level"] | Sweep | None = None,
    percentile_method: Literal["auto", "histogram", "sort"] | Sweep | None = None,
    noise: Literal["none", "immerkaer", "wavelet", "both"] | Sweep | None = None,
    mask: Reference | None = None,
    labels: Reference | None = None,
    n_labels: Integer | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Count, range, sum, mean, variance, product and percentiles; the image passes on.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    percentiles: list of at most 16 percentiles, 50 for the median; absent: none [%]
    ddof: the variance divides by count - ddof: 0 for the image itself, 1 to estimate from a sample (default: 0)
    scope: numbers of the volume, or of every slice (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
        - series: all slices of all volumes together; every volume is then read once more for it
    method: how the sums and products of a slice of 32-bit integers or floats are joined; 8- and 16-bit integers follow
        from the counts of their values (default: auto)
        - auto: the faster one, two-level
        - fan-in: halving with stride, value by value: 0 with 128, 1 with 129, ...; depth log2(n)
        - two-level: runs of about sqrt(n) values one after the other, then their results fan in
    percentile_method: how percentiles of 32-bit integers and floats are found (default: auto)
        - auto: the faster one, histogram
        - histogram: counts the upper, then the lower halves of the values' order keys
        - sort: radix sort; takes `scope: slice`, and 8 bytes of memory a value of a slice
    noise: estimates of the standard deviation of white noise, from each slice's finest detail (default: none)
        - none: no estimate
        - immerkaer: the mean size of the second differences along x and y (Immerkaer, 1996)
        - wavelet: the median size of the finest diagonal wavelet coefficients (Donoho and Johnstone, 1994)
        - both: both of them
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    labels: an image of integers of the same shape: numbers of the values under each label; absent: none
    n_labels: labels 0 to n_labels - 1 have a row each, of which 0 is mostly the background; of `other_labels` only the
        pixels are counted (default: 256)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def histogram(
    image: Any = None,
    /,
    *,
    bins: Integer | None = None,
    range: Numbers | None = None,
    limits: Literal["data", "dtype"] | Sweep | None = None,
    scope: Literal["volume", "slice", "series"] | Sweep | None = None,
    method: Literal["auto", "global", "sub-histogram", "shared", "occupancy", "warp-tagged", "lane-private", "sampled"] | Sweep | None = None,
    merge: Literal["auto", "atomic", "fan-in", "two-level"] | Sweep | None = None,
    reference: Reference | None = None,
    labels: Reference | None = None,
    n_labels: Integer | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Count values in bins of equal width; the image passes on.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    bins: number of bins (default: 256)
    range: [low, high] between the outer edges; values outside are counted apart; absent: `limits` decides [value]
    limits: where the outer edges come from without `range`; with dtype the upper edge is the highest value + 1, so that
        every bin holds equally many values (default: data)
        - data: the smallest and the largest finite value of the image
        - dtype: the lowest and the highest value of the type
    scope: one histogram of the volume, or one of every slice (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
        - series: all slices of all volumes together; every volume is then read once more for it
    method: how values are counted; all give the same counts (default: auto)
        - auto: by type; on every CUDA device what was fastest on an H200
        - global: CUDA: atomic adds to one table in global memory; CPU: one table, a pixel at a time
        - sub-histogram: CUDA: a table in global memory for every strip of columns, which one block goes down; CPU: a
          table for every strip of 512 columns, which a thread goes down; then their sum
        - shared: CUDA: a table in shared memory for every part of the image; CPU: a table that stays in the cache for
          every part of 65,536 pixels; then their sum
        - occupancy: CUDA: as shared, but with as many blocks as the device holds at once, whose threads take several
          rows; CPU: one table for a thread, which takes four rows at a time
        - warp-tagged: a few tables for every warp, written without atomics: counts carry the lane's number in their
          top 5 bits, and a lane whose number did not stay tries again (Podlozhnyuk 2007)
        - lane-private: CUDA: a table in shared memory for every lane of a warp, without bank conflicts; CPU:
          neighboring pixels have tables of their own, of which there are eight for 8 bits, two for 16, and four for
          bins
        - sampled: 16-bit integers only. CUDA: a table for the range that a sample spans, in copies for the lanes, or
          packed 16-bit counts of all values; CPU: a table for the range of each 65,536 pixels, in as many copies as a
          sample calls for
    merge: how the tables of blocks, warps or strips become one, with the methods that have such; all give the same counts
        (default: auto)
        - auto: what was fastest on an H200: atomic
        - atomic: tables, or sums of 16, are added to the result with atomic adds
        - fan-in: halving with stride, table by table: 0 with 128, 1 with 129, ... of 256
        - two-level: runs of tables one after the other, then their sums fan in
    reference: an image whose histogram is taken in the same bins, and the distances to it; absent: none
    labels: an image of integers of the same shape: one histogram for the values under each label; absent: none
    n_labels: labels 0 to n_labels - 1 have a histogram each; values under any other label are counted together; (n_labels
        + 1) (bins + 3) counts, at most 536870912, are held in memory (default: 256)
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def equalize(
    image: Any = None,
    /,
    *,
    method: Literal["skimage", "opencv"] | Sweep | None = None,
    bins: Integer | None = None,
    scope: Literal["volume", "slice", "series"] | Sweep | None = None,
    reference: Reference | None = None,
    mask: Reference | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Histogram equalization, or matching to the histogram of another image.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    method: whose rule, and with it the type of the result (default: skimage)
        - skimage: share of values that are v or below, as f32 in [0, 1] (skimage.exposure.equalize_hist)
        - opencv: round((below(v) - c0) * (levels - 1) / (n - c0)) in the image's own 8- or 16-bit type, levels 256 or
          65536, c0 the count of the lowest value (cv::equalizeHist; signed types start at their lowest value): of 256
          levels in single precision as OpenCV does, of 65536 exactly with ties to even
    bins: bins between the smallest and the largest value of floats, and of 32-bit integers that span more than 65,536
        values; other integers are counted value by value (default: the number of values of an 8- or 16-bit type; else 256,
        or 65536 with `reference`)
    scope: one histogram of the volume, or one of every slice (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
        - series: all slices of all volumes together; every volume is then read once more for it
    reference: an image whose histogram (of all its slices) the result shall have, in its values and unit
        (skimage.exposure.match_histograms); absent: none
    mask: an image of the same shape: only pixels where it is not 0 are counted; absent: all
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def compare(
    image: Any = None,
    /,
    *,
    reference: Reference,
    data_range: Number,
    window: Literal["uniform", "gaussian"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Largest difference, RMS, PSNR and SSIM against a reference image.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    reference: the image that is taken as the truth, of the same shape, spacing and unit
    data_range: how far apart values can be, for PSNR and SSIM: 2000 if HU from -1000 to 1000 matter, 255 of u8 [value]
    window: the window in which SSIM compares means and variances (default: uniform)
        - uniform: 7 x 7 pixels of equal weight
        - gaussian: 11 x 11 pixels, weighted by a Gaussian of sigma 1.5 pixels, as in the paper
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def clahe(
    image: Any = None,
    /,
    *,
    method: Literal["skimage", "opencv"] | Sweep | None = None,
    clip_limit: Number | None = None,
    tiles_y: Integer | None = None,
    tiles_x: Integer | None = None,
    kernel_y: Integer | None = None,
    kernel_x: Integer | None = None,
    bins: Integer | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Contrast-limited adaptive histogram equalization, slice by slice.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    method: whose rule, and with it the meaning of clip_limit and the type of the result (default: skimage)
        - skimage: skimage.exposure.equalize_adapthist: any dtype to f32 in [0, 1]
        - opencv: cv2.createCLAHE: u8 and u16, which stay what they are
    clip_limit: where peaks of a tile's histogram are cut: with skimage as a share of its pixels, with opencv as a multiple
        of the mean count of a bin; above 0; infinite: nowhere (default: 0.01 with method: skimage, 40 with method: opencv)
    tiles_y: tiles along y (opencv) (default: 8 with method: opencv; not used with skimage)
    tiles_x: tiles along x (opencv) (default: 8 with method: opencv; not used with skimage)
    kernel_y: height of a tile (skimage) [pixel] (default: 1/8 of the rows, rounded down, at least 1, with method: skimage;
        not used with opencv)
    kernel_x: width of a tile (skimage) [pixel] (default: 1/8 of the columns, rounded down, at least 1, with method:
        skimage; not used with opencv)
    bins: bins of a tile's histogram (skimage) (default: 256 with method: skimage; not used with opencv)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@scan_stage
def outliers(
    image: Any = None,
    /,
    *,
    size: Integer | None = None,
    threshold: Number,
    kind: Literal["bright", "dark", "both"] | Sweep | None = None,
    plane: Literal["projection", "sinogram"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Replace zingers, hot and dead pixels by the median of their neighborhood.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    size: odd number of values along each side of the window [pixel] (default: 3)
    threshold: least difference from the median that makes an outlier; 0 is a median filter with kind both [value]
    kind: on which side of the median outliers are (default: bright)
        - bright: values above the median: zingers, hot pixels of projections
        - dark: values below the median: dead pixels
        - both: values on either side
    plane: the plane of the window (default: projection)
        - projection: neighbors in z and along the detector, each view by itself: the detector image that a zinger hits
        - sinogram: neighbors in view and along the detector, each z by itself
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@stage
def median(
    image: Any = None,
    /,
    *,
    radius: Integer | None = None,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    method: Literal["auto", "network", "histogram"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Median of a square or cubic window.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    radius: half width: the window has 2 radius + 1 values along each side [pixel] (default: 1)
    dimensions: whether the window is in a slice or spans slices as well (default: 2d)
        - 2d: a square in each slice
        - 3d: a cube, which also spans neighboring slices
    border: the values of samples outside the image. The word reflect means two things among tools: here it is
        scipy.ndimage's, which repeats the edge sample (default: reflect)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: the value outside with border: constant; one that the image's dtype can hold [value] (default: 0)
    method: how the median is found; the result is the same (default: auto)
        - auto: network for windows of at most 49 values, else histogram
        - network: a fixed network of comparisons: 3 x 3, 5 x 5, 7 x 7 and 3 x 3 x 3
        - histogram: on the CPU a histogram that slides with the window; on a CUDA device the counts of smaller values,
          bit by bit
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def nlm(
    image: Any = None,
    /,
    *,
    patch_size: Integer | None = None,
    patch_distance: Integer | None = None,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    h: Numbers | None = None,
    sigma: Numbers | None = None,
    estimate: Literal["immerkaer", "wavelet"] | Sweep | None = None,
    scope: Literal["volume", "slice"] | Sweep | None = None,
    noise: Literal["gaussian", "rician"] | Sweep | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Non-local means: the mean of the pixels whose surroundings look alike.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    patch_size: side of the patches that are compared, an odd number [pixel] (default: 5)
    patch_distance: how far the search window reaches along each axis: 2 patch_distance + 1 pixels [pixel] (default: 6)
    dimensions: whether the windows are in a slice or span slices as well (default: 2d)
        - 2d: patches and search windows are in a slice
        - 3d: both are cubes, which also span neighboring slices
    h: how fast the weight falls with the patches' difference; absent: 0.8 sigma [value]
    sigma: standard deviation of the noise, 0 to subtract nothing; absent: estimated from the image [value]
    estimate: how sigma is estimated (default: wavelet)
        - immerkaer: the mean size of the second differences, as the table of `statistics`
        - wavelet: the median size of the wavelet coefficients, as the table of `statistics`
    scope: whether sigma is estimated once for the volume, or for every slice (default: volume)
        - volume: all slices together; of a series of volumes, each volume by itself
        - slice: each slice (index of the first axis) by itself
    noise: what kind of noise the values have (default: gaussian)
        - gaussian: the mean of the values
        - rician: for magnitudes of MR: the root of the mean of the squares less 2 sigma^2, which is their bias
    border: the values of samples outside the image. The word reflect means two things among tools: here it is
        scipy.ndimage's, which repeats the edge sample (default: mirror)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: the value outside with border: constant; one that the image's dtype can hold [value] (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@scan_stage
def bad_pixels(
    image: Any = None,
    /,
    *,
    highest: Number | None = None,
    lowest: Number | None = None,
    columns: Literal["find", "all", "keep"] | Sweep | None = None,
    ratio: Number | None = None,
    rows: Integer | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Fill gaps, dead, hot, saturated and NaN pixels of projections from their neighbors.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    highest: values from this one on are saturated [value] (default: the largest value of an integer type, infinity for
        floats)
    lowest: values below this one are marks, such as the -1 and -2 of some detectors [value] (default: 0 for counts of a
        signed integer type, else -infinity)
    columns: what is done about detector pixels that do not change from view to view (default: find)
        - find: those that have the same value in all views are dead, if they are between others
        - all: those that have the same value in all views are dead: at the ends of a row as well, and where the whole
          row has
        - keep: a constant detector pixel is taken as it is
    ratio: a detector pixel is hot if its mean over the views is this many times the median of the 10 beside it, and dead
        if it is this many times smaller; infinity: none is
    rows: how far away the slices may be from which a slice without a good pixel is filled (default: 2)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def flat_field(
    image: Any = None,
    /,
    *,
    flats: Reference,
    darks: Reference | None = None,
    combine: Literal["mean", "median", "clean"] | Sweep | None = None,
    dead: Literal["nearest", "nan"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Divide counts by the flat field, less the dark.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; counts.

    flats: frames with the beam and without the object: as many rows and detector pixels as the projections
    darks: frames without the beam; absent: darks of 0
    combine: how the frames of the flats, and those of the darks, become one (default: mean)
        - mean: their mean: the least noise
        - median: their median, of an even number the mean of the middle two: single outliers do not count
        - clean: their mean, without the frames that are brighter at a pixel than noise explains: of two frames as well
    dead: what a detector pixel gives whose flat is not above its dark, in every view (default: nearest)
        - nearest: the transmission of the nearest pixel of the detector row that is not dead, the left one of two; NaN
          where the whole row is dead
        - nan: NaN
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def air(
    image: Any = None,
    /,
    *,
    detectors: Integer,
    dark: Number | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Divide projections by the beam beside the object, for scans without flats.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; counts, transmission, intensity.

    detectors: how many of the outermost detector pixels, on the left and on the right, never see the object [detector]
    dark: what a detector gives without the beam [value] (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@stage
def minus_log(
    image: Any = None,
    /,
    *,
    nonpositive: Literal["error", "floor", "nan"] | Sweep | None = None,
    floor: Number | None = None,
    nonfinite: Literal["error", "nan"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Transmission to line integrals, -log(t).

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type f32; transmission.

    nonpositive: what happens to zero and negative transmissions, which have no logarithm (default in chains of version 1:
        error) (default: floor)
        - error: the run fails, and says how many there are and where the first one is
        - floor: every value below `floor` is taken as `floor`, small positive ones too
        - nan: they become NaN
    floor: with nonpositive floor: the smallest transmission [1] (default: 1e-06)
    nonfinite: what happens to transmissions that are NaN or infinite (default: error)
        - error: the run fails, and says how many there are and where the first one is
        - nan: they become NaN
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def noise(
    image: Any = None,
    /,
    *,
    photons: Number,
    electronic: Number | None = None,
    seed: Integer | None = None,
    nonpositive: Literal["floor", "nan"] | Sweep | None = None,
    floor: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The noise of counted photons and of electronics, on a simulated scan.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type f32; transmission, line_integral.

    photons: photons that reach a detector pixel in one view without the object
    electronic: standard deviation, in photons, of the noise of the electronics, which is added to every count (default: 0)
    seed: which series of random numbers: equal seeds give equal numbers, so that two scans need two (default: 0)
    nonpositive: of line integrals: what happens to counts of 0 and below, which have no logarithm (default: floor)
        - floor: every count below `floor` is taken as `floor`, small positive ones too
        - nan: counts at or below 0 become NaN
    floor: of line integrals, with nonpositive floor: the smallest count, in photons (default: 1)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@scan_stage
def flip(
    image: Any = None,
    /,
    *,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The detector pixels of a sinogram in the opposite order.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def center(
    image: Any = None,
    /,
    *,
    method: Literal["auto", "sinogram", "opposite", "overlap", "mass", "given"] | Sweep | None = None,
    center: Number | None = None,
    convention: Literal["pixel", "edge", "offset", "shift"] | Sweep | None = None,
    slice: Integer | None = None,
    search: Number | None = None,
    truncated: Literal["auto", "opposite", "keep"] | Sweep | None = None,
    strip: bool | None = None,
    strip_sides: Integer | None = None,
    strip_step: Number | None = None,
    strip_size: Integer | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Find the rotation axis on the detector, or set it; the image passes on.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; counts, transmission,
    line_integral, intensity.

    method: where the center comes from (default: auto)
        - auto: given where `center` is, else sinogram
        - sinogram: half a turn is completed with its own mirror image; the right center leaves the least outside of
          the double wedge of the Fourier transform (N. T. Vo and others, 2014)
        - opposite: correlates views that are half a turn apart, one of them mirrored
        - overlap: of a whole turn whose axis may be near an end of the detector (half acquisition): all views, and how
          well what they and their opposites both see agrees
        - mass: fits a sine to the centers of mass of the views, at any angles; the detector has to see the whole
          object
        - given: the value of `center`
    center: index of the detector pixel, from 0, that sees the rotation axis; pixel centers are whole numbers [detector]
        (default: found while the chain runs: see the tables)
    convention: whose number `center` is; the result's record holds the index of the pixel in its place (default: pixel)
        - pixel: an index, pixel centers are whole numbers: TomoPy, HTTomo, LEAP, scikit-image (whose axis is n // 2)
        - edge: edges of pixels are whole numbers, the index is half less: UFO and tofu
        - offset: detector pixels from the middle of the row to the axis: the index is (n - 1) / 2 more
        - shift: detector pixels by which the detector is moved, as in ASTRA's geom_postalignment: minus `offset`
    slice: the slice (detector row) that is searched, from 0 (default: the middle: (nz - 1) / 2)
    search: how far from the middle of the detector row, (n - 1) / 2, on both sides [detector] (default: a quarter of the
        detector pixels; of overlap nearly half of them)
    truncated: what method sinogram does about a slice whose object the detector cuts off; with auto, opposite views of a
        whole turn always take part (default: auto)
        - auto: keep, unless `method` is auto and there are 8 pairs of opposite views, or fewer that deviate less than
          the two centers differ and less than that of sinogram may be off; of half acquisition, that of overlap
        - opposite: the center that `method: opposite` finds takes the place of that of sinogram
        - keep: the center stays the one that `method` finds
    strip: whether a picture of the slice, reconstructed about trial centers side by side, is saved: a table (default:
        false)
    strip_sides: trial centers in the strip on each side of the center (default: 3)
    strip_step: between neighboring trial centers in the strip [detector] (default: 1)
    strip_size: side of a tile of the strip, about the rotation axis; a pixel is as wide as a detector pixel [pixel]
        (default: the number of detector pixels, from 64 to 256)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def ring(
    image: Any = None,
    /,
    *,
    method: Literal["sorting", "fourier-wavelet"] | Sweep | None = None,
    size: Integer | None = None,
    wavelet: Literal["db1", "db2", "db3", "db4", "db5", "db6", "db7", "db8", "db9", "db10", "db15", "db20", "db25"] | Sweep | None = None,
    level: Integer | None = None,
    sigma: Number | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Take stripes out of sinograms, which become rings in a reconstruction.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    method: how stripes are told from the object (default: sorting)
        - sorting: median over neighboring detector pixels of the sorted values (Vo, Atwood, Drakopoulos, 2018)
        - fourier-wavelet: lowest frequencies along the views of what varies along the detector (Muench, Trtik, Marone,
          Stampanoni, 2009)
    size: sorting: odd number of detector pixels in the median; more than twice the width of the widest stripe [detector]
        (default: 1 % of the detector pixels, odd, at least 5; 21 for more than 2,000)
    wavelet: fourier-wavelet: the wavelet; longer ones tell stripes from the object more sharply (default: db5)
        - db1: the wavelet of A. Haar: one vanishing moment, 2 coefficients
        - db2: 2 vanishing moments, 4 coefficients
        - db3: 3 vanishing moments, 6 coefficients
        - db4: 4 vanishing moments, 8 coefficients
        - db5: 5 vanishing moments, 10 coefficients
        - db6: 6 vanishing moments, 12 coefficients
        - db7: 7 vanishing moments, 14 coefficients
        - db8: 8 vanishing moments, 16 coefficients
        - db9: 9 vanishing moments, 18 coefficients
        - db10: 10 vanishing moments, 20 coefficients
        - db15: 15 vanishing moments, 30 coefficients
        - db20: 20 vanishing moments, 40 coefficients
        - db25: 25 vanishing moments, 50 coefficients
    level: fourier-wavelet: number of levels; level l takes out stripes about 2^l detector pixels wide (default:
        floor(log2(n/(coefficients - 1))) of the shorter side n, at least 1)
    sigma: fourier-wavelet: width of the damping, in periods over all views; larger takes out shorter stripes (default: 2)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@stage
def to_attenuation(
    image: Any = None,
    /,
    *,
    water: Number,
    negative: Literal["zero", "keep"] | Sweep | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Hounsfield units to attenuation in 1/mm.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; hu.

    water: attenuation of water at the energy of the scan: 0.0206 at 60 keV, 0.0171 at 100 keV, 0.0151 at 150 keV (NIST
        XCOM) [1/mm]
    negative: what happens to values below -1000 HU, such as noise in air and padding (default: zero)
        - zero: values below -1000 HU become 0, as no matter has a negative attenuation; the table `negative` counts
          them
        - keep: they stay negative, so that the mean of noisy air stays as it is, and to_hu gives them back
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def radon(
    image: Any = None,
    /,
    *,
    beam: Literal["parallel", "fan-arc", "fan-flat"] | Sweep | None = None,
    source_axis: Number | None = None,
    source_detector: Number | None = None,
    views: Integer | None = None,
    start: Number | None = None,
    arc: Number | None = None,
    angles: Numbers | None = None,
    detectors: Integer | None = None,
    detector_spacing: Number | None = None,
    center: Number | None = None,
    method: Literal["auto", "joseph", "row-fan-in", "ray", "stack", "tensor", "tensor-split"] | Sweep | None = None,
    padding_value: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Parallel or fan-beam projections of every slice: volume to sinogram.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; attenuation, hu, intensity.

    beam: how the rays of a view run (default: parallel)
        - parallel: one direction a view
        - fan-arc: equiangular: detector pixels evenly along an arc around the source
        - fan-flat: equispaced: detector pixels evenly along a line at a right angle to the central ray
    source_axis: distance of the source from the rotation axis [mm] (default: none for a parallel beam; a fan needs it)
    source_detector: distance of the source from the detector, along the central ray [mm] (default: none for a parallel
        beam; a fan needs it)
    views: number of projection angles, evenly over the arc (default: the number of angles, else 180)
    start: angle of the first view [degree] (default: 0)
    arc: range of the angles, its end not included: view i is at start + i * arc / views [degree] (default: 180, or 360 for
        a fan)
    angles: the angles one by one, in place of views, start and arc; more than 8 within 2.8 to 6.6 degrees are an error,
        because radians look so [degree]
    detectors: number of detector samples (default: as many as the slice's diagonal takes, as the beam magnifies it; even
        or odd as its pixels are)
    detector_spacing: distance of neighboring detector samples, on the detector: along its line, or along its arc [mm]
        (default: the smaller pixel spacing, times source_detector / source_axis for a fan)
    center: detector index of the rotation axis, which is also the center of the slice [detector] (default: (detectors - 1)
        / 2)
    method: how the same sums over pixels are worked out (default: auto)
        - auto: joseph on the CPU; on every CUDA device what was fastest on an H200, ray or stack
        - joseph: 16 slices side by side; rows or columns in blocks that stay in the cache
        - row-fan-in: every 32 rows or columns are projected, pixel by pixel, into a vector of all detector pixels, and
          the vectors are summed by halving
        - ray: one thread walks along each ray
        - stack: 128 slices side by side, 4 rays a thread share their pixels
        - tensor: matrix products of weights and of pixels in half precision on tensor cores, from compute capability
          8.0 on; rays more than 16 pixels apart are followed as by ray
        - tensor-split: the same with each operand in two halves, as exact as single precision
    padding_value: the value that invalid pixels, such as a CT's padding, are taken for [value] (default: that of air:
        -1000 of hu, else 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@scan_stage
def stitch(
    image: Any = None,
    /,
    *,
    center: Number | None = None,
    detectors: Integer | None = None,
    blend: Literal["linear", "cosine"] | Sweep | None = None,
    interpolation: Literal["linear", "cubic"] | Sweep | None = None,
    between: Literal["few", "refuse", "interpolate"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Join opposite views of a whole turn whose axis is near the detector's edge: half a turn, twice as wide.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; transmission, line_integral; of
    the beams parallel.

    center: detector index of the rotation axis [detector] (default: where the sinogram's detector axis is 0)
    detectors: detector pixels of the result, the rotation axis within half a detector pixel of their middle [detector]
        (default: 2 n - 1 of n detector pixels, which holds all views of an axis anywhere)
    blend: how the weight of a view rises from 0 to 1 over the detector pixels that its opposite sees as well (default:
        linear)
        - linear: by the distance from the end of the view that is near the axis
        - cosine: (1 - cos(pi t)) / 2 of that weight t: flat at both ends
    interpolation: of opposites, whose detector pixels are between those of the views if 2 center is no whole number
        (default: linear)
        - linear: between two detector pixels
        - cubic: of four detector pixels, by R. G. Keys (1981): sharper
    between: what is done about a view whose opposite is between two views: lost views, odd numbers of views over a turn,
        angles that are not even (default: few)
        - few: as interpolate if at most one view in 10 needs it, as when views are lost; else an error
        - refuse: an error
        - interpolate: linear interpolation of the two views beside it, which smooths far from the axis
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def pad(
    image: Any = None,
    /,
    *,
    left: Integer | None = None,
    right: Integer | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """More detector pixels on both sides of a sinogram.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    left: detector pixels before the first [detector] (default: ceil(n*(sqrt(2) - 1)/2) of n detector pixels, which then
        cover the diagonal)
    right: detector pixels after the last [detector] (default: ceil(n*(sqrt(2) - 1)/2) of n detector pixels, which then
        cover the diagonal)
    border: what the new detector pixels hold. nearest is numpy's and TomoPy's edge, constant 0 their zeros; the values of
        samples outside the image. The word reflect means two things among tools: here it is scipy.ndimage's, which repeats
        the edge sample (default: nearest)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: with border constant: the value [value] (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@stage
def circle(
    image: Any = None,
    /,
    *,
    ratio: Number | None = None,
    value: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Keep the inside of a circle around the rotation center.

    Takes volumes (z, y, x); values of type u8, i8, u16, i16, u32, i32, f32; any quantity.

    ratio: diameter of the circle as a part of the shorter side of the slice; 1 is the inscribed circle (default: 1)
    value: what is written outside the circle [value] (default: that of air: -1000 of hu, else 0) (default in chains of
        version 1: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def to_hu(
    image: Any = None,
    /,
    *,
    water: Number,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Attenuation in 1/mm to Hounsfield units.

    Takes volumes (z, y, x); values of type f32; attenuation.

    water: attenuation of water at the energy of the scan: 0.0206 at 60 keV, 0.0171 at 100 keV, 0.0151 at 150 keV (NIST
        XCOM); or the mean of a region of water in this image [1/mm]
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@scan_stage
def filter(
    image: Any = None,
    /,
    *,
    filter: Literal["ramp", "shepp-logan", "cosine", "hamming", "hann", "parzen", "none"] | Sweep | None = None,
    cutoff: Number | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """The filters of filtered backprojection, along the rows of a sinogram.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; line_integral, intensity; of the
    beams parallel.

    filter: the ramp and the window that damps its high frequencies (default: ramp)
        - ramp: the band-limited ramp (Ramachandran and Lakshminarayanan, 1971): sharpest, noisiest
        - shepp-logan: ramp times sin(pi u / 2) / (pi u / 2) (Shepp and Logan, 1974)
        - cosine: ramp times cos(pi u / 2)
        - hamming: ramp times 0.54 + 0.46 cos(pi u)
        - hann: ramp times (1 + cos(pi u)) / 2
        - parzen: ramp times 1 - 6 u u (1 - u) up to u = 1/2, 2 (1 - u)^3 beyond: smoothest (Parzen, 1961)
        - none: no filter: rows stay as they are, and cutoff plays no part
    cutoff: fraction of the Nyquist frequency from which on all is 0; windows reach their end there [1] (default: 1)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def backproject(
    image: Any = None,
    /,
    *,
    model: Literal["joseph", "linear"] | Sweep | None = None,
    weights: Literal["none", "angles"] | Sweep | None = None,
    gaps: Literal["refuse", "accept"] | Sweep | None = None,
    rows: Integer | None = None,
    columns: Integer | None = None,
    pixel_size: Number | None = None,
    row_spacing: Number | None = None,
    center: Number | None = None,
    method: Literal["auto", "lanes", "pixel", "stack", "tensor", "tensor-split"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Backprojection, unfiltered: sinogram to volume.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; line_integral, intensity.

    model: which detector pixels count for a pixel, and how much (default: joseph)
        - joseph: the exact adjoint of `radon`: its weights with pixel and ray exchanged
        - linear: pixel-driven: linear interpolation between the two detector pixels beside the pixel's place
    weights: how much each view counts (default: none)
        - none: every view counts the same
        - angles: each view by half the angle between its neighbors modulo 180 degrees, in radian: an integral over
          angles
    gaps: if the angles look like radians; with weights also if neighboring views are more than 4 times their mean angle
        apart (default: refuse)
        - refuse: an error: no filter makes up for views that are missing
        - accept: the views beside a gap count for it; expect streaks
    rows: rows of the volume's slices (default: the number of detector pixels)
    columns: columns of the volume's slices (default: the number of detector pixels)
    pixel_size: distance of neighboring columns [mm] (default: the detector spacing, times source_axis / source_detector in
        a fan)
    row_spacing: distance of neighboring rows [mm] (default: pixel_size)
    center: detector index of the rotation axis, which becomes the center of the slices [detector] (default: where the
        sinogram's detector axis is 0)
    method: how the same sums over views are worked out (default: auto)
        - auto: lanes on the CPU; on a CUDA device pixel for fewer than 6 slices, 5 of a fan; tensor-split from 32
          slices of a parallel beam on, if the device and the sizes allow it; else stack
        - lanes: 16 slices side by side; a few views at a time stay in the cache
        - pixel: one thread a pixel of a slice goes through all views
        - stack: 128 slices side by side, 4 pixels a thread share their detector pixels
        - tensor: matrix products of weights and of detector pixels in half precision on tensor cores, from compute
          capability 8.0 on
        - tensor-split: the same with each operand in two halves, as exact as single precision
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def fbp(
    image: Any = None,
    /,
    *,
    filter: Literal["ramp", "shepp-logan", "cosine", "hamming", "hann", "parzen", "none"] | Sweep | None = None,
    cutoff: Number | None = None,
    gaps: Literal["refuse", "accept"] | Sweep | None = None,
    rows: Integer | None = None,
    columns: Integer | None = None,
    pixel_size: Number | None = None,
    row_spacing: Number | None = None,
    center: Number | None = None,
    method: Literal["auto", "lanes", "pixel", "stack", "tensor", "tensor-split"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Filtered backprojection of parallel and fan beams: sinogram to volume.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; line_integral.

    filter: the ramp and the window that damps its high frequencies (default: ramp)
        - ramp: the band-limited ramp (Ramachandran and Lakshminarayanan, 1971): sharpest, noisiest
        - shepp-logan: ramp times sin(pi u / 2) / (pi u / 2) (Shepp and Logan, 1974)
        - cosine: ramp times cos(pi u / 2)
        - hamming: ramp times 0.54 + 0.46 cos(pi u)
        - hann: ramp times (1 + cos(pi u)) / 2
        - parzen: ramp times 1 - 6 u u (1 - u) up to u = 1/2, 2 (1 - u)^3 beyond: smoothest (Parzen, 1961)
        - none: no filter: rows stay as they are, and cutoff plays no part
    cutoff: fraction of the Nyquist frequency from which on all is 0; windows reach their end there [1] (default: 1)
    gaps: if neighboring views are more than 4 times their mean angle apart (default: refuse)
        - refuse: an error: no filter makes up for views that are missing
        - accept: the views beside a gap count for it; expect streaks
    rows: rows of the volume's slices (default: the number of detector pixels)
    columns: columns of the volume's slices (default: the number of detector pixels)
    pixel_size: distance of neighboring columns [mm] (default: the detector spacing, times source_axis / source_detector in
        a fan)
    row_spacing: distance of neighboring rows [mm] (default: pixel_size)
    center: detector index of the rotation axis, which becomes the center of the slices [detector] (default: where the
        sinogram's detector axis is 0)
    method: how the same sums over views are worked out (default: auto)
        - auto: lanes on the CPU; on a CUDA device pixel for fewer than 6 slices, 5 of a fan; tensor-split from 32
          slices of a parallel beam on, if the device and the sizes allow it; else stack
        - lanes: 16 slices side by side; a few views at a time stay in the cache
        - pixel: one thread a pixel of a slice goes through all views
        - stack: 128 slices side by side, 4 pixels a thread share their detector pixels
        - tensor: matrix products of weights and of detector pixels in half precision on tensor cores, from compute
          capability 8.0 on
        - tensor-split: the same with each operand in two halves, as exact as single precision
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def rebin(
    image: Any = None,
    /,
    *,
    views: Integer | None = None,
    start: Number | None = None,
    detectors: Integer | None = None,
    detector_spacing: Number | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """A fan beam's sinogram as that of a parallel beam.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any quantity; of the beams fan-
    arc, fan-flat.

    views: number of views of the parallel beam, evenly over half a turn (default: the number of views)
    start: angle of the first view [degree] (default: 0)
    detectors: number of detector pixels of the parallel beam, the rotation axis in their middle (default: to where the
        longer side of the detector sees in a whole turn, the number of detector pixels in a short scan)
    detector_spacing: distance of neighboring detector pixels [mm] (default: that of the fan times source_axis /
        source_detector)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def fourier(
    image: Any = None,
    /,
    *,
    filter: Literal["ramp", "shepp-logan", "cosine", "hamming", "hann", "parzen", "none"] | Sweep | None = None,
    cutoff: Number | None = None,
    gaps: Literal["refuse", "accept"] | Sweep | None = None,
    interpolation: Literal["linear", "sinc"] | Sweep | None = None,
    rows: Integer | None = None,
    columns: Integer | None = None,
    pixel_size: Number | None = None,
    row_spacing: Number | None = None,
    center: Number | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Direct Fourier reconstruction of parallel beams: sinogram to volume.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; line_integral; of the beams
    parallel.

    filter: the ramp and the window that damps its high frequencies (default: ramp)
        - ramp: the band-limited ramp (Ramachandran and Lakshminarayanan, 1971): sharpest, noisiest
        - shepp-logan: ramp times sin(pi u / 2) / (pi u / 2) (Shepp and Logan, 1974)
        - cosine: ramp times cos(pi u / 2)
        - hamming: ramp times 0.54 + 0.46 cos(pi u)
        - hann: ramp times (1 + cos(pi u)) / 2
        - parzen: ramp times 1 - 6 u u (1 - u) up to u = 1/2, 2 (1 - u)^3 beyond: smoothest (Parzen, 1961)
        - none: no filter: rows stay as they are, and cutoff plays no part
    cutoff: fraction of the Nyquist frequency from which on all is 0; windows reach their end there [1] (default: 1)
    gaps: if neighboring views are more than 4 times their mean angle apart (default: refuse)
        - refuse: an error: no filter makes up for views that are missing
        - accept: the views beside a gap count for it; expect streaks
    interpolation: interpolation between two detector pixels: its spectrum is multiplied with that of a filtered row, which
        repeats itself beyond half a cycle a detector pixel (default: linear)
        - linear: lines, as in `fbp`, but for what their corners hold beyond 1 cycle a detector pixel: sinc(u)^2 up to
          u = 1
        - sinc: 1 up to u = 0.5: sharper and faster; ramp and shepp-logan leave waves beside edges
    rows: rows of the volume's slices (default: the number of detector pixels)
    columns: columns of the volume's slices (default: the number of detector pixels)
    pixel_size: distance of neighboring columns [mm] (default: the detector spacing)
    row_spacing: distance of neighboring rows [mm] (default: pixel_size)
    center: detector index of the rotation axis, which becomes the center of the slices [detector] (default: where the
        sinogram's detector axis is 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def sirt(
    image: Any = None,
    /,
    *,
    iterations: Integer | None = None,
    stop: Literal["never", "residual", "discrepancy"] | Sweep | None = None,
    tolerance: Number | None = None,
    noise: Number | None = None,
    relaxation: Number | None = None,
    nonnegative: bool | None = None,
    rows: Integer | None = None,
    columns: Integer | None = None,
    pixel_size: Number | None = None,
    row_spacing: Number | None = None,
    center: Number | None = None,
    method: Literal["auto", "lanes", "pixel", "stack", "tensor", "tensor-split"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Simultaneous iterative reconstruction: sinogram to volume.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; line_integral.

    iterations: number of iterations, at most (default: 100)
    stop: when a slice is done before all iterations (default: never)
        - never: after all iterations
        - residual: once the relative residual is at most `tolerance`
        - discrepancy: once the residual is what the noise makes: at most `noise` times the root of the number of rays
          (Morozov)
    tolerance: for stop residual: the part of the sinogram's norm at which a slice is done (default: 0.001)
    noise: for stop discrepancy: standard deviation of the sinogram's noise, in its unit [value] (default: none; stop
        discrepancy needs it)
    relaxation: factor of every step; less is slower and steadier, 2 and more does not converge (default: 1)
    nonnegative: whether values below 0 become 0 after every iteration (default: false)
    rows: rows of the volume's slices (default: the number of detector pixels)
    columns: columns of the volume's slices (default: the number of detector pixels)
    pixel_size: distance of neighboring columns [mm] (default: the detector spacing, times source_axis / source_detector in
        a fan)
    row_spacing: distance of neighboring rows [mm] (default: pixel_size)
    center: detector index of the rotation axis, which becomes the center of the slices [detector] (default: where the
        sinogram's detector axis is 0)
    method: how the same sums over views are worked out (default: auto)
        - auto: lanes on the CPU; on a CUDA device pixel for fewer than 6 slices, 5 of a fan; tensor-split from 32
          slices of a parallel beam on, if the device and the sizes allow it; else stack
        - lanes: 16 slices side by side; a few views at a time stay in the cache
        - pixel: one thread a pixel of a slice goes through all views
        - stack: 128 slices side by side, 4 pixels a thread share their detector pixels
        - tensor: matrix products of weights and of detector pixels in half precision on tensor cores, from compute
          capability 8.0 on
        - tensor-split: the same with each operand in two halves, as exact as single precision
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@scan_stage
def cgls(
    image: Any = None,
    /,
    *,
    iterations: Integer | None = None,
    stop: Literal["never", "residual", "discrepancy"] | Sweep | None = None,
    tolerance: Number | None = None,
    noise: Number | None = None,
    rows: Integer | None = None,
    columns: Integer | None = None,
    pixel_size: Number | None = None,
    row_spacing: Number | None = None,
    center: Number | None = None,
    method: Literal["auto", "lanes", "pixel", "stack", "tensor", "tensor-split"] | Sweep | None = None,
    angles: Sequence[float] | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Least-squares reconstruction by conjugate gradients: sinogram to volume.

    Takes sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; line_integral.

    iterations: number of iterations, at most (default: 20)
    stop: when a slice is done before all iterations (default: never)
        - never: after all iterations
        - residual: once the relative residual is at most `tolerance`
        - discrepancy: once the residual is what the noise makes: at most `noise` times the root of the number of rays
          (Morozov)
    tolerance: for stop residual: the part of the sinogram's norm at which a slice is done (default: 0.001)
    noise: for stop discrepancy: standard deviation of the sinogram's noise, in its unit [value] (default: none; stop
        discrepancy needs it)
    rows: rows of the volume's slices (default: the number of detector pixels)
    columns: columns of the volume's slices (default: the number of detector pixels)
    pixel_size: distance of neighboring columns [mm] (default: the detector spacing, times source_axis / source_detector in
        a fan)
    row_spacing: distance of neighboring rows [mm] (default: pixel_size)
    center: detector index of the rotation axis, which becomes the center of the slices [detector] (default: where the
        sinogram's detector axis is 0)
    method: how the same sums over views are worked out (default: auto)
        - auto: lanes on the CPU; on a CUDA device pixel for fewer than 6 slices, 5 of a fan; tensor-split from 32
          slices of a parallel beam on, if the device and the sizes allow it; else stack
        - lanes: 16 slices side by side; a few views at a time stay in the cache
        - pixel: one thread a pixel of a slice goes through all views
        - stack: 128 slices side by side, 4 pixels a thread share their detector pixels
        - tensor: matrix products of weights and of detector pixels in half precision on tensor cores, from compute
          capability 8.0 on
        - tensor-split: the same with each operand in two halves, as exact as single precision
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    angles: of the views of an array, in degrees; an Image has its own
    """


@stage
def tv(
    image: Any = None,
    /,
    *,
    weight: Number,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    method: Literal["auto", "chambolle", "primal-dual"] | Sweep | None = None,
    iterations: Integer | None = None,
    stop: Literal["never", "distance"] | Sweep | None = None,
    tolerance: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Total-variation denoising: flat regions with sharp edges.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    weight: how much the variation counts: differences below about this value are smoothed [value]
    dimensions: the axes along which the variation is counted (default: 2d)
        - 2d: each slice by itself
        - 3d: the volume as a whole, in samples: not corrected for their spacing
    method: how the minimum is sought; both come to the same one (default: auto)
        - auto: primal-dual
        - chambolle: Chambolle's projection of the dual field (2004), with the steps of scikit-image
        - primal-dual: the accelerated primal-dual method of Chambolle and Pock (2011)
    iterations: number of iterations, at most (default: 100)
    stop: when a slice, in 3d the volume, is done before all iterations (default: never)
        - never: after all iterations
        - distance: once the distance is at most `tolerance`, looked at after every 10 iterations
    tolerance: for stop distance: the root mean square by which the result may differ from the exact minimum [value]
        (default: none; stop distance needs it)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def bilateral(
    image: Any = None,
    /,
    *,
    sigma_color: Number,
    sigma_spatial: Number | None = None,
    radius: Integer | None = None,
    dimensions: Literal["2d", "3d"] | Sweep | None = None,
    border: Literal["reflect", "mirror", "nearest", "constant", "wrap"] | Sweep | None = None,
    constant: Number | None = None,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Mean weighted by distance and by difference of value: smooths, and keeps edges.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    sigma_color: standard deviation of the weight over differences of value: larger ones are edges [value]
    sigma_spatial: standard deviation of the weight over distance [pixel] (default: 1)
    radius: half width: the window has 2 radius + 1 values along each side [pixel] (default: 3 sigma_spatial, rounded up,
        at least 2)
    dimensions: whether the window is in a slice or spans slices as well (default: 2d)
        - 2d: a square in each slice
        - 3d: a cube, which also spans neighboring slices, in samples: not corrected for their spacing
    border: the values of samples outside the image. The word reflect means two things among tools: here it is
        scipy.ndimage's, which repeats the edge sample (default: reflect)
        - reflect: d c b a | a b c d | d c b a
        - mirror: d c b | a b c d | c b a
        - nearest: a a a a | a b c d | d d d d
        - constant: k k k k | a b c d | k k k k with k the parameter `constant`
        - wrap: a b c d | a b c d | a b c d
    constant: the value outside with border: constant; one that the image's dtype can hold [value] (default: 0)
    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@stage
def save(
    image: Any = None,
    /,
    *,
    name: str | None = None,
    input: str | None = None,
) -> Any:
    """Keep the image at this place of the chain in the output file.

    Takes volumes (z, y, x) and sinograms (z, view, detector); values of type u8, i8, u16, i16, u32, i32, f32; any
    quantity.

    name: label of this stage's output, for later stages and in the output file
    input: name of the earlier output or input to work on, instead of the one just before
    """


@source
def dicom(
    paths: Path,
    /,
    *,
    series: str | float | None = None,
    split: Texts | None = None,
    join: Texts | None = None,
    take: Texts | None = None,
    burned_in: Literal["refuse", "allow", "mask"] | Sweep | None = None,
    mask_boxes: Numbers | None = None,
    mask_value: Number | None = None,
    deidentify: Literal["basic", "keep"] | Sweep | None = None,
    uid_key_file: str | float | None = None,
    unreadable: Literal["refuse", "skip"] | Sweep | None = None,
    incomplete: Literal["refuse", "allow"] | Sweep | None = None,
    padding: Literal["value", "exclude"] | Sweep | None = None,
    positions: Literal["fit", "ends"] | Sweep | None = None,
    spacing_tolerance: Number | None = None,
    tilt: Literal["keep", "refuse"] | Sweep | None = None,
    duplicates: Literal["refuse", "first"] | Sweep | None = None,
    stack: Integer | None = None,
    mr_scale: Literal["display", "precise"] | Sweep | None = None,
    to_suv: Literal["none", "body_weight", "lean_body_mass", "lean_body_mass_james", "body_surface_area", "factor"] | Sweep | None = None,
    suv_factor: Number | None = None,
    slices: Numbers | None = None,
) -> Chain:
    """One series of DICOM files, of CT, MR or PET: slices, multi-frame images or mosaics as a volume or several.

    paths: folder that is searched for DICOM files, or a list of files and folders
    series: which series to read, where there are several: its number as `tomostage info` shows it, its Series Instance
        UID, its description, or # and its Series Number; or a rule, {modality: CT, description: "*T1*"}, whose patterns
        one series fits
    split: what makes series of their own of images at one position: a list of `echo`, `time`, `b` and `acquisition`, or
        `none` alone; what is left becomes an axis of volumes; absent: `echo`; kinds, such as phase, always do; `none` also
        leaves slices of several KVP or kernels together
    join: attributes that do not tell series apart: a list of `study`, `series`, `number`, `patient`, `study_time`,
        `manufacturer`, `protocol`, `frame_of_reference` and `stack`; absent: all of them do, but one that is another in
        each slice of what is one volume in all else
    take: which of several volumes or kinds to read: a number counts volumes from 0, a number with ms, s or s/mm2 is an
        echo time, a time or a b-value, a word is a kind, such as `phase`; a list combines them
    burned_in: what to do with images whose header says that text is burned into the pixels (Burned In Annotation YES)
        (default: refuse)
        - refuse: an image that says so is refused
        - allow: it is read; the output records burned_in_annotation YES
        - mask: it is read, and the rectangles mask_boxes of every slice get the value mask_value
    mask_boxes: rectangles to be blackened: a list of [first row, first column, end row, end column], from 0 and without
        the ends; absent: none
    mask_value: what stands in the rectangles, in the unit of the volume (default: none; burned_in: mask needs it)
    deidentify: what the result records of texts, UIDs and dates of the headers (default: basic)
        - basic: no text that people write, no UID and no date, unless a key replaces it
        - keep: the series description, UIDs and dates are recorded as they are, and contains_phi with them
    uid_key_file: file of 16 to 4096 secret bytes, which only its owner may read: UIDs are replaced and dates moved by it;
        absent: none is recorded
    unreadable: what to do with files that cannot be read, and with empty, cut or damaged ones among the others (default:
        refuse)
        - refuse: slices may be among them: the input is refused
        - skip: what is left is read; the output records how many there were
    incomplete: what to do where a series has fewer files than its Number of Series Related Instances says (default:
        refuse)
        - refuse: the series is refused
        - allow: the files that are there are read; the output records both numbers
    padding: what pixels at the header's Pixel Padding Value, or in its range, are (default in chains of version 1: value)
        (default: exclude)
        - value: they are pixels like any other
        - exclude: they are invalid: no stage takes them for measured values (docs/padding.md)
    positions: how the positions of the slices become spacing, origin and step (default in chains of version 1: ends)
        (default: fit)
        - fit: a line is fitted through them by least squares, and every slice lies within spacing_tolerance of its
          place on it
        - ends: the line from the first to the last is taken, and every gap is within 1 % of the median gap
    spacing_tolerance: with positions fit: how far a slice may lie from its place on the line, along the normal or beside
        it, in percent of the spacing; 0.001 mm is always accepted, or a hundredth of a pixel where that is less [%]
        (default: 1)
    tilt: what to do with a series whose step from slice to slice leans off their normal, as behind a tilted gantry
        (default in chains of version 1: refuse) (default: keep)
        - keep: it is read with its exact step; stages that look at neighboring slices refuse it
        - refuse: it is refused
    duplicates: what to do with different images at one position (default: refuse)
        - refuse: the series is refused
        - first: the one of the lowest Instance Number is taken; the output records how many are not
    stack: which stack to read, where the spacing changes on the way: stacks of even spacing count from 1 along the normal
        (default: all slices, which then have to be one stack)
    mr_scale: which values Philips MR images have (default: display)
        - display: those of Rescale Slope and Intercept, as every viewer shows them
        - precise: those of the private Scale Slope and Scale Intercept, which compare from series to series; phases
          are in radians
    to_suv: which standardized uptake values (SUV) a PET series becomes (default: none)
        - none: the values are as the header scales them
        - body_weight: SUV by body weight, in g/ml
        - lean_body_mass: SUV by lean body mass (Janmahasatian), in g/ml
        - lean_body_mass_james: the same by James' formula, with 128 for men
        - body_surface_area: SUV by body surface area (Du Bois), in cm2/ml
        - factor: activity in Bq/ml times `suv_factor`, in g/ml
    suv_factor: of to_suv: factor, in g/Bq: weight by injected dose as it has decayed (default: none; to_suv: factor needs
        it)
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    """


@source
def nexus(
    paths: Path,
    /,
    *,
    entry: str | float | None = None,
    data: str | float | None = None,
    angles: str | float | None = None,
    image_key: str | float | None = None,
    axes: Texts | None = None,
    frames: Literal["projections", "flats", "darks"] | Sweep | None = None,
    angle_unit: Literal["file", "degree", "radian"] | Sweep | None = None,
    theta_start: Number | None = None,
    theta_stop: Number | None = None,
    endpoint: bool | None = None,
    pixel_size: Number | None = None,
    padding: Literal["value", "exclude"] | Sweep | None = None,
    quantity: Literal["counts", "transmission", "line_integral", "intensity"] | Sweep | None = None,
    beam: Literal["parallel", "fan-arc", "fan-flat"] | Sweep | None = None,
    source_axis: Number | None = None,
    source_detector: Number | None = None,
    angle_sense: Literal["x-to-y", "y-to-x"] | Sweep | None = None,
    angle_offset: Number | None = None,
    slices: Numbers | None = None,
    drop_views: Numbers | None = None,
    allow: str | float | None = None,
) -> Chain:
    """A scan in a NeXus file (NXtomo): projections, flats or darks as a sinogram.

    paths: the NeXus file (HDF5)
    entry: path of the NXtomo entry, where the file has several
    data: path of the frames (frame, row, column); found in the entry where it is not given
    angles: path of the angles, one a frame; found in the entry where it is not given
    image_key: path of the keys that tell projections, flats and darks apart; found where it is not given
    axes: names of the frames' three axes in the order of the file: view (or frame), z and detector; absent: in this order,
        as the format says
    frames: which frames of the scan this source gives; flats and darks are further sources under inputs (default:
        projections)
        - projections: the views of the object, with their angles
        - flats: frames with the beam and without the object
        - darks: frames without the beam
    angle_unit: unit of the angles (default: file)
        - file: as the units of rotation_angle say; without units the scan is refused
        - degree: whatever the file says
        - radian: whatever the file says
    theta_start: angle of the first view, for a file without angles [degree] (default: rotation_angle in the file)
    theta_stop: end of the range of the angles, for a file without angles [degree] (default: rotation_angle in the file)
    endpoint: whether the last view is at theta_stop, or one step before it (default: false)
    pixel_size: distance of neighboring detector pixels, along rows and columns, in place of what the file says [mm]
        (default: x_pixel_size and y_pixel_size of the sample in the file, else of the detector, else one pixel)
    padding: what pixels that pixel_mask of the file calls bad are (default in chains of version 1: value) (default:
        exclude)
        - value: they are pixels like any other
        - exclude: they are invalid: no stage takes them for measured values (docs/padding.md)
    quantity: what the stored values are (default: counts)
        - counts: detector counts, as measured
        - transmission: divided by the flat field
        - line_integral: the negative logarithm of the transmission
        - intensity: anything else
    beam: how the rays of a view run (default: parallel)
        - parallel: one direction a view
        - fan-arc: equiangular: detector pixels evenly along an arc around the source
        - fan-flat: equispaced: detector pixels evenly along a line at a right angle to the central ray
    source_axis: distance of the source from the rotation axis [mm] (default: none for a parallel beam; a fan needs it)
    source_detector: distance of the source from the detector, along the central ray [mm] (default: none for a parallel
        beam; a fan needs it)
    angle_sense: the way in which rising angles turn; y-to-x negates them (default: x-to-y)
        - x-to-y: from x towards y, the convention here, and of scikit-image, TomoPy and ASTRA
        - y-to-x: from y towards x: a stage that turned the other way, or was seen from below
    angle_offset: added to every angle, after angle_sense [degree] (default: 0)
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    drop_views: which views (of flats and darks: frames) are left out and not read: one number, [first, end] from 0 and
        without the end, or a list of such ranges; absent: none
    allow: a folder outside of the file's own to which its links and virtual datasets may lead
    """


@source
def exchange(
    paths: Path,
    /,
    *,
    frames: Literal["projections", "flats", "darks"] | Sweep | None = None,
    angle_unit: Literal["file", "degree", "radian"] | Sweep | None = None,
    theta_start: Number | None = None,
    theta_stop: Number | None = None,
    endpoint: bool | None = None,
    pixel_size: Number | None = None,
    quantity: Literal["counts", "transmission", "line_integral", "intensity"] | Sweep | None = None,
    beam: Literal["parallel", "fan-arc", "fan-flat"] | Sweep | None = None,
    source_axis: Number | None = None,
    source_detector: Number | None = None,
    angle_sense: Literal["x-to-y", "y-to-x"] | Sweep | None = None,
    angle_offset: Number | None = None,
    slices: Numbers | None = None,
    drop_views: Numbers | None = None,
    allow: str | float | None = None,
) -> Chain:
    """A scan in a Data Exchange file: projections, flats or darks as a sinogram.

    paths: the Data Exchange file (HDF5)
    frames: which frames of the scan this source gives; flats and darks are further sources under inputs (default:
        projections)
        - projections: the views of the object, with their angles
        - flats: frames with the beam and without the object
        - darks: frames without the beam
    angle_unit: unit of theta, or of theta_start and theta_stop (default: file)
        - file: as the units of theta say; without units degrees, as the format says
        - degree: whatever the file says
        - radian: whatever the file says
    theta_start: angle of the first view, for a file without theta [degree] (default: theta in the file)
    theta_stop: end of the range of the angles, for a file without theta [degree] (default: theta in the file)
    endpoint: whether the last view is at theta_stop, or one step before it (default: false)
    pixel_size: distance of neighboring detector pixels, along rows and columns, in place of what the file says [mm]
        (default: one pixel)
    quantity: what the stored values are (default: counts)
        - counts: detector counts, as measured
        - transmission: divided by the flat field
        - line_integral: the negative logarithm of the transmission
        - intensity: anything else
    beam: how the rays of a view run (default: parallel)
        - parallel: one direction a view
        - fan-arc: equiangular: detector pixels evenly along an arc around the source
        - fan-flat: equispaced: detector pixels evenly along a line at a right angle to the central ray
    source_axis: distance of the source from the rotation axis [mm] (default: none for a parallel beam; a fan needs it)
    source_detector: distance of the source from the detector, along the central ray [mm] (default: none for a parallel
        beam; a fan needs it)
    angle_sense: the way in which rising angles turn; y-to-x negates them (default: x-to-y)
        - x-to-y: from x towards y, the convention here, and of scikit-image, TomoPy and ASTRA
        - y-to-x: from y towards x: a stage that turned the other way, or was seen from below
    angle_offset: added to every angle, after angle_sense [degree] (default: 0)
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    drop_views: which views (of flats and darks: frames) are left out and not read: one number, [first, end] from 0 and
        without the end, or a list of such ranges; absent: none
    allow: a folder outside of the file's own to which its links and virtual datasets may lead
    """


@source
def hdf5(
    paths: Path,
    /,
    *,
    path: str | float,
    axes: Texts,
    spacing: Numbers | None = None,
    angles: str | float | None = None,
    angle_unit: Literal["file", "degree", "radian"] | Sweep | None = None,
    theta_start: Number | None = None,
    theta_stop: Number | None = None,
    endpoint: bool | None = None,
    quantity: Literal["counts", "transmission", "line_integral", "attenuation", "hu", "intensity"] | Sweep | None = None,
    beam: Literal["parallel", "fan-arc", "fan-flat"] | Sweep | None = None,
    source_axis: Number | None = None,
    source_detector: Number | None = None,
    angle_sense: Literal["x-to-y", "y-to-x"] | Sweep | None = None,
    angle_offset: Number | None = None,
    slices: Numbers | None = None,
    drop_views: Numbers | None = None,
    allow: str | float | None = None,
) -> Chain:
    """A dataset with three axes in an HDF5 file, as a volume or a sinogram.

    paths: the HDF5 file
    path: path of the dataset in the file
    axes: names of the dataset's three axes in the order of the file: z, y and x, or z, view and detector, or, of flats and
        darks, which have no angles, z, frame and detector
    spacing: distances of neighbors along z, y and x, or along z and detector; what the file says where they are not given,
        else one pixel [mm]
    angles: path of the angles of the views
    angle_unit: unit of the angles in the file, or of theta_start and theta_stop (default: file)
        - file: as the units of the angles say; without units degrees
        - degree: whatever the file says
        - radian: whatever the file says
    theta_start: angle of the first view, in place of angles [degree] (default: the file's angles)
    theta_stop: end of the range of the angles, in place of angles [degree] (default: the file's angles)
    endpoint: whether the last view is at theta_stop, or one step before it (default: false)
    quantity: what the stored values are (default: intensity)
        - counts: detector counts
        - transmission: divided by the flat field
        - line_integral: the negative logarithm of the transmission
        - attenuation: linear attenuation in 1/mm
        - hu: Hounsfield units
        - intensity: anything else
    beam: how the rays of a view run (default: parallel)
        - parallel: one direction a view
        - fan-arc: equiangular: detector pixels evenly along an arc around the source
        - fan-flat: equispaced: detector pixels evenly along a line at a right angle to the central ray
    source_axis: distance of the source from the rotation axis [mm] (default: none for a parallel beam; a fan needs it)
    source_detector: distance of the source from the detector, along the central ray [mm] (default: none for a parallel
        beam; a fan needs it)
    angle_sense: the way in which rising angles turn; y-to-x negates them (default: x-to-y)
        - x-to-y: from x towards y, the convention here, and of scikit-image, TomoPy and ASTRA
        - y-to-x: from y towards x: a stage that turned the other way, or was seen from below
    angle_offset: added to every angle, after angle_sense [degree] (default: 0)
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    drop_views: which views (of flats and darks: frames) are left out and not read: one number, [first, end] from 0 and
        without the end, or a list of such ranges; absent: none
    allow: a folder outside of the file's own to which its links and virtual datasets may lead
    """


@source
def result(
    paths: Path,
    /,
    *,
    image: str | float | None = None,
    padding: Literal["value", "exclude"] | Sweep | None = None,
    take: Numbers | None = None,
    slices: Numbers | None = None,
) -> Chain:
    """An image of a file that a run wrote, with its axes, units, geometry and beam.

    paths: the HDF5 file that a run wrote
    image: name of the image in the file: what `save` called it, or data, the last one (default: data)
    padding: what pixels that the file's pixel_mask marks are (default in chains of version 1: value) (default: exclude)
        - value: they are pixels like any other
        - exclude: they are invalid: no stage takes them for measured values (docs/padding.md)
    take: which of several volumes is read: its number, from 0; absent: all, one after the other
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    """


@source
def tiff(
    paths: Path,
    /,
    *,
    pattern: str | float | None = None,
    pick: Numbers | None = None,
    pages: Literal["views", "sinograms", "slices"] | Sweep,
    frames: Literal["projections", "flats", "darks"] | Sweep | None = None,
    pixel_size: Number,
    spacing_z: Number | None = None,
    angles: Numbers | None = None,
    angles_file: str | float | None = None,
    angle_unit: Literal["file", "degree", "radian"] | Sweep | None = None,
    angle_start: Number | None = None,
    angle_stop: Number | None = None,
    endpoint: bool | None = None,
    gaps: Literal["refuse", "accept"] | Sweep | None = None,
    unreadable: Literal["refuse", "skip"] | Sweep | None = None,
    quantity: Literal["auto", "counts", "transmission", "line_integral", "attenuation", "hu", "intensity"] | Sweep | None = None,
    beam: Literal["parallel", "fan-arc", "fan-flat"] | Sweep | None = None,
    source_axis: Number | None = None,
    source_detector: Number | None = None,
    angle_sense: Literal["x-to-y", "y-to-x"] | Sweep | None = None,
    angle_offset: Number | None = None,
    slices: Numbers | None = None,
    drop_views: Numbers | None = None,
) -> Chain:
    """Pages of TIFF files: projections, sinograms or the slices of a volume.

    paths: a TIFF file of one or more pages, a list of files in their order, or a pattern such as scan/proj_*.tif, or a
        folder of .tif and .tiff files, read in the natural order of their names
    pattern: which files of the folder: a pattern of their names, in which * stands for any characters; absent: all, whose
        names may differ only in numbers
    pick: first and step, or first, step and count: of all pages, which are taken; absent: every page
    pages: what each page is
        - views: each page is a projection (row, column): row z, detector column
        - sinograms: each page is the sinogram (view, detector) of one detector row
        - slices: each page is a slice (y, x) of a volume
    frames: which frames of the scan this source gives; flats and darks are further sources under inputs (default:
        projections)
        - projections: the views of the object, with their angles
        - flats: frames with the beam and without the object
        - darks: frames without the beam
    pixel_size: distance of neighboring pixels; for views and sinograms that of the detector's, across and along z [mm]
    spacing_z: distance of neighboring slices; must be given with slices, and only with them [mm] (default: 1)
    angles: the angle of each view; absent: angles_file, or angle_start and angle_stop [degree]
    angles_file: a text file of the angle of each view, one number a line; absent: another way
    angle_unit: unit of the angles in angles_file, or of angle_start and angle_stop (default: file)
        - file: degrees, unless the numbers look like half a turn or a turn in radians, which is refused
        - degree: whatever they look like
        - radian: radians
    angle_start: the angle of the first view; given together with angle_stop [degree] (default: 0)
    angle_stop: the angle at which the scan ends; given together with angle_start [degree] (default: 180)
    endpoint: whether the last view is at angle_stop, or one step before it (default: false)
    gaps: what to do where numbers are missing among the names of the files, with angle_start and angle_stop (default:
        refuse)
        - refuse: the views after a file that is missing would have wrong angles: the folder is refused
        - accept: the views that are there divide the range evenly
    unreadable: what to do with files that cannot be read, and with empty, cut or damaged ones among the others (default:
        refuse)
        - refuse: slices may be among them: the input is refused
        - skip: what is left is read; the output records how many there were
    quantity: what the values are (default: auto)
        - auto: counts for views and sinograms, intensity for slices
        - counts: detector counts
        - transmission: what passed, as a part of what came
        - line_integral: minus the logarithm of the transmission
        - attenuation: attenuation in 1/mm
        - hu: Hounsfield units
        - intensity: anything else
    beam: how the rays of a view run (default: parallel)
        - parallel: one direction a view
        - fan-arc: equiangular: detector pixels evenly along an arc around the source
        - fan-flat: equispaced: detector pixels evenly along a line at a right angle to the central ray
    source_axis: distance of the source from the rotation axis [mm] (default: none for a parallel beam; a fan needs it)
    source_detector: distance of the source from the detector, along the central ray [mm] (default: none for a parallel
        beam; a fan needs it)
    angle_sense: the way in which rising angles turn; y-to-x negates them (default: x-to-y)
        - x-to-y: from x towards y, the convention here, and of scikit-image, TomoPy and ASTRA
        - y-to-x: from y towards x: a stage that turned the other way, or was seen from below
    angle_offset: added to every angle, after angle_sense [degree] (default: 0)
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    drop_views: which views (of flats and darks: frames) are left out and not read: one number, [first, end] from 0 and
        without the end, or a list of such ranges; absent: none
    """


@source
def nifti(
    paths: Path,
    /,
    *,
    quantity: Literal["hu", "attenuation", "intensity"] | Sweep | None = None,
    take: Numbers | None = None,
    slices: Numbers | None = None,
) -> Chain:
    """A volume in a NIfTI file, or several by time.

    paths: a NIfTI file of a volume, or of several by time: .nii, .nii.gz, or .hdr with the file .img beside it
    quantity: what the values are, which the file does not state (default: intensity)
        - hu: Hounsfield units
        - attenuation: attenuation in 1/mm
        - intensity: anything else
    take: which of several volumes is read: its number, from 0; absent: all, one after the other
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    """


@source
def nrrd(
    paths: Path,
    /,
    *,
    quantity: Literal["hu", "attenuation", "intensity"] | Sweep | None = None,
    slices: Numbers | None = None,
) -> Chain:
    """A volume in a NRRD file.

    paths: a NRRD file of one volume: .nrrd, or a header .nhdr beside the file of its values
    quantity: what the values are, which the file does not state (default: intensity)
        - hu: Hounsfield units
        - attenuation: attenuation in 1/mm
        - intensity: anything else
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    """


@source
def mha(
    paths: Path,
    /,
    *,
    quantity: Literal["hu", "attenuation", "intensity"] | Sweep | None = None,
    slices: Numbers | None = None,
) -> Chain:
    """A volume in a MetaImage file, or several.

    paths: a MetaImage file of a volume, or of several: .mha, or a header .mhd beside the file of its values
    quantity: what the values are, which the file does not state (default: intensity)
        - hu: Hounsfield units
        - attenuation: attenuation in 1/mm
        - intensity: anything else
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    """


@source
def npy(
    paths: Path,
    /,
    *,
    axes: Texts | None = None,
    spacing: Numbers | None = None,
    angles: Numbers | None = None,
    theta_start: Number | None = None,
    theta_stop: Number | None = None,
    endpoint: bool | None = None,
    angle_unit: Literal["file", "degree", "radian"] | Sweep | None = None,
    quantity: Literal["counts", "transmission", "line_integral", "hu", "attenuation", "intensity"] | Sweep | None = None,
    beam: Literal["parallel", "fan-arc", "fan-flat"] | Sweep | None = None,
    source_axis: Number | None = None,
    source_detector: Number | None = None,
    angle_sense: Literal["x-to-y", "y-to-x"] | Sweep | None = None,
    angle_offset: Number | None = None,
    take: Numbers | None = None,
    slices: Numbers | None = None,
) -> Chain:
    """An array in a .npy file of numpy: a volume, several by time, or a scan as a sinogram.

    paths: a .npy file of an array (z, y, x), (y, x) for one slice, or (time, z, y, x)
    axes: names of the array's three axes in its order, where it holds a scan: view, z and detector, or z, view and
        detector, or, of flats and darks, which have no angles, frame in place of view; absent: z, y, x
    spacing: distances of neighbors along z, y and x, or along z and detector; absent: one pixel [mm]
    angles: the angle of each view; absent: theta_start and theta_stop [degree]
    theta_start: angle of the first view [degree] (default: those of angles)
    theta_stop: end of the range of the angles [degree] (default: those of angles)
    endpoint: whether the last view is at theta_stop, or one step before it (default: false)
    angle_unit: unit of theta_start and theta_stop (default: file)
        - file: degrees, unless the range looks like half a turn or a turn in radians, which is refused
        - degree: whatever they look like
        - radian: radians
    quantity: what the values are, which the file does not state (default: intensity)
        - counts: detector counts
        - transmission: divided by the flat field
        - line_integral: the negative logarithm of the transmission
        - hu: Hounsfield units
        - attenuation: attenuation in 1/mm
        - intensity: anything else
    beam: how the rays of a view run (default: parallel)
        - parallel: one direction a view
        - fan-arc: equiangular: detector pixels evenly along an arc around the source
        - fan-flat: equispaced: detector pixels evenly along a line at a right angle to the central ray
    source_axis: distance of the source from the rotation axis [mm] (default: none for a parallel beam; a fan needs it)
    source_detector: distance of the source from the detector, along the central ray [mm] (default: none for a parallel
        beam; a fan needs it)
    angle_sense: the way in which rising angles turn; y-to-x negates them (default: x-to-y)
        - x-to-y: from x towards y, the convention here, and of scikit-image, TomoPy and ASTRA
        - y-to-x: from y towards x: a stage that turned the other way, or was seen from below
    angle_offset: added to every angle, after angle_sense [degree] (default: 0)
    take: which of several volumes is read: its number, from 0; absent: all, one after the other
    slices: which slices (of a scan: detector rows) are read: one number, or [first, end], from 0 and without the end;
        absent: all, and of flats and darks those of `input`
    """


@source
def mask(
    paths: Path,
    /,
    *,
    on: str | float | None = None,
    segment: str | float | None = None,
    roi: str | float | None = None,
    threshold: Number | None = None,
    path: str | float | None = None,
    image: str | float | None = None,
    resample: Literal["none", "nearest"] | Sweep | None = None,
    frame_of_reference: Literal["same", "any"] | Sweep | None = None,
) -> Chain:
    """A mask or labels on the grid of another input: DICOM SEG or RTSTRUCT, NIfTI, NRRD, MetaImage or HDF5.

    paths: a DICOM segmentation or structure set, or a volume of labels in NIfTI, NRRD, MetaImage, .npy or HDF5
    on: name of the input that it goes with, whose grid it gets (default: input)
    segment: number or label of the one segment that is wanted, or number of a label of a volume; absent: all, each with
        its number
    roi: number or name of the one region of a structure set that is wanted; absent: all, each with its number
    threshold: FRACTIONAL segmentations: the part of a pixel from which on it belongs to its segment; must be given
        (default: 0.5)
    path: HDF5: path of a dataset (z, y, x); absent: the file is a result of this program
    image: results: name of the image; absent: the last one
    resample: what happens where the file has another grid than the image (default: none)
        - none: the file has the grid of the image; another one is an error
        - nearest: each voxel of the image has the label at its center
    frame_of_reference: DICOM: the frame of reference in which the file states positions (default: same)
        - same: that of the image, where both state one; another one is an error
        - any: positions are taken as they are
    """


__all__ = ["air", "apply_mask", "backproject", "bad_pixels", "bilateral", "bounds", "box", "center", "cgls", "circle", "clahe",
           "combine", "compare", "components", "convolve", "crop", "dicom", "distance", "equalize", "exchange", "fbp",
           "filter", "flat_field", "flip", "foreground", "fourier", "gaussian", "hdf5", "histogram", "invert", "mask",
           "median", "mha", "minus_log", "morphology", "n4", "nexus", "nifti", "nlm", "noise", "npy", "nrrd", "nyul",
           "outliers", "pad", "radon", "rebin", "reduce", "reorient", "resample", "rescale", "result", "ring", "save", "sirt",
           "statistics", "stitch", "threshold", "tiff", "to_attenuation", "to_hu", "tv", "unshear", "window"]
