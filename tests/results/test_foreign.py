# SPDX-License-Identifier: Apache-2.0
"""HDF5 files of other programs: what is read has the values that h5py reads, and what is refused has a way out that works.

usage: test_foreign.py PROGRAM SOURCE [TEST...]"""
import os
import re
import subprocess
import sys

import h5py
import numpy as np

from harness import run, run_tests, test

SOURCE = sys.argv[2]
FRAMES, ROWS, COLUMNS = 12, 5, 16
f, r, c = np.indices((FRAMES, ROWS, COLUMNS))
VALUES = ((37 * f + 11 * r + 5 * c) % 1009).astype("u2")


def scan(path, add_data):
    """Writes a scan as NXtomo, whose data `add_data` puts into the group of the detector."""
    with h5py.File(path, "w") as file:
        for name, kind in (("entry", "NXentry"), ("entry/instrument", "NXinstrument"),
                           ("entry/instrument/detector", "NXdetector"), ("entry/sample", "NXsample"), ("entry/data", "NXdata")):
            file.create_group(name).attrs["NX_class"] = kind
        file["entry/definition"] = "NXtomo"
        detector = file["entry/instrument/detector"]
        detector["image_key"] = np.zeros(FRAMES, "i4")
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name] = 0.1
            detector[name].attrs["units"] = "mm"
        file["entry/sample/rotation_angle"] = np.linspace(0, 180, FRAMES, endpoint=False)
        file["entry/sample/rotation_angle"].attrs["units"] = "degree"
        add_data(detector)
        if isinstance(detector.get("data", getlink=True), h5py.HardLink):
            file["entry/data/data"] = detector["data"]


def read(path, parameters="", values=VALUES):
    """Reads the scan, and compares."""
    result = os.path.join(os.path.dirname(path), "result.h5")
    run("run", f"nexus {path} {parameters} | hdf5 {result}", "--force", "--quiet")
    with h5py.File(result, "r") as file:
        found = file["entry/data/data"][()]
    assert found.shape == (ROWS, FRAMES, COLUMNS), found.shape
    assert np.array_equal(found, np.transpose(values, (1, 0, 2))), path


def refused(path, code, text="", parameters=""):
    """Returns what the refusal says."""
    result = os.path.join(os.path.dirname(path), "refused.h5")
    done = run("run", f"nexus {path} {parameters} | hdf5 {result}", "--quiet", expect=3)
    assert f"[{code}]" in done.stderr and text in done.stderr, done.stderr
    assert not os.path.exists(result)
    return done.stderr


def convert(folder, source, result, dataset):
    """Runs the script of docs/inputs.md."""
    with open(os.path.join(SOURCE, "docs", "inputs.md")) as page:
        script = re.search(r"## HDF5 that is not read as it is.*?```python\n(.*?)```", page.read(), re.S).group(1)
    path = os.path.join(folder, "hdf5_plain.py")
    with open(path, "w") as file:
        file.write(script)
    return subprocess.run([sys.executable, path, source, result, dataset], capture_output=True, text=True)


def way_out(folder, source, dataset="entry/instrument/detector/data"):
    result = os.path.join(folder, "copy.nxs")
    done = convert(folder, source, result, dataset)
    assert done.returncode == 0, done.stderr
    read(result)
    with h5py.File(result, "r") as file:
        assert file["entry/data/data"] == file["entry/instrument/detector/data"]
        assert file[dataset].attrs["interpretation"] == "image"


@test
def a_filter_that_is_not_read(folder):
    def data(detector):
        detector.create_dataset("data", data=VALUES, chunks=(2, ROWS, COLUMNS), scaleoffset=0)
        detector["data"].attrs["interpretation"] = "image"

    path = os.path.join(folder, "scan.nxs")
    scan(path, data)
    assert "docs/inputs.md" in refused(path, "hdf5-filter", "the filter 6 (scaleoffset)")
    way_out(folder, path)


@test
def a_chunk_that_is_too_large(folder):
    path, angles = os.path.join(folder, "scan.nxs"), "entry/sample/rotation_angle"
    scan(path, lambda detector: detector.create_dataset("data", data=VALUES))
    with h5py.File(path, "r+") as file:
        old = file[angles][()]
        del file[angles]
        new = file.create_dataset(angles, data=old, chunks=((2 << 20) + 1,), maxshape=(None,), compression="gzip")
        new.attrs["units"] = "degree"
    assert "docs/inputs.md" in refused(path, "hdf5-chunk", "rotation_angle")
    done = convert(folder, path, os.path.join(folder, "copy.nxs"), angles)
    assert done.returncode == 0, done.stderr
    read(os.path.join(folder, "copy.nxs"))


@test
def values_in_files_of_another_kind(folder):
    def data(detector):
        VALUES.tofile(os.path.join(folder, "frames.raw"))
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_external(os.path.join(folder, "frames.raw").encode(), 0, VALUES.nbytes)
        h5py.h5d.create(detector.id, b"data", h5py.h5t.STD_U16LE, h5py.h5s.create_simple(VALUES.shape), properties)
        detector["data"].attrs["interpretation"] = "image"

    path = os.path.join(folder, "scan.nxs")
    scan(path, data)
    assert "docs/inputs.md" in refused(path, "hdf5-external")
    way_out(folder, path)


sys.exit(run_tests(sys.argv[3:]))
