# SPDX-License-Identifier: Apache-2.0
"""What `tomostage info` says of a format that it does not read is carried out: the Python of the hint, then the input.

usage: test_conversions.py PROGRAM [TEST...]"""
import bz2
import importlib
import os
import re
import sys

import h5py
import numpy as np

from harness import Skip, run, run_tests, test

VALUES = (np.arange(3 * 4 * 5).reshape(3, 4, 5) * 7).astype("<i2")


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"there is no Python package {name}") from error


def carry_out(folder, name, expected):
    said = run("info", name, cwd=folder, expect=3).stderr.replace("\n", " ")
    ran = run("run", "invert", "-i", name, "-o", "x.h5", cwd=folder, expect=3).stderr.replace("\n", " ")
    assert said[said.index("in Python") :].split("  ")[0] in ran, f"run says something else than info: {ran}"
    hint = re.search(r"in Python: (.*?), and then (\w+) (\S+?)(?=[,; ]|$)(.*)", said)
    assert hint, said
    python, kind, new, rest = hint.groups()
    modules = {word: package(word) for word in ("numpy", "scipy.io", "mrcfile", "SimpleITK", "fabio", "nibabel", "PIL.Image", "astropy.io.fits", "nrrd", "spectral") if word + "." in python}
    if "nibabel.processing." in python:
        package("nibabel.processing")
    names = {word.split(".")[0]: sys.modules[word.split(".")[0]] for word in modules}
    here = os.getcwd()
    try:
        os.chdir(folder)
        exec(python.replace("'FILE'", f"'{name}'"), names)  # the text is that of the program under test
    finally:
        os.chdir(here)
    more = "pages=slices pixel_size=1 spacing_z=1" if kind == "tiff" else ""
    run("run", f"{kind} {new} {more} | hdf5 out.h5", "--force", cwd=folder)
    with h5py.File(f"{folder}/out.h5") as file:
        found = file["entry/data/data"][:]
    assert found.shape == expected.shape and (found == expected).all(), f"{name}: {found.shape}"


@test
def matlab(folder):
    package("scipy.io").savemat(f"{folder}/a.mat", {"NAME": VALUES.transpose(1, 2, 0)})
    carry_out(folder, "a.mat", VALUES)
    package("scipy.io").savemat(f"{folder}/b.mat", {"NAME": VALUES[0]})
    carry_out(folder, "b.mat", VALUES[:1])


@test
def mrc(folder):
    with package("mrcfile").new(f"{folder}/a.mrc") as file:
        file.set_data(VALUES)
    carry_out(folder, "a.mrc", VALUES)


@test
def vtk(folder):
    sitk = package("SimpleITK")
    sitk.WriteImage(sitk.GetImageFromArray(VALUES), f"{folder}/c.vtk")
    carry_out(folder, "c.vtk", VALUES)


@test
def metaimage_of_other_forms(folder):
    """Values as text, of several channels or in several files, a scale, and fields of other programs."""
    sitk = package("SimpleITK")
    sitk.WriteImage(sitk.GetImageFromArray(np.stack([VALUES, VALUES + 1], -1), isVector=True), f"{folder}/channels.mha")
    named = sitk.GetImageFromArray(VALUES)
    named.SetMetaData("Operator", "nobody")
    sitk.WriteImage(named, f"{folder}/named.mha")
    head = "ObjectType = Image\nNDims = 3\nDimSize = 5 4 3\nElementType = MET_SHORT\nElementSpacing = 1 1 1\n"
    for z in range(3):
        VALUES[z].tofile(f"{folder}/slice{z}.raw")
    for name, more, data in (("text.mha", "BinaryData = False\nElementDataFile = LOCAL\n", (" ".join(map(str, VALUES.ravel())) + "\n").encode()),
                             ("scaled.mha", "ElementToIntensityFunctionSlope = 2\nElementDataFile = LOCAL\n", VALUES.tobytes()),
                             ("pattern.mhd", "ElementDataFile = slice%d.raw 0 2 1\n", b"")):
        with open(f"{folder}/{name}", "wb") as file:
            file.write((head + more).encode() + data)
    for name in "channels.mha", "named.mha", "text.mha", "scaled.mha", "pattern.mhd":
        assert "[mha-form]" in run("info", name, cwd=folder, expect=3).stderr
        carry_out(folder, name, VALUES)


