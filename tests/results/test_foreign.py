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


# ---- virtual datasets and links


def virtual(detector, *parts, shape=VALUES.shape):
    """Makes a virtual dataset of parts (place, source)."""
    layout = h5py.VirtualLayout(shape, "u2")
    for place, source in parts:
        layout[place] = source
    detector.create_virtual_dataset("data", layout)


def source(path, name, values, **options):
    with h5py.File(path, "a") as file:
        file.create_dataset(name, data=values, **options)


def from_file(name, dataset="data", shape=VALUES.shape):
    return h5py.VirtualSource(name, dataset, shape)


@test
def virtual_datasets_have_the_values_of_their_sources(folder):
    def path(name):
        return os.path.join(folder, name)

    os.mkdir(path("raw"))
    source(path("raw/all.h5"), "data", VALUES, chunks=(5, ROWS, COLUMNS), compression="gzip")
    source(path("first.h5"), "data", VALUES[:5].astype(">u2"))
    source(path("second.h5"), "entry/data", VALUES[5:], chunks=(2, 3, 7), compression="lzf", shuffle=True)
    for i in range(FRAMES):
        source(path("frames.h5"), f"frames/{i}", VALUES[i])
        source(path(f"frame_{i}.h5"), "data", VALUES[i])
    whole = from_file("raw/all.h5")
    absolute, gone = from_file(path("raw/all.h5")), from_file("/no/such/folder/linked.h5")
    with h5py.File(path("raw/link.h5"), "w") as file:
        file["data"] = h5py.ExternalLink("all.h5", "/data")
    source(path("linked.h5"), "data", VALUES)
    cases = {
        "parts": [(slice(0, 5), from_file("first.h5", shape=(5, ROWS, COLUMNS))),
                  (slice(5, 12), from_file("second.h5", "entry/data", (7, ROWS, COLUMNS)))],
        "datasets": [(i, from_file("frames.h5", f"frames/{i}", (ROWS, COLUMNS))) for i in range(FRAMES)],
        "files": [(i, from_file(f"frame_{i}.h5", shape=(ROWS, COLUMNS))) for i in range(FRAMES)],
        "swapped": [(slice(0, 6), whole[6:]), (slice(6, 12), whole[:6])],
        "interleaved": [(slice(0, None, 3), whole[0:4]), (slice(1, None, 3), whole[4:8]), (slice(2, None, 3), whole[8:])],
        "columns": [((slice(None), slice(None), slice(0, None, 2)), whole[:, :, 8:]),
                    ((slice(None), slice(None), slice(1, None, 2)), whole[:, :, :8])],
        "absolute": [(..., absolute)], "gone": [(..., gone)], "link": [(..., from_file("raw/link.h5"))],
        "nested": [(slice(0, 3), from_file("interleaved.nxs", "entry/instrument/detector/data")[9:]),
                   (slice(3, 12), from_file("parts.nxs", "entry/instrument/detector/data")[3:])],
    }
    for name, parts in cases.items():
        scan(path(name + ".nxs"), lambda detector, parts=parts: virtual(detector, *parts))
        with h5py.File(path(name + ".nxs"), "r") as file:
            expected = file["entry/instrument/detector/data"][()]
        assert name in ("gone",) or expected.any()
        read(path(name + ".nxs"), values=VALUES if name == "gone" else expected)


