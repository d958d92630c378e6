# SPDX-License-Identifier: Apache-2.0
"""The rays of a Projector: parallel and fan beams. Angles are in degrees, lengths in mm (docs/geometry.md).

from_astra(), from_cil(), from_tigre(), from_leap() and from_rtk() take the geometry of other packages, and to_astra() and the
like are the way back. None of them needs the package. An image is the same array of (y, x) for both: row 0 is row 0.
"""
import math
from collections import namedtuple

from .chain import text_of


class Rays(namedtuple("Rays", "parameters flipped", defaults=(False,))):
    """Rays, as parameters of the stage radon. flipped: sinograms have the detector's pixels from the last to the first, as
    packages have them whose detector runs the other way."""

    __slots__ = ()

    def __str__(self):
        return " ".join(f"{key}={text_of(value)}" for key, value in self.parameters.items() if value is not None)


def parallel(angles, detectors=None, spacing=None, center=None):
    """Parallel rays. angles: of the views, or how many there are over half a turn. detectors, spacing: of a row of the
    detector; None: as many as the slice's diagonal takes, at the distance of its pixels. center: the detector index of the
    rotation axis; None: the middle."""
    views = "views" if isinstance(angles, int) else "angles"
    return Rays({views: angles, "detectors": detectors, "detector_spacing": spacing, "center": center})


def fan(angles, source_axis, source_detector, detectors=None, spacing=None, center=None, flat=True):
    """Rays of a source at source_axis mm from the rotation axis and source_detector mm from the detector, which is a line
    (flat) or an arc around the source. angles: of the views, or how many there are over a turn."""
    beam = {"beam": "fan-flat" if flat else "fan-arc", "source_axis": source_axis, "source_detector": source_detector}
    return Rays({**parallel(angles, detectors, spacing, center).parameters, **beam})


# ---- vectors: x rises with the column, y against the row, the origin is the rotation axis


def _one(values, what):
    """Returns the number that all views have in common."""
    mean = sum(values) / len(values)
    if max(abs(value - mean) for value in values) > 1e-5 * max(1.0, abs(mean)):
        raise ValueError(f"the {what} differs between views: from {min(values):g} to {max(values):g}. Rays have one for all")
    return mean


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


def _unit(a):
    length = math.hypot(*a)
    if length == 0:
        raise ValueError("a vector of the geometry has no length")
    return a[0] / length, a[1] / length


def _of_vectors(n, sources, directions, detectors, pixels):
    """Returns the Rays of n pixels: sources, or directions of parallel rays, the middles of detectors, and the vectors from one
    pixel to the next, for each view."""
    if not len(pixels):
        raise ValueError("the geometry has no views")
    angles, spacings, centers, axis, detector, turned = [], [], [], [], [], []
    for i, pixel in enumerate(pixels):
        u = _unit(pixel)
        if sources is None:
            ray = _unit(directions[i])
            u = (-ray[1], ray[0])  # only its part across the rays counts
            u = u if _dot(u, pixel) > 0 else (ray[1], -ray[0])
        else:
            axis.append(math.hypot(*sources[i]))
            toward = _unit(sources[i])
            detector.append(axis[-1] - _dot(detectors[i], toward))
            if abs(_dot(u, toward)) > 1e-5:
                raise ValueError(f"in view {i} the detector is not at a right angle to the ray through the rotation axis: it is "
                                 f"turned by {math.degrees(math.asin(_dot(u, toward))):g} degrees")
            turned.append(u[0] * toward[1] - u[1] * toward[0] < 0)
        spacings.append(_dot(pixel, u))
        centers.append((n - 1) / 2 - _dot(detectors[i], u) / spacings[-1])
        angles.append(math.degrees(math.atan2(u[1], u[0])))
    common = (n, _one(spacings, "distance of detector pixels"), _one(centers, "pixel of the rotation axis"))
    if sources is None:
        return parallel(angles, *common)
    if len(set(turned)) > 1:
        raise ValueError("the detector runs one way in some views and the other way in others")
    source_axis, source_detector = _one(axis, "distance of the source"), _one(detector, "distance of the detector")
    if source_detector <= 0:
        raise ValueError("the detector is behind the source")
    if turned[0]:  # by half a turn the source is where ours is, and the pixels run the other way
        angles, common = [angle + 180 for angle in angles], (*common[:2], n - 1 - common[2])
    return Rays(fan(angles, source_axis, source_detector, *common).parameters, turned[0])