@test
def the_values_of_a_metaimage_header(folder):
    sitk = package("SimpleITK")
    sitk.WriteImage(sitk.GetImageFromArray(VALUES), f"{folder}/a.mhd")
    for program in ("info", "a.raw"), ("run", "invert", "-i", "a.raw", "-o", "x.h5"):
        assert "mha a.mhd" in run(*program, cwd=folder, expect=3).stderr
    run("run", "mha a.mhd | hdf5 out.h5", cwd=folder)


@test
def envi(folder):
    spectral = package("spectral")
    for interleave in "bsq", "bil", "bip":
        for order in "<", ">":
            name = f"{interleave}_{'big' if order == '>' else 'little'}"
            spectral.envi.save_image(f"{folder}/{name}.hdr", VALUES.transpose(1, 2, 0), dtype="i2", interleave=interleave, byteorder=int(order == ">"))
            for file in f"{name}.hdr", f"{name}.img":
                carry_out(folder, file, VALUES)


@test
def freesurfer(folder):
    nibabel = package("nibabel")
    for name, kind in ("a.mgz", "i2"), ("b.mgh", "f4"), ("c.mgz", "u1"):
        nibabel.save(nibabel.MGHImage(VALUES.astype(kind).transpose(2, 1, 0), np.diag([-1, -1, 1, 1.0])), f"{folder}/{name}")
        carry_out(folder, name, VALUES.astype(kind))


@test
def edf(folder):
    package("fabio.edfimage").EdfImage(data=VALUES[0]).write(f"{folder}/a.edf")
    carry_out(folder, "a.edf", VALUES[:1])
    frames = package("fabio.edfimage").EdfImage(data=VALUES[0])
    for values in VALUES[1:]:
        frames.append_frame(data=values)
    frames.write(f"{folder}/frames.edf")
    carry_out(folder, "frames.edf", VALUES)


@test
def analyze(folder):
    nibabel = package("nibabel")
    for kind in "<i2", ">i2", "<f4":
        image = nibabel.AnalyzeImage(VALUES.astype(kind).transpose(2, 1, 0), np.eye(4))
        nibabel.save(nibabel.AnalyzeImage(image.dataobj, None, image.header.as_byteswapped(kind[0])), f"{folder}/a.hdr")
        for name in "a.hdr", "a.img":
            carry_out(folder, name, VALUES[:, ::-1])  # x, y and z of Analyze are left-handed: the rows are read upwards


@test
def fits(folder):
    package("astropy.io.fits").writeto(f"{folder}/a.fits", VALUES)
    carry_out(folder, "a.fits", VALUES)


@test
def png(folder):
    image = package("PIL.Image")
    image.fromarray(VALUES[0].astype("u2")).save(f"{folder}/a.png")
    carry_out(folder, "a.png", VALUES[:1])
    gray = VALUES[0].astype("u1")
    for name, pixels in ("gray", gray), ("color", np.dstack([gray] * 3)), ("clear", np.dstack([gray] * 3 + [gray * 0 + 255])):
        image.fromarray(pixels).save(f"{folder}/{name}.png")
        carry_out(folder, f"{name}.png", VALUES[:1])


def write_nrrd(path, values, encoding, data):
    sizes, spacings = " ".join(map(str, values.shape[::-1])), " 1" * values.ndim
    header = f"NRRD0004\ntype: int16\ndimension: {values.ndim}\nsizes: {sizes}\nspacings:{spacings}\nencoding: {encoding}\nendian: little\n\n"
    with open(path, "wb") as file:
        file.write(header.encode() + data)


@test
def nrrd_of_another_encoding(folder):
    write_nrrd(f"{folder}/text.nrrd", VALUES, "text", " ".join(map(str, VALUES.ravel())).encode())
    write_nrrd(f"{folder}/bzip2.nrrd", VALUES, "bzip2", bz2.compress(VALUES.tobytes()))
    for name in ("text.nrrd", "bzip2.nrrd"):
        carry_out(folder, name, VALUES)


