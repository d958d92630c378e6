# SPDX-License-Identifier: Apache-2.0
"""tomostage beside OpenCV, SciPy and scikit-image: speed on one thread, and values. Run by run.sh."""
import platform

import cv2
import numpy
import scipy
import scipy.ndimage
import skimage
import skimage.exposure
import skimage.measure
import skimage.restoration
import skimage.transform

import peers

STACK = (16, 512, 512)
SLICES_GOALS = {1: 30, 16: 60}  # projections and reconstructions of so many slices, against scikit-image


def difference(ours, theirs):
    """Largest difference as a share of the peer's largest value; NaN never passes."""
    ours, theirs = numpy.asarray(ours, float).ravel(), numpy.asarray(theirs, float).ravel()
    return float(numpy.max(numpy.abs(ours - theirs)) / max(numpy.max(numpy.abs(theirs)), 1e-300))


def each(function, source, target):
    """A call per slice, into a result that exists."""

    def call():
        for z in range(len(source)):
            function(source[z], target[z])

    return call


def box(table):
    table.head(f"box, f32, {STACK}, border reflect: OpenCV blur, SciPy uniform_filter")
    source = peers.image("f32", STACK)
    target = numpy.empty_like(source)
    for radius in (1, 2, 3, 7, 15, 63):
        size = 2 * radius + 1
        calls = {
            "OpenCV": each(lambda a, b: cv2.blur(a, (size, size), dst=b, borderType=cv2.BORDER_REFLECT), source, target),
            "SciPy": each(lambda a, b: scipy.ndimage.uniform_filter(a, size, output=b, mode="reflect"), source, target),
        }
        ours, theirs = peers.compare("box", "f32", STACK, f"radius={radius}", "ct", calls)
        result = peers.apply("box", source, f"radius={radius}", "f4")
        # Their running sums drift in float: SciPy's along lines, OpenCV's are in double.
        for name, goal, bound in (("OpenCV", 2 if size <= 7 else None, 1e-6), ("SciPy", 15, 1e-4)):
            calls[name]()
            table.row(f"{size} x {size}", ours, name, theirs[name], goal, difference(result, target), bound)


def histogram(table):
    table.head(f"histogram, u16, {STACK}, bins over all 65,536 values: OpenCV calcHist")
    for values in ("ct", "uniform", "constant"):
        source = peers.image("u16", STACK, values)
        flat = source.reshape(-1, source.shape[-1])
        for bins in (65536, 4096, 256):
            calls = {"OpenCV": lambda: cv2.calcHist([flat], [0], None, [bins], [0, 65536])}
            parameters = f"bins={bins} limits=dtype"
            ours, theirs = peers.compare("histogram", "u16", STACK, parameters, values, calls)
            counts = peers.apply("histogram", source, parameters, "u8")
            off = difference(counts, calls["OpenCV"]())
            table.row(f"{values}, {bins} bins", ours, "OpenCV", theirs["OpenCV"], 4, off, 0)


def median(table):
    shape = (2, 512, 512)
    table.head(f"median, {shape}, border reflect: SciPy median_filter")
    for dtype, kind in (("f32", "f4"), ("u16", "u2"), ("u8", "u1")):
        source = peers.image(dtype, shape)
        target = numpy.empty_like(source)
        for radius in (1, 3):
            size = 2 * radius + 1
            calls = {"SciPy": lambda: scipy.ndimage.median_filter(source, (1, size, size), output=target, mode="reflect")}
            ours, theirs = peers.compare("median", dtype, shape, f"radius={radius}", "ct", calls)
            off = difference(peers.apply("median", source, f"radius={radius}", kind), target)
            table.row(f"{dtype}, {size} x {size}", ours, "SciPy", theirs["SciPy"], 5, off, 0)


