#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads outputs of every format with the libraries that people use, and compares values and geometry with the HDF5 output of
the same run.

usage: test_outputs.py PROGRAM. The public images are found through TOMOSTAGE_DATA. Ends with 77, which counts as
skipped, where a module is missing; tests of data are left out, with a line that says so, where the data are."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import nibabel
    import numpy as np
    import pydicom
    import tifffile
except ImportError as missing:
    print(f"SKIPPED: {missing}; ./bootstrap.sh test installs what the tests need")
    sys.exit(77)

PROGRAM = os.path.abspath(sys.argv[1])
DATA = os.environ.get("TOMOSTAGE_DATA")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def run(*arguments, expect=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, errors="replace")
    assert done.returncode == expect, f"{arguments}: exit {done.returncode}, expected {expect}\n{done.stderr}"
    return done


def result(path, name="data"):
    """The array of an image and the transform of its voxels (x, y, z, 1) to LPS."""
    with h5py.File(path) as file:
        group = file[f"/entry/{name}"]
        data, lps = group["data"][:], np.eye(4)
        if "origin_mm" in group.attrs:
            direction = np.asarray(group.attrs["direction"]).reshape(3, 3)
            lps[:3, 0] = direction[0] * group["x"].attrs["spacing"]
            lps[:3, 1] = direction[1] * group["y"].attrs["spacing"]
            lps[:3, 2] = group.attrs["step_z_mm"]
            lps[:3, 3] = group.attrs["origin_mm"]
        return data, lps


TO_RAS = np.diag([-1.0, -1, 1, 1])


def check_nifti(path, data, lps):
    image = nibabel.load(path)
    values = np.asarray(image.dataobj)
    assert values.dtype == data.dtype and np.array_equal(values.transpose(2, 1, 0), data), path
    assert np.allclose(image.affine, TO_RAS @ lps, rtol=0, atol=1e-4), (image.affine, TO_RAS @ lps)
    assert np.allclose(image.get_sform(), image.get_qform(), rtol=0, atol=1e-4)
    assert image.header.get_xyzt_units() == ("mm", "sec")
    assert image.header["sform_code"] == 1 and image.header["qform_code"] == 1


@test
def nifti_of_a_phantom(folder):
    run("phantom", "asymmetric", "-o", f"{folder}/in", "--size", "48", "--slices", "7")
    for name in "a.nii", "a.nii.gz":
        run("run", f"dicom {folder}/in | box radius=1 | hdf5 {folder}/a.h5 | nifti {folder}/{name}", "--force")
        check_nifti(f"{folder}/{name}", *result(f"{folder}/a.h5"))
    with open(f"{folder}/a.json", encoding="utf-8") as file:
        facts = json.load(file)
    assert facts["Modality"] == "CT" and facts["Units"] == "HU" and facts["GeneratedBy"][0]["Name"] == "tomostage"
    # What was written is read to the same volume.
    run("run", f"nifti {folder}/a.nii.gz quantity=hu | invert | hdf5 {folder}/b.h5")
    run("run", f"result {folder}/a.h5 | invert | hdf5 {folder}/c.h5")
    (data, lps), (expected, expected_lps) = result(f"{folder}/b.h5"), result(f"{folder}/c.h5")
    assert np.array_equal(data, expected) and np.allclose(lps, expected_lps, rtol=0, atol=1e-4)


@test
def nifti_2_of_a_long_axis(folder):
    values = np.arange(40000 * 2 * 2, dtype=np.int32).reshape(40000, 2, 2)
    nibabel.save(nibabel.Nifti2Image(values, np.diag([-1, -1, 3, 1])), f"{folder}/long.nii")
    run("run", f"nifti {folder}/long.nii | save name=same | nifti {folder}/out.nii")
    image = nibabel.load(f"{folder}/out.nii")
    assert isinstance(image, nibabel.Nifti2Image) and image.shape == (40000, 2, 2)
    assert np.array_equal(np.asarray(image.dataobj), values)


@test
def nifti_that_nibabel_wrote(folder):
    random = np.random.default_rng(1)
    for dtype in np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float32, np.float64:
        for order in "<>":
            for signs in (-1, -1, 1), (1, 1, 1), (-1, 1, 1), (1, -1, -1):
                values = (random.random((6, 5, 4)) * 100).astype(dtype)
                turn = np.linalg.qr(random.random((3, 3)))[0]
                turn *= np.linalg.det(turn)
                affine = np.eye(4)
                affine[:3, :3] = turn @ np.diag(np.array(signs) * (0.7, 0.8, 1.5))
                affine[:3, 3] = (10, -20, 30)
                header = nibabel.Nifti1Header(endianness=order)
                header.set_data_dtype(np.dtype(dtype).newbyteorder(order))
                image = nibabel.Nifti1Image(values, affine, header)
                nibabel.save(image, f"{folder}/in.nii.gz")
                run("run", f"nifti {folder}/in.nii.gz | save name=same | hdf5 {folder}/out.h5", "--force")
                data, lps = result(f"{folder}/out.h5")
                expected, wanted = values.transpose(2, 1, 0).astype(np.float32), TO_RAS @ affine
                if np.linalg.det(wanted[:3, :3]) < 0:  # its rows are read from the last one on
                    expected = expected[:, ::-1]
                    wanted = wanted @ np.array([[1, 0, 0, 0], [0, -1, 0, 4], [0, 0, 1, 0], [0, 0, 0, 1]])
                assert np.array_equal(data.astype(np.float32), expected), (dtype, order, signs)
                assert np.allclose(lps, wanted, rtol=0, atol=1e-4), (lps, wanted)


@test
def twins_in_dicom_and_nifti(folder):
    if not DATA:
        raise LookupError
    pairs = [(f"{DATA}/ct/ibsi_sts001/dicom/{name}/image", f"{DATA}/ct/ibsi_sts001/ref_nifti/{nifti}_image.nii.gz")
             for name, nifti in (("CT", "CT"), ("PET", "PET"), ("MR_T1", "MR_T1"))]
    for dicom, nifti in pairs:
        run("run", f"dicom {dicom} | save name=same | hdf5 {folder}/d.h5", "--force")
        run("run", f"nifti {nifti} | save name=same | hdf5 {folder}/n.h5", "--force")
        (data, lps), (other, other_lps) = result(f"{folder}/d.h5"), result(f"{folder}/n.h5")
        scale = np.abs(data.astype(float)).max()
        assert data.shape == other.shape and np.abs(data.astype(float) - other).max() <= 1e-6 * scale, dicom
        assert np.allclose(lps, other_lps, rtol=0, atol=1e-3), (lps, other_lps)


def main():
    failed = skipped = 0
    for function in TESTS:
        folder = tempfile.mkdtemp()
        try:
            function(folder)
            print("passed:", function.__name__)
        except LookupError:
            skipped += 1
            print("SKIPPED:", function.__name__, "- TOMOSTAGE_DATA is not set")
        except AssertionError as error:
            failed += 1
            print("FAILED:", function.__name__, error)
        finally:
            shutil.rmtree(folder)
    print(f"{len(TESTS) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main())
