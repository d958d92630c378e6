# SPDX-License-Identifier: Apache-2.0
"""NIfTI as nibabel and dcm2niix read it: values, transforms, units and the JSON beside it."""
import json
import os
import shutil
import subprocess

import h5py
import nibabel
import numpy as np
import pydicom
import tifffile

from harness import DATA, Skip, need_data, run, test
from outputs_support import TO_RAS, check_nifti, diffusion_series, letter_volume, phantom, read_dicom, reload, result


@test
def nifti_of_a_phantom(folder):
    chain = phantom(folder)
    for name in "a.nii", "a.nii.gz":
        run("run", f"{chain} | box radius=1 | hdf5 {folder}/a.h5 | nifti {folder}/{name}", "--force")
        check_nifti(f"{folder}/{name}", *result(f"{folder}/a.h5"))
    with open(f"{folder}/a.json", encoding="utf-8") as file:
        facts = json.load(file)
    assert facts["Modality"] == "CT" and facts["Units"] == "HU" and facts["GeneratedBy"][0]["Name"] == "tomostage"
    # The file is read back to the same volume.
    run("run", f"nifti {folder}/a.nii.gz quantity=hu | invert | hdf5 {folder}/b.h5")
    run("run", f"result {folder}/a.h5 | invert | hdf5 {folder}/c.h5")
    (data, lps), (expected, expected_lps) = result(f"{folder}/b.h5"), result(f"{folder}/c.h5")
    assert np.array_equal(data, expected) and np.allclose(lps, expected_lps, rtol=0, atol=1e-4)


@test
def a_single_slice_is_as_thick_as_its_header_says(folder):
    """Its distance from another one is not known, and the third step of a NIfTI file cannot be 0."""
    phantom(folder)
    path = f"{folder}/in/{sorted(os.listdir(f'{folder}/in'))[3]}"
    os.makedirs(f"{folder}/one")
    for thickness, step in (4.5, 4.5), (None, 1):
        file = pydicom.dcmread(path)
        file.SliceThickness = thickness
        file.save_as(f"{folder}/one/one.dcm")
        run("run", f"dicom {folder}/one | nifti {folder}/one.nii", "--force")
        affine = nibabel.load(f"{folder}/one.nii").affine
        assert np.allclose(affine[:3, 2], [0, 0, step]) and nibabel.load(f"{folder}/one.nii").header["pixdim"][3] == step
        assert np.allclose(TO_RAS[:3, :3] @ affine[:3, 3], np.array(file.ImagePositionPatient, float))
        # A mask that was made on the file goes with the slice.
        run("run", f"dicom {folder}/one | threshold method=otsu | nifti {folder}/mask.nii", "--force")
        run("run", f"dicom {folder}/one | input m mask {folder}/mask.nii | statistics mask=m | save name=same | nifti {folder}/same.nii", "--force")
        if shutil.which("dcm2niix") and thickness:
            subprocess.run(["dcm2niix", "-z", "n", "-b", "n", "-f", "peer", "-o", folder, f"{folder}/one"],
                           check=True, stdout=subprocess.DEVNULL)
            assert np.allclose(nibabel.load(f"{folder}/peer.nii").affine[:3, 2], affine[:3, 2])


@test
def a_mask_of_an_earlier_run_is_warned_of(folder):
    chain = phantom(folder)
    region = f"{chain} | threshold above=0 name=m | apply_mask input=input mask=m | nifti {folder}/a.nii"
    assert "[output-beside-stays]" not in run("run", region).stderr + run("run", region, "--force").stderr
    open(f"{folder}/a.bval", "w").close()
    done = run("run", f"{chain} | nifti {folder}/a.nii", "--force")
    for name in "a_mask.nii", "a.bval":
        assert f"{name}' is there from before" in done.stderr and os.path.exists(f"{folder}/{name}")
    assert done.stderr.count("[output-beside-stays]") == 2