def _vectors(rays):
    """Returns n, sources or None, directions or None, middles of the detector, and vectors between pixels, of each view."""
    given = rays.parameters
    n, spacing, center = (given[key] for key in ("detectors", "detector_spacing", "center"))
    if n is None or spacing is None:
        raise ValueError("another package is told detectors and spacing, which these rays leave to the image: "
                         "rays.parallel(angles, detectors=..., spacing=...)")
    if given.get("beam") == "fan-arc":
        raise ValueError("a detector along an arc around the source cannot be stated there")
    angles, sources, directions, middles, pixels = _angles(rays), [], [], [], []
    for angle in angles:
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        offset = ((n - 1) / 2 - ((n - 1) / 2 if center is None else center)) * spacing
        far = given["source_detector"] - given["source_axis"] if "beam" in given else 0.0
        sign = -1 if rays.flipped else 1
        middles.append((offset * c + far * s, offset * s - far * c))
        pixels.append((sign * spacing * c, sign * spacing * s))
        directions.append((s, -c))
        if "beam" in given:
            sources.append((-given["source_axis"] * s, given["source_axis"] * c))
    return n, sources or None, directions, middles, pixels


def _angles(rays):
    """Returns the angle of each view in degrees."""
    given = rays.parameters
    if "views" in given:
        return [i * (360 if "beam" in given else 180) / given["views"] for i in range(given["views"])]
    return [float(angle) for angle in given["angles"]]


# ---- ASTRA


def from_astra(geometry):
    """Takes an ASTRA projection geometry of the type parallel, fanflat, parallel_vec or fanflat_vec."""
    kind = geometry.get("type")
    if kind in ("parallel", "fanflat"):
        angles = [math.degrees(angle) for angle in geometry["ProjectionAngles"]]
        common = (int(geometry["DetectorCount"]), float(geometry["DetectorWidth"]))
        if kind == "parallel":
            return parallel(angles, *common)
        axis, detector = float(geometry["DistanceOriginSource"]), float(geometry["DistanceOriginDetector"])
        return Rays(fan([angle + 180 for angle in angles], axis, axis + detector, *common).parameters, True)
    if kind in ("parallel_vec", "fanflat_vec"):
        rows = [tuple(map(float, row)) for row in geometry["Vectors"]]
        first = [row[:2] for row in rows]
        sources, directions = (None, first) if kind == "parallel_vec" else (first, None)
        return _of_vectors(int(geometry["DetectorCount"]), sources, directions, [row[2:4] for row in rows],
                           [row[4:] for row in rows])
    raise ValueError(f"an ASTRA geometry of the type {kind!r} is none of one slice: parallel, fanflat, parallel_vec and fanflat_vec "
                     "are")


def to_astra(rays):
    """Returns the ASTRA projection geometry of the rays, whose sinograms are the same arrays."""
    import numpy

    n, sources, directions, middles, pixels = _vectors(rays)
    kind = "parallel_vec" if sources is None else "fanflat_vec"
    vectors = [(*a, *b, *c) for a, b, c in zip(sources or directions, middles, pixels)]
    return {"type": kind, "DetectorCount": n, "Vectors": numpy.array(vectors)}


# ---- CIL


def from_cil(geometry):
    """Takes an AcquisitionGeometry of CIL of one slice, 2D, parallel or cone."""
    config = geometry.config
    system, panel, angles = config.system, config.panel, config.angles
    if "3" in str(geometry.dimension):
        raise ValueError(f"the geometry has the dimension {geometry.dimension}; get_slice() or get_centre_slice() makes one of 2D")
    is_parallel = "parallel" in str(geometry.geom_type).lower()

    def vector(part, name="position"):
        return tuple(float(one) for one in list(getattr(part, name))[:2])

    # CIL puts the rotation axis at the origin and turns the system until its rays go along y.
    axis = vector(system.rotation_axis)
    detector = tuple(a - b for a, b in zip(vector(system.detector), axis))
    source = None if is_parallel else tuple(a - b for a, b in zip(vector(system.source), axis))
    along = _unit(vector(system.ray, "direction") if is_parallel else tuple(a - b for a, b in zip(detector, source)))
    row = vector(system.detector, "direction_x")
    spacing, n = float(list(panel.pixel_size)[0]), int(list(panel.num_pixels)[0])
    if "right" in str(panel.origin):
        row = (-row[0], -row[1])

    def turned(a, angle):
        # y of CIL rises with the row, and so against ours
        x, y = along[1] * a[0] - along[0] * a[1], -(along[0] * a[0] + along[1] * a[1])
        c, s = math.cos(angle), math.sin(angle)
        return c * x - s * y, s * x + c * y

    degrees = "deg" in str(angles.angle_unit).lower()
    views = [float(angle) + float(angles.initial_angle) for angle in angles.angle_data]
    views = [math.radians(angle) if degrees else angle for angle in views]
    return _of_vectors(n, None if is_parallel else [turned(source, angle) for angle in views],
                       [turned(along, angle) for angle in views] if is_parallel else None,
                       [turned(detector, angle) for angle in views],
                       [turned((spacing * row[0], spacing * row[1]), angle) for angle in views])


