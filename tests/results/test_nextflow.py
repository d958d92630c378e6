#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script of the process in datasets/workflows/main.nf runs in bash, with the engine's values put in: a study has its result, a
refusal keeps its exit code, and a run that stops (75) goes on in the folder of another try. nextflow.config must say what each
code means. The engine itself does not run here.

usage: test_nextflow.py PROGRAM SOURCE"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
MAIN, CONFIG = ((SOURCE / "datasets/workflows" / name).read_text() for name in ("main.nf", "nextflow.config"))
CHAIN = "tomostage: 2\ninput: {dicom: x}\nstages: [{nlm: {patch_size: 5, patch_distance: 9, dimensions: 3d}}, statistics]\noutput: {hdf5: y.h5}\n"


def defaults():
    block = re.search(r"^params \{\n(.*?)^\}", CONFIG, re.S | re.M)[1]
    return dict(re.findall(r"^ +(\w+) = '?([^'\n]*?)'?(?: *//.*)?$", block, re.M))


def script(study, **given):
    """The script as Groovy would make it: text in ${...} is replaced, and a doubled backslash is one."""
    params = {**defaults(), **given}
    text = re.search(r'script:.*?"""\n(.*?)"""', MAIN, re.S)[1]
    values = {f"params.{name}": value for name, value in params.items()}
    stops = bool(params["checkpoints"])
    values |= {"chain.name": "chain.yaml", "study.name": study, "task.cpus": "1", "memory": "768",
               "checkpoint": f"--resume --checkpoint '{params['checkpoints']}/{study}.checkpoint'" if stops else "",
               "limit": f"--time-limit {params['time_limit']}" if stops and params["time_limit"] else ""}
    return re.sub(r"\$\{([^}]*)\}", lambda match: values[match[1]], text).replace("\\\\", "\\")


def attempt(folder, number, study, **given):
    """Runs the script in a folder of its own, where the inputs are links, as the engine does it."""
    work = folder / f"work-{study}-{number}"
    work.mkdir()
    for name in (study, "chain.yaml"):
        (work / name).symlink_to(folder / name)
    return subprocess.run(["bash", "-ue", "-c", script(study, tomostage=str(PROGRAM), **given)], cwd=work).returncode, work / f"{study}.h5"


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, expected {expected}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "chain.yaml").write_text(CHAIN)
    subprocess.run([PROGRAM, "phantom", "head", "-o", folder / "a study", "--size", "64", "--slices", "48", "--noise", "5", "--quiet"], check=True)
    (folder / "broken").mkdir()
    (folder / "broken/a.dcm").write_text("no DICOM")
    code, whole = attempt(folder, 0, "a study")
    expect("the exit code", code, 0)
    expect("the exit code of a broken study", attempt(folder, 0, "broken")[0], 3)
    expect("the exit code of a wrong option", attempt(folder, 1, "broken", options="--no-such-option")[0], 2)
    (folder / "kept").mkdir()
    stops = {"checkpoints": str(folder / "kept"), "time_limit": "1s", "options": "--memory 48M"}
    codes = []
    while not codes or codes[-1] == 75 and len(codes) < 100:
        code, resumed = attempt(folder, len(codes) + 1, "a study", **stops)
        codes.append(code)
    expect("exit codes of a run that stops", codes[-1], 0)
    expect("it stopped", len(codes) > 1, True)
    expect("the bytes", resumed.read_bytes() == whole.read_bytes(), True)
strategy = re.search(r"errorStrategy = \{\s*(.*?)\s*\}", CONFIG, re.S)[1]
expect("what exit codes mean", strategy, "task.exitStatus in [2, 3] ? 'ignore' : task.exitStatus == 75 || task.attempt <= 2 ? 'retry' : 'ignore'")
expect("what the process takes", re.findall(r"^ {8}(\w+) = ", CONFIG, re.M), ["cpus", "memory", "accelerator", "maxRetries", "errorStrategy"])
print(f"nextflow: a study, two refusals, a run in {len(codes)} tries")
