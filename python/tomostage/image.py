# SPDX-License-Identifier: Apache-2.0
"""An image: an array, and what its values are."""
from collections import namedtuple

from . import _core
from .arrays import as_array, handle, kind_of

UNITS = {"hu": "HU", "attenuation": "1/mm", "dose": "Gy"}


class Axis(namedtuple("Axis", "kind n spacing unit first positions name")):
    """One axis. kind: "z", "y", "x", "view", "detector", "time", "echo", "b", "item" or "bin". spacing: the distance of
    neighbors in `unit`, 0 if it has no meaning. positions: a tuple if they are not evenly spaced, else None."""

    __slots__ = ()

    @property
    def values(self):
        """The position of each element, as an array."""
        import numpy

        if self.positions is not None:
            return numpy.asarray(self.positions)
        return self.first + self.spacing * numpy.arange(self.n)


class Image:
    """An array with axes, geometry, quantity and unit. NumPy, PyTorch and others take its array without a copy.

    array: the values, of the kind that they came in. valid: an array of bool that is False where a pixel is no measurement,
    such as the padding of a CT, or None.
    """

    def __init__(self, array, about, valid=None):
        self.array, self.valid = array, valid
        self._about = dict(about, axes=[Axis(*axis) for axis in about["axes"]])

    def _place(self, about):
        """Takes the axes and the origin of a description of this image."""
        self._about.update(axes=[Axis(*axis) for axis in about["axes"]], origin=about["origin"])

    @property
    def shape(self):
        return tuple(self.array.shape)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def axes(self):
        """The axes, in the order of the array."""
        return tuple(self._about["axes"][-self.ndim :])

    @property
    def spacing(self):
        """The distance of neighbors along each axis, in the order of the array."""
        return tuple(axis.spacing for axis in self.axes)

    @property
    def quantity(self):
        return self._about["quantity"]

    @property
    def unit(self):
        """The unit of the values."""
        return self._about["unit"]

    @property
    def origin(self):
        """Patient coordinates (LPS, mm) of the first voxel; None if there is no geometry."""
        return self._about["origin"]

    @property
    def direction(self):
        """The unit vectors of increasing x, y and z (LPS), one after the other; None if there is no geometry."""
        return self._about["direction"]

    @property
    def beam(self):
        """("parallel" or "fan-arc" or "fan-flat", source to axis, source to detector in mm) of a sinogram."""
        return self._about["beam"]

    @property
    def affine(self):
        """The matrix of 4 x 4 from (x, y, z, 1), indices of voxels, to patient coordinates (LPS, mm)."""
        import numpy

        affine, (y, x) = numpy.eye(4), self.spacing[-2:]
        z = self._about["axes"][-3].spacing
        direction = numpy.reshape(self.direction or numpy.eye(3).ravel(), (3, 3))
        affine[:3, :3] = (direction * [[x], [y], [z]]).T
        if self.origin:
            affine[:3, 2], affine[:3, 3] = self._about["step"], self.origin
        return affine

    # ---- as an array of others, without a copy

    def __array__(self, dtype=None, copy=None):
        import numpy

        array = self.array if kind_of(self.array) == "numpy" else numpy.from_dlpack(self.array)
        if copy:
            return numpy.array(array, dtype=dtype)
        if copy is False and dtype is not None and array.dtype != dtype:
            raise ValueError("another type needs a copy")
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __buffer__(self, flags):
        return memoryview(self.__array__())

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__

    def __or__(self, chain):
        """image | chain: the chain works on this image."""
        from .chain import memory

        return memory(self) | chain

    def __repr__(self):
        sizes = " x ".join(f"{axis.n} {axis.kind}" for axis in self.axes)
        steps = " x ".join(f"{axis.spacing:g} {axis.unit}".strip() for axis in self.axes)
        return f"<tomostage.Image {sizes}, {str(self.dtype).replace('torch.', '')}, {self.quantity} in {self.unit}, {steps}>"

    def description(self):
        """Returns the description for the library."""
        about = _core.About(self._about)
        if self.valid is not None:
            import numpy

            about.set_valid(numpy.ascontiguousarray(self.valid, bool).view("uint8"))
        return about

    def save(self, path, force=False):
        """Writes the image to a file whose suffix names the format. force: replace the file if it exists."""
        from .chain import save

        save({"data": self}, path, force)

    def show(self, path=None, **options):
        """Returns a picture of the image, which a notebook draws; path: a PNG file that it is written to as well. `options` are
        those of `tomostage preview`: plane="coronal", slice=20, montage=6, window="40/400"."""
        from .results import picture

        return picture(self, path, options)

    # ---- to other packages; asimage() is the way back

    def to_xarray(self):
        """Returns an xarray.DataArray with the axes as coordinates and the rest as attributes."""
        import numpy
        import xarray

        about = {key: value for key, value in self._about.items() if key not in ("axes", "dtype") and value is not None}
        coords = {axis.kind: (axis.kind, axis.values, {"units": axis.unit}) for axis in self.axes}
        return xarray.DataArray(numpy.asarray(self), coords, [axis.kind for axis in self.axes], attrs=about)

    def to_nibabel(self):
        """Returns a nibabel.Nifti1Image as a NIfTI output of a chain is: its axes are x, y, z, its coordinates RAS. Without a place
        in a patient it has no transform, and its rows begin with the last one."""
        import nibabel
        import numpy

        array = numpy.asarray(self)
        if self.origin is None:
            header = nibabel.Nifti1Header()
            header.set_data_dtype(array.dtype)
            header.set_data_shape(self.shape[::-1])
            header.set_zooms([abs(step) or 1.0 for step in self.spacing[::-1]])
            image = nibabel.Nifti1Image(array[..., ::-1, :].T, header.get_base_affine(), header)
        else:
            image = nibabel.Nifti1Image(array.T, numpy.diag([-1.0, -1.0, 1.0, 1.0]) @ self.affine)
            if self.ndim == 4:
                image.header.set_zooms((*image.header.get_zooms()[:3], abs(self.spacing[0]) or 1.0))
        lengths = "mm" if self.axes[-1].unit == "mm" else "unknown"
        image.header.set_xyzt_units(lengths, "sec" if self.axes[0].unit == "s" else "unknown")
        return image

    def to_sitk(self):
        """Returns a SimpleITK.Image with spacing, origin and direction."""
        import numpy
        import SimpleITK

        directions = numpy.eye(self.ndim)
        if self.origin is not None and self.ndim >= 3:
            directions[:3, :3] = numpy.reshape(self.direction, (3, 3)).T
            z = self._about["axes"][-3].spacing
            if numpy.abs(self.affine[:3, 2] - z * directions[:3, 2]).max() > 1e-4 * abs(z):
                raise ValueError("the slices are shifted against each other (a tilted gantry), which SimpleITK cannot state; the "
                                 "stage unshear makes a volume whose axes are at right angles")
        image = SimpleITK.GetImageFromArray(numpy.asarray(self), isVector=False)
        image.SetSpacing([abs(step) or 1.0 for step in self.spacing[::-1]])
        if self.origin is not None and self.ndim >= 3:
            image.SetOrigin([*self.origin, *[axis.first for axis in self.axes[:-3]]])
            image.SetDirection(directions.ravel())
        return image


