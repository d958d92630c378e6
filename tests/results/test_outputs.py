#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads outputs of every format with the libraries that people use, and compares values and geometry with the HDF5 output of
the same run.

usage: test_outputs.py PROGRAM. The public images are found through TOMOSTAGE_DATA. Ends with 77, which counts as
skipped, where a module is missing; tests of data are left out, with a line that says so, where the data are."""
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

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


class Skip(Exception):
    pass


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
            lps[:3, 1] = direction[1] * -group["y"].attrs["spacing"]  # y falls with the row
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
    chain = phantom(folder)
    for name in "a.nii", "a.nii.gz":
        run("run", f"{chain} | box radius=1 | hdf5 {folder}/a.h5 | nifti {folder}/{name}", "--force")
        check_nifti(f"{folder}/{name}", *result(f"{folder}/a.h5"))
    with open(f"{folder}/a.json", encoding="utf-8") as file:
        facts = json.load(file)
    assert facts["Modality"] == "CT" and facts["Units"] == "HU" and facts["GeneratedBy"][0]["Name"] == "tomostage"
    # What was written is read to the same volume.
    run("run", f"nifti {folder}/a.nii.gz quantity=hu | invert | hdf5 {folder}/b.h5")
    run("run", f"result {folder}/a.h5 | invert | hdf5 {folder}/c.h5")
    (data, lps), (expected, expected_lps) = result(f"{folder}/b.h5"), result(f"{folder}/c.h5")
    assert np.array_equal(data, expected) and np.allclose(lps, expected_lps, rtol=0, atol=1e-4)


def letter_volume(folder):
    """A reconstruction of a letter F, which no mirroring maps onto itself, without a place in a patient; 4 slices."""
    f = np.zeros((48, 48), "f4")
    f[8:40, 14:19] = f[8:13, 14:34] = f[21:26, 14:28] = 1
    with h5py.File(f"{folder}/f.h5", "w") as file:
        file["f"] = np.stack([f, f, f, f * 2])
    return f, (f"hdf5 {folder}/f.h5 path=/f axes=z,y,x spacing=0.5,0.5,0.5 quantity=attenuation | radon views=90 detectors=48 "
               "| fbp")


@test
def nifti_without_a_place(folder):
    letter, chain = letter_volume(folder)
    for name in "a.nii", "a.nii.gz":
        run("run", f"{chain} | hdf5 {folder}/a.h5 | nifti {folder}/{name} | dicom {folder}/derived", "--force")
        data, _ = result(f"{folder}/a.h5")
        image = nibabel.load(f"{folder}/{name}")
        assert image.header["sform_code"] == 0 and image.header["qform_code"] == 0
        assert image.header.get_zooms() == (0.5, 0.5, 0.5)
        values = image.get_fdata()
        assert np.array_equal(values[:, ::-1].transpose(2, 1, 0), data)
        # Drawn as RAS with y upwards and the patient's right at the left, the letter stands upright; so it does in DICOM.
        drawn = nibabel.as_closest_canonical(image).get_fdata()[::-1, ::-1, 1].T
        assert np.corrcoef(drawn.ravel(), letter.ravel())[0, 1] > 0.9
        stored, lps, files = read_dicom(f"{folder}/derived")
        of_dicom = nibabel.Nifti1Image(stored.transpose(2, 1, 0), TO_RAS @ lps)
        step = float(files[0].RescaleSlope)
        assert np.abs(nibabel.as_closest_canonical(of_dicom).get_fdata() -
                      nibabel.as_closest_canonical(image).get_fdata()).max() <= step
        # What was written is read to the same volume, and has no place again.
        run("run", f"nifti {folder}/{name} quantity=attenuation | save name=same | hdf5 {folder}/b.h5", "--force")
        with h5py.File(f"{folder}/b.h5") as file, h5py.File(f"{folder}/a.h5") as first:
            assert "origin_mm" not in file["/entry/data"].attrs and "origin_mm" not in first["/entry/data"].attrs
            assert np.array_equal(file["/entry/data/data"][:], data)


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


@test
def diffusion_for_fsl(folder):
    directions = diffusion_series(folder, np.eye(3))
    run("run", f"dicom {folder}/dwi | save name=same | nifti {folder}/ours.nii | hdf5 {folder}/ours.h5")
    image = nibabel.load(f"{folder}/ours.nii")
    bvals, bvecs = np.loadtxt(f"{folder}/ours.bval"), np.loadtxt(f"{folder}/ours.bvec")
    assert np.array_equal(bvals, [0, 1000, 1000, 1000, 1000]) and bvecs.shape == (3, 5)
    with h5py.File(f"{folder}/ours.h5") as file:
        kept = file["/entry/inputs/input/diffusion_gradient_direction"][:]
        assert kept.shape == (5, 3) and np.allclose(kept, directions)

    def in_patient(path, vectors):
        """FSL's rule backwards: x the other way for a positive determinant, then the axes of the image in RAS."""
        axes = nibabel.load(path).affine[:3, :3]
        turned = vectors * [[-1 if np.linalg.det(axes) > 0 else 1], [1], [1]]
        return (axes / np.linalg.norm(axes, axis=0)) @ turned

    assert np.linalg.det(image.affine[:3, :3]) > 0
    assert np.allclose(in_patient(f"{folder}/ours.nii", bvecs), (directions * [-1, -1, 1]).T, atol=1e-5)
    assert image.header.get_xyzt_units() == ("mm", "unknown")
    # Another orientation of the axes has its own vectors for the same directions.
    for to, sign in ("RAS", 1), ("LAS", -1), ("PLS", -1), ("LPI", -1), ("LPS", 1), ("PIL", -1):
        run("run", f"dicom {folder}/dwi | reorient to={to} | nifti {folder}/turned.nii", "--force")
        path, turned = f"{folder}/turned.nii", np.loadtxt(f"{folder}/turned.bvec")
        assert np.sign(np.linalg.det(nibabel.load(path).affine[:3, :3])) == sign, to
        assert np.allclose(in_patient(path, turned), (directions * [-1, -1, 1]).T, atol=1e-5), to
    if not shutil.which("dcm2niix"):
        raise Skip
    os.makedirs(f"{folder}/theirs")
    subprocess.run(["dcm2niix", "-b", "y", "-z", "n", "-f", "x", "-o", f"{folder}/theirs", f"{folder}/dwi"], check=True, capture_output=True)
    their_bvecs = np.loadtxt(f"{folder}/theirs/x.bvec")
    assert np.array_equal(np.loadtxt(f"{folder}/theirs/x.bval"), bvals)
    theirs, mine = in_patient(f"{folder}/theirs/x.nii", their_bvecs), in_patient(f"{folder}/ours.nii", bvecs)
    assert np.allclose(theirs, mine, atol=1e-4), (theirs, mine)


