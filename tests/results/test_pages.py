#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the pages for users show, and compares what comes with what they print.

In a block of code (indented by four), a first line `# NAME.yaml` makes the block a file. Lines that begin with `$ ` are
commands, run in one folder from the top of the page to its end, and the lines below a command are its output. A line `...`
stands for any lines. Numbers that depend on the machine (seconds, threads, budgets, the device and its reason, commits) are
compared as `#`; empty lines do not count. A file that a page shows whole (SHOWN) stands there from its first line that is code. Without TOMOSTAGE_DATA a page is left at its first block that needs public data, with a message and, at the
end, exit code 77. Every link between pages, notes and rooms' READMEs, and every path of the repository that they name, must exist.

Usage: test_pages.py PROGRAM ROOT [--write]
  --write  puts what the commands print now into the pages, for you to read before you commit it"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOOTH, HEAD = "projections/tomopy_tooth/tooth.h5", "ct/philips_head_5mm_mixed/dicom"
# These files stand in the folder before the page's first command: {name: path below TOMOSTAGE_DATA}.
PAGES = {"README.md": {}, "docs/tutorial.md": {"tooth.h5": TOOTH, "S21570": HEAD},
         "docs/masks.md": {"sts001": "ct/ibsi_sts001/dicom"}, "docs/report.md": {"sts001": "ct/ibsi_sts001/dicom"},
         "docs/preview.md": {"sts001": "ct/ibsi_sts001/dicom"}, "docs/recipes.md": {"sts001": "ct/ibsi_sts001/dicom"},
         "docs/reconstruction-study.md": {}, "docs/comparing.md": {}, "docs/batch.md": {},
         "docs/sweeps.md": {}, "docs/resuming.md": {}}
SHOWN = {"docs/cluster.md": "datasets/workflows/slurm.sbatch"}
# These parts depend on the machine or on the build, and are not compared.
VARIES = [
    (r"\bin \d+\.\d+ s\b", "in # s"),
    (r"(?<=[\w#\]] )\d+\.\d\d s(?=,|$)", "# s"),  # the times of the stages
    (r"\bon (cpu|cuda:\d+) \(.*\)$", "on #"),
    (r"^device .*$", "device #"),
    (r"\b\d+ passes? over z in slabs of .*; output", "# output"),
    (r"\b\d+(\.\d+)? [KMG]iB\b", "#"),
    (r"^\d+\.\d+\.\d+.*$", "#"),
    (r"\bdigest [0-9a-f]{64}", "digest #"),
    (r"\(\d+(\.\d+)? [kMG]B of values\)", "(#)"),
    (r"commit [0-9a-f]{7,}", "commit #"),
    (r"(\d\.\d{3})\d{6,}", r"\1..."),  # the last digits depend on the library of Fourier transforms
    (r" +$", ""),
]
PROGRESS = re.compile(r"pass \d+ of \d+: ")  # a line comes every 30 s, and how slow the machine is is not the page's matter
NAMED = re.compile(r"`((?:include|core|stages|io|cuda|pipeline|program|lab|datasets|tests|docs|cmake)/[\w./-]*\w)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[\w-]+)?\)")


def blocks(text):
    """Every block of code that is indented by four, as lines without the indentation. Commands and files begin blocks of
    their own."""
    block = []
    for line in text.split("\n") + ["end"]:
        begins = line.startswith("    ") and block and not block[-1] and re.match(r"    (\$ |# \S+\.yaml$)", line)
        if begins or (line and not line.startswith("    ")):
            if block:
                yield block
            block = []
        if line.startswith("    ") or (block and not line):
            block.append(line[4:])


def commands(block):
    """(command, the lines that the page prints below it)"""
    found = []
    for line in block:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def alike(line):
    for pattern, text in VARIES:
        line = re.sub(pattern, text, line)
    return line