def _check_angles(angles, n):
    """Refuses what is no list of n angles in degrees."""
    if len(angles) != n:
        raise ValueError(f"the scan has {n} views, and there are {len(angles)} angles")
    if n > 8 and 2.8 <= max(angles) - min(angles) <= 6.6:
        raise ValueError("angles are in degrees, and these look like radians: angles=numpy.degrees(angles)")


def _axes(shape, spacing, angles):
    """Returns the axes of an array of this shape, and of z before them if it has only two."""
    kinds = ("time", "z", "view", "detector") if angles is not None else ("time", "z", "y", "x")
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"an image has 2 to 4 axes, and the array has {len(shape)}")
    steps = [spacing or 1.0] * len(shape) if spacing is None or isinstance(spacing, (int, float)) else list(spacing)
    if len(steps) != len(shape):
        raise ValueError(f"the array has {len(shape)} axes, and there are {len(steps)} spacings")
    if len(shape) == 2:
        shape, steps = (1, *shape), [1.0, *steps]
    unit = "pixel" if spacing is None else "mm"
    axes = []
    for kind, n, step in zip(kinds[-len(shape) :], shape, steps):
        if kind == "view":
            angles = tuple(float(angle) for angle in angles)
            _check_angles(angles, n)
            axes.append(Axis(kind, n, 0.0, "degree", 0.0, angles, None))
        elif kind == "time":
            axes.append(Axis(kind, n, 1.0, "", 0.0, None, None))
        else:
            first = -(n - 1) / 2 * float(step) if kind == "detector" else 0.0
            axes.append(Axis(kind, n, float(step), unit, first, None, None))
    return axes


