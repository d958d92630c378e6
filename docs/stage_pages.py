#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of docs/stages: what the stage's table says (tomostage stages --markdown), then an example, which is
the chain datasets/chains/stages/NAME.yaml, and a picture of the image before and after the stage, NAME.png. Every chain is
run, on phantoms and simulated scans that are made first.

Usage: stage_pages.py PROGRAM [STAGE | --check]
  PROGRAM  build/release/tomostage
  STAGE    writes the page of this stage alone
  --check  writes nothing: runs the chains, and fails if a page or a picture of docs/stages is not what they give now, or
           python/tomostage/stages.py not what the tables say

Needs h5py and numpy, and matplotlib to draw (Debian: python3-h5py python3-matplotlib)."""
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

import drawing

HERE = os.path.dirname(os.path.abspath(__file__))
CHAINS, PAGES = os.path.join(HERE, "../datasets/chains/stages"), os.path.join(HERE, "stages")
MADE = [
    ["{program}", "phantom", "head", "-o", "study", "--size", "256", "--slices", "3", "--noise", "25", "--quiet"],
    ["{program}", "phantom", "head", "-o", "tilted", "--size", "128", "--tilt", "20", "--quiet"],
    [sys.executable, os.path.join(HERE, "../datasets/make_scan.py"), "scan.nxs"],
    [sys.executable, os.path.join(HERE, "../datasets/make_scan.py"), "zingers.nxs", "--zingers", "300"],
    [sys.executable, os.path.join(HERE, "../datasets/make_scan.py"), "wide.nxs", "--wide"],
    [sys.executable, os.path.join(HERE, "../datasets/make_mr.py"), "mr.npy"],
]
MADE_SAYS = {
    "./study": "tomostage phantom head -o study --size 256 --slices 3 --noise 25",
    "./tilted": "tomostage phantom head -o tilted --size 128 --tilt 20",
    "./scan.nxs": "python3 datasets/make_scan.py scan.nxs",
    "./zingers.nxs": "python3 datasets/make_scan.py zingers.nxs --zingers 300",
    "./wide.nxs": "python3 datasets/make_scan.py wide.nxs --wide",
    "./mr.npy": "python3 datasets/make_mr.py mr.npy",
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


def panels_of(stage, folder):
    """The panels of the picture of a stage, whose two chains have run in the folder."""
    last = [line for line in lines_of(stage) if line.startswith("  - ")][-1]
    follows = "" if lines_of(stage)[place_of(stage)] == last else last.split()[1].rstrip(":")
    with h5py.File(os.path.join(folder, "before.h5")) as before, h5py.File(os.path.join(folder, stage + ".h5")) as after:
        return drawing.stage_panels(stage, before, after, follows)


def alike(first, second):
    """Whether two panels of the same values look the same, in all but 0.1 % of the pixels: then their picture shows
    nothing. Few pixels are enough where a stage replaces outliers."""
    return (isinstance(second, drawing.Panel) and first.label == second.label and first.image.shape == second.image.shape
            and np.mean(np.abs(first.gray() - second.gray()) > 8) < 0.001)


def check_page(path, text, panels):
    """Ends the program if the page or its picture is not what would be written now."""
    again = f"run: python3 docs/stage_pages.py build/release/tomostage {os.path.basename(path)[:-3]}"
    if not os.path.exists(path):
        sys.exit(f"{path} is missing; {again}")
    with open(path, encoding="utf-8") as file:
        if file.read() != text:
            sys.exit(f"{path} is out of date; {again}")
    picture = path[:-3] + ".png"
    record = drawing.read_record(picture) if os.path.exists(picture) else None
    if not record:
        sys.exit(f"{picture} is missing, or another program wrote it; {again}")
    if alike(*panels):
        sys.exit(f"{picture}: before and after look alike; give the stage a chain that shows something")
    if record[0] != drawing.version():
        sys.exit(f"{picture} was drawn by another version of docs/drawing.py; {again}")
    fault = drawing.differs(record[1:], [panel.record() for panel in panels])
    if fault:
        sys.exit(f"{picture} is not what its chain gives: {fault}; {again}")


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
    # The functions of the Python package are made of the same tables.
    generate = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python", "generate.py")
    if subprocess.run([sys.executable, generate, program, *(["--check"] if check else [])], check=False).returncode:
        sys.exit(1)
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
                check_page(path, text, panels_of(stage, folder))
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            drawing.draw_pair(panels_of(stage, folder), path[:-3] + ".png")
    print(f"{len(os.listdir(PAGES)) // 2} pages of stages: every chain runs" + (", every page and picture is as they give it" if check else ""))


if __name__ == "__main__":
    main()
