#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the volumes that tomostage and dcm2niix make of the same DICOM series against each other.

Each folder under DATA that holds DICOM images is given to both programs, alone. dcm2niix turns rows round and tomostage does
not, so both are compared in patient space: the axes of the NIfTI array are turned until they run as those of the volume, then
the corners of both have to lie at the same place, and all values have to be the same. dcm2niix runs with `-p n`, which takes the
rescale values of the standard as tomostage does, rather than private ones of a vendor. EXPLAINED names the differences that are
known, each with its reason.

Usage: dcm2niix.py PROGRAM DATA [--write PAGE]
  PROGRAM is tomostage; dcm2niix is found in PATH (Debian: apt-get install dcm2niix). Fails where a series differs that
  both take, and that EXPLAINED does not name.
  --write writes the page docs/notes/dicom-agreement.md; without it the table is printed."""
import argparse
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import h5py
import numpy as np

CORNER_MM, VALUE_RELATIVE = 1e-2, 1e-6
EXPLAINED = {
    "1.2.826.0.1.3680043.8.498.172569766509356512040321185":
        "The gantry was tilted by 14 degrees. dcm2niix works the tilt into the axis of the rows, whose step becomes 0.442 mm where "
        "Pixel Spacing says 0.418; a second file of it is sheared back by interpolation. tomostage keeps the step between the "
        "positions of the slices, (0, 0, 5) mm.",
    "1.2.392.200036.9123.100.11.15002200303521616157144550003340146":
        "JPEG 2000 whose code stream has signed pixels where the header says unsigned: dcm2niix reads -2000 as 6192. pydicom with GDCM "
        "finds the values of tomostage. The header names a gantry tilt, which dcm2niix works into the axis of the rows.",
    "1.3.12.2.1107.5.2.0.35131.30000007020315340031200000007":
        "Series 4 has signed pixels of 12 bits in 16: dcm2niix 1.0.20220720 takes the sign from the highest of the 16. Its version of "
        "the reference that comes with the data finds the values of tomostage.",
}
FLIP = np.diag([-1.0, -1, 1])  # patient coordinates of NIfTI (RAS) to those of DICOM (LPS)


def read_nifti(path):
    """Values (volume, z, y, x) in double and the LPS affine of (x, y, z) indices of a NIfTI-1 file."""
    raw = open(path, "rb").read()
    dim = struct.unpack("<8h", raw[40:56])
    kind, = struct.unpack("<h", raw[70:72])
    offset, slope, intercept = struct.unpack("<3f", raw[108:120])
    name = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4"}.get(kind)
    if name is None:
        return None, None
    shape = [max(n, 1) for n in dim[1:5]][::-1]
    values = np.frombuffer(raw, "<" + name, count=int(np.prod(shape)), offset=int(offset)).reshape(shape).astype("f8")
    if slope not in (0, 1) or intercept != 0:
        values = values * (slope or 1) + intercept
    affine = np.array(struct.unpack("<12f", raw[280:328])).reshape(3, 4)
    return values, FLIP @ affine


def read_result(path):
    """The same of the volume that tomostage wrote."""
    with h5py.File(path) as file:
        group = file["entry/data"]
        values = group["data"][()].astype("f8")
        names = ("origin_mm", "direction", "step_z_mm")
        if not all(name in group or name in group.attrs for name in names):
            return values.reshape((-1,) + values.shape[-3:]), None  # a radiograph
        of = {name: np.asarray(group[name][()] if name in group else group.attrs[name]) for name in names}
        direction = of["direction"].reshape(3, 3)
        spacing = [abs(float(group[name].attrs["spacing"])) for name in "xy"]  # the axis y is written as falling
    columns = [direction[0] * spacing[0], direction[1] * spacing[1], of["step_z_mm"], of["origin_mm"]]
    return values.reshape((-1,) + values.shape[-3:]), np.array(columns).T


def turn(values, affine, like):
    """Orders and flips the axes of an array so that they run as those of the affine `like`; one slice has no third axis."""
    unit = [a / np.where(np.linalg.norm(a, axis=0) > 0, np.linalg.norm(a, axis=0), 1) for a in (like[:, :3], affine[:, :3])]
    cosines = unit[0].T @ unit[1]
    order = max(itertools.permutations(range(3)), key=lambda p: sum(abs(cosines[i, p[i]]) for i in range(3)))
    values = values.transpose([0] + [3 - order[2 - k] for k in range(3)])
    affine = affine[:, list(order) + [3]].copy()
    for axis in range(3):
        if affine[:, axis] @ like[:, axis] < 0:
            n = values.shape[3 - axis]
            affine[:, 3] += (n - 1) * affine[:, axis]
            affine[:, axis] *= -1
            values = np.flip(values, 3 - axis)
    return values, affine


def compare(ours, theirs):
    """Largest distance of a corner in mm and largest difference of a value, relative to the range; None for other shapes.
    A radiograph has no place to be compared; dcm2niix turns its rows round as those of others."""
    size = max(np.ptp(ours[0]), 1e-30)
    if ours[1] is None:
        return (0.0, float(np.abs(theirs[0][:, :, ::-1] - ours[0]).max() / size)) if theirs[0].shape == ours[0].shape else None
    values, affine = turn(*theirs, ours[1])
    if values.shape != ours[0].shape:
        return None
    corners = np.array(list(itertools.product(*[(0, n - 1) for n in values.shape[:0:-1]], [1])), "f8")
    off = np.abs(corners @ (affine - ours[1]).T)
    return float(np.sqrt((off ** 2).sum(axis=1)).max()), float(np.abs(values - ours[0]).max() / size)


def folders(data):
    for path, names, files in sorted(os.walk(data)):
        names.sort()
        if files and not os.path.relpath(path, data).startswith(("corrupt", "projections")):
            yield path, sorted(files)


def dicom_of(program, place):
    run = subprocess.run([program, "info", "--json", place], capture_output=True, text=True)
    if not run.stdout.startswith("{"):
        return []
    return json.JSONDecoder().raw_decode(run.stdout)[0].get("series", [])  # records may follow


def niftis_of(place, out):
    """All NIfTI files that dcm2niix makes, by series UID, and what it said."""
    run = subprocess.run(["dcm2niix", "-z", "n", "-b", "y", "-ba", "n", "-p", "n", "-d", "0", "-f", "%s_%d_%e", "-o", out, place],
                         capture_output=True, text=True, errors="replace")
    found = {}
    for name in sorted(os.listdir(out)):
        if name.endswith(".json"):
            stem = os.path.join(out, name[:-5])
            with open(stem + ".json", errors="replace") as file:
                uid = json.load(file, strict=False).get("SeriesInstanceUID", "")
            if os.path.exists(stem + ".nii"):
                found.setdefault(uid, []).append(stem + ".nii")
    said = [line for line in run.stdout.splitlines() if re.search(r"rror|nsupported|Unable|not implemented|skip", line)]
    return found, re.sub(r"/\S*/", "", said[0]) if said else "no message"


def judge(program, place, series, niftis, said, scratch):
    """What each program makes of a series: (does tomostage take it, does dcm2niix, text)."""
    mine = not series.get("refused")
    read = [n for n in map(read_nifti, niftis) if n[0] is not None]
    near = [n for n in read if mine or set(series["shape"][-2:]) <= set(n[0].shape)]
    if not mine:
        return False, bool(near), f"`{series['refused']}`: {series['hint']}"
    out = os.path.join(scratch, "result.h5")
    run = subprocess.run([program, "run", f"dicom {place} series={series['number']} | save name=volume | hdf5 {out}", "--force"],
                         capture_output=True, text=True)
    if run.returncode:
        return False, bool(near), next(line for line in run.stderr.splitlines() if "error:" in line).replace(place, "")
    ours = read_result(out)
    found = [c for c in (compare(ours, n) for n in near) if c]
    if not found:
        return True, False, f"other shapes ({', '.join('x'.join(map(str, n[0].shape[::-1])) for n in near)})" if near else said
    best = min(found, key=lambda c: (c[0] > CORNER_MM) + (c[1] > VALUE_RELATIVE) + c[1])
    return True, True, best


def table(rows, heads):
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return "\n".join(lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows])


def is_same(row):
    return row[5][0] <= CORNER_MM and row[5][1] <= VALUE_RELATIVE


def page(rows):
    """The page, and how many differences nothing explains."""
    both = [r for r in rows if r[3] and r[4]]
    same, other = [r for r in both if is_same(r)], [r for r in both if not is_same(r)]
    said = subprocess.run(["dcm2niix", "--version"], capture_output=True, text=True).stdout
    parts = [f"""<!-- lab/peers/dcm2niix.py --write writes this page. -->
