# SPDX-License-Identifier: Apache-2.0
import numpy
import pytest

import tomostage as ts


def test_read_says_what_the_series_is(ct):
    image = ts.read(ct)
    assert image.shape == (8, 64, 64) and image.dtype == numpy.int16 and image.ndim == 3
    assert image.spacing == pytest.approx((2.5, 0.8, 0.8)) and image.quantity == "hu" and image.unit == "HU"
    assert image.origin == pytest.approx((-25.2, -25.2, -8.75)) and image.direction == (1, 0, 0, 0, 1, 0, 0, 0, 1)
    assert [axis.kind for axis in image.axes] == ["z", "y", "x"] and image.valid is None
    assert image.affine @ [63, 0, 7, 1] == pytest.approx([25.2, -25.2, 8.75, 1])
    assert "8 z x 64 y x 64 x" in repr(image)


def test_read_takes_the_parameters_of_the_format(ct):
    with pytest.raises(ts.ChainError) as error:
        ts.read(ct, series=7)
    assert error.value.status == "bad-input"
    with pytest.raises(ts.ChainError) as error:
        ts.read(ct, seris=1)
    assert error.value.records[0].code == "unknown-parameter"


def test_numpy_takes_an_image_without_a_copy(ct):
    image = ts.read(ct)
    assert numpy.shares_memory(numpy.asarray(image), image.array)
    assert numpy.shares_memory(numpy.from_dlpack(image), image.array)
    assert image.__dlpack_device__() == (1, 0)
    assert numpy.asarray(image, numpy.float64).dtype == numpy.float64
    with pytest.raises(AttributeError):
        image.__cuda_array_interface__


def test_asimage_copies_nothing(volume):
    image = ts.asimage(volume, spacing=(2, 0.5, 0.5), quantity="hu")
    assert image.array is volume and image.unit == "HU" and image.spacing == (2, 0.5, 0.5)
    assert ts.asimage(image) is image
    assert ts.asimage(volume, spacing=0.5).spacing == (0.5, 0.5, 0.5)
    assert ts.asimage(volume[0], spacing=(1, 2)).spacing == (1, 2)
    assert ts.asimage(volume).axes[0].unit == "pixel"


def test_a_scan_has_angles_in_degrees():
    sinogram = numpy.zeros((12, 20), numpy.float32)
    image = ts.asimage(sinogram, angles=numpy.arange(12) * 15.0)
    assert image.quantity == "line_integral" and image.axes[0].values[1] == 15 and image.axes[1].values[0] == -9.5
    with pytest.raises(ValueError, match="degrees"):
        ts.asimage(sinogram, angles=numpy.linspace(0, numpy.pi, 12))
    with pytest.raises(ValueError, match="12 views"):
        ts.asimage(sinogram, angles=[0, 1, 2])
    assert ts.asimage(sinogram, angles=numpy.linspace(0, 170, 12)).axes[0].values[-1] == 170


@pytest.mark.parametrize("wrong", [dict(quantity="hounsfield"), dict(spacing=(1, 2, 3, 4, 5)), dict(spacing=-1),
                                   dict(origin=(1, 2))])
def test_what_is_wrong_is_said(volume, wrong):
    with pytest.raises((ValueError, ts.ChainError)):
        (ts.asimage(volume, **wrong) | ts.box(radius=1)).run("cpu")


def test_invalid_pixels_stay_out_of_what_is_counted(volume):
    valid = numpy.ones(volume.shape, bool)
    valid[0, :10] = False
    result = (ts.asimage(volume, valid=valid) | ts.statistics()).run("cpu")
    assert result.tables["statistics"]["count"] == valid.sum()
    assert numpy.array_equal(result.images["data"].valid, valid)
    with pytest.raises(ValueError, match="shape"):
        (ts.asimage(volume, valid=valid[1:]) | ts.statistics()).run("cpu")


def test_an_image_is_the_input_of_a_chain(ct):
    image = ts.read(ct)
    there = (image | ts.box(radius=2)).run("cpu").images["data"]
    assert numpy.array_equal(there.array, (ts.dicom(ct) | ts.box(radius=2)).run("cpu")["data"])
    assert there.origin == image.origin and there.spacing == image.spacing


