# SPDX-License-Identifier: Apache-2.0
"""Hints are promises: what they name is carried out on the input that provoked them, and then the values are right.

Hints that other tests carry out are listed in hints_elsewhere.txt.

usage: test_hints.py PROGRAM SOURCE [TEST...]"""
import os
import re
import sys

from harness import TESTS, run_tests
import hints_support  # which finds the inventory
from hints import inventory, is_promise, pattern, tokens
import hints_stages  # noqa: F401  each of these registers its tests
import hints_chains  # noqa: F401
import hints_commands  # noqa: F401
import hints_inputs  # noqa: F401
import hints_dicom  # noqa: F401
import hints_scans  # noqa: F401
import hints_tiff  # noqa: F401
import hints_runs  # noqa: F401
import hints_cuda  # noqa: F401

SOURCE = sys.argv[2]
CUDA = re.compile("^cuda/|gpu|device|GPU|tensor|method: stack|occupancy")
SLOW = {"rates"}  # which the ctest `rates` names


def elsewhere():
    """The hints that other tests carry out, as tokens; each test must be there."""
    with open(os.path.join(SOURCE, "tests", "results", "hints_elsewhere.txt")) as file:
        lines = [line.rstrip("\n").split(" | ") for line in file if not line.startswith("#")]
    for hint, path, name in lines:
        with open(os.path.join(SOURCE, path)) as other:
            assert name in other.read(), f"{path} has no {name}, which is to carry out '{hint}'"
    return [tokens(hint) for hint, _, _ in lines]


def every_promise():
    hints = {(path, text): pattern(text) for path, text in inventory(SOURCE) if is_promise(text)}
    others = elsewhere()
    unknown = [hint for hint in others if not any(hint in tokens(text) for _, text in hints)]
    assert not unknown, f"hints_elsewhere.txt has hints that are no more: {unknown}"
    left = [
        f"{path}: {text}"
        for (path, text), found in hints.items()
        if not any(found.search(line) for line in hints_support.CARRIED) and not any(hint in tokens(text) for hint in others)
    ]
    cuda = [line for line in left if CUDA.search(line)]
    print("\n".join(f"not carried out, for want of a CUDA device or of a build with CUDA: {line}" for line in cuda))
    print(f"{len(hints)} promises; {len(left) - len(cuda)} are not carried out, nor {len(cuda)} about CUDA")
    assert len(left) == len(cuda), f"each needs a row, or to be worded as advice: {[line for line in left if line not in cuda]}"


names = sys.argv[3:] or [function.__name__ for function in TESTS if function.__name__ not in SLOW]
code = run_tests(names, threads=4)
if len(sys.argv) == 3:
    every_promise()
sys.exit(code)