# Agreement with dcm2niix

This page holds the volumes of tomostage against those of dcm2niix {re.search(r"v[0-9.]+", said)[0]}, for every DICOM series of the
[public test data](../../datasets/README.md#public-data), folder by folder. Both are compared in patient space, because dcm2niix turns rows
round: the largest distance between the same corner of both volumes, and the largest difference of a value as a share of the range of
values. dcm2niix runs with `-p n`, so that it takes the rescale values of the standard.

Of {len(rows)} series both take {len(both)}. {len(same)} of these agree: corners to {CORNER_MM:g} mm and values to {VALUE_RELATIVE:g} of their range.
"""]
    kinds = [("that both take and that agree", same, ["corners, mm", "values"], lambda r: (f"{r[5][0]:.2g}", f"{r[5][1]:.2g}")),
             ("that both take and that differ", other, ["corners, mm", "values", "why"],
              lambda r: (f"{r[5][0]:.2g}", f"{r[5][1]:.2g}", EXPLAINED.get(r[6], "**not explained**"))),
             ("that only dcm2niix takes", [r for r in rows if not r[3] and r[4]], ["why tomostage refuses it"], lambda r: (r[5],)),
             ("that only tomostage takes", [r for r in rows if r[3] and not r[4]], ["what dcm2niix makes of it"], lambda r: (r[5],)),
             ("that neither takes", [r for r in rows if not r[3] and not r[4]], ["why tomostage refuses it"], lambda r: (r[5],))]
    for title, chosen, heads, cells in kinds:
        shown = table([r[:3] + cells(r) for r in chosen], ["folder", "series", "shape"] + heads) if chosen else "None."
        parts.append(f"## Series {title}\n\n{shown}\n")
    parts.append("[errors.md](../errors.md) says of each code what is wrong and what the way out is.\n")
    return "\n".join(parts), sum(r[6] not in EXPLAINED for r in other)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--write", metavar="PAGE")
    options = parser.parse_args()
    program, rows = os.path.abspath(options.program), []
    for path, files in folders(options.data):
        with tempfile.TemporaryDirectory() as scratch:
            place, out = os.path.join(scratch, "in"), os.path.join(scratch, "out")
            os.mkdir(place)
            os.mkdir(out)
            for name in files:
                os.symlink(os.path.abspath(os.path.join(path, name)), os.path.join(place, name))
            all_series = dicom_of(program, place)
            niftis, said = niftis_of(place, out) if all_series else ({}, "")
            for series in all_series:
                mine, theirs, text = judge(program, place, series, niftis.get(series["series"], []), said, scratch)
                shape = " x ".join(map(str, series["shape"]))
                rows.append((os.path.relpath(path, options.data), series["number"], shape, mine, theirs, text, series["series"]))
    text, n_different = page(rows)
    if options.write:
        with open(options.write, "w") as file:
            file.write(text)
    else:
        print(text)
    return n_different > 0


if __name__ == "__main__":
    sys.exit(main())
