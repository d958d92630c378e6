#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of docs/stages: what the stage's table says (tomostage stages --markdown), then an example, which is
the chain datasets/chains/stages/NAME.yaml, and a picture of the image before and after the stage, NAME.png. Every chain is
run, on a phantom and two simulated scans that are made first.

Usage: stage_pages.py PROGRAM [STAGE | --check]
  PROGRAM  build/release/tomostage
  STAGE    writes the page of this stage alone
  --check  only runs the chains and compares the pages with those that stand in docs/stages

Needs h5py and numpy, and matplotlib for the pictures (Debian: python3-h5py python3-matplotlib)."""
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
CHAINS, PAGES = os.path.join(HERE, "../datasets/chains/stages"), os.path.join(HERE, "stages")
MADE = [
    ["{program}", "phantom", "head", "-o", "study", "--size", "256", "--slices", "3", "--noise", "25", "--quiet"],
    [sys.executable, os.path.join(HERE, "../datasets/make_scan.py"), "scan.nxs"],
    [sys.executable, os.path.join(HERE, "../datasets/make_scan.py"), "zingers.nxs", "--zingers", "300"],
    [sys.executable, os.path.join(HERE, "../datasets/make_scan.py"), "wide.nxs", "--wide"],
]
MADE_SAYS = {
    "./study": "tomostage phantom head -o study --size 256 --slices 3 --noise 25",
    "./scan.nxs": "python3 datasets/make_scan.py scan.nxs",
    "./zingers.nxs": "python3 datasets/make_scan.py zingers.nxs --zingers 300",
    "./wide.nxs": "python3 datasets/make_scan.py wide.nxs --wide",
}


def run(program, folder, chain):
    done = subprocess.run([program, "run", chain, "--device", "cpu", "--quiet", "--force"], cwd=folder, check=False,
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{chain}: exit {done.returncode}\n{done.stderr}")


def lines_of(stage):
    try:
        with open(os.path.join(CHAINS, stage + ".yaml"), encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        sys.exit(f"the stage {stage} has no example: write datasets/chains/stages/{stage}.yaml")


def place_of(stage):
    """The line of the chain that holds the stage."""
    places = [i for i, line in enumerate(lines_of(stage)) if line.startswith(f"  - {stage}:")]
    return places[0] if places else sys.exit(f"datasets/chains/stages/{stage}.yaml has no line '  - {stage}: {{...}}'")


def write_part(stage, folder, name, end):
    """The chain without the stages from line `end` on, to a chain file and an output of another name."""
    lines = lines_of(stage)
    kept = [line for i, line in enumerate(lines) if i < end or not line.startswith("  - ")]
    if not any(line.startswith("  - ") for line in kept):
        kept.insert(kept.index("stages:") + 1, "  - statistics: {}")
    # Frames that no stage is left to use would be refused.
    if not any("flats: flats" in line for line in kept):
        kept = [line for line in kept if not line.startswith(("inputs:", "  flats:", "  darks:"))]
    with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as file:
        file.write("\n".join(kept).replace(f"hdf5: {stage}.h5", f"hdf5: {name}.h5") + "\n")


def label_of(file, group):
    return file[f"/entry/{group}/data"].attrs["long_name"].decode()


def draw(axes, file, group, title):
    """The middle slice, in the range of its values, of a head in HU in that of soft tissue."""
    from pictures import picture, sinogram
    data = file[f"/entry/{group}/data"]
    low, high = np.nanpercentile(data[len(data) // 2], (1, 99))
    if data.attrs["units"] == b"HU" and high < 1200:
        low, high = -150, 250
    z = len(data) // 2
    if f"/entry/{group}/view" in file:
        sinogram(axes, file, group, z, title, label_of(file, group))
        views = file[f"/entry/{group}/view"]
        if views.attrs["units"] == b"degree":
            axes.set_yticks(np.arange(0, views[-1] + 1, 90 if views[-1] > 180 else 45))
        axes.images[0].set_clim(low, high)
    else:
        picture(axes, file, group, z, title, 50 if file[f"/entry/{group}/x"][-1] > 60 else 20, label_of(file, group), low,
                high)


def draw_tables(axes, file, stage):
    tables = file[next(f"/entry/{name}/tables" for name in file["/entry"] if name.endswith("_" + stage))]
    if stage == "histogram":
        axes.stairs(tables["counts"][:], tables["edges"][:], fill=True, color="0.5")
        axes.set(title="histogram of the volume", xlabel="value (HU)", ylabel="values per bin", yscale="log")
        return
    mean, deviation, marks = (tables[name][:] for name in ("mean", "standard_deviation", "percentiles"))
    axes.errorbar(range(len(mean)), mean, deviation, fmt="o", color="k", capsize=4, label="mean, standard deviation")
    for k, name in enumerate(("5 %", "50 %", "95 %")):
        axes.plot(range(len(mean)), marks[:, k], "_", markersize=18, label=name)
    axes.set(title="statistics of every slice", xlabel="slice (1)", ylabel="value (HU)", xticks=range(len(mean)))
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(.5, -.18), ncol=4)


def draw_stage(stage, folder):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.7), constrained_layout={"w_pad": 0.12, "h_pad": 0.06})
    place = place_of(stage)
    with h5py.File(os.path.join(folder, "before.h5")) as before, h5py.File(os.path.join(folder, stage + ".h5")) as after:
        if stage == "save":
            draw(axes[0], after, "smooth", "saved as smooth")
            draw(axes[1], after, "data", "the chain goes on: equalize")
        else:
            draw(axes[0], before, "data", f"before {stage}")
            if stage in ("histogram", "statistics"):
                draw_tables(axes[1], after, stage)
            else:
                last = [line for line in lines_of(stage) if line.startswith("  - ")][-1]
                follows = "" if lines_of(stage)[place] == last else ", and " + last.split()[1].rstrip(":")
                draw(axes[1], after, "data", f"after {stage}{follows}")
    path = os.path.join(PAGES, stage + ".png")
    figure.savefig(path, dpi=80)
    plt.close(figure)
    # Colors of a palette take a third of the bytes.
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)


def page(stage, table):
    chain = "\n".join("    " + line for line in lines_of(stage))
    inputs = [says for name, says in MADE_SAYS.items() if name in chain]
    made = "\n".join("    " + says for says in inputs)
    return (f"{table}\n## Example\n\n{chain}\n\n![before and after {stage}]({stage}.png)\n\nThe input is made by\n\n{made}\n\n"
            f"The chain is `datasets/chains/stages/{stage}.yaml`; `docs/stage_pages.py` runs it and draws the picture.\n")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, check = os.path.abspath(sys.argv[1]), sys.argv[2:] == ["--check"]
    again = "run: python3 docs/stage_pages.py build/release/tomostage"
    with tempfile.TemporaryDirectory() as folder:
        for command in MADE:
            subprocess.run([word.format(program=program) for word in command], cwd=folder, check=True)
        tables = os.path.join(folder, "tables")
        os.mkdir(tables)
        subprocess.run([program, "stages", "--markdown", tables], check=True, stdout=subprocess.DEVNULL)
        if len(sys.argv) == 3 and not check and sys.argv[2] + ".md" not in os.listdir(tables):
            sys.exit(f"{sys.argv[1]} has no stage {sys.argv[2]}; build it first")
        for name in sorted(os.listdir(tables)):
            stage = name[:-3]
            if len(sys.argv) == 3 and not check and stage != sys.argv[2]:
                continue
            with open(os.path.join(tables, name), encoding="utf-8") as file:
                text = page(stage, file.read())
            shutil.copy(os.path.join(CHAINS, stage + ".yaml"), folder)
            run(program, folder, stage + ".yaml")
            write_part(stage, folder, "before", place_of(stage))
            run(program, folder, "before.yaml")
            path = os.path.join(PAGES, name)
            if check:
                if not os.path.exists(path) or not os.path.exists(path[:-3] + ".png"):
                    sys.exit(f"docs/stages/{name} or its picture is missing; {again} {stage}")
                with open(path, encoding="utf-8") as file:
                    if file.read() != text:
                        sys.exit(f"docs/stages/{name} is out of date; {again} {stage}")
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            draw_stage(stage, folder)
    print(f"{len(os.listdir(PAGES)) // 2} pages of stages: every chain runs" + (", every page is as the tables say" if check else ""))


if __name__ == "__main__":
    main()