def to_cil(rays):
    """Returns what CIL's AcquisitionGeometry is made of: {"create": name and arguments of the function that makes it, "set_angles":
    arguments, "set_panel": arguments}."""
    n, given = rays.parameters["detectors"], rays.parameters
    _vectors(rays)  # refuses what cannot be stated
    offset = 0.0 if given["center"] is None else ((n - 1) / 2 - given["center"]) * given["detector_spacing"]
    direction = [-1.0 if rays.flipped else 1.0, 0.0]
    if "beam" in given:
        far = given["source_detector"] - given["source_axis"]
        create = ("create_Cone2D", {"source_position": [0.0, -float(given["source_axis"])], "detector_position": [offset, float(far)],
                                    "detector_direction_x": direction})
        if offset:
            raise ValueError("CIL turns a geometry until the source and the middle of the detector are along y, so that a fan's axis "
                             "off the middle of the detector is turned too; cut the detector until its middle is the axis")
    else:
        create = ("create_Parallel2D", {"ray_direction": [0.0, 1.0], "detector_position": [offset, 0.0],
                                        "detector_direction_x": direction})
    return {"create": create, "set_angles": {"angles": _angles(rays), "angle_unit": "degree"},
            "set_panel": {"num_pixels": n, "pixel_size": given["detector_spacing"]}}


# ---- TIGRE


def from_tigre(geometry, angles):
    """Takes a geometry of TIGRE of one slice, and its angles in radians."""
    def numbers(name):
        value = getattr(geometry, name, None)
        rows = value if hasattr(value, "__len__") else [value]
        return [float(one) for row in rows if row is not None for one in (row if hasattr(row, "__len__") else [row])]

    for name in ("COR", "rotDetector", "offOrigin"):
        if any(numbers(name)):
            raise ValueError(f"{name} is not 0: rays have the rotation axis in the middle of the image and the detector at a right "
                             "angle to the central ray")
    n, spacing = int(geometry.nDetector[-1]), float(geometry.dDetector[-1])
    is_parallel = getattr(geometry, "mode", "cone") == "parallel"
    if not is_parallel and int(geometry.nDetector[0]) > 1:
        raise ValueError(f"the detector has {int(geometry.nDetector[0])} rows, and a cone beam is no fan; one row is")
    views = [-math.degrees(float(angle[0]) if hasattr(angle, "__len__") else float(angle)) - 90 for angle in angles]
    center = (n - 1) / 2 - _one(numbers("offDetector")[1::2] or [0.0], "offDetector") / spacing
    if is_parallel:
        return parallel(views, n, spacing, center)
    return fan(views, _one(numbers("DSO"), "DSO"), _one(numbers("DSD"), "DSD"), n, spacing, center)


def to_tigre(rays):
    """Returns the attributes for a geometry of TIGRE, and the angles in radians."""
    n, sources, *_ = _vectors(rays)
    given, spacing = rays.parameters, rays.parameters["detector_spacing"]
    if rays.flipped:
        raise ValueError("TIGRE has no detector that runs the other way; flip the sinogram along its last axis, and use rays that "
                         "are not flipped")
    offset = 0.0 if given["center"] is None else ((n - 1) / 2 - given["center"]) * spacing
    attributes = {"mode": "cone" if sources else "parallel", "nDetector": [1, n], "dDetector": [spacing, spacing],
                  "sDetector": [spacing, n * spacing], "offDetector": [0.0, offset], "offOrigin": [0.0, 0.0, 0.0]}
    if sources:
        attributes.update(DSO=given["source_axis"], DSD=given["source_detector"])
    return attributes, [-math.radians(angle + 90) for angle in _angles(rays)]


# ---- LEAP