def grow(detector, name, dataset, selections):
    """Makes a virtual dataset that is as long as its sources; selections are (virtual, source) as start, count, stride, block."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    most = (h5py.h5s.UNLIMITED, ROWS, COLUMNS)
    for number, (to, of) in enumerate(selections):
        spaces = []
        for start, count, stride, block in (to, of):
            space = h5py.h5s.create_simple((FRAMES, ROWS, COLUMNS), most)
            space.select_hyperslab((start, 0, 0), (count, 1, 1), (stride, 1, 1), (block, ROWS, COLUMNS))
            spaces.append(space)
        properties.set_virtual(spaces[0], name.format(number).encode(), dataset.encode(), spaces[1])
    h5py.h5d.create(detector.id, b"data", h5py.h5t.STD_U16LE, h5py.h5s.create_simple(VALUES.shape, most), properties)


@test
def virtual_datasets_grow_with_their_sources(folder):
    path, unlimited = os.path.join(folder, "scan.nxs"), h5py.h5s.UNLIMITED
    for i in range(3):
        source(os.path.join(folder, f"block_{i}.h5"), "data", VALUES[4 * i:4 * i + 4])
        source(os.path.join(folder, f"part{i}.h5"), "data", VALUES[i::3], maxshape=(None, ROWS, COLUMNS))
    scan(path, lambda detector: grow(detector, "block_%b.h5", "data", [((0, unlimited, 4, 4), (0, 1, 1, 4))]))
    read(path)
    scan(path, lambda detector: grow(detector, "part{}.h5", "data",
                                     [((i, unlimited, 3, 1), (0, unlimited, 1, 1)) for i in range(3)]))
    read(path)


@test
def what_is_missing_is_an_error_and_its_hint_works(folder):
    path = os.path.join(folder, "scan.nxs")
    data = VALUES[:5], VALUES[5:]
    source(os.path.join(folder, "first.h5"), "data", data[0])
    scan(path, lambda detector: virtual(detector, (slice(0, 5), from_file("first.h5", shape=data[0].shape)),
                                        (slice(5, 12), from_file("raw/second.h5", shape=data[1].shape))))
    hint = refused(path, "hdf5-source-missing", "raw/second.h5, which is not there")
    place = re.search(r"put that file at (.*)", hint).group(1)
    os.mkdir(os.path.dirname(place))
    source(place, "other", data[1])
    refused(path, "hdf5-source-missing", "has no such dataset")
    source(place, "data", data[1][:4])
    assert "docs/inputs.md" not in refused(path, "hdf5-source-missing", "past the end of a source")
    assert convert(folder, path, os.path.join(folder, "copy.nxs"), "entry/instrument/detector/data").returncode == 1
    os.remove(place)
    source(place, "data", data[1])
    read(path)
    scan(path, lambda detector: virtual(detector, (slice(0, 5), from_file("first.h5", shape=data[0].shape)),
                                        (slice(6, 12), from_file("raw/second.h5", shape=data[1].shape)[:6])))
    refused(path, "hdf5-source-missing", "nothing gives the values of index 5")
    scan(path, lambda detector: virtual(detector, (..., from_file("scan.nxs", "entry/instrument/detector/data"))))
    refused(path, "hdf5-links", "deep")


@test
def gaps_in_frames_are_filled_with_a_warning(folder):
    path = os.path.join(folder, "scan.nxs")
    source(os.path.join(folder, "all.h5"), "data", VALUES)
    scan(path, lambda detector: virtual(detector, ((slice(None), slice(None), slice(0, 6)), from_file("all.h5")[:, :, :6]),
                                        ((slice(None), slice(None), slice(8, 16)), from_file("all.h5")[:, :, 6:14])))
    with h5py.File(path, "r") as file:
        expected = file["entry/instrument/detector/data"][()]
    read(path, values=expected)
    assert "hdf5-virtual-gaps" in run("check", f"nexus {path} | hdf5 {folder}/x.h5").stderr


@test
def virtual_datasets_of_every_width(folder):
    path = os.path.join(folder, "scan.nxs")
    for kind in ("i8", ">u8", "f8", "f2", "i1"):  # all but the last become 32-bit floats
        values = (VALUES % 100).astype(kind)
        source(os.path.join(folder, f"{kind[-2:]}.h5"), "data", values, chunks=(5, 3, COLUMNS), compression="lzf")
        layout = h5py.VirtualLayout(VALUES.shape, kind)
        layout[...] = h5py.VirtualSource(f"{kind[-2:]}.h5", "data", VALUES.shape)
        scan(path, lambda detector, layout=layout: detector.create_virtual_dataset("data", layout))
        read(path, values=VALUES % 100)


@test
def other_virtual_datasets_have_a_way_out(folder):
    path = os.path.join(folder, "scan.nxs")
    source(os.path.join(folder, "all.h5"), "data", VALUES.reshape(FRAMES * ROWS, COLUMNS))
    source(os.path.join(folder, "wide.h5"), "data", VALUES.astype("u4"))

    def data(detector, name, shape):
        virtual(detector, (..., from_file(name, shape=shape)))
        detector["data"].attrs["interpretation"] = "image"

    for name, shape in (("all.h5", (FRAMES * ROWS, COLUMNS)), ("wide.h5", VALUES.shape)):
        scan(path, lambda detector, name=name, shape=shape: data(detector, name, shape))
        assert "docs/inputs.md" in refused(path, "hdf5-virtual")
        way_out(folder, path)
        os.remove(os.path.join(folder, "copy.nxs"))


@test
def what_lies_elsewhere_needs_consent(folder):
    here, elsewhere = os.path.join(folder, "processed"), os.path.join(folder, "raw data")
    os.mkdir(here)
    os.mkdir(elsewhere)
    path = os.path.join(here, "scan.nxs")
    source(os.path.join(elsewhere, "scan.h5"), "data", VALUES)
    os.symlink(os.path.join(elsewhere, "scan.h5"), os.path.join(here, "link.h5"))

    def link(name):
        return lambda detector: detector.__setitem__("data", h5py.ExternalLink(name, "/data"))

    for add in (link("../raw data/scan.h5"), link(os.path.join(elsewhere, "scan.h5")), link("link.h5"),
                lambda detector: virtual(detector, (..., from_file("../raw data/scan.h5"))),
                lambda detector: virtual(detector, (..., from_file("link.h5")))):
        scan(path, add)
        allow = re.search(r"`(allow=.*?)`", refused(path, "hdf5-link-outside")).group(1)
        read(path, allow)
        refused(path, "hdf5-link-outside", parameters=f"allow={here}")


sys.exit(run_tests(sys.argv[3:]))