@test
def nrrd_of_several_volumes(folder):
    both = np.stack([VALUES, VALUES + 100])
    write_nrrd(f"{folder}/four.nrrd", both, "raw", both.tobytes())
    carry_out(folder, "four.nrrd", VALUES)
    last, three = "(1,0,0) (0,1,0) (0,0,2)", "space: left-posterior-superior\nspace origin: (1,2,3)\nspace directions:"
    for name, kinds, more, axis in (("list", "list domain domain domain", f"{three} none {last}", 3), ("last", "domain domain domain list", f"{three} {last} none", 0),
                                    ("vector", "vector domain domain domain", f"{three} none {last}", 3), ("between", "domain domain list domain", f"{three} (1,0,0) (0,1,0) none (0,0,2)", 1)):
        values = np.ascontiguousarray(np.moveaxis(both, 0, axis))
        sizes = " ".join(map(str, values.shape[::-1]))
        with open(f"{folder}/{name}.nrrd", "wb") as file:
            file.write(f"NRRD0005\ntype: int16\ndimension: 4\nsizes: {sizes}\n{more}\nkinds: {kinds}\nencoding: raw\nendian: little\n\n".encode() + values.tobytes())
        carry_out(folder, f"{name}.nrrd", VALUES)
    pairs = np.ascontiguousarray(np.moveaxis(both[:, 0], 0, 2))
    with open(f"{folder}/pairs.nrrd", "wb") as file:
        file.write(b"NRRD0005\ntype: int16\ndimension: 3\nsizes: 2 5 4\nkinds: vector domain domain\nencoding: raw\nendian: little\n\n" + pairs.tobytes())
    carry_out(folder, "pairs.nrrd", VALUES[:1])


@test
def axes_that_are_not_at_right_angles(folder):
    """NIfTI is resampled, and a slanted plane of values stays where it was in the patient; NRRD and MetaImage lose their place."""
    nibabel = package("nibabel")
    package("scipy.ndimage")
    affine = np.array([[-1, 0.3, 0, 4], [0, -1, 0, 5], [0, 0, 2, 6], [0, 0, 0, 1.0]])
    x, y, z = np.einsum("ij,jzyx->izyx", affine[:3, :3], np.indices((5, 30, 20))[::-1].astype(float)) + affine[:3, 3].reshape(3, 1, 1, 1)
    nibabel.save(nibabel.Nifti1Image((x + 2 * y - z + 100).T.astype("f4"), affine), f"{folder}/a.nii")
    said = run("info", "a.nii", cwd=folder, expect=3).stderr.replace("\n", " ")
    python = re.search(r"in Python: (.*?), and then nifti NEW.nii", said).group(1)
    package("nibabel.processing")
    exec(python.replace("'FILE'", f"'{folder}/a.nii'").replace("'NEW.nii'", f"'{folder}/NEW.nii'"), {"nibabel": nibabel})
    run("run", "nifti NEW.nii | save name=same | nifti out.nii", cwd=folder)
    found = nibabel.load(f"{folder}/out.nii")
    x, y, z = (found.affine @ np.array([15, 15, 2, 1]))[:3]
    assert abs(found.get_fdata()[15, 15, 2] - (x + 2 * y - z + 100)) < 1e-3
    for name, transform in ("zeros", np.zeros((3, 4))), ("nans", np.full((3, 4), np.nan)), ("flat", affine[[0, 0, 2]]):
        turned = VALUES.transpose(2, 1, 0)
        nibabel.save(nibabel.Nifti1Image(turned, np.eye(4)), f"{folder}/{name}.nii")
        with open(f"{folder}/{name}.nii", "r+b") as file:
            file.seek(252)
            file.write(np.array([0, 1], "<i2").tobytes())
            file.seek(280)
            file.write(transform.astype("<f4").tobytes())
        said = run("info", f"{name}.nii", cwd=folder, expect=3).stderr
        assert "spacing along" not in said and ("not finite" in said) == (name == "nans"), said
        carry_out(folder, f"{name}.nii", VALUES[:, ::-1])
    directions = "space: LPS\nspace directions: (1,0,0) (0.3,1,0) (0,0,1)\nspace origin: (0,0,0)"
    with open(f"{folder}/b.nrrd", "wb") as file:
        file.write(f"NRRD0005\ntype: int16\ndimension: 3\nsizes: 5 4 3\n{directions}\nencoding: raw\nendian: little\n\n".encode() + VALUES.tobytes())
    carry_out(folder, "b.nrrd", VALUES)
    package("SimpleITK")
    with open(f"{folder}/c.mha", "wb") as file:
        file.write(b"ObjectType = Image\nNDims = 3\nDimSize = 5 4 3\nElementSpacing = 1 1 1\nOffset = 0 0 0\n"
                   b"TransformMatrix = 1 0 0 0.28 0.96 0 0 0 1\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" + VALUES.tobytes())
    carry_out(folder, "c.mha", VALUES)


