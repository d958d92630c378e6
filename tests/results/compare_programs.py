#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same 20 chains, which hold every stage, with two programs, and compares every dataset of the results to the
bit: for changes that must not change a value. Names every dataset that differs, and by how much.

usage: compare_programs.py OLD_PROGRAM NEW_PROGRAM [--device DEVICE]

Exits with 1 where a dataset differs, is missing, or where the two programs do not know the same stages."""
import os
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../datasets"))
from make_scan import write_scan  # noqa: E402

# A scan with its flats and darks cannot be said in one line.
SCAN = """tomostage: 2
input: {{nexus: {scan}}}
inputs:
  flats: {{nexus: {scan}, frames: flats}}
  darks: {{nexus: {scan}, frames: darks}}
output: {{hdf5: {out}}}
stages: [{{flat_field: {{flats: flats, darks: darks}}}}, {{"""

CHAINS = [
    ("windows", "dicom {head} | window center=40 width=400 unit=HU dtype=u8 | save name=gray | invert"),
    ("percentiles", "dicom {head} | rescale method=percentiles dtype=u16 | save name=volume | rescale method=z-score scope=slice"),
    ("box", "dicom {noise} | box radius=1 | save name=thin | box radius=5 dimensions=3d border=mirror | save name=cube "
            "| box radius=20 border=wrap"),
    ("median", "dicom {noise} | median radius=2 | save name=flat | median radius=1 dimensions=3d"),
    ("convolve", "dicom {noise} | convolve kernel=gaussian-5x5 border=nearest | save name=smooth | convolve kernel=sobel-x"),
    ("statistics", "dicom {noise} | statistics percentiles=1,50,99 ddof=1 | statistics scope=slice percentiles=5,95"),
    ("histogram", "dicom {noise} | histogram bins=256 | histogram bins=1024 scope=slice"),
    ("equalize", "dicom {head} | equalize | save name=volume | equalize scope=slice"),
    ("clahe", "dicom {head} | window low=-200 high=300 unit=HU dtype=u8 | clahe method=opencv clip_limit=2 | save name=opencv "
              "| clahe method=skimage"),
    ("radon", "dicom {head} | radon views=90 | save name=line_integrals | flip | pad left=7 right=9"),
    ("fan", "dicom {head} | radon views=120 arc=360 beam=fan-flat source_axis=500 source_detector=900 | save name=fan | rebin | fbp"),
    ("fbp", "dicom {head} | radon views=180 | fbp filter=hann | circle"),
    ("filter", "dicom {head} | radon views=60 | filter | backproject"),
    ("backproject", "dicom {noise} | radon views=45 arc=360 | backproject"),
    ("fourier", "dicom {head} | radon views=180 | fourier"),
    ("sirt", "dicom {noise} | radon views=40 | sirt iterations=8"),
    ("cgls", "dicom {noise} | radon views=40 | cgls iterations=6"),
    ("outliers", "dicom {noise} | radon views=30 | outliers size=3 threshold=5 | statistics"),
    ("scan", SCAN + "minus_log: {{}}}}, {{ring: {{}}}}, {{center: {{}}}}, {{fbp: {{}}}}, {{to_hu: {{water: 0.02}}}}]\n"),
    ("air", SCAN + "air: {{detectors: 4}}}}, {{minus_log: {{}}}}, {{ring: {{method: fourier-wavelet}}}}, {{fourier: {{}}}}]\n"),
    ("stitch", SCAN.replace("{scan}", "{wide}") + "minus_log: {{}}}}, {{center: {{method: overlap}}}}, {{stitch: {{}}}}, {{fbp: {{}}}}]\n"),
]


def datasets(path):
    found = {}
    with h5py.File(path, "r") as file:
        # Texts say how a file was made and name the program that made it, so that numbers alone are compared.
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset)
                        and item.dtype.kind in "iuf" else None)
    return found


def call(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program} {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def compare(name, old, new):
    different = [f"{name}: {place} is in one result alone" for place in sorted(old.keys() ^ new.keys())]
    for place in sorted(old.keys() & new.keys()):
        a, b = old[place], new[place]
        if a.dtype != b.dtype or a.shape != b.shape:
            different.append(f"{name}: {place}: {a.dtype}{a.shape} became {b.dtype}{b.shape}")
        elif a.tobytes() != b.tobytes():
            largest = np.nanmax(np.abs(a.astype(float) - b.astype(float)))
            different.append(f"{name}: {place}: {np.sum(a != b)} of {a.size} values differ, by {largest:g} at most")
    return different


def main():
    old, new = sys.argv[1:3]
    device = sys.argv[4] if sys.argv[3:4] == ["--device"] else "cpu"
    stages = [{line.split()[0] for line in call(program, "stages").splitlines()} for program in (old, new)]
    missing = stages[0] - {word for _, chain in CHAINS for word in re.findall(r"\w+", chain)}
    assert not missing, f"no chain has {missing}"
    chains = [(name, chain) for name, chain in CHAINS if name != "median" or all("median" in known for known in stages)]
    different, n = [f"the new program does not know {name}" for name in stages[0] - stages[1]], 0
    with tempfile.TemporaryDirectory() as folder:
        places = {name: os.path.join(folder, name) for name in ("head", "noise", "scan", "wide")}
        call(old, "phantom", "shepp-logan", "-o", places["head"], "--size", "96", "--slices", "6", "--quiet")
        call(old, "phantom", "gradient", "-o", places["noise"], "--size", "61", "--slices", "9", "--noise", "20", "--quiet")
        write_scan(places["scan"], np.arange(120) * 1.5, 47.5)
        write_scan(places["wide"], np.arange(240) * 1.5, 24.0, radius=62)
        for name, chain in chains:
            results = []
            for number, program in enumerate((old, new)):
                path = os.path.join(folder, f"{name}{number}.h5")
                text = chain.format(out=path, **places)
                if chain.startswith("tomostage"):
                    with open(os.path.join(folder, "chain.yaml"), "w", encoding="utf-8") as file:
                        file.write(text)
                    text = file.name
                else:
                    text += f" | hdf5 {path}"
                call(program, "run", text, "--device", device, "--quiet")
                results.append(datasets(path))
            n += len(results[0])
            different += compare(name, *results)
    print("\n".join(different) or f"{len(chains)} chains, {n} datasets: equal to the bit")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
