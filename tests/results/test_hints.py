# SPDX-License-Identifier: Apache-2.0
"""Hints are promises: what they name is carried out on the input that provoked them, and then the values are right.

Hints that other tests carry out are listed in hints_elsewhere.txt. Those that nothing carries out are counted: their number
may only fall.

usage: test_hints.py PROGRAM SOURCE [TEST...]"""
import os
import re
import sys

from harness import run_tests, test
import hints_support  # which finds the inventory
from hints import inventory, is_promise, pattern, tokens
import hints_stages  # noqa: F401  each of these registers its tests
import hints_chains  # noqa: F401
import hints_commands  # noqa: F401
import hints_inputs  # noqa: F401
import hints_dicom  # noqa: F401
import hints_scans  # noqa: F401

SOURCE = sys.argv[2]
LEFT = 71  # promises, but for those about CUDA, that nothing carries out; it may only fall


def elsewhere():
    """The hints that other tests carry out, as tokens; each test must be there."""
    with open(os.path.join(SOURCE, "tests", "results", "hints_elsewhere.txt")) as file:
        lines = [line.rstrip("\n").split(" | ") for line in file if not line.startswith("#")]
    for hint, path, name in lines:
        with open(os.path.join(SOURCE, path)) as other:
            assert name in other.read(), f"{path} has no {name}, which is to carry out '{hint}'"
    return [tokens(hint) for hint, _, _ in lines]


def reason(path, text):
    """Why nothing carries a hint out."""
    for words, why in (
        ("^cuda/|gpu|device|GPU|tensor|method: stack|occupancy", "needs a CUDA device, or a build with CUDA"),
        ("MPI|launcher", "needs a launcher of several processes"),
        ("view/|--view|--frames", "needs a window"),
        ("make room|free some space", "needs a full disk"),
        ("ulimit", "needs a limit of the system"),
        ("supply|copy the file|copy it", "asks for other files"),
    ):
        if re.search(words, f"{path} {text}"):
            return why
    return "not yet"


@test
def every_promise(folder):
    hints = {(path, text): pattern(text) for path, text in inventory(SOURCE) if is_promise(text)}
    others = elsewhere()
    unknown = [hint for hint in others if not any(hint in tokens(text) for _, text in hints)]
    assert not unknown, f"hints_elsewhere.txt has hints that are no more: {unknown}"
    left = {"cuda": [], "here": []}
    for (path, text), found in hints.items():
        if not any(found.search(line) for line in hints_support.CARRIED) and not any(hint in tokens(text) for hint in others):
            why = reason(path, text)
            left["cuda" if "CUDA" in why else "here"].append(text)
            print(f"not carried out ({why}): {path}: {text}")
    print(f"{len(hints)} promises; {len(left['here'])} are not carried out, nor {len(left['cuda'])} about CUDA")
    assert len(sys.argv) > 3 or len(left["here"]) <= LEFT, f"{LEFT} were not carried out: the new one needs a row"


sys.exit(run_tests(sys.argv[3:]))
