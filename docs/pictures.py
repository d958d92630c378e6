#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of README.md, tutorial.md, padding.md, masks.md, outputs.md, comparing.md, resuming.md and
reconstruction-study.md from results of the program: it runs the chains that those pages show, or on a head what they show on a
phantom, and draws what they wrote, with titles, axes in units, and scale bars.

Usage: pictures.py PROGRAM DATA FOLDER
  PROGRAM  build/release/tomostage
  DATA     the folder of public data (datasets/README.md)
  FOLDER   where the pictures go: docs

Needs h5py, numpy, matplotlib, pydicom and nibabel (Debian: python3-h5py python3-matplotlib python3-pydicom python3-nibabel)."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import matplotlib
import nibabel
import numpy as np
import pydicom

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from drawing import Panel, draw_image  # noqa: E402

CHAINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../datasets/chains")
HEAD = """tomostage: 2
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
SOFT = """tomostage: 2
input: {{dicom: {data}/ct/philips_head_5mm_mixed/dicom}}
stages:
  - box: {{radius: 1}}
  - statistics: {{}}
  - window: {{center: 40, width: 400, unit: HU}}
output: {{hdf5: soft.h5}}
"""
TOOTH = """tomostage: 2
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
PADDING = """tomostage: 2
input: {{dicom: {data}/syntax/htj2k/CT1_UNC, padding: {padding}}}
stages:
  - equalize: {{}}
output: {{hdf5: {padding}.h5}}
"""


MASKS = """tomostage: 2
input: {{dicom: {data}/ct/ibsi_sts001/dicom/CT/image}}
inputs:
  tumor: {{mask: {data}/ct/ibsi_sts001/dicom/CT/mask/RS.dcm, roi: 1}}
stages:
  - statistics: {{mask: tumor}}
  - save: {{name: ct}}
  - save: {{name: mask, input: tumor}}
output: {{hdf5: masks.h5}}
"""

OUTPUTS = """tomostage: 2
input: {{dicom: {data}/syntax/htj2k/CT1_UNC}}
stages:
  - box: {{radius: 2}}
output: {{hdf5: outputs.h5, dicom: derived, nifti: r.nii.gz, png: r.png, window: [40, 700]}}
"""


BOX = """tomostage: 2
input: {{dicom: {data}/ct/philips_head_5mm_mixed/dicom, series: 6}}
stages:
  - box: {{radius: {radius}}}
output: {{hdf5: box{radius}.h5}}
"""
BONE = """tomostage: 2
input: {{dicom: {data}/ct/philips_head_5mm_mixed/dicom, series: 6}}
stages:
  - nlm: {{}}
  - save: {{name: smooth}}
  - threshold: {{above: {above}}}
output: {{hdf5: above{above}.h5}}
"""


def run(program, folder, name, chain=None, *options):
    """The result of the chain, or of the one that the folder holds under this name."""
    if chain:
        with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as file:
            file.write(chain)
    subprocess.run([os.path.abspath(program), "run", name + ".yaml", "--device", "cpu", "--quiet", *options], cwd=folder, check=True)
    return h5py.File(os.path.join(folder, name + ".h5"))


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
        draw_image(axes[0, 0], Panel(file, "smooth", f"slice {z} of a head phantom, after box", z, -1000, 800))
        draw_image(axes[0, 1], Panel(file, "equalized", "the same slice after equalize", z, 0, 1))
        histogram(axes[1, 0], file, "histogram of the volume, curve of equalize")
        draw_image(axes[1, 1], Panel(file, "data", "its sinogram by radon, 180 views", z))
        figure.savefig(os.path.join(out, "demo.png"), dpi=90)


def soft(program, data, folder, out):
    with run(program, folder, "soft", SOFT.format(data=data)) as file:
        z = (file["/entry/data/data"].shape[0] - 1) // 2
        figure, axes = plt.subplots(figsize=(5.4, 4.4), constrained_layout=True)
        draw_image(axes, Panel(file, "data", f"slice {z}, window of 400 HU about 40 HU", z, 0, 1))
        figure.savefig(os.path.join(out, "tutorial-head.png"), dpi=90)


