#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Boutiques descriptors (schema 0.5) of a tomostage, from the tables that `tomostage schema` prints: OUT/tomostage-run.json for
whole chains, and OUT/tomostage-STAGE.json for each stage that works on one image. Programs that read such descriptors, as bosh, CBRAIN
and the compilers of NiWrap do, call the stages then.

usage: descriptors.py OUT [PROGRAM]    PROGRAM: tomostage, if it is not on PATH"""
import json
import pathlib
import subprocess
import sys

INPUT = {"id": "image", "name": "input", "type": "File", "value-key": "[IMAGE]", "command-line-flag": "-i",
         "description": "a folder or file of DICOM, or a file of another format that tomostage reads by its suffix"}
OUTPUT = {"id": "output", "name": "output", "type": "String", "value-key": "[OUTPUT]", "command-line-flag": "-o",
          "description": "the new file; its suffix names the format: .h5, .nii.gz, .tif"}
DEVICE = {"id": "device", "name": "device", "type": "String", "value-key": "[DEVICE]", "command-line-flag": "--device", "optional": True,
          "default-value": "cpu", "description": "auto, cpu, cuda or cuda:N"}
RESULT = {"id": "result", "name": "result", "path-template": "[OUTPUT]", "description": "the image, and in .h5 how it was made"}


def of_values(stage, name, parameter):
    """The input of a descriptor for a parameter of a stage, or None if it names another image of the chain."""
    schema = parameter["anyOf"][0] if parameter.get("anyOf", [{}])[-1].get("$ref") == "#/$defs/sweep" else parameter
    found = {"id": name, "name": name, "value-key": f"[{name.upper()}]", "optional": True, "description": parameter["description"]}
    choices = [one["const"] for one in schema.get("anyOf", []) if "const" in one and not one["description"].startswith("= ")]
    if choices:
        return {**found, "type": "String", "value-choices": choices}
    if schema.get("type") in ("integer", "number"):
        limits = {key: schema[key] for key in ("minimum", "maximum") if key in schema}
        return {**found, "type": "Number", "integer": schema["type"] == "integer", **limits}
    if schema.get("type") == "boolean":
        return {**found, "type": "String", "value-choices": ["true", "false"]}
    # Lists, and lengths with a unit, are written as in a chain.
    return {**found, "type": "String"} if schema.get("type") != "string" else None


def descriptor(name, summary, version, command, inputs):
    return {"name": name, "description": summary, "tool-version": version, "schema-version": "0.5", "author": "the tomostage developers",
            "command-line": command, "inputs": inputs, "output-files": [RESULT], "tags": {"domain": ["medical imaging", "tomography"]},
            "error-codes": [{"code": 1, "description": "the run failed"}, {"code": 2, "description": "the chain is wrong"},
                            {"code": 3, "description": "the input is wrong"}]}


def descriptors(schema, version):
    chain = {"id": "chain", "name": "chain", "type": "File", "value-key": "[CHAIN]", "description": "a chain file"}
    yield "run", descriptor("tomostage-run", "run a chain of stages on an image", version, "tomostage run [CHAIN] --quiet [IMAGE] [OUTPUT] [DEVICE]",
                            [chain, {**INPUT, "optional": True}, OUTPUT, DEVICE])
    for one in schema["properties"]["stages"]["items"]["oneOf"]:
        stage = one.get("title")
        if stage not in one.get("properties", {}):
            continue
        table = one["properties"][stage]
        needed = table.get("required", [])
        inputs = [of_values(stage, name, parameter) for name, parameter in table["properties"].items() if name not in ("name", "input")]
        inputs = [value for value in inputs if value]
        if set(needed) <= {value["id"] for value in inputs}:  # else it needs a second image, which only a chain can name
            # A stage without what it needs is refused before --set is looked at. Values come quoted for the shell, and the text is
            # one word of it.
            text = stage
            for value in inputs:
                if value["id"] in needed:
                    value["optional"] = False
                    text += f" {value['id']}='{value['value-key']}'"
                else:
                    value |= {"command-line-flag": f"--set {stage}.{value['id']}", "command-line-flag-separator": "="}
            keys = " ".join(value["value-key"] for value in inputs if value["optional"])
            yield stage, descriptor(f"tomostage-{stage}", table["description"], version,
                                    f"tomostage run '{text}' --quiet [IMAGE] [OUTPUT] [DEVICE] {keys}".strip(), [INPUT, OUTPUT, DEVICE, *inputs])


def main(out, program="tomostage"):
    def said(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in descriptors(json.loads(said("schema")), said("--version").split()[1]):
        (out / f"tomostage-{name}.json").write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3]) if 2 <= len(sys.argv) <= 3 else sys.exit(__doc__)