def asimage(array, spacing=None, quantity=None, unit=None, *, angles=None, origin=None, direction=None, valid=None,
            beam=("parallel", 0.0, 0.0), labels=False):
    """Describes an array of (y, x), (z, y, x) or (time, z, y, x), or of a scan (view, detector) or (z, view, detector), whose
    values stay where they are. An xarray.DataArray, a nibabel or a SimpleITK image is taken with all that it says; these state no
    quantity, unit, valid and labels, which are given beside them.

    spacing: mm, one number or one for each axis in the order of the array; None: distances are pixels. quantity: "counts",
    "transmission", "line_integral", "attenuation", "hu", "dose" or "intensity", which is the default; that of a scan is
    "line_integral". unit: of the values; by the quantity if it is not given. angles: of the views, in DEGREES. origin,
    direction: of the first voxel and of the axes in the patient (LPS, mm). valid: False where a pixel is no measurement.
    beam: of a scan: ("fan-arc" or "fan-flat", source to axis, source to detector in mm). labels: the values are numbers
    of regions.
    """
    if isinstance(array, Image):
        return array
    package = type(array).__module__.partition(".")[0]
    if package in _FROM:
        if not (spacing is None and angles is None and origin is None and direction is None):
            raise ValueError(f"an image of {package} has its own spacing, origin and axes")
        return _stated(_FROM[package](array), quantity, unit, valid, labels)
    array = as_array(array)
    quantity = quantity or ("line_integral" if angles is not None else "intensity")
    axes = _axes(tuple(array.shape), spacing, angles)
    dtype = str(array.dtype).replace("torch.", "")
    kind_of_labels = 2 if labels else 0
    if dtype == "bool":
        dtype, kind_of_labels = "uint8", kind_of_labels or 1  # a mask
    about = dict(axes=axes, dtype=dtype, quantity=quantity, unit=unit or UNITS.get(quantity, "1"), origin=None, direction=None,
                 step=None, frame=0, beam=beam, masked=valid is not None, labels=kind_of_labels)
    if origin is not None or direction is not None:
        direction = tuple(float(d) for d in (direction if direction is not None else (1, 0, 0, 0, 1, 0, 0, 0, 1)))
        about.update(origin=tuple(float(o) for o in (origin if origin is not None else (0, 0, 0))), direction=direction,
                     step=tuple(d * axes[-3].spacing for d in direction[6:]))
    return Image(array, about, valid)


