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