def nlm(table):
    table.head("nlm, f32, (1, 512, 512), sigma 20, h 16: scikit-image denoise_nl_means(fast_mode=True)")
    source = peers.image("f32", (1, 512, 512))
    source += numpy.random.default_rng(1).normal(0, 20, source.shape).astype(numpy.float32)
    for size, distance in ((5, 6), (7, 11)):
        options = {"patch_size": size, "patch_distance": distance, "h": 16, "sigma": 20, "fast_mode": True}
        calls = {"scikit-image": lambda: skimage.restoration.denoise_nl_means(source[0], preserve_range=True, **options)}
        parameters = f"patch_size={size} patch_distance={distance} h=16 sigma=20"
        ours, theirs = peers.compare("nlm", "f32", source.shape, parameters, "ct", calls)
        # Their patches are a row and a column smaller, weights below exp(-5) are 0, and exp is approximated.
        # So few pixels differ much, and the difference is taken as its root mean square, in sigma.
        apart = peers.apply("nlm", source, parameters, "f4") - calls["scikit-image"]().ravel()
        off = float(numpy.sqrt(numpy.mean(apart**2))) / options["sigma"]
        table.row(f"patch {size}, distance {distance}", ours, "scikit-image", theirs["scikit-image"], 5, off, 0.1)


def tv(table):
    iterations = 20
    table.head(f"tv, f32, chambolle, {iterations} iterations: scikit-image denoise_tv_chambolle")
    for shape, dimensions in (((4, 512, 512), 2), ((16, 256, 256), 3)):
        source = peers.image("f32", shape)
        parameters = f"weight=30 iterations={iterations} method=chambolle dimensions={dimensions}d"

        def call(volume):  # what comes out of their last iteration is from before it
            return skimage.restoration.denoise_tv_chambolle(volume, weight=30, eps=0, max_num_iter=iterations + 1)

        calls = {"scikit-image": (lambda: [call(plane) for plane in source]) if dimensions == 2 else lambda: call(source)}
        ours, theirs = peers.compare("tv", "f32", shape, parameters, "ct", calls)
        off = difference(peers.apply("tv", source, parameters, "f4"), calls["scikit-image"]())
        table.row(f"{dimensions}d, {shape}", ours, "scikit-image", theirs["scikit-image"], 5, off, 1e-5)


def bilateral(table):
    shape = (1, 256, 256)
    table.head(f"bilateral, f32, {shape}: scikit-image denoise_bilateral")
    source = peers.image("f32", shape)
    source -= source.min()  # its table of weights is that of another range where there are values below 0
    source /= source.max()
    for radius in (2, 6):
        # Its weights of distance belong to a window of another size (scikit-image 0.19), unless they are all equal.
        parameters = f"sigma_color=0.1 sigma_spatial=1e6 radius={radius} border=reflect"
        calls = {"scikit-image": lambda: skimage.restoration.denoise_bilateral(
            source[0], win_size=2 * radius + 1, sigma_color=0.1, sigma_spatial=1e6, bins=100000, mode="symmetric")}
        ours, theirs = peers.compare("bilateral", "f32", shape, parameters, "ct", calls)
        off = difference(peers.apply("bilateral", source, parameters, "f4"), calls["scikit-image"]())
        table.row(f"{2 * radius + 1} x {2 * radius + 1}", ours, "scikit-image", theirs["scikit-image"], 5, off, 1e-4)


def skimage_on_our_center(slice_values, detectors, views):
    """Ours around scikit-image's center: one more row and column puts (n - 1) / 2 on pixel n // 2."""
    n = slice_values.shape[0]
    padded = numpy.zeros((1, n + 1, n + 1), numpy.float32)
    padded[0, :n, :n] = slice_values
    parameters = f"views={views} detectors={detectors} center={detectors // 2}"
    return peers.apply("radon", padded, parameters, "f4").reshape(views, detectors)


