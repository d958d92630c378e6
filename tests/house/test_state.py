#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the objects of the library that can change to the list state.txt beside this file, which says of each why contexts
and threads cannot disturb each other by it. It looks at a build of the kind Release.
usage: test_state.py BUILD SOURCE"""
import pathlib, re, subprocess, sys

build, source = map(pathlib.Path, sys.argv[1:])
cache = (build / "CMakeCache.txt").read_text()
if "CMAKE_BUILD_TYPE:STRING=Release" not in cache or not re.search(r"^TOMOSTAGE_SANITIZE:STRING=$", cache, re.M):
    print("SKIPPED: the build is not of the kind Release, or has sanitizers, whose objects have other names")
    sys.exit(77)
WORDS = {"once", "lock", "atomic", "child", "process", "program"}
rows = [line.split() for line in (source / "tests/house/state.txt").read_text().splitlines() if not line.startswith("#")]
listed = {(row[0], row[1]) for row in rows}
places = {} # an object has the name of its file, which several files may have
for floor in ("core", "stages", "io", "cuda", "datasets", "pipeline", "program"):
    for path in (source / floor).rglob("*.c*"):
        places.setdefault(path.name, []).append(str(path.relative_to(source)))
table = subprocess.run(["objdump", "-t", "-C", build / "libtomostage_core.a"], capture_output=True, text=True, check=True).stdout
found, files, where = set(), set(), []
for line in table.splitlines():
    name = re.match(r"(\S+)\.o: ", line)
    if name:
        where = places.get(name[1], [])
        files |= set(where if len(where) == 1 else [])
    # Code of kernels is in .cu files, whose objects hold what nvcc registers.
    symbol = re.match(r"[0-9a-f]+ .{6}O (\S+)\s+[0-9a-f]+ +(?:\.hidden )?(.*)", line)
    if not symbol or not where or where[0].endswith(".cu") or not re.match(r"\.(data(?!\.rel\.ro)|bss|tdata|tbss)|\*COM\*", symbol[1]):
        continue
    if re.match(r"DW\.ref\.|std::|__gxx|\.gomp_critical", symbol[2]):
        continue
    object_name = re.sub(r"\.\d+$", "", symbol[2]).split("::")[-1]
    found.add(next(((file, object_name) for file in where if (file, object_name) in listed), (where[0], object_name)))
wrong = [f"{file}: {name} is an object that can change; put it into the run, the plan or the context, or say in "
         "tests/house/state.txt why nobody is disturbed by it" for file, name in sorted(found - listed)]
wrong += [f"tests/house/state.txt: {file} has no {name} any more" for file, name in sorted(listed - found) if file in files]
wrong += [f"tests/house/state.txt: '{' '.join(row)}' has none of the words {', '.join(sorted(WORDS))}" for row in rows
          if len(row) != 3 or row[2] not in WORDS]
if len(found) < 20:
    wrong.append(f"only {len(found)} objects were found in {build}/libtomostage_core.a")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(found)} objects that can change, and each has its reason")