@test
def nifti_of_a_sweep_is_no_series_by_time(folder):
    """The fourth axis has no unit of time, and its name and even values; nibabel sees them."""
    chain = phantom(folder)
    for stage, name, first, step in (("gaussian sigma={sweep 0.5 1.5 2.5} unit=pixel", "gaussian_sigma", 0.5, 1),
                                     ("rescale method=percentiles low_percentile={sweep 0 1 5}", "rescale_low_percentile", 0, 1)):
        run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | nifti {folder}/a.nii", "--force")
        header = nibabel.load(f"{folder}/a.nii").header
        assert header.get_xyzt_units() == ("mm", "unknown") and header["dim"][4] == 3
        assert header["intent_name"].item() == name.encode()[:15] and header["descrip"].item().endswith(f"; volumes by {name}".encode())
        assert header["toffset"] == first and header["pixdim"][4] == step
        run("run", f"nifti {folder}/a.nii | hdf5 {folder}/b.h5", "--force")
        with h5py.File(f"{folder}/a.h5") as a, h5py.File(f"{folder}/b.h5") as b:
            assert [*b["entry/data"]] == [*a["entry/data"]] and name in b["entry/data"]
            assert np.array_equal(b["entry/data/data"], a["entry/data/data"])


@test
def times_begin_where_the_header_says(folder):
    """toffset of any unit of time comes back in seconds, in NIfTI as nibabel reads it and on the axis in HDF5."""
    values = np.arange(5 * 4 * 3 * 4, dtype=np.int16).reshape(5, 4, 3, 4)
    for unit, factor in ("sec", 1), ("msec", 1e3), ("usec", 1e6):
        for kind in nibabel.Nifti1Image, nibabel.Nifti2Image:
            image = kind(values, np.diag([2, 2, 3, 1.0]))
            image.header.set_xyzt_units("mm", unit)
            image.header["pixdim"][4], image.header["toffset"] = 2 * factor, -0.75 * factor
            nibabel.save(image, f"{folder}/t.nii")
            run("run", f"nifti {folder}/t.nii | hdf5 {folder}/t.h5 | nifti {folder}/u.nii", "--force")
            run("run", f"result {folder}/t.h5 | nifti {folder}/v.nii", "--force")
            for name in "uv":
                header = nibabel.load(f"{folder}/{name}.nii").header
                assert header["toffset"] == -0.75 and header["pixdim"][4] == 2 and header.get_xyzt_units() == ("mm", "sec")
                assert json.load(open(f"{folder}/{name}.json"))["Volumes"]["Positions"] == [-0.75, 1.25, 3.25, 5.25]
            with h5py.File(f"{folder}/t.h5") as file:
                assert list(file["entry/data/time"]) == [-0.75, 1.25, 3.25, 5.25]