def same_files(one, other):
    assert sorted(os.listdir(one)) == sorted(os.listdir(other))
    for name in os.listdir(one):
        with open(f"{one}/{name}", "rb") as first, open(f"{other}/{name}", "rb") as second:
            assert first.read() == second.read(), name


@test
def a_result_knows_its_acquisition(folder):
    """What is exported from a result, or computed further from it, is what the run itself would have written."""
    sources = {"phantom": phantom(folder)}
    if DATA:
        sources["mosaic"] = f"dicom {DATA}/mr/siemens_mosaic/dicom series=#6"
        sources["pet"] = f"dicom {DATA}/ct/ibsi_sts001/dicom/PET/image"
    for name, source in sources.items():
        if name != "mosaic":
            run("run", f"{source} | box radius=1 | dicom {folder}/{name}_own | hdf5 {folder}/{name}.h5")
            run("export", f"{folder}/{name}.h5", "--format", "dicom", "-o", f"{folder}/{name}_later")
            same_files(f"{folder}/{name}_own", f"{folder}/{name}_later")
        run("run", f"{source} | box radius=1 | hdf5 {folder}/{name}.h5 | nifti {folder}/{name}.nii", "--force")
        run("export", f"{folder}/{name}.h5", "-o", f"{folder}/later.nii", "--force")
        run("run", f"result {folder}/{name}.h5 | nifti {folder}/further.nii", "--force")
        facts = []
        for path in f"{folder}/{name}.json", f"{folder}/later.json", f"{folder}/further.json":
            with open(path, encoding="utf-8") as file:
                text = file.read()
            assert text.count('"Image"') == 1
            facts.append(json.loads(text))
            for key in "SeriesOfInput", "FilesPassedOver", "Warnings", "Digest":  # of the files that the first run read
                facts[-1].pop(key, None)
        assert facts[0] == facts[1] == facts[2], name
        # Where slices are gone, so is what is known of each; what all have in common stays.
        run("run", f"{source} | reorient to=RPI | crop z=[1,4] | hdf5 {folder}/part.h5", "--force")
        run("export", f"{folder}/part.h5", "-o", f"{folder}/part.nii", "--force")
        with open(f"{folder}/part.json", encoding="utf-8") as file:
            part = json.load(file)
        assert part["Modality"] == facts[0]["Modality"] and "SliceTiming" not in part
        for key, value in part.items():
            assert not (isinstance(value, list) and len(value) == 7), key


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
        raise Skip
    pairs = [(f"{DATA}/ct/ibsi_sts001/dicom/{name}/image", f"{DATA}/ct/ibsi_sts001/ref_nifti/{nifti}_image.nii.gz")
             for name, nifti in (("CT", "CT"), ("PET", "PET"), ("MR_T1", "MR_T1"))]
    for dicom, nifti in pairs:
        run("run", f"dicom {dicom} | save name=same | hdf5 {folder}/d.h5", "--force")
        run("run", f"nifti {nifti} | save name=same | hdf5 {folder}/n.h5", "--force")
        (data, lps), (other, other_lps) = result(f"{folder}/d.h5"), result(f"{folder}/n.h5")
        scale = np.abs(data.astype(float)).max()
        assert data.shape == other.shape and np.abs(data.astype(float) - other).max() <= 1e-6 * scale, dicom
        assert np.allclose(lps, other_lps, rtol=0, atol=1e-3), (lps, other_lps)


