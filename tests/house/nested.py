#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the `?:` that are in an operand of another `?:`: a reader has to hold one choice in mind while reading the next, which
an `if`, an early return or a table spares. Some are shorter and as clear, so the test only holds how many there are.

Usage: nested.py ROOT   lists the files that have some, most first"""
import os
import re
import sys

import includes

FOLDERS = ["core", "stages", "io", "cuda", "pipeline", "program", "include"]
MOST_OF_1000 = 1  # nested `?:` of 1,000 lines
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*$", re.M | re.S)
TOKEN = re.compile(r"\w+|[<>=!]=|<<=|>>=|[-+*/%&|^]=|->|\S")
ENDS = {";", ",", "return", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}  # of an expression
CONTROLS = {"if", "while", "for", "switch"}


class Level:
    """What is between two brackets: how many `?` its finished expressions have, and how many of these are nested; the same of the
    brackets within the expression that is being read, and the `?` of that expression itself."""

    def __init__(self, after=""):
        self.total = self.nested = self.inner = self.inner_nested = self.own = 0
        self.control, self.block = after in CONTROLS, False

    def end(self):
        self.total += self.own + self.inner
        self.nested += self.own + self.inner - 1 if self.own else self.inner_nested
        self.own = self.inner = self.inner_nested = 0


def count(text):
    text = COMMENT.sub(lambda match: "s" if match.group(1) else " ", text)
    text = DIRECTIVE.sub(lambda match: f";{match.group()[match.group().index('#') + 1:]};", text)
    levels, before = [Level()], ""
    for token in TOKEN.findall(text):
        if token in "([{":
            levels.append(Level(before if token == "(" else ""))
        elif token in ")]}" and len(levels) > 1:
            closed = levels.pop()
            closed.end()
            if closed.control or (closed.block and token == "}"):
                levels[-1].end()
                levels[-1].total += closed.total
                levels[-1].nested += closed.nested
                levels[-1].block = True
            else:
                levels[-1].inner += closed.total
                levels[-1].inner_nested += closed.nested
        elif token == "?":
            levels[-1].own += 1
        elif token in ENDS:
            levels[-1].end()
            levels[-1].block |= token == ";"
        before = token
    levels[0].end()
    return levels[0].nested


def check(root):
    """Returns the files as (nested, path), most first, and how many nested `?:` there are of 1,000 lines."""
    found, lines = [], 0
    for path in includes.sources(root, FOLDERS):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found.append((count(text), path))
        lines += text.count("\n")
    found.sort(reverse=True)
    return found, 1000 * sum(n for n, _ in found) / lines


if __name__ == "__main__":
    found, share = check(sys.argv[1])
    print(*(f"{n:4} {path}" for n, path in found if n), f"{share:.2f} of 1,000 lines", sep="\n")
    sys.exit(share > MOST_OF_1000)
