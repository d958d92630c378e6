# SPDX-License-Identifier: Apache-2.0
"""NRRD and MetaImage as SimpleITK and pynrrd read and write them, and as the program's own inputs read them back."""
import importlib
import os

import h5py
import numpy as np

from harness import Skip, run, test
from outputs_support import letter_volume, phantom, reload, result

FORMATS = ("nrrd", ""), ("nrrd", "compression=none"), ("mha", ""), ("mha", "compression=none")


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"there is no Python package {name}") from error


def read_itk(path):
    """Values, and the transform of voxels (x, y, z, 1) to LPS, of any number of volumes."""
    image = package("SimpleITK").ReadImage(path)
    n, lps = image.GetDimension(), np.eye(4)
    turn = np.array(image.GetDirection()).reshape(n, n)[:3, :3]
    lps[:3, :3] = turn * np.array(image.GetSpacing())[:3]
    lps[:3, 3] = image.GetOrigin()[:3]
    return package("SimpleITK").GetArrayFromImage(image), lps, image


@test
def nrrd_and_mha_keep_values_place_and_quantity(folder):
    """Upright, turned and left-handed volumes, of every type; SimpleITK reads what was written, and so does the program."""
    chain = phantom(folder)
    stages = ["save name=same", "reorient to=LAS", "reorient to=PIR", "box radius=1", "threshold above=0"]
    for kind, more in FORMATS:
        for stage in stages if not more else stages[:1]:
            path = f"{folder}/a.{kind}"
            run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | {kind} {path} {more}", "--force")
            data, lps = result(f"{folder}/a.h5")
            run("run", f"{kind} {path} | hdf5 {folder}/b.h5", "--force")
            again, again_lps = result(f"{folder}/b.h5")
            if np.linalg.det(lps[:3, :3]) < 0:  # the image is right-handed again: its rows are turned
                again, again_lps = again[:, ::-1], again_lps @ np.array([[1, 0, 0, 0], [0, -1, 0, data.shape[1] - 1], [0, 0, 1, 0], [0, 0, 0, 1.0]])
            assert again.dtype == data.dtype and np.array_equal(again, data), (kind, stage)
            assert np.allclose(again_lps, lps, rtol=0, atol=1e-12), (kind, stage, again_lps, lps)
            with h5py.File(f"{folder}/a.h5") as one, h5py.File(f"{folder}/b.h5") as other:
                facts = [file["entry/data/data"].attrs[name] for name in ("quantity", "units") for file in (one, other)]
            assert facts[0] == facts[1] and facts[2] == facts[3], (kind, stage, facts)
    for kind, more in FORMATS:
        run("run", f"{chain} | save name=same | hdf5 {folder}/a.h5 | {kind} {folder}/a.{kind} {more}", "--force")
        values, lps, image = read_itk(f"{folder}/a.{kind}")
        data, expected = result(f"{folder}/a.h5")
        assert values.dtype == data.dtype and np.array_equal(values, data) and np.allclose(lps, expected, rtol=0, atol=1e-12)
        assert image.GetMetaData("tomostage_quantity") == "hu" and image.GetMetaData("tomostage_unit") == "HU"


@test
def the_same_bytes_for_any_number_of_threads(folder):
    chain = phantom(folder)
    for kind in "nrrd", "mha":
        found = set()
        for threads in "1", "3":
            run("run", f"{chain} | {kind} {folder}/a.{kind}", "--force", "--threads", threads)
            with open(f"{folder}/a.{kind}", "rb") as file:
                found.add(file.read())
        assert len(found) == 1, kind


@test
def pynrrd_reads_the_header(folder):
    nrrd = package("nrrd")
    run("run", f"{phantom(folder)} | hdf5 {folder}/a.h5 | nrrd {folder}/a.nrrd")
    values, header = nrrd.read(f"{folder}/a.nrrd")
    data, lps = result(f"{folder}/a.h5")
    assert np.array_equal(values.transpose(2, 1, 0), data) and header["space"] == "left-posterior-superior"
    assert np.array_equal(header["space directions"], lps[:3, :3].T) and np.array_equal(header["space origin"], lps[:3, 3])
    assert header["tomostage_unit"] == "HU" and header["space units"] == ["mm"] * 3


