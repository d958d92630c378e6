# SPDX-License-Identifier: Apache-2.0
"""Images and transforms of results and of DICOM, which the tests of outputs share."""
import os
import shutil
import subprocess

import h5py
import nibabel
import numpy as np
import pydicom

from harness import run


def result(path, name="data"):
    """The array of an image and the transform of its voxels (x, y, z, 1) to LPS."""
    with h5py.File(path) as file:
        group = file[f"/entry/{name}"]
        data, lps = group["data"][:], np.eye(4)
        if "origin_mm" in group.attrs:
            direction = np.asarray(group.attrs["direction"]).reshape(3, 3)
            lps[:3, 0] = direction[0] * abs(group["x"].attrs["spacing"])
            lps[:3, 1] = direction[1] * abs(group["y"].attrs["spacing"])
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


def letter_volume(folder):
    """A reconstruction of a letter F, which no mirroring maps onto itself, without a place in a patient; 4 slices."""
    f = np.zeros((48, 48), "f4")
    f[8:40, 14:19] = f[8:13, 14:34] = f[21:26, 14:28] = 1
    with h5py.File(f"{folder}/f.h5", "w") as file:
        file["f"] = np.stack([f, f, f, f * 2])
    return f, (f"hdf5 {folder}/f.h5 path=/f axes=z,y,x spacing=0.5,0.5,0.5 quantity=attenuation | radon views=90 detectors=48 "
               "| fbp")


def diffusion_series(folder, normal):
    """Five volumes of an oblique series as a Siemens scanner writes them: a b0 and four directions. Returns the b-values and
    the directions in the patient."""
    from pydicom.dataset import Dataset, FileMetaDataset
    directions = np.array([[0, 0, 0], [1, 0, 0], [0.6, 0.8, 0], [0, -0.28, 0.96], [0.48, 0.6, -0.64]])
    turn = np.linalg.qr(np.array([[1, 0.2, 0.1], [-0.15, 1, 0.05], [0.1, 0.2, 1]]))[0]
    turn = turn * np.sign(np.diag(turn)) @ normal
    os.makedirs(f"{folder}/dwi")
    for v, direction in enumerate(directions):
        for z in range(4):
            file = Dataset()
            file.file_meta = FileMetaDataset()
            file.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2.1"
            file.SOPClassUID = file.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.4"
            file.SOPInstanceUID = file.file_meta.MediaStorageSOPInstanceUID = f"1.2.3.{v}.{z}"
            file.StudyInstanceUID, file.SeriesInstanceUID, file.FrameOfReferenceUID = "1.2.4", "1.2.5", "1.2.6"
            file.Modality, file.Manufacturer, file.SeriesNumber, file.InstanceNumber = "MR", "SIEMENS", 3, v * 4 + z + 1
            file.ImageType, file.ScanningSequence, file.MRAcquisitionType = ["ORIGINAL", "PRIMARY", "DIFFUSION", "NONE"], "EP", "2D"
            file.EchoTime, file.RepetitionTime, file.AcquisitionNumber, file.SequenceVariant = 80, 3000, v + 1, "SK"
            file.AcquisitionDate, file.AcquisitionTime = "20200101", f"1000{v * 3:02d}.000000"
            file.InPlanePhaseEncodingDirection, file.SliceThickness = "COL", 3
            file.Rows, file.Columns, file.PixelSpacing = 6, 5, [2, 2.5]
            file.ImageOrientationPatient = list(turn[:, 0]) + list(turn[:, 1])
            file.ImagePositionPatient = list(np.array([-5, 7, 11]) + 3 * z * np.cross(turn[:, 0], turn[:, 1]))
            file.SamplesPerPixel, file.PhotometricInterpretation = 1, "MONOCHROME2"
            file.BitsAllocated, file.BitsStored, file.HighBit, file.PixelRepresentation = 16, 12, 11, 0
            file.PixelData = (np.arange(30, dtype="<u2") + 100 * v + 30 * z).tobytes()
            block = file.private_block(0x19, "SIEMENS MR HEADER", create=True)
            block.add_new(0x0C, "IS", 0 if v == 0 else 1000)
            file.DiffusionBValue = 0.0 if v == 0 else 1000.0
            if v:
                block.add_new(0x0D, "CS", "DIRECTIONAL")
                block.add_new(0x0E, "FD", list(direction))
                file.DiffusionGradientOrientation = list(direction)
            file.is_little_endian, file.is_implicit_VR = True, False
            file.save_as(f"{folder}/dwi/{v}_{z}.dcm", write_like_original=False)
    return directions


def same_files(one, other):
    assert sorted(os.listdir(one)) == sorted(os.listdir(other))
    for name in os.listdir(one):
        with open(f"{one}/{name}", "rb") as first, open(f"{other}/{name}", "rb") as second:
            assert first.read() == second.read(), name


def phantom(folder, *arguments):
    run("phantom", "asymmetric", "-o", f"{folder}/in", "--size", "48", "--slices", "7", *arguments)
    return f"dicom {folder}/in"


def read_dicom(folder):
    """Values, transform to LPS, and the files of a series, in the order of the instance numbers."""
    files = [pydicom.dcmread(f"{folder}/{name}") for name in sorted(os.listdir(folder))]
    values = np.stack([file.pixel_array.astype(float) * float(file.RescaleSlope) + float(file.RescaleIntercept)
                       for file in files])
    lps = np.eye(4)
    places = np.array([file.ImagePositionPatient for file in files], float)
    orientation = np.array(files[0].ImageOrientationPatient, float).reshape(2, 3)
    lps[:3, 0] = orientation[0] * files[0].PixelSpacing[1]
    lps[:3, 1] = orientation[1] * files[0].PixelSpacing[0]
    lps[:3, 2] = (places[-1] - places[0]) / (len(files) - 1)
    lps[:3, 3] = places[0]
    return values, lps, files


def reload(source, folder):
    """The values and the transform of what is read from a chain's input, and the attributes of the image."""
    run("run", f"{source} | hdf5 {folder}/reload.h5", "--force")
    with h5py.File(f"{folder}/reload.h5") as file:
        axes = {name: file[f"/entry/data/{name}"][:] for name in ("time", "echo", "b") if name in file["/entry/data"]}
        unit = file["/entry/data/data"].attrs.get("units", b"")
    return *result(f"{folder}/reload.h5"), axes, unit.decode() if isinstance(unit, bytes) else unit


def check_object(path, expected):
    """The attributes of a file; no error of dciodvfy."""
    file = pydicom.dcmread(path)
    for name, value in expected.items():
        assert file.get(name) == value, (name, file.get(name), value)
    if shutil.which("dciodvfy"):
        report = subprocess.run(["dciodvfy", path], capture_output=True, text=True).stderr
        assert "Error" not in report, report
    return file
