#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the hints of the sources, and which of them are promises: those that name a command, an option, a stage, a parameter
or a value. tests/results/test_hints.py holds promises against what it, and other tests, carry out.

Usage: hints.py [--promises] [ROOT]"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs"))
try:
    from error_page import TEXT, pieces, sources, words  # noqa: E402
except ModuleNotFoundError:  # the tests beside a bundle, without the sources: rows that are named run all the same
    pass

# Functions that take hints, with the places of these among their arguments.
TAKERS = [
    ("ts_dicom_series_refuse", 2, 3),
    ("stacks_hint", 2, 4),
    ("tolerance_hint", 3, 4),
    ("keep_failure", 3, 4),
    ("refuse_drift", 3, 4),
    ("ts_stage_needs_upright", 2, 3),
    ("refuse", 3, 4),
]
SPECIFIER = re.compile(r"%(?:[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGcs])")
# `name: value`, `name=value`, --option, -o, `quoted`, and stages whose names are no other words.
PROMISE = re.compile(
    r"`|--[a-z]|(?<!\w)-[a-z]\b|\b[a-z_#.]+(: |=)(?=[\w\[{\"'%.-])|(leave|write|give|use|set) \w+ (out|to)\b|leave out"
    r"|\w+ leaves? it out|\b(mkdir|ulimit|nvidia-smi|unset|CUDA_\w+|cmake)\b|\w+_\w+"
)


def literals(expression):
    """The texts of an expression: neighbors are one text, as in C; those of ?: and of several arguments are several."""
    texts, end = [], None  # what stands between two of them is nothing, PRId64 and the like, or an operator
    for found in re.finditer(TEXT, expression):
        between = "" if end is None else expression[end : found.start()].replace("\\\n", "").strip()
        text = re.sub(r'\\(["\\])', r"\1", found[0][1:-1]).replace("\\n", "\n")
        number = re.fullmatch(r"PRI\w+", between)
        if end is not None and (not between or number):
            texts[-1] += ("d" if number else "") + text
        else:
            texts.append(text)
        end = found.end()
    if end is not None and re.fullmatch(r"PRI\w+", expression[end:].strip()):
        texts[-1] += "d"
    return texts


def hints_of(text):
    """The texts of one file that become hints."""
    found = []
    for call in words(r"ts_diag_hint\(", text):
        found += [piece for piece in pieces(text, call.end())[1:]]
    for name, begin, end in TAKERS:
        for call in words(name + r"\(", text):
            found += pieces(text, call.end())[begin:end]
    found += [pieces(text, at.end())[0] for at in words(r"\w*hint\w*(?:\[\w*\])* =\s+(?![\s{])", text)]
    found += [block[0] for block in re.finditer(r"#define \w*HINTS?\b(?:[^\n]*\\\n)*[^\n]*", text)]
    for at in re.finditer(r"\w*hints?\w*(?:\[\w*\])* =\s+\{", text):  # tables of hints, by code or quantity
        depth, end = 1, at.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found.append(text[at.end() : end])
    for at in re.finditer(r"\n[^\n;{}]*\w*hint\w*\([^;{}]*\)\n\{", text):  # functions that return or set one
        end = text.index("\n}", at.end())
        found.append(text[at.end() : end])
    texts = [literal for expression in found for literal in literals(expression)]
    return sorted(
        {text for text in texts if re.search(r"[A-Za-z]{3}.* ", SPECIFIER.sub("", text)) or PROMISE.search(text)}
    )


def is_promise(text):
    return bool(
        PROMISE.search(SPECIFIER.sub("%", text)) and re.search("[A-Za-z]{4}", SPECIFIER.sub("", text)) and pattern(text)
    )


def tokens(text):
    """The words of a text: the same whether it is written as YAML or on one line."""
    return " ".join(re.findall(r"[\w\x00]+(?:\.\w+)*|%", text))


def pattern(text):
    """What the program says for this hint, as tokens(); None where the text holds no words of its own."""
    plain = tokens(SPECIFIER.sub("\x00", text.replace("%%", "")))
    if len(plain.replace("\x00", "").strip()) < 6:
        return None
    return re.compile(re.escape(plain).replace("\\\x00", "\x00").replace("\x00", ".*?").replace(r"\ .*?", ".*?"))


def inventory(root):
    """[(file, text)] of all hints, in order."""
    return [(path, text) for path, source in sorted(sources(root).items()) for text in hints_of(source)]


if __name__ == "__main__":
    arguments = [name for name in sys.argv[1:] if name != "--promises"]
    found = inventory((arguments + [os.path.join(os.path.dirname(__file__), "../..")])[0])
    for path, text in found:
        if "--promises" not in sys.argv or is_promise(text):
            print(f"{'promise' if is_promise(text) else 'advice '} {path}: {text}")
    print(f"{len(found)} hints, {sum(is_promise(text) for _, text in found)} promises")
