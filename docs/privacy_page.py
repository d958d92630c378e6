#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/privacy.md: every attribute of DICOM that may reach an output.

The rows come from io/dicom_header/dicom_fields.def, whose actions must be those of PS3.15 Table E.1-1
(tests/attacks/confidentiality.tsv). The sentences around the table stand in the page and are kept.

Usage: privacy_page.py [--check] [ROOT]
  --check  writes nothing. Fails where the table is not that of the source."""
import os
import re
import sys

BEGIN, END = "<!-- docs/privacy_page.py writes this table. -->\n", "<!-- end of the table -->\n"
WRITTEN = {"NUMBER": "the number", "BINARY": "the number", "CODE": "the text, if its values are known",
           "KERNEL": "the text, if it has a vendor's form", "FREE": "nothing; `keep`: the text",
           "UID": "nothing; with a key: another UID; `keep`: the UID",
           "DATE": "nothing; with a key: another date; `keep`: the date", "HIDDEN": "nothing"}
ROW = re.compile(r"(FIELD|ALIAS)\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)")


def arguments(text):
    parts = re.findall(r'"[^"]*"|[^,"()\s]+(?:\([^()]*\))?', text)
    return [part.strip('"') for part in parts]


def actions(root):
    with open(os.path.join(root, "tests/attacks/confidentiality.tsv"), encoding="ascii") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {f"({row[0]})": row[3] for row in rows}


def table(root):
    listed = actions(root)
    with open(os.path.join(root, "io/dicom_header/dicom_fields.def"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    lines = ["| tag | in a result | unit | in JSON | PS3.15 | what is written | why |\n", "| --- | --- | --- | --- | --- | --- | --- |\n"]
    for name, inner in ROW.findall(text):
        row = arguments(inner)
        tag = f"({row[0][2:]},{row[1][2:]})"
        if name == "ALIAS":
            lines.append(f"| {tag} | | | | {listed.get(tag, '-')} | as `{row[2]}` | enhanced images have it |\n")
            continue
        _, _, field, key, scale, unit, most, kind, _, _, action, reason = row
        if action != listed.get(tag, "-"):
            sys.exit(f"dicom_fields.def: {tag} has the action {action}, and {listed.get(tag, '-')} in Table E.1-1")
        json = "" if key == "NULL" else f"`{key}`" + (" (s)" if scale == "1e-3" else "")
        shown = "" if kind == "HIDDEN" else f"`{field}`"
        limit = f", up to {float(most):.0f}" if most != "0" else ""
        lines.append(f"| {tag} | {shown} | {unit} | {json} | {action} | {WRITTEN[kind]}{limit} | {reason} |\n")
    return "".join(lines)


def main():
    check = "--check" in sys.argv
    roots = [argument for argument in sys.argv[1:] if argument != "--check"]
    root = roots[0] if roots else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(root, "docs/privacy.md")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    fresh = before + BEGIN + table(root) + END + rest.split(END)[1]
    if check:
        if fresh != page:
            sys.exit("docs/privacy.md: its table is not that of dicom_fields.def; run docs/privacy_page.py")
        print("privacy_page: the table is that of the source")
    elif fresh != page:
        with open(path, "w", encoding="utf-8") as file:
            file.write(fresh)


main()
