#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The house stands as floors.txt says, and the check of it finds what does not: a copy of the includes with one fault
planted must fail with the file and the line of the fault. The drawing docs/architecture.svg shows today's includes. Nested `?:`
are rare.

Usage: test_house.py ROOT"""
import os
import shutil
import sys
import tempfile

import draw
import includes
import nested

# (file, the line that is added to it, what must be said)
PLANTED = [
    ("core/number.h", '#include "stages/engine/stage.h"\n', "core may not include from stages"),
    ("io/file/chunks.h", '#include "io/dicom/dicom.h"\n', "room io/file stands before io/dicom"),
    ("stages/values/fan_in.c", '#include "cuda/device/launch.h"\n', "stages may not include from cuda"),
    ("stages/values/fan_in.c", '#include "../../cuda/device/launch.h"\n', "no folder of the product"),
    ("stages/values/fan_in.c", "#include <cuda/device/launch.h>\n", "stages may not include from cuda"),
    ("stages/values/fan_in.c", "\n" * 800, "has more than 800 lines"),
    ("program/cli/main.c", '#include "lab/bench/bench.h"\n', "program may not include from lab"),
    ("pipeline/plan/plan.c", '#include "program/record/made.h"\n', "pipeline may not include from program"),
    ("stages/common/bins.c", "\n", "lies in no room of stages"),
    ("tests/stages/values/test_fan_in.c", "\n" * 800, "has more than 800 lines"),
    ("core/number.h", "#ifndef CORE_NUMBERS_H\n#define CORE_NUMBERS_H\n", "the guard of this header must be CORE_NUMBER_H"),
    ("cuda/filters/box.cuh", "#ifndef CUDA_FILTERS_BOX_CUH\n#define CUDA_FILTERS_BOXES_CUH\n", "must be CUDA_FILTERS_BOX_CUH"),
    ("tests/support/graph.h", "#ifndef TESTS_GRAPH_H\n", "the guard of this header must be TESTS_SUPPORT_GRAPH_H"),
    ("include/tomostage.h", "#ifndef INCLUDE_TOMOSTAGE_H\n", "the guard of this header must be TOMOSTAGE_H"),
    ("stages/filters/box.c", "/* CHANGE: why. */\n", "do what the note of the template says"),
    ("tests/stages/filters/box_oracle.c", "/* CHANGE: why. */\n", "do what the note of the template says"),
]
# (text, how many nested `?:` it has)
NESTED = [
    ("x = a ? b : c ? d : e;", 1), ("x = f(a ? b : c) ? d : e;", 1), ("return a ? (b ? c : d) + (e ? f : g) : h;", 2),
    ("f(a ? b : c, d ? e : f);", 0), ("x[a ? b : c] = d ? e : f;", 0), ("if (a ? b : c) return d ? e : f;", 0),
    ("if (a) { b = c ? d : e; } f = g ? h : i;", 0), ("#define A(x) x ? 1 : 2\nint b = c ? d : e;", 0),
    ('x = a ? "b ? c : d" : e; /* f ? g : h ? i : j */', 0),
]
# Rooms whose README.md is taken away.
PLANTED_IN_ROOMS = ["stages/filters", "tests/support"]

root, house = sys.argv[1], includes.floors(os.path.join(os.path.dirname(os.path.abspath(__file__)), "floors.txt"))
faults = includes.check(root, house)
if faults:
    sys.exit("\n".join(faults))
with open(os.path.join(root, "docs/architecture.svg"), encoding="utf-8") as drawing:
    if drawing.read() != draw.draw(root, house):
        sys.exit("docs/architecture.svg is out of date; run: python3 tests/house/draw.py . > docs/architecture.svg")
for text, n in NESTED:
    if nested.count(text) != n:
        sys.exit(f"{text!r} has {n} nested ?:, counted {nested.count(text)}")
files, share = nested.check(root)
if share > nested.MOST_OF_1000:
    sys.exit(f"{share:.2f} nested ?: of 1,000 lines; write some of them as an `if`, an early return or a table. Most are in "
             + ", ".join(f"{path} ({n})" for n, path in files[:8]))
with tempfile.TemporaryDirectory() as folder:
    for floor in [*house, "tests"]:
        shutil.copytree(os.path.join(root, floor), os.path.join(folder, floor))
    for path, text, said in PLANTED:
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        before = open(place, encoding="utf-8").read() if os.path.exists(place) else ""
        with open(place, "w", encoding="utf-8") as file:
            file.write(text + before)
        found = includes.check(folder, house)
        if len(found) != 1 or not found[0].startswith(path + ":") or said not in found[0]:
            sys.exit(f"planted in {path}: {text!r}; expected '{said}', found {found}")
        with open(place, "w", encoding="utf-8") as file:
            file.write(before)
        if not before:
            os.remove(place)
            os.rmdir(os.path.dirname(place))
    for room in PLANTED_IN_ROOMS:
        os.remove(os.path.join(folder, room, "README.md"))
        found = includes.check(folder, house)
        if not any(fault.startswith(room + ":") and "has no README.md" in fault for fault in found):
            sys.exit(f"README.md is gone from {room}; found {found}")
    with open(os.path.join(folder, "stages/filters/box.c"), "a", encoding="utf-8") as file:
        file.write(NESTED[0][0] * 200)
    if nested.check(folder)[1] <= nested.MOST_OF_1000:
        sys.exit("200 nested ?: are planted in stages/filters/box.c and not found")
print(f"{share:.2f} nested ?: of 1,000 lines")
print(f"every include points down, and {len(PLANTED) + len(PLANTED_IN_ROOMS)} planted faults are found")
