#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/errors.md has a row for every code of the sources and for no other. The check of it finds what does not: a copy of
the sources with one code planted, or of the page with one row changed, must fail with the code's name.

Usage: test_errors.py ROOT"""
import os
import shutil
import subprocess
import sys
import tempfile

# (file, text that is replaced there, what stands in its place, what must be said)
PLANTED = [
    ("io/scan/tiff.c", '"page-missing"', '"page-planted"', "page-planted: no row"),
    ("stages/scan/center.c", '"center-small"', '"center-planted"', "center-planted: no row"),
    ("io/dicom_header/dicom_scan.c", '"dicom-bad-size"', '"dicom-planted"', "dicom-planted: no row"),
    ("pipeline/chain/chain_build.c", '"format", names', '"planted", names', "unknown-planted: no row"),
    ("pipeline/chain/tree.c", '"merge-key"', '"merge-planted"', "merge-planted: no row"),
    ("stages/scan/minus_log.c", '"transmission-nan"', '"transmission-planted"', "transmission-planted: no row"),
    ("docs/errors.md", "| `tiff-tiles` |", "| `tiff-planted` |", "tiff-tiles: no row"),
    ("docs/errors.md", "| `tiff-tiles` |", "| `tiff-planted` |", "tiff-planted: a row of docs/errors.md, but no code"),
    ("docs/errors.md", "| `threads` | More threads", "| `threads` |  | More threads", "threads: its row needs a cause"),
    ("docs/errors.md", "| `unused` |", "| `name-later` |", "name-later: has two rows"),
    ("docs/errors.md", "## DICOM\n", "## DICOM \n", "not in order"),
]


def check(root):
    done = subprocess.run([sys.executable, os.path.join(sys.argv[1], "docs/error_page.py"), "--check", root], check=False,
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


code, said = check(sys.argv[1])
if code:
    sys.exit(said)
with tempfile.TemporaryDirectory() as folder:
    for floor in ("core", "stages", "io", "cuda", "datasets", "pipeline", "program", "lab", "docs"):
        shutil.copytree(os.path.join(sys.argv[1], floor), os.path.join(folder, floor),
                        ignore=shutil.ignore_patterns("*.png", "*.svg", "*.yaml"))
    for path, before, after, expected in PLANTED:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            whole = file.read()
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(whole.replace(before, after))
        code, found = check(folder)
        if before not in whole or code != 1 or expected not in found:
            sys.exit(f"planted {after} in {path}; expected '{expected}', found:\n{found}")
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(whole)
print(said.strip() + f", and {len(PLANTED)} planted faults are found")
