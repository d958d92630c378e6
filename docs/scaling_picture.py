#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/scaling.png: on the left what docs/notes/scaling.tsv has of ranks on one machine, predicted and measured, in the
middle the same of GPUs, and on the right what `check --machine` predicts for two reconstructions on up to 1,024 GPUs. The scans
of those predictions are files whose frames were never written, so that 16,384 cubed takes no disk.

Usage: scaling_picture.py PROGRAM (needs matplotlib and h5py)"""
import csv
import json
import os
import subprocess
import sys
import tempfile

import h5py
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = (2048, 16384)
CHAIN = """tomostage: 2
input: {exchange: scan.h5, pixel_size: 0.001}
inputs:
  flats: {exchange: scan.h5, frames: flats}
  darks: {exchange: scan.h5, frames: darks}
stages: [flat_field: {flats: flats, darks: darks}, minus_log, fbp]
output: {hdf5: out.h5}
"""


def predict(program, n, machine):
    """{GPUs: seconds} for n cubed from n views."""
    with tempfile.TemporaryDirectory() as folder:
        with h5py.File(os.path.join(folder, "scan.h5"), "w", libver="latest") as file:
            for name, views in ("data", n), ("data_white", 1), ("data_dark", 1):
                file.create_dataset(f"exchange/{name}", (views, n, n), "u2", chunks=(1, min(n, 1024), n))
            file["exchange/theta"] = np.arange(n) * 180 / n
            file["exchange/theta"].attrs["units"] = "deg"
        with open(os.path.join(folder, "chain.yaml"), "w", encoding="utf-8") as file:
            file.write(CHAIN)
        path = os.path.join(HERE, f"../datasets/machines/{machine}.yaml")
        done = subprocess.run([program, "check", "chain.yaml", "--machine", path, "--json"], cwd=folder, check=True,
                              capture_output=True, text=True)
    rows = next(json.loads(line) for line in done.stdout.splitlines() if '"event": "scale"' in line)["rows"]
    return {row["ranks"]: row["seconds"] for row in rows if "seconds" in row}


def draw_measured(axes, measured, device):
    rows_of = {}
    for row in measured:
        if row["device"] == device:
            rows_of.setdefault(row["chain"], []).append(row)
    for (chain, rows), color in zip(rows_of.items(), ("tab:blue", "tab:orange", "tab:green")):
        numbers = [int(row["ranks"]) for row in rows]
        least, most = ([float(row[key]) for row in rows] for key in ("least_s", "most_s"))
        axes.plot(numbers, [float(row["predicted_s"]) for row in rows], "--", color=color, label=f"{chain}, predicted")
        axes.vlines(numbers, least, most, color=color)
        axes.plot(numbers, least, "o", color=color, label=f"{chain}, measured")
    axes.set(ylabel="seconds of the process", ylim=(0, None), xticks=numbers)


def main():
    program = os.path.abspath(sys.argv[1])
    with open(os.path.join(HERE, "notes/scaling.tsv"), encoding="utf-8") as file:
        measured = [row for row in csv.DictReader(file, delimiter="\t")]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), constrained_layout=True)
    draw_measured(left, measured, "cpu")
    left.set(title="Ranks on two cores", xlabel="ranks")
    draw_measured(middle, measured, "cuda")
    middle.set(title="512 slices of 1,024 x 1,024 on two H200", xlabel="GPUs")
    for n, style in zip(SIZES, ("-", "--")):
        for machine, color in ("h200", "tab:blue"), ("cluster", "tab:orange"):
            rows = predict(program, n, machine)
            right.loglog(list(rows), list(rows.values()), style, marker=".", color=color, label=f"{n:,} cubed, {machine}.yaml")
    right.set(title="fbp of a scan, predicted", xlabel="GPUs (NVIDIA H200)", ylabel="seconds of the process")
    for axes in left, middle, right:
        axes.grid(True, alpha=.3)
        axes.legend(fontsize=8)
    figure.savefig(os.path.join(HERE, "scaling.png"), dpi=90)


main()
