#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/accuracy.png from docs/notes/accuracy-tables.md: the largest deviation of a reconstructed disc from its
attenuation against the number of detector pixels, for the least exact filter of each kind of scan.

Usage: accuracy_plot.py (needs matplotlib)"""
import math
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def kind_of(stage, scan):
    if scan.startswith("rebin"):
        return "rebin, then fbp"
    return f"{stage}, fan" if scan.startswith("fan") else f"{stage}, parallel"


def read_worst():
    """{kind: {detector pixels: largest deviation in percent}}"""
    worst, stage = {}, None
    with open(os.path.join(HERE, "notes/accuracy-tables.md"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("## "):
                stage = line[3:].strip()
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) < 4 or not cells[0].isdigit():
                continue
            largest = max(abs(float(cell.split("/")[1])) for cell in cells[3:])
            sizes = worst.setdefault(kind_of(stage, cells[1]), {})
            # A power of two and its odd neighbor share a mark, which shows the worse of them.
            size = 2 ** round(math.log2(int(cells[0])))
            sizes[size] = max(sizes.get(size, 0), largest)
    return worst


figure, axes = plt.subplots(figsize=(7, 4), constrained_layout=True)
for (kind, sizes), marker in zip(sorted(read_worst().items()), "osd^"):
    axes.loglog(list(sizes), list(sizes.values()), marker=marker, label=kind)
axes.set(title="The least exact pixel of a reconstructed disc, of the least exact filter", xlabel="detector pixels (1)",
         ylabel="largest deviation (%)", xticks=[64, 128, 256, 512, 1024, 2048])
axes.set_xticklabels(["63, 64", "127, 128", "255, 256", "511, 512", "1023, 1024", "2048, 2049"])
axes.minorticks_off()
axes.grid(True, alpha=.3)
axes.legend()
figure.savefig(os.path.join(HERE, "accuracy.png"), dpi=90)
