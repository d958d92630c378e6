#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/scaling.png: on the left what docs/notes/scaling.tsv has of ranks on one machine, predicted and measured, and on the
right what `check --machine` predicts for two reconstructions on up to 1,024 GPUs. Rows of the device `cuda` in that table
appear on the right. The scans of the predictions are files whose frames were never written, so that 16,384 cubed takes no disk.

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


def main():
    program = os.path.abspath(sys.argv[1])
    with open(os.path.join(HERE, "notes/scaling.tsv"), encoding="utf-8") as file:
        measured = [row for row in csv.DictReader(file, delimiter="\t")]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    chains = list(dict.fromkeys(row["chain"] for row in measured if row["device"] == "cpu"))
    for chain, color in zip(chains, ("tab:blue", "tab:orange", "tab:green")):
        rows = [row for row in measured if row["chain"] == chain and row["device"] == "cpu"]
        ranks = [int(row["ranks"]) for row in rows]
        least, most = ([float(row[key]) for row in rows] for key in ("least_s", "most_s"))
        left.plot(ranks, [float(row["predicted_s"]) for row in rows], "--", color=color, label=f"{chain}, predicted")
        left.vlines(ranks, least, most, color=color)
        left.plot(ranks, least, "o", color=color, label=f"{chain}, measured")
    left.set(title="Ranks on two cores that other programs used", xlabel="ranks", ylabel="seconds of the process", ylim=(0, None),
             xticks=ranks)
    for n, style in zip(SIZES, ("-", "--")):
        for machine, color in ("h200", "tab:blue"), ("cluster", "tab:orange"):
            rows = predict(program, n, machine)
            right.loglog(list(rows), list(rows.values()), style, marker=".", color=color, label=f"{n:,} cubed, {machine}.yaml")
    for row in measured:
        if row["device"] == "cuda":
            right.plot(int(row["ranks"]), float(row["least_s"]), "ks", label=f"{row['chain']}, measured")
    right.set(title="fbp of a scan, predicted", xlabel="GPUs (NVIDIA H200)", ylabel="seconds of the process")
    for axes in left, right:
        axes.grid(True, alpha=.3)
        axes.legend(fontsize=8)
    figure.savefig(os.path.join(HERE, "scaling.png"), dpi=90)


main()
