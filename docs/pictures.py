#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of README.md and tutorial.md from results of the program: it runs the chains that those pages show
and draws what they wrote, with titles, axes in units, and scale bars.

Usage: pictures.py PROGRAM DATA FOLDER
  PROGRAM  build/release/tomostage
  DATA     the folder of public data (datasets/README.md)
  FOLDER   where the pictures go: docs

Needs h5py, numpy and matplotlib (Debian: python3-h5py python3-matplotlib)."""
import os
import subprocess
import sys
import tempfile

import h5py
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import patheffects  # noqa: E402

HEAD = """tomostage: 1
input: {{dicom: {data}/ct/philips_head_5mm_mixed/dicom, series: 6}}
stages:
  - box: {{radius: 1}}
  - save: {{name: smooth}}
  - histogram: {{bins: 256}}
  - equalize: {{}}
  - save: {{name: equalized}}
  - radon: {{views: 180}}
output: {{hdf5: head.h5}}
"""
SOFT = """tomostage: 1
input: {{dicom: {data}/ct/philips_head_5mm_mixed/dicom}}
stages:
  - box: {{radius: 1}}
  - statistics: {{}}
  - window: {{center: 40, width: 400, unit: HU}}
output: {{hdf5: soft.h5}}
"""
TOOTH = """tomostage: 1
input: {{exchange: {data}/projections/tomopy_tooth/tooth.h5, pixel_size: 0.001}}
inputs:
  flats: {{exchange: {data}/projections/tomopy_tooth/tooth.h5, pixel_size: 0.001, frames: flats}}
  darks: {{exchange: {data}/projections/tomopy_tooth/tooth.h5, pixel_size: 0.001, frames: darks}}
stages:
  - flat_field: {{flats: flats, darks: darks}}
  - minus_log: {{}}
  - center: {{}}
  - save: {{name: sinogram}}
  - ring: {{}}
  - fbp: {{filter: hann}}
output: {{hdf5: tooth.h5}}
"""


def run(program, folder, name, chain):
    with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as file:
        file.write(chain)
    subprocess.run([os.path.abspath(program), "run", name + ".yaml", "--device", "cpu", "--quiet"], cwd=folder, check=True)
    return h5py.File(os.path.join(folder, name + ".h5"))


def spacing(file, path):
    return float(file[path].attrs["spacing"][0])


def scale_bar(axes, length, unit, width):
    """A bar of `length` in units of the axes, near the lower left corner of an image that is `width` wide."""
    low, high = axes.get_ylim()
    x, y = width * 0.05, low + (high - low) * 0.06
    edge = [patheffects.withStroke(linewidth=5, foreground="black")]
    axes.plot([x, x + length], [y, y], color="white", linewidth=3, solid_capstyle="butt", path_effects=edge)
    edge = [patheffects.withStroke(linewidth=2, foreground="black")]
    axes.text(x + length / 2, y + (high - low) * 0.02, f"{length:g} {unit}", color="white", ha="center", va="bottom", fontsize=8,
              path_effects=edge)


def picture(axes, file, group, z, title, bar, label, low=None, high=None):
    """Slice z of a volume, x and y in the unit of its axes, with a scale bar and a bar of gray values."""
    image = file[f"/entry/{group}/data"][z]
    dy, dx = spacing(file, f"/entry/{group}/y"), spacing(file, f"/entry/{group}/x")
    unit = file[f"/entry/{group}/x"].attrs["units"].decode()
    height, width = image.shape[0] * dy, image.shape[1] * dx
    shown = axes.imshow(image, cmap="gray", vmin=low, vmax=high, extent=(0, width, height, 0))
    axes.set(title=title, xlabel=f"x ({unit})", ylabel=f"y ({unit})")
    scale_bar(axes, bar, unit, width)
    axes.figure.colorbar(shown, ax=axes, fraction=0.046, pad=0.03).set_label(label)


def sinogram(axes, file, group, z, title, label):
    """Slice z of a sinogram: detector pixels in the unit of their axis, views in degrees."""
    image = file[f"/entry/{group}/data"][z]
    views, detectors = file[f"/entry/{group}/view"][:], file[f"/entry/{group}/detector"][:]
    unit = file[f"/entry/{group}/detector"].attrs["units"].decode()
    step = views[1] - views[0]
    extent = (detectors[0], detectors[-1], views[-1] + step / 2, views[0] - step / 2)
    shown = axes.imshow(image, cmap="gray", aspect="auto", extent=extent)
    axes.set(title=title, xlabel=f"detector pixel ({unit})", ylabel="view (degree)")
    axes.set_yticks(range(0, 181, 45))
    axes.figure.colorbar(shown, ax=axes, fraction=0.046, pad=0.03).set_label(label)


def histogram(axes, file, title):
    """The counts as bars, and where equalization puts each value: the share of pixels that are not above it."""
    tables = file["/entry/process_3_histogram/tables"]
    counts, edges = tables["counts"][:].astype(float), tables["edges"][:]
    axes.stairs(np.maximum(counts, 0.5), edges, fill=True, color="0.6")
    axes.set_yscale("log")
    axes.set(title=title, xlabel="value (HU)", ylabel="pixels per bin", xlim=(edges[0], edges[-1]), ylim=(1, None))
    curve = axes.twinx()
    curve.plot(edges[1:], np.cumsum(counts) / counts.sum(), color="C3")
    curve.set_ylim(0, 1.02)
    curve.set_ylabel("equalized value (1)", color="C3")


def readme(program, data, folder, out):
    with run(program, folder, "head", HEAD.format(data=data)) as file:
        z = (file["/entry/smooth/data"].shape[0] - 1) // 2
        figure, axes = plt.subplots(2, 2, figsize=(10, 8.2), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
        picture(axes[0, 0], file, "smooth", z, f"slice {z} of a head phantom, smoothed by box", 50, "HU", -1000, 800)
        picture(axes[0, 1], file, "equalized", z, "the same slice after equalize", 50, "equalized value (1)", 0, 1)
        histogram(axes[1, 0], file, "histogram of the volume, and the curve of equalize")
        sinogram(axes[1, 1], file, "data", z, "its sinogram by radon, 180 views", "line integral (mm)")
        figure.savefig(os.path.join(out, "demo.png"), dpi=90)


def soft(program, data, folder, out):
    with run(program, folder, "soft", SOFT.format(data=data)) as file:
        z = (file["/entry/data/data"].shape[0] - 1) // 2
        figure, axes = plt.subplots(figsize=(5.4, 4.4), constrained_layout=True)
        picture(axes, file, "data", z, f"slice {z}, window of 400 HU about 40 HU", 50, "gray (1)", 0, 1)
        figure.savefig(os.path.join(out, "tutorial-head.png"), dpi=90)


def tooth(program, data, folder, out):
    with run(program, folder, "tooth", TOOTH.format(data=data)) as file:
        figure, axes = plt.subplots(1, 2, figsize=(10, 4.3), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
        sinogram(axes[0], file, "sinogram", 0, "a tooth: line integrals of row 0, 181 views", "line integral (1)")
        picture(axes[1], file, "data", 0, "reconstructed by fbp", 0.1, "attenuation (1/mm)")
        figure.savefig(os.path.join(out, "tooth.png"), dpi=90)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        readme(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        soft(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        tooth(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
