#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a new stage from the templates in new_stage/, and its line into stages/stages.def. The stage that
comes out works at once: it is the largest value of a window, on the CPU and on a CUDA device, with its oracle and its
tests, and its comments say what to change. docs/CONTRIBUTING.md explains the rest.

Usage: new_stage.py ROOM NAME [ROOT]"""
import os
import re
import shutil
import subprocess
import sys

import includes

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = [
    ("stage.h", "stages/{room}/{name}.h"),
    ("stage.c", "stages/{room}/{name}.c"),
    ("stage.cu", "cuda/{room}/{name}.cu"),
    ("oracle.h", "tests/stages/{room}/{name}_oracle.h"),
    ("oracle.c", "tests/stages/{room}/{name}_oracle.c"),
    ("test.c", "tests/stages/{room}/test_{name}.c"),
    ("chain.yaml", "datasets/chains/stages/{name}.yaml"),
]


def stages(root):
    """(room, name) of every line of stages.def."""
    with open(os.path.join(root, "stages/stages.def"), encoding="utf-8") as lines:
        return re.findall(r"^STAGE\((\w+), (\w+)\)", lines.read(), re.MULTILINE)


def refuse(root, room, name):
    """Why there can be no such stage, or None."""
    house = includes.floors(os.path.join(HERE, "floors.txt"))
    rooms = [each for each in house["stages"][1] if each in house["cuda"][1]]
    if room not in rooms:
        return (f"there is no room '{room}' for stages; there are {', '.join(rooms)}. For a new room, write its name into "
                "tests/house/floors.txt, under stages and under cuda, behind the rooms that it includes from")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        return f"'{name}' is no name of a stage: it begins with a letter and has small letters, digits and _"
    if name in (other for _, other in stages(root)):
        return f"there is a stage '{name}' already"
    there = [path for _, path in FILES if os.path.exists(os.path.join(root, path.format(room=room, name=name)))]
    return f"{there[0].format(room=room, name=name)} is there already" if there else None


def write(root, room, name):
    written = []
    for template, path in FILES:
        path = path.format(room=room, name=name)
        with open(os.path.join(HERE, "new_stage", template + ".in"), encoding="utf-8") as file:
            text = file.read()
        for word, value in ("name", name), ("room", room), ("NAME", name.upper()), ("ROOM", room.upper()):
            text = text.replace(f"@{word}@", value)
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    # The length of the name decides where lines break.
    if shutil.which("clang-format"):
        sources = [path for path in written if path.endswith(includes.SOURCES)]
        subprocess.run(["clang-format", "-i", *sources], cwd=root, check=True)
    else:
        print("clang-format is not installed: run it over the new files before you commit them", file=sys.stderr)
    return written


def write_readmes(root, room):
    """Of the room's folders; those that are there stay. Returns the ones written."""
    says = {
        f"stages/{room}": "CHANGE: This room has the stages that ... (what they have in common, and their names).",
        f"cuda/{room}": f"This room has the kernels and launchers of the stages of `stages/{room}`.",
        f"tests/stages/{room}": f"This room tests the stages of `stages/{room}` beside their oracles.",
    }
    written = []
    for folder, text in says.items():
        path = os.path.join(folder, "README.md")
        if not os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(f"# {folder}\n\n{text}\n")
            written.append(path)
    return written


def add_line(root, room, name):
    """After the last stage of the room; in a room without stages before the last line."""
    path = os.path.join(root, "stages/stages.def")
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    after = [i for i, line in enumerate(lines) if line.startswith(f"STAGE({room},")]
    lines.insert(after[-1] + 1 if after else len(lines) - 1, f"STAGE({room}, {name})\n")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: new_stage.py ROOM NAME [ROOT]")
    room, name = sys.argv[1:3]
    root = sys.argv[3] if len(sys.argv) == 4 else os.path.join(HERE, "..", "..")
    fault = refuse(root, room, name)
    if fault:
        sys.exit(fault)
    for path in write(root, room, name) + write_readmes(root, room):
        print("wrote", path)
    add_line(root, room, name)
    print(f"added STAGE({room}, {name}) to stages/stages.def")
