#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/privacy.md is that of the source, and its actions are those of PS3.15. The check of it finds a row that
was changed in the page, and an action that was changed in the source.

Usage: test_privacy_page.py ROOT"""
import os
import shutil
import subprocess
import sys
import tempfile

FILES = ("docs/privacy_page.py", "docs/privacy.md", "io/dicom_header/dicom_fields.def", "tests/attacks/confidentiality.tsv")
PLANTED = [
    ("docs/privacy.md", "| `tube_voltage` | kV |", "| `tube_voltage` | V |", "its table is not"),
    ("io/dicom_header/dicom_fields.def", 'dicom_models, "-"', 'dicom_models, "X"', "has the action X, and - in"),
    ("io/dicom_header/dicom_fields.def", "IN_FILE(description), NULL, \"X\"", "IN_FILE(description), NULL, \"-\"", "and X in"),
]


def check(root):
    done = subprocess.run([sys.executable, os.path.join(sys.argv[1], FILES[0]), "--check", root], check=False,
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


code, said = check(sys.argv[1])
if code:
    sys.exit(said)
with tempfile.TemporaryDirectory() as folder:
    for path in FILES:
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        shutil.copy(os.path.join(sys.argv[1], path), os.path.join(folder, path))
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
