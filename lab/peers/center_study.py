#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far the rotation axis that `center` finds is off, and how often it is within the `error` of its table.

Simulated scans of random discs: noise of 0 to 10 % of the largest value, 64 to 400 detector pixels, 60 to 400 views of
half a turn or a whole one, axes off the middle, objects that the detector cuts off, stripes and dead columns, angles
that jitter. Prints a line for each kind of scan: the median, the 90th percentile and the largest error, and the share of
the scans whose axis is within `error`. With --peer, Algotom's find_center_vo searches the same sinograms (pip install
algotom). Needs numpy and h5py.

usage: center_study.py PROGRAM [--scans 300] [--seed 1] [--peer]
"""
import argparse
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np


def sinogram(angles, n, center, discs):
    at, out = np.arange(n) - center, np.zeros((len(angles), n))
    for view, theta in enumerate(np.deg2rad(angles)):
        for x, y, radius, value in discs:
            out[view] += 2 * value * np.sqrt(np.maximum(0, radius**2 - (at - x * np.cos(theta) - y * np.sin(theta))**2))
    return out


def random_discs(rng, radius, n):
    discs = [(0.03 * radius, -0.02 * radius, 0.95 * radius, 0.01)]
    for _ in range(n):
        size, turn = rng.uniform(0.03, 0.2) * radius, rng.uniform(0, 2 * np.pi)
        far = rng.uniform(0, 0.9 * radius - size)
        discs.append((far * np.cos(turn), far * np.sin(turn), size, rng.uniform(-0.005, 0.02)))
    return discs


def random_scan(rng):
    """Returns a sinogram, its angles, its center and its kinds."""
    n, views = int(rng.integers(64, 401)), int(rng.integers(60, 401))
    noise, cut, stripes = rng.choice([0, 0.01, 0.03, 0.05, 0.1]), rng.random() < 0.25, rng.random() < 0.35
    turn = 360 if rng.random() < 0.25 else 180
    center = (n - 1) / 2 + rng.uniform(-0.15, 0.15) * n
    radius = rng.uniform(0.6, 1.1) * n if cut else rng.uniform(0.5, 0.97) * (min(center, n - 1 - center) - 1)
    angles = np.arange(views) * turn / views if rng.random() < 0.5 else np.linspace(0, turn, views)
    if rng.random() < 0.2:
        angles = angles + rng.normal(size=views) * 0.05 * turn / views
    data = sinogram(angles, n, center, random_discs(rng, radius, 24 if cut else 8))
    most = data.max()
    data += rng.normal(size=data.shape) * noise * most
    if stripes:
        data[:, rng.integers(0, n, 6)] += rng.normal(size=6) * 0.05 * most
        data += rng.normal(size=n) * 0.005 * most
        data[:, rng.integers(2, n - 2)] = rng.choice([0, 1]) * most
    return data.astype("f4"), angles, center, {"noise": noise, "cut off": cut, "stripes": stripes, "turn": turn}


def search(program, folder, data, angles):
    """Returns the center, its error and whether there was a warning."""
    scan, chain, out = folder / "scan.h5", folder / "chain.yaml", folder / "out.h5"
    with h5py.File(scan, "w") as file:
        file["data"], file["theta"] = data[None], angles
    chain.write_text(f"tomostage: 2\ninput: {{hdf5: {scan}, path: /data, axes: [z, view, detector], angles: /theta, "
                     f"spacing: [1, 1], quantity: line_integral}}\nstages:\n  - center:\noutput: {{hdf5: {out}}}\n")
    run = subprocess.run([program, "run", str(chain), "--force", "--threads", "1"], capture_output=True, text=True)
    if run.returncode:
        return np.nan, np.nan, run.stderr
    with h5py.File(out) as file:
        tables = file["/entry/process_1_center/tables"]
        return float(tables["center"][()]), float(tables["error"][()]), run.stderr


def vo(data, angles, n):
    from algotom.prep import calculation
    half = np.abs(angles - angles[0]) <= 180 + 1e-9
    with contextlib.redirect_stdout(io.StringIO()):
        return calculation.find_center_vo(data[half], start=n // 4, stop=n - n // 4, ncore=1)


def line(name, rows):
    off, error = np.abs([row["off"] for row in rows]), np.array([row["error"] for row in rows])
    found = np.isfinite(off)
    if not found.any():
        return
    text = f"{name:18} {len(rows):4} scans: off by {np.median(off[found]):.3f} at the median, "
    text += f"{np.percentile(off[found], 90):.3f} at the 90th percentile, {off[found].max():.3f} at most; "
    text += f"within its error {100 * np.mean(off[found] <= error[found]):.0f} %, whose median is "
    text += f"{np.median(error[found]):.3f}; refused {len(rows) - found.sum()}; warned of {sum(bool(r['said']) for r in rows)}"
    peer = np.abs([row["peer"] for row in rows])
    if np.isfinite(peer).all():
        text += f"; find_center_vo {np.median(peer):.3f}, {np.percentile(peer, 90):.3f}, {peer.max():.3f}"
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--scans", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="a line for each scan beyond its error")
    args = parser.parse_args()
    rng, rows = np.random.default_rng(args.seed), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.scans):
            data, angles, center, kinds = random_scan(rng)
            found, error, said = search(args.program, pathlib.Path(folder), data, angles)
            peer = vo(data, angles, data.shape[1]) - center if args.peer else np.nan
            rows.append({"off": found - center, "error": error, "said": said, "peer": peer, **kinds})
            if args.verbose and not abs(found - center) <= error:
                print(i, data.shape, kinds, f"{center:.2f}: {found:.2f} +- {error:.2f}", said.split("\n")[0][:200])
    line("all", rows)
    for kind in ("noise", "cut off", "stripes", "turn"):
        for value in sorted({row[kind] for row in rows}):
            line(f"{kind} {value}", [row for row in rows if row[kind] == value])
    covered = np.mean([abs(row["off"]) <= row["error"] for row in rows])
    return 0 if covered >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