def agree(shown, printed):
    """Whether the lines are those shown, `...` standing for any."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(agree(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and agree(shown[1:], printed[1:])


def run_block(block, folder, environment):
    """(command, lines shown, lines printed) of each command that prints something else; a block that is a file is
    written."""
    name = re.fullmatch(r"# (\S+\.yaml)", block[0])
    if name:
        path = os.path.join(folder, name.group(1))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(block[1:]) + "\n")
        return []
    faults = []
    for command, shown in commands(block):
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        printed = done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []
        if not agree(*([alike(line) for line in lines if line.strip() and not PROGRESS.match(line)] for lines in (shown, printed))):
            faults.append((command, shown, printed))
    return faults


def mend(text, faults):
    """The page with what the commands print in place of what it shows."""
    for command, shown, printed in faults:
        head = f"    $ {command}\n"
        while shown and not shown[-1]:
            shown.pop()
        old, new = ("".join(f"    {line}".rstrip() + "\n" for line in lines) for lines in (shown, printed))
        text = text.replace(head + old, head + new, 1)
    return text


def run_page(page, root, program, links, data, write):
    """Faults of a page, as text."""
    with open(os.path.join(root, page), encoding="utf-8") as file:
        text = file.read()
    faults, n, left = [], 0, False
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(os.path.abspath(program), os.path.join(folder, "bin/tomostage"))
        os.symlink(sys.executable, os.path.join(folder, "bin/python3"))
        environment = dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"], LC_ALL="C.UTF-8",
                           OMP_NUM_THREADS="2", CUDA_VISIBLE_DEVICES="-1", TOMOSTAGE_RATES="")
        absent = [] if data else list(links)
        for name, path in links.items() if data else ():
            copy = shutil.copytree if os.path.isdir(os.path.join(data, path)) else shutil.copy
            copy(os.path.join(data, path), os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "demo"))
        # ./bootstrap.sh demo begins with this study.
        subprocess.run(["tomostage", "phantom", "head", "-o", "demo/study"], cwd=folder, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        for block in blocks(text):
            left = any(name in line for name in absent for line in block)
            if left:
                print(f"SKIPPED {page} from `{block[0]}` on: TOMOSTAGE_DATA is not set", file=sys.stderr)
                break
            n += len(commands(block))
            faults += run_block(block, folder, environment)
    print(f"{page}: {n} commands ran")
    if write and faults:
        with open(os.path.join(root, page), "w", encoding="utf-8") as file:
            file.write(mend(text, faults))
    told = ["\n".join([f"{page}: $ {command}", "--- the page shows", *shown, "--- it prints", *printed])
            for command, shown, printed in faults]
    return told + ([] if n or left else [f"{page}: shows no commands"])


def check_paths(page, root):
    """Links and paths that lead nowhere."""
    with open(os.path.join(root, page), encoding="utf-8") as file:
        text = file.read()
    folder = os.path.dirname(os.path.join(root, page))
    lost = [link for link in LINK.findall(text) if not os.path.exists(os.path.join(folder, link))]
    lost += [path for path in NAMED.findall(text)
             if "NAME" not in path and "ROOM" not in path and "dilate" not in path and not os.path.exists(os.path.join(root, path))]
    return [f"{page}: {path} is not there" for path in lost]


def check_shown(page, shown, root):
    """A file that the page shows otherwise than it is."""
    with open(os.path.join(root, shown), encoding="utf-8") as file:
        code = re.sub(r"\A(#!.*\n)?(#( .*)?\n)*", "", file.read())
    with open(os.path.join(root, page), encoding="utf-8") as file:
        text = file.read()
    lines = "".join(f"    {line}".rstrip() + "\n" for line in code.splitlines())
    return [] if code and lines in text else [f"{page}: does not show {shown} as it is"]


if __name__ == "__main__":
    program, root, data = sys.argv[1], sys.argv[2], os.environ.get("TOMOSTAGE_DATA")
    write = sys.argv[3:] == ["--write"]
    faults = []
    for folder in ("docs", "datasets", "include", "core", "stages", "io", "cuda", "pipeline", "program", "lab", "README.md"):
        for path in sorted(glob.glob(os.path.join(root, folder, "**/*.md"), recursive=True)) or [os.path.join(root, folder)]:
            faults += check_paths(os.path.relpath(path, root), root)
    for page, shown in SHOWN.items():
        faults += check_shown(page, shown, root)
    for page, links in PAGES.items():
        faults += run_page(page, root, program, links, data, write)
    print("\n".join(faults))
    sys.exit(1 if faults else 0 if data else 77)