def phantom(folder, *arguments):
    run("phantom", "asymmetric", "-o", f"{folder}/in", "--size", "48", "--slices", "7", *arguments)
    return f"dicom {folder}/in"


@test
def tiff_for_imagej(folder):
    chain = phantom(folder)
    for stage in "save name=same", "gaussian sigma=1 unit=pixel", "rescale out_low=0 out_high=255 dtype=u8":
        run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | tiff {folder}/a.tif", "--force")
        run("export", f"{folder}/a.h5", "--format", "tiff", "-o", f"{folder}/pages", "--force")
        data, lps = result(f"{folder}/a.h5")
        with tifffile.TiffFile(f"{folder}/a.tif") as file:
            assert np.array_equal(file.asarray(), data) and file.asarray().dtype == data.dtype, stage
            facts, tags = file.imagej_metadata, file.pages[0].tags
            assert facts["unit"] == "mm" and facts["slices"] == 7 and abs(facts["spacing"] - lps[2, 2]) < 1e-6, facts
            for name, spacing in ("XResolution", lps[0, 0]), ("YResolution", lps[1, 1]):
                over, under = tags[name].value
                assert abs(under / over / spacing - 1) < 1e-6, (name, over, under)
        assert sorted(os.listdir(f"{folder}/pages")) == [f"slice_{z + 1:04d}.tif" for z in range(7)]
        for z in range(7):
            assert np.array_equal(tifffile.imread(f"{folder}/pages/slice_{z + 1:04d}.tif"), data[z])


@test
def tiff_of_few_and_small_pages(folder):
    """tifffile takes the values of an ImageJ stack for one piece where the second directory leaves room for that."""
    random = np.random.default_rng(4)
    for shape in (3, 8, 10), (2, 10, 8), (4, 3, 5), (3, 4, 4), (2, 200, 100):
        for dtype in np.uint8, np.uint16, np.float32:
            values = (random.random(shape) * 200).astype(dtype)
            with h5py.File(f"{folder}/in.h5", "w") as file:
                file["d"] = values
            run("run", f"hdf5 {folder}/in.h5 path=/d axes=z,y,x spacing=1,1,1 | tiff {folder}/a.tif", "--force")
            assert np.array_equal(tifffile.imread(f"{folder}/a.tif"), values), (shape, dtype)


def read_png(path):
    """The gray values of a picture whose rows are filtered by differences (Sub), and its comment."""
    with open(path, "rb") as file:
        data = file.read()
    at, chunks = 8, {}
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(name + body)
        chunks[name], at = body, at + 12 + length
    width, height, bits = struct.unpack(">IIB", chunks[b"IHDR"][:9])
    bytes_each = bits // 8
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * bytes_each)
    assert (rows[:, 0] == 1).all()
    gray = np.cumsum(rows[:, 1:].reshape(height, width, bytes_each), axis=1, dtype=np.uint64).astype(np.uint8)
    gray = gray[..., 0] if bits == 8 else gray[..., 0].astype(np.uint16) * 256 + gray[..., 1]
    return gray, chunks[b"tEXt"].decode(), struct.unpack(">IIB", chunks[b"pHYs"])


def shade(values, low, high):
    return np.clip(np.rint((values.astype(float) - low) / (high - low) * 255), 0, 255).astype(np.uint8)