def tooth(program, data, folder, out):
    with run(program, folder, "tooth", TOOTH.format(data=data)) as file:
        figure, axes = plt.subplots(1, 2, figsize=(10, 4.3), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
        draw_image(axes[0], Panel(file, "sinogram", "a tooth: line integrals of row 0, 181 views", 0))
        draw_image(axes[1], Panel(file, "data", "reconstructed by fbp", 0))
        figure.savefig(os.path.join(out, "tooth.png"), dpi=90)


def padding(program, data, folder, out):
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
    for i, (how, title) in enumerate([("value", "equalized with padding as values"), ("exclude", "equalized without it")]):
        with run(program, folder, how, PADDING.format(data=data, padding=how)) as file:
            draw_image(axes[i], Panel(file, "data", title, 0, 0, 1))
    figure.savefig(os.path.join(out, "padding.png"), dpi=90)


def masks(program, data, folder, out):
    with run(program, folder, "masks", MASKS.format(data=data)) as file:
        z = int(np.argmax(file["/entry/mask/data"][:].sum((1, 2))))
        figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
        panels = [Panel(file, "ct", f"slice {z} of a CT, and the outline of the mask", z, -160, 240),
                  Panel(file, "mask", "the mask, from contours of a structure set", z, 0, 1)]
        for axis, panel in zip(axes, panels):
            draw_image(axis, panel)
        (left, right, _), (top, bottom, _) = panels[1].across, panels[1].down
        rows, columns = panels[1].image.shape
        x = left + (np.arange(columns) + 0.5) * (right - left) / columns
        y = top + (np.arange(rows) + 0.5) * (bottom - top) / rows
        axes[0].contour(x, y, panels[1].image, [0.5], colors="C3", linewidths=1)
        figure.savefig(os.path.join(out, "masks.png"), dpi=90)


def outputs(program, data, folder, out):
    """Each file as another program than this one reads it."""
    def values(path):
        file = pydicom.dcmread(path)
        hu = file.pixel_array * float(file.RescaleSlope) + float(file.RescaleIntercept)
        padding = int(file.PixelPaddingValue)
        padding -= 65536 if file.PixelRepresentation and padding >= 32768 else 0
        return np.ma.masked_where(file.pixel_array == padding, hu), [float(mm) for mm in file.PixelSpacing]

    run(program, folder, "outputs", OUTPUTS.format(data=data)).close()
    nifti = nibabel.load(os.path.join(folder, "r.nii.gz"))
    mask = nibabel.load(os.path.join(folder, "r_mask.nii.gz")).get_fdata()[:, :, 0].T
    source, spacing = values(os.path.join(data, "syntax/htj2k/CT1_UNC"))
    derived, derived_spacing = values(*glob.glob(os.path.join(folder, "derived/*.dcm")))
    zooms = [float(mm) for mm in nifti.header.get_zooms()]
    panels = [("the input, with its padding in blue", source, spacing, (-310, 390)),
              ("dicom: a derived series, read by pydicom", derived, derived_spacing, (-310, 390)),
              ("nifti: image and mask, read by nibabel", np.ma.masked_where(mask == 0, nifti.get_fdata()[:, :, 0].T), (zooms[1], zooms[0]),
               (-310, 390)),
              ("png: 8 bits of the window, padding is black", plt.imread(os.path.join(folder, "r.png")), spacing, (0, 1))]
    figure, places = plt.subplots(1, 4, figsize=(15, 4.2), constrained_layout={"w_pad": 0.06, "h_pad": 0.06})
    for axes, (title, image, (down, across), (low, high)) in zip(places, panels):
        colors = plt.get_cmap("gray").with_extremes(bad="tab:blue")
        rows, columns = image.shape
        axes.imshow(image, cmap=colors, vmin=low, vmax=high, extent=(0, columns * across, rows * down, 0))
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("x (mm)")
    places[0].set_ylabel("y (mm)")
    figure.savefig(os.path.join(out, "outputs.png"), dpi=80)


def comparing(program, data, folder, out):
    """Two results, and their difference about the place that `diff` names."""
    with run(program, folder, "box1", BOX.format(data=data, radius=1)) as a, run(program, folder, "box2", BOX.format(data=data, radius=2)) as b:
        told = subprocess.run([os.path.abspath(program), "diff", "box1.h5", "box2.h5", "--json"], cwd=folder, capture_output=True, text=True)
        image = json.loads(told.stdout.splitlines()[0])["images"][0]
        z, y, x = image["at"][1:]
        panels = [Panel(file, "data", f"{name}: slice {z}, box of radius {radius}", z, -150, 250)
                  for file, name, radius in ((a, "A", 1), (b, "B", 2))]
        apart = Panel(b, "data", f"B - A: at most {image['largest_difference']:.0f} HU, RMS {image['rms']:.1f} HU", z, -200, 200)
        apart.image = panels[1].image - panels[0].image
        figure, axes = plt.subplots(1, 3, figsize=(14, 4.3), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
        for axis, panel in zip(axes, [*panels, apart]):
            draw_image(axis, panel)
        (left, right, _), (top, bottom, _) = apart.across, apart.down
        rows, columns = apart.image.shape
        axes[2].plot(left + (x + 0.5) * (right - left) / columns, top + (y + 0.5) * (bottom - top) / rows, "o", markersize=14,
                     markerfacecolor="none", markeredgecolor="C3", markeredgewidth=2)
        figure.savefig(os.path.join(out, "comparing.png"), dpi=80)


def resuming(program, data, folder, out):
    """A saved image, and two thresholds of it, the second of which started from the result of the first."""
    with run(program, folder, "above100", BONE.format(data=data, above=100)) as first, \
            run(program, folder, "above200", BONE.format(data=data, above=200), "--resume-from", "above100.h5") as second:
        z = (first["/entry/smooth/data"].shape[0] - 1) // 2
        panels = [Panel(second, "smooth", "nlm, saved: taken from the first result", z, -150, 250),
                  Panel(first, "data", "first: above 100 HU", z, 0, 1),
                  Panel(second, "data", "second: above 200 HU, computed alone", z, 0, 1)]
        figure, axes = plt.subplots(1, 3, figsize=(14, 4.3), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
        for axis, panel in zip(axes, panels):
            draw_image(axis, panel)
        figure.savefig(os.path.join(out, "resuming.png"), dpi=80)


def study(program, out):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(CHAINS, "reconstruction-study.yaml"), folder)
        subprocess.run([os.path.abspath(program), "phantom", "head", "-o", "phantom", "--slices", "3", "--quiet"], cwd=folder, check=True)
        with run(program, folder, "reconstruction-study") as file:
            entry, figure = file["/entry"], plt.figure(figsize=(10, 4.3), constrained_layout={"w_pad": 0.12, "h_pad": 0.08})
            compared = sorted((name for name in entry if name.endswith("_compare")), key=lambda name: int(name.split("_")[1]))
            for axes, name, process in zip(figure.subplots(1, 2), ("ramp", "data"), compared):
                ssim = entry[process]["tables/slice_ssim"][1]
                draw_image(axes, Panel(file, name, f"{'hann' if name == 'data' else name}: SSIM {ssim:.3f}", 1, -150, 250))
            figure.savefig(os.path.join(out, "reconstruction-study.png"), dpi=90)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        readme(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        soft(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        tooth(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        padding(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        masks(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        outputs(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        comparing(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
        resuming(sys.argv[1], os.path.abspath(sys.argv[2]), scratch, sys.argv[3])
    study(sys.argv[1], sys.argv[3])
