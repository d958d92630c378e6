# SPDX-License-Identifier: Apache-2.0
"""What outputs of every format share: series of volumes, names that are taken, disks that are full."""
import json
import os
import resource
import shutil
import subprocess

import h5py
import nibabel
import numpy as np
import tifffile

from harness import DATA, PROGRAM, Skip, need_data, run, test
from outputs_support import phantom


@test
def timing_of_mosaics(folder):
    """Steps, times of slices and the direction of the phase are as dcm2niix has them."""
    need_data()
    if not shutil.which("dcm2niix"):
        raise Skip("dcm2niix is missing")
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
    need_data()
    series = f"{DATA}/mr/ge_epi_4d_interleaved"
    run("run", f"dicom {series}/dicom | save name=same | nifti {folder}/epi.nii")
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
def a_folder_that_is_read_is_not_replaced(folder):
    """Not by --force either, as a file is not: half of the slices would be all that is left."""
    chain = phantom(folder)
    run("run", f"{chain} | dicom {folder}/again | tiff {folder}/pages")
    os.symlink("again", f"{folder}/link")
    tiff = f"tiff {folder}/pages pages=slices pixel_size=1 spacing_z=1"
    for source, output in (f"dicom {folder}/again", "dicom again"), (f"dicom {folder}/again", "dicom link"), (tiff, "tiff pages"):
        name, path = output.split()
        done = run("run", f"{source} slices=0,3 | {name} {folder}/{path}", "--force", expect=2)
        assert "[output-is-input]" in done.stderr and f"{path}' is a folder" in done.stderr, done.stderr
        assert len(os.listdir(f"{folder}/{path}")) == 7
    run("run", f"{chain} slices=0,3 | dicom {folder}/again | tiff {folder}/pages", "--force")
    assert [len(os.listdir(f"{folder}/{name}")) for name in ("in", "again", "pages")] == [7, 3, 3]


@test
def a_disk_that_may_be_too_small_is_warned_of_once(folder):
    """The file system has 4 KiB."""
    chain = phantom(folder)
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        raise Skip("a file system of the test's own may not be mounted here")
    disk = 'mount --make-rprivate / && mount -t tmpfs -o size=4k none "$0" || exit 99; exec "$@"'
    os.mkdir(f"{folder}/disk")
    done = subprocess.run(["unshare", "-m", "sh", "-c", disk, f"{folder}/disk", PROGRAM, "run", f"{chain} | nifti {folder}/disk/a.nii"],
                          capture_output=True, text=True)
    if done.returncode == 99:
        raise Skip("a file system of the test's own may not be mounted here")
    assert done.stderr.count("[output-space]") == 1, done.stderr


@test
def a_profile_takes_no_name_of_an_output(folder):
    """NAME.json stands beside NAME.nii, and is a file of a profile NAME."""
    chain = phantom(folder)
    for output in f"nifti {folder}/a.nii", f"nifti {folder}/./a.nii.gz", f"hdf5 {folder}/r.h5 | nifti {folder}/a.nii", f"png {folder}/a.svg/":
        done = run("run", f"{chain} | {output}", "--profile", f"{folder}/a", expect=2)
        assert "[output-collides]" in done.stderr and "profile" in done.stderr
    assert os.listdir(folder) == ["in"]
    run("run", f"{chain} | nifti {folder}/a.nii", "--profile", f"{folder}/b")
    assert sorted(os.listdir(folder)) == ["a.json", "a.nii", "b.json", "b.svg", "in"]
    for profile in f"{folder}/a", f"{folder}/b":  # one is a file of an output, the other an earlier profile
        done = run("run", f"{chain} | nifti {folder}/c.nii", "--profile", profile, expect=1)
        assert "[output-exists]" in done.stderr and not os.path.exists(f"{folder}/c.nii")
    run("run", f"{chain} | nifti {folder}/c.nii", "--profile", f"{folder}/b", "--force")
    with open(f"{folder}/a.json", encoding="utf-8") as file:
        assert json.load(file)["Modality"] == "CT"


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