@test
def png_with_a_window(folder):
    chain = phantom(folder)
    run("run", f"{chain} | save name=same | hdf5 {folder}/a.h5 | png {folder}/given window=40,400")
    data, lps = result(f"{folder}/a.h5")
    for z in range(7):
        gray, comment, physical = read_png(f"{folder}/given/slice_{z + 1:04d}.png")
        assert np.array_equal(gray, shade(data[z], -160, 240)) and "black is -160, white is 240" in comment, comment
        assert physical == (round(1000 / lps[0, 0]), round(1000 / lps[1, 1]), 1)
    # Without one: the same window for all slices, from percentiles of the whole.
    run("export", f"{folder}/a.h5", "--format", "png", "-o", f"{folder}/own")
    low, high = np.sort(data.ravel())[[(data.size - 1) // 100, data.size - 1 - (data.size - 1) // 100]]
    for z in range(7):
        assert np.array_equal(read_png(f"{folder}/own/slice_{z + 1:04d}.png")[0], shade(data[z], low, high))
    # Values without a sign are kept.
    for dtype, limit in ("u8", 255), ("u16", 65535):
        run("run", f"{chain} | rescale out_low=0 out_high={limit} dtype={dtype} | hdf5 {folder}/b.h5 | png {folder}/kept", "--force")
        data, _ = result(f"{folder}/b.h5")
        for z in range(7):
            gray = read_png(f"{folder}/kept/slice_{z + 1:04d}.png")[0]
            assert np.array_equal(gray, data[z]) and gray.dtype == data.dtype
    run("run", f"{chain} | save name=same | png {folder}/one.png", expect=2)


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


def check_dicom(program_result, folder):
    data, lps = program_result
    values, found, files = read_dicom(folder)
    half = 0 if data.dtype.kind in "iu" and data.dtype.itemsize < 4 else 0.5001 * float(files[0].RescaleSlope)
    assert np.abs(values - data.astype(float)).max() <= half, np.abs(values - data.astype(float)).max()
    assert np.allclose(found, lps, rtol=0, atol=1e-4), (found, lps)
    first = files[0]
    assert len({file.SOPInstanceUID for file in files}) == len(files)
    assert len({file.SeriesInstanceUID for file in files}) == 1
    assert first.ImageType[:2] == ["DERIVED", "PRIMARY" if first.Modality == "PT" else "SECONDARY"]
    assert not first.PatientName and not first.PatientID and first.PatientIdentityRemoved == "YES"
    if shutil.which("dciodvfy"):
        report = subprocess.run(["dciodvfy", f"{folder}/slice_0002.dcm"], capture_output=True, text=True).stderr
        assert "Error" not in report, report
    return first


@test
def dicom_is_read_back(folder):
    chain = phantom(folder)
    stages = ["save name=same", "rescale out_low=0 out_high=255 dtype=u8", "rescale out_low=0 out_high=60000 dtype=u16",
              "gaussian sigma=1 unit=pixel", "rescale out_low=-0.01 out_high=0.02"]
    for stage in stages:
        for codec in "none", "rle":
            run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | dicom {folder}/derived codec={codec}", "--force")
            first = check_dicom(result(f"{folder}/a.h5"), f"{folder}/derived")
            assert first.file_meta.TransferSyntaxUID == "1.2.840.10008.1.2." + {"none": "1", "rle": "5"}[codec]
            run("run", f"dicom {folder}/derived | save name=same | hdf5 {folder}/b.h5", "--force")
            (data, lps), (again, lps_again) = result(f"{folder}/a.h5"), result(f"{folder}/b.h5")
            half = 0.5001 * float(first.RescaleSlope) if data.dtype.itemsize == 4 else 0
            assert np.abs(data.astype(float) - again).max() <= half + 1e-6 * np.abs(again).max() * (half > 0), stage
            assert np.allclose(lps, lps_again, rtol=0, atol=1e-6)
    # Equal results have equal files.
    run("export", f"{folder}/a.h5", "--format", "dicom", "-o", f"{folder}/again")
    run("export", f"{folder}/a.h5", "--format", "dicom", "-o", f"{folder}/twice")
    same_files(f"{folder}/again", f"{folder}/twice")


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


@test
def dicom_codecs(folder):
    """What other programs decode, and this one reads again, are the values that were stored without compression."""
    chain = phantom(folder)
    for stage in "save name=same", "gaussian sigma=1 unit=pixel":
        run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | dicom {folder}/none", "--force")
        plain = reload(f"dicom {folder}/none", folder)
        for codec, syntax in ("j2k", "4.90"), ("rle", "5"):
            run("run", f"{chain} | {stage} | dicom {folder}/packed codec={codec}", "--force")
            file = check_object(f"{folder}/packed/slice_0003.dcm", {})
            assert file.file_meta.TransferSyntaxUID == f"1.2.840.10008.1.2.{syntax}"
            assert np.array_equal(reload(f"dicom {folder}/packed", folder)[0], plain[0]), codec
            if codec == "rle" and shutil.which("dcmdrle"):
                subprocess.run(["dcmdrle", f"{folder}/packed/slice_0003.dcm", f"{folder}/plain.dcm"], check=True)
                assert np.array_equal(pydicom.dcmread(f"{folder}/plain.dcm").pixel_array,
                                      pydicom.dcmread(f"{folder}/none/slice_0003.dcm").pixel_array), codec
            if codec == "j2k" and shutil.which("opj_decompress"):
                with open(f"{folder}/frame.j2k", "wb") as frame:
                    frame.write(next(pydicom.encaps.generate_pixel_data_frame(file.PixelData, 1)))
                subprocess.run(["opj_decompress", "-i", f"{folder}/frame.j2k", "-o", f"{folder}/frame.rawl"], check=True,
                               capture_output=True)
                stored = pydicom.dcmread(f"{folder}/none/slice_0003.dcm").pixel_array
                frame = np.fromfile(f"{folder}/frame.rawl", stored.dtype.newbyteorder("<")).reshape(stored.shape)
                assert np.array_equal(frame, stored)
    # Noise does not compress: its frames are longer than what is stored.
    random = np.random.default_rng(5)
    for dtype in "u1", "i1", "u2", "i2", "u4", "i4", "f4":
        for shape in (32, 32, 8), (65, 33, 3):
            noise = random.normal(size=shape).astype(dtype) if dtype == "f4" else random.integers(
                np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
            nibabel.save(nibabel.Nifti1Image(noise, np.diag([-1, -1, 2, 1])), f"{folder}/noise.nii")
            run("run", f"nifti {folder}/noise.nii quantity=hu | dicom {folder}/none", "--force")
            plain = reload(f"dicom {folder}/none", folder)[0]
            for codec in "j2k", "rle":
                run("run", f"nifti {folder}/noise.nii quantity=hu | dicom {folder}/packed codec={codec}", "--force")
                assert np.array_equal(reload(f"dicom {folder}/packed", folder)[0], plain), (codec, dtype, shape)


@test
def dicom_of_several_volumes(folder):
    """A series by time, by echo and by b-value is one series, and is read to the same."""
    diffusion_series(folder, np.eye(3))
    echoes = f"{folder}/echoes"
    os.makedirs(echoes)
    for name in os.listdir(f"{folder}/dwi"):  # the same images without weighting, as five echoes
        file = pydicom.dcmread(f"{folder}/dwi/{name}")
        file.EchoTime = 10.5 + 7 * int(name[0])
        file.SeriesInstanceUID, file.AcquisitionNumber = "1.2.7", 1
        del file.DiffusionBValue
        if "DiffusionGradientOrientation" in file:
            del file.DiffusionGradientOrientation
        for tag in [element.tag for element in file if element.tag.group == 0x19]:
            del file[tag]
        file.save_as(f"{echoes}/{name}")
    sources = [("b", f"dicom {folder}/dwi"), ("echo", f"dicom {echoes} split=none")]
    if DATA:
        sources += [("time", f"dicom {DATA}/mr/siemens_mosaic/dicom series=#6"), ("time", f"dicom {DATA}/mr/ge_epi_4d_interleaved/dicom")]
    for kind, source in sources:
        for codec in "none", "j2k":
            run("run", f"{source} | dicom {folder}/derived codec={codec}", "--force")
        data, lps, axes, _ = reload(source, folder)
        again, lps_again, axes_again, _ = reload(f"dicom {folder}/derived split=none", folder)
        assert list(axes) == list(axes_again) == [kind] and np.allclose(axes[kind], axes_again[kind], atol=1e-6), (axes, axes_again)
        assert np.array_equal(data, again) and np.allclose(lps, lps_again, atol=1e-5)
        names = sorted(os.listdir(f"{folder}/derived"))
        assert len(names) == data.shape[0] * data.shape[1]
        file = check_object(f"{folder}/derived/{names[-1]}", {"Modality": "MR", "TemporalPositionIdentifier": data.shape[0],
                            "NumberOfTemporalPositions": data.shape[0], "ScanningSequence": pydicom.dcmread(f"{folder}/derived/{names[0]}").ScanningSequence})
        assert "EP" in file.ScanningSequence and file.RepetitionTime > 0
        if kind == "b":
            assert file.DiffusionBValue == 1000 and np.allclose(file.DiffusionGradientOrientation, [0.48, 0.6, -0.64])
            run("run", f"dicom {folder}/derived | nifti {folder}/again.nii")
            run("run", f"{source} | nifti {folder}/first.nii")
            assert np.allclose(np.loadtxt(f"{folder}/again.bvec"), np.loadtxt(f"{folder}/first.bvec"), atol=1e-6)


@test
def dicom_knows_the_acquisition(folder):
    """Settings come from the input, and nothing else does: what is not known is empty."""
    source = phantom(folder)
    run("run", f"{source} | dicom {folder}/ct")
    given = pydicom.dcmread(f"{folder}/in/{sorted(os.listdir(folder + '/in'))[0]}")
    file = check_object(f"{folder}/ct/slice_0001.dcm", {"Modality": "CT", "PatientIdentityRemoved": "YES"})
    assert file.KVP == given.get("KVP") and not file.PatientName
    letter_volume(folder)
    run("run", f"hdf5 {folder}/f.h5 path=/f axes=z,y,x spacing=1,1,1 | dicom {folder}/other")
    check_object(f"{folder}/other/slice_0001.dcm", {"Modality": "OT", "SOPClassUID": "1.2.840.10008.5.1.4.1.1.7"})
    if not DATA:
        raise Skip
    mr = f"{DATA}/ct/ibsi_sts001/dicom/MR_T1/image"
    given = pydicom.dcmread(f"{mr}/{sorted(os.listdir(mr))[0]}")
    run("run", f"dicom {mr} | dicom {folder}/mr")
    check_object(f"{folder}/mr/slice_0001.dcm", {name: given.get(name) for name in (
        "Modality", "ScanningSequence", "SequenceVariant", "RepetitionTime", "EchoTime", "PatientPosition", "FlipAngle")})
    pet = f"dicom {DATA}/ct/ibsi_sts001/dicom/PET/image"
    path = f"{DATA}/ct/ibsi_sts001/dicom/PET/image"
    given = pydicom.dcmread(f"{path}/{sorted(os.listdir(path))[0]}")
    for stage in "", "| gaussian sigma=1 unit=pixel", "| rescale out_low=-5 out_high=5":
        run("run", f"{pet} {stage} | dicom {folder}/pet", "--force")
        changed = "rescale" in stage
        file = check_object(f"{folder}/pet/slice_0001.dcm", {
            "Modality": "PT", "SOPClassUID": "1.2.840.10008.5.1.4.1.1.128", "DecayCorrection": given.DecayCorrection,
            "Units": "NONE" if changed else given.Units, "RescaleIntercept": 0})
        data, lps, _, unit = reload(f"{pet} {stage}", folder)
        again, lps_again, _, unit_again = reload(f"dicom {folder}/pet", folder)
        assert np.abs(data - again).max() <= 0.5001 * float(file.RescaleSlope) + 1e-6 * np.abs(data).max()
        assert np.allclose(lps, lps_again, atol=1e-5) and (unit == unit_again or changed), (unit, unit_again)


@test
def what_stages_made_untrue_is_left_out(folder):
    """Thickness, phase axis and loss go along while they hold."""
    diffusion_series(folder, np.eye(3))
    for name in os.listdir(f"{folder}/dwi"):
        file = pydicom.dcmread(f"{folder}/dwi/{name}")
        if name[0] != "0":
            os.remove(f"{folder}/dwi/{name}")
            continue
        file.SliceThickness, file.SpacingBetweenSlices, file.InversionTime = 2, 3, 0
        file.InPlanePhaseEncodingDirection = "COLUMN"
        file.LossyImageCompression, file.LossyImageCompressionRatio, file.LossyImageCompressionMethod = "01", 12, "ISO_15444_1"
        file.save_as(f"{folder}/dwi/{name}")
    key = "InPlanePhaseEncodingDirectionDICOM"
    for stage, thickness, distance, phase in (("save name=same", 2, 3, "COL"), ("crop z=[1,3]", 2, 3, "COL"),
                                              ("resample spacing=[2.5,2,1.5]", 1.5, 1.5, "COL"),
                                              ("reorient to=RAS", 2, 3, "COL"), ("reorient to=PLS", 2, 3, None)):
        run("run", f"dicom {folder}/dwi | {stage} | dicom {folder}/out | nifti {folder}/out.nii", "--force")
        file = check_object(f"{folder}/out/slice_0001.dcm", {
            "SliceThickness": thickness, "SpacingBetweenSlices": distance, "InPlanePhaseEncodingDirection": phase, "InversionTime": None,
            "LossyImageCompression": "01", "LossyImageCompressionRatio": 12, "LossyImageCompressionMethod": "ISO_15444_1"})
        with open(f"{folder}/out.json", encoding="utf-8") as stream:
            facts = json.load(stream)
        assert facts.get(key) == phase and "InversionTime" not in facts, (stage, facts)
        assert facts.get("SliceThickness") == (2 if thickness == 2 else None), (stage, facts)
        assert facts.get("SpacingBetweenSlices") == (3 if distance == 3 else None), (stage, facts)


@test
def dicom_identity(folder):
    """Results of one study go together where a key replaces the UIDs, or where they are kept; else nothing joins them."""
    source = phantom(folder)
    given = pydicom.dcmread(f"{folder}/in/{sorted(os.listdir(folder + '/in'))[0]}")
    with open(f"{folder}/key", "wb") as key:
        key.write(bytes(range(32)))
    os.chmod(f"{folder}/key", 0o600)
    found = {}
    for how in "basic", "key", "keep":
        given_as = {"basic": "", "key": f"uid_key_file={folder}/key", "keep": "deidentify=keep"}[how]
        for stage in "box radius=1", "invert":
            run("run", f"{source} {given_as} | {stage} | hdf5 {folder}/{how}.h5 | dicom {folder}/out", "--force")
            file = check_object(f"{folder}/out/slice_0001.dcm", {"PatientIdentityRemoved": "NO" if how == "keep" else "YES"})
            found[how, stage] = file.StudyInstanceUID, file.FrameOfReferenceUID, file.SeriesInstanceUID
            assert file.SeriesInstanceUID != given.SeriesInstanceUID and not file.PatientName
            assert (file.StudyInstanceUID == given.StudyInstanceUID) == (how == "keep")
            assert (file.FrameOfReferenceUID == given.FrameOfReferenceUID) == (how == "keep")
            assert file.get("LongitudinalTemporalInformationModified") == {"basic": "REMOVED", "key": "MODIFIED", "keep": "UNMODIFIED"}[how]
            if how == "keep" and given.get("SeriesDescription"):
                assert given.SeriesDescription in file.SeriesDescription
        one, other = found[how, "box radius=1"], found[how, "invert"]
        assert one[2] != other[2] and (one[:2] == other[:2]) == (how != "basic")


@test
def dicom_with_text_in_its_pixels(folder):
    source = phantom(folder)
    for name in os.listdir(f"{folder}/in"):
        file = pydicom.dcmread(f"{folder}/in/{name}")
        file.BurnedInAnnotation = "YES"
        file.save_as(f"{folder}/in/{name}")
    run("run", f"{source} burned_in=allow | dicom {folder}/shown")
    check_object(f"{folder}/shown/slice_0001.dcm", {"BurnedInAnnotation": "YES", "PatientIdentityRemoved": "NO"})
    run("run", f"{source} burned_in=mask mask_boxes=[0,0,4,48] mask_value=-1000 | hdf5 {folder}/a.h5 | dicom {folder}/masked")
    check_object(f"{folder}/masked/slice_0001.dcm", {"BurnedInAnnotation": "NO", "PatientIdentityRemoved": "YES"})
    data, *_ = reload(f"dicom {folder}/masked", folder)
    assert (data[:, :4] == -1000).all() and np.array_equal(data, result(f"{folder}/a.h5")[0])


@test
def dicom_of_wide_integers_and_of_what_is_no_number(folder):
    random = np.random.default_rng(2)
    affine = np.diag([-0.5, -0.5, 2, 1])
    narrow = random.integers(100000, 165536, (6, 5, 4), dtype=np.int32)
    wide = random.integers(-2**31, 2**31 - 1, (6, 5, 4), dtype=np.int32)
    broken = random.random((6, 5, 4), dtype=np.float32)
    broken[1, 2, 3] = np.nan
    broken[2, 2, 2] = np.inf
    for values in narrow, wide, broken:
        nibabel.save(nibabel.Nifti1Image(values, affine, dtype=values.dtype), f"{folder}/in.nii")
        run("run", f"nifti {folder}/in.nii quantity=attenuation | save name=same | dicom {folder}/derived", "--force")
        found, lps, files = read_dicom(f"{folder}/derived")
        slope, numbers = float(files[0].RescaleSlope), np.isfinite(values.transpose(2, 1, 0))
        error = np.abs(found - values.transpose(2, 1, 0))[numbers].max()
        assert error <= (0 if values is narrow else 0.5001 * slope), error
        assert np.allclose(lps, TO_RAS @ affine, rtol=0, atol=1e-6) and files[0].Modality == "CT"
        stored = np.stack([file.pixel_array for file in files])
        if values is broken:
            assert files[0].PixelPaddingValue == 0 and np.array_equal(stored == 0, ~numbers)


@test
def dicom_of_real_series(folder):
    if not DATA:
        raise Skip
    for name in "CT", "MR_T1", "PET":
        run("run", f"dicom {DATA}/ct/ibsi_sts001/dicom/{name}/image | save name=same | hdf5 {folder}/a.h5 | "
            f"dicom {folder}/derived codec=rle | nifti {folder}/a.nii.gz | tiff {folder}/a.tif", "--force")
        check_dicom(result(f"{folder}/a.h5"), f"{folder}/derived")
        check_nifti(f"{folder}/a.nii.gz", *result(f"{folder}/a.h5"))


@test
def dcm2niix_agrees(folder):
    if not DATA or not shutil.which("dcm2niix"):
        raise Skip
    for name in "CT", "MR_T1":
        os.makedirs(f"{folder}/{name}")
        source = f"{DATA}/ct/ibsi_sts001/dicom/{name}/image"
        subprocess.run(["dcm2niix", "-b", "n", "-z", "n", "-f", "x", "-o", f"{folder}/{name}", source], check=True,
                       capture_output=True)
        run("run", f"dicom {source} | save name=same | nifti {folder}/{name}.nii")
        run("run", f"nifti {folder}/{name}/x.nii | save name=same | nifti {folder}/back.nii", "--force")
        ours, theirs = nibabel.load(f"{folder}/{name}.nii"), nibabel.load(f"{folder}/{name}/x.nii")
        # dcm2niix reverses rows; both say so in the transform, so that RAS volumes are equal.
        one, other = nibabel.as_closest_canonical(ours), nibabel.as_closest_canonical(theirs)
        assert np.array_equal(one.get_fdata(), other.get_fdata()) and np.allclose(one.affine, other.affine, atol=1e-3)
        back = nibabel.load(f"{folder}/back.nii")
        assert np.array_equal(np.asarray(back.dataobj), np.asarray(ours.dataobj))
        assert np.allclose(back.affine, ours.affine, rtol=0, atol=1e-3)


def check_timing_of_mosaics(folder):
    """Steps, times of slices and the direction of the phase as dcm2niix has them."""
    if not shutil.which("dcm2niix"):
        return
    source = f"{DATA}/mr/siemens_mosaic"
    os.makedirs(f"{folder}/theirs")
    subprocess.run(["dcm2niix", "-b", "y", "-z", "n", "-f", "%s", "-o", f"{folder}/theirs", source], check=True, capture_output=True)
    for number in 6, 10, 18, 20:
        run("run", f"dicom {source}/dicom series='#{number}' | save name=same | nifti {folder}/ours.nii", "--force")
        with open(f"{folder}/ours.json", encoding="utf-8") as one, open(f"{folder}/theirs/{number}.json", encoding="utf-8") as other:
            ours, theirs = json.load(one), json.load(other)
        for key in "EchoTime", "RepetitionTime", "FlipAngle", "MRAcquisitionType", "SliceThickness", "SpacingBetweenSlices":
            same = ours[key] == theirs[key] if key == "MRAcquisitionType" else np.isclose(ours[key], theirs[key])
            assert same, (key, ours[key], theirs[key])
        images = [nibabel.load(path) for path in (f"{folder}/ours.nii", f"{folder}/theirs/{number}.nii")]
        same_way = images[0].affine[:3, 2] @ images[1].affine[:3, 2] > 0
        assert np.allclose(ours["SliceTiming"], theirs["SliceTiming"][::1 if same_way else -1], atol=1e-6), number
        direction = theirs["PhaseEncodingDirection"]
        if direction[0] == "j":  # dcm2niix reverses the rows
            direction = {"j": "j-", "j-": "j"}[direction]
        assert ours["PhaseEncodingDirection"] == direction
        assert ours["ImageType"][:2] == ["DERIVED", "SECONDARY"] and "unrecognized" not in str(ours)
        assert images[0].header.get_zooms()[3] == images[1].header.get_zooms()[3] == 3


@test
def volumes_by_time(folder):
    """One chain over a series of volumes, from NIfTI and from DICOM, is what it is for each of them."""
    random = np.random.default_rng(3)
    values = random.integers(-1000, 1000, (9, 8, 7, 5), dtype=np.int16)
    image = nibabel.Nifti1Image(values, np.diag([-2.0, -2, 3, 1]))
    image.header.set_xyzt_units("mm", "msec")
    image.header["pixdim"][4] = 1500
    for name in "in.nii", "in.nii.gz":
        nibabel.save(image, f"{folder}/{name}")
        run("run", f"nifti {folder}/{name} | box radius=1 | hdf5 {folder}/out.h5 | nifti {folder}/out.nii.gz | tiff {folder}/out.tif", "--force")
        out = nibabel.load(f"{folder}/out.nii.gz")
        assert out.shape == values.shape and out.header.get_zooms() == (2, 2, 3, 1.5), out.header.get_zooms()
        assert np.allclose(out.affine, image.affine)
        with h5py.File(f"{folder}/out.h5") as file:
            data = file["/entry/data/data"][:]
        assert np.array_equal(np.asarray(out.dataobj).transpose(3, 2, 1, 0), data)
        assert np.array_equal(tifffile.imread(f"{folder}/out.tif"), data)
        for v in range(values.shape[3]):
            nibabel.save(nibabel.Nifti1Image(values[..., v], image.affine), f"{folder}/one.nii")
            run("run", f"nifti {folder}/one.nii | box radius=1 | nifti {folder}/one_out.nii", "--force")
            assert np.array_equal(np.asarray(nibabel.load(f"{folder}/one_out.nii").dataobj), np.asarray(out.dataobj)[..., v])
    if not DATA:
        raise Skip
    series = f"{DATA}/mr/ge_epi_4d_interleaved"
    run("run", f"dicom {series}/dicom | save name=same | nifti {folder}/epi.nii")
    check_timing_of_mosaics(folder)
    one, other = (nibabel.as_closest_canonical(nibabel.load(path))
                  for path in (f"{folder}/epi.nii", f"{series}/ref_dcm2niix/DCM2NIIX_regression_test_4.nii"))
    assert np.array_equal(one.get_fdata(), other.get_fdata()) and np.allclose(one.affine, other.affine, atol=1e-3)
    assert one.header.get_zooms()[3] == other.header.get_zooms()[3] == 5


@test
def without_stages_the_input_is_converted(folder):
    chain = phantom(folder)
    run("run", f"{chain} | nifti {folder}/alone.nii")
    run("run", f"{chain} | box radius=0 | nifti {folder}/box.nii")
    alone, box = (open(f"{folder}/{name}.nii", "rb").read() for name in ("alone", "box"))
    assert alone == box, "box of radius 0 changes the file"


@test
def nothing_is_replaced_unasked(folder):
    chain = phantom(folder)
    os.makedirs(f"{folder}/mine")
    with open(f"{folder}/mine/notes.txt", "w", encoding="utf-8") as file:
        file.write("mine")
    for force in [], ["--force"]:
        done = run("run", f"{chain} | invert | hdf5 {folder}/a.h5 | png {folder}/mine", *force, expect=1)
        assert "not empty" in done.stderr and os.listdir(f"{folder}/mine") == ["notes.txt"]
        assert not os.path.exists(f"{folder}/a.h5")
    run("run", f"{chain} | invert | png {folder}/pages")
    run("run", f"{chain} | invert | png {folder}/pages", expect=1)
    run("run", f"{chain} | invert | png {folder}/pages", "--force")
    run("export", f"{folder}/pages", "-o", f"{folder}/x.nii", expect=3)
    assert sorted(os.listdir(folder)) == ["in", "mine", "pages"]


@test
def a_full_disk_leaves_nothing(folder):
    """A limit on the size of files makes writing fail, as a full disk does."""
    chain = phantom(folder)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))

    for output in "nifti a.nii", "nifti a.nii.gz", "tiff a.tif", "tiff pages", "png pages", "dicom pages":
        name, path = output.split()
        done = subprocess.run([PROGRAM, "run", f"{chain} | gaussian sigma=1 unit=pixel | hdf5 {folder}/a.h5 | {name} {folder}/{path}"],
                              capture_output=True, text=True, preexec_fn=limit)
        assert done.returncode == 1 and "cannot" in done.stderr, (output, done.returncode, done.stderr)
        assert sorted(os.listdir(folder)) == ["in"], (output, os.listdir(folder))


def main():
    failed = skipped = 0
    for function in TESTS:
        folder = tempfile.mkdtemp()
        try:
            function(folder)
            print("passed:", function.__name__)
        except Skip:
            skipped += 1
            print("SKIPPED:", function.__name__, "- TOMOSTAGE_DATA is not set, or dcm2niix is missing")
        except AssertionError as error:
            failed += 1
            print("FAILED:", function.__name__, error)
        finally:
            shutil.rmtree(folder)
    print(f"{len(TESTS) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main())