@test
def what_simpleitk_writes_is_read(folder):
    sitk = package("SimpleITK")
    turn = np.linalg.qr(np.array([[1, 0.2, 0.1], [-0.15, 1, 0.05], [0.1, 0.2, 1]]))[0]
    turn = turn * np.sign(np.diag(turn))
    values = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    for kind in "i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8":
        for name, packed in ("a.mha", False), ("a.mha", True), ("b.mhd", False), ("b.mhd", True), ("c.nrrd", True):
            image = sitk.GetImageFromArray(values.astype(kind))
            image.SetDirection(turn.ravel().tolist())
            image.SetSpacing([0.7, 0.8, 2.5])
            image.SetOrigin([-10, -20, 30])
            image.SetMetaData("0008|0060", "CT")
            sitk.WriteImage(image, f"{folder}/{name}", packed)
            data, attributes = reload(f"{name.split('.')[1].replace('mhd', 'mha')} {folder}/{name}", folder)[:2]
            assert np.array_equal(data, values), (kind, name)
            found, lps = result(f"{folder}/reload.h5")
            assert np.allclose(lps[:3, :3], turn * [0.7, 0.8, 2.5], rtol=0, atol=1e-9) and np.allclose(lps[:3, 3], [-10, -20, 30])
    slices = sitk.GetImageFromArray(values[0].astype("i2"))
    slices.SetSpacing([0.5, 0.25])
    sitk.WriteImage(slices, f"{folder}/slice.mha")
    run("run", f"mha {folder}/slice.mha | hdf5 {folder}/out.h5", "--force")
    with h5py.File(f"{folder}/out.h5") as file:
        assert np.array_equal(file["entry/data/data"][:], values[:1]) and file["entry/data/y"].attrs["spacing"] in (0.25, -0.25)


@test
def a_series_is_one_mha(folder):
    """The values of a sweep, even or not, are those of the fourth axis; NRRD refuses them."""
    package("SimpleITK")
    phantom(folder)
    for values in "0 1 2", "0 1 5":
        chain = f"dicom {folder}/in | box radius={{sweep {values}}}"
        run("run", f"{chain} | hdf5 {folder}/a.h5 | mha {folder}/a.mha", "--force")
        run("run", f"mha {folder}/a.mha | hdf5 {folder}/b.h5", "--force")
        with h5py.File(f"{folder}/a.h5") as one, h5py.File(f"{folder}/b.h5") as other:
            for name in "data", "box_radius":
                assert np.array_equal(one[f"entry/data/{name}"][:], other[f"entry/data/{name}"][:]), (values, name)
    values, _, image = read_itk(f"{folder}/a.mha")
    assert values.shape[0] == 3 and image.GetDimension() == 4
    assert "output-cannot-hold" in run("run", f"{chain} | nrrd {folder}/a.nrrd", expect=2).stderr


@test
def volumes_without_a_place_and_masks(folder):
    _, chain = letter_volume(folder)
    source = phantom(folder)
    for kind in "nrrd", "mha":
        run("run", f"{chain} | hdf5 {folder}/a.h5 | {kind} {folder}/a.{kind}", "--force")
        run("run", f"{kind} {folder}/a.{kind} | hdf5 {folder}/b.h5", "--force")
        (data, _), (again, _) = result(f"{folder}/a.h5"), result(f"{folder}/b.h5")
        with h5py.File(f"{folder}/b.h5") as file:
            assert np.array_equal(again, data) and "origin_mm" not in file["entry/data"].attrs
            assert file["entry/data/data"].attrs["quantity"] == b"attenuation"
        region = f"{source} | threshold above=0 name=m | apply_mask input=input mask=m | "
        run("run", f"{region} hdf5 {folder}/m.h5 | {kind} {folder}/m.{kind}", "--force")
        assert os.path.exists(f"{folder}/m_mask.{kind}")
        run("run", f"{kind} {folder}/m_mask.{kind} | hdf5 {folder}/b.h5", "--force")
        (mask, place), (_, expected) = result(f"{folder}/b.h5"), result(f"{folder}/m.h5")
        with h5py.File(f"{folder}/m.h5") as file:
            valid = 1 - file["entry/data/pixel_mask"][:]
        assert np.array_equal(mask, valid) and set(np.unique(mask)) == {0, 1} and np.allclose(place, expected, rtol=0, atol=1e-12)
        run("run", f"{source} | input m mask {folder}/m_mask.{kind} | statistics mask=m | hdf5 {folder}/s.h5", "--force")
        with h5py.File(f"{folder}/s.h5") as file:
            assert file["entry/process_1_statistics/tables/count"][()] == np.count_nonzero(valid), kind