def from_leap(model):
    """Takes the geometry of a leapct.tomographicModels that is parallel or fan."""
    kind = str(model.get_geometry()).upper()
    n, spacing, center = int(model.get_numCols()), float(model.get_pixelWidth()), float(model.get_centerCol())
    angles = [-float(angle) for angle in model.get_angles()]  # y of LEAP rises with the row
    if kind == "PARALLEL":
        return parallel(angles, n, spacing, center)
    if kind != "FAN":
        raise ValueError(f"a LEAP geometry {kind} is none of one slice: PARALLEL and FAN are")
    if float(model.get_tau()):
        raise ValueError(f"tau is {float(model.get_tau()):g} mm: the ray at a right angle to the detector misses the rotation axis")
    return fan(angles, float(model.get_sod()), float(model.get_sdd()), n, spacing, center)


def to_leap(rays):
    """Returns the name of the method of leapct.tomographicModels that sets the rays, and its arguments for one row."""
    import numpy

    n, sources, *_ = _vectors(rays)
    given, angles = rays.parameters, _angles(rays)
    if rays.flipped:
        raise ValueError("LEAP has no detector that runs the other way; flip the sinogram along its last axis, and use rays that "
                         "are not flipped")
    center = (n - 1) / 2 if given["center"] is None else given["center"]
    common = {"numAngles": len(angles), "numRows": 1, "numCols": n, "pixelHeight": given["detector_spacing"],
              "pixelWidth": given["detector_spacing"], "centerRow": 0.0, "centerCol": center,
              "phis": numpy.array([-angle for angle in angles], numpy.float32)}
    if not sources:
        return "set_parallelbeam", common
    return "set_fanbeam", {**common, "sod": given["source_axis"], "sdd": given["source_detector"], "tau": 0.0}


# ---- RTK


def from_rtk(geometry, detectors, spacing, origin):
    """Takes a ThreeDCircularProjectionGeometry of RTK for the slice y = 0, as the array (z, x): the projections' number of
    columns, their spacing, and their origin along the row."""
    angles = [float(angle) for angle in geometry.GetGantryAngles()]
    for name in ("OutOfPlaneAngles", "InPlaneAngles", "SourceOffsetsY", "ProjectionOffsetsY"):
        if any(abs(float(value)) > 1e-9 for value in getattr(geometry, "Get" + name)()):
            raise ValueError(f"{name} are not 0: the rays leave the slice")
    if getattr(geometry, "GetRadiusCylindricalDetector", lambda: 0)():
        raise ValueError("the detector is a cylinder, whose radius need not be that of an arc around the source")
    axes = [float(value) for value in geometry.GetSourceToIsocenterDistances()]
    far = [float(value) for value in geometry.GetSourceToDetectorDistances()]
    offsets = [float(value) for value in geometry.GetProjectionOffsetsX()]
    shifts = [float(value) for value in geometry.GetSourceOffsetsX()]
    middle = origin + (detectors - 1) / 2 * spacing
    parallels = {distance == 0 for distance in far}
    if len(parallels) > 1:
        raise ValueError("some views are parallel, and others are fans")
    sources, directions, middles, pixels = [], [], [], []
    for angle, axis, distance, offset, shift in zip(angles, axes, far, offsets, shifts):
        across, toward = (math.cos(angle), math.sin(angle)), (math.sin(angle), -math.cos(angle))  # y is -z of RTK

        def at(along_row, depth, across=across, toward=toward):
            return along_row * across[0] + depth * toward[0], along_row * across[1] + depth * toward[1]

        sources.append(at(shift, axis))
        directions.append(toward)
        middles.append(at(middle + offset, axis - distance))
        pixels.append(at(spacing, 0.0))
    is_parallel = parallels == {True}
    return _of_vectors(detectors, None if is_parallel else sources, directions if is_parallel else None, middles, pixels)


def to_rtk(rays):
    """Returns the arguments of AddProjection of each view, and the spacing and the origin of the projections along the row."""
    n, sources, *_ = _vectors(rays)
    given, spacing = rays.parameters, rays.parameters["detector_spacing"]
    center = (n - 1) / 2 if given["center"] is None else given["center"]
    if sources and not rays.flipped:
        raise ValueError("a fan of RTK runs the other way; flip the sinogram along its last axis, and use Rays(parameters, "
                         "flipped=True)")
    first = -(n - 1 - center if rays.flipped else center) * spacing
    axis, far = (given["source_axis"], given["source_detector"]) if sources else (n * spacing, 0.0)
    turn = 180 if rays.flipped else 0
    return [(axis, far, (angle - turn) % 360) for angle in _angles(rays)], spacing, first
