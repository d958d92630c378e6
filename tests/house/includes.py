#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every #include of the product's own headers against the floors and rooms of floors.txt: no file includes from a
floor or a room above its own, and no file lies outside a room. The tests may include everything; they share the other rules:
every room says in a README.md what it is for, no source file is longer than 800 lines, the guard of a header is its path,
and nothing is left of a template's notes. Names the file and the line of every fault.

Usage: includes.py ROOT"""
import glob
import os
import re
import sys

SOURCES = (".c", ".h", ".cu", ".cuh", ".cc", ".inc")
INCLUDE = re.compile(r'\s*#\s*include\s+(?:"([^"]+)"|<((?:include|core|stages|io|cuda|datasets|pipeline|program|lab|tests)/[^>]+)>)')
MOST_LINES = 800
APART = os.path.join("datasets", "plugins")  # is built like the plugins of others, and includes what is installed
GUARD = re.compile(r"#ifndef (\w+)\n#define \1\n")
NOTE = "CHANGE:"  # begins each note of the templates in new_stage/


def floors(path):
    """{floor: (floors it may include from, its rooms in order)}"""
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            if line.startswith(" "):
                found[floor] = found[floor][0], line.split()
            else:
                floor, below = line.split(":")
                found[floor] = set(below.split()), []
    return found


def sources(root, folders):
    for folder in folders:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith(SOURCES) and not where.endswith(APART):
                    yield os.path.relpath(os.path.join(where, name), root)


def includes(root, path):
    """(line number, included path) for every quoted include of `path`, and for those in angle brackets that name a floor;
    DCMTK's own headers are quoted too, and are none of ours. Public headers name each other as they are installed, without
    a folder."""
    with open(os.path.join(root, path), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match and not line.startswith('#include "dcmtk/'):
                target = match.group(1) or match.group(2)
                yield number, f"include/{target}" if path.startswith("include/") and "/" not in target else target


def place(path):
    parts = path.split("/")
    return parts[0], "/".join(parts[1:-1]) or None


def fault_of(house, path, target):
    """Why `path` must not include `target`, or None. Paths begin at the root, so that each header has one name."""
    (floor, room), (other, other_room) = place(path), place(target)
    if floor != other:
        return None if other in house[floor][0] else f"{floor} may not include from {other}"
    rooms = house[floor][1]
    if room in rooms and other_room in rooms and rooms.index(other_room) > rooms.index(room):
        return f"room {floor}/{room} stands before {other}/{other_room}"
    return None


def guard_faults(path, lines):
    """The guard of a header has the name by which it is included."""
    wanted = re.sub(r"\W", "_", path.removeprefix("include/")).upper()
    number = next((number for number, line in enumerate(lines, 1) if line.startswith("#ifndef")), 1)
    guard = GUARD.match("".join(lines[number - 1:number + 1]))
    return [] if guard and guard.group(1) == wanted else [f"{path}:{number}: the guard of this header must be {wanted}"]


def faults_in(root, path):
    """What is wrong with a file whatever it includes: too many lines, a guard of another name, notes that the author of a new
    stage has to act on."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.readlines()
    faults = [f"{path}:{number}: do what the note of the template says, and delete it"
              for number, line in enumerate(lines, 1) if NOTE in line]
    if len(lines) > MOST_LINES and not (path.startswith("tests/") and path.endswith(".inc")):
        faults.append(f"{path}:{len(lines)}: has more than {MOST_LINES} lines")
    return faults + guard_faults(path, lines) if path.endswith((".h", ".cuh")) else faults


def faults_of_room(root, room):
    readme = os.path.join(room, "README.md")
    if os.path.exists(os.path.join(root, readme)):
        faults = faults_in(root, readme)
    else:
        faults = [f"{room}: has no README.md: write three to five lines there that say what the folder is for"]
    return faults


def test_rooms(root):
    """The folders of the tests that hold sources or scripts."""
    return {os.path.relpath(where, root) for where, _, names in os.walk(os.path.join(root, "tests"))
            if any(name.endswith((*SOURCES, ".py", ".sh")) for name in names)}


def check(root, house):
    faults, rooms = [], test_rooms(root)
    for path in sources(root, ["tests"]):
        faults += faults_in(root, path)
    for path in sorted(glob.glob("datasets/chains/stages/*.yaml", root_dir=root)):
        faults += faults_in(root, path)
    for path in sources(root, house):
        floor, room = place(path)
        if bool(house[floor][1]) != bool(room) or (room and room not in house[floor][1]):
            faults.append(f"{path}:1: lies in no room of {floor}, which has {', '.join(house[floor][1]) or 'none'}")
        else:
            rooms.add(os.path.dirname(path))
        faults += faults_in(root, path)
        for number, target in includes(root, path):
            fault = fault_of(house, path, target) if place(target)[0] in house else "no folder of the product"
            if fault:
                faults.append(f'{path}:{number}: includes "{target}": {fault}')
    for room in sorted(rooms):
        faults += faults_of_room(root, room)
    return faults


if __name__ == "__main__":
    root = sys.argv[1]
    faults = check(root, floors(os.path.join(os.path.dirname(os.path.abspath(__file__)), "floors.txt")))
    print("\n".join(faults) or "every include points down")
    sys.exit(bool(faults))