@test
def layers_of_a_segmentation(folder):
    """What 3D Slicer writes of segments that overlap: a label image for each layer."""
    nrrd = package("nrrd")
    labels = VALUES % 3
    header = {"space": "left-posterior-superior", "kinds": ["list", "domain", "domain", "domain"], "space origin": [1, 2, 3],
              "space directions": np.array([[np.nan] * 3, [1, 0, 0], [0, 1, 0], [0, 0, 2]]), "encoding": "raw"}
    for n in range(2):
        header |= {f"Segment{n}_ID": f"Segment_{n}", f"Segment{n}_LabelValue": "1", f"Segment{n}_Layer": str(n)}
    nrrd.write(f"{folder}/a.seg.nrrd", np.stack([labels, labels[::-1]]).transpose(0, 3, 2, 1), header)
    assert "[nrrd-layers]" in run("info", "a.seg.nrrd", cwd=folder, expect=3).stderr
    carry_out(folder, "a.seg.nrrd", labels)
    assert "[labels-mixed]" in run("run", "nrrd NEW.nrrd | box radius=1 | hdf5 no.h5", cwd=folder, expect=2).stderr


@test
def nifti_of_other_shapes_and_types(folder):
    nibabel = package("nibabel")
    place = np.diag([-1, -1, 1, 1.0])
    turned = VALUES.transpose(2, 1, 0)
    nibabel.save(nibabel.Nifti1Image(turned * (0.6 + 0.8j), place), f"{folder}/complex.nii")
    carry_out(folder, "complex.nii", VALUES)
    for name, values in (("vectors", np.stack([turned, turned + 1], -1)[:, :, :, None]), ("times", np.stack([np.stack([turned] * 3, -1)] * 2, -1))):
        nibabel.save(nibabel.Nifti1Image(values, place), f"{folder}/{name}.nii")
        carry_out(folder, f"{name}.nii", VALUES if name == "vectors" else np.stack([VALUES] * 3))
    for kind in "<i8", "<u8", ">i8":
        nibabel.save(nibabel.Nifti1Image(turned.astype(kind), place, dtype=kind), f"{folder}/wide.nii")
        run("run", "nifti wide.nii | save name=same | hdf5 out.h5", "--force", cwd=folder)
        with h5py.File(f"{folder}/out.h5") as file:
            assert (file["entry/data/data"][:] == VALUES).all(), kind


@test
def values_without_a_header(folder):
    VALUES.tofile(f"{folder}/a.raw")
    said = run("info", "a.raw", cwd=folder, expect=3).stderr
    lines = re.search(r"Its lines: (.*)", said).group(1).strip().split(" / ")
    text = "\n".join(lines).replace("COLUMNS ROWS SLICES", "5 4 3").replace("uint16", "int16")
    with open(f"{folder}/a.nhdr", "w", encoding="utf-8") as file:
        file.write(text + "\n")
    run("run", "nrrd a.nhdr | hdf5 out.h5", "--force", cwd=folder)
    with h5py.File(f"{folder}/out.h5") as file:
        assert (file["entry/data/data"][:] == VALUES).all()


if __name__ == "__main__":
    sys.exit(run_tests())
