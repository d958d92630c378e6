#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tomostage/stages.py, the functions of all stages and inputs, from their tables: from what `tomostage schema` prints.
usage: generate.py PROGRAM [--check]    --check: only says whether the file is up to date"""
import json
import pathlib
import subprocess
import sys
import textwrap

PLACE = pathlib.Path(__file__).parent / "tomostage" / "stages.py"
HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from the tables of the stages. Do not edit.
"""The stages and the inputs of chains, as functions.

With an array, an Image or a tensor as its first argument a stage works on it and returns one of the same kind; without, it is
a part of a chain: `dicom("study") | box(radius=2)`. A parameter that is not given, or None, has the default of its stage.
Lengths may be texts with their unit, "5 mm", and any parameter of a stage in a chain may be a sweep().
"""
from __future__ import annotations

from .calls import scan_stage, source, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, Literal, Sequence

    from .chain import Chain, Sweep

    Integer = int | str | Sweep
    Number = float | str | Sweep
    Numbers = Sequence[float] | Sequence[Sequence[float]] | Sweep
    Texts = str | Sequence[str]
    Reference = Any  # the name of an image of the chain, or an array
    Path = str | PathLike | Sequence[str]'''


def first_schema(parameter):
    """Returns the schema of the parameter without the sweep that may stand in its place."""
    return parameter["anyOf"][0] if parameter.get("anyOf", [{}])[-1].get("$ref") == "#/$defs/sweep" else parameter


def choices(schema):
    """Returns the names of a choice and their sentences, without their other spellings."""
    return {one["const"]: one["description"] for one in schema.get("anyOf", [])
            if "const" in one and not one["description"].startswith("= ")}


def annotation(parameter):
    schema = first_schema(parameter)
    if choices(schema):
        return "Literal[" + ", ".join(f'"{name}"' for name in choices(schema)) + "] | Sweep"
    if "oneOf" in schema:
        return "Texts" if {"type": "string"} in schema["oneOf"] else "Numbers"
    if isinstance(schema.get("type"), list):
        return "str | float"
    return {"integer": "Integer", "number": "Number", "boolean": "bool", "string": "Reference"}[schema["type"]]



def documented(name, parameter):
    """Returns the lines of a parameter in the docstring."""
    text = f"{name}: {parameter['description']}"
    if "default" in parameter and parameter["default"] != "":
        text += f" (default: {json.dumps(parameter['default']).strip(chr(34))})"
    lines = [textwrap.fill(text, 123, initial_indent="    ", subsequent_indent="        ")]
    for choice, meaning in choices(first_schema(parameter)).items():
        lines.append(textwrap.fill(f"- {choice}: {meaning}", 119, initial_indent="        ", subsequent_indent="          "))
    return "\n".join(lines).replace("\\", "\\\\")


def function(name, schema, comment, is_source):
    """Returns the text of the function of a stage or an input."""
    parameters = dict(schema["properties"])
    required = [key for key in schema.get("required", []) if key != name]
    path = parameters.pop(name, None) if is_source else None
    lines = []
    keywords = [f"{key}: {annotation(one)}" + ("" if key in required else " | None = None")
                for key, one in parameters.items() if key not in ("name", "input")]
    scan = not is_source and comment.startswith("takes sinograms") and "angles" not in parameters
    if scan:
        keywords.append("angles: Sequence[float] | None = None")
    if not is_source:
        keywords += ["name: str | None = None", "input: str | None = None"]
    first = "paths: Path,\n    /" if is_source else "image: Any = None,\n    /"
    lines.append("@source" if is_source else "@scan_stage" if scan else "@stage")
    listed = [first, *(["*"] if keywords else []), *keywords]
    lines += [f"def {name}(", *(f"    {one}," for one in listed), f") -> {'Chain' if is_source else 'Any'}:"]
    lines.append(f'    """{schema["description"][0].upper()}{schema["description"][1:]}.\n'.replace("\\", "\\\\"))
    if comment:
        lines.append(textwrap.indent(textwrap.fill(f"T{comment[1:]}.", 119), "    "))
        lines.append("")
    if path:
        lines.append(documented("paths", path))
    lines += [documented(key, one) for key, one in parameters.items()]
    if scan:
        lines.append("    angles: of the views of an array, in degrees; an Image has its own")
    lines.append('    """')
    return "\n".join(lines)


def module(schema):
    """Returns the text of stages.py."""
    stages = [one for one in schema["properties"]["stages"]["items"]["oneOf"] if "properties" in one]
    sources = [one for one in schema["$defs"]["source"]["oneOf"] if one["title"] not in ("like", "memory")]
    parts = [HEAD]
    for one in stages:
        parts.append(function(one["title"], one["properties"][one["title"]], one["$comment"], False))
    for one in sources:
        parts.append(function(one["title"], one, "", True))
    names = sorted(one["title"] for one in stages + sources)
    listed = ", ".join(f'"{name}"' for name in names)
    parts.append(textwrap.fill(f"__all__ = [{listed}]", 127, subsequent_indent="           "))
    return "\n\n\n".join(parts) + "\n"


if __name__ == "__main__":
    text = module(json.loads(subprocess.run([sys.argv[1], "schema"], capture_output=True, check=True).stdout))
    if "--check" not in sys.argv:
        PLACE.write_text(text, encoding="utf-8")
    elif PLACE.read_text(encoding="utf-8") != text:
        sys.exit("python/tomostage/stages.py is out of date; run: python3 python/generate.py PROGRAM")
