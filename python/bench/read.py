#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times ts.read() of a DICOM series beside SimpleITK and pydicom, which have to find the same values and spacings.
usage: read.py [FOLDER]    without a folder a phantom of 512 x 512 x 200 is made in a temporary one"""
import pathlib
import subprocess
import sys
import tempfile

import numpy

import tomostage as ts
from table import Table, median_seconds
from tomostage.results import program


def ours(folder):
    image = ts.read(folder)
    return image.array, image.spacing


def simpleitk(folder):
    import SimpleITK

    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(folder))
    image = reader.Execute()
    return SimpleITK.GetArrayViewFromImage(image).copy(), image.GetSpacing()[::-1]


def pydicom(folder):
    import pydicom

    files = [pydicom.dcmread(path) for path in pathlib.Path(folder).iterdir() if path.is_file()]
    files.sort(key=lambda file: float(file.ImagePositionPatient[2]))
    values = numpy.stack([(file.pixel_array.astype(numpy.int32) * int(file.RescaleSlope) + int(file.RescaleIntercept))
                          .astype(numpy.int16) for file in files])
    step = float(files[1].ImagePositionPatient[2]) - float(files[0].ImagePositionPatient[2])
    return values, (step, *map(float, files[0].PixelSpacing))


def measure(table, name, read, folder, expected):
    def add():
        seconds, (values, spacing) = median_seconds(lambda: read(folder))
        same = expected is None or (values.shape == expected[0].shape and numpy.array_equal(values, expected[0])
                                    and numpy.allclose(spacing, expected[1], rtol=1e-4))
        table.row(name, seconds * 1e3, values.size * 2 / seconds / 1e6, "" if expected is None else "yes" if same else "NO")
        table.found = (values, spacing)

    table.peer(name, add)


def main():
    with tempfile.TemporaryDirectory(prefix="tomostage-bench-") as scratch:
        folder = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(scratch) / "ct")
        if len(sys.argv) < 2:
            subprocess.run([program(), "phantom", "head", "-o", folder, "--size", "512", "--slices", "200", "--quiet"], check=True)
        table = Table(f"A series of {sum(1 for _ in pathlib.Path(folder).iterdir())} files, read from the page cache",
                      "package", "ms (median of 5)", "MB/s of 16-bit pixels", "same values")
        measure(table, "tomostage", ours, folder, None)
        expected = getattr(table, "found", None)
        measure(table, "SimpleITK", simpleitk, folder, expected)
        measure(table, "pydicom", pydicom, folder, expected)
        table.print()


if __name__ == "__main__":
    main()