def test_nibabel_and_back(ct, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    image = ts.read(ct)
    again = ts.asimage(image.to_nibabel())
    assert again.affine == pytest.approx(image.affine) and numpy.array_equal(again.array, image.array)
    (ts.dicom(ct) | ts.crop(x=[0, 32])).run("cpu", write=tmp_path / "r.nii.gz")
    theirs, ours = nibabel.load(tmp_path / "r.nii.gz"), (ts.dicom(ct) | ts.crop(x=[0, 32])).run("cpu").images["data"]
    assert theirs.affine == pytest.approx(ours.to_nibabel().affine)
    assert numpy.array_equal(numpy.asarray(theirs.dataobj), numpy.asarray(ours.to_nibabel().dataobj))


def letter():
    """Returns an F in a volume of (z, y, x) of which no two axes are alike and no mirror image is the same."""
    volume = numpy.zeros((3, 7, 6), numpy.int16)
    volume[1, 1:6, 1], volume[1, 1, 1:5], volume[1, 3, 1:4], volume[2, 1, 1] = 5, 5, 5, 9
    return volume


def places():
    """Places of volumes in a patient: straight, mirrored along z, turned about all axes, and with shifted slices."""
    turned = numpy.linalg.qr(numpy.random.default_rng(5).standard_normal((3, 3)))[0].T
    turned = turned * [[1], [1], [numpy.linalg.det(turned)]]
    straight = (1, 0, 0, 0, 1, 0, 0, 0, 1)
    return {"straight": (straight, None), "feet first": ((-1, 0, 0, 0, 1, 0, 0, 0, -1), None),
            "mirrored": ((1, 0, 0, 0, 1, 0, 0, 0, -1), None), "turned": (tuple(turned.ravel()), None),
            "tilted": (straight, (0.0, 0.7, 2.5))}


def placed(place):
    direction, step = places()[place]
    image = ts.asimage(letter(), spacing=(2.5, 0.8, 0.6), origin=(-12.5, 30, 7), direction=direction, quantity="hu")
    if step:
        image._about["step"] = step
    return image


def by_hand(image, x, y, z):
    """Returns the place of a voxel in LPS, from what the header says."""
    rows = numpy.reshape(image.direction, (3, 3))
    return image.origin + x * 0.6 * rows[0] + y * 0.8 * rows[1] + z * numpy.asarray(image._about["step"])


@pytest.mark.parametrize("place", places())
def test_nibabel_has_the_values_where_they_are(place):
    nibabel = pytest.importorskip("nibabel")
    image = placed(place)
    there = image.to_nibabel()
    for x, y, z in ((1, 1, 2), (4, 1, 1), (3, 3, 1), (0, 6, 0)):
        assert numpy.asarray(there.dataobj)[x, y, z] == image.array[z, y, x]
        assert nibabel.affines.apply_affine(there.affine, (x, y, z)) == pytest.approx(by_hand(image, x, y, z) * [-1, -1, 1])
    again = ts.asimage(there, quantity="hu")
    assert numpy.array_equal(again.array, image.array) and (again.quantity, again.unit) == ("hu", "HU")
    assert again.affine == pytest.approx(image.affine) and again.direction == pytest.approx(image.direction)
    assert again.spacing == pytest.approx(image.spacing)
    assert there.header.get_xyzt_units()[0] == "mm"


@pytest.mark.parametrize("place", places())
def test_sitk_has_the_values_where_they_are(place):
    pytest.importorskip("SimpleITK")
    image = placed(place)
    if place == "tilted":
        with pytest.raises(ValueError, match="unshear"):
            image.to_sitk()
        return
    there = image.to_sitk()
    for x, y, z in ((1, 1, 2), (4, 1, 1), (3, 3, 1), (0, 6, 0)):
        assert there.GetPixel(x, y, z) == image.array[z, y, x]
        assert there.TransformIndexToPhysicalPoint((x, y, z)) == pytest.approx(by_hand(image, x, y, z))
    again = ts.asimage(there)
    assert numpy.array_equal(again.array, image.array) and again.affine == pytest.approx(image.affine)


@pytest.mark.parametrize("place", places())
def test_xarray_has_all_of_it(place):
    pytest.importorskip("xarray")
    image = placed(place)
    again = ts.asimage(image.to_xarray())
    assert again.affine == pytest.approx(image.affine) and numpy.shares_memory(again.array, image.array)
    assert {**again._about, "axes": 0} == {**image._about, "axes": 0} and again.axes == image.axes


@pytest.mark.parametrize("shape, spacing", [((7, 6), (0.8, 0.6)), ((3, 7, 6), (2.5, 0.8, 0.6)), ((2, 3, 7, 6), (1.5, 2.5, 0.8, 0.6))])
@pytest.mark.parametrize("package", ["nibabel", "SimpleITK", "xarray"])
@pytest.mark.parametrize("origin", [None, (1, 2, 3)])
def test_slices_and_series_and_images_without_a_place(package, shape, spacing, origin):
    pytest.importorskip(package)
    values = numpy.random.default_rng(3).random(shape, numpy.float32)
    image = ts.asimage(values, spacing=spacing, origin=origin)
    again = ts.asimage(getattr(image, {"SimpleITK": "to_sitk"}.get(package, f"to_{package}"))())
    assert numpy.array_equal(again.array, values)
    if len(shape) < 4 or package == "SimpleITK":
        assert again.spacing[-3:] == pytest.approx(spacing[-3:])
    if package == "nibabel" or package == "xarray" and origin:
        assert again.origin == (None if origin is None else pytest.approx(origin))
    assert ts.box(again, radius=1).shape == (shape if len(shape) > 2 else (1, *shape))


def test_nibabel_without_a_place_is_the_file(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    image = ts.asimage(letter(), spacing=(2.5, 0.8, 0.6))
    image.save(tmp_path / "f.nii")
    file, there = nibabel.load(tmp_path / "f.nii"), image.to_nibabel()
    assert numpy.array_equal(numpy.asarray(file.dataobj), numpy.asarray(there.dataobj))
    assert file.affine == pytest.approx(there.affine) and file.header.get_zooms() == there.header.get_zooms()
    assert [int(one.header[code]) for one in (file, there) for code in ("sform_code", "qform_code")] == [0] * 4
    assert numpy.array_equal(ts.asimage(file).array, ts.read(tmp_path / "f.nii").array)


def test_arrays_of_the_standard():
    """array-api-strict has the standard's arrays and nothing else; it takes ours, and we take its."""
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    values = letter().astype("float32")
    image = ts.asimage(values)
    theirs = xp.from_dlpack(image)
    assert theirs.shape == values.shape and theirs.dtype == xp.float32 and numpy.array_equal(numpy.from_dlpack(theirs), values)
    assert numpy.array_equal(ts.gaussian(theirs, sigma=1), ts.gaussian(values, sigma=1))
    assert numpy.array_equal(ts.asimage(theirs).array, values) and ts.asimage(theirs).dtype == numpy.float32
    A = ts.Projector((7, 6), ts.rays.parallel(5))
    assert numpy.array_equal(A(theirs), A(values))
    with pytest.raises(TypeError, match="float64"):
        ts.gaussian(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), sigma=1)


def test_values_of_others_outlive_them():
    """SimpleITK's views of an image end with it."""
    import gc

    sitk = pytest.importorskip("SimpleITK")

    def made():
        return ts.asimage(sitk.GetImageFromArray(numpy.arange(60, dtype=numpy.float32).reshape(3, 4, 5)))

    image = made()
    gc.collect()
    rest = [numpy.full((3, 4, 5), 7, numpy.float32) for _ in range(1000)]
    assert numpy.array_equal(image.array.ravel(), numpy.arange(60)) and len(rest) == 1000


def test_what_others_state_in_other_ways():
    nibabel, sitk = pytest.importorskip("nibabel"), pytest.importorskip("SimpleITK")
    scaled = nibabel.Nifti1Image(letter().T, numpy.eye(4))
    scaled.header.set_slope_inter(0.5, -1)
    scaled = nibabel.Nifti1Image.from_bytes(scaled.to_bytes())
    assert numpy.array_equal(ts.asimage(scaled).array, letter() * numpy.float32(0.5) - 1)
    with pytest.raises(ValueError, match="3 values for each pixel"):
        ts.asimage(sitk.GetImageFromArray(numpy.zeros((4, 5, 6, 3), "uint8"), isVector=True))
    with pytest.raises(ValueError, match="its own spacing"):
        ts.asimage(sitk.GetImageFromArray(letter()), spacing=1)
    valid = letter() > 0
    assert ts.asimage(sitk.GetImageFromArray(letter()), valid=valid, labels=True).valid is valid


def test_xarray_and_back(ct):
    pytest.importorskip("xarray")
    image = ts.read(ct)
    data = image.to_xarray()
    assert data.dims == ("z", "y", "x") and data.attrs["unit"] == "HU" and float(data.z[1] - data.z[0]) == 2.5
    again = ts.asimage(data)
    assert again.affine == pytest.approx(image.affine) and again.quantity == "hu"


def test_sitk_and_back(ct):
    sitk = pytest.importorskip("SimpleITK")
    image = ts.read(ct)
    there = image.to_sitk()
    assert there.TransformIndexToPhysicalPoint((63, 0, 7)) == pytest.approx((25.2, -25.2, 8.75))
    assert ts.asimage(there).affine == pytest.approx(image.affine)
    assert sitk.GetArrayFromImage(there).shape == image.shape


def test_a_mask_is_no_image_of_labels():
    mask = numpy.zeros((4, 5), bool)
    assert ts.asimage(mask)._about["labels"] == 1
    assert ts.asimage(mask, labels=True)._about["labels"] == 2
    assert ts.asimage(mask.astype(numpy.uint8))._about["labels"] == 0