def _from_xarray(data):
    axes = []
    for kind, n in zip(data.dims, data.shape):
        values = data.coords[kind].values if kind in data.coords else range(n)
        unit = data.coords[kind].attrs.get("units", "") if kind in data.coords else "pixel"
        step = float(values[1] - values[0]) if n > 1 else 1.0
        even = all(abs(values[i] - values[0] - i * step) <= 1e-9 * abs(step) * n for i in range(n)) and step > 0
        axes.append(Axis(str(kind), n, step if even else 0.0, unit, float(values[0]),
                         None if even else tuple(map(float, values)), None))
    image = asimage(data.values)
    known = {key: value for key, value in data.attrs.items() if key in image._about and key != "masked"}
    if len(axes) == 2:
        axes.insert(0, image._about["axes"][0])
    return Image(image.array, dict(image._about, **known, axes=axes))


def _stated(image, quantity, unit, valid, labels):
    """Returns the image with what the caller states of its values."""
    about = dict(image._about)
    if quantity or unit:
        about["quantity"] = quantity or about["quantity"]
        about["unit"] = unit or UNITS.get(about["quantity"], "1")
    if labels:
        about["labels"] = 2
    return Image(image.array, dict(about, masked=valid is not None), valid)


def _placed(array, affine, steps):
    """Describes an array whose affine leads from (x, y, z) to LPS. steps: of the axes before z."""
    import numpy

    columns = affine[:3, :3]
    x, y = (numpy.linalg.norm(columns[:, d]) for d in (0, 1))
    normal = numpy.cross(columns[:, 0] / x, columns[:, 1] / y)
    z = float(normal @ columns[:, 2])  # less than its length if the slices are shifted against each other
    direction = numpy.stack([columns[:, 0] / x, columns[:, 1] / y, numpy.copysign(1, z) * normal])
    spacing = [*steps, abs(z), float(y), float(x)][-array.ndim :]
    image = asimage(array, spacing=spacing, origin=affine[:3, 3], direction=direction.ravel())
    image._about["step"] = tuple(columns[:, 2].tolist())
    if array.ndim == 4:
        image._about["axes"][0] = image._about["axes"][0]._replace(spacing=float(steps[0]))
    return image


def _from_nibabel(image):
    import numpy

    array = numpy.asarray(image.dataobj).T
    if array.dtype == numpy.float64 and image.get_data_dtype() != numpy.float64:
        array = array.astype(numpy.float32)  # integers with a scale, of which nibabel has made these
    header, zooms = image.header, [float(zoom) for zoom in image.header.get_zooms()]
    if "sform_code" in header and not header["sform_code"] and not header["qform_code"]:
        lengths = header.get_xyzt_units()[0] == "mm"
        return asimage(array[..., ::-1, :], spacing=zooms[::-1] if lengths else None)
    return _placed(array, numpy.diag([-1.0, -1.0, 1.0, 1.0]) @ image.affine, zooms[3:])


class _Kept:
    """An array as NumPy takes it, whose owner lives as long: SimpleITK's views do not keep their image."""

    def __init__(self, array, owner):
        self.__array_interface__, self.owner = array.__array_interface__, owner


def _from_sitk(image):
    import numpy
    import SimpleITK

    if image.GetNumberOfComponentsPerPixel() > 1:
        raise ValueError(f"the image has {image.GetNumberOfComponentsPerPixel()} values for each pixel, and an Image has one; "
                         "SimpleITK.VectorIndexSelectionCast takes one of them")
    array, n = numpy.asarray(_Kept(SimpleITK.GetArrayViewFromImage(image), image)), image.GetDimension()
    if n == 2:
        return asimage(array, spacing=image.GetSpacing()[::-1])
    affine = numpy.eye(4)
    affine[:3, :3] = numpy.reshape(image.GetDirection(), (n, n))[:3, :3] * image.GetSpacing()[:3]
    affine[:3, 3] = image.GetOrigin()[:3]
    return _placed(array, affine, image.GetSpacing()[3:])


_FROM = {"xarray": _from_xarray, "nibabel": _from_nibabel, "SimpleITK": _from_sitk}
Axis.__module__ = Image.__module__ = asimage.__module__ = "tomostage"
