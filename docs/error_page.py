#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/errors.md: every code that the sources give a record, with its cause and its way out.

The codes come from the sources, and so does the part of the program under which each stands. The sentences stand in the
page itself and are kept when it is written: for a new code, add a row `| code | cause | way out |` anywhere in the page and
run this script, which puts it in its place.

Usage: error_page.py [--check] [ROOT]
  --check  writes nothing. Fails where a code has no row, a row has no code in the sources, or the page is not in order."""
import os
import re
import sys

# The first part that has a code holds its row.
PARTS = [
    ("Chains, parameters and what all parts share", ["pipeline/chain", "core"]),
    ("Plans and runs", ["pipeline/rates", "pipeline/plan", "pipeline/operator", "pipeline/run", "pipeline/fleet"]),
    ("Any input", ["io/source", "io/sandbox"]),
    ("DICOM", ["io/dicom_header", "io/dicom_series", "io/dicom_frames", "io/dicom"]),
    ("Volumes, HDF5 and scans", ["io/volume", "io/hdf5", "io/scan"]),
    ("Masks and regions", ["io/mask"]),
    ("Output files", ["io"]),
    ("Stages", ["stages"]),
    ("CUDA devices", ["cuda"]),
    ("Phantoms", ["datasets"]),
    ("Commands, windows and benchmarks", ["pipeline", "program", "lab"]),
]
HEAD = """<!-- docs/error_page.py puts the rows in order and finds those that are missing; the sentences are written here. -->
# Errors, warnings and notes

For people who got a message: look up its code, and read what caused it and what you can do.

Every message has a code, which stays the same when the message changes. It is in brackets at the end of the message's first
line, such as `[output-exists]`. With `--json` it is the member `code` of a record; `tomostage info --json` has it beside the reason
for which a series is refused. This page lists all codes, by the part of the program that gives them.
[exit-codes.md](exit-codes.md) has the exit codes.
"""
TEXT, WORDS = r'"(?:\\.|[^"\\\n])*"', re.compile(r'"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)"')


def without_comments(text):
    pattern = re.compile(TEXT + r"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*", re.S)
    return pattern.sub(lambda found: found[0] if found[0][0] in "\"'" else " ", text)


def pieces(text, at):
    """Splits what follows text[at] at its commas, up to the bracket or semicolon that ends it."""
    depth, start, found = 0, at, []
    for token in re.compile(TEXT + r"|[][(){},;]").finditer(text, at):
        if token[0] in "([{":
            depth += 1
        elif depth == 0 and token[0] in ")]},;":
            found.append(text[start:token.start()])
            start = token.end()
            if token[0] != ",":
                return found
        elif token[0] in ")]}":
            depth -= 1
    return found


def sources(root):
    texts = {}
    for floor in ("core", "stages", "io", "cuda", "datasets", "pipeline", "program", "lab"):
        for folder, _, names in os.walk(os.path.join(root, floor)):
            for name in names:
                if name.endswith((".c", ".h", ".cc", ".cu", ".cuh", ".inc")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        texts[os.path.relpath(path, root)] = without_comments(file.read())
    return texts


def takers(text):
    """Functions and macros with a parameter for a code, with its place: {name: index}; names of static ones apart."""
    shared, own = {}, {}
    if "char *code" not in text and ".code = (" not in text:  # said first, since the patterns search slowly
        return shared, own
    text = re.sub(r"__attribute__\(\(format\([^()]*\)\)\) ", "", text)
    for found in re.finditer(r"(?:^|\n)([^\n;{}()]*?)\b(\w+)\((?=[^{};\"]*\bchar \*code\b)", text):
        for i, parameter in enumerate(pieces(text, found.end())):
            if re.search(r"\bchar \*code$", parameter.strip()):
                (own if "static" in found[1] else shared)[found[2]] = i
    for found in re.finditer(r"#define (\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*\.code = \((\w+)\))", text):
        names = [name.strip() for name in found[2].split(",")]
        shared[found[1]] = names.index(found[4])
    return shared, own


def words(pattern, text):
    """Where a word begins with the pattern. Patterns that begin with a letter are found much sooner than those with \\b."""
    return [found for found in re.finditer(pattern, text) if not re.match(r"\w", text[max(found.start() - 1, 0):found.start()])]


def codes_of(root):
    """{code: the parts that give it}. A code is a text that is assigned to `code`, or handed to a parameter `code`."""
    texts, shared, found = sources(root), {"ts_load_unknown": 4}, {}
    taken = {path: takers(text) for path, text in texts.items()}
    for names, _ in taken.values():
        shared.update(names)
    for path, text in texts.items():
        names = {**shared, **taken[path][1]}
        places = [(expression.end(), 0, "") for expression in words(r"code(?:\[\])? =\s+", text)]
        for name, index in names.items():
            # An unknown name has a code for each kind of name: unknown-stage, unknown-key.
            before = "unknown-" if name == "ts_load_unknown" else ""
            places += [(call.end(), index, before) for call in words(name + r"\(", text)]
        for at, index, before in places:
            for word in WORDS.findall((pieces(text, at) + [""] * 9)[index]):
                found.setdefault(before + word, set()).add(part_of(path))
        # A record that is printed without a list of records; its text may be in several pieces.
        for word in re.findall(r'\\"code\\": \\"([a-z-]+)\\"', re.sub(r'"\s+"', "", text)):
            found.setdefault(word, set()).add(part_of(path))
    return found


def part_of(path):
    fits = [(len(folder), i) for i, (_, folders) in enumerate(PARTS) for folder in folders
            if path.startswith(folder + "/")]
    return max(fits)[1]


def written(path):
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"^\| `?(?!code )([a-z][a-z0-9-]*)`? \| (.*) \|$", file.read(), re.M)
    twice = sorted({code for code, _ in rows if [other for other, _ in rows].count(code) > 1})
    return dict(rows), [f"{code}: has two rows" for code in twice]


def page_of(found, rows):
    page = HEAD
    for i, (title, _) in enumerate(PARTS):
        here = sorted(code for code, parts in found.items() if min(parts) == i)
        if here:
            page += f"\n## {title}\n\n| code | cause | way out |\n| --- | --- | --- |\n"
            page += "".join(f"| `{code}` | {rows[code]} |\n" for code in here)
    return page


def main(arguments):
    check = "--check" in arguments
    root = ([name for name in arguments if name != "--check"] + [os.path.join(os.path.dirname(__file__), "..")])[0]
    path = os.path.join(root, "docs/errors.md")
    found, (rows, faults) = codes_of(root), written(path)
    faults += [f"{code}: no row in docs/errors.md: write | {code} | cause | way out |" for code in found if code not in rows]
    faults += [f"{code}: a row of docs/errors.md, but no code of the sources" for code in rows if code not in found]
    faults += [f"{code}: its row needs a cause and a way out" for code, row in rows.items()
               if not re.fullmatch(r"[^|]{9,} \| [^|]{5,}", row.replace("\\|", "/"))]
    if faults:
        sys.exit("\n".join(sorted(faults)))
    page = page_of(found, rows)
    with open(path, encoding="utf-8") as file:
        same = file.read() == page
    if check and not same:
        sys.exit("docs/errors.md is not in order; run: python3 docs/error_page.py")
    if not check and not same:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    print(f"{len(found)} codes have a row")


if __name__ == "__main__":
    main(sys.argv[1:])
