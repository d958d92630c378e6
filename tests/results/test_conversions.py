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
    modules = {word: package(word) for word in ("numpy", "scipy.io", "mrcfile", "SimpleITK", "fabio", "nibabel", "PIL.Image", "astropy.io.fits", "nrrd") if word + "." in python}
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


@test
def mrc(folder):
    with package("mrcfile").new(f"{folder}/a.mrc") as file:
        file.set_data(VALUES)
    carry_out(folder, "a.mrc", VALUES)


@test
def metaimage_and_vtk(folder):
    sitk = package("SimpleITK")
    for name in ("a.mha", "b.mhd", "c.vtk"):
        sitk.WriteImage(sitk.GetImageFromArray(VALUES), f"{folder}/{name}")
        carry_out(folder, name, VALUES)


@test
def edf(folder):
    package("fabio.edfimage").EdfImage(data=VALUES[0]).write(f"{folder}/a.edf")
    carry_out(folder, "a.edf", VALUES[:1])


@test
def analyze(folder):
    nibabel = package("nibabel")
    nibabel.save(nibabel.AnalyzeImage(VALUES.transpose(2, 1, 0), np.eye(4)), f"{folder}/a.hdr")
    carry_out(folder, "a.hdr", VALUES[:, ::-1])  # x, y and z of Analyze are left-handed: the rows are read upwards


@test
def fits(folder):
    package("astropy.io.fits").writeto(f"{folder}/a.fits", VALUES)
    carry_out(folder, "a.fits", VALUES)


@test
def png(folder):
    package("PIL.Image").fromarray(VALUES[0].astype("u2")).save(f"{folder}/a.png")
    carry_out(folder, "a.png", VALUES[:1])


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