@test
def doubles_are_compared_as_doubles(folder):
    """`diff` finds a difference that 32-bit floats do not have, in every format that stores doubles."""
    values = [np.random.default_rng(1).normal(size=(3, 8, 9)) for _ in range(2)]
    values[1][1, 2, 3] += 1e-12
    for name, array in zip("ab", values):
        with h5py.File(f"{folder}/{name}.h5", "w") as file:
            file.create_dataset("v", data=array, chunks=(1, 8, 9), compression="gzip")
            file.create_dataset("w", data=array.astype(">f8"))
        np.save(f"{folder}/{name}.npy", array)
        tifffile.imwrite(f"{folder}/{name}.tif", array, photometric="minisblack")
        nibabel.save(nibabel.Nifti1Image(array.T, np.eye(4)), f"{folder}/{name}.nii.gz")
    hdf5 = "hdf5 {}.h5 path={} axes=z,y,x spacing=1,1,1"
    for one, other in ((hdf5.format(f"{folder}/a", "v"), hdf5.format(f"{folder}/b", "w")), (f"{folder}/a.npy", f"{folder}/b.npy"),
                       (f"{folder}/a.tif", f"{folder}/b.tif"), (f"{folder}/a.nii.gz", f"{folder}/b.nii.gz")):
        told = run("diff", one, other, "--json", "--data-range", "1", expect=1)
        image = json.loads(told.stdout.splitlines()[0])["images"][0]
        assert image["values_that_differ"] == 1 and image["at"] == [0, 1, 2, 3], image
        assert image["largest_difference"] == values[1][1, 2, 3] - values[0][1, 2, 3] and "values-rounded" not in told.stderr
        assert abs(image["psnr"] + 20 * np.log10(image["largest_difference"] / np.sqrt(values[0].size))) < 1e-6, image


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
        # The file is read back to the same volume, which has no place again.
        run("run", f"nifti {folder}/{name} quantity=attenuation | save name=same | hdf5 {folder}/b.h5", "--force")
        with h5py.File(f"{folder}/b.h5") as file, h5py.File(f"{folder}/a.h5") as first:
            assert "origin_mm" not in file["/entry/data"].attrs and "origin_mm" not in first["/entry/data"].attrs
            assert np.array_equal(file["/entry/data/data"][:], data)


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
        run("run", f"nifti {path} | save name=same | hdf5 {folder}/back.h5", "--force")
        with h5py.File(f"{folder}/back.h5") as file:
            assert np.allclose(file["/entry/inputs/input/diffusion_gradient_direction"], directions, atol=1e-5), to
            assert np.array_equal(file["/entry/data/b"], bvals), to
    if not shutil.which("dcm2niix"):
        raise Skip("dcm2niix is missing")
    os.makedirs(f"{folder}/theirs")
    subprocess.run(["dcm2niix", "-b", "y", "-z", "n", "-f", "x", "-o", f"{folder}/theirs", f"{folder}/dwi"], check=True, capture_output=True)
    their_bvecs = np.loadtxt(f"{folder}/theirs/x.bvec")
    assert np.array_equal(np.loadtxt(f"{folder}/theirs/x.bval"), bvals)
    theirs, mine = in_patient(f"{folder}/theirs/x.nii", their_bvecs), in_patient(f"{folder}/ours.nii", bvecs)
    assert np.allclose(theirs, mine, atol=1e-4), (theirs, mine)


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
    need_data()
    pairs = [(f"{DATA}/ct/ibsi_sts001/dicom/{name}/image", f"{DATA}/ct/ibsi_sts001/ref_nifti/{nifti}_image.nii.gz")
             for name, nifti in (("CT", "CT"), ("PET", "PET"), ("MR_T1", "MR_T1"))]
    for dicom, nifti in pairs:
        run("run", f"dicom {dicom} | save name=same | hdf5 {folder}/d.h5", "--force")
        run("run", f"nifti {nifti} | save name=same | hdf5 {folder}/n.h5", "--force")
        (data, lps), (other, other_lps) = result(f"{folder}/d.h5"), result(f"{folder}/n.h5")
        scale = np.abs(data.astype(float)).max()
        assert data.shape == other.shape and np.abs(data.astype(float) - other).max() <= 1e-6 * scale, dicom
        assert np.allclose(lps, other_lps, rtol=0, atol=1e-3), (lps, other_lps)


@test
def a_sheared_nifti_is_read_back(folder):
    source = phantom(folder, "--tilt", "12")
    run("run", f"{source} | nifti {folder}/tilted.nii.gz")
    data, lps, _, _ = reload(source, folder)
    again, lps_again, _, _ = reload(f"nifti {folder}/tilted.nii.gz quantity=hu", folder)
    assert np.array_equal(data, again) and np.allclose(lps, lps_again, rtol=0, atol=1e-4)


@test
def dcm2niix_agrees(folder):
    need_data()
    if not shutil.which("dcm2niix"):
        raise Skip("dcm2niix is missing")
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
