#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls between the files of the product have no circle: of two files that call each other, directly or through others, neither
can be read, tested or changed without the other. The objects of a build say who calls whom; an address in a table counts as
a call.

usage: test_calls.py BUILD [--users]   --users lists the public functions that one other file uses, by file. Those with (*) are
used by kernels, lab/ or tests too, or belong to the headers in include/, so that they cannot be static."""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import includes

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
LEFT, LEFT_CUDA = 0, 8  # circles that are still there, without and with CUDA code; the numbers may only fall
DEFINED = set("TDRBVWCG")


def objects_of(folder):
    with open(f"{folder}/compile_commands.json") as file:
        outputs = {re.search(r" -o (\S+)", entry["command"]).group(1) for entry in json.load(file)}
    # Objects of files that are gone stay in a build folder.
    found = [path for path in glob.glob(f"{folder}/CMakeFiles/tomostage_*.dir/**/*.o", recursive=True)
             if os.path.relpath(path, folder) in outputs]
    assert len(found) > 100, f"{folder} has {len(found)} objects of the product"
    return found


def symbols(objects):
    """{symbol: the file that defines it}, {file: the symbols that it takes from others}"""
    listed = subprocess.run(["nm", "-A", "-P", "--", *objects], capture_output=True, text=True, check=True).stdout
    home, wanted = {}, collections.defaultdict(set)
    for line in listed.splitlines():
        path, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        # A stage and its kernels are one subject: its table names the launcher, which shares what the two devices need.
        file = re.sub(r"^cuda/(.*)\.cu$", r"stages/\1.c", path.split(".dir/", 1)[-1].removesuffix(".o"))
        if kind == "U":
            wanted[file].add(name)
        elif kind in DEFINED:
            home[name] = file
    return home, wanted


def named_outside(compiled):
    """The functions that sources name which this build leaves out (kernels, a window), or that are no part of the product."""
    names = set()
    for path in includes.sources(ROOT, [*includes.floors(os.path.join(HERE, "floors.txt")), "tests"]):
        if path not in compiled and (path.startswith("include") or not path.endswith((".h", ".cuh", ".inc"))):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                names |= set(re.findall(r"\bts_\w+", file.read()))
    return names


def calls(home, wanted):
    return {file: {home[name] for name in names if home.get(name, file) != file} for file, names in wanted.items()}


def circles(edges):
    """Sets of files that reach each other, by Tarjan's algorithm (1972)."""
    order, lowest, stack, found = {}, {}, [], []

    def visit(file):
        order[file] = lowest[file] = len(order)
        stack.append(file)
        for other in edges.get(file, ()):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[file] = min(lowest[file], lowest[other])
        if lowest[file] == order[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for file in sorted(edges):
        if file not in order:
            visit(file)
    return sorted(found, key=len)


def prove():
    """Finds a circle of three planted files, one of which is reached through a table, and none without it."""
    texts = {"a": "void b(void); void a(void) { b(); }", "b": "extern void (*const t[])(void); void b(void) { t[0](); }",
             "c": "void a(void); void (*const t[])(void) = {a};", "d": "void a(void); void d(void) { a(); }"}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            with open(f"{folder}/{name}.c", "w") as file:
                file.write(text)
            subprocess.run(["cc", "-c", f"{name}.c"], cwd=folder, check=True)
        paths = {name: f"{folder}/{name}.o" for name in texts}
        found = circles(calls(*symbols(list(paths.values()))))
        assert found == [[paths[name].removesuffix(".o") for name in "abc"]], found
        assert circles(calls(*symbols([paths["a"], paths["b"], paths["d"]]))) == []


prove()
objects = objects_of(sys.argv[1])
home, wanted = symbols(objects)
if "--users" in sys.argv:
    users = collections.Counter(name for names in wanted.values() for name in names if name in home)
    one = sorted((file, name) for name, file in home.items() if name.startswith("ts_") and users[name] <= 1)
    kept = named_outside({*wanted, *home.values()}) & {name for _, name in one}
    print(*(f"{file}: {name} ({'*' if name in kept else users[name]})" for file, name in one), sep="\n")
    print(f"{len(one)} of {sum(name.startswith('ts_') for name in home)} public functions have one user or none, {len(kept)} of which kernels, "
          "lab, tests or include/ name")
    sys.exit()
found, left = circles(calls(home, wanted)), LEFT
if any(path.endswith(".cu.o") for path in objects):
    left = LEFT_CUDA
for circle in found:
    print(f"{len(circle)} files call each other: {' '.join(circle)}")
print(f"{len(found)} circles in the calls between {len(wanted)} files")
sys.exit(len(found) > left)