def radon(table):
    views, theta = 180, numpy.arange(180.0)
    for n in (400, 512):
        table.head(f"radon, f32, {n} x {n}, {views} views, {n} detectors, per slice: scikit-image radon(circle=True)")
        source = peers.image("f32", (1, n, n))[0]
        rows, columns = numpy.ogrid[:n, :n]
        source[(rows - n // 2) ** 2 + (columns - n // 2) ** 2 > (n // 2) ** 2] = 0
        calls = {"scikit-image": lambda: skimage.transform.radon(source, theta, circle=True, preserve_range=True)}
        turned = calls["scikit-image"]().T
        result = skimage_on_our_center(source, n, views)
        for slices in (16, 4, 1):
            parameters = f"views={views} detectors={n}"
            ours, theirs = peers.compare("radon", "f32", (slices, n, n), parameters, "ct", calls)
            # Their bilinear rotation smooths edges near 45 degrees; the two interpolations agree at 0 and 90.
            off = difference(result, turned) if slices == 16 else None
            table.row(f"stack of {slices}", ours / slices, "scikit-image", theirs["scikit-image"],
                      SLICES_GOALS.get(slices), off, 0.02 if slices == 16 else None)
        table.same("at 0 and 90 degrees", "scikit-image", difference(result[::90], turned[::90]), 1e-5)


def fbp(table):
    views, theta = 180, numpy.arange(180.0)
    for n in (400, 512):
        table.head(f"fbp, f32, {views} views of {n} detectors to {n} x {n}, per slice: scikit-image iradon(ramp, circle=True)")
        source = numpy.random.default_rng(n).random((1, views, n), numpy.float32)
        rows, columns = numpy.ogrid[:n, :n]
        inside = (rows - n // 2) ** 2 + (columns - n // 2) ** 2 < (n // 2 - 1) ** 2
        calls = {"scikit-image": lambda: skimage.transform.iradon(source[0].T, theta, filter_name="ramp", circle=True)}
        theirs_image = calls["scikit-image"]()
        # One more row and column puts our center, (n - 1) / 2, on pixel n // 2.
        result = peers.apply("fbp", source, f"center={n // 2} rows={n + 1} columns={n + 1}", "f4").reshape(n + 1, n + 1)
        off = difference(result[:n, :n] * inside, theirs_image * inside)
        for slices in (16, 4, 1):
            ours, theirs = peers.compare("fbp", "f32", (slices, views, n), "", "uniform", calls)
            table.row(f"stack of {slices}", ours / slices, "scikit-image", theirs["scikit-image"],
                      SLICES_GOALS.get(slices), off if slices == 16 else None, 1e-5 if slices == 16 else None)


def contrast(table):
    table.head(f"contrast, {STACK}, to inform")
    source = peers.image("u8", STACK)
    target = numpy.empty_like(source)
    calls = {"OpenCV": each(lambda a, b: cv2.equalizeHist(a, dst=b), source, target)}
    parameters = "method=opencv scope=slice"
    ours, theirs = peers.compare("equalize", "u8", STACK, parameters, "ct", calls)
    table.row("equalize u8, per slice", ours, "OpenCV", theirs["OpenCV"], None,
              difference(peers.apply("equalize", source, parameters, "u1"), target), 0)

    source16 = peers.image("u16", STACK)
    calls = {"scikit-image": lambda: skimage.exposure.equalize_hist(source16, nbins=65536)}
    ours, theirs = peers.compare("equalize", "u16", STACK, "method=skimage", "ct", calls)
    table.row("equalize u16, volume", ours, "scikit-image", theirs["scikit-image"])


def convolve(table):
    """OpenCV sums in float, so that values are not the same."""
    table.head(f"convolve to f32, {STACK}, border reflect: OpenCV filter2D")
    fives = numpy.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1])
    for dtype in ("f32", "u16", "u8"):
        source = peers.image(dtype, STACK)
        target = numpy.empty(STACK, numpy.float32)
        for kernel, weights in (("low-pass-8", numpy.full((3, 3), 1 / 9)), ("gaussian-5x5", fives / 256)):
            weights = weights.astype(numpy.float32)
            call = each(lambda a, b: cv2.filter2D(a, cv2.CV_32F, weights, dst=b, borderType=cv2.BORDER_REFLECT), source, target)
            ours, theirs = peers.compare("convolve", dtype, STACK, f"kernel={kernel}", "ct", {"OpenCV": call})
            off = difference(peers.apply("convolve", source, f"kernel={kernel}", "f4"), target)
            table.row(f"{kernel}, {dtype}", ours, "OpenCV", theirs["OpenCV"], 1, off, 1e-6)


def gaussian(table):
    for shape, dimensions in ((STACK, "2d"), ((64, 256, 256), "3d")):
        table.head(f"gaussian to f32, {dimensions}, {shape}, border reflect: SciPy gaussian_filter")
        for dtype in ("f32", "u16"):
            source = peers.image(dtype, shape)
            target = numpy.empty(shape, numpy.float32)
            for sigma in (1, 2, 4):
                axes = (0 if dimensions == "2d" else sigma, sigma, sigma)
                calls = {"SciPy": lambda: scipy.ndimage.gaussian_filter(source, axes, output=target, mode="reflect")}
                parameters = f"sigma={sigma} dimensions={dimensions}"
                ours, theirs = peers.compare("gaussian", dtype, shape, parameters, "ct", calls)
                off = difference(peers.apply("gaussian", source, parameters, "f4"), target)
                table.row(f"sigma {sigma}, {dtype}", ours, "SciPy", theirs["SciPy"], 5, off, 2e-6)


def resample(table):
    """Twice the voxels along each axis; a part of the image for values, since SciPy takes long."""
    shape = (48, 96, 96)
    table.head(f"resample to twice the shape, {shape}, cubic B-spline: SciPy zoom, scikit-image resize")
    source = peers.image("f32", shape)
    twice = tuple(2 * n for n in shape)
    wide = source.astype(float)
    for convention, name, call in (
            ("scipy_zoom", "SciPy", lambda image: scipy.ndimage.zoom(image, 2, order=3, mode="mirror")),
            ("totalsegmentator", "SciPy", lambda image: scipy.ndimage.zoom(image, 2, order=3, mode="nearest")),
            ("skimage_resize", "scikit-image", lambda image: skimage.transform.resize(image, twice, order=3))):
        parameters = f"shape={twice[2]},{twice[1]},{twice[0]} interpolation=bspline3 convention={convention}"
        ours, theirs = peers.compare("resample", "f32", shape, parameters, "ct", {name: lambda: call(source)})
        table.row(convention, ours, name, theirs[name], 20,
                  difference(peers.apply("resample", source, parameters, "f4"), call(wide)), 2e-6)


def clahe(table):
    """OpenCV's rule: the same bytes."""
    for dtype, kind in (("u8", "u1"), ("u16", "u2")):
        source = peers.image(dtype, STACK)
        target = numpy.empty_like(source)
        tool = cv2.createCLAHE(clipLimit=2.0, tileGridSize=(8, 8))
        calls = {"OpenCV": each(lambda a, b: tool.apply(a, dst=b), source, target)}
        parameters = "method=opencv clip_limit=2"
        ours, theirs = peers.compare("clahe", dtype, STACK, parameters, "ct", calls)
        off = difference(peers.apply("clahe", source, parameters, kind), target)
        table.row(f"clahe {dtype}, 8 x 8 tiles", ours, "OpenCV", theirs["OpenCV"], 1.5, off, 0)


def ball_of(radius):
    at = numpy.indices(3 * [2 * radius + 1]) - radius
    return (at**2).sum(0) <= radius**2


def masks(table):
    """On voxels of 1 mm, of which those of one value are the mask: bodies, shells and specks."""
    shape = (64, 256, 256)
    table.head(f"masks of u8, {shape}: SciPy binary_erosion, binary_fill_holes, label, distance_transform_edt; scikit-image")
    source = peers.image("u8", shape)
    label = int(numpy.bincount(source.ravel()).argmax())
    mask = source == label
    ball = ball_of(2)
    rows = (
        ("morphology", "operation=erode radius=2", "u1", lambda: scipy.ndimage.binary_erosion(mask, ball, border_value=1), 0),
        ("morphology", "operation=dilate radius=2", "u1", lambda: scipy.ndimage.binary_dilation(mask, ball), 0),
        ("morphology", "operation=fill_holes", "u1", lambda: scipy.ndimage.binary_fill_holes(mask), 0),
        ("components", "output=mask", "u1", lambda: scipy.ndimage.label(mask)[0] > 0, 0),
        ("components", "neighbors=26 output=mask", "u1", lambda: skimage.measure.label(mask) > 0, 0),
        ("distance", "", "f4", lambda: scipy.ndimage.distance_transform_edt(~mask), 1.2e-7),
    )
    for stage, parameters, kind, call, bound in rows:
        name = "scikit-image" if "26" in parameters else "SciPy"
        ours, theirs = peers.compare(stage, "u8", shape, f"{parameters} label={label}".strip(), "ct", {name: call})
        off = difference(peers.apply(stage, source, f"{parameters} label={label}".strip(), kind), call())
        table.row(f"{stage} {parameters}", ours, name, theirs[name], 5, off, bound)


def main():
    cv2.setNumThreads(1)
    print(f"one thread of {platform.machine()}; OpenCV {cv2.__version__}, SciPy {scipy.__version__}, "
          f"scikit-image {skimage.__version__}, NumPy {numpy.__version__}; medians of {peers.ROUNDS} interleaved rounds")
    table = peers.Table()
    for comparison in (box, histogram, median, nlm, tv, bilateral, radon, fbp, contrast, convolve, gaussian, resample, clahe, masks):
        comparison(table)
    table.close()


if __name__ == "__main__":
    main()
